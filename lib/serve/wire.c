/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves the compact protocol (mininb/wire.h).
 *
 * A batch is executed while it arrives: its requests are parsed one by one, and those of
 * one read go to the engine together. So a batch may have any length, and only one request
 * must be complete. The answers of each read get their own head; its count is set when the
 * last of them is added.
 */
#include <stdio.h>

#include "base/error.h"
#include "run/engine.h"
#include "serve/server.h"

/* A request of the compact protocol, parsed. */
struct record {
	struct window_op op;
	struct nb_slice steps; /* of an execute: the bytes of its steps */
	uint32_t step_count, flags;
};

enum { BROKEN = -1, PART = 0 };

static inline uint32_t
load_u32(const char *at)
{
	uint32_t number;
	memcpy(&number, at, sizeof(number));
	return number;
}

static inline uint64_t
load_u64(const char *at)
{
	uint64_t number;
	memcpy(&number, at, sizeof(number));
	return number;
}

/* ---- answers ---- */

/**
 * Begin a head for answers. With requests in flight, async.c writes the heads later
 * instead.
 */
static void
begin_frame(struct conn *conn)
{
	struct bytes *out = &conn->thread->out;
	struct nb_wire_head head = {.magic = NB_WIRE_MAGIC,
		.kind = NB_WIRE_BATCH,
		.view = conn->thread->server->view,
		.value_size = conn->wire.value_size};
	conn->wire.frame = out->size;
	conn->wire.answers = 0;
	bytes_add(out, &head, sizeof(head));
}

/** Set the count of the answers added since begin_frame(); without any, remove the head. */
static void
end_frame(struct conn *conn)
{
	struct bytes *out = &conn->thread->out;
	if (conn->wire.answers == 0)
		out->size = conn->wire.frame;
	else if (!out->is_failed)
		memcpy(out->data + conn->wire.frame + offsetof(struct nb_wire_head, count),
			&conn->wire.answers, sizeof(conn->wire.answers));
}

static void
add_frame(struct conn *conn, uint32_t kind, uint32_t status, int rc, const void *body,
	size_t size)
{
	struct nb_wire_head head = {.magic = NB_WIRE_MAGIC,
		.kind = (uint8_t)kind,
		.flags = (uint16_t)status,
		.count = (uint32_t)size,
		.view = conn->thread->server->view,
		.key_size = (uint32_t)-rc};
	bytes_add(&conn->thread->out, &head, sizeof(head));
	bytes_add(&conn->thread->out, body, size);
}

/** Send a message and end the connection. */
static size_t
break_off(struct conn *conn, const char *text)
{
	add_frame(conn, NB_WIRE_BATCH, NB_WIRE_BROKEN, NB_FAIL, text, strlen(text));
	conn->is_ending = true;
	conn->thread->dropped++;
	return 0;
}

static uint32_t
kinds_of(const struct server *server)
{
	const struct nb_engine *engine = &server->engine;
	return 1u << NB_WIRE_BATCH | (server->options.may_reset ? 1u << NB_WIRE_RESET : 0) |
		(engine->flush != NULL ? 1u << NB_WIRE_SETTLE : 0) |
		(engine->checkpoint != NULL ? 1u << NB_WIRE_CHECKPOINT : 0) |
		(engine->stats != NULL ? 1u << NB_WIRE_STATS : 0) |
		(engine_has_scan(engine) ? 1u << NB_WIRE_SCAN : 0);
}

static size_t
greet(struct conn *conn, const struct nb_wire_head *head)
{
	const struct server *server = conn->thread->server;
	const struct nb_engine *engine = &server->engine;
	struct nb_wire_hello hello = {.caps = engine->caps,
		.durability = server->durability,
		.key_size_max = server_key_max(server),
		.value_size_max = server_value_max(server),
		.verbs = 1u << NB_REQ_GET | 1u << NB_REQ_PUT | 1u << NB_REQ_DEL |
			1u << NB_REQ_INSERT | 1u << NB_REQ_MERGE |
			(engine->execute != NULL ? 1u << NB_REQ_EXECUTE : 0),
		.kinds = kinds_of(server),
		.records = UINT64_MAX};
	if (head->count != NB_WIRE_VERSION) {
		char text[96];
		snprintf(text, sizeof(text),
			"this server speaks version %u of the protocol, not %u",
			NB_WIRE_VERSION, head->count);
		return break_off(conn, text);
	}
	snprintf(hello.engine, sizeof(hello.engine), "%s", engine->name);
	snprintf(hello.version, sizeof(hello.version), "%s", engine->version());
	add_frame(conn, NB_WIRE_HELLO, NB_WIRE_DONE, 0, &hello, sizeof(hello));
	conn->wire.has_greeted = true;
	return sizeof(*head);
}

