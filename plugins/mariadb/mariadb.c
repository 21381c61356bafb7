/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MariaDB, and what speaks its protocol.
 *
 * - The library connects, logs in and prepares; from then on the plugin writes and reads the
 *   packets itself, because the library has no call for several requests in flight. The server
 *   takes the next packet from its buffer when it has answered one, so they may be many.
 * - A request is one packet and needs nothing of those before it, so an error harms no other.
 * - begin is not sent alone but before the next request of the session.
 */
#include "internal.h"

/* Prepared statements are limited to 16 MiB of parameters, so that no packet is split. */
#define VALUE_SIZE_MAX ((16u << 20) - (64u << 10))

#define OWN_VERB CODEC_VERB

enum { ER_DUP_ENTRY = 1062, ER_BAD_NULL = 1048 };
enum { ER_CHECKREAD = 1020, ER_LOCK_WAIT_TIMEOUT = 1205, ER_LOCK_DEADLOCK = 1213 };
enum { TIDB_WRITE_CONFLICT = 9007 };

static const struct nb_option options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

static const char *
version(void)
{
	return mysql_get_client_info();
}

const struct sql_table *
table_of(const struct nb_db *db, struct nb_slice key)
{
	const struct nb_table *of = sql_table_of(db->of, db->table_count, key);
	return of != NULL ? &db->tables[of - db->of] : NULL;
}

/* --- answers --- */

void
take_error(struct flying *flying, const struct reading *reading)
{
	if (flying->answer != NB_OK)
		return; /* the first one is told */
	switch (reading->error) {
	case ER_CHECKREAD:
	case ER_LOCK_WAIT_TIMEOUT:
	case ER_LOCK_DEADLOCK:
	case TIDB_WRITE_CONFLICT:
		flying->answer = NB_CONFLICT;
		return;
	default:
		flying->answer = NB_FAIL;
		flying->error = reading->text;
	}
}

static void
take_error_of_record(struct flying *flying, const struct reading *reading)
{
	if (flying->verb == NB_REQ_INSERT && reading->error == ER_DUP_ENTRY) {
		flying->answer = NB_EXISTS;
		return;
	}
	take_error(flying, reading);
	if (flying->verb == NB_REQ_MERGE && reading->error == ER_BAD_NULL)
		flying->error =
			"merge: the value does not have 8 bytes, so it is not a counter";
}

static void
take_result(struct nb_session *session, struct flying *flying, const struct reading *reading)
{
	struct flight *flight = flight_of(flying);
	if (flight->ignore > 0) {
		flight->ignore--;
		return;
	}
	if (flying->verb == NB_REQ_EXECUTE)
		execute_result(session, flying, reading);
	else if (flying->verb == NB_REQ_GET)
		flying->answer = flying->value.data != NULL ? NB_OK : NB_NOT_FOUND;
	else if (flying->verb == NB_REQ_DEL)
		flying->answer = reading->affected > 0 ? NB_OK : NB_NOT_FOUND;
}

static bool
take_page_row(struct page *page, char *payload, size_t size)
{
	if (page->count == page->room)
		return false; /* more than LIMIT said */
	page->rows[page->count++] = (struct nb_slice){payload, size};
	page->bytes += size;
	return true;
}

static bool
take_row(struct nb_session *session, struct flying *flying, char *payload, size_t size)
{
	struct row row;
	if (flying->verb == NB_REQ_EXECUTE)
		return execute_row(session, flying, payload, size);
	if (flying->verb == OWN_VERB)
		return take_page_row(&session->page, payload, size);
	const struct nb_table *of = session->db->tables[flight_of(flying)->table].of;
	return row_begin(&row, payload, size, of->value_column_count, false) &&
		row_value(&row, of->value_columns, of->value_column_count, &flying->value);
}

/** A packet. Returns whether it is one that may come here; *is_last: of the request. */
static bool
take_packet(struct nb_session *session, struct flying *flying, char *payload, size_t size,
	bool *is_last)
{
	struct reading *reading = &session->connections[flying->server].reading;
	enum event event = reading_take(reading, payload, size);
	if (event == EVENT_ROW)
		return take_row(session, flying, payload, size);
	if (event == EVENT_NONE || event == EVENT_GARBAGE)
		return event == EVENT_NONE;
	if (event == EVENT_DONE)
		take_result(session, flying, reading);
	else
		take_error_of_record(flying, reading);
	*is_last = !reading->has_more && --flight_of(flying)->commands == 0;
	if (*is_last && flying->verb == NB_REQ_EXECUTE)
		execute_end(flying);
	return true;
}

