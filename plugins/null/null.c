/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine that does nothing: every verb answers at once. A run over it costs
 * what mininb itself costs, and that is what it is for.
 *
 * get lends the same bytes each time, as many as the host announced. They are
 * written once at open, so they are real pages, and they stay in the cache: an
 * engine that reads its value from memory cannot be as fast. No verb writes to
 * anything that is shared, so sessions need no state and are the database itself.
 *
 * There is no scan, for there is no record whose key could be lent; and no
 * submit, since a tag has to be kept until it is reaped.
 */
#include "../common/plugin.h"

struct nb_db {
	const struct nb_host *host;
	struct nb_slice value; /* what every get lends: the bytes that follow */
	char bytes[];
};

/* Neither zero, as a page that was never written would be, nor text. */
enum { FILLER = 0xa5 };

static const char *
version(void)
{
	return NB_ENGINE_VERSION;
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;

	if (args->durability != NB_DUR_NONE)
		return host->fail(
			NB_UNSUPPORTED, "null stores nothing: durability must be none");
	struct nb_db *db = NULL;
	if (args->value_size <= PTRDIFF_MAX - sizeof(*db))
		db = malloc(sizeof(*db) + args->value_size);
	if (db == NULL)
		return host->fail(NB_FAIL, "null: out of memory for a value of %llu bytes",
			(unsigned long long)args->value_size);
	db->host = host;
	db->value = (struct nb_slice){db->bytes, args->value_size};
	memset(db->bytes, FILLER, args->value_size);
	*out = db;
	return NB_OK;
}

static int
db_close(struct nb_db *db)
{
	free(db);
	return NB_OK;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	*out = (void *)db;
	return NB_OK;
}

/* A verb of which only the session counts, and not even that. */
static int
answer_session(struct nb_session *session)
{
	return NB_OK;
}

static int
answer_key(struct nb_session *session, struct nb_slice key)
{
	return NB_OK;
}

static int
answer_record(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return NB_OK;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	*value = ((const struct nb_db *)(const void *)session)->value;
	return NB_OK;
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	for (size_t i = 0; i < count; i++)
		answers[i] = get(session, keys[i], &values[i]);
	return NB_OK;
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	if ((flags & NB_BATCH_ATOMIC) != 0) {
		const struct nb_db *db = (const void *)session;
		return db->host->fail(NB_UNSUPPORTED, "null keeps nothing: no batch is atomic");
	}
	return NB_OK;
}

static int
begin(struct nb_session *session, uint32_t flags)
{
	return NB_OK;
}

static void
give_up(struct nb_session *session)
{
}

static int
flush(struct nb_db *db, uint32_t upto)
{
	return NB_OK;
}

static int
checkpoint(struct nb_db *db)
{
	return NB_OK;
}

static const struct nb_engine engine = {
	.abi = NB_ENGINE_ABI,
	.size = sizeof(engine),
	.name = "null",
	.summary = "answers every call at once: the cost of mininb itself",
	.licence = "BSD-2-Clause",
	.home = "part of mininb",
	.build = NB_ENGINE_BUILD,
	.caps = NB_CAP_CONCURRENT | NB_CAP_ZERO_COPY | NB_CAP_SYNTHETIC,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE),
	.auto_durability = NB_DUR_NONE,
	.version = version,
	.open = db_open,
	.close = db_close,
	.session_open = session_open,
	.session_close = answer_session,
	.get = get,
	.put = answer_record,
	.del = answer_key,
	.insert = answer_record,
	.batch = batch,
	.multi_get = multi_get,
	.begin = begin,
	.commit = answer_session,
	.abort = give_up,
	.tick = answer_session,
	.flush = flush,
	.checkpoint = checkpoint,
};
NB_ENGINE_PLUGIN(engine)
