/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a job is checked against before the toy takes the place: a table with every verb
 * that there is. None of them is ever called.
 */
#include <mininb/engine.h>

static const char *
version(void)
{
	return "0";
}

static int
open_db(struct nb_db **out, const struct nb_open_args *args)
{
	(void)out;
	return args->host->fail(NB_FAIL, "this is not the toy");
}

static int
close_db(struct nb_db *db)
{
	(void)db;
	return NB_FAIL;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	(void)out, (void)db, (void)id;
	return NB_FAIL;
}

static int
end(struct nb_session *session)
{
	(void)session;
	return NB_FAIL;
}

static void
abort_it(struct nb_session *session)
{
	(void)session;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	(void)session, (void)key, (void)value;
	return NB_FAIL;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	(void)session, (void)key, (void)value;
	return NB_FAIL;
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	(void)session, (void)key;
	return NB_FAIL;
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	(void)session, (void)args;
	return NB_FAIL;
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	(void)session, (void)key, (void)value;
	return NB_FAIL;
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	(void)session, (void)writes, (void)count, (void)flags;
	return NB_FAIL;
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	(void)session, (void)keys, (void)count, (void)values, (void)answers;
	return NB_FAIL;
}

static int
begin(struct nb_session *session, uint32_t flags)
{
	(void)session, (void)flags;
	return NB_FAIL;
}

static const struct nb_engine engine = {.abi = NB_ENGINE_ABI,
	.size = sizeof(engine),
	.name = "toy",
	.summary = "stands in for the engine of a test",
	.licence = "BSD-2-Clause",
	.home = "part of mininb's tests",
	.build = NB_ENGINE_BUILD,
	.caps = NB_CAP_ORDERED | NB_CAP_CONCURRENT | NB_CAP_MULTI_PROCESS,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE),
	.auto_durability = NB_DUR_NONE,
	.version = version,
	.open = open_db,
	.close = close_db,
	.session_open = session_open,
	.session_close = end,
	.get = get,
	.put = put,
	.del = del,
	.scan_open = scan_open,
	.scan_next = scan_next,
	.scan_close = end,
	.batch = batch,
	.multi_get = multi_get,
	.begin = begin,
	.commit = end,
	.abort = abort_it};
NB_ENGINE_PLUGIN(engine)
