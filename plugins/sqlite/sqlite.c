/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SQLite: each table is a B-tree ordered by its key. database.c opens connections, schema.c
 * contains the tables.
 *
 * - A session is a connection without SQLite's mutex, with each statement prepared once.
 * - A loan is a row of a statement that has not been reset, which holds a read transaction.
 *   SQLite has copied the value from its page by then, so it is not zero-copy.
 * - The journal determines the durability levels, and journal=off cannot undo anything. So
 *   there is an engine table for each journal.
 * - SQLite waits up to busy_timeout for a lock; then the answer is NB_CONFLICT.
 */
#include "session.h"

#include "../common/execute.h"

/*
 * SQLite limits a row (key, value and header) to 1,000,000,000 bytes. The plugin splits this
 * so that any key can have any value.
 */
#define KEY_SIZE_MAX (64ull << 20)
#define VALUE_SIZE_MAX (1000000000ull - KEY_SIZE_MAX - 32)

enum { PUBLISH_EVERY = 1024 };

static const char *const txn_texts[TXN_STATEMENTS] = {
	[BEGIN_WRITE] =
		"BEGIN IMMEDIATE", /* otherwise only the first write would detect a conflict */
	[BEGIN_READ] = "BEGIN",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
};

/*
 * Counters of a connection from sqlite3_db_status(), which only the connection's thread may
 * call.
 */
static const struct {
	int op;
	const char *name;
} counters[COUNTERS] = {
	{SQLITE_DBSTATUS_CACHE_HIT, "cache_hits"},
	{SQLITE_DBSTATUS_CACHE_MISS, "cache_misses"},
	{SQLITE_DBSTATUS_CACHE_WRITE, "cache_writes"},
	{SQLITE_DBSTATUS_CACHE_SPILL, "cache_spills"},
};

static const char *
version(void)
{
	return sqlite3_libversion();
}

/* --- answers --- */

int
session_run(sqlite3_stmt *statement)
{
	sqlite3_step(statement);
	return sqlite3_reset(statement);
}

static void
abort_txn(struct nb_session *session)
{
	session->is_in_transaction = false;
	if (sqlite3_get_autocommit(session->base) != 0)
		return; /* some errors roll back */
	session_run(session->txn[ROLLBACK]);
}

int
session_outcome(struct nb_session *session, const char *call, int error)
{
	if (error == SQLITE_OK)
		return NB_OK;
	if (error == SQLITE_MISMATCH)
		return session->db->host->fail(
			NB_FAIL, "the key or value does not fit the columns of its table");
	if (!database_is_locked(error))
		return database_failure(session->db->host, session->base, call, error);
	abort_txn(session);
	return NB_CONFLICT;
}

/* --- open and close --- */

static const struct nb_engine *
variant(const struct nb_option_value *values);

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	int rc = check_durability(args, variant(args->options));
	if (rc != NB_OK)
		return rc;
	return database_open(out, args);
}

/* Add this connection's new counts to the totals. */
static void
publish(struct nb_session *session)
{
	for (int i = 0; i < COUNTERS; i++) {
		int count = 0, most;
		sqlite3_db_status(session->base, counters[i].op, &count, &most, 1);
		__atomic_fetch_add(&session->db->counts[i], (uint64_t)count, __ATOMIC_RELAXED);
	}
}

void
session_called(struct nb_session *session)
{
	if (++session->calls % PUBLISH_EVERY == 0)
		publish(session);
}

