/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses the changes that are present after a crash: all durable ones, and some of the
 * others. The model is in image.h.
 */
#include "crash/image_parts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- the durable changes ---- */

static void
raise(uint32_t *covers, uint64_t to)
{
	if (to > *covers)
		*covers = (uint32_t)to;
}

/** Apply a sync of some pages only. */
static void
cover_range(struct image *image, const struct record_entry *sync)
{
	for (uint32_t i = image->files[sync->file].first; i != IMAGE_NO_PAGE;
		i = image->pages[i].next)
		if (image_is_in_range(&image->pages[i], sync))
			raise(&image->pages[i].covers, sync->covers);
}

uint32_t
image_find_durable(struct image *image)
{
	uint32_t all = 0, metadata = 0;
	for (uint64_t f = 0; f <= image->file_count; f++)
		image->files[f].covers = 0;
	for (size_t i = 0; i < image->page_count; i++)
		image->pages[i].covers = 0;
	for (uint32_t i = 0; i < image->done; i++) {
		const struct record_entry *entry = image->entries[i];
		if (!record_is_sync(entry))
			continue;
		raise(&metadata, image->brings[i]);
		if (entry->kind == RECORD_SYNC_ALL)
			raise(&all, entry->covers);
		else if (entry->kind == RECORD_SYNC && entry->length == 0)
			raise(&image->files[entry->file].covers, entry->covers);
		else if (entry->kind == RECORD_SYNC)
			cover_range(image, entry);
	}
	for (size_t i = 0; i < image->page_count; i++) {
		struct image_page *page = &image->pages[i];
		raise(&page->covers, all);
		raise(&page->covers, image->files[page->file].covers);
		page->keep = page->covers;
		page->torn = 0;
		page->options = 1;
	}
	return metadata;
}

/* ---- the pending writes that are present ---- */

static bool
is_pending(const struct image *image, const struct image_fragment *fragment, uint32_t limit)
{
	return fragment->entry < limit &&
		fragment->entry >= image->pages[fragment->page].covers;
}

static void
keep_below(struct image *image, uint32_t bound)
{
	for (size_t i = 0; i < image->page_count; i++)
		raise(&image->pages[i].keep, bound);
}

/** The index of a random pending write; fragment_count: none. */
static size_t
any_pending(struct image *image, uint32_t limit, struct rng *rng)
{
	size_t found = image->fragment_count, seen = 0;
	for (size_t i = 0; i < image->fragment_count; i++)
		if (is_pending(image, &image->fragments[i], limit) &&
			rng_below(rng, ++seen) == 0)
			found = i;
	return found;
}

static void
keep_all_but_one(struct image *image, uint32_t limit, struct rng *rng)
{
	keep_below(image, limit);
	size_t lost = any_pending(image, limit, rng);
	if (lost < image->fragment_count)
		image->pages[image->fragments[lost].page].keep = image->fragments[lost].entry;
}

/**
 * Set the first and the last pending page of each file. Returns the number of a random file
 * with several; 0: none.
 */
static uint64_t
any_file_of_pages(struct image *image, uint32_t limit, struct rng *rng)
{
	uint64_t found = 0, seen = 0;
	for (uint64_t f = 0; f <= image->file_count; f++) {
		image->files[f].low = UINT64_MAX;
		image->files[f].high = 0;
	}
	for (size_t i = 0; i < image->fragment_count; i++) {
		const struct image_page *page = &image->pages[image->fragments[i].page];
		struct image_file *file = &image->files[page->file];
		if (!is_pending(image, &image->fragments[i], limit))
			continue;
		file->low = page->number < file->low ? page->number : file->low;
		file->high = page->number > file->high ? page->number : file->high;
	}
	for (uint64_t f = 1; f <= image->file_count; f++)
		if (image->files[f].low < image->files[f].high && rng_below(rng, ++seen) == 0)
			found = f;
	return found;
}

/**
 * Lose the first or the last pending pages of one file. In half of the cases it is one
 * page: in most logs, the head or the end of the last write. Otherwise several.
 */
static void
lose_pages(struct image *image, uint32_t limit, bool is_end, struct rng *rng)
{
	uint64_t number = any_file_of_pages(image, limit, rng);
	if (number == 0) {
		keep_all_but_one(image, limit, rng);
		return;
	}
	const struct image_file *file = &image->files[number];
	uint64_t bound = is_end ? file->high : file->low + 1;
	if (rng_below(rng, 2) == 0)
		bound = file->low + 1 + rng_below(rng, file->high - file->low);
	keep_below(image, limit);
	for (uint32_t i = file->first; i != IMAGE_NO_PAGE; i = image->pages[i].next)
		if ((image->pages[i].number >= bound) == is_end)
			image->pages[i].keep = image->pages[i].covers;
}

