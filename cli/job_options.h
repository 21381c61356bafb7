/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_JOB_OPTIONS_H
#define CLI_JOB_OPTIONS_H
/** The job of the command line. */

struct nb_job;
struct options;

/**
 * Reads the workload `name` (NULL: an empty job), applies the settings in their order, checks
 * it. Returns a code of the library; after NB_OK give *job to nb_job_delete().
 */
int
job_options_read(struct nb_job **job, const char *name, const struct options *options);

/** Only applies the settings and checks the job. */
int
job_options_set(struct nb_job *job, const struct options *options);

#endif /* CLI_JOB_OPTIONS_H */
