/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps as SQL text, for lists that are sent as one string of statements (execute.c). The
 * caller provides enough room.
 */
#include "internal.h"

#include <inttypes.h>

static char *
add(char *to, const char *text)
{
	size_t size = strlen(text);
	memcpy(to, text, size);
	return to + size;
}

static char *
add_number(char *to, uint64_t number)
{
	return to + sprintf(to, "%" PRIu64, number);
}

/* The character set is latin1, which has no multibyte characters. */
static char *
add_string(char *to, struct nb_slice bytes)
{
	const char *at = bytes.data, *end = at + bytes.size;
	to = add(to, "_binary'");
	for (; at < end; at++) {
		if (*at == '\'' || *at == '\\' || *at == '\0')
			*to++ = '\\';
		*to++ = *at != '\0' ? *at : '0';
	}
	*to++ = '\'';
	return to;
}

static char *
add_part(char *to, const struct nb_column *column, struct nb_slice part, bool is_key)
{
	if (column->type == NB_COLUMN_BYTES)
		return add_string(to, part);
	return add_number(to, is_key ? sql_key_number(part) : sql_value_number(part));
}

/** Append the columns as a list of literals. */
static char *
add_parts(char *to, const struct nb_column *columns, uint32_t count, struct nb_slice bytes,
	bool is_key)
{
	struct nb_slice parts[SQL_COLUMNS_MAX];
	(void)sql_split(columns, count, bytes, parts);
	for (uint32_t i = 0; i < count; i++) {
		to = i > 0 ? add(to, ",") : to;
		to = add_part(to, &columns[i], parts[i], is_key);
	}
	return to;
}

static char *
add_name(char *to, const char *name)
{
	*to++ = '`';
	to = add(to, name);
	*to++ = '`';
	return to;
}

/** Append the condition @s<=number, for a step that may be skipped. */
static char *
add_guard(char *to, bool is_guarded, size_t number, const char *before)
{
	return is_guarded ? add_number(add(add(to, before), "@s<="), number) : to;
}

static char *
add_where(char *to, const struct nb_table *of, struct nb_slice key)
{
	struct nb_slice parts[SQL_COLUMNS_MAX];
	(void)sql_split(of->key_columns, of->key_column_count, sql_strip(of, key), parts);
	to = add(to, " WHERE ");
	for (uint32_t i = 0; i < of->key_column_count; i++) {
		to = add_name(i > 0 ? add(to, " AND ") : to, of->key_columns[i].name);
		*to++ = '=';
		to = add_part(to, &of->key_columns[i], parts[i], true);
	}
	return to;
}

/** A number has 20 digits in text, so that its 8 decoded bytes fit in the same place. */
static char *
add_get(char *to, const struct sql_table *table, struct nb_slice key)
{
	const struct nb_table *of = table->of;
	to = add(to, "SELECT ");
	for (uint32_t i = 0; i < of->value_column_count; i++) {
		bool is_number = of->value_columns[i].type != NB_COLUMN_BYTES;
		to = add(to, i > 0 ? "," : "");
		to = add_name(add(to, is_number ? "LPAD(" : ""), of->value_columns[i].name);
		to = add(to, is_number ? ",20,'0')" : "");
	}
	return add_where(add(add(to, " FROM "), table->name.data), of, key);
}

static char *
add_insert(char *to, const struct sql_table *table, const struct nb_step *step,
	struct nb_slice value, bool is_guarded, size_t number)
{
	const struct nb_table *of = table->of;
	to = add(add(add(to, "INSERT INTO "), table->name.data), "(");
	to = add(add(to, table->columns.data), is_guarded ? ") SELECT " : ") VALUES(");
	to = add_parts(
		to, of->key_columns, of->key_column_count, sql_strip(of, step->key), true);
	to = add_parts(add(to, ","), of->value_columns, of->value_column_count, value, false);
	to = is_guarded ? add_guard(to, true, number, " FROM DUAL WHERE ") : add(to, ")");
	return add(to, " ON DUPLICATE KEY UPDATE ");
}

