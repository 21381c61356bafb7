/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A comparison as text and as Markdown: first what forbids or spoils it, then the verdicts
 * in words, then a table for each sample against the first.
 *
 * Bars show the interval of each ratio against 1 on a logarithmic axis, so that half and
 * twice are equally far from the middle; all bars of a table have the same one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/table.h"
#include "report/compare.h"

enum {
	WIDTH = 80,
	CELL_SIZE = COMPARE_CELL,
	COLUMNS = COMPARE_COLUMNS,
	NAME_MAX = 12,
	BAR_HALF = 5
};

/* ---- cells ---- */

static void
format_value(char *cell, const struct compare_metric *metric, double value)
{
	if (value <= 0)
		cell[0] = '\0';
	else if (strcmp(metric->figure->unit, "ns") == 0)
		snprintf(cell, CELL_SIZE, "%.*f", value < 100000 ? 2 : 0, value / 1000);
	else
		snprintf(cell, CELL_SIZE, "%.*f", value < 100 ? 1 : 0, value);
}

/** Three digits and more. */
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

/** Of |log ratio|: where the axis of a table's bars ends; 0: there are none. */
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
 * An interval of little confidence need not hold the ratio, which then is at the end of the
 * axis; so are 0 and infinity.
 */
static int
bar_place(double ratio, double end)
{
	double share = log(ratio) / end;
	if (isnan(share))
		share = ratio > 1 ? 1 : -1;
	return BAR_HALF + (int)lround(fmax(-1, fmin(1, share)) * BAR_HALF);
}

/** "  --#-|". */
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