static void
keep_last(struct image *image, uint32_t limit)
{
	uint32_t last = UINT32_MAX;
	for (size_t i = image->fragment_count; i-- > 0;) {
		const struct image_fragment *fragment = &image->fragments[i];
		if (last != UINT32_MAX && fragment->entry != last)
			return;
		if (!is_pending(image, fragment, limit))
			continue;
		last = fragment->entry;
		image->pages[fragment->page].keep = limit;
	}
}

static void
keep_prefix(struct image *image, uint32_t limit, struct rng *rng)
{
	size_t first_lost = any_pending(image, limit, rng);
	keep_below(image,
		first_lost < image->fragment_count ? image->fragments[first_lost].entry
						   : limit);
}

/** For each page, choose each number of its pending writes with equal probability. */
static void
keep_random(struct image *image, uint32_t limit, struct rng *rng)
{
	for (size_t i = 0; i < image->fragment_count; i++) {
		const struct image_fragment *fragment = &image->fragments[i];
		struct image_page *page = &image->pages[fragment->page];
		if (is_pending(image, fragment, limit) && rng_below(rng, ++page->options) == 0)
			page->keep = fragment->entry + 1;
	}
}

/**
 * Tear the page between two sectors of the write. The earlier pending writes of the page
 * are present, or reach the disk together with this one and are torn with it.
 */
static void
tear_page(struct image *image, const struct image_fragment *fragment, struct rng *rng)
{
	struct image_page *page = &image->pages[fragment->page];
	uint32_t first = fragment->offset / IMAGE_SECTOR;
	uint32_t last = (fragment->offset + fragment->length - 1) / IMAGE_SECTOR;
	page->keep = rng_below(rng, 2) == 0 ? fragment->entry : page->covers;
	page->torn = fragment->entry + 1;
	page->cut = IMAGE_SECTOR * (first + 1 + (uint32_t)rng_below(rng, last - first));
	page->is_low = rng_below(rng, 2) == 0;
}

static void
tear(struct image *image, uint32_t limit, struct rng *rng)
{
	enum { ONE_IN = 4 };
	size_t first = image->fragment_count, seen = 0;
	for (size_t i = 0; i < image->fragment_count; i++)
		if (is_pending(image, &image->fragments[i], limit) &&
			image_is_tearable(&image->fragments[i]) && rng_below(rng, ++seen) == 0)
			first = i;
	for (size_t i = 0; i < image->fragment_count; i++) {
		const struct image_fragment *fragment = &image->fragments[i];
		if (is_pending(image, fragment, limit) && image_is_tearable(fragment) &&
			(i == first || rng_below(rng, ONE_IN) == 0))
			tear_page(image, fragment, rng);
	}
}

/** Keep the first pages of the write in flight. */
static void
keep_part(struct image *image, struct rng *rng)
{
	size_t count = 0, first = image->fragment_count;
	for (size_t i = 0; i < image->fragment_count; i++) {
		if (image->fragments[i].entry != image->done)
			continue;
		first = count++ == 0 ? i : first;
	}
	size_t there = count > 0 ? (size_t)rng_below(rng, count) + 1 : 0;
	for (size_t i = first; i < first + there; i++)
		image->pages[image->fragments[i].page].keep = image->done + 1;
}

void
image_choose_data(struct image *image, uint32_t limit, struct rng *rng)
{
	switch (image->choice.kind) {
	case IMAGE_WHOLE:
		keep_below(image, image->done);
		break;
	case IMAGE_PART:
		keep_below(image, image->done);
		keep_part(image, rng);
		break;
	case IMAGE_ALL_BUT_ONE:
		keep_all_but_one(image, limit, rng);
		break;
	case IMAGE_HEAD_LOST:
	case IMAGE_END_LOST:
		lose_pages(image, limit, image->choice.kind == IMAGE_END_LOST, rng);
		break;
	case IMAGE_DATA:
		keep_below(image, limit);
		break;
	case IMAGE_LAST:
		keep_last(image, limit);
		break;
	case IMAGE_PREFIX:
		keep_prefix(image, limit, rng);
		break;
	case IMAGE_RANDOM:
		keep_random(image, limit, rng);
		break;
	case IMAGE_TORN:
		if (rng_below(rng, 2) == 0)
			keep_random(image, limit, rng);
		else
			keep_below(image, limit);
		tear(image, limit, rng);
		break;
	default: /* IMAGE_NONE, IMAGE_NAMES */
		break;
	}
}

/* ---- the metadata that is present ---- */

bool
image_has(const struct image *image, const struct image_fragment *fragment)
{
	return fragment->entry < image->pages[fragment->page].keep ||
		fragment->entry < image->pages[fragment->page].torn;
}

/** The first metadata change from entry `from` on; `limit`: none. */
static uint32_t
next_metadata(const struct image *image, uint32_t from, uint32_t limit)
{
	while (from < limit && !image_is_metadata(image->entries[from]))
		from++;
	return from < limit ? from : limit;
}

/**
 * Make data and metadata consistent: the journal also records allocated blocks, in order.
 * Either the kept data brings the metadata before it, or data newer than the first lost
 * change is lost as well. Returns the entry below which metadata is present.
 */
