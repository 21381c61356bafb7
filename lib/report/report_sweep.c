/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sweep of offered rates as a curve: latency over throughput.
 *
 * Response times are shown beside service times, because the difference is the queue. Text
 * has two tables, because a terminal has 80 columns. The knee is the point where the curve
 * turns up. Two simple rules find it, which a reader can check in the table: twice the p99
 * of the lowest rate, or 2 % below the offered rate. Rejected: the curvature of a fitted
 * line, which would depend on the range of the sweep. The lowest rate represents an idle
 * engine: a sweep that begins too high finds its knee too late, or none.
 *
 * Bars are logarithmic, from the least p99 to the greatest, because a curve ranges from
 * microseconds to seconds. If the queue grew, response times grow with the length of the
 * run, which a line below the table explains.
 */
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/report.h"

enum { BAR_MARKS = 20 };

/* Views of the table of a curve. */
enum { RESPONSE = 4, SERVICE = 8, BARS = 16 };

static const double knee_rise = 2, least_achieved = 0.98;

/** The p99 of response at the lowest rate that has one; 0: none. */
static uint64_t
p99_at_ease(const struct nb_curve_point *points, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (points[i].response_p99_ns > 0)
			return points[i].response_p99_ns;
	return 0;
}

static bool
is_behind(const struct nb_curve_point *point)
{
	return point->achieved_ops_s < least_achieved * point->offered_ops_s;
}

size_t
nb_curve_knee(const struct nb_curve_point *points, size_t count)
{
	double limit = knee_rise * (double)p99_at_ease(points, count);
	for (size_t i = 0; i < count; i++)
		if (is_behind(&points[i]) || (double)points[i].response_p99_ns > limit)
			return i;
	return count;
}

/** Format a rate for text: below 100 with its unit. */
static const char *
rate_text(char text[UNITS_SIZE], double ops_s)
{
	if (ops_s >= 100)
		snprintf(text, UNITS_SIZE, "%.0f", ops_s);
	else
		units_format_count(text, UNITS_SIZE, ops_s);
	return text;
}

/* The range of all bars. */
struct scale {
	uint64_t least, greatest; /* ns, both above 0 unless no point has a p99 */
};

static struct scale
scale_of(const struct nb_curve_point *points, size_t count)
{
	struct scale scale = {0, 0};
	for (size_t i = 0; i < count; i++) {
		uint64_t ns = points[i].response_p99_ns;
		if (ns == 0)
			continue;
		if (scale.least == 0 || ns < scale.least)
			scale.least = ns;
		if (ns > scale.greatest)
			scale.greatest = ns;
	}
	return scale;
}

/** The length of a bar: one mark for the least, BAR_MARKS for the greatest. */
static int
bar_marks(uint64_t ns, struct scale scale)
{
	if (ns == 0 || scale.least >= scale.greatest)
		return ns > 0;
	double least = (double)scale.least;
	double share = log((double)ns / least) / log((double)scale.greatest / least);
	return 1 + (int)(share * (BAR_MARKS - 1) + 0.5);
}

static void
add_point(struct doc *doc, const struct nb_curve_point *point, bool is_knee, struct scale scale)
{
	const uint64_t times[] = {point->service_p50_ns, point->service_p99_ns,
		point->service_p999_ns, point->service_p50_ns, point->service_p99_ns,
		point->response_p50_ns, point->response_p99_ns, point->response_p999_ns,
		point->response_max_ns, point->response_p50_ns, point->response_p99_ns,
		point->response_p999_ns, point->response_max_ns};
	char text[UNITS_SIZE];
	doc_row(doc);
	doc_cell_if(doc, point->share > 0, "%.0f%%", point->share * 100);
	doc_cell(doc, "%s", rate_text(text, point->offered_ops_s));
	doc_cell_rate(doc, point->offered_ops_s);
	doc_cell(doc, "%s", rate_text(text, point->achieved_ops_s));
	doc_cell_rate(doc, point->achieved_ops_s);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		doc_cell_ns(doc, (double)times[i]);
	doc_cell(doc, "%.*s", bar_marks(point->response_p99_ns, scale), "####################");
	doc_cell(doc, "%s%s", is_knee ? "knee, " : "",
		point->queue_grew          ? "queue grew"
			: is_behind(point) ? "fell behind"
					   : "kept up");
}

