/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replay and images. A line's list of stores is short, and lists are few: those of the stores
 * between two fences of one operation. So the lists are arrays, found by the line's number.
 *
 * image_write() first compares the files with the durable content, page by page. It has to,
 * because the last user of an image has stored into it, libpmemobj unseen. Then it stores the
 * lines that the crash has let through. This takes a millisecond for 8 MiB, about as long as
 * libpmemobj takes to open them.
 */
#include "image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "footers.h"

enum {
	WORD = 8,
	EXHAUSTIVE = 32, /* make all combinations of cuts up to this number */
	TORN = 4,        /* additional random images, if stores can be torn */
	SINGLES = 16,    /* lines that are missing alone, or there alone */
	BY_LOT = 16,
	PAGE = 4096
};

static void *
grown(void *array, size_t size)
{
	array = realloc(array, size);
	if (array == NULL && size != 0)
		abort();
	return array;
}

/* --- replay --- */

void
replay_begin(struct replay *replay, const struct record *record)
{
	uint64_t most = record->first_bytes;
	for (size_t i = record->first_parts; i < record->parts_count; i++)
		most += record->parts[i].bytes;
	*replay = (struct replay){
		.record = record, .bytes = record->first_bytes, .parts = record->first_parts};
	replay->durable = calloc(most, 1);
	replay->dirty_of_line = calloc(most / RECORD_LINE, sizeof(uint32_t));
	if (replay->durable == NULL || replay->dirty_of_line == NULL)
		abort();
	memcpy(replay->durable, record->first, record->first_bytes);
}

void
replay_end(struct replay *replay)
{
	for (size_t i = 0; i < replay->dirty_room; i++)
		free(replay->dirty[i].stores);
	free(replay->dirty);
	free(replay->dirty_of_line);
	free(replay->durable);
	*replay = (struct replay){0};
}

static struct dirty_line *
dirty_new(struct replay *replay, uint32_t line)
{
	if (replay->dirty_count == replay->dirty_room) {
		size_t room = replay->dirty_room * 2 + 64;
		replay->dirty = grown(replay->dirty, room * sizeof(*replay->dirty));
		memset(replay->dirty + replay->dirty_room, 0,
			(room - replay->dirty_room) * sizeof(*replay->dirty));
		replay->dirty_room = room;
	}
	struct dirty_line *dirty = &replay->dirty[replay->dirty_count++];
	dirty->line = line;
	dirty->count = 0;
	memset(dirty->flushed, 0, sizeof(dirty->flushed));
	replay->dirty_of_line[line] = (uint32_t)replay->dirty_count;
	return dirty;
}

/* Remove entry i. The last entry takes its place; its array of stores is kept for another. */
static void
dirty_remove(struct replay *replay, size_t i)
{
	size_t last = --replay->dirty_count;
	struct dirty_line gone = replay->dirty[i];

	replay->dirty_of_line[gone.line] = 0;
	if (i == last)
		return;
	replay->dirty[i] = replay->dirty[last];
	replay->dirty[last] = gone;
	replay->dirty_of_line[replay->dirty[i].line] = (uint32_t)i + 1;
}

static void
store_apply(const struct record *record, const struct event *store, uint8_t *line)
{
	memcpy(line + store->at, record->bytes + store->what, store->size);
}

static void
replay_store(struct replay *replay, uint32_t event)
{
	uint32_t line = replay->record->events[event].line;
	uint32_t at = replay->dirty_of_line[line];
	struct dirty_line *dirty = at != 0 ? &replay->dirty[at - 1] : dirty_new(replay, line);

	if (dirty->count == dirty->room) {
		dirty->room = dirty->room * 2 + 8;
		dirty->stores = grown(dirty->stores, dirty->room * sizeof(*dirty->stores));
	}
	dirty->stores[dirty->count++] = event;
}

static void
replay_flush(struct replay *replay, const struct event *event)
{
	uint32_t at = replay->dirty_of_line[event->line];
	if (at != 0)
		replay->dirty[at - 1].flushed[event->thread] = replay->dirty[at - 1].count;
}