/* Changes nothing if the key exists, and then reports no affected row. */
static char *
add_insert_new(char *to, const struct sql_table *table, const struct nb_step *step,
	bool is_guarded, size_t number)
{
	const char *name = table->of->key_columns[0].name;
	to = add_insert(to, table, step, step->value, is_guarded, number);
	to = add(add_name(to, name), "=");
	return add_name(add(add(to, table->name.data), "."), name);
}

static char *
add_put(char *to, const struct sql_table *table, const struct nb_step *step, bool is_guarded,
	size_t number)
{
	to = add_insert(to, table, step, step->value, is_guarded, number);
	return add(to, table->update.data);
}

static char *
add_merge(char *to, const struct sql_table *table, const struct nb_step *step, bool is_guarded,
	size_t number)
{
	const struct nb_slice operand = {&step->operand, sizeof(step->operand)};
	to = add_insert(to, table, step, operand, is_guarded, number);
	return add(to, table->merge.data);
}

static char *
add_del(char *to, const struct sql_table *table, const struct nb_step *step, bool is_guarded,
	size_t number)
{
	to = add_where(add(add(to, "DELETE FROM "), table->name.data), table->of, step->key);
	return add_guard(to, is_guarded, number, " AND ");
}

/** The column that contains the age of a value, and the age's offset in it. */
static uint32_t
age_column(const struct nb_table *of, uint64_t at, uint64_t *offset)
{
	uint32_t i = 0;
	*offset = at;
	for (; i + 1 < of->value_column_count; i++) {
		uint32_t size = sql_column_size(&of->value_columns[i]);
		if (*offset < size)
			break;
		*offset -= size;
	}
	return i;
}

/** Append a condition: the stored value is older. (NULL, an error, if it is too short.) */
static char *
add_is_older(char *to, const struct nb_table *of, const struct nb_step *step, uint32_t column,
	uint64_t offset)
{
	const char *name = of->value_columns[column].name;
	int64_t age;
	memcpy(&age, (const char *)step->value.data + step->operand, sizeof(age));
	if (of->value_columns[column].type == NB_COLUMN_U64)
		to += sprintf(to, "CAST(`%s` AS SIGNED)", name);
	else
		to += sprintf(to, SQL_SIGNED("SUBSTR(`%s`,%" PRIu64 ",8)"), name, offset + 1);
	return to + sprintf(to, "<%" PRId64, age);
}

/**
 * UPDATE with a=IF(older,new,a) for each column. The column of the age is last, because the
 * others read it. A value that ends before the age is set to NULL, which is an error.
 */
static char *
add_put_if_newer(char *to, const struct sql_table *table, const struct nb_step *step,
	bool is_guarded, size_t number)
{
	const struct nb_table *of = table->of;
	struct nb_slice parts[SQL_COLUMNS_MAX];
	uint64_t offset;
	uint32_t count = of->value_column_count, age = age_column(of, step->operand, &offset);
	bool is_bytes = of->value_columns[age].type == NB_COLUMN_BYTES;
	(void)sql_split(of->value_columns, count, step->value, parts);
	to = add(add(add(to, "UPDATE "), table->name.data), " SET ");
	for (uint32_t n = 0; n < count; n++) {
		uint32_t i = (age + 1 + n) % count;
		const char *name = of->value_columns[i].name;
		to = add(add_name(n > 0 ? add(to, ",") : to, name), "=");
		if (is_bytes && i == age)
			to += sprintf(
				to, "IF(LENGTH(`%s`)<%" PRIu64 ",NULL,", name, offset + 8);
		to = add_is_older(add(to, "IF("), of, step, age, offset);
		to = add_part(add(to, ","), &of->value_columns[i], parts[i], false);
		to = add(add_name(add(to, ","), name), is_bytes && i == age ? "))" : ")");
	}
	return add_guard(add_where(to, of, step->key), is_guarded, number, " AND ");
}

/**
 * Change the bytes to the least ones above all that begin with them. Returns false if none
 * exist.
 */
static bool
successor(char *bytes, size_t *size)
{
	while (*size > 0 && (unsigned char)bytes[*size - 1] == 0xff)
		--*size;
	if (*size > 0)
		bytes[*size - 1]++;
	return *size > 0;
}

