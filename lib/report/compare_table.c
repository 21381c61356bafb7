/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A comparison as one table: a row for each sample of each work, a column for each figure
 * that verdicts contain. In each column, the best median of a work has a mark.
 *
 * The mark depends on the medians only; significance is shown by the interval beside it. If
 * the samples cannot be ranked, no value has a mark.
 */
#include <stdlib.h>
#include <string.h>

#include "report/compare.h"
#include "report/report.h"

enum { FIGURES_MAX = 8, COLUMNS_MAX = 3 + FIGURES_MAX + 3 };

/** The figures of all operations that verdicts contain, rates first, as in the works. */
struct figures {
	const struct metric *rows[FIGURES_MAX];
	char titles[FIGURES_MAX][32];
	size_t count;
};

static void
find_figures(struct figures *figures)
{
	figures->count = 0;
	for (int are_times = 0; are_times <= 1; are_times++)
		for (const struct metric *row = metric_table; row->name != NULL; row++) {
			if (!row->figure.is_headline || figures->count == FIGURES_MAX ||
				(row->unit == METRIC_NS) != are_times)
				continue;
			snprintf(figures->titles[figures->count], sizeof(figures->titles[0]),
				"%s %s", row->figure.name,
				are_times ? "us" : metric_unit_name(row->unit));
			figures->rows[figures->count++] = row;
		}
}

/** Find the metric for all operations; NULL: no sample of the work has it. */
static const struct compare_metric *
find_metric(const struct compare_work *work, const struct metric *row)
{
	for (size_t m = 0; m < work->metric_count; m++)
		if (work->metrics[m].row == row && work->metrics[m].op_kind == NB_OP_KINDS)
			return &work->metrics[m];
	return NULL;
}

/** The sample with the best median; SIZE_MAX: fewer than two samples have values. */
static size_t
find_best(const struct compare_work *work, const struct compare_metric *metric)
{
	size_t best = SIZE_MAX, known = 0;
	for (size_t s = 0; s < work->sample_count; s++) {
		if (metric->of[s].count == 0)
			continue;
		known++;
		if (best == SIZE_MAX ||
			(metric->of[s].median > metric->of[best].median) ==
				metric->row->figure.is_higher_better)
			best = s;
	}
	return known > 1 ? best : SIZE_MAX;
}

/**
 * Add the interval of a throughput's median, with its confidence if that is less than
 * requested.
 */
static void
add_interval(struct doc *doc, const struct compare_metric *metric, size_t sample, double wanted)
{
	const struct compare_values *values = metric != NULL ? &metric->of[sample] : NULL;
	double low, high;
	if (values == NULL || values->count < 2) {
		doc_cell(doc, "%s", "");
		return;
	}
	double is = stats_median_interval(&low, &high, values->values, values->count, wanted);
	if (is < wanted)
		doc_cell(doc, "%.0f..%.0f (%.3g %%)", low, high, 100 * is);
	else
		doc_cell(doc, "%.0f..%.0f", low, high);
}

/** Add a row. The ratio and its interval follow the first figure, the throughput. */
static void
add_sample(struct doc *doc, const struct nb_comparison *comparison,
	const struct compare_work *work, size_t sample, const struct figures *figures)
{
	doc_row(doc);
	doc_cell(doc, "%s", work->title);
	doc_cell(doc, "%s", work->samples[sample].name);
	doc_cell(doc, "%zu", work->samples[sample].runs);
	for (size_t f = 0; f < figures->count; f++) {
		char cells[COMPARE_COLUMNS][COMPARE_CELL] = {{0}};
		const struct compare_metric *metric = find_metric(work, figures->rows[f]);
		if (metric != NULL)
			compare_row(cells, work, metric, sample);
		bool is_best = metric != NULL && !comparison->is_unranked &&
			find_best(work, metric) == sample;
		doc_cell(doc, "%s%s", is_best ? "*" : "", cells[2]);
		if (f > 0)
			continue;
		add_interval(doc, metric, sample, comparison->confidence);
		doc_cell(doc, "%s", sample == 0 && work->sample_count > 1 ? "1" : cells[3]);
		doc_cell(doc, "%s", cells[4]);
	}
}

static void
add_foot(struct doc *doc, const struct nb_comparison *comparison)
{
	doc_gap(doc);
	doc_wrapped(doc, "",
		"Values are medians over the runs; a percentile is each run's own. The interval of a median is of two of its runs' values; with too few runs for its confidence it is the widest, with less. The ratio is that of throughputs to the first engine of the work.%s",
		comparison->is_unranked
			? ""
			: " * is the best median of the work in its column; the interval shows whether the difference may be chance.");
}

int
compare_write_table(const struct nb_comparison *comparison, FILE *out)
{
	struct doc doc = {0};
	struct figures figures;
	struct doc_column columns[COLUMNS_MAX] = {
		{"work", DOC_LEFT, 0}, {"engine", DOC_LEFT, 0}, {"runs", DOC_RIGHT, 0}};
	char interval[32], of_median[32];
	size_t count = 3;
	find_figures(&figures);
	snprintf(interval, sizeof(interval), "%g %% CI", 100 * comparison->confidence);
	snprintf(of_median, sizeof(of_median), "its %g %% CI", 100 * comparison->confidence);
	for (size_t f = 0; f < figures.count; f++) {
		columns[count++] = (struct doc_column){figures.titles[f], DOC_RIGHT, 0};
		if (f > 0)
			continue;
		columns[count++] = (struct doc_column){of_median, DOC_RIGHT, 0};
		columns[count++] = (struct doc_column){"ratio", DOC_RIGHT, 0};
		columns[count++] = (struct doc_column){interval, DOC_RIGHT, 0};
	}
	report_comparison_head(&doc, comparison);
	doc_add_table(&doc, columns, count, 0, 0);
	for (size_t w = 0; w < comparison->work_count; w++)
		for (size_t s = 0; s < comparison->works[w].sample_count; s++)
			add_sample(&doc, comparison, &comparison->works[w], s, &figures);
	add_foot(&doc, comparison);
	return doc_finish(&doc, NB_OK, DOC_TEXT, out, "the table cannot be written");
}
