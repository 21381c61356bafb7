/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ordered map in memory: the oracle that the tests compare other engines
 * with, so it is chosen to be evidently right before it is fast.
 *
 * The map is a skip list (W. Pugh, CACM 33(6), 1990) with p = 1/4, under one
 * read-write lock. A node holds its key and its value in one allocation and
 * never changes: to overwrite is to put a new node in the old one's place. So
 * all that can fail, the allocation, is done before the lock is taken, and what
 * happens under it cannot fail; that alone makes a batch all or nothing.
 *
 * What is lent is a copy in the session's own buffer, so that a loan outlives
 * whatever other sessions write. For the same reason a scan keeps no pointer
 * into the list but the last key, and looks for its neighbour each time: it
 * goes on in order whatever happens around it, at the price of one search for
 * each record, and sees no snapshot.
 *
 * As a measured engine it is a plain baseline: a lookup costs a cache miss for
 * nearly each of its ~2 log2(n) comparisons, and the lock is one cache line
 * that all sessions write to.
 */
#include "../common/plugin.h"

/* 4^16 records before the search becomes longer than logarithmic. */
enum { LEVELS_MAX = 16 };

/* Requests in flight where the host announces no number. */
enum { INFLIGHT_DEFAULT = 64 };

/* Of the first chunk of what a session lends; the later ones are twice as large each. */
enum { CHUNK_SIZE = 4096 };

struct node {
	size_t key_size, value_size;
	size_t height;
	struct node *next[]; /* `height` of them, then the key's bytes, then the value's */
};

struct nb_db {
	const struct nb_host *host;
	uint64_t inflight;     /* requests in a session, at most */
	pthread_rwlock_t lock; /* guards all that follows, and the nodes' links */
	struct node *head;     /* before every key; of full height, without key and value */
	uint64_t records;
	uint64_t bytes; /* of keys and values */
};

enum scan_place {
	SCAN_AT_END,   /* nothing told yet: begin with the first, or the last, record */
	SCAN_AT_KEY,   /* nothing told yet: begin with the key, itself included */
	SCAN_PAST_KEY, /* the key has been told: go on strictly beyond it */
	SCAN_OVER
};

/* Memory that is lent. It never moves, so that one call can lend many values. */
struct chunk {
	struct chunk *older;
	size_t room, used;
	char bytes[];
};

struct nb_session {
	struct nb_db *db;
	uint64_t random; /* state of the heights' generator, never 0 */
	struct chunk *lent;
	struct nb_request *requests; /* a ring of db->inflight, from the first submit on */
	uint64_t request_head, request_tail; /* counts of those reaped and submitted */
	struct buffer key;                   /* a scan's last key, or where it begins */
	enum scan_place place;
	uint32_t scan_flags;
};

static const char *
version(void)
{
	return NB_ENGINE_VERSION;
}

static int
out_of_memory(const struct nb_host *host, const char *what, size_t size)
{
	return host->fail(NB_FAIL, "memory: out of memory for %s of %zu bytes", what, size);
}

/* --- nodes --- */

static char *
node_key(const struct node *node)
{
	return (char *)&node->next[node->height];
}

static char *
node_value(const struct node *node)
{
	return node_key(node) + node->key_size;
}

/* An empty slice may have no address, which memcpy() must not see. */
static void
copy(char *to, const void *from, size_t size)
{
	if (size != 0)
		memcpy(to, from, size);
}

static int
compare(const struct node *node, struct nb_slice key)
{
	size_t common = node->key_size < key.size ? node->key_size : key.size;
	int order = common == 0 ? 0 : memcmp(node_key(node), key.data, common);

	if (order != 0)
		return order;
	return (node->key_size > key.size) - (node->key_size < key.size);
}

static bool
is_match(const struct node *node, struct nb_slice key)
{
	return node != NULL && compare(node, key) == 0;
}

/* Each level holds a quarter of the one below: two zero bits of a random word. */
static size_t
random_height(struct nb_session *session)
{
	uint64_t x = session->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	session->random = x;
	return 1 + (size_t)__builtin_ctzll(x | 1ull << 2 * (LEVELS_MAX - 1)) / 2;
}

static struct node *
node_new(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	size_t height = random_height(session);
	size_t links = height * sizeof(struct node *);
	struct node *node = malloc(sizeof(*node) + links + key.size + value.size);

	if (node == NULL)
		return NULL;
	node->key_size = key.size;
	node->value_size = value.size;
	node->height = height;
	copy(node_key(node), key.data, key.size);
	copy(node_value(node), value.data, value.size);
	return node;
}

