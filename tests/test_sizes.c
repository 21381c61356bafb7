/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expected means: NumPy sums over all sizes, with the shares of scipy.stats.norm between
 * k - 1/2 and k + 1/2, of scipy.stats.genpareto between k - 1 and k, and k^-q.
 */
#include "workload/sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "laws.h"
#include "unit.h"

static struct sizes
make(const struct nb_sizes *wanted)
{
	struct sizes sizes;
	int rc = sizes_create(&sizes, wanted);
	ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
	return sizes;
}

static uint64_t
state_of(uint64_t i)
{
	return splitmix64_mix(i * 2 + 1);
}

struct law {
	struct nb_sizes wanted;
	double mean;
};

#define LAW(law, p, q, from, to, expected) \
	{ \
		.wanted = {.kind = NB_SIZE_##law, .a = p, .b = q, .min = from, .max = to}, \
		.mean = expected \
	}

static const struct law laws[] = {
	LAW(FIXED, 0, 0, 100, 100, 100),
	LAW(FIXED, 0, 0, 0, 0, 0),
	LAW(UNIFORM, 0, 0, 10, 1000, 505),
	LAW(UNIFORM, 0, 0, 7, 8, 7.5),
	LAW(UNIFORM, 0, 0, 0, NB_VALUE_SIZE_MAX, 536870912),
	LAW(ZIPFIAN, 0.99, 0, 10, 1000, 145.1931389784828),
	LAW(ZIPFIAN, 1.2, 0, 1, 1000000, 14948.334731342438),
	LAW(ZIPFIAN, 0.5, 0, 0, 10000000, 3334102.6855253563),
	LAW(ZIPFIAN, 2, 0, 100, 1000000, 107.74967377636423),
	LAW(ZIPFIAN, 1, 0, 64, 4096, 517.1868477104681),
	LAW(NORMAL, 100, 20, 1, 500, 100.00003368997214),
	LAW(NORMAL, 100, 20, 90, 105, 97.62999618514387),
	LAW(NORMAL, 10, 20, 0, 1000, 19.9300630329043),
	LAW(NORMAL, 2.4, 0.01, 0, 10, 2),
	LAW(NORMAL, 2.4, 0, 0, 10, 2),
	LAW(NORMAL, 5000, 10000, 0, 1048576, 10091.347433718367),
	LAW(NORMAL, 1e6, 1e5, 0, 10000000, 1e6),
	LAW(NORMAL, 1e6, 1e5, 1100000, 10000000, 1152513.1271663483),
	LAW(NORMAL, -50, 30, 0, 200, 12.020229418000365),
	LAW(PARETO, 0.2615, 25.45, 10, 1024, 44.84106332742453),
	LAW(PARETO, 0.2615, 25.45, 0, 1048576, 34.96502101586178),
	LAW(PARETO, 0, 100, 1, 1000, 101.45502088072367),
	LAW(PARETO, 1e-12, 100, 1, 1000, 101.45502088072367),
	LAW(PARETO, -0.5, 100, 0, 150, 60.50066666666667),
	LAW(PARETO, -0.5, 100, 0, 1000, 67.1675),
	LAW(PARETO, 1, 10, 0, 1000000, 105.6388310652716),
	LAW(PARETO, 0.5, 1e6, 0, 10000000, 1428571.928571514),
	LAW(PARETO, 1.5, 50, 16, 1000000, 1990.0805977697655),
	LAW(PARETO, 0.2, 1e7, 5, 8, 6.999999920063928),
	/* nearly uniform: sums with 60 digits by Python's decimal */
	LAW(PARETO, 0.2, 1e6, 1, 1000, 500.900209970418),
	LAW(PARETO, 11, 1e17, 1, 67584, 33792.99999995433),
};

enum { LAWS = sizeof(laws) / sizeof(laws[0]) };

TEST(means_match_scipy)
{
	for (size_t i = 0; i < LAWS; i++) {
		struct sizes sizes = make(&laws[i].wanted);
		double mean = sizes_mean(&sizes), expected = laws[i].mean;
		ck_assert_msg(fabs(mean - expected) <= expected * 1e-5 + 1e-9,
			"%zu: %f, not %f", i, mean, expected);
	}
}

/** Within 5 standard errors of the sample. */
TEST(means_match_the_draws)
{
	enum { DRAWS = 400000 };
	for (size_t i = 0; i < LAWS; i++) {
		struct sizes sizes = make(&laws[i].wanted);
		double sum = 0, squares = 0;
		for (uint64_t d = 0; d < DRAWS; d++) {
			uint64_t random = state_of(d), size = sizes_draw(&sizes, &random);
			LAW_MUST(size >= sizes.min && size <= sizes.max);
			sum += (double)size;
			squares += (double)size * (double)size;
		}
		double mean = sum / DRAWS;
		double error = sqrt(fmax(squares / DRAWS - mean * mean, 0) / DRAWS);
		ck_assert_msg(fabs(mean - laws[i].mean) <= 5 * error + laws[i].mean * 1e-6,
			"%zu: %f +- %f, not %f", i, mean, error, laws[i].mean);
	}
}

/* ---- the distributions ---- */

static double
normal_below(double z)
{
	return erfc(-z * M_SQRT1_2) / 2;
}

/** P(size <= k) before truncation. */
static double
law_below(const struct nb_sizes *law, double k)
{
	if (law->kind == NB_SIZE_NORMAL)
		return normal_below((k + 0.5 - law->a) / law->b);
	double x = (k - (double)law->min) / law->b;
	if (x < 0)
		return 0;
	return law->a == 0 ? 1 - exp(-x) : 1 - pow(fmax(1 + law->a * x, 0), -1 / law->a);
}

/**
 * Compare draws of one distribution with the shares of another, truncated to the same bounds.
 */
static double
misfit(const struct nb_sizes *drawn, const struct nb_sizes *claimed)
{
	enum { DRAWS = 500000, CELLS = 101 };
	double shares[CELLS], whole = 0;
	uint64_t observed[CELLS] = {0};
	size_t cells = claimed->max - claimed->min + 1;
	ck_assert_uint_le(cells, CELLS);
	double begin = claimed->kind == NB_SIZE_NORMAL ? (double)claimed->min - 1 : -1e9;
	for (size_t c = 0; c < cells; c++) {
		double size = (double)(claimed->min + c);
		shares[c] = law_below(claimed, size) -
			law_below(claimed, c == 0 ? begin : size - 1);
		whole += shares[c];
	}
	for (size_t c = 0; c < cells; c++)
		shares[c] /= whole;
	struct sizes sizes = make(drawn);
	for (uint64_t d = 0; d < DRAWS; d++) {
		uint64_t random = state_of(d);
		observed[sizes_draw(&sizes, &random) - sizes.min]++;
	}
	return law_misfit(shares, observed, cells, DRAWS);
}

TEST(draws_follow_the_law)
{
	static const struct nb_sizes wanted[] = {
		{.kind = NB_SIZE_NORMAL, .a = 150, .b = 15, .min = 100, .max = 200},
		{.kind = NB_SIZE_NORMAL, .a = 150, .b = 15, .min = 140, .max = 155},
		{.kind = NB_SIZE_NORMAL, .a = 5, .b = 3, .min = 0, .max = 100},
		{.kind = NB_SIZE_NORMAL, .a = 50, .b = 1, .min = 0, .max = 100},
		{.kind = NB_SIZE_PARETO, .a = 0.2615, .b = 25.45, .min = 10, .max = 110},
		{.kind = NB_SIZE_PARETO, .a = 0, .b = 10, .min = 0, .max = 100},
		{.kind = NB_SIZE_PARETO, .a = -0.5, .b = 30, .min = 5, .max = 50},
		{.kind = NB_SIZE_PARETO, .a = 2, .b = 5, .min = 0, .max = 100},
	};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		ck_assert_msg(misfit(&wanted[i], &wanted[i]) < 1, "%zu: %f", i,
			misfit(&wanted[i], &wanted[i]));
		struct nb_sizes off = wanted[i];
		off.b *= 1.1; /* truncation hides other changes of the second one */
		ck_assert_msg(
			misfit(&off, &wanted[i]) > 1, "%zu: %f", i, misfit(&off, &wanted[i]));
	}
}

