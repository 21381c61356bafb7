/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening LMDB.
 *
 * - The map limits the database. It can be enlarged only while the process has no open
 *   transaction, which would require a lock around each call. So the map is large from the
 *   start: without MDB_WRITEMAP it uses address space, but neither memory nor disk.
 * - A full disk makes pwrite(2) fail, but causes SIGBUS in a mapping. So the blocks of
 *   lock.mdb, and with MDB_WRITEMAP of data.mdb, are reserved before they are mapped.
 * - Each commit writes its pages, then one of two meta pages, with write(2) or in a shared
 *   mapping. So a kill loses nothing at any level. MDB_NOSYNC syncs nothing. MDB_NOMETASYNC
 *   syncs a meta page with the next commit, so power loss may undo the last commit:
 *   'periodic'. MDB_MAPASYNC is not used, because Linux ignores msync(MS_ASYNC).
 */
#include "environment.h"

#include <sys/mman.h>

enum {
	READERS = 126,     /* LMDB's default */
	READER_BYTES = 64, /* a slot of the reader table; its header takes two */
	FILE_PATH_SIZE = 4096
};

/* Exceeds most disks, and is a small part of the 128 TiB of address space. */
#define MAP_SIZE (1ull << 40)
#define MAP_SIZE_MIN (64ull << 10)
#define MAP_SIZE_MAX (64ull << 40)

#define OPTIONS(X) \
	X(MAP_SIZE_OPTION, BYTES, "map_size", NULL, MAP_SIZE_MIN, MAP_SIZE_MAX, \
		"the largest that the database can grow; without: 1TiB or more") \
	X(MAX_READERS, U64, "max_readers", NULL, "slots", 1, UINT_MAX, \
		"sessions of all processes; without: 126 or more") \
	X(READAHEAD, BOOL, "readahead", "yes", "let the system read ahead; no: MDB_NORDAHEAD") \
	X(WRITEMAP, BOOL, "writemap", "no", \
		"write through the map, and reserve map_size on the disk: MDB_WRITEMAP") \
	X(MEMINIT, BOOL, "meminit", "yes", \
		"zero the unused bytes of a page before writing it; no: MDB_NOMEMINIT")
enum { OPTIONS(OPTION_ID) };
const struct nb_option environment_options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

/* Advice where LMDB's own text contains none. */
static const char *
advice(int error)
{
	switch (error) {
	case MDB_MAP_FULL:
		return "; give a larger map_size";
	case MDB_MAP_RESIZED:
		return "; another process made it larger than this one's map: give map_size";
	case MDB_READERS_FULL:
		return "; give a larger max_readers";
	case MDB_TXN_FULL:
		return "; write less in one transaction";
	case EACCES:
		return "; its files or the transaction may be read-only";
	case EFBIG:
	case EOVERFLOW:
		return "; give a smaller map_size";
	case EIO:
		return "; LMDB says so of a full disk, too";
	default:
		return "";
	}
}

int
environment_failure(const struct nb_host *host, const char *call, int error)
{
	return host->fail(NB_FAIL, "%s: %s%s", call, mdb_strerror(error), advice(error));
}

/* --- open and close --- */

/* How to open the database. */
struct settings {
	const struct nb_open_args *args;
	const struct nb_host *host;
	size_t map_size;
	unsigned int max_readers;
	unsigned int flags;
	bool is_map_given;
};

static int
file_path(const struct settings *to, char *buf, const char *name)
{
	int length = snprintf(buf, FILE_PATH_SIZE, "%s/%s", to->args->path, name);
	return length < FILE_PATH_SIZE ? NB_OK
				       : to->host->fail(NB_FAIL, "the path is too long");
}

/*
 * Otherwise LMDB would create a database in any writable place. *size: size of the file, 0
 * if missing.
 */
static int
find_database(const struct settings *to, uint64_t *size)
{
	char path[FILE_PATH_SIZE];
	struct stat info;
	int rc = file_path(to, path, "data.mdb");
	*size = 0;
	if (rc != NB_OK)
		return rc;
	if (stat(path, &info) == 0)
		*size = (uint64_t)info.st_size;
	else if (errno != ENOENT)
		return to->host->fail(NB_FAIL, "data.mdb: %s", strerror(errno));
	if (*size == 0 && (to->args->flags & NB_OPEN_CREATE) == 0)
		return to->host->fail(NB_FAIL, "no database: data.mdb does not exist");
	return NB_OK;
}

