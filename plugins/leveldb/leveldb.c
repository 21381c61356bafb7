/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LevelDB through its C API.
 *
 * - write(2) adds each write to the log before it is acknowledged: sync=0 is durability
 *   'process', sync=1 (fdatasync of the log) 'commit'. The log cannot be turned off.
 * - leveldb_get() copies the value twice: into a std::string and into memory from malloc(),
 *   which release frees. The C API has no cheaper function.
 * - leveldb_compact_range() returns nothing and does not wait for the compactions that its
 *   own output requires. flush waits for them, and detects errors with an empty write, which
 *   fails after any background error.
 */
#include <leveldb/c.h>

#define LSM_NAME leveldb
#define LSM(name) leveldb_##name
#include "../common/lsm.h"

#include <time.h>

enum { LEVEL0_FILES_MAX = 4 };         /* kL0_CompactionTrigger */
#define LEVEL1_BYTES_MAX (10ull << 20) /* each further level: ten times as much */

/*
 * LevelDB documents no limits, and silently truncates lengths to 32 bits. With these limits
 * of mininb, any block of such records has a 32-bit size.
 */
#define KEY_SIZE_MAX (64ull << 20)
#define VALUE_SIZE_MAX (1ull << 30)

/*
 * LevelDB silently moves some values into a range (SanitizeOptions in db_impl.cc). min and
 * max are that range, so that such values are rejected.
 */
#define OPTIONS(X) \
	X(WRITE_BUFFER, BYTES, "write_buffer", "4MiB", 64 << 10, 1 << 30, \
		"size at which a memtable is written out; two are in memory") \
	X(BLOCK_SIZE, BYTES, "block_size", "4KiB", 1 << 10, 4 << 20, \
		"data of one block, before compression") \
	X(BLOCK_RESTART_INTERVAL, U64, "block_restart_interval", "16", "keys", 1, INT_MAX, \
		"keys of a block that share a prefix with the one before") \
	X(MAX_FILE_SIZE, BYTES, "max_file_size", "2MiB", 1 << 20, 1 << 30, \
		"size at which a compaction begins another table file") \
	X(MAX_OPEN_FILES, U64, "max_open_files", "1000", "files", 74, 50000, \
		"table files kept open, and ten") \
	X(COMPRESSION, CHOICE, "compression", "snappy", "none|snappy", \
		"of blocks that shrink by an eighth or more") \
	X(BLOOM_BITS, U64, "bloom_bits", "0", "bits per key", 0, 64, \
		"Bloom filter of each table; 0: none") \
	X(VERIFY_CHECKSUMS, BOOL, "verify_checksums", "no", \
		"check the checksum of each block that is read") \
	X(PARANOID_CHECKS, BOOL, "paranoid_checks", "no", \
		"fail, where else damaged log records would be passed over") \
	X(FILL_CACHE, BOOL, "fill_cache", "yes", \
		"keep blocks that were read in the block cache")

enum { OPTIONS(OPTION_ID) };
static const struct nb_option options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

static const struct nb_engine engine;

struct nb_db {
	const struct nb_host *host;
	leveldb_t *base;
	leveldb_options_t *options;
	leveldb_readoptions_t *read_options;
	leveldb_writeoptions_t *write_options;
	leveldb_cache_t *cache;         /* NULL: LevelDB's default of 8 MiB */
	leveldb_filterpolicy_t *filter; /* NULL: none */
};

struct nb_session {
	struct nb_db *db;
	char *loan; /* value of get, from LevelDB's malloc() */
	leveldb_writebatch_t *batch;
	struct lsm_scan scan;
};

static const char *
version(void)
{
	return version_text("%d.%d", leveldb_major_version(), leveldb_minor_version());
}

/* --- open and close --- */

static void
settings_create(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	leveldb_options_t *to = db->options = leveldb_options_create();
	leveldb_options_set_create_if_missing(to, (args->flags & NB_OPEN_CREATE) != 0);
	leveldb_options_set_paranoid_checks(to, (uint8_t)value[PARANOID_CHECKS].u64);
	leveldb_options_set_write_buffer_size(to, value[WRITE_BUFFER].u64);
	leveldb_options_set_block_size(to, value[BLOCK_SIZE].u64);
	leveldb_options_set_block_restart_interval(to, (int)value[BLOCK_RESTART_INTERVAL].u64);
	leveldb_options_set_max_file_size(to, value[MAX_FILE_SIZE].u64);
	leveldb_options_set_max_open_files(to, (int)value[MAX_OPEN_FILES].u64);
	leveldb_options_set_compression(to, (int)value[COMPRESSION].u64);
	if (value[BLOOM_BITS].u64 != 0) {
		db->filter = leveldb_filterpolicy_create_bloom((int)value[BLOOM_BITS].u64);
		leveldb_options_set_filter_policy(to, db->filter);
	}
	if (args->cache_bytes != 0) {
		db->cache = leveldb_cache_create_lru(args->cache_bytes);
		leveldb_options_set_cache(to, db->cache);
	}

	db->read_options = leveldb_readoptions_create();
	leveldb_readoptions_set_verify_checksums(
		db->read_options, (uint8_t)value[VERIFY_CHECKSUMS].u64);
	leveldb_readoptions_set_fill_cache(db->read_options, (uint8_t)value[FILL_CACHE].u64);

	db->write_options = leveldb_writeoptions_create();
	leveldb_writeoptions_set_sync(db->write_options, args->durability == NB_DUR_COMMIT);
}

