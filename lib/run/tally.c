/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums of counters.
 *
 * A counter has no room for a checksum or a version, but it obeys a law. Its value is the
 * previous value plus the sum of all additions, mod 2^64. The law finds lost and doubled
 * updates, which a get and a put of versions cannot.
 *
 * It is checked twice. Over all records: each worker sums up its additions, and the sum of all
 * counters must have grown by the total. By key, on a sample: each worker makes its operations
 * again, as many as it has done, and sums up their additions to the sampled records.
 *
 * All counters are read before the run as well, because an earlier run may have added to them.
 * So this costs two gets of each record, untimed, and in multi-gets if the engine has them.
 * Rejected: to assume the values of the load. A cold run is not verified like this, because
 * reading all records warms the caches.
 *
 * If an engine cannot add, an addition is a get and a put. Several workers then lose updates
 * without an isolating transaction. That is a consequence of the level, so nothing is judged.
 *
 * An addition without an answer may or may not have happened. With such an addition nothing is
 * judged. The run then ends with another message anyway.
 */
#include "run/tally.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/backoff.h"
#include "run/steps.h"

enum { SAMPLES = 1024, TOGETHER = 64 /* counters read by one call */ };

/** The counters as seen by one worker. */
struct job_tally {
	uint64_t sums[2]; /* of its share, before and after */
	uint64_t total;   /* of additions; only in the sum over all workers */
	uint64_t before[SAMPLES], after[SAMPLES]; /* of its share; else 0 */
	uint64_t added[SAMPLES];                  /* by its own operations */
};

static uint64_t
stride_of(const struct job_worker *worker)
{
	return worker->plan->spec->job->records / SAMPLES + 1;
}

void
tally_plan(struct nb_run *run, bool are_operated)
{
	bool is_tallied = are_operated && kinds_have_counters(run->job) &&
		run->options.procs == 1 && (run->options.flags & NB_RUN_COLD) == 0 &&
		!run->is_replay;
	uint32_t workers = 0;
	for (size_t p = 0; p < run->active_count; p++) {
		struct job_part *part = run->active[p];
		part->plan.tally_first = workers;
		workers += part->plan.threads;
		is_tallied &= part->plan.verify_threshold > 0 && !part->spec.is_load;
	}
	for (size_t p = 0; p < run->active_count; p++)
		run->active[p]->plan.tally_workers = is_tallied ? workers : 0;
}

static int
read_one(struct job_worker *worker, struct nb_slice key, uint64_t *out)
{
	const struct nb_engine *engine = worker->plan->engine;
	struct backoff backoff = {.limit_ns = worker->plan->conflict_ns};
	struct nb_slice value = {NULL, 0};
	int rc;
	do
		rc = engine->get(worker->session, key, &value);
	while (rc == NB_CONFLICT && backoff_wait(&backoff, worker->plan->halt));
	*out = 0; /* a missing counter */
	if (rc == NB_OK && value.size == sizeof(*out))
		memcpy(out, value.data, sizeof(*out));
	if (rc == NB_OK && engine->release != NULL)
		engine->release(worker->session);
	return rc < 0 ? rc : NB_OK;
}

/**
 * Read many counters at once. Conflicting ones are read one by one, as with an engine without
 * multi_get.
 */
static int
read_some(struct job_worker *worker, const struct nb_slice *keys, uint32_t count, uint64_t *out)
{
	const struct nb_engine *engine = worker->plan->engine;
	struct nb_slice found[TOGETHER];
	int32_t answers[TOGETHER];
	int rc = NB_UNSUPPORTED;
	if (engine->multi_get != NULL)
		rc = engine->multi_get(worker->session, keys, count, found, answers);
	for (uint32_t k = 0; k < count; k++) {
		out[k] = 0;
		if (rc != NB_OK)
			answers[k] = NB_CONFLICT;
		else if (answers[k] == NB_OK && found[k].size == sizeof(*out))
			memcpy(&out[k], found[k].data, sizeof(*out));
	}
	if (rc == NB_OK && engine->release != NULL)
		engine->release(worker->session);
	if (rc < 0 && rc != NB_UNSUPPORTED)
		return rc;
	for (uint32_t k = 0; k < count; k++) {
		if (answers[k] != NB_OK && answers[k] != NB_NOT_FOUND &&
			(rc = read_one(worker, keys[k], &out[k])) != NB_OK)
			return rc;
	}
	return NB_OK;
}

/** Make the worker's operations again, and sum up their additions to the sampled records. */
static void
add_again(struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	uint64_t left = worker->done, stride = stride_of(worker);
	uint32_t made;
	for (uint64_t s = job_nth(worker); left > 0; s += plan->of_all) {
		ops_begin(&worker->maker, s);
		while (left > 0 && (made = ops_make(&worker->maker)) > 0) {
			for (uint32_t j = 0; j < made && left > 0; j++, left--) {
				const struct ops_op *op = &worker->maker.ops[j];
				for (uint32_t k = 0; k < op->items && op->steps != NULL; k++) {
					if (op->steps[k].verb == NB_STEP_MERGE &&
						op->numbers[k] % stride == 0)
						worker->tally->added[op->numbers[k] / stride] +=
							op->steps[k].operand;
				}
			}
		}
	}
}

