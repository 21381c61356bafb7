/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_HELP_MARKS_H
#define CLI_HELP_MARKS_H
/**
 * Text that has marks, "@actions@", where what is made of the tables belongs. Manual
 * pages and completions are such files of extra/; so each is written in its own language.
 */
#include <stdio.h>

#include "template.h"

struct help_mark {
	const char *text;         /* with both '@' */
	void (*print)(FILE *out); /* what stands for it */
};

/** The file with its marks replaced. `marks` ends with a NULL text. */
void
help_print_marked(FILE *out, const struct template_file *file, const struct help_mark *marks);

#endif /* CLI_HELP_MARKS_H */
