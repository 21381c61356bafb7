/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H
/**
 * Runs at many rates: the curve of latency over throughput, and the highest rate that holds a
 * limit.
 */
#include <stdbool.h>

#include <mininb/mininb.h>

#include "options.h"

/** Own options of run. */
struct sweep_own {
	const char *slo;
	bool is_sweep;
};
extern struct sweep_own sweep_own;
extern const struct option_row sweep_options[];

/**
 * --sweep or --slo: runs the job at several rates, which follow from its capacity. Prints the
 * curve or the rate, and appends each run to `results`; returns the exit status.
 */
int
sweep_execute(const struct options *options, struct nb_job *job,
	const struct nb_run_options *job_options, struct nb_results *results,
	struct nb_summary *summary);

#endif /* CLI_SWEEP_H */
