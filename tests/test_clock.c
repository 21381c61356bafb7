/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The test reads from /proc/cpuinfo and sysfs whether this machine's TSC is reliable. Products
 * of 64 x 64 bits were computed with Python's integers. No test depends on durations: a busy
 * machine widens the bounds as well.
 */
#include "base/clock.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/time.h>

#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

static const char source_path[] =
	"/sys/devices/system/clocksource/clocksource0/current_clocksource";

static bool
file_has(const char *path, const char *word)
{
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	char line[8192];
	bool has = false;
	while (!has && fgets(line, sizeof(line), file) != NULL)
		has = strstr(line, word) != NULL;
	fclose(file);
	return has;
}

static bool
is_tsc_trusted(void)
{
	return file_has("/proc/cpuinfo", " nonstop_tsc") && file_has(source_path, "tsc");
}

TEST(ticks_of_the_monotonic_clock_are_ns)
{
	static const uint64_t ticks[] = {0, 1, 999999999, UINT64_C(3600000000000), INT64_MAX,
		(uint64_t)INT64_MAX + 1, UINT64_MAX};
	struct clock clock;
	ck_assert_int_eq(clock_create(&clock, NB_CLOCK_MONOTONIC), NB_OK);
	ck_assert_uint_eq(clock.kind, NB_CLOCK_MONOTONIC);
	ck_assert_str_eq(clock_name(&clock), "monotonic");
	ck_assert_double_eq(clock.tick_hz, 1e9);
	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++)
		ck_assert_uint_eq(clock_ns(&clock, ticks[i]), ticks[i]);
}

TEST(drift_is_how_far_the_counter_is_ahead_of_the_clock)
{
	static const struct {
		uint64_t ticks, ns;
		double drift;
	} cases[] = {/* at 2 GHz, over a second, computed by hand */
		{2000000000, 1000000000, 0}, {2020000000, 1000000000, 0.01},
		{1999000000, 1000000000, -0.0005}, {1000000000, 1000000000, -0.5},
		/* too short for a decision */
		{2020000, 1000000, 0}, {40000000, 9999999, 0}, {40000000, 10000000, 1}};
	struct clock clock = {.kind = NB_CLOCK_TSC, .tick_hz = 2e9};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct clock_pair from = {.ticks = 12345, .ns = 678};
		struct clock_pair until = {
			.ticks = 12345 + cases[i].ticks, .ns = 678 + cases[i].ns};
		ck_assert_double_eq_tol(
			clock_drift(&clock, &from, &until), cases[i].drift, 1e-12);
		clock.kind = NB_CLOCK_MONOTONIC; /* the same clock */
		ck_assert_double_eq(clock_drift(&clock, &from, &until), 0);
		clock.kind = NB_CLOCK_TSC;
	}
	/* set back to 0 by suspend */
	struct clock_pair from = {.ticks = 2000000000}, until = {.ns = 1000000000};
	ck_assert_double_eq_tol(clock_drift(&clock, &from, &until), -2, 1e-12);
}

TEST(both_clocks_are_read_at_the_same_time)
{
	struct clock clock = {.kind = NB_CLOCK_MONOTONIC};
	uint64_t before = clock_monotonic();
	struct clock_pair pair = clock_pair(&clock);
	ck_assert_uint_ge(pair.ns, before);
	ck_assert_uint_le(pair.ns, clock_monotonic());
	ck_assert_uint_eq(pair.ticks, 0);
	clock.kind = NB_CLOCK_TSC;
	before = clock_stamp(NB_CLOCK_TSC);
	pair = clock_pair(&clock);
	ck_assert_uint_ge(pair.ticks, before);
	ck_assert_uint_le(pair.ticks, clock_stamp(NB_CLOCK_TSC));
}

