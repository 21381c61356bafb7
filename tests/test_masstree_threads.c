/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many sessions use the tree at once. The nodes are small, so a few keys split, grow and remove
 * nodes all the time. Threads are delayed at points where they can meet. Most tests run once
 * for each format of keys. No test depends on time: a thread performs a number of operations,
 * or continues until others have finished theirs.
 */
#include "contest.h"
#include "masstree_rig.h"

#include <sched.h>

#ifdef RACY_TSAN
enum { LESS = 3 }; /* each memory access is ten times as slow */
#else
enum { LESS = 1 };
#endif

enum { FORMATS = 7 + (LEAF_SLOTS_MAX >= 10) };

static struct nb_db *
open_format(int i)
{
	struct nb_db *tree = rig_open(rig_format(i));

	rig_lets_meet = true;
	return tree;
}

/* --- linearizability --- */

static void *
contest_open(void *to, unsigned id)
{
	return rig_session(to, id);
}

static void
contest_close(void *session)
{
	mt_session_close(session);
}

CONTEST_VERBS(mt)

static struct nb_slice
contest_key(uint8_t *room, const void *format, uint64_t number)
{
	const struct rig_format *its = format;

	return its->key(room, number);
}

static void
contest_check(void *to, int64_t records)
{
	rig_check(to, records);
}

TEST_EACH(every_history_of_a_key_is_linearizable, FORMATS)
{
	const struct rig_format *format = rig_format(_i);
	struct nb_db *tree = open_format(_i);
	struct contest_subject subject = {format->name, contest_open, contest_close,
		CONTEST_VERB_NAMES, contest_key, format, {0}, contest_check, tree};

	memcpy(subject.values, format->values, sizeof(subject.values));
	contest_run(&subject, 12 / LESS, (uint64_t)_i);
	mt_close(tree);
}

/* --- additions --- */

enum { ADD_KEYS = 5, ADD_THREADS = 6, ADDITIONS = 1200 / LESS };

struct adding {
	struct nb_db *tree;
	const struct rig_format *format;
	uint64_t sums[ADD_KEYS]; /* atomic */
};

/* Other records between those keys are added and deleted, which changes the structure. */
static void
add_to_all(void *to, unsigned id)
{
	struct adding *adding = to;
	struct nb_session *session = rig_session(adding->tree, id);
	uint64_t random = rig_seed(id);
	uint8_t room[RIG_KEY_MAX], value[RIG_VALUE_MAX];

	for (unsigned i = 0; i < ADDITIONS; i++) {
		unsigned which = (unsigned)rig_random(&random, ADD_KEYS);
		uint64_t operand = rig_random(&random, 1ull << 62);
		struct nb_slice key = adding->format->key(room, which * 10);

		ck_assert_int_eq(mt_merge(session, key, NB_MERGE_ADD_U64, operand), NB_OK);
		__atomic_add_fetch(&adding->sums[which], operand, __ATOMIC_RELAXED);
		key = adding->format->key(room, which * 10 + 1 + id);
		int rc = i % 2 == 0
			? mt_put(session, key, rig_value(value, adding->format, &random, i + 1))
			: mt_del(session, key);
		ck_assert_int_ge(rc, 0);
	}
	mt_session_close(session);
}

TEST_EACH(no_addition_of_many_sessions_is_lost, FORMATS)
{
	static struct adding adding;
	uint8_t room[RIG_KEY_MAX];
	struct nb_slice value;

	adding.format = rig_format(_i);
	adding.tree = open_format(_i);
	rig_run(ADD_THREADS, add_to_all, &adding);
	rig_check(adding.tree, -1);
	struct nb_session *session = rig_session(adding.tree, 0);
	for (unsigned which = 0; which < ADD_KEYS; which++) {
		struct nb_slice key = adding.format->key(room, which * 10);
		ck_assert_int_eq(mt_get(session, key, &value), NB_OK);
		ck_assert_uint_eq(value.size, sizeof(uint64_t));
		ck_assert_mem_eq(value.data, &adding.sums[which], value.size);
		mt_release(session);
	}
	mt_session_close(session);
	mt_close(adding.tree);
}

/* --- scans --- */

