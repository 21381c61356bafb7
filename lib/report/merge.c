/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merges records into one, as if they had been one run with all their threads in parallel.
 * Counts are added, times are the longest, and a rate is operations divided by that time.
 * Percentiles come from merged histograms only.
 *
 * If the runs were consecutive, the rate is too high, because no run did all operations in
 * the longest time. So a note gives the number of results. Members that cannot be added and
 * have no longest, like the environment, come from the first record.
 *
 * A record is copied by writing it and reading it back. Result files promise an equal
 * record anyway, and so a copy cannot miss a member.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "report/record.h"
#include "report/json_tables.h"
#include "report/merge_parts.h"

enum { NOTE_SIZE = 512 };

static const char note_id[] = "merged", series_note_id[] = "merged-series",
		  stream_note_id[] = "merged-streams", engine_note_id[] = "merged-versions";

/* ---- checks ---- */

static int
refuse(size_t index, const char *what, const char *first, const char *other)
{
	return error_set(NB_ERR_USAGE,
		"result %zu cannot be merged with the first: its %s is %s, not %s", index + 1,
		what, other, first);
}

/** Describe the sizes of keys and values, for comparing them. */
static void
describe_sizes(const struct record *record, char *text, size_t size)
{
	const struct nb_workload *workload = &record->run->workload;
	const struct nb_result *job = record_job(record);
	if (job != NULL)
		snprintf(text, size, "%llu and %llu to %llu bytes",
			(unsigned long long)job->key_size, (unsigned long long)job->value_min,
			(unsigned long long)job->value_max);
	else
		snprintf(text, size, "%llu and %llu bytes",
			(unsigned long long)workload->key_size,
			(unsigned long long)workload->value_size);
}

static int
check_record(const struct record *first, const struct record *other, size_t index)
{
	char sizes[128], other_sizes[128];
	if (other->run == NULL)
		return error_set(NB_ERR_USAGE,
			"result %zu cannot be merged: %s ended before its first operation",
			index + 1, other->driver);
	if (strcmp(first->run->engine.name, other->run->engine.name) != 0)
		return refuse(
			index, "engine", first->run->engine.name, other->run->engine.name);
	if (strcmp(record_action(first), record_action(other)) != 0)
		return refuse(index, "action", record_action(first), record_action(other));
	if (first->run->durability != other->run->durability)
		return refuse(index, "durability", nb_durability_name(first->run->durability),
			nb_durability_name(other->run->durability));
	const char *latency = first->run->measured.stamping.latency;
	const char *other_latency = other->run->measured.stamping.latency;
	if (strcmp(latency, other_latency) != 0)
		return refuse(index, "way of timing (--latency)",
			latency[0] != '\0' ? latency : "each",
			other_latency[0] != '\0' ? other_latency : "each");
	describe_sizes(first, sizes, sizeof(sizes));
	describe_sizes(other, other_sizes, sizeof(other_sizes));
	if (strcmp(sizes, other_sizes) != 0)
		return refuse(index, "size of keys and values", sizes, other_sizes);
	return NB_OK;
}

static int
check(const struct nb_results *results)
{
	int rc = NB_OK;
	if (results->count == 0)
		return error_set(NB_ERR_USAGE, "no results to merge");
	if (results->count == 1)
		return NB_OK;
	for (size_t i = 0; i < results->count; i++)
		if (results->records[i].sweep.curve != NULL)
			return error_set(NB_ERR_USAGE,
				"the points of a sweep cannot be merged: each has a rate of its own");
	for (size_t i = 0; i < results->count && rc == NB_OK; i++)
		rc = check_record(&results->records[0], &results->records[i], i);
	return rc;
}

/* ---- notes ---- */

/**
 * Whether a run already has the note. A note for every run exists once, with the first
 * one's numbers; otherwise there would be one for each result. Warnings of engines and
 * notes on groups may be several.
 */
static bool
has_note(const struct nb_result *run, const struct result_note *like)
{
	bool is_one = !like->is_of_job && like->id[0] != '\0' &&
		strcmp(like->id, "engine") != 0;
	for (size_t i = 0; i < run->note_count; i++) {
		const struct result_note *note = &run->notes[i];
		bool is_same = strcmp(note->text, like->text) == 0;
		if (note->is_of_job == like->is_of_job &&
			(like->is_of_job || strcmp(note->id, like->id) == 0) &&
			(is_one || is_same))
			return true;
	}
	return false;
}

/** Add a note unless the run has it. */
static void
add_note(struct nb_result *run, const struct result_note *note, int *rc)
{
	if (*rc == NB_OK && !has_note(run, note))
		*rc = result_add_note(run, note->is_of_job, note->id, note->text);
}

