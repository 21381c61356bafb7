/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop of a worker with several requests in flight.
 *
 * The worker gathers operations in slots, hands them over (submit), and takes what is done
 * (reap). It fills free slots before it waits, so that up to plan->depth requests are in
 * flight; a request that takes long holds one slot and stops nobody. Without batch-bytes the
 * worker hands over whenever slots are used up, a block of operations ends, or the next one is
 * not due yet; with it, when so many bytes are gathered.
 *
 * One stamp is taken before submit, for all that is handed over, and one after reap and the
 * reading of the values that came with it, for all that came. Service time is the difference,
 * from the first stamp of an operation: it includes the time that a request waits in the
 * engine's queue, and that of a completion until the worker reaps it. Response time is from
 * the moment at which the operation was due; an operation is never handed over before that.
 * The time of a batch is from the stamp before submit to that at which the last of the
 * operations which were handed over with it came out.
 *
 * Verification happens after the second stamp. The clock cannot be stopped for it, since other
 * requests are in flight: their times include it, and also the making of operations.
 *
 * A slot holds copies of key and value, since a request outlives the block in which its
 * operation was made. Of an engine that copies them itself (NB_CAP_COPIES) they are used where
 * they were made, and made again if the request conflicts or its answer is looked at.
 *
 * The memory of own writes (verify.c) has a write when its request is done. While writes to a
 * key are in flight, a read of that key may see the last one that was done when the read was
 * handed over, or any after that. Requests of one key take effect in the order in which they
 * were taken, so of two that are done the one that was taken later is remembered. A conflict
 * changes that order; each write has a number for when it was taken.
 *
 * What would make the numbers wrong: a stamp for each operation, which would charge an
 * operation for the stamps of its neighbours; waiting for the whole of a batch before the next
 * one is handed over, which would make the depth a mean of half of what was asked for.
 */
#include "run/async.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/units.h"
#include "run/backoff.h"
#include "run/worker_taken.h"
#include "workload/block.h"

enum {
	ROOM = OPS_STRATUM,      /* completions of one reap */
	PIECE_NS = 10 * 1000000, /* longest wait in reap, so that a halt is seen */
	SPINS = 200, /* looks at a thread that is behind before the CPU is given away */
};

#define NONE UINT32_MAX /* no slot */

/** After a failure or nb_stop() requests in flight are waited for as long as some come out. */
#define GRACE_NS UINT64_C(1000000000)

/** An operation from the gathering until it is done. */
struct flight {
	struct nb_slice key, value; /* in the slot's own memory */
	uint64_t index, number;
	uint64_t begin, due;    /* ticks; begin 0: it was not handed over yet */
	uint64_t again;         /* after a conflict: when it is handed over again */
	struct job_doubt doubt; /* of a read that is verified */
	uint32_t kind;
	uint32_t taken;        /* number of the write at its place, or of the last one there */
	uint32_t older, newer; /* slots, in the order of operations */
	uint32_t batch, conflicts;
	bool is_in_flight, is_doubtful;
};

/** What is in flight of the records that have one place in the table of own writes. */
struct place {
	uint32_t taken;   /* writes that were handed over */
	uint32_t settled; /* number of the one that is remembered */
	uint32_t in_flight : 31, is_reordered : 1;
};

/** Operations that were handed over together. */
struct batch {
	uint64_t begin;
	uint32_t left;
	bool is_measured;
};

struct async {
	const struct job_plan *plan;
	uint32_t depth;
	bool has_copies; /* slots hold copies of keys and values */
	bool remembers;  /* own writes */
	bool is_over;    /* no operation begins any more */
	bool is_broken;  /* reap has failed: nothing more comes out */
	uint32_t in_flight;
	uint64_t batch_bytes, gathered_bytes;
	uint64_t stratum; /* all of this worker's below it have been gathered */
	uint64_t now;     /* the last stamp */
	uint64_t came;    /* the last one at which a request came out */
	uint64_t first;   /* moment at which the first operation that counts began */
	uint64_t grace_ticks, random;
	struct flight *flights;
	uint32_t oldest, newest; /* of those in use */
	uint32_t free_count, batch_count;
	uint32_t *free; /* slots that are not in use */
	uint32_t *batches_free;
	struct batch *batches;
	struct nb_request *requests; /* gathered: from `head` to `tail` */
	uint32_t head, tail;
	uint32_t *conflicted; /* slots that wait to be handed over again */
	uint32_t conflicted_count;
	struct place *places; /* parallel to job_worker.own */
	struct ops_op
		done[OPS_STRATUM]; /* kind and index of what was done and is not counted */
	struct nb_completion completions[ROOM];
	uint64_t due[OPS_STRATUM]; /* of the block */
	uint8_t *bytes;
	size_t key_stride, stride; /* of a slot: key, then value */
};

