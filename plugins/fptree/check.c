/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The consistency check of a tree that no thread is changing, in the pool and in memory. It
 * is for tests. It follows the definitions, not the code that maintains them. It visits and
 * compares everything, so it is slow.
 */
#include "descend.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct check {
	struct nb_db *tree;
	char *what;
	size_t room;
	bool is_broken;
	uint64_t expected; /* offset of the next leaf in the chain */
	uint64_t leaves, blobs, nodes;
	int64_t records;
	struct record *seen; /* records of one leaf */
	uint8_t *linear;
};

static void __attribute__((format(printf, 2, 3)))
broken(struct check *check, const char *fmt, ...)
{
	va_list args;

	if (check->is_broken)
		return;
	check->is_broken = true;
	va_start(args, fmt);
	vsnprintf(check->what, check->room, fmt, args);
	va_end(args);
}

/* Convert a separator to a key. `room` takes 8 bytes. */
static struct key
key_of_separator(const struct separator *separator, uint8_t *room)
{
	size_t size = 8;

	if (separator->tail != NULL)
		return key_of(separator->tail->bytes, separator->tail->size);
	word_to_bytes(room, separator->word, size);
	while (size > 0 && room[size - 1] == 0)
		size--;
	return key_of(room, size);
}

static int
compare_keys(const struct key *a, const struct key *b)
{
	return key_compare(a->word, a->data, a->size, b->word, b->data, b->size);
}

static void
check_record(struct check *check, const struct record *record, uint64_t offset,
	const struct leaf *line, const struct key *low, const struct key *high)
{
	struct key key = key_of(record->key, record->key_size);

	if (line->fp[record->slot] != fingerprint_of(key.hash))
		broken(check, "leaf %#lx slot %u: fingerprint %u, not %u",
			(unsigned long)offset, record->slot, line->fp[record->slot],
			fingerprint_of(key.hash));
	if (low != NULL && compare_keys(&key, low) < 0)
		broken(check, "leaf %#lx slot %u: key below its leaf", (unsigned long)offset,
			record->slot);
	if (high != NULL && compare_keys(&key, high) >= 0)
		broken(check, "leaf %#lx slot %u: key above its leaf", (unsigned long)offset,
			record->slot);
	check->blobs += record->blob != 0;
}

static void
check_leaf(struct check *check, uint64_t child, const struct key *low, const struct key *high)
{
	const struct nb_db *tree = check->tree;
	const struct layout *layout = &tree->layout;
	const struct leaf *line = leaf_line(tree, child);
	char *bytes = leaf_bytes(tree, child);
	uint64_t offset = (uint64_t)(bytes - tree->base);
	unsigned count = 0;

	if (offset != check->expected)
		broken(check, "leaf %#lx is where the chain has %#lx", (unsigned long)offset,
			(unsigned long)check->expected);
	if ((line->version & (VERSION_LOCKED | VERSION_OBSOLETE)) != 0)
		broken(check, "leaf %#lx is locked or obsolete", (unsigned long)offset);
	for (unsigned i = 1; i <= layout->slots; i++) {
		struct record *record = &check->seen[count];
		bool is_there = record_read(record, layout, tree->base, bytes, i,
			check->linear + (size_t)count * layout->inline_room);

		if (is_there != (line->fp[i] != 0) ||
			(!is_there && *slot_at(layout, bytes, i) != 0))
			broken(check, "leaf %#lx slot %u: %s, fingerprint %u",
				(unsigned long)offset, i, is_there ? "a record" : "none",
				line->fp[i]);
		if (!is_there)
			continue;
		check_record(check, record, offset, line, low, high);
		for (unsigned j = 0; j < count; j++)
			if (record_compare(&check->seen[j], record) == 0)
				broken(check, "leaf %#lx: slots %u and %u have one key",
					(unsigned long)offset, check->seen[j].slot, i);
		count++;
	}
	check->expected = *leaf_next(bytes);
	check->records += count;
	check->leaves++;
}

static void
check_node(struct check *check, const struct inner *node, const struct key *low,
	const struct key *high)
{
	const struct inner_shape *shape = &check->tree->shape;
	const uint64_t *words = inner_words(shape, node);
	struct key left = {0}, right = {0};
	uint8_t room[2][8];

	check->nodes++;
	if ((node->version & (VERSION_LOCKED | VERSION_OBSOLETE)) != 0)
		broken(check, "an inner node is locked or obsolete");
	if (node->count >= shape->fanout)
		broken(check, "an inner node has %u separators", node->count);
	for (unsigned i = 0; i < shape->room; i++)
		if (node->scaled[i] !=
			(i < node->count ? inner_scale(node, words[i]) : SCALED_UNUSED))
			broken(check, "scaled word %u of %u is wrong", i, node->count);
	for (unsigned i = 0; i <= node->count && !check->is_broken; i++) {
		const struct key *from = i == 0 ? low : &left, *to = high;

		if (i < node->count) {
			struct separator separator = {words[i], inner_tail(node->tails, i)};

			right = key_of_separator(&separator, room[i % 2]);
			to = &right;
			if (from != NULL && compare_keys(from, to) >= 0)
				broken(check, "separators are out of order");
		}
		if (node->level == 0)
			check_leaf(check, inner_child(shape, node, i), from, to);
		else
			check_node(check,
				(const struct inner *)(uintptr_t)inner_child(shape, node, i),
				from, to);
		left = right;
	}
}

/* Free the objects that only wait for an epoch to end: no session uses them. */
static void
release_retired(struct nb_db *tree)
{
	bool is_any_open = false;
	struct epoch_slot *slot;

	for (uint32_t i = 0; i < tree->sessions_max; i++) {
		slot = tree->sessions[i] == NULL ? NULL : tree->sessions[i]->epoch;
		is_any_open = is_any_open || slot != NULL;
		if (slot != NULL && slot->active == 0)
			epoch_reclaim(slot);
	}
	if (is_any_open || tree->sessions_max == 0)
		return;
	slot = epoch_open(tree->epochs, 0, tree->cache); /* frees what closed sessions left */
	if (slot != NULL)
		epoch_close(slot, tree->cache);
}

int64_t
tree_check(struct nb_db *tree, char *what, size_t room)
{
	size_t slots = tree->layout.slots + 1;
	struct heap_stats heap;
	struct check check = {
		.tree = tree,
		.what = what,
		.room = room,
		.expected = tree->pool->root->head,
		.seen = malloc(slots * sizeof(struct record)),
		.linear = malloc(slots * tree->layout.inline_room + 1),
	};

	if (check.seen == NULL || check.linear == NULL)
		broken(&check, "out of memory");
	else
		check_node(&check, tree->root, NULL, NULL);
	release_retired(tree);
	heap_stats(tree->heap, &heap);
	if (check.expected != 0)
		broken(&check, "the chain goes on at %#lx", (unsigned long)check.expected);
	if (check.nodes != tree->inner_nodes)
		broken(&check, "%lu inner nodes, counted %lu", (unsigned long)check.nodes,
			(unsigned long)tree->inner_nodes);
	if (heap.leaves != check.leaves)
		broken(&check, "%lu leaves are taken, %lu reachable",
			(unsigned long)heap.leaves, (unsigned long)check.leaves);
	if (heap.blobs != check.blobs)
		broken(&check, "%lu blobs are taken, %lu reachable", (unsigned long)heap.blobs,
			(unsigned long)check.blobs);
	free(check.seen);
	free(check.linear);
	return check.is_broken ? -1 : check.records;
}
