/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One session uses the tree, with nodes of the normal size. The tests compare every shape of
 * key with a sorted array. Mistakes of the original Masstree have a test each.
 */
#include "masstree_rig.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct nb_db *tree;
static struct nb_session *session;

static void
begin(void)
{
	tree = rig_open(NULL);
	session = rig_session(tree, 0);
}

static void
end(int64_t records)
{
	rig_check(tree, records);
	mt_session_close(session);
	mt_close(tree);
}

static int
put(struct nb_slice key, uint64_t value)
{
	return mt_put(session, key, slice_of(&value, sizeof(value)));
}

static void
has(struct nb_slice key, uint64_t value)
{
	struct nb_slice found;

	ck_assert_int_eq(mt_get(session, key, &found), NB_OK);
	ck_assert_uint_eq(found.size, sizeof(value));
	ck_assert_mem_eq(found.data, &value, sizeof(value));
	mt_release(session);
}

static void
lacks(struct nb_slice key)
{
	struct nb_slice found;

	ck_assert_int_eq(mt_get(session, key, &found), NB_NOT_FOUND);
}

/* Count the records by a scan from the lowest key upwards, or from the highest downwards. */
static uint64_t
count_by_scan(bool is_backward)
{
	struct nb_scan_args args = {
		.size = sizeof(args), .flags = is_backward ? NB_SCAN_BACKWARD : 0};
	struct nb_slice key, value;
	uint64_t count = 0;

	ck_assert_int_eq(mt_scan_open(session, &args), NB_OK);
	while (mt_scan_next(session, &key, &value) == NB_OK)
		count++;
	ck_assert_int_eq(mt_scan_close(session), NB_OK);
	return count;
}

/* --- against a sorted array --- */

enum { MODEL_KEYS = 600, MODEL_STEPS = 20000 };

struct model {
	const struct rig_format *format;
	uint64_t marks[MODEL_KEYS]; /* 0: the key does not exist */
};

static void
scan_as_model(const struct model *model, uint64_t from, bool is_backward)
{
	uint8_t room[RIG_KEY_MAX], its_room[RIG_KEY_MAX];
	struct nb_scan_args args = {.size = sizeof(args),
		.flags = is_backward ? NB_SCAN_BACKWARD : 0,
		.from = model->format->key(room, from)};
	struct nb_slice key, value;
	uint64_t mark;

	ck_assert_int_eq(mt_scan_open(session, &args), NB_OK);
	for (uint64_t number = from; number < MODEL_KEYS; number += is_backward ? -1ull : 1) {
		if (model->marks[number] == 0)
			continue;
		struct nb_slice its = model->format->key(its_room, number);
		ck_assert_int_eq(mt_scan_next(session, &key, &value), NB_OK);
		ck_assert_uint_eq(key.size, its.size);
		ck_assert_mem_eq(key.data, its.data, its.size);
		ck_assert(rig_is_whole(value, &mark));
		ck_assert_uint_eq(mark, model->marks[number]);
	}
	ck_assert_int_eq(mt_scan_next(session, &key, &value), NB_NOT_FOUND);
	ck_assert_int_eq(mt_scan_close(session), NB_OK);
}

/* The model grows and shrinks in turns, down to no records. */
static void
step_of_model(struct model *model, unsigned i, uint64_t *random)
{
	uint8_t room[RIG_KEY_MAX], bytes[RIG_VALUE_MAX];
	uint64_t number = rig_random(random, MODEL_KEYS), mark = i + 1;
	struct nb_slice key = model->format->key(room, number), value;
	bool is_there = model->marks[number] != 0;

	if (rig_random(random, 8) < (i / 4000 % 2 == 0 ? 2 : 7)) {
		ck_assert_int_eq(mt_del(session, key), is_there ? NB_OK : NB_NOT_FOUND);
		model->marks[number] = 0;
	} else if (i % 3 == 0) {
		value = rig_value(bytes, model->format, random, mark);
		ck_assert_int_eq(mt_insert(session, key, value), is_there ? NB_EXISTS : NB_OK);
		model->marks[number] = is_there ? model->marks[number] : mark;
	} else {
		value = rig_value(bytes, model->format, random, mark);
		ck_assert_int_eq(mt_put(session, key, value), NB_OK);
		model->marks[number] = mark;
	}
	if (i % 500 == 0)
		scan_as_model(model, rig_random(random, MODEL_KEYS), i % 1000 == 0);
}

