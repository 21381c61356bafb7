/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The database: connections made by the library, mininb's own database in the server, and
 * the guarantees of the server's settings.
 *
 * - All tables are in one database of the server, which belongs to mininb if it contains the
 *   marker table. The marker's rows name the tables that mininb has created; reset drops
 *   only these.
 * - The plugin rejects a server whose settings guarantee less than the requested level. It
 *   never changes settings: SET GLOBAL would affect all users of the server.
 * - If a table has other columns than this job, only opening a session fails, so reset can
 *   still replace the table.
 */
#include "internal.h"

#include "../remote/address.h"

#include <errmsg.h>

enum { PACKET_LEAST = 1 << 20 };

int
server_fail(const struct nb_db *db, uint32_t target, MYSQL *mysql, const char *what)
{
	return db->host->fail(NB_FAIL, "%s: %.200s: %s (%u)", db->targets[target], what,
		mysql_error(mysql), mysql_errno(mysql));
}

/* --- connections --- */

static int
query(const struct nb_db *db, uint32_t target, MYSQL *mysql, const char *text)
{
	return mysql_real_query(mysql, text, strlen(text)) == 0
		? NB_OK
		: server_fail(db, target, mysql, text);
}

/** The first column of the first row, truncated to `size`; "" if missing or NULL. */
static int
query_text(const struct nb_db *db, uint32_t target, const char *text, char *out, size_t size)
{
	MYSQL *mysql = db->servers[target];
	int rc = query(db, target, mysql, text);
	MYSQL_RES *result = rc == NB_OK ? mysql_store_result(mysql) : NULL;
	out[0] = '\0';
	if (rc != NB_OK)
		return rc;
	if (result == NULL)
		return server_fail(db, target, mysql, text);
	MYSQL_ROW row = mysql_fetch_row(result);
	if (row != NULL && row[0] != NULL)
		snprintf(out, size, "%s", row[0]);
	mysql_free_result(result);
	return NB_OK;
}

/*
 * Keys and values are bytes, so the character set matters only for the text of execute.
 * latin1 has no multibyte characters.
 */
static int
set_session(const struct nb_db *db, uint32_t target, MYSQL *mysql)
{
	static const char *const levels[] = {[REPEATABLE_READ] = "REPEATABLE READ",
		[READ_COMMITTED] = "READ COMMITTED",
		[SERIALIZABLE] = "SERIALIZABLE"};
	uint64_t isolation = db->options[ISOLATION].u64;
	char text[128];
	int rc = query(db, target, mysql,
		"SET SESSION sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',autocommit=1,innodb_lock_wait_timeout=1");
	snprintf(text, sizeof(text), "SET SESSION TRANSACTION ISOLATION LEVEL %s",
		levels[isolation]);
	if (rc == NB_OK)
		rc = query(db, target, mysql, text);
	if (rc != NB_OK || isolation != REPEATABLE_READ)
		return rc;
	if (mysql_query(mysql, "SET SESSION innodb_snapshot_isolation=ON") == 0)
		return NB_OK;
	return db->host->fail(NB_UNSUPPORTED,
		"%s: server %s has no innodb_snapshot_isolation (MariaDB has it from 10.6.18, 10.11.8 and 11.4 on), without which repeatable-read loses updates; use isolation=read-committed or serializable",
		db->targets[target], mysql_get_server_info(mysql));
}

static int
connect_to(MYSQL *mysql, const struct nb_db *db, uint32_t target)
{
	struct address address;
	const unsigned seconds = 10;
	int rc = address_parse(&address, db->host, db->targets[target], "3306");
	if (rc != NB_OK)
		return rc;
	unsigned protocol = address.is_unix ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
	mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
	mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "latin1");
	mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol);
	if (mysql_real_connect(mysql, address.is_unix ? NULL : address.host,
		    db->options[USER].text, getenv("MYSQL_PWD"), NULL,
		    address.is_unix ? 0 : (unsigned)atoi(address.port),
		    address.is_unix ? address.host : NULL, CLIENT_MULTI_STATEMENTS) == NULL)
		return server_fail(db, target, mysql, "cannot connect");
	if (mysql_get_ssl_cipher(mysql) != NULL)
		return db->host->fail(NB_UNSUPPORTED,
			"%s: the connection is encrypted, which this plugin cannot do",
			db->targets[target]);
	return set_session(db, target, mysql);
}

