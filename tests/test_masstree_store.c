/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Masstree's logs and checkpoints, tested with the engine table. The tests change the files as
 * a crash, a full disk or damage would, and check the records that an open finds. `mininb
 * crash` tests real kills and simulated power failures.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "masstree.h"
#include "store.h"
#include "unit.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SESSIONS = 3, SEGMENT = 64 << 10 };

/* The numbers of files synced, by several threads: log segments, parts, and directories. */
static struct {
	unsigned segments, parts, directories, others;
} synced;

int
fsync(int fd)
{
	char link[64], path[512];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t size = readlink(link, path, sizeof(path) - 1);
	path[size > 0 ? size : 0] = '\0';
	const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
	unsigned *count = strstr(name, "-log.") != NULL ? &synced.segments
		: strstr(name, "-checkpoint.") != NULL  ? &synced.parts
		: strstr(name, "masstree") == NULL      ? &synced.directories
							: &synced.others;
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	return (int)syscall(SYS_fsync, fd);
}

/* While `is_held`, a sync of a mapping waits and sets `is_waiting`. */
static struct {
	bool is_held, is_waiting; /* atomic */
} syncs;

int
msync(void *at, size_t size, int flags)
{
	while (__atomic_load_n(&syncs.is_held, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&syncs.is_waiting, true, __ATOMIC_RELEASE);
		usleep(1000);
	}
	return (int)syscall(SYS_msync, at, size, (long)flags);
}

static char failure[1024], warning[1024];

static int NB_PRINTF(2, 3) keep_failure(int code, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	vsnprintf(failure, sizeof(failure), fmt, args);
	va_end(args);
	return code;
}

static void NB_PRINTF(2, 3) keep_log(uint32_t level, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	if (level == NB_LOG_WARNING)
		vsnprintf(warning, sizeof(warning), fmt, args);
	va_end(args);
}

static const struct nb_host host = {
	.size = sizeof(host), .abi = NB_ENGINE_ABI, .fail = keep_failure, .log = keep_log};
static const struct nb_engine *const engine = &masstree_persistent;

/* An open database. A test may set the directories and the level before open_it(). */
static struct {
	const char *log_dirs, *checkpoint_dirs;
	uint32_t durability;
	uint64_t sync_interval_ns;
	bool accepts_loss;
	const char *path;
	struct nb_db *db;
	uint32_t session_count;
	struct nb_session *sessions[SESSIONS];
} it = {.session_count = SESSIONS,
	.durability = NB_DUR_PROCESS,
	.sync_interval_ns = 1000000000,
	.path = "."};

static int
try_open(uint32_t flags)
{
	struct nb_option_value values[ACCEPT_LOSS + 1] = {
		[HUGEPAGES].u64 = 0,
		[PREFETCH].u64 = 1,
		[PERMUTATION].u64 = 1,
		[PERSISTENT].u64 = 1,
		[LOG_DIRS] = {.text = it.log_dirs, .is_set = it.log_dirs != NULL},
		[CHECKPOINT_DIRS] = {.text = it.checkpoint_dirs,
			.is_set = it.checkpoint_dirs != NULL},
		[LOG_SEGMENT].u64 = SEGMENT,
		[SYNC_INTERVAL].u64 = it.sync_interval_ns,
		[ACCEPT_LOSS].u64 = it.accepts_loss,
	};
	struct nb_open_args args = {.size = sizeof(args),
		.flags = flags,
		.host = &host,
		.path = it.path,
		.options = values,
		.sessions = it.session_count,
		.durability = it.durability};

	return engine->open(&it.db, &args);
}

static void
open_it(void)
{
	int rc = try_open(NB_OPEN_CREATE);

	ck_assert_msg(rc == NB_OK, "%s", failure);
	for (uint32_t id = 0; id < it.session_count; id++)
		ck_assert_int_eq(engine->session_open(&it.sessions[id], it.db, id), NB_OK);
}

