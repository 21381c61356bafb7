/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading back: after the operations, each worker checks that its writes have taken effect.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "run/backoff.h"
#include "run/worker.h"
#include "run/worker_taken.h"

/** Note the result for a record whose last write was a delete. */
static void
note_deleted(struct job_worker *worker, const struct ops_op *op, int verdict)
{
	worker->findings.verified++;
	job_verify_note(worker, op, 0, verdict, 0, 0);
}

/**
 * Read back a record that this worker wrote last, or deleted. A deleted record may exist only
 * if another thread has put it since.
 */
static int
read_back(struct job_worker *worker, const struct ops_op *op, bool is_deleted)
{
	worker->looked_at = op;
	heartbeat_enter(&worker->heartbeat, "reading back");
	const struct nb_engine *engine = worker->plan->engine;
	struct nb_slice value = {NULL, 0};
	struct backoff backoff = {.limit_ns = worker->plan->conflict_ns};
	int rc;
	do
		rc = engine->get(worker->session, op->keys[0], &value);
	while (rc == NB_CONFLICT && backoff_wait(&backoff, worker->plan->halt));
	heartbeat_leave(&worker->heartbeat);
	uint64_t before = worker->findings.verified;
	if (rc == NB_OK && is_deleted && worker->plan->is_alone)
		note_deleted(worker, op, JOB_STALE);
	else if (rc == NB_OK)
		job_verify_value(worker, op, 0, value);
	else if (rc == NB_NOT_FOUND && is_deleted)
		note_deleted(worker, op, JOB_GOOD);
	else if (rc == NB_NOT_FOUND)
		job_verify_miss(worker, op, 0);
	worker->findings.read_back += worker->findings.verified - before;
	if (rc == NB_OK && engine->release != NULL)
		engine->release(worker->session);
	if (rc == NB_CONFLICT && !is_halted(worker))
		rc = backoff_fail(&backoff);
	else if (rc > NB_CONFLICT)
		rc = error_set(NB_FAIL, "answered %d, which means nothing here", rc);
	if (rc >= 0)
		return NB_OK;
	snprintf(worker->text, sizeof(worker->text), "%s: reading back, operation %llu: %s",
		engine->name, (unsigned long long)op->index,
		nb_error_text()[0] != '\0' ? nb_error_text() : "failed without saying why");
	return worker->rc = rc;
}

/**
 * Read back the sampled ones of operations [first, end), which are a stratum or a part of a
 * share.
 */
static int
read_back_some(struct job_worker *worker, uint64_t first, uint64_t end)
{
	const struct job_plan *plan = worker->plan;
	bool is_deleted = plan->spec->one_kind == NB_OP_DELETE, is_wanted = false;
	uint32_t made;
	int rc = NB_OK;
	for (uint64_t i = first; i < end; i++)
		is_wanted |= is_sampled(i, plan->verify_threshold);
	if (!is_wanted)
		return NB_OK;
	if (job_has_shares(plan))
		ops_begin_at(&worker->maker, first, end);
	else
		ops_begin(&worker->maker, first / OPS_STRATUM);
	while (rc == NB_OK && (made = ops_make(&worker->maker)) > 0) {
		for (uint32_t j = 0; j < made && rc == NB_OK; j++) {
			const struct ops_op *op = &worker->maker.ops[j];
			/* a stop, too: the key file could not be read, and keys are lost */
			if (is_halted(worker) || stop_requested())
				return NB_OK;
			if (op->index < end && is_sampled(op->index, plan->verify_threshold))
				rc = read_back(worker, op, is_deleted);
		}
	}
	return rc;
}

static int
read_back_listed(struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	bool has_share = job_has_shares(plan);
	uint64_t first = has_share ? job_share_begin(plan, job_nth(worker))
				   : (uint64_t)job_nth(worker) * OPS_STRATUM;
	uint64_t step = has_share ? OPS_STRATUM : (uint64_t)plan->of_all * OPS_STRATUM;
	int rc = NB_OK;
	for (uint64_t left = worker->done; left > 0 && rc == NB_OK && !is_halted(worker);
		first += step) {
		uint64_t count = left < OPS_STRATUM ? left : OPS_STRATUM;
		rc = read_back_some(worker, first, first + count);
		left -= count;
	}
	return rc;
}

