/* SPDX-License-Identifier: BSD-2-Clause */
#include "toy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/rng.h"
#include "workload/values.h"
#include "unit.h"

enum { KEY_SIZE = 8, VALUE_ROOM = 4096, WRITES_MAX = 1024, ODD_ANSWER = 9 };

struct toy toy;

/** Overwritten values, for TOY_OLD. Guarded by olds_lock. */
static struct old {
	uint8_t *data;
	size_t size;
} olds[TOY_KEYS];
static pthread_mutex_t olds_lock = PTHREAD_MUTEX_INITIALIZER;

/** The session of `memory`, and the puts of a transaction until it commits. */
struct toy_session {
	struct nb_session *inner;
	uint32_t id;
	bool is_transaction;
	size_t pending;
	uint64_t keys[WRITES_MAX];
	uint8_t *values[WRITES_MAX];
	size_t sizes[WRITES_MAX];
	uint8_t value[VALUE_ROOM], key[KEY_SIZE]; /* lent instead of memory's bytes */
	uint64_t last;                            /* number that a scan returned last */
	/* requests: the executed ones come first */
	struct nb_request requests[TOY_REQUESTS];
	struct nb_completion done[TOY_REQUESTS];
	size_t request_count, done_count, lent_count;
	void *lent[TOY_REQUESTS];
	uint64_t random;
};

static const struct nb_slice none;

static const struct nb_engine *
right(void)
{
	return engine_builtin("memory");
}

static struct toy_session *
own(struct nb_session *session)
{
	return (struct toy_session *)(void *)session;
}

static uint64_t
number_of(struct nb_slice key)
{
	uint64_t number = 0;
	for (size_t i = 0; i < key.size && i < KEY_SIZE; i++)
		number = number << 8 | ((const uint8_t *)key.data)[i];
	return number;
}

static struct nb_slice
key_of(uint64_t number, uint8_t bytes[KEY_SIZE])
{
	for (int i = KEY_SIZE - 1; i >= 0; i--, number >>= 8)
		bytes[i] = (uint8_t)number;
	return (struct nb_slice){bytes, KEY_SIZE};
}

/** Count and log a call. Returns its defect. */
static uint32_t
enter(uint32_t verb, struct nb_session *session, struct nb_slice key, struct nb_slice value,
	uint64_t size)
{
	uint64_t nth = __atomic_add_fetch(&toy.calls[verb], 1, __ATOMIC_RELAXED);
	uint64_t number = number_of(key);
	if (toy.is_logging) {
		uint64_t at = __atomic_fetch_add(&toy.logged, 1, __ATOMIC_RELAXED);
		ck_assert_uint_lt(at, TOY_LOG_MAX);
		toy.log[at] = (struct toy_call){.verb = verb,
			.session = own(session)->id,
			.number = number,
			.version = value.size >= 16 ? value_version(value) : 0,
			.size = size};
	}
	if (toy.defect == TOY_RIGHT || verb != toy.verb)
		return TOY_RIGHT;
	if (toy.number != 0 && number + 1 != toy.number)
		return TOY_RIGHT;
	if (toy.number != 0)
		nth = __atomic_add_fetch(&toy.calls_of_number, 1, __ATOMIC_RELAXED);
	if (nth < toy.nth)
		return TOY_RIGHT;
	uint64_t hit = __atomic_add_fetch(&toy.hits, 1, __ATOMIC_RELAXED);
	return toy.times == 0 || hit <= toy.times ? toy.defect : TOY_RIGHT;
}

