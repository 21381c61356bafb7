/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of steps, each as one write.
 *
 * Only gets: a SELECT of a list of keys of each table, prepared for 1, 2, 4, ... keys (schema.c);
 * the last key fills the list up, or NULL. It needs half of the server's time that single SELECTs
 * need. The server leaves out keys that are missing, so rows are found by their keys.
 *
 * Anything else: one string of statements, START TRANSACTION; ...; COMMIT. The server stops at
 * the first that fails, so nothing is committed then; the ROLLBACK that follows ends what is
 * left, before the next request of the connection. Separate packets would not do: after a
 * deadlock, which undoes all, the server would commit those that follow by themselves.
 *
 * A step that is left out if another one finds nothing: the string counts in @s up to which
 * step that is, and such steps have a condition on @s.
 */
#include "internal.h"

#include <inttypes.h>

/* Bytes of a step's text without its names, keys and values: twice the longest. */
enum { STEP_TEXT = 1024 };

static const char begin_text[] = "START TRANSACTION;";
static const char begin_guard[] = "SET @s=0;";

/* --- what a list is --- */

static bool
is_read(const struct nb_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (steps[i].verb != NB_STEP_GET)
			return false;
	return true;
}

/** What execute_bound() has found: the request is sent as lists. */
static bool
is_list(struct flying *flying)
{
	return flight_of(flying)->table != 0;
}

static bool
has_skips(const struct nb_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (steps[i].skips != 0)
			return true;
	return false;
}

static size_t
keys_of_table(const struct nb_db *db, const struct nb_step *steps, size_t count,
	const struct sql_table *table)
{
	size_t keys = 0;
	if (db->table_count == 1)
		return count;
	for (size_t i = 0; i < count; i++)
		keys += table_of(db, steps[i].key) == table;
	return keys;
}

/** Commands of so many keys. */
static size_t
lists_of(size_t keys)
{
	return (keys + LIST_MAX - 1) / LIST_MAX;
}

static size_t
lists_of_all(const struct nb_db *db, const struct nb_step *steps, size_t count)
{
	size_t lists = 0;
	for (uint32_t t = 0; t < db->table_count; t++)
		lists += lists_of(keys_of_table(db, steps, count, &db->tables[t]));
	return lists;
}

/** The number of the table that list number `list` is of. */
static uint32_t
table_of_list(const struct nb_db *db, const struct nb_step *steps, size_t count, uint32_t list)
{
	uint32_t t = 0;
	for (size_t lists = 0; t + 1 < db->table_count; t++) {
		lists += lists_of(keys_of_table(db, steps, count, &db->tables[t]));
		if (list < lists)
			break;
	}
	return t;
}

/* --- bounds --- */

static size_t
refuse(struct flying *flying, int answer, const char *error)
{
	flying->answer = answer;
	flying->error = error;
	return 0;
}

static size_t
step_bound(const struct nb_db *db, const struct nb_step *step)
{
	const struct sql_table *table = table_of(db, step->key);
	return STEP_TEXT + 6 * step->key.size + 2 * step->value.size + 2 * table->name.size +
		4 * table->columns.size + table->update.size + table->merge.size +
		64 * (table->of->key_column_count + table->of->value_column_count);
}

/** Whether the step can be a statement; if not, flying says why. */
static bool
check_step(const struct nb_db *db, struct flying *flying, const struct nb_step *step)
{
	const struct sql_table *table = table_of(db, step->key);
	struct nb_slice parts[SQL_COLUMNS_MAX];
	const char *why = NULL;
	bool has_value = step->verb == NB_STEP_PUT || step->verb == NB_STEP_INSERT ||
		step->verb == NB_STEP_PUT_IF_NEWER;
	if (step->verb > NB_STEP_PREFIX_EMPTY)
		why = "execute: unknown step";
	else if (table == NULL)
		why = "no table has a prefix of a step's key";
	else if (db->target_count > 1 &&
		(step->verb == NB_STEP_PREFIX_EMPTY ||
			split_server(step->key, db->target_count) != flying->server))
		why = "a list of steps cannot have keys of several servers";
	else if (step->verb != NB_STEP_PREFIX_EMPTY &&
		!sql_split(table->of->key_columns, table->of->key_column_count,
			sql_strip(table->of, step->key), parts))
		why = "a step's key does not fit the table's columns";
	else if (has_value &&
		!sql_split(table->of->value_columns, table->of->value_column_count, step->value,
			parts))
		why = "a step's value does not fit the table's columns";
	else if (step->verb == NB_STEP_PUT_IF_NEWER &&
		(step->value.size < 8 || step->operand > step->value.size - 8))
		why = "put-if-newer: the value ends before its age";
	else if (step->verb == NB_STEP_MERGE && !table->can_merge)
		why = "merge: the table's values are not one column of 8 bytes";
	else if (step->verb == NB_STEP_PREFIX_EMPTY && step->operand != 0 &&
		!sql_has_last_byte(table->of, step->key))
		why = "prefix-empty: a set of last bytes needs a last column of one byte";
	if (why != NULL)
		(void)refuse(flying, NB_UNSUPPORTED, why);
	return why == NULL;
}

