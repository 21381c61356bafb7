/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_NODE_H
#define MASSTREE_NODE_H
/**
 * Nodes: their contents, and their version words.
 *
 * The design follows *Cache Craftiness for Fast Multicore Key-Value Storage* (Mao, Kohler,
 * Morris, EuroSys 2012): a trie of B+-trees. Each tree is a layer, which indexes 8 bytes of the
 * keys, a slice, as a number. A leaf keeps the order of its records in one word, so one store
 * makes an insert visible.
 *
 * Differences: nodes have no links to their neighbours and parents. A writer notes the path to
 * its leaf and locks upwards along it. A scan visits the children of an inner node. So an inner
 * node takes 4 cache lines. A leaf with room for 4k - 2 records takes k lines, so small layers
 * have small leaves.
 *
 * The version word: bits 0 to 2 are the flags below, and bit 3 marks a leaf. Bits 4 to 7 are
 * the number of keys of an inner node or the number of lines of a leaf. The remaining bits
 * count changes. A reader reads the version, the data, and the version again: see
 * ../common/racy.h. Two changes are one store each and leave the version as it is: an insert,
 * and a new value that replaces one of the same size.
 */
#include "../common/racy.h"

enum {
	NODE_LOCKED = 1,   /* by a writer; readers ignore it */
	NODE_DIRTY = 2,    /* the node is being changed: readers wait */
	NODE_OBSOLETE = 4, /* unlinked, or replaced */
	NODE_LEAF = 8,
	NODE_COUNT_SHIFT = 4,
	NODE_COUNT = 15 << NODE_COUNT_SHIFT,
	NODE_STEP = 256
};

/* Test builds have smaller nodes, so a few keys change the structure all the time. */
#ifndef MASSTREE_INNER_KEYS
#define MASSTREE_INNER_KEYS 15
#endif
#ifndef MASSTREE_LEAF_LINES
#define MASSTREE_LEAF_LINES 4
#endif

enum {
	INNER_KEYS = MASSTREE_INNER_KEYS,
	LEAF_LINES_MAX = MASSTREE_LEAF_LINES,
	LEAF_SLOTS_MAX = 4 * LEAF_LINES_MAX - 2,
	ORDER_SLOTS = 14, /* slots in the order word of each leaf */
	LINE_BYTES = 64
};

/** The beginning of each node, and of struct mt_anchor. */
struct node {
	uint64_t version;
};

struct inner {
	uint64_t version;
	uint64_t keys[INNER_KEYS]; /* child i + 1 has slices from keys[i] on */
	struct node *children[INNER_KEYS + 1];
};

/**
 * `order` is the permutation. Bits 0 to 3 are the number of records. 14 slot numbers of 4 bits
 * follow: the slots of the records in key order, then the free slots. `klens` and `vlens` have
 * 4 bits for each slot.
 */
struct leaf {
	uint64_t version, order, klens, vlens;
	uint64_t words[2 * LEAF_SLOTS_MAX]; /* the slices of all slots, then their values */
};

/* The values in klens: the number of key bytes in the slice, or one of these. */
enum {
	KLEN_SUFFIX = 9, /* the slice is full, and the rest of the key is in the record */
	KLEN_LAYER = 10  /* the value is the root of a layer */
};

/*
 * The values in vlens: the number of value bytes in the word, or one of these. From VLEN_ABSENT
 * on, the key has no value, and every verb treats it as missing. Such an entry is a placeholder
 * for a list of steps: lists.c.
 */
enum { VLEN_INLINE_MAX = 8, VLEN_RECORD = 9, VLEN_ABSENT = 10, VLEN_ABSENT_RECORD = 11 };

static inline bool
vlen_has_record(unsigned vlen)
{
	return vlen == VLEN_RECORD || vlen == VLEN_ABSENT_RECORD;
}

static inline bool
vlen_is_absent(unsigned vlen)
{
	return vlen >= VLEN_ABSENT;
}

