/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_DOUBT_H
#define RUN_DOUBT_H
/**
 * The memory of own writes (verify.c) while requests are in flight.
 *
 * It contains a write once its request completes. While writes to a key are in flight, a read
 * of that key may see several of them: the last write that was complete at its submission, or
 * any later one. Requests of one key take effect in the order in which the engine took them. So
 * of two completed writes, the one taken later is remembered. A conflict changes that order.
 * Each write has a number for the order of taking.
 *
 * Records share slots in the table. If an older write to one record completes after a newer
 * write to another record of the slot, it is not remembered. Nobody would know whether it was
 * the last one.
 */
#include "run/flight.h"

/** Verify the data of a completed single read. For steps, see doubt_end_steps(). */
void
doubt_verify(struct job_worker *worker, struct flight *flight, int rc, struct nb_slice value);

/** Remember and verify all of a completed operation of steps. */
void
doubt_end_steps(struct job_worker *worker, struct flight *flight);

/** Note that the engine has taken an operation of steps, for the first time or again. */
void
doubt_take_steps(struct job_worker *worker, struct flight *flight);

/** Note that a request has conflicted: an older write may take effect after a newer one. */
void
doubt_conflict(struct job_worker *worker, struct flight *flight);

/** Forget writes whose requests did not complete. Nothing is verified for their keys. */
void
doubt_forget(struct job_worker *worker);

static inline struct place *
doubt_place(const struct job_worker *worker, uint64_t number)
{
	return &worker->async->places[job_own_of(worker, number) - worker->own];
}

/**
 * Note that the engine has taken a request for a record. `is_first`: not again after a
 * conflict.
 */
static inline void
doubt_take(struct job_worker *worker, struct track *track, uint64_t number, bool is_write,
	bool is_first)
{
	struct place *place = doubt_place(worker, number);
	const struct job_own *own = job_own_of(worker, number);
	if (is_write) {
		track->taken = ++place->taken;
		place->in_flight += is_first;
		return;
	}
	bool has_own = own->number == number + 1;
	track->taken = place->taken;
	track->is_doubtful = place->in_flight > 0;
	track->doubt = (struct job_doubt){.settled = has_own ? job_own_index(own) + 1 : 0,
		.has_put = has_own && job_own_kind(own) != NB_OP_DELETE,
		.is_reordered = place->is_reordered};
}

/**
 * Note that a write of operation `index` has completed. `has_happened`: it changed the record.
 */
static inline void
doubt_settle(struct job_worker *worker, const struct track *track, uint64_t number,
	uint64_t index, uint32_t kind, bool has_happened)
{
	struct place *place = doubt_place(worker, number);
	place->in_flight--;
	place->is_reordered &= place->in_flight > 0;
	if (!has_happened || (int32_t)(track->taken - place->settled) <= 0)
		return;
	*job_own_of(worker, number) = (struct job_own){number + 1, index << 8 | kind};
	place->settled = track->taken;
}

#endif /* RUN_DOUBT_H */
