/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Splits a recording into pages once, and then computes each state from the base:
 * - the syncs before the moment decide which changes are durable;
 * - the choice decides, for each page, how many of the other writes are present, and which
 *   metadata is;
 * - all these writes are executed again.
 *
 * States are independent, so any can be repeated alone. A state of 300 operations takes
 * some milliseconds, about as long as an engine takes to open it.
 */
#include "crash/image_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void *
image_grown(void *array, size_t size)
{
	array = realloc(array, size > 0 ? size : 1);
	if (array == NULL)
		abort();
	return array;
}

void *
image_zeros(size_t count, size_t size)
{
	void *array = calloc(count > 0 ? count : 1, size);
	if (array == NULL)
		abort();
	return array;
}

/* ---- pages ---- */

static size_t
slot_of(const struct image *image, uint64_t file, uint64_t number)
{
	size_t at = splitmix64_mix(file << 44 ^ number) & (image->slot_count - 1);
	for (;; at = (at + 1) & (image->slot_count - 1)) {
		uint32_t page = image->slots[at];
		if (page == IMAGE_NO_PAGE ||
			(image->pages[page].file == file &&
				image->pages[page].number == number))
			return at;
	}
}

uint32_t
image_page_find(const struct image *image, uint64_t file, uint64_t number)
{
	return image->slots[slot_of(image, file, number)];
}

static void
grow_slots(struct image *image)
{
	image->slot_count = image->slot_count * 2 + (image->slot_count == 0) * 1024;
	image->slots = image_grown(image->slots, image->slot_count * sizeof(*image->slots));
	memset(image->slots, 0xff, image->slot_count * sizeof(*image->slots));
	for (uint32_t i = 0; i < image->page_count; i++)
		image->slots[slot_of(image, image->pages[i].file, image->pages[i].number)] = i;
}

uint32_t
image_page_at(struct image *image, uint64_t file, uint64_t number)
{
	if (image->page_count * 2 >= image->slot_count)
		grow_slots(image);
	size_t slot = slot_of(image, file, number);
	if (image->slots[slot] != IMAGE_NO_PAGE)
		return image->slots[slot];
	if (image->page_count == image->page_room) {
		image->page_room = image->page_room * 2 + 256;
		image->pages = image_grown(
			image->pages, image->page_room * sizeof(struct image_page));
	}
	uint32_t page = (uint32_t)image->page_count++;
	image->pages[page] = (struct image_page){.file = (uint32_t)file,
		.number = number,
		.next = image->files[file].first,
		.now = image_grown(NULL, IMAGE_PAGE)};
	image->files[file].first = page;
	image->slots[slot] = page;
	return page;
}

/* ---- the recording ---- */

static void
add_fragment(
	struct image *image, uint32_t number, uint64_t at, uint64_t length, const uint8_t *data)
{
	const struct record_entry *entry = image->entries[number];
	struct image_file *file = &image->files[entry->file];
	uint32_t index = image_page_at(image, entry->file, at / IMAGE_PAGE);
	struct image_page *page = &image->pages[index];
	bool allocates = !page->has_data || at + length > file->full;
	page->has_data = true;
	file->full = at + length > file->full ? at + length : file->full;
	if (image->fragment_count == image->fragment_room) {
		image->fragment_room = image->fragment_room * 2 + 1024;
		image->fragments = image_grown(
			image->fragments, image->fragment_room * sizeof(struct image_fragment));
	}
	image->fragments[image->fragment_count++] = (struct image_fragment){.entry = number,
		.page = index,
		.offset = (uint32_t)(at % IMAGE_PAGE),
		.length = (uint32_t)length,
		.data = data,
		.allocates = allocates};
	image->allocates[number] |= allocates;
}

static void
add_write(struct image *image, uint32_t number)
{
	const struct record_entry *entry = image->entries[number];
	uint64_t at = entry->offset, left = entry->length;
	for (const uint8_t *data = record_data(entry); left > 0;) {
		uint64_t room = IMAGE_PAGE - at % IMAGE_PAGE;
		uint64_t length = left < room ? left : room;
		add_fragment(image, number, at, length, data);
		at += length;
		data += length;
		left -= length;
	}
}

