/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H
/**
 * Time stamps. A stamp is in ticks of the clock's own kind; only differences
 * mean anything, and clock_ns() turns them into nanoseconds.
 *
 * In a hot loop the kind is a constant, so that clock_stamp() is the one or the
 * other instruction sequence and no branch.
 */
#include <stdint.h>
#include <time.h>

#include <mininb/mininb.h>

#include "base/uint128.h"

/** Made once by clock_create(), then only read. */
struct clock {
	uint32_t kind;            /* NB_CLOCK_TSC or NB_CLOCK_MONOTONIC */
	uint64_t ns_per_tick_q32; /* 32.32 fixed point */
	double tick_hz;
	double read_ns; /* what one stamp costs, measured */
	double step_ns; /* what all differences of stamps were multiples of, measured */
};

/**
 * Choose and calibrate: takes some 5 ms for the TSC. `kind` is NB_CLOCK_*.
 * NB_UNSUPPORTED: the TSC was asked for and cannot be trusted here.
 */
NB_MUST_CHECK int
clock_create(struct clock *clock, uint32_t kind);

/** Both clocks, and the time that the machine has slept, at one moment. */
struct clock_pair {
	uint64_t ticks; /* of the TSC; 0: the clock is another */
	uint64_t ns;    /* of CLOCK_MONOTONIC */
	uint64_t slept_ns;
};

/** Some 10 us. */
struct clock_pair
clock_pair(const struct clock *clock);

/**
 * By which share the TSC has run fast (above 0) or slow between two moments, against
 * CLOCK_MONOTONIC: 0.001 is a millisecond in a second. 0 also where there is nothing to compare,
 * or too little: below CLOCK_DRIFT_LEAST_NS, in which the pairs are not that exact.
 */
double
clock_drift(const struct clock *clock, const struct clock_pair *from,
	const struct clock_pair *until);

#define CLOCK_DRIFT_LEAST_NS UINT64_C(10000000)

/** "tsc" or "monotonic". */
const char *
clock_name(const struct clock *clock);

/** CLOCK_MONOTONIC in ns, for all that is not in a hot loop. */
static inline uint64_t
clock_monotonic(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/**
 * A stamp that no instruction before it can overtake: all earlier loads have
 * their values, all earlier work is done. What comes after may begin early,
 * but the next stamp waits for it in turn.
 */
static inline uint64_t
clock_stamp(uint32_t kind)
{
#if defined(__x86_64__)
	if (kind == NB_CLOCK_TSC) {
		uint32_t low, high;
		__asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
		return (uint64_t)high << 32 | low;
	}
#endif
	(void)kind;
	return clock_monotonic();
}

/** Ticks into ns, rounded down. */
static inline uint64_t
clock_ns(const struct clock *clock, uint64_t ticks)
{
	return (uint64_t)(((uint128)ticks * clock->ns_per_tick_q32) >> 32);
}

/** CLOCK_REALTIME: since the epoch, as far as the machine's clock is right. */
static inline uint64_t
clock_real_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/**
 * Ns into ticks, rounded up: clock_ns() of them is never less than `ns`, and of one less
 * it is. UINT64_MAX if there are more than that. A division of 128 bits: some 5 ns.
 */
static inline uint64_t
clock_ticks(const struct clock *clock, uint64_t ns)
{
	uint64_t tick = clock->ns_per_tick_q32;
	uint128 ticks = (((uint128)ns << 32) + (tick - 1)) / tick;
	return ticks < UINT64_MAX ? (uint64_t)ticks : UINT64_MAX;
}

/** The stamp `ns` after `begin`; UINT64_MAX, which never comes, if there is none. */
static inline uint64_t
clock_after(const struct clock *clock, uint64_t begin, uint64_t ns)
{
	uint64_t ticks = clock_ticks(clock, ns);
	return ticks < UINT64_MAX - begin ? begin + ticks : UINT64_MAX;
}

#endif /* BASE_CLOCK_H */
