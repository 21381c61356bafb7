/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Validates a recording. The engine's process can write to this memory, so a wild pointer
 * may damage it in a process that ends well. Everything is validated once, before it is
 * used. So readers of a recording need not check sizes, numbers and paths again, and no
 * file is ever created outside the directory of a state.
 *
 * It does not check whether a file system allows the calls, for example whether a removed
 * name existed: the result of such calls is odd, but harmless.
 */
#include "crash/syscall_log.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"

/** The rule for the file number of an entry. */
enum {
	FILE_ANY = 0, /* none, or a known one */
	FILE_KNOWN,
	FILE_NEW /* a known one, or the next number */
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

/** Whether no part of the path is empty, "." or ".."; "" is the top. */
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

/** The error in a path of `size` bytes inside the entry; NULL: none. */
static const char *
check_path(const char *path, uint32_t size)
{
	if (size == 0)
		return NULL;
	if (size > PATH_MAX || memchr(path, '\0', size) != path + size - 1)
		return "its path has a wrong length";
	return stays_inside(path) ? NULL : "its path leads out of the database";
}

/** The error in the entry, if `room` bytes remain; NULL: none. */
static const char *
check_layout(const struct record_entry *entry, uint64_t room)
{
	if (room < sizeof(*entry) || entry->size < sizeof(*entry) || entry->size > room ||
		entry->size % 8 != 0)
		return "its size is invalid";
	if (entry->kind >= RECORD_KINDS)
		return "its kind is unknown";
	if (entry->length > INT64_MAX || entry->offset > INT64_MAX - entry->length)
		return "its offset is after the end of any file";
	uint64_t paths = (uint64_t)entry->path_size + entry->path2_size;
	uint64_t data = record_has_data(entry) ? entry->length : 0;
	if (paths > entry->size - sizeof(*entry) || data > entry->size - sizeof(*entry) - paths)
		return "its paths and data exceed its size";
	const char *first = (const char *)(entry + 1);
	const char *wrong = check_path(first, entry->path_size);
	return wrong != NULL ? wrong : check_path(first + entry->path_size, entry->path2_size);
}

static const char *
check_file(const struct record_entry *entry, uint64_t *known)
{
	uint32_t rule = file_rules[entry->kind];
	if ((entry->file == 0 && rule != FILE_ANY) || entry->file > *known + (rule == FILE_NEW))
		return "its file is unknown";
	if (entry->file > *known)
		*known = entry->file;
	return NULL;
}

static const char *
check_moment(const struct record_entry *entry, const struct record_limits *limits)
{
	const struct crash_moment *moment = &entry->moment;
	if (entry->kind == RECORD_BASE) /* recorded before the writer started */
		return NULL;
	for (uint32_t s = 0; s < limits->sessions; s++)
		if (moment->acked[s] < limits->start[s] ||
			moment->acked[s] > moment->begun[s] ||
			moment->begun[s] - limits->start[s] > limits->ops)
			return "its counts of operations are impossible";
	return NULL;
}

int
record_check(const struct record_log *log, const struct record_limits *limits)
{
	uint64_t at = sizeof(*log), known = 0;
	if (log->used < sizeof(*log) || log->used > limits->capacity)
		return error_set(NB_ERR_DATA, "it is %" PRIu64 " bytes long", log->used);
	if (memchr(log->blind, '\0', sizeof(log->blind)) == NULL)
		return error_set(NB_ERR_DATA, "a text in it is not terminated");
	if (log->count > (log->used - at) / sizeof(struct record_entry))
		return error_set(NB_ERR_DATA,
			"it claims %" PRIu64 " entries in %" PRIu64 " bytes", log->count,
			log->used);
	for (uint64_t i = 0; i < log->count; i++) {
		const struct record_entry *entry =
			(const struct record_entry *)((const char *)log + at);
		const char *wrong = check_layout(entry, log->used - at);
		if (wrong == NULL && record_is_sync(entry) && entry->covers > i)
			wrong = "it syncs later entries";
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
