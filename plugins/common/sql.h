/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLUGIN_SQL_H
#define PLUGIN_SQL_H
/**
 * Maps the host's tables (struct nb_table) to tables of a SQL server. It finds the table of
 * a key, and the bytes of each column. The plugins write the SQL text.
 *
 * A key consists of the table's prefix and its key columns. All columns have a fixed size,
 * except that the last column of a key or a value may hold the remaining bytes. Numbers in a
 * key are big-endian, so the order of the columns equals the order of the bytes.
 */
#include "plugin.h"

enum {
	SQL_TABLES_MAX = 16,
	SQL_COLUMNS_MAX = 16, /* maximum for a key, and for a value */
	SQL_NAME_MAX = 48
};

#define SQL_DATABASE "mininb"      /* database or schema, unless an option names another one */
#define SQL_MARKER "mininb_marker" /* this table marks the database as mininb's */

/** The table that is used if the host names none. */
static const struct nb_column sql_key_column = {.name = "k", .type = NB_COLUMN_BYTES};
static const struct nb_column sql_value_column = {.name = "v", .type = NB_COLUMN_BYTES};
static const struct nb_table sql_records = {.name = "records",
	.key_columns = &sql_key_column,
	.value_columns = &sql_value_column,
	.key_column_count = 1,
	.value_column_count = 1};

static inline const struct nb_table *
sql_tables(const struct nb_open_args *args, uint32_t *count)
{
	*count = args->table_count != 0 ? args->table_count : 1;
	return args->table_count != 0 ? args->tables : &sql_records;
}

/** Size of a column in bytes; 0: it holds the remaining bytes. */
static inline uint32_t
sql_column_size(const struct nb_column *column)
{
	return column->type == NB_COLUMN_U64   ? 8
		: column->type == NB_COLUMN_U8 ? 1
					       : column->size;
}

/** Total size in bytes of all columns that have a fixed size. */
static inline size_t
sql_fixed_size(const struct nb_column *columns, uint32_t count)
{
	size_t size = 0;
	for (uint32_t i = 0; i < count; i++)
		size += sql_column_size(&columns[i]);
	return size;
}

/** Whether the last column holds the remaining bytes. */
static inline bool
sql_is_open(const struct nb_column *columns, uint32_t count)
{
	return count > 0 && sql_column_size(&columns[count - 1]) == 0;
}

/* --- checks of tables and names --- */

static inline bool
sql_is_name(const char *name)
{
	size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
	return size > 0 && size <= SQL_NAME_MAX && name[size] == '\0' &&
		strchr("0123456789", name[0]) == NULL;
}

static inline bool
sql_are_columns(const struct nb_column *columns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (columns[i].type > NB_COLUMN_BYTES || !sql_is_name(columns[i].name) ||
			(sql_column_size(&columns[i]) == 0 && i + 1 < count))
			return false;
	return count > 0 && count <= SQL_COLUMNS_MAX;
}

static inline bool
sql_begins_with(struct nb_slice bytes, struct nb_slice prefix)
{
	return bytes.size >= prefix.size &&
		memcmp(address(bytes), address(prefix), prefix.size) == 0;
}

static inline bool
sql_is_alone(const struct nb_table *tables, uint32_t count, uint32_t i)
{
	for (uint32_t j = 0; j < count; j++)
		if (j != i &&
			(sql_begins_with(tables[j].prefix, tables[i].prefix) ||
				strcmp(tables[j].name, tables[i].name) == 0))
			return false;
	return true;
}

/** Returns NB_OK, or a failure that names the table. */
static inline int
sql_check_tables(const struct nb_host *host, const struct nb_table *tables, uint32_t count)
{
	if (count > SQL_TABLES_MAX)
		return host->fail(NB_UNSUPPORTED, "%u tables; the limit is %d", count,
			(int)SQL_TABLES_MAX);
	for (uint32_t i = 0; i < count; i++) {
		const struct nb_table *table = &tables[i];
		if (!sql_is_name(table->name) || strcmp(table->name, SQL_MARKER) == 0)
			return host->fail(NB_UNSUPPORTED,
				"table %s: a name has 1 to %d characters a-z, 0-9 and _, the first one not a digit, and is not %s",
				table->name, (int)SQL_NAME_MAX, SQL_MARKER);
		if (!sql_are_columns(table->key_columns, table->key_column_count) ||
			!sql_are_columns(table->value_columns, table->value_column_count))
			return host->fail(NB_UNSUPPORTED,
				"table %s: keys and values have 1 to %d columns each, and only the last one may have no size",
				table->name, (int)SQL_COLUMNS_MAX);
		if (!sql_is_alone(tables, count, i))
			return host->fail(NB_UNSUPPORTED,
				"table %s: its name is another table's, or another prefix begins with its own",
				table->name);
	}
	return NB_OK;
}

