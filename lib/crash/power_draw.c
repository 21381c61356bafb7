/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The states that are computed from a recording.
 *
 * A state is computed just before a sync returns or just after an operation
 * has returned. Everything that may be lost at an earlier moment may be lost there too, and
 * a promise applies there. The moments differ in value (image_stakes.c). An engine that
 * syncs each write has little pending at most of them. Uniform draws would hit the few at
 * which a record can be torn, or a log was truncated, once in 300 states. So each class of
 * moments has a share of the states, by the table `turns`. The states of a class are spread
 * evenly over its moments, and take in turn the kinds that are useful there. The share of a
 * class without moments goes to the others. One in ten states is at any moment, to cover
 * cases outside the classes.
 *
 * At `commit` and `periodic` one in four states is a kill. At the other levels all states
 * are kills, because these levels promise nothing about a power loss.
 */
#include "crash/power.h"

#include <stdlib.h>

#include "base/error.h"

/* ---- moments ---- */

bool
power_is_moment(const struct image *image, uint64_t done)
{
	if (done >= image_count(image))
		return true;
	uint32_t kind = image_entry(image, done)->kind;
	return kind != RECORD_MAPPED && kind != RECORD_BASE;
}

/** The classes of a moment with these stakes, as bits. */
static uint32_t
classes_of(const struct record_entry *entry, uint8_t stakes)
{
	uint32_t classes = 0;
	if (record_is_sync(entry) || entry->kind == RECORD_POINT)
		classes |= 1U << POWER_PROMISE;
	if ((stakes & IMAGE_STAKE_ANY) != 0)
		classes |= 1U << POWER_PENDING;
	if ((stakes & IMAGE_STAKE_ANY) != 0 && entry->kind == RECORD_POINT)
		classes |= 1U << POWER_LATE;
	if ((stakes & IMAGE_STAKE_PAGES) != 0)
		classes |= 1U << POWER_PAGES;
	if ((stakes & IMAGE_STAKE_NAMES) != 0)
		classes |= 1U << POWER_NAMES;
	if ((stakes & IMAGE_STAKE_PAIR) != 0)
		classes |= 1U << POWER_PAIR;
	return classes;
}

static void
add_moment(struct power_moments *moments, uint32_t classes, uint64_t done)
{
	for (uint32_t c = 0; c < POWER_CLASSES; c++)
		if ((classes & 1U << c) != 0)
			moments->of[c].done[moments->of[c].count++] = done;
}

/** `stakes` has an element for each entry. */
static void
add_moments(struct power_moments *moments, const struct image *image, bool is_coarse,
	const uint8_t *stakes)
{
	uint64_t count = image_count(image);
	for (uint64_t i = 0; i <= count; i++) {
		if (!power_is_moment(image, i))
			continue;
		const struct record_entry *entry = i < count ? image_entry(image, i) : NULL;
		uint32_t classes = 1U << POWER_ANY;
		if (entry != NULL)
			classes |= classes_of(entry, stakes[i]);
		/* the contents of large mappings are known only at points */
		if (!is_coarse || entry == NULL || entry->kind == RECORD_POINT)
			classes |= 1U << POWER_KILL;
		add_moment(moments, classes, i);
	}
}

int
power_moments_create(struct power_moments *moments, const struct image *image, bool is_coarse)
{
	uint64_t count = image_count(image);
	uint8_t *stakes = malloc(count + 1);
	bool is_made = stakes != NULL;
	*moments = (struct power_moments){0};
	for (uint32_t c = 0; c < POWER_CLASSES; c++) {
		moments->of[c].done = malloc((count + 1) * sizeof(uint64_t));
		is_made = is_made && moments->of[c].done != NULL;
	}
	if (is_made) {
		image_find_stakes(image, stakes);
		add_moments(moments, image, is_coarse, stakes);
	}
	free(stakes);
	if (is_made)
		return NB_OK;
	power_moments_destroy(moments);
	return error_set(NB_FAIL, "out of memory");
}

void
power_moments_destroy(struct power_moments *moments)
{
	for (uint32_t c = 0; c < POWER_CLASSES; c++)
		free(moments->of[c].done);
	*moments = (struct power_moments){0};
}

/* ---- states ---- */

enum { KINDS_OF_CLASS = 8 };

