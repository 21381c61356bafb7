/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scans in portions: each portion is a statement that begins after the last key of the
 * previous one. The tables follow one another in the order of their prefixes.
 *
 * A scan whose limit fits one portion is one statement, and thus one snapshot and one round
 * trip. A longer scan runs in a read-only transaction at `repeatable read`, unless a
 * transaction has begun. A cursor was rejected because it is planned anew each time.
 * Single-row mode was rejected because a scan that ends early would have to read all rows
 * that the server has sent, or cancel.
 *
 * A bound contains the bytes of all columns of a key. Forward it is the first key of the
 * range. Backward it is the first key after the range; without a bound, the scan begins at
 * the table's end.
 */
#include "internal.h"

enum {
	PORTION_BYTES = 1 << 20,
	PORTION_MIN = 16,
	PORTION_MAX = 1024,
	PORTION_FIRST = 64 /* if the record size is unknown */
};

void
scan_free(struct nb_session *session)
{
	free(session->scan.bound.data);
	free(session->scan.key.data);
	free(session->scan.value.data);
}

/* --- bounds --- */

static const struct table *
table_at(const struct nb_session *session)
{
	const struct nb_db *db = session->db;
	uint32_t at = session->scan.at;
	return &db->tables[db->order[session->scan.is_backward ? db->table_count - 1 - at
							       : at]];
}

static bool
has_open_key(const struct table *table)
{
	return sql_is_open(table->columns->key_columns, table->columns->key_column_count);
}

/* Change the bound to the next key in byte order. Returns false if it is the highest. */
static bool
step_over(struct buffer *bound, const struct table *table)
{
	if (has_open_key(table))
		return buffer_add(bound, "", 1);
	for (size_t i = bound->size; i-- > 0;)
		if (++((unsigned char *)bound->data)[i] != 0)
			return true;
	return false;
}

/*
 * Set the bound of a scan of this table that begins at `from`, which may be too short or too
 * long for a key of the table. Returns 0 if the table has no keys in the range, 1 if it may
 * have some.
 */
static int
bound_from(struct scan *scan, const struct table *table, struct nb_slice from)
{
	const struct nb_table *columns = table->columns;
	size_t fixed = sql_fixed_size(columns->key_columns, columns->key_column_count);
	struct nb_slice rest = sql_strip(columns, from);
	bool is_long = rest.size > fixed && !has_open_key(table);
	bool is_short = rest.size < fixed;
	size_t size = is_long ? fixed : rest.size;
	scan->bound.size = 0;
	buffer_add(&scan->bound, rest.data, size);
	for (; size < fixed; size++)
		buffer_add(&scan->bound, "", 1);
	bool is_past = scan->is_backward ? !is_short : is_long;
	if (!is_past || step_over(&scan->bound, table))
		return 1;
	scan->is_unbound = true;
	return scan->is_backward ? 1 : 0;
}

/* Set the bound to scan the entire table. */
static void
bound_whole(struct scan *scan, const struct table *table)
{
	static const char zeros[8 * SQL_COLUMNS_MAX];
	const struct nb_table *columns = table->columns;
	size_t left = sql_fixed_size(columns->key_columns, columns->key_column_count);
	scan->is_unbound = scan->is_backward;
	for (scan->bound.size = 0; left > 0;) {
		size_t size = left < sizeof(zeros) ? left : sizeof(zeros);
		buffer_add(&scan->bound, zeros, size);
		left -= size;
	}
}

/* Find the first table that may have keys from `from` on, and set its bound. */
static void
find_begin(struct nb_session *session, struct nb_slice from)
{
	struct scan *scan = &session->scan;
	for (scan->at = 0; scan->at < session->db->table_count; scan->at++) {
		const struct table *table = table_at(session);
		struct nb_slice prefix = table->columns->prefix;
		size_t common = from.size < prefix.size ? from.size : prefix.size;
		int order = from.size == 0 ? 0 : memcmp(address(prefix), address(from), common);
		bool is_whole = from.size == 0 || (scan->is_backward ? order < 0 : order > 0) ||
			(order == 0 && from.size < prefix.size && !scan->is_backward);
		if (is_whole) {
			bound_whole(scan, table);
			return;
		}
		if (order == 0 && from.size >= prefix.size &&
			bound_from(scan, table, from) != 0)
			return;
	}
}

/* --- portions --- */

static int
send_portion(struct nb_session *session, struct flying *op)
{
	struct scan *scan = &session->scan;
	const struct table *table = table_at(session);
	struct parameters with;
	with.count = 0;
	uint32_t statement = scan->is_unbound ? BACK_ALL : scan->is_backward ? BACK : SCAN;
	struct place place = {.table = table, .rest = buffer_slice(&scan->bound)};
	if (!scan->is_unbound)
		values_add_key(&with, &place);
	values_add_i64(&with, (int64_t)scan->portion);
	return pipeline_send(session, op, table, statement + scan->is_keys_only, &with);
}

