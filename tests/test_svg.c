/* SPDX-License-Identifier: BSD-2-Clause */
/* Axes: where values are, which ones are named and how. Expected values are by hand. */
#include "report/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void
assert_near(double is, double wanted)
{
	ck_assert_msg(fabs(is - wanted) <= 1e-9 * fabs(wanted) + 1e-12, "%.17g is not %.17g",
		is, wanted);
}

START_TEST(a_value_is_where_its_share_of_the_scale_is)
{
	struct svg_scale scale = svg_scale(0, 200, 100, 0, false);
	assert_near(svg_at(&scale, 0), 100);
	assert_near(svg_at(&scale, 50), 75);
	assert_near(svg_at(&scale, 200), 0);
	scale = svg_scale(10, 1000, 0, 60, true);
	assert_near(svg_at(&scale, 10), 0);
	assert_near(svg_at(&scale, 100), 30);
	assert_near(svg_at(&scale, 1000), 60);
}
END_TEST

START_TEST(what_is_beyond_a_scale_is_at_its_end)
{
	struct svg_scale scale = svg_scale(1, 10, 5, 95, true);
	assert_near(svg_at(&scale, 0), 5);
	assert_near(svg_at(&scale, -3), 5);
	assert_near(svg_at(&scale, NAN), 5);
	assert_near(svg_at(&scale, 1e9), 95);
	assert_near(svg_at(&scale, INFINITY), 95);
}
END_TEST

START_TEST(any_range_makes_a_scale)
{
	static const struct {
		double low, high;
	} ranges[] = {{0, 0}, {5, 5}, {-5, -5}, {INFINITY, -INFINITY}, {NAN, NAN}, {9, 3},
		{1e300, 1e300}, {0, 1e-300}};
	for (size_t i = 0; i < COUNT_OF(ranges); i++) {
		for (int is_log = 0; is_log < 2; is_log++) {
			struct svg_scale scale = svg_scale(
				ranges[i].low, ranges[i].high, 0, 100, is_log);
			ck_assert_msg(scale.low < scale.high, "range %zu", i);
			ck_assert(!is_log || scale.low > 0);
			double at = svg_at(&scale, scale.low + (scale.high - scale.low) / 2);
			ck_assert_msg(at >= 0 && at <= 100, "range %zu: %g", i, at);
		}
	}
}
END_TEST

static void
assert_ticks(struct svg_scale scale, enum svg_unit unit, size_t wanted, const char *text)
{
	double ticks[SVG_TICKS];
	char all[512] = "", one[UNITS_SIZE];
	size_t count = svg_ticks(&scale, unit, wanted, ticks);
	for (size_t i = 0; i < count; i++) {
		svg_format(one, sizeof(one), unit, ticks[i]);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i > 0 ? " " : "",
			one);
	}
	ck_assert_str_eq(all, text);
}

START_TEST(ticks_are_round)
{
	assert_ticks(svg_scale(0, 10, 0, 1, false), SVG_COUNT, 5, "0 2 4 6 8 10");
	assert_ticks(svg_scale(0, 12600, 0, 1, false), SVG_COUNT, 5, "0 5k 10k");
	assert_ticks(svg_scale(0, 0.7, 0, 1, false), SVG_COUNT, 4, "0 0.2 0.4 0.6");
	assert_ticks(
		svg_scale(0, 600, 0, 1, false), SVG_SECONDS, 9, "0 100 200 300 400 500 600");
	assert_ticks(svg_scale(3, 3.5, 0, 1, false), SVG_SECONDS, 5, "3 3.1 3.2 3.3 3.4 3.5");
}
END_TEST

START_TEST(ticks_of_bytes_are_round_in_their_own_unit)
{
	/* 700 MiB in steps of 200 MiB; in steps of 2 * 10^8 none would be */
	assert_ticks(svg_scale(0, 700 * 1048576.0, 0, 1, false), SVG_BYTES, 4,
		"0B 200MiB 400MiB 600MiB");
	assert_ticks(svg_scale(0, 3, 0, 1, false), SVG_BYTES, 5, "0B 1B 2B 3B");
}
END_TEST

START_TEST(logarithmic_ticks_are_decades_unless_there_are_few)
{
	assert_ticks(svg_scale(900, 3e7, 0, 1, true), SVG_NS, 5, "1us 10us 100us 1ms 10ms");
	assert_ticks(svg_scale(900, 3e11, 0, 1, true), SVG_NS, 5, "1us 100us 10ms 1s 1m40s");
	assert_ticks(svg_scale(1000, 30000, 0, 1, true), SVG_NS, 5, "1us 2us 5us 10us 20us");
}
END_TEST

