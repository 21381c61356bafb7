/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_RESIDENCY_H
#define RUN_RESIDENCY_H
/**
 * How much of a database is in the page cache, measured (mincore(2)), and how to get it out
 * of there. So "cold" is a number and no word.
 */
#include <stdbool.h>
#include <stdint.h>

#include <mininb/mininb.h>

/** Plain data. */
struct residency {
	uint64_t resident_bytes, total_bytes; /* of the files' pages, holes not counted */
	uint64_t files;
	uint32_t is_known; /* 0: never looked, or nothing could be mapped */
	uint32_t unread;   /* files that could not be looked at */
};

/** How the database was made cold. */
enum {
	COLD_NOT = 0,
	COLD_FILES = 1,  /* fsync, then posix_fadvise */
	COLD_CACHES = 2, /* drop_caches as well */
};

/**
 * Of all regular files below `path`. Nothing is read, so that looking changes nothing, and an
 * engine that has them open keeps its locks. Some 10 ms for each GiB that is resident.
 */
void
residency_look(struct residency *residency, const char *path);

/** The file that drops all caches of the kernel, for root. */
#define RESIDENCY_DROP_CACHES "/proc/sys/vm/drop_caches"

/** Not that file, but only the caches of the database's files. */
#define RESIDENCY_FILES_ONLY ""

/** NB_UNSUPPORTED: the path is on a file system in memory. NB_FAIL: it does not exist. */
NB_MUST_CHECK int
residency_can_be_cold(const char *path);

/**
 * Put the database, which is closed, out of memory: of all of the kernel's caches if "3" can be
 * written to `drop_path`, else of its files'. *how: COLD_*. NB_FAIL: not a file could be evicted.
 * NB_UNSUPPORTED: residency_can_be_cold().
 */
NB_MUST_CHECK int
residency_make_cold(const char *path, const char *drop_path, uint32_t *how);

#endif /* RUN_RESIDENCY_H */
