/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Berkeley DB: sessions, records, scans and transactions. environment.c opens the database.
 *
 * - One library contains three products, and `product` selects one: transactions (tds:
 *   locks, log, recovery), one writer beside many readers (cds), or only an access method
 *   for one thread (ds). Only tds survives a crash, so the others have durability 'none'.
 * - All sessions share one database handle (DB_THREAD). get and scans copy into memory of
 *   the session, because DB_THREAD forbids loans from the handle.
 * - Berkeley DB does not make checkpoints itself. The session whose write exceeds the limit
 *   makes one during that write.
 * - Any call may return a deadlock. Its transaction can only be aborted, so it is aborted
 *   before NB_CONFLICT is returned.
 */
#include "environment.h"

#include "../common/execute.h"

/*
 * Berkeley DB has 32-bit lengths, and writes long items into separate pages. These limits
 * are mininb's: tested sizes.
 */
#define KEY_SIZE_MAX (64ull << 20)
#define VALUE_SIZE_MAX (1ull << 30)

enum {
	GROWTH = 4096,            /* of buffers for read data */
	CHECKPOINT_STEP = 1 << 20 /* bytes that a session writes between checks of the log */
};

struct nb_session {
	struct nb_db *db;
	DB_TXN *txn; /* NULL: each write is its own transaction */
	DBT key;     /* key of a call, borrowed */
	DBT put;     /* value of a call, likewise */
	DBT found; /* the value that get lends; the session owns this memory and that of the next two */
	DBT scan_key;
	DBT scan_value;
	DBC *cursor;
	uint32_t step; /* DB_NEXT or DB_PREV */
	bool is_fresh; /* scan_next has not returned the cursor's record yet */
	bool is_at_end;
	uint64_t unlooked;  /* bytes written since the last check of the log */
	struct buffer kept; /* values that execute lends */
};

VERSION_BY(db_version)

static void
abort_txn(struct nb_session *session)
{
	if (session->txn != NULL)
		session->txn->abort(session->txn);
	session->txn = NULL;
}

/* Convert a Berkeley DB error to a verb's answer. */
static int
outcome(struct nb_session *session, const char *call, int error)
{
	switch (error) {
	case 0:
		return NB_OK;
	case DB_NOTFOUND:
	case DB_KEYEMPTY:
		return NB_NOT_FOUND;
	case DB_KEYEXIST:
		return NB_EXISTS;
	case DB_LOCK_DEADLOCK:
	case DB_LOCK_NOTGRANTED:
		abort_txn(session);
		return NB_CONFLICT;
	default:
		return environment_failure(session->db->host, call, error);
	}
}

/* --- sessions --- */

/* Make room for `size` bytes, as set by Berkeley DB. Keeps the content. */
static int
grow(DBT *dbt)
{
	if (dbt->size <= dbt->ulen)
		return 0;
	size_t room = ((size_t)dbt->size + GROWTH - 1) / GROWTH * GROWTH;
	if (room > UINT32_MAX)
		room = UINT32_MAX;
	void *data = realloc(dbt->data, room);
	if (data == NULL)
		return ENOMEM;
	dbt->data = data;
	dbt->ulen = (uint32_t)room;
	return 0;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	int rc = SESSION_NEW(out, db);
	if (rc == NB_OK)
		(*out)->found.flags = (*out)->scan_key.flags = (*out)->scan_value.flags =
			DB_DBT_USERMEM;
	return rc;
}

static int
session_close(struct nb_session *session)
{
	abort_txn(session);
	free(session->found.data);
	free(session->scan_key.data);
	free(session->scan_value.data);
	free(session->kept.data);
	free(session);
	return NB_OK;
}

/* --- records --- */

/* Pass `slice` as an argument. Lengths are 32 bits wide. */
static inline void
lend(DBT *dbt, struct nb_slice slice)
{
	dbt->data = (void *)(uintptr_t)slice.data; /* not const, but only read */
	dbt->size = (uint32_t)slice.size;
}

static inline int
look_up(struct nb_session *session, struct nb_slice key, struct nb_slice *value, uint32_t flags)
{
	DB *base = session->db->base;
	DBT *found = &session->found;
	int error;
	lend(&session->key, key);
	do
		error = base->get(base, session->txn, &session->key, found, flags);
	while (error == DB_BUFFER_SMALL && (error = grow(found)) == 0);
	if (error != 0)
		return outcome(session, "DB->get", error);
	*value = (struct nb_slice){found->data, found->size};
	return NB_OK;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return look_up(session, key, value, 0);
}

