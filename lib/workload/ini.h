/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_INI_H
#define WORKLOAD_INI_H
/**
 * INI files: "[section]" and "key = value", one a line.
 *
 * Blanks around a name, a key and a value are no part of it. A line whose first
 * character, blanks apart, is '#' or ';' is a comment; behind anything else these two
 * are characters like any other, since a value may hold them. A value may be empty.
 * Lines are as long as they like, and end in LF, CRLF or the end of the file. A UTF-8
 * byte order mark at the beginning is passed over. There are no escapes, no quotes and
 * no continued lines.
 */
#include <stddef.h>

#include <mininb/mininb.h>

/** A section that begins, or an assignment. All texts are lent for the call. */
struct ini_line {
	const char *file;
	size_t number;       /* from 1 up */
	const char *section; /* NULL: none has begun */
	const char *key;     /* NULL: this line begins the section */
	const char *value;
};

/** Anything but NB_OK ends the reading, which then returns it. */
typedef int (*ini_fn)(void *arg, const struct ini_line *line);

/** NB_ERR_USAGE "FILE:LINE: ...", NB_FAIL "FILE: ..." if it cannot be read at all. */
NB_MUST_CHECK int
ini_read(const char *path, ini_fn fn, void *arg);

/** The same of `size` bytes, which are cut up; text[size] is written to, too. */
NB_MUST_CHECK int
ini_parse(const char *file, char *text, size_t size, ini_fn fn, void *arg);

/** Keep "FILE:LINE: <fmt>" as the error; NB_ERR_USAGE. */
NB_PRINTF(2, 3)
int
ini_refuse(const struct ini_line *line, const char *fmt, ...);

#endif /* WORKLOAD_INI_H */
