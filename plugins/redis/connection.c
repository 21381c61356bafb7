/* SPDX-License-Identifier: BSD-2-Clause */
/* Synchronous commands of one connection: all except the requests of a run. */
#include "redis.h"

static int
send_command(struct stream *stream, const char *const *arguments)
{
	size_t count = 0, size = RESP_ROOM;
	for (; arguments[count] != NULL; count++)
		size += RESP_ROOM + strlen(arguments[count]);
	char *from = stream_room(stream, size);
	if (from == NULL)
		return NB_FAIL;
	char *to = resp_command(from, count);
	for (size_t i = 0; i < count; i++)
		to = resp_bulk(to, arguments[i], strlen(arguments[i]));
	stream_wrote(stream, (size_t)(to - from));
	return NB_OK;
}

int
connection_call(struct stream *stream, struct call *call, uint64_t timeout_ns,
	const char *const *arguments)
{
	int rc = send_command(stream, arguments);
	if (rc == NB_OK)
		rc = stream_flush(stream, timeout_ns);
	while (rc == NB_OK) {
		size_t have;
		const char *front = stream_front(stream, &have);
		ptrdiff_t used = resp_skip(front, have);
		if (used < 0)
			return stream_fail(stream, "%s: the answer is not RESP", arguments[0]);
		if (used > 0) {
			resp_read(front, have, &call->reply);
			call->bytes = front;
			call->size = (size_t)used;
			stream_consume(stream, (size_t)used);
			return NB_OK;
		}
		rc = stream_receive(stream, have + 1, timeout_ns);
	}
	return rc;
}

const char *
error_hint(const struct resp_reply *error)
{
	if (resp_begins(error, "NOAUTH"))
		return " Set the environment variable REDISCLI_AUTH to the password.";
	return resp_begins(error, "MOVED") ? "; a node of a cluster needs -o cluster=yes" : "";
}

int
connection_refused(struct stream *stream, const char *command, const struct resp_reply *error)
{
	return stream_fail(stream, "%s: %.*s%s", command, (int)error->size, error->text,
		error_hint(error));
}

int
connection_order(struct stream *stream, struct call *call, uint64_t timeout_ns,
	const char *const *arguments)
{
	int rc = connection_call(stream, call, timeout_ns, arguments);
	return rc != NB_OK || call->reply.type != RESP_ERROR
		? rc
		: connection_refused(stream, arguments[0], &call->reply);
}

int
connection_hello(struct stream *stream, const struct nb_db *db)
{
	struct call call;
	char number[24];
	int rc = NB_OK;
	if (db->password != NULL && db->user != NULL)
		rc = CONNECTION_ORDER(stream, &call, "AUTH", db->user, db->password);
	else if (db->password != NULL)
		rc = CONNECTION_ORDER(stream, &call, "AUTH", db->password);
	if (rc == NB_OK && db->number != 0) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)db->number);
		rc = CONNECTION_ORDER(stream, &call, "SELECT", number);
	}
	if (rc == NB_OK && db->is_cluster && db->reads_replicas)
		rc = CONNECTION_ORDER(stream, &call, "READONLY");
	return rc;
}

static int
load_script(struct stream *stream, const char *script, char sha[SHA_SIZE + 1])
{
	struct call call;
	int rc = CONNECTION_CALL(stream, &call, "SCRIPT", "LOAD", script);
	bool is_loaded = rc == NB_OK && call.reply.type == RESP_BULK &&
		call.reply.size == SHA_SIZE;
	if (is_loaded)
		memcpy(sha, call.reply.text, SHA_SIZE);
	sha[is_loaded ? SHA_SIZE : 0] = '\0';
	return rc;
}

int
connection_load_scripts(struct stream *stream, struct nb_db *db)
{
	char merge_sha[SHA_SIZE + 1], execute_sha[SHA_SIZE + 1];
	int rc = load_script(stream, merge_script, merge_sha);
	if (rc == NB_OK)
		rc = load_script(stream, execute_script, execute_sha);
	if (rc != NB_OK)
		return rc;
	if (merge_sha[0] == '\0' || execute_sha[0] == '\0')
		return NB_NOT_FOUND;
	memcpy(db->merge_sha, merge_sha, sizeof(merge_sha));
	memcpy(db->execute_sha, execute_sha, sizeof(execute_sha));
	return NB_OK;
}

bool
call_contains(const struct call *call, const char *text)
{
	return call->reply.type == RESP_BULK &&
		memmem(call->reply.text, call->reply.size, text, strlen(text)) != NULL;
}
