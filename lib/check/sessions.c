/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions, one after another and concurrently. Threads work like the workers of a run:
 * each opens, uses and closes its own session. A race is checked only by properties that
 * every interleaving has: each value found was put, and is complete. ThreadSanitizer shows
 * more.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "check/suite.h"

enum {
	THREADS = 4,
	RANGE = 400, /* keys of each thread */
	RACES = 1500,
	RACED_KEYS = 8
};

static void *
worker_main(void *arg)
{
	struct worker *worker = arg;
	struct suite *s = worker->suite;
	__atomic_store_n(&worker->tid, (int)gettid(), __ATOMIC_RELEASE);
	host_forget();
	if (suite_ok(s, "session_open on its own thread",
		    s->engine->session_open(&worker->session, s->main.db, worker->id))) {
		worker->run(worker);
		suite_ok(s, "session_close", s->engine->session_close(worker->session));
	}
	__atomic_store_n(&worker->is_done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool
start_thread(struct worker *worker)
{
	int error = pthread_create(&worker->thread, NULL, worker_main, worker);
	return error == 0 ||
		suite_break(
			worker->suite, "the suite cannot create a thread: %s", strerror(error));
}

bool
worker_start(
	struct worker *worker, struct suite *s, uint32_t id, void (*run)(struct worker *worker))
{
	*worker = (struct worker){.suite = s, .id = id, .run = run};
	return start_thread(worker);
}

/** Whether the thread waits for something other than a CPU. */
static bool
is_asleep(const struct worker *worker)
{
	char path[64], text[256] = "";
	int tid = __atomic_load_n(&worker->tid, __ATOMIC_ACQUIRE);
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	FILE *file = tid == 0 ? NULL : fopen(path, "re");
	if (file == NULL)
		return false;
	const char *name_end = fgets(text, sizeof(text), file) == NULL ? NULL
								       : strrchr(text, ')');
	fclose(file);
	return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'S';
}

/**
 * Wait until the worker is done, or has called worker_meet() `met` times, or is asleep at
 * several checks in a row.
 */
static void
wait_for(const struct worker *worker, uint32_t met)
{
	enum { LOOKS = 5, LOOK_NS = 200000, LOOKS_MAX = 10000 };
	for (int asleep = 0, i = 0; asleep < LOOKS && i < LOOKS_MAX; i++) {
		if (__atomic_load_n(&worker->is_done, __ATOMIC_ACQUIRE) ||
			__atomic_load_n(&worker->met, __ATOMIC_ACQUIRE) >= met)
			return;
		asleep = is_asleep(worker) ? asleep + 1 : 0;
		nanosleep(
			&(struct timespec){.tv_nsec = i < LOOKS ? LOOK_NS / 4 : LOOK_NS}, NULL);
	}
}

void
worker_give_time(struct worker *worker)
{
	wait_for(worker, UINT32_MAX);
}

void
worker_meet(struct worker *worker)
{
	uint32_t met = __atomic_add_fetch(&worker->met, 1, __ATOMIC_RELEASE);
	if (worker->peer != NULL)
		wait_for(worker->peer, met);
}

void
worker_join(struct worker *worker)
{
	pthread_join(worker->thread, NULL);
}

bool
suite_open_session(struct suite *s, const char *call, uint32_t id)
{
	host_forget();
	bool is_open = suite_ok(
		s, call, s->engine->session_open(&s->main.session, s->main.db, id));
	if (!is_open)
		s->main.session = NULL;
	return is_open;
}

bool
suite_close_session(struct suite *s)
{
	struct nb_session *session = s->main.session;
	s->main.session = NULL;
	return suite_ok(s, "session_close", s->engine->session_close(session));
}

bool
workers_run(struct suite *s, uint32_t count, void (*run)(struct worker *worker))
{
	static struct worker workers[SUITE_SESSIONS];
	uint32_t started = 0;
	suite_close_session(s); /* a worker uses its id, 0 */
	for (uint32_t i = 0; i < count; i++)
		workers[i] = (struct worker){.suite = s, .id = i, .run = run};
	workers[0].peer = count > 1 ? &workers[1] : NULL;
	workers[1].peer = &workers[0];
	while (started < count && start_thread(&workers[started]))
		started++;
	for (uint32_t i = 0; i < started; i++)
		worker_join(&workers[i]);
	return suite_open_session(s, "session_open after the workers' sessions", 0) &&
		s->outcome == NB_CHECK_KEPT;
}

/** A key of 5 bytes: its owner and its number. */
static struct nb_slice
range_key(unsigned char *buf, uint32_t id, uint32_t i)
{
	buf[0] = (unsigned char)id;
	memcpy(buf + 1, &i, sizeof(i));
	return (struct nb_slice){.data = buf, .size = 1 + sizeof(i)};
}

/* --- one after another --- */

PROMISE(sessions_open_and_close_many_times)
{
	/* A server takes 10 ms for each, and allows 151 connections by default. */
	uint32_t times = (s->engine->caps & NB_CAP_REMOTE) != 0 ? 160 : 1000;
	if (!suite_open(s))
		return false;
	for (uint32_t i = 0; i < times; i++)
		if (!suite_close_session(s) ||
			!suite_open_session(s, "session_open of one of many, one at a time,",
				i % SUITE_SESSIONS) ||
			!put(s, SLICE("k"), SLICE("v")))
			return false;
	return true;
}

static void
put_one(struct worker *worker)
{
	expect_put(worker->suite, worker->session, SLICE("k"), SLICE("v"));
}

/* 150 exceeds LMDB's default of 126 readers, so a leaked slot is detected. */
PROMISE(sessions_come_and_go_with_threads)
{
	bool is_right = suite_open(s);
	for (int i = 0; is_right && i < 150; i++)
		is_right = workers_run(s, 1, put_one);
	return is_right;
}

/* --- concurrently --- */

static void
find_and_overwrite(struct worker *worker)
{
	expect_value(worker->suite, worker->session, SLICE("k"), SLICE("first"));
	expect_put(worker->suite, worker->session, SLICE("k"), SLICE("second"));
}

PROMISE(sessions_see_one_another)
{
	static struct worker worker;
	if (!suite_open(s) || !put(s, SLICE("k"), SLICE("first")) ||
		!worker_start(&worker, s, 1, find_and_overwrite))
		return false;
	worker_join(&worker);
	return has(s, SLICE("k"), SLICE("second"));
}

static struct nb_slice
range_value(unsigned char buf[64], uint32_t id, uint32_t i)
{
	struct nb_slice value = {buf, 16 + i % 48};
	bytes_fill(buf, value.size, id * RANGE + i);
	return value;
}

static bool
find_range(struct suite *s, struct nb_session *session, uint32_t id)
{
	unsigned char buf[8], value[64];
	for (uint32_t i = 0; i < RANGE; i++) {
		struct nb_slice key = range_key(buf, id, i);
		if (i % 10 == 9 ? !expect_missing(s, session, key)
				: !expect_value(s, session, key, range_value(value, id, i)))
			return false;
	}
	return true;
}

static void
write_range(struct worker *worker)
{
	struct suite *s = worker->suite;
	unsigned char buf[8], value[64];
	for (uint32_t i = 0; i < RANGE; i++) {
		struct nb_slice key = range_key(buf, worker->id, i);
		if (!expect_put(s, worker->session, key, range_value(value, worker->id, i)) ||
			(i % 10 == 9 && !expect_del(s, worker->session, key)))
			return;
	}
	find_range(s, worker->session, worker->id);
}

PROMISE(ranges_written_in_parallel_read_back)
{
	bool is_right = suite_open(s) && workers_run(s, THREADS, write_range);
	for (uint32_t id = 0; is_right && id < THREADS; id++)
		is_right = find_range(s, s->main.session, id);
	return is_right;
}

/** A value that contains its own seed, which determines its size and bytes. */
static struct nb_slice
raced_value(unsigned char *buf, uint64_t seed)
{
	struct nb_slice value = {buf, 8 + seed % 200};
	memcpy(buf, &seed, 8);
	bytes_fill(buf + 8, value.size - 8, seed);
	return value;
}

static bool
expect_raced(struct suite *s, struct nb_session *session, struct nb_slice key)
{
	unsigned char buf[256];
	struct nb_slice found = {0};
	int rc = session_get(s, session, key, &found);
	if (rc == NB_NOT_FOUND)
		return true;
	if (!suite_ok(s, "get during writes of the same key", rc))
		return false;
	uint64_t seed = 0;
	if (found.size >= 8)
		memcpy(&seed, found.data, 8);
	bool is_whole = found.size >= 8 && slice_equal(found, raced_value(buf, seed));
	session_release(s, session);
	return is_whole ||
		suite_break(s, "get lent a value of %zu bytes that was never put", found.size);
}

static void
race(struct worker *worker)
{
	struct suite *s = worker->suite;
	unsigned char buf[8], value[256];
	uint64_t random = s->args->seed + worker->id;
	for (uint32_t i = 0; i < RACES; i++) {
		uint64_t roll = splitmix64_next(&random);
		struct nb_slice key = range_key(buf, 0, roll % RACED_KEYS);
		bool is_right = roll >> 63 != 0
			? expect_put(s, worker->session, key,
				  raced_value(value, (uint64_t)worker->id << 32 | i))
			: expect_raced(s, worker->session, key);
		if (!is_right)
			return;
	}
}

PROMISE(racing_writers_leave_a_whole_value)
{
	unsigned char buf[8];
	bool is_right = suite_open(s) && workers_run(s, THREADS, race);
	for (uint32_t i = 0; is_right && i < RACED_KEYS; i++)
		is_right = expect_raced(s, s->main.session, range_key(buf, 0, i));
	return is_right;
}

/* --- inserters --- */

static uint32_t wins[THREADS]; /* each worker writes its own element */

static void
insert_all(struct worker *worker)
{
	struct suite *s = worker->suite;
	unsigned char buf[8], value[64];
	wins[worker->id] = 0;
	for (uint32_t i = 0; i < RANGE; i++) {
		int rc = NB_CONFLICT;
		host_forget();
		for (uint32_t tries = 0; rc == NB_CONFLICT && suite_may_retry(tries); tries++)
			rc = s->engine->insert(worker->session, range_key(buf, 0, i),
				range_value(value, worker->id, i));
		if (rc != NB_OK && rc != NB_EXISTS) {
			suite_wrong(s, "insert", rc, "NB_OK or NB_EXISTS");
			return;
		}
		wins[worker->id] += rc == NB_OK;
		if (rc == NB_OK &&
			!expect_value(s, worker->session, range_key(buf, 0, i),
				range_value(value, worker->id, i)))
			return;
	}
}

PROMISE(racing_inserters_have_one_winner)
{
	uint32_t sum = 0;
	if (!suite_open(s) || !workers_run(s, THREADS, insert_all))
		return false;
	for (uint32_t id = 0; id < THREADS; id++)
		sum += wins[id];
	return sum == RANGE ||
		suite_break(s,
			"%d threads inserted %d keys, and %u inserts were answered NB_OK",
			THREADS, RANGE, (unsigned)sum);
}

/* --- idle sessions --- */

/** The main session has read and written, and makes no call while the others work. */
PROMISE(session_that_is_parked_holds_nobody_up)
{
	static struct worker workers[THREADS];
	uint32_t started = 1;
	if (!suite_open(s) || !put(s, SLICE("k"), SLICE("v")) ||
		!has(s, SLICE("k"), SLICE("v")))
		return false;
	while (started < THREADS && worker_start(&workers[started], s, started, write_range))
		started++;
	for (uint32_t i = 1; i < started; i++)
		worker_join(&workers[i]);
	return s->outcome == NB_CHECK_KEPT && has(s, SLICE("k"), SLICE("v"));
}

/* --- loans --- */

/** Write in another session, which would change a loan from shared memory. */
static void
disturb(struct worker *worker)
{
	struct suite *s = worker->suite;
	unsigned char buf[8], bytes[200];
	struct nb_slice value = {bytes, sizeof(bytes)};
	for (uint32_t i = 0; i < 50; i++) {
		bytes_fill(bytes, sizeof(bytes), i);
		expect_put(s, worker->session, range_key(buf, 1, i), value);
		expect_value(s, worker->session, range_key(buf, 1, i), value);
	}
	expect_put(s, worker->session, SLICE("k"), value);
	expect_del(s, worker->session, SLICE("k"));
}

PROMISE(loan_stays_until_release)
{
	static struct worker worker;
	struct nb_slice found = {0};
	struct nb_slice wanted = suite_value(s, 200, s->args->seed);
	if (!suite_open(s) || !put(s, SLICE("k"), wanted) ||
		!suite_ok(s, "get of an existing key",
			session_get(s, s->main.session, SLICE("k"), &found)))
		return false;
	bool is_started = worker_start(&worker, s, 1, disturb);
	if (is_started)
		worker_give_time(&worker);
	if (!slice_equal(found, wanted))
		suite_break(s, "another session changed bytes lent by get before release");
	session_release(s, s->main.session);
	if (is_started)
		worker_join(&worker);
	return s->outcome == NB_CHECK_KEPT && lacks(s, SLICE("k"));
}
