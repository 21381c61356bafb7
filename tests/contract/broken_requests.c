/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Defects of submit and reap: a wrong order, an ignored limit, a request that is lost, executed
 * twice, or read after the host has reused its memory.
 */
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "broken.h"

enum { HELD_MAX = 16 };

SUBMIT(submit_with_inserts_as_puts)
{
	struct nb_request changed = *requests;
	if (changed.verb == NB_REQ_INSERT)
		changed.verb = NB_REQ_PUT;
	return broken_right->submit(session, &changed, count > 0, taken);
}

/* Submits the second request before the first. */
SUBMIT(submit_swapped)
{
	size_t one = 0, other = 0;
	struct nb_request swapped[2];
	if (count < 2)
		return broken_right->submit(session, requests, count, taken);
	swapped[0] = requests[1];
	swapped[1] = requests[0];
	int rc = broken_right->submit(session, swapped, 2, &one);
	while (one == 1 && other == 0) { /* there was room for only one: wait */
		struct nb_completion done;
		size_t told;
		(void)broken_right->reap(session, &done, 1, &told, 0);
		rc = broken_right->submit(session, &swapped[1], 1, &other);
	}
	*taken = one + other;
	return rc;
}

SUBMIT(submit_unknown_as_del)
{
	struct nb_request changed = *requests;
	if (changed.verb > NB_REQ_EXECUTE)
		changed.verb = NB_REQ_DEL;
	return broken_right->submit(session, &changed, count > 0, taken);
}

REAP(reap_failing_as_a_request)
{
	int rc = broken_right->reap(session, out, room, count, timeout_ns);
	for (size_t i = 0; i < *count && rc == NB_OK; i++)
		rc = out[i].answer < 0 ? out[i].answer : rc;
	return rc;
}

SUBMIT(submit_16_bits)
{
	struct nb_request changed = *requests;
	changed.value.size &= UINT16_MAX;
	return broken_right->submit(session, &changed, count > 0, taken);
}

OPEN(open_for_any_count)
{
	struct nb_open_args changed = *args;
	changed.inflight_ops = HELD_MAX;
	return broken_right->open(out, &changed);
}

OPEN(open_for_any_bytes)
{
	struct nb_open_args changed = *args;
	changed.inflight_bytes = 0;
	return broken_right->open(out, &changed);
}

/*
 * Executes a request that does not fit into the queue. The host submits it again, so it is
 * executed twice.
 */
SUBMIT(submit_more_than_taken)
{
	int rc = broken_right->submit(session, requests, count, taken);
	if (*taken < count && requests[*taken].verb == NB_REQ_PUT)
		(void)broken_right->put(session, requests[*taken].key, requests[*taken].value);
	return rc;
}

SUBMIT(submit_dropping)
{
	int rc = broken_right->submit(session, requests, count, taken);
	*taken = count;
	return rc;
}

static void
sleep_ns(uint64_t ns)
{
	nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)}, NULL);
}

REAP(reap_waiting_for_none)
{
	int rc = broken_right->reap(session, out, room, count, timeout_ns);
	if (*count == 0)
		sleep_ns(timeout_ns);
	return rc;
}

REAP(reap_waiting_without_timeout)
{
	if (timeout_ns == 0) /* this defect takes 0 for "no timeout" */
		sleep_ns(3000000000);
	return broken_right->reap(session, out, room, count, timeout_ns);
}

/* Waits for the requests in flight, but drops their completions. */
PUT(put_after_the_others)
{
	struct nb_completion done[HELD_MAX];
	size_t count;
	(void)broken_right->reap(session, done, HELD_MAX, &count, 0);
	broken_right->release(session);
	return broken_right->put(session, key, value);
}

/* --- pointers used too late --- */

static struct nb_request held[HELD_MAX];
static size_t held_count;

SUBMIT(submit_held)
{
	(void)session;
	for (*taken = 0; *taken < count && held_count < HELD_MAX;)
		held[held_count++] = requests[(*taken)++];
	return NB_PENDING;
}

