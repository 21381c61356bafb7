/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PostgreSQL over libpq: the verbs for single records, requests and transactions, and the
 * engine's table.
 *
 * - A verb, a request of submit and a step of execute are all steps here. steps.c sends all
 *   of them; a verb is a pipeline of one operation.
 * - begin sends nothing: BEGIN is sent with the transaction's first verb. The server takes
 *   its snapshot at the first statement in any case.
 */
#include "internal.h"

enum { ROOM = 64 /* operations in flight if the host gives no limit */ };

static const char *
version(void)
{
	int number = PQlibVersion();
	return version_text("libpq %d.%d", number / 10000, number % 10000);
}

/* --- single records --- */

static int
perform(struct nb_session *session, const struct nb_step *step, struct nb_slice *value)
{
	struct flying *op = pipeline_begin(session);
	op->one = *step;
	op->steps = &op->one;
	op->step_count = 1;
	int rc = steps_send(session, op);
	if (rc == NB_OK)
		rc = pipeline_sync(session, op);
	int finished = pipeline_finish(session, op);
	if (finished != NB_OK || rc != NB_OK)
		return finished;
	if (value != NULL)
		*value = op->one.value;
	return op->one.answer;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return perform(session, &(struct nb_step){.verb = NB_STEP_GET, .key = key}, value);
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return perform(session,
		&(struct nb_step){.verb = NB_STEP_PUT, .key = key, .value = value}, NULL);
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return perform(session,
		&(struct nb_step){.verb = NB_STEP_INSERT, .key = key, .value = value}, NULL);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	return perform(session, &(struct nb_step){.verb = NB_STEP_DEL, .key = key}, NULL);
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	if (how != NB_MERGE_ADD_U64)
		return session->db->host->fail(NB_UNSUPPORTED, "unknown kind of merge %u", how);
	return perform(session,
		&(struct nb_step){.verb = NB_STEP_MERGE, .key = key, .operand = operand}, NULL);
}

/* --- several records at once --- */

static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	struct flying *op = pipeline_begin(session);
	op->steps = steps;
	op->step_count = count;
	op->flags = flags;
	int rc = steps_send(session, op);
	if (rc == NB_OK)
		pipeline_sync(session, op);
	return pipeline_finish(session, op);
}

static bool
is_grouped(const struct nb_db *db)
{
	return db->options[COMMIT_OF].u64 != 0;
}

/*
 * An execute, such as `next` may be, sets the isolation level, which is possible only before
 * a transaction's first read.
 */
static bool
needs_sync(const struct nb_session *session, const struct nb_request *request,
	const struct nb_request *next)
{
	if (next == NULL || next->verb == NB_REQ_EXECUTE || request->verb == NB_REQ_EXECUTE)
		return true;
	return !is_grouped(session->db) &&
		(request->verb != NB_REQ_GET || session->db->isolation == SERIALIZABLE);
}

/* The host owns the keys of the steps and counts them. */
static uint64_t
bytes_of(const struct nb_request *request)
{
	uint64_t bytes = request->key.size + request->value.size;
	for (uint64_t i = 0; request->verb == NB_REQ_EXECUTE && i < request->step_count; i++)
		bytes += request->steps[i].key.size + request->steps[i].value.size;
	return bytes;
}

static int
submit_one(struct nb_session *session, const struct nb_request *request,
	const struct nb_request *following)
{
	struct flying *op = pipeline_begin(session);
	bool is_execute = request->verb == NB_REQ_EXECUTE;
	op->tag = request->tag;
	op->bytes = bytes_of(request);
	op->is_held = is_grouped(session->db);
	op->one = (struct nb_step){.verb = request->verb,
		.key = request->key,
		.value = request->value,
		.operand = request->operand};
	op->steps = is_execute ? request->steps : &op->one;
	op->flags = is_execute ? request->flags : 0;
	op->step_count = is_execute ? (size_t)request->step_count : 1;
	session->bytes += op->bytes;
	int rc = steps_send(session, op);
	if (rc == NB_OK && needs_sync(session, request, following))
		rc = pipeline_sync(session, op);
	return rc;
}

/* How many of the requests fit. */
static size_t
room_for(const struct nb_session *session, const struct nb_request *requests, size_t count)
{
	uint64_t bytes = 0;
	size_t fit = 0;
	for (; fit < count; fit++) {
		bytes += bytes_of(&requests[fit]);
		if (!pipeline_has_room(session, fit, bytes))
			break;
	}
	return fit;
}

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	size_t fit = room_for(session, requests, count);
	int rc = NB_OK;
	for (size_t i = 0; i < fit && rc == NB_OK; i++)
		rc = submit_one(session, &requests[i], i + 1 < fit ? &requests[i + 1] : NULL);
	if (rc == NB_OK && PQflush(session->conn) < 0)
		rc = connection_failure(session->db, session->conn);
	*taken = rc == NB_OK ? fit : 0;
	return rc == NB_OK ? NB_PENDING : rc;
}

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	struct flying *op;
	int rc = pipeline_read(session, session->count > 0 && room > 0 ? 1 : 0, timeout_ns);
	for (*count = 0; *count < room && (op = pipeline_front(session)) != NULL; ++*count) {
		bool is_one = op->steps == &op->one && op->answer == NB_OK;
		out[*count] = (struct nb_completion){.tag = op->tag,
			.answer = is_one ? op->one.answer : op->answer,
			.error = op->answer < 0 ? op->error : NULL};
		if (is_one && op->one.verb == NB_STEP_GET && op->one.answer == NB_OK)
			out[*count].value = op->one.value;
		if (pipeline_lend(session, op) != NB_OK)
			return NB_FAIL;
		pipeline_pop(session);
	}
	return *count > 0 ? NB_OK : rc;
}

