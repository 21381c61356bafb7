/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * multi_get and batch: one statement for each table, with arrays of columns as parameters.
 *
 * A batch is sorted by key, and only the last write of each key is kept: one INSERT ... ON
 * CONFLICT cannot write a row twice. Batches that take their locks in the same order do not
 * deadlock. COPY was rejected: it is 15 % faster, but fails at the first existing key.
 */
#include "internal.h"

#include <endian.h>

/* Columns of the key, columns of the value, indices of the caller. */
enum { INDICES = 2 * SQL_COLUMNS_MAX, ARRAYS };

/* Header of an array in the server's binary format: one dimension, no NULL. */
struct head {
	uint32_t dimensions, has_null, type, count, lower;
};

void
many_close(struct nb_session *session)
{
	for (int i = 0; session->arrays != NULL && i < ARRAYS; i++)
		free(session->arrays[i].data);
	free(session->arrays);
	free(session->sorted.data);
}

static bool
array_begin(struct buffer *array, uint32_t type)
{
	struct head head = {
		.dimensions = htobe32(1), .type = htobe32(type), .lower = htobe32(1)};
	return buffer_set(array, &head, sizeof(head));
}

static bool
array_add(struct buffer *array, const void *data, size_t size)
{
	uint32_t length = htobe32((uint32_t)size);
	return buffer_add(array, &length, sizeof(length)) && buffer_add(array, data, size);
}

static void
array_end(struct buffer *array, struct parameters *with, uint32_t count)
{
	((struct head *)(void *)array->data)->count = htobe32(count);
	values_add_bytes(with, array->data, array->size);
}

static bool
columns_begin(struct buffer *arrays, const struct nb_column *columns, uint32_t count)
{
	static const uint32_t types[] = {/* type OIDs in pg_type */
		[NB_COLUMN_U64] = 20,
		[NB_COLUMN_U8] = 21,
		[NB_COLUMN_BYTES] = 17};
	for (uint32_t i = 0; i < count; i++)
		if (!array_begin(&arrays[i], types[columns[i].type]))
			return false;
	return true;
}

static bool
columns_add(struct buffer *arrays, const struct nb_column *columns, uint32_t count, bool is_key,
	struct nb_slice bytes)
{
	struct nb_slice parts[SQL_COLUMNS_MAX];
	sql_split(columns, count, bytes, parts);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t number;
		const char *at;
		int size = values_encode(&columns[i], is_key, parts[i], &number, &at);
		if (!array_add(&arrays[i], at, (size_t)size))
			return false;
	}
	return true;
}

static void
columns_end(struct buffer *arrays, uint32_t columns, struct parameters *with, uint32_t count)
{
	for (uint32_t i = 0; i < columns; i++)
		array_end(&arrays[i], with, count);
}

static int
out_of_memory(struct nb_session *session)
{
	return session->db->host->fail(NB_FAIL, "out of memory");
}

/* Allocate the arrays, and room for `size` bytes of sorted writes. */
static bool
make_room(struct nb_session *session, size_t size)
{
	if (session->arrays == NULL)
		session->arrays = calloc(ARRAYS, sizeof(*session->arrays));
	return session->arrays != NULL && buffer_reserve(&session->sorted, size);
}

/* The check of multi_get and batch before they send anything. */
static int
check_record(struct nb_session *session, struct nb_slice key, const struct nb_slice *value)
{
	struct place place;
	const char *refusal = values_check(session->db, key, value, &place);
	return refusal == NULL ? NB_OK
			       : session->db->host->fail(
					 NB_UNSUPPORTED, "%s: %s", session->db->where, refusal);
}

/* --- multi_get --- */

/* `stride`: distance of consecutive keys in bytes. */
static struct nb_slice
key_at(const struct nb_slice *keys, size_t stride, size_t i)
{
	return *(const struct nb_slice *)(const void *)((const char *)keys + i * stride);
}

/* Send the gets of one table. */
static int
send_gets(struct nb_session *session, struct flying *op, uint32_t index,
	const struct nb_slice *keys, size_t stride, size_t count)
{
	const struct table *table = &session->db->tables[index];
	const struct nb_table *columns = table->columns;
	struct parameters with;
	with.count = 0;
	uint32_t found = 0;
	bool is_right = columns_begin(session->arrays, columns->key_columns,
				columns->key_column_count) &&
		array_begin(&session->arrays[INDICES], 23 /* int4 */);
	for (size_t i = 0; i < count && is_right; i++) {
		struct place place;
		uint32_t number = htobe32((uint32_t)i);
		values_place(session->db, key_at(keys, stride, i), &place);
		if (place.index != index)
			continue;
		found++;
		is_right = columns_add(session->arrays, columns->key_columns,
				   columns->key_column_count, true, place.rest) &&
			array_add(&session->arrays[INDICES], &number, sizeof(number));
	}
	if (!is_right)
		return out_of_memory(session);
	if (found == 0)
		return NB_OK;
	columns_end(session->arrays, columns->key_column_count, &with, found);
	array_end(&session->arrays[INDICES], &with, found);
	return pipeline_send(session, op, table, MULTI_GET, &with);
}

int
many_send(struct nb_session *session, struct flying *op, const struct nb_slice *keys,
	size_t stride, size_t count)
{
	int rc = make_room(session, 0) ? NB_OK : out_of_memory(session);
	for (uint32_t i = 0; i < session->db->table_count && rc == NB_OK; i++)
		rc = send_gets(session, op, i, keys, stride, count);
	return rc;
}

