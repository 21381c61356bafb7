/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares samples of runs: the values of each run, and the statistics on them.
 *
 * A run contributes one value to each metric, however many operations it had. Operations
 * within a run share its machine and cache, so a test on them would find any difference
 * significant. A percentile comes from the run's own histogram, and needs enough
 * operations. The statistics use the values of the runs (base/stats.c). Rejected: merging
 * the histograms of a sample, which hides how much the runs differ; averaging percentiles.
 *
 * The maximum is not a metric: it is a single operation and grows with the number of
 * operations, so it does not converge with more runs.
 */
#include "report/compare.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

void
compare_add_text(
	struct nb_comparison *comparison, struct compare_texts *texts, const char *fmt, ...)
{
	char *text;
	va_list args;
	va_start(args, fmt);
	int length = vasprintf(&text, fmt, args);
	va_end(args);
	if (length < 0) {
		comparison->rc = error_memory();
		return;
	}
	size_t i = 0;
	while (i < texts->count && strcmp(texts->items[i], text) != 0)
		i++;
	char **added = i == texts->count
		? array_append(&texts->items, &texts->count, sizeof(*texts->items))
		: NULL;
	if (added != NULL) {
		*added = text;
		return;
	}
	if (i == texts->count)
		comparison->rc = NB_FAIL;
	free(text);
}

static void
destroy_texts(struct compare_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->items[i]);
	free(texts->items);
}

static void
destroy_metric(const struct compare_work *work, struct compare_metric *metric)
{
	for (size_t s = 0; metric->of != NULL && s < work->sample_count; s++)
		free(metric->of[s].values);
	free(metric->of);
	free(metric->pairs);
}

void
nb_comparison_delete(struct nb_comparison *comparison)
{
	if (comparison == NULL)
		return;
	for (size_t w = 0; w < comparison->work_count; w++) {
		struct compare_work *work = &comparison->works[w];
		for (size_t m = 0; m < work->metric_count; m++)
			destroy_metric(work, &work->metrics[m]);
		free(work->metrics);
		free(work->samples);
	}
	free(comparison->works);
	destroy_texts(&comparison->differences);
	destroy_texts(&comparison->warnings);
	free(comparison);
}

/* ---- the values of a run ---- */

/** Merge the latencies of one kind over all foreground groups; NULL: out of memory. */
static struct nb_histogram *
latencies_of_kind(const struct nb_result *job, uint32_t kind, bool is_response)
{
	struct nb_histogram *all;
	if (nb_histogram_new(&all) != NB_OK)
		return NULL;
	for (size_t g = 0; g < job->group_count; g++) {
		const struct job_kind *it = &job->groups[g].measured.kinds[kind];
		if (!job->groups[g].is_background && it->service != NULL)
			nb_histogram_merge(all,
				is_response && it->response != NULL ? it->response
								    : it->service);
	}
	return all;
}

/** Append a value; 0 means unknown and is skipped. */
static void
add_value(struct nb_comparison *comparison, struct compare_values *values, double value)
{
	if (!(value > 0))
		return;
	double *added = array_append(&values->values, &values->count, sizeof(*added));
	if (added != NULL)
		*added = value;
	else
		comparison->rc = NB_FAIL;
}

/** Add the values of a run to all metrics of its work, which are ordered by kind. */
static void
add_values(struct nb_comparison *comparison, struct compare_work *work,
	const struct compare_run *run)
{
	struct metric_source source;
	struct nb_histogram *own = NULL;
	metric_source_create(&source, run->record);
	source.histogram = record_latency(run->record, work->is_response);
	for (size_t m = 0; m < work->metric_count && comparison->rc == NB_OK; m++) {
		struct compare_metric *metric = &work->metrics[m];
		if (metric->op_kind != NB_OP_KINDS && metric->op_kind != metric[-1].op_kind) {
			nb_histogram_delete(own);
			own = latencies_of_kind(
				run->record->run, metric->op_kind, work->is_response);
			source.histogram = own;
			if (own == NULL)
				comparison->rc = NB_FAIL;
		}
		if (comparison->rc == NB_OK)
			add_value(comparison, &metric->of[run->sample],
				metric_take(metric->row, &source).real);
	}
	nb_histogram_delete(own);
}

