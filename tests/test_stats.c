/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expected, of SciPy 1.17 and NumPy:
 * p without ties: mannwhitneyu(second, first, method='exact');
 * p with ties: mannwhitneyu(second, first, method=PermutationMethod(n_resamples=inf)), and
 * counted over itertools.combinations of the ranks;
 * p of many: mannwhitneyu(second, first, method='asymptotic'), which corrects for both;
 * ratio: d = log(second)[:, None] - log(first)[None, :]; exp(median(d));
 * interval: exp of the sorted d at the places of the distribution of U, which was counted
 * over itertools.combinations;
 * bootstrap: 100000 resamples by numpy.random.default_rng(7), quantiles .025 and .975.
 */
#include "base/stats.h"

#include <math.h>
#include <string.h>

#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { ROOM = 8 };

/** Two small samples. */
struct two {
	size_t first_count, second_count;
	double first[ROOM], second[ROOM];
};

static const struct two apart = {
	4, 4, {101.5, 99.2, 103.1, 98.7}, {110.4, 112.9, 108.3, 115.0}};
static const struct two three = {3, 3, {1, 2, 3}, {4, 5, 6}};
static const struct two mixed = {
	5, 5, {12.1, 11.8, 12.6, 12.0, 12.4}, {12.3, 11.9, 12.7, 12.2, 12.5}};
static const struct two uneven = {
	7, 5, {5.0, 7.5, 6.1, 9.9, 3.2, 8.8, 4.4}, {6.6, 10.2, 9.1, 8.3, 11.7}};

static struct stats_test
test_of(const struct two *it)
{
	struct stats_test test;
	ck_assert_int_eq(stats_mann_whitney(&test, it->first, it->first_count, it->second,
				 it->second_count),
		NB_OK);
	return test;
}

static struct stats_ratio
ratio_of(const struct two *it, double confidence)
{
	struct stats_ratio ratio;
	ck_assert_int_eq(stats_ratio(&ratio, it->first, it->first_count, it->second,
				 it->second_count, confidence, 2000, 1),
		NB_OK);
	return ratio;
}

TEST(exact_p_matches_scipy)
{
	static const struct {
		const struct two *two;
		double u, p;
	} cases[] = {{&apart, 16, 0.02857142857142857}, {&three, 9, 0.1},
		{&mixed, 16, 0.5476190476190477}, {&uneven, 29, 0.07323232323232323}};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct stats_test test = test_of(cases[i].two);
		ck_assert(test.is_exact);
		ck_assert_double_eq(test.u, cases[i].u);
		ck_assert_double_eq_tol(test.p, cases[i].p, 1e-12);
	}
}

TEST(exact_p_of_twenty_each_matches_scipy)
{
	double first[20], second[20];
	for (int i = 0; i < 20; i++) {
		first[i] = i * 1.7 + 3;
		second[i] = i * 1.3 + 9.05;
	}
	struct stats_test test;
	ck_assert_int_eq(stats_mann_whitney(&test, first, 20, second, 20), NB_OK);
	ck_assert(test.is_exact);
	ck_assert_double_eq(test.u, 227);
	ck_assert_double_eq_tol(test.p, 0.47769052336446055, 1e-12);
}

TEST(ties_are_counted_exactly)
{
	static const struct {
		struct two two;
		double u, p;
	} cases[] = {
		{{3, 3, {1, 1, 1}, {2, 2, 2}}, 9, 0.1},
		{{4, 4, {10, 10, 11, 12}, {11, 12, 12, 13}}, 13.5, 0.2},
		{{5, 5, {30, 30, 31, 30, 30}, {31, 31, 31, 32, 30}}, 20.5, 1.0 / 6},
		{{4, 3, {7, 7, 7, 7}, {7, 7, 7}}, 6, 1},
		{{6, 4, {1, 2, 2, 3, 3, 3}, {3, 4, 4, 5}}, 22.5, 0.0380952380952381},
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct stats_test test = test_of(&cases[i].two);
		ck_assert_double_eq(test.u, cases[i].u);
		ck_assert_double_eq_tol(test.p, cases[i].p, 1e-12);
	}
}

