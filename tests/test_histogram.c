/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "unit.h"

static struct nb_histogram *
new_histogram(void)
{
	struct nb_histogram *histogram;
	ck_assert_int_eq(nb_histogram_new(&histogram), NB_OK);
	return histogram;
}

/* Durations like those in benchmarks: any number of digits, many of them small. */
static uint64_t
any_value(struct rng *rng)
{
	return rng_below(rng, UINT64_C(1) << rng_below(rng, 42));
}

static int
compare_values(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void
assert_equal(const struct nb_histogram *a, const struct nb_histogram *b)
{
	ck_assert_uint_eq(nb_histogram_count(a), nb_histogram_count(b));
	ck_assert_uint_eq(nb_histogram_min(a), nb_histogram_min(b));
	ck_assert_uint_eq(nb_histogram_max(a), nb_histogram_max(b));
	ck_assert(a->sum == b->sum);
	ck_assert_mem_eq(a->counts, b->counts, sizeof(a->counts));
	ck_assert_mem_eq(a->below, b->below, sizeof(a->below));
}

TEST(layout_is_that_of_hdrhistogram)
{
	/* counts_len and _counts_index_for() of PyPI hdrhistogram 0.10.8, (1, 3600 * 10^9, 3) */
	static const struct {
		uint64_t value;
		size_t index;
		uint64_t low, high;
	} table[] = {
		{0, 0, 0, 0},
		{1, 1, 1, 1},
		{2047, 2047, 2047, 2047},
		{2048, 2048, 2048, 2049},
		{2049, 2048, 2048, 2049},
		{4095, 3071, 4094, 4095},
		{4096, 3072, 4096, 4099},
		{25000, 5658, 24992, 25007},
		{1000000, 11169, 999936, 1000447},
		{1000000000, 21363, 999817216, 1000341503},
		{3600000000000, 33420, 3599182594048, 3601330077695},
	};
	ck_assert_uint_eq(HISTOGRAM_BUCKETS, 33792);
	ck_assert_uint_eq(sizeof(struct nb_histogram) % 64, 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		ck_assert_uint_eq(histogram_index(table[i].value), table[i].index);
		ck_assert_uint_eq(histogram_low(table[i].index), table[i].low);
		ck_assert_uint_eq(histogram_high(table[i].index), table[i].high);
	}
}

TEST(buckets_are_seamless_and_narrow)
{
	uint64_t next = 0;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t low = histogram_low(i), high = histogram_high(i);
		ck_assert_uint_eq(low, next);
		ck_assert_uint_eq(histogram_index(low), i);
		ck_assert_uint_eq(histogram_index(high), i);
		ck_assert_uint_le((high - low + 1) * 1024, low < 1024 ? 1024 : low);
		next = high + 1;
	}
	ck_assert_uint_eq(next, UINT64_C(1) << 42);
}

TEST(bounds_match_the_classic_table)
{
	static const uint64_t steps[] = {
		10, 12, 14, 16, 18, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90};
	const uint64_t us = 1000, hour = UINT64_C(3600000000000);
	size_t i = 0;
	ck_assert_uint_eq(nb_histogram_bound(i++), 0);
	for (uint64_t unit = 1; 10 * unit <= hour; unit *= 10) {
		if (unit == us / 10) { /* 1 .. 9 us */
			for (uint64_t n = 1; n < 10; n++)
				ck_assert_uint_eq(nb_histogram_bound(i++), n * us);
			continue;
		}
		for (size_t s = 0; s < 16 && steps[s] * unit <= hour; s++)
			ck_assert_uint_eq(nb_histogram_bound(i++), steps[s] * unit);
	}
	ck_assert_uint_eq(i, HISTOGRAM_BOUNDS);
	ck_assert_uint_eq(nb_histogram_bound(i), UINT64_MAX);
	ck_assert_uint_eq(nb_histogram_bound(SIZE_MAX), UINT64_MAX);
}

