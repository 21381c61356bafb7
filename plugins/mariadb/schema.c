/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The SQL of tables.
 *
 * - put is INSERT ... ON DUPLICATE KEY UPDATE, not REPLACE, which would delete and insert.
 * - A counter is in the machine's byte order, so merge reverses it in SQL on little-endian
 *   machines. A value that does not have 8 bytes becomes NULL, which the column rejects
 *   (error 1048) without any change.
 * - VARBINARY compares like memcmp(3), without padding, so ORDER BY is the order of keys.
 * - Key lists with several columns are (a=? AND b=?) OR ..., which the optimizer converts to
 *   ranges of the primary key. For (a, b) IN ((?, ?), ...) it scans the whole table. It also
 *   does so for any list if the table's statistics predate the load: hence FORCE INDEX.
 * - The optimizer's time for such ranges grows faster than their number. So if all columns
 *   are numbers, lists of at least JOINED keys become a derived table that is joined. At 256
 *   keys of three columns, the server then needs 4.6 us per key instead of 11.7; below 16
 *   keys it needs more. A join returns a row as often as the list contains its key. A VALUES
 *   list would be even cheaper, but the server (10.11) loses its parameters.
 * - A scan begins at a > x OR (a = x AND b > y) OR ..., which the optimizer converts to a
 *   range of the primary key. It does not do so for (a, b) > (x, y).
 */
#include "schema.h"

/* A row has at most 65535 bytes, not counting BLOBs. */
enum { VARBINARY_MAX = 8192 };

bool
text_add(struct buffer *text, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int size = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (size < 0 || !buffer_reserve(text, text->size + (size_t)size + 1))
		return false;
	va_start(args, fmt);
	vsnprintf(text->data + text->size, (size_t)size + 1, fmt, args);
	va_end(args);
	text->size += (size_t)size;
	return true;
}

/** Append each column as "`name`", or in a format with up to two %s, separated by `between`. */
static bool
add_columns(struct buffer *text, const struct nb_column *columns, uint32_t count,
	const char *fmt, const char *between)
{
	bool is_done = true;
	for (uint32_t i = 0; is_done && i < count; i++)
		is_done = text_add(text, "%s", i > 0 ? between : "") &&
			text_add(text, fmt, columns[i].name, columns[i].name);
	return is_done;
}

static bool
add_keys(struct buffer *text, const struct sql_table *table, const char *fmt,
	const char *between)
{
	return add_columns(
		text, table->of->key_columns, table->of->key_column_count, fmt, between);
}

static bool
add_values(struct buffer *text, const struct sql_table *table, const char *fmt)
{
	return add_columns(
		text, table->of->value_columns, table->of->value_column_count, fmt, ",");
}

/* --- definitions --- */

/** `most`: maximum size of a key column without a fixed size; 0: a column of a value. */
static bool
define_column(struct buffer *text, const struct nb_column *column, size_t most)
{
	size_t size = column->size != 0 ? column->size : most;
	if (!text_add(text, "`%s` ", column->name))
		return false;
	if (column->type == NB_COLUMN_U64)
		return text_add(text, "BIGINT UNSIGNED NOT NULL,");
	if (column->type == NB_COLUMN_U8)
		return text_add(text, "TINYINT UNSIGNED NOT NULL,");
	if (most == 0 && (size == 0 || size > VARBINARY_MAX))
		return text_add(text, "LONGBLOB NOT NULL,");
	return text_add(text, "VARBINARY(%zu) NOT NULL,", size);
}

bool
schema_define(struct buffer *text, const struct nb_table *of, uint64_t key_size)
{
	bool is_done = true;
	/* The server clears the room of a key at each lookup: 255 bytes cost less than 3072. */
	size_t most = KEY_SIZE_MAX - sql_fixed_size(of->key_columns, of->key_column_count);
	if (key_size != 0 && key_size <= 255)
		most = 255;
	for (uint32_t i = 0; is_done && i < of->key_column_count; i++)
		is_done = define_column(text, &of->key_columns[i], most);
	for (uint32_t i = 0; is_done && i < of->value_column_count; i++)
		is_done = define_column(text, &of->value_columns[i], 0);
	return is_done && text_add(text, "PRIMARY KEY(") &&
		add_columns(text, of->key_columns, of->key_column_count, "`%s`", ",") &&
		text_add(text, ")");
}

