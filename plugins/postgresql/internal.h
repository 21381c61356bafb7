/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef POSTGRESQL_INTERNAL_H
#define POSTGRESQL_INTERNAL_H
/**
 * The database, its sessions, and what the files of this plugin lend each other.
 *
 * - connection.c connects and reads what the server promises
 * - statements.c has the SQL text of each statement, for any table
 * - database.c makes the schema and settles
 * - values.c turns keys and values into parameters and back
 * - pipeline.c sends statements and sorts the results into operations
 * - steps.c sends steps; many.c has the verbs of many records, scan.c the scans, and
 *   postgresql.c all others
 */
#include "../common/database.h"
#include "../common/sql.h"
#include "../remote/address.h"
#include "../remote/spin.h"

#include <libpq-fe.h>

#define OPTIONS(X) \
	X(CONNINFO, TEXT, "conninfo", "user=mininb dbname=postgres", \
		"connection string of libpq; the server's address overrides its host and port") \
	X(ISOLATION, CHOICE, "isolation", "repeatable-read", \
		"read-committed|repeatable-read|serializable", "isolation of transactions") \
	X(LOCK_TIMEOUT, TIME, "lock_timeout", "5s", 1000000, UINT64_C(3600000000000), \
		"time to wait for a lock; then the answer is a conflict") \
	X(STORAGE, CHOICE, "storage", "external", "external|extended|main", \
		"where values above 2 KiB are: external is out of line, extended compressed") \
	X(COMMIT_OF, CHOICE, "commit", "each", "each|submit", \
		"a transaction is each request in flight, or all that are sent together") \
	X(SPIN, TIME, "spin", "0s", 0, UINT64_C(1000000000), \
		"time to poll the socket for an answer before the client sleeps, where that is useful")

enum { OPTIONS(OPTION_ID) };

enum isolation { READ_COMMITTED, REPEATABLE_READ, SERIALIZABLE };

enum {
	/*
	 * A B-tree wants three entries on a page of 8 KiB: an entry has at most 2704 bytes, 8 of
	 * them its head and 4 the length of the bytea.
	 */
	KEY_SIZE_MAX = 2692,
	/* Columns of keys and values, and what a statement adds. */
	PARAMETERS_MAX = 2 * SQL_COLUMNS_MAX + 4
};
/* A message, and so a row, has less than 1 GiB. */
#define VALUE_SIZE_MAX ((UINT64_C(1) << 30) - (64u << 10))

/* Statements of each table; statements.c has their text. */
enum {
	GET,
	PUT,
	DEL,
	INSERT,
	MERGE,
	NEWER, /* up to here in the order of NB_STEP_* */
	SCAN,
	BACK = SCAN + 2, /* and one more for keys only, as with all scans */
	BACK_ALL = BACK + 2,
	MULTI_GET = BACK_ALL + 2,
	PUT_ALL,
	DEL_ALL,
	UNLESS_PUT, /* only if the step is not left out; in the order of NB_STEP_*, without GET */
	UNLESS_NEWER = UNLESS_PUT + 4,
	MARK_HAVE, /* leave steps out if the key is there */
	MARK_LACK,
	MARK_NEWER,
	MARK_EMPTY,
	EMPTY,
	STATEMENTS
};

/* Statements of the session. */
enum { BEGIN_WRITE, BEGIN_READ, BEGIN_SCAN, COMMIT, ROLLBACK, SET_LEVEL, SKIP_NONE, COMMONS };

struct statement {
	char *text;
	char name[12];
};

struct table {
	const struct nb_table *columns;
	char name[SQL_NAME_MAX + 3]; /* in quotes */
	struct statement statements[STATEMENTS];
	bool is_plain; /* the value is one column of bytes: nothing is to be copied */
};

struct nb_db {
	const struct nb_host *host;
	const struct nb_option_value *options;
	PGconn *conn;
	struct address server; /* host and port may be empty: what conninfo says */
	char where[300];       /* for messages */
	char *prologue;        /* what each connection sets */
	struct table *tables;
	uint32_t table_count, *order; /* order[]: the tables by their prefixes */
	enum isolation isolation;
	uint64_t record_bytes; /* hint; 0: unknown */
	uint64_t inflight_bytes;
	uint32_t inflight_ops, durability;
	char mismatch[512]; /* a table has other columns: sessions are refused until a reset */
};