TEST(a_value_at_a_bound_counts_above_it)
{
	struct nb_histogram *histogram = new_histogram();
	size_t straddled = 0;
	for (size_t i = 1; i < HISTOGRAM_BOUNDS; i++) {
		uint64_t bound = nb_histogram_bound(i);
		ck_assert_uint_lt(
			histogram_index(nb_histogram_bound(i - 1)), histogram_index(bound));
		straddled += histogram_low(histogram_index(bound)) != bound;
		nb_histogram_reset(histogram);
		for (int below = 0; below < 3; below++)
			nb_histogram_add(histogram, bound - 1);
		nb_histogram_add(histogram, bound);
		nb_histogram_add(histogram, bound + 1);
		ck_assert_uint_eq(nb_histogram_count_below(histogram, i), 3);
		ck_assert_uint_eq(nb_histogram_count_below(histogram, i - 1), 0);
		ck_assert_uint_eq(nb_histogram_count_below(histogram, i + 1), 5);
		ck_assert_uint_eq(nb_histogram_count(histogram), 5);
	}
	ck_assert_uint_gt(straddled, 50); /* otherwise the test would prove nothing */
	nb_histogram_delete(histogram);
}

TEST(counts_below_bounds_are_exact_for_any_values)
{
	enum { VALUES = 20000 };
	struct nb_histogram *histogram = new_histogram();
	uint64_t expected[HISTOGRAM_BOUNDS] = {0};
	struct rng rng;
	rng_create(&rng, 3);
	for (int i = 0; i < VALUES; i++) {
		/* half of the values are near a bound */
		uint64_t bound = nb_histogram_bound(rng_below(&rng, HISTOGRAM_BOUNDS));
		uint64_t near = bound + rng_below(&rng, bound / 500 + 1) - bound / 1000;
		uint64_t value = i % 2 == 0 ? near : any_value(&rng);
		nb_histogram_add(histogram, value);
		for (size_t b = 0; b < HISTOGRAM_BOUNDS; b++)
			expected[b] += value < nb_histogram_bound(b);
	}
	for (size_t b = 0; b < HISTOGRAM_BOUNDS; b++)
		ck_assert_uint_eq(nb_histogram_count_below(histogram, b), expected[b]);
	ck_assert_uint_eq(nb_histogram_count_below(histogram, HISTOGRAM_BOUNDS), VALUES);
	nb_histogram_delete(histogram);
}

TEST(values_beyond_an_hour_count_as_an_hour_with_exact_maximum_and_sum)
{
	static const uint64_t longer[] = {UINT64_C(3600000000001), UINT64_C(1) << 42,
		UINT64_C(1) << 43, UINT64_C(1) << 63, UINT64_MAX};
	for (size_t i = 0; i < sizeof(longer) / sizeof(longer[0]); i++) {
		struct nb_histogram *histogram = new_histogram();
		nb_histogram_add(histogram, longer[i]);
		size_t hour = histogram_index(HISTOGRAM_HOUR);
		ck_assert_uint_eq(histogram_at(histogram, hour), 1);
		ck_assert_uint_eq(nb_histogram_min(histogram), longer[i]);
		ck_assert_uint_eq(nb_histogram_max(histogram), longer[i]);
		ck_assert_uint_eq(nb_histogram_sum(histogram), longer[i]);
		ck_assert_uint_eq(nb_histogram_percentile(histogram, 50), longer[i]);
		nb_histogram_delete(histogram);
	}
}

/* The value of a sorted array at or below which `percent` of the values lie. */
static uint64_t
exact_percentile(const uint64_t *sorted, size_t count, double percent)
{
	/*
	 * in long double and by counting, so that it shares no arithmetic with the tested code
	 */
	for (size_t i = 0; i < count; i++)
		if ((long double)(i + 1) * 100 + 1e-6L >= (long double)percent * count)
			return sorted[i];
	return sorted[count - 1];
}

