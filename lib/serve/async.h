/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SERVE_ASYNC_H
#define SERVE_ASYNC_H
/**
 * Requests that wait for storage: a window is submitted, and its answers go to the connection when
 * the engine has them. A thread's session is shared by its connections, and none waits for
 * another's requests.
 */
#include "serve/window.h"

struct conn;
struct thread;

enum { FLIGHTS = 1024 /* requests in flight of a thread, at most */ };

/** A request that was submitted and whose answer the connection does not have. */
struct flight {
	struct conn *conn;   /* NULL: it has closed, and nobody hears of the answer */
	struct flight *next; /* in the connection's queue, or free */
	struct window_op op;
	uint32_t number; /* of the request in its connection */
	bool is_flying, is_late;
	struct bytes copy; /* of key and value, if the engine makes none */
	struct bytes reply;
};

/** What a connection waits for. */
struct async_conn {
	struct flight *first, *last;      /* requests to be answered in their order */
	uint32_t flying;                  /* requests in flight, also those marked as late */
	uint32_t number;                  /* of the next request */
	uint32_t ready_count, late_count; /* answers in `ready` and `late` */
	struct bytes ready, late;         /* answers to be sent: in their order, and late */
	bool is_listed, is_late_allowed;  /* is_late_allowed: by the batch at hand */
	struct conn *next_listed;
};

/** Of a thread. */
struct async {
	struct window *window;
	struct conn *conn;   /* whose requests are in the window */
	struct conn *listed; /* connections that have answers, but for `conn` */
	struct flight *free;
	uint32_t count; /* requests in flight */
	bool is_inside; /* of the gate */
	struct nb_request requests[WINDOW_MAX];
	struct nb_completion done[FLIGHTS];
	struct flight flights[FLIGHTS];
};

/** NULL: out of memory. */
struct async *
async_new(struct window *window);
void
async_delete(struct async *async);

/** Submit what is in the window. */
void
async_run(struct async *async);

/** Take answers; if there is none wait for one, up to timeout_ns. */
void
async_reap(struct async *async, uint64_t timeout_ns);

/** Wait for all requests of the thread. `async` may be NULL. */
void
async_drain(struct async *async);

/** The same, and write the answers of the connection at hand. */
void
async_finish(struct async *async);

/** Write a connection's answers to its thread's output. */
void
async_flush(struct conn *conn);

/** The connection closes. */
void
async_forget(struct async *async, struct conn *conn);

#endif /* SERVE_ASYNC_H */
