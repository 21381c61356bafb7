/* SPDX-License-Identifier: BSD-2-Clause */
/* The results of one call of the command: adding runs, and their common data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "report/record.h"

int
nb_results_new(struct nb_results **out)
{
	*out = calloc(1, sizeof(**out));
	return *out != NULL ? NB_OK : error_memory();
}

static void
destroy_command(struct record_command *command)
{
	for (size_t i = 0; i < command->word_count; i++)
		free(command->words[i]);
	for (size_t i = 0; i < command->option_count; i++) {
		free(command->options[i].name);
		free(command->options[i].value);
	}
	free(command->words);
	free(command->options);
	free(command->action);
	free(command->directory);
	free(command->job);
	*command = (struct record_command){0};
}

void
nb_results_delete(struct nb_results *results)
{
	if (results == NULL)
		return;
	for (size_t i = 0; i < results->count; i++)
		record_destroy(&results->records[i]);
	destroy_command(&results->command);
	free(results->records);
	free(results);
}

size_t
nb_results_count(const struct nb_results *results)
{
	return results->count;
}

/** Append an empty record with its label. */
static struct record *
append(struct nb_results *results, const char *label)
{
	struct record *record = results_append(results);
	if (record != NULL)
		snprintf(record->label, sizeof(record->label), "%s", label);
	return record;
}

int
nb_results_add_run(struct nb_results *results, const struct nb_run *run, const char *label)
{
	struct nb_result *result;
	int rc = nb_result_new(&result, run);
	if (rc != NB_OK)
		return rc;
	struct record *record = append(results, label);
	if (record == NULL) {
		nb_result_delete(result);
		return NB_FAIL;
	}
	record->run = result;
	snprintf(record->driver, sizeof(record->driver), "%s", result->engine.name);
	results_find_actions(results);
	return NB_OK;
}

const struct nb_result *
nb_results_last(const struct nb_results *results)
{
	return results->count > 0 ? results->records[results->count - 1].run : NULL;
}

int
nb_results_add_failure(struct nb_results *results, const char *driver, const char *end)
{
	struct record *record = append(results, "");
	if (record == NULL)
		return NB_FAIL;
	snprintf(record->driver, sizeof(record->driver), "%s", driver);
	snprintf(record->end, sizeof(record->end), "%s", end);
	return NB_OK;
}

void
nb_results_set_end(struct nb_results *results, const char *end)
{
	struct record *last = &results->records[results->count - 1];
	while (last > results->records && last->is_point)
		last--;
	snprintf(last->end, sizeof(last->end), "%s", end);
}

void
nb_results_set_contestant(
	struct nb_results *results, uint32_t contestant, const char *name, uint32_t round)
{
	for (size_t i = 0; i < results->count; i++) {
		struct record *record = &results->records[i];
		record->contestant = contestant;
		record->block = round;
		snprintf(record->name, sizeof(record->name), "%s", name);
	}
}

void
nb_results_set_label(struct nb_results *results, const char *label)
{
	for (size_t i = 0; i < results->count; i++)
		snprintf(results->records[i].label, sizeof(results->records[i].label), "%s",
			label);
}

/** Copy a list. NULL only if memory runs out, even for an empty list. */
static void *
copy_list(const void *list, size_t count, size_t size)
{
	void *copy = calloc(count + 1, size);
	if (copy == NULL)
		error_memory();
	else if (count > 0)
		memcpy(copy, list, count * size);
	return copy;
}

int
nb_results_set_intervals(
	struct nb_results *results, const struct nb_interval *intervals, size_t count)
{
	struct record *last = &results->records[results->count - 1];
	struct nb_interval *copy = copy_list(intervals, count, sizeof(*copy));
	if (copy == NULL)
		return NB_FAIL;
	free(last->intervals);
	last->intervals = copy;
	last->interval_count = count;
	return NB_OK;
}

void
nb_results_set_list(struct nb_results *results, uint32_t engines)
{
	results->list_count = engines;
}

/** The last record without a label; NULL: none. */
static struct record *
find_capacity(struct nb_results *results)
{
	for (size_t i = results->count; i-- > 0;)
		if (results->records[i].label[0] == '\0')
			return &results->records[i];
	return NULL;
}

int
nb_results_set_curve(struct nb_results *results, double capacity_ops_s,
	const struct nb_curve_point *points, size_t count, const char *slo, double slo_ops_s)
{
	struct record *record = find_capacity(results);
	if (record == NULL)
		return error_set(NB_ERR_USAGE,
			"each run has a label, so none is the capacity of the curve");
	struct nb_curve_point *copy = copy_list(points, count, sizeof(*copy));
	if (copy == NULL)
		return NB_FAIL;
	free(record->sweep.curve);
	record->sweep = (struct record_sweep){.capacity_ops_s = capacity_ops_s,
		.curve = copy,
		.curve_count = count,
		.slo_ops_s = slo_ops_s};
	snprintf(record->sweep.slo, sizeof(record->sweep.slo), "%s", slo != NULL ? slo : "");
	results_find_points(results);
	return NB_OK;
}

