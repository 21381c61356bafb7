/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state file names the files of the database. It is text with one line for each fact. The
 * last line has a checksum of the others. rename(2) replaces the file.
 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define STATE_NAME "masstree.state"
#define STATE_FORMAT 2
#define STATE_VERSION "masstree 2\n"

int
store_failed(const struct store *store, const char *what, const char *path)
{
	return store->host->fail(
		NB_FAIL, "masstree: cannot %s %s: %s", what, path, strerror(errno));
}

/* --- directories --- */

bool
dirs_add(struct dirs *dirs, const char *path)
{
	for (unsigned i = 0; i < dirs->count; i++)
		if (strcmp(dirs->path[i], path) == 0)
			return true;
	if (dirs->count == STORE_DIRS_MAX)
		return false;
	dirs->path[dirs->count] = strdup(path);
	return dirs->path[dirs->count] != NULL && ++dirs->count != 0;
}

void
dirs_clear(struct dirs *dirs)
{
	for (unsigned i = 0; i < dirs->count; i++)
		free(dirs->path[i]);
	dirs->count = 0;
}

static int
add_directory(
	struct dirs *dirs, const struct nb_host *host, const char *path, const char *option)
{
	char real[STORE_PATH_MAX];
	struct stat status;

	if (realpath(path, real) == NULL)
		return host->fail(
			NB_FAIL, "masstree: %s: %s: %s", option, path, strerror(errno));
	if (stat(real, &status) != 0 || !S_ISDIR(status.st_mode))
		return host->fail(NB_FAIL, "masstree: %s: %s is not a directory", option, path);
	if (strpbrk(real, "\n,") != NULL)
		return host->fail(NB_UNSUPPORTED,
			"masstree: %s: a path with a comma or newline is not supported: %s",
			option, real);
	return dirs_add(dirs, real)
		? NB_OK
		: host->fail(NB_UNSUPPORTED, "masstree: %s: more than %d directories", option,
			  STORE_DIRS_MAX);
}

int
dirs_read(struct dirs *dirs, const struct nb_host *host, const char *list,
	const char *otherwise, const char *option)
{
	char *copy, *rest, *path;
	int rc = NB_OK;

	if (list == NULL || *list == '\0')
		return dirs_add(dirs, otherwise) ? NB_OK : host->fail(NB_FAIL, "out of memory");
	copy = strdup(list);
	if (copy == NULL)
		return host->fail(NB_FAIL, "out of memory");
	for (path = strtok_r(copy, ",", &rest); path != NULL && rc == NB_OK;
		path = strtok_r(NULL, ",", &rest))
		rc = add_directory(dirs, host, path, option);
	free(copy);
	if (rc == NB_OK && dirs->count == 0)
		return host->fail(NB_FAIL, "masstree: %s names no directory", option);
	return rc;
}

void
state_clear(struct state *state)
{
	dirs_clear(&state->logs);
	dirs_clear(&state->parts);
}

/* --- text --- */

struct text {
	char *data;
	size_t size, room;
	bool has_failed;
};

static void NB_PRINTF(2, 3) add_line(struct text *text, const char *fmt, ...)
{
	va_list args;
	int size;

	if (text->room - text->size < 2 * STORE_PATH_MAX) {
		size_t room = 2 * text->room + 4 * STORE_PATH_MAX;
		char *data = realloc(text->data, room);
		text->has_failed = text->has_failed || data == NULL;
		if (data == NULL)
			return;
		text->data = data;
		text->room = room;
	}
	va_start(args, fmt);
	size = vsnprintf(text->data + text->size, text->room - text->size, fmt, args);
	va_end(args);
	text->size += (size_t)size;
}

/* Write paths inside the database's directory relative to it, so it can be moved. */
static void
add_path(struct text *text, const char *what, const char *path, const struct store *store)
{
	size_t size = strlen(store->path);

	if (strncmp(path, store->path, size) == 0 && (path[size] == '/' || path[size] == '\0'))
		add_line(text, "%s .%s\n", what, path + size);
	else
		add_line(text, "%s %s\n", what, path);
}

static bool
read_path(struct dirs *dirs, const char *path, const struct store *store)
{
	char whole[2 * STORE_PATH_MAX];

	if (path[0] != '.')
		return dirs_add(dirs, path);
	return snprintf(whole, sizeof(whole), "%s%s", store->path, path + 1) <
		(int)sizeof(whole) &&
		dirs_add(dirs, whole);
}

