/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_TEMPLATE_H
#define CLI_TEMPLATE_H
/**
 * Files of extra/ that the program contains, so that they are always available. template.py
 * makes them when the program is built.
 */
#include <stddef.h>

struct template_file {
	const char *name;
	const char *text; /* not ended by NUL */
	size_t size;
};

/** extra/engine-template, ended by a NULL name. */
extern const struct template_file template_files[];

/** Pages of extra/man that have marks; see help.h. Ended likewise. */
extern const struct template_file manual_files[];

/** Completions: bash, then zsh. */
extern const struct template_file completion_files[];

#endif /* CLI_TEMPLATE_H */
