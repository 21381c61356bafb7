/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/marker.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "base/error.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

/** Make nb/toy with a file in it. */
static void
make_database(const char *name)
{
	scratch_fresh(name);
	ck_assert_int_eq(mkdir("nb", 0700), 0);
	ck_assert_int_eq(mkdir("nb/toy", 0700), 0);
	file_put("nb/toy/data", "x", 1);
}

/** Mark nb/toy as mininb's; nobody keeps it open. */
static int
put_marker(void)
{
	struct marker marker;
	int rc = marker_put(&marker, "nb", "toy", MARKER_UNLOCKED, false);
	if (rc == NB_OK)
		marker_close(&marker);
	return rc;
}

static int
clear_all(const char *path, const char *name, bool is_forced)
{
	int rc = marker_allow(path, name, true, is_forced);
	return rc == NB_OK ? marker_clear(path, name) : rc;
}

static void
check_refused(const char *path, const char *reason)
{
	ck_assert_int_eq(marker_allow(path, "toy", false, false), NB_FAIL);
	ck_assert_msg(strstr(nb_error_text(), reason) != NULL, "%s", nb_error_text());
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "--force"));
	ck_assert_int_eq(clear_all(path, "toy", false), NB_FAIL);
	ck_assert_msg(strstr(nb_error_text(), reason) != NULL, "%s", nb_error_text());
}

TEST(marked_directory_may_be_written_and_cleared)
{
	make_database("marked");
	ck_assert_int_eq(put_marker(), NB_OK);
	ck_assert_int_eq(put_marker(), NB_OK);
	ck_assert_int_eq(entries_of("nb"), 2);
	ck_assert_int_eq(entries_of("nb/toy"), 1); /* the engine does not see the marker */
	ck_assert_msg(marker_allow("nb", "toy", false, false) == NB_OK, "%s", nb_error_text());
	ck_assert_int_eq(clear_all("nb", "toy", false), NB_OK);
	ck_assert_int_eq(entries_of("nb/toy"), 0);
	ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK);
}

TEST(marker_explains_itself)
{
	make_database("tells");
	ck_assert_int_eq(put_marker(), NB_OK);
	size_t size;
	char *text = (char *)file_get("nb/.mininb-toy", &size);
	ck_assert_ptr_nonnull(strstr(text, "mininb made the directory toy"));
	ck_assert_ptr_nonnull(strstr(text, nb_version()));
	ck_assert_ptr_nonnull(strstr(text, "engine toy"));
	ck_assert_ptr_eq(strchr(text, '\n'), text + size - 1); /* one line */
	free(text);
}

TEST(unmarked_directory_is_refused_unless_forced)
{
	make_database("unmarked");
	check_refused("nb", "it holds 'data', and mininb did not make it");
	file_is("nb/toy/data", "x", 1);
	ck_assert_int_eq(marker_allow("nb", "toy", false, true), NB_OK);
	ck_assert_int_eq(clear_all("nb", "toy", true), NB_OK);
	ck_assert_int_eq(entries_of("nb/toy"), 0);
}

TEST(empty_or_missing_directory_needs_no_marker)
{
	scratch_fresh("nothing");
	ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK);
	ck_assert_int_eq(clear_all("nb", "toy", false), NB_OK);
	ck_assert_int_eq(mkdir("nb", 0700), 0);
	ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK);
	ck_assert_int_eq(mkdir("nb/toy", 0700), 0);
	ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK);
	ck_assert_int_eq(clear_all("nb", "toy", false), NB_OK);
}

TEST(marker_is_valid_for_one_directory_only)
{
	make_database("other");
	ck_assert_int_eq(put_marker(), NB_OK);
	ck_assert_int_eq(rename("nb/toy", "moved"), 0);
	usleep(20000); /* birth times have the resolution of kernel ticks */
	ck_assert_int_eq(mkdir("nb/toy", 0700), 0);
	ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK); /* it is empty */
	file_put("nb/toy/mine", "x", 1);
	check_refused("nb",
		"it is a copy of a database that mininb made, or took its place: .mininb-toy "
		"is of another directory");
	ck_assert_int_eq(put_marker(), NB_OK);
	ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK);
}

