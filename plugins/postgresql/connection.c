/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections, and the durability settings of the server.
 *
 * The levels depend on what a kill -9 of the server or power loss may destroy
 * (extra/doc/durability.md):
 *
 * - commit: fsync=on, full_page_writes=on, synchronous_commit not off
 * - process: synchronous_commit is not off, so the log is written with write(2) before a
 *   commit returns. full_page_writes is on, because a kill may cut a write of 8 KiB after
 *   its first page. fsync may be off.
 * - none: synchronous_commit=off. Another process writes the log, up to three times
 *   wal_writer_delay later, so a kill of the server loses the last commits. Therefore this
 *   is not `periodic`, at which all writes survive a kill. PostgreSQL has no such level.
 *
 * A session sets synchronous_commit itself; the plugin rejects other unsuitable settings.
 */
#include "internal.h"

#include <time.h>

/* Maximum time until a starting server accepts connections, and interval of the attempts. */
enum { START_S = 60, RETRY_NS = 10000000 };

/*
 * Plans. A statement is planned once. For a table that is small or lacks statistics, the
 * planner would choose other plans and keep them while the table grows. The primary key is
 * right for all of these statements, at any size.
 */
static const char plans[] =
	"SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; "
	"SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; "
	"SET enable_sort = off; SET jit = off; SET max_parallel_workers_per_gather = 0; ";

/* --- address --- */

/*
 * libpq needs the directory of a Unix socket and its port, which are in the socket's name.
 * For a directory alone, the port of conninfo is used.
 */
static int
parse(struct nb_db *db, const char *text)
{
	static const char file[] = "/.s.PGSQL.";
	int rc = address_parse(&db->server, db->host, text, "5432");
	char *name = db->server.is_unix ? strstr(db->server.host, file) : NULL;
	if (rc != NB_OK || name == NULL)
		return rc;
	const char *port = name + strlen(file);
	if (name == db->server.host || *port == '\0' ||
		strlen(port) >= sizeof(db->server.port) ||
		strspn(port, "0123456789") != strlen(port))
		return db->host->fail(NB_UNSUPPORTED,
			"address '%s': the name of the socket is not .s.PGSQL.PORT; use unix:DIRECTORY/.s.PGSQL.PORT",
			text);
	strcpy(db->server.port, port);
	*name = '\0';
	return NB_OK;
}

int
connection_locate(struct nb_db *db, const struct nb_open_args *args)
{
	if (args->target_count > 1)
		return db->host->fail(NB_UNSUPPORTED,
			"%u servers: transactions and scans need one server; give one address",
			args->target_count);
	int rc = args->target_count == 1 ? parse(db, args->targets[0]) : NB_OK;
	if (rc != NB_OK)
		return rc;
	snprintf(db->where, sizeof(db->where), "%s",
		args->target_count == 1 ? args->targets[0] : "server");
	return NB_OK;
}

/* --- failures --- */

/* Fail with the first line of libpq's text. */
static int
fail_with(const struct nb_db *db, const char *what, const char *text)
{
	return db->host->fail(
		NB_FAIL, "%s: %s%.*s", db->where, what, (int)strcspn(text, "\n"), text);
}

int
connection_failure(const struct nb_db *db, PGconn *conn)
{
	return fail_with(db, "", PQerrorMessage(conn));
}

/* A statement that the role must not execute, such as CHECKPOINT, is unsupported. */
static int
result_failure(const struct nb_db *db, const char *text, PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *error = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	bool is_forbidden = state != NULL && strcmp(state, "42501") == 0;
	return db->host->fail(is_forbidden ? NB_UNSUPPORTED : NB_FAIL,
		"%s: %.40s: %s (SQLSTATE %s)", db->where, text,
		error != NULL ? error : PQresultErrorMessage(result),
		state != NULL ? state : "unknown");
}

int
connection_run(const struct nb_db *db, PGconn *conn, const char *text)
{
	PGresult *result = PQexec(conn, text);
	ExecStatusType status = PQresultStatus(result);
	int rc = NB_OK;
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		rc = PQstatus(conn) == CONNECTION_OK ? result_failure(db, text, result)
						     : connection_failure(db, conn);
	PQclear(result);
	return rc;
}

char *
connection_ask(const struct nb_db *db, PGconn *conn, const char *text, int *rc)
{
	PGresult *result = PQexec(conn, text);
	char *answer = NULL;
	*rc = NB_OK;
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		*rc = result_failure(db, text, result);
	else if (PQntuples(result) > 0 && PQgetisnull(result, 0, 0) == 0 &&
		(answer = strdup(PQgetvalue(result, 0, 0))) == NULL)
		*rc = db->host->fail(NB_FAIL, "out of memory");
	PQclear(result);
	return answer;
}

/* --- connecting --- */

