/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of records put together: histograms, counts, threads, series, groups.
 *
 * Histograms are merged, percentiles never: those of the whole follow from the merged ones.
 * Samples of two series are of the same time if the middle of one is within the other; what
 * one run did longer than the other stands behind. Series of other intervals are made
 * coarser first, which loses nothing but detail, and left out where that cannot be done.
 */
#include "report/merge_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/json_course.h"
#include "report/json_tables.h"

static int
out_of_memory(void)
{
	return error_set(NB_FAIL, "out of memory");
}

int
merge_histogram(struct nb_histogram **into, const struct nb_histogram *from)
{
	if (from == NULL)
		return NB_OK;
	int rc = *into == NULL ? nb_histogram_new(into) : NB_OK;
	if (rc == NB_OK && nb_histogram_count(*into) > INT64_MAX - nb_histogram_count(from))
		return error_set(NB_ERR_USAGE,
			"results cannot be merged that have 2^63 operations together");
	if (rc == NB_OK)
		nb_histogram_merge(*into, from);
	return rc;
}

static struct counter *
find_counter(struct counters *counters, const char *name)
{
	for (size_t i = 0; i < counters->count; i++) {
		if (strcmp(counters->items[i].name, name) == 0)
			return &counters->items[i];
	}
	return NULL;
}

int
merge_counters(struct counters *into, const struct counters *from)
{
	static const struct counters none;
	for (size_t i = 0; i < from->count; i++) {
		const struct counter *it = &from->items[i];
		struct counter *same = find_counter(into, it->name);
		if (same == NULL) {
			struct counters one = {.items = from->items + i, .count = 1};
			int rc = counters_add_growth(into, &none, &one);
			if (rc != NB_OK)
				return rc;
			into->items[into->count - 1].has_run_back = it->has_run_back;
			continue;
		}
		same->has_run_back |= it->has_run_back;
		same->value = same->kind == NB_STAT_GAUGE ? merge_most(same->value, it->value)
							  : merge_sum(same->value, it->value);
	}
	return NB_OK;
}

int
merge_threads(struct job_thread **into, uint32_t *count, const struct job_thread *from,
	uint32_t from_count)
{
	if (*into == NULL || from == NULL) {
		free(*into);
		*into = NULL;
		*count = 0;
		return NB_OK;
	}
	if (from_count > JSON_LIST_MAX || *count > JSON_LIST_MAX - from_count)
		return error_set(NB_ERR_USAGE,
			"results with more than %d threads cannot be merged", JSON_LIST_MAX);
	struct job_thread *grown = realloc(
		*into, ((size_t)*count + from_count + 1) * sizeof(*grown));
	if (grown == NULL)
		return out_of_memory();
	if (from_count > 0)
		memcpy(grown + *count, from, from_count * sizeof(*grown));
	*into = grown;
	*count += from_count;
	return NB_OK;
}

/* ---- over time ---- */

/** Takes it, where there is none of that kind yet. */
static int
add_latency(struct sample *into, struct sample_latency *from)
{
	for (size_t i = 0; i < into->latency_count; i++) {
		struct sample_latency *it = &into->latencies[i];
		if (it->kind == from->kind && it->is_response == from->is_response)
			return sample_latency_merge(it, from);
	}
	size_t bytes = (into->latency_count + 1) * sizeof(*into->latencies);
	struct sample_latency *grown = realloc(into->latencies, bytes);
	if (grown == NULL)
		return out_of_memory();
	into->latencies = grown;
	grown[into->latency_count++] = *from;
	from->hdr = NULL;
	return NB_OK;
}

/** The numbers of a sample's counters, by the names of another series. */
static int
rename_counters(struct sample *sample, const struct counters *from, struct counters *into)
{
	uint64_t *renamed = calloc(into->count + 1, sizeof(*renamed));
	if (renamed == NULL)
		return out_of_memory();
	for (size_t i = 0; i < sample->counter_count; i++)
		renamed[find_counter(into, from->items[i].name) - into->items] =
			sample->counters[i];
	free(sample->counters);
	sample->counters = renamed;
	sample->counter_count = into->count;
	return NB_OK;
}

/** Both by the same names; the first may have fewer numbers. */
static int
add_counters(struct sample *into, const struct sample *from, const struct counters *names)
{
	uint64_t *grown = realloc(into->counters, (names->count + 1) * sizeof(*grown));
	if (grown == NULL)
		return out_of_memory();
	for (size_t i = into->counter_count; i < names->count; i++)
		grown[i] = 0;
	into->counters = grown;
	into->counter_count = names->count;
	for (size_t i = 0; i < from->counter_count; i++)
		grown[i] = names->items[i].kind == NB_STAT_GAUGE
			? merge_most(grown[i], from->counters[i])
			: merge_sum(grown[i], from->counters[i]);
	return NB_OK;
}

