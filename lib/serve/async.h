/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SERVE_ASYNC_H
#define SERVE_ASYNC_H
/**
 * Requests that wait for storage. A thread submits a window and sends the answers to the
 * connection when the engine has them. All connections of a thread share its session, and
 * none waits for the requests of another.
 */
#include "serve/window.h"

struct conn;
struct thread;

enum { FLIGHTS = 1024 /* limit for the requests of a thread in flight */ };

/** A submitted request whose answer was not yet passed to the connection. */
struct flight {
	struct conn *conn;   /* NULL: the connection was closed, and the answer is dropped */
	struct flight *next; /* in the connection's queue, or in the free list */
	struct window_op op;
	uint32_t number; /* of the request in its connection */
	bool is_flying, is_late;
	struct bytes copy; /* of key and value, if the engine does not copy them */
	struct bytes reply;
};

/** The outstanding requests and answers of a connection. */
struct async_conn {
	struct flight *first, *last;      /* requests that must be answered in their order */
	uint32_t flying;                  /* requests in flight, including late ones */
	uint32_t number;                  /* of the next request */
	uint32_t ready_count, late_count; /* answers in `ready` and `late` */
	struct bytes ready, late;         /* answers to be sent: in order, and late */
	bool is_listed, is_late_allowed;  /* is_late_allowed: set by the current batch */
	struct conn *next_listed;
};

/** The requests of a thread. */
struct async {
	struct window *window;
	struct conn *conn;   /* the connection whose requests are in the window */
	struct conn *listed; /* other connections that have answers */
	struct flight *free;
	uint32_t count; /* requests in flight */
	bool is_inside; /* inside the gate */
	struct nb_request requests[WINDOW_MAX];
	struct nb_completion done[FLIGHTS];
	struct flight flights[FLIGHTS];
};

/** NULL: out of memory. */
struct async *
async_new(struct window *window);
void
async_delete(struct async *async);

/** Submit the requests in the window. */
void
async_run(struct async *async);

/** Take completed requests; if there are none, wait for one, up to timeout_ns. */
void
async_reap(struct async *async, uint64_t timeout_ns);

/** Wait until the thread has no requests in flight. `async` may be NULL. */
void
async_drain(struct async *async);

/** The same, then write the answers of the current connection. */
void
async_finish(struct async *async);

/** Write a connection's answers to its thread's output. */
void
async_flush(struct conn *conn);

/** Forget a connection that closes. */
void
async_forget(struct async *async, struct conn *conn);

#endif /* SERVE_ASYNC_H */
