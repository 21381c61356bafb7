/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LINES_H
#define BASE_LINES_H
/** Text files that people write: read whole, and handed out line by line. */
#include <stddef.h>

#include <mininb/mininb.h>

/**
 * Line `number`, from 1 up, without its end and the blanks around it; may be cut up. A failure ends
 * the reading and is prefixed with "FILE:LINE: ".
 */
typedef int (*lines_fn)(void *arg, size_t number, char *line);

/**
 * Read a file of at most 256 MiB. Lines end in LF, CRLF or at the end of the file; a UTF-8 byte
 * order mark is skipped. NB_ERR_USAGE, also of a byte of zero; NB_FAIL "FILE: ...".
 */
NB_MUST_CHECK int
lines_read(const char *path, lines_fn fn, void *arg);

/** The same of `size` bytes, which are cut up; text[size] is written to, too. */
NB_MUST_CHECK int
lines_parse(const char *path, char *text, size_t size, lines_fn fn, void *arg);

/**
 * Read a file of lines of two words, "FIRST SECOND", where # begins a comment. `form` says in
 * messages what a line is. A file without such a line is refused, too.
 */
NB_MUST_CHECK int
lines_read_pairs(const char *path, const char *form,
	int (*fn)(void *arg, const char *first, const char *second), void *arg);

/** Cut blanks off both ends of what is between begin and *end. */
char *
lines_trim(char *begin, char *end);

#endif /* BASE_LINES_H */