TEST(uniform_and_zipfian_follow_their_laws)
{
	enum { DRAWS = 500000, SIZES = 60, MIN = 40 };
	for (int k = 0; k < 4; k++) {
		double exponent = k == 0 ? 0 : 0.5 * k, shares[SIZES], whole = 0;
		struct nb_sizes wanted = {.kind = k == 0 ? NB_SIZE_UNIFORM : NB_SIZE_ZIPFIAN,
			.min = MIN,
			.max = MIN + SIZES - 1,
			.a = exponent};
		struct sizes sizes = make(&wanted);
		uint64_t observed[SIZES] = {0};
		for (int i = 0; i < SIZES; i++)
			whole += shares[i] = pow(i + 1, -exponent);
		for (int i = 0; i < SIZES; i++)
			shares[i] /= whole;
		for (uint64_t d = 0; d < DRAWS; d++) {
			uint64_t random = state_of(d);
			observed[sizes_draw(&sizes, &random) - MIN]++;
		}
		ck_assert_double_lt(law_misfit(shares, observed, SIZES, DRAWS), 1);
	}
}

TEST(a_fixed_size_takes_no_random_word)
{
	struct nb_sizes wanted = {.kind = NB_SIZE_FIXED, .min = 77, .max = 0};
	struct sizes sizes = make(&wanted); /* for any max */
	uint64_t random = 5;
	ck_assert_uint_eq(sizes_draw(&sizes, &random), 77);
	ck_assert_uint_eq(random, 5);
	ck_assert_uint_eq(sizes.max, 77);
}

