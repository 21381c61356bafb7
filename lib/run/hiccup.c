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
 *
 * It sleeps on a condition, so that it ends at once when it is told to.
 */
#include "run/hiccup.h"

#include <errno.h>
#include <signal.h>

#include "base/clock.h"
#include "base/error.h"
#include "run/pacer.h"

static struct timespec
timespec_of(uint64_t ns)
{
	return (struct timespec){
		.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

/** False: it was told to stop. */
static bool
sleep_until(struct hiccup *hiccup, uint64_t until_ns)
{
	struct timespec until = timespec_of(until_ns);
	int error = 0;
	pthread_mutex_lock(&hiccup->mutex);
	while (!hiccup->is_stopping && error != ETIMEDOUT)
		error = pthread_cond_timedwait(&hiccup->woken, &hiccup->mutex, &until);
	bool is_stopping = hiccup->is_stopping;
	pthread_mutex_unlock(&hiccup->mutex);
	return !is_stopping;
}

uint64_t
hiccup_note(struct hiccup *hiccup, uint64_t alarm_ns, uint64_t now_ns)
{
	hiccup->wakes++;
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
	while (sleep_until(hiccup, alarm_ns))
		alarm_ns = hiccup_note(hiccup, alarm_ns, clock_monotonic());
	struct timespec cpu;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	hiccup->cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	return NULL;
}

int
hiccup_start(struct hiccup *hiccup, uint64_t interval_ns)
{
	hiccup->interval_ns = interval_ns;
	hiccup->is_stopping = false;
	hiccup->wakes = hiccup->cpu_ns = 0;
	histogram_create(&hiccup->lateness);
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&hiccup->mutex, NULL);
	pthread_cond_init(&hiccup->woken, &attr);
	pthread_condattr_destroy(&attr);
	sigset_t all, before; /* signals are for the thread that called */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	errno = pthread_create(&hiccup->thread, NULL, hiccup_main, hiccup);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (errno == 0)
		return NB_OK;
	int rc = error_thread("the thread that measures hiccups");
	pthread_cond_destroy(&hiccup->woken);
	pthread_mutex_destroy(&hiccup->mutex);
	return rc;
}

void
hiccup_stop(struct hiccup *hiccup)
{
	pthread_mutex_lock(&hiccup->mutex);
	hiccup->is_stopping = true;
	pthread_cond_signal(&hiccup->woken);
	pthread_mutex_unlock(&hiccup->mutex);
	pthread_join(hiccup->thread, NULL);
	pthread_cond_destroy(&hiccup->woken);
	pthread_mutex_destroy(&hiccup->mutex);
}