/* Choose the size of the next portion: about 1 MiB if records keep this size. */
static void
set_portion(struct scan *scan, uint64_t record_bytes)
{
	uint64_t portion = PORTION_BYTES / (record_bytes + 1);
	scan->portion = portion < PORTION_MIN ? PORTION_MIN
		: portion > PORTION_MAX       ? PORTION_MAX
					      : portion;
}

static int
fetch(struct nb_session *session)
{
	struct scan *scan = &session->scan;
	size_t lent = session->lent_count;
	struct flying *op = pipeline_begin(session);
	int rc = pipeline_lead(session, op);
	if (rc == NB_OK)
		rc = send_portion(session, op);
	if (rc == NB_OK)
		pipeline_sync(session, op);
	int finished = pipeline_finish(session, op);
	scan->rows = session->lent_count > lent ? session->lent[lent] : NULL;
	scan->row_count = scan->rows != NULL ? PQntuples(scan->rows) : 0;
	scan->row = 0;
	return finished;
}

/* Append the key in a row's first columns to a buffer. */
static bool
decode_key(struct buffer *to, PGresult *rows, int row, const struct nb_table *columns)
{
	uint32_t count = columns->key_column_count;
	if (!buffer_reserve(to, to->size + values_size(rows, row, 0, count)))
		return false;
	to->size += values_decode(
		to->data + to->size, rows, row, 0, columns->key_columns, count, true);
	return true;
}

/* After the last row of a portion: set the bound of the next one, or go to the next table. */
static int
go_on(struct nb_session *session)
{
	struct scan *scan = &session->scan;
	const struct table *table = table_at(session);
	const struct nb_table *columns = table->columns;
	int count = scan->row_count;
	bool is_more = scan->rows != NULL && (uint64_t)count == scan->portion;
	if (is_more) {
		scan->bound.size = 0;
		if (!decode_key(&scan->bound, scan->rows, count - 1, columns))
			return session->db->host->fail(NB_FAIL, "out of memory");
		is_more = scan->is_backward || step_over(&scan->bound, table);
		scan->is_unbound = false;
	}
	if (!is_more && ++scan->at < session->db->table_count)
		bound_whole(scan, table_at(session));
	return NB_OK;
}

static uint64_t
record_bytes(const struct scan *scan)
{
	uint64_t bytes = 0;
	int count = scan->row_count;
	uint32_t columns = count > 0 ? (uint32_t)PQnfields(scan->rows) : 0;
	for (int row = 0; row < count; row++)
		bytes += values_size(scan->rows, row, 0, columns);
	return count > 0 ? bytes / (uint64_t)count : 0;
}

/* --- verbs --- */

int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct scan *scan = &session->scan;
	uint64_t hint = session->db->record_bytes;
	scan->is_backward = (args->flags & NB_SCAN_BACKWARD) != 0;
	scan->is_keys_only = (args->flags & NB_SCAN_KEYS_ONLY) != 0;
	scan->is_unbound = false;
	scan->rows = NULL;
	scan->row = scan->row_count = 0;
	scan->portion = PORTION_FIRST;
	if (hint != 0)
		set_portion(scan, hint);
	find_begin(session, args->from);
	bool is_short = args->limit != 0 && args->limit <= scan->portion;
	if (is_short)
		scan->portion = args->limit;
	scan->is_begun = !(is_short && session->db->table_count == 1) && session->txn == NO_TXN;
	if (scan->is_begun)
		txn_begin(session, BEGIN_SCAN);
	scan->is_new = true;
	return NB_OK;
}

/* Make the next row available. Returns NB_OK, NB_NOT_FOUND or a failure. */
static int
advance(struct nb_session *session)
{
	struct scan *scan = &session->scan;
	while (scan->row == scan->row_count) {
		if (scan->at >= session->db->table_count)
			return NB_NOT_FOUND;
		if (!scan->is_new) {
			int rc = go_on(session);
			if (rc != NB_OK)
				return rc;
			if (scan->row_count > 0)
				set_portion(scan, record_bytes(scan));
			if (scan->at >= session->db->table_count)
				return NB_NOT_FOUND;
		}
		scan->is_new = false;
		pipeline_release(session);
		int rc = fetch(session);
		if (rc != NB_OK)
			return rc;
	}
	return NB_OK;
}

int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct scan *scan = &session->scan;
	int rc = advance(session);
	if (rc != NB_OK)
		return rc;
	const struct table *table = table_at(session);
	const struct nb_table *columns = table->columns;
	int row = scan->row++, keys = (int)columns->key_column_count;
	if (!buffer_set(&scan->key, columns->prefix.data, columns->prefix.size) ||
		!decode_key(&scan->key, scan->rows, row, columns))
		return session->db->host->fail(NB_FAIL, "out of memory");
	*key = buffer_slice(&scan->key);
	*value = (struct nb_slice){0};
	if (scan->is_keys_only)
		return NB_OK;
	return values_lend(session->db, table, scan->rows, row, keys, value);
}

int
scan_close(struct nb_session *session)
{
	int rc = session->scan.is_begun ? txn_commit(session) : NB_OK;
	session->scan.is_begun = false;
	pipeline_release(session);
	return rc;
}
