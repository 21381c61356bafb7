/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening, settling and closing a RocksDB database.
 *
 * - write(2) adds each write to the log before it is acknowledged: sync=0 is durability
 *   'process', sync=1 (fdatasync of the log) 'commit', disableWAL 'none'.
 * - The fast multi_get needs a handle of the column family. This API returns it only if the
 *   database is opened with a list of families.
 * - With assertions, as in Debian's library, a failed write to the file LOG ends the
 *   process. So LOG is kept short, and open first checks for a full disk.
 * - rocksdb_compact_range() returns nothing and does not wait for the compactions that its
 *   own output requires. So flush waits for them with properties. It also checks the number
 *   of background errors.
 * - rocksdb_close() cannot fail. With the log off it writes the memtable, so the plugin
 *   flushes before and gets the error.
 */
#include "database.h"

#include <sys/resource.h>
#include <time.h>

enum {
	POLL_NS = 1000000, /* interval of checks for background work */
	STUCK_POLLS =
		30000, /* after so many checks, pending work that has not begun never will */
	OPEN_BYTES = 256 << 10 /* LOG, OPTIONS and MANIFEST of an open, with a margin */
};

/*
 * InfoLogLevel of env.h. The second is the highest; only an open writes at this level. With
 * a higher number RocksDB cannot write its file OPTIONS, and leaves a partial one.
 */
enum { LOG_LEVEL_INFO = 1, LOG_LEVEL_HEADER = 5 };

static const int compressions[] = {rocksdb_no_compression, rocksdb_snappy_compression,
	rocksdb_zlib_compression, rocksdb_lz4_compression, rocksdb_zstd_compression};
static const int compactions[] = {rocksdb_level_compaction, rocksdb_universal_compaction};

const struct nb_option database_options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

/* --- settings --- */

/* Reject values that RocksDB would silently change or ignore. */
static int
check(const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	const struct nb_host *host = args->host;
	struct rlimit files;
	if (args->durability != NB_DUR_NONE && args->durability != NB_DUR_PROCESS &&
		args->durability != NB_DUR_COMMIT)
		return host->fail(NB_UNSUPPORTED, "durability must be none, process or commit");
	if (value[DYNAMIC_LEVEL_BYTES].u64 != 0 && value[COMPACTION].u64 != 0)
		return host->fail(NB_UNSUPPORTED,
			"level_compaction_dynamic_level_bytes needs compaction_style=level");
	if (value[TRANSACTIONS].u64 != NO_TRANSACTIONS && value[WRITE_MODE].u64 == UNORDERED)
		return host->fail(NB_UNSUPPORTED,
			"transactions need snapshots, which write_mode=unordered does not provide");
	if ((args->flags & NB_OPEN_READ_ONLY) == 0 && disk_room(args->path, "") < OPEN_BYTES)
		return host->fail(NB_FAIL, "no space left on device");
	if (value[MAX_OPEN_FILES].is_set != 0 && getrlimit(RLIMIT_NOFILE, &files) == 0 &&
		value[MAX_OPEN_FILES].u64 > files.rlim_cur)
		return host->fail(NB_UNSUPPORTED,
			"max_open_files is more than the %llu that the system allows (ulimit -n)",
			(unsigned long long)files.rlim_cur);
	return NB_OK;
}

/* The options keep references to these objects until the database is closed. */
static void
table_settings(rocksdb_options_t *to, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
	rocksdb_block_based_options_set_block_size(table, value[BLOCK_SIZE].u64);
	rocksdb_block_based_options_set_cache_index_and_filter_blocks(
		table, (unsigned char)value[CACHE_INDEX_AND_FILTER].u64);
	if (value[BLOOM_BITS].u64 != 0)
		rocksdb_block_based_options_set_filter_policy(table,
			rocksdb_filterpolicy_create_bloom_full((double)value[BLOOM_BITS].u64));
	if (args->cache_bytes != 0) {
		rocksdb_cache_t *cache = rocksdb_cache_create_lru(args->cache_bytes);
		rocksdb_block_based_options_set_block_cache(table, cache);
		rocksdb_cache_destroy(cache);
	}
	rocksdb_options_set_block_based_table_factory(to, table);
	rocksdb_block_based_options_destroy(table);
}

/* --- merges --- */

/* Returns a copy from malloc(). RocksDB reads the size even with NULL, which is a failure. */
static char *
merged(const void *data, size_t size, unsigned char *is_done, size_t *merged_size)
{
	char *value = malloc(size + 1);
	*is_done = value != NULL;
	*merged_size = value != NULL ? size : 0;
	return value != NULL && size != 0 ? memcpy(value, data, size) : value;
}

