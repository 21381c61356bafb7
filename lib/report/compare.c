/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of runs against each other: which runs make a sample, what each run counts for.
 *
 * A run is one value of each metric, however many operations it had: those within a run
 * share its machine, its cache and its luck, and a test on them would find any difference
 * significant. So a percentile is each run's own, from that run's histogram and only where
 * it has the operations for it; a sample is told by the median of its runs' values, and the
 * statistics are on those values (base/stats.c). Rejected: merging the histograms of a
 * sample, which hides how much the runs differ; averaging percentiles.
 *
 * The maximum is no metric: it is a single operation, it grows with the number of them, and
 * no number of runs makes it settle.
 *
 * Runs of one action and label are one work. Within it a file and a driver are one sample;
 * but where several files have the same drivers, each driver is a work of its own and the
 * files are the samples: that is a before and an after.
 *
 * Repetitions of vs come in random order. A contestant is one sample, and samples are in the
 * order of the command line, so that the base is the first one named. A contestant that failed
 * is left out with all of its repetitions.
 */
#include "report/compare.h"
#include "report/doc.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int
out_of_memory(void)
{
	error_set(NB_FAIL, "out of memory");
	return NB_FAIL;
}

int
compare_add_text(struct compare_texts *texts, const char *fmt, ...)
{
	char *text;
	va_list args;
	va_start(args, fmt);
	int length = vasprintf(&text, fmt, args);
	va_end(args);
	if (length < 0)
		return out_of_memory();
	for (size_t i = 0; i < texts->count; i++) {
		if (strcmp(texts->items[i], text) == 0) {
			free(text);
			return NB_OK;
		}
	}
	char **grown = realloc(texts->items, (texts->count + 1) * sizeof(*grown));
	if (grown == NULL) {
		free(text);
		return out_of_memory();
	}
	texts->items = grown;
	grown[texts->count++] = text;
	return NB_OK;
}

static void
destroy_texts(struct compare_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->items[i]);
	free(texts->items);
}

static void
destroy_work(struct compare_work *work)
{
	for (size_t m = 0; m < work->metric_count; m++) {
		struct compare_metric *metric = &work->metrics[m];
		for (size_t s = 0; metric->of != NULL && s < work->sample_count; s++)
			free(metric->of[s].values);
		free(metric->of);
		free(metric->pairs);
	}
	free(work->metrics);
	free(work->samples);
}

void
nb_comparison_delete(struct nb_comparison *comparison)
{
	if (comparison == NULL)
		return;
	for (size_t w = 0; w < comparison->work_count; w++)
		destroy_work(&comparison->works[w]);
	free(comparison->works);
	destroy_texts(&comparison->differences);
	destroy_texts(&comparison->warnings);
	free(comparison);
}

/* ---- which runs belong together ---- */

/** What there is to sort. */
struct sorting {
	const struct nb_compare_input *inputs;
	size_t input_count;
	bool is_by_file; /* the same drivers in all files */
	struct compare_runs runs;
	struct nb_comparison *comparison;
};

static bool
has_label(const struct nb_results *results, const char *label)
{
	for (size_t i = 0; i < results->count; i++)
		if (strcmp(record_name(&results->records[i]), label) == 0)
			return true;
	return false;
}

static bool
have_same_labels(const struct nb_results *a, const struct nb_results *b)
{
	for (size_t i = 0; i < a->count; i++)
		if (!has_label(b, record_name(&a->records[i])))
			return false;
	for (size_t i = 0; i < b->count; i++)
		if (!has_label(a, record_name(&b->records[i])))
			return false;
	return true;
}

static bool
is_by_file(const struct nb_compare_input *inputs, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (!have_same_labels(inputs[0].results, inputs[i].results))
			return false;
	return count > 1;
}

