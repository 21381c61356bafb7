/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine faster: copies of the index at checkpoints, and opens with them. Each of these mistakes
 * in plugins/faster was tried, and a test of this file or test_faster_copying.c failed:
 *
 *    1  seal_checksum() does not depend on the previous seal
 *    2  recover_from_copy() does not require the seal at the end of the copy
 *    3  index_file_read() does not compare the checksum of a chunk
 *       or does not compare the one of the last chunk with the head
 *    4  load_copy() does not compare the number of buckets
 *    5  mismatch() accepts every head
 *    6  grow_as_needed() grows the index during a copy
 *    7  index_place() puts entries into the half of the table that its copy had
 *    8  index_place() puts an entry into one half if the tag does not contain the bit
 *    9  copy_index() does not wake the keeper
 *   10  write_index() gives the copy its name before the cut
 *   11  copy_index() has no cut
 *   12  recover_from_copy() reports a copy whose start compaction has discarded
 *   13  place_chunk() places entries of discarded records
 *   14  index_copy() copies tentative entries
 *   15  checkpoint_write() fails if the copy does
 *   16  recover() leaves the file of an interrupted checkpoint
 *   17  recover() ignores index_checkpoint=no
 *   18  rebuild() keeps records after the last cut
 */
#include "index.h"
#include "index_file.h"

/* after them: `fail` is a macro of Check */
#include "faster_actor.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "scratch.h"

enum { MANY = 3000 /* small records: 72 KB of log, 32 KiB of them in memory */ };
enum { AUTO, YES, NO }; /* index_checkpoint */

#define WITH_COPIES .names = {"index_checkpoint"}, .values = {YES}
static const struct rig with_copies = {WITH_COPIES};

static void
delete_number(uint64_t key)
{
	ck_assert_int_eq(rig_engine->del(session, slice_of(&key, sizeof(key))), NB_OK);
}

/* --- opens with a copy --- */

TEST(open_after_a_close_loads_the_index_and_reads_no_log)
{
	case_begin(&with_copies);
	put_many(0, MANY, 7);
	delete_number(5);
	case_end();
	case_begin(&with_copies);
	is_loaded(MANY);
	ck_assert_uint_eq(rig_stat(&rig, "log_replayed"), sizeof(uint64_t) * 5); /* a seal */
	ck_assert_uint_eq(number_at(5), UINT64_MAX);
	has_many(6, MANY, 7);
	put_many(0, 100, 9);
	case_end();
	case_begin(&with_copies);
	is_loaded(MANY);
	has_many(0, 100, 9);
	has_many(100, MANY, 7);
	case_end();
}

TEST(open_after_a_crash_reads_the_log_after_the_copy_only)
{
	case_begin(&(struct rig){.durability = NB_DUR_PROCESS, WITH_COPIES});
	put_many(0, MANY, 7);
	make_checkpoint();
	put_many(0, 10, 8);
	delete_number(20);
	put_many(MANY, MANY + 10, 7);
	copy_files("copy");
	case_end();
	case_begin_at(&(struct rig){.durability = NB_DUR_PROCESS, WITH_COPIES}, "copy");
	is_loaded(MANY);
	ck_assert_uint_gt(rig_stat(&rig, "log_replayed"), 21 * 24);
	ck_assert_uint_lt(rig_stat(&rig, "log_replayed"), RIG_PAGE);
	has_many(0, 10, 8);
	has_many(10, 20, 7);
	ck_assert_uint_eq(number_at(20), UINT64_MAX);
	has_many(21, MANY + 10, 7);
	case_end();
}

/* At `none`, records after the last cut are on storage, and must not enter the index. */
TEST(records_after_the_last_cut_are_dropped)
{
	case_begin(&with_copies);
	put_many(0, MANY, 7);
	flush_log();
	make_checkpoint();
	put_many(0, MANY, 8);
	copy_files("copy");
	case_end();
	case_begin_at(&with_copies, "copy");
	dropped_a_tail();
	is_loaded(MANY);
	has_many(0, MANY, 7);
	case_end();
}

/* The copy remains valid if later checkpoints do not replace it. */
TEST(open_with_an_old_copy_reads_more_of_the_log)
{
	case_begin(&with_copies);
	put_many(0, MANY, 7);
	case_end();
	ck_assert_int_eq(rename("index", "old"), 0);
	case_begin(&with_copies);
	host_logs = 0;
	put_many(0, MANY / 2, 8);
	case_end();
	ck_assert_int_eq(rename("old", "index"), 0);
	case_begin(&with_copies);
	is_loaded(MANY);
	ck_assert_uint_ge(rig_stat(&rig, "log_replayed"), MANY / 2 * 24);
	has_many(0, MANY / 2, 8);
	has_many(MANY / 2, MANY, 7);
	case_end();
}