static void
close_it(void)
{
	for (uint32_t id = 0; id < it.session_count; id++)
		ck_assert_int_eq(engine->session_close(it.sessions[id]), NB_OK);
	ck_assert_int_eq(engine->close(it.db), NB_OK);
}

static void
reopen(void)
{
	close_it();
	open_it();
}

static struct nb_slice
key_of(unsigned number, char *room)
{
	return (struct nb_slice){
		room, (size_t)snprintf(room, 32, "%08xkey", number * 2654435761u)};
}

static int
try_put(unsigned session, unsigned number, unsigned version)
{
	char key[32];

	return engine->put(it.sessions[session], key_of(number, key),
		(struct nb_slice){&version, sizeof(version)});
}

static void
put_one(unsigned session, unsigned number, unsigned version)
{
	int rc = try_put(session, number, version);

	ck_assert_msg(rc == NB_OK, "%s", failure);
}

/* The version of a record; 0: the record does not exist. */
static unsigned
version_of(unsigned number)
{
	struct nb_slice value;
	unsigned version = 0;
	char key[32];

	if (engine->get(it.sessions[0], key_of(number, key), &value) != NB_OK)
		return 0;
	ck_assert_uint_eq(value.size, sizeof(version));
	memcpy(&version, value.data, sizeof(version));
	engine->release(it.sessions[0]);
	return version;
}

/* Find the only file in the directory whose name ends with `end`. */
static void
find_file(char *path, const char *directory, const char *end)
{
	DIR *dir = opendir(directory);

	ck_assert_ptr_nonnull(dir);
	*path = '\0';
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
		size_t size = strlen(entry->d_name);
		if (size >= strlen(end) && strcmp(entry->d_name + size - strlen(end), end) == 0)
			snprintf(path, 512, "%s/%s", directory, entry->d_name);
	}
	closedir(dir);
	ck_assert_msg(*path != '\0', "no file *%s in %s", end, directory);
}

static unsigned
count_files(const char *directory, const char *part)
{
	DIR *dir = opendir(directory);
	unsigned count = 0;

	ck_assert_ptr_nonnull(dir);
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		count += strstr(entry->d_name, part) != NULL;
	closedir(dir);
	return count;
}

/* Change the byte at `before_end` bytes before the end; a second call restores it. */
static void
damage(const char *path, off_t before_end)
{
	int fd = open(path, O_RDWR);
	struct stat status;
	unsigned char byte;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &status), 0);
	off_t at = status.st_size - before_end;
	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 0x55;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* Replace a part of the state file, with a new checksum. */
static void
edit_state(const char *from, const char *to)
{
	char text[4096], edited[8192];
	FILE *file = fopen("masstree.state", "r+");

	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	char *at = strstr(text, from), *end = strstr(text, "end ");
	ck_assert_msg(at != NULL && end != NULL, "no '%s' in %s", from, text);
	int size = snprintf(edited, sizeof(edited), "%.*s%s%.*s", (int)(at - text), text, to,
		(int)(end - at) - (int)strlen(from), at + strlen(from));
	rewind(file);
	fprintf(file, "%send %016llx\n", edited,
		(unsigned long long)XXH3_64bits(edited, (size_t)size));
	ck_assert_int_eq(ftruncate(fileno(file), ftell(file)), 0);
	fclose(file);
}

/* Close it as a kill would: the state does not state the changes in the logs. */
static void
crash_it(void)
{
	char text[4096], line[64];

	close_it();
	FILE *file = fopen("masstree.state", "r");
	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	unsigned long long changes = strtoull(strstr(text, "\nchanges ") + 9, NULL, 10);
	snprintf(line, sizeof(line), "changes %llu\n", changes);
	edit_state(line, "");
}

