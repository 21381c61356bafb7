/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree by itself, one session at a time: it answers as a sorted array does, in
 * every layout; and what it costs, refuses and gives back.
 */
#include "fptree_rig.h"

#include <stdlib.h>

#include "scratch.h"

enum { KEY_MAX = 40, KEYS = 700, HUGE = 100 << 10, WORDY = 8 };

/* --- keys that are likely to be mistaken for one another --- */

struct word {
	uint8_t bytes[KEY_MAX];
	size_t size;
};

static int
compare_words(const void *a, const void *b)
{
	const struct word *x = a, *y = b;
	int order = memcmp(x->bytes, y->bytes, x->size < y->size ? x->size : y->size);
	return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

enum kind { ANY, ANNOUNCED, PREFIX, TRAILING, ZEROS, ONES, RESERVED, SHARED, KINDS };

/* `others`: those that were made before, `count` of them. */
static struct word
make_word(uint64_t *random, enum kind kind, size_t announced, const struct word *others,
	size_t count)
{
	const struct word *other = &others[rig_random(random, count + 1)];
	struct word word = {.size = 1 + rig_random(random, KEY_MAX)};

	if (count != 0 && other == &others[count])
		other--;
	for (size_t i = 0; i < word.size; i++)
		word.bytes[i] = (uint8_t)rig_random(random, 256);
	switch (kind) {
	case ANNOUNCED:
		word.size = announced;
		break;
	case PREFIX: /* of another, or the other way round */
		if (count != 0)
			memcpy(word.bytes, other->bytes,
				word.size < other->size ? word.size : other->size);
		break;
	case TRAILING:
		if (count != 0)
			memcpy(word.bytes, other->bytes, other->size);
		if (count != 0 && word.size > other->size)
			memset(word.bytes + other->size, 0, word.size - other->size);
		break;
	case ZEROS:
		memset(word.bytes, 0, word.size);
		break;
	case ONES:
		memset(word.bytes, 0xff, word.size);
		break;
	case RESERVED: /* of the words of a leaf */
		word.size = 1 + rig_random(random, 12);
		word.bytes[0] = 0xf8;
		word.bytes[1] = (uint8_t)(0xf0 + rig_random(random, 16));
		memset(word.bytes + 2, 0, rig_random(random, 8));
		break;
	case SHARED: /* the first eight bytes, and some more */
		memcpy(word.bytes, "shared, and more", 8 + rig_random(random, 9));
		word.size = word.size < 8 ? 8 : word.size;
		break;
	default:
		break;
	}
	return word;
}

/* Sorted, none twice; how many. */
static size_t
make_words(struct word *words, size_t announced, uint64_t *random)
{
	size_t count = 0, kept = 1;
	const struct word zero = {.size = WORDY};

	words[count++] = zero; /* what an empty slot looks like */
	while (count < KEYS) {
		enum kind kind = rig_random(random, KINDS);
		if (kind == ANY && rig_random(random, 2) == 0)
			kind = ANNOUNCED;
		words[count] = make_word(random, kind, announced, words, count);
		count++;
	}
	qsort(words, count, sizeof(*words), compare_words);
	for (size_t i = 1; i < count; i++)
		if (compare_words(&words[i], &words[kept - 1]) != 0)
			words[kept++] = words[i];
	return kept;
}

/* --- the tree beside a sorted array --- */

struct known {
	bool is_there;
	uint64_t mark;
	size_t size;
};

struct model {
	struct rig rig;
	struct tree_session *session;
	uint64_t random;
	struct word words[KEYS];
	struct known known[KEYS];
	size_t count;
	int64_t records;
	uint64_t next_mark;
	bool mixes_verbs;
	const struct tree_verbs *best;
	uint8_t value[HUGE], expected[HUGE];
};

static struct nb_slice
key_at(const struct model *model, size_t i)
{
	return slice_of(model->words[i].bytes, model->words[i].size);
}

static size_t
value_size(struct model *model)
{
	uint64_t *random = &model->random;
	size_t announced = model->rig.args.value_size;

	switch (rig_random(random, 8)) {
	case 0:
		return rig_random(random, 5000);
	case 1:
		return rig_random(random, 128) == 0 ? HUGE : rig_random(random, 12);
	case 2:
		return rig_random(random, 130);
	default:
		return announced != 0 ? announced : WORDY;
	}
}

static void
is_known(struct model *model, size_t i, struct nb_slice value)
{
	const struct known *known = &model->known[i];

	ck_assert_uint_eq(value.size, known->size);
	rig_fill(model->expected, known->size, known->mark);
	ck_assert(memcmp(value.data, model->expected, known->size) == 0);
}

static void
model_write(struct model *model, size_t i, bool is_insert)
{
	struct known *known = &model->known[i];
	struct nb_slice value = slice_of(model->value, value_size(model));
	uint64_t mark = ++model->next_mark * 0x9e3779b97f4a7c15ull;

	rig_fill(model->value, value.size, mark);
	if (is_insert) {
		int rc = tree_insert(model->session, key_at(model, i), value);
		ck_assert_int_eq(rc, known->is_there ? NB_EXISTS : NB_OK);
		if (known->is_there)
			return;
	} else {
		ck_assert_int_eq(tree_put(model->session, key_at(model, i), value), NB_OK);
	}
	model->records += !known->is_there;
	*known = (struct known){true, mark, value.size};
}

static void
model_del(struct model *model, size_t i)
{
	int rc = tree_del(model->session, key_at(model, i));

	ck_assert_int_eq(rc, model->known[i].is_there ? NB_OK : NB_NOT_FOUND);
	model->records -= model->known[i].is_there;
	model->known[i].is_there = false;
}

static void
model_get(struct model *model, size_t i)
{
	struct nb_slice value;
	int rc = tree_get(model->session, key_at(model, i), &value);

	ck_assert_int_eq(rc, model->known[i].is_there ? NB_OK : NB_NOT_FOUND);
	if (rc != NB_OK)
		return;
	is_known(model, i, value);
	tree_release(model->session);
}

static void
model_multi_get(struct model *model)
{
	enum { MOST = 40 };
	size_t at[MOST], count = 1 + rig_random(&model->random, MOST);
	struct nb_slice keys[MOST], values[MOST];
	int32_t answers[MOST];

	for (size_t i = 0; i < count; i++) {
		at[i] = rig_random(&model->random, model->count);
		keys[i] = key_at(model, at[i]);
	}
	ck_assert_int_eq(tree_multi_get(model->session, keys, count, values, answers), NB_OK);
	for (size_t i = 0; i < count; i++) {
		ck_assert_int_eq(
			answers[i], model->known[at[i]].is_there ? NB_OK : NB_NOT_FOUND);
		if (answers[i] == NB_OK)
			is_known(model, at[i], values[i]);
	}
	tree_release(model->session);
}

/* The next key that is there, from `at` on; -1: none. */
static long
next_there(const struct model *model, long at, int step)
{
	while (at >= 0 && at < (long)model->count && !model->known[at].is_there)
		at += step;
	return at < (long)model->count ? at : -1;
}

/* From `from`, which need not be there; of size 0: all. At most `limit` records. */
static void
model_scan(struct model *model, const struct word *from, bool is_backward, size_t limit)
{
	int step = is_backward ? -1 : 1;
	long at = is_backward ? (long)model->count - 1 : 0;
	struct nb_scan_args args = {.size = sizeof(args),
		.flags = is_backward ? NB_SCAN_BACKWARD : 0,
		.from = slice_of(from->bytes, from->size)};
	struct nb_slice key, value;

	while (from->size != 0 && at >= 0 && at < (long)model->count &&
		compare_words(&model->words[at], from) * step < 0)
		at += step;
	ck_assert_int_eq(tree_scan_open(model->session, &args), NB_OK);
	for (size_t told = 0; told < limit; told++) {
		at = next_there(model, at, step);
		int rc = tree_scan_next(model->session, &key, &value);
		ck_assert_int_eq(rc, at >= 0 ? NB_OK : NB_NOT_FOUND);
		if (rc != NB_OK)
			break;
		ck_assert_uint_eq(key.size, model->words[at].size);
		ck_assert(memcmp(key.data, model->words[at].bytes, key.size) == 0);
		is_known(model, (size_t)at, value);
		at += step;
	}
	ck_assert_int_eq(tree_scan_close(model->session), NB_OK);
}

static void
model_scan_somewhere(struct model *model)
{
	uint64_t *random = &model->random;
	struct word from = make_word(
		random, rig_random(random, KINDS), WORDY, model->words, model->count);

	if (rig_random(random, 2) == 0)
		from = model->words[rig_random(random, model->count)];
	model_scan(model, &from, rig_random(random, 2) == 0, rig_random(random, 40));
}

static void
model_scan_all(struct model *model)
{
	const struct word none = {.size = 0};

	model_scan(model, &none, false, KEYS + 1);
	model_scan(model, &none, true, KEYS + 1);
}

/* The tree first grows, then shrinks to nearly nothing, and so on. */
static void
model_step(struct model *model, bool is_growing)
{
	size_t i = rig_random(&model->random, model->count);
	unsigned dice = (unsigned)rig_random(&model->random, 100);

	if (model->mixes_verbs)
		model->rig.tree->verbs = dice % 2 == 0 ? model->best : &tree_verbs_plain;
	if (dice < 20)
		model_get(model, i);
	else if (dice < 22)
		model_scan_somewhere(model);
	else if (dice < 25)
		model_multi_get(model);
	else if (dice < 36)
		model_write(model, i, true);
	else if (dice < (is_growing ? 90 : 42))
		model_write(model, i, false);
	else
		model_del(model, i);
}

static void
model_check(struct model *model)
{
	model_scan_all(model);
	rig_check(&model->rig, model->records);
}

static void
model_reopen(struct model *model)
{
	struct tree_stats stats;

	rig_end_session(model->session);
	rig_reopen(&model->rig);
	model->session = rig_session(&model->rig, 0);
	model->best = model->rig.tree->verbs;
	tree_stats(model->rig.tree, &stats);
	ck_assert_int_eq((int64_t)stats.recovered, model->records);
	ck_assert_uint_eq(stats.repaired, 0);
	model_check(model);
}

static void
model_run(const struct tree_args *args, uint64_t salt, bool mixes_verbs)
{
	struct model *model = calloc(1, sizeof(*model));
	const size_t steps = 900;

	ck_assert_ptr_nonnull(model);
	model->rig = (struct rig){.path = ".", .args = *args};
	model->random = rig_seed(salt);
	model->mixes_verbs = mixes_verbs;
	model->count = make_words(
		model->words, args->key_size != 0 ? args->key_size : WORDY, &model->random);
	rig_open(&model->rig);
	model->best = model->rig.tree->verbs;
	model->session = rig_session(&model->rig, 0);
	for (unsigned phase = 0; phase < 4; phase++) {
		for (size_t step = 0; step < steps; step++) {
			model_step(model, phase % 2 == 0);
			if (step % (steps / 3) == 0)
				model_check(model);
		}
		model_reopen(model);
	}
	for (size_t i = 0; i < model->count; i++)
		model_get(model, i);
	rig_end_session(model->session);
	rig_close(&model->rig);
	free(model);
}

/* Every size of leaves and inner nodes that is special. */
static void
model_layouts(uint64_t key, uint64_t value, uint32_t inline_bytes, bool mixes_verbs)
{
	static const uint32_t slots[] = {4, 7, 55}, fanouts[] = {4, 5, 64};

	for (size_t i = 0; i < 9; i += UNIT_STEP) {
		struct tree_args args = {.key_size = key,
			.value_size = value,
			.leaf_slots = slots[i / 3],
			.fanout = fanouts[i % 3],
			.inline_bytes = inline_bytes};
		char name[32];

		snprintf(name, sizeof(name), "%u-%u", args.leaf_slots, args.fanout);
		scratch_fresh(name);
		model_run(&args, key << 16 ^ value << 8 ^ i, mixes_verbs);
	}
}

#define MODEL_TEST(name, key, value, inline_bytes) \
	TEST(answers_as_a_sorted_array_does_##name) \
	{ \
		scratch_enter(); \
		model_layouts(key, value, inline_bytes, false); \
		scratch_leave(); \
	}

MODEL_TEST(for_8_and_8, 8, 8, 0)
MODEL_TEST(for_4_and_8, 4, 8, 0)
MODEL_TEST(for_8_and_3, 8, 3, 0)
MODEL_TEST(for_1_and_1, 1, 1, 0)
MODEL_TEST(for_16_and_8, 16, 8, 0)
MODEL_TEST(for_16_and_16, 16, 16, 0)
MODEL_TEST(for_16_and_100, 16, 100, 0)
MODEL_TEST(for_40_and_400, 40, 400, 0)
MODEL_TEST(for_unknown_sizes, 0, 0, 0)
MODEL_TEST(with_all_out_of_line, 16, 100, 16)

/* Each step by either: what one has written the other finds, in the same place. */
TEST(verbs_for_any_processor_and_for_wide_ones_are_the_same)
{
	scratch_enter();
	model_layouts(8, 8, 0, true);
	scratch_leave();
	scratch_enter();
	model_layouts(16, 100, 0, true);
	scratch_leave();
}

/* --- space --- */

/* Big-endian, so in the order of the numbers. */
static struct nb_slice
number_key(uint8_t *room, uint64_t number, size_t size)
{
	memset(room, 0, size);
	for (size_t i = 0; i < WORDY; i++)
		room[size - 1 - i] = (uint8_t)(number >> 8 * i);
	return slice_of(room, size);
}

static uint64_t
scattered(uint64_t i)
{
	return i * 0x9e3779b97f4a7c15ull;
}

static void
put_number(struct tree_session *session, const struct tree_args *args, uint64_t number)
{
	uint8_t key[KEY_MAX], value[128];

	rig_fill(value, args->value_size, number);
	int rc = tree_insert(session, number_key(key, number, args->key_size),
		slice_of(value, args->value_size));
	ck_assert_msg(rc == NB_OK, "%s", rig_failure);
}

static struct tree_stats
stats_of(struct rig *rig)
{
	struct tree_stats stats;
	tree_stats(rig->tree, &stats);
	return stats;
}

static uint64_t
percent_full(struct rig *rig)
{
	struct tree_stats stats = stats_of(rig);
	return stats.records * 100 / (stats.leaves * rig->pool->root->layout.leaf_slots);
}

static void
fill_in_order(uint64_t key, uint64_t value, uint32_t slots, int step, const char *name)
{
	const uint64_t count = 20000;
	struct rig rig = {.path = ".",
		.args = {.key_size = key, .value_size = value, .leaf_slots = slots}};

	scratch_fresh(name);
	rig_open(&rig);
	struct tree_session *session = rig_session(&rig, 0);
	for (uint64_t i = 1; i <= count; i++)
		put_number(session, &rig.args, step > 0 ? i : count + 1 - i);
	rig_end_session(session);
	rig_check(&rig, (int64_t)count);
	ck_assert_uint_ge(percent_full(&rig), slots == 4 ? 70 : 97);
	rig_close(&rig);
}

/* One slot is left free in each. */
TEST(loads_in_order_fill_the_leaves)
{
	scratch_enter();
	fill_in_order(8, 8, 55, 1, "up");
	fill_in_order(8, 8, 55, -1, "down");
	fill_in_order(8, 8, 4, 1, "small-up");
	fill_in_order(8, 8, 4, -1, "small-down");
	fill_in_order(16, 100, 55, 1, "cells-up");
	fill_in_order(16, 100, 55, -1, "cells-down");
	scratch_leave();
}

TEST(random_load_takes_32_bytes_of_pool_and_1_2_fences_a_record)
{
	const uint64_t count = 300000;
	struct rig rig = {.path = scratch_path, .args = {.key_size = 8, .value_size = 8}};

	scratch_enter();
	rig_open(&rig);
	struct tree_session *session = rig_session(&rig, 0);
	struct tree_stats before = stats_of(&rig);
	for (uint64_t i = 1; i <= count; i++)
		put_number(session, &rig.args, scattered(i));
	struct tree_stats after = stats_of(&rig);
	ck_assert_uint_eq(after.records, count);
	ck_assert_uint_le(after.pool_bytes, 32 * count);
	ck_assert_uint_le((after.fences - before.fences) * 10, 12 * count);
	ck_assert_uint_le(after.lines - before.lines, 2 * count);
	rig_end_session(session);
	rig_check(&rig, (int64_t)count);
	rig_close(&rig);
	scratch_leave();
}

/* Which of `count` records is the i-th that goes: upwards, downwards, or all over. */
static uint64_t
goes(unsigned order, uint64_t i, uint64_t count)
{
	return order == 0 ? i : order == 1 ? count - 1 - i : i * 7919 % count;
}

static void
empty_out(const struct tree_args *args, unsigned order)
{
	const uint64_t count = 6000;
	struct rig rig = {.path = ".", .args = *args};
	char name[64];

	snprintf(name, sizeof(name), "%u-%u-%u-%u", (unsigned)args->key_size, args->leaf_slots,
		args->fanout, order);
	scratch_fresh(name);
	rig_open(&rig);
	struct tree_session *session = rig_session(&rig, 0);
	for (uint64_t i = 0; i < count; i++)
		put_number(session, args, scattered(i));
	struct tree_stats full = stats_of(&rig);
	for (uint64_t i = 0; i < count; i++) {
		uint8_t key[KEY_MAX];
		uint64_t number = scattered(goes(order, i, count));
		ck_assert_int_eq(
			tree_del(session, number_key(key, number, args->key_size)), NB_OK);
	}
	rig_check(&rig, 0);
	struct tree_stats empty = stats_of(&rig);
	ck_assert_msg(empty.leaves <= 1 + full.leaves / 100, "%s: %lu of %lu leaves are left",
		name, (unsigned long)empty.leaves, (unsigned long)full.leaves);
	ck_assert_uint_eq(empty.blobs, 0);
	ck_assert_uint_eq(empty.blob_bytes, 0);
	for (uint64_t i = 0; i < count; i++)
		put_number(session, args, scattered(i));
	struct tree_stats again = stats_of(&rig);
	ck_assert_uint_le(again.pool_bytes, full.pool_bytes);
	rig_end_session(session);
	rig_check(&rig, (int64_t)count);
	rig_close(&rig);
}

TEST(what_is_emptied_merges_away_and_is_used_again)
{
	static const uint32_t slots[] = {4, 7, 55}, fanouts[] = {4, 5, 64};

	scratch_enter();
	for (unsigned i = 0; i < 27; i++) {
		struct tree_args args = {.key_size = 8,
			.value_size = 8,
			.leaf_slots = slots[i / 9],
			.fanout = fanouts[i / 3 % 3]};
		empty_out(&args, i % 3);
		args.key_size = 16;
		args.value_size = 100;
		empty_out(&args, i % 3);
	}
	scratch_leave();
}

/* --- cost --- */

struct cost {
	uint64_t lines, fences, splits;
};

static struct cost
cost_since(struct rig *rig, struct tree_stats *before)
{
	struct tree_stats now = stats_of(rig);
	struct cost cost = {now.lines - before->lines, now.fences - before->fences,
		now.splits - before->splits};
	*before = now;
	return cost;
}

TEST(a_write_of_words_costs_one_line_and_one_fence)
{
	struct rig rig = {.path = scratch_path, .args = {.key_size = 8, .value_size = 8}};
	uint8_t key[WORDY];
	uint64_t value = 1;
	struct nb_slice bytes = slice_of(&value, sizeof(value));

	scratch_enter();
	rig_open(&rig);
	struct tree_session *session = rig_session(&rig, 0);
	struct tree_stats before = stats_of(&rig);
	for (uint64_t i = 1; i <= 2000; i++) {
		struct nb_slice slice = number_key(key, scattered(i) >> 1, sizeof(key));
		struct cost cost;

		ck_assert_int_eq(tree_insert(session, slice, bytes), NB_OK);
		cost = cost_since(&rig, &before);
		if (cost.splits == 0) {
			ck_assert_uint_eq(cost.lines, 1);
			ck_assert_uint_eq(cost.fences, 1);
		}
		ck_assert_int_eq(tree_put(session, slice, bytes), NB_OK);
		cost = cost_since(&rig, &before);
		ck_assert_uint_eq(cost.lines, 1);
		ck_assert_uint_eq(cost.fences, 1);
		ck_assert_int_eq(tree_insert(session, slice, bytes), NB_EXISTS);
		ck_assert_int_eq(tree_get(session, slice, &(struct nb_slice){0}), NB_OK);
		tree_release(session);
		cost = cost_since(&rig, &before);
		ck_assert_uint_eq(cost.lines + cost.fences, 0);
		if (i % 8 != 0)
			continue;
		ck_assert_int_eq(tree_del(session, slice), NB_OK);
		cost = cost_since(&rig, &before);
		ck_assert_uint_eq(cost.lines, 1);
		ck_assert_uint_eq(cost.fences, 1);
	}
	ck_assert_uint_gt(before.splits, 30);
	ck_assert_uint_eq(before.merges, 0);
	rig_end_session(session);
	rig_close(&rig);
	scratch_leave();
}

/* A record of the announced sizes: its lines, one fence. Out of line: two fences. */
TEST(a_write_of_cells_costs_its_lines_and_at_most_two_fences)
{
	struct rig rig = {.path = scratch_path, .args = {.key_size = 16, .value_size = 100}};
	uint8_t key[16], value[1000] = {1};

	scratch_enter();
	rig_open(&rig);
	struct tree_session *session = rig_session(&rig, 0);
	struct tree_stats before = stats_of(&rig);
	for (uint64_t i = 1; i <= 1000; i++) {
		size_t size = i % 2 == 0 ? 100 : 1000;
		struct nb_slice slice = number_key(key, scattered(i), sizeof(key));
		struct cost cost;

		ck_assert_int_eq(tree_insert(session, slice, slice_of(value, size)), NB_OK);
		cost = cost_since(&rig, &before);
		if (cost.splits == 0) {
			ck_assert_uint_le(cost.lines, size == 100 ? 2 : 18);
			ck_assert_uint_le(cost.fences, size == 100 ? 1 : 2);
		}
		ck_assert_int_eq(tree_put(session, slice, slice_of(value, size)), NB_OK);
		cost = cost_since(&rig, &before);
		if (cost.splits == 0)
			ck_assert_uint_le(cost.fences, 2);
	}
	rig_end_session(session);
	rig_close(&rig);
	scratch_leave();
}

/* --- loans --- */

/* What is lent before a change is whole after it, whoever made it and however much. */
static void
change_much(struct tree_session *other, struct tree_args *args, uint64_t from)
{
	static const uint8_t large[3000] = {7};

	for (unsigned round = 0; round < 3; round++)
		for (uint64_t i = 0; i < 600; i++) {
			uint8_t key[KEY_MAX];
			struct nb_slice slice = number_key(key, from + i, args->key_size);

			ck_assert_int_eq(
				tree_put(other, slice, slice_of(large, 1000 + 500 * round)),
				NB_OK);
			if (round == 1)
				ck_assert_int_eq(tree_del(other, slice), NB_OK);
		}
}

static void
lend(size_t size, const char *name)
{
	struct rig rig = {
		.path = ".", .args = {.key_size = 8, .value_size = 8, .leaf_slots = 7}};
	uint8_t key[WORDY], bytes[3000];
	struct nb_slice value;
	uint64_t mark;

	scratch_fresh(name);
	rig_open(&rig);
	struct tree_session *reader = rig_session(&rig, 0), *writer = rig_session(&rig, 1);
	for (uint64_t i = 0; i < 600; i++) {
		rig_fill(bytes, size, i + 1);
		ck_assert_int_eq(tree_put(writer, number_key(key, i, sizeof(key)),
					 slice_of(bytes, size)),
			NB_OK);
	}
	ck_assert_int_eq(tree_get(reader, number_key(key, 300, sizeof(key)), &value), NB_OK);
	change_much(writer, &rig.args, 0);
	ck_assert_uint_eq(value.size, size);
	ck_assert(rig_is_whole(value, &mark));
	ck_assert_uint_eq(mark, 301);
	tree_release(reader);
	rig_end_session(reader);
	rig_end_session(writer);
	rig_check(&rig, 600);
	rig_close(&rig);
}

TEST(a_lent_value_stays_whatever_becomes_of_its_record)
{
	scratch_enter();
	lend(8, "word");
	lend(1000, "blob");
	lend(3000, "larger");
	scratch_leave();
}

/* The leaf that a scan is in was copied; what is out of line is lent. */
TEST(a_scan_tells_whole_records_while_all_of_them_change)
{
	struct rig rig = {.path = scratch_path, .args = {.leaf_slots = 55}};
	struct nb_scan_args args = {.size = sizeof(args)};
	struct nb_slice key, value;
	uint8_t room[WORDY], bytes[1000];
	uint64_t mark;

	scratch_enter();
	rig_open(&rig);
	rig.args.key_size = sizeof(room);
	struct tree_session *reader = rig_session(&rig, 0), *writer = rig_session(&rig, 1);
	for (uint64_t i = 0; i < 50; i++) {
		rig_fill(bytes, sizeof(bytes), i + 1);
		ck_assert_int_eq(tree_put(writer, number_key(room, i, sizeof(room)),
					 slice_of(bytes, sizeof(bytes))),
			NB_OK);
	}
	ck_assert_int_eq(tree_scan_open(reader, &args), NB_OK);
	ck_assert_int_eq(tree_scan_next(reader, &key, &value), NB_OK);
	change_much(writer, &rig.args, 0);
	for (uint64_t i = 0; i < 50; i++) {
		ck_assert_uint_eq(value.size, sizeof(bytes));
		ck_assert(rig_is_whole(value, &mark));
		ck_assert_uint_eq(mark, i + 1);
		ck_assert(memcmp(key.data, number_key(room, i, sizeof(room)).data,
				  sizeof(room)) == 0);
		int rc = tree_scan_next(reader, &key, &value);
		ck_assert(rc == NB_OK || i == 49);
	}
	ck_assert_int_eq(tree_scan_close(reader), NB_OK);
	rig_end_session(reader);
	rig_end_session(writer);
	rig_check(&rig, 600);
	rig_close(&rig);
	scratch_leave();
}

/* --- what is refused --- */

static void
is_refused(struct rig *rig, struct tree_args args, const char *text)
{
	rig->args = args;
	ck_assert_int_eq(rig_try_open(rig), NB_UNSUPPORTED);
	ck_assert_msg(strstr(rig_failure, text) != NULL, "%s: no %s", rig_failure, text);
	ck_assert_msg(
		strstr(rig_failure, "fptree") == NULL, "%s: the host says that", rig_failure);
}

TEST(a_pool_is_not_opened_as_if_it_were_laid_out_otherwise)
{
	struct rig rig = {.path = scratch_path,
		.args = {.key_size = 16, .value_size = 100, .leaf_slots = 7}};

	scratch_enter();
	rig_open(&rig);
	struct tree_session *session = rig_session(&rig, 0);
	for (uint64_t i = 0; i < 100; i++)
		put_number(session, &rig.args, i);
	rig_end_session(session);
	rig_close(&rig);
	is_refused(&rig, (struct tree_args){.leaf_slots = 8}, "have 7 slots, not 8");
	is_refused(&rig, (struct tree_args){.key_size = 16, .value_size = 101},
		"keys of 16 and values of 100 bytes, not for 16 and 101");
	is_refused(&rig, (struct tree_args){.key_size = 15, .value_size = 100},
		"keys of 16 and values of 100 bytes, not for 15 and 100");
	is_refused(&rig, (struct tree_args){.key_size = 8, .value_size = 8}, "laid out for");
	is_refused(&rig, (struct tree_args){.inline_bytes = 40},
		"slots of the pool have 128 bytes, which inline_bytes=40 does not make");
	rig.args = (struct tree_args){.fanout = 4}; /* of no matter to the pool */
	rig_open(&rig);
	rig_check(&rig, 100);
	rig_close(&rig);
	rig.args = (struct tree_args){.key_size = 16, .value_size = 100};
	rig_open(&rig);
	rig_check(&rig, 100);
	rig_close(&rig);
	scratch_leave();
}

/* --- the pool is full --- */

static bool
has_number(struct tree_session *session, uint64_t number, size_t size, uint64_t mark)
{
	uint8_t key[WORDY];
	struct nb_slice value;
	uint64_t found;

	if (tree_get(session, number_key(key, number, sizeof(key)), &value) != NB_OK)
		return false;
	ck_assert_uint_eq(value.size, size);
	ck_assert(rig_is_whole(value, &found));
	ck_assert_uint_eq(found, mark);
	tree_release(session);
	return true;
}

static int
put_sized(struct tree_session *session, uint64_t number, size_t size, uint64_t mark)
{
	static uint8_t bytes[HUGE];
	uint8_t key[WORDY];

	rig_fill(bytes, size, mark);
	return tree_put(session, number_key(key, number, sizeof(key)), slice_of(bytes, size));
}

static uint64_t
put_until_full(struct tree_session *session, size_t size)
{
	uint64_t count = 0;

	for (;; count++) {
		int rc = put_sized(session, scattered(count), size, count + 1);
		if (rc == NB_OK)
			continue;
		ck_assert_int_eq(rc, NB_FAIL);
		ck_assert_msg(strstr(rig_failure, "pool_size") != NULL, "%s", rig_failure);
		return count;
	}
}

static void
all_are_there(struct tree_session *session, uint64_t from, uint64_t count, size_t size)
{
	for (uint64_t i = from; i < count; i++)
		ck_assert(has_number(session, scattered(i), size, i + 1));
}

/* Room for `back` of 4 of what was deleted, at the least. */
static void
fill_up(size_t size, uint64_t back, const char *name)
{
	struct rig rig = {.path = ".",
		.args = {.key_size = 8, .value_size = 8},
		.pool_bytes = POOL_SIZE_MIN};

	scratch_fresh(name);
	rig_open(&rig);
	struct tree_session *session = rig_session(&rig, 0);
	uint64_t count = put_until_full(session, size), gone = count / 4;
	all_are_there(session, 0, count, size);
	ck_assert(!has_number(session, scattered(count), size, count + 1));
	for (uint64_t i = 0; i < gone; i++) {
		uint8_t key[WORDY];
		ck_assert_int_eq(
			tree_del(session, number_key(key, scattered(i), sizeof(key))), NB_OK);
	}
	all_are_there(session, gone, count, size);
	for (uint64_t i = 0; i < gone * back / 4; i++) {
		int rc = put_sized(session, scattered(i), size, i + 1);
		ck_assert_msg(rc == NB_OK, "%s: %lu of %lu: %s", name, (unsigned long)i,
			(unsigned long)gone, rig_failure);
	}
	rig_end_session(session);
	int64_t records = (int64_t)(count - gone + gone * back / 4);
	rig_check(&rig, records);
	rig_reopen(&rig);
	rig_check(&rig, records);
	rig_close(&rig);
}

TEST(a_full_pool_keeps_what_it_has_and_takes_more_when_some_is_deleted)
{
	scratch_enter();
	fill_up(8, 2, "words"); /* a leaf of another key may be full still */
	fill_up(1000, 4, "blobs");
	fill_up(20000, 4, "large");
	fill_up(HUGE, 3, "huge");
	scratch_leave();
}

/* One session reads and reads, the other replaces; as long as `to` says. */
struct reading {
	struct tree_session *sessions[2];
	uint64_t records, rounds, failed;
	bool is_over;
};

static void
read_and_replace(void *to, unsigned id)
{
	enum { SIZE = 8 << 10 };
	struct reading *reading = to;
	struct tree_session *session = reading->sessions[id];

	for (uint64_t i = 0; id == 0 && i < reading->rounds; i++)
		if (put_sized(session, scattered(i % reading->records), SIZE, i + 1) != NB_OK)
			reading->failed++;
	if (id == 0)
		__atomic_store_n(&reading->is_over, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&reading->is_over, __ATOMIC_ACQUIRE)) {
		struct nb_slice value;
		uint8_t key[WORDY];

		if (tree_get(session, number_key(key, scattered(0), sizeof(key)), &value) ==
			NB_OK)
			tree_release(session);
	}
}

/* A MiB is left, and what was replaced has more: there is always one who may still look at it. */
TEST(readers_do_not_keep_what_was_replaced_for_long)
{
	struct rig rig = {.path = scratch_path,
		.args = {.key_size = 8, .value_size = 8 << 10},
		.pool_bytes = POOL_SIZE_MIN};
	struct reading reading = {.records = 1, .rounds = 20000};

	scratch_enter();
	rig_open(&rig);
	struct tree_session *session = rig_session(&rig, 0);
	reading.records = put_until_full(session, 8 << 10) - 128;
	for (uint64_t i = reading.records; i < reading.records + 128; i++) {
		uint8_t key[WORDY];
		ck_assert_int_eq(
			tree_del(session, number_key(key, scattered(i), sizeof(key))), NB_OK);
	}
	reading.sessions[0] = session;
	reading.sessions[1] = rig_session(&rig, 1);
	rig_run(2, read_and_replace, &reading);
	ck_assert_uint_eq(reading.failed, 0);
	rig_end_session(reading.sessions[0]);
	rig_end_session(reading.sessions[1]);
	rig_check(&rig, (int64_t)reading.records);
	rig_close(&rig);
	scratch_leave();
}

/* What waits for its epoch is some MiB, and not some hundred values. */
TEST(large_values_that_were_replaced_do_not_pile_up)
{
	enum { ROUNDS = 600, ENOUGH = 12 << 20 };
	struct rig rig = {.path = scratch_path, .args = {.key_size = 8, .value_size = HUGE}};
	struct tree_stats stats;
	uint8_t key[WORDY];

	scratch_enter();
	rig_open(&rig);
	struct tree_session *session = rig_session(&rig, 0);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(put_sized(session, 1, HUGE, i + 1), NB_OK);
		tree_stats(rig.tree, &stats);
		ck_assert_uint_le(stats.pool_bytes, ENOUGH);
	}
	for (uint64_t i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(put_sized(session, i, HUGE, i + 1), NB_OK);
		ck_assert_int_eq(tree_del(session, number_key(key, i, sizeof(key))), NB_OK);
		tree_stats(rig.tree, &stats);
		ck_assert_uint_le(stats.pool_bytes, ENOUGH);
	}
	rig_end_session(session);
	rig_check(&rig, 0);
	rig_close(&rig);
	scratch_leave();
}

