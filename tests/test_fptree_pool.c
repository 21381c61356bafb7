/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creation, opening, use and size of pools.
 *
 * Each test runs in a process of its own, because libpmem keeps state for the life of a
 * process. Databases are on tmpfs unless a test says otherwise.
 */
#include "fptree_pool_rig.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* --- making and opening --- */

TEST(committed_pool_opens_again_with_its_root)
{
	struct pool *pool = rig_unfinished(".", 0);
	ck_assert_uint_eq(pool->root->magic, 0);
	pool->root->head = 4711;
	pool->root->layout = (struct pool_layout){.format = 1, .leaf_slots = 31};
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	ck_assert_ptr_eq(pool->base, pool->obj);
	rig_closed(pool);
	pool = rig_opened(".", 0);
	ck_assert_uint_eq(pool->root->magic, POOL_MAGIC);
	ck_assert_uint_eq(pool->root->head, 4711);
	ck_assert_uint_eq(pool->root->layout.leaf_slots, 31);
	rig_closed(pool);
}

TEST(create_opens_an_existing_pool)
{
	rig_make(".", 0);
	struct nb_open_args args = rig_args(".", NB_OPEN_CREATE);
	struct pool *pool = rig_open_with(&args, 0);
	ck_assert(!pool->is_new);
	ck_assert_uint_eq(pool->root->head, 4096);
	rig_closed(pool);
}

TEST(open_does_not_create_a_missing_pool_or_directory)
{
	rig_refused(".", "no database: ");
	rig_refused("nowhere", "the directory of the database: No such file or directory");
	ck_assert_int_eq(entries_of("."), 0);
}

TEST(pool_closed_without_a_commit_leaves_no_files)
{
	rig_closed(rig_unfinished(".", 0));
	ck_assert_int_eq(entries_of("."), 0);
}

/* Run `what` in a child process that then kills itself by SIGKILL. */
static void
killed(void (*what)(const char *path), const char *path)
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		what(path);
		kill(getpid(), SIGKILL);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void
begin_one(const char *path)
{
	rig_take(rig_unfinished(path, 0), 16);
}

TEST(killed_creation_is_reported_and_removed_by_the_next_one)
{
	killed(begin_one, ".");
	ck_assert_int_eq(entries_of("."), 1);
	rig_refused(".", "its creation was interrupted");
	ck_assert_int_eq(entries_of("."), 1);
	struct pool *pool = rig_created(".", 0);
	ck_assert_int_eq(entries_of("."), 1);
	ck_assert_int_eq(entries_of("parts"), 1);
	rig_closed(pool);
	rig_closed(rig_opened(".", 0));
}

static void
finish_one(const char *path)
{
	struct pool *pool = rig_created(path, 0);
	pool->root->head = 8192;
}

TEST(committed_pool_survives_a_kill)
{
	killed(finish_one, ".");
	struct pool *pool = rig_opened(".", 0);
	ck_assert_uint_eq(pool->root->head, 8192);
	rig_closed(pool);
}

TEST(foreign_file_is_not_removed)
{
	ck_assert_int_eq(mkdir("parts.new", 0700), 0);
	file_put("parts.new/000000.pmem", "", 0);
	file_put("parts.new/letters", "dear", 4);
	struct nb_open_args args = rig_args(".", NB_OPEN_CREATE);
	rig_refused_with(&args, 0, NB_FAIL, "parts.new: Directory not empty");
	ck_assert_int_eq(entries_of("parts.new"), 1);
	file_is("parts.new/letters", "dear", 4);
}

TEST(path_may_have_blanks_and_quotes)
{
	static const char path[] = "a \"path\"\twith 'much'\nin it";
	ck_assert_int_eq(mkdir(path, 0700), 0);
	struct pool *pool = rig_created(path, 0);
	ck_assert_int_eq(rig_take(pool, 16), 0);
	rig_closed(pool);
	rig_closed(rig_opened(path, 0));
}

TEST(moved_pool_can_grow)
{
	ck_assert_int_eq(mkdir("here", 0700), 0);
	rig_make("here", 0);
	ck_assert_int_eq(rename("here", "there"), 0);
	struct pool *pool = rig_opened("there", 0);
	ck_assert_int_eq(rename("there", "where"), 0);
	ck_assert_int_eq(rig_take(pool, 16), 0);
	rig_closed(pool);
	ck_assert_int_eq(entries_of("where/parts"), 2);
}