/** Without its directory, where that is enough to tell the files apart. */
static const char *
short_name(const struct sorting *sorting, size_t input)
{
	const char *name = sorting->inputs[input].name, *base = strrchr(name, '/');
	if (base == NULL)
		return name;
	for (size_t i = 0; i < sorting->input_count; i++) {
		const char *other = sorting->inputs[i].name, *slash = strrchr(other, '/');
		if (i != input && strcmp(slash != NULL ? slash + 1 : other, base + 1) == 0)
			return name;
	}
	return base + 1;
}

/** Whether another sample of that work is of the same file and driver: of another plugin. */
static bool
has_twin(const struct compare_work *work, const struct compare_sample *sample)
{
	for (size_t s = 0; s < work->sample_count; s++) {
		const struct compare_sample *other = &work->samples[s];
		if (other != sample && other->input == sample->input &&
			strcmp(other->label, sample->label) == 0)
			return true;
	}
	return false;
}

static void
name_sample(const struct sorting *sorting, const struct compare_work *work,
	struct compare_sample *sample)
{
	const char *file = short_name(sorting, sample->input);
	bool is_alone = true; /* the driver is in no other file */
	for (size_t i = 0; i < sorting->input_count; i++)
		is_alone &= i == sample->input ||
			!has_label(sorting->inputs[i].results, sample->label);
	if (has_twin(work, sample))
		snprintf(sample->name, sizeof(sample->name), "%s", sample->path);
	else if (sorting->is_by_file)
		snprintf(sample->name, sizeof(sample->name), "%s", file);
	else if (is_alone)
		snprintf(sample->name, sizeof(sample->name), "%s", sample->label);
	else
		snprintf(sample->name, sizeof(sample->name), "%.96s of %.64s", sample->label,
			file);
	doc_clean(sample->name);
}

static const char *
gap(const char *text)
{
	return text[0] != '\0' ? " " : "";
}

static struct compare_work *
find_work(struct sorting *sorting, const struct record *record)
{
	struct nb_comparison *comparison = sorting->comparison;
	const char *driver = sorting->is_by_file ? record_name(record) : "";
	const char *action = record_action(record);
	for (size_t w = 0; w < comparison->work_count; w++) {
		struct compare_work *work = &comparison->works[w];
		if (strcmp(work->action, action) == 0 &&
			strcmp(work->label, record->label) == 0 &&
			strcmp(work->driver, driver) == 0)
			return work;
	}
	size_t bytes = (comparison->work_count + 1) * sizeof(*comparison->works);
	struct compare_work *grown = realloc(comparison->works, bytes);
	if (grown == NULL)
		return NULL;
	comparison->works = grown;
	struct compare_work *work = &grown[comparison->work_count++];
	*work = (struct compare_work){.is_response = true};
	snprintf(work->action, sizeof(work->action), "%s", action);
	snprintf(work->label, sizeof(work->label), "%s", record->label);
	snprintf(work->driver, sizeof(work->driver), "%s", driver);
	snprintf(work->title, sizeof(work->title), "%s%s%s%s%s", work->action, gap(work->label),
		work->label, gap(work->driver), work->driver);
	doc_clean(work->title);
	return work;
}

static const char *
path_of(const struct record *record)
{
	return record->run->engine_path != NULL ? record->run->engine_path : "";
}

static struct compare_sample *
find_sample(struct compare_work *work, const struct compare_run *run)
{
	for (size_t s = 0; s < work->sample_count; s++) {
		struct compare_sample *sample = &work->samples[s];
		if (sample->input == run->input &&
			sample->contestant == run->record->contestant &&
			strcmp(sample->driver, run->record->driver) == 0 &&
			strcmp(sample->path, path_of(run->record)) == 0)
			return sample;
	}
	size_t bytes = (work->sample_count + 1) * sizeof(*work->samples);
	struct compare_sample *grown = realloc(work->samples, bytes);
	if (grown == NULL)
		return NULL;
	work->samples = grown;
	struct compare_sample *sample = &grown[work->sample_count++];
	*sample = (struct compare_sample){
		.input = run->input, .contestant = run->record->contestant};
	snprintf(sample->driver, sizeof(sample->driver), "%s", run->record->driver);
	snprintf(sample->label, sizeof(sample->label), "%s", record_name(run->record));
	snprintf(sample->path, sizeof(sample->path), "%s", path_of(run->record));
	return sample;
}

