/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records put together to one, as if they had been one run with all their threads side by
 * side: what is counted adds up, times are the longest, and a rate is operations over that.
 * Percentiles come from merged histograms alone.
 *
 * Of runs that were one after the other the rate is then too high, since nobody did all of
 * that in the longest of their times; so a note says of how many results it is. What neither
 * adds up nor has a longest, as the environment, is the first's.
 *
 * A record is copied by writing it and reading it back, which gives the same one by the law
 * that files have anyway, and needs no copying of each member that could be forgotten.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/json_read.h"
#include "report/merge_parts.h"

enum { NOTE_SIZE = 512 };

static const char note_id[] = "merged", series_note_id[] = "merged-series",
		  stream_note_id[] = "merged-streams", engine_note_id[] = "merged-versions";

static int
out_of_memory(void)
{
	return error_set(NB_FAIL, "out of memory");
}

/* ---- whether it makes sense ---- */

static int
refuse(size_t index, const char *what, const char *first, const char *other)
{
	return error_set(NB_ERR_USAGE,
		"result %zu cannot be merged with the first: its %s is %s, not %s", index + 1,
		what, other, first);
}

/** Sizes of keys and values, as they are told apart. */
static void
describe_sizes(const struct record *record, char *text, size_t size)
{
	const struct nb_workload *workload = &record->run->workload;
	const struct nb_job_result *job = record->job;
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
			"result %zu cannot be merged: %s did not come to "
			"its first operation",
			index + 1, other->driver);
	if (strcmp(first->run->engine.name, other->run->engine.name) != 0)
		return refuse(
			index, "engine", first->run->engine.name, other->run->engine.name);
	if (strcmp(record_action(first), record_action(other)) != 0)
		return refuse(index, "action", record_action(first), record_action(other));
	if (first->run->durability != other->run->durability)
		return refuse(index, "durability", nb_durability_name(first->run->durability),
			nb_durability_name(other->run->durability));
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
		return error_set(NB_ERR_USAGE, "there are no results to be merged");
	if (results->count == 1)
		return NB_OK;
	for (size_t i = 0; i < results->count; i++)
		if (results->records[i].sweep.curve != NULL)
			return error_set(NB_ERR_USAGE,
				"the points of a sweep cannot be merged: each has a rate of "
				"its "
				"own");
	for (size_t i = 0; i < results->count && rc == NB_OK; i++)
		rc = check_record(&results->records[0], &results->records[i], i);
	return rc;
}

/* ---- notes ---- */

/**
 * Whether that is said already. A note of every run is there once, with the first one's
 * numbers: else there would be as many as results. What engines warned of may be several.
 */
static bool
has_note(const struct nb_result *run, const char *id, const char *text)
{
	bool is_one = id[0] != '\0' && strcmp(id, "engine") != 0;
	for (size_t i = 0; i < run->note_count; i++) {
		bool is_same = strcmp(run->notes[i].text, text) == 0;
		if (strcmp(run->notes[i].id, id) == 0 && (is_one || is_same))
			return true;
	}
	return false;
}

static int
add_note(struct nb_result *run, const char *id, const char *text)
{
	if (has_note(run, id, text))
		return NB_OK;
	void *grown = realloc(run->notes, (run->note_count + 1) * sizeof(*run->notes));
	if (grown == NULL)
		return out_of_memory();
	run->notes = grown;
	struct result_note *note = &run->notes[run->note_count];
	*note = (struct result_note){.text = strdup(text)};
	if (note->text == NULL)
		return out_of_memory();
	snprintf(note->id, sizeof(note->id), "%s", id);
	run->note_count++;
	return NB_OK;
}

