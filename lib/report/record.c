/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records as writers see them: a classic action appears as a job with one group and one
 * kind of operation.
 */
#include "report/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct record *
results_append(struct nb_results *results)
{
	return array_append(&results->records, &results->count, sizeof(*results->records));
}

void
record_destroy(struct record *record)
{
	nb_result_delete(record->run);
	free(record->intervals);
	free(record->sweep.curve);
	*record = (struct record){0};
}

static size_t
classic_group(const struct nb_result *run, struct record_group *group)
{
	const struct measurement *measured = &run->measured;
	/* a file may list other threads than the run had */
	bool are_known = measured->thread_count == run->threads;
	*group = (struct record_group){.name = nb_verb_name(run->workload.verb),
		.thread_count = run->threads,
		.ops = measured->ops,
		.wall_ns = measured->wall_ns,
		.threads = are_known ? measured->threads : NULL,
		.kind_count = 1};
	group->kinds[0] = (struct record_kind){.name = group->name,
		.ops = measured->ops,
		.records = measured->ops,
		.bytes = measured->value_bytes,
		.answers = measured->answers,
		.service = measured->service};
	return 1;
}

static void
job_group(const struct nb_result *run, const struct job_result_group *from,
	struct record_group *group)
{
	const struct job_measurement *measured = &from->measured;
	*group = (struct record_group){.name = from->name,
		.phase = from->phase,
		.thread_count = measured->thread_count,
		.is_background = from->is_background,
		.is_paced = from->is_paced,
		.ops = measured->ops,
		.wall_ns = measured->wall_ns,
		.threads = measured->threads,
		.job = from};
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		const struct job_kind *it = &measured->kinds[kind];
		if (it->service == NULL || it->ops == 0)
			continue;
		group->kinds[group->kind_count++] = (struct record_kind){
			.name = result_kind_name(run, kind),
			.kind = kind,
			.ops = it->ops,
			.records = it->records,
			.bytes = it->bytes,
			.answers = it->answers,
			.service = it->service,
			.response = it->response};
	}
}

size_t
record_groups(const struct record *record, struct record_group *groups)
{
	if (record->run == NULL)
		return 0;
	if (record_job(record) == NULL)
		return classic_group(record->run, groups);
	for (size_t g = 0; g < record->run->group_count; g++)
		job_group(record->run, &record->run->groups[g], &groups[g]);
	return record->run->group_count;
}

const char *
record_action(const struct record *record)
{
	if (record_job(record) == NULL)
		return record->run != NULL ? nb_verb_name(record->run->workload.verb) : "";
	return record->run->is_replay ? "replay" : record->run->is_load ? "load" : "run";
}

void
results_find_actions(struct nb_results *results)
{
	const char *first = NULL;
	bool do_differ = false;
	for (size_t i = 0; i < results->count; i++) {
		const char *action = record_action(&results->records[i]);
		if (first == NULL && action[0] != '\0')
			first = action;
		do_differ |= action[0] != '\0' && strcmp(action, first) != 0;
	}
	for (size_t i = 0; i < results->count; i++)
		results->records[i].is_titled_by_action = do_differ;
}

void
results_find_points(struct nb_results *results)
{
	const char *driver = "";
	size_t left = 0;
	for (size_t i = 0; i < results->count; i++) {
		struct record *record = &results->records[i];
		record->is_point = left > 0 && record->label[0] != '\0' &&
			strcmp(record->driver, driver) == 0;
		left = record->is_point ? left - 1 : record->sweep.curve_count;
		driver = record->driver;
	}
}

const char *
nb_results_option(const struct nb_results *results, const char *name)
{
	const struct record_command *command = &results->command;
	for (size_t i = 0; i < command->option_count; i++)
		if (strcmp(command->options[i].name, name) == 0)
			return command->options[i].value;
	return NULL;
}

bool
results_are_versus(const struct nb_results *results)
{
	for (size_t i = 0; i < results->count; i++)
		if (results->records[i].contestant == 0)
			return false;
	return results->count > 0;
}

bool
results_contestant_failed(const struct nb_results *results, uint32_t contestant)
{
	for (size_t i = 0; i < results->count; i++) {
		const struct record *record = &results->records[i];
		if (record->contestant == contestant &&
			(record->run == NULL || record->end[0] != '\0'))
			return true;
	}
	return false;
}

size_t
results_sweeps(const struct nb_results *results)
{
	size_t count = 0;
	for (size_t i = 0; i < results->count; i++)
		count += results->records[i].sweep.curve_count > 0;
	return count;
}

const char *
record_name(const struct record *record)
{
	return record->name[0] != '\0' ? record->name : record->driver;
}

void
record_title(const struct record *record, char *text, size_t size)
{
	const char *name = record->run != NULL && record->name[0] == '\0'
		? record->run->engine.name
		: record_name(record);
	const char *action = record->is_titled_by_action ? record_action(record) : "";
	snprintf(text, size, "%s%s%s%s%s", name, action[0] != '\0' ? " " : "", action,
		record->label[0] != '\0' ? " " : "", record->label);
}

const struct nb_histogram *
record_latency(const struct record *record, bool is_response)
{
	return nb_result_histogram(record->run, is_response);
}

const struct nb_histogram *
record_hiccups(const struct record *record)
{
	const struct nb_histogram *hiccups = record->run->measured.hiccups;
	return hiccups != NULL && nb_histogram_count(hiccups) > 0 ? hiccups : NULL;
}

const char *
record_note(const struct record *record, size_t index)
{
	const struct nb_result *run = record->run;
	return run != NULL && index < run->note_count ? run->notes[index].text : NULL;
}

const char *
record_note_id(const struct record *record, size_t index)
{
	const struct nb_result *run = record->run;
	return run != NULL && index < run->note_count ? run->notes[index].id : NULL;
}

void
record_summary(const struct record *record, struct nb_summary *out)
{
	nb_result_summarize(record->run, out);
	snprintf(out->end, sizeof(out->end), "%s", record->end);
}
