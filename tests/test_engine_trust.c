/* SPDX-License-Identifier: BSD-2-Clause */
/* Which plugins root loads. The check does not open files, so empty ones suffice. */
#include <limits.h>
#include <stdbool.h>

#include "run/engine.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

/** Make far/near/e.so. Returns its absolute path. */
static void
make_plugin(const char *name, char path[PATH_MAX])
{
	scratch_fresh(name);
	ck_assert_int_eq(mkdir("far", 0755), 0);
	ck_assert_int_eq(mkdir("far/near", 0755), 0);
	file_put("far/near/e.so", "", 0);
	ck_assert_ptr_nonnull(realpath("far/near/e.so", path));
}

static void
set_mode(const char *path, mode_t mode)
{
	ck_assert_int_eq(chmod(path, mode), 0);
}

static void
check(const char *path, bool is_trusted)
{
	int rc = engine_check_trust(path);
	if (geteuid() != 0 || is_trusted) {
		ck_assert_msg(rc == NB_OK, "%s", nb_error_text());
		return;
	}
	ck_assert_int_eq(rc, NB_FAIL);
	ck_assert_ptr_nonnull(strstr(nb_error_text(), "refused: everyone can write"));
}

TEST(root_loads_no_file_that_everyone_may_write)
{
	static const char *const ways[] = {"far/near/e.so", "far/near", "far"};
	char path[PATH_MAX];
	make_plugin("open", path);
	check(path, true);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		set_mode(ways[i], 0777);
		check(path, false);
		check("far/near/e.so", false);
		set_mode(ways[i], 0775); /* somebody has chosen a group */
		check(path, true);
	}
}

TEST(own_file_in_a_sticky_directory_is_trusted)
{
	char path[PATH_MAX];
	make_plugin("sticky", path);
	set_mode("far/near", 01777);
	check(path, true);
	set_mode("far", 01777);
	check(path, true);
	if (chown(path, 12345, 12345) != 0)
		return; /* only root can change the owner */
	check(path, false);
	set_mode("far/near", 0755);
	check(path, true); /* the users who may put files there are known */
}

TEST(link_is_trusted_like_its_target)
{
	char path[PATH_MAX];
	make_plugin("link", path);
	ck_assert_int_eq(symlink("far/near/e.so", "e.so"), 0);
	check("./e.so", true);
	set_mode("far/near", 0777);
	check("./e.so", false);
}

TEST(missing_file_is_left_to_the_loader)
{
	check("/nonexistent/e.so", true);
}
