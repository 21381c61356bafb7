/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * submit and reap. submit tries each request in memory at once. A request that has to wait stays
 * in flight; reap continues it when the read, region, frame or space that it waits for is there.
 *
 * The cache misses of a group of requests overlap. For all requests of the group, submit first
 * computes the hashes and prefetches the buckets. Then it reads the entries and prefetches the
 * records. Then it executes the operations.
 *
 * Order. A request queues behind a waiting request of the same key. A small hash table finds the
 * waiting request. All other requests overtake.
 */
#include "store.h"

#include <time.h>

enum { GROUP = REQUESTS_GROUP };

/* ---- lists ---- */

static void
list_clear(struct op_list *list)
{
	*list = (struct op_list){.last = &list->first};
}

static inline void
list_add(struct op_list *list, struct op *op)
{
	op->next = NULL;
	*list->last = op;
	list->last = &op->next;
	list->count++;
}

static inline struct op *
list_take(struct op_list *list)
{
	struct op *op = list->first;

	if (op == NULL)
		return NULL;
	list->first = op->next;
	if (list->first == NULL)
		list->last = &list->first;
	list->count--;
	return op;
}

/* ---- the requests of a session ---- */

int
requests_open(struct nb_session *session)
{
	list_clear(&session->done);
	list_clear(&session->arrived);
	list_clear(&session->stalled);
	list_clear(&session->unflushed);
	session->room = session->db->inflight_ops;
	session->ops = calloc(session->room + 1, sizeof(*session->ops));
	if (session->ops == NULL)
		return session->db->host->fail(NB_FAIL, "out of memory");
	for (size_t i = 0; i < session->room; i++) {
		session->ops[i].to = &session->ops[i].own;
		session->ops[i].next = session->free;
		session->free = &session->ops[i];
	}
	return NB_OK;
}

void
requests_close(struct nb_session *session)
{
	for (size_t i = 0; i < session->room; i++) {
		op_free_block(&session->ops[i]);
		free(session->ops[i].own.data);
	}
	free(session->ops);
	for (size_t i = 0; session->wide != NULL && i < REQUESTS_GROUP; i++)
		op_free_block(&session->wide[i]);
	free(session->wide);
}

/* ---- keys that wait ---- */

static struct op **
waiting_place(struct nb_session *session, const struct op *op)
{
	return &session->waiting_at[op->key.hash % WAITING_PLACES];
}

static bool
has_same_key(const struct op *a, const struct op *b)
{
	return a->key.hash == b->key.hash && a->key.size == b->key.size &&
		memcmp(a->key.data, b->key.data, a->key.size) == 0;
}

/* True: the request is queued behind another one of its key. */
static bool
queue_behind(struct nb_session *session, struct op *op)
{
	struct op *other = *waiting_place(session, op);

	while (other != NULL && !has_same_key(other, op))
		other = other->same;
	if (other == NULL)
		return false;
	op->next = NULL;
	*other->behind_last = op;
	other->behind_last = &op->next;
	return true;
}

static void
begin_waiting(struct nb_session *session, struct op *op)
{
	struct op **place = waiting_place(session, op);

	if (op->is_waiting)
		return;
	op->is_waiting = true;
	op->behind = NULL;
	op->behind_last = &op->behind;
	op->same = *place;
	*place = op;
	session->waiting++;
}

/* Returns the queue behind the request: the caller must execute it now. */
static struct op *
end_waiting(struct nb_session *session, struct op *op)
{
	struct op **place = waiting_place(session, op);

	if (!op->is_waiting)
		return NULL;
	while (*place != op)
		place = &(*place)->same;
	*place = op->same;
	op->is_waiting = false;
	session->waiting--;
	return op->behind;
}

/* ---- execution ---- */

static void
settle(struct nb_session *session, struct op *op, int rc);

static void
perform_those_behind(struct nb_session *session, struct op *op)
{
	while (op != NULL) {
		struct op *next = op->next;

		if (!queue_behind(session, op))
			settle(session, op, op_try(session, op));
		op = next;
	}
}

