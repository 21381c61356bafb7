/* SPDX-License-Identifier: BSD-2-Clause */
/* MariaDB and servers with the same protocol: the verbs and the engine's table. */
#include "internal.h"

#include "../remote/verbs.h"

/* Parameters of prepared statements are limited to 16 MiB, so that no packet is split. */
#define VALUE_SIZE_MAX ((16u << 20) - (64u << 10))

static const struct nb_option options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

static const char *
version(void)
{
	return mysql_get_client_info();
}

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	return pipeline_submit(&session->pipeline, requests, count, taken);
}

/* --- transactions --- */

static int
begin(struct nb_session *session, uint32_t flags)
{
	if (session->db->target_count > 1)
		return session->db->host->fail(NB_UNSUPPORTED,
			"a transaction cannot have keys of several servers; name one server");
	session->begin = (flags & NB_TXN_READ_ONLY) != 0 ? "START TRANSACTION READ ONLY"
							 : "START TRANSACTION";
	session->is_in_txn = true;
	return NB_OK;
}

/** End the transaction. If its begin was not sent, send nothing. */
static int
end_txn(struct nb_session *session, const char *text)
{
	session->is_in_txn = false;
	if (session->begin == NULL)
		return message_do(session, 0, text, NULL);
	session->begin = NULL;
	return NB_OK;
}

static int
commit(struct nb_session *session)
{
	int rc = end_txn(session, "COMMIT");
	if (rc != NB_OK)
		message_do(session, 0, "ROLLBACK", NULL);
	return rc;
}

static void
abort_txn(struct nb_session *session)
{
	(void)end_txn(session, "ROLLBACK");
}

/* --- several records at once --- */

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	struct nb_db *db = session->db;
	if (count == 0)
		return NB_OK;
	if (db->target_count > 1)
		return pipeline_multi_get(&session->pipeline, keys, count, values, answers);
	if (!buffer_reserve(&session->steps, count * sizeof(struct nb_step)))
		return db->host->fail(NB_FAIL, "out of memory");
	struct nb_step *steps = (struct nb_step *)(void *)session->steps.data;
	for (size_t i = 0; i < count; i++)
		steps[i] = (struct nb_step){.verb = NB_STEP_GET, .key = keys[i]};
	int rc = pipeline_execute(&session->pipeline, steps, count, NB_EXEC_READ_ONLY);
	if (rc == NB_CONFLICT) { /* the transaction lost: report a conflict for each get */
		for (size_t i = 0; i < count; i++)
			answers[i] = NB_CONFLICT;
		return NB_OK;
	}
	for (size_t i = 0; rc == NB_OK && i < count; i++) {
		answers[i] = steps[i].answer;
		values[i] = steps[i].value;
	}
	return rc;
}

enum {
	ROWS_BYTES = 1 << 20
}; /* maximum for a command with several rows; a single row may be larger */

/** How many of the next writes one command can contain: a power of two. */
static size_t
rows_together(const struct nb_db *db, const struct nb_write *writes, size_t count)
{
	const struct sql_table *table = table_of(db, writes->key);
	size_t bytes = 0, rows = 0, most = 1;
	while (rows < count && rows < LIST_MAX && writes[rows].is_delete == writes->is_delete &&
		(rows == 0 || table_of(db, writes[rows].key) == table)) {
		bytes += writes[rows].key.size + writes[rows].value.size;
		if (bytes > ROWS_BYTES && rows > 0)
			break;
		rows++;
	}
	if (writes->is_delete != 0)
		return 1;
	while (2 * most <= rows)
		most *= 2;
	return most;
}

static int
fail_columns(const struct nb_db *db)
{
	return db->host->fail(
		NB_FAIL, "the key or the value of a write does not fit a table's columns");
}

static int
add_rows(struct nb_session *session, const struct nb_write *writes, size_t rows)
{
	const struct nb_db *db = session->db;
	const struct sql_table *table = table_of(db, writes->key);
	if (table == NULL)
		return fail_columns(db);
	const struct nb_table *of = table->of;
	bool is_delete = writes->is_delete != 0;
	uint32_t columns = of->key_column_count + (is_delete ? 0 : of->value_column_count);
	uint32_t kind = is_delete ? (uint32_t)DEL : PUTS + (uint32_t)__builtin_ctzl(rows);
	size_t size = command_bound(rows * columns);
	for (size_t i = 0; i < rows; i++)
		size += writes[i].key.size + (is_delete ? 0 : writes[i].value.size);
	if (size > db->packet_max)
		return db->host->fail(NB_UNSUPPORTED,
			"the record is longer than max_allowed_packet, or 16 MiB");
	char *to = message_room(session, size);
	if (to == NULL)
		return NB_FAIL;
	struct command command;
	uint32_t at = (uint32_t)(table - db->tables) * STATEMENTS + kind;
	command_begin(&command, to,
		session->connections[session->message.server].statements[at],
		(uint32_t)rows * columns);
	for (size_t i = 0; i < rows; i++)
		if (!command_columns(&command, of->key_columns, of->key_column_count,
			    sql_strip(of, writes[i].key), true) ||
			(!is_delete &&
				!command_columns(&command, of->value_columns,
					of->value_column_count, writes[i].value, false)))
			return fail_columns(db);
	message_wrote(session, command_end(&command));
	return NB_OK;
}