size_t
execute_bound(
	struct nb_session *session, struct flying *flying, const struct nb_request *request)
{
	const uint32_t known = NB_EXEC_ATOMIC | NB_EXEC_SNAPSHOT | NB_EXEC_READ_ONLY;
	const struct nb_db *db = session->db;
	const struct nb_step *steps = request->steps;
	size_t count = request->step_count, size = 256, parameters = 0;
	if ((request->flags & ~known) != 0)
		return refuse(flying, NB_UNSUPPORTED, "execute: unknown flag");
	if (count == 0)
		return refuse(flying, NB_OK, NULL);
	flying->server = split_server(steps->key, db->target_count);
	for (size_t i = 0; i < count; i++)
		if (!check_step(db, flying, &steps[i]))
			return 0;
	flying->is_lent = true;
	flight_of(flying)->table = is_read(steps, count);
	if (is_list(flying)) {
		size_t longest = 0;
		for (size_t i = 0; i < count; i++) {
			size += steps[i].key.size;
			longest = steps[i].key.size > longest ? steps[i].key.size : longest;
			parameters += table_of(db, steps[i].key)->of->key_column_count;
		}
		/* Lists are filled up to less than twice their keys, with one of them. */
		return size + count * longest + command_bound(2 * parameters) +
			command_bound(SQL_COLUMNS_MAX) * lists_of_all(db, steps, count);
	}
	for (size_t i = 0; i < count; i++)
		size += step_bound(db, &steps[i]);
	if ((request->flags & NB_EXEC_SNAPSHOT) != 0 &&
		db->options[ISOLATION].u64 == READ_COMMITTED && count > 1)
		return refuse(flying, NB_UNSUPPORTED,
			"isolation=read-committed: reads may see more than one version of the data");
	return size <= db->packet_max
		? size
		: refuse(flying, NB_UNSUPPORTED,
			  "the steps are longer than max_allowed_packet, or 16 MiB");
}

/* --- lists of gets --- */

static char *
encode_list(struct nb_session *session, const struct connection *connection,
	const struct sql_table *table, const struct nb_step *steps, size_t count, size_t *from,
	char *to)
{
	const struct nb_db *db = session->db;
	const struct nb_table *of = table->of;
	size_t keys = keys_of_table(db, steps + *from, count - *from, table), last = 0;
	uint32_t size = 0;
	struct command command;
	keys = keys < LIST_MAX ? keys : LIST_MAX;
	while ((1u << size) < keys)
		size++;
	command_begin(&command, to,
		connection->statements[(table - db->tables) * STATEMENTS + GETS + size],
		of->key_column_count << size);
	bool has_nulls = schema_joins(of, (size_t)1 << size);
	for (size_t row = 0; row < (size_t)1 << size; row++) {
		if (row >= keys && has_nulls) {
			command_nulls(&command, of->key_column_count);
			continue;
		}
		if (row < keys) {
			while (db->table_count > 1 && table_of(db, steps[*from].key) != table)
				++*from;
			last = (*from)++;
		}
		command_columns(&command, of->key_columns, of->key_column_count,
			sql_strip(of, steps[last].key), true);
	}
	return command_end(&command);
}

