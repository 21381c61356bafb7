/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_RECORD_H
#define CRASH_RECORD_H
/**
 * A recording: each call that changed a file of a database or made it durable, in
 * order, with what was written. It lies in memory that the writing process shares with
 * the one that tests, so it is there whatever became of the writer.
 *
 * The recorder is a library in LD_PRELOAD. It takes the place of the C library's calls
 * in the whole process, plugins included, and passes them on: open and its kin, write,
 * pwrite, writev, pwritev, fsync, fdatasync, msync, mmap, munmap, ftruncate, fallocate,
 * rename, unlink, link, mkdir, rmdir, sync and syncfs. It sleeps until
 * nb_recorder_begin(), so that a process that has it loaded is as it would be without.
 *
 * Why not another way. FUSE and device mapper (dm-log-writes, dm-flakey) see every write,
 * of mappings too, but need root, a kernel module or a device; ptrace() makes each call
 * some ten times slower and sees no stores either. What the preloaded library cannot see
 * is said in image.h.
 *
 * Entries are numbered from 0 in the order in which their calls have returned; but what
 * was stored into a mapping is found before a call, and stands before it.
 */
#include <stddef.h>
#include <stdint.h>

#include "crash/crash.h"

enum {
	RECORD_BASE,   /* a regular file was at `path` when the recording began */
	RECORD_CREATE, /* one came to be at `path`, or without a name (O_TMPFILE) */
	RECORD_WRITE,  /* `length` bytes, which follow, at `offset` of `file` */
	RECORD_MAPPED, /* likewise, not by a call: found within a page when it was looked at */
	RECORD_TRUNCATE, /* `file` is `offset` bytes long from here on */
	RECORD_SYNC,     /* `length` bytes from `offset` of `file` are durable; 0: all of it */
	RECORD_SYNC_DIR, /* the names in directory `path`, likewise */
	RECORD_SYNC_ALL, /* sync(2), syncfs(2), likewise */
	RECORD_RENAME,   /* from `path` to `path2`; of a directory `file` is 0 */
	RECORD_UNLINK,
	RECORD_LINK, /* `file` has the further name `path2` */
	RECORD_MKDIR,
	RECORD_RMDIR,
	RECORD_POINT, /* an operation has returned: no call, only a moment */
	RECORD_KINDS
};

/**
 * Followed by path, path2 (with their NULs) and data; the whole padded to 8 bytes. Paths are
 * relative to the database's directory, which itself is "".
 */
struct record_entry {
	uint32_t size; /* of all of it */
	uint32_t kind;
	uint32_t path_size, path2_size; /* with NUL; 0: none */
	uint64_t file; /* number of the file, from 1, for good: a name may change */
	uint64_t offset, length;
	/* Of a sync: what was written by entries below this number, those that were complete
	 * when it began, is durable now that it has returned. */
	uint64_t covers;
	/* `acked` as of when the call began, `begun` as of when it was recorded: at no
	 * moment between the two has less returned, or has more been begun. */
	struct crash_moment moment;
};

/** Head of the shared memory; entries begin behind it. */
struct record_log {
	uint64_t capacity;     /* of all of it, in bytes */
	uint64_t used;         /* atomic: bytes of whole entries, this head included */
	uint64_t count;        /* atomic: of entries */
	uint64_t mapped_bytes; /* of files that are looked at for changes not made by calls */
	uint32_t is_full;      /* atomic: something was not recorded any more */
	uint32_t is_blind;     /* atomic: something was done that cannot be recorded: */
	uint32_t is_coarse; /* mappings are too large to look at before each call: changes are
	                     * found at syncs and points only, and stand behind calls that
	                     * came later */
	uint32_t spare_u32;
	char blind[CRASH_TEXT_SIZE]; /* says what */
};

/** Ready for a recording; the memory is `capacity` bytes of zeros, or of an older one. */
static inline void
record_create(struct record_log *log, uint64_t capacity)
{
	*log = (struct record_log){.capacity = capacity, .used = sizeof(struct record_log)};
}

/** What a recording may be like at most. */
struct record_limits {
	uint64_t capacity; /* bytes of its memory, by who has made it */
	uint32_t sessions;
	const uint64_t *start; /* of each session: operations before it were done already, */
	uint64_t ops;          /* and so many more at most */
};

/**
 * Whether it can be read, which all that follow here and in image.h take for granted: of the
 * memory of another process nothing is known. NB_ERR_DATA says which entry is not one, and why.
 */
NB_MUST_CHECK int
record_check(const struct record_log *log, const struct record_limits *limits);

/** Entries in their order, log->count of them; whoever walks them counts. */
static inline const struct record_entry *
record_first(const struct record_log *log)
{
	return (const struct record_entry *)(log + 1);
}

static inline const struct record_entry *
record_next(const struct record_entry *entry)
{
	return (const struct record_entry *)((const char *)entry + entry->size);
}

/** "" if it has none. */
static inline const char *
record_path(const struct record_entry *entry)
{
	return entry->path_size > 0 ? (const char *)(entry + 1) : "";
}

static inline const char *
record_path2(const struct record_entry *entry)
{
	return entry->path2_size > 0 ? (const char *)(entry + 1) + entry->path_size : "";
}

/** Of RECORD_WRITE and RECORD_MAPPED. */
static inline const uint8_t *
record_data(const struct record_entry *entry)
{
	return (const uint8_t *)(entry + 1) + entry->path_size + entry->path2_size;
}

static inline bool
record_has_data(const struct record_entry *entry)
{
	return entry->kind == RECORD_WRITE || entry->kind == RECORD_MAPPED;
}

static inline bool
record_is_sync(const struct record_entry *entry)
{
	return entry->kind >= RECORD_SYNC && entry->kind <= RECORD_SYNC_ALL;
}

/* What the recorder exports, found by dlsym(RTLD_DEFAULT, ...). */
#define RECORDER_BEGIN "nb_recorder_begin"
#define RECORDER_POINT "nb_recorder_point"

/**
 * In the process that will write, before it opens anything in `dir`, the real path of a
 * directory that may hold a database already. 0, or an errno.
 */
typedef int (*recorder_begin_fn)(const char *dir, struct record_log *log,
	const struct crash_board *board, uint32_t sessions);
/** An operation has returned, or all is closed: pages that mappings have changed are looked
 * for, and a RECORD_POINT is made. After `acked` has told it. Any thread. */
typedef void (*recorder_point_fn)(void);

#endif /* CRASH_RECORD_H */
