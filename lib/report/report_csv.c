/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as one table for programs. Each kind of operation of each group has a row for
 * service and one for response times; so have all kinds of a group together. Further rows
 * show how late the harness was, and the hiccups of the machine. A run without a result has
 * one row, which shows how it ended.
 *
 * The columns are the table of metrics (metric.c). An unknown value is an empty field.
 * Metrics of the whole run are repeated in each of its rows.
 *
 * For vs the table is the comparison; the rows of its runs are in PREFIX-operations.csv.
 */
#include "report/compare.h"
#include "report/csv.h"
#include "report/metric.h"

struct rows {
	FILE *out;
	const struct nb_results *results;
	size_t count; /* rows of the run so far */
	struct metric_source source;
};

static void
write_value(struct csv *csv, struct metric_value value)
{
	switch (value.type) {
	case METRIC_COUNT:
		csv_count(csv, value.count);
		break;
	case METRIC_REAL:
		csv_real(csv, value.real);
		break;
	case METRIC_TEXT:
		csv_text(csv, value.text);
		break;
	case METRIC_UNKNOWN:
		csv_empty(csv);
	}
}

/** Whether a metric has a column. An optional one has it if some run has the metric. */
static bool
has_column(const struct nb_results *results, const struct metric *metric)
{
	bool has = !metric->is_optional;
	for (size_t i = 0; i < results->count && !has; i++) {
		const struct metric_source source = {.record = &results->records[i]};
		has = metric_take(metric, &source).type != METRIC_UNKNOWN;
	}
	return has;
}

static int
write_row(void *to, const struct walk_row *walk)
{
	struct rows *rows = to;
	struct csv csv = {.out = rows->out};
	rows->source.row = walk;
	rows->source.histogram = walk->histogram;
	rows->count++;
	for (const struct metric *metric = metric_table; metric->name != NULL; metric++)
		if (has_column(rows->results, metric))
			write_value(&csv, metric_take(metric, &rows->source));
	csv_end(&csv);
	return NB_OK;
}

/** Write the only row of a run without times. */
static int
write_bare(const struct nb_results *results, size_t index, struct rows *rows)
{
	char title[WALK_TITLE];
	struct walk_row bare = {.what = WALK_HICCUPS,
		.index = index,
		.record = &results->records[index],
		.title = title,
		.kind = "",
		.series = ""};
	walk_title(results, index, title);
	return write_row(rows, &bare);
}

static int
write_record(const struct nb_results *results, size_t index, FILE *out)
{
	struct rows rows = {.out = out, .results = results};
	metric_source_create(&rows.source, &results->records[index]);
	int rc = walk_record(results, index, write_row, &rows);
	return rc == NB_OK && rows.count == 0 ? write_bare(results, index, &rows) : rc;
}

int
csv_write_operations(const struct nb_results *results, FILE *out)
{
	struct csv csv = {.out = out};
	int rc = NB_OK;
	for (const struct metric *metric = metric_table; metric->name != NULL; metric++)
		if (has_column(results, metric))
			csv_text(&csv, metric->name);
	csv_end(&csv);
	for (size_t i = 0; i < results->count && rc == NB_OK; i++)
		rc = write_record(results, i, out);
	return rc;
}

int
write_csv(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct nb_comparison *comparison;
	(void)flags;
	if (!results_are_versus(results) || compare_versus(&comparison, results) != NB_OK)
		return csv_write_operations(results, out);
	int rc = compare_write_csv(comparison, out);
	nb_comparison_delete(comparison);
	return rc;
}
