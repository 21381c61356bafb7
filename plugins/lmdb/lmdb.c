/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LMDB: sessions, records, scans and transactions. environment.c opens the database.
 *
 * A session keeps one read-only transaction, which each get renews and the end of the loan
 * resets. MDB_NOTLS ties its slot in the reader table to the transaction instead of the
 * thread.
 */
#include "environment.h"

#include "../common/execute.h"

/*
 * One write(2) writes a page with its value. Linux writes at most 0x7ffff000 bytes at once
 * (MAX_RW_COUNT), and 16 bytes are the page header. LMDB treats a short write as a failure.
 */
#define VALUE_SIZE_MAX (0x7ffff000ull - 16)

struct nb_session {
	struct nb_db *db;
	MDB_txn *reader; /* reset unless it serves a loan, a scan or a read-only transaction */
	MDB_cursor *reader_cursor;
	MDB_txn *txn;       /* between begin and commit, maybe the reader; else NULL */
	MDB_cursor *cursor; /* of a scan: the reader's, or in a transaction a separate one */
	MDB_cursor_op step; /* of the scan: MDB_NEXT or MDB_PREV */
	struct buffer kept; /* values that an execute with writes lends */
	bool is_fresh;      /* scan_next has not returned the cursor's record yet */
	bool is_at_end;
	bool is_keys_only;
};

VERSION_BY(mdb_version)

static MDB_val
val(struct nb_slice slice)
{
	return (MDB_val){.mv_size = slice.size, .mv_data = (void *)slice.data};
}

static struct nb_slice
slice(MDB_val from)
{
	return (struct nb_slice){.data = from.mv_data, .size = from.mv_size};
}

/* --- sessions --- */

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	struct nb_session *session = calloc(1, sizeof(*session));
	if (session == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	session->db = db;
	const char *call = "mdb_txn_begin";
	int error = mdb_txn_begin(db->env, NULL, MDB_RDONLY, &session->reader);
	if (error != MDB_SUCCESS)
		goto free_session;
	call = "mdb_cursor_open";
	error = mdb_cursor_open(session->reader, db->records, &session->reader_cursor);
	if (error != MDB_SUCCESS)
		goto abort_reader;
	mdb_txn_reset(session->reader);
	*out = session;
	return NB_OK;

abort_reader:
	mdb_txn_abort(session->reader);
free_session:
	free(session);
	return environment_failure(db->host, call, error);
}

static void
abort_txn(struct nb_session *session)
{
	MDB_txn *txn = session->txn;
	session->txn = NULL;
	if (txn == session->reader)
		mdb_txn_reset(txn);
	else
		mdb_txn_abort(txn);
}

static int
session_close(struct nb_session *session)
{
	abort_txn(session); /* no effect on NULL */
	mdb_cursor_close(session->reader_cursor);
	mdb_txn_abort(session->reader);
	free(session->kept.data);
	free(session);
	return NB_OK;
}

/* --- records --- */

/* Return the open transaction, or the session's reader after renewing it. */
static int
read_begin(struct nb_session *session, MDB_txn **txn)
{
	*txn = session->txn;
	if (*txn != NULL)
		return NB_OK;
	*txn = session->reader;
	return environment_outcome(
		session->db->host, "mdb_txn_renew", mdb_txn_renew(session->reader));
}

static void
release(struct nb_session *session)
{
	if (session->txn == NULL)
		mdb_txn_reset(session->reader);
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	MDB_val k = val(key);
	MDB_val v;
	MDB_txn *txn;
	int rc = read_begin(session, &txn);
	if (rc != NB_OK)
		return rc;
	int error = mdb_get(txn, session->db->records, &k, &v);
	if (error == MDB_SUCCESS) {
		*value = slice(v);
		return NB_OK;
	}
	release(session);
	return error == MDB_NOTFOUND ? NB_NOT_FOUND
				     : environment_failure(session->db->host, "mdb_get", error);
}

/* Return the open transaction, or one for this write; LMDB waits for other writers. */
static int
write_begin(struct nb_session *session, MDB_txn **txn)
{
	*txn = session->txn;
	if (*txn != NULL)
		return NB_OK;
	return environment_outcome(session->db->host, "mdb_txn_begin",
		mdb_txn_begin(session->db->env, NULL, 0, txn));
}

