/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A comparison as text and as Markdown: the reasons against it, the verdicts in words, and
 * a table for each sample compared with the first.
 *
 * Bars show the interval of each ratio around 1 on a logarithmic axis, so half and twice
 * are equally far from the middle. All bars of a table have the same axis.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/compare.h"
#include "report/report.h"

enum { CELL_SIZE = COMPARE_CELL, COLUMNS = COMPARE_COLUMNS, NAME_MAX = 12, BAR_HALF = 5 };

enum { BARS = 4 }; /* view of a table with bars */

/* ---- cells ---- */

static void
format_value(char *cell, const struct compare_metric *metric, double value)
{
	if (value <= 0)
		cell[0] = '\0';
	else if (metric->row->unit == METRIC_NS)
		snprintf(cell, CELL_SIZE, "%.*f", value < 100000 ? 2 : 0, value / 1000);
	else
		snprintf(cell, CELL_SIZE, "%.*f", value < 100 ? 1 : 0, value);
}

/** Format with at least three digits. */
static void
format_ratio(char *text, size_t size, double ratio)
{
	snprintf(text, size, "%.*f",
		ratio < 0.1           ? 4
			: ratio < 10  ? 3
			: ratio < 100 ? 1
				      : 0,
		ratio);
}

static void
format_pair(char cells[COLUMNS][CELL_SIZE], const struct compare_pair *pair)
{
	char low[24], high[24];
	if (pair->verdict == COMPARE_ABSENT)
		return;
	format_ratio(cells[3], CELL_SIZE, pair->ratio.ratio);
	if (pair->verdict == COMPARE_ONE_RUN)
		return;
	format_ratio(low, sizeof(low), pair->ratio.low);
	format_ratio(high, sizeof(high), pair->ratio.high);
	snprintf(cells[4], CELL_SIZE, "%s..%s", low, high);
	if (pair->test.p < 0.001)
		snprintf(cells[5], CELL_SIZE, "<0.001");
	else
		snprintf(cells[5], CELL_SIZE, "%.2g", pair->test.p);
}

/** The end of the axis of a table's bars, as |log ratio|; 0: no bars. */
static double
axis_end(const struct compare_work *work, size_t sample)
{
	double end = 0;
	for (size_t m = 0; m < work->metric_count; m++) {
		const struct compare_pair *pair = &work->metrics[m].pairs[sample];
		if (pair->verdict > COMPARE_ONE_RUN)
			end = fmax(end,
				fmax(fabs(log(pair->ratio.low)), fabs(log(pair->ratio.high))));
	}
	return end;
}

/**
 * The position of a ratio in a bar. A ratio beyond the axis is at its end; so are 0 and
 * infinity. This can happen because an interval of low confidence need not contain the
 * ratio.
 */
static int
bar_place(double ratio, double end)
{
	double share = log(ratio) / end;
	if (isnan(share))
		share = ratio > 1 ? 1 : -1;
	return BAR_HALF + (int)lround(fmax(-1, fmin(1, share)) * BAR_HALF);
}

/** Format a bar: "  --#-|". */
static void
format_bar(char *cell, const struct compare_pair *pair, double end)
{
	if (end <= 0 || pair->verdict <= COMPARE_ONE_RUN)
		return;
	int from = bar_place(pair->ratio.low, end), to = bar_place(pair->ratio.high, end);
	memset(cell, ' ', 2 * BAR_HALF + 1);
	cell[2 * BAR_HALF + 1] = '\0';
	memset(cell + from, '-', (size_t)(to - from) + 1);
	cell[BAR_HALF] = '|';
	cell[bar_place(pair->ratio.ratio, end)] = '#';
	for (size_t length = strlen(cell); length > 0 && cell[length - 1] == ' ';)
		cell[--length] = '\0';
}

/**
 * Format "p99 us", or below a kind's heading "  p99 us"; append n if it differs from the
 * sample's.
 */
static void
format_name(char *cell, const struct compare_work *work, const struct compare_metric *metric,
	size_t sample)
{
	bool is_time = metric->row->unit == METRIC_NS;
	int used = snprintf(cell, CELL_SIZE, "%s%s %s", metric->kind[0] != '\0' ? "  " : "",
		metric->row->figure.name, is_time ? "us" : metric_unit_name(metric->row->unit));
	size_t first = metric->of[0].count, other = metric->of[sample].count;
	if (first != work->samples[0].runs || other != work->samples[sample].runs)
		snprintf(
			cell + used, (size_t)(CELL_SIZE - used), " (n %zu, %zu)", first, other);
}

void
compare_row(char cells[COLUMNS][CELL_SIZE], const struct compare_work *work,
	const struct compare_metric *metric, size_t sample)
{
	format_name(cells[0], work, metric, sample);
	format_value(cells[1], metric, metric->of[0].median);
	format_value(cells[2], metric, metric->of[sample].median);
	format_pair(cells, &metric->pairs[sample]);
}

/* ---- tables ---- */

/** Add the rows of a begun table. */
static void
add_rows(struct doc *doc, const struct compare_work *work, size_t sample)
{
	const char *kind = "";
	double end = axis_end(work, sample);
	for (size_t m = 0; m < work->metric_count; m++) {
		const struct compare_metric *metric = &work->metrics[m];
		char cells[COLUMNS][CELL_SIZE] = {{0}};
		if (metric->of[0].count == 0 && metric->of[sample].count == 0)
			continue;
		if (strcmp(kind, metric->kind) != 0) {
			doc_row(doc);
			doc_cell(doc, "%s", metric->kind);
			kind = metric->kind;
		}
		compare_row(cells, work, metric, sample);
		format_bar(cells[6], &metric->pairs[sample], end);
		doc_row(doc);
		for (size_t i = 0; i < COLUMNS; i++)
			doc_cell(doc, "%s", cells[i]);
	}
}

