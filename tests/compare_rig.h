/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef COMPARE_RIG_H
#define COMPARE_RIG_H
/**
 * Small handmade results for the tests of comparison. Each function fails the test if it cannot
 * succeed.
 */
#include "report/compare.h"

enum { RIG_OPS = 2000 /* operations of a run: enough for a p99, too few for a p99.9 */ };

struct nb_results *
rig_results(void);

/**
 * Add a classic get of RIG_OPS operations. Its latencies spread evenly from latency_ns to twice
 * latency_ns.
 */
struct record *
rig_add(struct nb_results *results, const char *driver, double rate_ops_s, double latency_ns);

/** Add `count` runs. Run i has the rate and the latencies times 1 + 0.01 * i. */
void
rig_add_spread(struct nb_results *results, const char *driver, double rate_ops_s,
	double latency_ns, uint32_t count);

/**
 * Make the record a repetition of vs, by the contestant with this number. Its name is
 * DRIVER#NUMBER.
 */
void
rig_set_contestant(struct record *record, uint32_t contestant, uint32_t round);

/** Make all runs report that other processes used `percent` of the machine's CPU time. */
void
rig_set_taken(struct nb_results *results, uint32_t percent);

/** Add a run of a job with two kinds of operations in one group: half reads, half updates. */
struct record *
rig_add_job(struct nb_results *results, const char *driver, double rate_ops_s, double read_ns,
	double update_ns);

/** Compare two results. Returns the value of nb_comparison_new(). */
int
rig_compare(struct nb_comparison **out, const struct nb_results *first,
	const struct nb_results *second);

/** Same as rig_compare(), but the comparison must succeed. */
struct nb_comparison *
rig_compared(const struct nb_results *first, const struct nb_results *second);

/** The metric `name` of the first work. */
const struct compare_metric *
rig_metric(const struct nb_comparison *comparison, const char *name);

/** The comparison written in `format`. Free the text. */
char *
rig_written(const struct nb_comparison *comparison, const char *format, uint32_t flags);

void
rig_assert_has(const char *text, const char *part);

void
rig_assert_lacks(const char *text, const char *part);

#endif /* COMPARE_RIG_H */