TEST(percentile_never_under_reports)
{
	static const double percents[] = {0, 0.1, 1, 5, 33.3, 50, 66.7, 90, 95, 99, 99.5, 99.9,
		99.95, 99.99, 99.999, 100};
	enum { MOST = 3000 };
	uint64_t *values = malloc(MOST * sizeof(values[0]));
	struct nb_histogram *histogram = new_histogram();
	struct rng rng;
	rng_create(&rng, 4);
	for (int round = 0; round < 100; round++) {
		size_t count = 1 + rng_below(&rng, MOST);
		nb_histogram_reset(histogram);
		for (size_t i = 0; i < count; i++) {
			/* some beyond an hour */
			values[i] = any_value(&rng) << (rng_below(&rng, 50) == 0 ? 10 : 0);
			nb_histogram_add(histogram, values[i]);
		}
		qsort(values, count, sizeof(values[0]), compare_values);
		for (size_t p = 0; p < sizeof(percents) / sizeof(percents[0]); p++) {
			uint64_t exact = exact_percentile(values, count, percents[p]);
			uint64_t ours = nb_histogram_percentile(histogram, percents[p]);
			ck_assert_uint_ge(ours, exact);
			if (exact < HISTOGRAM_HOUR)
				ck_assert_double_le(
					(double)(ours - exact) * 1024, (double)exact);
		}
	}
	free(values);
	nb_histogram_delete(histogram);
}

TEST(percentile_takes_the_right_rank)
{
	struct nb_histogram *histogram = new_histogram();
	for (uint64_t value = 1; value <= 1000; value++)
		nb_histogram_add(histogram, value);
	ck_assert_uint_eq(nb_histogram_percentile(histogram, -1), 1);
	ck_assert_uint_eq(nb_histogram_percentile(histogram, 0), 1);
	ck_assert_uint_eq(nb_histogram_percentile(histogram, 0.1), 1);
	ck_assert_uint_eq(nb_histogram_percentile(histogram, 0.11), 2);
	ck_assert_uint_eq(nb_histogram_percentile(histogram, 7), 70);
	ck_assert_uint_eq(nb_histogram_percentile(histogram, 50), 500);
	ck_assert_uint_eq(nb_histogram_percentile(histogram, 99.9), 999);
	ck_assert_uint_eq(nb_histogram_percentile(histogram, 99.91), 1000);
	ck_assert_uint_eq(nb_histogram_percentile(histogram, 100), 1000);
	ck_assert_uint_eq(nb_histogram_percentile(histogram, 101), 1000);
	ck_assert_uint_eq(nb_histogram_percentile(histogram, (double)NAN), 1);
	nb_histogram_reset(histogram);
	nb_histogram_add(histogram, 25000); /* its bucket ends at 25007 */
	ck_assert_uint_eq(nb_histogram_percentile(histogram, 50), 25000);
	nb_histogram_add(histogram, 30000);
	ck_assert_uint_eq(nb_histogram_percentile(histogram, 50), 25007);
	nb_histogram_reset(histogram);
	nb_histogram_add(histogram, 0); /* zero is a valid value */
	ck_assert_uint_eq(nb_histogram_count(histogram), 1);
	ck_assert_uint_eq(nb_histogram_percentile(histogram, 100), 0);
	ck_assert_uint_eq(nb_histogram_count_below(histogram, 0), 0);
	ck_assert_uint_eq(nb_histogram_count_below(histogram, 1), 1);
	nb_histogram_delete(histogram);
}

TEST(minimum_maximum_sum_and_mean_are_exact)
{
	struct nb_histogram *histogram = new_histogram();
	nb_histogram_add(histogram, 1000001);
	nb_histogram_add(histogram, 123457);
	nb_histogram_add(histogram, 7654321);
	ck_assert_uint_eq(nb_histogram_count(histogram), 3);
	ck_assert_uint_eq(nb_histogram_min(histogram), 123457);
	ck_assert_uint_eq(nb_histogram_max(histogram), 7654321);
	ck_assert_uint_eq(nb_histogram_sum(histogram), 8777779);
	ck_assert_double_eq_tol(nb_histogram_mean(histogram), 2925926.333333, 1e-5);
	nb_histogram_delete(histogram);
}

TEST(sum_saturates_and_the_mean_stays_exact)
{
	struct nb_histogram *histogram = new_histogram();
	uint64_t half = UINT64_C(1) << 63;
	nb_histogram_add(histogram, half);
	ck_assert_uint_eq(nb_histogram_sum(histogram), half);
	nb_histogram_add(histogram, half - 1);
	ck_assert_uint_eq(nb_histogram_sum(histogram), UINT64_MAX);
	nb_histogram_add(histogram, half + 1);
	ck_assert_uint_eq(nb_histogram_sum(histogram), UINT64_MAX);
	ck_assert_double_eq(nb_histogram_mean(histogram), 0x1p63);
	nb_histogram_delete(histogram);
}