/* Of the keys 0..SCAN_KEYS - 1, the even ones exist during the whole test. */
enum { SCAN_KEYS = 120, SCANS = 60 / LESS, SCANNERS = 2, SCAN_THREADS = 4 };

struct scanning {
	struct nb_db *tree;
	const struct rig_format *format;
	unsigned scanners; /* scanners that are not done; atomic */
};

/* The mark of a value contains the key's number plus 1, so a foreign or unset value is detected. */
static void
put_marked(struct nb_session *session, const struct rig_format *format, uint64_t number,
	uint64_t *random)
{
	uint8_t room[RIG_KEY_MAX], value[RIG_VALUE_MAX];
	uint64_t mark = (number + 1) << 32 | rig_random(random, 1u << 31);

	ck_assert_int_eq(mt_put(session, format->key(room, number),
				 rig_value(value, format, random, mark)),
		NB_OK);
}

static void
is_marked(struct nb_slice value, uint64_t number)
{
	uint64_t mark;

	ck_assert(rig_is_whole(value, &mark));
	ck_assert_uint_eq(mark >> 32, number + 1);
}

/* Scan from key `from` to the end in either direction, and check the records. */
static void
scan_from(struct scanning *scanning, struct nb_session *session, long from, bool is_backward)
{
	long step = is_backward ? -1 : 1, expected = from + from % 2 * step;
	uint8_t room[RIG_KEY_MAX];
	struct nb_scan_args args = {.size = sizeof(args),
		.flags = is_backward ? NB_SCAN_BACKWARD : 0,
		.from = scanning->format->key(room, (uint64_t)from)};
	struct nb_slice key, value;
	long before = from - step;

	ck_assert_int_eq(mt_scan_open(session, &args), NB_OK);
	while (mt_scan_next(session, &key, &value) == NB_OK) {
		long number = (long)rig_number(scanning->format, key, SCAN_KEYS);

		ck_assert_msg((number - before) * step > 0, "%s: %ld after %ld",
			scanning->format->name, number, before);
		ck_assert_msg((expected - number) * step >= 0, "%s: %ld, but not %ld",
			scanning->format->name, number, expected);
		is_marked(value, (uint64_t)number);
		if (number == expected)
			expected += 2 * step;
		before = number;
	}
	ck_assert_int_eq(expected, is_backward ? -2 : SCAN_KEYS);
	ck_assert_int_eq(mt_scan_close(session), NB_OK);
}

static void
scan_or_write(void *to, unsigned id)
{
	struct scanning *scanning = to;
	struct nb_session *session = rig_session(scanning->tree, id);
	uint64_t random = rig_seed(id);
	uint8_t room[RIG_KEY_MAX];

	if (id < SCANNERS) {
		for (unsigned i = 0; i < SCANS; i++)
			scan_from(scanning, session, (long)rig_random(&random, SCAN_KEYS),
				rig_random(&random, 2) == 0);
		__atomic_sub_fetch(&scanning->scanners, 1, __ATOMIC_RELAXED);
	}
	while (__atomic_load_n(&scanning->scanners, __ATOMIC_RELAXED) > 0) {
		/* Write runs of keys, so that leaves become full and empty. */
		uint64_t first = rig_random(&random, SCAN_KEYS - 16) | 1;
		bool is_delete = rig_random(&random, 2) == 0;

		for (uint64_t number = first; number < first + 16; number += 2) {
			if (is_delete)
				mt_del(session, scanning->format->key(room, number));
			else
				put_marked(session, scanning->format, number, &random);
			if (rig_random(&random, 4) == 0)
				put_marked(session, scanning->format, number - 1, &random);
		}
	}
	mt_session_close(session);
}

TEST_EACH(scans_return_stable_records_once_and_in_order, FORMATS)
{
	static struct scanning scanning;
	uint64_t random = rig_seed((uint64_t)_i);

	scanning.format = rig_format(_i);
	scanning.tree = open_format(_i);
	scanning.scanners = SCANNERS;
	struct nb_session *session = rig_session(scanning.tree, 0);
	for (uint64_t number = 0; number < SCAN_KEYS; number += 2)
		put_marked(session, scanning.format, number, &random);
	mt_session_close(session);
	rig_run(SCAN_THREADS, scan_or_write, &scanning);
	rig_check(scanning.tree, -1);
	mt_close(scanning.tree);
}

