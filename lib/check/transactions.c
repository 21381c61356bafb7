/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transactions of several sessions, each on its own thread. An engine may let the second
 * one wait, or answer NB_CONFLICT to either; the result must obey the same rule. If an
 * error needs a certain order of calls, a thread waits between its calls until the other
 * thread has made its own. It stops waiting when the other one sleeps, which may be in a
 * lock of the engine.
 *
 * Isolation is tested as far as the engine states it: NB_CAP_SERIALIZABLE includes
 * NB_CAP_SNAPSHOT, and that excludes lost updates but not write skew (Berenson et al.: A
 * critique of ANSI SQL isolation levels, SIGMOD 1995).
 */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "check/suite.h"

enum { ROUNDS = 3, RECORDS = 20, PAIR = 2 };

/** Make the key of a record: "r07". */
static struct nb_slice
record_key(char buf[8], uint32_t i)
{
	int size = snprintf(buf, 8, "r%02u", (unsigned)i);
	return (struct nb_slice){buf, (size_t)size};
}

/** Direct calls without a retry, because a conflict ends the transaction. */
static int
read_number(struct suite *s, struct nb_session *session, struct nb_slice key, uint64_t *number)
{
	struct nb_slice found = {0};
	int rc = s->engine->get(session, key, &found);
	*number = 0;
	if (rc != NB_OK)
		return rc;
	if (found.size == sizeof(*number))
		memcpy(number, found.data, sizeof(*number));
	session_release(s, session);
	return rc;
}

static int
write_number(struct suite *s, struct nb_session *session, struct nb_slice key, uint64_t number)
{
	return s->engine->put(session, key, (struct nb_slice){&number, sizeof(number)});
}

static bool
begin(struct suite *s, uint32_t flags)
{
	host_forget();
	return suite_ok(s, "begin", s->engine->begin(s->main.session, flags));
}

static bool
needs_isolation(struct suite *s, uint32_t levels)
{
	return (s->engine->caps & levels) != 0 ||
		suite_skip(s, "its transactions are not isolated that far");
}

#define SNAPSHOT_OR_MORE (NB_CAP_SNAPSHOT | NB_CAP_SERIALIZABLE)

/**
 * Execute `body` in a transaction, and again after each conflict. `is_first`: the first
 * attempt, in which it waits for the other worker.
 */
static bool
transact(struct worker *worker, int (*body)(struct worker *worker, bool is_first))
{
	struct suite *s = worker->suite;
	int rc = NB_CONFLICT;
	host_forget();
	for (uint32_t i = 0; rc == NB_CONFLICT && suite_may_retry(i); i++) {
		rc = s->engine->begin(worker->session, 0);
		if (rc != NB_OK)
			continue;
		rc = body(worker, i == 0);
		if (rc == NB_OK)
			rc = s->engine->commit(worker->session);
		else
			s->engine->abort(worker->session);
	}
	return suite_ok(s, "a transaction, begun anew after each conflict,", rc);
}

static bool
open_numbers(struct suite *s, uint64_t number)
{
	struct nb_slice value = {&number, sizeof(number)};
	return suite_open(s) && put(s, SLICE("x"), value) && put(s, SLICE("y"), value);
}

static bool
has_number(struct suite *s, struct nb_slice key, uint64_t number)
{
	return has(s, key, (struct nb_slice){&number, sizeof(number)});
}

/* --- two writing sessions --- */

static int
count_up(struct worker *worker, bool is_first)
{
	uint64_t number;
	int rc = read_number(worker->suite, worker->session, SLICE("x"), &number);
	if (is_first)
		worker_meet(worker);
	return rc != NB_OK
		? rc
		: write_number(worker->suite, worker->session, SLICE("x"), number + 1);
}

static void
count_up_often(struct worker *worker)
{
	for (int i = 0; i < ROUNDS && transact(worker, count_up); i++)
		continue;
}

