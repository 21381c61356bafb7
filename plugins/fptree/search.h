/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_SEARCH_H
#define FPTREE_SEARCH_H
/**
 * The two searches that take most instructions of an operation: for one byte among 56, and
 * for a scaled word among those of an inner node. Both read data that other threads may be
 * changing.
 *
 * On x86-64, the files that include this are compiled twice, with AVX-512 and without. At its
 * opening, the tree selects the version for the processor. Both compare all scaled words of a
 * node, also those that it does not use. So they have no branch that could be mispredicted,
 * and no load that waits for another one, as in a binary search.
 */
#include "inner.h"
#include "leaf.h"

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

enum { USUAL_ROOM = 64 }; /* lets the compiler unroll the loops */

#if defined(FPTREE_AVX512)
/* A bit for each of 32 scaled words that is at most its element of `wanted`. */
HOT_INLINE __mmask32
up_to_32(const uint16_t *scaled, __m512i wanted)
{
	return _mm512_cmpge_epu16_mask(wanted, _mm512_load_si512((const void *)scaled));
}

HOT_INLINE unsigned
count_up_to(const uint16_t *scaled, unsigned room, uint16_t word)
{
	__m512i wanted = _mm512_set1_epi16((short)word);
	unsigned count = 0;

	if (room == USUAL_ROOM)
		return (unsigned)__builtin_popcountll(_mm512_kunpackd(
			up_to_32(&scaled[32], wanted), up_to_32(scaled, wanted)));
	for (unsigned i = 0; i < room; i += 32)
		count += (unsigned)__builtin_popcount(up_to_32(&scaled[i], wanted));
	return count;
}
#elif defined(FPTREE_SSE2)
/* A saturating difference is 0 if the scaled word is at most the wanted one. */
HOT_INLINE unsigned
count_up_to(const uint16_t *scaled, unsigned room, uint16_t word)
{
	const __m128i zero = _mm_setzero_si128(), wanted = _mm_set1_epi16((short)word);
	__m128i count = zero;

#pragma GCC unroll 8
	for (unsigned i = 0; i < room; i += 8) {
		__m128i words = _mm_load_si128((const void *)&scaled[i]);

		count = _mm_sub_epi16(
			count, _mm_cmpeq_epi16(_mm_subs_epu16(words, wanted), zero));
	}
	count = _mm_sad_epu8(count, zero);
	return (unsigned)(_mm_cvtsi128_si32(count) + _mm_extract_epi16(count, 4));
}
#else
/* A binary search without a branch that could be mispredicted. */
HOT_INLINE unsigned
count_up_to(const uint16_t *scaled, unsigned room, uint16_t word)
{
	const uint16_t *at = scaled;

	while (room > 1) {
		unsigned half = room / 2;

		at += racy_load16(&at[half - 1]) <= word ? half : 0;
		room -= half;
	}
	return (unsigned)(at - scaled) + (racy_load16(at) <= word);
}
#endif

static __attribute__((noinline)) unsigned
count_up_to_any(const uint16_t *scaled, unsigned room, uint16_t word)
{
	return count_up_to(scaled, room, word);
}

/**
 * The number of the ascending scaled words that are at most `word`, which is less than
 * SCALED_UNUSED. `room` is a multiple of INNER_UNIT.
 */
HOT_INLINE unsigned
scaled_up_to(const uint16_t *scaled, unsigned room, uint16_t word)
{
	if (__builtin_expect(room == USUAL_ROOM, 1))
		return count_up_to(scaled, USUAL_ROOM, word);
	return count_up_to_any(scaled, room, word);
}

/**
 * Prefetch all `room` children of a node of level 0. A search reads only one. But if it
 * requests only that, a cache of level 2 loses most of these lines between two uses.
 */
HOT_INLINE void
prefetch_children(const uint32_t *children, unsigned room)
{
	enum { CHILDREN_OF_LINE = PM_LINE / sizeof(*children) };

	if (room != USUAL_ROOM)
		return;
#pragma GCC unroll 4
	for (unsigned i = 0; i < USUAL_ROOM; i += CHILDREN_OF_LINE)
		__builtin_prefetch(&children[i]);
	__asm__ volatile(""); /* see prefetch_leaf() */
}

#endif /* FPTREE_SEARCH_H */
