/* SPDX-License-Identifier: BSD-2-Clause */
#include "masstree_rig.h"

/* --- keys --- */

static struct nb_slice
word_key(uint8_t *room, uint64_t number)
{
	slice_to_bytes(room, number + 1);
	return slice_of(room, 8);
}

/* Keys with a suffix, which is stored in a record outside the leaf. */
static struct nb_slice
suffix_key(uint8_t *room, uint64_t number)
{
	slice_to_bytes(room, number + 1);
	memset(room + 8, 's', 5);
	return slice_of(room, 13);
}

/* Each three keys share two slices (16 bytes), so they have a layer inside another layer. */
static struct nb_slice
layer_key(uint8_t *room, uint64_t number)
{
	memset(room, 'k', 30);
	slice_to_bytes(room, number / 3 + 1);
	room[18] = (uint8_t)(number % 3);
	return slice_of(room, 30);
}

/* All keys are in layers below other layers. */
static struct nb_slice
deep_key(uint8_t *room, uint64_t number)
{
	memset(room, 'd', 16);
	slice_to_bytes(room + 16, number / 2);
	slice_to_bytes(room + 24, number % 2);
	return slice_of(room, 32);
}

/*
 * One zero, two zeros and so on: each key is a prefix of the next. Then the same after other
 * slices.
 */
static struct nb_slice
length_key(uint8_t *room, uint64_t number)
{
	memset(room, 0, RIG_KEY_MAX);
	slice_to_bytes(room, number / 19);
	return slice_of(room, number / 19 == 0 ? number % 19 + 1 : number % 19 + 8);
}

static const struct rig_format formats[] = {
	{"words", word_key, {8, 8, 8, 8}, false, false},
	{"sorted words", word_key, {8, 8, 8, 8}, true, false},
	{"words and records", word_key, {8, 20, 100, 8}, false, false},
	{"suffixes", suffix_key, {8, 8, 12, 2000}, false, false},
	{"layers", layer_key, {8, 8, 8, 30}, false, false},
	{"sorted layers", layer_key, {8, 8, 8, 30}, true, false},
	{"deep", deep_key, {8, 8, 9, 8}, false, false},
	{"lengths", length_key, {8, 16, 8, 8}, false, true},
};

int
rig_format_count(void)
{
	return (int)UNIT_COUNT(formats) - (LEAF_SLOTS_MAX < 10);
}

const struct rig_format *
rig_format(int i)
{
	ck_assert(i < rig_format_count());
	return &formats[i];
}

uint64_t
rig_number(const struct rig_format *format, struct nb_slice key, uint64_t count)
{
	uint8_t room[RIG_KEY_MAX];

	for (uint64_t number = 0; number < count; number++) {
		struct nb_slice its = format->key(room, number);
		if (its.size == key.size && memcmp(its.data, key.data, key.size) == 0)
			return number;
	}
	ck_abort_msg("%s: an unknown key", format->name);
	return count;
}

struct nb_slice
rig_value(uint8_t *room, const struct rig_format *format, uint64_t *random, uint64_t mark)
{
	size_t size = format->values[rig_random(random, RIG_SIZES)];

	rig_fill(room, size, mark);
	return slice_of(room, size);
}

/* --- the tree --- */

struct nb_db *
rig_open(const struct rig_format *format)
{
	struct mt_args args = {.host = &plugin_host,
		.sessions = RACING_THREADS,
		.has_no_permutation = format != NULL && format->has_no_permutation};
	struct nb_db *tree;

	ck_assert_int_eq(mt_open(&tree, &args), NB_OK);
	return tree;
}

struct nb_session *
rig_session(struct nb_db *tree, uint32_t id)
{
	struct nb_session *session;

	ck_assert_int_eq(mt_session_open(&session, tree, id), NB_OK);
	return session;
}

void
rig_check(struct nb_db *tree, int64_t records)
{
	char what[256] = "";
	int64_t found = mt_check(tree, what, sizeof(what));

	ck_assert_msg(found >= 0, "%s", what);
	if (records >= 0)
		ck_assert_int_eq(found, records);
}
