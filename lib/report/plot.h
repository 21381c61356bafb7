/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H
/** Parts of a gnuplot script. The script contains its data as blocks and needs no other file. */
#include <stdio.h>

/** Write a comment with `what` and the usage, and the choice of the terminal. */
void
plot_head(FILE *out, const char *what);

/** Begin the next picture with its title; gnuplot writes it to `<output>-<name>.<terminal>`. */
void
plot_begin(FILE *out, const char *name, const char *title);

/** Write a quoted text for a title or a label. */
void
plot_text(FILE *out, const char *text);

/**
 * Write `plot` before the first curve of a picture, or a separator before others.
 * Increments *count.
 */
void
plot_next(FILE *out, size_t *count);

#endif /* REPORT_PLOT_H */