/** The request of a kind; UINT32_MAX: it has none. Kinds of several steps would be executed. */
static inline uint32_t
verb_of(uint32_t kind, bool is_native_insert)
{
	switch (kind) {
	case NB_OP_READ:
		return NB_REQ_GET;
	case NB_OP_INSERT:
		return is_native_insert ? NB_REQ_INSERT : NB_REQ_PUT;
	case NB_OP_UPDATE:
	case NB_OP_UPSERT:
		return NB_REQ_PUT;
	case NB_OP_DELETE:
		return NB_REQ_DEL;
	default:
		return UINT32_MAX;
	}
}

bool
async_has(uint32_t kind)
{
	return verb_of(kind, false) != UINT32_MAX;
}

static inline bool
is_write(uint32_t kind)
{
	return kind != NB_OP_READ;
}

/* ---- memory ---- */

static int
allocate(struct async *async, const struct job_plan *plan)
{
	size_t depth = async->depth, bytes = depth * async->stride;
	async->flights = calloc(depth, sizeof(*async->flights));
	async->free = calloc(depth, sizeof(*async->free));
	/* one more than can have requests, for one without any */
	async->batches = calloc(depth + 1, sizeof(*async->batches));
	async->batches_free = calloc(depth + 1, sizeof(*async->batches_free));
	async->requests = calloc(depth, sizeof(*async->requests));
	async->conflicted = calloc(depth, sizeof(*async->conflicted));
	async->places = calloc(plan->own_places, sizeof(*async->places));
	async->bytes = aligned_alloc(BLOCK_LINE, bytes);
	if (async->flights == NULL || async->free == NULL || async->batches == NULL ||
		async->batches_free == NULL || async->requests == NULL ||
		async->conflicted == NULL || async->places == NULL || async->bytes == NULL)
		return error_set(NB_FAIL, "out of memory for %zu requests in flight", depth);
	/* So that no page is missing when the operations run. */
	memset(async->flights, 0, depth * sizeof(*async->flights));
	memset(async->batches, 0, depth * sizeof(*async->batches));
	memset(async->requests, 0, depth * sizeof(*async->requests));
	memset(async->places, 0, plan->own_places * sizeof(*async->places));
	memset(async->bytes, 0, bytes);
	return NB_OK;
}

int
async_new(struct async **out, const struct job_plan *plan)
{
	const struct ops_spec *spec = plan->spec;
	size_t key_stride = block_stride(spec->keys->key_size_max);
	struct async *async = calloc(1, sizeof(*async));
	if (async == NULL)
		return error_memory();
	async->plan = plan;
	async->depth = plan->depth;
	async->batch_bytes = plan->batch_bytes;
	async->has_copies = (plan->engine->caps & NB_CAP_COPIES) == 0 || plan->batch_bytes > 0;
	async->remembers = !job_is_listed(plan) && (plan->kinds & ~(1u << NB_OP_READ)) != 0;
	async->key_stride = key_stride;
	async->stride = block_whole_lines(key_stride + block_stride(spec->values.size));
	async->random = spec->seed;
	int rc = allocate(async, plan);
	if (rc != NB_OK) {
		async_delete(async);
		return rc;
	}
	for (uint32_t i = 0; i <= async->depth; i++)
		async->batches_free[i] = async->depth - i;
	for (uint32_t i = 0; i < async->depth; i++) {
		async->free[i] = async->depth - 1 - i;
		async->flights[i].key.data = async->bytes + i * async->stride;
		async->flights[i].value.data = async->bytes + i * async->stride + key_stride;
	}
	async->oldest = async->newest = NONE;
	async->free_count = async->depth;
	async->batch_count = async->depth + 1;
	*out = async;
	return NB_OK;
}

void
async_delete(struct async *async)
{
	if (async == NULL)
		return;
	free(async->flights);
	free(async->free);
	free(async->batches);
	free(async->batches_free);
	free(async->requests);
	free(async->conflicted);
	free(async->places);
	free(async->bytes);
	free(async);
}

/* ---- slots ---- */

static inline uint32_t
slots_in_use(const struct async *async)
{
	return async->depth - async->free_count;
}

/** The operation that a slot holds, of which its key and number are lent. */
static inline struct ops_op
op_of(const struct flight *flight)
{
	return (struct ops_op){.kind = flight->kind,
		.items = 1,
		.index = flight->index,
		.numbers = &flight->number,
		.keys = &flight->key,
		.values = &flight->value};
}

/** Where slots hold no copies: make them, in the slot. */
static __attribute__((noinline)) void
make_copies(const struct async *async, struct flight *flight)
{
	const struct ops_spec *spec = async->plan->spec;
	if (async->has_copies)
		return;
	flight->key.size = keyspace_key(
		spec->keys, flight->number, (uint8_t *)(uintptr_t)flight->key.data);
	if (ops_is_write(flight->kind))
		values_write_sized(&spec->values, (void *)(uintptr_t)flight->value.data,
			flight->key, flight->value.size, ops_version(spec, flight->index));
}

