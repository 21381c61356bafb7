/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pools that cannot be opened: foreign, damaged or not writable ones.
 *
 * Each test runs in a process of its own, because libpmem keeps state for the life of a
 * process. Databases are on tmpfs unless a test says otherwise.
 */
#include "fptree_pool_rig.h"

#include <sys/mount.h>

enum { NOBODY = 65534 };

/* --- pools of other programs, damaged pools --- */

static void
corrupt(const char *path, off_t at, const void *with, size_t size)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, with, size, at), (ssize_t)size);
	close(fd);
}

static void
set_magic(uint64_t magic)
{
	struct pool *pool = rig_opened(".", 0);
	pool->root->magic = magic;
	rig_closed(pool);
}

TEST(other_layout_version_is_refused)
{
	rig_make(".", 0);
	set_magic(POOL_MAGIC + (UINT64_C(1) << 56));
	rig_refused(".", "layout version 2, and this engine reads 1");
}

TEST(root_without_magic_is_refused)
{
	rig_make(".", 0);
	set_magic(0);
	rig_refused(".", "its root is not valid");
}

static void
make_foreign(const char *layout, size_t root_bytes)
{
	char *here = realpath(".", NULL);
	ck_assert_int_eq(mkdir("parts", 0700), 0);
	FILE *set = fopen("set", "w");
	ck_assert_ptr_nonnull(set);
	fprintf(set, "PMEMPOOLSET\nOPTION SINGLEHDR\n1G %s/parts\n", here);
	fclose(set);
	free(here);
	PMEMobjpool *pool = pmemobj_create("set", layout, 0, 0600);
	ck_assert_msg(pool != NULL, "%s", pmemobj_errormsg());
	pmemobj_root(pool, root_bytes);
	pmemobj_close(pool);
}

TEST(pool_of_another_layout_is_refused)
{
	make_foreign("another", sizeof(struct pool_root));
	rig_refused(".",
		"is not a pool of this engine; delete it to make a new one (pmemobj_open: ");
}

TEST(pool_with_another_root_is_refused)
{
	make_foreign("mininb fptree", sizeof(struct pool_root) + 64);
	rig_refused(".", "not a pool of this engine: it has another root");
}

TEST(damaged_head_is_refused)
{
	static const char zeros[8192];
	rig_make(".", 0);
	corrupt("parts/000000.pmem", 0, zeros, sizeof(zeros));
	rig_refused(".", "the pool is damaged");
}

