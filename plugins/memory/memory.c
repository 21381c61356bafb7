/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ordered map in memory. Tests compare other engines with it, so it is simple rather than
 * fast.
 *
 * The map (versions.h) is a skip list under one read-write lock. No session holds the lock
 * outside a call. Allocations, which can fail, precede all changes, so a batch is atomic.
 * txn.c contains transactions and execute, scan.c the scans. A get lends a copy in the
 * session's memory, so a loan survives the writes of other sessions.
 *
 * As a measured engine it is a simple baseline. A lookup has a cache miss in nearly each of
 * its ~2 log2(n) comparisons. All sessions write to the cache line of the lock.
 */
#include "internal.h"

/* Size of a session's first chunk of lent memory; each later one is twice as large. */
enum { CHUNK_SIZE = 4096 };

static const struct nb_engine engine;

static const char *
version(void)
{
	return NB_ENGINE_VERSION;
}

int
memory_out_of_memory(const struct nb_session *session, const char *what, size_t size)
{
	return session->db->host->fail(
		NB_FAIL, "memory: out of memory for %s of %zu bytes", what, size);
}

/* --- database and sessions --- */

/* Prefer writers: readers without a pause would otherwise block them forever. */
static void
lock_init(pthread_rwlock_t *lock)
{
	pthread_rwlockattr_t attr;
	pthread_rwlockattr_init(&attr);
#ifdef __GLIBC__
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
	pthread_rwlock_init(lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	if (args->durability != NB_DUR_NONE)
		return host->fail(
			NB_UNSUPPORTED, "memory is lost on exit: durability must be none");
	if ((args->flags & NB_OPEN_CREATE) == 0)
		return host->fail(
			NB_FAIL, "memory: no database: it does not outlive its process");
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL || !versions_open(&db->map)) {
		free(db);
		return host->fail(NB_FAIL, "memory: out of memory for a database");
	}
	db->host = host;
	db->inflight_ops = args->inflight_ops;
	db->inflight_bytes = args->inflight_bytes;
	lock_init(&db->lock);
	*out = db;
	return NB_OK;
}

static int
db_close(struct nb_db *db)
{
	versions_close(&db->map);
	pthread_rwlock_destroy(&db->lock);
	free(db);
	return NB_OK;
}

static struct chunk *
chunk_new(struct chunk *older, size_t room)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + room);
	if (chunk != NULL)
		*chunk = (struct chunk){.older = older, .room = room};
	return chunk;
}

static void
chunk_free(struct chunk *chunk)
{
	while (chunk != NULL) {
		struct chunk *older = chunk->older;
		free(chunk);
		chunk = older;
	}
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	int rc = SESSION_NEW(out, db);
	if (rc != NB_OK)
		return rc;
	/* Any odd constant works: sessions must differ, repeated runs must not. */
	(*out)->random = (id + 1ull) * 0x9e3779b97f4a7c15u;
	(*out)->lent = chunk_new(NULL, CHUNK_SIZE);
	if ((*out)->lent != NULL)
		return NB_OK;
	free(*out);
	return db->host->fail(NB_FAIL, "memory: out of memory");
}

static int
session_close(struct nb_session *session)
{
	if (session->scan.is_open)
		memory_scan_close(session);
	memory_abort(session);
	list_free(session->txn.writes);
	chunk_free(session->lent);
	async_close(&session->async);
	free(session->scan.from.data);
	free(session);
	return NB_OK;
}

/* --- single records --- */

void
memory_lend_anew(struct nb_session *session)
{
	struct chunk *chunk = session->lent;
	if (chunk->older != NULL) { /* keep the newest, which is the largest */
		chunk_free(chunk->older);
		chunk->older = NULL;
	}
	chunk->used = 0;
}

static struct chunk *
chunk_add(struct nb_session *session, size_t size)
{
	size_t room = session->lent->room * 2;
	struct chunk *chunk = chunk_new(session->lent, room > size ? room : size);
	if (chunk != NULL)
		session->lent = chunk;
	return chunk;
}

int
memory_lend(struct nb_session *session, const struct node *node, struct nb_slice *value)
{
	struct chunk *chunk = session->lent;
	if (node == NULL)
		return NB_NOT_FOUND;
	size_t size = node->value_size;
	if (size > chunk->room - chunk->used)
		chunk = chunk_add(session, size);
	if (chunk == NULL)
		return memory_out_of_memory(session, "a value", size);
	char *to = chunk->bytes + chunk->used;
	memcpy(to, node_value(node), size);
	chunk->used += size;
	*value = (struct nb_slice){to, size};
	return NB_OK;
}

