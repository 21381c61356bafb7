/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of the engine `faster`: its sessions and its verbs.
 *
 * A session outside a call is not in an epoch, so no flush, growth or checkpoint waits for it.
 * In FASTER, even an idle session has to refresh its epoch regularly.
 */
#include "store.h"

#define KEY_SIZE_MAX (1ull << 20)
#define VALUE_SIZE_MAX (1ull << 28)

static const char *
version(void)
{
	return "2";
}

/* ---- sessions ---- */

static const struct quick *
quick_of_processor(void)
{
#ifdef FASTER_HAVE_AVX2
	if (__builtin_cpu_supports("avx2"))
		return &quick_avx2;
#endif
	return &quick_plain;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	int rc = SESSION_NEW(out, db);

	if (rc != NB_OK)
		return rc;
	struct nb_session *session = *out;
	session->id = id;
	session->index = &db->index;
	session->log = &db->log;
	session->quick = quick_of_processor();
	session->has_quick_writes = !db->log.is_durable;
	session->is_single = db->sessions == 1;
	session->verbs = session->quick->verbs;
	if (!session->has_quick_writes)
		session->verbs = (struct verbs){
			session->quick->verbs.get, whole_verbs.put, whole_verbs.merge};
	session->op.to = &session->buffer;
	session->epoch = epoch_open(db->epochs, id, NULL);
	session->reads = reads_new(
		&db->file, db->readers, db->inflight_ops + 1 + REQUESTS_GROUP, db->how_to_read);
	if (session->epoch == NULL || session->reads == NULL)
		rc = db->host->fail(NB_FAIL, "out of memory");
	else
		rc = requests_open(session);
	if (rc == NB_OK) {
		pthread_mutex_lock(&db->lock);
		db->open[id] = session;
		pthread_mutex_unlock(&db->lock);
		return NB_OK;
	}
	if (session->reads != NULL)
		reads_delete(session->reads);
	if (session->epoch != NULL)
		epoch_close(session->epoch, NULL);
	free(session);
	return rc;
}

static int
session_close(struct nb_session *session)
{
	struct nb_db *db = session->db;
	uint64_t *sums = (uint64_t *)&db->closed;

	reads_delete(session->reads);
	requests_close(session);
	op_free_block(&session->op);
	epoch_close(session->epoch, NULL);
	pthread_mutex_lock(&db->lock);
	for (size_t i = 0; i < COUNTS; i++)
		sums[i] += ((const uint64_t *)&session->counts)[i];
	db->open[session->id] = NULL;
	pthread_mutex_unlock(&db->lock);
	free(session->buffer.data);
	free(session->many.data);
	free(session);
	return NB_OK;
}

/* ---- records ---- */

static inline struct op *
begin_op(struct nb_session *session, uint32_t verb, struct nb_slice key)
{
	struct op *op = &session->op;

	op->verb = verb;
	op->key = key_of(key.data, key.size);
	op->flush_to = 0;
	return op;
}

/* The write is done in memory: wait until it has the required durability. */
static inline int
end_write(struct nb_session *session, const struct op *op, int rc)
{
	return rc < 0 ? rc : session_settle(session, op->flush_to) < 0 ? NB_FAIL : rc;
}

static int
whole_get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct op *op = begin_op(session, NB_REQ_GET, key);

	session->buffer.size = 0;
	int rc = op_run(session, op);
	if (rc == NB_OK)
		*value = op->found;
	return rc;
}

static int
write_value(
	struct nb_session *session, uint32_t verb, struct nb_slice key, struct nb_slice value)
{
	struct op *op = begin_op(session, verb, key);

	op->value = value;
	return end_write(session, op, op_run(session, op));
}

static int
whole_put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return write_value(session, NB_REQ_PUT, key, value);
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return write_value(session, NB_REQ_INSERT, key, value);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	struct op *op = begin_op(session, NB_REQ_DEL, key);

	return end_write(session, op, op_run(session, op));
}

static int
whole_merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	struct op *op = begin_op(session, NB_REQ_MERGE, key);

	if (how != NB_MERGE_ADD_U64)
		return session->db->host->fail(NB_UNSUPPORTED, "merge can only add");
	op->operand = operand;
	return end_write(session, op, op_run(session, op));
}

const struct verbs whole_verbs = {whole_get, whole_put, whole_merge};

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return session->verbs.get(session, key, value);
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return session->verbs.put(session, key, value);
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	return session->verbs.merge(session, key, how, operand);
}

/* Prefetch for the next writes: the buckets of all, then their records. */
static void
fetch(const struct nb_session *session, const struct nb_write *writes, size_t count)
{
	uint64_t hashes[REQUESTS_GROUP];

	epoch_enter(session->epoch);
	for (size_t i = 0; i < count; i++) {
		hashes[i] = key_of(writes[i].key.data, writes[i].key.size).hash;
		index_prefetch(session->index, hashes[i]);
	}
	for (size_t i = 0; i < count; i++)
		session->quick->fetch(session, hashes[i]);
	epoch_exit(session->epoch);
}

