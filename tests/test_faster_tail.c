/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine faster: the end of a log that was not closed, and damage before it. Each of these
 * mistakes in plugins/faster was tried, and a test of this file failed:
 *
 *    1  fill_seal() stores no address up to which the log was synced
 *       or stores that of the written log
 *    2  is_seal() does not compare one of the members
 *    3  recover_from_copy() does not state the end of the copy
 *       or does so only with index_checkpoint=yes
 *    4  open_index() leaves the old tail in meta
 *       or tail_drop() leaves log.durable
 *    5  look_at_page() looks only at the start of each page
 *    6  tail_drop() leaves the copy of the index, or the rest of the last block
 *    7  check_end() accepts a log without the seal at its begin
 *    8  tail_read() counts the zeros at the end, or not the bytes after the end of the file
 */
#include "record.h"

/* after it: `fail` is a macro of Check */
#include "faster_case.h"

#include <string.h>

#include "scratch.h"

enum { FEW = 100, GROUP = SMALL_SIZE + SEAL_SIZE, JUNK = 200, SECTOR = 512 };
enum { AUTO, YES, NO }; /* index_checkpoint */

static void
begin_at(const struct rig *how, const char *path)
{
	host_logs = 0;
	case_begin_at(how, path);
}

/* The database has the numbers before `end`, and none after it. */
static void
has_numbers(uint64_t end_of_them, uint64_t most)
{
	for (uint64_t key = 0; key < most; key++) {
		struct nb_slice value;
		int rc = rig_engine->get(session, slice_of(&key, sizeof(key)), &value);

		ck_assert_int_eq(rc, key < end_of_them ? NB_OK : NB_NOT_FOUND);
	}
}

static size_t
log_end(void)
{
	return (size_t)rig_stat(&rig, "log");
}

/* Leave the files in `copy` as a crash does. Returns the end of the log. */
static size_t
crash(void)
{
	size_t last = log_end();

	copy_files("copy");
	case_end();
	return last;
}

static void
overwrite(size_t at, uint8_t byte, size_t size)
{
	FILE *file = fopen("copy/log", "r+");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fseek(file, (long)at, SEEK_SET), 0);
	while (size-- > 0)
		ck_assert_int_eq(fputc(byte, file), byte);
	ck_assert_int_eq(fclose(file), 0);
}

static size_t
size_of_log(void)
{
	struct stat about;

	ck_assert_int_eq(stat("copy/log", &about), 0);
	return (size_t)about.st_size;
}

static void
is_refused(const struct rig *how, const char *witness)
{
	struct rig other = *how;

	ck_assert_int_eq(rig_try_open(&other, "copy"), NB_FAIL);
	ck_assert_msg(strstr(host_failure, "the log copy/log is damaged after byte ") != NULL &&
			strstr(host_failure, witness) != NULL,
		"'%s' is not in: %s", witness, host_failure);
}

/* It is opened without the bytes in [from, to). */
static void
is_cut(const struct rig *how, size_t from, size_t to)
{
	char text[128];

	begin_at(how, "copy");
	snprintf(text, sizeof(text), "drops %zu bytes of the log copy/log from byte %zu on",
		to - from, from);
	ck_assert_int_eq(host_logs, 1);
	ck_assert_msg(
		strstr(host_logged, text) != NULL, "'%s' is not in: %s", text, host_logged);
	ck_assert_uint_eq(size_of_log(), from);
}

static const struct rig plain = {0};
static const struct rig synced = {.durability = NB_DUR_COMMIT};

/* --- the end that a crash leaves --- */

TEST(torn_end_is_dropped_with_its_size)
{
	begin_at(&plain, ".");
	put_many(0, FEW, 0);
	make_checkpoint();
	size_t from = crash(), to = size_of_log() + JUNK;
	overwrite(to - JUNK, 0x55, JUNK);
	overwrite(to, 0, SECTOR);
	is_cut(&plain, from, to);
	has_numbers(FEW, FEW + 1);
	case_end();
}

