/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine faster: copies of the index at checkpoints, and opens with them. Each of these mistakes
 * in plugins/faster was tried, and a test of this file failed:
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
#include "faster_rig.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "scratch.h"

enum { MANY = 3000 /* small records: 72 KB of log, 32 KiB of them in memory */ };
enum { AUTO, YES, NO }; /* index_checkpoint */
enum { A_WHILE_MS = 40 };

static struct rig rig;
static struct nb_session *session;

#define WITH_COPIES .names = {"index_checkpoint"}, .values = {YES}
static const struct rig with_copies = {WITH_COPIES};

static void
begin_at(const struct rig *how, const char *path)
{
	rig = *how;
	ck_assert_msg(rig_try_open(&rig, path) == NB_OK, "%s", host_failure);
	session = rig_session(&rig, 0);
}

static void
begin(const struct rig *how)
{
	begin_at(how, ".");
}

static void
end(void)
{
	rig_end_session(session);
	rig_close(&rig);
}

static int
put(struct nb_session *own, uint64_t key, uint64_t value)
{
	return rig_engine->put(
		own, slice_of(&key, sizeof(key)), slice_of(&value, sizeof(value)));
}

static void
put_number(uint64_t key, uint64_t value)
{
	ck_assert_msg(put(session, key, value) == NB_OK, "%s", host_failure);
}

static void
delete_number(uint64_t key)
{
	ck_assert_int_eq(rig_engine->del(session, slice_of(&key, sizeof(key))), NB_OK);
}

/* UINT64_MAX: not found. */
static uint64_t
number_at(uint64_t key)
{
	struct nb_slice value;
	uint64_t number = UINT64_MAX;
	int rc = rig_engine->get(session, slice_of(&key, sizeof(key)), &value);

	ck_assert_msg(rc == NB_OK || rc == NB_NOT_FOUND, "%s", host_failure);
	if (rc == NB_OK)
		memcpy(&number, value.data, sizeof(number));
	return number;
}

static void
put_many(uint64_t from, uint64_t to, uint64_t more)
{
	for (uint64_t key = from; key < to; key++)
		put_number(key, key + more);
}

static void
has_many(uint64_t from, uint64_t to, uint64_t more)
{
	for (uint64_t key = from; key < to; key++)
		ck_assert_uint_eq(number_at(key), key + more);
}

static void
write_log(void)
{
	int rc = rig_engine->flush(rig.db, NB_SETTLE_FLUSH);
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
}

static void
make_checkpoint(void)
{
	int rc = rig_engine->checkpoint(rig.db);
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
}

/* The files as a crash of the process leaves them. */
static void
copy_files(void)
{
	ck_assert_int_eq(system("mkdir -p copy && cp log meta copy && "
				"if [ -e index ]; then cp index copy; fi"),
		0);
}

/* The open has reported only that it dropped records after the last cut. */
static void
dropped_a_tail(void)
{
	ck_assert_int_eq(host_logs, 1);
	ck_assert_msg(
		strstr(host_logged, "after its last valid cut") != NULL, "%s", host_logged);
	host_logs = 0;
}

/* Some keys share an entry. */
static void
is_loaded(uint64_t keys)
{
	ck_assert_msg(host_logs == 0, "%s", host_logged);
	ck_assert_uint_gt(rig_stat(&rig, "index_loaded"), keys - keys / 100 - 1);
}

static void
is_not_loaded(const char *why)
{
	ck_assert_int_eq(host_logs, why != NULL ? 1 : 0);
	ck_assert_msg(why == NULL || strstr(host_logged, why) != NULL, "'%s' is not in: %s",
		why, host_logged);
	ck_assert_uint_eq(rig_stat(&rig, "index_loaded"), 0);
	ck_assert_uint_ge(rig_stat(&rig, "log_replayed") + 2 * RIG_PAGE, rig_stat(&rig, "log"));
	host_logs = 0;
}

/* --- a checkpoint on another thread, held while it copies the index --- */

