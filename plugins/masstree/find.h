/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_FIND_H
#define MASSTREE_FIND_H
/**
 * Searches inside a node, and the descent. Compiled several times, see meson.build. Two builds
 * are for processors that compare eight slices at once (AVX-512) or four (AVX2). One build
 * compares slices byte by byte (MASSTREE_BYTES), to measure the paper's "IntCmp".
 */
#include "internal.h"

#include <stdlib.h>

#if defined(__AVX512F__) && defined(__AVX512VL__) && !defined(RACY_TSAN)
#define FIND_WIDE 8
#include <immintrin.h>
#elif defined(__AVX2__) && !defined(RACY_TSAN) && !defined(MASSTREE_BYTES)
#define FIND_WIDE 4
#include <immintrin.h>
#else
#define FIND_WIDE 0
#endif

/** Whether slice a is less than slice b. */
static inline bool
slice_is_less(uint64_t a, uint64_t b)
{
#ifdef MASSTREE_BYTES
	for (int shift = 56; shift >= 0; shift -= 8) {
		uint8_t x = (uint8_t)(a >> shift), y = (uint8_t)(b >> shift);
		if (x != y)
			return x < y;
	}
	return false;
#else
	return a < b;
#endif
}

#if FIND_WIDE
_Static_assert(INNER_KEYS % 4 == 3, "the keys and one child are whole vectors");

/**
 * Bit i: words[i] is greater than the slice. AVX2 compares signed numbers, so both sides are
 * biased.
 */
static inline unsigned
four_above(const uint64_t *words, uint64_t slice)
{
	const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
	__m256i wanted = _mm256_set1_epi64x((long long)(slice ^ 1ull << 63));
	__m256i its = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)words), sign);

	return (unsigned)_mm256_movemask_pd(
		_mm256_castsi256_pd(_mm256_cmpgt_epi64(its, wanted)));
}

/** Bit i: words[i] is equal to the slice. */
static inline unsigned
four_equal(const uint64_t *words, uint64_t slice)
{
	__m256i wanted = _mm256_set1_epi64x((long long)slice);
	__m256i its = _mm256_loadu_si256((const __m256i *)words);

	return (unsigned)_mm256_movemask_pd(
		_mm256_castsi256_pd(_mm256_cmpeq_epi64(its, wanted)));
}
#endif

/** The number of keys that are not greater than the slice, which is the index of the child. */
static inline unsigned
inner_index(const struct inner *inner, unsigned count, uint64_t slice)
{
#if FIND_WIDE == 8
	__m512i wanted = _mm512_set1_epi64((long long)slice);
	unsigned low = _mm512_cmp_epu64_mask(
		_mm512_loadu_si512(&inner->keys[0]), wanted, _MM_CMPINT_LE);
	unsigned high = _mm512_mask_cmp_epu64_mask(
		0x7f, _mm512_maskz_loadu_epi64(0x7f, &inner->keys[8]), wanted, _MM_CMPINT_LE);
	return (unsigned)__builtin_popcount((low | high << 8) & ((1u << count) - 1));
#elif FIND_WIDE == 4
	unsigned above = 0;

	for (unsigned i = 0; i <= INNER_KEYS; i += 4) /* the last load includes a child */
		above |= four_above(&inner->keys[i], slice) << i;
	return (unsigned)__builtin_popcount(~above & ((1u << count) - 1));
#else
	unsigned index = 0;

	/* No branch depends on a key: a misprediction costs more than all comparisons. */
	for (unsigned i = 0; i < count; i++)
		index += !slice_is_less(slice, racy_load64(&inner->keys[i]));
	return index;
#endif
}

