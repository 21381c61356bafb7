/* SPDX-License-Identifier: BSD-2-Clause */
#include "crowd.h"

#include <sched.h>

#include "plugin_host.h"
#include "racing.h"
#include "unit.h"

/* Each test uses those that it needs. */
struct crowd {
	struct contest_subject *subject;
	unsigned working; /* threads that have not finished their operations; atomic */
	uint64_t *sums;   /* by key; atomic */
	uint64_t *marks;  /* by key; 0: no record. Only the key's writer changes it */
	size_t *sizes;    /* of these values */
};

static unsigned
less(const struct contest_subject *subject, unsigned count)
{
	return subject->less == 0 ? count : count / subject->less;
}

static struct nb_slice
key_at(const struct crowd *crowd, uint8_t *room, uint64_t number)
{
	return crowd->subject->key(room, crowd->subject->format, number);
}

static void
check(const struct crowd *crowd, int64_t records)
{
	crowd->subject->check(crowd->subject->to, records);
}

static bool
reopen(const struct crowd *crowd)
{
	struct contest_subject *subject = crowd->subject;

	if (subject->reopen == NULL)
		return false;
	subject->db = subject->reopen(subject->to);
	return true;
}

/* A mark contains the key's number and a random part, so a foreign value is detected. */
static uint64_t
mark_for(uint64_t number, uint64_t *random)
{
	return (number + 1) << 32 | rig_random(random, 1u << 31);
}

static void
is_marked(struct nb_slice value, uint64_t number)
{
	uint64_t mark;

	ck_assert(rig_is_whole(value, &mark));
	ck_assert_uint_eq(mark >> 32, number + 1);
}

static void
put_marked(const struct crowd *crowd, struct nb_session *session, uint64_t number,
	uint64_t *random)
{
	uint8_t room[CONTEST_KEY_MAX], value[CONTEST_VALUE_MAX];
	int rc = crowd->subject->verbs->put(session, key_at(crowd, room, number),
		contest_value(crowd->subject, value, random, mark_for(number, random)));

	ck_assert_msg(rc == NB_OK, "%s", host_failure);
}

/* Returns NB_OK or NB_NOT_FOUND. */
static int
del_number(const struct crowd *crowd, struct nb_session *session, uint64_t number)
{
	uint8_t room[CONTEST_KEY_MAX];
	int rc = crowd->subject->verbs->del(session, key_at(crowd, room, number));

	ck_assert_msg(rc >= 0, "%s", host_failure);
	return rc;
}

static bool
others_work(const struct crowd *crowd)
{
	return __atomic_load_n(&crowd->working, __ATOMIC_RELAXED) > 0;
}

static void
end_work(struct crowd *crowd)
{
	__atomic_sub_fetch(&crowd->working, 1, __ATOMIC_RELAXED);
}

/* --- additions --- */

enum { ADD_KEYS = 5, ADD_THREADS = 8, ADDITIONS = 1200 };

static void
add_to_all(void *to, unsigned id)
{
	struct crowd *crowd = to;
	const struct contest_subject *subject = crowd->subject;
	struct nb_session *session = contest_session(subject, id);
	uint64_t random = rig_seed(id);
	uint8_t room[CONTEST_KEY_MAX], value[CONTEST_VALUE_MAX];

	for (unsigned i = 0; i < less(subject, ADDITIONS); i++) {
		unsigned which = (unsigned)rig_random(&random, ADD_KEYS);
		uint64_t operand = rig_random(&random, 1ull << 62);
		int rc = subject->verbs->merge(
			session, key_at(crowd, room, which * 10), NB_MERGE_ADD_U64, operand);

		ck_assert_msg(rc == NB_OK, "%s", host_failure);
		__atomic_add_fetch(&crowd->sums[which], operand, __ATOMIC_RELAXED);
		struct nb_slice key = key_at(crowd, room, which * 10 + 1 + id);
		rc = i % 2 == 0 ? subject->verbs->put(session, key,
					  contest_value(subject, value, &random, i + 1))
				: subject->verbs->del(session, key);
		ck_assert_msg(rc >= 0, "%s", host_failure);
	}
	contest_end_session(subject, session);
}

static void
sums_are_there(const struct crowd *crowd)
{
	const struct contest_subject *subject = crowd->subject;
	struct nb_session *session = contest_session(subject, 0);
	uint8_t room[CONTEST_KEY_MAX];
	struct nb_slice value;

	for (unsigned which = 0; which < ADD_KEYS; which++) {
		ck_assert_int_eq(
			subject->verbs->get(session, key_at(crowd, room, which * 10), &value),
			NB_OK);
		ck_assert_uint_eq(value.size, sizeof(uint64_t));
		ck_assert_mem_eq(value.data, &crowd->sums[which], value.size);
		subject->verbs->release(session);
	}
	contest_end_session(subject, session);
	check(crowd, -1);
}

