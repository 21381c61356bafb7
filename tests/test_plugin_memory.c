/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plugins/memory: properties that the contract suite does not check for every engine, because
 * `memory` is its reference: the answer of each step, phantoms, write skew, the release of old
 * versions.
 */
#include <mininb/mininb.h>

#include <pthread.h>
#include <string.h>

#include "run/engine.h"
#include "unit.h"

enum { THREADS = 4, ADDS = 2000, TRANSFERS = 300, INFLIGHT = 3 };

#define TEXT(text) ((struct nb_slice){text, sizeof(text) - 1})

static const struct nb_engine *engine;
static struct nb_db *db;
static struct nb_session *one, *two;

static void
set_up(void)
{
	struct nb_open_args args = {.size = sizeof(args),
		.flags = NB_OPEN_CREATE,
		.host = nb_engine_host(),
		.path = "/",
		.sessions = THREADS,
		.durability = NB_DUR_NONE,
		.inflight_ops = INFLIGHT};
	engine = engine_builtin("memory");
	ck_assert_int_eq(engine->open(&db, &args), NB_OK);
	ck_assert_int_eq(engine->session_open(&one, db, 0), NB_OK);
	ck_assert_int_eq(engine->session_open(&two, db, 1), NB_OK);
}

static void
tear_down(void)
{
	ck_assert_int_eq(engine->session_close(one), NB_OK);
	ck_assert_int_eq(engine->session_close(two), NB_OK);
	ck_assert_int_eq(engine->close(db), NB_OK);
}

static int
put(struct nb_session *session, const char *key, const char *value)
{
	return engine->put(session, (struct nb_slice){key, strlen(key)},
		(struct nb_slice){value, strlen(value)});
}

static bool
reads(struct nb_session *session, const char *key, const char *value)
{
	struct nb_slice found;
	int rc = engine->get(session, (struct nb_slice){key, strlen(key)}, &found);

	if (value == NULL)
		return rc == NB_NOT_FOUND;
	return rc == NB_OK && found.size == strlen(value) &&
		memcmp(found.data, value, found.size) == 0;
}

/* The one-byte keys of a scan, as a string. */
static const char *
scanned(struct nb_session *session, uint32_t flags)
{
	static char keys[64];
	const struct nb_scan_args args = {.size = sizeof(args), .flags = flags};
	struct nb_slice key, value;
	size_t count = 0;

	ck_assert_int_eq(engine->scan_open(session, &args), NB_OK);
	while (engine->scan_next(session, &key, &value) == NB_OK)
		keys[count++] = *(const char *)key.data;
	ck_assert_int_eq(engine->scan_close(session), NB_OK);
	keys[count] = '\0';
	return keys;
}

/* --- steps --- */

TEST(each_step_answers_like_its_verb_and_sees_earlier_steps)
{
	set_up();
	struct nb_step steps[] = {
		{.verb = NB_STEP_PUT, .key = TEXT("a"), .value = TEXT("1")},
		{.verb = NB_STEP_GET, .key = TEXT("a")},
		{.verb = NB_STEP_INSERT, .key = TEXT("a"), .value = TEXT("2")},
		{.verb = NB_STEP_DEL, .key = TEXT("a")},
		{.verb = NB_STEP_DEL, .key = TEXT("a")},
		{.verb = NB_STEP_INSERT, .key = TEXT("a"), .value = TEXT("3")},
		{.verb = NB_STEP_GET, .key = TEXT("a")},
		{.verb = NB_STEP_GET, .key = TEXT("b")},
	};
	const int answers[] = {
		NB_OK, NB_OK, NB_EXISTS, NB_OK, NB_NOT_FOUND, NB_OK, NB_OK, NB_NOT_FOUND};
	ck_assert_int_eq(engine->execute(one, steps, 8, NB_EXEC_ATOMIC), NB_OK);
	for (size_t i = 0; i < 8; i++)
		ck_assert_int_eq(steps[i].answer, answers[i]);
	ck_assert_mem_eq(steps[1].value.data, "1", 1); /* both loans are valid together */
	ck_assert_mem_eq(steps[6].value.data, "3", 1);
	ck_assert(reads(two, "a", "3"));
	tear_down();
}