/* One session makes a checkpoint; the others continue. */
static int
checkpoint_if_due(struct nb_session *session)
{
	struct nb_db *db = session->db;
	int error = 0;
	session->unlooked = 0;
	if (db->checkpoint_kib == 0 ||
		__atomic_exchange_n(&db->is_checkpointing, 1, __ATOMIC_ACQUIRE) != 0)
		return NB_OK;
	error = db->env->txn_checkpoint(db->env, db->checkpoint_kib, 0, 0);
	__atomic_store_n(&db->is_checkpointing, 0, __ATOMIC_RELEASE);
	return error == 0 ? NB_OK
			  : environment_failure(db->host, "DB_ENV->txn_checkpoint", error);
}

/* After a write. Checking the log takes its mutex, so not each write does it. */
static inline int
wrote(struct nb_session *session, const char *call, int error, uint64_t bytes)
{
	if (error != 0)
		return outcome(session, call, error);
	session->unlooked += bytes;
	if (session->db->product == TDS && session->unlooked >= CHECKPOINT_STEP)
		return checkpoint_if_due(session);
	return NB_OK;
}

static inline int
store(struct nb_session *session, struct nb_slice key, struct nb_slice value, uint32_t flags)
{
	DB *base = session->db->base;
	lend(&session->key, key);
	lend(&session->put, value);
	int error = base->put(base, session->txn, &session->key, &session->put, flags);
	return wrote(session, "DB->put", error, key.size + value.size);
}

PUT_AND_INSERT(store, 0, DB_NOOVERWRITE)

static int
del(struct nb_session *session, struct nb_slice key)
{
	DB *base = session->db->base;
	lend(&session->key, key);
	int error = base->del(base, session->txn, &session->key, 0);
	return wrote(session, "DB->del", error, key.size);
}

/* --- transactions --- */

/*
 * With `snapshot`, read-only transactions see the state at begin and lock nothing.
 * Transactions that write also lock what they read: 5.3.28 crashes if a DB_TXN_SNAPSHOT
 * writes a root page that has changed since (__bam_get_root).
 */
static int
begin(struct nb_session *session, uint32_t flags)
{
	struct nb_db *db = session->db;
	bool is_snapshot = db->has_snapshots && (flags & NB_TXN_READ_ONLY) != 0;
	uint32_t how = is_snapshot ? DB_TXN_SNAPSHOT : 0;
	if (session->txn != NULL)
		return db->host->fail(NB_FAIL, "a transaction is open already");
	int error = db->env->txn_begin(db->env, NULL, &session->txn, how);
	return outcome(session, "DB_ENV->txn_begin", error);
}

/* A verb that returned NB_CONFLICT has ended the transaction. */
static int
commit(struct nb_session *session)
{
	DB_TXN *txn = session->txn;
	if (txn == NULL)
		return NB_CONFLICT;
	session->txn = NULL; /* commit always frees it */
	return wrote(session, "DB_TXN->commit", txn->commit(txn, 0), 0);
}

static int
batch_write(struct nb_session *session, DB_TXN *txn, const struct nb_write *write)
{
	DB *base = session->db->base;
	lend(&session->key, write->key);
	if (write->is_delete) {
		int error = base->del(base, txn, &session->key, 0);
		return error == DB_NOTFOUND ? 0 : error;
	}
	lend(&session->put, write->value);
	return base->put(base, txn, &session->key, &session->put, 0);
}

/* A transaction, nested if the session has one, so it is always atomic. */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	DB_ENV *env = session->db->env;
	DB_TXN *txn;
	uint64_t bytes = 0;
	for (size_t i = 0; i < count; i++)
		bytes += writes[i].key.size + writes[i].value.size;
	int error = env->txn_begin(env, session->txn, &txn, 0);
	if (error != 0)
		return outcome(session, "DB_ENV->txn_begin", error);
	for (size_t i = 0; i < count && error == 0; i++)
		error = batch_write(session, txn, &writes[i]);
	if (error == 0)
		return wrote(session, "DB_TXN->commit", txn->commit(txn, 0), bytes);
	txn->abort(txn);
	return outcome(session, "DB->put in a batch", error);
}

/* --- several steps --- */

/* Two sessions that lock a page for reading would deadlock when both write it. */
static int
get_for_update(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return look_up(session, key, value, DB_RMW);
}

