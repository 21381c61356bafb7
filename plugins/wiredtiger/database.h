/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIREDTIGER_DATABASE_H
#define WIREDTIGER_DATABASE_H
/**
 * A database as a whole: options, opening, closing, settling and counters. wiredtiger.c
 * reads and writes records.
 */
#include "../common/database.h"

#include <wiredtiger.h>

/** Size of kept messages and lists. */
enum { TEXT_SIZE = 512 };

/* Options without a default belong to the table, which keeps them from its creation. */
#define OPTIONS(X) \
	X(TYPE, CHOICE, "type", NULL, "btree|lsm", "type of a new table; not given: a B-tree") \
	X(COMPRESSION, CHOICE, "compression", NULL, "none|snappy|zlib", \
		"of the blocks of a new table; not given: none") \
	X(LEAF_PAGE_MAX, BYTES, "leaf_page_max", NULL, 4 << 10, 512 << 20, \
		"size of a leaf on disk, before compression; not given: 32KiB") \
	X(INTERNAL_PAGE_MAX, BYTES, "internal_page_max", NULL, 4 << 10, 512 << 20, \
		"size of an inner page on disk; not given: 4KiB") \
	X(MEMORY_PAGE_MAX, BYTES, "memory_page_max", NULL, 4 << 10, 10ull << 40, \
		"size to which a page grows in memory; not given: 5MiB") \
	X(PREFIX_COMPRESSION, BOOL, "prefix_compression", NULL, \
		"omit the prefix shared with the previous key; not given: no") \
	X(LSM_CHUNK_SIZE, BYTES, "lsm_chunk_size", NULL, 512 << 10, 500 << 20, \
		"size at which a new tree is begun, with type=lsm; not given: 10MiB") \
	X(CHECKPOINT_INTERVAL, TIME, "checkpoint_interval", NULL, SECOND_NS, \
		100000ull * SECOND_NS, \
		"between checkpoints; not given: 1m at durability periodic, else none") \
	X(LOG_FILE_MAX, BYTES, "log_file_max", "100MiB", 100 << 10, 2ull << 30, \
		"size at which another log file is begun") \
	X(EVICTION_THREADS_MIN, U64, "eviction_threads_min", "1", "threads", 1, 20, \
		"threads that write out and drop pages of the cache, at least") \
	X(EVICTION_THREADS_MAX, U64, "eviction_threads_max", "8", "threads", 1, 20, \
		"the same, at most") \
	/* limited by eviction_target, which would lower it */ \
	X(EVICTION_DIRTY_TARGET, U64, "eviction_dirty_target", "5", "percent of the cache", 1, \
		80, "dirty data above which these threads write out") \
	/* limited by eviction_trigger, likewise */ \
	X(EVICTION_DIRTY_TRIGGER, U64, "eviction_dirty_trigger", "20", "percent of the cache", \
		1, 95, "dirty data above which sessions have to help them") \
	X(DIRECT_IO, BOOL, "direct_io", "no", "read and write the table past the page cache") \
	X(MMAP, BOOL, "mmap", "yes", "map the file of a table, and read from that")
enum { OPTIONS(OPTION_ID) };

/** Values of the option `type`. */
enum { BTREE, LSM };

extern const struct nb_option database_options[];

/** Values of nb_db.log. */
enum { LOG_OFF, LOG_ON, LOG_READ_ONLY };

struct nb_db {
	WT_EVENT_HANDLER handler; /* must be first: a handler is cast to its database */
	const struct nb_host *host;
	WT_CONNECTION *connection;
	WT_SESSION *session; /* of the database thread */
	WT_CURSOR *statistics;
	const char *uri; /* of the table */
	int log;         /* LOG_OFF, ... */
	void *extensions[2];
	char extension_list[TEXT_SIZE];
	pthread_mutex_t lock; /* protects is_broken and told */
	bool is_broken;       /* a write failed, so its close may never return */
	char told[TEXT_SIZE]; /* the first message of any thread */
};

/** The version of the loaded library. */
const char *
version(void);

/** Report a failed WiredTiger call. Returns the failure. */
int
database_failure(struct nb_db *db, const char *call, int error);

/** Inline: a success makes no call. */
static inline int
database_outcome(struct nb_db *db, const char *call, int error)
{
	return error == 0 ? NB_OK : database_failure(db, call, error);
}

/** Discard this thread's last message, which does not belong to a failure. */
void
database_message_drop(void);

#endif /* WIREDTIGER_DATABASE_H */
