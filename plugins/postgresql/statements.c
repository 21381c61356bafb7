/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The statements of each table. All are prepared when a session opens; later requests are
 * binary and need no parsing or quoting.
 *
 * - PUT is INSERT ... ON CONFLICT DO UPDATE: a single statement, atomic also with concurrent
 *   writers.
 * - MULTI_GET, PUT_ALL and DEL_ALL take an array for each column. `= ANY` was rejected: it
 *   omits missing keys and merges duplicate ones. The caller's index i distinguishes them.
 * - NEWER distinguishes a missing key from a value that is as new, in one round trip.
 * - An execute with steps that skip others is also one round trip. A mark precedes such a
 *   step. If the step will miss, the mark sets the variable mininb.until to the index of the
 *   last skipped step, for this transaction only. Each write has a variant that has no
 *   effect up to that index. Nothing changes between a mark and its step, because such an
 *   execute runs in a snapshot.
 */
#include "internal.h"

/*
 * Placeholders in a template:
 *   %T the table           %K columns of the key         %V of the value
 *   %k their parameters    %v of the value               %n the next parameter
 *   %= the key's columns equal their parameters          %J those of t and of u are equal
 *   %D as %K, descending   %U the value's columns are set to those of `excluded`
 *   %s ... to parameters   %a arrays of the key's columns, %b of the value's
 *   %O the value's age is below a parameter              %P the key is within two of them
 *   %M the value's columns are set to their sums         %u t's columns of the value
 */
#define STORE " ON CONFLICT (%K) DO UPDATE SET %U"
#define UNLESS "current_setting('mininb.until')::int4 < %n"
#define MARK "SELECT set_config('mininb.until', %n, true) WHERE " UNLESS " AND "
#define NEWER_TEXT(condition) \
	"WITH u AS (UPDATE %T SET %s WHERE %= AND %O" condition \
	" RETURNING 1) SELECT CASE WHEN EXISTS (SELECT FROM u) THEN 0 " \
	"WHEN EXISTS (SELECT FROM %T WHERE %=) THEN 3 ELSE 1 END"

static const char *const templates[STATEMENTS] = {
	[GET] = "SELECT %V FROM %T WHERE %=",
	[PUT] = "INSERT INTO %T VALUES (%k, %v)" STORE,
	[DEL] = "DELETE FROM %T WHERE %=",
	[INSERT] = "INSERT INTO %T VALUES (%k, %v) ON CONFLICT DO NOTHING",
	[MERGE] = "INSERT INTO %T AS t VALUES (%k, %v) ON CONFLICT (%K) DO UPDATE SET %M",
	[NEWER] = NEWER_TEXT(""),
	[SCAN] = "SELECT %K, %V FROM %T WHERE (%K) >= (%k) ORDER BY %K LIMIT %n",
	[SCAN + 1] = "SELECT %K FROM %T WHERE (%K) >= (%k) ORDER BY %K LIMIT %n",
	[BACK] = "SELECT %K, %V FROM %T WHERE (%K) < (%k) ORDER BY %D LIMIT %n",
	[BACK + 1] = "SELECT %K FROM %T WHERE (%K) < (%k) ORDER BY %D LIMIT %n",
	[BACK_ALL] = "SELECT %K, %V FROM %T ORDER BY %D LIMIT %n",
	[BACK_ALL + 1] = "SELECT %K FROM %T ORDER BY %D LIMIT %n",
	[MULTI_GET] = "SELECT u.i, %u FROM unnest(%a, %n::int4[]) AS u(%K, i) JOIN %T t ON %J",
	[PUT_ALL] = "INSERT INTO %T SELECT * FROM unnest(%a, %b)" STORE,
	[DEL_ALL] = "DELETE FROM %T t USING unnest(%a) AS u(%K) WHERE %J",
	[UNLESS_PUT] = "INSERT INTO %T SELECT %k, %v WHERE " UNLESS STORE,
	[UNLESS_PUT + 1] = "DELETE FROM %T WHERE %= AND " UNLESS,
	[UNLESS_PUT + 2] = "INSERT INTO %T SELECT %k, %v WHERE " UNLESS
			   " ON CONFLICT DO NOTHING",
	[UNLESS_PUT + 3] = "INSERT INTO %T AS t SELECT %k, %v WHERE " UNLESS
			   " ON CONFLICT (%K) DO UPDATE SET %M",
	[UNLESS_NEWER] = NEWER_TEXT(" AND " UNLESS),
	[MARK_HAVE] = MARK "EXISTS (SELECT FROM %T WHERE %=)",
	[MARK_LACK] = MARK "NOT EXISTS (SELECT FROM %T WHERE %=)",
	[MARK_NEWER] = MARK "NOT EXISTS (SELECT FROM %T WHERE %= AND %O)",
	[EMPTY] = "SELECT FROM %T WHERE %P AND %F LIMIT 1",
	[MARK_EMPTY] = MARK "EXISTS (SELECT FROM %T WHERE %P AND %F)",
};

