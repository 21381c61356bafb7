/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups runs into samples, and samples into works.
 *
 * Runs with the same action and label form a work. In a work, each pair of file and driver
 * is a sample. If several files have the same drivers, each driver is a work of its own and
 * the files are the samples: before and after.
 *
 * Repetitions of vs come in random order. A contestant is one sample. Samples are in the
 * order of the command line, so that the base is the first one named. A contestant that
 * failed is left out with all of its repetitions.
 */
#include "report/compare.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/doc.h"

static bool
has_label(const struct nb_results *results, const char *label)
{
	for (size_t i = 0; i < results->count; i++)
		if (strcmp(record_name(&results->records[i]), label) == 0)
			return true;
	return false;
}

static bool
has_labels_of(const struct nb_results *results, const struct nb_results *other)
{
	for (size_t i = 0; i < other->count; i++)
		if (!has_label(results, record_name(&other->records[i])))
			return false;
	return true;
}

static bool
is_by_file(const struct nb_compare_input *inputs, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (!has_labels_of(inputs[0].results, inputs[i].results) ||
			!has_labels_of(inputs[i].results, inputs[0].results))
			return false;
	return count > 1;
}

/** The name of an input without its directory, if that is unique. */
static const char *
short_name(const struct nb_comparison *comparison, size_t input)
{
	const char *name = comparison->inputs[input].name, *base = strrchr(name, '/');
	if (base == NULL)
		return name;
	for (size_t i = 0; i < comparison->input_count; i++) {
		const char *other = comparison->inputs[i].name, *slash = strrchr(other, '/');
		if (i != input && strcmp(slash != NULL ? slash + 1 : other, base + 1) == 0)
			return name;
	}
	return base + 1;
}

/** Whether the work has several samples with the same file and driver but different plugins. */
static bool
has_twin(const struct compare_work *work, const struct compare_sample *sample)
{
	size_t same = 0;
	for (size_t s = 0; s < work->sample_count; s++)
		same += work->samples[s].input == sample->input &&
			strcmp(work->samples[s].label, sample->label) == 0;
	return same > 1;
}

static void
name_sample(const struct nb_comparison *comparison, const struct compare_work *work,
	struct compare_sample *sample)
{
	const char *file = short_name(comparison, sample->input);
	bool is_alone = true; /* no other file has the driver */
	for (size_t i = 0; i < comparison->input_count; i++)
		is_alone &= i == sample->input ||
			!has_label(comparison->inputs[i].results, sample->label);
	if (has_twin(work, sample))
		snprintf(sample->name, sizeof(sample->name), "%s", sample->path);
	else if (comparison->is_by_file)
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
find_work(struct nb_comparison *comparison, const struct record *record)
{
	const char *driver = comparison->is_by_file ? record_name(record) : "";
	const char *action = record_action(record);
	for (size_t w = 0; w < comparison->work_count; w++) {
		struct compare_work *work = &comparison->works[w];
		if (strcmp(work->action, action) == 0 &&
			strcmp(work->label, record->label) == 0 &&
			strcmp(work->driver, driver) == 0)
			return work;
	}
	struct compare_work *work = array_append(
		&comparison->works, &comparison->work_count, sizeof(*work));
	if (work == NULL)
		return NULL;
	work->is_response = true;
	snprintf(work->action, sizeof(work->action), "%s", action);
	snprintf(work->label, sizeof(work->label), "%s", record->label);
	snprintf(work->driver, sizeof(work->driver), "%s", driver);
	snprintf(work->title, sizeof(work->title), "%s%s%s%s%s", work->action, gap(work->label),
		work->label, gap(work->driver), work->driver);
	doc_clean(work->title);
	return work;
}

static struct compare_sample *
find_sample(struct compare_work *work, const struct compare_run *run)
{
	const struct record *record = run->record;
	const char *path = record->run->engine_path != NULL ? record->run->engine_path : "";
	for (size_t s = 0; s < work->sample_count; s++) {
		struct compare_sample *sample = &work->samples[s];
		if (sample->input == run->input && sample->contestant == record->contestant &&
			strcmp(sample->driver, record->driver) == 0 &&
			strcmp(sample->path, path) == 0)
			return sample;
	}
	struct compare_sample *sample = array_append(
		&work->samples, &work->sample_count, sizeof(*sample));
	if (sample == NULL)
		return NULL;
	sample->input = run->input;
	sample->contestant = record->contestant;
	snprintf(sample->driver, sizeof(sample->driver), "%s", record->driver);
	snprintf(sample->label, sizeof(sample->label), "%s", record_name(record));
	snprintf(sample->path, sizeof(sample->path), "%s", path);
	return sample;
}

static void
sort_run(struct nb_comparison *comparison, struct compare_run *run)
{
	const struct nb_result *result = run->record->run;
	run->work = SIZE_MAX;
	if (result == NULL || run->is_out)
		return;
	struct compare_work *work = find_work(comparison, run->record);
	struct compare_sample *sample = work != NULL ? find_sample(work, run) : NULL;
	if (sample == NULL) {
		comparison->rc = NB_FAIL;
		return;
	}
	run->work = (size_t)(work - comparison->works);
	run->sample = (size_t)(sample - work->samples);
	sample->runs++;
	/* response times exist if operations had due times */
	work->is_response &= result->response != NULL &&
		nb_histogram_count(result->response) > 0;
}

/** Order by file, contestant, and position in the file. */
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

static void
list_runs(struct nb_comparison *comparison)
{
	for (size_t i = 0; i < comparison->input_count; i++) {
		const struct nb_results *results = comparison->inputs[i].results;
		for (size_t r = 0; r < results->count; r++) {
			const struct record *record = &results->records[r];
			struct compare_run *run = array_append(
				&comparison->runs, &comparison->run_count, sizeof(*run));
			if (run == NULL) {
				comparison->rc = NB_FAIL;
				return;
			}
			run->record = record;
			run->input = i;
			run->is_out = record->contestant > 0 &&
				results_contestant_failed(results, record->contestant);
		}
	}
	if (comparison->run_count > 0)
		qsort(comparison->runs, comparison->run_count, sizeof(*comparison->runs),
			order_runs);
}

void
compare_sort_runs(struct nb_comparison *comparison)
{
	comparison->is_by_file = is_by_file(comparison->inputs, comparison->input_count);
	list_runs(comparison);
	for (size_t i = 0; i < comparison->run_count && comparison->rc == NB_OK; i++)
		sort_run(comparison, &comparison->runs[i]);
	for (size_t w = 0; w < comparison->work_count; w++) {
		struct compare_work *work = &comparison->works[w];
		for (size_t s = 0; s < work->sample_count; s++)
			name_sample(comparison, work, &work->samples[s]);
	}
}
