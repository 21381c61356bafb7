/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_OPERATE_H
#define RUN_OPERATE_H
/**
 * The execution of one operation with its stamps. See the head of worker.c, which alone
 * includes this.
 */
#include "run/backoff.h"
#include "run/isolation.h"
#include "run/steps.h"
#include "run/worker_taken.h"

enum { SCAN_TOLD = 4096 /* a scan renews the heartbeat after this many records */ };

/** Stop the clock during `what`, which verifies data. */
#define PAUSED(what) \
	do { \
		uint64_t pause = clock_stamp(clock_kind); \
		what; \
		span->paused += clock_stamp(clock_kind) - pause; \
	} while (0)

/**
 * Time `attempt`, an expression of type int that fills in `span`. An operation without stamps
 * of its own gets the begin of its stretch, timed->begin, as begin and end. `is_simple` is a
 * constant: mininb does nothing for the operation before it. `span` and the
 * attempts after a conflict use spans of their own, and not `timed`. Otherwise the compiler
 * keeps variables of the loop in memory instead of registers.
 */
#define TIMED(attempt) \
	do { \
		uint64_t since = !is_stamped ? timed->begin \
			: is_simple          ? clock_stamp_begin(clock_kind) \
					     : clock_stamp(clock_kind); \
		struct span local = {.begin = since}; \
		struct span *span __attribute__((unused)) = &local; /* may be unused */ \
		rc = (attempt); \
		local.end = is_stamped ? clock_stamp(clock_kind) : since; \
		if (__builtin_expect(rc == NB_CONFLICT, 0)) { \
			struct span again = {.begin = local.begin, .paused = local.paused}; \
			rc = attempt_again(worker, op, is_sample, clock_kind, &again); \
			local = again; \
		} \
		*timed = local; \
	} while (0)

static ALWAYS_INLINE int
get(struct job_worker *worker, const struct nb_engine *engine, struct nb_slice key,
	const struct ops_op *op, uint32_t item, bool is_sample, uint32_t clock_kind,
	struct span *span)
{
	struct nb_slice value = {NULL, 0}; /* for an engine that does not set it */
	int rc = engine->get(worker->session, key, &value);
	if (rc != NB_OK)
		return rc;
	if (!worker_may_consume(value))
		return worker_refuse(engine, worker->session, "get", value);
	worker_consume(value);
	span->records++;
	span->bytes += value.size;
	if (__builtin_expect(is_sample, 0))
		PAUSED(job_verify_value(worker, op, item, value));
	if (engine->release != NULL)
		engine->release(worker->session);
	return NB_OK;
}

/** The put or the insert of an engine. */
typedef int
store_fn(struct nb_session *session, struct nb_slice key, struct nb_slice value);

/** The verb that executes an insert. */
static inline store_fn *
inserting(const struct job_plan *plan)
{
	return plan->is_native_insert ? plan->engine->insert : plan->engine->put;
}

/** `store` is the engine's put or insert. */
static ALWAYS_INLINE int
put(struct job_worker *worker, store_fn *store, struct nb_slice key, struct nb_slice value,
	struct span *span)
{
	int rc = store(worker->session, key, value);
	if (rc == NB_OK) {
		span->records++;
		span->bytes += value.size;
	}
	return rc;
}

/** An addition with the engine's own verb. add_end() records it. */
static ALWAYS_INLINE int
add(struct job_worker *worker, const struct nb_engine *engine, const struct ops_op *op,
	struct nb_slice key, struct span *span)
{
	worker->is_adding = true;
	int rc = engine->merge(worker->session, key, NB_MERGE_ADD_U64, op->steps[0].operand);
	span->records += rc == NB_OK;
	if (__builtin_expect(rc == NB_CONFLICT, 0))
		worker->is_adding = false; /* nothing has happened */
	return rc;
}

/** Like steps_end(). */
static ALWAYS_INLINE void
add_end(struct job_worker *worker, const struct ops_op *op, int rc)
{
	if (rc < 0 || rc == NB_CONFLICT)
		return;
	worker->added += rc == NB_OK ? op->steps[0].operand : 0;
	worker->is_adding = false;
}

static int
read_modify_write(struct job_worker *worker, const struct ops_op *op, bool is_sample,
	uint32_t clock_kind, struct span *span)
{
	struct nb_slice key = op->keys[0];
	const struct nb_engine *engine = worker->plan->engine;
	int rc = get(worker, engine, key, op, 0, is_sample, clock_kind, span);
	if (rc != NB_OK && rc != NB_NOT_FOUND)
		return rc;
	int written = put(worker, engine->put, key, op->values[0], span);
	return written != NB_OK ? written : rc;
}

