/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
/**
 * Timestamps. A timestamp (stamp) is a number of ticks of its clock. Only differences of stamps
 * are meaningful; clock_ns() converts them to nanoseconds.
 *
 * In a hot loop `kind` is a constant, so clock_stamp() compiles to one instruction sequence
 * without a branch.
 */
#include <stdint.h>
#include <time.h>

#include <mininb/mininb.h>

#include "base/uint128.h"

/** Set once by clock_create(), then read-only. */
struct clock {
	uint32_t kind;            /* NB_CLOCK_TSC or NB_CLOCK_MONOTONIC */
	uint64_t ns_per_tick_q32; /* 32.32 fixed point */
	double tick_hz;
	double read_ns; /* measured cost of one stamp */
	double step_ns; /* measured greatest common divisor of stamp differences */
};

/**
 * Choose and calibrate a clock, which takes about 5 ms for the TSC. `kind` is NB_CLOCK_*.
 * NB_UNSUPPORTED: the TSC was requested and cannot be trusted on this machine.
 */
NB_MUST_CHECK int
clock_create(struct clock *clock, uint32_t kind);

/** Both clocks at one moment, and the total time the machine has been suspended. */
struct clock_pair {
	uint64_t ticks; /* of the TSC; 0: another clock is used */
	uint64_t ns;    /* of CLOCK_MONOTONIC */
	uint64_t slept_ns;
};

/** Takes about 10 us. */
struct clock_pair
clock_pair(const struct clock *clock);

/**
 * Relative error of the TSC against CLOCK_MONOTONIC between two moments: above 0 it ran fast,
 * below 0 slow. 0.001 is one millisecond per second. 0 without a TSC, and for a time below
 * CLOCK_DRIFT_LEAST_NS, for which the pairs are not exact enough.
 */
double
clock_drift(const struct clock *clock, const struct clock_pair *from,
	const struct clock_pair *until);

#define CLOCK_DRIFT_LEAST_NS UINT64_C(10000000)

/** "tsc" or "monotonic". */
const char *
clock_name(const struct clock *clock);

/** CLOCK_MONOTONIC in ns, for code outside the hot loop. */
static inline uint64_t
clock_monotonic(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/** Wait for all earlier instructions: all earlier loads have their values. */
static inline void
clock_wait(uint32_t kind)
{
#if defined(__x86_64__)
	if (kind == NB_CLOCK_TSC)
		__asm__ volatile("lfence" : : : "memory");
#endif
	(void)kind;
}

/**
 * A stamp that does not wait, for the begin of an operation: little may have been done since the
 * last clock_stamp() or clock_wait().
 */
static inline uint64_t
clock_stamp_begin(uint32_t kind)
{
#if defined(__x86_64__)
	if (kind == NB_CLOCK_TSC) {
		uint32_t low, high;
		__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
		return (uint64_t)high << 32 | low;
	}
#endif
	(void)kind;
	return clock_monotonic();
}

/**
 * A stamp that waits like clock_wait(). Later instructions may begin before it, but the next
 * stamp of this kind waits for them.
 */
static inline uint64_t
clock_stamp(uint32_t kind)
{
	clock_wait(kind);
	return clock_stamp_begin(kind);
}

/** Convert ticks to ns, rounded down. */
static inline uint64_t
clock_ns(const struct clock *clock, uint64_t ticks)
{
	return (uint64_t)(((uint128)ticks * clock->ns_per_tick_q32) >> 32);
}

/** CPU time of the calling thread, in ns. */
static inline uint64_t
clock_thread_cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/** CLOCK_REALTIME: ns since the epoch, if the machine's clock is right. */
static inline uint64_t
clock_real_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/**
 * Convert ns to ticks, rounded up: the smallest number of ticks for which clock_ns() is at
 * least `ns`. UINT64_MAX on overflow. A 128-bit division: about 5 ns.
 */
static inline uint64_t
clock_ticks(const struct clock *clock, uint64_t ns)
{
	uint64_t tick = clock->ns_per_tick_q32;
	uint128 ticks = (((uint128)ns << 32) + (tick - 1)) / tick;
	return ticks < UINT64_MAX ? (uint64_t)ticks : UINT64_MAX;
}

/** The stamp `ns` after `begin`. UINT64_MAX, which is never reached, on overflow. */
static inline uint64_t
clock_after(const struct clock *clock, uint64_t begin, uint64_t ns)
{
	uint64_t ticks = clock_ticks(clock, ns);
	return ticks < UINT64_MAX - begin ? begin + ticks : UINT64_MAX;
}

#endif /* BASE_CLOCK_H */