static const char *const types[] = {
	[NB_COLUMN_U64] = "int8", [NB_COLUMN_U8] = "int2", [NB_COLUMN_BYTES] = "bytea"};

/* --- text --- */

/* A growing text; finish() reports a failed allocation. */
struct text {
	struct buffer buffer;
	bool is_cut;
};

static void NB_PRINTF(2, 3) add(struct text *text, const char *fmt, ...)
{
	char part[256];
	va_list args;
	va_start(args, fmt);
	int size = vsnprintf(part, sizeof(part), fmt, args);
	va_end(args);
	text->is_cut |= size >= (int)sizeof(part) ||
		!buffer_add(&text->buffer, part, (size_t)size);
}

/* Returns a text that the caller frees; NULL: out of memory. */
static char *
finish(struct text *text)
{
	if (buffer_add(&text->buffer, "", 1) && !text->is_cut)
		return text->buffer.data;
	free(text->buffer.data);
	return NULL;
}

/* Append each column in `form`, where @ is its name, ~ its type and # its parameter. */
static void
add_columns(struct text *text, const struct nb_column *columns, uint32_t count,
	uint32_t parameter, const char *between, const char *form)
{
	for (uint32_t i = 0; i < count; i++) {
		add(text, "%s", i == 0 ? "" : between);
		for (const char *at = form; *at != '\0'; at++)
			if (*at == '@')
				add(text, "\"%s\"", columns[i].name);
			else if (*at == '~')
				add(text, "%s", types[columns[i].type]);
			else if (*at == '#')
				add(text, "$%u", parameter + i);
			else
				add(text, "%c", *at);
	}
}

/* The state of the expansion of a template. */
struct expansion {
	const struct table *table;
	struct text text;
	uint32_t parameter; /* number of the next %n */
};

/*
 * Append the condition that a key begins with given bytes. A last column without a fixed
 * size has no greatest value, so the upper end is then exclusive: the first key above the
 * range.
 */
static void
add_range(struct expansion *by)
{
	const struct nb_table *columns = by->table->columns;
	uint32_t count = columns->key_column_count;
	bool is_open = sql_is_open(columns->key_columns, count);
	for (uint32_t i = 0; i < 2; i++) {
		add(&by->text, "%s(", i == 0 ? "" : " AND ");
		add_columns(&by->text, columns->key_columns, count, 1, ", ", "@");
		add(&by->text, ") %s (", i == 0 ? ">=" : is_open ? "<" : "<=");
		add_columns(
			&by->text, columns->key_columns, count, 1 + i * count, ", ", "#::~");
		add(&by->text, ")");
	}
}

/* Append the wrapping sum of two numbers, by a function because bigint rejects overflow. */
static void
add_sum(struct expansion *by)
{
	const char *name = by->table->columns->value_columns->name;
	add(&by->text, "\"%s\" = %s(t.\"%s\", excluded.\"%s\")", name,
		by->table->is_plain ? "add_u64" : "add_i64", name, name);
}

static const struct nb_column *
age_column(const struct nb_table *columns)
{
	for (uint32_t i = 0; i < columns->value_column_count; i++)
		if (columns->value_columns[i].type == NB_COLUMN_U64)
			return &columns->value_columns[i];
	return NULL;
}

static void
add_age(struct expansion *by)
{
	uint32_t *next = &by->parameter;
	if (by->table->is_plain) {
		add(&by->text, "age(\"%s\", $%u) < $%u::int8",
			by->table->columns->value_columns->name, *next, *next + 1);
		*next += 2;
		return;
	}
	add(&by->text, "\"%s\" < $%u::int8", age_column(by->table->columns)->name, (*next)++);
}

/* Append the condition that the last column is in a set of bytes; 0: any. */
static void
add_last_bytes(struct expansion *by)
{
	const struct nb_table *columns = by->table->columns;
	const struct nb_column *last = &columns->key_columns[columns->key_column_count - 1];
	uint32_t set = by->parameter++;
	if (last->type == NB_COLUMN_U8)
		add(&by->text,
			"($%u::int8 = 0 OR (\"%s\" < 64 AND ($%u::int8 >> \"%s\") & 1 = 1))",
			set, last->name, set, last->name);
	else
		add(&by->text, "$%u::int8 = 0", set);
}

