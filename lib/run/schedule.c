/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Due times of operations.
 *
 * The rate is piecewise linear. So the number of operations due by a time is piecewise
 * quadratic, and its inverse has a closed form. Fixed arrivals: operation n of all is due when
 * that number is n. Thread t of T has n = t, T + t, 2T + t, ... So all threads together are
 * even without communication. If not all threads have operations left at the end, the others
 * share the rate. Poisson arrivals: sums of unit exponentials go through the same inverse,
 * which gives a process of that rate (time change: Cinlar, Introduction to Stochastic
 * Processes, 1975, chapter 4). T independent processes with 1/T of the rate are one process
 * with the rate.
 *
 * Due times are computed from the index and never from the previous due time, so errors do not
 * add up. Rejected: adding gaps in ns, which drifts by up to half a ns each time. That is a
 * second per day at 20k/s. Positions are a whole number and a fraction, because a double of
 * 10^10 has no room for the fraction. Within a step, a double is accurate to a fraction of a ns
 * over 30 days.
 *
 * Where the rate is 0, the inverse is a span and not one time. Its end is used, so that nothing
 * is due during a pause. If the end of a step is within SNAP of a whole number of operations,
 * it is that number: 0.1 ops/s in 30 s are 3 and not 3 + 2e-16.
 */
#include "run/schedule.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/rng.h"

/* Above one operation per ns, due times are not distinct. */
static const double rate_max = 1e9;
static const uint64_t time_max = UINT64_MAX / 2; /* ns; sums stay within 64 bits */
static const double snap = 1e-6;                 /* operations */

/** A number of operations; 0 <= fraction < 1. */
struct place {
	uint64_t whole;
	double fraction;
};

/** Times in ns from the start of the schedule, rates in operations per ns. */
struct schedule_step {
	uint64_t begin_ns, end_ns;
	struct place begin, end; /* operations due before its begin and before its end */
	double from, to, slope;
	double gap_ns; /* average */
};

static double
place_difference(struct place a, struct place b)
{
	return (double)(int64_t)(a.whole - b.whole) + (a.fraction - b.fraction);
}

static bool
place_is_before(struct place a, struct place b)
{
	return a.whole < b.whole || (a.whole == b.whole && a.fraction < b.fraction);
}

/* A long double has 64 bits on some platforms, which is enough for the whole part. */
static struct place
place_after(struct place begin, long double operations)
{
	long double sum = begin.fraction + operations;
	long double whole = floorl(sum);
	long double fraction = sum - whole;
	if (fraction < snap)
		fraction = 0;
	if (1 - fraction < snap) {
		whole += 1;
		fraction = 0;
	}
	return (struct place){begin.whole + (uint64_t)whole, (double)fraction};
}

static bool
is_rate(double rate)
{
	return rate >= 0 && rate <= rate_max;
}

static int
check_steps(const struct nb_group *group)
{
	uint64_t total_ns = 0;
	if (group->arrivals != NB_ARRIVAL_FIXED && group->arrivals != NB_ARRIVAL_POISSON)
		return error_set(NB_ERR_USAGE, "group '%s' has no arrivals", group->name);
	if (group->rate_count == 0 || group->rate_count > NB_RATE_STEPS_MAX)
		return error_set(NB_ERR_USAGE, "group '%s' has a rate of %zu steps, not 1..%u",
			group->name, group->rate_count, NB_RATE_STEPS_MAX);
	for (size_t i = 0; i < group->rate_count; i++) {
		const struct nb_rate_step *step = &group->rate[i];
		bool is_last = i + 1 == group->rate_count;
		bool is_endless = step->duration_ns == UINT64_MAX;
		if (!is_rate(step->from_ops_s) || !is_rate(step->to_ops_s))
			return error_set(NB_ERR_USAGE,
				"group '%s': step %zu has a rate outside of 0..1G", group->name,
				i + 1);
		if (is_endless && (!is_last || step->from_ops_s != step->to_ops_s))
			return error_set(NB_ERR_USAGE,
				"group '%s': step %zu is for ever, but %s", group->name, i + 1,
				is_last ? "not of one rate" : "not the last one");
		if (!is_endless && step->duration_ns > time_max - total_ns)
			return error_set(NB_ERR_USAGE,
				"group '%s': the steps take more than 292 years", group->name);
		total_ns += is_endless ? 0 : step->duration_ns;
	}
	return NB_OK;
}

