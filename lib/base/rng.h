/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_RNG_H
#define BASE_RNG_H
/**
 * Random numbers: xoshiro256**, seeded by splitmix64. Equal seeds give equal numbers on every
 * machine. The period is 2^256-1. Not for secrets. One thread at a time may use a generator.
 *
 * xoshiro256**: Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS
 * 47 (2021), section 5 and the table of its constants. splitmix64: Steele, Lea and Flood, "Fast
 * Splittable Pseudorandom Number Generators", OOPSLA 2014, figure 16 with Stafford's mixer 13.
 * Blackman and Vigna recommend splitmix64 for seeding: similar seeds, including 0, give
 * dissimilar states that are not zero.
 */
#include <stdint.h>

#include "base/uint128.h"

struct rng {
	uint64_t s[4];
};

/**
 * The mixer of splitmix64: a bijection in which each input bit changes half of the output bits.
 */
static inline uint64_t
splitmix64_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/**
 * The inverse of x ^ x >> shift. The upper `shift` bits are right at first; each round doubles
 * them.
 */
static inline uint64_t
rng_unshift(uint64_t x, unsigned shift)
{
	for (; shift < 64; shift *= 2)
		x ^= x >> shift;
	return x;
}

/** The inverse of splitmix64_mix(), with the inverses of its factors mod 2^64. */
static inline uint64_t
splitmix64_unmix(uint64_t z)
{
	z = rng_unshift(z, 31) * UINT64_C(0x319642b2d24d8ec3);
	z = rng_unshift(z, 27) * UINT64_C(0x96de1b173f119089);
	return rng_unshift(z, 30);
}

/** The step of splitmix64's states: 2^64 / golden ratio, odd. */
#define RNG_GAMMA UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t
splitmix64_next(uint64_t *state)
{
	*state += RNG_GAMMA;
	return splitmix64_mix(*state);
}

/** The next `count` numbers from that state. */
void
splitmix64_fill(uint64_t state, uint64_t *out, uint32_t count);

/** splitmix64_mix() of in[j] + salt. */
void
splitmix64_mix_all(const uint64_t *in, uint64_t salt, uint64_t *out, uint32_t count);

static inline void
rng_create(struct rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		rng->s[i] = splitmix64_next(&seed);
}

static inline uint64_t
rng_rotate_left(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

/** 64 random bits. */
static inline uint64_t
rng_next(struct rng *rng)
{
	uint64_t *s = rng->s;
	uint64_t result = rng_rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rng_rotate_left(s[3], 45);
	return result;
}

/**
 * A uniform number 0..n-1; n > 0.
 *
 * Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29 (2019), algorithm 5:
 * takes the high half of a product, and draws again in the rare cases that would favour some
 * results. It divides only if such a case is near.
 */
static inline uint64_t
rng_below(struct rng *rng, uint64_t n)
{
	uint128 product = (uint128)rng_next(rng) * n;
	if ((uint64_t)product < n) {
		uint64_t surplus = -n % n; /* 2^64 mod n */
		while ((uint64_t)product < surplus)
			product = (uint128)rng_next(rng) * n;
	}
	return (uint64_t)(product >> 64);
}

#endif /* BASE_RNG_H */
