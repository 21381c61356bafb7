/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memcached, with its meta protocol (codec.c) over plugins/remote.
 *
 * Requests for one key in a session stay in order, because a key always goes to the same
 * server, which answers in order. A merge consists of two requests (codec.c). So while one
 * is in flight, only other merges are sent: additions may be reordered.
 *
 * execute is missing: memcached has no operation on several keys. The host then uses
 * multi_get, batch and single verbs.
 */
#include "memcached.h"

static const struct nb_option options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

/* Protocol version. open logs the version of each server. */
static const char *
version(void)
{
	return "meta protocol";
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	int rc = SESSION_NEW(out, db);
	if (rc != NB_OK)
		return rc;
	const struct pipeline_config config = {.host = db->host,
		.codec = &memcached_codec,
		.own = *out,
		.targets = db->targets,
		.target_count = db->target_count,
		.inflight_ops = db->inflight_ops,
		.inflight_bytes = db->inflight_bytes,
		.stream = db->stream};
	rc = pipeline_open(&(*out)->pipeline, &config);
	if (rc != NB_OK)
		free(*out);
	return rc;
}

static int
session_close(struct nb_session *session)
{
	pipeline_close(&session->pipeline);
	free(session);
	return NB_OK;
}

/* ---- synchronous verbs ---- */

/** Later requests must not overtake a merge. */
static inline int
wait_for_merges(struct nb_session *session)
{
	return __builtin_expect(session->merges == 0, 1) ? NB_OK
							 : pipeline_drain(&session->pipeline);
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	int rc = wait_for_merges(session);
	return rc == NB_OK ? pipeline_get(&session->pipeline, key, value) : rc;
}

static void
release(struct nb_session *session)
{
	pipeline_release(&session->pipeline);
}

static int
write_by(struct nb_session *session, struct nb_slice key, struct nb_slice value, uint32_t verb)
{
	int rc = wait_for_merges(session);
	return rc == NB_OK ? pipeline_write(&session->pipeline, verb, key, value) : rc;
}

PUT_AND_INSERT(write_by, NB_REQ_PUT, NB_REQ_INSERT)

static int
del(struct nb_session *session, struct nb_slice key)
{
	return write_by(session, key, (struct nb_slice){NULL, 0}, NB_REQ_DEL);
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	int rc = wait_for_merges(session);
	return rc == NB_OK
		? pipeline_multi_get(&session->pipeline, keys, count, values, answers)
		: rc;
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	int rc = wait_for_merges(session);
	return rc == NB_OK ? pipeline_batch(&session->pipeline, writes, count, flags) : rc;
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	if (how != NB_MERGE_ADD_U64)
		return session->db->host->fail(NB_UNSUPPORTED, "merge: only numbers are added");
	return pipeline_merge(&session->pipeline, key, operand);
}

/* ---- requests in flight ---- */

/** How many requests may be sent now: merges may follow merges, other requests may not. */
static size_t
sendable(const struct nb_session *session, const struct nb_request *requests, size_t count)
{
	size_t i = 0;
	if (session->merges == 0)
		while (i < count && requests[i].verb != NB_REQ_MERGE)
			i++;
	while (i < count && requests[i].verb == NB_REQ_MERGE)
		i++;
	return i;
}

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	return pipeline_submit(
		&session->pipeline, requests, sendable(session, requests, count), taken);
}

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	return pipeline_reap(&session->pipeline, out, room, count, timeout_ns);
}

/* -R: requests of a connection before the server turns to another one; its default is 20. */
static const char server_text[] =
	"package = memcached\n"
	"command = memcached -u root -s {socket} -U 0 -t {option:threads} -m {cache_mib} -R 500 -c 4096\n"
	"address = unix:{socket}\n"
	"cache = 1GiB\n";

static const struct nb_engine engine = {ENGINE_BASE("memcached"),
	.summary = "memcached, by its meta protocol", .licence = "BSD-3-Clause",
	.home = "https://memcached.org",
	.caps = NB_CAP_REMOTE | NB_CAP_CONCURRENT | NB_CAP_MULTI_PROCESS | NB_CAP_COPIES,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE), .auto_durability = NB_DUR_NONE,
	.key_size_max = KEY_MAX, .value_size_max = ITEM_SIZE_MAX - ITEM_OVERHEAD,
	.options = options, ENGINE_OPEN, ENGINE_RECORDS, .release = release, .insert = insert,
	.batch = batch, .multi_get = multi_get, .submit = submit, .reap = reap,
	.stats = database_stats, .merge = merge, .reset = database_reset,
	.server = server_text};

NB_ENGINE_PLUGIN(engine)