/* An update that finds no room for the new value leaves the old one. */
TEST(an_update_that_fails_leaves_the_old_value)
{
	struct rig rig = {.path = scratch_path,
		.args = {.key_size = 8, .value_size = 8},
		.pool_bytes = POOL_SIZE_MIN};

	scratch_enter();
	rig_open(&rig);
	struct tree_session *session = rig_session(&rig, 0);
	uint64_t count = put_until_full(session, 2000);
	for (uint64_t i = 0; i < count; i++) {
		ck_assert_int_eq(put_sized(session, scattered(i), HUGE, 1), NB_FAIL);
		ck_assert(has_number(session, scattered(i), 2000, i + 1));
	}
	rig_end_session(session);
	rig_check(&rig, (int64_t)count);
	rig_close(&rig);
	scratch_leave();
}

static void
is_opened_as_made(struct tree_args made, struct tree_args again)
{
	struct rig rig = {.path = scratch_path, .args = made};

	scratch_enter();
	rig_open(&rig);
	struct tree_session *session = rig_session(&rig, 0);
	for (uint64_t i = 0; i < 100; i++)
		put_number(session, &made, i);
	rig_end_session(session);
	rig_close(&rig);
	rig.args = again;
	rig_open(&rig);
	rig_check(&rig, 100);
	rig_close(&rig);
	scratch_leave();
}