static void
add_truncate(struct image *image, const struct record_entry *entry)
{
	struct image_file *file = &image->files[entry->file];
	for (uint32_t i = file->first; i != IMAGE_NO_PAGE; i = image->pages[i].next)
		if (image->pages[i].number * IMAGE_PAGE >= entry->offset)
			image->pages[i].has_data = false;
	file->full = entry->offset;
}

static bool
changes_file(const struct image *image, uint32_t number, uint64_t file)
{
	const struct record_entry *entry = image->entries[number];
	return entry->file == file &&
		(image_is_metadata(entry) ||
			(record_has_data(entry) && image->allocates[number]));
}

/** The entry below which metadata is durable when this sync has returned. */
static uint32_t
brought_by(const struct image *image, const struct record_entry *sync)
{
	const char *dir = record_path(sync);
	uint32_t number = (uint32_t)sync->covers;
	if (sync->kind == RECORD_SYNC_ALL)
		return number;
	for (; number > 0; number--) {
		const struct record_entry *entry = image->entries[number - 1];
		if (sync->kind == RECORD_SYNC && changes_file(image, number - 1, sync->file))
			break;
		if (sync->kind == RECORD_SYNC_DIR &&
			(image_changes_dir(entry, dir) ||
				(entry->kind == RECORD_MKDIR &&
					strcmp(record_path(entry), dir) == 0) ||
				(entry->kind == RECORD_RENAME &&
					strcmp(record_path2(entry), dir) == 0)))
			break;
	}
	return number;
}

static void
read_entries(struct image *image)
{
	for (uint64_t f = 0; f <= image->file_count; f++)
		image->files[f].full = image->files[f].base_size;
	for (uint32_t i = 0; i < image->count; i++) {
		const struct record_entry *entry = image->entries[i];
		if (record_has_data(entry))
			add_write(image, i);
		else if (entry->kind == RECORD_TRUNCATE)
			add_truncate(image, entry);
		else if (record_is_sync(entry))
			image->brings[i] = brought_by(image, entry);
	}
}

int
image_new(struct image **out, const struct record_log *log, const char *base)
{
	struct image *image = image_zeros(1, sizeof(*image));
	image->log = log;
	image->count = (uint32_t)log->count;
	image->entries = image_zeros(image->count, sizeof(*image->entries));
	image->brings = image_zeros(image->count, sizeof(*image->brings));
	image->allocates = image_zeros(image->count, sizeof(*image->allocates));
	image->has_metadata = image_zeros(image->count, sizeof(*image->has_metadata));
	const struct record_entry *entry = record_first(log);
	for (uint32_t i = 0; i < image->count; i++, entry = record_next(entry)) {
		image->entries[i] = entry;
		if (entry->file > image->file_count)
			image->file_count = entry->file;
	}
	image->files = image_zeros(image->file_count + 1, sizeof(*image->files));
	for (uint64_t f = 0; f <= image->file_count; f++)
		image->files[f].first = IMAGE_NO_PAGE;
	grow_slots(image);
	int rc = base != NULL ? image_read_base(image, base) : NB_OK;
	if (rc < 0) {
		image_delete(image);
		return rc;
	}
	read_entries(image);
	*out = image;
	return NB_OK;
}

void
image_delete(struct image *image)
{
	if (image == NULL)
		return;
	for (size_t i = 0; i < image->page_count; i++) {
		free(image->pages[i].base);
		free(image->pages[i].now);
	}
	image_names_clear(&image->base);
	image_names_clear(&image->names);
	free(image->files);
	free(image->slots);
	free(image->pages);
	free(image->fragments);
	free(image->has_metadata);
	free(image->allocates);
	free(image->brings);
	free(image->entries);
	free(image);
}

