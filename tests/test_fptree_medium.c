/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Media of a pool: flushes, syncs and durability.
 *
 * Each test runs in a process of its own, because libpmem keeps state for the life of a
 * process. Databases are on tmpfs unless a test says otherwise.
 */
#include "fptree_pool_rig.h"

#include <errno.h>
#include <sys/syscall.h>

/* --- medium and flushes --- */

TEST(tmpfs_is_reported_once_as_emulated_persistent_memory)
{
	if (!rig_on_tmpfs())
		return;
	struct pool *pool = rig_created(".", 0);
	ck_assert_int_eq(pool->medium, POOL_EMULATED);
	ck_assert_int_eq(pool->flush, pm_flush_best());
	ck_assert_int_eq(host_logs, 1);
	ck_assert_str_eq(host_logged,
		"fptree: the pool is on tmpfs: emulated persistent memory, which does not "
		"survive a power failure");
	rig_closed(pool);
}

TEST(durability_process_flushes_nothing)
{
	struct pool *pool = rig_at_process(".");
	ck_assert_int_eq(pool->flush, PM_FLUSH_NONE);
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	ck_assert_int_eq(pool_sync(pool), NB_OK);
	rig_closed(pool);
	rig_closed(rig_opened(".", 0));
}

TEST(other_durabilities_are_refused)
{
	struct nb_open_args args = rig_args(".", NB_OPEN_CREATE);
	args.durability = NB_DUR_NONE;
	rig_refused_with(&args, 0, NB_UNSUPPORTED, "durability must be process or commit");
	args.durability = NB_DUR_PERIODIC;
	rig_refused_with(&args, 0, NB_UNSUPPORTED, "durability must be process or commit");
	ck_assert_int_eq(entries_of("."), 0);
}

/* The test only selects worse instructions than the best, so the processor has them all. */
TEST(instructions_can_be_disabled_like_those_of_libpmem)
{
	if (!rig_on_tmpfs())
		return;
	enum pm_flush best = pm_flush_best();
	setenv("PMEM_NO_CLWB", "1", 1);
	struct pool *pool = rig_created(".", 0);
	ck_assert_int_eq(
		pool->flush, best == PM_FLUSH_CLWB ? (int)PM_FLUSH_CLFLUSHOPT : (int)best);
	rig_closed(pool);
	setenv("PMEM_NO_CLFLUSHOPT", "1", 1);
	pool = rig_opened(".", 0);
	bool is_x86 = best == PM_FLUSH_CLWB || best == PM_FLUSH_CLFLUSHOPT;
	ck_assert_int_eq(pool->flush, is_x86 ? (int)PM_FLUSH_CLFLUSH : (int)best);
	rig_closed(pool);
}

TEST(settings_of_the_user_for_libpmem_stay)
{
	if (!rig_on_tmpfs())
		return;
	setenv("PMEM_IS_PMEM_FORCE", "0", 1);
	struct pool *pool = rig_created(".", 0);
	ck_assert_str_eq(getenv("PMEM_IS_PMEM_FORCE"), "0");
	ck_assert_int_eq(pool->medium, POOL_EMULATED);
	ck_assert_int_eq(pool->flush, pm_flush_best());
	rig_closed(pool);
}

TEST(disk_is_a_file_that_is_synced)
{
	const char *path = rig_disk();
	if (path == NULL)
		return;
	struct pool *pool = rig_created(path, 0);
	if (pool->medium != POOL_DAX) {
		ck_assert_int_eq(pool->medium, POOL_FILE);
		ck_assert_int_eq(pool->flush, PM_FLUSH_MSYNC);
		ck_assert_int_eq(host_logs, 1);
		ck_assert_ptr_nonnull(strstr(host_logged, "each flush is an msync(2)"));
	}
	ck_assert_ptr_null(getenv("PMEM_IS_PMEM_FORCE"));
	rig_closed(pool);
	rig_closed(rig_opened(path, 0));
	rig_remove_tree(path);
}

