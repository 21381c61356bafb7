/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine faster, with threads held at moments that matter for its synchronisation. Each of
 * these mistakes in plugins/faster was tried, and a test of this file failed:
 *
 *    1  wait_for_version() returns at once
 *    2  shift_head() does not wait for epochs
 *    3  settle() does not wait for epochs
 *    4  record_load() does not compare the lock after it has read
 *    5  record_load() accepts an odd lock
 *    6  sized_lock() does not lock
 *    7  put_here() changes a record of the fuzzy region in place
 *    8  merge_here() does so
 *    9  delete_here() does so
 *   10  merge_here() treats a record of the fuzzy region as immutable
 *   11  index_update() stores without a comparison
 *   12  is_alone() always returns true
 *   13  finish_from_storage() does not check whether the chain has changed
 *   14  link_copy() does not check whether the chain has changed
 *   15  promote() does not check whether the chain has changed
 *   16  change_word() in quick.c treats the fuzzy region as mutable
 *   17  look() in quick.c finds deleted records
 *   18  get_word() or change_word() in quick.c does not enter an epoch
 *   19  pause_a_little() only yields
 *   20  is_alone() does not wait for a later tentative entry
 *   21  index_insert() gives way and does not wait for the decision of the other session
 *   22  append_seal() publishes the version before the region
 *   23  log_wait_for_flush() never waits for a sync
 *   24  append() does not mark a record that it could not link
 *   25  recovery uses such a record
 *   26  link_copy() does not mark a copy that it could not link
 *   27  finish_from_storage() does not enter an epoch
 *   28  op_resume() uses a record before the begin of the log
 *
 * No test fails because a thread is slow. If a correct engine makes a thread wait, the test pauses
 * for some time, in which only an incorrect engine continues.
 */
#include "store.h"

/* after store.h: `fail` is a macro of Check */
#include "faster_actor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct buffer session_room; /* for the value of an operation */

static void
open_again(void)
{
	case_end();
	case_begin(&(struct rig){0});
}

/* --- the log --- */

TEST_EACH(write_after_a_seal_follows_all_sealed_records, 2)
{
	struct actor cut = {CHECKPOINT}, writer = {TWO_PUTS, .key = 1, .number = 2};
	enum moment moment = _i == 0 ? MOMENT_SEAL : MOMENT_SEALED;

	case_begin(&(struct rig){0});
	put_number(1, 1);
	start_and_hold(&cut, moment);
	start(&writer); /* appends a record after the seal, then changes one before it */
	wait_a_while(&writer);
	rig_let_go(moment);
	ck_assert_int_eq(finish(&cut), NB_OK);
	ck_assert_int_eq(finish(&writer), NB_OK);
	ck_assert_int_eq(system("mkdir copy && cp log meta copy"), 0);
	case_end();
	ck_assert_int_eq(rig_try_open(&rig, "copy"), NB_OK);
	session = rig_session(&rig, 0);
	ck_assert(number_at(5000) == 2 || number_at(1) == 1);
	case_end();
}

/* At `commit`, a flush without a sync is not enough. */
TEST(write_at_commit_waits_for_a_sync)
{
	const uint64_t number = 1;
	const struct key key = key_of(&number, sizeof(number));

	case_begin(&(struct rig){.durability = NB_DUR_COMMIT});
	struct log *log = &rig.db->log;
	epoch_enter(rig.db->stats_epoch);
	uint64_t address = log_allocate(log, SMALL_SIZE);
	record_write(log_at(log, address), &key, &number, sizeof(number), 0, 0);
	epoch_exit(rig.db->stats_epoch);
	ck_assert_int_eq(log_flush(log, false), NB_OK);
	rig_faults[RIG_SYNC] = (struct rig_fault){.error = EIO};
	ck_assert_int_eq(log_wait_for_flush(log, address + SMALL_SIZE), NB_FAIL);
	rig_end_session(session);
	ck_assert_int_eq(rig_engine->close(rig.db), NB_FAIL);
}

/* The reader begins after the flusher has waited for epochs, and before it frees frames. */
TEST(record_that_is_being_read_keeps_its_frame)
{
	struct actor reader = {GET, .key = 1}, writer = {PUT_MANY};

	case_begin(&(struct rig){0});
	put_number(1, 7);
	start_and_hold(&writer, MOMENT_SETTLED);
	await_stat("log_waits", 1); /* no frame is free */
	start_and_hold(&reader, MOMENT_FOUND);
	rig_let_go(MOMENT_SETTLED);
	wait_for_log(&writer);
	rig_let_go(MOMENT_FOUND);
	ck_assert_int_eq(finish(&reader), NB_OK);
	ck_assert_uint_eq(reader.found, 7);
	ck_assert_int_eq(finish(&writer), NB_OK);
	case_end();
}

