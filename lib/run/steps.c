/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of steps.
 *
 * With single verbs, each conflicting verb is repeated alone, because no other part of the
 * operation may happen twice. With the other methods a conflict undoes the operation, and all
 * of it is repeated.
 */
#include "run/steps.h"

#include <string.h>

#include "base/error.h"
#include "run/backoff.h"
#include "run/isolation.h"
#include "run/steps_way.h"
#include "run/torn.h"

/* ---- a step ---- */

/** Read the value of a step, which is on loan, and count it. */
static int
take_step(const struct nb_step *step, struct span *span)
{
	bool is_get = step->verb == NB_STEP_GET;
	if (step->answer != NB_OK)
		return step->answer;
	span->records += step->verb != NB_STEP_PREFIX_EMPTY;
	if (is_get && !worker_may_consume(step->value))
		return engine_refuse_size("a step's get", step->value.size);
	if (is_get)
		worker_consume(step->value);
	span->bytes += step->value.size;
	return NB_OK;
}

/** Verify the value of step k while it is on loan. The clock is stopped. */
static void
look_at_value(struct job_worker *worker, const struct ops_op *op, uint32_t k, bool is_sample)
{
	const struct nb_step *step = &op->steps[k];
	struct nb_slice body = ops_value_body(worker->plan->spec, step->value);
	worker->seen[k] = value_version(body);
	worker->seen_sizes[k] = (uint32_t)body.size;
	if (is_sample)
		job_verify_value(worker, op, k, step->value);
}

/** take_step(), then look_at_value() for samples and watched operations. */
static int
take_verified(struct job_worker *worker, const struct ops_op *op, uint32_t k, bool is_sample,
	uint32_t clock_kind, struct span *span)
{
	const struct nb_step *step = &op->steps[k];
	int rc = take_step(step, span);
	if (rc == NB_OK && step->verb == NB_STEP_GET && (is_sample || worker->is_watched)) {
		uint64_t pause = clock_stamp(clock_kind);
		look_at_value(worker, op, k, is_sample);
		span->paused += clock_stamp(clock_kind) - pause;
	}
	return rc;
}

/** The answer for all steps: a failure, else an unmet condition, else a missing record. */
static int
fold(int rc, int answer)
{
	if (rc < 0 || (rc > 0 && answer == NB_OK))
		return rc;
	return answer < 0 || answer > rc ? answer : rc;
}

static void
release(struct job_worker *worker)
{
	if (worker->plan->engine->release != NULL)
		worker->plan->engine->release(worker->session);
}

static int
insert(const struct nb_engine *engine, struct nb_session *session, const struct nb_step *step)
{
	struct nb_slice there = {NULL, 0};
	if (engine->insert != NULL)
		return engine->insert(session, step->key, step->value);
	int rc = engine->get(session, step->key, &there);
	if (rc == NB_OK && engine->release != NULL)
		engine->release(session);
	if (rc != NB_NOT_FOUND)
		return rc == NB_OK ? NB_EXISTS : rc;
	return engine->put(session, step->key, step->value);
}

static int
merge(const struct nb_engine *engine, struct nb_session *session, const struct nb_step *step)
{
	struct nb_slice there = {NULL, 0};
	uint64_t sum = 0;
	if (engine->merge != NULL)
		return engine->merge(session, step->key, NB_MERGE_ADD_U64, step->operand);
	int rc = engine->get(session, step->key, &there);
	bool is_counter = rc != NB_OK || there.size == sizeof(sum);
	if (rc == NB_OK && is_counter)
		memcpy(&sum, there.data, sizeof(sum));
	if (rc == NB_OK && engine->release != NULL)
		engine->release(session);
	if (rc != NB_OK && rc != NB_NOT_FOUND)
		return rc;
	if (!is_counter)
		return error_set(
			NB_FAIL, "add: a value of %zu bytes is not a counter", there.size);
	sum += step->operand;
	return engine->put(session, step->key, (struct nb_slice){&sum, sizeof(sum)});
}

static int64_t
age_of(struct nb_slice value, size_t at)
{
	int64_t age = INT64_MIN;
	if (value.size >= at + sizeof(age))
		memcpy(&age, (const char *)value.data + at, sizeof(age));
	return age;
}

static int
put_if_newer(
	const struct nb_engine *engine, struct nb_session *session, const struct nb_step *step)
{
	struct nb_slice there = {NULL, 0};
	int rc = engine->get(session, step->key, &there);
	if (rc != NB_OK)
		return rc;
	bool is_newer = age_of(step->value, step->operand) > age_of(there, step->operand);
	if (engine->release != NULL)
		engine->release(session);
	return is_newer ? engine->put(session, step->key, step->value) : NB_EXISTS;
}