static void
sleep_for(uint64_t ns)
{
	nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

/** Apply a defect that any verb can have. True if *rc is the answer. */
static bool
answers(uint32_t defect, int *rc)
{
	static const struct {
		bool is_answer;
		int rc;
	} defects[] = {[TOY_CONFLICT] = {true, NB_CONFLICT},
		[TOY_FAIL] = {true, NB_FAIL},
		[TOY_MUTE] = {true, NB_FAIL},
		[TOY_ODD] = {true, ODD_ANSWER},
		[TOY_MISS] = {true, NB_NOT_FOUND},
		[TOY_DROP] = {true, NB_OK},
		[TOY_STOP] = {false}};
	if (defect == TOY_SLOW)
		sleep_for(toy.sleep_ns);
	if (defect == TOY_STOP)
		nb_stop();
	if (!defects[defect].is_answer)
		return false;
	*rc = defect == TOY_FAIL ? error_set(NB_FAIL, "the toy is broken") : defects[defect].rc;
	return true;
}

/* ---- reading ---- */

static void
lend_old(struct toy_session *session, struct nb_slice key, struct nb_slice *value)
{
	pthread_mutex_lock(&olds_lock);
	struct old *old = &olds[number_of(key) % TOY_KEYS];
	if (old->data != NULL) {
		memcpy(session->value, old->data, old->size);
		*value = (struct nb_slice){session->value, old->size};
	}
	pthread_mutex_unlock(&olds_lock);
}

/** Change the lent value according to the defect. */
static void
spoil(struct toy_session *session, uint32_t defect, struct nb_slice key, struct nb_slice *value)
{
	if (defect == TOY_OLD)
		lend_old(session, key, value);
	if (defect == TOY_CUT)
		value->size /= 2;
	if (defect == TOY_HUGE)
		*value = (struct nb_slice){NULL, (size_t)-1};
	if (defect == TOY_FLIP) {
		ck_assert_uint_le(value->size, VALUE_ROOM);
		memcpy(session->value, value->data, value->size);
		session->value[value->size - 1] ^= 1;
		*value = (struct nb_slice){session->value, value->size};
	}
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	uint32_t defect = enter(TOY_GET, session, key, none, 0);
	uint8_t other[KEY_SIZE];
	int rc;
	if (answers(defect, &rc))
		return rc;
	if (defect == TOY_OTHER)
		key = key_of(number_of(key) ^ 1, other);
	rc = right()->get(own(session)->inner, key, value);
	if (rc == NB_OK)
		spoil(own(session), defect, key, value);
	return rc;
}

static void
release(struct nb_session *session)
{
	enter(TOY_RELEASE, session, none, none, 0);
	for (size_t i = 0; i < own(session)->lent_count; i++)
		free(own(session)->lent[i]);
	own(session)->lent_count = 0;
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *found)
{
	uint32_t defect = enter(TOY_MULTI_GET, session, keys[0], none, count);
	int rc;
	if (defect != TOY_MISS && answers(defect, &rc))
		return rc;
	rc = right()->multi_get(own(session)->inner, keys, count, values, found);
	if (rc == NB_OK && found[0] == NB_OK)
		spoil(own(session), defect, keys[0], &values[0]);
	if (defect == TOY_MISS)
		found[0] = NB_NOT_FOUND;
	return rc;
}

/* ---- writing ---- */

static void
keep_old(struct toy_session *session, struct nb_slice key)
{
	struct nb_slice before;
	if (right()->get(session->inner, key, &before) != NB_OK)
		return;
	pthread_mutex_lock(&olds_lock);
	struct old *old = &olds[number_of(key) % TOY_KEYS];
	free(old->data);
	old->data = malloc(before.size + 1);
	old->size = before.size;
	if (before.size > 0)
		memcpy(old->data, before.data, before.size);
	pthread_mutex_unlock(&olds_lock);
}

static int
store(struct toy_session *session, struct nb_slice key, struct nb_slice value)
{
	if (!session->is_transaction) {
		keep_old(session, key);
		return right()->put(session->inner, key, value);
	}
	size_t at = session->pending++;
	ck_assert_uint_lt(at, WRITES_MAX);
	session->keys[at] = number_of(key);
	session->values[at] = malloc(value.size + 1);
	session->sizes[at] = value.size;
	if (value.size > 0)
		memcpy(session->values[at], value.data, value.size);
	return NB_OK;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	uint32_t defect = enter(TOY_PUT, session, key, value, value.size);
	int rc;
	return answers(defect, &rc) ? rc : store(own(session), key, value);
}

/** Counted and defective as a put. */
static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	uint32_t defect = enter(TOY_PUT, session, key, value, value.size);
	int rc;
	return answers(defect, &rc) ? rc : right()->insert(own(session)->inner, key, value);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	uint32_t defect = enter(TOY_DEL, session, key, none, 0);
	int rc;
	return answers(defect, &rc) ? rc : right()->del(own(session)->inner, key);
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	uint32_t defect = enter(TOY_BATCH, session, writes[0].key, writes[0].value, count);
	int rc = NB_OK;
	if (answers(defect, &rc))
		return rc;
	ck_assert_uint_eq(flags, 0);
	for (size_t i = 0; i < count && rc == NB_OK; i++) {
		ck_assert_uint_eq(writes[i].is_delete, 0);
		rc = store(own(session), writes[i].key, writes[i].value);
	}
	return rc;
}