static int
write_end(struct nb_session *session, MDB_txn *txn, const char *call, int error)
{
	const struct nb_host *host = session->db->host;
	if (error == MDB_SUCCESS && session->txn == NULL)
		return environment_outcome(host, "mdb_txn_commit", mdb_txn_commit(txn));
	if (session->txn == NULL)
		mdb_txn_abort(txn);
	if (error == MDB_NOTFOUND)
		return NB_NOT_FOUND;
	return error == MDB_KEYEXIST ? NB_EXISTS : environment_outcome(host, call, error);
}

static int
put_with(struct nb_session *session, struct nb_slice key, struct nb_slice value,
	unsigned int flags)
{
	MDB_val k = val(key);
	MDB_val v = val(value);
	MDB_txn *txn;
	int rc = write_begin(session, &txn);
	if (rc != NB_OK)
		return rc;
	int error = mdb_put(txn, session->db->records, &k, &v, flags);
	return write_end(session, txn, "mdb_put", error);
}

PUT_AND_INSERT(put_with, 0, MDB_NOOVERWRITE)

static int
del(struct nb_session *session, struct nb_slice key)
{
	MDB_val k = val(key);
	MDB_txn *txn;
	int rc = write_begin(session, &txn);
	if (rc != NB_OK)
		return rc;
	int error = mdb_del(txn, session->db->records, &k, NULL);
	return write_end(session, txn, "mdb_del", error);
}

/* --- scans --- */

/* MDB_SET_RANGE finds the first key >= from; a backward scan needs the last key <= from. */
static int
seek(struct nb_session *session, struct nb_slice from)
{
	MDB_cursor *cursor = session->cursor;
	bool is_backward = session->step == MDB_PREV;
	MDB_val found = val(from);
	if (from.size == 0)
		return mdb_cursor_get(cursor, &found, NULL, is_backward ? MDB_LAST : MDB_FIRST);
	int error = mdb_cursor_get(cursor, &found, NULL, MDB_SET_RANGE);
	if (!is_backward)
		return error;
	if (error == MDB_NOTFOUND)
		return mdb_cursor_get(cursor, &found, NULL, MDB_LAST);
	if (error == MDB_SUCCESS &&
		(found.mv_size != from.size || memcmp(found.mv_data, from.data, from.size)))
		return mdb_cursor_get(cursor, &found, NULL, MDB_PREV);
	return error;
}

static int
cursor_open(struct nb_session *session, MDB_txn *txn)
{
	const struct nb_host *host = session->db->host;
	if (txn != session->reader)
		return environment_outcome(host, "mdb_cursor_open",
			mdb_cursor_open(txn, session->db->records, &session->cursor));
	session->cursor = session->reader_cursor;
	return environment_outcome(
		host, "mdb_cursor_renew", mdb_cursor_renew(txn, session->cursor));
}

static int
scan_close(struct nb_session *session)
{
	if (session->cursor != session->reader_cursor)
		mdb_cursor_close(session->cursor);
	session->cursor = NULL;
	release(session);
	return NB_OK;
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	MDB_txn *txn;
	int rc = read_begin(session, &txn);
	if (rc != NB_OK)
		return rc;
	rc = cursor_open(session, txn);
	if (rc != NB_OK) {
		release(session);
		return rc;
	}
	session->step = (args->flags & NB_SCAN_BACKWARD) != 0 ? MDB_PREV : MDB_NEXT;
	session->is_keys_only = (args->flags & NB_SCAN_KEYS_ONLY) != 0;
	int error = seek(session, args->from);
	session->is_fresh = error == MDB_SUCCESS;
	session->is_at_end = error == MDB_NOTFOUND;
	if (session->is_fresh || session->is_at_end)
		return NB_OK;
	scan_close(session);
	return environment_failure(session->db->host, "mdb_cursor_get", error);
}

/*
 * Without a value argument, LMDB does not read the pages of a long value. The cursor is not
 * moved past its end, because it may then restart at the other end.
 */
static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	MDB_val k;
	MDB_val v = {0, NULL};
	if (session->is_at_end)
		return NB_NOT_FOUND;
	int error = mdb_cursor_get(session->cursor, &k, session->is_keys_only ? NULL : &v,
		session->is_fresh ? MDB_GET_CURRENT : session->step);
	session->is_fresh = false;
	session->is_at_end = error == MDB_NOTFOUND;
	if (session->is_at_end)
		return NB_NOT_FOUND;
	if (error != MDB_SUCCESS)
		return environment_failure(session->db->host, "mdb_cursor_get", error);
	*key = slice(k);
	*value = slice(v);
	return NB_OK;
}

/* --- transactions --- */

static int
begin(struct nb_session *session, uint32_t flags)
{
	if ((flags & NB_TXN_READ_ONLY) == 0)
		return write_begin(session, &session->txn);
	MDB_txn *reader;
	int rc = read_begin(session, &reader);
	session->txn = rc == NB_OK ? reader : NULL;
	return rc;
}

