/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What runs that are compared must have in common, and what they should.
 *
 * Other operations, another durability, more threads, a run that ended early: such figures
 * are of different work, and a ranking of them is refused. Another machine, kernel or build
 * may be the very thing that is compared, or spoil it; that is said before the verdict. How
 * busy the machine was is no such thing: a before on a quiet one and an after beside other
 * programs differ by those, so that such a ranking is refused as well.
 *
 * Each is a row of a table: a function that tells it of a record as a text. Texts that are
 * not known, "", differ from nothing.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "report/compare.h"

enum { VALUES_MAX = 6, VALUE_SIZE = 160, NAMES_SIZE = 320, SAMPLES_MAX = 64 };

typedef void (*tell_fn)(const struct record *record, char *text, size_t size);

static void
tell_durability(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", nb_durability_name(record->run->durability));
}

static void
tell_key_size(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64,
		record->job != NULL ? record->job->key_size : record->run->workload.key_size);
}

static void
tell_value_size(const struct record *record, char *text, size_t size)
{
	const struct nb_job_result *job = record->job;
	if (job == NULL && record->run->workload.verb == NB_VERB_DELETE)
		text[0] = '\0';
	else if (job == NULL)
		snprintf(text, size, "%" PRIu64, record->run->workload.value_size);
	else if (job->value_min == job->value_max)
		snprintf(text, size, "%" PRIu64, job->value_min);
	else
		snprintf(text, size, "%" PRIu64 " to %" PRIu64 ", %.0f on average",
			job->value_min, job->value_max, job->value_mean);
}

static void
tell_records(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu64,
		record->job != NULL ? record->job->records : record->run->workload.count);
}

static void
tell_threads(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu32, record->run->threads);
}

static void
tell_procs(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu32,
		record->job != NULL && record->job->procs > 0 ? record->job->procs : 1);
}

/** Of all groups that have one; "" would be no answer, so a closed loop is told as well. */
static void
tell_rate(const struct record *record, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (size_t g = 0; record->job != NULL && g < record->job->group_count; g++) {
		const struct job_result_group *group = &record->job->groups[g];
		if (!group->is_paced || used >= size)
			continue;
		const char *gap = used > 0 ? ", " : "";
		if (group->speed > 0)
			used += (size_t)snprintf(text + used, size - used,
				"%sthe trace's times, %gx", gap, group->speed);
		else if (group->rate_text != NULL)
			used += (size_t)snprintf(
				text + used, size - used, "%s%s", gap, group->rate_text);
		else
			used += (size_t)snprintf(
				text + used, size - used, "%s%g/s", gap, group->rate_ops_s);
	}
	if (used == 0)
		snprintf(text, size, "none");
}

static void
tell_digest(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%016" PRIx64, record->run->digest);
}

static void
tell_settle(const struct record *record, char *text, size_t size)
{
	static const char *const names[] = {"none", "flush", "compact"};
	bool is_get = record->job == NULL && record->run->workload.verb == NB_VERB_GET;
	snprintf(text, size, "%s",
		is_get || record->run->settle > NB_RUN_SETTLE_COMPACT
			? ""
			: names[record->run->settle]);
}

static void
tell_cache(const struct record *record, char *text, size_t size)
{
	if (record->run->cache_bytes == 0)
		snprintf(text, size, "the engine's default");
	else
		units_format_bytes(text, size, (double)record->run->cache_bytes);
}

static void
tell_cold(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s",
		record->run->measured.cold == COLD_NOT             ? "not made cold"
			: record->run->measured.cold == COLD_FILES ? "its files evicted"
								   : "all caches dropped");
}

static void
tell_version(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", record->run->version);
}

static void
tell_build(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", record->run->environment.build);
}

static void
tell_revision(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", record->run->environment.revision);
}

static void
tell_engine_build(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", record->run->engine.build);
}

static void
tell_engine_version(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", record->run->engine_version);
}

static void
tell_host(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", record->run->environment.host);
}

static void
tell_cpu(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", record->run->environment.cpu);
}