static int
add_writes(struct nb_session *session, const struct nb_write *writes, size_t count)
{
	int rc = NB_OK;
	for (size_t i = 0, rows; rc == NB_OK && i < count; i += rows) {
		rows = rows_together(session->db, &writes[i], count - i);
		rc = add_rows(session, &writes[i], rows);
	}
	return rc;
}

/*
 * Several commands form one transaction. A deadlock ends it in the middle; after BEGIN, the
 * remaining commands would then be committed separately. So autocommit is off during the
 * batch, and COMMIT or ROLLBACK is sent after all commands are answered.
 */
static int
batch_on(struct nb_session *session, uint32_t server, const struct nb_write *writes,
	size_t count)
{
	message_begin(session, server);
	int rc = add_writes(session, writes, count);
	if (rc != NB_OK)
		return rc;
	if (session->message.commands <= 1 || session->is_in_txn)
		return session->message.commands == 0 ? NB_OK : message_send(session);
	message_begin(session, server);
	if (!message_query(session, "SET autocommit=0"))
		return NB_FAIL;
	rc = add_writes(session, writes, count);
	if (rc != NB_OK)
		return rc;
	rc = message_send(session);
	int ended = message_do(
		session, server, rc == NB_OK ? "COMMIT" : "ROLLBACK", "SET autocommit=1");
	return rc != NB_OK ? rc : ended;
}

/** Execute the writes of each server separately. */
static int
batch_split(struct nb_session *session, const struct nb_write *writes, size_t count)
{
	const struct nb_db *db = session->db;
	struct nb_write *own = malloc(count * sizeof(*own));
	int rc = own != NULL ? NB_OK : db->host->fail(NB_FAIL, "out of memory");
	for (uint32_t server = 0; rc == NB_OK && server < db->target_count; server++) {
		size_t owned = 0;
		for (size_t i = 0; i < count; i++)
			if (split_server(writes[i].key, db->target_count) == server)
				own[owned++] = writes[i];
		rc = batch_on(session, server, own, owned);
	}
	free(own);
	return rc;
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	if (count == 0)
		return NB_OK;
	if (session->db->target_count == 1)
		return batch_on(session, 0, writes, count);
	if ((flags & NB_BATCH_ATOMIC) != 0)
		return session->db->host->fail(
			NB_UNSUPPORTED, "a batch on several servers is not atomic");
	return batch_split(session, writes, count);
}

/* --- the table --- */

static const char server_text[] =
	"prepare = mariadb-install-db --no-defaults --datadir={dir}/data --auth-root-authentication-method=normal --skip-test-db --user={user}\n"
	"command = mariadbd --no-defaults --user={user} --datadir={dir}/data --socket={socket} --skip-networking --pid-file={dir}/pid --skip-name-resolve --skip-log-bin --max-connections={connections} --max-prepared-stmt-count=1000000 --max-allowed-packet=64M --innodb-rollback-on-timeout=1 --innodb-buffer-pool-size={cache} {durability}\n"
	"address = unix:{socket}\n"
	"path = /usr/sbin\n"
	"package = mariadb-server\n"
	"cache = 256MiB\n"
	"start-timeout = 60s\n"
	"stop-timeout = 60s\n"
	"durability.none = --innodb-flush-log-at-trx-commit=0\n"
	"durability.process = --innodb-flush-log-at-trx-commit=2 --innodb-flush-log-at-timeout=2700\n"
	"durability.periodic = --innodb-flush-log-at-trx-commit=2 --innodb-flush-log-at-timeout=1\n"
	"durability.commit = --innodb-flush-log-at-trx-commit=1\n";

static const struct nb_engine *
variant(const struct nb_option_value *values);

#define CAPS \
	(NB_CAP_ORDERED | NB_CAP_PERSISTENT | NB_CAP_CONCURRENT | NB_CAP_ATOMIC_BATCH | \
		NB_CAP_MULTI_PROCESS | NB_CAP_REMOTE | NB_CAP_COPIES)
#define ENGINE(isolation_caps) \
	{ \
		ENGINE_BASE("mariadb"), ENGINE_RECORDS, ENGINE_SCAN, ENGINE_TXN, \
			.summary = "client of MariaDB, a SQL server", \
			.licence = "GPL-2.0-only", .home = "https://mariadb.org", \
			.caps = CAPS | (isolation_caps), \
			.durabilities = NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_PROCESS) | \
			NB_DUR_BIT(NB_DUR_PERIODIC) | NB_DUR_BIT(NB_DUR_COMMIT), \
			.auto_durability = NB_DUR_PERIODIC, .key_size_max = KEY_SIZE_MAX, \
			.value_size_max = VALUE_SIZE_MAX, .options = options, \
			.open = server_open, .close = server_close, .release = release, \
			.insert = insert, .batch = batch, .multi_get = multi_get, \
			.submit = submit, .reap = reap, .flush = server_flush, \
			.stats = server_stats, .execute = execute, .merge = merge, \
			.reset = server_reset, .variant = variant, .server = server_text, \
			.count = server_count \
	}

static const struct nb_engine engines[] = {
	[REPEATABLE_READ] = ENGINE(NB_CAP_SNAPSHOT),
	[READ_COMMITTED] = ENGINE(0),
	[SERIALIZABLE] = ENGINE(NB_CAP_SNAPSHOT | NB_CAP_SERIALIZABLE),
};

static const struct nb_engine *
variant(const struct nb_option_value *values)
{
	return &engines[values[ISOLATION].u64];
}
NB_ENGINE_PLUGIN(engines[REPEATABLE_READ])
