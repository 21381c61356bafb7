/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What exactly is timed of a mixed workload.
 *
 * As in worker.c: the clock brackets the engine's call, the reading of what it returned,
 * and the release of that; both stamps are fenced; what is verified stays on loan while the
 * clock is stopped; times go into histograms a block at a time. The branch on the kind of
 * the operation is taken before the first stamp, so that guessing it wrong is not charged
 * to the engine.
 *
 * Service time is from the first stamp to the last. Response time is from the moment at
 * which the operation was due, by a schedule that was fixed before the run and waits for
 * nobody; without a rate there is no such moment, and no response time is made up.
 *
 * Threads take strata of operations in turn: thread t of T those with s mod T = t. What one
 * has to know of the others is only how many strata they have done, and only before a
 * stratum that may go to new records; it looks again only where what it saw last does not
 * suffice.
 *
 * An operation counts if it began after the warm-up. What would make the numbers wrong: to
 * decide that by its end, which would leave out the longest of those that began before.
 *
 * An operation may never return: then another thread counts what was done before it, which is
 * why a block's times are not on the worker's own stack. Memory order is as in worker.c: they
 * are written before `done` (release), and counted by who holds `is_counting`. Where the block
 * begins is written before the post says that the worker is within the engine (release), and
 * not needed while it says that it is not, for then all is counted that is done.
 *
 * Each time that the clock is stopped leaves the cost of one stamp in the time, some 10 to
 * 15 ns: of a read that is verified once, of such a scan once for each record.
 */
#include "run/job_worker.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "run/fault.h"

enum {
	SPINS = 200,     /* looks at a thread that is behind before the CPU is given away */
	SCAN_TOLD = 4096 /* records of a scan, each of which is a sign of life */
};

#define ALWAYS_INLINE inline __attribute__((always_inline))

/** One operation's stamps, and what it moved. */
struct span {
	uint64_t begin, end;
	uint64_t paused; /* ticks between them in which data was verified */
	uint64_t records, bytes;
	uint32_t conflicts; /* attempts that were in vain */
};

/** Moments of this worker's run, in ticks. */
struct moments {
	uint64_t begin, warm, end;
};

/** What the operations of a block took; counted when they are done. */
struct job_taken {
	struct span spans[OPS_STRATUM];
	uint64_t due[OPS_STRATUM]; /* ticks */
	int answers[OPS_STRATUM];
	const struct ops_op *ops;
	uint64_t first; /* operations done before the block */
	struct feed_taken fed;
	struct moments moments;
};

/* ---- memory ---- */

static size_t
histograms_of(const struct job_plan *plan)
{
	size_t count = (size_t)__builtin_popcount(plan->kinds);
	return plan->is_paced ? 2 * count : count;
}

static size_t
own_at(const struct job_plan *plan)
{
	return sizeof(struct job_worker) + histograms_of(plan) * sizeof(struct nb_histogram);
}

static size_t
own_bytes(const struct job_plan *plan)
{
	size_t each = sizeof(struct job_own);
	each += plan->feed != NULL ? sizeof(struct job_own_key) : 0;
	return plan->own_places * each;
}

static size_t
bytes_of(const struct job_plan *plan)
{
	return own_at(plan) + own_bytes(plan);
}

/** So that no page is missing when the operations run. What is there stays. */
static void
touch(volatile uint8_t *bytes, size_t size)
{
	enum { PAGE = 4096 };
	for (size_t at = 0; at < size; at += PAGE)
		bytes[at] = bytes[at];
}

static void
describe(const struct post *post, const char *call, char *buf, size_t size)
{
	const struct job_worker *worker = (const void *)((const char *)post -
		offsetof(struct job_worker, post));
	const struct job_taken *taken = worker->taken;
	const struct ops_op *op = NULL;
	bool is_operation = strcmp(call, "operation") == 0;
	char key[80];
	if (strcmp(call, "reading back") == 0)
		op = worker->looked_at;
	uint64_t at = __atomic_load_n(&worker->done, __ATOMIC_ACQUIRE);
	if (is_operation && at - taken->first < OPS_STRATUM)
		op = &taken->ops[at - taken->first];
	if (op == NULL || op->keys == NULL) {
		snprintf(buf, size, "%s", call);
		return;
	}
	post_format_key(key, sizeof(key), op->keys[0].data, op->keys[0].size);
	snprintf(buf, size, "%s, operation %llu (key %s)",
		is_operation ? nb_op_name(op->kind) : call, (unsigned long long)op->index, key);
}

