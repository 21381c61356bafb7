/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_REAP_H
#define RUN_REAP_H
/** Reaping of completed requests, and their counting and verification: see async.h. */
#include "run/submit.h"
#include "run/worker_pool.h"

/** Count alike completions, and remove them from their batch. */
static inline void
count_alike(struct job_worker *worker, struct reaped *reaped, struct alike *alike)
{
	struct async *async = worker->async;
	if (alike->count == 0)
		return;
	struct batch *batch = &async->batches[alike->batch];
	batch->left -= (uint32_t)alike->count;
	worker_count_reaped(worker, reaped, alike);
	if (batch->left > 0)
		return;
	async->batches_free[async->batch_count++] = alike->batch;
	if (batch->is_measured)
		histogram_add(worker->batch,
			clock_ns(worker->plan->clock, async->now - batch->begin));
}

/**
 * Add a completion to those of its kind with the same begin and end. If it differs, count these
 * first.
 */
static ALWAYS_INLINE void
note_done(struct job_worker *worker, const struct flight *flight, int rc, uint64_t records,
	uint64_t bytes, struct reaped *reaped, struct alike *alike, bool is_paced)
{
	bool is_measured = is_counted(worker, flight, flight->begin);
	if (alike->begin != flight->begin || alike->batch != flight->batch ||
		alike->answer != rc || alike->is_measured != is_measured) {
		count_alike(worker, reaped, alike);
		alike->begin = flight->begin;
		alike->batch = flight->batch;
		alike->kind = flight->kind;
		alike->answer = rc;
		alike->is_measured = is_measured;
	}
	alike->count++;
	alike->records += records;
	alike->bytes += bytes;
	if (is_paced)
		alike->due[alike->count - 1] = flight->due;
	alike->conflicts += flight->conflicts;
}

/** Verify a read record, or remember a write. */
static ALWAYS_INLINE void
look_at_record(struct job_worker *worker, struct flight *flight, int rc, struct nb_slice value)
{
	struct async *async = worker->async;
	bool is_read = flight->kind == NB_OP_READ;
	if (is_read &&
		(rc == NB_NOT_FOUND ||
			is_sampled(flight->index, worker->plan->verify_threshold)))
		doubt_verify(worker, flight, rc, value);
	if (__builtin_expect(rc == NB_EXISTS, 0)) {
		struct ops_op op = flight_op(async, flight);
		job_verify_exists(worker, &op);
	}
	if (!is_read && async->remembers && !async->doubts)
		*job_own_of(worker, flight->number) = (struct job_own){
			flight->number + 1, flight->index << 8 | flight->kind};
	else if (!is_read && async->remembers)
		doubt_settle(worker, flight_tracks(async, flight), flight->number,
			flight->index, flight->kind, rc != NB_EXISTS);
}

static ALWAYS_INLINE void
complete(struct job_worker *worker, const struct nb_completion *completion,
	struct reaped *reaped, struct alike *kinds, bool is_paced)
{
	struct async *async = worker->async;
	int rc = completion->answer;
	struct flight *flight = &async->flights[completion->tag];
	bool is_list = flight_is_list(async, flight->kind);
	if (__builtin_expect(rc == NB_CONFLICT, 0)) {
		note_conflict(worker, flight);
		return;
	}
	bool may_exist = flight->kind == NB_OP_INSERT || kind_is_steps(flight->kind);
	if (__builtin_expect(
		    rc < 0 || (rc > NB_CONFLICT && !(rc == NB_EXISTS && may_exist)), 0)) {
		flight_fail(worker, flight, rc, completion->error);
		flight_end(async, flight);
		return;
	}
	uint64_t records = rc == NB_OK && flight->kind != NB_OP_DELETE, bytes = 0;
	if (records > 0)
		bytes = flight->kind == NB_OP_READ ? completion->value.size
						   : flight->value_size;
	if (__builtin_expect(is_list, 0)) {
		const struct span *span = &async->spans[completion->tag];
		records = span->records;
		bytes = span->bytes;
		doubt_end_steps(worker, flight);
	} else if (flight->kind == KIND_ADD) {
		worker->added += rc == NB_OK ? flight_operand(async, flight) : 0;
	} else {
		look_at_record(worker, flight, rc, completion->value);
	}
	note_done(worker, flight, rc, records, bytes, reaped, &kinds[flight->kind], is_paced);
	flight_end(async, flight);
}

/** Consume the values of an operation of steps, and set its answers. */
static __attribute__((noinline)) void
consume_steps(struct job_worker *worker, struct nb_completion *completion)
{
	struct async *async = worker->async;
	struct flight *flight = &async->flights[completion->tag];
	struct ops_op op = flight_op(async, flight);
	struct span *span = &async->spans[completion->tag];
	*span = (struct span){0};
	if (async->verbs[flight->kind] != NB_REQ_EXECUTE && completion->answer != NB_CONFLICT) {
		op.steps[0].answer = completion->answer;
		if (op.steps[0].verb == NB_STEP_GET)
			op.steps[0].value = completion->value;
		completion->answer = completion->answer < 0 ? completion->answer : NB_OK;
	}
	if (completion->answer == NB_OK)
		completion->answer = steps_take(&op, span);
}

