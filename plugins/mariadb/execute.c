/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of steps, each sent in one write.
 *
 * If all steps are gets: one SELECT with a list of keys for each table, prepared for 1, 2,
 * 4, ... keys (schema.c). The last key, or NULL, fills up the list. This needs half of the
 * server time of single SELECTs. The server omits missing keys, so the plugin assigns rows
 * to steps by their keys.
 *
 * Otherwise: one string of statements, START TRANSACTION; ...; COMMIT. The server stops at
 * the first failing statement, so it commits nothing. The ROLLBACK after the string ends an
 * open transaction before the connection's next request. Separate packets would be wrong:
 * after a deadlock, which rolls back everything, the server would commit each of the
 * remaining statements.
 *
 * Skipped steps: @s contains the number of the next step that is not skipped. Statements of
 * steps that may be skipped have a condition on @s.
 */
#include "internal.h"

/* Size of a step's text without names, keys and values: twice the maximum. */
enum { STEP_TEXT = 1024 };

static const char begin_text[] = "START TRANSACTION;";
static const char begin_guard[] = "SET @s=0;";

/* --- properties of a list --- */

static bool
is_read(const struct nb_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (steps[i].verb != NB_STEP_GET)
			return false;
	return true;
}

/** Whether execute_bound() has decided to send the request as lists. */
static bool
is_list(struct flying *flying)
{
	return flight_of(flying)->table != 0;
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

/** Number of commands for a number of keys. */
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

/** The number of the table that list `list` reads. */
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
step_bound(const struct nb_db *db, const struct nb_step *step)
{
	const struct sql_table *table = table_of(db, step->key);
	return STEP_TEXT + 6 * step->key.size + 2 * step->value.size + 2 * table->name.size +
		4 * table->columns.size + table->update.size + table->merge.size +
		64 * (table->of->key_column_count + table->of->value_column_count);
}

/** Check that the step can be a statement; otherwise `flying` contains the reason. */
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
		(void)flying_refuse(flying, NB_UNSUPPORTED, why);
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
		return flying_refuse(flying, NB_UNSUPPORTED, "execute: unknown flag");
	if (count == 0)
		return 0; /* answer is NB_OK */
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
		/* A list is filled up to less than twice its number of keys. */
		return size + count * longest + command_bound(2 * parameters) +
			command_bound(SQL_COLUMNS_MAX) * lists_of_all(db, steps, count);
	}
	for (size_t i = 0; i < count; i++)
		size += step_bound(db, &steps[i]);
	if ((request->flags & NB_EXEC_SNAPSHOT) != 0 &&
		db->options[ISOLATION].u64 == READ_COMMITTED && count > 1)
		return flying_refuse(flying, NB_UNSUPPORTED,
			"isolation=read-committed: reads may see more than one version of the data");
	return size <= db->packet_max
		? size
		: flying_refuse(flying, NB_UNSUPPORTED,
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
encode_text(struct nb_session *session, struct flying *flying, const struct nb_request *request,
	char *to)
{
	struct flight *flight = flight_of(flying);
	struct nb_step *steps = request->steps;
	size_t count = request->step_count, guarded = 0;
	char *begin = to;
	bool has_txn = count > 1 && !session->is_in_txn;
	bool is_guarded = sql_have_skips(steps, count);
	to += QUERY_HEAD;
	to = has_txn ? stpcpy(to, begin_text) : to;
	to = is_guarded ? stpcpy(to, begin_guard) : to;
	flight->ignore += (uint32_t)has_txn + (uint32_t)is_guarded;
	for (size_t i = 0; i < count; i++) {
		to = i > 0 ? stpcpy(to, ";") : to;
		to = text_step(to, session, &steps[i], i < guarded, i);
		to = steps[i].skips != 0 ? text_skip(to, &steps[i], i, count) : to;
		if (steps[i].skips != 0 && i + 1 + steps[i].skips > guarded)
			guarded = i + 1 + steps[i].skips;
		steps[i].answer = steps[i].verb == NB_STEP_GET ? NB_NOT_FOUND : NB_OK;
	}
	to = has_txn ? stpcpy(to, ";COMMIT") : to;
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

/** The number of the table whose rows are arriving. */
static uint32_t
finder_table(struct finder *finder, const struct nb_db *db, struct flying *flying)
{
	uint32_t list = flight_of(flying)->step;
	if (finder->list != list)
		finder->table = table_of_list(db, flying->steps, flying->step_count, list);
	finder->list = list;
	return finder->table;
}

/** Assign a row of a list to all steps with its key. */
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
		return; /* result of COMMIT or ROLLBACK */
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