/* Each open has a log of its own. Recovery repeats the changes of all logs in order. */
TEST(writes_survive_any_number_of_opens)
{
	open_it();
	for (unsigned round = 1; round <= 100; round++) {
		for (unsigned i = 0; i < 20; i++)
			put_one(i % SESSIONS, i, round);
		put_one(1, 1000 + round, round);
		reopen();
	}
	for (unsigned i = 0; i < 20; i++)
		ck_assert_uint_eq(version_of(i), 100);
	for (unsigned round = 1; round <= 100; round++)
		ck_assert_uint_eq(version_of(1000 + round), round);
	close_it();
}

/* Put `count` records of that version and delete record 0, in one list. */
static int
try_list(unsigned session, unsigned count, unsigned version)
{
	enum { LIST_MAX = 8000 };
	static struct nb_step steps[LIST_MAX];
	static char keys[LIST_MAX][32];

	ck_assert_uint_lt(count, LIST_MAX);
	for (unsigned i = 0; i <= count; i++)
		steps[i] = (struct nb_step){.key = key_of(i, keys[i]),
			.value = {&version, sizeof(version)},
			.verb = i == 0 ? NB_STEP_DEL : NB_STEP_PUT};
	return engine->execute(it.sessions[session], steps, count + 1, NB_EXEC_ATOMIC);
}

/* The longest list does not fit into a segment of the usual size. */
TEST_EACH(list_is_recovered_as_a_whole_at_every_level, 4)
{
	static const unsigned counts[] = {1, 20, 300, 7000};

	it.durability = (uint32_t)_i;
	open_it();
	for (unsigned i = 0; i < UNIT_COUNT(counts); i++) {
		put_one(0, 0, 1);
		ck_assert_msg(try_list(1, counts[i], i + 1) == NB_OK, "%s", failure);
		reopen();
		ck_assert_uint_eq(version_of(0), 0);
		for (unsigned number = 1; number <= counts[i]; number++)
			ck_assert_uint_eq(version_of(number), i + 1);
	}
	close_it();
}

/* Whichever byte of its record is damaged, no part of the list exists. */
TEST(a_torn_list_is_dropped_as_a_whole)
{
	char path[512];

	/* Each round opens the database twice, and each open begins new logs. */
	for (unsigned round = 1; round <= 20; round++) {
		char end[32];

		open_it();
		put_one(1, 0, 7);
		for (unsigned number = 1; number <= 20; number++)
			put_one(1, number, round);
		ck_assert_int_eq(try_list(0, 20, 1000 + round), NB_OK);
		crash_it();
		snprintf(end, sizeof(end), "-log.%u.0.1", 2 * round - 1);
		find_file(path, ".", end);
		damage(path, 1 + (round * 37) % 400);
		open_it();
		ck_assert_uint_eq(version_of(0), 7);
		for (unsigned number = 1; number <= 20; number++)
			ck_assert_uint_eq(version_of(number), round);
		close_it();
	}
}

/* Each session writes more than one segment, and all sessions write one key. */
TEST_EACH(changes_of_a_key_by_several_sessions_stay_in_order, 4)
{
	const unsigned writes = _i < NB_DUR_COMMIT ? 7000 : 60; /* commit syncs each write */
	char key[32];

	it.durability = (uint32_t)_i;
	open_it();
	for (unsigned i = 1; i <= writes; i++)
		put_one(i % SESSIONS, i % 7, i);
	ck_assert_int_eq(engine->del(it.sessions[1], key_of(3, key)), NB_OK);
	reopen();
	ck_assert_uint_eq(version_of(3), 0);
	for (unsigned i = writes - 6; i <= writes; i++)
		ck_assert_uint_eq(version_of(i % 7), i % 7 == 3 ? 0 : i);
	close_it();
}

