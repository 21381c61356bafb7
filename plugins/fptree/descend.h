/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_DESCEND_H
#define FPTREE_DESCEND_H
/**
 * The descent from the root to the leaf that a key belongs to, without a lock. It reads the
 * version of a node before the node's content. It checks that version again after it has read
 * the version of the child. So the child belonged to the node when the child's version was
 * read.
 */
#include "internal.h"
#include "search.h"

/*
 * child_for() for a node in which a separator may have the key's word. It takes no struct
 * key, which would have to be in memory for the call: see verbs.c.
 */
static __attribute__((noinline)) unsigned
child_by_tail(const struct inner_shape *shape, const struct inner *node, const void *data,
	size_t size, unsigned up_to, bool is_below)
{
	struct key key = key_of(data, size);
	unsigned count = racy_load32(&node->count), below;

	if (up_to == 0 || racy_load64(&node->words[up_to - 1]) != key.word)
		return up_to;
	below = key.word == 0
		? 0
		: words_up_to(node->words, shape->children_at, count, key.word - 1);
	return inner_find_among(inner_tails(node), &key, below, up_to, is_below);
}

/**
 * Index of the child that the key belongs to. With `is_below`: of the child that holds the
 * keys just below it.
 */
HOT_INLINE unsigned
child_for(const struct inner_shape *shape, const struct inner *node, const struct key *key,
	bool is_below)
{
	unsigned up_to = words_up_to(
		node->words, shape->children_at, racy_load32(&node->count), key->word);

	if (__builtin_expect(inner_tails(node) == NULL && !is_below, 1))
		return up_to;
	return child_by_tail(shape, node, key->data, key->size, up_to, is_below);
}

/** Return the root and set *version to its version. */
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

/** One attempt. False: it met a writer; begin again. */
HOT_INLINE bool
descend_once(const struct tree *tree, const struct key *key, struct place *place, bool is_below)
{
	uint64_t version;
	struct inner *node = root_of(tree, &version);

	for (;;) {
		const uint64_t *children = inner_children(&tree->shape, node);
		unsigned i;
		uint64_t child;
		struct inner *next;
		uint64_t next_version;

		if (node->level == 0)
			prefetch_children(children, tree->shape.children_at);
		i = child_for(&tree->shape, node, key, is_below);
		child = __atomic_load_n(&children[i], __ATOMIC_ACQUIRE);
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
 * Find the leaf that the key belongs to. The result holds only if the version of
 * place->parent is unchanged after the caller has read the leaf's version. Call it inside an
 * epoch.
 */
HOT_INLINE void
descend(struct tree_session *session, const struct key *key, struct place *place)
{
	while (!descend_once(session->tree, key, place, false))
		count_one(&session->counts.restarts);
}

#endif /* FPTREE_DESCEND_H */
