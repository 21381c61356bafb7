/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The comparison that vs printed, on its page: the verdicts, then for each phase a table of
 * all contestants, best throughput first, and a table of all figures for each contestant
 * against the base. All repetitions of a contestant are one row.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/compare.h"
#include "report/html.h"
#include "report/html_text.h"

static int
write_verdicts(const struct nb_comparison *comparison, FILE *out)
{
	fputs("<ul class=\"words\">\n", out);
	for (size_t w = 0; w < comparison->work_count; w++) {
		const struct compare_work *work = &comparison->works[w];
		for (size_t s = 1; s < work->sample_count; s++) {
			char *verdict;
			int rc = compare_verdict(&verdict, comparison, work, s);
			if (rc != NB_OK)
				return rc;
			fputs("<li>", out);
			html_text(out, verdict);
			fputs("</li>\n", out);
			free(verdict);
		}
	}
	fputs("</ul>\n", out);
	return NB_OK;
}

static void
write_texts(const struct compare_texts *texts, const char *class, const char *begin, FILE *out)
{
	for (size_t i = 0; i < texts->count; i++) {
		fprintf(out, "<p class=\"%s\"><strong>%s</strong> ", class, begin);
		html_text(out, texts->items[i]);
		fputs("</p>\n", out);
	}
}

/* ---- all contestants of a phase ---- */

static void
value_cell(FILE *out, const struct compare_metric *metric, double value)
{
	html_unit_cell(
		out, strcmp(metric->figure->unit, "ns") == 0 ? SVG_NS : SVG_COUNT, value);
}

static void
write_contestant(const struct compare_work *work, const struct compare_metric *metric,
	size_t sample, FILE *out)
{
	const struct compare_values *of = &metric->of[sample];
	char cells[COMPARE_COLUMNS][COMPARE_CELL] = {{0}};
	char runs[24];
	if (sample > 0)
		compare_row(cells, work, metric, sample);
	snprintf(runs, sizeof(runs), "%zu", work->samples[sample].runs);
	html_row_begin(out, work->samples[sample].name);
	html_cell(out, true, runs);
	value_cell(out, metric, of->median);
	value_cell(out, metric, of->mad);
	value_cell(out, metric, of->count > 0 ? of->values[0] : 0);
	value_cell(out, metric, of->count > 0 ? of->values[of->count - 1] : 0);
	for (size_t i = 3; i < 6; i++)
		html_cell(out, true, cells[i]);
	html_cell(out, false,
		sample == 0 ? "base" : compare_verdict_name(metric->pairs[sample].verdict));
	html_row_end(out);
}

/** The next best of those that are not written yet; `written` has a flag for each. */
static size_t
next_best(const struct compare_metric *metric, size_t count, bool *written)
{
	size_t best = SIZE_MAX;
	for (size_t s = 0; s < count; s++)
		if (!written[s] &&
			(best == SIZE_MAX || metric->of[s].median > metric->of[best].median))
			best = s;
	written[best] = true;
	return best;
}

static void
write_ranking(struct page *page, const struct nb_comparison *comparison,
	const struct compare_work *work, const struct compare_metric *metric)
{
	static const struct html_column columns[] = {{"contestant", false}, {"runs", true},
		{"ops/s", true}, {"MAD", true}, {"lowest", true}, {"highest", true},
		{"ratio", true}, {"CI", true}, {"p", true}, {"verdict", false}};
	bool *written = page_room(page, work->sample_count, sizeof(*written));
	char caption[256];
	if (written == NULL)
		return;
	snprintf(caption, sizeof(caption),
		"Throughput of all contestants: median over the runs, its spread, and ratio to "
		"%.96s with its interval of %g %%",
		work->samples[0].name, 100 * comparison->confidence);
	html_table_begin(page->out, caption, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < work->sample_count; i++)
		write_contestant(work, metric, next_best(metric, work->sample_count, written),
			page->out);
	html_table_end(page->out);
}

/* ---- one against the base ---- */

static void
write_pair(const struct compare_work *work, size_t sample, FILE *out)
{
	const struct html_column columns[] = {{"figure", false}, {work->samples[0].name, true},
		{work->samples[sample].name, true}, {"ratio", true}, {"CI", true}, {"p", true},
		{"verdict", false}};
	char caption[640];
	snprintf(caption, sizeof(caption), "%s against %s, %s times; medians over the runs",
		work->samples[sample].name, work->samples[0].name,
		work->is_response ? "response" : "service");
	html_table_begin(out, caption, columns, sizeof(columns) / sizeof(*columns));
	for (size_t m = 0; m < work->metric_count; m++) {
		const struct compare_metric *metric = &work->metrics[m];
		char cells[COMPARE_COLUMNS][COMPARE_CELL] = {{0}};
		compare_row(cells, work, metric, sample);
		html_row_begin(out, metric->name);
		value_cell(out, metric, metric->of[0].median);
		value_cell(out, metric, metric->of[sample].median);
		for (size_t i = 3; i < 6; i++)
			html_cell(out, true, cells[i]);
		html_cell(out, false, compare_verdict_name(metric->pairs[sample].verdict));
		html_row_end(out);
	}
	html_table_end(out);
	if (work->unsupported[0] != '\0')
		fprintf(out, "<p class=\"hint\">Too few operations for %s.</p>\n",
			work->unsupported);
}

static void
write_work(struct page *page, const struct nb_comparison *comparison,
	const struct compare_work *work)
{
	if (work->sample_count < 2)
		return;
	fputs("<h3>", page->out);
	html_text(page->out, work->title);
	fputs("</h3>\n", page->out);
	for (size_t m = 0; m < work->metric_count; m++)
		if (work->metrics[m].figure == &compare_figures[0])
			write_ranking(page, comparison, work, &work->metrics[m]);
	for (size_t s = 1; s < work->sample_count; s++)
		write_pair(work, s, page->out);
}

static int
write_comparison(struct page *page, const struct nb_comparison *comparison)
{
	FILE *out = page->out;
	int rc = NB_OK;
	write_texts(&comparison->differences, "warning", "These cannot be ranked:", out);
	write_texts(&comparison->warnings, "hint", "Note:", out);
	if (!comparison->is_unranked)
		rc = write_verdicts(comparison, out);
	for (size_t w = 0; w < comparison->work_count && rc == NB_OK; w++)
		write_work(page, comparison, &comparison->works[w]);
	return rc;
}

void
page_versus(struct page *page)
{
	struct nb_comparison *comparison;
	if (!results_are_versus(page->all))
		return;
	fputs("<section id=\"versus\"><h2>Comparison</h2>\n", page->out);
	int rc = compare_versus(&comparison, page->all);
	if (rc == NB_OK) {
		rc = write_comparison(page, comparison);
		nb_comparison_delete(comparison);
	} else if (rc == NB_ERR_USAGE) {
		fputs("<p class=\"warning\">", page->out);
		html_text(page->out, nb_error_text());
		fputs("</p>\n", page->out);
		rc = NB_OK;
	}
	page->is_short |= rc != NB_OK;
	fputs("</section>\n", page->out);
}