/* Execute the writes one after the other, then wait once for the flush of all. */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	uint64_t flush_to = 0;

	if ((flags & NB_BATCH_ATOMIC) != 0)
		return session->db->host->fail(
			NB_UNSUPPORTED, "a batch is not atomic; give no NB_BATCH_ATOMIC");
	for (size_t i = 0; i < count; i++) {
		uint32_t verb = writes[i].is_delete != 0 ? NB_REQ_DEL : NB_REQ_PUT;

		if (i % REQUESTS_GROUP == 0)
			fetch(session, &writes[i],
				count - i < REQUESTS_GROUP ? count - i : REQUESTS_GROUP);
		struct op *op = begin_op(session, verb, writes[i].key);

		op->value = writes[i].value;
		int rc = op_run(session, op);
		if (rc < 0)
			return rc;
		flush_to = op->flush_to > flush_to ? op->flush_to : flush_to;
	}
	return session_settle(session, flush_to);
}

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	return requests_submit(session, requests, count, taken);
}

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	return requests_reap(session, out, room, count, timeout_ns);
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	return requests_multi_get(session, keys, count, values, answers);
}

/* ---- the database ---- */

static int
flush(struct nb_db *db, uint32_t upto)
{
	return log_flush(&db->log, true);
}

static int
checkpoint(struct nb_db *db)
{
	return checkpoint_write(db, true, true);
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	const struct log *log = &db->log;
	struct counts sum;
	uint64_t buckets, overflows, tail = log_tail(log);

	keeper_sum(db, &sum);
	pthread_mutex_lock(&db->lock);
	uint64_t compacted = db->compacted;
	pthread_mutex_unlock(&db->lock);
	epoch_enter(db->stats_epoch); /* else a growth could free the table */
	index_count(&db->index, &buckets, &overflows);
	epoch_exit(db->stats_epoch);
#define GAUGE(name, unit, value) emit(to, name, unit, NB_STAT_GAUGE, value)
#define COUNTER(name, unit, value) emit(to, name, unit, NB_STAT_COUNTER, value)
	GAUGE("log", "bytes", tail - log_read(&log->begin));
	GAUGE("log_in_memory", "bytes", tail - log_read(&log->head));
	GAUGE("log_read_only", "bytes", log_read(&log->read_only) - log_read(&log->head));
	COUNTER("log_written", "bytes", __atomic_load_n(&log->flushed_bytes, __ATOMIC_RELAXED));
	COUNTER("log_flushes", "flushes", __atomic_load_n(&log->flushes, __ATOMIC_RELAXED));
	COUNTER("log_waits", "waits", __atomic_load_n(&log->waits, __ATOMIC_RELAXED));
	COUNTER("updates_in_place", "records", sum.in_place);
	COUNTER("updates_copied", "records", sum.copied);
	COUNTER("appended", "records", sum.appended);
	COUNTER("tombstones", "records", sum.tombstones);
	COUNTER("storage_reads", "reads", sum.storage_reads);
	COUNTER("found_on_storage", "records", sum.storage_hits);
	COUNTER("promoted", "records", sum.promoted);
	COUNTER("fuzzy_waits", "operations", sum.fuzzy_waits);
	COUNTER("retries", "operations", sum.retries);
	GAUGE("index", "bytes", (buckets + overflows) * sizeof(struct bucket));
	GAUGE("index_entries", "entries", sum.entries);
	GAUGE("index_overflows", "buckets", overflows);
	COUNTER("index_growths", "doublings", __atomic_load_n(&db->growths, __ATOMIC_RELAXED));
	COUNTER("index_checkpoints", "files",
		__atomic_load_n(&db->index_checkpoints, __ATOMIC_RELAXED));
	GAUGE("index_loaded", "entries", db->loaded_entries);
	GAUGE("log_replayed", "bytes", db->replayed_bytes);
	COUNTER("compacted", "bytes", compacted);
	GAUGE("direct", "files", db->file.is_direct);
#undef GAUGE
#undef COUNTER
}

static const struct nb_engine engine = {
	ENGINE_BASE("faster"),
	.summary = "hash index and hybrid log larger than memory, after FASTER",
	.licence = "BSD-2-Clause",
	.home = "part of mininb",
	.caps = NB_CAP_PERSISTENT | NB_CAP_CONCURRENT,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_PROCESS) |
		NB_DUR_BIT(NB_DUR_PERIODIC) | NB_DUR_BIT(NB_DUR_COMMIT),
	.auto_durability = NB_DUR_PERIODIC,
	.key_size_max = KEY_SIZE_MAX,
	.value_size_max = VALUE_SIZE_MAX,
	.options = store_options,
	.open = store_open,
	.close = store_close,
	ENGINE_RECORDS,
	.insert = insert,
	.batch = batch,
	.multi_get = multi_get,
	.submit = submit,
	.reap = reap,
	.flush = flush,
	.checkpoint = checkpoint,
	.stats = stats,
	.merge = merge,
};
NB_ENGINE_PLUGIN(engine)
