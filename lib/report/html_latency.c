/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latencies by percentile, on HdrHistogram's axis: 1 / (1 - share), logarithmic, so that each
 * further nine takes as much room as the one before. A line ends where fewer than ten values
 * lie beyond, since what is drawn further right is chance.
 *
 * Service and response times are lines of their own, for they answer different questions: how
 * long the engine took, and how long somebody waited who came at a time of his own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/html.h"
#include "report/html_text.h"

enum { STEPS = 12 /* points of a decade */, NAMES = 96 };

static const double told[] = {50, 90, 99, 99.9, 99.99};

enum { TOLD = sizeof(told) / sizeof(*told) };

/** One line of the chart and one row of the table. */
struct latency {
	char name[NAMES];
	const struct nb_histogram *histogram;
};

/* ---- the chart ---- */

/** The axis as far as any of them reaches. */
static size_t
make_axis(struct page *page, const struct latency *latencies, size_t count, double **out)
{
	uint64_t most = 0;
	for (size_t i = 0; i < count; i++)
		if (nb_histogram_count(latencies[i].histogram) > most)
			most = nb_histogram_count(latencies[i].histogram);
	/* ten values beyond: 1 / (1 - share) is a tenth of them */
	size_t points = most < 20 ? 0 : (size_t)(log10((double)most / 10) * STEPS + 1e-9) + 1;
	*out = page_numbers(page, points + 1);
	for (size_t i = 0; *out != NULL && i < points; i++)
		(*out)[i] = pow(10, (double)i / STEPS);
	return *out != NULL ? points : 0;
}

static const double *
values_of(
	struct page *page, const struct nb_histogram *histogram, const double *x, size_t count)
{
	double *y = page_numbers(page, count);
	for (size_t i = 0; y != NULL && i < count; i++) {
		double percent = 100 * (1 - 1 / x[i]);
		y[i] = nb_histogram_supports(histogram, percent, NULL)
			? (double)nb_histogram_percentile(histogram, percent)
			: NAN;
	}
	return y;
}

static void
write_chart(struct page *page, const char *title, const struct latency *latencies, size_t count)
{
	double *x;
	size_t points = make_axis(page, latencies, count, &x);
	struct chart chart = {.title = title,
		.what = "The latency at or below which so many percent of the operations lie, "
			"with a logarithmic axis for the share that lies beyond.",
		.x_name = "percentile",
		.y_name = "latency, logarithmic",
		.x_unit = SVG_PERCENTILE,
		.y_unit = SVG_NS,
		.is_x_log = true,
		.is_y_log = true,
		.x = x,
		.count = points};
	for (size_t i = 0; i < count && points > 0; i++) {
		const double *y = values_of(page, latencies[i].histogram, x, points);
		if (y != NULL)
			chart_add_line(&chart, latencies[i].name, y, false);
	}
	if (!page_chart(page, &chart))
		fputs("<p>There are too few operations to speak of percentiles.</p>\n",
			page->out);
}

/* ---- the table ---- */

static void
write_row(const struct latency *latency, FILE *out)
{
	char text[UNITS_SIZE];
	html_row_begin(out, latency->name);
	snprintf(text, sizeof(text), "%llu",
		(unsigned long long)nb_histogram_count(latency->histogram));
	html_cell(out, true, text);
	for (size_t i = 0; i < TOLD; i++) {
		text[0] = '\0';
		if (nb_histogram_supports(latency->histogram, told[i], NULL))
			units_format_ns(text, sizeof(text),
				(double)nb_histogram_percentile(latency->histogram, told[i]));
		html_cell(out, true, text);
	}
	html_unit_cell(out, SVG_NS, (double)nb_histogram_max(latency->histogram));
	html_row_end(out);
}

static void
write_table(const struct latency *latencies, size_t count, FILE *out)
{
	static const struct html_column columns[] = {{"operation", false}, {"measured", true},
		{"p50", true}, {"p90", true}, {"p99", true}, {"p99.9", true}, {"p99.99", true},
		{"max", true}};
	html_table_begin(out, "Latencies; empty where the samples are too few", columns,
		sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < count; i++)
		write_row(&latencies[i], out);
	html_table_end(out);
}

/* ---- of what ---- */

static void
add(struct latency *latencies, size_t *count, const struct record_group *group,
	const struct record_kind *kind, bool is_response, bool has_groups)
{
	struct latency *it = &latencies[*count];
	it->histogram = is_response ? kind->response : kind->service;
	if (it->histogram == NULL || nb_histogram_count(it->histogram) == 0)
		return;
	snprintf(it->name, sizeof(it->name), "%s%s%s%s", has_groups ? group->name : "",
		has_groups ? ": " : "", kind->name, is_response ? ", response" : ", service");
	(*count)++;
}

void
page_latency(struct page *page, const struct record *record)
{
	struct record_group *groups = page_room(page, NB_GROUPS_MAX, sizeof(*groups));
	if (groups == NULL)
		return;
	size_t group_count = record_groups(record, groups), count = 0, most = 0;
	for (size_t g = 0; g < group_count; g++)
		most += 2 * groups[g].kind_count;
	struct latency *latencies = page_room(page, most + 1, sizeof(*latencies));
	if (latencies == NULL)
		return;
	for (size_t g = 0; g < group_count; g++) {
		const struct record_group *group = &groups[g];
		for (size_t k = 0; k < group->kind_count; k++) {
			add(latencies, &count, group, &group->kinds[k], false, group_count > 1);
			add(latencies, &count, group, &group->kinds[k], true, group_count > 1);
		}
	}
	fputs("<h3>Latency by percentile</h3>\n", page->out);
	write_chart(page, "Each kind of operation", latencies, count);
	if (count > CHART_LINES)
		fprintf(page->out, "<p>The first %d of %zu are drawn.</p>\n", CHART_LINES,
			count);
	write_table(latencies, count, page->out);
}

static void
compare(struct page *page, const char *title, bool is_response)
{
	const struct nb_results *results = page->results;
	struct latency *latencies = page_room(page, results->count + 1, sizeof(*latencies));
	size_t count = 0;
	for (size_t i = 0; latencies != NULL && i < results->count; i++) {
		const struct record *record = &results->records[i];
		if (record->run == NULL || !page_shows(page, record) ||
			(is_response && !page_has_response(record)))
			continue;
		latencies[count].histogram = record_latency(record, is_response);
		page_title(results, i, latencies[count++].name, NAMES);
	}
	if (count > 1)
		write_chart(page, title, latencies, count);
	if (count > CHART_LINES)
		fprintf(page->out, "<p>The first %d of %zu are drawn.</p>\n", CHART_LINES,
			count);
}

void
page_compare_latency(struct page *page)
{
	compare(page, "Service times of all operations, by percentile", false);
	compare(page, "Response times of what had a rate, by percentile", true);
}