/** "p99 us", and below the name of a kind "  p99 us"; with n where it is not that of all. */
static void
format_name(char *cell, const struct compare_work *work, const struct compare_metric *metric,
	size_t sample)
{
	bool is_time = strcmp(metric->figure->unit, "ns") == 0;
	int used = snprintf(cell, CELL_SIZE, "%s%s %s", metric->kind[0] != '\0' ? "  " : "",
		metric->figure->name, is_time ? "us" : metric->figure->unit);
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

/** What both forms of a table are made of. */
struct writing {
	const struct nb_comparison *comparison;
	FILE *out;
	bool has_bars, is_markdown;
};

static void
write_row(FILE *out, const char *const *cells, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fprintf(out, "| %s ", cells[i]);
	fputs("|\n", out);
}

static int
add_row(struct table *table, char cells[COLUMNS][CELL_SIZE], const struct writing *writing)
{
	const char *row[COLUMNS];
	size_t count = writing->has_bars ? COLUMNS : COLUMNS - 1;
	for (size_t i = 0; i < count; i++)
		row[i] = cells[i];
	if (!writing->is_markdown)
		return table_add(table, row);
	write_row(writing->out, row, count);
	return NB_OK;
}

static int
add_rows(struct table *table, const struct writing *writing, const struct compare_work *work,
	size_t sample)
{
	const char *kind = "";
	double end = axis_end(work, sample);
	int rc = NB_OK;
	for (size_t m = 0; m < work->metric_count && rc == NB_OK; m++) {
		const struct compare_metric *metric = &work->metrics[m];
		char cells[COLUMNS][CELL_SIZE] = {{0}};
		if (metric->of[0].count == 0 && metric->of[sample].count == 0)
			continue;
		if (strcmp(kind, metric->kind) != 0) {
			snprintf(cells[0], CELL_SIZE, "%s", metric->kind);
			rc = add_row(table, cells, writing);
			kind = metric->kind;
		}
		compare_row(cells, work, metric, sample);
		format_bar(cells[6], &metric->pairs[sample], end);
		if (rc == NB_OK)
			rc = add_row(table, cells, writing);
	}
	return rc;
}

/** Words broken at WIDTH; lines behind the first begin with `indent`. */
static void
write_wrapped(
	const struct writing *writing, const char *begin, const char *indent, const char *text)
{
	int at = fprintf(writing->out, "%s", begin);
	bool is_first = true;
	while (*text != '\0') {
		int length = (int)strcspn(text, " ");
		if (!is_first && !writing->is_markdown && at + 1 + length > WIDTH)
			at = fprintf(writing->out, "\n%s", indent) - 1;
		else if (!is_first)
			at += fprintf(writing->out, " ");
		at += fprintf(writing->out, "%.*s", length, text);
		text += length;
		text += strspn(text, " ");
		is_first = false;
	}
	fputc('\n', writing->out);
}

/** Long names stand above the table, with letters for them in it. */
static bool
has_long_names(const struct compare_work *work, size_t sample)
{
	return strlen(work->samples[0].name) > NAME_MAX ||
		strlen(work->samples[sample].name) > NAME_MAX;
}

static void
write_heading(const struct writing *writing, const struct compare_work *work, size_t sample)
{
	bool is_long = has_long_names(work, sample) && !writing->is_markdown;
	const struct compare_sample *first = &work->samples[0], *other = &work->samples[sample];
	char other_runs[48], first_runs[48], text[1024];
	snprintf(other_runs, sizeof(other_runs), "%zu run%s", other->runs,
		other->runs == 1 ? "" : "s");
	snprintf(first_runs, sizeof(first_runs), "%zu run%s", first->runs,
		first->runs == 1 ? "" : "s");
	snprintf(text, sizeof(text), "%s: %s%s (%s) against %s%s (%s), %s times", work->title,
		is_long ? "B = " : "", other->name, other_runs, is_long ? "A = " : "",
		first->name, first_runs, work->is_response ? "response" : "service");
	fputc('\n', writing->out);
	write_wrapped(writing, writing->is_markdown ? "### " : "", "  ", text);
	fputs(writing->is_markdown ? "\n" : "", writing->out);
}

static int
write_table(const struct writing *writing, const struct compare_work *work, size_t sample)
{
	char interval[32];
	bool is_long = has_long_names(work, sample) && !writing->is_markdown;
	snprintf(interval, sizeof(interval), "%g %% CI", 100 * writing->comparison->confidence);
	struct table_column columns[COLUMNS] = {{"", false},
		{is_long ? "A" : work->samples[0].name, true},
		{is_long ? "B" : work->samples[sample].name, true}, {"ratio", true},
		{interval, true}, {"p", true}, {"against 1", false}};
	size_t count = writing->has_bars ? COLUMNS : COLUMNS - 1;
	struct table table;
	table_create(&table, columns, count);
	write_heading(writing, work, sample);
	if (writing->is_markdown) {
		static const char *const rules[] = {
			"---", "---:", "---:", "---:", "---:", "---:"};
		const char *titles[COLUMNS];
		for (size_t i = 0; i < count; i++)
			titles[i] = columns[i].title;
		write_row(writing->out, titles, count);
		write_row(writing->out, rules, COLUMNS - 1);
	}
	int rc = add_rows(&table, writing, work, sample);
	if (rc == NB_OK && !writing->is_markdown)
		rc = table_write(&table, writing->out);
	table_destroy(&table);
	if (work->unsupported[0] != '\0')
		fprintf(writing->out, "%sToo few operations for %s.\n",
			writing->is_markdown ? "\n" : "", work->unsupported);
	return rc;
}

/* ---- text ---- */

static void
write_head(const struct writing *writing)
{
	const struct nb_comparison *comparison = writing->comparison;
	const char *item = writing->is_markdown ? "- " : "";
	for (size_t i = 0; i < comparison->differences.count; i++) {
		fputs(item, writing->out);
		write_wrapped(
			writing, "NOT COMPARABLE: ", "  ", comparison->differences.items[i]);
	}
	for (size_t i = 0; i < comparison->warnings.count; i++) {
		fputs(item, writing->out);
		write_wrapped(writing, "Note: ", "  ", comparison->warnings.items[i]);
	}
	if (comparison->differences.count + comparison->warnings.count > 0)
		fputc('\n', writing->out);
}

static int
write_verdicts(const struct writing *writing)
{
	const struct nb_comparison *comparison = writing->comparison;
	const char *item = writing->is_markdown ? "- " : "";
	for (size_t w = 0; w < comparison->work_count && !comparison->is_unranked; w++) {
		const struct compare_work *work = &comparison->works[w];
		for (size_t s = 1; s < work->sample_count; s++) {
			char *verdict;
			int rc = compare_verdict(&verdict, comparison, work, s);
			if (rc != NB_OK)
				return rc;
			write_wrapped(writing, item, "  ", verdict);
			free(verdict);
		}
	}
	return NB_OK;
}

static void
write_foot(const struct writing *writing)
{
	char text[512];
	snprintf(text, sizeof(text),
		"Values are medians over the runs, a percentile being each run's own; the "
		"ratio "
		"is the median over all pairs of runs (Hodges and Lehmann), p is Mann and "
		"Whitney's. Each line stands for itself: of %.0f that do not differ, one will "
		"seem to.",
		1 / (1 - writing->comparison->confidence));
	fputc('\n', writing->out);
	write_wrapped(writing, "", "", text);
	if (writing->has_bars)
		write_wrapped(writing, "", "",
			"Bars: ratio (#) and its interval (-) against 1 (|), to the right if "
			"the "
			"value is larger, on a logarithmic axis as long as the widest "
			"interval.");
}

static int
write_both(const struct nb_comparison *comparison, FILE *out, uint32_t flags, bool is_markdown)
{
	struct writing writing = {.comparison = comparison,
		.out = out,
		.is_markdown = is_markdown,
		.has_bars = (flags & NB_TEXT_BARS) != 0 && !is_markdown};
	write_head(&writing);
	int rc = write_verdicts(&writing);
	for (size_t w = 0; w < comparison->work_count && rc == NB_OK; w++)
		for (size_t s = 1; s < comparison->works[w].sample_count && rc == NB_OK; s++)
			rc = write_table(&writing, &comparison->works[w], s);
	if (rc == NB_OK)
		write_foot(&writing);
	return rc;
}

int
nb_comparison_write(
	const struct nb_comparison *comparison, const char *format, FILE *out, uint32_t flags)
{
	int rc;
	if (strcmp(format, "text") == 0)
		rc = write_both(comparison, out, flags, false);
	else if (strcmp(format, "md") == 0)
		rc = write_both(comparison, out, flags, true);
	else if (strcmp(format, "json") == 0)
		rc = compare_write_json(comparison, out);
	else
		return error_set(NB_ERR_USAGE,
			"'%s' is no format of comparisons; there are text, md and json",
			format);
	if (rc == NB_OK && (fflush(out) != 0 || ferror(out)))
		rc = error_system("the comparison cannot be written");
	return rc;
}