static int
add_sample(struct sample *into, struct sample *from, const struct counters *names)
{
	into->ops = merge_sum(into->ops, from->ops);
	into->behind_ops = merge_sum(into->behind_ops, from->behind_ops);
	system_add(&into->used, &from->used);
	int rc = merge_fields(json_level_fields, &into->levels, &from->levels);
	if (rc == NB_OK)
		rc = add_counters(into, from, names);
	for (size_t i = 0; i < from->latency_count && rc == NB_OK; i++)
		rc = add_latency(into, &from->latencies[i]);
	return rc;
}

/** The one that the middle of `like` is in; NULL if there is none. */
static struct sample *
find_sample(struct series *series, size_t count, const struct sample *like)
{
	uint64_t middle = like->end_ns - like->duration_ns / 2;
	for (size_t i = 0; i < count; i++) {
		struct sample *it = &series->samples[i];
		bool is_within = it->end_ns >= middle && it->end_ns - middle <= it->duration_ns;
		if (is_within && it->phase == like->phase && it->is_warmup == like->is_warmup)
			return it;
	}
	return NULL;
}

static int
merge_samples(struct series *into, struct series *from)
{
	size_t count = into->count;
	int rc = merge_counters(&into->counters, &from->counters);
	for (size_t i = 0; i < from->count && rc == NB_OK; i++) {
		struct sample *it = &from->samples[i];
		rc = rename_counters(it, &from->counters, &into->counters);
		struct sample *same = find_sample(into, count, it);
		if (rc == NB_OK)
			rc = same != NULL ? add_sample(same, it, &into->counters)
					  : series_add(into, it);
	}
	return rc;
}

/** NB_OK also where they do not fit, which is told in *fits. */
static int
equalise(struct series *a, struct series *b, bool *fits)
{
	struct series *fine = a->interval_ns < b->interval_ns ? a : b;
	uint64_t coarse_ns = merge_most(a->interval_ns, b->interval_ns);
	*fits = fine->interval_ns > 0 && coarse_ns % fine->interval_ns == 0;
	return *fits && fine->interval_ns != coarse_ns
		? series_merge(fine, coarse_ns / fine->interval_ns)
		: NB_OK;
}

static int
add_pulses(struct pulses *into, const struct pulses *from)
{
	if (from->count > into->count) {
		uint32_t *grown = realloc(into->ops, (from->count + 1) * sizeof(*grown));
		if (grown == NULL)
			return out_of_memory();
		memset(grown + into->count, 0, (from->count - into->count) * sizeof(*grown));
		into->ops = grown;
		into->count = from->count;
	}
	into->gap_count = 0; /* in a gap of the one, others went on */
	for (size_t i = 0; i < from->count; i++) {
		uint64_t sum = (uint64_t)into->ops[i] + from->ops[i];
		into->ops[i] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
	}
	return NB_OK;
}

static void
drop_pulses(struct series *series)
{
	for (size_t i = 0; i < series->pulses_count; i++)
		free(series->pulses[i].ops);
	free(series->pulses);
	series->pulses = NULL;
	series->pulses_count = 0;
}

/** Begins of phases differ by what was read back between them: they are counted from those. */
static int
merge_pulses(struct series *into, const struct series *from, bool *is_whole)
{
	bool fits = into->pulses_count == from->pulses_count;
	for (size_t i = 0; i < into->pulses_count && fits; i++)
		fits = into->pulses[i].phase == from->pulses[i].phase &&
			into->pulses[i].pulse_ns == from->pulses[i].pulse_ns;
	int rc = NB_OK;
	for (size_t i = 0; i < into->pulses_count && fits && rc == NB_OK; i++)
		rc = add_pulses(&into->pulses[i], &from->pulses[i]);
	if (!fits)
		drop_pulses(into);
	*is_whole &= fits;
	return rc;
}

int
merge_series(struct series *into, struct series *from, bool *is_whole)
{
	*is_whole = true;
	if (into->count == 0 && from->count == 0)
		return merge_pulses(into, from, is_whole);
	bool fits = false;
	int rc = NB_OK;
	if (into->count > 0 && from->count > 0)
		rc = equalise(into, from, &fits);
	if (rc == NB_OK && fits) {
		rc = merge_samples(into, from);
		return rc == NB_OK ? merge_pulses(into, from, is_whole) : rc;
	}
	series_destroy(into);
	*is_whole = false;
	return rc;
}

/* ---- groups ---- */

static void
add_cases(struct job_findings *into, const struct job_findings *from)
{
	for (uint64_t i = 0; i < from->case_count && into->case_count < JOB_CASES; i++)
		into->cases[into->case_count++] = from->cases[i];
}

int
merge_group(struct job_result_group *into, const struct job_result_group *from)
{
	struct job_measurement *measured = &into->measured;
	int rc = merge_fields(json_group_fields, into, from);
	add_cases(&measured->findings, &from->measured.findings);
	for (uint32_t kind = 0; kind < NB_OP_KINDS && rc == NB_OK; kind++)
		rc = merge_fields(
			json_kind_fields, &measured->kinds[kind], &from->measured.kinds[kind]);
	return rc == NB_OK ? merge_threads(&measured->threads, &measured->thread_count,
				     from->measured.threads, from->measured.thread_count)
			   : rc;
}
