/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/tree.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>

#include "base/error.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

static void
make_dir(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

TEST(all_files_below_are_removed)
{
	scratch_fresh("all");
	make_dir("t");
	make_dir("t/a");
	make_dir("t/a/b");
	file_put("t/f", "x", 1);
	file_put("t/a/.f", "x", 1);
	for (int i = 0; i < 300; i++) {
		char name[32];
		snprintf(name, sizeof(name), "t/a/b/%d", i);
		file_put(name, "", 0);
	}
	ck_assert_msg(nb_tree_remove("t") == NB_OK, "%s", nb_error_text());
	ck_assert_int_eq(entries_of("."), 0);
	ck_assert_int_eq(nb_tree_remove("t"), NB_OK);
}

TEST(a_directory_is_made_with_all_its_parents)
{
	scratch_fresh("make");
	ck_assert_int_eq(nb_tree_make("a/b//c/"), NB_OK);
	ck_assert_int_eq(nb_tree_make("a/b/c"), NB_OK);
	ck_assert_int_eq(entries_of("a/b/c"), 0);
	file_put("file", "", 0);
	ck_assert_int_eq(nb_tree_make("file/a"), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "file: is not a directory"));
}

TEST(emptied_directory_itself_stays)
{
	scratch_fresh("empty");
	make_dir("t");
	make_dir("t/a");
	file_put("t/a/f", "x", 1);
	int fd = open("t", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(tree_empty(fd, "t"), NB_OK);
	close(fd);
	ck_assert_int_eq(entries_of("t"), 0);
}

TEST(links_are_removed_and_not_followed)
{
	scratch_fresh("links");
	make_dir("kept");
	file_put("kept/f", "x", 1);
	make_dir("t");
	ck_assert_int_eq(symlink("../kept", "t/near"), 0);
	ck_assert_int_eq(symlink("../kept/f", "t/file"), 0);
	ck_assert_int_eq(symlink("/nonexistent", "t/nowhere"), 0);
	ck_assert_int_eq(symlink("t", "link"), 0);
	ck_assert_int_eq(nb_tree_remove("link"), NB_FAIL);
	ck_assert_int_eq(entries_of("t"), 3);
	ck_assert_int_eq(nb_tree_remove("t"), NB_OK);
	file_is("kept/f", "x", 1);
}

TEST(file_is_not_removed_as_a_directory)
{
	scratch_fresh("file");
	file_put("f", "x", 1);
	ck_assert_int_eq(nb_tree_remove("f"), NB_FAIL);
	file_is("f", "x", 1);
}

TEST(a_mount_is_not_entered)
{
	scratch_fresh("mount");
	make_dir("far");
	file_put("far/f", "x", 1);
	make_dir("t");
	make_dir("t/bound");
	if (unshare(CLONE_NEWNS) != 0 ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("far", "t/bound", NULL, MS_BIND, NULL) != 0)
		return; /* only root can mount */
	ck_assert_int_eq(nb_tree_remove("t"), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "t: cannot be removed"));
	file_is("far/f", "x", 1);
}
