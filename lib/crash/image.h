/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_IMAGE_H
#define CRASH_IMAGE_H
/**
 * Computes the files that a power loss may leave at any moment of a recording
 * (syscall_log.h), chosen at random. Equal recording, moment and choice give equal files.
 *
 * Data. A write is durable when a sync of its file that began after the write has returned.
 * Until then the write is pending, also while its call is in flight. Writes are split at
 * the 4096-byte pages of the page cache. Each page reaches the disk independently, at any
 * time, in any order. Of several pending writes to a page, the state has all up to one of
 * them. A page being written may be torn, at a sector of 512 bytes. If a write after the
 * durable end of a file is lost, the file is shorter or has zeros there, because blocks are
 * allocated when data is written back.
 *
 * Metadata (names, and sizes set by truncate) with NB_CRASH_JOURNALLED, the default: the
 * state is that of one moment, in the order of the calls. A sync of a file makes metadata
 * durable at least up to the last change of that file: its creation, name, size, or an
 * allocated block. It need not do more: if none is pending for the file, ext4 and XFS
 * commit nothing. Data in newly allocated blocks is present only if all older metadata is.
 * Otherwise data is independent: a new name may refer to a file that is still empty. This
 * models ext4 with data=ordered,noauto_da_alloc (Documentation/admin-guide/ext4.rst of
 * Linux) and XFS. It is the default because nearly all databases are on one of them. A sync
 * on Btrfs, with its log tree, promises less: between the two models.
 *
 * NB_CRASH_POSIX: a name is durable when its directory was synced, or both directories of a
 * rename, which is atomic. Any subset of the pending names may be present. A sync of a new
 * file does not make its name durable. No file system in use is as bad, but each of these
 * behaviours was found in one: Pillai et al., "All File Systems Are Not Created Equal"
 * (ALICE), OSDI 2014, tables 1 and 2, which also describe pending writes.
 *
 * A kill, IMAGE_WHOLE and IMAGE_PART: no effect of a finished call is lost. The first pages
 * of a write in flight may be present, because Linux checks for SIGKILL between pages.
 *
 * Not modelled: a failed sync, after which pages may be marked clean and lost (Rebello et
 * al., "Can Applications Recover from fsync Failures?", ATC 2020); disks that lose or
 * reorder flushed data; bit rot; permissions, times, symbolic links; auto_da_alloc of ext4,
 * which hides a renamed file that is still empty.
 *
 * Not recorded, and so not simulated. The recorder detects stores into a mapping by
 * comparison: before each recorded call, at each sync and when an operation has returned.
 * For large mappings it compares only at the last two. So Tkrzw, Kyoto and Tokyo Cabinet,
 * TDB, LMDB with writemap, and a pool of libpmemobj synced by msync() are simulated, but
 * without states between the stores of one operation: two stores to a page between
 * comparisons count as one. Persistent memory, with stores, flushes and fences but without
 * calls, is not recorded: tests/fptree has a simulator for FPTree. Calls that bypass the C
 * library (io_uring, libaio, static linking) are not recorded either. The recorder detects
 * io_uring and POSIX aio. At its end, a recording is compared with the files on disk, and
 * differences are reported (record_log.is_blind).
 */
#include "crash/syscall_log.h"

struct image;

/** The choice of the pending changes that a state contains. */
enum {
	IMAGE_WHOLE,       /* all changes, none in flight: a kill */
	IMAGE_PART,        /* the same, plus the first pages of the write in flight */
	IMAGE_NONE,        /* no pending change */
	IMAGE_NAMES,       /* only names and sizes, no pending data */
	IMAGE_DATA,        /* only data, and the names and sizes that it needs */
	IMAGE_ALL_BUT_ONE, /* one page is missing */
	IMAGE_HEAD_LOST,   /* the first pending pages of a file are missing */
	IMAGE_END_LOST,    /* the last pending pages of a file are missing */
	IMAGE_LAST,        /* the last write only */
	IMAGE_PREFIX,      /* in order, up to some write */
	IMAGE_RANDOM,      /* some writes of each page */
	IMAGE_TORN,        /* the same, and some pages are torn */
	IMAGE_KINDS
};

struct image_choice {
	uint32_t kind;        /* IMAGE_* */
	uint32_t file_system; /* NB_CRASH_JOURNALLED or NB_CRASH_POSIX */
	uint64_t seed;
};

/**
 * Create an image of a complete recording, which is borrowed and must be valid:
 * record_check(). `base`: a copy of the database's directory before the recording, read
 * now; NULL: empty.
 */
NB_MUST_CHECK int
image_new(struct image **out, const struct record_log *log, const char *base);

void
image_delete(struct image *image);

/** Number of entries of the recording. */
uint64_t
image_count(const struct image *image);

const struct record_entry *
image_entry(const struct image *image, uint64_t number);

/**
 * Compute the state in memory for the moment when the entries below `done` (0 to
 * image_count()) have returned and entry `done` is in flight. No moment precedes a
 * RECORD_MAPPED, because changes found by one comparison count as simultaneous.
 */
void
image_make(struct image *image, uint64_t done, const struct image_choice *choice);

/** The changes that a power loss could take while an entry is in flight. */
enum {
	IMAGE_STAKE_ANY = 1 << 0, /* at least one change is pending */
	/* several pages of a file are pending, or a single page that can be torn */
	IMAGE_STAKE_PAGES = 1 << 1,
	/* a change of names or sizes is pending, or data older than one */
	IMAGE_STAKE_NAMES = 1 << 2,
	IMAGE_STAKE_PAIR = 1 << 3 /* the entry and the previous promise are both syncs */
};

/**
 * Set stakes[i], of image_count(), to the IMAGE_STAKE_* while entry i is in flight; 0 if it
 * is neither a sync nor a RECORD_POINT.
 */
void
image_find_stakes(const struct image *image, uint8_t *stakes);

/** Write the last state into the directory `path`, which must not exist. */
NB_MUST_CHECK int
image_write(const struct image *image, const char *path);

/** Describe the moment and the losses in one line. */
void
image_tell(const struct image *image, char *text, size_t size);

/**
 * Compare the last state with the directory `path`. Returns 1 and describes the difference
 * in *text, or 0.
 */
NB_MUST_CHECK int
image_differs(const struct image *image, const char *path, char *text, size_t size);

#endif /* CRASH_IMAGE_H */
