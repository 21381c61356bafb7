/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges parts of records: histograms, counts, threads, series, groups.
 *
 * Histograms are merged, percentiles never: they are computed from the merged histograms.
 *
 * Samples of two series have the same time if the middle of one is within the other.
 * Samples of the longer run without a counterpart are appended. If the intervals differ,
 * the finer series is first made coarser, which loses only detail. If that is impossible,
 * the series is left out.
 */
#include "report/merge_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "report/json_tables.h"

void
merge_histogram(struct nb_histogram **into, const struct nb_histogram *from, int *rc)
{
	if (from == NULL || *rc != NB_OK)
		return;
	if (*into == NULL)
		*rc = nb_histogram_new(into);
	if (*rc != NB_OK)
		return;
	if (nb_histogram_count(*into) > INT64_MAX - nb_histogram_count(from))
		*rc = error_set(NB_ERR_USAGE,
			"results that have 2^63 operations together cannot be merged");
	else
		nb_histogram_merge(*into, from);
}

/**
 * Merge two counts; for a gauge keep the highest level, because a sum of levels means
 * nothing.
 */
static uint64_t
merge_count(uint32_t kind, uint64_t a, uint64_t b)
{
	return kind == NB_STAT_GAUGE ? merge_most(a, b) : merge_sum(a, b);
}

void
merge_counters(struct counters *into, const struct counters *from, int *rc)
{
	static const struct counters none;
	for (size_t i = 0; i < from->count && *rc == NB_OK; i++) {
		const struct counter *it = &from->items[i];
		const struct counter *found = counters_find(into, it->name);
		if (found == NULL) {
			struct counters one = {.items = from->items + i, .count = 1};
			*rc = counters_add_growth(into, &none, &one);
			if (*rc == NB_OK)
				into->items[into->count - 1].has_run_back = it->has_run_back;
			continue;
		}
		struct counter *same = &into->items[found - into->items];
		same->has_run_back |= it->has_run_back;
		same->value = merge_count(same->kind, same->value, it->value);
	}
}

void
merge_threads(struct job_thread **into, uint32_t *count, const struct job_thread *from,
	uint32_t from_count, int *rc)
{
	if (*rc != NB_OK)
		return;
	if (*into == NULL || from == NULL) {
		free(*into);
		*into = NULL;
		*count = 0;
		return;
	}
	if (from_count > JSON_LIST_MAX || *count > JSON_LIST_MAX - from_count) {
		*rc = error_set(NB_ERR_USAGE,
			"results with more than %d threads cannot be merged", JSON_LIST_MAX);
		return;
	}
	struct job_thread *grown = realloc(
		*into, ((size_t)*count + from_count + 1) * sizeof(*grown));
	if (grown == NULL) {
		*rc = error_memory();
		return;
	}
	if (from_count > 0)
		memcpy(grown + *count, from, from_count * sizeof(*grown));
	*into = grown;
	*count += from_count;
}

/* ---- over time ---- */

/** Merge a latency into a sample; if the sample has none of that kind, move it there. */
static int
add_latency(struct sample *into, struct sample_latency *from, struct nb_histogram *work)
{
	for (size_t i = 0; i < into->latency_count; i++) {
		struct sample_latency *it = &into->latencies[i];
		if (it->kind == from->kind && it->is_response == from->is_response)
			return sample_latency_merge(it, from, work);
	}
	struct sample_latency *added = array_append(
		&into->latencies, &into->latency_count, sizeof(*into->latencies));
	if (added == NULL)
		return NB_FAIL;
	*added = *from;
	from->hdr = NULL;
	return NB_OK;
}

/**
 * Reorder a sample's counters from `names`, those of its series, to `into`, which has all
 * of them.
 */
static int
rename_counters(
	struct sample *sample, const struct counters *names, const struct counters *into)
{
	uint64_t *renamed = calloc(into->count + 1, sizeof(*renamed));
	if (renamed == NULL)
		return error_memory();
	for (size_t i = 0; i < sample->counter_count; i++)
		renamed[counters_find(into, names->items[i].name) - into->items] =
			sample->counters[i];
	free(sample->counters);
	sample->counters = renamed;
	sample->counter_count = into->count;
	return NB_OK;
}

/** Add counters by the same names; `into` may have fewer numbers. */
static int
add_counters(struct sample *into, const struct sample *from, const struct counters *names)
{
	while (into->counter_count < names->count)
		if (array_append(&into->counters, &into->counter_count,
			    sizeof(*into->counters)) == NULL)
			return NB_FAIL;
	for (size_t i = 0; i < from->counter_count; i++)
		into->counters[i] = merge_count(
			names->items[i].kind, into->counters[i], from->counters[i]);
	return NB_OK;
}

