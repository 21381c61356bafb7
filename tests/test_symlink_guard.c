/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbolic links and files that another user may have put in a directory writable by everyone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/symlink_guard.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

static void
check_refused(const char *path, const char *why)
{
	ck_assert_int_eq(symlink_check(path), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), why));
}

TEST(own_or_missing_paths_are_allowed)
{
	scratch_fresh("ours");
	ck_assert_int_eq(mkdir("all", 0777), 0);
	ck_assert_int_eq(chmod("all", 01777), 0);
	ck_assert_int_eq(symlink("nowhere", "all/link"), 0);
	ck_assert_int_eq(symlink("loop", "all/loop"), 0);
	ck_assert_int_eq(symlink_check("all/link"), NB_OK);
	ck_assert_int_eq(symlink_check("all/loop"), NB_OK);
	ck_assert_int_eq(symlink_check("all/none"), NB_OK);
}

TEST(links_of_others_in_shared_directories_are_refused)
{
	scratch_fresh("others");
	ck_assert_int_eq(mkdir("all", 0777), 0);
	ck_assert_int_eq(chmod("all", 01777), 0);
	ck_assert_int_eq(mkdir("all/dir", 0777), 0);
	ck_assert_int_eq(symlink("dir", "all/link"), 0);
	ck_assert_int_eq(symlink("all/link", "ours"), 0);
	file_put("all/file", "x", 1);
	if (lchown("all/link", 12345, 12345) != 0)
		return; /* only root can change the owner */
	check_refused("all/link", "all/link: is another user's symbolic link");
	check_refused("ours", "all/link: is another user's symbolic link");
	check_refused("all/link//", "all/link: is another user's symbolic link");
	ck_assert_int_eq(lchown("all/link", 0, 0), 0);
	ck_assert_int_eq(lchown("all/dir", 12345, 12345), 0);
	ck_assert_int_eq(lchown("all/file", 12345, 12345), 0);
	check_refused("ours", "all/dir: is another user's directory");
	check_refused("all/file", "all/file: is another user's file");
	ck_assert_int_eq(chmod("all", 0755), 0);
	ck_assert_int_eq(symlink_check("all/file"), NB_OK);
	ck_assert_int_eq(chmod("all", 01777), 0);
	ck_assert_int_eq(lchown("all", 12345, 12345), 0);
	ck_assert_int_eq(chmod("all", 01777), 0);
	ck_assert_int_eq(symlink_check("all/file"), NB_OK); /* the owner's */
}

TEST(refused_step_of_a_link_is_named)
{
	scratch_fresh("step");
	ck_assert_int_eq(mkdir("deep", 0700), 0);
	ck_assert_int_eq(symlink("other", "deep/link"), 0);
	ck_assert_int_eq(symlink("/etc", "deep/far"), 0);
	char *next = symlink_read("deep/link"), *far = symlink_read("deep/far");
	ck_assert_str_eq(next, "deep/other");
	ck_assert_str_eq(far, "/etc");
	ck_assert_ptr_null(symlink_read("deep"));
	free(next);
	free(far);
}
