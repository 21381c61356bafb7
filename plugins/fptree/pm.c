/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The choice of the instruction that writes a line back, and the flushes by libpmem and
 * msync(2). clwb leaves the line in the cache if the processor supports that; clflushopt
 * drops it. clflush also waits for its own completion. cpuid alone shows which of them the
 * processor has.
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

static void
write_ranges(struct pm *pm)
{
	for (unsigned i = 0; i < pm->range_count; i++) {
		const struct pm_range *range = &pm->ranges[i];

		if (pmem_msync((const void *)range->begin, range->end - range->begin) != 0 &&
			pm->error == 0)
			pm->error = errno;
	}
	pm->range_count = 0;
}

/*
 * An msync(2) writes a page at least and takes some hundred microseconds. So a range near the
 * last one is joined to it: a new leaf then needs one call, not one for each line.
 */
static void
add_range(struct pm *pm, uintptr_t begin, uintptr_t end)
{
	enum { NEAR = 4096 };
	struct pm_range *last = &pm->ranges[pm->range_count - (pm->range_count != 0)];

	if (pm->range_count != 0 && begin < last->end + NEAR && last->begin < end + NEAR) {
		last->begin = begin < last->begin ? begin : last->begin;
		last->end = end > last->end ? end : last->end;
		return;
	}
	if (pm->range_count == PM_RANGES)
		write_ranges(pm);
	pm->ranges[pm->range_count++] = (struct pm_range){begin, end};
}

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
	else
		add_range(pm, (uintptr_t)at, (uintptr_t)at + size);
}

void
pm_fence_slow(struct pm *pm)
{
	if (pm->flush == PM_FLUSH_LIBPMEM)
		pmem_drain();
	else
		write_ranges(pm);
}

void
pm_copy_atomic(void *to, const void *from, size_t size)
{
	uint8_t *at = to;
	const uint8_t *source = from;

	for (size_t i = 0; i < size; i++)
		__atomic_store_n(&at[i], source[i], __ATOMIC_RELAXED);
}
