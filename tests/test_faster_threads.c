/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine faster with many sessions and a log larger than its memory. During the operations,
 * the regions of the log move and the index grows. No test depends on time.
 */
#include "faster_rig.h"
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- linearizability --- */

enum {
	KEYS = 6,
	THREADS = 4,
	OPERATIONS = 240, /* of each thread, on these keys */
	FILLER = 600,     /* bytes of other values, whose puts move the regions of the log */
	BURST = 60,       /* such values move a record from the tail to storage */
	VALUE_MAX = FILLER,
	SIZES = 3
};

/* Sizes of keys and values. has_numbers: all values have 8 bytes, so merge can add. */
static const struct format {
	const char *name;
	size_t key;
	size_t values[SIZES];
	bool has_numbers;
	uint64_t reads, limit; /* the options `reads` and `log_limit` */
} formats[] = {
	{"small", 8, {8, 8, 8}, true, 0, 0},
	{"sized", 13, {8, 8, 8}, true, 2, 0},
	{"mixed", 8, {8, 40, 600}, false, 0, 0},
	{"in-place", 13, {100, 100, 100}, false, 2, 0},
	{"small, compacted", 8, {8, 8, 8}, true, 2, 160 << 10},
	{"mixed, compacted", 8, {8, 40, 600}, false, 0, 160 << 10},
};

struct contest {
	struct rig rig;
	const struct format *format;
	uint64_t salt, clock; /* atomic */
	struct {
		struct operation operation;
		unsigned key;
	} log[THREADS][OPERATIONS];
};

static uint64_t
tick(struct contest *contest)
{
	return __atomic_fetch_add(&contest->clock, 1, __ATOMIC_SEQ_CST);
}

static struct nb_slice
key_of_number(uint8_t *room, const struct format *format, uint64_t number)
{
	memset(room, 'k', format->key);
	memcpy(room, &number, sizeof(number));
	return (struct nb_slice){room, format->key};
}

static int
do_verb(struct nb_session *session, struct operation *operation, struct nb_slice key,
	struct nb_slice value, struct nb_slice *found)
{
	switch (operation->verb) {
	case VERB_PUT:
		return rig_engine->put(session, key, value);
	case VERB_INSERT:
		return rig_engine->insert(session, key, value);
	case VERB_DEL:
		return rig_engine->del(session, key);
	case VERB_ADD:
		return rig_engine->merge(session, key, NB_MERGE_ADD_U64, operation->value);
	default:
		return rig_engine->get(session, key, found);
	}
}

static void
note_answer(struct operation *operation, int rc, struct nb_slice found)
{
	ck_assert_msg(rc >= 0, "%s", host_failure);
	operation->is_done = rc == NB_OK;
	if (operation->verb != VERB_GET)
		return;
	operation->value = HISTORY_ABSENT;
	if (rc == NB_OK)
		ck_assert(rig_is_whole(found, &operation->value));
}

/* Operations on different keys, in flight at the same time. */
static void
do_together(struct contest *contest, struct nb_session *session, unsigned id, unsigned from,
	unsigned count)
{
	static const uint32_t verbs[] = {[VERB_PUT] = NB_REQ_PUT,
		[VERB_INSERT] = NB_REQ_INSERT,
		[VERB_DEL] = NB_REQ_DEL,
		[VERB_GET] = NB_REQ_GET,
		[VERB_ADD] = NB_REQ_MERGE};
	struct nb_request requests[KEYS];
	struct nb_completion done[KEYS];
	uint8_t keys[KEYS][16], values[KEYS][VALUE_MAX];
	uint64_t begin = tick(contest);
	size_t taken, left = count;

	for (unsigned i = 0; i < count; i++) {
		struct operation *operation = &contest->log[id][from + i].operation;
		size_t size = contest->format->values[operation->value % SIZES];

		operation->begin = begin;
		requests[i] = (struct nb_request){.tag = i,
			.key = key_of_number(
				keys[i], contest->format, contest->log[id][from + i].key),
			.value = rig_value(values[i], size, operation->value),
			.operand = operation->value,
			.verb = verbs[operation->verb]};
	}
	int rc = rig_engine->submit(session, requests, count, &taken);
	ck_assert_msg(rc == NB_PENDING, "%s", host_failure);
	ck_assert_uint_eq(taken, count);
	while (left > 0) {
		size_t some;

		ck_assert_int_eq(rig_engine->reap(session, done, KEYS, &some, 1000000), NB_OK);
		for (size_t i = 0; i < some; i++) {
			struct operation *operation =
				&contest->log[id][from + done[i].tag].operation;

			operation->end = tick(contest);
			note_answer(operation, done[i].answer, done[i].value);
		}
		left -= some;
	}
}

