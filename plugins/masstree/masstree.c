/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine table of `masstree`: its options, and verbs that call the tree (tree.h).
 *
 * A session of the host is a session of the tree with another type. So a verb costs only the
 * jump into the tree.
 */
#include "masstree.h"

struct nb_db {
	const struct nb_host *host;
	struct mt_tree *tree;
};

const struct nb_option masstree_options[] = {MASSTREE_OPTIONS(OPTION_ROW) NB_OPTION_END};

static const struct nb_engine engine;

static const char *
version(void)
{
	return NB_ENGINE_VERSION;
}

static bool
is_text_set(const struct nb_option_value *value)
{
	return value->is_set != 0 && value->text != NULL && value->text[0] != '\0';
}

static const struct nb_engine *
variant(const struct nb_option_value *value)
{
	bool is_persistent = value[PERSISTENT].u64 != 0 || is_text_set(&value[LOG_DIRS]) ||
		is_text_set(&value[CHECKPOINT_DIRS]);

	return is_persistent ? &masstree_persistent : NULL;
}

struct mt_args
masstree_args(const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;

	return (struct mt_args){.host = args->host,
		.sessions = args->sessions,
		.inflight_ops = args->inflight_ops,
		.inflight_bytes = args->inflight_bytes,
		.has_small_pages = value[HUGEPAGES].u64 == 0,
		.has_malloc = value[ALLOCATOR].u64 == ALLOCATOR_MALLOC,
		.has_no_prefetch = value[PREFETCH].u64 == 0,
		.has_no_permutation = value[PERMUTATION].u64 == 0,
		.has_byte_compare = value[COMPARE].u64 == COMPARE_BYTES};
}

/* --- the database --- */

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	struct mt_args to = masstree_args(args);
	int rc = check_durability(args, &engine);

	if (rc != NB_OK)
		return rc;
	if ((args->flags & NB_OPEN_CREATE) == 0)
		return host->fail(NB_FAIL,
			"masstree: no database: without -o persistent=yes it does not outlive its process");
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	db->host = host;
	rc = mt_open(&db->tree, &to);
	if (rc != NB_OK) {
		free(db);
		return rc;
	}
	if (args->cache_bytes != 0)
		host->log(NB_LOG_WARNING,
			"masstree: cache is ignored: all records are in memory");
	*out = db;
	return NB_OK;
}

static int
db_close(struct nb_db *db)
{
	mt_close(db->tree);
	free(db);
	return NB_OK;
}

/* --- sessions --- */

static struct mt_session *
own(struct nb_session *session)
{
	return (struct mt_session *)session;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	struct mt_session *session;
	int rc = mt_session_open(&session, db->tree, id);

	if (rc == NB_OK)
		*out = (struct nb_session *)session;
	return rc;
}

static int
session_close(struct nb_session *session)
{
	mt_session_close(own(session));
	return NB_OK;
}

/* --- records --- */

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return mt_get(own(session), key, value);
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	return mt_multi_get(own(session), keys, count, values, answers);
}

static void
release(struct nb_session *session)
{
	mt_release(own(session));
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return mt_put(own(session), key, value);
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return mt_insert(own(session), key, value);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	return mt_del(own(session), key);
}

/* Without the flag, one write after the other: sessions see the first before the last is done. */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	if ((flags & NB_BATCH_ATOMIC) != 0)
		return mt_batch(own(session), writes, count);
	return write_each(session, writes, count, put, del);
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	return mt_scan_open(own(session), args);
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	return mt_scan_next(own(session), key, value);
}

static int
scan_close(struct nb_session *session)
{
	return mt_scan_close(own(session));
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	if (how != NB_MERGE_ADD_U64)
		return mt_host(own(session))->fail(NB_UNSUPPORTED, "merge can only add");
	return mt_add(own(session), key, operand);
}

static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	return mt_execute(own(session), steps, count, flags);
}

/* --- requests in flight --- */

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	return async_submit(mt_async(own(session)), requests, count, taken);
}

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	return async_reap(mt_async(own(session)), &engine, session, out, room, count);
}

/* --- flush and counters --- */

/* Nothing to do at both levels: the tree defers no work. */
static int
flush(struct nb_db *db, uint32_t upto)
{
	return NB_OK;
}

/* In the order of the table in the README. */
static const struct {
	const char *name, *unit;
	size_t offset;
	uint32_t kind;
} counters[] = {
#define IT(kind, name, unit, field) \
	{ \
		name, unit, offsetof(struct mt_stats, field), NB_STAT_##kind \
	}
	IT(GAUGE, "records", "records", records),
	IT(GAUGE, "leaves", "leaves", leaves),
	IT(GAUGE, "inner_nodes", "nodes", inner_nodes),
	IT(GAUGE, "layers", "layers", layers),
	IT(GAUGE, "memory", "bytes", memory_bytes),
	IT(COUNTER, "inserts", "records", inserts),
	IT(COUNTER, "updates", "records", updates),
	IT(COUNTER, "deletes", "records", deletes),
	IT(COUNTER, "leaf_splits", "leaves", leaf_splits),
	IT(COUNTER, "leaf_grows", "leaves", leaf_grows),
	IT(COUNTER, "inner_splits", "nodes", inner_splits),
	IT(COUNTER, "leaves_removed", "leaves", leaves_removed),
	IT(COUNTER, "layers_made", "layers", layers_made),
	IT(COUNTER, "layers_removed", "layers", layers_removed),
	IT(COUNTER, "restarts", "descents", restarts),
	IT(COUNTER, "hint_hits", "writes", hint_hits),
	IT(COUNTER, "hint_misses", "writes", hint_misses),
#undef IT
};

void
masstree_emit(struct mt_tree *tree, nb_stat_emit emit, void *to)
{
	struct mt_stats all;

	mt_stats(tree, &all);
	for (size_t i = 0; i < COUNT_OF(counters); i++) {
		uint64_t value = *(const uint64_t *)((const char *)&all + counters[i].offset);
		emit(to, counters[i].name, counters[i].unit, counters[i].kind, value);
	}
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	masstree_emit(db->tree, emit, to);
}

static const struct nb_engine engine = {ENGINE_BASE("masstree"), ENGINE_RECORDS, ENGINE_SCAN,
	MASSTREE_TABLE, .caps = MASSTREE_CAPS, .variant = variant,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE), .auto_durability = NB_DUR_NONE,
	.open = db_open, .close = db_close, .release = release, .insert = insert,
	.batch = batch, .multi_get = multi_get, .merge = merge, .execute = execute,
	.submit = submit, .reap = reap, .flush = flush, .stats = stats};
NB_ENGINE_PLUGIN(engine)
