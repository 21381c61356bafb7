/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLOCK_H
#define CLOCK_H
#include <stdint.h>
#include <time.h>

/** CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif /* CLOCK_H */