static void
add_own_note(struct nb_result *run, const char *id, const char *text, int *rc)
{
	struct result_note note = {.text = (char *)text};
	snprintf(note.id, sizeof(note.id), "%s", id);
	add_note(run, &note, rc);
}

static void
merge_warnings(struct engine_warnings *into, const struct engine_warnings *from)
{
	for (size_t i = 0; i < from->count; i++) {
		bool is_known = into->count == ENGINE_WARNINGS_MAX;
		for (size_t k = 0; k < into->count && !is_known; k++)
			is_known = strcmp(into->texts[k], from->texts[i]) == 0;
		if (!is_known)
			memcpy(into->texts[into->count++], from->texts[i], ENGINE_WARNING_SIZE);
	}
}

static void
merge_notes(struct nb_result *into, const struct nb_result *from, int *rc)
{
	for (size_t i = 0; i < from->note_count; i++)
		if (strcmp(from->notes[i].id, note_id) != 0)
			add_note(into, &from->notes[i], rc);
}

/* ---- measurements ---- */

/** Clear the sum of two residencies unless both are known. */
static void
check_residency(struct residency *into, const struct residency *from)
{
	if (into->is_known == 0 || from->is_known == 0)
		*into = (struct residency){0};
}

/** Merge the phases that both have. */
static void
merge_phases(struct measurement *into, const struct measurement *from)
{
	for (uint32_t i = 0; i < into->phase_count; i++) {
		for (uint32_t j = 0; j < from->phase_count; j++) {
			if (strcmp(into->phases[i].name, from->phases[j].name) == 0)
				into->phases[i].ns = merge_most(
					into->phases[i].ns, from->phases[j].ns);
		}
	}
}

/** Merge the members for which the fields have no rule. */
static void
merge_measured(struct nb_result *run, struct measurement *from, int *rc)
{
	struct measurement *into = &run->measured;
	merge_phases(into, from);
	system_add(&into->used, &from->used);
	system_add(&into->used_after, &from->used_after);
	check_residency(&into->residency_before, &from->residency_before);
	check_residency(&into->residency_begin, &from->residency_begin);
	check_residency(&into->residency_after, &from->residency_after);
	merge_counters(&into->counters, &from->counters, rc);
	merge_threads(
		&into->threads, &into->thread_count, from->threads, from->thread_count, rc);
	if (!merge_series(&into->series, &from->series, rc))
		add_own_note(run, series_note_id,
			"the series over time is incomplete: the results have different intervals, or some have no series",
			rc);
}

/* ---- jobs ---- */

static struct job_result_group *
find_group(struct nb_result *job, const struct job_result_group *like)
{
	for (size_t g = 0; g < job->group_count; g++) {
		if (job->groups[g].phase == like->phase &&
			strcmp(job->groups[g].name, like->name) == 0)
			return &job->groups[g];
	}
	return NULL;
}

/** Move a whole group out of `from`. */
static int
take_group(struct nb_result *job, struct job_result_group *from)
{
	if (job->group_count == NB_GROUPS_MAX)
		return error_set(NB_ERR_USAGE,
			"results that have more than %u groups together cannot be merged",
			NB_GROUPS_MAX);
	struct job_result_group *group = array_append(
		&job->groups, &job->group_count, sizeof(*job->groups));
	if (group == NULL)
		return NB_FAIL;
	*group = *from;
	*from = (struct job_result_group){.phase = from->phase};
	return NB_OK;
}

static void
add_group(struct nb_result *job, struct job_result_group *from, int *rc)
{
	struct job_result_group *same = find_group(job, from);
	if (same == NULL) {
		*rc = take_group(job, from);
		return;
	}
	bool is_same = memcmp(same->weights, from->weights, sizeof(same->weights)) == 0 &&
		same->distribution == from->distribution && same->arrivals == from->arrivals &&
		same->is_background == from->is_background &&
		same->is_paced == from->is_paced && same->key_range == from->key_range &&
		strcmp(same->measured.stamping.latency, from->measured.stamping.latency) == 0 &&
		same->measured.level == from->measured.level;
	if (is_same)
		merge_group(same, from, rc);
	else
		*rc = error_set(NB_ERR_USAGE,
			"results cannot be merged: their groups '%s' differ in mix, distribution, key range, arrivals, latency or level",
			same->name);
}

/* ---- records ---- */