TEST(many_values_go_by_the_normal_approximation)
{
	double first[30], second[24];
	struct stats_test test;
	for (int i = 0; i < 25; i++)
		first[i] = i * 37 % 101 + 0.5 * (i % 3);
	for (int i = 0; i < 22; i++)
		second[i] = i * 53 % 97 + 12 + 0.5 * (i % 2);
	ck_assert_int_eq(stats_mann_whitney(&test, first, 25, second, 22), NB_OK);
	ck_assert(!test.is_exact);
	ck_assert_double_eq(test.u, 318);
	ck_assert_double_eq_tol(test.p, 0.364853586171739, 1e-12);
	for (int i = 0; i < 30; i++)
		first[i] = i / 4;
	for (int i = 0; i < 24; i++)
		second[i] = 2 + i / 5;
	ck_assert_int_eq(stats_mann_whitney(&test, first, 30, second, 24), NB_OK);
	ck_assert_double_eq(test.u, 424);
	ck_assert_double_eq_tol(test.p, 0.2635979969509181, 1e-12);
}

TEST(equal_values_are_not_a_difference)
{
	double first[30], second[30];
	struct stats_test test;
	for (int i = 0; i < 30; i++)
		first[i] = second[i] = 5;
	ck_assert_int_eq(stats_mann_whitney(&test, first, 30, second, 30), NB_OK);
	ck_assert_double_eq(test.p, 1);
}

TEST(swapping_the_samples_inverts_the_ratio)
{
	static const struct two *const all[] = {&apart, &three, &mixed, &uneven};
	for (size_t i = 0; i < COUNT_OF(all); i++) {
		struct two back = {all[i]->second_count, all[i]->first_count, {0}, {0}};
		memcpy(back.first, all[i]->second, sizeof(back.first));
		memcpy(back.second, all[i]->first, sizeof(back.second));
		struct stats_ratio ratio = ratio_of(all[i], 0.95),
				   other = ratio_of(&back, 0.95);
		ck_assert_double_eq_tol(ratio.ratio * other.ratio, 1, 1e-12);
		ck_assert_double_eq_tol(ratio.low * other.high, 1, 1e-12);
		ck_assert_double_eq_tol(test_of(all[i]).p, test_of(&back).p, 1e-12);
	}
}

TEST(least_p_is_that_of_samples_apart)
{
	ck_assert_double_eq_tol(stats_least_p(4, 4), 0.02857142857142857, 1e-15);
	ck_assert_double_eq_tol(stats_least_p(3, 3), 0.1, 1e-15);
	ck_assert_double_eq_tol(stats_least_p(5, 4), 0.015873015873015872, 1e-15);
	ck_assert_double_eq(stats_least_p(1, 1), 1);
	ck_assert_uint_eq(stats_least_count(0.95), 4);
	ck_assert_uint_eq(stats_least_count(0.99), 5);
	ck_assert_uint_eq(stats_least_count(0.9), 4); /* 3 give 0.1: not below */
}

TEST(ratio_and_interval_match_numpy)
{
	static const struct {
		const struct two *two;
		double wanted, ratio, low, high, confidence;
	} cases[] = {
		{&apart, .95, 1.1126092095333422, 1.0504364694471384, 1.165146909827761,
			0.9714285714285714},
		{&apart, .5, 1.1126092095333422, 1.0950533462657617, 1.1185410334346508,
			0.5142857142857142},
		{&three, .5, 2.5, 2, 4, 0.6},
		{&mixed, .95, 1.0084745762711864, 0.9682539682539685, 1.0583333333333333,
			0.9682539682539683},
		{&mixed, .99, 1.0084745762711864, 0.9444444444444446, 1.076271186440678,
			0.9920634920634921},
		{&uneven, .95, 1.4918032786885247, 0.9431818181818181, 2.34, 0.952020202020202},
		{&uneven, .99, 1.4918032786885247, 0.75, 3.1875, 0.9949494949494949},
	};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct stats_ratio ratio = ratio_of(cases[i].two, cases[i].wanted);
		ck_assert_uint_eq(ratio.method, STATS_ORDER);
		ck_assert_double_eq_tol(ratio.ratio, cases[i].ratio, 1e-12);
		ck_assert_double_eq_tol(ratio.low, cases[i].low, 1e-12);
		ck_assert_double_eq_tol(ratio.high, cases[i].high, 1e-12);
		ck_assert_double_eq_tol(ratio.confidence, cases[i].confidence, 1e-12);
	}
}

TEST(too_few_values_have_the_widest_interval_and_are_flagged)
{
	struct stats_ratio ratio = ratio_of(&three, 0.95);
	ck_assert_double_eq_tol(ratio.confidence, 0.9, 1e-12);
	ck_assert_double_eq_tol(ratio.low, 4.0 / 3, 1e-12);
	ck_assert_double_eq_tol(ratio.high, 6, 1e-12);
}