static void
tell_cpus(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%" PRIu32, record->run->sysinfo.cpus);
}

static void
tell_governor(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", record->run->environment.governor);
}

static void
tell_kernel(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", record->run->environment.kernel);
}

static void
tell_memory(const struct record *record, char *text, size_t size)
{
	text[0] = '\0';
	if (record->run->sysinfo.memory_bytes > 0)
		units_format_bytes(text, size, (double)record->run->sysinfo.memory_bytes);
}

static void
tell_filesystem(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", record->run->sysinfo.filesystem);
}

static void
tell_device(const struct record *record, char *text, size_t size)
{
	const struct environment *environment = &record->run->environment;
	snprintf(text, size, "%s",
		environment->device_model[0] != '\0' ? environment->device_model
						     : environment->device);
}

static void
tell_allocator(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", record->run->environment.allocator);
}

static void
tell_pinning(const struct record *record, char *text, size_t size)
{
	snprintf(text, size, "%s", (record->run->flags & NB_RUN_PIN) != 0 ? "yes" : "no");
}

/** Only where the claim can be held against what was counted. */
static void
tell_syncs(const struct record *record, char *text, size_t size)
{
	const struct nb_result *run = record->run;
	const struct measurement *measured = &run->measured;
	if (run->durability == NB_DUR_COMMIT && measured->commits > 0 &&
		(measured->used.known & SYSTEM_SYNCS) != 0 && measured->durable_by == 0)
		snprintf(text, size, "%s",
			result_unsynced(run) > 0 ? "fewer than commit takes"
						 : "as many as commit takes");
}

struct attribute {
	const char *name;
	tell_fn tell;
	bool is_refused;   /* else it is a warning */
	bool is_of_driver; /* of other engines it is another in any case */
};

static const struct attribute attributes[] = {
	{"durability", tell_durability, true, false},
	{"key size", tell_key_size, true, false},
	{"value size", tell_value_size, true, false},
	{"number of records", tell_records, true, false},
	{"threads", tell_threads, true, false},
	{"processes", tell_procs, true, false},
	{"rate", tell_rate, true, false},
	{"stream of operations (its digest)", tell_digest, true, false},
	{"syncs", tell_syncs, false, false},
	{"settling", tell_settle, false, false},
	{"cache", tell_cache, false, false},
	{"cold start", tell_cold, false, false},
	{"mininb's version", tell_version, false, false},
	{"mininb's build", tell_build, false, false},
	{"mininb's revision", tell_revision, false, false},
	{"engine's build", tell_engine_build, false, false},
	{"engine's version", tell_engine_version, false, true},
	{"machine", tell_host, false, false},
	{"CPU", tell_cpu, false, false},
	{"number of CPUs", tell_cpus, false, false},
	{"CPU governor", tell_governor, false, false},
	{"memory", tell_memory, false, false},
	{"kernel", tell_kernel, false, false},
	{"file system", tell_filesystem, false, false},
	{"device", tell_device, false, false},
	{"allocator", tell_allocator, false, false},
	{"pinning", tell_pinning, false, false},
};

enum { ATTRIBUTES = sizeof(attributes) / sizeof(*attributes) };

/** The different values of an attribute, and which samples have them. */
struct values {
	char texts[VALUES_MAX][VALUE_SIZE], names[VALUES_MAX][NAMES_SIZE];
	uint64_t samples[VALUES_MAX]; /* bits */
	size_t count;
};

static void
add_value(
	struct values *values, const char *text, const struct compare_work *work, size_t sample)
{
	size_t i = 0;
	while (i < values->count && strcmp(values->texts[i], text) != 0)
		i++;
	if (i == VALUES_MAX)
		return; /* enough are told */
	if (i == values->count) {
		values->count++;
		snprintf(values->texts[i], VALUE_SIZE, "%s", text);
	}
	uint64_t bit = UINT64_C(1) << sample % SAMPLES_MAX;
	size_t used = strlen(values->names[i]);
	if ((values->samples[i] & bit) == 0)
		snprintf(values->names[i] + used, NAMES_SIZE - used, "%s%s",
			used > 0 ? ", " : "", work->samples[sample].name);
	values->samples[i] |= bit;
}

