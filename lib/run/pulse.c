/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pulses are made from the stamps that a worker takes anyway, not from samples of its progress.
 * A sampling thread with a period of 20 ms stops, too, when the process or the machine stops.
 * The operations done meanwhile would then have to be spread over the missed time.
 *
 * A gap is the time between the ends of two operations, of all workers together. So it has its
 * exact length, not a number of pulses. Gaps within a pulse are not found. In a run of more
 * than five minutes, pulses are longer than 20 ms, and shorter gaps are missed.
 */
#include "run/pulse.h"

#include <stdlib.h>

#include "base/error.h"

void
pulse_begin(struct pulse_track *track, const struct clock *clock, uint64_t origin)
{
	track->origin = origin;
	track->until = 0; /* no pulse yet */
	track->ticks = clock_ticks(clock, SERIES_PULSE_NS);
	track->doublings = track->count = 0;
}

static void
merge_pulse(struct pulse *into, const struct pulse *from)
{
	if (from->ops == 0)
		return;
	if (into->ops == 0 || from->first < into->first)
		into->first = from->first;
	if (into->ops == 0 || from->last > into->last)
		into->last = from->last;
	into->ops += from->ops;
}

/** Append pulses without operations until there are `count`. */
static void
extend(struct pulse_track *track, uint32_t count)
{
	while (track->count < count)
		track->items[track->count++] = (struct pulse){0};
	track->until = track->origin + track->count * track->ticks;
}

static void
double_pulses(struct pulse_track *track)
{
	extend(track, track->count + track->count % 2);
	for (uint32_t i = 0; i < track->count / 2; i++) {
		struct pulse sum = track->items[2 * i];
		merge_pulse(&sum, &track->items[2 * i + 1]);
		track->items[i] = sum;
	}
	track->count /= 2;
	track->ticks *= 2;
	track->doublings++;
	extend(track, track->count);
}

static uint64_t
index_of(const struct pulse_track *track, uint64_t tick)
{
	return tick > track->origin ? (tick - track->origin) / track->ticks : 0;
}

void
pulse_advance(struct pulse_track *track, uint64_t end)
{
	while (index_of(track, end) >= SERIES_PULSES_MAX)
		double_pulses(track);
	uint64_t at = index_of(track, end);
	extend(track, (uint32_t)at + 1);
	merge_pulse(&track->items[at], &(struct pulse){.ops = 1, .first = end, .last = end});
}

void
pulse_merge(struct pulse_track *into, const struct pulse_track *from)
{
	while (into->doublings < from->doublings)
		double_pulses(into);
	uint32_t shift = into->doublings - from->doublings;
	if (from->count > 0 && (from->count - 1) >> shift >= into->count)
		extend(into, ((from->count - 1) >> shift) + 1);
	for (uint32_t i = 0; i < from->count; i++)
		merge_pulse(&into->items[i >> shift], &from->items[i]);
}

/** Keep a gap. If the table is full, it replaces the shortest one, if that is shorter. */
static void
keep_gap(struct pulses *out, const struct gap *gap)
{
	size_t at = 0;
	if (out->gap_count < SERIES_GAPS_MAX) {
		out->gaps[out->gap_count++] = *gap;
		return;
	}
	for (size_t i = 1; i < SERIES_GAPS_MAX; i++) {
		if (out->gaps[i].duration_ns < out->gaps[at].duration_ns)
			at = i;
	}
	if (gap->duration_ns > out->gaps[at].duration_ns)
		out->gaps[at] = *gap;
}

static void
find_gaps(struct pulses *out, const struct pulse_track *track, const struct clock *clock)
{
	uint64_t last = track->origin;
	for (uint32_t i = 0; i < track->count; i++) {
		const struct pulse *it = &track->items[i];
		if (it->ops == 0)
			continue;
		uint64_t ns = it->first > last ? clock_ns(clock, it->first - last) : 0;
		if (ns > SERIES_GAP_NS)
			keep_gap(out,
				&(struct gap){.begin_ns = out->begin_ns +
						clock_ns(clock, last - track->origin),
					.duration_ns = ns});
		last = it->last;
	}
}

int
pulse_take(struct pulses *out, const struct pulse_track *track, const struct clock *clock,
	uint64_t since_ns)
{
	out->pulse_ns = SERIES_PULSE_NS << track->doublings;
	out->count = since_ns / out->pulse_ns + (since_ns % out->pulse_ns != 0);
	if (out->count < track->count)
		out->count = track->count;
	out->ops = calloc(out->count + 1, sizeof(*out->ops));
	if (out->ops == NULL)
		return error_memory();
	for (uint32_t i = 0; i < track->count; i++) {
		uint64_t ops = track->items[i].ops;
		out->ops[i] = ops < UINT32_MAX ? (uint32_t)ops : UINT32_MAX;
	}
	find_gaps(out, track, clock);
	return NB_OK;
}