TEST(unmet_step_skips_the_stated_number_of_steps)
{
	set_up();
	struct nb_step steps[] = {
		{.verb = NB_STEP_GET, .key = TEXT("a"), .skips = 2},
		{.verb = NB_STEP_PUT, .key = TEXT("b"), .value = TEXT("1")},
		{.verb = NB_STEP_PUT, .key = TEXT("c"), .value = TEXT("1")},
		{.verb = NB_STEP_PUT, .key = TEXT("d"), .value = TEXT("1"), .skips = 1},
		{.verb = NB_STEP_INSERT, .key = TEXT("d"), .value = TEXT("1"), .skips = 9},
		{.verb = NB_STEP_PUT, .key = TEXT("e"), .value = TEXT("1")},
	};
	const int answers[] = {NB_NOT_FOUND, NB_EXISTS, NB_EXISTS, NB_OK, NB_EXISTS, NB_EXISTS};
	ck_assert_int_eq(engine->execute(one, steps, 6, 0), NB_OK);
	for (size_t i = 0; i < 6; i++)
		ck_assert_int_eq(steps[i].answer, answers[i]);
	ck_assert_str_eq(scanned(one, 0), "d");
	tear_down();
}

static int
put_if_newer(int64_t age)
{
	char value[12] = "....";
	memcpy(value + 4, &age, sizeof(age));
	struct nb_step step = {.verb = NB_STEP_PUT_IF_NEWER,
		.key = TEXT("a"),
		.value = {value, sizeof(value)},
		.operand = 4};
	ck_assert_int_eq(engine->execute(one, &step, 1, 0), NB_OK);
	return step.answer;
}

TEST(put_if_newer_stores_over_older_values_only)
{
	const int64_t age = -5;
	char value[12] = "....";

	set_up();
	ck_assert_int_eq(put_if_newer(1), NB_NOT_FOUND);
	memcpy(value + 4, &age, sizeof(age));
	ck_assert_int_eq(engine->put(one, TEXT("a"), (struct nb_slice){value, 12}), NB_OK);
	ck_assert_int_eq(put_if_newer(-6), NB_EXISTS);
	ck_assert_int_eq(put_if_newer(-5), NB_EXISTS);
	ck_assert_int_eq(put_if_newer(7), NB_OK);
	ck_assert_int_eq(put_if_newer(7), NB_EXISTS);
	tear_down();
}

static int
prefix_empty(struct nb_slice prefix)
{
	struct nb_step step = {.verb = NB_STEP_PREFIX_EMPTY, .key = prefix};
	ck_assert_int_eq(engine->execute(one, &step, 1, NB_EXEC_READ_ONLY), NB_OK);
	return step.answer;
}

TEST(prefix_empty_looks_at_keys_that_begin_so)
{
	set_up();
	ck_assert_int_eq(prefix_empty(TEXT("b")), NB_OK);
	put(one, "a", "1");
	put(one, "bc", "1");
	put(one, "d", "1");
	ck_assert_int_eq(prefix_empty(TEXT("b")), NB_EXISTS);
	ck_assert_int_eq(prefix_empty(TEXT("bc")), NB_EXISTS);
	ck_assert_int_eq(prefix_empty(TEXT("bcd")), NB_OK);
	ck_assert_int_eq(prefix_empty(TEXT("c")), NB_OK);
	ck_assert_int_eq(prefix_empty(TEXT("e")), NB_OK);
	tear_down();
}

TEST(failed_steps_have_no_effect)
{
	set_up();
	put(one, "b", "no counter");
	struct nb_step steps[] = {
		{.verb = NB_STEP_PUT, .key = TEXT("a"), .value = TEXT("1")},
		{.verb = NB_STEP_MERGE, .key = TEXT("b"), .operand = 1},
	};
	ck_assert_int_eq(engine->execute(one, steps, 2, NB_EXEC_ATOMIC), NB_FAIL);
	ck_assert(reads(one, "a", NULL));
	ck_assert(reads(one, "b", "no counter"));
	tear_down();
}

/* --- transactions of two sessions --- */

TEST(write_skew_is_a_conflict)
{
	set_up();
	put(one, "a", "1");
	put(one, "b", "1");
	ck_assert_int_eq(engine->begin(one, 0), NB_OK);
	ck_assert_int_eq(engine->begin(two, 0), NB_OK);
	ck_assert(reads(one, "a", "1"));
	ck_assert(reads(two, "b", "1"));
	put(one, "b", "0");
	put(two, "a", "0");
	ck_assert_int_eq(engine->commit(one), NB_OK);
	ck_assert_int_eq(engine->commit(two), NB_CONFLICT);
	ck_assert(reads(two, "a", "1"));
	ck_assert(reads(two, "b", "0"));
	tear_down();
}