/* --- in use --- */

TEST(pool_is_refused_while_another_process_uses_it)
{
	int status, ready[2];
	char byte;
	rig_make(".", 0);
	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		rig_opened(".", 0);
		ck_assert_int_eq(write(ready[1], "x", 1), 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	rig_refused(".", "in use by another process");
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	rig_closed(rig_opened(".", 0));
}

TEST(pool_being_created_is_not_removed_by_another_process)
{
	struct pool *pool = rig_unfinished(".", 0);
	struct nb_open_args args = rig_args(".", NB_OPEN_CREATE);
	rig_refused_with(&args, 0, NB_FAIL, "in use by another process, or open in this one");
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	rig_closed(pool);
	rig_closed(rig_opened(".", 0));
}

/* A tool of libpmemobj would lock like this; it does not know the lock on the directory. */
TEST(pool_whose_parts_are_locked_is_in_use)
{
	rig_make(".", 0);
	int fd = open("parts/000000.pmem", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	rig_refused(".", "in use by another process");
	close(fd);
	rig_closed(rig_opened(".", 0));
}

/* --- size --- */

TEST(pool_starts_small_and_adds_parts_as_it_grows)
{
	struct pool *pool = rig_created(".", 0);
	ck_assert_int_eq(entries_of("parts"), 1);
	ck_assert_int_eq(rig_take(pool, 100), 0);
	ck_assert_int_eq(entries_of("parts"), 3);
	rig_closed(pool);
	pool = rig_opened(".", 0);
	ck_assert_uint_eq(pool->taken_bytes, (8 + 64 + 64) * (uint64_t)MIB);
	rig_closed(pool);
}

/* The KiB of the parts that are mapped by huge pages. */
static unsigned long
huge_kib_of_parts(void)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	char line[4096];
	unsigned long sum = 0, kib, end;
	bool is_part = false;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps) != NULL)
		if (sscanf(line, "%lx-%lx", &kib, &end) == 2)
			is_part = strstr(line, ".pmem") != NULL;
		else if (is_part && sscanf(line, "ShmemPmdMapped: %lu kB", &kib) == 1)
			sum += kib;
	fclose(maps);
	return sum;
}