TEST(change_in_place_is_part_of_the_written_log)
{
	struct actor writer = {PUT, .key = 1, .number = 2}, cut = {CHECKPOINT};

	case_begin(&(struct rig){0});
	put_number(1, 1);
	start_and_hold(&writer, MOMENT_STORE);
	start(&cut);
	wait_a_while(&cut);
	rig_let_go(MOMENT_STORE);
	ck_assert_int_eq(finish(&cut), NB_OK);
	ck_assert_int_eq(finish(&writer), NB_OK);
	open_again();
	ck_assert_uint_eq(number_at(1), 2);
	case_end();
}

/* A write that begins while a region is fuzzy must not change it: the flusher may write it. */
TEST_EACH(record_of_the_fuzzy_region_does_not_change, 3)
{
	static const enum doing verbs[] = {PUT, MERGE, DELETE};
	static const uint64_t after[] = {2, 3, UINT64_MAX};
	struct actor writer = {verbs[_i], .key = 1, .number = 2}, cut = {CHECKPOINT};

	case_begin(&(struct rig){0});
	put_number(1, 1);
	start_and_hold(&cut, MOMENT_SETTLED);
	rig_hold(MOMENT_STORE);
	start(&writer);
	while (!rig_is_held(MOMENT_STORE) && !is_done(&writer) &&
		rig_stat(&rig, "fuzzy_waits") == 0)
		usleep(100);
	rig_let_go(MOMENT_SETTLED);
	ck_assert_int_eq(finish(&cut), NB_OK);
	rig_let_go(MOMENT_STORE);
	ck_assert_int_eq(finish(&writer), NB_OK);
	ck_assert_uint_eq(number_at(1), after[_i]);
	open_again();
	ck_assert_uint_eq(number_at(1), after[_i]);
	case_end();
}

TEST(sum_of_a_fuzzy_record_includes_late_additions)
{
	struct actor first = {MERGE, .key = 1, .number = 10}, second = first,
		     cut = {CHECKPOINT};

	case_begin(&(struct rig){0});
	put_number(1, 1);
	start_and_hold(&first, MOMENT_STORE);
	start(&cut);
	await_stat("log_read_only", 1);
	start(&second);
	while (!is_done(&second) && rig_stat(&rig, "fuzzy_waits") == 0)
		usleep(100);
	rig_let_go(MOMENT_STORE);
	ck_assert_int_eq(finish(&first), NB_OK);
	ck_assert_int_eq(finish(&second), NB_OK);
	ck_assert_int_eq(finish(&cut), NB_OK);
	ck_assert_uint_eq(number_at(1), 21);
	case_end();
}

/* --- values that change in place --- */

TEST_EACH(value_is_read_atomically, 2)
{
	struct actor reader = {GET, .key = 1, .is_long = true};
	struct actor writer = {PUT, .key = 1, .number = 2, .size = 100, .is_long = true};

	case_begin(&(struct rig){0});
	put_long(1);
	if (_i == 0) { /* the value changes while a reader reads it */
		start_and_hold(&reader, MOMENT_HALF_READ);
		put_long(2);
		rig_let_go(MOMENT_HALF_READ);
	} else { /* a reader reads it while it changes */
		start_and_hold(&writer, MOMENT_HALF_STORED);
		start(&reader);
		wait_a_while(&reader);
		rig_let_go(MOMENT_HALF_STORED);
		ck_assert_int_eq(finish(&writer), NB_OK);
	}
	ck_assert_int_eq(finish(&reader), NB_OK);
	ck_assert(reader.is_whole);
	case_end();
}

TEST(two_changes_of_a_value_are_not_mixed)
{
	struct actor first = {PUT, .key = 1, .number = 2, .size = 100, .is_long = true};
	struct actor second = {PUT, .key = 1, .number = 3, .size = 100, .is_long = true};
	struct actor reader = {GET, .key = 1, .is_long = true};

	case_begin(&(struct rig){0});
	put_long(1);
	start_and_hold(&first, MOMENT_HALF_STORED);
	start(&second);
	wait_a_while(&second);
	rig_let_go(MOMENT_HALF_STORED);
	ck_assert_int_eq(finish(&first), NB_OK);
	ck_assert_int_eq(finish(&second), NB_OK);
	ck_assert_int_eq(act(session, &reader), NB_OK);
	ck_assert(reader.is_whole);
	case_end();
}

/* --- chains --- */

