/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_TEMPLATE_H
#define CLI_TEMPLATE_H
/**
 * Files of extra/, within the program, so that they are there wherever the program
 * is. Made by template.py when the program is built.
 */
#include <stddef.h>

struct template_file {
	const char *name;
	const char *text; /* not ended by NUL */
	size_t size;
};

/** extra/engine-template, ended by a NULL name. */
extern const struct template_file template_files[];

/** Pages of extra/man that have marks; see help_marks.h. Ended likewise. */
extern const struct template_file manual_files[];

/** Completions: that of bash, that of zsh. */
extern const struct template_file completion_files[];

#endif /* CLI_TEMPLATE_H */
