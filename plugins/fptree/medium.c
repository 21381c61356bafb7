/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The medium of a pool, and how to flush it.
 *
 * libpmem takes every mapping with MAP_SYNC for persistent memory, or all memory if
 * PMEM_IS_PMEM_FORCE is set. It reads the variable once per process. On tmpfs the variable must
 * be set, or libpmemobj would call msync(2) without use. Afterwards libpmemobj would flush by
 * lines on a disk too. Its metadata would not survive a power failure there. So pool_open()
 * rejects `commit` in that case.
 */
#include "parts.h"

#include <fcntl.h>
#include <libpmem.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

/* f_type, as statfs(2) lists them. */
static const uint32_t tmpfs_type = 0x01021994;
static const uint32_t ramfs_type = 0x858458f6;

bool
pool_is_in_memory(int fd)
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
	char name[POOL_PART_NAME];

	pool_part_name(name, 0);
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
		if (pool_is_in_memory(fd) || would_be_dax(directory))
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

int
pool_settle_flush(struct pool *pool, uint32_t durability)
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

void
pool_tell_medium(const struct pool *pool)
{
	if (pool->medium == POOL_EMULATED)
		pool->host->log(NB_LOG_WARNING,
			"fptree: the pool is on tmpfs: emulated persistent memory, which does not survive a power failure");
	else if (pool->flush == PM_FLUSH_MSYNC)
		pool->host->log(NB_LOG_WARNING,
			"fptree: the pool is in a file and not in persistent memory: each flush is an msync(2), which is slow");
}
