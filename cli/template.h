/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_TEMPLATE_H
#define CLI_TEMPLATE_H
/**
 * Files of extra/ that the program contains, so they are always available. template.py converts
 * them when the program is built.
 */
#include <stddef.h>

struct template_file {
	const char *name;
	const char *text; /* not NUL-terminated */
	size_t size;
};

/** extra/engine-template; ends with a NULL name. */
extern const struct template_file template_files[];

/** Pages of extra/man with marks; see help.h. Ends likewise. */
extern const struct template_file manual_files[];

/** Completions: bash, then zsh. */
extern const struct template_file completion_files[];

#endif /* CLI_TEMPLATE_H */
