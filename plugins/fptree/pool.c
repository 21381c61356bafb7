/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creation, opening and closing of the pool. The decisions that the calls alone do not explain:
 *
 * - Names. A pool set file, a text, names the parts for libpmemobj. Its parser wants absolute
 *   paths and splits at blanks. Here the file is in memory, made at each open. Its path is
 *   /proc/self/fd/N of the open directory. So any path is allowed and a database can be
 *   moved. The directory can be renamed while it is open, so a complete pool gets its name
 *   that way. Rejected: a set file beside the parts. It would contain an old path after a
 *   move, and would have to be kept up to date.
 * - Interrupted growth. The heap grows by making a file and then reserving its blocks. A
 *   process that is killed in between leaves a file too short for a part, and every later
 *   open would fail. The heap does not know the file yet. So an open renames it, and removes
 *   it when the pool could be opened without it.
 */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char cut_off_name[] = "cut-off"; /* in the directory of the parts */

/* The same for all versions; the root contains the version. */
static const char layout_name[] = "mininb fptree";

enum {
	PROC_PATH_SIZE = 40,
	SPARE_BYTES_A_RECORD = 32 /* references, marks, and the unused end of a slot */
};

/* Reserved addresses cost nothing. More than the memory of most machines. */
#define SIZE_DEFAULT (64ull << 30)
#define SIZE_STEP (2ull << 20)

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

int
pool_fail_pmemobj(const struct pool *pool, const char *call)
{
	int error = errno;

	return pool->host->fail(
		NB_FAIL, "%s (%s: %s)", advice(error), call, pmemobj_errormsg());
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
		return pool_fail_system(pool, "(a pool set file in memory)");
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
		: pool_fail_pmemobj(pool, pool->is_new ? "pmemobj_create" : "pmemobj_open");
	close(set);
	return rc;
}

static int
map(struct pool *pool)
{
	char name[POOL_PART_NAME];

	pool_part_name(name, (unsigned)pool->cut_off);
	if (pool->cut_off != 0 &&
		renameat(pool->parts_fd, name, pool->parts_fd, cut_off_name) != 0)
		return pool_fail_system(pool, POOL_PARTS);
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

/* --- sync of unflushed data --- */

int
pool_sync(struct pool *pool)
{
	return pool->flush == PM_FLUSH_NONE ? pool_sync_parts(pool) : NB_OK;
}

/*
 * Sync the data that was written at durability process and never flushed. A write at commit
 * relies on it: on the previous content of the leaf, and on the slot's mark.
 */
static int
catch_up(const struct pool *pool)
{
	return pool->is_new || pool->flush == PM_FLUSH_NONE ? NB_OK : pool_sync_parts(pool);
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
		return pool_fail_pmemobj(pool, "pmemobj_root");
	pool->root = pmemobj_direct(root);
	return pool->is_new ? NB_OK : check_magic(pool);
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
		pool_clear_unfinished(pool); /* if it fails, the next create does it */
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
	int rc = pool_lock_directory(pool);

	if (rc == NB_OK)
		rc = pool_find_parts(pool, (args->flags & NB_OPEN_CREATE) != 0);
	if (rc == NB_OK && !pool->is_new)
		rc = pool_check_parts(pool);
	if (rc == NB_OK && !pool->is_new)
		rc = pool_check_zones(pool);
	if (rc == NB_OK)
		rc = settle_size(pool, args, size_bytes);
	if (rc == NB_OK && pool_is_in_memory(pool->directory_fd)) {
		pool->medium = POOL_EMULATED;
		setenv("PMEM_IS_PMEM_FORCE", "1", 0);
	}
	if (rc == NB_OK)
		rc = map(pool);
	if (rc == NB_OK)
		rc = pool_settle_flush(pool, args->durability);
	if (rc == NB_OK)
		rc = catch_up(pool);
	if (rc == NB_OK)
		rc = find_root(pool);
	if (rc == NB_OK)
		rc = pool_settle_growth(pool);
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
	pool_tell_medium(pool);
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
		return pool_fail_system(pool, POOL_PARTS_NEW);
	if (renameat(pool->directory_fd, POOL_PARTS_NEW, pool->directory_fd, POOL_PARTS) != 0)
		return pool_fail_system(pool, POOL_PARTS);
	pool->is_unnamed = false;
	return fsync(pool->directory_fd) == 0
		? NB_OK
		: pool_fail_system(pool, "the directory of the database");
}
