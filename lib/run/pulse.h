/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_PULSE_H
#define RUN_PULSE_H
/**
 * When a worker's operations ended: so many in each 20 ms, from its own stamps. Workers count
 * a block of operations at a time, after the block's last stamp.
 */
#include <stdbool.h>
#include "base/clock.h"
#include "run/series.h"

/** Operations that ended in one pulse; the stamps of two of them, in ticks. */
struct pulse {
	uint64_t ops;
	uint64_t first, last; /* only if there are any */
};

/**
 * The pulses of one worker, or of several together. If a run is longer than the pulses reach,
 * neighbours are put together, and each lasts twice as long.
 */
struct pulse_track {
	uint64_t origin; /* where the first one begins, in ticks */
	uint64_t ticks;  /* that one lasts */
	uint64_t until;  /* where the last one ends */
	uint32_t doublings;
	uint32_t count;
	struct pulse items[SERIES_PULSES_MAX]; /* those after `count` are not initialized */
};

void
pulse_begin(struct pulse_track *track, const struct clock *clock, uint64_t origin);

/** An operation that ended after the last pulse, or at its end. */
void
pulse_advance(struct pulse_track *track, uint64_t end);

/** An operation that ended at `end`, which is not before the ones that were added. */
static inline void
pulse_add(struct pulse_track *track, uint64_t end)
{
	if (__builtin_expect(end >= track->until, 0)) {
		pulse_advance(track, end);
		return;
	}
	struct pulse *last = &track->items[track->count - 1];
	last->ops++;
	last->last = end;
}

/**
 * The same of `count` operations, of which the last ended at `end`, if all are of the last
 * pulse; else false, and they are to be added one by one.
 */
static inline bool
pulse_add_block(struct pulse_track *track, uint64_t end, uint64_t count)
{
	if (__builtin_expect(end >= track->until, 0))
		return false;
	struct pulse *last = &track->items[track->count - 1];
	last->ops += count;
	last->last = end;
	return true;
}

/** Count in `into` what another worker of the same phase has; their origins are the same. */
void
pulse_merge(struct pulse_track *into, const struct pulse_track *from);

/**
 * The operations of each pulse as counts up to `since_ns`, and the longest gaps, in
 * `out`, whose begin_ns and phase are set. NB_FAIL: out of memory.
 */
NB_MUST_CHECK int
pulse_take(struct pulses *out, const struct pulse_track *track, const struct clock *clock,
	uint64_t since_ns);

#endif /* RUN_PULSE_H */
