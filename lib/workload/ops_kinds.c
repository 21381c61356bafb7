/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shuffles the kinds of the operations of a stratum.
 *
 * The shuffle is that of Fisher and Yates ("Statistical Tables", 1938, example 12), from the last
 * place to the first. Each exchange depends on the earlier ones, so its latency counts: in
 * memory, loads wait for stores. A mix of two kinds is shuffled as bits in a register, which
 * takes a third of the time. Both ways give the same order.
 */
#include "workload/ops_choose.h"

#include <string.h>

/* Separates the random numbers of strata from those of operations. */
#define SHUFFLE_SALT UINT64_C(0x5d1f9bb3a6c8e24d)

/** A place below `left`: 32 random bits for a number up to 64, so the bias is 2^-26. */
static inline uint32_t
place_below(uint64_t random, uint32_t left)
{
	return (uint32_t)((random >> 32) * left >> 32);
}

static void
shuffle_bytes(uint8_t *kinds, uint32_t size, const uint64_t *random)
{
	for (uint32_t left = size; left > 1; left--) {
		uint32_t other = place_below(*random++, left);
		uint8_t kind = kinds[other];
		kinds[other] = kinds[left - 1];
		kinds[left - 1] = kind;
	}
}

static inline uint64_t
shuffle_bits(uint64_t bits, uint32_t size, const uint64_t *random)
{
	uint64_t shuffled = 0;
	for (uint32_t left = size; left > 1; left--) {
		uint32_t other = place_below(*random++, left);
		shuffled |= (bits >> other & 1) << (left - 1);
		bits = (bits & ~(UINT64_C(1) << other)) | (bits >> (left - 1) & 1) << other;
	}
	return shuffled | (bits & 1);
}

/** Write `low` for each bit that is 0, and `high` for each that is 1. */
static void
spread_bits(uint64_t bits, uint32_t low, uint32_t high, uint8_t kinds[OPS_STRATUM])
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	for (uint32_t j = 0; j < OPS_STRATUM; j += 8, bits >>= 8) {
		/* byte k keeps bit k, then becomes 0 or 1 */
		uint64_t eight = (bits & 0xff) * ones & UINT64_C(0x8040201008040201);
		eight = (eight + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & ones;
		eight = low * ones + (high - low) * eight;
		memcpy(kinds + j, &eight, sizeof(eight));
	}
}

/** List the kinds in their order, each as often as its share. */
static void
list_kinds(
	const struct ops_spec *spec, uint64_t first, uint32_t size, uint8_t kinds[OPS_STRATUM])
{
	uint64_t begin[NB_KINDS_MAX + 1], end[NB_KINDS_MAX + 1];
	uint32_t at = 0;
	ops_all_below(spec, first, begin);
	ops_all_below(spec, first + size, end);
	for (uint32_t left = spec->kinds; left != 0; left &= left - 1) {
		uint32_t kind = (uint32_t)__builtin_ctz(left);
		while (at < end[kind + 1] - begin[kind + 1])
			kinds[at++] = (uint8_t)kind;
	}
}

void
ops_kinds(const struct ops_spec *spec, uint64_t stratum, uint8_t kinds[OPS_STRATUM])
{
	if (spec->one_kind < NB_OP_KINDS) {
		memset(kinds, (int)spec->one_kind, OPS_STRATUM);
		return;
	}
	uint64_t first = stratum * OPS_STRATUM, random[OPS_STRATUM];
	uint32_t size = ops_stratum_size(spec, first);
	/* for operations after the end, which are never made */
	memset(kinds, NB_OP_READ, OPS_STRATUM);
	if (size == 0)
		return;
	splitmix64_fill(splitmix64_mix(spec->seed ^ SHUFFLE_SALT) + stratum, random, size - 1);
	if (__builtin_popcount(spec->kinds) != 2) {
		list_kinds(spec, first, size, kinds);
		shuffle_bytes(kinds, size, random);
		return;
	}
	uint32_t low = (uint32_t)__builtin_ctz(spec->kinds);
	uint32_t high = 31 - (uint32_t)__builtin_clz(spec->kinds);
	uint64_t lows = ops_below(spec, high, first + size) - ops_below(spec, high, first);
	uint64_t bits = lows < OPS_STRATUM ? UINT64_MAX << lows : 0;
	spread_bits(shuffle_bits(bits, size, random), low, high, kinds);
	memset(kinds + size, NB_OP_READ, OPS_STRATUM - size);
}
