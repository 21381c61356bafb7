/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rejected: libinih. Debian builds it for lines of at most 200 bytes. It cuts longer lines and
 * parses the rest as another line; a rate schedule or a list of CPUs can be longer. Rejected:
 * comments after a value, because a '#' in a path would then need escapes.
 */
#include "base/ini.h"

#include <string.h>

#include "base/error.h"
#include "base/lines.h"

enum { QUOTE_MAX = 60 /* of a line, in messages */ };

struct reader {
	struct ini_line line;
	ini_fn fn;
	void *arg;
};

/** `text` begins with '['. */
static int
take_section(struct ini_line *line, char *text)
{
	char *end = strchr(text, ']');
	if (end == NULL)
		return error_set(NB_ERR_USAGE, "'%.*s' lacks its ']'", QUOTE_MAX, text);
	if (end[1] != '\0')
		return error_set(NB_ERR_USAGE,
			"'%.*s' after ']' is not allowed; a comment needs a line of its own",
			QUOTE_MAX, end + 1);
	line->section = lines_trim(text + 1, end);
	line->key = line->value = NULL;
	return line->section[0] != '\0' ? NB_OK
					: error_set(NB_ERR_USAGE, "a section without a name");
}

static int
take_assignment(struct ini_line *line, char *text)
{
	char *equals = strchr(text, '=');
	if (equals == NULL)
		return error_set(NB_ERR_USAGE, "'%.*s' is neither [SECTION] nor KEY = VALUE",
			QUOTE_MAX, text);
	line->value = lines_trim(equals + 1, text + strlen(text));
	line->key = lines_trim(text, equals);
	return line->key[0] != '\0' ? NB_OK : error_set(NB_ERR_USAGE, "no key before the '='");
}

static int
take_line(void *arg, size_t number, char *text)
{
	struct reader *reader = arg;
	if (text[0] == '\0' || text[0] == '#' || text[0] == ';')
		return NB_OK;
	reader->line.number = number;
	int rc = text[0] == '[' ? take_section(&reader->line, text)
				: take_assignment(&reader->line, text);
	return rc == NB_OK ? reader->fn(reader->arg, &reader->line) : rc;
}

int
ini_parse(const char *file, char *text, size_t size, ini_fn fn, void *arg)
{
	struct reader reader = {.fn = fn, .arg = arg};
	return lines_parse(file, text, size, take_line, &reader);
}

int
ini_read(const char *path, ini_fn fn, void *arg)
{
	struct reader reader = {.fn = fn, .arg = arg};
	return lines_read(path, take_line, &reader);
}
