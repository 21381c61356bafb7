/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as several CSV files: PREFIX-operations.csv, which report_csv.c writes, and
 * beside it
 *
 *     -series.csv    a row for each interval of a run; system counts are those within the
 *                    interval, and levels are those at its end
 *     -latency.csv   the percentile curve of each histogram, a row for each point
 *     -counters.csv  the engine's counters within each interval, a row for each counter;
 *                    a counter that is always 0, or ran backwards, is left out
 *
 * "result" is the same number in all files. All four are written to temporary files before
 * the first is renamed: if the disk is full, the old files stay. Four renames are not
 * atomic, though: the message of a failure between them lists the files that are new.
 */
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/c_locale.h"
#include "base/error.h"
#include "report/csv.h"
#include "report/curve.h"
#include "report/walk.h"

/* ---- system counts ---- */

/** In the order of struct system_counts, without `known`; with the group of each. */
static const struct {
	const char *name;
	uint32_t known; /* SYSTEM_* */
} system_counts[] = {
#define COLUMN(member, column, group, ...) {column, SYSTEM_##group},
	SYSTEM_COUNTS_LIST(COLUMN)
#undef COLUMN
};

static const char *const system_levels_names[] = {
#define COLUMN(member, column, ...) column,
	SYSTEM_LEVELS_LIST(COLUMN)
#undef COLUMN
};

static void
write_system(struct csv *csv, const struct sample *sample)
{
	uint64_t counts[SYSTEM_COUNTS + 1], levels[SYSTEM_LEVELS];
	memcpy(counts, &sample->used, sizeof(counts));
	memcpy(levels, &sample->levels, sizeof(levels));
	for (size_t i = 0; i < SYSTEM_COUNTS; i++) {
		if ((sample->used.known & system_counts[i].known) != 0)
			csv_count(csv, counts[i + 1]);
		else
			csv_empty(csv);
	}
	for (size_t i = 0; i < SYSTEM_LEVELS; i++)
		csv_known(csv, (double)levels[i]);
}

/* ---- kinds of operations as columns ---- */

enum { KINDS_MAX = 2 * (NB_KINDS_MAX + 3) }; /* kinds of jobs, and put, get, delete */

/** The kinds that any sample has. */
struct kinds {
	struct {
		const char *name;
		uint32_t is_response;
	} items[KINDS_MAX];
	size_t count;
};

static void
add_kind(struct kinds *kinds, const char *name, uint32_t is_response)
{
	for (size_t i = 0; i < kinds->count; i++) {
		if (kinds->items[i].is_response == is_response &&
			strcmp(kinds->items[i].name, name) == 0)
			return;
	}
	if (kinds->count == KINDS_MAX)
		return;
	kinds->items[kinds->count].name = name;
	kinds->items[kinds->count++].is_response = is_response;
}

static void
collect_kinds(const struct nb_results *results, struct kinds *kinds)
{
	for (size_t r = 0; r < results->count; r++) {
		const struct record *record = &results->records[r];
		const struct series *series = walk_series(record);
		for (size_t i = 0; i < series->count; i++) {
			const struct sample *sample = &series->samples[i];
			for (size_t j = 0; j < sample->latency_count; j++)
				add_kind(kinds,
					walk_sample_kind(record, sample->latencies[j].kind),
					sample->latencies[j].is_response);
		}
	}
}

static const struct sample_latency *
find_latency(const struct record *record, const struct sample *sample, const char *name,
	uint32_t is_response)
{
	for (size_t i = 0; i < sample->latency_count; i++) {
		const struct sample_latency *it = &sample->latencies[i];
		if (it->is_response == is_response &&
			strcmp(walk_sample_kind(record, it->kind), name) == 0)
			return it;
	}
	return NULL;
}