static void
do_alone(struct contest *contest, struct nb_session *session, unsigned id, unsigned i)
{
	struct operation *operation = &contest->log[id][i].operation;
	uint8_t key[16], value[VALUE_MAX];
	size_t size = contest->format->values[operation->value % SIZES];
	struct nb_slice found;

	operation->begin = tick(contest);
	int rc = do_verb(session, operation,
		key_of_number(key, contest->format, contest->log[id][i].key),
		rig_value(value, size, operation->value), &found);
	operation->end = tick(contest);
	note_answer(operation, rc, found);
}

static void
plan(struct contest *contest, unsigned id, uint64_t *random)
{
	static const enum verb with_numbers[] = {VERB_ADD, VERB_ADD, VERB_ADD, VERB_PUT,
		VERB_INSERT, VERB_DEL, VERB_GET, VERB_GET};
	static const enum verb others[] = {VERB_PUT, VERB_PUT, VERB_PUT, VERB_INSERT,
		VERB_INSERT, VERB_DEL, VERB_GET, VERB_GET};
	const enum verb *verbs = contest->format->has_numbers ? with_numbers : others;
	unsigned first = (unsigned)rig_random(random, KEYS);

	for (unsigned i = 0; i < OPERATIONS; i++) {
		if (i % KEYS == 0)
			first = (unsigned)rig_random(random, KEYS);
		contest->log[id][i].key = (first + i) % KEYS; /* KEYS successive ones differ */
		contest->log[id][i].operation = (struct operation){.thread = id,
			.verb = verbs[rig_random(random, 8)],
			.is_blind = true,
			.value = (uint64_t)(id + 1) << 32 | (i + 1)};
	}
}

static void
fill(struct contest *contest, struct nb_session *session, uint64_t *random, unsigned id)
{
	uint8_t key[16], value[VALUE_MAX];

	uint64_t count = rig_random(random, 16) == 0 ? BURST : rig_random(random, 4);

	for (uint64_t i = 0; i < count; i++) {
		uint64_t most = contest->format->limit != 0 ? 40 : 3000;
		uint64_t number = 1000 + rig_random(random, most) * THREADS + id;
		int rc = rig_engine->put(session, key_of_number(key, contest->format, number),
			rig_value(value, FILLER, number));
		ck_assert_msg(rc == NB_OK, "%s", host_failure);
	}
}

static void
contend(void *to, unsigned id)
{
	struct contest *contest = to;
	struct nb_session *session = rig_session(&contest->rig, id);
	uint64_t random = rig_seed(contest->salt * HISTORY_THREADS + id);

	plan(contest, id, &random);
	for (unsigned i = 0; i < OPERATIONS;) {
		unsigned some = 1 + (unsigned)rig_random(&random, KEYS - i % KEYS);

		fill(contest, session, &random, id);
		if (some > 1)
			do_together(contest, session, id, i, some);
		else
			do_alone(contest, session, id, i);
		i += some;
	}
	rig_end_session(session);
}

static void
judge(struct contest *contest, struct nb_session *session, unsigned number)
{
	static struct operation operations[THREADS * OPERATIONS];
	struct operation last = {.verb = VERB_GET};
	const struct operation *culprit;
	struct nb_slice found;
	size_t count = 0;
	uint8_t key[16];

	for (unsigned id = 0; id < THREADS; id++)
		for (unsigned i = 0; i < OPERATIONS; i++)
			if (contest->log[id][i].key == number)
				operations[count++] = contest->log[id][i].operation;
	note_answer(&last,
		do_verb(session, &last, key_of_number(key, contest->format, number),
			(struct nb_slice){0}, &found),
		found);
	ck_assert_msg(history_is_linearizable(operations, count, last.value, &culprit),
		"%s, key %u: no order explains verb %d of thread %u, begun at %lu",
		contest->format->name, number, culprit == NULL ? -1 : (int)culprit->verb,
		culprit == NULL ? 0 : culprit->thread,
		culprit == NULL ? 0 : (unsigned long)culprit->begin);
}

static void
judge_all(struct contest *contest)
{
	struct nb_session *session = rig_session(&contest->rig, 0);

	for (unsigned number = 0; number < KEYS; number++)
		judge(contest, session, number);
	rig_end_session(session);
}

