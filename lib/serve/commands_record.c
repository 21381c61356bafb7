/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of RESP2 that read and write single records.
 *
 * GET, SET, SETNX and MGET go through the window, so that pipelined requests reach the
 * engine together. All others first run the window. A command that reads and then writes
 * (INCR, INCRBY, DECR, DECRBY, SET with XX) closes the gate (gate.h), so no other
 * connection writes in between. With one thread the gate costs nothing.
 *
 * If the engine answers a delete without a search, DEL counts each key.
 */
#include <inttypes.h>
#include <stdio.h>

#include "serve/call.h"

/* ---- words ---- */

static bool
check_key(const struct call *call, struct nb_slice key)
{
	char text[80];
	uint64_t most = server_key_max(call->thread->server);
	if (key.size > 0 && key.size <= most)
		return true;
	snprintf(text, sizeof(text), "a key must have 1 to %" PRIu64 " bytes, got %zu", most,
		key.size);
	add_error(call, text);
	return false;
}

static bool
check_value(const struct call *call, struct nb_slice value)
{
	char text[80];
	uint64_t most = server_value_max(call->thread->server);
	if (value.size <= most)
		return true;
	snprintf(text, sizeof(text), "a value may have %" PRIu64 " bytes, got %zu", most,
		value.size);
	add_error(call, text);
	return false;
}

/**
 * Check each step-th word from word 1 on as a key; with step 2, the word after it as a
 * value.
 */
static bool
check_keys(const struct call *call, size_t step)
{
	for (size_t i = 1; i < call->count; i += step) {
		if (!check_key(call, call->words[i]))
			return false;
		if (step == 2 && !check_value(call, call->words[i + 1]))
			return false;
	}
	return true;
}

/* ---- records ---- */

static void
add_request(const struct call *call, uint32_t verb, uint32_t reply, struct nb_slice key,
	struct nb_slice value)
{
	struct window_op op = {.verb = verb, .reply = reply, .key = key, .value = value};
	window_add(call->window, &op, call->out);
}

static int
do_request(const struct call *call, uint32_t verb, struct nb_slice key, struct nb_slice value,
	struct nb_slice *found)
{
	struct window_op op = {.verb = verb, .key = key, .value = value};
	call->window->counts.verbs[verb]++;
	call->window->counts.batches++;
	return window_do(call->window, &op, found);
}

void
do_get(const struct call *call)
{
	if (check_key(call, call->words[1]))
		add_request(call, NB_REQ_GET, REPLY_BULK, call->words[1],
			(struct nb_slice){NULL, 0});
}

static void
set_if_there(const struct call *call)
{
	struct nb_slice key = call->words[1], value = call->words[2];
	window_finish(call->window, call->out);
	gate_close(call->window->gate);
	int rc = do_request(call, NB_REQ_GET, key, value, NULL);
	bool is_there = rc == NB_OK;
	if (is_there)
		rc = do_request(call, NB_REQ_PUT, key, value, NULL);
	gate_open(call->window->gate);
	if (!is_there && rc == NB_NOT_FOUND)
		BYTES_ADD_TEXT(call->out, "$-1\r\n");
	else if (rc == NB_OK)
		add_ok(call);
	else
		add_failure(call, rc);
}

void
do_set(const struct call *call)
{
	struct nb_slice key = call->words[1], value = call->words[2];
	bool has_nx = false, has_xx = false;
	for (size_t i = 3; i < call->count; i++) {
		bool is_nx = is_word(call->words[i], "NX");
		if (!is_nx && !is_word(call->words[i], "XX")) {
			add_error(call, "syntax error: SET takes NX and XX only");
			return;
		}
		has_nx |= is_nx;
		has_xx |= !is_nx;
	}
	if (has_nx && has_xx)
		add_error(call, "syntax error");
	else if (!check_key(call, key) || !check_value(call, value))
		return;
	else if (has_xx)
		set_if_there(call);
	else
		add_request(call, has_nx ? NB_REQ_INSERT : NB_REQ_PUT, REPLY_OK, key, value);
}

void
do_setnx(const struct call *call)
{
	if (check_keys(call, 2))
		add_request(call, NB_REQ_INSERT, REPLY_DID, call->words[1], call->words[2]);
}

void
do_mget(const struct call *call)
{
	if (!check_keys(call, 1))
		return;
	add_array(call, call->count - 1);
	for (size_t i = 1; i < call->count; i++)
		add_request(call, NB_REQ_GET, REPLY_BULK, call->words[i],
			(struct nb_slice){NULL, 0});
}