/** Bit i: slot i contains the slice; free slots count, too. */
static inline unsigned
leaf_equal(struct leaf *leaf, unsigned slots, uint64_t slice)
{
#if FIND_WIDE == 8
	__m512i wanted = _mm512_set1_epi64((long long)slice);
	unsigned all = (1u << slots) - 1;
	unsigned low = _mm512_mask_cmpeq_epu64_mask((__mmask8)all,
		_mm512_maskz_loadu_epi64((__mmask8)all, &leaf->words[0]), wanted);
	unsigned high = _mm512_mask_cmpeq_epu64_mask((__mmask8)(all >> 8),
		_mm512_maskz_loadu_epi64((__mmask8)(all >> 8), &leaf->words[8]), wanted);
	return low | high << 8;
#elif FIND_WIDE == 4
	unsigned equal = 0;

	for (unsigned i = 0; i < slots; i += 4) /* the last load may include values */
		equal |= four_equal(&leaf->words[i], slice) << i;
	return equal & ((1u << slots) - 1);
#else
	unsigned equal = 0;

	for (unsigned i = 0; i < slots; i++)
		equal |= (unsigned)(racy_load64(leaf_slice(leaf, i)) == slice) << i;
	return equal;
#endif
}

/** The slot with this slice and length, or -1. KLEN_SUFFIX also finds KLEN_LAYER. */
static inline int
leaf_find(struct leaf *leaf, unsigned slots, uint64_t order, uint64_t slice, unsigned klen)
{
	unsigned count = order_count(order);

	for (unsigned equal = leaf_equal(leaf, slots, slice); equal != 0; equal &= equal - 1) {
		unsigned slot = (unsigned)__builtin_ctz(equal);
		unsigned its = nibble(racy_load64(&leaf->klens), slot);

		if ((its < KLEN_LAYER ? its : KLEN_SUFFIX) == klen &&
			order_rank(order, slot) < count)
			return (int)slot;
	}
	return -1;
}

/** Whether all slices of a locked leaf are less than this one. */
static inline bool
leaf_ends_before(struct leaf *leaf, uint64_t slice)
{
	unsigned count = order_count(leaf->order);

	return count > 0 &&
		slice_is_less(*leaf_slice(leaf, order_slot(leaf->order, count - 1)), slice);
}

#if FIND_WIDE
/** Bit i: slot i has a smaller slice or the same; free slots count, too. */
static inline unsigned
leaf_up_to(const struct leaf *leaf, unsigned slots, uint64_t slice)
{
	unsigned above = 0;

	for (unsigned i = 0; i < slots; i += 4) /* the last load may include values */
		above |= four_above(&leaf->words[i], slice) << i;
	return ~above & ((1u << slots) - 1);
}
#endif

/** The rank that the key has or would have in a locked leaf. */
static inline unsigned
leaf_rank(struct leaf *leaf, unsigned slots, uint64_t slice, unsigned klen)
{
	uint64_t order = leaf->order;
	unsigned count = order_count(order), rank = 0;

	if (leaf_ends_before(leaf, slice))
		return count;
#if FIND_WIDE
	unsigned up_to = leaf_up_to(leaf, slots, slice);

	for (unsigned i = count; i < slots; i++)
		up_to &= ~(1u << order_slot(order, i));
	rank = (unsigned)__builtin_popcount(up_to);
	/* Of the same slice, longer keys come later. */
	while (rank > 0 && *leaf_slice(leaf, order_slot(order, rank - 1)) == slice &&
		nibble(leaf->klens, order_slot(order, rank - 1)) >= klen)
		rank--;
#else
	for (unsigned i = 0; i < count; i++) {
		unsigned slot = order_slot(order, i);
		uint64_t its = *leaf_slice(leaf, slot);

		rank += slice_is_less(its, slice) ||
			(its == slice && nibble(leaf->klens, slot) < klen);
	}
#endif
	return rank;
}

/*
 * Without the empty statement, gcc 12 removes all calls: it finds that the function has no
 * effect.
 */
static inline void
prefetch_lines(const void *at, unsigned lines)
{
	for (unsigned i = 0; i < lines; i++)
		__builtin_prefetch((const char *)at + (size_t)i * LINE_BYTES);
	__asm__ volatile("");
}

/** Prefetch a node of any kind. For a small leaf this fetches more than the leaf. */
static inline void
prefetch_node(const struct nb_db *tree, const void *at)
{
	if (tree->has_prefetch)
		prefetch_lines(at, 4);
}

