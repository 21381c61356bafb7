/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The timed loop of a worker.
 *
 * The clock brackets the engine's call, the reading of the returned data and its release, and
 * nothing else. Keys and values are made before the first stamp, a block at a time (ops.c).
 * Times go into histograms a block at a time. Between two fences, each step of that would delay
 * the next operation. The branch on the kind of operation precedes the first stamp. So its
 * misprediction is not charged to the engine. If all operations are of one kind, a loop without
 * that branch is used.
 *
 * The second stamp is fenced (clock.h): it waits for the loads of the engine that miss the
 * cache. This fence also separates operations, so that the first stamp of the next one needs
 * none: between them is only this loop, a few instructions. A second fence would take 9 ns of
 * an operation and leave its latency as it is. But mininb's other work must not run inside the
 * timed span: after such work, and at the begin of a block, the worker waits (clock_wait()).
 * One stamp as the end of an operation and the start of the next would charge the engine for
 * mininb's work. Each run measures and prints the cost of all this with the null engine.
 *
 * The fences also keep cache misses of neighbouring operations from overlapping. Engines that
 * take less than a microsecond can therefore be measured with few stamped operations: see
 * sparse.h.
 *
 * A value that is verified stays on loan meanwhile, so the clock is stopped. An operation that
 * is answered NB_CONFLICT has done nothing and is repeated after a pause (backoff.h). Its time
 * includes all attempts and pauses, as a caller would experience it.
 *
 * Service time is from the first stamp to the last. Response time starts when the operation was
 * due. The schedule of due times is fixed before the run and waits for nobody. Without a rate
 * there are no due times, and no response time is reported.
 *
 * Threads take strata of operations in turn: thread t of T takes each stratum s with s mod T =
 * t. If each record has one operation, each thread has a share of consecutive operations
 * instead. A thread only needs to know how many strata the others have done, and only before a
 * stratum that may use new records. It looks again only if its last look does not suffice.
 *
 * An operation is measured if it began after the warm-up. To decide that by its end would make
 * the numbers wrong: the longest of the operations that began before would be included.
 *
 * An operation may never return. Then another thread counts the operations done before it. So
 * the times of a block are not on the worker's own stack. They are written before `done`
 * (release) and read after it (acquire) by the thread that holds `is_counting`. A thread that
 * takes over acquires it and never releases it, so two threads never write to one histogram.
 * The begin of the block is written before the heartbeat reports that the worker is inside the
 * engine (release). While it is outside, the begin is not needed, because all finished
 * operations are counted.
 *
 * Each stop of the clock leaves the cost of one stamp in the time, some 10 to 15 ns: once for a
 * verified read, and once per record for a verified scan.
 */
#include "run/worker.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "run/flight.h"
#include "run/operate.h"

enum { SPINS = 200 /* looks at a thread that is behind, before the worker yields the CPU */ };

/**
 * The NB_OP_* of all operations, if they are of one kind that has a loop of its own. Each of
 * them accesses one record, is measured from the start on, and need not be remembered. Else
 * NB_OP_KINDS.
 */
static uint32_t
only_kind_of(const struct job_plan *plan)
{
	uint32_t only = plan->spec->one_kind;
	bool has_loop = only == NB_OP_READ || only == NB_OP_INSERT || only == NB_OP_DELETE;
	bool is_uniform = plan->feed == NULL && !plan->is_paced && plan->depth == 1 &&
		plan->warmup_count == 0 && plan->warm_ticks == 0;
	bool is_known = only == NB_OP_READ || job_is_listed(plan);
	has_loop &= !plan->is_native_insert; /* it may find the key present */
	return has_loop && is_uniform && is_known ? only : NB_OP_KINDS;
}

/**
 * Wait outside the engine for the heartbeat, so that the worker is not taken for a hanging one.
 */
static ALWAYS_INLINE void
wait_until_due(struct job_worker *worker, uint64_t due, uint32_t clock_kind)
{
	uint64_t now = clock_stamp(clock_kind);
	if (now >= due)
		return;
	heartbeat_leave(&worker->heartbeat);
	pacer_wait_until(&worker->pacer, due, now, worker->plan->halt);
	heartbeat_enter(&worker->heartbeat, "operation");
}

/**
 * The data of a block that run_one() needs. After each stamp the compiler reloads memory, but
 * not locals.
 */
struct block {
	const struct nb_engine *engine;
	const int *halt;
	const struct ops_op *ops;
	/*
	 * With one kind and one record each, the operations are consecutive, as are their keys
	 * and values.
	 */
	const struct nb_slice *keys, *values;
	store_fn *insert;
	uint64_t index, threshold, done;
	bool remembers, is_of_trace;
};