static struct executor
executor_of(struct nb_session *session)
{
	struct nb_db *db = session->db;
	return (struct executor){db->table, db->host, session, &session->kept,
		session->txn != NULL, get_for_update};
}

static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	struct executor by = executor_of(session);
	return execute_by(&by, steps, count, flags);
}

/* Without transactions: a cursor excludes other writers (cds), or is the only one (ds). */
static int
merge_at(struct nb_session *session, DBC *cursor, struct nb_slice key, uint64_t counter)
{
	DBT *found = &session->found;
	uint64_t before = 0;
	int error;
	lend(&session->key, key);
	do
		error = cursor->get(cursor, &session->key, found, DB_SET);
	while (error == DB_BUFFER_SMALL && (error = grow(found)) == 0);
	if (error != 0 && error != DB_NOTFOUND)
		return outcome(session, "DBC->get", error);
	struct nb_slice value = {found->data, found->size};
	int rc = error == 0 ? counter_of(session->db->host, value, &before) : NB_OK;
	if (rc != NB_OK)
		return rc;
	counter += before;
	lend(&session->put, (struct nb_slice){&counter, sizeof(counter)});
	error = cursor->put(
		cursor, &session->key, &session->put, error == 0 ? DB_CURRENT : DB_KEYFIRST);
	return outcome(session, "DBC->put", error);
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	struct nb_db *db = session->db;
	DBC *cursor;
	if (db->product == TDS) {
		struct executor by = executor_of(session);
		return merge_by(&by, key, how, operand);
	}
	if (how != NB_MERGE_ADD_U64)
		return db->host->fail(NB_UNSUPPORTED, "unknown kind of merge %u", how);
	int error = db->base->cursor(
		db->base, NULL, &cursor, db->product == CDS ? DB_WRITECURSOR : 0);
	if (error != 0)
		return outcome(session, "DB->cursor", error);
	int rc = merge_at(session, cursor, key, operand);
	int closed = outcome(session, "DBC->close", cursor->close(cursor));
	return rc != NB_OK ? rc : closed;
}

/* --- scans --- */

/*
 * Move the cursor and read. With DB_SET_RANGE the key is the target. The found key then
 * overwrites it; if the found key does not fit, only the size is overwritten.
 */
static int
move(struct nb_session *session, uint32_t how)
{
	DBC *cursor = session->cursor;
	DBT *key = &session->scan_key;
	DBT *value = &session->scan_value;
	for (;;) {
		uint32_t size = key->size;
		int error = cursor->get(cursor, key, value, how);
		if (error != DB_BUFFER_SMALL)
			return error;
		bool is_key_intact = key->size > key->ulen;
		if (grow(key) != 0 || grow(value) != 0)
			return ENOMEM;
		if (is_key_intact)
			key->size = size;
	}
}

/* DB_SET_RANGE finds the first key >= from; a backward scan needs the last key <= from. */
static int
seek(struct nb_session *session, struct nb_slice from)
{
	DBT *key = &session->scan_key;
	key->size = (uint32_t)from.size;
	if (grow(key) != 0)
		return ENOMEM;
	memcpy(key->data, from.data, from.size);
	int error = move(session, DB_SET_RANGE);
	if (session->step == DB_NEXT)
		return error;
	if (error == DB_NOTFOUND)
		return move(session, DB_LAST);
	if (error != 0)
		return error;
	bool is_equal = key->size == from.size && memcmp(key->data, from.data, from.size) == 0;
	return is_equal ? 0 : move(session, DB_PREV);
}

