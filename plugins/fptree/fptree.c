/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of the engine `fptree`: its options and its verbs. pool.c manages the pool; the
 * verbs call the functions of tree.h.
 *
 * A session is the tree's own session, cast to the host's type, so a verb costs only one more
 * jump. When a write returns, it has reached the requested durability. Nothing is postponed.
 * So flush has work only at `process`, where no line is flushed.
 */
#include <mininb/engine.h>

#include <libpmemobj.h>
#include <stdlib.h>

#include "../common/async.h"
#include "pool.h"
#include "tree.h"

/*
 * The plugin stores lengths in 32 bits. The limits are its own, because a blob is one
 * allocation.
 */
#define KEY_SIZE_MAX (1ull << 20)
#define VALUE_SIZE_MAX (1ull << 30)

struct nb_db {
	const struct nb_host *host;
	struct pool *pool;
	struct tree *tree;
};

enum { INLINE_MIN = 16 }; /* a record of LEAF_WORDS */

/* In the order of the table. */
enum { POOL_SIZE, LEAF_SLOTS, FANOUT, INLINE_BYTES };

static const struct nb_option options[] = {
	[POOL_SIZE] = NB_OPTION_BYTES("pool_size", NULL, POOL_SIZE_MIN, POOL_SIZE_MAX,
		"largest size of the pool; default: 64GiB or more"),
	[LEAF_SLOTS] = NB_OPTION_U64("leaf_slots", NULL, "records", TREE_LEAF_SLOTS_MIN,
		TREE_LEAF_SLOTS_MAX, "records in a leaf of a new pool"),
	[FANOUT] = NB_OPTION_U64("fanout", NULL, "children", TREE_FANOUT_MIN, TREE_FANOUT_MAX,
		"maximum number of children of an inner node (in memory)"),
	[INLINE_BYTES] = NB_OPTION_BYTES("inline_bytes", NULL, INLINE_MIN, TREE_INLINE_MAX,
		"longest key and value, in sum, that a leaf of a new pool holds itself"),
	NB_OPTION_END,
};

/* libpmemobj reports whether it is new enough, but not its version. */
static const char *
version(void)
{
	return "1 (libpmemobj " FPTREE_PMEMOBJ_VERSION ")";
}

/* --- the database --- */

static int
open_tree(struct nb_db *db, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	struct tree_args to = {.key_size = args->key_size,
		.value_size = args->value_size,
		.sessions = args->sessions,
		.inflight_ops = args->inflight_ops,
		.inflight_bytes = args->inflight_bytes};

	if (value[LEAF_SLOTS].is_set != 0)
		to.leaf_slots = (uint32_t)value[LEAF_SLOTS].u64;
	if (value[INLINE_BYTES].is_set != 0)
		to.inline_bytes = (uint32_t)value[INLINE_BYTES].u64;
	if (value[FANOUT].is_set != 0)
		to.fanout = (uint32_t)value[FANOUT].u64;
	return tree_open(&db->tree, db->pool, &to);
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	const struct nb_option_value *size = &args->options[POOL_SIZE];
	const char *why = pmemobj_check_version(PMEMOBJ_MAJOR_VERSION, PMEMOBJ_MINOR_VERSION);

	if (why != NULL)
		return host->fail(NB_FAIL, "libpmemobj: %s", why);
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	db->host = host;
	int rc = pool_open(&db->pool, args, size->is_set != 0 ? size->u64 : 0);
	if (rc != NB_OK)
		goto free_db;
	rc = open_tree(db, args);
	if (rc != NB_OK)
		goto close_pool;
	if (args->cache_bytes != 0)
		host->log(NB_LOG_WARNING,
			"fptree: cache is ignored: inner nodes and fingerprints are always in memory");
	*out = db;
	return NB_OK;

close_pool:
	pool_close(db->pool);
free_db:
	free(db);
	return rc;
}

static int
db_close(struct nb_db *db)
{
	tree_close(db->tree);
	int rc = pool_close(db->pool);
	free(db);
	return rc;
}

/* --- sessions --- */

static struct tree_session *
own(struct nb_session *session)
{
	return (struct tree_session *)session;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	struct tree_session *session;
	int rc = tree_session_open(&session, db->tree, id);

	if (rc == NB_OK)
		*out = (struct nb_session *)session;
	return rc;
}

static int
session_close(struct nb_session *session)
{
	return tree_session_close(own(session));
}

/* --- records --- */

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return tree_get(own(session), key, value);
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	return tree_multi_get(own(session), keys, count, values, answers);
}

static void
release(struct nb_session *session)
{
	tree_release(own(session));
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return tree_put(own(session), key, value);
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return tree_insert(own(session), key, value);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	return tree_del(own(session), key);
}