/** All packets of the request that are whole, in one call if they are. */
static size_t
decode(void *own, struct flying *flying, char *bytes, size_t size, size_t *need)
{
	size_t at = 0;
	bool is_last = false;
	while (!is_last && size - at >= PACKET_HEAD) {
		size_t whole = PACKET_HEAD + packet_size(bytes + at);
		if (size - at < whole) {
			*need = whole;
			break;
		}
		if (whole == PACKET_HEAD + PACKET_MAX) {
			flying->error = "a row of 16 MiB or more";
			return CODEC_GARBAGE;
		}
		if (!take_packet(own, flying, bytes + at + PACKET_HEAD, whole - PACKET_HEAD,
			    &is_last))
			return CODEC_GARBAGE;
		at += whole;
	}
	if (at > 0 && !is_last)
		flying->replies = 2; /* what follows is the other one */
	return at;
}

/* --- requests --- */

static size_t
refuse(struct flying *flying, int answer, const char *error)
{
	flying->answer = answer;
	flying->error = error;
	return 0;
}

static size_t
bound_of_record(
	struct nb_session *session, struct flying *flying, const struct nb_request *request)
{
	const struct nb_db *db = session->db;
	const struct sql_table *table = table_of(db, request->key);
	if (table == NULL)
		return refuse(flying, NB_FAIL, "no table has a prefix of this key");
	const struct nb_table *of = table->of;
	struct nb_slice parts[SQL_COLUMNS_MAX];
	bool has_value = request->verb == NB_REQ_PUT || request->verb == NB_REQ_INSERT;
	size_t size = request->key.size + (has_value ? request->value.size : 8);
	if (!sql_split(of->key_columns, of->key_column_count, sql_strip(of, request->key),
		    parts) ||
		(has_value &&
			!sql_split(of->value_columns, of->value_column_count, request->value,
				parts)))
		return refuse(flying, NB_FAIL,
			"the key or the value does not fit the table's columns");
	if (request->verb == NB_REQ_MERGE && !table->can_merge)
		return refuse(flying, NB_UNSUPPORTED,
			"merge: the table's values are not one column of 8 bytes");
	if (size > db->packet_max - (64 << 10))
		return refuse(flying, NB_UNSUPPORTED,
			"the record is longer than max_allowed_packet, or 16 MiB");
	flight_of(flying)->table = (uint32_t)(table - db->tables);
	return command_bound(of->key_column_count + of->value_column_count) + size;
}

static size_t
bound(void *own, struct flying *flying, const struct nb_request *request)
{
	struct nb_session *session = own;
	size_t begin = session->begin != NULL ? QUERY_HEAD + strlen(session->begin) : 0, size;
	if (request->verb == OWN_VERB)
		size = ((const struct message *)(const void *)request->steps)->bytes.size;
	else if (request->verb == NB_REQ_EXECUTE)
		size = execute_bound(session, flying, request);
	else if (request->verb < NB_REQ_EXECUTE)
		size = bound_of_record(session, flying, request);
	else
		size = refuse(flying, NB_UNSUPPORTED, "unknown verb");
	return size != 0 ? begin + size : 0;
}

static char *
encode_record(struct nb_session *session, struct flying *flying,
	const struct nb_request *request, char *to)
{
	static const uint32_t statements[] = {[NB_REQ_GET] = GET,
		[NB_REQ_PUT] = PUTS,
		[NB_REQ_DEL] = DEL,
		[NB_REQ_INSERT] = INSERT,
		[NB_REQ_MERGE] = MERGE};
	uint32_t number = flight_of(flying)->table;
	const struct nb_table *of = session->db->tables[number].of;
	struct nb_slice value = request->value;
	struct command command;
	bool has_value = request->verb != NB_REQ_GET && request->verb != NB_REQ_DEL;
	command_begin(&command, to,
		session->connections[flying->server]
			.statements[number * STATEMENTS + statements[request->verb]],
		of->key_column_count + (has_value ? of->value_column_count : 0));
	command_columns(&command, of->key_columns, of->key_column_count,
		sql_strip(of, request->key), true);
	if (request->verb == NB_REQ_MERGE)
		value = (struct nb_slice){&request->operand, sizeof(request->operand)};
	if (has_value)
		command_columns(
			&command, of->value_columns, of->value_column_count, value, false);
	return command_end(&command);
}

