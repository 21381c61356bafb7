/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a notebook, and finds the places where members can be inserted into its text.
 *
 * The text is parsed first, so the short search can rely on valid JSON. Rejected: writing
 * the parsed form again, which would change the digits of other programs' numbers.
 */
#include "report/notebook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "report/record.h"

static const char empty[] = "{\n  \"experiments\": {\n  },\n  \"data\": {\n  }\n}\n";

/* ---- reading ---- */

/** Open a regular file, because a pipe or a device may have no end. NULL: the error is set. */
static FILE *
open_regular(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		close(fd);
		error_set(NB_FAIL,
			"%s: is not a notebook, because it is not a regular file; nothing was written",
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
	int rc = results_read_stream(in, path, &notebook->text, &notebook->size);
	fclose(in);
	return rc;
}

static int
check(const struct notebook *notebook, const char *path)
{
	static const char *const wanted[] = {"experiments", "data"};
	for (size_t i = 0; i < 2; i++) {
		if (!json_is_object(json_object_get(notebook->root, wanted[i])))
			return error_set(NB_ERR_DATA,
				"%s: is not a notebook: it has no object \"%s\"; nothing was written",
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
			rc = error_memory();
	}
	if (rc == NB_OK) {
		/*
		 * other programs' numbers may exceed any integer; mininb does not change
		 * them
		 */
		notebook->root = json_loadb(notebook->text, notebook->size,
			JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
		rc = notebook->root != NULL
			? check(notebook, path)
			: error_set(NB_ERR_DATA,
				  "%s: is not a notebook: line %d: %s; nothing was written",
				  path, error.line, error.text);
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

/* ---- search in the text, which is a JSON object ---- */

const char *
notebook_end(const struct notebook *notebook, const char *name)
{
	const char *key = NULL; /* the last string of the outermost object */
	size_t length = strlen(name), key_length = 0, depth = 0;
	for (const char *at = notebook->text; *at != '\0'; at++) {
		if (*at == '"') {
			const char *begin = ++at;
			for (; *at != '"'; at++)
				at += *at == '\\';
			if (depth == 1) {
				key = begin;
				key_length = (size_t)(at - begin);
			}
		} else if (*at == '{' || *at == '[') {
			depth++;
		} else if ((*at == '}' || *at == ']') && --depth == 1 && key != NULL &&
			key_length == length && memcmp(key, name, length) == 0) {
			while (strchr(" \t\r\n", at[-1]) != NULL)
				at--;
			return at;
		}
	}
	return NULL;
}