static void
add_step(struct schedule *schedule, uint64_t duration_ns, double from_ops_s, double to_ops_s)
{
	struct schedule_step *step = &schedule->steps[schedule->step_count];
	*step = (struct schedule_step){.from = from_ops_s / 1e9, .to = to_ops_s / 1e9};
	if (schedule->step_count > 0) {
		step->begin_ns = step[-1].end_ns;
		step->begin = step[-1].end;
	}
	if (from_ops_s != to_ops_s)
		step->slope = (step->to - step->from) / (double)duration_ns;
	step->gap_ns = 2e9 / (from_ops_s + to_ops_s);
	step->end_ns = duration_ns == UINT64_MAX ? UINT64_MAX : step->begin_ns + duration_ns;
	if (duration_ns != UINT64_MAX)
		step->end = place_after(step->begin,
			((long double)from_ops_s + to_ops_s) / 2 * duration_ns / 1000000000);
	else
		step->end = from_ops_s > 0 ? (struct place){UINT64_MAX, 0} : step->begin;
	schedule->step_count++;
}

int
schedule_create(struct schedule *schedule, const struct nb_group *group)
{
	int rc = check_steps(group);
	if (rc != NB_OK)
		return rc;
	size_t room = group->rate_count + 1;
	*schedule = (struct schedule){
		.arrivals = group->arrivals, .steps = calloc(room, sizeof(*schedule->steps))};
	if (schedule->steps == NULL)
		return error_set(NB_FAIL, "out of memory for %zu steps of a rate", room);
	for (size_t i = 0; i < group->rate_count; i++) {
		const struct nb_rate_step *step = &group->rate[i];
		if (step->duration_ns > 0)
			add_step(schedule, step->duration_ns, step->from_ops_s, step->to_ops_s);
	}
	const struct nb_rate_step *last = &group->rate[group->rate_count - 1];
	if (last->duration_ns != UINT64_MAX)
		add_step(schedule, UINT64_MAX, last->to_ops_s, last->to_ops_s);
	return NB_OK;
}

void
schedule_destroy(struct schedule *schedule)
{
	free(schedule->steps);
}