static char *
encode(void *own, struct flying *flying, const struct nb_request *request, char *to)
{
	struct nb_session *session = own;
	struct flight *flight = flight_of(flying);
	const struct message *message = (const void *)request->steps;
	flight->commands = 1;
	if (session->begin != NULL) {
		to = query_write(to, session->begin);
		session->begin = NULL;
		flight->commands++;
		flight->ignore++;
	}
	if (request->verb == NB_REQ_EXECUTE)
		return execute_encode(session, flying, request, to);
	if (request->verb != OWN_VERB)
		return encode_record(session, flying, request, to);
	flight->commands += message->commands - 1;
	memcpy(to, message->bytes.data, message->bytes.size);
	return to + message->bytes.size;
}

static uint32_t
server_of(void *own, const struct nb_request *request)
{
	const struct nb_session *session = own;
	if (request->verb == OWN_VERB)
		return ((const struct message *)(const void *)request->steps)->server;
	return split_server(request->verb == NB_REQ_EXECUTE && request->step_count > 0
			? request->steps[0].key
			: request->key,
		session->db->target_count);
}

/* --- sessions --- */

/** Prepare the statements of all tables. */
static int
prepare_all(struct nb_session *session, uint32_t target)
{
	const struct nb_db *db = session->db;
	struct connection *connection = &session->connections[target];
	for (uint32_t i = 0; i < db->table_count * STATEMENTS; i++) {
		const struct buffer *text =
			&db->tables[i / STATEMENTS].statements[i % STATEMENTS];
		if (text->data == NULL)
			continue;
		MYSQL_STMT *statement = mysql_stmt_init(connection->mysql);
		if (statement == NULL)
			return db->host->fail(NB_FAIL, "out of memory");
		connection->handles[i] = statement;
		if (mysql_stmt_prepare(statement, text->data, text->size) != 0)
			return server_fail(db, target, connection->mysql, text->data);
		connection->statements[i] = (uint32_t)statement->stmt_id;
	}
	return NB_OK;
}

/* The stream has a duplicate of the socket, since the library closes its own. */
static int
connect_session(void *own, uint32_t target, struct stream *stream, const char *target_name)
{
	struct nb_session *session = own;
	const struct nb_db *db = session->db;
	struct connection *connection = &session->connections[target];
	int rc = server_connect(&connection->mysql, db, target);
	if (rc != NB_OK)
		return rc;
	size_t count = (size_t)db->table_count * STATEMENTS;
	connection->statements = calloc(count, sizeof(*connection->statements));
	connection->handles = calloc(count, sizeof(*connection->handles));
	if (connection->statements == NULL || connection->handles == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	rc = prepare_all(session, target);
	if (rc != NB_OK)
		return rc;
	int fd = fcntl(mysql_get_socket(connection->mysql), F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return db->host->fail(NB_FAIL, "%s: dup: %s", target_name, strerror(errno));
	return stream_adopt(
		stream, db->host, target_name, fd, &session->pipeline.config.stream);
}

static const struct codec codec = {.name = "MariaDB",
	.bound = bound,
	.encode = encode,
	.decode = decode,
	.server = server_of,
	.connect = connect_session};

static void
session_free(struct nb_session *session)
{
	uint32_t statements = session->db->table_count * STATEMENTS;
	for (uint32_t i = 0; session->connections != NULL && i < session->db->target_count;
		i++) {
		struct connection *connection = &session->connections[i];
		if (connection->mysql != NULL)
			mysql_close(connection->mysql);
		for (uint32_t j = 0; connection->handles != NULL && j < statements; j++)
			if (connection->handles[j] != NULL)
				mysql_stmt_close(connection->handles[j]);
		free(connection->statements);
		free(connection->handles);
	}
	free(session->connections);
	free(session->message.bytes.data);
	free(session->page.rows);
	free(session->scan.from.data);
	free(session->finder.heads);
	free(session->finder.next);
	free(session->key.data);
	free(session->steps.data);
	free(session);
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	struct nb_session *session;
	if (db->refusal.size != 0)
		return db->host->fail(NB_UNSUPPORTED, "%s", db->refusal.data);
	int rc = SESSION_NEW(&session, db);
	if (rc != NB_OK)
		return rc;
	const struct pipeline_config config = {.host = db->host,
		.codec = &codec,
		.own = session,
		.targets = db->targets,
		.target_count = db->target_count,
		.inflight_ops = db->inflight_ops,
		.inflight_bytes = db->inflight_bytes,
		.stream = {.spin_ns = db->options[SPIN].u64}};
	session->connections = calloc(db->target_count, sizeof(*session->connections));
	if (session->connections == NULL || !buffer_reserve(&session->key, KEY_SIZE_MAX + 4096))
		rc = db->host->fail(NB_FAIL, "out of memory");
	if (rc == NB_OK)
		rc = pipeline_open(&session->pipeline, &config);
	if (rc == NB_OK)
		*out = session;
	else
		session_free(session);
	return rc;
}

/* The server sees the end of the connection and undoes what was begun. */
static int
session_close(struct nb_session *session)
{
	pipeline_close(&session->pipeline);
	session_free(session);
	return NB_OK;
}

/* --- records --- */

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return pipeline_get(&session->pipeline, key, value);
}

static void
release(struct nb_session *session)
{
	pipeline_release(&session->pipeline);
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return pipeline_write(&session->pipeline, NB_REQ_PUT, key, value);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	return pipeline_write(&session->pipeline, NB_REQ_DEL, key, (struct nb_slice){0});
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return pipeline_write(&session->pipeline, NB_REQ_INSERT, key, value);
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	if (how != NB_MERGE_ADD_U64)
		return session->db->host->fail(NB_UNSUPPORTED, "unknown kind of merge %u", how);
	return pipeline_merge(&session->pipeline, key, operand);
}

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	return pipeline_submit(&session->pipeline, requests, count, taken);
}

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	return pipeline_reap(&session->pipeline, out, room, count, timeout_ns);
}

