/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_IMAGE_PARTS_H
#define CRASH_IMAGE_PARTS_H
/**
 * Internals of an image.
 *
 *     image.c        splits a recording into pages, and computes a state
 *     image_choose.c the durable changes, and the choice of the others
 *     image_stakes.c the moments at which much can be lost
 *     image_names.c  the names of a state
 *     image_files.c  files on disk: reads the base, writes and compares a state
 */
#include <limits.h>

#include "base/rng.h"
#include "crash/image.h"

enum { IMAGE_PAGE = 4096, IMAGE_SECTOR = 512 };

#define IMAGE_NO_PAGE UINT32_MAX

/** The part of a write in one page. */
struct image_fragment {
	uint32_t entry, page;
	uint32_t offset, length; /* within the page */
	const uint8_t *data;
	/* it changes a block or a size, so it also changes journalled metadata */
	bool allocates;
};

struct image_page {
	uint64_t number; /* within the file */
	uint32_t file;
	uint32_t next; /* next page of the same file */
	uint8_t *base; /* NULL: zeros */
	bool has_data; /* used while the recording is read */
	/* of the state */
	uint32_t covers; /* writes of entries below it are durable */
	uint32_t keep;   /* writes of entries below it are present */
	/*
	 * writes from keep to below it are present in part: the sectors below `cut`, or
	 * from it on; 0: none
	 */
	uint32_t torn;
	uint32_t options; /* used while one is drawn */
	uint32_t cut;
	bool is_low;
	uint8_t *now;
};

struct image_file {
	uint32_t first; /* page */
	uint64_t base_size;
	/* of the state */
	uint32_t covers;
	uint64_t size;
	uint64_t full; /* the size without losses */
	/* pending data from here on has no blocks, because a truncate is lost */
	uint64_t blocked;
	uint64_t low, high; /* used while a file is drawn: its first and last pending page */
};

struct image_name {
	char *path;
	uint64_t file; /* 0: a directory */
};

struct image_names {
	struct image_name *names;
	size_t count, room;
};

struct image {
	const struct record_log *log;
	const struct record_entry **entries;
	uint32_t count;
	uint32_t *brings; /* for a sync: it makes metadata below that entry durable */
	bool *allocates;  /* for each entry */
	struct image_fragment *fragments;
	size_t fragment_count, fragment_room;
	struct image_page *pages;
	size_t page_count, page_room;
	uint32_t *slots; /* pages by file and number, open addressing */
	size_t slot_count;
	struct image_file *files; /* [number]; 0 is none */
	uint64_t file_count;
	struct image_names base;
	/* of the state */
	struct image_names names;
	bool *has_metadata; /* for each entry: its change is there */
	uint32_t done;
	struct image_choice choice;
	uint64_t pending, kept, torn, metadata_pending, metadata_kept; /* counts */
};

/** Find a page; create it if it does not exist. */
uint32_t
image_page_at(struct image *image, uint64_t file, uint64_t number);

/** Find a page. IMAGE_NO_PAGE: it was never written. */
uint32_t
image_page_find(const struct image *image, uint64_t file, uint64_t number);

/** Read the directory `path` into image->base and its pages. */
NB_MUST_CHECK int
image_read_base(struct image *image, const char *path);

/**
 * Update `path` after a rename of `from`, which may be a parent directory, to `to`. False:
 * `path` does not change.
 */
bool
image_move(char path[PATH_MAX], const char *from, const char *to);

/** Whether `dir` is the parent directory of `path`. */
bool
image_is_in(const char *path, const char *dir);

/** Whether the entry changes a name or a size. */
static inline bool
image_is_metadata(const struct record_entry *entry)
{
	return entry->kind == RECORD_CREATE || entry->kind == RECORD_TRUNCATE ||
		(entry->kind >= RECORD_RENAME && entry->kind <= RECORD_RMDIR);
}

/** Whether the entry has changed the directory `dir`. */
bool
image_changes_dir(const struct record_entry *entry, const char *dir);

/** Set `covers` of each file and page. Returns the entry below which metadata is durable. */
uint32_t
image_find_durable(struct image *image);

/** Choose the pending writes that are present, of entries below `limit`. */
void
image_choose_data(struct image *image, uint32_t limit, struct rng *rng);

/** Choose the metadata that is present, which may remove some of these writes. */
void
image_choose_metadata(struct image *image, uint32_t durable, uint32_t limit, struct rng *rng);

bool
image_has(const struct image *image, const struct image_fragment *fragment);

bool
image_is_durable_by_posix(const struct image *image, uint32_t number);

/** Compute image->names from image->has_metadata. */
void
image_names_make(struct image *image);

void
image_names_set(struct image_names *names, const char *path, uint64_t file);

void
image_names_clear(struct image_names *names);

/** Whether a power loss can tear it: it lies in several sectors. */
static inline bool
image_is_tearable(const struct image_fragment *fragment)
{
	return fragment->offset / IMAGE_SECTOR !=
		(fragment->offset + fragment->length - 1) / IMAGE_SECTOR;
}

/** Whether the page lies in the range of a sync. */
static inline bool
image_is_in_range(const struct image_page *page, const struct record_entry *sync)
{
	return page->number >= sync->offset / IMAGE_PAGE &&
		page->number <= (sync->offset + sync->length - 1) / IMAGE_PAGE;
}

/** Like realloc(), but aborts if memory runs out, because a test cannot continue. */
void *
image_grown(void *array, size_t size);

/** Like calloc(), but aborts if memory runs out. */
void *
image_zeros(size_t count, size_t size);

#endif /* CRASH_IMAGE_PARTS_H */
