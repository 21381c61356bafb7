/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H
/** Internals of a server: its threads and their connections. */
#include <mininb/serve.h>
#include <mininb/wire.h>

#include <sys/socket.h>

#include "run/marker.h"
#include "run/worker_pool.h"
#include "serve/async.h"
#include "serve/bytes.h"
#include "serve/gate.h"
#include "serve/resp.h"
#include "serve/window.h"

#include "../../plugins/remote/spin.h"

enum {
	READ_SIZE = 64 * 1024,     /* bytes of one read */
	OUTPUT_PAUSE = 256 * 1024, /* unsent bytes above which no more requests are executed */
	/* buffer bytes of a connection that do not count for buffer_max */
	BUFFER_FREE = 64 * 1024
};

struct server;
struct thread;

/** Protocols. */
enum { PROTOCOL_UNKNOWN, PROTOCOL_RESP, PROTOCOL_WIRE };

/** A batch of the compact protocol with unfinished requests. */
struct wire_state {
	uint32_t left; /* requests still to be received */
	uint32_t key_size, value_size;
	bool is_fixed;
	bool is_refused; /* its view was wrong: requests are skipped */
	bool has_greeted;
	size_t frame;     /* start of the answers' head in the thread's output */
	uint32_t answers; /* number of answers after that head */
};

/** Work on the whole database, which the main thread executes. */
struct errand {
	bool is_there;
	uint32_t kind;   /* NB_WIRE_*; also for RESP */
	uint32_t upto;   /* for a settle */
	int rc;          /* result of the engine's verb */
	uint64_t number; /* for a RESP DBSIZE: records, or UINT64_MAX */
	struct bytes text;
};

struct conn {
	int fd;             /* for sockets */
	void *of_transport; /* for other transports */
	uint32_t protocol;
	uint64_t id;
	struct thread *thread;
	struct conn *next, *previous; /* in the thread's list; `next` also in its mailbox */
	struct bytes in;              /* unparsed input */
	size_t need;                  /* bytes of `in` required before parsing again */
	struct bytes out;             /* output */
	size_t sent;                  /* bytes of `out` already sent */
	bool is_ending;               /* nothing more is read; closed when `out` is empty */
	bool is_broken;               /* closed at once */
	bool is_waiting;              /* for an errand */
	bool is_behind;               /* waits for its requests in flight */
	bool is_throttled;            /* epoll waits for room to write instead of requests */
	struct resp_state resp;
	struct wire_state wire;
	struct async_conn async;
	uint64_t cursor;       /* of the last SCAN of RESP */
	struct bytes scan_key; /* the last key returned by that SCAN */
};

/**
 * How connections are accepted and their bytes transferred: sockets, or libfabric
 * (transport_*.c). Comments mark members that may be NULL. An `int` is NB_OK or a failure.
 */
struct transport {
	/*
	 * on the main thread: bind the address; accept connections; the rest of a
	 * transport's events
	 */
	int (*bind)(struct server *server, const char *address);
	int (*listen)(struct server *server);
	/** Accept pending connections. false: too many open files, so pause accepting. */
	bool (*accept)(struct server *server);
	void (*close)(struct server *server);
	/* called after its threads; NULL: nothing to free */
	void (*destroy)(struct server *server);
	/* on each thread; NULL: epoll reports all events */
	int (*create_thread)(struct thread *thread);
	void (*destroy_thread)(struct thread *thread);
	bool (*has_news)(struct thread *thread);
	bool (*may_sleep)(struct thread *thread);
	void (*serve_news)(struct thread *thread, bool is_ending);
	/* for a connection, on its thread */
	bool (*begin)(struct conn *conn);
	/** Like recv(2) and send(2), without waiting. */
	ssize_t (*receive)(struct conn *conn, void *to, size_t size);
	ssize_t (*send)(struct conn *conn, const void *bytes, size_t size);
	/** Wait for room to write, or for requests. NULL: serve_news handles both. */
	bool (*watch)(struct conn *conn, bool is_throttled);
	/** Whether accepted bytes are not on their way yet. NULL: never. */
	bool (*is_sending)(const struct conn *conn);
	void (*end)(struct conn *conn);
};

extern const struct transport transport_socket;
/** Serves by libfabric; NULL: built without it. */
extern const struct transport *const transport_ofi;