TEST_EACH(tree_behaves_like_a_sorted_array, 8)
{
	static struct model model;
	uint64_t random = rig_seed((uint64_t)_i);
	uint8_t room[RIG_KEY_MAX];

	model.format = rig_format(_i);
	tree = rig_open(model.format);
	session = rig_session(tree, 0);
	for (unsigned i = 0; i < MODEL_STEPS; i += UNIT_STEP)
		step_of_model(&model, i, &random);
	for (uint64_t number = 0; number < MODEL_KEYS; number++)
		mt_del(session, model.format->key(room, number));
	end(0);
}

/* --- keys and values --- */

/* The page after each key must not be read. */
TEST(no_byte_beyond_a_key_is_read)
{
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *pages = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + page, (size_t)page, PROT_NONE), 0);
	begin();
	for (size_t size = 1; size <= 40; size++) {
		uint8_t *key = pages + page - size;

		memset(key, 'k', size);
		ck_assert_int_eq(put(slice_of(key, size), size), NB_OK);
	}
	for (size_t size = 1; size <= 40; size++)
		has(slice_of(pages + page - size, size), size);
	end(40);
	munmap(pages, (size_t)page * 2);
}

/* Zeros fill the slice of a short key, but do not belong to the key. */
TEST(zeros_at_the_end_of_a_key_count)
{
	static const uint8_t zeros[24];

	begin();
	for (size_t size = 1; size <= sizeof(zeros); size++)
		ck_assert_int_eq(put(slice_of(zeros, size), size), NB_OK);
	for (size_t size = 1; size <= sizeof(zeros); size++)
		has(slice_of(zeros, size), size);
	ck_assert_uint_eq(count_by_scan(false), sizeof(zeros));
	ck_assert_uint_eq(count_by_scan(true), sizeof(zeros));
	for (size_t size = 2; size <= sizeof(zeros); size += 2)
		ck_assert_int_eq(mt_del(session, slice_of(zeros, size)), NB_OK);
	for (size_t size = 1; size <= sizeof(zeros); size++)
		if (size % 2 == 0)
			lacks(slice_of(zeros, size));
		else
			has(slice_of(zeros, size), size);
	end(sizeof(zeros) / 2);
}

TEST(a_key_of_16_kib_has_a_layer_for_each_eight_bytes_that_it_shares)
{
	const size_t size = 1 << 14;
	uint8_t *a = malloc(size), *b = malloc(size);
	struct mt_stats stats;

	ck_assert(a != NULL && b != NULL);
	memset(a, 'a', size);
	memcpy(b, a, size);
	b[size - 1] = 'b';
	begin();
	ck_assert_int_eq(put(slice_of(a, size), 1), NB_OK);
	ck_assert_int_eq(put(slice_of(b, size), 2), NB_OK);
	has(slice_of(a, size), 1);
	has(slice_of(b, size), 2);
	ck_assert_uint_eq(count_by_scan(true), 2);
	mt_stats(tree, &stats);
	ck_assert_uint_eq(stats.layers, size / 8 - 1);
	ck_assert_int_eq(mt_del(session, slice_of(a, size)), NB_OK);
	ck_assert_int_eq(mt_del(session, slice_of(b, size)), NB_OK);
	mt_stats(tree, &stats);
	ck_assert_uint_eq(stats.layers, 0);
	end(0);
	free(a);
	free(b);
}