/* --- the list; the caller holds the lock --- */

/*
 * The first node that is not below the key, or NULL. before[], if wanted, is the
 * last node below the key at each level.
 */
static struct node *
find(const struct nb_db *db, struct nb_slice key, struct node **before)
{
	struct node *at = db->head;
	struct node *bound = NULL; /* known not to be below the key */

	for (int level = LEVELS_MAX - 1; level >= 0; level--) {
		struct node *next = at->next[level];
		while (next != bound && compare(next, key) < 0) {
			at = next;
			next = at->next[level];
		}
		bound = next;
		if (before != NULL)
			before[level] = at;
	}
	return bound;
}

static struct node *
last(const struct nb_db *db)
{
	struct node *at = db->head;

	for (int level = LEVELS_MAX - 1; level >= 0; level--)
		while (at->next[level] != NULL)
			at = at->next[level];
	return at == db->head ? NULL : at;
}

static void
link_node(struct nb_db *db, struct node **before, struct node *node)
{
	for (size_t level = 0; level < node->height; level++) {
		node->next[level] = before[level]->next[level];
		before[level]->next[level] = node;
	}
	db->records++;
	db->bytes += node->key_size + node->value_size;
}

static void
unlink_node(struct nb_db *db, struct node **before, struct node *node)
{
	for (size_t level = 0; level < node->height; level++)
		before[level]->next[level] = node->next[level];
	db->records--;
	db->bytes -= node->key_size + node->value_size;
}

/* Takes the key's node out and returns it, or NULL. */
static struct node *
take(struct nb_db *db, struct nb_slice key, struct node **before)
{
	struct node *node = find(db, key, before);

	if (!is_match(node, key))
		return NULL;
	unlink_node(db, before, node);
	return node;
}

/* Puts the node in the place of what its key had, which it returns, or NULL. */
static struct node *
store(struct nb_db *db, struct node *node)
{
	struct node *before[LEVELS_MAX];
	struct node *old = take(db, (struct nb_slice){node_key(node), node->key_size}, before);

	link_node(db, before, node);
	return old;
}

/* --- database and sessions --- */

/* Writers first: readers that never pause would otherwise keep them out for good. */
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
	if (db == NULL)
		return out_of_memory(host, "a database", sizeof(*db));
	db->head = calloc(1, sizeof(*db->head) + LEVELS_MAX * sizeof(struct node *));
	if (db->head == NULL)
		goto free_db;
	db->head->height = LEVELS_MAX;
	db->host = host;
	db->inflight = args->inflight_ops != 0 ? args->inflight_ops : INFLIGHT_DEFAULT;
	lock_init(&db->lock);
	*out = db;
	return NB_OK;

free_db:
	free(db);
	return out_of_memory(host, "a database", sizeof(*db));
}

static int
db_close(struct nb_db *db)
{
	for (struct node *node = db->head; node != NULL;) {
		struct node *next = node->next[0];
		free(node);
		node = next;
	}
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
	struct nb_session *session = calloc(1, sizeof(*session));

	if (session == NULL)
		return out_of_memory(db->host, "a session", sizeof(*session));
	session->lent = chunk_new(NULL, CHUNK_SIZE);
	if (session->lent == NULL)
		goto free_session;
	session->db = db;
	/* Any odd constant: sessions must differ, and a repeated run must not. */
	session->random = (id + 1ull) * 0x9e3779b97f4a7c15u;
	*out = session;
	return NB_OK;

free_session:
	free(session);
	return out_of_memory(db->host, "a session", CHUNK_SIZE);
}

static int
session_close(struct nb_session *session)
{
	chunk_free(session->lent);
	free(session->requests);
	free(session->key.data);
	free(session);
	return NB_OK;
}

/* --- single records --- */

