/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Settings and flushing of an SQLite database.
 *
 * - The database has a separate connection for flush and checkpoint, in addition to the
 *   sessions'.
 * - WAL with synchronous=NORMAL is 'periodic'. Whenever the log has grown by
 *   wal_autocheckpoint pages, SQLite syncs it and then copies it into the database. Without
 *   such checkpoints this level is rejected.
 * - With journal=delete and synchronous=FULL the unlink of the journal is not synced, so
 *   power loss may undo a commit. EXTRA syncs the directory, so 'commit' uses EXTRA there.
 * - on_busy() waits for a lock, up to busy_timeout, and counts the waits.
 */
#include "database.h"

#include <time.h>

enum {
	PRAGMA_SIZE = 128,
	FIRST_WAIT_NS = 50000,
	WAIT_DOUBLINGS = 7 /* a wait takes at most 6.4 ms */
};

const char *const database_journals[] = {
	"wal", "delete", "truncate", "persist", "memory", "off"};

#define OPTIONS(X) \
	X(JOURNAL, CHOICE, "journal", "wal", "wal|delete|truncate|persist|memory|off", \
		"journal that undoes or redoes a transaction; limits the durability") \
	X(PAGE_SIZE, BYTES, "page_size", NULL, 512, 64 << 10, \
		"of a new database, a power of two; without: 4KiB") \
	X(MMAP_SIZE, BYTES, "mmap_size", "0", 0, 0x7fff0000, \
		"read so much of the file through a mapping; 0: by pread") \
	X(WAL_AUTOCHECKPOINT, U64, "wal_autocheckpoint", NULL, "pages", 0, INT_MAX, \
		"copy the log into the database when it has grown by this; without: 1000; 0: never") \
	X(BUSY_TIMEOUT, TIME, "busy_timeout", "5s", 0, 3600000000000, \
		"how long to wait for a lock before the answer is a conflict") \
	X(SECURE_DELETE, BOOL, "secure_delete", NULL, \
		"overwrite deleted content with zeros; not given: as SQLite is built")
enum { OPTIONS(OPTION_ID) };
const struct nb_option database_options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

/* --- answers --- */

bool
database_is_locked(int error)
{
	return (error & 0xff) == SQLITE_BUSY || (error & 0xff) == SQLITE_LOCKED;
}

static const char *
advice(int error)
{
	switch (error & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return "; another session or process holds it";
	case SQLITE_NOTADB:
		return "; made with something else?";
	default:
		return "";
	}
}

int
database_failure(const struct nb_host *host, sqlite3 *base, const char *call, int error)
{
	const char *text = base != NULL ? sqlite3_errmsg(base) : sqlite3_errstr(error);
	return host->fail(NB_FAIL, "%s: %s (%d)%s", call, text, error, advice(error));
}

/*
 * SQLite calls this on the waiting thread, with the number of previous waits: 50 us, then
 * twice as long each time. SQLite's own handler begins with a whole millisecond.
 */
static int
on_busy(void *arg, int waits)
{
	struct nb_db *db = arg;
	uint64_t doublings = waits < WAIT_DOUBLINGS ? (uint64_t)waits : WAIT_DOUBLINGS;
	uint64_t pause_ns = (uint64_t)FIRST_WAIT_NS << doublings;
	uint64_t waited_ns = pause_ns - FIRST_WAIT_NS +
		((uint64_t)waits - doublings) * pause_ns;
	if (waited_ns >= db->options[BUSY_TIMEOUT].u64)
		return 0;
	__atomic_fetch_add(&db->busy_waits, 1, __ATOMIC_RELAXED);
	const struct timespec pause = {.tv_nsec = (long)pause_ns};
	nanosleep(&pause, NULL);
	return 1;
}

/* --- connections --- */

/* Execute PRAGMA `text`, and return the first column of its answer. */
static int
pragma(struct nb_db *db, sqlite3 *base, char answer[PRAGMA_SIZE], const char *fmt, ...)
{
	char text[PRAGMA_SIZE] = "PRAGMA ";
	sqlite3_stmt *statement;
	va_list args;
	va_start(args, fmt);
	vsnprintf(text + strlen(text), sizeof(text) - strlen(text), fmt, args);
	va_end(args);
	answer[0] = '\0';
	int error = sqlite3_prepare_v2(base, text, -1, &statement, NULL);
	if (error != SQLITE_OK)
		return database_failure(db->host, base, text, error);
	if (sqlite3_step(statement) == SQLITE_ROW)
		snprintf(answer, PRAGMA_SIZE, "%s",
			(const char *)sqlite3_column_text(statement, 0));
	error = sqlite3_finalize(statement);
	return error == SQLITE_OK ? NB_OK : database_failure(db->host, base, text, error);
}

