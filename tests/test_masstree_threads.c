/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many sessions use the tree at once. The nodes are small, so a few keys split, grow and remove
 * nodes all the time. Threads are delayed at points where they can meet. Most tests run once
 * for each format of keys.
 */
#include "crowd.h"
#include "masstree_rig.h"

#ifdef RACY_TSAN
enum { LESS = 3 }; /* each memory access is ten times as slow */
#else
enum { LESS = 1 };
#endif

enum { FORMATS = 7 + (LEAF_SLOTS_MAX >= 10) };

static struct nb_slice
key_of_number(uint8_t *room, const void *format, uint64_t number)
{
	return ((const struct rig_format *)format)->key(room, number);
}

static uint64_t
number_of_key(struct nb_slice key, const void *format, uint64_t count)
{
	return rig_number(format, key, count);
}

static void
check_tree(void *to, int64_t records)
{
	rig_check(to, records);
}

static const struct nb_engine verbs = {.session_open = mt_session_open,
	.session_close = mt_session_close,
	.get = mt_get,
	.multi_get = mt_multi_get,
	.release = mt_release,
	.put = mt_put,
	.insert = mt_insert,
	.del = mt_del,
	.merge = mt_merge,
	.scan_open = mt_scan_open,
	.scan_next = mt_scan_next,
	.scan_close = mt_scan_close};

static struct contest_subject
open_format(int i)
{
	const struct rig_format *format = rig_format(i);
	struct nb_db *tree = rig_open(format);
	struct contest_subject subject = {.name = format->name,
		.verbs = &verbs,
		.db = tree,
		.key = key_of_number,
		.format = format,
		.check = check_tree,
		.to = tree,
		.number = number_of_key,
		.less = LESS};

	memcpy(subject.values, format->values, sizeof(subject.values));
	rig_lets_meet = true;
	return subject;
}

TEST_EACH(every_history_of_a_key_is_linearizable, FORMATS)
{
	struct contest_subject subject = open_format(_i);

	contest_run(&subject, 12 / LESS, (uint64_t)_i);
	mt_close(subject.db);
}

TEST_EACH(no_addition_of_many_sessions_is_lost, FORMATS)
{
	struct contest_subject subject = open_format(_i);

	crowd_add(&subject);
	mt_close(subject.db);
}

TEST_EACH(scans_return_stable_records_once_and_in_order, FORMATS)
{
	struct contest_subject subject = open_format(_i);

	crowd_scan(&subject);
	mt_close(subject.db);
}

TEST_EACH(writers_of_separate_keys_do_not_interfere, FORMATS)
{
	struct contest_subject subject = open_format(_i);
	struct mt_stats stats;

	crowd_write(&subject);
	mt_stats(subject.db, &stats);
	ck_assert_uint_gt(stats.leaf_splits + stats.leaf_grows, 10);
	ck_assert_uint_gt(stats.leaves_removed, 10);
	mt_close(subject.db);
}

TEST_EACH(no_ordered_insert_at_one_place_is_lost, FORMATS)
{
	struct contest_subject subject = open_format(_i);

	crowd_insert_in_order(&subject);
	mt_close(subject.db);
}

TEST_EACH(lent_values_stay_while_sessions_open_and_close, FORMATS)
{
	struct contest_subject subject = open_format(_i);

	crowd_visit(&subject);
	mt_close(subject.db);
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
	struct nb_db *of = open_format(0).db;
	struct mt_stats stats;

	rig_run(HINTED_THREADS, put_spread, of);
	rig_check(of, HINTED_THREADS * HINTED_KEYS);
	mt_stats(of, &stats);
	ck_assert_uint_gt(stats.hint_hits, HINTED_KEYS);
	ck_assert(of->hints != NULL);
	ck_assert_uint_ge(of->hints->leaves_max, 16 * HINT_LEAVES);
	mt_close(of);
}
