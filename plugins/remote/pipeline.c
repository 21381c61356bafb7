/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests in flight over one connection to each server.
 *
 * A request gets a slot when it is taken. Each server has a ring with the slots of its
 * unanswered requests, oldest first. An answered request of submit moves from there to the
 * ring of completions, which reap empties. The result of a waiting verb is written where the
 * verb expects it. Waiting verbs have separate slots, so they find room even if submit has
 * taken all of its slots.
 *
 * Encoded requests are sent after submit, or the verb, has encoded its last request. If they
 * exceed PUSH_BYTES they are sent earlier, so the server begins while the rest is being
 * encoded.
 *
 * A request that is sent again (a cluster that moves keys) must stay in order with the other
 * requests for its key. So after the first such reply no new request is taken until all
 * requests in flight are answered. Then the refused requests are sent again in the order of
 * their refusals. For each key, this is the order in which they were taken.
 */
#include "pipeline.h"

#include <stdlib.h>

enum {
	LIMIT = 64,   /* of submit, if the host gives no limit */
	WAITING = 64, /* slots of waiting verbs */
	PUSH_BYTES = 256 << 10,
	AGAIN_NS = 100000 /* interval of checks whether requests may be sent again */
};

/* ---- open and close ---- */

static int
fail_memory(struct pipeline *pipeline)
{
	return pipeline->config.host->fail(NB_FAIL, "out of memory for requests in flight");
}

static int
connect_to(struct pipeline *pipeline, struct stream *stream, const char *address)
{
	const struct pipeline_config *config = &pipeline->config;
	if (config->codec->connect != NULL)
		return config->codec->connect(
			config->own, pipeline->server_count, stream, address);
	return stream_open(stream, config->host, address, &config->stream);
}

int
pipeline_add_server(struct pipeline *pipeline, const char *address)
{
	uint32_t count = pipeline->server_count + 1;
	void *servers = realloc(pipeline->servers, count * sizeof(*pipeline->servers));
	if (servers == NULL)
		return fail_memory(pipeline);
	pipeline->servers = servers;
	void *owing = realloc(pipeline->owing, count * sizeof(*pipeline->owing));
	if (owing == NULL)
		return fail_memory(pipeline);
	pipeline->owing = owing;
	struct pipeline_server *server = calloc(1, sizeof(*server));
	if (server == NULL)
		return fail_memory(pipeline);
	server->owed = calloc(pipeline->mask + 1, sizeof(*server->owed));
	int rc = server->owed == NULL ? fail_memory(pipeline)
				      : connect_to(pipeline, &server->stream, address);
	if (rc != NB_OK) {
		free(server->owed);
		free(server);
		return rc;
	}
	pipeline->servers[pipeline->server_count++] = server;
	return NB_OK;
}

int
pipeline_open(struct pipeline *pipeline, const struct pipeline_config *config)
{
	uint32_t limit = config->inflight_ops != 0 ? config->inflight_ops : LIMIT;
	uint32_t slots = limit + WAITING, rings = 1;
	while (rings < slots)
		rings *= 2;
	*pipeline = (struct pipeline){.config = *config,
		.mask = rings - 1,
		.limit = limit,
		.bytes_max = config->inflight_bytes != 0 ? config->inflight_bytes : UINT64_MAX,
		.slots = calloc(slots, sizeof(*pipeline->slots)),
		.free = calloc(slots, sizeof(*pipeline->free)),
		.done = calloc(rings, sizeof(*pipeline->done)),
		.again = calloc(slots, sizeof(*pipeline->again))};
	int rc = NB_OK;
	if (pipeline->slots == NULL || pipeline->free == NULL || pipeline->done == NULL ||
		pipeline->again == NULL)
		rc = fail_memory(pipeline);
	for (uint32_t i = slots; rc == NB_OK && i > 0; i--)
		pipeline->free[pipeline->free_count++] = i - 1;
	for (uint32_t i = 0; rc == NB_OK && i < config->target_count; i++)
		rc = pipeline_add_server(pipeline, config->targets[i]);
	if (rc != NB_OK)
		pipeline_close(pipeline);
	return rc;
}