static int
prepare(struct nb_session *session, sqlite3_stmt **out, const char *text)
{
	int error = sqlite3_prepare_v3(
		session->base, text, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
	return error == SQLITE_OK
		? NB_OK
		: database_failure(session->db->host, session->base, text, error);
}

static int
prepare_all(struct nb_session *session)
{
	const struct nb_db *db = session->db;
	int rc = NB_OK;
	for (uint32_t t = 0; t < db->table_count; t++)
		for (int i = 0; rc == NB_OK && i < STATEMENTS; i++)
			if (db->tables[t].texts[i] != NULL)
				rc = prepare(session, &session->statements[t][i],
					db->tables[t].texts[i]);
	for (int i = 0; rc == NB_OK && i < TXN_STATEMENTS; i++)
		rc = prepare(session, &session->txn[i], txn_texts[i]);
	return rc;
}

static void
finalize_all(struct nb_session *session)
{
	for (uint32_t t = 0; t < session->db->table_count; t++)
		for (int i = 0; i < STATEMENTS; i++)
			sqlite3_finalize(session->statements[t][i]);
	for (int i = 0; i < TXN_STATEMENTS; i++)
		sqlite3_finalize(session->txn[i]);
}

/* The SQL function add_u64 of MERGE, for two integers or two values of 8 bytes. */
static void
add_u64(sqlite3_context *context, int count, sqlite3_value **values)
{
	uint64_t terms[2];
	bool is_number = sqlite3_value_type(values[0]) == SQLITE_INTEGER;
	for (int i = 0; i < 2; i++)
		if (is_number)
			terms[i] = (uint64_t)sqlite3_value_int64(values[i]);
		else
			memcpy(&terms[i], sqlite3_value_blob(values[i]), sizeof(terms[i]));
	terms[0] += terms[1];
	if (is_number)
		sqlite3_result_int64(context, (sqlite3_int64)terms[0]);
	else
		sqlite3_result_blob(context, terms, sizeof(terms[0]), SQLITE_TRANSIENT);
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	struct nb_session *session = calloc(1, sizeof(*session));
	if (session == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	session->db = db;
	int rc = database_connect(&session->base, db, 0, db->synchronous);
	if (rc != NB_OK)
		goto free_session;
	sqlite3_create_function(session->base, "add_u64", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
		NULL, add_u64, NULL, NULL);
	rc = prepare_all(session); /* fails without the function */
	if (rc != NB_OK)
		goto close_base;
	*out = session;
	return NB_OK;

close_base:
	finalize_all(session);
	sqlite3_close(session->base);
free_session:
	free(session);
	return rc;
}

static int
session_close(struct nb_session *session)
{
	const struct nb_host *host = session->db->host;
	publish(session);
	finalize_all(session);
	int error = sqlite3_close(session->base); /* rolls back an open transaction */
	int rc = error == SQLITE_OK
		? NB_OK
		: database_failure(host, session->base, "sqlite3_close", error);
	struct buffer *buffers[] = {
		&session->kept, &session->value, &session->scan.key, &session->scan.value};
	for (size_t i = 0; i < COUNT_OF(buffers); i++)
		free(buffers[i]->data);
	free(session);
	return rc;
}

/* --- records --- */

/* The number of the key's table; negative: none. */
static int
table_of(const struct nb_db *db, struct nb_slice key)
{
	for (uint32_t t = 0; t < db->table_count; t++)
		if (sql_begins_with(key, db->tables[t].of->prefix))
			return (int)t;
	return db->host->fail(NB_FAIL, "no table has a prefix of this key");
}

static int
bind_key(sqlite3_stmt *statement, const struct nb_table *of, struct nb_slice key)
{
	return columns_bind(statement, 1, of->key_columns, of->key_column_count,
		sql_strip(of, key), true, SQLITE_STATIC);
}

static int
lend(struct nb_session *session, const struct table *table, sqlite3_stmt *statement,
	struct nb_slice *value)
{
	session->lent = statement;
	if (table->is_plain_value) {
		*value = columns_plain(statement, 0);
		return NB_OK;
	}
	session->value.size = 0;
	bool is_done = columns_add(&session->value, statement, 0, table->of->value_columns,
		table->of->value_column_count, false);
	*value = buffer_slice(&session->value);
	if (is_done)
		return NB_OK;
	sqlite3_reset(statement);
	return session->db->host->fail(NB_FAIL, "out of memory");
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	int t = table_of(session->db, key);
	if (t < 0)
		return t;
	const struct table *table = &session->db->tables[t];
	sqlite3_stmt *statement = session->statements[t][GET];
	int error = bind_key(statement, table->of, key);
	if (error == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
		return lend(session, table, statement, value);
	if (error == SQLITE_OK)
		error = sqlite3_reset(statement);
	session_called(session);
	return error == SQLITE_OK ? NB_NOT_FOUND : session_outcome(session, "SELECT", error);
}

static void
release(struct nb_session *session)
{
	sqlite3_reset(session->lent);
	session_called(session);
}

static int
write_one(struct nb_session *session, int which, struct nb_slice key, struct nb_slice value)
{
	int t = table_of(session->db, key);
	if (t < 0)
		return t;
	const struct nb_table *of = session->db->tables[t].of;
	sqlite3_stmt *statement = session->statements[t][which];
	if (statement == NULL)
		return session->db->host->fail(NB_UNSUPPORTED,
			"merge: the values of table %s are not one column of 8 bytes",
			of->name);
	int error = bind_key(statement, of, key);
	if (error == SQLITE_OK && which != DEL)
		error = columns_bind(statement, 1 + (int)of->key_column_count,
			of->value_columns, of->value_column_count, value, false, SQLITE_STATIC);
	if (error == SQLITE_OK)
		error = session_run(statement);
	session_called(session);
	return session_outcome(session, session->db->tables[t].texts[which], error);
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return write_one(session, PUT, key, value);
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	int rc = write_one(session, INSERT, key, value);
	return rc == NB_OK && sqlite3_changes(session->base) == 0 ? NB_EXISTS : rc;
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	int rc = write_one(session, DEL, key, (struct nb_slice){0});
	return rc == NB_OK && sqlite3_changes(session->base) == 0 ? NB_NOT_FOUND : rc;
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	const struct nb_host *host = session->db->host;
	if (how != NB_MERGE_ADD_U64)
		return host->fail(NB_UNSUPPORTED, "unknown kind of merge %u", how);
	int rc = write_one(session, MERGE, key, (struct nb_slice){&operand, sizeof(operand)});
	return rc == NB_OK && sqlite3_changes(session->base) == 0
		? host->fail(NB_FAIL, "merge: the value is not a counter of 8 bytes")
		: rc;
}

/* --- transactions and batches --- */

static int
begin(struct nb_session *session, uint32_t flags)
{
	int which = (flags & NB_TXN_READ_ONLY) != 0 ? BEGIN_READ : BEGIN_WRITE;
	int rc = session_outcome(session, txn_texts[which], session_run(session->txn[which]));
	session->is_in_transaction = rc == NB_OK;
	return rc;
}

static int
commit(struct nb_session *session)
{
	int rc = session_outcome(session, txn_texts[COMMIT], session_run(session->txn[COMMIT]));
	session->is_in_transaction = false;
	return rc;
}

/* A batch inside an open transaction; if it fails, only the batch is rolled back. */
static int
batch_within(struct nb_session *session, const struct nb_write *writes, size_t count)
{
	int error = sqlite3_exec(session->base, "SAVEPOINT batch", NULL, NULL, NULL);
	if (error != SQLITE_OK)
		return session_outcome(session, "SAVEPOINT", error);
	int rc = write_each(session, writes, count, put, del);
	if (rc == NB_CONFLICT)
		return rc; /* everything is rolled back */
	if (rc != NB_OK)
		sqlite3_exec(session->base, "ROLLBACK TO batch", NULL, NULL, NULL);
	error = sqlite3_exec(session->base, "RELEASE batch", NULL, NULL, NULL);
	return rc == NB_OK ? session_outcome(session, "RELEASE", error) : rc;
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	bool is_final = session->db->journal == OFF;
	if (is_final && (flags & NB_BATCH_ATOMIC) != 0)
		return session->db->host->fail(
			NB_UNSUPPORTED, "journal=off undoes nothing, so no batch is atomic");
	if (session->is_in_transaction)
		return batch_within(session, writes, count);
	int rc = begin(session, 0);
	if (rc != NB_OK)
		return rc;
	rc = write_each(session, writes, count, put, del);
	if (rc == NB_OK)
		return commit(session);
	if (rc != NB_CONFLICT && is_final)
		commit(session); /* ROLLBACK would corrupt the database */
	else if (rc != NB_CONFLICT)
		abort_txn(session);
	return rc;
}

static const struct nb_engine engines[OFF + 1];

EXECUTE_BY_TXN(engines[WAL], session->is_in_transaction)

static void
emit_size(struct nb_db *db, const char *suffix, const char *name, nb_stat_emit emit, void *to)
{
	char path[FILE_PATH_SIZE + 8];
	struct stat info;
	snprintf(path, sizeof(path), "%s%s", db->path, suffix);
	emit(to, name, "bytes", NB_STAT_GAUGE,
		stat(path, &info) == 0 ? (uint64_t)info.st_size : 0);
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	sqlite3_int64 memory = 0, most = 0;
	for (int i = 0; i < COUNTERS; i++)
		emit(to, counters[i].name, "pages", NB_STAT_COUNTER,
			__atomic_load_n(&db->counts[i], __ATOMIC_RELAXED));
	emit(to, "busy_waits", "waits", NB_STAT_COUNTER,
		__atomic_load_n(&db->busy_waits, __ATOMIC_RELAXED));
	sqlite3_status64(SQLITE_STATUS_MEMORY_USED, &memory, &most, 0);
	emit(to, "memory", "bytes", NB_STAT_GAUGE, (uint64_t)memory);
	emit_size(db, "", "database_size", emit, to);
	emit_size(db, "-wal", "log_size", emit, to);
}

/* Common to all journals. */
#define TABLE \
	ENGINE_BASE("sqlite"), .summary = "B-tree of SQLite, a table of keys and values", \
			       .licence = "blessing", .home = "https://www.sqlite.org", \
			       .key_size_max = KEY_SIZE_MAX, .value_size_max = VALUE_SIZE_MAX, \
			       .options = database_options, .open = db_open, \
			       .close = database_close, ENGINE_RECORDS, .release = release, \
			       .insert = insert, ENGINE_SCAN, .batch = batch, \
			       .flush = database_flush, .checkpoint = database_checkpoint, \
			       .stats = stats, .count = schema_count, .variant = variant
#define CAPS \
	(NB_CAP_ORDERED | NB_CAP_PERSISTENT | NB_CAP_CONCURRENT | NB_CAP_SNAPSHOT | \
		NB_CAP_MULTI_PROCESS)

#define ATOMIC \
	TABLE, ENGINE_TXN, ENGINE_EXECUTE, \
		.caps = CAPS | NB_CAP_ATOMIC_BATCH | NB_CAP_SERIALIZABLE
#define ROLLBACK_JOURNAL \
	{ \
		ATOMIC, \
			.durabilities = NB_DUR_BIT(NB_DUR_PROCESS) | \
			NB_DUR_BIT(NB_DUR_COMMIT), \
			.auto_durability = NB_DUR_PROCESS \
	}

/* Engine tables by journal. With the memory journal, a kill can leave part of a transaction. */
static const struct nb_engine engines[OFF + 1] = {
	[WAL] = {ATOMIC,
		.durabilities = NB_DUR_BIT(NB_DUR_PROCESS) | NB_DUR_BIT(NB_DUR_PERIODIC) |
			NB_DUR_BIT(NB_DUR_COMMIT),
		.auto_durability = NB_DUR_PERIODIC},
	[DELETE] = ROLLBACK_JOURNAL,
	[TRUNCATE] = ROLLBACK_JOURNAL,
	[PERSIST] = ROLLBACK_JOURNAL,
	[MEMORY] = {ATOMIC, .durabilities = NB_DUR_BIT(NB_DUR_NONE)},
	[OFF] = {TABLE, .caps = CAPS, .durabilities = NB_DUR_BIT(NB_DUR_NONE)},
};

static const struct nb_engine *
variant(const struct nb_option_value *values)
{
	return &engines[database_journal(values)];
}
NB_ENGINE_PLUGIN(engines[WAL])