static ALWAYS_INLINE struct nb_slice
copy(const void *slot, struct nb_slice from)
{
	void *to = (void *)(uintptr_t)slot;
	if (from.size == 16)
		memcpy(to, from.data, 16);
	else
		memcpy(to, from.data, from.size);
	return (struct nb_slice){to, from.size};
}

/** Behind what is gathered; only what differs between requests is set, the rest is zero. */
static inline void
gather(struct async *async, uint32_t slot, uint32_t kind, struct nb_slice key,
	struct nb_slice value)
{
	if (__builtin_expect(async->tail == async->depth, 0)) {
		async->tail -= async->head;
		memmove(async->requests, async->requests + async->head,
			async->tail * sizeof(*async->requests));
		async->head = 0;
	}
	struct nb_request *request = &async->requests[async->tail++];
	request->tag = slot;
	request->key = key;
	request->value = value;
	request->verb = verb_of(kind, async->plan->is_native_insert);
	async->gathered_bytes += key.size + value.size;
}

/** Take a slot, which is free, for an operation. */
static ALWAYS_INLINE void
begin_flight(struct async *async, const struct ops_op *op, uint64_t due)
{
	uint32_t slot = async->free[--async->free_count], kind = op->kind;
	struct flight *flight = &async->flights[slot];
	struct nb_slice key = op->keys[0], value = {NULL, 0};
	flight->kind = kind;
	flight->index = op->index;
	flight->number = op->numbers[0];
	flight->begin = 0;
	flight->due = due;
	flight->conflicts = 0;
	flight->older = async->newest;
	flight->newer = NONE;
	*(async->newest == NONE ? &async->oldest : &async->flights[async->newest].newer) = slot;
	async->newest = slot;
	if (ops_is_write(kind))
		value = op->values[0];
	if (async->has_copies) {
		key = copy(flight->key.data, key);
		if (value.size > 0)
			value = copy(flight->value.data, value);
	}
	flight->key.size = key.size;
	flight->value.size = value.size;
	gather(async, slot, kind, key, value);
}

static inline void
end_flight(struct async *async, struct flight *flight)
{
	uint32_t slot = (uint32_t)(flight - async->flights);
	*(flight->older == NONE ? &async->oldest
				: &async->flights[flight->older].newer) = flight->newer;
	*(flight->newer == NONE ? &async->newest
				: &async->flights[flight->newer].older) = flight->older;
	async->free[async->free_count++] = slot;
}

/* ---- failures ---- */

/** Of submit or reap itself. */
static __attribute__((noinline)) void
fail_call(struct job_worker *worker, const char *call, int rc, const char *what)
{
	struct async *async = worker->async;
	const char *said = nb_error_text()[0] != '\0' ? nb_error_text()
						      : "failed without saying why";
	async->is_over = true;
	if (worker->rc != NB_OK)
		return;
	worker->rc = rc < 0 ? rc : NB_FAIL;
	snprintf(worker->text, sizeof(worker->text), "%s: %s: %s", worker->plan->engine->name,
		call, what != NULL ? what : said);
}

/** Of a request. What came before it counts, and this one does not. */
static __attribute__((noinline)) void
fail_request(struct job_worker *worker, struct flight *flight, int rc, const char *error)
{
	struct ops_op op = op_of(flight);
	make_copies(worker->async, flight);
	worker->async->is_over = true;
	if (worker->rc != NB_OK)
		return;
	if (rc < 0 && error != NULL)
		error_set(rc, "%s", error);
	worker_fail(worker, &op, rc);
}

/** The oldest request has been in flight for too long: it is lost, or its engine hangs. */
static __attribute__((noinline)) void
fail_overdue(struct job_worker *worker, struct flight *flight, uint64_t ticks)
{
	make_copies(worker->async, flight);
	char key[80], took[UNITS_SIZE];
	units_format_ns(took, sizeof(took), (double)clock_ns(worker->plan->clock, ticks));
	heartbeat_format_key(key, sizeof(key), flight->key.data, flight->key.size);
	worker->async->is_over = true;
	if (worker->rc != NB_OK)
		return;
	worker->rc = NB_FAIL;
	snprintf(worker->text, sizeof(worker->text),
		"%s: %s, operation %llu (key %s): the request has not come out of reap for %s; use --op-timeout=TIME to wait longer",
		worker->plan->engine->name, nb_op_name(flight->kind),
		(unsigned long long)flight->index, key, took);
}

static void
look_at_oldest(struct job_worker *worker)
{
	const struct async *async = worker->async;
	if (async->oldest == NONE)
		return;
	struct flight *flight = &async->flights[async->oldest];
	uint64_t ticks = async->now - flight->begin;
	if (flight->begin != 0 && ticks > worker->plan->timeout_ticks)
		fail_overdue(worker, flight, ticks);
}