TEST(zeros_at_the_end_are_dropped_silently)
{
	begin_at(&plain, ".");
	put_many(0, FEW, 0);
	make_checkpoint();
	size_t from = crash();
	overwrite(size_of_log(), 0, 3 * RIG_PAGE);
	begin_at(&plain, "copy");
	ck_assert_msg(host_logs == 0, "%s", host_logged);
	ck_assert_uint_lt(size_of_log(), from + RIG_PAGE);
	has_numbers(FEW, FEW + 1);
	case_end();
}

/* Each could state that the log was synced after the cut, but has one impossible member. */
TEST(records_like_seals_are_dropped)
{
	begin_at(&plain, ".");
	put_many(0, FEW, 0);
	make_checkpoint();
	size_t from = crash(), to = size_of_log();
	const uint64_t header = header_of(HEADER_SEAL, to - 8);
	const struct seal wrong[] = {
		{.header = header, .start = from, .number = 2},
		{.header = header, .start = to, .number = 1},
		{.header = header, .start = to, .number = 1000},
		{.header = header, .start = to + RIG_PAGE, .number = 3},
		{.header = header, .start = to, .number = 3, .opening = 9},
		{.header = header, .start = to, .number = 3, .is_cut = 2},
		{.header = header | HEADER_TOMBSTONE, .start = to, .number = 3, .is_cut = 1},
	};
	FILE *file = fopen("copy/log", "a");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(wrong, 1, sizeof(wrong), file), sizeof(wrong));
	ck_assert_int_eq(fclose(file), 0);
	is_cut(&plain, from, to + sizeof(wrong));
	case_end();
}

/* --- damage before it --- */

/* At commit, each group of a record and a seal is synced before the next one. */
TEST_EACH(damage_before_a_synced_seal_is_refused, 3)
{
	begin_at(&synced, ".");
	put_many(0, FEW, 0);
	size_t last = crash() - GROUP;
	for (size_t at = SEAL_SIZE; at < last; at += GROUP) {
		size_t size, sector = at / SECTOR * SECTOR;
		uint8_t *whole = file_get("copy/log", &size);

		if (_i == 2 && sector + SECTOR > last)
			sector -= SECTOR;
		if (_i == 2)
			overwrite(sector, 0, SECTOR);
		else
			file_flip("copy/log", at + (_i == 0 ? 0 : SMALL_SIZE + 16));
		is_refused(&synced, "as a seal after that states");
		is_refused(&plain, "set accept_loss=yes");
		file_put("copy/log", whole, size);
		free(whole);
	}
	begin_at(&synced, "copy");
	ck_assert_msg(host_logs == 0, "%s", host_logged);
	has_numbers(FEW, FEW + 1);
	case_end();
}

/* Nothing states that the last group was synced, so it may be torn. */
TEST(damage_after_the_last_stated_sync_is_a_torn_end)
{
	begin_at(&synced, ".");
	put_many(0, FEW, 0);
	size_t last = crash();
	file_flip("copy/log", last - GROUP);
	is_cut(&synced, last - GROUP, last);
	has_numbers(FEW - 1, FEW + 1);
	case_end();
}

/* A power failure at `process` or `periodic` may keep later pages without earlier ones. */
TEST_EACH(damage_without_a_sync_after_it_is_a_torn_end, 2)
{
	const struct rig how = {.durability = _i == 0 ? NB_DUR_PROCESS : NB_DUR_PERIODIC,
		.names = {"sync_interval"},
		.values = {3600000000000}};

	begin_at(&how, ".");
	put_many(0, FEW, 0);
	ck_assert_int_eq(rig_engine->flush(rig.db, NB_SETTLE_FLUSH), NB_OK); /* it syncs */
	size_t from = log_end();
	put_many(FEW, 4 * FEW, 0);
	size_t to = crash();
	file_flip("copy/log", from - GROUP);
	is_refused(&how, "as a seal after that states");
	file_flip("copy/log", from - GROUP);
	file_flip("copy/log", from);
	is_cut(&how, from, to);
	has_numbers(FEW, 4 * FEW);
	case_end();
}

