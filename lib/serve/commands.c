/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves RESP2: the commands of Redis that a store of keys and values has.
 *
 * GET, SET, SETNX and MGET go through the window, so that pipelined requests reach the engine
 * together. All others first do what is in the window. A command that reads and then writes
 * (INCR, INCRBY, DECR, DECRBY, SET with XX) closes the gate (gate.h), so no other connection
 * writes in between; with one thread that costs nothing.
 *
 * Where the engine answers a del without a search, DEL counts each key.
 */
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "serve/server.h"

/* A request at hand: words[0] is the command. */
struct call {
	struct conn *conn;
	struct thread *thread;
	struct window *window;
	struct bytes *out;
	const struct nb_slice *words;
	size_t count;
};

/* ---- answers ---- */

/** After the answers of what is in the window, which came before. */
static void
add_error(const struct call *call, const char *text)
{
	window_finish(call->window, call->out);
	resp_add_error(call->out, "ERR", text);
}

static void
add_ok(const struct call *call)
{
	BYTES_ADD_TEXT(call->out, "+OK\r\n");
}

static void
add_integer(const struct call *call, int64_t number)
{
	resp_add_number(call->out, ':', number);
}

static void
add_text(const struct call *call, const char *text)
{
	resp_add_bulk(call->out, (struct nb_slice){text, strlen(text)});
}

static void
add_array(const struct call *call, size_t count)
{
	resp_add_number(call->out, '*', (int64_t)count);
}

/** A failure of the engine, or a conflict that did not end. */
static void
add_failure(const struct call *call, int rc)
{
	if (rc < 0)
		add_error(call, call->window->error);
	else
		add_error(call, "conflict: the write lost too often; try again");
}

/* ---- words ---- */

static bool
is_word(struct nb_slice word, const char *text)
{
	return word.size == strlen(text) && strncasecmp(word.data, text, word.size) == 0;
}

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

/** Words from the first on, each step-th of them, are keys. */
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

static void
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

static void
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

static void
do_setnx(const struct call *call)
{
	if (check_keys(call, 2))
		add_request(call, NB_REQ_INSERT, REPLY_DID, call->words[1], call->words[2]);
}

static void
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

static void
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

/** DEL and EXISTS: how many keys were answered NB_OK. */
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

static void
do_del(const struct call *call)
{
	count_keys(call, NB_REQ_DEL);
}

static void
do_exists(const struct call *call)
{
	count_keys(call, NB_REQ_GET);
}

/* ---- numbers ---- */

/** The key's number plus `by`; *wrong: why not. The gate is closed. */
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

static void
do_incr(const struct call *call)
{
	add_to(call, 1);
}

static void
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

static void
do_incrby(const struct call *call)
{
	add_word_to(call, false);
}

static void
do_decrby(const struct call *call)
{
	add_word_to(call, true);
}

/* ---- all keys ---- */

enum { SCAN_COUNT = 10, SCAN_MOST = 1000 };

struct scan {
	struct nb_slice match; /* data NULL: all */
	int64_t count;
	struct bytes keys; /* as bulk strings */
	size_t found;
	bool is_over;
};

/**
 * Whether a pattern with '*', '?' and '\\' matches. Only the last '*' is tried again, so the time
 * is at most the product of both lengths, whatever a client sends.
 */
static bool
matches(struct nb_slice pattern, struct nb_slice text)
{
	const char *p = pattern.data, *p_end = p + pattern.size;
	const char *t = text.data, *t_end = t + text.size;
	const char *star = NULL, *from = NULL;
	while (t < t_end) {
		bool is_literal = p + 1 < p_end && *p == '\\';
		if (p < p_end && *p == '*' && !is_literal) {
			star = ++p;
			from = t;
		} else if (p < p_end && ((!is_literal && *p == '?') || p[is_literal] == *t)) {
			p += 1 + is_literal;
			t++;
		} else if (star != NULL) {
			p = star;
			t = ++from;
		} else {
			return false;
		}
	}
	while (p < p_end && *p == '*')
		p++;
	return p == p_end;
}

static void
take_key(struct scan *scan, struct nb_slice key)
{
	if (scan->match.data != NULL && !matches(scan->match, key))
		return;
	resp_add_bulk(&scan->keys, key);
	scan->found++;
}