TEST(empty_histogram_returns_zero)
{
	struct nb_histogram *histogram = new_histogram();
	for (int round = 0; round < 2; round++) {
		ck_assert_uint_eq(nb_histogram_count(histogram), 0);
		ck_assert_uint_eq(nb_histogram_min(histogram), 0);
		ck_assert_uint_eq(nb_histogram_max(histogram), 0);
		ck_assert_uint_eq(nb_histogram_sum(histogram), 0);
		ck_assert_double_eq(nb_histogram_mean(histogram), 0);
		ck_assert_uint_eq(nb_histogram_percentile(histogram, 50), 0);
		ck_assert_int_eq(nb_histogram_supports(histogram, 50, NULL), 0);
		for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
			ck_assert_uint_eq(nb_histogram_count_below(histogram, i), 0);
		nb_histogram_add(histogram, 24999);
		ck_assert_uint_eq(nb_histogram_count(histogram), 1);
		nb_histogram_reset(histogram); /* also after a reset */
	}
	nb_histogram_delete(histogram);
	nb_histogram_delete(NULL);
}

TEST(merging_equals_adding_in_any_order)
{
	enum { PARTS = 3, VALUES = 5000 };
	struct nb_histogram *parts[PARTS], *all = new_histogram();
	struct nb_histogram *left = new_histogram(), *right = new_histogram();
	struct rng rng;
	rng_create(&rng, 5);
	for (size_t p = 0; p < PARTS; p++) {
		parts[p] = new_histogram();
		for (int i = 0; i < VALUES; i++) {
			uint64_t value = i % 2 == 0 ? any_value(&rng)
						    : 24980 + rng_below(&rng, 40);
			nb_histogram_add(parts[p], value);
			nb_histogram_add(all, value);
		}
	}
	for (size_t p = 0; p < PARTS; p++) /* ((0 + a) + b) + c */
		nb_histogram_merge(left, parts[p]);
	assert_equal(left, all);
	nb_histogram_merge(parts[1], parts[2]); /* (a + (b + c)) */
	nb_histogram_merge(right, parts[1]);
	nb_histogram_merge(right, parts[0]);
	assert_equal(right, all);
	nb_histogram_reset(left);
	nb_histogram_merge(right, left); /* the empty histogram is neutral */
	assert_equal(right, all);
	for (size_t p = 0; p < PARTS; p++)
		nb_histogram_delete(parts[p]);
	nb_histogram_delete(left);
	nb_histogram_delete(right);
	nb_histogram_delete(all);
}

TEST(merging_stops_at_the_largest_count)
{
	struct nb_histogram *a = new_histogram(), *b = new_histogram();
	size_t plain = 17, marked = histogram_index(25000);
	nb_histogram_add(a, 24999);
	nb_histogram_add(a, 17);
	nb_histogram_merge(b, a);
	for (int doubling = 0; doubling < 70; doubling++) {
		nb_histogram_merge(a, b);
		nb_histogram_merge(b, a);
	}
	uint64_t largest = (UINT64_C(1) << 63) - 1;
	ck_assert_uint_eq(histogram_at(a, plain), largest);
	ck_assert_uint_eq(histogram_at(a, marked), largest);
	ck_assert_uint_eq(nb_histogram_count(a), UINT64_MAX - 1);
	ck_assert_uint_eq(nb_histogram_count_below(a, HISTOGRAM_BOUNDS), UINT64_MAX - 1);
	nb_histogram_reset(b);
	nb_histogram_add(b, 24999); /* the bound inside that bucket stays */
	nb_histogram_merge(a, b);
	ck_assert_uint_eq(a->counts[marked], UINT64_MAX);
	ck_assert_uint_eq(histogram_at(a, marked + 1), 0);
	nb_histogram_delete(a);
	nb_histogram_delete(b);
}