/* Make the first `count` stores of the line durable. */
static void
dirty_settle(struct replay *replay, struct dirty_line *dirty, uint32_t count)
{
	uint8_t *line = replay->durable + (uint64_t)dirty->line * RECORD_LINE;

	for (uint32_t i = 0; i < count; i++)
		store_apply(replay->record, &replay->record->events[dirty->stores[i]], line);
	dirty->count -= count;
	memmove(dirty->stores, dirty->stores + count, dirty->count * sizeof(*dirty->stores));
	for (int t = 0; t < RECORD_THREADS; t++)
		dirty->flushed[t] = dirty->flushed[t] > count ? dirty->flushed[t] - count : 0;
}

static void
replay_fence(struct replay *replay, uint8_t thread)
{
	for (size_t i = replay->dirty_count; i-- > 0;) {
		struct dirty_line *dirty = &replay->dirty[i];
		if (dirty->flushed[thread] == 0)
			continue;
		dirty_settle(replay, dirty, dirty->flushed[thread]);
		if (dirty->count == 0)
			dirty_remove(replay, i);
	}
}

/* A fence takes effect at the next call. */
const struct event *
replay_next(struct replay *replay)
{
	const struct event *events = replay->record->events;

	if (replay->next > 0 && events[replay->next - 1].kind == EVENT_FENCE)
		replay_fence(replay, events[replay->next - 1].thread);
	if (replay->next == replay->record->count)
		return NULL;
	const struct event *event = &events[replay->next];
	if (event->kind == EVENT_STORE)
		replay_store(replay, (uint32_t)replay->next);
	else if (event->kind == EVENT_FLUSH)
		replay_flush(replay, event);
	else if (event->kind == EVENT_PART)
		replay->bytes += replay->record->parts[replay->parts++].bytes;
	replay->next++;
	return event;
}

/* --- which image --- */

static const struct event *
dirty_store(const struct replay *replay, const struct dirty_line *dirty, uint32_t i)
{
	return &replay->record->events[dirty->stores[i]];
}

/* A mask of the line's words that the store writes to. */
static uint8_t
store_words(const struct event *store)
{
	unsigned first = store->at / WORD, last = (store->at + store->size - 1u) / WORD;
	return (uint8_t)((0xffu << first) & (0xffu >> (7 - last)));
}

static bool
can_be_torn(const struct event *store)
{
	uint8_t words = store_words(store);
	return !store->is_whole && (words & (words - 1)) != 0;
}

static bool
any_can_be_torn(const struct replay *replay)
{
	for (size_t i = 0; i < replay->dirty_count; i++)
		for (uint32_t j = 0; j < replay->dirty[i].count; j++)
			if (can_be_torn(dirty_store(replay, &replay->dirty[i], j)))
				return true;
	return false;
}

/* The number of ways to cut all lists, or EXHAUSTIVE + 1 if there are more. */
static uint32_t
combinations(const struct replay *replay)
{
	uint32_t ways = 1;
	for (size_t i = 0; i < replay->dirty_count && ways <= EXHAUSTIVE; i++)
		ways *= replay->dirty[i].count < EXHAUSTIVE ? replay->dirty[i].count + 1
							    : EXHAUSTIVE + 1;
	return ways <= EXHAUSTIVE ? ways : EXHAUSTIVE + 1;
}

static uint32_t
singles(const struct replay *replay)
{
	return replay->dirty_count < SINGLES ? (uint32_t)replay->dirty_count : SINGLES;
}

uint32_t
crash_count(const struct replay *replay)
{
	uint32_t ways = combinations(replay);
	if (ways <= EXHAUSTIVE)
		return ways + (any_can_be_torn(replay) ? TORN : 0);
	return 2 + 2 * singles(replay) + BY_LOT;
}

