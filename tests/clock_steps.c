/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library for LD_PRELOAD: clocks that misbehave. The environment variable CLOCK_STEPS selects
 * how:
 *
 *     realtime    every second read of the time of day returns an hour less
 *     monotonic   after the first read of the time of day, CLOCK_MONOTONIC runs 1 % fast, so
 *                 a counter calibrated before is slow
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { STEP_S = 3600, FAST = 100 };

static uint64_t looks;      /* reads of the time of day; atomic */
static uint64_t fast_since; /* ns; 0: not yet read; atomic */

static uint64_t
ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

static bool
is_asked(const char *what)
{
	const char *steps = getenv("CLOCK_STEPS");
	return steps != NULL && strcmp(steps, what) == 0;
}

static void
look(struct timespec *now)
{
	struct timespec monotonic;
	uint64_t nth = __atomic_fetch_add(&looks, 1, __ATOMIC_RELAXED);
	syscall(SYS_clock_gettime, CLOCK_REALTIME, now);
	if (is_asked("realtime") && nth % 2 != 0)
		now->tv_sec -= STEP_S;
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &monotonic);
	if (is_asked("monotonic") && __atomic_load_n(&fast_since, __ATOMIC_RELAXED) == 0)
		__atomic_store_n(&fast_since, ns_of(&monotonic), __ATOMIC_RELAXED);
}

int
clock_gettime(clockid_t id, struct timespec *now)
{
	if (id == CLOCK_REALTIME) {
		look(now);
		return 0;
	}
	int rc = (int)syscall(SYS_clock_gettime, id, now);
	uint64_t since = __atomic_load_n(&fast_since, __ATOMIC_RELAXED);
	if (rc == 0 && id == CLOCK_MONOTONIC && since != 0) {
		uint64_t ns = ns_of(now);
		ns += ns > since ? (ns - since) / FAST : 0;
		*now = (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
			.tv_nsec = (long)(ns % 1000000000u)};
	}
	return rc;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec at;
	(void)zone;
	look(&at);
	*now = (struct timeval){.tv_sec = at.tv_sec, .tv_usec = at.tv_nsec / 1000};
	return 0;
}

time_t
time(time_t *out)
{
	struct timespec at;
	look(&at);
	if (out != NULL)
		*out = at.tv_sec;
	return at.tv_sec;
}