void
pipeline_close(struct pipeline *pipeline)
{
	for (uint32_t i = 0; i < pipeline->server_count; i++) {
		stream_close(&pipeline->servers[i]->stream);
		free(pipeline->servers[i]->owed);
		free(pipeline->servers[i]);
	}
	uint32_t slots = pipeline->slots != NULL ? pipeline->limit + WAITING : 0;
	for (uint32_t i = 0; i < slots; i++)
		free(pipeline->slots[i].kept);
	free(pipeline->servers);
	free(pipeline->owing);
	free(pipeline->slots);
	free(pipeline->free);
	free(pipeline->done);
	free(pipeline->again);
	*pipeline = (struct pipeline){0};
}

/* ---- the life of a request ---- */

static uint32_t
slot_of(const struct pipeline *pipeline, const struct flying *flying)
{
	return (uint32_t)(flying - pipeline->slots);
}

static void
free_slot(struct pipeline *pipeline, const struct flying *flying)
{
	pipeline->free[pipeline->free_count++] = slot_of(pipeline, flying);
}

/** Store the result of a waiting verb's request where the verb expects it. */
static void
finish_call(struct pipeline *pipeline, const struct flying *flying)
{
	struct pipeline_call *call = flying->call;
	call->left--;
	if (flying->value_to != NULL)
		*flying->value_to = flying->value;
	if (flying->answer_to != NULL)
		*flying->answer_to = flying->answer;
	if (flying->answer < 0 && call->answer == NB_OK) {
		call->answer = flying->answer;
		call->error = flying->error;
	}
	free_slot(pipeline, flying);
}

static inline void
finish(struct pipeline *pipeline, struct flying *flying)
{
	pipeline->finished++;
	if (flying->call != NULL)
		finish_call(pipeline, flying);
	else
		pipeline->done[pipeline->done_tail++ & pipeline->mask] = slot_of(
			pipeline, flying);
}

static bool
keep(struct flying *flying, const char *bytes, size_t size)
{
	if (size > flying->kept_room) {
		char *kept = realloc(flying->kept, size + size / 2);
		if (kept == NULL)
			return false;
		flying->kept = kept;
		flying->kept_room = size + size / 2;
	}
	memcpy(flying->kept, bytes, size);
	flying->kept_size = size;
	return true;
}

static inline void
owe(struct pipeline *pipeline, struct pipeline_server *server, const struct flying *flying)
{
	server->owed[server->tail++ & pipeline->mask] = slot_of(pipeline, flying);
	pipeline->owed++;
}

/** Encode the request of this slot, or finish it if it cannot be sent. */
static inline int
encode(struct pipeline *pipeline, struct flying *flying, const struct nb_request *request)
{
	const struct codec *codec = pipeline->config.codec;
	void *own = pipeline->config.own;
	size_t bound = codec->bound(own, flying, request);
	if (__builtin_expect(bound == 0, 0)) {
		finish(pipeline, flying);
		return NB_OK;
	}
	if (pipeline->server_count > 1)
		flying->server = codec->server != NULL
			? codec->server(own, request)
			: split_server(request->key, pipeline->server_count);
	struct pipeline_server *server = pipeline->servers[flying->server];
	char *to = stream_room(&server->stream, bound);
	if (to == NULL)
		return NB_FAIL;
	size_t size = (size_t)(codec->encode(own, flying, request, to) - to);
	if (((codec->flags & CODEC_KEEPS) != 0 || flying->is_kept) && !keep(flying, to, size))
		return fail_memory(pipeline);
	stream_wrote(&server->stream, size);
	owe(pipeline, server, flying);
	return stream_unsent(&server->stream) < PUSH_BYTES ? NB_OK
							   : stream_push(&server->stream);
}