/* ---- scans ---- */

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	uint32_t defect = enter(TOY_SCAN_OPEN, session, args->from, none, args->limit);
	int rc;
	ck_assert_uint_eq(args->flags & ~(NB_SCAN_BACKWARD | NB_SCAN_KEYS_ONLY), 0);
	own(session)->last = 0;
	return answers(defect, &rc) ? rc : right()->scan_open(own(session)->inner, args);
}

static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct toy_session *it = own(session);
	uint32_t defect = enter(TOY_SCAN_NEXT, session, none, none, 0);
	int rc;
	if (answers(defect, &rc))
		return rc;
	rc = right()->scan_next(it->inner, key, value);
	if (defect == TOY_SKIP && rc == NB_OK)
		rc = right()->scan_next(it->inner, key, value);
	if (rc != NB_OK)
		return rc;
	spoil(it, defect, *key, value);
	if (defect == TOY_REPEAT)
		*key = key_of(it->last, it->key);
	if (defect == TOY_BACK)
		*key = key_of(it->last - 1, it->key);
	if (defect == TOY_INVENT) /* above all records and the last key */
		*key = key_of(UINT64_MAX, it->key);
	it->last = number_of(*key);
	if (defect == TOY_HUGE_KEY)
		*key = (struct nb_slice){NULL, (size_t)1 << 63};
	return NB_OK;
}

static int
scan_close(struct nb_session *session)
{
	uint32_t defect = enter(TOY_SCAN_CLOSE, session, none, none, 0);
	int rc, closed = right()->scan_close(own(session)->inner);
	return answers(defect, &rc) ? rc : closed;
}

/* ---- requests: executed in order by reap, returned in random order ---- */

static void
do_request(struct nb_session *session, const struct nb_request *request)
{
	struct toy_session *it = own(session);
	struct nb_slice value = {NULL, 0};
	int rc = request->verb == NB_REQ_GET     ? get(session, request->key, &value)
		: request->verb == NB_REQ_DEL    ? del(session, request->key)
		: request->verb == NB_REQ_INSERT ? insert(session, request->key, request->value)
						 : put(session, request->key, request->value);
	ck_assert_uint_le(request->verb, NB_REQ_INSERT);
	ck_assert_ptr_null(request->steps);
	if (value.size > 0 && (ptrdiff_t)value.size > 0) {
		void *lent = malloc(value.size);
		memcpy(lent, value.data, value.size);
		value.data = lent;
	}
	it->done[it->done_count++] = (struct nb_completion){.tag = request->tag,
		.value = value,
		.error = rc == NB_FAIL ? "the request is broken" : NULL,
		.answer = rc};
}

