/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `memory` with every verb, in the simplest correct way:
 *
 * - Each database has one lock. A transaction or scan holds it from its first record to its
 *   end, and an execute holds it for all its steps.
 * - A list of old values undoes a transaction.
 * - Requests are executed when they are reaped.
 * - All lent values are copies.
 * - A closed database stays open internally until its path is opened again.
 *
 * If the lock is taken, a transaction returns NB_CONFLICT and a verb outside a transaction
 * waits. So the tests meet both cases.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fitted.h"

enum { DATABASES_MAX = 4096, QUEUE_MAX = 16, UNDO_MAX = 256, LENT_MAX = 256 };

struct undo {
	struct nb_slice key, value; /* copies; data NULL: the key did not exist */
};

struct nb_db {
	struct nb_db *inner; /* the database of the inner engine; opaque */
	const struct nb_host *host;
	char *path;
	size_t queue_max;
	uint64_t queue_bytes_max;
	uint32_t session_count; /* atomic */
	pthread_rwlock_t lock;
};

struct nb_session {
	struct nb_session *inner;
	struct nb_db *db;
	bool is_in_transaction, is_read_only;
	bool has_lock; /* the transaction holds the lock */
	struct undo undo[UNDO_MAX];
	size_t undo_count;
	struct nb_request queue[QUEUE_MAX]; /* keys and values are copies */
	size_t queue_count;
	uint64_t queue_bytes;
	uint32_t beside_others; /* requests executed while other sessions were open */
	void *lent[LENT_MAX];   /* freed by release */
	size_t lent_count;
};

static const struct nb_engine *base;
static struct nb_db *databases[DATABASES_MAX];
static size_t database_count;

/* --- databases --- */

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct nb_open_args inner = *args;
	inner.flags |= NB_OPEN_CREATE;
	for (size_t i = 0; i < database_count; i++)
		if (strcmp(databases[i]->path, args->path) == 0) {
			*out = databases[i];
			return NB_OK;
		}
	if ((args->flags & NB_OPEN_CREATE) == 0)
		return args->host->fail(NB_FAIL, "fitted: no database at %s", args->path);
	if (database_count == DATABASES_MAX)
		return args->host->fail(NB_FAIL, "fitted: too many databases");
	struct nb_db *db = calloc(1, sizeof(*db));
	int rc = base->open(&db->inner, &inner);
	if (rc != NB_OK) {
		free(db);
		return rc;
	}
	db->host = args->host;
	db->path = strdup(args->path);
	db->queue_max = least(args->inflight_ops, QUEUE_MAX);
	db->queue_bytes_max = args->inflight_bytes != 0 ? args->inflight_bytes : UINT64_MAX;
	pthread_rwlock_init(&db->lock, NULL);
	databases[database_count++] = db;
	*out = db;
	return NB_OK;
}

static int
db_close(struct nb_db *db)
{
	return NB_OK;
}

void
fitted_reset(void)
{
	for (size_t i = 0; i < database_count; i++) {
		base->close(databases[i]->inner);
		pthread_rwlock_destroy(&databases[i]->lock);
		free(databases[i]->path);
		free(databases[i]);
	}
	database_count = 0;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	struct nb_session *session = calloc(1, sizeof(*session));
	session->db = db;
	int rc = base->session_open(&session->inner, db->inner, id);
	if (rc == NB_OK) {
		__atomic_add_fetch(&db->session_count, 1, __ATOMIC_RELAXED);
		*out = session;
	} else {
		free(session);
	}
	return rc;
}

static void
release(struct nb_session *session)
{
	while (session->lent_count > 0)
		free(session->lent[--session->lent_count]);
}

static void
free_request(struct nb_request *request)
{
	free((void *)request->key.data);
	free((void *)request->value.data);
}

static int
session_close(struct nb_session *session)
{
	int rc = base->session_close(session->inner);
	__atomic_sub_fetch(&session->db->session_count, 1, __ATOMIC_RELAXED);
	for (size_t i = 0; i < session->queue_count; i++)
		free_request(&session->queue[i]);
	release(session);
	free(session);
	return rc;
}

