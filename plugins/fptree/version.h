/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_VERSION_H
#define FPTREE_VERSION_H
/**
 * Every node, inner or leaf, has a word that is both a lock and a version. A writer locks it,
 * changes the node and unlocks it with the next version. A reader takes no lock and writes
 * nothing: see ../common/racy.h. The words are in memory only, so a crash cannot leave one
 * locked.
 *
 * A reader may read torn data before it checks the version. Torn data does no harm, because
 * every word is read whole. Every object that a word has ever pointed to also stays until the
 * reader's epoch is over.
 */
#include "../common/racy.h"

enum {
	VERSION_LOCKED = 1,
	VERSION_OBSOLETE = 2, /* unlinked: a thread that reaches the node begins again */
	VERSION_STEP = 4
};

/** Wait until no thread holds the lock, then return the version. */
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

/** Return the version; wait only if a thread holds the lock. It may be OBSOLETE. */
static inline uint64_t
version_read(const uint64_t *version)
{
	uint64_t now = __atomic_load_n(version, __ATOMIC_ACQUIRE);

	if (__builtin_expect((now & VERSION_LOCKED) != 0, 0))
		now = version_wait(version);
	racy_meet();
	return now;
}

/** Is the version still `read`? If so, all data read since then is as it was at that moment. */
static inline bool
version_holds(const uint64_t *version, uint64_t read)
{
	bool does;

	racy_fence();
	does = racy_load64(version) == read;
	racy_meet();
	return does;
}

/** Lock at version `read`, which is unlocked and not obsolete. False: it has changed. */
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

/** Unlock, by the thread that locked. `read` is the version before the lock. */
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