/** Initialize a slot for a request. The caller ensures that a slot is free. */
static inline struct flying *
take_slot(struct pipeline *pipeline, const struct nb_request *request)
{
	struct flying *flying = &pipeline->slots[pipeline->free[--pipeline->free_count]];
	flying->tag = request->tag;
	flying->number = pipeline->number++;
	flying->size = request->key.size + request->value.size;
	flying->steps = request->steps;
	flying->step_count = request->step_count;
	flying->operand = request->operand;
	flying->value = (struct nb_slice){NULL, 0};
	flying->error = NULL;
	flying->answer = NB_OK;
	flying->verb = request->verb;
	flying->flags = request->flags;
	flying->server = 0;
	flying->replies = 1;
	flying->is_again = flying->is_lent = flying->is_kept = false;
	flying->own[0] = flying->own[1] = flying->own[2] = 0;
	flying->call = NULL;
	return flying;
}

static int
push_all(struct pipeline *pipeline)
{
	int rc = NB_OK;
	for (uint32_t i = 0; rc == NB_OK && i < pipeline->server_count; i++)
		if (stream_unsent(&pipeline->servers[i]->stream) > 0)
			rc = stream_push(&pipeline->servers[i]->stream);
	return rc;
}

/* ---- replies ---- */

/** Fail with `error`, or with up to 40 bytes of an invalid answer. */
static int
fail_garbage(struct pipeline *pipeline, struct stream *stream, const char *error)
{
	char text[41];
	size_t size, i = 0;
	const char *front = stream_front(stream, &size);
	if (error != NULL)
		return stream_fail(stream, "%s", error);
	for (; i < size && i < sizeof(text) - 1; i++)
		text[i] = (char)(front[i] >= ' ' && front[i] <= '~' ? front[i] : '.');
	text[i] = '\0';
	return stream_fail(stream, "this is not an answer of a %s server: '%s'",
		pipeline->config.codec->name, text);
}

static void
note_again(struct pipeline *pipeline, struct flying *flying)
{
	uint64_t again_ns = stream_now_ns() + flying->wait_ns;
	if (again_ns > pipeline->again_ns)
		pipeline->again_ns = again_ns;
	flying->is_again = false;
	flying->wait_ns = 0;
	pipeline->again[pipeline->again_count++] = slot_of(pipeline, flying);
}

/** Account for a decoded reply of a server's oldest request. */
static inline void
settle(struct pipeline *pipeline, struct pipeline_server *server, struct flying *flying)
{
	server->is_partial = --flying->replies > 0;
	if (flying->value.data != NULL || flying->error != NULL || flying->steps != NULL ||
		flying->is_lent || server->is_partial)
		stream_lend(&server->stream);
	if (server->is_partial)
		return;
	server->head++;
	pipeline->owed--;
	if (__builtin_expect(flying->is_again, 0))
		note_again(pipeline, flying);
	else
		finish(pipeline, flying);
}

/** Decode all complete replies of a server. */
static int
decode(struct pipeline *pipeline, struct pipeline_server *server)
{
	const struct codec *codec = pipeline->config.codec;
	size_t have;
	char *front = stream_front(&server->stream, &have);
	server->need = 0;
	while (server->head != server->tail && have > 0) {
		struct flying *flying =
			&pipeline->slots[server->owed[server->head & pipeline->mask]];
		size_t size = codec->decode(
			pipeline->config.own, flying, front, have, &server->need);
		if (size == 0)
			return NB_OK;
		if (size == CODEC_GARBAGE)
			return fail_garbage(pipeline, &server->stream, flying->error);
		stream_consume(&server->stream, size);
		front = stream_front(&server->stream, &have);
		settle(pipeline, server, flying);
	}
	return have == 0 ? NB_OK : fail_garbage(pipeline, &server->stream, NULL);
}

