/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H
/**
 * Results of a call: the text to stdout, and the files that the options name. With --output=-
 * stdout gets the result file only.
 */
#include <stdbool.h>
#include <stdio.h>

#include <mininb/mininb.h>

struct options;

/**
 * Checks before the run that all files can be made. STATUS_DONE, or the failure was reported.
 * `options` are those of the command line.
 */
int
output_begin(const struct options *options);

/** The stream for reports: stdout, or /dev/null with --output=-. */
FILE *
output_text(void);

/** NB_TEXT_* flags for that stream. */
uint32_t
output_flags(const struct options *options);

/**
 * Stores in `results` the command that made them; `job` as in struct nb_command. Returns a code
 * of the library.
 */
int
output_set_command(
	struct nb_results *results, const struct options *options, const struct nb_job *job);

/**
 * Writes the files, and with --strict checks the notes. Returns `status` if it is a failure.
 */
int
output_finish(const struct options *options, const struct nb_results *results, int status);

/**
 * Writes the files of --hlog, --csv and --notebook, all of them even if one fails. Returns the
 * status of the first failure.
 */
int
output_write_others(const struct options *options, const struct nb_results *results);

#endif /* CLI_OUTPUT_H */