/* --- transactions --- */

int
txn_begin(struct nb_session *session, uint32_t statement)
{
	session->txn = TO_BEGIN;
	session->begin_by = statement;
	return NB_OK;
}

static int
begin(struct nb_session *session, uint32_t flags)
{
	return txn_begin(session, (flags & NB_TXN_READ_ONLY) != 0 ? BEGIN_READ : BEGIN_WRITE);
}

/* The server answers COMMIT with ROLLBACK if the transaction has failed. */
static int
end(struct nb_session *session, int statement)
{
	bool is_begun = session->txn == BEGUN;
	session->txn = NO_TXN;
	if (!is_begun)
		return NB_OK;
	struct flying *op = pipeline_begin(session);
	int rc = pipeline_send_common(session, op, statement);
	if (rc == NB_OK)
		pipeline_sync(session, op);
	return pipeline_finish(session, op);
}

int
txn_commit(struct nb_session *session)
{
	return end(session, COMMIT);
}

static void
txn_abort(struct nb_session *session)
{
	end(session, ROLLBACK);
}

/* --- sessions --- */

static int
session_close(struct nb_session *session)
{
	PQfinish(session->conn); /* the server rolls back open transactions */
	pipeline_close(session);
	many_close(session);
	scan_free(session);
	free(session);
	return NB_OK;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	if (db->mismatch[0] != '\0')
		return db->host->fail(NB_FAIL, "%s: %s", db->where, db->mismatch);
	int rc = SESSION_NEW(out, db);
	if (rc != NB_OK)
		return rc;
	struct nb_session *session = *out;
	rc = pipeline_open(session, db->inflight_ops != 0 ? db->inflight_ops : ROOM);
	if (rc == NB_OK)
		rc = connection_open(&session->conn, db);
	if (rc == NB_OK)
		rc = statements_prepare(db, session->conn);
	if (rc == NB_OK && PQsetnonblocking(session->conn, 1) != 0)
		rc = connection_failure(db, session->conn);
	if (rc != NB_OK)
		session_close(session);
	return rc;
}

/* --- the engine's table --- */

static const struct nb_option options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

/*
 * A private server. It looks for deadlocks between sessions after 10 ms instead of one
 * second. With fsync=off it still writes the log before a commit returns.
 */
static const char server[] =
	"package = postgresql\n"
	"path = /usr/lib/postgresql/*/bin\n"
	"user = nobody\n"
	"prepare = initdb -D {dir}/data -A trust -U mininb -E UTF8 --locale=C -N\n"
	"command = postgres -D {dir}/data -k {socket_dir} -p 5432 -c listen_addresses= "
	"-c shared_buffers={cache}B -c max_connections={connections} -c deadlock_timeout=10ms "
	"{durability}\n"
	"address = unix:{socket_dir}/.s.PGSQL.5432\n"
	"stop = INT\n"
	"durability.none = -c fsync=off -c full_page_writes=off -c synchronous_commit=off\n"
	"durability.process = -c fsync=off\n"
	"durability.commit = -c fsync=on\n";

static const struct nb_engine *
variant(const struct nb_option_value *values);

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	int rc = check_durability(args, variant(args->options));
	return rc == NB_OK ? database_open(out, args) : rc;
}

#define TABLE(more_caps) \
	{ \
		ENGINE_BASE("postgresql"), \
			.summary = "PostgreSQL, tables with a B-tree, over libpq", \
			.licence = "PostgreSQL", .home = "https://www.postgresql.org", \
			.caps = NB_CAP_ORDERED | NB_CAP_PERSISTENT | NB_CAP_CONCURRENT | \
			NB_CAP_ATOMIC_BATCH | NB_CAP_MULTI_PROCESS | NB_CAP_REMOTE | \
			NB_CAP_COPIES | (more_caps), \
			.durabilities = NB_DUR_BIT(NB_DUR_NONE) | NB_DUR_BIT(NB_DUR_PROCESS) | \
			NB_DUR_BIT(NB_DUR_COMMIT), \
			.auto_durability = NB_DUR_PROCESS, .key_size_max = KEY_SIZE_MAX, \
			.value_size_max = VALUE_SIZE_MAX, .options = options, .open = db_open, \
			.close = database_close, ENGINE_RECORDS, .release = pipeline_release, \
			.insert = insert, ENGINE_SCAN, .batch = many_write, \
			.multi_get = many_get, .begin = begin, .commit = txn_commit, \
			.abort = txn_abort, .submit = submit, .reap = reap, \
			.flush = database_flush, .checkpoint = database_checkpoint, \
			.stats = database_stats, .variant = variant, .execute = execute, \
			.merge = merge, .reset = database_reset, .server = server, \
			.count = database_count, \
	}

static const struct nb_engine engines[] = {
	[READ_COMMITTED] = TABLE(0),
	[REPEATABLE_READ] = TABLE(NB_CAP_SNAPSHOT),
	[SERIALIZABLE] = TABLE(NB_CAP_SNAPSHOT | NB_CAP_SERIALIZABLE),
};

static const struct nb_engine *
variant(const struct nb_option_value *values)
{
	return &engines[values[ISOLATION].u64];
}

NB_ENGINE_PLUGIN(engines[REPEATABLE_READ])
