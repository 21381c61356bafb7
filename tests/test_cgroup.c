/* SPDX-License-Identifier: BSD-2-Clause */
#include "run/cgroup.h"

#include <stdio.h>
#include <string.h>

#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

/** Create a file below `root`, with its directories. */
static void
put(const char *path, const char *text)
{
	char whole[256];
	snprintf(whole, sizeof(whole), "root%s", path);
	*strrchr(whole, '/') = '\0';
	ck_assert_int_eq(nb_tree_make(whole), NB_OK);
	snprintf(whole, sizeof(whole), "root%s", path);
	file_put(whole, text, strlen(text));
}

static void
assert_found(uint32_t version, const char *path, uint64_t limit)
{
	struct cgroup cgroup;
	cgroup_find(&cgroup, "root");
	ck_assert_uint_eq(cgroup.version, version);
	ck_assert_str_eq(cgroup.path, path);
	ck_assert_uint_eq(cgroup_memory_limit(&cgroup), limit);
}

TEST(the_lowest_limit_above_the_own_group_counts)
{
	scratch_fresh("lowest");
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/cgroup.controllers", "cpu memory\n");
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	put("/sys/fs/cgroup/a/memory.max", "4096\n");
	put("/sys/fs/cgroup/memory.max", "8192\n");
	assert_found(2, "root/sys/fs/cgroup/a/b", 4096);
	put("/sys/fs/cgroup/a/b/memory.max", "1024\n");
	assert_found(2, "root/sys/fs/cgroup/a/b", 1024);
}

TEST(with_both_versions_the_memory_controller_decides)
{
	scratch_fresh("both");
	put("/proc/self/cgroup", "5:cpu:/\n4:hugetlb,memory:/c\n0::/d\n");
	put("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "65536\n");
	put("/sys/fs/cgroup/d/cgroup.controllers", "hugetlb\n");
	assert_found(1, "root/sys/fs/cgroup/memory/c", 65536);
	put("/proc/self/cgroup", "0::/d\n");
	assert_found(0, "", UINT64_MAX);
}

TEST(in_a_container_the_mount_is_the_own_group)
{
	scratch_fresh("container");
	put("/proc/self/cgroup", "4:memory:/docker/0123\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n");
	assert_found(1, "root/sys/fs/cgroup/memory", 1048576);
}

TEST(a_machine_without_groups_has_no_limit)
{
	scratch_fresh("none");
	assert_found(0, "", UINT64_MAX);
	put("/proc/self/cgroup", "0::/\n");
	assert_found(0, "", UINT64_MAX);
}