/** Whether operations were due at times of their own. */
static bool
has_response(const struct record *record)
{
	return record->run->response != NULL && nb_histogram_count(record->run->response) > 0;
}

static int
sort_run(struct sorting *sorting, struct compare_run *run)
{
	run->work = SIZE_MAX;
	if (run->record->run == NULL || run->is_out)
		return NB_OK;
	struct compare_work *work = find_work(sorting, run->record);
	struct compare_sample *sample = work != NULL ? find_sample(work, run) : NULL;
	if (sample == NULL)
		return out_of_memory();
	run->work = (size_t)(work - sorting->comparison->works);
	run->sample = (size_t)(sample - work->samples);
	sample->runs++;
	work->is_response &= has_response(run->record);
	return NB_OK;
}

/** By file, contestant, and place in the file. */
static int
order_runs(const void *a, const void *b)
{
	const struct compare_run *one = a, *other = b;
	if (one->input != other->input)
		return one->input < other->input ? -1 : 1;
	if (one->record->contestant != other->record->contestant)
		return one->record->contestant < other->record->contestant ? -1 : 1;
	return one->record < other->record ? -1 : 1;
}

static int
list_runs(struct sorting *sorting)
{
	struct compare_runs *runs = &sorting->runs;
	size_t count = 0;
	for (size_t i = 0; i < sorting->input_count; i++)
		count += sorting->inputs[i].results->count;
	runs->items = calloc(count + 1, sizeof(*runs->items));
	if (runs->items == NULL)
		return out_of_memory();
	for (size_t i = 0; i < sorting->input_count; i++) {
		const struct nb_results *results = sorting->inputs[i].results;
		for (size_t r = 0; r < results->count; r++) {
			const struct record *record = &results->records[r];
			bool is_out = record->contestant > 0 &&
				results_contestant_failed(results, record->contestant);
			runs->items[runs->count++] = (struct compare_run){
				.record = record, .input = i, .is_out = is_out};
		}
	}
	qsort(runs->items, runs->count, sizeof(*runs->items), order_runs);
	return NB_OK;
}

static int
sort_runs(struct sorting *sorting)
{
	int rc = list_runs(sorting);
	for (size_t i = 0; i < sorting->runs.count && rc == NB_OK; i++)
		rc = sort_run(sorting, &sorting->runs.items[i]);
	for (size_t w = 0; w < sorting->comparison->work_count; w++) {
		struct compare_work *work = &sorting->comparison->works[w];
		for (size_t s = 0; s < work->sample_count; s++)
			name_sample(sorting, work, &work->samples[s]);
	}
	return rc;
}

/* ---- what a run counts for ---- */

/** Names of the kinds of foreground operations of all runs of a work. */
struct kinds {
	char names[NB_OP_KINDS][24];
	size_t count;
};

static void
add_kinds(struct kinds *kinds, const struct record *record)
{
	struct record_group groups[NB_GROUPS_MAX];
	size_t count = record_groups(record, groups);
	for (size_t g = 0; g < count; g++) {
		for (size_t k = 0; k < groups[g].kind_count && !groups[g].is_background; k++) {
			size_t i = 0;
			const char *name = groups[g].kinds[k].name;
			while (i < kinds->count && strcmp(kinds->names[i], name) != 0)
				i++;
			if (i == kinds->count && i < NB_OP_KINDS)
				snprintf(kinds->names[kinds->count++], sizeof(kinds->names[0]),
					"%s", name);
		}
	}
}

