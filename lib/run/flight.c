/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/flight.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/units.h"

uint32_t
flight_verb(const struct nb_engine *engine, const struct nb_job *job,
	const struct nb_group *group, uint32_t kind)
{
	const struct nb_kind *row = kind_row(job, kind);
	if (row != NULL)
		return steps_request(engine, row);
	switch (kind) {
	case NB_OP_READ:
		return NB_REQ_GET;
	case NB_OP_INSERT:
		return group->insert_verb == NB_INSERT_NATIVE ? NB_REQ_INSERT : NB_REQ_PUT;
	case NB_OP_UPDATE:
	case NB_OP_UPSERT:
		return NB_REQ_PUT;
	case NB_OP_DELETE:
		return NB_REQ_DEL;
	default:
		return FLIGHT_NONE;
	}
}

/* ---- memory ---- */

/** Allocate zeros and touch them, so that no page fault occurs during the operations. */
static void *
zeros(size_t count, size_t size)
{
	size_t bytes = block_whole_lines(count * size);
	void *room = aligned_alloc(BLOCK_LINE, bytes > 0 ? bytes : BLOCK_LINE);
	return room != NULL ? memset(room, 0, bytes) : NULL;
}

static bool
allocate_steps(struct async *async)
{
	size_t slots = async->slots, records = slots * async->items_max;
	async->numbers = zeros(records, sizeof(*async->numbers));
	async->keys = zeros(records, sizeof(*async->keys));
	async->steps = zeros(records, sizeof(*async->steps));
	async->spans = zeros(slots, sizeof(*async->spans));
	async->items = zeros(slots, sizeof(*async->items));
	return async->numbers != NULL && async->keys != NULL && async->steps != NULL &&
		async->spans != NULL && async->items != NULL;
}

static int
allocate(struct async *async, const struct job_plan *plan)
{
	size_t slots = async->slots;
	bool has_lists = plan->kinds >> async->lists != 0;
	async->flights = zeros(slots, sizeof(*async->flights));
	async->free = zeros(slots, sizeof(*async->free));
	async->order = zeros(2 * slots, sizeof(*async->order));
	/* one more than there can be requests, for a batch without any */
	async->batches = zeros(slots + 1, sizeof(*async->batches));
	async->batches_free = zeros(slots + 1, sizeof(*async->batches_free));
	async->requests = zeros(slots, sizeof(*async->requests));
	async->conflicted = zeros(slots, sizeof(*async->conflicted));
	async->places = zeros(plan->own_places, sizeof(*async->places));
	async->tracks = zeros(slots * async->items_max, sizeof(*async->tracks));
	async->bytes = zeros(slots, async->stride);
	if (async->flights == NULL || async->free == NULL || async->order == NULL ||
		async->batches == NULL || async->batches_free == NULL ||
		async->requests == NULL || async->conflicted == NULL || async->places == NULL ||
		async->tracks == NULL || async->bytes == NULL ||
		(has_lists && !allocate_steps(async)))
		return error_set(NB_FAIL, "out of memory for %zu requests", slots);
	return NB_OK;
}

/** Operations of a batch, so that two batches fit into the depth. */
static uint32_t
batch_ops_of(const struct job_plan *plan)
{
	return plan->depth > 1 ? plan->depth / 2 : 1;
}

/** The requests in flight, and those that are submitted when some of these complete. */
static uint32_t
slots_of(const struct job_plan *plan)
{
	uint64_t least = plan->spec->keys->key_size_max; /* bytes of a get */
	uint32_t most = plan->depth;
	uint64_t ahead = FLIGHT_ROOM;
	if (plan->batch_bytes > 0) {
		ahead = plan->batch_bytes / least + 1;
		most = batch_ops_of(plan);
	}
	return plan->depth + (ahead < most ? (uint32_t)ahead : most);
}

/**
 * Whether a read must be verified by what was known at its submission. A value without a
 * version cannot be stale, and a missing record is a finding whoever wrote it.
 */
