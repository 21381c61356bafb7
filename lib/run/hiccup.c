/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hiccups of the machine, after the idea of jHiccup (Gil Tene). A thread that only sleeps
 * should wake on time. If it does not, the scheduler, the hypervisor or the hardware has
 * delayed it. They would have delayed any other thread, too.
 *
 * Its alarms are on a grid that never moves. After a late wake-up, each missed alarm counts
 * with its own lateness. With an interval of 10 ms, a stop of 100 ms counts as 100, 90, 80, ...
 * A single 100 would be hidden below every relevant percentile. This is the delay of an
 * operation that is due at a random time.
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
	sigset_t all, before; /* only the calling thread handles signals */
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