/* --- commands of the verbs themselves --- */

static void
message_begin(struct nb_session *session, uint32_t server)
{
	session->message.bytes.size = 0;
	session->message.commands = 0;
	session->message.server = server;
}

/** Room for a command of so many bytes; NULL: out of memory, and told. */
static char *
message_room(struct nb_session *session, size_t size)
{
	struct buffer *bytes = &session->message.bytes;
	if (buffer_reserve(bytes, bytes->size + size))
		return bytes->data + bytes->size;
	(void)session->db->host->fail(NB_FAIL, "out of memory");
	return NULL;
}

static void
message_wrote(struct nb_session *session, const char *end)
{
	struct message *message = &session->message;
	message->bytes.size = (size_t)(end - message->bytes.data);
	message->commands++;
}

static bool
message_query(struct nb_session *session, const char *text)
{
	char *to = message_room(session, QUERY_HEAD + strlen(text));
	if (to != NULL)
		message_wrote(session, query_write(to, text));
	return to != NULL;
}

static int
message_send(struct nb_session *session)
{
	const struct nb_request request = {
		.verb = OWN_VERB, .steps = (struct nb_step *)(void *)&session->message};
	return pipeline_do(&session->pipeline, &request, NULL);
}

/** One command, or two, waited for. */
static int
do_query(struct nb_session *session, uint32_t server, const char *first, const char *second)
{
	message_begin(session, server);
	if (!message_query(session, first) ||
		(second != NULL && !message_query(session, second)))
		return NB_FAIL;
	return message_send(session);
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

/** The end of a transaction; nothing is to be sent if its begin was not. */
static int
end_txn(struct nb_session *session, const char *text)
{
	session->is_in_txn = false;
	if (session->begin == NULL)
		return do_query(session, 0, text, NULL);
	session->begin = NULL;
	return NB_OK;
}

static int
commit(struct nb_session *session)
{
	int rc = end_txn(session, "COMMIT");
	if (rc != NB_OK)
		do_query(session, 0, "ROLLBACK", NULL);
	return rc;
}

static void
abort_txn(struct nb_session *session)
{
	(void)end_txn(session, "ROLLBACK");
}

/* --- several at once --- */

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
	if (rc == NB_CONFLICT) { /* a transaction that lost: each of its gets says so */
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

static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	if (count == 0)
		return NB_OK;
	return pipeline_execute(&session->pipeline, steps, count, flags);
}

enum { ROWS_BYTES = 1 << 20 }; /* of a command with several rows, unless one row has more */

/** How many writes from the first on one command can take: a power of two, or one. */
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
 * Several commands are one transaction. A deadlock ends it in their midst, and what follows
 * must not be committed by itself, as it would be after BEGIN. So autocommit is off meanwhile,
 * and COMMIT or ROLLBACK is sent when all is answered.
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
	int ended = do_query(
		session, server, rc == NB_OK ? "COMMIT" : "ROLLBACK", "SET autocommit=1");
	return rc != NB_OK ? rc : ended;
}