static int
scan(struct job_worker *worker, const struct ops_op *op, bool is_sample, uint32_t clock_kind,
	struct span *span)
{
	const struct nb_engine *engine = worker->plan->engine;
	struct job_scan_check check;
	const struct nb_group *group = worker->plan->spec->group;
	bool is_keys_only = group->is_scan_keys_only != 0;
	struct nb_scan_args args = {.size = sizeof(args),
		.flags = (group->is_scan_backward != 0 ? NB_SCAN_BACKWARD : 0) |
			(is_keys_only ? NB_SCAN_KEYS_ONLY : 0),
		.from = op->keys[0],
		.limit = op->length};
	struct nb_slice key = {NULL, 0}, value = {NULL, 0};
	if (is_sample)
		PAUSED(check = (struct job_scan_check){.seen = 0});
	int rc = engine->scan_open(worker->session, &args);
	if (rc != NB_OK)
		return rc;
	uint64_t seen = 0;
	for (uint64_t until = 0; until < op->length && rc == NB_OK;) {
		if (until > 0) /* a scan of a large database may take an hour */
			heartbeat_enter(&worker->heartbeat, worker->heartbeat.call);
		until = op->length - until > SCAN_TOLD ? until + SCAN_TOLD : op->length;
		while (seen < until && rc == NB_OK) {
			rc = engine->scan_next(worker->session, &key, &value);
			if (rc != NB_OK)
				break;
			if (is_keys_only) /* the engine may lend anything */
				value = (struct nb_slice){NULL, 0};
			if (!worker_may_consume(key) || !worker_may_consume(value)) {
				rc = engine_refuse_size("scan_next",
					worker_may_consume(key) ? value.size : key.size);
				break;
			}
			seen++;
			worker_consume(key);
			worker_consume(value);
			span->bytes += value.size;
			if (__builtin_expect(is_sample, 0))
				PAUSED(job_verify_scanned(worker, op, &check, key, value));
		}
	}
	span->records = seen;
	int closed = engine->scan_close(worker->session);
	if (is_sample && (rc == NB_OK || rc == NB_NOT_FOUND))
		PAUSED(job_verify_scan_end(worker, op, &check, rc == NB_NOT_FOUND));
	if (rc == NB_NOT_FOUND)
		rc = NB_OK; /* the scan reached the last record, which is a normal end */
	return rc != NB_OK ? rc : closed;
}

/** Make the list of a batch's writes, before the clock starts. */
static void
list_writes(struct job_worker *worker, const struct ops_op *op)
{
	for (uint32_t k = 0; k < op->items; k++)
		worker->writes[k] = (struct nb_write){
			.key = op->keys[k], .value = op->values[k]};
}

static int
batch(struct job_worker *worker, const struct ops_op *op)
{
	uint32_t flags = worker->plan->spec->group->is_batch_atomic != 0 ? NB_BATCH_ATOMIC : 0;
	return worker->plan->engine->batch(worker->session, worker->writes, op->items, flags);
}

static void
note_batch(const struct ops_op *op, struct span *span)
{
	span->records = op->items;
	for (uint32_t k = 0; k < op->items; k++)
		span->bytes += op->values[k].size;
}

static int
multi_get(struct job_worker *worker, const struct ops_op *op, bool is_sample,
	uint32_t clock_kind, struct span *span)
{
	const struct nb_engine *engine = worker->plan->engine;
	int rc = engine->multi_get(
		worker->session, op->keys, op->items, worker->found, worker->found_answers);
	if (rc != NB_OK)
		return rc;
	int other = NB_OK; /* the first answer other than NB_OK and NB_NOT_FOUND */
	for (uint32_t k = 0; k < op->items; k++) {
		if (worker->found_answers[k] == NB_OK) {
			if (!worker_may_consume(worker->found[k]))
				return worker_refuse(
					engine, worker->session, "multi_get", worker->found[k]);
			worker_consume(worker->found[k]);
			span->records++;
			span->bytes += worker->found[k].size;
			if (__builtin_expect(is_sample, 0))
				PAUSED(job_verify_value(worker, op, k, worker->found[k]));
		} else if (worker->found_answers[k] == NB_NOT_FOUND) {
			rc = NB_NOT_FOUND;
		} else if (other == NB_OK) {
			other = worker->found_answers[k];
		}
	}
	if (engine->release != NULL)
		engine->release(worker->session);
	return other != NB_OK ? other : rc;
}

