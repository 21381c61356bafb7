/* SPDX-License-Identifier: BSD-2-Clause */
/* Every interval is counted once, whenever the machine runs the thread. */
#include "run/hiccup.h"

#include <time.h>

#include "base/clock.h"

#include "unit.h"

static struct hiccup hiccup;

static void
sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000 * 1000}, NULL);
}

TEST(every_interval_is_counted_once)
{
	static const uint64_t intervals_ns[] = {200000, 1000000, 10000000};
	for (size_t i = 0; i < sizeof(intervals_ns) / sizeof(intervals_ns[0]); i++) {
		uint64_t interval_ns = intervals_ns[i];
		uint64_t begin_ns = clock_monotonic();
		ck_assert_int_eq(hiccup_start(&hiccup, interval_ns), NB_OK);
		sleep_ms(100);
		hiccup_stop(&hiccup);
		uint64_t elapsed_ns = clock_monotonic() - begin_ns;
		uint64_t count = nb_histogram_count(&hiccup.lateness);
		ck_assert_uint_le(count, elapsed_ns / interval_ns);
		ck_assert_uint_le(nb_histogram_max(&hiccup.lateness), elapsed_ns);
	}
}

TEST(missed_alarms_count_with_their_own_lateness)
{
	hiccup.interval_ns = 10;
	histogram_create(&hiccup.lateness);
	ck_assert_uint_eq(hiccup_note(&hiccup, 1000, 1000), 1010); /* 0 late */
	ck_assert_uint_eq(hiccup_note(&hiccup, 1010, 1019), 1020); /* 9 */
	ck_assert_uint_eq(hiccup_note(&hiccup, 1020, 1030), 1040); /* 10 and 0 */
	ck_assert_uint_eq(hiccup_note(&hiccup, 1040, 1075), 1080); /* 35, 25, 15, 5 */
	ck_assert_uint_eq(nb_histogram_count(&hiccup.lateness), 8);
	ck_assert_uint_eq(nb_histogram_sum(&hiccup.lateness), 9 + 10 + 35 + 25 + 15 + 5);
	ck_assert_uint_eq(nb_histogram_max(&hiccup.lateness), 35);
	ck_assert_uint_eq(nb_histogram_percentile(&hiccup.lateness, 50), 9);
}

TEST(intervals_are_counted_while_it_runs)
{
	/* 100 values arrive, possibly late: this ends, or the test times out */
	uint64_t ms = 1, count;
	do {
		ck_assert_int_eq(hiccup_start(&hiccup, 100000), NB_OK);
		sleep_ms((long)ms);
		hiccup_stop(&hiccup);
		count = nb_histogram_count(&hiccup.lateness);
		ms = ms < 500 ? ms * 2 : ms;
	} while (count < 100);
}