/* --- statements --- */

/** Append (?,?) `rows` times. */
static bool
add_rows(struct buffer *text, uint32_t columns, uint32_t rows)
{
	bool is_done = true;
	for (uint32_t row = 0; is_done && row < rows; row++) {
		is_done = text_add(text, row > 0 ? ",(" : "(");
		for (uint32_t i = 0; is_done && i < columns; i++)
			is_done = text_add(text, i > 0 ? ",?" : "?");
		is_done = is_done && text_add(text, ")");
	}
	return is_done;
}

static bool
add_where(struct buffer *text, const struct sql_table *table)
{
	return text_add(text, " WHERE ") && add_keys(text, table, "`%s`=?", " AND ");
}

bool
schema_joins(const struct nb_table *of, size_t keys)
{
	bool are_numbers = of->key_column_count > 1;
	for (uint32_t i = 0; i < of->key_column_count; i++)
		are_numbers &= of->key_columns[i].type != NB_COLUMN_BYTES;
	return are_numbers && keys >= JOINED;
}

/** The keys as a derived table w, which is read first. */
static bool
make_join(struct buffer *text, const struct sql_table *table, uint32_t keys)
{
	bool is_done = text_add(text, "SELECT STRAIGHT_JOIN ") &&
		add_keys(text, table, "t.`%s`", ",") && text_add(text, ",") &&
		add_values(text, table, "t.`%s`") && text_add(text, " FROM (");
	for (uint32_t i = 0; is_done && i < keys; i++)
		is_done = text_add(text, i > 0 ? " UNION ALL SELECT " : "SELECT ") &&
			add_keys(text, table, "CAST(? AS UNSIGNED) `%s`", ",");
	return is_done &&
		text_add(text, ") w JOIN %s t FORCE INDEX(PRIMARY) ON ", table->name.data) &&
		add_keys(text, table, "t.`%s`=w.`%s`", " AND ");
}

static bool
make_gets(struct buffer *text, const struct sql_table *table, uint32_t keys)
{
	uint32_t columns = table->of->key_column_count;
	if (schema_joins(table->of, keys))
		return make_join(text, table, keys);
	bool is_done = text_add(text, "SELECT %s FROM %s FORCE INDEX(PRIMARY) WHERE ",
		table->columns.data, table->name.data);
	for (uint32_t i = 0; is_done && columns > 1 && i < keys; i++)
		is_done = text_add(text, i > 0 ? " OR (" : "(") &&
			add_keys(text, table, "`%s`=?", " AND ") && text_add(text, ")");
	if (columns > 1)
		return is_done;
	is_done = is_done && add_keys(text, table, "`%s`", ",") && text_add(text, " IN(");
	for (uint32_t i = 0; is_done && i < keys; i++)
		is_done = text_add(text, i > 0 ? ",?" : "?");
	return is_done && text_add(text, ")");
}

static bool
add_insert(struct buffer *text, const struct sql_table *table, uint32_t rows)
{
	return text_add(text, "INSERT INTO %s(%s) VALUES", table->name.data,
		       table->columns.data) &&
		add_rows(text, table->of->key_column_count + table->of->value_column_count,
			rows);
}

/** Append a>? OR (a=? AND b>?) OR (a=? AND b=? AND c>=?). */
static bool
add_bound(struct buffer *text, const struct sql_table *table, uint32_t bits)
{
	const char *order = (bits & SCAN_DOWN) != 0 ? "<" : ">";
	uint32_t count = table->of->key_column_count;
	bool is_done = true;
	for (uint32_t last = 0; is_done && last < count; last++) {
		is_done = text_add(text, last > 0 ? " OR (" : "(");
		for (uint32_t i = 0; is_done && i < last; i++)
			is_done = text_add(text, "`%s`=? AND ", table->of->key_columns[i].name);
		bool is_included = last + 1 == count && (bits & SCAN_BEYOND) == 0;
		is_done = is_done &&
			text_add(text, "`%s`%s%s?)", table->of->key_columns[last].name, order,
				is_included ? "=" : "");
	}
	return is_done;
}