static pthread_t checkpointer;

static void *
checkpoint_main(void *answer)
{
	*(int *)answer = rig_engine->checkpoint(rig.db);
	return NULL;
}

/* Puts 1 into a key. */
static void *
inserter_main(void *to)
{
	struct nb_session *own = rig_session(&rig, 1);

	ck_assert_int_eq(put(own, *(uint64_t *)to, 1), NB_OK);
	rig_end_session(own);
	return NULL;
}

static int checkpoint_answer;

static void
hold_checkpoint(enum moment moment)
{
	rig_hold(moment);
	ck_assert_int_eq(
		pthread_create(&checkpointer, NULL, checkpoint_main, &checkpoint_answer), 0);
	rig_await_held(moment);
}

static void
end_checkpoint(enum moment moment)
{
	rig_let_go(moment);
	ck_assert_int_eq(pthread_join(checkpointer, NULL), 0);
	ck_assert_int_eq(checkpoint_answer, NB_OK);
}

/* --- opens with a copy --- */

TEST(open_after_a_close_loads_the_index_and_reads_no_log)
{
	begin(&with_copies);
	put_many(0, MANY, 7);
	delete_number(5);
	end();
	begin(&with_copies);
	is_loaded(MANY);
	ck_assert_uint_eq(rig_stat(&rig, "log_replayed"), sizeof(uint64_t) * 5); /* a seal */
	ck_assert_uint_eq(number_at(5), UINT64_MAX);
	has_many(6, MANY, 7);
	put_many(0, 100, 9);
	end();
	begin(&with_copies);
	is_loaded(MANY);
	has_many(0, 100, 9);
	has_many(100, MANY, 7);
	end();
}

TEST(open_after_a_crash_reads_the_log_after_the_copy_only)
{
	begin(&(struct rig){.durability = NB_DUR_PROCESS, WITH_COPIES});
	put_many(0, MANY, 7);
	make_checkpoint();
	put_many(0, 10, 8);
	delete_number(20);
	put_many(MANY, MANY + 10, 7);
	copy_files();
	end();
	begin_at(&(struct rig){.durability = NB_DUR_PROCESS, WITH_COPIES}, "copy");
	is_loaded(MANY);
	ck_assert_uint_gt(rig_stat(&rig, "log_replayed"), 21 * 24);
	ck_assert_uint_lt(rig_stat(&rig, "log_replayed"), RIG_PAGE);
	has_many(0, 10, 8);
	has_many(10, 20, 7);
	ck_assert_uint_eq(number_at(20), UINT64_MAX);
	has_many(21, MANY + 10, 7);
	end();
}

/* At `none`, records after the last cut are on storage, and must not enter the index. */
TEST(records_after_the_last_cut_are_dropped)
{
	begin(&with_copies);
	put_many(0, MANY, 7);
	write_log();
	make_checkpoint();
	put_many(0, MANY, 8);
	copy_files();
	end();
	begin_at(&with_copies, "copy");
	dropped_a_tail();
	is_loaded(MANY);
	has_many(0, MANY, 7);
	end();
}

/* The copy remains valid if later checkpoints do not replace it. */
TEST(open_with_an_old_copy_reads_more_of_the_log)
{
	begin(&with_copies);
	put_many(0, MANY, 7);
	end();
	ck_assert_int_eq(rename("index", "old"), 0);
	begin(&with_copies);
	host_logs = 0;
	put_many(0, MANY / 2, 8);
	end();
	ck_assert_int_eq(rename("old", "index"), 0);
	begin(&with_copies);
	is_loaded(MANY);
	ck_assert_uint_ge(rig_stat(&rig, "log_replayed"), MANY / 2 * 24);
	has_many(0, MANY / 2, 8);
	has_many(MANY / 2, MANY, 7);
	end();
}

/* --- copies that must not be used --- */

static void
is_readable_without_the_copy(const char *why)
{
	begin(&(struct rig){0});
	is_not_loaded(why);
	has_many(0, MANY, 7);
	end();
}

