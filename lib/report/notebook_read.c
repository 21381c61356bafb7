/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading a notebook, and finding the places where something can be put into its text.
 *
 * The text is parsed first, so that it is known to be JSON; then it is searched by a few
 * lines that would not notice if it were not. Writing the parsed form again is rejected: it
 * would change how others' numbers are written.
 */
#include "report/notebook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static const char empty[] = "{\n  \"experiments\": {\n  },\n  \"data\": {\n  }\n}\n";

/* ---- reading ---- */

/** NULL: it cannot be read, which is said. A pipe or a device may have no end. */
static FILE *
open_regular(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		close(fd);
		error_set(NB_FAIL, "%s: is no notebook: no regular file; nothing was written",
			path);
		return NULL;
	}
	FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (in == NULL)
		error_system("%s", path);
	if (in == NULL && fd >= 0)
		close(fd);
	return in;
}

static int
read_text(struct notebook *notebook, const char *path, int may_be_new)
{
	if (may_be_new && access(path, F_OK) != 0 && errno == ENOENT)
		return NB_OK;
	FILE *in = open_regular(path);
	if (in == NULL)
		return NB_FAIL;
	int rc = NB_OK;
	char buffer[65536];
	FILE *out = open_memstream(&notebook->text, &notebook->size);
	for (size_t got; out != NULL && (got = fread(buffer, 1, sizeof(buffer), in)) > 0;)
		fwrite(buffer, 1, got, out);
	if (ferror(in) != 0)
		rc = error_system("%s", path);
	fclose(in);
	if (out == NULL || fclose(out) != 0)
		rc = error_set(NB_FAIL, "out of memory");
	return rc;
}

static int
check(const struct notebook *notebook, const char *path)
{
	static const char *const wanted[] = {"experiments", "data"};
	for (size_t i = 0; i < 2; i++) {
		if (!json_is_object(json_object_get(notebook->root, wanted[i])))
			return error_set(NB_ERR_DATA,
				"%s: is no notebook: it has no object \"%s\"; nothing was written",
				path, wanted[i]);
	}
	return NB_OK;
}

int
notebook_read(struct notebook *notebook, const char *path, int may_be_new)
{
	json_error_t error;
	*notebook = (struct notebook){0};
	int rc = read_text(notebook, path, may_be_new);
	if (rc == NB_OK && notebook->size == 0 && may_be_new) {
		free(notebook->text);
		notebook->text = strdup(empty);
		notebook->size = strlen(empty);
		if (notebook->text == NULL)
			rc = error_set(NB_FAIL, "out of memory");
	}
	if (rc == NB_OK) {
		/* numbers of others may be longer than any integer; they are not touched */
		notebook->root = json_loadb(notebook->text, notebook->size,
			JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
		rc = notebook->root != NULL
			? check(notebook, path)
			: error_set(NB_ERR_DATA,
				  "%s: is no notebook: line %d: %s; nothing was written", path,
				  error.line, error.text);
	}
	if (rc != NB_OK)
		notebook_destroy(notebook);
	return rc;
}

void
notebook_destroy(struct notebook *notebook)
{
	json_decref(notebook->root);
	free(notebook->text);
	*notebook = (struct notebook){0};
}

/* ---- in the text, which is known to be an object of JSON ---- */

static const char *
skip_space(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

/** Behind the string that begins there. */
static const char *
skip_string(const char *at)
{
	for (at++; *at != '"'; at++)
		at += *at == '\\';
	return at + 1;
}

static const char *
skip_value(const char *at)
{
	size_t depth = 0;
	if (*at != '"' && *at != '{' && *at != '[')
		return at + strcspn(at, ",]} \t\r\n");
	do {
		if (*at == '"') {
			at = skip_string(at);
			continue;
		}
		depth += *at == '{' || *at == '[';
		depth -= *at == '}' || *at == ']';
		at++;
	} while (depth > 0);
	return at;
}

const char *
notebook_end(const struct notebook *notebook, const char *name)
{
	size_t length = strlen(name);
	const char *at = skip_space(skip_space(notebook->text) + 1);
	while (*at == '"') {
		const char *key = at + 1;
		at = skip_string(at);
		bool is_it = (size_t)(at - key) == length + 1 &&
			strncmp(key, name, length) == 0;
		at = skip_space(at);
		at = skip_space(at + 1); /* the colon */
		const char *end = skip_value(at);
		if (is_it) {
			for (end--; strchr(" \t\r\n", end[-1]) != NULL;)
				end--;
			return end;
		}
		at = skip_space(end);
		if (*at == ',')
			at = skip_space(at + 1);
	}
	return NULL;
}
