/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands requests to the engine: neighbouring puts as one batch, all gets as one multi_get.
 * So an engine can sync once for many writes, and overlap the cache misses of many reads.
 * If the engine can, neighbouring merges are in flight together for the same reasons.
 *
 * Order. Writes are executed in their order and before the gets. So a write to a key that
 * an earlier get reads ends the window. A filter of 512 bits rules most keys out; otherwise
 * the keys are compared.
 */
#include "serve/window.h"

#include <mininb/wire.h>
#include <stdio.h>

#include "base/error.h"
#include "serve/async.h"
#include "serve/resp.h"

/*
 * If the answers of a window are longer, the next window is shorter, because values are
 * lent together.
 */
enum { WINDOW_BYTES = 256 * 1024, CONFLICTS_MAX = 1000 };

/* Limit for the wait for merges; after it the engine counts as broken. */
#define REAP_NS UINT64_C(60000000000)

void
window_create(
	struct window *window, const struct nb_engine *engine, struct gate *gate, uint32_t id)
{
	*window = (struct window){.engine = engine, .gate = gate, .id = id, .most = 1};
}

void
window_release(const struct window *window)
{
	if (window->engine->release != NULL)
		window->engine->release(window->session);
}

const char *
window_failure(struct window *window, int rc)
{
	const char *text = nb_error_text();
	window->counts.failures++;
	if (rc > 0)
		snprintf(window->error, sizeof(window->error), "%s answered %d",
			window->engine->name, rc);
	else if (text[0] == '\0')
		snprintf(window->error, sizeof(window->error), "%s failed without saying why",
			window->engine->name);
	else
		snprintf(window->error, sizeof(window->error), "%s", text);
	return window->error;
}

/* ---- the engine ---- */

/** Emulate an insert or a merge that the engine lacks. This thread is alone. */
static int
put_instead(struct window *window, const struct window_op *op)
{
	const struct nb_engine *engine = window->engine;
	struct nb_slice found = {NULL, 0}, value = op->value;
	uint64_t sum = 0;
	int rc = engine->get(window->session, op->key, &found);
	if (rc != NB_OK && rc != NB_NOT_FOUND)
		return rc;
	bool is_there = rc == NB_OK, is_number = found.size == sizeof(sum);
	if (is_there && is_number)
		memcpy(&sum, found.data, sizeof(sum));
	if (is_there)
		window_release(window);
	if (op->verb == NB_REQ_INSERT && is_there)
		return NB_EXISTS;
	if (op->verb == NB_REQ_MERGE) {
		if (is_there && !is_number)
			return error_set(NB_FAIL, "merge: the value has %zu bytes, not %zu",
				found.size, sizeof(sum));
		sum += op->operand;
		value = (struct nb_slice){&sum, sizeof(sum)};
	}
	return engine->put(window->session, op->key, value);
}

/** Execute with exclusive access. The thread is inside the gate, and leaves it meanwhile. */
static int
do_alone(struct window *window, const struct window_op *op)
{
	gate_leave(window->gate, window->id);
	gate_close(window->gate);
	int rc = put_instead(window, op);
	gate_open(window->gate);
	gate_enter(window->gate, window->id);
	return rc;
}

static int
insert(struct window *window, const struct window_op *op)
{
	const struct nb_engine *engine = window->engine;
	return engine->insert != NULL ? engine->insert(window->session, op->key, op->value)
				      : do_alone(window, op);
}

static int
merge(struct window *window, const struct window_op *op)
{
	const struct nb_engine *engine = window->engine;
	return engine->merge != NULL
		? engine->merge(window->session, op->key, NB_MERGE_ADD_U64, op->operand)
		: do_alone(window, op);
}