struct thread {
	struct server *server;
	uint32_t id;
	void *of_transport;
	int epoll, wake;
	struct spin spin;
	struct conn *mailbox; /* atomic: accepted connections that the thread has not begun */
	uint64_t load;        /* atomic: number of connections, including the mailbox */
	struct conn *conns;
	struct conn *errand_of; /* the connection that waits for `errand` */
	struct errand errand;
	struct window window;
	struct resp_args args;
	struct bytes out;  /* answers of the current connection */
	char *read;        /* READ_SIZE bytes */
	uint64_t buffered; /* buffer bytes of its connections that count for buffer_max */
	uint64_t dropped, bytes_in, bytes_out;
	int rc; /* failure of the thread's start; `text` has the reason */
	char text[512];
};

struct server {
	struct nb_serve_options options;
	struct nb_engine_ref *ref;
	struct nb_engine engine;
	struct nb_option_value *values;
	struct nb_db *db;
	char *path; /* of the database */
	char address[160];
	char unix_path[108]; /* removed at the end; "" */
	uint32_t durability;
	struct marker marker;
	const struct transport *transport;
	void *of_transport;
	int listener, wake; /* listener: readable if connections wait */
	struct worker_pool pool;
	struct thread *threads;
	struct gate gate;
	uint64_t view;            /* changes only while no thread serves */
	int is_paused, is_ending; /* atomic: threads must return, for errands or for good */
	int has_failed;           /* atomic: a thread failed to start */
	uint64_t accepted, refused;
};

/** The limits in bytes for a key, a value, and a whole request. */
static inline uint64_t
server_key_max(const struct server *server)
{
	uint64_t most = server->engine.key_size_max;
	return most != 0 && most < NB_KEY_SIZE_MAX ? most : NB_KEY_SIZE_MAX;
}

static inline uint64_t
server_value_max(const struct server *server)
{
	uint64_t most = server->engine.value_size_max, own = server->options.value_max;
	return most != 0 && most < own ? most : own;
}

static inline uint64_t
server_frame_max(const struct server *server)
{
	return server->options.value_max + 2 * NB_KEY_SIZE_MAX;
}

/* ---- a connection (conn.c) ---- */

void
conn_begin(struct thread *thread, struct conn *conn);

/** Handle an epoll event of the connection. The connection may be freed afterwards. */
void
conn_wake(struct conn *conn);

/** Send the answers of finished requests and continue. */
void
conn_answer(struct conn *conn);

/** Continue after the connection's errand is done. */
void
conn_resume(struct conn *conn);

void
conn_close(struct conn *conn);

/**
 * Execute the requests already received; close the connection when they are answered, or
 * soon.
 */
void
conn_finish(struct conn *conn);

/* ---- the protocols: parse [*bytes, +size) and use some of it ---- */

/**
 * Execute requests until the bytes are used up, or until the connection must wait:
 * is_waiting, is_ending, or output above OUTPUT_PAUSE. Returns the number of bytes used;
 * sets conn->need for the rest.
 */
size_t
resp_serve(struct conn *conn, const char *bytes, size_t size);
size_t
wire_serve(struct conn *conn, const char *bytes, size_t size);

/** Write the answer to the connection's errand. */
void
resp_answer_errand(struct conn *conn, struct errand *errand);
void
wire_answer_errand(struct conn *conn, struct errand *errand);

/** Request an errand of this kind; the connection waits for it. */
void
thread_send_errand(struct conn *conn, uint32_t kind, uint32_t upto);

/* ---- threads (poller.c) ---- */

/* Phases of the pool: serve until the server pauses or ends; close the session. */
enum { PHASE_SERVE, PHASE_CLOSE };

void
thread_serve(void *arg, uint32_t id, int phase);

void
thread_wake(const struct thread *thread);

/** Whether the thread must return from serving, for an errand or the end. */
bool
thread_must_return(const struct thread *thread);

/** Close all connections, including those in the mailbox. */
void
thread_drop_all(struct thread *thread);

/* ---- functions for accepting a connection (serve.c) ---- */

/** Choose the thread for a new connection. NULL: too many connections. */
struct thread *
server_choose_thread(struct server *server);

/** Pass a new connection to the thread, which begins it. false: out of memory. */
bool
server_hand_over(struct thread *thread, int fd, void *of_transport);

/* ---- addresses (address.c) ---- */

enum { ADDRESS_HOST = 256 };

/** Bind server->listener, and set the server's reachable address. */
NB_MUST_CHECK int
address_bind(struct server *server, const char *text);

/** Close the listener and remove its file, if it is a Unix socket. */
void
address_close(struct server *server);

/** Split "HOST:PORT" or "[HOST]:PORT". NB_OK, or a failure whose text names the address. */
NB_MUST_CHECK int
address_split(const char *text, char host[ADDRESS_HOST], const char **port);

/** Set the server's reachable address. */
void
address_name(struct server *server, const struct sockaddr *address, socklen_t size);

#endif /* SERVE_SERVER_H */
