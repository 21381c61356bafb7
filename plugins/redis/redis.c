/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Redis and compatible servers, with mininb's own codec for RESP2.
 *
 * - A session has one or several connections to each server. All requests that are submitted
 *   together are sent in one write per connection.
 * - Records use SET, GET and DEL; insert uses SET NX. A mininb key is used unchanged as the
 *   Redis key.
 * - Redis does not order keys, and mininb does not maintain a second structure, so scans are
 *   not supported.
 * - MULTI returns the results of reads only after EXEC. So begin, commit and abort, where
 *   reads precede the choice of writes, are not supported. execute knows all steps in
 *   advance.
 * - Durability levels are server settings, which open verifies.
 */
#include "redis.h"

#include "../remote/verbs.h"

/* proto-max-bulk-len limits bulk strings to this size. */
#define SIZE_LIMIT RESP_BULK_MAX

static const struct nb_option options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

/* Protocol version. open asks the servers for their versions. */
static const char *
version(void)
{
	return "RESP2";
}

/* --- sessions --- */

static int
session_copy_map(struct nb_session *session)
{
	const struct nb_db *db = session->db;
	if (db->map == NULL)
		return NB_OK;
	session->map = malloc(sizeof(*session->map));
	if (session->map == NULL)
		return db->host->fail(NB_FAIL, "out of memory");
	*session->map = *db->map;
	return NB_OK;
}

enum { TURNS_EACH = 32, TURNS_MIN = 1024 };

/* With several connections, each carries an equal part of the requests in flight. */
static int
session_make_turns(struct nb_session *session)
{
	const struct nb_db *db = session->db;
	uint32_t count = TURNS_MIN;
	if (db->connections == 1)
		return NB_OK;
	while (count / TURNS_EACH < db->inflight_ops)
		count *= 2;
	session->turn_mask = count - 1;
	session->turn_size = db->inflight_ops / db->connections;
	session->turn_size += session->turn_size == 0;
	session->turns = calloc(count, sizeof(*session->turns));
	return session->turns != NULL ? NB_OK : db->host->fail(NB_FAIL, "out of memory");
}

static int
session_close(struct nb_session *session)
{
	pipeline_close(&session->pipeline);
	free(session->turns);
	free(session->map);
	free(session->steps);
	free(session);
	return NB_OK;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	int rc = SESSION_NEW(out, db);
	if (rc != NB_OK)
		return rc;
	const struct pipeline_config config = {.host = db->host,
		.codec = db->map != NULL ? &redis_cluster_codec : &redis_codec,
		.own = *out,
		.targets = db->targets,
		.target_count = db->address_count * db->connections,
		.inflight_ops = db->inflight_ops,
		.inflight_bytes = db->inflight_bytes,
		.stream = db->stream};
	rc = session_copy_map(*out);
	if (rc == NB_OK)
		rc = session_make_turns(*out);
	if (rc == NB_OK)
		rc = pipeline_open(&(*out)->pipeline, &config);
	if (rc != NB_OK)
		session_close(*out);
	return rc;
}

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	session->turn_left = 0; /* the earlier requests of this turn have been sent */
	return pipeline_submit(&session->pipeline, requests, count, taken);
}

/* --- several records, as steps if one server stores all of them --- */

static struct nb_step *
steps_for(struct nb_session *session, size_t count)
{
	if (count > session->step_room) {
		void *steps = realloc(session->steps, count * sizeof(*session->steps));
		if (steps == NULL)
			return NULL;
		session->steps = steps;
		session->step_room = count;
	}
	memset(session->steps, 0, count * sizeof(*session->steps));
	return session->steps;
}