/** Whether this key, which begins with the key of the step, counts for NB_STEP_PREFIX_EMPTY. */
static bool
counts_for(const struct nb_step *step, struct nb_slice key)
{
	uint8_t last = ((const uint8_t *)key.data)[key.size - 1];
	return step->operand == 0 ||
		(key.size > step->key.size && last < 64 && (step->operand >> last & 1) != 0);
}

static int
prefix_empty(
	const struct nb_engine *engine, struct nb_session *session, const struct nb_step *step)
{
	struct nb_scan_args args = {
		.size = sizeof(args), .from = step->key, .limit = step->operand == 0};
	struct nb_slice key = {NULL, 0}, value = {NULL, 0};
	bool is_there;
	int rc = engine->scan_open(session, &args);
	if (rc != NB_OK)
		return rc == NB_NOT_FOUND ? NB_OK : rc;
	do {
		rc = engine->scan_next(session, &key, &value);
		is_there = rc == NB_OK && key.size >= step->key.size &&
			memcmp(key.data, step->key.data, step->key.size) == 0;
	} while (is_there && !counts_for(step, key));
	int closed = engine->scan_close(session);
	if (rc != NB_OK && rc != NB_NOT_FOUND)
		return rc;
	return closed != NB_OK ? closed : is_there ? NB_EXISTS : NB_OK;
}

static int
do_step(struct job_worker *worker, struct nb_step *step)
{
	const struct nb_engine *engine = worker->plan->engine;
	struct nb_session *session = worker->session;
	switch (step->verb) {
	case NB_STEP_GET:
		step->value = (struct nb_slice){NULL, 0};
		return engine->get(session, step->key, &step->value);
	case NB_STEP_PUT:
		return engine->put(session, step->key, step->value);
	case NB_STEP_DEL:
		return engine->del(session, step->key);
	case NB_STEP_INSERT:
		return insert(engine, session, step);
	case NB_STEP_MERGE:
		return merge(engine, session, step);
	case NB_STEP_PUT_IF_NEWER:
		return put_if_newer(engine, session, step);
	default:
		return prefix_empty(engine, session, step);
	}
}

/** Execute the steps one after the other, up to a failure or a conflict. */
static int
each_step(struct job_worker *worker, const struct ops_op *op, bool is_sample,
	uint32_t clock_kind, struct span *span, bool retries)
{
	int rc = NB_OK;
	for (uint32_t k = 0; k < op->items; k++) {
		struct nb_step *step = &op->steps[k];
		struct backoff backoff = {.limit_ns = worker->plan->conflict_ns};
		do
			step->answer = do_step(worker, step);
		while (retries && step->answer == NB_CONFLICT &&
			backoff_wait(&backoff, worker->plan->halt));
		span->conflicts += backoff.conflicts;
		if (step->answer < 0 || step->answer == NB_CONFLICT)
			return step->answer;
		int taken = take_verified(worker, op, k, is_sample, clock_kind, span);
		if (step->verb == NB_STEP_GET && step->answer == NB_OK)
			release(worker);
		rc = fold(rc, taken);
	}
	return rc;
}

/* ---- the methods ---- */

static int
take_all(struct job_worker *worker, const struct ops_op *op, const struct nb_kind *kind,
	bool is_sample, uint32_t clock_kind, struct span *span)
{
	int rc = NB_OK;
	for (uint32_t k = 0; k < op->items; k++)
		rc = fold(rc, take_verified(worker, op, k, is_sample, clock_kind, span));
	if ((kind_verbs(kind) >> NB_STEP_GET & 1) != 0)
		release(worker);
	return rc;
}

static int
multi_get(struct job_worker *worker, const struct ops_op *op)
{
	int rc = worker->plan->engine->multi_get(
		worker->session, op->keys, op->items, worker->found, worker->found_answers);
	for (uint32_t k = 0; k < op->items && rc == NB_OK; k++) {
		op->steps[k].answer = worker->found_answers[k];
		op->steps[k].value = worker->found[k];
	}
	return rc;
}

static int
batch(struct job_worker *worker, const struct ops_op *op, const struct nb_kind *kind)
{
	for (uint32_t k = 0; k < op->items; k++) {
		struct nb_step *step = &op->steps[k];
		step->answer = NB_OK;
		worker->writes[k] = (struct nb_write){.key = step->key,
			.value = step->value,
			.is_delete = step->verb == NB_STEP_DEL};
	}
	return worker->plan->engine->batch(worker->session, worker->writes, op->items,
		kind->atomic != NB_ATOMIC_NO ? NB_BATCH_ATOMIC : 0);
}

static int
transaction(struct job_worker *worker, const struct ops_op *op, const struct nb_kind *kind,
	bool is_sample, uint32_t clock_kind, struct span *span)
{
	const struct nb_engine *engine = worker->plan->engine;
	int rc = engine->begin(
		worker->session, (kind_verbs(kind) & KIND_CHANGES) == 0 ? NB_TXN_READ_ONLY : 0);
	if (rc != NB_OK)
		return rc;
	rc = each_step(worker, op, is_sample, clock_kind, span, false);
	if (rc < 0 || rc == NB_CONFLICT) {
		engine->abort(worker->session);
		return rc;
	}
	int committed = engine->commit(worker->session);
	return committed != NB_OK ? committed : rc;
}