/* ---- waiting ---- */

static bool
is_owing(const struct pipeline_server *server)
{
	return server->head != server->tail;
}

/** Send to and read from every server that owes replies, without waiting. */
static int
look_at_all(struct pipeline *pipeline)
{
	int rc = NB_OK;
	for (uint32_t i = 0; rc == NB_OK && i < pipeline->server_count; i++) {
		struct pipeline_server *server = pipeline->servers[i];
		size_t came;
		if (!is_owing(server))
			continue;
		if (stream_unsent(&server->stream) > 0)
			rc = stream_push(&server->stream);
		if (rc == NB_OK)
			rc = stream_pull(&server->stream, server->need, &came);
		if (rc == NB_OK && came > 0)
			rc = decode(pipeline, server);
	}
	return rc;
}

/** Sleep until a server that owes replies can be read from or written to. */
static int
sleep_for_any(struct pipeline *pipeline, uint64_t timeout_ns)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < pipeline->server_count; i++)
		if (is_owing(pipeline->servers[i]))
			pipeline->owing[count++] = &pipeline->servers[i]->stream;
	return streams_wait(pipeline->owing, count, timeout_ns);
}

/** Send the refused requests again, if all others are answered and the delay is over. */
static int
send_again(struct pipeline *pipeline)
{
	const struct codec *codec = pipeline->config.codec;
	if (pipeline->owed > 0 || stream_now_ns() < pipeline->again_ns)
		return NB_OK;
	uint32_t count = pipeline->again_count;
	pipeline->again_count = 0;
	pipeline->again_ns = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct flying *flying = &pipeline->slots[pipeline->again[i]];
		struct pipeline_server *server = pipeline->servers[flying->server];
		flying->replies = 1;
		flying->answer = NB_OK;
		flying->error = NULL;
		char *to = stream_room(&server->stream, flying->kept_size + CODEC_AGAIN_ROOM);
		if (to == NULL)
			return NB_FAIL;
		const char *end = codec->again(
			pipeline->config.own, flying, flying->kept, flying->kept_size, to);
		stream_wrote(&server->stream, (size_t)(end - to));
		owe(pipeline, server, flying);
	}
	return push_all(pipeline);
}

/** The only server that owes replies; NULL: not exactly one. */
static struct pipeline_server *
only_owing(const struct pipeline *pipeline)
{
	struct pipeline_server *only = NULL;
	for (uint32_t i = 0; i < pipeline->server_count; i++) {
		if (!is_owing(pipeline->servers[i]))
			continue;
		if (only != NULL)
			return NULL;
		only = pipeline->servers[i];
	}
	return only;
}

/** Several servers owe replies: check all, then, unless spinning, sleep and check again. */
static int
wait_for_several(struct pipeline *pipeline, uint64_t timeout_ns, uint64_t spin_end_ns)
{
	uint64_t finished = pipeline->finished;
	int rc = look_at_all(pipeline);
	if (rc != NB_OK || timeout_ns == 0 || finished != pipeline->finished)
		return rc;
	if (spin_end_ns != 0 && stream_now_ns() < spin_end_ns)
		return NB_OK;
	rc = sleep_for_any(pipeline, timeout_ns);
	return rc == NB_OK ? look_at_all(pipeline) : rc;
}

static int
wait_for_one(struct pipeline *pipeline, struct pipeline_server *server, uint64_t timeout_ns)
{
	size_t came;
	int rc = stream_wait(&server->stream, server->need, timeout_ns, &came);
	return rc == NB_OK && came > 0 ? decode(pipeline, server) : rc;
}

