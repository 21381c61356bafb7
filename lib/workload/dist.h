/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_DIST_H
#define WORKLOAD_DIST_H
/**
 * Which of n records an operation goes to: one draw, O(1), from random words that
 * belong to the operation alone, so that operation i draws the same whoever makes it.
 */
#include <mininb/job.h>

#include "base/rng.h"

/** Names of NB_DIST_*, in their order. */
#define DIST_NAMES(X) \
	X("uniform") \
	X("zipfian") \
	X("zipfian-ycsb") \
	X("latest") X("hotspot") X("exponential") X("sequential") X("pareto") X("descending")

/** NULL: unknown. */
const char *
dist_name(uint32_t kind);

/** Made once, then changed by dist_resize() alone. Plain data. */
struct dist {
	uint32_t kind;  /* NB_DIST_* */
	uint32_t shift; /* of the scrambling */
	uint64_t n;     /* records, >= 1 */
	/* what dist.c precomputes */
	uint64_t base;        /* records that are scrambled: n of dist_create() */
	uint64_t mask;        /* of the scrambling: 2^bits - 1 >= base - 1 */
	uint64_t hot;         /* hotspot: records of the hot set */
	uint64_t modulus;     /* zipfian-ycsb: of hashed ranks; n of dist_create() until set */
	double a, b, c, d, e; /* constants of the formula */
};

/**
 * `n` records, as there are at the beginning; distribution and parameters are the
 * group's. Costs at most some microseconds, whatever n is.
 */
void
dist_create(struct dist *dist, const struct nb_group *group, uint64_t n);

/** There are `n` records now, no fewer than before. Some 50 ns. */
void
dist_resize(struct dist *dist, uint64_t n);

/**
 * The record that an operation goes to, 0..n-1. `random` is the operation's own
 * state of splitmix64_next(), `i` its number (for NB_DIST_SEQUENTIAL).
 */
uint64_t
dist_draw(const struct dist *dist, uint64_t *random, uint64_t i);

/** The same for `count` operations i, i + 1, ..., each with its own state. */
void
dist_draw_block(
	const struct dist *dist, uint64_t *random, uint64_t i, uint32_t count, uint64_t *out);

/** The same, all from one state, one after the other. */
void
dist_draw_more(
	const struct dist *dist, uint64_t *random, uint64_t i, uint32_t count, uint64_t *out);

/** The rank before scrambling, 0 the most frequent one: for tests of the law. */
uint64_t
dist_draw_rank(const struct dist *dist, uint64_t *random, uint64_t i);

/** One of 0..n-1, each exactly as likely as the others; n > 0. As rng_below(). */
static inline uint64_t
dist_below(uint64_t *random, uint64_t n)
{
	uint128 product = (uint128)splitmix64_next(random) * n;
	if (__builtin_expect((uint64_t)product < n, 0)) {
		uint64_t surplus = -n % n; /* 2^64 mod n */
		while ((uint64_t)product < surplus)
			product = (uint128)splitmix64_next(random) * n;
	}
	return (uint64_t)(product >> 64);
}

/** 53 random bits as a number in [0, 1). */
static inline double
dist_unit(uint64_t *random)
{
	return (double)(splitmix64_next(random) >> 11) * 0x1p-53;
}

#endif /* WORKLOAD_DIST_H */