static void
write_latency(struct csv *csv, const struct sample_latency *latency)
{
	static const struct sample_latency none;
	const struct sample_latency *it = latency != NULL ? latency : &none;
	csv_count(csv, it->count);
	csv_known(csv, (double)it->p50_ns);
	csv_known(csv, (double)it->p99_ns);
	csv_known(csv, (double)it->p999_ns);
	csv_known(csv, (double)it->max_ns);
}

/* ---- -series.csv ---- */

static void
write_series_head(struct csv *csv, const struct kinds *kinds)
{
	static const char *const first[] = {"result", "title", "phase", "end_s", "duration_s",
		"is_warmup", "ops", "rate_ops_s", "behind_ops"};
	static const char *const each[] = {"count", "p50_ns", "p99_ns", "p99.9_ns", "max_ns"};
	char name[96];
	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		csv_text(csv, first[i]);
	for (size_t k = 0; k < kinds->count; k++) {
		for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
			snprintf(name, sizeof(name), "%s_%s_%s", kinds->items[k].name,
				kinds->items[k].is_response ? "response" : "service", each[i]);
			csv_text(csv, name);
		}
	}
	for (size_t i = 0; i < SYSTEM_COUNTS; i++)
		csv_text(csv, system_counts[i].name);
	for (size_t i = 0; i < SYSTEM_LEVELS; i++)
		csv_text(csv, system_levels_names[i]);
	csv_end(csv);
}

static void
write_sample(struct csv *csv, const struct record *record, const struct sample *sample,
	const struct kinds *kinds)
{
	csv_count(csv, sample->phase);
	csv_real(csv, (double)sample->end_ns / 1e9);
	csv_real(csv, (double)sample->duration_ns / 1e9);
	csv_count(csv, sample->is_warmup);
	csv_count(csv, sample->ops);
	csv_real(csv, result_rate((double)sample->ops, sample->duration_ns));
	csv_count(csv, sample->behind_ops);
	for (size_t k = 0; k < kinds->count; k++)
		write_latency(csv,
			find_latency(record, sample, kinds->items[k].name,
				kinds->items[k].is_response));
	write_system(csv, sample);
	csv_end(csv);
}

static int
write_series(const struct nb_results *results, FILE *out)
{
	struct csv csv = {.out = out};
	struct kinds kinds = {.count = 0};
	collect_kinds(results, &kinds);
	write_series_head(&csv, &kinds);
	for (size_t r = 0; r < results->count; r++) {
		const struct record *record = &results->records[r];
		const struct series *series = walk_series(record);
		char title[WALK_TITLE];
		walk_title(results, r, title);
		for (size_t i = 0; i < series->count; i++) {
			csv_count(&csv, r);
			csv_text(&csv, title);
			write_sample(&csv, record, &series->samples[i], &kinds);
		}
	}
	return NB_OK;
}

/* ---- -latency.csv ---- */

static int
write_curve(void *to, const struct walk_row *row)
{
	struct csv csv = {.out = to};
	struct curve curve;
	struct curve_point point;
	if (nb_histogram_count(row->histogram) == 0)
		return NB_OK;
	curve_begin(&curve, row->histogram);
	while (curve_next(&curve, &point)) {
		csv_count(&csv, row->index);
		csv_text(&csv, row->title);
		csv_text(&csv, row->group != NULL ? row->group->name : "");
		csv_text(&csv, row->kind);
		csv_text(&csv, row->series);
		csv_real(&csv, point.percent);
		csv_count(&csv, point.value_ns);
		csv_count(&csv, point.count);
		csv_end(&csv);
	}
	return NB_OK;
}

static int
write_curves(const struct nb_results *results, FILE *out)
{
	fputs("result,title,group,kind,series,percentile,value_ns,count\n", out);
	return walk_results(results, write_curve, out);
}

/* ---- -counters.csv ---- */

/** The counter of a sample; 0 beyond the last one. */
static uint64_t
counter_at(const struct sample *sample, size_t counter)
{
	return counter < sample->counter_count ? sample->counters[counter] : 0;
}

