/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_DESCEND_H
#define FPTREE_DESCEND_H
/**
 * From the root to the leaf that a key belongs to, without a lock: the version of
 * each node is read before anything of it, and checked after the version of the
 * child has been read, so the child was this node's when its version held.
 */
#include "internal.h"
#include "search.h"

/** Index of the child that the key belongs to; `is_below`: that the keys below it do. */
static inline unsigned
child_for(const struct inner_shape *shape, const struct inner *node, const struct key *key,
	bool is_below)
{
	unsigned count = racy_load32(&node->count);
	unsigned up_to = words_up_to(node->words, shape->children_at, count, key->word);
	struct tail **tails = inner_tails(node);

	if (__builtin_expect(tails == NULL && !is_below, 1))
		return up_to;
	if (up_to == 0 || racy_load64(&node->words[up_to - 1]) != key->word)
		return up_to;
	unsigned below = key->word == 0
		? 0
		: words_up_to(node->words, shape->children_at, count, key->word - 1);
	return inner_find_among(tails, key, below, up_to, is_below);
}

/** The root and its version. */
static inline struct inner *
root_of(const struct tree *tree, uint64_t *version)
{
	for (;;) {
		struct inner *root = __atomic_load_n(&tree->root, __ATOMIC_ACQUIRE);

		*version = version_read(&root->version);
		if (__atomic_load_n(&tree->root, __ATOMIC_ACQUIRE) == root)
			return root;
	}
}

/** One try; false: a writer was met, begin again. */
static inline bool
descend_once(const struct tree *tree, const struct key *key, struct place *place, bool is_below)
{
	uint64_t version;
	struct inner *node = root_of(tree, &version);

	for (;;) {
		unsigned i = child_for(&tree->shape, node, key, is_below);
		uint64_t child = __atomic_load_n(
			&inner_children(&tree->shape, node)[i], __ATOMIC_ACQUIRE);
		struct inner *next;
		uint64_t next_version;

		if (node->level == 0) {
			*place = (struct place){node, version, i, child};
			return true;
		}
		next = (struct inner *)(uintptr_t)child;
		if (!version_holds(&node->version, version))
			return false;
		next_version = version_read(&next->version);
		if (!version_holds(&node->version, version))
			return false;
		node = next;
		version = next_version;
	}
}

/**
 * The leaf that the key belongs to, *if* place->parent's version still holds when the
 * leaf's has been read. In an epoch.
 */
static inline void
descend(struct tree_session *session, const struct key *key, struct place *place)
{
	while (!descend_once(session->tree, key, place, false))
		count_one(&session->counts.restarts);
}

#endif /* FPTREE_DESCEND_H */