static ALWAYS_INLINE struct block
begin_block(
	struct job_worker *worker, const struct ops_op *ops, uint32_t only, uint64_t stamped)
{
	const struct job_plan *plan = worker->plan;
	struct job_taken *taken = worker->taken;
	struct block block = {.engine = plan->engine,
		.halt = plan->halt,
		.ops = ops,
		.keys = ops[0].keys,
		.values = ops[0].values,
		.insert = inserting(plan),
		.index = ops[0].index,
		.threshold = plan->verify_threshold,
		.done = worker->done,
		.remembers = only == NB_OP_KINDS && !job_is_listed(plan),
		.is_of_trace = worker->own_key != NULL};
	taken->ops = ops;
	taken->first = block.done;
	taken->misses = taken->exist = taken->conflicted = 0;
	taken->stamped = stamped;
	heartbeat_enter(&worker->heartbeat, "operation");
	return block;
}

/** Count the finished operations. The last one ended at `last`. */
static ALWAYS_INLINE void
tell_block(struct job_worker *worker, uint64_t done, uint64_t last)
{
	worker_count_block(worker, done);
	worker->told_ticks = last;
}

/**
 * The earliest end of an operation after which the loop must do more than to continue: count the
 * finished ones, or stop at `end`. One comparison, because the next stamp waits for its result.
 */
static ALWAYS_INLINE uint64_t
look_again_at(const struct job_worker *worker, uint64_t end)
{
	uint64_t tell = worker->told_ticks + worker->plan->tell_ticks + 1;
	return tell < end ? tell : end;
}

/** job_remember() of an operation that is not of a trace, on one record. */
static ALWAYS_INLINE void
remember_one(struct job_worker *worker, const struct ops_op *op)
{
	uint64_t number = op->numbers[0];
	*job_own_of(worker, number) = (struct job_own){number + 1, op->index << 8 | op->kind};
}

/* Not inline: otherwise the loop keeps its variables in memory. */
void
job_remember(struct job_worker *worker, const struct ops_op *op)
{
	for (uint32_t k = 0; k < op->items; k++) {
		struct job_own *own = job_own_of(worker, op->numbers[k]);
		*own = (struct job_own){op->numbers[k] + 1, op->index << 8 | op->kind};
		if (__builtin_expect(worker->own_key == NULL, 1))
			continue;
		struct job_own_key *key = &worker->own_key[own - worker->own];
		key->size = op->keys[k].size <= JOB_OWN_KEY ? (uint8_t)op->keys[k].size : 0;
		memcpy(key->bytes, op->keys[k].data, key->size);
	}
}

/**
 * Whether an operation without effect is counted by its answer. Else it is the worker's
 * failure.
 */
static __attribute__((noinline, cold)) bool
is_told(struct job_worker *worker, const struct ops_op *op, uint32_t kind, int rc)
{
	if (rc == NB_EXISTS && kind == NB_OP_INSERT)
		job_verify_exists(worker, op);
	if (rc == NB_EXISTS && (kind == NB_OP_INSERT || kind >= OPS_STEPS))
		return true;
	if (rc != NB_CONFLICT || !is_halted(worker)) /* else it was stopped meanwhile */
		worker_fail(worker, op, rc);
	return false;
}

/**
 * Execute operation j of the block. False: it was not done, and the worker must stop. `only` is
 * as in run_block(). `alike` is the kind of the operation if that is a constant, else
 * NB_OP_KINDS.
 */
static ALWAYS_INLINE bool
run_one(struct job_worker *worker, const struct block *block, uint32_t j, uint32_t clock_kind,
	uint32_t only, uint32_t alike, bool is_stamped, struct span *span)
{
	struct job_taken *taken = worker->taken;
	const struct ops_op *op = &block->ops[j];
	bool is_mixed = only == NB_OP_KINDS;
	uint32_t kind = alike != NB_OP_KINDS ? alike : ops_exec(op->kind);
	uint64_t i = is_mixed ? op->index : block->index + j;
	int rc = operate(worker, block->engine, op, kind, is_mixed ? op->keys : block->keys + j,
		is_mixed ? op->values : block->values + j, block->insert,
		is_sampled(i, block->threshold), clock_kind, is_stamped, span);
	bool is_done = rc == NB_OK || rc == NB_NOT_FOUND;
	if (__builtin_expect(!is_done, 0) && !is_told(worker, op, kind, rc))
		return false;
	if (block->remembers && (ops_is_write(kind) || kind == NB_OP_DELETE) && is_done) {
		if (alike == NB_OP_UPDATE && !block->is_of_trace)
			remember_one(worker, op);
		else
			job_remember(worker, op);
	}
	if (is_mixed)
		taken->records[j] = span->records;
	if (is_mixed || only == NB_OP_READ)
		taken->bytes[j] = span->bytes;
	if (__builtin_expect(rc != NB_OK, 0))
		*(rc == NB_NOT_FOUND ? &taken->misses : &taken->exist) |= UINT64_C(1) << j;
	if (__builtin_expect(span->conflicts > 0, 0)) {
		taken->conflicted |= UINT64_C(1) << j;
		taken->conflicts[j] = span->conflicts;
	}
	return true;
}

