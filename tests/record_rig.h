/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RECORD_RIG_H
#define RECORD_RIG_H
/**
 * Handmade results that use every member of a record, for the tests of the report writers and
 * readers. The same call always makes the same results.
 */
#include "report/record.h"

/**
 * Results with a command and no runs. Like all functions here, fails the test if memory is
 * insufficient.
 */
struct nb_results *
record_rig_new(void);

/**
 * Add a job of 30 s on `driver`:
 * - group "readers": one thread, with a rate, read and scan
 * - group "writers": two threads, without a rate, update and insert
 * - a warm-up of 2 s
 * - a stall of 600 ms at 12 s, when the counter "compactions" grows
 *
 * All latencies are multiplied by `scale`.
 */
struct record *
record_rig_add_job(struct nb_results *results, const char *driver, double scale);

/** Add a classic put of 100000 records in 4 s, with two threads. */
struct record *
record_rig_add_put(struct nb_results *results, const char *driver, double scale);

/**
 * Add the results of vs: four rounds of leveldb and lmdb in random order. Each run is a put and
 * a job, with its own stream. lmdb's throughput is twice leveldb's. In round r, both are
 * multiplied by 1 + r / 100.
 */
void
record_rig_add_versus(struct nb_results *results);

/** Add a sweep of ten points. The first record has no label: it is the capacity. */
void
record_rig_add_curve(struct nb_results *results);

/** The output of a report writer. Free the text. */
char *
record_rig_written(const struct nb_results *results, const char *format, uint32_t flags);

#endif /* RECORD_RIG_H */
