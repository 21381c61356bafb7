/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recovery: every open builds the tree from the list of leaves, after a crash or not.
 *
 * It walks the leaves from the first to the last. Then it checks them from the last to the
 * first, because the next leaf shows which records of a leaf are wrong:
 *
 * 1. A torn slot is not a record (leaf.h); recovery empties it.
 * 2. All records of a leaf must be below the least key of the next leaf that has records. An
 *    interrupted split or merge left the others (smo.c); recovery empties their slots.
 * 3. Of two records with one key, recovery empties the second. An interrupted update of
 *    LEAF_CELLS left them (verbs.c).
 * 4. An empty leaf, except the first, is unlinked and given back.
 * 5. Recovery marks leaves as used when it walks them, and blobs when it keeps their records.
 *    All other space in the pool is free.
 *
 * Recovery makes its changes durable before the tree is used. Each step can be repeated, so
 * after a crash within it the next open can do it again.
 */
#include "internal.h"
#include "search.h"

#include <stdlib.h>

/* The summary of a leaf of the chain. */
struct summary {
	uint64_t offset;
	uint64_t least, greatest; /* words of its records, valid if has_records */
	bool has_records;
	bool is_plain; /* all keys are plain words: equal words are equal keys */
};

/* The least record of all later leaves. */
struct bound {
	bool is_set;
	struct record record;
	uint8_t *room; /* the record may point into it */
};

struct recovery {
	struct nb_db *tree;
	struct pm *pm;
	struct summary *leaves;
	size_t count, room;
	struct record *records; /* of the current leaf */
	uint8_t *linear;
	struct bound bound;
};

static int
damaged(const struct recovery *recovery, const char *what, uint64_t offset)
{
	const struct nb_db *tree = recovery->tree;

	return tree->host->fail(NB_FAIL, "the pool is damaged: %s at offset %llu", what,
		(unsigned long long)offset);
}

static int
add_leaf(struct recovery *recovery, uint64_t offset)
{
	if (recovery->count == recovery->room) {
		size_t room = recovery->room == 0 ? 1024 : 2 * recovery->room;
		struct summary *leaves = realloc(recovery->leaves, room * sizeof(*leaves));

		if (leaves == NULL)
			return tree_no_memory(recovery->tree, "the list of leaves");
		recovery->leaves = leaves;
		recovery->room = room;
	}
	recovery->leaves[recovery->count++] = (struct summary){.offset = offset};
	return NB_OK;
}

/* Mark each leaf on the way. This finds an offset that occurs twice or is not a leaf. */
static int
walk_chain(struct recovery *recovery)
{
	struct nb_db *tree = recovery->tree;
	uint64_t offset = tree->pool->root->head;

	while (offset != 0) {
		int answer;

		if (!heap_mark_leaf(tree->heap, offset))
			return damaged(
				recovery, "the list of leaves leads out of the leaves", offset);
		answer = add_leaf(recovery, offset);
		if (answer != NB_OK)
			return answer;
		offset = *leaf_next(tree->base + offset);
	}
	return recovery->count == 0 ? damaged(recovery, "there is no leaf", 0) : NB_OK;
}

static void
empty_slot(struct recovery *recovery, uint64_t *slot)
{
	pm_store64(slot, 0);
	pm_flush_line(recovery->pm, slot);
	recovery->tree->repaired++;
}

/* --- a leaf of plain words: the fast path of an open --- */

static bool
is_below_word(const struct bound *bound, uint64_t word, size_t size)
{
	if (!bound->is_set || word < bound->record.word)
		return true;
	return word == bound->record.word && size < bound->record.key_size;
}

/* The result of a pass over the words of a leaf. */
struct words_seen {
	uint64_t least, greatest;
	unsigned count;
	bool has_others; /* short keys, blobs */
};

/*
 * Set the fingerprints and summarize the words, without a branch. Empty slots cannot be
 * predicted, and an open spends most of its time here.
 */
static struct words_seen
see_words(const struct layout *layout, const char *bytes, struct leaf *line)
{
	const uint64_t *slot = slot_at(layout, bytes, 1);
	uint64_t least_less_one = UINT64_MAX, greatest = 0; /* 0 is never the least */
	unsigned count = 0, others = 0;

	for (unsigned i = 1; i <= layout->slots; i++, slot += 2) {
		uint64_t word = *slot;
		unsigned fingerprint = fingerprint_of(hash_of_word(word, layout->key_size));

		line->fp[i] = (uint8_t)(word == 0 ? 0 : fingerprint);
		least_less_one = word - 1 < least_less_one ? word - 1 : least_less_one;
		greatest = word > greatest ? word : greatest;
		count += word != 0;
		others |= word >> 52 == WORD_RESERVED;
	}
	return (struct words_seen){least_less_one + 1, greatest, count, others != 0};
}