/* Lists of columns; `form` is explained at add_columns(). */
static const struct {
	char what;
	bool are_values;
	const char *between, *form;
} lists[] = {
	{'K', false, ", ", "@"},
	{'k', false, ", ", "#::~"},
	{'=', false, " AND ", "@ = #"},
	{'J', false, " AND ", "t.@ = u.@"},
	{'D', false, ", ", "@ DESC"},
	{'a', false, ", ", "#::~[]"},
	{'V', true, ", ", "@"},
	{'v', true, ", ", "#::~"},
	{'u', true, ", ", "t.@"},
	{'b', true, ", ", "#::~[]"},
	{'s', true, ", ", "@ = #"},
	{'U', true, ", ", "@ = excluded.@"},
};

static void
add_list(struct expansion *by, char what)
{
	const struct nb_table *columns = by->table->columns;
	size_t i = 0;
	while (lists[i].what != what)
		i++;
	if (lists[i].are_values)
		add_columns(&by->text, columns->value_columns, columns->value_column_count,
			columns->key_column_count + 1, lists[i].between, lists[i].form);
	else
		add_columns(&by->text, columns->key_columns, columns->key_column_count, 1,
			lists[i].between, lists[i].form);
}

static void
expand(struct expansion *by, char what)
{
	switch (what) {
	case 'T':
		add(&by->text, "%s", by->table->name);
		return;
	case 'n':
		add(&by->text, "$%u", by->parameter++);
		return;
	case 'M':
		add_sum(by);
		return;
	case 'O':
		add_age(by);
		return;
	case 'P':
		add_range(by);
		return;
	case 'F':
		add_last_bytes(by);
		return;
	default:
		add_list(by, what);
	}
}

static bool
has(const char *template, char what)
{
	const char name[] = {'%', what, '\0'};
	return strstr(template, name) != NULL;
}

/* Whether the table's columns allow this statement. */
static bool
can(const struct table *table, const char *template)
{
	const struct nb_table *columns = table->columns;
	if (has(template, 'M'))
		return table->is_plain ||
			(columns->value_column_count == 1 && age_column(columns) != NULL);
	return !has(template, 'O') || table->is_plain || age_column(columns) != NULL;
}

/* Returns a text that the caller frees; NULL: out of memory. */
static char *
text_of(const struct table *table, const char *template)
{
	uint32_t keys = table->columns->key_column_count;
	bool has_values = has(template, 'v') || has(template, 's') || has(template, 'b');
	bool has_keys = has(template, 'k') || has(template, '=') || has(template, 'a');
	struct expansion by = {.table = table};
	by.parameter = 1 +
		(has(template, 'P')        ? 2 * keys
				: has_keys ? keys
					   : 0) +
		(has_values ? table->columns->value_column_count : 0);
	for (const char *at = template; *at != '\0'; at++)
		if (*at == '%')
			expand(&by, *++at);
		else
			add(&by.text, "%c", *at);
	return finish(&by.text);
}

char *
statement_create(const struct nb_db *db, const struct table *table)
{
	static const char *const storages[] = {"EXTERNAL", "EXTENDED", "MAIN"};
	const struct nb_table *columns = table->columns;
	struct text text = {0};
	add(&text, "CREATE TABLE %s (", table->name);
	add_columns(&text, columns->key_columns, columns->key_column_count, 1, ", ",
		"@ ~ NOT NULL");
	add(&text, ", ");
	add_columns(&text, columns->value_columns, columns->value_column_count, 1, ", ",
		"@ ~ NOT NULL");
	add(&text, ", PRIMARY KEY (");
	add_columns(&text, columns->key_columns, columns->key_column_count, 1, ", ", "@");
	add(&text, "))");
	for (uint32_t i = 0; i < columns->key_column_count; i++)
		if (columns->key_columns[i].type == NB_COLUMN_BYTES)
			add(&text, "; ALTER TABLE %s ALTER \"%s\" SET STORAGE PLAIN",
				table->name, columns->key_columns[i].name);
	for (uint32_t i = 0; i < columns->value_column_count; i++)
		if (columns->value_columns[i].type == NB_COLUMN_BYTES)
			add(&text, "; ALTER TABLE %s ALTER \"%s\" SET STORAGE %s", table->name,
				columns->value_columns[i].name,
				storages[db->options[STORAGE].u64]);
	return finish(&text);
}

/* As format_type() prints them: unquoted, with full type names. */
char *
statement_columns(const struct table *table)
{
	static const char *const names[] = {[NB_COLUMN_U64] = "bigint",
		[NB_COLUMN_U8] = "smallint",
		[NB_COLUMN_BYTES] = "bytea"};
	const struct nb_table *columns = table->columns;
	struct text text = {0};
	for (uint32_t i = 0; i < columns->key_column_count + columns->value_column_count; i++) {
		const struct nb_column *column = i < columns->key_column_count
			? &columns->key_columns[i]
			: &columns->value_columns[i - columns->key_column_count];
		add(&text, "%s%s %s", i == 0 ? "" : ", ", column->name, names[column->type]);
	}
	return finish(&text);
}

