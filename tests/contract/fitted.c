/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory with more verbs, in the plainest way that is right: a transaction is
 * undone from a list of what was there before, a request is done when it is
 * submitted, a closed database stays open inside until its path is opened again,
 * and a snapshot is a lock: who scans keeps all writers out.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fitted.h"

enum { DATABASES_MAX = 4096, UNDO_MAX = 64, PENDING_MAX = 16 };

struct undo {
	char *key, *value; /* value NULL: it was not there */
	size_t key_size, value_size;
};

struct nb_db {
	struct nb_db *inner; /* of the inner engine: never looked into */
	const struct nb_host *host;
	char *path;
	pthread_rwlock_t scans; /* held for reading by scans, for writing by writes */
};

struct nb_session {
	struct nb_session *inner;
	struct nb_db *db;
	bool is_in_transaction;
	struct undo undo[UNDO_MAX];
	size_t undo_count;
	struct nb_completion pending[PENDING_MAX];
	char *lent[PENDING_MAX]; /* values of completions, until release */
	size_t pending_count, lent_count;
};

static const struct nb_engine *base;
static struct nb_db *databases[DATABASES_MAX];
static size_t database_count;

/* --- databases --- */

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
	pthread_rwlock_init(&db->scans, NULL);
	databases[database_count++] = db;
	*out = db;
	return NB_OK;
}

static int
db_close(struct nb_db *db)
{
	(void)db;
	return NB_OK;
}

void
fitted_reset(void)
{
	for (size_t i = 0; i < database_count; i++) {
		base->close(databases[i]->inner);
		pthread_rwlock_destroy(&databases[i]->scans);
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
	if (rc == NB_OK)
		*out = session;
	else
		free(session);
	return rc;
}

static void
release(struct nb_session *session)
{
	for (size_t i = 0; i < session->lent_count; i++)
		free(session->lent[i]);
	session->lent_count = 0;
	if (base->release != NULL)
		base->release(session->inner);
}

static int
session_close(struct nb_session *session)
{
	int rc = base->session_close(session->inner);
	free(session);
	return rc;
}

/* --- records --- */

static char *
copy_of(struct nb_slice slice)
{
	char *copy = malloc(slice.size + 1);
	if (slice.size != 0)
		memcpy(copy, slice.data, slice.size);
	return copy;
}

/* Remember what is there before a write of a transaction. */
static void
remember(struct nb_session *session, struct nb_slice key)
{
	if (!session->is_in_transaction || session->undo_count == UNDO_MAX)
		return;
	struct nb_slice value = {0};
	struct undo *undo = &session->undo[session->undo_count++];
	bool is_there = base->get(session->inner, key, &value) == NB_OK;
	*undo = (struct undo){.key = copy_of(key),
		.key_size = key.size,
		.value = is_there ? copy_of(value) : NULL,
		.value_size = value.size};
	if (is_there && base->release != NULL)
		base->release(session->inner);
}

static int
check_sizes(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	if (key.size > FITTED_KEY_MAX || value.size > FITTED_VALUE_MAX)
		return session->db->host->fail(NB_UNSUPPORTED, "fitted: a record too long");
	return NB_OK;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return base->get(session->inner, key, value);
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	int rc = check_sizes(session, key, value);
	if (rc != NB_OK)
		return rc;
	remember(session, key);
	pthread_rwlock_wrlock(&session->db->scans);
	rc = base->put(session->inner, key, value);
	pthread_rwlock_unlock(&session->db->scans);
	return rc;
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	remember(session, key);
	pthread_rwlock_wrlock(&session->db->scans);
	int rc = base->del(session->inner, key);
	pthread_rwlock_unlock(&session->db->scans);
	return rc;
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	remember(session, key);
	pthread_rwlock_wrlock(&session->db->scans);
	int rc = base->insert(session->inner, key, value);
	pthread_rwlock_unlock(&session->db->scans);
	return rc;
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	for (size_t i = 0; i < count; i++) {
		int rc = check_sizes(session, writes[i].key, writes[i].value);
		if (rc != NB_OK)
			return rc;
		remember(session, writes[i].key);
	}
	pthread_rwlock_wrlock(&session->db->scans);
	int rc = base->batch(session->inner, writes, count, flags);
	pthread_rwlock_unlock(&session->db->scans);
	return rc;
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	return base->multi_get(session->inner, keys, count, values, answers);
}

/* --- scans --- */

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	pthread_rwlock_rdlock(&session->db->scans);
	int rc = base->scan_open(session->inner, args);
	if (rc != NB_OK)
		pthread_rwlock_unlock(&session->db->scans);
	return rc;
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	return base->scan_next(session->inner, key, value);
}

static int
scan_close(struct nb_session *session)
{
	int rc = base->scan_close(session->inner);
	pthread_rwlock_unlock(&session->db->scans);
	return rc;
}

/* --- transactions --- */

static int
begin(struct nb_session *session, uint32_t flags)
{
	(void)flags;
	session->is_in_transaction = true;
	return NB_OK;
}

static void
forget(struct nb_session *session)
{
	for (size_t i = 0; i < session->undo_count; i++) {
		free(session->undo[i].key);
		free(session->undo[i].value);
	}
	session->undo_count = 0;
	session->is_in_transaction = false;
}

static int
commit(struct nb_session *session)
{
	forget(session);
	return NB_OK;
}

static void
give_up(struct nb_session *session)
{
	for (size_t i = session->undo_count; i-- > 0;) {
		struct undo *undo = &session->undo[i];
		struct nb_slice key = {undo->key, undo->key_size};
		if (undo->value == NULL)
			base->del(session->inner, key);
		else
			base->put(session->inner, key,
				(struct nb_slice){undo->value, undo->value_size});
	}
	forget(session);
}

/* --- requests: done at once, told later --- */

static void
do_request(struct nb_session *session, const struct nb_request *request)
{
	struct nb_completion *done = &session->pending[session->pending_count++];
	*done = (struct nb_completion){.tag = request->tag};
	if (request->verb == NB_REQ_GET)
		done->answer = get(session, request->key, &done->value);
	else if (request->verb == NB_REQ_PUT)
		done->answer = put(session, request->key, request->value);
	else
		done->answer = del(session, request->key);
	if (request->verb == NB_REQ_GET && done->answer == NB_OK) {
		done->value.data = copy_of(done->value); /* freed by the release after reap */
		if (base->release != NULL)
			base->release(session->inner);
	}
}

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	*taken = 0;
	while (*taken < count && session->pending_count < PENDING_MAX)
		do_request(session, &requests[(*taken)++]);
	return NB_PENDING;
}

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	(void)timeout_ns;
	for (*count = 0; *count < room && session->pending_count > 0; (*count)++) {
		struct nb_completion *done = &session->pending[--session->pending_count];
		out[*count] = *done; /* last in, first out: the order is nobody's business */
		if (done->value.data != NULL)
			session->lent[session->lent_count++] = (char *)done->value.data;
	}
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
	(void)db;
	return NB_OK;
}

static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	(void)db;
	emit(to, "databases", "databases", NB_STAT_GAUGE, database_count);
}

const struct nb_engine *
fitted_engine(const struct nb_engine *inner)
{
	static struct nb_engine table;
	base = inner;
	table = *inner;
	table.name = "fitted";
	table.caps |= NB_CAP_PERSISTENT | NB_CAP_SNAPSHOT;
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
	table.flush = flush;
	table.checkpoint = checkpoint;
	table.stats = stats;
	return &table;
}
