/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_RECORDER_H
#define CRASH_RECORDER_H
/**
 * Internals of the recorder. It is a separate library, links nothing of mininb and runs inside
 * processes of other programs, so:
 *
 * - It enters the kernel by syscall(2) instead of calling the next library by dlsym(): that
 *   needs no memory and no initialization, and works while the C library or an allocator starts.
 *   (fopen() and fdopen() are the exceptions.) syscall() takes longs, so an int argument that
 *   the kernel reads as a long needs a cast.
 * - It allocates only by mmap(2), and its tables have fixed sizes.
 * - Each call costs one load and one branch while the recorder is off.
 *
 *     recorder.c        calls that write or change a size
 *     recorder_names.c  calls that open or change a name
 *     recorder_sync.c   calls that make data durable, and mappings
 *     recorder_log.c    the files of the database, and the entries
 *     recorder_watch.c  files that change without a call: mappings, streams of stdio
 *
 * A lock is held during each call that changes something, so that the entries are in the order
 * of the changes. It is not held during a sync, which may take long and records what it covers.
 * A signal handler that enters again on the same thread is not recorded, and the recording is
 * marked as blind.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "crash/syscall_log.h"

#pragma GCC visibility push(hidden)

extern int recorder_is_on; /* atomic; 0 until nb_recorder_begin() */

extern uint32_t recorder_boots; /* simulated starts of the machine; 0: none */

static inline bool
recorder_sleeps(void)
{
	return __builtin_expect(__atomic_load_n(&recorder_is_on, __ATOMIC_ACQUIRE) == 0, 1);
}

/* A second name of a call, used by programs that were compiled with other flags. */
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wmissing-attributes" /* of the declarations in headers */
#define ALSO(other, name) \
	__typeof__(name) other __attribute__((alias(#name), visibility("default")))

typedef void (*any_fn)(void);

/** The next definition of that name after this library; cached in *known. */
any_fn
recorder_next(uintptr_t *known, const char *name);

/* ---- recorder_log.c ---- */

/**
 * Take the lock, and note for the entries until recorder_leave() which operations have
 * returned. False: pass the call on without recording, and do not call recorder_leave().
 * Preserves errno.
 */
bool
recorder_enter(void);

/** Like recorder_enter(), but false if the recorder is off. */
static inline bool
recorder_begins(void)
{
	return !recorder_sleeps() && recorder_enter();
}

/** Release the lock and set errno to `error`. */
void
recorder_leave(int error);

/** Whether this thread has entered. */
bool
recorder_is_inside(void);

/** Release the lock during a call, and take it again. */
void
recorder_unlock(void);

void
recorder_lock(void);

int
recorder_log_begin(const char *dir, struct record_log *log, const struct crash_progress *board,
	uint32_t sessions);

/**
 * Mark the recording as blind, because a change cannot be recorded. The first reason is
 * kept.
 */
void
recorder_blind(const char *reason, const char *about);

/**
 * Append an entry. `head` gives kind, file, offset, length and covers; the `count` pieces
 * give head->length bytes. Paths may be NULL.
 */
void
recorder_put(const struct record_entry *head, const char *path, const char *path2,
	const struct iovec *pieces, int count);

/** Store how many bytes were compared, and whether comparing before each call is too slow. */
void
recorder_looked(uint64_t bytes, bool is_coarse);

/** Append an entry without data and offset. */
static inline void
put(uint32_t kind, uint64_t file, const char *path, const char *path2)
{
	recorder_put(&(struct record_entry){.kind = kind, .file = file}, path, path2, NULL, 0);
}

/** The number of entries. */
uint64_t
recorder_count(void);

/** Append a write, and update the copy of a watched file. */
void
recorder_put_write(
	uint64_t file, uint64_t offset, uint64_t length, const struct iovec *pieces, int count);

/** Whether the path is inside the database; then `out` is the path relative to it. */
bool
recorder_inside(char out[PATH_MAX], int dir, const char *path);

/** The same for an open file or directory. */
bool
recorder_inside_fd(char out[PATH_MAX], int fd);

/** The number of a regular file of the database; 0: another file. */
uint64_t
recorder_file(int fd, struct stat *st);

/** The number of the file at a path of the database; 0: missing or not a regular file. */
uint64_t
recorder_file_at(const char *inside, int dir, const char *path);

/** Assign a number to a new file, and append RECORD_CREATE. `inside` NULL: it has no name. */
uint64_t
recorder_create(const struct stat *st, const char *inside);

/** Append the present contents as a write, after a call that did not get the bytes. */
void
recorder_read_back(uint64_t file, int fd, uint64_t offset, uint64_t length);

/**
 * Open a new descriptor to read the file; -1: failed. It is never closed: that would drop
 * the process's fcntl(2) locks on the file.
 */
int
recorder_reader(int fd);

/* ---- recorder_watch.c ---- */

/** Compare the file from now on in recorder_look(). */
void
recorder_watch(uint64_t file, int fd, const struct stat *st);

/** Append all changes found in watched files. `is_point`: even if the mappings are large. */
void
recorder_look(bool is_point);

/**
 * Update the copy after a call wrote or changed the size, so that recorder_look() does not
 * find the change again.
 */
void
recorder_watch_write(
	uint64_t file, uint64_t offset, uint64_t length, const struct iovec *pieces, int count);

void
recorder_watch_size(uint64_t file, uint64_t size);

bool
recorder_is_watching(void);

#pragma GCC visibility pop

#endif /* CRASH_RECORDER_H */