/* --- the lock --- */

/*
 * Locks the database. Returns NB_CONFLICT inside a transaction if another session holds the
 * lock.
 */
static int
enter(struct nb_session *session, bool to_write)
{
	pthread_rwlock_t *lock = &session->db->lock;
	if (!session->is_in_transaction)
		return to_write ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock);
	if (to_write && session->is_read_only)
		return session->db->host->fail(
			NB_UNSUPPORTED, "fitted: a write in a read-only transaction");
	if (!session->has_lock)
		session->has_lock = pthread_rwlock_trywrlock(lock) == 0;
	return session->has_lock ? NB_OK : NB_CONFLICT;
}

static int
leave(struct nb_session *session, int rc)
{
	if (!session->is_in_transaction)
		pthread_rwlock_unlock(&session->db->lock);
	return rc;
}

/* --- records; the session holds the lock --- */

static struct nb_slice
copy_of(struct nb_slice slice)
{
	void *copy = malloc(slice.size + 1);
	if (slice.size != 0)
		memcpy(copy, slice.data, slice.size);
	return (struct nb_slice){copy, slice.size};
}

static int
find_copy(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	int rc = base->get(session->inner, key, value);
	if (rc != NB_OK)
		return rc;
	*value = copy_of(*value);
	if (base->release != NULL)
		base->release(session->inner);
	return rc;
}

static int
find_to_lend(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	int rc = session->lent_count == LENT_MAX
		? session->db->host->fail(NB_FAIL, "fitted: too many loans")
		: find_copy(session, key, value);
	if (rc == NB_OK)
		session->lent[session->lent_count++] = (void *)value->data;
	return rc;
}

/* Stores the old value of a key before a write, for undo. */
static void
remember(struct nb_session *session, struct nb_slice key)
{
	struct undo *undo = &session->undo[session->undo_count++];
	*undo = (struct undo){.key = copy_of(key)};
	if (find_copy(session, key, &undo->value) != NB_OK)
		undo->value.data = NULL;
}

/* Ends the changes after the first `mark` ones: keeps them or undoes them. */
static int
end_changes(struct nb_session *session, size_t mark, bool are_kept)
{
	while (session->undo_count > mark) {
		struct undo *undo = &session->undo[--session->undo_count];
		if (!are_kept && undo->value.data == NULL)
			base->del(session->inner, undo->key);
		else if (!are_kept)
			base->put(session->inner, undo->key, undo->value);
		free((void *)undo->key.data);
		free((void *)undo->value.data);
	}
	return NB_OK;
}

static int
check_sizes(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	if (key.size > FITTED_KEY_MAX || value.size > FITTED_VALUE_MAX)
		return session->db->host->fail(NB_UNSUPPORTED, "fitted: a record too long");
	if (session->undo_count == UNDO_MAX)
		return session->db->host->fail(NB_FAIL, "fitted: too many changes");
	return NB_OK;
}

/* With `is_new`, stores the value only if the key does not exist. */
static int
store(struct nb_session *session, struct nb_slice key, struct nb_slice value, bool is_new)
{
	int rc = check_sizes(session, key, value);
	if (rc != NB_OK)
		return rc;
	remember(session, key);
	return is_new ? base->insert(session->inner, key, value)
		      : base->put(session->inner, key, value);
}

static int
remove_key(struct nb_session *session, struct nb_slice key)
{
	int rc = check_sizes(session, key, (struct nb_slice){NULL, 0});
	if (rc != NB_OK)
		return rc;
	remember(session, key);
	return base->del(session->inner, key);
}

