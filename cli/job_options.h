/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_JOB_OPTIONS_H
#define CLI_JOB_OPTIONS_H
/** The job that the options ask for. */

struct nb_job;
struct options;

/**
 * Read `name`, or if that is NULL what is there without a file, set what was typed, in the
 * order in which it came, and check it. A code of the library; on NB_OK *job is to be given
 * to nb_job_delete().
 */
int
job_options_read(struct nb_job **job, const char *name, const struct options *options);

/** The settings and the check alone, of a job that is there. */
int
job_options_set(struct nb_job *job, const struct options *options);

#endif /* CLI_JOB_OPTIONS_H */