/** The calls of a transaction between begin and commit or abort. `is_read` is a constant. */
static ALWAYS_INLINE int
do_records(struct job_worker *worker, const struct ops_op *op, bool is_read, bool is_sample,
	uint32_t clock_kind, struct span *out, bool *is_missing)
{
	const struct nb_engine *engine = worker->plan->engine;
	const struct nb_slice *keys = op->keys, *values = op->values;
	int32_t *answers = worker->found_answers;
	struct span span = *out; /* keeps the sums in registers: each record adds to them */
	int rc = NB_OK;
	for (uint32_t k = 0, items = op->items; k < items && rc == NB_OK; k++) {
		rc = is_read ? get(worker, engine, keys[k], op, k, is_sample, clock_kind, &span)
			     : put(worker, engine->put, keys[k], values[k], &span);
		answers[k] = rc;
		if (rc == NB_NOT_FOUND) {
			*is_missing = true;
			rc = NB_OK;
		}
	}
	*out = span;
	return rc;
}

/** Execute a transaction. It commits all of its operations, or aborts. */
static int
transaction(struct job_worker *worker, const struct ops_op *op, bool is_sample,
	uint32_t clock_kind, struct span *span)
{
	const struct nb_engine *engine = worker->plan->engine;
	bool is_read = op->kind == NB_OP_TXN_READ;
	bool is_missing = false;
	int rc = engine->begin(worker->session, is_read ? NB_TXN_READ_ONLY : 0);
	if (rc != NB_OK)
		return rc;
	rc = is_read ? do_records(worker, op, true, is_sample, clock_kind, span, &is_missing)
		     : do_records(worker, op, false, is_sample, clock_kind, span, &is_missing);
	if (rc == NB_OK)
		rc = engine->commit(worker->session);
	else
		engine->abort(worker->session);
	return rc == NB_OK && is_missing ? NB_NOT_FOUND : rc;
}

/** One attempt of any kind, after a conflict. The branch on the kind is timed here. */
static int
attempt(struct job_worker *worker, const struct ops_op *op, bool is_sample, uint32_t clock_kind,
	struct span *span)
{
	const struct nb_engine *engine = worker->plan->engine;
	switch (ops_exec(op->kind)) {
	case NB_OP_READ:
		return get(worker, engine, op->keys[0], op, 0, is_sample, clock_kind, span);
	case NB_OP_UPDATE:
	case NB_OP_UPSERT:
		return put(worker, engine->put, op->keys[0], op->values[0], span);
	case NB_OP_INSERT:
		return put(worker, inserting(worker->plan), op->keys[0], op->values[0], span);
	case NB_OP_DELETE:
		return engine->del(worker->session, op->keys[0]);
	case NB_OP_SCAN:
		return scan(worker, op, is_sample, clock_kind, span);
	case NB_OP_RMW:
		return read_modify_write(worker, op, is_sample, clock_kind, span);
	case NB_OP_BATCH:
		return batch(worker, op);
	case NB_OP_MULTIGET:
		return multi_get(worker, op, is_sample, clock_kind, span);
	case NB_OP_TXN_READ:
	case NB_OP_TXN_WRITE:
		return transaction(worker, op, is_sample, clock_kind, span);
	case OPS_ADD:
		return engine->merge != NULL
			? add(worker, engine, op, op->keys[0], span)
			: steps_attempt(worker, op, is_sample, clock_kind, span);
	case OPS_STEPS:
		return steps_attempt(worker, op, is_sample, clock_kind, span);
	default:
		__builtin_unreachable();
	}
}

/** Repeat while the operation conflicts, until the time limit or a halt. */
static __attribute__((noinline)) int
attempt_again(struct job_worker *worker, const struct ops_op *op, bool is_sample,
	uint32_t clock_kind, struct span *span)
{
	struct backoff backoff = {.limit_ns = worker->plan->conflict_ns};
	int rc = NB_CONFLICT;
	while (rc == NB_CONFLICT && backoff_wait(&backoff, worker->plan->halt)) {
		heartbeat_enter(&worker->heartbeat, worker->heartbeat.call); /* renew it */
		span->records = span->bytes = 0;
		worker->again_ticks = clock_stamp(clock_kind);
		rc = attempt(worker, op, is_sample, clock_kind, span);
		span->end = clock_stamp(clock_kind);
	}
	span->conflicts = backoff.conflicts;
	return rc == NB_CONFLICT && !is_halted(worker) ? backoff_fail(&backoff) : rc;
}

