/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growth of a pool by another part, and its huge pages.
 *
 * libpmemobj makes a part, then stores the size of the heap. It syncs no directory, and it does
 * not open a pool that lacks a stored part. If a flush is an msync(2), a power failure can lose
 * the name. So in that case its growth is switched off. This engine makes the part, with the
 * name and the size that libpmemobj is about to use, and makes the name durable. Then it calls
 * libpmemobj's growth, which uses that file.
 */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* A part takes some 30 ms on tmpfs, which clears its pages. */
static const long long growth_bytes = 64ll << 20;

int
pool_settle_growth(struct pool *pool)
{
	/* Near the end of the reservation libpmemobj adds less. 0: nothing. */
	long long growth = pool->flush == PM_FLUSH_MSYNC ? 0 : growth_bytes;

	if (pmemobj_ctl_set(pool->obj, "heap.size.granularity", &growth) != 0)
		return pool_fail_pmemobj(pool, "pmemobj_ctl_set");
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
	char name[POOL_PART_NAME];
	struct pool_survey survey;

	if (pool->is_out_of_step || pool_survey(pool, &survey) != NB_OK)
		return EIO;
	uint64_t left = pool->reserved_bytes - survey.bytes;
	long long bytes = left < (uint64_t)growth_bytes ? (long long)left : growth_bytes;
	if (survey.bytes > pool->reserved_bytes || bytes < (long long)PMEMOBJ_MIN_PART)
		return ENOMEM;
	pool_part_name(name, survey.count);
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
	struct pool_survey survey;

	if (pool->medium != POOL_EMULATED || end <= done)
		return;
	pthread_mutex_lock(&pool->growth_lock);
	if (done == pool->huge_bytes && pool_survey(pool, &survey) == NB_OK &&
		survey.count > 1) {
		madvise(pool->base + done, survey.bytes - done, MADV_COLLAPSE);
		__atomic_store_n(&pool->huge_bytes, survey.bytes, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&pool->growth_lock);
}