/** Keys behind the one that the last call ended with, which is kept in conn->scan_key. */
static int
scan_some(const struct call *call, struct scan *scan)
{
	const struct nb_engine *engine = call->window->engine;
	struct nb_session *session = call->window->session;
	struct bytes *last = &call->conn->scan_key;
	struct nb_scan_args args = {.size = sizeof(args),
		.flags = NB_SCAN_KEYS_ONLY,
		.from = {last->data, last->size},
		.limit = (uint64_t)scan->count + 1};
	struct nb_slice key, value;
	struct bytes seen = {.data = NULL};
	int rc = engine->scan_open(session, &args);
	if (rc != NB_OK)
		return rc;
	for (int64_t i = 0; i < scan->count && rc == NB_OK;) {
		rc = engine->scan_next(session, &key, &value);
		scan->is_over = rc == NB_NOT_FOUND;
		if (rc != NB_OK ||
			(last->size == key.size && memcmp(last->data, key.data, key.size) == 0))
			continue;
		take_key(scan, key);
		seen.size = 0;
		bytes_add(&seen, key.data, key.size);
		i++;
	}
	int closed = engine->scan_close(session);
	if (seen.size > 0) {
		bytes_free(last);
		*last = seen;
	} else {
		bytes_free(&seen);
	}
	return rc < 0 ? rc : closed;
}

static bool
parse_scan(const struct call *call, struct scan *scan)
{
	for (size_t i = 2; i < call->count; i += 2) {
		if (i + 1 == call->count)
			return false;
		struct nb_slice word = call->words[i], value = call->words[i + 1];
		if (is_word(word, "MATCH"))
			scan->match = value;
		else if (!is_word(word, "COUNT") || !resp_number(&scan->count, value) ||
			scan->count < 1)
			return false;
	}
	scan->count = scan->count < SCAN_MOST ? scan->count : SCAN_MOST;
	return true;
}

static void
do_scan(const struct call *call)
{
	const struct nb_engine *engine = call->window->engine;
	struct conn *conn = call->conn;
	struct scan scan = {.count = SCAN_COUNT};
	char cursor[24];
	int64_t from = 0;
	if (engine->scan_open == NULL || (engine->caps & NB_CAP_ORDERED) == 0) {
		add_error(call, "the engine has no ordered scan");
		return;
	}
	if (!parse_scan(call, &scan)) {
		add_error(call, "syntax error: SCAN takes MATCH and COUNT");
		return;
	}
	if (!resp_number(&from, call->words[1]) ||
		(from != 0 && (uint64_t)from != conn->cursor)) {
		add_error(call, "invalid cursor: it must be the last one of this connection");
		return;
	}
	if (from == 0)
		conn->scan_key.size = 0;
	window_finish(call->window, call->out);
	int rc = scan_some(call, &scan);
	if (rc < 0) {
		add_error(call, window_failure(call->window, rc));
	} else {
		conn->cursor = scan.is_over ? 0 : conn->cursor + 1;
		snprintf(cursor, sizeof(cursor), "%" PRIu64, conn->cursor);
		add_array(call, 2);
		add_text(call, cursor);
		add_array(call, scan.found);
		bytes_add(call->out, scan.keys.data, scan.keys.size);
	}
	bytes_free(&scan.keys);
}

/* ---- errands ---- */

static void
do_dbsize(const struct call *call)
{
	if (call->window->engine->stats == NULL)
		add_error(call, "the engine does not count its records");
	else
		thread_send_errand(call->conn, NB_WIRE_STATS, 0);
}

static void
do_flushall(const struct call *call)
{
	if (call->thread->server->options.may_reset)
		thread_send_errand(call->conn, NB_WIRE_RESET, 0);
	else
		add_error(call,
			"the server does not allow its data to be removed: start it "
			"with --allow-reset");
}

static void
do_save(const struct call *call)
{
	if (call->window->engine->flush == NULL)
		add_ok(call);
	else
		thread_send_errand(call->conn, NB_WIRE_SETTLE, NB_SETTLE_FLUSH);
}

