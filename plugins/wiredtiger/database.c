/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening, settling and closing a WiredTiger database.
 *
 * - With transaction_sync method=none, a commit writes the log with write(2) before it
 *   returns: durability 'process'. If transaction_sync were disabled, records would wait in
 *   memory for up to 50 ms. 'periodic' adds regular checkpoints, which sync the log and all
 *   files. 'commit' is method=dsync. With fsync, a commit that switches to the next log file
 *   syncs only that file. It returns before another thread has synced the previous one
 *   (__wt_log_release, 3.2.1).
 * - With the log off ('none'), WiredTiger ignores a log that a crash has left, so the plugin
 *   recovers it first. A recovery also ignores the log after a checkpoint of a run without
 *   one, so an open with the log on begins with a checkpoint.
 * - WiredTiger ignores settings for an existing table. The plugin rejects different
 *   settings.
 * - WiredTiger passes messages to a handler, on the thread that caused them or on its own
 *   threads. There they may explain a later failure of a call.
 */
#include "database.h"

#include <dirent.h>
#include <dlfcn.h>

enum {
	CONFIG_SIZE = 2048,
	BLOCK_SIZE = 4096, /* allocation_size, WiredTiger's default */
	INNER_SESSIONS =
		100, /* for eviction, checkpoint, log and merge threads, and for the plugin */
	SECOND_NS = 1000000000,
	PERIOD_S = 60 /* of checkpoints at durability 'periodic' */
};

enum { NO_COMPRESSION, SNAPPY, ZLIB }; /* choices of COMPRESSION */

/*
 * Calls go through function tables whose layout the header defines, so the versions must
 * match.
 */
#define TEXT_OF(x) #x
#define NUMBER(x) TEXT_OF(x)
#define WT_VERSION \
	NUMBER(WIREDTIGER_VERSION_MAJOR) \
	"." NUMBER(WIREDTIGER_VERSION_MINOR) "." NUMBER(WIREDTIGER_VERSION_PATCH)

const struct nb_option database_options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

static const char btree_uri[] = "file:records.wt";
static const char lsm_uri[] = "lsm:records";

const char *
version(void)
{
	int major, minor, patch;
	wiredtiger_version(&major, &minor, &patch);
	return version_text("%d.%d.%d", major, minor, patch);
}

/* --- messages and failures --- */

static _Thread_local char thread_told[TEXT_SIZE]; /* the last message of this thread */

/* Skip the time and thread in "[1573:24][17:0x7f], WT_CURSOR.insert: ...". */
static const char *
message_text(const char *message)
{
	const char *at = message;
	while (*at == '[' && strchr(at, ']') != NULL)
		at = strchr(at, ']') + 1;
	return at + strspn(at, ",: ");
}

static int
on_error(WT_EVENT_HANDLER *handler, WT_SESSION *session, int error, const char *message)
{
	struct nb_db *db = (struct nb_db *)handler;
	const char *text = message_text(message);
	snprintf(thread_told, sizeof(thread_told), "%s", text);
	pthread_mutex_lock(&db->lock);
	if (db->told[0] == '\0')
		snprintf(db->told, sizeof(db->told), "%s", text);
	pthread_mutex_unlock(&db->lock);
	return 0;
}

static int
on_message(WT_EVENT_HANDLER *handler, WT_SESSION *session, const char *message)
{
	return 0;
}

static int
on_progress(
	WT_EVENT_HANDLER *handler, WT_SESSION *session, const char *operation, uint64_t done)
{
	return 0;
}

/* After a failed log write, later calls wait for it forever. */
static bool
is_fatal(int error)
{
	return error == WT_PANIC || error == ENOSPC || error == EDQUOT || error == EFBIG ||
		error == EIO;
}

int
database_failure(struct nb_db *db, const char *call, int error)
{
	char told[TEXT_SIZE];
	/* After a panic, the first message of any thread contains the cause. */
	pthread_mutex_lock(&db->lock);
	db->is_broken = db->is_broken || is_fatal(error);
	bool is_own = thread_told[0] != '\0' && error != WT_PANIC;
	snprintf(told, sizeof(told), "%s", is_own ? thread_told : db->told);
	pthread_mutex_unlock(&db->lock);
	thread_told[0] = '\0';
	return db->host->fail(NB_FAIL, "%s: %s%s%s", call, wiredtiger_strerror(error),
		told[0] != '\0' ? "; " : "", told);
}

