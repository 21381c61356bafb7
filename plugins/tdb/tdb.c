/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TDB, Samba's hash file.
 *
 * - tdb_store() changes the mapped file in several steps, and a kill between them corrupts
 *   the file: durability 'none'. A transaction first saves the data that it overwrites, and
 *   the next open restores it. So at 'process' each write is a transaction with TDB_NOSYNC.
 *   At 'commit' it is a transaction with its four fdatasync(2) and msync(2).
 * - tdb_parse_record() returns 'no such record' for any failure. Only the logging function
 *   gets the reason, so its text distinguishes the two cases.
 * - get copies the value: the mapped value is safe only under the lock of its chain, which
 *   tdb_parse_record() holds during its callback.
 * - A scan reads chain by chain. With tdb_nextkey(), a scan closed before its end would
 *   leave a record locked.
 */
#include "../common/execute.h"

#include <signal.h>
#include <sys/types.h>

#include <tdb.h>

#define KEY_SIZE_MAX (1u << 20)
#define VALUE_SIZE_MAX (64u << 20)

enum {
	HASH_SIZE = 131,         /* DEFAULT_HASH_SIZE */
	HASH_SIZE_COPIED = 16384 /* a transaction copies all chain heads, four bytes each */
};

#define OPTIONS(X) \
	X(HASH_SIZE_OPTION, U64, "hash_size", NULL, "chains", 1, 100000000, \
		"when made: default one for each four expected records, see README") \
	X(HASH, CHOICE, "hash", NULL, "old|jenkins", \
		"when made: tdb's first hash function, the default, or a better one") \
	X(LOCKING, BOOL, "locking", "yes", \
		"fcntl(2) locks, so that several processes can have it open") \
	X(MMAP, BOOL, "mmap", "yes", "use a map of the file, and not pread(2) and pwrite(2)") \
	X(MAX_DEAD, U64, "max_dead", "0", "records", 0, 10000, \
		"deleted records that a chain keeps for new ones; TDB_VOLATILE is 5") \
	X(SEQNUM, BOOL, "seqnum", "no", "count changes in the file")
enum { OPTIONS(OPTION_ID) };
static const struct nb_option options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

static const struct nb_engine engine;

struct nb_db {
	const struct nb_host *host;
	struct tdb_context *tdb;
	bool is_transactional; /* each write is a transaction */
	bool is_in_transaction;
	bool has_logged;
	char log[256]; /* first message of the logging function since has_logged was reset */
};

struct nb_session {
	struct nb_db *db;
	struct buffer value; /* the value that get lends */
	struct buffer kept;  /* values that execute lends */
	struct buffer
		chain;   /* of a scan: the records of a chain, each as two sizes, key, value */
	size_t chain_at; /* position of the next record */
	unsigned chain_number;
};

static const char *
version(void)
{
	return TDB_PLUGIN_VERSION;
}

static TDB_DATA
datum(struct nb_slice slice)
{
	return (TDB_DATA){(unsigned char *)(uintptr_t)address(slice), slice.size};
}

static void
log_keep(struct tdb_context *tdb, enum tdb_debug_level level, const char *fmt, ...)
{
	struct nb_db *db = tdb_get_logging_private(tdb);
	va_list args;
	if (db->has_logged)
		return; /* later messages usually follow from the first */
	va_start(args, fmt);
	vsnprintf(db->log, sizeof(db->log), fmt, args);
	va_end(args);
	db->log[strcspn(db->log, "\n")] = '\0';
	db->has_logged = true;
}

/*
 * `text` is tdb's or the system's. The error code of tdb may come from an earlier step. So
 * the message of the logging function follows, and errno, which each write clears first.
 */
static int
failure(struct nb_db *db, const char *call, const char *text)
{
	int error = errno;
	const char *log = db->has_logged ? db->log : "";
	db->has_logged = false;
	return db->host->fail(NB_FAIL, "%s: %s%s%s%s%s", call, text, *log != '\0' ? "; " : "",
		log, error != 0 ? "; " : "", error != 0 ? strerror(error) : "");
}