/** Prefetch the leaf that the hints give for a slice, and its parent. Returns the leaf. */
static inline const void *
prefetch_hinted(const struct nb_db *tree, uint64_t slice)
{
	const struct hints *hints = __atomic_load_n(&tree->hints, __ATOMIC_ACQUIRE);

	if (hints == NULL || slice - hints->base > hints->last)
		return NULL;
	const void *leaf = hint_node(hints, HINT_LEAF, slice - hints->base);
	prefetch_lines(hint_node(hints, HINT_PARENT, slice - hints->base), 4);
	prefetch_lines(leaf, 4);
	return leaf;
}

/* --- descent with a path --- */

/** Start at the first layer; path->whole is the key. */
static inline void
path_start(struct nb_db *tree, struct path *path)
{
	key_start(&path->key, path->whole);
	path->upper = NULL;
	path->holder = &tree->anchor.version;
	path->root = &tree->anchor.root;
	path->holder_version = version_read(path->holder);
	path->top = root_load(path->root);
}

/** The result of path_look(): the layer for the key's slice. */
struct layer_slot {
	int slot; /* -1: the leaf has no such layer */
	struct node *top;
};

/** Look for that layer in the path's leaf. False: the leaf has changed; restart. */
static inline bool
path_look(const struct path *path, struct layer_slot *layer)
{
	struct leaf *leaf = path->leaf;
	unsigned slots = leaf_slots(path->version);
	uint64_t order = __atomic_load_n(&leaf->order, __ATOMIC_ACQUIRE);
	int slot = leaf_find(leaf, slots, order, path->key.slice, KLEN_SUFFIX);

	if (slot >= 0 && nibble(racy_load64(&leaf->klens), (unsigned)slot) != KLEN_LAYER)
		slot = -1;
	layer->slot = slot;
	if (slot >= 0) /* valid only if the version holds */
		layer->top = root_load(leaf_word(leaf, slots, (unsigned)slot));
	return version_holds(&leaf->version, path->version);
}

/** Enter that layer. */
static inline void
path_shift(struct path *path, const struct layer_slot *layer)
{
	unsigned slot = (unsigned)layer->slot;

	path->upper = path->leaf;
	path->upper_slot = slot;
	path->holder = &path->leaf->version;
	path->holder_version = path->version;
	path->root = leaf_word(path->leaf, leaf_slots(path->version), slot);
	path->top = layer->top;
	key_shift(&path->key);
}

/** Descend in the layer to the leaf of the slice. False: a node has changed; restart. */
static inline bool
path_down(const struct nb_db *tree, struct path *path)
{
	struct node *node = path->top;
	uint64_t version = version_read(&node->version);

	path->depth = 0;
	path->low = 0;
	path->high = UINT64_MAX;
	path->is_first = path->is_last = true;
	if (!version_holds(path->holder, path->holder_version))
		return false;
	while (!version_is_leaf(version)) {
		struct inner *inner = (struct inner *)node;
		unsigned count = version_count(version);
		unsigned index = inner_index(inner, count, path->key.slice);
		struct node *child = node_load(&inner->children[index]);

		prefetch_node(tree, child);
		path->parent_low = path->low;
		path->parent_high = path->high;
		path->low = index > 0 ? racy_load64(&inner->keys[index - 1]) : path->low;
		path->high = index < count ? racy_load64(&inner->keys[index]) - 1 : path->high;
		uint64_t its = version_read(&child->version);
		if (!version_holds(&inner->version, version))
			return false;
		path->steps[path->depth++] = (struct step){inner, version, index};
		path->is_first &= index == 0;
		path->is_last &= index == count;
		node = child;
		version = its;
	}
	path->leaf = (struct leaf *)node;
	path->version = version;
	return true;
}

/** Unlock the path's leaf. Returns rc. */
static inline int
unlock(struct path *path, int rc)
{
	version_unlock(&path->leaf->version, path->version);
	return rc;
}

#endif /* MASSTREE_FIND_H */
