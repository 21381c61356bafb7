/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_PULSE_H
#define RUN_PULSE_H
/**
 * The ends of a worker's operations: a count for each 20 ms, from its own stamps. Workers count
 * a block of operations at a time, after its last stamp.
 */
#include <stdbool.h>
#include "base/clock.h"
#include "run/series.h"

/** Operations that ended within one pulse, and the first and last stamp in ticks. */
struct pulse {
	uint64_t ops;
	uint64_t first, last; /* only if ops > 0 */
};

/**
 * The pulses of one or several workers. If the run is longer than the pulses cover, neighbours
 * are merged, and each lasts twice as long.
 */
struct pulse_track {
	uint64_t origin; /* start of the first pulse, in ticks */
	uint64_t ticks;  /* duration of a pulse */
	uint64_t until;  /* end of the last pulse */
	uint32_t doublings;
	uint32_t count;
	struct pulse items[SERIES_PULSES_MAX]; /* those after `count` are not initialized */
};

void
pulse_begin(struct pulse_track *track, const struct clock *clock, uint64_t origin);

/** Add an operation that ended after the last pulse, or at its end. */
void
pulse_advance(struct pulse_track *track, uint64_t end);

/** Add an operation that ended at `end`, which is not before the previous ones. */
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
 * Add `count` operations, of which the last ended at `end`, if that is within the last pulse.
 * Otherwise returns false, and the caller adds them one by one.
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

/** Add the pulses of another worker of the same phase, with the same origin. */
void
pulse_merge(struct pulse_track *into, const struct pulse_track *from);

/**
 * Convert to counts per pulse up to `since_ns`, and the longest gaps, in `out`. The caller has
 * set begin_ns and phase of `out`. NB_FAIL: out of memory.
 */
NB_MUST_CHECK int
pulse_take(struct pulses *out, const struct pulse_track *track, const struct clock *clock,
	uint64_t since_ns);

#endif /* RUN_PULSE_H */
