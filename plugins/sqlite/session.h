/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SQLITE_SESSION_H
#define SQLITE_SESSION_H
/**
 * A session: a connection with all statements of all tables prepared. sqlite.c contains
 * records and transactions, scan.c scans; columns.c binds keys and values.
 */
#include "database.h"

/** Statements that do not belong to a table. */
enum { BEGIN_WRITE, BEGIN_READ, COMMIT, ROLLBACK, TXN_STATEMENTS };

/** The open scan. */
struct scan {
	sqlite3_stmt *statement; /* NULL: at its end */
	uint32_t bits;           /* SCAN_KEYS, SCAN_DOWN */
	uint32_t place;          /* of its table in by_prefix */
	bool has_txn;            /* the scan has begun a transaction */
	struct buffer key, value;
};

struct nb_session {
	struct nb_db *db;
	sqlite3 *base;
	sqlite3_stmt *statements[SQL_TABLES_MAX][STATEMENTS];
	sqlite3_stmt *txn[TXN_STATEMENTS];
	sqlite3_stmt *lent; /* statement whose row get lends */
	struct scan scan;
	struct buffer value; /* a value of several columns that get lends */
	struct buffer kept;  /* values that execute lends */
	bool is_in_transaction;
	uint32_t calls;
};

/** Execute a statement that returns no rows. Returns SQLite's error. */
int
session_run(sqlite3_stmt *statement);

/** Convert a statement's error to an answer. A lock that was not granted ends the transaction. */
int
session_outcome(struct nb_session *session, const char *call, int error);

/** Count a call, and publish the counters from time to time. */
void
session_called(struct nb_session *session);

/** Bind columns from parameter `at` on. Returns SQLITE_MISMATCH if the bytes do not fit. */
int
columns_bind(sqlite3_stmt *statement, int at, const struct nb_column *columns, uint32_t count,
	struct nb_slice bytes, bool is_key, sqlite3_destructor_type copies);

/** The bytes of column `at`, valid as long as the row. */
struct nb_slice
columns_plain(sqlite3_stmt *statement, int at);

/** Append the bytes of the columns from `at` on. Returns false if out of memory. */
bool
columns_add(struct buffer *to, sqlite3_stmt *statement, int at, const struct nb_column *columns,
	uint32_t count, bool is_key);

int
scan_open(struct nb_session *session, const struct nb_scan_args *args);

int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value);

int
scan_close(struct nb_session *session);

#endif /* SQLITE_SESSION_H */