/* A B+-tree that compares whole keys would compare these 40 bytes at each step. */
TEST(keys_that_share_40_bytes_take_five_layers_and_no_more)
{
	enum { KEYS = 20000 };
	uint8_t key[48];
	struct mt_stats stats;

	memset(key, 's', 40);
	begin();
	for (uint64_t i = 0; i < KEYS; i++) {
		slice_to_bytes(key + 40, i * 0x9e3779b97f4a7c15ull);
		ck_assert_int_eq(put(slice_of(key, sizeof(key)), i), NB_OK);
	}
	mt_stats(tree, &stats);
	ck_assert_uint_eq(stats.layers, 5);
	ck_assert_uint_lt(stats.memory_bytes / KEYS, 40);
	for (uint64_t i = 0; i < KEYS; i++) {
		slice_to_bytes(key + 40, i * 0x9e3779b97f4a7c15ull);
		has(slice_of(key, sizeof(key)), i);
	}
	end(KEYS);
}

/* --- memory --- */

static struct mt_stats
fill(uint64_t keys, bool is_downwards)
{
	struct mt_stats stats;
	uint8_t key[8];

	for (uint64_t i = 0; i < keys; i++) {
		slice_to_bytes(key, is_downwards ? keys - i : i);
		ck_assert_int_eq(put(slice_of(key, sizeof(key)), i), NB_OK);
	}
	mt_stats(tree, &stats);
	return stats;
}

TEST_EACH(leaves_are_full_where_keys_come_in_order, 2)
{
	begin();
	struct mt_stats stats = fill(14000, _i == 1);
	ck_assert_uint_le(stats.leaves, 1001);
	end(14000);
}

/* Rounds that put and delete all records take no more memory than the first one. */
TEST_EACH(memory_stays_flat_when_records_come_and_go, 4)
{
	enum { KEYS = 3000, ROUNDS = 20 };
	const struct rig_format *format = rig_format(_i * 2);
	uint8_t room[RIG_KEY_MAX], value[RIG_VALUE_MAX];
	uint64_t random = rig_seed((uint64_t)_i), before = 0;
	struct mt_stats stats;

	begin();
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (uint64_t number = 0; number < KEYS; number++)
			ck_assert_int_eq(mt_put(session, format->key(room, number),
						 rig_value(value, format, &random, 1)),
				NB_OK);
		for (uint64_t number = 0; number < KEYS; number++)
			ck_assert_int_eq(mt_del(session, format->key(room, number)), NB_OK);
		mt_stats(tree, &stats);
		ck_assert_uint_eq(stats.leaves, 1);
		ck_assert_uint_eq(stats.inner_nodes, 0);
		ck_assert_uint_eq(stats.layers, 0);
		if (round == 3)
			before = stats.memory_bytes;
	}
	ck_assert_uint_le(stats.memory_bytes, before + before / 8 + (1 << 16));
	end(0);
}

/* The memory of an overwritten value is freed while the session is open. */
TEST(memory_stays_flat_when_values_are_replaced)
{
	uint8_t value[200] = {0};
	struct mt_stats stats;

	begin();
	for (unsigned i = 0; i < 20000; i++)
		ck_assert_int_eq(
			mt_put(session, slice_of("k", 1), slice_of(value, 100 + i % 100)),
			NB_OK);
	mt_stats(tree, &stats);
	ck_assert_uint_lt(stats.memory_bytes, 1 << 20);
	end(1);
}

/* A queue: the left of the tree is removed as its right grows. The tree does not grow in height. */
TEST(moving_window_of_keys_leaves_no_nodes)
{
	enum { WINDOW = 500, MOVED = 50000 };
	struct mt_stats stats;
	uint8_t key[8];

	begin();
	for (uint64_t i = 0; i < MOVED; i += UNIT_STEP) {
		slice_to_bytes(key, i);
		ck_assert_int_eq(put(slice_of(key, sizeof(key)), i), NB_OK);
		slice_to_bytes(key, i - WINDOW);
		if (i >= WINDOW)
			ck_assert_int_eq(mt_del(session, slice_of(key, sizeof(key))), NB_OK);
	}
	mt_stats(tree, &stats);
	ck_assert_uint_lt(stats.leaves, 60);
	ck_assert_uint_lt(stats.inner_nodes, 20);
	rig_check(tree, -1);
	end(-1);
}