void
resp_answer_errand(struct conn *conn, struct errand *errand)
{
	struct bytes *out = &conn->thread->out;
	bytes_add(&errand->text, "", 1);
	if (errand->rc != NB_OK)
		resp_add_error(out, "ERR", errand->text.data != NULL ? errand->text.data : "");
	else if (errand->kind != NB_WIRE_STATS)
		BYTES_ADD_TEXT(out, "+OK\r\n");
	else if (errand->number == UINT64_MAX)
		resp_add_error(out, "ERR", "the engine does not count its records");
	else
		resp_add_number(out, ':', (int64_t)errand->number);
}

/* ---- the server ---- */

static void
do_ping(const struct call *call)
{
	if (call->count > 1)
		resp_add_bulk(call->out, call->words[1]);
	else
		BYTES_ADD_TEXT(call->out, "+PONG\r\n");
}

static void
do_echo(const struct call *call)
{
	resp_add_bulk(call->out, call->words[1]);
}

static void
do_select(const struct call *call)
{
	if (is_word(call->words[1], "0"))
		add_ok(call);
	else
		add_error(call, "DB index is out of range");
}

static void
do_auth(const struct call *call)
{
	add_error(call, "AUTH called without any password configured for the default user");
}

static void
do_hello(const struct call *call)
{
	if (call->count > 1 && !is_word(call->words[1], "2")) {
		resp_add_error(call->out, "NOPROTO", "unsupported protocol version");
		return;
	}
	if (call->count > 2) {
		add_error(call, "HELLO takes no options here");
		return;
	}
	add_array(call, 14);
	add_text(call, "server");
	add_text(call, "mininb");
	add_text(call, "version");
	add_text(call, nb_version());
	add_text(call, "proto");
	add_integer(call, 2);
	add_text(call, "id");
	add_integer(call, (int64_t)call->conn->id);
	add_text(call, "mode");
	add_text(call, "standalone");
	add_text(call, "role");
	add_text(call, "master");
	add_text(call, "modules");
	add_array(call, 0);
}

static void
do_client(const struct call *call)
{
	if (is_word(call->words[1], "ID"))
		add_integer(call, (int64_t)call->conn->id);
	else if (is_word(call->words[1], "SETNAME") || is_word(call->words[1], "SETINFO"))
		add_ok(call);
	else if (is_word(call->words[1], "GETNAME"))
		BYTES_ADD_TEXT(call->out, "$-1\r\n");
	else
		add_error(call, "unknown subcommand of CLIENT");
}

/** The durability in Redis's words, for clients that look before they write. */
static void
do_config(const struct call *call)
{
	static const char *const syncs[] = {"no", "no", "everysec", "always"};
	uint32_t level = call->thread->server->durability;
	const char *const rows[][2] = {{"save", ""},
		{"appendonly", level >= NB_DUR_PROCESS ? "yes" : "no"},
		{"appendfsync", syncs[level]}, {"no-appendfsync-on-rewrite", "no"}};
	if (!is_word(call->words[1], "GET") || call->count != 3) {
		add_error(call, "CONFIG has GET only");
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!is_word(call->words[2], rows[i][0]))
			continue;
		add_array(call, 2);
		add_text(call, rows[i][0]);
		add_text(call, rows[i][1]);
		return;
	}
	add_array(call, 0);
}

static void
do_info(const struct call *call)
{
	const struct server *server = call->thread->server;
	char text[512];
	snprintf(text, sizeof(text),
		"# Server\r\nmininb_version:%s\r\nredis_mode:standalone\r\nengine:%s\r\n"
		"engine_version:%s\r\ndurability:%s\r\nthreads:%" PRIu32
		"\r\ntcp_address:%s\r\n",
		nb_version(), server->engine.name, server->engine.version(),
		nb_durability_name(server->durability), server->options.threads,
		server->address);
	add_text(call, text);
}

static void
do_quit(const struct call *call)
{
	add_ok(call);
	call->conn->is_ending = true;
}

/* ---- the table ---- */

static void
do_command(const struct call *call);