/* Whether so much address space is available; not with ulimit -v or valgrind, for example. */
static bool
has_room(uint64_t size)
{
	void *room = mmap(
		NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return room != MAP_FAILED && munmap(room, size) == 0;
}

/* Four times the expected data, because of half-empty pages and pages of older versions. */
static uint64_t
default_map_size(const struct nb_open_args *args, uint64_t file_size)
{
	uint64_t record = args->key_size + args->value_size + 24;
	uint64_t wanted = file_size * 2;
	uint64_t size = MAP_SIZE;
	if (args->records < MAP_SIZE_MAX / 4 / record && args->records * record * 4 > wanted)
		wanted = args->records * record * 4;
	while (size < wanted && size < MAP_SIZE_MAX)
		size *= 2;
	if (has_room(size))
		return size;
	while (size > MAP_SIZE_MIN && !has_room(size))
		size /= 2;
	size /= 2; /* leave address space for the rest of the process */
	args->host->log(NB_LOG_WARNING,
		"lmdb: addresses are scarce here: the database can grow to %llu MiB",
		(unsigned long long)size >> 20);
	return size;
}

static int
settle_map_size(struct settings *to)
{
	const struct nb_option_value *value = to->args->options;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t file_size;
	int rc = find_database(to, &file_size);
	if (rc != NB_OK)
		return rc;
	to->is_map_given = value[MAP_SIZE_OPTION].is_set != 0;
	if (!to->is_map_given && value[WRITEMAP].u64 != 0)
		return to->host->fail(NB_UNSUPPORTED,
			"writemap needs map_size: the plugin reserves that much of the disk");
	to->map_size = to->is_map_given ? value[MAP_SIZE_OPTION].u64
					: default_map_size(to->args, file_size);
	if (to->map_size % page != 0)
		return to->host->fail(NB_UNSUPPORTED,
			"map_size is not a multiple of the page, %llu bytes",
			(unsigned long long)page);
	if (!has_room(to->map_size))
		return to->host->fail(NB_FAIL,
			"a map of %zu bytes: no room for its addresses; give a smaller map_size",
			to->map_size);
	return NB_OK;
}

static int
settle_max_readers(struct settings *to)
{
	const struct nb_option_value *value = &to->args->options[MAX_READERS];
	uint32_t sessions = to->args->sessions;
	to->max_readers = sessions > READERS ? sessions : READERS;
	if (value->is_set != 0)
		to->max_readers = (unsigned int)value->u64;
	if (to->max_readers < sessions)
		return to->host->fail(NB_UNSUPPORTED,
			"max_readers is %u, but there are %u sessions", to->max_readers,
			(unsigned)sessions);
	return NB_OK;
}

static int
settle_flags(struct settings *to)
{
	const struct nb_option_value *value = to->args->options;
	to->flags = MDB_NOTLS;
	if (to->args->durability == NB_DUR_PROCESS)
		to->flags |= MDB_NOSYNC;
	else if (to->args->durability == NB_DUR_PERIODIC)
		to->flags |= MDB_NOMETASYNC;
	else if (to->args->durability != NB_DUR_COMMIT)
		return to->host->fail(NB_UNSUPPORTED,
			"lmdb always survives kill -9: durability none is not offered");
	if (value[WRITEMAP].u64 != 0 && value[MEMINIT].u64 == 0)
		return to->host->fail(
			NB_UNSUPPORTED, "meminit has no effect with writemap; leave it out");
	if ((to->args->flags & NB_OPEN_READ_ONLY) != 0)
		to->flags |= MDB_RDONLY;
	else if (value[WRITEMAP].u64 != 0)
		to->flags |= MDB_WRITEMAP;
	if (value[READAHEAD].u64 == 0)
		to->flags |= MDB_NORDAHEAD;
	if (value[MEMINIT].u64 == 0)
		to->flags |= MDB_NOMEMINIT;
	return NB_OK;
}

/*
 * Reserve blocks for writes through a mapping. If the file cannot be opened, LMDB reports
 * it. If the file system does not support reservation, only warn.
 */
static int
reserve(const struct settings *to, const char *name, uint64_t size)
{
	char path[FILE_PATH_SIZE];
	int rc = file_path(to, path, name);
	if (rc != NB_OK)
		return rc;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	bool is_new = fd >= 0;
	if (!is_new)
		fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NB_OK;
	int error = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)size) == 0 ? 0 : errno;
	if (error != 0 && is_new)
		unlink(path);
	close(fd);
	if (error == 0)
		return NB_OK;
	if (error == EOPNOTSUPP || error == ENOSYS) {
		to->host->log(NB_LOG_WARNING,
			"lmdb: %s cannot be reserved here: a full disk may end the process",
			name);
		return NB_OK;
	}
	return to->host->fail(NB_FAIL, "%s: reserving %llu bytes: %s", name,
		(unsigned long long)size, strerror(error));
}

static int
reserve_files(const struct settings *to)
{
	int rc = reserve(to, "lock.mdb", ((uint64_t)to->max_readers + 2) * READER_BYTES);
	if (rc == NB_OK && (to->flags & MDB_WRITEMAP) != 0)
		rc = reserve(to, "data.mdb", to->map_size);
	return rc;
}

/* LMDB silently enlarges a map that is too small, and keeps an existing reader table. */
static int
check_given(const struct settings *to, MDB_env *env)
{
	unsigned int readers = 0;
	MDB_envinfo info;
	mdb_env_info(env, &info);
	mdb_env_get_maxreaders(env, &readers);
	if (info.me_mapsize != to->map_size)
		return to->host->fail(NB_UNSUPPORTED,
			"the database takes %zu bytes already; give a larger map_size",
			info.me_mapsize);
	if (readers < to->args->sessions)
		return to->host->fail(NB_FAIL,
			"another process opened it with max_readers=%u, but there are %u sessions",
			readers, (unsigned)to->args->sessions);
	if (mdb_env_get_maxkeysize(env) < KEY_SIZE_MAX)
		return to->host->fail(NB_UNSUPPORTED,
			"this LMDB is built for keys of %d bytes at most",
			mdb_env_get_maxkeysize(env));
	return NB_OK;
}

