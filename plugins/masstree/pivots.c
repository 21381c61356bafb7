/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys that divide the tree for parallel scans. The keys of inner nodes are an even sample of
 * all keys. The function collects, in order, the keys of the level nearest to the root that has
 * enough of them. The keys may come from different moments, because any slices divide the tree.
 */
#include "internal.h"

enum { COLLECTED = 4096 };

struct collected {
	uint64_t keys[COLLECTED];
	size_t count;
};

static void
add_key(struct collected *to, uint64_t key)
{
	if (to->count < COLLECTED && (to->count == 0 || key > to->keys[to->count - 1]))
		to->keys[to->count++] = key;
}

/* The caller is in an epoch, so every node that it reaches through a pointer still exists. */
static void
collect(struct node *node, unsigned depth, struct collected *to)
{
	struct inner *inner = (struct inner *)node;
	uint64_t version = version_read(&node->version);

	if (version_is_leaf(version))
		return;
	for (unsigned i = 0; i <= version_count(version); i++) {
		if (depth > 0)
			collect(node_load(&inner->children[i]), depth - 1, to);
		if (i < version_count(version))
			add_key(to, racy_load64(&inner->keys[i]));
	}
}

size_t
mt_pivots(struct nb_session *session, uint64_t *pivots, size_t room)
{
	struct collected *all = malloc(sizeof(*all));
	size_t count = 0;

	if (all == NULL)
		return 0;
	all->count = 0;
	for (unsigned depth = 0; depth < 3 && all->count < 4 * room; depth++) {
		all->count = 0;
		epoch_enter(session->epoch);
		collect(root_load(&session->tree->anchor.root), depth, all);
		epoch_exit(session->epoch);
	}
	for (size_t i = 0; i < room; i++) {
		size_t at = (i + 1) * all->count / (room + 1);
		if (at < all->count && (count == 0 || all->keys[at] > pivots[count - 1]))
			pivots[count++] = all->keys[at];
	}
	free(all);
	return count;
}
