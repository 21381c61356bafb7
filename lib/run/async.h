/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_ASYNC_H
#define RUN_ASYNC_H
/**
 * Blocks of operations with several requests in flight. Only worker.c includes this.
 *
 * The worker gathers operations in slots, submits them, and reaps the completed ones. Up to
 * plan->depth requests are in flight. A slow request occupies one slot and stops nothing else.
 * There are more slots than that: before the worker waits, it also gathers the operations that
 * it submits next. So the engine has no pause when requests complete.
 *
 * Without batch-bytes, the worker submits when all slots are in use or a block ends. It also
 * submits when the next operation is not due yet. With batch-bytes, it submits once that many
 * bytes or half of the depth are gathered, and the depth has room for all of them. With small
 * requests the depth may not hold two batches of batch-bytes. With only one batch, the engine
 * would wait while the worker makes the next one. (faster behind net, 8-byte keys, 32 KiB,
 * depth 3852: 2.9 to 3.1 M additions a second in one batch, 6.4 to 6.6 M in two.) A server
 * receives about a quarter of the depth at once: it processes some requests while the worker
 * makes and verifies others. (Redis, 50 in flight on one connection: 561,000 gets a second in
 * one piece, 637,000 in quarters.)
 *
 * The worker takes one stamp before submit, for all submitted requests. It takes one after reap
 * and the reading of the returned values, for all completed requests. Service time is the
 * difference, starting at the first stamp of an operation. It includes the time of a request in
 * the engine's queue, and the time of a completion until the worker reaps it. Response time
 * starts when the operation was due. An operation is never submitted before that. The time of a
 * batch starts at the stamp before submit. It ends when the last operation that was submitted
 * with it completes.
 *
 * Verification follows the second stamp, and the release of loans follows verification. The
 * clock cannot be stopped for it, because other requests are in flight. Their times include
 * verification and also the making of operations.
 *
 * Two alternatives would make the numbers wrong. A stamp for each operation would charge it for
 * the stamps of its neighbours. To wait for a whole batch before submitting the next one would
 * halve the mean depth.
 */
#include "base/error.h"
#include "run/reap.h"

/* Longest wait in reap, so that the worker notices a halt. With tick it is POOL_IDLE_NS. */
enum { PIECE_NS = 10 * 1000000 };

/** After a failure or nb_stop(), how long the worker waits without any completion. */
#define GRACE_NS UINT64_C(1000000000)

/** Resubmit due conflicted requests, and reap. Waits `most_ns` at most if nothing completes. */
static ALWAYS_INLINE void
go_on(struct job_worker *worker, uint64_t most_ns, uint32_t clock_kind, bool is_paced)
{
	struct async *async = worker->async;
	uint64_t timeout_ns = most_ns;
	if (__builtin_expect(async->conflicted_count > 0, 0)) {
		uint64_t ticks = gather_again(worker);
		hand_over(worker, clock_kind, is_paced);
		uint64_t next_ns = ticks < UINT64_MAX ? clock_ns(worker->plan->clock, ticks)
						      : most_ns;
		timeout_ns = next_ns < most_ns ? next_ns : most_ns;
		async->now = clock_stamp(clock_kind);
	}
	if (!async->is_broken && async->in_flight > 0)
		reap(worker, timeout_ns, clock_kind, is_paced);
}

/** Whether the worker must not begin any more operations. */
static inline bool
is_at_end(struct job_worker *worker)
{
	struct async *async = worker->async;
	async->is_over |= async->now >= worker->taken->moments.end || is_halted(worker) ||
		worker->rc != NB_OK;
	return async->is_over;
}

/** Whether the worker must submit before it gathers more. */
static inline bool
is_full(const struct async *async)
{
	return async->free_count == 0 || (async->batch_bytes > 0 && flight_has_batch(async));
}

/** Submit the gathered requests. If that made no room, wait for a completion. */
static ALWAYS_INLINE void
make_room(struct job_worker *worker, uint32_t clock_kind, bool is_paced)
{
	struct async *async = worker->async;
	hand_over(worker, clock_kind, is_paced);
	if (!is_full(async))
		return;
	go_on(worker, async->piece_ns, clock_kind, is_paced);
	hand_over(worker, clock_kind, is_paced);
}

/** Wait until `due`. Reap while requests are in flight; else wait as any worker. */
static ALWAYS_INLINE void
reap_until_due(struct job_worker *worker, uint64_t due, uint32_t clock_kind)
{
	struct async *async = worker->async;
	struct pacer *pacer = &worker->pacer;
	uint64_t now = async->now = clock_stamp(clock_kind);
	while (now < due && !is_at_end(worker)) {
		if (async->batch_bytes == 0)
			hand_over(worker, clock_kind, true);
		if (async->in_flight == 0 && async->conflicted_count == 0) {
			heartbeat_leave(&worker->heartbeat);
			now = async->now = pacer_wait_until(
				pacer, due, now, worker->plan->halt);
			heartbeat_enter(&worker->heartbeat, "reap");
			continue;
		}
		uint64_t left_ns = clock_ns(pacer->clock, due - now);
		uint64_t spare_ns = pacer->is_spinning ? pacer->slack_ns : 0;
		left_ns = left_ns > spare_ns ? left_ns - spare_ns : 0;
		go_on(worker, left_ns < async->piece_ns ? left_ns : async->piece_ns, clock_kind,
			true);
		now = async->now = clock_stamp(clock_kind);
	}
}