static int
open_by(const struct settings *to, MDB_env *env)
{
	int error = mdb_env_set_mapsize(env, to->map_size);
	if (error == MDB_SUCCESS)
		error = mdb_env_set_maxreaders(env, to->max_readers);
	if (error == MDB_SUCCESS)
		error = mdb_env_open(env, to->args->path, to->flags, 0644);
	return error;
}

/*
 * Power loss during the creation of a database may leave a file of two unwritten pages. LMDB
 * neither opens nor recreates it. The file has no data: a transaction would have made it
 * longer.
 */
static bool
forget_unmade(const struct settings *to)
{
	char path[FILE_PATH_SIZE];
	struct stat info;
	return (to->args->flags & NB_OPEN_CREATE) != 0 && (to->flags & MDB_RDONLY) == 0 &&
		file_path(to, path, "data.mdb") == NB_OK && stat(path, &info) == 0 &&
		info.st_size <= 2 * sysconf(_SC_PAGESIZE) && truncate(path, 0) == 0;
}

static int
env_open(const struct settings *to, MDB_env **env)
{
	int error = open_by(to, *env);
	if (error == MDB_INVALID && forget_unmade(to)) {
		mdb_env_close(*env); /* a failed environment cannot be opened again */
		*env = NULL;
		error = mdb_env_create(env);
		if (error == MDB_SUCCESS)
			error = open_by(to, *env);
	}
	if (error != MDB_SUCCESS)
		return environment_failure(to->host, "mdb_env_open", error);
	return check_given(to, *env);
}

/*
 * LMDB syncs a new database only with its first commit, and never syncs its directory. An
 * earlier open at 'process', or a killed one, may have created the files, so every open
 * syncs them.
 */
static int
sync_made(const struct settings *to, MDB_env *env)
{
	if (to->args->durability < NB_DUR_PERIODIC || (to->flags & MDB_RDONLY) != 0)
		return NB_OK;
	int rc = environment_outcome(to->host, "mdb_env_sync", mdb_env_sync(env, 1));
	if (rc != NB_OK)
		return rc;
	int error = sync_path(to->args->path);
	return error == 0 ? NB_OK
			  : to->host->fail(NB_FAIL, "the directory of the database: fsync: %s",
				    strerror(error));
}

/* The unnamed database always exists, but mdb_dbi_open() must set its key order first. */
static int
open_records(struct nb_db *db)
{
	MDB_txn *txn;
	int error = mdb_txn_begin(db->env, NULL, MDB_RDONLY, &txn);
	if (error != MDB_SUCCESS)
		return environment_failure(db->host, "mdb_txn_begin", error);
	error = mdb_dbi_open(txn, NULL, 0, &db->records);
	if (error == MDB_SUCCESS)
		return environment_outcome(db->host, "mdb_txn_commit", mdb_txn_commit(txn));
	mdb_txn_abort(txn);
	return environment_failure(db->host, "mdb_dbi_open", error);
}

/* Slots of dead processes would keep old pages in use. */
static int
free_stale_readers(struct nb_db *db)
{
	int dead = 0;
	int rc = environment_outcome(
		db->host, "mdb_reader_check", mdb_reader_check(db->env, &dead));
	if (dead > 0)
		db->host->log(
			NB_LOG_INFO, "lmdb: freed %d reader slots of dead processes", dead);
	return rc;
}

static int
settle(struct settings *to)
{
	int rc = settle_flags(to);
	if (rc == NB_OK)
		rc = settle_max_readers(to);
	if (rc == NB_OK)
		rc = settle_map_size(to);
	if (rc == NB_OK)
		rc = reserve_files(to);
	if (rc == NB_OK && to->args->cache_bytes != 0)
		to->host->log(NB_LOG_WARNING,
			"lmdb: has no cache of its own, only the system's; cache does nothing");
	return rc;
}

int
database_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct settings to = {.args = args, .host = args->host};
	int rc = settle(&to);
	if (rc != NB_OK)
		return rc;
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	db->host = args->host;
	db->is_read_only = (to.flags & MDB_RDONLY) != 0;
	rc = environment_outcome(db->host, "mdb_env_create", mdb_env_create(&db->env));
	if (rc != NB_OK)
		goto free_db;
	rc = env_open(&to, &db->env);
	if (rc == NB_OK)
		rc = sync_made(&to, db->env);
	if (rc == NB_OK)
		rc = free_stale_readers(db);
	if (rc == NB_OK)
		rc = open_records(db);
	if (rc != NB_OK)
		goto close_env;
	*out = db;
	return NB_OK;

close_env:
	mdb_env_close(db->env);
free_db:
	free(db);
	return rc;
}

int
database_close(struct nb_db *db)
{
	mdb_env_close(db->env);
	free(db);
	return NB_OK;
}
