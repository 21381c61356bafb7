/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests as commands, and their replies.
 *
 * - execute is MGET if all steps are gets, and MSET if all are puts. It is a MULTI/EXEC
 *   transaction if gets, puts and deletes are mixed, and a script if a step depends on a
 *   result. The server executes each of these atomically.
 * - In a cluster, a node refuses a key that it does not own. MOVED: another node owns the
 *   slot, and the map is updated. ASK: the key is migrating to another node, which accepts
 *   it after ASKING; the map does not change. TRYAGAIN, CLUSTERDOWN: retry later. The
 *   pipeline sends such requests again, in order. A transaction is refused while its
 *   commands are queued; EXEC only reports the abort.
 *
 * Updating the map on ASK would make numbers wrong. It would send all keys of a slot to a
 * node that has only some of them. Requests for the other keys would be redirected back.
 */
#include "redis.h"

#include <inttypes.h>

/* Lowest byte of a request's own[0]: the form of its execute. */
enum { FORM_MGET = 1, FORM_MSET, FORM_MULTI, FORM_SCRIPT, FORM_MASK = 255 };

/*
 * own[1]: flags of a refusal; the number of retries from TRIES_SHIFT on; from SLOT_SHIFT on,
 * the slot plus 1 for which ASK redirected the request. own[0], above the form: the server
 * to send the request to again.
 */
enum { IS_ASKING = 1, IS_REFUSED = 2, IS_AGAIN = 4 };
enum { TRIES_SHIFT = 8, SLOT_SHIFT = 32, SERVER_SHIFT = 32 };

enum {
	TRIES_MAX = 1000,
	TRIES_AT_ONCE = 100, /* each later try follows a long pause */
	FIXED = 160,         /* maximum size of a command without keys and values */
	STEP_FIXED = 64,     /* likewise for a command within MULTI */
	STEP_ARGUMENTS = 4
};

#define RETRY_FIRST_NS UINT64_C(1000000)
#define RETRY_LONGEST_NS UINT64_C(50000000)

/* --- execute --- */

static uint32_t
form_of(const struct flying *flying)
{
	uint32_t verbs = 0;
	bool is_plain = true;
	for (size_t i = 0; i < flying->step_count; i++) {
		const struct nb_step *step = &flying->steps[i];
		if (step->verb > NB_STEP_PUT_IF_NEWER)
			return 0;
		verbs |= 1u << step->verb;
		is_plain &= step->skips == 0 || step->verb == NB_STEP_PUT;
	}
	if (verbs >= 1u << (NB_STEP_DEL + 1) || !is_plain)
		return FORM_SCRIPT;
	return verbs == 1u << NB_STEP_GET    ? FORM_MGET
		: verbs == 1u << NB_STEP_PUT ? FORM_MSET
					     : FORM_MULTI;
}

static uint32_t
form(const struct flying *flying)
{
	return flying->own[0] & FORM_MASK;
}

static size_t
bound_execute(const struct nb_session *session, struct flying *flying)
{
	size_t bound = FIXED;
	uint32_t known = NB_EXEC_ATOMIC | NB_EXEC_SNAPSHOT | NB_EXEC_READ_ONLY;
	if (flying->step_count == 0)
		return 0; /* answer is NB_OK */
	if ((flying->flags & ~known) != 0)
		return flying_refuse(flying, NB_UNSUPPORTED, "execute: unknown flag");
	if ((flying->own[0] = form_of(flying)) == 0)
		return flying_refuse(flying, NB_UNSUPPORTED,
			"execute: Redis keeps no order of keys to find a prefix, and has no other steps");
	if (form(flying) == FORM_SCRIPT && session->db->execute_sha[0] == '\0')
		return flying_refuse(
			flying, NB_UNSUPPORTED, "execute: the server has no scripts");
	if (!route_is_one(session, flying->steps, flying->step_count))
		return flying_refuse(flying, NB_UNSUPPORTED,
			session->map != NULL
				? "execute: the keys are not in one slot of the cluster"
				: "execute: the keys are not on one server");
	for (size_t i = 0; i < flying->step_count; i++)
		bound += STEP_FIXED + STEP_ARGUMENTS * RESP_ROOM + flying->steps[i].key.size +
			flying->steps[i].value.size;
	return bound;
}

