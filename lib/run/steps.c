/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of steps.
 *
 * The method is chosen before the first operation, from the verbs of the engine. The worker
 * changes to the next one only if execute() answers NB_UNSUPPORTED, because this is not known
 * earlier. So all operations of a kind use the same method, and the result can name one level.
 *
 * A single step that is a verb of the engine needs no other method, because it is atomic.
 * Without merge(), an addition is a get and a put, and the level shows whether updates can be
 * lost.
 *
 * With single verbs, each conflicting verb is repeated alone, because no other part of the
 * operation may happen twice. With the other methods a conflict undoes the operation, and all
 * of it is repeated.
 *
 * A flag that is not passed on would make the level wrong. The reads of a kind with a snapshot
 * are executed with NB_EXEC_SNAPSHOT, and its writes with NB_EXEC_ATOMIC.
 */
#include "run/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/backoff.h"
#include "run/isolation.h"
#include "run/torn.h"

enum { WAY_EXECUTE, WAY_TXN, WAY_TOGETHER, WAY_SINGLE, WAYS };

const char *
steps_level_name(uint32_t level)
{
	static const char *const names[STEPS_LEVELS] = {
		"none", "emulated", "atomic writes", "snapshot", "serializable"};
	return level < STEPS_LEVELS ? names[level] : NULL;
}

/* ---- choice of the method ---- */

/** Whether the kind is one step that is a verb of the engine. */
static bool
is_one_verb(const struct nb_engine *engine, const struct nb_kind *kind)
{
	uint32_t verb = kind->steps[0].verb;
	return kind_records_max(kind) == 1 &&
		(verb <= NB_STEP_DEL || (verb == NB_STEP_INSERT && engine->insert != NULL) ||
			(verb == NB_STEP_MERGE && engine->merge != NULL));
}

static bool
are_only(const struct nb_kind *kind, uint32_t verbs)
{
	return (kind_verbs(kind) & ~verbs) == 0;
}

static bool
has_writes(const struct nb_kind *kind)
{
	return (kind_verbs(kind) & KIND_CHANGES) != 0;
}

/** Whether its reads must see one version, or its writes must be atomic. */
static bool
wants_more(const struct nb_kind *kind)
{
	bool has_reads = (kind_verbs(kind) & 1u << NB_STEP_GET) != 0;
	return (has_reads && kind->snapshot != NB_ATOMIC_NO) ||
		(has_writes(kind) && kind->atomic != NB_ATOMIC_NO);
}

static bool
can_batch(const struct nb_engine *engine, const struct nb_kind *kind)
{
	if (are_only(kind, 1 << NB_STEP_GET))
		return engine->multi_get != NULL;
	return are_only(kind, 1 << NB_STEP_PUT | 1 << NB_STEP_DEL) && engine->batch != NULL &&
		(kind->atomic == NB_ATOMIC_NO || (engine->caps & NB_CAP_ATOMIC_BATCH) != 0);
}

static bool
can(const struct nb_engine *engine, const struct nb_kind *kind, uint32_t way)
{
	switch (way) {
	case WAY_EXECUTE:
		return engine->execute != NULL;
	case WAY_TXN:
		return engine->begin != NULL && engine->commit != NULL && engine->abort != NULL;
	case WAY_TOGETHER:
		return can_batch(engine, kind);
	default:
		return true;
	}
}

/** Whether the job asks for this method, or leaves the choice to the engine's best one. */
static bool
may_go(const struct nb_engine *engine, const struct nb_kind *kind, uint32_t way)
{
	if (kind->calls != NB_CALLS_AUTO)
		return kind->calls == way + NB_CALLS_EXECUTE;
	if (way == WAY_SINGLE)
		return true;
	return way == WAY_TOGETHER
		? kind_records_max(kind) > 1
		: !is_one_verb(engine, kind) && (way == WAY_EXECUTE || wants_more(kind));
}

/** The first usable method from `from` on. WAYS: none. */
static uint8_t
first_way(const struct nb_engine *engine, const struct nb_kind *kind, uint32_t from)
{
	while (from < WAYS && !(may_go(engine, kind, from) && can(engine, kind, from)))
		from++;
	return (uint8_t)from;
}