/** Add the points, with the columns that belong to `view`. */
static void
add_points(struct doc *doc, const struct nb_curve_point *points, size_t count, uint32_t view)
{
	enum { MARKDOWN = DOC_MARKDOWN };
	static const struct doc_column columns[] = {{"load", DOC_RIGHT, RESPONSE | MARKDOWN},
		{"offered/s", DOC_RIGHT, RESPONSE | SERVICE},
		{"offered/s", DOC_RIGHT, MARKDOWN}, {"achieved/s", DOC_RIGHT, RESPONSE},
		{"achieved/s", DOC_RIGHT, MARKDOWN}, {"p50", DOC_RIGHT, SERVICE},
		{"p99", DOC_RIGHT, SERVICE}, {"p99.9", DOC_RIGHT, SERVICE},
		{"service p50", DOC_RIGHT, MARKDOWN}, {"service p99", DOC_RIGHT, MARKDOWN},
		{"p50", DOC_RIGHT, RESPONSE}, {"p99", DOC_RIGHT, RESPONSE},
		{"p99.9", DOC_RIGHT, RESPONSE}, {"max", DOC_RIGHT, RESPONSE},
		{"response p50", DOC_RIGHT, MARKDOWN}, {"response p99", DOC_RIGHT, MARKDOWN},
		{"response p99.9", DOC_RIGHT, MARKDOWN}, {"response max", DOC_RIGHT, MARKDOWN},
		{"p99 of response, log", DOC_LEFT, BARS},
		{"state", DOC_LEFT, RESPONSE | MARKDOWN}};
	struct scale scale = scale_of(points, count);
	size_t knee = nb_curve_knee(points, count);
	doc_table(doc, columns, view, 0);
	for (size_t i = 0; i < count; i++)
		add_point(doc, &points[i], i == knee, scale);
}

static void
add_knee(struct doc *doc, const struct nb_curve_point *points, size_t count)
{
	char offered[UNITS_SIZE], achieved[UNITS_SIZE];
	size_t knee = nb_curve_knee(points, count);
	if (knee == count) {
		doc_paragraph(doc, "\nNo knee up to %s/s: raise the load to find one.",
			rate_text(offered, points[count - 1].offered_ops_s));
		return;
	}
	const struct nb_curve_point *point = &points[knee];
	uint64_t ease = p99_at_ease(points, count);
	doc_paragraph(doc, "\nKnee at %s/s: ", rate_text(offered, point->offered_ops_s));
	if (is_behind(point))
		doc_more(doc, "only %s/s were done.",
			rate_text(achieved, point->achieved_ops_s));
	else
		doc_more(doc, "the p99 of response is %s, at the lowest rate it is %s.",
			UNITS_NS(point->response_p99_ns), UNITS_NS(ease));
}

static bool
has_grown_queue(const struct nb_curve_point *points, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (points[i].queue_grew)
			return true;
	return false;
}

static void
add_curve(struct doc *doc, const struct nb_curve_point *points, size_t count, uint32_t flags)
{
	doc_paragraph(doc, "Response time, from when an operation was due");
	add_points(doc, points, count, RESPONSE);
	doc_paragraph(doc, "\nService time, from when it was begun");
	add_points(doc, points, count, (flags & NB_TEXT_BARS) != 0 ? SERVICE | BARS : SERVICE);
	if (count > 0)
		add_knee(doc, points, count);
	if (has_grown_queue(points, count))
		doc_paragraph(doc,
			"Where the queue grew, response times tell how long the run was, and no more.");
}

void
report_curve(struct doc *doc, const struct record_sweep *sweep, uint32_t flags)
{
	doc_paragraph(doc, "\nCapacity: %.0f ops/s, closed loop\n", sweep->capacity_ops_s);
	add_curve(doc, sweep->curve, sweep->curve_count, flags);
	if (sweep->slo_ops_s > 0)
		doc_paragraph(doc,
			"\nHighest rate that held %s: %.0f ops/s, %.0f %% of the capacity",
			sweep->slo, sweep->slo_ops_s,
			100 * sweep->slo_ops_s / sweep->capacity_ops_s);
}

void
report_sweep(struct doc *doc, const struct record *record, bool is_only)
{
	const struct record_sweep *sweep = &record->sweep;
	char title[128], rest[64];
	record_title(record, title, sizeof(title));
	doc_heading(doc, "##", "Sweep%s%s", is_only ? "" : " of ", is_only ? "" : title);
	doc_paragraph(doc, "Capacity: %.0f ops/s, closed loop.", sweep->capacity_ops_s);
	if (sweep->slo_ops_s > 0) {
		snprintf(rest, sizeof(rest), ": %.0f ops/s.", sweep->slo_ops_s);
		doc_more(doc, " Highest rate that held ");
		doc_code(doc, sweep->slo, rest);
	}
	doc_gap(doc);
	add_points(doc, sweep->curve, sweep->curve_count, DOC_MARKDOWN);
}

int
nb_curve_write_text(
	const struct nb_curve_point *points, size_t count, FILE *out, uint32_t flags)
{
	struct doc doc = {0};
	add_curve(&doc, points, count, flags);
	return doc_finish(&doc, NB_OK, DOC_TEXT, out, "cannot write a table");
}
