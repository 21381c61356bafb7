/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGIN_H
#define PLUGIN_H
/**
 * What the adapters of engines share. All of it is static inline or a macro, so that each
 * plugin stays one shared object that needs nothing else, and that get and put call nothing
 * more for it. It brings the headers of C and POSIX that nearly all of them need.
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

/* A verb has the parameters of its type in engine.h, also those that it does not use. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* --- the table of an engine: functions that have the names of the verbs --- */

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
 * An adapter lists its options as OPTIONS(X), one row X(ID, KIND, the arguments of
 * NB_OPTION_KIND) each, from which the table and the names of its rows are made.
 */
#define OPTION_ID(id, ...) id,
#define OPTION_ROW(id, kind, ...) NB_OPTION_##kind(__VA_ARGS__),

/* --- the thread of the database --- */

/** Whether the table offers the level. The host asks for no other, and lists those offered. */
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

/** checkpoint where a flush leaves on storage all that an open needs. */
#define CHECKPOINT_BY_FLUSH(flush) \
	static int checkpoint(struct nb_db *db) \
	{ \
		return flush(db, NB_SETTLE_FLUSH); \
	}

/** Text of the version, written at the first call. Any thread. */
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

/** version by the library's function that sets the three numbers. */
#define VERSION_BY(get_numbers) \
	static const char *version(void) \
	{ \
		int major, minor, patch; \
		get_numbers(&major, &minor, &patch); \
		return version_text("%d.%d.%d", major, minor, patch); \
	}

/** Refuse a scan that needs an order of the keys. */
static inline int
check_unordered_scan(const struct nb_host *host, const struct nb_scan_args *args)
{
	return (args->flags & NB_SCAN_BACKWARD) == 0 && args->from.size == 0
		? NB_OK
		: host->fail(NB_UNSUPPORTED,
			  "the keys of this database have no order: a scan goes forward from the beginning");
}

/** fsync(2) of a file or directory by its name: 0 or errno. */
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
 * Bytes that `file`, which need not be there, can have in the file system of `directory`.
 * UINT64_MAX: not limited, or not known.
 */
static inline uint64_t
disk_room(const char *directory, const char *file)
{
	struct statvfs disk;
	struct stat made;
	if (statvfs(directory, &disk) != 0 || disk.f_blocks == 0) /* 0: without limit */
		return UINT64_MAX;
	uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
	return stat(file, &made) == 0 ? room + (uint64_t)made.st_blocks * 512 : room;
}

/** A full disk under a mapped page ends the process with SIGBUS, so `size` bytes must fit. */
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

/** Allocate *out, zeroed, and set its db. For session_open: returns NB_OK or a failure. */
#define SESSION_NEW(out, database) \
	((*(out) = calloc(1, sizeof(**(out)))) == NULL \
			? (database)->host->fail(NB_FAIL, "out of memory") \
			: ((*(out))->db = (database), NB_OK))

/** session_open where nothing else is to be done. */
#define SESSION_OPEN() \
	static int session_open(struct nb_session **out, struct nb_db *db, uint32_t id) \
	{ \
		return SESSION_NEW(out, db); \
	}

/** session_open with room in `buffer` for values of the size that the database expects. */
#define SESSION_OPEN_WITH(buffer) \
	static int session_open(struct nb_session **out, struct nb_db *db, uint32_t id) \
	{ \
		int rc = SESSION_NEW(out, db); \
		if (rc != NB_OK || buffer_reserve(&(*out)->buffer, db->value_size)) \
			return rc; \
		free(*out); \
		return db->host->fail(NB_FAIL, "out of memory"); \
	}

/** put and insert as calls of one function, store(session, key, value, how). */
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

/** The bytes of a slice, for libraries that want an address even for nothing. */
static inline const char *
address(struct nb_slice slice)
{
	return slice.data != NULL ? slice.data : "";
}

/** Memory that grows: what a session lends or collects. Begins as zeros, ends with free(). */
struct buffer {
	char *data;
	size_t size, room;
};

/** Room for `size` bytes in all; what is there stays. It then has an address even for 0. */
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
	if (size != 0) /* then it may have no address */
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

/** Do the writes of a batch one by one. A delete of a missing key is not a failure. */
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