/* Retry while the server starts or recovers and refuses connections. Other failures are final. */
static PGconn *
try_connect(const char *const *names, const char *const *values)
{
	static const struct timespec retry = {.tv_nsec = RETRY_NS};
	time_t end = time(NULL) + START_S;
	for (;;) {
		PGconn *conn = PQconnectdbParams(names, values, 1);
		if (PQstatus(conn) == CONNECTION_OK || time(NULL) >= end ||
			strstr(PQerrorMessage(conn), "starting up") == NULL)
			return conn;
		PQfinish(conn);
		nanosleep(&retry, NULL);
	}
}

/* conninfo is passed as the first dbname; later nonempty parameters override it. */
static PGconn *
connect_to(const struct nb_db *db)
{
	const char *const names[] = {
		"dbname", "host", "port", "fallback_application_name", "client_encoding", NULL};
	const char *const values[] = {db->options[CONNINFO].text, db->server.host,
		db->server.port, "mininb", "UTF8", NULL};
	return try_connect(names, values);
}

int
connection_open(PGconn **out, const struct nb_db *db)
{
	PGconn *conn = connect_to(db);
	int rc = PQstatus(conn) == CONNECTION_OK ? NB_OK : connection_failure(db, conn);
	if (rc == NB_OK)
		rc = connection_run(db, conn, db->prologue != NULL ? db->prologue : plans);
	if (rc == NB_OK) {
		*out = conn;
		return NB_OK;
	}
	PQfinish(conn);
	return rc;
}

/* --- durability settings --- */

struct promises {
	bool has_fsync, has_full_pages, is_asynchronous;
	const char *sync_method, *delay, *standbys, *version;
};

static int
check_promises(const struct nb_db *db, const struct promises *has)
{
	const struct nb_host *host = db->host;
	if (db->durability >= NB_DUR_PROCESS && !has->has_full_pages)
		return host->fail(NB_UNSUPPORTED,
			"%s: full_page_writes is off; a crash may tear pages; set it to on, or use durability none",
			db->where);
	if (db->durability == NB_DUR_COMMIT && !has->has_fsync)
		return host->fail(NB_UNSUPPORTED,
			"%s: fsync is off; set it to on, or use durability process or none",
			db->where);
	return NB_OK;
}

static char *
make_prologue(const struct nb_db *db, const struct promises *has)
{
	char *text = malloc(sizeof(plans) + 512);
	const char *commit = db->durability == NB_DUR_NONE ? "SET synchronous_commit = off; "
		: has->is_asynchronous                     ? "SET synchronous_commit = on; "
							   : "";
	if (text != NULL)
		snprintf(text, sizeof(plans) + 512,
			"%s%sSET search_path = " SQL_DATABASE "; SET lock_timeout = %llu; "
			"SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; "
			"SET default_transaction_isolation = '%s'; "
			"SET default_transaction_read_only = off",
			plans, commit,
			(unsigned long long)(db->options[LOCK_TIMEOUT].u64 / 1000000),
			db->isolation == SERIALIZABLE ? "serializable" : "read committed");
	return text;
}

static int
check_row(struct nb_db *db, PGresult *row)
{
	const struct promises has = {.has_fsync = strcmp(PQgetvalue(row, 0, 0), "on") == 0,
		.has_full_pages = strcmp(PQgetvalue(row, 0, 1), "on") == 0,
		.is_asynchronous = strcmp(PQgetvalue(row, 0, 2), "off") == 0};
	int rc = check_promises(db, &has);
	if (rc != NB_OK)
		return rc;
	db->prologue = make_prologue(db, &has);
	if (db->prologue == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	db->host->log(NB_LOG_INFO,
		"%s: PostgreSQL %s, fsync=%s, full_page_writes=%s, wal_sync_method=%s, synchronous_commit=%s, wal_writer_delay=%s, synchronous_standby_names='%s'",
		db->where, PQgetvalue(row, 0, 5), PQgetvalue(row, 0, 0), PQgetvalue(row, 0, 1),
		PQgetvalue(row, 0, 3),
		db->durability == NB_DUR_NONE ? "off"
			: has.is_asynchronous ? "on"
					      : PQgetvalue(row, 0, 2),
		PQgetvalue(row, 0, 4), PQgetvalue(row, 0, 6));
	return connection_run(db, db->conn, db->prologue);
}

int
connection_check(struct nb_db *db)
{
	static const char ask[] =
		"SELECT current_setting('fsync'), current_setting('full_page_writes'), "
		"current_setting('synchronous_commit'), current_setting('wal_sync_method'), "
		"current_setting('wal_writer_delay'), current_setting('server_version'), "
		"current_setting('synchronous_standby_names')";
	if (PQserverVersion(db->conn) < 120000)
		return db->host->fail(NB_UNSUPPORTED,
			"%s: the server has version %d; PostgreSQL 12 or later is needed",
			db->where, PQserverVersion(db->conn) / 10000);
	PGresult *row = PQexec(db->conn, ask);
	int rc = PQresultStatus(row) == PGRES_TUPLES_OK && PQntuples(row) == 1
		? check_row(db, row)
		: result_failure(db, "its settings", row);
	PQclear(row);
	return rc;
}