static int
do_once(struct window *window, const struct window_op *op, struct nb_slice *value)
{
	const struct nb_engine *engine = window->engine;
	switch (op->verb) {
	case NB_REQ_GET:
		return engine->get(window->session, op->key, value);
	case NB_REQ_PUT:
		return engine->put(window->session, op->key, op->value);
	case NB_REQ_DEL:
		return engine->del(window->session, op->key);
	case NB_REQ_INSERT:
		return insert(window, op);
	case NB_REQ_MERGE:
		return merge(window, op);
	}
	return error_set(NB_UNSUPPORTED, "the server does not know this verb");
}

int
window_do(struct window *window, const struct window_op *op, struct nb_slice *value)
{
	struct nb_slice own;
	int rc = NB_CONFLICT;
	for (int tries = 0; rc == NB_CONFLICT && tries < CONFLICTS_MAX; tries++)
		rc = do_once(window, op, value != NULL ? value : &own);
	if (rc == NB_OK && op->verb == NB_REQ_GET && value == NULL)
		window_release(window);
	if (rc < 0)
		window_failure(window, rc);
	return rc;
}

/* Execute the puts [from, to). */
static void
put_together(struct window *window, size_t from, size_t to)
{
	const struct nb_engine *engine = window->engine;
	int rc = NB_CONFLICT;
	if (engine->batch == NULL || to - from == 1) {
		for (size_t i = from; i < to; i++)
			window->ops[i].answer = window_do(window, &window->ops[i], NULL);
		return;
	}
	for (size_t i = from; i < to; i++)
		window->writes[i - from] = (struct nb_write){
			.key = window->ops[i].key, .value = window->ops[i].value};
	for (int tries = 0; rc == NB_CONFLICT && tries < CONFLICTS_MAX; tries++)
		rc = engine->batch(window->session, window->writes, to - from, 0);
	if (rc < 0)
		window_failure(window, rc);
	for (size_t i = from; i < to; i++)
		window->ops[i].answer = rc;
}

/**
 * Collect finished merges. Returns their number; 0: reap has failed, or nothing finished in
 * time.
 */
static size_t
reap_merges(struct window *window)
{
	struct nb_completion done[WINDOW_MAX];
	size_t count = 0;
	int rc = window->engine->reap(window->session, done, WINDOW_MAX, &count, REAP_NS);
	if (rc != NB_OK || count > WINDOW_MAX)
		return 0;
	for (size_t i = 0; i < count; i++) {
		int answer = done[i].answer;
		if (done[i].tag >= window->count)
			return 0;
		window->ops[done[i].tag].answer = answer;
		if (answer < 0 && done[i].error != NULL)
			error_set(answer, "%s", done[i].error);
		if (answer < 0)
			window_failure(window, answer);
	}
	if (count > 0)
		window_release(window);
	return count;
}

/** Execute the merges [from, to) in flight together. */
static void
merge_together(struct window *window, size_t from, size_t to)
{
	const struct nb_engine *engine = window->engine;
	struct nb_request requests[WINDOW_MAX];
	size_t sent = from, left = to - from;
	for (size_t i = from; i < to; i++) {
		requests[i] = (struct nb_request){.tag = i,
			.key = window->ops[i].key,
			.operand = window->ops[i].operand,
			.verb = NB_REQ_MERGE};
		window->ops[i].answer = NB_FAIL; /* until its completion arrives */
	}
	while (left > 0) {
		size_t taken = 0;
		int rc = sent < to
			? engine->submit(window->session, requests + sent, to - sent, &taken)
			: NB_OK;
		sent += taken;
		size_t came = rc == NB_OK || rc == NB_PENDING ? reap_merges(window) : 0;
		if (came == 0) { /* the engine is broken, so its requests in flight are lost */
			window->is_broken = true;
			window_failure(window, NB_FAIL);
			return;
		}
		left -= came < left ? came : left;
	}
	for (size_t i = from; i < to; i++)
		if (window->ops[i].answer == NB_CONFLICT)
			window->ops[i].answer = window_do(window, &window->ops[i], NULL);
}

