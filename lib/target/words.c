/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rejected: a shell. It would be one more process between mininb and the server, and paths
 * with a blank or a '$' would need its quoting.
 */
#include "target/words.h"

#include <ctype.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/**
 * Copy the word at `at` without quotes to `to`. Returns its end; NULL: a quote is not
 * closed.
 */
static const char *
take_word(char *to, const char *at)
{
	char quote = '\0';
	for (; *at != '\0' && (quote != '\0' || !isspace((unsigned char)*at)); at++) {
		if (quote == '\0' && (*at == '\'' || *at == '"'))
			quote = *at;
		else if (quote != '\0' && *at == quote)
			quote = '\0';
		else
			*to++ = *at;
	}
	*to = '\0';
	return quote == '\0' ? at : NULL;
}

int
words_split(struct words *out, const char *line)
{
	size_t length = strlen(line);
	*out = (struct words){.items = calloc(length / 2 + 2, sizeof(*out->items))};
	char *word = malloc(length + 1);
	int rc = out->items != NULL && word != NULL ? NB_OK : error_memory();
	for (const char *at = line; rc == NB_OK;) {
		while (isspace((unsigned char)*at))
			at++;
		if (*at == '\0')
			break;
		at = take_word(word, at);
		if (at == NULL)
			rc = error_set(NB_ERR_USAGE, "'%.60s' lacks the end of a quote", line);
		else if ((out->items[out->count++] = strdup(word)) == NULL)
			rc = error_memory();
	}
	free(word);
	return rc == NB_OK && out->count == 0
		? error_set(NB_ERR_USAGE, "must be the words of a command")
		: rc;
}

void
words_destroy(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
	free(words->items);
	*words = (struct words){0};
}

/**
 * Find the placeholder at the front of `at`. *length is its length, or 0 if `at` is not
 * "{name}".
 */
static const struct placeholder *
find(const struct placeholder *placeholders, const char *at, size_t *length)
{
	size_t name = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789_:-");
	*length = name > 0 && at[1 + name] == '}' ? name + 2 : 0;
	while (placeholders->name != NULL &&
		(strlen(placeholders->name) != name ||
			memcmp(placeholders->name, at + 1, name) != 0))
		placeholders++;
	return placeholders;
}

int
words_expand(char **out, const char *text, const struct placeholder *placeholders)
{
	size_t size, length;
	int rc = NB_OK;
	FILE *to = open_memstream(out, &size);
	if (to == NULL)
		return error_memory();
	while (*text != '\0' && rc == NB_OK) {
		const struct placeholder *it = *text == '{' ? find(placeholders, text, &length)
							    : NULL;
		if (it == NULL || length == 0) {
			fputc(*text++, to);
			continue;
		}
		if (it->name == NULL)
			rc = error_set(
				NB_ERR_USAGE, "unknown placeholder %.*s", (int)length, text);
		else if (it->text == NULL)
			rc = error_set(
				NB_ERR_USAGE, "%.*s is not known here", (int)length, text);
		else
			fputs(it->text, to);
		text += length;
	}
	if (fclose(to) != 0 && rc == NB_OK)
		rc = error_memory();
	if (rc != NB_OK)
		free(*out);
	return rc;
}

int
words_command(struct words *out, const char *line, const struct placeholder *placeholders)
{
	int rc = words_split(out, line);
	for (size_t i = 0; i < out->count && rc == NB_OK; i++) {
		char *expanded;
		rc = words_expand(&expanded, out->items[i], placeholders);
		if (rc != NB_OK)
			break;
		free(out->items[i]);
		out->items[i] = expanded;
	}
	return rc;
}

static char *
look_in(const char *directory, const char *name)
{
	char *file;
	if (asprintf(&file, "%s/%s", directory, name) < 0)
		return NULL;
	if (access(file, X_OK) == 0)
		return file;
	free(file);
	return NULL;
}

/** Search the matching directories; the last one with the program has the highest version. */
static char *
look_in_pattern(const char *pattern, const char *name)
{
	glob_t found;
	char *file = NULL;
	size_t longest = 0;
	if (glob(pattern, 0, NULL, &found) != 0)
		return NULL;
	/* sorted by name; a longer name is later, so "10" beats "9" */
	for (size_t i = 0; i < found.gl_pathc; i++) {
		size_t length = strlen(found.gl_pathv[i]);
		char *here = length >= longest ? look_in(found.gl_pathv[i], name) : NULL;
		if (here != NULL) {
			free(file);
			file = here;
			longest = length;
		}
	}
	globfree(&found);
	return file;
}

static char *
look_in_list(const char *list, const char *name)
{
	char *copy = strdup(list), *rest = copy, *file = NULL;
	for (char *directory;
		copy != NULL && file == NULL && (directory = strsep(&rest, ":")) != NULL;)
		file = strpbrk(directory, "*?[") != NULL ? look_in_pattern(directory, name)
			: directory[0] == '/'            ? look_in(directory, name)
							 : NULL;
	free(copy);
	return file;
}

char *
words_find_program(const char *name, const char *path)
{
	const char *own = getenv("PATH");
	if (strchr(name, '/') != NULL)
		return access(name, X_OK) == 0 ? strdup(name) : NULL;
	char *file = look_in_list(own != NULL ? own : "/usr/bin:/bin", name);
	/* the $PATH of a user often lacks the directories of servers */
	if (file == NULL)
		file = look_in_list("/usr/sbin:/sbin:/usr/local/sbin", name);
	return file != NULL ? file : look_in_list(path, name);
}

int
words_cpus(cpu_set_t *out, const char *list)
{
	const char *at = list;
	CPU_ZERO(out);
	do {
		char *end;
		unsigned long from = strtoul(at, &end, 10), to = from;
		bool is_number = isdigit((unsigned char)*at);
		if (is_number && *end == '-') {
			is_number = isdigit((unsigned char)end[1]);
			to = strtoul(end + 1, &end, 10);
		}
		if (!is_number || to >= CPU_SETSIZE || from > to ||
			(*end != ',' && *end != '\0'))
			return error_set(NB_ERR_USAGE,
				"'%.60s' is not a list of CPUs such as 0-3,8", list);
		for (; from <= to; from++)
			CPU_SET(from, out);
		at = end + (*end == ',');
	} while (at[-1] == ',');
	return NB_OK;
}