static char *
encode_read(struct nb_session *session, struct flying *flying, const struct nb_request *request,
	char *to)
{
	const struct nb_db *db = session->db;
	const struct connection *connection = &session->connections[flying->server];
	struct flight *flight = flight_of(flying);
	size_t lists = lists_of_all(db, request->steps, request->step_count);
	bool has_txn = lists > 1 && (request->flags & NB_EXEC_SNAPSHOT) != 0 &&
		!session->is_in_txn;
	if (has_txn && db->options[ISOLATION].u64 == READ_COMMITTED) {
		to = query_write(to, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
		flight->commands++;
		flight->ignore++;
	}
	if (has_txn) {
		to = query_write(to, "START TRANSACTION READ ONLY");
		flight->commands += 2;
		flight->ignore++;
	}
	for (uint32_t t = 0; t < db->table_count; t++) {
		size_t from = 0;
		size_t left = lists_of(
			keys_of_table(db, request->steps, request->step_count, &db->tables[t]));
		for (; left > 0; left--)
			to = encode_list(session, connection, &db->tables[t], request->steps,
				request->step_count, &from, to);
	}
	for (size_t i = 0; i < request->step_count; i++)
		request->steps[i].answer = NB_NOT_FOUND;
	flight->commands += (uint32_t)lists - 1;
	return has_txn ? query_write(to, "COMMIT") : to;
}

/* --- text --- */

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

/* In the character set latin1, which has no characters of several bytes. */
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

/** The columns as a list of literals. */
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

/** AND @s<=number, for a step that may be left out. */
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

/** In text a number has 20 digits, so that the 8 bytes that it is find room in its place. */
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

/* It changes nothing where the key is there, and then counts no row. */
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

/** The column that the age of a value is in, and its first byte there. */
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

/** "NULL if the value is too short, for an error; else whether it is older". */
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
 * SET a=IF(older,new,a), the age's own column last, because the others look at it. Bytes that
 * end before the age are set to NULL, an error.
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

/** The least bytes above all that begin with these. False: there are none. */
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

/** Whole columns are equal, what is left of the prefix begins the next one. */
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

static char *
add_step(char *to, struct nb_session *session, const struct nb_step *step, bool is_guarded,
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

/** Sets @s if the step before finds nothing, or its condition is not met. */
static char *
add_skip(char *to, const struct nb_step *step, size_t number, size_t count)
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

static char *
encode_text(struct nb_session *session, struct flying *flying, const struct nb_request *request,
	char *to)
{
	struct flight *flight = flight_of(flying);
	struct nb_step *steps = request->steps;
	size_t count = request->step_count, guarded = 0;
	char *begin = to;
	bool has_txn = count > 1 && !session->is_in_txn;
	bool is_guarded = has_skips(steps, count);
	to += QUERY_HEAD;
	to = has_txn ? add(to, begin_text) : to;
	to = is_guarded ? add(to, begin_guard) : to;
	flight->ignore += (uint32_t)has_txn + (uint32_t)is_guarded;
	for (size_t i = 0; i < count; i++) {
		to = i > 0 ? add(to, ";") : to;
		to = add_step(to, session, &steps[i], i < guarded, i);
		to = steps[i].skips != 0 ? add_skip(to, &steps[i], i, count) : to;
		if (steps[i].skips != 0 && i + 1 + steps[i].skips > guarded)
			guarded = i + 1 + steps[i].skips;
		steps[i].answer = steps[i].verb == NB_STEP_GET ? NB_NOT_FOUND : NB_OK;
	}
	to = has_txn ? add(to, ";COMMIT") : to;
	query_head(begin, (size_t)(to - begin) - QUERY_HEAD);
	flight->commands += has_txn;
	return has_txn ? query_write(to, "ROLLBACK") : to;
}

char *
execute_encode(struct nb_session *session, struct flying *flying,
	const struct nb_request *request, char *to)
{
	return is_list(flying) ? encode_read(session, flying, request, to)
			       : encode_text(session, flying, request, to);
}

/* --- rows of lists --- */

static bool
finder_reserve(struct finder *finder, size_t count)
{
	size_t heads = 16;
	while (heads < 2 * count)
		heads *= 2;
	if (finder->head_room < heads) {
		free(finder->heads);
		free(finder->next);
		finder->heads = malloc(heads * sizeof(*finder->heads));
		finder->next = malloc(heads * sizeof(*finder->next));
		finder->head_room = finder->heads != NULL && finder->next != NULL ? heads : 0;
	}
	finder->mask = heads - 1;
	return finder->head_room >= heads;
}

static bool
finder_make(struct finder *finder, const struct flying *flying)
{
	if (finder->owner == flying->number + 1)
		return true;
	if (!finder_reserve(finder, flying->step_count))
		return false;
	memset(finder->heads, 0, (finder->mask + 1) * sizeof(*finder->heads));
	for (size_t i = 0; i < flying->step_count; i++) {
		uint32_t *head =
			&finder->heads[split_hash(flying->steps[i].key) & finder->mask];
		finder->next[i] = *head;
		*head = (uint32_t)i + 1;
	}
	finder->owner = flying->number + 1;
	finder->list = UINT32_MAX;
	return true;
}

/** The number of the table whose rows come now. */
static uint32_t
finder_table(struct finder *finder, const struct nb_db *db, struct flying *flying)
{
	uint32_t list = flight_of(flying)->step;
	if (finder->list != list)
		finder->table = table_of_list(db, flying->steps, flying->step_count, list);
	finder->list = list;
	return finder->table;
}

/** A row of a list: of all steps with its key. */
static bool
take_list_row(struct nb_session *session, struct flying *flying, char *payload, size_t size)
{
	const struct nb_db *db = session->db;
	struct finder *finder = &session->finder;
	struct nb_slice key, value;
	struct row row;
	bool is_found = false;
	if (!finder_make(finder, flying))
		return false;
	const struct nb_table *of = db->tables[finder_table(finder, db, flying)].of;
	if (!row_begin(&row, payload, size, of->key_column_count + of->value_column_count,
		    false) ||
		!row_key(&row, of->key_columns, of->key_column_count, of->prefix,
			session->key.data, &key) ||
		!row_value(&row, of->value_columns, of->value_column_count, &value))
		return false;
	for (uint32_t i = finder->heads[split_hash(key) & finder->mask]; i != 0;
		i = finder->next[i - 1]) {
		struct nb_step *step = &flying->steps[i - 1];
		if (step->key.size != key.size ||
			memcmp(step->key.data, key.data, key.size) != 0)
			continue;
		step->value = value;
		step->answer = NB_OK;
		is_found = true;
	}
	return is_found;
}

/* --- results --- */

bool
execute_row(struct nb_session *session, struct flying *flying, char *payload, size_t size)
{
	struct nb_step *step = &flying->steps[flight_of(flying)->step];
	struct row row;
	if (is_list(flying))
		return take_list_row(session, flying, payload, size);
	if (flight_of(flying)->step >= flying->step_count)
		return false;
	if (step->verb == NB_STEP_PREFIX_EMPTY) {
		step->answer = NB_EXISTS;
		return true;
	}
	const struct nb_table *of = table_of(session->db, step->key)->of;
	step->answer = NB_OK;
	return step->verb == NB_STEP_GET &&
		row_begin(&row, payload, size, of->value_column_count, true) &&
		row_value(&row, of->value_columns, of->value_column_count, &step->value);
}

void
execute_result(struct nb_session *session, struct flying *flying, const struct reading *reading)
{
	struct flight *flight = flight_of(flying);
	bool is_changed = reading->affected > 0;
	if (is_list(flying)) {
		flight->step++;
		return;
	}
	if (flying->answer != NB_OK || flight->step >= flying->step_count)
		return; /* of COMMIT and ROLLBACK */
	struct nb_step *step = &flying->steps[flight->step++];
	if (step->verb == NB_STEP_DEL)
		step->answer = is_changed ? NB_OK : NB_NOT_FOUND;
	else if (step->verb == NB_STEP_INSERT)
		step->answer = is_changed ? NB_OK : NB_EXISTS;
	else if (step->verb == NB_STEP_PUT_IF_NEWER)
		step->answer = is_changed      ? NB_OK
			: reading->matched > 0 ? NB_EXISTS
					       : NB_NOT_FOUND;
	flight->ignore = step->skips != 0;
}

void
execute_end(struct flying *flying)
{
	struct nb_step *steps = flying->steps;
	for (size_t i = 0; i < flying->step_count; i++) {
		uint32_t skips = steps[i].answer != NB_OK ? steps[i].skips : 0;
		for (; skips > 0 && i + 1 < flying->step_count; skips--)
			steps[++i].answer = NB_EXISTS;
	}
}
