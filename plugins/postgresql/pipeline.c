/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations in flight on one connection in libpq's pipeline mode.
 *
 * Transactions. Outside begin..commit, the server executes all statements between two syncs
 * as one transaction. Therefore a sync follows each write: the write is its own transaction,
 * releases its locks at once, and does not undo others if it fails. Preceding gets, and gets
 * at the end of a submit, share a sync: at `read committed` each still has its own snapshot.
 * At `serializable` each operation has its own sync.
 *
 * One sync for all requests of a submit was rejected. It is faster, but makes them one
 * transaction, which holds its locks until its last operation and takes them in any order.
 * Sessions would deadlock.
 *
 * A write is done when its sync is answered, because only then it is committed. If an
 * operation fails, the server skips the operations between it and the sync; they get the
 * same answer.
 *
 * The socket never blocks: while the server does not read, the session reads its answers.
 * libpq buffers unsent data.
 */
#define _GNU_SOURCE /* ppoll */
#include "internal.h"

#include <poll.h>
#include <time.h>

enum { SECOND_NS = 1000000000 };

/* --- the ring --- */

static struct flying *
at(struct nb_session *session, size_t i)
{
	size_t index = session->first + i;
	return &session->flying[index < session->room ? index : index - session->room];
}

int
pipeline_open(struct nb_session *session, uint32_t ops)
{
	spin_create(&session->spin, session->db->options[SPIN].u64);
	session->room = (size_t)ops + 1; /* room for a synchronous verb in any case */
	session->flying = calloc(session->room, sizeof(*session->flying));
	return session->flying != NULL ? NB_OK
				       : session->db->host->fail(NB_FAIL, "out of memory");
}

static void
forget(struct flying *op)
{
	for (size_t i = 0; i < op->result_count; i++)
		PQclear(op->results[i]);
	op->result_count = 0;
}

void
pipeline_close(struct nb_session *session)
{
	for (size_t i = 0; session->flying != NULL && i < session->room; i++) {
		forget(&session->flying[i]);
		free(session->flying[i].results);
	}
	free(session->flying);
	pipeline_release(session);
	free(session->lent);
}

struct flying *
pipeline_begin(struct nb_session *session)
{
	struct flying *op = at(session, session->count++);
	PGresult **results = op->results;
	size_t room = op->result_room;
	*op = (struct flying){.results = results, .result_room = room};
	return op;
}

bool
pipeline_has_room(const struct nb_session *session, size_t more, uint64_t bytes)
{
	uint64_t most = session->db->inflight_bytes;
	if (session->count + more + 1 >= session->room)
		return false;
	return session->count + more == 0 || most == 0 || session->bytes + bytes <= most;
}

struct flying *
pipeline_front(struct nb_session *session)
{
	return session->done > 0 ? at(session, 0) : NULL;
}

void
pipeline_pop(struct nb_session *session)
{
	session->bytes -= at(session, 0)->bytes;
	session->first = (session->first + 1) % session->room;
	session->count--;
	session->done--;
	session->received--;
}

/* Append `count` results to an array of results. */
static bool
append(PGresult ***to, size_t *size, size_t *room, PGresult *const *results, size_t count)
{
	if (*size + count > *room) {
		size_t wanted = 2 * (*size + count);
		PGresult **more = realloc(*to, wanted * sizeof(*more));
		if (more == NULL)
			return false;
		*to = more;
		*room = wanted;
	}
	memcpy(*to + *size, results, count * sizeof(*results));
	*size += count;
	return true;
}

int
pipeline_lend(struct nb_session *session, struct flying *op)
{
	if (op->result_count != 0 &&
		!append(&session->lent, &session->lent_count, &session->lent_room, op->results,
			op->result_count))
		return session->db->host->fail(NB_FAIL, "out of memory");
	op->result_count = 0;
	return NB_OK;
}

void
pipeline_release(struct nb_session *session)
{
	for (size_t i = 0; i < session->lent_count; i++)
		PQclear(session->lent[i]);
	session->lent_count = 0;
}

/* --- send --- */

int
pipeline_send_common(struct nb_session *session, struct flying *op, int statement)
{
	op->due++;
	return PQsendQueryPrepared(
		       session->conn, statement_commons[statement], 0, NULL, NULL, NULL, 1) == 1
		? NB_OK
		: connection_failure(session->db, session->conn);
}

int
pipeline_send(struct nb_session *session, struct flying *op, const struct table *table,
	uint32_t statement, const struct parameters *with)
{
	op->due++;
	return PQsendQueryPrepared(session->conn, table->statements[statement].name,
		       with->count, with->values, with->sizes, with->formats, 1) == 1
		? NB_OK
		: connection_failure(session->db, session->conn);
}

int
pipeline_lead(struct nb_session *session, struct flying *op)
{
	if (session->txn != TO_BEGIN)
		return NB_OK;
	session->txn = BEGUN;
	op->leads++;
	return pipeline_send_common(session, op, (int)session->begin_by);
}

