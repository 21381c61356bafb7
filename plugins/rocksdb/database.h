/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef ROCKSDB_DATABASE_H
#define ROCKSDB_DATABASE_H
/**
 * A database as a whole: options, opening, closing, settling and counters. rocksdb.c reads
 * and writes records.
 */
#include <rocksdb/c.h>

#define LSM_NAME rocksdb
#define LSM(name) rocksdb_##name
#include "../common/database.h"
#include "../common/lsm.h"

/*
 * RocksDB silently moves some values into a range (SanitizeOptions in column_family.cc and
 * db_impl_open.cc). min and max are within that range, so that such values are rejected.
 */
#define OPTIONS(X) \
	X(WRITE_BUFFER_SIZE, BYTES, "write_buffer_size", "64MiB", 64 << 10, 64ull << 30, \
		"size at which a memtable is written out") \
	X(MAX_WRITE_BUFFER_NUMBER, U64, "max_write_buffer_number", "2", "memtables", 2, \
		INT_MAX, "memtables in memory before writes have to wait") \
	/* limited by level0_slowdown_writes_trigger, which would be raised to it */ \
	X(LEVEL0_TRIGGER, U64, "level0_file_num_compaction_trigger", "4", "files", 1, 20, \
		"tables of level 0, or sorted runs, that begin a compaction") \
	X(TARGET_FILE_SIZE_BASE, BYTES, "target_file_size_base", "64MiB", 64 << 10, \
		1ull << 40, "size at which a compaction begins another table") \
	X(MAX_BYTES_FOR_LEVEL_BASE, BYTES, "max_bytes_for_level_base", "256MiB", 64 << 10, \
		1ull << 50, "size of level 1; each further one is ten times as large") \
	X(COMPACTION, CHOICE, "compaction_style", "level", "level|universal", \
		"how sorted runs are merged") \
	X(DYNAMIC_LEVEL_BYTES, BOOL, "level_compaction_dynamic_level_bytes", "no", \
		"sizes of levels follow from that of the last; compaction_style=level") \
	X(COMPRESSION, CHOICE, "compression", "snappy", "none|snappy|zlib|lz4|zstd", \
		"of blocks that shrink by an eighth or more") \
	X(BLOCK_SIZE, BYTES, "block_size", "4KiB", 256, 1 << 30, \
		"data of one block, before compression") \
	X(BLOOM_BITS, U64, "bloom_bits", "0", "bits per key", 0, 100, \
		"Bloom filter of each table; 0: none") \
	X(CACHE_INDEX_AND_FILTER, BOOL, "cache_index_and_filter_blocks", "no", \
		"keep indexes and filters in the block cache, not beside it") \
	X(MAX_OPEN_FILES, U64, "max_open_files", NULL, "files", 20, 4 << 20, \
		"files kept open, the system's limit at most; not given: all") \
	/* at least one of each kind exists */ \
	X(MAX_BACKGROUND_JOBS, U64, "max_background_jobs", "2", "threads", 2, 256, \
		"flushes, a quarter of them, and compactions at once") \
	X(MAX_SUBCOMPACTIONS, U64, "max_subcompactions", "1", "threads", 1, 256, \
		"parts of one compaction at once") \
	X(WRITE_MODE, CHOICE, "write_mode", "ordered", "ordered|pipelined|unordered", \
		"how sessions' writes wait for each other; unordered: no snapshots") \
	X(MMAP_READS, BOOL, "mmap_reads", "no", "read tables through mmap(2)") \
	X(DIRECT_READS, BOOL, "direct_reads", "no", "read tables past the page cache") \
	X(DIRECT_WRITES, BOOL, "direct_writes", "no", "flush and compact past the page cache") \
	X(VERIFY_CHECKSUMS, BOOL, "verify_checksums", "yes", \
		"check the checksum of each block that is read") \
	X(FILL_CACHE, BOOL, "fill_cache", "yes", \
		"keep blocks that were read in the block cache") \
	X(INFO_LOG, BOOL, "info_log", "no", \
		"log RocksDB's events to its file LOG, not only its options") \
	X(STATISTICS, BOOL, "statistics", "no", \
		"report the statistics of RocksDB as counters; costs some speed") \
	X(TRANSACTIONS, CHOICE, "transactions", "none", "none|optimistic|pessimistic", \
		"conflicts: checked at the commit, or keys locked by each write")
enum { OPTIONS(OPTION_ID) };

/** Values of the option `write_mode`. */
enum { ORDERED, PIPELINED, UNORDERED };

/** Values of the option `transactions`. */
enum { NO_TRANSACTIONS, OPTIMISTIC, PESSIMISTIC };

extern const struct nb_option database_options[];

struct nb_db {
	const struct nb_host *host;
	rocksdb_t *base; /* NULL if pessimistic: this API does not return the plain database */
	rocksdb_optimistictransactiondb_t *optimistic; /* NULL: not used */
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