PROMISE(transactions_lose_no_update)
{
	return needs_isolation(s, SNAPSHOT_OR_MORE) && open_numbers(s, 0) &&
		workers_run(s, PAIR, count_up_often) &&
		has_number(s, SLICE("x"), (uint64_t)PAIR * ROUNDS);
}

/* --- several sessions that move parts of a sum --- */

enum { MOVERS = 4, ACCOUNTS = 3, MOVES = 50, MEETINGS = 4 };

#define BALANCE (UINT64_C(1) << 40)

static const struct nb_slice accounts[ACCOUNTS] = {
	{"account 0", 9}, {"account 1", 9}, {"account 2", 9}};

/** Read the numbers and their sum; stops at NB_CONFLICT. */
static int
read_sum(struct worker *worker, uint64_t numbers[ACCOUNTS], uint64_t *sum)
{
	int rc = NB_OK;
	*sum = 0;
	for (int i = 0; i < ACCOUNTS && rc == NB_OK; i++) {
		rc = read_number(worker->suite, worker->session, accounts[i], &numbers[i]);
		*sum += numbers[i];
	}
	return rc;
}

/**
 * Move an amount from the worker's own account to the next one, so that each of two threads
 * changes an account of the other. The amount is random, because two equal lost amounts may
 * cancel out.
 */
static int
move_some(struct worker *worker, bool is_first)
{
	static _Thread_local uint64_t moves, meetings;
	struct suite *s = worker->suite;
	uint64_t numbers[ACCOUNTS], sum, random = ++moves * MOVERS + worker->id;
	uint64_t amount = splitmix64_next(&random) >> 32;
	uint32_t from = worker->id % ACCOUNTS, to = (from + 1) % ACCOUNTS;
	int rc = read_sum(worker, numbers, &sum);
	/* Only a few times: the waiting worker may hold a lock that the other one needs. */
	if (is_first && worker->id < PAIR && meetings++ < MEETINGS)
		worker_meet(worker);
	if (rc == NB_OK)
		rc = write_number(s, worker->session, accounts[from], numbers[from] - amount);
	if (rc == NB_OK)
		rc = write_number(s, worker->session, accounts[to], numbers[to] + amount);
	return rc;
}

static void
move_often(struct worker *worker)
{
	for (int i = 0; i < MOVES && transact(worker, move_some); i++)
		continue;
}

PROMISE(transactions_of_threads_keep_a_sum)
{
	struct worker main_worker = {.suite = s};
	struct nb_slice balance = {&(uint64_t){BALANCE}, sizeof(uint64_t)};
	uint64_t numbers[ACCOUNTS], sum = 0;
	if (!needs_isolation(s, SNAPSHOT_OR_MORE) || !suite_open(s))
		return false;
	for (int i = 0; i < ACCOUNTS; i++)
		if (!put(s, accounts[i], balance))
			return false;
	if (!workers_run(s, MOVERS, move_often))
		return false;
	main_worker.session = s->main.session;
	return suite_ok(s, "get", read_sum(&main_worker, numbers, &sum)) &&
		(sum == ACCOUNTS * BALANCE ||
			suite_break(s,
				"transactions that only move parts of %llu between records left %llu",
				(unsigned long long)(ACCOUNTS * BALANCE),
				(unsigned long long)sum));
}

/** Set its own number to 0 if the other one is still 1: one of the two must stay 1. */
static int
go_if_other_stays(struct worker *worker, bool is_first)
{
	struct suite *s = worker->suite;
	uint64_t x = 0, y = 0;
	int rc = read_number(s, worker->session, SLICE("x"), &x);
	if (rc == NB_OK)
		rc = read_number(s, worker->session, SLICE("y"), &y);
	if (is_first)
		worker_meet(worker);
	if (rc == NB_OK && x + y == 2)
		rc = write_number(
			s, worker->session, worker->id == 0 ? SLICE("x") : SLICE("y"), 0);
	return rc;
}