int
job_worker_new(
	struct job_worker **out, const struct job_plan *plan, uint32_t thread, bool is_shared)
{
	int sharing = is_shared ? MAP_SHARED : MAP_PRIVATE;
	struct job_worker *worker = mmap(
		NULL, bytes_of(plan), PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
	if (worker == MAP_FAILED)
		return error_system("out of memory for a worker");
	worker->plan = plan;
	worker->thread = thread;
	worker->post.worker = thread;
	worker->post.done = &worker->done;
	worker->post.describe = describe;
	worker->own = (void *)((char *)worker + own_at(plan));
	if (plan->feed != NULL)
		worker->own_key = (void *)(worker->own + plan->own_places);
	*out = worker;
	return NB_OK;
}

void
job_worker_delete(struct job_worker *worker)
{
	if (worker != NULL)
		munmap(worker, bytes_of(worker->plan));
}

int
job_worker_enter(struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	struct nb_histogram *next = (struct nb_histogram *)(worker + 1);
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		if ((plan->kinds >> kind & 1) == 0)
			continue;
		worker->counts[kind].service = next++;
		histogram_create(worker->counts[kind].service);
		if (!plan->is_paced)
			continue;
		worker->counts[kind].response = next++;
		histogram_create(worker->counts[kind].response);
	}
	pacer_create(&worker->pacer, plan->clock, PACER_AUTO, plan->may_spin);
	__atomic_store_n(&worker->strata_done, worker->thread, __ATOMIC_RELEASE);
	fault_set_post(&worker->post);
	touch((void *)worker->own, own_bytes(plan));
	uint32_t items = plan->spec->items_max;
	worker->taken = calloc(1, sizeof(*worker->taken));
	worker->writes = calloc(items, sizeof(*worker->writes));
	worker->found = calloc(items, sizeof(*worker->found));
	worker->found_answers = calloc(items, sizeof(*worker->found_answers));
	if (worker->taken == NULL || worker->writes == NULL || worker->found == NULL ||
		worker->found_answers == NULL)
		return error_set(NB_FAIL, "out of memory for %u records at once", items);
	if (plan->feed != NULL)
		return NB_OK; /* operations come from there */
	return ops_maker_create(&worker->maker, plan->spec);
}

void
job_worker_leave(struct job_worker *worker)
{
	free(worker->taken);
	worker->taken = NULL;
	free(worker->writes);
	free(worker->found);
	free(worker->found_answers);
	ops_maker_destroy(&worker->maker);
}

/* ---- operations ---- */

static ALWAYS_INLINE bool
is_halted(const struct job_worker *worker)
{
	return __atomic_load_n(worker->plan->halt, __ATOMIC_RELAXED) != 0;
}

/** After NB_CONFLICT: count it, and say whether to try again. */
static __attribute__((noinline)) bool
retries(struct job_worker *worker, struct span *span)
{
	post_enter(&worker->post, worker->post.call); /* an answer is a sign of life */
	return ++span->conflicts < WORKER_CONFLICTS_MAX && !is_halted(worker);
}

/** Stop the clock while `what` looks at data. */
#define PAUSED(what) \
	do { \
		uint64_t pause = clock_stamp(clock_kind); \
		what; \
		span->paused += clock_stamp(clock_kind) - pause; \
	} while (0)

/** Time `attempt`, an expression of type int, until it does not conflict. */
#define TIMED(attempt) \
	do { \
		span->paused = 0; \
		span->conflicts = 0; \
		span->begin = clock_stamp(clock_kind); \
		do { \
			span->records = span->bytes = 0; \
			rc = (attempt); \
			span->end = clock_stamp(clock_kind); \
		} while (__builtin_expect(rc == NB_CONFLICT, 0) && retries(worker, span)); \
	} while (0)