TEST(disk_at_durability_process_logs_nothing_and_can_be_synced)
{
	const char *path = rig_disk();
	if (path == NULL)
		return;
	struct pool *pool = rig_at_process(path);
	ck_assert_int_eq(pool->flush, PM_FLUSH_NONE);
	ck_assert_int_eq(host_logs, 0);
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	ck_assert_int_eq(rig_take(pool, 16), 0);
	ck_assert_int_eq(pool_sync(pool), NB_OK);
	rig_closed(pool);
	rig_remove_tree(path);
}

/* --- pools written at process and opened at commit --- */

static ino_t synced[64];
static unsigned synced_count;

/* The C library's fsync(), recorded. */
int
fsync(int fd)
{
	struct stat info;
	if (synced_count < 64 && fstat(fd, &info) == 0)
		synced[synced_count++] = info.st_ino;
	return (int)syscall(SYS_fsync, fd);
}

static bool
was_synced(const char *path)
{
	struct stat info;
	ck_assert_int_eq(stat(path, &info), 0);
	for (unsigned i = 0; i < synced_count; i++)
		if (synced[i] == info.st_ino)
			return true;
	return false;
}

TEST(unsynced_data_of_level_process_is_synced_before_commit)
{
	struct pool *pool = rig_at_process(".");
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	ck_assert_int_eq(rig_take(pool, 16), 0);
	rig_closed(pool);
	synced_count = 0;
	pool = rig_at_process(".");
	ck_assert_uint_eq(synced_count, 0);
	rig_closed(pool);
	rig_closed(rig_opened(".", 0));
	ck_assert(was_synced("parts"));
	ck_assert(was_synced("parts/000000.pmem"));
	ck_assert(was_synced("parts/000001.pmem"));
}

TEST(on_a_disk_the_name_of_a_part_is_durable_before_libpmemobj_uses_it)
{
	const char *path = rig_disk();
	if (path == NULL)
		return;
	struct pool *pool = rig_created(path, POOL_SIZE_MIN);
	ck_assert_int_eq(rig_take(pool, 8), ENOMEM); /* libpmemobj does not grow it */
	synced_count = 0;
	ck_assert(pool_grow(pool, 0));
	ck_assert_int_eq(chdir(path), 0);
	ck_assert(was_synced("parts/000001.pmem"));
	ck_assert(was_synced("parts"));
	ck_assert_int_eq(rig_take(pool, 7), 0);
	ck_assert(pool_grow(pool, 0)); /* another thread has grown it */
	ck_assert_int_ne(access("parts/000002.pmem", F_OK), 0);
	ck_assert(!pool_grow(pool, 1));
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_int_eq(pool->growth_error, 0); /* the reservation is used up */
	rig_closed(pool);
	rig_closed(rig_opened(path, POOL_SIZE_MIN));
	rig_remove_tree(path);
}

TEST(sync_reports_a_missing_part)
{
	struct pool *pool = rig_at_process(".");
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	ck_assert_int_eq(rename("parts/000000.pmem", "aside"), 0);
	ck_assert_int_eq(pool_sync(pool), NB_FAIL);
	rig_closed(pool);
}

TEST(disk_after_tmpfs_in_one_process_is_never_reported_as_durable)
{
	if (!rig_on_tmpfs())
		return;
	rig_make(".", 0);
	const char *path = rig_disk();
	if (path == NULL)
		return;
	struct nb_open_args args = rig_args(path, NB_OPEN_CREATE);
	rig_refused_with(&args, 0, NB_UNSUPPORTED, "use another process");
	ck_assert_int_eq(entries_of(path), 0);
	struct pool *pool = rig_at_process(path);
	ck_assert_int_eq(pool->medium, POOL_FILE);
	rig_closed(pool);
	rig_remove_tree(path);
}

TEST(tmpfs_after_disk_in_one_process_is_flushed_by_lines)
{
	const char *path = rig_disk();
	if (path == NULL)
		return;
	rig_make(path, 0);
	rig_remove_tree(path);
	if (!rig_on_tmpfs())
		return;
	struct pool *pool = rig_created(".", 0);
	ck_assert_int_eq(pool->medium, POOL_EMULATED);
	ck_assert_int_eq(pool->flush, pm_flush_best());
	rig_closed(pool);
}