/* Without the check, libpmemobj never returns, or reads outside its array. */
TEST_EACH(damaged_chunk_headers_are_refused, 4)
{
	static const uint32_t chunks[] = {0, UINT32_MAX, 70000, 1 << 16};
	enum { ZONE = 1024, CHUNKS = ZONE + 64, HEAP_OFFSET_AT = 4096 + 1024 + 16 };
	uint64_t heap;

	rig_make(".", 0);
	int fd = open("parts/000000.pmem", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(pread(fd, &heap, sizeof(heap), HEAP_OFFSET_AT), sizeof(heap));
	close(fd);
	corrupt("parts/000000.pmem", (off_t)heap + CHUNKS + 4, &chunks[_i], 4);
	rig_refused(".", "chunk 0 in zone 0 of its heap is not valid; delete");
	corrupt("parts/000000.pmem", (off_t)heap + ZONE + 4, &chunks[_i], 4);
	if (chunks[_i] != 0)
		rig_refused(".", "chunk 0 in zone 0");
}

static void
make_of_three_parts(void)
{
	struct pool *pool = rig_created(".", 0);
	ck_assert_int_eq(rig_take(pool, 100), 0);
	rig_closed(pool);
}

TEST(missing_parts_are_refused)
{
	static const char *const parts[][2] = {{"parts/000001.pmem", "are missing"},
		{"parts/000000.pmem", "are missing"},
		{"parts/000002.pmem", "the pool is damaged"}};

	make_of_three_parts();
	for (size_t i = 0; i < UNIT_COUNT(parts); i++) {
		ck_assert_int_eq(rename(parts[i][0], "aside"), 0);
		rig_refused(".", parts[i][1]);
		ck_assert_int_eq(rename("aside", parts[i][0]), 0);
	}
	rig_closed(rig_opened(".", 0));
	ck_assert_int_eq(rename("parts", "aside"), 0);
	ck_assert_int_eq(mkdir("parts", 0700), 0);
	rig_refused(".", "are missing");
}

/* Without the check, libpmemobj would end the process. */
TEST(truncated_part_is_refused)
{
	make_of_three_parts();
	ck_assert_int_eq(truncate("parts/000001.pmem", MIB), 0);
	rig_refused(".", "its part 000001.pmem was cut short");
	ck_assert_int_eq(truncate("parts/000000.pmem", 0), 0);
	rig_refused(".", "was cut short");
}

TEST(part_from_an_interrupted_creation_is_removed)
{
	rig_make(".", 0);
	file_put("parts/000001.pmem", "", 0);
	rig_closed(rig_opened(".", 0));
	ck_assert_int_eq(entries_of("parts"), 1);
	file_put("parts/000001.pmem", "started", 7);
	struct pool *pool = rig_opened(".", 0);
	ck_assert_uint_eq(pool->root->head, 4096);
	ck_assert_int_eq(rig_take(pool, 16), 0);
	rig_closed(pool);
	ck_assert_int_eq(entries_of("parts"), 2);
	rig_closed(rig_opened(".", 0));
}

TEST(part_unknown_to_the_heap_is_harmless)
{
	rig_make(".", 0);
	file_put("parts/000001.pmem", "", 0);
	ck_assert_int_eq(truncate("parts/000001.pmem", 64 * MIB), 0);
	struct pool *pool = rig_opened(".", 0);
	ck_assert_int_eq(rig_take(pool, 100), 0);
	rig_closed(pool);
	pool = rig_opened(".", 0);
	ck_assert_uint_eq(pool->root->head, 4096);
	rig_closed(pool);
}

TEST(truncated_part_in_use_is_unchanged_by_a_failed_open)
{
	struct pool *pool = rig_created(".", 0);
	ck_assert_int_eq(rig_take(pool, 16), 0);
	rig_closed(pool);
	ck_assert_int_eq(truncate("parts/000001.pmem", MIB), 0);
	rig_refused(".", "the pool is damaged");
	struct stat info;
	ck_assert_int_eq(stat("parts/000001.pmem", &info), 0);
	ck_assert_int_eq(info.st_size, MIB);
	ck_assert_int_eq(entries_of("parts"), 2);
}

/* --- pools that are not writable --- */

/* Become nobody if root, which may write anywhere. The directory is open to nobody. */
static void
begin_nobody(void)
{
	ck_assert_int_eq(chmod(scratch_path, 0755), 0);
	ck_assert_int_eq(chmod(".", 0755), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(NOBODY), 0);
}

static void
end_nobody(void)
{
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
}

TEST(unwritable_pool_is_refused)
{
	rig_make(".", 0);
	ck_assert_int_eq(chmod("parts/000000.pmem", 0444), 0);
	begin_nobody();
	rig_refused(".", "must be writable, even to be read (pmemobj_open: ");
	end_nobody();
}

TEST(unwritable_directory_is_named)
{
	ck_assert_int_eq(mkdir("closed", 0555), 0);
	begin_nobody();
	struct nb_open_args args = rig_args("closed", NB_OPEN_CREATE);
	rig_refused_with(&args, 0, NB_FAIL, "parts.new: Permission denied");
	end_nobody();
}

TEST(read_only_file_system_is_refused)
{
	ck_assert_int_eq(mkdir("mounted", 0700), 0);
	if (!rig_mount_tmpfs("mounted", "size=64m"))
		return;
	rig_make("mounted", 0);
	ck_assert_int_eq(mount("none", "mounted", "tmpfs", MS_REMOUNT | MS_RDONLY, NULL), 0);
	rig_refused("mounted", "must be writable, even to be read");
	ck_assert_int_eq(umount("mounted"), 0);
}

TEST(full_file_system_is_reported_and_leaves_no_files)
{
	ck_assert_int_eq(mkdir("mounted", 0700), 0);
	if (!rig_mount_tmpfs("mounted", "size=4m"))
		return;
	struct nb_open_args args = rig_args("mounted", NB_OPEN_CREATE);
	rig_refused_with(&args, 0, NB_FAIL, "the file system is full; a new pool needs 8 MiB");
	ck_assert_int_eq(entries_of("mounted"), 0);
	ck_assert_int_eq(umount("mounted"), 0);
}
