/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Draws sizes of values from a distribution that is cut to min..max.
 *
 * Sizes outside do not occur, and the others keep their proportions, so no size accumulates at
 * a limit. For Pareto, the remaining part of the distribution is inverted. For the normal
 * distribution, draws outside are repeated. Limits that contain less than a thousandth of it
 * are rejected, so TRIES suffices except for one draw in 10^7, which takes the nearer limit.
 *
 * pareto is the generalised Pareto distribution that RocksDB's mixgraph uses (Cao et al.,
 * "Characterizing, Modeling, and Benchmarking RocksDB Key-Value Workloads at Facebook", FAST
 * 2020, section 7), rounded up as there: P(size > min + x) = (1 + a x / b)^(-1/a). mixgraph
 * reduces sizes above its limit modulo the limit.
 *
 * normal is the polar method of Marsaglia and Bray ("A Convenient Method for Generating Normal
 * Variables", SIAM Review 6, 1964). Rejected: the method of Box and Muller, whose sine and
 * cosine differ in the last bit between machines.
 *
 * A histogram uses Walker's alias table, created by Vose's algorithm ("A Linear Algorithm for
 * Generating Random Numbers with a Given Distribution", IEEE TSE 17, 1991) in integers: each of
 * n columns has the sum of all weights as its capacity, and weight w fills n * w, so nothing is
 * rounded.
 */
#include "workload/sizes.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/real.h"

#define WITHIN_MIN 1e-3 /* minimum share of a normal distribution inside the limits */

#define PARETO_SHAPE_MAX 1e3
#define PARETO_SCALE_MIN 1e-9
#define PARETO_SCALE_MAX 1e18
#define PARETO_EVEN 1e-5 /* below this decrease the distribution is even */

enum {
	TRIES = 1 << 14,
	SUM_TERMS = 1 << 16, /* terms of a mean that are added one by one */
};

/* ---- checks ---- */

static int
check_bounds(uint64_t min, uint64_t max)
{
	if (min > max)
		return error_set(NB_ERR_USAGE, "sizes of %llu..%llu: the first is the larger",
			(unsigned long long)min, (unsigned long long)max);
	if (max > NB_VALUE_SIZE_MAX)
		return error_set(NB_ERR_USAGE,
			"sizes of up to %llu: a value has at most %u bytes",
			(unsigned long long)max, NB_VALUE_SIZE_MAX);
	return NB_OK;
}

static int
check_histogram(const struct nb_sizes *wanted)
{
	uint128 total = 0;
	for (uint32_t i = 0; i < wanted->count; i++) {
		if (wanted->weights[i] > 0 && wanted->sizes[i] > NB_VALUE_SIZE_MAX)
			return error_set(NB_ERR_USAGE,
				"a size of %llu: a value has at most %u bytes",
				(unsigned long long)wanted->sizes[i], NB_VALUE_SIZE_MAX);
		total += wanted->weights[i];
	}
	if (total == 0)
		return error_set(NB_ERR_USAGE, "a histogram in which all weights are 0");
	if (total > UINT64_MAX)
		return error_set(
			NB_ERR_USAGE, "the weights of a histogram exceed 2^64 - 1 together");
	return NB_OK;
}

/** P(from <= Z < to) of the standard normal distribution, computed without cancellation. */
static double
normal_share(double from, double to)
{
	double side = from > 0 ? 1 : -1;
	double a = erfc(side * from * M_SQRT1_2), b = erfc(side * to * M_SQRT1_2);
	return fabs(a - b) / 2;
}

/** The share of a normal distribution inside the limits, after rounding. */
static double
share_within(const struct nb_sizes *wanted)
{
	double min = (double)wanted->min - 0.5, max = (double)wanted->max + 0.5;
	if (wanted->b == 0)
		return wanted->a >= min && wanted->a < max;
	return normal_share((min - wanted->a) / wanted->b, (max - wanted->a) / wanted->b);
}

static int
check_normal(const struct nb_sizes *wanted)
{
	if (!(wanted->b >= 0 && isfinite(wanted->b) && isfinite(wanted->a)))
		return error_set(
			NB_ERR_USAGE, "normal sizes: the deviation must not be below 0");
	int rc = check_bounds(wanted->min, wanted->max);
	if (rc != NB_OK || share_within(wanted) >= WITHIN_MIN)
		return rc;
	return error_set(NB_ERR_USAGE,
		"normal sizes: of mean %g and deviation %g less than 1 in 1000 is within %llu..%llu",
		wanted->a, wanted->b, (unsigned long long)wanted->min,
		(unsigned long long)wanted->max);
}

/**
 * Outside of these limits all sizes are equal or arbitrary, and doubles cannot represent the
 * shares.
 */
static int
check_pareto(const struct nb_sizes *wanted)
{
	if (!(wanted->b > 0))
		return error_set(NB_ERR_USAGE, "pareto sizes: the scale must be above 0");
	if (!(wanted->b >= PARETO_SCALE_MIN && wanted->b <= PARETO_SCALE_MAX))
		return error_set(NB_ERR_USAGE, "pareto sizes: the scale must be within %g..%g",
			PARETO_SCALE_MIN, PARETO_SCALE_MAX);
	if (!(fabs(wanted->a) <= PARETO_SHAPE_MAX))
		return error_set(NB_ERR_USAGE, "pareto sizes: the shape must be within %g..%g",
			-PARETO_SHAPE_MAX, PARETO_SHAPE_MAX);
	return NB_OK;
}

int
sizes_check(const struct nb_sizes *wanted)
{
	int rc;
	switch (wanted->kind) {
	case NB_SIZE_HISTOGRAM:
		return check_histogram(wanted);
	case NB_SIZE_ZIPFIAN:
		if (!(wanted->a > 0 && isfinite(wanted->a)))
			return error_set(
				NB_ERR_USAGE, "zipfian sizes: the exponent must be above 0");
		break;
	case NB_SIZE_NORMAL:
		return check_normal(wanted);
	case NB_SIZE_PARETO:
		rc = check_pareto(wanted);
		if (rc != NB_OK)
			return rc;
		break;
	case NB_SIZE_FIXED:
		return check_bounds(wanted->min, wanted->min);
	case NB_SIZE_UNIFORM:
		break;
	default:
		return error_set(
			NB_ERR_USAGE, "unknown distribution of sizes %u", wanted->kind);
	}
	return check_bounds(wanted->min, wanted->max);
}

/* ---- drawing ---- */

static double
draw_normal(uint64_t *random)
{
	double x, y, s;
	do {
		x = 2 * dist_unit(random) - 1;
		y = 2 * dist_unit(random) - 1;
		s = x * x + y * y;
	} while (s >= 1 || s == 0);
	return x * sqrt(-2 * real_log(s) / s);
}

static uint64_t
draw_cut_normal(const struct sizes *sizes, uint64_t *random)
{
	double min = (double)sizes->min, max = (double)sizes->max, size = min;
	for (int i = 0; i < TRIES; i++) {
		size = floor(sizes->a + sizes->b * draw_normal(random) + 0.5);
		if (size >= min && size <= max)
			return (uint64_t)size;
	}
	return size < min ? sizes->min : sizes->max;
}

/** The value with P(above it) = exp(log_share). */
static double
pareto_above(const struct sizes *sizes, double log_share)
{
	if (sizes->a == 0)
		return -sizes->b * log_share;
	return sizes->b * (real_expm1(-sizes->a * log_share) / sizes->a);
}

/** c is the share of the distribution below max. */
static uint64_t
draw_pareto(const struct sizes *sizes, uint64_t *random)
{
	double log_share = real_log1p(-sizes->c * dist_unit(random));
	double above = ceil(pareto_above(sizes, log_share));
	double most = (double)(sizes->max - sizes->min);
	return sizes->min + (uint64_t)(above < most ? above : most);
}

static uint64_t
draw_column(const struct sizes *sizes, uint64_t *random)
{
	uint64_t column = dist_below(random, sizes->count);
	bool is_own = dist_below(random, sizes->total) < sizes->thresholds[column];
	return is_own ? sizes->values[column] : sizes->aliases[column];
}

uint64_t
sizes_draw(const struct sizes *sizes, uint64_t *random)
{
	switch (sizes->kind) {
	case NB_SIZE_UNIFORM:
		return sizes->min + dist_below(random, sizes->max - sizes->min + 1);
	case NB_SIZE_ZIPFIAN:
		return sizes->min + dist_draw_rank(&sizes->zipf, random, 0);
	case NB_SIZE_NORMAL:
		return draw_cut_normal(sizes, random);
	case NB_SIZE_PARETO:
		return draw_pareto(sizes, random);
	case NB_SIZE_HISTOGRAM:
		return draw_column(sizes, random);
	default:
		return sizes->min;
	}
}

/* ---- creation ---- */

/** log P(size > min + x). For |a| below 10^-9 it is the exponential distribution. */
static double
pareto_log_share(const struct sizes *sizes, double x)
{
	if (sizes->a == 0)
		return -x / sizes->b;
	double y = sizes->a * x / sizes->b;
	return y > -1 ? -real_log1p(y) / sizes->a : -(double)INFINITY;
}

static void
create_pareto(struct sizes *sizes)
{
	if (fabs(sizes->a) < 1e-9)
		sizes->a = 0;
	sizes->c = -real_expm1(pareto_log_share(sizes, (double)(sizes->max - sizes->min)));
}

static void
create_zipfian(struct sizes *sizes)
{
	struct nb_group group = {.distribution = NB_DIST_ZIPFIAN, .theta = sizes->a};
	dist_create(&sizes->zipf, &group, sizes->max - sizes->min + 1);
}

/**
 * Fill columns below their capacity from columns above it, one pair at a time. `order` lists
 * the former from the left and the latter from the right.
 */
static void
level(struct sizes *sizes, uint128 *filled, uint32_t *order)
{
	uint32_t low = 0, high = sizes->count;
	for (uint32_t i = 0; i < sizes->count; i++)
		if (filled[i] < sizes->total)
			order[low++] = i;
		else
			order[--high] = i;
	while (low > 0 && high < sizes->count) {
		uint32_t empty = order[--low], full = order[high];
		sizes->thresholds[empty] = (uint64_t)filled[empty];
		sizes->aliases[empty] = sizes->values[full];
		filled[full] -= sizes->total - filled[empty];
		if (filled[full] < sizes->total) {
			high++;
			order[low++] = full;
		}
	}
	for (; high < sizes->count; high++) /* exactly full */
		sizes->thresholds[order[high]] = sizes->total;
	assert(low == 0);
}

static void
take_weights(struct sizes *sizes, uint128 *filled, const struct nb_sizes *wanted)
{
	sizes->min = UINT64_MAX;
	sizes->max = 0;
	for (uint32_t i = 0; i < wanted->count; i++) {
		uint64_t size = wanted->sizes[i], weight = wanted->weights[i];
		sizes->values[i] = size;
		sizes->total += weight;
		filled[i] = (uint128)weight * wanted->count;
		if (weight > 0 && size < sizes->min)
			sizes->min = size;
		if (weight > 0 && size > sizes->max)
			sizes->max = size;
	}
}

static int
create_histogram(struct sizes *sizes, const struct nb_sizes *wanted)
{
	size_t count = wanted->count;
	sizes->values = calloc(count, sizeof(uint64_t));
	sizes->aliases = calloc(count, sizeof(uint64_t));
	sizes->thresholds = calloc(count, sizeof(uint64_t));
	uint128 *filled = calloc(count, sizeof(*filled));
	uint32_t *order = calloc(count, sizeof(*order));
	int rc = NB_OK;
	if (sizes->values == NULL || sizes->aliases == NULL || sizes->thresholds == NULL ||
		filled == NULL || order == NULL) {
		rc = error_set(NB_FAIL, "histogram of sizes: out of memory");
		sizes_destroy(sizes);
		goto free_scratch;
	}
	take_weights(sizes, filled, wanted);
	level(sizes, filled, order);
free_scratch:
	free(order);
	free(filled);
	return rc;
}

int
sizes_create(struct sizes *sizes, const struct nb_sizes *wanted)
{
	int rc = sizes_check(wanted);
	if (rc != NB_OK)
		return rc;
	*sizes = (struct sizes){.kind = wanted->kind,
		.count = wanted->count,
		.min = wanted->min,
		.max = wanted->kind == NB_SIZE_FIXED ? wanted->min : wanted->max,
		.a = wanted->a,
		.b = wanted->b};
	if (sizes->kind == NB_SIZE_HISTOGRAM)
		return create_histogram(sizes, wanted);
	if (sizes->kind == NB_SIZE_ZIPFIAN)
		create_zipfian(sizes);
	if (sizes->kind == NB_SIZE_PARETO)
		create_pareto(sizes);
	return NB_OK;
}

void
sizes_destroy(struct sizes *sizes)
{
	free(sizes->values);
	free(sizes->aliases);
	free(sizes->thresholds);
	*sizes = (struct sizes){0};
}

/* ---- means: sums of up to SUM_TERMS terms, then integrals ---- */

/** Sum of k^-q, k = 1..n. After the terms, the Euler-Maclaurin formula up to x^-q. */
static double
power_sum(double q, uint64_t n)
{
	double sum = 0;
	uint64_t terms = n < SUM_TERMS ? n : SUM_TERMS;
	for (uint64_t k = 1; k <= terms; k++)
		sum += pow((double)k, -q);
	if (terms == n)
		return sum;
	double from = (double)terms + 0.5, to = (double)n + 0.5, p = 1 - q;
	double logs = log(to / from);
	return sum + pow(from, p) * (fabs(p) < 1e-9 ? logs : expm1(p * logs) / p);
}

static double
mean_zipfian(const struct sizes *sizes)
{
	uint64_t n = sizes->max - sizes->min + 1;
	return (double)sizes->min - 1 + power_sum(sizes->a - 1, n) / power_sum(sizes->a, n);
}

static double
normal_density(double z)
{
	return exp(-z * z / 2) / sqrt(2 * M_PI);
}

/** Sum of all sizes or, if they are many, the mean of the truncated continuous distribution. */
static double
mean_normal(const struct sizes *sizes)
{
	double a = sizes->a, b = sizes->b;
	if (b == 0)
		return floor(a + 0.5);
	double from = fmax((double)sizes->min, floor(a - 9 * b));
	double to = fmin((double)sizes->max, ceil(a + 9 * b));
	if (to - from > SUM_TERMS) {
		double low = ((double)sizes->min - 0.5 - a) / b;
		double high = ((double)sizes->max + 0.5 - a) / b;
		double more = normal_density(low) - normal_density(high);
		return a + b * more / normal_share(low, high);
	}
	double sum = 0, weights = 0;
	for (double k = from; k <= to; k++) {
		double weight = normal_share((k - 0.5 - a) / b, (k + 0.5 - a) / b);
		sum += k * weight;
		weights += weight;
	}
	return sum / weights;
}

/** Integral of P(size > min + x) over x. */
static double
pareto_area(const struct sizes *sizes, double from, double to)
{
	double a = sizes->a, b = sizes->b;
	if (a < 0)
		to = fmin(to, -b / a);
	if (from >= to)
		return 0;
	if (a == 0)
		return b * (exp(-from / b) - exp(-to / b));
	double begin = log1p(a * from / b), end = log1p(a * to / b), p = 1 - 1 / a;
	if (fabs(p) < 1e-9)
		return b * (end - begin);
	return b / a * (exp(p * end) - exp(p * begin)) / p;
}

/** Sum of P(size > min + x) for x = 0, 1, ..., which is the mean size above min. */
static double
mean_pareto(const struct sizes *sizes)
{
	uint64_t most = sizes->max - sizes->min;
	uint64_t terms = most < SUM_TERMS ? most : SUM_TERMS;
	double sum = 0;
	/*
	 * nearly all of the distribution is above max; the differences below would cancel out
	 */
	if (sizes->c < PARETO_EVEN && fabs(sizes->a) * (double)most < PARETO_EVEN * sizes->b)
		return (double)sizes->min + ((double)most + 1) / 2;
	for (uint64_t x = 0; x < terms; x++)
		sum += exp(pareto_log_share(sizes, (double)x));
	if (terms < most)
		sum += pareto_area(sizes, (double)terms - 0.5, (double)most - 0.5);
	double beyond = 1 - sizes->c;
	return (double)sizes->min + (sum - (double)most * beyond) / sizes->c;
}

/** Column i contains its own size up to the threshold, and its alias in the rest. */
static double
mean_histogram(const struct sizes *sizes)
{
	double mean = 0, total = (double)sizes->total;
	for (uint32_t i = 0; i < sizes->count; i++) {
		double own = (double)sizes->thresholds[i] / total;
		mean += own * (double)sizes->values[i] + (1 - own) * (double)sizes->aliases[i];
	}
	return mean / sizes->count;
}

double
sizes_mean(const struct sizes *sizes)
{
	if (sizes->min == sizes->max)
		return (double)sizes->min;
	switch (sizes->kind) {
	case NB_SIZE_UNIFORM:
		return ((double)sizes->min + (double)sizes->max) / 2;
	case NB_SIZE_ZIPFIAN:
		return mean_zipfian(sizes);
	case NB_SIZE_NORMAL:
		return mean_normal(sizes);
	case NB_SIZE_PARETO:
		return mean_pareto(sizes);
	case NB_SIZE_HISTOGRAM:
		return mean_histogram(sizes);
	default:
		return (double)sizes->min;
	}
}