static ALWAYS_INLINE int
get(struct job_worker *worker, const struct ops_op *op, uint32_t item, bool is_sample,
	uint32_t clock_kind, struct span *span)
{
	const struct nb_engine *engine = worker->plan->engine;
	struct nb_slice value;
	int rc = engine->get(worker->session, op->keys[item], &value);
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

static ALWAYS_INLINE int
put(struct job_worker *worker, const struct ops_op *op, uint32_t item, struct span *span)
{
	int rc = worker->plan->engine->put(worker->session, op->keys[item], op->values[item]);
	if (rc == NB_OK) {
		span->records++;
		span->bytes += op->values[item].size;
	}
	return rc;
}

static int
read_modify_write(struct job_worker *worker, const struct ops_op *op, bool is_sample,
	uint32_t clock_kind, struct span *span)
{
	int rc = get(worker, op, 0, is_sample, clock_kind, span);
	if (rc != NB_OK && rc != NB_NOT_FOUND)
		return rc;
	int written = put(worker, op, 0, span);
	return written != NB_OK ? written : rc;
}

static int
scan(struct job_worker *worker, const struct ops_op *op, bool is_sample, uint32_t clock_kind,
	struct span *span)
{
	const struct nb_engine *engine = worker->plan->engine;
	struct job_scan_check check;
	struct nb_scan_args args = {
		.size = sizeof(args), .from = op->keys[0], .limit = op->length};
	struct nb_slice key, value;
	if (is_sample)
		PAUSED(check = (struct job_scan_check){.seen = 0});
	int rc = engine->scan_open(worker->session, &args);
	if (rc != NB_OK)
		return rc;
	uint64_t seen = 0;
	for (uint64_t until = 0; until < op->length && rc == NB_OK;) {
		if (until > 0) /* all records of a large database may take an hour */
			post_enter(&worker->post, worker->post.call);
		until = op->length - until > SCAN_TOLD ? until + SCAN_TOLD : op->length;
		while (seen < until && rc == NB_OK) {
			rc = engine->scan_next(worker->session, &key, &value);
			if (rc != NB_OK)
				break;
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
		rc = NB_OK; /* the last record: an end like any other */
	return rc != NB_OK ? rc : closed;
}

/** The list that a batch is handed over as, made ahead of the clock. Bytes of its values. */
static uint64_t
list_writes(struct job_worker *worker, const struct ops_op *op)
{
	uint64_t bytes = 0;
	for (uint32_t k = 0; k < op->items; k++) {
		worker->writes[k] = (struct nb_write){
			.key = op->keys[k], .value = op->values[k]};
		bytes += op->values[k].size;
	}
	return bytes;
}

static int
batch(struct job_worker *worker, const struct ops_op *op, uint64_t bytes, struct span *span)
{
	span->records = op->items;
	span->bytes = bytes;
	return worker->plan->engine->batch(worker->session, worker->writes, op->items, 0);
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
	int other = NB_OK; /* the first answer that is neither found nor not found */
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

/** A transaction ends in all that it did, or in nothing. */
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
	for (uint32_t k = 0; k < op->items && rc == NB_OK; k++) {
		rc = is_read ? get(worker, op, k, is_sample, clock_kind, span)
			     : put(worker, op, k, span);
		worker->found_answers[k] = rc;
		if (rc == NB_NOT_FOUND) {
			is_missing = true;
			rc = NB_OK;
		}
	}
	if (rc == NB_OK)
		rc = engine->commit(worker->session);
	else
		engine->abort(worker->session);
	return rc == NB_OK && is_missing ? NB_NOT_FOUND : rc;
}

/** Of many records: those that were not there, judged when the clock is stopped for good. */
static __attribute__((noinline)) void
judge_misses(struct job_worker *worker, const struct ops_op *op)
{
	for (uint32_t k = 0; k < op->items; k++) {
		if (worker->found_answers[k] == NB_NOT_FOUND)
			job_verify_miss(worker, op, k);
	}
}

/** Do it, with its stamps; NB_NOT_FOUND has been judged. */
static ALWAYS_INLINE int
operate(struct job_worker *worker, const struct ops_op *op, bool is_sample, uint32_t clock_kind,
	struct span *span)
{
	uint64_t bytes;
	int rc = NB_OK;
	switch (op->kind) {
	case NB_OP_READ:
		TIMED(get(worker, op, 0, is_sample, clock_kind, span));
		if (__builtin_expect(rc == NB_NOT_FOUND, 0))
			job_verify_miss(worker, op, 0);
		break;
	case NB_OP_UPDATE:
	case NB_OP_INSERT:
	case NB_OP_UPSERT:
		TIMED(put(worker, op, 0, span));
		break;
	case NB_OP_DELETE:
		TIMED(worker->plan->engine->del(worker->session, op->keys[0]));
		break;
	case NB_OP_SCAN:
		TIMED(scan(worker, op, is_sample, clock_kind, span));
		/* at its open: a trace may begin behind the last record, a job does not */
		if (__builtin_expect(rc == NB_NOT_FOUND, 0) && worker->plan->feed == NULL)
			job_verify_miss(worker, op, 0);
		break;
	case NB_OP_RMW:
		TIMED(read_modify_write(worker, op, is_sample, clock_kind, span));
		if (__builtin_expect(rc == NB_NOT_FOUND, 0))
			job_verify_miss(worker, op, 0);
		break;
	case NB_OP_BATCH:
		bytes = list_writes(worker, op);
		TIMED(batch(worker, op, bytes, span));
		break;
	case NB_OP_MULTIGET:
		TIMED(multi_get(worker, op, is_sample, clock_kind, span));
		if (__builtin_expect(rc == NB_NOT_FOUND, 0))
			judge_misses(worker, op);
		break;
	default:
		TIMED(transaction(worker, op, is_sample, clock_kind, span));
		if (__builtin_expect(rc == NB_NOT_FOUND, 0))
			judge_misses(worker, op);
	}
	return rc;
}

static __attribute__((noinline)) void
fail(struct job_worker *worker, const struct ops_op *op, int rc)
{
	const char *name = worker->plan->engine->name, *what = nb_op_name(op->kind);
	unsigned long long i = op->index;
	worker->rc = rc < 0 ? rc : NB_FAIL;
	if (rc < 0)
		snprintf(worker->text, sizeof(worker->text), "%s: %s, operation %llu: %s", name,
			what, i,
			nb_error_text()[0] != '\0' ? nb_error_text()
						   : "failed without saying why");
	else if (rc == NB_CONFLICT)
		snprintf(worker->text, sizeof(worker->text),
			"%s: %s, operation %llu: answered with a conflict %d times in a row",
			name, what, i, WORKER_CONFLICTS_MAX);
	else
		snprintf(worker->text, sizeof(worker->text),
			"%s: %s, operation %llu: answered %d, which means nothing here", name,
			what, i, rc);
}

/* ---- the loop ---- */

/** The sampler looks at these meanwhile. */
static ALWAYS_INLINE void
note_answer(struct job_counts *counts, int answer, uint64_t more)
{
	uint64_t *place = &counts->answers[answer];
	__atomic_store_n(
		place, __atomic_load_n(place, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
}

/** What has not been counted yet of the first `done` ones. */
static void
count_until(struct job_worker *worker, uint64_t done)
{
	const struct job_plan *plan = worker->plan;
	const struct job_taken *taken = worker->taken;
	const struct moments *moments = &taken->moments;
	const struct ops_op *ops = taken->ops;
	uint64_t measured = 0;
	if (worker->counted == done)
		return;
	/* Behind a warm-up, what was due and waited did so while others were done. */
	bool is_from_due = plan->schedule != NULL && plan->warmup_count == 0 &&
		moments->warm == moments->begin;
	uint64_t until = done - taken->first;
	for (uint64_t j = worker->counted - taken->first; j < until; j++) {
		const struct span *span = &taken->spans[j];
		pulse_add(&worker->pulses, span->end);
		if (span->begin < moments->warm || ops[j].index < plan->warmup_count) {
			worker->warm_commits += job_is_commit(ops[j].kind, taken->answers[j]);
			continue;
		}
		struct job_counts *counts = &worker->counts[ops[j].kind];
		uint64_t ticks = span->end - span->begin - span->paused;
		histogram_add(counts->service, clock_ns(plan->clock, ticks));
		if (counts->response != NULL) {
			uint64_t wait = span->begin - taken->due[j];
			histogram_add(counts->response, clock_ns(plan->clock, wait + ticks));
		}
		note_answer(counts, taken->answers[j], 1);
		if (__builtin_expect(span->conflicts > 0, 0))
			note_answer(counts, NB_CONFLICT, span->conflicts);
		counts->records += span->records;
		counts->bytes += span->bytes;
		if (worker->measured + measured++ == 0)
			worker->first_ticks = is_from_due ? taken->due[j] : span->begin;
		worker->last_ticks = span->end;
	}
	__atomic_store_n(&worker->measured, worker->measured + measured, __ATOMIC_RELAXED);
	worker->counted = done;
	worker->told_ticks = taken->spans[until - 1].end;
}

/** The same, on the worker's own thread, if nobody has taken it over. */
static __attribute__((noinline)) void
count_block(struct job_worker *worker, uint64_t done)
{
	if (__atomic_exchange_n(&worker->is_counting, 1, __ATOMIC_ACQUIRE) != 0)
		return;
	count_until(worker, done);
	__atomic_store_n(&worker->is_counting, 0, __ATOMIC_RELEASE);
}

void
job_worker_take_over(struct job_worker *worker)
{
	while (__atomic_exchange_n(&worker->is_counting, 1, __ATOMIC_ACQUIRE) != 0)
		sched_yield(); /* it counts a block, which takes a microsecond */
	if (__atomic_load_n(&worker->post.call, __ATOMIC_ACQUIRE) != NULL &&
		worker->taken != NULL)
		count_until(worker, __atomic_load_n(&worker->done, __ATOMIC_ACQUIRE));
}

/** Not within the engine meanwhile, so that nobody takes it for one that does not return. */
static ALWAYS_INLINE void
wait_until_due(struct job_worker *worker, uint64_t due, uint32_t clock_kind)
{
	uint64_t now = clock_stamp(clock_kind);
	if (now >= due)
		return;
	post_leave(&worker->post);
	pacer_wait_until(&worker->pacer, due, now, worker->plan->halt);
	post_enter(&worker->post, "operation");
}

/** Late by so much is the operation that begins now. */
static inline void
note_lag(struct job_worker *worker, uint64_t due, uint64_t begin)
{
	worker->lag_ns = clock_ns(worker->plan->clock, begin - due);
	if (worker->lag_ns > worker->lag_max_ns)
		worker->lag_max_ns = worker->lag_ns;
}

/**
 * Do `count` operations, which are made. False if the worker is to stop here. `clock_kind`
 * and `is_paced` are constants wherever this is called.
 */
static ALWAYS_INLINE bool
run_block(struct job_worker *worker, const struct ops_op *ops, uint32_t count,
	uint32_t clock_kind, bool is_paced)
{
	const struct job_plan *plan = worker->plan;
	struct job_taken *taken = worker->taken;
	uint64_t threshold = plan->verify_threshold, done = worker->done;
	uint64_t end = taken->moments.end;
	bool is_over = stop_requested(); /* also if the keys just read were lost */
	uint32_t j = 0;
	taken->ops = ops;
	taken->first = done;
	post_enter(&worker->post, "operation");
	while (j < count && !is_over) {
		const struct ops_op *op = &ops[j];
		struct span *span = &taken->spans[j];
		if (is_paced) {
			if (taken->due[j] >= end) {
				is_over = true;
				break;
			}
			wait_until_due(worker, taken->due[j], clock_kind);
			if (is_halted(worker) || worker->rc != NB_OK) {
				is_over = true;
				break;
			}
		}
		int rc = operate(
			worker, op, is_sampled(op->index, threshold), clock_kind, span);
		if (__builtin_expect(rc == NB_CONFLICT && is_halted(worker), 0)) {
			is_over = true; /* stopped meanwhile: this one has not been done */
			break;
		}
		if (__builtin_expect(rc < 0 || rc == NB_CONFLICT || rc >= NB_PENDING, 0)) {
			fail(worker, op, rc);
			is_over = true;
			break;
		}
		if (ops_is_write(op->kind) || op->kind == NB_OP_DELETE)
			job_remember(worker, op);
		if (is_paced)
			note_lag(worker, taken->due[j], span->begin);
		taken->answers[j++] = rc;
		/* Told at once: a block can last for seconds, at a low rate or with fsync(). */
		__atomic_store_n(&worker->done, done + j, __ATOMIC_RELEASE);
		is_over = span->end >= end || is_halted(worker);
		/* slow ones are told as they come, or who looks sees none and then a block */
		if (__builtin_expect(span->end - worker->told_ticks > plan->tell_ticks, 0))
			count_block(worker, done + j);
	}
	count_block(worker, done + j);
	post_leave(&worker->post);
	return !is_over;
}

/** All strata below this one are done by all: known once, it stays so. */
static __attribute__((noinline)) bool
wait_for_peers(struct job_worker *worker, uint64_t needed)
{
	const struct job_plan *plan = worker->plan;
	uint64_t begin = clock_stamp(plan->clock->kind);
	uint32_t spins = 0;
	for (uint32_t t = 0; t < plan->threads;) {
		/* Looked at first: what it has done before its end is seen after that. */
		bool is_over = __atomic_load_n(&plan->workers[t]->is_over, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&plan->workers[t]->strata_done, __ATOMIC_ACQUIRE) >=
			needed) {
			t++;
			continue;
		}
		/* One that ended before will never do it: then this one is at its end, too. */
		if (is_halted(worker) || is_over)
			return false;
		if (++spins % SPINS == 0)
			sched_yield();
	}
	worker->peers_done = needed;
	worker->waited_ns += clock_ns(plan->clock, clock_stamp(plan->clock->kind) - begin);
	return true;
}

static inline void
set_due(struct job_worker *worker, struct arrivals *arrivals, uint64_t *due, uint32_t count,
	uint64_t begin)
{
	arrivals_next(arrivals, due, count);
	for (uint32_t j = 0; j < count; j++)
		due[j] = due[j] == UINT64_MAX ? UINT64_MAX
					      : clock_after(worker->plan->clock, begin, due[j]);
}

static ALWAYS_INLINE void
run_strata(struct job_worker *worker, uint32_t clock_kind, bool is_paced)
{
	const struct job_plan *plan = worker->plan;
	struct ops_maker *maker = &worker->maker;
	struct job_taken *taken = worker->taken;
	struct arrivals arrivals;
	if (is_paced)
		arrivals_create(&arrivals, plan->schedule, worker->thread, plan->threads,
			plan->spec->seed);
	if (is_paced && plan->count != UINT64_MAX)
		arrivals_take_turns(&arrivals, plan->count, OPS_STRATUM);
	for (uint64_t s = worker->thread; s * OPS_STRATUM < plan->count; s += plan->threads) {
		uint64_t needed = ops_needs(plan->spec, s);
		if (needed > worker->peers_done && !wait_for_peers(worker, needed))
			return;
		ops_begin(maker, s);
		uint32_t made;
		while ((made = ops_make(maker)) > 0) {
			if (is_paced)
				set_due(worker, &arrivals, taken->due, made,
					taken->moments.begin);
			if (!run_block(worker, maker->ops, made, clock_kind, is_paced))
				return;
		}
		__atomic_store_n(&worker->strata_done, s + plan->threads, __ATOMIC_RELEASE);
	}
}

/** What a trace deletes is not known before: from now on, a record may not be there. */
static void
tell_deletes(struct job_gate *gate, const struct ops_op *ops, uint32_t count)
{
	for (uint32_t j = 0; j < count; j++) {
		if (ops[j].kind == NB_OP_DELETE &&
			__atomic_load_n(&gate->has_deletes, __ATOMIC_RELAXED) == 0)
			__atomic_store_n(&gate->has_deletes, 1, __ATOMIC_RELAXED);
	}
}

/** The same of a trace, whose operations come from elsewhere. */
static ALWAYS_INLINE void
run_feed(struct job_worker *worker, uint32_t clock_kind, bool is_paced)
{
	const struct job_plan *plan = worker->plan;
	struct job_taken *taken = worker->taken;
	struct feed_taken *from = &taken->fed;
	int made;
	while ((made = feed_take(plan->feed, worker->thread, from, plan->halt)) > 0) {
		tell_deletes(plan->gate, from->ops, (uint32_t)made);
		for (int j = 0; j < made && is_paced; j++)
			taken->due[j] = clock_after(
				plan->clock, taken->moments.begin, from->due_ns[j]);
		if (!run_block(worker, from->ops, (uint32_t)made, clock_kind, is_paced))
			break;
	}
	if (made < 0) {
		worker->rc = made;
		snprintf(worker->text, sizeof(worker->text), "%s", nb_error_text());
	}
	feed_taken_destroy(from);
}

#define LOOP(name, clock_kind, is_paced) \
	static __attribute__((noinline)) void name(struct job_worker *worker) \
	{ \
		if (worker->plan->feed != NULL) \
			run_feed(worker, clock_kind, is_paced); \
		else \
			run_strata(worker, clock_kind, is_paced); \
	}

LOOP(closed_tsc, NB_CLOCK_TSC, false)
LOOP(paced_tsc, NB_CLOCK_TSC, true)
LOOP(closed_monotonic, NB_CLOCK_MONOTONIC, false)
LOOP(paced_monotonic, NB_CLOCK_MONOTONIC, true)

/** Say that this worker is ready, and wait for the others. False: there will be no begin. */
static bool
pass_gate(struct job_worker *worker, struct moments *moments)
{
	const struct job_plan *plan = worker->plan;
	struct job_gate *gate = plan->gate;
	__atomic_add_fetch(&gate->waiting, 1, __ATOMIC_ACQ_REL);
	uint64_t begin;
	while ((begin = __atomic_load_n(&gate->begin, __ATOMIC_ACQUIRE)) == UINT64_MAX) {
		if (is_halted(worker))
			return false;
		struct timespec moment = {.tv_nsec = 50000};
		nanosleep(&moment, NULL);
	}
	pulse_begin(&worker->pulses, plan->clock, begin);
	*moments = (struct moments){.begin = begin,
		.warm = begin + plan->warm_ticks,
		.end = plan->end_ticks < UINT64_MAX - begin ? begin + plan->end_ticks
							    : UINT64_MAX};
	pacer_enter_thread();
	pacer_wait(&worker->pacer, begin, plan->halt);
	return !is_halted(worker);
}

/** A session that has nothing to do for a while. */
static void
idle(void *arg)
{
	struct job_worker *worker = arg;
	post_enter(&worker->post, "tick");
	int rc = worker->plan->engine->tick(worker->session);
	post_leave(&worker->post);
	if (rc >= 0 || worker->rc != NB_OK)
		return;
	worker->rc = rc;
	snprintf(worker->text, sizeof(worker->text), "%s: tick: %s", worker->plan->engine->name,
		nb_error_text());
}

void
job_worker_run(struct job_worker *worker)
{
	if (worker->plan->engine->tick != NULL) {
		worker->pacer.idle = idle;
		worker->pacer.idle_arg = worker;
	}
	static void (*const loops[2][2])(struct job_worker *) = {
		{closed_tsc, paced_tsc}, {closed_monotonic, paced_monotonic}};
	if (pass_gate(worker, &worker->taken->moments)) {
		bool is_monotonic = worker->plan->clock->kind == NB_CLOCK_MONOTONIC;
		loops[is_monotonic][worker->plan->is_paced](worker);
	}
	__atomic_store_n(&worker->is_over, 1, __ATOMIC_RELEASE);
}
