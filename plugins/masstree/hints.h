/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_HINTS_H
#define MASSTREE_HINTS_H
/**
 * Hints: guesses of the leaf of a key and of the leaf's parent. A descent prefetches both nodes
 * at its start, while it searches the nodes above them. In a tree that does not fit into the
 * cache, the other nodes nearly always do. Nothing else depends on a hint, so a wrong one costs
 * only time.
 *
 * A table divides a range of slices into buckets of equal size. The hint of a bucket is the
 * node to which the middle of the bucket belongs. Splits and replacements of nodes update it.
 * So hints are right if keys are spread evenly, for example numbers and hashes. The tree counts
 * the right guesses and drops the table if they are few, as with text.
 *
 * Only the first layer has hints, and only when it has grown large.
 */
#include <stddef.h>
#include <stdint.h>

struct nb_session;
struct nb_db;

/* Test builds have smaller trees. */
#ifndef MASSTREE_HINT_LEAVES
#define MASSTREE_HINT_LEAVES 16384
#endif

enum {
	HINT_LEAVES = MASSTREE_HINT_LEAVES, /* a table needs so many; they exceed 2 MiB */
	HINT_REVIEW = HINT_LEAVES / 16, /* splits of a session from one review to the next */
	HINT_UNIT = 6                   /* a hint is bits 6 to 37 of the address */
};

enum hint_kind { HINT_LEAF, HINT_PARENT, HINT_KINDS };

/** Constant after its publication, except the hints. */
struct hints {
	uint64_t base, last; /* first slice of the range, and its last one relative to that */
	uintptr_t above;     /* bits 38 and above of the leaves' addresses */
	uint64_t leaves_max; /* with more leaves, a larger table is due */
	unsigned shift[HINT_KINDS]; /* a bucket has 2^shift slices */
	uint32_t *at[HINT_KINDS];   /* relaxed atomics; 0: none. One allocation */
	uint64_t hits, misses;      /* the tree's counters when the table was made */
};

/** The node of a hint. Not a valid pointer if the hint is wrong. */
static inline const void *
hint_node(const struct hints *hints, enum hint_kind kind, uint64_t offset)
{
	uint32_t hint = __atomic_load_n(
		&hints->at[kind][offset >> hints->shift[kind]], __ATOMIC_RELAXED);

	return (const void *)(hints->above | (uintptr_t)hint << HINT_UNIT);
}

/** A node of the first layer has the slices from `low` to `high` now. In an epoch. */
void
mt_hint(const struct nb_db *tree, enum hint_kind kind, const void *node, uint64_t low,
	uint64_t high);

/**
 * A leaf of the first layer was split at `slice`. From time to time, replace the table if the
 * tree has grown, and drop it if most hints were wrong. In an epoch.
 */
void
mt_hints_review(struct nb_session *session, const void *leaf, uint64_t slice);

/** `hints` may be NULL. */
void
mt_hints_delete(struct hints *hints);

size_t
mt_hints_bytes(const struct hints *hints);

#endif /* MASSTREE_HINTS_H */
