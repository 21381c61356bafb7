/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mapped files that are truncated.
 *
 * The handler replaces a lost page, and all pages after it, by zeros, so the thread can
 * continue. It requests a stop like a signal of the user, and the thread reaches the next check
 * for a stop. Then the run ends in order: it closes sessions and database and reports its
 * measurements. Nothing reports the zeros as data: error_interrupted() reports the truncated
 * file. Rejected: ending the process in the handler, which loses all that; and reading files by
 * pread(), which costs a copy and a call for each block of keys.
 *
 * The table is fixed and its entries are taken by atomic operations, because a handler may read
 * it at any moment. `end` is written last and cleared first: an entry with an `end` is
 * complete. POSIX does not call mmap() safe in a handler; on Linux it is only a system call.
 */
#include "base/mapping.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mininb/mininb.h>

enum { MAPPINGS = 160, PATH_SIZE = 512 }; /* a trace for each group, and the keys */

struct mapping {
	uint32_t is_used; /* atomic */
	uintptr_t begin;
	uintptr_t end; /* atomic; 0: not complete */
	char path[PATH_SIZE];
};

static struct mapping mappings[MAPPINGS];
static const struct mapping *lost; /* atomic; its entry is never reused */

void
mapping_add(const void *data, size_t size, const char *path)
{
	for (size_t i = 0; i < MAPPINGS; i++) {
		struct mapping *mapping = &mappings[i];
		if (__atomic_exchange_n(&mapping->is_used, 1, __ATOMIC_ACQ_REL) != 0)
			continue;
		mapping->begin = (uintptr_t)data;
		strncpy(mapping->path, path, PATH_SIZE - 1);
		__atomic_store_n(&mapping->end, mapping->begin + size, __ATOMIC_RELEASE);
		return;
	}
}

void
mapping_remove(const void *data)
{
	for (size_t i = 0; i < MAPPINGS; i++) {
		struct mapping *mapping = &mappings[i];
		if (__atomic_load_n(&mapping->end, __ATOMIC_ACQUIRE) == 0 ||
			mapping->begin != (uintptr_t)data)
			continue;
		__atomic_store_n(&mapping->end, 0, __ATOMIC_RELEASE);
		if (__atomic_load_n(&lost, __ATOMIC_ACQUIRE) != mapping)
			__atomic_store_n(&mapping->is_used, 0, __ATOMIC_RELEASE);
		return;
	}
}

bool
mapping_mend(void *address)
{
	uintptr_t at = (uintptr_t)address, page = (uintptr_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < MAPPINGS; i++) {
		struct mapping *mapping = &mappings[i];
		uintptr_t end = __atomic_load_n(&mapping->end, __ATOMIC_ACQUIRE);
		if (end == 0 || at < mapping->begin || at >= (end + page - 1) / page * page)
			continue;
		uintptr_t from = at / page * page;
		if (mmap((void *)from, end - from, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			return false;
		__atomic_store_n(&lost, mapping, __ATOMIC_RELEASE);
		nb_stop();
		return true;
	}
	return false;
}

const char *
mapping_lost(void)
{
	const struct mapping *mapping = __atomic_load_n(&lost, __ATOMIC_ACQUIRE);
	return mapping != NULL ? mapping->path : NULL;
}
