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
 * child_for() by whole words, for a key that is equal to a separator when scaled. It takes no
 * struct key, which would have to be in memory for the call: see verbs.c.
 */
static __attribute__((noinline)) unsigned
child_by_words(const struct inner_shape *shape, const struct inner *node, const void *data,
	size_t size, bool is_below)
{
	struct key key = key_of(data, size);
	const uint64_t *words = inner_words(shape, node);
	unsigned count = racy_load32(&node->count), below;
	unsigned up_to = inner_words_up_to(words, count, key.word);
	struct tail **tails = inner_tails(node);

	if (up_to == 0 || racy_load64(&words[up_to - 1]) != key.word ||
		(tails == NULL && !is_below))
		return up_to;
	below = key.word == 0 ? 0 : inner_words_up_to(words, count, key.word - 1);
	return inner_find_among(tails, &key, below, up_to, is_below);
}

/** child_for() in a node with `room` for scaled words. */
HOT_INLINE unsigned
child_in_room(const struct inner_shape *shape, unsigned room, const struct inner *node,
	const struct key *key, bool is_below)
{
	uint16_t scaled = inner_scale(node, key->word);
	unsigned count = racy_load32(&node->count);
	unsigned up_to = scaled_up_to(node->scaled, room, scaled);

	/* More than `count` are found only while another thread changes the node. */
	up_to = up_to < count ? up_to : count;
	if (__builtin_expect(inner_scaled_before(node, up_to) == scaled, 0))
		return child_by_words(shape, node, key->data, key->size, is_below);
	return up_to;
}

/**
 * Index of the child that the key belongs to. With `is_below`: of the child that holds the
 * keys just below it.
 */
static inline unsigned
child_for(const struct inner_shape *shape, const struct inner *node, const struct key *key,
	bool is_below)
{
	return child_in_room(shape, shape->room, node, key, is_below);
}

/** Return the root and set *version to its version. */
static inline struct inner *
root_of(const struct nb_db *tree, uint64_t *version)
{
	for (;;) {
		struct inner *root = __atomic_load_n(&tree->root, __ATOMIC_ACQUIRE);

		*version = version_read(&root->version);
		if (__atomic_load_n(&tree->root, __ATOMIC_ACQUIRE) == root)
			return root;
	}
}

/* descend_once() in nodes with `room` for scaled words. */
HOT_INLINE bool
descend_in_room(const struct nb_db *tree, unsigned room, const struct key *key,
	struct place *place, bool is_below)
{
	const struct inner_shape *shape = &tree->shape;
	uint64_t version;
	struct inner *node = root_of(tree, &version);
	unsigned i;

	for (uint32_t level = node->level; level > 0; level--) {
		const uint64_t *children = inner_children(room, node);
		struct inner *next;
		uint64_t next_version;

		i = child_in_room(shape, room, node, key, is_below);
		next = (struct inner *)(uintptr_t)__atomic_load_n(
			&children[i], __ATOMIC_ACQUIRE);
		if (!version_holds(&node->version, version))
			return false;
		next_version = version_read(&next->version);
		if (!version_holds(&node->version, version))
			return false;
		node = next;
		version = next_version;
	}
	const uint32_t *leaves = inner_children(room, node);

	prefetch_children(leaves, room);
	i = child_in_room(shape, room, node, key, is_below);
	*place = (struct place){
		node, version, i, __atomic_load_n(&leaves[i], __ATOMIC_ACQUIRE)};
	return true;
}

/** One attempt. False: it met a writer; begin again. */
HOT_INLINE bool
descend_once(
	const struct nb_db *tree, const struct key *key, struct place *place, bool is_below)
{
	if (__builtin_expect(tree->shape.room == USUAL_ROOM, 1))
		return descend_in_room(tree, USUAL_ROOM, key, place, is_below);
	return descend_in_room(tree, tree->shape.room, key, place, is_below);
}

/**
 * Find the leaf that the key belongs to. The result holds only if the version of
 * place->parent is unchanged after the caller has read the leaf's version. Call it inside an
 * epoch.
 */
HOT_INLINE void
descend(struct nb_session *session, const struct key *key, struct place *place)
{
	while (!descend_once(session->tree, key, place, false))
		count_one(&session->counts.restarts);
}

#endif /* FPTREE_DESCEND_H */
