/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a recording is one. The process that an engine runs in can write to it, so a store
 * through a wild pointer leaves there what it likes, in a process that may end well all the
 * same. All is looked at once, before anything is made of it: so what reads a recording need
 * not ask whether a size, a number or a path can be trusted, and no file is ever made outside
 * of the directory that a state is written to.
 *
 * It is not asked whether what is told is possible in a file system, whether that name was
 * there to be removed, say: what becomes of such calls is odd, and harms nothing.
 */
#include "crash/record.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"

/** Which numbers the file of an entry may have. */
enum {
	FILE_ANY = 0, /* none, or one that is known by then */
	FILE_KNOWN,
	FILE_NEW /* likewise, or the next number */
};

static const uint8_t file_rules[RECORD_KINDS] = {
	[RECORD_BASE] = FILE_NEW,
	[RECORD_CREATE] = FILE_NEW,
	[RECORD_WRITE] = FILE_KNOWN,
	[RECORD_MAPPED] = FILE_KNOWN,
	[RECORD_TRUNCATE] = FILE_KNOWN,
	[RECORD_SYNC] = FILE_KNOWN,
	[RECORD_LINK] = FILE_KNOWN,
};

/** Each part between slashes is the name of something in the part before: "" is the top. */
static bool
stays_inside(const char *path)
{
	if (path[0] == '\0')
		return true;
	for (size_t length;; path += length + 1) {
		length = strcspn(path, "/");
		if (length == 0 || (length == 1 && path[0] == '.') ||
			(length == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (path[length] == '\0')
			return true;
	}
}

/** NULL, or what is wrong with the path of `size` bytes, which lie within the entry. */
static const char *
check_path(const char *path, uint32_t size)
{
	if (size == 0)
		return NULL;
	if (size > PATH_MAX || memchr(path, '\0', size) != path + size - 1)
		return "its path does not end where it should";
	return stays_inside(path) ? NULL : "its path leads out of the database";
}

/** NULL, or what is wrong with the entry; `room` bytes are there. */
static const char *
check_layout(const struct record_entry *entry, uint64_t room)
{
	if (room < sizeof(*entry) || entry->size < sizeof(*entry) || entry->size > room ||
		entry->size % 8 != 0)
		return "it is not as long as an entry";
	if (entry->kind >= RECORD_KINDS)
		return "it is of no kind that there is";
	if (entry->length > INT64_MAX || entry->offset > INT64_MAX - entry->length)
		return "it is behind the end of any file";
	uint64_t paths = (uint64_t)entry->path_size + entry->path2_size;
	uint64_t data = record_has_data(entry) ? entry->length : 0;
	if (paths > entry->size - sizeof(*entry) || data > entry->size - sizeof(*entry) - paths)
		return "it tells of more bytes than it has";
	const char *first = (const char *)(entry + 1);
	const char *wrong = check_path(first, entry->path_size);
	return wrong != NULL ? wrong : check_path(first + entry->path_size, entry->path2_size);
}

static const char *
check_file(const struct record_entry *entry, uint64_t *known)
{
	uint32_t rule = file_rules[entry->kind];
	if ((entry->file == 0 && rule != FILE_ANY) || entry->file > *known + (rule == FILE_NEW))
		return "it is of no file that there is";
	if (entry->file > *known)
		*known = entry->file;
	return NULL;
}

static const char *
check_moment(const struct record_entry *entry, const struct record_limits *limits)
{
	const struct crash_moment *moment = &entry->moment;
	if (entry->kind == RECORD_BASE) /* nobody was there to be asked */
		return NULL;
	for (uint32_t s = 0; s < limits->sessions; s++)
		if (moment->acked[s] < limits->start[s] ||
			moment->acked[s] > moment->begun[s] ||
			moment->begun[s] - limits->start[s] > limits->ops)
			return "it tells of operations that there cannot be";
	return NULL;
}

int
record_check(const struct record_log *log, const struct record_limits *limits)
{
	uint64_t at = sizeof(*log), known = 0;
	if (log->used < sizeof(*log) || log->used > limits->capacity)
		return error_set(NB_ERR_DATA, "it is %" PRIu64 " bytes long", log->used);
	if (memchr(log->blind, '\0', sizeof(log->blind)) == NULL)
		return error_set(NB_ERR_DATA, "a text in it has no end");
	if (log->count > (log->used - at) / sizeof(struct record_entry))
		return error_set(NB_ERR_DATA,
			"it tells of %" PRIu64 " entries in %" PRIu64 " bytes", log->count,
			log->used);
	for (uint64_t i = 0; i < log->count; i++) {
		const struct record_entry *entry =
			(const struct record_entry *)((const char *)log + at);
		const char *wrong = check_layout(entry, log->used - at);
		if (wrong == NULL && record_is_sync(entry) && entry->covers > i)
			wrong = "it syncs what comes later";
		if (wrong == NULL)
			wrong = check_file(entry, &known);
		if (wrong == NULL)
			wrong = check_moment(entry, limits);
		if (wrong != NULL)
			return error_set(NB_ERR_DATA, "entry %" PRIu64 " of %" PRIu64 ": %s", i,
				log->count, wrong);
		at += entry->size;
	}
	return NB_OK;
}
