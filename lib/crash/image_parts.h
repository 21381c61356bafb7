/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_IMAGE_PARTS_H
#define CRASH_IMAGE_PARTS_H
/**
 * An image from inside.
 *
 *     image.c        a recording cut into pages, and the state that is made of it
 *     image_choose.c what is durable, and what of the rest is there
 *     image_stakes.c at which moments much can be lost
 *     image_names.c  which names a state has
 *     image_files.c  files of the disk: the base, a state written, a state compared
 */
#include <limits.h>

#include "base/rng.h"
#include "crash/image.h"

enum { IMAGE_PAGE = 4096, IMAGE_SECTOR = 512 };

#define IMAGE_NO_PAGE UINT32_MAX

/** What a write has done to one page. */
struct image_fragment {
	uint32_t entry, page;
	uint32_t offset, length; /* within the page */
	const uint8_t *data;
	bool allocates; /* a block, or a size: the journal has to do with it */
};

struct image_page {
	uint64_t number; /* within the file */
	uint32_t file;
	uint32_t next; /* of the same file */
	uint8_t *base; /* NULL: zeros */
	bool has_data; /* while the recording is read */
	/* of the state */
	uint32_t covers;  /* writes of entries below it are durable, */
	uint32_t keep;    /* and those below this one are there as well */
	uint32_t torn;    /* and from there to below this one in part, at sectors below or from
	                   * `cut` on; 0: none */
	uint32_t options; /* while one is drawn */
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
	uint64_t full;      /* the size if nothing were lost */
	uint64_t blocked;   /* from here on pending data has no blocks: a truncate is lost */
	uint64_t low, high; /* while one is drawn: the first and the last pending page */
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
	uint32_t *brings; /* of a sync: metadata below that entry is durable by it */
	bool *allocates;  /* of an entry */
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
	bool *has_metadata; /* of an entry: it has happened */
	uint32_t done;
	struct image_choice choice;
	uint64_t pending, kept, torn, metadata_pending, metadata_kept; /* how many */
};

/** The page, made if it is not there. */
uint32_t
image_page_at(struct image *image, uint64_t file, uint64_t number);

/** IMAGE_NO_PAGE: it was never written. */
uint32_t
image_page_find(const struct image *image, uint64_t file, uint64_t number);

/** Read the directory `path` into image->base and its pages. */
NB_MUST_CHECK int
image_read_base(struct image *image, const char *path);

/** What becomes of `path` when `from`, which may be a directory that it is in, becomes `to`.
 * False: nothing. */
bool
image_move(char path[PATH_MAX], const char *from, const char *to);

/** The parent directory of `path` is `dir`. */
bool
image_is_in(const char *path, const char *dir);

/** A change of a name or of a size. */
static inline bool
image_is_metadata(const struct record_entry *entry)
{
	return entry->kind == RECORD_CREATE || entry->kind == RECORD_TRUNCATE ||
		(entry->kind >= RECORD_RENAME && entry->kind <= RECORD_RMDIR);
}

/** Whether the entry has changed the directory `dir`. */
bool
image_changes_dir(const struct record_entry *entry, const char *dir);

/** Of each file and page, which writes are durable. Returns below which entry metadata is. */
uint32_t
image_find_durable(struct image *image);

/** Which pending writes are there, of entries below `limit`. */
void
image_choose_data(struct image *image, uint32_t limit, struct rng *rng);

/** And which metadata, which may take some of the writes away again. */
void
image_choose_metadata(struct image *image, uint32_t durable, uint32_t limit, struct rng *rng);

bool
image_has(const struct image *image, const struct image_fragment *fragment);

bool
image_is_durable_by_posix(const struct image *image, uint32_t number);

/** image->names of what image->has_metadata says. */
void
image_names_make(struct image *image);

void
image_names_set(struct image_names *names, const char *path, uint64_t file);

void
image_names_clear(struct image_names *names);

/** Whether a power loss can leave a part of it: it lies in several sectors. */
static inline bool
image_is_tearable(const struct image_fragment *fragment)
{
	return fragment->offset / IMAGE_SECTOR !=
		(fragment->offset + fragment->length - 1) / IMAGE_SECTOR;
}

/** Whether the page lies in the range of a sync that has one. */
static inline bool
image_is_in_range(const struct image_page *page, const struct record_entry *sync)
{
	return page->number >= sync->offset / IMAGE_PAGE &&
		page->number <= (sync->offset + sync->length - 1) / IMAGE_PAGE;
}

/** realloc() or abort(): whoever has no memory left for this cannot test either. */
void *
image_grown(void *array, size_t size);

/** The same of calloc(). */
void *
image_zeros(size_t count, size_t size);

#endif /* CRASH_IMAGE_PARTS_H */
