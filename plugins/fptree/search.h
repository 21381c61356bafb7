/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_SEARCH_H
#define FPTREE_SEARCH_H
/**
 * The two searches that take most instructions of an operation: for one byte among 56, and
 * for a word among the sorted words of an inner node. Both read data that other threads may
 * be changing.
 *
 * On x86-64, the files that include this are compiled twice, with AVX-512 and without. At its
 * opening, the tree selects the version for the processor. With AVX-512, a search compares
 * all words of a node, eight at a time, also those that the node does not use. So it has no
 * branch that could be mispredicted. It joins the masks before it counts: the fewer
 * instructions a search has, the more of the next operation overlaps with this one. Without
 * AVX-512, a search compares the last word of each line, then all words of one line, also
 * without a branch.
 *
 * A binary search would need fewer comparisons. But each of its loads waits for the one
 * before, so a node that the cache has lost is fetched line after line.
 */
#include "leaf.h"
#include "version.h"

#if defined(__AVX512BW__) && !defined(RACY_TSAN)
#include <immintrin.h>
#define FPTREE_AVX512 1
#elif defined(__SSE2__) && !defined(RACY_TSAN)
#include <emmintrin.h>
#define FPTREE_SSE2 1
#endif

/** Bit s is set if slot s has this fingerprint. Bit 0 has no meaning. */
static inline uint64_t
fingerprint_match(const struct leaf *leaf, uint8_t fingerprint)
{
#if defined(FPTREE_AVX512)
	__m512i line = _mm512_load_si512((const void *)leaf);

	return _mm512_cmpeq_epi8_mask(line, _mm512_set1_epi8((char)fingerprint)) >> 8;
#elif defined(FPTREE_SSE2)
	const __m128i *line = (const void *)leaf;
	__m128i wanted = _mm_set1_epi8((char)fingerprint);
	uint64_t match = 0;

	for (unsigned i = 0; i < 4; i++) {
		__m128i equal = _mm_cmpeq_epi8(_mm_load_si128(&line[i]), wanted);

		match |= (uint64_t)(uint32_t)_mm_movemask_epi8(equal) << 16 * i;
	}
	return match >> 8;
#else
	uint64_t match = 0;

	for (unsigned i = 0; i < sizeof(leaf->fp); i++)
		match |= (uint64_t)(racy_load8(&leaf->fp[i]) == fingerprint) << i;
	return match;
#endif
}

#define HOT_INLINE static inline __attribute__((always_inline))

enum { WORDS_OF_LINE = PM_LINE / 8 };

enum { USUAL_ROOM = 64 }; /* lets the compiler unroll the loops */

#ifdef FPTREE_AVX512
/* A bit for each of eight words, or 16, that is at most its element of `wanted`. */
HOT_INLINE __mmask8
up_to_8(const uint64_t *words, __m512i wanted)
{
	return _mm512_cmpge_epu64_mask(wanted, _mm512_load_si512((const void *)words));
}

HOT_INLINE __mmask16
up_to_16(const uint64_t *words, __m512i wanted)
{
	return _mm512_kunpackb(up_to_8(&words[8], wanted), up_to_8(words, wanted));
}

HOT_INLINE unsigned
count_up_to(const uint64_t *words, unsigned room, unsigned count, uint64_t word)
{
	__m512i wanted = _mm512_set1_epi64((long long)word);
	unsigned below = 0;

	if (room == USUAL_ROOM) {
		__mmask32 low = _mm512_kunpackw(
			up_to_16(&words[16], wanted), up_to_16(words, wanted));
		__mmask32 high = _mm512_kunpackw(
			up_to_16(&words[48], wanted), up_to_16(&words[32], wanted));

		below = (unsigned)__builtin_popcountll(_mm512_kunpackd(high, low));
	} else {
		for (unsigned i = 0; i < room; i += WORDS_OF_LINE)
			below += (unsigned)__builtin_popcount(up_to_8(&words[i], wanted));
	}
	return below < count ? below : count;
}
#else
/*
 * *at += 1 if a <= b, without a branch. The empty asm keeps gcc from vectorizing, which is
 * slower.
 */
HOT_INLINE void
count_if_up_to(size_t *at, uint64_t a, uint64_t b)
{
	*at += a <= b;
	__asm__("" : "+r"(*at));
}

HOT_INLINE unsigned
count_up_to(const uint64_t *words, unsigned room, unsigned count, uint64_t word)
{
	size_t at = 0, in_line = 0;

#pragma GCC unroll 8
	for (size_t i = WORDS_OF_LINE - 1; i < room - 1; i += WORDS_OF_LINE)
		count_if_up_to(&at, racy_load64(&words[i]), word);
	at *= WORDS_OF_LINE;
	words += at;
#pragma GCC unroll 8
	for (size_t i = 0; i < WORDS_OF_LINE; i++)
		count_if_up_to(&in_line, racy_load64(&words[i]), word);
	at += in_line;
	return at < count ? (unsigned)at : count;
}
#endif

static __attribute__((noinline)) unsigned
count_up_to_any(const uint64_t *words, unsigned room, unsigned count, uint64_t word)
{
	return count_up_to(words, room, count, word);
}

/**
 * The number of the `count` ascending words that are at most `word`. The array has room for
 * `room` words, a multiple of 8, more than `count`. Unused words are UINT64_MAX.
 */
HOT_INLINE unsigned
words_up_to(const uint64_t *words, unsigned room, unsigned count, uint64_t word)
{
	if (__builtin_expect(room == USUAL_ROOM, 1))
		return count_up_to(words, USUAL_ROOM, count, word);
	return count_up_to_any(words, room, count, word);
}

/**
 * Prefetch all `room` children of a node. A search compares all words of a node but reads one
 * child. So the lines of words stay in the cache of level 2, while that would lose most lines
 * of children between two uses of each.
 */
HOT_INLINE void
prefetch_children(const uint64_t *children, unsigned room)
{
	if (room != USUAL_ROOM)
		return;
#pragma GCC unroll 8
	for (unsigned i = 0; i < USUAL_ROOM; i += WORDS_OF_LINE)
		__builtin_prefetch(&children[i]);
	__asm__ volatile(""); /* see prefetch_leaf() */
}

#endif /* FPTREE_SEARCH_H */
