/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of a database and their statements. A job without tables has one table,
 * `records`.
 *
 * - A number in a key is an INTEGER with the sign bit flipped, because integers are signed
 *   and byte order is not. A number in a value is the INTEGER with the same 64 bits.
 * - A key of one number is the rowid, whose B-tree contains the rows in its leaves. Other
 *   tables are WITHOUT ROWID: their primary key is the B-tree itself, not an additional
 *   index.
 * - SQLite keeps the text of each definition. A database with other columns is detected by
 *   comparing it.
 */
#include "database.h"

/*
 * Placeholders in a template:
 *   %T the table       %K columns of the key, %D descending     %k their parameters
 *   %V of the value    %p parameters of key and value           %= the key is its parameters
 *   %C the value's first column
 */
#define SCAN(columns, condition, order) \
	"SELECT " columns " FROM %T" condition " ORDER BY " order
#define SCANS(condition_up, condition_down) \
	SCAN("%K,%V", condition_up, "%K"), SCAN("%K", condition_up, "%K"), \
		SCAN("%K,%V", condition_down, "%D"), SCAN("%K", condition_down, "%D")

static const char *const templates[STATEMENTS] = {
	[GET] = "SELECT %V FROM %T WHERE %=",
	[PUT] = "REPLACE INTO %T(%K,%V) VALUES(%p)",
	[INSERT] = "INSERT INTO %T(%K,%V) VALUES(%p) ON CONFLICT DO NOTHING",
	[DEL] = "DELETE FROM %T WHERE %=",
	[MERGE] = ("INSERT INTO %T(%K,%V) VALUES(%p) ON CONFLICT(%K) DO UPDATE "
		   "SET %C=add_u64(%C,excluded.%C) WHERE typeof(%C)='integer' OR length(%C)=8"),
	[SCAN_ALL] = SCANS("", ""),
	[SCAN_FROM] = SCANS(" WHERE (%K)>=(%k)", " WHERE (%K)<=(%k)"),
	[SCAN_BEYOND] = SCANS(" WHERE (%K)>(%k)", " WHERE (%K)<(%k)"),
};

/* --- text --- */

static bool NB_PRINTF(2, 3) add(struct buffer *text, const char *fmt, ...)
{
	char part[SQL_NAME_MAX + 64];
	va_list args;
	va_start(args, fmt);
	vsnprintf(part, sizeof(part), fmt, args);
	va_end(args);
	return buffer_add(text, part, strlen(part));
}

static bool
add_columns(struct buffer *text, const struct nb_column *columns, uint32_t count,
	const char *after, const char *between)
{
	bool is_done = true;
	for (uint32_t i = 0; is_done && i < count; i++)
		is_done = add(text, "%s\"%s\"%s", i > 0 ? between : "", columns[i].name, after);
	return is_done;
}

static bool
add_parameters(struct buffer *text, uint32_t count)
{
	bool is_done = true;
	for (uint32_t i = 0; is_done && i < count; i++)
		is_done = add(text, i > 0 ? ",?%u" : "?%u", i + 1);
	return is_done;
}

static bool
add_equal(struct buffer *text, const struct nb_table *of)
{
	bool is_done = true;
	for (uint32_t i = 0; is_done && i < of->key_column_count; i++)
		is_done = add(text, "%s\"%s\"=?%u", i > 0 ? " AND " : "",
			of->key_columns[i].name, i + 1);
	return is_done;
}

static bool
add_one(struct buffer *text, const struct nb_table *of, char which)
{
	uint32_t keys = of->key_column_count, values = of->value_column_count;
	switch (which) {
	case 'T':
		return add(text, "\"%s\"", of->name);
	case 'K':
		return add_columns(text, of->key_columns, keys, "", ",");
	case 'D':
		return add_columns(text, of->key_columns, keys, " DESC", ",");
	case 'V':
		return add_columns(text, of->value_columns, values, "", ",");
	case 'C':
		return add_columns(text, of->value_columns, 1, "", "");
	case 'k':
		return add_parameters(text, keys);
	case 'p':
		return add_parameters(text, keys + values);
	default:
		return add_equal(text, of);
	}
}

/* Returns a text that the caller frees; NULL: out of memory. */
static char *
expand(const struct nb_table *of, const char *template)
{
	struct buffer text = {0};
	bool is_done = true;
	for (const char *at = template; is_done && *at != '\0'; at++)
		is_done = *at == '%' ? add_one(&text, of, *++at) : buffer_add(&text, at, 1);
	if (is_done && buffer_add(&text, "", 1))
		return text.data;
	free(text.data);
	return NULL;
}

/* --- tables --- */

static bool
define_columns(struct buffer *text, const struct nb_column *columns, uint32_t count)
{
	bool is_done = true;
	for (uint32_t i = 0; is_done && i < count; i++)
		is_done = add(text, "\"%s\" %s,", columns[i].name,
			columns[i].type == NB_COLUMN_BYTES ? "BLOB" : "INTEGER");
	return is_done;
}