void
database_message_drop(void)
{
	thread_told[0] = '\0';
}

/* --- open and close --- */

/* Append to a configuration, which has room for everything. */
static void NB_PRINTF(2, 3) config_add(char *config, const char *fmt, ...)
{
	size_t at = strlen(config);
	va_list args;
	va_start(args, fmt);
	vsnprintf(config + at, CONFIG_SIZE - at, fmt, args);
	va_end(args);
}

static bool
has_file(const char *path, const char *prefix)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool is_there = false;
	while (dir != NULL && !is_there && (entry = readdir(dir)) != NULL)
		is_there = strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	if (dir != NULL)
		closedir(dir);
	return is_there;
}

/*
 * WiredTiger.turtle is the last file that WiredTiger creates; WiredTiger.turtle.set may
 * precede it.
 */
static bool
is_made(const char *path)
{
	char turtle[PATH_MAX];
	snprintf(turtle, sizeof(turtle), "%s/WiredTiger.turtle", path);
	return access(turtle, F_OK) == 0;
}

static const char *const extension_names[] = {
	"libwiredtiger_snappy.so", "libwiredtiger_zlib.so"};

/* Load all, because the table's compressor is not known yet. */
static void
extensions_load(struct nb_db *db)
{
	for (int i = 0; i < 2; i++) {
		db->extensions[i] = dlopen(extension_names[i], RTLD_NOW | RTLD_LOCAL);
		if (db->extensions[i] != NULL) {
			strcat(db->extension_list, extension_names[i]);
			strcat(db->extension_list, ",");
		}
	}
}

static void
extensions_unload(struct nb_db *db)
{
	for (int i = 0; i < 2; i++)
		if (db->extensions[i] != NULL)
			dlclose(db->extensions[i]);
}

static int
connection_open(struct nb_db *db, const struct nb_open_args *args, int log)
{
	const struct nb_option_value *value = args->options;
	char config[CONFIG_SIZE] = "";
	db->log = log;
	bool is_commit = args->durability == NB_DUR_COMMIT;
	uint64_t period_s = args->durability == NB_DUR_PERIODIC ? PERIOD_S : 0;

	if (value[CHECKPOINT_INTERVAL].is_set != 0)
		period_s = value[CHECKPOINT_INTERVAL].u64 / SECOND_NS;
	config_add(config, "create=%d,", (args->flags & NB_OPEN_CREATE) != 0);
	/* Ignore configuration files and variables, which the result would not show. */
	config_add(config, "config_base=false,use_environment=false,");
	config_add(config, "session_max=%u,", args->sessions + INNER_SESSIONS);
	config_add(config, "statistics=(fast),extensions=[%s],", db->extension_list);
	if (args->cache_bytes != 0)
		config_add(config, "cache_size=%llu,", (unsigned long long)args->cache_bytes);
	config_add(config, "eviction=(threads_min=%u,threads_max=%u),",
		(unsigned)value[EVICTION_THREADS_MIN].u64,
		(unsigned)value[EVICTION_THREADS_MAX].u64);
	config_add(config, "eviction_dirty_target=%u,eviction_dirty_trigger=%u,",
		(unsigned)value[EVICTION_DIRTY_TARGET].u64,
		(unsigned)value[EVICTION_DIRTY_TRIGGER].u64);
	config_add(config, "direct_io=[%s],mmap=%u,", value[DIRECT_IO].u64 != 0 ? "data" : "",
		(unsigned)value[MMAP].u64);
	if (log == LOG_READ_ONLY)
		config_add(config, "readonly=true,log=(enabled=%d)",
			has_file(args->path, "WiredTigerLog."));
	else
		config_add(config,
			"checkpoint=(wait=%u),log=(enabled=%d,file_max=%llu),transaction_sync=(enabled=true,method=%s)",
			(unsigned)period_s, log, (unsigned long long)value[LOG_FILE_MAX].u64,
			is_commit ? "dsync" : "none");
	return wiredtiger_open(args->path, &db->handler, config, &db->connection);
}

