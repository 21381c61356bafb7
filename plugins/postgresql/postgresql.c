/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PostgreSQL over libpq: single records, steps and transactions.
 *
 * - A verb, a request of submit and a step of execute are one thing here: a step. All are sent
 *   the same way; a verb is a pipeline of one.
 * - What cannot be a row (a key that is too long, a value that does not fit its columns) is
 *   found before anything is sent.
 * - begin sends nothing: BEGIN goes out with the first verb of the transaction. The server
 *   takes its snapshot with the first statement in any case.
 */
#include "internal.h"

#define EXEC_FLAGS (NB_EXEC_ATOMIC | NB_EXEC_SNAPSHOT | NB_EXEC_READ_ONLY)

enum { ROOM = 64 /* operations in flight where the host names no number */ };

static const char *
version(void)
{
	int number = PQlibVersion();
	return version_text("libpq %d.%d", number / 10000, number % 10000);
}

/* --- steps --- */

/* Bytes before the first number of a value, which is its age. */
static bool
find_age(const struct nb_table *columns, size_t *at)
{
	*at = 0;
	for (uint32_t i = 0; i < columns->value_column_count; i++) {
		if (columns->value_columns[i].type == NB_COLUMN_U64)
			return true;
		*at += sql_column_size(&columns->value_columns[i]);
	}
	return false;
}

static const char *
check_age(const struct nb_step *step, const struct table *table)
{
	size_t at;
	if (step->operand > step->value.size || step->value.size - step->operand < 8)
		return "put-if-newer: the value ends before its age";
	if (!table->is_plain && (!find_age(table->columns, &at) || at != step->operand))
		return "put-if-newer: the age is not the first number of its table's values";
	return NULL;
}

/* NULL, or why the step cannot be done. */
static const char *
check_step(const struct nb_db *db, const struct nb_step *step, struct place *place)
{
	bool has_value = step->verb == NB_STEP_PUT || step->verb == NB_STEP_INSERT ||
		step->verb == NB_STEP_PUT_IF_NEWER;
	if (step->verb > NB_STEP_PREFIX_EMPTY)
		return "unknown step";
	if (step->verb == NB_STEP_PREFIX_EMPTY)
		return values_place(db, step->key, place);
	const char *refusal = values_check(
		db, step->key, has_value ? &step->value : NULL, place);
	if (refusal != NULL)
		return refusal;
	if (step->verb == NB_STEP_MERGE && place->table->statements[MERGE].text == NULL)
		return "merge: the values of the table are not one number";
	return step->verb == NB_STEP_PUT_IF_NEWER ? check_age(step, place->table) : NULL;
}

static void
add_age(struct parameters *to, const struct nb_step *step, const struct table *table)
{
	int64_t age;
	memcpy(&age, (const char *)step->value.data + step->operand, sizeof(age));
	if (table->is_plain)
		values_add_i32(to, (int32_t)step->operand);
	values_add_i64(to, age);
}

/* Where the bounds of a prefix are until they are sent. */
struct bounds {
	char low[KEY_SIZE_MAX + 1], high[KEY_SIZE_MAX + 1], above[KEY_SIZE_MAX + 1];
};

/* The least bytes above all that begin with `prefix`; no key is above KEY_SIZE_MAX of 0xff. */
static struct nb_slice
above(struct nb_slice prefix, char *room)
{
	size_t size = prefix.size;
	if (size != 0)
		memcpy(room, prefix.data, size);
	while (size > 0 && (unsigned char)room[size - 1] == 0xff)
		size--;
	if (size > 0)
		room[size - 1]++;
	else
		memset(room, 0xff, size = KEY_SIZE_MAX + 1);
	return (struct nb_slice){room, size};
}

static void
add_bound(struct parameters *to, const struct place *place, struct nb_slice rest,
	unsigned char fill, char *room)
{
	struct nb_slice parts[SQL_COLUMNS_MAX];
	const struct nb_table *columns = place->table->columns;
	sql_pad_key(columns, rest, fill, room, parts);
	for (uint32_t i = 0; i < columns->key_column_count; i++)
		values_add_column(to, &columns->key_columns[i], true, parts[i]);
}

/* The bounds of the keys that begin with a prefix; of one longer than a key, bounds of none. */
static void
add_range(struct parameters *to, const struct place *place, struct bounds *room)
{
	const struct nb_table *columns = place->table->columns;
	size_t fixed = sql_fixed_size(columns->key_columns, columns->key_column_count);
	bool is_open = sql_is_open(columns->key_columns, columns->key_column_count);
	bool is_none = !is_open && place->rest.size > fixed;
	struct nb_slice none = {0};
	add_bound(to, place, is_none ? none : place->rest, is_none ? 0xff : 0, room->low);
	if (is_open)
		add_bound(to, place, above(place->rest, room->above), 0, room->high);
	else
		add_bound(to, place, is_none ? none : place->rest, is_none ? 0 : 0xff,
			room->high);
}