static int
add(struct nb_session *session, struct nb_slice key, uint64_t operand)
{
	struct nb_slice found = {NULL, 0};
	uint64_t number = 0;
	int rc = find_copy(session, key, &found);
	if (rc == NB_OK && found.size == sizeof(number))
		memcpy(&number, found.data, sizeof(number));
	else if (rc == NB_OK)
		rc = session->db->host->fail(
			NB_FAIL, "fitted: a number of %zu bytes", found.size);
	free((void *)found.data);
	number += operand;
	return rc < 0 ? rc
		      : store(session, key, (struct nb_slice){&number, sizeof(number)}, false);
}

/* --- the verbs of one record --- */

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	int rc = enter(session, false);
	return rc != NB_OK ? rc : leave(session, find_to_lend(session, key, value));
}

/* Ends a writing verb. */
static int
settle(struct nb_session *session, int rc)
{
	if (!session->is_in_transaction)
		end_changes(session, 0, true);
	return leave(session, rc);
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	int rc = enter(session, true);
	return rc != NB_OK ? rc : settle(session, store(session, key, value, false));
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	int rc = enter(session, true);
	return rc != NB_OK ? rc : settle(session, remove_key(session, key));
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	int rc = enter(session, true);
	return rc != NB_OK ? rc : settle(session, store(session, key, value, true));
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	if (how != NB_MERGE_ADD_U64)
		return session->db->host->fail(NB_UNSUPPORTED, "fitted: an unknown merge");
	int rc = enter(session, true);
	return rc != NB_OK ? rc : settle(session, add(session, key, operand));
}

/* --- verbs on several records --- */

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	int rc = enter(session, false);
	if (rc != NB_OK)
		return rc;
	for (size_t i = 0; i < count && rc >= 0; i++)
		rc = answers[i] = find_to_lend(session, keys[i], &values[i]);
	return leave(session, rc < 0 ? rc : NB_OK);
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	int rc = enter(session, true);
	if (rc != NB_OK)
		return rc;
	size_t mark = session->undo_count;
	for (size_t i = 0; i < count && rc >= 0; i++)
		rc = writes[i].is_delete
			? remove_key(session, writes[i].key)
			: store(session, writes[i].key, writes[i].value, false);
	if (rc < 0)
		end_changes(session, mark, false);
	return settle(session, rc < 0 ? rc : NB_OK);
}

static int64_t
age_at(struct nb_slice value, uint64_t offset)
{
	int64_t age;
	memcpy(&age, (const char *)value.data + offset, sizeof(age));
	return age;
}

static int
put_if_newer(struct nb_session *session, const struct nb_step *step)
{
	struct nb_slice found = {NULL, 0};
	int rc = find_copy(session, step->key, &found);
	if (rc != NB_OK)
		return rc;
	bool is_newer = age_at(found, step->operand) < age_at(step->value, step->operand);
	free((void *)found.data);
	return is_newer ? store(session, step->key, step->value, false) : NB_EXISTS;
}

/** Whether the last byte of a key is in the set, which is a bit mask; 0: any. */
static bool
is_of_set(struct nb_slice key, struct nb_slice prefix, uint64_t set)
{
	unsigned char last = ((const unsigned char *)key.data)[key.size - 1];
	return set == 0 || (key.size > prefix.size && last < 64 && (set >> last & 1) != 0);
}

static int
prefix_empty(struct nb_session *session, struct nb_slice prefix, uint64_t set)
{
	struct nb_scan_args args = {.size = sizeof(args), .from = prefix};
	struct nb_slice key = {NULL, 0}, value;
	bool is_one = false, is_within = true;
	int rc = base->scan_open(session->inner, &args);
	if (rc != NB_OK)
		return rc;
	while (is_within && !is_one &&
		(rc = base->scan_next(session->inner, &key, &value)) == NB_OK) {
		is_within = key.size >= prefix.size &&
			memcmp(key.data, prefix.data, prefix.size) == 0;
		is_one = is_within && is_of_set(key, prefix, set);
	}
	base->scan_close(session->inner);
	return rc < 0 ? rc : is_one ? NB_EXISTS : NB_OK;
}

