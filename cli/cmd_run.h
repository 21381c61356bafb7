/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CMD_RUN_H
#define CLI_CMD_RUN_H
/** Runs: one in this process, or several, each in a process of its own. */
#include <mininb/mininb.h>

struct options;

/**
 * Run `verb` on options->driver, print the report and what went wrong, and return
 * the exit status. With `summary`, fill that in as well; with `progress`, call that
 * often, whatever is shown.
 */
int
run_one(const struct options *options, uint32_t verb, nb_progress_fn progress,
	struct nb_summary *summary);

/**
 * Run `verb` on each engine of the list options->driver, "a,b,c". A single one runs in this
 * process, unless it is to be watched.
 */
int
run_drivers(const struct options *options, uint32_t verb);

#endif /* CLI_CMD_RUN_H */