static void
cut_none(const struct replay *replay, struct crash *crash)
{
	if (crash->room < replay->dirty_count) {
		crash->room = replay->dirty_count * 2;
		crash->cuts = grown(crash->cuts, crash->room * sizeof(*crash->cuts));
	}
	crash->count = replay->dirty_count;
	if (crash->count > 0)
		memset(crash->cuts, 0, crash->count * sizeof(*crash->cuts));
}

void
crash_choose_all(const struct replay *replay, struct crash *crash)
{
	cut_none(replay, crash);
	for (size_t i = 0; i < crash->count; i++)
		crash->cuts[i].stores = replay->dirty[i].count;
}

/* Decode `number`, which has one digit for each line, into cuts. */
static void
cut_by_number(const struct replay *replay, struct crash *crash, uint32_t number)
{
	for (size_t i = 0; i < crash->count; i++) {
		uint32_t ways = replay->dirty[i].count + 1;
		crash->cuts[i].stores = number % ways;
		number /= ways;
	}
}

static void
cut_by_lot(const struct replay *replay, struct crash *crash, struct rng *rng)
{
	for (size_t i = 0; i < crash->count; i++) {
		const struct dirty_line *dirty = &replay->dirty[i];
		struct cut *cut = &crash->cuts[i];
		switch (rng_next(rng) % 4) {
		case 0:
			break;
		case 1:
			cut->stores = dirty->count;
			break;
		default:
			cut->stores = (uint32_t)(rng_next(rng) % dirty->count);
			const struct event *torn = dirty_store(replay, dirty, cut->stores);
			if (can_be_torn(torn))
				cut->words = store_words(torn) & (uint8_t)rng_next(rng);
		}
	}
}

static void
cut_single(const struct replay *replay, struct crash *crash, size_t line, bool is_there)
{
	if (!is_there)
		crash_choose_all(replay, crash);
	crash->cuts[line].stores = is_there ? replay->dirty[line].count : 0;
}

void
crash_choose(const struct replay *replay, struct crash *crash, uint32_t k, uint64_t seed)
{
	uint32_t ways = combinations(replay), lines = singles(replay);
	struct rng rng;

	rng_create(&rng, splitmix64_mix(seed + replay->next) + k);
	cut_none(replay, crash);
	if (k == 1)
		crash_choose_all(replay, crash);
	if (k <= 1)
		return;
	if (ways <= EXHAUSTIVE && k < ways) {
		cut_by_number(replay, crash, k - 1);
		return;
	}
	k -= ways <= EXHAUSTIVE ? ways : 2;
	if (ways <= EXHAUSTIVE || k >= 2 * lines) {
		cut_by_lot(replay, crash, &rng);
		return;
	}
	size_t line = replay->dirty_count > SINGLES ? rng_next(&rng) % replay->dirty_count
						    : k % lines;
	cut_single(replay, crash, line, k >= lines);
}

void
crash_free(struct crash *crash)
{
	free(crash->cuts);
	*crash = (struct crash){0};
}

/* Print the file and the offset in it, as addr2line expects them. */
static void
site_print(const void *site, FILE *to)
{
	Dl_info info;

	if (dladdr(site, &info) == 0)
		fprintf(to, ", from %p", site);
	else
		fprintf(to, ", from %s +0x%zx", info.dli_fname,
			(size_t)((const char *)site - (const char *)info.dli_fbase));
}

void
crash_print(const struct replay *replay, const struct crash *crash, FILE *to)
{
	for (size_t i = 0; i < crash->count; i++) {
		const struct dirty_line *dirty = &replay->dirty[i];
		const struct cut *cut = &crash->cuts[i];
		fprintf(to, "  line 0x%llx: %u of %u stores\n",
			(unsigned long long)dirty->line * RECORD_LINE, cut->stores,
			dirty->count);
		for (uint32_t j = 0; j < dirty->count; j++) {
			const struct event *store = dirty_store(replay, dirty, j);
			bool is_torn = j == cut->stores && cut->words != 0;
			fprintf(to, "    %s %u bytes at +%u%s",
				j < cut->stores   ? "there:  "
					: is_torn ? "torn:   "
						  : "missing:",
				store->size, store->at, store->is_whole ? " (seen later)" : "");
			site_print(store->site, to);
			fputc('\n', to);
		}
	}
}