TEST(a_pool_keeps_what_it_was_made_with_where_nothing_is_asked_for)
{
	struct tree_args plain = {.key_size = 16, .value_size = 100}, small = plain,
			 large = plain;

	small.inline_bytes = 16;
	large.inline_bytes = 200;
	is_opened_as_made(small, plain);
	is_opened_as_made(large, plain);
	is_opened_as_made(plain, large);
}

/* Read while another session has inserted, and this one has deleted that. */
TEST(counters_that_are_read_one_by_one_are_never_below_none)
{
	struct rig rig = {.path = scratch_path, .args = {.key_size = 8, .value_size = 8}};
	struct tree_stats stats;

	scratch_enter();
	rig_open(&rig);
	struct tree_session *session = rig_session(&rig, 0);
	session->counts.deletes = 1;
	tree_stats(rig.tree, &stats);
	ck_assert_uint_eq(stats.records, 0);
	session->counts.deletes = 0;
	rig_end_session(session);
	rig_close(&rig);
	scratch_leave();
}

/* --- the check itself --- */

static void
open_some(struct rig *rig)
{
	scratch_enter();
	*rig = (struct rig){.path = scratch_path,
		.args = {.key_size = 8, .value_size = 8, .leaf_slots = 4, .fanout = 4}};
	rig_open(rig);
	struct tree_session *session = rig_session(rig, 0);
	for (uint64_t i = 1; i <= 200; i++)
		put_number(session, &rig->args, scattered(i));
	rig_end_session(session);
	rig_check(rig, 200);
}

