/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H
/** One line on standard error that is rewritten during a long call. */
#include <stdbool.h>

#include <mininb/mininb.h>

struct options;

/**
 * The progress function for the library. NULL if `is_wanted` is false, or if stderr is not a
 * terminal or is a dumb one.
 */
nb_progress_fn
progress_function(bool is_wanted);

/** The same, unless --quiet or --report-interval=0 is given. */
nb_progress_fn
progress_of(const struct options *options);

/** Shows this ASCII text as the line, if progress_function(true) is not NULL. */
void
progress_show_text(const char *text);

/** Removes the line from the screen, before other output. */
void
progress_clear(void);

#endif /* CLI_PROGRESS_H */
