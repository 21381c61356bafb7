/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine table of `masstree` with -o persistent=yes: the same tree, and a store (store.h).
 *
 * A write is recorded in the session's log before any reader sees it. At `commit` it returns
 * when the log is on storage. A get does not wait for that. It may return a value whose put has
 * not returned yet. A power failure can lose that value together with the put.
 *
 * At `none` nothing is logged, and close writes a checkpoint.
 */
#include "masstree.h"
#include "store.h"

struct nb_db {
	const struct nb_host *host;
	struct mt_tree *tree;
	struct store *store;
};

struct nb_session {
	struct mt_session *tree;
	struct log *log; /* NULL: NB_DUR_NONE */
	struct store *store;
	bool is_commit;
	bool is_several; /* a batch or a reap is in progress; it commits all its writes together */
};

static const char *
version(void)
{
	return NB_ENGINE_VERSION;
}

/* --- the database --- */

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	const struct nb_host *host = args->host;
	struct mt_args to = masstree_args(args);
	struct store_args store = {.path = args->path,
		.log_dirs = value[LOG_DIRS].text,
		.checkpoint_dirs = value[CHECKPOINT_DIRS].text,
		.durability = args->durability,
		.sessions = args->sessions,
		.segment_bytes = value[LOG_SEGMENT].u64,
		.sync_interval_ns = value[SYNC_INTERVAL].u64,
		.may_create = (args->flags & NB_OPEN_CREATE) != 0,
		.accepts_loss = value[ACCEPT_LOSS].u64 != 0};
	int rc = check_durability(args, &masstree_persistent);

	if (rc != NB_OK)
		return rc;
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return host->fail(NB_FAIL, "out of memory");
	db->host = host;
	to.sessions += STORE_THREADS_MAX;
	to.log = (struct mt_log){log_record, log_record_list};
	rc = mt_open(&db->tree, &to);
	if (rc != NB_OK)
		goto free_db;
	rc = store_open(&db->store, host, db->tree, &store);
	if (rc != NB_OK)
		goto close_tree;
	if (args->cache_bytes != 0)
		host->log(NB_LOG_WARNING,
			"masstree: cache is ignored: all records are in memory");
	*out = db;
	return NB_OK;

close_tree:
	mt_close(db->tree);
free_db:
	free(db);
	return rc;
}

static int
db_close(struct nb_db *db)
{
	int rc = store_close(db->store);

	mt_close(db->tree);
	free(db);
	return rc;
}

/* --- sessions --- */

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	struct nb_session *session = calloc(1, sizeof(*session));

	if (session == NULL)
		return db->host->fail(NB_FAIL, "out of memory for a session");
	int rc = mt_session_open(&session->tree, db->tree, id);
	if (rc != NB_OK) {
		free(session);
		return rc;
	}
	session->store = db->store;
	session->log = db->store->logs == NULL ? NULL : &db->store->logs[id];
	session->is_commit = db->store->durability == NB_DUR_COMMIT;
	mt_session_log(session->tree, session->log);
	*out = session;
	return NB_OK;
}

static int
session_close(struct nb_session *session)
{
	mt_session_close(session->tree);
	free(session);
	return NB_OK;
}

/* --- reads --- */

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return mt_get(session->tree, key, value);
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	return mt_multi_get(session->tree, keys, count, values, answers);
}

static void
release(struct nb_session *session)
{
	mt_release(session->tree);
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	return mt_scan_open(session->tree, args);
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	return mt_scan_next(session->tree, key, value);
}

static int
scan_close(struct nb_session *session)
{
	return mt_scan_close(session->tree);
}

/* --- writes --- */

static void
enter(struct nb_session *session)
{
	if (session->log != NULL)
		log_enter(session->log);
}