static char *
add_prefix_part(char *to, struct nb_session *session, const struct nb_column *column,
	struct nb_slice part, size_t whole)
{
	char *room = session->key.data;
	struct nb_slice end = {room, part.size};
	if (part.size > 0)
		memcpy(room, part.data, part.size);
	if (column->type == NB_COLUMN_U64) {
		memset(room + part.size, 0, whole - part.size);
		to = add_number(add(add_name(to, column->name), " BETWEEN "),
			sql_key_number((struct nb_slice){room, whole}));
		memset(room + part.size, 0xff, whole - part.size);
		return add_number(
			add(to, " AND "), sql_key_number((struct nb_slice){room, whole}));
	}
	to = add_string(add(add_name(to, column->name), ">="), part);
	if (!successor(room, &end.size))
		return to;
	return add_string(add(add_name(add(to, " AND "), column->name), "<"), end);
}

/** AND `type` IN (0,2) */
static char *
add_last_bytes(char *to, const char *name, uint64_t set)
{
	to = add(add_name(add(to, " AND "), name), " IN (");
	for (uint32_t byte = 0; set >> byte != 0; byte++) {
		if ((set >> byte & 1) == 0)
			continue;
		to = add_number(to, byte);
		to = add(to, byte < 63 && set >> (byte + 1) != 0 ? "," : "");
		if (byte == 63)
			break;
	}
	return add(to, ")");
}

/** Complete columns must be equal; the rest of the prefix must begin the next column. */
static char *
add_prefix_empty(char *to, struct nb_session *session, const struct sql_table *table,
	const struct nb_step *step)
{
	const struct nb_table *of = table->of;
	struct nb_slice left = sql_strip(of, step->key);
	to = add(add(add(to, "SELECT 1 FROM "), table->name.data), " WHERE 1");
	for (uint32_t i = 0; i < of->key_column_count && left.size > 0; i++) {
		const struct nb_column *column = &of->key_columns[i];
		size_t size = sql_column_size(column);
		size_t taken = size == 0 || size > left.size ? left.size : size;
		struct nb_slice part = {left.data, taken};
		to = add(to, " AND ");
		if (taken == size)
			to = add_part(add(add_name(to, column->name), "="), column, part, true);
		else
			to = add_prefix_part(to, session, column, part, size);
		left = (struct nb_slice){(const char *)left.data + taken, left.size - taken};
	}
	if (step->operand != 0)
		to = add_last_bytes(
			to, of->key_columns[of->key_column_count - 1].name, step->operand);
	return add(to, " LIMIT 1");
}

char *
text_step(char *to, struct nb_session *session, const struct nb_step *step, bool is_guarded,
	size_t number)
{
	const struct sql_table *table = table_of(session->db, step->key);
	switch (step->verb) {
	case NB_STEP_GET:
		return add_get(to, table, step->key);
	case NB_STEP_PUT:
		return add_put(to, table, step, is_guarded, number);
	case NB_STEP_DEL:
		return add_del(to, table, step, is_guarded, number);
	case NB_STEP_INSERT:
		return add_insert_new(to, table, step, is_guarded, number);
	case NB_STEP_MERGE:
		return add_merge(to, table, step, is_guarded, number);
	case NB_STEP_PUT_IF_NEWER:
		return add_put_if_newer(to, table, step, is_guarded, number);
	default:
		return add_prefix_empty(to, session, table, step);
	}
}

char *
text_skip(char *to, const struct nb_step *step, size_t number, size_t count)
{
	const char *is_missed = step->verb == NB_STEP_GET                  ? "FOUND_ROWS()=0"
		: step->verb == NB_STEP_PREFIX_EMPTY                       ? "FOUND_ROWS()>0"
		: step->verb == NB_STEP_PUT || step->verb == NB_STEP_MERGE ? "0"
									   : "ROW_COUNT()=0";
	size_t left = count - number - 1;
	size_t skips = step->skips < left ? step->skips : left;
	return to +
		sprintf(to, ";SET @s=IF(@s<=%zu AND %s,%zu,@s)", number, is_missed,
			number + 1 + skips);
}
