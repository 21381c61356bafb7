/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scans: the rows of a SELECT of each table, in the order of the tables' prefixes.
 *
 * The snapshot of a statement ends with its last row, so a scan of several tables uses a
 * read transaction.
 */
#include "session.h"

static const struct table *
table_at(const struct nb_session *session)
{
	const struct nb_db *db = session->db;
	return &db->tables[db->by_prefix[session->scan.place]];
}

static bool
is_down(const struct scan *scan)
{
	return (scan->bits & SCAN_DOWN) != 0;
}

/* Select a statement of the current table. */
static sqlite3_stmt *
choose(struct nb_session *session, uint32_t first)
{
	struct scan *scan = &session->scan;
	uint32_t table = session->db->by_prefix[scan->place];
	return scan->statement = session->statements[table][first + scan->bits];
}

/* Begin at a key in the current table. It may be too short or too long for a key of the table. */
static int
begin_within(struct nb_session *session, struct nb_slice from)
{
	struct scan *scan = &session->scan;
	const struct nb_table *of = table_at(session)->of;
	struct nb_slice parts[SQL_COLUMNS_MAX], key = sql_strip(of, from);
	size_t fixed = sql_fixed_size(of->key_columns, of->key_column_count);
	if (!buffer_reserve(&scan->key, fixed))
		return session->db->host->fail(NB_FAIL, "out of memory");
	int how = sql_pad_key(of, key, 0, scan->key.data, parts);
	/* A shorter key is below all keys that begin with it, a longer one above. */
	bool is_beyond = is_down(scan) ? how < 0 : how > 0;
	if (how < 0)
		key = (struct nb_slice){scan->key.data, fixed};
	else if (how > 0)
		key.size = fixed;
	/* Copied, because the first scan_next() reads it. */
	int error = columns_bind(choose(session, is_beyond ? SCAN_BEYOND : SCAN_FROM), 1,
		of->key_columns, of->key_column_count, key, true, SQLITE_TRANSIENT);
	return session_outcome(session, "SELECT", error);
}

/* Begin in the first table that may have keys from `from` on. */
static int
begin(struct nb_session *session, struct nb_slice from)
{
	const struct nb_db *db = session->db;
	struct scan *scan = &session->scan;
	for (uint32_t i = 0; i < db->table_count; i++) {
		scan->place = is_down(scan) ? db->table_count - 1 - i : i;
		struct nb_slice prefix = table_at(session)->of->prefix;
		size_t size = prefix.size < from.size ? prefix.size : from.size;
		int order = memcmp(address(prefix), address(from), size);
		if (from.size != 0 && order == 0 && size == prefix.size)
			return begin_within(session, from);
		bool is_all = is_down(scan) ? order < 0 : order >= 0;
		if (from.size == 0 || is_all) {
			choose(session, SCAN_ALL);
			return NB_OK;
		}
	}
	return NB_OK;
}

/* Go to the next table, if any. */
static void
go_on(struct nb_session *session)
{
	struct scan *scan = &session->scan;
	uint32_t last = is_down(scan) ? 0 : session->db->table_count - 1;
	scan->statement = NULL;
	if (scan->place == last)
		return;
	scan->place += is_down(scan) ? UINT32_MAX : 1;
	choose(session, SCAN_ALL);
}

int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct scan *scan = &session->scan;
	scan->bits = ((args->flags & NB_SCAN_BACKWARD) != 0 ? SCAN_DOWN : 0) |
		((args->flags & NB_SCAN_KEYS_ONLY) != 0 ? SCAN_KEYS : 0);
	scan->has_txn = false;
	if (session->db->table_count > 1 && !session->is_in_transaction) {
		int error = session_run(session->txn[BEGIN_READ]);
		if (error != SQLITE_OK)
			return session_outcome(session, "BEGIN", error);
		scan->has_txn = true;
	}
	return begin(session, args->from);
}

/* Return the current row. */
static int
take(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct scan *scan = &session->scan;
	const struct table *table = table_at(session);
	const struct nb_table *of = table->of;
	int keys = (int)of->key_column_count;
	bool is_done = true;
	*value = (struct nb_slice){0};
	if (table->is_plain_key) {
		*key = columns_plain(scan->statement, 0);
	} else {
		is_done = buffer_set(&scan->key, of->prefix.data, of->prefix.size) &&
			columns_add(&scan->key, scan->statement, 0, of->key_columns,
				of->key_column_count, true);
		*key = buffer_slice(&scan->key);
	}
	if ((scan->bits & SCAN_KEYS) == 0 && table->is_plain_value) {
		*value = columns_plain(scan->statement, keys);
	} else if ((scan->bits & SCAN_KEYS) == 0) {
		scan->value.size = 0;
		is_done = is_done &&
			columns_add(&scan->value, scan->statement, keys, of->value_columns,
				of->value_column_count, false);
		*value = buffer_slice(&scan->value);
	}
	return is_done ? NB_OK : session->db->host->fail(NB_FAIL, "out of memory");
}

/* A step after the last row would restart the statement, so it is dropped. */
int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct scan *scan = &session->scan;
	while (scan->statement != NULL) {
		if (sqlite3_step(scan->statement) == SQLITE_ROW)
			return take(session, key, value);
		int error = sqlite3_reset(scan->statement);
		if (error != SQLITE_OK) {
			scan->statement = NULL;
			return session_outcome(session, "SELECT", error);
		}
		go_on(session);
	}
	return NB_NOT_FOUND;
}

int
scan_close(struct nb_session *session)
{
	struct scan *scan = &session->scan;
	int error = SQLITE_OK;
	if (scan->statement != NULL)
		sqlite3_reset(scan->statement);
	scan->statement = NULL;
	if (scan->has_txn && sqlite3_get_autocommit(session->base) == 0)
		error = session_run(session->txn[COMMIT]);
	scan->has_txn = false;
	session_called(session);
	return session_outcome(session, "COMMIT", error);
}