/* --- copies that must not be used --- */

static void
is_readable_without_the_copy(const char *why)
{
	case_begin(&(struct rig){0});
	is_not_loaded(why);
	has_many(0, MANY, 7);
	case_end();
}

TEST(damaged_copy_is_told_and_not_used)
{
	static const size_t places[] = {0, 9, 40, 60, 4096, 4104, 10000};
	size_t size;

	case_begin(&with_copies);
	put_many(0, MANY, 7);
	case_end();
	for (size_t i = 0; i < UNIT_COUNT(places); i++) {
		file_flip("index", places[i]);
		is_readable_without_the_copy("damaged");
		file_flip("index", places[i]);
	}
	free(file_get("index", &size));
	for (size_t cut = 0; cut < 3; cut++) {
		ck_assert_int_eq(
			truncate("index", (off_t)(cut == 0 ? size - 1 : 4096u >> cut * 3)), 0);
		is_readable_without_the_copy("damaged");
	}
}

/*
 * The logs have seals at the same places, and their last pages are equal. Only their first pages
 * have other records.
 */
TEST(copy_of_another_database_is_told_and_not_used)
{
	const struct rig how = {
		.names = {"index_checkpoint", "index_size"}, .values = {YES, 1 << 20}};

	ck_assert_int_eq(mkdir("other", 0777), 0);
	case_begin_at(&how, "other");
	for (uint64_t key = MANY / 2; key-- > 0;)
		put_number(key, key + 7);
	put_many(MANY / 2, MANY, 7);
	case_end();
	case_begin(&how);
	put_many(0, MANY, 7);
	case_end();
	ck_assert_int_eq(system("cp other/index index"), 0);
	is_readable_without_the_copy("index cannot be used: the log does not contain its end");
}

/* The file is whole, and its checksums are right. _i 0: a bucket is missing. 1: there is another. */
TEST_EACH(copy_with_another_number_of_buckets_is_told_and_not_used, 2)
{
	struct index_head head;
	struct index_file from, to;
	bool is_full;

	case_begin(&with_copies);
	put_many(0, MANY, 7);
	case_end();
	ck_assert_int_eq(index_file_open(&from, "index", &head), 0);
	ck_assert_int_eq(index_file_create(&to, "other"), 0);
	ck_assert_int_eq(index_file_read(&from, &head), 0);
	ck_assert_uint_eq(from.count, head.words);
	if (_i == 0)
		while ((from.chunk[--from.count] & INDEX_LAST) ==
			0) /* its words count from 1 */
			;
	else
		from.chunk[++from.count] = INDEX_LAST;
	for (size_t i = 1; i <= from.count; i++)
		ck_assert_int_eq(index_file_add(&to, from.chunk[i], &is_full), 0);
	ck_assert_int_eq(index_file_finish(&to, &head), 0);
	index_file_close(&from);
	index_file_close(&to);
	ck_assert_int_eq(rename("other", "index"), 0);
	is_readable_without_the_copy("damaged");
}

/* Both copies are of this log, and have the same number of words. */
TEST(head_and_chunks_of_different_copies_are_told_and_not_used)
{
	enum { CHUNKS_AT = 4096 };
	const struct rig how = {
		.names = {"index_checkpoint", "index_size"}, .values = {YES, 1 << 20}};
	size_t size, size_now;

	case_begin(&how);
	put_many(0, MANY, 6);
	case_end();
	uint8_t *old = file_get("index", &size);
	case_begin(&how);
	put_many(0, MANY, 7);
	case_end();
	uint8_t *now = file_get("index", &size_now);
	ck_assert_uint_eq(size, size_now);
	memcpy(old, now, CHUNKS_AT);
	file_put("index", old, size);
	free(old);
	free(now);
	is_readable_without_the_copy("damaged");
}

TEST(copy_of_a_larger_index_is_told_and_not_used)
{
	ck_assert_int_eq(mkdir("other", 0777), 0);
	case_begin_at(&with_copies, "other");
	put_many(0, MANY, 7);
	rig_await(&rig, "index_growths");
	case_end();
	case_begin(&(struct rig){0});
	put_many(0, 100, 7);
	case_end();
	ck_assert_int_eq(system("cp other/index index"), 0);
	case_begin(&(struct rig){0});
	is_not_loaded("of another database");
	has_many(0, 100, 7);
	case_end();
}

/*
 * A key gets a newer record while the index is copied, so the copy may not contain it. The log ends
 * before that record.
 */