static void
do_requests(struct nb_session *session)
{
	struct toy_session *it = own(session);
	while (it->done_count < it->request_count)
		do_request(session, &it->requests[it->done_count]);
}

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	struct toy_session *it = own(session);
	size_t room = toy.room > 0 ? toy.room : TOY_REQUESTS;
	int rc;
	ck_assert_uint_gt(count, 0);
	if (count > __atomic_load_n(&toy.submitted_most, __ATOMIC_RELAXED))
		__atomic_store_n(&toy.submitted_most, count, __ATOMIC_RELAXED);
	if (answers(enter(TOY_SUBMIT, session, none, none, count), &rc))
		return rc;
	for (*taken = 0; *taken < count && it->request_count < room; ++*taken)
		it->requests[it->request_count++] = requests[*taken];
	if (toy.copies) /* the data may be gone later */
		do_requests(session);
	return NB_PENDING;
}

/** Remove a random executed request. */
static struct nb_completion
take_done(struct toy_session *it)
{
	size_t at = splitmix64_next(&it->random) % it->done_count;
	struct nb_completion done = it->done[at];
	it->done[at] = it->done[--it->done_count];
	it->request_count--;
	return done;
}

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	struct toy_session *it = own(session);
	size_t most = toy.reaped_most > 0 && toy.reaped_most < room ? toy.reaped_most : room;
	ck_assert_uint_eq(it->lent_count, 0); /* release must come first */
	*count = 0;
	__atomic_fetch_add(&toy.reaps, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&toy.in_flight_sum, it->request_count, __ATOMIC_RELAXED);
	if (it->request_count > __atomic_load_n(&toy.in_flight_most, __ATOMIC_RELAXED))
		__atomic_store_n(&toy.in_flight_most, it->request_count, __ATOMIC_RELAXED);
	do_requests(session);
	if (it->done_count == 0 && timeout_ns > 0)
		sleep_for(100000);
	while (*count < most && it->done_count > 0) {
		uint32_t defect = enter(TOY_REAP, session, none, none, 0);
		if (defect == TOY_FAIL)
			return error_set(NB_FAIL, "the toy is broken");
		if (defect == TOY_SLOW)
			sleep_for(toy.sleep_ns);
		struct nb_completion done = take_done(it);
		if (done.value.data != NULL)
			it->lent[it->lent_count++] = (void *)(uintptr_t)done.value.data;
		if (defect == TOY_DROP)
			continue;
		out[(*count)++] = done;
		if (defect == TOY_REPEAT && *count < room)
			out[(*count)++] = done;
		if (defect == TOY_ODD)
			out[*count - 1].tag = TOY_REQUESTS * 2;
	}
	if (*count == 0 && it->lent_count > 0) /* of a dropped request */
		release(session);
	return NB_OK;
}

/* ---- transactions ---- */

static int
begin(struct nb_session *session, uint32_t flags)
{
	uint32_t defect = enter(TOY_BEGIN, session, none, none, flags);
	int rc;
	ck_assert(!own(session)->is_transaction);
	if (answers(defect, &rc))
		return rc;
	own(session)->is_transaction = true;
	return NB_OK;
}

static void
end(struct toy_session *session, bool is_kept)
{
	ck_assert(session->is_transaction);
	session->is_transaction = false;
	for (size_t i = 0; i < session->pending; i++) {
		uint8_t key[KEY_SIZE];
		if (is_kept)
			ck_assert_int_eq(store(session, key_of(session->keys[i], key),
						 (struct nb_slice){session->values[i],
							 session->sizes[i]}),
				NB_OK);
		free(session->values[i]);
	}
	session->pending = 0;
}

static int
commit(struct nb_session *session)
{
	uint32_t defect = enter(TOY_COMMIT, session, none, none, 0);
	int rc = NB_OK;
	bool is_lost = answers(defect, &rc);
	end(own(session), !is_lost);
	return rc;
}

static void
abort_it(struct nb_session *session)
{
	enter(TOY_ABORT, session, none, none, 0);
	end(own(session), false);
}

/* ---- the engine ---- */

static int
open_counted(struct nb_db **out, const struct nb_open_args *args)
{
	int rc = right()->open(out, args);
	toy.open += rc == NB_OK;
	return rc;
}

