/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Isolation anomalies.
 *
 * All values that an operation puts have its version. So each read shows whose write it saw.
 * Assume that two operations have read the same version of a record, and one of them has
 * written the record. Then the other one precedes it in any serial order. Two anomalies are
 * cycles of this order:
 *   - Lost update: both have written the record. Neither snapshot isolation nor serializable
 *     transactions allow it.
 *   - Write skew: the orders of two records contradict each other. Snapshot isolation allows it
 *     (Berenson et al., A critique of ANSI SQL isolation levels, SIGMOD 1995).
 * mininb does not search for longer cycles.
 *
 * A worker keeps its last ACCESSES to records, of the operations that use a record of the
 * sample. Rejected: a sample of operations. It would contain both of a pair only with the
 * square of the sample rate.
 *
 * A version that stands for two writes would accuse a correct engine. An earlier run with the
 * same seed may have left the version of an operation of this run. So only two kinds of
 * versions count: those of the load, and those whose operation had ended before the two readers
 * began.
 */
#include "run/isolation.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/steps.h"

enum { ACCESSES = 1 << 14 };

/** The access of an operation to a record. */
struct access {
	uint64_t number, seen; /* version that the operation read; NOTHING: no usable one */
	uint64_t op;           /* version of the operation's puts, which identifies it */
	uint64_t begin, end;   /* ticks */
	uint32_t level;
	bool is_write;
	struct job_worker *worker;
	uint64_t index; /* number of the operation in its group */
	uint32_t kind;
};

#define NOTHING UINT64_MAX

struct isolation_log {
	uint64_t count; /* recorded accesses; the last ACCESSES still exist */
	struct access accesses[ACCESSES];
};

/** `from` precedes `to`, because `to` overwrote a version that `from` read. */
struct order {
	const struct access *from, *to;
};

/* ---- recording ---- */

static bool
reads_and_writes(const struct nb_kind *kind)
{
	uint32_t verbs = kind_verbs(kind);
	return (verbs & 1u << NB_STEP_GET) != 0 && (verbs & KIND_PUTS) != 0;
}

int
isolation_enter(struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	bool is_wanted = false;
	for (uint32_t k = KIND_OWN; k < NB_KINDS_MAX; k++) {
		const struct nb_kind *kind = kind_row(plan->spec->job, k);
		is_wanted |= kind != NULL && plan->spec->group->weights[k] > 0 &&
			reads_and_writes(kind);
	}
	if (!is_wanted || !plan->has_rivals || plan->verify_threshold == 0 ||
		plan->are_counters || plan->spec->sizes->min < 16)
		return NB_OK;
	worker->isolation = calloc(1, sizeof(*worker->isolation));
	return worker->isolation != NULL ? NB_OK : error_memory();
}

void
isolation_leave(struct job_worker *worker)
{
	free(worker->isolation);
	worker->isolation = NULL;
}

bool
isolation_watches(const struct job_worker *worker, const struct ops_op *op)
{
	for (uint32_t k = 0; worker->isolation != NULL && k < op->items; k++) {
		if (is_sampled(op->numbers[k], worker->plan->verify_threshold))
			return true;
	}
	return false;
}

/** Add step k to the access of the steps before it. */
static void
add_step(struct access *access, const struct job_worker *worker, const struct ops_op *op,
	uint32_t k)
{
	const struct nb_step *step = &op->steps[k];
	if (step->answer != NB_OK)
		return;
	if (step->verb == NB_STEP_GET && !access->is_write && access->seen == NOTHING)
		access->seen = worker->seen[k];
	access->is_write |= (KIND_CHANGES >> step->verb & 1) != 0;
}

void
isolation_keep(
	struct job_worker *worker, const struct ops_op *op, uint32_t level, uint64_t begin)
{
	struct isolation_log *log = worker->isolation;
	struct access one = {.op = ops_version(worker->plan->spec, op->index),
		.begin = begin, /* of the last attempt, or earlier */
		.end = clock_stamp(worker->plan->clock->kind),
		.level = level,
		.worker = worker,
		.index = op->index,
		.kind = op->kind};
	for (uint32_t k = 0; k < op->items; k++) {
		bool is_first = true;
		for (uint32_t j = 0; j < k; j++)
			is_first &= op->numbers[j] != op->numbers[k];
		if (!is_first)
			continue;
		one.number = op->numbers[k];
		one.seen = NOTHING;
		one.is_write = false;
		for (uint32_t j = k; j < op->items; j++) {
			if (op->numbers[j] == one.number)
				add_step(&one, worker, op, j);
		}
		if (one.is_write || one.seen != NOTHING)
			log->accesses[log->count++ % ACCESSES] = one;
	}
}

/* ---- judging ---- */

static int
compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int
by_read(const void *a, const void *b)
{
	const struct access *one = a, *other = b;
	int order = compare_numbers(one->number, other->number);
	return order != 0 ? order : compare_numbers(one->seen, other->seen);
}

static int
by_write(const void *a, const void *b)
{
	const struct access *one = *(const struct access *const *)a;
	const struct access *other = *(const struct access *const *)b;
	int order = compare_numbers(one->number, other->number);
	return order != 0 ? order : compare_numbers(one->op, other->op);
}

static uint64_t
lower(const struct order *order)
{
	return order->from->op < order->to->op ? order->from->op : order->to->op;
}