/* If the step is going to miss, it and those that it skips are left out. */
static int
send_mark(struct nb_session *session, struct flying *op, size_t i, const struct place *place)
{
	const struct nb_step *step = &op->steps[i];
	struct parameters with;
	with.count = 0;
	struct bounds room;
	uint32_t statement = step->verb == NB_STEP_INSERT ? MARK_HAVE
		: step->verb == NB_STEP_PUT_IF_NEWER      ? MARK_NEWER
		: step->verb == NB_STEP_PREFIX_EMPTY      ? MARK_EMPTY
							  : MARK_LACK;
	if (step->verb == NB_STEP_PREFIX_EMPTY)
		add_range(&with, place, &room);
	else
		values_add_key(&with, place);
	values_add_text(&with, i + step->skips);
	values_add_i32(&with, (int32_t)i);
	if (step->verb == NB_STEP_PUT_IF_NEWER)
		add_age(&with, step, place->table);
	return pipeline_send(session, op, place->table, statement, &with);
}

/* `has_marks`: the step may be left out, if it writes. */
static int
send_step(struct nb_session *session, struct flying *op, size_t i, const struct place *place,
	bool has_marks)
{
	const struct nb_step *step = &op->steps[i];
	struct parameters with;
	with.count = 0;
	struct bounds room;
	uint32_t statement = GET + step->verb;
	if (step->verb == NB_STEP_PREFIX_EMPTY) {
		add_range(&with, place, &room);
		return pipeline_send(session, op, place->table, EMPTY, &with);
	}
	values_add_key(&with, place);
	if (step->verb == NB_STEP_MERGE)
		values_add_value(
			&with, place, (struct nb_slice){&step->operand, sizeof(step->operand)});
	else if (step->verb != NB_STEP_GET && step->verb != NB_STEP_DEL)
		values_add_value(&with, place, step->value);
	if (step->verb == NB_STEP_PUT_IF_NEWER)
		add_age(&with, step, place->table);
	if (has_marks && step->verb != NB_STEP_GET) {
		statement = UNLESS_PUT + step->verb - NB_STEP_PUT;
		values_add_i32(&with, (int32_t)i);
	}
	return pipeline_send(session, op, place->table, statement, &with);
}

static bool
have_skips(const struct nb_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (steps[i].skips != 0)
			return true;
	return false;
}

/* One that cannot be done is not sent, and answered when its turn comes. */
static bool
refuse(struct flying *op, const char *refusal)
{
	op->answer = NB_UNSUPPORTED;
	op->error = refusal;
	return refusal != NULL;
}

/* Of several statements outside of begin..commit; at `serializable` the session's own is right. */
static bool
needs_level(const struct nb_session *session, const struct flying *op, bool has_marks)
{
	enum isolation isolation = session->db->isolation;
	return session->txn == NO_TXN && isolation != SERIALIZABLE &&
		(isolation == REPEATABLE_READ || has_marks ||
			(op->flags & NB_EXEC_SNAPSHOT) != 0);
}

static int
send_lead(struct nb_session *session, struct flying *op, bool needs_level, bool has_marks)
{
	int rc = pipeline_lead(session, op);
	if (rc == NB_OK && needs_level) {
		op->leads++;
		rc = pipeline_send_common(session, op, SET_LEVEL);
	}
	if (rc == NB_OK && has_marks) {
		op->leads++;
		rc = pipeline_send_common(session, op, SKIP_NONE);
	}
	return rc;
}

/* One after the other. */
static int
send_each(struct nb_session *session, struct flying *op, bool has_marks)
{
	int rc = NB_OK;
	for (size_t i = 0; i < op->step_count && rc == NB_OK; i++) {
		struct place place;
		struct nb_step *step = &op->steps[i];
		bool is_marked = has_marks && pipeline_is_marked(step);
		check_step(session->db, step, &place);
		if (is_marked)
			rc = send_mark(session, op, i, &place);
		if (rc == NB_OK && (!is_marked || step->verb != NB_STEP_PREFIX_EMPTY))
			rc = send_step(session, op, i, &place, has_marks);
	}
	return rc;
}