static char *
encode_text_number(char *to, uint64_t number)
{
	char digits[RESP_DIGITS];
	return resp_bulk(to, digits, (size_t)(resp_number(digits, number) - digits));
}

static char *
encode_sha(char *to, const char *sha, uint64_t arguments, uint64_t keys)
{
	to = resp_command(to, 3 + arguments);
	to = RESP_TEXT(to, "$7\r\nEVALSHA\r\n");
	to = resp_bulk(to, sha, SHA_SIZE);
	return encode_text_number(to, keys);
}

static char *
encode_script(const struct nb_session *session, const struct flying *flying, char *to)
{
	uint64_t count = flying->step_count;
	to = encode_sha(to, session->db->execute_sha, count + STEP_ARGUMENTS * count, count);
	for (size_t i = 0; i < count; i++)
		to = resp_slice(to, flying->steps[i].key);
	for (size_t i = 0; i < count; i++) {
		const struct nb_step *step = &flying->steps[i];
		to = encode_text_number(to, step->verb);
		to = encode_text_number(to, step->skips);
		to = step->verb == NB_STEP_MERGE
			? resp_bulk(to, &step->operand, sizeof(step->operand))
			: resp_slice(to, step->value);
		to = encode_text_number(to, step->operand);
	}
	return to;
}

static char *
encode_get(char *to, struct nb_slice key)
{
	return resp_slice(RESP_TEXT(to, "*2\r\n$3\r\nGET\r\n"), key);
}

static char *
encode_set(char *to, struct nb_slice key, struct nb_slice value)
{
	return resp_slice(resp_slice(RESP_TEXT(to, "*3\r\n$3\r\nSET\r\n"), key), value);
}

static char *
encode_del(char *to, struct nb_slice key)
{
	return resp_slice(RESP_TEXT(to, "*2\r\n$3\r\nDEL\r\n"), key);
}

static char *
encode_multi(struct flying *flying, char *to)
{
	to = RESP_TEXT(to, "*1\r\n$5\r\nMULTI\r\n");
	for (size_t i = 0; i < flying->step_count; i++) {
		const struct nb_step *step = &flying->steps[i];
		to = step->verb == NB_STEP_GET      ? encode_get(to, step->key)
			: step->verb == NB_STEP_PUT ? encode_set(to, step->key, step->value)
						    : encode_del(to, step->key);
	}
	return RESP_TEXT(to, "*1\r\n$4\r\nEXEC\r\n");
}

static char *
encode_execute(const struct nb_session *session, struct flying *flying, char *to)
{
	bool is_mget = form(flying) == FORM_MGET;
	if (form(flying) == FORM_SCRIPT)
		return encode_script(session, flying, to);
	if (form(flying) == FORM_MULTI)
		return encode_multi(flying, to);
	to = resp_command(to, 1 + flying->step_count * (is_mget ? 1 : 2));
	to = is_mget ? RESP_TEXT(to, "$4\r\nMGET\r\n") : RESP_TEXT(to, "$4\r\nMSET\r\n");
	for (size_t i = 0; i < flying->step_count; i++) {
		to = resp_slice(to, flying->steps[i].key);
		if (!is_mget)
			to = resp_slice(to, flying->steps[i].value);
	}
	return to;
}

/** Number of replies to a request that was not refused. */
static uint32_t
replies_of(const struct flying *flying)
{
	return form(flying) == FORM_MULTI ? (uint32_t)flying->step_count + 2 : 1;
}

/* --- requests --- */

static size_t
bound_request(void *own, struct flying *flying, const struct nb_request *request)
{
	struct nb_session *session = own;
	size_t bound = FIXED + request->key.size + request->value.size;
	if (request->verb == NB_REQ_EXECUTE)
		bound = bound_execute(session, flying);
	else if (request->verb == NB_REQ_MERGE && session->db->merge_sha[0] == '\0')
		bound = flying_refuse(
			flying, NB_UNSUPPORTED, "merge: the server has no scripts");
	else if (request->verb > NB_REQ_EXECUTE)
		bound = flying_refuse(flying, NB_UNSUPPORTED, "unknown request");
	if (bound == 0)
		return 0;
	flying->answer = route_take_turn(session, flying, request);
	return flying->answer == NB_OK ? bound : 0;
}