TEST_EACH(a_phantom_in_a_scanned_range_is_a_conflict, 2)
{
	set_up();
	put(one, "a", "1");
	ck_assert_int_eq(engine->begin(one, 0), NB_OK);
	ck_assert_str_eq(scanned(one, _i == 0 ? 0 : NB_SCAN_BACKWARD), "a");
	put(two, "c", "1");
	ck_assert_int_eq(engine->del(two, TEXT("c")), NB_OK); /* inserted and deleted again */
	put(one, "z", "count of 1");
	ck_assert_int_eq(engine->commit(one), NB_CONFLICT);
	ck_assert_str_eq(scanned(one, 0), "a");
	tear_down();
}

TEST(a_transaction_that_only_reads_sees_one_version_and_never_conflicts)
{
	set_up();
	put(one, "a", "1");
	put(one, "b", "1");
	ck_assert_int_eq(engine->begin(one, NB_TXN_READ_ONLY), NB_OK);
	ck_assert(reads(one, "a", "1"));
	put(two, "b", "2");
	put(two, "b", "3");
	put(two, "c", "1");
	ck_assert_int_eq(engine->del(two, TEXT("a")), NB_OK);
	ck_assert(reads(one, "a", "1"));
	ck_assert(reads(one, "b", "1"));
	ck_assert(reads(one, "c", NULL));
	ck_assert_str_eq(scanned(one, 0), "ab");
	ck_assert_str_eq(scanned(one, NB_SCAN_BACKWARD), "ba");
	ck_assert_str_eq(scanned(two, 0), "bc");
	ck_assert_int_lt(put(one, "d", "1"), 0);
	ck_assert_int_eq(engine->commit(one), NB_OK);
	ck_assert_str_eq(scanned(one, 0), "bc");
	tear_down();
}

TEST(a_scan_in_a_transaction_merges_its_own_writes)
{
	set_up();
	put(one, "b", "1");
	put(one, "c", "1");
	put(one, "d", "1");
	ck_assert_int_eq(engine->begin(one, 0), NB_OK);
	put(one, "a", "1");
	put(one, "c", "2");
	put(one, "e", "1");
	ck_assert_int_eq(engine->del(one, TEXT("d")), NB_OK);
	ck_assert_int_eq(engine->del(one, TEXT("x")), NB_NOT_FOUND);
	ck_assert_str_eq(scanned(one, 0), "abce");
	ck_assert_str_eq(scanned(one, NB_SCAN_BACKWARD), "ecba");
	ck_assert_str_eq(scanned(two, 0), "bcd");
	engine->abort(one);
	ck_assert_str_eq(scanned(one, 0), "bcd");
	tear_down();
}

TEST(blind_writes_do_not_conflict)
{
	set_up();
	ck_assert_int_eq(engine->begin(one, 0), NB_OK);
	ck_assert_int_eq(engine->begin(two, 0), NB_OK);
	put(one, "a", "1");
	put(two, "a", "2");
	ck_assert_int_eq(engine->commit(two), NB_OK);
	ck_assert_int_eq(engine->commit(one), NB_OK);
	ck_assert(reads(two, "a", "1"));
	tear_down();
}

/* --- threads --- */

static void
in_threads(void *(*body)(void *id))
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, body, (void *)i), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static uint64_t
counter(const char *key)
{
	struct nb_slice value;
	uint64_t number;

	ck_assert_int_eq(engine->get(one, (struct nb_slice){key, strlen(key)}, &value), NB_OK);
	ck_assert_uint_eq(value.size, sizeof(number));
	memcpy(&number, value.data, sizeof(number));
	return number;
}

static void *
add(void *id)
{
	struct nb_session *session;
	struct nb_step steps[] = {
		{.verb = NB_STEP_MERGE, .key = TEXT("b"), .operand = 2},
		{.verb = NB_STEP_MERGE, .key = TEXT("b"), .operand = 1},
	};

	ck_assert_int_eq(engine->session_open(&session, db, (uint32_t)(uintptr_t)id), NB_OK);
	for (int i = 0; i < ADDS; i++) {
		ck_assert_int_eq(engine->merge(session, TEXT("a"), NB_MERGE_ADD_U64, 5), NB_OK);
		ck_assert_int_eq(engine->execute(session, steps, 2, NB_EXEC_ATOMIC), NB_OK);
	}
	engine->session_close(session);
	return NULL;
}

