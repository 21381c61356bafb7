/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SQLITE_DATABASE_H
#define SQLITE_DATABASE_H
/**
 * A database as a whole and the connections to it: options, opening, closing and flushing.
 * schema.c contains its tables, sqlite.c reads and writes records.
 */
#include "../common/database.h"
#include "../common/sql.h"

#include <sqlite3.h>

/** In the order of the choices of the option `journal`. */
enum journal { WAL, DELETE, TRUNCATE, PERSIST, MEMORY, OFF };

extern const char *const database_journals[];

extern const struct nb_option database_options[];

enum {
	FILE_PATH_SIZE = 4096,
	COUNTERS = 4 /* of a connection */
};

/* The bits of a scan's statement. */
enum { SCAN_KEYS = 1, SCAN_DOWN = 2 };

/** The statements of a table. */
enum {
	GET,
	PUT,
	INSERT,
	DEL,
	MERGE,    /* only for tables whose values are counters */
	SCAN_ALL, /* + SCAN_* */
	SCAN_FROM = SCAN_ALL + 4,
	SCAN_BEYOND = SCAN_FROM + 4, /* excludes the first key */
	STATEMENTS = SCAN_BEYOND + 4
};

/** A table with its SQL text. */
struct table {
	const struct nb_table *of;
	char *definition;
	char *texts[STATEMENTS]; /* NULL: no such statement */
	bool is_plain_key;       /* a key is a single column of bytes */
	bool is_plain_value;     /* likewise */
};

struct nb_db {
	const struct nb_host *host;
	sqlite3 *base;
	const struct nb_option_value *options;
	enum journal journal;
	uint64_t cache_bytes; /* of each session; 0: SQLite's default */
	const char *synchronous;
	bool is_read_only;
	uint64_t busy_waits;       /* atomic, like `counts` */
	uint64_t counts[COUNTERS]; /* totals of all sessions, as last published */
	struct table tables[SQL_TABLES_MAX];
	uint32_t table_count;
	uint32_t by_prefix[SQL_TABLES_MAX]; /* table numbers in key order */
	char path[FILE_PATH_SIZE];
};

enum journal
database_journal(const struct nb_option_value *values);

/**
 * Make the SQL text of the job's tables and, with `is_to_create`, the tables. A table that
 * is missing or has other columns is a failure. Call schema_free() even after a failure.
 */
int
schema_open(struct nb_db *db, const struct nb_open_args *args, bool is_to_create);

void
schema_free(struct nb_db *db);

/** Count the rows of a table. */
int
schema_count(struct nb_db *db, uint32_t table, uint64_t *rows);

/** Fail with SQLite's error text. */
int
database_failure(const struct nb_host *host, sqlite3 *base, const char *call, int error);

/** Whether the error means that a lock was not granted. */
bool
database_is_locked(int error);

/** Open a connection with SQLite's `flags`. A failed one needs no close. */
int
database_connect(sqlite3 **out, struct nb_db *db, int flags, const char *synchronous);

#endif /* SQLITE_DATABASE_H */
