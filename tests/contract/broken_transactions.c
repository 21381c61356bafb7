/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Defects that appear with several sessions: transactions without isolation or atomicity, an
 * insert without a lock, a session that waits for another session's tick. Also defects of reset
 * and tick.
 */
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "broken.h"

static _Thread_local bool is_in_transaction, is_read_only, has_lost;

static int
begin_nothing(struct nb_session *session, uint32_t flags)
{
	return NB_OK;
}

static int
commit_nothing(struct nb_session *session)
{
	return NB_OK;
}

static void
abort_nothing(struct nb_session *session)
{
}

#define NO_TRANSACTIONS \
	{ \
		VERB(begin, begin_nothing), VERB(commit, commit_nothing), \
			VERB(abort, abort_nothing) \
	}

static int
begin_noted(struct nb_session *session, uint32_t flags)
{
	is_in_transaction = true;
	is_read_only = (flags & NB_TXN_READ_ONLY) != 0;
	return broken_right->begin(session, 0);
}

static void
abort_noted(struct nb_session *session)
{
	is_in_transaction = is_read_only = false;
	broken_right->abort(session);
}

/* Accepts a write in a read-only transaction and drops it. */
PUT(put_unless_read_only)
{
	return is_read_only ? NB_OK : broken_right->put(session, key, value);
}

/* Commits a read-only transaction instead of aborting it. */
static void
abort_committing_read_only(struct nb_session *session)
{
	if (is_read_only)
		(void)broken_right->commit(session);
	else
		broken_right->abort(session);
	is_in_transaction = is_read_only = false;
}

/* The first transaction that writes x conflicts, but its writes stay. */
PUT(put_losing)
{
	if (is_in_transaction && !has_lost && key.size == 1 && memcmp(key.data, "x", 1) == 0) {
		has_lost = true;
		return NB_CONFLICT;
	}
	return broken_right->put(session, key, value);
}

static void
abort_keeping(struct nb_session *session)
{
	is_in_transaction = has_lost = false;
	(void)broken_right->commit(session);
}

SCAN_NEXT(scan_next_outside)
{
	return is_in_transaction ? NB_NOT_FOUND : broken_right->scan_next(session, key, value);
}

PUT(insert_unlocked)
{
	struct nb_slice found;
	int rc = broken_right->get(session, key, &found);
	if (rc == NB_OK)
		broken_right->release(session);
	if (rc != NB_NOT_FOUND)
		return rc == NB_OK ? NB_EXISTS : rc;
	nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
	return broken_right->put(session, key, value);
}

/* Fails where a real engine would wait until session 0 calls tick. */
static uint32_t waits_for_tick;
static _Thread_local uint32_t own_id;

SESSION_OPEN(session_open_without_tick)
{
	own_id = id;
	if (id == 0)
		__atomic_store_n(&waits_for_tick, 1, __ATOMIC_RELAXED);
	return broken_right->session_open(out, db, id);
}

PUT(put_after_tick)
{
	if (own_id != 0 && __atomic_load_n(&waits_for_tick, __ATOMIC_RELAXED) != 0)
		return NB_FAIL;
	return broken_right->put(session, key, value);
}

static int
tick_aborting(struct nb_session *session)
{
	broken_right->abort(session);
	return NB_OK;
}

static int
reset_nothing(struct nb_db *db)
{
	return NB_OK;
}

const struct defect broken_transactions[] = {
	{"read_only_put_is_lost", "read_only_transaction_reads_and_harms_nothing",
		{VERB(begin, begin_noted), VERB(put, put_unless_read_only),
			VERB(abort, abort_noted)}},
	{"read_only_put_is_kept", "write_in_a_read_only_transaction_fails_or_is_undone",
		{VERB(begin, begin_noted), VERB(abort, abort_committing_read_only)}},
	{"scan_in_a_transaction_is_empty", "scan_in_a_transaction_sees_its_writes",
		{VERB(begin, begin_noted), VERB(scan_next, scan_next_outside),
			VERB(abort, abort_noted)}},
	{"transactions_write_at_once", "open_transaction_is_unseen_by_others", NO_TRANSACTIONS},
	{"transactions_read_what_is_new", "transaction_reads_one_version", NO_TRANSACTIONS},
	{"transactions_scan_what_is_new", "scan_in_a_transaction_sees_one_version",
		NO_TRANSACTIONS},
	{"transactions_lose_updates", "transactions_lose_no_update", NO_TRANSACTIONS},
	{"transactions_lose_half_a_move", "transactions_of_threads_keep_a_sum",
		NO_TRANSACTIONS},
	{"transactions_show_write_skew", "serializable_transactions_show_no_write_skew",
		NO_TRANSACTIONS},
	{"transaction_that_lost_is_kept", "transaction_that_lost_leaves_nothing",
		{VERB(begin, begin_noted), VERB(put, put_losing), VERB(abort, abort_keeping)}},
	{"insert_has_no_lock", "racing_inserters_have_one_winner",
		{VERB(insert, insert_unlocked)}},
	{"session_waits_for_a_tick", "session_that_is_parked_holds_nobody_up",
		{VERB(session_open, session_open_without_tick), VERB(put, put_after_tick)}},
	{"tick_aborts", "tick_changes_nothing", {VERB(tick, tick_aborting)}},
	{"reset_keeps_all", "reset_removes_every_record", {VERB(reset, reset_nothing)}},
	{.name = NULL},
};
