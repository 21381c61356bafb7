/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Zipfian ranks: P(rank k-1) ~ k^-theta, by rejection-inversion (Hoermann and Derflinger,
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
 */
#include "workload/dist_parts.h"

#include <assert.h>

#include "base/real.h"

/* Nearer to 1 than this, the power loses precision and the logarithm is used. */
#define NEAR_1 0x1p-9

/*
 * a + b * [0, 1] is the range of the integral, c is the limit of immediate
 * acceptance; d = 1 - theta, e = 1 / d, and e is 0 near theta = 1
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

void
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

void
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
doubtful(const struct dist *dist, uint64_t *random, double at, double k)
{
	bool is_near_1 = dist->e == 0;
	while (!is_in_bar(dist, at, k, is_near_1)) {
		at = dist->a + dist->b * dist_dense_unit(random);
		double x = place_of(dist, area_inverse_log(dist, at, is_near_1));
		k = bar_at(x);
		if (k - x <= dist->c)
			break;
	}
	return k;
}

uint64_t
zipf_rank(const struct dist *dist, uint64_t *random)
{
	bool is_near_1 = dist->e == 0;
	double point = dist->a + dist->b * dist_dense_unit(random);
	double at = is_near_1 || point > DBL_MIN ? point : DBL_MIN;
	double x = place_of(dist, area_inverse_log(dist, at, is_near_1)), k = bar_at(x);
	if (__builtin_expect(k - x > dist->c, 0))
		k = doubtful(dist, random, at, k);
	return (uint64_t)k - 1;
}

/** Places of points near theta = 1. */
static void
places_near_1(const struct dist *dist, const double *at, uint32_t count, double *x)
{
	for (uint32_t j = 0; j < count; j++)
		x[j] = place_of(dist, area_inverse_log(dist, at[j], true));
}

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
places_of(const struct dist *dist, const double *at, bool is_wide, uint32_t count, double *x)
{
	if (dist->e == 0)
		places_near_1(dist, at, count, x);
#if defined(__x86_64__)
	else if (!is_wide && count >= WIDE_LEAST && __builtin_cpu_supports("avx2"))
		places_avx2(dist, at, count, x);
#endif
	else
		places(dist, at, count, x);
}

/**
 * One step for all draws after the other. A whole draw is a dependency chain of about 150
 * cycles, and a processor overlaps only two of them. It overlaps many independent single steps.
 */
static inline __attribute__((always_inline)) void
draw(const struct dist *dist, uint64_t *restrict random, bool is_wide, uint32_t count,
	uint64_t *restrict out)
{
	double at[DIST_CHUNK] = {0}, x[DIST_CHUNK];
	double a = dist->a, b = dist->b, c = dist->c;
	/* smaller values occur only in the tail of a steep distribution, 1 in 2^63 */
	double least = dist->e == 0 ? -(double)INFINITY : DBL_MIN;
	uint8_t is_doubtful[DIST_CHUNK] = {0};
	for (uint32_t j = 0; j < count; j++) {
		double point = a + b * dist_dense_unit(&random[j]);
		at[j] = point > least ? point : least;
	}
	places_of(dist, at, is_wide, count, x);
	for (uint32_t j = 0; j < count; j++) {
		double k = bar_at(x[j]);
		is_doubtful[j] = k - x[j] > c;
		out[j] = (uint64_t)(int64_t)k - 1;
	}
	for (uint64_t left = dist_bits_of(is_doubtful); left != 0; left &= left - 1) {
		uint32_t j = (uint32_t)__builtin_ctzll(left);
		out[j] = (uint64_t)doubtful(dist, &random[j], at[j], bar_at(x[j])) - 1;
	}
}

static WIDE void
draw_wide(const struct dist *dist, uint64_t *random, uint32_t count, uint64_t *out)
{
	draw(dist, random, true, count, out);
}

void
zipf_ranks(const struct dist *dist, uint64_t *random, uint32_t count, uint64_t *out)
{
	if (count >= WIDE_LEAST && HAS_WIDE)
		draw_wide(dist, random, count, out);
	else
		draw(dist, random, false, count, out);
}