static bool
is_worth_a_row(const struct series *series, size_t counter)
{
	for (size_t i = 0; i < series->count; i++) {
		if (counter_at(&series->samples[i], counter) != 0)
			return !series->counters.items[counter].has_run_back;
	}
	return false;
}

static void
write_counter(struct csv *csv, size_t result, const char *title, const struct series *series,
	size_t counter)
{
	const struct counter *it = &series->counters.items[counter];
	if (!is_worth_a_row(series, counter))
		return;
	for (size_t i = 0; i < series->count; i++) {
		const struct sample *sample = &series->samples[i];
		csv_count(csv, result);
		csv_text(csv, title);
		csv_count(csv, sample->phase);
		csv_real(csv, (double)sample->end_ns / 1e9);
		csv_real(csv, (double)sample->duration_ns / 1e9);
		csv_text(csv, it->name);
		csv_text(csv, it->unit);
		csv_text(csv, it->kind == NB_STAT_COUNTER ? "counter" : "gauge");
		csv_count(csv, counter_at(sample, counter));
		csv_end(csv);
	}
}

static int
write_counters(const struct nb_results *results, FILE *out)
{
	struct csv csv = {.out = out};
	fputs("result,title,phase,end_s,duration_s,counter,unit,kind,value\n", out);
	for (size_t r = 0; r < results->count; r++) {
		const struct series *series = walk_series(&results->records[r]);
		char title[WALK_TITLE];
		walk_title(results, r, title);
		for (size_t c = 0; c < series->counters.count; c++)
			write_counter(&csv, r, title, series, c);
	}
	return NB_OK;
}

/* ---- the files ---- */

static const struct {
	const char *suffix;
	int (*write)(const struct nb_results *results, FILE *out);
} files[] = {
	{"-operations.csv", csv_write_operations},
	{"-series.csv", write_series},
	{"-latency.csv", write_curves},
	{"-counters.csv", write_counters},
};

enum { FILES = sizeof(files) / sizeof(*files) };

const char *
nb_results_csv_suffix(size_t file)
{
	return file < FILES ? files[file].suffix : NULL;
}

static int
fill(struct atomic_file *atomic, const struct nb_results *results, size_t file)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	if (memory == NULL)
		return error_memory();
	int rc = files[file].write(results, memory);
	if (fclose(memory) != 0 && rc == NB_OK)
		rc = error_memory();
	if (rc == NB_OK)
		rc = atomic_file_write(atomic, text, size, 0);
	free(text);
	return rc;
}

static int
open_and_fill(struct atomic_file *atomic, const struct nb_results *results, const char *prefix,
	size_t file)
{
	char *path;
	if (asprintf(&path, "%s%s", prefix, files[file].suffix) < 0)
		return error_memory();
	int rc = atomic_file_open(atomic, path, 0);
	free(path);
	if (rc != NB_OK)
		return rc;
	rc = fill(atomic, results, file);
	if (rc != NB_OK)
		atomic_file_abort(atomic);
	return rc;
}

/** If all files are complete, commit them until one fails; discard the rest. */
static int
write_files(const struct nb_results *results, const char *prefix)
{
	struct atomic_file asides[FILES];
	size_t opened = 0, done = 0;
	int rc = NB_OK;
	while (opened < FILES &&
		(rc = open_and_fill(&asides[opened], results, prefix, opened)) == NB_OK)
		opened++;
	for (; done < opened && rc == NB_OK; done++) {
		atomic_file_sign(&asides[done]);
		rc = atomic_file_commit(&asides[done]);
	}
	for (size_t i = done; i < opened; i++)
		atomic_file_abort(&asides[i]);
	if (rc != NB_OK && done > 1)
		rc = error_prefix(
			rc, "only the files up to '%s' are new", files[done - 2].suffix);
	return rc;
}

int
nb_results_write_csv_files(const struct nb_results *results, const char *prefix)
{
	locale_t before = c_locale_enter();
	int rc = write_files(results, prefix);
	c_locale_leave(before);
	return rc;
}