REAP(reap_held)
{
	size_t taken;
	(void)broken_right->submit(session, held, held_count, &taken);
	held_count = 0;
	return broken_right->reap(session, out, room, count, timeout_ns);
}

/* Stores the last submitted value again when the next session opens. */
static uint32_t late_key;
static struct nb_slice late_value;

SUBMIT(submit_noted)
{
	if (count > 0 && requests[0].key.size == sizeof(late_key)) {
		memcpy(&late_key, requests[0].key.data, sizeof(late_key));
		late_value = requests[0].value;
	}
	return broken_right->submit(session, requests, count, taken);
}

SESSION_OPEN(session_open_doing_late)
{
	int rc = broken_right->session_open(out, db, id);
	struct nb_slice key = {&late_key, sizeof(late_key)};
	if (rc == NB_OK && late_value.data != NULL)
		(void)broken_right->put(*out, key, late_value);
	late_value.data = NULL;
	return rc;
}

static struct nb_session *busy;

SUBMIT(submit_busy)
{
	busy = session;
	return broken_right->submit(session, requests, count, taken);
}

static int
session_close_unless_busy(struct nb_session *session)
{
	int rc = broken_right->session_close(session);
	return session == busy ? NB_FAIL : rc;
}

/* All sessions use the queue of the first one. */
static struct nb_session *first;

OPEN(open_of_no_session)
{
	first = NULL;
	return broken_right->open(out, args);
}

SUBMIT(submit_of_first)
{
	first = first == NULL ? session : first;
	return broken_right->submit(session, requests, count, taken);
}

REAP(reap_of_first)
{
	(void)session;
	return broken_right->reap(first, out, room, count, timeout_ns);
}

const struct defect broken_requests[] = {
	{"insert_requests_overwrite", "requests_answer_as_their_verbs_do",
		{VERB(submit, submit_with_inserts_as_puts)}},
	{"requests_are_swapped", "requests_of_one_key_keep_their_order",
		{VERB(submit, submit_swapped)}},
	{"unknown_request_deletes", "requests_of_an_unknown_verb_are_unsupported",
		{VERB(submit, submit_unknown_as_del)}},
	{"reap_fails_as_its_request", "request_that_fails_is_told_by_its_answer",
		{VERB(reap, reap_failing_as_a_request)}},
	{"requests_have_16_bit_sizes", "requests_keep_long_values",
		{VERB(submit, submit_16_bits)}},
	{"submit_takes_any_count", "requests_in_flight_stay_within_inflight_ops",
		{VERB(open, open_for_any_count)}},
	{"submit_takes_any_bytes", "requests_in_flight_stay_within_inflight_bytes",
		{VERB(open, open_for_any_bytes)}},
	{"submit_does_what_it_does_not_take", "requests_that_are_not_taken_do_not_happen",
		{VERB(submit, submit_more_than_taken)}},
	{"submit_drops_what_does_not_fit", "requests_that_find_no_room_are_taken_later",
		{VERB(submit, submit_dropping)}},
	{"reap_waits_for_none", "reap_with_nothing_in_flight_returns_at_once",
		{VERB(reap, reap_waiting_for_none)}},
	{"reap_takes_0_for_ever", "reap_with_no_timeout_does_not_wait",
		{VERB(reap, reap_waiting_without_timeout)}},
	{"put_forgets_what_is_in_flight", "verbs_between_submit_and_reap_answer_right",
		{VERB(put, put_after_the_others)}},
	{"session_close_refuses_if_busy", "session_closes_with_requests_in_flight",
		{VERB(submit, submit_busy), VERB(session_close, session_close_unless_busy)}},
	{"requests_outlive_their_session", "session_closes_with_requests_in_flight",
		{VERB(submit, submit_noted), VERB(session_open, session_open_doing_late)}},
	{"submit_keeps_pointers", "submit_copies_keys_and_values",
		{VERB(submit, submit_held), VERB(reap, reap_held)}},
	{"sessions_share_a_queue", "sessions_reap_their_own_requests",
		{VERB(open, open_of_no_session), VERB(submit, submit_of_first),
			VERB(reap, reap_of_first)}},
	{.name = NULL},
};
