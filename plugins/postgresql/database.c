/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schema, which is the only part of a server that mininb modifies. It is created
 * together with its marker in one transaction. A schema of this name without the marker is
 * rejected. An advisory lock serializes concurrent opens.
 */
#include "internal.h"

#define LOCK "SELECT pg_advisory_lock(hashtext('" SQL_DATABASE "'))"
#define UNLOCK "SELECT pg_advisory_unlock(hashtext('" SQL_DATABASE "'))"

/*
 * SQL functions for the statements. A number in a value has the byte order of the client.
 * Sums are computed in two halves, because bigint does not wrap.
 */
#define BYTE(bytes, at, shift) "(get_byte(" bytes ", " at ")::int8 << " shift ")"
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define U64_OF(bytes, at) \
	"(" BYTE(bytes, at, "0") " | " BYTE(bytes, at " + 1", "8") " | " BYTE( \
		bytes, at " + 2", "16") " | " BYTE(bytes, at " + 3", "24") " | " BYTE(bytes, \
		at " + 4", "32") " | " BYTE(bytes, at " + 5", "40") " | " BYTE(bytes, \
		at " + 6", "48") " | " BYTE(bytes, at " + 7", "56") ")"
#define PART(from, to) "(((s >> " from ") & 255) << " to ")"
#define MACHINE_ORDER \
	"int8send(" PART("0", "56") " | " PART("8", "48") " | " PART("16", "40") " | " PART( \
		"24", "32") " | " PART("32", "24") " | " PART("40", "16") " | " PART("48", \
		"8") " | " PART("56", "0") ")"
#else
#define U64_OF(bytes, at) \
	"(" BYTE(bytes, at, "56") " | " BYTE(bytes, at " + 1", "48") " | " BYTE( \
		bytes, at " + 2", "40") " | " BYTE(bytes, at " + 3", "32") " | " BYTE(bytes, \
		at " + 4", "24") " | " BYTE(bytes, at " + 5", "16") " | " BYTE(bytes, \
		at " + 6", "8") " | " BYTE(bytes, at " + 7", "0") ")"
#define MACHINE_ORDER "int8send(s)"
#endif

static const char make_schema[] =
	"BEGIN; CREATE SCHEMA " SQL_DATABASE "; "
	"CREATE TABLE " SQL_DATABASE "." SQL_MARKER " (format int4 NOT NULL); "
	"INSERT INTO " SQL_DATABASE "." SQL_MARKER " VALUES (1); "
	"CREATE FUNCTION " SQL_DATABASE ".add_i64(a int8, b int8) RETURNS int8 "
	"LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT "
	"(((a >> 32) + (b >> 32) + (((a & 4294967295) + (b & 4294967295)) >> 32)) << 32) "
	"| (((a & 4294967295) + (b & 4294967295)) & 4294967295) $$; "
	"CREATE FUNCTION " SQL_DATABASE ".age(v bytea, at int4) RETURNS int8 "
	"LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT " U64_OF("v",
		"at") " $$; "
		      "CREATE FUNCTION " SQL_DATABASE
		      ".add_u64(a bytea, b bytea) RETURNS bytea "
		      "LANGUAGE plpgsql IMMUTABLE STRICT AS $$ DECLARE s int8; BEGIN "
		      "IF length(a) <> 8 THEN RAISE EXCEPTION "
		      "'merge: the value has % bytes, a counter has 8', length(a); END IF; "
		      "s := " SQL_DATABASE
		      ".add_i64(" U64_OF("a", "0") ", " U64_OF("b", "0") "); "
									 "RETURN " MACHINE_ORDER
									 "; END $$; COMMIT";

/* --- the schema --- */

/* Whether a query returns a row. */
static int
has_row(struct nb_db *db, const char *query, bool *out)
{
	int rc;
	char *answer = connection_ask(db, db->conn, query, &rc);
	*out = answer != NULL;
	free(answer);
	return rc;
}