static int
connection_close(struct nb_db *db)
{
	int error = db->connection->close(db->connection, NULL);
	db->connection = NULL;
	return error;
}

static bool
is_locked(int dir)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = openat(dir, "WiredTiger.lock", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT;
	bool is_free = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
	close(fd);
	return !is_free;
}

/*
 * If only WiredTiger.turtle is missing, WiredTiger neither creates nor opens a database. A
 * crash may leave this state. Without a log and a table the database has no data: remove it,
 * unless another process that is creating it holds the lock.
 */
static void
clear_unmade(const char *path)
{
	static const char *const made[] = {
		"WiredTiger", "WiredTiger.wt", "WiredTiger.turtle.set"};
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return;
	if (!is_made(path) && !has_file(path, "WiredTigerLog.") && !has_file(path, "records") &&
		!is_locked(dir))
		for (size_t i = 0; i < COUNT_OF(made); i++)
			unlinkat(dir, made[i], 0);
	close(dir);
}

/*
 * A database that needs recovery cannot be opened read-only: WiredTiger returns
 * WT_RUN_RECOVERY, or WT_PANIC if its log interferes. With type=lsm, which has no file
 * records.wt, a read-only close would leak the tree.
 */
static int
base_open(struct nb_db *db, const struct nb_open_args *args)
{
	if ((args->flags & NB_OPEN_READ_ONLY) != 0 && has_file(args->path, "records.wt")) {
		int error = connection_open(db, args, LOG_READ_ONLY);
		if (error != WT_RUN_RECOVERY && error != WT_PANIC)
			return error;
		db->told[0] = thread_told[0] = '\0';
	}
	if (args->durability != NB_DUR_NONE)
		return connection_open(db, args, LOG_ON);
	if (has_file(args->path, "WiredTigerLog.")) {
		int error = connection_open(db, args, LOG_ON);
		if (error == 0)
			error = connection_close(db);
		if (error != 0)
			return error;
	}
	return connection_open(db, args, LOG_OFF);
}

/* --- the table --- */

/* Options that a table keeps from its creation, as settings: "leaf_page_max=32768". */
static const struct {
	uint32_t option;
	uint32_t is_of_lsm;
	const char *key;
	const char *texts[3]; /* the texts of a choice; else the value is a number */
	uint64_t def;         /* WiredTiger's default */
} properties[] = {
	{COMPRESSION, 0, "block_compressor", {"none", "snappy", "zlib"}, 0},
	{LEAF_PAGE_MAX, 0, "leaf_page_max", {NULL}, 32 << 10},
	{INTERNAL_PAGE_MAX, 0, "internal_page_max", {NULL}, 4 << 10},
	{MEMORY_PAGE_MAX, 0, "memory_page_max", {NULL}, 5 << 20},
	{PREFIX_COMPRESSION, 0, "prefix_compression", {"false", "true"}, 0},
	{LSM_CHUNK_SIZE, 1, "chunk_size", {NULL}, 10 << 20},
};
enum { PROPERTIES = COUNT_OF(properties) };

static void
property_write(char *to, size_t size, int i, const struct nb_option_value *values)
{
	const struct nb_option_value *value = &values[properties[i].option];
	uint64_t n = value->is_set != 0 ? value->u64 : properties[i].def;
	if (properties[i].texts[0] != NULL)
		snprintf(to, size, "%s=%s", properties[i].key, properties[i].texts[n]);
	else
		snprintf(to, size, "%s=%llu", properties[i].key, (unsigned long long)n);
}

static int
table_create(struct nb_db *db, const struct nb_option_value *values)
{
	bool is_lsm = values[TYPE].is_set != 0 && values[TYPE].u64 == LSM;
	char config[CONFIG_SIZE] = "key_format=u,value_format=u";
	char property[TEXT_SIZE];
	db->uri = is_lsm ? lsm_uri : btree_uri;
	for (int i = 0; i < PROPERTIES; i++) {
		property_write(property, sizeof(property), i, values);
		if (properties[i].is_of_lsm == 0)
			config_add(config, ",%s", property);
		else if (is_lsm)
			config_add(config, ",lsm=(%s)", property);
	}
	return database_outcome(
		db, "WT_SESSION.create", db->session->create(db->session, db->uri, config));
}

