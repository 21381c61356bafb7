/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A comparison in words. Small differences are percentages of the first value: "p99 4.2 %
 * slower" is a p99 that is 4.2 % higher. From FACTOR on they are factors, "3.1 times
 * faster", because most people misread percentages above a hundred.
 *
 * Samples that cannot be told apart are not called equal: the interval limits the
 * difference.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/compare.h"

#define FACTOR 2.0

/** Format `ratio` as a percentage or a factor, without its direction. */
static void
format_change(char *text, size_t size, double ratio, bool is_factor)
{
	double number = is_factor ? (ratio < 1 ? 1 / ratio : ratio) : 100 * fabs(ratio - 1);
	snprintf(text, size, "%.*f", number < 9.95 ? 1 : 0, number);
}

static bool
is_factor(double ratio)
{
	return ratio >= FACTOR || ratio <= 1 / FACTOR;
}

void
compare_step(char *text, const struct compare_metric *metric, double ratio)
{
	char number[32];
	bool is_faster = (ratio > 1) == metric->row->figure.is_higher_better;
	format_change(number, sizeof(number), ratio, is_factor(ratio));
	if (ratio == 1)
		snprintf(text, COMPARE_STEP, "the same");
	else
		snprintf(text, COMPARE_STEP, "%s %s %s", number,
			is_factor(ratio) ? "times" : "%", is_faster ? "faster" : "slower");
}

/** Format an interval with the direction of each end, the worse end first. */
static void
format_ends(char *text, const struct compare_metric *metric, const struct stats_ratio *ratio)
{
	bool is_up = metric->row->figure.is_higher_better;
	char from[COMPARE_STEP], to[COMPARE_STEP];
	compare_step(from, metric, is_up ? ratio->low : ratio->high);
	compare_step(to, metric, is_up ? ratio->high : ratio->low);
	snprintf(text, COMPARE_INTERVAL, "%s to %s", from, to);
}

void
compare_interval(
	char *text, const struct compare_metric *metric, const struct stats_ratio *ratio)
{
	bool is_up = metric->row->figure.is_higher_better;
	double worse = is_up ? ratio->low : ratio->high;
	double better = is_up ? ratio->high : ratio->low;
	char from[COMPARE_STEP], to[COMPARE_STEP];
	if (ratio->low <= 1 && ratio->high >= 1) {
		format_ends(text, metric, ratio);
		return;
	}
	bool factor = is_factor(ratio->ratio);
	bool is_worse = (ratio->ratio > 1) != is_up;
	format_change(from, sizeof(from), is_worse ? better : worse, factor);
	format_change(to, sizeof(to), is_worse ? worse : better, factor);
	snprintf(text, COMPARE_INTERVAL, "%s to %s%s", from, to, factor ? "" : " %");
}

const char *
compare_verdict_name(uint32_t verdict)
{
	static const char *const names[] = {[COMPARE_ABSENT] = "",
		[COMPARE_ONE_RUN] = "one run",
		[COMPARE_TOO_FEW] = "too few runs",
		[COMPARE_UNCERTAIN] = "cannot be told apart",
		[COMPARE_BETTER] = "better",
		[COMPARE_WORSE] = "worse"};
	return names[verdict];
}

/* ---- sentences ---- */

/** Format run counts: "5", or "5 and 4" if the samples differ. */
static void
format_counts(char *text, size_t size, size_t first, size_t other)
{
	if (first == other)
		snprintf(text, size, "%zu", first);
	else
		snprintf(text, size, "%zu and %zu", first, other);
}

static const char *
name_of(const struct compare_work *work, size_t sample)
{
	return work->samples[sample].name;
}

/** Write the interval after the difference. The first one states the confidence of all. */
static void
write_interval(
	FILE *out, const struct nb_comparison *comparison, const char *interval, bool is_first)
{
	if (is_first)
		fprintf(out, " (%g %% CI %s)", 100 * comparison->confidence, interval);
	else
		fprintf(out, " (%s)", interval);
}

static bool
is_headline(const struct compare_metric *metric)
{
	return metric->row->figure.is_headline && metric->kind[0] == '\0';
}

/**
 * Write "lmdb is 3.1 times faster than leveldb in throughput (...), ..."; returns the
 * number of metrics.
 */
static size_t
write_certain(FILE *out, const struct nb_comparison *comparison,
	const struct compare_work *work, size_t sample, bool is_guess)
{
	size_t shown = 0;
	for (size_t m = 0; m < work->metric_count; m++) {
		const struct compare_metric *metric = &work->metrics[m];
		const struct compare_pair *pair = &metric->pairs[sample];
		bool is_shown = is_guess ? pair->verdict != COMPARE_ABSENT
					 : pair->verdict >= COMPARE_BETTER;
		if (!is_headline(metric) || !is_shown)
			continue;
		char step[COMPARE_STEP], interval[COMPARE_INTERVAL];
		compare_step(step, metric, pair->ratio.ratio);
		if (shown == 0)
			fprintf(out, "%s is %s %s %s %s", name_of(work, sample), step,
				pair->ratio.ratio == 1 ? "as" : "than", name_of(work, 0),
				metric->row->figure.place);
		else
			fprintf(out, ", %s %s", step, metric->row->figure.place);
		if (!is_guess) {
			compare_interval(interval, metric, &pair->ratio);
			write_interval(out, comparison, interval, shown == 0);
		}
		shown++;
	}
	return shown;
}