/* ---- requests ---- */

/** Returns the request's size, PART with *need set, or BROKEN. */
static inline ptrdiff_t
parse_fixed(const struct wire_state *wire, const char *bytes, size_t size,
	struct record *record, size_t *need)
{
	uint32_t verb = (uint8_t)bytes[0];
	size_t value = verb == NB_REQ_PUT || verb == NB_REQ_INSERT ? wire->value_size
		: verb == NB_REQ_MERGE                             ? sizeof(uint64_t)
								   : 0;
	size_t whole = 1 + (size_t)wire->key_size + value;
	*need = whole;
	if (size < whole)
		return PART;
	record->op.key = (struct nb_slice){bytes + 1, wire->key_size};
	if (verb == NB_REQ_MERGE)
		record->op.operand = load_u64(bytes + 1 + wire->key_size);
	else
		record->op.value = (struct nb_slice){bytes + 1 + wire->key_size, value};
	return (ptrdiff_t)whole;
}

static ptrdiff_t
parse_sized(const struct server *server, const char *bytes, size_t size, struct record *record,
	size_t *need)
{
	uint32_t verb = (uint8_t)bytes[0];
	bool has_value = verb == NB_REQ_PUT || verb == NB_REQ_INSERT;
	size_t head = 1 + sizeof(uint32_t) +
		(has_value                             ? sizeof(uint32_t)
				: verb == NB_REQ_MERGE ? sizeof(uint64_t)
						       : 0);
	*need = head;
	if (size < head)
		return PART;
	size_t key = load_u32(bytes + 1), value = has_value ? load_u32(bytes + 5) : 0;
	if (key == 0 || key > server_key_max(server) || value > server_value_max(server))
		return BROKEN;
	*need = head + key + value;
	if (size < *need)
		return PART;
	if (verb == NB_REQ_MERGE)
		record->op.operand = load_u64(bytes + 5);
	record->op.key = (struct nb_slice){bytes + head, key};
	record->op.value = (struct nb_slice){bytes + head + key, value};
	return (ptrdiff_t)*need;
}

enum { STEP_HEAD = 1 + 4 + 8 + 4 + 4 };

/** Parse the step at the front of `bytes`; `step` may be NULL. */
static ptrdiff_t
parse_step(const struct server *server, const char *bytes, size_t size, struct nb_step *step,
	size_t *need)
{
	*need = STEP_HEAD;
	if (size < STEP_HEAD)
		return PART;
	size_t key = load_u32(bytes + 13), value = load_u32(bytes + 17);
	if (key == 0 || key > server_key_max(server) || value > server_value_max(server))
		return BROKEN;
	*need = STEP_HEAD + key + value;
	if (size < *need)
		return PART;
	if (step != NULL)
		*step = (struct nb_step){.verb = (uint8_t)bytes[0],
			.skips = load_u32(bytes + 1),
			.operand = load_u64(bytes + 5),
			.key = {bytes + STEP_HEAD, key},
			.value = {bytes + STEP_HEAD + key, value}};
	return (ptrdiff_t)*need;
}

static ptrdiff_t
parse_execute(const struct server *server, const char *bytes, size_t size,
	struct record *record, size_t *need)
{
	size_t at = 1 + 2 * sizeof(uint32_t);
	*need = at;
	if (size < at)
		return PART;
	record->flags = load_u32(bytes + 1);
	record->step_count = load_u32(bytes + 5);
	if (record->step_count > NB_WIRE_STEPS_MAX)
		return BROKEN;
	for (uint32_t i = 0; i < record->step_count; i++) {
		size_t more;
		ptrdiff_t step = parse_step(server, bytes + at, size - at, NULL, &more);
		*need = at + more;
		if (*need > server_frame_max(server))
			return BROKEN;
		if (step <= 0)
			return step;
		at += (size_t)step;
	}
	record->steps = (struct nb_slice){bytes + 9, at - 9};
	return (ptrdiff_t)at;
}

