/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H
/**
 * Results of a call: text on stdout, and the files that options name. With --output=- stdout
 * gets only the result file.
 */
#include <stdbool.h>
#include <stdio.h>

#include <mininb/mininb.h>

struct options;

/**
 * Before an action: checks that each file that it writes can be written and, without --force,
 * that an existing one was made by mininb. STATUS_DONE, or the failure was reported.
 */
int
output_check(const struct options *options);

/**
 * Before a run, with the options of the command line. STATUS_DONE, or the failure was reported.
 */
int
output_begin(const struct options *options);

/** Discards reports from now on, because another process prints them. */
void
output_silence(void);

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
 * Appends the results in the file `path`, and sets the end of the last one unless `end` is "".
 * If the file has no results, appends the failure `end` of `driver`. Returns a code of the
 * library.
 */
int
output_take(struct nb_results *into, const char *path, const char *driver, const char *end);

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
