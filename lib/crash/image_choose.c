/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a recording is there after a crash: which writes and metadata are durable, and
 * which of the others a choice lets through. The model is in image.h.
 */
#include "crash/image_parts.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- what is durable ---- */

static void
raise(uint32_t *covers, uint64_t to)
{
	if (to > *covers)
		*covers = (uint32_t)to;
}

/** A sync of some pages only. */
static void
cover_range(struct image *image, const struct record_entry *sync)
{
	uint64_t first = sync->offset / IMAGE_PAGE;
	uint64_t last = (sync->offset + sync->length - 1) / IMAGE_PAGE;
	for (uint32_t i = image->files[sync->file].first; i != IMAGE_NO_PAGE;
		i = image->pages[i].next)
		if (image->pages[i].number >= first && image->pages[i].number <= last)
			raise(&image->pages[i].covers, sync->covers);
}

/** Of each file and page, which writes are durable. Returns below which entry metadata is. */
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
		page->torn = UINT32_MAX;
		page->options = 1;
	}
	return metadata;
}

/* ---- which writes are there ---- */

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

/** The number of a pending write, by lot; `limit` if there is none. */
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

/** Of each page each number of its pending writes is as likely as any other. */
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

static void
tear(struct image *image, uint32_t limit, struct rng *rng)
{
	enum { ONE_IN = 4 };
	size_t first = any_pending(image, limit, rng);
	for (size_t i = 0; i < image->fragment_count; i++) {
		const struct image_fragment *fragment = &image->fragments[i];
		struct image_page *page = &image->pages[fragment->page];
		if (!is_pending(image, fragment, limit) ||
			(i != first && rng_below(rng, ONE_IN) != 0))
			continue;
		page->keep = page->torn = fragment->entry;
		page->cut = IMAGE_SECTOR * (1 + (uint32_t)rng_below(rng, 7));
		page->is_low = rng_below(rng, 2) == 0;
	}
}

/** Of the write that is in flight, its first pages. */
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
	default: /* IMAGE_NONE */
		break;
	}
}

/* ---- which metadata is there ---- */

bool
image_has(const struct image *image, const struct image_fragment *fragment)
{
	return fragment->entry < image->pages[fragment->page].keep ||
		fragment->entry == image->pages[fragment->page].torn;
}

/** The first change of metadata from entry `from` on; `limit`: none. */
static uint32_t
next_metadata(const struct image *image, uint32_t from, uint32_t limit)
{
	while (from < limit && !image_is_metadata(image->entries[from]))
		from++;
	return from < limit ? from : limit;
}

/**
 * Blocks that were allocated are there by the journal too, and not before what is older. So
 * either what was kept takes along the metadata before it, or what is newer than the first
 * change that is lost is lost as well. Returns below which entry metadata is there.
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
		page->keep = fragment->entry;
		page->torn = UINT32_MAX;
	}
	return cut;
}

static void
choose_journalled(struct image *image, uint32_t durable, uint32_t limit, struct rng *rng)
{
	uint32_t cut = durable;
	uint64_t lot = rng_below(rng, 3);
	if (lot == 1)
		cut = limit;
	else if (lot == 2 && limit > durable)
		cut += (uint32_t)rng_below(rng, limit - durable + 1);
	cut = agree(image, cut, limit, rng);
	for (uint32_t i = 0; i < image->count; i++)
		image->has_metadata[i] = i < cut && image_is_metadata(image->entries[i]);
}

/** A sync of the directory that `path` is in, or of all, that has returned covers the entry. */
static bool
is_dir_synced(const struct image *image, uint32_t number, const char *path)
{
	char at[PATH_MAX]; /* its directory may get another name */
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
	uint64_t lot = rng_below(rng, 3); /* of the pending ones none, all, some */
	for (uint32_t i = 0; i < image->count; i++)
		image->has_metadata[i] = i < limit && image_is_metadata(image->entries[i]) &&
			(image_is_durable_by_posix(image, i) || lot == 1 ||
				(lot == 2 && rng_below(rng, 2) == 0));
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