/** Returns the request's size, PART with conn->need set, or BROKEN. */
static inline ptrdiff_t
parse_record(struct conn *conn, const char *bytes, size_t size, struct record *record)
{
	const struct server *server = conn->thread->server;
	conn->need = 1;
	if (size == 0)
		return PART;
	record->op = (struct window_op){.verb = (uint8_t)bytes[0], .reply = REPLY_WIRE};
	if (record->op.verb > VERB_UNKNOWN)
		record->op.verb = VERB_UNKNOWN;
	if (record->op.verb == NB_REQ_EXECUTE)
		return parse_execute(server, bytes, size, record, &conn->need);
	return conn->wire.is_fixed ? parse_fixed(&conn->wire, bytes, size, record, &conn->need)
				   : parse_sized(server, bytes, size, record, &conn->need);
}

static void
add_step_answers(struct bytes *out, const struct nb_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool has_value = steps[i].verb == NB_STEP_GET && steps[i].answer == NB_OK;
		uint32_t size = (uint32_t)steps[i].value.size;
		wire_add_answer(out, steps[i].answer, NULL);
		if (!has_value)
			continue;
		bytes_add(out, &size, sizeof(size));
		bytes_add(out, steps[i].value.data, size);
	}
}

static int
execute(struct conn *conn, const struct record *record)
{
	struct thread *thread = conn->thread;
	struct window *window = &thread->window;
	const struct nb_engine *engine = window->engine;
	struct nb_step *steps = calloc(record->step_count + 1, sizeof(*steps));
	size_t at = 0, more;
	if (engine->execute == NULL || steps == NULL) {
		free(steps);
		return engine->execute == NULL
			? error_set(NB_UNSUPPORTED, "%s has no execute", engine->name)
			: error_memory();
	}
	for (uint32_t i = 0; i < record->step_count; i++)
		at += (size_t)parse_step(thread->server, (const char *)record->steps.data + at,
			record->steps.size - at, &steps[i], &more);
	int rc = engine->execute(window->session, steps, record->step_count, record->flags);
	if (rc == NB_OK) {
		wire_add_answer(&thread->out, rc, NULL);
		add_step_answers(&thread->out, steps, record->step_count);
		window_release(window);
	}
	free(steps);
	return rc;
}

static void
serve_execute(struct conn *conn, const struct record *record)
{
	struct thread *thread = conn->thread;
	struct window *window = &thread->window;
	window_finish(window, &thread->out);
	if (window->async != NULL)
		begin_frame(conn);
	gate_enter(window->gate, window->id);
	int rc = execute(conn, record);
	gate_leave(window->gate, window->id);
	window->counts.verbs[NB_REQ_EXECUTE]++;
	window->counts.batches++;
	if (rc != NB_OK)
		wire_add_answer(&thread->out, rc, rc < 0 ? window_failure(window, rc) : NULL);
	if (window->async == NULL)
		return;
	conn->wire.answers = 1;
	conn->async.number++;
	end_frame(conn);
}

static void
end_records(struct conn *conn)
{
	window_run(&conn->thread->window, &conn->thread->out);
	if (conn->thread->window.async == NULL)
		end_frame(conn);
}

