/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BERKELEYDB_ENVIRONMENT_H
#define BERKELEYDB_ENVIRONMENT_H
/**
 * An environment with its only database: options, opening, closing and flushing.
 * berkeleydb.c reads and writes records.
 */
#include "../common/database.h"

#include <db.h>

/** Values of the option `type`. */
enum { BTREE, HASH };

/** Values of the option `product`. */
enum { TDS, CDS, DS };

#define OPTIONS(X) \
	X(TYPE, CHOICE, "type", "btree", "btree|hash", "access method; hash: not ordered") \
	X(PRODUCT, CHOICE, "product", "tds", "tds|cds|ds", \
		"transactions; one writer and many readers; one thread, no locks") \
	X(SNAPSHOT, BOOL, "snapshot", "no", \
		"scans and transactions read one version (DB_MULTIVERSION; tds)") \
	X(PAGE_SIZE, BYTES, "page_size", NULL, 512, 64 << 10, \
		"a power of two; by default the file system's block; above 4KiB durability is none") \
	X(CHECKSUM, BOOL, "checksum", "no", \
		"write and check a checksum of each page (DB_CHKSUM)") \
	X(LOG_BUFFER, BYTES, "log_buffer", NULL, 4 << 10, 1 << 30, \
		"log kept in memory between writes (tds); default 32000 bytes") \
	X(LOG_FILE, BYTES, "log_file", NULL, 64 << 10, 4000ull << 20, \
		"size of one file of the log, 4 x log_buffer or more (tds); 10MiB") \
	X(CHECKPOINT, BYTES, "checkpoint", "64MiB", 0, 1ull << 40, \
		"log after which a write makes a checkpoint (tds); 0: none until close") \
	X(DEADLOCK, CHOICE, "deadlock", "random", "random|oldest|youngest|minlocks|minwrite", \
		"which transaction a deadlock aborts (tds)") \
	X(DIRECT, BOOL, "direct", "no", \
		"do not buffer records in the page cache (DB_DIRECT_DB)") \
	X(SHARED, BOOL, "shared", "no", \
		"several processes may have it open: regions in mapped files (tds)")
enum { OPTIONS(OPTION_ID) };

extern const struct nb_option environment_options[];

#define RECORDS_FILE "records.db"

/**
 * The largest page that a kill leaves whole: SIGKILL ends a write(2) between pages of the
 * page cache. Recovery trusts the header of a larger page that is half old and half new, so
 * such pages only allow durability 'none'.
 */
enum { WHOLE_PAGE = 4096 };

struct nb_db {
	const struct nb_host *host;
	const struct nb_engine *table; /* the engine's table for its options */
	DB_ENV *env;
	DB *base;
	char *path;
	int lock_fd; /* of the directory; -1: it cannot be locked */
	int gate_fd; /* see sharing.c; -1: not shared */
	uint32_t product;
	bool is_shared;
	bool is_alone; /* valid while opening or closing */
	bool is_ordered;
	bool has_snapshots;
	uint32_t checkpoint_kib; /* 0: writes make no checkpoints */
	int is_checkpointing;    /* a session makes a checkpoint; atomic */
};

/** Fail with the engine's text, and with the cause from its messages on this thread. */
int
environment_failure(const struct nb_host *host, const char *call, int error);

/** Write everything durably to the files. `flags`: of DB_ENV->txn_checkpoint. */
int
environment_write_out(struct nb_db *db, uint32_t flags);

#endif /* BERKELEYDB_ENVIRONMENT_H */
