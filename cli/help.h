/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_HELP_H
#define CLI_HELP_H
/** Text made from the rows of actions and options. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "template.h"

struct cmd;

/** Prints the help HELP_* to stdout; HELP_TEXT only of `action` unless it is NULL. */
void
help_print(uint64_t help, const struct cmd *action);

/** Prints the short text for a call without an action. */
void
help_print_usage(FILE *out);

/** Prints a text, wrapped and indented. */
void
help_print_text(FILE *out, const char *text);

/** Prints a page of extra/man, "mininb.1.scd", with its tables, as input of scdoc. */
void
help_print_page(FILE *out, const char *name);

/** Prints a file of completion_files with its tables. */
void
help_print_completion(FILE *out, const struct template_file *script);

/**
 * A mark in a file of extra/, "@actions@", and its replacement, made from the rows. The files
 * are manual pages and completions, each written in its own language.
 */
struct help_mark {
	const char *text;         /* the mark with both '@', or any other text */
	void (*print)(FILE *out); /* prints the replacement; NULL: `to` is the replacement */
	const char *to;
};

/**
 * Prints the file with its marks replaced. The first matching element of `marks` counts; the list
 * ends with a NULL text.
 */
void
help_print_marked(FILE *out, const struct template_file *file, const struct help_mark *marks);

#endif /* CLI_HELP_H */
