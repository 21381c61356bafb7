/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H
/** A server from inside: its threads and their connections. */
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
	READ_SIZE = 64 * 1024,     /* of one read */
	OUTPUT_PAUSE = 256 * 1024, /* bytes to be sent after which no more requests are done */
	BUFFER_FREE = 64 * 1024    /* of a connection, that do not count for buffer_max */
};

struct server;
struct thread;

/** Protocols. */
enum { PROTOCOL_UNKNOWN, PROTOCOL_RESP, PROTOCOL_WIRE };

/** A batch of the compact protocol whose requests are not all done. */
struct wire_state {
	uint32_t left; /* requests still to come */
	uint32_t key_size, value_size;
	bool is_fixed;
	bool is_refused; /* its view was wrong: requests are passed over */
	bool has_greeted;
	size_t frame;     /* where the head of the answers begins in the thread's output */
	uint32_t answers; /* that follow that head */
};

/** Work for the database as a whole, which the main thread does. */
struct errand {
	bool is_there;
	uint32_t kind;   /* NB_WIRE_*; of RESP as well */
	uint32_t upto;   /* of a settle */
	int rc;          /* as the engine's verb returned it */
	uint64_t number; /* of a RESP DBSIZE: records, or UINT64_MAX */
	struct bytes text;
};

struct conn {
	int fd;             /* of a socket */
	void *of_transport; /* of another transport */
	uint32_t protocol;
	uint64_t id;
	struct thread *thread;
	struct conn *next, *previous; /* in the thread's list; `next` also in its mailbox */
	struct bytes in;              /* read and not parsed, */
	size_t need;                  /* and not worth parsing before it has so many bytes */
	struct bytes out;             /* to be sent, */
	size_t sent;                  /* and of it sent */
	bool is_ending;    /* nothing more is read; it is closed when `out` is empty */
	bool is_broken;    /* it is closed at once */
	bool is_waiting;   /* for an errand */
	bool is_behind;    /* waits for its requests that are in flight */
	bool is_throttled; /* epoll waits for room to write, not for requests */
	struct resp_state resp;
	struct wire_state wire;
	struct async_conn async;
	uint64_t cursor;       /* of the last SCAN of RESP, and */
	struct bytes scan_key; /* the last key that it has seen */
};

/**
 * How connections come and how their bytes go: sockets, or libfabric (transport_*.c). Members
 * that may be NULL say so. A failure of an `int` is as everywhere.
 */
struct transport {
	/* the main thread's: take the address; accept connections; what comes with them */
	int (*bind)(struct server *server, const char *address);
	int (*listen)(struct server *server);
	/** Connections that wait. false: there are no more open files, so it is to pause. */
	bool (*accept)(struct server *server);
	void (*close)(struct server *server);
	void (*destroy)(struct server *server); /* after its threads; NULL: nothing is left */
	/* a thread's own; NULL: epoll says all that is new */
	int (*create_thread)(struct thread *thread);
	void (*destroy_thread)(struct thread *thread);
	bool (*has_news)(struct thread *thread);
	bool (*may_sleep)(struct thread *thread);
	void (*serve_news)(struct thread *thread, bool is_ending);
	/* a connection's, on its thread */
	bool (*begin)(struct conn *conn);
	/** As recv(2) and send(2), without waiting. */
	ssize_t (*receive)(struct conn *conn, void *to, size_t size);
	ssize_t (*send)(struct conn *conn, const void *bytes, size_t size);
	/** Wait for room to write, or for requests. NULL: news says both. */
	bool (*watch)(struct conn *conn, bool is_throttled);
	/** Whether bytes that were taken are not on their way yet. NULL: never. */
	bool (*is_sending)(const struct conn *conn);
	void (*end)(struct conn *conn);
};

extern const struct transport transport_socket;
/** Serves by libfabric; NULL: it was built without. */
extern const struct transport *const transport_ofi;

struct thread {
	struct server *server;
	uint32_t id;
	void *of_transport;
	int epoll, wake;
	struct spin spin;
	struct conn *mailbox; /* atomic: connections that were accepted for it */
	uint64_t load;        /* atomic: connections that it has or will have */
	struct conn *conns;
	struct conn *errand_of; /* waits for `errand` */
	struct errand errand;
	struct window window;
	struct resp_args args;
	struct bytes out;  /* answers of the connection at hand */
	char *read;        /* READ_SIZE bytes */
	uint64_t buffered; /* bytes of its connections' buffers that count */
	uint64_t dropped, bytes_in, bytes_out;
	int rc; /* it could not begin; `text` says why */
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
	char unix_path[108]; /* to be removed at the end; "" */
	uint32_t durability;
	struct marker marker;
	const struct transport *transport;
	void *of_transport;
	int listener, wake; /* listener: can be read if connections wait */
	struct worker_pool pool;
	struct thread *threads;
	struct gate gate;
	uint64_t view;            /* changes only while no thread serves */
	int is_paused, is_ending; /* atomic: threads are to return, for errands or for good */
	int has_failed;           /* atomic: a thread could not begin */
	uint64_t accepted, refused;
};

/** Largest key and value in bytes, and request as a whole. */
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

/** Epoll says that something can be read or written. The connection may be gone afterwards. */
void
conn_wake(struct conn *conn);

/** Requests that were in flight are answered: send that and go on. */
void
conn_answer(struct conn *conn);

/** Its errand is done: it goes on. */
void
conn_resume(struct conn *conn);

void
conn_close(struct conn *conn);

/** Do what it has sent; it is closed when that is answered, or soon. */
void
conn_finish(struct conn *conn);

/* ---- what protocols do: parse [*bytes, +size) and use some of it ---- */

/**
 * Do requests until they are used up, or the connection has to wait: is_waiting, is_ending, or
 * output above OUTPUT_PAUSE. Returns the bytes that were used; conn->need is set for the rest.
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

/** Have an errand of this kind done; the connection waits. */
void
thread_send_errand(struct conn *conn, uint32_t kind, uint32_t upto);

/* ---- threads (poller.c) ---- */

/* Phases of the pool: serve until the server pauses or ends; close the session. */
enum { PHASE_SERVE, PHASE_CLOSE };

void
thread_serve(void *arg, uint32_t id, int phase);

void
thread_wake(const struct thread *thread);

/** Whether it is to return from serving, for an errand or the end. */
bool
thread_must_return(const struct thread *thread);

/** Close all connections, also those that were just accepted. */
void
thread_drop_all(struct thread *thread);

/* ---- what a transport needs when it accepts a connection (serve.c) ---- */

/** The thread for one more connection. NULL: there are too many. */
struct thread *
server_choose_thread(struct server *server);

/** A connection for the thread, which begins it. false: out of memory. */
bool
server_hand_over(struct thread *thread, int fd, void *of_transport);

/* ---- addresses (address.c) ---- */

enum { ADDRESS_HOST = 256 };

/** Bind server->listener, and set the address at which it can be reached. */
NB_MUST_CHECK int
address_bind(struct server *server, const char *text);

/** Close the listener and remove its file, if it is a Unix socket. */
void
address_close(struct server *server);

/** "HOST:PORT" or "[HOST]:PORT" in its parts. NB_OK, or a failure that names it. */
NB_MUST_CHECK int
address_split(const char *text, char host[ADDRESS_HOST], const char **port);

/** Set the address at which the server can be reached. */
void
address_name(struct server *server, const struct sockaddr *address, socklen_t size);

#endif /* SERVE_SERVER_H */