/* ---- the command ---- */

/** Copy a text. NULL stays NULL, which is not a failure. */
static bool
copy_text(char **into, const char *from)
{
	*into = from != NULL ? strdup(from) : NULL;
	return *into != NULL || from == NULL;
}

static bool
copy_words(struct record_command *copy, const struct nb_command *from)
{
	bool is_good = true;
	for (size_t i = 0; i < from->word_count && is_good; i++) {
		char **word = array_append(&copy->words, &copy->word_count, sizeof(*word));
		is_good = word != NULL && copy_text(word, from->words[i]);
	}
	for (size_t i = 0; i < from->option_count && is_good; i++) {
		struct record_option *option = array_append(
			&copy->options, &copy->option_count, sizeof(*option));
		is_good = option != NULL && copy_text(&option->name, from->names[i]) &&
			copy_text(&option->value, from->values[i]);
	}
	return is_good;
}

int
nb_results_set_command(struct nb_results *results, const struct nb_command *command)
{
	struct record_command copy = {0};
	bool is_good = copy_text(&copy.action, command->action) &&
		copy_text(&copy.directory, command->directory) &&
		copy_text(&copy.job, command->job) && copy_words(&copy, command);
	if (!is_good) {
		destroy_command(&copy);
		return error_memory();
	}
	destroy_command(&results->command);
	results->command = copy;
	return NB_OK;
}

void
nb_results_command(const struct nb_results *results, struct nb_command *out)
{
	const struct record_command *command = &results->command;
	*out = (struct nb_command){.size = sizeof(*out),
		.action = command->action,
		.directory = command->directory,
		.words = (const char *const *)command->words,
		.word_count = command->word_count,
		.job = command->job};
}

/* ---- joining results ---- */

/** Number the contestants of `from` after those of `into`. */
static void
set_apart(const struct nb_results *into, struct nb_results *from)
{
	uint32_t most = 0;
	const char *action = from->command.action;
	if (action == NULL || strcmp(action, "vs") != 0)
		return;
	for (size_t i = 0; i < into->count; i++)
		if (into->records[i].contestant > most)
			most = into->records[i].contestant;
	for (size_t i = 0; i < from->count; i++)
		from->records[i].contestant += from->records[i].contestant > 0 ? most : 0;
}

/**
 * Remove the note "one-run" from records from `first` on that repeat others, and from
 * those.
 */
static void
find_repetitions(struct nb_results *results, size_t first)
{
	for (size_t i = first; i < results->count; i++) {
		struct record *added = &results->records[i];
		for (size_t k = 0; k < i && added->contestant > 0 && added->run != NULL; k++) {
			struct record *other = &results->records[k];
			if (other->contestant != added->contestant || other->run == NULL ||
				other->block == added->block)
				continue;
			result_remove_note(other->run, "one-run");
			result_remove_note(added->run, "one-run");
		}
	}
}

int
nb_results_append(struct nb_results *into, struct nb_results *from)
{
	size_t first = into->count;
	set_apart(into, from);
	/* after adding another result, it is not a list of engines any more */
	into->list_count = into->count == 0 ? from->list_count : 0;
	struct record *grown = realloc(
		into->records, (into->count + from->count + 1) * sizeof(*into->records));
	if (grown == NULL)
		return error_memory();
	into->records = grown;
	if (from->count > 0)
		memcpy(grown + into->count, from->records, from->count * sizeof(*grown));
	into->count += from->count;
	from->count = 0;
	results_find_actions(into);
	find_repetitions(into, first);
	if (into->command.action == NULL) {
		into->command = from->command;
		from->command = (struct record_command){0};
	}
	return NB_OK;
}

void
nb_results_summarize(const struct nb_results *results, size_t index, struct nb_summary *out)
{
	const struct record *record = &results->records[index];
	if (record->run != NULL) {
		record_summary(record, out);
		return;
	}
	*out = (struct nb_summary){.size = sizeof(*out)};
	snprintf(out->driver, sizeof(out->driver), "%s", record->driver);
	snprintf(out->end, sizeof(out->end), "%s", record->end);
}

const char *
nb_results_note(const struct nb_results *results, size_t run, size_t index)
{
	return run < results->count ? record_note(&results->records[run], index) : NULL;
}

const char *
nb_results_note_id(const struct nb_results *results, size_t run, size_t index)
{
	return run < results->count ? record_note_id(&results->records[run], index) : NULL;
}