/* The definition in the form that SQLite keeps. */
static char *
define(const struct nb_table *of)
{
	struct buffer text = {0};
	bool is_rowid = of->key_column_count == 1 && of->key_columns[0].type != NB_COLUMN_BYTES;
	if (add(&text, "CREATE TABLE \"%s\"(", of->name) &&
		define_columns(&text, of->key_columns, of->key_column_count) &&
		define_columns(&text, of->value_columns, of->value_column_count) &&
		add(&text, "PRIMARY KEY(") &&
		add_columns(&text, of->key_columns, of->key_column_count, "", ",") &&
		add(&text, is_rowid ? "))" : ")) WITHOUT ROWID") && buffer_add(&text, "", 1))
		return text.data;
	free(text.data);
	return NULL;
}

static bool
is_counter(const struct nb_table *of)
{
	const struct nb_column *column = &of->value_columns[0];
	return of->value_column_count == 1 && column->type != NB_COLUMN_U8 &&
		(column->type == NB_COLUMN_U64 || column->size == 0 || column->size == 8);
}

static bool
make_texts(struct table *table, const struct nb_table *of)
{
	table->of = of;
	table->is_plain_key = of->prefix.size == 0 && of->key_column_count == 1 &&
		of->key_columns[0].type == NB_COLUMN_BYTES;
	table->is_plain_value = of->value_column_count == 1 &&
		of->value_columns[0].type == NB_COLUMN_BYTES;
	table->definition = define(of);
	bool is_done = table->definition != NULL;
	for (int i = 0; is_done && i < STATEMENTS; i++) {
		if (i == MERGE && !is_counter(of))
			continue;
		table->texts[i] = expand(of, templates[i]);
		is_done = table->texts[i] != NULL;
	}
	return is_done;
}

/* Compare the table's definition in the database; the query returns one row or none. */
static int
check_table(struct nb_db *db, const struct table *table)
{
	sqlite3_stmt *statement;
	int error = sqlite3_prepare_v2(db->base,
		"SELECT sql FROM sqlite_master WHERE type='table' AND name=?1", -1, &statement,
		NULL);
	if (error != SQLITE_OK)
		return database_failure(db->host, db->base, "sqlite_master", error);
	sqlite3_bind_text(statement, 1, table->of->name, -1, SQLITE_STATIC);
	int rc = NB_OK;
	if (sqlite3_step(statement) != SQLITE_ROW)
		rc = db->host->fail(
			NB_FAIL, "not a database of this job: no table %s", table->of->name);
	else if (strcmp((const char *)sqlite3_column_text(statement, 0), table->definition) !=
		0)
		rc = db->host->fail(NB_FAIL,
			"the table %s has other columns than this job: %s, not %s",
			table->of->name, (const char *)sqlite3_column_text(statement, 0),
			table->definition);
	error = sqlite3_finalize(statement);
	if (error != SQLITE_OK)
		rc = database_failure(db->host, db->base, "sqlite_master", error);
	return rc;
}

static int
open_table(struct nb_db *db, const struct table *table, bool is_to_create)
{
	char *text = sqlite3_mprintf(
		"CREATE TABLE IF NOT EXISTS%s", table->definition + sizeof("CREATE TABLE") - 1);
	int error = text == NULL ? SQLITE_NOMEM : SQLITE_OK;
	if (is_to_create && text != NULL)
		error = sqlite3_exec(db->base, text, NULL, NULL, NULL);
	sqlite3_free(text);
	if (error != SQLITE_OK)
		return database_failure(db->host, db->base, "CREATE TABLE", error);
	return check_table(db, table);
}

int
schema_open(struct nb_db *db, const struct nb_open_args *args, bool is_to_create)
{
	uint32_t count;
	const struct nb_table *tables = sql_tables(args, &count);
	int rc = sql_check_tables(db->host, tables, count);
	if (rc == NB_OK)
		sql_sort_by_prefix(tables, count, db->by_prefix);
	for (uint32_t i = 0; rc == NB_OK && i < count; i++) {
		db->table_count = i + 1;
		rc = make_texts(&db->tables[i], &tables[i])
			? open_table(db, &db->tables[i], is_to_create)
			: db->host->fail(NB_FAIL, "out of memory");
	}
	return rc;
}

void
schema_free(struct nb_db *db)
{
	for (uint32_t t = 0; t < db->table_count; t++) {
		free(db->tables[t].definition);
		for (int i = 0; i < STATEMENTS; i++)
			free(db->tables[t].texts[i]);
	}
}

int
schema_count(struct nb_db *db, uint32_t table, uint64_t *rows)
{
	sqlite3_stmt *statement = NULL;
	char *text = expand(db->tables[table].of, "SELECT count(*) FROM %T");
	if (text == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	int error = sqlite3_prepare_v2(db->base, text, -1, &statement, NULL);
	free(text);
	if (error == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
		*rows = (uint64_t)sqlite3_column_int64(statement, 0);
	error = error == SQLITE_OK ? sqlite3_finalize(statement) : error;
	return error == SQLITE_OK ? NB_OK
				  : database_failure(db->host, db->base, "count", error);
}
