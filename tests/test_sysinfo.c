/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts about the machine, compared with other system interfaces. */
#include "run/sysinfo.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/system.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

enum { BYTES = 256 << 10 };

/** Make a file of `bytes` of data and a hole up to `size`. */
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

/** The number at the beginning of a command's output. */
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

TEST(allocated_bytes_match_du)
{
	scratch_fresh("du");
	ck_assert_int_eq(mkdir("a", 0777), 0);
	ck_assert_int_eq(mkdir("a/b", 0777), 0);
	ck_assert_int_eq(mkdir("empty", 0777), 0);
	make_file("top", BYTES, BYTES);
	make_file("a/b/deep", BYTES, BYTES);
	uint64_t bytes = sysinfo_allocated_bytes(".");
	ck_assert_uint_eq(bytes, ask("du -s --block-size=512 .") * 512);
	ck_assert_uint_ge(bytes, 2 * BYTES);
}

TEST(holes_are_not_counted)
{
	scratch_fresh("holes");
	make_file("sparse", 4096, (off_t)1 << 30);
	uint64_t bytes = sysinfo_allocated_bytes("sparse");
	ck_assert_uint_ge(bytes, 4096);
	ck_assert_uint_lt(bytes, 1 << 20);
}

TEST(linked_database_is_counted)
{
	scratch_fresh("link");
	ck_assert_int_eq(mkdir("there", 0777), 0);
	make_file("there/data", BYTES, BYTES);
	ck_assert_int_eq(symlink("there", "here"), 0);
	ck_assert_uint_eq(sysinfo_allocated_bytes("here"), sysinfo_allocated_bytes("there"));
}

TEST(links_inside_are_not_followed)
{
	scratch_fresh("links");
	ck_assert_int_eq(mkdir("db", 0777), 0);
	make_file("elsewhere", BYTES, BYTES);
	ck_assert_int_eq(symlink("../elsewhere", "db/link"), 0);
	ck_assert_int_eq(symlink("../db", "db/loop"), 0);
	ck_assert_uint_lt(sysinfo_allocated_bytes("db"), BYTES);
}

TEST(missing_files_have_size_0)
{
	ck_assert_uint_eq(sysinfo_allocated_bytes("/nonexistent/dir"), 0);
}

TEST(empty_directory_is_distinguished_from_others)
{
	scratch_fresh("empty");
	ck_assert(sysinfo_is_empty_dir("."));
	ck_assert(sysinfo_is_empty_dir("/nonexistent/dir"));
	make_file(".hidden", 0, 0);
	ck_assert(!sysinfo_is_empty_dir("."));
}

TEST(no_descriptor_is_left_open)
{
	scratch_fresh("descriptors");
	ck_assert_int_eq(mkdir("a", 0777), 0);
	struct sysinfo info;
	struct system_counts usage;
	int first = dup(0);
	close(first);
	sysinfo_create(&info, ".");
	system_usage(&usage);
	(void)sysinfo_allocated_bytes(".");
	(void)sysinfo_is_empty_dir(".");
	int second = dup(0);
	close(second);
	ck_assert_int_eq(first, second);
}

TEST(memory_file_systems_are_recognised)
{
	struct sysinfo info;
	sysinfo_create(&info, "/dev/shm");
	ck_assert_str_eq(info.filesystem, "tmpfs");
	ck_assert(info.is_memory_filesystem);
	sysinfo_create(&info, "/proc"); /* no name in the table: its number */
	ck_assert_str_eq(info.filesystem, "0x9fa0");
	ck_assert(!info.is_memory_filesystem);
	sysinfo_create(&info, "/nonexistent");
	ck_assert_str_eq(info.filesystem, "");
	ck_assert(!info.is_memory_filesystem);
}

TEST(machine_matches_the_system)
{
	struct sysinfo info;
	sysinfo_create(&info, "/");
	ck_assert_uint_eq(info.machine_cpus, ask("getconf _NPROCESSORS_ONLN"));
	ck_assert_uint_eq(info.cpus, ask("env -u OMP_NUM_THREADS nproc"));
	struct system_counts usage;
	system_usage(&usage);
	ck_assert_uint_gt(info.memory_bytes, sysinfo_max_resident_bytes());
	ck_assert_uint_gt(sysinfo_max_resident_bytes(), 1 << 20);
	ck_assert_uint_gt(usage.busy_ns, 0);
}