/* Handle the result of an attempt. */
static void
settle(struct nb_session *session, struct op *op, int rc)
{
	if (__builtin_expect(rc >= OP_AGAIN, 0)) {
		begin_waiting(session, op);
		if (rc != OP_READ) {
			op->answer = rc;
			list_add(&session->stalled, op);
			return;
		}
		rc = op_start_read(session, op);
		if (rc == NB_OK)
			return;
	}
	op->answer = rc;
	struct op *behind = end_waiting(session, op);
	bool is_flushed = op->flush_to == 0 || !session->log->is_durable || rc < 0;
	list_add(is_flushed ? &session->done : &session->unflushed, op);
	perform_those_behind(session, behind);
}

static const char no_such_verb[] = "faster does not execute steps; use single verbs";

static void
fill(struct op *op, const struct nb_request *request)
{
	op->verb = request->verb;
	op->key = key_of(request->key.data, request->key.size);
	op->value = request->value;
	op->operand = request->operand;
	op->tag = request->tag;
	op->flush_to = 0;
	op->error = NULL;
	op->found = (struct nb_slice){0};
	op->own.size = 0;
}

static void
recycle(struct nb_session *session)
{
	while (session->lent != NULL) {
		struct op *op = session->lent;

		session->lent = op->next;
		op->next = session->free;
		session->free = op;
	}
}

/* Take as many requests as there are free operations and bytes, at most GROUP. */
static size_t
take_group(struct nb_session *session, const struct nb_request *requests, size_t count,
	struct op **group)
{
	uint64_t most = session->db->inflight_bytes;
	size_t taken = 0;

	while (taken < count && taken < GROUP && session->free != NULL) {
		const struct nb_request *request = &requests[taken];
		uint64_t bytes = request->key.size + request->value.size;

		if (most != 0 && session->taken_bytes != 0 &&
			session->taken_bytes + bytes > most)
			break;
		session->taken_bytes += bytes;
		struct op *op = session->free;
		session->free = op->next;
		fill(op, request);
		index_prefetch(session->index, op->key.hash);
		group[taken++] = op;
	}
	return taken;
}

static void
perform(struct nb_session *session, struct op *op)
{
	int rc = QUICK_NOT;

	if (__builtin_expect(op->verb > NB_REQ_MERGE, 0)) {
		op->error = no_such_verb;
		op->answer = NB_UNSUPPORTED;
		list_add(&session->done, op);
		return;
	}
	if (__builtin_expect(session->waiting != 0, 0) && queue_behind(session, op))
		return;
	if (op->key.size == sizeof(op->key.word))
		rc = op_try_quickly(session, op);
	if (__builtin_expect(rc == QUICK_NOT, 0)) {
		settle(session, op, op_try(session, op));
		return;
	}
	op->answer = rc;
	list_add(&session->done, op);
}

int
requests_submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	struct op *group[GROUP];
	size_t some;

	recycle(session);
	*taken = 0;
	do {
		epoch_enter(session->epoch);
		some = take_group(session, requests + *taken, count - *taken, group);
		for (size_t i = 0; i < some; i++)
			session->quick->fetch(session, group[i]->key.hash);
		epoch_exit(session->epoch);
		for (size_t i = 0; i < some; i++)
			perform(session, group[i]);
		*taken += some;
	} while (some == GROUP && *taken < count);
	return NB_PENDING;
}

/* ---- reaping ---- */

static struct op *
op_of(struct read *read)
{
	return (struct op *)(void *)((char *)read - offsetof(struct op, read));
}

/*
 * Put arrived requests into a list and do not continue them yet: a single call of the same session
 * may be waiting here.
 */
static void
note_arrived(struct nb_session *session, struct read *reads)
{
	while (reads != NULL) {
		struct op *op = op_of(reads);

		reads = reads->next;
		op->has_arrived = true;
		if (op >= session->ops && op < session->ops + session->room)
			list_add(&session->arrived, op);
	}
}

int
requests_wait_for(struct nb_session *session, struct op *op)
{
	while (!op->has_arrived) {
		note_arrived(session, reads_take(session->reads, 1000000000));
		if (!op->has_arrived && reads_error(session->reads) != 0)
			return session->db->host->fail(
				NB_FAIL, "io_uring: %s", strerror(reads_error(session->reads)));
	}
	return NB_OK;
}

static void
go_on_with_arrived(struct nb_session *session)
{
	struct op *op;

	while ((op = list_take(&session->arrived)) != NULL)
		settle(session, op, op_resume(session, op));
}