TEST(damaged_copy_is_told_and_not_used)
{
	static const size_t places[] = {0, 9, 40, 60, 4096, 4104, 10000};
	size_t size;

	begin(&with_copies);
	put_many(0, MANY, 7);
	end();
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
	begin_at(&how, "other");
	for (uint64_t key = MANY / 2; key-- > 0;)
		put_number(key, key + 7);
	put_many(MANY / 2, MANY, 7);
	end();
	begin(&how);
	put_many(0, MANY, 7);
	end();
	ck_assert_int_eq(system("cp other/index index"), 0);
	is_readable_without_the_copy("index cannot be used: the log does not contain its end");
}

/* The file is whole, and its checksums are right. _i 0: a bucket is missing. 1: there is another. */
TEST_EACH(copy_with_another_number_of_buckets_is_told_and_not_used, 2)
{
	struct index_head head;
	struct index_file from, to;
	bool is_full;

	begin(&with_copies);
	put_many(0, MANY, 7);
	end();
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

	begin(&how);
	put_many(0, MANY, 6);
	end();
	uint8_t *old = file_get("index", &size);
	begin(&how);
	put_many(0, MANY, 7);
	end();
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
	begin_at(&with_copies, "other");
	put_many(0, MANY, 7);
	rig_await(&rig, "index_growths");
	end();
	begin(&(struct rig){0});
	put_many(0, 100, 7);
	end();
	ck_assert_int_eq(system("cp other/index index"), 0);
	begin(&(struct rig){0});
	is_not_loaded("of another database");
	has_many(0, 100, 7);
	end();
}

/*
 * A key gets a newer record while the index is copied, so the copy may not contain it. The log ends
 * before that record.
 */
TEST(copy_is_not_used_if_the_log_does_not_reach_its_end)
{
	begin(&with_copies);
	put_many(0, MANY, 7);
	write_log();
	hold_checkpoint(MOMENT_INDEX_COPY);
	copy_files();
	put_many(0, 10, 8);
	end_checkpoint(MOMENT_INDEX_COPY);
	ck_assert_int_eq(system("cp index copy"), 0);
	end();
	rig = (struct rig){0};
	ck_assert_int_eq(rig_try_open(&rig, "copy"), NB_FAIL);
	ck_assert_msg(strstr(host_logged, "the log does not contain its end") != NULL, "%s",
		host_logged);
	host_logs = 0;
	begin_at(&(struct rig){.names = {"index_checkpoint", "accept_loss"}, .values = {NO, 1}},
		"copy");
	dropped_a_tail();
	is_not_loaded(NULL);
	has_many(0, MANY, 7);
	end();
}

TEST(read_error_fails_the_open_with_its_reason_and_changes_nothing)
{
	bool was_copy = false, was_log = false;

	begin(&with_copies);
	put_many(0, MANY, 7);
	end();
	begin(&(struct rig){0});
	put_many(0, MANY, 8);
	end();
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
	begin(&with_copies);
	has_many(0, MANY, 8);
	end();
}

TEST(damage_after_the_copy_is_told_with_its_place)
{
	begin(&(struct rig){0});
	put_many(0, MANY, 7);
	end();
	begin(&with_copies);
	make_checkpoint();
	put_number(1, 1);
	end();
	size_t size;
	free(file_get("log", &size));
	begin(&(struct rig){0});
	put_many(0, MANY, 8);
	end();
	file_flip("log", size + 3 * RIG_PAGE);
	ck_assert_int_eq(rig_try_open(&rig, "."), NB_FAIL);
	ck_assert_msg(
		strstr(host_failure, "is damaged after byte") != NULL, "%s", host_failure);
}

