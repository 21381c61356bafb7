/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libpmemobj calls of libpmem. It imports these by name, so that those of the
 * program, if they are exported, come before the library's. The stores are
 * made here as libpmem would, by plain code; nothing is flushed, as the memory of a
 * test is the page cache. Their order and their fences are libpmem's: a copy is flushed
 * unless NOFLUSH says otherwise, and fenced unless NODRAIN does.
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

/* Lines are flushed in any case: a pool on tmpfs is used as one in real memory. */
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