static int
open_schema(struct nb_db *db, bool is_to_create)
{
	bool is_there, has_marker;
	int rc = has_row(
		db, "SELECT 1 FROM pg_namespace WHERE nspname = '" SQL_DATABASE "'", &is_there);
	if (rc == NB_OK)
		rc = has_row(db,
			"SELECT 1 FROM pg_tables WHERE schemaname = '" SQL_DATABASE
			"' AND tablename = '" SQL_MARKER "'",
			&has_marker);
	if (rc != NB_OK || (is_there && has_marker))
		return rc;
	if (is_there)
		return db->host->fail(NB_FAIL,
			"%s: the schema " SQL_DATABASE
			" of database %s was not made by mininb: it has no table " SQL_MARKER
			"; choose another database (-o conninfo) or rename the schema",
			db->where, PQdb(db->conn));
	if (!is_to_create)
		return db->host->fail(NB_FAIL,
			"%s: no database: %s has no schema " SQL_DATABASE, db->where,
			PQdb(db->conn));
	return connection_run(db, db->conn, make_schema);
}

/* --- the tables --- */

/* The table's columns in the server, "k bytea, v bytea"; NULL: no such table. */
static char *
ask_columns(struct nb_db *db, const struct table *table, int *rc)
{
	char query[512];
	snprintf(query, sizeof(query),
		"SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' "
		"ORDER BY attnum) FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped "
		"AND attrelid = to_regclass('" SQL_DATABASE ".%s')",
		table->name);
	return connection_ask(db, db->conn, query, rc);
}

static int
create_table(struct nb_db *db, const struct table *table)
{
	char *text = statement_create(db, table);
	int rc = text != NULL ? connection_run(db, db->conn, text)
			      : db->host->fail(NB_FAIL, "out of memory");
	free(text);
	return rc;
}

/* A table with other columns is kept until a reset; until then sessions fail to open. */
static int
open_table(struct nb_db *db, const struct table *table, bool is_to_create)
{
	int rc;
	char *has = ask_columns(db, table, &rc), *wanted = statement_columns(table);
	if (rc == NB_OK && wanted == NULL)
		rc = db->host->fail(NB_FAIL, "out of memory");
	else if (rc == NB_OK && has == NULL && is_to_create)
		rc = create_table(db, table);
	else if (rc == NB_OK && has == NULL)
		rc = db->host->fail(NB_FAIL, "%s: no database: no table " SQL_DATABASE ".%s",
			db->where, table->name);
	else if (rc == NB_OK && strcmp(has, wanted) != 0)
		snprintf(db->mismatch, sizeof(db->mismatch),
			"table %s has the columns (%.150s), not (%.150s), from another workload; remove the data first (--fresh)",
			table->name, has, wanted);
	free(has);
	free(wanted);
	return rc;
}

static int
open_tables(struct nb_db *db, bool is_to_create)
{
	int rc = NB_OK;
	for (uint32_t i = 0; i < db->table_count && rc == NB_OK; i++)
		rc = open_table(db, &db->tables[i], is_to_create);
	return rc;
}

/* Keeps the tables of other jobs. */
int
database_reset(struct nb_db *db)
{
	int rc = NB_OK;
	for (uint32_t i = 0; i < db->table_count && rc == NB_OK; i++) {
		char text[SQL_NAME_MAX + 32];
		snprintf(text, sizeof(text), "DROP TABLE IF EXISTS %s", db->tables[i].name);
		rc = connection_run(db, db->conn, text);
	}
	db->mismatch[0] = '\0';
	return rc == NB_OK ? open_tables(db, true) : rc;
}