/** Judge the missing records of an operation on many records, after its last stamp. */
static __attribute__((noinline)) void
judge_misses(struct job_worker *worker, const struct ops_op *op)
{
	for (uint32_t k = 0; k < op->items; k++) {
		if (worker->found_answers[k] == NB_NOT_FOUND)
			job_verify_miss(worker, op, k);
	}
}

/** Whether mininb only calls the engine: it has no work of its own before or after. */
static ALWAYS_INLINE bool
is_one_call(uint32_t kind)
{
	return kind == NB_OP_READ || kind == NB_OP_UPDATE || kind == NB_OP_UPSERT ||
		kind == NB_OP_INSERT || kind == NB_OP_DELETE || kind == OPS_ADD;
}

/**
 * Execute an operation with its stamps, and judge NB_NOT_FOUND. `kind` is ops_exec(op->kind),
 * `keys` is op->keys, `values` is op->values and `insert` is inserting(). The caller's loop has
 * them in registers.
 */
static ALWAYS_INLINE int
operate(struct job_worker *worker, const struct nb_engine *engine, const struct ops_op *op,
	uint32_t kind, const struct nb_slice *keys, const struct nb_slice *values,
	store_fn *insert, bool is_sample, uint32_t clock_kind, bool is_stamped,
	struct span *timed)
{
	bool is_simple = is_one_call(kind);
	/* Before the stamp: fetching the engine's input is the work of mininb. */
	struct nb_slice key = keys[0];
	struct nb_slice value = ops_is_write(kind) ? values[0] : (struct nb_slice){NULL, 0};
	int rc = NB_OK;
	switch (kind) {
	case NB_OP_READ:
		TIMED(get(worker, engine, key, op, 0, is_sample, clock_kind, span));
		if (__builtin_expect(rc == NB_NOT_FOUND, 0))
			job_verify_miss(worker, op, 0);
		break;
	case NB_OP_UPDATE:
	case NB_OP_UPSERT:
		TIMED(put(worker, engine->put, key, value, span));
		break;
	case NB_OP_INSERT:
		TIMED(put(worker, insert, key, value, span));
		break;
	case NB_OP_DELETE:
		TIMED(engine->del(worker->session, key));
		if (__builtin_expect(rc == NB_NOT_FOUND, 0) && op->expects == OPS_PRESENT)
			job_verify_miss(worker, op, 0);
		break;
	case NB_OP_SCAN:
		TIMED(scan(worker, op, is_sample, clock_kind, span));
		/* from its open: a trace, but not a job, may begin after the last record */
		if (__builtin_expect(rc == NB_NOT_FOUND, 0) && worker->plan->feed == NULL)
			job_verify_miss(worker, op, 0);
		break;
	case NB_OP_RMW:
		TIMED(read_modify_write(worker, op, is_sample, clock_kind, span));
		if (__builtin_expect(rc == NB_NOT_FOUND, 0))
			job_verify_miss(worker, op, 0);
		break;
	case NB_OP_BATCH:
		list_writes(worker, op);
		TIMED(batch(worker, op));
		note_batch(op, timed);
		break;
	case NB_OP_MULTIGET:
		TIMED(multi_get(worker, op, is_sample, clock_kind, span));
		if (__builtin_expect(rc == NB_NOT_FOUND, 0))
			judge_misses(worker, op);
		break;
	case NB_OP_TXN_READ:
	case NB_OP_TXN_WRITE:
		TIMED(transaction(worker, op, is_sample, clock_kind, span));
		if (__builtin_expect(rc == NB_NOT_FOUND, 0))
			judge_misses(worker, op);
		break;
	case OPS_ADD:
		if (__builtin_expect(engine->merge != NULL, 1)) {
			TIMED(add(worker, engine, op, key, span));
			add_end(worker, op, rc);
			break;
		}
		__attribute__((fallthrough));
	case OPS_STEPS:
		is_simple = false;
		worker->is_watched = isolation_watches(worker, op);
		worker->again_ticks = 0;
		TIMED(steps_attempt(worker, op, is_sample, clock_kind, span));
		steps_end(worker, op, rc, is_sample,
			worker->again_ticks > 0 ? worker->again_ticks : timed->begin);
		break;
	default:
		__builtin_unreachable();
	}
	/* mininb's work since the last stamp must not run into the next operation */
	if (is_stamped && (!is_simple || __builtin_expect(rc != NB_OK, 0)))
		clock_wait(clock_kind);
	return rc;
}

#endif /* RUN_OPERATE_H */