static int
wait_once(struct pipeline *pipeline, uint64_t timeout_ns, uint64_t spin_end_ns)
{
	int rc = pipeline->again_count > 0 ? send_again(pipeline) : NB_OK;
	if (rc != NB_OK)
		return rc;
	if (pipeline->owed == 0) /* all requests were refused and wait for their time */
		return streams_wait(NULL, 0, timeout_ns < AGAIN_NS ? timeout_ns : AGAIN_NS);
	struct pipeline_server *only = only_owing(pipeline);
	return only != NULL ? wait_for_one(pipeline, only, timeout_ns)
			    : wait_for_several(pipeline, timeout_ns, spin_end_ns);
}

/** Wait until a request is finished, nothing is in flight, or timeout_ns has passed. */
static int
advance(struct pipeline *pipeline, uint64_t timeout_ns)
{
	uint64_t finished = pipeline->finished, left_ns = timeout_ns;
	uint64_t begin_ns = timeout_ns > 0 ? stream_now_ns() : 0;
	uint64_t spin_ns = pipeline->config.stream.spin_ns;
	while (pipeline->owed + pipeline->again_count > 0) {
		int rc = wait_once(pipeline, left_ns, spin_ns > 0 ? begin_ns + spin_ns : 0);
		if (rc != NB_OK || finished != pipeline->finished || left_ns == 0)
			return rc;
		uint64_t passed_ns = stream_now_ns() - begin_ns;
		left_ns = passed_ns < timeout_ns ? timeout_ns - passed_ns : 0;
	}
	return NB_OK;
}

/*
 * After a failure no more replies are decoded: the memory that they would be written to may
 * be gone. Every later call fails with the message of the failed stream.
 */
static int
failed(struct pipeline *pipeline, int rc)
{
	pipeline->failure = rc;
	return rc;
}

static int
fail_again(struct pipeline *pipeline)
{
	for (uint32_t i = 0; i < pipeline->server_count; i++)
		if (pipeline->servers[i]->stream.failure != NULL)
			return stream_fail(&pipeline->servers[i]->stream, "failed");
	return fail_memory(pipeline);
}

/* ---- submit and reap ---- */

static inline bool
has_room(const struct pipeline *pipeline, const struct nb_request *request)
{
	uint64_t bytes = pipeline->bytes + request->key.size + request->value.size;
	return pipeline->taken < pipeline->limit && pipeline->again_count == 0 &&
		(pipeline->taken == 0 || bytes <= pipeline->bytes_max);
}

int
pipeline_submit(struct pipeline *pipeline, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	size_t i = 0;
	int rc = pipeline->failure != NB_OK ? fail_again(pipeline) : NB_OK;
	*taken = 0;
	for (; rc == NB_OK && i < count && has_room(pipeline, &requests[i]); i++) {
		struct flying *flying = take_slot(pipeline, &requests[i]);
		pipeline->taken++;
		pipeline->bytes += flying->size;
		rc = encode(pipeline, flying, &requests[i]);
	}
	if (rc == NB_OK)
		rc = push_all(pipeline);
	if (rc != NB_OK)
		return failed(pipeline, rc);
	*taken = i;
	return NB_PENDING;
}

static inline void
complete(struct pipeline *pipeline, struct nb_completion *out)
{
	const struct flying *flying =
		&pipeline->slots[pipeline->done[pipeline->done_head++ & pipeline->mask]];
	out->tag = flying->tag;
	out->value = flying->value;
	out->error = flying->error;
	out->answer = flying->answer;
	pipeline->taken--;
	pipeline->bytes -= flying->size;
	free_slot(pipeline, flying);
}

int
pipeline_reap(struct pipeline *pipeline, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	int rc = NB_OK;
	*count = 0;
	if (pipeline->done_head == pipeline->done_tail) {
		pipeline_release(pipeline);
		if (pipeline->failure != NB_OK)
			return fail_again(pipeline);
		rc = advance(pipeline, timeout_ns);
	}
	if (rc != NB_OK)
		failed(pipeline, rc);
	while (*count < room && pipeline->done_head != pipeline->done_tail)
		complete(pipeline, &out[(*count)++]);
	return *count > 0 ? NB_OK : rc; /* the next call reports the failure */
}

