/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The whole file is read first, and cut up in place, so lines have any length. The size of a
 * pipe is unknown in advance. The limit makes /dev/zero an error instead of the end of memory.
 */
#include "base/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum { FILE_MAX_MIB = 256 };

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

char *
lines_trim(char *begin, char *end)
{
	while (begin < end && is_blank(*begin))
		begin++;
	while (end > begin && is_blank(end[-1]))
		end--;
	*end = '\0';
	return begin;
}

int
lines_parse(const char *path, char *text, size_t size, lines_fn fn, void *arg)
{
	char *at = text, *end = text + size;
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		at += 3;
	int rc = NB_OK;
	for (size_t number = 1; rc == NB_OK && at < end; number++) {
		char *line = at, *newline = memchr(at, '\n', (size_t)(end - at));
		at = newline != NULL ? newline : end;
		if (memchr(line, '\0', (size_t)(at - line)) != NULL)
			rc = error_set(NB_ERR_USAGE,
				"contains a byte of zero; this is not a text file");
		else
			rc = fn(arg, number, lines_trim(line, at));
		if (rc != NB_OK)
			rc = error_prefix(rc, "%s:%zu", path, number);
		at++;
	}
	return rc;
}

/** Read a whole file, and leave room for one more byte. */
static int
read_all(int fd, const char *path, char **text, size_t *size)
{
	for (size_t room = 0;;) {
		if (*size == room) {
			room = 2 * room + 4096;
			char *larger = realloc(*text, room + 1);
			if (larger == NULL)
				return error_system("%s", path);
			*text = larger;
		}
		ssize_t got = read(fd, *text + *size, room - *size);
		if (got == 0)
			return NB_OK;
		if (got < 0 && errno != EINTR)
			return error_system("%s", path);
		*size += got > 0 ? (size_t)got : 0;
		if (*size > (size_t)FILE_MAX_MIB << 20)
			return error_set(
				NB_ERR_USAGE, "%s: is larger than %d MiB", path, FILE_MAX_MIB);
	}
}

int
lines_read(const char *path, lines_fn fn, void *arg)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_system("%s", path);
	char *text = NULL;
	size_t size = 0;
	int rc = read_all(fd, path, &text, &size);
	close(fd);
	if (rc == NB_OK)
		rc = lines_parse(path, text, size, fn, arg);
	free(text);
	return rc;
}

/* ---- lines of two words ---- */

struct pairs {
	const char *form;
	int (*fn)(void *arg, const char *first, const char *second);
	void *arg;
	bool is_empty;
};

static int
take_pair(void *arg, size_t number, char *line)
{
	(void)number;
	struct pairs *pairs = arg;
	char *rest = NULL;
	line[strcspn(line, "#")] = '\0';
	const char *first = strtok_r(line, " \t\r\v\f", &rest);
	if (first == NULL)
		return NB_OK;
	const char *second = strtok_r(NULL, " \t\r\v\f", &rest);
	if (second == NULL || strtok_r(NULL, " \t\r\v\f", &rest) != NULL)
		return error_set(NB_ERR_USAGE, "is not a line '%s'", pairs->form);
	pairs->is_empty = false;
	return pairs->fn(pairs->arg, first, second);
}

int
lines_read_pairs(const char *path, const char *form,
	int (*fn)(void *arg, const char *first, const char *second), void *arg)
{
	struct pairs pairs = {form, fn, arg, true};
	int rc = lines_read(path, take_pair, &pairs);
	if (rc == NB_OK && pairs.is_empty)
		rc = error_set(NB_ERR_USAGE, "%s: has no line '%s'", path, form);
	return rc;
}