/* --- the path of the last write --- */

static void
put_from(struct nb_session *its, uint64_t first, uint64_t count)
{
	uint8_t key[8];

	for (uint64_t i = first; i < first + count; i++) {
		slice_to_bytes(key, 2 * i);
		ck_assert_int_eq(
			mt_put(its, slice_of(key, sizeof(key)), slice_of(&i, sizeof(i))),
			NB_OK);
	}
}

/*
 * A write begins at the leaf of the previous write. Here another session frees that leaf and
 * reuses its memory, until the new leaf has the same version.
 */
TEST(a_write_does_not_begin_at_a_leaf_that_was_freed)
{
	enum { KEYS = 2000, FIRST = 500, GONE = 1000, TRIED = 8 };
	uint8_t key[8], value[200] = {0};

	for (uint64_t tried = 0; tried < TRIED; tried++) {
		uint64_t number = FIRST + GONE / 2 + tried;

		begin();
		struct nb_session *other = rig_session(tree, 1);
		put_from(other, 1 << 20, 1); /* makes the leaves below it split in the middle */
		put_from(other, 0, KEYS);
		put_from(session, number, 1);
		for (uint64_t i = FIRST; i < FIRST + GONE; i++) {
			slice_to_bytes(key, 2 * i);
			ck_assert_int_eq(mt_del(other, slice_of(key, sizeof(key))), NB_OK);
		}
		slice_to_bytes(key, 0);
		for (unsigned i = 0; i < 600; i++) /* until all retired memory is free */
			ck_assert_int_eq(mt_put(other, slice_of(key, sizeof(key)),
						 slice_of(value, 100 + i % 100)),
				NB_OK);
		put_from(other, KEYS, 2 * GONE);
		slice_to_bytes(key, 2 * number + 1);
		ck_assert_int_eq(put(slice_of(key, sizeof(key)), 7), NB_OK);
		has(slice_of(key, sizeof(key)), 7);
		mt_session_close(other);
		end(1 + KEYS - GONE + 2 * GONE + 1);
	}
}

/* --- the log --- */

enum { LOGGED = 16 };

struct logged {
	unsigned count;
	enum mt_change changes[LOGGED];
	uint64_t values[LOGGED];
	int rc;
};

static int
log_change(void *log, enum mt_change change, struct nb_slice key, struct nb_slice value)
{
	struct logged *to = log;

	ck_assert_uint_lt(to->count, LOGGED);
	ck_assert_uint_gt(key.size, 0);
	to->changes[to->count] = change;
	to->values[to->count] = 0;
	memcpy(&to->values[to->count], value.data == NULL ? "" : value.data,
		value.size < 8 ? value.size : 8);
	if (to->rc == NB_OK)
		to->count++;
	return to->rc;
}

TEST(log_receives_each_change_and_can_refuse_it)
{
	static const char *const keys[] = {"k", "a long key, 1", "a long key, 2"};
	struct mt_args args = {.host = &plugin_host, .sessions = 1, .log = {log_change}};
	struct logged logged = {.rc = NB_OK};

	ck_assert_int_eq(mt_open(&tree, &args), NB_OK);
	session = rig_session(tree, 0);
	session->log = &logged;
	for (unsigned i = 0; i < UNIT_COUNT(keys); i++) {
		struct nb_slice key = slice_of(keys[i], strlen(keys[i]));
		logged.count = 0;
		ck_assert_int_eq(put(key, 5), NB_OK);
		ck_assert_int_eq(mt_merge(session, key, NB_MERGE_ADD_U64, 2), NB_OK);
		ck_assert_int_eq(mt_insert(session, key, key), NB_EXISTS);
		ck_assert_uint_eq(logged.count, 2);
		ck_assert_uint_eq(logged.values[0], 5);
		ck_assert_uint_eq(logged.values[1], 7);
		logged.rc = NB_FAIL;
		ck_assert_int_eq(put(key, 9), NB_FAIL);
		ck_assert_int_eq(mt_put(session, key, key), NB_FAIL);
		ck_assert_int_eq(mt_del(session, key), NB_FAIL);
		has(key, 7);
		logged.rc = NB_OK;
		ck_assert_int_eq(mt_del(session, key), NB_OK);
		ck_assert_int_eq(logged.changes[2], MT_DEL);
		ck_assert_int_eq(put(key, 1), NB_OK);
	}
	logged.rc = NB_FAIL;
	logged.count = 0;
	ck_assert_int_eq(put(slice_of("a long key, 3", 13), 1), NB_FAIL);
	lacks(slice_of("a long key, 3", 13));
	end(3);
}