/** Latencies of one kind of all foreground groups of this run, merged; NULL if memory does not reach. */
static struct nb_histogram *
latencies_of_kind(const struct record *record, const char *kind, bool is_response)
{
	struct record_group groups[NB_GROUPS_MAX];
	size_t count = record_groups(record, groups);
	struct nb_histogram *all;
	if (nb_histogram_new(&all) != NB_OK)
		return NULL;
	for (size_t g = 0; g < count; g++) {
		for (size_t k = 0; k < groups[g].kind_count && !groups[g].is_background; k++) {
			const struct record_kind *it = &groups[g].kinds[k];
			const struct nb_histogram *from = is_response && it->response != NULL
				? it->response
				: it->service;
			if (strcmp(it->name, kind) == 0)
				nb_histogram_merge(all, from);
		}
	}
	return all;
}

/** Append, if the metric has a value: one above 0. */
static int
add_value(struct compare_values *values, double value)
{
	if (!(value > 0))
		return NB_OK;
	double *grown = realloc(values->values, (values->count + 1) * sizeof(*grown));
	if (grown == NULL)
		return out_of_memory();
	values->values = grown;
	grown[values->count++] = value;
	return NB_OK;
}

/** Values of this run for the metrics of one kind, or of all operations: `metrics` are those. */
static int
add_values_of(struct compare_metric *metrics, size_t count, size_t sample,
	const struct metric_source *source)
{
	int rc = NB_OK;
	for (size_t m = 0; m < count && rc == NB_OK; m++)
		rc = add_value(
			&metrics[m].of[sample], metric_take(metrics[m].row, source).real);
	return rc;
}

static size_t
kind_length(const struct compare_work *work, size_t first)
{
	size_t m = first;
	while (m < work->metric_count &&
		strcmp(work->metrics[m].kind, work->metrics[first].kind) == 0)
		m++;
	return m - first;
}

static int
add_values(struct compare_work *work, const struct compare_run *run)
{
	struct metric_source source;
	int rc = NB_OK;
	metric_source_create(&source, run->record);
	for (size_t m = 0, count; m < work->metric_count && rc == NB_OK; m += count) {
		struct compare_metric *metric = &work->metrics[m];
		struct nb_histogram *own = NULL;
		count = kind_length(work, m);
		if (metric->kind[0] == '\0')
			source.histogram = record_latency(run->record, work->is_response);
		else
			source.histogram = own = latencies_of_kind(
				run->record, metric->kind, work->is_response);
		rc = source.histogram == NULL
			? out_of_memory()
			: add_values_of(metric, count, run->sample, &source);
		nb_histogram_delete(own);
	}
	return rc;
}

static int
add_metric(struct compare_work *work, const char *kind, const struct metric *row)
{
	struct compare_metric *grown = realloc(
		work->metrics, (work->metric_count + 1) * sizeof(*grown));
	if (grown == NULL)
		return out_of_memory();
	work->metrics = grown;
	struct compare_metric *metric = &grown[work->metric_count++];
	*metric = (struct compare_metric){.row = row,
		.of = calloc(work->sample_count, sizeof(*metric->of)),
		.pairs = calloc(work->sample_count, sizeof(*metric->pairs))};
	snprintf(metric->kind, sizeof(metric->kind), "%s", kind);
	snprintf(metric->name, sizeof(metric->name), "%s%s%s", kind, kind[0] != '\0' ? "." : "",
		row->figure.name);
	return metric->of != NULL && metric->pairs != NULL ? NB_OK : out_of_memory();
}

/** Rates are of all operations, and stand first; times are of each kind, too. */
static int
add_metrics(struct compare_work *work, const char *kind)
{
	int rc = NB_OK;
	for (int are_times = kind[0] != '\0'; are_times <= 1; are_times++) {
		for (const struct metric *row = metric_table; row->name != NULL && rc == NB_OK;
			row++)
			if (row->figure.name != NULL && (row->unit == METRIC_NS) == are_times)
				rc = add_metric(work, kind, row);
	}
	return rc;
}

static int
measure_work(struct sorting *sorting, size_t index)
{
	struct compare_work *work = &sorting->comparison->works[index];
	const struct compare_runs *runs = &sorting->runs;
	struct kinds kinds = {.count = 0};
	for (size_t i = 0; i < runs->count; i++)
		if (runs->items[i].work == index)
			add_kinds(&kinds, runs->items[i].record);
	int rc = add_metrics(work, "");
	for (size_t k = 0; k < kinds.count && kinds.count > 1 && rc == NB_OK; k++)
		rc = add_metrics(work, kinds.names[k]);
	for (size_t i = 0; i < runs->count && rc == NB_OK; i++)
		if (runs->items[i].work == index)
			rc = add_values(work, &runs->items[i]);
	return rc;
}

