/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine faster: failures of storage, recovery, limits and requests in flight. */
#include "faster_case.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "scratch.h"

enum { MANY = 6000 /* small records: 144 KB of log, 32 KiB of them in memory */ };
enum { READS_THREADS = 2, DIRECT_NO = 2 };

/* --- storage that fails --- */

TEST(full_storage_is_reported_and_the_records_stay_readable)
{
	uint64_t key = 0, number;
	int rc = NB_OK;

	case_begin(&(struct rig){0});
	rig_faults[RIG_WRITE] = (struct rig_fault){.error = ENOSPC, .after = 2};
	for (; rc == NB_OK && key < MANY; key++)
		rc = put_in(session, key, key);
	ck_assert_int_eq(rc, NB_FAIL);
	is_told("No space left on device");
	is_told("log");
	ck_assert_int_eq(get_number(key - 2, &number), NB_OK); /* still in memory */
	ck_assert_uint_eq(number, key - 2);
	rig_end_session(session);
	ck_assert_int_eq(rig_engine->close(rig.db), NB_FAIL);
	is_told("No space left on device");
}

TEST(failed_sync_is_reported_to_the_waiting_write)
{
	case_begin(&(struct rig){.durability = NB_DUR_COMMIT});
	put_number(1, 1);
	rig_faults[RIG_SYNC] = (struct rig_fault){.error = EIO};
	ck_assert_int_eq(put_in(session, 2, 2), NB_FAIL);
	is_told("Input/output error");
	rig_faults[RIG_SYNC] = (struct rig_fault){0};
	ck_assert_int_eq(put_in(session, 3, 3), NB_FAIL); /* the lost writes are unknown */
	rig_end_session(session);
	ck_assert_int_eq(rig_engine->close(rig.db), NB_FAIL);
}

TEST(failed_read_is_reported_with_its_place)
{
	uint64_t number = 0;

	case_begin(&(struct rig){.names = {"reads"}, .values = {READS_THREADS}});
	put_many(0, MANY, 7);
	rig_faults[RIG_READ] = (struct rig_fault){.error = EIO};
	ck_assert_int_eq(get_number(0, &number), NB_FAIL);
	is_told("Input/output error");
	is_told("a read of the log");
	rig_faults[RIG_READ] = (struct rig_fault){0};
	has_many(0, MANY, 7);
	case_end();
}

TEST(short_reads_and_writes_are_completed)
{
	rig_faults[RIG_WRITE].shortest = 1000;
	rig_faults[RIG_READ].shortest = 700;
	case_begin(&(struct rig){
		.names = {"reads", "direct"}, .values = {READS_THREADS, DIRECT_NO}});
	put_many(0, MANY, 7);
	has_many(0, MANY, 7);
	case_end();
	case_begin(&(struct rig){
		.names = {"reads", "direct"}, .values = {READS_THREADS, DIRECT_NO}});
	has_many(0, MANY, 7);
	case_end();
}

/* --- opening --- */

TEST(damage_of_a_closed_log_is_reported_and_the_open_fails)
{
	static const size_t places[] = {100, 5000, 60000, 120000};

	case_begin(&(struct rig){0});
	put_many(0, MANY, 7);
	case_end();
	for (size_t i = 0; i < UNIT_COUNT(places); i++) {
		file_flip("log", places[i]);
		ck_assert_int_eq(rig_try_open(&rig, "."), NB_FAIL);
		is_told("is damaged after byte");
		file_flip("log", places[i]);
	}
	ck_assert_int_eq(truncate("log", 80000), 0);
	ck_assert_int_eq(rig_try_open(&rig, "."), NB_FAIL);
	is_told("is damaged after byte");
}

TEST(damage_of_meta_is_reported)
{
	case_begin(&(struct rig){0});
	case_end();
	file_flip("meta", 20);
	ck_assert_int_eq(rig_try_open(&rig, "."), NB_FAIL);
	is_told("meta is damaged");
}

/* If a database was not closed, recovery drops the log after its last checkpoint. */
TEST(torn_end_of_an_open_log_is_dropped)
{
	uint64_t number;

	case_begin(&(struct rig){0});
	put_many(0, MANY, 7);
	ck_assert_int_eq(rig_engine->checkpoint(rig.db), NB_OK);
	put_number(MANY, 1);
	ck_assert_int_eq(system("mkdir copy && cp log meta copy"), 0);
	case_end();
	ck_assert_int_eq(system("head -c 200 /dev/urandom >>copy/log"), 0);
	ck_assert_int_eq(rig_try_open(&rig, "copy"), NB_OK);
	session = rig_session(&rig, 0);
	has_many(0, MANY, 7);
	ck_assert_int_eq(get_number(MANY, &number), NB_NOT_FOUND);
	case_end();
}

