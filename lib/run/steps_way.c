/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The method of executing a list of steps, and the level that it gives.
 *
 * The method is chosen before the first operation, from the verbs of the engine. The worker
 * changes to the next one only if execute() answers NB_UNSUPPORTED, because this is not known
 * earlier. So all operations of a kind use the same method, and the result can name one level.
 *
 * A single step that is a verb of the engine needs no other method, because it is atomic.
 * Without merge(), an addition is a get and a put, and the level shows whether updates can be
 * lost.
 *
 * A flag that is not passed on would make the level wrong. The reads of a kind with a snapshot
 * are executed with NB_EXEC_SNAPSHOT, and its writes with NB_EXEC_ATOMIC.
 */
#include "run/steps_way.h"

#include "base/error.h"

const char *
steps_level_name(uint32_t level)
{
	static const char *const names[STEPS_LEVELS] = {
		"none", "emulated", "atomic writes", "snapshot", "serializable"};
	return level < STEPS_LEVELS ? names[level] : NULL;
}

bool
steps_is_one_verb(const struct nb_engine *engine, const struct nb_kind *kind)
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
		: !steps_is_one_verb(engine, kind) && (way == WAY_EXECUTE || wants_more(kind));
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
	if (steps_is_one_verb(engine, kind))
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

int
steps_choose(
	const struct nb_engine *engine, const struct nb_kind *kind, uint32_t from, uint8_t *way)
{
	*way = first_way(engine, kind, from);
	if (*way == WAYS)
		return error_set(NB_UNSUPPORTED,
			"%s: %s cannot do these steps with calls = %s; leave calls out",
			kind->name, engine->name, kind_calls_name(kind));
	if (kind->atomic == NB_ATOMIC_REQUIRED &&
		level_of(engine, kind, *way) == STEPS_EMULATED)
		return error_set(NB_UNSUPPORTED,
			"%s: %s can only do its steps one by one; use atomic = yes, which reports the level, or an engine with transactions",
			kind->name, engine->name);
	return NB_OK;
}

static int
check_kind(const struct nb_engine *engine, const struct nb_kind *kind)
{
	uint8_t way;
	int rc = steps_choose(engine, kind, WAY_EXECUTE, &way);
	if (rc != NB_OK)
		return rc;
	bool has_scan = (engine->caps & NB_CAP_ORDERED) != 0 &&
		(engine->scan_open != NULL || way == WAY_EXECUTE);
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

uint32_t
steps_level_by(const struct job_worker *worker, uint32_t k)
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
	return way == WAY_SINGLE && steps_is_one_verb(engine, kind) ? kind->steps[0].verb
								    : UINT32_MAX;
}

uint32_t
steps_level(const struct job_worker *worker)
{
	uint32_t level = STEPS_NONE, other = STEPS_NONE;
	for (uint32_t k = KIND_ADD; k < NB_KINDS_MAX; k++) {
		const struct nb_kind *kind = kind_of(worker, k);
		uint32_t own = kind != NULL ? steps_level_by(worker, k) : STEPS_NONE;
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
				steps_level_by(worker, k) >= STEPS_SNAPSHOT;
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
			keep &= steps_level_by(worker, k) >= STEPS_SNAPSHOT;
	}
	return keep || worker->plan->of_all == 1;
}

bool
steps_put_at_once(const struct job_worker *worker)
{
	bool do_all = true;
	for (uint32_t k = KIND_ADD; k < NB_KINDS_MAX; k++) {
		const struct nb_kind *kind = kind_of(worker, k);
		if (kind != NULL && (kind_verbs(kind) & KIND_PUTS) != 0 &&
			kind->atomic != NB_ATOMIC_NO)
			do_all &= steps_level_by(worker, k) >= STEPS_ATOMIC_WRITES;
	}
	return do_all;
}

uint32_t
steps_flags(const struct nb_kind *kind)
{
	bool is_read_only = !has_writes(kind);
	return (is_read_only ? NB_EXEC_READ_ONLY : 0) |
		(!is_read_only && kind->atomic != NB_ATOMIC_NO ? NB_EXEC_ATOMIC : 0) |
		(kind->snapshot != NB_ATOMIC_NO ? NB_EXEC_SNAPSHOT : 0);
}
