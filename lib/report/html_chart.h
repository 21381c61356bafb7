/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_HTML_CHART_H
#define REPORT_HTML_CHART_H
/**
 * A chart of a page: drawn as SVG, which needs no script, and beside it the same data as
 * JSON, of which page.js makes one that can be zoomed and read.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/svg.h"

enum { CHART_LINES = 16, CHART_BANDS = 24, CHART_LOOKS = 8, CHART_SHADES = 8 };

/** One y for each x of the chart; NAN is a gap. */
struct chart_line {
	const char *name;
	const double *y;
	bool is_area; /* filled down to the axis */
};

/* What a stretch of x is. */
enum { CHART_WARMUP, CHART_STALL, CHART_KNEE, CHART_BAND_KINDS };

/** A stretch of x that is told apart, or a place on it. */
struct chart_band {
	double from, to;
	const char *name; /* what happened there */
	unsigned kind;    /* CHART_WARMUP, ... */
};

/** How much fell where: shade 0 (nothing) to CHART_SHADES of each column's rows. */
struct chart_heat {
	size_t column_count, row_count;
	const double *begin, *end; /* of columns, on the axis of x */
	const double *bounds;      /* row_count + 1 ascending ones, on the axis of y */
	const uint8_t *shades;     /* column after column */
};

/** Texts and arrays are borrowed while it is written. All 0 is an empty one. */
struct chart {
	const char *title;
	const char *what; /* what it shows, for those who do not see it */
	const char *x_name, *y_name;
	const char *sync; /* charts of one name have one cursor and one zoom; NULL: none */
	enum svg_unit x_unit, y_unit;
	bool is_x_log, is_y_log;
	bool is_small;        /* one of several side by side */
	bool has_marks;       /* a mark at each point */
	double x_low, x_high; /* x_high > x_low: the ends of the axis */
	const double *x;      /* ascending, if it is to be zoomed */
	size_t count;
	struct chart_line lines[CHART_LINES];
	size_t line_count;
	const double *low, *high; /* around the first line; NULL: nothing */
	struct chart_band bands[CHART_BANDS];
	size_t band_count;
	const struct chart_heat *heat; /* below the lines; NULL: none */
};

/** One more, unless there are CHART_LINES. */
void
chart_add_line(struct chart *chart, const char *name, const double *y, bool is_area);

/** Whether it has something to show: a point that is a number. */
bool
chart_has_points(const struct chart *chart);

/** The whole figure; `id` is the page's number of it. */
void
chart_write(const struct chart *chart, unsigned id, FILE *out);

/** Where the values are in the picture (html_chart.c), for drawing and for its tests. */
struct chart_frame {
	double width, height;
	struct svg_scale x, y;
};

struct chart_frame
chart_frame(const struct chart *chart);

/** The data for page.js, within its <script> (html_chart_data.c). */
void
chart_write_data(const struct chart *chart, FILE *out);

#endif /* REPORT_HTML_CHART_H */