/** The step at a time. At the end of a step, the one that begins there. */
static const struct schedule_step *
step_at(const struct schedule *schedule, uint64_t at_ns)
{
	size_t low = 0, high = schedule->step_count - 1; /* the last one never ends */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (at_ns < schedule->steps[middle].end_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return &schedule->steps[low];
}

double
schedule_offered(const struct schedule *schedule, uint64_t at_ns)
{
	const struct schedule_step *step = step_at(schedule, at_ns);
	double at = (double)(at_ns - step->begin_ns);
	double since = at * (step->from + step->slope * at / 2);
	return (double)step->begin.whole + (step->begin.fraction + since);
}

/**
 * The time in which a ramp from rate `from` >= 0, rising by slope > 0, reaches `operations`. It
 * is the root of from * t + slope / 2 * t^2 = operations, in the form without cancellation.
 */
static double
rise_time(double from, double slope, double operations)
{
	if (!(operations > 0))
		return 0;
	return 2 * operations / (from + sqrt(from * from + 2 * slope * operations));
}

/**
 * A falling ramp is a rising one backwards. So nothing cancels out near its end either.
 */
static double
ramp_time(const struct schedule_step *step, struct place place)
{
	if (step->slope > 0)
		return rise_time(step->from, step->slope, place_difference(place, step->begin));
	double left = place_difference(step->end, place);
	return (double)(step->end_ns - step->begin_ns) -
		rise_time(step->to, -step->slope, left);
}

/** The due time of `place`, which is in that step. */
static inline uint64_t
due_in(const struct schedule_step *step, struct place place)
{
	double at = step->slope == 0 ? place_difference(place, step->begin) * step->gap_ns
				     : ramp_time(step, place);
	if (!(at < (double)time_max))
		return UINT64_MAX;
	uint64_t due_ns = step->begin_ns + (uint64_t)(int64_t)(at + 0.5);
	return due_ns < step->end_ns ? due_ns : step->end_ns;
}

/**
 * The due time of a thread's next operation. The search begins at the step of the previous one.
 * Rounding cannot make a due time earlier than the previous one.
 */
static inline uint64_t
due_next(struct arrivals *arrivals, struct place place)
{
	const struct schedule *schedule = arrivals->schedule;
	while (arrivals->step < schedule->step_count &&
		!place_is_before(place, schedule->steps[arrivals->step].end))
		arrivals->step++;
	uint64_t due_ns = arrivals->step < schedule->step_count
		? due_in(&schedule->steps[arrivals->step], place)
		: UINT64_MAX;
	if (due_ns > arrivals->last_ns)
		arrivals->last_ns = due_ns;
	return arrivals->last_ns;
}

void
arrivals_create(struct arrivals *arrivals, const struct schedule *schedule, uint32_t thread,
	uint32_t threads, uint64_t seed)
{
	uint64_t state = seed;
	*arrivals = (struct arrivals){.schedule = schedule,
		.thread = thread,
		.threads = threads,
		/* threads start at unrelated positions of the generator's cycle */
		.random = splitmix64_mix(splitmix64_next(&state) + thread),
		.whole_turns = UINT64_MAX};
}

void
arrivals_take_turns(struct arrivals *arrivals, uint64_t count, uint32_t turn)
{
	uint64_t round = (uint64_t)turn * arrivals->threads;
	arrivals->whole_turns = count / round * turn;
	arrivals->turn_rest = count % round;
	arrivals->turn = turn;
}

/** The number of threads that share the rate at the n-th operation of this one. */
static inline uint64_t
sharers_at(const struct arrivals *arrivals, uint64_t n)
{
	if (__builtin_expect(n < arrivals->whole_turns, 1))
		return arrivals->threads;
	uint64_t whole = arrivals->turn_rest / arrivals->turn;
	bool has_last = n - arrivals->whole_turns < arrivals->turn_rest % arrivals->turn;
	return whole + has_last > 0 ? whole + has_last : 1;
}

/**
 * The position of this thread's n-th operation among all operations, in the order of due times.
 */
static inline uint64_t
place_of_nth(const struct arrivals *arrivals, uint64_t n)
{
	if (__builtin_expect(n < arrivals->whole_turns, 1))
		return n * arrivals->threads + arrivals->thread;
	uint64_t whole = arrivals->turn_rest / arrivals->turn;
	uint64_t last = arrivals->turn_rest % arrivals->turn, k = n - arrivals->whole_turns;
	uint64_t both = k < last ? k : last; /* while the last, shorter turn continues */
	return arrivals->whole_turns * arrivals->threads + both * (whole + 1) +
		(k - both) * whole + arrivals->thread;
}

/** An exponential variate with mean 1, from 0 to 36.8. */
static inline double
draw_exponential(uint64_t *random)
{
	double uniform = (double)(int64_t)((splitmix64_next(random) >> 11) + 1) * 0x1p-53;
	return -log(uniform);
}

static void
next_poisson(struct arrivals *arrivals, uint64_t *due_ns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		arrivals->sum += draw_exponential(&arrivals->random) *
			(double)sharers_at(arrivals, arrivals->next + i);
		int64_t whole = (int64_t)arrivals->sum;
		arrivals->sum -= (double)whole;
		arrivals->whole += (uint64_t)whole;
		struct place place = {arrivals->whole, arrivals->sum};
		due_ns[i] = due_next(arrivals, place);
	}
}

static void
next_fixed(struct arrivals *arrivals, uint64_t *due_ns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct place place = {place_of_nth(arrivals, arrivals->next + i), 0};
		due_ns[i] = due_next(arrivals, place);
	}
}

void
arrivals_next(struct arrivals *arrivals, uint64_t *due_ns, uint32_t count)
{
	struct arrivals own = *arrivals; /* a copy that due_ns cannot alias */
	if (own.schedule->arrivals == NB_ARRIVAL_POISSON)
		next_poisson(&own, due_ns, count);
	else
		next_fixed(&own, due_ns, count);
	own.next += count;
	*arrivals = own;
}