/** The writes of each server alone. */
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

/* --- scans: pages of a SELECT --- */

enum { PAGE_FIRST = 16, PAGE_MAX = 1024, PAGE_BYTES = 256 << 10 };

static const struct sql_table *
scanned_table(const struct nb_session *session)
{
	return &session->db->tables[session->db->by_prefix[session->scan.place]];
}

/** The parameters of add_bound() in schema.c. */
static void
add_bound(struct command *command, const struct nb_table *of, const struct nb_slice *parts)
{
	for (uint32_t last = 0; last < of->key_column_count; last++)
		for (uint32_t i = 0; i <= last; i++)
			if (of->key_columns[i].type == NB_COLUMN_BYTES)
				command_bytes(command, parts[i]);
			else
				command_number(command, sql_key_number(parts[i]));
}

/** The SELECT of the next page, from scan->from on. */
static bool
add_page(struct nb_session *session)
{
	struct scan *scan = &session->scan;
	const struct sql_table *table = scanned_table(session);
	const struct nb_table *of = table->of;
	struct nb_slice parts[SQL_COLUMNS_MAX];
	char *room = session->key.data; /* as long as a key */
	bool is_down = (scan->bits & SCAN_DOWN) != 0;
	int how = sql_pad_key(of, buffer_slice(&scan->from), 0, room, parts);
	/* A shorter one is below all keys that it begins, a longer one above. */
	bool is_beyond = scan->is_beyond || (is_down ? how < 0 : how > 0);
	uint32_t kind = SCAN + (scan->bits | (is_beyond ? SCAN_BEYOND : 0));
	struct command command;
	char *to = message_room(session,
		command_bound(table->scan_parameters) +
			table->scan_parameters * (scan->from.size + 8));
	if (to == NULL)
		return false;
	command_begin(&command, to,
		session->connections[0]
			.statements[(table - session->db->tables) * STATEMENTS + kind],
		table->scan_parameters);
	add_bound(&command, of, parts);
	command_number(&command, scan->limit);
	message_wrote(session, command_end(&command));
	return true;
}

static bool
page_reserve(struct page *page, uint64_t rows)
{
	struct nb_slice *room = page->room >= rows
		? page->rows
		: realloc(page->rows, rows * sizeof(*page->rows));
	if (room == NULL)
		return false;
	page->rows = room;
	page->room = page->room >= rows ? page->room : rows;
	page->count = page->next = page->bytes = 0;
	return true;
}

/** The key that is above, or below, all of the table. */
static bool
from_end(struct scan *scan, const struct nb_table *of)
{
	size_t fixed = sql_fixed_size(of->key_columns, of->key_column_count);
	scan->from.size = 0;
	scan->is_beyond = scan->is_whole = false;
	if ((scan->bits & SCAN_DOWN) == 0)
		return true;
	scan->from.size = sql_is_open(of->key_columns, of->key_column_count) ? KEY_SIZE_MAX
									     : fixed;
	if (!buffer_reserve(&scan->from, scan->from.size))
		return false;
	memset(scan->from.data, 0xff, scan->from.size);
	return true;
}

