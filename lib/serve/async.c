/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Submits the requests of all connections of a thread to its session and distributes the
 * answers.
 *
 * Answers of a connection are sent in the order of its requests. A client of the compact
 * protocol may allow late answers. Then a request that is not done after the first reap is
 * marked as late, and its answer follows with its number. All other connections wait for
 * their own requests: nothing more is read from them meanwhile.
 *
 * Order of a key. The engine keeps it for a session (nb_engine.submit). A verb that is not
 * submitted first waits for all requests in flight.
 *
 * The gate (gate.h). A thread is inside while requests are in flight. If another thread
 * closes the gate, this one waits for its requests before it submits more.
 */
#include "serve/async.h"

#include "base/error.h"
#include "serve/server.h"

#define DRAIN_NS UINT64_C(1000000000) /* limit for a single call of reap */
enum { KEPT_BYTES = 4096 };           /* a larger buffer is freed after its request */

struct async *
async_new(struct window *window)
{
	struct async *async = calloc(1, sizeof(*async));
	if (async == NULL)
		return NULL;
	async->window = window;
	window->most = WINDOW_MAX;
	for (size_t i = 0; i < FLIGHTS; i++) {
		async->flights[i].next = async->free;
		async->free = &async->flights[i];
	}
	return async;
}

void
async_delete(struct async *async)
{
	for (size_t i = 0; async != NULL && i < FLIGHTS; i++) {
		bytes_free(&async->flights[i].copy);
		bytes_free(&async->flights[i].reply);
	}
	free(async);
}

static void
empty(struct bytes *bytes)
{
	bytes->size = 0;
	if (bytes->room > KEPT_BYTES || bytes->is_failed)
		bytes_free(bytes);
}

static void
free_flight(struct async *async, struct flight *flight)
{
	empty(&flight->copy);
	empty(&flight->reply);
	flight->next = async->free;
	flight->conn = NULL;
	async->free = flight;
}

/* ---- answers ---- */

static void
add_reply(struct bytes *to, const struct flight *flight)
{
	bytes_add(to, flight->reply.data, flight->reply.size);
	to->is_failed |= flight->reply.is_failed;
}

/**
 * Move the next answers in order to `ready`; if late answers are allowed, mark those in
 * flight.
 */
static void
settle(struct async *async, struct conn *conn)
{
	struct async_conn *own = &conn->async;
	static const uint8_t mark = NB_WIRE_LATE;
	struct flight *flight;
	while ((flight = own->first) != NULL && (!flight->is_flying || own->is_late_allowed)) {
		own->first = flight->next;
		own->ready_count++;
		if (flight->is_flying) {
			bytes_add(&own->ready, &mark, 1);
			flight->is_late = true;
			continue;
		}
		add_reply(&own->ready, flight);
		free_flight(async, flight);
	}
}

static void
add_answers(struct conn *conn, struct bytes *answers, uint32_t *count, uint32_t status)
{
	struct bytes *out = &conn->thread->out;
	struct nb_wire_head head = {.magic = NB_WIRE_MAGIC,
		.kind = NB_WIRE_BATCH,
		.flags = (uint16_t)status,
		.count = *count,
		.view = conn->thread->server->view};
	if (*count == 0)
		return;
	if (conn->protocol == PROTOCOL_WIRE)
		bytes_add(out, &head, sizeof(head));
	bytes_add(out, answers->data, answers->size);
	out->is_failed |= answers->is_failed;
	*count = 0;
	bytes_free(answers);
}

void
async_flush(struct conn *conn)
{
	struct async_conn *own = &conn->async;
	add_answers(conn, &own->ready, &own->ready_count, NB_WIRE_DONE);
	add_answers(conn, &own->late, &own->late_count, NB_WIRE_FOLLOWS);
}

/** Complete a request with its op.answer and `value`. */
static void
end_flight(struct async *async, struct flight *flight, struct nb_slice value)
{
	struct conn *conn = flight->conn;
	flight->is_flying = false;
	if (conn == NULL) {
		free_flight(async, flight);
		return;
	}
	struct async_conn *own = &conn->async;
	window_add_reply(async->window, &flight->op, value, &flight->reply);
	own->flying--;
	if (flight->is_late) {
		bytes_add(&own->late, &flight->number, sizeof(flight->number));
		add_reply(&own->late, flight);
		own->late_count++;
		free_flight(async, flight);
	} else if (!own->is_late_allowed) {
		settle(async, conn);
	}
	if (conn == async->conn || own->is_listed)
		return;
	own->is_listed = true;
	own->next_listed = async->listed;
	async->listed = conn;
}

static void
leave(struct async *async)
{
	if (!async->is_inside || async->count > 0)
		return;
	async->is_inside = false;
	gate_leave(async->window->gate, async->window->id);
}

/** Fail all requests in flight, because reap has failed. */
static void
fail_all(struct async *async, int rc)
{
	struct window *window = async->window;
	window_failure(window, rc);
	for (size_t i = 0; i < FLIGHTS; i++) {
		struct flight *flight = &async->flights[i];
		if (!flight->is_flying)
			continue;
		flight->op.answer = NB_FAIL;
		end_flight(async, flight, (struct nb_slice){NULL, 0});
	}
	async->count = 0;
}

static void
take(struct async *async, const struct nb_completion *done)
{
	struct flight *flight = &async->flights[done->tag % FLIGHTS];
	if (!flight->is_flying)
		return;
	if (done->answer < 0 && done->error != NULL)
		error_set(done->answer, "%s", done->error);
	if (done->answer < 0)
		window_failure(async->window, done->answer);
	flight->op.answer = done->answer;
	async->count--;
	end_flight(async, flight, done->value);
}