TEST(option_no_neither_writes_nor_loads_a_copy)
{
	const struct rig without = {.names = {"index_checkpoint"}, .values = {NO}};

	begin(&without);
	put_many(0, MANY, 7);
	make_checkpoint();
	end();
	ck_assert_int_eq(access("index", F_OK), -1);
	begin(&with_copies);
	put_many(0, 1, 7);
	end();
	ck_assert_int_eq(access("index", F_OK), 0);
	begin(&without);
	is_not_loaded(NULL);
	has_many(0, MANY, 7);
	end();
}

/* Automatically, a copy is made of a log of more than 16 MiB, and again after as much. */
TEST(copy_is_made_automatically_if_it_replaces_enough_of_the_log)
{
	enum { BIG = 2000, SOME = 8800 /* pages with two records, 17.6 MB */ };
	uint8_t room[BIG];

	begin(&(struct rig){0});
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
	end();
	begin(&(struct rig){0});
	is_loaded(SOME - 1);
	ck_assert_uint_eq(number_at(1), 8);
	end();
}

/* --- what happens during a copy, and after it --- */

/* Sessions continue; only the growth waits, and comes after the copy. */
TEST(index_does_not_grow_during_a_copy)
{
	begin(&(struct rig){.durability = NB_DUR_PROCESS, WITH_COPIES});
	put_many(0, 100, 7);
	hold_checkpoint(MOMENT_INDEX_COPY);
	put_many(100, 1000, 7); /* 64 buckets hold 192 */
	for (unsigned i = 0; i < A_WHILE_MS; i++) {
		ck_assert_uint_eq(rig_stat(&rig, "index_growths"), 0);
		usleep(1000);
	}
	end_checkpoint(MOMENT_INDEX_COPY);
	rig_await(&rig, "index_growths");
	copy_files();
	end();
	begin_at(&(struct rig){0}, "copy");
	is_loaded(100);
	has_many(0, 1000, 7);
	end();
}

static void
await_growths(uint64_t count)
{
	while (rig_stat(&rig, "index_growths") < count)
		usleep(1000);
}

/*
 * The index grows after the copy: to 4096 buckets by bits of the tag, and to more by bits that the
 * tag does not contain.
 */
TEST_EACH(copy_of_a_smaller_index_is_loaded, 2)
{
	static const uint64_t first[] = {100, 9000}, all[] = {9000, 20000};
	uint64_t some = first[_i], most = all[_i];

	begin(&with_copies);
	put_many(0, some, 7);
	await_growths(_i == 0 ? 0 : TAG_SPLITS);
	write_log();
	make_checkpoint();
	put_many(some, most, 7);
	await_growths(TAG_SPLITS + (uint64_t)_i);
	write_log();
	copy_files();
	end();
	begin_at(&(struct rig){0}, "copy");
	is_loaded(some);
	has_many(0, most, 7);
	put_many(0, some, 9); /* some in chains that both halves of the table share */
	has_many(0, some, 9);
	has_many(some, most, 7);
	end();
}

/* An entry that another session inserts is tentative while the index is copied. */
TEST(tentative_entry_is_not_copied)
{
	pthread_t thread;
	uint64_t key = MANY;

	begin(&(struct rig){.durability = NB_DUR_PROCESS, WITH_COPIES});
	put_many(0, 100, 7);
	hold_checkpoint(MOMENT_INDEX_COPY);
	rig_hold(MOMENT_TENTATIVE);
	ck_assert_int_eq(pthread_create(&thread, NULL, inserter_main, &key), 0);
	rig_await_held(MOMENT_TENTATIVE);
	rig_hold(MOMENT_INDEX_COPIED);
	rig_let_go(MOMENT_INDEX_COPY);
	rig_await_held(MOMENT_INDEX_COPIED);
	rig_let_go(MOMENT_TENTATIVE);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	end_checkpoint(MOMENT_INDEX_COPIED);
	copy_files();
	end();
	begin_at(&(struct rig){0}, "copy");
	is_loaded(100);
	has_many(0, 100, 7);
	ck_assert_uint_eq(number_at(key), 1);
	end();
}