static char *
encode_request(void *own, struct flying *flying, const struct nb_request *request, char *to)
{
	const struct nb_session *session = own;
	switch (request->verb) {
	case NB_REQ_GET:
		return encode_get(to, request->key);
	case NB_REQ_PUT:
		return encode_set(to, request->key, request->value);
	case NB_REQ_DEL:
		return encode_del(to, request->key);
	case NB_REQ_INSERT:
		to = RESP_TEXT(to, "*4\r\n$3\r\nSET\r\n");
		to = resp_slice(resp_slice(to, request->key), request->value);
		return RESP_TEXT(to, "$2\r\nNX\r\n");
	case NB_REQ_MERGE:
		to = encode_sha(to, session->db->merge_sha, 2, 1);
		to = resp_slice(to, request->key);
		return resp_bulk(to, &request->operand, sizeof(request->operand));
	default:
		flying->replies = replies_of(flying);
		return encode_execute(session, flying, to);
	}
}

/* --- refusals --- */

static void
set_error(struct nb_session *session, struct flying *flying, const struct resp_reply *error)
{
	const char *address = session->pipeline.servers[flying->server]->stream.address;
	snprintf(session->text, sizeof(session->text), "%s: %.*s%s", address, (int)error->size,
		error->text, error_hint(error));
	flying->answer = NB_FAIL;
	flying->error = session->text;
}

/** Connect to a newly discovered node. */
static int
add_node(struct nb_session *session, uint32_t node)
{
	struct pipeline *pipeline = &session->pipeline;
	int rc = NB_OK;
	while (rc == NB_OK && pipeline->server_count < (node + 1) * session->db->connections)
		rc = pipeline_add_server(pipeline, session->map->nodes[node]);
	return rc;
}

static void
send_again_to(struct flying *flying, uint32_t server)
{
	flying->own[0] = (flying->own[0] & UINT32_MAX) | (uint64_t)server << SERVER_SHIFT;
	flying->own[1] |= IS_AGAIN;
}

/** The connection to another node that has the same number as the request's connection. */
static uint32_t
server_at(const struct nb_session *session, const struct flying *flying, uint32_t node)
{
	uint32_t connections = session->db->connections;
	return node * connections + flying->server % connections;
}

/** Returns false if a request was refused too often, for example if two nodes name each other. */
static bool
may_try_again(struct nb_session *session, struct flying *flying, const struct resp_reply *error)
{
	uint32_t tries = (uint32_t)flying->own[1] >> TRIES_SHIFT;
	if (tries == TRIES_MAX) {
		set_error(session, flying, error);
		return false;
	}
	if (tries >= TRIES_AT_ONCE)
		flying->wait_ns = RETRY_LONGEST_NS;
	flying->own[1] += 1u << TRIES_SHIFT;
	return true;
}

static void
redirect(struct nb_session *session, struct flying *flying, const char *address, uint32_t slot,
	bool is_moved)
{
	struct slot_map *map = session->map;
	struct nb_db *db = session->db;
	uint32_t node = slot_node(map, address);
	if (node == SLOT_NONE) {
		flying->answer = NB_FAIL;
		flying->error = "the cluster has more nodes than the plugin can keep";
		return;
	}
	if (is_moved)
		map->owner[slot] = map->replica[slot] = (uint16_t)node;
	else
		flying->own[1] |= IS_ASKING | (uint64_t)(slot + 1) << SLOT_SHIFT;
	__atomic_fetch_add(is_moved ? &db->moved : &db->asked, 1, __ATOMIC_RELAXED);
	flying->answer = add_node(session, node);
	if (flying->answer == NB_OK) /* otherwise add_node() has called fail() */
		send_again_to(flying, server_at(session, flying, node));
}

