/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SQLITE_SESSION_H
#define SQLITE_SESSION_H
/**
 * A session: a connection with each statement of each table prepared once. sqlite.c has its
 * records and transactions, scan.c its scans, columns.c binds keys and values.
 */
#include "database.h"

/** The statements that are of no table. */
enum { BEGIN_WRITE, BEGIN_READ, COMMIT, ROLLBACK, TXN_STATEMENTS };

/** The scan that is open. */
struct scan {
	sqlite3_stmt *statement; /* NULL: at its end */
	uint32_t bits;           /* SCAN_KEYS, SCAN_DOWN */
	uint32_t place;          /* of its table in by_prefix */
	bool has_txn;            /* begun for it */
	struct buffer key, value;
};

struct nb_session {
	struct nb_db *db;
	sqlite3 *base;
	sqlite3_stmt *statements[SQL_TABLES_MAX][STATEMENTS];
	sqlite3_stmt *txn[TXN_STATEMENTS];
	sqlite3_stmt *lent; /* whose row get lends */
	struct scan scan;
	struct buffer value; /* what get lends of several columns */
	struct buffer kept;  /* what the gets of an execute lend */
	bool is_in_transaction;
	uint32_t calls;
};

/** Run to its end a statement that gives no rows: SQLite's error. */
int
session_run(sqlite3_stmt *statement);

/** The answer to a statement's error. A lock that was not granted undoes the transaction. */
int
session_outcome(struct nb_session *session, const char *call, int error);

/** Count a call, and now and then publish the counters. */
void
session_called(struct nb_session *session);

/** Bind the columns from parameter `at` on; SQLITE_MISMATCH: the bytes do not fit them. */
int
columns_bind(sqlite3_stmt *statement, int at, const struct nb_column *columns, uint32_t count,
	struct nb_slice bytes, bool is_key, sqlite3_destructor_type copies);

/** The bytes of column `at` of the row, as long as the row is. */
struct nb_slice
columns_plain(sqlite3_stmt *statement, int at);

/** Append the bytes of the columns from `at` on. False: out of memory. */
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