/* Call it after closing the database, which uses the cache and the filter to the end. */
static void
settings_destroy(struct nb_db *db)
{
	leveldb_writeoptions_destroy(db->write_options);
	leveldb_readoptions_destroy(db->read_options);
	leveldb_options_destroy(db->options);
	if (db->cache != NULL)
		leveldb_cache_destroy(db->cache);
	if (db->filter != NULL)
		leveldb_filterpolicy_destroy(db->filter);
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	int rc = check_durability(args, &engine);
	if (rc != NB_OK)
		return rc;
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	db->host = host;
	settings_create(db, args);
	char *error = NULL;
	db->base = leveldb_open(db->options, args->path, &error);
	if (error != NULL) {
		settings_destroy(db);
		free(db);
		return lsm_open_failure(host, error);
	}
	*out = db;
	return NB_OK;
}

static int
db_close(struct nb_db *db)
{
	leveldb_close(db->base);
	settings_destroy(db);
	free(db);
	return NB_OK;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	int rc = SESSION_NEW(out, db);
	if (rc == NB_OK)
		(*out)->batch = leveldb_writebatch_create();
	return rc;
}

static int
session_close(struct nb_session *session)
{
	leveldb_writebatch_destroy(session->batch);
	free(session);
	return NB_OK;
}

/* --- records --- */

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_db *db = session->db;
	char *error = NULL;
	size_t size;
	char *data = leveldb_get(
		db->base, db->read_options, address(key), key.size, &size, &error);
	if (error != NULL)
		return lsm_outcome(db->host, "leveldb_get", error);
	if (data == NULL)
		return NB_NOT_FOUND; /* an empty value has a non-NULL address */
	session->loan = data;
	*value = (struct nb_slice){data, size};
	return NB_OK;
}

static void
release(struct nb_session *session)
{
	leveldb_free(session->loan);
	session->loan = NULL;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	struct nb_db *db = session->db;
	char *error = NULL;
	leveldb_put(db->base, db->write_options, address(key), key.size, address(value),
		value.size, &error);
	return lsm_outcome(db->host, "leveldb_put", error);
}

/* Writes a tombstone without checking whether the key exists. */
static int
del(struct nb_session *session, struct nb_slice key)
{
	struct nb_db *db = session->db;
	char *error = NULL;
	leveldb_delete(db->base, db->write_options, address(key), key.size, &error);
	return lsm_outcome(db->host, "leveldb_delete", error);
}

/* A batch is one log record, so it is always atomic. */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	struct nb_db *db = session->db;
	char *error = NULL;
	lsm_fill(session->batch, writes, count);
	leveldb_write(db->base, db->write_options, session->batch, &error);
	return lsm_outcome(db->host, "leveldb_write", error);
}

/* --- scans --- */

/* leveldb_iter_seek() finds the first key >= from; this needs the last key <= from. */
static void
seek_backward(leveldb_iterator_t *iterator, const char *from, size_t from_size)
{
	leveldb_iter_seek(iterator, from, from_size);
	if (!leveldb_iter_valid(iterator)) {
		leveldb_iter_seek_to_last(iterator);
		return;
	}
	size_t size;
	const char *key = leveldb_iter_key(iterator, &size);
	if (size != from_size || memcmp(key, from, size) != 0)
		leveldb_iter_prev(iterator);
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct nb_db *db = session->db;
	return lsm_scan_open(&session->scan,
		leveldb_create_iterator(db->base, db->read_options), args, seek_backward);
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	return lsm_scan_next(&session->scan, session->db->host, key, value);
}

static int
scan_close(struct nb_session *session)
{
	return lsm_scan_close(&session->scan, session->db->host);
}

/* --- operations on the whole database --- */

/* The outcome of a compaction. A write fails if background work has failed, even an empty one. */
static int
compaction_outcome(struct nb_db *db)
{
	leveldb_writebatch_t *nothing = leveldb_writebatch_create();
	char *error = NULL;
	leveldb_write(db->base, db->write_options, nothing, &error);
	leveldb_writebatch_destroy(nothing);
	return lsm_outcome(db->host, "leveldb_compact_range", error);
}