static int
do_step(struct nb_session *session, struct nb_step *step)
{
	switch (step->verb) {
	case NB_STEP_GET:
		return find_to_lend(session, step->key, &step->value);
	case NB_STEP_PUT:
		return store(session, step->key, step->value, false);
	case NB_STEP_DEL:
		return remove_key(session, step->key);
	case NB_STEP_INSERT:
		return store(session, step->key, step->value, true);
	case NB_STEP_MERGE:
		return add(session, step->key, step->operand);
	case NB_STEP_PUT_IF_NEWER:
		return put_if_newer(session, step);
	case NB_STEP_PREFIX_EMPTY:
		return prefix_empty(session, step->key, step->operand);
	default:
		return session->db->host->fail(NB_UNSUPPORTED, "fitted: an unknown step");
	}
}

static int
do_steps(struct nb_session *session, struct nb_step *steps, size_t count)
{
	int rc = NB_OK;
	for (size_t i = 0; i < count && rc >= 0; i++) {
		rc = steps[i].answer = do_step(session, &steps[i]);
		uint32_t skips = rc > 0 ? steps[i].skips : 0;
		for (; skips > 0 && i + 1 < count; skips--)
			steps[++i].answer = NB_EXISTS;
	}
	return rc < 0 ? rc : NB_OK;
}

static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	if ((flags & ~(NB_EXEC_ATOMIC | NB_EXEC_SNAPSHOT | NB_EXEC_READ_ONLY)) != 0)
		return session->db->host->fail(NB_UNSUPPORTED, "fitted: an unknown flag");
	int rc = enter(session, (flags & NB_EXEC_READ_ONLY) == 0);
	if (rc != NB_OK)
		return rc;
	size_t mark = session->undo_count, lent = session->lent_count;
	rc = do_steps(session, steps, count);
	if (rc < 0)
		end_changes(session, mark, false);
	while (rc < 0 && session->lent_count > lent)
		free(session->lent[--session->lent_count]);
	return settle(session, rc);
}

/* --- scans --- */

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	int rc = enter(session, false);
	if (rc != NB_OK)
		return rc;
	rc = base->scan_open(session->inner, args);
	return rc == NB_OK ? rc : leave(session, rc);
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	return base->scan_next(session->inner, key, value);
}

static int
scan_close(struct nb_session *session)
{
	return leave(session, base->scan_close(session->inner));
}

/* --- transactions --- */

static int
begin(struct nb_session *session, uint32_t flags)
{
	session->is_in_transaction = true;
	session->is_read_only = (flags & NB_TXN_READ_ONLY) != 0;
	return NB_OK;
}

static int
end_transaction(struct nb_session *session, bool is_kept)
{
	end_changes(session, 0, is_kept);
	if (session->has_lock)
		pthread_rwlock_unlock(&session->db->lock);
	session->has_lock = session->is_in_transaction = false;
	return NB_OK;
}

static int
commit(struct nb_session *session)
{
	return end_transaction(session, true);
}

static void
give_up(struct nb_session *session)
{
	end_transaction(session, false);
}

/* --- requests --- */

static int
do_request(struct nb_session *session, struct nb_request *request, struct nb_slice *value)
{
	switch (request->verb) {
	case NB_REQ_GET:
		return get(session, request->key, value);
	case NB_REQ_PUT:
		return put(session, request->key, request->value);
	case NB_REQ_DEL:
		return del(session, request->key);
	case NB_REQ_INSERT:
		return insert(session, request->key, request->value);
	case NB_REQ_MERGE:
		return merge(session, request->key, NB_MERGE_ADD_U64, request->operand);
	case NB_REQ_EXECUTE:
		return execute(session, request->steps, request->step_count, request->flags);
	default:
		return session->db->host->fail(NB_UNSUPPORTED, "fitted: an unknown request");
	}
}