static int
tell_values(struct nb_comparison *comparison, const char *name, bool is_refused,
	const struct values *values)
{
	char text[VALUES_MAX * (VALUE_SIZE + NAMES_SIZE + 8)];
	size_t used = 0;
	if (values->count < 2)
		return NB_OK;
	for (size_t i = 0; i < values->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s (%s)",
			i > 0 ? ", " : "", values->texts[i], values->names[i]);
	return compare_add_text(is_refused ? &comparison->differences : &comparison->warnings,
		"differing %s: %s", name, text);
}

/** Of all runs of a work; `driver` if not NULL: of those alone. */
static int
look_at(struct nb_comparison *comparison, const struct compare_runs *runs, size_t work,
	const struct attribute *attribute, const char *driver)
{
	struct values values = {.count = 0};
	for (size_t i = 0; i < runs->count; i++) {
		const struct compare_run *run = &runs->items[i];
		char text[VALUE_SIZE] = "";
		if (run->work != work ||
			(driver != NULL && strcmp(run->record->driver, driver) != 0))
			continue;
		attribute->tell(run->record, text, sizeof(text));
		if (text[0] != '\0')
			add_value(&values, text, &comparison->works[work], run->sample);
	}
	return tell_values(comparison, attribute->name, attribute->is_refused, &values);
}

static const char *
option_value(const struct nb_result *run, const char *name)
{
	for (size_t i = 0; i < run->option_count; i++)
		if (strcmp(run->options[i].name, name) == 0)
			return run->options[i].value;
	return "";
}

/** Each option of the engine of `first`, which is a run of the work, that the runs differ in. */
static int
look_at_options(struct nb_comparison *comparison, const struct compare_runs *runs,
	const struct compare_run *first)
{
	const struct record *record = first->record;
	int rc = NB_OK;
	for (size_t o = 0; o < record->run->option_count && rc == NB_OK; o++) {
		const char *option = record->run->options[o].name;
		struct values values = {.count = 0};
		char name[160];
		for (size_t i = 0; i < runs->count; i++) {
			const struct compare_run *run = &runs->items[i];
			if (run->work != first->work ||
				strcmp(run->record->driver, record->driver) != 0)
				continue;
			const char *value = option_value(run->record->run, option);
			if (value[0] != '\0')
				add_value(&values, value, &comparison->works[run->work],
					run->sample);
		}
		snprintf(name, sizeof(name), "option %s of %s", option, record->driver);
		rc = tell_values(comparison, name, false, &values);
	}
	return rc;
}

/** Of its work. */
static bool
is_first_of_driver(const struct compare_runs *runs, size_t index)
{
	const struct compare_run *run = &runs->items[index];
	for (size_t i = 0; i < index; i++)
		if (runs->items[i].work == run->work &&
			strcmp(runs->items[i].record->driver, run->record->driver) == 0)
			return false;
	return true;
}

static int
look_at_work(struct nb_comparison *comparison, const struct compare_runs *runs, size_t index)
{
	const struct compare_work *work = &comparison->works[index];
	int rc = NB_OK;
	for (size_t a = 0; a < ATTRIBUTES && rc == NB_OK; a++) {
		if (!attributes[a].is_of_driver)
			rc = look_at(comparison, runs, index, &attributes[a], NULL);
		for (size_t s = 0;
			attributes[a].is_of_driver && s < work->sample_count && rc == NB_OK;
			s++)
			rc = look_at(comparison, runs, index, &attributes[a],
				work->samples[s].driver);
	}
	for (size_t i = 0; i < runs->count && rc == NB_OK; i++)
		if (runs->items[i].work == index && is_first_of_driver(runs, i))
			rc = look_at_options(comparison, runs, &runs->items[i]);
	return rc;
}

