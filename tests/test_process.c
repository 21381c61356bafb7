/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for child processes; copying and removing directory trees. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/process.h"
#include "base/tree.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

TEST(copy_has_all_and_stays_sparse)
{
	scratch_fresh("copy");
	ck_assert_int_eq(mkdir("from", 0700), 0);
	ck_assert_int_eq(mkdir("from/deep", 0700), 0);
	file_put("from/deep/file", "text", 4);
	file_put("from/empty", "", 0);
	ck_assert_int_eq(symlink("deep/file", "from/link"), 0);
	ck_assert_int_eq(mkfifo("from/fifo", 0600), 0);
	int fd = open("from/map", O_CREAT | O_WRONLY, 0600);
	ck_assert_int_eq(ftruncate(fd, (off_t)1 << 40), 0);
	ck_assert_int_eq(pwrite(fd, "middle", 6, (off_t)1 << 30), 6);
	close(fd);

	ck_assert_int_eq(process_copy_tree("to", "from"), NB_OK);
	file_is("to/deep/file", "text", 4);
	file_is("to/empty", "", 0);
	char target[16] = "";
	ck_assert_int_eq(readlink("to/link", target, sizeof(target)), 9);
	ck_assert_int_eq(access("to/fifo", F_OK), -1);
	struct stat info;
	ck_assert_int_eq(stat("to/map", &info), 0);
	ck_assert_int_eq(info.st_size, (off_t)1 << 40);
	ck_assert_int_lt(info.st_blocks, 1 << 16);
	char middle[6];
	fd = open("to/map", O_RDONLY);
	ck_assert_int_eq(pread(fd, middle, 6, (off_t)1 << 30), 6);
	ck_assert_mem_eq(middle, "middle", 6);
	close(fd);

	ck_assert_int_eq(process_copy_tree("to", "from"), NB_FAIL); /* the target exists */
	ck_assert_int_eq(process_copy_tree("other", "nowhere"), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "nowhere"));
	tree_drop("to");
	tree_drop("to");
	ck_assert_int_eq(access("to", F_OK), -1);
	file_is("from/deep/file", "text", 4);
}

TEST(a_link_out_of_the_tree_is_not_copied)
{
	static const char *const targets[] = {
		"/etc/hostname", "..", "../file", "deep/../../file"};
	scratch_fresh("links");
	ck_assert_int_eq(mkdir("from", 0700), 0);
	ck_assert_int_eq(symlink("...", "from/dots"), 0);
	ck_assert_int_eq(process_copy_tree("right", "from"), NB_OK);
	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
		char to[] = "to0";
		to[2] += (char)i;
		ck_assert_int_eq(symlink(targets[i], "from/link"), 0);
		ck_assert_int_eq(process_copy_tree(to, "from"), NB_FAIL);
		ck_assert_ptr_nonnull(
			strstr(nb_error_text(), "from holds a symbolic link that leads out"));
		ck_assert_int_eq(unlink("from/link"), 0);
	}
}

/** The description of the end of a child that acts as `what` says. */
static const char *
end_of(int what)
{
	static char text[128];
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		process_take_signals_back();
		if (what < 0)
			raise(SIGTERM);
		while (what == 99)
			pause();
		_exit(what);
	}
	int how = process_await(pid, &status, what == 99 ? 1000000 : UINT64_MAX);
	if (how == PROCESS_LATE)
		process_kill(pid, &status);
	process_describe_end(text, sizeof(text), how, status, 1000000);
	ck_assert_int_eq(waitpid(pid, &status, 0), -1); /* no child is left */
	return text;
}

TEST(end_of_a_child_is_described)
{
	ck_assert_str_eq(end_of(0), "");
	ck_assert_str_eq(end_of(3), "the process ended with status 3");
	ck_assert_str_eq(end_of(-1), "the process was ended by SIGTERM");
	ck_assert_str_eq(end_of(99), "it hangs: no end after 0.001 s");
	char name[PROCESS_SIGNAL_SIZE];
	ck_assert_str_eq(process_signal_name(40, name), "signal 40");
}

TEST(stop_ends_the_wait)
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	nb_stop();
	ck_assert_int_eq(process_await(pid, &status, UINT64_MAX), PROCESS_STOPPED);
	nb_stop_clear();
	process_kill(pid, &status);
	ck_assert(WIFSIGNALED(status));
}
