/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Tkrzw database as a whole: opening, closing, flushing and counters.
 *
 * - 'commit' is Tkrzw's ACID mode: records are only appended, and
 *   tkrzw_dbm_synchronize(hard) follows each write. This leaves a header on the disk with
 *   the state "closed", so after power loss Tkrzw would not look for partial records. A
 *   marker file beside the database shows that it is open. An open that finds the marker
 *   restores the last synchronization.
 * - Tkrzw writes the header of a new file last, and cannot open a file without one. So a
 *   database is created under another name and renamed.
 */
#include "tkrzw.h"

static const char marker[] = "tkrzw.open";

const struct database_type database_types[TYPES] = {
	[HASH] = {"hash", "HashDBM", "tkrzw.tkh", false},
	[TREE] = {"tree", "TreeDBM", "tkrzw.tkt", true},
	[SKIP] = {"skip", "SkipDBM", "tkrzw.tks", true},
	[TINY] = {"tiny", "TinyDBM", NULL, false},
	[BABY] = {"baby", "BabyDBM", NULL, true},
	[CACHE] = {"cache", "CacheDBM", NULL, false},
	[STDHASH] = {"stdhash", "StdHashDBM", NULL, false},
	[STDTREE] = {"stdtree", "StdTreeDBM", NULL, true},
};

int
database_failure(const struct nb_host *host, const char *call)
{
	TkrzwStatus status = tkrzw_get_last_status();
	bool has_text = status.message != NULL && status.message[0] != '\0';
	return host->fail(NB_FAIL, "%s: %s%s%s", call, tkrzw_status_code_name(status.code),
		has_text ? ": " : "", has_text ? status.message : "");
}

static int
system_failure(const struct nb_host *host, const char *call, const char *path)
{
	return host->fail(NB_FAIL, "%s %s: %s", call, path, strerror(errno));
}

bool
database_inspect(
	TkrzwDBM *base, bool (*take)(void *to, const char *name, const char *value), void *to)
{
	int32_t count = 0;
	TkrzwKeyValuePair *all = tkrzw_dbm_inspect(base, &count);
	bool is_taken = false;
	for (int32_t i = 0; i < count && !is_taken; i++)
		is_taken = take(to, all[i].key_ptr, all[i].value_ptr);
	tkrzw_free_str_map(all, count);
	return is_taken;
}

/* --- open and close --- */

static char *
path_join(const char *directory, const char *name, const char *suffix)
{
	size_t size = strlen(directory) + 1 + strlen(name) + strlen(suffix) + 1;
	char *path = malloc(size);
	if (path != NULL)
		snprintf(path, size, "%s/%s%s", directory, name, suffix);
	return path;
}

static int
sync_name(const struct nb_host *host, const char *path)
{
	errno = sync_path(path);
	return errno == 0 ? NB_OK : system_failure(host, "fsync", path);
}

/*
 * Remove the leftovers of an interrupted restoration, which Tkrzw would open. The
 * restoration of a tree creates a second file.
 */
static bool
clear_restored(const struct nb_db *db, const char *restored)
{
	const char *file = database_types[db->type].file;
	char *between = path_join(db->directory, file, ".restored.tmp.restore");
	if (between == NULL)
		return false;
	unlink(restored);
	unlink(between);
	free(between);
	return true;
}

/* Newer versions also take the key of an encrypted database. */
#ifdef TKRZW_RESTORE_TAKES_KEY
#define RESTORE_DATABASE(from, to, class) tkrzw_dbm_restore_database(from, to, class, 0, NULL)
#else
#define RESTORE_DATABASE(from, to, class) tkrzw_dbm_restore_database(from, to, class, 0)
#endif

/*
 * The database was open at 'commit' when its process or the machine failed: restore the
 * state of the last tkrzw_dbm_synchronize(). Tkrzw would wait for a lock here, so check the
 * lock first.
 */
