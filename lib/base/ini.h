/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_INI_H
#define BASE_INI_H
/**
 * INI files: "[section]" and "key = value", one per line.
 *
 * Blanks around a name, a key and a value are not part of it. A line whose first character
 * after blanks is '#' or ';' is a comment. Elsewhere these two are ordinary characters, because
 * a value may contain them. A value may be empty. Escapes, quotes and continuation lines do not
 * exist. base/lines.h describes the rest.
 */
#include <mininb/mininb.h>

/** The start of a section, or an assignment. All texts are valid during the call. */
struct ini_line {
	size_t number;       /* from 1 up */
	const char *section; /* NULL: no section has begun */
	const char *key;     /* NULL: this line begins the section */
	const char *value;
};

/** A failure ends the reading and is prefixed with "FILE:LINE: ". */
typedef int (*ini_fn)(void *arg, const struct ini_line *line);

NB_MUST_CHECK int
ini_read(const char *path, ini_fn fn, void *arg);

/** Same for `size` bytes of text, which is modified; text[size] is written to, too. */
NB_MUST_CHECK int
ini_parse(const char *file, char *text, size_t size, ini_fn fn, void *arg);

#endif /* BASE_INI_H */