/* ---- the memory of own writes ---- */

static inline struct place *
place_of(const struct job_worker *worker, uint64_t number)
{
	return &worker->async->places[job_own_of(worker, number) - worker->own];
}

/** The engine has taken the request of a flight. */
static inline void
note_taken(struct job_worker *worker, struct flight *flight, bool is_first)
{
	struct place *place = place_of(worker, flight->number);
	const struct job_own *own = job_own_of(worker, flight->number);
	if (is_write(flight->kind)) {
		flight->taken = ++place->taken;
		place->in_flight += is_first;
		return;
	}
	bool has_own = own->number == flight->number + 1;
	flight->taken = place->taken;
	flight->is_doubtful = place->in_flight > 0;
	flight->doubt = (struct job_doubt){.settled = has_own ? job_own_index(own) + 1 : 0,
		.has_put = has_own && job_own_kind(own) != NB_OP_DELETE,
		.is_reordered = place->is_reordered};
}

/** A write is done; is_kept: an insert that found its key there. */
static inline void
settle(struct job_worker *worker, const struct flight *flight, bool is_kept)
{
	struct place *place = place_of(worker, flight->number);
	const struct job_own *own = job_own_of(worker, flight->number);
	bool is_newer = own->number != flight->number + 1 ||
		(int32_t)(flight->taken - place->settled) > 0;
	place->in_flight--;
	place->is_reordered &= place->in_flight > 0;
	if (!is_newer || is_kept)
		return;
	struct ops_op op = op_of(flight);
	job_remember(worker, &op);
	place->settled = flight->taken;
}

/** A read is done: look at what it found. */
static __attribute__((noinline)) void
verify(struct job_worker *worker, struct flight *flight, int rc, struct nb_slice value)
{
	make_copies(worker->async, flight);
	struct ops_op op = op_of(flight);
	bool is_doubtful = worker->async->remembers &&
		(flight->is_doubtful ||
			place_of(worker, flight->number)->taken != flight->taken);
	worker->doubt = is_doubtful ? &flight->doubt : NULL;
	if (rc == NB_NOT_FOUND)
		job_verify_miss(worker, &op, 0);
	else
		job_verify_value(worker, &op, 0, value);
	worker->doubt = NULL;
}

/** What is not known of a write whose request did not come out: nothing is asked of its key. */
static void
forget_writes(struct job_worker *worker)
{
	const struct async *async = worker->async;
	for (uint32_t slot = async->oldest; slot != NONE; slot = async->flights[slot].newer) {
		const struct flight *flight = &async->flights[slot];
		if (is_write(flight->kind) && flight->begin != 0)
			job_own_of(worker, flight->number)->number = 0;
	}
}

/* ---- handing over ---- */

static ALWAYS_INLINE bool
counts(const struct job_worker *worker, const struct flight *flight, uint64_t begin)
{
	return begin >= worker->taken->moments.warm &&
		flight->index >= worker->plan->warmup_count;
}

/** Requests [head, head + taken) are the engine's since `now`. */
static ALWAYS_INLINE void
note_batch(struct job_worker *worker, uint32_t taken, uint64_t now, bool is_paced)
{
	struct async *async = worker->async;
	const struct nb_request *requests = async->requests + async->head;
	uint32_t number = async->batches_free[async->batch_count - 1], new = 0;
	for (uint32_t i = 0; i < taken; i++) {
		struct flight *flight = &async->flights[requests[i].tag];
		bool is_first = flight->begin == 0;
		async->gathered_bytes -= flight->key.size + requests[i].value.size;
		flight->is_in_flight = true;
		if (async->remembers)
			note_taken(worker, flight, is_first);
		if (__builtin_expect(!is_first, 0))
			continue; /* again, after a conflict */
		flight->begin = now;
		flight->batch = number;
		if (new ++ == 0)
			async->batches[number] = (struct batch){
				.begin = now, .is_measured = counts(worker, flight, now)};
		if (is_paced) {
			worker->lag_ns = clock_ns(worker->plan->clock, now - flight->due);
			if (worker->lag_ns > worker->lag_max_ns)
				worker->lag_max_ns = worker->lag_ns;
		}
		if (__builtin_expect(async->first == 0, 0) && counts(worker, flight, now))
			async->first = now;
	}
	async->batches[number].left = new;
	async->batch_count -= new > 0;
	async->in_flight += taken;
	async->head += taken;
	if (async->head == async->tail)
		async->head = async->tail = 0;
}

