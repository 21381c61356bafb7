/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The whole file is read first, and cut up where it lies. Rejected: libinih, which
 * Debian builds for lines of at most 200 bytes: what is longer is cut and its rest
 * taken for another line, and a schedule of rates or a list of CPUs is soon longer.
 * Rejected: comments behind a value, for which a '#' in a path would need escapes.
 */
#include "workload/ini.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum {
	FILE_MAX = 64 << 20, /* so that /dev/zero is an error and not the end of all memory */
	QUOTE_MAX = 60       /* of a line, in messages */
};

int
ini_refuse(const struct ini_line *line, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	error_setv(NB_ERR_USAGE, fmt, args);
	va_end(args);
	return error_prefix(NB_ERR_USAGE, "%s:%zu", line->file, line->number);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/** Cut blanks off both ends of what is between begin and *end. */
static char *
trim(char *begin, char *end)
{
	while (begin < end && is_blank(*begin))
		begin++;
	while (end > begin && is_blank(end[-1]))
		end--;
	*end = '\0';
	return begin;
}

/** `text` is all of the line and begins with '['. */
static int
take_section(struct ini_line *line, char *text, ini_fn fn, void *arg)
{
	char *end = strchr(text, ']');
	if (end == NULL)
		return ini_refuse(line, "'%.*s' lacks its ']'", QUOTE_MAX, text);
	if (end[1] != '\0')
		return ini_refuse(line,
			"'%.*s' behind ']' is too much; a comment has a line of its own",
			QUOTE_MAX, end + 1);
	line->section = trim(text + 1, end);
	line->key = line->value = NULL;
	if (line->section[0] == '\0')
		return ini_refuse(line, "a section without a name");
	return fn(arg, line);
}

static int
take_assignment(struct ini_line *line, char *text, ini_fn fn, void *arg)
{
	char *equals = strchr(text, '=');
	if (equals == NULL)
		return ini_refuse(
			line, "'%.*s' is neither [SECTION] nor KEY = VALUE", QUOTE_MAX, text);
	line->value = trim(equals + 1, text + strlen(text));
	line->key = trim(text, equals);
	if (line->key[0] == '\0')
		return ini_refuse(line, "there is no key before the '='");
	return fn(arg, line);
}

static int
take_line(struct ini_line *line, char *begin, char *end, ini_fn fn, void *arg)
{
	if (memchr(begin, '\0', (size_t)(end - begin)) != NULL)
		return ini_refuse(line, "holds a byte of zero; this is no text file");
	char *text = trim(begin, end);
	if (text[0] == '\0' || text[0] == '#' || text[0] == ';')
		return NB_OK;
	if (text[0] == '[')
		return take_section(line, text, fn, arg);
	return take_assignment(line, text, fn, arg);
}

int
ini_parse(const char *file, char *text, size_t size, ini_fn fn, void *arg)
{
	struct ini_line line = {.file = file};
	char *at = text, *end = text + size;
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		at += 3;
	int rc = NB_OK;
	while (rc == NB_OK && at < end) {
		char *newline = memchr(at, '\n', (size_t)(end - at));
		char *line_end = newline != NULL ? newline : end;
		line.number++;
		rc = take_line(&line, at, line_end, fn, arg);
		at = line_end + 1;
	}
	return rc;
}

/** All of an open file, with room for a byte more. A pipe's size is not known before. */
static int
read_all(int fd, const char *path, char **out, size_t *out_size)
{
	char *text = NULL;
	for (size_t size = 0, room = 0;;) {
		if (size == room) {
			room = 2 * room + 4096;
			char *larger = realloc(text, room + 1);
			if (larger == NULL) {
				free(text);
				return error_system("%s", path);
			}
			text = larger;
		}
		ssize_t got = read(fd, text + size, room - size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got > 0 && (size += (size_t)got) <= FILE_MAX)
			continue;
		if (got == 0) {
			*out = text;
			*out_size = size;
			return NB_OK;
		}
		free(text);
		return got < 0 ? error_system("%s", path)
			       : error_set(NB_ERR_USAGE, "%s: is larger than 64 MiB", path);
	}
}

int
ini_read(const char *path, ini_fn fn, void *arg)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_system("%s", path);
	char *text = NULL;
	size_t size = 0;
	int rc = read_all(fd, path, &text, &size);
	close(fd);
	if (rc != NB_OK)
		return rc;
	rc = ini_parse(path, text, size, fn, arg);
	free(text);
	return rc;
}