/** A record outside the leaf: for a value that does not fit into a word, or a key with a suffix. */
struct record {
	uint32_t value_size, suffix_size;
	uint8_t bytes[]; /* the value; the suffix */
};

/* --- versions --- */

static inline unsigned
version_count(uint64_t version)
{
	return (unsigned)(version & NODE_COUNT) >> NODE_COUNT_SHIFT;
}

static inline uint64_t
version_with_count(uint64_t version, unsigned count)
{
	return (version & ~(uint64_t)NODE_COUNT) | (uint64_t)count << NODE_COUNT_SHIFT;
}

static inline bool
version_is_leaf(uint64_t version)
{
	return (version & NODE_LEAF) != 0;
}

/**
 * Pause, longer with each call; `spins` begins at 0. Only for a thread that holds no lock,
 * except leaf locks in the order of lists.c.
 */
static inline void
back_off(unsigned *spins)
{
	unsigned pauses = *spins < 6 ? 1u << *spins : 64;

	++*spins;
	racy_wait();
#ifdef __x86_64__
	for (unsigned i = 0; i < pauses; i++)
		__builtin_ia32_pause();
#else
	for (unsigned i = 0; i < pauses; i++)
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
#endif
	if (*spins % 32 == 0) /* the lock's holder may need this CPU */
		sched_yield();
}

/**
 * Return the version without NODE_LOCKED. Waits while the node is being changed. The node may
 * be OBSOLETE.
 */
static inline uint64_t
version_read(const uint64_t *version)
{
	uint64_t now = __atomic_load_n(version, __ATOMIC_ACQUIRE);
	unsigned spins = 0;

	while (__builtin_expect((now & NODE_DIRTY) != 0, 0)) {
		back_off(&spins);
		now = __atomic_load_n(version, __ATOMIC_ACQUIRE);
	}
	racy_meet();
	return now & ~(uint64_t)NODE_LOCKED;
}

/** Whether the version is still `read`. If so, the data read since then is consistent. */
static inline bool
version_holds(const uint64_t *version, uint64_t read)
{
	racy_fence();
	bool does = (racy_load64(version) & ~(uint64_t)NODE_LOCKED) == read;
	racy_meet();
	return does;
}

/**
 * Lock the node if its version is still `read`. False: the node has changed, or another session
 * holds the lock. Readers see later stores only after the lock: the fence is the writer's part
 * of a seqlock.
 */