/** Hand over what is gathered, as far as the engine has room. */
static ALWAYS_INLINE void
hand_over(struct job_worker *worker, uint32_t clock_kind, bool is_paced)
{
	struct async *async = worker->async;
	size_t taken = 0, count = async->tail - async->head;
	if (count == 0)
		return;
	heartbeat_enter(&worker->heartbeat, "submit");
	uint64_t now = clock_stamp(clock_kind);
	int rc = worker->plan->engine->submit(
		worker->session, async->requests + async->head, count, &taken);
	if (__builtin_expect(rc != NB_PENDING && rc != NB_OK, 0))
		fail_call(worker, "submit", rc,
			rc < 0 ? NULL : "gave an answer that means nothing here");
	else if (__builtin_expect(taken > count, 0))
		fail_call(worker, "submit", NB_FAIL, "took more requests than it was given");
	else if (__builtin_expect(taken == 0 && async->in_flight == 0, 0))
		fail_call(
			worker, "submit", NB_FAIL, "took no request though none is in flight");
	else
		note_batch(worker, (uint32_t)taken, now, is_paced);
}

/* ---- conflicts ---- */

/** Nothing has happened: it is handed over again after a while, as of backoff.h. */
static __attribute__((noinline)) void
note_conflict(struct job_worker *worker, struct flight *flight)
{
	struct async *async = worker->async;
	const struct job_plan *plan = worker->plan;
	uint64_t bound_ns = BACKOFF_FIRST_NS;
	for (uint32_t i = 0; i < flight->conflicts && bound_ns < BACKOFF_LONGEST_NS; i++)
		bound_ns *= 2;
	flight->conflicts++;
	if (clock_ns(plan->clock, async->now - flight->begin) >= plan->conflict_ns) {
		struct backoff backoff = {.limit_ns = plan->conflict_ns};
		fail_request(worker, flight, backoff_fail(&backoff), NULL);
		end_flight(async, flight);
		return;
	}
	flight->again = async->now +
		clock_ticks(plan->clock, splitmix64_next(&async->random) % bound_ns);
	async->conflicted[async->conflicted_count++] = (uint32_t)(flight - async->flights);
	if (async->remembers && is_write(flight->kind))
		place_of(worker, flight->number)->is_reordered = 1;
}

/** Gather those whose time has come. Returns ticks until the next one's. */
static __attribute__((noinline)) uint64_t
gather_again(struct job_worker *worker)
{
	struct async *async = worker->async;
	uint64_t next = UINT64_MAX;
	uint32_t left = 0;
	for (uint32_t i = 0; i < async->conflicted_count; i++) {
		struct flight *flight = &async->flights[async->conflicted[i]];
		if (flight->again > async->now) {
			uint64_t ticks = flight->again - async->now;
			next = ticks < next ? ticks : next;
			async->conflicted[left++] = async->conflicted[i];
			continue;
		}
		make_copies(async, flight);
		gather(async, async->conflicted[i], flight->kind, flight->key, flight->value);
	}
	async->conflicted_count = left;
	return next;
}

/* ---- taking what is done ---- */

/** Count what was done until now. The heartbeat is within the engine before and after. */
static void
count_done(struct job_worker *worker)
{
	worker_count_block(worker, worker->done);
	worker->told_ticks = worker->async->now;
	heartbeat_leave(&worker->heartbeat);
	worker->taken->first = worker->done;
	heartbeat_enter(&worker->heartbeat, "reap");
}

static ALWAYS_INLINE void
note_done(struct job_worker *worker, const struct flight *flight, int rc, size_t size,
	bool is_paced)
{
	struct async *async = worker->async;
	struct job_taken *taken = worker->taken;
	uint64_t j = worker->done - taken->first;
	bool has_value = rc == NB_OK && flight->kind != NB_OP_DELETE;
	async->done[j].kind = flight->kind;
	async->done[j].index = flight->index;
	taken->spans[j] = (struct span){.begin = flight->begin,
		.end = async->now,
		.records = has_value,
		.bytes = has_value ? size : 0,
		.conflicts = flight->conflicts};
	if (is_paced)
		taken->due[j] = flight->due;
	taken->answers[j] = rc;
	__atomic_store_n(&worker->done, worker->done + 1, __ATOMIC_RELEASE);
	if (j + 1 == OPS_STRATUM)
		count_done(worker);
}

/** One came out of the batch. */
static inline void
leave_batch(struct job_worker *worker, const struct flight *flight)
{
	struct async *async = worker->async;
	struct batch *batch = &async->batches[flight->batch];
	if (--batch->left > 0)
		return;
	async->batches_free[async->batch_count++] = flight->batch;
	if (batch->is_measured)
		histogram_add(worker->batch,
			clock_ns(worker->plan->clock, async->now - batch->begin));
}