int
server_connect(MYSQL **out, const struct nb_db *db, uint32_t target)
{
	MYSQL *mysql = mysql_init(NULL);
	if (mysql == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	int rc = connect_to(mysql, db, target);
	if (rc == NB_OK)
		*out = mysql;
	else
		mysql_close(mysql);
	return rc;
}

/* --- durability of a server --- */

/** Settings of a server. A setting that it lacks has the value in the third column. */
#define SETTINGS(X) \
	X(flush, "innodb_flush_log_at_trx_commit", 1) \
	X(doublewrite, "innodb_doublewrite", 1) \
	X(binlog, "log_bin", 0) \
	X(sync_binlog, "sync_binlog", 1) \
	X(rollback_on_timeout, "innodb_rollback_on_timeout", 0) \
	X(max_allowed_packet, "max_allowed_packet", PACKET_LEAST)
#define SETTING_MEMBER(member, name, missing) uint64_t member;
#define SETTING_ROW(member, name, missing) {offsetof(struct settings, member), name, missing},

struct settings {
	SETTINGS(SETTING_MEMBER)
};

static const struct {
	size_t at;
	const char *name;
	uint64_t missing;
} setting_rows[] = {SETTINGS(SETTING_ROW)};

static uint64_t
setting_value(const char *text)
{
	if (strcasecmp(text, "ON") == 0)
		return 1;
	return strtoull(text, NULL, 10);
}

static int
read_settings(const struct nb_db *db, uint32_t target, struct settings *settings)
{
	char text[160], value[64];
	int rc = NB_OK;
	for (size_t i = 0; rc == NB_OK && i < COUNT_OF(setting_rows); i++) {
		snprintf(text, sizeof(text), "SHOW GLOBAL VARIABLES LIKE '%s'",
			setting_rows[i].name);
		MYSQL *mysql = db->servers[target];
		rc = query(db, target, mysql, text);
		MYSQL_RES *result = rc == NB_OK ? mysql_store_result(mysql) : NULL;
		MYSQL_ROW row = result != NULL ? mysql_fetch_row(result) : NULL;
		snprintf(value, sizeof(value), "%s",
			row != NULL && row[1] != NULL ? row[1] : "");
		mysql_free_result(result);
		uint64_t number = value[0] != '\0' ? setting_value(value)
						   : setting_rows[i].missing;
		memcpy((char *)settings + setting_rows[i].at, &number, sizeof(number));
	}
	return rc;
}

/**
 * The strongest level that the settings guarantee. innodb_flush_log_at_trx_commit=0: the log
 * is written once a second. 2: it is written at each commit and synced every
 * innodb_flush_log_at_timeout seconds. With a binary log, recovery rolls back a commit that
 * is missing in it, so the binary log must be synced as well.
 */
static uint32_t
level_of(const struct settings *is, const char **less)
{
	*less = "innodb_flush_log_at_trx_commit is 0; it must be 1 for commit, 2 for process and periodic";
	if (is->flush == 0)
		return NB_DUR_NONE;
	*less = "innodb_doublewrite is OFF; it must be ON for periodic and commit";
	if (is->doublewrite == 0)
		return NB_DUR_PROCESS;
	*less = "log_bin is ON and sync_binlog is 0; it must be 1, for periodic 1 or more";
	if (is->binlog != 0 && is->sync_binlog == 0)
		return NB_DUR_PROCESS;
	*less = "innodb_flush_log_at_trx_commit is not 1, as it must be for commit";
	if (is->flush != 1 && is->flush != 3)
		return NB_DUR_PERIODIC;
	*less = "log_bin is ON and sync_binlog is not 1, as it must be for commit";
	return is->binlog != 0 && is->sync_binlog != 1 ? NB_DUR_PERIODIC : NB_DUR_COMMIT;
}

static int
check_settings(struct nb_db *db, uint32_t target, uint32_t durability)
{
	struct settings is = {0};
	const char *less;
	int rc = read_settings(db, target, &is);
	if (rc != NB_OK)
		return rc;
	if (level_of(&is, &less) < durability)
		return db->host->fail(NB_UNSUPPORTED,
			"%s: the server promises less than this durability level: %s",
			db->targets[target], less);
	if (is.max_allowed_packet < db->packet_max)
		db->packet_max = (size_t)is.max_allowed_packet;
	db->host->log(NB_LOG_INFO,
		"%s: server %s, innodb_flush_log_at_trx_commit=%llu, innodb_doublewrite=%llu, log_bin=%llu, sync_binlog=%llu",
		db->targets[target], mysql_get_server_info(db->servers[target]),
		(unsigned long long)is.flush, (unsigned long long)is.doublewrite,
		(unsigned long long)is.binlog, (unsigned long long)is.sync_binlog);
	return NB_OK;
}

/* --- mininb's database in a server --- */

/** Format a query and execute it. */
static int NB_PRINTF(3, 4)
	query_fmt(const struct nb_db *db, uint32_t target, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	va_start(args, fmt);
	int size = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (size < 0 || (size_t)size >= sizeof(text))
		return db->host->fail(NB_UNSUPPORTED, "the name of the database is too long");
	return query(db, target, db->servers[target], text);
}

/**
 * Execute a counting SELECT. Appends the quoted name of the database and, unless the SELECT
 * reads information_schema.tables, a condition that selects the marker table.
 */
static int
count_in(const struct nb_db *db, uint32_t target, const char *select, uint64_t *count)
{
	char text[512], value[32];
	snprintf(text, sizeof(text), "%s'%s'%s", select, db->options[DATABASE].text,
		strstr(select, "tables") != NULL ? "" : " AND table_name='" SQL_MARKER "'");
	int rc = query_text(db, target, text, value, sizeof(value));
	*count = strtoull(value, NULL, 10);
	return rc;
}

/** Mark a new database. A database that has tables but no marker is not mininb's. */
static int
claim(const struct nb_db *db, uint32_t target, bool may_create)
{
	const char *name = db->options[DATABASE].text;
	uint64_t tables = 0, markers = 0;
	int rc = count_in(db, target,
		"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=", &tables);
	if (rc == NB_OK)
		rc = count_in(db, target,
			"SELECT COUNT(DISTINCT table_name) FROM information_schema.columns WHERE table_schema=",
			&markers);
	if (rc != NB_OK || markers > 0)
		return rc;
	if (tables > 0)
		return db->host->fail(NB_FAIL,
			"%s: the database %s has %llu tables but not mininb's table " SQL_MARKER
			", so it is not mininb's; use another one with -o database=NAME",
			db->targets[target], name, (unsigned long long)tables);
	if (!may_create)
		return db->host->fail(NB_FAIL, "%s: no database: %s does not exist",
			db->targets[target], name);
	rc = query_fmt(db, target, "CREATE DATABASE IF NOT EXISTS `%s`", name);
	return rc != NB_OK
		? rc
		: query_fmt(db, target,
			  "CREATE TABLE IF NOT EXISTS `%s`." SQL_MARKER
			  "(name VARCHAR(64) NOT NULL PRIMARY KEY, columns TEXT NOT NULL) ENGINE=InnoDB",
			  name);
}

/** Check that an existing table has this job's columns; otherwise set db->refusal. */
static int
compare_table(struct nb_db *db, uint32_t target, uint32_t i, const char *is, const char *wanted)
{
	bool is_shorter = strncmp(wanted, "`k` VARBINARY(3072)", 19) == 0;
	if (strcmp(is, wanted) == 0 ||
		(!is_shorter && strncmp(is, "`k` VARBINARY(3072)", 19) == 0))
		return NB_OK;
	return text_add(&db->refusal,
		       "%s: the table %s has other columns than this job: %s, not %s; make it anew with --fresh",
		       db->targets[target], db->tables[i].name.data, is, wanted)
		? NB_OK
		: NB_FAIL;
}

static int
make_table(struct nb_db *db, uint32_t target, uint32_t i, const char *columns)
{
	const char *database = db->options[DATABASE].text, *name = db->of[i].name;
	char text[512], is[1024];
	snprintf(text, sizeof(text), "SELECT columns FROM `%s`." SQL_MARKER " WHERE name='%s'",
		database, name);
	int rc = query_text(db, target, text, is, sizeof(is));
	if (rc == NB_OK && is[0] != '\0')
		return compare_table(db, target, i, is, columns);
	/* Register the table before creating it, so that reset always knows it. */
	if (rc == NB_OK)
		rc = query_fmt(db, target, "INSERT INTO `%s`." SQL_MARKER " VALUES('%s','%s')",
			database, name, columns);
	if (rc == NB_OK)
		rc = query_fmt(db, target,
			"CREATE TABLE `%s`.`%s`(%s) ENGINE=InnoDB ROW_FORMAT=DYNAMIC", database,
			name, columns);
	return rc;
}

static int
make_tables(struct nb_db *db, uint32_t target)
{
	int rc = NB_OK;
	for (uint32_t i = 0; rc == NB_OK && i < db->table_count; i++) {
		struct buffer columns = {0};
		rc = schema_define(&columns, &db->of[i], db->key_size)
			? make_table(db, target, i, columns.data)
			: db->host->fail(NB_FAIL, "out of memory");
		free(columns.data);
	}
	return rc;
}

/* --- open and close --- */

static int
make_schema(struct nb_db *db)
{
	int rc = sql_check_tables(db->host, db->of, db->table_count);
	if (rc != NB_OK)
		return rc;
	if (!sql_is_name(db->options[DATABASE].text))
		return db->host->fail(NB_UNSUPPORTED,
			"database=%s: a name has characters a-z, 0-9 and _, the first one not a digit",
			db->options[DATABASE].text);
	db->tables = calloc(db->table_count, sizeof(*db->tables));
	for (uint32_t i = 0; i < db->table_count; i++)
		if (db->tables == NULL ||
			!schema_make(&db->tables[i], &db->of[i], db->options[DATABASE].text))
			return db->host->fail(NB_FAIL, "out of memory");
	sql_sort_by_prefix(db->of, db->table_count, db->by_prefix);
	return NB_OK;
}

static int
open_target(struct nb_db *db, uint32_t target, const struct nb_open_args *args)
{
	int rc = server_connect(&db->servers[target], db, target);
	if (rc == NB_OK)
		rc = check_settings(db, target, args->durability);
	if (rc == NB_OK)
		rc = claim(db, target, (args->flags & NB_OPEN_CREATE) != 0);
	if (rc == NB_OK)
		rc = make_tables(db, target);
	return rc;
}

int
server_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct nb_db *db;
	if (args->target_count == 0)
		return args->host->fail(
			NB_UNSUPPORTED, "no server: name one with --servers=HOST:PORT");
	if (mysql_library_init(0, NULL, NULL) != 0 || (db = calloc(1, sizeof(*db))) == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	db->host = args->host;
	db->options = args->options;
	db->targets = args->targets;
	db->target_count = args->target_count;
	db->of = sql_tables(args, &db->table_count);
	db->key_size = args->key_size;
	db->inflight_ops = args->inflight_ops;
	db->inflight_bytes = args->inflight_bytes;
	db->packet_max = PACKET_MAX;
	db->servers = calloc(args->target_count, sizeof(MYSQL *));
	int rc = db->servers != NULL ? make_schema(db)
				     : args->host->fail(NB_FAIL, "out of memory");
	for (uint32_t i = 0; rc == NB_OK && i < args->target_count; i++)
		rc = open_target(db, i, args);
	if (rc == NB_OK)
		*out = db;
	else
		server_close(db);
	return rc;
}

int
server_close(struct nb_db *db)
{
	for (uint32_t i = 0; db->servers != NULL && i < db->target_count; i++)
		if (db->servers[i] != NULL)
			mysql_close(db->servers[i]);
	for (uint32_t i = 0; db->tables != NULL && i < db->table_count; i++)
		schema_free(&db->tables[i]);
	free(db->servers);
	free(db->tables);
	free(db->refusal.data);
	free(db);
	return NB_OK;
}

/* --- reset, flush, counters --- */

/** Drop the tables that the marker lists. */
static int
drop_tables(struct nb_db *db, uint32_t target)
{
	const char *database = db->options[DATABASE].text;
	char text[256], name[128];
	int rc = NB_OK;
	snprintf(text, sizeof(text), "SELECT name FROM `%s`." SQL_MARKER " LIMIT 1", database);
	while (rc == NB_OK) {
		rc = query_text(db, target, text, name, sizeof(name));
		if (rc != NB_OK || name[0] == '\0')
			break;
		rc = query_fmt(db, target, "DROP TABLE IF EXISTS `%s`.`%s`", database, name);
		if (rc == NB_OK)
			rc = query_fmt(db, target,
				"DELETE FROM `%s`." SQL_MARKER " WHERE name='%s'", database,
				name);
	}
	return rc;
}

int
server_reset(struct nb_db *db)
{
	int rc = NB_OK;
	db->refusal.size = 0;
	for (uint32_t i = 0; rc == NB_OK && i < db->target_count; i++) {
		rc = claim(db, i, false);
		if (rc == NB_OK)
			rc = drop_tables(db, i);
		if (rc == NB_OK)
			rc = make_tables(db, i);
	}
	return rc;
}

int
server_count(struct nb_db *db, uint32_t table, uint64_t *rows)
{
	char text[256], answer[32];
	int rc = NB_OK;
	snprintf(text, sizeof(text), "SELECT COUNT(*) FROM %s", db->tables[table].name.data);
	*rows = 0;
	for (uint32_t i = 0; rc == NB_OK && i < db->target_count; i++) {
		rc = query_text(db, i, text, answer, sizeof(answer));
		if (rc == NB_OK)
			*rows += strtoull(answer, NULL, 10);
	}
	return rc;
}

/*
 * Flushes only the log: the server writes pages in the background and does not compact.
 * Requires the privilege RELOAD.
 */
int
server_flush(struct nb_db *db, uint32_t upto)
{
	if (upto != NB_SETTLE_FLUSH)
		return db->host->fail(NB_UNSUPPORTED, "InnoDB has no compaction to wait for");
	for (uint32_t i = 0; i < db->target_count; i++) {
		int rc = query(db, i, db->servers[i], "FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS");
		unsigned error = mysql_errno(db->servers[i]);
		if (rc != NB_OK)
			return error < CR_MIN_ERROR || error > CR_MAX_ERROR
				? NB_UNSUPPORTED /* the server is alive and refused the command */
				: rc;
	}
	return NB_OK;
}

static const struct {
	const char *variable, *name, *unit;
	uint32_t kind;
} counters[] = {
	{"Innodb_buffer_pool_read_requests", "cache_reads", "pages", NB_STAT_COUNTER},
	{"Innodb_buffer_pool_reads", "cache_misses", "pages", NB_STAT_COUNTER},
	{"Innodb_buffer_pool_pages_dirty", "dirty_pages", "pages", NB_STAT_GAUGE},
	{"Innodb_data_read", "data_read", "bytes", NB_STAT_COUNTER},
	{"Innodb_data_written", "data_written", "bytes", NB_STAT_COUNTER},
	{"Innodb_data_fsyncs", "syncs", "syncs", NB_STAT_COUNTER},
	{"Innodb_os_log_written", "log_written", "bytes", NB_STAT_COUNTER},
	{"Innodb_row_lock_waits", "lock_waits", "waits", NB_STAT_COUNTER},
	{"Innodb_history_list_length", "history", "transactions", NB_STAT_GAUGE},
};

static void
add_status(MYSQL *mysql, uint64_t *values)
{
	static const char text[] = "SHOW GLOBAL STATUS LIKE 'Innodb%'";
	if (mysql_real_query(mysql, text, sizeof(text) - 1) != 0)
		return;
	MYSQL_RES *result = mysql_store_result(mysql);
	MYSQL_ROW row;
	while (result != NULL && (row = mysql_fetch_row(result)) != NULL)
		for (size_t i = 0; i < COUNT_OF(counters); i++)
			if (strcasecmp(row[0], counters[i].variable) == 0 && row[1] != NULL)
				values[i] += strtoull(row[1], NULL, 10);
	mysql_free_result(result);
}

/* Sums over all servers. The counters include other clients of the servers. */
void
server_stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	uint64_t values[COUNT_OF(counters)] = {0};
	for (uint32_t i = 0; i < db->target_count; i++)
		add_status(db->servers[i], values);
	for (size_t i = 0; i < COUNT_OF(counters); i++)
		emit(to, counters[i].name, counters[i].unit, counters[i].kind, values[i]);
}