/* --- open and close --- */

static int
hash_size(const struct nb_open_args *args)
{
	const struct nb_option_value *value = &args->options[HASH_SIZE_OPTION];
	if (value->is_set)
		return (int)value->u64;
	uint64_t size = args->records / 4;
	if (args->durability != NB_DUR_NONE && size > HASH_SIZE_COPIED)
		size = HASH_SIZE_COPIED;
	if (size > options[HASH_SIZE_OPTION].max)
		size = options[HASH_SIZE_OPTION].max;
	return size < HASH_SIZE ? HASH_SIZE : (int)size;
}

static bool
wants_jenkins(const struct nb_open_args *args)
{
	return args->options[HASH].is_set && args->options[HASH].u64 == 1;
}

static int
tdb_flags(const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	return TDB_DISALLOW_NESTING | (args->durability == NB_DUR_COMMIT ? 0 : TDB_NOSYNC) |
		(value[LOCKING].u64 != 0 ? 0 : TDB_NOLOCK) |
		(value[MMAP].u64 != 0 ? 0 : TDB_NOMMAP) |
		(value[SEQNUM].u64 != 0 ? TDB_SEQNUM : 0) |
		(wants_jenkins(args) ? TDB_INCOMPATIBLE_HASH : 0);
}

/* Reject settings that tdb would ignore. */
static int
check_settings(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *value = &args->options[HASH_SIZE_OPTION];
	if (args->durability == NB_DUR_COMMIT && (tdb_get_flags(db->tdb) & TDB_NOSYNC) != 0)
		return db->host->fail(NB_UNSUPPORTED,
			"TDB_NO_FSYNC in the environment forbids durability commit");
	if (value->is_set && (uint64_t)tdb_hash_size(db->tdb) != value->u64)
		return db->host->fail(NB_UNSUPPORTED,
			"this database was made with %d chains, which hash_size=%llu cannot change",
			tdb_hash_size(db->tdb), (unsigned long long)value->u64);
	if (args->cache_bytes != 0)
		db->host->log(NB_LOG_WARNING, "tdb: cache is ignored: TDB has no cache");
	return NB_OK;
}