static int
restore(struct nb_db *db)
{
	const struct nb_host *host = db->host;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open(db->file, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return system_failure(host, "open", db->file);
	bool is_locked = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
	close(fd);
	if (is_locked)
		return host->fail(NB_FAIL, "another process has %s open", db->file);

	char *restored = path_join(db->directory, database_types[db->type].file, ".restored");
	if (restored == NULL || !clear_restored(db, restored)) {
		free(restored);
		return host->fail(NB_FAIL, "out of memory");
	}
	int rc = NB_OK;
	if (!RESTORE_DATABASE(db->file, restored, database_types[db->type].class))
		rc = database_failure(host, "tkrzw_dbm_restore_database");
	else if ((rc = sync_name(host, restored)) == NB_OK && rename(restored, db->file) != 0)
		rc = system_failure(host, "rename", restored);
	if (rc == NB_OK)
		rc = sync_name(host, db->directory);
	else
		unlink(restored);
	free(restored);
	return rc;
}

/* Record on storage whether the database is open at 'commit'. */
static int
mark(struct nb_db *db, bool is_open)
{
	if (is_open) {
		int fd = open(db->marker, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
		if (fd < 0)
			return system_failure(db->host, "open", db->marker);
		close(fd);
	} else if (unlink(db->marker) != 0 && errno != ENOENT)
		return system_failure(db->host, "unlink", db->marker);
	return sync_name(db->host, db->directory);
}

/* Reject a directory with a file of another type. */
static int
check_type(struct nb_db *db)
{
	if (access(db->file, F_OK) == 0)
		return NB_OK;
	for (enum type type = 0; type < TYPES; type++) {
		if (database_types[type].file == NULL)
			continue;
		char *other = path_join(db->directory, database_types[type].file, "");
		bool is_there = other != NULL && access(other, F_OK) == 0;
		free(other);
		if (is_there)
			return db->host->fail(NB_FAIL, "%s holds a database of type=%s",
				db->directory, database_types[type].name);
	}
	return NB_OK;
}

static int
open_failure(struct nb_db *db, const struct nb_open_args *args)
{
	const char *text = tkrzw_get_last_status_message();
	/* EAGAIN or EACCES, depending on the system. */
	if (text != NULL && strstr(text, "fcntl-lock") != NULL)
		return db->host->fail(
			NB_FAIL, "another process has %s open (%s)", db->file, text);
	if ((args->flags & NB_OPEN_CREATE) == 0 && db->file != NULL &&
		access(db->file, F_OK) != 0)
		return db->host->fail(
			NB_FAIL, "no database: %s: %s", db->file, strerror(errno));
	return database_failure(db->host, "tkrzw_dbm_open");
}

/* Create the file under another name, so that it is complete or missing. */
static int
make(struct nb_db *db, const char *params)
{
	char *made = path_join(db->directory, database_types[db->type].file, ".made");
	int rc = NB_OK;
	if (made == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	unlink(made);
	db->base = tkrzw_dbm_open(made, true, params);
	if (db->base == NULL)
		rc = database_failure(db->host, "tkrzw_dbm_open");
	else if (!tkrzw_dbm_close(db->base))
		rc = database_failure(db->host, "tkrzw_dbm_close");
	else if (db->is_commit)
		rc = sync_name(db->host, made);
	if (rc == NB_OK && rename(made, db->file) != 0)
		rc = system_failure(db->host, "rename", made);
	if (rc != NB_OK)
		unlink(made);
	db->base = NULL;
	free(made);
	return rc;
}

static int
open_file(struct nb_db *db, const struct nb_open_args *args, const char *params)
{
	int rc = check_type(db);
	if (rc != NB_OK)
		return rc;
	if (access(db->marker, F_OK) == 0 && access(db->file, F_OK) == 0) {
		rc = restore(db);
		if (rc == NB_OK)
			rc = mark(db, false);
		if (rc != NB_OK)
			return rc;
	}
	db->is_writable = (args->flags & NB_OPEN_READ_ONLY) == 0;
	if ((args->flags & NB_OPEN_CREATE) != 0 && access(db->file, F_OK) != 0 &&
		(rc = make(db, params)) != NB_OK)
		return rc;
	db->base = tkrzw_dbm_open(db->file, db->is_writable, params);
	/* Only an open for writing can restore after a crash. */
	if (db->base != NULL && !db->is_writable && !tkrzw_dbm_is_healthy(db->base)) {
		tkrzw_dbm_close(db->base);
		db->is_writable = true;
		db->base = tkrzw_dbm_open(db->file, true, params);
	}
	if (db->base == NULL)
		return open_failure(db, args);
	rc = options_check_existing(db->base, args);
	if (rc == NB_OK && db->is_commit && db->is_writable) {
		rc = mark(db, true);
		if (rc == NB_OK && !tkrzw_dbm_synchronize(db->base, true, NULL, NULL, ""))
			rc = database_failure(db->host, "tkrzw_dbm_synchronize");
	}
	if (rc != NB_OK)
		tkrzw_dbm_close(db->base);
	return rc;
}

static int
open_memory(struct nb_db *db, const struct nb_open_args *args, const char *params)
{
	db->is_writable = true;
	db->base = tkrzw_dbm_open("", true, params);
	return db->base != NULL ? NB_OK : open_failure(db, args);
}

static void
db_free(struct nb_db *db)
{
	free(db->file);
	free(db->marker);
	free(db->directory);
	free(db);
}

int
database_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	enum type type = options_type(args->options);
	char params[PARAMS_SIZE];
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	db->host = host;
	db->type = type;
	db->is_commit = args->durability == NB_DUR_COMMIT;
	db->is_positional = options_are_positional(args->options);
	options_write(params, args);
	int rc;
	if (database_types[type].file != NULL) {
		db->directory = strdup(args->path);
		db->file = path_join(args->path, database_types[type].file, "");
		db->marker = path_join(args->path, marker, "");
		rc = db->directory == NULL || db->file == NULL || db->marker == NULL
			? host->fail(NB_FAIL, "out of memory")
			: open_file(db, args, params);
	} else
		rc = open_memory(db, args, params);
	if (rc != NB_OK)
		db_free(db);
	else
		*out = db;
	return rc;
}

int
database_synchronize(struct nb_db *db, bool is_hard)
{
	const char *params = db->type == SKIP ? "reducer=last" : "";
	if (!tkrzw_dbm_synchronize(db->base, is_hard, NULL, NULL, params))
		return database_failure(db->host, "tkrzw_dbm_synchronize");
	db->is_dirty = false;
	return NB_OK;
}

int
database_close(struct nb_db *db)
{
	int rc = db->is_dirty ? database_synchronize(db, false) : NB_OK;
	if (!tkrzw_dbm_close(db->base) && rc == NB_OK)
		rc = database_failure(db->host, "tkrzw_dbm_close");
	if (rc == NB_OK && db->is_commit && db->is_writable)
		rc = mark(db, false);
	db_free(db);
	return rc;
}

/* --- operations on the whole database --- */

/* With file=pos-*, a hard synchronization is sync_file_range(2), which is not durable. */
int
database_flush(struct nb_db *db, uint32_t upto)
{
	if (db->is_positional)
		return db->host->fail(NB_UNSUPPORTED,
			"file=pos-para and file=pos-atom cannot be flushed for good");
	int rc = database_synchronize(db, true);
	if (rc == NB_OK && upto == NB_SETTLE_COMPACT && tkrzw_dbm_should_be_rebuilt(db->base) &&
		!tkrzw_dbm_rebuild(db->base, "sync_hard=true"))
		rc = database_failure(db->host, "tkrzw_dbm_rebuild");
	/* The file of a skip list, or of a rebuilt database, has also been renamed. */
	return rc == NB_OK ? sync_name(db->host, db->directory) : rc;
}

struct counters {
	nb_stat_emit emit;
	void *to;
};

static bool
emit_counter(void *to, const char *name, const char *value)
{
	static const struct {
		const char *property, *name, *unit;
	} gauges[] = {
		{"num_records", "records", "records"},
		{"eff_data_size", "data", "bytes"},
		{"file_size", "file", "bytes"},
		{"mem_usage", "memory", "bytes"},
		{"num_buckets", "buckets", "buckets"},
		{"hash_num_buckets", "buckets", "buckets"},
		{"num_leaf_nodes", "leaf_pages", "pages"},
		{"num_inner_nodes", "inner_pages", "pages"},
		{"tree_level", "depth", "levels"},
	};
	struct counters *counters = to;

	for (size_t i = 0; i < COUNT_OF(gauges); i++)
		if (strcmp(gauges[i].property, name) == 0)
			counters->emit(counters->to, gauges[i].name, gauges[i].unit,
				NB_STAT_GAUGE, strtoull(value, NULL, 10));
	return false;
}

void
database_stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	struct counters counters = {emit, to};
	database_inspect(db->base, emit_counter, &counters);
}
