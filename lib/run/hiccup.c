/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hiccups of the machine, after the idea of jHiccup (Gil Tene): a thread that only sleeps
 * should wake up on time, and if it does not, then scheduler, hypervisor or hardware have
 * kept it, and would have kept any other thread.
 *
 * Its alarms are on a grid that is never moved. When it wakes up late, the alarms that it
 * has missed meanwhile count too, each with its own lateness: a stop of 100 ms with an
 * interval of 10 ms is 100, 90, 80, ... and not one single 100, which would hide it below
 * every percentile that matters. This is what an operation due at a random moment would
 * have met.
 */
#include "run/hiccup.h"

#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "base/error.h"
#include "run/pacer.h"

uint64_t
hiccup_note(struct hiccup *hiccup, uint64_t alarm_ns, uint64_t now_ns)
{
	for (; alarm_ns <= now_ns; alarm_ns += hiccup->interval_ns)
		histogram_add(&hiccup->lateness, now_ns - alarm_ns);
	return alarm_ns;
}

static void *
hiccup_main(void *arg)
{
	struct hiccup *hiccup = arg;
	pacer_enter_thread();
	uint64_t alarm_ns = clock_monotonic() + hiccup->interval_ns;
	for (;;) {
		struct timespec until = {.tv_sec = (time_t)(alarm_ns / 1000000000),
			.tv_nsec = (long)(alarm_ns % 1000000000)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		if (__atomic_load_n(&hiccup->is_stopping, __ATOMIC_RELAXED) != 0)
			return NULL;
		alarm_ns = hiccup_note(hiccup, alarm_ns, clock_monotonic());
	}
}

int
hiccup_start(struct hiccup *hiccup, uint64_t interval_ns)
{
	hiccup->interval_ns = interval_ns;
	hiccup->is_stopping = 0;
	histogram_create(&hiccup->lateness);
	sigset_t all, before; /* signals are for the thread that called */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = pthread_create(&hiccup->thread, NULL, hiccup_main, hiccup);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return errno == 0 ? NB_OK : error_thread("the thread that measures hiccups");
}

void
hiccup_stop(struct hiccup *hiccup)
{
	__atomic_store_n(&hiccup->is_stopping, 1, __ATOMIC_RELAXED);
	pthread_join(hiccup->thread, NULL);
}