/** Send the request again later. If ASK redirected it, send it to the owner of the slot. */
static void
put_off(struct nb_session *session, struct flying *flying)
{
	uint32_t asked = (uint32_t)(flying->own[1] >> SLOT_SHIFT);
	if (flying->wait_ns == 0)
		flying->wait_ns = RETRY_FIRST_NS;
	__atomic_fetch_add(&session->db->retried, 1, __ATOMIC_RELAXED);
	uint32_t owner = asked != 0 ? session->map->owner[asked - 1] : SLOT_NONE;
	send_again_to(flying,
		owner == SLOT_NONE ? flying->server : server_at(session, flying, owner));
}

/** A request's first error contains the reason of a refusal; EXEC only reports the refusal. */
static void
take_error(struct nb_session *session, struct flying *flying, const struct resp_reply *error)
{
	char address[SLOT_ADDRESS];
	uint32_t slot;
	if ((flying->own[1] & IS_REFUSED) != 0)
		return;
	flying->own[1] = (flying->own[1] & ~(uint64_t)IS_ASKING) | IS_REFUSED;
	const char *asked = session->pipeline.servers[flying->server]->stream.address;
	bool is_late = resp_begins(error, "TRYAGAIN") || resp_begins(error, "CLUSTERDOWN");
	bool is_elsewhere = slot_redirection(error, asked, &slot, address);
	if (session->map == NULL || !(is_late || is_elsewhere))
		set_error(session, flying, error);
	else if (may_try_again(session, flying, error)) {
		if (is_elsewhere)
			redirect(session, flying, address, slot, resp_begins(error, "MOVED"));
		else
			put_off(session, flying);
	}
}

/** After the last reply: whether the request is refused. */
static bool
is_refused(struct flying *flying)
{
	if ((flying->own[1] & IS_REFUSED) == 0)
		return false;
	if ((flying->own[1] & IS_AGAIN) != 0) {
		flying->is_again = 1;
		flying->server = (uint32_t)(flying->own[0] >> SERVER_SHIFT);
	}
	flying->own[1] &= ~(uint64_t)(IS_REFUSED | IS_AGAIN);
	return true;
}

static char *
encode_again(void *own, struct flying *flying, const char *kept, size_t size, char *to)
{
	flying->replies = replies_of(flying);
	if ((flying->own[1] & IS_ASKING) != 0) {
		to = RESP_TEXT(to, "*1\r\n$6\r\nASKING\r\n");
		flying->replies++;
	}
	return resp_bytes(to, kept, size);
}

/* --- replies --- */

static void
take_unexpected(struct flying *flying)
{
	flying->answer = NB_FAIL;
	flying->error = "the server answered with another type of reply than the command has";
}

static int32_t
answer_of(uint32_t verb, const struct resp_reply *reply, struct nb_slice *value)
{
	if (verb == NB_REQ_GET && reply->type == RESP_BULK) {
		*value = (struct nb_slice){reply->text, reply->size};
		return NB_OK;
	}
	if (reply->type == RESP_STATUS && (verb == NB_REQ_PUT || verb == NB_REQ_INSERT))
		return NB_OK;
	if (reply->type == RESP_NIL && (verb == NB_REQ_GET || verb == NB_REQ_INSERT))
		return verb == NB_REQ_GET ? NB_NOT_FOUND : NB_EXISTS;
	if (reply->type == RESP_INTEGER && verb == NB_REQ_DEL)
		return reply->number == 0 ? NB_NOT_FOUND : NB_OK;
	return reply->type == RESP_INTEGER && verb == NB_REQ_MERGE ? NB_OK : NB_FAIL;
}

/** Read a step's answer from an array of answers. Returns its size; 0: invalid. */
static size_t
take_step(struct nb_session *session, struct flying *flying, struct nb_step *step,
	const char *bytes, size_t size)
{
	struct resp_reply reply;
	ptrdiff_t used = resp_read(bytes, size, &reply);
	bool is_script = form(flying) == FORM_SCRIPT;
	if (used <= 0 || reply.type == RESP_ARRAY)
		return 0;
	if (reply.type == RESP_ERROR) {
		set_error(session, flying, &reply);
		return (size_t)used;
	}
	step->answer = is_script && reply.type == RESP_INTEGER
		? (int32_t)reply.number
		/* step verbs up to NB_STEP_DEL equal the request verbs */
		: answer_of(step->verb, &reply, &step->value);
	return step->answer >= 0 ? (size_t)used : 0;
}

