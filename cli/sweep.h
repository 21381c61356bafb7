/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H
/** Runs at many rates: the latency-throughput curve, and the highest rate that holds a limit. */
#include <mininb/mininb.h>

struct nb_results;
struct options;

/**
 * --sweep or --slo: run the job again and again, at rates that follow from what it can do
 * without one. Prints the curve or the rate, and appends each run to `results`; the exit
 * status.
 */
int
sweep_execute(const struct options *options, struct nb_job *job,
	const struct nb_job_options *job_options, struct nb_results *results,
	struct nb_summary *summary);

#endif /* CLI_SWEEP_H */