static void
empty_words_from_bound(struct recovery *recovery, const char *bytes)
{
	const struct layout *layout = &recovery->tree->layout;

	for (unsigned i = 1; i <= layout->slots; i++) {
		uint64_t *slot = slot_at(layout, bytes, i);

		if (*slot != 0 && !is_below_word(&recovery->bound, *slot, layout->key_size))
			empty_slot(recovery, slot);
	}
}

/* False: the leaf also has other records, and recovery has only set fingerprints. */
static bool
look_at_words(struct recovery *recovery, struct summary *leaf, struct leaf *line, char *bytes)
{
	const struct layout *layout = &recovery->tree->layout;
	struct words_seen seen = see_words(layout, bytes, line);

	if (seen.has_others)
		return false;
	if (!is_below_word(&recovery->bound, seen.greatest, layout->key_size)) {
		empty_words_from_bound(recovery, bytes);
		seen = see_words(layout, bytes, line);
	}
	leaf->is_plain = true;
	leaf->has_records = seen.count != 0;
	leaf->least = seen.least;
	leaf->greatest = seen.greatest;
	recovery->tree->recovered += seen.count;
	return true;
}

/* --- any leaf --- */

static int
mark_blob(struct recovery *recovery, const struct record *record)
{
	if (record->blob != 0 && !heap_mark_blob(recovery->tree->heap, record->blob))
		return damaged(
			recovery, "a record refers to an offset without a blob", record->blob);
	return NB_OK;
}

/*
 * Check a reference before it is followed: it must lead into space for blobs that is large
 * enough for the blob's sizes.
 */
static bool
is_blob_sound(const struct nb_db *tree, const uint64_t *slot)
{
	uint64_t offset = tree->layout.format == LEAF_WORDS
		? (word_is_blob(*slot) ? blob_of_word(*slot) : 0)
		: (cell_kind(*slot) == CELL_BLOB ? cell_blob(*slot) : 0);
	uint64_t room = offset == 0 ? 0 : heap_blob_room(tree->heap, offset);
	const struct blob *blob = (const void *)(tree->base + offset);

	if (offset == 0)
		return true;
	return offset % sizeof(uint64_t) == 0 && room >= sizeof(*blob) && blob->key_size != 0 &&
		blob->key_size <= room - sizeof(*blob) &&
		blob->value_size <= room - sizeof(*blob) - blob->key_size;
}

/* Does an earlier record of the leaf have the same key? */
static bool
is_twice(const struct recovery *recovery, const struct leaf *line, unsigned count,
	const struct record *record, uint8_t fingerprint)
{
	for (unsigned i = 0; i < count; i++)
		if (line->fp[recovery->records[i].slot] == fingerprint &&
			record_compare(&recovery->records[i], record) == 0)
			return true;
	return false;
}

static bool
is_below_bound(const struct bound *bound, const struct record *record)
{
	return !bound->is_set || record_compare(record, &bound->record) < 0;
}

static int
look_at_records(struct recovery *recovery, struct summary *leaf, struct leaf *line, char *bytes)
{
	const struct nb_db *tree = recovery->tree;
	const struct layout *layout = &tree->layout;
	const struct record *least = NULL;
	unsigned count = 0;

	for (unsigned i = 1; i <= layout->slots; i++) {
		struct record *record = &recovery->records[count];
		uint64_t *slot = slot_at(layout, bytes, i);
		uint8_t fingerprint;
		int answer;

		line->fp[i] = 0;
		if (!is_blob_sound(tree, slot))
			return damaged(recovery,
				"a reference leads to an offset without a blob",
				(uint64_t)((char *)slot - tree->base));
		if (!record_read(record, layout, tree->base, bytes, i,
			    recovery->linear + (size_t)count * layout->inline_room)) {
			if (*slot != 0)
				empty_slot(recovery, slot);
			continue;
		}
		fingerprint = fingerprint_of(
			hash_of(record->key, record->key_size, record->word));
		if (!is_below_bound(&recovery->bound, record) ||
			is_twice(recovery, line, count, record, fingerprint)) {
			empty_slot(recovery, slot);
			continue;
		}
		answer = mark_blob(recovery, record);
		if (answer != NB_OK)
			return answer;
		line->fp[i] = fingerprint;
		if (least == NULL || record_compare(record, least) < 0) {
			least = record;
			leaf->least = record->word;
		}
		leaf->greatest = record->word > leaf->greatest ? record->word : leaf->greatest;
		recovery->tree->recovered++;
		count++;
	}
	leaf->has_records = count != 0;
	return NB_OK;
}

