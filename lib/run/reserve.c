/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pages that stand for memory that is needed later.
 *
 * They are not inherited by a child process: pages of a fork stay charged until both have given
 * them back. They are small ones, because the kernel gives back a huge page only as a whole.
 *
 * Rejected: to allocate the list itself from a block of fixed size, which needs an allocator that
 * takes chunks back in any order; and to count the list's greatest size as used by mininb without
 * holding it, which would give the engine the part that the list does not have.
 */
#include "run/reserve.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

static size_t
page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int
reserve_create(struct reserve *reserve, size_t bytes)
{
	size_t page = page_size();
	bytes = (bytes + page - 1) / page * page;
	*reserve = (struct reserve){0};
	char *pages = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return error_system("a reserve of %zu bytes", bytes);
	(void)madvise(pages, bytes, MADV_NOHUGEPAGE);
	(void)madvise(pages, bytes, MADV_DONTFORK);
	memset(pages, 1, bytes);
	*reserve = (struct reserve){.pages = pages, .bytes = bytes, .held = bytes};
	return NB_OK;
}

void
reserve_use(struct reserve *reserve, size_t used)
{
	size_t page = page_size(), held = reserve->held;
	size_t left = used < reserve->bytes ? reserve->bytes - used : 0;
	left = (left + page - 1) / page * page;
	if (left >= held)
		return;
	(void)madvise(reserve->pages + left, held - left, MADV_DONTNEED);
	reserve->held = left;
}

void
reserve_destroy(struct reserve *reserve)
{
	if (reserve->pages != NULL)
		munmap(reserve->pages, reserve->bytes);
	*reserve = (struct reserve){0};
}
