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
 * rename, unlink, link, mkdir, rmdir, close, dup, sync and syncfs. It sleeps until
 * nb_recorder_begin(), so that a process that has it loaded is as it would be without.
 *
 * Why not another way. FUSE and device mapper (dm-log-writes, dm-flakey) see every write, of mappings
 * too, but need root, a kernel module or a device; ptrace() makes each call some ten times slower and sees no
 * stores either. What the preloaded library cannot see is said in image.h.
 */
#include <stddef.h>
#include <stdint.h>

#include "crash/crash.h"

enum {
	RECORD_CREATE,   /* a regular file came to be at `path` */
	RECORD_WRITE,    /* `data_size` bytes at `offset` of `file` */
	RECORD_MAPPED,   /* likewise, through a mapping: a page that was seen to differ */
	RECORD_TRUNCATE, /* `file` is `offset` bytes long from here on */
	RECORD_SYNC,     /* `file` is durable as it was at entry number `offset` */
	RECORD_SYNC_DIR, /* the names in directory `path`, likewise */
	RECORD_SYNC_ALL, /* sync(2), syncfs(2), likewise */
	RECORD_RENAME,   /* from `path` to `path2` */
	RECORD_UNLINK,
	RECORD_LINK,
	RECORD_MKDIR,
	RECORD_RMDIR,
	RECORD_POINT, /* an operation has returned: no call, only a moment */
	RECORD_KINDS
};

#define RECORD_DURABLE (1u << 0) /* a write to a file that is open with O_SYNC or O_DSYNC */

/** Followed by path, path2 (with their NULs) and data; the whole padded to 8 bytes. */
struct record_entry {
	uint32_t size; /* of all of it */
	uint16_t kind, flags;
	uint32_t path_size,
		path2_size; /* with NUL; 0: none. Relative to the database's directory */
	uint64_t file;      /* number of the file, from 1, for good: a name may change */
	uint64_t offset, data_size;
	struct crash_moment moment; /* when the call began */
};

/** Head of the shared memory; entries begin behind it. */
struct record_log {
	uint64_t capacity; /* of all of it, in bytes */
	uint64_t used;     /* atomic: bytes of whole entries, this head included */
	uint64_t count;    /* atomic: of entries */
	uint32_t is_full;  /* atomic: something was not recorded any more */
	uint32_t
		is_blind; /* atomic: something was done that cannot be recorded: `blind` says what */
	char blind[CRASH_TEXT_SIZE];
};

/* What the recorder exports, found by dlsym(RTLD_DEFAULT, ...). */
typedef int (*recorder_begin_fn)(const char *dir, struct record_log *log,
	const struct crash_board *board, uint32_t sessions);
/** An operation has returned: pages that mappings have changed are looked for, and a
 * RECORD_POINT is made. Any thread. */
typedef void (*recorder_point_fn)(void);

#endif /* CRASH_RECORD_H */