static bool
has_doubts(const struct job_plan *plan)
{
	const struct ops_spec *spec = plan->spec;
	bool is_short = spec->sizes->max < VALUES_HEADER && spec->value_head == 0;
	bool is_simple = plan->feed == NULL && !spec->has_steps && !spec->has_items;
	return !is_short || !is_simple || plan->may_miss || plan->has_deletes;
}

int
flight_new(struct async **out, const struct job_plan *plan)
{
	const struct ops_spec *spec = plan->spec;
	struct async *async = calloc(1, sizeof(*async));
	if (async == NULL)
		return error_memory();
	async->plan = plan;
	async->depth = plan->depth;
	bool is_split = (plan->engine->caps & NB_CAP_REMOTE) != 0 && plan->batch_bytes == 0;
	async->at_once = is_split && plan->depth >= 4 ? plan->depth / 4 + 1 : plan->depth;
	async->items_max = spec->items_max;
	async->batch_bytes = plan->batch_bytes;
	async->batch_ops = batch_ops_of(plan);
	async->remembers = !job_is_listed(plan) && (plan->kinds & ~(1u << NB_OP_READ)) != 0;
	async->doubts = async->remembers && has_doubts(plan);
	async->key_stride = block_stride(spec->keys->key_size_max);
	async->stride = block_whole_lines(
		(async->key_stride + block_stride(spec->value_head + spec->values.size)) *
		spec->items_max);
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++)
		async->verbs[kind] = flight_verb(plan->engine, spec->job, spec->group, kind);
	async->lists = KIND_ADD + (async->verbs[KIND_ADD] == NB_REQ_MERGE);
	async->random = spec->seed;
	async->slots = async->free_count = slots_of(plan);
	int rc = allocate(async, plan);
	if (rc != NB_OK) {
		flight_delete(async);
		return rc;
	}
	for (uint32_t i = 0; i <= async->slots; i++)
		async->batches_free[i] = async->slots - i;
	for (uint32_t i = 0; i < async->slots; i++) {
		async->free[i] = async->slots - 1 - i;
		async->flights[i].at = FLIGHT_NONE;
	}
	async->batch_count = async->slots + 1;
	*out = async;
	return NB_OK;
}

void
flight_delete(struct async *async)
{
	if (async == NULL)
		return;
	void *rooms[] = {async->flights, async->free, async->order, async->batches,
		async->batches_free, async->requests, async->conflicted, async->places,
		async->tracks, async->bytes, async->numbers, async->keys, async->steps,
		async->spans, async->items};
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++)
		free(rooms[i]);
	free(async);
}

void
flight_compact(struct async *async)
{
	uint32_t left = 0;
	for (uint32_t i = async->oldest; i < async->newest; i++) {
		uint32_t slot = async->order[i];
		if (async->flights[slot].at != i)
			continue;
		async->flights[slot].at = left;
		async->order[left++] = slot;
	}
	async->oldest = 0;
	async->newest = left;
}

/* ---- contents of slots ---- */

static void
gather_list(struct async *async, struct flight *flight)
{
	struct nb_request *request = flight_request(async);
	uint32_t slot = flight_slot(async, flight), verb = async->verbs[flight->kind];
	struct nb_step *steps = async->steps + (size_t)slot * async->items_max;
	bool is_list = verb == NB_REQ_EXECUTE;
	*request = (struct nb_request){.tag = slot,
		.key = is_list ? (struct nb_slice){NULL, 0} : steps[0].key,
		.value = is_list ? (struct nb_slice){NULL, 0} : steps[0].value,
		.steps = is_list ? steps : NULL,
		.step_count = is_list ? async->items[slot] : 0,
		.operand = is_list ? 0 : steps[0].operand,
		.verb = verb,
		.flags = is_list ? steps_flags(kind_row(async->plan->spec->job, flight->kind))
				 : 0};
	async->gathered_bytes += flight->value_size;
}

/** Copy into the unused bytes of a slot. */
static struct nb_slice
keep_next(uint8_t **at, struct nb_slice from)
{
	struct nb_slice kept = flight_keep(*at, from);
	*at += from.size;
	return kept;
}

