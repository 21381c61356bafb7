/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many numbers of splitmix64 at once. Its states are an arithmetic progression, so the numbers do
 * not depend on each other.
 */
#include "base/rng.h"

#include <stdbool.h>

#include "base/wide.h"

static inline __attribute__((always_inline)) void
fill(uint64_t state, uint64_t *out, uint32_t count)
{
	for (uint32_t j = 0; j < count; j++)
		out[j] = splitmix64_mix(state + (j + UINT64_C(1)) * RNG_GAMMA);
}

static WIDE void
fill_wide(uint64_t state, uint64_t *out, uint32_t count)
{
	fill(state, out, count);
}

void
splitmix64_fill(uint64_t state, uint64_t *out, uint32_t count)
{
	if (count >= WIDE_LEAST && HAS_WIDE)
		fill_wide(state, out, count);
	else
		fill(state, out, count);
}

static inline __attribute__((always_inline)) void
mix_all(const uint64_t *in, uint64_t salt, uint64_t *out, uint32_t count)
{
	for (uint32_t j = 0; j < count; j++)
		out[j] = splitmix64_mix(in[j] + salt);
}

static WIDE void
mix_all_wide(const uint64_t *in, uint64_t salt, uint64_t *out, uint32_t count)
{
	mix_all(in, salt, out, count);
}

void
splitmix64_mix_all(const uint64_t *in, uint64_t salt, uint64_t *out, uint32_t count)
{
	if (count >= WIDE_LEAST && HAS_WIDE)
		mix_all_wide(in, salt, out, count);
	else
		mix_all(in, salt, out, count);
}
