/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions: requests become packets, and packets become answers.
 *
 * - The library connects, logs in and prepares statements. Then the plugin itself writes and
 *   reads packets, because the library cannot have several requests in flight. The server
 *   reads the next packet from its buffer after each answer, so many packets may wait there.
 * - A request is one packet that does not depend on earlier ones, so an error affects only
 *   one request.
 * - begin is not sent separately, but with the next request of the session.
 */
#include "internal.h"

#define OWN_VERB CODEC_VERB

enum { ER_DUP_ENTRY = 1062, ER_BAD_NULL = 1048 };
enum { ER_CHECKREAD = 1020, ER_LOCK_WAIT_TIMEOUT = 1205, ER_LOCK_DEADLOCK = 1213 };
enum { TIDB_WRITE_CONFLICT = 9007 };

const struct sql_table *
table_of(const struct nb_db *db, struct nb_slice key)
{
	const struct nb_table *of = sql_table_of(db->of, db->table_count, key);
	return of != NULL ? &db->tables[of - db->of] : NULL;
}

/* --- answers --- */

/** Set the answer for an error from the server. */
static void
take_error(struct flying *flying, const struct reading *reading)
{
	if (flying->answer != NB_OK)
		return; /* only the first error counts */
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
		return false; /* more than LIMIT */
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

/**
 * Process a packet. Returns whether it is valid here. *is_last: it is the request's last
 * packet.
 */
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

/** Process all complete packets of the request, in one call if possible. */
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
		flying->replies = 2; /* expect another reply with the remaining packets */
	return at;
}

/* --- requests --- */

static size_t
bound_of_record(
	struct nb_session *session, struct flying *flying, const struct nb_request *request)
{
	const struct nb_db *db = session->db;
	const struct sql_table *table = table_of(db, request->key);
	if (table == NULL)
		return flying_refuse(flying, NB_FAIL, "no table has a prefix of this key");
	const struct nb_table *of = table->of;
	struct nb_slice parts[SQL_COLUMNS_MAX];
	bool has_value = request->verb == NB_REQ_PUT || request->verb == NB_REQ_INSERT;
	size_t size = request->key.size + (has_value ? request->value.size : 8);
	if (!sql_split(of->key_columns, of->key_column_count, sql_strip(of, request->key),
		    parts) ||
		(has_value &&
			!sql_split(of->value_columns, of->value_column_count, request->value,
				parts)))
		return flying_refuse(flying, NB_FAIL,
			"the key or the value does not fit the table's columns");
	if (request->verb == NB_REQ_MERGE && !table->can_merge)
		return flying_refuse(flying, NB_UNSUPPORTED,
			"merge: the table's values are not one column of 8 bytes");
	if (size > db->packet_max - (64 << 10))
		return flying_refuse(flying, NB_UNSUPPORTED,
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
		size = flying_refuse(flying, NB_UNSUPPORTED, "unknown verb");
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

/* The stream gets a duplicate of the socket, because the library closes its own. */
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

int
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

/* The server rolls back open transactions when the connection ends. */
int
session_close(struct nb_session *session)
{
	pipeline_close(&session->pipeline);
	session_free(session);
	return NB_OK;
}

/* --- commands of the verbs --- */

void
message_begin(struct nb_session *session, uint32_t server)
{
	session->message.bytes.size = 0;
	session->message.commands = 0;
	session->message.server = server;
}

char *
message_room(struct nb_session *session, size_t size)
{
	struct buffer *bytes = &session->message.bytes;
	if (buffer_reserve(bytes, bytes->size + size))
		return bytes->data + bytes->size;
	(void)session->db->host->fail(NB_FAIL, "out of memory");
	return NULL;
}

void
message_wrote(struct nb_session *session, const char *end)
{
	struct message *message = &session->message;
	message->bytes.size = (size_t)(end - message->bytes.data);
	message->commands++;
}

bool
message_query(struct nb_session *session, const char *text)
{
	char *to = message_room(session, QUERY_HEAD + strlen(text));
	if (to != NULL)
		message_wrote(session, query_write(to, text));
	return to != NULL;
}

int
message_send(struct nb_session *session)
{
	const struct nb_request request = {
		.verb = OWN_VERB, .steps = (struct nb_step *)(void *)&session->message};
	return pipeline_do(&session->pipeline, &request, NULL);
}

int
message_do(struct nb_session *session, uint32_t server, const char *first, const char *second)
{
	message_begin(session, server);
	if (!message_query(session, first) ||
		(second != NULL && !message_query(session, second)))
		return NB_FAIL;
	return message_send(session);
}
