/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine faster, with threads held at moments that matter for its synchronisation. Each of
 * these mistakes in plugins/faster was tried, and a test of this file failed:
 *
 *    1  wait_for_version() returns at once
 *    2  shift_head() does not wait for epochs
 *    3  settle() does not wait for epochs
 *    4  index_look() returns a frozen entry as FIND_HERE
 *    5  index_look() returns FIND_NONE for a frozen bucket
 *    6  record_load() does not compare the lock after it has read
 *    7  record_load() accepts an odd lock
 *    8  sized_lock() does not lock
 *    9  put_here() changes a record of the fuzzy region in place
 *   10  merge_here() does so
 *   11  delete_here() does so
 *   12  merge_here() treats a record of the fuzzy region as immutable
 *   13  index_update() stores without a comparison
 *   14  is_alone() always returns true
 *   15  index_split() does not wait for the splitting session
 *   16  index_grow() deletes the old table without waiting for epochs
 *   17  finish_from_storage() does not check whether the chain has changed
 *   18  link_copy() does not check whether the chain has changed
 *   19  promote() does not check whether the chain has changed
 *   20  freeze_word() does not wait for the session of a tentative entry
 *   21  change_word() in quick.c treats the fuzzy region as mutable
 *   22  slot_of_tag() in quick.c uses entries that match twice
 *   23  look() in quick.c finds deleted records
 *   24  get_word() or change_word() in quick.c does not enter an epoch
 *   25  pause_a_little() only yields
 *   26  index_table() splits more than the bucket of the hash
 *   27  is_alone() does not wait for a later tentative entry
 *   28  index_insert() gives way and does not wait for the decision of the other session
 *   29  index_grow() publishes a table whose pages the kernel has not provided
 *   30  index_split() marks a bucket as split before it has copied it
 *   31  append_seal() publishes the version before the region
 *   32  log_wait_for_flush() never waits for a sync
 *   33  append() does not mark a record that it could not link
 *   34  recovery uses such a record
 *   35  link_copy() does not mark a copy that it could not link
 *   36  finish_from_storage() does not enter an epoch
 *   37  op_resume() uses a record before the begin of the log
 *
 * No test fails because a thread is slow. If a correct engine makes a thread wait, the test pauses
 * for some time, in which only an incorrect engine continues.
 */
#include "store.h"

/* after store.h: `fail` is a macro of Check */
#include "faster_rig.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MANY = 4000 /* small records, three times the memory of the log */ };
enum { A_WHILE_MS = 40 };
/* Six records with such values leave room in a page for a chunk (log.h) and the copy of a record. */
enum { LONG = 560 };
enum { SLEEPS = 20 /* more sleeps than a thread has before it waits in a loop */ };

static struct rig rig;
static struct nb_session *session; /* of the test thread */

static void
begin(const struct rig *how)
{
	rig = *how;
	rig_open(&rig);
	session = rig_session(&rig, 0);
}

static void
end(void)
{
	rig_end_session(session);
	rig_close(&rig);
}

static struct buffer session_room; /* for the value of an operation */

/* --- operations, on the test thread or another one --- */

enum doing { GET, PUT, MERGE, DELETE, CHECKPOINT, PUT_MANY, TWO_PUTS };

struct actor {
	enum doing doing;
	uint64_t key, number;
	size_t size; /* of the value; the key has 8 bytes, or 13 with `is_long` */
	bool is_long;
	int answer;
	uint64_t found;
	bool is_whole, is_done; /* is_done: atomic */
	uint32_t id;
	pid_t tid; /* atomic */
	pthread_t thread;
};

static struct nb_slice
name_of(const struct actor *actor, uint8_t *room)
{
	memset(room, 'k', 13);
	memcpy(room, &actor->key, sizeof(actor->key));
	return (struct nb_slice){room, actor->is_long ? 13 : 8};
}

/* Put `count` keys from `from` on; each value repeats its key. */
static int
put_others(struct nb_session *own, uint64_t from, uint64_t count, size_t size)
{
	uint8_t bytes[LONG];
	int rc = NB_OK;

	for (uint64_t key = from; rc == NB_OK && key < from + count; key++)
		rc = rig_engine->put(
			own, slice_of(&key, sizeof(key)), rig_value(bytes, size, key));
	return rc;
}

static int
get(struct nb_session *own, struct actor *actor, struct nb_slice key)
{
	struct nb_slice value;
	int rc = rig_engine->get(own, key, &value);

	if (rc == NB_OK)
		actor->is_whole = rig_is_whole(value, &actor->found);
	return rc;
}

