/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions, one after another and at once. Threads do as workers of a run do:
 * each opens, uses and closes a session of its own. What comes of a race is
 * checked only by what must hold for every interleaving: a value that is found
 * is one that was put, whole. Run it under ThreadSanitizer to learn more.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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
	const struct nb_engine *engine = worker->suite->engine;
	host_forget();
	int rc = engine->session_open(&worker->session, worker->suite->main.db, worker->id);
	if (rc == NB_OK) {
		worker->run(worker);
		rc = engine->session_close(worker->session);
		if (rc != NB_OK)
			suite_wrong(worker->suite, "session_close", rc, "NB_OK");
	} else
		suite_wrong(worker->suite, "session_open on a thread of its own", rc, "NB_OK");
	pthread_mutex_lock(&worker->lock);
	worker->is_done = true;
	pthread_cond_signal(&worker->done);
	pthread_mutex_unlock(&worker->lock);
	return NULL;
}

bool
worker_start(struct worker *worker, struct suite *s, uint32_t id,
	void (*run)(struct worker *worker), void *arg)
{
	*worker = (struct worker){.suite = s, .id = id, .run = run, .arg = arg};
	pthread_mutex_init(&worker->lock, NULL);
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* the other one may be set back */
	pthread_cond_init(&worker->done, &attr);
	pthread_condattr_destroy(&attr);
	int error = pthread_create(&worker->thread, NULL, worker_main, worker);
	return error == 0 ||
		suite_break(s, "the suite cannot make a thread: %s", strerror(error));
}

void
worker_give_time(struct worker *worker)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 2;
	pthread_mutex_lock(&worker->lock);
	int error = 0;
	while (!worker->is_done && error != ETIMEDOUT)
		error = pthread_cond_timedwait(&worker->done, &worker->lock, &until);
	pthread_mutex_unlock(&worker->lock);
}

void
worker_join(struct worker *worker)
{
	pthread_join(worker->thread, NULL);
	pthread_cond_destroy(&worker->done);
	pthread_mutex_destroy(&worker->lock);
}

void
workers_run(struct suite *s, uint32_t count, void (*run)(struct worker *worker), void *arg)
{
	static struct worker workers[SUITE_SESSIONS];
	uint32_t started = 0;
	/* The caller's session has id 0, which is a worker's now. */
	s->engine->session_close(s->main.session);
	s->main.session = NULL;
	while (started < count && worker_start(&workers[started], s, started, run, arg))
		started++;
	for (uint32_t i = 0; i < started; i++)
		worker_join(&workers[i]);
	host_forget();
	int rc = s->engine->session_open(&s->main.session, s->main.db, 0);
	if (rc != NB_OK) {
		s->main.session = NULL;
		suite_wrong(s, "session_open after the workers' ones", rc, "NB_OK");
	}
}

/* A key of 5 bytes: whose it is and which. */
static struct nb_slice
range_key(unsigned char *buf, uint32_t id, uint32_t i)
{
	buf[0] = (unsigned char)id;
	memcpy(buf + 1, &i, sizeof(i));
	return (struct nb_slice){.data = buf, .size = 1 + sizeof(i)};
}

/* --- one after another --- */

void
check_session_churn(struct suite *s)
{
	if (!suite_open(s))
		return;
	for (uint32_t i = 0; i < 1000; i++) {
		int rc = s->engine->session_close(s->main.session);
		s->main.session = NULL;
		if (rc != NB_OK) {
			suite_wrong(s, "session_close", rc, "NB_OK");
			return;
		}
		rc = s->engine->session_open(&s->main.session, s->main.db, i % SUITE_SESSIONS);
		if (rc != NB_OK) {
			s->main.session = NULL;
			suite_wrong(
				s, "session_open of one of many, one at a time,", rc, "NB_OK");
			return;
		}
		if (!expect_put(s, s->main.session, SLICE("k"), SLICE("v")))
			return;
	}
}

static void
put_one(struct worker *worker)
{
	expect_put(worker->suite, worker->session, SLICE("k"), SLICE("v"));
}

/* 150 is above the 126 that LMDB gives readers by default: a slot that leaks shows. */
void
check_thread_churn(struct suite *s)
{
	if (!suite_open(s))
		return;
	for (int i = 0; i < 150 && s->outcome == NB_CHECK_KEPT; i++)
		workers_run(s, 1, put_one, NULL);
}

/* --- at once --- */

static void
find_and_overwrite(struct worker *worker)
{
	expect_value(worker->suite, worker->session, SLICE("k"), SLICE("first"));
	expect_put(worker->suite, worker->session, SLICE("k"), SLICE("second"));
}