TEST_EACH(every_history_of_a_key_is_linearizable, UNIT_COUNT(formats))
{
	static struct contest contest;

	contest.format = &formats[_i];
	contest.salt = (uint64_t)_i;
	contest.rig = (struct rig){.inflight = KEYS,
		.names = {"reads", contest.format->limit != 0 ? "log_limit" : NULL},
		.values = {contest.format->reads, contest.format->limit}};
	rig_lets_meet = true;
	rig_open(&contest.rig);
	rig_run(THREADS, contend, &contest);
	judge_all(&contest);
	ck_assert_uint_gt(rig_stat(&contest.rig, "storage_reads"), 0);
	if (contest.format->limit == 0)
		rig_await(&contest.rig, "index_growths");
	else
		ck_assert_uint_gt(rig_stat(&contest.rig, "compacted"), 0);
	ck_assert_uint_gt(
		rig_stat(&contest.rig, "log"), rig_stat(&contest.rig, "log_in_memory"));
	rig_close(&contest.rig);
	rig_open(&contest.rig); /* the recovered records must also match */
	judge_all(&contest);
	rig_close(&contest.rig);
}

/* --- additions --- */

enum { ADD_KEYS = 5, ADDITIONS = 1500 };

struct adding {
	struct rig rig;
	uint64_t sums[ADD_KEYS]; /* atomic */
};

static void
add_to_all(void *to, unsigned id)
{
	struct adding *adding = to;
	struct nb_session *session = rig_session(&adding->rig, id);
	uint64_t random = rig_seed(id), key;

	for (unsigned i = 0; i < ADDITIONS; i++) {
		uint64_t operand = rig_random(&random, 1ull << 62);

		key = rig_random(&random, ADD_KEYS);
		__atomic_add_fetch(&adding->sums[key], operand, __ATOMIC_RELAXED);
		int rc = rig_engine->merge(session, (struct nb_slice){&key, sizeof(key)},
			NB_MERGE_ADD_U64, operand);
		ck_assert_msg(rc == NB_OK, "%s", host_failure);
		key = 1000 + rig_random(&random, 2000) * THREADS + id;
		rc = rig_engine->put(session, (struct nb_slice){&key, sizeof(key)},
			(struct nb_slice){&operand, sizeof(operand)});
		ck_assert_msg(rc == NB_OK, "%s", host_failure);
	}
	rig_end_session(session);
}

static void
sums_are_there(struct adding *adding)
{
	struct nb_session *session = rig_session(&adding->rig, 0);

	for (uint64_t key = 0; key < ADD_KEYS; key++) {
		struct nb_slice value;

		ck_assert_int_eq(
			rig_engine->get(session, (struct nb_slice){&key, sizeof(key)}, &value),
			NB_OK);
		ck_assert_uint_eq(value.size, sizeof(uint64_t));
		ck_assert_mem_eq(value.data, &adding->sums[key], value.size);
	}
	rig_end_session(session);
}

TEST(no_addition_of_many_sessions_is_lost)
{
	static struct adding adding;

	rig_lets_meet = true;
	rig_open(&adding.rig);
	rig_run(THREADS, add_to_all, &adding);
	sums_are_there(&adding);
	ck_assert_uint_gt(rig_stat(&adding.rig, "updates_in_place"), 0);
	ck_assert_uint_gt(rig_stat(&adding.rig, "updates_copied"), 0);
	rig_close(&adding.rig);
	rig_open(&adding.rig);
	sums_are_there(&adding);
	rig_close(&adding.rig);
}

/* --- new keys that all sessions add at the same time, while the index grows --- */

enum { NEW_KEYS = 4000 };

static void
add_one_to_each(void *to, unsigned id)
{
	struct rig *rig = to;
	struct nb_session *session = rig_session(rig, id);

	for (uint64_t key = 0; key < NEW_KEYS; key++) {
		int rc = rig_engine->merge(
			session, (struct nb_slice){&key, sizeof(key)}, NB_MERGE_ADD_U64, 1);
		ck_assert_msg(rc == NB_OK, "%s", host_failure);
	}
	rig_end_session(session);
}

TEST(first_additions_of_a_key_meet_in_one_record)
{
	struct rig rig = {0};

	rig_lets_meet = true;
	rig_open(&rig);
	rig_run(THREADS, add_one_to_each, &rig);
	struct nb_session *session = rig_session(&rig, 0);
	for (uint64_t key = 0; key < NEW_KEYS; key++) {
		struct nb_slice value;
		uint64_t sum = 0;

		ck_assert_int_eq(
			rig_engine->get(session, (struct nb_slice){&key, sizeof(key)}, &value),
			NB_OK);
		memcpy(&sum, value.data, sizeof(sum));
		ck_assert_uint_eq(sum, THREADS);
	}
	rig_end_session(session);
	rig_await(&rig, "index_growths");
	rig_close(&rig);
}

