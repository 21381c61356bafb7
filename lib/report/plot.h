/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H
/** Parts of a gnuplot script, which needs no other file: its data stand in it as blocks. */
#include <stdio.h>

/** How it is used, and the choice of the terminal; `what` is told in the first line. */
void
plot_head(FILE *out, const char *what);

/** The next picture: title, and the file `<output>-<name>.<terminal>`. */
void
plot_begin(FILE *out, const char *name, const char *title);

/** A text in quotes, for a title or a label. */
void
plot_text(FILE *out, const char *text);

/** `plot` for the first curve of a picture, else what is between two; adds one to *count. */
void
plot_next(FILE *out, size_t *count);

#endif /* REPORT_PLOT_H */