/* ---- the statistics ---- */

/**
 * Both the test and the interval must say it, and the interval be as sure as was asked: the
 * bootstrap's can exclude 1 where the test is not sure.
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

/** Whether any sample has it together with the first. */
static bool
has_pair(const struct compare_work *work, const struct compare_metric *metric)
{
	for (size_t s = 1; s < work->sample_count; s++)
		if (metric->pairs[s].verdict != COMPARE_ABSENT)
			return true;
	return false;
}

/** Drop the metrics that say nothing, and keep which percentiles are among them. */
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
		for (size_t s = 0; s < work->sample_count; s++)
			free(metric->of[s].values);
		free(metric->of);
		free(metric->pairs);
	}
	work->metric_count = kept;
}

static int
compare_works(struct sorting *sorting, const struct nb_compare_options *options)
{
	int rc = NB_OK;
	for (size_t w = 0; w < sorting->comparison->work_count && rc == NB_OK; w++) {
		struct compare_work *work = &sorting->comparison->works[w];
		rc = measure_work(sorting, w);
		for (size_t m = 0; m < work->metric_count && rc == NB_OK; m++)
			rc = compare_metric(work, &work->metrics[m], options);
		if (rc == NB_OK)
			drop_absent(work);
	}
	return rc;
}

/* ---- whole ---- */

/** Say what stands alone; NB_ERR_USAGE if all does. */
static int
check_works(struct nb_comparison *comparison)
{
	size_t compared = 0;
	int rc = NB_OK;
	for (size_t w = 0; w < comparison->work_count && rc == NB_OK; w++) {
		const struct compare_work *work = &comparison->works[w];
		if (work->sample_count > 1)
			compared++;
		else
			rc = compare_add_text(&comparison->warnings,
				"%s is of %s alone, and compared with nothing", work->title,
				work->samples[0].name);
	}
	if (rc != NB_OK || compared > 0)
		return rc;
	if (comparison->work_count == 0)
		return error_set(NB_ERR_USAGE, "there is no run with a result");
	if (comparison->work_count == 1)
		return error_set(NB_ERR_USAGE,
			"there is nothing to compare: all runs are of %s, %s",
			comparison->works[0].samples[0].name, comparison->works[0].title);
	return error_set(NB_ERR_USAGE,
		"there is nothing to compare: %s (%s) and %s (%s) are different things",
		comparison->works[0].title, comparison->works[0].samples[0].name,
		comparison->works[1].title, comparison->works[1].samples[0].name);
}

/** All of them in one line. */
static int
refuse(const struct compare_texts *differences)
{
	char text[900] = "";
	size_t used = 0;
	for (size_t i = 0; i < differences->count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
			i > 0 ? "; " : "", differences->items[i]);
	return error_set(
		NB_ERR_USAGE, "these cannot be ranked: %s (--force: all the same)", text);
}

static int
compare_all(struct sorting *sorting, const struct nb_compare_options *options)
{
	struct nb_comparison *comparison = sorting->comparison;
	sorting->is_by_file = is_by_file(sorting->inputs, sorting->input_count);
	int rc = sort_runs(sorting);
	if (rc == NB_OK)
		rc = check_works(comparison);
	if (rc == NB_OK)
		rc = compare_look_for_differences(comparison, &sorting->runs);
	if (rc == NB_OK && comparison->differences.count > 0 && options->force == 0)
		rc = refuse(&comparison->differences);
	return rc == NB_OK ? compare_works(sorting, options) : rc;
}

