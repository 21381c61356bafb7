/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Epochs. Each session keeps its retired objects in its own array, oldest first, and
 * releases from the front. Only the rare leftovers of closed sessions are shared, under a
 * lock. The proof that no object is released too early is above epoch_reclaim().
 *
 * The usual algorithm stamps an object when it is retired. This needs a full fence for each
 * object, between the unlink and the load of the global epoch. It also needs a proof about
 * three threads. Here the stamp is set later, after the barrier that epoch_reclaim() needs
 * anyway. If some slot is always active, an object is released one round later, so up to two
 * batches wait.
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
	BATCH = 256, /* retired objects for each barrier, which costs some microseconds */
	FAR = 128    /* two lines: the processor fetches them in pairs */
};

/* An object that a closed slot could not release. */
struct orphan {
	struct epoch_retired retired;
	void *to;
};

struct epochs {
	uint64_t global; /* from 1 on; epoch_reclaim() and epochs_wait() advance it */
	char far[FAR - sizeof(uint64_t)];
	epoch_release release;
	unsigned sessions;
	bool is_fenced;
	pthread_mutex_t lock; /* protects the members below, and epoch_slot.is_used */
	struct orphan *orphans;
	size_t orphan_count; /* atomic: read without the lock */
	size_t orphan_room;
	struct epoch_slot slots[];
};

static bool
barrier_command(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/* The registration lasts for the process, until it executes another program. */
static bool
has_barrier(void)
{
#ifdef RACY_TSAN
	return false;
#else
	return barrier_command(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
#endif
}

/* A full fence here and, unless each thread pays for its own, in all running threads. */
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

	/*
	 * Room for two batches, the usual number of waiting objects. A later session with this
	 * id reuses the array.
	 */
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

/* Make room for one more element in an array that has `count` of `room`. */
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

/* The earliest epoch of all active slots; UINT64_MAX: none is active. */
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

/* All objects have a stamp here, and stamps increase along the array. */
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

/*
 * Release the objects of closed slots. If several threads reclaim at once, one suffices. The
 * lock serializes the calls of release because they share `to`.
 */
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
 * Proof that no object is released too early. Let thread T unlink X, retire it, and call
 * this function: a barrier, then a look at all slots. Let R be a stay of some session in an
 * epoch. R reads the global epoch e, stores e in its slot, then follows links.
 *
 * 1. If R can reach X, then T, looking after the barrier, sees R's store or a later store to
 * that slot. The barrier is a full fence in R's thread too, at some moment between T's call
 * of it and its return. If that moment precedes all links that R follows, R sees T's
 * unlinking and never reaches X. Otherwise the moment follows R's store, and T sees the
 * store. (Without membarrier(2), R has a fence between its store and its links, and T has
 * one between its unlinking and its look. One of them sees the other's store: again the link
 * is gone or T sees R's store.) A later store means that the stay is over. That store is a
 * release and the look is an acquire, so R completed all its reads of X before.
 *
 * 2. So if no slot is active, X is free at once. Otherwise X gets the stamp s, the global
 * epoch after the look. Each R that can hold X has e <= s: T saw R's store, and R read e
 * before that store, so the later fetch_add reads e or more.
 *
 * 3. At a later look T, which has seen R's store, sees it again or a later one. While T sees
 * R's store, the minimum is at most e, so it does not exceed s, and X stays.
 *
 * Objects do become free: the fetch_add that yields s leaves s + 1. All later entries hold
 * at least s + 1, and each stay ends. Objects that epoch_close() passes on are stamped, and the
 * lock makes everything that T has seen visible to the next thread.
 *
 * T may not know an older stay if X was unlinked long ago. This does no harm: 1 holds for
 * the first barrier after the unlinking, and 3 from then on.
 *
 * 4. Let R of 3 be over, and let R' be a later stay of its session with the same e, which
 * still holds X and calls epoch_goes_on(). The global epoch also grows before the barrier.
 * If the barrier's moment precedes the call, the call finds an epoch greater than e.
 * Otherwise T sees the store of R', and X stays because its stamp is at least e, as in 2.
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
 * As in 1 above, with the caller's stores instead of "unlinked X". A stay that the look
 * after the barrier does not show sees these stores. A stay that the look shows has an epoch
 * of at most `now` because it read the epoch before its store. A stay that began after the
 * barrier may have such an epoch, too. Then the function waits unnecessarily, at most until
 * the session's next stay.
 */
void
epochs_wait(struct epochs *epochs)
{
	enum { QUICK_LOOKS = 1000 };
	const struct timespec a_while = {.tv_nsec = 20000}; /* for a preempted thread */

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
	if (!has_room ||
		retired->epoch == 0) /* out of memory or no barrier: see epoch_retire() */
		return;
	epochs->orphans[epochs->orphan_count] = (struct orphan){*retired, to};
	count_one(&epochs->orphan_count);
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
