/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For libFuzzer: any bytes from a client of `mininb serve`, in both protocols, executed on the
 * engine memory. Byte 0 of the input is the size of the pieces in which the rest arrives, 0:
 * all at once. Requests in RESP must get the same answers in pieces as all at once.
 *
 *     tests/fuzz/fuzz_serve -max_len=4096 -dict=.../serve.dict NEW_CORPUS .../corpus/serve
 */
#include <stdbool.h>

#include "fuzz.h"
#include "run/engine.h"
#include "serve/server.h"

enum { VALUE_MAX = 1 << 16 };

/** A server without sockets, with one connection. */
struct stage {
	struct server server;
	struct thread thread;
	struct conn conn;
	struct bytes answers;
};

static void
stage_open(struct stage *stage)
{
	struct server *server = &stage->server;
	memset(stage, 0, sizeof(*stage));
	server->options = (struct nb_serve_options)NB_SERVE_OPTIONS_INIT;
	server->options.value_max = VALUE_MAX;
	server->engine = *engine_builtin("memory");
	server->wake = -1;
	server->view = 1;
	server->gate.count = 1;
	server->threads = &stage->thread;
	struct nb_open_args args = {.size = sizeof(args),
		.flags = NB_OPEN_CREATE,
		.host = nb_engine_host(),
		.path = "/",
		.sessions = 1};
	require(server->engine.open(&server->db, &args) == NB_OK, "the engine opens");
	window_create(&stage->thread.window, &server->engine, &server->gate, 0);
	require(server->engine.session_open(&stage->thread.window.session, server->db, 0) ==
			NB_OK,
		"a session opens");
	stage->thread.server = server;
	stage->conn.thread = &stage->thread;
	stage->conn.fd = -1;
}

static void
stage_close(struct stage *stage)
{
	struct server *server = &stage->server;
	server->engine.session_close(stage->thread.window.session);
	server->engine.close(server->db);
	free(stage->thread.args.items);
	bytes_free(&stage->thread.out);
	bytes_free(&stage->conn.in);
	bytes_free(&stage->conn.scan_key);
	bytes_free(&stage->answers);
}

/** Process received bytes as conn.c does, but collect all answers at once. */
static void
serve_piece(struct stage *stage, const uint8_t *data, size_t size)
{
	struct conn *conn = &stage->conn;
	struct bytes *in = &conn->in;
	bytes_add(in, data, size);
	if (conn->protocol == PROTOCOL_UNKNOWN && in->size > 0)
		conn->protocol = (uint8_t)in->data[0] == NB_WIRE_MAGIC ? PROTOCOL_WIRE
								       : PROTOCOL_RESP;
	for (size_t used = 1;
		used > 0 && in->size > 0 && !conn->is_ending && !conn->is_waiting;) {
		used = conn->protocol == PROTOCOL_WIRE ? wire_serve(conn, in->data, in->size)
						       : resp_serve(conn, in->data, in->size);
		require(used <= in->size, "no more bytes are used than received");
		require(stage->thread.window.count == 0, "no request is left");
		in->size -= used;
		memmove(in->data, in->data + used, in->size);
		bytes_add(&stage->answers, stage->thread.out.data, stage->thread.out.size);
		stage->thread.out.size = 0;
	}
}

static void
serve_all(struct stage *stage, const uint8_t *data, size_t size, size_t piece)
{
	for (size_t at = 0; at < size; at += piece)
		serve_piece(stage, data + at, size - at < piece ? size - at : piece);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct stage whole, cut;
	if (size < 2)
		return 0;
	stage_open(&whole);
	serve_all(&whole, data + 1, size - 1, size);
	if (data[0] > 0) {
		stage_open(&cut);
		serve_all(&cut, data + 1, size - 1, data[0]);
		if (cut.conn.protocol == PROTOCOL_RESP)
			require(cut.answers.size == whole.answers.size &&
					(cut.answers.size == 0 ||
						memcmp(cut.answers.data, whole.answers.data,
							cut.answers.size) == 0),
				"pieces and the whole have the same answers");
		stage_close(&cut);
	}
	stage_close(&whole);
	return 0;
}