static int
scan_close(struct nb_session *session)
{
	int error = session->cursor->close(session->cursor);
	session->cursor = NULL;
	return outcome(session, "DBC->close", error);
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct nb_db *db = session->db;
	bool is_backward = (args->flags & NB_SCAN_BACKWARD) != 0;
	bool is_snapshot = db->has_snapshots && session->txn == NULL;
	DBT *value = &session->scan_value;
	int rc = db->is_ordered ? NB_OK : check_unordered_scan(db->host, args);
	if (rc != NB_OK)
		return rc;
	int error = db->base->cursor(
		db->base, session->txn, &session->cursor, is_snapshot ? DB_TXN_SNAPSHOT : 0);
	if (error != 0)
		return outcome(session, "DB->cursor", error);
	value->flags =
		DB_DBT_USERMEM; /* if only keys are wanted, 0 bytes of the value: dlen is 0 */
	if ((args->flags & NB_SCAN_KEYS_ONLY) != 0)
		value->flags |= DB_DBT_PARTIAL;
	session->step = is_backward ? DB_PREV : DB_NEXT;
	if (args->from.size != 0)
		error = seek(session, args->from);
	else
		error = move(session, is_backward ? DB_LAST : DB_FIRST);
	session->is_fresh = error == 0;
	session->is_at_end = error == DB_NOTFOUND;
	if (error == 0 || error == DB_NOTFOUND)
		return NB_OK;
	session->cursor->close(session->cursor);
	session->cursor = NULL;
	return outcome(session, "DBC->get", error);
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	int error = 0;
	if (session->is_at_end)
		return NB_NOT_FOUND;
	if (!session->is_fresh)
		error = move(session, session->step);
	session->is_fresh = false;
	session->is_at_end = error == DB_NOTFOUND;
	if (error != 0)
		return outcome(session, "DBC->get", error);
	*key = (struct nb_slice){session->scan_key.data, session->scan_key.size};
	*value = (struct nb_slice){session->scan_value.data, session->scan_value.size};
	return NB_OK;
}

/* --- operations on the whole database --- */

/*
 * Writes split and empty pages immediately, so no work is deferred. DB->compact would fill
 * pages more than writes do. This is not the usual state of a database, and not the result
 * of the measured writes.
 */
static int
flush(struct nb_db *db, uint32_t upto)
{
	if (upto == NB_SETTLE_COMPACT)
		return db->host->fail(
			NB_UNSUPPORTED, "compact: Berkeley DB has no deferred work");
	return environment_write_out(db, 0);
}

static int
checkpoint(struct nb_db *db)
{
	return environment_write_out(db, DB_FORCE);
}

/* Statistics of the files. Those of the cache would visit all of its pages. */
static void
emit_cache(struct nb_db *db, nb_stat_emit emit, void *to)
{
	DB_MPOOL_FSTAT **files = NULL;
	if (db->env->memp_stat(db->env, NULL, &files, 0) != 0 || files == NULL)
		return;
	for (DB_MPOOL_FSTAT **file = files; *file != NULL; file++) {
		const DB_MPOOL_FSTAT *f = *file;
		if (strcmp(f->file_name, RECORDS_FILE) != 0)
			continue;
		emit(to, "cache_hits", "pages", NB_STAT_COUNTER, f->st_cache_hit);
		emit(to, "cache_misses", "pages", NB_STAT_COUNTER, f->st_cache_miss);
		emit(to, "pages_created", "pages", NB_STAT_COUNTER, f->st_page_create);
		emit(to, "pages_read", "pages", NB_STAT_COUNTER, f->st_page_in);
		emit(to, "pages_written", "pages", NB_STAT_COUNTER, f->st_page_out);
		break;
	}
	free(files);
}

static void
emit_log(struct nb_db *db, nb_stat_emit emit, void *to)
{
	DB_LOG_STAT *log = NULL;
	DB_TXN_STAT *txn = NULL;
	DB_LOCK_STAT *lock = NULL;
	DB_ENV *env = db->env;
	if (env->log_stat(env, &log, 0) == 0) {
		emit(to, "log_written", "bytes", NB_STAT_COUNTER,
			((uint64_t)log->st_w_mbytes << 20) + log->st_w_bytes);
		emit(to, "log_writes", "calls", NB_STAT_COUNTER, log->st_wcount);
		emit(to, "log_syncs", "calls", NB_STAT_COUNTER, log->st_scount);
		emit(to, "log_since_checkpoint", "bytes", NB_STAT_GAUGE,
			((uint64_t)log->st_wc_mbytes << 20) + log->st_wc_bytes);
	}
	if (env->txn_stat(env, &txn, 0) == 0) {
		emit(to, "transactions_committed", "transactions", NB_STAT_COUNTER,
			txn->st_ncommits);
		emit(to, "transactions_aborted", "transactions", NB_STAT_COUNTER,
			txn->st_naborts);
	}
	if (env->lock_stat(env, &lock, 0) == 0) {
		emit(to, "lock_requests", "locks", NB_STAT_COUNTER, lock->st_nrequests);
		emit(to, "lock_waits", "locks", NB_STAT_COUNTER, lock->st_lock_wait);
		emit(to, "deadlocks", "deadlocks", NB_STAT_COUNTER, lock->st_ndeadlocks);
	}
	free(log);
	free(txn);
	free(lock);
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	emit_cache(db, emit, to);
	if (db->product == TDS)
		emit_log(db, emit, to);
}

