/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SERVE_WINDOW_H
#define SERVE_WINDOW_H
/**
 * Requests of one connection that were read together. They go to the engine together, and
 * their answers go to the connection in the order of the requests.
 */
#include <mininb/mininb.h>

#include "serve/bytes.h"
#include "serve/gate.h"

enum { WINDOW_MAX = 64, VERB_UNKNOWN = NB_REQ_EXECUTE + 1, VERB_KINDS };

/** The format of an answer. */
enum {
	REPLY_WIRE, /* of the compact protocol */
	REPLY_BULK, /* RESP: the value, or nil */
	REPLY_OK,   /* +OK, or nil for NB_EXISTS */
	REPLY_DID   /* :1, or :0 for NB_EXISTS */
};

struct window_op {
	struct nb_slice key, value;
	uint64_t operand;
	uint32_t verb;  /* NB_REQ_* except EXECUTE */
	uint32_t reply; /* REPLY_* */
	int32_t answer;
};

/** The counts of a thread. */
struct serve_counts {
	uint64_t verbs[VERB_KINDS];
	uint64_t failures; /* answers that are failures of the engine */
	uint64_t batches;  /* windows */
	uint64_t scans;    /* answers that contain records of a scan */
};

struct async;

struct window {
	const struct nb_engine *engine;
	struct nb_session *session;
	struct gate *gate;
	struct async *async; /* NULL: requests are executed at once */
	bool is_broken;      /* the engine has failed with requests in flight */
	uint32_t id;         /* of the thread */
	uint32_t most;       /* present limit for requests: lower if values are long */
	/* for a get: REPLY_WIRE omits the size of a value that has this size */
	uint32_t value_size;
	size_t count, gets;
	struct window_op ops[WINDOW_MAX];
	struct nb_slice keys[WINDOW_MAX], values[WINDOW_MAX];
	int32_t answers[WINDOW_MAX];
	struct nb_write writes[WINDOW_MAX];
	uint64_t wanted[8]; /* a Bloom filter of the keys of the gets, one bit per key */
	char error[512];    /* of the last failure */
	struct serve_counts counts;
};

void
window_create(
	struct window *window, const struct nb_engine *engine, struct gate *gate, uint32_t id);

/** Execute the requests and write their answers. */
void
window_run(struct window *window, struct bytes *out);

/** The same, then wait for all answers of the connection, so that later output follows them. */
void
window_finish(struct window *window, struct bytes *out);

/** Append the answer of a request. */
void
window_add_reply(struct window *window, const struct window_op *op, struct nb_slice value,
	struct bytes *out);

/** Add a request. Its bytes must stay until the window has run. */
void
window_add(struct window *window, const struct window_op *op, struct bytes *out);

/** The text of the engine's failure `rc`, stored in the window. */
const char *
window_failure(struct window *window, int rc);

/** Execute one request now, on this thread; *value as from nb_engine.get, if not NULL. */
int
window_do(struct window *window, const struct window_op *op, struct nb_slice *value);

void
window_release(const struct window *window);

/** Append an answer of the compact protocol. */
void
wire_add_answer(struct bytes *out, int answer, const char *error);

#endif /* SERVE_WINDOW_H */