static uint32_t
level_of(const struct nb_engine *engine, const struct nb_kind *kind, uint32_t way)
{
	if (is_one_verb(engine, kind))
		return STEPS_SERIALIZABLE;
	bool is_atomic = way == WAY_TXN || kind->atomic != NB_ATOMIC_NO;
	if (way == WAY_SINGLE || !wants_more(kind) || (has_writes(kind) && !is_atomic))
		return STEPS_EMULATED;
	if (way != WAY_TOGETHER && kind->snapshot != NB_ATOMIC_NO) {
		if ((engine->caps & NB_CAP_SERIALIZABLE) != 0)
			return STEPS_SERIALIZABLE;
		if ((engine->caps & NB_CAP_SNAPSHOT) != 0)
			return STEPS_SNAPSHOT;
	}
	return has_writes(kind) ? STEPS_ATOMIC_WRITES : STEPS_EMULATED;
}

static int
refuse_level(const struct nb_engine *engine, const struct nb_kind *kind)
{
	return error_set(NB_UNSUPPORTED,
		"%s: %s can only do its steps one by one; use atomic = yes, which reports the level, or an engine with transactions",
		kind->name, engine->name);
}

static int
refuse_calls(const struct nb_engine *engine, const struct nb_kind *kind)
{
	return error_set(NB_UNSUPPORTED,
		"%s: %s cannot do these steps with calls = %s; leave calls out", kind->name,
		engine->name, kind_calls_name(kind));
}

static int
check_kind(const struct nb_engine *engine, const struct nb_kind *kind)
{
	uint32_t way = first_way(engine, kind, WAY_EXECUTE);
	bool has_scan = (engine->caps & NB_CAP_ORDERED) != 0 &&
		(engine->scan_open != NULL || way == WAY_EXECUTE);
	if (way == WAYS)
		return refuse_calls(engine, kind);
	if (kind->atomic == NB_ATOMIC_REQUIRED && level_of(engine, kind, way) == STEPS_EMULATED)
		return refuse_level(engine, kind);
	if ((kind_verbs(kind) >> NB_STEP_PREFIX_EMPTY & 1) != 0 && !has_scan)
		return error_set(NB_UNSUPPORTED,
			"%s: prefix-empty needs ordered scans, which %s does not have",
			kind->name, engine->name);
	return NB_OK;
}

int
steps_check(
	const struct nb_engine *engine, const struct nb_job *job, const struct nb_group *group)
{
	int rc = NB_OK;
	for (uint32_t k = KIND_ADD; k < NB_KINDS_MAX && rc == NB_OK; k++) {
		const struct nb_kind *kind = kind_row(job, k);
		if (kind != NULL && group->weights[k] > 0)
			rc = check_kind(engine, kind);
	}
	return rc == NB_OK ? NB_OK : error_prefix(rc, "%s", group->name);
}

void
steps_begin(struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	for (uint32_t k = KIND_ADD; k < NB_KINDS_MAX; k++) {
		const struct nb_kind *kind = kind_row(plan->spec->job, k);
		if (kind != NULL && plan->spec->group->weights[k] > 0)
			worker->ways[k] = first_way(plan->engine, kind, WAY_EXECUTE);
	}
}

/** The kind of number `k` if it is one of the worker's kinds of steps; else NULL. */
static const struct nb_kind *
kind_of(const struct job_worker *worker, uint32_t k)
{
	const struct ops_spec *spec = worker->plan->spec;
	return worker->plan->feed == NULL && spec->group->weights[k] > 0
		? kind_row(spec->job, k)
		: NULL;
}

static uint32_t
level_by(const struct job_worker *worker, uint32_t k)
{
	return level_of(
		worker->plan->engine, kind_row(worker->plan->spec->job, k), worker->ways[k]);
}

uint32_t
steps_request(const struct nb_engine *engine, const struct nb_kind *kind)
{
	_Static_assert((uint32_t)NB_REQ_DEL == NB_STEP_DEL, "a step alone is");
	_Static_assert((uint32_t)NB_REQ_MERGE == NB_STEP_MERGE, "the request of its number");
	uint32_t way = first_way(engine, kind, WAY_EXECUTE);
	if (way == WAY_EXECUTE)
		return NB_REQ_EXECUTE;
	return way == WAY_SINGLE && is_one_verb(engine, kind) ? kind->steps[0].verb
							      : UINT32_MAX;
}