/** Of a group: several of the same identifier are several notes. */
static int
add_job_note(struct record *record, const char *id, const char *text)
{
	struct nb_job_result *job = record->job;
	for (size_t i = 0; i < job->note_count; i++) {
		if (strcmp(job->notes[i], text) == 0)
			return NB_OK;
	}
	if (job->note_count == JOB_NOTES_MAX)
		return add_note(record->run, id, text);
	snprintf(job->note_ids[job->note_count], sizeof(job->note_ids[0]), "%s", id);
	snprintf(job->notes[job->note_count++], JOB_NOTE_SIZE, "%s", text);
	return NB_OK;
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

static int
merge_notes(struct record *into, const struct record *from)
{
	const struct nb_job_result *job = from->job;
	int rc = NB_OK;
	merge_warnings(&into->run->warnings, &from->run->warnings);
	for (size_t i = 0; i < from->run->note_count && rc == NB_OK; i++) {
		const struct result_note *note = &from->run->notes[i];
		if (strcmp(note->id, note_id) != 0)
			rc = add_note(into->run, note->id, note->text);
	}
	for (size_t i = 0; job != NULL && i < job->note_count && rc == NB_OK; i++)
		rc = add_job_note(into, job->note_ids[i], job->notes[i]);
	return rc;
}

/* ---- what was measured ---- */

static void
merge_usage(struct sysinfo_usage *into, const struct sysinfo_usage *from)
{
	into->user_ns = merge_sum(into->user_ns, from->user_ns);
	into->system_ns = merge_sum(into->system_ns, from->system_ns);
	into->involuntary_switches = merge_sum(
		into->involuntary_switches, from->involuntary_switches);
	into->steal_ns = merge_sum(into->steal_ns, from->steal_ns);
	into->busy_ns = merge_sum(into->busy_ns, from->busy_ns);
}

static void
merge_residency(struct residency *into, const struct residency *from)
{
	if (into->is_known == 0 || from->is_known == 0) {
		*into = (struct residency){0};
		return;
	}
	into->resident_bytes = merge_sum(into->resident_bytes, from->resident_bytes);
	into->total_bytes = merge_sum(into->total_bytes, from->total_bytes);
	into->files = merge_sum(into->files, from->files);
	into->unread += from->unread;
}

/** How it went, as far as that is one of few states: the worst of both. */
static void
merge_states(struct measurement *into, const struct measurement *from)
{
	into->has_begun |= from->has_begun;
	into->is_partial |= from->is_partial;
	into->is_loaded |= from->is_loaded;
	into->had_data |= from->had_data;
	into->has_settled &= from->has_settled;
	into->has_read_back &= from->has_read_back;
	into->is_reopened &= from->is_reopened;
	into->settled = from->settled < into->settled ? from->settled : into->settled;
	into->cold = from->cold < into->cold ? from->cold : into->cold;
	if (into->syncs_missing[0] == '\0')
		memcpy(into->syncs_missing, from->syncs_missing, sizeof(into->syncs_missing));
	if (into->used_missing[0] == '\0')
		memcpy(into->used_missing, from->used_missing, sizeof(into->used_missing));
}

/** Of phases that both have. */
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

static void
merge_times(struct measurement *into, const struct measurement *from)
{
	into->wall_ns = merge_most(into->wall_ns, from->wall_ns);
	into->open_ns = merge_most(into->open_ns, from->open_ns);
	into->load_ns = merge_most(into->load_ns, from->load_ns);
	into->settle_ns = merge_most(into->settle_ns, from->settle_ns);
	into->close_ns = merge_most(into->close_ns, from->close_ns);
	merge_phases(into, from);
	into->usage_ns = merge_most(into->usage_ns, from->usage_ns);
	into->floor_op_ns = fmax(into->floor_op_ns, from->floor_op_ns);
	into->floor_call_ns = merge_most(into->floor_call_ns, from->floor_call_ns);
}

static void
merge_counts(struct measurement *into, const struct measurement *from)
{
	bool is_live_known = into->live_bytes > 0 && from->live_bytes > 0;
	into->ops = merge_sum(into->ops, from->ops);
	into->value_bytes = merge_sum(into->value_bytes, from->value_bytes);
	into->usage_ops = merge_sum(into->usage_ops, from->usage_ops);
	into->commits = merge_sum(into->commits, from->commits);
	into->durable_by |= from->durable_by;
	into->had_bytes = merge_sum(into->had_bytes, from->had_bytes);
	into->data_bytes = merge_sum(into->data_bytes, from->data_bytes);
	into->live_bytes = is_live_known ? merge_sum(into->live_bytes, from->live_bytes) : 0;
	into->max_resident_bytes = merge_sum(
		into->max_resident_bytes, from->max_resident_bytes);
	for (int i = 0; i < WORKER_ANSWERS; i++)
		into->answers[i] = merge_sum(into->answers[i], from->answers[i]);
	into->findings.verified = merge_sum(into->findings.verified, from->findings.verified);
	into->findings.missing = merge_sum(into->findings.missing, from->findings.missing);
	for (int i = 0; i < VALUE_VERDICTS; i++)
		into->findings.verdicts[i] = merge_sum(
			into->findings.verdicts[i], from->findings.verdicts[i]);
}

static int
merge_measured(struct nb_result *run, struct measurement *from)
{
	struct measurement *into = &run->measured;
	bool is_whole = true;
	merge_states(into, from);
	merge_times(into, from);
	merge_counts(into, from);
	merge_usage(&into->usage, &from->usage);
	system_add(&into->used, &from->used);
	system_add(&into->used_after, &from->used_after);
	merge_levels(&into->before, &from->before);
	merge_levels(&into->after, &from->after);
	merge_residency(&into->residency_before, &from->residency_before);
	merge_residency(&into->residency_begin, &from->residency_begin);
	merge_residency(&into->residency_after, &from->residency_after);
	int rc = merge_counters(&into->counters, &from->counters);
	if (rc == NB_OK)
		rc = merge_histogram(&into->service, from->service);
	if (rc == NB_OK)
		rc = merge_histogram(&into->hiccups, from->hiccups);
	if (rc == NB_OK)
		rc = merge_threads(
			&into->threads, &into->thread_count, from->threads, from->thread_count);
	if (rc == NB_OK)
		rc = merge_series(&into->series, &from->series, &is_whole);
	return rc != NB_OK || is_whole
		? rc
		: add_note(run, series_note_id,
			  "what happened over time is left out, at least in part: the results "
			  "that "
			  "were merged have it at other intervals, or not all of them have it");
}

/* ---- jobs ---- */

static struct job_result_group *
find_group(struct nb_job_result *job, const struct job_result_group *like)
{
	for (size_t g = 0; g < job->group_count; g++) {
		if (job->groups[g].phase == like->phase &&
			strcmp(job->groups[g].name, like->name) == 0)
			return &job->groups[g];
	}
	return NULL;
}

/** The whole group, which `from` has no longer. */
static int
take_group(struct nb_job_result *job, struct job_result_group *from)
{
	size_t bytes = (job->group_count + 1) * sizeof(*job->groups);
	if (job->group_count == NB_GROUPS_MAX)
		return error_set(NB_ERR_USAGE,
			"results that have more than %u groups together cannot be merged",
			NB_GROUPS_MAX);
	struct job_result_group *grown = realloc(job->groups, bytes);
	if (grown == NULL)
		return out_of_memory();
	job->groups = grown;
	grown[job->group_count++] = *from;
	*from = (struct job_result_group){.phase = from->phase};
	return NB_OK;
}

static int
add_group(struct nb_job_result *job, struct job_result_group *from)
{
	struct job_result_group *same = find_group(job, from);
	if (same == NULL)
		return take_group(job, from);
	bool is_same = memcmp(same->weights, from->weights, sizeof(same->weights)) == 0 &&
		same->distribution == from->distribution && same->arrivals == from->arrivals &&
		same->is_background == from->is_background && same->is_paced == from->is_paced;
	if (!is_same)
		return error_set(NB_ERR_USAGE,
			"results cannot be merged: their groups '%s' have not the same mix, "
			"distribution and arrivals",
			same->name);
	return merge_group(same, from);
}

static int
merge_job(struct nb_job_result *into, struct nb_job_result *from)
{
	int rc = NB_OK;
	into->procs = into->procs > from->procs ? into->procs : from->procs;
	into->records = merge_most(into->records, from->records);
	into->was_steady_asked |= from->was_steady_asked;
	into->is_steady &= from->is_steady;
	if (fabs(from->steady_slope) > fabs(into->steady_slope))
		into->steady_slope = from->steady_slope;
	into->steady_band = fmax(into->steady_band, from->steady_band);
	for (size_t g = 0; g < from->group_count && rc == NB_OK; g++)
		rc = add_group(into, &from->groups[g]);
	if (rc == NB_OK)
		rc = merge_histogram(&into->service, from->service);
	if (rc == NB_OK)
		rc = merge_histogram(&into->response, from->response);
	return rc == NB_OK ? merge_histogram(&into->hiccups, from->hiccups) : rc;
}

/* ---- records ---- */

/** Other streams together are another one again, and the same one for the same ones. */
static int
merge_streams(struct nb_result *into, const struct nb_result *from)
{
	int rc = NB_OK;
	if (into->digest != from->digest) {
		into->digest += from->digest;
		rc = add_note(into, stream_note_id,
			"the results that were merged did not do the same operations: the "
			"digest "
			"is the sum of theirs");
	}
	if (rc == NB_OK && strcmp(into->engine_version, from->engine_version) != 0)
		rc = add_note(into, engine_note_id,
			"the results that were merged are of different versions of the engine");
	if (into->keys.hash != from->keys.hash)
		into->keys.hash += from->keys.hash;
	into->keys.duplicates = merge_sum(into->keys.duplicates, from->keys.duplicates);
	into->keys.is_estimate |= from->keys.is_estimate;
	into->keys.looked = merge_sum(into->keys.looked, from->keys.looked);
	return rc;
}

static int
merge_run(struct nb_result *into, struct nb_result *from)
{
	into->threads += from->threads;
	into->settle = from->settle < into->settle ? from->settle : into->settle;
	into->flags &= from->flags;
	into->is_auto_durability &= from->is_auto_durability;
	into->is_paced |= from->is_paced;
	into->is_bound_by_time |= from->is_bound_by_time;
	into->is_of_processes |= from->is_of_processes;
	into->has_counters |= from->has_counters;
	into->verify_rate = fmax(into->verify_rate, from->verify_rate);
	into->workload.count = merge_sum(into->workload.count, from->workload.count);
	int rc = merge_streams(into, from);
	return rc == NB_OK ? merge_measured(into, &from->measured) : rc;
}

static uint32_t
results_of(const struct record *record)
{
	return record->is_merged > 0 ? record->is_merged : 1;
}

static int
merge_record(struct record *into, struct record *from)
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
	free(into->intervals); /* of one run each */
	into->intervals = NULL;
	into->interval_count = 0;
	int rc = merge_notes(into, from);
	if (rc == NB_OK)
		rc = merge_run(into->run, from->run);
	return rc == NB_OK && into->job != NULL ? merge_job(into->job, from->job) : rc;
}

static int
tell_merged(struct record *record)
{
	char text[NOTE_SIZE];
	snprintf(text, sizeof(text),
		"merged of %u results as if they had run side by side: counts are sums, times "
		"the "
		"longest, and where and with what it ran is the first's",
		record->is_merged);
	result_remove_note(record->run, note_id);
	return add_note(record->run, note_id, text);
}

static int
copy_results(struct nb_results **out, const struct nb_results *from)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);
	if (memory == NULL)
		return out_of_memory();
	int rc = write_json(from, memory, 0);
	if (fclose(memory) != 0 && rc == NB_OK)
		rc = out_of_memory();
	if (rc == NB_OK)
		rc = results_parse(out, text, size, "merge");
	free(text);
	return rc;
}

int
nb_results_merge(struct nb_results **out, const struct nb_results *from)
{
	struct nb_results *results;
	int rc = check(from);
	if (rc == NB_OK)
		rc = copy_results(&results, from);
	if (rc != NB_OK)
		return rc;
	for (size_t i = 1; i < results->count && rc == NB_OK; i++)
		rc = merge_record(&results->records[0], &results->records[i]);
	if (rc == NB_OK && results->count > 1)
		rc = tell_merged(&results->records[0]);
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