static void
go_once(struct worker *worker)
{
	transact(worker, go_if_other_stays);
}

PROMISE(serializable_transactions_show_no_write_skew)
{
	uint64_t x = 0, y = 0;
	if (!needs_isolation(s, NB_CAP_SERIALIZABLE) || !open_numbers(s, 1) ||
		!workers_run(s, PAIR, go_once) ||
		!suite_ok(s, "get", read_number(s, s->main.session, SLICE("x"), &x)) ||
		!suite_ok(s, "get", read_number(s, s->main.session, SLICE("y"), &y)))
		return false;
	return x + y == 1 ||
		suite_break(s,
			"two transactions, each of which sets its own number to 0 only if the other's is 1, left %llu and %llu",
			(unsigned long long)x, (unsigned long long)y);
}

/* --- a reading transaction, while another session writes --- */

/** Begin in the main session, call `first`, let the worker write, and call `rest`. */
static bool
interleave(struct suite *s, bool (*first)(struct suite *s, int *rc),
	void (*write)(struct worker *worker), bool (*rest)(struct suite *s, int *rc))
{
	static struct worker writer;
	int rc = NB_OK;
	if (!begin(s, 0))
		return false;
	bool is_right = first(s, &rc);
	bool is_started = is_right && worker_start(&writer, s, 1, write);
	if (is_started)
		worker_give_time(&writer);
	is_right = is_started && (rc != NB_OK || rest(s, &rc));
	s->engine->abort(s->main.session);
	if (is_started)
		worker_join(&writer);
	return is_right && s->outcome == NB_CHECK_KEPT;
}

/** Read a number that must be 0 in the transaction; a conflict is allowed. */
static bool
reads_0(struct suite *s, struct nb_slice key, int *rc)
{
	uint64_t number = 0;
	if (*rc != NB_CONFLICT)
		*rc = read_number(s, s->main.session, key, &number);
	if (*rc != NB_OK && *rc != NB_CONFLICT)
		return suite_wrong(s, "get in a transaction", *rc, "NB_OK or NB_CONFLICT");
	return number == 0 ||
		suite_break(s, "a transaction read what another session wrote meanwhile");
}

static bool
read_x(struct suite *s, int *rc)
{
	return reads_0(s, SLICE("x"), rc);
}

static bool
read_y_and_x(struct suite *s, int *rc)
{
	return reads_0(s, SLICE("y"), rc) && reads_0(s, SLICE("x"), rc);
}

static void
write_ones(struct worker *worker)
{
	struct nb_slice one = {&(uint64_t){1}, sizeof(uint64_t)};
	expect_put(worker->suite, worker->session, SLICE("x"), one);
	expect_put(worker->suite, worker->session, SLICE("y"), one);
}

PROMISE(transaction_reads_one_version)
{
	return needs_isolation(s, SNAPSHOT_OR_MORE) && open_numbers(s, 0) &&
		interleave(s, read_x, write_ones, read_y_and_x) &&
		has_number(s, SLICE("x"), 1) && has_number(s, SLICE("y"), 1);
}

/** Read every record in a scan: each must have the value "old". */
static bool
scan_old(struct suite *s, int *rc)
{
	struct nb_scan_args args = {.size = sizeof(args)};
	struct nb_slice key, value;
	uint32_t seen = 0;
	host_forget();
	*rc = s->engine->scan_open(s->main.session, &args);
	if (*rc != NB_OK)
		return *rc == NB_CONFLICT || suite_wrong(s, "scan_open", *rc, "NB_OK");
	bool is_right = true;
	while ((*rc = s->engine->scan_next(s->main.session, &key, &value)) == NB_OK) {
		is_right = is_right && slice_equal(value, SLICE("old"));
		seen++;
	}
	int closed = s->engine->scan_close(s->main.session);
	if (*rc == NB_CONFLICT || closed == NB_CONFLICT)
		return (*rc = NB_CONFLICT) != NB_OK;
	if (*rc != NB_NOT_FOUND)
		return suite_wrong(s, "scan_next", *rc, "NB_OK or NB_NOT_FOUND");
	*rc = NB_OK;
	return suite_ok(s, "scan_close", closed) &&
		((is_right && seen == RECORDS) ||
			suite_break(s,
				"a scan in a transaction gave records that another session wrote meanwhile"));
}