/** Set *key to the key of a remembered write. False: the key was not kept. */
static bool
remembered_key(
	const struct job_worker *worker, uint32_t place, uint8_t *room, struct nb_slice *key)
{
	uint64_t number = worker->own[place].number - 1;
	if (worker->own_key != NULL)
		*key = (struct nb_slice){
			worker->own_key[place].bytes, worker->own_key[place].size};
	else
		*key = (struct nb_slice){
			room, keyspace_key(worker->plan->spec->keys, number, room)};
	return key->size > 0;
}

/** The remembered writes that are read back. */
struct choice {
	/* operations before this one may share their versions with newer ones */
	uint64_t oldest;
	uint64_t since;  /* all from this operation on */
	uint64_t stride; /* of the older writes, one in `stride` */
};

/** The number of remembered writes by this operation or later ones. */
static uint64_t
count_since(const struct job_worker *worker, uint64_t index)
{
	uint64_t count = 0;
	for (uint32_t place = 0; place < worker->plan->own_places; place++) {
		const struct job_own *own = &worker->own[place];
		count += own->number != 0 && job_own_index(own) >= index;
	}
	return count;
}

/** Choose the last `most` remembered writes, and at most as many older ones. */
static struct choice
choose(const struct job_worker *worker, uint64_t most)
{
	uint64_t newest = 0, from = 0, to;
	for (uint32_t place = 0; place < worker->plan->own_places; place++) {
		uint64_t index = job_own_index(&worker->own[place]);
		newest = index > newest ? index : newest;
	}
	const struct ops_spec *spec = worker->plan->spec;
	uint64_t versions = value_versions((size_t)spec->sizes->min);
	struct choice choice = {.oldest = job_horizon(spec, versions, newest)};
	for (to = newest + 1; from < to;) {
		uint64_t middle = from + (to - from) / 2;
		if (count_since(worker, middle) <= most)
			to = middle;
		else
			from = middle + 1;
	}
	choice.since = from;
	uint64_t older = count_since(worker, choice.oldest) - count_since(worker, from);
	choice.stride = older / most + 1;
	return choice;
}

static bool
is_chosen(const struct choice *choice, const struct job_own *own, uint64_t *older)
{
	uint64_t index = job_own_index(own);
	if (own->number == 0 || index < choice->oldest)
		return false;
	return index >= choice->since || (*older)++ % choice->stride == 0;
}

static int
read_back_remembered(struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	uint8_t *room = malloc(plan->spec->keys->key_size_max);
	if (room == NULL)
		return NB_OK;
	struct choice choice = choose(worker, plan->feed != NULL ? UINT64_MAX : JOB_READ_BACK);
	uint64_t older = 0;
	int rc = NB_OK;
	for (uint32_t place = 0; place < plan->own_places && rc == NB_OK; place++) {
		struct nb_slice key;
		const struct job_own *own = &worker->own[place];
		if (!is_chosen(&choice, own, &older) || is_halted(worker) ||
			!remembered_key(worker, place, room, &key))
			continue;
		uint64_t number = own->number - 1;
		struct ops_op op = {.kind = job_own_kind(own),
			.items = 1,
			.index = job_own_index(own),
			.numbers = &number,
			.keys = &key};
		rc = read_back(worker, &op, op.kind == NB_OP_DELETE);
	}
	free(room);
	return rc;
}

int
job_worker_read_back(struct job_worker *worker)
{
	const struct job_plan *plan = worker->plan;
	if (plan->verify_threshold == 0)
		return NB_OK;
	if (job_is_listed(plan))
		return read_back_listed(worker);
	return read_back_remembered(worker);
}