static int
add_sample(struct sample *into, struct sample *from, const struct counters *names,
	struct nb_histogram *work)
{
	into->ops = merge_sum(into->ops, from->ops);
	into->behind_ops = merge_sum(into->behind_ops, from->behind_ops);
	system_add(&into->used, &from->used);
	int rc = add_counters(into, from, names);
	merge_fields(json_level_fields, &into->levels, &from->levels, &rc);
	for (size_t i = 0; i < from->latency_count && rc == NB_OK; i++)
		rc = add_latency(into, &from->latencies[i], work);
	return rc;
}

/** The sample that contains the middle of `like`; NULL: none. */
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

static void
merge_samples(struct series *into, struct series *from, struct nb_histogram *work, int *rc)
{
	size_t count = into->count;
	merge_counters(&into->counters, &from->counters, rc);
	for (size_t i = 0; i < from->count && *rc == NB_OK; i++) {
		struct sample *it = &from->samples[i];
		*rc = rename_counters(it, &from->counters, &into->counters);
		struct sample *same = find_sample(into, count, it);
		if (*rc == NB_OK)
			*rc = same != NULL ? add_sample(same, it, &into->counters, work)
					   : series_add(into, it);
	}
}

/** Make the finer series as coarse as the other; false: impossible. */
static bool
equalise(struct series *a, struct series *b, struct nb_histogram *work, int *rc)
{
	struct series *fine = a->interval_ns < b->interval_ns ? a : b;
	uint64_t coarse_ns = merge_most(a->interval_ns, b->interval_ns);
	if (fine->interval_ns == 0 || coarse_ns % fine->interval_ns != 0)
		return false;
	if (fine->interval_ns != coarse_ns)
		*rc = series_merge(fine, coarse_ns / fine->interval_ns, work);
	return true;
}

static int
add_pulses(struct pulses *into, const struct pulses *from)
{
	if (from->count > into->count) {
		uint32_t *grown = realloc(into->ops, (from->count + 1) * sizeof(*grown));
		if (grown == NULL)
			return error_memory();
		memset(grown + into->count, 0, (from->count - into->count) * sizeof(*grown));
		into->ops = grown;
		into->count = from->count;
	}
	into->gap_count = 0; /* during a gap of one run, the others continued */
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

/**
 * Merge pulses of equal phases. Their begins may differ, because reading back takes time
 * between phases.
 */
static bool
merge_pulses(struct series *into, const struct series *from, int *rc)
{
	bool fits = into->pulses_count == from->pulses_count;
	for (size_t i = 0; i < into->pulses_count && fits; i++)
		fits = into->pulses[i].phase == from->pulses[i].phase &&
			into->pulses[i].pulse_ns == from->pulses[i].pulse_ns;
	for (size_t i = 0; i < into->pulses_count && fits && *rc == NB_OK; i++)
		*rc = add_pulses(&into->pulses[i], &from->pulses[i]);
	if (!fits)
		drop_pulses(into);
	return fits;
}

bool
merge_series(struct series *into, struct series *from, int *rc)
{
	if (*rc != NB_OK || (into->count == 0 && from->count == 0))
		return merge_pulses(into, from, rc);
	struct nb_histogram *work;
	*rc = nb_histogram_new(&work);
	if (*rc != NB_OK)
		return true;
	bool fits = into->count > 0 && from->count > 0 && equalise(into, from, work, rc);
	if (fits)
		merge_samples(into, from, work, rc);
	nb_histogram_delete(work);
	if (fits)
		return merge_pulses(into, from, rc);
	series_destroy(into);
	return false;
}

/* ---- groups ---- */

void
merge_group(struct job_result_group *into, const struct job_result_group *from, int *rc)
{
	struct job_measurement *measured = &into->measured;
	struct job_findings *findings = &measured->findings;
	const struct job_findings *more = &from->measured.findings;
	merge_fields(json_group_fields, into, from, rc);
	for (uint64_t i = 0; i < more->case_count && findings->case_count < JOB_CASES; i++)
		findings->cases[findings->case_count++] = more->cases[i];
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++)
		merge_fields(json_kind_fields, &measured->kinds[kind],
			&from->measured.kinds[kind], rc);
	merge_threads(&measured->threads, &measured->thread_count, from->measured.threads,
		from->measured.thread_count, rc);
}
