/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting of a worker's operations: their times go into its histograms and counts, a block at
 * a time. The worker itself does it, or a thread that takes it over; see worker.c for the
 * reasons.
 */
#include <sched.h>

#include "run/worker_taken.h"

/** Add to an answer's count. Atomic, because the sampler reads it meanwhile. */
static inline void
note_answer(struct job_counts *counts, int answer, uint64_t more)
{
	uint64_t *place = &counts->answers[answer];
	__atomic_store_n(
		place, __atomic_load_n(place, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
}

/**
 * Bytes of the values of operations [from, until) of the block. `done` of them were answered
 * NB_OK.
 */
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

/**
 * Count the answers other than NB_OK of the operations in `bits`, which are of one kind.
 * Returns their number.
 */
static uint64_t
note_others(struct job_counts *counts, const struct job_taken *taken, uint64_t bits)
{
	if ((bits & (taken->misses | taken->exist | taken->conflicted)) == 0)
		return 0;
	uint64_t missed = (uint64_t)__builtin_popcountll(bits & taken->misses);
	uint64_t exist = (uint64_t)__builtin_popcountll(bits & taken->exist);
	if (missed > 0)
		note_answer(counts, NB_NOT_FOUND, missed);
	if (exist > 0)
		note_answer(counts, NB_EXISTS, exist);
	for (uint64_t left = bits & taken->conflicted; left != 0; left &= left - 1)
		note_answer(counts, NB_CONFLICT, taken->conflicts[__builtin_ctzll(left)]);
	return missed + exist;
}

/** The bits [from, until). */
static uint64_t
bits_of(uint64_t from, uint64_t until)
{
	uint64_t count = until - from;
	return (count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX) << from;
}

/** count_until() for measured operations of one kind. */
static void
count_uniform(struct job_worker *worker, uint64_t from, uint64_t until)
{
	const struct clock *clock = worker->plan->clock;
	const struct job_taken *taken = worker->taken;
	struct job_counts *counts = &worker->counts[worker->only];
	uint64_t times_ns[OPS_STRATUM], count = until - from, timed = 0;
	uint64_t bits = bits_of(from, until);
	for (; taken->stamped == UINT64_MAX && timed < count; timed++)
		times_ns[timed] = clock_ns(clock, taken->ticks[from + timed]);
	for (uint64_t left = timed == 0 ? taken->stamped & bits : 0; left != 0;
		left &= left - 1)
		times_ns[timed++] = clock_ns(clock, taken->ticks[__builtin_ctzll(left)]);
	histogram_add_block(counts->service, times_ns, timed);
	uint64_t done = count - note_others(counts, taken, bits);
	note_answer(counts, NB_OK, done);
	counts->records += worker->only == NB_OP_DELETE ? 0 : done;
	counts->bytes += sum_bytes(worker, from, until, done);
	if (worker->measured == 0)
		worker->first_ticks = taken->ends[from] - taken->ticks[from];
}

/**
 * Skip the operations of the warm-up, which come first. Returns the first measured one of
 * [from, until).
 */
static uint64_t
skip_warmup(struct job_worker *worker, uint64_t from, uint64_t until)
{
	const struct job_taken *taken = worker->taken;
	for (; from < until; from++) {
		uint64_t bit = UINT64_C(1) << from;
		uint32_t kind = taken->ops[from].kind;
		if (taken->begins[from] >= taken->moments.warm &&
			taken->ops[from].index >= worker->plan->warmup_count)
			return from;
		worker->warm_commits += job_is_commit(kind,
			(taken->misses & bit) != 0          ? NB_NOT_FOUND
				: (taken->exist & bit) != 0 ? NB_EXISTS
							    : NB_OK);
	}
	return from;
}

/** The sums of the operations of one kind in a block. */
struct of_kind {
	struct histogram_sums times;
	uint64_t count, records, bytes;
};

/**
 * Add the operations [from, until) to the sums of their kinds and to the counts of their
 * histograms.
 */
static void
sum_kinds(struct job_worker *worker, struct of_kind *kinds, uint64_t from, uint64_t until)
{
	const struct clock *clock = worker->plan->clock;
	const struct job_taken *taken = worker->taken;
	for (uint64_t j = from; j < until; j++) {
		uint32_t kind = taken->ops[j].kind;
		struct of_kind *its = &kinds[kind];
		struct job_counts *counts = &worker->counts[kind];
		uint64_t ticks = taken->ticks[j];
		if ((taken->stamped >> j & 1) != 0)
			histogram_add_part(
				counts->service, &its->times, clock_ns(clock, ticks));
		if (counts->response != NULL) {
			uint64_t wait = taken->begins[j] - taken->due[j];
			histogram_add(counts->response, clock_ns(clock, wait + ticks));
		}
		its->count++;
		its->records += taken->records[j];
		its->bytes += taken->bytes[j];
	}
}

/**
 * count_until() for measured operations of several kinds. Their sums are on the stack
 * meanwhile. No branch depends on their kinds, because it could not be predicted.
 */
static void
count_mixed(struct job_worker *worker, uint64_t from, uint64_t until)
{
	const struct job_plan *plan = worker->plan;
	const struct job_taken *taken = worker->taken;
	const struct moments *moments = &taken->moments;
	struct of_kind kinds[NB_KINDS_MAX];
	uint64_t others = taken->misses | taken->exist | taken->conflicted;
	for (uint32_t left = plan->kinds; left != 0; left &= left - 1)
		kinds[__builtin_ctz(left)] = (struct of_kind){.times.min = UINT64_MAX};
	sum_kinds(worker, kinds, from, until);
	for (others &= bits_of(from, until); others != 0; others &= others - 1) {
		uint32_t kind = taken->ops[__builtin_ctzll(others)].kind;
		kinds[kind].count -= note_others(
			&worker->counts[kind], taken, others & -others);
	}
	for (uint32_t left = plan->kinds; left != 0; left &= left - 1) {
		struct job_counts *counts = &worker->counts[__builtin_ctz(left)];
		const struct of_kind *its = &kinds[__builtin_ctz(left)];
		histogram_add_sums(counts->service, &its->times);
		note_answer(counts, NB_OK, its->count);
		counts->records += its->records;
		counts->bytes += its->bytes;
	}
	/*
	 * After a warm-up, a due operation may have waited while unmeasured ones were executed.
	 */
	bool is_from_due = plan->schedule != NULL && plan->warmup_count == 0 &&
		moments->warm == moments->begin;
	if (worker->measured == 0)
		worker->first_ticks = is_from_due ? taken->due[from] : taken->begins[from];
}

/** Count the first `done` operations, as far as they are not counted yet. */
static void
count_until(struct job_worker *worker, uint64_t done)
{
	const struct job_taken *taken = worker->taken;
	uint64_t from = worker->counted - taken->first, until = done - taken->first;
	if (worker->counted == done)
		return;
	worker->counted = done;
	bool is_added = pulse_add_block(&worker->pulses, taken->ends[until - 1], until - from);
	for (uint64_t j = from; j < until && !is_added; j++)
		pulse_add(&worker->pulses, taken->ends[j]);
	bool is_mixed = worker->only == NB_OP_KINDS;
	from = is_mixed ? skip_warmup(worker, from, until) : from;
	if (from == until)
		return;
	(is_mixed ? count_mixed : count_uniform)(worker, from, until);
	worker->last_ticks = taken->ends[until - 1];
	__atomic_store_n(&worker->measured, worker->measured + until - from, __ATOMIC_RELAXED);
}

/** count_until() on the worker's own thread, unless another thread has taken it over. */
void
worker_count_block(struct job_worker *worker, uint64_t done)
{
	if (__atomic_exchange_n(&worker->is_counting, 1, __ATOMIC_ACQUIRE) != 0)
		return;
	count_until(worker, done);
	__atomic_store_n(&worker->is_counting, 0, __ATOMIC_RELEASE);
}

/* ---- requests in flight ---- */

void
worker_count_begin(
	struct job_worker *worker, struct reaped *reaped, uint64_t first, uint64_t end)
{
	reaped->first = first;
	reaped->end = end;
	reaped->done = 0;
	reaped->is_ours = __atomic_exchange_n(&worker->is_counting, 1, __ATOMIC_ACQUIRE) == 0;
}

/** Count measured completions. */
static void
count_measured(
	struct job_worker *worker, const struct reaped *reaped, const struct alike *alike)
{
	const struct clock *clock = worker->plan->clock;
	struct job_counts *counts = &worker->counts[alike->kind];
	histogram_add_times(
		counts->service, clock_ns(clock, reaped->end - alike->begin), alike->count);
	for (uint64_t j = 0; j < alike->count && counts->response != NULL; j++)
		histogram_add(counts->response, clock_ns(clock, reaped->end - alike->due[j]));
	note_answer(counts, alike->answer, alike->count);
	if (alike->conflicts > 0)
		note_answer(counts, NB_CONFLICT, alike->conflicts);
	counts->records += alike->records;
	counts->bytes += alike->bytes;
	if (worker->measured == 0)
		worker->first_ticks = reaped->first;
	worker->last_ticks = reaped->end;
	__atomic_store_n(&worker->measured, worker->measured + alike->count, __ATOMIC_RELAXED);
}

void
worker_count_reaped(struct job_worker *worker, struct reaped *reaped, struct alike *alike)
{
	uint64_t count = alike->count;
	if (count == 0)
		return;
	if (reaped->is_ours) {
		if (!pulse_add_block(&worker->pulses, reaped->end, count))
			for (uint64_t j = 0; j < count; j++)
				pulse_add(&worker->pulses, reaped->end);
		if (alike->is_measured)
			count_measured(worker, reaped, alike);
		else if (job_is_commit(alike->kind, alike->answer))
			worker->warm_commits += count;
	}
	reaped->done += count;
	alike->count = alike->records = alike->bytes = alike->conflicts = 0;
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
		sched_yield(); /* the worker counts a block, which takes a microsecond */
	if (__atomic_load_n(&worker->heartbeat.call, __ATOMIC_ACQUIRE) != NULL &&
		worker->taken != NULL)
		count_until(worker, __atomic_load_n(&worker->done, __ATOMIC_ACQUIRE));
}
