/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses a record: draws a rank, 0 the most frequent, and maps it to a record.
 *
 * Zipfian: P(rank k-1) ~ k^-theta, by rejection-inversion (Hoermann and Derflinger,
 * "Rejection-Inversion to Generate Variates from Monotone Discrete Distributions", ACM TOMACS
 * 6(3), 1996). A point under the curve x^-theta is drawn by inverting its integral. It is
 * rejected in the few cases where it is outside the bar of its integer. Each bar is as high as
 * the curve at its middle and the curve is convex, so the distribution is exact. It needs no
 * sum over the records, so n may grow at any time.
 *
 * Rejected: the formula of Gray et al. ("Quickly Generating Billion-Record Synthetic
 * Databases", SIGMOD 1994), which YCSB uses. It first sums n powers, and only ranks 0 and 1
 * have the exact probability (rank 3 is 20 % too frequent at .99). NB_DIST_ZIPFIAN_YCSB
 * implements it, to compare results with those of YCSB.
 *
 * The integral is expressed as x^(1-theta), which is linear in it: a draw needs one log and one
 * exp. Near theta = 1 that is 1 for all x, so (x^(1-theta) - 1)/(1-theta), which tends to log
 * x, replaces it. Random words count from the far end of the tail, where numbers are small and
 * dense. Otherwise a steep distribution would skip some of the last ranks.
 *
 * Scrambling: a bijection of [0, base), where base is the initial number of records. So hot
 * records are not neighbours, and each rank has its own record. YCSB hashes the rank mod n;
 * more than a third of the records then have no rank and others have two. Ranks from `base` up,
 * of added records, map to themselves: the hottest records are always loaded ones.
 *
 * zipfian-ycsb hashes as YCSB does, with a modulus that stays constant while n grows. Otherwise
 * each insert would move the hot records. It draws again if the record does not exist yet.
 *
 * Cause of a wrong distribution: two draws that share random words.
 */
#include "workload/dist.h"

#include <assert.h>
#include <stdbool.h>

#include "base/real.h"
#include "workload/keyspace.h"

/* Nearer to 1 than this, the power loses precision and the logarithm is used. */
#define NEAR_1 0x1p-9

/* YCSB 0.17: ScrambledZipfianGenerator and the ZipfianGenerator(0, ITEM_COUNT) in it. */
#define YCSB_THETA 0.99
#define YCSB_ITEMS 10000000001.0
#define YCSB_ZETA 26.46902820178302

enum { YCSB_AGAIN = 256 }; /* limit for further draws of one operation */

/** 63 random bits as a number in [0, 1], dense near 0. */
static inline double
dense_unit(uint64_t *random)
{
	return (double)(int64_t)(splitmix64_next(random) >> 1) * 0x1p-63;
}

/*
 * ---- zipfian: a + b * [0, 1] is the range of the integral, c is the limit of immediate
 * acceptance; d = 1 - theta, e = 1 / d, and e is 0 near theta = 1 ----
 */

/** The integral of the curve up to x, in one of the two forms. */
static inline double
area(const struct dist *dist, double x, bool is_near_1)
{
	double log_x = real_log(x);
	if (!is_near_1)
		return real_exp(dist->d * log_x);
	return dist->d == 0 ? log_x : real_expm1(dist->d * log_x) / dist->d;
}

/** The logarithm of the x at which the integral is `at`. */
static inline double
area_inverse_log(const struct dist *dist, double at, bool is_near_1)
{
	if (!is_near_1)
		return dist->e * real_log(at);
	double t = dist->d * at;
	return t == 0 ? at : at * (real_log1p(t) / t);
}

/** The area of a bar of height k^-theta and width 1, in the same form. */
static inline double
bar(const struct dist *dist, double k, bool is_near_1)
{
	double height = real_exp((dist->d - 1) * real_log(k));
	return is_near_1 ? height : height * dist->d;
}

static void
zipf_create(struct dist *dist, double theta)
{
	assert(theta > 0);
	dist->d = 1 - theta;
	bool is_near_1 = dist->d > -NEAR_1 && dist->d < NEAR_1;
	dist->e = is_near_1 ? 0 : 1 / dist->d;
	dist->c = 2 -
		real_exp(area_inverse_log(
			dist, area(dist, 2.5, is_near_1) - bar(dist, 2, is_near_1), is_near_1));
}

static void
zipf_resize(struct dist *dist)
{
	bool is_near_1 = dist->e == 0;
	double begin = area(dist, 1.5, is_near_1) - bar(dist, 1, is_near_1);
	dist->a = area(dist, (double)dist->n + 0.5, is_near_1);
	dist->b = begin - dist->a;
}

/** Whether the point is inside bar k, whose area ends at the integral up to k + 0.5. */
static bool
is_in_bar(const struct dist *dist, double at, double k, bool is_near_1)
{
	double left = area(dist, k + 0.5, is_near_1) - bar(dist, k, is_near_1);
	return !is_near_1 && dist->d < 0 ? at <= left : at >= left;
}

/** The x of the point, limited to 1..n: the rest belongs to bar 1 or bar n. */
static inline double
place_of(const struct dist *dist, double log_x)
{
	double x = real_exp(log_x), n = (double)dist->n;
	x = x > 1 ? x : 1;
	return x < n ? x : n;
}

/** The bar at a place. */
static inline double
bar_at(double x)
{
	return (double)(int64_t)(x + 0.5);
}

static __attribute__((noinline)) double
zipf_doubtful(const struct dist *dist, uint64_t *random, double at, double k)
{
	bool is_near_1 = dist->e == 0;
	while (!is_in_bar(dist, at, k, is_near_1)) {
		at = dist->a + dist->b * dense_unit(random);
		double x = place_of(dist, area_inverse_log(dist, at, is_near_1));
		k = bar_at(x);
		if (k - x <= dist->c)
			break;
	}
	return k;
}

enum { CHUNK = 64, AHEAD = 16 };

/** Places of `count` points, each at least DBL_MIN. */
static inline __attribute__((always_inline)) void
places(const struct dist *dist, const double *at, uint32_t count, double *x)
{
	double e = dist->e, n = (double)dist->n;
	for (uint32_t j = 0; j < count; j++) {
		double place = real_exp_normal(e * real_log_normal(at[j], 0));
		place = place > 1 ? place : 1;
		x[j] = place < n ? place : n;
	}
}

#if defined(__x86_64__)
/** Four places at once, with bit-identical results. */
static __attribute__((noinline, target("avx2"))) void
places_avx2(const struct dist *dist, const double *at, uint32_t count, double *x)
{
	places(dist, at, count, x);
}
#endif

static inline __attribute__((always_inline)) void
places_of(const struct dist *dist, const double *at, bool is_near_1, uint32_t count, double *x)
{
	if (is_near_1)
		for (uint32_t j = 0; j < count; j++)
			x[j] = place_of(dist, area_inverse_log(dist, at[j], true));
#if defined(__x86_64__)
	else if (count >= 8 && __builtin_cpu_supports("avx2"))
		places_avx2(dist, at, count, x);
#endif
	else
		places(dist, at, count, x);
}

/**
 * At most CHUNK draws, one step for all after the other. A whole draw is a dependency chain of
 * about 150 cycles, and a processor overlaps only two of them. It overlaps many independent
 * single steps.
 */
static inline __attribute__((always_inline)) void
zipf_ranks(const struct dist *dist, uint64_t *random, bool is_near_1, uint32_t count,
	uint64_t *out)
{
	double at[CHUNK], x[CHUNK];
	double a = dist->a, b = dist->b;
	for (uint32_t j = 0; j < count; j++) {
		double point = a + b * dense_unit(&random[j]);
		/* smaller values occur only in the tail of a steep distribution, 1 in 2^63 */
		at[j] = is_near_1 || point > DBL_MIN ? point : DBL_MIN;
	}
	places_of(dist, at, is_near_1, count, x);
	for (uint32_t j = 0; j < count; j++) {
		double k = bar_at(x[j]);
		if (__builtin_expect(k - x[j] > dist->c, 0))
			k = zipf_doubtful(dist, &random[j], at[j], k);
		out[j] = (uint64_t)k - 1;
	}
}

/* ---- zipfian-ycsb: a is zeta(n), b the limit of rank 1, c eta, d alpha ---- */

static void
ycsb_create(struct dist *dist)
{
	double zeta_2 = 1 + real_pow(0.5, YCSB_THETA);
	dist->a = YCSB_ZETA;
	dist->b = zeta_2;
	dist->c = (1 - real_pow(2 / YCSB_ITEMS, 1 - YCSB_THETA)) / (1 - zeta_2 / YCSB_ZETA);
	dist->d = 1 / (1 - YCSB_THETA);
}

static inline uint64_t
ycsb_rank(const struct dist *dist, uint64_t *random)
{
	double u = dist_unit(random);
	double uz = u * dist->a;
	uint64_t rank = (uint64_t)(YCSB_ITEMS * real_pow(dist->c * u - dist->c + 1, dist->d));
	return uz < 1 ? 0 : uz < dist->b ? 1 : rank;
}

/* ---- hotspot: a is the share of hot draws ---- */

static void
hotspot_resize(struct dist *dist, double share)
{
	dist->hot = (uint64_t)((double)dist->n * share);
	if (dist->hot == 0)
		dist->hot = 1;
	if (dist->hot > dist->n)
		dist->hot = dist->n;
}

static inline uint64_t
hotspot_rank(const struct dist *dist, uint64_t *random)
{
	bool is_hot = dist_unit(random) < dist->a || dist->hot == dist->n;
	uint64_t begin = is_hot ? 0 : dist->hot, end = is_hot ? dist->hot : dist->n;
	return begin + dist_below(random, end - begin);
}

/* ---- exponential and pareto: fractions of n, for any n ---- */

static inline uint64_t
rank_at(const struct dist *dist, double share)
{
	double at = share * (double)dist->n;
	uint64_t rank = at < 0x1p63 ? (uint64_t)at : 0;
	return rank < dist->n ? rank : dist->n - 1;
}

/** a is the rate over all n, b the share of the distribution below n. */
static void
exponential_create(struct dist *dist, double percent, double share)
{
	double rate = -real_log1p(-percent / 100) / share;
	/* no skew, or 0/0: a rate too small to have an effect */
	dist->a = rate > 1e-15 ? rate : 1e-15;
	dist->b = -real_expm1(-dist->a);
}

static inline uint64_t
exponential_rank(const struct dist *dist, uint64_t *random)
{
	return rank_at(dist, -real_log1p(-dist->b * dist_unit(random)) / dist->a);
}

/** a is the exponent. */
static void
pareto_create(struct dist *dist, double h)
{
	dist->a = real_log(h) / real_log1p(-h);
}

static inline uint64_t
pareto_rank(const struct dist *dist, uint64_t *random)
{
	return rank_at(dist, real_pow(dense_unit(random), dist->a));
}

/* ---- scrambling ---- */

static void
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
static inline uint64_t
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
 * Scramble at most CHUNK ranks. First all do one step, then those that must continue. Which
 * ones continue is unpredictable, so the code has no branch for it.
 */
static void
scramble_all(const struct dist *dist, uint32_t count, uint64_t *ranks)
{
	uint64_t base = dist->base, mask = dist->mask;
	uint32_t shift = dist->shift, left = 0;
	uint32_t on[CHUNK];
	for (uint32_t j = 0; j < count; j++) {
		uint64_t rank = ranks[j], to = scramble_once(rank, mask, shift);
		bool is_own = rank >= base;
		ranks[j] = is_own ? rank : to;
		on[left] = j;
		left += (to >= base) & !is_own;
	}
	while (left > 0) {
		uint32_t begun = left;
		left = 0;
		for (uint32_t i = 0; i < begun; i++) {
			uint32_t j = on[i];
			ranks[j] = scramble_once(ranks[j], mask, shift);
			on[left] = j;
			left += ranks[j] >= base;
		}
	}
}

/* ---- all distributions ---- */

/* NB_DIST_*, and a second value for zipfian and latest with theta near 1. */
enum { NEAR = NB_DIST_KINDS };

static inline uint32_t
path_of(const struct dist *dist)
{
	bool is_zipf = dist->kind == NB_DIST_ZIPFIAN || dist->kind == NB_DIST_LATEST;
	return dist->kind + (is_zipf && dist->e == 0 ? NEAR : 0);
}

/** A constant path removes the switch. */
static inline __attribute__((always_inline)) uint64_t
rank_of(const struct dist *dist, uint32_t path, uint64_t *random, uint64_t i)
{
	switch (path) {
	case NB_DIST_ZIPFIAN:
	case NB_DIST_LATEST:
	case NB_DIST_ZIPFIAN + NEAR:
	case NB_DIST_LATEST + NEAR: {
		uint64_t rank;
		zipf_ranks(dist, random, path >= NEAR, 1, &rank);
		return rank;
	}
	case NB_DIST_ZIPFIAN_YCSB:
		return ycsb_rank(dist, random);
	case NB_DIST_HOTSPOT:
		return hotspot_rank(dist, random);
	case NB_DIST_EXPONENTIAL:
		return exponential_rank(dist, random);
	case NB_DIST_SEQUENTIAL:
	case NB_DIST_DESCENDING:
		return i % dist->n;
	case NB_DIST_PARETO:
		return pareto_rank(dist, random);
	default:
		return dist_below(random, dist->n);
	}
}

static inline __attribute__((always_inline)) uint64_t
record_of(const struct dist *dist, uint32_t path, uint64_t rank)
{
	switch (path) {
	case NB_DIST_LATEST:
	case NB_DIST_LATEST + NEAR:
	case NB_DIST_DESCENDING:
		return dist->n - 1 - rank;
	case NB_DIST_ZIPFIAN_YCSB:
		return keyspace_ycsb_hash(rank) % dist->modulus;
	case NB_DIST_ZIPFIAN:
	case NB_DIST_ZIPFIAN + NEAR:
	case NB_DIST_HOTSPOT:
	case NB_DIST_EXPONENTIAL:
	case NB_DIST_PARETO:
		return scramble(dist, rank);
	default:
		return rank;
	}
}

/**
 * For zipfian-ycsb: draw again while the record does not exist. YCSB has no limit. mininb has
 * one, because a job with few records and a count of many inserts has a large modulus, and then
 * nearly no draw is an existing record. If a tenth of the records exist, one operation in 10^11
 * reaches the limit.
 */
static inline __attribute__((always_inline)) uint64_t
until_there(const struct dist *dist, uint32_t path, uint64_t *random, uint64_t record)
{
	if (path != NB_DIST_ZIPFIAN_YCSB)
		return record;
	for (int again = 0; __builtin_expect(record >= dist->n, 0); again++)
		record = again < YCSB_AGAIN ? record_of(dist, path, ycsb_rank(dist, random))
					    : record % dist->n;
	return record;
}

const char *
dist_name(uint32_t kind)
{
#define NAME(name) name,
	static const char *const names[NB_DIST_KINDS] = {DIST_NAMES(NAME)};
#undef NAME
	return kind < NB_DIST_KINDS ? names[kind] : NULL;
}

void
dist_create(struct dist *dist, const struct nb_group *group, uint64_t n)
{
	assert(n > 0 && group->distribution < NB_DIST_KINDS);
	*dist = (struct dist){.kind = group->distribution, .n = n, .base = n, .modulus = n};
	scramble_create(dist);
	switch (dist->kind) {
	case NB_DIST_ZIPFIAN:
	case NB_DIST_LATEST:
		zipf_create(dist, group->theta);
		break;
	case NB_DIST_ZIPFIAN_YCSB:
		ycsb_create(dist);
		break;
	case NB_DIST_HOTSPOT:
		dist->a = group->hot_ops;
		dist->b = group->hot_share;
		break;
	case NB_DIST_EXPONENTIAL:
		exponential_create(dist, group->exp_percent, group->exp_share);
		break;
	case NB_DIST_PARETO:
		pareto_create(dist, group->pareto_h);
		break;
	}
	dist_resize(dist, n);
}

void
dist_resize(struct dist *dist, uint64_t n)
{
	assert(n >= dist->n);
	dist->n = n;
	if (dist->kind == NB_DIST_ZIPFIAN || dist->kind == NB_DIST_LATEST)
		zipf_resize(dist);
	else if (dist->kind == NB_DIST_HOTSPOT)
		hotspot_resize(dist, dist->b);
}

uint64_t
dist_draw_rank(const struct dist *dist, uint64_t *random, uint64_t i)
{
	return rank_of(dist, path_of(dist), random, i);
}

uint64_t
dist_draw(const struct dist *dist, uint64_t *random, uint64_t i)
{
	uint32_t path = path_of(dist);
	return until_there(
		dist, path, random, record_of(dist, path, rank_of(dist, path, random, i)));
}

static inline __attribute__((always_inline)) void
draw_chunk(const struct dist *dist, uint32_t path, uint64_t *random, uint64_t i, uint32_t count,
	uint64_t *out)
{
	bool is_near_1 = path >= NEAR;
	uint32_t kind = is_near_1 ? path - NEAR : path;
	if (kind == NB_DIST_ZIPFIAN || kind == NB_DIST_LATEST)
		zipf_ranks(dist, random, is_near_1, count, out);
	else
		for (uint32_t j = 0; j < count; j++)
			out[j] = rank_of(dist, path, &random[j], i + j);
	if (kind == NB_DIST_ZIPFIAN) {
		scramble_all(dist, count, out);
		return;
	}
	for (uint32_t j = 0; j < count; j++)
		out[j] = until_there(dist, path, &random[j], record_of(dist, path, out[j]));
}

static inline __attribute__((always_inline)) void
draw_block(const struct dist *dist, uint32_t path, uint64_t *random, uint64_t i, uint32_t count,
	uint64_t *out)
{
	for (uint32_t j = 0; j < count; j += CHUNK) {
		uint32_t rest = count - j;
		draw_chunk(dist, path, random + j, i + j, rest < CHUNK ? rest : CHUNK, out + j);
	}
}

/** Each path has its own loop, in which independent draws overlap. */
void
dist_draw_block(
	const struct dist *dist, uint64_t *random, uint64_t i, uint32_t count, uint64_t *out)
{
#define LOOP(path) \
	case path: \
		draw_block(dist, path, random, i, count, out); \
		break
	switch (path_of(dist)) {
		LOOP(NB_DIST_UNIFORM);
		LOOP(NB_DIST_ZIPFIAN);
		LOOP(NB_DIST_ZIPFIAN + NEAR);
		LOOP(NB_DIST_ZIPFIAN_YCSB);
		LOOP(NB_DIST_LATEST);
		LOOP(NB_DIST_LATEST + NEAR);
		LOOP(NB_DIST_HOTSPOT);
		LOOP(NB_DIST_EXPONENTIAL);
		LOOP(NB_DIST_SEQUENTIAL);
		LOOP(NB_DIST_PARETO);
		LOOP(NB_DIST_DESCENDING);
	}
#undef LOOP
}

/** Number of random words that a draw usually takes; some draws repeat. */
static uint32_t
words_of(const struct dist *dist)
{
	bool is_counted = dist->kind == NB_DIST_SEQUENTIAL || dist->kind == NB_DIST_DESCENDING;
	return is_counted ? 0 : dist->kind == NB_DIST_HOTSPOT ? 2 : 1;
}

/**
 * Draws that are not uniform overlap as in a block: each starts from the state that it has if
 * earlier ones take the usual number of words. The draws after one that took more are repeated.
 */
void
dist_draw_more(
	const struct dist *dist, uint64_t *random, uint64_t i, uint32_t count, uint64_t *out)
{
	/* Copies, because for the compiler a write to `out` may change *random and *dist. */
	uint64_t state = *random, n = dist->n;
	uint64_t states[AHEAD], step = words_of(dist) * UINT64_C(0x9e3779b97f4a7c15);
	bool is_uniform = dist->kind == NB_DIST_UNIFORM;
	for (uint32_t j = 0; j < count && is_uniform; j++)
		out[j] = dist_below(&state, n);
	for (uint32_t at = 0, ahead, good; at < count && !is_uniform; at += good) {
		ahead = count - at < AHEAD ? count - at : AHEAD;
		for (uint32_t j = 0; j < ahead; j++)
			states[j] = state + j * step;
		dist_draw_block(dist, states, i + at, ahead, out + at);
		for (good = 1; good < ahead && states[good - 1] == state + good * step;)
			good++;
		state = states[good - 1];
	}
	*random = state;
}