TEST(ticks_become_ns_exactly_rounded_down)
{
	static const struct {
		uint64_t ns_per_tick_q32, ticks, ns;
	} cases[] = {
		{UINT64_C(2147483648), 1, 0},
		{UINT64_C(2147483648), 3, 1},
		{UINT64_C(2147483648), UINT64_MAX, INT64_MAX},
		{UINT64_C(1431655765), 3, 0}, /* a little less than a third */
		{UINT64_C(1431655766), 3, 1},
		/* 3 GHz: an hour, a century, the maximum */
		{UINT64_C(1431655765), UINT64_C(10800000000000), UINT64_C(3599999999161)},
		{UINT64_C(1431655765), UINT64_C(9467280000000000000),
			UINT64_C(3155759999265242367)},
		{UINT64_C(1431655765), UINT64_MAX, UINT64_C(6148914689804861439)},
		/* 2.1 GHz */
		{UINT64_C(2045222521), UINT64_C(7560000000000), UINT64_C(3599999998407)},
		/* 24 MHz, slower than ns: 16 years */
		{UINT64_C(178956970667), UINT64_C(12096000000000000),
			UINT64_C(504000000000938773)},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct clock clock = {
			.kind = NB_CLOCK_TSC, .ns_per_tick_q32 = cases[i].ns_per_tick_q32};
		ck_assert_uint_eq(clock_ns(&clock, cases[i].ticks), cases[i].ns);
	}
}

TEST(ns_become_ticks_rounded_up)
{
	static const uint64_t ns[] = {0, 1, 999999999, UINT64_C(3600000000000),
		UINT64_C(2592000000000000), /* 30 days */
		UINT64_C(9223372036854775808), UINT64_MAX};
	static const struct {
		uint64_t ns_per_tick_q32, ticks[7];
	} cases[] = {
		{UINT64_C(4294967296),
			{0, 1, 999999999, 3600000000000, 2592000000000000,
				UINT64_C(9223372036854775808), UINT64_MAX}},
		{UINT64_C(2147483648),
			{0, 2, 1999999998, 7200000000000, 5184000000000000, UINT64_MAX,
				UINT64_MAX}},
		{UINT64_C(2045222521), /* 2.1 GHz */
			{0, 3, 2099999999, 7560000003345, 5443200002407954, UINT64_MAX,
				UINT64_MAX}},
		{UINT64_C(858993459), /* 5 GHz */
			{0, 6, 4999999997, 18000000004191, 12960000003017486, UINT64_MAX,
				UINT64_MAX}},
		{UINT64_C(178956970667), /* 24 MHz */
			{0, 1, 24000000, 86400000000, 62207999999885,
				UINT64_C(221360928884102303), UINT64_C(442721857768204606)}},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct clock clock = {
			.kind = NB_CLOCK_TSC, .ns_per_tick_q32 = cases[i].ns_per_tick_q32};
		for (size_t j = 0; j < sizeof(ns) / sizeof(ns[0]); j++) {
			uint64_t ticks = clock_ticks(&clock, ns[j]);
			ck_assert_uint_eq(ticks, cases[i].ticks[j]);
			if (ticks == UINT64_MAX || ns[j] == UINT64_MAX)
				continue;
			ck_assert_uint_ge(clock_ns(&clock, ticks), ns[j]);
			if (ticks > 0)
				ck_assert_uint_lt(clock_ns(&clock, ticks - 1), ns[j]);
		}
	}
}