/* _i 0: the log begins before the start of the copy. 1: after it, so the copy has no use. */
TEST_EACH(copy_from_before_a_compaction_is_right, 2)
{
	const struct rig how = {
		.names = {"index_checkpoint", "log_limit"}, .values = {YES, 512 << 10}};
	enum { KEYS = 2000 /* more than the memory has room for, so no put is in place */ };
	uint64_t round = 0;

	begin(&how);
	put_many(10000, 10000 + KEYS, 1); /* never put again */
	for (; rig_stat(&rig, "log") < 300 << 10; round++)
		put_many(0, KEYS, round);
	ck_assert_uint_eq(rig_stat(&rig, "compacted"), 0);
	make_checkpoint();
	for (uint64_t rounds = round + 20 * (uint64_t)_i;
		round < rounds || rig_stat(&rig, "compacted") == 0; round++)
		put_many(0, KEYS, round);
	ck_assert_int_eq(rig_engine->flush(rig.db, NB_SETTLE_FLUSH), NB_OK);
	copy_files();
	end();
	begin_at(&how, "copy");
	if (_i == 1)
		is_not_loaded(NULL);
	else if (host_logs != 0 || rig_stat(&rig, "index_loaded") > KEYS + KEYS / 2)
		ck_abort_msg("%s: too many entries", host_logged); /* of discarded records */
	else
		is_loaded(1);
	has_many(10000, 10000 + KEYS, 1);
	has_many(0, KEYS, round - 1);
	end();
}

TEST(copy_that_fails_is_told_and_the_checkpoint_succeeds)
{
	begin(&with_copies);
	put_many(0, MANY, 7);
	write_log();
	hold_checkpoint(MOMENT_INDEX_COPY);
	rig_faults[RIG_WRITE] = (struct rig_fault){.error = ENOSPC};
	end_checkpoint(MOMENT_INDEX_COPY);
	rig_faults[RIG_WRITE] = (struct rig_fault){0};
	ck_assert_int_eq(host_logs, 1);
	ck_assert_msg(
		strstr(host_logged, "No space left on device") != NULL, "%s", host_logged);
	ck_assert_int_eq(access("index", F_OK), -1);
	ck_assert_int_eq(access("index.new", F_OK), -1);
	host_logs = 0;
	end();
	begin(&with_copies);
	is_loaded(MANY);
	has_many(0, MANY, 7);
	end();
}

/* --- kills --- */

static const enum moment moments_of_a_copy[] = {
	MOMENT_INDEX_COPY, MOMENT_INDEX_COPIED, MOMENT_INDEX_WRITTEN};

TEST_EACH(kill_during_a_copy_leaves_the_old_one, 3)
{
	int status;

	begin(&with_copies);
	put_many(0, MANY, 7);
	end();
	size_t size, size_now;
	uint8_t *old = file_get("index", &size);
	pid_t child = fork();
	if (child == 0) {
		begin(&with_copies);
		put_many(0, MANY, 8);
		write_log();
		rig_die_at(moments_of_a_copy[_i]);
		(void)rig_engine->checkpoint(rig.db);
		_exit(1);
	}
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	uint8_t *now = file_get("index", &size_now);
	ck_assert_uint_eq(size, size_now);
	ck_assert_mem_eq(old, now, size);
	free(old);
	free(now);
	ck_assert_int_eq(access("index.new", F_OK), 0);
	begin(&with_copies);
	is_loaded(MANY);
	ck_assert_int_eq(access("index.new", F_OK), -1);
	has_many(0, MANY, 8);
	end();
}

/*
 * A process with two writers and repeated checkpoints is killed. Writer `id` puts the numbers from 1
 * on, number n into its key n % KEYS. After the open, the keys must have the state after one of its
 * puts. At `process` this is the last put that had returned before the kill, or a later put.
 */
enum { WRITERS = 2, KEYS = 700, COPIES = 3, COLD = 100000 };

struct progress {
	uint64_t done[WRITERS], copies; /* atomic */
};

