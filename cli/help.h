/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_HELP_H
#define CLI_HELP_H
/** What is printed from the tables of actions and options. */
#include <stdint.h>
#include <stdio.h>

/** HELP_TEXT, HELP_MAN or HELP_BASH, to stdout. */
void
help_print(uint64_t help);

/** The short one, for who gave no action. */
void
help_print_usage(FILE *out);

/** A text, wrapped, each line indented so far. */
void
help_print_text(FILE *out, const char *text, int indent);

/** The man page, in the macros of man(7). */
void
help_print_man(FILE *out);

/** What stands behind its tables, as roff; ended by NULL. */
extern const char *const help_man_prose[];

/** A script that bash sources. */
void
help_print_bash(FILE *out);

#endif /* CLI_HELP_H */