/* Write bytes over those of a file, or after its end. */
static void
overwrite(const char *path, size_t at, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "r+");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fseek(file, (long)at, SEEK_SET), 0);
	ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
	ck_assert_int_eq(fclose(file), 0);
}

/*
 * An open drops records. Then a new record with the same first bytes is written, but the power
 * fails before the rest of it reaches the file.
 */
TEST(dropped_records_do_not_become_valid_again)
{
	uint64_t number;
	size_t size;

	case_begin(&(struct rig){0});
	put_number(1, 1);
	case_end();
	uint64_t *meta = (uint64_t *)(void *)file_get("meta", &size);
	size_t tail = (size_t)meta[3]; /* the end of the log at the close */
	case_begin(&(struct rig){0});
	put_number(2, 2);
	ck_assert_int_eq(rig_engine->checkpoint(rig.db), NB_OK);
	ck_assert_int_eq(system("mkdir copy later && cp log meta copy"), 0);
	case_end();
	uint8_t *log = file_get("copy/log", &size);
	ck_assert_uint_ge(size, tail + 24);
	file_flip("copy/log", tail);
	ck_assert_msg(rig_try_open(&rig, "copy") == NB_OK, "%s", host_failure);
	ck_assert_int_eq(system("cp copy/log copy/meta later"), 0);
	rig_close(&rig);
	overwrite("later/log", tail, log + tail, 8);
	ck_assert_msg(rig_try_open(&rig, "later") == NB_OK, "%s", host_failure);
	session = rig_session(&rig, 0);
	ck_assert_int_eq(get_number(1, &number), NB_OK);
	ck_assert_int_eq(get_number(2, &number), NB_NOT_FOUND);
	case_end();
	free(meta);
	free(log);
}

/* Pages after the checkpoint may contain changes without earlier ones: they are dropped. */
TEST(killed_process_at_none_recovers_its_last_checkpoint)
{
	uint64_t number;

	case_begin(&(struct rig){0});
	put_number(1, 1);
	ck_assert_int_eq(rig_engine->checkpoint(rig.db), NB_OK);
	put_many(0, MANY, 7);
	ck_assert_uint_gt(rig_stat(&rig, "log_written"), 8 * RIG_PAGE);
	ck_assert_int_eq(system("mkdir copy && cp log meta copy"), 0);
	case_end();
	case_begin_at(&(struct rig){0}, "copy");
	ck_assert_int_eq(get_number(1, &number), NB_OK);
	ck_assert_uint_eq(number, 1);
	for (uint64_t key = 0; key < MANY; key++)
		ck_assert_int_eq(get_number(key, &number), key == 1 ? NB_OK : NB_NOT_FOUND);
	case_end();
}

TEST(database_in_use_is_refused)
{
	struct rig second = {0};

	case_begin(&(struct rig){0});
	ck_assert_int_eq(rig_try_open(&second, "."), NB_FAIL);
	is_told("in use");
	case_end();
}

/* A new database must not use the log of another one, whose records would then appear in it. */
TEST(log_in_another_directory_is_found_and_not_confused)
{
	const struct rig how = {.durability = NB_DUR_PERIODIC, .log_dir = "elsewhere"};
	struct rig other = how;

	ck_assert_int_eq(system("mkdir elsewhere second"), 0);
	case_begin(&how);
	put_many(0, MANY, 7);
	case_end();
	ck_assert_int_eq(access("elsewhere/log", F_OK), 0);
	ck_assert_int_eq(access("log", F_OK), -1);
	case_begin(&how);
	has_many(0, MANY, 7);
	case_end();
	ck_assert_int_eq(rig_try_open(&other, "second"), NB_UNSUPPORTED);
	is_told("elsewhere/log is the log of another database");
	other.log_dir = NULL;
	ck_assert_int_eq(rig_try_open(&other, "."), NB_FAIL);
	is_told("the log of this database is not at ./log");
	ck_assert_int_eq(access("log", F_OK), -1);
	other.log_dir = "nowhere";
	ck_assert_int_eq(rig_try_open(&other, "second"), NB_FAIL);
	is_told("nowhere/log: No such file or directory");
}

/* A child process creates the database and exits at the moment. */
static void
die_while_opening(struct rig *how, const char *path, enum moment moment)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		rig_die_at(moment);
		(void)rig_try_open(how, path);
		_exit(1);
	}
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

/* A crash at each of them leaves different files in the directory of the log, and no meta. */
static const enum moment moments_of_a_new_log[] = {
	MOMENT_LOG_MADE, MOMENT_LOG_LINKED, MOMENT_LOG_NAMED};

