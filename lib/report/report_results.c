/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as text: the command prints it after a run, and again from a file.
 *
 * In a sweep only the run that found its capacity has a report, with the curve below it;
 * the others are points of the curve. In a list of engines each has its own report. For vs
 * the text is the comparison if two contestants have repetitions, else a report of each
 * run.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/compare.h"
#include "report/report.h"

enum { LINE_SIZE = 256 };

static const char interval_titles[] =
	" seconds          ops        ops/s     p50 us     p99 us     max us     behind";

static void
format_us(char *cell, size_t size, uint64_t ns)
{
	cell[0] = '\0';
	if (ns > 0)
		snprintf(cell, size, "%.*f", ns < 100000 ? 2 : 0, (double)ns / 1000);
}

/**
 * Format an interval. Unmeasured quantities, like the latencies of a warm-up, are left
 * blank.
 */
static const char *
format_interval(char line[LINE_SIZE], const struct nb_interval *interval)
{
	char p50[32] = "", p99[32] = "", most[32] = "", behind[32] = "";
	if (!interval->is_warmup) {
		format_us(p50, sizeof(p50), interval->p50_ns);
		format_us(p99, sizeof(p99), interval->p99_ns);
		format_us(most, sizeof(most), interval->max_ns);
	}
	if (interval->behind_ops > 0)
		snprintf(behind, sizeof(behind), "%" PRIu64, interval->behind_ops);
	int length = snprintf(line, LINE_SIZE,
		"%8.2f %12" PRIu64 " %12.0f %10s %10s %10s %10s%s",
		(double)interval->end_ns / 1e9, interval->ops, interval->rate_ops_s, p50, p99,
		most, behind, interval->is_warmup ? "  warm-up" : "");
	length = length < LINE_SIZE ? length : LINE_SIZE - 1;
	while (length > 0 && line[length - 1] == ' ')
		line[--length] = '\0';
	return line;
}

void
nb_interval_write_text(const struct nb_interval *interval, FILE *out, int has_titles)
{
	char line[LINE_SIZE];
	if (!has_titles)
		fprintf(out, "%s\n", interval_titles);
	fprintf(out, "%s\n", format_interval(line, interval));
}

static int
add_record(struct doc *doc, const struct record *record, bool is_list, uint32_t flags)
{
	char line[LINE_SIZE];
	int rc = NB_OK;
	if (record->interval_count > 0)
		doc_paragraph(doc, "%s", interval_titles);
	for (size_t i = 0; i < record->interval_count; i++)
		doc_paragraph(doc, "%s", format_interval(line, &record->intervals[i]));
	if (record->interval_count > 0)
		doc_gap(doc);
	if (record_job(record) != NULL)
		rc = report_job(doc, record);
	else if (record->run != NULL)
		report_classic(doc, record, flags);
	else if (!is_list) /* in a list, the table shows it */
		doc_paragraph(doc, "%s: %s", record->driver, record->end);
	if (record->sweep.curve != NULL)
		report_curve(doc, &record->sweep, flags);
	return rc;
}

/** Add the summaries of a list of engines. */
static int
add_list(struct doc *doc, const struct nb_results *results, uint32_t flags)
{
	struct nb_summary *summaries = calloc(results->count + 1, sizeof(*summaries));
	size_t count = 0;
	if (summaries == NULL)
		return error_memory();
	for (size_t i = 0; i < results->count; i++)
		if (!results->records[i].is_point)
			nb_results_summarize(results, i, &summaries[count++]);
	doc_gap(doc);
	doc_heading(doc, "##", "all");
	report_summaries(doc, summaries, count, flags);
	free(summaries);
	return NB_OK;
}

int
write_text(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct nb_comparison *comparison;
	struct doc doc = {0};
	if (results_are_versus(results) && compare_versus(&comparison, results) == NB_OK) {
		int rc = nb_comparison_write(comparison, "text", out, flags);
		nb_comparison_delete(comparison);
		return rc;
	}
	int rc = NB_OK;
	bool is_list = results->list_count > 1;
	size_t written = 0;
	for (size_t i = 0; i < results->count && rc == NB_OK; i++) {
		const struct record *record = &results->records[i];
		if (record->is_point)
			continue;
		if (written++ > 0)
			doc_gap(&doc);
		if (is_list)
			doc_heading(&doc, "##", "%s, %zu of %u", record->driver, written,
				results->list_count);
		rc = add_record(&doc, record, is_list, flags);
	}
	if (rc == NB_OK && is_list)
		rc = add_list(&doc, results, flags);
	return doc_finish(&doc, rc, DOC_TEXT, out, "the result cannot be written");
}
