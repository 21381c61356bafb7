/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_INNER_H
#define FPTREE_INNER_H
/**
 * Inner nodes: in memory only, rebuilt from the leaves at each open.
 *
 * A node has `count` separators and one child more. Child i holds the keys from separator i -
 * 1 on and below separator i. A separator is a word. It stands for the least key that begins
 * with that word, because most neighbours differ in their first eight bytes. If both
 * neighbours share these bytes, the separator also has a tail: the whole key.
 *
 * A child of a node of level 0 is a leaf. The upper half of the word is the number of the
 * leaf's line in memory. The lower half is the line of the pool at which the leaf begins.
 * Both are known before either is read, so their cache misses overlap.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>

#include "../common/slab.h"
#include "key.h"
#include "version.h"

/** The whole key of a separator. Never changes; freed an epoch after it was unlinked. */
struct tail {
	uint32_t size;
	uint8_t bytes[];
};

struct inner_store;

struct inner {
	uint64_t version;
	uint32_t level; /* 0: the children are leaves. Never changes */
	uint32_t count;
	struct tail **tails;       /* one per separator, or NULL; NULL: none has a tail */
	struct inner_store *store; /* that owns the node. Never changes */
	uint64_t words[]
		__attribute__((aligned(64))); /* children_at words, then the children */
};

/** The dimensions of every node of a tree, from the fan-out. */
struct inner_shape {
	unsigned fanout;
	unsigned children_at; /* index into words[] of child 0 */
};

/** The memory of a tree's nodes, on huge pages: otherwise a descent misses the TLB. */
struct inner_store {
	struct slab *slab;
	pthread_mutex_t lock; /* protects `cache`; few operations allocate a node */
	struct slab_cache cache;
	size_t node_bytes;
};

struct separator {
	uint64_t word;
	struct tail *tail;
};

static inline uint64_t *
inner_children(const struct inner_shape *shape, const struct inner *node)
{
	return (uint64_t *)(uintptr_t)&node->words[shape->children_at];
}

static inline struct tail **
inner_tails(const struct inner *node)
{
	return __atomic_load_n(&node->tails, __ATOMIC_ACQUIRE);
}

static inline struct tail *
inner_tail(struct tail **tails, unsigned i)
{
	return tails == NULL ? NULL : __atomic_load_n(&tails[i], __ATOMIC_ACQUIRE);
}

/** The child word of leaf number `descriptor`, which begins at line `line` of the pool. */
static inline uint64_t
child_of(uint64_t descriptor, uint64_t line)
{
	return descriptor << 32 | line;
}

/**
 * Compare the key with a separator that has the same word: < 0 if the key is less. Without a
 * tail, the separator is the word without its trailing zeros. No key with this word is less
 * than that.
 */
static inline int
key_against(const struct key *key, uint64_t word, const struct tail *tail)
{
	unsigned least;

	if (tail != NULL)
		return key_compare(word, key->data, key->size, word, tail->bytes, tail->size);
	least = word == 0 ? 0 : 8 - (unsigned)__builtin_ctzll(word) / 8;
	return key->size > least;
}

/**
 * The index of the first separator above the key, or with `or_equal` not below it. It
 * searches lo <= i < hi, which all have the key's word. hi: none found.
 */
unsigned
inner_find_among(
	struct tail **tails, const struct key *key, unsigned lo, unsigned hi, bool or_equal);

/** False: out of memory. */
bool
inner_store_open(struct inner_store *store, const struct inner_shape *shape);

/** The caller has deleted all nodes. */
void
inner_store_close(struct inner_store *store);

/** Allocate a node without separators. NULL: out of memory. Any thread. */
struct inner *
inner_new(struct inner_store *store, uint32_t level);

/** Free the node, but not its children or tails. NULL: do nothing. Any thread. */
void
inner_delete(struct inner *node);

/**
 * Set *out to the separator of two neighbours, left < right; its tail is new. False: out of
 * memory.
 */
bool
separator_between(struct separator *out, uint64_t left_word, uint64_t right_word,
	const uint8_t *right, size_t right_size);

/*
 * Call these with the node locked, or before other threads can see it. A function that needs
 * memory allocates it first. If it cannot, it returns false and changes nothing.
 */

/** Allocate room for tails, unless the node has it. False: out of memory. */
bool
inner_reserve_tails(const struct inner_shape *shape, struct inner *node);

/**
 * Insert the separator at i and the child at its right. The node has room, and for a
 * separator with a tail inner_reserve_tails() was called.
 */
void
inner_add(const struct inner_shape *shape, struct inner *node, unsigned i,
	struct separator separator, uint64_t child);

/** Remove separator i and the child at its right. */
void
inner_remove(const struct inner_shape *shape, struct inner *node, unsigned i);

/** Move the upper half to `to`, a new node. *middle becomes the separator between the two. */
bool
inner_split(const struct inner_shape *shape, struct inner *node, struct inner *to,
	struct separator *middle);

/** Append `separator` and all of `from`, which does not change. The node has room for both. */
bool
inner_append(const struct inner_shape *shape, struct inner *node, struct separator separator,
	const struct inner *from);

#endif /* FPTREE_INNER_H */