TEST(log_left_before_meta_is_replaced_only_by_its_own_database)
{
	struct rig how = {.durability = NB_DUR_PERIODIC, .log_dir = "elsewhere"};

	ck_assert_int_eq(system("mkdir elsewhere first second"), 0);
	for (size_t i = 0; i < UNIT_COUNT(moments_of_a_new_log); i++) {
		enum moment moment = moments_of_a_new_log[i];

		die_while_opening(&how, "first", moment);
		ck_assert_int_eq(
			access("elsewhere/log", F_OK), moment == MOMENT_LOG_MADE ? -1 : 0);
		if (moment != MOMENT_LOG_MADE) {
			ck_assert_int_eq(rig_try_open(&how, "second"), NB_UNSUPPORTED);
			is_told("elsewhere/log is the log of another database");
			ck_assert_int_eq(access("elsewhere/log", F_OK), 0);
		}
		rig = how;
		ck_assert_msg(rig_try_open(&rig, "first") == NB_OK, "%s", host_failure);
		ck_assert_int_eq(entries_of("elsewhere"), 1);
		session = rig_session(&rig, 0);
		put_many(0, MANY, 7);
		case_end();
		/* After the first write, no database may remove the log. */
		ck_assert_int_eq(unlink("first/meta"), 0);
		ck_assert_int_eq(rig_try_open(&how, "first"), NB_UNSUPPORTED);
		ck_assert_int_eq(unlink("elsewhere/log"), 0);
	}
}

/* The directory that the log identifies was moved, with its meta. */
TEST(log_without_records_of_a_moved_database_is_kept)
{
	struct rig how = {.durability = NB_DUR_NONE, .log_dir = "elsewhere"};
	struct rig moved = how;

	ck_assert_int_eq(system("mkdir elsewhere first"), 0);
	ck_assert_msg(rig_try_open(&how, "first") == NB_OK, "%s", host_failure);
	rig_close(&how);
	ck_assert_int_eq(system("mv first moved && mkdir first"), 0);
	ck_assert_int_eq(rig_try_open(&how, "first"), NB_UNSUPPORTED);
	is_told("elsewhere/log is the log of another database");
	ck_assert_msg(rig_try_open(&moved, "moved") == NB_OK, "%s", host_failure);
	rig_close(&moved);
}

TEST(other_page_size_is_refused)
{
	struct rig other = {.names = {"page_size"}, .values = {8192}};

	case_begin(&(struct rig){0});
	case_end();
	ck_assert_int_eq(rig_try_open(&other, "."), NB_UNSUPPORTED);
	is_told("pages of 4096 bytes");
}

/* --- limits --- */

TEST(limit_of_the_log_is_reported_and_gets_continue)
{
	uint64_t key = 0, number;
	int rc = NB_OK;

	case_begin(&(struct rig){.names = {"log_limit"}, .values = {64 << 10}});
	for (; rc == NB_OK && key < MANY; key++)
		rc = put_in(session, key, key);
	ck_assert_int_eq(rc, NB_FAIL);
	is_told("log_limit");
	for (uint64_t old = 0; old + 1 < key; old++) {
		ck_assert_int_eq(get_number(old, &number), NB_OK);
		ck_assert_uint_eq(number, old);
	}
	case_end();
}

/* Compaction drops old values and keeps the newest ones, in this open and the next. */
TEST(log_at_its_limit_is_compacted)
{
	enum { KEYS = 300, ROUNDS = 40 };
	const struct rig how = {.names = {"log_limit"}, .values = {128 << 10}};
	uint64_t number;

	case_begin(&how);
	for (uint64_t key = 0; key < KEYS; key++) /* written once; some are deleted below */
		put_number(10000 + key, key);
	for (uint64_t key = 0; key < KEYS; key += 3) {
		uint64_t name = 10000 + key;
		int rc = rig_engine->del(session, (struct nb_slice){&name, sizeof(name)});
		ck_assert_int_eq(rc, NB_OK);
	}
	for (uint64_t i = 0; i < ROUNDS * KEYS; i++) {
		uint8_t room[64];
		uint64_t key = i % KEYS;
		int rc = rig_engine->put(session, (struct nb_slice){&key, sizeof(key)},
			rig_value(room, 8 + i / KEYS % 2 * 40, i));
		ck_assert_msg(rc == NB_OK, "%s", host_failure);
	}
	ck_assert_uint_gt(rig_stat(&rig, "compacted"), 128 << 10);
	ck_assert_uint_lt(rig_stat(&rig, "log"), 160 << 10);
	for (unsigned opens = 0; opens < 2; opens++) {
		for (uint64_t key = 0; key < KEYS; key++) {
			ck_assert_int_eq(get_number(key, &number), NB_OK);
			ck_assert_uint_eq(number, (ROUNDS - 1) * KEYS + key);
			int rc = get_number(10000 + key, &number);
			ck_assert_int_eq(rc, key % 3 == 0 ? NB_NOT_FOUND : NB_OK);
			ck_assert(rc != NB_OK || number == key);
		}
		case_end();
		case_begin(&how);
	}
	case_end();
}