/* --- the chain, from its end --- */

/* Read the least record of a leaf that has records. */
static void
read_least(const struct recovery *recovery, const struct summary *leaf, struct record *record,
	uint8_t *room)
{
	const struct nb_db *tree = recovery->tree;
	const char *bytes = tree->base + leaf->offset;
	struct record *other = &recovery->records[tree->layout.slots];
	uint8_t *other_room = recovery->linear +
		(size_t)tree->layout.slots * tree->layout.inline_room;
	unsigned least = 0;

	for (unsigned i = 1; i <= tree->layout.slots; i++) {
		if (!record_read(other, &tree->layout, tree->base, bytes, i, other_room) ||
			other->word != leaf->least ||
			(least != 0 && record_compare(other, record) > 0))
			continue;
		least = i;
		record_read(record, &tree->layout, tree->base, bytes, i, room);
	}
}

/* All earlier leaves must end below the least record of this one. */
static void
set_bound(struct recovery *recovery, const struct summary *leaf)
{
	const struct layout *layout = &recovery->tree->layout;
	struct bound *bound = &recovery->bound;

	bound->is_set = true;
	if (layout->format == LEAF_WORDS && leaf->is_plain)
		bound->record = (struct record){
			.word = leaf->least, .key_size = layout->key_size};
	else
		read_least(recovery, leaf, &bound->record, bound->room);
}

/* Prefetch a leaf that is checked soon. */
static void
prefetch_ahead(const struct recovery *recovery, size_t i)
{
	const struct nb_db *tree = recovery->tree;
	const char *bytes;

	if (i < 2 || tree->layout.format != LEAF_WORDS)
		return;
	bytes = tree->base + recovery->leaves[i - 2].offset;
	for (uint32_t line = 0; line < tree->layout.leaf_lines; line++)
		__builtin_prefetch(bytes + (size_t)line * PM_LINE);
}

static int
look_at_leaf(struct recovery *recovery, struct summary *leaf, struct leaf *line)
{
	struct nb_db *tree = recovery->tree;
	char *bytes = tree->base + leaf->offset;

	if (tree->layout.format == LEAF_WORDS && look_at_words(recovery, leaf, line, bytes))
		return NB_OK;
	return look_at_records(recovery, leaf, line, bytes);
}

/*
 * Check all leaves from the last to the first. `next` links the leaves that stay: the first
 * one, and those with records.
 */
static int
look_at_chain(struct recovery *recovery)
{
	struct nb_db *tree = recovery->tree;
	uint64_t next = 0;

	for (size_t i = recovery->count; i-- > 0;) {
		struct summary *leaf = &recovery->leaves[i];
		char *bytes = tree->base + leaf->offset;
		struct leaf *line = leaf_line(tree, child_at(leaf->offset));
		int answer;

		prefetch_ahead(recovery, i);
		answer = look_at_leaf(recovery, leaf, line);
		if (answer != NB_OK)
			return answer;
		if (!leaf->has_records && i > 0) {
			line->version |= VERSION_OBSOLETE;
			continue;
		}
		if (leaf->has_records)
			set_bound(recovery, leaf);
		if (*leaf_next(bytes) != next) {
			pm_store64(leaf_next(bytes), next);
			pm_flush_line(recovery->pm, bytes);
		}
		next = leaf->offset;
	}
	pm_fence(recovery->pm);
	return NB_OK;
}

/* Free the unlinked leaves, and remove them from the list. */
static void
drop_empty(struct recovery *recovery, struct heap_cache *cache)
{
	size_t kept = 1;

	for (size_t i = 1; i < recovery->count; i++) {
		if (recovery->leaves[i].has_records)
			recovery->leaves[kept++] = recovery->leaves[i];
		else
			heap_leaf_free(cache, recovery->leaves[i].offset);
	}
	recovery->count = kept;
}

/* --- inner nodes, level by level --- */

/* The children of one level, and the separators between each and its predecessor. */
struct level {
	uint64_t *children;
	struct separator *separators; /* [0] is unused */
	size_t count;
};