/* Operands come from merge, so they have 8 bytes. */
static char *
add_up(uint64_t sum, const char *const *operands, int count, unsigned char *is_done,
	size_t *size)
{
	uint64_t operand;
	for (int i = 0; i < count; i++) {
		memcpy(&operand, operands[i], sizeof(operand));
		sum += operand;
	}
	return merged(&sum, sizeof(sum), is_done, size);
}

/*
 * A value that does not have 8 bytes is kept, with a warning. The verb merge reads nothing,
 * and a failing operator would leave a database that neither flushes nor opens. RocksDB's
 * uint64add treats such a value as 0.
 */
static char *
full_merge(void *state, const char *key, size_t key_size, const char *existing,
	size_t existing_size, const char *const *operands, const size_t *sizes, int count,
	unsigned char *is_done, size_t *size)
{
	uint64_t before = 0;
	if (existing != NULL && existing_size != sizeof(before)) {
		((const struct nb_host *)state)
			->log(NB_LOG_WARNING,
				"rocksdb: merge: a value is not a counter of 8 bytes; its additions are dropped");
		return merged(existing, existing_size, is_done, size);
	}
	if (existing != NULL)
		memcpy(&before, existing, sizeof(before));
	return add_up(before, operands, count, is_done, size);
}

static char *
partial_merge(void *state, const char *key, size_t key_size, const char *const *operands,
	const size_t *sizes, int count, unsigned char *is_done, size_t *size)
{
	return add_up(0, operands, count, is_done, size);
}

static void
merge_destroy(void *state)
{
}

static const char *
merge_name(void *state)
{
	return "mininb.add_u64";
}

static void
settings_create(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	rocksdb_options_t *to = db->options = rocksdb_options_create();
	rocksdb_options_set_create_if_missing(to, (args->flags & NB_OPEN_CREATE) != 0);
	rocksdb_options_set_write_buffer_size(to, value[WRITE_BUFFER_SIZE].u64);
	rocksdb_options_set_max_write_buffer_number(
		to, (int)value[MAX_WRITE_BUFFER_NUMBER].u64);
	rocksdb_options_set_level0_file_num_compaction_trigger(
		to, (int)value[LEVEL0_TRIGGER].u64);
	rocksdb_options_set_target_file_size_base(to, value[TARGET_FILE_SIZE_BASE].u64);
	rocksdb_options_set_max_bytes_for_level_base(to, value[MAX_BYTES_FOR_LEVEL_BASE].u64);
	rocksdb_options_set_compaction_style(to, compactions[value[COMPACTION].u64]);
	rocksdb_options_set_level_compaction_dynamic_level_bytes(
		to, (unsigned char)value[DYNAMIC_LEVEL_BYTES].u64);
	rocksdb_options_set_compression(to, compressions[value[COMPRESSION].u64]);
	if (value[MAX_OPEN_FILES].is_set != 0)
		rocksdb_options_set_max_open_files(to, (int)value[MAX_OPEN_FILES].u64);
	rocksdb_options_set_max_background_jobs(to, (int)value[MAX_BACKGROUND_JOBS].u64);
	rocksdb_options_set_max_subcompactions(to, (uint32_t)value[MAX_SUBCOMPACTIONS].u64);
	rocksdb_options_set_enable_pipelined_write(to, value[WRITE_MODE].u64 == PIPELINED);
	rocksdb_options_set_unordered_write(to, value[WRITE_MODE].u64 == UNORDERED);
	rocksdb_options_set_allow_mmap_reads(to, (unsigned char)value[MMAP_READS].u64);
	rocksdb_options_set_use_direct_reads(to, (unsigned char)value[DIRECT_READS].u64);
	rocksdb_options_set_use_direct_io_for_flush_and_compaction(
		to, (unsigned char)value[DIRECT_WRITES].u64);
	rocksdb_options_set_info_log_level(
		to, value[INFO_LOG].u64 != 0 ? LOG_LEVEL_INFO : LOG_LEVEL_HEADER);
	db->has_statistics = value[STATISTICS].u64 != 0;
	if (db->has_statistics)
		rocksdb_options_enable_statistics(to);
	table_settings(to, args);
	rocksdb_options_set_merge_operator(to,
		rocksdb_mergeoperator_create((void *)(uintptr_t)db->host, merge_destroy,
			full_merge, partial_merge, NULL, merge_name));

	db->read_options = rocksdb_readoptions_create();
	rocksdb_readoptions_set_verify_checksums(
		db->read_options, (unsigned char)value[VERIFY_CHECKSUMS].u64);
	rocksdb_readoptions_set_fill_cache(
		db->read_options, (unsigned char)value[FILL_CACHE].u64);

	db->is_unlogged = args->durability == NB_DUR_NONE;
	db->write_options = rocksdb_writeoptions_create();
	rocksdb_writeoptions_set_sync(db->write_options, args->durability == NB_DUR_COMMIT);
	rocksdb_writeoptions_disable_WAL(db->write_options, db->is_unlogged);

	db->flush_options = rocksdb_flushoptions_create();
	rocksdb_flushoptions_set_wait(db->flush_options, 1);
	db->txn_options = rocksdb_optimistictransaction_options_create();
	rocksdb_optimistictransaction_options_set_set_snapshot(db->txn_options, 1);
	db->lock_options = rocksdb_transaction_options_create();
	rocksdb_transaction_options_set_set_snapshot(db->lock_options, 1);
	rocksdb_transaction_options_set_deadlock_detect(db->lock_options, 1);
}