TEST(path_may_be_renamed_and_be_a_link)
{
	make_database("renamed");
	ck_assert_int_eq(put_marker(), NB_OK);
	ck_assert_int_eq(rename("nb", "there"), 0);
	ck_assert_int_eq(symlink("there", "link"), 0);
	ck_assert_int_eq(marker_allow("there", "toy", false, false), NB_OK);
	ck_assert_int_eq(clear_all("link/", "toy", false), NB_OK);
	ck_assert_int_eq(entries_of("there/toy"), 0);
}

TEST(link_is_not_an_own_database_and_never_cleared)
{
	make_database("link");
	ck_assert_int_eq(put_marker(), NB_OK);
	ck_assert_int_eq(rename("nb/toy", "far"), 0);
	ck_assert_int_eq(symlink("../far", "nb/toy"), 0);
	check_refused("nb", "is a symbolic link");
	ck_assert_int_eq(marker_allow("nb", "toy", false, true), NB_OK);
	ck_assert_int_eq(clear_all("nb", "toy", true), NB_FAIL);
	file_is("far/data", "x", 1);
}

TEST(marker_that_is_a_link_or_invalid_is_refused)
{
	make_database("fake");
	ck_assert_int_eq(put_marker(), NB_OK);
	ck_assert_int_eq(rename("nb/.mininb-toy", "nb/true"), 0);
	ck_assert_int_eq(symlink("true", "nb/.mininb-toy"), 0);
	check_refused("nb", ".mininb-toy: this file exists, and mininb did not make it");
	ck_assert_int_eq(unlink("nb/.mininb-toy"), 0);
	file_put("nb/.mininb-toy", "mine", 4);
	check_refused("nb", ".mininb-toy: this file exists, and mininb did not make it");
	file_is("nb/.mininb-toy", "mine", 4);
	ck_assert_int_eq(put_marker(), NB_OK); /* after --force */
	ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK);
}

TEST(marker_of_another_user_in_a_shared_directory_is_refused)
{
	make_database("sticky");
	ck_assert_int_eq(put_marker(), NB_OK);
	ck_assert_int_eq(chmod("nb", 01777), 0);
	ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK);
	if (chown("nb/toy", 12345, 12345) != 0)
		return; /* only root can change the owner */
	check_refused("nb", "belongs to another user");
	ck_assert_int_eq(chown("nb", 12345, 12345), 0); /* one owner now */
	ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK);
	ck_assert_int_eq(chown("nb", 0, 0), 0);
	ck_assert_int_eq(chmod("nb", 01777), 0); /* chown() may clear bits */
	check_refused("nb", "belongs to another user");
	ck_assert_int_eq(chmod("nb", 0755), 0);
	ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK);
	ck_assert_int_eq(chown("nb/toy", 0, 0), 0);
	ck_assert_int_eq(chown("nb", 12345, 12345), 0);
	ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK);
	ck_assert_int_eq(chmod(".", 01777), 0);
	check_refused("nb", "belongs to another user");
}

TEST(marker_locked_by_another_process_is_refused)
{
	static const uint32_t locks[][2] = {{MARKER_EXCLUSIVE, MARKER_EXCLUSIVE},
		{MARKER_EXCLUSIVE, MARKER_SHARED}, {MARKER_SHARED, MARKER_EXCLUSIVE}};
	struct marker first, second;
	make_database("locked");
	for (size_t i = 0; i < sizeof(locks) / sizeof(*locks); i++) {
		ck_assert_int_eq(marker_put(&first, "nb", "toy", locks[i][0], false), NB_OK);
		ck_assert_int_eq(marker_put(&second, "nb", "toy", locks[i][1], true), NB_FAIL);
		ck_assert_ptr_nonnull(strstr(nb_error_text(), "nb/toy: is in use by process "));
		ck_assert_int_eq(marker_open(&second, "nb", "toy", locks[i][1]), NB_FAIL);
		marker_close(&first);
		ck_assert_int_eq(marker_open(&second, "nb", "toy", locks[i][1]), NB_OK);
		marker_close(&second);
	}
	ck_assert_int_eq(marker_put(&first, "nb", "toy", MARKER_SHARED, false), NB_OK);
	ck_assert_int_eq(marker_open(&second, "nb", "toy", MARKER_SHARED), NB_OK);
	marker_close(&second);
	marker_close(&first);
}