/* End a write: make its log records as durable as the level requires. */
static int
leave(struct nb_session *session, int rc)
{
	if (session->log == NULL)
		return rc;
	log_leave(session->log);
	if (!session->is_commit || session->is_several || rc < 0)
		return rc;
	int committed = log_commit(session->log);
	return committed == NB_OK ? rc : committed;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	enter(session);
	return leave(session, mt_put(session->tree, key, value));
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	enter(session);
	return leave(session, mt_insert(session->tree, key, value));
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	enter(session);
	return leave(session, mt_del(session->tree, key));
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	if (how != NB_MERGE_ADD_U64)
		return mt_host(session->tree)->fail(NB_UNSUPPORTED, "merge can only add");
	enter(session);
	return leave(session, mt_add(session->tree, key, operand));
}

/* Wait once for several writes that have been recorded one by one. */
static int
commit_several(struct nb_session *session, int rc)
{
	session->is_several = false;
	if (!session->is_commit)
		return rc;
	int committed = log_commit(session->log);
	return rc < 0 || committed == NB_OK ? rc : committed;
}

/*
 * Without a log, a checkpoint must not contain a part of a list, because after a kill nothing
 * completes it. With a log, recovery does.
 */
static void
enter_list(struct nb_session *session)
{
	enter(session);
	if (session->log == NULL)
		pthread_rwlock_rdlock(&session->store->list_lock);
}

static int
leave_list(struct nb_session *session, int rc)
{
	if (session->log == NULL)
		pthread_rwlock_unlock(&session->store->list_lock);
	return leave(session, rc);
}

/* Without the flag, one write after the other: sessions see the first before the last is done. */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	if ((flags & NB_BATCH_ATOMIC) != 0) {
		enter_list(session);
		return leave_list(session, mt_batch(session->tree, writes, count));
	}
	session->is_several = true;
	return commit_several(session, write_each(session, writes, count, put, del));
}

static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	enter_list(session);
	return leave_list(session, mt_execute(session->tree, steps, count, flags));
}

/* --- requests in flight --- */

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	return async_submit(mt_async(session->tree), requests, count, taken);
}

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	session->is_several = true;
	return commit_several(session,
		async_reap(mt_async(session->tree), &masstree_persistent, session, out, room,
			count));
}

/* --- flush, checkpoints and counters --- */

static int
checkpoint(struct nb_db *db)
{
	return checkpoint_write(db->store);
}

/* At both levels, all acknowledged writes are on storage afterwards. */
static int
flush(struct nb_db *db, uint32_t upto)
{
	return db->store->logs == NULL ? checkpoint_write(db->store) : log_sync(db->store);
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	struct store *store = db->store;
	uint64_t bytes = 0;

	masstree_emit(db->tree, emit, to);
	for (uint32_t id = 0; store->logs != NULL && id < store->sessions; id++)
		bytes += __atomic_load_n(&store->logs[id].appended_bytes, __ATOMIC_RELAXED);
	emit(to, "log_written", "bytes", NB_STAT_COUNTER, bytes);
	emit(to, "log_syncs", "rounds", NB_STAT_COUNTER,
		__atomic_load_n(&store->syncs, __ATOMIC_RELAXED));
	emit(to, "checkpoints", "checkpoints", NB_STAT_COUNTER,
		__atomic_load_n(&store->checkpoints, __ATOMIC_RELAXED));
	emit(to, "recovery_time", "ns", NB_STAT_GAUGE, store->recovery_ns);
	emit(to, "recovered", "records", NB_STAT_GAUGE, store->recovered);
	emit(to, "replayed", "changes", NB_STAT_GAUGE, store->replayed);
}

const struct nb_engine masstree_persistent = {ENGINE_BASE("masstree"), ENGINE_RECORDS,
	ENGINE_SCAN, MASSTREE_TABLE, .caps = MASSTREE_CAPS | NB_CAP_PERSISTENT,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_PROCESS) |
		NB_DUR_BIT(NB_DUR_PERIODIC) | NB_DUR_BIT(NB_DUR_COMMIT),
	.auto_durability = NB_DUR_PERIODIC, .open = db_open, .close = db_close,
	.release = release, .insert = insert, .batch = batch, .multi_get = multi_get,
	.merge = merge, .execute = execute, .submit = submit, .reap = reap, .flush = flush,
	.checkpoint = checkpoint, .stats = stats};