TEST(copy_is_not_used_if_the_log_does_not_reach_its_end)
{
	struct actor checkpointer = {CHECKPOINT};

	case_begin(&with_copies);
	put_many(0, MANY, 7);
	flush_log();
	start_and_hold(&checkpointer, MOMENT_INDEX_COPY);
	copy_files("copy");
	put_many(0, 10, 8);
	rig_let_go(MOMENT_INDEX_COPY);
	ck_assert_int_eq(finish(&checkpointer), NB_OK);
	ck_assert_int_eq(system("cp index copy"), 0);
	case_end();
	rig = (struct rig){0};
	ck_assert_int_eq(rig_try_open(&rig, "copy"), NB_FAIL);
	ck_assert_msg(strstr(host_logged, "the log does not contain its end") != NULL, "%s",
		host_logged);
	host_logs = 0;
	case_begin_at(
		&(struct rig){.names = {"index_checkpoint", "accept_loss"}, .values = {NO, 1}},
		"copy");
	dropped_a_tail();
	is_not_loaded(NULL);
	has_many(0, MANY, 7);
	case_end();
}

TEST(read_error_fails_the_open_with_its_reason_and_changes_nothing)
{
	bool was_copy = false, was_log = false;

	case_begin(&with_copies);
	put_many(0, MANY, 7);
	case_end();
	case_begin(&(struct rig){0});
	put_many(0, MANY, 8);
	case_end();
	for (int after = 0;; after++) {
		ck_assert_int_lt(after, 1000);
		host_logs = 0;
		rig_faults[RIG_READ] = (struct rig_fault){.error = EIO, .after = after};
		int rc = rig_try_open(&rig, ".");
		rig_faults[RIG_READ] = (struct rig_fault){0};
		if (rc == NB_OK)
			break;
		ck_assert_int_eq(rc, NB_FAIL);
		ck_assert_msg(strstr(host_failure, strerror(EIO)) != NULL, "%s", host_failure);
		was_copy |= host_logs == 1 && strstr(host_logged, strerror(EIO)) != NULL;
		was_log |= host_logs == 1 &&
			strstr(host_logged, "it or the log could not be read") != NULL;
	}
	ck_assert(was_copy && was_log);
	rig_close(&rig);
	case_begin(&with_copies);
	has_many(0, MANY, 8);
	case_end();
}

TEST(damage_after_the_copy_is_told_with_its_place)
{
	case_begin(&(struct rig){0});
	put_many(0, MANY, 7);
	case_end();
	case_begin(&with_copies);
	make_checkpoint();
	put_number(1, 1);
	case_end();
	size_t size;
	free(file_get("log", &size));
	case_begin(&(struct rig){0});
	put_many(0, MANY, 8);
	case_end();
	file_flip("log", size + 3 * RIG_PAGE);
	ck_assert_int_eq(rig_try_open(&rig, "."), NB_FAIL);
	ck_assert_msg(
		strstr(host_failure, "is damaged after byte") != NULL, "%s", host_failure);
}

TEST(option_no_neither_writes_nor_loads_a_copy)
{
	const struct rig without = {.names = {"index_checkpoint"}, .values = {NO}};

	case_begin(&without);
	put_many(0, MANY, 7);
	make_checkpoint();
	case_end();
	ck_assert_int_eq(access("index", F_OK), -1);
	case_begin(&with_copies);
	put_many(0, 1, 7);
	case_end();
	ck_assert_int_eq(access("index", F_OK), 0);
	case_begin(&without);
	is_not_loaded(NULL);
	has_many(0, MANY, 7);
	case_end();
}

/* Automatically, a copy is made of a log of more than 16 MiB, and again after as much. */
TEST(copy_is_made_automatically_if_it_replaces_enough_of_the_log)
{
	enum { BIG = 2000, SOME = 8800 /* pages with two records, 17.6 MB */ };
	uint8_t room[BIG];

	case_begin(&(struct rig){0});
	put_many(0, MANY, 7);
	make_checkpoint();
	ck_assert_uint_eq(rig_stat(&rig, "index_checkpoints"), 0);
	for (uint64_t key = 0; key < SOME; key++)
		ck_assert_int_eq(rig_engine->put(session, slice_of(&key, sizeof(key)),
					 rig_value(room, BIG, key)),
			NB_OK);
	make_checkpoint();
	put_number(1, 8);
	make_checkpoint();
	ck_assert_uint_eq(rig_stat(&rig, "index_checkpoints"), 1);
	case_end();
	case_begin(&(struct rig){0});
	is_loaded(SOME - 1);
	ck_assert_uint_eq(number_at(1), 8);
	case_end();
}
