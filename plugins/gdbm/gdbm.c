/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GDBM: a hash table in one file that grows by splitting buckets.
 *
 * - A write is in the file before it returns, but it has several steps. First it writes the
 *   two halves of a split bucket, then the directory. A kill between them, or power loss
 *   with GDBM_SYNC, loses older records. So the durability is 'none'.
 * - On a fatal error GDBM exits unless a handler is set. Here the call fails, and each later
 *   one fails with "Database needs recovery".
 * - gdbm_fetch() returns memory from malloc(), which release frees.
 */
#include "../common/plugin.h"

#include <gdbm.h>

/* GDBM stores the bytes of a record, rounded up to blocks, in an int. */
#define KEY_SIZE_MAX (64u << 20)
#define VALUE_SIZE_MAX (1u << 30)

enum { STANDARD, NUMSYNC };

#define OPTIONS(X) \
	X(BLOCK_SIZE, BYTES, "block_size", NULL, 512, 16 << 20, \
		"of a bucket, a power of two; if not given, the file system's block") \
	X(FORMAT, CHOICE, "format", NULL, "standard|numsync", \
		"of a new file; numsync counts synchronizations (standard)") \
	X(MMAP, BOOL, "mmap", "yes", "map the file; no: read and write") \
	X(PREREAD, BOOL, "preread", "no", "read the mapping ahead, MAP_POPULATE") \
	X(CENTFREE, BOOL, "centfree", "no", \
		"keep free space in one pool instead of one for each bucket") \
	X(COALESCE, BOOL, "coalesce", "no", "merge neighbouring free space; costs CPU") \
	X(XVERIFY, BOOL, "xverify", "no", \
		"check the free space of the whole file when it is opened")
enum { OPTIONS(OPTION_ID) };
static const struct nb_option options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

struct nb_db {
	const struct nb_host *host;
	GDBM_FILE base;
	char *loan;         /* value of get, from GDBM's malloc() */
	datum scan_key;     /* of a scan: the last returned record */
	char *scan_value;   /* likewise */
	bool is_scan_fresh; /* no record was returned yet */
	bool is_scan_of_keys;
};

static const struct nb_engine engine;

/* Only one session exists at a time, so the session is the database. */
static struct nb_db *
db_of(struct nb_session *session)
{
	return (struct nb_db *)session;
}

static const char *
version(void)
{
	const int *v = gdbm_version_number;
	return v[2] == 0 ? version_text("%d.%d", v[0], v[1])
			 : version_text("%d.%d.%d", v[0], v[1], v[2]);
}

/* Report a failed call on the open database. */
static int
failed(struct nb_db *db, const char *call)
{
	return db->host->fail(NB_FAIL, "%s: %s", call, gdbm_db_strerror(db->base));
}

/* GDBM requires an address even for size 0. It does not write to it. */
static datum
datum_of(struct nb_slice slice)
{
	return (datum){(char *)(uintptr_t)address(slice), (int)slice.size};
}

/* --- open and close --- */

static int
open_failed(const struct nb_host *host, const char *path)
{
	int error = errno;
	int code = gdbm_errno;
	if (code == GDBM_CANT_BE_WRITER || code == GDBM_CANT_BE_READER)
		return host->fail(NB_FAIL, "another process has %s open", path);
	if (code == GDBM_BLOCK_SIZE_ERROR)
		return host->fail(NB_UNSUPPORTED,
			"gdbm_open: %s: block_size must be a power of two",
			gdbm_strerror(code));
	if (code == GDBM_FILE_OPEN_ERROR && error == ENOENT)
		return host->fail(NB_FAIL, "no database: %s: %s", path, strerror(error));
	if (gdbm_check_syserr(code))
		return host->fail(NB_FAIL, "gdbm_open: %s: %s: %s", path, gdbm_strerror(code),
			strerror(error));
	return host->fail(NB_FAIL, "gdbm_open: %s: %s", path, gdbm_strerror(code));
}

/* GDBM would ignore these settings of an existing file. */
static int
check_existing(struct nb_db *db, const struct nb_option_value *value)
{
	int block_size, format;
	if (gdbm_setopt(db->base, GDBM_GETBLOCKSIZE, &block_size, sizeof(block_size)) != 0 ||
		gdbm_setopt(db->base, GDBM_GETDBFORMAT, &format, sizeof(format)) != 0)
		return failed(db, "gdbm_setopt");
	if (value[BLOCK_SIZE].is_set != 0 && value[BLOCK_SIZE].u64 != (uint64_t)block_size)
		return db->host->fail(NB_UNSUPPORTED,
			"the database has block_size=%d, which is decided when it is made",
			block_size);
	if (value[FORMAT].is_set != 0 &&
		(value[FORMAT].u64 == NUMSYNC) != (format == GDBM_NUMSYNC))
		return db->host->fail(NB_UNSUPPORTED,
			"the database has format=%s, which is decided when it is made",
			format == GDBM_NUMSYNC ? "numsync" : "standard");
	return NB_OK;
}

