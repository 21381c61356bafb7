/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests plugins/remote/pipeline.h. The servers send their answers in pieces, refuse requests, stop
 * reading, or close the connection.
 */
#include "pipeline_rig.h"

#include <unistd.h>

#include "base/rng.h"
#include "unit.h"

bool unit_in_scratch = true;

enum { TAGS = 6000 / UNIT_STEP };

#define LONG_NS (60 * STREAM_SECOND_NS)

/* ---- a model, and the expected answers ---- */

struct wanted {
	uint32_t verb;
	int32_t answer;
	uint64_t seed; /* of a value or of a step's put */
	struct nb_step steps[2];
	bool is_done;
};

struct game {
	struct client *client;
	bool is_there[KEYS];
	uint64_t seeds[KEYS];
	struct wanted wanted[TAGS];
	uint64_t random;
	size_t offered, taken, reaped;
	struct nb_request requests[TAGS];
	uint32_t keys[KEYS];
	char value[LARGE + 1000];
};

static struct game *
game_start(struct client *client)
{
	static struct game game;
	memset(&game, 0, sizeof(game));
	game.client = client;
	game.random = 7;
	for (uint32_t i = 0; i < KEYS; i++)
		game.keys[i] = i;
	return &game;
}

/** The answer of a verb in the model. *seed: the seed of the value read or written. */
static int32_t
foretell(struct game *game, uint32_t verb, uint32_t key, uint64_t *seed)
{
	bool was_there = game->is_there[key];
	if (verb == NB_REQ_MERGE)
		return NB_FAIL;
	if (verb == NB_REQ_GET) {
		*seed = game->seeds[key];
		return was_there ? NB_OK : NB_NOT_FOUND;
	}
	if (verb == NB_REQ_INSERT && was_there)
		return NB_EXISTS;
	game->is_there[key] = verb != NB_REQ_DEL;
	if (verb != NB_REQ_DEL)
		game->seeds[key] = *seed;
	return verb == NB_REQ_DEL && !was_there ? NB_NOT_FOUND : NB_OK;
}

static struct nb_slice
key_slice(struct game *game, uint32_t key)
{
	return (struct nb_slice){&game->keys[key], sizeof(uint32_t)};
}

/** The bytes of a value; the next call overwrites them. */
static struct nb_slice
value_slice(struct game *game, uint64_t seed)
{
	rig_value_make(game->value, seed);
	return (struct nb_slice){game->value, rig_value_size(seed)};
}

/** Make the next request, number game->offered, and its expected answer. */
static void
offer(struct game *game)
{
	static const uint32_t verbs[] = {NB_REQ_GET, NB_REQ_GET, NB_REQ_GET, NB_REQ_PUT,
		NB_REQ_PUT, NB_REQ_DEL, NB_REQ_INSERT, NB_REQ_MERGE, NB_REQ_EXECUTE};
	bool is_cluster = game->client->store.is_cluster;
	uint64_t roll = splitmix64_next(&game->random), seed = roll >> 20;
	uint32_t verb = verbs[roll % (UNIT_COUNT(verbs) - (is_cluster ? 2 : 0))];
	uint32_t key = (uint32_t)(roll >> 8) % KEYS;
	struct wanted *wanted = &game->wanted[game->offered];
	struct nb_request *request = &game->requests[game->offered];
	*request = (struct nb_request){.tag = game->offered++,
		.verb = verb,
		.key = key_slice(game, key),
		.operand = seed};
	wanted->verb = verb;
	wanted->seed = seed;
	if (verb == NB_REQ_EXECUTE) {
		foretell(game, NB_REQ_PUT, key, &wanted->seed);
		for (int i = 0; i < 2; i++)
			wanted->steps[i] = (struct nb_step){.key = request->key,
				.verb = i == 0 ? NB_STEP_PUT : NB_STEP_GET,
				.operand = seed,
				.answer = INT32_MAX};
		request->steps = wanted->steps;
		request->step_count = 2;
		return;
	}
	wanted->answer = foretell(game, verb, key, &wanted->seed);
}

/*
 * Submits one request. The value is overwritten right after, so the pipeline must have copied
 * it.
 */
