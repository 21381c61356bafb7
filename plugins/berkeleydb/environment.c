/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening Berkeley DB.
 *
 * - The environment is private unless `shared` is set: its regions are on the heap of this
 *   process. Regions in mapped files could end the process with SIGBUS on a full disk. The
 *   kernel would also write them during the measurement. The library does not exclude a
 *   second process then, so sharing.c locks the directory.
 * - The log has its own directory. If it exists, the database was created with transactions
 *   and must not be written without its log.
 * - A callback gets messages that name the cause, such as the file and errno. Without it
 *   they would go to stderr.
 */
#include "environment.h"

#include "sharing.h"

#define LOG_DIR "log"

/* LG_BSIZE_DEFAULT and LG_MAX_DEFAULT of Berkeley DB's log.h */
#define LOG_BUFFER_DEFAULT 32000ull
#define LOG_FILE_DEFAULT (10ull << 20)

enum {
	CACHE_LEAST = 64 << 10,
	LOCKS = 1 << 16, /* a transaction has up to two for each record that it accesses */
	LOCKERS = 1 << 12,
	TOLD_SIZE = 400
};

const struct nb_option environment_options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

/* --- failures --- */

/* The first message since the last failure: the others follow from it. */
static _Thread_local char told[TOLD_SIZE];

static void
keep_message(const DB_ENV *env, const char *prefix, const char *message)
{
	if (told[0] == '\0')
		snprintf(told, sizeof(told), "%s", message);
}

int
environment_failure(const struct nb_host *host, const char *call, int error)
{
	const char *advice = error == ENOMEM ? "; a larger cache may help" : "";
	const char *text = db_strerror(error);
	int rc = told[0] == '\0'
		? host->fail(NB_FAIL, "%s: %s%s", call, text, advice)
		: host->fail(NB_FAIL, "%s: %s (%s)%s", call, text, told, advice);
	told[0] = '\0';
	return rc;
}

/* --- the requested options --- */

static bool
is_there(const char *directory, const char *name)
{
	char path[PATH_MAX];
	struct stat info;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return stat(path, &info) == 0;
}

/* Reject options that the product lacks or that Berkeley DB would ignore. */
static int
check_log_options(const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	const struct nb_option_value *value = args->options;
	bool has_log = value[PRODUCT].u64 == TDS;
	uint64_t buffer = value[LOG_BUFFER].is_set ? value[LOG_BUFFER].u64 : LOG_BUFFER_DEFAULT;
	uint64_t file = value[LOG_FILE].is_set ? value[LOG_FILE].u64 : LOG_FILE_DEFAULT;
	if (args->durability != NB_DUR_NONE && !has_log)
		return host->fail(NB_UNSUPPORTED,
			"durability must be none with product=cds or ds: they have no log");
	if (args->durability == NB_DUR_PERIODIC)
		return host->fail(NB_UNSUPPORTED,
			"durability must be none, process or commit: Berkeley DB does not sync the log periodically");
	if (!has_log && value[SNAPSHOT].u64 != 0)
		return host->fail(NB_UNSUPPORTED, "snapshot needs product=tds");
	if (!has_log && (value[LOG_BUFFER].is_set != 0 || value[LOG_FILE].is_set != 0))
		return host->fail(NB_UNSUPPORTED,
			"log_buffer and log_file need product=tds: the others have no log");
	if (!has_log && value[SHARED].u64 != 0)
		return host->fail(NB_UNSUPPORTED,
			"shared=yes needs product=tds: the others cannot recover when one of several processes dies");
	if (file <
		4 * buffer) /* required by the manual of DB_ENV->set_lg_max, but not checked there */
		return host->fail(NB_UNSUPPORTED,
			"log_file, %llu bytes, is less than four times log_buffer, %llu",
			(unsigned long long)file, (unsigned long long)buffer);
	return NB_OK;
}

static int
check_options(const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	const struct nb_option_value *value = args->options;
	uint64_t page_size = value[PAGE_SIZE].u64;
	if (args->cache_bytes != 0 && args->cache_bytes < CACHE_LEAST)
		return host->fail(NB_UNSUPPORTED,
			"a cache of %llu bytes is too small to work in; at least 64KiB",
			(unsigned long long)args->cache_bytes);
	if (value[PAGE_SIZE].is_set != 0 && (page_size & (page_size - 1)) != 0)
		return host->fail(NB_UNSUPPORTED, "page_size, %llu, is not a power of two",
			(unsigned long long)page_size);
	if (page_size > WHOLE_PAGE && args->durability != NB_DUR_NONE)
		return host->fail(NB_UNSUPPORTED,
			"durability must be none with page_size above %d: a crash may leave a partly written page",
			WHOLE_PAGE);
	return check_log_options(args);
}