TEST(only_a_torn_record_at_the_end_of_a_log_is_dropped)
{
	char path[512];

	open_it();
	for (unsigned i = 1; i <= 100; i++)
		put_one(0, i, i);
	crash_it();
	find_file(path, ".", "-log.1.0.1");
	damage(path, 1);
	open_it();
	ck_assert_uint_eq(version_of(100), 0);
	for (unsigned i = 1; i < 100; i++)
		ck_assert_uint_eq(version_of(i), i);
	put_one(0, 100, 7);
	reopen();
	ck_assert_uint_eq(version_of(100), 7);
	close_it();
}

/* Same as after a power failure that lost the end of one log: later records do not count. */
TEST_EACH(records_after_a_lost_one_are_kept_at_process_but_not_at_commit, 2)
{
	char path[512];

	it.durability = _i == 0 ? NB_DUR_PROCESS : NB_DUR_COMMIT;
	open_it();
	put_one(0, 1, 1);
	put_one(1, 2, 2);
	put_one(0, 3, 3);
	crash_it();
	find_file(path, ".", "-log.1.1.1");
	damage(path, 1);
	open_it();
	ck_assert_uint_eq(version_of(1), 1);
	ck_assert_uint_eq(version_of(2), 0);
	ck_assert_uint_eq(version_of(3), _i == 0 ? 3 : 0);
	ck_assert_int_eq(strstr(warning, "1 changes were dropped") != NULL, _i == 1);
	put_one(2, 4, 4);
	reopen();
	ck_assert_uint_eq(version_of(1), 1);
	ck_assert_uint_eq(version_of(3), _i == 0 ? 3 : 0);
	ck_assert_uint_eq(version_of(4), 4);
	close_it();
}

static void
lose_changes(const char *path, int how)
{
	switch (how) {
	case 0:
		damage(path, 1);
		break;
	case 1:
		ck_assert_int_eq(truncate(path, LOG_HEADER), 0);
		break;
	case 2:
		ck_assert_int_eq(truncate(path, 0), 0);
		break;
	default:
		ck_assert_int_eq(unlink(path), 0);
	}
}

/* The log of generation 1, before the checkpoint, or 2, which the close ended. */
TEST_EACH(a_closed_database_that_lacks_changes_is_refused, 2 * 3 * 4)
{
	unsigned generation = 1 + (unsigned)_i % 2;
	char path[512], end[32];

	it.durability = NB_DUR_PROCESS + (uint32_t)_i / 2 % 3;
	open_it();
	put_one(0, 1, 1);
	reopen();
	put_one(1, 2, 2);
	put_one(2, 3, 3);
	close_it();
	snprintf(end, sizeof(end), "-log.%u.%u.1", generation, generation - 1);
	find_file(path, ".", end);
	lose_changes(path, _i / 6);
	for (int i = 0; i < 2; i++) { /* the first open changes nothing */
		ck_assert_int_lt(try_open(NB_OPEN_CREATE), 0);
		ck_assert_ptr_nonnull(strstr(failure, "had 3 changes when"));
	}
	it.accepts_loss = true;
	open_it();
	ck_assert_uint_eq(version_of(1), generation == 1 ? 0 : 1);
	put_one(0, 4, 4);
	it.accepts_loss = false;
	reopen();
	ck_assert_uint_eq(version_of(4), 4);
	close_it();
}

TEST_EACH(the_changes_of_a_close_are_counted_after_a_checkpoint, 3)
{
	char path[512];

	it.durability = NB_DUR_PROCESS;
	open_it();
	put_one(0, 1, 1);
	reopen();
	if (_i > 0)
		put_one(1, 2, 2);
	ck_assert_int_eq(engine->checkpoint(it.db), NB_OK);
	if (_i > 1)
		put_one(1, 3, 3);
	reopen();
	put_one(2, 4, 4);
	reopen();
	ck_assert_uint_eq(version_of(1), 1);
	ck_assert_uint_eq(version_of(2), _i > 0 ? 2 : 0);
	ck_assert_uint_eq(version_of(3), _i > 1 ? 3 : 0);
	ck_assert_uint_eq(version_of(4), 4);
	close_it();
	find_file(path, ".", "-log.3.2.1");
	damage(path, 1);
	ck_assert_int_lt(try_open(0), 0);
	ck_assert_ptr_nonnull(strstr(failure, _i > 1 ? "had 2 changes" : "had 1 changes"));
}