static void
print_state(struct text *text, const struct state *state, const struct store *store)
{
	add_line(text, STATE_VERSION);
	add_line(text, "id %016" PRIx64 "\n", state->id);
	add_line(text, "generation %" PRIu64 " %" PRIu32 " %" PRIu64 "\n", state->generation,
		state->level, state->base);
	add_line(text, "boot %s\n", state->boot);
	for (unsigned i = 0; i < state->logs.count; i++)
		add_path(text, "logs", state->logs.path[i], store);
	for (unsigned i = 0; i < state->closed_count; i++)
		add_line(text, "closed %" PRIu64 " %" PRIu64 "\n", state->closed[i].generation,
			state->closed[i].last);
	if (state->checkpoint != 0)
		add_line(text, "checkpoint %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			state->checkpoint, state->first, state->records);
	for (unsigned i = 0; i < state->parts.count; i++)
		add_path(text, "part", state->parts.path[i], store);
	if (state->has_changes)
		add_line(text, "changes %" PRIu64 "\n", state->changes);
	if (!text->has_failed)
		add_line(text, "end %016" PRIx64 "\n",
			(uint64_t)XXH3_64bits(text->data, text->size));
}

/* --- writing --- */

int
store_write(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t done = write(fd, data, size);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno;
		data += done;
		size -= (size_t)done;
	}
	return 0;
}

static bool
sync_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_done = fd >= 0 && fsync(fd) == 0;

	if (fd >= 0)
		close(fd);
	return is_done;
}

int
state_write(const struct state *state, const struct store *store)
{
	char name[STORE_PATH_MAX + 32], fresh[STORE_PATH_MAX + 48];
	struct text text = {NULL};
	bool is_done = false;
	int fd;

	print_state(&text, state, store);
	if (text.has_failed) {
		free(text.data);
		return store->host->fail(NB_FAIL, "masstree: out of memory for the state file");
	}
	snprintf(name, sizeof(name), "%s/" STATE_NAME, store->path);
	snprintf(fresh, sizeof(fresh), "%s.new", name);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd >= 0) {
		is_done = store_write(fd, text.data, text.size) == 0 && fsync(fd) == 0;
		close(fd);
	}
	free(text.data);
	if (is_done && rename(fresh, name) == 0 && sync_directory(store->path))
		return NB_OK;
	int rc = store_failed(store, "write", name);
	unlink(fresh);
	return rc;
}

/* --- reading --- */

static bool
read_line(struct state *state, const char *line, const struct store *store)
{
	struct closed *closed = &state->closed[state->closed_count];

	if (sscanf(line, "id %" SCNx64, &state->id) == 1 ||
		sscanf(line, "generation %" SCNu64 " %" SCNu32 " %" SCNu64, &state->generation,
			&state->level, &state->base) == 3 ||
		sscanf(line, "checkpoint %" SCNu64 " %" SCNu64 " %" SCNu64, &state->checkpoint,
			&state->first, &state->records) == 3)
		return true;
	if (sscanf(line, "changes %" SCNu64, &state->changes) == 1)
		return state->has_changes = true;
	if (strncmp(line, "boot ", 5) == 0)
		return snprintf(state->boot, sizeof(state->boot), "%s", line + 5) <
			(int)sizeof(state->boot);
	if (strncmp(line, "logs ", 5) == 0)
		return read_path(&state->logs, line + 5, store);
	if (strncmp(line, "part ", 5) == 0)
		return read_path(&state->parts, line + 5, store);
	if (state->closed_count == STORE_CLOSED_MAX ||
		sscanf(line, "closed %" SCNu64 " %" SCNu64, &closed->generation,
			&closed->last) != 2)
		return false;
	state->closed_count++;
	return true;
}

/* The checksum line is the last one. */
static bool
read_text(struct state *state, char *text, const struct store *store)
{
	char *end = strstr(text, "\nend "), *rest;
	uint64_t checksum;

	if (end == NULL || strncmp(text, STATE_VERSION, sizeof(STATE_VERSION) - 1) != 0 ||
		sscanf(end, "\nend %" SCNx64, &checksum) != 1 ||
		XXH3_64bits(text, (size_t)(end + 1 - text)) != checksum)
		return false;
	*end = '\0';
	strtok_r(text, "\n", &rest);
	for (char *line; (line = strtok_r(NULL, "\n", &rest)) != NULL;)
		if (!read_line(state, line, store))
			return false;
	return state->id != 0 && state->generation != 0 && state->logs.count != 0;
}

int
state_read(struct state *state, const struct store *store)
{
	enum { TEXT_MAX = 1 << 20 };
	char name[STORE_PATH_MAX + 32];
	int fd;

	snprintf(name, sizeof(name), "%s/" STATE_NAME, store->path);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? NB_NOT_FOUND : store_failed(store, "open", name);
	char *text = malloc(TEXT_MAX + 1);
	ssize_t size = text != NULL ? read(fd, text, TEXT_MAX) : -1;
	int rc = NB_OK;

	close(fd);
	if (size < 0) {
		rc = store_failed(store, "read", name);
	} else {
		text[size] = '\0';
		if (strncmp(text, "masstree ", 9) == 0 &&
			strncmp(text, STATE_VERSION, sizeof(STATE_VERSION) - 1) != 0)
			rc = store->host->fail(NB_UNSUPPORTED,
				"masstree: %s has format %d, and this version reads only format %d; use the version of mininb that wrote it, or another directory",
				name, atoi(text + 9), STATE_FORMAT);
		else if (!read_text(state, text, store))
			rc = store->host->fail(NB_FAIL, "masstree: %s is damaged", name);
	}
	free(text);
	return rc;
}
