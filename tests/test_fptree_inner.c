/* SPDX-License-Identifier: BSD-2-Clause */
/* Inner nodes of fptree alone: searches, and every change of a node. */
#include "descend.h"
#include "racing.h"
#include "unit.h"

TEST(scaled_up_to_counts_like_a_walk)
{
	uint16_t scaled[4 * INNER_UNIT] __attribute__((aligned(64)));
	uint64_t state = rig_seed(7);

	for (unsigned round = 0; round < 20000; round++) {
		unsigned room = INNER_UNIT * (1 + (unsigned)rig_random(&state, 4)),
			 expected = 0;
		unsigned count = (unsigned)rig_random(&state, room);
		unsigned start = round % 3 == 0 ? SCALED_MAX - 2 * INNER_UNIT : 0, last = start;
		uint16_t word = (uint16_t)(round % 8 == 0
				? SCALED_MAX
				: start + rig_random(&state, 2 * INNER_UNIT));

		for (unsigned i = 0; i < room; i++) {
			last += (unsigned)rig_random(&state, 3);
			last = last < SCALED_MAX ? last : SCALED_MAX;
			scaled[i] = (uint16_t)(i < count ? last : SCALED_UNUSED);
			expected += i < count && last <= word;
		}
		ck_assert_uint_eq(scaled_up_to(scaled, room, word), expected);
	}
}

/* A word of one of several distributions: dense, sparse, in clusters, at both ends. */
static uint64_t
word_of_kind(int kind, uint64_t *state)
{
	const uint64_t top = UINT64_MAX - 1000;

	switch (kind) {
	case 0:
		return rig_random(state, 1000);
	case 1:
		return rig_random(state, UINT64_MAX);
	case 2:
		return (rig_random(state, 4) << 62) + rig_random(state, 100);
	case 3:
		return rig_random(state, 2) == 0 ? rig_random(state, 1000)
						 : top + rig_random(state, 1001);
	default:
		return top + rig_random(state, 1001);
	}
}

static void
check_node_by_walk(
	const struct inner_shape *shape, const struct inner *node, uint64_t *state, int kind)
{
	const uint64_t *words = inner_words(shape, node);

	ck_assert_uint_lt(node->scaled[node->count - 1], SCALED_MAX); /* else many are equal */
	ck_assert_uint_eq(inner_scaled_before(node, 0), SCALED_UNUSED);
	for (unsigned round = 0; round < 20; round++) {
		unsigned near = (unsigned)rig_random(state, node->count);
		uint64_t word = round % 2 == 0 ? word_of_kind(kind, state)
					       : words[near] + rig_random(state, 3) - 1;
		unsigned up_to = 0, below = 0;
		uint8_t bytes[8];

		for (unsigned i = 0; i < node->count; i++) {
			up_to += words[i] <= word;
			below += words[i] < word;
		}
		word_to_bytes(bytes, word, sizeof(bytes));
		struct key key = key_of(bytes, sizeof(bytes));
		ck_assert_uint_eq(child_for(shape, node, &key, false), up_to);
		if (bytes[7] != 0) /* else a shorter key is the separator */
			ck_assert_uint_eq(child_for(shape, node, &key, true), below);
		for (unsigned i = 0; i < shape->room; i++)
			ck_assert_uint_eq(node->scaled[i],
				i < node->count ? inner_scale(node, words[i]) : SCALED_UNUSED);
		ck_assert_uint_eq(inner_child(shape, node, up_to),
			up_to == 0 ? 7 : words[up_to - 1] % 1000);
	}
}

/* Separators are added, moved by a split and an append, and removed. */
TEST_EACH(child_for_agrees_with_a_walk, 10)
{
	const struct inner_shape shape = {.fanout = 60, .room = 64};
	uint64_t state = rig_seed(11 + (uint64_t)_i);
	struct inner_store store;
	int kind = _i / 2;

	ck_assert(inner_store_open(&store, &shape));
	for (unsigned round = 0; round < 200; round++) {
		struct inner *node = inner_new(&store, (uint32_t)_i % 2);
		struct inner *to = inner_new(&store, (uint32_t)_i % 2);
		struct separator middle;

		inner_set_child(&shape, node, 0, 7);
		while (node->count + 1 < shape.fanout) {
			uint64_t word = word_of_kind(kind, &state);
			unsigned at = inner_words_up_to(
				inner_words(&shape, node), node->count, word);

			if (at > 0 && inner_words(&shape, node)[at - 1] == word)
				continue;
			inner_add(
				&shape, node, at, (struct separator){word, NULL}, word % 1000);
			check_node_by_walk(&shape, node, &state, kind);
		}
		ck_assert(inner_split(&shape, node, to, &middle));
		check_node_by_walk(&shape, node, &state, kind);
		if (kind == 1) /* a range of more than 16 bits uses at least 14 of them */
			ck_assert_uint_ge(node->scaled[node->count - 1], 1 << 14);
		ck_assert(inner_append(&shape, node, middle, to));
		check_node_by_walk(&shape, node, &state, kind);
		while (node->count > 1) {
			inner_remove(&shape, node, (unsigned)rig_random(&state, node->count));
			check_node_by_walk(&shape, node, &state, kind);
		}
		inner_delete(node);
		inner_delete(to);
	}
	inner_store_close(&store);
}