int
steps_attempt(struct job_worker *worker, const struct ops_op *op, bool is_sample,
	uint32_t clock_kind, struct span *span)
{
	const struct nb_engine *engine = worker->plan->engine;
	const struct nb_kind *kind = kind_row(worker->plan->spec->job, op->kind);
	uint8_t *way = &worker->ways[op->kind];
	bool reads_alone = kind_verbs(kind) == 1 << NB_STEP_GET;
	int rc = NB_UNSUPPORTED;
	worker->is_adding = true;
	if (*way == WAY_EXECUTE) {
		rc = engine->execute(worker->session, op->steps, op->items, steps_flags(kind));
		if (rc == NB_UNSUPPORTED) {
			rc = steps_choose(engine, kind, WAY_TXN, way);
			if (rc != NB_OK)
				return rc;
		}
	}
	if (*way == WAY_TXN)
		rc = transaction(worker, op, kind, is_sample, clock_kind, span);
	else if (*way == WAY_SINGLE)
		rc = each_step(worker, op, is_sample, clock_kind, span,
			!steps_is_one_verb(engine, kind));
	else if (*way == WAY_TOGETHER)
		rc = reads_alone ? multi_get(worker, op) : batch(worker, op, kind);
	bool is_lent = *way == WAY_EXECUTE || *way == WAY_TOGETHER;
	if (rc == NB_CONFLICT && *way == WAY_SINGLE && !steps_is_one_verb(engine, kind))
		return __atomic_load_n(worker->plan->halt, __ATOMIC_RELAXED) != 0
			? rc
			: error_set(NB_FAIL, "a step was answered with nothing but conflicts");
	if (rc == NB_CONFLICT)
		worker->is_adding = false; /* nothing has happened */
	return rc == NB_OK && is_lent ? take_all(worker, op, kind, is_sample, clock_kind, span)
				      : rc;
}

int
steps_take(const struct ops_op *op, struct span *span)
{
	int rc = NB_OK;
	for (uint32_t k = 0; k < op->items; k++)
		rc = fold(rc, take_step(&op->steps[k], span));
	return rc;
}

void
steps_look(struct job_worker *worker, const struct ops_op *op, uint32_t k, bool is_sample)
{
	const struct nb_step *step = &op->steps[k];
	if (step->verb != NB_STEP_GET)
		return;
	if (step->answer == NB_NOT_FOUND)
		job_verify_miss(worker, op, k);
	else if (step->answer == NB_OK && (is_sample || worker->is_watched))
		look_at_value(worker, op, k, is_sample);
}

void
steps_judge(struct job_worker *worker, const struct ops_op *op, bool is_sample, uint64_t begin)
{
	bool may_be_torn = false;
	for (uint32_t k = 0; k < op->items; k++) {
		const struct nb_step *step = &op->steps[k];
		may_be_torn |= step->verb == NB_STEP_GET;
		if (step->verb == NB_STEP_MERGE && step->answer == NB_OK)
			worker->added += step->operand;
	}
	worker->is_adding = false;
	if (!worker->is_watched && !(is_sample && may_be_torn))
		return;
	uint32_t level = steps_level_by(worker, op->kind);
	if (is_sample && may_be_torn && level >= STEPS_SNAPSHOT && steps_put_at_once(worker))
		torn_judge(worker, op);
	if (worker->is_watched && level >= STEPS_SNAPSHOT)
		isolation_keep(worker, op, level, begin);
}

void
steps_end(struct job_worker *worker, const struct ops_op *op, int rc, bool is_sample,
	uint64_t begin)
{
	if (rc < 0 || rc == NB_CONFLICT)
		return;
	for (uint32_t k = 0; k < op->items; k++) {
		const struct nb_step *step = &op->steps[k];
		bool is_put = (KIND_PUTS >> step->verb & 1) != 0;
		if (step->verb == NB_STEP_GET && step->answer == NB_NOT_FOUND)
			job_verify_miss(worker, op, k);
		if (step->answer == NB_OK && step->table < TAO_TABLES)
			worker->grown[step->table] += (step->verb == NB_STEP_INSERT) -
				(step->verb == NB_STEP_DEL);
		if (step->answer == NB_OK && (is_put || step->verb == NB_STEP_DEL))
			*job_own_of(worker, op->numbers[k]) = (struct job_own){
				op->numbers[k] + 1,
				op->index << 8 | (is_put ? NB_OP_UPDATE : NB_OP_DELETE)};
	}
	steps_judge(worker, op, is_sample, begin);
}