/** Write "p99.9 cannot be told apart at n = 5 (...)". */
static void
write_uncertain(FILE *out, const struct nb_comparison *comparison,
	const struct compare_work *work, size_t sample, size_t shown)
{
	size_t count = 0;
	char interval[COMPARE_INTERVAL], runs[48];
	for (size_t m = 0; m < work->metric_count; m++) {
		const struct compare_metric *metric = &work->metrics[m];
		const struct compare_pair *pair = &metric->pairs[sample];
		if (!is_headline(metric) || pair->verdict != COMPARE_UNCERTAIN)
			continue;
		format_counts(
			runs, sizeof(runs), metric->of[0].count, metric->of[sample].count);
		if (count > 0)
			fprintf(out, ", %s", metric->name);
		else if (shown > 0)
			fprintf(out, "; cannot be told apart at n = %s: %s", runs,
				metric->name);
		else
			fprintf(out, "%s and %s cannot be told apart at n = %s: %s",
				name_of(work, sample), name_of(work, 0), runs, metric->name);
		format_ends(interval, metric, &pair->ratio);
		write_interval(out, comparison, interval, shown + count++ == 0);
	}
}

/** The first metric that both samples have: usually throughput. */
static const struct compare_metric *
first_metric(const struct compare_work *work, size_t sample)
{
	for (size_t m = 0; m < work->metric_count; m++)
		if (work->metrics[m].pairs[sample].verdict != COMPARE_ABSENT)
			return &work->metrics[m];
	return NULL;
}

static void
write_verdict(FILE *out, const struct nb_comparison *comparison,
	const struct compare_work *work, size_t sample)
{
	const struct compare_metric *first = first_metric(work, sample);
	if (first == NULL) {
		fprintf(out, "%s and %s have no figure in common.", name_of(work, sample),
			name_of(work, 0));
		return;
	}
	size_t counts[] = {first->of[0].count, first->of[sample].count};
	uint32_t verdict = first->pairs[sample].verdict;
	bool is_guess = verdict == COMPARE_ONE_RUN || verdict == COMPARE_TOO_FEW;
	size_t shown = write_certain(out, comparison, work, sample, is_guess);
	if (!is_guess) {
		write_uncertain(out, comparison, work, sample, shown);
		fputc('.', out);
	} else if (counts[0] == 1 && counts[1] == 1) {
		fputs(". One run each, so the variation is not known; repeat them, or use mininb vs.",
			out);
	} else if (verdict == COMPARE_ONE_RUN) {
		fprintf(out,
			". Only one run of %s, so the variation is not known; repeat it, or use mininb vs.",
			name_of(work, counts[0] == 1 ? 0 : sample));
	} else {
		char runs[48];
		format_counts(runs, sizeof(runs), counts[0], counts[1]);
		fprintf(out,
			". With n = %s no difference is significant, however large: %g %% needs at least %zu runs each; the intervals are the widest possible, of %.0f %%.",
			runs, 100 * comparison->confidence,
			stats_least_count(comparison->confidence),
			100 * first->pairs[sample].ratio.confidence);
	}
}

int
compare_verdict(char **out, const struct nb_comparison *comparison,
	const struct compare_work *work, size_t sample)
{
	size_t size;
	FILE *memory = open_memstream(out, &size);
	if (memory == NULL)
		return error_memory();
	if (comparison->work_count > 1)
		fprintf(memory, "%s: ", work->title);
	write_verdict(memory, comparison, work, sample);
	return fclose(memory) == 0 ? NB_OK : error_memory();
}

static bool
is_in_earlier(const struct nb_comparison *comparison, size_t until, const char *name)
{
	for (size_t w = 0; w < until; w++)
		for (size_t m = 0; m < comparison->works[w].metric_count; m++)
			if (strcmp(comparison->works[w].metrics[m].name, name) == 0)
				return true;
	return false;
}

int
compare_metric_names(char **out, const struct nb_comparison *comparison)
{
	size_t size, count = 0;
	FILE *memory = open_memstream(out, &size);
	if (memory == NULL)
		return error_memory();
	for (size_t w = 0; w < comparison->work_count; w++) {
		const struct compare_work *work = &comparison->works[w];
		for (size_t m = 0; m < work->metric_count; m++)
			if (!is_in_earlier(comparison, w, work->metrics[m].name))
				fprintf(memory, "%s%s", count++ > 0 ? ", " : "",
					work->metrics[m].name);
	}
	return fclose(memory) == 0 ? NB_OK : error_memory();
}
