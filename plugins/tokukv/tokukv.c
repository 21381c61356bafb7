/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TokuKV, today PerconaFT, through tokudb.h. environment.c opens the database.
 *
 * - Its API has Berkeley DB's names with other values and structures. Only tokudb.h is
 *   included here, and the host loads plugins with RTLD_LOCAL, so the two libraries do not
 *   conflict.
 * - Each write is in a transaction, because the transaction determines whether the library
 *   syncs. Without a sync, the log stays in the memory of this process and kill -9 loses it.
 *   So the plugin offers neither 'process' nor 'periodic'. The option sync_interval only
 *   limits the loss.
 * - get reads in a read-only snapshot transaction, which takes no row locks. A callback gets
 *   the row inside the tree's node, so get copies it once.
 * - A scan reads rows in batches: if a callback returns TOKUDB_CURSOR_CONTINUE, it is called
 *   with the next row. Each c_getf_next would search the tree from its root.
 */
#include "environment.h"

/* toku_ft_get_maximum_advised_key_value_lengths; put rejects longer ones. */
#define KEY_SIZE_MAX (32ull << 10)
#define VALUE_SIZE_MAX (32ull << 20)

enum {
	LOOK_STEP = 1 << 20, /* bytes that a session writes between checks of the free space */
	SCAN_BYTES = 64 << 10, /* of rows that a scan reads ahead */
	PANIC_SIZE = 400
};

struct nb_session {
	struct nb_db *db;
	DB_TXN *txn;         /* NULL: each verb has its own */
	struct buffer found; /* the value that get lends */
	struct buffer rows;  /* rows that a scan has read ahead */
	size_t rows_at;      /* position of the next row */
	DB_TXN *scan_txn;    /* NULL: the session's transaction */
	DBC *cursor;
	uint64_t scan_left; /* expected number of further rows */
	bool is_backward, is_keys_only, is_at_end;
	uint64_t unlooked; /* bytes written since the last check of the free space */
};

/* A row in `rows`, before its key and value. */
struct row {
	uint32_t key_size, value_size;
};

static void
abort_txn(struct nb_session *session)
{
	if (session->txn != NULL)
		session->txn->abort(session->txn);
	session->txn = NULL;
}