/* --- the files --- */

static void
line_make(const struct replay *replay, size_t i, const struct cut *cut, uint8_t *line)
{
	const struct dirty_line *dirty = &replay->dirty[i];
	uint8_t whole[RECORD_LINE];

	memcpy(line, replay->durable + (uint64_t)dirty->line * RECORD_LINE, RECORD_LINE);
	for (uint32_t j = 0; j < cut->stores; j++)
		store_apply(replay->record, dirty_store(replay, dirty, j), line);
	if (cut->words == 0)
		return;
	memcpy(whole, line, RECORD_LINE);
	store_apply(replay->record, dirty_store(replay, dirty, cut->stores), whole);
	for (int word = 0; word < RECORD_LINE / WORD; word++)
		if ((cut->words & (1u << word)) != 0)
			memcpy(line + word * WORD, whole + word * WORD, WORD);
}

static void
part_path(char path[4096], const struct record *record, size_t i)
{
	snprintf(path, 4096, "%s/%s", record->directory, record->parts[i].name);
}

static bool
part_open(struct image *image, size_t i)
{
	char path[4096];
	part_path(path, image->record, i);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	uint64_t bytes = image->record->parts[i].bytes;
	void *at = MAP_FAILED;
	if (ftruncate(fd, (off_t)bytes) == 0)
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return false;
	image->parts[i].at = at;
	image->parts[i].bytes = bytes;
	image->count = i + 1;
	return true;
}

static void
part_close(struct image *image)
{
	image->count--;
	munmap(image->parts[image->count].at, image->parts[image->count].bytes);
}

/* Make the number of files equal to that at the crash. The last user may have added some. */
static bool
parts_settle(struct image *image, const struct replay *replay)
{
	struct record_part found[RECORD_PARTS];
	char path[4096];
	int count = record_parts(image->record->directory, found);

	for (int i = count; i-- > (int)replay->parts;) {
		if (image->count > (size_t)i)
			part_close(image);
		snprintf(path, sizeof(path), "%s/%s", image->record->directory, found[i].name);
		if (unlink(path) != 0)
			return false;
	}
	while (image->count < replay->parts)
		if (!part_open(image, image->count))
			return false;
	return count >= 0;
}

static void
part_restore(uint8_t *at, const uint8_t *durable, uint64_t bytes)
{
	for (uint64_t page = 0; page < bytes; page += PAGE)
		if (memcmp(at + page, durable + page, PAGE) != 0)
			memcpy(at + page, durable + page, PAGE);
}

static uint8_t *
line_in(struct image *image, uint32_t line)
{
	uint64_t at = (uint64_t)line * RECORD_LINE;
	size_t i = 0;
	while (at >= image->parts[i].bytes)
		at -= image->parts[i++].bytes;
	return image->parts[i].at + at;
}

bool
image_write(struct image *image, const struct replay *replay, const struct crash *crash)
{
	uint64_t at = 0;

	if (image->record != replay->record) {
		image_end(image);
		image->record = replay->record;
	}
	if (!parts_settle(image, replay))
		return false;
	for (size_t i = 0; i < image->count; i++) {
		part_restore(image->parts[i].at, replay->durable + at, image->parts[i].bytes);
		at += image->parts[i].bytes;
	}
	for (size_t i = 0; i < crash->count; i++)
		line_make(replay, i, &crash->cuts[i], line_in(image, replay->dirty[i].line));
	if (image->is_mended && footers_mend(image->parts[0].at, image->parts[0].bytes))
		image->mended_count++;
	return true;
}

void
image_end(struct image *image)
{
	while (image->count > 0)
		part_close(image);
	image->record = NULL;
}