/*
 * The writes run one after the other, each durable by itself. Without a log, the engine could
 * not undo the first one.
 */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	if ((flags & NB_BATCH_ATOMIC) != 0)
		return tree_host(own(session))
			->fail(NB_UNSUPPORTED,
				"a batch is not atomic; give no NB_BATCH_ATOMIC");
	for (size_t i = 0; i < count; i++) {
		const struct nb_write *w = &writes[i];
		int rc = w->is_delete != 0 ? del(session, w->key)
					   : put(session, w->key, w->value);

		if (rc < 0)
			return rc;
	}
	return NB_OK;
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	return tree_scan_open(own(session), args);
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	return tree_scan_next(own(session), key, value);
}

static int
scan_close(struct nb_session *session)
{
	return tree_scan_close(own(session));
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	if (how != NB_MERGE_ADD_U64)
		return tree_host(own(session))->fail(NB_UNSUPPORTED, "merge can only add");
	return tree_add(own(session), key, operand);
}

/* --- requests in flight --- */

static const struct nb_engine engine;

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	return async_submit(tree_async(own(session)), requests, count, taken);
}

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	(void)timeout_ns; /* reap never waits */
	return async_reap(tree_async(own(session)), &engine, session, out, room, count);
}

/* --- the database as a whole --- */

/* The same for both values of `upto`, because no work is postponed. */
static int
flush(struct nb_db *db, uint32_t upto)
{
	(void)upto;
	return pool_sync(db->pool);
}

/* An open always walks all leaves, so a checkpoint only syncs. */
static int
checkpoint(struct nb_db *db)
{
	return pool_sync(db->pool);
}

/* The tree's counters, in the order of the table in the README. */
static const struct {
	const char *name, *unit;
	size_t offset;
	uint32_t kind;
} counters[] = {
#define IT(kind, name, unit, field) \
	{ \
		name, unit, offsetof(struct tree_stats, field), NB_STAT_##kind \
	}
	IT(GAUGE, "records", "records", records),
	IT(GAUGE, "leaves", "leaves", leaves),
	IT(GAUGE, "inner_nodes", "nodes", inner_nodes),
	IT(GAUGE, "height", "levels", height),
	IT(COUNTER, "inserts", "records", inserts),
	IT(COUNTER, "updates", "records", updates),
	IT(COUNTER, "deletes", "records", deletes),
	IT(COUNTER, "splits", "leaves", splits),
	IT(COUNTER, "merges", "leaves", merges),
	IT(COUNTER, "inner_splits", "nodes", inner_splits),
	IT(COUNTER, "restarts", "descents", restarts),
	IT(COUNTER, "flushed_lines", "lines", lines),
	IT(COUNTER, "fences", "fences", fences),
	IT(GAUGE, "pool_size", "bytes", pool_bytes),
	IT(GAUGE, "pool_size_max", "bytes", reserved_bytes),
	IT(GAUGE, "blobs", "blobs", blobs),
	IT(GAUGE, "blobs_size", "bytes", blob_bytes),
	IT(COUNTER, "extents", "allocations", extents),
	IT(GAUGE, "recovery_time", "ns", recovery_ns),
	IT(GAUGE, "recovered", "records", recovered),
	IT(GAUGE, "repaired", "slots", repaired),
#undef IT
};

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	struct tree_stats all;

	tree_stats(db->tree, &all);
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		uint64_t value = *(const uint64_t *)((const char *)&all + counters[i].offset);
		emit(to, counters[i].name, counters[i].unit, counters[i].kind, value);
	}
	uint64_t slots = all.leaves * db->pool->root->layout.leaf_slots;
	emit(to, "fill", "%", NB_STAT_GAUGE,
		slots == 0 ? 0 : (all.records * 100 + slots / 2) / slots);
	emit(to, "emulated_pools", "pools", NB_STAT_GAUGE, db->pool->medium == POOL_EMULATED);
}

static const struct nb_engine engine = {
	.abi = NB_ENGINE_ABI,
	.size = sizeof(engine),
	.name = "fptree",
	.summary = "B+-tree whose leaves are in persistent memory, after FPTree",
	.licence = "BSD-2-Clause",
	.home = "part of mininb",
	.build = NB_ENGINE_BUILD,
	.caps = NB_CAP_ORDERED | NB_CAP_PERSISTENT | NB_CAP_CONCURRENT,
	.durabilities = NB_DUR_BIT(NB_DUR_PROCESS) | NB_DUR_BIT(NB_DUR_COMMIT),
	.auto_durability = NB_DUR_COMMIT,
	.key_size_max = KEY_SIZE_MAX,
	.value_size_max = VALUE_SIZE_MAX,
	.options = options,
	.version = version,
	.open = db_open,
	.close = db_close,
	.session_open = session_open,
	.session_close = session_close,
	.get = get,
	.release = release,
	.put = put,
	.del = del,
	.insert = insert,
	.batch = batch,
	.multi_get = multi_get,
	.merge = merge,
	.submit = submit,
	.reap = reap,
	.scan_open = scan_open,
	.scan_next = scan_next,
	.scan_close = scan_close,
	.flush = flush,
	.checkpoint = checkpoint,
	.stats = stats,
	.auto_durability_at = pool_auto_durability,
};
NB_ENGINE_PLUGIN(engine)