/* A checkpoint syncs the log up to the end of its copy, at each level. */
TEST(damage_before_the_end_of_the_copy_is_refused)
{
	const struct rig how = {.names = {"index_checkpoint"}, .values = {YES}};
	const struct rig without = {.names = {"index_checkpoint"}, .values = {NO}};

	begin_at(&how, ".");
	put_many(0, 10 * FEW, 0);
	make_checkpoint();
	size_t last = crash();
	file_flip("copy/log", 100);
	is_refused(&without, "as the copy of its index states");
	file_flip("copy/log", 100);
	file_flip("copy/log", last - 8);
	is_refused(&how, "as the copy of its index states");
	ck_assert_int_eq(truncate("copy/log", 100), 0);
	is_refused(&how, "as the copy of its index states");
}

/* An open at periodic or commit syncs the log, and stores this in meta. */
TEST_EACH(log_that_is_shorter_than_at_its_last_open_is_refused, 2)
{
	const struct rig how = {.durability = _i == 0 ? NB_DUR_COMMIT : NB_DUR_PROCESS};

	begin_at(&how, ".");
	put_many(0, FEW, 0);
	case_end();
	begin_at(&how, ".");
	crash();
	ck_assert_int_eq(truncate("copy/log", SEAL_SIZE + GROUP), 0);
	if (_i == 0) {
		is_refused(&how, "as meta states");
		return;
	}
	begin_at(&how, "copy"); /* the log was not synced: a power failure may shorten it */
	ck_assert_msg(host_logs == 0, "%s", host_logged);
	has_numbers(1, FEW);
	case_end();
}

/* --- opens that accept the loss --- */

/* _i 0: the log was closed, and is too short. 1: it was not closed, and is damaged. */
TEST_EACH(accepted_loss_is_reported_and_final, 2)
{
	const struct rig how = {
		.durability = NB_DUR_COMMIT, .names = {"index_checkpoint"}, .values = {YES}};
	const struct rig lossy = {.durability = NB_DUR_COMMIT,
		.names = {"accept_loss", "index_checkpoint"},
		.values = {1, NO}};
	const size_t from = SEAL_SIZE + 9 * GROUP;

	begin_at(&how, ".");
	put_many(0, FEW, 0);
	make_checkpoint();
	size_t to = crash();
	if (_i == 0)
		copy_files("copy");
	if (_i == 0)
		ck_assert_int_eq(truncate("copy/log", from + 1), 0);
	else
		file_flip("copy/log", from);
	is_refused(&(struct rig){.names = {"index_checkpoint"}, .values = {NO}},
		"set accept_loss=yes");
	is_cut(&lossy, from, to);
	has_numbers(9, FEW);
	put_number(FEW, FEW);
	ck_assert_int_eq(chdir("copy"), 0);
	copy_files("../later");
	ck_assert_int_eq(chdir(".."), 0);
	case_end();
	begin_at(&how, "later");
	ck_assert_msg(host_logs == 0, "%s", host_logged);
	has_numbers(9, FEW);
	case_end();
}

/* Compaction has discarded the records before the begin, so not even an empty log is left. */
TEST(log_without_its_begin_is_refused)
{
	size_t size;

	begin_at(&(struct rig){.names = {"log_limit"}, .values = {128 << 10}}, ".");
	while (rig_stat(&rig, "compacted") == 0)
		put_many(0, 20 * FEW, 0); /* more than the memory */
	crash();
	uint64_t *meta = (uint64_t *)(void *)file_get("copy/meta", &size);
	ck_assert_uint_gt(meta[2], 0);
	overwrite((size_t)meta[2], 0, SEAL_SIZE);
	free(meta);
	is_refused(&(struct rig){.names = {"accept_loss"}, .values = {1}},
		"restore the database from a copy");
	ck_assert_msg(strstr(host_failure, "accept_loss") == NULL, "%s", host_failure);
}