/* The most frequent ones first. `most` 0: any number of words. */
static const struct command {
	const char *name;
	void (*run)(const struct call *call);
	uint32_t least, most;
} commands[] = {
	{"get", do_get, 2, 2},
	{"set", do_set, 3, 0},
	{"mget", do_mget, 2, 0},
	{"mset", do_mset, 3, 0},
	{"del", do_del, 2, 0},
	{"exists", do_exists, 2, 0},
	{"setnx", do_setnx, 3, 3},
	{"incr", do_incr, 2, 2},
	{"decr", do_decr, 2, 2},
	{"incrby", do_incrby, 3, 3},
	{"decrby", do_decrby, 3, 3},
	{"ping", do_ping, 1, 2},
	{"echo", do_echo, 2, 2},
	{"scan", do_scan, 2, 0},
	{"dbsize", do_dbsize, 1, 1},
	{"flushall", do_flushall, 1, 2},
	{"flushdb", do_flushall, 1, 2},
	{"save", do_save, 1, 1},
	{"select", do_select, 2, 2},
	{"auth", do_auth, 2, 3},
	{"hello", do_hello, 1, 0},
	{"client", do_client, 2, 0},
	{"command", do_command, 1, 0},
	{"config", do_config, 2, 0},
	{"info", do_info, 1, 0},
	{"quit", do_quit, 1, 0},
};
enum { COMMANDS = sizeof(commands) / sizeof(*commands) };

/** Clients ask for a description of the commands, and can do without. */
static void
do_command(const struct call *call)
{
	if (call->count > 1 && is_word(call->words[1], "COUNT"))
		add_integer(call, COMMANDS);
	else
		add_array(call, 0);
}

static const struct command *
find_command(struct nb_slice name)
{
	const char *text = name.data;
	for (size_t i = 0; i < COMMANDS; i++) {
		/* the first letter decides nearly always, and cheaply */
		if ((text[0] | 0x20) == commands[i].name[0] && is_word(name, commands[i].name))
			return &commands[i];
	}
	return NULL;
}

static void
refuse_command(const struct call *call, const struct command *command)
{
	char text[128];
	if (command != NULL)
		snprintf(text, sizeof(text), "wrong number of arguments for '%s' command",
			command->name);
	else
		snprintf(text, sizeof(text), "unknown command '%.*s'",
			(int)(call->words[0].size < 64 ? call->words[0].size : 64),
			(const char *)call->words[0].data);
	for (char *c = text; *c != '\0'; c++)
		*c = (unsigned char)*c < ' ' ? '?' : *c;
	add_error(call, text);
}

/** false: it is to come again when the requests before it are answered. */
static bool
run_command(const struct call *call)
{
	const struct command *command = call->words[0].size > 0 ? find_command(call->words[0])
								: NULL;
	if (command == NULL || call->count < command->least ||
		(command->most > 0 && call->count > command->most)) {
		refuse_command(call, command);
		return true;
	}
	bool is_gathered = command->run == do_get || command->run == do_set;
	if (!is_gathered) /* these do what is there themselves, or answer in their turn */
		window_run(call->window, call->out);
	if (!is_gathered && call->conn->async.first != NULL)
		return false;
	command->run(call);
	return true;
}

static void
break_off(struct conn *conn, const char *error)
{
	resp_add_error(&conn->thread->out, "ERR", error);
	conn->is_ending = true;
	conn->thread->dropped++;
}

size_t
resp_serve(struct conn *conn, const char *bytes, size_t size)
{
	struct thread *thread = conn->thread;
	struct call call = {conn, thread, &thread->window, &thread->out, thread->args.items, 0};
	size_t used = 0, length, word_max = server_frame_max(thread->server);
	const char *error = NULL;
	while (!conn->is_ending && !conn->is_waiting && thread->out.size < OUTPUT_PAUSE) {
		int rc = resp_parse(&thread->args, &conn->resp, bytes + used, size - used,
			word_max, &length, &error);
		if (rc == RESP_PART)
			window_run(call.window, call.out);
		if (rc == RESP_BROKEN) {
			window_finish(call.window, call.out);
			break_off(conn, error);
		}
		conn->need = length;
		if (rc != RESP_WHOLE)
			break;
		call.words = thread->args.items;
		call.count = thread->args.count;
		if (call.count > 0 && !run_command(&call))
			break;
		used += length;
	}
	window_run(call.window, call.out);
	return used;
}
