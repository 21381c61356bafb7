/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RocksDB through its C API: tables, sessions, records, scans and transactions. database.c
 * opens the database.
 *
 * - get lends a pinned block: a value in a table is not copied. RocksDB copies a value in a
 *   memtable into the pinning object, so the plugin does not claim 'zero-copy'. The C API
 *   allocates this object of some 100 bytes for each get.
 * - Three sets of functions read and write: for no or optimistic transactions, for
 *   pessimistic ones (this API does not return their plain database), and inside a
 *   transaction.
 */
/* With assertions, RocksDB also checks its test hooks in each operation. */
#ifdef ROCKSDB_ASSERTS
#define ENGINE_BUILD NB_ENGINE_BUILD ", linked to a librocksdb with assertions"
#endif

#include "database.h"

#include "../common/async.h"
#include "../common/execute.h"

#include <dlfcn.h>

/*
 * RocksDB accepts 32-bit lengths, but a memtable adds both in 32 bits without an overflow
 * check. These limits are mininb's, and far below.
 */
#define KEY_SIZE_MAX (64ull << 20)
#define VALUE_SIZE_MAX (1ull << 30)

struct nb_session {
	struct nb_db *db;
	rocksdb_pinnableslice_t **loans; /* of get or multi_get; NULL entries are not lent */
	size_t loan_count;
	size_t room; /* of loans and the three arrays for multi_get */
	const char **keys;
	size_t *key_sizes;
	char **errors;
	rocksdb_writebatch_t *batch;
	struct lsm_scan scan;
	bool is_in_txn;
	rocksdb_transaction_t *txn;          /* reused by each begin */
	rocksdb_readoptions_t *txn_read;     /* reads the transaction's snapshot */
	const rocksdb_snapshot_t *txn_since; /* that snapshot */
	struct buffer kept;                  /* values that execute lends */
	struct async async;
};

/* The C API does not return a version; the file name of the loaded library contains it. */
static const char *
version(void)
{
	static const char before[] = "librocksdb.so.";
	char path[PATH_MAX];
	const char *at = NULL;
	Dl_info info;
	if (dladdr((void *)(uintptr_t)rocksdb_open, &info) != 0 &&
		realpath(info.dli_fname, path) != NULL)
		at = strstr(path, before);
	return version_text("%s", at != NULL ? at + strlen(before) : ROCKSDB_VERSION);
}

/* The engine's table for this kind of database. */
static const struct nb_engine *
table_of(const struct nb_db *db);

/*
 * Busy: a key was written since begin, or a deadlock. Try again: too much was written since
 * begin to determine a conflict. Timed out: another transaction has locked the key.
 */
static bool
is_conflict(const char *error)
{
	static const char *const conflicts[] = {
		"Resource busy", "Operation failed. Try again", "Operation timed out"};
	for (size_t i = 0; i < COUNT_OF(conflicts); i++)
		if (strncmp(error, conflicts[i], strlen(conflicts[i])) == 0)
			return true;
	return false;
}

/* The answer of a call that may conflict with another transaction. */
static int
answer(struct nb_session *session, const char *call, char *error)
{
	if (error == NULL)
		return NB_OK;
	if (!is_conflict(error))
		return lsm_failure(session->db->host, call, error);
	rocksdb_free(error);
	return NB_CONFLICT;
}

/* --- sessions --- */

static void
session_free(struct nb_session *session)
{
	async_close(&session->async);
	free(session->kept.data);
	free(session->errors);
	free(session->key_sizes);
	free(session->keys);
	free(session->loans);
	free(session);
}

/* Make room for a multi_get of `count` keys. */
static bool
session_reserve(struct nb_session *session, size_t count)
{
	if (count <= session->room)
		return true;
#define GROW(array) \
	do { \
		void *grown = realloc(session->array, count * sizeof(*session->array)); \
		if (grown == NULL) \
			return false; \
		session->array = grown; \
	} while (0)
	GROW(loans);
	GROW(keys);
	GROW(key_sizes);
	GROW(errors);
#undef GROW
	session->room = count;
	return true;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	struct nb_session *session = calloc(1, sizeof(*session));
	if (session == NULL || !session_reserve(session, 1) ||
		!async_open(&session->async, db->inflight_ops, db->inflight_bytes))
		goto free_session;
	session->db = db;
	session->batch = rocksdb_writebatch_create();
	session->txn_read = rocksdb_readoptions_create();
	rocksdb_readoptions_set_verify_checksums(
		session->txn_read, rocksdb_readoptions_get_verify_checksums(db->read_options));
	rocksdb_readoptions_set_fill_cache(
		session->txn_read, rocksdb_readoptions_get_fill_cache(db->read_options));
	*out = session;
	return NB_OK;

free_session:
	if (session != NULL)
		session_free(session);
	return db->host->fail(NB_FAIL, "out of memory");
}

static int
session_close(struct nb_session *session)
{
	if (session->txn != NULL)
		rocksdb_transaction_destroy(session->txn);
	rocksdb_readoptions_destroy(session->txn_read);
	rocksdb_writebatch_destroy(session->batch);
	session_free(session);
	return NB_OK;
}