/** What is wrong with a run by itself. */
static int
look_at_run(struct nb_comparison *comparison, const struct compare_run *run)
{
	const struct record *record = run->record;
	struct compare_texts *differences = &comparison->differences;
	char which[64] = "";
	if (record->block > 0)
		snprintf(which, sizeof(which), ", run %" PRIu32, record->block);
	if (run->is_out && (record->run == NULL || record->end[0] != '\0'))
		return compare_add_text(&comparison->warnings, "%s is left out%s: %s",
			record_name(record), which, record->end);
	if (run->is_out)
		return NB_OK;
	if (run->work == SIZE_MAX)
		return compare_add_text(differences, "%s%s has no result: %s", record->driver,
			which, record->end);
	const struct compare_work *work = &comparison->works[run->work];
	const char *name = work->samples[run->sample].name;
	if (record->end[0] != '\0')
		return compare_add_text(differences, "%s of %s%s did not end well: %s",
			record_action(record), name, which, record->end);
	if (record->run->measured.is_partial)
		return compare_add_text(differences, "%s of %s%s is partial",
			record_action(record), name, which);
	if (record->is_merged > 0)
		return compare_add_text(differences,
			"%s of %s%s is merged of %" PRIu32 " runs, and how they varied is lost",
			record_action(record), name, which, record->is_merged);
	return NB_OK;
}

/* ---- how busy the machine was ---- */

/** The median over the runs of a sample, where it is known. */
static int
find_taken(struct compare_sample *sample, const struct compare_runs *runs, size_t work,
	size_t index)
{
	double *values = calloc(runs->count + 1, sizeof(*values));
	size_t count = 0;
	if (values == NULL)
		return error_set(NB_FAIL, "out of memory");
	for (size_t i = 0; i < runs->count; i++) {
		const struct compare_run *run = &runs->items[i];
		if (run->work != work || run->sample != index)
			continue;
		values[count] = result_taken_percent(run->record->run);
		count += values[count] >= 0;
	}
	stats_sort(values, count);
	sample->taken = count > 0 ? stats_median(values, count) : -1;
	free(values);
	return NB_OK;
}

/**
 * Rounds of vs take turns, and what others do falls on all contestants. Engines of one file
 * ran one after the other, but what kernel threads do for one of them counts as of others,
 * so this is only said; of a before and an after it is refused.
 */
static int
look_at_taken(struct nb_comparison *comparison, const struct compare_runs *runs, size_t index)
{
	struct compare_work *work = &comparison->works[index];
	const struct compare_sample *first = &work->samples[0];
	int rc = NB_OK;
	for (size_t s = 0; s < work->sample_count && rc == NB_OK; s++) {
		struct compare_sample *sample = &work->samples[s];
		rc = find_taken(sample, runs, index, s);
		bool is_same_file = sample->input == first->input;
		bool is_known = rc == NB_OK && first->taken >= 0 && sample->taken >= 0;
		if (!is_known || fabs(sample->taken - first->taken) <= COMPARE_TAKEN_MAX ||
			(is_same_file && sample->contestant > 0))
			continue;
		rc = compare_add_text(
			is_same_file ? &comparison->warnings : &comparison->differences,
			"the machine was not equally busy: other processes and the hypervisor "
			"had %.0f %% of its CPU time (%s), %.0f %% (%s), which is more than "
			"%.0f "
			"points apart; run both in turn (mininb vs)",
			first->taken, first->name, sample->taken, sample->name,
			COMPARE_TAKEN_MAX);
	}
	return rc;
}

static int
look_at_works(struct nb_comparison *comparison, const struct compare_runs *runs)
{
	int rc = NB_OK;
	for (size_t w = 0; w < comparison->work_count && rc == NB_OK; w++) {
		if (comparison->works[w].sample_count < 2)
			continue;
		rc = look_at_work(comparison, runs, w);
		if (rc == NB_OK)
			rc = look_at_taken(comparison, runs, w);
	}
	return rc;
}

int
compare_look_for_differences(struct nb_comparison *comparison, const struct compare_runs *runs)
{
	int rc = look_at_works(comparison, runs);
	for (size_t i = 0; i < runs->count && rc == NB_OK; i++)
		rc = look_at_run(comparison, &runs->items[i]);
	return rc;
}
