/* SPDX-License-Identifier: BSD-2-Clause */
#include "contest.h"

#include <sched.h>
#include <stdlib.h>

#include "history.h"
#include "plugin_host.h"
#include "racing.h"
#include "unit.h"

enum { KEYS = 12, THREADS = 8, OPERATIONS = 250 };

struct contest {
	const struct contest_subject *subject;
	unsigned keys;
	uint64_t salt;
	uint64_t clock; /* atomic */
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
key_of(const struct contest *contest, uint8_t *room, unsigned number)
{
	return contest->subject->key(room, contest->subject->format, number);
}

struct nb_slice
contest_value(
	const struct contest_subject *subject, uint8_t *room, uint64_t *random, uint64_t mark)
{
	size_t size = subject->values[rig_random(random, CONTEST_SIZES)];

	rig_fill(room, size, mark);
	return slice_of(room, size);
}

struct nb_session *
contest_session(const struct contest_subject *subject, unsigned id)
{
	struct nb_session *session;
	int rc = subject->verbs->session_open(&session, subject->db, id);

	ck_assert_msg(rc == NB_OK, "%s", host_failure);
	return session;
}

void
contest_end_session(const struct contest_subject *subject, struct nb_session *session)
{
	ck_assert_int_eq(subject->verbs->session_close(session), NB_OK);
}

static bool
do_operation(const struct contest_subject *subject, struct nb_session *session,
	struct operation *operation, struct nb_slice key, struct nb_slice value)
{
	int rc;

	switch (operation->verb) {
	case VERB_PUT:
		rc = subject->verbs->put(session, key, value);
		break;
	case VERB_INSERT:
		rc = subject->verbs->insert(session, key, value);
		break;
	case VERB_DEL:
		rc = subject->verbs->del(session, key);
		break;
	default:
		rc = subject->verbs->get(session, key, &value);
		operation->value = HISTORY_ABSENT;
		if (rc == NB_OK) {
			ck_assert(rig_is_whole(value, &operation->value));
			subject->verbs->release(session);
		}
	}
	ck_assert_msg(rc >= 0, "%s", host_failure);
	return rc == NB_OK;
}

/*
 * Gets three keys at once. The history has a separate operation for each key, with the same
 * begin and end.
 */
static void
get_three(struct contest *contest, struct nb_session *session, unsigned id, unsigned i,
	unsigned number)
{
	const struct contest_subject *subject = contest->subject;
	uint8_t room[3][CONTEST_KEY_MAX];
	struct nb_slice keys[3], values[3];
	int32_t answers[3];
	uint64_t begin, end;

	for (unsigned j = 0; j < 3; j++)
		keys[j] = key_of(contest, room[j], (number + j) % contest->keys);
	begin = tick(contest);
	ck_assert_int_eq(subject->verbs->multi_get(session, keys, 3, values, answers), NB_OK);
	end = tick(contest);
	for (unsigned j = 0; j < 3; j++) {
		struct operation *operation = &contest->log[id][i + j].operation;

		contest->log[id][i + j].key = (number + j) % contest->keys;
		*operation = (struct operation){.begin = begin,
			.end = end,
			.thread = id,
			.verb = VERB_GET,
			.is_done = answers[j] == NB_OK};
		if (operation->is_done)
			ck_assert(rig_is_whole(values[j], &operation->value));
	}
	subject->verbs->release(session);
}

static void
contend(void *to, unsigned id)
{
	static const enum verb verbs[] = {VERB_PUT, VERB_INSERT, VERB_INSERT, VERB_DEL,
		VERB_DEL, VERB_DEL, VERB_GET, VERB_GET};
	struct contest *contest = to;
	const struct contest_subject *subject = contest->subject;
	struct nb_session *session = contest_session(subject, id);
	uint64_t random = rig_seed(contest->salt * HISTORY_THREADS + id);
	uint8_t key[CONTEST_KEY_MAX], value[CONTEST_VALUE_MAX];

	for (unsigned i = 0; i < OPERATIONS; i++) {
		struct operation *operation = &contest->log[id][i].operation;
		unsigned number = (unsigned)rig_random(&random, contest->keys);
		uint64_t mark = (uint64_t)(id + 1) << 32 | i;
		struct nb_slice bytes = contest_value(subject, value, &random, mark);

		contest->log[id][i].key = number;
		*operation = (struct operation){.thread = id,
			.verb = verbs[rig_random(&random, sizeof(verbs) / sizeof(verbs[0]))],
			.value = mark};
		if (rig_random(&random, 16) == 0)
			sched_yield();
		if (operation->verb == VERB_GET && i % 2 == 0 && i + 3 <= OPERATIONS) {
			get_three(contest, session, id, i, number);
			i += 2;
			continue;
		}
		operation->begin = tick(contest);
		operation->is_done = do_operation(
			subject, session, operation, key_of(contest, key, number), bytes);
		operation->end = tick(contest);
	}
	contest_end_session(subject, session);
}

/* Checks the history of one key, with its final value. Deletes the key for the next round. */
static void
judge(struct contest *contest, struct nb_session *session, unsigned threads, unsigned number)
{
	static struct operation operations[THREADS * OPERATIONS];
	const struct contest_subject *subject = contest->subject;
	struct operation last = {.verb = VERB_GET}, deletion = {.verb = VERB_DEL};
	const struct operation *culprit;
	size_t count = 0;
	uint8_t room[CONTEST_KEY_MAX];
	struct nb_slice key = key_of(contest, room, number);

	for (unsigned id = 0; id < threads; id++)
		for (unsigned i = 0; i < OPERATIONS; i++)
			if (contest->log[id][i].key == number)
				operations[count++] = contest->log[id][i].operation;
	do_operation(subject, session, &last, key, slice_of(NULL, 0));
	ck_assert_msg(history_is_linearizable(operations, count, last.value, &culprit),
		"%s, key %u of %u: no order explains verb %d of thread %u, begun at %lu",
		subject->name, number, contest->keys, culprit == NULL ? -1 : (int)culprit->verb,
		culprit == NULL ? 0 : culprit->thread,
		culprit == NULL ? 0 : (unsigned long)culprit->begin);
	do_operation(subject, session, &deletion, key, slice_of(NULL, 0));
}

static void
contest_round(struct contest *contest, unsigned threads)
{
	const struct contest_subject *subject = contest->subject;

	rig_run(threads, contend, contest);
	subject->check(subject->to, -1);
	struct nb_session *session = contest_session(subject, 0);
	for (unsigned number = 0; number < contest->keys; number++)
		judge(contest, session, threads, number);
	contest_end_session(subject, session);
	subject->check(subject->to, 0);
}

void
contest_run(const struct contest_subject *subject, unsigned rounds, uint64_t salt)
{
	struct contest *contest = calloc(1, sizeof(*contest));
	uint64_t random = rig_seed(salt);

	ck_assert_ptr_nonnull(contest);
	contest->subject = subject;
	for (unsigned round = 0; round < rounds; round++) {
		contest->keys = 3 + (unsigned)rig_random(&random, KEYS - 2);
		contest->salt = salt * 1000 + round;
		contest_round(contest, 4 + (unsigned)rig_random(&random, THREADS - 3));
	}
	free(contest);
}