/* The state without unsynced data reveals a missing sync most often. */
static const uint8_t kinds[POWER_CLASSES][KINDS_OF_CLASS] = {
	[POWER_PROMISE] = {IMAGE_NONE, IMAGE_NAMES, IMAGE_NONE, IMAGE_DATA, IMAGE_NONE,
		IMAGE_RANDOM, IMAGE_NONE, IMAGE_TORN},
	[POWER_PENDING] = {IMAGE_NONE, IMAGE_ALL_BUT_ONE, IMAGE_NONE, IMAGE_PREFIX, IMAGE_NONE,
		IMAGE_LAST, IMAGE_RANDOM, IMAGE_TORN},
	[POWER_LATE] = {IMAGE_NONE, IMAGE_RANDOM, IMAGE_NONE, IMAGE_NAMES, IMAGE_NONE,
		IMAGE_DATA, IMAGE_PREFIX, IMAGE_ALL_BUT_ONE},
	[POWER_PAGES] = {IMAGE_TORN, IMAGE_END_LOST, IMAGE_TORN, IMAGE_HEAD_LOST, IMAGE_TORN,
		IMAGE_ALL_BUT_ONE, IMAGE_END_LOST, IMAGE_RANDOM},
	[POWER_NAMES] = {IMAGE_NAMES, IMAGE_NONE, IMAGE_DATA, IMAGE_PREFIX, IMAGE_NAMES,
		IMAGE_END_LOST, IMAGE_NONE, IMAGE_RANDOM},
	[POWER_PAIR] = {IMAGE_NONE, IMAGE_LAST, IMAGE_DATA, IMAGE_NAMES, IMAGE_RANDOM,
		IMAGE_NONE, IMAGE_PREFIX, IMAGE_HEAD_LOST},
	[POWER_ANY] = {IMAGE_NONE, IMAGE_RANDOM, IMAGE_TORN, IMAGE_PREFIX, IMAGE_NONE,
		IMAGE_LAST, IMAGE_ALL_BUT_ONE, IMAGE_NAMES},
	[POWER_KILL] = {IMAGE_WHOLE, IMAGE_PART, IMAGE_WHOLE, IMAGE_WHOLE, IMAGE_WHOLE,
		IMAGE_PART, IMAGE_WHOLE, IMAGE_WHOLE}};

/* The classes of consecutive states of a power loss. */
static const uint8_t turns[] = {POWER_PAGES, POWER_NAMES, POWER_PROMISE, POWER_LATE,
	POWER_PAGES, POWER_PENDING, POWER_NAMES, POWER_PAIR, POWER_PAGES, POWER_ANY};

enum { TURNS = sizeof(turns) };

/** The turns of classes that have moments. Returns their number. */
static uint32_t
find_turns(uint32_t left[TURNS], const struct power_moments *moments)
{
	uint32_t count = 0;
	for (uint32_t t = 0; t < TURNS; t++)
		if (moments->of[turns[t]].count > 0)
			left[count++] = turns[t];
	return count;
}

/** The number of states of the class among the first `states`. */
static uint64_t
states_of(const uint32_t *left, uint32_t count, uint32_t class, uint64_t states)
{
	uint64_t before = 0, all = 0;
	for (uint32_t t = 0; t < count; t++) {
		before += t < states % count && left[t] == class;
		all += left[t] == class;
	}
	return states / count * all + before;
}

/**
 * Draw state `rank` of the `total` of a class. If the class has more moments than states,
 * draw in the state's share of the moments; else use each moment in turn, with another kind
 * each time.
 */
static void
draw_of(struct power_draw *out, const struct power_moments *moments, uint32_t class,
	uint64_t rank, uint64_t total, struct rng *rng)
{
	const struct power_list *list = &moments->of[class];
	uint64_t at = rank % list->count, pass = rank / list->count;
	uint64_t kind = (at + pass + moments->turn) % KINDS_OF_CLASS;
	if (total < list->count) {
		uint64_t begin = rank * list->count / total;
		uint64_t end = (rank + 1) * list->count / total;
		at = begin + rng_below(rng, end - begin);
	}
	*out = (struct power_draw){
		.done = list->done[at], .kind = kinds[class][kind], .seed = rng_next(rng)};
}

void
power_draw(struct power_draw *out, const struct power_moments *moments, uint64_t i,
	uint64_t total, bool has_losses, struct rng *rng)
{
	enum { KILL_OF = 4 };
	uint64_t kills = has_losses ? total / KILL_OF : total;
	if (!has_losses || i % KILL_OF == KILL_OF - 1) {
		draw_of(out, moments, POWER_KILL, has_losses ? i / KILL_OF : i, kills, rng);
		return;
	}
	uint32_t left[TURNS], count = find_turns(left, moments);
	uint64_t lossy = i - i / KILL_OF;
	uint32_t class = left[lossy % count];
	draw_of(out, moments, class, states_of(left, count, class, lossy),
		states_of(left, count, class, total - kills), rng);
}