/* One statement has one snapshot, whatever the isolation is. */
static int
send_gets(struct nb_session *session, struct flying *op)
{
	int rc = send_lead(session, op,
		session->db->table_count > 1 && needs_level(session, op, false), false);
	op->are_gets = true;
	for (size_t i = 0; i < op->step_count; i++)
		op->steps[i].answer = NB_NOT_FOUND;
	return rc != NB_OK ? rc
			   : many_send(session, op, &op->steps[0].key, sizeof(op->steps[0]),
				     op->step_count);
}

/* A failure is one of the connection. */
static int
send_steps(struct nb_session *session, struct flying *op)
{
	struct place place;
	bool has_marks = have_skips(op->steps, op->step_count), are_gets = op->step_count > 1;
	bool is_short = op->step_count == 1 && !has_marks;
	bool is_snapshot = has_marks || (op->flags & NB_EXEC_SNAPSHOT) != 0;
	if ((op->flags & ~EXEC_FLAGS) != 0 && refuse(op, "unknown flag"))
		return NB_OK;
	if (is_snapshot && session->txn != NO_TXN && session->db->isolation == READ_COMMITTED &&
		refuse(op, "within a transaction at read-committed there is no snapshot"))
		return NB_OK;
	for (size_t i = 0; i < op->step_count; i++) {
		const char *refusal = check_step(session->db, &op->steps[i], &place);
		if (refusal != NULL && refuse(op, refusal))
			return NB_OK;
		are_gets = are_gets && op->steps[i].verb == NB_STEP_GET;
	}
	if (are_gets && !has_marks)
		return send_gets(session, op);
	int rc = send_lead(
		session, op, !is_short && needs_level(session, op, has_marks), has_marks);
	return rc == NB_OK ? send_each(session, op, has_marks) : rc;
}

/* --- single records --- */

static int
perform(struct nb_session *session, const struct nb_step *step, struct nb_slice *value)
{
	struct flying *op = pipeline_begin(session);
	op->one = *step;
	op->steps = &op->one;
	op->step_count = 1;
	int rc = send_steps(session, op);
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

/* --- several at once --- */

static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	struct flying *op = pipeline_begin(session);
	op->steps = steps;
	op->step_count = count;
	op->flags = flags;
	int rc = send_steps(session, op);
	if (rc == NB_OK)
		pipeline_sync(session, op);
	return pipeline_finish(session, op);
}

static bool
is_grouped(const struct nb_db *db)
{
	return db->options[COMMIT_OF].u64 != 0;
}

/* An execute sets its isolation, which it can only before it reads: `next` may be one. */
static bool
needs_sync(const struct nb_session *session, const struct nb_request *request,
	const struct nb_request *next)
{
	if (next == NULL || next->verb == NB_REQ_EXECUTE || request->verb == NB_REQ_EXECUTE)
		return true;
	return !is_grouped(session->db) &&
		(request->verb != NB_REQ_GET || session->db->isolation == SERIALIZABLE);
}

/* The keys of steps are the host's own, and it counts them. */
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
	int rc = send_steps(session, op);
	if (rc == NB_OK && needs_sync(session, request, following))
		rc = pipeline_sync(session, op);
	return rc;
}

/* How many of the requests there is room for. */
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

/* The server answers a COMMIT of a transaction that has failed with ROLLBACK. */
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

void
txn_abort(struct nb_session *session)
{
	end(session, ROLLBACK);
}

/* --- sessions --- */

static int
session_close(struct nb_session *session)
{
	PQfinish(session->conn); /* the server undoes what was begun */
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

/* --- the table --- */

#define OPTIONS(X) \
	X(CONNINFO, TEXT, "conninfo", "user=mininb dbname=postgres", \
		"connection string of libpq; the server's address overrides its host and port") \
	X(ISOLATION, CHOICE, "isolation", "repeatable-read", \
		"read-committed|repeatable-read|serializable", "isolation of transactions") \
	X(LOCK_TIMEOUT, TIME, "lock_timeout", "5s", 1000000, UINT64_C(3600000000000), \
		"time to wait for a lock; then the answer is a conflict") \
	X(STORAGE, CHOICE, "storage", "external", "external|extended|main", \
		"where values above 2 KiB are: external is out of line, extended compressed") \
	X(COMMIT_OF, CHOICE, "commit", "each", "each|submit", \
		"a transaction is each request in flight, or all that are sent together") \
	X(SPIN, TIME, "spin", "0s", 0, UINT64_C(1000000000), \
		"time to read the socket again and again before sleeping")

static const struct nb_option options[] = {OPTIONS(OPTION_ROW) NB_OPTION_END};

/*
 * A private server. A deadlock between two of its sessions is looked for after 10 ms instead of a
 * second. With fsync=off the log is still written before a commit returns.
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
