/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks the moments of a recording at which a power loss could take much. At most moments
 * little is pending, because an engine has just synced its log. Defects that are hard to
 * find need more: a record in two sectors, or a log that is truncated before the snapshot
 * is durable. One pass over the recording marks such moments, and power_draw.c draws states
 * there.
 *
 * A mark only guides the search; image_choose.c alone decides which states are legal. The
 * pass follows the journalled file system, and its marks are used for NB_CRASH_POSIX as
 * well.
 */
#include "crash/image_parts.h"

#include <stdlib.h>

struct walk {
	const struct image *image;
	uint32_t *pending; /* fragments that are not durable, oldest first */
	size_t count;
	uint32_t *first_page; /* the first pending page found of a file, valid if */
	uint32_t *looked_at;  /* this is the number of the current search */
	uint32_t looks;
	uint32_t changed;   /* 1 + the last entry that changed names or sizes */
	uint32_t removed;   /* 1 + the last entry that removed or replaced data */
	uint32_t durable;   /* such changes below this entry are durable */
	bool is_after_sync; /* the last promise was a sync */
	size_t next;        /* fragment */
};

static bool
removes(const struct record_entry *entry)
{
	return entry->kind == RECORD_RENAME || entry->kind == RECORD_UNLINK ||
		entry->kind == RECORD_TRUNCATE;
}

/** Whether the sync makes the fragment durable. */
static bool
covers(const struct image *image, const struct record_entry *sync,
	const struct image_fragment *fragment)
{
	const struct image_page *page = &image->pages[fragment->page];
	if (fragment->entry >= sync->covers || sync->kind == RECORD_SYNC_DIR)
		return false;
	if (sync->kind == RECORD_SYNC_ALL)
		return true;
	return page->file == sync->file && (sync->length == 0 || image_is_in_range(page, sync));
}

static void
do_sync(struct walk *walk, uint32_t number)
{
	const struct image *image = walk->image;
	size_t left = 0;
	for (size_t i = 0; i < walk->count; i++)
		if (!covers(image, image->entries[number], &image->fragments[walk->pending[i]]))
			walk->pending[left++] = walk->pending[i];
	walk->count = left;
	if (image->brings[number] > walk->durable)
		walk->durable = image->brings[number];
}

static void
do_entry(struct walk *walk, uint32_t number)
{
	const struct image *image = walk->image;
	const struct record_entry *entry = image->entries[number];
	while (walk->next < image->fragment_count &&
		image->fragments[walk->next].entry == number)
		walk->pending[walk->count++] = (uint32_t)walk->next++;
	if (image_is_metadata(entry))
		walk->changed = number + 1;
	if (removes(entry))
		walk->removed = number + 1;
	if (record_is_sync(entry))
		do_sync(walk, number);
	if (record_is_sync(entry) || entry->kind == RECORD_POINT)
		walk->is_after_sync = entry->kind != RECORD_POINT;
}

/** Whether a file has several pending pages, or a single page that can be torn. */
static bool
has_pages(struct walk *walk)
{
	walk->looks++;
	for (size_t i = 0; i < walk->count; i++) {
		const struct image_fragment *fragment =
			&walk->image->fragments[walk->pending[i]];
		uint32_t file = walk->image->pages[fragment->page].file;
		if (image_is_tearable(fragment))
			return true;
		if (walk->looked_at[file] == walk->looks &&
			walk->first_page[file] != fragment->page)
			return true;
		walk->looked_at[file] = walk->looks;
		walk->first_page[file] = fragment->page;
	}
	return false;
}

static uint8_t
find_stakes(struct walk *walk, const struct record_entry *in_flight)
{
	uint32_t oldest = walk->count > 0 ? walk->image->fragments[walk->pending[0]].entry
					  : UINT32_MAX;
	bool is_changed = walk->changed > walk->durable;
	uint8_t stakes = 0;
	if (walk->count > 0 || is_changed)
		stakes |= IMAGE_STAKE_ANY;
	if (has_pages(walk))
		stakes |= IMAGE_STAKE_PAGES;
	if (is_changed || oldest < walk->removed)
		stakes |= IMAGE_STAKE_NAMES;
	if (stakes != 0 && walk->is_after_sync && record_is_sync(in_flight))
		stakes |= IMAGE_STAKE_PAIR;
	return stakes;
}

void
image_find_stakes(const struct image *image, uint8_t *stakes)
{
	struct walk walk = {.image = image,
		.pending = image_grown(NULL, image->fragment_count * sizeof(uint32_t)),
		.first_page = image_zeros(image->file_count + 1, sizeof(uint32_t)),
		.looked_at = image_zeros(image->file_count + 1, sizeof(uint32_t))};
	for (uint32_t i = 0; i < image->count; i++) {
		const struct record_entry *entry = image->entries[i];
		bool is_promise = record_is_sync(entry) || entry->kind == RECORD_POINT;
		stakes[i] = is_promise ? find_stakes(&walk, entry) : 0;
		do_entry(&walk, i);
	}
	free(walk.pending);
	free(walk.first_page);
	free(walk.looked_at);
}