/** Add a metric for one kind of operation; NB_OP_KINDS: for all kinds. */
static void
add_metric(struct nb_comparison *comparison, struct compare_work *work, uint32_t kind,
	const char *name, const struct metric *row)
{
	struct compare_metric *metric = array_append(
		&work->metrics, &work->metric_count, sizeof(*metric));
	if (metric == NULL) {
		comparison->rc = NB_FAIL;
		return;
	}
	metric->row = row;
	metric->op_kind = kind;
	metric->of = calloc(work->sample_count, sizeof(*metric->of));
	metric->pairs = calloc(work->sample_count, sizeof(*metric->pairs));
	snprintf(metric->kind, sizeof(metric->kind), "%s", name);
	snprintf(metric->name, sizeof(metric->name), "%s%s%s", name, name[0] != '\0' ? "." : "",
		row->figure.name);
	if (metric->of == NULL || metric->pairs == NULL)
		comparison->rc = error_memory();
}

/**
 * Add the metrics of a kind. Rates exist only for all operations and come first; times
 * exist for each kind as well.
 */
static void
add_metrics(struct nb_comparison *comparison, struct compare_work *work, uint32_t kind,
	const char *name)
{
	for (int are_times = kind != NB_OP_KINDS; are_times <= 1; are_times++)
		for (const struct metric *row = metric_table;
			row->name != NULL && comparison->rc == NB_OK; row++)
			if (row->figure.name != NULL && (row->unit == METRIC_NS) == are_times)
				add_metric(comparison, work, kind, name, row);
}

/** Kinds of the foreground operations of all runs, in order of first occurrence. */
struct kinds {
	uint32_t items[NB_KINDS_MAX];
	const char *names[NB_KINDS_MAX];
	size_t count;
};

static void
find_kinds(struct kinds *kinds, const struct nb_result *run)
{
	for (size_t g = 0; g < run->group_count; g++) {
		const struct job_result_group *group = &run->groups[g];
		for (uint32_t kind = 0; kind < NB_KINDS_MAX && !group->is_background; kind++) {
			const struct job_kind *it = &group->measured.kinds[kind];
			size_t i = 0;
			while (i < kinds->count && kinds->items[i] != kind)
				i++;
			if (i == kinds->count && it->service != NULL && it->ops > 0) {
				kinds->names[kinds->count] = result_kind_name(run, kind);
				kinds->items[kinds->count++] = kind;
			}
		}
	}
}

static void
measure_work(struct nb_comparison *comparison, size_t index)
{
	struct compare_work *work = &comparison->works[index];
	struct kinds kinds = {.count = 0};
	for (size_t i = 0; i < comparison->run_count; i++)
		if (comparison->runs[i].work == index)
			find_kinds(&kinds, comparison->runs[i].record->run);
	add_metrics(comparison, work, NB_OP_KINDS, "");
	for (size_t k = 0; k < kinds.count && kinds.count > 1; k++)
		add_metrics(comparison, work, kinds.items[k], kinds.names[k]);
	for (size_t i = 0; i < comparison->run_count; i++)
		if (comparison->runs[i].work == index)
			add_values(comparison, work, &comparison->runs[i]);
}

/* ---- the statistics ---- */

/**
 * The verdict from the test and the interval. Both must agree: the bootstrap's interval can
 * exclude 1 although the test is not significant. The interval must have the requested
 * confidence.
 */
static uint32_t
judge(const struct compare_pair *pair, size_t first_count, size_t count, double confidence,
	bool is_higher_better)
{
	if (pair->ratio.method == STATS_NONE)
		return COMPARE_ONE_RUN;
	if (stats_least_p(first_count, count) >= 1 - confidence)
		return COMPARE_TOO_FEW;
	bool is_higher = pair->ratio.low > 1, is_lower = pair->ratio.high < 1;
	if (pair->test.p >= 1 - confidence || (!is_higher && !is_lower))
		return COMPARE_UNCERTAIN;
	return is_higher == is_higher_better ? COMPARE_BETTER : COMPARE_WORSE;
}

static int
compare_pair(
	struct compare_metric *metric, size_t sample, const struct nb_compare_options *options)
{
	const struct compare_values *first = &metric->of[0], *other = &metric->of[sample];
	struct compare_pair *pair = &metric->pairs[sample];
	if (first->count == 0 || other->count == 0)
		return NB_OK; /* COMPARE_ABSENT */
	int rc = stats_mann_whitney(
		&pair->test, first->values, first->count, other->values, other->count);
	if (rc == NB_OK)
		rc = stats_ratio(&pair->ratio, first->values, first->count, other->values,
			other->count, options->confidence, options->resamples, options->seed);
	if (rc == NB_OK)
		pair->verdict = judge(pair, first->count, other->count, options->confidence,
			metric->row->figure.is_higher_better);
	return rc;
}

