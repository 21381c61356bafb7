/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_SYSCALL_LOG_H
#define CRASH_SYSCALL_LOG_H
/**
 * A recording: each call that changed a file of a database or made it durable, in order,
 * with the written bytes. It is in memory that the writing process shares with the testing
 * process, so it survives the writer.
 *
 * The recorder is a library in LD_PRELOAD. It replaces these calls of the C library in the
 * whole process, plugins included, and passes them on: open and its variants, write,
 * pwrite, writev, pwritev, fsync, fdatasync, msync, mmap, munmap, ftruncate, fallocate,
 * rename, unlink, link, mkdir, rmdir, sync and syncfs. Until nb_recorder_begin() it does
 * nothing else.
 *
 * Rejected: FUSE and device mapper (dm-log-writes, dm-flakey) see every write, also through
 * mappings, but need root, a kernel module or a device. ptrace() makes each call about ten
 * times slower and does not see stores either. image.h lists the changes that the preloaded
 * library misses.
 *
 * Entries are numbered from 0 in the order in which their calls returned. Stores into a
 * mapping are found before a call, and precede it.
 */
#include <stddef.h>
#include <stdint.h>

#include "crash/crash.h"

enum {
	RECORD_BASE,     /* a regular file existed at `path` when the recording began */
	RECORD_CREATE,   /* a file was created at `path`, or without a name (O_TMPFILE) */
	RECORD_WRITE,    /* `length` bytes, which follow the entry, at `offset` of `file` */
	RECORD_MAPPED,   /* the same for a store into a mapping, found by comparing a page */
	RECORD_TRUNCATE, /* `file` is `offset` bytes long from now on */
	RECORD_SYNC,     /* `length` bytes from `offset` of `file` are durable; 0: all of it */
	RECORD_SYNC_DIR, /* the names in directory `path` are durable */
	RECORD_SYNC_ALL, /* everything is durable: sync(2), syncfs(2) */
	RECORD_RENAME,   /* from `path` to `path2`; `file` is 0 for a directory */
	RECORD_UNLINK,
	RECORD_LINK, /* `file` gets the additional name `path2` */
	RECORD_MKDIR,
	RECORD_RMDIR,
	RECORD_POINT, /* an operation has returned; not a call */
	RECORD_KINDS
};

/**
 * Followed by path, path2 (with their NULs) and data; padded to 8 bytes. Paths are relative
 * to the database's directory, which itself is "".
 */
struct record_entry {
	uint32_t size; /* of the entry with all that follows */
	uint32_t kind;
	uint32_t path_size, path2_size; /* with NUL; 0: none */
	uint64_t file; /* number of the file, from 1; a rename does not change it */
	uint64_t offset, length;
	/*
	 * For a sync: it makes entries below this number durable; they were complete when
	 * it began.
	 */
	uint64_t covers;
	/*
	 * `acked` is from the start of the call, `begun` from its recording. At each moment
	 * between the two, at least `acked` operations had returned and at most `begun` had
	 * begun.
	 */
	struct crash_moment moment;
};

/** The head of the shared memory, before the entries. */
struct record_log {
	uint64_t capacity;     /* of all of it, in bytes */
	uint64_t used;         /* atomic: bytes of whole entries, this head included */
	uint64_t count;        /* atomic: of entries */
	uint64_t mapped_bytes; /* of files that are compared */
	uint32_t is_full;      /* atomic: later changes are missing */
	uint32_t is_blind;     /* atomic: a change could not be recorded */
	/*
	 * mappings are too large to compare before each call: changes are found only at
	 * syncs and points, and so recorded after later calls
	 */
	uint32_t is_coarse;
	uint32_t spare_u32;
	char blind[CRASH_TEXT_SIZE]; /* the first change that could not be recorded */
};

/** Prepare `capacity` bytes for a recording. */
static inline void
record_create(struct record_log *log, uint64_t capacity)
{
	*log = (struct record_log){.capacity = capacity, .used = sizeof(struct record_log)};
}

/** The limits of a valid recording. */
struct record_limits {
	uint64_t capacity; /* bytes of its memory */
	uint32_t sessions;
	const uint64_t *start; /* the first operation of each session */
	uint64_t ops;          /* limit for the operations after `start` */
};

/**
 * Validate the recording. The functions below and those of image.h require a valid one.
 * NB_ERR_DATA names the first invalid entry and the reason.
 */
NB_MUST_CHECK int
record_check(const struct record_log *log, const struct record_limits *limits);

/** The first of log->count entries. */
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

/** The path of an entry; "" if it has none. */
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

/** The written bytes of a RECORD_WRITE or RECORD_MAPPED. */
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

/* The exports of the recorder, for dlsym(RTLD_DEFAULT, ...). */
#define RECORDER_BEGIN "nb_recorder_begin"
#define RECORDER_POINT "nb_recorder_point"
#define RECORDER_BOOT "nb_recorder_boot"

/**
 * Start the recording of directory `dir` in the writing process, before it opens a file
 * there. Returns 0 or an errno.
 */
typedef int (*recorder_begin_fn)(const char *dir, struct record_log *log,
	const struct crash_progress *board, uint32_t sessions);
/**
 * Call it when an operation has returned and `acked` is updated, and after close. It
 * searches mappings for changes and appends a RECORD_POINT. Any thread.
 */
typedef void (*recorder_point_fn)(void);
/**
 * Simulate boot number `boots`: this process and its later children read another boot id of
 * the kernel, a different one for each number above 0. With 0 they read the real one. Works
 * also before a recording begins. Call it while no other thread runs.
 */
typedef void (*recorder_boot_fn)(uint32_t boots);

#endif /* CRASH_SYSCALL_LOG_H */
