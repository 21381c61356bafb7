/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Check the invariants of the tree, for tests.
 */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A layer that remains to be checked. */
struct layer {
	struct node *root;
};

struct walk {
	struct layer *layers;
	size_t count, room;
	uint64_t records, leaves, inners, layer_count;
	char *what;
	size_t what_room;
};

/* Slices from `low` on and below `high`. Without has_high, the highest slice is included. */
struct bounds {
	uint64_t low, high;
	bool has_high;
};

static bool NB_PRINTF(2, 3) wrong(struct walk *walk, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(walk->what, walk->what_room, fmt, args);
	va_end(args);
	return false;
}

static bool
add_layer(struct walk *walk, struct node *root)
{
	if (walk->count == walk->room) {
		size_t room = walk->room == 0 ? 64 : 2 * walk->room;
		struct layer *layers = realloc(walk->layers, room * sizeof(*layers));
		if (layers == NULL)
			return wrong(walk, "out of memory");
		walk->layers = layers;
		walk->room = room;
	}
	walk->layers[walk->count++].root = root;
	return true;
}

static bool
check_order(struct walk *walk, const struct leaf *leaf)
{
	unsigned seen = 0;

	for (unsigned i = 0; i < ORDER_SLOTS; i++)
		seen |= 1u << order_slot(leaf->order, i);
	if (seen != (1u << ORDER_SLOTS) - 1 || leaf->order >> 60 != 0)
		return wrong(walk, "order %llx", (unsigned long long)leaf->order);
	if (order_count(leaf->order) > leaf_slots(leaf->version))
		return wrong(walk, "%u records in a leaf for %u", order_count(leaf->order),
			leaf_slots(leaf->version));
	return true;
}

static bool
check_entry(struct walk *walk, const struct entry *entry, const struct entry *before,
	const struct bounds *bounds)
{
	if (entry->slice < bounds->low || (bounds->has_high && entry->slice >= bounds->high))
		return wrong(walk, "a slice beyond the bounds of its leaf");
	if (before != NULL &&
		(before->slice > entry->slice ||
			(before->slice == entry->slice &&
				before->klen >= (entry->klen < KLEN_LAYER ? entry->klen
									  : KLEN_SUFFIX))))
		return wrong(walk, "records out of order");
	if (entry->klen == KLEN_LAYER) {
		walk->layer_count++;
		return add_layer(walk, (struct node *)record_at(entry->word));
	}
	walk->records++;
	if (vlen_is_absent(entry->vlen))
		return wrong(walk, "a key without a value, which no list removed");
	if (entry->klen == 0 || entry->klen > KLEN_SUFFIX || entry->vlen > VLEN_RECORD)
		return wrong(walk, "lengths %u and %u", entry->klen, entry->vlen);
	if (entry->klen < SLICE && entry->slice << (8 * entry->klen) != 0)
		return wrong(walk, "a slice has more than the key");
	if (entry->klen == KLEN_SUFFIX && entry->vlen != VLEN_RECORD)
		return wrong(walk, "a suffix without a record");
	if (entry->vlen == VLEN_RECORD &&
		(record_at(entry->word)->suffix_size != 0) != (entry->klen == KLEN_SUFFIX))
		return wrong(walk, "a record with the wrong suffix");
	return true;
}

static bool
check_leaf(struct walk *walk, struct leaf *leaf, const struct bounds *bounds, bool may_be_empty)
{
	struct entry entries[LEAF_SLOTS_MAX];

	walk->leaves++;
	if (!check_order(walk, leaf))
		return false;
	unsigned count = mt_leaf_entries(leaf, leaf->version, entries);
	if (count == 0 && !may_be_empty)
		return wrong(walk, "an empty leaf");
	for (unsigned i = 0; i < count; i++)
		if (!check_entry(walk, &entries[i], i > 0 ? &entries[i - 1] : NULL, bounds))
			return false;
	return true;
}

/* Returns the height of the node, 1 for a leaf. 0: an invariant is violated. */
static unsigned
check_node(struct walk *walk, struct node *node, const struct bounds *bounds, bool may_be_empty)
{
	struct inner *inner = (struct inner *)node;
	unsigned height = 0;

	if ((node->version & (NODE_LOCKED | NODE_DIRTY | NODE_OBSOLETE)) != 0) {
		wrong(walk, "a node is locked or obsolete");
		return 0;
	}
	if (version_is_leaf(node->version))
		return check_leaf(walk, (struct leaf *)node, bounds, may_be_empty);
	walk->inners++;
	unsigned count = version_count(node->version);
	for (unsigned i = 0; i <= count; i++) {
		struct bounds its = {i == 0 ? bounds->low : inner->keys[i - 1],
			i < count ? inner->keys[i] : bounds->high,
			i < count || bounds->has_high};
		if (its.has_high && its.high <= its.low) {
			wrong(walk, "keys of an inner node out of order");
			return 0;
		}
		unsigned below = check_node(walk, inner->children[i], &its, false);
		if (below == 0)
			return 0;
		if (height != 0 && height != below + 1) {
			wrong(walk, "children of different heights");
			return 0;
		}
		height = below + 1;
	}
	return height;
}

int64_t
mt_check(struct nb_db *tree, char *what, size_t room)
{
	struct walk walk = {.what = what, .what_room = room};
	const struct bounds all = {0, 0, false};
	struct mt_stats stats;
	bool is_right = add_layer(&walk, root_load(&tree->anchor.root));

	for (bool is_first = true; is_right && walk.count > 0; is_first = false)
		is_right = check_node(&walk, walk.layers[--walk.count].root, &all, is_first) !=
			0;
	free(walk.layers);
	mt_stats(tree, &stats);
	if (is_right && (tree->anchor.version & (NODE_LOCKED | NODE_DIRTY)) != 0)
		is_right = wrong(&walk, "the root is locked");
	if (is_right &&
		(walk.records != stats.records || walk.leaves != stats.leaves ||
			walk.inners != stats.inner_nodes || walk.layer_count != stats.layers))
		is_right = wrong(&walk,
			"counted %llu records, %llu leaves, %llu inner nodes, %llu layers, but they are %llu, %llu, %llu, %llu",
			(unsigned long long)stats.records, (unsigned long long)stats.leaves,
			(unsigned long long)stats.inner_nodes, (unsigned long long)stats.layers,
			(unsigned long long)walk.records, (unsigned long long)walk.leaves,
			(unsigned long long)walk.inners, (unsigned long long)walk.layer_count);
	return is_right ? (int64_t)walk.records : -1;
}