static bool
can_merge_together(const struct window *window)
{
	const struct nb_engine *engine = window->engine;
	return engine->merge != NULL && engine->submit != NULL && engine->reap != NULL &&
		!window->is_broken;
}

/** The number of consecutive ops from `from` on with that verb. */
static size_t
count_alike(const struct window *window, size_t from, uint32_t verb)
{
	size_t i = from;
	while (i < window->count && window->ops[i].verb == verb)
		i++;
	return i - from;
}

static void
do_writes(struct window *window)
{
	for (size_t i = 0, count; i < window->count; i += count) {
		struct window_op *op = &window->ops[i];
		count = count_alike(window, i, op->verb);
		if (op->verb == NB_REQ_GET)
			continue;
		if (op->verb == NB_REQ_PUT)
			put_together(window, i, i + count);
		else if (op->verb == NB_REQ_MERGE && count > 1 && can_merge_together(window))
			merge_together(window, i, i + count);
		else
			op->answer = window_do(window, op, NULL), count = 1;
	}
}

/** Whether a get of multi_get has this answer. */
static bool
has_answer(const struct window *window, int32_t answer)
{
	for (size_t i = 0; i < window->gets; i++)
		if (window->answers[i] == answer)
			return true;
	return false;
}

/**
 * Read all gets by one multi_get. false: not possible, so they are read one by one. If
 * multi_get fails, all gets fail. If one has a conflict, window_do() must repeat it, which would
 * end the loans of the others. So all are read again, one by one.
 */
static bool
get_together(struct window *window)
{
	const struct nb_engine *engine = window->engine;
	if (window->gets < 2 || engine->multi_get == NULL)
		return false;
	int rc = engine->multi_get(
		window->session, window->keys, window->gets, window->values, window->answers);
	if (rc == NB_OK && has_answer(window, NB_CONFLICT)) {
		if (has_answer(window, NB_OK))
			window_release(window);
		return false;
	}
	if (rc == NB_OK)
		return true;
	window_failure(window, rc); /* nothing is lent */
	for (size_t i = 0; i < window->gets; i++)
		window->answers[i] = rc < 0 ? rc : NB_FAIL;
	return true;
}

/* ---- answers ---- */

void
wire_add_answer(struct bytes *out, int answer, const char *error)
{
	int8_t byte = (int8_t)answer;
	bytes_add(out, &byte, 1);
	if (answer >= 0)
		return;
	size_t length = error != NULL ? strlen(error) : 0;
	uint16_t size = (uint16_t)(length > UINT16_MAX ? UINT16_MAX : length);
	bytes_add(out, &size, sizeof(size));
	bytes_add(out, error, size);
}

static inline void
add_wire(struct bytes *out, struct window *window, const struct window_op *op,
	struct nb_slice value)
{
	uint32_t size = (uint32_t)value.size;
	if (op->answer != NB_OK || op->verb != NB_REQ_GET) {
		wire_add_answer(out, op->answer, op->answer < 0 ? window->error : NULL);
		return;
	}
	bool is_sized = size != window->value_size;
	if (!bytes_reserve(out, size + 5))
		return;
	char *to = out->data + out->size;
	*to++ = is_sized ? NB_WIRE_SIZED : NB_OK;
	if (is_sized) {
		memcpy(to, &size, sizeof(size));
		to += sizeof(size);
	}
	if (size > 0)
		memcpy(to, value.data, size);
	out->size = (size_t)(to - out->data) + size;
}

static void
add_resp(struct bytes *out, struct window *window, const struct window_op *op,
	struct nb_slice value)
{
	if (op->answer < 0)
		resp_add_error(out, "ERR", window->error);
	else if (op->answer == NB_CONFLICT)
		resp_add_error(out, "ERR", "conflict: the write lost too often; try again");
	else if (op->reply == REPLY_DID)
		resp_add_number(out, ':', op->answer == NB_OK);
	else if (op->answer != NB_OK)
		BYTES_ADD_TEXT(out, "$-1\r\n");
	else if (op->reply == REPLY_BULK)
		resp_add_bulk(out, value);
	else
		BYTES_ADD_TEXT(out, "+OK\r\n");
}