/* `process` does not promise that the logs survive a restart of the machine. */
TEST_EACH(after_a_restart_of_the_machine_logs_may_lack_changes_at_process_only, 3)
{
	char path[512], boot[STORE_BOOT_SIZE], line[64];

	it.durability = NB_DUR_PROCESS + (uint32_t)_i;
	open_it();
	put_one(0, 1, 1);
	put_one(0, 2, 2);
	close_it();
	store_boot(boot);
	snprintf(line, sizeof(line), "boot %s\n", boot);
	edit_state(line, "boot another\n");
	find_file(path, ".", "-log.1.0.1");
	damage(path, 1);
	int rc = try_open(0);
	ck_assert_int_eq(rc == NB_OK, _i == 0);
	if (rc == NB_OK)
		ck_assert_int_eq(engine->close(it.db), NB_OK);
}

/* mininb empties the directory of a database, but does not know the others. */
TEST(a_new_database_removes_the_files_of_the_one_before_from_other_directories)
{
	static const char *const others[] = {"logs", "parts"};

	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(mkdir(others[i], 0777), 0);
	ck_assert_int_eq(mkdir("second", 0777), 0);
	it.log_dirs = "logs";
	it.checkpoint_dirs = "parts";
	for (unsigned round = 0; round < 3; round++) {
		it.path = round == 1 ? "second" : ".";
		open_it();
		put_one(0, 1, 1 + round);
		ck_assert_int_eq(engine->checkpoint(it.db), NB_OK);
		put_one(0, 2, 1 + round);
		close_it();
		if (round == 0) /* what --fresh does */
			ck_assert_int_eq(system("rm masstree.*"), 0);
	}
	/* The files of the second database, which uses the same directories, are there. */
	ck_assert_uint_eq(count_files("logs", "-log."), 2);
	ck_assert_uint_eq(count_files("parts", "-checkpoint.1.0"), 2);
	it.path = "second";
	open_it();
	ck_assert_uint_eq(version_of(1), 2);
	ck_assert_uint_eq(version_of(2), 2);
	close_it();
}

/* A state that somebody removes can still be restored. */
TEST(a_database_without_its_state_keeps_its_logs)
{
	ck_assert_int_eq(mkdir("logs", 0777), 0);
	it.log_dirs = "logs";
	open_it();
	put_one(0, 1, 1);
	close_it();
	ck_assert_int_eq(rename("masstree.state", "kept"), 0);
	open_it();
	put_one(0, 1, 2);
	close_it();
	ck_assert_int_eq(rename("kept", "masstree.state"), 0);
	open_it();
	ck_assert_uint_eq(version_of(1), 1);
	close_it();
}

/* While a sync takes long, the session begins one segment after another. */
TEST(a_session_does_not_wait_for_a_sync_of_its_log)
{
	enum { PUTS = 10 * SEGMENT / 40 };

	it.durability = NB_DUR_PERIODIC;
	it.sync_interval_ns = 1000000;
	__atomic_store_n(&syncs.is_held, true, __ATOMIC_RELEASE);
	open_it();
	put_one(0, 0, 1);
	while (!__atomic_load_n(&syncs.is_waiting, __ATOMIC_ACQUIRE))
		usleep(1000);
	for (unsigned i = 1; i < PUTS; i++)
		put_one(0, i, i + 1);
	ck_assert_uint_ge(count_files(".", "-log.1.0."), 5);
	__atomic_store_n(&syncs.is_held, false, __ATOMIC_RELEASE);
	reopen();
	for (unsigned i = 0; i < PUTS; i++)
		ck_assert_uint_eq(version_of(i), i + 1);
	close_it();
}