/** The digest of several streams is a sum, so it does not depend on their order. */
static void
merge_streams(struct nb_result *into, const struct nb_result *from, int *rc)
{
	if (into->digest != from->digest) {
		into->digest += from->digest;
		add_own_note(into, stream_note_id,
			"the merged results did not do the same operations: the digest is the sum of theirs",
			rc);
	}
	if (strcmp(into->shard, from->shard) != 0)
		snprintf(into->shard, sizeof(into->shard), "several");
	if (strcmp(into->engine_version, from->engine_version) != 0)
		add_own_note(into, engine_note_id,
			"the merged results are of different versions of the engine", rc);
	if (into->keys.hash != from->keys.hash)
		into->keys.hash += from->keys.hash;
}

static void
merge_run(struct nb_result *into, struct nb_result *from, int *rc)
{
	merge_warnings(&into->warnings, &from->warnings);
	merge_notes(into, from, rc);
	merge_streams(into, from, rc);
	if (fabs(from->steady_slope) > fabs(into->steady_slope))
		into->steady_slope = from->steady_slope;
	merge_fields(json_result_fields, into, from, rc);
	merge_measured(into, &from->measured, rc);
	for (size_t g = 0; g < from->group_count && *rc == NB_OK; g++)
		add_group(into, &from->groups[g], rc);
}

static uint32_t
results_of(const struct record *record)
{
	return record->is_merged > 0 ? record->is_merged : 1;
}

static void
merge_record(struct record *into, struct record *from, int *rc)
{
	into->is_merged = results_of(into) + results_of(from);
	if (strcmp(into->label, from->label) != 0)
		into->label[0] = '\0';
	if (into->block != from->block)
		into->block = 0;
	if (into->contestant != from->contestant) {
		into->contestant = 0;
		into->name[0] = '\0';
	}
	if (into->end[0] == '\0')
		memcpy(into->end, from->end, sizeof(into->end));
	free(into->intervals); /* they belong to single runs */
	into->intervals = NULL;
	into->interval_count = 0;
	merge_run(into->run, from->run, rc);
}

static void
note_merged(struct record *record, int *rc)
{
	char text[NOTE_SIZE];
	snprintf(text, sizeof(text),
		"merged of %u results as if they had run side by side: counts are sums, times the longest, and where and with what it ran is the first's",
		record->is_merged);
	result_remove_note(record->run, note_id);
	add_own_note(record->run, note_id, text, rc);
}

static int
copy_results(struct nb_results **out, const struct nb_results *from)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	if (memory == NULL)
		return error_memory();
	int rc = write_json(from, memory, 0);
	if (fclose(memory) != 0 && rc == NB_OK)
		rc = error_memory();
	if (rc == NB_OK)
		rc = results_parse(out, text, size, "merge");
	free(text);
	return rc;
}

/** Merge `some`, which are those records of `from` that have a result. */
static int
merge_results(
	struct nb_results **out, const struct nb_results *some, const struct nb_results *from)
{
	struct nb_results *results;
	bool are_shards = false;
	char shards_text[NOTE_SIZE];
	const char *shards_id = NULL;
	int rc = check(some);
	if (rc == NB_OK)
		rc = merge_check_shards(some, from != some, &are_shards);
	if (rc == NB_OK)
		rc = copy_results(&results, some);
	if (rc != NB_OK)
		return rc;
	struct record *first = &results->records[0];
	if (are_shards)
		shards_id = merge_describe_shards(some, shards_text, sizeof(shards_text));
	for (size_t i = 1; i < results->count && rc == NB_OK; i++)
		merge_record(first, &results->records[i], &rc);
	if (results->count > 1)
		note_merged(first, &rc);
	if (are_shards) { /* together the shards did all operations */
		first->run->shard[0] = '\0';
		add_own_note(first->run, shards_id, shards_text, &rc);
		first->run->measured.is_partial |= some->count < from->count;
		if (rc == NB_OK)
			rc = merge_list_generators(first->run, from);
	}
	if (rc != NB_OK) {
		nb_results_delete(results);
		return rc;
	}
	while (results->count > 1)
		record_destroy(&results->records[--results->count]);
	results->list_count = results->list_count > 1 ? 0 : results->list_count;
	*out = results;
	return NB_OK;
}

int
nb_results_merge(struct nb_results **out, const struct nb_results *from)
{
	return merge_results(out, from, from);
}

int
results_merge_some(struct nb_results **out, const struct nb_results *from)
{
	struct nb_results some = *from;
	some.records = calloc(from->count + 1, sizeof(*some.records));
	some.count = 0;
	if (some.records == NULL)
		return error_memory();
	for (size_t i = 0; i < from->count; i++)
		if (from->records[i].run != NULL)
			some.records[some.count++] = from->records[i];
	int rc = merge_results(out, &some, from);
	free(some.records); /* the contents of the records belong to `from` */
	return rc;
}
