/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H
/** One line on standard error that rewrites itself while a long call runs. */
#include <stdbool.h>

#include <mininb/mininb.h>

/**
 * What to give the library as its progress function: NULL if there is nobody
 * to look, that is if stderr is no terminal, a dumb one, or `is_wanted` is not.
 */
nb_progress_fn
progress_function(bool is_wanted);

/** Show this text, of ASCII alone, as the line, where progress_function() of the same has somebody to look. */
void
progress_show_text(const char *text);

/** Take the line off the screen, before anything else is printed there. */
void
progress_clear(void);

#endif /* CLI_PROGRESS_H */
