/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_SEARCH_H
#define FPTREE_SEARCH_H
/**
 * The two searches that an operation spends its instructions on: one byte among 56,
 * and a word among the sorted words of an inner node. Both read what may be changing.
 *
 * The files that include this are compiled twice on x86-64, with AVX-512 and without, and
 * the tree takes at its opening what the processor has. With it a node's words are compared
 * eight at a time and counted, which needs no branch that could be mispredicted; without,
 * they are halved, likewise without a branch.
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

/** Bit s is set where slot s has this fingerprint (bit 0 means nothing). */
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

/** How many of the ascending words are at most `word`. Their array has room for 8n. */
static inline unsigned
words_up_to(const uint64_t *words, unsigned count, uint64_t word)
{
#if defined(FPTREE_AVX512)
	__m512i wanted = _mm512_set1_epi64((long long)word);
	unsigned below = 0, i = 0;

	for (; i + 8 <= count; i += 8)
		below += (unsigned)__builtin_popcount(_mm512_cmple_epu64_mask(
			_mm512_load_si512((const void *)&words[i]), wanted));
	if (i < count)
		below += (unsigned)__builtin_popcount(
			_mm512_cmple_epu64_mask(
				_mm512_load_si512((const void *)&words[i]), wanted) &
			((1u << (count - i)) - 1));
	return below;
#else
	unsigned base = 0;

	if (count == 0)
		return 0;
	while (count > 1) {
		unsigned half = count / 2;

		base = racy_load64(&words[base + half - 1]) <= word ? base + half : base;
		count -= half;
	}
	return base + (racy_load64(&words[base]) <= word);
#endif
}

#endif /* FPTREE_SEARCH_H */
