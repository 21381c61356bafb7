/* SPDX-License-Identifier: BSD-2-Clause */
#include "pipeline_rig.h"

#include <stdlib.h>

#include "unit.h"

enum { REQUEST_HEAD = sizeof(struct request_head) };

/* ---- values ---- */

size_t
rig_value_size(uint64_t seed)
{
	return seed % 50 == 0 ? LARGE + seed % 1000 : seed % 41;
}

static char
value_byte(uint64_t seed, size_t i)
{
	return (char)(seed * 31 + i * 7);
}

void
rig_value_make(char *to, uint64_t seed)
{
	for (size_t i = 0, size = rig_value_size(seed); i < size; i++)
		to[i] = value_byte(seed, i);
}

bool
rig_value_is(struct nb_slice value, uint64_t seed)
{
	const char *bytes = value.data;
	bool is_equal = value.size == rig_value_size(seed);
	for (size_t i = 0; is_equal && i < value.size; i++)
		is_equal = bytes[i] == value_byte(seed, i);
	return is_equal;
}

/* ---- the server ---- */

static bool
answer(struct side *side, int fd, char what, const void *bytes, size_t size)
{
	char *out = malloc(5 + size);
	uint32_t length = (uint32_t)size;
	size_t all = what == 'V' || what == '-' ? 5 + size : 1;
	out[0] = what;
	memcpy(out + 1, &length, sizeof(length));
	if (size > 0)
		memcpy(out + 5, bytes, size);
	bool is_sent = size > 1000 ? peer_write(fd, out, all)
				   : peer_dribble(fd, out, all, side->piece, &side->random);
	free(out);
	return is_sent;
}

static bool
answer_value(struct side *side, int fd, uint64_t seed)
{
	char *value = malloc(rig_value_size(seed) + 1);
	rig_value_make(value, seed);
	bool is_sent = answer(side, fd, 'V', value, rig_value_size(seed));
	free(value);
	return is_sent;
}

/**
 * Whether this server has the key. In a cluster, keys move to the next server from time to
 * time.
 */
static bool
has_key(struct side *side, uint32_t key)
{
	struct store *store = side->store;
	if (!store->is_cluster)
		return true;
	if (++store->requests % 150 == 0) {
		uint32_t *owner = &store->owner[store->moves++ % KEYS];
		*owner = (*owner + 1) % SERVERS;
	}
	return store->owner[key] == side->number;
}

static char
perform(struct side *side, const struct request_head *head, uint64_t *seed)
{
	struct store *store = side->store;
	bool *is_there = &store->is_there[head->key], was_there;
	char what = 'O';
	pthread_mutex_lock(&store->lock);
	was_there = *is_there;
	if (!has_key(side, head->key))
		what = 'A';
	else if (head->verb == NB_REQ_GET || head->verb == NB_REQ_DEL)
		what = !was_there ? 'N' : head->verb == NB_REQ_GET ? 'V' : 'O';
	else if (head->verb == NB_REQ_INSERT && was_there)
		what = 'E';
	else if (head->verb == NB_REQ_MERGE)
		what = '-';
	if (what == 'O') {
		*is_there = head->verb != NB_REQ_DEL;
		store->seeds[head->key] = head->seed;
	}
	*seed = store->seeds[head->key];
	pthread_mutex_unlock(&store->lock);
	return what;
}

void
rig_serve_store(int fd, void *of)
{
	struct side *side = of;
	struct request_head head;
	char *bytes = malloc(LARGE + 1000);
	while (peer_read(fd, &head, sizeof(head)) && peer_read(fd, bytes, head.size)) {
		uint64_t seed;
		char what = perform(side, &head, &seed);
		if (head.verb < NB_REQ_MERGE && head.size > 0)
			ck_assert(rig_value_is((struct nb_slice){bytes, head.size}, head.seed));
		if (!(what == 'V'                 ? answer_value(side, fd, seed)
				    : what == '-' ? answer(side, fd, '-', "no sums", 7)
						  : answer(side, fd, what, NULL, 0)))
			break;
	}
	free(bytes);
}

/* ---- the codec ---- */

static uint32_t
key_number(struct nb_slice key)
{
	uint32_t number;
	memcpy(&number, key.data, sizeof(number));
	return number;
}

static size_t
bound(void *own, struct flying *flying, const struct nb_request *request)
{
	if (request->verb > NB_REQ_EXECUTE)
		return flying_refuse(flying, NB_UNSUPPORTED, "unknown verb");
	size_t size = REQUEST_HEAD + request->value.size;
	for (uint64_t i = 0; i < request->step_count; i++)
		size += REQUEST_HEAD + request->steps[i].value.size;
	return size;
}

