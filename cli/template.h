/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_TEMPLATE_H
#define CLI_TEMPLATE_H
/**
 * extra/engine-template, within the program, so that it is there wherever the
 * program is. Made by template.py when the program is built.
 */
#include <stddef.h>

struct template_file {
	const char *name;
	const char *text; /* not ended by NUL */
	size_t size;
};

/** Ended by a NULL name. */
extern const struct template_file template_files[];

#endif /* CLI_TEMPLATE_H */
