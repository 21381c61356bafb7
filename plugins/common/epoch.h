/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EPOCH_H
#define EPOCH_H
/**
 * Epochs decide when unlinked memory can be reused: after every session that was reading at
 * that time has left its epoch.
 *
 * A session writes the global epoch into its slot when it enters, and 0 when it exits. The
 * next epoch_reclaim() stamps retired objects with the epoch and begins a new epoch. An
 * object is free once every active slot holds an epoch later than the stamp. The store at
 * entry must be visible before the loads that follow. A fence for this would cost each
 * operation some 20 ns. So epoch_reclaim(), which runs rarely, makes the kernel issue the
 * fence in all threads (membarrier(2), as in liburcu). Without membarrier(2), or under
 * ThreadSanitizer, which could not follow it, each entry pays for a fence.
 *
 * Threads: a slot belongs to its session. epochs_new() and epochs_delete(): the database
 * thread.
 */
#include "racy.h"

struct epochs;

/**
 * Releases an object that no session can see. `kind` and `what` are the arguments of
 * epoch_retire().
 */
typedef void (*epoch_release)(void *to, unsigned kind, uint64_t what);

/** A retired object that waits for its release. */
struct epoch_retired {
	uint64_t epoch; /* 0: not stamped yet */
	uint64_t what;
	unsigned kind;
};

/** The slot of a session. It has its own cache lines because other threads read `active`. */
struct epoch_slot {
	uint64_t active; /* epoch at which the session entered; 0: outside */
	const uint64_t *global;
	bool is_fenced; /* no membarrier(2): each entry pays for a fence */
	bool is_used;
	struct epochs *epochs;
	void *to;                      /* for release */
	struct epoch_retired *retired; /* oldest first */
	size_t retired_count, retired_room;
	size_t due_count; /* epoch_reclaim() is due at this retired_count */
} __attribute__((aligned(128)));

/** Returns NULL if out of memory. `sessions`: maximum number of open slots. */
struct epochs *
epochs_new(unsigned sessions, epoch_release release);

/**
 * Releases all waiting objects. Each `to` that was given for them must still be valid; see
 * epoch_close().
 */
void
epochs_delete(struct epochs *epochs);

/**
 * Open the free slot `id` < sessions. release gets `to`. Returns NULL if out of memory. Any
 * thread.
 */
struct epoch_slot *
epoch_open(struct epochs *epochs, unsigned id, void *to);

/**
 * Return the slot, which must be outside an epoch. Its retired objects are released if
 * possible. The others wait in `epochs`. The next epoch_reclaim() of any session releases
 * them, with `to_after` instead of `to`. Only one thread at a time calls release with a
 * `to_after`. Any thread.
 */
void
epoch_close(struct epoch_slot *slot, void *to_after);

static inline void
epoch_enter(struct epoch_slot *slot)
{
	uint64_t now = __atomic_load_n(slot->global, __ATOMIC_RELAXED);

#ifdef RACY_TSAN /* does not understand fences */
	__atomic_exchange_n(&slot->active, now, __ATOMIC_SEQ_CST);
#else
	__atomic_store_n(&slot->active, now, __ATOMIC_RELEASE);
	if (slot->is_fenced)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/**
 * Whether the session is in an epoch, and no thread has begun to reclaim since the session
 * entered the epoch `earlier`. If so, everything that the session found linked then still
 * exists, and remains until the session exits. See epoch_reclaim().
 */
static inline bool
epoch_goes_on(const struct epoch_slot *slot, uint64_t earlier)
{
#ifdef RACY_TSAN
	uint64_t now = __atomic_load_n(slot->global, __ATOMIC_SEQ_CST);
#else
	uint64_t now = __atomic_load_n(slot->global, __ATOMIC_ACQUIRE);
#endif
	return slot->active == earlier && now == earlier;
}

static inline void
epoch_exit(struct epoch_slot *slot)
{
	__atomic_store_n(&slot->active, 0, __ATOMIC_RELEASE);
}

/**
 * Retire `what`, which is durably unlinked; this thread releases it later. May be called
 * inside or outside an epoch; only epoch_reclaim() releases. If memory runs out, the object
 * is never released: waiting for an epoch could mean to wait for the caller's own. The next
 * open of the pool finds the object unreachable, so it is not lost permanently.
 */
void
epoch_retire(struct epoch_slot *slot, unsigned kind, uint64_t what);

/**
 * The last retired object counts as `weight` ordinary ones, so the next reclaim is due
 * sooner.
 */
static inline void
epoch_press(struct epoch_slot *slot, size_t weight)
{
	slot->due_count -= weight < slot->due_count ? weight : slot->due_count;
}

/** Whether enough objects were retired since the last epoch_reclaim() to call it again. Cheap. */
static inline bool
epoch_is_due(const struct epoch_slot *slot)
{
	return slot->retired_count >= slot->due_count;
}

/**
 * Release all objects that can be released; all of them if no slot is active. Call it only
 * outside an epoch. Costs a system call of some microseconds. Returns the number of released
 * objects.
 */
size_t
epoch_reclaim(struct epoch_slot *slot);

/**
 * Wait until every session that is in an epoch has exited. Sessions that enter later see all
 * stores that the caller made before. Call it outside an epoch, on any thread. It takes as
 * long as the longest call of a session.
 */
void
epochs_wait(struct epochs *epochs);

#endif /* EPOCH_H */