static bool
has_one_server(const struct nb_session *session)
{
	return session->map == NULL && session->db->server_count == 1;
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	if (!has_one_server(session) || session->db->reads_replicas || count == 0)
		return pipeline_multi_get(&session->pipeline, keys, count, values, answers);
	struct nb_step *steps = steps_for(session, count);
	if (steps == NULL)
		return session->db->host->fail(NB_FAIL, "out of memory");
	for (size_t i = 0; i < count; i++)
		steps[i] = (struct nb_step){.verb = NB_STEP_GET, .key = keys[i]};
	int rc = execute(session, steps, count, NB_EXEC_READ_ONLY);
	for (size_t i = 0; rc == NB_OK && i < count; i++) {
		answers[i] = steps[i].answer;
		values[i] = steps[i].value;
	}
	return rc;
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	if (count == 0)
		return NB_OK;
	if (!has_one_server(session) && (flags & NB_BATCH_ATOMIC) == 0)
		return pipeline_batch(&session->pipeline, writes, count, flags);
	struct nb_step *steps = steps_for(session, count);
	if (steps == NULL)
		return session->db->host->fail(NB_FAIL, "out of memory");
	for (size_t i = 0; i < count; i++)
		steps[i] = (struct nb_step){
			.verb = writes[i].is_delete != 0 ? NB_STEP_DEL : NB_STEP_PUT,
			.key = writes[i].key,
			.value = writes[i].value};
	return execute(session, steps, count, NB_EXEC_ATOMIC);
}

/* --- the engine's table, and its variant for a cluster --- */

/*
 * A server that is stopped by a signal saves its data only if a save condition is set. The
 * condition "one change within a year" is never met during a run.
 */
#define SERVER_DURABILITY \
	"durability.none = --appendonly no --save 31536000 1\n" \
	"durability.process = --save '' --appendonly yes --appendfsync no\n" \
	"durability.periodic = --save '' --appendonly yes --appendfsync everysec\n" \
	"durability.commit = --save '' --appendonly yes --appendfsync always\n" \
	"package = redis-server\n" \
	"fixed-durability = yes\n" \
	"stop-timeout = 5m\n"

static const char one_server[] =
	"command = redis-server --port 0 --unixsocket {socket} --dir {dir} {durability}\n"
	"address = unix:{socket}\n" SERVER_DURABILITY;

static const char three_nodes[] =
	"count = 3\n"
	"command = redis-server --bind 127.0.0.1 --port {port} --cluster-enabled yes --cluster-config-file nodes.conf --dir {dir} {durability}\n"
	"address = 127.0.0.1:{port}\n"
	"bus = yes\n"
	"join = redis-cli --cluster create {addresses} --cluster-yes\n" SERVER_DURABILITY;

#define CAPS \
	(NB_CAP_PERSISTENT | NB_CAP_CONCURRENT | NB_CAP_MULTI_PROCESS | NB_CAP_REMOTE | \
		NB_CAP_SERIALIZABLE | NB_CAP_COPIES)
#define TABLE \
	ENGINE_BASE("redis"), ENGINE_RECORDS, \
		.summary = "Redis, Valkey and compatible servers, over the network", \
		.licence = "BSD-3-Clause", .home = "https://redis.io", \
		.durabilities = NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_PROCESS) | \
		NB_DUR_BIT(NB_DUR_PERIODIC) | NB_DUR_BIT(NB_DUR_COMMIT), \
		.auto_durability = NB_DUR_PERIODIC, .key_size_max = SIZE_LIMIT, \
		.value_size_max = SIZE_LIMIT, .options = options, ENGINE_OPEN, \
		.release = release, .insert = insert, .batch = batch, .multi_get = multi_get, \
		.submit = submit, .reap = reap, .execute = execute, .merge = merge, \
		.stats = database_stats, .reset = database_reset

static const struct nb_engine cluster = {TABLE, .caps = CAPS, .server = three_nodes};

static const struct nb_engine *
variant(const struct nb_option_value *values)
{
	return values[CLUSTER].u64 != 0 ? &cluster : NULL;
}

static const struct nb_engine engine = {
	TABLE, .caps = CAPS | NB_CAP_ATOMIC_BATCH, .server = one_server, .variant = variant};
NB_ENGINE_PLUGIN(engine)