/* --- records --- */

static rocksdb_pinnableslice_t *
pin(struct nb_session *session, struct nb_slice key, char **error)
{
	struct nb_db *db = session->db;
	if (session->is_in_txn)
		return rocksdb_transaction_get_pinned(
			session->txn, session->txn_read, address(key), key.size, error);
	if (db->pessimistic != NULL)
		return rocksdb_transactiondb_get_pinned(
			db->pessimistic, db->read_options, address(key), key.size, error);
	return rocksdb_get_pinned(db->base, db->read_options, address(key), key.size, error);
}

static inline int
lend(struct nb_session *session, rocksdb_pinnableslice_t *loan, char *error,
	struct nb_slice *value)
{
	if (loan == NULL)
		return error == NULL ? NB_NOT_FOUND
				     : answer(session, "rocksdb_get_pinned", error);
	session->loans[0] = loan;
	session->loan_count = 1;
	value->data = rocksdb_pinnableslice_value(loan, &value->size);
	return NB_OK;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	char *error = NULL;
	rocksdb_pinnableslice_t *loan = pin(session, key, &error);
	return lend(session, loan, error, value);
}

static void
release(struct nb_session *session)
{
	for (size_t i = 0; i < session->loan_count; i++)
		if (session->loans[i] != NULL)
			rocksdb_pinnableslice_destroy(session->loans[i]);
	session->loan_count = 0;
}

/* Calls rocksdb_put(), _delete() or _merge(), with key and value. */
#define WRITE(session, verb, ...) \
	do { \
		struct nb_db *db_ = (session)->db; \
		char *error_ = NULL; \
		if ((session)->is_in_txn) \
			rocksdb_transaction_##verb((session)->txn, __VA_ARGS__, &error_); \
		else if (db_->pessimistic != NULL) \
			rocksdb_transactiondb_##verb( \
				db_->pessimistic, db_->write_options, __VA_ARGS__, &error_); \
		else \
			rocksdb_##verb(db_->base, db_->write_options, __VA_ARGS__, &error_); \
		return answer(session, "rocksdb_" #verb, error_); \
	} while (0)

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	WRITE(session, put, address(key), key.size, address(value), value.size);
}

/* Writes a tombstone without checking whether the key exists. */
static int
del(struct nb_session *session, struct nb_slice key)
{
	WRITE(session, delete, address(key), key.size);
}

/* Writes the operand. The next read or a compaction adds it to the value. */
static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	if (how != NB_MERGE_ADD_U64)
		return session->db->host->fail(NB_UNSUPPORTED, "unknown kind of merge %u", how);
	WRITE(session, merge, address(key), key.size, (const char *)&operand, sizeof(operand));
}

/* A batch is one log record, so it is always atomic. */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	struct nb_db *db = session->db;
	char *error = NULL;
	if (session->is_in_txn)
		return write_each(session, writes, count, put, del);
	lsm_fill(session->batch, writes, count);
	if (db->pessimistic != NULL)
		rocksdb_transactiondb_write(
			db->pessimistic, db->write_options, session->batch, &error);
	else
		rocksdb_write(db->base, db->write_options, session->batch, &error);
	return answer(session, "rocksdb_write", error);
}

/* Fill session->loans and errors. With transactions, no multi-key call can pin. */
static void
pin_all(struct nb_session *session, const struct nb_slice *keys, size_t count)
{
	struct nb_db *db = session->db;
	bool is_each = session->is_in_txn || db->pessimistic != NULL;
	for (size_t i = 0; i < count; i++) {
		session->keys[i] = address(keys[i]);
		session->key_sizes[i] = keys[i].size;
		session->errors[i] = NULL;
		if (is_each)
			session->loans[i] = pin(session, keys[i], &session->errors[i]);
	}
	if (!is_each)
		rocksdb_batched_multi_get_cf(db->base, db->read_options, db->family, count,
			session->keys, session->key_sizes, session->loans, session->errors,
			false);
	session->loan_count = count;
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	const struct nb_host *host = session->db->host;
	int rc = NB_OK;
	if (!session_reserve(session, count))
		return host->fail(NB_FAIL, "out of memory");
	pin_all(session, keys, count);
	for (size_t i = 0; i < count; i++) {
		rocksdb_pinnableslice_t *loan = session->loans[i];
		answers[i] = loan == NULL ? NB_NOT_FOUND : NB_OK;
		if (loan != NULL)
			values[i].data = rocksdb_pinnableslice_value(loan, &values[i].size);
		if (session->errors[i] != NULL)
			rc = lsm_outcome(
				host, "rocksdb_batched_multi_get_cf", session->errors[i]);
	}
	if (rc != NB_OK)
		release(session);
	return rc;
}

