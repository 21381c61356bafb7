/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Epochs. A session keeps what it has retired in an array of its own, oldest first,
 * and releases from its front; only the rare leftovers of a session that is gone are
 * shared, under a lock. The proof that nothing is released too early stands above
 * epoch_reclaim().
 *
 * The usual way stamps a thing as it is retired. That needs a full fence between
 * unlinking and reading the global epoch, for each thing, and an argument about what
 * three threads see of each other. Here the stamp is set later, behind the barrier
 * that epoch_reclaim() makes anyway. A thing is then released a round later where
 * some slot is always in, so up to two batches wait at a time.
 */
#include "epoch.h"

#include <assert.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	BATCH = 256, /* things retired for each barrier, which costs some microseconds */
	FAR = 128    /* two lines: the processor fetches them in pairs */
};

/* What a closed slot has left. */
struct orphan {
	struct epoch_retired retired;
	void *to;
};

struct epochs {
	uint64_t global; /* from 1 on; read by all, written by those who reclaim */
	char far[FAR - sizeof(uint64_t)];
	epoch_release release;
	unsigned sessions;
	bool is_fenced;
	pthread_mutex_t lock; /* of what follows, and of epoch_slot.is_used */
	struct orphan *orphans;
	size_t orphan_count; /* atomic: looked at without the lock */
	size_t orphan_room;
	struct epoch_slot slots[];
};