TEST(a_database_without_a_marker_is_read_without_a_lock)
{
	struct marker marker;
	make_database("foreign");
	ck_assert_int_eq(marker_open(&marker, "nb", "toy", MARKER_EXCLUSIVE), NB_OK);
	ck_assert(!marker.is_open);
	ck_assert_int_eq(entries_of("nb"), 1);
	marker_close(&marker);
}

TEST(an_unfinished_load_stays_in_the_marker)
{
	static const struct marker_load loads[] = {
		{"load", 12, 5000, MARKER_KILLED, UINT64_C(0xfedcba9876543210)},
		{"put", UINT64_MAX, UINT64_MAX, MARKER_SCATTERED},
		{"replay", 0, 0, MARKER_FIRST}, {"", 0, 0, 0}};
	struct marker marker;
	make_database("unfinished");
	ck_assert_int_eq(put_marker(), NB_OK);
	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++) {
		ck_assert_int_eq(
			marker_put(&marker, "nb", "toy", MARKER_EXCLUSIVE, false), NB_OK);
		ck_assert_int_eq(marker_note(&marker, &loads[i]), NB_OK);
		marker_close(&marker);
		ck_assert_int_eq(marker_open(&marker, "nb", "toy", MARKER_SHARED), NB_OK);
		ck_assert_str_eq(marker.load.action, loads[i].action);
		ck_assert_uint_eq(marker.load.done, loads[i].done);
		ck_assert_uint_eq(marker.load.total, loads[i].total);
		ck_assert_uint_eq(marker.load.end, loads[i].end);
		ck_assert_uint_eq(marker.load.keys, loads[i].keys);
		marker_close(&marker);
		ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK);
	}
}

TEST(copy_of_an_unfinished_database_is_unfinished)
{
	struct marker marker;
	make_database("copied");
	ck_assert_int_eq(marker_put(&marker, "nb", "toy", MARKER_EXCLUSIVE, false), NB_OK);
	ck_assert_int_eq(
		marker_note(&marker, &(struct marker_load){"put", 3, 10, MARKER_FIRST}), NB_OK);
	marker_close(&marker);
	ck_assert_int_eq(rename("nb/toy", "moved"), 0);
	usleep(20000); /* birth times have the resolution of kernel ticks */
	ck_assert_int_eq(mkdir("nb/toy", 0700), 0);
	for (int i = 0; i < 2; i++) { /* the first time with a new marker, then with it */
		ck_assert_int_eq(
			marker_put(&marker, "nb", "toy", MARKER_EXCLUSIVE, false), NB_OK);
		ck_assert_str_eq(marker.load.action, "put");
		ck_assert_uint_eq(marker.load.done, 3);
		marker_close(&marker);
	}
	ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK);
}

TEST(a_marker_that_was_never_written_is_written)
{
	make_database("killed");
	file_put("nb/.mininb-toy", "", 0);
	check_refused("nb", "it holds 'data'");
	ck_assert_int_eq(put_marker(), NB_OK);
	ck_assert_int_eq(marker_allow("nb", "toy", false, false), NB_OK);
}

/* ---- the lock ---- */

static int
open_file(void)
{
	int fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/**
 * Start a process that holds the lock or, if `fd` is not -1, a copy of `fd`, until it is
 * killed.
 */
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
		ck_assert_ptr_nonnull(strstr(nb_error_text(), "test_marker"));
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