/* Before version 17, libpq writes to the socket at each sync. */
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
#define SEND_SYNC PQsendPipelineSync
#else
#define SEND_SYNC PQpipelineSync
#endif

int
pipeline_sync(struct nb_session *session, struct flying *op)
{
	op->has_sync = true;
	return SEND_SYNC(session->conn) == 1 ? NB_OK
					     : connection_failure(session->db, session->conn);
}

/* --- results --- */

static bool
is_conflict(const char *state)
{
	static const char *const conflicts[] = {"40001" /* serialization failure */,
		"40P01" /* deadlock */, "55P03" /* lock_timeout */,
		"25P02" /* a statement after one of these in a transaction */};
	for (size_t i = 0; state != NULL && i < COUNT_OF(conflicts); i++)
		if (strcmp(state, conflicts[i]) == 0)
			return true;
	return false;
}

static void
keep(struct flying *op, PGresult *result)
{
	if (append(&op->results, &op->result_count, &op->result_room, &result, 1))
		return;
	PQclear(result);
	op->answer = NB_FAIL;
	op->error = "out of memory";
}

/* "ADDRESS: text (SQLSTATE state)", allocated in the result. */
static const char *
text_of(const struct nb_db *db, PGresult *result, const char *state)
{
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	size_t room = strlen(db->where) + (text != NULL ? strlen(text) : 0) + 64;
	char *out = PQresultAlloc(result, room);
	if (text == NULL || out == NULL)
		return PQresultErrorMessage(result);
	snprintf(out, room, "%s: %s (SQLSTATE %s)", db->where, text,
		state != NULL ? state : "unknown");
	return out;
}

/* An error ends its group: the rest of the group gets the same answer. */
static void
take_error(struct nb_session *session, struct flying *op, PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	op->answer = is_conflict(state) ? NB_CONFLICT : NB_FAIL;
	op->error = text_of(session->db, result, state);
	session->group = op->answer;
	keep(op, result);
}

static void
take_abort(struct nb_session *session, struct flying *op)
{
	if (op->answer < 0 || op->answer == NB_CONFLICT)
		return;
	op->answer = session->group != NB_OK ? session->group : NB_FAIL;
	op->error = "nothing was done: an earlier request has failed";
}

/* Set a step's answer. A step that misses a condition makes others skipped. */
static void
end_step(struct flying *op, struct nb_step *step, int answer)
{
	step->answer = op->step < op->left_out ? NB_EXISTS : answer;
	if (op->step >= op->left_out && answer != NB_OK)
		op->left_out = op->step + 1 + step->skips;
	op->step++;
	op->is_marked = false;
}

bool
pipeline_is_marked(const struct nb_step *step)
{
	return step->skips != 0 && step->verb != NB_STEP_PUT && step->verb != NB_STEP_MERGE;
}

static int
count_answer(PGresult *result, int none)
{
	return strcmp(PQcmdTuples(result), "0") == 0 ? none : NB_OK;
}

static int
get_answer(
	struct nb_session *session, struct flying *op, struct nb_step *step, PGresult *result)
{
	struct place place;
	if (PQntuples(result) == 0)
		return NB_NOT_FOUND;
	values_place(session->db, step->key, &place);
	return values_lend(session->db, place.table, result, 0, 0, &step->value);
}

/* NEWER returns an NB_* number. */
static int
newer_answer(PGresult *result)
{
	return PQntuples(result) == 1 ? PQgetvalue(result, 0, 0)[3] : NB_FAIL;
}

static void
take_step(struct nb_session *session, struct flying *op, PGresult *result)
{
	struct nb_step *step = &op->steps[op->step];
	int answer = NB_OK;
	if (pipeline_is_marked(step) && !op->is_marked) {
		op->is_marked = true;
		if (step->verb == NB_STEP_PREFIX_EMPTY)
			end_step(op, step, PQntuples(result) != 0 ? NB_EXISTS : NB_OK);
		return;
	}
	if (step->verb == NB_STEP_GET)
		answer = get_answer(session, op, step, result);
	else if (step->verb == NB_STEP_DEL)
		answer = count_answer(result, NB_NOT_FOUND);
	else if (step->verb == NB_STEP_INSERT)
		answer = count_answer(result, NB_EXISTS);
	else if (step->verb == NB_STEP_PUT_IF_NEWER)
		answer = newer_answer(result);
	else if (step->verb == NB_STEP_PREFIX_EMPTY)
		answer = PQntuples(result) != 0 ? NB_EXISTS : NB_OK;
	if (answer < 0)
		op->answer = answer;
	end_step(op, step, answer);
}