/*
 * Whether a level exceeds LevelDB's limit, according to the list of table files: a line "---
 * level 1 ---", then for each file a line " number:bytes['first' .. 'last']" with escaped
 * keys.
 */
static bool
is_compaction_due(struct nb_db *db)
{
	static const char heading[] = "--- level ";
	char *tables = leveldb_property_value(db->base, "leveldb.sstables");
	uint64_t files = 0;
	uint64_t bytes = 0;
	uint64_t bytes_max = 0;
	long level = 0;
	bool is_due = false;
	for (const char *line = tables; line != NULL && !is_due; line = strchr(line, '\n')) {
		char *end;
		line += *line == '\n';
		if (strncmp(line, heading, strlen(heading)) == 0) {
			level = strtol(line + strlen(heading), NULL, 10);
			bytes_max = level < 2 ? LEVEL1_BYTES_MAX : bytes_max * 10;
			files = bytes = 0;
		} else if (strtoull(line, &end, 10) != 0 && *end == ':') {
			files++;
			bytes += strtoull(end + 1, NULL, 10);
		}
		is_due = level == 0 ? files >= LEVEL0_FILES_MAX
				    : level < LSM_LEVELS - 1 && bytes >= bytes_max;
	}
	leveldb_free(tables);
	return is_due;
}

/* For any range, LevelDB first writes the memtable and waits for it. */
static int
compact(struct nb_db *db, const char *from, const char *to)
{
	leveldb_compact_range(db->base, from, 0, to, 0);
	return compaction_outcome(db);
}

static int
flush(struct nb_db *db, uint32_t upto)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	if (upto == NB_SETTLE_FLUSH)
		return compact(db, "", "");
	int rc = compact(db, NULL, NULL);
	while (rc == NB_OK && is_compaction_due(db)) {
		nanosleep(&pause, NULL);
		rc = compaction_outcome(db);
	}
	return rc;
}

/* An open replays the log, so the log must be emptied. */
CHECKPOINT_BY_FLUSH(flush)

/*
 * leveldb.stats is a table with a line for each level in use. Its figures are rounded to
 * whole units; the emitted values are their sums.
 */
static void
emit_compactions(struct nb_db *db, nb_stat_emit emit, void *to)
{
	static const char heading[] = "Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n";
	static const struct {
		const char *name, *unit;
		uint32_t kind;
	} columns[] = {
		{"tables", "files", NB_STAT_GAUGE},
		{"tables_size", "MiB", NB_STAT_GAUGE},
		{"compaction_time", "s", NB_STAT_COUNTER},
		{"compaction_read", "MiB", NB_STAT_COUNTER},
		{"compaction_written", "MiB", NB_STAT_COUNTER},
	};
	enum { COLUMNS = COUNT_OF(columns) };
	uint64_t sums[COLUMNS] = {0};
	char *text = leveldb_property_value(db->base, "leveldb.stats");
	char *at = text == NULL ? NULL : strstr(text, heading);

	if (at == NULL)
		goto free_text;                  /* another LevelDB with another table format */
	at = strchr(at + strlen(heading), '\n'); /* skip the rule, "-----" */
	for (int row = 0; at != NULL && row < LSM_LEVELS; row++) {
		strtoull(at, &at, 10); /* the level */
		for (int i = 0; i < COLUMNS; i++)
			sums[i] += strtoull(at, &at, 10);
	}
	for (int i = 0; i < COLUMNS; i++)
		emit(to, columns[i].name, columns[i].unit, columns[i].kind, sums[i]);
free_text:
	leveldb_free(text);
}

static char *
property(struct nb_db *db, const char *name)
{
	return leveldb_property_value(db->base, name);
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	lsm_emit("memory", "bytes", property(db, "leveldb.approximate-memory-usage"), emit, to);
	lsm_emit_levels(db, property, emit, to);
	emit_compactions(db, emit, to);
}

static const struct nb_engine engine = {ENGINE_BASE("leveldb"), ENGINE_RECORDS,
	.summary = "log-structured merge tree of Google", .licence = "BSD-3-Clause",
	.home = "https://github.com/google/leveldb",
	.caps = NB_CAP_ORDERED | NB_CAP_PERSISTENT | NB_CAP_CONCURRENT | NB_CAP_ATOMIC_BATCH |
		NB_CAP_SNAPSHOT,
	.durabilities = NB_DUR_BIT(NB_DUR_PROCESS) | NB_DUR_BIT(NB_DUR_COMMIT),
	.auto_durability = NB_DUR_PROCESS, .key_size_max = KEY_SIZE_MAX,
	.value_size_max = VALUE_SIZE_MAX, .options = options, .open = db_open,
	.close = db_close, .release = release, ENGINE_SCAN, .batch = batch, .flush = flush,
	.checkpoint = checkpoint, .stats = stats};
NB_ENGINE_PLUGIN(engine)
