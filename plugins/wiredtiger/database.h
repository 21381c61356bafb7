/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIREDTIGER_DATABASE_H
#define WIREDTIGER_DATABASE_H
/**
 * A database as a whole: what the options make of it, opening, closing, settling and
 * counters. wiredtiger.c reads and writes records.
 */
#include "../common/database.h"

#include <wiredtiger.h>

/** Of what is kept of messages and lists. */
enum { TEXT_SIZE = 512 };

/** Options, in the order of the table. */
enum {
	TYPE,
	COMPRESSION,
	LEAF_PAGE_MAX,
	INTERNAL_PAGE_MAX,
	MEMORY_PAGE_MAX,
	PREFIX_COMPRESSION,
	LSM_CHUNK_SIZE,
	CHECKPOINT_INTERVAL,
	LOG_FILE_MAX,
	EVICTION_THREADS_MIN,
	EVICTION_THREADS_MAX,
	EVICTION_DIRTY_TARGET,
	EVICTION_DIRTY_TRIGGER,
	DIRECT_IO,
	MMAP
};

/** Of the option `type`. */
enum { BTREE, LSM };

extern const struct nb_option database_options[];

/** nb_db.log */
enum { LOG_OFF, LOG_ON, LOG_READ_ONLY };

struct nb_db {
	WT_EVENT_HANDLER handler; /* first, so that a handler is its database */
	const struct nb_host *host;
	WT_CONNECTION *connection;
	WT_SESSION *session; /* of the thread of the database */
	WT_CURSOR *statistics;
	const char *uri; /* of the table */
	int log;         /* LOG_OFF, ... */
	void *extensions[2];
	char extension_list[TEXT_SIZE];
	pthread_mutex_t lock; /* of the two below */
	bool is_broken;       /* a write has failed, so that its close may never return */
	char told[TEXT_SIZE]; /* the first message of any thread */
};

/** The version of the library that is loaded. */
const char *
version(void);

/** The failure of a call of WiredTiger. */
int
database_failure(struct nb_db *db, const char *call, int error);

/** Inline: a success calls nothing. */
static inline int
database_outcome(struct nb_db *db, const char *call, int error)
{
	return error == 0 ? NB_OK : database_failure(db, call, error);
}

/** Drop the last message of this thread, which is not of a failure. */
void
database_message_drop(void);

#endif /* WIREDTIGER_DATABASE_H */
