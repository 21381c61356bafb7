/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency over time: how many operations of each stretch of time took how long, as shades,
 * with median, p99 and maximum as lines.
 *
 * From the histograms of the samples, all kinds of operations together. With a rate these
 * are the response times, which are what somebody waited. Rows are tenths of a decade; the
 * shade is logarithmic in the count, else the few slow operations that one looks for would
 * not be seen. Percentiles of a column come from its merged histogram.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "base/units.h"
#include "report/html.h"

enum { COLUMNS = 160, DECADES = 13, STEPS = 10, ROWS = DECADES * STEPS };

struct heat_map {
	uint64_t *counts; /* ROWS for each column */
	double *begin, *end, *x, *p50, *p99, *max;
	size_t count;
	struct nb_histogram *column; /* that is being summed up */
};

static size_t
row_of(uint64_t ns)
{
	double row = ns > 0 ? floor(log10((double)ns) * STEPS + 1e-9) : 0;
	return row < ROWS ? (size_t)row : ROWS - 1;
}

static bool
has_response(const struct series *series)
{
	for (size_t i = 0; i < series->count; i++)
		for (size_t l = 0; l < series->samples[i].latency_count; l++)
			if (series->samples[i].latencies[l].is_response)
				return true;
	return false;
}

/** A text that is none, as of a file that was changed, is as if it were not there. */
static void
take_sample(struct heat_map *map, const struct sample *sample, bool is_response)
{
	for (size_t l = 0; l < sample->latency_count; l++) {
		const struct sample_latency *it = &sample->latencies[l];
		struct nb_histogram *histogram;
		if (it->hdr == NULL || (it->is_response != 0) != is_response ||
			nb_histogram_decode(&histogram, it->hdr) != NB_OK)
			continue;
		nb_histogram_merge(map->column, histogram);
		nb_histogram_delete(histogram);
	}
}

static double
percentile(const struct nb_histogram *histogram, double percent)
{
	return nb_histogram_supports(histogram, percent, NULL)
		? (double)nb_histogram_percentile(histogram, percent)
		: NAN;
}

static void
add_column(struct heat_map *map, const struct span *span, bool is_response)
{
	size_t at = map->count++;
	uint64_t *counts = &map->counts[at * ROWS];
	nb_histogram_reset(map->column);
	for (size_t i = 0; i < span->count; i++)
		take_sample(map, &span->samples[i], is_response);
	map->begin[at] = span->begin_s;
	map->end[at] = span->end_s;
	map->x[at] = (span->begin_s + span->end_s) / 2;
	map->p50[at] = map->p99[at] = map->max[at] = NAN;
	if (nb_histogram_count(map->column) == 0)
		return;
	map->p50[at] = percentile(map->column, 50);
	map->p99[at] = percentile(map->column, 99);
	map->max[at] = (double)nb_histogram_max(map->column);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t count = histogram_at(map->column, i);
		if (count > 0)
			counts[row_of(histogram_low(i))] += count;
	}
}

static bool
make_map(struct page *page, const struct series *series, struct heat_map *map, bool is_response)
{
	struct spans spans = page_spans(page, series, COLUMNS);
	size_t count = spans.count;
	*map = (struct heat_map){.begin = page_numbers(page, count),
		.end = page_numbers(page, count),
		.x = page_numbers(page, count),
		.p50 = page_numbers(page, count),
		.p99 = page_numbers(page, count),
		.max = page_numbers(page, count),
		.counts = page_room(page, count * ROWS, sizeof(uint64_t))};
	if (page->is_short || count == 0)
		return false;
	if (nb_histogram_new(&map->column) != NB_OK) {
		page->is_short = true;
		return false;
	}
	for (size_t i = 0; i < count; i++)
		add_column(map, &spans.items[i], is_response);
	nb_histogram_delete(map->column);
	return true;
}

/** The rows that hold something, and the highest count of a cell; false: none does. */
static bool
find_rows(const struct heat_map *map, size_t *first, size_t *behind, uint64_t *most)
{
	*first = ROWS;
	*behind = 0;
	*most = 0;
	for (size_t i = 0; i < map->count * ROWS; i++) {
		size_t row = i % ROWS;
		if (map->counts[i] == 0)
			continue;
		*first = row < *first ? row : *first;
		*behind = row + 1 > *behind ? row + 1 : *behind;
		*most = map->counts[i] > *most ? map->counts[i] : *most;
	}
	return *most > 0;
}

static bool
shade(struct page *page, const struct heat_map *map, struct chart_heat *heat)
{
	size_t first, behind;
	uint64_t most;
	if (!find_rows(map, &first, &behind, &most))
		return false;
	size_t rows = behind - first;
	double *bounds = page_numbers(page, rows + 1);
	uint8_t *shades = page_room(page, map->count * rows, 1);
	if (bounds == NULL || shades == NULL)
		return false;
	for (size_t row = 0; row <= rows; row++)
		bounds[row] = pow(10, (double)(first + row) / STEPS);
	for (size_t i = 0; i < map->count * rows; i++) {
		uint64_t count = map->counts[i / rows * ROWS + first + i % rows];
		double share = log1p((double)count) / log1p((double)most);
		if (count > 0)
			shades[i] = (uint8_t)(1 + fmin(share * CHART_SHADES, CHART_SHADES - 1));
	}
	*heat = (struct chart_heat){map->count, rows, map->begin, map->end, bounds, shades};
	return true;
}

void
page_heat(struct page *page, const struct record *record, const char *sync)
{
	const struct series *series = &record->run->measured.series;
	bool is_response = has_response(series);
	struct heat_map map;
	struct chart_heat heat;
	if (!make_map(page, series, &map, is_response) || !shade(page, &map, &heat))
		return;
	struct chart chart = {.title = is_response ? "Response times, of what had a rate"
						   : "Service times of all operations",
		.what = "How many operations took how long, as shades, over the time of the "
			"run; with the median, the 99th percentile and the maximum as lines.",
		.y_name = "latency, logarithmic",
		.y_unit = SVG_NS,
		.is_y_log = true,
		.x = map.x,
		.count = map.count,
		.heat = &heat};
	chart_set_time(&chart, series, sync);
	chart_add_line(&chart, "p50", map.p50, false);
	chart_add_line(&chart, "p99", map.p99, false);
	chart_add_line(&chart, "max", map.max, false);
	fputs("<h3>Latency over time</h3>\n", page->out);
	page_chart(page, &chart);
}
