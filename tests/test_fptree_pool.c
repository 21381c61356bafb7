/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each test runs in a process of its own, because libpmem keeps state for the life of a
 * process. Databases are on tmpfs unless a test says otherwise.
 */
#include "pool.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "plugin_host.h"
#include "scratch.h"
#include "unit.h"

enum { MIB = 1 << 20, NOBODY = 65534, TMPFS = 0x01021994 };

static struct nb_open_args
to(const char *path, uint32_t flags)
{
	return (struct nb_open_args){.size = sizeof(struct nb_open_args),
		.flags = flags,
		.host = &plugin_host,
		.path = path,
		.sessions = 1,
		.durability = NB_DUR_COMMIT};
}

static struct pool *
open_with(const struct nb_open_args *args, uint64_t size_bytes)
{
	struct pool *pool;
	int rc = pool_open(&pool, args, size_bytes);
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
	return pool;
}

static struct pool *
opened(const char *path, uint64_t size_bytes)
{
	struct nb_open_args args = to(path, 0);
	struct pool *pool = open_with(&args, size_bytes);
	ck_assert(!pool->is_new);
	return pool;
}

static struct pool *
unfinished(const char *path, uint64_t size_bytes)
{
	struct nb_open_args args = to(path, NB_OPEN_CREATE);
	struct pool *pool = open_with(&args, size_bytes);
	ck_assert(pool->is_new);
	return pool;
}

static struct pool *
at_process(const char *path)
{
	struct nb_open_args args = to(path, NB_OPEN_CREATE);
	args.durability = NB_DUR_PROCESS;
	return open_with(&args, 0);
}

static struct pool *
created(const char *path, uint64_t size_bytes)
{
	struct pool *pool = unfinished(path, size_bytes);
	pool->root->head = 4096;
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	return pool;
}

static void
closed(struct pool *pool)
{
	ck_assert_int_eq(pool_close(pool), NB_OK);
}

static void
make(const char *path, uint64_t size_bytes)
{
	closed(created(path, size_bytes));
}

static void
refused_with(const struct nb_open_args *args, uint64_t size_bytes, int code, const char *text)
{
	struct pool *pool;
	host_failure[0] = '\0';
	ck_assert_int_eq(pool_open(&pool, args, size_bytes), code);
	ck_assert_msg(
		strstr(host_failure, text) != NULL, "\"%s\" lacks \"%s\"", host_failure, text);
}

static void
refused(const char *path, const char *text)
{
	struct nb_open_args args = to(path, 0);
	refused_with(&args, 0, NB_FAIL, text);
}

/* Allocate `mib` objects of nearly a MiB, for which the pool may have to grow. 0 or errno. */
static int
take(struct pool *pool, size_t mib)
{
	for (size_t i = 0; i < mib; i++) {
		PMEMoid at;
		if (pmemobj_alloc(pool->obj, &at, MIB - 4096, 1, NULL, NULL) != 0)
			return errno;
	}
	return 0;
}

static bool
is_on_tmpfs(const char *path)
{
	struct statfs info;
	ck_assert_int_eq(statfs(path, &info), 0);
	return (uint32_t)info.f_type == TMPFS;
}

static bool
on_tmpfs(void)
{
	if (is_on_tmpfs("."))
		return true;
	printf("# skipped: no tmpfs at %s\n", scratch_path);
	return false;
}

/* Mount a tmpfs that only this process sees and that ends with it. */
static bool
mount_tmpfs(const char *path, const char *options)
{
	if (unshare(CLONE_NEWNS) != 0 ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("none", path, "tmpfs", 0, options) != 0) {
		printf("# skipped: may not mount\n");
		return false;
	}
	return true;
}

/* Make a directory on a disk, which the caller removes. NULL: the build is on tmpfs. */
static const char *
disk(void)
{
	static char path[] = "./mininb-disk-XXXXXX";
	static char *full;
	ck_assert_int_eq(chdir(POOL_TEST_DISK), 0);
	ck_assert_ptr_nonnull(mkdtemp(path));
	full = realpath(path, NULL);
	ck_assert_ptr_nonnull(full);
	if (!is_on_tmpfs(full))
		return full;
	printf("# skipped: the build is on tmpfs\n");
	ck_assert_int_eq(rmdir(full), 0);
	return NULL;
}

