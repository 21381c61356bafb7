/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expected: b = numpy.polyfit(x, y, 1)[0]; slope = b * (len(y) - 1) / y.mean();
 * band = abs(y - y.mean()).max() / y.mean().
 */
#include "run/steady.h"

#include <math.h>
#include <string.h>

#include <mininb/mininb.h>

#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { ROOM = 8 };

TEST(slope_and_band_match_numpy)
{
	static const struct {
		uint32_t count;
		double rates[ROOM], slope, band, mean;
	} cases[] = {
		{5, {100, 102, 101, 99, 100}, -0.01195219123506033, 0.015936254980079625,
			100.4},
		{3, {10, 20, 30}, 1, 0.5, 20},
		{4, {5, 5, 5, 5}, 0, 0, 5},
		{8, {66127, 66004, 65870, 66300, 64999, 66012, 65500, 66480},
			-0.0011682331611329174, 0.013844321552384638, 65911.5},
		{4, {1e6, 0, 1e6, 0}, -1.2, 1, 500000},
		{6, {3.5, 3.25, 3, 2.75, 2.5, 2.25}, -0.434782608695652, 0.21739130434782608,
			2.875},
	};
	for (size_t c = 0; c < COUNT_OF(cases); c++) {
		struct steady steady;
		steady_create(&steady, cases[c].count, 1, 1);
		/* with other values before: only the window counts, wherever it begins */
		for (size_t before = 0; before <= c; before++)
			steady_add(&steady, 1e9);
		for (uint32_t i = 0; i < cases[c].count; i++)
			steady_add(&steady, cases[c].rates[i]);
		ck_assert_double_eq_tol(steady.slope, cases[c].slope, 1e-14);
		ck_assert_double_eq_tol(steady.band, cases[c].band, 1e-14);
		ck_assert_double_eq_tol(steady.mean, cases[c].mean, 1e-9);
	}
}

/**
 * The interval at which 1000 (1 + exp(-i/30)) + 20 sin i is found to be steady over 20
 * intervals.
 */
static uint32_t
first_steady(double slope_limit, double band_limit)
{
	struct steady steady;
	steady_create(&steady, 20, slope_limit, band_limit);
	for (uint32_t i = 0; i < 400; i++)
		if (steady_add(&steady, 1000 * (1 + exp(-(double)i / 30)) + 20 * sin(i)))
			return i;
	return UINT32_MAX;
}

TEST(run_is_steady_once_both_limits_hold)
{
	ck_assert_uint_eq(first_steady(0.1, 0.2), 59);
	ck_assert_uint_eq(first_steady(0.02, 0.03), 104);
	ck_assert_uint_eq(first_steady(0.1, 0.019), UINT32_MAX); /* the sine never ends */
}

TEST(falling_rate_is_as_unsteady_as_a_rising_one)
{
	for (int sign = -1; sign <= 1; sign += 2) {
		struct steady steady;
		bool is_steady = true;
		steady_create(&steady, 3, 0.5, 1);
		for (int i = -1; i <= 1; i++)
			is_steady = steady_add(&steady, 20 + sign * i * 10);
		ck_assert(!is_steady);
		ck_assert_double_eq_tol(steady.slope, sign, 1e-15);
	}
}

TEST(a_limit_may_just_be_met)
{
	struct steady steady;
	steady_create(&steady, 3, 0, 0.5);
	ck_assert(!steady_add(&steady, 15));
	ck_assert(!steady_add(&steady, 30));
	ck_assert(steady_add(&steady, 15)); /* slope 0, but 30 deviates from 20 by half */
	ck_assert_double_eq(steady.band, 0.5);
	ck_assert(!steady_add(&steady, 31));
}

TEST(run_is_not_steady_before_a_whole_window)
{
	struct steady steady;
	steady_create(&steady, STEADY_WINDOW_MAX, 1, 1);
	for (int i = 0; i < STEADY_WINDOW_MAX - 1; i++)
		ck_assert(!steady_add(&steady, 7));
	ck_assert(steady_add(&steady, 7));
	ck_assert(steady_add(&steady, 7));
	ck_assert_uint_eq(steady.count, STEADY_WINDOW_MAX + 1);
}

TEST(run_without_progress_is_not_steady)
{
	struct steady steady;
	steady_create(&steady, 3, 1, 1);
	for (int i = 0; i < 10; i++)
		ck_assert(!steady_add(&steady, 0));
	ck_assert_double_eq(steady.mean, 0);
	ck_assert_double_eq(steady.slope, 0);
	ck_assert_double_eq(steady.band, 0);
}

TEST(texts_give_a_window_and_limits)
{
	static const struct {
		const char *text;
		uint64_t window_ns;
		double slope, band;
	} good[] = {
		{"10s", 10000000000, 0.1, 0.2},
		{"10s,slope:5%,band:10%", 10000000000, 0.05, 0.1},
		{"1m,band:12.5%", 60000000000, 0.1, 0.125},
		{"500ms,band:100%,slope:0.1%", 500000000, 0.001, 1},
	};
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct nb_steady steady = {.slope = 0.1, .band = 0.2};
		ck_assert_msg(
			nb_steady_parse(&steady, good[i].text) == NB_OK, "%s", nb_error_text());
		ck_assert_uint_eq(steady.window_ns, good[i].window_ns);
		ck_assert_double_eq_tol(steady.slope, good[i].slope, 1e-17);
		ck_assert_double_eq_tol(steady.band, good[i].band, 1e-17);
	}
}

TEST(wrong_texts_are_refused_with_their_reason)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"", "'' is empty"},
		{"10", "'10' has no unit; allowed: ns us ms s m h"},
		{"0s", "'0s': the window must be longer than 0"},
		{"slope:5%", "'slope:5%' is not a number"},
		{"10s,", "'' is not a limit of a steady state; the limits are slope and band"},
		{"10s,slop:5%",
			"'slop' is not a limit of a steady state; did you mean 'slope'?"},
		{"10s,height:5%",
			"'height' is not a limit of a steady state; the limits are slope and band"},
		{"10s,slope", "'slope' has no percentage: slope:5%"},
		{"10s,band:", "'' is not a percentage such as 5%"},
		{"10s,band:0.05", "'0.05' is not a percentage such as 5%"},
		{"10s,band:%", "'%' is not a percentage such as 5%"},
		{"10s,band:x%", "'x' is not a number"},
		{"10s,band:0%", "'0%' is not above 0% and up to 100%"},
		{"10s,band:-5%", "'-5%' is not above 0% and up to 100%"},
		{"10s,band:101%", "'101%' is not above 0% and up to 100%"},
		{"10s,band:5%,slope:5%,band:5%", "'band' is given twice"},
	};
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct nb_steady steady = {77, 0.1, 0.2};
		ck_assert_int_eq(nb_steady_parse(&steady, bad[i].text), NB_ERR_USAGE);
		ck_assert_str_eq(nb_error_text(), bad[i].why);
		ck_assert_uint_eq(steady.window_ns, 77);
		ck_assert_double_eq(steady.slope, 0.1);
		ck_assert_double_eq(steady.band, 0.2);
	}
}