/* --- a cut of the log contains a prefix of the operations of each session --- */

enum { CUT_KEYS = 8, CUTS = 6, CUT_THREADS = 3 };

struct cutting {
	struct rig rig;
	bool is_over; /* atomic */
	unsigned ended;
};

/* Operation i of a session stores i under its key i % CUT_KEYS. */
static void
count_up(struct cutting *cutting, unsigned id)
{
	struct nb_session *session = rig_session(&cutting->rig, id);

	for (uint64_t i = 1; !__atomic_load_n(&cutting->is_over, __ATOMIC_RELAXED); i++) {
		uint64_t key = id * 100 + i % CUT_KEYS;
		int rc = rig_engine->put(session, (struct nb_slice){&key, sizeof(key)},
			(struct nb_slice){&i, sizeof(i)});

		ck_assert_msg(rc == NB_OK, "%s", host_failure);
		key = 1000 + id; /* alternating sizes, so each put appends */
		static const uint8_t bytes[40];
		rc = rig_engine->put(session, (struct nb_slice){&key, sizeof(key)},
			(struct nb_slice){bytes, 8 + i % 2 * 32});
		ck_assert_msg(rc == NB_OK, "%s", host_failure);
	}
	rig_end_session(session);
}

static void
copy_database(const char *to)
{
	char command[128];

	snprintf(command, sizeof(command), "mkdir %s && cp log %s && cp meta %s", to, to,
		to); /* meta last: it contains the size of the index */
	ck_assert_int_eq(system(command), 0);
}

/* For some c, each key of the session has the greatest of its numbers up to c. */
static void
is_prefix(struct nb_session *session, unsigned id)
{
	uint64_t least = UINT64_MAX, greatest = 0, there = 0;

	for (uint64_t k = 0; k < CUT_KEYS; k++) {
		uint64_t key = id * 100 + k, number;
		struct nb_slice value;
		int rc = rig_engine->get(session, (struct nb_slice){&key, sizeof(key)}, &value);

		ck_assert_int_ge(rc, 0);
		if (rc != NB_OK)
			continue;
		memcpy(&number, value.data, sizeof(number));
		ck_assert_uint_eq(number % CUT_KEYS, k);
		there++;
		least = number < least ? number : least;
		greatest = number > greatest ? number : greatest;
	}
	if (there != 0)
		ck_assert_msg(
			greatest - least == there - 1 && (there == CUT_KEYS || least == 1),
			"session %u: %lu numbers from %lu to %lu", id, (unsigned long)there,
			(unsigned long)least, (unsigned long)greatest);
}

static void
cut_or_count(void *to, unsigned id)
{
	struct cutting *cutting = to;
	char name[16];

	if (id > 0) {
		count_up(cutting, id);
		return;
	}
	for (unsigned i = 0; i < CUTS; i++) {
		int rc = rig_engine->checkpoint(cutting->rig.db);
		ck_assert_msg(rc == NB_OK, "%s", host_failure);
		snprintf(name, sizeof(name), "copy%u", i);
		copy_database(name);
	}
	__atomic_store_n(&cutting->is_over, true, __ATOMIC_RELAXED);
}

TEST(a_checkpoint_holds_a_prefix_of_each_session)
{
	static struct cutting cutting;
	uint64_t most = 0;

	rig_lets_meet = true;
	rig_open(&cutting.rig);
	rig_run(1 + CUT_THREADS, cut_or_count, &cutting);
	rig_close(&cutting.rig);
	for (unsigned i = 0; i < CUTS; i++) {
		struct rig copy = {0};
		char name[16];

		snprintf(name, sizeof(name), "copy%u", i);
		ck_assert_msg(rig_try_open(&copy, name) == NB_OK, "%s", host_failure);
		struct nb_session *session = rig_session(&copy, 0);
		for (unsigned id = 1; id <= CUT_THREADS; id++)
			is_prefix(session, id);
		rig_end_session(session);
		most = rig_stat(&copy, "index_entries") > most
			? rig_stat(&copy, "index_entries")
			: most;
		rig_close(&copy);
	}
	ck_assert_uint_gt(most, 0);
}
