/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_INI_H
#define BASE_INI_H
/**
 * INI files: "[section]" and "key = value", one a line.
 *
 * Blanks around a name, a key and a value are not part of it. A line whose first character,
 * blanks apart, is '#' or ';' is a comment; elsewhere these two are ordinary characters,
 * because a value may contain them. A value may be empty. There are no escapes, quotes or
 * continued lines. The rest is in base/lines.h.
 */
#include <mininb/mininb.h>

/** A section that begins, or an assignment. All texts are lent for the call. */
struct ini_line {
	size_t number;       /* from 1 up */
	const char *section; /* NULL: none has begun */
	const char *key;     /* NULL: this line begins the section */
	const char *value;
};

/** A failure ends the reading and is prefixed with "FILE:LINE: ". */
typedef int (*ini_fn)(void *arg, const struct ini_line *line);

NB_MUST_CHECK int
ini_read(const char *path, ini_fn fn, void *arg);

/** The same of `size` bytes, which are cut up; text[size] is written to, too. */
NB_MUST_CHECK int
ini_parse(const char *file, char *text, size_t size, ini_fn fn, void *arg);

#endif /* BASE_INI_H */
