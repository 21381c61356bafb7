/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine faster: growth of the index, with threads held at moments that matter. Each of these
 * mistakes in plugins/faster was tried, and a test of this file failed:
 *
 *    1  index_look() returns a frozen entry as FIND_HERE
 *    2  index_look() returns FIND_NONE for a frozen bucket
 *    3  index_split() does not wait for the splitting session
 *    4  index_grow() deletes the old table without waiting for epochs
 *    5  freeze_word() does not wait for the session of a tentative entry
 *    6  slot_of_tag() in quick.c uses entries that match twice
 *    7  index_table() splits more than the bucket of the hash
 *    8  index_grow() publishes a table whose pages the kernel has not provided
 *    9  index_split() marks a bucket as split before it has copied it
 *
 * No test fails because a thread is slow: see test_faster_moments.c.
 */
#include "store.h"

/* after store.h: `fail` is a macro of Check */
#include "faster_actor.h"

#include <sys/mman.h>
#include <unistd.h>

enum { ENTRIES = 256 /* so many make an index of 64 buckets grow */ };

/*
 * Begin the growth of the index. The database contains the keys from 1 to ENTRIES, with themselves
 * as values, and the long key of put_long().
 */
static void
begin_growth(void)
{
	case_begin(&(struct rig){0});
	put_long(1);
	rig_hold(MOMENT_GROWTH);
	ck_assert_int_eq(put_others(session, 1, ENTRIES, 8), NB_OK);
	rig_await_held(MOMENT_GROWTH);
}

/*
 * A session reads the current table before the growth ends, and the next one after that. So it uses
 * the old table. It must find a record that another session has put into the new one.
 */
TEST_EACH(operation_with_the_old_table_sees_puts_into_the_new_one, 4)
{
	uint64_t key = _i % 2 == 0 ? 1 : 9000; /* with an entry in the old table, or without */
	bool is_long = _i >= 2;                /* not for quick.c: index_find() */
	struct actor reader = {GET, .key = key, .is_long = is_long};
	struct actor writer = {PUT, .key = key, .number = 33, .size = 40, .is_long = is_long};

	begin_growth();
	ck_assert_int_eq(act(session, &writer), NB_OK);
	start_and_hold(&reader, MOMENT_CURRENT_TABLE);
	rig_hold(MOMENT_GROWN);
	rig_let_go(MOMENT_GROWTH);
	rig_await_held(MOMENT_GROWN);
	rig_let_go(MOMENT_CURRENT_TABLE);
	ck_assert_int_eq(finish(&reader), NB_OK);
	ck_assert_uint_eq(reader.found, 33);
	rig_let_go(MOMENT_GROWN);
	case_end();
}

TEST(operation_waits_for_a_bucket_that_another_session_splits)
{
	struct actor splitter = {GET, .key = 1}, reader = splitter;

	begin_growth();
	start_and_hold(&splitter, MOMENT_SPLIT);
	start(&reader);
	wait_a_while(&reader);
	await_sleeps(&reader, SLEEPS);
	rig_let_go(MOMENT_SPLIT);
	ck_assert_int_eq(finish(&splitter), NB_OK);
	ck_assert_int_eq(finish(&reader), NB_OK);
	rig_let_go(MOMENT_GROWTH);
	case_end();
}

static unsigned
count_splits(void)
{
	const struct table *table = rig.db->index.current;
	unsigned count = 0;

	for (uint64_t i = 0; i <= table->mask; i++)
		count += racy_load8(&table->splits[i]) != 0;
	return count;
}

/* So no operation waits for more than one bucket, even in a large index. */
TEST(operation_splits_one_bucket_at_most)
{
	begin_growth();
	unsigned begin = count_splits(), before = begin;

	for (uint64_t key = 1; key <= ENTRIES; key++) {
		struct actor actor = {(enum doing)(GET + key % 4), .key = key, .size = 8};

		ck_assert_int_eq(act(session, &actor), NB_OK);
		unsigned now = count_splits();
		ck_assert_uint_le(now, before + 1);
		before = now;
	}
	ck_assert_uint_lt(begin, 64);
	ck_assert_uint_eq(before, 64);
	rig_let_go(MOMENT_GROWTH);
	case_end();
}

