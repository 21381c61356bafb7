/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Computes facts about the keys before a run: the hash that identifies the stream, and the
 * number of duplicates. A put of a duplicate key overwrites, and a delete of one finds nothing.
 *
 * Duplicates are counted by 64-bit hashes in a table of bounded size. The keys are split by
 * their hash into parts that fit, with one pass over the file for each part. If there are more
 * parts than passes, only some parts are counted and the result is scaled, as an estimate. A
 * key that occurs very often in its part changes the number of keys counted; then the number of
 * distinct keys is scaled instead. So memory does not grow with the number of keys.
 *
 * A run takes one pass, on a small sample if the keys do not fit. A run of an engine that does
 * nothing takes only 40 ns for each key, and eight passes took three times as long. Hash
 * collisions make the count wrong: for 10^8 keys, one occurs with the probability 3 in 10^4
 * (n^2 / 2^65).
 */
#include "workload/keys.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/progress.h"

enum {
	SLOTS_MAX = 1 << 21,          /* 16 MiB, reached at 0.7 million keys */
	PART_MAX = SLOTS_MAX / 8 * 5, /* expected keys of a part: a table 5/8 full */
	SAMPLE_MAX = 1 << 17, /* if a single pass cannot count all keys: a table of 2 MiB */
	FULL_NUM = 7,
	FULL_DEN = 8, /* a fuller table ends its pass */
	CHUNK_BYTES = 4 << 20
};

struct survey {
	const struct keys *keys;
	uint64_t *slots; /* hashes; 0 is an empty slot */
	uint64_t slot_mask, slots_used;
	uint64_t parts, passes;
	uint64_t looked; /* keys counted in the parts so far */
	uint64_t duplicates;
	bool is_cut; /* a table became too full */
	struct progress progress;
};

static uint64_t
slots_for(uint64_t count)
{
	uint64_t slots = 1024;
	while (slots < SLOTS_MAX && slots / 8 * 5 < count)
		slots *= 2;
	return slots;
}

static inline void
count_hash(struct survey *survey, uint64_t hash)
{
	for (uint64_t at = hash & survey->slot_mask;; at = (at + 1) & survey->slot_mask) {
		if (survey->slots[at] == hash) {
			survey->duplicates++;
			return;
		}
		if (survey->slots[at] == 0) {
			survey->slots[at] = hash;
			survey->slots_used++;
			return;
		}
	}
}

static void
count_chunk(struct survey *survey, uint64_t begin, uint64_t end, uint64_t part)
{
	uint64_t limit = (survey->slot_mask + 1) / FULL_DEN * FULL_NUM;
	for (uint64_t i = begin; i < end; i++) {
		struct nb_slice key = keys_get(survey->keys, i);
		uint64_t hash = XXH3_64bits(key.data, key.size);
		if ((hash >> 32) * survey->parts >> 32 != part)
			continue;
		if (survey->slots_used == limit) {
			survey->is_cut = true;
			return;
		}
		survey->looked++;
		count_hash(survey, hash != 0 ? hash : 1);
	}
}

/**
 * One pass over the file: counts the keys of one part; the first pass also hashes all bytes.
 */
static int
pass(struct survey *survey, uint64_t part, XXH3_state_t *state)
{
	const struct keys *keys = survey->keys;
	uint64_t in_chunk = keys->key_size < CHUNK_BYTES ? CHUNK_BYTES / keys->key_size : 1;
	memset(survey->slots, 0, (survey->slot_mask + 1) * sizeof(*survey->slots));
	survey->slots_used = 0;
	for (uint64_t i = 0; i < keys->count; i += in_chunk) {
		uint64_t end = keys->count - i < in_chunk ? keys->count : i + in_chunk;
		if (part == 0)
			XXH3_64bits_update(
				state, keys_get(keys, i).data, (end - i) * keys->key_size);
		count_chunk(survey, i, end, part);
		keys_forget(keys, i, end);
		int rc = progress_report(
			&survey->progress, (part * keys->count + end) / survey->passes);
		if (rc != NB_OK)
			return rc;
	}
	return NB_OK;
}

/**
 * Estimate the duplicates among all keys from some parts. A part is a sample of the distinct
 * keys. It is a sample of all keys only if none of them occurs very often. The number of keys
 * counted shows that: otherwise it deviates only by chance, at most 6 standard deviations.
 */
static uint64_t
scale_up(const struct survey *survey)
{
	double all = (double)survey->keys->count;
	double scale = (double)survey->parts / (double)survey->passes;
	double looked = (double)survey->looked, duplicates = (double)survey->duplicates;
	bool is_even = fabs(looked * scale - all) <= 6 * sqrt(all * scale);
	double scaled = is_even ? duplicates * scale : all - (looked - duplicates) * scale;
	return scaled > 0 ? (uint64_t)(scaled < all ? scaled : all - 1) : 0;
}

int
keys_survey(const struct keys *keys, struct keys_facts *facts, uint32_t passes_max,
	nb_progress_fn progress, void *progress_arg)
{
	uint64_t slots = slots_for(keys->count);
	uint64_t parts = (keys->count + PART_MAX - 1) / PART_MAX;
	if (passes_max == KEYS_QUICK && parts > 1) {
		slots = slots_for(SAMPLE_MAX);
		parts = (keys->count + SAMPLE_MAX - 1) / SAMPLE_MAX;
	}
	struct survey survey = {.keys = keys,
		.slot_mask = slots - 1,
		.parts = parts,
		.passes = parts < passes_max ? parts : passes_max,
		.progress = progress_begin(
			progress, progress_arg, "looking at the keys", keys->count)};
	survey.slots = malloc(slots * sizeof(*survey.slots));
	XXH3_state_t *state = XXH3_createState();
	int rc = NB_OK;
	if (survey.slots == NULL || state == NULL) {
		rc = error_memory();
		goto free_state;
	}
	XXH3_64bits_reset(state);
	for (uint64_t part = 0; part < survey.passes && rc == NB_OK; part++)
		rc = pass(&survey, part, state);
	facts->hash = XXH3_64bits_digest(state);
	facts->is_estimate = survey.passes < parts || survey.is_cut;
	facts->duplicates = scale_up(&survey);
	facts->looked = survey.looked;
free_state:
	XXH3_freeState(state);
	free(survey.slots);
	return rc;
}
