/* SPDX-License-Identifier: BSD-2-Clause */
/* The test knows which syncs took place, and which did not make data durable. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/syncs.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

enum { PAGE = 4096 };

static uint64_t before[SYNCS_KINDS];

static void
begin(const char *name)
{
	scratch_fresh(name);
	syncs_count(before);
}

/** Check the syncs since begin(), by kind. */
static void
assert_grown(uint64_t fsyncs, uint64_t fdatasyncs, uint64_t msyncs, uint64_t filesystems)
{
	uint64_t now[SYNCS_KINDS];
	syncs_count(now);
	ck_assert_uint_eq(now[SYNCS_FSYNC] - before[SYNCS_FSYNC], fsyncs);
	ck_assert_uint_eq(now[SYNCS_FDATASYNC] - before[SYNCS_FDATASYNC], fdatasyncs);
	ck_assert_uint_eq(now[SYNCS_MSYNC] - before[SYNCS_MSYNC], msyncs);
	ck_assert_uint_eq(now[SYNCS_FILESYSTEM] - before[SYNCS_FILESYSTEM], filesystems);
}

static int
create(const char *path, int flags)
{
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | flags, 0600);
	ck_assert_int_ge(fd, 0);
	return fd;
}

TEST(each_call_is_counted_once_by_its_name)
{
	begin("calls");
	int fd = create("file", 0);
	ck_assert_int_eq(fsync(fd), 0);
	assert_grown(1, 0, 0, 0);
	ck_assert_int_eq(fdatasync(fd), 0);
	ck_assert_int_eq(fdatasync(fd), 0);
	assert_grown(1, 2, 0, 0);
	ck_assert_int_eq(syncfs(fd), 0);
	assert_grown(1, 2, 0, 1);
	close(fd);
}

TEST(msync_counts_only_if_it_waits)
{
	begin("mapping");
	int fd = create("file", 0);
	ck_assert_int_eq(ftruncate(fd, PAGE), 0);
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	ck_assert_int_eq(msync(page, PAGE, MS_ASYNC), 0);
	assert_grown(0, 0, 0, 0);
	ck_assert_int_eq(msync(page, PAGE, MS_SYNC), 0);
	assert_grown(0, 0, 1, 0);
	munmap(page, PAGE);
	close(fd);
}

TEST(failed_call_is_not_counted_and_keeps_its_errno)
{
	begin("failing");
	errno = 0;
	ck_assert_int_eq(fsync(-1), -1);
	ck_assert_int_eq(errno, EBADF);
	errno = 0;
	ck_assert_int_eq(fdatasync(-1), -1);
	ck_assert_int_eq(errno, EBADF);
	ck_assert_int_eq(syncfs(-1), -1);
	int fd = create("file", 0);
	errno = ENOENT;
	ck_assert_int_eq(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE), 0);
	ck_assert_int_eq(fsync(fd), 0);
	ck_assert_int_eq(errno, ENOENT);
	assert_grown(1, 0, 0, 0);
	close(fd);
}

TEST(forked_processes_count_together_once_they_share)
{
	begin("sharing");
	int fd = create("file", 0);
	ck_assert_int_eq(fsync(fd), 0);
	ck_assert_int_eq(syncs_share(), NB_OK);
	assert_grown(1, 0, 0, 0); /* earlier counts stay */
	ck_assert_int_eq(syncs_share(), NB_OK);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		int written = create("log", O_DSYNC);
		syncs_look(".");
		_exit(fsync(fd) == 0 && written >= 0 ? 0 : 1);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	assert_grown(2, 0, 0, 0);
	ck_assert_uint_eq(syncs_elsewhere(), SYNCS_DSYNC_FILE);
	syncs_begin();
	close(fd);
}

TEST(files_that_sync_by_themselves_are_found_below_the_path_alone)
{
	static const struct {
		const char *path;
		int flags;
		uint32_t wanted;
	} examples[] = {{"db/plain", 0, 0}, {"db/log", O_DSYNC, SYNCS_DSYNC_FILE},
		{"db/sync", O_SYNC, SYNCS_DSYNC_FILE}, {"db2", O_DSYNC, 0},
		{"aside", O_DSYNC, 0}};
	begin("files");
	ck_assert_int_eq(mkdir("db", 0700), 0);
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		int fd = create(examples[i].path, examples[i].flags);
		syncs_begin();
		ck_assert_uint_eq(syncs_elsewhere(), 0);
		syncs_look("db");
		ck_assert_msg(syncs_elsewhere() == examples[i].wanted, "%s", examples[i].path);
		close(fd);
	}
	syncs_begin();
	int fd = open("db/log", O_RDONLY | O_DSYNC | O_CLOEXEC); /* writes nothing */
	syncs_look("db");
	syncs_look("not there");
	ck_assert_uint_eq(syncs_elsewhere(), 0);
	close(fd);
}

/* The format of proc(5). */
#define MAPPING(path, flags) \
	"7f0000000000-7f0000200000 rw-s 00000000 fd:01 77 " path "\n" \
	"Size:               2048 kB\n" \
	"THPeligible:           0\n" \
	"VmFlags: rd wr sh mr mw me ms " flags " \n"

TEST(persistent_memory_is_known_by_the_flags_of_its_mapping)
{
	static const struct {
		const char *smaps;
		bool is_persistent;
	} examples[] = {
		{"", false},
		{MAPPING("/mnt/db/a", "sf"), true},
		{MAPPING("/mnt/db/a", "sd sf hg"), true},
		{MAPPING("/mnt/db/a", "sd"), false},
		{MAPPING("/mnt/db2/a", "sf"), false},
		{MAPPING("/mnt/db/a", "sd") MAPPING("/mnt/db/b", "sf"), true},
		{MAPPING("/mnt/db/a", "sd") MAPPING("[heap]", "sf"), false},
		{MAPPING("/mnt/db/a", "sd") MAPPING("", "sf"), false},
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		FILE *smaps = fmemopen((void *)(uintptr_t)examples[i].smaps,
			strlen(examples[i].smaps) + 1, "r");
		ck_assert_ptr_nonnull(smaps);
		ck_assert_msg(
			syncs_is_persistent(smaps, "/mnt/db") == examples[i].is_persistent,
			"example %zu", i);
		fclose(smaps);
	}
}

int
main(void)
{
	if (syncs_missing()[0] != '\0') {
		printf("1..0 # SKIP syncs are not counted: %s\n", syncs_missing());
		return 0;
	}
	int rc = unit_run();
	return rc;
}