/** Execute the requests of the current batch. */
static size_t
serve_records(struct conn *conn, const char *bytes, size_t size)
{
	struct thread *thread = conn->thread;
	struct wire_state *wire = &conn->wire;
	size_t used = 0;
	bool is_async = thread->window.async != NULL;
	if (!wire->is_refused && !is_async)
		begin_frame(conn);
	thread->window.value_size = is_async ? 0 : wire->value_size;
	while (wire->left > 0 && thread->out.size < OUTPUT_PAUSE) {
		struct record record;
		ptrdiff_t length = parse_record(conn, bytes + used, size - used, &record);
		if (length == BROKEN) {
			if (!wire->is_refused)
				end_records(conn);
			window_finish(&thread->window, &thread->out);
			break_off(conn,
				"a request has an unknown verb, or its size is above "
				"the limit");
			return used;
		}
		if (length == PART)
			break;
		used += (size_t)length;
		wire->left--;
		if (wire->is_refused)
			continue;
		wire->answers++;
		if (record.op.verb == NB_REQ_EXECUTE)
			serve_execute(conn, &record);
		else
			window_add(&thread->window, &record.op, &thread->out);
	}
	if (!wire->is_refused)
		end_records(conn);
	return used;
}

/**
 * Begin a batch after its head was read. Returns the head's size, or 0 if the connection
 * ends.
 */
static size_t
begin_batch(struct conn *conn, const struct nb_wire_head *head)
{
	const struct server *server = conn->thread->server;
	struct wire_state *wire = &conn->wire;
	bool is_fixed = (head->flags & NB_WIRE_FIXED) != 0;
	if (is_fixed &&
		(head->key_size == 0 || head->key_size > server_key_max(server) ||
			head->value_size > server_value_max(server)))
		return break_off(conn, "the sizes of a batch are above the limit");
	wire->left = head->count;
	wire->is_fixed = is_fixed;
	wire->key_size = head->key_size;
	wire->value_size = head->value_size;
	wire->is_refused = head->view != server->view;
	conn->async.is_late_allowed = (head->flags & NB_WIRE_MAY_BE_LATE) != 0;
	if (wire->is_refused) {
		struct nb_wire_head refusal = {.magic = NB_WIRE_MAGIC,
			.kind = NB_WIRE_BATCH,
			.flags = NB_WIRE_VIEW,
			.count = head->count,
			.view = server->view};
		bytes_add(&conn->thread->out, &refusal, sizeof(refusal));
	}
	return sizeof(*head);
}

/* ---- scans ---- */

enum { SCAN_BYTES = 64 * 1024 /* limit for one answer */ };

/** Add records of the open scan; *more: the client may ask for the next ones. */
static int
add_records(struct conn *conn, const struct nb_wire_head *head, struct nb_slice from,
	uint32_t *count, bool *more)
{
	struct window *window = &conn->thread->window;
	struct bytes *out = &conn->thread->out;
	size_t begin = out->size;
	struct nb_slice key, value;
	int rc = NB_OK;
	while (*count < head->count && out->size - begin < SCAN_BYTES) {
		rc = window->engine->scan_next(window->session, &key, &value);
		if (rc != NB_OK)
			break;
		if ((head->flags & NB_WIRE_AFTER) != 0 && key.size == from.size &&
			memcmp(key.data, from.data, from.size) == 0)
			continue;
		if ((head->flags & NB_SCAN_KEYS_ONLY) != 0)
			value.size = 0;
		uint32_t sizes[] = {(uint32_t)key.size, (uint32_t)value.size};
		bytes_add(out, sizes, sizeof(sizes));
		bytes_add(out, key.data, key.size);
		bytes_add(out, value.data, value.size);
		++*count;
	}
	*more = rc == NB_OK;
	return rc == NB_NOT_FOUND ? NB_OK : rc;
}

static int
scan(struct conn *conn, const struct nb_wire_head *head, struct nb_slice from, uint32_t *count,
	bool *more)
{
	struct window *window = &conn->thread->window;
	const struct nb_engine *engine = window->engine;
	struct nb_scan_args args = {.size = sizeof(args),
		.flags = head->flags & (NB_SCAN_BACKWARD | NB_SCAN_KEYS_ONLY),
		.from = from,
		.limit = (uint64_t)head->count + 1};
	int rc = engine->scan_open(window->session, &args);
	if (rc != NB_OK)
		return rc;
	rc = add_records(conn, head, from, count, more);
	int closed = engine->scan_close(window->session);
	return rc != NB_OK ? rc : closed;
}

