/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_FLIGHT_H
#define RUN_FLIGHT_H
/**
 * The requests in flight of one worker. Slots hold them from gathering to completion. async.h
 * describes the timing.
 *
 * A slot holds copies of key and value, because a request outlives the block of its operation.
 */
#include "run/steps.h"
#include "run/worker_taken.h"
#include "workload/block.h"

enum { FLIGHT_ROOM = OPS_STRATUM /* completions of one reap */ };

#define FLIGHT_NONE UINT32_MAX /* no place; no verb */

/**
 * Most bytes of keys and values in flight in one worker. Requests that are gathered meanwhile
 * take as much again at most.
 */
#define FLIGHT_BYTES_MAX (UINT64_C(1) << 30)

/** An operation from gathering to completion. One cache line. */
struct flight {
	uint64_t index, number;        /* `number`: of its record, or of the first one */
	uint64_t begin, due;           /* ticks; begin 0: not submitted yet */
	uint32_t key_size, value_size; /* of steps: 0, and the sum of all keys and values */
	uint32_t kind;
	uint32_t at; /* position in `order`; FLIGHT_NONE: the slot is free */
	uint32_t batch, conflicts;
	bool is_in_flight;
};

/** The known state of a record when a request for it was submitted: doubt.h. */
struct track {
	struct job_doubt doubt; /* of a read */
	uint32_t taken; /* number of this write at its place, or of the last write there */
	bool is_doubtful;
};

/** The writes in flight to the records that share one slot of the table of own writes. */
struct place {
	uint32_t taken;   /* submitted writes */
	uint32_t settled; /* number of the remembered write */
	uint32_t in_flight : 31, is_reordered : 1;
};

/** Operations that were submitted together. */
struct batch {
	uint64_t begin;
	uint32_t left;
	bool is_measured;
};

/** A request that conflicted, and the time at which it is submitted again. */
struct conflicted {
	uint32_t slot;
	uint64_t again;
};

struct async {
	const struct job_plan *plan;
	uint32_t depth;     /* most requests in flight */
	uint32_t slots;     /* `depth`, plus those that are gathered meanwhile */
	uint32_t at_once;   /* most requests of one submit */
	uint32_t batch_ops; /* a batch is complete with this many, whatever their bytes */
	uint32_t items_max; /* most records of an operation */
	uint32_t lists;     /* the first kind whose slots contain a list of steps */
	bool remembers;     /* the worker remembers its writes */
	bool doubts;        /* and what is known when a request is submitted: doubt.h */
	bool is_over;       /* no more operations begin */
	bool is_broken;     /* reap has failed: no more completions */
	uint32_t in_flight;
	uint64_t batch_bytes, gathered_bytes;
	uint64_t stratum; /* the worker has gathered all its strata below this one */
	uint64_t now;     /* the last stamp */
	uint64_t came;    /* the last stamp at which a request completed */
	uint64_t ticked;  /* the last stamp at which tick was called */
	uint64_t mark; /* requests in flight since this stamp have waited for `waited` ticks */
	uint64_t waited;
	uint64_t first; /* start of the first measured operation */
	uint64_t grace_ticks, piece_ns, random;
	struct flight *flights;
	uint32_t *free, free_count;      /* free slots */
	uint32_t *order, oldest, newest; /* slots [oldest, newest) as gathered; some are free */
	uint32_t *batches_free, batch_count;
	struct batch *batches;
	struct nb_request *requests; /* gathered: [head, tail) */
	uint32_t head, tail;
	struct conflicted *conflicted;
	uint32_t conflicted_count;
	struct place *places; /* parallel to job_worker.own */
	struct track *tracks; /* items_max per slot */
	/* For lists of steps, items_max per slot; otherwise NULL. */
	uint64_t *numbers;
	struct nb_slice *keys;
	struct nb_step *steps;
	struct span *spans; /* one per slot */
	uint32_t *items;
	uint8_t *bytes;
	size_t key_stride, stride;    /* of a slot: key, then value or operand */
	struct nb_slice key, value;   /* lent by flight_op() */
	struct nb_step addition;      /* likewise */
	uint32_t verbs[NB_KINDS_MAX]; /* NB_REQ_* */
	struct nb_completion completions[FLIGHT_ROOM];
};

/** The NB_REQ_* that executes a kind; FLIGHT_NONE: none, or the engine does not have it. */
uint32_t
flight_verb(const struct nb_engine *engine, const struct nb_job *job,
	const struct nb_group *group, uint32_t kind);

/** Allocate and touch all memory of the loop. Free it with flight_delete(). */
NB_MUST_CHECK int
flight_new(struct async **out, const struct job_plan *plan);

/** Accepts NULL. */
void
flight_delete(struct async *async);

/** Append to the gathered requests: a list of steps, or any operation once more. */
void
flight_gather_steps(struct async *async, struct flight *flight, const struct ops_op *op);
void
flight_gather_again(struct async *async, struct flight *flight);

/** Remove the entries of completed operations from `order`. */
void
flight_compact(struct async *async);

/* ---- failures, which end the worker ---- */

/**
 * Fail because of submit or reap itself. `what`: the reason; NULL: the engine has reported it.
 */
void
flight_fail_call(struct job_worker *worker, const char *call, int rc, const char *what);

/** Fail because of a request. Earlier completions are counted, this one is not. */
void
flight_fail(struct job_worker *worker, struct flight *flight, int rc, const char *error);

/**
 * Fail if the oldest request has been in flight for too long: it is lost, or its engine hangs.
 * `gap`: ticks since the last check.
 */
void
flight_look_at_oldest(struct job_worker *worker, uint64_t gap);

/* ---- slots ---- */

