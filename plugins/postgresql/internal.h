/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef POSTGRESQL_INTERNAL_H
#define POSTGRESQL_INTERNAL_H
/**
 * The database, its sessions, and the functions that this plugin's files share.
 *
 * - connection.c connects and reads the durability settings of the server
 * - statements.c has the SQL text of each statement, for any table
 * - database.c makes the schema and settles
 * - values.c converts keys and values to parameters and back
 * - pipeline.c sends statements and assigns the results to operations
 * - steps.c sends steps, many.c contains the verbs for many records, scan.c the scans, and
 *   postgresql.c all other verbs
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
	 * A B-tree needs room for three entries on a page of 8 KiB. An entry has at most 2704
	 * bytes: 8 bytes of header, 4 bytes for the length of the bytea, and the key.
	 */
	KEY_SIZE_MAX = 2692,
	/* Columns of a key and a value, and the additional parameters of a statement. */
	PARAMETERS_MAX = 2 * SQL_COLUMNS_MAX + 4
};
/* A message, and thus a row, must be smaller than 1 GiB. */
#define VALUE_SIZE_MAX ((UINT64_C(1) << 30) - (64u << 10))

/* Statements of each table; their text is in statements.c. */
enum {
	GET,
	PUT,
	DEL,
	INSERT,
	MERGE,
	NEWER, /* in the order of NB_STEP_* up to here */
	SCAN,
	BACK = SCAN + 2, /* as for all scans, the next statement returns only keys */
	BACK_ALL = BACK + 2,
	MULTI_GET = BACK_ALL + 2,
	PUT_ALL,
	DEL_ALL,
	UNLESS_PUT, /* no effect if the step is skipped; in the order of NB_STEP_*, without GET */
	UNLESS_NEWER = UNLESS_PUT + 4,
	MARK_HAVE, /* skip steps if the key exists */
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
	bool is_plain; /* the value is a single bytea column and needs no copy */
};

struct nb_db {
	const struct nb_host *host;
	const struct nb_option_value *options;
	PGconn *conn;
	struct address server; /* empty host and port: those of conninfo */
	char where[300];       /* for messages */
	char *prologue;        /* settings of each connection */
	struct table *tables;
	uint32_t table_count, *order; /* order[]: tables sorted by prefix */
	enum isolation isolation;
	uint64_t record_bytes; /* hint; 0: unknown */
	uint64_t inflight_bytes;
	uint32_t inflight_ops, durability;
	char mismatch[512]; /* a table has other columns: sessions fail until a reset */
};

/** An operation with unread results, or that was not reaped. */
struct flying {
	uint64_t tag, bytes;
	struct nb_step one, *steps; /* steps: &one, or those of an execute; NULL: neither */
	size_t step_count;
	size_t step;     /* the next result belongs to it */
	size_t left_out; /* steps below this index are skipped */
	bool is_marked;  /* the mark before `step` was read */
	bool are_gets;   /* all steps are gets, sent as one multi-get */
	uint32_t flags;  /* NB_EXEC_* */
	uint32_t leads;  /* outstanding results that precede the first step's */
	uint32_t due;    /* outstanding results in total */
	bool has_sync;   /* the transaction ends after it */
	bool is_held;    /* completes only at the sync of its group */
	int32_t answer;
	PGresult **results; /* results that it lends, and its error */
	size_t result_count, result_room;
	const char *error; /* in the last of `results`, or static */
};

struct scan {
	bool is_backward, is_keys_only, is_begun, is_new;
	bool is_unbound; /* backward: from the end of the table */
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
	size_t done;     /* completed operations at the front of the ring */
	size_t received; /* likewise: all results arrived, but maybe not the sync */
	uint64_t bytes;
	struct spin spin;
	int group; /* the answer of a failed group; else NB_OK */
	enum { NO_TXN, TO_BEGIN, BEGUN } txn;
	uint32_t begin_by; /* the statement that begins it */
	PGresult **lent;
	size_t lent_count, lent_room;
	struct scan scan;
	struct buffer *arrays; /* for many.c */
	struct buffer sorted;
};

/** The parameters of a statement, all binary. */
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

/** Open a connection and apply the settings of the prologue. */
int
connection_open(PGconn **out, const struct nb_db *db);

/**
 * Read the server's durability settings and log them. Fails if they guarantee less than
 * `durability`.
 */
int
connection_check(struct nb_db *db);

/** Report a failure of the connection itself. Returns the failure. */
int
connection_failure(const struct nb_db *db, PGconn *conn);

/** Execute statements without parameters. */
int
connection_run(const struct nb_db *db, PGconn *conn, const char *text);

