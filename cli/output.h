/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H
/**
 * Where the results of a call go: as text to stdout, and whole into the files that were asked
 * for. With --output=- stdout has the result file and nothing else.
 */
#include <stdbool.h>
#include <stdio.h>

#include <mininb/mininb.h>

struct options;

/**
 * See that all of the files can be made, before anything is run: STATUS_DONE, or what is wrong
 * has been said. `options` is the call's, as it was typed.
 */
int
output_begin(const struct options *options);

/** For what people read: stdout, or nowhere. */
FILE *
output_text(void);

/** NB_TEXT_* flags for that stream. */
uint32_t
output_flags(const struct options *options);

/** Keep in `results` how they were asked for; `job` as of struct nb_command. A library code. */
int
output_set_command(
	struct nb_results *results, const struct options *options, const struct nb_job *job);

/**
 * Write the files, and with --strict judge by the notes. `status` is that of the run, and
 * stays so if it was not STATUS_DONE.
 */
int
output_finish(const struct options *options, const struct nb_results *results, int status);

#endif /* CLI_OUTPUT_H */