/* Check that the database exists and was made with this product. */
static int
check_directory(const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	bool has_records = is_there(args->path, RECORDS_FILE);
	bool has_log = is_there(args->path, LOG_DIR);
	bool wants_log = args->options[PRODUCT].u64 == TDS;
	if (!has_records && (args->flags & NB_OPEN_CREATE) == 0)
		return host->fail(NB_FAIL, "no database: " RECORDS_FILE " does not exist");
	if (has_log && !wants_log)
		return host->fail(NB_UNSUPPORTED,
			"the database was made with product=tds and would be damaged without its log");
	if (has_records && !has_log && wants_log)
		return host->fail(NB_UNSUPPORTED,
			"the database was made with product=cds or ds and has no log to recover from");
	return NB_OK;
}

/*
 * Below 500 MB, Berkeley DB adds a quarter for page headers (__memp_set_cachesize). This
 * compensates for it: `bytes` is the total.
 */
static int
set_cache(DB_ENV *env, uint64_t bytes)
{
	const uint32_t gib = 1u << 30;
	if (bytes / 5 * 4 < 500u << 20)
		bytes = bytes / 5 * 4;
	return env->set_cachesize(env, (uint32_t)(bytes / gib), (uint32_t)(bytes % gib), 1);
}

static int
set_log(DB_ENV *env, const struct nb_open_args *args)
{
	static const uint32_t victims[] = {DB_LOCK_RANDOM, DB_LOCK_OLDEST, DB_LOCK_YOUNGEST,
		DB_LOCK_MINLOCKS, DB_LOCK_MINWRITE};
	const struct nb_option_value *value = args->options;
	int error = env->set_lg_dir(env, LOG_DIR);
	if (error == 0 && value[LOG_BUFFER].is_set != 0)
		error = env->set_lg_bsize(env, (uint32_t)value[LOG_BUFFER].u64);
	if (error == 0 && value[LOG_FILE].is_set != 0)
		error = env->set_lg_max(env, (uint32_t)value[LOG_FILE].u64);
	if (error == 0)
		error = env->log_set_config(env, DB_LOG_AUTO_REMOVE, 1);
	if (error == 0)
		error = env->set_lk_detect(env, victims[value[DEADLOCK].u64]);
	if (error == 0 && args->durability == NB_DUR_NONE)
		error = env->set_flags(env, DB_TXN_NOSYNC, 1);
	if (error == 0 && args->durability == NB_DUR_PROCESS)
		error = env->set_flags(env, DB_TXN_WRITE_NOSYNC, 1);
	return error;
}

/*
 * A shared environment must reserve memory that a private one takes from the heap on demand.
 * The reservation is address space; the files grow with use. DB_REGION_INIT writes their
 * initial part, so a full disk causes a failure here instead of a SIGBUS later.
 */
static int
set_regions(DB_ENV *env)
{
	int error = env->set_lk_max_locks(env, LOCKS);
	if (error == 0)
		error = env->set_lk_max_objects(env, LOCKS);
	if (error == 0)
		error = env->set_lk_max_lockers(env, LOCKERS);
	if (error == 0)
		error = env->set_tx_max(env, LOCKERS);
	if (error == 0)
		error = env->set_flags(env, DB_REGION_INIT, 1);
	return error;
}

static int
set_env(struct nb_db *db, const struct nb_open_args *args)
{
	DB_ENV *env = db->env;
	env->set_errcall(env, keep_message);
	/* Otherwise a small file opened for reading would be mapped, bypassing the cache. */
	int error = env->set_flags(env, DB_NOMMAP, 1);
	if (error == 0 && args->options[DIRECT].u64 != 0)
		error = env->set_flags(env, DB_DIRECT_DB, 1);
	if (error == 0 && args->cache_bytes != 0)
		error = set_cache(env, args->cache_bytes);
	if (error == 0 && db->product == TDS)
		error = set_log(env, args);
	if (error == 0 && db->is_shared)
		error = set_regions(env);
	return error;
}