/* --- capabilities of each type and product --- */

#define ALL NB_CAP_PERSISTENT
#define CONCURRENT (ALL | NB_CAP_CONCURRENT)
#define TRANSACTIONAL (CONCURRENT | NB_CAP_ATOMIC_BATCH | NB_CAP_SERIALIZABLE)
#define LOGGED \
	(NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_PROCESS) | NB_DUR_BIT(NB_DUR_COMMIT))

static const struct nb_engine *
variant(const struct nb_option_value *value);

/* The steps of execute depend on the capabilities of this type and product. */
static int
open_db(struct nb_db **out, const struct nb_open_args *args)
{
	int rc = database_open(out, args);
	if (rc == NB_OK)
		(*out)->table = variant(args->options);
	return rc;
}

#define ENGINE(can, levels, automatic) \
	ENGINE_BASE("berkeleydb"), \
		.summary = "B-tree or hash of Sleepycat, with or without transactions", \
		.licence = "Sleepycat", .home = "https://github.com/berkeleydb/libdb", \
		.caps = (can), .durabilities = (levels), .auto_durability = (automatic), \
		.key_size_max = KEY_SIZE_MAX, .value_size_max = VALUE_SIZE_MAX, \
		.options = environment_options, .open = open_db, .close = database_close, \
		ENGINE_RECORDS, .insert = insert, .merge = merge, ENGINE_SCAN, .flush = flush, \
		.checkpoint = checkpoint, .stats = stats, .variant = variant

#define WITH_TRANSACTIONS(can, levels, automatic) \
	ENGINE(TRANSACTIONAL | (can), levels, automatic), .batch = batch, ENGINE_TXN, \
							  .execute = execute

#define WITHOUT(can) ENGINE((can), NB_DUR_BIT(NB_DUR_NONE), NB_DUR_NONE)

/* With cds a scan excludes writers until its end, so it sees one version of the data. */
enum { TDS_SNAPSHOT = DS + 1, TDS_SHARED, TDS_SNAPSHOT_SHARED, PRODUCTS };
#define PRODUCTS_OF(order, ...) \
	{ \
		[TDS] = {WITH_TRANSACTIONS(order, __VA_ARGS__)}, \
		[TDS_SNAPSHOT] = {WITH_TRANSACTIONS(order | NB_CAP_SNAPSHOT, __VA_ARGS__)}, \
		[TDS_SHARED] = {WITH_TRANSACTIONS(order | NB_CAP_MULTI_PROCESS, __VA_ARGS__)}, \
		[TDS_SNAPSHOT_SHARED] = {WITH_TRANSACTIONS( \
			order | NB_CAP_SNAPSHOT | NB_CAP_MULTI_PROCESS, __VA_ARGS__)}, \
		[CDS] = {WITHOUT(CONCURRENT | order | NB_CAP_SNAPSHOT)}, [DS] = { \
			WITHOUT(ALL | order) \
		} \
	}
#define TABLES(...) \
	{ \
		[BTREE] = PRODUCTS_OF(NB_CAP_ORDERED, __VA_ARGS__), \
		[HASH] = PRODUCTS_OF(0, __VA_ARGS__) \
	}
enum { WHOLE_PAGES, TORN_PAGES };
static const struct nb_engine engines[][2][PRODUCTS] = {
	[WHOLE_PAGES] = TABLES(LOGGED, NB_DUR_PROCESS),
	[TORN_PAGES] = TABLES(NB_DUR_BIT(NB_DUR_NONE), NB_DUR_NONE),
};

/* open rejects snapshot or shared without transactions. */
static const struct nb_engine *
variant(const struct nb_option_value *value)
{
	bool has_snapshots = value[SNAPSHOT].u64 != 0;
	bool is_shared = value[SHARED].u64 != 0;
	uint64_t product = value[PRODUCT].u64;
	if (product == TDS && is_shared)
		product = has_snapshots ? TDS_SNAPSHOT_SHARED : TDS_SHARED;
	else if (product == TDS && has_snapshots)
		product = TDS_SNAPSHOT;
	return &engines[value[PAGE_SIZE].u64 > WHOLE_PAGE ? TORN_PAGES : WHOLE_PAGES]
		       [value[TYPE].u64][product];
}
NB_ENGINE_PLUGIN(engines[WHOLE_PAGES][BTREE][TDS])
