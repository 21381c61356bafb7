/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a worker's operations took, put into its histograms and counts a block at a time, by the
 * worker itself or by a thread that takes it over; worker.c says why.
 */
#include <sched.h>

#include "run/worker_taken.h"

/** The sampler looks at these meanwhile. */
static inline void
note_answer(struct job_counts *counts, int answer, uint64_t more)
{
	uint64_t *place = &counts->answers[answer];
	__atomic_store_n(
		place, __atomic_load_n(place, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
}

/** Bytes of values of operations [from, until) of the block; `done` of them were answered NB_OK. */
static uint64_t
sum_bytes(const struct job_worker *worker, uint64_t from, uint64_t until, uint64_t done)
{
	const struct job_taken *taken = worker->taken;
	uint64_t sum = 0;
	for (uint64_t j = from; j < until && worker->only == NB_OP_READ; j++)
		sum += taken->bytes[j];
	const struct sizes *sizes = worker->plan->spec->sizes;
	if (worker->only == NB_OP_INSERT && sizes->min == sizes->max)
		return done * sizes->max;
	for (uint64_t j = from; j < until && worker->only == NB_OP_INSERT; j++)
		sum += (taken->misses >> j & 1) == 0 ? taken->ops[j].values[0].size : 0;
	return sum;
}

/** count_until() of these. */
static void
count_uniform(struct job_worker *worker, uint64_t from, uint64_t until)
{
	const struct clock *clock = worker->plan->clock;
	struct job_taken *taken = worker->taken;
	struct job_counts *counts = &worker->counts[worker->only];
	uint64_t times_ns[OPS_STRATUM], count = until - from, timed = 0;
	uint64_t bits = (count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX) << from;
	uint64_t missed = (uint64_t)__builtin_popcountll(taken->misses & bits);
	if (taken->stamped == UINT64_MAX) {
		for (; timed < count; timed++)
			times_ns[timed] = clock_ns(clock, taken->ticks[from + timed]);
	} else {
		for (uint64_t left = taken->stamped & bits; left != 0; left &= left - 1)
			times_ns[timed++] = clock_ns(
				clock, taken->ticks[__builtin_ctzll(left)]);
	}
	histogram_add_block(counts->service, times_ns, timed);
	bool is_added = pulse_add_block(&worker->pulses, taken->ends[until - 1], count);
	for (uint64_t j = from; j < until && !is_added; j++)
		pulse_add(&worker->pulses, taken->ends[j]);
	note_answer(counts, NB_OK, count - missed);
	if (missed > 0)
		note_answer(counts, NB_NOT_FOUND, missed);
	if (taken->conflicts > 0)
		note_answer(counts, NB_CONFLICT, taken->conflicts);
	taken->conflicts = 0;
	counts->records += worker->only == NB_OP_DELETE ? 0 : count - missed;
	counts->bytes += sum_bytes(worker, from, until, count - missed);
	if (worker->measured == 0)
		worker->first_ticks = taken->ends[from] - taken->ticks[from];
	worker->last_ticks = taken->ends[until - 1];
	__atomic_store_n(&worker->measured, worker->measured + count, __ATOMIC_RELAXED);
}

/** What has not been counted yet of the first `done` ones. */
static void
count_until(struct job_worker *worker, uint64_t done)
{
	const struct job_plan *plan = worker->plan;
	const struct job_taken *taken = worker->taken;
	const struct moments *moments = &taken->moments;
	const struct ops_op *ops = taken->ops;
	uint64_t measured = 0;
	if (worker->counted == done)
		return;
	/* Behind a warm-up, what was due and waited did so while others were done. */
	bool is_from_due = plan->schedule != NULL && plan->warmup_count == 0 &&
		moments->warm == moments->begin;
	uint64_t until = done - taken->first;
	if (worker->only < NB_OP_KINDS) {
		count_uniform(worker, worker->counted - taken->first, until);
		worker->counted = done;
		return;
	}
	for (uint64_t j = worker->counted - taken->first; j < until; j++) {
		const struct span *span = &taken->spans[j];
		pulse_add(&worker->pulses, span->end);
		if (span->begin < moments->warm || ops[j].index < plan->warmup_count) {
			worker->warm_commits += job_is_commit(ops[j].kind, taken->answers[j]);
			continue;
		}
		struct job_counts *counts = &worker->counts[ops[j].kind];
		uint64_t ticks = span->end - span->begin - span->paused;
		if ((taken->stamped >> j & 1) != 0)
			histogram_add(counts->service, clock_ns(plan->clock, ticks));
		if (counts->response != NULL) {
			uint64_t wait = span->begin - taken->due[j];
			histogram_add(counts->response, clock_ns(plan->clock, wait + ticks));
		}
		note_answer(counts, taken->answers[j], 1);
		if (__builtin_expect(span->conflicts > 0, 0))
			note_answer(counts, NB_CONFLICT, span->conflicts);
		counts->records += span->records;
		counts->bytes += span->bytes;
		if (worker->measured + measured++ == 0)
			worker->first_ticks = is_from_due ? taken->due[j] : span->begin;
		worker->last_ticks = span->end;
	}
	__atomic_store_n(&worker->measured, worker->measured + measured, __ATOMIC_RELAXED);
	worker->counted = done;
}

/** The same, on the worker's own thread, if nobody has taken it over. */
void
worker_count_block(struct job_worker *worker, uint64_t done)
{
	if (__atomic_exchange_n(&worker->is_counting, 1, __ATOMIC_ACQUIRE) != 0)
		return;
	count_until(worker, done);
	__atomic_store_n(&worker->is_counting, 0, __ATOMIC_RELEASE);
}

/* ---- of requests in flight ---- */

void
worker_count_begin(
	struct job_worker *worker, struct reaped *reaped, uint64_t first, uint64_t end)
{
	reaped->first = first;
	reaped->begin = 0;
	reaped->batch = 0;
	reaped->end = end;
	reaped->count = reaped->records = reaped->bytes = reaped->conflicts = 0;
	reaped->done = 0;
	reaped->is_ours = __atomic_exchange_n(&worker->is_counting, 1, __ATOMIC_ACQUIRE) == 0;
}

/** Those that are measured. */
static void
count_measured(struct job_worker *worker, const struct reaped *reaped)
{
	const struct clock *clock = worker->plan->clock;
	struct job_counts *counts = &worker->counts[reaped->kind];
	histogram_add_times(
		counts->service, clock_ns(clock, reaped->end - reaped->begin), reaped->count);
	for (uint64_t j = 0; j < reaped->count && counts->response != NULL; j++)
		histogram_add(counts->response, clock_ns(clock, reaped->end - reaped->due[j]));
	note_answer(counts, reaped->answer, reaped->count);
	if (reaped->conflicts > 0)
		note_answer(counts, NB_CONFLICT, reaped->conflicts);
	counts->records += reaped->records;
	counts->bytes += reaped->bytes;
	if (worker->measured == 0)
		worker->first_ticks = reaped->first;
	worker->last_ticks = reaped->end;
	__atomic_store_n(&worker->measured, worker->measured + reaped->count, __ATOMIC_RELAXED);
}

void
worker_count_reaped(struct job_worker *worker, struct reaped *reaped)
{
	uint64_t count = reaped->count;
	if (count == 0)
		return;
	if (reaped->is_ours) {
		if (!pulse_add_block(&worker->pulses, reaped->end, count))
			for (uint64_t j = 0; j < count; j++)
				pulse_add(&worker->pulses, reaped->end);
		if (reaped->is_measured)
			count_measured(worker, reaped);
		else if (job_is_commit(reaped->kind, reaped->answer))
			worker->warm_commits += count;
	}
	reaped->done += count;
	reaped->count = reaped->records = reaped->bytes = reaped->conflicts = 0;
}

void
worker_count_end(struct job_worker *worker, struct reaped *reaped)
{
	__atomic_store_n(&worker->done, worker->done + reaped->done, __ATOMIC_RELEASE);
	if (!reaped->is_ours)
		return;
	worker->counted = worker->done;
	__atomic_store_n(&worker->is_counting, 0, __ATOMIC_RELEASE);
}

void
job_worker_take_over(struct job_worker *worker)
{
	while (__atomic_exchange_n(&worker->is_counting, 1, __ATOMIC_ACQUIRE) != 0)
		sched_yield(); /* it counts a block, which takes a microsecond */
	if (__atomic_load_n(&worker->heartbeat.call, __ATOMIC_ACQUIRE) != NULL &&
		worker->taken != NULL)
		count_until(worker, __atomic_load_n(&worker->done, __ATOMIC_ACQUIRE));
}