int
database_count(struct nb_db *db, uint32_t table, uint64_t *rows)
{
	char text[SQL_NAME_MAX + 32];
	snprintf(text, sizeof(text), "SELECT count(*) FROM %s", db->tables[table].name);
	PGresult *result = PQexec(db->conn, text);
	bool is_counted = PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 1;
	if (is_counted)
		*rows = strtoull(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return is_counted ? NB_OK
			  : db->host->fail(NB_FAIL, "%s: %s", text, PQerrorMessage(db->conn));
}

/* --- open and close --- */

static int
take_tables(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_table *tables = sql_tables(args, &db->table_count);
	int rc = sql_check_tables(db->host, tables, db->table_count);
	if (rc != NB_OK)
		return rc;
	db->tables = calloc(db->table_count, sizeof(*db->tables));
	db->order = calloc(db->table_count, sizeof(*db->order));
	if (db->tables == NULL || db->order == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	for (uint32_t i = 0; i < db->table_count; i++) {
		struct table *table = &db->tables[i];
		if (sql_fixed_size(tables[i].key_columns, tables[i].key_column_count) >
			KEY_SIZE_MAX)
			return db->host->fail(NB_UNSUPPORTED,
				"table %s: a key has more than %d bytes", tables[i].name,
				(int)KEY_SIZE_MAX);
		table->columns = &tables[i];
		table->is_plain = tables[i].value_column_count == 1 &&
			sql_is_open(tables[i].value_columns, 1);
		snprintf(table->name, sizeof(table->name), "\"%s\"", tables[i].name);
	}
	sql_sort_by_prefix(tables, db->table_count, db->order);
	return statements_make(db);
}

static int
open_all(struct nb_db *db, const struct nb_open_args *args)
{
	bool is_to_create = (args->flags & NB_OPEN_CREATE) != 0;
	int rc = connection_locate(db, args);
	if (rc == NB_OK)
		rc = take_tables(db, args);
	if (rc == NB_OK)
		rc = connection_open(&db->conn, db);
	if (rc == NB_OK)
		rc = connection_check(db);
	if (rc == NB_OK)
		rc = connection_run(db, db->conn, LOCK);
	if (rc == NB_OK)
		rc = open_schema(db, is_to_create);
	if (rc == NB_OK)
		rc = open_tables(db, is_to_create);
	return rc == NB_OK ? connection_run(db, db->conn, UNLOCK) : rc;
}

int
database_close(struct nb_db *db)
{
	PQfinish(db->conn);
	statements_free(db);
	free(db->tables);
	free(db->order);
	free(db->prologue);
	free(db);
	return NB_OK;
}

int
database_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	db->host = args->host;
	db->options = args->options;
	db->isolation = (enum isolation)args->options[ISOLATION].u64;
	db->durability = args->durability;
	db->inflight_ops = args->inflight_ops;
	db->inflight_bytes = args->inflight_bytes;
	db->record_bytes = args->value_size == 0 ? 0 : args->key_size + args->value_size;
	int rc = open_all(db, args);
	if (rc == NB_OK)
		*out = db;
	else
		database_close(db);
	return rc;
}

/* --- operations on the whole database --- */

/* Requires a superuser or a member of pg_checkpoint. */
int
database_checkpoint(struct nb_db *db)
{
	return connection_run(db, db->conn, "CHECKPOINT");
}

static int
vacuum(struct nb_db *db)
{
	int rc = NB_OK;
	for (uint32_t i = 0; i < db->table_count && rc == NB_OK; i++) {
		char text[SQL_NAME_MAX + 32];
		snprintf(text, sizeof(text), "VACUUM (ANALYZE) %s", db->tables[i].name);
		rc = connection_run(db, db->conn, text);
	}
	return rc;
}

int
database_flush(struct nb_db *db, uint32_t upto)
{
	int rc = upto == NB_SETTLE_COMPACT ? vacuum(db) : NB_OK;
	return rc == NB_OK ? database_checkpoint(db) : rc;
}

/* The columns of the query have the order of `counters`. Some values lag by up to a second. */
void
database_stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	static const struct {
		const char *name, *unit;
		uint32_t kind;
	} counters[] = {{"commits", "transactions", NB_STAT_COUNTER},
		{"rollbacks", "transactions", NB_STAT_COUNTER},
		{"deadlocks", "deadlocks", NB_STAT_COUNTER},
		{"cache_hits", "pages", NB_STAT_COUNTER},
		{"cache_misses", "pages", NB_STAT_COUNTER},
		{"log_written", "bytes", NB_STAT_COUNTER},
		{"database_size", "bytes", NB_STAT_GAUGE}};
	PGresult *row = PQexec(db->conn,
		"SELECT xact_commit, xact_rollback, deadlocks, blks_hit, blks_read, "
		"pg_current_wal_insert_lsn() - '0/0', pg_database_size(datname) "
		"FROM pg_stat_database WHERE datname = current_database()");
	if (PQresultStatus(row) == PGRES_TUPLES_OK && PQntuples(row) == 1)
		for (size_t i = 0; i < COUNT_OF(counters); i++)
			emit(to, counters[i].name, counters[i].unit, counters[i].kind,
				strtoull(PQgetvalue(row, 0, (int)i), NULL, 10));
	PQclear(row);
}
