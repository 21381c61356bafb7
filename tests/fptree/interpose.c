/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replacements for the functions of libpmem that libpmemobj calls. libpmemobj imports them by
 * name, so exported functions of the program take precedence over the library's. They store
 * with plain code, like libpmem. They flush nothing, because the memory of a test is the page
 * cache. Order and fences are libpmem's: a copy is flushed unless NOFLUSH is set, and fenced
 * unless NODRAIN is set.
 */
#include <libpmem.h>
#include <string.h>

#include "recorder.h"

#define SITE __builtin_return_address(0)

static void
after_store(const void *at, size_t size, unsigned flags, const void *site)
{
	if ((flags & PMEM_F_MEM_NOFLUSH) != 0)
		return;
	record_foreign_flush(at, size, site);
	if ((flags & PMEM_F_MEM_NODRAIN) == 0)
		record_foreign_fence(site);
}

/* Always true: libpmemobj then uses a pool on tmpfs like persistent memory, and flushes lines. */
int
pmem_is_pmem(const void *at, size_t size)
{
	(void)at;
	(void)size;
	return 1;
}

void
pmem_flush(const void *at, size_t size)
{
	record_foreign_flush(at, size, SITE);
}

void
pmem_deep_flush(const void *at, size_t size)
{
	record_foreign_flush(at, size, SITE);
}

void
pmem_drain(void)
{
	record_foreign_fence(SITE);
}

int
pmem_deep_drain(const void *at, size_t size)
{
	(void)at;
	(void)size;
	record_foreign_fence(SITE);
	return 0;
}

void
pmem_persist(const void *at, size_t size)
{
	after_store(at, size, 0, SITE);
}

int
pmem_deep_persist(const void *at, size_t size)
{
	after_store(at, size, 0, SITE);
	return 0;
}

int
pmem_msync(const void *at, size_t size)
{
	after_store(at, size, 0, SITE);
	return 0;
}

void *
pmem_memmove(void *to, const void *from, size_t size, unsigned flags)
{
	record_foreign_store(to, from, size, SITE);
	memmove(to, from, size);
	after_store(to, size, flags, SITE);
	return to;
}

void *
pmem_memset(void *to, int byte, size_t size, unsigned flags)
{
	uint8_t bytes[RECORD_LINE];

	memset(bytes, byte, sizeof(bytes));
	for (size_t done = 0; done < size;) {
		size_t step = size - done < sizeof(bytes) ? size - done : sizeof(bytes);
		record_foreign_store((char *)to + done, bytes, step, SITE);
		done += step;
	}
	memset(to, byte, size);
	after_store(to, size, flags, SITE);
	return to;
}

#define COPY(name, flags) \
	void *name(void *to, const void *from, size_t size) \
	{ \
		return pmem_memmove(to, from, size, flags); \
	}
#define SET(name, flags) \
	void *name(void *to, int byte, size_t size) \
	{ \
		return pmem_memset(to, byte, size, flags); \
	}

COPY(pmem_memmove_persist, 0)
COPY(pmem_memcpy_persist, 0)
COPY(pmem_memmove_nodrain, PMEM_F_MEM_NODRAIN)
COPY(pmem_memcpy_nodrain, PMEM_F_MEM_NODRAIN)
SET(pmem_memset_persist, 0)
SET(pmem_memset_nodrain, PMEM_F_MEM_NODRAIN)

void *
pmem_memcpy(void *to, const void *from, size_t size, unsigned flags)
{
	return pmem_memmove(to, from, size, flags);
}
