/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_RECORDER_H
#define CRASH_RECORDER_H
/**
 * The recorder from inside. It is a library of its own, links nothing of ours and lives in
 * processes that are not ours, so:
 *
 * - What is passed on goes to the kernel by syscall(2) and not to the next library by
 *   dlsym(): that needs no memory and no first time, and may be called while the C library
 *   or an allocator sets itself up. (fopen() and its kin are the exception.) It takes
 *   longs: an int among its arguments that the kernel reads as a long needs a cast.
 * - It allocates by mmap(2) alone, and has tables of fixed size.
 * - What is asked of every call, on or off, is one load and one branch.
 *
 *     recorder.c        calls that write, or change a size
 *     recorder_names.c  calls that open, or change a name
 *     recorder_sync.c   calls that make durable, and mappings
 *     recorder_log.c    which files are the database's, and what is put down
 *     recorder_watch.c  files that change without a call: mappings, streams of stdio
 *
 * A lock is held through a call that changes something, so that the order of entries is
 * that of the changes; but not through a sync, which may last, and which says itself what
 * it covers. Whoever comes in again on the same thread, a signal handler, is passed on
 * unrecorded, and the recording is marked as blind.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <limits.h>

#include "crash/record.h"

#pragma GCC visibility push(hidden)

extern int recorder_is_on; /* atomic; 0 until nb_recorder_begin() */

static inline bool
recorder_sleeps(void)
{
	return __builtin_expect(__atomic_load_n(&recorder_is_on, __ATOMIC_ACQUIRE) == 0, 1);
}

/* A second name of a call, which others were compiled to use. */
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wmissing-attributes" /* of what the headers say beside */
#define ALSO(other, name) \
	__typeof__(name) other __attribute__((alias(#name), visibility("default")))

typedef void (*any_fn)(void);

/** The next function of that name behind ours; found once, in *known. */
any_fn
recorder_next(uintptr_t *known, const char *name);

/* ---- recorder_log.c ---- */

/** Take the lock, and note in *acked what has returned so far. False: pass the call on, and
 * do not leave. errno stays. */
bool
recorder_enter(struct crash_moment *moment);

void
recorder_leave(void);

/** Whether this thread is between the two. */
bool
recorder_is_inside(void);

/** Let others in while a call lasts, and back. */
void
recorder_unlock(void);

void
recorder_lock(void);

int
recorder_log_begin(const char *dir, struct record_log *log, const struct crash_board *board,
	uint32_t sessions);

/** What cannot be recorded was done; the first reason is kept. */
void
recorder_blind(const char *reason, const char *about);

/**
 * Append an entry: `head` with kind, file, offset, length, covers; with that many bytes of
 * the `count` pieces. Paths may be NULL.
 */
void
recorder_put(const struct record_entry *head, const struct crash_moment *moment,
	const char *path, const char *path2, const struct iovec *pieces, int count);

/** How much a look has compared, and whether that is too much for each call. */
void
recorder_looked(uint64_t bytes, bool is_coarse);

static inline struct record_entry
entry_of(uint32_t kind, uint64_t file)
{
	return (struct record_entry){.kind = kind, .file = file};
}

/** Append an entry without data. */
static inline void
put(const struct record_entry *head, const struct crash_moment *moment, const char *path,
	const char *path2)
{
	recorder_put(head, moment, path, path2, NULL, 0);
}

/** Entries so far. */
uint64_t
recorder_count(void);

/** As recorder_put(), of a write. Keeps what is watched in step. */
void
recorder_put_write(uint64_t file, uint64_t offset, uint64_t length,
	const struct crash_moment *moment, const struct iovec *pieces, int count);

/** Below the directory of the database: `out` has it, relative to that. Else false. */
bool
recorder_inside(char out[PATH_MAX], int dir, const char *path);

/** The same of an open file or directory. */
bool
recorder_inside_fd(char out[PATH_MAX], int fd);

/** The number of a regular file of the database; 0: it is something else. */
uint64_t
recorder_file(int fd, struct stat *st, const struct crash_moment *moment);

/** The number of the file at a path that lies inside; 0: there is none, or a directory. */
uint64_t
recorder_file_at(
	const char *inside, int dir, const char *path, const struct crash_moment *moment);

/** A file came to be: a new number, and RECORD_CREATE. `inside` NULL: without a name. */
uint64_t
recorder_create(const struct stat *st, const char *inside, const struct crash_moment *moment);

/** What stands in the file now, from `offset`, by a call that was given no bytes. */
void
recorder_read_back(uint64_t file, int fd, uint64_t offset, uint64_t length,
	const struct crash_moment *moment);

/** A descriptor of our own to read by, -1: none. It is never closed: that would end the
 * locks that the process has on the file by fcntl(2). */
int
recorder_reader(int fd);

/* ---- recorder_watch.c ---- */

/** From now on `file` is looked at for changes. */
void
recorder_watch(uint64_t file, int fd, const struct stat *st);

/** Put down all that has changed. `is_point`: also where mappings are large. */
void
recorder_look(bool is_point, const struct crash_moment *moment);

/** A write or a change of size by a call, so that it is not found again. */
void
recorder_watch_write(
	uint64_t file, uint64_t offset, uint64_t length, const struct iovec *pieces, int count);

void
recorder_watch_size(uint64_t file, uint64_t size);

bool
recorder_is_watching(void);

#pragma GCC visibility pop

#endif /* CRASH_RECORDER_H */