static char *
write_request(
	char *to, uint32_t verb, struct nb_slice key, struct nb_slice value, uint64_t seed)
{
	struct request_head head = {verb, key_number(key), seed, value.size};
	memcpy(to, &head, sizeof(head));
	if (value.size > 0)
		memcpy(to + sizeof(head), value.data, value.size);
	return to + sizeof(head) + value.size;
}

/* `operand` is the seed of a value. */
static char *
encode(void *own, struct flying *flying, const struct nb_request *request, char *to)
{
	if (request->verb != NB_REQ_EXECUTE)
		return write_request(
			to, request->verb, request->key, request->value, request->operand);
	for (uint64_t i = 0; i < request->step_count; i++) {
		const struct nb_step *step = &request->steps[i];
		to = write_request(to, step->verb, step->key,
			step->verb == NB_STEP_GET ? (struct nb_slice){NULL, 0} : step->value,
			step->operand);
	}
	flying->replies = (uint32_t)request->step_count;
	return to;
}

/** Decode one answer. Returns its size, or 0 and the size needed in *need. */
static size_t
take_answer(const char *bytes, size_t size, struct nb_slice *value, size_t *need)
{
	uint32_t length;
	if (bytes[0] != 'V' && bytes[0] != '-')
		return 1;
	*need = 5;
	if (size < 5)
		return 0;
	memcpy(&length, bytes + 1, sizeof(length));
	*need = 5 + (size_t)length;
	if (size < *need)
		return 0;
	*value = (struct nb_slice){bytes + 5, length};
	return *need;
}

static size_t
decode(void *own, struct flying *flying, char *bytes, size_t size, size_t *need)
{
	static const char known[] = "OVNEA-";
	static const int32_t answers[] = {
		NB_OK, NB_OK, NB_NOT_FOUND, NB_EXISTS, NB_OK, NB_FAIL};
	struct client *client = own;
	struct nb_slice value = {NULL, 0};
	const char *what = memchr(known, bytes[0], sizeof(known) - 1);
	if (what == NULL)
		return CODEC_GARBAGE;
	size_t used = take_answer(bytes, size, &value, need);
	if (used == 0)
		return 0;
	flying->answer = answers[what - known];
	if (flying->verb == NB_REQ_EXECUTE) {
		struct nb_step *step = &flying->steps[flying->step_count - flying->replies];
		step->answer = flying->answer;
		step->value = value;
		return used;
	}
	flying->value = value;
	if (*what == '-') {
		flying->error = "no sums";
		flying->value = (struct nb_slice){NULL, 0};
	}
	if (*what == 'A') {
		client->refused++;
		flying->is_again = true;
		flying->wait_ns = client->refused % 4 == 0 ? 50000 : 0;
		flying->server = (flying->server + 1) % SERVERS;
		client->map[flying->own[0]] = flying->server;
	}
	return used;
}

static uint32_t
server_of(void *own, const struct nb_request *request)
{
	struct client *client = own;
	return client->map[key_number(request->key)];
}

static char *
encode_in_cluster(void *own, struct flying *flying, const struct nb_request *request, char *to)
{
	flying->own[0] = key_number(request->key);
	return encode(own, flying, request, to);
}

static char *
again(void *own, struct flying *flying, const char *kept, size_t size, char *to)
{
	memcpy(to, kept, size);
	return to + size;
}

/* ---- a client of several servers ---- */

static void
client_undo(void *of)
{
	struct client *client = of;
	pipeline_close(&client->pipeline);
	for (int i = 0; i < SERVERS; i++)
		peer_stop(&client->sides[i].peer);
	pthread_mutex_destroy(&client->store.lock);
}

struct client *
rig_client_start(uint32_t servers, peer_script script, size_t piece, bool is_cluster)
{
	static struct client client;
	client = (struct client){.codec = {.name = "test",
					 .bound = bound,
					 .encode = is_cluster ? encode_in_cluster : encode,
					 .decode = decode}};
	if (is_cluster) {
		client.codec.flags = CODEC_KEEPS;
		client.codec.server = server_of;
		client.codec.again = again;
	}
	pthread_mutex_init(&client.store.lock, NULL);
	client.store.is_cluster = is_cluster;
	for (uint32_t i = 0; i < SERVERS; i++) {
		struct side *side = &client.sides[i];
		*side = (struct side){.store = &client.store, .number = i, .piece = piece};
		ck_assert(
			peer_start(&side->peer, i == 1 ? PEER_IPV4 : PEER_UNIX, script, side));
		client.targets[i] = side->peer.address;
	}
	const struct pipeline_config config = {.host = &rig_host,
		.codec = &client.codec,
		.own = &client,
		.targets = client.targets,
		.target_count = servers,
		.inflight_ops = DEPTH};
	ck_assert_int_eq(pipeline_open(&client.pipeline, &config), NB_OK);
	unit_defer(client_undo, &client);
	return &client;
}
