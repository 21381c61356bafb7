/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/install_path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

TEST(test_program_is_in_the_build_tree_in_any_working_directory)
{
	ck_assert(install_path_is_build_tree());
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert(install_path_is_build_tree());
}

/* The library is linked statically, so its location is the program's. */
TEST(path_of_the_library_is_found)
{
	char *exe = realpath("/proc/self/exe", NULL), *place = install_path_of_library();
	ck_assert_ptr_nonnull(exe);
	ck_assert_ptr_nonnull(place);
	*strrchr(exe, '/') = '\0';
	ck_assert_str_eq(place, exe);
	free(place);
	free(exe);
}
