/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine faster: the parts of the log that sessions fill, and the copies of records after a cut.
 * A chunk has 256 bytes here, room for ten small records. Each of these mistakes in plugins/faster
 * was tried, and a test of this file failed:
 *
 *    1  log_take() ignores `floor`
 *    2  log_take() ignores `after`
 *    3  log_take() or log_allocate_in() leaves the rest of a chunk without a filler
 *    4  copy_word() treats a record of the fuzzy region as immutable
 *    5  copy_word() does not mark a copy that it could not link
 *    6  copy_word() copies deleted records
 *    7  log_bound() does not move `floor`
 *    8  log_bound() does not wait for epochs
 *    9  publish_read_only() does not move `floor`
 *   10  append_seal() moves `floor` after it has published the version
 *   11  write_pages() makes a cut of each part of a flush
 *   12  log_cut() does not provide frames
 */
#include "store.h"

/* after store.h: `fail` is a macro of Check */
#include "faster_case.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "scratch.h"

enum { OTHERS = 1000, SOME = 400 /* small records: two pages, which stay mutable */ };
enum { YES = 1 /* index_checkpoint */, A_WHILE_MS = 40 };

/* The index has room for all keys, so it does not grow. */
static const struct rig with_copies = {
	.names = {"index_checkpoint", "index_size"}, .values = {YES, 1 << 20}};
static struct nb_session *other;

static void
begin(const struct rig *how, const char *path)
{
	case_begin_at(how, path);
	other = rig_session(&rig, 1);
}

static void
end(void)
{
	rig_end_session(other);
	case_end();
}

static int
add(struct nb_session *own, uint64_t key, uint64_t more)
{
	return rig_engine->merge(own, slice_of(&key, sizeof(key)), NB_MERGE_ADD_U64, more);
}

static void
put_some(struct nb_session *own)
{
	for (uint64_t key = OTHERS; key < OTHERS + SOME; key++)
		ck_assert_int_eq(put_in(own, key, key), NB_OK);
}

static void
reopen(void)
{
	end();
	begin(&(struct rig){0}, ".");
}

/* Open the files as a crash of the process leaves them. */
static void
crash(void)
{
	copy_files("copy");
	end();
	begin(&(struct rig){0}, "copy");
}

/* --- other threads --- */

struct actor {
	enum { ADD, PUT, ADD_AFTER_PUT, CHECKPOINT } doing;
	uint64_t key, number;
	int answer;
	bool is_done; /* atomic */
	pthread_t thread;
};