void
async_reap(struct async *async, uint64_t timeout_ns)
{
	struct window *window = async->window;
	size_t count = 0;
	if (async->count == 0)
		return;
	error_set(NB_OK, "%s", "");
	int rc = window->engine->reap(
		window->session, async->done, FLIGHTS, &count, timeout_ns);
	for (size_t i = 0; i < count; i++)
		take(async, &async->done[i]);
	if (count > 0)
		window_release(window);
	if (rc < 0)
		fail_all(async, rc);
	leave(async);
}

void
async_drain(struct async *async)
{
	while (async != NULL && async->count > 0)
		async_reap(async, DRAIN_NS);
}

void
async_finish(struct async *async)
{
	async_drain(async);
	settle(async, async->conn);
	async_flush(async->conn);
}

/* ---- requests ---- */

static void
enter(struct async *async)
{
	struct gate *gate = async->window->gate;
	if (gate->count > 1 && __atomic_load_n(&gate->is_closed, __ATOMIC_RELAXED) != 0)
		async_drain(async);
	if (!async->is_inside)
		gate_enter(gate, async->window->id);
	async->is_inside = true;
}

/** Add a request to the connection's queue. Wait if too many are in flight. */
static struct flight *
new_flight(struct async *async, const struct window_op *op)
{
	struct conn *conn = async->conn;
	struct async_conn *own = &conn->async;
	while (async->free == NULL) {
		settle(async, conn);
		async_reap(async, DRAIN_NS);
	}
	struct flight *flight = async->free;
	async->free = flight->next;
	flight->conn = conn;
	flight->next = NULL;
	flight->op = *op;
	flight->number = own->number++;
	flight->is_flying = true;
	flight->is_late = false;
	*(own->first != NULL ? &own->last->next : &own->first) = flight;
	own->last = flight;
	own->flying++;
	async->window->counts.verbs[op->verb]++;
	return flight;
}

/** Copy the bytes of a request, because the engine keeps pointers to them. */
static bool
keep(struct flight *flight)
{
	struct window_op *op = &flight->op;
	struct bytes *copy = &flight->copy;
	bytes_add(copy, op->key.data, op->key.size);
	bytes_add(copy, op->value.data, op->value.size);
	if (copy->is_failed)
		return false;
	op->key.data = copy->data;
	op->value.data = copy->data + op->key.size;
	return true;
}

static void
fail(struct async *async, struct flight *flight, int rc)
{
	window_failure(async->window, rc);
	flight->op.answer = rc < 0 ? rc : NB_FAIL;
	end_flight(async, flight, (struct nb_slice){NULL, 0});
}

/**
 * Submit `count` requests. If the engine fails and takes none, the first remaining one
 * fails.
 */
static void
submit(struct async *async, size_t count)
{
	struct window *window = async->window;
	for (size_t at = 0, taken; at < count; at += taken) {
		taken = 1;
		if (!async->flights[async->requests[at].tag].is_flying)
			continue; /* fail_all() ended it */
		enter(async);
		error_set(NB_OK, "%s", "");
		taken = 0;
		int rc = window->engine->submit(
			window->session, async->requests + at, count - at, &taken);
		async->count += (uint32_t)taken;
		if (taken == 0 && rc >= 0 && async->count > 0) {
			async_reap(async, DRAIN_NS);
		} else if (taken == 0) {
			fail(async, &async->flights[async->requests[at].tag], rc);
			taken = 1;
		}
		leave(async);
	}
}

static bool
has_verb(const struct nb_engine *engine, uint32_t verb)
{
	return verb <= NB_REQ_DEL || (verb == NB_REQ_INSERT && engine->insert != NULL) ||
		(verb == NB_REQ_MERGE && engine->merge != NULL);
}

/** Execute a request now, with other verbs, because the engine lacks its verb. */
static void
do_now(struct async *async, const struct window_op *op)
{
	struct window *window = async->window;
	async_drain(async);
	struct flight *flight = new_flight(async, op);
	gate_enter(window->gate, window->id);
	flight->op.answer = window_do(window, op, NULL);
	gate_leave(window->gate, window->id);
	end_flight(async, flight, (struct nb_slice){NULL, 0});
}

void
async_run(struct async *async)
{
	struct window *window = async->window;
	bool is_copied = (window->engine->caps & NB_CAP_COPIES) != 0;
	size_t count = 0;
	for (size_t i = 0; i < window->count; i++) {
		const struct window_op *op = &window->ops[i];
		bool is_submitted = has_verb(window->engine, op->verb);
		if (!is_submitted || async->free == NULL) {
			submit(async, count);
			count = 0;
		}
		if (!is_submitted) {
			do_now(async, op);
			continue;
		}
		struct flight *flight = new_flight(async, op);
		if (!is_copied && !keep(flight)) {
			fail(async, flight, error_memory());
			continue;
		}
		async->requests[count++] = (struct nb_request){
			.tag = (uint64_t)(flight - async->flights),
			.verb = op->verb,
			.key = flight->op.key,
			.value = flight->op.value,
			.operand = op->operand};
	}
	submit(async, count);
	window->counts.batches++;
	async_reap(async, 0);
	settle(async, async->conn);
	async_flush(async->conn);
}

void
async_forget(struct async *async, struct conn *conn)
{
	struct conn **link = &async->listed;
	for (size_t i = 0; i < FLIGHTS; i++) {
		struct flight *flight = &async->flights[i];
		if (flight->conn != conn)
			continue;
		flight->conn = NULL;
		if (!flight->is_flying)
			free_flight(async, flight);
	}
	while (*link != NULL && *link != conn)
		link = &(*link)->async.next_listed;
	if (*link == conn)
		*link = conn->async.next_listed;
	bytes_free(&conn->async.ready);
	bytes_free(&conn->async.late);
}
