/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGIN_H
#define PLUGIN_H
/**
 * Helpers that the adapters of all engines share. Everything is static inline or a macro. So
 * each plugin stays one self-contained shared object, and get and put make no additional
 * calls. This header also includes the C and POSIX headers that nearly all adapters need.
 */
#include <mininb/engine.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "clock.h"

/* A verb must have the parameters of its type in engine.h, even if it does not use them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* --- the table of an engine; the functions have the names of the verbs --- */

#ifndef ENGINE_BUILD
#define ENGINE_BUILD NB_ENGINE_BUILD
#endif
#define ENGINE_BASE(its_name) \
	.abi = NB_ENGINE_ABI, .size = sizeof(struct nb_engine), .name = its_name, \
	.build = ENGINE_BUILD, .version = version, .session_open = session_open, \
	.session_close = session_close
#define ENGINE_RECORDS .get = get, .put = put, .del = del
#define ENGINE_SCAN .scan_open = scan_open, .scan_next = scan_next, .scan_close = scan_close
#define ENGINE_TXN .begin = begin, .commit = commit, .abort = abort_txn

/*
 * An adapter lists its options as OPTIONS(X), with one row X(ID, KIND, arguments of
 * NB_OPTION_KIND) for each. These macros make the table and the names of its rows from the
 * list.
 */
#define OPTION_ID(id, ...) id,
#define OPTION_ROW(id, kind, ...) NB_OPTION_##kind(__VA_ARGS__),

/* --- verbs of the database thread --- */

/**
 * Check that the table offers the durability level. The host itself requests only offered
 * levels, and lists them.
 */
static inline int
check_durability(const struct nb_open_args *args, const struct nb_engine *table)
{
	return args->durability <= NB_DUR_COMMIT &&
			(table->durabilities & NB_DUR_BIT(args->durability)) != 0
		? NB_OK
		: args->host->fail(NB_UNSUPPORTED,
			  "%s does not offer this durability level with these options",
			  table->name);
}

/** checkpoint() for an engine whose flush stores everything that a later open needs. */
#define CHECKPOINT_BY_FLUSH(flush) \
	static int checkpoint(struct nb_db *db) \
	{ \
		return flush(db, NB_SETTLE_FLUSH); \
	}

/** The version as text, formatted at the first call. Any thread. */
static inline const char *NB_PRINTF(1, 2) version_text(const char *fmt, ...)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char text[32];
	va_list args;
	va_start(args, fmt);
	pthread_mutex_lock(&lock);
	if (text[0] == '\0')
		vsnprintf(text, sizeof(text), fmt, args);
	pthread_mutex_unlock(&lock);
	va_end(args);
	return text;
}

/** version() from a library function that sets three numbers. */
#define VERSION_BY(get_numbers) \
	static const char *version(void) \
	{ \
		int major, minor, patch; \
		get_numbers(&major, &minor, &patch); \
		return version_text("%d.%d.%d", major, minor, patch); \
	}

/** A counter or gauge: a uint64_t member of the structure that an engine collects them in. */
struct counter {
	const char *name, *unit;
	size_t offset;
	uint32_t kind;
};

#define COUNTER_ROW(structure, its_kind, its_name, its_unit, member) \
	{ \
		.name = its_name, .unit = its_unit, .offset = offsetof(structure, member), \
		.kind = NB_STAT_##its_kind \
	}

static inline void
emit_counters(const struct counter *rows, size_t count, const void *values, nb_stat_emit emit,
	void *to)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value;
		memcpy(&value, (const char *)values + rows[i].offset, sizeof(value));
		emit(to, rows[i].name, rows[i].unit, rows[i].kind, value);
	}
}

/** Reject a scan that needs ordered keys. */
static inline int
check_unordered_scan(const struct nb_host *host, const struct nb_scan_args *args)
{
	return (args->flags & NB_SCAN_BACKWARD) == 0 && args->from.size == 0
		? NB_OK
		: host->fail(NB_UNSUPPORTED,
			  "the keys of this database have no order: a scan goes forward from the beginning");
}

/** fsync(2) the file or directory with this name. Returns 0 or errno. */
static inline int
sync_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int error = fd >= 0 && fsync(fd) == 0 ? 0 : errno;
	if (fd >= 0)
		close(fd);
	return error;
}

/**
 * Number of bytes that `file` can occupy in the file system of `directory`. The file may be
 * missing. UINT64_MAX: unlimited or unknown.
 */
