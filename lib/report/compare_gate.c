/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A gate: is the second sample worse than the first by more than the limit?
 *
 * The regression of a metric is the fraction by which its value got worse: ratio - 1 for a
 * latency, 1 - ratio for a throughput. The gate fails if the estimate is above the limit
 * and the whole interval is above 0. So a build does not fail because of noise, or because
 * of a change that is real but small. Rejected: failing if the upper end of the interval is
 * above the limit, which fails noisy builds; failing only if the lower end is, which lets
 * all but large regressions pass.
 *
 * If a side has a single run, there is no interval: the estimate alone decides, and the
 * gate prints that. With too few runs for the requested confidence, the widest possible
 * interval decides, because a gate that could never fail would be useless. If other programs
 * kept the machine busy, a single run decides nothing, and the gate refuses to answer.
 *
 * Each limit applies to all works that have the metric. A work that is missing in the
 * second file fails.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/compare.h"

enum { LIMITS_MAX = 32 };

struct limit {
	char name[48];
	double share;
};

/** Parse "p99:5%". */
static int
parse_limit(struct limit *limit, const char *text)
{
	size_t length = strcspn(text, ":");
	char number[32];
	size_t digits = strlen(text);
	bool has_number = text[length] == ':' && text[digits - 1] == '%' &&
		digits - length - 2 < sizeof(number) && digits - length > 2;
	if (!has_number || length == 0 || length >= sizeof(limit->name))
		return error_set(NB_ERR_USAGE,
			"'%s' is not a limit; limits are like p99:5%% or throughput:3%%", text);
	snprintf(limit->name, sizeof(limit->name), "%.*s", (int)length, text);
	snprintf(number, sizeof(number), "%.*s", (int)(digits - length - 2), text + length + 1);
	int rc = nb_parse_real(&limit->share, number);
	if (rc != NB_OK || limit->share < 0)
		return error_set(NB_ERR_USAGE,
			"'%s': '%s' is not a percentage of 0 or more, as in %s:5%%", text,
			number, limit->name);
	limit->share /= 100;
	return NB_OK;
}

static int
parse_limits(struct limit *limits, size_t *count, const char *text)
{
	char *copy = strdup(text), *rest = copy;
	int rc = copy != NULL ? NB_OK : error_memory();
	*count = 0;
	for (char *one; rc == NB_OK && (one = strsep(&rest, ",")) != NULL;) {
		if (*count == LIMITS_MAX)
			rc = error_set(
				NB_ERR_USAGE, "there are more than %d limits", LIMITS_MAX);
		else
			rc = parse_limit(&limits[(*count)++], one);
	}
	free(copy);
	return rc;
}

static double
regression_of(const struct compare_metric *metric, double ratio)
{
	return metric->row->figure.is_higher_better ? 1 - ratio : ratio - 1;
}

/** Print one line; returns whether the limit fails. */
static bool
check(const struct nb_comparison *comparison, const struct compare_work *work,
	const struct compare_metric *metric, const struct limit *limit, FILE *out)
{
	const struct compare_pair *pair = &metric->pairs[1];
	const struct stats_ratio *ratio = &pair->ratio;
	bool is_up = metric->row->figure.is_higher_better;
	double regression = regression_of(metric, ratio->ratio);
	double least = regression_of(metric, is_up ? ratio->high : ratio->low);
	double most = regression_of(metric, is_up ? ratio->low : ratio->high);
	bool is_single = pair->verdict == COMPARE_ONE_RUN;
	bool fails = regression > limit->share && (is_single || least > 0);
	fprintf(out, "%s: %s %s: %.1f %% %s", fails ? "FAILED" : "ok", work->title,
		metric->name, 100 * fabs(regression), regression < 0 ? "better" : "worse");
	if (!is_single)
		fprintf(out, " (%g %% CI %.1f to %.1f)", 100 * ratio->confidence, 100 * least,
			100 * most);
	fprintf(out, ", limit %g %%", 100 * limit->share);
	if (is_single)
		fprintf(out,
			"; one run on a side: its variation is not known, the figure alone decides");
	else if (pair->verdict == COMPARE_TOO_FEW)
		fprintf(out, "; %g %% needs at least %zu runs each",
			100 * comparison->confidence,
			stats_least_count(comparison->confidence));
	else if (!fails && regression > limit->share)
		fputs("; not significant", out);
	fputc('\n', out);
	return fails;
}