static int
commit(struct nb_session *session)
{
	MDB_txn *txn = session->txn;
	if (txn == session->reader) {
		abort_txn(session);
		return NB_OK;
	}
	session->txn = NULL;
	return environment_outcome(session->db->host, "mdb_txn_commit", mdb_txn_commit(txn));
}

/* A batch is one transaction, so it is always atomic. */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	if (session->txn != NULL)
		return write_each(session, writes, count, put, del);
	int rc = begin(session, 0);
	if (rc == NB_OK)
		rc = write_each(session, writes, count, put, del);
	if (rc == NB_OK)
		return commit(session);
	abort_txn(session);
	return rc;
}

static const struct nb_engine engine;

/* In a read-only transaction all values stay in place until release ends it. */
static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	struct executor by = *EXECUTOR(engine, session->txn != NULL);
	if ((flags & NB_EXEC_READ_ONLY) == 0 || by.is_begun)
		return execute_by(&by, steps, count, flags);
	int rc = check_flags(by.host, flags);
	if (rc == NB_OK)
		rc = begin(session, NB_TXN_READ_ONLY);
	if (rc != NB_OK)
		return rc;
	by.kept = NULL;
	rc = execute_steps(&by, steps, count);
	session->txn = NULL;
	if (rc != NB_OK || !have_loans(steps, count))
		release(session);
	return rc;
}

MERGE_BY_TXN(engine, session->txn != NULL)

/* --- operations on the whole database --- */

/* Both levels are equal: LMDB does not defer work. */
static int
flush(struct nb_db *db, uint32_t upto)
{
	if (db->is_read_only)
		return NB_OK;
	return environment_outcome(db->host, "mdb_env_sync", mdb_env_sync(db->env, 1));
}

/* LMDB needs no recovery: an open selects the newer meta page, which must be on storage. */
CHECKPOINT_BY_FLUSH(flush)

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	MDB_envinfo info;
	MDB_stat stat;
	mdb_env_info(db->env, &info);
	mdb_env_stat(db->env, &stat);
	emit(to, "records", "records", NB_STAT_GAUGE, stat.ms_entries);
	emit(to, "depth", "levels", NB_STAT_GAUGE, stat.ms_depth);
	emit(to, "branch_pages", "pages", NB_STAT_GAUGE, stat.ms_branch_pages);
	emit(to, "leaf_pages", "pages", NB_STAT_GAUGE, stat.ms_leaf_pages);
	emit(to, "overflow_pages", "pages", NB_STAT_GAUGE, stat.ms_overflow_pages);
	emit(to, "page_size", "bytes", NB_STAT_GAUGE, stat.ms_psize);
	emit(to, "file_used", "bytes", NB_STAT_GAUGE, (info.me_last_pgno + 1) * stat.ms_psize);
	emit(to, "map_size", "bytes", NB_STAT_GAUGE, info.me_mapsize);
	emit(to, "reader_slots", "slots", NB_STAT_GAUGE, info.me_numreaders);
	emit(to, "transactions", "transactions", NB_STAT_COUNTER, info.me_last_txnid);
}

static const struct nb_engine engine = {ENGINE_BASE("lmdb"), ENGINE_RECORDS,
	.summary = "memory-mapped copy-on-write B+ tree of OpenLDAP", .licence = "OLDAP-2.8",
	.home = "https://www.symas.com/lmdb",
	.caps = NB_CAP_ORDERED | NB_CAP_PERSISTENT | NB_CAP_CONCURRENT | NB_CAP_ATOMIC_BATCH |
		NB_CAP_SNAPSHOT | NB_CAP_SERIALIZABLE | NB_CAP_ZERO_COPY | NB_CAP_MULTI_PROCESS,
	.durabilities = NB_DUR_BIT(NB_DUR_PROCESS) | NB_DUR_BIT(NB_DUR_PERIODIC) |
		NB_DUR_BIT(NB_DUR_COMMIT),
	.auto_durability = NB_DUR_PROCESS, .key_size_max = KEY_SIZE_MAX,
	.value_size_max = VALUE_SIZE_MAX, .options = environment_options, .open = database_open,
	.close = database_close, .release = release, .insert = insert, ENGINE_SCAN,
	.batch = batch, ENGINE_TXN, ENGINE_EXECUTE, .flush = flush, .checkpoint = checkpoint,
	.stats = stats};
NB_ENGINE_PLUGIN(engine)