/* --- statements of the session --- */

const char *const statement_commons[COMMONS] = {
	"begin", "begin_ro", "begin_scan", "commit", "rollback", "level", "skip_none"};

/* A scan in portions needs a snapshot; so does an execute that reads before it writes. */
/** The text of BEGIN_WRITE and the like, for the isolation of `db`; the caller frees it. */
static char *
statement_common(const struct nb_db *db, int which)
{
	static const char *const levels[] = {[READ_COMMITTED] = "read committed",
		[REPEATABLE_READ] = "repeatable read",
		[SERIALIZABLE] = "serializable"};
	const char *level = levels[db->isolation];
	const char *snapshot =
		levels[db->isolation == READ_COMMITTED ? REPEATABLE_READ : db->isolation];
	struct text text = {0};
	switch (which) {
	case BEGIN_WRITE:
		add(&text, "BEGIN ISOLATION LEVEL %s", level);
		break;
	case BEGIN_READ:
		add(&text, "BEGIN ISOLATION LEVEL %s READ ONLY", level);
		break;
	case BEGIN_SCAN:
		add(&text, "BEGIN ISOLATION LEVEL %s READ ONLY", snapshot);
		break;
	case SET_LEVEL:
		add(&text, "SET transaction_isolation = '%s'", snapshot);
		break;
	case SKIP_NONE:
		add(&text, "SELECT set_config('mininb.until', '-1', true)");
		break;
	default:
		add(&text, "%s", which == COMMIT ? "COMMIT" : "ROLLBACK");
	}
	return finish(&text);
}

/* --- statements of the database --- */

static bool
make(struct table *table, uint32_t index)
{
	for (uint32_t i = 0; i < STATEMENTS; i++) {
		struct statement *statement = &table->statements[i];
		if (!can(table, templates[i]))
			continue;
		statement->text = text_of(table, templates[i]);
		if (statement->text == NULL)
			return false;
		snprintf(statement->name, sizeof(statement->name), "%u.%u", index % 100,
			i % 1000);
	}
	return true;
}

int
statements_make(struct nb_db *db)
{
	for (uint32_t i = 0; i < db->table_count; i++)
		if (!make(&db->tables[i], i))
			return db->host->fail(NB_FAIL, "out of memory");
	return NB_OK;
}

void
statements_free(struct nb_db *db)
{
	for (uint32_t i = 0; i < db->table_count; i++) {
		struct table *table = &db->tables[i];
		for (uint32_t j = 0; j < STATEMENTS; j++)
			free(table->statements[j].text);
	}
}

/* Send all in one message. The caller reads the results afterwards. */
static bool
send_all(const struct nb_db *db, PGconn *conn, uint32_t *count)
{
	bool is_sent = true;
	*count = 0;
	for (uint32_t i = 0; i < db->table_count; i++)
		for (uint32_t j = 0; j < STATEMENTS; j++) {
			const struct statement *statement = &db->tables[i].statements[j];
			if (statement->text == NULL)
				continue;
			is_sent = is_sent &&
				PQsendPrepare(
					conn, statement->name, statement->text, 0, NULL) == 1;
			++*count;
		}
	for (int i = 0; i < COMMONS; i++, ++*count) {
		char *text = statement_common(db, i);
		is_sent = is_sent && text != NULL &&
			PQsendPrepare(conn, statement_commons[i], text, 0, NULL) == 1;
		free(text);
	}
	return is_sent && PQpipelineSync(conn) == 1;
}

/* Enters pipeline mode; the connection stays in it. */
int
statements_prepare(const struct nb_db *db, PGconn *conn)
{
	uint32_t count;
	int rc = NB_OK;
	if (PQenterPipelineMode(conn) != 1 || !send_all(db, conn, &count))
		return connection_failure(db, conn);
	for (uint32_t i = 0; i <= count; i++) {
		PGresult *result = PQgetResult(conn);
		ExecStatusType status = PQresultStatus(result);
		if (status != PGRES_COMMAND_OK && status != PGRES_PIPELINE_SYNC && rc == NB_OK)
			rc = db->host->fail(NB_FAIL, "%s: PREPARE: %s", db->where,
				result != NULL ? PQresultErrorMessage(result)
					       : PQerrorMessage(conn));
		PQclear(result);
		if (result == NULL)
			break;
		if (status != PGRES_PIPELINE_SYNC)
			PQclear(PQgetResult(conn)); /* the NULL after the result */
	}
	return rc;
}