/*
 * Compaction discards tombstones, so it frees their bytes. The log was longer than its limit by
 * more than the deleted records and their tombstones.
 */
TEST(discarded_tombstones_are_compacted_bytes)
{
	enum { KEYS = 6000 /* 144 KB of tombstones */ };
	const uint64_t size = 24 * KEYS;

	case_begin(&(struct rig){.names = {"log_limit"}, .values = {384 << 10}});
	for (uint64_t key = 0; key < KEYS; key++)
		put_number(key, key);
	ck_assert_int_eq(rig_engine->checkpoint(rig.db), NB_OK);
	for (uint64_t key = 0; key < KEYS; key++) {
		int rc = rig_engine->del(session, (struct nb_slice){&key, sizeof(key)});
		ck_assert_msg(rc == NB_OK, "%s", host_failure);
	}
	ck_assert_uint_eq(rig_stat(&rig, "tombstones"), KEYS);
	for (uint64_t i = 0; i < 20000; i++) /* 480 KB, of 2000 keys */
		put_number(KEYS + i % 2000, i);
	ck_assert_uint_ge(rig_stat(&rig, "compacted"), 2 * size);
	case_end();
}

/* Compaction removes the entries of the deleted keys, so later ones need no larger index. */
TEST(index_does_not_grow_while_deleted_keys_are_replaced)
{
	enum { KEYS = 60000, ROOM = 3 * (1 << 14) /* entries in 1 MiB */ };
	static const struct rig how = {
		.names = {"log_limit", "index_size"}, .values = {384 << 10, 1 << 20}};

	case_begin(&how);
	for (uint64_t key = 0; key < KEYS; key++) {
		put_number(key, key);
		int rc = rig_engine->del(session, (struct nb_slice){&key, sizeof(key)});
		ck_assert_msg(rc == NB_OK, "%s", host_failure);
	}
	ck_assert_uint_lt(rig_stat(&rig, "index_entries"), ROOM);
	ck_assert_uint_eq(rig_stat(&rig, "index_growths"), 0);
	case_end();
}

TEST(record_longer_than_a_page_is_refused)
{
	static uint8_t bytes[RIG_PAGE];
	uint64_t key = 1, number;

	case_begin(&(struct rig){0});
	int rc = rig_engine->put(session, (struct nb_slice){&key, sizeof(key)},
		(struct nb_slice){bytes, sizeof(bytes)});
	ck_assert_int_eq(rc, NB_FAIL);
	is_told("page_size");
	ck_assert_int_eq(get_number(key, &number), NB_NOT_FOUND);
	case_end();
}

/* --- sessions --- */

TEST(idle_session_delays_neither_flush_nor_growth)
{
	case_begin(&(struct rig){0});
	struct nb_session *idle = rig_session(&rig, 1);
	uint64_t key = 1;
	struct nb_slice value;

	ck_assert_int_eq(rig_engine->get(idle, (struct nb_slice){&key, sizeof(key)}, &value),
		NB_NOT_FOUND);
	put_many(0, MANY, 7);
	has_many(0, MANY, 7);
	ck_assert_int_eq(rig_engine->checkpoint(rig.db), NB_OK);
	rig_await(&rig, "index_growths");
	ck_assert_uint_gt(rig_stat(&rig, "log"), rig_stat(&rig, "log_in_memory"));
	rig_end_session(idle);
	case_end();
}

static struct nb_request
request(uint64_t tag, uint32_t verb, const uint64_t *key, const uint64_t *value)
{
	return (struct nb_request){.tag = tag,
		.verb = verb,
		.key = {key, sizeof(*key)},
		.value = {value, value != NULL ? sizeof(*value) : 0},
		.operand = 100};
}

static size_t
reap_all(struct nb_completion *done, size_t room, uint64_t timeout_ns)
{
	size_t count;

	ck_assert_int_eq(rig_engine->reap(session, done, room, &count, timeout_ns), NB_OK);
	return count;
}

