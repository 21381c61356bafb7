/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_RESIDENCY_H
#define RUN_RESIDENCY_H
/**
 * The part of a database that is in the page cache, measured by mincore(2), and its eviction.
 * So "cold" is a number and not only a word.
 */
#include <stdbool.h>
#include <stdint.h>

#include <mininb/mininb.h>

/** Plain data. */
struct residency {
	uint64_t resident_bytes, total_bytes; /* pages of the files, without holes */
	uint64_t files;
	uint32_t is_known; /* 0: not measured, or no file could be mapped */
	uint32_t unread;   /* files that could not be examined */
};

/** Methods of making the database cold. */
enum {
	COLD_NOT = 0,
	COLD_FILES = 1,  /* fsync, then posix_fadvise */
	COLD_CACHES = 2, /* and drop_caches */
};

/**
 * Measure all regular files below `path`. It reads no data, so it changes nothing, and an
 * engine that has the files open keeps its locks. Takes some 10 ms per resident GiB.
 */
void
residency_look(struct residency *residency, const char *path);

/** The file that drops all kernel caches, for root. */
#define RESIDENCY_DROP_CACHES "/proc/sys/vm/drop_caches"

/** In place of that file: evict only the files of the database. */
#define RESIDENCY_FILES_ONLY ""

/** NB_UNSUPPORTED: the path is on a file system in memory. NB_FAIL: it does not exist. */
NB_MUST_CHECK int
residency_can_be_cold(const char *path);

/**
 * Evict the database, which is closed, from memory. Drops all kernel caches if "3" can be
 * written to `drop_path`; otherwise evicts its files. *how: COLD_*. NB_FAIL: no file could be
 * evicted. NB_UNSUPPORTED: see residency_can_be_cold().
 */
NB_MUST_CHECK int
residency_make_cold(const char *path, const char *drop_path, uint32_t *how);

#endif /* RUN_RESIDENCY_H */
