/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_RACY_H
#define FPTREE_RACY_H
/**
 * Versions, and reading what another thread may be writing at that moment.
 *
 * Every node, inner or leaf, has a word that is a lock and a version in one. A
 * writer locks it, changes the node and unlocks it with the next version. A reader
 * takes no lock and writes nothing: it reads the version, then the node, then the version
 * again, and where that has changed throws away what it has read (a seqlock; for
 * trees: V. Leis et al., "The ART of Practical Synchronization", DaMoN 2016). The words
 * are in memory only, so a crash cannot leave one locked.
 *
 * What is read in between may be torn, but never leads astray before it is thrown away:
 * every word is read whole, and whatever a word has ever pointed to stays there until
 * the reader's epoch is over.
 *
 * ThreadSanitizer knows no fences, and takes what a seqlock does for a race. So in its
 * build every such read and write is a single atomic one, which makes the same order
 * visible to it; nothing is suppressed.
 */
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "pm.h"

enum {
	VERSION_LOCKED = 1,
	VERSION_OBSOLETE = 2, /* unlinked: whoever comes here has to begin again */
	VERSION_STEP = 4
};

#ifdef FPTREE_TSAN
enum { RACY_LOAD = __ATOMIC_ACQUIRE, RACY_STORE = __ATOMIC_RELEASE };
#else
enum { RACY_LOAD = __ATOMIC_RELAXED, RACY_STORE = __ATOMIC_RELAXED };
#endif

/**
 * Here threads meet, and a mistake shows if one of them comes late. It is a few instructions to
 * the next, so by chance none ever does: a test build (FPTREE_MEET) waits, now and then.
 */
#ifdef FPTREE_MEET
void
racy_meet(void);
#else
static inline void
racy_meet(void)
{
}
#endif

/** What was read before is read before whatever is read after. */
static inline void
racy_fence(void)
{
#ifndef FPTREE_TSAN
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
racy_store8(uint8_t *at, uint8_t value)
{
	racy_meet();
	__atomic_store_n(at, value, RACY_STORE);
}

static inline void
racy_copy(void *to, const void *from, size_t size)
{
	racy_meet();
#ifdef FPTREE_TSAN
	for (size_t i = 0; i < size; i++)
		((uint8_t *)to)[i] = racy_load8((const uint8_t *)from + i);
#else
	memcpy(to, from, size);
#endif
}

static inline bool
racy_is_equal(const void *at, const void *data, size_t size)
{
#ifdef FPTREE_TSAN
	for (size_t i = 0; i < size; i++)
		if (racy_load8((const uint8_t *)at + i) != ((const uint8_t *)data)[i])
			return false;
	return true;
#else
	return memcmp(at, data, size) == 0;
#endif
}

static inline void
pause_a_little(unsigned *spins)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#endif
	if ((++*spins & 63) == 0) /* the one that holds the lock may want this very CPU */
		sched_yield();
}

/** The version, once nobody holds the lock. It may be OBSOLETE. */
static inline uint64_t
version_read(const uint64_t *version)
{
	uint64_t now = __atomic_load_n(version, __ATOMIC_ACQUIRE);
	unsigned spins = 0;

	while ((now & VERSION_LOCKED) != 0) {
		pause_a_little(&spins);
		now = __atomic_load_n(version, __ATOMIC_ACQUIRE);
	}
	racy_meet();
	return now;
}

/** What was read since the version was is what was there then. */
static inline bool
version_holds(const uint64_t *version, uint64_t read)
{
	bool does;

	racy_fence();
	does = racy_load64(version) == read;
	racy_meet();
	return does;
}

/** Lock it as it was read, unlocked and not obsolete. False: it has changed. */
static inline bool
version_lock(uint64_t *version, uint64_t read)
{
	if (!__atomic_compare_exchange_n(version, &read, read | VERSION_LOCKED, false,
		    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
#if !defined(FPTREE_TSAN) && !defined(__x86_64__)
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
	return true;
}

/** By the one who locked it. `read` is what it was locked from. */
static inline void
version_unlock(uint64_t *version, uint64_t read)
{
	__atomic_store_n(version, read + VERSION_STEP, __ATOMIC_RELEASE);
}

static inline void
version_unlock_unchanged(uint64_t *version, uint64_t read)
{
	__atomic_store_n(version, read, __ATOMIC_RELEASE);
}

static inline void
version_unlock_obsolete(uint64_t *version, uint64_t read)
{
	__atomic_store_n(version, (read + VERSION_STEP) | VERSION_OBSOLETE, __ATOMIC_RELEASE);
}

#endif /* FPTREE_RACY_H */