static bool
level_new(struct level *level, size_t count)
{
	level->children = malloc(count * sizeof(*level->children));
	level->separators = calloc(count, sizeof(*level->separators));
	level->count = count;
	return level->children != NULL && level->separators != NULL;
}

static void
level_free(struct level *level)
{
	free(level->children);
	free(level->separators);
}

static bool
separate_leaves(struct recovery *recovery, struct level *level)
{
	for (size_t i = 0; i < level->count; i++) {
		const struct summary *leaf = &recovery->leaves[i], *before = leaf - 1;
		struct record *right = &recovery->records[0];

		level->children[i] = child_at(leaf->offset);
		if (i == 0)
			continue;
		level->separators[i] = (struct separator){leaf->least, NULL};
		if (!before->has_records || before->greatest < leaf->least)
			continue;
		read_least(recovery, leaf, right, recovery->linear);
		if (!separator_between(&level->separators[i], before->greatest, right->word,
			    right->key, right->key_size))
			return false;
	}
	return true;
}

/* The number of the `left` children for the next node. All nodes get nearly the same number. */
static size_t
children_of_next(size_t left, size_t nodes)
{
	return (left + nodes - 1) / nodes;
}

/*
 * Make a node for each run of children, at most seven eighths full. The nodes are the level
 * above.
 */
static bool
build_level(struct nb_db *tree, const struct level *below, uint32_t height, struct level *above)
{
	size_t most = tree->shape.fanout - tree->shape.fanout / 8;
	size_t nodes = (below->count + most - 1) / most, at = 0;

	if (!level_new(above, nodes))
		return false;
	for (size_t i = 0; i < nodes; i++) {
		struct inner *node = inner_new(&tree->inners, height);
		size_t count = children_of_next(below->count - at, nodes - i);

		if (node == NULL)
			return false;
		above->children[i] = (uint64_t)(uintptr_t)node;
		above->separators[i] = below->separators[at];
		inner_set_child(&tree->shape, node, 0, below->children[at]);
		for (size_t j = 1; j < count; j++) {
			if (below->separators[at + j].tail != NULL &&
				!inner_reserve_tails(&tree->shape, node))
				return false;
			inner_add(&tree->shape, node, node->count, below->separators[at + j],
				below->children[at + j]);
		}
		at += count;
		tree->inner_nodes++;
	}
	return true;
}

/*
 * If memory runs out, the nodes made so far leak. The open then fails, and with it the
 * process.
 */
static int
build_inner(struct recovery *recovery)
{
	struct nb_db *tree = recovery->tree;
	struct level below = {0}, above = {0};
	int answer = NB_OK;

	if (!level_new(&below, recovery->count) || !separate_leaves(recovery, &below))
		answer = tree_no_memory(tree, "the list of leaves");
	for (uint32_t height = 0; answer == NB_OK && tree->root == NULL; height++) {
		if (!build_level(tree, &below, height, &above))
			answer = tree_no_memory(tree, "inner nodes");
		else if (above.count == 1)
			tree->root = (struct inner *)(uintptr_t)above.children[0];
		level_free(&below);
		below = above;
		above = (struct level){0};
	}
	if (answer == NB_OK)
		tree->height = tree->root->level + 2;
	level_free(&below);
	level_free(&above);
	return answer;
}

static int
recover(struct recovery *recovery)
{
	struct nb_db *tree = recovery->tree;
	struct heap_cache *cache;
	int answer = walk_chain(recovery);

	if (answer == NB_OK)
		answer = look_at_chain(recovery);
	if (answer != NB_OK)
		return answer;
	heap_recovered(tree->heap);
	cache = heap_cache_new(tree->heap);
	if (cache == NULL)
		return tree_no_memory(tree, "its lists");
	drop_empty(recovery, cache);
	heap_cache_delete(cache);
	return build_inner(recovery);
}

int
tree_recover(struct nb_db *tree, struct pm *pm)
{
	size_t slots = tree->layout.slots + 1;
	struct recovery recovery = {
		.tree = tree,
		.pm = pm,
		.records = malloc(slots * sizeof(struct record)),
		.linear = malloc(slots * tree->layout.inline_room + 1),
		.bound.room = malloc(tree->layout.inline_room + 1),
	};
	int answer;

	if (recovery.records == NULL || recovery.linear == NULL || recovery.bound.room == NULL)
		answer = tree_no_memory(tree, "the recovery");
	else
		answer = recover(&recovery);
	free(recovery.records);
	free(recovery.linear);
	free(recovery.bound.room);
	free(recovery.leaves);
	return answer;
}