static void
change_records(struct worker *worker)
{
	char key[8];
	for (uint32_t i = 0; i < RECORDS; i++)
		expect_put(
			worker->suite, worker->session, record_key(key, i + 10), SLICE("new"));
	expect_del(worker->suite, worker->session, record_key(key, 3));
}

static bool
open_records(struct suite *s)
{
	char key[8];
	bool is_right = suite_open(s);
	for (uint32_t i = 0; is_right && i < RECORDS; i++)
		is_right = put(s, record_key(key, i), SLICE("old"));
	return is_right;
}

PROMISE(scan_in_a_transaction_sees_one_version)
{
	return needs_isolation(s, SNAPSHOT_OR_MORE) && open_records(s) &&
		interleave(s, scan_old, change_records, scan_old);
}

/* --- a writing transaction, while another session reads --- */

static void
find_old(struct worker *worker)
{
	expect_value(worker->suite, worker->session, SLICE("key"), SLICE("old"));
	expect_value(worker->suite, worker->session, SLICE("gone"), SLICE("old"));
	expect_missing(worker->suite, worker->session, SLICE("new"));
}

static bool
write_some(struct suite *s, int *rc)
{
	(void)rc;
	return put(s, SLICE("key"), SLICE("2")) && put(s, SLICE("new"), SLICE("2")) &&
		del(s, SLICE("gone"));
}

static bool
do_nothing(struct suite *s, int *rc)
{
	(void)s, (void)rc;
	return true;
}

PROMISE(open_transaction_is_unseen_by_others)
{
	return suite_open(s) && put(s, SLICE("key"), SLICE("old")) &&
		put(s, SLICE("gone"), SLICE("old")) &&
		interleave(s, write_some, find_old, do_nothing) &&
		has(s, SLICE("key"), SLICE("old"));
}

/* --- conflicts --- */

static void
overwrite_x(struct worker *worker)
{
	expect_put(worker->suite, worker->session, SLICE("x"),
		(struct nb_slice){&(uint64_t){7}, sizeof(uint64_t)});
}

/**
 * Write y, and after the other session's write also x. Returns the answer of commit, or the
 * failure.
 */
static int
write_y_and_x(struct suite *s, struct worker *writer)
{
	uint64_t number;
	int rc = read_number(s, s->main.session, SLICE("x"), &number);
	if (rc == NB_OK)
		rc = write_number(s, s->main.session, SLICE("y"), 9);
	if (!worker_start(writer, s, 1, overwrite_x))
		return NB_FAIL;
	worker_give_time(writer);
	if (rc == NB_OK)
		rc = write_number(s, s->main.session, SLICE("x"), number + 1);
	if (rc != NB_OK)
		s->engine->abort(s->main.session);
	return rc == NB_OK ? s->engine->commit(s->main.session) : rc;
}

static bool
add_to_both(struct suite *s)
{
	struct worker main_worker = {.suite = s, .session = s->main.session};
	uint64_t before, after;
	return suite_ok(s, "get", read_number(s, s->main.session, SLICE("x"), &before)) &&
		transact(&main_worker, count_up) &&
		suite_ok(s, "get", read_number(s, s->main.session, SLICE("x"), &after)) &&
		(after == before + 1 ||
			suite_break(s, "a transaction after a conflict has no effect"));
}

