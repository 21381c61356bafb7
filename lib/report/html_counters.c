/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the engine counted over time, on the time axis of the throughput: those that changed
 * most, since a counter that grows evenly says nothing about a stall.
 *
 * How much one changed is its coefficient of variation over the samples: standard deviation
 * by mean, which has no unit and so compares bytes with files. A COUNTER is looked at by its
 * growth, a GAUGE by its level.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"

enum { SHOWN = 6 };

struct candidate {
	size_t index;
	double variation;
};

/** Samples do without counters where an engine is slow to tell them: not known is not 0. */
static bool
has_counters(const struct sample *sample)
{
	return sample->counter_count > 0;
}

static uint64_t
value_of(const struct sample *sample, size_t counter)
{
	return counter < sample->counter_count ? sample->counters[counter] : 0;
}

static double
variation_of(const struct series *series, size_t counter)
{
	bool is_gauge = series->counters.items[counter].kind == NB_STAT_GAUGE;
	double sum = 0, squares = 0, count = 0;
	uint64_t grown_ns = 0;
	for (size_t i = 0; i < series->count; i++) {
		const struct sample *sample = &series->samples[i];
		grown_ns += sample->duration_ns;
		if (!has_counters(sample))
			continue;
		double value = (double)value_of(sample, counter);
		if (!is_gauge)
			value = result_rate(value, grown_ns);
		grown_ns = 0;
		sum += value;
		squares += value * value;
		count++;
	}
	double mean = sum / count;
	return count > 0 && mean > 0 ? sqrt(fmax(squares / count - mean * mean, 0)) / mean : 0;
}

static int
by_variation(const void *a, const void *b)
{
	const struct candidate *one = a, *other = b;
	if (one->variation != other->variation)
		return one->variation < other->variation ? 1 : -1;
	return one->index < other->index ? -1 : 1;
}

static int
by_index(const void *a, const void *b)
{
	const struct candidate *one = a, *other = b;
	return one->index < other->index ? -1 : 1;
}

/** The counters that changed most, in the engine's order; how many. */
static size_t
choose(struct page *page, const struct series *series, struct candidate **out)
{
	size_t count = 0;
	struct candidate *all = page_room(page, series->counters.count + 1, sizeof(*all));
	*out = all;
	for (size_t i = 0; all != NULL && i < series->counters.count; i++) {
		double variation = variation_of(series, i);
		if (variation > 1e-6 && !series->counters.items[i].has_run_back)
			all[count++] = (struct candidate){i, variation};
	}
	if (count > 1)
		qsort(all, count, sizeof(*all), by_variation);
	count = count < SHOWN ? count : SHOWN;
	if (count > 1)
		qsort(all, count, sizeof(*all), by_index);
	return count;
}

/**
 * Of spans: growth in a second, or the level at the end. A growth is of all the time since
 * counters were last known, so a span without them leaves its time to the next.
 */
static const double *
values_of(struct page *page, const struct spans *spans, size_t counter, bool is_gauge,
	double scale)
{
	double *y = page_numbers(page, spans->count), grown_s = 0;
	for (size_t i = 0; y != NULL && i < spans->count; i++) {
		const struct span *span = &spans->items[i];
		double sum = 0;
		bool is_known = false;
		for (size_t s = 0; s < span->count; s++) {
			if (!has_counters(&span->samples[s]))
				continue;
			is_known = true;
			double value = (double)value_of(&span->samples[s], counter);
			sum = is_gauge ? value : sum + value;
		}
		grown_s = span->count == 0 ? 0 : grown_s + span_s(span);
		y[i] = !is_known ? NAN : is_gauge ? sum * scale : sum * scale / grown_s;
		if (is_known)
			grown_s = 0;
	}
	return y;
}

/** Of its unit, and how many of the axis' one there are in it. */
static enum svg_unit
unit_of(const struct counter *counter, double *scale)
{
	static const struct {
		const char *name;
		enum svg_unit unit;
		double scale;
	} units[] = {{"bytes", SVG_BYTES, 1}, {"KiB", SVG_BYTES, 0x1p10},
		{"MiB", SVG_BYTES, 0x1p20}, {"GiB", SVG_BYTES, 0x1p30}, {"ns", SVG_NS, 1},
		{"us", SVG_NS, 1e3}, {"ms", SVG_NS, 1e6}, {"s", SVG_NS, 1e9}};
	*scale = 1;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(counter->unit, units[i].name) != 0)
			continue;
		*scale = units[i].scale;
		return units[i].unit;
	}
	return SVG_COUNT;
}

static void
write_counter(struct page *page, const struct series *series, const struct spans *spans,
	const double *x, size_t index, const char *sync)
{
	const struct counter *counter = &series->counters.items[index];
	bool is_gauge = counter->kind == NB_STAT_GAUGE;
	char y_name[96], title[96];
	double scale;
	enum svg_unit unit = unit_of(counter, &scale);
	snprintf(title, sizeof(title), "%s", counter->name);
	snprintf(y_name, sizeof(y_name), "%s%s",
		unit == SVG_NS                     ? "time"
			: unit == SVG_BYTES        ? "bytes"
			: counter->unit[0] != '\0' ? counter->unit
						   : "level",
		is_gauge ? "" : " per second");
	struct chart chart = {.title = title,
		.what = is_gauge
			? "The level of what the engine tells, over time."
			: "The growth per second of what the engine counts, over time.",
		.y_name = y_name,
		.y_unit = unit,
		.is_small = true,
		.x = x,
		.count = spans->count};
	chart_set_time(&chart, series, sync);
	const double *y = values_of(page, spans, index, is_gauge, scale);
	if (y == NULL)
		return;
	chart_add_line(&chart, y_name, y, !is_gauge);
	page_chart(page, &chart);
}

void
page_counters(struct page *page, const struct record *record, const char *sync)
{
	const struct series *series = &record->run->measured.series;
	struct candidate *chosen;
	if (series->count < 2)
		return;
	size_t count = choose(page, series, &chosen);
	struct spans spans = page_spans(page, series, page->small_points);
	const double *x = spans_x(page, &spans);
	if (count == 0 || x == NULL)
		return;
	fputs("<h4>What the engine counted meanwhile</h4>\n", page->out);
	if (count < series->counters.count)
		fprintf(page->out,
			"<p>Of its %zu figures those that changed most; the totals of all are "
			"below.</p>\n",
			series->counters.count);
	fputs("<div class=\"grid\">\n", page->out);
	for (size_t i = 0; i < count; i++)
		write_counter(page, series, &spans, x, chosen[i].index, sync);
	fputs("</div>\n", page->out);
}