static inline uint64_t
disk_room(const char *directory, const char *file)
{
	struct statvfs disk;
	struct stat made;
	if (statvfs(directory, &disk) != 0 || disk.f_blocks == 0) /* 0: unlimited */
		return UINT64_MAX;
	uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
	return stat(file, &made) == 0 ? room + (uint64_t)made.st_blocks * 512 : room;
}

/**
 * Check that `size` bytes fit on the disk. A full disk under a mapped page ends the process
 * with SIGBUS.
 */
static inline int
check_map_room(
	const struct nb_open_args *args, const char *file, uint64_t size, const char *options)
{
	uint64_t room = disk_room(args->path, file);
	if (room >= size)
		return NB_OK;
	return args->host->fail(NB_FAIL,
		"the disk has room for %llu of the mapped %llu bytes of the file; a full disk would end the process with a bus error; give a smaller %s",
		(unsigned long long)room, (unsigned long long)size, options);
}

/* --- sessions and records --- */

/** For session_open: allocate *out, zeroed, and set its db. Returns NB_OK or a failure. */
#define SESSION_NEW(out, database) \
	((*(out) = calloc(1, sizeof(**(out)))) == NULL \
			? (database)->host->fail(NB_FAIL, "out of memory") \
			: ((*(out))->db = (database), NB_OK))

/** session_open() for a session that needs no other initialization. */
#define SESSION_OPEN() \
	static int session_open(struct nb_session **out, struct nb_db *db, uint32_t id) \
	{ \
		return SESSION_NEW(out, db); \
	}

/** session_open() that reserves the expected value size in the session's `buffer`. */
#define SESSION_OPEN_WITH(buffer) \
	static int session_open(struct nb_session **out, struct nb_db *db, uint32_t id) \
	{ \
		int rc = SESSION_NEW(out, db); \
		if (rc != NB_OK || buffer_reserve(&(*out)->buffer, db->value_size)) \
			return rc; \
		free(*out); \
		return db->host->fail(NB_FAIL, "out of memory"); \
	}

/** Define put and insert as calls of one function, store(session, key, value, how). */
#define PUT_AND_INSERT(store, how_put, how_insert) \
	static int put(struct nb_session *session, struct nb_slice key, struct nb_slice value) \
	{ \
		return store(session, key, value, how_put); \
	} \
\
	static int insert( \
		struct nb_session *session, struct nb_slice key, struct nb_slice value) \
	{ \
		return store(session, key, value, how_insert); \
	}

/**
 * The address of a slice's bytes, never NULL: some libraries require an address even for
 * size 0.
 */
static inline const char *
address(struct nb_slice slice)
{
	return slice.data != NULL ? slice.data : "";
}

/**
 * A growing memory block for data that a session lends or collects. Initialize it with
 * zeros, free `data` with free().
 */
struct buffer {
	char *data;
	size_t size, room;
};

/**
 * Make room for `size` bytes in total and keep the content. Afterwards `data` is not NULL,
 * even if `size` is 0.
 */
static inline bool
buffer_reserve(struct buffer *buffer, size_t size)
{
	if (size < buffer->room)
		return true;
	size_t room = size + size / 2 + 4096;
	char *data = realloc(buffer->data, room);
	if (data == NULL)
		return false;
	buffer->data = data;
	buffer->room = room;
	return true;
}

static inline bool
buffer_add(struct buffer *buffer, const void *data, size_t size)
{
	if (!buffer_reserve(buffer, buffer->size + size))
		return false;
	if (size != 0) /* data may be NULL if size is 0 */
		memcpy(buffer->data + buffer->size, data, size);
	buffer->size += size;
	return true;
}

static inline bool
buffer_set(struct buffer *buffer, const void *data, size_t size)
{
	buffer->size = 0;
	return buffer_add(buffer, data, size);
}

static inline struct nb_slice
buffer_slice(const struct buffer *buffer)
{
	return (struct nb_slice){buffer->data, buffer->size};
}

/** Execute the writes of a batch one by one. Deleting a missing key is not a failure. */
static inline int
write_each(struct nb_session *session, const struct nb_write *writes, size_t count,
	int (*put)(struct nb_session *, struct nb_slice, struct nb_slice),
	int (*del)(struct nb_session *, struct nb_slice))
{
	int rc = NB_OK;
	for (size_t i = 0; i < count && rc == NB_OK; i++) {
		rc = writes[i].is_delete != 0 ? del(session, writes[i].key)
					      : put(session, writes[i].key, writes[i].value);
		rc = rc == NB_NOT_FOUND ? NB_OK : rc;
	}
	return rc;
}

#endif /* PLUGIN_H */