static void
serve_scan(struct conn *conn, const struct nb_wire_head *head, struct nb_slice from)
{
	struct thread *thread = conn->thread;
	struct bytes *out = &thread->out;
	struct window *window = &thread->window;
	size_t frame = out->size;
	uint32_t count = 0;
	bool more = false;
	error_set(NB_OK, "%s", "");
	add_frame(conn, NB_WIRE_SCAN, NB_WIRE_DONE, 0, NULL, 0);
	gate_enter(window->gate, window->id);
	int rc = scan(conn, head, from, &count, &more);
	gate_leave(window->gate, window->id);
	window->counts.scans++;
	if (rc != NB_OK) {
		const char *text = window_failure(window, rc);
		out->size = frame;
		add_frame(conn, NB_WIRE_SCAN, NB_WIRE_FAILED, rc < 0 ? rc : NB_FAIL, text,
			strlen(text));
		return;
	}
	if (out->is_failed)
		return;
	struct nb_wire_head answer;
	memcpy(&answer, out->data + frame, sizeof(answer));
	answer.count = (uint32_t)(out->size - frame - sizeof(answer));
	answer.key_size = count;
	answer.value_size = !more;
	memcpy(out->data + frame, &answer, sizeof(answer));
}

static void
refuse_kind(struct conn *conn, uint32_t kind, const char *text)
{
	add_frame(conn, kind, NB_WIRE_FAILED, NB_UNSUPPORTED, text, strlen(text));
}

static size_t
begin_errand(struct conn *conn, const struct nb_wire_head *head)
{
	if ((kinds_of(conn->thread->server) & 1u << head->kind) == 0) {
		const char *text = head->kind == NB_WIRE_RESET
			? "the server does not allow its data to be removed: start it with "
			  "--allow-reset"
			: "the engine has no such verb";
		refuse_kind(conn, head->kind, text);
		return sizeof(*head);
	}
	thread_send_errand(conn, head->kind, head->count);
	return sizeof(*head);
}

static size_t
begin_scan(struct conn *conn, const struct nb_wire_head *head, const char *bytes, size_t size)
{
	size_t whole = sizeof(*head) + head->key_size;
	if (head->key_size > server_key_max(conn->thread->server))
		return break_off(conn, "the key of a scan is above the limit");
	conn->need = whole;
	if (size < whole)
		return 0;
	if (engine_has_scan(conn->thread->window.engine))
		serve_scan(
			conn, head, (struct nb_slice){bytes + sizeof(*head), head->key_size});
	else
		refuse_kind(conn, head->kind, "the engine has no ordered scan");
	return whole;
}

/**
 * Begin a frame of which `size` bytes have arrived. Returns the bytes used; 0: it waits or
 * ends.
 */
static size_t
begin_request(struct conn *conn, const char *bytes, size_t size)
{
	struct nb_wire_head head;
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != NB_WIRE_MAGIC || head.kind >= NB_WIRE_KINDS)
		return break_off(conn, "a frame does not begin as it must");
	if (head.kind == NB_WIRE_HELLO)
		return greet(conn, &head);
	if (!conn->wire.has_greeted)
		return break_off(conn, "the first frame must be a hello");
	if (head.kind == NB_WIRE_SCAN)
		return begin_scan(conn, &head, bytes, size);
	return head.kind == NB_WIRE_BATCH ? begin_batch(conn, &head)
					  : begin_errand(conn, &head);
}

size_t
wire_serve(struct conn *conn, const char *bytes, size_t size)
{
	const struct bytes *out = &conn->thread->out;
	size_t used = 0;
	while (!conn->is_ending && !conn->is_waiting && out->size < OUTPUT_PAUSE) {
		if (conn->wire.left > 0) {
			used += serve_records(conn, bytes + used, size - used);
			if (conn->wire.left > 0)
				break;
			continue;
		}
		conn->need = sizeof(struct nb_wire_head);
		if (size - used < conn->need || conn->async.first != NULL)
			break;
		size_t some = begin_request(conn, bytes + used, size - used);
		if (some == 0)
			break;
		used += some;
	}
	return used;
}

void
wire_answer_errand(struct conn *conn, struct errand *errand)
{
	add_frame(conn, errand->kind, errand->rc == NB_OK ? NB_WIRE_DONE : NB_WIRE_FAILED,
		errand->rc, errand->text.data, errand->text.size);
}