/* Pages that follow one another without a limit are read in one snapshot. */
static int
fetch_page(struct nb_session *session)
{
	struct scan *scan = &session->scan;
	bool begins_txn = !scan->is_one_page && !session->is_in_txn && !scan->has_txn;
	message_begin(session, 0);
	if (scan->is_whole && !from_end(scan, scanned_table(session)->of))
		return session->db->host->fail(NB_FAIL, "out of memory");
	if (!page_reserve(&session->page, scan->limit))
		return session->db->host->fail(NB_FAIL, "out of memory");
	if (begins_txn &&
		(!message_query(session, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ") ||
			!message_query(session,
				"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")))
		return NB_FAIL;
	scan->has_txn |= begins_txn;
	if (!add_page(session))
		return NB_FAIL;
	int rc = message_send(session);
	struct page *page = &session->page;
	page->is_short = page->count < scan->limit;
	if (page->bytes < PAGE_BYTES && scan->limit < PAGE_MAX)
		scan->limit *= 4;
	scan->is_one_page = false;
	return rc;
}

/** The place in by_prefix, and the key without its prefix, where a scan begins. */
static bool
scan_seek(struct nb_session *session, struct nb_slice from)
{
	const struct nb_db *db = session->db;
	struct scan *scan = &session->scan;
	bool is_down = (scan->bits & SCAN_DOWN) != 0;
	uint32_t i, place = db->table_count;
	scan->is_whole = true;
	for (i = 0; i < db->table_count; i++) {
		uint32_t at = is_down ? db->table_count - 1 - i : i;
		struct nb_slice prefix = db->of[db->by_prefix[at]].prefix;
		size_t size = prefix.size < from.size ? prefix.size : from.size;
		int order = memcmp(address(prefix), address(from), size);
		bool is_in = order == 0 && size == prefix.size;
		if (from.size == 0 || is_in ||
			(is_down ? order < 0 : order > 0 || (order == 0))) {
			place = at;
			scan->is_whole = from.size == 0 || !is_in;
			from = sql_strip(&db->of[db->by_prefix[at]], from);
			break;
		}
	}
	scan->place = place;
	scan->is_beyond = false;
	return scan->is_whole || buffer_set(&scan->from, from.data, from.size);
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct scan *scan = &session->scan;
	if (session->db->target_count > 1)
		return session->db->host->fail(NB_UNSUPPORTED,
			"a scan cannot go over several servers; name one server");
	scan->bits = ((args->flags & NB_SCAN_KEYS_ONLY) != 0 ? SCAN_KEYS : 0) |
		((args->flags & NB_SCAN_BACKWARD) != 0 ? SCAN_DOWN : 0);
	scan->has_txn = false;
	bool has_limit = args->limit != 0 && args->limit < PAGE_MAX;
	/* One row more tells whether the limit is the end, without another SELECT. */
	scan->limit = has_limit ? args->limit + 1 : PAGE_FIRST;
	scan->is_one_page = has_limit && session->db->table_count == 1;
	session->page.count = session->page.next = 0;
	session->page.is_short = false;
	return scan_seek(session, args->from)
		? NB_OK
		: session->db->host->fail(NB_FAIL, "out of memory");
}

/** Go on after the last row, or with the next table. */
static int
scan_turn(struct nb_session *session)
{
	struct scan *scan = &session->scan;
	const struct nb_db *db = session->db;
	bool is_down = (scan->bits & SCAN_DOWN) != 0;
	if (session->page.is_short) {
		scan->place = !is_down    ? scan->place + 1
			: scan->place > 0 ? scan->place - 1
					  : db->table_count;
		scan->is_whole = true;
		session->page.is_short = false;
	}
	if (scan->place >= db->table_count)
		return NB_NOT_FOUND;
	pipeline_release(&session->pipeline);
	return fetch_page(session);
}

static int
scan_row(struct nb_session *session, struct nb_slice packet, struct nb_slice *key,
	struct nb_slice *value)
{
	const struct nb_table *of = scanned_table(session)->of;
	struct scan *scan = &session->scan;
	struct page *page = &session->page;
	bool is_keys = (scan->bits & SCAN_KEYS) != 0;
	struct row row;
	uint32_t columns = of->key_column_count + (is_keys ? 0 : of->value_column_count);
	char *payload = (char *)packet.data;
	*value = (struct nb_slice){0};
	if (!row_begin(&row, payload, packet.size, columns, false) ||
		!row_key(&row, of->key_columns, of->key_column_count, of->prefix,
			session->key.data, key) ||
		(!is_keys &&
			!row_value(&row, of->value_columns, of->value_column_count, value)))
		return session->db->host->fail(
			NB_FAIL, "%s: a row is not as its table", session->db->targets[0]);
	scan->is_beyond = true;
	struct nb_slice stripped = sql_strip(of, *key);
	if (page->next == page->count && !buffer_set(&scan->from, stripped.data, stripped.size))
		return session->db->host->fail(NB_FAIL, "out of memory");
	return NB_OK;
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct page *page = &session->page;
	int rc = NB_OK;
	while (rc == NB_OK && page->next == page->count)
		rc = scan_turn(session);
	return rc == NB_OK ? scan_row(session, page->rows[page->next++], key, value) : rc;
}

static int
scan_close(struct nb_session *session)
{
	bool has_txn = session->scan.has_txn;
	session->page.count = session->page.next = 0;
	session->scan.has_txn = false;
	pipeline_release(&session->pipeline);
	return has_txn ? do_query(session, 0, "COMMIT", NULL) : NB_OK;
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