/* A process that is alone recovers a shared environment: see sharing.c. */
static uint32_t
env_flags(const struct nb_db *db)
{
	static const uint32_t flags[] = {
		[TDS] = DB_THREAD | DB_INIT_TXN | DB_INIT_LOCK | DB_INIT_LOG,
		[CDS] = DB_THREAD | DB_INIT_CDB,
		[DS] = 0};
	uint32_t all = DB_CREATE | DB_INIT_MPOOL | flags[db->product];
	all |= db->is_shared ? DB_REGISTER : DB_PRIVATE;
	if (db->product == TDS && (!db->is_shared || db->is_alone))
		all |= DB_RECOVER;
	return all;
}

static int
env_open(struct nb_db *db, const struct nb_open_args *args)
{
	int error = db_env_create(&db->env, 0);
	if (error != 0)
		return environment_failure(db->host, "db_env_create", error);
	error = set_env(db, args);
	if (error == 0)
		error = db->env->open(db->env, args->path, env_flags(db), 0);
	if (error == 0)
		return NB_OK;
	int rc = error == DB_RUNRECOVERY && db->is_shared && !db->is_alone
		? db->host->fail(NB_FAIL,
			  "a process that had it open died, and others still have it open; they are asked to end, and the next open recovers it")
		: environment_failure(db->host, "DB_ENV->open", error);
	db->env->close(db->env, 0);
	return rc;
}

/* 0: Berkeley DB's choice, the block of the file system up to 16 KiB. */
static uint32_t
page_size_of(const struct nb_open_args *args)
{
	const struct nb_option_value *typed = &args->options[PAGE_SIZE];
	struct stat status;
	if (typed->is_set != 0)
		return (uint32_t)typed->u64;
	return args->durability != NB_DUR_NONE && stat(args->path, &status) == 0 &&
			status.st_blksize > WHOLE_PAGE
		? WHOLE_PAGE
		: 0;
}

/* Settings of a new database; an existing one keeps its own. */
static int
set_base(DB *base, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	uint32_t page_size = page_size_of(args);
	int error = 0;
	if (page_size != 0)
		error = base->set_pagesize(base, page_size);
	if (error == 0 && value[CHECKSUM].u64 != 0)
		error = base->set_flags(base, DB_CHKSUM);
	return error;
}

/* Berkeley DB would ignore a different setting of an existing database. */
static int
check_base(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	uint32_t page_size = 0;
	uint32_t flags = 0;
	db->base->get_pagesize(db->base, &page_size);
	db->base->get_flags(db->base, &flags);
	if (value[PAGE_SIZE].is_set != 0 && value[PAGE_SIZE].u64 != page_size)
		return db->host->fail(NB_UNSUPPORTED, "the database was made with page_size=%u",
			(unsigned)page_size);
	if (page_size > WHOLE_PAGE && args->durability != NB_DUR_NONE)
		return db->host->fail(NB_UNSUPPORTED,
			"the database was made with page_size=%u: a crash may tear pages of more than %d bytes, so durability must be none",
			(unsigned)page_size, WHOLE_PAGE);
	if ((value[CHECKSUM].u64 != 0) != ((flags & DB_CHKSUM) != 0))
		return db->host->fail(NB_UNSUPPORTED, "the database was made with checksum=%s",
			(flags & DB_CHKSUM) != 0 ? "yes" : "no");
	return NB_OK;
}

static int
base_open(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	uint32_t flags = 0;
	int error = db_create(&db->base, db->env, 0);
	if (error != 0)
		return environment_failure(db->host, "db_create", error);
	if (db->product == TDS)
		flags |= DB_AUTO_COMMIT;
	if (db->product != DS)
		flags |= DB_THREAD;
	if (db->has_snapshots)
		flags |= DB_MULTIVERSION;
	if ((args->flags & NB_OPEN_CREATE) != 0)
		flags |= DB_CREATE;
	else if ((args->flags & NB_OPEN_READ_ONLY) != 0)
		flags |= DB_RDONLY;
	error = set_base(db->base, args);
	if (error == 0)
		error = db->base->open(db->base, NULL, RECORDS_FILE, NULL,
			value[TYPE].u64 == HASH ? DB_HASH : DB_BTREE, flags, 0);
	int rc = error == 0 ? check_base(db, args)
			    : environment_failure(db->host, "DB->open", error);
	if (rc != NB_OK)
		db->base->close(db->base, DB_NOSYNC);
	return rc;
}

int
environment_write_out(struct nb_db *db, uint32_t flags)
{
	int error = db->product == TDS ? db->env->txn_checkpoint(db->env, 0, 0, flags)
				       : db->base->sync(db->base, 0);
	return error == 0
		? NB_OK
		: environment_failure(db->host,
			  db->product == TDS ? "DB_ENV->txn_checkpoint" : "DB->sync", error);
}