static void
submit_one(struct game *game)
{
	struct nb_request *request = &game->requests[game->taken];
	struct wanted *wanted = &game->wanted[game->taken];
	size_t taken = 0;
	struct nb_slice value = value_slice(game, request->operand);
	if (request->verb == NB_REQ_PUT || request->verb == NB_REQ_INSERT)
		request->value = value;
	if (request->verb == NB_REQ_EXECUTE)
		wanted->steps[0].value = value;
	ck_assert_int_eq(
		pipeline_submit(&game->client->pipeline, request, 1, &taken), NB_PENDING);
	memset(game->value, 0xee, value.size);
	game->taken += taken;
}

static void
check_completion(struct game *game, const struct nb_completion *done)
{
	ck_assert_uint_lt(done->tag, game->taken);
	struct wanted *wanted = &game->wanted[done->tag];
	ck_assert(!wanted->is_done);
	wanted->is_done = true;
	ck_assert_int_eq(done->answer, wanted->answer);
	if (wanted->verb == NB_REQ_GET && done->answer == NB_OK)
		ck_assert(rig_value_is(done->value, wanted->seed));
	if (wanted->verb == NB_REQ_MERGE)
		ck_assert_str_eq(done->error, "no sums");
	if (wanted->verb == NB_REQ_EXECUTE) {
		ck_assert_int_eq(wanted->steps[0].answer, NB_OK);
		ck_assert_int_eq(wanted->steps[1].answer, NB_OK);
		ck_assert(rig_value_is(wanted->steps[1].value, wanted->seed));
	}
}

static void
reap_some(struct game *game, size_t room, uint64_t timeout_ns)
{
	struct nb_completion done[DEPTH];
	size_t count;
	ck_assert_int_eq(
		pipeline_reap(&game->client->pipeline, done, room, &count, timeout_ns), NB_OK);
	ck_assert_uint_le(count, room);
	for (size_t i = 0; i < count; i++)
		check_completion(game, &done[i]);
	pipeline_release(&game->client->pipeline);
	game->reaped += count;
}

/*
 * Synchronous verbs between asynchronous requests: they take effect after all accepted
 * requests.
 */
static void
check_verbs(struct game *game)
{
	struct pipeline *pipeline = &game->client->pipeline;
	struct nb_slice keys[KEYS], values[KEYS];
	int32_t answers[KEYS];
	struct nb_write writes[2] = {{.key = key_slice(game, 0), .is_delete = 1},
		{.key = key_slice(game, 1), .value = value_slice(game, 0)}};
	uint64_t seed = 0;
	ck_assert_int_eq(pipeline_batch(pipeline, writes, 2, 0), NB_OK);
	foretell(game, NB_REQ_DEL, 0, &seed);
	foretell(game, NB_REQ_PUT, 1, &seed);
	for (uint32_t i = 0; i < KEYS; i++)
		keys[i] = key_slice(game, i);
	ck_assert_int_eq(pipeline_multi_get(pipeline, keys, KEYS, values, answers), NB_OK);
	for (uint32_t i = 0; i < KEYS; i++) {
		ck_assert_int_eq(answers[i], game->is_there[i] ? NB_OK : NB_NOT_FOUND);
		if (i != 1 && game->is_there[i])
			ck_assert(rig_value_is(values[i], game->seeds[i]));
	}
	pipeline_release(pipeline);
}

/** Number of servers, maximum piece, whether it is a cluster whose keys move. */
static const struct {
	uint32_t servers;
	size_t piece;
	bool is_cluster;
} games[] = {{1, 1, false}, {1, 100, false}, {1, 100000, false}, {2, 3, false}, {3, 100, false},
	{3, 100000, false}, {3, 100, true}, {3, 100000, true}};

TEST_EACH(requests_answer_as_if_done_in_their_order, UNIT_COUNT(games))
{
	struct game *game = game_start(rig_client_start(
		games[_i].servers, rig_serve_store, games[_i].piece, games[_i].is_cluster));
	while (game->reaped < TAGS) {
		uint64_t roll = splitmix64_next(&game->random);
		for (uint64_t n = roll % DEPTH; n > 0; n--) {
			if (game->taken == game->offered && game->offered < TAGS)
				offer(game);
			if (game->taken < game->offered)
				submit_one(game);
		}
		reap_some(game, 1 + (roll >> 8) % DEPTH, roll % 3 == 0 ? 0 : LONG_NS);
		if (roll % 64 == 1 && game->taken == game->offered)
			check_verbs(game);
	}
	for (size_t i = 0; i < TAGS; i++)
		ck_assert(game->wanted[i].is_done);
	ck_assert(!games[_i].is_cluster || game->client->refused > 10);
}