/**
 * Gather operations from `j` on. With a rate, gather one; otherwise gather until no slot is free,
 * the block ends or a batch is complete. Returns the next index.
 */
static ALWAYS_INLINE uint32_t
gather_some(struct job_worker *worker, const struct ops_op *ops, uint32_t j, uint32_t count,
	bool is_paced)
{
	struct async *async = worker->async;
	uint32_t end = count - j < async->free_count ? count : j + async->free_count;
	bool is_batched = async->batch_bytes > 0;
	if (is_paced)
		end = j + 1;
	do
		flight_begin(async, &ops[j], is_paced ? worker->taken->due[j] : 0);
	while (++j < end && !(is_batched && flight_has_batch(async)));
	return j;
}

/** Whether to stop waiting for the requests in flight. */
static bool
is_given_up(struct job_worker *worker)
{
	const struct async *async = worker->async;
	if (async->is_broken)
		return true;
	bool is_cut = worker->rc != NB_OK || stop_requested();
	return is_cut && async->now - async->came > async->grace_ticks;
}

/** Like run_block(). */
static ALWAYS_INLINE bool
run_async_block(struct job_worker *worker, const struct ops_op *ops, uint32_t count,
	uint32_t clock_kind, bool is_paced)
{
	struct async *async = worker->async;
	const uint64_t *due = worker->taken->due;
	heartbeat_enter(&worker->heartbeat, "reap");
	async->is_over |= stop_requested(); /* also if the keys just read were lost */
	for (uint32_t j = 0; j < count && !async->is_over;) {
		if (is_paced && due[j] >= worker->taken->moments.end) {
			async->is_over = true;
			break;
		}
		if (is_paced)
			reap_until_due(worker, due[j], clock_kind);
		while (is_full(async) && !is_at_end(worker))
			make_room(worker, clock_kind, is_paced);
		if (is_at_end(worker))
			break;
		j = gather_some(worker, ops, j, count, is_paced);
	}
	if (async->batch_bytes == 0)
		hand_over(worker, clock_kind, is_paced);
	heartbeat_leave(&worker->heartbeat);
	return !async->is_over;
}

/** Reap until nothing is in flight. Submits nothing more after a failure or a stop. */
static ALWAYS_INLINE void
drain(struct job_worker *worker, uint32_t clock_kind, bool is_paced)
{
	struct async *async = worker->async;
	heartbeat_enter(&worker->heartbeat, "reap");
	async->came = async->now = clock_stamp(clock_kind);
	while (async->free_count < async->slots && !is_given_up(worker)) {
		if (worker->rc != NB_OK || stop_requested())
			async->head = async->tail = async->conflicted_count = 0;
		hand_over(worker, clock_kind, is_paced);
		if (async->in_flight + async->conflicted_count == 0)
			break;
		go_on(worker, async->piece_ns, clock_kind, is_paced);
		async->now = clock_stamp(clock_kind);
	}
	heartbeat_leave(&worker->heartbeat);
	if (async->in_flight > 0)
		log_message(NB_LOG_WARNING,
			"%u requests were still in flight when the run ended; they are not counted and may or may not have happened",
			async->in_flight);
	worker->is_adding |= async->free_count < async->slots;
	doubt_forget(worker);
}

/**
 * Continue while the worker waits for strata of others, and perhaps its own: see
 * wait_for_peers().
 */
static __attribute__((noinline)) void
go_on_in_wait(struct job_worker *worker, bool is_own)
{
	const struct job_plan *plan = worker->plan;
	struct async *async = worker->async;
	heartbeat_enter(&worker->heartbeat, "reap");
	hand_over(worker, plan->clock->kind, plan->is_paced);
	go_on(worker, is_own ? async->piece_ns : 0, plan->clock->kind, plan->is_paced);
	async->now = clock_stamp(plan->clock->kind);
	heartbeat_leave(&worker->heartbeat);
}

/** Note that the worker has gathered all its strata below `stratum`. */
static inline void
end_async_stratum(struct job_worker *worker, uint64_t stratum)
{
	worker->async->stratum = stratum;
	tell_strata(worker);
}

/** Prepare for the first operation. */
static void
begin_async(struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	struct async *async = worker->async;
	async->is_over = async->is_broken = false;
	async->now = async->first = async->mark = 0;
	async->came = async->ticked = worker->taken->moments.begin;
	async->stratum = job_nth(worker);
	async->grace_ticks = clock_ticks(plan->clock, GRACE_NS);
	async->piece_ns = plan->engine->tick != NULL ? POOL_IDLE_NS : PIECE_NS;
}

#endif /* RUN_ASYNC_H */