/** An operation whose results have not all been read, or that was not reaped. */
struct flying {
	uint64_t tag, bytes;
	struct nb_step one, *steps; /* steps: &one, or an execute's; NULL: neither */
	size_t step_count;
	size_t step;     /* whose result comes next */
	size_t left_out; /* steps below this index are */
	bool is_marked;  /* the mark before `step` was read */
	bool are_gets;   /* all steps are, and are sent as one multi-get */
	uint32_t flags;  /* NB_EXEC_* */
	uint32_t leads;  /* results to come before the first step's */
	uint32_t due;    /* results to come in all */
	bool has_sync;   /* the transaction ends after it */
	bool is_held;    /* not done before the sync of its group */
	int32_t answer;
	PGresult **results; /* what it lends, and its error */
	size_t result_count, result_room;
	const char *error; /* in the last of `results`, or static */
};

struct scan {
	bool is_backward, is_keys_only, is_begun, is_new;
	bool is_unbound; /* backward: from the table's end */
	uint32_t at;     /* index into db->order; table_count: at the end */
	uint64_t portion;
	PGresult *rows;
	int row, row_count;
	struct buffer bound, key, value; /* bound: the columns of the next key, or past it */
};

struct nb_session {
	struct nb_db *db;
	PGconn *conn;
	struct flying *flying; /* a ring */
	size_t room, first, count;
	size_t done;     /* of `count`, from the first on */
	size_t received; /* likewise: of these all results are here, not always the sync */
	uint64_t bytes;
	struct spin spin;
	int group; /* the answer of the group that has failed; else NB_OK */
	enum { NO_TXN, TO_BEGIN, BEGUN } txn;
	uint32_t begin_by; /* the statement */
	PGresult **lent;
	size_t lent_count, lent_room;
	struct scan scan;
	struct buffer *arrays; /* of many.c */
	struct buffer sorted;
};

/** What a statement is given, all binary. */
struct parameters {
	const char *values[PARAMETERS_MAX];
	int sizes[PARAMETERS_MAX], formats[PARAMETERS_MAX];
	uint64_t numbers[PARAMETERS_MAX];
	int count;
};

/* --- database.c --- */

int
database_count(struct nb_db *db, uint32_t table, uint64_t *rows);

/* --- connection.c --- */

int
connection_locate(struct nb_db *db, const struct nb_open_args *args);

/** A connection on which the prologue has run. */
int
connection_open(PGconn **out, const struct nb_db *db);

/** Read what the server promises, refuse less than `durability`, and tell it. */
int
connection_check(struct nb_db *db);

/** A failure of the connection itself. */
int
connection_failure(const struct nb_db *db, PGconn *conn);

/** Run statements without parameters. */
int
connection_run(const struct nb_db *db, PGconn *conn, const char *text);

/** One value as text, to be freed; NULL: it was not found, or a failure with *rc set. */
char *
connection_ask(const struct nb_db *db, PGconn *conn, const char *text, int *rc);

/* --- statements.c --- */

extern const char *const statement_commons[COMMONS];

/** Make the statements of all tables. */
int
statements_make(struct nb_db *db);

void
statements_free(struct nb_db *db);

/** Prepare all of them. */
int
statements_prepare(const struct nb_db *db, PGconn *conn);

/** CREATE TABLE of a table, to be freed. */
char *
statement_create(const struct nb_db *db, const struct table *table);

/** Its columns as the server names them: "k bytea, v bytea"; to be freed. */
char *
statement_columns(const struct table *table);

/* --- values.c --- */

/** The table of a key, and what follows its prefix. */
struct place {
	const struct table *table;
	uint32_t index;
	struct nb_slice rest;
};

/** NULL, or why the key has no table: a static text. */
const char *
values_place(const struct nb_db *db, struct nb_slice key, struct place *out);

/** NULL, or why the key, or a value that is not NULL, cannot be stored: a static text. */
const char *
values_check(const struct nb_db *db, struct nb_slice key, const struct nb_slice *value,
	struct place *out);