/**
 * Execute operations of the block from `*at` on: the consecutive ones of kind `alike`. If that
 * is NB_OP_KINDS, execute one of any kind. False if the worker must stop. Sets `*last` to the
 * end of the last.
 */
static ALWAYS_INLINE bool
run_alike(struct job_worker *worker, const struct block *block, uint32_t *at, uint32_t count,
	uint32_t clock_kind, bool is_paced, uint32_t only, uint32_t alike, uint64_t *last)
{
	struct job_taken *taken = worker->taken;
	uint64_t end = taken->moments.end, look_at = look_again_at(worker, end);
	bool is_over = false;
	uint32_t j = *at;
	do {
		struct span span;
		if (is_paced) {
			if (taken->due[j] >= end)
				return false;
			wait_until_due(worker, taken->due[j], clock_kind);
			if (is_halted(worker) || worker->rc != NB_OK)
				return false;
		}
		if (!run_one(worker, block, j, clock_kind, only, alike, true, &span))
			return false;
		if (is_paced)
			note_lag(worker, taken->due[j], span.begin);
		if (only == NB_OP_KINDS)
			taken->begins[j] = span.begin;
		taken->ticks[j] = span.end - span.begin - span.paused;
		taken->ends[j] = span.end;
		*at = ++j;
		/* At once: a block can last for seconds, at a low rate or with fsync(). */
		__atomic_store_n(&worker->done, block->done + j, __ATOMIC_RELEASE);
		is_over = __atomic_load_n(block->halt, __ATOMIC_RELAXED) != 0;
		/*
		 * count slow operations one by one; otherwise a watcher sees none and then a
		 * block
		 */
		if (__builtin_expect(span.end >= look_at, 0)) {
			is_over |= span.end >= end;
			if (span.end - worker->told_ticks > worker->plan->tell_ticks)
				tell_block(worker, block->done + j, span.end);
			look_at = look_again_at(worker, end);
		}
		*last = span.end;
	} while (j < count && !is_over && alike != NB_OP_KINDS &&
		(only < NB_OP_KINDS || block->ops[j].kind == alike));
	return !is_over;
}

/**
 * Execute `count` prepared operations. False if the worker must stop. `clock_kind`, `is_paced`
 * and `only` are constants in each call. `only` is the kind of all operations, or NB_OP_KINDS.
 * With several kinds, the most frequent ones have a loop of their own for consecutive
 * operations.
 */
static ALWAYS_INLINE bool
run_block(struct job_worker *worker, const struct ops_op *ops, uint32_t count,
	uint32_t clock_kind, bool is_paced, uint32_t only)
{
	bool is_on = !stop_requested(); /* also if the keys just read were lost */
	uint64_t last = worker->told_ticks;
	struct block block = begin_block(worker, ops, only, UINT64_MAX);
	uint32_t j = 0;
	clock_wait(clock_kind);
#define RUN(alike) \
	run_alike(worker, &block, &j, count, clock_kind, is_paced, only, alike, &last)
	while (j < count && is_on) {
		if (only < NB_OP_KINDS)
			is_on = RUN(only);
		else if (ops[j].kind == NB_OP_READ)
			is_on = RUN(NB_OP_READ);
		else if (ops[j].kind == NB_OP_UPDATE)
			is_on = RUN(NB_OP_UPDATE);
		else if (ops[j].kind == OPS_ADD)
			is_on = RUN(OPS_ADD);
		else
			is_on = RUN(NB_OP_KINDS);
	}
#undef RUN
	tell_block(worker, block.done + j, last);
	heartbeat_leave(&worker->heartbeat);
	return is_on;
}

#include "run/async.h"
#include "run/sparse.h"

/** Which operations have stamps: each one; few (sparse.h); each submission (async.h). */
enum { EACH, SPARSE, ASYNC };

