/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening PerconaFT.
 *
 * - It locks its directory, and prints to stderr if it cannot. So the plugin first locks the
 *   directory with flock(2).
 * - It creates an environment file by file, and a kill in between leaves files that it
 *   rejects forever. So an environment is created in the directory data.new, which is
 *   renamed to data after the first checkpoint. PerconaFT knows its directory as
 *   /proc/self/fd/N, which stays valid.
 * - On a full disk it retries forever, inside a call or in a thread that later calls wait
 *   for. So the plugin checks the free space in advance.
 * - Some settings apply to the whole process (O_DIRECT); some are rejected until the
 *   environment is open.
 */
#include "environment.h"

#include <dirent.h>
#include <sys/file.h>

/* Names in the database directory, and in the environment's directory there. */
#define HOME "data"
#define HOME_NEW "data.new"
#define ENVIRONMENT_FILE "tokudb.environment"
#define DICTIONARY "records"

#define CACHE_DEFAULT (128ull << 20) /* the library's default, cachetable.cc */
#define CACHE_LEAST (16ull << 20)
#define ROOM_LEAST (64ull << 20) /* on disk: the log and the trees of an empty database */
#define SECOND 1000000000ull
#define MILLISECOND 1000000ull

enum { TOLD_SIZE = 400 };

static const TOKU_COMPRESSION_METHOD compressions[] = {
	TOKU_NO_COMPRESSION, TOKU_QUICKLZ_METHOD, TOKU_ZLIB_METHOD, TOKU_LZMA_METHOD};

#define OPTIONS(X) \
	X(NODE_SIZE, BYTES, "node_size", NULL, 64 << 10, 64 << 20, \
		"data of a node before it is split; default 4MiB") \
	X(BASEMENT_SIZE, BYTES, "basement_size", NULL, 4 << 10, 16 << 20, \
		"part of a leaf that is read and unpacked alone; default 128KiB") \
	X(FANOUT, U64, "fanout", NULL, "children", 2, 1024, "of an inner node; default 16") \
	X(COMPRESSION, CHOICE, "compression", NULL, "none|quicklz|zlib|lzma", \
		"of nodes that are written; default quicklz") \
	X(CHECKPOINT, TIME, "checkpoint", "60s", 0, 86400 * SECOND, \
		"whole seconds between checkpoints of its thread; 0: none") \
	X(CLEANER, TIME, "cleaner", "1s", 0, 86400 * SECOND, \
		"whole seconds between runs of the thread that flushes nodes; 0: none") \
	X(SYNC_INTERVAL, TIME, "sync_interval", "0s", 0, 3600 * SECOND, \
		"between syncs of the log at durability none, whole milliseconds; 0: none") \
	X(LOCK_TIMEOUT, TIME, "lock_timeout", "4s", 0, 3600 * SECOND, \
		"for a row's lock, whole milliseconds; then it is a conflict") \
	X(REDZONE, U64, "redzone", "5", "percent", 0, 50, \
		"of the file system that must be free, or puts are refused") \
	X(DIRECT, BOOL, "direct", "no", "read and write nodes with O_DIRECT")

enum { OPTIONS(OPTION_ID) };
const struct nb_option environment_options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

/* --- failures --- */

/* The first message since the last failure: the others follow from it. */
static _Thread_local char told[TOLD_SIZE];

static void
keep_message(const DB_ENV *env, const char *prefix, const char *message)
{
	if (told[0] == '\0')
		snprintf(told, sizeof(told), "%.*s", (int)strcspn(message, "\n"), message);
}

static const char *
advice(int error)
{
	switch (error) {
	case ENOSPC:
		return "; less of the file system is free than the option redzone asks for";
	case DB_RUNRECOVERY:
		return "; its recovery failed, as part of its log is damaged; stderr has more";
	case TOKUDB_HUGE_PAGES_ENABLED:
		return "; echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
	default:
		return "";
	}
}

int
environment_failure(const struct nb_host *host, const char *call, int error)
{
	const char *text = db_strerror(error);
	int rc = told[0] == '\0'
		? host->fail(NB_FAIL, "%s: %s%s", call, text, advice(error))
		: host->fail(NB_FAIL, "%s: %s (%s)%s", call, text, told, advice(error));
	told[0] = '\0';
	return rc;
}

