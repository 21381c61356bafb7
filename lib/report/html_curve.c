/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency over throughput: what a sweep found. The axis is what was achieved, not what was
 * offered: where more was offered than can be done the curve goes up and not to the right.
 * The knee is nb_curve_knee()'s. Of several sweeps each has a chart of its own.
 */
#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "report/html.h"
#include "report/html_text.h"

static double
or_gap(uint64_t ns)
{
	return ns > 0 ? (double)ns : NAN;
}

static void
write_chart(struct page *page, const struct record_sweep *sweep, const char *title, size_t knee)
{
	size_t count = sweep->curve_count;
	double *x = page_numbers(page, count), *service = page_numbers(page, count);
	double *p50 = page_numbers(page, count), *p99 = page_numbers(page, count);
	double *p999 = page_numbers(page, count);
	if (page->is_short)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct nb_curve_point *point = &sweep->curve[i];
		x[i] = point->achieved_ops_s;
		service[i] = or_gap(point->service_p99_ns);
		p50[i] = or_gap(point->response_p50_ns);
		p99[i] = or_gap(point->response_p99_ns);
		p999[i] = or_gap(point->response_p999_ns);
	}
	struct chart chart = {.title = title,
		.what = "Latency at each rate that was achieved, with the knee marked: the "
			"first "
			"rate whose p99 of response is above twice that of the lowest rate, or "
			"that "
			"was not achieved.",
		.x_name = "operations/s achieved",
		.y_name = "latency, logarithmic",
		.x_unit = SVG_COUNT,
		.y_unit = SVG_NS,
		.is_y_log = true,
		.has_marks = true,
		.x = x,
		.count = count};
	chart_add_line(&chart, "p50 of response", p50, false);
	chart_add_line(&chart, "p99 of response", p99, false);
	chart_add_line(&chart, "p99.9 of response", p999, false);
	chart_add_line(&chart, "p99 of service", service, false);
	if (knee < count)
		chart.bands[chart.band_count++] = (struct chart_band){
			x[knee], x[knee], "knee", CHART_KNEE};
	page_chart(page, &chart);
}

static void
write_knee(const struct record_sweep *sweep, size_t knee, FILE *out)
{
	char capacity[UNITS_SIZE], text[UNITS_SIZE];
	fputs("<p>", out);
	if (sweep->capacity_ops_s > 0) {
		units_format_count(capacity, sizeof(capacity), sweep->capacity_ops_s);
		html_say(out, "Capacity in a closed loop: %s ops/s. ", capacity);
	}
	if (knee < sweep->curve_count) {
		const struct nb_curve_point *point = &sweep->curve[knee];
		units_format_count(text, sizeof(text), point->offered_ops_s);
		html_say(out, "The knee is at %s ops/s offered", text);
		if (point->share > 0)
			html_say(out, ", %.0f %% of the capacity", 100 * point->share);
		fputs(".", out);
	} else {
		fputs("There is no knee: a higher load may find one.", out);
	}
	if (sweep->slo[0] != '\0') {
		units_format_count(text, sizeof(text), sweep->slo_ops_s);
		if (sweep->slo_ops_s > 0)
			html_say(out, " The highest rate that held %s: %s ops/s.", sweep->slo,
				text);
		else
			html_say(out, " No rate that was tried held %s.", sweep->slo);
	}
	fputs("</p>\n", out);
}

static void
write_table(const struct record_sweep *sweep, size_t knee, FILE *out)
{
	static const struct html_column columns[] = {{"offered/s", false}, {"achieved/s", true},
		{"service p50", true}, {"p99", true}, {"p99.9", true}, {"response p50", true},
		{"p99", true}, {"p99.9", true}, {"max", true}, {"state", false}};
	html_table_begin(
		out, "Points of the curve", columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < sweep->curve_count; i++) {
		const struct nb_curve_point *point = &sweep->curve[i];
		char offered[UNITS_SIZE];
		units_format_count(offered, sizeof(offered), point->offered_ops_s);
		html_row_begin(out, offered);
		html_unit_cell(out, SVG_COUNT, point->achieved_ops_s);
		html_unit_cell(out, SVG_NS, (double)point->service_p50_ns);
		html_unit_cell(out, SVG_NS, (double)point->service_p99_ns);
		html_unit_cell(out, SVG_NS, (double)point->service_p999_ns);
		html_unit_cell(out, SVG_NS, (double)point->response_p50_ns);
		html_unit_cell(out, SVG_NS, (double)point->response_p99_ns);
		html_unit_cell(out, SVG_NS, (double)point->response_p999_ns);
		html_unit_cell(out, SVG_NS, (double)point->response_max_ns);
		html_cell(out, false,
			point->queue_grew   ? i == knee ? "knee, queue grew" : "queue grew"
				: i == knee ? "knee"
					    : "kept up");
		html_row_end(out);
	}
	html_table_end(out);
}

/** Named only where there are several. */
static void
write_curve(struct page *page, const struct record *record, bool is_only)
{
	static const char what[] = "Latency over throughput";
	enum { TITLE = 192 };
	const struct record_sweep *sweep = &record->sweep;
	size_t knee = nb_curve_knee(sweep->curve, sweep->curve_count);
	char *title = page_room(page, TITLE, 1), name[128];
	if (title == NULL)
		return;
	page_title(
		page->results, (size_t)(record - page->results->records), name, sizeof(name));
	snprintf(title, TITLE, "%s%s%s", what, is_only ? "" : ": ", is_only ? "" : name);
	if (!is_only) {
		fputs("<h3>", page->out);
		html_text(page->out, name);
		fputs("</h3>\n", page->out);
	}
	write_knee(sweep, knee, page->out);
	write_chart(page, sweep, title, knee);
	write_table(sweep, knee, page->out);
}

void
page_curve(struct page *page)
{
	const struct nb_results *results = page->results;
	size_t sweeps = results_sweeps(results);
	if (sweeps == 0)
		return;
	fputs("<section id=\"curve\"><h2>Latency over throughput</h2>\n", page->out);
	for (size_t i = 0; i < results->count; i++)
		if (results->records[i].sweep.curve_count > 0)
			write_curve(page, &results->records[i], sweeps == 1);
	fputs("</section>\n", page->out);
}