/* Unreaped completions and a partly answered list of steps still lend. */
void
pipeline_release(struct pipeline *pipeline)
{
	if (pipeline->done_head != pipeline->done_tail)
		return;
	for (uint32_t i = 0; i < pipeline->server_count; i++)
		if (!pipeline->servers[i]->is_partial)
			stream_release(&pipeline->servers[i]->stream);
}

/* ---- verbs that wait ---- */

static int
call_add(struct pipeline *pipeline, struct pipeline_call *call,
	const struct nb_request *request, struct nb_slice *value_to, int32_t *answer_to)
{
	int rc = pipeline->failure != NB_OK ? fail_again(pipeline) : NB_OK;
	while (rc == NB_OK && (pipeline->free_count == 0 || pipeline->again_count > 0))
		rc = advance(pipeline, STREAM_FOREVER);
	if (rc != NB_OK)
		return rc;
	struct flying *flying = take_slot(pipeline, request);
	call->left++;
	flying->call = call;
	flying->value_to = value_to;
	flying->answer_to = answer_to;
	return encode(pipeline, flying, request);
}

/** `rc` is the result of adding the requests. */
static int
call_wait(struct pipeline *pipeline, struct pipeline_call *call, int rc)
{
	if (rc == NB_OK)
		rc = push_all(pipeline);
	while (rc == NB_OK && call->left > 0)
		rc = advance(pipeline, STREAM_FOREVER);
	if (rc != NB_OK)
		return failed(pipeline, rc);
	if (call->answer == NB_OK)
		return NB_OK;
	return pipeline->config.host->fail(call->answer, "%s: %s", pipeline->config.codec->name,
		call->error != NULL ? call->error : "the request failed");
}

int
pipeline_drain(struct pipeline *pipeline)
{
	int rc = pipeline->failure != NB_OK ? fail_again(pipeline) : NB_OK;
	while (rc == NB_OK && pipeline->owed + pipeline->again_count > 0)
		rc = advance(pipeline, STREAM_FOREVER);
	return rc != NB_OK ? failed(pipeline, rc) : NB_OK;
}

int
pipeline_do(struct pipeline *pipeline, const struct nb_request *request, struct nb_slice *value)
{
	struct pipeline_call call = {0};
	int32_t answer = NB_OK;
	int rc = call_add(pipeline, &call, request, value, &answer);
	rc = call_wait(pipeline, &call, rc);
	return rc != NB_OK ? rc : answer;
}

int
pipeline_multi_get(struct pipeline *pipeline, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	struct pipeline_call call = {0};
	struct nb_request request = {.verb = NB_REQ_GET};
	int rc = NB_OK;
	for (size_t i = 0; rc == NB_OK && i < count; i++) {
		request.key = keys[i];
		rc = call_add(pipeline, &call, &request, &values[i], &answers[i]);
	}
	rc = call_wait(pipeline, &call, rc);
	if (rc != NB_OK)
		pipeline_release(pipeline);
	return rc;
}

int
pipeline_batch(
	struct pipeline *pipeline, const struct nb_write *writes, size_t count, uint32_t flags)
{
	struct pipeline_call call = {0};
	struct nb_request request = {0};
	int rc = NB_OK;
	if (flags != 0)
		return pipeline->config.host->fail(
			NB_UNSUPPORTED, "%s: no batch is atomic", pipeline->config.codec->name);
	for (size_t i = 0; rc == NB_OK && i < count; i++) {
		request.verb = writes[i].is_delete != 0 ? NB_REQ_DEL : NB_REQ_PUT;
		request.key = writes[i].key;
		request.value = writes[i].is_delete != 0 ? (struct nb_slice){NULL, 0}
							 : writes[i].value;
		rc = call_add(pipeline, &call, &request, NULL, NULL);
	}
	return call_wait(pipeline, &call, rc);
}
