/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SERVE_WINDOW_H
#define SERVE_WINDOW_H
/**
 * Requests of one connection that were read together: they go to the engine together, and their
 * answers to the connection in the order of the requests.
 */
#include <mininb/mininb.h>

#include "serve/bytes.h"
#include "serve/gate.h"

enum { WINDOW_MAX = 64, VERB_UNKNOWN = NB_REQ_EXECUTE + 1, VERB_KINDS };

/** How an answer is written. */
enum {
	REPLY_WIRE, /* of the compact protocol */
	REPLY_BULK, /* RESP: the value, or nil */
	REPLY_OK,   /* +OK, or nil for NB_EXISTS */
	REPLY_DID   /* :1, or :0 for NB_EXISTS */
};

struct window_op {
	struct nb_slice key, value;
	uint64_t operand;
	uint32_t verb;  /* NB_REQ_*, but not EXECUTE */
	uint32_t reply; /* REPLY_* */
	int32_t answer;
};

/** What a thread has done. */
struct serve_counts {
	uint64_t verbs[VERB_KINDS];
	uint64_t failures; /* answers that were failures of the engine */
	uint64_t batches;  /* windows */
	uint64_t scans;    /* answers with records of a scan */
};

struct async;

struct window {
	const struct nb_engine *engine;
	struct nb_session *session;
	struct gate *gate;
	struct async *async; /* NULL: requests are done at once */
	bool is_broken;      /* the engine has failed with requests in flight */
	uint32_t id;         /* of the thread */
	uint32_t most;       /* requests now: fewer where values are long */
	uint32_t value_size; /* of a get, that REPLY_WIRE writes without its size */
	size_t count, gets;
	struct window_op ops[WINDOW_MAX];
	struct nb_slice keys[WINDOW_MAX], values[WINDOW_MAX];
	int32_t answers[WINDOW_MAX];
	struct nb_write writes[WINDOW_MAX];
	uint64_t wanted[8]; /* a Bloom filter of the keys of the gets, one bit a key */
	char error[512];    /* of the last failure */
	struct serve_counts counts;
};

void
window_create(
	struct window *window, const struct nb_engine *engine, struct gate *gate, uint32_t id);

/** Do what is there and write its answers. */
void
window_run(struct window *window, struct bytes *out);

/** The same, and wait for all answers of the connection: what is written now follows them. */
void
window_finish(struct window *window, struct bytes *out);

/** Append the answer of a request. */
void
window_add_reply(struct window *window, const struct window_op *op, struct nb_slice value,
	struct bytes *out);

/** Add a request, whose bytes stay until the window has run. */
void
window_add(struct window *window, const struct window_op *op, struct bytes *out);

/** The text of the engine's failure `rc`, which is kept in the window. */
const char *
window_failure(struct window *window, int rc);

/** Do one request now, on this thread; *value as of nb_engine.get, if it is not NULL. */
int
window_do(struct window *window, const struct window_op *op, struct nb_slice *value);

void
window_release(const struct window *window);

/** Append an answer of the compact protocol. */
void
wire_add_answer(struct bytes *out, int answer, const char *error);

#endif /* SERVE_WINDOW_H */