static inline bool
version_try_lock(uint64_t *version, uint64_t read)
{
	racy_meet();
	if (!__atomic_compare_exchange_n(version, &read, read | NODE_LOCKED, false,
		    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
#ifndef RACY_TSAN
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
	racy_meet();
	return true;
}

/**
 * Same, but wait while another session holds the lock. Only for a thread that holds no other
 * lock, except leaf locks in the order of lists.c.
 *
 * The first wait is long, 32 pauses. Meanwhile the other session performs several operations on
 * a busy leaf with the leaf in its cache. Short waits move the leaf between the caches for each
 * operation, which takes longer than the operation.
 */
static inline bool
version_lock(uint64_t *version, uint64_t read)
{
	unsigned spins = 5;

	while (!version_try_lock(version, read)) {
		uint64_t now = __atomic_load_n(version, __ATOMIC_RELAXED);
		if ((now & ~(uint64_t)NODE_LOCKED) != read)
			return false;
		back_off(&spins);
	}
	return true;
}

/** Make readers wait from now on. The caller has locked the node at version `read`. */
static inline void
version_begin_change(uint64_t *version, uint64_t read)
{
	racy_store64(version, read | NODE_LOCKED | NODE_DIRTY);
#ifndef RACY_TSAN
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
	racy_meet();
}

/** Unlock. The version stays the same, because only single stores have published changes. */
static inline void
version_unlock(uint64_t *version, uint64_t read)
{
	racy_meet();
	__atomic_store_n(version, read, __ATOMIC_RELEASE);
}

/**
 * Unlock with a new version, so earlier readers restart. `read` may have another count than at
 * the lock.
 */
static inline void
version_unlock_changed(uint64_t *version, uint64_t read)
{
	racy_meet();
	__atomic_store_n(version, read + NODE_STEP, __ATOMIC_RELEASE);
}

static inline void
version_unlock_obsolete(uint64_t *version, uint64_t read)
{
	racy_meet();
	__atomic_store_n(version, (read + NODE_STEP) | NODE_OBSOLETE, __ATOMIC_RELEASE);
}

/* --- links --- */

static inline struct node *
node_load(struct node *const *at)
{
	racy_meet();
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static inline void
node_store(struct node **at, struct node *node)
{
	racy_meet();
	__atomic_store_n(at, node, __ATOMIC_RELEASE);
}

/* --- leaves --- */

static inline unsigned
leaf_slots(uint64_t version)
{
	return 4 * version_count(version) - 2;
}

static inline size_t
leaf_size(uint64_t version)
{
	return (size_t)version_count(version) * LINE_BYTES;
}

static inline uint64_t *
leaf_slice(struct leaf *leaf, unsigned slot)
{
	return &leaf->words[slot];
}

/** The value word of a slot, in a leaf that has `slots` slots. */
static inline uint64_t *
leaf_word(struct leaf *leaf, unsigned slots, unsigned slot)
{
	return &leaf->words[slots + slot];
}

/** The four bits of a slot in klens or vlens. */
static inline unsigned
nibble(uint64_t word, unsigned slot)
{
	return (unsigned)(word >> (4 * slot)) & 15;
}

static inline uint64_t
nibble_set(uint64_t word, unsigned slot, unsigned value)
{
	return (word & ~(15ull << (4 * slot))) | (uint64_t)value << (4 * slot);
}

/* --- the order of a leaf --- */

#define ORDER_EMPTY (0x00dcba9876543210ull << 4)

static inline unsigned
order_count(uint64_t order)
{
	return (unsigned)order & 15;
}

/** The slot at `rank`. From order_count() on, the slots are free. */
static inline unsigned
order_slot(uint64_t order, unsigned rank)
{
	return (unsigned)(order >> (4 * rank + 4)) & 15;
}

/** The rank of a slot: the position of the four bits that equal its number. Every slot has one. */
static inline unsigned
order_rank(uint64_t order, unsigned slot)
{
	const uint64_t ones = 0x0011111111111111ull;
	uint64_t differs = (order >> 4) ^ slot * ones;

	return (unsigned)__builtin_ctzll((differs - ones) & ~differs & ones << 3) / 4;
}

/* Mask of the record count and the first `count` slots. */
static inline uint64_t
order_low(unsigned count)
{
	return (1ull << (4 * count + 4)) - 1;
}

/** Insert the first free slot at `rank`, and add 1 to the record count. */
static inline uint64_t
order_insert(uint64_t order, unsigned rank)
{
	unsigned count = order_count(order);
	uint64_t slot = order_slot(order, count);
	uint64_t low = order & order_low(rank);
	uint64_t moved = order & order_low(count) & ~order_low(rank);
	uint64_t high = order & ~order_low(count + 1);

	return (low | slot << (4 * rank + 4) | moved << 4 | high) + 1;
}

/** Remove the record at `rank`. Its slot becomes the first free slot. */
static inline uint64_t
order_remove(uint64_t order, unsigned rank)
{
	unsigned count = order_count(order);
	uint64_t slot = order_slot(order, rank);
	uint64_t low = order & order_low(rank);
	uint64_t moved = order & order_low(count) & ~order_low(rank + 1);
	uint64_t high = order & ~order_low(count);

	return (low | moved >> 4 | slot << (4 * count) | high) - 1;
}

#endif /* MASSTREE_NODE_H */
