/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_EPOCH_H
#define FPTREE_EPOCH_H
/**
 * When may memory that was unlinked be used again? When every session that was
 * reading at that time has come out.
 *
 * A session writes the global epoch into its own slot as it goes in, and 0 as it
 * comes out. What is retired is stamped with the epoch, and is free once every slot
 * that is in holds a later one. The store that goes in must be visible before
 * the loads that follow; a fence for that would cost each operation some 20 ns, so
 * the one that reclaims, once in many, lets the kernel make it for all threads
 * (membarrier(2), as liburcu does). Where there is none, or ThreadSanitizer could
 * not follow it, each session pays.
 *
 * Threads: a slot is its session's. epochs_* that take no slot: the thread of the
 * database.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm.h"

struct epochs;

/** Gets what nobody can see any more. `kind` and `what` are the retirer's. */
typedef void (*epoch_release)(void *to, unsigned kind, uint64_t what);

/** A thing that waits. */
struct epoch_retired {
	uint64_t epoch;
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
} __attribute__((aligned(128)));

/** NULL: out of memory. `sessions`: most slots at once. */
struct epochs *
epochs_new(unsigned sessions, epoch_release release);

/** Releases all that waits (to the `to` that retired it must still hold: see close). */
void
epochs_delete(struct epochs *epochs);

/** A free slot of `id` < sessions; `to` is handed to release. Any thread. */
struct epoch_slot *
epoch_open(struct epochs *epochs, unsigned id, void *to);

/**
 * Give the slot back. What it has retired is released if it can be, else waits
 * with `epochs` and is released with `to_after` in the place of `to`. Any thread.
 */
void
epoch_close(struct epoch_slot *slot, void *to_after);

static inline void
epoch_enter(struct epoch_slot *slot)
{
	uint64_t now = __atomic_load_n(slot->global, __ATOMIC_RELAXED);

	if (slot->is_fenced)
		__atomic_exchange_n(&slot->active, now, __ATOMIC_SEQ_CST);
	else
		__atomic_store_n(&slot->active, now, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void
epoch_exit(struct epoch_slot *slot)
{
	__atomic_store_n(&slot->active, 0, __ATOMIC_RELEASE);
}

/**
 * `what` is unlinked, durably, and may be released later, by this very thread.
 * Out of memory: waits here until it can be released at once (the slot must then be
 * out of its own epoch, or it would wait for itself, so it leaks until the next open:
 * nothing is lost, as recovery finds it). Call it anywhere; releases happen only in
 * epoch_reclaim().
 */
void
epoch_retire(struct epoch_slot *slot, unsigned kind, uint64_t what);

/** Many wait: epoch_reclaim() is due. Cheap. */
static inline bool
epoch_is_due(const struct epoch_slot *slot)
{
	return slot->retired_count >= 256;
}

/** Release what can be. Only out of an epoch. Returns how many were released. */
size_t
epoch_reclaim(struct epoch_slot *slot);

#endif /* FPTREE_EPOCH_H */
