/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_HELP_H
#define CLI_HELP_H
/** Text made from the rows of actions and options. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "template.h"

struct cmd;

/** Prints any HELP_* to stdout; HELP_TEXT of one action unless that is NULL. */
void
help_print(uint64_t help, const struct cmd *action);

/** The short text, if no action was given. */
void
help_print_usage(FILE *out);

/** Prints a text, wrapped; each line begins with `indent` spaces. */
void
help_print_text(FILE *out, const char *text, int indent);

/** Prints a page of extra/man, "mininb.1.scd", with its tables, as input of scdoc. */
void
help_print_page(FILE *out, const char *name);

/** Prints a file of completion_files with its tables. */
void
help_print_completion(FILE *out, const struct template_file *script);

/**
 * Files of extra/ with marks, "@actions@", that text made from the rows replaces: manual pages
 * and completions. So each file is written in its own language.
 */
struct help_mark {
	const char *text;         /* with both '@', or any text */
	void (*print)(FILE *out); /* prints the replacement; NULL: it is */
	const char *to;
};

/** Prints the file with its marks replaced, the first that fits. `marks` ends with a NULL text. */
void
help_print_marked(FILE *out, const struct template_file *file, const struct help_mark *marks);

#endif /* CLI_HELP_H */