TEST(sums_of_stamps_saturate)
{
	struct clock clock = {.kind = NB_CLOCK_TSC, .ns_per_tick_q32 = 858993459};
	ck_assert_uint_eq(clock_after(&clock, 0, 0), 0);
	ck_assert_uint_eq(clock_after(&clock, 1000, 1), 1006);
	ck_assert_uint_eq(clock_after(&clock, UINT64_MAX - 7, 1), UINT64_MAX - 1);
	ck_assert_uint_eq(clock_after(&clock, UINT64_MAX - 6, 1), UINT64_MAX);
	ck_assert_uint_eq(clock_after(&clock, UINT64_MAX - 5, 1), UINT64_MAX);
	ck_assert_uint_eq(clock_after(&clock, 0, UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(clock_after(&clock, 1, UINT64_MAX), UINT64_MAX);
	struct clock slow = {.kind = NB_CLOCK_MONOTONIC, .ns_per_tick_q32 = UINT64_C(1) << 32};
	ck_assert_uint_eq(clock_after(&slow, 5, UINT64_MAX), UINT64_MAX);
	ck_assert_uint_eq(clock_after(&slow, 5, UINT64_MAX - 7), UINT64_MAX - 2);
}

static void
check_stamps_rise(uint32_t kind)
{
	uint64_t last = clock_stamp(kind), first = last;
	for (int i = 0; i < 200000; i++) {
		uint64_t stamp = clock_stamp(kind);
		ck_assert_uint_ge(stamp, last);
		last = stamp;
	}
	ck_assert_uint_gt(last, first);
}

TEST(stamps_never_decrease)
{
	check_stamps_rise(NB_CLOCK_MONOTONIC);
	if (is_tsc_trusted())
		check_stamps_rise(NB_CLOCK_TSC);
}

/**
 * The interval between the stamps lies within the outer and around the inner reads of the
 * kernel's clock.
 */
static void
check_agreement(uint32_t kind)
{
	struct clock clock;
	ck_assert_int_eq(clock_create(&clock, kind), NB_OK);
	uint64_t outer0 = clock_monotonic();
	uint64_t stamp0 = clock_stamp(clock.kind);
	uint64_t inner0 = clock_monotonic();
	nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
	uint64_t inner1 = clock_monotonic();
	uint64_t stamp1 = clock_stamp(clock.kind);
	uint64_t outer1 = clock_monotonic();
	double ns = (double)clock_ns(&clock, stamp1 - stamp0);
	ck_assert_double_ge(ns, (double)(inner1 - inner0) * 0.999);
	ck_assert_double_le(ns, (double)(outer1 - outer0) * 1.001);
}

TEST(every_kind_agrees_with_the_kernels_clock)
{
	check_agreement(NB_CLOCK_MONOTONIC);
	check_agreement(NB_CLOCK_AUTO);
	if (is_tsc_trusted())
		check_agreement(NB_CLOCK_TSC);
}

TEST(requested_tsc_is_used_or_refused)
{
	struct clock clock;
	int rc = clock_create(&clock, NB_CLOCK_TSC);
	if (is_tsc_trusted()) {
		ck_assert_int_eq(rc, NB_OK);
		ck_assert_uint_eq(clock.kind, NB_CLOCK_TSC);
		ck_assert_str_eq(clock_name(&clock), "tsc");
	} else {
		ck_assert_int_eq(rc, NB_UNSUPPORTED);
		ck_assert_ptr_nonnull(strstr(nb_error_text(), "--clock=monotonic"));
	}
}

/** Mount another clocksource over the kernel's, for this process only. False: not permitted. */
static bool
pretend_source(const char *source)
{
	file_put("clocksource", source, strlen(source));
	return unshare(CLONE_NEWNS) == 0 &&
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		mount("clocksource", source_path, NULL, MS_BIND, NULL) == 0;
}

TEST(a_tsc_that_the_kernel_does_not_use_is_refused)
{
	if (!pretend_source("acpi_pm\n"))
		return; /* only root can mount */
	struct clock clock;
	ck_assert_int_eq(clock_create(&clock, NB_CLOCK_TSC), NB_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "clock tsc: "));
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "--clock=monotonic"));
	if (file_has("/proc/cpuinfo", " nonstop_tsc"))
		ck_assert_ptr_nonnull(strstr(nb_error_text(), "'acpi_pm'"));
	ck_assert_int_eq(clock_create(&clock, NB_CLOCK_AUTO), NB_OK);
	ck_assert_uint_eq(clock.kind, NB_CLOCK_MONOTONIC);
	ck_assert_int_eq(clock_create(&clock, NB_CLOCK_MONOTONIC), NB_OK);
}

TEST(the_cost_of_a_stamp_is_measured)
{
	static const uint32_t kinds[] = {NB_CLOCK_AUTO, NB_CLOCK_MONOTONIC};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct clock clock;
		ck_assert_int_eq(clock_create(&clock, kinds[i]), NB_OK);
		/* less than a tenth of a ns is implausible */
		ck_assert_double_gt(clock.read_ns, 0.1);
		ck_assert_double_gt(clock.tick_hz, 1e6);
		ck_assert_double_eq_tol(
			(double)clock.ns_per_tick_q32 / 4294967296.0 * clock.tick_hz, 1e9, 1);
	}
}

static void
ignore(int number)
{
}

TEST(signals_do_not_shorten_the_calibration)
{
	if (!is_tsc_trusted())
		return;
	struct sigaction action = {.sa_handler = ignore};
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	struct itimerval often = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
	ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	uint64_t begin = clock_monotonic();
	struct clock clock;
	ck_assert_int_eq(clock_create(&clock, NB_CLOCK_TSC), NB_OK);
	uint64_t elapsed = clock_monotonic() - begin;
	ck_assert_int_eq(setitimer(ITIMER_REAL, &off, NULL), 0);
	ck_assert_uint_ge(elapsed, 5 * 1000 * 1000); /* as clock.h promises */
}
