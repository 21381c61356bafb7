/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H
/**
 * The parts of a page, each a file html_*.c. A part writes nothing where there is nothing to
 * tell; what should be there and is not known, it says.
 */
#include <stdbool.h>
#include <stdio.h>

#include "report/html_chart.h"
#include "report/record.h"

struct page_memory;

/** A page as it is written. */
struct page {
	const struct nb_results *results; /* that are shown: of vs those of results_pick() */
	const struct nb_results *all;
	const char *action; /* of the phase that is shown side by side; NULL: of all */
	FILE *out;
	unsigned charts;                  /* so far; their numbers */
	size_t wide_points, small_points; /* of a line over time, at most */
	struct page_memory *memory;       /* lives as long as the page */
	bool is_short;                    /* memory did not reach: the page is no good */
};

/** Zeroed, freed with the page; NULL if memory does not reach, which is kept in mind. */
void *
page_room(struct page *page, size_t count, size_t size);

double *
page_numbers(struct page *page, size_t count);

/**
 * What the index-th result is called: record_title(), with its action where the results have
 * several, with its plugin where that alone tells it from another, and which repetition of a
 * comparison it is.
 */
void
page_title(const struct nb_results *results, size_t index, char *text, size_t size);

/** Whether a group of it had a rate, so that there are response times. */
bool
page_has_response(const struct record *record);

/** Write it if it has points; whether it had. */
bool
page_chart(struct page *page, const struct chart *chart);

/* ---- tables (html_table.c) ---- */

struct html_column {
	const char *title;
	bool is_number;
};

void
html_table_begin(
	FILE *out, const char *caption, const struct html_column *columns, size_t count);

/** A row, with what it is of. */
void
html_row_begin(FILE *out, const char *name);

/** The next cell; NULL stands for "not known". */
void
html_cell(FILE *out, bool is_number, const char *text);

void
html_row_end(FILE *out);

void
html_table_end(FILE *out);

/** A row of a name and a text; nothing if the text is empty. */
void
html_fact(FILE *out, const char *name, const char *fmt, ...) NB_PRINTF(3, 4);

/** A cell with a time, a count or a number of bytes; empty for 0. */
void
html_unit_cell(FILE *out, enum svg_unit unit, double value);

/* ---- stretches of a series (html_spans.c) ---- */

/** Some samples of one phase that stand next to each other, or a gap between two phases. */
struct span {
	double begin_s, end_s;
	const struct sample *samples;
	size_t count; /* 0: a gap */
	uint64_t ops, behind_ops, threads;
	struct system_counts used;
	struct system_levels levels; /* at its end; of memory the highest */
};

struct spans {
	struct span *items;
	size_t count;
	double end_s;
};

/** At most `wanted` of them and the gaps; empty if there are no samples. */
struct spans
page_spans(struct page *page, const struct series *series, size_t wanted);

static inline double
span_s(const struct span *span)
{
	return span->end_s - span->begin_s;
}

/** The middles of spans, as the x of a chart. NULL: memory. */
const double *
spans_x(struct page *page, const struct spans *spans);

/** When the series ends, in seconds. */
double
series_end_s(const struct series *series);

/** Into a chart over time: its x from 0 to the end of the series, what is its warm-up. */
void
chart_set_time(struct chart *chart, const struct series *series, const char *sync);

/* ---- the parts ---- */

/** Why the numbers may be wrong, and what came out in words. */
void
page_head(struct page *page);

/** The comparison of vs; nothing of all else (html_versus.c). */
void
page_versus(struct page *page);

/** Results side by side, phase by phase (html_compare.c). */
void
page_compare(struct page *page);

/** Latency over throughput (html_curve.c). */
void
page_curve(struct page *page);

/** What each group of a job was asked to do, and did (html_groups.c). */
void
page_groups(struct page *page, const struct record *record);

/** Throughput over time, stalls (html_time.c); the engine's counters (html_counters.c). */
void
page_throughput(struct page *page, const struct record *record, const char *sync);
void
page_counters(struct page *page, const struct record *record, const char *sync);

/** Percentiles (html_latency.c) and latency over time (html_heat.c). */
void
page_latency(struct page *page, const struct record *record);
void
page_heat(struct page *page, const struct record *record, const char *sync);

/** Percentiles of all results in one chart, if there is more than one (html_latency.c). */
void
page_compare_latency(struct page *page);

/** CPU, memory, bytes (html_resources.c); amplification, residency (html_layers.c). */
void
page_resources(struct page *page, const struct record *record, const char *sync);
void
page_layers(struct page *page, const struct record *record);

/** Threads and hiccups (html_threads.c). */
void
page_threads(struct page *page, const struct record *record);

/** Of one result: engine, options, counters, machine; of all: command, job (html_conditions.c). */
void
page_conditions(struct page *page, const struct record *record);
void
page_command(struct page *page);

/** Whether the record belongs to the phase that is shown; what has no result, to the first. */
bool
page_shows(const struct page *page, const struct record *record);

/** Whether several results of that phase cannot be ranked: another durability or stream. */
bool
page_differs(const struct page *page, bool is_by_stream);

/* ---- what is built in (page.py) ---- */

struct page_file {
	const char *name;
	const char *text; /* not ended by NUL */
	size_t size;
};

/** page.css, page.js, and uPlot; ended by a NULL name. */
extern const struct page_file page_files[];

#endif /* REPORT_HTML_H */