PROMISE(transaction_that_lost_leaves_nothing)
{
	static struct worker writer;
	if (!open_numbers(s, 0) || !begin(s, 0))
		return false;
	int rc = write_y_and_x(s, &writer);
	worker_join(&writer);
	if (rc != NB_OK && rc != NB_CONFLICT)
		return suite_wrong(
			s, "a transaction beside another write", rc, "NB_OK or NB_CONFLICT");
	return has_number(s, SLICE("y"), rc == NB_OK ? 9 : 0) &&
		(rc == NB_OK || has_number(s, SLICE("x"), 7)) && add_to_both(s);
}

/* --- one session --- */

/**
 * A write in a read-only transaction is refused without effect, or it takes effect at
 * commit.
 */
static bool
write_read_only(struct suite *s)
{
	if (!begin(s, NB_TXN_READ_ONLY) || !has(s, SLICE("key"), SLICE("old")))
		return false;
	host_forget();
	int rc = s->engine->put(s->main.session, SLICE("key"), SLICE("new"));
	if (rc == NB_OK)
		return suite_ok(s, "commit", s->engine->commit(s->main.session)) &&
			has(s, SLICE("key"), SLICE("new"));
	s->engine->abort(s->main.session);
	return suite_failed(s, "put in a read-only transaction", rc) &&
		has(s, SLICE("key"), SLICE("old"));
}

PROMISE(read_only_transaction_reads_and_harms_nothing)
{
	if (!suite_open(s) || !put(s, SLICE("key"), SLICE("old")) ||
		!begin(s, NB_TXN_READ_ONLY) || !has(s, SLICE("key"), SLICE("old")) ||
		!lacks(s, SLICE("none")) ||
		!suite_ok(s, "commit", s->engine->commit(s->main.session)))
		return false;
	return write_read_only(s) && put(s, SLICE("key"), SLICE("third")) &&
		has(s, SLICE("key"), SLICE("third"));
}

static bool
tries_to_change(struct suite *s, const char *call, int rc)
{
	bool is_right = rc == NB_OK || suite_failed(s, call, rc);
	s->engine->abort(s->main.session);
	return is_right && has(s, SLICE("key"), SLICE("old")) && lacks(s, SLICE("new"));
}

PROMISE(write_in_a_read_only_transaction_fails_or_is_undone)
{
	const struct nb_engine *engine = s->engine;
	if (!suite_open(s) || !put(s, SLICE("key"), SLICE("old")) ||
		!begin(s, NB_TXN_READ_ONLY) ||
		!tries_to_change(s, "put in a read-only transaction",
			engine->put(s->main.session, SLICE("key"), SLICE("new"))) ||
		!begin(s, NB_TXN_READ_ONLY) ||
		!tries_to_change(s, "put of a new key in a read-only transaction",
			engine->put(s->main.session, SLICE("new"), SLICE("new"))) ||
		!begin(s, NB_TXN_READ_ONLY) ||
		!tries_to_change(s, "del in a read-only transaction",
			engine->del(s->main.session, SLICE("key"))))
		return false;
	return engine->insert == NULL ||
		(begin(s, NB_TXN_READ_ONLY) &&
			tries_to_change(s, "insert in a read-only transaction",
				engine->insert(s->main.session, SLICE("new"), SLICE("1"))));
}

/** Its own writes, also with other records between them. */
PROMISE(scan_in_a_transaction_sees_its_writes)
{
	char key[8];
	int rc;
	bool is_right = suite_open(s) && put(s, record_key(key, 0), SLICE("first")) &&
		put(s, record_key(key, 99), SLICE("first")) && begin(s, 0);
	if (!is_right)
		return false;
	for (uint32_t i = 0; is_right && i < RECORDS; i++)
		is_right = put(s, record_key(key, i), SLICE("old"));
	is_right = is_right && del(s, record_key(key, 99)) && scan_old(s, &rc);
	s->engine->abort(s->main.session);
	return is_right && has(s, record_key(key, 0), SLICE("first")) &&
		has(s, record_key(key, 99), SLICE("first"));
}