/* --- the requested options --- */

static int
check_options(const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	const struct nb_option_value *value = args->options;
	if (args->durability == NB_DUR_PROCESS || args->durability == NB_DUR_PERIODIC)
		return host->fail(NB_UNSUPPORTED,
			"durability must be none or commit: the log is in memory until it is synced, and kill -9 loses it");
	if (args->cache_bytes != 0 && args->cache_bytes < CACHE_LEAST)
		return host->fail(NB_UNSUPPORTED,
			"a cache of %llu bytes is too small to work in; at least 16MiB",
			(unsigned long long)args->cache_bytes);
	if (value[CHECKPOINT].u64 % SECOND != 0 || value[CLEANER].u64 % SECOND != 0)
		return host->fail(
			NB_UNSUPPORTED, "checkpoint and cleaner must be whole seconds");
	if (value[SYNC_INTERVAL].u64 % MILLISECOND != 0 ||
		value[LOCK_TIMEOUT].u64 % MILLISECOND != 0)
		return host->fail(NB_UNSUPPORTED,
			"sync_interval and lock_timeout must be whole milliseconds");
	return NB_OK;
}

/* --- the directories --- */

static int
open_directory_at(int fd, const char *name)
{
	return openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The kernel releases the lock when the process ends in any way. */
static int
lock_directory(struct nb_db *db)
{
	db->directory_fd = open_directory_at(AT_FDCWD, db->path);
	if (db->directory_fd < 0)
		return db->host->fail(NB_FAIL, "%s: %s", db->path, strerror(errno));
	/* If flock(2) fails, only the library's own lock remains, which prints to stderr. */
	if (flock(db->directory_fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return NB_OK;
	return db->host->fail(NB_FAIL, "it is open already, here or in another process");
}

static bool
is_environment(int fd)
{
	return faccessat(fd, ENVIRONMENT_FILE, F_OK, 0) == 0;
}

/* Remove an unfinished environment. If it returns false, errno contains the reason. */
static bool
clear_unfinished(const struct nb_db *db)
{
	int fd = open_directory_at(db->directory_fd, HOME_NEW);
	if (fd < 0)
		return errno == ENOENT;
	DIR *names = fdopendir(fd);
	if (names == NULL) {
		close(fd);
		return false;
	}
	for (struct dirent *at = readdir(names); at != NULL; at = readdir(names))
		unlinkat(fd, at->d_name, 0); /* fails for "." and ".." */
	closedir(names);
	return unlinkat(db->directory_fd, HOME_NEW, AT_REMOVEDIR) == 0;
}

static int
make_home(struct nb_db *db)
{
	if (clear_unfinished(db) && mkdirat(db->directory_fd, HOME_NEW, 0777) == 0)
		db->home_fd = open_directory_at(db->directory_fd, HOME_NEW);
	db->is_unnamed = db->home_fd >= 0;
	return db->is_unnamed
		? NB_OK
		: db->host->fail(NB_FAIL, "%s/" HOME_NEW ": %s", db->path, strerror(errno));
}

/* Earlier versions of this plugin created the environment in the database directory itself. */
static int
find_home(struct nb_db *db, bool may_create)
{
	bool is_flat = is_environment(db->directory_fd);
	db->home_fd = open_directory_at(db->directory_fd, is_flat ? "." : HOME);
	if (db->home_fd >= 0)
		return is_environment(db->home_fd)
			? NB_OK
			: db->host->fail(NB_FAIL,
				  "the database is damaged: " HOME "/" ENVIRONMENT_FILE
				  " is missing; delete it to make a new one");
	if (errno != ENOENT)
		return db->host->fail(NB_FAIL, "%s/" HOME ": %s", db->path, strerror(errno));
	return may_create
		? make_home(db)
		: db->host->fail(NB_FAIL, "no database: the directory " HOME " does not exist");
}

/* Rename the environment, which is complete and durable after a checkpoint. */
static int
name_home(struct nb_db *db)
{
	int fd = db->directory_fd;
	if (fsync(db->home_fd) != 0 || renameat(fd, HOME_NEW, fd, HOME) != 0)
		return db->host->fail(
			NB_FAIL, "%s/" HOME_NEW ": %s", db->path, strerror(errno));
	db->is_unnamed = false;
	return fsync(fd) == 0 ? NB_OK
			      : db->host->fail(NB_FAIL, "%s: %s", db->path, strerror(errno));
}

static void
close_directories(struct nb_db *db)
{
	if (db->is_unnamed)
		clear_unfinished(db); /* if this fails, the next open retries it */
	if (db->home_fd >= 0)
		close(db->home_fd);
	if (db->directory_fd >= 0)
		close(db->directory_fd);
}

/* --- the environment --- */

/*
 * Check that the disk has room for unwritten data: twice the written part of the cache, and
 * ROOM_LEAST.
 */
int
environment_check_room(struct nb_db *db)
{
	struct statvfs info;
	uint64_t written = __atomic_load_n(&db->written, __ATOMIC_RELAXED);
	uint64_t unwritten = written < db->cache_bytes ? written : db->cache_bytes;
	uint64_t wanted = ROOM_LEAST + 2 * unwritten;
	if (statvfs(db->path, &info) != 0)
		return db->host->fail(NB_FAIL, "statvfs %s: %s", db->path, strerror(errno));
	uint64_t room = (uint64_t)info.f_bavail * info.f_frsize;
	if (room >= wanted)
		return NB_OK;
	return db->host->fail(NB_FAIL,
		"no space left: %llu MiB are free, of %llu that may be needed, and on a full disk PerconaFT would wait for ever",
		(unsigned long long)(room >> 20), (unsigned long long)(wanted >> 20));
}

static int
set_environment(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	const uint64_t gib = 1u << 30;
	DB_ENV *env = db->env;
	int error = 0;
	env->set_errcall(env, keep_message);
	db_env_set_direct_io(value[DIRECT].u64 != 0);
	if (args->cache_bytes != 0)
		error = env->set_cachesize(env, (uint32_t)(args->cache_bytes / gib),
			(uint32_t)(args->cache_bytes % gib), 1);
	if (error == 0)
		error = env->set_redzone(env, (int)value[REDZONE].u64);
	if (error == 0)
		error = env->set_lock_timeout(env, value[LOCK_TIMEOUT].u64 / MILLISECOND, NULL);
	if (args->durability == NB_DUR_NONE)
		env->change_fsync_log_period(
			env, (uint32_t)(value[SYNC_INTERVAL].u64 / MILLISECOND));
	return error;
}

static int
env_open(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	char home[32];
	int error = db_env_create(&db->env, 0);
	if (error != 0)
		return environment_failure(db->host, "db_env_create", error);
	snprintf(home, sizeof(home), "/proc/self/fd/%d", db->home_fd);
	DB_ENV *env = db->env;
	error = set_environment(db, args);
	if (error == 0)
		error = env->open(env, home,
			DB_CREATE | DB_PRIVATE | DB_THREAD | DB_INIT_MPOOL | DB_INIT_LOCK |
				DB_INIT_LOG | DB_INIT_TXN | DB_RECOVER,
			0666);
	if (error == 0) /* both are rejected before the environment is open */
		error = env->checkpointing_set_period(
			env, (uint32_t)(value[CHECKPOINT].u64 / SECOND));
	if (error == 0)
		error = env->cleaner_set_period(env, (uint32_t)(value[CLEANER].u64 / SECOND));
	if (error == 0)
		return NB_OK;
	int rc = environment_failure(db->host, "DB_ENV->open", error);
	/*
	 * After a failed recovery the log is /dev/null. A close would sync it, which fails and
	 * ends the program. So this environment is never freed.
	 */
	if (error != DB_RUNRECOVERY)
		env->close(env, 0);
	return rc;
}

/* Settings of a new dictionary; an existing one keeps its own. */
static int
set_base(DB *base, const struct nb_option_value *value)
{
	int error = 0;
	if (value[NODE_SIZE].is_set != 0)
		error = base->set_pagesize(base, (uint32_t)value[NODE_SIZE].u64);
	if (error == 0 && value[BASEMENT_SIZE].is_set != 0)
		error = base->set_readpagesize(base, (uint32_t)value[BASEMENT_SIZE].u64);
	if (error == 0 && value[FANOUT].is_set != 0)
		error = base->set_fanout(base, (uint32_t)value[FANOUT].u64);
	if (error == 0 && value[COMPRESSION].is_set != 0)
		error = base->set_compression_method(
			base, compressions[value[COMPRESSION].u64]);
	return error;
}

/* PerconaFT would ignore a different setting of an existing database. */
static int
check_base(struct nb_db *db, const struct nb_option_value *value)
{
	DB *base = db->base;
	uint32_t node_size = 0, basement_size = 0, fanout = 0;
	TOKU_COMPRESSION_METHOD compression = TOKU_NO_COMPRESSION;
	base->get_pagesize(base, &node_size);
	base->get_readpagesize(base, &basement_size);
	base->get_fanout(base, &fanout);
	base->get_compression_method(base, &compression);
	if (value[NODE_SIZE].is_set != 0 && value[NODE_SIZE].u64 != node_size)
		return db->host->fail(
			NB_UNSUPPORTED, "the database was made with node_size=%u", node_size);
	if (value[BASEMENT_SIZE].is_set != 0 && value[BASEMENT_SIZE].u64 != basement_size)
		return db->host->fail(NB_UNSUPPORTED,
			"the database was made with basement_size=%u", basement_size);
	if (value[FANOUT].is_set != 0 && value[FANOUT].u64 != fanout)
		return db->host->fail(
			NB_UNSUPPORTED, "the database was made with fanout=%u", fanout);
	if (value[COMPRESSION].is_set != 0 &&
		compressions[value[COMPRESSION].u64] != compression)
		return db->host->fail(
			NB_UNSUPPORTED, "the database was made with another compression");
	return NB_OK;
}

static int
base_open(struct nb_db *db, const struct nb_open_args *args)
{
	int error = db_create(&db->base, db->env, 0);
	if (error != 0)
		return environment_failure(db->host, "db_create", error);
	error = set_base(db->base, args->options);
	if (error == 0)
		error = db->base->open(db->base, NULL, DICTIONARY, NULL, DB_BTREE,
			(args->flags & NB_OPEN_CREATE) != 0 ? DB_CREATE : 0, 0666);
	int rc = error == 0 ? check_base(db, args->options)
			    : environment_failure(db->host, "DB->open", error);
	if (rc != NB_OK)
		db->base->close(db->base, 0);
	return rc;
}

int
database_checkpoint(struct nb_db *db)
{
	int error = db->env->txn_checkpoint(db->env, 0, 0, 0);
	return error == 0 ? NB_OK
			  : environment_failure(db->host, "DB_ENV->txn_checkpoint", error);
}

int
database_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	int rc = check_options(args);
	if (rc != NB_OK)
		return rc;
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	db->host = host;
	db->directory_fd = db->home_fd = -1;
	db->write_flags = args->durability == NB_DUR_COMMIT ? 0 : DB_TXN_NOSYNC;
	db->cache_bytes = args->cache_bytes != 0 ? args->cache_bytes : CACHE_DEFAULT;
	snprintf(db->path, sizeof(db->path), "%s", args->path);
	told[0] = '\0';
	rc = lock_directory(db);
	if (rc == NB_OK)
		rc = find_home(db, (args->flags & NB_OPEN_CREATE) != 0);
	if (rc == NB_OK)
		rc = environment_check_room(db);
	if (rc == NB_OK)
		rc = env_open(db, args);
	if (rc != NB_OK)
		goto close_directories;
	rc = base_open(db, args);
	if (rc != NB_OK)
		goto close_env;
	if (db->is_unnamed) {
		rc = database_checkpoint(db);
		if (rc == NB_OK)
			rc = name_home(db);
	}
	if (rc != NB_OK)
		goto close_base;
	*out = db;
	return NB_OK;

close_base:
	db->base->close(db->base, 0);
close_env:
	db->env->close(db->env, 0);
close_directories:
	close_directories(db);
	free(db);
	return rc;
}

/* Makes two checkpoints, so a later open needs no recovery. */
int
database_close(struct nb_db *db)
{
	int rc = NB_OK;
	int error = db->base->close(db->base, 0);
	if (error != 0)
		rc = environment_failure(db->host, "DB->close", error);
	error = db->env->close(db->env, 0);
	if (rc == NB_OK && error != 0)
		rc = environment_failure(db->host, "DB_ENV->close", error);
	close_directories(db);
	free(db);
	return rc;
}