static inline void
add_reply(struct bytes *out, struct window *window, const struct window_op *op,
	struct nb_slice value)
{
	if (op->reply == REPLY_WIRE)
		add_wire(out, window, op, value);
	else
		add_resp(out, window, op, value);
}

void
window_add_reply(struct window *window, const struct window_op *op, struct nb_slice value,
	struct bytes *out)
{
	add_reply(out, window, op, value);
}

/** Write the answers in order. Executes the gets here if they were not read together. */
static void
add_replies(struct window *window, struct bytes *out, bool is_together)
{
	bool is_lent = false;
	for (size_t i = 0, get = 0; i < window->count; i++) {
		struct window_op *op = &window->ops[i];
		struct nb_slice value = {NULL, 0};
		window->counts.verbs[op->verb]++;
		if (op->verb != NB_REQ_GET) {
			add_reply(out, window, op, value);
			continue;
		}
		op->answer = is_together ? window->answers[get] : window_do(window, op, &value);
		bool is_there = op->answer == NB_OK;
		if (is_together && is_there)
			value = window->values[get];
		get++;
		add_reply(out, window, op, value);
		if (!is_together && is_there)
			window_release(window);
		is_lent |= is_together && is_there;
	}
	if (is_lent)
		window_release(window);
}

static void
run_now(struct window *window, struct bytes *out)
{
	size_t before = out->size;
	gate_enter(window->gate, window->id);
	if (window->gets < window->count)
		do_writes(window);
	add_replies(window, out, get_together(window));
	gate_leave(window->gate, window->id);
	if (out->size - before > WINDOW_BYTES)
		window->most = window->most > 1 ? window->most / 2 : 1;
	else if (window->count == window->most && window->most < WINDOW_MAX)
		window->most *= 2;
	window->counts.batches++;
}

void
window_run(struct window *window, struct bytes *out)
{
	if (window->count == 0)
		return;
	if (window->async != NULL)
		async_run(window->async);
	else
		run_now(window, out);
	window->count = window->gets = 0;
	memset(window->wanted, 0, sizeof(window->wanted));
}

void
window_finish(struct window *window, struct bytes *out)
{
	window_run(window, out);
	if (window->async != NULL)
		async_finish(window->async);
}

/* ---- requests ---- */

static inline uint32_t
bit_of(struct nb_slice key)
{
	uint64_t word = 0;
	if (key.size >= sizeof(word)) {
		uint64_t last;
		memcpy(&word, key.data, sizeof(word));
		memcpy(&last, (const char *)key.data + key.size - sizeof(last), sizeof(last));
		word ^= last * UINT64_C(0xc4ceb9fe1a85ec53) + key.size;
	} else if (key.size > 0) {
		memcpy(&word, key.data, key.size);
	}
	return (uint32_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> 55);
}

static bool
is_wanted(const struct window *window, struct nb_slice key)
{
	for (size_t i = 0; i < window->gets; i++)
		if (window->keys[i].size == key.size &&
			memcmp(window->keys[i].data, key.data, key.size) == 0)
			return true;
	return false;
}

void
window_add(struct window *window, const struct window_op *op, struct bytes *out)
{
	uint32_t bit = bit_of(op->key);
	uint64_t mask = UINT64_C(1) << (bit & 63);
	uint64_t *wanted = &window->wanted[bit >> 6];
	if (op->verb == NB_REQ_GET) {
		*wanted |= mask;
		window->keys[window->gets++] = op->key;
	} else if ((*wanted & mask) != 0 && is_wanted(window, op->key)) {
		window_run(window, out);
	}
	window->ops[window->count++] = *op;
	if (window->count >= window->most)
		window_run(window, out);
}
