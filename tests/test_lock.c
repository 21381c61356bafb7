/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/lock.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/error.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

static int
open_file(void)
{
	int fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/** A process that has the lock, or a copy of `fd` if that is not -1, until it is killed. */
static pid_t
start_holder(int fd)
{
	int ready[2];
	char byte = 0;
	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int own = fd >= 0 ? fd : open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if ((fd >= 0 || flock(own, LOCK_EX) == 0) && write(ready[1], "x", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	ck_assert_int_gt(pid, 0);
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void
end_holder(pid_t pid)
{
	int status;
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

TEST(a_lock_names_the_process_that_has_it)
{
	char who[64];
	scratch_fresh("names");
	pid_t pid = start_holder(-1);
	int fd = open_file();
	snprintf(who, sizeof(who), "nb/toy: is in use by process %d (", (int)pid);
	for (int is_shared = 0; is_shared < 2; is_shared++) {
		ck_assert_int_eq(lock_take(fd, is_shared, "nb/toy"), NB_FAIL);
		ck_assert_msg(strstr(nb_error_text(), who) != NULL, "%s", nb_error_text());
		ck_assert_ptr_nonnull(strstr(nb_error_text(), "test_lock"));
		ck_assert_ptr_nonnull(strstr(nb_error_text(), "--path"));
	}
	end_holder(pid); /* a killed process leaves no lock behind */
	ck_assert_int_eq(lock_take(fd, false, "nb/toy"), NB_OK);
	close(fd);
}

TEST(a_forked_process_keeps_the_lock)
{
	scratch_fresh("forked");
	int fd = open_file(), other = open_file();
	ck_assert_int_eq(lock_take(fd, false, "nb/toy"), NB_OK);
	pid_t pid = start_holder(fd);
	close(fd);
	ck_assert_int_eq(lock_take(other, false, "nb/toy"), NB_FAIL);
	end_holder(pid);
	ck_assert_int_eq(lock_take(other, false, "nb/toy"), NB_OK);
	close(other);
}

TEST(shared_locks_meet_and_exclusive_ones_do_not)
{
	scratch_fresh("shared");
	int a = open_file(), b = open_file();
	ck_assert_int_eq(lock_take(a, true, "nb/toy"), NB_OK);
	ck_assert_int_eq(lock_take(b, true, "nb/toy"), NB_OK);
	close(b);
	b = open_file();
	ck_assert_int_eq(lock_take(b, false, "nb/toy"), NB_FAIL);
	close(a);
	ck_assert_int_eq(lock_take(b, false, "nb/toy"), NB_OK);
	close(b);
}
