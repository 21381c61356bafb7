/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SERVE_CALL_H
#define SERVE_CALL_H
/** The current RESP2 command, and its answers. */
#include <strings.h>

#include "serve/server.h"

/* words[0] is the command. */
struct call {
	struct conn *conn;
	struct thread *thread;
	struct window *window;
	struct bytes *out;
	const struct nb_slice *words;
	size_t count;
};

/** Append an error after the answers of the earlier requests in the window. */
static inline void
add_error(const struct call *call, const char *text)
{
	window_finish(call->window, call->out);
	resp_add_error(call->out, "ERR", text);
}

static inline void
add_ok(const struct call *call)
{
	BYTES_ADD_TEXT(call->out, "+OK\r\n");
}

static inline void
add_integer(const struct call *call, int64_t number)
{
	resp_add_number(call->out, ':', number);
}

static inline void
add_text(const struct call *call, const char *text)
{
	resp_add_bulk(call->out, (struct nb_slice){text, strlen(text)});
}

static inline void
add_array(const struct call *call, size_t count)
{
	resp_add_number(call->out, '*', (int64_t)count);
}

/** Append a failure of the engine, or a conflict that persisted. */
static inline void
add_failure(const struct call *call, int rc)
{
	if (rc < 0)
		add_error(call, call->window->error);
	else
		add_error(call, "conflict: the write lost too often; try again");
}

static inline bool
is_word(struct nb_slice word, const char *text)
{
	return word.size == strlen(text) && strncasecmp(word.data, text, word.size) == 0;
}

/* ---- commands for records (commands_record.c), and for all keys (commands_scan.c) ---- */

void
do_get(const struct call *call);
void
do_set(const struct call *call);
void
do_mget(const struct call *call);
void
do_mset(const struct call *call);
void
do_del(const struct call *call);
void
do_exists(const struct call *call);
void
do_setnx(const struct call *call);
void
do_incr(const struct call *call);
void
do_decr(const struct call *call);
void
do_incrby(const struct call *call);
void
do_decrby(const struct call *call);

void
do_scan(const struct call *call);

#endif /* SERVE_CALL_H */
