/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_SIZE = 1024 };

/* ---- texts ---- */

/**
 * Bytes of the UTF-8 character at the start of `text` (RFC 3629). 0: none, or a control
 * character, including those from U+0080 to U+009F.
 */
static size_t
character_size(const unsigned char *text)
{
	static const struct {
		unsigned char first, first_max, second, second_max;
		size_t size;
	} forms[] = {{0x20, 0x7e, 0, 0, 1}, {0xc2, 0xc2, 0xa0, 0xbf, 2},
		{0xc3, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (text[0] < forms[i].first || text[0] > forms[i].first_max)
			continue;
		size_t size = 1;
		if (forms[i].size > 1 && text[1] >= forms[i].second &&
			text[1] <= forms[i].second_max)
			size = 2;
		while (size > 1 && size < forms[i].size && (text[size] & 0xc0) == 0x80)
			size++;
		return size == forms[i].size ? size : 0;
	}
	return 0;
}

void
procfs_keep(char *into, size_t size, const char *text)
{
	const unsigned char *from = (const unsigned char *)text;
	size_t used = 0, end = 0;
	while (*from != '\0' && (*from <= ' ' || *from == 0x7f))
		from++;
	while (*from != '\0') {
		size_t bytes = character_size(from);
		if (used + (bytes > 0 ? bytes : 1) >= size)
			break;
		if (bytes == 0)
			into[used++] = *from < ' ' || *from == 0x7f ? ' ' : '?';
		else
			memcpy(into + used, from, bytes);
		used += bytes;
		from += bytes > 0 ? bytes : 1;
		end = into[used - 1] != ' ' ? used : end;
	}
	into[end] = '\0';
}

bool
procfs_parse_number(uint64_t *number, const char *text)
{
	static const char units[] = "kmgt";
	char *end;
	errno = 0;
	if (!isdigit((unsigned char)*text))
		return false;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno != 0)
		return false;
	while (*end == ' ')
		end++;
	const char *unit = *end != '\0' ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (*end != '\0' && unit == NULL && !isspace((unsigned char)*end))
		return false;
	unsigned shift = unit != NULL ? 10 * (unsigned)(unit - units + 1) : 0;
	if (value > UINT64_MAX >> shift)
		return false;
	*number = (uint64_t)value << shift;
	return true;
}

/** Parse the next "8" or "0-3" of a list. False at the end, or if it is not a list. */
static bool
next_range(const char **at, uint64_t *from, uint64_t *to)
{
	char *end;
	if (!isdigit((unsigned char)**at))
		return false;
	*from = *to = strtoul(*at, &end, 10);
	if (*end == '-')
		*to = strtoul(end + 1, &end, 10);
	if (*to < *from || *to - *from >= UINT16_MAX || (*end != ',' && *end != '\0'))
		return false;
	*at = *end == ',' ? end + 1 : end;
	return true;
}

uint64_t
procfs_list(const char *list, uint64_t *nth)
{
	uint64_t from, to, count = 0;
	const char *at = list;
	while (next_range(&at, &from, &to))
		count += to - from + 1;
	if (*at != '\0' || count == 0)
		return 0;
	uint64_t skip = *nth % count;
	for (at = list; next_range(&at, &from, &to); skip -= to - from + 1) {
		*nth = from + skip;
		if (skip <= to - from)
			break;
	}
	return count;
}

/* ---- files ---- */

/** Opens only regular files: reading a pipe or a device could block for ever. */
static FILE *
open_file(const char *root, const char *path)
{
	char full[PATH_MAX];
	struct stat st;
	if ((size_t)snprintf(full, sizeof(full), "%s%s", root, path) >= sizeof(full))
		return NULL;
	int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return NULL;
	FILE *file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
	if (file == NULL)
		close(fd);
	return file;
}

static bool NB_PRINTF(4, 0)
	read_line(char *line, size_t size, const char *root, const char *fmt, va_list args)
{
	char path[PATH_MAX], raw[LINE_SIZE];
	if ((size_t)vsnprintf(path, sizeof(path), fmt, args) >= sizeof(path))
		return false;
	FILE *file = open_file(root, path);
	if (file == NULL)
		return false;
	bool is_read = fgets(raw, sizeof(raw), file) != NULL;
	fclose(file);
	if (!is_read)
		return false;
	char kept[LINE_SIZE];
	procfs_keep(kept, sizeof(kept), raw);
	if (kept[0] == '\0')
		return false;
	procfs_keep(line, size, kept);
	return true;
}

bool
procfs_line(char *line, size_t size, const char *root, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	bool is_known = read_line(line, size, root, fmt, args);
	va_end(args);
	return is_known;
}

bool
procfs_chosen(char *chosen, size_t size, const char *root, const char *fmt, ...)
{
	char line[LINE_SIZE];
	va_list args;
	va_start(args, fmt);
	bool is_known = read_line(line, sizeof(line), root, fmt, args);
	va_end(args);
	if (!is_known)
		return false;
	char *begin = strchr(line, '[');
	char *end = begin != NULL ? strchr(begin, ']') : NULL;
	if (end != NULL)
		*end = '\0';
	procfs_keep(chosen, size, end != NULL ? begin + 1 : line);
	return true;
}

bool
procfs_number(uint64_t *number, const char *root, const char *fmt, ...)
{
	char line[LINE_SIZE];
	va_list args;
	va_start(args, fmt);
	bool is_known = read_line(line, sizeof(line), root, fmt, args);
	va_end(args);
	return is_known && procfs_parse_number(number, line);
}

void
procfs_lines(const char *root, const char *path, bool (*see)(void *arg, char *line), void *arg)
{
	char *line = NULL;
	size_t size = 0;
	FILE *file = open_file(root, path);
	if (file == NULL)
		return;
	while (getline(&line, &size, file) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!see(arg, line))
			break;
	}
	free(line);
	fclose(file);
}

struct sought {
	const char *key;
	char *value;
	size_t size;
	bool is_found;
};

static bool
see_value(void *arg, char *line)
{
	struct sought *sought = arg;
	size_t length = strlen(sought->key);
	if (strncmp(line, sought->key, length) != 0)
		return true;
	line += length + strspn(line + length, " \t");
	if (*line != ':' && *line != '=')
		return true;
	line++;
	line += strspn(line, " \t");
	char quote = *line;
	char *end = quote == '"' || quote == '\'' ? strchr(line + 1, quote) : NULL;
	if (end != NULL) {
		*end = '\0';
		line++;
	}
	procfs_keep(sought->value, sought->size, line);
	sought->is_found = true;
	return false;
}

bool
procfs_value(char *value, size_t size, const char *root, const char *path, const char *key)
{
	struct sought sought = {.key = key, .value = value, .size = size};
	procfs_lines(root, path, see_value, &sought);
	return sought.is_found;
}

bool
procfs_exists(const char *root, const char *fmt, ...)
{
	char path[PATH_MAX], full[PATH_MAX];
	va_list args;
	va_start(args, fmt);
	int length = vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	return (size_t)length < sizeof(path) &&
		(size_t)snprintf(full, sizeof(full), "%s%s", root, path) < sizeof(full) &&
		access(full, F_OK) == 0;
}
