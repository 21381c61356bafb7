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

/* --- the database --- */

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_option_value *value = args->options;
	struct mt_args to;
	struct store_args store = {.path = args->path,
		.log_dirs = value[LOG_DIRS].text,
		.checkpoint_dirs = value[CHECKPOINT_DIRS].text,
		.durability = args->durability,
		.sessions = args->sessions,
		.segment_bytes = value[LOG_SEGMENT].u64,
		.sync_interval_ns = value[SYNC_INTERVAL].u64,
		.may_create = (args->flags & NB_OPEN_CREATE) != 0,
		.accepts_loss = value[ACCEPT_LOSS].u64 != 0};
	int rc = masstree_args(&to, args, &masstree_persistent);

	if (rc != NB_OK)
		return rc;
	to.sessions += STORE_THREADS_MAX;
	to.log = (struct mt_log){log_record, log_record_list};
	struct nb_db *db;
	rc = mt_open(&db, &to);
	if (rc != NB_OK)
		return rc;
	rc = store_open(&db->store, args->host, db, &store);
	if (rc != NB_OK) {
		mt_close(db);
		return rc;
	}
	*out = db;
	return NB_OK;
}

static int
db_close(struct nb_db *db)
{
	int rc = store_close(db->store);

	mt_close(db);
	return rc;
}

/* --- sessions --- */

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	int rc = mt_session_open(out, db, id);

	if (rc != NB_OK)
		return rc;
	struct nb_session *session = *out;
	session->log = db->store->logs == NULL ? NULL : &db->store->logs[id];
	session->is_commit = db->store->durability == NB_DUR_COMMIT;
	return NB_OK;
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
	return leave(session, mt_put(session, key, value));
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	enter(session);
	return leave(session, mt_insert(session, key, value));
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	enter(session);
	return leave(session, mt_del(session, key));
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	enter(session);
	return leave(session, mt_merge(session, key, how, operand));
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
		pthread_rwlock_rdlock(&session->tree->store->list_lock);
}

static int
leave_list(struct nb_session *session, int rc)
{
	if (session->log == NULL)
		pthread_rwlock_unlock(&session->tree->store->list_lock);
	return leave(session, rc);
}

/* Without the flag, one write after the other: sessions see the first before the last is done. */
static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	if ((flags & NB_BATCH_ATOMIC) != 0) {
		enter_list(session);
		return leave_list(session, mt_batch(session, writes, count));
	}
	session->is_several = true;
	return commit_several(session, write_each(session, writes, count, put, del));
}

static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	enter_list(session);
	return leave_list(session, mt_execute(session, steps, count, flags));
}

/* --- requests in flight --- */

ASYNC_SUBMIT()

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	session->is_several = true;
	return commit_several(session,
		async_reap(&session->async, &masstree_persistent, session, out, room, count));
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

	masstree_stats(db, emit, to);
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

const struct nb_engine masstree_persistent = {MASSTREE_TABLE,
	.caps = MASSTREE_CAPS | NB_CAP_PERSISTENT,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_PROCESS) |
		NB_DUR_BIT(NB_DUR_PERIODIC) | NB_DUR_BIT(NB_DUR_COMMIT),
	.auto_durability = NB_DUR_PERIODIC, .open = db_open, .close = db_close,
	.session_open = session_open, .put = put, .insert = insert, .del = del, .batch = batch,
	.merge = merge, .execute = execute, .reap = reap, .flush = flush,
	.checkpoint = checkpoint, .stats = stats};
