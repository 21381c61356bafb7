/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pool of libpmemobj. The decisions that the calls alone do not explain:
 *
 * - Names. A pool set file, a text, names the parts for libpmemobj. Its parser wants absolute
 *   paths and splits at blanks. Here the file is in memory, made at each open. Its path is
 *   /proc/self/fd/N of the open directory. So any path is allowed and a database can be
 *   moved. The directory can be renamed while it is open, so a complete pool gets its name
 *   that way. Rejected: a set file beside the parts. It would contain an old path after a
 *   move, and would have to be kept up to date.
 * - Checks. libpmemobj (1.12) does not check for parts of more bytes than are reserved, or
 *   for an empty first part. It then ends the process or writes where it must not. So this
 *   engine checks the parts first. libpmemobj itself has to find damage within them, and does
 *   not survive all of it.
 * - Interrupted growth. The heap grows by making a file and then reserving its blocks. A
 *   process that is killed in between leaves a file too short for a part, and every later
 *   open would fail. The heap does not know the file yet. So an open renames it, and removes
 *   it when the pool could be opened without it.
 * - Growth. libpmemobj makes a part, then stores the size of the heap. It syncs no directory,
 *   and it does not open a pool that lacks a stored part. If a flush is an msync(2), a power
 *   failure can lose the name. So in that case its growth is switched off. This engine makes
 *   the part, with the name and the size that libpmemobj is about to use, and makes the name
 *   durable. Only then it tells libpmemobj to grow, which takes the existing file.
 * - Persistent memory. libpmem takes every mapping with MAP_SYNC for persistent memory, or
 *   all memory if PMEM_IS_PMEM_FORCE is set. It reads the variable once per process. On tmpfs
 *   the variable must be set, or libpmemobj would call msync(2) without use. Afterwards
 *   libpmemobj would flush by lines on a disk too. Its metadata would not survive a power
 *   failure there. So pool_open() rejects `commit` in that case.
 */
#include "pool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libpmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Names in the directory of the database and in that of the parts. */
static const char parts_name[] = "parts";
static const char parts_name_new[] = "parts.new";
static const char cut_off_name[] = "cut-off";

/* The same for all versions; the root contains the version. */
static const char layout_name[] = "mininb fptree";

enum {
	PART_NAME_SIZE = 24,
	PROC_PATH_SIZE = 40,
	SPARE_BYTES_A_RECORD = 32 /* references, marks, and the unused end of a slot */
};

/* f_type, as statfs(2) lists them. */
static const uint32_t tmpfs_type = 0x01021994;
static const uint32_t ramfs_type = 0x858458f6;

/* A part takes some 30 ms on tmpfs, which clears its pages. */
static const long long growth_bytes = 64ll << 20;

/* Reserved addresses cost nothing. More than the memory of most machines. */
#define SIZE_DEFAULT (64ull << 30)
#define SIZE_STEP (2ull << 20)

static const char *const medium_names[] = {
	[POOL_DAX] = "dax", [POOL_EMULATED] = "emulated", [POOL_FILE] = "file"};

const char *
pool_medium_name(enum pool_medium medium)
{
	return medium_names[medium];
}

static int
fail_system(const struct pool *pool, const char *what)
{
	return pool->host->fail(NB_FAIL, "%s: %s", what, strerror(errno));
}

/* Cause or remedy, for errors that libpmemobj's own text does not explain. */
static const char *
advice(int error)
{
	switch (error) {
	case EAGAIN:
		return "the pool is in use by another process";
	case EACCES:
	case EPERM:
	case EROFS:
		return "a pool must be writable, even to be read";
	case ENOSPC:
		return "the file system is full; a new pool needs 8 MiB";
	case ENOMEM:
		return "memory or address space is not available (see ulimit -v); give a smaller pool_size";
	case EINVAL:
		return "the pool is damaged or is not a pool of this engine; delete it to make a new one";
	default:
		return "no pool could be opened";
	}
}

static int
fail_pmemobj(const struct pool *pool, const char *call)
{
	int error = errno;

	return pool->host->fail(
		NB_FAIL, "%s (%s: %s)", advice(error), call, pmemobj_errormsg());
}

/* --- the directory and the parts in it --- */