static int
supports(uint64_t count, double percent)
{
	struct nb_histogram *histogram = new_histogram();
	histogram->counts[1] = count;
	histogram->min = histogram->max = 1;
	int supported = nb_histogram_supports(histogram, percent, NULL);
	nb_histogram_delete(histogram);
	return supported;
}

TEST(a_percentile_needs_ten_values_on_either_side)
{
	static const struct {
		double percent;
		uint64_t needed; /* 10 / min(p, 1 - p) */
	} table[] = {
		{50, 20},
		{5, 200},
		{95, 200},
		{96, 250},
		{97, 334},
		{98, 500},
		{99, 1000},
		{99.5, 2000},
		{99.9, 10000},
		{99.95, 20000},
		{99.99, 100000},
		{99.999, 1000000},
		{99.9999, 10000000},
		{0.01, 100000},
	};
	struct nb_histogram *histogram = new_histogram();
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint64_t needed = 0;
		ck_assert_int_eq(
			nb_histogram_supports(histogram, table[i].percent, &needed), 0);
		ck_assert_uint_eq(needed, table[i].needed);
		ck_assert_int_ne(supports(needed, table[i].percent), 0);
		ck_assert_int_eq(supports(needed - 1, table[i].percent), 0);
	}
	ck_assert_int_eq(supports(INT64_MAX, 0), 0); /* the ends have only one side */
	ck_assert_int_eq(supports(INT64_MAX, 100), 0);
	nb_histogram_delete(histogram);
}

/** Add `count` values to the histogram and, if not NULL, to `all`. */
static void
add_any(struct nb_histogram *histogram, struct nb_histogram *all, struct rng *rng, int count)
{
	for (int i = 0; i < count; i++) {
		uint64_t value = any_value(rng);
		nb_histogram_add(histogram, value);
		if (all != NULL)
			nb_histogram_add(all, value);
	}
}

TEST(peek_sums_the_counts_of_all_histograms)
{
	struct nb_histogram *parts[3], *all = new_histogram(), *seen = new_histogram();
	struct rng rng;
	rng_create(&rng, 1);
	for (int p = 0; p < 3; p++) {
		parts[p] = new_histogram();
		add_any(parts[p], all, &rng, 1000 * p);
		histogram_peek(seen, parts[p]);
	}
	/* the marks and the counts are the same: the whole array is equal */
	ck_assert_mem_eq(seen->counts, all->counts, sizeof(all->counts));
	ck_assert_uint_eq(nb_histogram_count(seen), 3000);
	for (int p = 0; p < 3; p++)
		nb_histogram_delete(parts[p]);
	nb_histogram_delete(all);
	nb_histogram_delete(seen);
}

TEST(growth_since_the_last_look_equals_the_added_values)
{
	struct nb_histogram *watched = new_histogram(), *before = new_histogram(),
			    *now = new_histogram();
	struct rng rng;
	rng_create(&rng, 2);
	for (int look = 0; look < 5; look++) {
		struct nb_histogram *between = new_histogram();
		add_any(watched, between, &rng, look == 2 ? 0 : 700 * look);
		nb_histogram_reset(now);
		histogram_peek(now, watched);
		histogram_since(now, before);
		ck_assert_mem_eq(now->counts, between->counts, sizeof(now->counts));
		ck_assert_mem_eq(before->counts, watched->counts, sizeof(now->counts));
		uint64_t min = nb_histogram_min(between), max = nb_histogram_max(between);
		uint64_t found_min = nb_histogram_min(now), found_max = nb_histogram_max(now);
		/* to the precision of a bucket */
		ck_assert_uint_le(found_min, min);
		ck_assert_uint_ge(found_max, max);
		ck_assert_double_le((double)found_max, (double)max * 1.001 + 1);
		ck_assert_double_ge((double)found_min, (double)min * 0.999 - 1);
		for (double percent = 1; percent < 100; percent += 7)
			ck_assert_uint_ge(nb_histogram_percentile(now, percent),
				nb_histogram_percentile(between, percent));
		nb_histogram_delete(between);
	}
	nb_histogram_delete(watched);
	nb_histogram_delete(before);
	nb_histogram_delete(now);
}