static inline uint32_t
flight_slot(const struct async *async, const struct flight *flight)
{
	return (uint32_t)(flight - async->flights);
}

static inline void *
flight_bytes(const struct async *async, const struct flight *flight)
{
	return async->bytes + flight_slot(async, flight) * async->stride;
}

/** Indexed by record of the operation. */
static inline struct track *
flight_tracks(const struct async *async, const struct flight *flight)
{
	return async->tracks + (size_t)flight_slot(async, flight) * async->items_max;
}

/** Whether slots of this kind contain a list of steps. A single addition is not one. */
static ALWAYS_INLINE bool
flight_is_list(const struct async *async, uint32_t kind)
{
	return kind >= async->lists;
}

/** The operand of an addition that is not a list. It takes the place of the value. */
static ALWAYS_INLINE uint64_t
flight_operand(const struct async *async, const struct flight *flight)
{
	uint64_t operand;
	memcpy(&operand, (uint8_t *)flight_bytes(async, flight) + async->key_stride,
		sizeof(operand));
	return operand;
}

/** The operation in a slot. Its key, value and addition are valid until the next call. */
static inline struct ops_op
flight_op(struct async *async, const struct flight *flight)
{
	size_t slot = flight_slot(async, flight), first = slot * async->items_max;
	if (flight_is_list(async, flight->kind))
		return (struct ops_op){.kind = flight->kind,
			.items = async->items[slot],
			.index = flight->index,
			.numbers = async->numbers + first,
			.keys = async->keys + first,
			.steps = async->steps + first};
	uint8_t *bytes = flight_bytes(async, flight);
	async->key = (struct nb_slice){bytes, flight->key_size};
	async->value = (struct nb_slice){bytes + async->key_stride, flight->value_size};
	async->addition = (struct nb_step){.key = async->key, .verb = NB_STEP_MERGE};
	if (flight->kind == KIND_ADD)
		async->addition.operand = flight_operand(async, flight);
	return (struct ops_op){.kind = flight->kind,
		.items = 1,
		.index = flight->index,
		.numbers = &flight->number,
		.keys = &async->key,
		.values = &async->value,
		.steps = flight->kind == KIND_ADD ? &async->addition : NULL};
}

/** The oldest slot in use; NULL: none. */
static inline struct flight *
flight_oldest(struct async *async)
{
	for (; async->oldest < async->newest; async->oldest++) {
		struct flight *flight = &async->flights[async->order[async->oldest]];
		if (flight->at == async->oldest)
			return flight;
	}
	async->oldest = async->newest = 0;
	return NULL;
}

/** Append a request. Members that no caller sets are 0. */
static ALWAYS_INLINE struct nb_request *
flight_request(struct async *async)
{
	if (__builtin_expect(async->tail == async->slots, 0)) {
		async->tail -= async->head;
		memmove(async->requests, async->requests + async->head,
			async->tail * sizeof(*async->requests));
		async->head = 0;
	}
	return &async->requests[async->tail++];
}

static ALWAYS_INLINE void
flight_gather(struct async *async, const struct flight *flight, struct nb_slice key,
	struct nb_slice value, uint64_t operand)
{
	struct nb_request *request = flight_request(async);
	if (__builtin_expect(async->steps != NULL, 0))
		*request = (struct nb_request){0}; /* it may have been a list */
	request->tag = flight_slot(async, flight);
	request->key = key;
	request->value = value;
	request->operand = operand;
	request->verb = async->verbs[flight->kind];
	async->gathered_bytes += key.size + value.size;
}

static ALWAYS_INLINE struct nb_slice
flight_keep(void *to, struct nb_slice from)
{
	if (from.size == 16)
		memcpy(to, from.data, 16);
	else if (from.size == 8)
		memcpy(to, from.data, 8);
	else
		memcpy(to, from.data, from.size);
	return (struct nb_slice){to, from.size};
}

/** With batch-bytes: whether the gathered requests form a whole batch. */
static ALWAYS_INLINE bool
flight_has_batch(const struct async *async)
{
	return async->gathered_bytes >= async->batch_bytes ||
		async->tail - async->head >= async->batch_ops;
}

/** Take a free slot for an operation. */
static ALWAYS_INLINE void
flight_begin(struct async *async, const struct ops_op *op, uint64_t due)
{
	if (__builtin_expect(async->newest == 2 * async->slots, 0))
		flight_compact(async);
	uint32_t slot = async->free[--async->free_count];
	struct flight *flight = &async->flights[slot];
	struct nb_slice key = op->keys[0], value = {NULL, 0};
	if (ops_is_write(op->kind))
		value = op->values[0];
	*flight = (struct flight){.index = op->index,
		.number = op->numbers[0],
		.due = due,
		.key_size = (uint32_t)key.size,
		.value_size = (uint32_t)value.size,
		.kind = op->kind,
		.at = async->newest};
	async->order[async->newest++] = slot;
	if (__builtin_expect(flight_is_list(async, op->kind), 0)) {
		flight_gather_steps(async, flight, op);
		return;
	}
	uint8_t *bytes = async->bytes + slot * async->stride;
	key = flight_keep(bytes, key);
	uint64_t operand = op->kind == KIND_ADD ? op->steps[0].operand : 0;
	if (value.size > 0)
		value = flight_keep(bytes + async->key_stride, value);
	else if (op->kind == KIND_ADD)
		memcpy(bytes + async->key_stride, &operand, sizeof(operand));
	flight_gather(async, flight, key, value, operand);
}

static ALWAYS_INLINE void
flight_end(struct async *async, struct flight *flight)
{
	flight->at = FLIGHT_NONE;
	async->free[async->free_count++] = flight_slot(async, flight);
}

#endif /* RUN_FLIGHT_H */