/** Read the worker's share of all counters: every tally_workers-th, from its own first one on. */
static int
read_share(struct job_worker *worker, uint64_t *sum, uint64_t *samples, uint8_t *room)
{
	const struct job_plan *plan = worker->plan;
	const struct keyspace *keys = plan->spec->keys;
	uint64_t records = plan->spec->job->records, stride = stride_of(worker);
	uint64_t next = plan->tally_first + worker->thread;
	while (next < records && !stop_requested()) {
		struct nb_slice these[TOGETHER];
		uint64_t values[TOGETHER], first = next;
		uint32_t count = 0;
		for (; count < TOGETHER && next < records; next += plan->tally_workers) {
			uint8_t *key = room + count * keys->key_size_max;
			these[count++] = (struct nb_slice){key, keyspace_key(keys, next, key)};
		}
		heartbeat_enter(&worker->heartbeat, "reading counters");
		int rc = read_some(worker, these, count, values);
		heartbeat_leave(&worker->heartbeat);
		if (rc != NB_OK)
			return rc;
		for (uint32_t k = 0; k < count; k++) {
			uint64_t n = first + k * (uint64_t)plan->tally_workers;
			*sum += values[k];
			if (n % stride == 0)
				samples[n / stride] = values[k];
		}
	}
	return NB_OK;
}

int
tally_read(struct job_worker *worker, bool is_after)
{
	const struct job_plan *plan = worker->plan;
	if (plan->tally_workers == 0)
		return NB_OK;
	if (worker->tally == NULL)
		worker->tally = calloc(1, sizeof(*worker->tally));
	uint8_t *room = malloc(TOGETHER * plan->spec->keys->key_size_max);
	if (worker->tally == NULL || room == NULL) {
		free(room);
		return error_memory();
	}
	int rc = read_share(worker, &worker->tally->sums[is_after],
		is_after ? worker->tally->after : worker->tally->before, room);
	free(room);
	if (rc == NB_OK && is_after && !stop_requested())
		add_again(worker);
	return rc;
}

void
tally_destroy(struct job_worker *worker)
{
	free(worker->tally);
	worker->tally = NULL;
}

static void
judge(struct job_worker *worker, struct nb_slice key, uint64_t is, uint64_t should)
{
	uint64_t number = 0;
	struct ops_op op = {.kind = KIND_ADD, .items = 1, .numbers = &number, .keys = &key};
	worker->findings.verified++;
	if (is != should)
		job_verify_note(worker, &op, 0, JOB_WRONG_SUM, is, should);
}

/** Add the values of a worker. */
static void
gather(struct job_tally *all, const struct job_worker *worker)
{
	for (int is_after = 0; is_after < 2; is_after++)
		all->sums[is_after] += worker->tally->sums[is_after];
	all->total += worker->added;
	for (uint32_t at = 0; at < SAMPLES; at++) {
		all->before[at] += worker->tally->before[at];
		all->after[at] += worker->tally->after[at];
		all->added[at] += worker->tally->added[at];
	}
}

/**
 * Add up all workers. False: an addition is in doubt, or the run was stopped, so nothing can be
 * judged.
 */
static bool
gather_all(struct job_tally *all, const struct nb_run *run)
{
	for (size_t p = 0; p < run->active_count; p++) {
		for (uint32_t t = 0; t < run->active[p]->plan.threads; t++) {
			const struct job_worker *worker = run->active[p]->workers[t];
			if (worker->tally == NULL || worker->is_adding ||
				(worker->plan->tally_workers > 1 && !steps_add_up(worker)))
				return false;
			gather(all, worker);
		}
	}
	return !stop_requested();
}

void
tally_judge(struct nb_run *run)
{
	uint8_t room[NB_KEY_SIZE_MAX];
	struct job_worker *first = run->active[0]->workers[0];
	struct job_tally *all = calloc(1, sizeof(*all));
	if (all == NULL || run->active[0]->plan.tally_workers == 0 || !gather_all(all, run)) {
		free(all);
		return;
	}
	uint64_t stride = stride_of(first);
	judge(first, (struct nb_slice){"", 0}, all->sums[1] - all->sums[0], all->total);
	for (uint64_t at = 0; at * stride < run->job->records; at++) {
		size_t size = keyspace_key(first->plan->spec->keys, at * stride, room);
		judge(first, (struct nb_slice){room, size}, all->after[at] - all->before[at],
			all->added[at]);
	}
	free(all);
}