static void
take_steps(struct nb_session *session, struct flying *flying, const struct resp_reply *reply,
	const char *bytes, size_t size)
{
	if (form(flying) == FORM_MSET && reply->type == RESP_STATUS) {
		for (size_t i = 0; i < flying->step_count; i++)
			flying->steps[i].answer = NB_OK;
		return;
	}
	if (reply->type != RESP_ARRAY || (uint64_t)reply->number != flying->step_count) {
		take_unexpected(flying);
		return;
	}
	for (size_t i = 0; i < flying->step_count; i++) {
		size_t used = take_step(session, flying, &flying->steps[i], bytes, size);
		if (used == 0) {
			take_unexpected(flying);
			return;
		}
		bytes += used;
		size -= used;
	}
}

/** Process a request's last reply, which is complete. `header`: size of its first line. */
static void
take_reply(struct nb_session *session, struct flying *flying, const struct resp_reply *reply,
	const char *bytes, size_t header, size_t size)
{
	bool was_refused = __builtin_expect(flying->own[1] != 0, 0) && is_refused(flying);
	if (session->turns != NULL && flying->is_again == 0)
		route_end_turn(session, flying);
	if (was_refused)
		return;
	if (flying->verb == NB_REQ_EXECUTE) {
		take_steps(session, flying, reply, bytes + header, size - header);
		return;
	}
	flying->answer = answer_of(flying->verb, reply, &flying->value);
	if (flying->answer == NB_FAIL)
		take_unexpected(flying);
}

static size_t
decode_reply(void *own, struct flying *flying, char *bytes, size_t size, size_t *need)
{
	struct nb_session *session = own;
	struct resp_reply reply = {.type = RESP_NIL};
	ptrdiff_t header = resp_read(bytes, size, &reply);
	ptrdiff_t used = header > 0 && reply.type == RESP_ARRAY ? resp_skip(bytes, size)
								: header;
	if (__builtin_expect(used <= 0, 0)) {
		if (used == 0 && header == 0 && reply.type == RESP_BULK && reply.text != NULL)
			*need = (size_t)(reply.text - bytes) + reply.size + 2;
		return used == 0 ? 0 : CODEC_GARBAGE;
	}
	if (__builtin_expect(reply.type == RESP_ERROR, 0))
		take_error(session, flying, &reply);
	if (flying->replies == 1)
		take_reply(session, flying, &reply, bytes, (size_t)header, (size_t)used);
	return (size_t)used;
}

/** A node that joined the cluster after the database was opened lacks the scripts. */
static int
connect_server(void *own, uint32_t server, struct stream *stream, const char *address)
{
	const struct nb_session *session = own;
	const struct nb_db *db = session->db;
	bool is_new = server >= db->address_count * db->connections;
	int rc = stream_open(stream, db->host, address, &db->stream);
	if (rc != NB_OK)
		return rc;
	rc = connection_hello(stream, db);
	if (rc == NB_OK && is_new && db->merge_sha[0] != '\0') {
		struct nb_db scripts = {0}; /* the scripts have the same hashes there */
		rc = connection_load_scripts(stream, &scripts);
	}
	if (rc == NB_OK)
		return rc;
	stream_close(stream);
	return rc < 0 ? rc : db->host->fail(NB_FAIL, "%s: the node runs no scripts", address);
}

#define CODEC \
	.bound = bound_request, .encode = encode_request, .decode = decode_reply, \
	.server = route_server, .connect = connect_server

/* One or several servers; the server of a key never changes. */
const struct codec redis_codec = {.name = "Redis", CODEC};

const struct codec redis_cluster_codec = {
	.name = "Redis Cluster", .flags = CODEC_KEEPS, CODEC, .again = encode_again};