/* Whether `property` is one of the settings, which commas and brackets delimit. */
static bool
has_property(const char *config, const char *property)
{
	size_t size = strlen(property);
	for (const char *at = config; (at = strstr(at, property)) != NULL; at += size)
		if ((at == config || strchr(",(", at[-1]) != NULL) &&
			(at[size] == '\0' || strchr(",)", at[size]) != NULL))
			return true;
	return false;
}

/*
 * Compare the table, whose settings are `config`, with the given options. Writing to an LSM
 * tree requires type=lsm, because its sizes are limited (see variant).
 */
static int
table_check(struct nb_db *db, const char *config, const struct nb_open_args *args)
{
	const struct nb_option_value *values = args->options;
	bool is_lsm = db->uri == lsm_uri;
	char property[TEXT_SIZE];
	if (values[TYPE].is_set != 0 ? (values[TYPE].u64 == LSM) != is_lsm
				     : is_lsm && (args->flags & NB_OPEN_READ_ONLY) == 0)
		return db->host->fail(NB_UNSUPPORTED, "the table was made with type=%s%s",
			is_lsm ? "lsm" : "btree",
			values[TYPE].is_set != 0 ? "" : "; give type=lsm to write to it");
	for (int i = 0; i < PROPERTIES; i++) {
		property_write(property, sizeof(property), i, values);
		if (values[properties[i].option].is_set != 0 && !has_property(config, property))
			return db->host->fail(NB_UNSUPPORTED,
				"the table was made with another %s; remove the database, or leave the option out",
				database_options[properties[i].option].name);
	}
	return NB_OK;
}

/* Find the table, set db->uri and compare the settings; or create it. */
static int
table_open(struct nb_db *db, const struct nb_open_args *args)
{
	static const char *const uris[] = {btree_uri, lsm_uri};
	const char *config;
	WT_CURSOR *metadata;
	int error = db->session->open_cursor(db->session, "metadata:", NULL, NULL, &metadata);
	if (error != 0)
		return database_failure(db, "WT_SESSION.open_cursor", error);
	for (int i = 0; i < 2 && db->uri == NULL; i++) {
		metadata->set_key(metadata, uris[i]);
		if (metadata->search(metadata) == 0)
			db->uri = uris[i];
	}
	int rc = NB_OK;
	if (db->uri == NULL && (args->flags & NB_OPEN_CREATE) == 0)
		rc = db->host->fail(NB_FAIL, "this WiredTiger database has no table of mininb");
	else if (db->uri == NULL)
		rc = table_create(db, args->options);
	else if ((error = metadata->get_value(metadata, &config)) != 0)
		rc = database_failure(db, "WT_CURSOR.get_value", error);
	else
		rc = table_check(db, config, args);
	metadata->close(metadata);
	return rc;
}

/* Force a checkpoint of the open table, so that recovery reads the log from here on. */
static int
log_begin(struct nb_db *db)
{
	WT_SESSION *s = db->session;
	WT_CURSOR *table;
	int error = s->open_cursor(s, db->uri, NULL, NULL, &table);
	if (error != 0)
		return database_failure(db, "WT_SESSION.open_cursor", error);
	int rc = database_outcome(db, "WT_SESSION.checkpoint", s->checkpoint(s, "force=true"));
	table->close(table);
	return rc;
}