TEST(two_appended_sums_follow_each_other)
{
	struct actor first = {MERGE, .key = 1, .number = 10}, second = first;

	case_begin(&(struct rig){0});
	put_number(1, 1);
	ck_assert_int_eq(rig_engine->checkpoint(rig.db), NB_OK);
	start_and_hold(&first, MOMENT_LINK);
	ck_assert_int_eq(act(session, &second), NB_OK);
	rig_let_go(MOMENT_LINK);
	ck_assert_int_eq(finish(&first), NB_OK);
	ck_assert_uint_eq(number_at(1), 21);
	case_end();
}

TEST(two_sessions_that_insert_a_key_make_one_entry)
{
	struct actor first = {MERGE, .key = 1, .number = 10}, second = first;

	case_begin(&(struct rig){0});
	start_and_hold(&first, MOMENT_TENTATIVE);
	start(&second);
	wait_a_while(&second);
	rig_let_go(MOMENT_TENTATIVE);
	ck_assert_int_eq(finish(&first), NB_OK);
	ck_assert_int_eq(finish(&second), NB_OK);
	ck_assert_uint_eq(number_at(1), 20);
	case_end();
}

/* A record that an operation appends and cannot link remains in the log. */
TEST(operation_that_meets_a_tentative_entry_waits_and_appends_one_record)
{
	struct actor first = {MERGE, .key = 1, .number = 10}, second = first;

	case_begin(&(struct rig){0});
	start_and_hold(&first, MOMENT_TENTATIVE);
	start(&second);
	await_sleeps(&second, SLEEPS);
	ck_assert_uint_le(rig_stat(&rig, "retries"), 1);
	rig_let_go(MOMENT_TENTATIVE);
	ck_assert_int_eq(finish(&first), NB_OK);
	ck_assert_int_eq(finish(&second), NB_OK);
	ck_assert_uint_eq(number_at(1), 20);
	ck_assert_uint_eq(rig_stat(&rig, "retries"), 1);
	case_end();
}

/* The unlinked record has a greater address than the linked one, which changes afterwards. */
TEST(record_that_could_not_be_linked_is_not_recovered)
{
	struct actor first = {MERGE, .key = 1, .number = 10}, second = first;

	case_begin(&(struct rig){0});
	start_and_hold(&first, MOMENT_TENTATIVE);
	start_and_hold(&second, MOMENT_LINK);
	rig_let_go(MOMENT_TENTATIVE);
	ck_assert_int_eq(finish(&first), NB_OK);
	rig_let_go(MOMENT_LINK);
	ck_assert_int_eq(finish(&second), NB_OK);
	ck_assert_uint_eq(number_at(1), 20);
	open_again();
	ck_assert_uint_eq(number_at(1), 20);
	case_end();
}

/* A key in the same bucket as `key`, in an index of 64 buckets. */
static uint64_t
neighbour_of(uint64_t key)
{
	uint64_t other = key + 1;

	while (((hash_word(other) ^ hash_word(key)) & 63) != 0)
		other++;
	return other;
}

/*
 * Two entries of a bucket are tentative. The later one has searched the bucket before the earlier
 * one was there, and stays. The place of the earlier one is free because index_clean() has removed
 * the entry of another key.
 */
TEST(tentative_entry_before_another_one_waits_for_it)
{
	struct actor later = {MERGE, .key = 1, .number = 10}, earlier = later;

	case_begin(&(struct rig){0});
	put_number(neighbour_of(1), 1);
	start_and_hold(&later, MOMENT_DECIDED);
	index_clean(&rig.db->index, log_tail(&rig.db->log), rig.db->stats_epoch);
	start(&earlier);
	wait_a_while(&earlier);
	rig_let_go(MOMENT_DECIDED);
	ck_assert_int_eq(finish(&later), NB_OK);
	ck_assert_int_eq(finish(&earlier), NB_OK);
	ck_assert_uint_eq(number_at(1), 20);
	case_end();
}

TEST(sum_of_a_record_on_storage_includes_concurrent_puts)
{
	struct actor adder = {MERGE, .key = 1, .number = 10};

	case_begin(&(struct rig){.names = {"reads"}, .values = {READS_THREADS}});
	put_number(1, 1);
	ck_assert_int_eq(put_others(session, 10000, ACTOR_MANY, 8), NB_OK);
	rig_hold_reads();
	start(&adder);
	await_stat("storage_reads", 1);
	put_number(1, 100);
	rig_release_reads();
	ck_assert_int_eq(finish(&adder), NB_OK);
	ck_assert_uint_eq(number_at(1), 110);
	case_end();
}

