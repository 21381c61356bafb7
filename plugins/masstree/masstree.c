/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine table of `masstree` in memory, and its options. Most verbs are the functions of
 * the tree (tree.h).
 */
#include "masstree.h"

const struct nb_option masstree_options[] = {MASSTREE_OPTIONS(OPTION_ROW) NB_OPTION_END};

static const struct nb_engine engine;

const char *
masstree_version(void)
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

int
masstree_args(
	struct mt_args *to, const struct nb_open_args *args, const struct nb_engine *table)
{
	const struct nb_option_value *value = args->options;

	*to = (struct mt_args){.host = args->host,
		.sessions = args->sessions,
		.inflight_ops = args->inflight_ops,
		.inflight_bytes = args->inflight_bytes,
		.has_small_pages = value[HUGEPAGES].u64 == 0,
		.has_malloc = value[ALLOCATOR].u64 == ALLOCATOR_MALLOC,
		.has_no_prefetch = value[PREFETCH].u64 == 0,
		.has_no_permutation = value[PERMUTATION].u64 == 0,
		.has_byte_compare = value[COMPARE].u64 == COMPARE_BYTES};
	if (args->cache_bytes != 0)
		args->host->log(NB_LOG_WARNING,
			"masstree: cache is ignored: all records are in memory");
	return check_durability(args, table);
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct mt_args to;
	int rc = masstree_args(&to, args, &engine);

	if (rc != NB_OK)
		return rc;
	if ((args->flags & NB_OPEN_CREATE) == 0)
		return args->host->fail(NB_FAIL,
			"masstree: no database: without -o persistent=yes it does not outlive its process");
	return mt_open(out, &to);
}

/* Without the flag, one write after the other: sessions see the first before the last is done. */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	if ((flags & NB_BATCH_ATOMIC) != 0)
		return mt_batch(session, writes, count);
	return write_each(session, writes, count, mt_put, mt_del);
}

/* --- requests in flight --- */

ASYNC_SUBMIT_AND_REAP(&engine)

/* --- flush and counters --- */

/* Nothing to do at both levels: the tree defers no work. */
static int
flush(struct nb_db *db, uint32_t upto)
{
	return NB_OK;
}

/* In the order of the table in the README. */
static const struct counter counters[] = {
#define IT(kind, name, unit, member) COUNTER_ROW(struct mt_stats, kind, name, unit, member)
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
masstree_stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	struct mt_stats all;

	mt_stats(db, &all);
	emit_counters(counters, COUNT_OF(counters), &all, emit, to);
}

static const struct nb_engine engine = {MASSTREE_TABLE, .caps = MASSTREE_CAPS,
	.variant = variant, .durabilities = NB_DUR_BIT(NB_DUR_NONE),
	.auto_durability = NB_DUR_NONE, .open = db_open, .close = mt_close,
	.session_open = mt_session_open, .put = mt_put, .insert = mt_insert, .del = mt_del,
	.batch = batch, .merge = mt_merge, .execute = mt_execute, .reap = reap, .flush = flush,
	.stats = masstree_stats};
NB_ENGINE_PLUGIN(engine)
