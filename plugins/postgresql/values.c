/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conversion of keys and values to parameters and back, in the server's binary formats.
 *
 * A number in a key becomes a bigint with the sign bit flipped, because bigint order is
 * signed and byte order is not. A number in a value becomes the bigint with the same 64
 * bits.
 */
#include "internal.h"

#include <endian.h>

static const char too_long[] = "the key or value is longer than the server takes";
static const char no_fit[] = "the key or value does not fit the columns of its table";
static const char no_table[] = "the key begins with the prefix of no table";

const char *
values_place(const struct nb_db *db, struct nb_slice key, struct place *out)
{
	for (uint32_t i = 0; i < db->table_count; i++)
		if (sql_begins_with(key, db->tables[i].columns->prefix)) {
			out->index = i;
			out->table = &db->tables[i];
			out->rest = sql_strip(out->table->columns, key);
			return NULL;
		}
	return no_table;
}

static bool
fits(const struct nb_column *columns, uint32_t count, struct nb_slice bytes)
{
	size_t fixed = sql_fixed_size(columns, count);
	return sql_is_open(columns, count) ? bytes.size >= fixed : bytes.size == fixed;
}

const char *
values_check(const struct nb_db *db, struct nb_slice key, const struct nb_slice *value,
	struct place *out)
{
	const char *refusal = values_place(db, key, out);
	if (refusal != NULL)
		return refusal;
	const struct nb_table *columns = out->table->columns;
	if (key.size > KEY_SIZE_MAX || (value != NULL && value->size > VALUE_SIZE_MAX))
		return too_long;
	if (!fits(columns->key_columns, columns->key_column_count, out->rest) ||
		(value != NULL &&
			!fits(columns->value_columns, columns->value_column_count, *value)))
		return no_fit;
	return NULL;
}

/* --- to parameters --- */

int
values_encode(const struct nb_column *column, bool is_key, struct nb_slice part,
	uint64_t *number, const char **at)
{
	if (column->type == NB_COLUMN_BYTES) {
		*at = address(part);
		return (int)part.size;
	}
	*at = (const char *)number;
	if (column->type == NB_COLUMN_U8) {
		uint16_t small = htobe16((uint16_t)sql_value_number(part));
		memcpy(number, &small, sizeof(small));
		return sizeof(small);
	}
	*number = is_key ? sql_key_number(part) ^ (UINT64_C(1) << 63) : sql_value_number(part);
	*number = htobe64(*number);
	return sizeof(*number);
}

void
values_add_column(struct parameters *to, const struct nb_column *column, bool is_key,
	struct nb_slice part)
{
	const char *at;
	int size = values_encode(column, is_key, part, &to->numbers[to->count], &at);
	values_add_bytes(to, at, (size_t)size);
}

static void
add_parts(struct parameters *to, const struct nb_column *columns, uint32_t count, bool is_key,
	struct nb_slice bytes)
{
	struct nb_slice parts[SQL_COLUMNS_MAX];
	sql_split(columns, count, bytes, parts);
	for (uint32_t i = 0; i < count; i++)
		values_add_column(to, &columns[i], is_key, parts[i]);
}

void
values_add_key(struct parameters *to, const struct place *place)
{
	const struct nb_table *columns = place->table->columns;
	add_parts(to, columns->key_columns, columns->key_column_count, true, place->rest);
}

void
values_add_value(struct parameters *to, const struct place *place, struct nb_slice value)
{
	const struct nb_table *columns = place->table->columns;
	add_parts(to, columns->value_columns, columns->value_column_count, false, value);
}

void
values_add_bytes(struct parameters *to, const void *data, size_t size)
{
	to->values[to->count] = data != NULL ? data : "";
	to->formats[to->count] = 1;
	to->sizes[to->count++] = (int)size;
}

void
values_add_i64(struct parameters *to, int64_t number)
{
	to->numbers[to->count] = htobe64((uint64_t)number);
	values_add_bytes(to, &to->numbers[to->count], sizeof(number));
}

void
values_add_i32(struct parameters *to, int32_t number)
{
	uint32_t big = htobe32((uint32_t)number);
	memcpy(&to->numbers[to->count], &big, sizeof(big));
	values_add_bytes(to, &to->numbers[to->count], sizeof(big));
}

/* A number as text, which set_config() requires. */
void
values_add_text(struct parameters *to, size_t number)
{
	char *text = (char *)&to->numbers[to->count];
	int size = snprintf(text, sizeof(to->numbers[0]), "%u", (unsigned)(number % 10000000));
	values_add_bytes(to, text, (size_t)size);
}

/* --- from results --- */

/* A number has at most 8 bytes. */
static size_t
decode(const struct nb_column *column, bool is_key, const char *at, size_t size, char *to)
{
	uint64_t number;
	if (column->type == NB_COLUMN_BYTES) {
		memcpy(to, at, size);
		return size;
	}
	if (column->type == NB_COLUMN_U8) {
		*to = at[1];
		return 1;
	}
	memcpy(&number, at, sizeof(number));
	number = is_key ? number ^ htobe64(UINT64_C(1) << 63) : be64toh(number);
	memcpy(to, &number, sizeof(number));
	return sizeof(number);
}

size_t
values_size(PGresult *rows, int row, int from, uint32_t count)
{
	size_t size = 0;
	for (uint32_t i = 0; i < count; i++)
		size += (size_t)PQgetlength(rows, row, from + (int)i);
	return size;
}

size_t
values_decode(char *to, PGresult *rows, int row, int from, const struct nb_column *columns,
	uint32_t count, bool is_key)
{
	char *begin = to;
	for (uint32_t i = 0; i < count; i++) {
		int at = from + (int)i;
		to += decode(&columns[i], is_key, PQgetvalue(rows, row, at),
			(size_t)PQgetlength(rows, row, at), to);
	}
	return (size_t)(to - begin);
}

/* A value of several columns is assembled in the result's memory. */
int
values_lend(const struct nb_db *db, const struct table *table, PGresult *rows, int row,
	int from, struct nb_slice *value)
{
	const struct nb_table *columns = table->columns;
	if (table->is_plain) {
		value->data = PQgetvalue(rows, row, from);
		value->size = (size_t)PQgetlength(rows, row, from);
		return NB_OK;
	}
	size_t size = values_size(rows, row, from, columns->value_column_count);
	char *to = PQresultAlloc(rows, size);
	if (to == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	value->data = to;
	value->size = values_decode(to, rows, row, from, columns->value_columns,
		columns->value_column_count, false);
	return NB_OK;
}
