/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Properties that hold on any busy machine: a wait never ends early without a halt, and every
 * wait is counted. The tests measure lateness but do not check it.
 */
#include "run/pacer.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>

#include "base/rng.h"

#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const uint32_t hows[] = {PACER_AUTO, PACER_SPIN, PACER_SLEEP};
static const uint32_t clock_kinds[] = {NB_CLOCK_AUTO, NB_CLOCK_MONOTONIC};

static struct pacer pacer;
static struct clock stamps;
static int halt;

static void
create(uint32_t how, bool may_spin, uint32_t clock_kind)
{
	ck_assert_int_eq(clock_create(&stamps, clock_kind), NB_OK);
	pacer_create(&pacer, &stamps, how, may_spin);
	__atomic_store_n(&halt, 0, __ATOMIC_RELAXED);
}

static uint64_t
due_in(uint64_t ns)
{
	return clock_after(&stamps, clock_stamp(stamps.kind), ns);
}

TEST(a_wait_never_ends_before_its_moment)
{
	static const uint64_t spans_ns[] = {1, 100, 5000, 30000, 150000, 1000000, 3000000};
	for (size_t c = 0; c < COUNT_OF(clock_kinds) * COUNT_OF(hows) * 2; c++) {
		create(hows[c / 2 % COUNT_OF(hows)], c % 2 != 0,
			clock_kinds[c / 2 / COUNT_OF(hows)]);
		uint64_t last = 0;
		for (size_t i = 0; i < 4 * COUNT_OF(spans_ns); i++) {
			uint64_t due = due_in(spans_ns[i % COUNT_OF(spans_ns)]);
			uint64_t went_on = pacer_wait(&pacer, due, &halt);
			ck_assert_uint_ge(went_on, due);
			ck_assert_uint_ge(went_on, last);
			ck_assert_uint_le(went_on, clock_stamp(stamps.kind));
			last = went_on;
		}
		ck_assert_uint_le(pacer.waits, 4 * COUNT_OF(spans_ns));
		ck_assert_uint_eq(nb_histogram_count(&pacer.lateness), pacer.waits);
	}
}

TEST(each_method_waits_as_its_name_states)
{
	static const struct {
		uint32_t how;
		bool may_spin, is_sleeping, is_spinning;
	} ways[] = {
		{PACER_AUTO, true, true, true},
		{PACER_AUTO, false, true, false},
		{PACER_SPIN, true, false, true},
		{PACER_SPIN, false, false, true}, /* an explicit request wins */
		{PACER_SLEEP, true, true, false},
		{PACER_SLEEP, false, true, false},
	};
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		create(ways[i].how, ways[i].may_spin, NB_CLOCK_AUTO);
		pacer.slack_ns = PACER_SLACK_MAX_NS; /* enough time to observe both */
		/* a thread that does not get its CPU may do neither */
		while (pacer.waits < 3 || (ways[i].is_sleeping && pacer.sleeps == 0) ||
			(ways[i].is_spinning && pacer.spins == 0))
			pacer_wait(&pacer, due_in(5000000), &halt);
		ck_assert_int_eq(pacer.sleeps > 0, ways[i].is_sleeping);
		if (!ways[i].is_spinning)
			ck_assert_uint_eq(pacer.spins + pacer.spin_ticks, 0);
		if (!ways[i].is_sleeping) {
			ck_assert_uint_ge(pacer.spins, 3);
			ck_assert_uint_ge(pacer.spin_ticks, 1);
		}
	}
}

TEST(past_time_needs_no_wait)
{
	for (size_t i = 0; i < COUNT_OF(hows); i++) {
		create(hows[i], true, NB_CLOCK_AUTO);
		uint64_t before = clock_stamp(stamps.kind);
		uint64_t moments[] = {0, 1, before - 1, before};
		for (size_t m = 0; m < COUNT_OF(moments); m++)
			ck_assert_uint_ge(pacer_wait(&pacer, moments[m], &halt), before);
		ck_assert_uint_eq(pacer.waits + pacer.sleeps + pacer.spins, 0);
		ck_assert_uint_eq(nb_histogram_count(&pacer.lateness), 0);
	}
}

TEST(a_halt_before_a_wait_ends_it_at_once)
{
	for (size_t i = 0; i < COUNT_OF(hows); i++) {
		create(hows[i], true, NB_CLOCK_AUTO);
		halt = 1;
		ck_assert_uint_lt(pacer_wait(&pacer, UINT64_MAX, &halt), UINT64_MAX);
		ck_assert_uint_eq(pacer.sleeps + pacer.spins, 0);
		ck_assert_uint_eq(nb_histogram_count(&pacer.lateness), 0);
	}
}

static void *
halt_soon(void *arg)
{
	nanosleep(&(struct timespec){.tv_nsec = 30 * 1000 * 1000}, NULL);
	__atomic_store_n(&halt, 1, __ATOMIC_RELAXED);
	return NULL;
}

TEST(halt_ends_an_infinite_wait)
{
	for (size_t i = 0; i < COUNT_OF(hows); i++) {
		create(hows[i], true, NB_CLOCK_AUTO);
		pthread_t thread;
		ck_assert_int_eq(pthread_create(&thread, NULL, halt_soon, NULL), 0);
		uint64_t went_on = pacer_wait(&pacer, UINT64_MAX, &halt); /* or blocks */
		ck_assert_uint_lt(went_on, UINT64_MAX);
		ck_assert_int_eq(__atomic_load_n(&halt, __ATOMIC_RELAXED), 1);
		ck_assert_uint_eq(nb_histogram_count(&pacer.lateness), 0);
		pthread_join(thread, NULL);
	}
}