/* Otherwise a power failure could lose these files and keep writes that were synced later. */
TEST_EACH(recovered_records_are_synced_before_later_durable_writes, 4)
{
	it.durability = NB_DUR_PROCESS;
	open_it();
	put_one(0, 1, 1);
	ck_assert_int_eq(engine->checkpoint(it.db), NB_OK);
	unsigned parts = count_files(".", "-checkpoint.");
	put_one(0, 2, 2);
	put_one(1, 3, 3);
	close_it();
	it.durability = (uint32_t)_i;
	memset(&synced, 0, sizeof(synced));
	open_it();
	unsigned wanted = _i >= NB_DUR_PERIODIC ? 2 : 0;
	ck_assert_uint_eq(synced.segments, wanted);
	ck_assert_uint_eq(synced.parts, wanted != 0 ? parts : 0);
	ck_assert_uint_eq(synced.directories, wanted != 0 ? 2 : 1); /* the state's, too */
	ck_assert_uint_eq(version_of(3), 3);
	close_it();
}

TEST(a_checkpoint_replaces_the_logs_before_it)
{
	open_it();
	for (unsigned i = 1; i <= 7000; i++)
		put_one(i % SESSIONS, i, i);
	unsigned segments = count_files(".", "-log.");
	ck_assert_int_eq(engine->checkpoint(it.db), NB_OK);
	ck_assert_uint_lt(count_files(".", "-log."), segments);
	put_one(0, 1, 9);
	char key[32];
	ck_assert_int_eq(engine->del(it.sessions[1], key_of(2, key)), NB_OK);
	reopen();
	ck_assert_uint_eq(version_of(1), 9);
	ck_assert_uint_eq(version_of(2), 0);
	for (unsigned i = 3; i <= 7000; i++)
		ck_assert_uint_eq(version_of(i), i);
	ck_assert_int_eq(engine->checkpoint(it.db), NB_OK);
	ck_assert_uint_eq(count_files(".", "-log.1."), 0);
	close_it();
}

/* A file system without order may keep the first of three removed names, but not the second. */
TEST_EACH(a_removed_segment_that_returns_ends_no_log, 3)
{
	char path[512];

	it.durability = NB_DUR_PROCESS + (uint32_t)_i;
	open_it();
	for (unsigned i = 1; count_files(".", "-log.1.0.") < 3; i++)
		put_one(0, 1, i);
	find_file(path, ".", "-log.1.0.1");
	ck_assert_int_eq(link(path, "kept"), 0);
	ck_assert_int_eq(engine->checkpoint(it.db), NB_OK);
	ck_assert_uint_eq(count_files(".", "-log.1.0."), 1);
	put_one(0, 2, 7);
	put_one(1, 3, 8);
	crash_it();
	ck_assert_int_eq(rename("kept", path), 0);
	open_it();
	ck_assert_uint_eq(version_of(2), 7);
	ck_assert_uint_eq(version_of(3), 8);
	close_it();
}

enum { THREAD_KEYS = 500, THREAD_ROUNDS = 8 };

/* Write all keys of the session again and again; at the end, delete every fifth. */
static void *
write_rounds(void *arg)
{
	unsigned session = *(unsigned *)arg;
	char key[32];

	for (unsigned i = 0; i < THREAD_KEYS * THREAD_ROUNDS; i++)
		put_one(session, session * THREAD_KEYS + i % THREAD_KEYS, 1 + i / THREAD_KEYS);
	for (unsigned i = 0; i < THREAD_KEYS; i += 5)
		ck_assert_int_eq(engine->del(it.sessions[session],
					 key_of(session * THREAD_KEYS + i, key)),
			NB_OK);
	return NULL;
}

