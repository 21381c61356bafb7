/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of the engine `fptree`: its options and its verbs. pool.c manages the pool; most
 * verbs are the functions of tree.h. When a write returns, it has reached the requested
 * durability. Nothing is postponed. So flush has work only at `process`, where no line is
 * flushed.
 */
#include "../common/plugin.h"
#include "internal.h"

/*
 * The plugin stores lengths in 32 bits. The limits are its own, because a blob is one
 * allocation.
 */
#define KEY_SIZE_MAX (1ull << 20)
#define VALUE_SIZE_MAX (1ull << 30)

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
open_tree(struct nb_db **out, struct pool *pool, const struct nb_open_args *args)
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
	return tree_open(out, pool, &to);
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	const struct nb_option_value *size = &args->options[POOL_SIZE];
	const char *why = pmemobj_check_version(PMEMOBJ_MAJOR_VERSION, PMEMOBJ_MINOR_VERSION);

	if (why != NULL)
		return host->fail(NB_FAIL, "libpmemobj: %s", why);
	struct pool *pool;
	int rc = pool_open(&pool, args, size->is_set != 0 ? size->u64 : 0);
	if (rc != NB_OK)
		return rc;
	rc = open_tree(out, pool, args);
	if (rc != NB_OK) {
		pool_close(pool);
		return rc;
	}
	if (args->cache_bytes != 0)
		host->log(NB_LOG_WARNING,
			"fptree: cache is ignored: inner nodes and fingerprints are always in memory");
	return NB_OK;
}

static int
db_close(struct nb_db *db)
{
	struct pool *pool = db->pool;

	tree_close(db);
	return pool_close(pool);
}

/*
 * The writes run one after the other, each durable by itself. Without a log, the engine could
 * not undo the first one.
 */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	if ((flags & NB_BATCH_ATOMIC) != 0)
		return session->tree->host->fail(
			NB_UNSUPPORTED, "a batch is not atomic; give no NB_BATCH_ATOMIC");
	return write_each(session, writes, count, tree_put, tree_del);
}

/* --- requests in flight --- */

static const struct nb_engine engine;

ASYNC_SUBMIT_AND_REAP(&engine)

/* --- the database as a whole --- */

/* The same for both values of `upto`, because no work is postponed. */
static int
flush(struct nb_db *db, uint32_t upto)
{
	return pool_sync(db->pool);
}

/* An open always walks all leaves, so a checkpoint only syncs. */
static int
checkpoint(struct nb_db *db)
{
	return pool_sync(db->pool);
}

/* The tree's counters, in the order of the table in the README. */
static const struct counter counters[] = {
#define IT(kind, name, unit, member) COUNTER_ROW(struct tree_stats, kind, name, unit, member)
	IT(GAUGE, "records", "records", records),
	IT(GAUGE, "leaves", "leaves", heap.leaves),
	IT(GAUGE, "inner_nodes", "nodes", inner_nodes),
	IT(GAUGE, "height", "levels", height),
	IT(COUNTER, "inserts", "records", counts.inserts),
	IT(COUNTER, "updates", "records", counts.updates),
	IT(COUNTER, "deletes", "records", counts.deletes),
	IT(COUNTER, "splits", "leaves", counts.splits),
	IT(COUNTER, "merges", "leaves", counts.merges),
	IT(COUNTER, "inner_splits", "nodes", counts.inner_splits),
	IT(COUNTER, "restarts", "descents", counts.restarts),
	IT(COUNTER, "flushed_lines", "lines", lines),
	IT(COUNTER, "fences", "fences", fences),
	IT(GAUGE, "pool_size", "bytes", heap.bytes),
	IT(GAUGE, "pool_size_max", "bytes", reserved_bytes),
	IT(GAUGE, "blobs", "blobs", heap.blobs),
	IT(GAUGE, "blobs_size", "bytes", heap.blob_bytes),
	IT(COUNTER, "extents", "allocations", heap.extents),
	IT(GAUGE, "recovery_time", "ns", recovery_ns),
	IT(GAUGE, "recovered", "records", recovered),
	IT(GAUGE, "repaired", "slots", repaired),
#undef IT
};

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	struct tree_stats all;

	tree_stats(db, &all);
	emit_counters(counters, COUNT_OF(counters), &all, emit, to);
	uint64_t slots = all.heap.leaves * db->pool->root->layout.leaf_slots;
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
	.session_open = tree_session_open,
	.session_close = tree_session_close,
	.get = tree_get,
	.release = tree_release,
	.put = tree_put,
	.del = tree_del,
	.insert = tree_insert,
	.batch = batch,
	.multi_get = tree_multi_get,
	.merge = tree_add,
	.submit = submit,
	.reap = reap,
	.scan_open = tree_scan_open,
	.scan_next = tree_scan_next,
	.scan_close = tree_scan_close,
	.flush = flush,
	.checkpoint = checkpoint,
	.stats = stats,
	.auto_durability_at = pool_auto_durability,
};
NB_ENGINE_PLUGIN(engine)