static void
settings_destroy(struct nb_db *db)
{
	rocksdb_transaction_options_destroy(db->lock_options);
	rocksdb_optimistictransaction_options_destroy(db->txn_options);
	rocksdb_flushoptions_destroy(db->flush_options);
	rocksdb_writeoptions_destroy(db->write_options);
	rocksdb_readoptions_destroy(db->read_options);
	rocksdb_options_destroy(db->options);
}

/* --- open and close --- */

/* Set db->base and the related handles, or return the error. */
static char *
base_open(struct nb_db *db, const struct nb_open_args *args)
{
	const char *const names[] = {"default"};
	const rocksdb_options_t *const families[] = {db->options};
	uint64_t transactions = args->options[TRANSACTIONS].u64;
	char *error = NULL;
	db->is_read_only = transactions == NO_TRANSACTIONS &&
		(args->flags & NB_OPEN_READ_ONLY) != 0;
	if (transactions == PESSIMISTIC) {
		rocksdb_transactiondb_options_t *locks = rocksdb_transactiondb_options_create();
		db->pessimistic = rocksdb_transactiondb_open_column_families(db->options, locks,
			args->path, 1, names, families, &db->family, &error);
		rocksdb_transactiondb_options_destroy(locks);
	} else if (transactions == OPTIMISTIC) {
		db->optimistic = rocksdb_optimistictransactiondb_open_column_families(
			db->options, args->path, 1, names, families, &db->family, &error);
		if (error == NULL)
			db->base = rocksdb_optimistictransactiondb_get_base_db(db->optimistic);
	} else if (db->is_read_only) {
		db->base = rocksdb_open_for_read_only_column_families(
			db->options, args->path, 1, names, families, &db->family, 0, &error);
	} else {
		db->base = rocksdb_open_column_families(
			db->options, args->path, 1, names, families, &db->family, &error);
	}
	return error;
}

int
database_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	int rc = check(args);
	if (rc != NB_OK)
		return rc;
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	db->host = host;
	db->inflight_ops = args->inflight_ops;
	db->inflight_bytes = args->inflight_bytes;
	settings_create(db, args);
	char *error = base_open(db, args);
	if (error != NULL) {
		settings_destroy(db);
		free(db);
		return lsm_open_failure(host, error);
	}
	*out = db;
	return NB_OK;
}

static int
write_out(struct nb_db *db)
{
	char *error = NULL;
	if (db->pessimistic != NULL)
		rocksdb_transactiondb_flush(db->pessimistic, db->flush_options, &error);
	else
		rocksdb_flush(db->base, db->flush_options, &error);
	return lsm_outcome(db->host, "rocksdb_flush", error);
}

int
database_close(struct nb_db *db)
{
	int rc = db->is_unlogged && !db->is_read_only ? write_out(db) : NB_OK;
	rocksdb_column_family_handle_destroy(db->family);
	if (db->pessimistic != NULL) {
		rocksdb_transactiondb_close(db->pessimistic);
	} else if (db->optimistic != NULL) {
		rocksdb_optimistictransactiondb_close_base_db(db->base); /* only the handle */
		rocksdb_optimistictransactiondb_close(db->optimistic);
	} else {
		rocksdb_close(db->base);
	}
	settings_destroy(db);
	free(db);
	return rc;
}

/* --- settling --- */

static uint64_t
property(struct nb_db *db, const char *name)
{
	uint64_t value;
	int error = db->pessimistic != NULL
		? rocksdb_transactiondb_property_int(db->pessimistic, name, &value)
		: rocksdb_property_int(db->base, name, &value);
	return error == 0 ? value : 0;
}

static bool
is_any_set(struct nb_db *db, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (property(db, names[i]) != 0)
			return true;
	return false;
}