/* If SQLite cannot set a value, the pragma does not fail but answers with another value. */
static int
pragma_exactly(struct nb_db *db, sqlite3 *base, const char *name, const char *value)
{
	char answer[PRAGMA_SIZE];
	int rc = pragma(db, base, answer, "%s=%s", name, value);
	if (rc != NB_OK || strcmp(answer, value) == 0)
		return rc;
	return db->host->fail(NB_UNSUPPORTED, "SQLite cannot set %s to %s: it is %s", name,
		value, answer[0] != '\0' ? answer : "nothing");
}

/* Set the journal mode. When reading only, check that it is wal, or is not wal, as requested. */
static int
set_journal(struct nb_db *db, sqlite3 *base)
{
	char answer[PRAGMA_SIZE];
	if (!db->is_read_only)
		return pragma_exactly(db, base, "journal_mode", database_journals[db->journal]);
	int rc = pragma(db, base, answer, "journal_mode");
	if (rc == NB_OK && (strcmp(answer, "wal") == 0) != (db->journal == WAL))
		return db->host->fail(NB_UNSUPPORTED,
			"the database was written with%s journal=wal; give the same journal to read it",
			db->journal == WAL ? "out" : "");
	return rc;
}

static int
set_page_size(struct nb_db *db, sqlite3 *base)
{
	uint64_t size = db->options[PAGE_SIZE].u64;
	char answer[PRAGMA_SIZE];
	if (db->options[PAGE_SIZE].is_set == 0)
		return NB_OK;
	int rc = pragma(db, base, answer, "page_size=%llu", (unsigned long long)size);
	if (rc == NB_OK)
		rc = pragma(db, base, answer, "page_size");
	if (rc == NB_OK && strtoull(answer, NULL, 10) != size)
		return db->host->fail(NB_UNSUPPORTED,
			"page_size is for a new database; this one has pages of %s bytes",
			answer);
	return rc;
}

static int
set_memory(struct nb_db *db, sqlite3 *base)
{
	char text[32];
	char answer[PRAGMA_SIZE];
	int rc = NB_OK;
	if (db->cache_bytes != 0)
		rc = pragma(db, base, answer, "cache_size=-%llu",
			(unsigned long long)db->cache_bytes >> 10);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)db->options[MMAP_SIZE].u64);
	return rc == NB_OK ? pragma_exactly(db, base, "mmap_size", text) : rc;
}

static int
set_all(struct nb_db *db, sqlite3 *base, const char *synchronous)
{
	const struct nb_option_value *value = db->options;
	char answer[PRAGMA_SIZE];
	int rc = set_page_size(db, base); /* before the first page exists */
	if (rc == NB_OK)
		rc = set_journal(db, base);
	if (rc == NB_OK)
		rc = pragma(db, base, answer, "synchronous=%s", synchronous);
	if (rc == NB_OK && value[WAL_AUTOCHECKPOINT].is_set != 0)
		rc = pragma(db, base, answer, "wal_autocheckpoint=%llu",
			(unsigned long long)value[WAL_AUTOCHECKPOINT].u64);
	if (rc == NB_OK && value[SECURE_DELETE].is_set != 0)
		rc = pragma_exactly(
			db, base, "secure_delete", value[SECURE_DELETE].u64 != 0 ? "1" : "0");
	return rc == NB_OK ? set_memory(db, base) : rc;
}

int
database_connect(sqlite3 **out, struct nb_db *db, int flags, const char *synchronous)
{
	sqlite3 *base;
	flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
	flags |= db->is_read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
	int error = sqlite3_open_v2(db->path, &base, flags, NULL);
	int rc = NB_OK;
	if (error != SQLITE_OK) {
		rc = database_failure(db->host, base, "sqlite3_open_v2", error);
		goto close_base; /* base exists even after a failure */
	}
	if (!db->is_read_only && sqlite3_db_readonly(base, "main") == 1) {
		rc = db->host->fail(NB_FAIL, "data.db can be opened for reading only");
		goto close_base;
	}
	sqlite3_extended_result_codes(base, 1);
	sqlite3_busy_handler(base, on_busy, db);
	rc = set_all(db, base, synchronous);
	if (rc != NB_OK)
		goto close_base;
	*out = base;
	return NB_OK;

close_base:
	sqlite3_close(base);
	return rc;
}

/* --- open and close --- */

enum journal
database_journal(const struct nb_option_value *values)
{
	return (enum journal)values[JOURNAL].u64;
}

static const char *
synchronous_of(enum journal journal, uint32_t durability)
{
	if (durability == NB_DUR_PERIODIC)
		return "NORMAL";
	if (durability == NB_DUR_COMMIT)
		return journal == DELETE ? "EXTRA" : "FULL";
	return "OFF";
}