static void *
actor_main(void *of_thread)
{
	struct actor *actor = of_thread;
	int rc = NB_OK;

	if (actor->doing == ADD_AFTER_PUT)
		rc = put_in(other, 99, 0);
	if (rc == NB_OK)
		rc = actor->doing == CHECKPOINT ? rig_engine->checkpoint(rig.db)
			: actor->doing == PUT   ? put_in(other, actor->key, actor->number)
						: add(other, actor->key, actor->number);
	actor->answer = rc;
	__atomic_store_n(&actor->is_done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void
start(struct actor *actor)
{
	ck_assert_int_eq(pthread_create(&actor->thread, NULL, actor_main, actor), 0);
}

static void
start_and_hold(struct actor *actor, enum moment moment)
{
	rig_hold(moment);
	start(actor);
	rig_await_held(moment);
}

static bool
is_done(const struct actor *actor)
{
	return __atomic_load_n(&actor->is_done, __ATOMIC_ACQUIRE);
}

static void
finish(struct actor *actor)
{
	ck_assert_int_eq(pthread_join(actor->thread, NULL), 0);
	ck_assert_msg(actor->answer == NB_OK, "%s", host_failure);
}

/* --- one session after the other --- */

/* The cut is in the middle of the session's chunk. */
TEST(record_after_a_cut_has_an_address_after_it)
{
	begin(&(struct rig){0}, ".");
	put_number(1, 1);
	flush_log();
	put_number(2, 2);
	ck_assert_int_eq(add(session, 1, 10), NB_OK);
	reopen();
	ck_assert_uint_eq(number_at(1), 11);
	ck_assert_uint_eq(number_at(2), 2);
	end();
}

/* The chunk of a session is before the newest record of the key. */
TEST(newest_record_of_a_key_has_the_greatest_address)
{
	const uint64_t key = 1, wide[2] = {0};

	begin(&(struct rig){0}, ".");
	put_number(1, 1);
	ck_assert_int_eq(
		rig_engine->put(other, slice_of(&key, sizeof(key)), slice_of(wide, 16)), NB_OK);
	put_number(1, 2);
	reopen();
	ck_assert_uint_eq(number_at(1), 2);
	end();
}

/* _i 0: chunks that are almost empty. 1: almost full ones. */
TEST_EACH(log_with_unused_rests_of_chunks_is_readable, 2)
{
	uint64_t count = _i == 0 ? 1 : 9;

	begin(&(struct rig){0}, ".");
	for (uint64_t key = 0; key < count; key++) {
		put_number(key, 1);
		ck_assert_int_eq(put_in(other, 100 + key, 2), NB_OK);
	}
	flush_log();
	crash();
	for (uint64_t key = 0; key < count; key++) {
		ck_assert_uint_eq(number_at(key), 1);
		ck_assert_uint_eq(number_at(100 + key), 2);
	}
	end();
}

TEST(change_after_a_cut_copies_the_record_once)
{
	const uint64_t key = 3;

	begin(&(struct rig){0}, ".");
	for (uint64_t i = 1; i < 6; i++)
		put_number(i, i);
	ck_assert_int_eq(rig_engine->del(session, slice_of(&key, sizeof(key))), NB_OK);
	flush_log();
	uint64_t before = rig_stat(&rig, "appended");
	for (unsigned round = 0; round < 2; round++) {
		ck_assert_int_eq(add(session, 1, 10), NB_OK);
		ck_assert_int_eq(add(session, 2, 10), NB_OK);
		ck_assert_int_eq(add(session, 3, 10), NB_OK);
		put_number(4, 50);
	}
	ck_assert_uint_eq(rig_stat(&rig, "appended") - before, 4);
	ck_assert_uint_eq(rig_stat(&rig, "updates_copied"), 2);
	reopen();
	ck_assert_uint_eq(number_at(1), 21);
	ck_assert_uint_eq(number_at(2), 22);
	ck_assert_uint_eq(number_at(3), 20);
	ck_assert_uint_eq(number_at(4), 50);
	ck_assert_uint_eq(number_at(5), 5);
	end();
}

/* A crash must not leave records of a flush that has not ended. */
TEST(page_of_an_unfinished_flush_is_not_a_cut)
{
	begin(&(struct rig){0}, ".");
	put_some(session);
	rig_faults[RIG_WRITE] = (struct rig_fault){
		.error = EIO, .after = 2}; /* a page, a seal */
	ck_assert_int_eq(rig_engine->checkpoint(rig.db), NB_FAIL);
	rig_faults[RIG_WRITE] = (struct rig_fault){0};
	ck_assert_int_eq(system("mkdir copy && cp log meta copy"), 0);
	rig_end_session(session);
	rig_end_session(other);
	ck_assert_int_eq(rig_engine->close(rig.db), NB_FAIL);
	begin(&(struct rig){0}, "copy");
	ck_assert_uint_eq(number_at(OTHERS), UINT64_MAX);
	end();
}

/* The tail has not reached the third page of the log. */
TEST(checkpoint_provides_frames_for_the_copies_after_it)
{
	unsigned char is_resident = 0;

	begin(&(struct rig){0}, ".");
	for (uint64_t key = 0; key < 200; key++)
		put_number(key, key);
	void *third = log_at(&rig.db->log, 2 * RIG_PAGE);
	ck_assert_uint_lt(rig_stat(&rig, "log"), 2 * RIG_PAGE);
#ifdef MADV_POPULATE_WRITE
	bool is_possible = madvise(log_at(&rig.db->log, 0), RIG_PAGE, MADV_POPULATE_WRITE) == 0;
	ck_assert_int_eq(rig_engine->checkpoint(rig.db), NB_OK);
	ck_assert_int_eq(mincore(third, 1, &is_resident), 0);
	ck_assert_int_eq(is_resident & 1, is_possible);
#endif
	(void)third;
	(void)is_resident;
	end();
}

/* --- two sessions --- */

/* The session has a chunk before the cut, and another session has written after the cut. */
TEST(record_after_one_after_a_cut_is_after_it_too)
{
	struct actor cutting = {CHECKPOINT};

	begin(&(struct rig){0}, ".");
	put_number(1, 1);
	start_and_hold(&cutting, MOMENT_CUT);
	ck_assert_int_eq(put_in(other, 2, 2), NB_OK);
	put_number(3, 3);
	rig_let_go(MOMENT_CUT);
	finish(&cutting);
	crash();
	ck_assert_uint_eq(number_at(1), 1);
	ck_assert_uint_eq(number_at(2), UINT64_MAX);
	ck_assert_uint_eq(number_at(3), UINT64_MAX);
	end();
}

/* The second session has a chunk after the cut, so it could copy the record at once. */
TEST(copy_of_a_fuzzy_record_includes_late_additions)
{
	struct actor first = {ADD, .key = 1, .number = 10},
		     second = {ADD_AFTER_PUT, .key = 1, .number = 10}, cutting = {CHECKPOINT};

	begin(&(struct rig){0}, ".");
	put_number(1, 1);
	start_and_hold(&first, MOMENT_STORE);
	struct nb_session *of_first = other;
	other = rig_session(&rig, 2);
	start(&cutting);
	while (rig_stat(&rig, "log_read_only") == 0)
		usleep(100);
	start(&second);
	while (!is_done(&second) && rig_stat(&rig, "fuzzy_waits") == 0)
		usleep(100);
	rig_let_go(MOMENT_STORE);
	finish(&first);
	finish(&second);
	finish(&cutting);
	ck_assert_uint_eq(number_at(1), 21);
	rig_end_session(of_first);
	end();
}

/* The copy has a greater address than the record that is linked. */
TEST(copy_that_is_not_linked_is_not_recovered)
{
	struct actor late = {ADD, .key = 1, .number = 10};

	begin(&(struct rig){0}, ".");
	put_number(1, 1);
	flush_log();
	put_number(2, 2);
	ck_assert_int_eq(put_in(other, 3, 3), NB_OK);
	start_and_hold(&late, MOMENT_LINK);
	ck_assert_int_eq(add(session, 1, 10), NB_OK);
	rig_let_go(MOMENT_LINK);
	finish(&late);
	ck_assert_uint_eq(rig_stat(&rig, "retries"), 1);
	reopen();
	ck_assert_uint_eq(number_at(1), 21);
	end();
}

/* --- a copy of the index, which begins at the start of a page --- */

/* The session has a chunk before the start of the copy, which has all its entries. */
TEST(record_after_a_copy_of_the_index_began_is_found)
{
	struct actor copying = {CHECKPOINT};

	begin(&with_copies, ".");
	put_number(1, 1);
	put_some(other);
	start_and_hold(&copying, MOMENT_INDEX_COPIED);
	put_number(2, 2);
	rig_let_go(MOMENT_INDEX_COPIED);
	finish(&copying);
	crash();
	ck_assert_msg(host_logs == 0, "%s", host_logged);
	ck_assert_uint_gt(rig_stat(&rig, "index_loaded"), 0);
	ck_assert_uint_lt(rig_stat(&rig, "log_replayed"), 2 * RIG_PAGE);
	ck_assert_uint_eq(number_at(1), 1);
	ck_assert_uint_eq(number_at(2), 2);
	end();
}

/* A record before the start of the copy is not linked yet. The copy waits for it. */
TEST(copy_of_the_index_begins_after_all_older_records_are_linked)
{
	struct actor linking = {PUT, .key = 1, .number = 1}, copying = {CHECKPOINT};

	begin(&with_copies, ".");
	start_and_hold(&linking, MOMENT_LINK);
	put_some(session);
	rig_hold(MOMENT_INDEX_COPIED);
	start(&copying);
	for (unsigned i = 0; i < A_WHILE_MS && !rig_is_held(MOMENT_INDEX_COPIED); i++)
		usleep(1000);
	rig_let_go(MOMENT_LINK);
	finish(&linking);
	rig_await_held(MOMENT_INDEX_COPIED);
	rig_let_go(MOMENT_INDEX_COPIED);
	finish(&copying);
	crash();
	ck_assert_msg(host_logs == 0, "%s", host_logged);
	ck_assert_uint_gt(rig_stat(&rig, "index_loaded"), 0);
	ck_assert_uint_eq(number_at(1), 1);
	end();
}