static void
is_found(struct rig *rig, const char *text)
{
	char what[256] = "nothing";
	ck_assert_int_eq(tree_check(rig->tree, what, sizeof(what)), -1);
	ck_assert_msg(strstr(what, text) != NULL, "%s, not %s", what, text);
}

/* A used slot of the leaf at `offset`. */
static unsigned
used_slot(struct rig *rig, uint64_t offset)
{
	struct leaf *line = leaf_line(rig->tree, child_at(rig->tree, offset));
	unsigned slot = 1;

	while (line->fp[slot] == 0)
		slot++;
	return slot;
}

enum damage { BEYOND_THE_FILE, INTO_A_LEAF, OF_ANY_SIZE };

static void
is_damage_told(enum damage damage)
{
	struct rig rig = {.path = scratch_path,
		.args = {.key_size = 8, .value_size = 100, .inline_bytes = 16}};

	scratch_enter();
	rig_open(&rig);
	struct tree_session *session = rig_session(&rig, 0);
	put_number(session, &rig.args, 1);
	rig_end_session(session);
	uint64_t head = rig.pool->root->head;
	uint64_t *slot = slot_at(
		&rig.tree->layout, rig.tree->base + head, used_slot(&rig, head));
	struct blob *blob = (void *)(rig.tree->base + blob_of_word(*slot));

	if (damage == OF_ANY_SIZE)
		blob->value_size = 1ull << 40;
	else
		*slot = word_of_blob(damage == INTO_A_LEAF ? head : RIG_POOL_BYTES - PM_LINE);
	rig_close(&rig);
	ck_assert_int_eq(rig_try_open(&rig), NB_FAIL);
	ck_assert_msg(strstr(rig_failure, "the pool is damaged") != NULL, "%s", rig_failure);
	scratch_leave();
}

