/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pages that stand for memory that is needed later.
 *
 * A child process does not inherit them, because pages of a fork stay charged until both
 * processes have released them. They are small pages, because the kernel frees a huge page only
 * as a whole.
 *
 * Rejected: to allocate the list itself from a block of fixed size. That needs an allocator
 * that accepts chunks in any order. Also rejected: to count the list's greatest size as
 * mininb's without holding it. The engine would then get the part that the list does not use.
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