static int
put_all(const struct call *call)
{
	const struct nb_engine *engine = call->window->engine;
	size_t count = (call->count - 1) / 2;
	if ((engine->caps & NB_CAP_ATOMIC_BATCH) == 0) {
		int rc = NB_OK;
		for (size_t i = 1; i < call->count && rc == NB_OK; i += 2)
			rc = do_request(
				call, NB_REQ_PUT, call->words[i], call->words[i + 1], NULL);
		return rc;
	}
	struct nb_write *writes = calloc(count, sizeof(*writes));
	if (writes == NULL)
		return nb_engine_host()->fail(NB_FAIL, "out of memory");
	for (size_t i = 0; i < count; i++) {
		writes[i].key = call->words[1 + 2 * i];
		writes[i].value = call->words[2 + 2 * i];
	}
	int rc = engine->batch(call->window->session, writes, count, NB_BATCH_ATOMIC);
	free(writes);
	call->window->counts.verbs[NB_REQ_PUT] += count;
	call->window->counts.batches++;
	if (rc < 0)
		window_failure(call->window, rc);
	return rc;
}

void
do_mset(const struct call *call)
{
	if (call->count % 2 == 0) {
		add_error(call, "wrong number of arguments for 'mset' command");
		return;
	}
	if (!check_keys(call, 2))
		return;
	window_finish(call->window, call->out);
	gate_close(call->window->gate);
	int rc = put_all(call);
	gate_open(call->window->gate);
	if (rc == NB_OK)
		add_ok(call);
	else
		add_failure(call, rc);
}

/** Execute DEL or EXISTS: count the keys that are answered NB_OK. */
static void
count_keys(const struct call *call, uint32_t verb)
{
	int64_t count = 0;
	int rc = NB_OK;
	if (!check_keys(call, 1))
		return;
	window_finish(call->window, call->out);
	gate_enter(call->window->gate, call->window->id);
	for (size_t i = 1; i < call->count && (rc == NB_OK || rc == NB_NOT_FOUND); i++) {
		rc = do_request(call, verb, call->words[i], (struct nb_slice){NULL, 0}, NULL);
		count += rc == NB_OK;
	}
	gate_leave(call->window->gate, call->window->id);
	if (rc == NB_OK || rc == NB_NOT_FOUND)
		add_integer(call, count);
	else
		add_failure(call, rc);
}

void
do_del(const struct call *call)
{
	count_keys(call, NB_REQ_DEL);
}

void
do_exists(const struct call *call)
{
	count_keys(call, NB_REQ_GET);
}

/* ---- numbers ---- */

/**
 * Add `by` to the key's number. *wrong: the reason if that is impossible. The gate is
 * closed.
 */
static int
increment(const struct call *call, struct nb_slice key, int64_t by, int64_t *sum,
	const char **wrong)
{
	struct nb_slice value;
	char text[24];
	int64_t number = 0;
	int rc = do_request(call, NB_REQ_GET, key, (struct nb_slice){NULL, 0}, &value);
	if (rc != NB_OK && rc != NB_NOT_FOUND)
		return rc;
	if (rc == NB_OK) {
		bool is_number = resp_number(&number, value);
		window_release(call->window);
		if (!is_number)
			*wrong = "value is not an integer or out of range";
	}
	if (*wrong == NULL && __builtin_add_overflow(number, by, sum))
		*wrong = "increment or decrement would overflow";
	if (*wrong != NULL)
		return NB_OK;
	int size = snprintf(text, sizeof(text), "%" PRId64, *sum);
	return do_request(call, NB_REQ_PUT, key, (struct nb_slice){text, (size_t)size}, NULL);
}

static void
add_to(const struct call *call, int64_t by)
{
	int64_t sum = 0;
	const char *wrong = NULL;
	if (!check_key(call, call->words[1]))
		return;
	window_finish(call->window, call->out);
	gate_close(call->window->gate);
	int rc = increment(call, call->words[1], by, &sum, &wrong);
	gate_open(call->window->gate);
	if (wrong != NULL)
		add_error(call, wrong);
	else if (rc == NB_OK)
		add_integer(call, sum);
	else
		add_failure(call, rc);
}

void
do_incr(const struct call *call)
{
	add_to(call, 1);
}

void
do_decr(const struct call *call)
{
	add_to(call, -1);
}

static void
add_word_to(const struct call *call, bool is_negative)
{
	int64_t by = 0;
	if (!resp_number(&by, call->words[2]))
		add_error(call, "value is not an integer or out of range");
	else if (is_negative && by == INT64_MIN)
		add_error(call, "decrement would overflow");
	else
		add_to(call, is_negative ? -by : by);
}

void
do_incrby(const struct call *call)
{
	add_word_to(call, false);
}

void
do_decrby(const struct call *call)
{
	add_word_to(call, true);
}
