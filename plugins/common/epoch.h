/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EPOCH_H
#define EPOCH_H
/**
 * When may memory that was unlinked be used again? When every session that was
 * reading at that time has come out.
 *
 * A session writes the global epoch into its own slot as it goes in, and 0 as it
 * comes out. What is retired is stamped with the epoch by the next epoch_reclaim(),
 * which then begins a new one, and is free once every slot that is in holds a later
 * epoch than its stamp. The store that goes in must be visible before the loads that
 * follow; a fence for that would cost each operation some 20 ns, so the one that
 * reclaims, once in many, lets the kernel make it for all threads (membarrier(2), as
 * liburcu does). Where there is none, or ThreadSanitizer could not follow it, each
 * session pays.
 *
 * Threads: a slot is its session's. epochs_* that take no slot: the thread of the
 * database.
 */
#include "racy.h"

struct epochs;

/** Gets what nobody can see any more. `kind` and `what` are the retirer's. */
typedef void (*epoch_release)(void *to, unsigned kind, uint64_t what);

/** A thing that waits. */
struct epoch_retired {
	uint64_t epoch; /* 0: has no stamp yet */
	uint64_t what;
	unsigned kind;
};

/** A session's. On lines of its own, since others read `active`. */
struct epoch_slot {
	uint64_t active; /* epoch at which the session went in; 0: it is out */
	const uint64_t *global;
	bool is_fenced; /* without membarrier(2): each going in pays a fence */
	bool is_used;
	struct epochs *epochs;
	void *to;                      /* for release */
	struct epoch_retired *retired; /* oldest first */
	size_t retired_count, retired_room;
	size_t due_count; /* of retired_count: reclaim now */
} __attribute__((aligned(128)));

/** NULL: out of memory. `sessions`: most slots at once. */
struct epochs *
epochs_new(unsigned sessions, epoch_release release);

/** Releases all that waits (to the `to` that retired it must still hold: see close). */
void
epochs_delete(struct epochs *epochs);

/** The free slot `id` < sessions; `to` is handed to release. NULL: out of memory. Any thread. */
struct epoch_slot *
epoch_open(struct epochs *epochs, unsigned id, void *to);

/**
 * Give the slot back, out of an epoch. What it has retired is released if it can be,
 * else waits with `epochs` and is released with `to_after` in the place of `to`, by
 * whoever reclaims next. Calls with a `to_after` are made one at a time. Any thread.
 */
void
epoch_close(struct epoch_slot *slot, void *to_after);

static inline void
epoch_enter(struct epoch_slot *slot)
{
	uint64_t now = __atomic_load_n(slot->global, __ATOMIC_RELAXED);

#ifdef RACY_TSAN /* which knows no fences */
	__atomic_exchange_n(&slot->active, now, __ATOMIC_SEQ_CST);
#else
	__atomic_store_n(&slot->active, now, __ATOMIC_RELEASE);
	if (slot->is_fenced)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/**
 * The session is in an epoch, and nobody has begun to reclaim since an earlier stay of that number
 * began: what that stay found linked is still there, and stays so during this one. See
 * epoch_reclaim().
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
 * `what` is unlinked, durably, and may be released later, by this very thread. Call it
 * anywhere, in an epoch or out; releases happen only in epoch_reclaim(). Where memory
 * ends it is never released: it may be this very epoch that it would have to wait
 * for. The next open of the pool finds it unreachable, so it is not lost for good.
 */
void
epoch_retire(struct epoch_slot *slot, unsigned kind, uint64_t what);

/** What was retired last is as large as `weight` usual ones: the next reclaim is due sooner. */
static inline void
epoch_press(struct epoch_slot *slot, size_t weight)
{
	slot->due_count -= weight < slot->due_count ? weight : slot->due_count;
}

/** Many wait that have come since the last epoch_reclaim(): it is due. Cheap. */
static inline bool
epoch_is_due(const struct epoch_slot *slot)
{
	return slot->retired_count >= slot->due_count;
}

/**
 * Release what can be, all of it where no slot is in. Only out of an epoch. Costs a system
 * call of some microseconds. Returns how many were released.
 */
size_t
epoch_reclaim(struct epoch_slot *slot);

/**
 * Wait until every session that is in an epoch has come out. Those that go in meanwhile see what
 * the caller has stored before. Out of any epoch, any thread. As long as the longest call.
 */
void
epochs_wait(struct epochs *epochs);

#endif /* EPOCH_H */
