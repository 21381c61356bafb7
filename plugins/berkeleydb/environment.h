/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BERKELEYDB_ENVIRONMENT_H
#define BERKELEYDB_ENVIRONMENT_H
/**
 * An environment with its one database: what the options make of it, opening,
 * closing and writing out. berkeleydb.c reads and writes records.
 */
#include "../common/database.h"

#include <db.h>

/** Of the option `type`. */
enum { BTREE, HASH };

/** Of the option `product`. */
enum { TDS, CDS, DS };

/** Options, in the order of the table. */
enum {
	TYPE,
	PRODUCT,
	SNAPSHOT,
	PAGE_SIZE,
	CHECKSUM,
	LOG_BUFFER,
	LOG_FILE,
	CHECKPOINT,
	DEADLOCK,
	DIRECT,
	SHARED
};

extern const struct nb_option environment_options[];

#define RECORDS_FILE "records.db"

/**
 * The longest page that a kill leaves whole: SIGKILL ends a write(2) between pages of the
 * page cache. Recovery takes a longer one that is half old and half new for what its head
 * says, so with such there is durability 'none' only.
 */
enum { WHOLE_PAGE = 4096 };

struct nb_db {
	const struct nb_host *host;
	const struct nb_engine *table; /* of its options */
	DB_ENV *env;
	DB *base;
	char *path;
	int lock_fd; /* of the directory; -1: it cannot be locked */
	int gate_fd; /* see sharing.c; -1: not shared */
	uint32_t product;
	bool is_shared;
	bool is_alone; /* known while it is opened or closed */
	bool is_ordered;
	bool has_snapshots;
	uint32_t checkpoint_kib; /* 0: not by a write */
	int is_checkpointing;    /* a session is; atomic */
};

/** Fail with the engine's text, and what its messages on this thread say of the cause. */
int
environment_failure(const struct nb_host *host, const char *call, int error);

/** All that was written reaches the files, for good. `flags`: of DB_ENV->txn_checkpoint. */
int
environment_write_out(struct nb_db *db, uint32_t flags);

#endif /* BERKELEYDB_ENVIRONMENT_H */
