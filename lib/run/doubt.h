/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_DOUBT_H
#define RUN_DOUBT_H
/**
 * The memory of own writes (verify.c) while requests are in flight.
 *
 * It has a write when its request is done. While writes to a key are in flight, a read of that
 * key may see the last one that was done when the read was handed over, or any after that.
 * Requests of one key take effect in the order in which they were taken, so of two that are
 * done the one that was taken later is remembered. A conflict changes that order; each write
 * has a number for when it was taken.
 *
 * Records share places in the table. An older write to one of them that is done after a newer
 * write to another is not remembered: nobody would know whether it was the last one.
 */
#include "run/flight.h"

/** A read is done: look at what it found, on its own (steps: see doubt_end_steps()). */
void
doubt_verify(struct job_worker *worker, struct flight *flight, int rc, struct nb_slice value);

/** An operation of steps is done: remember and judge all of it. */
void
doubt_end_steps(struct job_worker *worker, struct flight *flight);

/** The engine has taken an operation of steps, for the first time or again. */
void
doubt_take_steps(struct job_worker *worker, struct flight *flight);

/** A request has conflicted: an older write may take effect after a newer one. */
void
doubt_conflict(struct job_worker *worker, struct flight *flight);

/** What is not known of writes whose requests did not come out: nothing is asked of their keys. */
void
doubt_forget(struct job_worker *worker);

static inline struct place *
doubt_place(const struct job_worker *worker, uint64_t number)
{
	return &worker->async->places[job_own_of(worker, number) - worker->own];
}

/** The engine has taken a request for that record; `is_first`: not again after a conflict. */
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

/** A write of operation `index` is done; `has_happened`: it has changed the record. */
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