static uint32_t
agree(struct image *image, uint32_t cut, uint32_t limit, struct rng *rng)
{
	uint32_t lost = next_metadata(image, cut, limit);
	bool is_data_taken = rng_below(rng, 2) == 0;
	for (size_t i = 0; i < image->fragment_count; i++) {
		const struct image_fragment *fragment = &image->fragments[i];
		struct image_page *page = &image->pages[fragment->page];
		if (!fragment->allocates || fragment->entry < lost ||
			fragment->entry < page->covers || !image_has(image, fragment))
			continue;
		if (is_data_taken) {
			cut = fragment->entry > cut ? fragment->entry : cut;
			continue;
		}
		page->keep = page->keep < fragment->entry ? page->keep : fragment->entry;
		page->torn = 0;
	}
	return cut;
}

/** The amount of pending metadata that is present. */
enum { LOT_NONE, LOT_ALL, LOT_SOME, LOTS };

static uint64_t
lot_of_metadata(const struct image *image, struct rng *rng)
{
	if (image->choice.kind == IMAGE_NAMES)
		return LOT_ALL;
	return image->choice.kind == IMAGE_DATA ? LOT_NONE : rng_below(rng, LOTS);
}

/**
 * Choose each number of changes from `durable` on with equal probability. Returns the entry
 * below which they are present.
 */
static uint32_t
any_cut(const struct image *image, uint32_t durable, uint32_t limit, struct rng *rng)
{
	uint32_t cut = durable, seen = 1;
	for (uint32_t i = next_metadata(image, durable, limit); i < limit;
		i = next_metadata(image, i + 1, limit))
		if (rng_below(rng, ++seen) == 0)
			cut = i + 1;
	return cut;
}

static void
choose_journalled(struct image *image, uint32_t durable, uint32_t limit, struct rng *rng)
{
	uint32_t cut = durable;
	uint64_t lot = lot_of_metadata(image, rng);
	if (lot == LOT_ALL)
		cut = limit;
	else if (lot == LOT_SOME)
		cut = any_cut(image, durable, limit, rng);
	cut = agree(image, cut, limit, rng);
	for (uint32_t i = 0; i < image->count; i++)
		image->has_metadata[i] = i < cut && image_is_metadata(image->entries[i]);
}

/** Whether a sync of the parent directory of `path`, or of everything, covers the entry. */
static bool
is_dir_synced(const struct image *image, uint32_t number, const char *path)
{
	char at[PATH_MAX]; /* the parent directory may have been renamed */
	snprintf(at, sizeof(at), "%s", path);
	for (uint32_t i = number + 1; i < image->done; i++) {
		const struct record_entry *entry = image->entries[i];
		if (entry->kind == RECORD_RENAME && entry->file == 0)
			image_move(at, record_path(entry), record_path2(entry));
		if (record_is_sync(entry) && entry->covers > number &&
			(entry->kind == RECORD_SYNC_ALL ||
				(entry->kind == RECORD_SYNC_DIR &&
					image_is_in(at, record_path(entry)))))
			return true;
	}
	return false;
}

static bool
is_size_synced(const struct image *image, uint32_t number, uint64_t file)
{
	for (uint32_t i = number + 1; i < image->done; i++) {
		const struct record_entry *sync = image->entries[i];
		if (record_is_sync(sync) && sync->covers > number &&
			(sync->kind == RECORD_SYNC_ALL ||
				(sync->kind == RECORD_SYNC && sync->file == file)))
			return true;
	}
	return false;
}

bool
image_is_durable_by_posix(const struct image *image, uint32_t number)
{
	const struct record_entry *entry = image->entries[number];
	if (entry->kind == RECORD_TRUNCATE)
		return is_size_synced(image, number, entry->file);
	return (entry->path_size == 0 || is_dir_synced(image, number, record_path(entry))) &&
		(entry->path2_size == 0 || is_dir_synced(image, number, record_path2(entry)));
}

static void
choose_posix(struct image *image, uint32_t limit, struct rng *rng)
{
	uint64_t lot = lot_of_metadata(image, rng);
	for (uint32_t i = 0; i < image->count; i++)
		image->has_metadata[i] = i < limit && image_is_metadata(image->entries[i]) &&
			(image_is_durable_by_posix(image, i) || lot == LOT_ALL ||
				(lot == LOT_SOME && rng_below(rng, 2) == 0));
}

void
image_choose_metadata(struct image *image, uint32_t durable, uint32_t limit, struct rng *rng)
{
	if (image->choice.kind == IMAGE_WHOLE || image->choice.kind == IMAGE_PART)
		for (uint32_t i = 0; i < image->count; i++)
			image->has_metadata[i] = i < image->done &&
				image_is_metadata(image->entries[i]);
	else if (image->choice.file_system == NB_CRASH_POSIX)
		choose_posix(image, limit, rng);
	else
		choose_journalled(image, durable, limit, rng);
}
