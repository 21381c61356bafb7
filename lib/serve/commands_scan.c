/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SCAN of RESP2. Redis's cursor is a number. Here it belongs to its connection, which
 * stores the last key returned. So SCAN needs an ordered engine: it continues after that
 * key.
 */
#include <inttypes.h>
#include <stdio.h>

#include "run/engine.h"
#include "serve/call.h"

enum { SCAN_COUNT = 10, SCAN_MOST = 1000 };

struct scan {
	struct nb_slice match; /* pattern; data NULL: all keys */
	int64_t count;
	struct bytes keys; /* as bulk strings */
	size_t found;
	bool is_over;
};

/**
 * Whether a pattern with '*', '?' and '\\' matches. Only the last '*' is retried, so the
 * time is at most the product of both lengths, for any input.
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

/** Read keys after the last key of the previous call, which is in conn->scan_key. */
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

void
do_scan(const struct call *call)
{
	const struct nb_engine *engine = call->window->engine;
	struct conn *conn = call->conn;
	struct scan scan = {.count = SCAN_COUNT};
	char cursor[24];
	int64_t from = 0;
	if (!engine_has_scan(engine)) {
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
	call->window->counts.scans++;
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