static int
compare_metric(struct compare_work *work, struct compare_metric *metric,
	const struct nb_compare_options *options)
{
	int rc = NB_OK;
	for (size_t s = 0; s < work->sample_count && rc == NB_OK; s++) {
		struct compare_values *of = &metric->of[s];
		stats_sort(of->values, of->count);
		of->median = stats_median(of->values, of->count);
		rc = stats_mad(&of->mad, of->values, of->count);
	}
	for (size_t s = 1; s < work->sample_count && rc == NB_OK; s++)
		rc = compare_pair(metric, s, options);
	return rc;
}

/** Whether the first and any other sample have the metric, or the only sample has it. */
static bool
has_pair(const struct compare_work *work, const struct compare_metric *metric)
{
	if (work->sample_count == 1)
		return metric->of[0].count > 0;
	for (size_t s = 1; s < work->sample_count; s++)
		if (metric->pairs[s].verdict != COMPARE_ABSENT)
			return true;
	return false;
}

/** Drop the metrics without a pair, and keep the names of the percentiles among them. */
static void
drop_absent(struct compare_work *work)
{
	size_t kept = 0;
	for (size_t m = 0; m < work->metric_count; m++) {
		struct compare_metric *metric = &work->metrics[m];
		if (has_pair(work, metric)) {
			work->metrics[kept++] = *metric;
			continue;
		}
		size_t length = strlen(work->unsupported);
		if (metric->kind[0] == '\0' && metric->row->unit == METRIC_NS)
			snprintf(work->unsupported + length, sizeof(work->unsupported) - length,
				"%s%s", length > 0 ? ", " : "", metric->row->figure.name);
		destroy_metric(work, metric);
	}
	work->metric_count = kept;
}

static void
compare_work(struct nb_comparison *comparison, size_t index,
	const struct nb_compare_options *options)
{
	struct compare_work *work = &comparison->works[index];
	measure_work(comparison, index);
	for (size_t m = 0; m < work->metric_count && comparison->rc == NB_OK; m++)
		comparison->rc = compare_metric(work, &work->metrics[m], options);
	if (comparison->rc == NB_OK)
		drop_absent(work);
}

/* ---- the comparison ---- */

/** Warn about each work with a single sample; NB_ERR_USAGE if no work has more. */
static int
check_works(struct nb_comparison *comparison, const struct nb_compare_options *options)
{
	const struct compare_work *works = comparison->works;
	size_t compared = 0;
	for (size_t w = 0; w < comparison->work_count; w++) {
		compared += works[w].sample_count > 1;
		if (works[w].sample_count == 1 && options->is_alone == 0)
			compare_add_text(comparison, &comparison->warnings,
				"only %s has %s, so it is compared with nothing",
				works[w].samples[0].name, works[w].title);
	}
	if (comparison->rc != NB_OK || compared > 0 ||
		(options->is_alone != 0 && comparison->work_count > 0))
		return comparison->rc;
	if (comparison->work_count == 0)
		return error_set(
			NB_ERR_USAGE, "there is nothing to compare: no run has a result");
	if (comparison->work_count == 1)
		return error_set(NB_ERR_USAGE,
			"there is nothing to compare: all runs are of %s, %s",
			works[0].samples[0].name, works[0].title);
	return error_set(NB_ERR_USAGE,
		"there is nothing to compare: %s (%s) and %s (%s) are different things",
		works[0].title, works[0].samples[0].name, works[1].title,
		works[1].samples[0].name);
}

/** Fail with all reasons in one line. */
static int
refuse(const struct compare_texts *differences)
{
	char text[900] = "";
	size_t used = 0;
	for (size_t i = 0; i < differences->count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
			i > 0 ? "; " : "", differences->items[i]);
	return error_set(NB_ERR_USAGE,
		"these results cannot be ranked: %s (--force compares them all the same)",
		text);
}

static int
compare_all(struct nb_comparison *comparison, const struct nb_compare_options *options)
{
	compare_sort_runs(comparison);
	if (comparison->rc == NB_OK)
		comparison->rc = check_works(comparison, options);
	if (comparison->rc == NB_OK)
		compare_look_for_differences(comparison);
	if (comparison->rc == NB_OK && comparison->differences.count > 0 &&
		options->force == NB_COMPARE_REFUSE)
		comparison->rc = refuse(&comparison->differences);
	comparison->is_unranked = comparison->differences.count > 0 &&
		options->force == NB_COMPARE_UNRANKED;
	for (size_t w = 0; w < comparison->work_count && comparison->rc == NB_OK; w++)
		compare_work(comparison, w, options);
	return comparison->rc;
}

