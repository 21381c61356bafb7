/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Points of a percentile curve. test_hdr_writers.py compares them with another implementation.
 */
#include <math.h>

#include "report/curve.h"
#include "unit.h"

static struct nb_histogram *
ascending(uint64_t count)
{
	struct nb_histogram *histogram;
	ck_assert_int_eq(nb_histogram_new(&histogram), NB_OK);
	for (uint64_t i = 1; i <= count; i++)
		nb_histogram_add(histogram, i);
	return histogram;
}

TEST(levels_are_denser_each_time_the_rest_is_halved)
{
	/* by hand: five steps up to 50, five up to 75, five up to 87.5, ... */
	static const double levels[] = {
		0, 10, 20, 30, 40, 50, 55, 60, 65, 70, 75, 77.5, 80, 82.5, 85, 87.5, 88.75, 90};
	struct nb_histogram *histogram = ascending(1000);
	struct curve curve;
	struct curve_point point;
	curve_begin(&curve, histogram);
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		ck_assert(curve_next(&curve, &point));
		ck_assert_double_eq_tol(point.percent, levels[i], 1e-9);
		uint64_t rank = i == 0 ? 1 : (uint64_t)llround(10 * levels[i]);
		ck_assert_uint_eq(point.value_ns, rank);
		ck_assert_uint_eq(point.count, point.value_ns);
	}
	nb_histogram_delete(histogram);
}

TEST(curve_ends_once_at_the_maximum)
{
	struct nb_histogram *histogram = ascending(1000);
	nb_histogram_add(histogram, 5000000000001);
	struct curve curve;
	struct curve_point point;
	double before = -1;
	uint64_t points = 0;
	curve_begin(&curve, histogram);
	while (curve_next(&curve, &point)) {
		ck_assert_double_gt(point.percent, before);
		before = point.percent;
		points++;
	}
	ck_assert_uint_gt(points, 40);
	ck_assert_double_eq(point.percent, 100);
	ck_assert_uint_eq(point.value_ns, 5000000000001);
	ck_assert_uint_eq(point.count, 1001);
	nb_histogram_delete(histogram);
}

TEST(one_value_makes_a_curve_and_no_value_makes_none)
{
	struct nb_histogram *histogram = ascending(1);
	struct curve curve;
	struct curve_point point;
	curve_begin(&curve, histogram);
	ck_assert(curve_next(&curve, &point));
	ck_assert_double_eq(point.percent, 0);
	ck_assert(curve_next(&curve, &point));
	ck_assert_double_eq(point.percent, 100);
	ck_assert_uint_eq(point.value_ns, 1);
	ck_assert(!curve_next(&curve, &point));
	nb_histogram_reset(histogram);
	curve_begin(&curve, histogram);
	ck_assert(!curve_next(&curve, &point));
	nb_histogram_delete(histogram);
}
