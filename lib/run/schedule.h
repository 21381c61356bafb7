/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SCHEDULE_H
#define RUN_SCHEDULE_H
/**
 * The due times of operations: an absolute schedule, made from the total rate of a group. Its
 * threads share it without communication. It does not use a clock.
 */
#include <mininb/job.h>

/** The number of due operations as a function of time. Immutable after its creation. */
struct schedule {
	uint32_t arrivals; /* NB_ARRIVAL_FIXED or _POISSON */
	uint32_t step_count;
	struct schedule_step *steps; /* owned */
};

NB_MUST_CHECK int
schedule_create(struct schedule *schedule, const struct nb_group *group);

void
schedule_destroy(struct schedule *schedule);

/** The average number of operations that are due within the first at_ns. */
double
schedule_offered(const struct schedule *schedule, uint64_t at_ns);

/** The progress of one thread along the schedule. Used by that thread alone; plain data. */
struct arrivals {
	const struct schedule *schedule;
	uint32_t thread, threads;
	uint32_t step;
	uint32_t spare_u32;
	uint64_t next;  /* number of due times returned so far */
	double sum;     /* sum of Poisson's unit intervals: the fraction */
	uint64_t whole; /* and the whole part */
	uint64_t random;
	uint64_t last_ns; /* last due time */
	/* if threads take turns until all is done: see arrivals_take_turns() */
	uint64_t whole_turns; /* operations of this thread while all threads have turns */
	uint64_t turn_rest;   /* remaining operations of all threads after that */
	uint64_t turn;
};

/** For thread 0..threads-1. The same seed gives the same due times. */
void
arrivals_create(struct arrivals *arrivals, const struct schedule *schedule, uint32_t thread,
	uint32_t threads, uint64_t seed);

/**
 * There are `count` operations. Threads take `turn` of them at a time, in turn. In the last
 * round some threads have no turn. Then the others share the whole rate, so that the rate stays
 * as requested. Call this before the first arrivals_next().
 */
void
arrivals_take_turns(struct arrivals *arrivals, uint64_t count, uint32_t turn);

/**
 * Due times of this thread's next `count` operations, in ns from the start of the schedule.
 * They never decrease. UINT64_MAX: never, because the rate has become 0.
 */
void
arrivals_next(struct arrivals *arrivals, uint64_t *due_ns, uint32_t count);

#endif /* RUN_SCHEDULE_H */