void
flight_gather_steps(struct async *async, struct flight *flight, const struct ops_op *op)
{
	uint32_t slot = flight_slot(async, flight);
	size_t first = (size_t)slot * async->items_max;
	uint8_t *begin = flight_bytes(async, flight), *at = begin;
	async->items[slot] = op->items;
	memcpy(async->numbers + first, op->numbers, op->items * sizeof(*op->numbers));
	for (uint32_t k = 0; k < op->items; k++) {
		struct nb_step *step = &async->steps[first + k];
		*step = op->steps[k];
		struct nb_slice key = keep_next(&at, op->keys[k]);
		async->keys[first + k] = step->key = key;
		if ((KIND_PUTS >> step->verb & 1) != 0)
			step->value = keep_next(&at, op->steps[k].value);
	}
	flight->key_size = 0;
	flight->value_size = (uint32_t)(at - begin);
	gather_list(async, flight);
}

void
flight_gather_again(struct async *async, struct flight *flight)
{
	if (flight_is_list(async, flight->kind)) {
		gather_list(async, flight);
		return;
	}
	struct ops_op op = flight_op(async, flight);
	flight_gather(async, flight, op.keys[0], op.values[0],
		op.steps != NULL ? op.steps[0].operand : 0);
}

/* ---- failures ---- */

void
flight_fail_call(struct job_worker *worker, const char *call, int rc, const char *what)
{
	const char *said = nb_error_text()[0] != '\0' ? nb_error_text()
						      : "failed without saying why";
	worker->async->is_over = true;
	if (worker->rc != NB_OK)
		return;
	worker->rc = rc < 0 ? rc : NB_FAIL;
	snprintf(worker->text, sizeof(worker->text), "%s: %s: %s", worker->plan->engine->name,
		call, what != NULL ? what : said);
}

void
flight_fail(struct job_worker *worker, struct flight *flight, int rc, const char *error)
{
	struct ops_op op = flight_op(worker->async, flight);
	worker->async->is_over = true;
	if (worker->rc != NB_OK)
		return;
	if (rc == NB_UNSUPPORTED && op.steps != NULL)
		error_set(rc, "the engine does not execute these steps; use --depth=1");
	else if (rc < 0 && error != NULL)
		error_set(rc, "%s", error);
	worker_fail(worker, &op, rc);
}

/**
 * Whether the oldest request has been in flight too long since a mark. The mark moves on when
 * all requests that were in flight at it have completed. The process may have been stopped
 * since the last check. So one check counts for an eighth of the limit at most.
 */
static bool
is_overdue(struct async *async, const struct flight *oldest, uint64_t gap)
{
	uint64_t limit = async->plan->timeout_ticks;
	if (oldest == NULL || oldest->begin == 0 || oldest->begin > async->mark) {
		async->mark = async->now;
		async->waited = 0;
		return false;
	}
	async->waited += gap < limit / 8 ? gap : limit / 8;
	return async->waited > limit;
}

void
flight_look_at_oldest(struct job_worker *worker, uint64_t gap)
{
	struct async *async = worker->async;
	struct flight *flight = flight_oldest(async);
	char key[80], took[UNITS_SIZE];
	if (!is_overdue(async, flight, gap) || worker->rc != NB_OK)
		return;
	uint64_t took_ns = clock_ns(worker->plan->clock, async->now - flight->begin);
	struct ops_op op = flight_op(async, flight);
	units_format_ns(took, sizeof(took), (double)took_ns);
	heartbeat_format_key(key, sizeof(key), op.keys[0].data, op.keys[0].size);
	async->is_over = true;
	worker->rc = NB_FAIL;
	snprintf(worker->text, sizeof(worker->text),
		"%s: %s, operation %llu (key %s): the request has not come out of reap for %s; use --op-timeout=TIME to wait longer",
		worker->plan->engine->name, kind_name(worker->plan->spec->job, flight->kind),
		(unsigned long long)flight->index, key, took);
}