static int
close_counted(struct nb_db *db)
{
	ck_assert_int_eq(__atomic_load_n(&toy.sessions, __ATOMIC_RELAXED), 0);
	toy.open--;
	return right()->close(db);
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	struct toy_session *session = calloc(1, sizeof(*session));
	session->id = id;
	int rc, opened = right()->session_open(&session->inner, db, id);
	ck_assert_int_eq(opened, NB_OK);
	*out = (struct nb_session *)(void *)session;
	uint32_t defect = enter(TOY_SESSION_OPEN, *out, none, none, 0);
	if (answers(defect, &rc)) {
		ck_assert_int_eq(right()->session_close(session->inner), NB_OK);
		free(session);
		return rc;
	}
	__atomic_add_fetch(&toy.sessions, 1, __ATOMIC_RELAXED);
	return NB_OK;
}

static int
session_close(struct nb_session *session)
{
	uint32_t defect = enter(TOY_SESSION_CLOSE, session, none, none, 0);
	ck_assert(!own(session)->is_transaction);
	for (do_requests(session); own(session)->done_count > 0;)
		free((void *)(uintptr_t)take_done(own(session)).value.data);
	int rc, closed = right()->session_close(own(session)->inner);
	free(session);
	__atomic_sub_fetch(&toy.sessions, 1, __ATOMIC_RELAXED);
	return answers(defect, &rc) ? rc : closed;
}

/** Calls before the last toy_reset(), because a counter of an engine never decreases. */
static uint64_t calls_before[TOY_VERBS];

/** Report the toy's calls and the counters of `memory`. */
static void
stats(struct nb_db *db, nb_stat_emit emit, void *to)
{
	emit(to, "gets", "calls", NB_STAT_COUNTER, calls_before[TOY_GET] + toy_calls(TOY_GET));
	emit(to, "puts", "calls", NB_STAT_COUNTER, calls_before[TOY_PUT] + toy_calls(TOY_PUT));
	right()->stats(db, emit, to);
}

struct nb_engine
toy_engine(void)
{
	struct nb_engine engine = *right();
	engine.name = "toy";
	engine.open = open_counted;
	engine.close = close_counted;
	engine.session_open = session_open;
	engine.session_close = session_close;
	engine.get = get;
	engine.release = release;
	engine.put = put;
	engine.insert = insert;
	engine.del = del;
	engine.scan_open = scan_open;
	engine.scan_next = scan_next;
	engine.scan_close = scan_close;
	engine.batch = batch;
	engine.multi_get = multi_get;
	engine.begin = begin;
	engine.commit = commit;
	engine.abort = abort_it;
	engine.submit = submit;
	engine.reap = reap;
	engine.caps |= toy.copies ? NB_CAP_COPIES : 0;
	engine.caps |= toy.is_remote ? NB_CAP_REMOTE : 0;
	engine.stats = stats;
	return engine;
}

void
toy_reset(void)
{
	int sessions = toy.sessions, opened = toy.open;
	bool is_logging = toy.is_logging;
	for (int verb = 0; verb < TOY_VERBS; verb++)
		calls_before[verb] += toy.calls[verb];
	memset(toy.calls, 0, sizeof(toy.calls));
	toy.defect = TOY_RIGHT;
	toy.verb = 0;
	toy.nth = toy.times = toy.number = toy.calls_of_number = toy.hits = toy.logged = 0;
	toy.is_logging = is_logging;
	toy.in_flight_sum = toy.in_flight_most = toy.reaps = toy.submitted_most = 0;
	toy.sessions = sessions;
	toy.open = opened;
}

void
toy_break(uint32_t defect, uint32_t verb, uint64_t nth, uint64_t times)
{
	toy.defect = defect;
	toy.verb = verb;
	toy.nth = nth;
	toy.times = times;
	toy.hits = 0;
}

uint64_t
toy_calls(uint32_t verb)
{
	return __atomic_load_n(&toy.calls[verb], __ATOMIC_RELAXED);
}