TEST_EACH(checkpoints_during_writes_lose_no_record, 2)
{
	pthread_t threads[2];
	unsigned ids[] = {1, 2};

	it.durability = _i == 0 ? NB_DUR_PROCESS : NB_DUR_PERIODIC;
	open_it();
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, write_rounds, &ids[i]), 0);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_int_eq(engine->checkpoint(it.db), NB_OK);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	reopen();
	for (unsigned i = 0; i < 2 * THREAD_KEYS; i++)
		ck_assert_uint_eq(version_of(THREAD_KEYS + i), i % 5 == 0 ? 0 : THREAD_ROUNDS);
	close_it();
}

enum { LIST_RECORDS = 500 };

static unsigned has_lists; /* atomic */

static void *
write_lists(void *arg)
{
	unsigned session = *(unsigned *)arg;

	for (unsigned i = 1; __atomic_load_n(&has_lists, __ATOMIC_RELAXED) != 0; i++)
		ck_assert_int_eq(try_list(session, LIST_RECORDS, i), NB_OK);
	return NULL;
}

/* Open a copy of the files, as a kill at this moment would leave them, and check the list. */
static void
all_of_one_list(void)
{
	struct nb_session *session = it.sessions[0];
	struct nb_db *db = it.db;

	ck_assert_int_eq(system("rm -rf copy && mkdir copy && cp masstree* copy"), 0);
	it.path = "copy";
	ck_assert_msg(try_open(0) == NB_OK, "%s", failure);
	ck_assert_int_eq(engine->session_open(&it.sessions[0], it.db, 0), NB_OK);
	for (unsigned number = 2; number <= LIST_RECORDS; number++)
		ck_assert_uint_eq(version_of(number), version_of(1));
	ck_assert_uint_eq(version_of(0), 0);
	ck_assert_int_eq(engine->session_close(it.sessions[0]), NB_OK);
	ck_assert_int_eq(engine->close(it.db), NB_OK);
	it.path = ".";
	it.db = db;
	it.sessions[0] = session;
}

TEST_EACH(list_is_whole_in_a_checkpoint_or_in_its_log, 2)
{
	unsigned session = 1;
	pthread_t thread;

	it.durability = _i == 0 ? NB_DUR_NONE : NB_DUR_PROCESS;
	open_it();
	ck_assert_int_eq(try_list(session, LIST_RECORDS, 1), NB_OK);
	has_lists = 1;
	ck_assert_int_eq(pthread_create(&thread, NULL, write_lists, &session), 0);
	for (unsigned round = 0; round < 12; round++) {
		ck_assert_int_eq(engine->checkpoint(it.db), NB_OK);
		all_of_one_list();
	}
	__atomic_store_n(&has_lists, 0, __ATOMIC_RELAXED);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	close_it();
}

/* An open that names other directories, or none, finds their contents. */
TEST(logs_and_checkpoints_are_in_the_given_directories)
{
	static const char *const names[] = {"a", "b", "c", "d"};

	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(mkdir(names[i], 0777), 0);
	it.log_dirs = "a,b";
	it.checkpoint_dirs = "c,d";
	open_it();
	for (unsigned i = 1; i <= 3000; i++)
		put_one(i % SESSIONS, i, i);
	ck_assert_int_eq(engine->checkpoint(it.db), NB_OK);
	put_one(0, 1, 8);
	put_one(1, 2, 8);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_gt(count_files(names[i], i < 2 ? "-log." : "-checkpoint."), 0);
	ck_assert_uint_eq(count_files(".", "-log."), 0);
	close_it();
	it.log_dirs = it.checkpoint_dirs = NULL;
	open_it();
	ck_assert_uint_eq(version_of(1), 8);
	ck_assert_uint_eq(version_of(2), 8);
	ck_assert_uint_eq(version_of(3000), 3000);
	ck_assert_int_eq(engine->checkpoint(it.db), NB_OK);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(count_files(names[i], "masstree-"), 0);
	close_it();
	it.log_dirs = "a,nowhere";
	ck_assert_int_lt(try_open(NB_OPEN_CREATE), 0);
	ck_assert_ptr_nonnull(strstr(failure, "log_dirs: nowhere: No such file"));
}