static int
tune(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	int centfree = value[CENTFREE].u64 != 0, coalesce = value[COALESCE].u64 != 0;
	int block_size;
	if (gdbm_setopt(db->base, GDBM_SETCENTFREE, &centfree, sizeof(centfree)) != 0 ||
		gdbm_setopt(db->base, GDBM_SETCOALESCEBLKS, &coalesce, sizeof(coalesce)) != 0 ||
		gdbm_setopt(db->base, GDBM_GETBLOCKSIZE, &block_size, sizeof(block_size)) != 0)
		return failed(db, "gdbm_setopt");
	if (args->cache_bytes == 0)
		return NB_OK;
	size_t buckets = args->cache_bytes / (size_t)block_size;
	if (buckets == 0) /* GDBM interprets 0 as "default" */
		buckets = 1;
	if (gdbm_setopt(db->base, GDBM_SETCACHESIZE, &buckets, sizeof(buckets)) != 0)
		return failed(db, "gdbm_setopt(GDBM_SETCACHESIZE)");
	return NB_OK;
}

/* A process that wrote to the file was killed or failed. */
static int
recover(struct nb_db *db)
{
	gdbm_recovery recovery = {0};
	if (gdbm_recover(db->base, &recovery, 0) != 0)
		return failed(db, "gdbm_recover");
	db->host->log(NB_LOG_WARNING,
		"gdbm: the database was not closed: recovered %zu keys in %zu buckets, lost %zu keys and %zu buckets",
		recovery.recovered_keys, recovery.recovered_buckets, recovery.failed_keys,
		recovery.failed_buckets);
	return NB_OK;
}

static int
open_base(struct nb_db *db, const struct nb_open_args *args, const char *path)
{
	const struct nb_option_value *value = args->options;
	int block_size = (int)value[BLOCK_SIZE].u64;
	int flags = GDBM_CLOEXEC | (value[MMAP].u64 == 0 ? GDBM_NOMMAP : 0) |
		(value[PREREAD].u64 != 0 ? GDBM_PREREAD : 0) |
		(value[XVERIFY].u64 != 0 ? GDBM_XVERIFY : 0) |
		(value[BLOCK_SIZE].is_set != 0 ? GDBM_BSEXACT : 0) |
		(value[FORMAT].is_set != 0 && value[FORMAT].u64 == NUMSYNC ? GDBM_NUMSYNC : 0);
	int mode = (args->flags & NB_OPEN_CREATE) != 0   ? GDBM_WRCREAT
		: (args->flags & NB_OPEN_READ_ONLY) != 0 ? GDBM_READER
							 : GDBM_WRITER;
	db->base = gdbm_open(path, block_size, flags | mode, 0666, NULL);
	if (db->base != NULL && gdbm_needs_recovery(db->base) && mode == GDBM_READER) {
		gdbm_close(db->base);
		db->base = gdbm_open(path, block_size, flags | GDBM_WRITER, 0666, NULL);
	}
	if (db->base == NULL)
		return open_failed(db->host, path);
	int rc = gdbm_needs_recovery(db->base) ? recover(db) : NB_OK;
	if (rc == NB_OK)
		rc = check_existing(db, value);
	if (rc == NB_OK)
		rc = tune(db, args);
	if (rc != NB_OK)
		gdbm_close(db->base);
	return rc;
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	const struct nb_option_value *value = args->options;
	int rc = check_durability(args, &engine);
	if (rc != NB_OK)
		return rc;
	if (value[MMAP].u64 == 0 && value[PREREAD].u64 != 0)
		return host->fail(NB_UNSUPPORTED, "preread is only for mmap=yes");
	struct nb_db *db = calloc(1, sizeof(*db));
	char path[PATH_MAX + sizeof("/data.gdbm")];
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	snprintf(path, sizeof(path), "%s/data.gdbm", args->path);
	db->host = host;
	rc = open_base(db, args, path);
	if (rc != NB_OK)
		free(db);
	else
		*out = db;
	return rc;
}

static int
db_close(struct nb_db *db)
{
	const struct nb_host *host = db->host;
	int rc = NB_OK;
	if (gdbm_close(db->base) != 0)
		rc = host->fail(NB_FAIL, "gdbm_close: %s", gdbm_strerror(gdbm_errno));
	free(db);
	return rc;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	*out = (struct nb_session *)db;
	return NB_OK;
}

static int
session_close(struct nb_session *session)
{
	return NB_OK;
}

/* --- records --- */

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_db *db = db_of(session);
	datum found = gdbm_fetch(db->base, datum_of(key));
	if (found.dptr == NULL)
		return gdbm_last_errno(db->base) == GDBM_ITEM_NOT_FOUND
			? NB_NOT_FOUND
			: failed(db, "gdbm_fetch");
	db->loan = found.dptr;
	*value = (struct nb_slice){found.dptr, (size_t)found.dsize};
	return NB_OK;
}