static bool
make_scan(struct buffer *text, const struct sql_table *table, uint32_t bits)
{
	return text_add(text, "SELECT ") && add_keys(text, table, "`%s`", ",") &&
		((bits & SCAN_KEYS) != 0 ||
			(text_add(text, ",") && add_values(text, table, "`%s`"))) &&
		text_add(text, " FROM %s WHERE ", table->name.data) &&
		add_bound(text, table, bits) && text_add(text, " ORDER BY ") &&
		add_keys(text, table, (bits & SCAN_DOWN) != 0 ? "`%s` DESC" : "`%s`", ",") &&
		text_add(text, " LIMIT ?");
}

/** A counter is a value of one column, which is a number or bytes. */
static bool
make_merge(struct sql_table *table)
{
	const struct nb_column *column = &table->of->value_columns[0];
	const char *name = column->name;
	table->can_merge = table->of->value_column_count == 1 &&
		(column->type == NB_COLUMN_U64 ||
			(column->type == NB_COLUMN_BYTES &&
				(column->size == 0 || column->size == 8)));
	if (column->type == NB_COLUMN_U64)
		return text_add(&table->merge,
			"`%s`=CAST(" SQL_SUM("%s.`%s`", "VALUES(`%s`)") " AS UNSIGNED)", name,
			table->name.data, name, name);
	return text_add(&table->merge,
		"`%s`=IF(LENGTH(%s.`%s`)=8," SQL_BYTES(
			SQL_SUM(SQL_NUMBER("%s.`%s`"), SQL_NUMBER("VALUES(`%s`)"))) ",NULL)",
		name, table->name.data, name, table->name.data, name, name);
}

static bool
make_statements(struct sql_table *table)
{
	struct buffer *of = table->statements;
	bool is_done = text_add(&of[GET], "SELECT ") && add_values(&of[GET], table, "`%s`") &&
		text_add(&of[GET], " FROM %s", table->name.data) &&
		add_where(&of[GET], table) && add_insert(&of[INSERT], table, 1) &&
		text_add(&of[DEL], "DELETE FROM %s", table->name.data) &&
		add_where(&of[DEL], table);
	if (table->can_merge)
		is_done = is_done && add_insert(&of[MERGE], table, 1) &&
			text_add(&of[MERGE], " ON DUPLICATE KEY UPDATE %s", table->merge.data);
	for (uint32_t bits = 0; is_done && bits < 8; bits++)
		is_done = make_scan(&of[SCAN + bits], table, bits);
	for (uint32_t i = 0; is_done && i < SIZES; i++)
		is_done = make_gets(&of[GETS + i], table, 1u << i) &&
			add_insert(&of[PUTS + i], table, 1u << i) &&
			text_add(&of[PUTS + i], " ON DUPLICATE KEY UPDATE %s",
				table->update.data);
	return is_done;
}

bool
schema_make(struct sql_table *table, const struct nb_table *of, const char *database)
{
	uint32_t keys = of->key_column_count;
	table->of = of;
	table->scan_parameters = keys * (keys + 1) / 2 + 1;
	return text_add(&table->name, "`%s`.`%s`", database, of->name) &&
		add_keys(&table->columns, table, "`%s`", ",") &&
		text_add(&table->columns, ",") && add_values(&table->columns, table, "`%s`") &&
		add_values(&table->update, table, "`%s`=VALUES(`%s`)") && make_merge(table) &&
		make_statements(table);
}

void
schema_free(struct sql_table *table)
{
	struct buffer *texts[] = {&table->name, &table->columns, &table->update, &table->merge};
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		free(texts[i]->data);
	for (size_t i = 0; i < STATEMENTS; i++)
		free(table->statements[i].data);
}