TEST(a_damaged_reference_is_told_and_not_followed)
{
	is_damage_told(BEYOND_THE_FILE);
	is_damage_told(INTO_A_LEAF);
	is_damage_told(OF_ANY_SIZE);
}

TEST(the_check_sees_what_is_wrong)
{
	struct rig rig;
	open_some(&rig);
	struct tree *tree = rig.tree;
	uint64_t head = rig.pool->root->head;
	struct leaf *line = leaf_line(tree, child_at(tree, head));
	uint64_t *next = leaf_next(tree->base + head), was_next = *next;
	unsigned slot = used_slot(&rig, head);
	uint64_t *words = slot_at(&tree->layout, tree->base + head, slot), was = words[0];

	line->fp[slot] ^= 0x55;
	is_found(&rig, "fingerprint");
	line->fp[slot] ^= 0x55;
	words[0] = 0;
	is_found(&rig, "fingerprint");
	words[0] = ~0ull >> 1;
	line->fp[slot] = fingerprint_of(hash_of_word(words[0], 8));
	is_found(&rig, "key above its leaf");
	words[0] = was;
	line->fp[slot] = fingerprint_of(hash_of_word(was, 8));
	*next = *leaf_next(tree->base + was_next);
	is_found(&rig, "the chain has");
	*next = was_next;
	line->version |= VERSION_LOCKED;
	is_found(&rig, "locked");
	line->version &= ~(uint64_t)VERSION_LOCKED;
	tree->inner_nodes++;
	is_found(&rig, "inner nodes");
	tree->inner_nodes--;
	rig_check(&rig, 200);
	struct heap_cache *cache = heap_cache_new(tree->heap);
	ck_assert_uint_ne(heap_leaf_new(cache), 0);
	is_found(&rig, "leaves are taken");
	heap_cache_delete(cache);
	rig_close(&rig);
	scratch_leave();
}