static ALWAYS_INLINE void
complete(struct job_worker *worker, const struct nb_completion *completion, bool is_paced)
{
	struct async *async = worker->async;
	int rc = completion->answer;
	struct flight *flight = &async->flights[completion->tag];
	async->in_flight--;
	if (__builtin_expect(rc == NB_CONFLICT, 0)) {
		note_conflict(worker, flight);
		return;
	}
	bool is_kept = rc == NB_EXISTS && flight->kind == NB_OP_INSERT;
	if (__builtin_expect(rc < 0 || (rc > NB_CONFLICT && !is_kept), 0)) {
		fail_request(worker, flight, rc, completion->error);
		end_flight(async, flight);
		return;
	}
	bool is_read = flight->kind == NB_OP_READ;
	if (is_read &&
		(rc == NB_NOT_FOUND ||
			is_sampled(flight->index, worker->plan->verify_threshold)))
		verify(worker, flight, rc, completion->value);
	if (__builtin_expect(is_kept, 0)) {
		make_copies(async, flight);
		struct ops_op op = op_of(flight);
		job_verify_exists(worker, &op);
	}
	if (!is_read && async->remembers)
		settle(worker, flight, is_kept);
	note_done(worker, flight, rc, is_read ? completion->value.size : flight->value.size,
		is_paced);
	leave_batch(worker, flight);
	end_flight(async, flight);
}

/** Read the values that came, within the time. False: an answer that cannot be one. */
static ALWAYS_INLINE bool
consume(struct job_worker *worker, size_t count)
{
	struct async *async = worker->async;
	for (size_t i = 0; i < count; i++) {
		const struct nb_completion *completion = &async->completions[i];
		uint64_t tag = completion->tag;
		if (__builtin_expect(
			    tag >= async->depth || !async->flights[tag].is_in_flight, 0)) {
			fail_call(worker, "reap", NB_FAIL,
				"returned a tag that is not in flight");
			return false;
		}
		async->flights[tag].is_in_flight = false;
		if (completion->answer != NB_OK || async->flights[tag].kind != NB_OP_READ)
			continue;
		if (!worker_may_consume(completion->value)) {
			int rc = engine_refuse_size("reap", completion->value.size);
			fail_call(worker, "reap", rc, NULL);
			return false;
		}
		worker_consume(completion->value);
	}
	return true;
}

/** The stratum below which all are done, for threads that wait for inserts. */
static inline void
tell_strata(struct job_worker *worker)
{
	const struct async *async = worker->async;
	uint64_t done = async->oldest == NONE
		? async->stratum
		: async->flights[async->oldest].index / OPS_STRATUM;
	__atomic_store_n(&worker->strata_done, done, __ATOMIC_RELEASE);
}

/** Take what is done, and wait for it so long at most. */
static ALWAYS_INLINE void
reap(struct job_worker *worker, uint64_t timeout_ns, uint32_t clock_kind, bool is_paced)
{
	struct async *async = worker->async;
	const struct nb_engine *engine = worker->plan->engine;
	size_t count = 0;
	heartbeat_enter(&worker->heartbeat, "reap");
	int rc = engine->reap(worker->session, async->completions, ROOM, &count, timeout_ns);
	bool is_good = rc == NB_OK && count <= ROOM && consume(worker, count);
	async->now = clock_stamp(clock_kind);
	if (__builtin_expect(!is_good, 0)) {
		if (worker->rc == NB_OK)
			fail_call(worker, "reap", rc,
				rc < 0           ? NULL
					: rc > 0 ? "gave an answer that means nothing here"
						 : "returned more than there was room for");
		async->is_broken = true;
		if (rc == NB_OK && engine->release != NULL)
			engine->release(worker->session);
		return;
	}
	for (size_t i = 0; i < count; i++)
		complete(worker, &async->completions[i], is_paced);
	if (count > 0 && engine->release != NULL)
		engine->release(worker->session);
	if (count > 0) {
		async->came = async->now;
		tell_strata(worker);
	}
	if (__builtin_expect(async->now - worker->told_ticks > worker->plan->tell_ticks, 0)) {
		count_done(worker);
		look_at_oldest(worker);
	}
}

/** Go on with what is in flight, for `most_ns` at most if nothing comes out. */
static ALWAYS_INLINE void
go_on(struct job_worker *worker, uint64_t most_ns, uint32_t clock_kind, bool is_paced)
{
	struct async *async = worker->async;
	uint64_t timeout_ns = most_ns;
	if (__builtin_expect(async->conflicted_count > 0, 0)) {
		uint64_t ticks = gather_again(worker);
		hand_over(worker, clock_kind, is_paced);
		uint64_t next_ns = ticks < UINT64_MAX ? clock_ns(worker->plan->clock, ticks)
						      : most_ns;
		timeout_ns = next_ns < most_ns ? next_ns : most_ns;
		async->now = clock_stamp(clock_kind);
	}
	if (!async->is_broken && async->in_flight > 0)
		reap(worker, timeout_ns, clock_kind, is_paced);
}

/* ---- the loop ---- */

/** Whether the worker is to begin no more operations. */
static inline bool
is_at_end(struct job_worker *worker)
{
	struct async *async = worker->async;
	async->is_over |= async->now >= worker->taken->moments.end || is_halted(worker) ||
		worker->rc != NB_OK;
	return async->is_over;
}

