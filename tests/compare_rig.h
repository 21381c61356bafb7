/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef COMPARE_RIG_H
#define COMPARE_RIG_H
/** Small results made by hand, for the tests of comparing. All fail the test if they cannot. */
#include "report/compare.h"

enum { RIG_OPS = 2000 /* of a run: enough for a p99, too few for a p99.9 */ };

struct nb_results *
rig_results(void);

/** A classic get of RIG_OPS operations; latencies from latency_ns to twice that, evenly. */
struct record *
rig_add(struct nb_results *results, const char *driver, double rate_ops_s, double latency_ns);

/** `count` of them, whose rate and latency are those times 1 + 0.01 * {0, 1, ... count - 1}. */
void
rig_add_spread(struct nb_results *results, const char *driver, double rate_ops_s,
	double latency_ns, uint32_t count);

/** Make it a repetition of vs: the contestant of that number, called after its driver. */
void
rig_set_contestant(struct record *record, uint32_t contestant, uint32_t round);

/** Say of all of them that others had so many percent of the machine's CPU time. */
void
rig_set_taken(struct nb_results *results, uint32_t percent);

/** A run of a job with two kinds of operations in one group: half reads, half updates. */
struct record *
rig_add_job(struct nb_results *results, const char *driver, double rate_ops_s, double read_ns,
	double update_ns);

/** Of two of them. What it returns is nb_comparison_new()'s. */
int
rig_compare(struct nb_comparison **out, const struct nb_results *first,
	const struct nb_results *second);

/** As rig_compare(), which must go well. */
struct nb_comparison *
rig_compared(const struct nb_results *first, const struct nb_results *second);

/** The metric of that name of the first work. */
const struct compare_metric *
rig_metric(const struct nb_comparison *comparison, const char *name);

/** As it is written; to free(). */
char *
rig_written(const struct nb_comparison *comparison, const char *format, uint32_t flags);

void
rig_assert_has(const char *text, const char *part);

void
rig_assert_lacks(const char *text, const char *part);

#endif /* COMPARE_RIG_H */
