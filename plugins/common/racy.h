/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RACY_H
#define RACY_H
/**
 * Reads of memory that another thread may be writing, for mininb's own engines whose readers
 * take no lock.
 *
 * A reader loads a version, reads the data, and loads the version again. If the version has
 * changed, the reader discards the data (a seqlock; for trees: V. Leis et al., "The ART of
 * Practical Synchronization", DaMoN 2016). Data read during a write may be torn, but each
 * word is read whole.
 *
 * ThreadSanitizer does not understand fences and reports a seqlock as a race. So in its
 * builds each such access is a single atomic operation with the same order, and no report is
 * suppressed.
 */
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#if defined(__SANITIZE_THREAD__)
#define RACY_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RACY_TSAN 1
#endif
#endif

#ifdef RACY_TSAN
enum { RACY_LOAD = __ATOMIC_ACQUIRE, RACY_STORE = __ATOMIC_RELEASE };
#else
enum { RACY_LOAD = __ATOMIC_RELAXED, RACY_STORE = __ATOMIC_RELAXED };
#endif

/**
 * A point at which threads interact. A bug here appears only if a thread is delayed between
 * two such points. They are a few instructions apart, so this almost never happens by
 * chance. A test build (RACY_MEET) therefore sometimes waits here.
 */
#ifdef RACY_MEET
void
racy_meet(void);
/** Like racy_meet(), where a thread that holds no lock waits for another thread. */
void
racy_wait(void);
#else
static inline void
racy_meet(void)
{
}
static inline void
racy_wait(void)
{
}
#endif

/** Order all loads before the fence before all accesses after it. */
static inline void
racy_fence(void)
{
#ifndef RACY_TSAN
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

static inline uint64_t
racy_load64(const uint64_t *at)
{
	racy_meet();
	return __atomic_load_n(at, RACY_LOAD);
}

static inline uint32_t
racy_load32(const uint32_t *at)
{
	return __atomic_load_n(at, RACY_LOAD);
}

static inline uint16_t
racy_load16(const uint16_t *at)
{
	return __atomic_load_n(at, RACY_LOAD);
}

static inline uint8_t
racy_load8(const uint8_t *at)
{
	return __atomic_load_n(at, RACY_LOAD);
}

static inline void
racy_store64(uint64_t *at, uint64_t value)
{
	racy_meet();
	__atomic_store_n(at, value, RACY_STORE);
}

static inline void
racy_store32(uint32_t *at, uint32_t value)
{
	racy_meet();
	__atomic_store_n(at, value, RACY_STORE);
}

static inline void
racy_store16(uint16_t *at, uint16_t value)
{
	racy_meet();
	__atomic_store_n(at, value, RACY_STORE);
}

static inline void
racy_store8(uint8_t *at, uint8_t value)
{
	racy_meet();
	__atomic_store_n(at, value, RACY_STORE);
}

static inline void
racy_copy(void *to, const void *from, size_t size)
{
	racy_meet();
#ifdef RACY_TSAN
	for (size_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = racy_load8((const uint8_t *)from + i);
#else
	memcpy(to, from, size);
#endif
}

static inline bool
racy_is_equal(const void *at, const void *data, size_t size)
{
#ifdef RACY_TSAN
	for (size_t i = 0; i < size; i++)
		if (racy_load8((const uint8_t *)at + i) != ((const uint8_t *)data)[i])
			return false;
	return true;
#else
	return memcmp(at, data, size) == 0;
#endif
}

enum { PAUSE_YIELDS = 16, PAUSE_SPINS = 64 /* pause instructions between two yields */ };

/**
 * Let other threads run. sched_yield() never runs a thread of lower real-time priority; only
 * a sleep does. So this function sleeps after some microseconds of yields.
 */
static inline void
pause_for_long(unsigned times)
{
	const struct timespec a_while = {.tv_nsec = 20000};

	if (times <= PAUSE_YIELDS)
		sched_yield();
	else
		nanosleep(&a_while, NULL);
}

/** Wait briefly for another thread. `*spins` counts the calls. */
static inline void
pause_a_little(unsigned *spins)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
	if ((++*spins % PAUSE_SPINS) == 0) /* the other thread may need this CPU */
		pause_for_long(*spins / PAUSE_SPINS);
}

/** Add to a counter that one thread at a time changes and any thread may read. */
static inline void
count_more(uint64_t *counter, uint64_t more)
{
	__atomic_store_n(counter, *counter + more, __ATOMIC_RELAXED);
}

static inline void
count_one(uint64_t *counter)
{
	count_more(counter, 1);
}

#endif /* RACY_H */