/**
 * Set order[] to the table numbers, sorted by prefix. Requires that no prefix begins with
 * another one.
 */
static inline void
sql_sort_by_prefix(const struct nb_table *tables, uint32_t count, uint32_t *order)
{
	for (uint32_t i = 0; i < count; i++) {
		struct nb_slice prefix = tables[i].prefix;
		uint32_t at = i;
		for (; at > 0; at--) {
			struct nb_slice before = tables[order[at - 1]].prefix;
			size_t size = before.size < prefix.size ? before.size : prefix.size;
			if (memcmp(address(before), address(prefix), size) < 0)
				break;
			order[at] = order[at - 1];
		}
		order[at] = i;
	}
}

/**
 * Whether a prefix query can select keys by their last byte. The last key column must be one
 * byte, and the prefix must end before it.
 */
static inline bool
sql_has_last_byte(const struct nb_table *table, struct nb_slice prefix)
{
	uint32_t count = table->key_column_count;
	return table->key_columns[count - 1].type == NB_COLUMN_U8 &&
		prefix.size < table->prefix.size + sql_fixed_size(table->key_columns, count);
}

/* --- keys and values --- */

/** The table that the key belongs to; NULL: none. */
static inline const struct nb_table *
sql_table_of(const struct nb_table *tables, uint32_t count, struct nb_slice key)
{
	for (uint32_t i = 0; i < count; i++)
		if (sql_begins_with(key, tables[i].prefix))
			return &tables[i];
	return NULL;
}

/** The key without the prefix of its table. */
static inline struct nb_slice
sql_strip(const struct nb_table *table, struct nb_slice key)
{
	return (struct nb_slice){
		address(key) + table->prefix.size, key.size - table->prefix.size};
}

/**
 * Split bytes into columns: parts[i] becomes the bytes of column i. Returns false if bytes
 * has too many or too few bytes.
 */
static inline bool
sql_split(const struct nb_column *columns, uint32_t count, struct nb_slice bytes,
	struct nb_slice *parts)
{
	const char *at = address(bytes);
	size_t left = bytes.size;
	for (uint32_t i = 0; i < count; i++) {
		size_t size = sql_column_size(&columns[i]);
		if (size == 0)
			size = left;
		if (size > left)
			return false;
		parts[i] = (struct nb_slice){at, size};
		at += size;
		left -= size;
	}
	return left == 0;
}

/**
 * Split the first bytes of a key, from a scan or a prefix query, into columns. Missing or
 * truncated columns of fixed size are filled with the byte `fill`. A last column without a
 * fixed size is kept as it is. parts[i] points into `bytes` or into `room`, which has
 * sql_fixed_size() bytes.
 *
 * Returns < 0 if the bytes were too few and were filled up. Returns > 0 if they were longer
 * than any key and the excess was dropped. Otherwise returns 0.
 */
static inline int
sql_pad_key(const struct nb_table *table, struct nb_slice bytes, unsigned char fill, char *room,
	struct nb_slice *parts)
{
	uint32_t count = table->key_column_count;
	size_t fixed = sql_fixed_size(table->key_columns, count);
	bool is_open = sql_is_open(table->key_columns, count);
	int how = bytes.size < fixed ? -1 : bytes.size > fixed && !is_open ? 1 : 0;
	if (how < 0) {
		memset(room, fill, fixed);
		if (bytes.size != 0)
			memcpy(room, bytes.data, bytes.size);
		bytes.data = room;
	}
	if (how != 0)
		bytes.size = fixed;
	(void)sql_split(table->key_columns, count, bytes, parts);
	return how;
}

/** Decode a number of 8 or 1 bytes from a key. */
static inline uint64_t
sql_key_number(struct nb_slice part)
{
	const unsigned char *bytes = part.data;
	uint64_t number = 0;
	for (size_t i = 0; i < part.size; i++)
		number = number << 8 | bytes[i];
	return number;
}

/** Decode a number of 8 or 1 bytes from a value. */
static inline uint64_t
sql_value_number(struct nb_slice part)
{
	uint64_t number = 0;
	if (part.size == 1)
		return *(const unsigned char *)part.data;
	memcpy(&number, part.data, sizeof(number));
	return number;
}

/** Whether a step may skip others, so that not all of them are executed. */
static inline bool
sql_have_skips(const struct nb_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (steps[i].skips != 0)
			return true;
	return false;
}

#endif /* PLUGIN_SQL_H */