/* ---- limits ---- */

TEST(no_more_are_taken_than_fit)
{
	struct client *client = rig_client_start(1, rig_serve_store, 1000, false);
	struct game *game = game_start(client);
	struct nb_request requests[DEPTH + 9] = {{0}};
	size_t taken;
	for (size_t i = 0; i < UNIT_COUNT(requests); i++)
		requests[i] = (struct nb_request){.tag = i, .key = key_slice(game, 0)};
	ck_assert_int_eq(
		pipeline_submit(&client->pipeline, requests, DEPTH + 9, &taken), NB_PENDING);
	ck_assert_uint_eq(taken, DEPTH);
	ck_assert_int_eq(pipeline_submit(&client->pipeline, requests, 1, &taken), NB_PENDING);
	ck_assert_uint_eq(taken, 0);
	client->pipeline.bytes_max = 10; /* two keys; one request always fits */
	for (size_t done = 0; done < DEPTH;) {
		struct nb_completion out[DEPTH];
		size_t count;
		ck_assert_int_eq(
			pipeline_reap(&client->pipeline, out, DEPTH, &count, LONG_NS), NB_OK);
		for (size_t i = 0; i < count; i++)
			ck_assert_uint_eq(out[i].tag, done + i);
		done += count;
	}
	ck_assert_int_eq(pipeline_submit(&client->pipeline, requests, 9, &taken), NB_PENDING);
	ck_assert_uint_eq(taken, 2);
}

TEST(requests_that_cannot_be_sent_are_answered)
{
	struct client *client = rig_client_start(1, rig_serve_store, 1000, false);
	struct game *game = game_start(client);
	struct nb_request request = {.tag = 5, .verb = 77, .key = key_slice(game, 0)};
	struct nb_completion out;
	size_t count;
	ck_assert_int_eq(pipeline_submit(&client->pipeline, &request, 1, &count), NB_PENDING);
	ck_assert_int_eq(pipeline_reap(&client->pipeline, &out, 1, &count, LONG_NS), NB_OK);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(out.tag, 5);
	ck_assert_int_eq(out.answer, NB_UNSUPPORTED);
	ck_assert_str_eq(out.error, "unknown verb");
	ck_assert_int_eq(pipeline_do(&client->pipeline, &request, NULL), NB_UNSUPPORTED);
	ck_assert_str_eq(rig_text, "test: unknown verb");
	ck_assert_int_eq(pipeline_merge(&client->pipeline, key_slice(game, 0), 1), NB_FAIL);
	ck_assert_str_eq(rig_text, "test: no sums");
	ck_assert_int_eq(pipeline_reap(&client->pipeline, &out, 1, &count, LONG_NS), NB_OK);
	ck_assert_uint_eq(count, 0); /* with nothing in flight, reap does not wait */
}

/* ---- full buffers ---- */

/* Reads nothing for a while, so that the client can fill all buffers, then answers in order. */
static void
serve_late(int fd, void *of)
{
	usleep(100000);
	rig_serve_store(fd, of);
}

/* 24 puts and gets of 300 KB each: neither direction fits into the buffers of a Unix socket. */
TEST_EACH(full_buffers_on_both_sides_do_not_block_the_pipeline, 2)
{
	struct client *client = rig_client_start(
		1 + 2 * (uint32_t)_i, serve_late, 100000, false);
	struct game *game = game_start(client);
	struct nb_completion out[DEPTH];
	size_t taken, done = 0, count;
	for (int round = 0; round < 4; round++) {
		for (uint32_t i = 0; i < DEPTH; i++) {
			struct nb_request request = {.tag = i,
				.verb = i % 2 == 0 ? NB_REQ_PUT : NB_REQ_GET,
				.key = key_slice(game, i / 2 % KEYS)};
			uint64_t seed = 50 * (uint64_t)(i / 2);
			request.operand = seed;
			if (i % 2 == 0)
				request.value = value_slice(game, seed);
			ck_assert_int_eq(
				pipeline_submit(&client->pipeline, &request, 1, &taken),
				NB_PENDING);
			ck_assert_uint_eq(taken, 1);
		}
		for (done = 0; done < DEPTH; done += count) {
			ck_assert_int_eq(
				pipeline_reap(&client->pipeline, out, DEPTH, &count, LONG_NS),
				NB_OK);
			for (size_t i = 0; i < count; i++) {
				ck_assert_int_eq(out[i].answer, NB_OK);
				if (out[i].tag % 2 == 1)
					ck_assert(rig_value_is(
						out[i].value, 50 * (out[i].tag / 2)));
			}
			pipeline_release(&client->pipeline);
		}
	}
}

