/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_INNER_H
#define FPTREE_INNER_H
/**
 * Inner nodes: in memory only, rebuilt from the leaves at each open.
 *
 * A node has `count` separators and one more child: child i holds the keys from
 * separator i - 1 on and below separator i. A separator is a word, which stands for
 * the least key that begins with that word, since most pairs of neighbours differ in
 * their first eight bytes; only where both sides share them it has a tail, the whole
 * key.
 *
 * A child of a node of level 0 is a leaf: its line of memory in the upper half, the
 * line of the pool at which it begins in the lower one. Both are known so before either is
 * read, and their cache misses overlap.
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
	struct tail **tails; /* of each separator, NULL if it has none; NULL: none has any */
	struct inner_store *store; /* that it is of. Never changes */
	uint64_t words[]
		__attribute__((aligned(64))); /* room for `fanout`, then the children */
};

/** Of all nodes of a tree: what follows from the fan-out. */
struct inner_shape {
	unsigned fanout;
	unsigned children_at; /* index into words[] of child 0 */
};

/** Where the nodes of a tree are: on huge pages, since a descent misses the TLB otherwise. */
struct inner_store {
	struct slab *slab;
	pthread_mutex_t lock; /* of the cache: nodes come and go rarely */
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

/** Of leaf number `descriptor`, whose half in the pool begins at line `line`. */
static inline uint64_t
child_of(uint64_t descriptor, uint64_t line)
{
	return descriptor << 32 | line;
}

/**
 * The key against a separator whose word is equal to its own: < 0 if it is less. Without a
 * tail the separator is the word without its trailing zeros, which no such key is below.
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
 * Of the separators lo <= i < hi, which share the key's word, the first that is above
 * the key, or with `or_equal` not below it; hi: none is.
 */
unsigned
inner_find_among(
	struct tail **tails, const struct key *key, unsigned lo, unsigned hi, bool or_equal);

/** False: out of memory. */
bool
inner_store_open(struct inner_store *store, const struct inner_shape *shape);

/** Every node has been deleted. */
void
inner_store_close(struct inner_store *store);

/** A new node without separators. NULL: out of memory. Any thread. */
struct inner *
inner_new(struct inner_store *store, uint32_t level);

/** Frees the node, not its children or tails. NULL: nothing. Any thread. */
void
inner_delete(struct inner *node);

/** What separates two neighbours, left < right: *out, whose tail is new. False: out of memory. */
bool
separator_between(struct separator *out, uint64_t left_word, uint64_t right_word,
	const uint8_t *right, size_t right_size);

/*
 * Under the node's lock, or before anybody sees it. What takes memory takes it first and
 * returns false without a change.
 */

/** Make sure that separators with a tail can be added to the node. */
bool
inner_reserve_tails(const struct inner_shape *shape, struct inner *node);

/** Put the separator at i and the child at its right. It has room, and was reserved for. */
void
inner_add(const struct inner_shape *shape, struct inner *node, unsigned i,
	struct separator separator, uint64_t child);

/** Take separator i and the child at its right away. */
void
inner_remove(const struct inner_shape *shape, struct inner *node, unsigned i);

/** Move the upper half to `to`, a new node; *middle is what now separates the two. */
bool
inner_split(const struct inner_shape *shape, struct inner *node, struct inner *to,
	struct separator *middle);

/** Append `separator` and all of `from`, which stays as it is. There is room for it. */
bool
inner_append(const struct inner_shape *shape, struct inner *node, struct separator separator,
	const struct inner *from);

#endif /* FPTREE_INNER_H */
