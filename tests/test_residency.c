/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of a database is in memory, after the test has written, read and evicted it. The
 * test uses the file system of the build directory, because tmpfs cannot evict.
 */
#include "run/residency.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "scratch.h"
#include "unit.h"

enum { BYTES = 4 << 20 };

static char dir[512];
static struct residency residency;

/** Make a directory on RESIDENCY_DIR, and in it "no-drop", which is not writable. */
static void
begin(void)
{
	snprintf(dir, sizeof(dir), "%s/residency-XXXXXX", RESIDENCY_DIR);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(mkdir("db", 0700), 0);
}

static void
end(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	nftw(dir, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static void
make_file(const char *path)
{
	static char data[BYTES];
	memset(data, 'x', sizeof(data));
	file_put(path, data, sizeof(data));
}

/** Whether eviction works here; tmpfs and stacked file systems keep their pages. */
static bool
can_evict(void)
{
	uint32_t how;
	make_file("db/probe");
	bool can = residency_make_cold("db", "/no-such", &how) == NB_OK;
	residency_look(&residency, "db");
	can = can && residency.is_known && residency.resident_bytes < BYTES / 20;
	remove("db/probe");
	if (!can)
		puts("# skipped: " RESIDENCY_DIR
		     " is not on a file system with evictable files");
	return can;
}

TEST(written_data_is_resident)
{
	begin();
	make_file("db/one");
	ck_assert_int_eq(mkdir("db/sub", 0700), 0);
	make_file("db/sub/two");
	ck_assert_int_eq(symlink("../one", "db/sub/link"), 0);
	ck_assert_int_eq(mkfifo("db/pipe", 0600), 0);
	file_put("db/empty", "", 0);
	residency_look(&residency, "db");
	ck_assert_uint_eq(residency.is_known, 1);
	ck_assert_uint_eq(residency.files, 3);
	ck_assert_uint_eq(residency.unread, 0);
	ck_assert_uint_eq(residency.total_bytes, 2 * BYTES);
	ck_assert_uint_gt(residency.resident_bytes, BYTES);
	end();
}

TEST(holes_are_not_counted)
{
	begin();
	make_file("db/sparse");
	ck_assert_int_eq(truncate("db/sparse", (off_t)1 << 32), 0);
	int fd = open("db/sparse", O_WRONLY);
	ck_assert_int_eq(pwrite(fd, "x", 1, ((off_t)3 << 30) + 5), 1);
	close(fd);
	residency_look(&residency, "db");
	ck_assert_uint_ge(residency.total_bytes, BYTES + (uint64_t)getpagesize());
	ck_assert_uint_lt(residency.total_bytes, 2 * BYTES);
	ck_assert_uint_le(residency.resident_bytes, residency.total_bytes);
	end();
}

TEST(missing_files_have_unknown_residency)
{
	begin();
	residency_look(&residency, "db");
	ck_assert_uint_eq(residency.is_known, 0);
	residency_look(&residency, "none");
	ck_assert_uint_eq(residency.is_known, 0);
	make_file("file"); /* a database may be a file */
	residency_look(&residency, "file");
	ck_assert_uint_eq(residency.files, 1);
	end();
}

TEST(evicted_files_become_resident_again_by_reads)
{
	uint32_t how;
	static char data[BYTES / 4];
	begin();
	if (can_evict()) {
		make_file("db/one");
		ck_assert_int_eq(residency_make_cold("db", "/no-such", &how), NB_OK);
		ck_assert_uint_eq(how, COLD_FILES);
		residency_look(&residency, "db");
		ck_assert_uint_eq(residency.total_bytes, BYTES);
		ck_assert_uint_lt(residency.resident_bytes, BYTES / 20);
		residency_look(&residency, "db"); /* the measurement has read nothing */
		ck_assert_uint_lt(residency.resident_bytes, BYTES / 20);
		int fd = open("db/one", O_RDONLY);
		ck_assert_int_eq(read(fd, data, sizeof(data)), sizeof(data));
		close(fd);
		residency_look(&residency, "db");
		ck_assert_uint_ge(residency.resident_bytes, sizeof(data));
	}
	end();
}

TEST(caches_are_dropped_where_that_is_allowed)
{
	uint32_t how;
	struct statfs fs;
	begin();
	make_file("db/one");
	file_put("drop", "", 0);
	ck_assert_int_eq(statfs(".", &fs), 0);
	if (fs.f_type != 0x01021994) {
		ck_assert_int_eq(residency_make_cold("db", "drop", &how), NB_OK);
		ck_assert_uint_eq(how, COLD_CACHES);
		file_is("drop", "3\n", 2);
	}
	end();
}

TEST(file_system_that_is_memory_cannot_be_cold)
{
	uint32_t how = 7;
	struct statfs fs;
	if (statfs("/dev/shm", &fs) != 0 || fs.f_type != 0x01021994) {
		puts("# skipped: /dev/shm is not a tmpfs");
		return;
	}
	begin();
	ck_assert_int_eq(residency_make_cold("/dev/shm", "/no-such", &how), NB_UNSUPPORTED);
	ck_assert_str_eq(nb_error_text(),
		"/dev/shm: is on a file system in memory (tmpfs) and can never be cold; "
		"use a --path on a device");
	ck_assert_uint_eq(how, COLD_NOT);
	end();
}

TEST(missing_database_cannot_be_cold)
{
	uint32_t how = 7;
	begin();
	ck_assert_int_eq(residency_make_cold("none", "/no-such", &how), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "none: "));
	ck_assert_uint_eq(how, COLD_NOT);
	end();
}

/** Runs in a child, because a process never sees its own locks. */
static bool
is_locked(const char *path)
{
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
		int fd = open(path, O_RDWR);
		_exit(fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 1
											  : 0);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status) == 1;
}

TEST(survey_keeps_the_locks_of_an_open_database)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	begin();
	make_file("db/LOCK");
	int fd = open("db/LOCK", O_RDWR);
	ck_assert_int_eq(fcntl(fd, F_SETLK, &lock), 0);
	ck_assert(is_locked("db/LOCK"));
	residency_look(&residency, "db");
	ck_assert_uint_eq(residency.files, 1);
	ck_assert(is_locked("db/LOCK"));
	close(fd);
	ck_assert(!is_locked("db/LOCK"));
	end();
}

TEST(foreign_files_are_counted_but_not_named)
{
	if (geteuid() != 0) {
		puts("# skipped: only root can change its user");
		return;
	}
	begin();
	make_file("db/foreign");
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(chmod("db", 0755), 0);
	ck_assert_int_eq(chmod("db/foreign", 0644), 0);
	ck_assert_int_eq(seteuid(65534), 0);
	residency_look(&residency, "db");
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_uint_eq(residency.is_known, 0);
	ck_assert_uint_eq(residency.unread, 1);
	ck_assert_uint_eq(residency.total_bytes, 0);
	end();
}