static uint64_t
upper(const struct order *order)
{
	return order->from->op < order->to->op ? order->to->op : order->from->op;
}

/** Sorts the orders of the same two operations side by side. */
static int
by_pair(const void *a, const void *b)
{
	int order = compare_numbers(lower(a), lower(b));
	return order != 0 ? order : compare_numbers(upper(a), upper(b));
}

/** The data of the comparison. */
struct accesses {
	/* sorted: those that saw the same version of a record are adjacent */
	struct access *all;
	const struct access **writes; /* sorted by record and operation */
	struct order *orders;         /* at most one per access */
	size_t count, write_count, order_count;
};

/**
 * Whether the version that an operation saw was written in this run before the operation began.
 */
static bool
is_certain(const struct accesses *accesses, const struct access *read)
{
	const struct access wanted = {.number = read->number, .op = read->seen};
	const struct access *key = &wanted, *const * write;
	if (read->seen == NOTHING || read->seen == 0 || accesses->write_count == 0)
		return read->seen == 0;
	write = bsearch(&key, accesses->writes, accesses->write_count,
		sizeof(accesses->writes[0]), by_write);
	return write != NULL && (*write)->end <= read->begin;
}

static void
note(const struct access *access, const struct access *other, int verdict)
{
	struct job_worker *worker = access->worker;
	uint64_t number = access->number;
	uint8_t room[NB_KEY_SIZE_MAX];
	struct nb_slice key = {room, keyspace_key(worker->plan->spec->keys, number, room)};
	struct ops_op op = {.kind = access->kind,
		.items = 1,
		.index = access->index,
		.numbers = &number,
		.keys = &key};
	worker->findings.verified++;
	job_verify_note(worker, &op, 0, verdict, access->seen, other->index);
}

/**
 * Judge the accesses that saw the same version of a record. At most one may write, and it comes
 * last.
 */
static void
judge_version(struct accesses *accesses, const struct access *first, const struct access *end)
{
	const struct access *writer = NULL;
	for (const struct access *it = first; it < end; it++) {
		if (!it->is_write || !is_certain(accesses, it))
			continue;
		if (writer != NULL && writer->op != it->op)
			note(it, writer, JOB_LOST_UPDATE);
		writer = it;
	}
	for (const struct access *it = first; it < end && writer != NULL; it++) {
		if (it->op != writer->op && it->level == STEPS_SERIALIZABLE &&
			writer->level == STEPS_SERIALIZABLE && is_certain(accesses, it))
			accesses->orders[accesses->order_count++] = (struct order){it, writer};
	}
}

static void
judge_orders(const struct accesses *accesses)
{
	for (size_t i = 1; i < accesses->order_count; i++) {
		const struct order *one = &accesses->orders[i - 1], *other = one + 1;
		if (by_pair(one, other) == 0 && one->from->op == other->to->op &&
			one->from->number != other->from->number)
			note(other->from, one->from, JOB_WRITE_SKEW);
	}
}

static void
judge(struct accesses *accesses)
{
	size_t first = 0, end;
	qsort(accesses->all, accesses->count, sizeof(accesses->all[0]), by_read);
	for (size_t i = 0; i < accesses->count; i++) {
		if (accesses->all[i].is_write)
			accesses->writes[accesses->write_count++] = &accesses->all[i];
	}
	qsort(accesses->writes, accesses->write_count, sizeof(accesses->writes[0]), by_write);
	for (; first < accesses->count; first = end) {
		for (end = first + 1; end < accesses->count; end++) {
			if (by_read(&accesses->all[first], &accesses->all[end]) != 0)
				break;
		}
		judge_version(accesses, &accesses->all[first], &accesses->all[end]);
	}
	qsort(accesses->orders, accesses->order_count, sizeof(accesses->orders[0]), by_pair);
	judge_orders(accesses);
}

/** Append the accesses that the worker kept; without `into`, only count them. */
static size_t
gather(struct access *into, const struct job_worker *worker)
{
	const struct isolation_log *log = worker->isolation;
	size_t kept = log == NULL ? 0 : log->count < ACCESSES ? log->count : ACCESSES;
	if (into != NULL && kept > 0)
		memcpy(into, log->accesses, kept * sizeof(into[0]));
	return kept;
}

static size_t
gather_all(struct access *into, const struct nb_run *run)
{
	size_t count = 0;
	for (size_t p = 0; p < run->active_count; p++) {
		for (uint32_t t = 0; t < run->active[p]->plan.threads; t++)
			count += gather(
				into != NULL ? into + count : NULL, run->active[p]->workers[t]);
	}
	return count;
}

int
isolation_judge(const struct nb_run *run)
{
	struct accesses accesses = {.count = gather_all(NULL, run)};
	if (accesses.count == 0)
		return NB_OK;
	accesses.all = calloc(accesses.count, sizeof(accesses.all[0]));
	accesses.writes = calloc(accesses.count, sizeof(accesses.writes[0]));
	accesses.orders = calloc(accesses.count, sizeof(accesses.orders[0]));
	bool has_room = accesses.all != NULL && accesses.writes != NULL &&
		accesses.orders != NULL;
	if (has_room) {
		gather_all(accesses.all, run);
		judge(&accesses);
	}
	free(accesses.all);
	free(accesses.writes);
	free(accesses.orders);
	return has_room ? NB_OK : error_memory();
}
