/* SPDX-License-Identifier: BSD-2-Clause */
/* Pulses made of handmade stamps, with a tick of a nanosecond. */
#include <stdlib.h>
#include <string.h>

#include "run/pulse.h"
#include "unit.h"

#define MS UINT64_C(1000000)
#define ORIGIN (UINT64_C(1) << 50)

static const struct clock clock_of_ns = {
	.kind = NB_CLOCK_MONOTONIC, .ns_per_tick_q32 = UINT64_C(1) << 32};
static struct pulse_track a, b;

static void
begin(void)
{
	/* memory may contain anything */
	memset(&a, 0x5a, sizeof(a));
	memset(&b, 0x5a, sizeof(b));
	pulse_begin(&a, &clock_of_ns, ORIGIN);
	pulse_begin(&b, &clock_of_ns, ORIGIN);
}

static void
add(struct pulse_track *track, uint64_t at_ns)
{
	pulse_add(track, ORIGIN + at_ns);
}

static struct pulses
take(const struct pulse_track *track, uint64_t since_ns)
{
	struct pulses pulses = {.begin_ns = 7};
	ck_assert_int_eq(pulse_take(&pulses, track, &clock_of_ns, since_ns), NB_OK);
	return pulses;
}

static uint64_t
sum_of(const struct pulses *pulses)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < pulses->count; i++)
		sum += pulses->ops[i];
	return sum;
}

TEST(operation_counts_in_the_pulse_of_its_end)
{
	static const uint64_t ends[] = {0, 1, 20 * MS - 1, 20 * MS, 45 * MS, 139 * MS};
	static const uint32_t expected[] = {3, 1, 1, 0, 0, 0, 1, 0, 0, 0};
	begin();
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		add(&a, ends[i]);
	struct pulses pulses = take(&a, 190 * MS); /* nothing happened after that */
	ck_assert_uint_eq(pulses.pulse_ns, 20 * MS);
	ck_assert_uint_eq(pulses.count, sizeof(expected) / sizeof(*expected));
	ck_assert_mem_eq(pulses.ops, expected, sizeof(expected));
	ck_assert_uint_eq(pulses.gap_count, 1);
	ck_assert_uint_eq(pulses.gaps[0].begin_ns, 7 + 45 * MS);
	ck_assert_uint_eq(pulses.gaps[0].duration_ns, 94 * MS);
	free(pulses.ops);
}

/** Add a block of stamps as a worker does. */
static void
add_block(struct pulse_track *track, const uint64_t *ends, size_t count)
{
	if (count == 0 || pulse_add_block(track, ends[count - 1], count))
		return;
	for (size_t i = 0; i < count; i++)
		pulse_add(track, ends[i]);
}

TEST(block_counts_like_its_single_operations)
{
	uint64_t ends[32], at = 0;
	begin();
	for (uint64_t block = 0; block < 200; block++) {
		for (size_t i = 0; i < 32; i++) {
			at += (block * 32 + i) * 7919 % MS;
			add(&a, at);
			ends[i] = ORIGIN + at;
		}
		add_block(&b, ends, block % 32);
		add_block(&b, ends + block % 32, 32 - block % 32);
	}
	ck_assert_uint_eq(a.count, b.count);
	ck_assert_mem_eq(a.items, b.items, a.count * sizeof(*a.items));
}

TEST(a_gap_ends_with_the_first_operation_of_any_worker)
{
	begin();
	for (uint64_t ms = 0; ms <= 1000; ms++) {
		if (ms <= 100 || ms >= 250)
			add(&a, ms * MS);
		if (ms <= 110 || ms >= 400)
			add(&b, ms * MS);
	}
	pulse_merge(&a, &b);
	struct pulses pulses = take(&a, 1000 * MS);
	ck_assert_uint_eq(pulses.gap_count, 1);
	ck_assert_uint_eq(pulses.gaps[0].begin_ns, 7 + 110 * MS);
	ck_assert_uint_eq(pulses.gaps[0].duration_ns, 140 * MS); /* exact, not in pulses */
	ck_assert_uint_eq(sum_of(&pulses), 101 + 751 + 111 + 601);
	free(pulses.ops);
}

TEST(surplus_pulses_are_merged_without_loss)
{
	uint64_t count = SERIES_PULSES_MAX + 7;
	begin();
	for (uint64_t i = 0; i < count; i++) {
		for (uint64_t n = 0; n < i % 5; n++)
			add(&a, i * 20 * MS + n);
		if (i < 10)
			add(&b, i * 20 * MS); /* ended early, so it has short pulses */
	}
	struct pulses pulses = take(&a, count * 20 * MS);
	ck_assert_uint_eq(pulses.pulse_ns, 40 * MS);
	ck_assert_uint_eq(pulses.count, (count + 1) / 2);
	for (uint64_t i = 0; i < count / 2; i++)
		ck_assert_uint_eq(pulses.ops[i], (2 * i) % 5 + (2 * i + 1) % 5);
	uint64_t sum = sum_of(&pulses);
	free(pulses.ops);
	for (int i = 0; i < 2; i++) { /* in either order */
		struct pulse_track *into = i == 0 ? malloc(sizeof(*into)) : &b;
		ck_assert_ptr_nonnull(into);
		if (i == 0)
			memcpy(into, &a, sizeof(*into));
		pulse_merge(into, i == 0 ? &b : &a);
		pulses = take(into, count * 20 * MS);
		ck_assert_uint_eq(pulses.pulse_ns, 40 * MS);
		ck_assert_uint_eq(sum_of(&pulses), sum + 10);
		ck_assert_uint_eq(pulses.ops[4], 8 % 5 + 9 % 5 + 2);
		free(pulses.ops);
		if (i == 0)
			free(into);
	}
}

TEST(after_years_there_are_no_more_pulses)
{
	begin();
	add(&a, 5);
	add(&a, UINT64_C(100000000000000000)); /* three years */
	struct pulses pulses = take(&a, UINT64_C(100000000000000000));
	ck_assert_uint_le(pulses.count, SERIES_PULSES_MAX);
	ck_assert_uint_eq(sum_of(&pulses), 2);
	ck_assert_uint_eq(pulses.gap_count, 1);
	free(pulses.ops);
}

TEST(the_longest_gaps_are_kept)
{
	uint64_t at = 0, shortest = UINT64_MAX;
	begin();
	for (uint64_t i = 0; i < 2 * SERIES_GAPS_MAX; i++)
		add(&a, at += (61 + i * 37 % (2 * SERIES_GAPS_MAX)) * MS);
	struct pulses pulses = take(&a, at);
	ck_assert_uint_eq(pulses.gap_count, SERIES_GAPS_MAX);
	for (size_t i = 0; i < SERIES_GAPS_MAX; i++)
		if (pulses.gaps[i].duration_ns < shortest)
			shortest = pulses.gaps[i].duration_ns;
	ck_assert_uint_eq(shortest, (61 + SERIES_GAPS_MAX) * MS);
	free(pulses.ops);
}
