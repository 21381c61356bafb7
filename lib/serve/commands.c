/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves RESP2: finds the command of each request. Executes the commands that concern the
 * server or the database as a whole.
 */
#include <inttypes.h>
#include <stdio.h>

#include "serve/call.h"

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

/** Report the durability in Redis's terms, for clients that check it before they write. */
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

/*
 * The most frequent ones first. `least` and `most` limit the number of words; most 0: no
 * limit.
 */
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

/** Clients ask for a description of the commands, but work without it. */
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
		/* the first letter nearly always decides, and is cheap */
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

/**
 * Execute a command. false: it must be parsed again after the earlier requests are
 * answered.
 */
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
	/* the others run the window themselves, or their answers follow those in flight */
	if (!is_gathered)
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