static void
release(struct nb_session *session)
{
	struct nb_db *db = db_of(session);
	free(db->loan);
	db->loan = NULL;
}

static int
store(struct nb_session *session, struct nb_slice key, struct nb_slice value, int how)
{
	struct nb_db *db = db_of(session);
	int rc = gdbm_store(db->base, datum_of(key), datum_of(value), how);
	return rc == 0 ? NB_OK : rc > 0 ? NB_EXISTS : failed(db, "gdbm_store");
}

PUT_AND_INSERT(store, GDBM_REPLACE, GDBM_INSERT)

static int
del(struct nb_session *session, struct nb_slice key)
{
	struct nb_db *db = db_of(session);
	if (gdbm_delete(db->base, datum_of(key)) == 0)
		return NB_OK;
	return gdbm_last_errno(db->base) == GDBM_ITEM_NOT_FOUND ? NB_NOT_FOUND
								: failed(db, "gdbm_delete");
}

/* --- scans --- */

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct nb_db *db = db_of(session);
	db->is_scan_fresh = true;
	db->is_scan_of_keys = (args->flags & NB_SCAN_KEYS_ONLY) != 0;
	return check_unordered_scan(db->host, args);
}

static void
scan_release(struct nb_db *db)
{
	free(db->scan_key.dptr);
	free(db->scan_value);
	db->scan_key = (datum){NULL, 0};
	db->scan_value = NULL;
}

/* gdbm_nextkey() looks up the last key again; gdbm_fetch() finds the next one in the cache. */
static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct nb_db *db = db_of(session);
	datum found = {NULL, 0};
	if (!db->is_scan_fresh && db->scan_key.dptr == NULL)
		return NB_NOT_FOUND; /* already at the end */
	datum next = db->is_scan_fresh ? gdbm_firstkey(db->base)
				       : gdbm_nextkey(db->base, db->scan_key);
	db->is_scan_fresh = false;
	scan_release(db);
	if (next.dptr == NULL)
		return gdbm_last_errno(db->base) == GDBM_ITEM_NOT_FOUND
			? NB_NOT_FOUND
			: failed(db, "gdbm_nextkey");
	db->scan_key = next;
	if (!db->is_scan_of_keys) {
		found = gdbm_fetch(db->base, next);
		if (found.dptr == NULL)
			return failed(db, "gdbm_fetch");
		db->scan_value = found.dptr;
	}
	*key = (struct nb_slice){next.dptr, (size_t)next.dsize};
	*value = (struct nb_slice){found.dptr, (size_t)found.dsize};
	return NB_OK;
}

static int
scan_close(struct nb_session *session)
{
	scan_release(db_of(session));
	return NB_OK;
}

/* --- operations on the whole database --- */

/* Writes defer no work. gdbm_reorganize() would copy the entire database. */
static int
flush(struct nb_db *db, uint32_t upto)
{
	if (upto == NB_SETTLE_COMPACT)
		return db->host->fail(NB_UNSUPPORTED, "compact: GDBM has no deferred work");
	return gdbm_sync(db->base) == 0 ? NB_OK : failed(db, "gdbm_sync");
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	size_t accesses = 0, hits = 0, buckets = 0;
	int depth = 0;
	struct stat file;
	gdbm_get_cache_stats(db->base, &accesses, &hits, &buckets, NULL, 0);
	emit(to, "cache_accesses", "buckets", NB_STAT_COUNTER, accesses);
	emit(to, "cache_hits", "buckets", NB_STAT_COUNTER, hits);
	emit(to, "cached", "buckets", NB_STAT_GAUGE, buckets);
	if (gdbm_setopt(db->base, GDBM_GETDIRDEPTH, &depth, sizeof(depth)) == 0)
		emit(to, "directory_depth", "bits", NB_STAT_GAUGE, (uint64_t)depth);
	if (fstat(gdbm_fdesc(db->base), &file) == 0)
		emit(to, "file", "bytes", NB_STAT_GAUGE, (uint64_t)file.st_size);
}

static const struct nb_engine engine = {ENGINE_BASE("gdbm"), ENGINE_RECORDS,
	.summary = "extensible hash table of GNU", .licence = "GPL-3.0-or-later",
	.home = "https://www.gnu.org/software/gdbm", .caps = NB_CAP_PERSISTENT,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE), .auto_durability = NB_DUR_NONE,
	.key_size_max = KEY_SIZE_MAX, .value_size_max = VALUE_SIZE_MAX, .options = options,
	.open = db_open, .close = db_close, .release = release, .insert = insert, ENGINE_SCAN,
	.flush = flush, .stats = stats};
NB_ENGINE_PLUGIN(engine)