TEST(single_values_have_a_ratio_and_no_interval)
{
	static const struct two one = {1, 4, {10}, {20, 21, 22, 23}};
	struct stats_ratio ratio = ratio_of(&one, 0.95);
	ck_assert_double_eq_tol(ratio.ratio, sqrt(2.1 * 2.2), 1e-12);
	ck_assert_double_eq(ratio.confidence, 0);
	ck_assert_uint_eq(ratio.method, STATS_NONE);
}

static const double ten[10] = {100, 104, 98, 101, 103, 99, 102, 97, 105, 100.5};
static const double higher_ten[10] = {121, 118, 125, 119, 122, 117, 124, 120, 123, 119.5};

TEST(bootstrap_matches_numpy_within_its_noise)
{
	struct stats_ratio ratio;
	ck_assert_int_eq(stats_ratio(&ratio, ten, 10, higher_ten, 10, 0.95, 20000, 1), NB_OK);
	ck_assert_uint_eq(ratio.method, STATS_BOOTSTRAP);
	ck_assert_double_eq_tol(ratio.ratio, 1.1955390940869297, 1e-12);
	/* numpy's 1.17142857 and 1.22418516, moved away from the ratio by sqrt(10 / 9) */
	ck_assert_double_eq_tol(ratio.low, 1.170138, 0.0008);
	ck_assert_double_eq_tol(ratio.high, 1.225755, 0.0008);
	ck_assert_double_eq(ratio.confidence, 0.95);
}

TEST(bootstrap_of_a_seed_is_the_same_each_time)
{
	struct stats_ratio one, same, other;
	ck_assert_int_eq(stats_ratio(&one, ten, 10, higher_ten, 10, 0.95, 2000, 7), NB_OK);
	ck_assert_int_eq(stats_ratio(&same, ten, 10, higher_ten, 10, 0.95, 2000, 7), NB_OK);
	ck_assert_int_eq(stats_ratio(&other, ten, 10, higher_ten, 10, 0.95, 2000, 8), NB_OK);
	ck_assert_double_eq(one.low, same.low);
	ck_assert_double_eq(one.high, same.high);
	ck_assert(one.low != other.low || one.high != other.high);
}

TEST(median_and_mad_match_numpy)
{
	static const struct {
		const struct two *two;
		double median, mad;
	} cases[] = {{&apart, 100.35, 1.4}, {&three, 2, 1}, {&mixed, 12.1, 0.3},
		{&uneven, 6.1, 1.7}};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		double values[ROOM], mad;
		size_t count = cases[i].two->first_count;
		memcpy(values, cases[i].two->first, sizeof(values));
		stats_sort(values, count);
		ck_assert_double_eq_tol(stats_median(values, count), cases[i].median, 1e-12);
		ck_assert_int_eq(stats_mad(&mad, values, count), NB_OK);
		ck_assert_double_eq_tol(mad, cases[i].mad, 1e-12);
	}
	ck_assert_double_eq(stats_median(NULL, 0), 0);
}

/* The confidences come from SciPy: 1 - 2 * binom.cdf(i, n, 0.5). */
TEST(interval_of_a_median_has_the_confidence_of_the_binomial_law)
{
	static const double sorted[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	static const struct {
		size_t count;
		double wanted, low, high, is;
	} cases[] = {{1, 0.95, 1, 1, 0}, {2, 0.95, 1, 2, 0.5}, {5, 0.95, 1, 5, 0.9375},
		{6, 0.95, 1, 6, 0.96875}, {8, 0.95, 1, 8, 0.9921875},
		{9, 0.95, 2, 8, 0.9609375}, {10, 0.95, 2, 9, 0.978515625},
		{10, 0.85, 3, 8, 0.890625}};
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		double low, high;
		double is = stats_median_interval(
			&low, &high, sorted, cases[i].count, cases[i].wanted);
		ck_assert_double_eq_tol(is, cases[i].is, 1e-12);
		ck_assert_double_eq(low, cases[i].low);
		ck_assert_double_eq(high, cases[i].high);
	}
}

/* Selection finds the medians of pairs; for every order, the result is that of sorting. */
TEST(ratio_does_not_depend_on_the_order_of_the_values)
{
	struct stats_ratio sorted = ratio_of(&uneven, 0.95);
	struct two turned = uneven;
	for (size_t turn = 0; turn < uneven.first_count; turn++) {
		for (size_t i = 0; i < uneven.first_count; i++)
			turned.first[i] = uneven.first[(i + turn) % uneven.first_count];
		ck_assert_double_eq(ratio_of(&turned, 0.95).ratio, sorted.ratio);
	}
}