/* The caller holds the lock. */
static int
look_up(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	const struct node *node = list_find(session->db->map.head, key, NULL);
	bool is_there = node_is_of(node, key) && !node->is_deleted;
	return memory_lend(session, is_there ? node : NULL, value);
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_db *db = session->db;
	memory_lend_anew(session);
	if (session->txn.is_open)
		return txn_get(session, key, value);
	pthread_rwlock_rdlock(&db->lock);
	int rc = look_up(session, key, value);
	pthread_rwlock_unlock(&db->lock);
	return rc;
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	struct nb_db *db = session->db;
	bool is_in_txn = session->txn.is_open;
	int rc = NB_OK;
	memory_lend_anew(session);
	if (!is_in_txn)
		pthread_rwlock_rdlock(&db->lock);
	for (size_t i = 0; i < count && rc >= 0; i++)
		rc = answers[i] = is_in_txn ? txn_get(session, keys[i], &values[i])
					    : look_up(session, keys[i], &values[i]);
	if (!is_in_txn)
		pthread_rwlock_unlock(&db->lock);
	return rc < 0 ? rc : NB_OK;
}

static int
store(struct nb_session *session, struct nb_slice key, struct nb_slice value, bool only_new)
{
	struct nb_db *db = session->db;
	struct node *garbage = NULL;
	struct node *node = node_new(&session->random, key, value, false);
	if (node == NULL)
		return memory_out_of_memory(session, "a record", key.size + value.size);
	pthread_rwlock_wrlock(&db->lock);
	db->map.stamp++;
	bool is_stored = versions_store(&db->map, node, only_new, &garbage);
	pthread_rwlock_unlock(&db->lock);
	nodes_free(garbage);
	if (is_stored)
		return NB_OK;
	free(node);
	return NB_EXISTS;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return session->txn.is_open ? txn_put(session, key, value)
				    : store(session, key, value, false);
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return session->txn.is_open ? txn_insert(session, key, value)
				    : store(session, key, value, true);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	struct nb_db *db = session->db;
	struct node *garbage = NULL;
	if (session->txn.is_open)
		return txn_del(session, key);
	struct node *tombstone = node_new(
		&session->random, key, (struct nb_slice){NULL, 0}, true);
	if (tombstone == NULL)
		return memory_out_of_memory(session, "a key", key.size);
	pthread_rwlock_wrlock(&db->lock);
	db->map.stamp++;
	bool was_there = versions_remove(&db->map, tombstone, &garbage);
	pthread_rwlock_unlock(&db->lock);
	nodes_free(garbage);
	return was_there ? NB_OK : NB_NOT_FOUND;
}

/* --- requests: submit stores them, reap executes them --- */

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	struct async *async = &session->async;
	const struct nb_db *db = session->db;
	if (async->requests == NULL && !async_open(async, db->inflight_ops, db->inflight_bytes))
		return session->db->host->fail(
			NB_FAIL, "memory: out of memory for %zu requests", async->room);
	return async_submit(async, requests, count, taken);
}

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	*count = 0;
	return session->async.count == 0
		? NB_OK
		: async_reap(&session->async, &engine, session, out, room, count);
}

/* --- operations on the whole database --- */

static int
flush(struct nb_db *db, uint32_t upto)
{
	return NB_OK;
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	pthread_rwlock_rdlock(&db->lock);
	uint64_t records = db->map.records;
	uint64_t bytes = db->map.bytes;
	pthread_rwlock_unlock(&db->lock);
	emit(to, "records", "records", NB_STAT_GAUGE, records);
	emit(to, "bytes", "bytes", NB_STAT_GAUGE, bytes);
}

static const struct nb_engine engine = {ENGINE_BASE("memory"), ENGINE_RECORDS,
	.summary = "an ordered map in memory, simple rather than fast",
	.licence = "BSD-2-Clause", .home = "part of mininb",
	.caps = NB_CAP_ORDERED | NB_CAP_CONCURRENT | NB_CAP_ATOMIC_BATCH | NB_CAP_SNAPSHOT |
		NB_CAP_SERIALIZABLE,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE), .auto_durability = NB_DUR_NONE,
	.open = db_open, .close = db_close, .insert = insert, .scan_open = memory_scan_open,
	.scan_next = memory_scan_next, .scan_close = memory_scan_close, .batch = memory_batch,
	.multi_get = multi_get, .begin = memory_begin, .commit = memory_commit,
	.abort = memory_abort, .submit = submit, .reap = reap, .flush = flush, .stats = stats,
	.execute = memory_execute, .merge = memory_merge};
NB_ENGINE_PLUGIN(engine)