/* So no operation waits until the kernel has cleared pages of the new table. */
TEST(growth_begins_with_a_populated_table)
{
	const uint64_t size = 256 << 10;
	const long page = sysconf(_SC_PAGESIZE);
	uint64_t key = 0;

	case_begin(&(struct rig){.names = {"index_size"}, .values = {size}});
	rig_hold(MOMENT_GROWTH);
	while (!rig_is_held(MOMENT_GROWTH))
		ck_assert_int_eq(put_others(session, ++key, 1, 8), NB_OK);
	size_t pages = (size_t)(2 * size) / (size_t)page;
	unsigned char is_there[256];
	ck_assert_uint_le(pages, sizeof(is_there));
	ck_assert_int_eq(mincore(rig.db->index.next->buckets, (size_t)(2 * size), is_there), 0);
	for (size_t i = 0; i < pages; i++)
		ck_assert_uint_eq(is_there[i] & 1, 1);
	rig_let_go(MOMENT_GROWTH);
	case_end();
}

TEST(bucket_is_split_after_its_tentative_entry_is_resolved)
{
	struct actor writer = {PUT, .key = 9000, .number = 5};

	case_begin(&(struct rig){0});
	start_and_hold(&writer, MOMENT_TENTATIVE);
	ck_assert_int_eq(
		put_others(session, 1, ENTRIES, 8), NB_OK); /* the last one wakes the keeper */
	for (unsigned i = 0; i < A_WHILE_MS; i++) {
		ck_assert_uint_lt(rig_stat(&rig, "index"), 2 * 64 * 64);
		usleep(1000);
	}
	rig_let_go(MOMENT_TENTATIVE);
	ck_assert_int_eq(finish(&writer), NB_OK);
	await_stat("index", 2 * 64 * 64);
	ck_assert_uint_eq(number_at(9000), 5);
	case_end();
}

TEST(old_table_stays_while_it_is_used)
{
	struct actor reader = {GET, .key = 1};

	case_begin(&(struct rig){0});
	put_number(1, 1);
	start_and_hold(&reader, MOMENT_TABLE);
	ck_assert_int_eq(put_others(session, 2, ENTRIES, 8), NB_OK);
	await_stat("index", 2 * 64 * 64);
	for (unsigned i = 0; i < A_WHILE_MS && rig_stat(&rig, "index_growths") == 0; i++)
		usleep(1000);
	rig_let_go(MOMENT_TABLE);
	ck_assert_int_eq(finish(&reader), NB_OK);
	ck_assert_uint_eq(reader.found, 1);
	case_end();
}

/*
 * A session searches a bucket while its entry moves to another word, so two words match. Their
 * addresses together are the address of another record of the key.
 */
TEST(entries_that_match_twice_are_not_mixed)
{
	const uint64_t key = 1;

	case_begin(&(struct rig){0});
	put_number(key, 1);
	const struct table *table = rig.db->index.current;
	uint64_t hash = key_of(&key, sizeof(key)).hash;
	uint64_t *words = table->buckets[hash & table->mask].words, first = words[0];
	ck_assert_uint_ne(first, 0);
	do { /* another size, so the next number gets a new record */
		ck_assert_int_eq(put_others(session, key, 1, 16), NB_OK);
		put_number(key, 2);
	} while ((first & ~words[0] & ADDRESS_MASK) != 0);
	uint64_t last = words[0];
	words[0] = first;
	words[4] = (first & ~ADDRESS_MASK) | (last & ~first & ADDRESS_MASK);
	ck_assert_uint_eq(number_at(key), 1);
	words[0] = last;
	words[4] = 0;
	ck_assert_uint_eq(number_at(key), 2);
	case_end();
}
