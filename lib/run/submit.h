/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SUBMIT_H
#define RUN_SUBMIT_H
/**
 * Submission of operations to the engine, for the first time and after conflicts: see async.h.
 */
#include "run/backoff.h"
#include "run/doubt.h"

static ALWAYS_INLINE bool
is_counted(const struct job_worker *worker, const struct flight *flight, uint64_t begin)
{
	return begin >= worker->taken->moments.warm &&
		flight->index >= worker->plan->warmup_count;
}

/** Note the start of the measurement, which is that of the first measured operation. */
static inline void
note_first(struct job_worker *worker, const struct flight *flight)
{
	struct async *async = worker->async;
	bool is_from_due = worker->plan->schedule != NULL && worker->plan->warmup_count == 0 &&
		worker->taken->moments.warm == worker->taken->moments.begin;
	async->first = is_from_due ? flight->due : flight->begin;
}

static ALWAYS_INLINE void
note_taken(struct job_worker *worker, struct flight *flight)
{
	struct async *async = worker->async;
	if (flight_is_list(async, flight->kind))
		doubt_take_steps(worker, flight);
	else if (flight->kind != KIND_ADD)
		doubt_take(worker, flight_tracks(async, flight), flight->number,
			flight->kind != NB_OP_READ, flight->begin == 0);
}

/** The engine has taken the requests [head, head + taken) at `now`. */
static ALWAYS_INLINE void
note_handed_over(struct job_worker *worker, uint32_t taken, uint64_t now, bool is_paced)
{
	struct async *async = worker->async;
	struct flight *flights = async->flights;
	const struct nb_request *requests = async->requests + async->head;
	uint32_t number = async->batches_free[async->batch_count - 1], new = 0;
	uint64_t bytes = 0;
	bool doubts = async->doubts;
	for (uint32_t i = 0; i < taken; i++) {
		struct flight *flight = &flights[requests[i].tag];
		bytes += flight->key_size + flight->value_size;
		flight->is_in_flight = true;
		if (doubts)
			note_taken(worker, flight);
		if (__builtin_expect(flight->begin != 0, 0))
			continue; /* again, after a conflict */
		flight->begin = now;
		flight->batch = number;
		if (new ++ == 0)
			async->batches[number] = (struct batch){
				.begin = now, .is_measured = is_counted(worker, flight, now)};
		if (__builtin_expect(async->first == 0, 0) && is_counted(worker, flight, now))
			note_first(worker, flight);
		if (is_paced)
			note_lag(worker, flight->due, now);
	}
	async->gathered_bytes -= bytes;
	async->batches[number].left = new;
	async->batch_count -= new > 0;
	async->in_flight += taken;
	async->head += taken;
	if (async->head == async->tail)
		async->head = async->tail = 0;
}

/** The number of gathered requests that may be submitted now in one call. */
static inline uint32_t
count_ready(const struct async *async)
{
	uint32_t count = async->tail - async->head, room = async->depth - async->in_flight;
	bool is_whole = flight_has_batch(async) && count <= room;
	if (async->batch_bytes > 0 && async->in_flight > 0 && !is_whole)
		return 0;
	count = count < room ? count : room;
	return count < async->at_once ? count : async->at_once;
}

/** Call submit once. False: submit nothing more for now. */
static ALWAYS_INLINE bool
submit_once(struct job_worker *worker, size_t count, uint64_t now, bool is_paced)
{
	struct async *async = worker->async;
	size_t taken = 0;
	int rc = worker->plan->engine->submit(
		worker->session, async->requests + async->head, count, &taken);
	if (__builtin_expect(rc != NB_PENDING && rc != NB_OK, 0))
		flight_fail_call(worker, "submit", rc,
			rc < 0 ? NULL : "gave an answer that means nothing here");
	else if (__builtin_expect(taken > count, 0))
		flight_fail_call(
			worker, "submit", NB_FAIL, "took more requests than it was given");
	else if (__builtin_expect(taken == 0 && async->in_flight == 0, 0))
		flight_fail_call(
			worker, "submit", NB_FAIL, "took no request though none is in flight");
	else
		note_handed_over(worker, (uint32_t)taken, now, is_paced);
	return worker->rc == NB_OK && taken == count;
}

/** Submit the gathered requests, as far as the depth and the engine have room. */
static ALWAYS_INLINE void
hand_over(struct job_worker *worker, uint32_t clock_kind, bool is_paced)
{
	size_t count = count_ready(worker->async);
	if (count == 0)
		return;
	heartbeat_enter(&worker->heartbeat, "submit");
	uint64_t now = clock_stamp(clock_kind);
	while (submit_once(worker, count, now, is_paced) &&
		(count = count_ready(worker->async)) > 0)
		;
}

/* ---- conflicts ---- */

/**
 * Schedule a conflicted request, which has had no effect, for another attempt: see backoff.h.
 */
static __attribute__((noinline)) void
note_conflict(struct job_worker *worker, struct flight *flight)
{
	struct async *async = worker->async;
	const struct job_plan *plan = worker->plan;
	uint64_t bound_ns = BACKOFF_FIRST_NS;
	for (uint32_t i = 0; i < flight->conflicts && bound_ns < BACKOFF_LONGEST_NS; i++)
		bound_ns *= 2;
	flight->conflicts++;
	if (clock_ns(plan->clock, async->now - flight->begin) >= plan->conflict_ns) {
		struct backoff backoff = {.limit_ns = plan->conflict_ns};
		flight_fail(worker, flight, backoff_fail(&backoff), NULL);
		flight_end(async, flight);
		return;
	}
	uint64_t wait_ns = splitmix64_next(&async->random) % bound_ns;
	async->conflicted[async->conflicted_count++] = (struct conflicted){
		flight_slot(async, flight), async->now + clock_ticks(plan->clock, wait_ns)};
	doubt_conflict(worker, flight);
}

/** Gather the conflicted requests that are due again. Returns the ticks until the next one. */
static __attribute__((noinline)) uint64_t
gather_again(struct job_worker *worker)
{
	struct async *async = worker->async;
	uint64_t next = UINT64_MAX;
	uint32_t left = 0;
	for (uint32_t i = 0; i < async->conflicted_count; i++) {
		struct conflicted it = async->conflicted[i];
		if (it.again > async->now) {
			next = it.again - async->now < next ? it.again - async->now : next;
			async->conflicted[left++] = it;
			continue;
		}
		flight_gather_again(async, &async->flights[it.slot]);
	}
	async->conflicted_count = left;
	return next;
}

#endif /* RUN_SUBMIT_H */
