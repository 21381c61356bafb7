/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which instruction writes a line back, and the ways that are none. clwb leaves
 * the line in the cache where the processor honours that, clflushopt drops it, and
 * clflush waits for itself; a process can tell them by cpuid alone.
 */
#include "pm.h"

#include <errno.h>
#include <libpmem.h>

#ifdef __x86_64__
#include <cpuid.h>

enum { CPUID_7_EBX_CLFLUSHOPT = 1 << 23, CPUID_7_EBX_CLWB = 1 << 24 };

enum pm_flush
pm_flush_best(void)
{
	unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;

	if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0)
		return PM_FLUSH_CLFLUSH;
	if ((ebx & CPUID_7_EBX_CLWB) != 0)
		return PM_FLUSH_CLWB;
	return (ebx & CPUID_7_EBX_CLFLUSHOPT) != 0 ? PM_FLUSH_CLFLUSHOPT : PM_FLUSH_CLFLUSH;
}
#else
enum pm_flush
pm_flush_best(void)
{
	return PM_FLUSH_LIBPMEM;
}
#endif

void
pm_flush_slow(struct pm *pm, const void *at, size_t size)
{
#ifdef __x86_64__
	if (pm->flush == PM_FLUSH_CLFLUSH) {
		__asm__ volatile("clflush %0" : "+m"(*(volatile char *)(uintptr_t)at));
		return;
	}
#endif
	if (pm->flush == PM_FLUSH_LIBPMEM)
		pmem_flush(at, size);
	else if (pmem_msync(at, size) != 0 && pm->error == 0)
		pm->error = errno;
}

void
pm_fence_slow(struct pm *pm)
{
	if (pm->flush == PM_FLUSH_LIBPMEM)
		pmem_drain();
}

void
pm_copy_atomic(void *to, const void *from, size_t size)
{
	uint8_t *at = to;
	const uint8_t *source = from;

	for (size_t i = 0; i < size; i++)
		__atomic_store_n(&at[i], source[i], __ATOMIC_RELAXED);
}
