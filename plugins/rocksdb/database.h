/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROCKSDB_DATABASE_H
#define ROCKSDB_DATABASE_H
/**
 * A database as a whole: what the options make of it, opening, closing, settling and
 * counters. rocksdb.c reads and writes records.
 */
#include <rocksdb/c.h>

#define LSM_NAME rocksdb
#define LSM(name) rocksdb_##name
#include "../common/database.h"
#include "../common/lsm.h"

/** Options, in the order of the table. */
enum {
	WRITE_BUFFER_SIZE,
	MAX_WRITE_BUFFER_NUMBER,
	LEVEL0_TRIGGER,
	TARGET_FILE_SIZE_BASE,
	MAX_BYTES_FOR_LEVEL_BASE,
	COMPACTION,
	DYNAMIC_LEVEL_BYTES,
	COMPRESSION,
	BLOCK_SIZE,
	BLOOM_BITS,
	CACHE_INDEX_AND_FILTER,
	MAX_OPEN_FILES,
	MAX_BACKGROUND_JOBS,
	MAX_SUBCOMPACTIONS,
	WRITE_MODE,
	MMAP_READS,
	DIRECT_READS,
	DIRECT_WRITES,
	VERIFY_CHECKSUMS,
	FILL_CACHE,
	INFO_LOG,
	STATISTICS,
	TRANSACTIONS
};

/** Of the option `write_mode`. */
enum { ORDERED, PIPELINED, UNORDERED };

/** Of the option `transactions`. */
enum { NO_TRANSACTIONS, OPTIMISTIC, PESSIMISTIC };

extern const struct nb_option database_options[];

struct nb_db {
	const struct nb_host *host;
	rocksdb_t
		*base; /* NULL: pessimistic, whose plain database this API does not hand out */
	rocksdb_optimistictransactiondb_t *optimistic; /* NULL: is not */
	rocksdb_transactiondb_t *pessimistic;          /* likewise */
	rocksdb_column_family_handle_t *family;        /* the only one */
	rocksdb_options_t *options;
	rocksdb_readoptions_t *read_options;
	rocksdb_writeoptions_t *write_options;
	rocksdb_flushoptions_t *flush_options;
	rocksdb_optimistictransaction_options_t *txn_options;
	rocksdb_transaction_options_t *lock_options; /* of a pessimistic transaction */
	uint64_t inflight_bytes;
	uint32_t inflight_ops;
	bool is_unlogged; /* durability 'none' */
	bool is_read_only;
	bool has_statistics;
};

#endif /* ROCKSDB_DATABASE_H */
