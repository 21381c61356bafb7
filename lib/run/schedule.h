/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SCHEDULE_H
#define RUN_SCHEDULE_H
/**
 * When operations are due: an absolute schedule, made from the rate that a group is
 * to have in all, shared by its threads without a word between them. It knows no clock.
 */
#include <mininb/job.h>

/** The number of operations that are due as a function of time. Made once, then only read. */
struct schedule {
	uint32_t arrivals; /* NB_ARRIVAL_FIXED or _POISSON */
	uint32_t step_count;
	struct schedule_step *steps; /* owned */
};

NB_MUST_CHECK int
schedule_create(struct schedule *schedule, const struct nb_group *group);

void
schedule_destroy(struct schedule *schedule);

/** How many operations are due, on the average, within the first at_ns. */
double
schedule_offered(const struct schedule *schedule, uint64_t at_ns);

/** One thread's way along the schedule. Its own; plain data. */
struct arrivals {
	const struct schedule *schedule;
	uint32_t thread, threads;
	uint32_t step;
	uint32_t spare_u32;
	uint64_t next;  /* how many were given out */
	double sum;     /* of Poisson's unit intervals: its fraction */
	uint64_t whole; /* and the rest of it */
	uint64_t random;
	uint64_t last_ns; /* the last due time */
	/* where threads take turns until all is done: see arrivals_take_turns() */
	uint64_t whole_turns; /* operations of this thread while all have turns */
	uint64_t turn_rest;   /* and of all threads behind that */
	uint64_t turn;
};

/** Of thread 0..threads-1. The same seed gives the same moments. */
void
arrivals_create(struct arrivals *arrivals, const struct schedule *schedule, uint32_t thread,
	uint32_t threads, uint64_t seed);

/**
 * There are `count` operations, which threads take `turn` at a time, one after the other.
 * So in the last round some have no turn: the others share the whole rate then, or the
 * rate would not be what was asked for. To be called before the first arrivals_next().
 */
void
arrivals_take_turns(struct arrivals *arrivals, uint64_t count, uint32_t turn);

/**
 * Due times of this thread's next `count` operations, in ns from the start of the
 * schedule; they never decrease. UINT64_MAX: never, since the rate has come to 0.
 */
void
arrivals_next(struct arrivals *arrivals, uint64_t *due_ns, uint32_t count);

#endif /* RUN_SCHEDULE_H */
