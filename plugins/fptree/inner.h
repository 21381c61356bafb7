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
 * A search compares scaled words: 16 bits each, see inner_scale(). Only if the key and a
 * separator are equal when scaled does it compare whole words. A node of level 0 thus has
 * its scaled words and its children in six lines. So all nodes of some million records stay
 * in a cache of level 2, although each lookup also brings the lines of a leaf into it.
 *
 * A child of a node of level 0 is a leaf: the 32-bit number of the pool's line at which it
 * begins. A child of another node is a pointer.
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
	uint64_t base; /* see inner_scale() */
	uint32_t shift;
	struct tail **tails;       /* one per separator, or NULL; NULL: none has a tail */
	struct inner_store *store; /* that owns the node. Never changes */
	uint16_t spare[7], guard;  /* guard: SCALED_UNUSED. Precedes scaled[0] */
	uint16_t scaled[] __attribute__((aligned(64))); /* `room` */
	/* then `room` children, then `room` words */
};

_Static_assert(
	offsetof(struct inner, guard) + sizeof(uint16_t) == offsetof(struct inner, scaled),
	"guard precedes scaled[0]");

/** The dimensions of every node of a tree, from the fan-out. */
struct inner_shape {
	unsigned fanout;
	unsigned room; /* at least `fanout`, a multiple of INNER_UNIT */
};

enum {
	INNER_UNIT = 32, /* scaled words of a line */
	SCALED_UNUSED = 0xffff,
	SCALED_MAX = 0xfffe,
};

/** The memory of a tree's nodes, on huge pages: otherwise a descent misses the TLB. */
struct inner_store {
	struct slab *slab;
	pthread_mutex_t lock; /* protects `cache`; few operations allocate a node */
	struct slab_cache cache;
	unsigned room;
};

struct separator {
	uint64_t word;
	struct tail *tail;
};

static inline size_t
inner_child_bytes(uint32_t level)
{
	return level == 0 ? sizeof(uint32_t) : sizeof(uint64_t);
}

static inline const void *
inner_children(unsigned room, const struct inner *node)
{
	return &node->scaled[room];
}

static inline uint64_t
inner_child(const struct inner_shape *shape, const struct inner *node, unsigned i)
{
	const void *children = inner_children(shape->room, node);

	return node->level == 0
		? __atomic_load_n((const uint32_t *)children + i, __ATOMIC_ACQUIRE)
		: __atomic_load_n((const uint64_t *)children + i, __ATOMIC_ACQUIRE);
}

/** The scaled separator at the left of child i; of child 0: SCALED_UNUSED. */
static inline uint16_t
inner_scaled_before(const struct inner *node, unsigned i)
{
	const char *guard = (const char *)node + offsetof(struct inner, guard);

	return racy_load16((const uint16_t *)(const void *)guard + i);
}

static inline uint64_t *
inner_words(const struct inner_shape *shape, const struct inner *node)
{
	return (uint64_t *)((uintptr_t)inner_children(shape->room, node) +
		shape->room * inner_child_bytes(node->level));
}

/**
 * Scale a word to 16 bits: its distance from `base` in units of 2^shift. A greater word is
 * never scaled to less. If `base` or `shift` is changing, the result has no meaning.
 */
static inline uint16_t
inner_scale(const struct inner *node, uint64_t word)
{
	uint64_t base = racy_load64(&node->base);
	uint64_t above = (word < base ? 0 : word - base) >> racy_load32(&node->shift);

	return (uint16_t)(above < SCALED_MAX ? above : SCALED_MAX);
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

/** The number of the `count` words that are at most `word`. */
unsigned
inner_words_up_to(const uint64_t *words, unsigned count, uint64_t word);

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

/** Change a child. */
void
inner_set_child(
	const struct inner_shape *shape, struct inner *node, unsigned i, uint64_t child);

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