/* Convert the library's error to a verb's answer. */
static int
outcome(struct nb_session *session, const char *call, int error)
{
	switch (error) {
	case 0:
		return NB_OK;
	case DB_NOTFOUND:
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

VERSION_BY(db_version)

/* --- sessions --- */

SESSION_OPEN()

static int
session_close(struct nb_session *session)
{
	abort_txn(session);
	free(session->found.data);
	free(session->rows.data);
	free(session);
	return NB_OK;
}

/* --- records --- */

/* Pass `slice` as an argument. Lengths are 32 bits wide. */
static inline DBT
lend(struct nb_slice slice)
{
	return (DBT){.data = (void *)(uintptr_t)slice.data, .size = (uint32_t)slice.size};
}

/* Copy the requested row, which is inside the tree's node. */
static int
keep_value(const DBT *key, const DBT *value, void *extra)
{
	return buffer_set(extra, value->data, value->size) ? 0 : ENOMEM;
}

/*
 * Set *txn to the session's transaction, or to a new one for reading, which is also set in
 * *own.
 */
static inline int
begin_read(struct nb_session *session, DB_TXN **txn, DB_TXN **own)
{
	DB_ENV *env = session->db->env;
	*own = NULL;
	*txn = session->txn;
	if (*txn != NULL)
		return 0;
	int error = env->txn_begin(env, NULL, own, DB_TXN_SNAPSHOT | DB_TXN_READ_ONLY);
	*txn = *own;
	return error;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	DB *base = session->db->base;
	DBT what = lend(key);
	DB_TXN *txn, *own;
	int error = begin_read(session, &txn, &own);
	if (error != 0)
		return outcome(session, "DB_ENV->txn_begin", error);
	error = base->getf_set(base, txn, 0, &what, keep_value, &session->found);
	if (own != NULL)
		own->commit(own, 0); /* a read-only transaction cannot fail to commit */
	if (error != 0)
		return outcome(session, "DB->getf_set", error);
	*value = buffer_slice(&session->found);
	return NB_OK;
}

/* If `own` is not NULL, end it: commit after success, abort after `error`. */
static inline int
end_write(DB_TXN *own, int error)
{
	if (own == NULL)
		return error;
	if (error == 0)
		return own->commit(own, 0);
	own->abort(own);
	return error;
}

/* After a write. */
static inline int
wrote(struct nb_session *session, const char *call, int error, uint64_t bytes)
{
	if (error != 0)
		return outcome(session, call, error);
	session->unlooked += bytes;
	if (session->unlooked < LOOK_STEP)
		return NB_OK;
	__atomic_add_fetch(&session->db->written, session->unlooked, __ATOMIC_RELAXED);
	session->unlooked = 0;
	return environment_check_room(session->db);
}

static inline int
store(struct nb_session *session, struct nb_slice key, struct nb_slice value, uint32_t flags)
{
	struct nb_db *db = session->db;
	DBT what = lend(key), with = lend(value);
	DB_TXN *own = NULL;
	int error = 0;
	if (session->txn == NULL)
		error = db->env->txn_begin(db->env, NULL, &own, db->write_flags);
	if (error == 0)
		error = end_write(own,
			db->base->put(db->base, own != NULL ? own : session->txn, &what, &with,
				flags));
	return wrote(session, "DB->put", error, key.size + value.size);
}

PUT_AND_INSERT(store, 0, DB_NOOVERWRITE)

/* Sends a message down the tree without checking whether the key exists. */
static int
del(struct nb_session *session, struct nb_slice key)
{
	struct nb_db *db = session->db;
	DBT what = lend(key);
	DB_TXN *own = NULL;
	int error = 0;
	if (session->txn == NULL)
		error = db->env->txn_begin(db->env, NULL, &own, db->write_flags);
	if (error == 0)
		error = end_write(own,
			db->base->del(db->base, own != NULL ? own : session->txn, &what,
				DB_DELETE_ANY));
	return wrote(session, "DB->del", error, key.size);
}

/* --- transactions --- */

static int
begin(struct nb_session *session, uint32_t flags)
{
	struct nb_db *db = session->db;
	uint32_t how = DB_TXN_SNAPSHOT | db->write_flags;
	if (session->txn != NULL)
		return db->host->fail(NB_FAIL, "a transaction is open already");
	if ((flags & NB_TXN_READ_ONLY) != 0)
		how |= DB_TXN_READ_ONLY;
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
batch_write(DB *base, DB_TXN *txn, const struct nb_write *write)
{
	DBT what = lend(write->key), with = lend(write->value);
	return write->is_delete ? base->del(base, txn, &what, DB_DELETE_ANY)
				: base->put(base, txn, &what, &with, 0);
}

/* A transaction, nested if the session has one, so it is always atomic. */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	struct nb_db *db = session->db;
	DB_TXN *txn;
	uint64_t bytes = 0;
	for (size_t i = 0; i < count; i++)
		bytes += writes[i].key.size + (writes[i].is_delete ? 0 : writes[i].value.size);
	int error = db->env->txn_begin(db->env, session->txn, &txn, db->write_flags);
	if (error != 0)
		return outcome(session, "DB_ENV->txn_begin", error);
	for (size_t i = 0; i < count && error == 0; i++)
		error = batch_write(db->base, txn, &writes[i]);
	return wrote(session, "DB->put in a batch", end_write(txn, error), bytes);
}

/* --- scans --- */

static int
keep_row(const DBT *key, const DBT *value, void *extra)
{
	struct nb_session *session = extra;
	struct buffer *rows = &session->rows;
	struct row row = {key->size, session->is_keys_only ? 0 : value->size};
	if (!buffer_add(rows, &row, sizeof(row)) ||
		!buffer_add(rows, key->data, row.key_size) ||
		!buffer_add(rows, value->data, row.value_size))
		return ENOMEM;
	session->scan_left -= session->scan_left > 0;
	return 0;
}

static int
keep_rows(const DBT *key, const DBT *value, void *extra)
{
	struct nb_session *session = extra;
	int error = keep_row(key, value, extra);
	if (error != 0)
		return error;
	return session->scan_left > 0 && session->rows.size < SCAN_BYTES
		? TOKUDB_CURSOR_CONTINUE
		: 0;
}

static int
seek(struct nb_session *session, struct nb_slice from)
{
	DBC *cursor = session->cursor;
	DBT key = lend(from);
	if (from.size != 0 && session->is_backward)
		return cursor->c_getf_set_range_reverse(cursor, 0, &key, keep_row, session);
	if (from.size != 0)
		return cursor->c_getf_set_range(cursor, 0, &key, keep_row, session);
	if (session->is_backward)
		return cursor->c_getf_last(cursor, 0, keep_row, session);
	return cursor->c_getf_first(cursor, 0, keep_row, session);
}

static void
scan_end(struct nb_session *session)
{
	if (session->cursor != NULL)
		session->cursor->c_close(session->cursor);
	if (session->scan_txn != NULL)
		session->scan_txn->commit(session->scan_txn, 0);
	session->cursor = NULL;
	session->scan_txn = NULL;
}

static int
scan_close(struct nb_session *session)
{
	scan_end(session);
	return NB_OK;
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	DB *base = session->db->base;
	DB_TXN *txn;
	int error = begin_read(session, &txn, &session->scan_txn);
	if (error != 0)
		return outcome(session, "DB_ENV->txn_begin", error);
	session->is_backward = (args->flags & NB_SCAN_BACKWARD) != 0;
	session->is_keys_only = (args->flags & NB_SCAN_KEYS_ONLY) != 0;
	session->scan_left = args->limit != 0 ? args->limit : UINT64_MAX;
	session->rows.size = session->rows_at = 0;
	error = base->cursor(base, txn, &session->cursor, 0);
	if (error == 0)
		error = seek(session, args->from);
	session->is_at_end = error == DB_NOTFOUND;
	if (error == 0 || error == DB_NOTFOUND)
		return NB_OK;
	scan_end(session);
	return outcome(session, "DBC->c_getf_first", error);
}

/* Read rows from the cursor into the buffer, after all of its rows were returned. */
static int
read_ahead(struct nb_session *session)
{
	DBC *cursor = session->cursor;
	session->rows.size = session->rows_at = 0;
	if (session->scan_left == 0)
		session->scan_left = 1; /* more rows than expected */
	int error = session->is_backward ? cursor->c_getf_prev(cursor, 0, keep_rows, session)
					 : cursor->c_getf_next(cursor, 0, keep_rows, session);
	/* The leaf or the tree ends before the buffer is full. */
	if (error == TOKUDB_CURSOR_CONTINUE ||
		(error == DB_NOTFOUND && session->rows.size != 0))
		return 0;
	return error;
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct row row;
	if (session->is_at_end)
		return NB_NOT_FOUND;
	if (session->rows_at == session->rows.size) {
		int error = read_ahead(session);
		session->is_at_end = error == DB_NOTFOUND;
		if (error != 0)
			return outcome(session, "DBC->c_getf_next", error);
	}
	const char *at = session->rows.data + session->rows_at;
	memcpy(&row, at, sizeof(row));
	*key = (struct nb_slice){at + sizeof(row), row.key_size};
	*value = (struct nb_slice){at + sizeof(row) + row.key_size, row.value_size};
	session->rows_at += sizeof(row) + row.key_size + row.value_size;
	return NB_OK;
}

/* --- operations on the whole database --- */

static int
never_stop(void *extra, float progress)
{
	return 0;
}

/* The deferred work is messages in inner nodes on their way to the leaves. */
static int
flush(struct nb_db *db, uint32_t upto)
{
	uint64_t loops = 0;
	if (upto == NB_SETTLE_COMPACT) {
		int error = db->base->hot_optimize(
			db->base, NULL, NULL, never_stop, NULL, &loops);
		if (error != 0)
			return environment_failure(db->host, "DB->hot_optimize", error);
	}
	return database_checkpoint(db);
}

static const struct counter {
	const char *row, *name, *unit;
	uint32_t kind;
} counters[] = {
	{"CACHETABLE_MISS", "cache_misses", "nodes", NB_STAT_COUNTER},
	{"CACHETABLE_EVICTIONS", "cache_evictions", "nodes", NB_STAT_COUNTER},
	{"CACHETABLE_SIZE_CURRENT", "cache_size", "bytes", NB_STAT_GAUGE},
	{"CACHETABLE_SIZE_WRITING", "cache_writing", "bytes", NB_STAT_GAUGE},
	{"CACHETABLE_WAIT_PRESSURE_COUNT", "cache_waits", "waits", NB_STAT_COUNTER},
	{"CACHETABLE_CLEANER_EXECUTIONS", "cleaner_runs", "runs", NB_STAT_COUNTER},
	{"CHECKPOINT_TAKEN", "checkpoints", "checkpoints", NB_STAT_COUNTER},
	{"LOGGER_WRITES", "log_writes", "calls", NB_STAT_COUNTER},
	{"LOGGER_WRITES_BYTES", "log_written", "bytes", NB_STAT_COUNTER},
	{"LOCKTREE_WAIT_COUNT", "lock_waits", "waits", NB_STAT_COUNTER},
	{"LOCKTREE_TIMEOUT_COUNT", "lock_timeouts", "timeouts", NB_STAT_COUNTER},
};

/* The library always fills its entire table: some 400 rows, whose values it sums up first. */
static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	enum { ROWS_MAX = 600, COUNTERS = COUNT_OF(counters) };
	TOKU_ENGINE_STATUS_ROW_S *rows = calloc(ROWS_MAX, sizeof(*rows));
	fs_redzone_state zone;
	uint64_t count = 0, panic = 0;
	char text[PANIC_SIZE];

	if (rows == NULL ||
		db->env->get_engine_status(db->env, rows, ROWS_MAX, &count, &zone, &panic, text,
			sizeof(text), TOKU_ENGINE_STATUS) != 0)
		count = 0;
	for (uint64_t i = 0; i < count; i++)
		for (size_t j = 0; j < COUNTERS && rows[i].type == UINT64; j++)
			if (rows[i].columnname != NULL &&
				strcmp(rows[i].columnname, counters[j].row) == 0)
				emit(to, counters[j].name, counters[j].unit, counters[j].kind,
					rows[i].value.num);
	free(rows);
}

static const struct nb_engine engine = {ENGINE_BASE("tokukv"), ENGINE_RECORDS,
	.summary = "fractal tree of Tokutek, today PerconaFT",
	.licence = "GPL-2.0-only OR AGPL-3.0-only",
	.home = "https://github.com/percona/PerconaFT",
	.caps = NB_CAP_ORDERED | NB_CAP_PERSISTENT | NB_CAP_CONCURRENT | NB_CAP_ATOMIC_BATCH |
		NB_CAP_SNAPSHOT,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_COMMIT),
	.auto_durability = NB_DUR_NONE, .key_size_max = KEY_SIZE_MAX,
	.value_size_max = VALUE_SIZE_MAX, .options = environment_options, .open = database_open,
	.close = database_close, .insert = insert, ENGINE_SCAN, .batch = batch, ENGINE_TXN,
	.flush = flush, .checkpoint = database_checkpoint, .stats = stats};
NB_ENGINE_PLUGIN(engine)