/* ---- histograms ---- */

/** Sizes 0, 10, 20, ... with these weights. */
static struct sizes
make_histogram(uint64_t *weights, uint32_t count)
{
	uint64_t *values = calloc(count, sizeof(*values));
	ck_assert_ptr_nonnull(values);
	for (uint32_t i = 0; i < count; i++)
		values[i] = i * 10;
	struct nb_sizes wanted = {
		.kind = NB_SIZE_HISTOGRAM, .count = count, .sizes = values, .weights = weights};
	struct sizes sizes = make(&wanted);
	free(values);
	return sizes;
}

/** The sum over all columns of each size is exactly its weight times the number of columns. */
static void
check_columns(uint64_t *weights, uint32_t count)
{
	struct sizes sizes = make_histogram(weights, count);
	uint128 *held = calloc(count, sizeof(*held));
	ck_assert_ptr_nonnull(held);
	for (uint32_t i = 0; i < count; i++) {
		LAW_MUST(sizes.thresholds[i] <= sizes.total);
		held[i] += sizes.thresholds[i];
		held[sizes.aliases[i] / 10] += sizes.total - sizes.thresholds[i];
	}
	for (uint32_t i = 0; i < count; i++)
		LAW_MUST(held[i] == (uint128)weights[i] * count);
	free(held);
	sizes_destroy(&sizes);
}

TEST(the_alias_table_is_exact)
{
	uint64_t weights[1000];
	struct rng rng;
	rng_create(&rng, 1);
	for (uint32_t count = 1; count <= 1000; count = count < 50 ? count + 1 : count * 2) {
		for (int kind = 0; kind < 5; kind++) {
			for (uint32_t i = 0; i < count; i++)
				weights[i] = kind == 0 ? 1
					: kind == 1    ? i + 1
					: kind == 2    ? rng_below(&rng, 3)
					: kind == 3    ? rng_next(&rng) / 1000
						       : (i == count / 2);
			weights[count - 1] += kind == 2; /* at least one weight is not 0 */
			check_columns(weights, count);
		}
	}
	uint64_t largest[3] = {UINT64_MAX - 2, 1, 1};
	check_columns(largest, 3);
	uint64_t single[1] = {UINT64_MAX};
	check_columns(single, 1);
}