/* --- pivots --- */

/* --- hints --- */

enum { HINTED_KEYS = 30 * HINT_LEAVES };

/* Put keys and return how many descents of the last tenth had a right and a wrong hint. */
static void
put_hinted(struct nb_slice (*key_of)(uint8_t *, uint64_t), uint64_t *hits, uint64_t *misses)
{
	struct mt_stats before, after;
	uint8_t room[24];

	for (uint64_t i = 0; i < HINTED_KEYS; i++) {
		if (i == HINTED_KEYS / 10 * 9)
			mt_stats(tree, &before);
		ck_assert_int_eq(put(key_of(room, i), i), NB_OK);
	}
	mt_stats(tree, &after);
	*hits = after.hint_hits - before.hint_hits;
	*misses = after.hint_misses - before.hint_misses;
}

static struct nb_slice
hashed_key(uint8_t *room, uint64_t number)
{
	slice_to_bytes(room, (number + 1) * 0x9e3779b97f4a7c15ull);
	return slice_of(room, 8);
}

/* Hashes in a small part of all slices. */
static struct nb_slice
crowded_key(uint8_t *room, uint64_t number)
{
	slice_to_bytes(room, 77ull << 40 | ((number + 1) * 0x9e3779b97f4a7c15ull) >> 24);
	return slice_of(room, 8);
}

static struct nb_slice
text_key(uint8_t *room, uint64_t number)
{
	uint64_t hash = (number + 1) * 0x9e3779b97f4a7c15ull;

	for (unsigned i = 0; i < 16; i++)
		room[i] = "aeiou lnrst"[(hash >> (4 * i)) % 11];
	return slice_of(room, 16);
}

TEST_EACH(hints_are_right_for_most_keys_that_are_spread_evenly, 2)
{
	uint64_t hits, misses;

	begin();
	put_hinted(_i == 0 ? hashed_key : crowded_key, &hits, &misses);
	ck_assert_uint_gt(hits + misses, HINTED_KEYS / 20);
	ck_assert_uint_gt(hits, 2 * misses);
	end(HINTED_KEYS);
}

TEST(hints_are_dropped_if_they_are_wrong)
{
	uint64_t hits, misses;
	struct mt_stats stats;

	begin();
	put_hinted(text_key, &hits, &misses);
	mt_stats(tree, &stats);
	ck_assert_uint_gt(stats.hint_misses, 3 * stats.hint_hits);
	ck_assert_uint_eq(hits + misses, 0);
	end(-1);
}

TEST(pivots_part_the_keys_evenly)
{
	enum { KEYS = 20000, PARTS = 4 };
	uint64_t pivots[PARTS - 1];
	uint8_t key[8];

	begin();
	ck_assert_uint_eq(mt_pivots(session, pivots, PARTS - 1), 0);
	for (uint64_t i = 0; i < KEYS; i++) {
		slice_to_bytes(key, i * 0x9e3779b97f4a7c15ull);
		ck_assert_int_eq(put(slice_of(key, sizeof(key)), i), NB_OK);
	}
	ck_assert_uint_eq(mt_pivots(session, pivots, PARTS - 1), PARTS - 1);
	for (unsigned i = 0; i < PARTS - 1; i++) { /* the keys are spread evenly */
		double share = (double)pivots[i] / 0x1p64 * PARTS;
		ck_assert_double_ge(share, i + 0.7);
		ck_assert_double_le(share, i + 1.3);
	}
	end(KEYS);
}