/* Process the result of a successful statement. */
static void
take_done(struct nb_session *session, struct flying *op, PGresult *result)
{
	bool is_wanted = PQntuples(result) != 0;
	if (op->leads > 0) {
		op->leads--;
		is_wanted = false;
	} else if (op->are_gets) {
		many_take(session->db, op, result);
	} else if (op->steps != NULL) {
		is_wanted = is_wanted && op->steps[op->step].verb == NB_STEP_GET;
		take_step(session, op, result);
	}
	if (is_wanted)
		keep(op, result);
	else
		PQclear(result);
}

/* Advance to the operation that the next result or sync belongs to. */
static void
settle(struct nb_session *session)
{
	while (session->received < session->count) {
		struct flying *op = at(session, session->received);
		if (op->due > 0 || op->has_sync)
			return;
		session->received++;
		if (!op->is_held)
			session->done = session->received;
	}
}

/* The group was committed; or, if it failed, its held operations did not happen either. */
static void
take_sync(struct nb_session *session)
{
	at(session, session->received)->has_sync = false;
	for (; session->done <= session->received; session->done++) {
		struct flying *op = at(session, session->done);
		if (session->group != NB_OK && op->answer == NB_OK && op->is_held)
			take_abort(session, op);
	}
	session->received = session->done;
	session->group = NB_OK;
	settle(session);
}

static void
take(struct nb_session *session, PGresult *result)
{
	struct flying *op = at(session, session->received);
	ExecStatusType status = PQresultStatus(result);
	if (status == PGRES_PIPELINE_SYNC) {
		PQclear(result);
		take_sync(session);
		return;
	}
	if (op->due > 0) /* otherwise the commit has failed, at the sync */
		op->due--;
	if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
		take_done(session, op, result);
	else if (status != PGRES_PIPELINE_ABORTED)
		take_error(session, op, result);
	else {
		take_abort(session, op);
		PQclear(result);
	}
	settle(session);
}

/* Process the available results. libpq ends the results of each statement with a NULL. */
static void
sort_out(struct nb_session *session)
{
	settle(session); /* for operations that were rejected and not sent */
	while (session->received < session->count && PQisBusy(session->conn) == 0 &&
		PQstatus(session->conn) == CONNECTION_OK) {
		PGresult *result = PQgetResult(session->conn);
		if (result != NULL)
			take(session, result);
	}
}

/* --- waiting --- */

/* Wait until the socket is readable, or writable if data is unsent. */
static int
sleep_for(struct nb_session *session, int unsent, uint64_t timeout_ns)
{
	struct pollfd poll = {.fd = PQsocket(session->conn),
		.events = (short)(POLLIN | (unsent != 0 ? POLLOUT : 0))};
	struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / SECOND_NS),
		.tv_nsec = (long)(timeout_ns % SECOND_NS)};
	if (ppoll(&poll, 1, &timeout, NULL) < 0 && errno != EINTR)
		return session->db->host->fail(NB_FAIL, "poll: %s", strerror(errno));
	return NB_OK;
}

/* TLS may buffer more bytes than one call consumes, without making the socket readable. */
static bool
consume(PGconn *conn)
{
	bool is_alive = PQconsumeInput(conn) == 1;
	for (int i = 0; i < 2 && is_alive && PQsslInUse(conn) != 0; i++)
		is_alive = PQconsumeInput(conn) == 1;
	return is_alive;
}

int
pipeline_read(struct nb_session *session, size_t wanted, uint64_t timeout_ns)
{
	uint64_t begin = now_ns(), passed = 0;
	sort_out(session);
	bool is_polling = timeout_ns > session->spin.limit_ns && session->done < wanted &&
		spin_begin(&session->spin, begin);
	for (bool is_over = false; session->done < wanted && !is_over;
		passed = now_ns() - begin) {
		int unsent = PQflush(session->conn), rc = NB_OK;
		is_over = passed >= timeout_ns;
		if (unsent < 0 || PQstatus(session->conn) != CONNECTION_OK)
			return connection_failure(session->db, session->conn);
		is_polling = is_polling && spin_goes_on(&session->spin, begin + passed);
		if (!is_over && !is_polling)
			rc = sleep_for(session, unsent, timeout_ns - passed);
		if (rc != NB_OK)
			return rc;
		if (!consume(session->conn))
			return connection_failure(session->db, session->conn);
		sort_out(session);
	}
	if (is_polling)
		spin_end(&session->spin);
	return NB_OK;
}

int
pipeline_finish(struct nb_session *session, struct flying *op)
{
	int rc = pipeline_read(session, session->count, UINT64_MAX);
	if (rc == NB_OK && op->answer < 0)
		rc = session->db->host->fail(op->answer, "%s", op->error);
	else if (rc == NB_OK)
		rc = op->answer;
	if (rc == NB_OK)
		rc = pipeline_lend(session, op);
	forget(op);
	session->count--;
	if (session->done > session->count)
		session->done = session->count;
	if (session->received > session->count)
		session->received = session->count;
	return rc;
}