static void
add_heading(struct doc *doc, const struct compare_work *work, size_t sample, bool has_letters)
{
	const struct compare_sample *first = &work->samples[0], *other = &work->samples[sample];
	doc_gap(doc);
	doc_wrapped(doc, "### ", "%s: %s%s (%zu run%s) against %s%s (%zu run%s), %s times",
		work->title, has_letters ? "B = " : "", other->name, other->runs,
		other->runs == 1 ? "" : "s", has_letters ? "A = " : "", first->name,
		first->runs, first->runs == 1 ? "" : "s",
		work->is_response ? "response" : "service");
}

/** Add a table. In text, long names are printed above it and replaced by letters in it. */
static void
add_table(struct doc *doc, const struct nb_comparison *comparison,
	const struct compare_work *work, size_t sample, uint32_t view)
{
	char interval[32];
	const char *first = work->samples[0].name, *other = work->samples[sample].name;
	bool has_letters = (view & DOC_TEXT) != 0 &&
		(strlen(first) > NAME_MAX || strlen(other) > NAME_MAX);
	snprintf(interval, sizeof(interval), "%g %% CI", 100 * comparison->confidence);
	const struct doc_column columns[COLUMNS] = {{"", DOC_LEFT, 0},
		{has_letters ? "A" : first, DOC_RIGHT, 0},
		{has_letters ? "B" : other, DOC_RIGHT, 0}, {"ratio", DOC_RIGHT, 0},
		{interval, DOC_RIGHT, 0}, {"p", DOC_RIGHT, 0}, {"against 1", DOC_LEFT, BARS}};
	add_heading(doc, work, sample, has_letters);
	doc_show(doc, DOC_MARKDOWN);
	doc_gap(doc);
	doc_show(doc, 0);
	doc_table(doc, columns, view, DOC_PLAIN);
	add_rows(doc, work, sample);
	if (work->unsupported[0] == '\0')
		return;
	doc_show(doc, DOC_MARKDOWN);
	doc_gap(doc);
	doc_show(doc, 0);
	doc_paragraph(doc, "Too few operations for %s.", work->unsupported);
}

/* ---- the document ---- */

void
report_comparison_head(struct doc *doc, const struct nb_comparison *comparison)
{
	const struct compare_texts *differences = &comparison->differences,
				   *warnings = &comparison->warnings;
	for (size_t i = 0; i < differences->count; i++)
		doc_wrapped(doc, "- ", "NOT COMPARABLE: %s", differences->items[i]);
	for (size_t i = 0; i < warnings->count; i++)
		doc_wrapped(doc, "- ", "Note: %s", warnings->items[i]);
	if (differences->count + warnings->count > 0)
		doc_gap(doc);
}

static int
add_verdicts(struct doc *doc, const struct nb_comparison *comparison)
{
	for (size_t w = 0; w < comparison->work_count && !comparison->is_unranked; w++) {
		const struct compare_work *work = &comparison->works[w];
		for (size_t s = 1; s < work->sample_count; s++) {
			char *verdict;
			int rc = compare_verdict(&verdict, comparison, work, s);
			if (rc != NB_OK)
				return rc;
			doc_wrapped(doc, "- ", "%s", verdict);
			free(verdict);
		}
	}
	return NB_OK;
}

static void
add_foot(struct doc *doc, const struct nb_comparison *comparison, bool has_bars)
{
	doc_gap(doc);
	doc_wrapped(doc, "",
		"Values are medians over the runs; a percentile is each run's own. The ratio is the median over all pairs of runs (Hodges and Lehmann); p is of Mann and Whitney's test. Lines are not corrected for each other: of %.0f without a difference, one seems to have one.",
		1 / (1 - comparison->confidence));
	if (has_bars)
		doc_wrapped(doc, "",
			"Bars: ratio (#) and its interval (-) against 1 (|), to the right if the value is larger, on a logarithmic axis as long as the widest interval.");
}

int
report_comparison(struct doc *doc, const struct nb_comparison *comparison, uint32_t rendering,
	bool has_bars)
{
	report_comparison_head(doc, comparison);
	int rc = add_verdicts(doc, comparison);
	for (size_t w = 0; w < comparison->work_count; w++)
		for (size_t s = 1; s < comparison->works[w].sample_count; s++)
			add_table(doc, comparison, &comparison->works[w], s,
				has_bars ? rendering | BARS : rendering);
	add_foot(doc, comparison, has_bars);
	return rc;
}

static int
write_comparison(
	const struct nb_comparison *comparison, uint32_t rendering, FILE *out, uint32_t flags)
{
	struct doc doc = {0};
	bool has_bars = rendering == DOC_TEXT && (flags & NB_TEXT_BARS) != 0;
	int rc = report_comparison(&doc, comparison, rendering, has_bars);
	return doc_finish(&doc, rc, rendering, out, "the comparison cannot be written");
}

int
nb_comparison_write(
	const struct nb_comparison *comparison, const char *format, FILE *out, uint32_t flags)
{
	if (strcmp(format, "text") == 0)
		return write_comparison(comparison, DOC_TEXT, out, flags);
	if (strcmp(format, "md") == 0)
		return write_comparison(comparison, DOC_MARKDOWN, out, flags);
	if (strcmp(format, "table") == 0)
		return compare_write_table(comparison, out);
	if (strcmp(format, "json") != 0)
		return error_set(NB_ERR_USAGE,
			"'%s' is not a format of comparisons; use text, md, table or json",
			format);
	int rc = compare_write_json(comparison, out);
	if (rc == NB_OK && (fflush(out) != 0 || ferror(out)))
		rc = error_system("the comparison cannot be written");
	return rc;
}