void
crowd_add(struct contest_subject *subject)
{
	uint64_t sums[ADD_KEYS] = {0};
	struct crowd crowd = {.subject = subject, .sums = sums};

	rig_run(ADD_THREADS, add_to_all, &crowd);
	sums_are_there(&crowd);
	if (reopen(&crowd))
		sums_are_there(&crowd);
}

/* --- scans --- */

/* The even keys of 0..SCAN_KEYS - 1 exist throughout. */
enum { SCAN_KEYS = 160, SCANS = 60, SCANNERS = 2, SCAN_THREADS = 5 };

/* Scan from `from` to the end, in either direction. */
static void
scan_from(const struct crowd *crowd, struct nb_session *session, long from, bool is_backward)
{
	const struct contest_subject *subject = crowd->subject;
	long step = is_backward ? -1 : 1, expected = from + from % 2 * step;
	uint8_t room[CONTEST_KEY_MAX];
	struct nb_scan_args args = {.size = sizeof(args),
		.flags = is_backward ? NB_SCAN_BACKWARD : 0,
		.from = key_at(crowd, room, (uint64_t)from)};
	struct nb_slice key, value;
	long before = from - step;

	ck_assert_int_eq(subject->verbs->scan_open(session, &args), NB_OK);
	while (subject->verbs->scan_next(session, &key, &value) == NB_OK) {
		long number = (long)subject->number(key, subject->format, SCAN_KEYS);

		ck_assert_msg((number - before) * step > 0, "%s: %ld after %ld", subject->name,
			number, before);
		ck_assert_msg((expected - number) * step >= 0, "%s: %ld, but not %ld",
			subject->name, number, expected);
		is_marked(value, (uint64_t)number);
		if (number == expected)
			expected += 2 * step;
		before = number;
	}
	ck_assert_int_eq(expected, is_backward ? -2 : SCAN_KEYS);
	ck_assert_int_eq(subject->verbs->scan_close(session), NB_OK);
}

static void
scan_or_write(void *to, unsigned id)
{
	struct crowd *crowd = to;
	struct nb_session *session = contest_session(crowd->subject, id);
	uint64_t random = rig_seed(id);

	if (id < SCANNERS) {
		for (unsigned i = 0; i < less(crowd->subject, SCANS); i++)
			scan_from(crowd, session, (long)rig_random(&random, SCAN_KEYS),
				rig_random(&random, 2) == 0);
		end_work(crowd);
	}
	while (others_work(crowd)) {
		/* Runs of neighbours fill leaves and empty them. */
		uint64_t first = rig_random(&random, SCAN_KEYS - 16) | 1;
		bool is_delete = rig_random(&random, 2) == 0;

		for (uint64_t number = first; number < first + 16; number += 2) {
			if (is_delete)
				del_number(crowd, session, number);
			else
				put_marked(crowd, session, number, &random);
			if (rig_random(&random, 4) == 0)
				put_marked(crowd, session, number - 1, &random);
		}
	}
	contest_end_session(crowd->subject, session);
}

void
crowd_scan(struct contest_subject *subject)
{
	struct crowd crowd = {.subject = subject, .working = SCANNERS};
	struct nb_session *session = contest_session(subject, 0);
	uint64_t random = rig_seed(1);

	for (uint64_t number = 0; number < SCAN_KEYS; number += 2)
		put_marked(&crowd, session, number, &random);
	contest_end_session(subject, session);
	rig_run(SCAN_THREADS, scan_or_write, &crowd);
	check(&crowd, -1);
}

/* --- writers --- */

enum { WRITERS = 6, WRITES = 2000, WRITER_KEYS = 240, PHASE = 200 };

static void
own_is_known(const struct crowd *crowd, struct nb_session *session, uint64_t number)
{
	uint8_t room[CONTEST_KEY_MAX];
	struct nb_slice value;
	uint64_t mark;
	int rc = crowd->subject->verbs->get(session, key_at(crowd, room, number), &value);

	ck_assert_int_eq(rc, crowd->marks[number] != 0 ? NB_OK : NB_NOT_FOUND);
	if (rc != NB_OK)
		return;
	ck_assert_uint_eq(value.size, crowd->sizes[number]);
	ck_assert(rig_is_whole(value, &mark));
	ck_assert_uint_eq(mark, crowd->marks[number]);
	crowd->subject->verbs->release(session);
}

