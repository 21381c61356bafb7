/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_JOB_H
#define CLI_JOB_H
/** Jobs as the command line asks for them. */
#include <mininb/mininb.h>

struct nb_results;
struct options;

/** What the options say of how it is run. `progress` NULL: what is shown to the user. */
struct nb_job_options
job_options_of(const struct options *options, const struct nb_job *job, uint32_t what,
	nb_progress_fn progress);

/**
 * Run it, print the report and what went wrong, append what came of it to `results`; the exit
 * status. `summary` may be NULL.
 */
int
job_execute(const struct options *options, const struct nb_job_options *job_options,
	struct nb_results *results, struct nb_summary *summary);

#endif /* CLI_JOB_H */
