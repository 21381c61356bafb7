/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_LINES_H
#define BASE_LINES_H
/** Text files written by people: read at once and returned line by line. */
#include <stddef.h>

#include <mininb/mininb.h>

/**
 * Receives line `number`, from 1, without its end and surrounding blanks; may modify the line.
 * A failure ends the reading and is prefixed with "FILE:LINE: ".
 */
typedef int (*lines_fn)(void *arg, size_t number, char *line);

/**
 * Read a file of at most 256 MiB. Lines end in LF, CRLF or at the end of the file; a UTF-8 byte
 * order mark is skipped. NB_ERR_USAGE: larger, or contains a zero byte. NB_FAIL: "FILE: ...".
 */
NB_MUST_CHECK int
lines_read(const char *path, lines_fn fn, void *arg);

/** Same for `size` bytes of text, which is modified; text[size] is written to, too. */
NB_MUST_CHECK int
lines_parse(const char *path, char *text, size_t size, lines_fn fn, void *arg);

/**
 * Read a file with lines of two words, "FIRST SECOND"; # begins a comment. `form` describes a
 * line in messages. A file without such a line is an error, too.
 */
NB_MUST_CHECK int
lines_read_pairs(const char *path, const char *form,
	int (*fn)(void *arg, const char *first, const char *second), void *arg);

/** Remove blanks at both ends of the text between begin and end. */
char *
lines_trim(char *begin, char *end);

#endif /* BASE_LINES_H */