/* --- writers --- */

enum { WRITERS = 6, WRITES = 2000 / LESS, WRITER_KEYS = 180 };

struct writing {
	struct nb_db *tree;
	const struct rig_format *format;
	uint64_t marks[WRITER_KEYS]; /* 0: key is missing; owned by its writer */
};

static void
own_is_known(struct writing *writing, struct nb_session *session, uint64_t number)
{
	uint8_t room[RIG_KEY_MAX];
	struct nb_slice value;
	uint64_t mark;
	int rc = mt_get(session, writing->format->key(room, number), &value);

	ck_assert_int_eq(rc, writing->marks[number] != 0 ? NB_OK : NB_NOT_FOUND);
	if (rc != NB_OK)
		return;
	ck_assert(rig_is_whole(value, &mark));
	ck_assert_uint_eq(mark, writing->marks[number]);
	mt_release(session);
}

/* Write keys that no other thread writes, and check them. In some phases, delete nearly all. */
static void
write_own(void *to, unsigned id)
{
	struct writing *writing = to;
	struct nb_session *session = rig_session(writing->tree, id);
	uint64_t random = rig_seed(id);
	uint8_t room[RIG_KEY_MAX], bytes[RIG_VALUE_MAX];

	for (unsigned i = 0; i < WRITES; i++) {
		uint64_t number = rig_random(&random, WRITER_KEYS / WRITERS) * WRITERS + id;
		uint64_t mark = (number + 1) << 32 | rig_random(&random, 1u << 31) | 1;
		struct nb_slice key = writing->format->key(room, number);
		bool is_growing = i / 200 % 2 == 0;

		own_is_known(writing, session, number);
		if (rig_random(&random, 8) < (is_growing ? 2 : 7)) {
			ck_assert_int_eq(mt_del(session, key),
				writing->marks[number] != 0 ? NB_OK : NB_NOT_FOUND);
			writing->marks[number] = 0;
			continue;
		}
		ck_assert_int_eq(
			mt_put(session, key, rig_value(bytes, writing->format, &random, mark)),
			NB_OK);
		writing->marks[number] = mark;
	}
	mt_session_close(session);
}

TEST_EACH(writers_of_separate_keys_do_not_interfere, FORMATS)
{
	static struct writing writing;
	struct mt_stats stats;
	int64_t records = 0;

	writing.format = rig_format(_i);
	writing.tree = open_format(_i);
	rig_run(WRITERS, write_own, &writing);
	for (uint64_t number = 0; number < WRITER_KEYS; number++)
		records += writing.marks[number] != 0;
	rig_check(writing.tree, records);
	struct nb_session *session = rig_session(writing.tree, 0);
	for (uint64_t number = 0; number < WRITER_KEYS; number++)
		own_is_known(&writing, session, number);
	mt_session_close(session);
	mt_stats(writing.tree, &stats);
	ck_assert_uint_gt(stats.leaf_splits + stats.leaf_grows, 10);
	ck_assert_uint_gt(stats.leaves_removed, 10);
	mt_close(writing.tree);
}

/* The table of hints is replaced while all sessions use it. */

enum { HINTED_KEYS = 3000 / LESS, HINTED_THREADS = 4 };

static void
put_spread(void *to, unsigned id)
{
	struct nb_session *session = rig_session(to, id);
	struct nb_slice found;
	uint8_t room[8];

	for (uint64_t i = 0; i < HINTED_KEYS; i++) {
		slice_to_bytes(room, (HINTED_THREADS * i + id + 1) * 0x9e3779b97f4a7c15ull);
		struct nb_slice key = slice_of(room, sizeof(room));
		ck_assert_int_eq(mt_put(session, key, key), NB_OK);
		ck_assert_int_eq(mt_get(session, key, &found), NB_OK);
		ck_assert_mem_eq(found.data, room, sizeof(room));
		mt_release(session);
	}
	mt_session_close(session);
}