/** Wait until a slot is free. */
static ALWAYS_INLINE void
make_room(struct job_worker *worker, uint32_t clock_kind, bool is_paced)
{
	struct async *async = worker->async;
	/* All that is in flight has been waited for, or there is no point in gathering more. */
	if (async->batch_bytes == 0 || async->in_flight == 0 ||
		async->gathered_bytes >= async->batch_bytes)
		hand_over(worker, clock_kind, is_paced);
	go_on(worker, PIECE_NS, clock_kind, is_paced);
}

/** While nothing is in flight, as any worker; else by reaping what comes meanwhile. */
static ALWAYS_INLINE void
wait_until_due(struct job_worker *worker, uint64_t due, uint32_t clock_kind)
{
	struct async *async = worker->async;
	struct pacer *pacer = &worker->pacer;
	uint64_t now = async->now = clock_stamp(clock_kind);
	while (now < due && !is_at_end(worker)) {
		if (async->batch_bytes == 0)
			hand_over(worker, clock_kind, true);
		if (async->in_flight == 0 && async->conflicted_count == 0) {
			count_done(worker);
			heartbeat_leave(&worker->heartbeat);
			now = pacer_wait_until(pacer, due, now, worker->plan->halt);
			heartbeat_enter(&worker->heartbeat, "reap");
			continue;
		}
		uint64_t left_ns = clock_ns(pacer->clock, due - now);
		uint64_t spare_ns = pacer->is_spinning ? pacer->slack_ns : 0;
		left_ns = left_ns > spare_ns ? left_ns - spare_ns : 0;
		go_on(worker, left_ns < PIECE_NS ? left_ns : PIECE_NS, clock_kind, true);
		now = clock_stamp(clock_kind);
	}
	async->now = now;
}

/** Gather `count` operations, which are made. False: the worker is to begin no more. */
static ALWAYS_INLINE bool
run_block(struct job_worker *worker, const struct ops_op *ops, uint32_t count,
	uint32_t clock_kind, bool is_paced)
{
	struct async *async = worker->async;
	worker->taken->first = worker->done;
	heartbeat_enter(&worker->heartbeat, "reap");
	async->is_over |= stop_requested(); /* also if the keys just read were lost */
	for (uint32_t j = 0; j < count && !async->is_over; j++) {
		if (is_paced && async->due[j] >= worker->taken->moments.end) {
			async->is_over = true;
			break;
		}
		if (is_paced)
			wait_until_due(worker, async->due[j], clock_kind);
		while (async->free_count == 0 && !is_at_end(worker))
			make_room(worker, clock_kind, is_paced);
		if (is_at_end(worker))
			break;
		begin_flight(async, &ops[j], is_paced ? async->due[j] : 0);
		if (async->batch_bytes > 0 && async->gathered_bytes >= async->batch_bytes)
			hand_over(worker, clock_kind, is_paced);
	}
	if (async->batch_bytes == 0)
		hand_over(worker, clock_kind, is_paced);
	/* keys and values that are used where they were made */
	while (!async->has_copies && async->tail > async->head && worker->rc == NB_OK) {
		go_on(worker, PIECE_NS, clock_kind, is_paced);
		hand_over(worker, clock_kind, is_paced);
	}
	count_done(worker);
	heartbeat_leave(&worker->heartbeat);
	return !async->is_over;
}

/** Whether no more is to be expected of what is in flight. */
static bool
is_given_up(struct job_worker *worker)
{
	const struct async *async = worker->async;
	if (async->is_broken)
		return true;
	bool is_cut = worker->rc != NB_OK || stop_requested();
	return is_cut && async->now - async->came > async->grace_ticks;
}

/** Until nothing is in flight. After a failure or a stop nothing more is handed over. */
static ALWAYS_INLINE void
drain(struct job_worker *worker, uint32_t clock_kind, bool is_paced)
{
	struct async *async = worker->async;
	worker->taken->first = worker->done;
	heartbeat_enter(&worker->heartbeat, "reap");
	async->came = async->now = clock_stamp(clock_kind);
	while (slots_in_use(async) > 0 && !is_given_up(worker)) {
		if (worker->rc != NB_OK || stop_requested())
			async->head = async->tail = async->conflicted_count = 0;
		hand_over(worker, clock_kind, is_paced);
		if (async->in_flight + async->conflicted_count == 0)
			break;
		go_on(worker, PIECE_NS, clock_kind, is_paced);
		async->now = clock_stamp(clock_kind);
	}
	count_done(worker);
	heartbeat_leave(&worker->heartbeat);
	if (async->in_flight > 0)
		log_message(NB_LOG_WARNING,
			"%u requests were still in flight when the run ended; they are not counted and may or may not have happened",
			async->in_flight);
	forget_writes(worker);
}

