/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_DIST_H
#define WORKLOAD_DIST_H
/**
 * Distributions over n records. A draw is O(1) and uses only random words of its operation, so
 * operation i draws the same record in any thread.
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

/** Made once, then changed only by dist_resize(). Plain data. */
struct dist {
	uint32_t kind;  /* NB_DIST_* */
	uint32_t shift; /* of the scrambling */
	uint64_t n;     /* records, >= 1 */
	/* precomputed by dist.c */
	uint64_t base;        /* number of scrambled records: n of dist_create() */
	uint64_t mask;        /* of the scrambling: 2^bits - 1 >= base - 1 */
	uint64_t hot;         /* hotspot: records of the hot set */
	uint64_t modulus;     /* zipfian-ycsb: modulus of hashes; initially dist_create()'s n */
	double a, b, c, d, e; /* constants of the formula */
};

/**
 * Create a distribution over `n` initial records, with the kind and parameters of the group.
 * Takes at most some microseconds for any n.
 */
void
dist_create(struct dist *dist, const struct nb_group *group, uint64_t n);

/** Change the number of records to `n`, not less than before. About 50 ns. */
void
dist_resize(struct dist *dist, uint64_t n);

/**
 * Draw a record 0..n-1. `random` is the operation's own state of splitmix64_next(); `i` is its
 * number (for NB_DIST_SEQUENTIAL).
 */
uint64_t
dist_draw(const struct dist *dist, uint64_t *random, uint64_t i);

/** The same for `count` operations i, i + 1, ..., each with its own state. */
void
dist_draw_block(
	const struct dist *dist, uint64_t *random, uint64_t i, uint32_t count, uint64_t *out);

/** The same, with draws from one state. */
void
dist_draw_more(
	const struct dist *dist, uint64_t *random, uint64_t i, uint32_t count, uint64_t *out);

/** Draw the rank before scrambling, 0 the most frequent: for tests of the distribution. */
uint64_t
dist_draw_rank(const struct dist *dist, uint64_t *random, uint64_t i);

/** A uniform number 0..n-1; n > 0. Same algorithm as rng_below(). */
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
