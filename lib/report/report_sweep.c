/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sweep of offered rates as a curve: latency over throughput.
 *
 * Service stands below response, since what is between them is the queue: two tables, as
 * a terminal has 80 columns. The
 * knee is where the curve turns up. It is found by two plain rules that a reader can
 * check by eye in the table (twice the p99 of the lowest rate; 2 % behind what was
 * offered) and not by the curvature of a fitted line, which depends on how far the sweep
 * went. The lowest rate stands for an engine at ease: a sweep that begins too high finds
 * its knee too late, or none.
 *
 * Bars are logarithmic, from the least p99 to the greatest: along a curve they go from
 * microseconds to seconds. Where the queue grew, response times grow with the length of
 * the run, which is said below the table.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/table.h"
#include "base/units.h"

#include <mininb/result.h>

enum { RESPONSE_COLUMNS = 8, SERVICE_COLUMNS = 5, CELL_SIZE = 64, BAR_MARKS = 20 };

static const double knee_rise = 2, least_achieved = 0.98;

/** The p99 of response of the lowest rate that has one; 0 if none has. */
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

static void
format_ns(char *cell, uint64_t ns)
{
	cell[0] = '\0';
	if (ns > 0)
		units_format_ns(cell, CELL_SIZE, (double)ns);
}

static void
format_rate(char *cell, double ops_s)
{
	if (ops_s >= 100)
		snprintf(cell, CELL_SIZE, "%.0f", ops_s);
	else
		units_format_count(cell, CELL_SIZE, ops_s);
}

static void
format_share(char *cell, double share)
{
	cell[0] = '\0';
	if (share > 0)
		snprintf(cell, CELL_SIZE, "%.0f%%", share * 100);
}

/* What all bars are drawn to. */
struct scale {
	uint64_t least, greatest; /* ns, both above 0 if there is any */
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

/** One mark for the least, BAR_MARKS for the greatest. */
static void
format_bar(char *cell, uint64_t ns, struct scale scale)
{
	int marks = ns > 0;
	if (ns > 0 && scale.least < scale.greatest) {
		double least = (double)scale.least;
		double share = log((double)ns / least) / log((double)scale.greatest / least);
		marks += (int)(share * (BAR_MARKS - 1) + 0.5);
	}
	snprintf(cell, CELL_SIZE, "%.*s", marks, "####################");
}

/** How it went at that rate, by response times. */
static int
add_response(struct table *table, const struct nb_curve_point *point, bool is_knee)
{
	char cells[RESPONSE_COLUMNS][CELL_SIZE] = {{0}};
	const uint64_t times[] = {point->response_p50_ns, point->response_p99_ns,
		point->response_p999_ns, point->response_max_ns};
	const char *row[RESPONSE_COLUMNS];
	format_share(cells[0], point->share);
	format_rate(cells[1], point->offered_ops_s);
	format_rate(cells[2], point->achieved_ops_s);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		format_ns(cells[3 + i], times[i]);
	snprintf(cells[7], CELL_SIZE, "%s%s", is_knee ? "knee, " : "",
		point->queue_grew          ? "queue grew"
			: is_behind(point) ? "fell behind"
					   : "kept up");
	for (size_t i = 0; i < RESPONSE_COLUMNS; i++)
		row[i] = cells[i];
	return table_add(table, row);
}

static int
write_response(const struct nb_curve_point *points, size_t count, size_t knee, FILE *out)
{
	static const struct table_column columns[RESPONSE_COLUMNS] = {{"load", true},
		{"offered/s", true}, {"achieved/s", true}, {"p50", true}, {"p99", true},
		{"p99.9", true}, {"max", true}, {"state", false}};
	struct table table;
	table_create(&table, columns, RESPONSE_COLUMNS);
	int rc = NB_OK;
	for (size_t i = 0; rc == NB_OK && i < count; i++)
		rc = add_response(&table, &points[i], i == knee);
	fputs("Response time, from when an operation was due\n", out);
	if (rc == NB_OK)
		rc = table_write(&table, out);
	table_destroy(&table);
	return rc;
}

static int
add_service(struct table *table, const struct nb_curve_point *point, const struct scale *bars)
{
	char cells[SERVICE_COLUMNS][CELL_SIZE] = {{0}};
	const char *row[SERVICE_COLUMNS];
	format_rate(cells[0], point->offered_ops_s);
	format_ns(cells[1], point->service_p50_ns);
	format_ns(cells[2], point->service_p99_ns);
	format_ns(cells[3], point->service_p999_ns);
	format_bar(cells[4], point->response_p99_ns, *bars);
	for (size_t i = 0; i < SERVICE_COLUMNS; i++)
		row[i] = cells[i];
	return table_add(table, row);
}

static int
write_service(const struct nb_curve_point *points, size_t count, FILE *out, bool has_bars)
{
	static const struct table_column columns[SERVICE_COLUMNS] = {{"offered/s", true},
		{"p50", true}, {"p99", true}, {"p99.9", true}, {"p99 of response, log", false}};
	struct scale scale = scale_of(points, count);
	struct table table;
	table_create(&table, columns, SERVICE_COLUMNS - !has_bars);
	int rc = NB_OK;
	for (size_t i = 0; rc == NB_OK && i < count; i++)
		rc = add_service(&table, &points[i], &scale);
	fputs("\nService time, from when it was begun\n", out);
	if (rc == NB_OK)
		rc = table_write(&table, out);
	table_destroy(&table);
	return rc;
}

static void
write_knee(const struct nb_curve_point *points, size_t count, size_t knee, FILE *out)
{
	char offered[CELL_SIZE], achieved[CELL_SIZE], p99[CELL_SIZE], ease[CELL_SIZE];
	format_ns(ease, p99_at_ease(points, count));
	format_rate(offered, points[knee < count ? knee : count - 1].offered_ops_s);
	if (knee == count) {
		fprintf(out, "\nNo knee up to %s/s: raise the load to find one.\n", offered);
		return;
	}
	const struct nb_curve_point *point = &points[knee];
	format_rate(achieved, point->achieved_ops_s);
	format_ns(p99, point->response_p99_ns);
	if (is_behind(point))
		fprintf(out, "\nKnee at %s/s: only %s/s were done.\n", offered, achieved);
	else
		fprintf(out,
			"\nKnee at %s/s: the p99 of response is %s, at the lowest rate it is "
			"%s.\n",
			offered, p99, ease);
}

static bool
has_grown_queue(const struct nb_curve_point *points, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (points[i].queue_grew)
			return true;
	return false;
}

int
nb_curve_write_text(
	const struct nb_curve_point *points, size_t count, FILE *out, uint32_t flags)
{
	size_t knee = nb_curve_knee(points, count);
	int rc = write_response(points, count, knee, out);
	if (rc == NB_OK)
		rc = write_service(points, count, out, (flags & NB_TEXT_BARS) != 0);
	if (rc != NB_OK)
		return rc;
	if (count > 0)
		write_knee(points, count, knee, out);
	if (has_grown_queue(points, count))
		fputs("Where the queue grew, response times tell how long the run was, and no "
		      "more.\n",
			out);
	if (fflush(out) != 0 || ferror(out))
		return error_system("the table cannot be written");
	return NB_OK;
}