static bool
barrier_command(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/* A registration holds for the process, and until it executes another program. */
static bool
has_barrier(void)
{
#ifdef RACY_TSAN
	return false;
#else
	return barrier_command(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
#endif
}

/* A full fence here and, unless each pays for its own, in all running threads. */
static bool
barrier(struct epochs *epochs)
{
	if (!epochs->is_fenced)
		return barrier_command(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
#ifdef RACY_TSAN
	__atomic_fetch_add(&epochs->global, 0, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
	return true;
}

struct epochs *
epochs_new(unsigned sessions, epoch_release release)
{
	size_t size = sizeof(struct epochs) + sessions * sizeof(struct epoch_slot);
	struct epochs *epochs = aligned_alloc(FAR, (size + FAR - 1) / FAR * FAR);

	if (epochs == NULL)
		return NULL;
	memset(epochs, 0, size);
	if (pthread_mutex_init(&epochs->lock, NULL) != 0) {
		free(epochs);
		return NULL;
	}
	epochs->global = 1;
	epochs->release = release;
	epochs->sessions = sessions;
	epochs->is_fenced = !has_barrier();
	return epochs;
}

void
epochs_delete(struct epochs *epochs)
{
	for (size_t i = 0; i < epochs->orphan_count; i++) {
		const struct orphan *orphan = &epochs->orphans[i];
		epochs->release(orphan->to, orphan->retired.kind, orphan->retired.what);
	}
	for (unsigned id = 0; id < epochs->sessions; id++) {
		struct epoch_slot *slot = &epochs->slots[id];
		for (size_t i = 0; i < slot->retired_count; i++)
			epochs->release(slot->to, slot->retired[i].kind, slot->retired[i].what);
		free(slot->retired);
	}
	pthread_mutex_destroy(&epochs->lock);
	free(epochs->orphans);
	free(epochs);
}

struct epoch_slot *
epoch_open(struct epochs *epochs, unsigned id, void *to)
{
	assert(id < epochs->sessions);
	struct epoch_slot *slot = &epochs->slots[id];

	/* Two batches, as many as wait when all goes well; kept for the next of this id. */
	pthread_mutex_lock(&epochs->lock);
	assert(!slot->is_used);
	if (slot->retired == NULL) {
		slot->retired = malloc(2 * BATCH * sizeof(*slot->retired));
		slot->retired_room = 2 * BATCH;
	}
	slot->is_used = slot->retired != NULL;
	pthread_mutex_unlock(&epochs->lock);
	if (!slot->is_used)
		return NULL;
	slot->global = &epochs->global;
	slot->is_fenced = epochs->is_fenced;
	slot->epochs = epochs;
	slot->to = to;
	slot->retired_count = 0;
	slot->due_count = BATCH;
	return slot;
}

/* Room for one more in an array that has `count` of `room`. */
static bool
grow(void **array, size_t *room, size_t count, size_t element)
{
	if (count < *room)
		return true;
	size_t wider = *room == 0 ? BATCH : 2 * *room;
	void *moved = realloc(*array, wider * element);
	if (moved == NULL)
		return false;
	*array = moved;
	*room = wider;
	return true;
}

void
epoch_retire(struct epoch_slot *slot, unsigned kind, uint64_t what)
{
	void *retired = slot->retired;
	bool has_room = grow(
		&retired, &slot->retired_room, slot->retired_count, sizeof(*slot->retired));

	slot->retired = retired;
	if (has_room)
		slot->retired[slot->retired_count++] = (struct epoch_retired){
			.kind = kind, .what = what};
}

/* The epoch of the slot that has been in for longest; UINT64_MAX: none is in. */
static uint64_t
oldest_active(const struct epochs *epochs)
{
	uint64_t oldest = UINT64_MAX;

	for (unsigned id = 0; id < epochs->sessions; id++) {
		uint64_t active = __atomic_load_n(&epochs->slots[id].active, __ATOMIC_ACQUIRE);
		if (active != 0 && active < oldest)
			oldest = active;
	}
	return oldest;
}

/* All have a stamp by now, and stamps grow along the array. */
static size_t
release_own(struct epoch_slot *slot, uint64_t oldest)
{
	struct epochs *epochs = slot->epochs;
	size_t count = 0;

	while (count < slot->retired_count && slot->retired[count].epoch < oldest) {
		epochs->release(slot->to, slot->retired[count].kind, slot->retired[count].what);
		count++;
	}
	slot->retired_count -= count;
	memmove(slot->retired, slot->retired + count,
		slot->retired_count * sizeof(*slot->retired));
	return count;
}

/* One of those who reclaim at once is enough. Released in turn, as `to` is shared. */
static size_t
release_orphans(struct epochs *epochs, uint64_t oldest)
{
	size_t count = 0, kept = 0;

	if (__atomic_load_n(&epochs->orphan_count, __ATOMIC_RELAXED) == 0 ||
		pthread_mutex_trylock(&epochs->lock) != 0)
		return 0;
	for (size_t i = 0; i < epochs->orphan_count; i++) {
		struct orphan orphan = epochs->orphans[i];
		if (orphan.retired.epoch < oldest) {
			epochs->release(orphan.to, orphan.retired.kind, orphan.retired.what);
			count++;
		} else {
			epochs->orphans[kept++] = orphan;
		}
	}
	__atomic_store_n(&epochs->orphan_count, kept, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&epochs->lock);
	return count;
}

static void
stamp(struct epoch_slot *slot, uint64_t epoch)
{
	for (size_t i = slot->retired_count; i > 0 && slot->retired[i - 1].epoch == 0; i--)
		slot->retired[i - 1].epoch = epoch;
}

/*
 * Why nothing is released too early. Let T have unlinked X, retired it, and come
 * here: a barrier, then a look at all slots. Let R be a stay of some session in an
 * epoch: it reads the global epoch e, stores it in its slot, then follows links.
 *
 * 1. If R can get hold of X then T, looking after the barrier, sees R's store or a later
 *    one to that slot. The barrier is a full fence in R's thread too, at some moment
 *    between T's entry and its return. If that moment is before all links that R
 *    follows, R sees what T had unlinked by then, and so never comes to X. Else it is
 *    after R's store, which T then sees. (Without membarrier(2) R has a fence between
 *    its store and its links, and T one between its unlinking and its look. One of
 *    them sees what the other has stored: again the link is gone or the store is
 *    seen.) A later store means that the stay is over; it is a release, the look
 *    is an acquire, so all that R has read of X was read before.
 *
 * 2. So if no slot is in, X is free at once. Else X gets the stamp s that the global
 *    epoch has after the look. Each R that can hold X has e <= s: T saw its store, and
 *    R had read e before that store, so the later fetch_add reads e or more.
 *
 * 3. At a later look T, which has seen R's store, sees it again or a later one. While
 *    it sees that store the minimum is e or less, so not above s, and X stays.
 *
 * Things get free, too: the fetch_add that gives s leaves s + 1, which all who go in
 * later hold, and each stay ends. What is handed on by epoch_close() has its stamp
 * already, and the lock hands on to others what T has seen.
 *
 * An older stay does no harm by being unknown to T when X was unlinked long ago: 1
 * holds for the first barrier after X was unlinked, and 3 from then on.
 *
 * 4. Let R of 3 be over, and R' a later stay of its session with the same e, which still has X
 *    and asks epoch_goes_on(). The global epoch grows before the barrier, too. If the barrier's
 *    moment is before R' asks, it finds a greater epoch than e. Else T sees the store of R', and X,
 *    whose stamp is e or more as in 2, stays.
 */
size_t
epoch_reclaim(struct epoch_slot *slot)
{
	struct epochs *epochs = slot->epochs;

	assert(slot->active == 0);
	slot->due_count = slot->retired_count + BATCH;
	if (slot->retired_count == 0 &&
		__atomic_load_n(&epochs->orphan_count, __ATOMIC_RELAXED) == 0)
		return 0;
	__atomic_fetch_add(&epochs->global, 1, __ATOMIC_SEQ_CST);
	if (!barrier(epochs))
		return 0;
	uint64_t oldest = oldest_active(epochs);
	stamp(slot, __atomic_fetch_add(&epochs->global, 1, __ATOMIC_SEQ_CST));
	size_t count = release_own(slot, oldest) + release_orphans(epochs, oldest);
	slot->due_count = slot->retired_count + BATCH;
	return count;
}

/*
 * As in 1 above, with "unlinked X" for what the caller has stored: a stay that the look after the
 * barrier does not show sees it. One that is shown has an epoch up to `now`, since it read that
 * before its store; a later one is waited for in vain at most until its next stay.
 */
void
epochs_wait(struct epochs *epochs)
{
	enum { QUICK_LOOKS = 1000 };
	const struct timespec a_while = {.tv_nsec = 20000}; /* it may have lost its CPU */

	while (!barrier(epochs))
		sched_yield();
	uint64_t now = __atomic_fetch_add(&epochs->global, 1, __ATOMIC_SEQ_CST);
	for (unsigned id = 0; id < epochs->sessions; id++) {
		const uint64_t *active = &epochs->slots[id].active;

		for (unsigned looks = 0, spins = 0;; looks++) {
			uint64_t seen = __atomic_load_n(active, __ATOMIC_ACQUIRE);

			if (seen == 0 || seen > now)
				break;
			if (looks < QUICK_LOOKS)
				pause_a_little(&spins);
			else
				nanosleep(&a_while, NULL);
		}
	}
}

static void
leave_orphan(struct epochs *epochs, const struct epoch_retired *retired, void *to)
{
	void *orphans = epochs->orphans;
	bool has_room = grow(
		&orphans, &epochs->orphan_room, epochs->orphan_count, sizeof(*epochs->orphans));

	epochs->orphans = orphans;
	if (!has_room || retired->epoch == 0) /* no memory or no barrier: as epoch_retire() */
		return;
	epochs->orphans[epochs->orphan_count] = (struct orphan){*retired, to};
	__atomic_store_n(&epochs->orphan_count, epochs->orphan_count + 1, __ATOMIC_RELAXED);
}

void
epoch_close(struct epoch_slot *slot, void *to_after)
{
	struct epochs *epochs = slot->epochs;

	epoch_reclaim(slot);
	pthread_mutex_lock(&epochs->lock);
	for (size_t i = 0; i < slot->retired_count; i++)
		leave_orphan(epochs, &slot->retired[i], to_after);
	slot->retired_count = 0;
	slot->is_used = false;
	pthread_mutex_unlock(&epochs->lock);
}
