/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_VERSION_H
#define FPTREE_VERSION_H
/**
 * Every node, inner or leaf, has a word that is a lock and a version in one. A
 * writer locks it, changes the node and unlocks it with the next version. A reader
 * takes no lock and writes nothing: see ../common/racy.h. The words
 * are in memory only, so a crash cannot leave one locked.
 *
 * What is read in between may be torn, but never leads astray before it is thrown away:
 * every word is read whole, and whatever a word has ever pointed to stays there until
 * the reader's epoch is over.
 */
#include "../common/racy.h"

enum {
	VERSION_LOCKED = 1,
	VERSION_OBSOLETE = 2, /* unlinked: whoever comes here has to begin again */
	VERSION_STEP = 4
};

/** The version, once nobody holds the lock. */
static __attribute__((noinline, unused)) uint64_t
version_wait(const uint64_t *version)
{
	unsigned spins = 0;
	uint64_t now;

	do {
		pause_a_little(&spins);
		now = __atomic_load_n(version, __ATOMIC_ACQUIRE);
	} while ((now & VERSION_LOCKED) != 0);
	return now;
}

/** The same, at once if nobody holds it. It may be OBSOLETE. */
static inline uint64_t
version_read(const uint64_t *version)
{
	uint64_t now = __atomic_load_n(version, __ATOMIC_ACQUIRE);

	if (__builtin_expect((now & VERSION_LOCKED) != 0, 0))
		now = version_wait(version);
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
#if !defined(RACY_TSAN) && !defined(__x86_64__)
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

#endif /* FPTREE_VERSION_H */