/** Print the notes of the comparison, and the works that only one side has. */
static int
check_works(const struct nb_comparison *comparison, FILE *out)
{
	int fails = 0;
	for (size_t i = 0; i < comparison->differences.count; i++)
		fprintf(out, "NOT COMPARABLE: %s\n", comparison->differences.items[i]);
	for (size_t i = 0; i < comparison->warnings.count; i++)
		fprintf(out, "Note: %s\n", comparison->warnings.items[i]);
	for (size_t w = 0; w < comparison->work_count; w++) {
		const struct compare_work *work = &comparison->works[w];
		const struct compare_sample *samples = work->samples;
		if (work->sample_count > 2 ||
			(work->sample_count == 2 && samples[0].input == samples[1].input))
			return error_set(NB_ERR_USAGE,
				"%s of %s and %s is not a before and an after: both files must have the same engines, or one each",
				work->title, samples[0].name, samples[1].name);
		if (work->sample_count == 1 && samples[0].input == 0) {
			fails = 1;
			fprintf(out, "FAILED: %s: the second file has no run of it\n",
				work->title);
		}
	}
	return fails;
}

/**
 * Refuse a single run if the machine was busy: it has no interval that would show the
 * disturbance by other programs. NB_ERR_USAGE: a work has one run on a side, and a sample of
 * it was made on a busy machine.
 */
static int
check_taken(const struct nb_comparison *comparison)
{
	for (size_t w = 0; w < comparison->work_count && !comparison->is_forced; w++) {
		const struct compare_work *work = &comparison->works[w];
		bool is_single = false;
		for (size_t s = 0; s < work->sample_count; s++)
			is_single |= work->samples[s].runs == 1;
		for (size_t s = 0; s < work->sample_count && work->sample_count > 1; s++)
			if (is_single && work->samples[s].taken > COMPARE_TAKEN_MAX)
				return error_set(NB_ERR_USAGE,
					"not comparable: with one run on a side, other processes and the hypervisor may use at most %.0f %% of the CPU time; they used %.0f %% in %s: repeat on a quiet machine, or run both in turn (mininb vs; --force ignores this)",
					COMPARE_TAKEN_MAX, work->samples[s].taken,
					work->samples[s].name);
	}
	return NB_OK;
}

/** Find a metric that both samples have; NULL: none. */
static const struct compare_metric *
find_metric(const struct compare_work *work, const char *name)
{
	for (size_t m = 0; m < work->metric_count; m++)
		if (strcmp(work->metrics[m].name, name) == 0 &&
			work->metrics[m].pairs[1].verdict != COMPARE_ABSENT)
			return &work->metrics[m];
	return NULL;
}

static int
check_limit(const struct nb_comparison *comparison, const struct limit *limit, FILE *out)
{
	bool fails = false, is_there = false;
	for (size_t w = 0; w < comparison->work_count; w++) {
		const struct compare_work *work = &comparison->works[w];
		if (work->sample_count < 2)
			continue;
		const struct compare_metric *metric = find_metric(work, limit->name);
		if (metric == NULL) {
			fprintf(out, "skipped: %s %s: one of both does not have it\n",
				work->title, limit->name);
			continue;
		}
		if (metric->row->figure.is_higher_better && limit->share >= 1)
			return error_set(NB_ERR_USAGE,
				"'%s:%g%%' can never fail: nothing falls by more than 100 %%",
				limit->name, 100 * limit->share);
		is_there = true;
		fails |= check(comparison, work, metric, limit, out);
	}
	if (is_there)
		return fails;
	char *names;
	int rc = compare_metric_names(&names, comparison);
	if (rc != NB_OK)
		return rc;
	rc = error_set(NB_ERR_USAGE,
		"'%s' is not a metric that both have (a percentile needs enough operations); both have: %s",
		limit->name, names);
	free(names);
	return rc;
}

static int
check_limits(const struct nb_comparison *comparison, const struct limit *limits, size_t count,
	FILE *out)
{
	int fails = check_works(comparison, out);
	for (size_t i = 0; i < count && fails >= 0; i++) {
		int rc = check_limit(comparison, &limits[i], out);
		if (rc < 0)
			return rc;
		fails |= rc;
	}
	return fails;
}

int
nb_comparison_gate(const struct nb_comparison *comparison, const char *text, FILE *out)
{
	struct limit limits[LIMITS_MAX];
	size_t count;
	char *lines = NULL;
	size_t size;
	int rc = parse_limits(limits, &count, text);
	if (rc != NB_OK)
		return rc;
	FILE *memory = open_memstream(&lines, &size);
	if (memory == NULL)
		return error_memory();
	rc = check_taken(comparison);
	if (rc == NB_OK)
		rc = check_limits(comparison, limits, count, memory);
	if (fclose(memory) != 0 && rc >= 0)
		rc = error_memory();
	if (rc >= 0 && (fputs(lines, out) == EOF || fflush(out) != 0))
		rc = error_system("the result of the gate cannot be written");
	free(lines);
	return rc;
}