/* Reject settings that WiredTiger lacks or would ignore. */
static int
check(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	const struct nb_host *host = args->host;
	if (strcmp(version(), WT_VERSION) != 0)
		return host->fail(NB_FAIL, "built for WiredTiger %s, but %s is loaded",
			WT_VERSION, version());
	if (value[LSM_CHUNK_SIZE].is_set != 0 &&
		(value[TYPE].is_set == 0 || value[TYPE].u64 != LSM))
		return host->fail(NB_UNSUPPORTED, "lsm_chunk_size needs type=lsm");
	if (value[CHECKPOINT_INTERVAL].u64 % SECOND_NS != 0)
		return host->fail(NB_UNSUPPORTED, "checkpoint_interval must be whole seconds");
	if (value[LEAF_PAGE_MAX].u64 % BLOCK_SIZE != 0 ||
		value[INTERNAL_PAGE_MAX].u64 % BLOCK_SIZE != 0)
		return host->fail(NB_UNSUPPORTED,
			"leaf_page_max and internal_page_max must be multiples of 4KiB");
	if (value[EVICTION_THREADS_MIN].u64 > value[EVICTION_THREADS_MAX].u64)
		return host->fail(
			NB_UNSUPPORTED, "eviction_threads_min is above eviction_threads_max");
	for (uint64_t i = 0; i < 2; i++)
		if (value[COMPRESSION].is_set != 0 && value[COMPRESSION].u64 == SNAPPY + i &&
			db->extensions[i] == NULL)
			return host->fail(NB_UNSUPPORTED,
				"compression=%s needs %s, which cannot be loaded",
				properties[0].texts[SNAPPY + i], extension_names[i]);
	/* WiredTiger would leave a file behind. */
	if ((args->flags & NB_OPEN_CREATE) == 0 && !is_made(args->path))
		return host->fail(
			NB_FAIL, "no database: the file WiredTiger.turtle does not exist");
	return NB_OK;
}

/* A broken database is not freed: WiredTiger's threads still use it. */
static void
db_free(struct nb_db *db)
{
	if (db->is_broken && db->connection != NULL)
		return;
	if (db->connection != NULL)
		connection_close(db);
	extensions_unload(db);
	pthread_mutex_destroy(&db->lock);
	free(db);
}

int
database_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	db->handler = (WT_EVENT_HANDLER){on_error, on_message, on_progress, NULL};
	db->host = args->host;
	pthread_mutex_init(&db->lock, NULL);
	extensions_load(db);
	int rc = check(db, args);
	if (rc != NB_OK)
		goto free_db;
	if ((args->flags & NB_OPEN_CREATE) != 0)
		clear_unmade(args->path);
	int error = base_open(db, args);
	rc = database_outcome(
		db, error == EBUSY ? "it is open elsewhere" : "wiredtiger_open", error);
	if (rc != NB_OK)
		goto free_db;
	rc = database_outcome(db, "WT_CONNECTION.open_session",
		db->connection->open_session(db->connection, NULL, NULL, &db->session));
	if (rc == NB_OK)
		rc = table_open(db, args);
	if (rc == NB_OK && db->log == LOG_ON)
		rc = log_begin(db);
	if (rc == NB_OK)
		rc = database_outcome(db, "WT_SESSION.open_cursor",
			db->session->open_cursor(db->session, "statistics:", NULL,
				"statistics=(fast)", &db->statistics));
	if (rc != NB_OK)
		goto free_db;
	*out = db;
	return NB_OK;

free_db:
	db_free(db);
	return rc;
}

/* Writes a checkpoint. Also closes open sessions and cursors. */
int
database_close(struct nb_db *db)
{
	if (db->is_broken)
		return db->host->fail(NB_FAIL,
			"left open: after this failure the close of WiredTiger may never return");
	int rc = database_outcome(db, "WT_CONNECTION.close", connection_close(db));
	db_free(db);
	return rc;
}

/* --- operations on the whole database --- */

int
database_checkpoint(struct nb_db *db)
{
	return database_outcome(
		db, "WT_SESSION.checkpoint", db->session->checkpoint(db->session, NULL));
}

/* A B-tree defers only writes, which a checkpoint performs. An LSM tree also defers merges. */
int
database_flush(struct nb_db *db, uint32_t upto)
{
	if (upto == NB_SETTLE_COMPACT && db->uri == lsm_uri) {
		int rc = database_outcome(db, "WT_SESSION.compact",
			db->session->compact(db->session, db->uri, "timeout=0"));
		if (rc != NB_OK)
			return rc;
	}
	return database_checkpoint(db);
}

