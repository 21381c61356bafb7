/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binding of keys and values to statements, and reading of columns from rows.
 *
 * Bytes are bound without a copy (SQLITE_STATIC), except at the beginning of a scan. A
 * binding outlives its call, but is replaced before it is read again.
 */
#include "session.h"

#define SIGN (UINT64_C(1) << 63)

/* The address must not be NULL even for size 0: that would bind the SQL value NULL. */
static int
bind_column(sqlite3_stmt *statement, int at, const struct nb_column *column,
	struct nb_slice part, bool is_key, sqlite3_destructor_type copies)
{
	if (column->type == NB_COLUMN_BYTES)
		return sqlite3_bind_blob64(statement, at, address(part), part.size, copies);
	uint64_t number = is_key ? sql_key_number(part) : sql_value_number(part);
	if (is_key && column->type == NB_COLUMN_U64)
		number ^= SIGN;
	return sqlite3_bind_int64(statement, at, (sqlite3_int64)number);
}

int
columns_bind(sqlite3_stmt *statement, int at, const struct nb_column *columns, uint32_t count,
	struct nb_slice bytes, bool is_key, sqlite3_destructor_type copies)
{
	struct nb_slice parts[SQL_COLUMNS_MAX];
	if (!sql_split(columns, count, bytes, parts))
		return SQLITE_MISMATCH;
	int error = SQLITE_OK;
	for (uint32_t i = 0; error == SQLITE_OK && i < count; i++)
		error = bind_column(
			statement, at + (int)i, &columns[i], parts[i], is_key, copies);
	return error;
}

struct nb_slice
columns_plain(sqlite3_stmt *statement, int at)
{
	const void *data = sqlite3_column_blob(statement, at);
	return (struct nb_slice){data, (size_t)sqlite3_column_bytes(statement, at)};
}

static bool
add_number(struct buffer *to, const struct nb_column *column, uint64_t number, bool is_key)
{
	unsigned char bytes[sizeof(number)];
	if (column->type == NB_COLUMN_U8) {
		bytes[0] = (unsigned char)number;
		return buffer_add(to, bytes, 1);
	}
	if (!is_key)
		return buffer_add(to, &number, sizeof(number));
	number ^= SIGN;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(number >> 8 * (sizeof(bytes) - 1 - i));
	return buffer_add(to, bytes, sizeof(bytes));
}

bool
columns_add(struct buffer *to, sqlite3_stmt *statement, int at, const struct nb_column *columns,
	uint32_t count, bool is_key)
{
	bool is_done = true;
	for (uint32_t i = 0; is_done && i < count; i++, at++) {
		struct nb_slice bytes;
		if (columns[i].type != NB_COLUMN_BYTES) {
			is_done = add_number(to, &columns[i],
				(uint64_t)sqlite3_column_int64(statement, at), is_key);
			continue;
		}
		bytes = columns_plain(statement, at);
		is_done = buffer_add(to, bytes.data, bytes.size);
	}
	return is_done;
}
