/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SYNCS_H
#define RUN_SYNCS_H
/**
 * How often any code of this process has made its data durable: the library's
 * own fsync(2), fdatasync(2), msync(2), sync(2) and syncfs(2) stand before those of the C
 * library, count, and pass on. All functions may be called by any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <mininb/mininb.h>

enum {
	SYNCS_FSYNC,
	SYNCS_FDATASYNC,
	SYNCS_MSYNC,      /* with MS_SYNC; what only starts writing makes nothing durable */
	SYNCS_FILESYSTEM, /* sync, syncfs */
	SYNCS_KINDS
};

/** What else may make data durable, of which nothing is counted: bits. */
enum {
	SYNCS_DSYNC_FILE = 1 << 0, /* a file open with O_DSYNC or O_SYNC: each write does */
	SYNCS_PERSISTENT_MEMORY = 1 << 1, /* mapped with MAP_SYNC: instructions do */
	SYNCS_IO_URING = 1 << 2,          /* a ring, which may be asked for syncs */
};

/** "" if calls are counted; else why not, in a few words. Looked up once. */
const char *
syncs_missing(void);

/** Calls that have succeeded, since the process began. Only if syncs_missing() is "". */
void
syncs_count(uint64_t counts[SYNCS_KINDS]);

/** From now on, processes that are forked count into the same numbers. */
NB_MUST_CHECK int
syncs_share(void);

/** A run begins: what syncs_look() finds is its. */
void
syncs_begin(void);

/**
 * Find what this process has open of the database at `path`, and note it, for all processes
 * that share counts. Takes a millisecond or, with much memory mapped, up to a second.
 */
void
syncs_look(const char *path);

/** Whether /proc/self/smaps has a file at or below `directory` that is mapped with MAP_SYNC. */
bool
syncs_is_persistent(FILE *smaps, const char *directory);

/** SYNCS_* bits that have been found since syncs_begin(). */
uint32_t
syncs_elsewhere(void);

#endif /* RUN_SYNCS_H */