/** Like run_block(), with the loop `how`, which is a constant as well. */
static ALWAYS_INLINE bool
run_made(struct job_worker *worker, const struct ops_op *ops, uint32_t count,
	uint32_t clock_kind, bool is_paced, uint32_t how, uint32_t only)
{
	if (how == ASYNC)
		return run_async_block(worker, ops, count, clock_kind, is_paced);
	return how == SPARSE ? run_sparse_block(worker, ops, count, clock_kind, only)
			     : run_block(worker, ops, count, clock_kind, is_paced, only);
}

static void
idle(void *worker)
{
	job_worker_tick(worker);
}

/** Wait until all workers have done the strata below `needed`. Once true, it stays true. */
static __attribute__((noinline)) bool
wait_for_peers(struct job_worker *worker, uint64_t needed)
{
	const struct job_plan *plan = worker->plan;
	uint64_t begin = clock_stamp(plan->clock->kind);
	uint64_t since = begin;
	uint32_t spins = 0;
	for (uint32_t t = 0; t < plan->threads;) {
		/*
		 * Load this first: if the worker has ended, its last strata_done is then
		 * visible.
		 */
		bool is_over = __atomic_load_n(&plan->workers[t]->is_over, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&plan->workers[t]->strata_done, __ATOMIC_ACQUIRE) >=
			needed) {
			t++;
			continue;
		}
		/* A worker that ended too early will never do them, so this one ends, too. */
		if (is_halted(worker) || is_over || worker->rc != NB_OK)
			return false;
		if (worker->async != NULL)
			go_on_in_wait(worker, t == worker->thread);
		if (++spins % SPINS == 0) {
			worker_tick_in_wait(worker, &since);
			sched_yield();
		}
	}
	worker->peers_done = needed;
	worker->waited_ns += clock_ns(plan->clock, clock_stamp(plan->clock->kind) - begin);
	return true;
}

static ALWAYS_INLINE void
run_strata(struct job_worker *worker, uint32_t clock_kind, bool is_paced, uint32_t how,
	uint32_t only)
{
	const struct job_plan *plan = worker->plan;
	struct ops_maker *maker = &worker->maker;
	struct job_taken *taken = worker->taken;
	struct arrivals arrivals;
	if (is_paced)
		arrivals_create(&arrivals, plan->schedule, job_nth(worker), plan->of_all,
			plan->spec->seed);
	if (is_paced && plan->count != UINT64_MAX)
		arrivals_take_turns(&arrivals, plan->count, OPS_STRATUM);
	for (uint64_t s = job_nth(worker); s * OPS_STRATUM < plan->count; s += plan->of_all) {
		uint64_t needed = ops_needs(plan->spec, s);
		if (needed > worker->peers_done && !wait_for_peers(worker, needed))
			return;
		ops_begin(maker, s);
		uint32_t made;
		while ((made = ops_make(maker)) > 0) {
			if (is_paced)
				set_due(worker, &arrivals, taken->due, made,
					taken->moments.begin);
			if (!run_made(
				    worker, maker->ops, made, clock_kind, is_paced, how, only))
				return;
		}
		if (how == ASYNC)
			end_async_stratum(worker, s + plan->of_all);
		else
			__atomic_store_n(
				&worker->strata_done, s + plan->of_all, __ATOMIC_RELEASE);
	}
}

/** Execute the share of this worker: consecutive operations. */
static ALWAYS_INLINE void
run_share(struct job_worker *worker, uint32_t clock_kind, uint32_t how, uint32_t only)
{
	struct ops_maker *maker = &worker->maker;
	uint64_t until, end = job_share_begin(worker->plan, job_nth(worker) + 1);
	for (uint64_t i = job_share_begin(worker->plan, job_nth(worker)); i < end; i = until) {
		uint32_t made;
		until = end - i < OPS_STRATUM ? end : i + OPS_STRATUM;
		ops_begin_at(maker, i, until);
		while ((made = ops_make(maker)) > 0) {
			if (!run_made(worker, maker->ops, made, clock_kind, false, how, only))
				return;
		}
	}
}

/** The deletes of a trace are not known in advance. From now on, a record may be missing. */
static void
tell_deletes(struct job_gate *gate, const struct ops_op *ops, uint32_t count)
{
	for (uint32_t j = 0; j < count; j++) {
		if (ops[j].kind == NB_OP_DELETE &&
			__atomic_load_n(&gate->has_deletes, __ATOMIC_RELAXED) == 0)
			__atomic_store_n(&gate->has_deletes, 1, __ATOMIC_RELAXED);
	}
}