uint64_t
image_count(const struct image *image)
{
	return image->count;
}

const struct record_entry *
image_entry(const struct image *image, uint64_t number)
{
	return image->entries[number];
}

/* ---- the state ---- */

static void
begin_state(struct image *image)
{
	for (uint64_t f = 0; f <= image->file_count; f++) {
		struct image_file *file = &image->files[f];
		file->size = file->full = file->base_size;
		file->blocked = UINT64_MAX;
	}
	for (size_t i = 0; i < image->page_count; i++) {
		struct image_page *page = &image->pages[i];
		if (page->base != NULL)
			memcpy(page->now, page->base, IMAGE_PAGE);
		else
			memset(page->now, 0, IMAGE_PAGE);
	}
	image->pending = image->kept = image->torn = 0;
	image->metadata_pending = image->metadata_kept = 0;
}

static void
cut_file(struct image *image, struct image_file *file, uint64_t size)
{
	for (uint32_t i = file->first; i != IMAGE_NO_PAGE && size < file->size;
		i = image->pages[i].next) {
		uint64_t begin = image->pages[i].number * IMAGE_PAGE;
		uint64_t from = size > begin ? size - begin : 0;
		if (from < IMAGE_PAGE)
			memset(image->pages[i].now + from, 0, IMAGE_PAGE - from);
	}
	file->size = size;
}

static void
do_truncate(struct image *image, uint32_t number, uint32_t limit)
{
	const struct record_entry *entry = image->entries[number];
	struct image_file *file = &image->files[entry->file];
	uint64_t least = entry->offset < file->full ? entry->offset : file->full;
	if (image->has_metadata[number])
		cut_file(image, file, entry->offset);
	else if (number < limit && least < file->blocked)
		file->blocked = least;
	if (number < limit)
		file->full = entry->offset;
}

static void
put_bytes(struct image_page *page, struct image_file *file, uint32_t from, uint32_t to,
	const struct image_fragment *fragment)
{
	if (from >= to)
		return;
	memcpy(page->now + from, fragment->data + (from - fragment->offset), to - from);
	uint64_t end = page->number * IMAGE_PAGE + to;
	file->size = end > file->size ? end : file->size;
}

static void
do_write(struct image *image, const struct image_fragment *fragment, uint32_t limit)
{
	struct image_page *page = &image->pages[fragment->page];
	struct image_file *file = &image->files[page->file];
	uint32_t from = fragment->offset, to = from + fragment->length;
	uint64_t begin = page->number * IMAGE_PAGE;
	bool is_durable = fragment->entry < page->covers;
	if (fragment->entry < limit && begin + to > file->full)
		file->full = begin + to;
	if (!is_durable)
		image->pending += fragment->entry < limit;
	if (!image_has(image, fragment) || (!is_durable && begin + from >= file->blocked))
		return;
	image->kept += !is_durable;
	if (fragment->entry >= page->keep) {
		image->torn++;
		if (page->is_low)
			to = to < page->cut ? to : page->cut;
		else
			from = from > page->cut ? from : page->cut;
	}
	put_bytes(page, file, from, to, fragment);
}

/**
 * Choose the end of a file whose last data is lost: shorter, or with zeros. Zeros are
 * chosen more often, because every engine expects a shorter file.
 */
static void
end_files(struct image *image, struct rng *rng)
{
	for (uint64_t f = 1; f <= image->file_count; f++) {
		struct image_file *file = &image->files[f];
		bool has_zeros = rng_below(rng, 4) != 0;
		if (image->choice.kind > IMAGE_PART && has_zeros &&
			file->blocked == UINT64_MAX && file->full > file->size)
			file->size = file->full;
	}
}

static void
count_metadata(struct image *image, uint32_t durable, uint32_t limit)
{
	bool is_posix = image->choice.file_system == NB_CRASH_POSIX;
	for (uint32_t i = is_posix ? 0 : durable; i < limit; i++) {
		if (!image_is_metadata(image->entries[i]) ||
			(is_posix && image_is_durable_by_posix(image, i)))
			continue;
		image->metadata_pending++;
		image->metadata_kept += image->has_metadata[i];
	}
}