static const struct {
	int key;
	const char *name, *unit;
	uint32_t kind;
} counters[] = {
	{WT_STAT_CONN_CACHE_BYTES_INUSE, "cache", "bytes", NB_STAT_GAUGE},
	{WT_STAT_CONN_CACHE_BYTES_DIRTY, "cache_dirty", "bytes", NB_STAT_GAUGE},
	{WT_STAT_CONN_CACHE_BYTES_MAX, "cache_max", "bytes", NB_STAT_GAUGE},
	{WT_STAT_CONN_CACHE_READ, "cache_pages_read", "pages", NB_STAT_COUNTER},
	{WT_STAT_CONN_CACHE_BYTES_READ, "cache_read", "bytes", NB_STAT_COUNTER},
	{WT_STAT_CONN_CACHE_WRITE, "cache_pages_written", "pages", NB_STAT_COUNTER},
	{WT_STAT_CONN_CACHE_BYTES_WRITE, "cache_written", "bytes", NB_STAT_COUNTER},
	{WT_STAT_CONN_CACHE_EVICTION_CLEAN, "evicted_clean", "pages", NB_STAT_COUNTER},
	{WT_STAT_CONN_CACHE_EVICTION_DIRTY, "evicted_dirty", "pages", NB_STAT_COUNTER},
	{WT_STAT_CONN_CACHE_EVICTION_APP, "evicted_by_sessions", "pages", NB_STAT_COUNTER},
	{WT_STAT_CONN_APPLICATION_CACHE_TIME, "cache_waited", "us", NB_STAT_COUNTER},
	{WT_STAT_CONN_BLOCK_BYTE_READ, "blocks_read", "bytes", NB_STAT_COUNTER},
	{WT_STAT_CONN_BLOCK_BYTE_MAP_READ, "blocks_read_mapped", "bytes", NB_STAT_COUNTER},
	{WT_STAT_CONN_BLOCK_BYTE_WRITE, "blocks_written", "bytes", NB_STAT_COUNTER},
	{WT_STAT_CONN_BLOCK_BYTE_WRITE_CHECKPOINT, "blocks_written_by_checkpoints", "bytes",
		NB_STAT_COUNTER},
	{WT_STAT_CONN_LOG_BYTES_WRITTEN, "log_written", "bytes", NB_STAT_COUNTER},
	{WT_STAT_CONN_LOG_WRITES, "log_records", "records", NB_STAT_COUNTER},
	{WT_STAT_CONN_LOG_SYNC, "log_syncs", "syncs", NB_STAT_COUNTER},
	{WT_STAT_CONN_READ_IO, "reads", "calls", NB_STAT_COUNTER},
	{WT_STAT_CONN_WRITE_IO, "writes", "calls", NB_STAT_COUNTER},
	{WT_STAT_CONN_FSYNC_IO, "syncs", "calls", NB_STAT_COUNTER},
	{WT_STAT_CONN_TXN_COMMIT, "commits", "transactions", NB_STAT_COUNTER},
	{WT_STAT_CONN_TXN_ROLLBACK, "rollbacks", "transactions", NB_STAT_COUNTER},
	{WT_STAT_CONN_TXN_UPDATE_CONFLICT, "conflicts", "updates", NB_STAT_COUNTER},
	{WT_STAT_CONN_TXN_CHECKPOINT, "checkpoints", "checkpoints", NB_STAT_COUNTER},
	{WT_STAT_CONN_TXN_CHECKPOINT_TIME_TOTAL, "checkpoint_time", "ms", NB_STAT_COUNTER},
	{WT_STAT_CONN_LSM_ROWS_MERGED, "lsm_merged", "records", NB_STAT_COUNTER},
};

/* reset() makes the cursor read new values. */
void
database_stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	WT_CURSOR *cursor = db->statistics;
	const char *description, *text;
	int64_t value;
	if (cursor->reset(cursor) != 0)
		return;
	for (size_t i = 0; i < COUNT_OF(counters); i++) {
		cursor->set_key(cursor, counters[i].key);
		if (cursor->search(cursor) == 0 &&
			cursor->get_value(cursor, &description, &text, &value) == 0)
			emit(to, counters[i].name, counters[i].unit, counters[i].kind,
				(uint64_t)value);
	}
}