static void
count_idle(void *arg)
{
	++*(uint64_t *)arg;
}

TEST(housekeeping_runs_only_in_long_waits)
{
	for (size_t i = 0; i < COUNT_OF(hows); i++) {
		uint64_t calls = 0;
		create(hows[i], true, NB_CLOCK_AUTO);
		pacer.idle = count_idle;
		pacer.idle_arg = &calls;
		while (pacer.waits < 20)
			pacer_wait(&pacer, due_in(PACER_IDLE_NS - 100), &halt);
		ck_assert_uint_eq(calls, 0);
		while (calls < 3) /* or the test times out */
			pacer_wait(&pacer, due_in(2000000), &halt);
	}
}

static void
halt_now(void *arg)
{
	__atomic_store_n((int *)arg, 1, __ATOMIC_RELAXED);
}

TEST(housekeeping_may_halt)
{
	for (size_t i = 0; i < COUNT_OF(hows); i++) {
		create(hows[i], true, NB_CLOCK_AUTO);
		pacer.idle = halt_now;
		pacer.idle_arg = &halt;
		ck_assert_uint_lt(pacer_wait(&pacer, UINT64_MAX, &halt), UINT64_MAX);
	}
}

static void
ignore(int number)
{
}

TEST(signals_do_not_cut_a_wait_short)
{
	struct sigaction action = {.sa_handler = ignore};
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	struct itimerval often = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
	for (size_t i = 0; i < COUNT_OF(hows); i++) {
		create(hows[i], true, NB_CLOCK_AUTO);
		ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
		uint64_t due = due_in(25000000);
		ck_assert_uint_ge(pacer_wait(&pacer, due, &halt), due);
		ck_assert_int_eq(setitimer(ITIMER_REAL, &off, NULL), 0);
	}
}

TEST(wrong_clock_does_not_shorten_a_wait)
{
	/* clocks that claim ticks twice and half as long as they are */
	static const uint64_t wrong[] = {UINT64_C(1) << 33, UINT64_C(1) << 31};
	for (size_t i = 0; i < COUNT_OF(wrong) * COUNT_OF(hows); i++) {
		struct clock clock = {
			.kind = NB_CLOCK_MONOTONIC, .ns_per_tick_q32 = wrong[i % 2]};
		pacer_create(&pacer, &clock, hows[i / 2], true);
		uint64_t due = clock_monotonic() + 25000000;
		ck_assert_uint_ge(pacer_wait(&pacer, due, &halt), due);
		ck_assert_uint_ge(clock_monotonic(), due);
	}
}

/**
 * Learn oversleeps of an exponential distribution. Returns how many of `count` exceeded the
 * slack.
 */
static uint64_t
learn_from(double mean_ns, uint64_t count, struct rng *rng)
{
	uint64_t beyond = 0;
	bool is_bounded = true; /* an assertion per sleep would take most of the time */
	for (uint64_t i = 0; i < count; i++) {
		double uniform = ((double)(rng_next(rng) >> 11) + 1) * 0x1p-53;
		uint64_t oversleep = (uint64_t)(-log(uniform) * mean_ns);
		beyond += oversleep > pacer.slack_ns;
		pacer_learn(&pacer, oversleep);
		is_bounded = is_bounded && pacer.slack_ns >= PACER_SLACK_MIN_NS &&
			pacer.slack_ns <= PACER_SLACK_MAX_NS;
	}
	ck_assert(is_bounded);
	return beyond;
}

TEST(the_slack_settles_where_one_sleep_in_900_is_late)
{
	static const double means_ns[] = {10e3, 50e3, 150e3, 20e3};
	struct rng rng;
	rng_create(&rng, 1);
	create(PACER_AUTO, true, NB_CLOCK_MONOTONIC);
	for (size_t i = 0; i < COUNT_OF(means_ns); i++) {
		learn_from(means_ns[i], 100000, &rng); /* adapts from the previous mean */
		/* 1121 expected; a Poisson count would have a standard deviation of 33 */
		uint64_t beyond = learn_from(means_ns[i], 1000000, &rng);
		ck_assert_uint_ge(beyond, 1000);
		ck_assert_uint_le(beyond, 1250);
	}
}

TEST(the_slack_has_bounds)
{
	create(PACER_AUTO, true, NB_CLOCK_MONOTONIC);
	for (int i = 0; i < 100; i++)
		pacer_learn(&pacer, UINT64_MAX);
	ck_assert_uint_eq(pacer.slack_ns, PACER_SLACK_MAX_NS);
	for (int i = 0; i < 100000; i++)
		pacer_learn(&pacer, 0);
	ck_assert_uint_eq(pacer.slack_ns, PACER_SLACK_MIN_NS);
}

TEST(slack_too_long_to_sleep_is_discarded)
{
	create(PACER_AUTO, true, NB_CLOCK_AUTO);
	for (int i = 0; i < 100; i++)
		pacer_learn(&pacer, UINT64_MAX);
	uint64_t before = pacer.slack_ns;
	while (pacer.waits < 1000)
		pacer_wait(&pacer, due_in(2000), &halt);
	ck_assert_uint_eq(pacer.sleeps, 0);
	/* (1 - 1/40000) ^ 1000 = 0.9753; rounding to whole ns adds at most 1000 */
	ck_assert_double_eq_tol((double)pacer.slack_ns, (double)before * 0.9753, 1000);
}

TEST(timer_slack_of_a_waiting_thread_is_small)
{
	pacer_enter_thread();
	ck_assert_int_eq(prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL), 1);
}