static int
sync_one(struct nb_db *db, const char *name)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", db->path, name);
	int error = sync_path(path);
	return error == 0 ? NB_OK
			  : db->host->fail(NB_FAIL, "fsync %s: %s", path, strerror(error));
}

/*
 * Records without a log look like another product's, so the name of the log is made durable
 * first.
 */
static int
make_log_directory(struct nb_db *db, const struct nb_open_args *args)
{
	char name[PATH_MAX];
	snprintf(name, sizeof(name), "%s/" LOG_DIR, args->path);
	if (mkdir(name, 0777) == 0)
		return args->durability == NB_DUR_COMMIT ? sync_one(db, ".") : NB_OK;
	if (errno == EEXIST)
		return NB_OK;
	return db->host->fail(NB_FAIL, "mkdir %s: %s", name, strerror(errno));
}

/*
 * Berkeley DB never syncs directories. The records file is renamed when it is complete, and
 * already synced, so a later sync does not make its name durable. The names may come from an
 * open at another level or from a killed one. So every open syncs them.
 */
static int
sync_names(struct nb_db *db, const struct nb_open_args *args)
{
	static const char *const names[] = {RECORDS_FILE, LOG_DIR, "."};
	int rc = NB_OK;
	if (args->durability != NB_DUR_COMMIT || (args->flags & NB_OPEN_READ_ONLY) != 0)
		return NB_OK;
	for (size_t i = 0; i < COUNT_OF(names) && rc == NB_OK; i++)
		rc = sync_one(db, names[i]);
	return rc;
}

int
database_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	int rc = check_options(args);
	if (rc == NB_OK)
		rc = check_directory(args); /* before a lock file is created there */
	if (rc != NB_OK)
		return rc;
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db != NULL)
		db->path = strdup(args->path);
	if (db == NULL || db->path == NULL) {
		free(db);
		return args->host->fail(NB_FAIL, "out of memory");
	}
	db->host = args->host;
	db->is_shared = value[SHARED].u64 != 0;
	db->product = (uint32_t)value[PRODUCT].u64;
	db->is_ordered = value[TYPE].u64 == BTREE;
	db->has_snapshots = value[SNAPSHOT].u64 != 0;
	db->checkpoint_kib = (uint32_t)((value[CHECKPOINT].u64 + 1023) / 1024);
	told[0] = '\0';
	rc = sharing_enter(db, args->path);
	if (rc != NB_OK)
		goto free_db;
	bool is_new = !is_there(args->path, RECORDS_FILE);
	rc = check_directory(args);
	if (rc == NB_OK && db->product == TDS)
		rc = make_log_directory(db, args);
	if (rc == NB_OK)
		rc = env_open(db, args);
	if (rc != NB_OK)
		goto leave;
	rc = base_open(db, args);
	if (rc != NB_OK)
		goto close_env;
	/* Otherwise only the log or the cache would contain the new database. */
	rc = is_new ? environment_write_out(db, DB_FORCE) : NB_OK;
	if (rc == NB_OK)
		rc = sync_names(db, args);
	if (rc != NB_OK)
		goto close_base;
	sharing_settle(db);
	*out = db;
	return NB_OK;

close_base:
	db->base->close(db->base, DB_NOSYNC);
close_env:
	db->env->close(db->env, 0);
leave:
	sharing_leave(db, db->path);
free_db:
	free(db->path);
	free(db);
	return rc;
}

/*
 * The checkpoint avoids a recovery at the next open. If other processes have the database
 * open, the last of them makes it.
 */
int
database_close(struct nb_db *db)
{
	int rc = NB_OK;
	sharing_begin_leave(db);
	int error = db->base->close(db->base, db->is_alone ? 0 : DB_NOSYNC);
	if (error != 0)
		rc = environment_failure(db->host, "DB->close", error);
	if (rc == NB_OK && db->product == TDS && db->is_alone)
		error = db->env->txn_checkpoint(db->env, 0, 0, 0);
	if (rc == NB_OK && error != 0)
		rc = environment_failure(db->host, "DB_ENV->txn_checkpoint", error);
	error = db->env->close(db->env, 0);
	if (rc == NB_OK && error != 0)
		rc = environment_failure(db->host, "DB_ENV->close", error);
	sharing_leave(db, db->path);
	free(db->path);
	free(db);
	return rc;
}
