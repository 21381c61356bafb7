/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_PACE_H
#define FASTER_PACE_H
/** Pauses of a thread that works beside the sessions, so it takes a part of one CPU only. */
#include <stdint.h>
#include <time.h>

struct pace {
	unsigned times; /* length of a pause: times the processor time of the work before it */
	uint64_t since_ns; /* processor time of the thread at the end of the last pause */
};

static inline uint64_t
pace_processor_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static inline void
pace_begin(struct pace *pace, unsigned times)
{
	*pace = (struct pace){times, pace_processor_ns()};
}

static inline void
pace_pause(struct pace *pace)
{
	uint64_t pause = pace->times * (pace_processor_ns() - pace->since_ns);
	const struct timespec time = {
		.tv_sec = (time_t)(pause / 1000000000), .tv_nsec = (long)(pause % 1000000000)};

	nanosleep(&time, NULL);
	pace_begin(pace, pace->times);
}

#endif /* FASTER_PACE_H */