static int
open_directory_at(int fd, const char *name)
{
	return openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * Lock the directory before anything in it is read or removed. libpmemobj locks the parts as
 * well, but not while another process is still making them.
 */
static int
lock_directory(struct pool *pool)
{
	pool->directory_fd = open_directory_at(AT_FDCWD, pool->directory);
	if (pool->directory_fd < 0)
		return fail_system(pool, "the directory of the database");
	if (flock(pool->directory_fd, LOCK_EX | LOCK_NB) == 0)
		return NB_OK;
	if (errno != EWOULDBLOCK)
		return fail_system(pool, "the directory of the database");
	return pool->host->fail(
		NB_FAIL, "the pool is in use by another process, or open in this one");
}

static bool
is_part(const char *name, unsigned *number)
{
	int length = 0;

	return sscanf(name, "%9u.pmem%n", number, &length) == 1 && length > 0 &&
		name[length] == '\0';
}

static void
part_name(char *name, unsigned number)
{
	snprintf(name, PART_NAME_SIZE, "%06u.pmem", number);
}

/* List the names in a directory from the first one on. */
static DIR *
list(int fd)
{
	int own = open_directory_at(fd, ".");
	DIR *names = own < 0 ? NULL : fdopendir(own);

	if (names == NULL && own >= 0)
		close(own);
	return names;
}

/*
 * Remove an unfinished pool. Files that are not parts stay, and with them the directory.
 * False: errno is set.
 */
static bool
clear_unfinished(const struct pool *pool)
{
	int fd = open_directory_at(pool->directory_fd, parts_name_new);
	unsigned number;

	if (fd < 0)
		return errno == ENOENT;
	DIR *names = list(fd);
	for (struct dirent *at = names == NULL ? NULL : readdir(names); at != NULL;
		at = readdir(names))
		if (is_part(at->d_name, &number))
			unlinkat(fd, at->d_name, 0);
	if (names != NULL)
		closedir(names);
	close(fd);
	return unlinkat(pool->directory_fd, parts_name_new, AT_REMOVEDIR) == 0;
}

static int
fail_missing(const struct pool *pool)
{
	bool is_unfinished = faccessat(pool->directory_fd, parts_name_new, F_OK,
				     AT_SYMLINK_NOFOLLOW) == 0;

	return pool->host->fail(NB_FAIL, "no database: %s",
		is_unfinished ? "its creation was interrupted; a put makes it again"
			      : "no directory parts");
}

/* Open the directory of the parts. If it does not exist, make it with its temporary name. */
static int
find_parts(struct pool *pool, bool may_create)
{
	pool->parts_fd = open_directory_at(pool->directory_fd, parts_name);
	if (pool->parts_fd >= 0)
		return NB_OK;
	if (errno != ENOENT)
		return fail_system(pool, parts_name);
	if (!may_create)
		return fail_missing(pool);
	if (!clear_unfinished(pool))
		return fail_system(pool, parts_name_new);
	if (mkdirat(pool->directory_fd, parts_name_new, 0777) != 0)
		return fail_system(pool, parts_name_new);
	pool->is_new = true;
	pool->is_unnamed = true;
	pool->parts_fd = open_directory_at(pool->directory_fd, parts_name_new);
	return pool->parts_fd >= 0 ? NB_OK : fail_system(pool, parts_name_new);
}

/* The numbers and sizes of the parts. */
struct survey {
	unsigned count, last;
	unsigned short_count; /* of parts below the minimum size */
	unsigned short_last;
	uint64_t bytes; /* of all other parts */
};

static int
survey_part(const struct pool *pool, struct survey *survey, const char *name)
{
	struct stat info;
	unsigned number;

	if (!is_part(name, &number))
		return NB_OK;
	if (fstatat(pool->parts_fd, name, &info, 0) != 0)
		return fail_system(pool, parts_name);
	survey->count++;
	if (number > survey->last)
		survey->last = number;
	if ((uint64_t)info.st_size >= PMEMOBJ_MIN_PART) {
		survey->bytes += (uint64_t)info.st_size;
		return NB_OK;
	}
	survey->short_count++;
	survey->short_last = number;
	return NB_OK;
}

static int
survey_parts(const struct pool *pool, struct survey *survey)
{
	DIR *names = list(pool->parts_fd);
	int rc = NB_OK;

	*survey = (struct survey){.count = 0};
	if (names == NULL)
		return fail_system(pool, parts_name);
	for (struct dirent *at = readdir(names); at != NULL && rc == NB_OK; at = readdir(names))
		rc = survey_part(pool, survey, at->d_name);
	closedir(names);
	return rc;
}

static int
check_parts(struct pool *pool)
{
	struct survey survey;
	int rc = survey_parts(pool, &survey);

	if (rc != NB_OK)
		return rc;
	if (survey.count == 0 || survey.last != survey.count - 1)
		return pool->host->fail(NB_FAIL,
			"the pool is damaged: some of its parts (000000.pmem, ...) are missing; delete it to make a new one");
	bool is_cut_off = survey.short_count == 1 && survey.short_last == survey.last &&
		survey.last > 0;
	if (survey.short_count > 0 && !is_cut_off)
		return pool->host->fail(NB_FAIL,
			"the pool is damaged: its part %06u.pmem was cut short; delete the pool to make a new one",
			survey.short_last);
	pool->cut_off = is_cut_off ? (int)survey.last : 0;
	pool->taken_bytes = survey.bytes;
	return NB_OK;
}

/* --- how much it may grow --- */

/* Four times the size of the records, for half-empty leaves and rounded-up slots. */
static uint64_t
default_size(const struct nb_open_args *args, uint64_t taken_bytes)
{
	uint64_t limit = POOL_SIZE_MAX / 4;
	uint64_t wanted = SIZE_DEFAULT;
	uint64_t record;

	if (args->key_size > limit || args->value_size > limit)
		return POOL_SIZE_MAX;
	record = args->key_size + args->value_size + SPARE_BYTES_A_RECORD;
	if (args->records > limit / record)
		return POOL_SIZE_MAX;
	if (args->records * record * 4 > wanted)
		wanted = args->records * record * 4;
	if (taken_bytes * 2 > wanted)
		wanted = taken_bytes * 2;
	return wanted < POOL_SIZE_MAX ? wanted : POOL_SIZE_MAX;
}

/*
 * Test for address space, which ulimit -v or valgrind may limit. libpmemobj's text for this
 * failure differs from case to case.
 */
static bool
has_room(uint64_t size)
{
	void *room = mmap(
		NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return room != MAP_FAILED && munmap(room, size) == 0;
}

static int
settle_size(struct pool *pool, const struct nb_open_args *args, uint64_t size_bytes)
{
	if (size_bytes != 0 && (size_bytes < POOL_SIZE_MIN || size_bytes > POOL_SIZE_MAX))
		return pool->host->fail(NB_UNSUPPORTED,
			"pool_size is %llu bytes; it can be 16MiB to 256GiB",
			(unsigned long long)size_bytes);
	uint64_t size = size_bytes != 0 ? size_bytes : default_size(args, pool->taken_bytes);
	pool->reserved_bytes = size / SIZE_STEP * SIZE_STEP;
	if (pool->taken_bytes > pool->reserved_bytes)
		return pool->host->fail(NB_UNSUPPORTED,
			"the pool takes %llu MiB already, and pool_size is %llu MiB; leave it out or give a larger one",
			(unsigned long long)pool->taken_bytes >> 20,
			(unsigned long long)pool->reserved_bytes >> 20);
	if (has_room(pool->reserved_bytes))
		return NB_OK;
	return pool->host->fail(NB_FAIL,
		"cannot reserve %llu MiB of address space for the pool (see ulimit -v); give %s pool_size",
		(unsigned long long)pool->reserved_bytes >> 20,
		size_bytes == 0 ? "a" : "a smaller");
}

/* --- libpmemobj --- */

/* Make the pool set file in memory. -1: errno is set. */
static int
set_new(const struct pool *pool)
{
	int fd = memfd_create("pool.set", MFD_CLOEXEC);

	if (fd < 0)
		return -1;
	int length = dprintf(fd, "PMEMPOOLSET\nOPTION SINGLEHDR\n%llu /proc/self/fd/%d\n",
		(unsigned long long)pool->reserved_bytes, pool->parts_fd);
	if (length > 0)
		return fd;
	close(fd);
	return -1;
}

static int
open_object_pool(struct pool *pool)
{
	char path[PROC_PATH_SIZE];
	int set = set_new(pool);

	if (set < 0)
		return fail_system(pool, "(a pool set file in memory)");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", set);
	if (access(path, F_OK) != 0) {
		close(set);
		return pool->host->fail(
			NB_FAIL, "/proc/self/fd is not there, and is needed: mount /proc");
	}
	pool->obj = pool->is_new ? pmemobj_create(path, layout_name, 0, 0644)
				 : pmemobj_open(path, layout_name);
	int rc = pool->obj != NULL
		? NB_OK
		: fail_pmemobj(pool, pool->is_new ? "pmemobj_create" : "pmemobj_open");
	close(set);
	return rc;
}

static int
map(struct pool *pool)
{
	char name[PART_NAME_SIZE];

	part_name(name, (unsigned)pool->cut_off);
	if (pool->cut_off != 0 &&
		renameat(pool->parts_fd, name, pool->parts_fd, cut_off_name) != 0)
		return fail_system(pool, parts_name);
	int rc = open_object_pool(pool);
	if (rc == NB_OK)
		unlinkat(pool->parts_fd, cut_off_name, 0);
	else if (pool->cut_off != 0)
		renameat(pool->parts_fd, cut_off_name, pool->parts_fd, name);
	if (rc != NB_OK)
		return rc;
	pool->base = (char *)pool->obj;
	return NB_OK;
}

/* --- the medium --- */

static bool
is_memory_filesystem(int fd)
{
	struct statfs info;

	if (fstatfs(fd, &info) != 0)
		return false;
	return (uint32_t)info.f_type == tmpfs_type || (uint32_t)info.f_type == ramfs_type;
}

/* Independent of libpmem's settings: the kernel grants MAP_SYNC only on DAX. */
static bool
maps_as_dax(int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(
		NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);

	return at != MAP_FAILED && munmap(at, page) == 0;
}

static bool
is_dax(const struct pool *pool)
{
	char name[PART_NAME_SIZE];

	part_name(name, 0);
	int fd = openat(pool->parts_fd, name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool is = maps_as_dax(fd);
	close(fd);
	return is;
}

/* Test a directory with an unnamed file. */
static bool
would_be_dax(const char *directory)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return false;
	bool is = ftruncate(fd, sysconf(_SC_PAGESIZE)) == 0 && maps_as_dax(fd);
	close(fd);
	return is;
}

/* Open the directory, or its nearest parent that exists. Its name is cut to that parent. */
static int
open_nearest(char *directory)
{
	for (;;) {
		int fd = open(directory, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
		char *slash = strrchr(directory, '/');

		if (fd >= 0)
			return fd;
		if (slash == NULL || slash == directory) {
			strcpy(directory, slash == NULL ? "." : "/");
			return open(directory, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
		}
		*slash = '\0';
	}
}

uint32_t
pool_auto_durability(const char *path)
{
	uint32_t level = NB_DUR_PROCESS;
	char *directory = strdup(path[0] != '\0' ? path : ".");
	int fd = directory == NULL ? -1 : open_nearest(directory);

	if (fd >= 0) {
		if (is_memory_filesystem(fd) || would_be_dax(directory))
			level = NB_DUR_COMMIT;
		close(fd);
	}
	free(directory);
	return level;
}

static bool
is_switched_off(const char *variable)
{
	const char *text = getenv(variable);

	return text != NULL && strcmp(text, "1") == 0;
}

/* libpmem has variables that disable an instruction; this engine obeys them too. */
static enum pm_flush
line_flush(void)
{
	enum pm_flush best = pm_flush_best();

	if (best == PM_FLUSH_CLWB && is_switched_off("PMEM_NO_CLWB"))
		best = PM_FLUSH_CLFLUSHOPT;
	if (best == PM_FLUSH_CLFLUSHOPT && is_switched_off("PMEM_NO_CLFLUSHOPT"))
		best = PM_FLUSH_CLFLUSH;
	return best;
}

static int
settle_flush(struct pool *pool, uint32_t durability)
{
	bool is_pmem = pmem_is_pmem(pool->base, PMEMOBJ_MIN_POOL) != 0;

	if (pool->medium != POOL_EMULATED)
		pool->medium = is_pmem && is_dax(pool) ? POOL_DAX : POOL_FILE;
	if (durability == NB_DUR_PROCESS) {
		pool->flush = PM_FLUSH_NONE;
		return NB_OK;
	}
	if (durability != NB_DUR_COMMIT)
		return pool->host->fail(NB_UNSUPPORTED, "durability must be process or commit");
	pool->flush = pool->medium == POOL_FILE ? PM_FLUSH_MSYNC : line_flush();
	if (pool->medium != POOL_FILE || !is_pmem)
		return NB_OK;
	return pool->host->fail(NB_UNSUPPORTED,
		"this is not persistent memory, but libpmem takes it for that in this process (PMEM_IS_PMEM_FORCE, set for a pool on tmpfs), so durability=commit is not possible; use another process");
}

static void
tell_medium(const struct pool *pool)
{
	if (pool->medium == POOL_EMULATED)
		pool->host->log(NB_LOG_WARNING,
			"fptree: the pool is on tmpfs: emulated persistent memory, which does not survive a power failure");
	else if (pool->flush == PM_FLUSH_MSYNC)
		pool->host->log(NB_LOG_WARNING,
			"fptree: the pool is in a file and not in persistent memory: each flush is an msync(2), which is slow");
}

/* --- sync of unflushed data --- */

/* The kernel knows which pages of a shared mapping were written, also on DAX. */
static bool
sync_part(const struct pool *pool, unsigned number)
{
	char name[PART_NAME_SIZE];

	part_name(name, number);
	int fd = openat(pool->parts_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool is_synced = fsync(fd) == 0;
	int error = errno;
	close(fd);
	errno = error;
	return is_synced;
}

static int
sync_parts(const struct pool *pool)
{
	unsigned number = 0;

	while (sync_part(pool, number))
		number++;
	if (number == 0 || errno != ENOENT || fsync(pool->parts_fd) != 0)
		return fail_system(pool, parts_name);
	return NB_OK;
}

int
pool_sync(struct pool *pool)
{
	return pool->flush == PM_FLUSH_NONE ? sync_parts(pool) : NB_OK;
}

/*
 * Sync the data that was written at durability process and never flushed. A write at commit
 * relies on it: on the previous content of the leaf, and on the slot's mark.
 */
static int
catch_up(const struct pool *pool)
{
	return pool->is_new || pool->flush == PM_FLUSH_NONE ? NB_OK : sync_parts(pool);
}

/* --- the root --- */

static int
check_magic(const struct pool *pool)
{
	const uint64_t version_bits = 0xffull << 56;
	uint64_t magic = pool->root->magic;

	if (magic == POOL_MAGIC)
		return NB_OK;
	if (((magic ^ POOL_MAGIC) & ~version_bits) == 0)
		return pool->host->fail(NB_FAIL,
			"the pool has layout version %c, and this engine reads %c; delete the pool to make a new one",
			(int)(magic >> 56), (int)(POOL_MAGIC >> 56));
	return pool->host->fail(NB_FAIL,
		"the pool is damaged or was not completed: its root is not valid; delete it to make a new one");
}

static int
find_root(struct pool *pool)
{
	/* pmemobj_root() would enlarge a smaller root. */
	if (!pool->is_new && pmemobj_root_size(pool->obj) != sizeof(struct pool_root))
		return pool->host->fail(NB_FAIL,
			"the pool is not a pool of this engine: it has another root; delete it to make a new one");
	PMEMoid root = pmemobj_root(pool->obj, sizeof(struct pool_root));
	if (OID_IS_NULL(root))
		return fail_pmemobj(pool, "pmemobj_root");
	pool->root = pmemobj_direct(root);
	return pool->is_new ? NB_OK : check_magic(pool);
}

/* --- growth --- */

static int
settle_growth(struct pool *pool)
{
	/* Near the end of the reservation libpmemobj adds less. 0: nothing. */
	long long growth = pool->flush == PM_FLUSH_MSYNC ? 0 : growth_bytes;

	if (pmemobj_ctl_set(pool->obj, "heap.size.granularity", &growth) != 0)
		return fail_pmemobj(pool, "pmemobj_ctl_set");
	return NB_OK;
}

/*
 * Make a part with all its blocks and a durable name. Returns 0, or an errno after removing
 * the file.
 */
static int
make_part(const struct pool *pool, const char *name, uint64_t bytes)
{
	int fd = openat(pool->parts_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return errno;
	int error = posix_fallocate(fd, 0, (off_t)bytes);
	if (error == 0 && (fsync(fd) != 0 || fsync(pool->parts_fd) != 0))
		error = errno;
	close(fd);
	if (error != 0)
		unlinkat(pool->parts_fd, name, 0);
	return error;
}

/* Returns 0 or an errno. ENOMEM: the reservation is used up. */
static int
add_part(struct pool *pool)
{
	char name[PART_NAME_SIZE];
	struct survey survey;

	if (pool->is_out_of_step || survey_parts(pool, &survey) != NB_OK)
		return EIO;
	uint64_t left = pool->reserved_bytes - survey.bytes;
	long long bytes = left < (uint64_t)growth_bytes ? (long long)left : growth_bytes;
	if (survey.bytes > pool->reserved_bytes || bytes < (long long)PMEMOBJ_MIN_PART)
		return ENOMEM;
	part_name(name, survey.count);
	int error = make_part(pool, name, (uint64_t)bytes);
	if (error != 0 || pmemobj_ctl_exec(pool->obj, "heap.size.extend", &bytes) == 0)
		return error;
	pool->is_out_of_step = true;
	unlinkat(pool->parts_fd, name, 0);
	return EIO;
}

bool
pool_grow(struct pool *pool, unsigned growths)
{
	int error = 0;

	if (pool->flush != PM_FLUSH_MSYNC)
		return false;
	pthread_mutex_lock(&pool->growth_lock);
	if (__atomic_load_n(&pool->growths, __ATOMIC_RELAXED) == growths) {
		error = add_part(pool);
		__atomic_store_n(
			&pool->growth_error, error == ENOMEM ? 0 : error, __ATOMIC_RELAXED);
		__atomic_fetch_add(&pool->growths, error == 0, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&pool->growth_lock);
	errno = ENOMEM;
	return error == 0;
}

/* Since Linux 6.1; works with any huge-page setting of the mount. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

void
pool_use_huge_pages(struct pool *pool, uint64_t end)
{
	uint64_t done = __atomic_load_n(&pool->huge_bytes, __ATOMIC_RELAXED);
	struct survey survey;

	if (pool->medium != POOL_EMULATED || end <= done)
		return;
	pthread_mutex_lock(&pool->growth_lock);
	if (done == pool->huge_bytes && survey_parts(pool, &survey) == NB_OK &&
		survey.count > 1) {
		madvise(pool->base + done, survey.bytes - done, MADV_COLLAPSE);
		__atomic_store_n(&pool->huge_bytes, survey.bytes, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&pool->growth_lock);
}

/* --- open, close, commit --- */

int
pool_close(struct pool *pool)
{
	if (pool->obj != NULL)
		pmemobj_close(pool->obj);
	if (pool->parts_fd >= 0)
		close(pool->parts_fd);
	if (pool->is_unnamed)
		clear_unfinished(pool); /* if it fails, the next create does it */
	if (pool->directory_fd >= 0)
		close(pool->directory_fd);
	pthread_mutex_destroy(&pool->growth_lock);
	free(pool->directory);
	free(pool);
	return NB_OK;
}

static int
open_all(struct pool *pool, const struct nb_open_args *args, uint64_t size_bytes)
{
	int rc = lock_directory(pool);

	if (rc == NB_OK)
		rc = find_parts(pool, (args->flags & NB_OPEN_CREATE) != 0);
	if (rc == NB_OK && !pool->is_new)
		rc = check_parts(pool);
	if (rc == NB_OK)
		rc = settle_size(pool, args, size_bytes);
	if (rc == NB_OK && is_memory_filesystem(pool->directory_fd)) {
		pool->medium = POOL_EMULATED;
		setenv("PMEM_IS_PMEM_FORCE", "1", 0);
	}
	if (rc == NB_OK)
		rc = map(pool);
	if (rc == NB_OK)
		rc = settle_flush(pool, args->durability);
	if (rc == NB_OK)
		rc = catch_up(pool);
	if (rc == NB_OK)
		rc = find_root(pool);
	if (rc == NB_OK)
		rc = settle_growth(pool);
	return rc;
}

int
pool_open(struct pool **out, const struct nb_open_args *args, uint64_t size_bytes)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (pool == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	*pool = (struct pool){.host = args->host,
		.medium = POOL_FILE,
		.directory = strdup(args->path),
		.directory_fd = -1,
		.parts_fd = -1};
	pthread_mutex_init(&pool->growth_lock, NULL);
	int rc = pool->directory == NULL ? args->host->fail(NB_FAIL, "out of memory")
					 : open_all(pool, args, size_bytes);
	if (rc != NB_OK) {
		pool_close(pool);
		return rc;
	}
	tell_medium(pool);
	*out = pool;
	return NB_OK;
}

int
pool_commit(struct pool *pool)
{
	struct pm pm = {.flush = pool->flush};

	pm_store64(&pool->root->magic, POOL_MAGIC);
	pm_flush(&pm, &pool->root->magic, sizeof(pool->root->magic));
	pm_fence(&pm);
	errno = pm.error;
	if (pm.error != 0 || fsync(pool->parts_fd) != 0)
		return fail_system(pool, parts_name_new);
	if (renameat(pool->directory_fd, parts_name_new, pool->directory_fd, parts_name) != 0)
		return fail_system(pool, parts_name);
	pool->is_unnamed = false;
	return fsync(pool->directory_fd) == 0
		? NB_OK
		: fail_system(pool, "the directory of the database");
}