/** A column as the server wants it: its size; its bytes are at *at, perhaps in *number. */
int
values_encode(const struct nb_column *column, bool is_key, struct nb_slice part,
	uint64_t *number, const char **at);

/* Append a parameter, or those of a key or value that was checked. */

void
values_add_column(struct parameters *to, const struct nb_column *column, bool is_key,
	struct nb_slice part);

void
values_add_key(struct parameters *to, const struct place *place);

void
values_add_value(struct parameters *to, const struct place *place, struct nb_slice value);

void
values_add_bytes(struct parameters *to, const void *data, size_t size);

void
values_add_i64(struct parameters *to, int64_t number);

void
values_add_i32(struct parameters *to, int32_t number);

void
values_add_text(struct parameters *to, size_t number);

/** Bytes of `count` columns of a row, at most. */
size_t
values_size(PGresult *rows, int row, int from, uint32_t count);

/** Columns of a row, from column `from` on, as the bytes of a key or value; their number. */
size_t
values_decode(char *to, PGresult *rows, int row, int from, const struct nb_column *columns,
	uint32_t count, bool is_key);

/** The value in a row, lent by `rows`. */
int
values_lend(const struct nb_db *db, const struct table *table, PGresult *rows, int row,
	int from, struct nb_slice *value);

/* --- pipeline.c --- */

/** Room for `ops` operations. */
int
pipeline_open(struct nb_session *session, uint32_t ops);

void
pipeline_close(struct nb_session *session);

/** Whether one operation fits after `more` others, all of which have so many bytes. */
bool
pipeline_has_room(const struct nb_session *session, size_t more, uint64_t bytes);

/** A new operation at the end of the ring, which has room for one that is awaited. */
struct flying *
pipeline_begin(struct nb_session *session);

/** What comes first: the transaction that is to begin. */
int
pipeline_lead(struct nb_session *session, struct flying *op);

int
pipeline_send(struct nb_session *session, struct flying *op, const struct table *table,
	uint32_t statement, const struct parameters *with);

/** BEGIN_WRITE and the like. */
int
pipeline_send_common(struct nb_session *session, struct flying *op, int statement);

/** Whether a mark is sent before the step, where steps leave others out. */
bool
pipeline_is_marked(const struct nb_step *step);

/** End a group of operations: the transaction that they are in, if none was begun. */
int
pipeline_sync(struct nb_session *session, struct flying *op);

/**
 * Sort results into operations until `wanted` operations are done or the time is over; with a
 * time of 0, those that have arrived.
 */
int
pipeline_read(struct nb_session *session, size_t wanted, uint64_t timeout_ns);

/** Wait for the last operation, lend what it holds and return its answer. It is gone then. */
int
pipeline_finish(struct nb_session *session, struct flying *op);

/** The operation that was done first; NULL: none. */
struct flying *
pipeline_front(struct nb_session *session);

/** Take it from the ring. */
void
pipeline_pop(struct nb_session *session);

/** What `op` holds is lent until release. */
int
pipeline_lend(struct nb_session *session, struct flying *op);

void
pipeline_release(struct nb_session *session);

/* --- steps.c --- */

/** Send the steps of `op`, or set its answer. A failure is one of the connection. */
int
steps_send(struct nb_session *session, struct flying *op);

/* --- many.c, scan.c, verbs --- */

int
many_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers);

/** Send gets as one statement for each table; a key is `stride` bytes after the one before. */
int
many_send(struct nb_session *session, struct flying *op, const struct nb_slice *keys,
	size_t stride, size_t count);

/** Answer the steps of `op` that the rows are of. */
void
many_take(const struct nb_db *db, struct flying *op, PGresult *rows);

int
many_write(struct nb_session *session, const struct nb_write *writes, size_t count,
	uint32_t flags);

int
scan_open(struct nb_session *session, const struct nb_scan_args *args);

int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value);

int
scan_close(struct nb_session *session);

void
many_close(struct nb_session *session);

void
scan_free(struct nb_session *session);

int
txn_begin(struct nb_session *session, uint32_t statement);

int
txn_commit(struct nb_session *session);

#endif /* POSTGRESQL_INTERNAL_H */