/** Until all strata below that one are done, by this thread too, with what comes meanwhile. */
static __attribute__((noinline)) bool
wait_for_strata(struct job_worker *worker, uint64_t needed, uint32_t clock_kind, bool is_paced)
{
	const struct job_plan *plan = worker->plan;
	uint64_t begin = clock_stamp(clock_kind);
	uint32_t spins = 0;
	worker->taken->first = worker->done;
	heartbeat_enter(&worker->heartbeat, "reap");
	for (uint32_t t = 0; t < plan->threads && !is_at_end(worker);) {
		/* Looked at first: what it has done before its end is seen after that. */
		bool is_over = __atomic_load_n(&plan->workers[t]->is_over, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&plan->workers[t]->strata_done, __ATOMIC_ACQUIRE) >=
			needed) {
			t++;
			continue;
		}
		if (is_over)
			worker->async->is_over = true;
		hand_over(worker, clock_kind, is_paced);
		go_on(worker, t == worker->thread ? PIECE_NS : 0, clock_kind, is_paced);
		worker->async->now = clock_stamp(clock_kind);
		if (++spins % SPINS == 0)
			sched_yield();
	}
	count_done(worker);
	heartbeat_leave(&worker->heartbeat);
	worker->peers_done = needed;
	worker->waited_ns += clock_ns(plan->clock, clock_stamp(clock_kind) - begin);
	return !worker->async->is_over;
}

static ALWAYS_INLINE void
run_strata(struct job_worker *worker, uint32_t clock_kind, bool is_paced)
{
	const struct job_plan *plan = worker->plan;
	struct async *async = worker->async;
	struct arrivals arrivals;
	uint32_t made;
	if (is_paced)
		arrivals_create(&arrivals, plan->schedule, worker->thread, plan->threads,
			plan->spec->seed);
	if (is_paced && plan->count != UINT64_MAX)
		arrivals_take_turns(&arrivals, plan->count, OPS_STRATUM);
	for (uint64_t s = worker->thread; s * OPS_STRATUM < plan->count; s += plan->threads) {
		uint64_t needed = ops_needs(plan->spec, s);
		async->stratum = s;
		if (needed > worker->peers_done &&
			!wait_for_strata(worker, needed, clock_kind, is_paced))
			return;
		ops_begin(&worker->maker, s);
		while ((made = ops_make(&worker->maker)) > 0) {
			if (is_paced)
				set_due(worker, &arrivals, async->due, made,
					worker->taken->moments.begin);
			if (!run_block(worker, worker->maker.ops, made, clock_kind, is_paced))
				return;
		}
		async->stratum = s + plan->threads;
		tell_strata(worker);
	}
}

/** The same of operations that follow each other. */
static ALWAYS_INLINE void
run_share(struct job_worker *worker, uint32_t clock_kind)
{
	uint64_t until, end = job_share_begin(worker->plan, worker->thread + 1);
	for (uint64_t i = job_share_begin(worker->plan, worker->thread); i < end; i = until) {
		uint32_t made;
		until = end - i < OPS_STRATUM ? end : i + OPS_STRATUM;
		ops_begin_at(&worker->maker, i, until);
		while ((made = ops_make(&worker->maker)) > 0) {
			if (!run_block(worker, worker->maker.ops, made, clock_kind, false))
				return;
		}
	}
}

#define LOOP(name, clock_kind, is_paced) \
	static __attribute__((noinline)) void name(struct job_worker *worker) \
	{ \
		if (!is_paced && job_has_shares(worker->plan)) \
			run_share(worker, clock_kind); \
		else \
			run_strata(worker, clock_kind, is_paced); \
		drain(worker, clock_kind, is_paced); \
	}

LOOP(closed_tsc, NB_CLOCK_TSC, false)
LOOP(closed_monotonic, NB_CLOCK_MONOTONIC, false)
LOOP(paced_tsc, NB_CLOCK_TSC, true)
LOOP(paced_monotonic, NB_CLOCK_MONOTONIC, true)

void
async_run(struct job_worker *worker)
{
	static void (*const loops[2][2])(struct job_worker * worker) = {
		{closed_tsc, closed_monotonic}, {paced_tsc, paced_monotonic}};
	const struct job_plan *plan = worker->plan;
	struct async *async = worker->async;
	worker->only = NB_OP_KINDS;
	worker->taken->ops = async->done;
	worker->taken->stamped = UINT64_MAX;
	async->is_over = async->is_broken = false;
	async->now = async->came = async->first = 0;
	async->stratum = worker->thread;
	async->grace_ticks = clock_ticks(plan->clock, GRACE_NS);
	loops[plan->is_paced][plan->clock->kind == NB_CLOCK_MONOTONIC](worker);
	/* the first that is done need not be the first that began */
	if (worker->measured > 0 && !plan->is_paced && async->first < worker->first_ticks)
		worker->first_ticks = async->first;
}
