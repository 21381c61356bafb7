/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MARIADB_INTERNAL_H
#define MARIADB_INTERNAL_H
/**
 * What the files of this plugin share: the database, and a session of it.
 */
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
	MYSQL **servers; /* of the database's own thread, one for each target */
	const struct nb_table *of;
	uint32_t table_count;
	struct sql_table *tables;
	uint32_t
		by_prefix[SQL_TABLES_MAX]; /* the numbers of the tables, in the order of keys */
	uint64_t key_size, inflight_bytes;
	uint32_t inflight_ops;
	size_t packet_max;     /* bytes of a command that every server takes */
	struct buffer refusal; /* why no session can be opened; empty: it can */
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

/** A connection as sessions need it. Returns NB_OK or a failure. */
int
server_connect(MYSQL **out, const struct nb_db *db, uint32_t target);

/** fail() with the address and the library's error. */
int
server_fail(const struct nb_db *db, uint32_t target, MYSQL *mysql, const char *what);

/* --- sessions, session.c --- */

/** A session's connection to a server. */
struct connection {
	MYSQL *mysql;
	uint32_t *statements; /* their numbers, STATEMENTS for each table */
	MYSQL_STMT *
		*handles; /* likewise; freed after the connection, or each would be a packet */
	struct reading reading;
};

/** What a request in flight keeps in `own` of struct flying. */
struct flight {
	uint32_t commands; /* whose results are still to come */
	uint32_t table;    /* of execute: whether it is sent as lists of keys */
	uint32_t
		step; /* of execute: the one that is answered next; or commands that are done */
	uint32_t ignore; /* results before the next one that matters */
};
_Static_assert(sizeof(struct flight) <= sizeof(((struct flying *)0)->own), "it is there");

static inline struct flight *
flight_of(struct flying *flying)
{
	return (struct flight *)(void *)flying->own;
}

/** Commands that are written by the verb itself, CODEC_VERB, and waited for. */
struct message {
	struct buffer bytes;
	uint32_t commands, server;
};

/** The packets of rows that a scan has fetched. */
struct page {
	struct nb_slice *rows;
	size_t count, room, next, bytes;
	bool is_short; /* fewer rows than were asked for: it was the last one of the table */
};

/** Which step has a key. */
struct finder {
	uint32_t *heads, *next; /* numbers of steps plus 1 */
	size_t head_room, next_room, mask;
	uint64_t owner;       /* the number of the request that it was made for, plus 1 */
	uint32_t list, table; /* the list of keys that is answered, and its table */
};

struct scan {
	uint32_t bits;      /* SCAN_KEYS, SCAN_DOWN */
	uint32_t place;     /* in db->by_prefix; table_count: at its end */
	uint64_t limit;     /* rows of the next page */
	bool is_beyond;     /* the next page begins after `from` */
	bool is_whole;      /* the next table is read from its first key */
	bool is_one_page;   /* expected to be: it needs no transaction */
	bool has_txn;       /* of its own */
	struct buffer from; /* the key, without its prefix */
};

struct nb_session {
	struct nb_db *db;
	struct pipeline pipeline;
	struct connection *connections; /* one for each server */
	struct message message;
	struct page page;
	struct scan scan;
	struct finder finder;
	struct buffer key;   /* room for one */
	struct buffer steps; /* of a multi_get */
	const char *begin;   /* sent before the next request; NULL: nothing */
	bool is_in_txn;
};

/** The table of a key; NULL: none. */
const struct sql_table *
table_of(const struct nb_db *db, struct nb_slice key);

int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id);
int
session_close(struct nb_session *session);

/* Commands of a verb itself: begin, add some, send and wait for all. */

void
message_begin(struct nb_session *session, uint32_t server);

/** Room for a command of so many bytes; NULL: out of memory, which fail() was told. */
char *
message_room(struct nb_session *session, size_t size);

/** A command that ends there was written to that room. */
void
message_wrote(struct nb_session *session, const char *end);

/** False: out of memory, which fail() was told. */
bool
message_query(struct nb_session *session, const char *text);

int
message_send(struct nb_session *session);

/** One command, or two, waited for. */
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

/** False: it is no such row. */
bool
execute_row(struct nb_session *session, struct flying *flying, char *payload, size_t size);
void
execute_result(
	struct nb_session *session, struct flying *flying, const struct reading *reading);

/** All results have come. */
void
execute_end(struct flying *flying);

/* --- steps as text, text.c --- */

/** Append the statement of step `number`. is_guarded: it does nothing while @s is above that. */
char *
text_step(char *to, struct nb_session *session, const struct nb_step *step, bool is_guarded,
	size_t number);

/** Append what sets @s if the step before finds nothing, or its condition is not met. */
char *
text_skip(char *to, const struct nb_step *step, size_t number, size_t count);

#endif /* MARIADB_INTERNAL_H */