uint32_t
steps_level(const struct job_worker *worker)
{
	uint32_t level = STEPS_NONE, other = STEPS_NONE;
	for (uint32_t k = KIND_ADD; k < NB_KINDS_MAX; k++) {
		const struct nb_kind *kind = kind_of(worker, k);
		uint32_t own = kind != NULL ? level_by(worker, k) : STEPS_NONE;
		uint32_t *weakest = kind != NULL && wants_more(kind) ? &level : &other;
		if (kind != NULL && (*weakest == STEPS_NONE || own < *weakest))
			*weakest = own;
	}
	return level != STEPS_NONE ? level : other;
}

bool
steps_add_up(const struct job_worker *worker)
{
	bool adds_up = true;
	for (uint32_t k = KIND_ADD; k < NB_KINDS_MAX; k++) {
		const struct nb_kind *kind = kind_of(worker, k);
		if (kind != NULL && (kind_verbs(kind) & 1u << NB_STEP_MERGE) != 0)
			adds_up &= worker->plan->engine->merge != NULL ||
				worker->ways[k] == WAY_EXECUTE ||
				level_by(worker, k) >= STEPS_SNAPSHOT;
	}
	return adds_up;
}

bool
steps_keep_ages(const struct job_worker *worker)
{
	bool keep = true;
	for (uint32_t k = KIND_ADD; k < NB_KINDS_MAX; k++) {
		const struct nb_kind *kind = kind_of(worker, k);
		if (kind != NULL && (kind_verbs(kind) & 1u << NB_STEP_PUT_IF_NEWER) != 0)
			keep &= level_by(worker, k) >= STEPS_SNAPSHOT;
	}
	return keep || worker->plan->of_all == 1;
}

/** Whether all kinds with atomic puts really put atomically. */
static bool
puts_at_once(const struct job_worker *worker)
{
	bool do_all = true;
	for (uint32_t k = KIND_ADD; k < NB_KINDS_MAX; k++) {
		const struct nb_kind *kind = kind_of(worker, k);
		if (kind != NULL && (kind_verbs(kind) & KIND_PUTS) != 0 &&
			kind->atomic != NB_ATOMIC_NO)
			do_all &= level_by(worker, k) >= STEPS_ATOMIC_WRITES;
	}
	return do_all;
}

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

uint32_t
steps_flags(const struct nb_kind *kind)
{
	bool is_read_only = !has_writes(kind);
	return (is_read_only ? NB_EXEC_READ_ONLY : 0) |
		(!is_read_only && kind->atomic != NB_ATOMIC_NO ? NB_EXEC_ATOMIC : 0) |
		(kind->snapshot != NB_ATOMIC_NO ? NB_EXEC_SNAPSHOT : 0);
}

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
	int rc = engine->begin(worker->session, !has_writes(kind) ? NB_TXN_READ_ONLY : 0);
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
	bool reads_alone = are_only(kind, 1 << NB_STEP_GET);
	int rc = NB_UNSUPPORTED;
	worker->is_adding = true;
	if (*way == WAY_EXECUTE) {
		rc = engine->execute(worker->session, op->steps, op->items, steps_flags(kind));
		if (rc == NB_UNSUPPORTED) {
			*way = first_way(engine, kind, WAY_TXN);
			if (*way == WAYS)
				return refuse_calls(engine, kind);
			if (kind->atomic == NB_ATOMIC_REQUIRED &&
				level_of(engine, kind, *way) == STEPS_EMULATED)
				return refuse_level(engine, kind);
		}
	}
	if (*way == WAY_TXN)
		rc = transaction(worker, op, kind, is_sample, clock_kind, span);
	else if (*way == WAY_SINGLE)
		rc = each_step(
			worker, op, is_sample, clock_kind, span, !is_one_verb(engine, kind));
	else if (*way == WAY_TOGETHER)
		rc = reads_alone ? multi_get(worker, op) : batch(worker, op, kind);
	bool is_lent = *way == WAY_EXECUTE || *way == WAY_TOGETHER;
	bool is_whole = *way != WAY_SINGLE || is_one_verb(engine, kind);
	if (rc == NB_CONFLICT && !is_whole)
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
	uint32_t level = level_by(worker, op->kind);
	if (is_sample && may_be_torn && level >= STEPS_SNAPSHOT && puts_at_once(worker))
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
