/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts of the machine, against what other interfaces of the system say. */
#include "run/sysinfo.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

enum { BYTES = 256 << 10 };

static char dir[64];

static const char *
in_dir(const char *name)
{
	static char path[4][128];
	static unsigned next;
	char *buf = path[next++ % 4];
	snprintf(buf, sizeof(path[0]), "%s/%s", dir, name);
	return buf;
}

static void
make_dir(void)
{
	strcpy(dir, "/tmp/mininb-test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *place)
{
	(void)st, (void)type, (void)place;
	return remove(path);
}

static void
remove_dir(void)
{
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/** `bytes` of data, then a hole up to `size`. */
static void
make_file(const char *path, size_t bytes, off_t size)
{
	static const char data[BYTES];
	int fd = open(path, O_WRONLY | O_CREAT, 0666);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, data, bytes), (ssize_t)bytes);
	ck_assert_int_eq(ftruncate(fd, size), 0);
	ck_assert_int_eq(fsync(fd), 0);
	close(fd);
}

/** The number with which a command's output begins. */
static uint64_t
ask(const char *command)
{
	unsigned long long number;
	FILE *pipe = popen(command, "r");
	ck_assert_ptr_nonnull(pipe);
	ck_assert_int_eq(fscanf(pipe, "%llu", &number), 1);
	pclose(pipe);
	return number;
}

TEST(allocated_bytes_are_those_of_du)
{
	make_dir();
	ck_assert_int_eq(mkdir(in_dir("a"), 0777), 0);
	ck_assert_int_eq(mkdir(in_dir("a/b"), 0777), 0);
	ck_assert_int_eq(mkdir(in_dir("empty"), 0777), 0);
	make_file(in_dir("top"), BYTES, BYTES);
	make_file(in_dir("a/b/deep"), BYTES, BYTES);
	char du[128];
	snprintf(du, sizeof(du), "du -s --block-size=512 '%s'", dir);
	ck_assert_uint_eq(sysinfo_allocated_bytes(dir), ask(du) * 512);
	ck_assert_uint_ge(sysinfo_allocated_bytes(dir), 2 * BYTES);
	remove_dir();
}

TEST(holes_are_not_counted)
{
	make_dir();
	make_file(in_dir("sparse"), 4096, (off_t)1 << 30);
	uint64_t bytes = sysinfo_allocated_bytes(in_dir("sparse"));
	ck_assert_uint_ge(bytes, 4096);
	ck_assert_uint_lt(bytes, 1 << 20);
	remove_dir();
}

TEST(database_behind_a_link_is_counted)
{
	make_dir();
	ck_assert_int_eq(mkdir(in_dir("there"), 0777), 0);
	make_file(in_dir("there/data"), BYTES, BYTES);
	ck_assert_int_eq(symlink(in_dir("there"), in_dir("here")), 0);
	ck_assert_uint_eq(sysinfo_allocated_bytes(in_dir("here")),
		sysinfo_allocated_bytes(in_dir("there")));
	remove_dir();
}

TEST(links_inside_are_not_followed)
{
	make_dir();
	ck_assert_int_eq(mkdir(in_dir("db"), 0777), 0);
	make_file(in_dir("elsewhere"), BYTES, BYTES);
	ck_assert_int_eq(symlink(in_dir("elsewhere"), in_dir("db/link")), 0);
	ck_assert_int_eq(symlink(in_dir("db"), in_dir("db/loop")), 0);
	ck_assert_uint_lt(sysinfo_allocated_bytes(in_dir("db")), BYTES);
	remove_dir();
}

TEST(what_is_not_there_takes_nothing)
{
	ck_assert_uint_eq(sysinfo_allocated_bytes("/nonexistent/dir"), 0);
}

TEST(empty_dir_is_told_from_one_with_anything)
{
	make_dir();
	ck_assert(sysinfo_is_empty_dir(dir));
	ck_assert(sysinfo_is_empty_dir("/nonexistent/dir"));
	make_file(in_dir(".hidden"), 0, 0);
	ck_assert(!sysinfo_is_empty_dir(dir));
	remove_dir();
}

TEST(no_descriptor_is_left_open)
{
	make_dir();
	ck_assert_int_eq(mkdir(in_dir("a"), 0777), 0);
	struct sysinfo info;
	struct sysinfo_usage usage;
	int first = dup(0);
	close(first);
	sysinfo_create(&info, dir);
	sysinfo_usage(&usage);
	(void)sysinfo_allocated_bytes(dir);
	(void)sysinfo_is_empty_dir(dir);
	int second = dup(0);
	close(second);
	ck_assert_int_eq(first, second);
	remove_dir();
}

TEST(memory_file_systems_are_told)
{
	struct sysinfo info;
	sysinfo_create(&info, "/dev/shm");
	ck_assert_str_eq(info.filesystem, "tmpfs");
	ck_assert(info.is_memory_filesystem);
	sysinfo_create(&info, "/proc"); /* not in the table: its number, statfs(2) */
	ck_assert_str_eq(info.filesystem, "0x9fa0");
	ck_assert(!info.is_memory_filesystem);
	sysinfo_create(&info, "/nonexistent");
	ck_assert_str_eq(info.filesystem, "");
	ck_assert(!info.is_memory_filesystem);
}

TEST(machine_is_as_the_system_says)
{
	struct sysinfo info;
	sysinfo_create(&info, "/");
	ck_assert_uint_eq(info.machine_cpus, ask("getconf _NPROCESSORS_ONLN"));
	ck_assert_uint_eq(info.cpus, ask("env -u OMP_NUM_THREADS nproc"));
	struct sysinfo_usage usage;
	sysinfo_usage(&usage);
	ck_assert_uint_gt(info.memory_bytes, sysinfo_max_resident_bytes());
	ck_assert_uint_gt(sysinfo_max_resident_bytes(), 1 << 20);
	ck_assert_uint_gt(usage.busy_ns, 0);
}

TEST(cpu_time_of_the_process_is_counted)
{
	struct sysinfo_usage before, after;
	sysinfo_usage(&before);
	struct timespec now;
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (now.tv_sec == 0 && now.tv_nsec < 60 * 1000 * 1000);
	sysinfo_usage(&after);
	struct sysinfo_usage used = sysinfo_usage_between(&before, &after);
	ck_assert_uint_ge(after.user_ns + after.system_ns, 50u * 1000 * 1000);
	ck_assert_uint_eq(used.user_ns, after.user_ns - before.user_ns);
}

TEST(counter_that_goes_back_counts_nothing)
{
	struct sysinfo_usage before = {10, 20, 30, 40, 50}, after = {11, 22, 33, 39, 0};
	struct sysinfo_usage used = sysinfo_usage_between(&before, &after);
	ck_assert_uint_eq(used.user_ns, 1);
	ck_assert_uint_eq(used.system_ns, 2);
	ck_assert_uint_eq(used.involuntary_switches, 3);
	ck_assert_uint_eq(used.steal_ns, 0);
	ck_assert_uint_eq(used.busy_ns, 0);
}
