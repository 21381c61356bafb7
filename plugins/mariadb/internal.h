/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MARIADB_INTERNAL_H
#define MARIADB_INTERNAL_H
/** Declarations that this plugin's files share: the database and its sessions. */
#include "schema.h"
#include "wire.h"

#include "../remote/pipeline.h"

#include <mysql.h>

/* --- options --- */

enum { REPEATABLE_READ, READ_COMMITTED, SERIALIZABLE };

#define OPTIONS(X) \
	X(ISOLATION, CHOICE, "isolation", "repeatable-read", \
		"repeatable-read|read-committed|serializable", "isolation of transactions") \
	X(USER, TEXT, "user", "root", \
		"user name; the password is in the environment, MYSQL_PWD") \
	X(DATABASE, TEXT, "database", SQL_DATABASE, \
		"name of the database, all of it mininb's") \
	X(SPIN, TIME, "spin", "0us", 0, 1000000000, \
		"time to poll the socket for an answer before the client sleeps")

enum { OPTIONS(OPTION_ID) };

/* --- the database, server.c --- */

struct nb_db {
	const struct nb_host *host;
	const struct nb_option_value *options;
	const char *const *targets;
	uint32_t target_count;
	MYSQL **servers; /* connections of the database thread, one for each target */
	const struct nb_table *of;
	uint32_t table_count;
	struct sql_table *tables;
	uint32_t by_prefix[SQL_TABLES_MAX]; /* table numbers in key order */
	uint64_t key_size, inflight_bytes;
	uint32_t inflight_ops;
	size_t packet_max;     /* maximum command size of all servers, in bytes */
	struct buffer refusal; /* why sessions cannot be opened; empty: they can */
};

int
server_open(struct nb_db **out, const struct nb_open_args *args);
int
server_close(struct nb_db *db);
int
server_reset(struct nb_db *db);

int
server_count(struct nb_db *db, uint32_t table, uint64_t *rows);
int
server_flush(struct nb_db *db, uint32_t upto);
void
server_stats(struct nb_db *db, nb_stat_emit emit, void *to);

/** Open a connection with the settings of a session. Returns NB_OK or a failure. */
int
server_connect(MYSQL **out, const struct nb_db *db, uint32_t target);

/** Call fail() with the address and the library's error. */
int
server_fail(const struct nb_db *db, uint32_t target, MYSQL *mysql, const char *what);

/* --- sessions, session.c --- */

/** A session's connection to a server. */
struct connection {
	MYSQL *mysql;
	uint32_t *statements; /* statement ids, STATEMENTS for each table */
	MYSQL_STMT *
		*handles; /* likewise; freed after the connection, to avoid a packet for each */
	struct reading reading;
};

/** State of a request in flight, in `own` of struct flying. */
struct flight {
	uint32_t commands; /* commands with outstanding results */
	uint32_t table;  /* execute: nonzero if sent as lists of keys; other verbs: the table */
	uint32_t step;   /* execute: next step to answer; other verbs: completed commands */
	uint32_t ignore; /* results to skip before the next relevant one */
};
_Static_assert(sizeof(struct flight) <= sizeof(((struct flying *)0)->own), "it is there");

static inline struct flight *
flight_of(struct flying *flying)
{
	return (struct flight *)(void *)flying->own;
}

/** Commands that a verb writes itself (CODEC_VERB) and waits for. */
struct message {
	struct buffer bytes;
	uint32_t commands, server;
};

/** Row packets that a scan has fetched. */
struct page {
	struct nb_slice *rows;
	size_t count, room, next, bytes;
	bool is_short; /* fewer rows than requested: the table's last page */
};

/** Finds the steps that have a given key. */
struct finder {
	uint32_t *heads, *next; /* step numbers plus 1 */
	size_t head_room, mask;
	uint64_t owner;       /* number of the finder's request, plus 1 */
	uint32_t list, table; /* the list of keys being answered, and its table */
};

struct scan {
	uint32_t bits;      /* SCAN_KEYS, SCAN_DOWN */
	uint32_t place;     /* index into db->by_prefix; table_count: at the end */
	uint64_t limit;     /* rows of the next page */
	bool is_beyond;     /* the next page begins after `from` */
	bool is_whole;      /* read the next table from its first key */
	bool is_one_page;   /* expected to fit one page: needs no transaction */
	bool has_txn;       /* its own */
	struct buffer from; /* the key without its prefix */
};

struct nb_session {
	struct nb_db *db;
	struct pipeline pipeline;
	struct connection *connections; /* one for each server */
	struct message message;
	struct page page;
	struct scan scan;
	struct finder finder;
	struct buffer key;   /* room for one key */
	struct buffer steps; /* of a multi_get */
	const char *begin;   /* sent before the next request; NULL: nothing */
	bool is_in_txn;
};

/** The table that a key belongs to; NULL: none. */
const struct sql_table *
table_of(const struct nb_db *db, struct nb_slice key);

int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id);
int
session_close(struct nb_session *session);

/* Commands of a verb: begin, add commands, send and wait for all. */

void
message_begin(struct nb_session *session, uint32_t server);

/**
 * Make room for a command of `size` bytes. Returns NULL if out of memory, after calling
 * fail().
 */
char *
message_room(struct nb_session *session, size_t size);

/** Record a command that was written to this room and ends at `end`. */
void
message_wrote(struct nb_session *session, const char *end);

/** Returns false if out of memory, after calling fail(). */
bool
message_query(struct nb_session *session, const char *text);

int
message_send(struct nb_session *session);

/** Send one or two commands and wait. */
int
message_do(struct nb_session *session, uint32_t server, const char *first, const char *second);

/* --- scans, scan.c --- */

int
scan_open(struct nb_session *session, const struct nb_scan_args *args);
int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value);
int
scan_close(struct nb_session *session);

/* --- lists of steps, execute.c --- */

size_t
execute_bound(
	struct nb_session *session, struct flying *flying, const struct nb_request *request);
char *
execute_encode(struct nb_session *session, struct flying *flying,
	const struct nb_request *request, char *to);

/** Returns false if the row is invalid. */
bool
execute_row(struct nb_session *session, struct flying *flying, char *payload, size_t size);
void
execute_result(
	struct nb_session *session, struct flying *flying, const struct reading *reading);

/** Call it after all results have arrived. */
void
execute_end(struct flying *flying);

/* --- steps as text, text.c --- */

/**
 * Append the statement of step `number`. is_guarded: it has no effect while @s exceeds
 * `number`.
 */
char *
text_step(char *to, struct nb_session *session, const struct nb_step *step, bool is_guarded,
	size_t number);

/** Append a statement that sets @s if the step finds nothing or its condition is false. */
char *
text_skip(char *to, const struct nb_step *step, size_t number, size_t count);

#endif /* MARIADB_INTERNAL_H */