/* Wait until no work is pending or running, or until pending work will clearly not begin. */
static int
wait_for_background(struct nb_db *db, uint64_t errors_before)
{
	static const char *const due[] = {
		"rocksdb.mem-table-flush-pending", "rocksdb.compaction-pending"};
	static const char *const running[] = {
		"rocksdb.num-running-flushes", "rocksdb.num-running-compactions"};
	const struct timespec pause = {.tv_nsec = POLL_NS};
	for (int idle = 0; idle < STUCK_POLLS; nanosleep(&pause, NULL)) {
		uint64_t errors = property(db, "rocksdb.background-errors") - errors_before;
		if (errors != 0)
			return db->host->fail(NB_FAIL,
				"rocksdb_compact_range: failed in the background; with info_log=yes the file LOG gives the reason");
		if (is_any_set(db, running, COUNT_OF(running)))
			idle = 0;
		else if (is_any_set(db, due, COUNT_OF(due)))
			idle++;
		else
			return NB_OK;
	}
	return db->host->fail(
		NB_FAIL, "rocksdb_compact_range: a compaction is due, but RocksDB begins none");
}

int
database_flush(struct nb_db *db, uint32_t upto)
{
	uint64_t errors = property(db, "rocksdb.background-errors");
	if (upto == NB_SETTLE_COMPACT && db->pessimistic != NULL)
		return db->host->fail(NB_UNSUPPORTED,
			"transactions=pessimistic: the C API of RocksDB cannot compact such a database");
	int rc = write_out(db);
	if (rc != NB_OK || upto == NB_SETTLE_FLUSH)
		return rc;
	rocksdb_compact_range(db->base, NULL, 0, NULL, 0);
	return wait_for_background(db, errors);
}

/* An open replays the log, so the log must be emptied. */
int
database_checkpoint(struct nb_db *db)
{
	return database_flush(db, NB_SETTLE_FLUSH);
}

/* --- counters --- */

static const struct {
	const char *property, *name, *unit;
	uint32_t kind;
} numbers[] = {
	{"rocksdb.cur-size-all-mem-tables", "memtables", "bytes", NB_STAT_GAUGE},
	{"rocksdb.num-immutable-mem-table", "memtables_full", "memtables", NB_STAT_GAUGE},
	{"rocksdb.block-cache-usage", "block_cache", "bytes", NB_STAT_GAUGE},
	{"rocksdb.block-cache-pinned-usage", "block_cache_pinned", "bytes", NB_STAT_GAUGE},
	{"rocksdb.estimate-table-readers-mem", "table_readers", "bytes", NB_STAT_GAUGE},
	{"rocksdb.live-sst-files-size", "tables_size", "bytes", NB_STAT_GAUGE},
	{"rocksdb.total-sst-files-size", "tables_and_garbage", "bytes", NB_STAT_GAUGE},
	{"rocksdb.estimate-num-keys", "records_estimated", "records", NB_STAT_GAUGE},
	{"rocksdb.estimate-pending-compaction-bytes", "compaction_due", "bytes", NB_STAT_GAUGE},
	{"rocksdb.num-running-flushes", "flushes_running", "flushes", NB_STAT_GAUGE},
	{"rocksdb.num-running-compactions", "compactions_running", "compactions",
		NB_STAT_GAUGE},
	{"rocksdb.actual-delayed-write-rate", "delayed_write_rate", "bytes per second",
		NB_STAT_GAUGE},
	{"rocksdb.is-write-stopped", "write_stopped", "yes or no", NB_STAT_GAUGE},
	{"rocksdb.background-errors", "background_errors", "errors", NB_STAT_COUNTER},
};

static const char *
ticker_unit(const char *name)
{
	return strstr(name, "byte") != NULL      ? "bytes"
		: strstr(name, "micros") != NULL ? "us"
		: strstr(name, "nanos") != NULL  ? "ns"
						 : "times";
}

/* Parse lines "rocksdb.block.cache.miss COUNT : 17" and skip histograms. */
static void
emit_statistics(struct nb_db *db, nb_stat_emit emit, void *to)
{
	static const char prefix[] = "rocksdb.";
	char *text = rocksdb_options_statistics_get_string(db->options);
	char *rest = NULL;
	char *line = text == NULL ? NULL : strtok_r(text, "\n", &rest);
	for (; line != NULL; line = strtok_r(NULL, "\n", &rest)) {
		char *end = strchr(line, ' ');
		if (end == NULL || strncmp(line, prefix, strlen(prefix)) != 0 ||
			strncmp(end, " COUNT : ", 9) != 0)
			continue;
		*end = '\0';
		emit(to, line + strlen(prefix), ticker_unit(line), NB_STAT_COUNTER,
			strtoull(end + 9, NULL, 10));
	}
	rocksdb_free(text);
}

static char *
property_text(struct nb_db *db, const char *name)
{
	return db->pessimistic != NULL
		? rocksdb_transactiondb_property_value(db->pessimistic, name)
		: rocksdb_property_value(db->base, name);
}

void
database_stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		emit(to, numbers[i].name, numbers[i].unit, numbers[i].kind,
			property(db, numbers[i].property));
	lsm_emit_levels(db, property_text, emit, to);
	if (db->has_statistics)
		emit_statistics(db, emit, to);
}