/* Write keys that no other thread writes, and check them. In some phases, delete nearly all. */
static void
write_own(void *to, unsigned id)
{
	struct crowd *crowd = to;
	const struct contest_subject *subject = crowd->subject;
	struct nb_session *session = contest_session(subject, id);
	uint64_t random = rig_seed(id);
	uint8_t room[CONTEST_KEY_MAX], bytes[CONTEST_VALUE_MAX];

	for (unsigned i = 0; i < less(subject, WRITES); i++) {
		uint64_t number = rig_random(&random, WRITER_KEYS / WRITERS) * WRITERS + id;
		uint64_t mark = mark_for(number, &random) | 1;
		struct nb_slice value = contest_value(subject, bytes, &random, mark);
		bool is_growing = i / PHASE % 2 == 0;

		own_is_known(crowd, session, number);
		if (rig_random(&random, 8) < (is_growing ? 2 : 7)) {
			ck_assert_int_eq(del_number(crowd, session, number),
				crowd->marks[number] != 0 ? NB_OK : NB_NOT_FOUND);
			crowd->marks[number] = 0;
			continue;
		}
		int rc = subject->verbs->put(session, key_at(crowd, room, number), value);
		ck_assert_msg(rc == NB_OK, "%s", host_failure);
		crowd->marks[number] = mark;
		crowd->sizes[number] = value.size;
	}
	contest_end_session(subject, session);
}

static void
all_is_known(const struct crowd *crowd)
{
	struct nb_session *session = contest_session(crowd->subject, 0);
	int64_t records = 0;

	for (uint64_t number = 0; number < WRITER_KEYS; number++) {
		own_is_known(crowd, session, number);
		records += crowd->marks[number] != 0;
	}
	contest_end_session(crowd->subject, session);
	check(crowd, records);
}

void
crowd_write(struct contest_subject *subject)
{
	uint64_t marks[WRITER_KEYS] = {0};
	size_t sizes[WRITER_KEYS];
	struct crowd crowd = {.subject = subject, .marks = marks, .sizes = sizes};

	rig_run(WRITERS, write_own, &crowd);
	all_is_known(&crowd);
	if (reopen(&crowd))
		all_is_known(&crowd);
}

enum { INSERTERS = 4 };

static void
insert_in_order(void *to, unsigned id)
{
	struct crowd *crowd = to;
	const struct contest_subject *subject = crowd->subject;
	struct nb_session *session = contest_session(subject, id);
	uint64_t random = rig_seed(id), inserts = less(subject, WRITES);
	uint8_t room[CONTEST_KEY_MAX], value[CONTEST_VALUE_MAX];
	struct nb_slice found;

	for (uint64_t i = 0; i < inserts; i++) {
		uint64_t number = 2 * i + id % 2;

		if (id >= 2) /* descending */
			number = 8 * inserts - number;
		struct nb_slice key = key_at(crowd, room, number);
		ck_assert_int_eq(subject->verbs->insert(session, key,
					 contest_value(subject, value, &random, number + 1)),
			NB_OK);
		/* The next split moves this record. */
		ck_assert_int_eq(subject->verbs->get(session, key, &found), NB_OK);
		subject->verbs->release(session);
	}
	contest_end_session(subject, session);
}

void
crowd_insert_in_order(struct contest_subject *subject)
{
	struct crowd crowd = {.subject = subject};

	rig_run(INSERTERS, insert_in_order, &crowd);
	check(&crowd, (int64_t)INSERTERS * less(subject, WRITES));
}

/* --- sessions and loans --- */

enum { VISITORS = 3, VISITS = 24, HOST_KEYS = 40 };

static void
visit(const struct crowd *crowd, unsigned id, uint64_t *random)
{
	const struct nb_engine *verbs = crowd->subject->verbs;
	struct nb_session *session = contest_session(crowd->subject, id);
	uint8_t room[CONTEST_KEY_MAX], first[CONTEST_VALUE_MAX];
	struct nb_slice value;

	for (unsigned i = 0; i < 8; i++) {
		uint64_t number = rig_random(random, HOST_KEYS);

		if (rig_random(random, 4) == 0)
			del_number(crowd, session, number);
		if (verbs->get(session, key_at(crowd, room, number), &value) != NB_OK)
			continue;
		memcpy(first, value.data, value.size);
		for (unsigned j = 0; j < 2; j++) {
			sched_yield();
			ck_assert(memcmp(first, value.data, value.size) == 0);
		}
		is_marked(value, number);
		verbs->release(session);
	}
	contest_end_session(crowd->subject, session);
}

static void
visit_or_write(void *to, unsigned id)
{
	struct crowd *crowd = to;
	uint64_t random = rig_seed(id);

	if (id < VISITORS) {
		for (unsigned i = 0; i < less(crowd->subject, VISITS); i++)
			visit(crowd, id, &random);
		end_work(crowd);
		return;
	}
	struct nb_session *session = contest_session(crowd->subject, id);
	while (others_work(crowd)) {
		put_marked(crowd, session, rig_random(&random, HOST_KEYS), &random);
		del_number(crowd, session, rig_random(&random, HOST_KEYS));
	}
	contest_end_session(crowd->subject, session);
}

void
crowd_visit(struct contest_subject *subject)
{
	struct crowd crowd = {.subject = subject, .working = VISITORS};

	rig_run(VISITORS + 2, visit_or_write, &crowd);
	check(&crowd, -1);
}