/* The disk has no room for a segment: the put fails, and the existing records stay. */
TEST(put_without_log_space_fails_with_a_text_and_without_effect)
{
	struct rlimit limit = {SEGMENT / 2, RLIM_INFINITY};

	open_it();
	put_one(0, 1, 1);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_lt(try_put(1, 1, 2), 0);
	ck_assert_ptr_nonnull(strstr(failure, "cannot allocate a log segment of 64 KiB in "));
	ck_assert_int_lt(try_put(1, 2, 2), 0);
	ck_assert_uint_eq(version_of(1), 1);
	ck_assert_uint_eq(version_of(2), 0);
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	put_one(1, 2, 3);
	reopen();
	ck_assert_uint_eq(version_of(1), 1);
	ck_assert_uint_eq(version_of(2), 3);
	close_it();
}

TEST(damage_of_a_checkpoint_or_of_the_state_is_refused)
{
	char path[512];

	open_it();
	put_one(0, 1, 1);
	ck_assert_int_eq(engine->checkpoint(it.db), NB_OK);
	close_it();
	find_file(path, ".", "-checkpoint.1.0");
	damage(path, 30);
	ck_assert_int_lt(try_open(0), 0);
	ck_assert_ptr_nonnull(strstr(failure, "the checkpoint is damaged: "));
	damage(path, 30); /* restores the byte */
	damage("masstree.state", 30);
	ck_assert_int_lt(try_open(0), 0);
	ck_assert_ptr_nonnull(strstr(failure, "masstree.state is damaged"));
	damage("masstree.state", 30);
	ck_assert_int_eq(try_open(0), NB_OK);
	ck_assert_int_lt(try_open(0), 0);
	ck_assert_ptr_nonnull(strstr(failure, "is in use by another process"));
	ck_assert_int_eq(engine->close(it.db), NB_OK);
	unlink("masstree.state");
	ck_assert_int_lt(try_open(0), 0);
	ck_assert_ptr_nonnull(strstr(failure, "no database in "));
}

TEST(a_database_of_another_format_is_refused)
{
	open_it();
	close_it();
	edit_state("masstree 2\n", "masstree 1\n");
	ck_assert_int_eq(try_open(0), NB_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(failure, "masstree.state has format 1, and this version"));
}

/* The last number that begins a segment, and the one after it. */
TEST_EACH(a_put_fails_when_all_numbers_are_used, 2)
{
	char line[64];

	open_it();
	close_it();
	snprintf(line, sizeof(line), "generation 1 1 %llu\n",
		(unsigned long long)NUMBER_MAX + (unsigned)_i);
	edit_state("generation 1 1 0\n", line);
	open_it();
	if (_i == 0) {
		put_one(0, 1, 7);
		reopen();
		ck_assert_uint_eq(version_of(1), 7);
	} else {
		ck_assert_int_lt(try_put(0, 1, 7), 0);
		ck_assert_ptr_nonnull(strstr(failure, "numbers of log records are used"));
		ck_assert_uint_eq(version_of(1), 0);
	}
	close_it();
}

/* It takes numbers without an atomic addition, while the sync thread reads the counter. */
TEST_EACH(a_session_that_is_the_only_one_loses_no_record, 4)
{
	const unsigned writes = _i < NB_DUR_COMMIT ? 7000 : 60;

	it.session_count = 1;
	it.durability = (uint32_t)_i;
	it.sync_interval_ns = 1000000;
	open_it();
	for (unsigned i = 1; i <= writes; i++)
		put_one(0, i % 1000, i);
	reopen();
	for (unsigned i = writes > 1000 ? writes - 999 : 1; i <= writes; i++)
		ck_assert_uint_eq(version_of(i % 1000), i);
	close_it();
}