TEST(sum_of_a_record_on_storage_is_not_flushed_before_it_is_linked)
{
	struct actor adder = {MERGE, .key = 1, .number = 10}, cut = {CHECKPOINT};

	case_begin(&(struct rig){.names = {"reads"}, .values = {READS_THREADS}});
	put_number(1, 1);
	ck_assert_int_eq(put_others(session, 10000, ACTOR_MANY, 8), NB_OK);
	start_and_hold(&adder, MOMENT_LINK);
	start(&cut);
	wait_a_while(&cut);
	ck_assert(!is_done(&cut));
	rig_let_go(MOMENT_LINK);
	ck_assert_int_eq(finish(&adder), NB_OK);
	ck_assert_int_eq(finish(&cut), NB_OK);
	ck_assert_uint_eq(number_at(1), 11);
	case_end();
}

/* A get appends the record that it has read. This must not hide a put in between. */
TEST(promoted_record_does_not_hide_a_put)
{
	struct actor reader = {GET, .key = 1};

	case_begin(&(struct rig){.names = {"promote"}, .values = {1}});
	put_number(1, 1);
	ck_assert_int_eq(put_others(session, 10000, ACTOR_MANY, 8), NB_OK);
	start_and_hold(&reader, MOMENT_PROMOTE);
	put_number(1, 2);
	rig_let_go(MOMENT_PROMOTE);
	ck_assert_int_eq(finish(&reader), NB_OK);
	ck_assert_uint_eq(reader.found, 1);
	ck_assert_uint_eq(number_at(1), 2);
	ck_assert_uint_eq(rig_stat(&rig, "promoted"), 0);
	case_end();
}

/*
 * A put of the key comes just before the compaction copies its old record. The long records leave
 * free space at the end of each page, so the put has room.
 */
TEST(compaction_does_not_bring_back_an_old_value)
{
	struct actor writer = {PUT_MANY, .size = LONG};

	case_begin(&(struct rig){.names = {"log_limit"}, .values = {160 << 10}});
	put_number(1, 1);
	start_and_hold(&writer, MOMENT_COPY);
	put_number(1, 2);
	rig_let_go(MOMENT_COPY);
	ck_assert_int_eq(finish(&writer), NB_FAIL); /* the whole log is needed */
	ck_assert_uint_eq(number_at(1), 2);
	case_end();
}

/*
 * The record of the put has a smaller address than the copy, and is linked first. So compaction
 * cannot link the copy. Recovery must not use the copy, although its address is greater.
 */
TEST(copy_that_could_not_be_linked_is_marked)
{
	struct actor writer = {PUT_MANY, .size = LONG}, putter = {PUT, .key = 1, .number = 2};

	case_begin(&(struct rig){.names = {"log_limit"}, .values = {160 << 10}});
	put_number(1, 1);
	start_and_hold(&writer, MOMENT_COPY);
	start_and_hold(&putter, MOMENT_LINK);
	rig_hold(MOMENT_COPIED);
	rig_let_go(MOMENT_COPY);
	rig_await_held(MOMENT_COPIED);
	uint64_t copy = log_tail(&rig.db->log) - SMALL_SIZE;
	rig_let_go(MOMENT_LINK);
	ck_assert_int_eq(finish(&putter), NB_OK);
	rig_hold(MOMENT_COPY); /* for the next record */
	rig_let_go(MOMENT_COPIED);
	rig_await_held(MOMENT_COPY);
	uint64_t header = racy_load64(log_at(&rig.db->log, copy));
	ck_assert(is_record(header));
	ck_assert_uint_ne(header & HEADER_INVALID, 0);
	rig_let_go(MOMENT_COPY);
	ck_assert_int_eq(finish(&writer), NB_FAIL);
	ck_assert_uint_eq(number_at(1), 2);
	case_end();
}

/* A read of a record has got one block before compaction discards the record, and one after. */
TEST(record_that_compaction_has_discarded_meanwhile_is_not_used)
{
	const uint64_t name = 1;
	struct op op = {.verb = NB_REQ_GET,
		.key = key_of(&name, sizeof(name)),
		.to = &session_room,
		.wanted = LONG};

	case_begin(&(struct rig){.names = {"reads"}, .values = {READS_THREADS}});
	ck_assert_int_eq(put_others(session, name, 1, LONG), NB_OK);
	ck_assert_int_eq(put_others(session, 10000, ACTOR_MANY, 8), NB_OK);
	ck_assert_int_eq(op_try(session, &op), OP_READ);
	op.wanted = LONG + 64;
	ck_assert_int_eq(op_start_read(session, &op), NB_OK);
	ck_assert_int_eq(requests_wait_for(session, &op), NB_OK);
	memset((char *)op.read.data + LONG / 2, 0, LONG / 2);
	log_truncate(&rig.db->log, RIG_PAGE);
	ck_assert_int_eq(op_resume(session, &op), NB_NOT_FOUND);
	op_free_block(&op);
	case_end();
}