/** The requested confidence of the first vs file. */
static double
confidence_of(const struct nb_compare_input *inputs, size_t count)
{
	double confidence;
	for (size_t i = 0; i < count; i++) {
		const char *text = nb_results_option(inputs[i].results, "confidence");
		if (results_are_versus(inputs[i].results) && text != NULL &&
			nb_parse_real(&confidence, text) == NB_OK)
			return confidence;
	}
	return 0.95;
}

int
nb_comparison_new(struct nb_comparison **out, const struct nb_compare_input *inputs,
	size_t count, const struct nb_compare_options *options)
{
	struct nb_compare_options own = *options;
	if (own.confidence == 0)
		own.confidence = confidence_of(inputs, count);
	if (!(own.confidence > 0.5 && own.confidence < 1))
		return error_set(NB_ERR_USAGE,
			"the confidence must be above 0.5 and below 1, not %g", own.confidence);
	struct nb_comparison *comparison = calloc(1, sizeof(*comparison));
	if (comparison == NULL)
		return error_memory();
	comparison->confidence = own.confidence;
	comparison->is_forced = own.force != NB_COMPARE_REFUSE;
	comparison->inputs = inputs;
	comparison->input_count = count;
	int rc = compare_all(comparison, &own);
	free(comparison->runs);
	if (rc == NB_OK)
		*out = comparison;
	else
		nb_comparison_delete(comparison);
	return rc;
}

int
compare_versus(struct nb_comparison **out, const struct nb_results *results)
{
	struct nb_compare_input input = {results, "vs"};
	struct nb_compare_options options = NB_COMPARE_OPTIONS_INIT;
	const char *force = nb_results_option(results, "force");
	options.confidence = 0;
	options.force = force != NULL && strcmp(force, "yes") == 0 ? NB_COMPARE_FORCE
								   : NB_COMPARE_UNRANKED;
	return nb_comparison_new(out, &input, 1, &options);
}

/* ---- the widest interval ---- */

/** The width relative to the ratio, on the larger side; infinite without an interval. */
static double
width(const struct compare_pair *pair)
{
	const struct stats_ratio *ratio = &pair->ratio;
	if (pair->verdict < COMPARE_UNCERTAIN)
		return INFINITY;
	return fmax(ratio->high / ratio->ratio - 1, 1 - ratio->low / ratio->ratio);
}

/** The throughput ratio with the widest interval. */
struct widest {
	const struct compare_work *work; /* NULL: none */
	const struct compare_metric *metric;
	size_t sample;
	double width;
};

static struct widest
find_widest(const struct nb_comparison *comparison)
{
	struct widest widest = {.work = NULL};
	for (size_t w = 0; w < comparison->work_count; w++) {
		const struct compare_work *work = &comparison->works[w];
		for (size_t m = 0; m < work->metric_count; m++) {
			const struct compare_metric *metric = &work->metrics[m];
			for (size_t s = 1; s < work->sample_count; s++) {
				double own = width(&metric->pairs[s]);
				if (strcmp(metric->name, "throughput") == 0 &&
					metric->pairs[s].verdict != COMPARE_ABSENT &&
					own >= widest.width)
					widest = (struct widest){work, metric, s, own};
			}
		}
	}
	return widest;
}

int
nb_comparison_is_tight(const struct nb_comparison *comparison, double share)
{
	struct widest widest = find_widest(comparison);
	return widest.work != NULL && widest.width <= share;
}

void
nb_comparison_brief(const struct nb_comparison *comparison, char *text, size_t size)
{
	struct widest widest = find_widest(comparison);
	char step[COMPARE_STEP], interval[COMPARE_INTERVAL];
	snprintf(text, size, "%s", "");
	if (widest.work == NULL)
		return;
	const struct compare_pair *pair = &widest.metric->pairs[widest.sample];
	compare_step(step, widest.metric, pair->ratio.ratio);
	compare_interval(interval, widest.metric, &pair->ratio);
	bool has_interval = pair->verdict >= COMPARE_UNCERTAIN;
	snprintf(text, size, "%s: %s is %s than %s%s%s%s", widest.work->title,
		widest.work->samples[widest.sample].name, step, widest.work->samples[0].name,
		has_interval ? " (" : "", has_interval ? interval : "",
		has_interval ? ")" : "");
}