TEST(hints_are_replaced_while_sessions_use_them)
{
	struct nb_db *of = open_format(0);
	struct mt_stats stats;

	rig_run(HINTED_THREADS, put_spread, of);
	rig_check(of, HINTED_THREADS * HINTED_KEYS);
	mt_stats(of, &stats);
	ck_assert_uint_gt(stats.hint_hits, HINTED_KEYS);
	ck_assert(of->hints != NULL);
	ck_assert_uint_ge(of->hints->leaves_max, 16 * HINT_LEAVES);
	mt_close(of);
}

/* All threads insert at the same place: the end, or the beginning. */
static void
insert_in_order(void *to, unsigned id)
{
	struct writing *writing = to;
	struct nb_session *session = rig_session(writing->tree, id);
	uint64_t random = rig_seed(id);
	uint8_t room[RIG_KEY_MAX], value[RIG_VALUE_MAX];
	struct nb_slice found;

	for (uint64_t i = 0; i < WRITES; i++) {
		uint64_t number = 2 * i + id % 2;

		if (id >= 2) /* downwards */
			number = 8 * WRITES - number;
		struct nb_slice key = writing->format->key(room, number);
		ck_assert_int_eq(
			mt_insert(session, key,
				rig_value(value, writing->format, &random, number + 1)),
			NB_OK);
		/* The next split moves this record. */
		ck_assert_int_eq(mt_get(session, key, &found), NB_OK);
		mt_release(session);
	}
	mt_session_close(session);
}

TEST_EACH(no_ordered_insert_at_one_place_is_lost, FORMATS)
{
	static struct writing writing;

	writing.format = rig_format(_i);
	writing.tree = open_format(_i);
	rig_run(4, insert_in_order, &writing);
	rig_check(writing.tree, 4 * WRITES);
	mt_close(writing.tree);
}

/* --- sessions and loans --- */

enum { VISITORS = 3, VISITS = 24 / LESS, HOST_KEYS = 40 };

struct visiting {
	struct nb_db *tree;
	const struct rig_format *format;
	unsigned visitors; /* visitors that are not done; atomic */
};

static void
visit(struct visiting *visiting, unsigned id, uint64_t *random)
{
	struct nb_session *session = rig_session(visiting->tree, id);
	uint8_t room[RIG_KEY_MAX], first[RIG_VALUE_MAX];
	struct nb_slice value;

	for (unsigned i = 0; i < 8; i++) {
		uint64_t number = rig_random(random, HOST_KEYS);
		struct nb_slice key = visiting->format->key(room, number);

		if (rig_random(random, 4) == 0)
			mt_del(session, key);
		if (mt_get(session, key, &value) != NB_OK)
			continue;
		memcpy(first, value.data, value.size);
		for (unsigned j = 0; j < 2; j++) {
			sched_yield();
			ck_assert(memcmp(first, value.data, value.size) == 0);
		}
		is_marked(value, number);
		mt_release(session);
	}
	mt_session_close(session);
}

static void
visit_or_write(void *to, unsigned id)
{
	struct visiting *visiting = to;
	uint64_t random = rig_seed(id);
	uint8_t room[RIG_KEY_MAX];

	if (id < VISITORS) {
		for (unsigned i = 0; i < VISITS; i++)
			visit(visiting, id, &random);
		__atomic_sub_fetch(&visiting->visitors, 1, __ATOMIC_RELAXED);
		return;
	}
	struct nb_session *session = rig_session(visiting->tree, id);
	while (__atomic_load_n(&visiting->visitors, __ATOMIC_RELAXED) > 0) {
		put_marked(session, visiting->format, rig_random(&random, HOST_KEYS), &random);
		mt_del(session, visiting->format->key(room, rig_random(&random, HOST_KEYS)));
	}
	mt_session_close(session);
}

TEST_EACH(lent_values_stay_while_sessions_open_and_close, FORMATS)
{
	static struct visiting visiting;

	visiting.format = rig_format(_i);
	visiting.tree = open_format(_i);
	visiting.visitors = VISITORS;
	rig_run(VISITORS + 2, visit_or_write, &visiting);
	rig_check(visiting.tree, -1);
	mt_close(visiting.tree);
}