/* --- scans --- */

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct nb_db *db = session->db;
	rocksdb_iterator_t *iterator = session->is_in_txn
		? rocksdb_transaction_create_iterator(session->txn, session->txn_read)
		: db->pessimistic != NULL
		? rocksdb_transactiondb_create_iterator(db->pessimistic, db->read_options)
		: rocksdb_create_iterator(db->base, db->read_options);
	return lsm_scan_open(&session->scan, iterator, args, rocksdb_iter_seek_for_prev);
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

/* --- transactions --- */

/* Reads see the snapshot of begin. The session owns the copy of the snapshot's address. */
static int
begin(struct nb_session *session, uint32_t flags)
{
	struct nb_db *db = session->db;
	session->txn = db->pessimistic != NULL
		? rocksdb_transaction_begin(
			  db->pessimistic, db->write_options, db->lock_options, session->txn)
		: rocksdb_optimistictransaction_begin(
			  db->optimistic, db->write_options, db->txn_options, session->txn);
	session->txn_since = rocksdb_transaction_get_snapshot(session->txn);
	rocksdb_readoptions_set_snapshot(session->txn_read, session->txn_since);
	session->is_in_txn = true;
	return NB_OK;
}

static void
txn_end(struct nb_session *session)
{
	rocksdb_readoptions_set_snapshot(session->txn_read, NULL);
	rocksdb_free((void *)(uintptr_t)session->txn_since);
	session->is_in_txn = false;
}

static void
abort_txn(struct nb_session *session)
{
	char *error = NULL;
	txn_end(session);
	rocksdb_transaction_rollback(session->txn, &error);
	rocksdb_free(error); /* a rollback discards writes and releases locks: it cannot fail */
}

static int
commit(struct nb_session *session)
{
	char *error = NULL;
	rocksdb_transaction_commit(session->txn, &error);
	if (error == NULL)
		txn_end(session);
	else
		abort_txn(session);
	return answer(session, "rocksdb_transaction_commit", error);
}

/* --- several steps --- */

/* Lock the key, or record that it must not change before the commit. */
static int
get_for_update(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	char *error = NULL;
	rocksdb_pinnableslice_t *loan = rocksdb_transaction_get_pinned_for_update(
		session->txn, session->txn_read, address(key), key.size, 1, &error);
	return lend(session, loan, error, value);
}

static int
insert_in_txn(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	struct nb_slice before;
	int rc = get_for_update(session, key, &before);
	if (rc == NB_NOT_FOUND)
		return put(session, key, value);
	if (rc != NB_OK)
		return rc;
	release(session);
	return NB_EXISTS;
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	if (session->is_in_txn)
		return insert_in_txn(session, key, value);
	int rc = begin(session, 0);
	if (rc == NB_OK)
		rc = insert_in_txn(session, key, value);
	if (rc == NB_OK)
		return commit(session);
	abort_txn(session);
	return rc;
}

static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	struct nb_db *db = session->db;
	const struct executor by = {table_of(db), db->host, session, &session->kept,
		session->is_in_txn, get_for_update};
	return execute_by(&by, steps, count, flags);
}

/* --- several requests in flight --- */

ASYNC_SUBMIT_AND_REAP(table_of(session->db))

/* --- the engine's tables --- */

static const struct nb_engine *
variant(const struct nb_option_value *values);

#define CAPS (NB_CAP_ORDERED | NB_CAP_PERSISTENT | NB_CAP_CONCURRENT | NB_CAP_ATOMIC_BATCH)

#define COMMON \
	ENGINE_BASE("rocksdb"), \
		.summary = "log-structured merge tree of Facebook, grown out of LevelDB", \
		.licence = "Apache-2.0 OR GPL-2.0-only", .home = "https://rocksdb.org", \
		.durabilities = NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_PROCESS) | \
		NB_DUR_BIT(NB_DUR_COMMIT), \
		.auto_durability = NB_DUR_PROCESS, .key_size_max = KEY_SIZE_MAX, \
		.value_size_max = VALUE_SIZE_MAX, .options = database_options, ENGINE_OPEN, \
		ENGINE_RECORDS, .release = release, ENGINE_SCAN, .batch = batch, \
		.multi_get = multi_get, .merge = merge, .submit = submit, .reap = reap, \
		ENGINE_SETTLE, .stats = database_stats, .variant = variant

static const struct nb_engine engine = {COMMON, .caps = CAPS | NB_CAP_SNAPSHOT};
static const struct nb_engine unordered = {COMMON, .caps = CAPS};
static const struct nb_engine transactional = {COMMON, .caps = CAPS | NB_CAP_SNAPSHOT,
	.insert = insert, ENGINE_TXN, .execute = execute};

static const struct nb_engine *
table_of(const struct nb_db *db)
{
	return db->base == NULL || db->optimistic != NULL ? &transactional : &engine;
}

static const struct nb_engine *
variant(const struct nb_option_value *values)
{
	return values[TRANSACTIONS].u64 != NO_TRANSACTIONS ? &transactional
		: values[WRITE_MODE].u64 == UNORDERED      ? &unordered
							   : NULL;
}
NB_ENGINE_PLUGIN(engine)
