/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scrambling: a bijection of [0, base), where base is the initial number of records. So hot
 * records are not neighbours, and each rank has its own record. YCSB hashes the rank mod n;
 * more than a third of the records then have no rank and others have two. Ranks from `base` up,
 * of added records, map to themselves: the hottest records are always loaded ones.
 */
#include "workload/dist_parts.h"

void
scramble_create(struct dist *dist)
{
	unsigned bits = dist->n > 1 ? 64 - (unsigned)__builtin_clzll(dist->n - 1) : 0;
	dist->mask = bits > 0 ? UINT64_MAX >> (64 - bits) : 0;
	dist->shift = bits > 2 ? (bits + 1) / 2 : 1;
}

/** A bijection of [0, mask]: multiplications by odd numbers and xors with higher bits. */
static inline uint64_t
scramble_once(uint64_t rank, uint64_t mask, uint32_t shift)
{
	/* the multipliers of splitmix64; the first step also moves 0 */
	rank = (rank * UINT64_C(0xbf58476d1ce4e5b9) + UINT64_C(0x9e3779b97f4a7c15)) & mask;
	rank ^= rank >> shift;
	rank = (rank * UINT64_C(0x94d049bb133111eb)) & mask;
	rank ^= rank >> shift;
	rank = (rank * UINT64_C(0x9e3779b97f4a7c15)) & mask;
	return rank ^ rank >> shift;
}

/**
 * A bijection of [0, base): repeat until the result is below base, less than two steps on
 * average. It is a bijection because it follows the cycle of the number and omits those above.
 */
uint64_t
scramble(const struct dist *dist, uint64_t rank)
{
	if (__builtin_expect(rank >= dist->base, 0))
		return rank;
	do
		rank = scramble_once(rank, dist->mask, dist->shift);
	while (rank >= dist->base);
	return rank;
}

/**
 * First all ranks do one step, then those that must continue. Which ones continue is
 * unpredictable, so the code has no branch for it.
 */
static inline __attribute__((always_inline)) void
scramble_some(const struct dist *dist, uint32_t count, uint64_t *ranks)
{
	uint64_t base = dist->base, mask = dist->mask;
	uint32_t shift = dist->shift, left = 0;
	uint8_t is_on[DIST_CHUNK] = {0}, on[DIST_CHUNK];
	for (uint32_t j = 0; j < count; j++) {
		uint64_t rank = ranks[j], to = scramble_once(rank, mask, shift);
		bool is_own = rank >= base;
		ranks[j] = is_own ? rank : to;
		is_on[j] = (to >= base) & !is_own;
	}
	for (uint64_t bits = dist_bits_of(is_on); bits != 0; bits &= bits - 1)
		on[left++] = (uint8_t)__builtin_ctzll(bits);
	while (left > 0) {
		uint32_t begun = left;
		left = 0;
		for (uint32_t i = 0; i < begun; i++) {
			uint8_t j = on[i];
			ranks[j] = scramble_once(ranks[j], mask, shift);
			on[left] = j;
			left += ranks[j] >= base;
		}
	}
}

static WIDE void
scramble_wide(const struct dist *dist, uint32_t count, uint64_t *ranks)
{
	scramble_some(dist, count, ranks);
}

void
scramble_all(const struct dist *dist, uint32_t count, uint64_t *ranks)
{
	if (count >= WIDE_LEAST && HAS_WIDE)
		scramble_wide(dist, count, ranks);
	else
		scramble_some(dist, count, ranks);
}