/** As sure as the first file of vs was asked to be. */
static double
confidence_of(const struct nb_compare_input *inputs, size_t count)
{
	double confidence;
	for (size_t i = 0; i < count; i++) {
		const char *text = results_option(inputs[i].results, "confidence");
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
	struct sorting sorting = {.inputs = inputs, .input_count = count};
	struct nb_compare_options own = *options;
	if (own.confidence == 0)
		own.confidence = confidence_of(inputs, count);
	if (!(own.confidence > 0.5 && own.confidence < 1))
		return error_set(NB_ERR_USAGE,
			"a confidence of %g: allowed is what is above 0.5 and below 1",
			own.confidence);
	sorting.comparison = calloc(1, sizeof(*sorting.comparison));
	if (sorting.comparison == NULL)
		return out_of_memory();
	sorting.comparison->confidence = own.confidence;
	sorting.comparison->is_forced = own.force != 0;
	int rc = compare_all(&sorting, &own);
	free(sorting.runs.items);
	if (rc == NB_OK)
		*out = sorting.comparison;
	else
		nb_comparison_delete(sorting.comparison);
	return rc;
}

int
compare_versus(struct nb_comparison **out, const struct nb_results *results)
{
	struct nb_compare_input input = {results, "vs"};
	struct nb_compare_options options = NB_COMPARE_OPTIONS_INIT;
	const char *force = results_option(results, "force");
	options.confidence = 0;
	options.force = 1;
	int rc = nb_comparison_new(out, &input, 1, &options);
	if (rc == NB_OK)
		(*out)->is_unranked = (*out)->differences.count > 0 &&
			(force == NULL || strcmp(force, "yes") != 0);
	return rc;
}

/** As a share of the ratio, the larger of both sides; of none it is endless. */
static double
width(const struct compare_pair *pair)
{
	const struct stats_ratio *ratio = &pair->ratio;
	if (pair->verdict < COMPARE_UNCERTAIN)
		return INFINITY;
	return fmax(ratio->high / ratio->ratio - 1, 1 - ratio->low / ratio->ratio);
}

/** The metric and the sample with the widest ratio of throughputs; its width, 0: there is none. */
static double
find_widest(const struct nb_comparison *comparison, const struct compare_work **work,
	const struct compare_metric **metric, size_t *sample)
{
	double widest = 0;
	for (size_t w = 0; w < comparison->work_count; w++) {
		const struct compare_work *it = &comparison->works[w];
		for (size_t m = 0; m < it->metric_count; m++) {
			if (strcmp(it->metrics[m].name, "throughput") != 0)
				continue;
			for (size_t s = 1; s < it->sample_count; s++) {
				double own = width(&it->metrics[m].pairs[s]);
				if (it->metrics[m].pairs[s].verdict == COMPARE_ABSENT ||
					own < widest)
					continue;
				widest = own;
				*work = it;
				*metric = &it->metrics[m];
				*sample = s;
			}
		}
	}
	return widest;
}

int
nb_comparison_is_tight(const struct nb_comparison *comparison, double share)
{
	const struct compare_work *work = NULL;
	const struct compare_metric *metric;
	size_t sample;
	double widest = find_widest(comparison, &work, &metric, &sample);
	return work != NULL && widest <= share;
}

void
nb_comparison_brief(const struct nb_comparison *comparison, char *text, size_t size)
{
	const struct compare_work *work = NULL;
	const struct compare_metric *metric;
	size_t sample;
	char step[COMPARE_STEP], interval[COMPARE_INTERVAL];
	find_widest(comparison, &work, &metric, &sample);
	snprintf(text, size, "%s", "");
	if (work == NULL)
		return;
	const struct compare_pair *pair = &metric->pairs[sample];
	compare_step(step, metric, pair->ratio.ratio);
	compare_interval(interval, metric, &pair->ratio);
	bool has_interval = pair->verdict >= COMPARE_UNCERTAIN;
	snprintf(text, size, "%s: %s is %s than %s%s%s%s", work->title,
		work->samples[sample].name, step, work->samples[0].name,
		has_interval ? " (" : "", has_interval ? interval : "",
		has_interval ? ")" : "");
}