/* Requests that must wait again return to the list. */
static void
try_stalled(struct nb_session *session)
{
	for (size_t count = session->stalled.count; count > 0; count--) {
		struct op *op = list_take(&session->stalled);
		settle(session, op, op_try(session, op));
	}
}

/* Finish flushed writes. If the log has failed, all waiting writes fail. */
static void
take_flushed(struct nb_session *session)
{
	const struct log *log = session->log;
	uint64_t flushed = log_read(log->is_synced ? &log->durable : &log->flushed);
	bool has_failed = __atomic_load_n(&log->has_failed, __ATOMIC_ACQUIRE);

	for (size_t count = session->unflushed.count; count > 0; count--) {
		struct op *op = list_take(&session->unflushed);

		if (op->flush_to > flushed && has_failed) {
			op->answer = NB_FAIL;
			op->error = log->error;
		}
		list_add(op->flush_to > flushed && !has_failed ? &session->unflushed
							       : &session->done,
			op);
	}
}

static void
wait_for_flush(struct nb_session *session)
{
	uint64_t most = 0;

	for (const struct op *op = session->unflushed.first; op != NULL; op = op->next)
		most = op->flush_to > most ? op->flush_to : most;
	(void)log_wait_for_flush(session->log, most); /* take_flushed() handles a failure */
	take_flushed(session);
}

/* Wait for the first stalled request: nothing reports when it can continue. */
static void
wait_for_stalled(struct nb_session *session)
{
	const struct op *op = session->stalled.first;
	const char *why = "the index has no room";
	int rc;

	switch (op->answer) {
	case OP_FUZZY:
		rc = log_wait_for_safety(session->log, op->at);
		break;
	case OP_ROOM:
		rc = log_wait_for_room(session->log);
		break;
	case OP_FULL:
		rc = keeper_wait_for_compaction(session->db);
		why = "the log has reached its limit on storage: give a larger log_limit";
		break;
	default:
		rc = keeper_wait_for_index(session->db);
	}

	if (rc != NB_OK) {
		struct op *failed = list_take(&session->stalled);
		failed->error = session->log->has_failed ? session->log->error : why;
		settle(session, failed, rc);
	}
	try_stalled(session);
}

static void
wait_for_some(struct nb_session *session, uint64_t timeout_ns)
{
	if (session->unflushed.count != 0) {
		wait_for_flush(session);
	} else if (session->stalled.count != 0) {
		wait_for_stalled(session);
	} else {
		note_arrived(session, reads_take(session->reads, timeout_ns));
		go_on_with_arrived(session);
	}
}

static void
look(struct nb_session *session)
{
	if (reads_in_flight(session->reads) != 0)
		note_arrived(session, reads_take(session->reads, 0));
	go_on_with_arrived(session);
	if (session->stalled.count != 0)
		try_stalled(session);
	if (session->unflushed.count != 0) {
		take_flushed(session);
		if (session->unflushed.count != 0)
			log_ask_for_flush(session->log);
	}
}

static inline void
give(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count)
{
	struct op *op;

	while (*count < room && (op = list_take(&session->done)) != NULL) {
		out[(*count)++] = (struct nb_completion){.tag = op->tag,
			.value = op->answer == NB_OK ? op->found : (struct nb_slice){0},
			.error = op->answer < 0 ? op->error : NULL,
			.answer = op->answer};
		session->taken_bytes -= op->key.size + op->value.size;
		op->next = session->lent;
		session->lent = op;
	}
}

static bool
is_in_flight(const struct nb_session *session)
{
	return session->waiting != 0 || session->unflushed.count != 0 ||
		session->arrived.count != 0;
}

int
requests_reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	uint64_t begin = 0, now;

	*count = 0;
	recycle(session);
	if (is_in_flight(session))
		look(session);
	give(session, out, room, count);
	while (*count == 0 && timeout_ns != 0 && is_in_flight(session)) {
		now = now_ns();
		begin = begin == 0 ? now : begin;
		if (now - begin >= timeout_ns)
			break;
		wait_for_some(session, timeout_ns - (now - begin));
		give(session, out, room, count);
		if (reads_error(session->reads) != 0)
			return session->db->host->fail(
				NB_FAIL, "io_uring: %s", strerror(reads_error(session->reads)));
	}
	return NB_OK;
}
