/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_PM_H
#define FPTREE_PM_H
/**
 * Stores into persistent memory, and how they are made to last. Nothing else in
 * this engine writes to the pool, but libpmemobj itself.
 *
 * What the hardware gives, and all that the crash arguments rest on:
 * - an aligned store of 8 bytes or fewer is whole or absent after a crash;
 * - a line of 64 bytes may reach the memory at any time after a store to it, flushed
 *   or not, and what reaches it is what the line held at some moment: of two stores to
 *   one line, the later is never there without the earlier;
 * - lines reach the memory in any order, but for pm_fence(): what this thread has
 *   flushed before it is there before anything that it stores after it.
 *
 * The middle one needs stores that become visible in the order of the program, so
 * pm_store64() and the like are release stores (plain moves on x86). A store that is
 * made by pm_copy() may be torn in any way into its aligned words, in any order. Of what is
 * large memcpy() may pass the caches by: it ends with a fence of its own then.
 *
 * A test build (FPTREE_RECORD) tells each store, flush and fence to a recorder, which
 * makes from them the images that a crash may leave.
 */
#include "../common/racy.h"

enum { PM_LINE = 64 };

/** How a line is written back. */
enum pm_flush {
	PM_FLUSH_NONE, /* not at all: the page cache survives a killed process */
	PM_FLUSH_CLWB, /* x86, in order of preference */
	PM_FLUSH_CLFLUSHOPT,
	PM_FLUSH_CLFLUSH, /* ordered by itself */
	PM_FLUSH_LIBPMEM, /* whatever libpmem finds on another architecture */
	PM_FLUSH_MSYNC    /* a file in the page cache: msync(2) at each fence */
};

/** Pages that a fence has to write, with PM_FLUSH_MSYNC. */
struct pm_range {
	uintptr_t begin, end;
};

enum { PM_RANGES = 8 };

/** One thread's way to the memory, and what it has cost. */
struct pm {
	enum pm_flush flush;
	int error;       /* errno of the first msync(2) that failed, else 0; stays */
	uint64_t lines;  /* flushed */
	uint64_t fences; /* that had something to order */
	unsigned range_count;
	struct pm_range ranges[PM_RANGES]; /* flushed since the last fence */
};

/** The best that this machine has for memory that it can flush by lines. */
enum pm_flush
pm_flush_best(void);

/** Write back [at, at + size), by a way that is no single instruction; with msync(2) at the fence. */
void
pm_flush_slow(struct pm *pm, const void *at, size_t size);

/** The same for PM_FLUSH_LIBPMEM and PM_FLUSH_MSYNC's fence. */
void
pm_fence_slow(struct pm *pm);

#ifdef FPTREE_RECORD
/** Before the bytes change: they are about to become `from`. */
void
pm_record_store(const void *at, const void *from, size_t size);
void
pm_record_flush(const void *at, size_t size);
/** Before it takes effect. */
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

/** Whole or absent; after every earlier store to the same line. */
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

/* As racy.h says: readers that hold no lock may be looking. */
void
pm_copy_atomic(void *to, const void *from, size_t size);

/** May be torn; before every later pm_store64() or pm_store16(). */
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

/* By the thread whose it is; any may read it. */
static inline void
pm_count(uint64_t *counter, uint64_t more)
{
	__atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

static inline void
pm_flush_line(struct pm *pm, const void *at)
{
	pm_record_flush((const void *)((uintptr_t)at & ~(uintptr_t)(PM_LINE - 1)), PM_LINE);
	switch (pm->flush) {
	case PM_FLUSH_NONE:
		return;
#ifdef __x86_64__
	case PM_FLUSH_CLWB: /* as bytes: the instruction needs no flag of the compiler then */
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
	pm_count(&pm->lines, 1);
}

/** Every line of [at, at + size), size > 0. */
static inline void
pm_flush(struct pm *pm, const void *at, size_t size)
{
	uintptr_t line = (uintptr_t)at & ~(uintptr_t)(PM_LINE - 1);

	if (pm->flush == PM_FLUSH_MSYNC) {
		pm_record_flush((const void *)line, (uintptr_t)at + size - line);
		pm_flush_slow(pm, at, size);
		pm_count(&pm->lines, ((uintptr_t)at + size - line + PM_LINE - 1) / PM_LINE);
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
	pm_count(&pm->fences, 1);
#ifdef __x86_64__
	__asm__ volatile("sfence" ::: "memory");
#endif
	if (pm->flush >= PM_FLUSH_LIBPMEM)
		pm_fence_slow(pm);
}

#endif /* FPTREE_PM_H */