/* ---- broken servers ---- */

static void
answer_three_and_close(int fd, void *of)
{
	struct request_head head;
	for (int i = 0; i < 3 && peer_read(fd, &head, sizeof(head)); i++)
		peer_write(fd, "N", 1);
}

static void
answer_three_and_garbage(int fd, void *of)
{
	struct request_head head;
	answer_three_and_close(fd, of);
	peer_write(fd, "HTTP/1.1 400 Bad Request\r\n", 26);
	while (peer_read(fd, &head, 1))
		;
}

static void
answer_part_and_close(int fd, void *of)
{
	answer_three_and_close(fd, of);
	peer_write(fd, "V\4\0\0\0abc", 8);
}

static const struct {
	peer_script script;
	const char *text;
} breaks[] = {{answer_three_and_close, "the server closed the connection"},
	{answer_part_and_close, "the server closed the connection"},
	{answer_three_and_garbage,
		"this is not an answer of a test server: 'HTTP/1.1 400 Bad Request..'"}};

/* The three answers arrive before the failure. Then every call fails with the same text. */
TEST_EACH(server_that_breaks_is_named, UNIT_COUNT(breaks))
{
	struct client *client = rig_client_start(1, breaks[_i].script, 1, false);
	struct game *game = game_start(client);
	struct nb_request requests[9] = {{0}};
	struct nb_completion out[9];
	struct nb_slice value;
	size_t taken, done = 0, count = 1;
	int rc = NB_OK;
	for (size_t i = 0; i < 9; i++)
		requests[i] = (struct nb_request){.tag = i, .key = key_slice(game, 0)};
	ck_assert_int_eq(pipeline_submit(&client->pipeline, requests, 9, &taken), NB_PENDING);
	while (rc == NB_OK) {
		rc = pipeline_reap(&client->pipeline, out, 9, &count, LONG_NS);
		done += count;
	}
	ck_assert_uint_eq(done, 3);
	ck_assert_int_eq(rc, NB_FAIL);
	char text[sizeof(rig_text)];
	strcpy(text, rig_text);
	ck_assert_ptr_ne(strstr(text, client->targets[0]), NULL);
	ck_assert_ptr_ne(strstr(text, breaks[_i].text), NULL);
	ck_assert_int_eq(pipeline_get(&client->pipeline, key_slice(game, 0), &value), NB_FAIL);
	ck_assert_str_eq(rig_text, text);
	ck_assert_int_eq(pipeline_submit(&client->pipeline, requests, 1, &taken), NB_FAIL);
	ck_assert_uint_eq(taken, 0);
}

/* Sends unrequested answers, which the client could take for those of later requests. */
static void
answer_twice(int fd, void *of)
{
	struct request_head head;
	while (peer_read(fd, &head, sizeof(head)))
		peer_write(fd, "NN", 2);
}

TEST(answer_without_a_request_is_garbage)
{
	struct client *client = rig_client_start(1, answer_twice, 1, false);
	struct game *game = game_start(client);
	struct nb_slice value;
	int rc = NB_OK;
	for (int i = 0; i < 1000 && rc >= 0; i++)
		rc = pipeline_get(&client->pipeline, key_slice(game, 0), &value);
	ck_assert_int_eq(rc, NB_FAIL);
	ck_assert_ptr_ne(strstr(rig_text, "not an answer of a test server: 'N'"), NULL);
}

TEST(missing_server_leaves_no_descriptor_open)
{
	struct client *client = rig_client_start(1, rig_serve_store, 1, false);
	const char *targets[] = {client->targets[0], "unix:missing"};
	struct pipeline_config config = client->pipeline.config;
	struct pipeline pipeline;
	config.targets = targets;
	config.target_count = 2;
	ck_assert_int_eq(pipeline_open(&pipeline, &config), NB_FAIL);
	ck_assert_ptr_ne(strstr(rig_text, "unix:missing: cannot connect"), NULL);
}
