/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_IMAGE_H
#define CRASH_IMAGE_H
/**
 * The files that a power loss may leave: of a recording (record.h), at any of its moments,
 * by lot. Recording, moment and choice give the same files each time.
 *
 * The model of data. A write is durable when a sync of its file that began after it has
 * returned; until then it is pending, one that is in flight at the moment included. Writes are cut into the
 * 4096 bytes of a page of the page cache. Each page reaches the disk for itself, at any
 * time, in any order: of several pending writes to one page those up to one of them are
 * there. A page that is just being written may be torn, at a sector of 512 bytes. What was
 * written behind the durable end of a file and is lost leaves it shorter, or there are
 * zeros: blocks are allocated when data is written back.
 *
 * The model of metadata (names, and sizes set by truncate), NB_CRASH_JOURNALLED, the
 * default: what is there is as of some moment, in the order of the calls. A sync of a file
 * brings at least what was done up to the last change of that file's own metadata: its
 * creation, name, size, or a block allocated. It need not bring more: if none is pending
 * for that file, ext4 and XFS commit nothing. Data in newly allocated blocks is not there before the
 * metadata that is older than it. Data is otherwise free of it: a new
 * name may come with a file that is still empty. That is ext4 with
 * data=ordered,noauto_da_alloc (Documentation/admin-guide/ext4.rst of Linux) and XFS,
 * and the default since nearly all databases lie on one of them. Btrfs, by its log tree,
 * promises less to a sync of a file: between the two.
 *
 * NB_CRASH_POSIX: a name is durable when its directory was synced, or both directories of a
 * rename, which itself is atomic; of the pending ones any may be there. A sync of a new
 * file does not bring its name. No file system in use is as bad, but each of these was
 * found in one: Pillai et al., "All File Systems Are Not Created Equal" (ALICE), OSDI 2014,
 * tables 1 and 2, from where the model of pending writes is as well.
 *
 * A kill, IMAGE_WHOLE and IMAGE_PART: nothing of what a call has done is lost; of a
 * write that was in flight its first pages may be there, as Linux looks for SIGKILL between
 * them.
 *
 * Not modelled. A sync that fails, after which pages may be marked clean and lost: Rebello
 * et al., "Can Applications Recover from fsync Failures?", ATC 2020. Disks that lose or
 * reorder what was flushed, and bits that rot. Permissions, times, links that are symbolic.
 * auto_da_alloc of ext4, which hides the file that is empty after its renaming.
 *
 * Not seen, and so not simulated. Stores into a mapping are found when it is looked at: before each recorded
 * call, at each sync and when an operation has returned (with large mappings the latter two
 * alone). So Tkrzw, Kyoto and Tokyo Cabinet, TDB, LMDB with writemap, and a pool of
 * libpmemobj that is synced by msync() are simulated, but states within the stores of one
 * operation are not there: two stores to one page between looks are one. On persistent
 * memory, where stores, flushes and fences decide and no call is made, nothing is seen: for FPTree
 * tests/fptree has a simulator of its own. Calls that do not go through the C library
 * (io_uring, libaio, a program that was linked statically) are not seen either; io_uring
 * and POSIX aio are noticed, and at the end of a recording its files are compared with those on disk:
 * what differs is told (record_log.is_blind).
 */
#include "crash/record.h"

struct image;

/** Which of what is pending is there. */
enum {
	IMAGE_WHOLE,       /* all that was done, and nothing of what is in flight: a kill */
	IMAGE_PART,        /* likewise, and the first pages of the write in flight */
	IMAGE_NONE,        /* nothing that is pending */
	IMAGE_NAMES,       /* names and sizes alone: no data that is pending */
	IMAGE_DATA,        /* data alone, with the names and sizes that it needs */
	IMAGE_ALL_BUT_ONE, /* one page is missing */
	IMAGE_HEAD_LOST,   /* of one file the first pending pages are missing */
	IMAGE_END_LOST,    /* of one file the last pending pages are missing */
	IMAGE_LAST,        /* the last write alone */
	IMAGE_PREFIX,      /* in order, up to some write */
	IMAGE_RANDOM,      /* of each page some */
	IMAGE_TORN,        /* likewise, and some pages are torn */
	IMAGE_KINDS
};

struct image_choice {
	uint32_t kind;        /* IMAGE_* */
	uint32_t file_system; /* NB_CRASH_JOURNALLED or NB_CRASH_POSIX */
	uint64_t seed;
};

/**
 * Of a recording that is at its end, which is borrowed; record_check() has found it good.
 * `base`: a copy of the database's directory as it was before, read now; NULL: it was empty.
 */
NB_MUST_CHECK int
image_new(struct image **out, const struct record_log *log, const char *base);

void
image_delete(struct image *image);

/** Entries of the recording. */
uint64_t
image_count(const struct image *image);

const struct record_entry *
image_entry(const struct image *image, uint64_t number);

/**
 * Make, in memory, what is there when entries below `done` have returned (0 to
 * image_count()) and the one of that number is in flight. A moment before a RECORD_MAPPED
 * is none: what was found in one look was there at once.
 */
void
image_make(struct image *image, uint64_t done, const struct image_choice *choice);

/** What a power loss could take while an entry is in flight. */
enum {
	IMAGE_STAKE_ANY = 1 << 0,   /* something is pending */
	IMAGE_STAKE_PAGES = 1 << 1, /* several pages of one file are, or one that can be torn */
	IMAGE_STAKE_NAMES = 1 << 2, /* a change of names or sizes is, or data older than one */
	IMAGE_STAKE_PAIR = 1 << 3   /* the entry is a sync, and so was the call before it that
	                             * promises something */
};

/** Of each entry, the IMAGE_STAKE_* while it is in flight; 0 if it is neither a sync nor a
 * RECORD_POINT. `stakes` has room for image_count() of them. */
void
image_find_stakes(const struct image *image, uint8_t *stakes);

/** Write what was made last into the directory `path`, which must not be there. */
NB_MUST_CHECK int
image_write(const struct image *image, const char *path);

/** In a line: which moment, and what of it was lost. */
void
image_tell(const struct image *image, char *text, size_t size);

/** Whether what was made last differs from the directory `path`: 1, and *text says in what, or 0. */
NB_MUST_CHECK int
image_differs(const struct image *image, const char *path, char *text, size_t size);

#endif /* CRASH_IMAGE_H */