static int
act(struct nb_session *own, struct actor *actor)
{
	uint8_t room[16], bytes[LONG];
	struct nb_slice key = name_of(actor, room);
	struct nb_slice value = rig_value(
		bytes, actor->size != 0 ? actor->size : 8, actor->number);
	uint64_t other = 5000;

	switch (actor->doing) {
	case GET:
		return get(own, actor, key);
	case PUT:
		return rig_engine->put(own, key, value);
	case MERGE:
		return rig_engine->merge(own, key, NB_MERGE_ADD_U64, actor->number);
	case DELETE:
		return rig_engine->del(own, key);
	case CHECKPOINT:
		return rig_engine->checkpoint(rig.db);
	case PUT_MANY:
		return put_others(own, 10000, MANY, actor->size != 0 ? actor->size : 8);
	default: /* a new key, then the actor's own */
		return rig_engine->put(own, slice_of(&other, sizeof(other)), value) == NB_OK
			? rig_engine->put(own, key, value)
			: NB_FAIL;
	}
}

static void *
actor_main(void *to)
{
	struct actor *actor = to;
	struct nb_session *own = rig_session(&rig, actor->id);

	__atomic_store_n(&actor->tid, gettid(), __ATOMIC_SEQ_CST);
	actor->answer = act(own, actor);
	rig_end_session(own);
	__atomic_store_n(&actor->is_done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void
start(struct actor *actor)
{
	static uint32_t ids;

	actor->id = 1 + ids++ % (RIG_SESSIONS - 1);
	ck_assert_int_eq(pthread_create(&actor->thread, NULL, actor_main, actor), 0);
}

static bool
is_done(const struct actor *actor)
{
	return __atomic_load_n(&actor->is_done, __ATOMIC_SEQ_CST);
}

static int
finish(struct actor *actor)
{
	ck_assert_int_eq(pthread_join(actor->thread, NULL), 0);
	return actor->answer;
}

static void
start_and_hold(struct actor *actor, enum moment moment)
{
	rig_hold(moment);
	start(actor);
	rig_await_held(moment);
}

static void
wait_a_while(const struct actor *actor)
{
	for (unsigned i = 0; i < A_WHILE_MS && !is_done(actor); i++)
		usleep(1000);
}

/* The number of sleeps of the actor; yields do not count. */
static unsigned long
sleeps_of(const struct actor *actor)
{
	char path[64], line[128];
	unsigned long sleeps = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status",
		__atomic_load_n(&actor->tid, __ATOMIC_SEQ_CST));
	FILE *file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		(void)sscanf(line, "voluntary_ctxt_switches: %lu", &sleeps);
	if (file != NULL)
		fclose(file);
	return sleeps;
}

static void
await_sleeps(const struct actor *actor, unsigned long more)
{
	while (__atomic_load_n(&actor->tid, __ATOMIC_SEQ_CST) == 0)
		usleep(100);
	unsigned long before = sleeps_of(actor);
	while (sleeps_of(actor) < before + more) {
		ck_assert(!is_done(actor));
		usleep(1000);
	}
}

/* Wait until the actor is done, or the log has not grown for a while. */
static void
wait_for_log(const struct actor *actor)
{
	uint64_t size = 0;

	for (unsigned i = 0; i < A_WHILE_MS && !is_done(actor); i++) {
		uint64_t now = rig_stat(&rig, "log");

		if (now != size)
			i = 0;
		size = now;
		usleep(1000);
	}
}

static void
await_stat(const char *name, uint64_t least)
{
	while (rig_stat(&rig, name) < least)
		usleep(100);
}

static void
put_number(uint64_t key, uint64_t number)
{
	struct actor actor = {PUT, .key = key, .number = number};
	ck_assert_msg(act(session, &actor) == NB_OK, "%s", host_failure);
}

static uint64_t
number_at(uint64_t key)
{
	struct actor actor = {GET, .key = key};
	int rc = act(session, &actor);

	return rc == NB_NOT_FOUND ? UINT64_MAX : rc == NB_OK ? actor.found : UINT64_MAX - 1;
}

static void
open_again(void)
{
	end();
	begin(&(struct rig){0});
}

/* --- the log --- */

TEST_EACH(write_after_a_seal_follows_all_sealed_records, 2)
{
	struct actor cut = {CHECKPOINT}, writer = {TWO_PUTS, .key = 1, .number = 2};
	enum moment moment = _i == 0 ? MOMENT_SEAL : MOMENT_SEALED;

	begin(&(struct rig){0});
	put_number(1, 1);
	start_and_hold(&cut, moment);
	start(&writer); /* appends a record after the seal, then changes one before it */
	wait_a_while(&writer);
	rig_let_go(moment);
	ck_assert_int_eq(finish(&cut), NB_OK);
	ck_assert_int_eq(finish(&writer), NB_OK);
	ck_assert_int_eq(system("mkdir copy && cp log meta copy"), 0);
	end();
	ck_assert_int_eq(rig_try_open(&rig, "copy"), NB_OK);
	session = rig_session(&rig, 0);
	ck_assert(number_at(5000) == 2 || number_at(1) == 1);
	end();
}

/* At `commit`, a flush without a sync is not enough. */
TEST(write_at_commit_waits_for_a_sync)
{
	const uint64_t number = 1;
	const struct key key = key_of(&number, sizeof(number));

	begin(&(struct rig){.durability = NB_DUR_COMMIT});
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

	begin(&(struct rig){0});
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
	end();
}

TEST(change_in_place_is_part_of_the_written_log)
{
	struct actor writer = {PUT, .key = 1, .number = 2}, cut = {CHECKPOINT};

	begin(&(struct rig){0});
	put_number(1, 1);
	start_and_hold(&writer, MOMENT_STORE);
	start(&cut);
	wait_a_while(&cut);
	rig_let_go(MOMENT_STORE);
	ck_assert_int_eq(finish(&cut), NB_OK);
	ck_assert_int_eq(finish(&writer), NB_OK);
	open_again();
	ck_assert_uint_eq(number_at(1), 2);
	end();
}

/* A write that begins while a region is fuzzy must not change it: the flusher may write it. */
TEST_EACH(record_of_the_fuzzy_region_does_not_change, 3)
{
	static const enum doing verbs[] = {PUT, MERGE, DELETE};
	static const uint64_t after[] = {2, 3, UINT64_MAX};
	struct actor writer = {verbs[_i], .key = 1, .number = 2}, cut = {CHECKPOINT};

	begin(&(struct rig){0});
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
	end();
}

TEST(sum_of_a_fuzzy_record_includes_late_additions)
{
	struct actor first = {MERGE, .key = 1, .number = 10}, second = first,
		     cut = {CHECKPOINT};

	begin(&(struct rig){0});
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
	end();
}

/* --- values that change in place --- */

static void
put_long(uint64_t number)
{
	struct actor actor = {PUT, .key = 1, .number = number, .size = 100, .is_long = true};
	ck_assert_msg(act(session, &actor) == NB_OK, "%s", host_failure);
}

TEST_EACH(value_is_read_atomically, 2)
{
	struct actor reader = {GET, .key = 1, .is_long = true};
	struct actor writer = {PUT, .key = 1, .number = 2, .size = 100, .is_long = true};

	begin(&(struct rig){0});
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
	end();
}

TEST(two_changes_of_a_value_are_not_mixed)
{
	struct actor first = {PUT, .key = 1, .number = 2, .size = 100, .is_long = true};
	struct actor second = {PUT, .key = 1, .number = 3, .size = 100, .is_long = true};
	struct actor reader = {GET, .key = 1, .is_long = true};

	begin(&(struct rig){0});
	put_long(1);
	start_and_hold(&first, MOMENT_HALF_STORED);
	start(&second);
	wait_a_while(&second);
	rig_let_go(MOMENT_HALF_STORED);
	ck_assert_int_eq(finish(&first), NB_OK);
	ck_assert_int_eq(finish(&second), NB_OK);
	ck_assert_int_eq(act(session, &reader), NB_OK);
	ck_assert(reader.is_whole);
	end();
}

/* --- chains --- */

TEST(two_appended_sums_follow_each_other)
{
	struct actor first = {MERGE, .key = 1, .number = 10}, second = first;

	begin(&(struct rig){0});
	put_number(1, 1);
	ck_assert_int_eq(rig_engine->checkpoint(rig.db), NB_OK);
	start_and_hold(&first, MOMENT_LINK);
	ck_assert_int_eq(act(session, &second), NB_OK);
	rig_let_go(MOMENT_LINK);
	ck_assert_int_eq(finish(&first), NB_OK);
	ck_assert_uint_eq(number_at(1), 21);
	end();
}

TEST(two_sessions_that_insert_a_key_make_one_entry)
{
	struct actor first = {MERGE, .key = 1, .number = 10}, second = first;

	begin(&(struct rig){0});
	start_and_hold(&first, MOMENT_TENTATIVE);
	start(&second);
	wait_a_while(&second);
	rig_let_go(MOMENT_TENTATIVE);
	ck_assert_int_eq(finish(&first), NB_OK);
	ck_assert_int_eq(finish(&second), NB_OK);
	ck_assert_uint_eq(number_at(1), 20);
	end();
}

/* A record that an operation appends and cannot link remains in the log. */
TEST(operation_that_meets_a_tentative_entry_waits_and_appends_one_record)
{
	struct actor first = {MERGE, .key = 1, .number = 10}, second = first;

	begin(&(struct rig){0});
	start_and_hold(&first, MOMENT_TENTATIVE);
	start(&second);
	await_sleeps(&second, SLEEPS);
	ck_assert_uint_le(rig_stat(&rig, "retries"), 1);
	rig_let_go(MOMENT_TENTATIVE);
	ck_assert_int_eq(finish(&first), NB_OK);
	ck_assert_int_eq(finish(&second), NB_OK);
	ck_assert_uint_eq(number_at(1), 20);
	ck_assert_uint_eq(rig_stat(&rig, "retries"), 1);
	end();
}

/* The unlinked record has a greater address than the linked one, which changes afterwards. */
TEST(record_that_could_not_be_linked_is_not_recovered)
{
	struct actor first = {MERGE, .key = 1, .number = 10}, second = first;

	begin(&(struct rig){0});
	start_and_hold(&first, MOMENT_TENTATIVE);
	start_and_hold(&second, MOMENT_LINK);
	rig_let_go(MOMENT_TENTATIVE);
	ck_assert_int_eq(finish(&first), NB_OK);
	rig_let_go(MOMENT_LINK);
	ck_assert_int_eq(finish(&second), NB_OK);
	ck_assert_uint_eq(number_at(1), 20);
	open_again();
	ck_assert_uint_eq(number_at(1), 20);
	end();
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

	begin(&(struct rig){0});
	put_number(neighbour_of(1), 1);
	start_and_hold(&later, MOMENT_DECIDED);
	index_clean(&rig.db->index, log_tail(&rig.db->log), rig.db->stats_epoch);
	start(&earlier);
	wait_a_while(&earlier);
	rig_let_go(MOMENT_DECIDED);
	ck_assert_int_eq(finish(&later), NB_OK);
	ck_assert_int_eq(finish(&earlier), NB_OK);
	ck_assert_uint_eq(number_at(1), 20);
	end();
}

TEST(sum_of_a_record_on_storage_includes_concurrent_puts)
{
	struct actor adder = {MERGE, .key = 1, .number = 10};

	begin(&(struct rig){.names = {"reads"}, .values = {READS_THREADS}});
	put_number(1, 1);
	ck_assert_int_eq(put_others(session, 10000, MANY, 8), NB_OK);
	rig_hold_reads();
	start(&adder);
	await_stat("storage_reads", 1);
	put_number(1, 100);
	rig_release_reads();
	ck_assert_int_eq(finish(&adder), NB_OK);
	ck_assert_uint_eq(number_at(1), 110);
	end();
}

TEST(sum_of_a_record_on_storage_is_not_flushed_before_it_is_linked)
{
	struct actor adder = {MERGE, .key = 1, .number = 10}, cut = {CHECKPOINT};

	begin(&(struct rig){.names = {"reads"}, .values = {READS_THREADS}});
	put_number(1, 1);
	ck_assert_int_eq(put_others(session, 10000, MANY, 8), NB_OK);
	start_and_hold(&adder, MOMENT_LINK);
	start(&cut);
	wait_a_while(&cut);
	ck_assert(!is_done(&cut));
	rig_let_go(MOMENT_LINK);
	ck_assert_int_eq(finish(&adder), NB_OK);
	ck_assert_int_eq(finish(&cut), NB_OK);
	ck_assert_uint_eq(number_at(1), 11);
	end();
}

/* A get appends the record that it has read. This must not hide a put in between. */
TEST(promoted_record_does_not_hide_a_put)
{
	struct actor reader = {GET, .key = 1};

	begin(&(struct rig){.names = {"promote"}, .values = {1}});
	put_number(1, 1);
	ck_assert_int_eq(put_others(session, 10000, MANY, 8), NB_OK);
	start_and_hold(&reader, MOMENT_PROMOTE);
	put_number(1, 2);
	rig_let_go(MOMENT_PROMOTE);
	ck_assert_int_eq(finish(&reader), NB_OK);
	ck_assert_uint_eq(reader.found, 1);
	ck_assert_uint_eq(number_at(1), 2);
	ck_assert_uint_eq(rig_stat(&rig, "promoted"), 0);
	end();
}

/*
 * A put of the key comes just before the compaction copies its old record. The long records leave
 * free space at the end of each page, so the put has room.
 */
TEST(compaction_does_not_bring_back_an_old_value)
{
	struct actor writer = {PUT_MANY, .size = LONG};

	begin(&(struct rig){.names = {"log_limit"}, .values = {160 << 10}});
	put_number(1, 1);
	start_and_hold(&writer, MOMENT_COPY);
	put_number(1, 2);
	rig_let_go(MOMENT_COPY);
	ck_assert_int_eq(finish(&writer), NB_FAIL); /* the whole log is needed */
	ck_assert_uint_eq(number_at(1), 2);
	end();
}

/*
 * The record of the put has a smaller address than the copy, and is linked first. So compaction
 * cannot link the copy. Recovery must not use the copy, although its address is greater.
 */
TEST(copy_that_could_not_be_linked_is_marked)
{
	struct actor writer = {PUT_MANY, .size = LONG}, putter = {PUT, .key = 1, .number = 2};

	begin(&(struct rig){.names = {"log_limit"}, .values = {160 << 10}});
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
	end();
}

/* A read of a record has got one block before compaction discards the record, and one after. */
TEST(record_that_compaction_has_discarded_meanwhile_is_not_used)
{
	const uint64_t name = 1;
	struct op op = {.verb = NB_REQ_GET,
		.key = key_of(&name, sizeof(name)),
		.to = &session_room,
		.wanted = LONG};

	begin(&(struct rig){.names = {"reads"}, .values = {READS_THREADS}});
	ck_assert_int_eq(put_others(session, name, 1, LONG), NB_OK);
	ck_assert_int_eq(put_others(session, 10000, MANY, 8), NB_OK);
	ck_assert_int_eq(op_try(session, &op), OP_READ);
	op.wanted = LONG + 64;
	ck_assert_int_eq(op_start_read(session, &op), NB_OK);
	ck_assert_int_eq(requests_wait_for(session, &op), NB_OK);
	memset((char *)op.read.data + LONG / 2, 0, LONG / 2);
	log_truncate(&rig.db->log, RIG_PAGE);
	ck_assert_int_eq(op_resume(session, &op), NB_NOT_FOUND);
	op_free_block(&op);
	end();
}

/* --- growth of the index --- */

enum { ENTRIES = 256 /* so many make an index of 64 buckets grow */ };

/*
 * Begin the growth of the index. The database contains the keys from 1 to ENTRIES, with themselves
 * as values, and the long key of put_long().
 */
static void
begin_growth(void)
{
	begin(&(struct rig){0});
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
	end();
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
	end();
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
	end();
}

/* So no operation waits until the kernel has cleared pages of the new table. */
TEST(growth_begins_with_a_populated_table)
{
	const uint64_t size = 256 << 10;
	const long page = sysconf(_SC_PAGESIZE);
	uint64_t key = 0;

	begin(&(struct rig){.names = {"index_size"}, .values = {size}});
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
	end();
}

TEST(bucket_is_split_after_its_tentative_entry_is_resolved)
{
	struct actor writer = {PUT, .key = 9000, .number = 5};

	begin(&(struct rig){0});
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
	end();
}

TEST(old_table_stays_while_it_is_used)
{
	struct actor reader = {GET, .key = 1};

	begin(&(struct rig){0});
	put_number(1, 1);
	start_and_hold(&reader, MOMENT_TABLE);
	ck_assert_int_eq(put_others(session, 2, ENTRIES, 8), NB_OK);
	await_stat("index", 2 * 64 * 64);
	for (unsigned i = 0; i < A_WHILE_MS && rig_stat(&rig, "index_growths") == 0; i++)
		usleep(1000);
	rig_let_go(MOMENT_TABLE);
	ck_assert_int_eq(finish(&reader), NB_OK);
	ck_assert_uint_eq(reader.found, 1);
	end();
}

/*
 * A session searches a bucket while its entry moves to another word, so two words match. Their
 * addresses together are the address of another record of the key.
 */
TEST(entries_that_match_twice_are_not_mixed)
{
	const uint64_t key = 1;

	begin(&(struct rig){0});
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
	end();
}
