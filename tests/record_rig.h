/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RECORD_RIG_H
#define RECORD_RIG_H
/**
 * Results made by hand, with all that a record can hold, for the tests of what writes and
 * reads them. The same call makes the same results.
 */
#include "report/record.h"

/** No runs; with a command. Fails the test if memory does not reach, as do all of these. */
struct nb_results *
record_rig_new(void);

/**
 * A job of 30 s on `driver`: two groups side by side, "readers" with a rate (read, scan) and
 * "writers" without (update, insert), one thread each and two; a warm-up of 2 s; a stall of
 * 600 ms at 12 s, when the counter "compactions" grows; all latencies times `scale`.
 */
struct record *
record_rig_add_job(struct nb_results *results, const char *driver, double scale);

/** A classic put of 100000 records in 4 s, with two threads. */
struct record *
record_rig_add_put(struct nb_results *results, const char *driver, double scale);

/**
 * What vs leaves: four rounds of leveldb and lmdb in random order, each a put and a job, with
 * streams of their own. lmdb's throughput is twice leveldb's, of round r both are
 * 1 + r / 100 times as high.
 */
void
record_rig_add_versus(struct nb_results *results);

/** The curve of a sweep, of ten points; the first record, without a label, is its capacity. */
void
record_rig_add_curve(struct nb_results *results);

/** What a writer makes of them; to be freed. */
char *
record_rig_written(const struct nb_results *results, const char *format, uint32_t flags);

#endif /* RECORD_RIG_H */