/**
 * Query one value as text, which the caller frees. NULL: not found, or a failure with *rc
 * set.
 */
char *
connection_ask(const struct nb_db *db, PGconn *conn, const char *text, int *rc);

/* --- statements.c --- */

extern const char *const statement_commons[COMMONS];

/** Make the statements of all tables. */
int
statements_make(struct nb_db *db);

void
statements_free(struct nb_db *db);

/** Prepare all statements. */
int
statements_prepare(const struct nb_db *db, PGconn *conn);

/** The CREATE TABLE of a table; the caller frees it. */
char *
statement_create(const struct nb_db *db, const struct table *table);

/** The columns as the server reports them: "k bytea, v bytea"; the caller frees the text. */
char *
statement_columns(const struct table *table);

/* --- values.c --- */

/** The table of a key, and the key without the table's prefix. */
struct place {
	const struct table *table;
	uint32_t index;
	struct nb_slice rest;
};

/** Find the table of a key. Returns NULL, or the reason for a failure as a static text. */
const char *
values_place(const struct nb_db *db, struct nb_slice key, struct place *out);

/**
 * Check that the key, and a value that is not NULL, can be stored. Returns NULL, or the
 * reason for a failure as a static text.
 */
const char *
values_check(const struct nb_db *db, struct nb_slice key, const struct nb_slice *value,
	struct place *out);

/**
 * Encode a column for the server. Returns its size and sets *at to its bytes, possibly in
 * *number.
 */
int
values_encode(const struct nb_column *column, bool is_key, struct nb_slice part,
	uint64_t *number, const char **at);

/* Append a parameter, or the parameters of a checked key or value. */

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

/** Maximum number of bytes of `count` columns of a row. */
size_t
values_size(PGresult *rows, int row, int from, uint32_t count);

/** Decode a row's columns, from column `from`, to a key or value. Returns its size. */
size_t
values_decode(char *to, PGresult *rows, int row, int from, const struct nb_column *columns,
	uint32_t count, bool is_key);

/** The value in a row, lent by `rows`. */
int
values_lend(const struct nb_db *db, const struct table *table, PGresult *rows, int row,
	int from, struct nb_slice *value);

/* --- pipeline.c --- */

/** Make room for `ops` operations. */
int
pipeline_open(struct nb_session *session, uint32_t ops);

void
pipeline_close(struct nb_session *session);

/** Whether an operation fits after `more` others; `bytes` is the total size of all of them. */
bool
pipeline_has_room(const struct nb_session *session, size_t more, uint64_t bytes);

/** Begin an operation at the end of the ring. The ring always has room for a synchronous one. */
struct flying *
pipeline_begin(struct nb_session *session);

/** Send the pending BEGIN, if any. */
int
pipeline_lead(struct nb_session *session, struct flying *op);

int
pipeline_send(struct nb_session *session, struct flying *op, const struct table *table,
	uint32_t statement, const struct parameters *with);

/** Send a statement of the session, such as BEGIN_WRITE. */
int
pipeline_send_common(struct nb_session *session, struct flying *op, int statement);

/** Whether a mark precedes the step, if the list has steps that skip others. */
bool
pipeline_is_marked(const struct nb_step *step);

/** End a group of operations, and their transaction unless begin() started one. */
int
pipeline_sync(struct nb_session *session, struct flying *op);

/**
 * Assign results to operations until `wanted` operations are done or the time is over. With
 * a timeout of 0, process only results that have arrived.
 */
int
pipeline_read(struct nb_session *session, size_t wanted, uint64_t timeout_ns);

/**
 * Wait for the last operation, lend its results, return its answer, and remove it from the
 * ring.
 */
int
pipeline_finish(struct nb_session *session, struct flying *op);

/** The oldest completed operation; NULL: none. */
struct flying *
pipeline_front(struct nb_session *session);

/** Remove the oldest operation from the ring. */
void
pipeline_pop(struct nb_session *session);

/** Lend the results of `op` until release. */
int
pipeline_lend(struct nb_session *session, struct flying *op);

void
pipeline_release(struct nb_session *session);

/* --- steps.c --- */

/** Send the steps of `op`, or set its answer. Returns a failure only for the connection. */
int
steps_send(struct nb_session *session, struct flying *op);

/* --- many.c, scan.c, verbs --- */

int
many_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers);

/** Send gets as one statement for each table. `stride`: distance of consecutive keys in bytes. */
int
many_send(struct nb_session *session, struct flying *op, const struct nb_slice *keys,
	size_t stride, size_t count);

/** Set the answers of the steps of `op` that the rows belong to. */
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
