/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of hints. It has 2 to 4 buckets for each leaf, so about three of four guesses are
 * right if keys are spread evenly. With a quarter as many buckets for the parents, it takes 10
 * to 20 bytes for each leaf, 1 to 2 bytes for each record.
 *
 * When the number of leaves has doubled, a session makes a larger table from the old one. This
 * takes some 10 ms for a million leaves, in which the other sessions go on with the old table. A
 * walk through the tree would give better hints, but would miss the cache at each parent.
 */
#include "internal.h"

#include <stdlib.h>
#include <sys/mman.h>

enum {
	HUGE = 2 << 20,
	PARENT_SHARE = 2,   /* a bucket of the parents is 2^2 buckets of the leaves */
	SET_MAX = 64,       /* buckets for one node: the range of an outer node may be wide */
	GUESSES_MIN = 1024, /* before a table is dropped */
	ABOVE = 32 + HINT_UNIT
};

void
mt_hint(const struct nb_db *tree, enum hint_kind kind, const void *node, uint64_t low,
	uint64_t high)
{
	const struct hints *hints = __atomic_load_n(&tree->hints, __ATOMIC_ACQUIRE);

	if (hints == NULL || high < hints->base)
		return;
	unsigned shift = hints->shift[kind];
	uint64_t half = 1ull << shift >> 1; /* the first slice after the middle of a bucket */
	low = low < hints->base ? 0 : low - hints->base;
	high = high - hints->base > hints->last ? hints->last : high - hints->base;
	if (low > high || high < half)
		return;
	uint64_t first = low <= half ? 0 : ((low - half - 1) >> shift) + 1;
	uint64_t last = (high - half) >> shift;
	for (uint64_t i = first; i <= last && i < first + SET_MAX; i++)
		__atomic_store_n(&hints->at[kind][i], (uint32_t)((uintptr_t)node >> HINT_UNIT),
			__ATOMIC_RELAXED);
}

/* --- making a table --- */

static size_t
buckets(const struct hints *hints, enum hint_kind kind)
{
	return (size_t)(hints->last >> hints->shift[kind]) + 1;
}

size_t
mt_hints_bytes(const struct hints *hints)
{
	return hints == NULL ? 0
			     : (buckets(hints, HINT_LEAF) + buckets(hints, HINT_PARENT)) *
			sizeof(*hints->at[0]);
}

void
mt_hints_delete(struct hints *hints)
{
	if (hints == NULL)
		return;
	free(hints->at[HINT_LEAF]);
	free(hints);
}

/* Zeroed, in huge pages if possible. NULL: out of memory. */
static uint32_t *
new_buckets(const struct nb_db *tree, size_t count)
{
	size_t size = count * sizeof(uint32_t), align = size < HUGE ? LINE_BYTES : HUGE;

	size = (size + align - 1) / align * align;
	uint32_t *at = aligned_alloc(align, size);
	if (at == NULL)
		return NULL;
	if (align == HUGE) /* harmless if the kernel has none */
		madvise(at, size, tree->has_small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	memset(at, 0, count * sizeof(*at));
	return at;
}

/* The range is the smallest of 2^n slices, at a multiple of 2^n, with all splits so far. */
static struct hints *
hints_new(const struct nb_db *tree, uint64_t leaves, const void *leaf)
{
	uint64_t least = __atomic_load_n(&tree->least_split, __ATOMIC_RELAXED);
	uint64_t greatest = __atomic_load_n(&tree->greatest_split, __ATOMIC_RELAXED);
	unsigned range = 64 - (unsigned)__builtin_clzll((least ^ greatest) | 1);
	unsigned bits = 64 - (unsigned)__builtin_clzll(2 * leaves - 1);
	struct hints *hints = calloc(1, sizeof(*hints));

	if (hints == NULL)
		return NULL;
	hints->last = UINT64_MAX >> (64 - range);
	hints->base = least & ~hints->last;
	hints->above = (uintptr_t)leaf >> ABOVE << ABOVE;
	hints->leaves_max = 1ull << (bits - 1);
	hints->shift[HINT_LEAF] = range > bits ? range - bits : 0;
	hints->shift[HINT_PARENT] = hints->shift[HINT_LEAF] + PARENT_SHARE;
	size_t count = buckets(hints, HINT_LEAF);
	uint32_t *at = new_buckets(tree, count + buckets(hints, HINT_PARENT));
	if (at == NULL) {
		free(hints);
		return NULL;
	}
	hints->at[HINT_LEAF] = at;
	hints->at[HINT_PARENT] = at + count;
	return hints;
}

static void
copy_hints(struct hints *to, const struct hints *from, enum hint_kind kind)
{
	size_t count = buckets(to, kind);

	for (size_t i = 0; i < count; i++) {
		uint64_t offset = to->base + ((uint64_t)i << to->shift[kind]) - from->base;
		if (offset <= from->last)
			to->at[kind][i] = __atomic_load_n(
				&from->at[kind][offset >> from->shift[kind]], __ATOMIC_RELAXED);
	}
}

/* --- reviews --- */

/* Whether fewer than a quarter of the guesses since the last table were right. */
static bool
is_bad(const struct hints *hints, const struct mt_counts *counts)
{
	uint64_t hits = counts->hint_hits - hints->hits;
	uint64_t misses = counts->hint_misses - hints->misses;

	return hits + misses >= GUESSES_MIN && hits < misses / 3;
}

/* Replace or drop the table if that is due. Under the tree's lock. */
static void
review(struct nb_session *session, const void *leaf)
{
	struct nb_db *tree = session->tree;
	struct hints *old = tree->hints, *hints = NULL;
	struct mt_counts counts = mt_counts_sum(tree);
	uint64_t leaves = 0;

	if (counts.leaves_added > counts.leaves_removed) /* see mt_stats() */
		leaves = counts.leaves_added - counts.leaves_removed;
	if (tree->has_no_hints || leaves < (old == NULL ? HINT_LEAVES : old->leaves_max + 1))
		return;
	tree->has_no_hints = old != NULL && is_bad(old, &counts);
	if (!tree->has_no_hints) {
		hints = hints_new(tree, leaves, leaf);
		if (hints == NULL)
			return;
		hints->hits = counts.hint_hits;
		hints->misses = counts.hint_misses;
	}
	for (int kind = 0; kind < HINT_KINDS && old != NULL && hints != NULL; kind++)
		copy_hints(hints, old, kind);
	__atomic_store_n(&tree->hints, hints, __ATOMIC_RELEASE);
	if (old != NULL)
		epoch_retire(session->epoch, RETIRED_HINTS, (uint64_t)(uintptr_t)old);
}

void
mt_hints_review(struct nb_session *session, const void *leaf, uint64_t slice)
{
	struct nb_db *tree = session->tree;

	/* Another session may overwrite a bound with a worse one. The next split mends that. */
	if (slice < __atomic_load_n(&tree->least_split, __ATOMIC_RELAXED))
		__atomic_store_n(&tree->least_split, slice, __ATOMIC_RELAXED);
	if (slice > __atomic_load_n(&tree->greatest_split, __ATOMIC_RELAXED))
		__atomic_store_n(&tree->greatest_split, slice, __ATOMIC_RELAXED);
	if (session->counts.leaf_splits % HINT_REVIEW != 0 ||
		pthread_mutex_trylock(&tree->lock) != 0)
		return;
	review(session, leaf);
	pthread_mutex_unlock(&tree->lock);
}