void
check_sessions_share(struct suite *s)
{
	static struct worker worker;
	if (!suite_open(s) || !expect_put(s, s->main.session, SLICE("k"), SLICE("first")) ||
		!worker_start(&worker, s, 1, find_and_overwrite, NULL))
		return;
	worker_join(&worker);
	expect_value(s, s->main.session, SLICE("k"), SLICE("second"));
}

static bool
find_range(struct suite *s, struct nb_session *session, uint32_t id)
{
	unsigned char buf[8], value[64];
	for (uint32_t i = 0; i < RANGE; i++) {
		struct nb_slice wanted = {value, 16 + i % 48};
		bytes_fill(value, wanted.size, id * RANGE + i);
		bool is_right = i % 10 == 9
			? expect_missing(s, session, range_key(buf, id, i))
			: expect_value(s, session, range_key(buf, id, i), wanted);
		if (!is_right)
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
		struct nb_slice bytes = {value, 16 + i % 48};
		bytes_fill(value, bytes.size, worker->id * RANGE + i);
		if (!expect_put(s, worker->session, range_key(buf, worker->id, i), bytes))
			return;
		if (i % 10 == 9 &&
			!expect_del(s, worker->session, range_key(buf, worker->id, i)))
			return;
	}
	find_range(s, worker->session, worker->id);
}

void
check_parallel_ranges(struct suite *s)
{
	if (!suite_open(s))
		return;
	workers_run(s, THREADS, write_range, NULL);
	for (uint32_t id = 0; id < THREADS && s->outcome == NB_CHECK_KEPT; id++)
		find_range(s, s->main.session, id);
}

/* A value that tells how long it is and what it holds: size 8 + seed % 200. */
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
	if (rc != NB_OK)
		return suite_wrong(s, "get beside writers of the same key", rc, "NB_OK");
	uint64_t seed = 0;
	bool is_whole = found.size >= 8;
	if (is_whole) {
		memcpy(&seed, found.data, 8);
		is_whole = slice_equal(found, raced_value(buf, seed));
	}
	session_release(s, session);
	return is_whole ||
		suite_break(s, "get lent a value of %zu bytes that no one has put", found.size);
}

static void
race(struct worker *worker)
{
	struct suite *s = worker->suite;
	unsigned char buf[8], value[256];
	uint64_t random = s->args->seed + worker->id;
	for (uint32_t i = 0; i < RACES; i++) {
		uint64_t roll = random_next(&random);
		struct nb_slice key = range_key(buf, 0, roll % RACED_KEYS);
		bool is_right = roll >> 63 != 0
			? expect_put(s, worker->session, key,
				  raced_value(value, (uint64_t)worker->id << 32 | i))
			: expect_raced(s, worker->session, key);
		if (!is_right)
			return;
	}
}

void
check_racing_writers(struct suite *s)
{
	unsigned char buf[8];
	if (!suite_open(s))
		return;
	workers_run(s, THREADS, race, NULL);
	for (uint32_t i = 0; i < RACED_KEYS && s->outcome == NB_CHECK_KEPT; i++)
		expect_raced(s, s->main.session, range_key(buf, 0, i));
}

/* --- loans --- */

/* Work of another session that would reach a loan that is not the lender's alone. */
static void
disturb(struct worker *worker)
{
	struct suite *s = worker->suite;
	unsigned char buf[8], value[200];
	for (uint32_t i = 0; i < 50; i++) {
		bytes_fill(value, sizeof(value), i);
		expect_put(s, worker->session, range_key(buf, 1, i),
			(struct nb_slice){value, sizeof(value)});
		expect_value(s, worker->session, range_key(buf, 1, i),
			(struct nb_slice){value, sizeof(value)});
	}
	expect_put(s, worker->session, SLICE("k"), (struct nb_slice){value, sizeof(value)});
	expect_del(s, worker->session, SLICE("k"));
}

void
check_loan_stays(struct suite *s)
{
	static struct worker worker;
	struct nb_slice found = {0};
	struct nb_slice wanted = suite_value(s, 200, s->args->seed);
	if (!suite_open(s) || !expect_put(s, s->main.session, SLICE("k"), wanted))
		return;
	int rc = session_get(s, s->main.session, SLICE("k"), &found);
	if (rc != NB_OK) {
		suite_wrong(s, "get of a key that is there", rc, "NB_OK");
		return;
	}
	bool is_started = worker_start(&worker, s, 1, disturb, NULL);
	if (is_started)
		worker_give_time(&worker);
	if (!slice_equal(found, wanted))
		suite_break(s,
			"bytes lent by get changed before release, by the work of another session");
	session_release(s, s->main.session);
	if (is_started)
		worker_join(&worker);
	if (s->outcome == NB_CHECK_KEPT)
		expect_missing(s, s->main.session, SLICE("k"));
}