/** Read the returned values within the timed span. False: an impossible answer. */
static ALWAYS_INLINE bool
consume(struct job_worker *worker, size_t count)
{
	struct async *async = worker->async;
	struct flight *flights = async->flights;
	uint32_t slots = async->slots;
	for (size_t i = 0; i < count; i++) {
		struct nb_completion *completion = &async->completions[i];
		uint64_t tag = completion->tag;
		if (__builtin_expect(tag >= slots || !flights[tag].is_in_flight, 0)) {
			flight_fail_call(worker, "reap", NB_FAIL,
				"returned a tag that is not in flight");
			return false;
		}
		flights[tag].is_in_flight = false;
		if (__builtin_expect(flight_is_list(async, flights[tag].kind), 0))
			consume_steps(worker, completion);
		if (completion->answer != NB_OK || flights[tag].kind != NB_OP_READ)
			continue;
		if (!worker_may_consume(completion->value)) {
			int rc = engine_refuse_size("reap", completion->value.size);
			flight_fail_call(worker, "reap", rc, NULL);
			return false;
		}
		worker_consume(completion->value);
	}
	return true;
}

/**
 * Publish the stratum below which all operations are done, for threads that wait for inserts.
 */
static inline void
tell_strata(struct job_worker *worker)
{
	struct async *async = worker->async;
	const struct flight *oldest = flight_oldest(async);
	uint64_t done = oldest == NULL ? async->stratum : oldest->index / OPS_STRATUM;
	__atomic_store_n(&worker->strata_done, done, __ATOMIC_RELEASE);
}

/** Complete the reaped requests, except those that conflicted. */
static ALWAYS_INLINE void
complete_all(struct job_worker *worker, size_t count, bool is_paced)
{
	struct async *async = worker->async;
	struct reaped reaped;
	struct alike kinds[NB_KINDS_MAX]; /* kinds alternate */
	for (uint32_t left = worker->plan->kinds; left != 0; left &= left - 1) {
		struct alike *alike = &kinds[__builtin_ctz(left)];
		alike->begin = 0;
		alike->count = alike->records = alike->bytes = alike->conflicts = 0;
	}
	worker_count_begin(worker, &reaped, async->first, async->now);
	for (size_t i = 0; i < count; i++)
		complete(worker, &async->completions[i], &reaped, kinds, is_paced);
	for (uint32_t left = worker->plan->kinds; left != 0; left &= left - 1)
		count_alike(worker, &reaped, &kinds[__builtin_ctz(left)]);
	worker_count_end(worker, &reaped);
	async->in_flight -= (uint32_t)count;
	async->came = async->now;
	tell_strata(worker);
}

/** Nothing has completed: call the engine's tick if that has lasted for long. */
static inline void
tick_in_reap(struct job_worker *worker)
{
	struct async *async = worker->async;
	uint64_t since = async->came > async->ticked ? async->came : async->ticked;
	if (worker->plan->engine->tick == NULL ||
		clock_ns(worker->plan->clock, async->now - since) < POOL_IDLE_NS)
		return;
	job_worker_tick(worker);
	async->ticked = async->now;
}

/** Reap completed requests. Waits at most `timeout_ns` for one. */
static ALWAYS_INLINE void
reap(struct job_worker *worker, uint64_t timeout_ns, uint32_t clock_kind, bool is_paced)
{
	struct async *async = worker->async;
	const struct nb_engine *engine = worker->plan->engine;
	size_t count = 0;
	heartbeat_enter(&worker->heartbeat, "reap");
	int rc = engine->reap(
		worker->session, async->completions, FLIGHT_ROOM, &count, timeout_ns);
	bool is_good = rc == NB_OK && count <= FLIGHT_ROOM && consume(worker, count);
	async->now = clock_stamp(clock_kind);
	if (__builtin_expect(!is_good, 0)) {
		if (worker->rc == NB_OK)
			flight_fail_call(worker, "reap", rc,
				rc < 0           ? NULL
					: rc > 0 ? "gave an answer that means nothing here"
						 : "returned more than there was room for");
		async->is_broken = true;
	} else if (count > 0) {
		complete_all(worker, count, is_paced);
	} else {
		tick_in_reap(worker);
	}
	if ((count > 0 || !is_good) && rc == NB_OK && engine->release != NULL)
		engine->release(worker->session);
	uint64_t gap = async->now - worker->told_ticks;
	if (__builtin_expect(gap > worker->plan->tell_ticks, 0)) {
		worker->told_ticks = async->now;
		flight_look_at_oldest(worker, gap);
	}
}

#endif /* RUN_REAP_H */