/** Execute the operations of a trace, which another thread reads. */
static __attribute__((noinline)) void
run_feed(struct job_worker *worker, uint32_t clock_kind, bool is_paced)
{
	const struct job_plan *plan = worker->plan;
	struct job_taken *taken = worker->taken;
	struct feed_taken *from = &taken->fed;
	int made;
	from->idle = idle;
	from->idle_arg = worker;
	while ((made = feed_take(plan->feed, worker->thread, from, plan->halt)) > 0) {
		tell_deletes(plan->gate, from->ops, (uint32_t)made);
		for (int j = 0; j < made && is_paced; j++)
			taken->due[j] = clock_after(
				plan->clock, taken->moments.begin, from->due_ns[j]);
		if (!run_made(worker, from->ops, (uint32_t)made, clock_kind, is_paced,
			    plan->is_sparse ? SPARSE : EACH, NB_OP_KINDS))
			break;
	}
	if (made < 0) {
		worker->rc = made;
		snprintf(worker->text, sizeof(worker->text), "%s", nb_error_text());
	}
	feed_taken_destroy(from);
}

#define LOOP(name, clock_kind, is_paced, how, only) \
	static __attribute__((noinline)) void name(struct job_worker *worker) \
	{ \
		if (how == ASYNC) \
			begin_async(worker); \
		if (!is_paced && job_has_shares(worker->plan)) \
			run_share(worker, clock_kind, how, only); \
		else \
			run_strata(worker, clock_kind, is_paced, how, only); \
		if (how == ASYNC) \
			drain(worker, clock_kind, is_paced); \
	}

/* For both clocks. */
#define LOOP_PAIR(name, is_paced, how, only) \
	LOOP(name##_tsc, NB_CLOCK_TSC, is_paced, how, only) \
	LOOP(name##_monotonic, NB_CLOCK_MONOTONIC, is_paced, how, only)

/* Without a rate: with stamps for each operation, or sparse ones. */
#define LOOPS(name, only) \
	LOOP_PAIR(name, false, EACH, only) \
	LOOP_PAIR(name##_sparse, false, SPARSE, only)

LOOP_PAIR(paced, true, EACH, NB_OP_KINDS)
LOOP_PAIR(async, false, ASYNC, NB_OP_KINDS)
LOOP_PAIR(async_paced, true, ASYNC, NB_OP_KINDS)
LOOPS(mixed, NB_OP_KINDS)
/* For one kind: without a branch on the kind before each stamp. */
LOOPS(read, NB_OP_READ)
LOOPS(insert, NB_OP_INSERT)
LOOPS(delete, NB_OP_DELETE)

static void
run_loop(struct job_worker *worker)
{
	typedef void (*loop_fn)(struct job_worker * worker);
	static const loop_fn closed[NB_OP_KINDS + 1][2] = {
		[NB_OP_READ] = {read_tsc, read_monotonic},
		[NB_OP_INSERT] = {insert_tsc, insert_monotonic},
		[NB_OP_DELETE] = {delete_tsc, delete_monotonic},
		[NB_OP_KINDS] = {mixed_tsc, mixed_monotonic},
	};
	static const loop_fn sparse[NB_OP_KINDS + 1][2] = {
		[NB_OP_READ] = {read_sparse_tsc, read_sparse_monotonic},
		[NB_OP_INSERT] = {insert_sparse_tsc, insert_sparse_monotonic},
		[NB_OP_DELETE] = {delete_sparse_tsc, delete_sparse_monotonic},
		[NB_OP_KINDS] = {mixed_sparse_tsc, mixed_sparse_monotonic},
	};
	static const loop_fn in_flight[2][2] = {
		{async_tsc, async_monotonic}, {async_paced_tsc, async_paced_monotonic}};
	const struct job_plan *plan = worker->plan;
	bool is_monotonic = plan->clock->kind == NB_CLOCK_MONOTONIC;
	worker->only = only_kind_of(plan);
	worker->taken->stretch = OPS_STRATUM;
	if (plan->feed != NULL)
		run_feed(worker, plan->clock->kind, plan->is_paced);
	else if (plan->depth > 1)
		in_flight[plan->is_paced][is_monotonic](worker);
	else if (plan->is_paced)
		(is_monotonic ? paced_monotonic : paced_tsc)(worker);
	else
		(plan->is_sparse ? sparse : closed)[worker->only][is_monotonic](worker);
}

void
job_worker_run(struct job_worker *worker)
{
	if (worker->plan->engine->tick != NULL) {
		worker->pacer.idle = idle;
		worker->pacer.idle_arg = worker;
	}
	if (worker_pass_gate(worker, &worker->taken->moments))
		run_loop(worker);
	__atomic_store_n(&worker->is_over, 1, __ATOMIC_RELEASE);
}
