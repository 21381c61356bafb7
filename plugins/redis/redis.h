/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REDIS_H
#define REDIS_H
/** Declarations that this plugin's files share: the database, its sessions, its connections. */
#include "../common/database.h"
#include "../remote/pipeline.h"
#include "../remote/tls.h"
#include "slots.h"

#define OPTIONS(X) \
	X(CLUSTER, BOOL, "cluster", "no", "the servers are nodes of a Redis Cluster") \
	X(CONNECTIONS, U64, "connections", "1", "connections", 1, 1024, \
		"of each session to each server; a key has one of them") \
	X(DB, U64, "db", "0", "number", 0, INT_MAX, "number of the database: SELECT") \
	X(USER, TEXT, "user", NULL, "name for AUTH; without one the server's default user") \
	X(PASSWORD, TEXT, "password", NULL, \
		"for AUTH; the variable REDISCLI_AUTH keeps it out of results") \
	X(REPLICA_READS, BOOL, "replica_reads", "no", \
		"get from a replica of each server, whose data may be stale") \
	X(READY, TIME, "ready", "1m", 0, 0, \
		"wait so long for a server that loads its data or joins its cluster") \
	X(TLS, BOOL, "tls", "no", "encrypt connections, and verify the server's certificate") \
	X(TLS_CA, TEXT, "tls_ca", NULL, "file of trusted certificates; default: the system's") \
	X(TLS_CERT, TEXT, "tls_cert", NULL, "file of the client's own certificate") \
	X(TLS_KEY, TEXT, "tls_key", NULL, "file of its private key") \
	X(TLS_VERIFY, BOOL, "tls_verify", "yes", "no: accept any certificate of the server") \
	X(SPIN, TIME, "spin", "0us", 0, NB_SPIN_MAX, "poll for replies so long before sleeping")

#define NB_SPIN_MAX UINT64_C(1000000000)

enum { OPTIONS(OPTION_ID) };

#define MARKER_KEY "mininb:marker"

enum { SHA_SIZE = 40 };

struct nb_db {
	const struct nb_host *host;
	const char *user, *password; /* NULL: none */
	uint64_t number;             /* of the Redis database */
	uint64_t ready_ns;
	uint32_t connections;
	bool is_cluster, reads_replicas;
	struct stream_options stream;
	struct tls *tls; /* NULL: not encrypted */
	uint32_t inflight_ops;
	uint64_t inflight_bytes;
	/* Servers of keys, then their replicas if used; for a cluster its nodes. */
	char (*addresses)[SLOT_ADDRESS + ADDRESS_PATH_MAX];
	uint32_t address_count, server_count;
	const char **targets;   /* for a session: each address, `connections` times */
	struct slot_map *map;   /* the initial map of a cluster; else NULL */
	struct stream *control; /* the database thread's connection to each server */
	uint32_t control_count;
	char merge_sha[SHA_SIZE + 1],
		execute_sha[SHA_SIZE + 1]; /* "": the server does not run scripts */
	uint64_t moved, asked, retried;    /* redirections; atomic */
	char reported[640];                /* the servers' settings, as logged */
};

/** Number of requests in flight with the same key hash, and their common connection. */
struct turn {
	uint32_t connection, in_flight;
};

struct nb_session {
	struct nb_db *db;
	struct pipeline pipeline;
	struct turn *turns;  /* NULL: one connection to each server */
	uint32_t connection; /* of the request being encoded */
	uint32_t turn_mask, turn, turn_left, turn_size;
	struct slot_map *map;  /* NULL: not a cluster */
	struct nb_step *steps; /* of multi_get and batch */
	size_t step_room;
	char text[512]; /* the last error from a server */
};

/* --- synchronous commands of one connection: connection.c --- */

#define CALL_NS (10 * STREAM_SECOND_NS)

/** A complete reply: its first header, and all of its bytes. Lent until the next call. */
struct call {
	struct resp_reply reply;
	const char *bytes;
	size_t size;
};

/**
 * Send a command, whose arguments end with NULL, and wait for the reply. An error is a
 * reply, too.
 */
int
connection_call(struct stream *stream, struct call *call, uint64_t timeout_ns,
	const char *const *arguments);
#define CONNECTION_CALL(stream, call, ...) \
	connection_call(stream, call, CALL_NS, (const char *const[]){__VA_ARGS__, NULL})

/** Advice on an error, to print after it; may be "". */
const char *
error_hint(const struct resp_reply *error);

/** Report a command that the server answered with an error. Returns the failure. */
int
connection_refused(struct stream *stream, const char *command, const struct resp_reply *error);

/** Like connection_call(), but an error reply is a failure with a message. */
int
connection_order(struct stream *stream, struct call *call, uint64_t timeout_ns,
	const char *const *arguments);
#define CONNECTION_ORDER(stream, call, ...) \
	connection_order(stream, call, CALL_NS, (const char *const[]){__VA_ARGS__, NULL})

/** Whether the reply is a bulk string that contains the text. */
bool
call_contains(const struct call *call, const char *text);

/** Log in, select the database and, in a cluster, allow reads from a replica. */
int
connection_hello(struct stream *stream, const struct nb_db *db);

/**
 * Load the scripts into the server. Returns NB_NOT_FOUND if it cannot run them;
 * db->merge_sha then remains "".
 */
int
connection_load_scripts(struct stream *stream, struct nb_db *db);

/* --- settings: settings.c --- */

/** Check the settings of a server for the durability level, and log them. */
int
settings_read(struct stream *stream, struct nb_db *db, uint32_t level);

/* --- choice of server and connection: route.c --- */

/** For codec.server. */
uint32_t
route_server(void *own, const struct nb_request *request);

/** Whether one command, transaction or script can contain all of the keys. */
bool
route_is_one(const struct nb_session *session, const struct nb_step *steps, size_t count);

/**
 * Set session->connection for the request. A key keeps its connection while requests for it
 * are in flight. Uses bits 8 to 31 of the request's own[0].
 */
int
route_take_turn(
	struct nb_session *session, struct flying *flying, const struct nb_request *request);

/** The request was answered. Only if session->turns is not NULL. */
void
route_end_turn(struct nb_session *session, const struct flying *flying);

/* --- requests: codec.c --- */

extern const struct codec redis_codec, redis_cluster_codec;

/* --- scripts: scripts.c --- */

extern const char merge_script[], execute_script[];

#endif /* REDIS_H */