struct writer {
	struct nb_session *own;
	uint64_t from, *done;
	uint32_t id;
};

static void *
writer_main(void *to)
{
	struct writer *writer = to;

	writer->own = rig_session(&rig, writer->id);
	for (uint64_t number = writer->from;; number++) {
		uint64_t key = (uint64_t)writer->id << 32 | number % KEYS;

		if (put(writer->own, key, number) != NB_OK)
			_exit(1);
		__atomic_store_n(writer->done, number, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void
write_until_killed(const struct rig *how, struct progress *progress)
{
	struct writer writers[WRITERS];
	pthread_t threads[WRITERS];

	rig = *how;
	rig_open(&rig);
	for (uint32_t id = 0; id < WRITERS; id++) {
		writers[id] = (struct writer){
			.id = id, .from = progress->done[id] + 1, .done = &progress->done[id]};
		if (pthread_create(&threads[id], NULL, writer_main, &writers[id]) != 0)
			_exit(1);
	}
	for (;;) {
		if (rig_engine->checkpoint(rig.db) != NB_OK)
			_exit(1);
		__atomic_store_n(&progress->copies, rig_stat(&rig, "index_checkpoints"),
			__ATOMIC_RELEASE);
	}
}

/* The number of the last put that the recovered state contains. */
static uint64_t
check_prefix(uint32_t id)
{
	uint64_t last = 0;

	for (uint64_t i = 0; i < KEYS; i++) {
		uint64_t number = number_at((uint64_t)id << 32 | i);

		if (number != UINT64_MAX && number > last)
			last = number;
	}
	for (uint64_t i = 0; i < KEYS; i++) {
		uint64_t before = (last + KEYS - i) % KEYS; /* puts since the one of this key */
		uint64_t expected = last > before ? last - before : UINT64_MAX;

		ck_assert_uint_eq(number_at((uint64_t)id << 32 | i), expected);
	}
	return last;
}

static void
await_progress(pid_t child, const uint64_t *progress, uint64_t least)
{
	while (__atomic_load_n(progress, __ATOMIC_ACQUIRE) < least) {
		ck_assert_int_eq(waitpid(child, NULL, WNOHANG), 0);
		usleep(1000);
	}
}

/* The last of the copies begins after all writers have written something. */
static void
kill_after_copies(pid_t child, const struct progress *progress, const uint64_t *before)
{
	int status;

	for (unsigned id = 0; id < WRITERS; id++)
		await_progress(child, &progress->done[id], before[id] + 1);
	await_progress(child, &progress->copies,
		__atomic_load_n(&progress->copies, __ATOMIC_ACQUIRE) + COPIES);
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
}

TEST_EACH(killed_process_is_recovered_to_a_prefix_of_each_session, 2)
{
	const struct rig how = {
		.durability = _i == 0 ? NB_DUR_NONE : NB_DUR_PROCESS, WITH_COPIES};
	uint64_t before[WRITERS] = {0};
	struct progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(progress, MAP_FAILED);
	begin(&how);
	put_many(COLD, COLD + 100, 7); /* copies contain them even if all others change */
	end();
	for (unsigned round = 0; round < 4; round++) {
		__atomic_store_n(&progress->copies, 0, __ATOMIC_RELEASE);
		pid_t child = fork();
		if (child == 0)
			write_until_killed(&how, progress);
		ck_assert_int_gt(child, 0);
		kill_after_copies(child, progress, before);
		begin(&how);
		if (host_logs != 0)
			dropped_a_tail();
		is_loaded(100);
		has_many(COLD, COLD + 100, 7);
		for (uint32_t id = 0; id < WRITERS; id++) {
			uint64_t last = check_prefix(id);

			if (how.durability == NB_DUR_PROCESS)
				ck_assert_uint_ge(last, progress->done[id]);
			ck_assert_uint_gt(last, before[id]);
			progress->done[id] = before[id] = last;
		}
		end();
	}
	munmap(progress, sizeof(*progress));
}
