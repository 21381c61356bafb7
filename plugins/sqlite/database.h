/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SQLITE_DATABASE_H
#define SQLITE_DATABASE_H
/**
 * A database as a whole and the connections to it: what the options make of them,
 * opening, closing and writing out. sqlite.c reads and writes records.
 */
#include "../common/database.h"

#include <sqlite3.h>

/** In the order of the choices of the option `journal`. */
enum journal { WAL, DELETE, TRUNCATE, PERSIST, MEMORY, OFF };

extern const char *const database_journals[];

extern const struct nb_option database_options[];

enum {
	FILE_PATH_SIZE = 4096,
	COUNTERS = 4 /* of a connection */
};

struct nb_db {
	const struct nb_host *host;
	sqlite3 *base;
	const struct nb_option_value *options;
	enum journal journal;
	uint64_t cache_bytes; /* of each session; 0: SQLite's default */
	const char *synchronous;
	bool is_read_only;
	uint64_t busy_waits;       /* atomic, as the next ones */
	uint64_t counts[COUNTERS]; /* of all sessions, as of when they were last published */
	char path[FILE_PATH_SIZE];
};

enum journal
database_journal(const struct nb_option_value *values);

/** A failure of SQLite's, in its words. */
int
database_failure(const struct nb_host *host, sqlite3 *base, const char *call, int error);

/** The error is that a lock was not given. */
bool
database_is_locked(int error);

/** A connection, with SQLite's flags for it. If it fails there is nothing to close. */
int
database_connect(sqlite3 **out, struct nb_db *db, int flags, const char *synchronous);

#endif /* SQLITE_DATABASE_H */