/* Is the kernel new enough, and does it have a free huge page? */
static bool
can_have_huge_pages(void)
{
	enum { HUGE_PAGE = 2 * MIB, SIZE = 2 * HUGE_PAGE, MADVISE_COLLAPSE = 25 };
	int fd = memfd_create("huge", MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	char *room = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(room, MAP_FAILED);
	char *at = room + (HUGE_PAGE - (uintptr_t)room % HUGE_PAGE) % HUGE_PAGE;
	at = mmap(at, HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	ck_assert_ptr_ne(at, MAP_FAILED);
	memset(at, 1, HUGE_PAGE);
	bool can = madvise(at, HUGE_PAGE, MADVISE_COLLAPSE) == 0;
	munmap(room, SIZE);
	close(fd);
	return can;
}

TEST(parts_of_a_pool_that_has_grown_are_on_huge_pages_on_tmpfs)
{
	struct pool *pool = rig_created(".", 0);
	volatile char *base = pool->base;

	if (!rig_on_tmpfs())
		return;
	pool_use_huge_pages(pool, MIB);
	ck_assert_uint_eq(pool->huge_bytes, 0); /* a small pool does not use huge pages */
	ck_assert_int_eq(rig_take(pool, 20), 0);
	pool_use_huge_pages(pool, 20 * (uint64_t)MIB);
	ck_assert_uint_eq(pool->huge_bytes, (8 + 64) * (uint64_t)MIB);
	for (size_t at = 0; at < pool->huge_bytes; at += MIB)
		(void)base[at];
	if (can_have_huge_pages())
		ck_assert_uint_gt(huge_kib_of_parts(), 0);
	else
		printf("# not tested: huge pages are not available\n");
	rig_closed(pool);
}

TEST(pool_at_its_size_is_full_and_grows_with_a_larger_size)
{
	struct pool *pool = rig_created(".", 16 * MIB);
	ck_assert_uint_eq(pool->reserved_bytes, 16 * MIB);
	ck_assert_int_eq(rig_take(pool, 16), ENOMEM);
	ck_assert_ptr_nonnull(strstr(pmemobj_errormsg(), "exceeded reservation size"));
	rig_closed(pool);
	rig_closed(rig_opened(".", 16 * MIB));
	pool = rig_opened(".", 128 * MIB);
	ck_assert_int_eq(rig_take(pool, 64), 0);
	rig_closed(pool);
	rig_closed(rig_opened(".", 0));
}

TEST(size_below_the_used_space_is_refused)
{
	struct pool *pool = rig_created(".", 0);
	ck_assert_int_eq(rig_take(pool, 16), 0);
	rig_closed(pool);
	struct nb_open_args args = rig_args(".", 0);
	rig_refused_with(&args, 71 * MIB, NB_UNSUPPORTED,
		"takes 72 MiB already, and pool_size is 70 MiB");
	pool = rig_opened(".", 72 * MIB);
	ck_assert_uint_eq(pool->root->head, 4096);
	rig_closed(pool);
}

TEST(size_out_of_range_is_refused)
{
	struct nb_open_args args = rig_args(".", NB_OPEN_CREATE);
	rig_refused_with(&args, POOL_SIZE_MIN - 1, NB_UNSUPPORTED, "16MiB to 256GiB");
	rig_refused_with(&args, POOL_SIZE_MAX + 1, NB_UNSUPPORTED, "16MiB to 256GiB");
	ck_assert_int_eq(entries_of("."), 0);
}

static uint64_t
default_for(uint64_t records, uint64_t key_size, uint64_t value_size)
{
	struct nb_open_args args = rig_args(".", NB_OPEN_CREATE);
	args.records = records;
	args.key_size = key_size;
	args.value_size = value_size;
	struct pool *pool = rig_open_with(&args, 0);
	uint64_t size = pool->reserved_bytes;
	rig_closed(pool);
	return size;
}

TEST(default_size_follows_the_hints)
{
	const uint64_t gib = UINT64_C(1) << 30;
	ck_assert_uint_eq(default_for(0, 0, 0), 64 * gib);
	ck_assert_uint_eq(default_for(2200000, 8, 8), 64 * gib);
	ck_assert_uint_ge(default_for(200000000, 16, 50), UINT64_C(2) * 200000000 * 66);
	ck_assert_uint_lt(default_for(200000000, 16, 50), 256 * gib);
	ck_assert_uint_eq(default_for(UINT64_MAX, 16, 100), 256 * gib);
	ck_assert_uint_eq(default_for(1000, UINT64_MAX, UINT64_MAX), 256 * gib);
}

/* The part is sparse, so it takes no space. */
TEST(default_size_is_twice_the_used_space)
{
	const uint64_t gib = UINT64_C(1) << 30;
	rig_make(".", 0);
	file_put("parts/000001.pmem", "", 0);
	ck_assert_int_eq(truncate("parts/000001.pmem", (off_t)(40 * gib)), 0);
	struct pool *pool = rig_opened(".", 0);
	ck_assert_uint_eq(pool->reserved_bytes, 2 * (40 * gib + 8 * MIB));
	rig_closed(pool);
}

TEST(unavailable_addresses_are_reported_with_the_option)
{
	const struct rlimit limit = {UINT64_C(4) << 30, UINT64_C(4) << 30};
	if (strcmp(NB_ENGINE_BUILD, "sanitizer") == 0) {
		printf("# skipped: a sanitizer reserves addresses\n");
		return;
	}
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	struct nb_open_args args = rig_args(".", NB_OPEN_CREATE);
	rig_refused_with(&args, 0, NB_FAIL, "cannot reserve 65536 MiB of address space");
	rig_refused_with(&args, 0, NB_FAIL, "(see ulimit -v); give a pool_size");
	rig_refused_with(&args, 8192ull * MIB, NB_FAIL, "give a smaller pool_size");
	ck_assert_int_eq(entries_of("."), 0);
	rig_make(".", 64 * MIB);
	rig_refused(".", "give a pool_size");
	rig_closed(rig_opened(".", 64 * MIB));
}