static void
remove_tree(const char *path)
{
	nftw(path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- making and opening --- */

TEST(committed_pool_opens_again_with_its_root)
{
	struct pool *pool = unfinished(".", 0);
	ck_assert_uint_eq(pool->root->magic, 0);
	pool->root->head = 4711;
	pool->root->layout = (struct pool_layout){.format = 1, .leaf_slots = 31};
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	ck_assert_ptr_eq(pool->base, pool->obj);
	closed(pool);
	pool = opened(".", 0);
	ck_assert_uint_eq(pool->root->magic, POOL_MAGIC);
	ck_assert_uint_eq(pool->root->head, 4711);
	ck_assert_uint_eq(pool->root->layout.leaf_slots, 31);
	closed(pool);
}

TEST(create_opens_an_existing_pool)
{
	make(".", 0);
	struct nb_open_args args = to(".", NB_OPEN_CREATE);
	struct pool *pool = open_with(&args, 0);
	ck_assert(!pool->is_new);
	ck_assert_uint_eq(pool->root->head, 4096);
	closed(pool);
}

TEST(open_does_not_create_a_missing_pool_or_directory)
{
	refused(".", "no database: ");
	refused("nowhere", "the directory of the database: No such file or directory");
	ck_assert_int_eq(entries_of("."), 0);
}

TEST(pool_closed_without_a_commit_leaves_no_files)
{
	closed(unfinished(".", 0));
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
	take(unfinished(path, 0), 16);
}

TEST(killed_creation_is_reported_and_removed_by_the_next_one)
{
	killed(begin_one, ".");
	ck_assert_int_eq(entries_of("."), 1);
	refused(".", "its creation was interrupted");
	ck_assert_int_eq(entries_of("."), 1);
	struct pool *pool = created(".", 0);
	ck_assert_int_eq(entries_of("."), 1);
	ck_assert_int_eq(entries_of("parts"), 1);
	closed(pool);
	closed(opened(".", 0));
}

static void
finish_one(const char *path)
{
	struct pool *pool = created(path, 0);
	pool->root->head = 8192;
}

TEST(committed_pool_survives_a_kill)
{
	killed(finish_one, ".");
	struct pool *pool = opened(".", 0);
	ck_assert_uint_eq(pool->root->head, 8192);
	closed(pool);
}

TEST(foreign_file_is_not_removed)
{
	ck_assert_int_eq(mkdir("parts.new", 0700), 0);
	file_put("parts.new/000000.pmem", "", 0);
	file_put("parts.new/letters", "dear", 4);
	struct nb_open_args args = to(".", NB_OPEN_CREATE);
	refused_with(&args, 0, NB_FAIL, "parts.new: Directory not empty");
	ck_assert_int_eq(entries_of("parts.new"), 1);
	file_is("parts.new/letters", "dear", 4);
}

TEST(path_may_have_blanks_and_quotes)
{
	static const char path[] = "a \"path\"\twith 'much'\nin it";
	ck_assert_int_eq(mkdir(path, 0700), 0);
	struct pool *pool = created(path, 0);
	ck_assert_int_eq(take(pool, 16), 0);
	closed(pool);
	closed(opened(path, 0));
}

TEST(moved_pool_can_grow)
{
	ck_assert_int_eq(mkdir("here", 0700), 0);
	make("here", 0);
	ck_assert_int_eq(rename("here", "there"), 0);
	struct pool *pool = opened("there", 0);
	ck_assert_int_eq(rename("there", "where"), 0);
	ck_assert_int_eq(take(pool, 16), 0);
	closed(pool);
	ck_assert_int_eq(entries_of("where/parts"), 2);
}

/* --- in use --- */

TEST(pool_is_refused_while_another_process_uses_it)
{
	int status, ready[2];
	char byte;
	make(".", 0);
	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		opened(".", 0);
		ck_assert_int_eq(write(ready[1], "x", 1), 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	refused(".", "in use by another process");
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	closed(opened(".", 0));
}

TEST(pool_being_created_is_not_removed_by_another_process)
{
	struct pool *pool = unfinished(".", 0);
	struct nb_open_args args = to(".", NB_OPEN_CREATE);
	refused_with(&args, 0, NB_FAIL, "in use by another process, or open in this one");
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	closed(pool);
	closed(opened(".", 0));
}

/* A tool of libpmemobj would lock like this; it does not know the lock on the directory. */
TEST(pool_whose_parts_are_locked_is_in_use)
{
	make(".", 0);
	int fd = open("parts/000000.pmem", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	refused(".", "in use by another process");
	close(fd);
	closed(opened(".", 0));
}

/* --- size --- */

TEST(pool_starts_small_and_adds_parts_as_it_grows)
{
	struct pool *pool = created(".", 0);
	ck_assert_int_eq(entries_of("parts"), 1);
	ck_assert_int_eq(take(pool, 100), 0);
	ck_assert_int_eq(entries_of("parts"), 3);
	closed(pool);
	pool = opened(".", 0);
	ck_assert_uint_eq(pool->taken_bytes, (8 + 64 + 64) * (uint64_t)MIB);
	closed(pool);
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
	struct pool *pool = created(".", 0);
	volatile char *base = pool->base;

	if (!on_tmpfs())
		return;
	pool_use_huge_pages(pool, MIB);
	ck_assert_uint_eq(pool->huge_bytes, 0); /* a small pool does not use huge pages */
	ck_assert_int_eq(take(pool, 20), 0);
	pool_use_huge_pages(pool, 20 * (uint64_t)MIB);
	ck_assert_uint_eq(pool->huge_bytes, (8 + 64) * (uint64_t)MIB);
	for (size_t at = 0; at < pool->huge_bytes; at += MIB)
		(void)base[at];
	if (can_have_huge_pages())
		ck_assert_uint_gt(huge_kib_of_parts(), 0);
	else
		printf("# not tested: huge pages are not available\n");
	closed(pool);
}

TEST(pool_at_its_size_is_full_and_grows_with_a_larger_size)
{
	struct pool *pool = created(".", 16 * MIB);
	ck_assert_uint_eq(pool->reserved_bytes, 16 * MIB);
	ck_assert_int_eq(take(pool, 16), ENOMEM);
	ck_assert_ptr_nonnull(strstr(pmemobj_errormsg(), "exceeded reservation size"));
	closed(pool);
	closed(opened(".", 16 * MIB));
	pool = opened(".", 128 * MIB);
	ck_assert_int_eq(take(pool, 64), 0);
	closed(pool);
	closed(opened(".", 0));
}

TEST(size_below_the_used_space_is_refused)
{
	struct pool *pool = created(".", 0);
	ck_assert_int_eq(take(pool, 16), 0);
	closed(pool);
	struct nb_open_args args = to(".", 0);
	refused_with(&args, 71 * MIB, NB_UNSUPPORTED,
		"takes 72 MiB already, and pool_size is 70 MiB");
	pool = opened(".", 72 * MIB);
	ck_assert_uint_eq(pool->root->head, 4096);
	closed(pool);
}

TEST(size_out_of_range_is_refused)
{
	struct nb_open_args args = to(".", NB_OPEN_CREATE);
	refused_with(&args, POOL_SIZE_MIN - 1, NB_UNSUPPORTED, "16MiB to 256GiB");
	refused_with(&args, POOL_SIZE_MAX + 1, NB_UNSUPPORTED, "16MiB to 256GiB");
	ck_assert_int_eq(entries_of("."), 0);
}

static uint64_t
default_for(uint64_t records, uint64_t key_size, uint64_t value_size)
{
	struct nb_open_args args = to(".", NB_OPEN_CREATE);
	args.records = records;
	args.key_size = key_size;
	args.value_size = value_size;
	struct pool *pool = open_with(&args, 0);
	uint64_t size = pool->reserved_bytes;
	closed(pool);
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
	make(".", 0);
	file_put("parts/000001.pmem", "", 0);
	ck_assert_int_eq(truncate("parts/000001.pmem", (off_t)(40 * gib)), 0);
	struct pool *pool = opened(".", 0);
	ck_assert_uint_eq(pool->reserved_bytes, 2 * (40 * gib + 8 * MIB));
	closed(pool);
}

TEST(unavailable_addresses_are_reported_with_the_option)
{
	const struct rlimit limit = {UINT64_C(4) << 30, UINT64_C(4) << 30};
	if (strcmp(NB_ENGINE_BUILD, "sanitizer") == 0) {
		printf("# skipped: a sanitizer reserves addresses\n");
		return;
	}
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	struct nb_open_args args = to(".", NB_OPEN_CREATE);
	refused_with(&args, 0, NB_FAIL, "cannot reserve 65536 MiB of address space");
	refused_with(&args, 0, NB_FAIL, "(see ulimit -v); give a pool_size");
	refused_with(&args, 8192ull * MIB, NB_FAIL, "give a smaller pool_size");
	ck_assert_int_eq(entries_of("."), 0);
	make(".", 64 * MIB);
	refused(".", "give a pool_size");
	closed(opened(".", 64 * MIB));
}

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
	struct pool *pool = opened(".", 0);
	pool->root->magic = magic;
	closed(pool);
}

TEST(other_layout_version_is_refused)
{
	make(".", 0);
	set_magic(POOL_MAGIC + (UINT64_C(1) << 56));
	refused(".", "layout version 2, and this engine reads 1");
}

TEST(root_without_magic_is_refused)
{
	make(".", 0);
	set_magic(0);
	refused(".", "its root is not valid");
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
	refused(".",
		"is not a pool of this engine; delete it to make a new one (pmemobj_open: ");
}

TEST(pool_with_another_root_is_refused)
{
	make_foreign("mininb fptree", sizeof(struct pool_root) + 64);
	refused(".", "not a pool of this engine: it has another root");
}

TEST(damaged_head_is_refused)
{
	static const char zeros[8192];
	make(".", 0);
	corrupt("parts/000000.pmem", 0, zeros, sizeof(zeros));
	refused(".", "the pool is damaged");
}

static void
make_of_three_parts(void)
{
	struct pool *pool = created(".", 0);
	ck_assert_int_eq(take(pool, 100), 0);
	closed(pool);
}

TEST(missing_parts_are_refused)
{
	static const char *const parts[][2] = {{"parts/000001.pmem", "are missing"},
		{"parts/000000.pmem", "are missing"},
		{"parts/000002.pmem", "the pool is damaged"}};

	make_of_three_parts();
	for (size_t i = 0; i < UNIT_COUNT(parts); i++) {
		ck_assert_int_eq(rename(parts[i][0], "aside"), 0);
		refused(".", parts[i][1]);
		ck_assert_int_eq(rename("aside", parts[i][0]), 0);
	}
	closed(opened(".", 0));
	ck_assert_int_eq(rename("parts", "aside"), 0);
	ck_assert_int_eq(mkdir("parts", 0700), 0);
	refused(".", "are missing");
}

/* Without the check, libpmemobj would end the process. */
TEST(truncated_part_is_refused)
{
	make_of_three_parts();
	ck_assert_int_eq(truncate("parts/000001.pmem", MIB), 0);
	refused(".", "its part 000001.pmem was cut short");
	ck_assert_int_eq(truncate("parts/000000.pmem", 0), 0);
	refused(".", "was cut short");
}

TEST(part_from_an_interrupted_creation_is_removed)
{
	make(".", 0);
	file_put("parts/000001.pmem", "", 0);
	closed(opened(".", 0));
	ck_assert_int_eq(entries_of("parts"), 1);
	file_put("parts/000001.pmem", "started", 7);
	struct pool *pool = opened(".", 0);
	ck_assert_uint_eq(pool->root->head, 4096);
	ck_assert_int_eq(take(pool, 16), 0);
	closed(pool);
	ck_assert_int_eq(entries_of("parts"), 2);
	closed(opened(".", 0));
}

TEST(part_unknown_to_the_heap_is_harmless)
{
	make(".", 0);
	file_put("parts/000001.pmem", "", 0);
	ck_assert_int_eq(truncate("parts/000001.pmem", 64 * MIB), 0);
	struct pool *pool = opened(".", 0);
	ck_assert_int_eq(take(pool, 100), 0);
	closed(pool);
	pool = opened(".", 0);
	ck_assert_uint_eq(pool->root->head, 4096);
	closed(pool);
}

TEST(truncated_part_in_use_is_unchanged_by_a_failed_open)
{
	struct pool *pool = created(".", 0);
	ck_assert_int_eq(take(pool, 16), 0);
	closed(pool);
	ck_assert_int_eq(truncate("parts/000001.pmem", MIB), 0);
	refused(".", "the pool is damaged");
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
	make(".", 0);
	ck_assert_int_eq(chmod("parts/000000.pmem", 0444), 0);
	begin_nobody();
	refused(".", "must be writable, even to be read (pmemobj_open: ");
	end_nobody();
}

TEST(unwritable_directory_is_named)
{
	ck_assert_int_eq(mkdir("closed", 0555), 0);
	begin_nobody();
	struct nb_open_args args = to("closed", NB_OPEN_CREATE);
	refused_with(&args, 0, NB_FAIL, "parts.new: Permission denied");
	end_nobody();
}

TEST(read_only_file_system_is_refused)
{
	ck_assert_int_eq(mkdir("mounted", 0700), 0);
	if (!mount_tmpfs("mounted", "size=64m"))
		return;
	make("mounted", 0);
	ck_assert_int_eq(mount("none", "mounted", "tmpfs", MS_REMOUNT | MS_RDONLY, NULL), 0);
	refused("mounted", "must be writable, even to be read");
	ck_assert_int_eq(umount("mounted"), 0);
}

TEST(full_file_system_is_reported_and_leaves_no_files)
{
	ck_assert_int_eq(mkdir("mounted", 0700), 0);
	if (!mount_tmpfs("mounted", "size=4m"))
		return;
	struct nb_open_args args = to("mounted", NB_OPEN_CREATE);
	refused_with(&args, 0, NB_FAIL, "the file system is full; a new pool needs 8 MiB");
	ck_assert_int_eq(entries_of("mounted"), 0);
	ck_assert_int_eq(umount("mounted"), 0);
}

/* --- medium and flushes --- */

TEST(tmpfs_is_reported_once_as_emulated_persistent_memory)
{
	if (!on_tmpfs())
		return;
	struct pool *pool = created(".", 0);
	ck_assert_int_eq(pool->medium, POOL_EMULATED);
	ck_assert_int_eq(pool->flush, pm_flush_best());
	ck_assert_int_eq(host_logs, 1);
	ck_assert_str_eq(host_logged,
		"fptree: the pool is on tmpfs: emulated persistent memory, which does not "
		"survive a power failure");
	closed(pool);
}

TEST(durability_process_flushes_nothing)
{
	struct pool *pool = at_process(".");
	ck_assert_int_eq(pool->flush, PM_FLUSH_NONE);
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	ck_assert_int_eq(pool_sync(pool), NB_OK);
	closed(pool);
	closed(opened(".", 0));
}

TEST(other_durabilities_are_refused)
{
	struct nb_open_args args = to(".", NB_OPEN_CREATE);
	args.durability = NB_DUR_NONE;
	refused_with(&args, 0, NB_UNSUPPORTED, "durability must be process or commit");
	args.durability = NB_DUR_PERIODIC;
	refused_with(&args, 0, NB_UNSUPPORTED, "durability must be process or commit");
	ck_assert_int_eq(entries_of("."), 0);
}

/* The test only selects worse instructions than the best, so the processor has them all. */
TEST(instructions_can_be_disabled_like_those_of_libpmem)
{
	if (!on_tmpfs())
		return;
	enum pm_flush best = pm_flush_best();
	setenv("PMEM_NO_CLWB", "1", 1);
	struct pool *pool = created(".", 0);
	ck_assert_int_eq(
		pool->flush, best == PM_FLUSH_CLWB ? (int)PM_FLUSH_CLFLUSHOPT : (int)best);
	closed(pool);
	setenv("PMEM_NO_CLFLUSHOPT", "1", 1);
	pool = opened(".", 0);
	bool is_x86 = best == PM_FLUSH_CLWB || best == PM_FLUSH_CLFLUSHOPT;
	ck_assert_int_eq(pool->flush, is_x86 ? (int)PM_FLUSH_CLFLUSH : (int)best);
	closed(pool);
}

TEST(settings_of_the_user_for_libpmem_stay)
{
	if (!on_tmpfs())
		return;
	setenv("PMEM_IS_PMEM_FORCE", "0", 1);
	struct pool *pool = created(".", 0);
	ck_assert_str_eq(getenv("PMEM_IS_PMEM_FORCE"), "0");
	ck_assert_int_eq(pool->medium, POOL_EMULATED);
	ck_assert_int_eq(pool->flush, pm_flush_best());
	closed(pool);
}

TEST(disk_is_a_file_that_is_synced)
{
	const char *path = disk();
	if (path == NULL)
		return;
	struct pool *pool = created(path, 0);
	if (pool->medium != POOL_DAX) {
		ck_assert_int_eq(pool->medium, POOL_FILE);
		ck_assert_int_eq(pool->flush, PM_FLUSH_MSYNC);
		ck_assert_int_eq(host_logs, 1);
		ck_assert_ptr_nonnull(strstr(host_logged, "each flush is an msync(2)"));
	}
	ck_assert_ptr_null(getenv("PMEM_IS_PMEM_FORCE"));
	closed(pool);
	closed(opened(path, 0));
	remove_tree(path);
}

TEST(disk_at_durability_process_logs_nothing_and_can_be_synced)
{
	const char *path = disk();
	if (path == NULL)
		return;
	struct pool *pool = at_process(path);
	ck_assert_int_eq(pool->flush, PM_FLUSH_NONE);
	ck_assert_int_eq(host_logs, 0);
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	ck_assert_int_eq(take(pool, 16), 0);
	ck_assert_int_eq(pool_sync(pool), NB_OK);
	closed(pool);
	remove_tree(path);
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
	struct pool *pool = at_process(".");
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	ck_assert_int_eq(take(pool, 16), 0);
	closed(pool);
	synced_count = 0;
	pool = at_process(".");
	ck_assert_uint_eq(synced_count, 0);
	closed(pool);
	closed(opened(".", 0));
	ck_assert(was_synced("parts"));
	ck_assert(was_synced("parts/000000.pmem"));
	ck_assert(was_synced("parts/000001.pmem"));
}

TEST(on_a_disk_the_name_of_a_part_is_durable_before_libpmemobj_uses_it)
{
	const char *path = disk();
	if (path == NULL)
		return;
	struct pool *pool = created(path, POOL_SIZE_MIN);
	ck_assert_int_eq(take(pool, 8), ENOMEM); /* libpmemobj does not grow it */
	synced_count = 0;
	ck_assert(pool_grow(pool, 0));
	ck_assert_int_eq(chdir(path), 0);
	ck_assert(was_synced("parts/000001.pmem"));
	ck_assert(was_synced("parts"));
	ck_assert_int_eq(take(pool, 7), 0);
	ck_assert(pool_grow(pool, 0)); /* another thread has grown it */
	ck_assert_int_ne(access("parts/000002.pmem", F_OK), 0);
	ck_assert(!pool_grow(pool, 1));
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_int_eq(pool->growth_error, 0); /* the reservation is used up */
	closed(pool);
	closed(opened(path, POOL_SIZE_MIN));
	remove_tree(path);
}

TEST(sync_reports_a_missing_part)
{
	struct pool *pool = at_process(".");
	ck_assert_int_eq(pool_commit(pool), NB_OK);
	ck_assert_int_eq(rename("parts/000000.pmem", "aside"), 0);
	ck_assert_int_eq(pool_sync(pool), NB_FAIL);
	closed(pool);
}

TEST(disk_after_tmpfs_in_one_process_is_never_reported_as_durable)
{
	if (!on_tmpfs())
		return;
	make(".", 0);
	const char *path = disk();
	if (path == NULL)
		return;
	struct nb_open_args args = to(path, NB_OPEN_CREATE);
	refused_with(&args, 0, NB_UNSUPPORTED, "use another process");
	ck_assert_int_eq(entries_of(path), 0);
	struct pool *pool = at_process(path);
	ck_assert_int_eq(pool->medium, POOL_FILE);
	closed(pool);
	remove_tree(path);
}

TEST(tmpfs_after_disk_in_one_process_is_flushed_by_lines)
{
	const char *path = disk();
	if (path == NULL)
		return;
	make(path, 0);
	remove_tree(path);
	if (!on_tmpfs())
		return;
	struct pool *pool = created(".", 0);
	ck_assert_int_eq(pool->medium, POOL_EMULATED);
	ck_assert_int_eq(pool->flush, pm_flush_best());
	closed(pool);
}

TEST(each_medium_has_its_name)
{
	ck_assert_str_eq(pool_medium_name(POOL_DAX), "dax");
	ck_assert_str_eq(pool_medium_name(POOL_EMULATED), "emulated");
	ck_assert_str_eq(pool_medium_name(POOL_FILE), "file");
}
