/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SYNCS_H
#define RUN_SYNCS_H
/**
 * Counts of the calls by which any code of this process makes data durable. The library's own
 * fsync(2), fdatasync(2), msync(2), sync(2) and syncfs(2) precede those of the C library. They
 * count and make the system calls. Any thread may call all functions.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <mininb/mininb.h>

enum {
	SYNCS_FSYNC,
	SYNCS_FDATASYNC,
	SYNCS_MSYNC,      /* with MS_SYNC; otherwise it makes nothing durable */
	SYNCS_FILESYSTEM, /* sync, syncfs */
	SYNCS_KINDS
};

/** Bits of other, uncounted ways in which data may become durable. */
enum {
	SYNCS_DSYNC_FILE = 1 << 0,        /* a file opened with O_DSYNC or O_SYNC: each write */
	SYNCS_PERSISTENT_MEMORY = 1 << 1, /* mapped with MAP_SYNC: CPU instructions */
	SYNCS_IO_URING = 1 << 2,          /* an io_uring, which may receive sync requests */
};

/** "" if calls are counted; otherwise the reason, in a few words. Determined once. */
const char *
syncs_missing(void);

/** Successful calls since the start of the process. Only if syncs_missing() is "". */
void
syncs_count(uint64_t counts[SYNCS_KINDS]);

/** From now on, forked processes count into the same numbers. */
NB_MUST_CHECK int
syncs_share(void);

/** Begin a run. Reset the findings of syncs_look(). */
void
syncs_begin(void);

/**
 * Search the open files and mappings of this process for the database at `path`. The findings
 * are for all processes that share counts. Takes a millisecond or, with much mapped memory, up
 * to a second.
 */
void
syncs_look(const char *path);

/**
 * Whether /proc/self/smaps contains a file at or below `directory` that is mapped with
 * MAP_SYNC.
 */
bool
syncs_is_persistent(FILE *smaps, const char *directory);

/** SYNCS_* bits found since syncs_begin(). */
uint32_t
syncs_elsewhere(void);

#endif /* RUN_SYNCS_H */