void
image_make(struct image *image, uint64_t done, const struct image_choice *choice)
{
	struct rng rng;
	rng_create(&rng, choice->seed ^ splitmix64_mix(done * IMAGE_KINDS + choice->kind));
	image->done = done < image->count ? (uint32_t)done : image->count;
	image->choice = *choice;
	bool has_flight = choice->kind != IMAGE_WHOLE && image->done < image->count;
	uint32_t limit = image->done + has_flight;
	uint32_t durable = image_find_durable(image);
	image_choose_data(image, limit, &rng);
	image_choose_metadata(image, durable, limit, &rng);
	begin_state(image);
	size_t next = 0;
	for (uint32_t i = 0; i < limit; i++) {
		for (; next < image->fragment_count && image->fragments[next].entry == i;
			next++)
			do_write(image, &image->fragments[next], limit);
		if (image->entries[i]->kind == RECORD_TRUNCATE)
			do_truncate(image, i, limit);
	}
	end_files(image, &rng);
	image_names_make(image);
	count_metadata(image, durable, limit);
}

/* ---- descriptions ---- */

static const char *const kind_names[RECORD_KINDS] = {[RECORD_BASE] = "the beginning",
	[RECORD_CREATE] = "creation of",
	[RECORD_WRITE] = "write to",
	[RECORD_MAPPED] = "stores into the mapping of",
	[RECORD_TRUNCATE] = "truncate of",
	[RECORD_SYNC] = "sync of",
	[RECORD_SYNC_DIR] = "sync of directory",
	[RECORD_SYNC_ALL] = "sync of all files",
	[RECORD_RENAME] = "rename of",
	[RECORD_UNLINK] = "unlink of",
	[RECORD_LINK] = "link to",
	[RECORD_MKDIR] = "mkdir",
	[RECORD_RMDIR] = "rmdir",
	[RECORD_POINT] = "return of an operation"};

/** The latest name of the file. */
static const char *
name_of(const struct image *image, const struct record_entry *entry)
{
	if (entry->path2_size > 0)
		return record_path2(entry);
	if (entry->path_size > 0 || entry->file == 0)
		return record_path(entry);
	for (uint32_t i = image->done < image->count ? image->done : image->count; i-- > 0;) {
		const struct record_entry *other = image->entries[i];
		if (other->file == entry->file &&
			(other->path_size > 0 || other->path2_size > 0))
			return name_of(image, other);
	}
	return "";
}

void
image_tell(const struct image *image, char *text, size_t size)
{
	static const char *const kinds[IMAGE_KINDS] = {"killed", "killed in a write",
		"nothing unsynced", "names and sizes alone", "data alone", "all but one page",
		"all but the first pages of a file", "all but the last pages of a file",
		"the last write alone", "in order", "at random", "with torn pages"};
	char at[CRASH_TEXT_SIZE] = "after the last call";
	if (image->done < image->count) {
		const struct record_entry *entry = image->entries[image->done];
		snprintf(at, sizeof(at), "in call %" PRIu32 " of %" PRIu32 ", %s %.200s",
			image->done, image->count, kind_names[entry->kind],
			name_of(image, entry));
	}
	size_t length = strlen(at);
	while (length > 0 && at[length - 1] == ' ')
		at[--length] = '\0';
	if (image->choice.kind <= IMAGE_PART)
		snprintf(text, size, "%s, %s", kinds[image->choice.kind], at);
	else
		snprintf(text, size,
			"power lost %s: of %" PRIu64 " unsynced page writes %" PRIu64
			" there (%s, %" PRIu64 " torn), of %" PRIu64
			" changes of names and sizes %" PRIu64,
			at, image->pending, image->kept, kinds[image->choice.kind], image->torn,
			image->metadata_pending, image->metadata_kept);
}
