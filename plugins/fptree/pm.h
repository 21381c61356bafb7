/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_PM_H
#define FPTREE_PM_H
/**
 * Stores into persistent memory, and how they become durable. Only these functions and
 * libpmemobj write to the pool.
 *
 * The crash safety of this engine rests on three properties of the hardware:
 * - An aligned store of 8 bytes or fewer is whole or absent after a crash.
 * - A line of 64 bytes may reach the memory at any time after a store to it, flushed or not.
 *   The memory then has the content of the line at some moment. So of two stores to one line,
 *   the later is never there without the earlier.
 * - Lines reach the memory in any order, except at pm_fence(). Lines that this thread has
 *   flushed before the fence arrive before anything that it stores after it.
 *
 * The second property needs stores that become visible in program order. So pm_store64() and
 * pm_store16() are release stores (plain moves on x86). A store by pm_copy() may be torn into
 * its aligned words, in any way and order. For large sizes, memcpy() may bypass the caches;
 * it then ends with a fence of its own.
 *
 * A test build (FPTREE_RECORD) reports each store, flush and fence to a recorder. The
 * recorder makes from them the images that a crash may leave.
 */
#include "../common/racy.h"

enum { PM_LINE = 64 };

/** How a line is written back. */
enum pm_flush {
	PM_FLUSH_NONE, /* not at all: the page cache survives a killed process */
	PM_FLUSH_CLWB, /* x86, in order of preference */
	PM_FLUSH_CLFLUSHOPT,
	PM_FLUSH_CLFLUSH, /* ordered by itself */
	PM_FLUSH_LIBPMEM, /* other architectures: chosen by libpmem */
	PM_FLUSH_MSYNC    /* a file in the page cache: msync(2) at each fence */
};

/** A range of bytes that the next fence writes, with PM_FLUSH_MSYNC. */
struct pm_range {
	uintptr_t begin, end;
};

enum { PM_RANGES = 8 };

/** The flushes and fences of one thread: their method, counters and errors. */
struct pm {
	enum pm_flush flush;
	int error;       /* errno of the first msync(2) that failed, else 0; never reset */
	uint64_t lines;  /* flushed */
	uint64_t fences; /* executed, unless PM_FLUSH_NONE */
	unsigned range_count;
	struct pm_range ranges[PM_RANGES]; /* flushed since the last fence */
};

/** The best way of this machine to flush memory by lines. */
enum pm_flush
pm_flush_best(void);

/**
 * Write back [at, at + size): by clflush, which flushes only one line, or by libpmem. With
 * PM_FLUSH_MSYNC, only note the range; msync(2) writes it at the next fence or before.
 */
void
pm_flush_slow(struct pm *pm, const void *at, size_t size);

/** Complete a fence with PM_FLUSH_LIBPMEM or PM_FLUSH_MSYNC. */
void
pm_fence_slow(struct pm *pm);

#ifdef FPTREE_RECORD
/** Called before the bytes at `at` change to `from`. */
void
pm_record_store(const void *at, const void *from, size_t size);
void
pm_record_flush(const void *at, size_t size);
/** Called before the fence takes effect. */
void
pm_record_fence(void);
#else
static inline void
pm_record_store(const void *at, const void *from, size_t size)
{
	(void)at;
	(void)from;
	(void)size;
}

static inline void
pm_record_flush(const void *at, size_t size)
{
	(void)at;
	(void)size;
}

static inline void
pm_record_fence(void)
{
}
#endif

/**
 * Store a word: whole or absent after a crash. It follows every earlier store to the same
 * line.
 */
static inline void
pm_store64(uint64_t *at, uint64_t value)
{
	pm_record_store(at, &value, sizeof(value));
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static inline void
pm_store16(uint16_t *at, uint16_t value)
{
	pm_record_store(at, &value, sizeof(value));
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

/* Copy with atomic stores, because readers without a lock may read the bytes (see racy.h). */
void
pm_copy_atomic(void *to, const void *from, size_t size);

/** Copy bytes. The copy may be torn. It precedes every later pm_store64() or pm_store16(). */
static inline void
pm_copy(void *to, const void *from, size_t size)
{
	if (size == 0)
		return;
	pm_record_store(to, from, size);
#ifdef RACY_TSAN
	pm_copy_atomic(to, from, size);
#else
	memcpy(to, from, size);
	__asm__ volatile("" ::: "memory");
#endif
}

static inline void
pm_flush_line(struct pm *pm, const void *at)
{
	pm_record_flush((const void *)((uintptr_t)at & ~(uintptr_t)(PM_LINE - 1)), PM_LINE);
	switch (pm->flush) {
	case PM_FLUSH_NONE:
		return;
#ifdef __x86_64__
	case PM_FLUSH_CLWB: /* as bytes, so the compiler needs no option */
		__asm__ volatile(".byte 0x66; xsaveopt %0"
				 : "+m"(*(volatile char *)(uintptr_t)at));
		break;
	case PM_FLUSH_CLFLUSHOPT:
		__asm__ volatile(".byte 0x66; clflush %0"
				 : "+m"(*(volatile char *)(uintptr_t)at));
		break;
#endif
	default:
		pm_flush_slow(pm, at, 1);
		break;
	}
	count_one(&pm->lines);
}

/** Flush every line of [at, at + size), size > 0. */
static inline void
pm_flush(struct pm *pm, const void *at, size_t size)
{
	uintptr_t line = (uintptr_t)at & ~(uintptr_t)(PM_LINE - 1);

	if (pm->flush == PM_FLUSH_MSYNC) {
		pm_record_flush((const void *)line, (uintptr_t)at + size - line);
		pm_flush_slow(pm, at, size);
		count_more(&pm->lines, ((uintptr_t)at + size - line + PM_LINE - 1) / PM_LINE);
		return;
	}
	for (; line < (uintptr_t)at + size; line += PM_LINE)
		pm_flush_line(pm, (const void *)line);
}

static inline void
pm_fence(struct pm *pm)
{
	pm_record_fence();
	if (pm->flush == PM_FLUSH_NONE)
		return;
	count_one(&pm->fences);
#ifdef __x86_64__
	__asm__ volatile("sfence" ::: "memory");
#endif
	if (pm->flush >= PM_FLUSH_LIBPMEM)
		pm_fence_slow(pm);
}

#endif /* FPTREE_PM_H */
