/* SPDX-License-Identifier: BSD-2-Clause */
/* Stretches of a series: added up, never across phases, and none is lost. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "unit.h"

enum { SAMPLES = 1000 };

static struct sample samples[SAMPLES];
static struct series series;
static struct page page;

/** `count` seconds from `begin_s` on, of a phase. */
static void
add(uint32_t phase, uint64_t begin_s, size_t count)
{
	for (size_t i = 0; i < count; i++)
		samples[series.count++] = (struct sample){.phase = phase,
			.end_ns = (begin_s + i + 1) * UINT64_C(1000000000),
			.duration_ns = 1000000000,
			.ops = 10,
			.behind_ops = series.count == 7 ? 500 : 1,
			.used = {.known = SYSTEM_PROCESS, .user_ns = 250000000},
			.levels = {.anonymous_bytes = series.count == 7 ? 999 : 100,
				.data_bytes = series.count}};
}

static void
begin(void)
{
	memset(samples, 0, sizeof(samples));
	series = (struct series){.samples = samples};
}

static uint64_t
sum_of_ops(const struct spans *spans)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < spans->count; i++)
		sum += spans->items[i].ops;
	return sum;
}

START_TEST(few_samples_are_spans_of_their_own)
{
	begin();
	add(0, 0, 5);
	struct spans spans = page_spans(&page, &series, 100);
	ck_assert_uint_eq(spans.count, 5);
	ck_assert_double_eq(spans.items[2].begin_s, 2);
	ck_assert_double_eq(spans.items[2].end_s, 3);
	ck_assert_double_eq(spans.end_s, 5);
	ck_assert_double_eq(spans_x(&page, &spans)[2], 2.5);
}
END_TEST

START_TEST(many_are_put_together_and_none_is_lost)
{
	begin();
	add(0, 0, SAMPLES);
	for (size_t wanted = 1; wanted < 700; wanted += 13) {
		struct spans spans = page_spans(&page, &series, wanted);
		ck_assert_uint_le(spans.count, wanted);
		ck_assert_uint_ge(2 * spans.count, wanted < SAMPLES / 2 ? wanted : 2);
		ck_assert_uint_eq(sum_of_ops(&spans), 10 * SAMPLES);
		ck_assert_double_eq(spans.items[spans.count - 1].end_s, SAMPLES);
	}
}
END_TEST

START_TEST(counts_are_added_and_peaks_are_kept)
{
	begin();
	add(0, 0, 20);
	struct spans spans = page_spans(&page, &series, 2);
	const struct span *first = &spans.items[0];
	ck_assert_uint_eq(first->count, 10);
	ck_assert_uint_eq(first->ops, 100);
	ck_assert_uint_eq(first->used.user_ns, 2500000000);
	ck_assert_uint_eq(first->behind_ops, 500);
	ck_assert_uint_eq(first->levels.anonymous_bytes, 999);
	ck_assert_uint_eq(first->levels.data_bytes, samples[9].levels.data_bytes);
}
END_TEST

START_TEST(a_gap_stands_between_phases)
{
	begin();
	add(0, 0, 3);
	add(1, 10, 3);
	struct spans spans = page_spans(&page, &series, 2);
	const double *x = spans_x(&page, &spans);
	size_t gaps = 0;
	for (size_t i = 0; i < spans.count; i++) {
		const struct span *span = &spans.items[i];
		gaps += span->count == 0;
		for (size_t s = 1; s < span->count; s++)
			ck_assert_uint_eq(span->samples[s].phase, span->samples[0].phase);
		ck_assert(i == 0 || x[i] > x[i - 1]);
	}
	ck_assert_uint_eq(gaps, 1);
	ck_assert_uint_eq(sum_of_ops(&spans), 60);
}
END_TEST

START_TEST(a_gap_within_a_phase_is_one_too)
{
	begin();
	add(0, 0, 3);
	add(0, 5, 3);
	struct spans spans = page_spans(&page, &series, 100);
	ck_assert_uint_eq(spans.count, 7);
	ck_assert_uint_eq(spans.items[3].count, 0);
}
END_TEST

START_TEST(nothing_has_no_spans)
{
	begin();
	struct spans spans = page_spans(&page, &series, 10);
	ck_assert_uint_eq(spans.count, 0);
	ck_assert_double_eq(series_end_s(&series), 0);
}
END_TEST

START_TEST(warm_ups_that_follow_each_other_are_one_band)
{
	begin();
	add(0, 0, 4);
	add(1, 10, 4);
	samples[0].is_warmup = samples[1].is_warmup = samples[4].is_warmup = 1;
	struct chart chart = {0};
	chart_set_time(&chart, &series, "r0");
	ck_assert_uint_eq(chart.band_count, 2);
	ck_assert_double_eq(chart.bands[0].from, 0);
	ck_assert_double_eq(chart.bands[0].to, 2);
	ck_assert_double_eq(chart.bands[1].from, 10);
	ck_assert_double_eq(chart.bands[1].to, 11);
	ck_assert_double_eq(chart.x_high, 14);
}
END_TEST

int
main(void)
{
	return UNIT_RUN("html_spans", few_samples_are_spans_of_their_own,
		many_are_put_together_and_none_is_lost, counts_are_added_and_peaks_are_kept,
		a_gap_stands_between_phases, a_gap_within_a_phase_is_one_too,
		nothing_has_no_spans, warm_ups_that_follow_each_other_are_one_band);
}