/* Lend the value of a row whose first column is the key's index. */
static int
lend_row(const struct nb_db *db, PGresult *rows, int row, struct nb_slice key,
	struct nb_slice *value)
{
	struct place place;
	values_place(db, key, &place);
	return values_lend(db, place.table, rows, row, 1, value);
}

static uint32_t
index_of(PGresult *rows, int row)
{
	uint32_t index;
	memcpy(&index, PQgetvalue(rows, row, 0), sizeof(index));
	return be32toh(index);
}

void
many_take(const struct nb_db *db, struct flying *op, PGresult *rows)
{
	for (int row = 0; row < PQntuples(rows); row++) {
		struct nb_step *step = &op->steps[index_of(rows, row)];
		step->answer = lend_row(db, rows, row, step->key, &step->value);
		if (step->answer < 0)
			op->answer = step->answer;
	}
}

int
many_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	size_t lent = session->lent_count;
	for (size_t i = 0; i < count; i++) {
		int rc = check_record(session, keys[i], NULL);
		if (rc != NB_OK)
			return rc;
		answers[i] = NB_NOT_FOUND;
	}
	struct flying *op = pipeline_begin(session);
	int rc = pipeline_lead(session, op);
	if (rc == NB_OK)
		rc = many_send(session, op, keys, sizeof(*keys), count);
	pipeline_sync(session, op);
	int finished = pipeline_finish(session, op);
	rc = rc != NB_OK ? rc : finished;
	for (; lent < session->lent_count && rc == NB_OK; lent++) {
		PGresult *rows = session->lent[lent];
		for (int row = 0; row < PQntuples(rows) && rc == NB_OK; row++) {
			uint32_t i = index_of(rows, row);
			rc = answers[i] = lend_row(session->db, rows, row, keys[i], &values[i]);
		}
	}
	return rc;
}

/* --- batch --- */

static int
compare_keys(struct nb_slice a, struct nb_slice b)
{
	size_t size = a.size < b.size ? a.size : b.size;
	int order = memcmp(address(a), address(b), size);
	return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* Sort by key, and the writes of one key from last to first. */
static int
compare_writes(const void *one, const void *other)
{
	const struct nb_write *const *a = one, *const *b = other;
	int order = compare_keys((*a)->key, (*b)->key);
	return order != 0 ? order : (*a < *b) - (*a > *b);
}

/* Sort the writes by key and keep the last one of each key. Returns their number. */
static size_t
sort_writes(struct nb_session *session, const struct nb_write *writes, size_t count)
{
	const struct nb_write **sorted = (const struct nb_write **)(void *)session->sorted.data;
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		sorted[i] = &writes[i];
	qsort(sorted, count, sizeof(*sorted), compare_writes);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || compare_keys(sorted[kept - 1]->key, sorted[i]->key) != 0)
			sorted[kept++] = sorted[i];
	return kept;
}

/* Send the puts or the deletes of a table. */
static int
send_writes(struct nb_session *session, struct flying *op, uint32_t index, size_t count,
	bool is_delete)
{
	const struct nb_write *const *sorted = (const void *)session->sorted.data;
	const struct table *table = &session->db->tables[index];
	const struct nb_table *columns = table->columns;
	struct buffer *keys = session->arrays, *values = keys + SQL_COLUMNS_MAX;
	struct parameters with;
	with.count = 0;
	uint32_t found = 0;
	bool is_right = columns_begin(keys, columns->key_columns, columns->key_column_count) &&
		columns_begin(values, columns->value_columns, columns->value_column_count);
	for (size_t i = 0; i < count && is_right; i++) {
		struct place place;
		values_place(session->db, sorted[i]->key, &place);
		if (place.index != index || (sorted[i]->is_delete != 0) != is_delete)
			continue;
		found++;
		is_right = columns_add(keys, columns->key_columns, columns->key_column_count,
				   true, place.rest) &&
			(is_delete ||
				columns_add(values, columns->value_columns,
					columns->value_column_count, false, sorted[i]->value));
	}
	if (!is_right)
		return out_of_memory(session);
	if (found == 0)
		return NB_OK;
	columns_end(keys, columns->key_column_count, &with, found);
	if (!is_delete)
		columns_end(values, columns->value_column_count, &with, found);
	return pipeline_send(session, op, table, is_delete ? DEL_ALL : PUT_ALL, &with);
}

/* Atomic with and without the flag: the sync ends a single transaction. */
int
many_write(
	struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	if (!make_room(session, count * sizeof(writes)))
		return out_of_memory(session);
	for (size_t i = 0; i < count; i++) {
		int rc = check_record(session, writes[i].key,
			writes[i].is_delete != 0 ? NULL : &writes[i].value);
		if (rc != NB_OK)
			return rc;
	}
	struct flying *op = pipeline_begin(session);
	size_t kept = sort_writes(session, writes, count);
	int rc = pipeline_lead(session, op);
	for (uint32_t i = 0; i < 2 * session->db->table_count && rc == NB_OK; i++)
		rc = send_writes(session, op, i / 2, kept, i % 2 != 0);
	pipeline_sync(session, op);
	int finished = pipeline_finish(session, op);
	return rc != NB_OK ? rc : finished;
}