START_TEST(percentiles_are_named_by_their_nines)
{
	assert_ticks(
		svg_scale(1, 20000, 0, 1, true), SVG_PERCENTILE, 5, "50% 90% 99% 99.9% 99.99%");
	assert_ticks(svg_scale(1, 1.5, 0, 1, true), SVG_PERCENTILE, 5, "");
	char text[UNITS_SIZE];
	svg_format(text, sizeof(text), SVG_PERCENTILE, 4);
	ck_assert_str_eq(text, "75%");
	svg_format(text, sizeof(text), SVG_PERCENTILE, 1);
	ck_assert_str_eq(text, "0%");
	svg_format(text, sizeof(text), SVG_PERCENTILE, 1e7);
	ck_assert_str_eq(text, "99.99999%");
}
END_TEST

/** However wide a scale is: ticks ascend, lie within it, and are no more than have room. */
START_TEST(ticks_are_within_their_scale)
{
	for (int low = -12; low <= 12; low++) {
		for (int high = low; high <= 15; high++) {
			for (int is_log = 0; is_log < 2; is_log++) {
				struct svg_scale scale = svg_scale(
					1.3 * pow(10, low), 7.9 * pow(10, high), 0, 1, is_log);
				double ticks[SVG_TICKS];
				double slack = (scale.high - scale.low) * 1e-6;
				size_t count = svg_ticks(&scale, SVG_COUNT, 5, ticks);
				ck_assert_msg(count <= 11, "%d..%d: %zu", low, high, count);
				for (size_t i = 0; i < count; i++) {
					ck_assert(ticks[i] >= scale.low - slack);
					ck_assert(ticks[i] <= scale.high + slack);
					ck_assert(i == 0 || ticks[i] > ticks[i - 1]);
				}
			}
		}
	}
}
END_TEST

START_TEST(a_small_count_is_not_0)
{
	char text[UNITS_SIZE];
	svg_format(text, sizeof(text), SVG_COUNT, 0.25);
	ck_assert_str_eq(text, "0.25");
	svg_format(text, sizeof(text), SVG_COUNT, 0.05);
	ck_assert_str_eq(text, "0.05");
	svg_format(text, sizeof(text), SVG_COUNT, 0.00025);
	ck_assert_str_eq(text, "0.00025");
	svg_format(text, sizeof(text), SVG_SECONDS, 0.105);
	ck_assert_str_eq(text, "0.105");
	svg_format(text, sizeof(text), SVG_SECONDS, 3600);
	ck_assert_str_eq(text, "3600");
	svg_format(text, sizeof(text), SVG_SECONDS, 12.25);
	ck_assert_str_eq(text, "12.25");
	svg_format(text, sizeof(text), SVG_COUNT, 0);
	ck_assert_str_eq(text, "0");
	svg_format(text, sizeof(text), SVG_SECONDS, -0.5);
	ck_assert_str_eq(text, "-0.5");
}
END_TEST

static char *
drawn(const double *xy, size_t count)
{
	char *text = NULL;
	size_t size = 0;
	struct svg_path path;
	FILE *out = open_memstream(&text, &size);
	svg_path_begin(&path, out);
	for (size_t i = 0; i < count; i++) {
		if (isnan(xy[2 * i]))
			svg_path_lift(&path);
		else
			svg_path_to(&path, xy[2 * i], xy[2 * i + 1]);
	}
	fclose(out);
	return text;
}

START_TEST(a_path_is_short_and_has_gaps)
{
	static const double points[] = {10, 20, 10.5, 19.5, 12, 19.5, NAN, NAN, 30, 0.04};
	char *text = drawn(points, 5);
	ck_assert_str_eq(text, "M10 20l.5-.5l1.5 0M30 0");
	free(text);
}
END_TEST

START_TEST(errors_of_rounding_do_not_add_up)
{
	double points[2 * 1000];
	for (size_t i = 0; i < 1000; i++) {
		points[2 * i] = (double)i * 0.333333;
		points[2 * i + 1] = 0;
	}
	char *text = drawn(points, 1000);
	double x = 0;
	char *rest = text + 1;
	x = strtod(rest, &rest);
	while ((rest = strchr(rest, 'l')) != NULL)
		x += strtod(rest + 1, &rest);
	ck_assert_msg(fabs(x - 999 * 0.333333) <= 0.051, "%g", x);
	free(text);
}
END_TEST

int
main(void)
{
	return UNIT_RUN("svg", a_value_is_where_its_share_of_the_scale_is,
		what_is_beyond_a_scale_is_at_its_end, any_range_makes_a_scale, ticks_are_round,
		ticks_of_bytes_are_round_in_their_own_unit,
		logarithmic_ticks_are_decades_unless_there_are_few,
		percentiles_are_named_by_their_nines, ticks_are_within_their_scale,
		a_small_count_is_not_0, a_path_is_short_and_has_gaps,
		errors_of_rounding_do_not_add_up);
}