/* Ends all loans; the newest chunk, which is the largest, stays. */
static void
lend_anew(struct nb_session *session)
{
	struct chunk *chunk = session->lent;

	if (chunk->older != NULL) {
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

/* Lends a copy of the node's value, beside what is lent already. */
static int
lend(struct nb_session *session, const struct node *node, struct nb_slice *value)
{
	struct chunk *chunk = session->lent;
	size_t size = node->value_size;

	if (size > chunk->room - chunk->used)
		chunk = chunk_add(session, size);
	if (chunk == NULL)
		return out_of_memory(session->db->host, "a value", size);
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
	const struct node *node = find(session->db, key, NULL);

	return is_match(node, key) ? lend(session, node, value) : NB_NOT_FOUND;
}

/* get, beside what is lent already. */
static int
get_also(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_db *db = session->db;

	pthread_rwlock_rdlock(&db->lock);
	int rc = look_up(session, key, value);
	pthread_rwlock_unlock(&db->lock);
	return rc;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	lend_anew(session);
	return get_also(session, key, value);
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	struct nb_db *db = session->db;
	struct node *node = node_new(session, key, value);

	if (node == NULL)
		return out_of_memory(db->host, "a record", key.size + value.size);
	pthread_rwlock_wrlock(&db->lock);
	struct node *old = store(db, node);
	pthread_rwlock_unlock(&db->lock);
	free(old);
	return NB_OK;
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	struct nb_db *db = session->db;
	struct node *before[LEVELS_MAX];
	struct node *node = node_new(session, key, value);

	if (node == NULL)
		return out_of_memory(db->host, "a record", key.size + value.size);
	pthread_rwlock_wrlock(&db->lock);
	bool is_there = is_match(find(db, key, before), key);
	if (!is_there)
		link_node(db, before, node);
	pthread_rwlock_unlock(&db->lock);
	if (!is_there)
		return NB_OK;
	free(node);
	return NB_EXISTS;
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	struct nb_db *db = session->db;
	struct node *before[LEVELS_MAX];

	pthread_rwlock_wrlock(&db->lock);
	struct node *old = take(db, key, before);
	pthread_rwlock_unlock(&db->lock);
	if (old == NULL)
		return NB_NOT_FOUND;
	free(old);
	return NB_OK;
}

/* --- scans --- */

static int
keep_key(struct nb_session *session, const void *data, size_t size)
{
	return buffer_set(&session->key, data, size)
		? NB_OK
		: out_of_memory(session->db->host, "a key", size);
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	session->scan_flags = args->flags;
	session->place = args->from.size == 0 ? SCAN_AT_END : SCAN_AT_KEY;
	return keep_key(session, args->from.data, args->from.size);
}

static struct node *
next_up(const struct nb_db *db, enum scan_place place, struct nb_slice key)
{
	if (place == SCAN_AT_END)
		return db->head->next[0];
	struct node *node = find(db, key, NULL);
	return place == SCAN_PAST_KEY && is_match(node, key) ? node->next[0] : node;
}

static struct node *
next_down(const struct nb_db *db, enum scan_place place, struct nb_slice key)
{
	struct node *before[LEVELS_MAX];

	if (place == SCAN_AT_END)
		return last(db);
	struct node *node = find(db, key, before);
	if (place == SCAN_AT_KEY && is_match(node, key))
		return node;
	return before[0] == db->head ? NULL : before[0];
}

/* Copies the record out; the caller holds the lock. */
static int
scan_lend(struct nb_session *session, const struct node *node, struct nb_slice *key,
	struct nb_slice *value)
{
	int rc = keep_key(session, node_key(node), node->key_size);

	if (rc != NB_OK)
		return rc;
	*key = buffer_slice(&session->key);
	lend_anew(session);
	if ((session->scan_flags & NB_SCAN_KEYS_ONLY) == 0)
		return lend(session, node, value);
	*value = (struct nb_slice){NULL, 0};
	return NB_OK;
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct nb_db *db = session->db;
	struct nb_slice from = buffer_slice(&session->key);
	bool is_backward = (session->scan_flags & NB_SCAN_BACKWARD) != 0;

	if (session->place == SCAN_OVER)
		return NB_NOT_FOUND;
	pthread_rwlock_rdlock(&db->lock);
	const struct node *node = is_backward ? next_down(db, session->place, from)
					      : next_up(db, session->place, from);
	int rc = node == NULL ? NB_NOT_FOUND : scan_lend(session, node, key, value);
	pthread_rwlock_unlock(&db->lock);
	session->place = rc == NB_OK ? SCAN_PAST_KEY : SCAN_OVER;
	return rc;
}

static int
scan_close(struct nb_session *session)
{
	session->place = SCAN_OVER;
	return NB_OK;
}

/* --- many records --- */

/* A new node for each put of the batch; all of them or none. */
static struct node **
prepare(struct nb_session *session, const struct nb_write *writes, size_t count)
{
	struct node **nodes = calloc(count, sizeof(*nodes));

	if (nodes == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (writes[i].is_delete)
			continue;
		nodes[i] = node_new(session, writes[i].key, writes[i].value);
		if (nodes[i] == NULL)
			goto free_nodes;
	}
	return nodes;

free_nodes:
	for (size_t i = 0; i < count; i++)
		free(nodes[i]);
	free(nodes);
	return NULL;
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	struct nb_db *db = session->db;
	struct node *before[LEVELS_MAX];

	(void)flags; /* all or nothing in any case */
	if (count == 0)
		return NB_OK;
	struct node **nodes = prepare(session, writes, count);
	if (nodes == NULL)
		return db->host->fail(
			NB_FAIL, "memory: out of memory for a batch of %zu", count);
	pthread_rwlock_wrlock(&db->lock);
	for (size_t i = 0; i < count; i++)
		free(writes[i].is_delete ? take(db, writes[i].key, before)
					 : store(db, nodes[i]));
	pthread_rwlock_unlock(&db->lock);
	free(nodes);
	return NB_OK;
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	struct nb_db *db = session->db;
	int rc = NB_OK;

	lend_anew(session);
	pthread_rwlock_rdlock(&db->lock);
	for (size_t i = 0; i < count && rc >= 0; i++)
		rc = answers[i] = look_up(session, keys[i], &values[i]);
	pthread_rwlock_unlock(&db->lock);
	return rc < 0 ? rc : NB_OK;
}

/* --- requests: kept by submit, done by reap --- */

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	uint64_t inflight = session->db->inflight;
	uint64_t room = inflight - (session->request_tail - session->request_head);

	if (session->requests == NULL)
		session->requests = calloc(inflight, sizeof(*session->requests));
	if (session->requests == NULL)
		return out_of_memory(
			session->db->host, "requests", inflight * sizeof(*session->requests));
	*taken = count < room ? count : room;
	for (size_t i = 0; i < *taken; i++)
		session->requests[session->request_tail++ % inflight] = requests[i];
	return NB_PENDING;
}

static int
do_request(struct nb_session *session, const struct nb_request *request, struct nb_slice *value)
{
	switch (request->verb) {
	case NB_REQ_GET:
		return get_also(session, request->key, value);
	case NB_REQ_PUT:
		return put(session, request->key, request->value);
	case NB_REQ_DEL:
		return del(session, request->key);
	case NB_REQ_INSERT:
		return insert(session, request->key, request->value);
	default:
		return session->db->host->fail(
			NB_UNSUPPORTED, "memory: no request of verb %u", request->verb);
	}
}

/* Ends with a request that failed: the text of fail() is that of the last failure. */
static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	int rc = NB_OK;

	lend_anew(session);
	for (*count = 0; *count < room && rc >= 0; ++*count) {
		if (session->request_head == session->request_tail)
			break;
		const struct nb_request *request =
			&session->requests[session->request_head++ % session->db->inflight];
		struct nb_completion *done = &out[*count];
		*done = (struct nb_completion){.tag = request->tag};
		rc = done->answer = do_request(session, request, &done->value);
	}
	return NB_OK;
}

/* --- the whole --- */

static int
flush(struct nb_db *db, uint32_t upto)
{
	return NB_OK;
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	pthread_rwlock_rdlock(&db->lock);
	uint64_t records = db->records;
	uint64_t bytes = db->bytes;
	pthread_rwlock_unlock(&db->lock);
	emit(to, "records", "records", NB_STAT_GAUGE, records);
	emit(to, "bytes", "bytes", NB_STAT_GAUGE, bytes);
}

static const struct nb_engine engine = {ENGINE_BASE("memory"), ENGINE_RECORDS,
	.summary = "an ordered map in memory, simple rather than fast",
	.licence = "BSD-2-Clause", .home = "part of mininb",
	.caps = NB_CAP_ORDERED | NB_CAP_CONCURRENT | NB_CAP_ATOMIC_BATCH,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE), .auto_durability = NB_DUR_NONE,
	.open = db_open, .close = db_close, .insert = insert, ENGINE_SCAN, .batch = batch,
	.multi_get = multi_get, .submit = submit, .reap = reap, .flush = flush, .stats = stats};
NB_ENGINE_PLUGIN(engine)
