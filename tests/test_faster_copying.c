/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine faster: what happens during a copy of the index, and after it. test_faster_index.c
 * lists the mistakes that were tried.
 */
#include "index.h"

/* after it: `fail` is a macro of Check */
#include "faster_actor.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "scratch.h"

enum { MANY = 3000 /* small records: 72 KB of log, 32 KiB of them in memory */ };
enum { YES = 1 /* index_checkpoint */ };

#define WITH_COPIES .names = {"index_checkpoint"}, .values = {YES}
static const struct rig with_copies = {WITH_COPIES};

static struct actor checkpointer = {CHECKPOINT};

static void
end_checkpoint(enum moment moment)
{
	rig_let_go(moment);
	ck_assert_int_eq(finish(&checkpointer), NB_OK);
}

/* Sessions continue; only the growth waits, and comes after the copy. */
TEST(index_does_not_grow_during_a_copy)
{
	case_begin(&(struct rig){.durability = NB_DUR_PROCESS, WITH_COPIES});
	put_many(0, 100, 7);
	start_and_hold(&checkpointer, MOMENT_INDEX_COPY);
	put_many(100, 1000, 7); /* 64 buckets hold 192 */
	for (unsigned i = 0; i < A_WHILE_MS; i++) {
		ck_assert_uint_eq(rig_stat(&rig, "index_growths"), 0);
		usleep(1000);
	}
	end_checkpoint(MOMENT_INDEX_COPY);
	rig_await(&rig, "index_growths");
	copy_files("copy");
	case_end();
	case_begin_at(&(struct rig){0}, "copy");
	is_loaded(100);
	has_many(0, 1000, 7);
	case_end();
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

	case_begin(&with_copies);
	put_many(0, some, 7);
	await_growths(_i == 0 ? 0 : TAG_SPLITS);
	flush_log();
	make_checkpoint();
	put_many(some, most, 7);
	await_growths(TAG_SPLITS + (uint64_t)_i);
	flush_log();
	copy_files("copy");
	case_end();
	case_begin_at(&(struct rig){0}, "copy");
	is_loaded(some);
	has_many(0, most, 7);
	put_many(0, some, 9); /* some in chains that both halves of the table share */
	has_many(0, some, 9);
	has_many(some, most, 7);
	case_end();
}

/* An entry that another session inserts is tentative while the index is copied. */
TEST(tentative_entry_is_not_copied)
{
	struct actor inserter = {PUT, .key = MANY, .number = 1};

	case_begin(&(struct rig){.durability = NB_DUR_PROCESS, WITH_COPIES});
	put_many(0, 100, 7);
	start_and_hold(&checkpointer, MOMENT_INDEX_COPY);
	start_and_hold(&inserter, MOMENT_TENTATIVE);
	rig_hold(MOMENT_INDEX_COPIED);
	rig_let_go(MOMENT_INDEX_COPY);
	rig_await_held(MOMENT_INDEX_COPIED);
	rig_let_go(MOMENT_TENTATIVE);
	ck_assert_int_eq(finish(&inserter), NB_OK);
	end_checkpoint(MOMENT_INDEX_COPIED);
	copy_files("copy");
	case_end();
	case_begin_at(&(struct rig){0}, "copy");
	is_loaded(100);
	has_many(0, 100, 7);
	ck_assert_uint_eq(number_at(MANY), 1);
	case_end();
}

/* _i 0: the log begins before the start of the copy. 1: after it, so the copy has no use. */
TEST_EACH(copy_from_before_a_compaction_is_right, 2)
{
	const struct rig how = {
		.names = {"index_checkpoint", "log_limit"}, .values = {YES, 512 << 10}};
	enum { KEYS = 2000 /* more than the memory has room for, so no put is in place */ };
	uint64_t round = 0;

	case_begin(&how);
	put_many(10000, 10000 + KEYS, 1); /* never put again */
	for (; rig_stat(&rig, "log") < 300 << 10; round++)
		put_many(0, KEYS, round);
	ck_assert_uint_eq(rig_stat(&rig, "compacted"), 0);
	make_checkpoint();
	for (uint64_t rounds = round + 20 * (uint64_t)_i;
		round < rounds || rig_stat(&rig, "compacted") == 0; round++)
		put_many(0, KEYS, round);
	flush_log();
	copy_files("copy");
	case_end();
	case_begin_at(&how, "copy");
	if (_i == 1)
		is_not_loaded(NULL);
	else if (host_logs != 0 || rig_stat(&rig, "index_loaded") > KEYS + KEYS / 2)
		ck_abort_msg("%s: too many entries", host_logged); /* of discarded records */
	else
		is_loaded(1);
	has_many(10000, 10000 + KEYS, 1);
	has_many(0, KEYS, round - 1);
	case_end();
}

TEST(copy_that_fails_is_told_and_the_checkpoint_succeeds)
{
	case_begin(&with_copies);
	put_many(0, MANY, 7);
	flush_log();
	start_and_hold(&checkpointer, MOMENT_INDEX_COPY);
	rig_faults[RIG_WRITE] = (struct rig_fault){.error = ENOSPC};
	end_checkpoint(MOMENT_INDEX_COPY);
	rig_faults[RIG_WRITE] = (struct rig_fault){0};
	ck_assert_int_eq(host_logs, 1);
	ck_assert_msg(
		strstr(host_logged, "No space left on device") != NULL, "%s", host_logged);
	ck_assert_int_eq(access("index", F_OK), -1);
	ck_assert_int_eq(access("index.new", F_OK), -1);
	host_logs = 0;
	case_end();
	case_begin(&with_copies);
	is_loaded(MANY);
	has_many(0, MANY, 7);
	case_end();
}

/* --- kills --- */

static const enum moment moments_of_a_copy[] = {
	MOMENT_INDEX_COPY, MOMENT_INDEX_COPIED, MOMENT_INDEX_WRITTEN};

TEST_EACH(kill_during_a_copy_leaves_the_old_one, 3)
{
	int status;

	case_begin(&with_copies);
	put_many(0, MANY, 7);
	case_end();
	size_t size, size_now;
	uint8_t *old = file_get("index", &size);
	pid_t child = fork();
	if (child == 0) {
		case_begin(&with_copies);
		put_many(0, MANY, 8);
		flush_log();
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
	case_begin(&with_copies);
	is_loaded(MANY);
	ck_assert_int_eq(access("index.new", F_OK), -1);
	has_many(0, MANY, 8);
	case_end();
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

		if (put_in(writer->own, key, number) != NB_OK)
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
	case_begin(&how);
	put_many(COLD, COLD + 100, 7); /* copies contain them even if all others change */
	case_end();
	for (unsigned round = 0; round < 4; round++) {
		__atomic_store_n(&progress->copies, 0, __ATOMIC_RELEASE);
		pid_t child = fork();
		if (child == 0)
			write_until_killed(&how, progress);
		ck_assert_int_gt(child, 0);
		kill_after_copies(child, progress, before);
		case_begin(&how);
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
		case_end();
	}
	munmap(progress, sizeof(*progress));
}