TEST(no_merge_is_lost)
{
	set_up();
	in_threads(add);
	ck_assert_uint_eq(counter("a"), 5 * THREADS * ADDS);
	ck_assert_uint_eq(counter("b"), 3 * THREADS * ADDS);
	tear_down();
}

/* Reads and writes two counters, and repeats until the commit succeeds. */
static void
transfer(struct nb_session *session)
{
	int rc;

	do {
		uint64_t numbers[2] = {0, 0};
		struct nb_slice value;
		ck_assert_int_eq(engine->begin(session, 0), NB_OK);
		for (int i = 0; i < 2; i++)
			if (engine->get(session, (struct nb_slice){&"xy"[i], 1}, &value) ==
				NB_OK)
				memcpy(&numbers[i], value.data, sizeof(numbers[i]));
		ck_assert_uint_eq(numbers[0], numbers[1]); /* the same version */
		for (int i = 0; i < 2; i++) {
			numbers[i]++;
			ck_assert_int_eq(engine->put(session, (struct nb_slice){&"xy"[i], 1},
						 (struct nb_slice){&numbers[i], 8}),
				NB_OK);
		}
		rc = engine->commit(session);
		ck_assert(rc == NB_OK || rc == NB_CONFLICT);
	} while (rc != NB_OK);
}

static void *
transfer_often(void *id)
{
	struct nb_session *session;

	ck_assert_int_eq(engine->session_open(&session, db, (uint32_t)(uintptr_t)id), NB_OK);
	for (int i = 0; i < TRANSFERS; i++) {
		transfer(session);
		ck_assert_str_eq(id == NULL ? scanned(session, 0) : "xy", "xy");
	}
	engine->session_close(session);
	return NULL;
}

TEST(transactions_in_threads_lose_no_update)
{
	set_up();
	in_threads(transfer_often);
	ck_assert_uint_eq(counter("x"), THREADS * TRANSFERS);
	ck_assert_uint_eq(counter("y"), THREADS * TRANSFERS);
	tear_down();
}

/* --- requests --- */

TEST(submit_takes_no_more_than_may_be_in_flight)
{
	set_up();
	struct nb_request requests[INFLIGHT + 2];
	struct nb_completion done[INFLIGHT + 2];
	size_t taken, count;
	for (size_t i = 0; i < INFLIGHT + 2; i++)
		requests[i] = (struct nb_request){
			.tag = i, .verb = NB_REQ_MERGE, .key = TEXT("a"), .operand = 1};
	ck_assert_int_eq(engine->submit(one, requests, INFLIGHT + 2, &taken), NB_PENDING);
	ck_assert_uint_eq(taken, INFLIGHT);
	engine->submit(one, requests, 1, &taken);
	ck_assert_uint_eq(taken, 0);
	ck_assert_int_eq(engine->reap(one, done, 1, &count, 0), NB_OK);
	ck_assert_uint_eq(count, 1);
	engine->submit(one, requests, 2, &taken);
	ck_assert_uint_eq(taken, 1);
	ck_assert_int_eq(engine->reap(one, done, INFLIGHT + 2, &count, 0), NB_OK);
	ck_assert_uint_eq(count, INFLIGHT);
	ck_assert_int_eq(engine->reap(one, done, 1, &count, 1000000000), NB_OK);
	ck_assert_uint_eq(count, 0);
	ck_assert_uint_eq(counter("a"), INFLIGHT + 1);
	tear_down();
}

TEST(session_close_ends_open_scans_and_transactions)
{
	set_up();
	struct nb_scan_args args = {.size = sizeof(args)};
	struct nb_session *session;
	ck_assert_int_eq(engine->session_open(&session, db, 2), NB_OK);
	ck_assert_int_eq(engine->begin(session, 0), NB_OK);
	put(session, "a", "1");
	put(one, "a", "2");
	ck_assert_int_eq(engine->scan_open(session, &args), NB_OK);
	ck_assert_int_eq(engine->session_close(session), NB_OK);
	ck_assert(reads(one, "a", "2"));
	put(one, "a", "3"); /* frees the old version; ASan would detect a leak */
	tear_down();
}