static uint64_t
number_of(const struct nb_completion *done)
{
	uint64_t number;

	ck_assert_int_eq(done->answer, NB_OK);
	ck_assert_uint_eq(done->value.size, sizeof(number));
	memcpy(&number, done->value.data, sizeof(number));
	return number;
}

/*
 * While a request waits for a read, requests of other keys are answered. Requests of the same key
 * keep their order.
 */
TEST(request_waiting_for_storage_blocks_only_its_key)
{
	static const uint64_t old = 1, fresh = MANY, value = 5;
	struct nb_completion done[8];
	size_t taken, count;

	case_begin(&(struct rig){.inflight = 8, .names = {"reads"}, .values = {READS_THREADS}});
	put_many(0, MANY, 7);
	put_number(fresh, 9);
	const struct nb_request requests[] = {
		request(0, NB_REQ_GET, &old, NULL),
		request(1, NB_REQ_GET, &fresh, NULL),
		request(2, NB_REQ_MERGE, &old, NULL),
		request(3, NB_REQ_GET, &old, NULL),
		request(4, NB_REQ_PUT, &old, &value),
		request(5, NB_REQ_GET, &old, NULL),
	};
	rig_hold_reads();
	ck_assert_int_eq(rig_engine->submit(session, requests, 6, &taken), NB_PENDING);
	ck_assert_uint_eq(taken, 6);
	count = reap_all(done, 8, 1000000000);
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(done[0].tag, 1);
	ck_assert_uint_eq(number_of(&done[0]), 9);
	ck_assert_uint_eq(reap_all(done, 8, 0), 0);
	rig_release_reads();
	for (uint64_t left = 5, next = 0; left > 0;) {
		count = reap_all(done, 8, 1000000000);
		for (size_t i = 0; i < count; i++) {
			next += next == 1;
			ck_assert_uint_eq(done[i].tag, next++);
			if (done[i].tag == 0)
				ck_assert_uint_eq(number_of(&done[i]), old + 7);
			if (done[i].tag == 3)
				ck_assert_uint_eq(number_of(&done[i]), old + 107);
			if (done[i].tag == 5)
				ck_assert_uint_eq(number_of(&done[i]), value);
		}
		left -= count;
	}
	case_end();
}

/* The second get of a record on storage finds it in memory, and so does a get after an open. */
TEST_EACH(promoted_record_is_found_in_memory, 2)
{
	const struct rig how = {.names = {"promote"}, .values = {1}};
	uint8_t room[64];
	uint64_t key = 1;
	struct nb_slice value = rig_value(room, _i == 0 ? 8 : 50, 77), found;

	case_begin(&how);
	ck_assert_int_eq(rig_engine->put(session, slice_of(&key, sizeof(key)), value), NB_OK);
	for (uint64_t other = 10; other < MANY; other++)
		put_number(other, other);
	for (unsigned i = 0; i < 3; i++) {
		int rc = rig_engine->get(session, slice_of(&key, sizeof(key)), &found);
		ck_assert_msg(rc == NB_OK, "%s", host_failure);
		ck_assert_uint_eq(found.size, value.size);
		ck_assert_mem_eq(found.data, value.data, value.size);
		ck_assert_uint_eq(rig_stat(&rig, "storage_reads"), 1);
		ck_assert_uint_eq(rig_stat(&rig, "promoted"), 1);
	}
	case_end();
	case_begin(&how);
	ck_assert_int_eq(rig_engine->get(session, slice_of(&key, sizeof(key)), &found), NB_OK);
	ck_assert_mem_eq(found.data, value.data, value.size);
	ck_assert_uint_eq(rig_stat(&rig, "storage_reads"), 0);
	case_end();
}

/* multi_get returns the value of each key. */
TEST(each_of_many_gets_returns_its_value)
{
	enum { COUNT = 100 };
	uint64_t numbers[COUNT], number;
	struct nb_slice keys[COUNT], values[COUNT];
	int32_t answers[COUNT];

	case_begin(&(struct rig){0});
	put_many(0, MANY, 7);
	for (uint64_t i = 0; i < COUNT; i++) {
		numbers[i] = i * 61;
		keys[i] = (struct nb_slice){&numbers[i], sizeof(number)};
	}
	ck_assert_int_eq(rig_engine->multi_get(session, keys, COUNT, values, answers), NB_OK);
	for (uint64_t i = 0; i < COUNT; i++) {
		ck_assert_int_eq(answers[i], numbers[i] < MANY ? NB_OK : NB_NOT_FOUND);
		if (answers[i] != NB_OK)
			continue;
		memcpy(&number, values[i].data, sizeof(number));
		ck_assert_uint_eq(number, numbers[i] + 7);
	}
	case_end();
}