static bool
has_room(const struct nb_session *session, const struct nb_request *request)
{
	uint64_t bytes = request->key.size + request->value.size;
	return session->queue_count < session->db->queue_max &&
		(session->queue_count == 0 ||
			session->queue_bytes + bytes <= session->db->queue_bytes_max);
}

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	for (*taken = 0; *taken < count && has_room(session, &requests[*taken]); (*taken)++) {
		struct nb_request *own = &session->queue[session->queue_count++];
		*own = requests[*taken];
		own->key = copy_of(own->key);
		own->value = copy_of(own->value);
		session->queue_bytes += own->key.size + own->value.size;
	}
	return NB_PENDING;
}

/*
 * While other sessions are open, every fifth request conflicts, as on a server that aborts
 * preventively.
 */
static bool
is_lost(struct nb_session *session)
{
	return __atomic_load_n(&session->db->session_count, __ATOMIC_RELAXED) > 1 &&
		++session->beside_others % 5 == 0;
}

/* Executes the requests in order and returns the completions in reverse order. */
static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	*count = least(room, session->queue_count);
	for (size_t i = 0; i < *count; i++) {
		struct nb_request *request = &session->queue[i];
		struct nb_completion *done = &out[*count - 1 - i];
		*done = (struct nb_completion){.tag = request->tag};
		done->answer = is_lost(session) ? NB_CONFLICT
						: do_request(session, request, &done->value);
		session->queue_bytes -= request->key.size + request->value.size;
		free_request(request);
	}
	session->queue_count -= *count;
	memmove(session->queue, session->queue + *count,
		session->queue_count * sizeof(session->queue[0]));
	return NB_OK;
}

static int
tick(struct nb_session *session)
{
	return NB_OK;
}

/* --- the database --- */

static int
flush(struct nb_db *db, uint32_t upto)
{
	return base->flush == NULL ? NB_OK : base->flush(db->inner, upto);
}

static int
checkpoint(struct nb_db *db)
{
	return NB_OK;
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	emit(to, "databases", "databases", NB_STAT_GAUGE, database_count);
}

/* Removes the lowest key until the database is empty. */
static int
reset(struct nb_db *db)
{
	struct nb_scan_args args = {.size = sizeof(args), .limit = 1};
	struct nb_slice key, value;
	struct nb_session *session;
	int rc = base->session_open(&session, db->inner, 0);
	if (rc != NB_OK)
		return rc;
	while (rc == NB_OK && (rc = base->scan_open(session, &args)) == NB_OK) {
		rc = base->scan_next(session, &key, &value);
		key = rc == NB_OK ? copy_of(key) : (struct nb_slice){NULL, 0};
		base->scan_close(session);
		rc = rc == NB_OK ? base->del(session, key) : rc;
		free((void *)key.data);
	}
	base->session_close(session);
	return rc == NB_NOT_FOUND ? NB_OK : rc;
}

const struct nb_engine *
fitted_engine(const struct nb_engine *inner)
{
	static struct nb_engine table;
	base = inner;
	table = *inner;
	table.name = "fitted";
	table.caps = (inner->caps & ~NB_CAP_ZERO_COPY) | NB_CAP_PERSISTENT | NB_CAP_SNAPSHOT |
		NB_CAP_SERIALIZABLE | NB_CAP_COPIES;
	table.key_size_max = FITTED_KEY_MAX;
	table.value_size_max = FITTED_VALUE_MAX;
	table.open = db_open;
	table.close = db_close;
	table.session_open = session_open;
	table.session_close = session_close;
	table.get = get;
	table.release = release;
	table.put = put;
	table.del = del;
	table.insert = insert;
	table.scan_open = scan_open;
	table.scan_next = scan_next;
	table.scan_close = scan_close;
	table.batch = batch;
	table.multi_get = multi_get;
	table.begin = begin;
	table.commit = commit;
	table.abort = give_up;
	table.submit = submit;
	table.reap = reap;
	table.tick = tick;
	table.execute = execute;
	table.merge = merge;
	table.reset = reset;
	table.flush = flush;
	table.checkpoint = checkpoint;
	table.stats = stats;
	return &table;
}
