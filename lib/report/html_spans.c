/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Series as charts have them: no more points than can be seen, and none that joins what was
 * not joined. Neighbours are added up, so that rates stay true; of memory and of what is
 * overdue the highest is kept, since a peak is what one looks for. Samples of two phases are
 * not put together, and where time passed between two samples stands a gap.
 */
#include <math.h>

#include "report/html.h"

static double
seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static void
max_u64(uint64_t *highest, uint64_t value)
{
	if (value > *highest)
		*highest = value;
}

static void
take(struct span *span, const struct sample *sample)
{
	uint64_t begin_ns = sample->end_ns - sample->duration_ns;
	if (span->count++ == 0) {
		span->samples = sample;
		span->begin_s = sample->end_ns > sample->duration_ns ? seconds(begin_ns) : 0;
	}
	span->end_s = seconds(sample->end_ns);
	span->ops += sample->ops;
	max_u64(&span->behind_ops, sample->behind_ops);
	max_u64(&span->levels.anonymous_bytes, sample->levels.anonymous_bytes);
	max_u64(&span->levels.file_bytes, sample->levels.file_bytes);
	max_u64(&span->levels.shared_bytes, sample->levels.shared_bytes);
	max_u64(&span->levels.dirty_bytes, sample->levels.dirty_bytes);
	max_u64(&span->levels.threads, sample->levels.threads);
	span->levels.data_bytes = sample->levels.data_bytes;
	system_add(&span->used, &sample->used);
}

/** Whether the sample begins another stretch of time than the one before it ended. */
static bool
is_apart(const struct sample *before, const struct sample *sample)
{
	uint64_t begin = sample->end_ns - sample->duration_ns;
	return sample->phase != before->phase ||
		begin > before->end_ns + sample->duration_ns / 2;
}

struct spans
page_spans(struct page *page, const struct series *series, size_t wanted)
{
	struct spans spans = {.end_s = series_end_s(series)};
	size_t every = wanted > 0 ? (series->count + wanted - 1) / wanted : 1;
	if (series->count == 0)
		return spans;
	spans.items = page_room(page, 2 * series->count, sizeof(*spans.items));
	if (spans.items == NULL)
		return spans;
	struct span *span = spans.items;
	for (size_t i = 0; i < series->count; i++) {
		const struct sample *sample = &series->samples[i];
		bool is_new_phase = i > 0 && is_apart(sample - 1, sample);
		if (is_new_phase || span->count == every)
			span++;
		if (is_new_phase) {
			span->begin_s = span->end_s = seconds(sample[-1].end_ns);
			span++;
		}
		take(span, sample);
	}
	spans.count = (size_t)(span - spans.items) + 1;
	return spans;
}

const double *
spans_x(struct page *page, const struct spans *spans)
{
	double *x = page_numbers(page, spans->count);
	for (size_t i = 0; x != NULL && i < spans->count; i++)
		x[i] = (spans->items[i].begin_s + spans->items[i].end_s) / 2;
	return x;
}

double
series_end_s(const struct series *series)
{
	uint64_t end = 0;
	for (size_t i = 0; i < series->count; i++)
		max_u64(&end, series->samples[i].end_ns);
	for (size_t i = 0; i < series->pulses_count; i++) {
		const struct pulses *pulses = &series->pulses[i];
		if (series->count == 0)
			max_u64(&end, pulses->begin_ns + pulses->count * pulses->pulse_ns);
	}
	return seconds(end);
}

/** Samples of a warm-up that follow each other are one band. */
static void
add_warmups(struct chart *chart, const struct series *series)
{
	for (size_t i = 0; i < series->count && chart->band_count < CHART_BANDS; i++) {
		size_t first = i;
		if (!series->samples[i].is_warmup)
			continue;
		while (i + 1 < series->count && series->samples[i + 1].is_warmup)
			i++;
		const struct sample *begin = &series->samples[first];
		chart->bands[chart->band_count++] = (struct chart_band){
			.from = seconds(begin->end_ns - begin->duration_ns),
			.to = seconds(series->samples[i].end_ns),
			.name = "warm-up",
			.kind = CHART_WARMUP};
	}
}

void
chart_set_time(struct chart *chart, const struct series *series, const char *sync)
{
	chart->x_name = "time, s";
	chart->x_unit = SVG_SECONDS;
	chart->x_low = 0;
	chart->x_high = series_end_s(series);
	chart->sync = sync;
	add_warmups(chart, series);
}