TEST(draws_from_a_histogram_follow_its_weights)
{
	uint64_t weights[20] = {
		5, 0, 1, 100, 7, 3, 3, 3, 0, 0, 1000, 12, 8, 1, 1, 2, 2, 40, 50, 0};
	enum { DRAWS = 500000 };
	struct sizes sizes = make_histogram(weights, 20);
	ck_assert_uint_eq(sizes.min, 0);
	ck_assert_uint_eq(sizes.max, 180);
	double shares[20], mean = 0;
	uint64_t observed[20] = {0};
	for (int i = 0; i < 20; i++) {
		shares[i] = (double)weights[i] / 1238;
		mean += shares[i] * i * 10;
	}
	for (uint64_t d = 0; d < DRAWS; d++) {
		uint64_t random = state_of(d);
		observed[sizes_draw(&sizes, &random) / 10]++;
	}
	for (int i = 0; i < 20; i++)
		ck_assert(weights[i] > 0 || observed[i] == 0);
	ck_assert_double_lt(law_misfit(shares, observed, 20, DRAWS), 1);
	ck_assert_double_eq_tol(sizes_mean(&sizes), mean, 1e-9);
	sizes_destroy(&sizes);
}

TEST(invalid_law_is_refused)
{
	const struct {
		struct nb_sizes wanted;
		const char *what;
	} cases[] = {
		{{.kind = 6}, "unknown distribution of sizes 6"},
		{{.kind = NB_SIZE_UNIFORM, .min = 2, .max = 1}, "sizes of 2..1: the first is"},
		{{.kind = NB_SIZE_FIXED, .min = NB_VALUE_SIZE_MAX + 1ULL}, "sizes of up to"},
		{{.kind = NB_SIZE_UNIFORM, .max = NB_VALUE_SIZE_MAX + 1ULL},
			"sizes of up to 1073741825: a value has at most 1073741824 bytes"},
		{{.kind = NB_SIZE_ZIPFIAN, .max = 1}, "exponent must be above 0"},
		{{.kind = NB_SIZE_ZIPFIAN, .max = 1, .a = NAN}, "exponent must be above 0"},
		{{.kind = NB_SIZE_NORMAL, .max = 1, .b = -1}, "deviation must not be below 0"},
		{{.kind = NB_SIZE_NORMAL, .max = 1, .a = INFINITY}, "normal sizes"},
		{{.kind = NB_SIZE_NORMAL, .max = 10, .a = 11, .b = 0}, "less than 1 in 1000"},
		{{.kind = NB_SIZE_NORMAL, .max = 10, .a = 100, .b = 1},
			"of mean 100 and deviation 1 less than 1 in 1000 is within 0..10"},
		{{.kind = NB_SIZE_NORMAL, .max = 10, .a = -1e300, .b = 1e-300}, "less than"},
		{{.kind = NB_SIZE_PARETO, .max = 1}, "scale must be above 0"},
		{{.kind = NB_SIZE_PARETO, .max = 1, .b = NAN}, "scale must be above 0"},
		{{.kind = NB_SIZE_PARETO, .max = 1, .b = 1e19},
			"scale must be within 1e-09..1e+18"},
		{{.kind = NB_SIZE_PARETO, .max = 1, .b = 1e-300}, "scale must be within"},
		{{.kind = NB_SIZE_PARETO, .max = 1, .b = 1, .a = -1e300}, "within -1000..1000"},
		{{.kind = NB_SIZE_PARETO, .max = 1, .b = 1, .a = NAN}, "shape must be within"},
		{{.kind = NB_SIZE_HISTOGRAM}, "all weights are 0"},
		{{.kind = NB_SIZE_HISTOGRAM,
			 .count = 1,
			 .sizes = (uint64_t[]){NB_VALUE_SIZE_MAX + 1ULL},
			 .weights = (uint64_t[]){1}},
			"a size of 1073741825"},
		{{.kind = NB_SIZE_HISTOGRAM,
			 .count = 2,
			 .sizes = (uint64_t[]){1, 2},
			 .weights = (uint64_t[]){UINT64_MAX, 1}},
			"exceed 2^64 - 1"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sizes sizes;
		ck_assert_int_eq(sizes_create(&sizes, &cases[i].wanted), NB_ERR_USAGE);
		ck_assert_msg(
			strstr(nb_error_text(), cases[i].what) != NULL, "%s", nb_error_text());
	}
}