/* Power loss may leave a new file with its size but without content. */
static bool
is_blank(const char *file)
{
	char bytes[4096];
	bool is_zero = true;
	ssize_t size = 0;
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	while (is_zero && fd >= 0 && (size = read(fd, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < size && is_zero; i++)
			is_zero = bytes[i] == 0;
	if (fd >= 0)
		close(fd);
	return fd >= 0 && size == 0 && is_zero;
}

static struct tdb_context *
open_tdb(struct nb_db *db, const struct nb_open_args *args, const char *file, int mode)
{
	struct tdb_logging_context logging = {.log_fn = log_keep, .log_private = db};
	errno = 0;
	return tdb_open_ex(file, hash_size(args), tdb_flags(args), mode, 0644, &logging,
		wants_jenkins(args) ? tdb_jenkins_hash : NULL);
}

/*
 * At 'commit' a database is created under another name and renamed when it is durable. The
 * transaction in between allocates the area for data that transactions overwrite. Otherwise
 * tdb would write the area's address into the file header before the file's new size is
 * durable.
 */
static int
make_aside(struct nb_db *db, const struct nb_open_args *args, const char *file)
{
	TDB_DATA key = {.dptr = (unsigned char *)"", .dsize = 1};
	char aside[4096 + 4];
	snprintf(aside, sizeof(aside), "%s.new", file);
	db->tdb = open_tdb(db, args, aside, O_RDWR | O_CREAT | O_TRUNC);
	if (db->tdb == NULL)
		return failure(db, "tdb_open", aside);
	bool is_made = tdb_transaction_start(db->tdb) == 0 &&
		tdb_store(db->tdb, key, key, TDB_INSERT) == 0 &&
		tdb_delete(db->tdb, key) == 0 && tdb_transaction_commit(db->tdb) == 0;
	int rc = is_made ? NB_OK : failure(db, "making a database", tdb_errorstr(db->tdb));
	if (rc == NB_OK && rename(aside, file) != 0)
		rc = db->host->fail(NB_FAIL, "rename of %s: %s", aside, strerror(errno));
	tdb_close(db->tdb);
	if (rc != NB_OK)
		unlink(aside);
	return rc;
}

/*
 * With O_CREAT tdb overwrites a file that is not a database, so the flag is set only if the
 * file is missing.
 */
static int
open_file(struct nb_db *db, const struct nb_open_args *args, bool *is_new)
{
	bool is_read_only = (args->flags & NB_OPEN_READ_ONLY) != 0;
	int mode = is_read_only ? O_RDONLY : O_RDWR;
	struct stat info;
	char file[4096];
	int size = snprintf(file, sizeof(file), "%s/data.tdb", args->path);
	if (size < 0 || (size_t)size >= sizeof(file))
		return db->host->fail(NB_FAIL, "the path is too long");
	bool is_there = stat(file, &info) == 0;
	*is_new = !is_there;
	if (!is_there && (args->flags & NB_OPEN_CREATE) == 0)
		return db->host->fail(NB_FAIL, "no database: %s: %s", file, strerror(errno));
	bool is_made = !is_read_only && (args->flags & NB_OPEN_CREATE) != 0 &&
		(!is_there || is_blank(file));
	int rc = NB_OK;
	if (is_made && args->durability == NB_DUR_COMMIT)
		rc = make_aside(db, args, file);
	else if (is_made)
		mode |= O_CREAT;
	if (rc != NB_OK)
		return rc;
	db->tdb = open_tdb(db, args, file, mode);
	if (db->tdb != NULL)
		return NB_OK;
	rc = failure(db, "tdb_open",
		errno == EIO ? "this is not a TDB database, or it is damaged" : file);
	if (*is_new)
		unlink(file);
	return rc;
}

/*
 * TDB syncs the file only with a transaction, and never syncs its directory. An earlier open
 * at another level, or a killed one, may have created the file, so every open syncs them.
 */
static int
sync_made(struct nb_db *db, const struct nb_open_args *args)
{
	if (args->durability != NB_DUR_COMMIT || (args->flags & NB_OPEN_READ_ONLY) != 0)
		return NB_OK;
	if (fdatasync(tdb_fd(db->tdb)) != 0)
		return db->host->fail(NB_FAIL, "fdatasync: %s", strerror(errno));
	int error = sync_path(args->path);
	return error == 0
		? NB_OK
		: db->host->fail(NB_FAIL, "fsync of the directory: %s", strerror(error));
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	bool is_new;
	int rc = check_durability(args, &engine);
	if (rc != NB_OK)
		return rc;
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	db->host = host;
	db->is_transactional = args->durability != NB_DUR_NONE;
	rc = open_file(db, args, &is_new);
	if (rc != NB_OK)
		goto free_db;
	rc = check_settings(db, args);
	if (rc == NB_OK)
		rc = sync_made(db, args);
	if (rc != NB_OK)
		goto close_tdb;
	tdb_set_max_dead(db->tdb, (int)args->options[MAX_DEAD].u64);
	db->has_logged = false; /* for example of a recovery */
	*out = db;
	return NB_OK;

close_tdb:
	tdb_close(db->tdb);
free_db:
	free(db);
	return rc;
}

static int
db_close(struct nb_db *db)
{
	int rc = NB_OK;
	if (tdb_close(db->tdb) != 0)
		rc = db->host->fail(NB_FAIL, "tdb_close: %s", strerror(errno));
	free(db);
	return rc;
}

SESSION_OPEN()

static int
session_close(struct nb_session *session)
{
	free(session->chain.data);
	free(session->value.data);
	free(session->kept.data);
	free(session);
	return NB_OK;
}

/* --- transactions --- */

static int
begin(struct nb_session *session, uint32_t flags)
{
	struct nb_db *db = session->db;
	errno = 0;
	if (tdb_transaction_start(db->tdb) != 0)
		return failure(db, "tdb_transaction_start", tdb_errorstr(db->tdb));
	db->is_in_transaction = true;
	return NB_OK;
}

/* A failed commit has cancelled the transaction. */
static int
commit(struct nb_session *session)
{
	struct nb_db *db = session->db;
	db->is_in_transaction = false;
	errno = 0;
	if (tdb_transaction_commit(db->tdb) != 0)
		return failure(db, "tdb_transaction_commit", tdb_errorstr(db->tdb));
	return NB_OK;
}

static void
abort_txn(struct nb_session *session)
{
	session->db->is_in_transaction = false;
	tdb_transaction_cancel(session->db->tdb);
}

/* Whether a write needs its own transaction. */
static bool
needs_transaction(const struct nb_db *db)
{
	return db->is_transactional && !db->is_in_transaction;
}

/* --- records --- */

static int
value_keep(TDB_DATA key, TDB_DATA data, void *to)
{
	return buffer_set(to, data.dptr, data.dsize) ? 0 : 1;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_db *db = session->db;
	errno = 0;
	int rc = tdb_parse_record(db->tdb, datum(key), value_keep, &session->value);
	if (rc == 0) {
		*value = buffer_slice(&session->value);
		return NB_OK;
	}
	if (rc > 0)
		return db->host->fail(NB_FAIL, "out of memory");
	return db->has_logged ? failure(db, "tdb_parse_record", "the record cannot be read")
			      : NB_NOT_FOUND;
}

static int
store(struct nb_db *db, struct nb_slice key, struct nb_slice value, int flag)
{
	errno = 0;
	if (tdb_store(db->tdb, datum(key), datum(value), flag) == 0)
		return NB_OK;
	enum TDB_ERROR code = tdb_error(db->tdb);
	if (flag == TDB_INSERT && code == TDB_ERR_EXISTS)
		return NB_EXISTS;
	bool is_of_lookup = code == TDB_ERR_NOEXIST || code == TDB_SUCCESS;
	return failure(db, "tdb_store",
		is_of_lookup ? "the file cannot grow; is the disk full?"
			     : tdb_errorstr(db->tdb));
}

static int
erase(struct nb_db *db, struct nb_slice key)
{
	errno = 0;
	if (tdb_delete(db->tdb, datum(key)) == 0)
		return NB_OK;
	if (tdb_error(db->tdb) == TDB_ERR_NOEXIST && !db->has_logged)
		return NB_NOT_FOUND;
	return failure(db, "tdb_delete", tdb_errorstr(db->tdb));
}

/* End the transaction of one write or of a batch. */
static int
settle(struct nb_session *session, int rc)
{
	if (rc == NB_OK)
		return commit(session);
	abort_txn(session);
	return rc;
}

static int
write_one(struct nb_session *session, struct nb_slice key, struct nb_slice value, int flag)
{
	struct nb_db *db = session->db;
	if (!needs_transaction(db))
		return store(db, key, value, flag);
	int rc = begin(session, 0);
	return rc == NB_OK ? settle(session, store(db, key, value, flag)) : rc;
}

PUT_AND_INSERT(write_one, TDB_REPLACE, TDB_INSERT)

static int
del(struct nb_session *session, struct nb_slice key)
{
	struct nb_db *db = session->db;
	if (!needs_transaction(db))
		return erase(db, key);
	int rc = begin(session, 0);
	return rc == NB_OK ? settle(session, erase(db, key)) : rc;
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	struct nb_db *db = session->db;
	bool is_atomic = (flags & NB_BATCH_ATOMIC) != 0;
	if (is_atomic && db->is_in_transaction)
		return db->host->fail(NB_UNSUPPORTED, "no atomic batch within a transaction");
	if (!is_atomic && !needs_transaction(db))
		return write_each(session, writes, count, put, del);
	int rc = begin(session, 0);
	return rc == NB_OK ? settle(session, write_each(session, writes, count, put, del)) : rc;
}

/* --- scans --- */

static int
chain_keep(struct tdb_context *tdb, TDB_DATA key, TDB_DATA data, void *to)
{
	size_t sizes[2] = {key.dsize, data.dsize};
	return buffer_add(to, sizes, sizeof(sizes)) && buffer_add(to, key.dptr, key.dsize) &&
			buffer_add(to, data.dptr, data.dsize)
		? 0
		: 1;
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	session->chain.size = session->chain_at = session->chain_number = 0;
	return check_unordered_scan(session->db->host, args);
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct nb_db *db = session->db;
	struct buffer *chain = &session->chain;
	size_t sizes[2];
	while (session->chain_at == chain->size) {
		if (session->chain_number == (unsigned)tdb_hash_size(db->tdb))
			return NB_NOT_FOUND;
		session->chain_at = chain->size = 0;
		errno = 0;
		if (tdb_traverse_chain(db->tdb, session->chain_number++, chain_keep, chain) < 0)
			return failure(db, "tdb_traverse_chain", tdb_errorstr(db->tdb));
	}
	const char *at = chain->data + session->chain_at;
	memcpy(sizes, at, sizeof(sizes));
	*key = (struct nb_slice){at + sizeof(sizes), sizes[0]};
	*value = (struct nb_slice){at + sizeof(sizes) + sizes[0], sizes[1]};
	session->chain_at += sizeof(sizes) + sizes[0] + sizes[1];
	return NB_OK;
}

static int
scan_close(struct nb_session *session)
{
	return NB_OK;
}

EXECUTE_AND_MERGE(engine, session->db->is_in_transaction)

/* --- operations on the whole database --- */

/* Written pages of the mapping belong to the file, and are synced with it. */
static int
flush(struct nb_db *db, uint32_t upto)
{
	errno = 0;
	if (upto == NB_SETTLE_COMPACT && tdb_repack(db->tdb) != 0)
		return failure(db, "tdb_repack", tdb_errorstr(db->tdb));
	if (fdatasync(tdb_fd(db->tdb)) != 0)
		return db->host->fail(NB_FAIL, "fdatasync: %s", strerror(errno));
	return NB_OK;
}

CHECKPOINT_BY_FLUSH(flush)

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	emit(to, "file_size", "bytes", NB_STAT_GAUGE, tdb_map_size(db->tdb));
	emit(to, "chains", "chains", NB_STAT_GAUGE, (uint64_t)tdb_hash_size(db->tdb));
}

#define TABLE(capabilities) \
	{ \
		ENGINE_BASE("tdb"), \
			.summary = "hash file of Samba, for several processes", \
			.licence = "LGPL-3.0-or-later", .home = "https://tdb.samba.org/", \
			.caps = (capabilities), \
			.durabilities = NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_PROCESS) | \
			NB_DUR_BIT(NB_DUR_COMMIT), \
			.auto_durability = NB_DUR_PROCESS, .key_size_max = KEY_SIZE_MAX, \
			.value_size_max = VALUE_SIZE_MAX, .options = options, .open = db_open, \
			.close = db_close, ENGINE_RECORDS, .insert = insert, ENGINE_SCAN, \
			.batch = batch, ENGINE_TXN, ENGINE_EXECUTE, .flush = flush, \
			.checkpoint = checkpoint, .stats = stats, .variant = variant, \
	}

/* tdb_transaction_start() waits for another transaction, and excludes other writers. */
#define CAPS (NB_CAP_PERSISTENT | NB_CAP_ATOMIC_BATCH | NB_CAP_SERIALIZABLE)

static const struct nb_engine *
variant(const struct nb_option_value *value);

static const struct nb_engine engine = TABLE(CAPS | NB_CAP_MULTI_PROCESS);
static const struct nb_engine unlocked_engine = TABLE(CAPS);

static const struct nb_engine *
variant(const struct nb_option_value *value)
{
	return value[LOCKING].u64 != 0 ? NULL : &unlocked_engine;
}

NB_ENGINE_PLUGIN(engine)