static int
check_options(const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	const struct nb_option_value *checkpoint = &value[WAL_AUTOCHECKPOINT];
	enum journal journal = database_journal(value);
	uint64_t page = value[PAGE_SIZE].is_set != 0 ? value[PAGE_SIZE].u64 : 512;
	if (checkpoint->is_set != 0 && journal != WAL)
		return args->host->fail(NB_UNSUPPORTED,
			"wal_autocheckpoint has no effect with journal=%s; leave it out",
			database_journals[journal]);
	if (checkpoint->is_set != 0 && checkpoint->u64 == 0 &&
		args->durability == NB_DUR_PERIODIC)
		return args->host->fail(NB_UNSUPPORTED,
			"wal_autocheckpoint=0 would never sync, so durability is not periodic");
	if ((page & (page - 1)) != 0)
		return args->host->fail(NB_UNSUPPORTED, "page_size is not a power of two");
	if (sqlite3_threadsafe() == 0)
		return args->host->fail(
			NB_UNSUPPORTED, "this SQLite is built for a single thread");
	return NB_OK;
}

static int
find_database(struct nb_db *db, const struct nb_open_args *args)
{
	struct stat info;
	int length = snprintf(db->path, sizeof(db->path), "%s/data.db", args->path);
	if (length >= (int)sizeof(db->path) - (int)sizeof("-journal"))
		return db->host->fail(NB_FAIL, "the path is too long");
	if ((args->flags & NB_OPEN_CREATE) == 0 &&
		(stat(db->path, &info) != 0 || info.st_size == 0))
		return db->host->fail(NB_FAIL, "no database: data.db does not exist");
	return NB_OK;
}

int
database_open(struct nb_db **out, const struct nb_open_args *args)
{
	int rc = check_options(args);
	if (rc != NB_OK)
		return rc;
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	db->host = args->host;
	db->options = args->options;
	db->journal = database_journal(args->options);
	db->cache_bytes = args->cache_bytes / (args->sessions != 0 ? args->sessions : 1);
	db->synchronous = synchronous_of(db->journal, args->durability);
	db->is_read_only = (args->flags & NB_OPEN_READ_ONLY) != 0;
	rc = find_database(db, args);
	bool is_to_create = (args->flags & NB_OPEN_CREATE) != 0;
	if (rc == NB_OK) /* a connection that syncs: it writes only for flush */
		rc = database_connect(
			&db->base, db, is_to_create ? SQLITE_OPEN_CREATE : 0, "FULL");
	if (rc != NB_OK)
		goto free_db;
	rc = schema_open(db, args, is_to_create);
	if (rc != NB_OK)
		goto close_base;
	*out = db;
	return NB_OK;

close_base:
	schema_free(db);
	sqlite3_close(db->base);
free_db:
	free(db);
	return rc;
}

/* Closing the last connection copies the log into the database and removes the log. */
int
database_close(struct nb_db *db)
{
	int error = sqlite3_close(db->base);
	int rc = error == SQLITE_OK
		? NB_OK
		: database_failure(db->host, db->base, "sqlite3_close", error);
	schema_free(db);
	free(db);
	return rc;
}

/* --- operations on the whole database --- */

/* Sync the file of SQLITE_FCNTL_FILE_POINTER, or of _JOURNAL_POINTER: with WAL, the log. */
static int
sync_file(struct nb_db *db, int which, const char *name)
{
	sqlite3_file *file = NULL;
	int error = sqlite3_file_control(db->base, NULL, which, &file);
	if (error == SQLITE_OK && file != NULL && file->pMethods != NULL)
		error = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
	return error == SQLITE_OK
		? NB_OK
		: db->host->fail(NB_FAIL, "syncing the %s: %s", name, sqlite3_errstr(error));
}

/* Another process that permanently reads or writes can prevent the copy. */
static int
copy_log(struct nb_db *db)
{
	int error = sqlite3_wal_checkpoint_v2(
		db->base, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	if (database_is_locked(error))
		return db->host->fail(NB_UNSUPPORTED,
			"sqlite3_wal_checkpoint_v2: another process keeps the log in use");
	return error == SQLITE_OK
		? NB_OK
		: database_failure(db->host, db->base, "sqlite3_wal_checkpoint_v2", error);
}

/* Unsynced writes may be in the log, or already copied from it. */
static int
sync_all(struct nb_db *db)
{
	int rc = NB_OK;
	if (db->journal == WAL)
		rc = sync_file(db, SQLITE_FCNTL_JOURNAL_POINTER, "log");
	return rc == NB_OK ? sync_file(db, SQLITE_FCNTL_FILE_POINTER, "database") : rc;
}

int
database_flush(struct nb_db *db, uint32_t upto)
{
	if (db->is_read_only)
		return NB_OK;
	int rc = sync_all(db);
	if (rc != NB_OK || upto == NB_SETTLE_FLUSH || db->journal != WAL)
		return rc;
	return copy_log(db);
}

/* An open must read the entire log. */
int
database_checkpoint(struct nb_db *db)
{
	return database_flush(db, NB_SETTLE_COMPACT);
}
