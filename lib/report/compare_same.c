/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The conditions that compared runs must have in common, and those that they should.
 *
 * Other operations, another durability, more threads, a run that ended early: such figures
 * are of different work, and mininb refuses to rank them. Another machine, kernel or build may
 * be the object of the comparison, or spoil it; a note before the verdict names it. A busy
 * machine is never the object: runs on a quiet machine and runs beside other programs differ
 * by those programs, so mininb refuses to rank them, too.
 *
 * Each condition is a row of a table: a function that formats it. A text "" is not known, and
 * differs from no other.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "report/compare.h"
#include "run/options.h"

enum { VALUES_MAX = 6, VALUE_SIZE = 160, NAMES_SIZE = 320, SAMPLES_MAX = 64 };

typedef void (*format_fn)(const struct record *record, char *text, size_t size);

/* Conditions that are one value of the run. */
#define FORMAT(name, ...) \
	static void format_##name(const struct record *record, char *text, size_t size) \
	{ \
		const struct nb_result *run = record->run; \
		snprintf(text, size, __VA_ARGS__); \
	}

/* clang-format off */
FORMAT(durability, "%s", nb_durability_name(run->durability))
FORMAT(key_size, "%" PRIu64, record_job(record) != NULL ? run->key_size : run->workload.key_size)
FORMAT(records, "%" PRIu64, record_job(record) != NULL ? run->records : run->workload.count)
FORMAT(threads, "%" PRIu32, run->threads)
FORMAT(procs, "%" PRIu32, run->procs > 0 ? run->procs : 1)
FORMAT(digest, "%016" PRIx64, run->digest)
FORMAT(cache, "%s", run->cache_bytes > 0 ? UNITS_BYTES(run->cache_bytes) : "the engine's default")
FORMAT(cold, "%s", run->measured.cold == COLD_NOT ? "not made cold"
	: run->measured.cold == COLD_FILES ? "its files evicted" : "all caches dropped")
FORMAT(version, "%s", run->version)
FORMAT(build, "%s", run->environment.build)
FORMAT(revision, "%s", run->environment.revision)
FORMAT(engine_build, "%s", run->engine.build)
FORMAT(engine_version, "%s", run->engine_version)
FORMAT(host, "%s", run->environment.host)
FORMAT(cpu, "%s", run->environment.cpu)
FORMAT(cpus, "%" PRIu32, run->sysinfo.cpus)
FORMAT(governor, "%s", run->environment.governor)
FORMAT(kernel, "%s", run->environment.kernel)
FORMAT(memory, "%s", run->sysinfo.memory_bytes > 0 ? UNITS_BYTES(run->sysinfo.memory_bytes) : "")
FORMAT(filesystem, "%s", run->sysinfo.filesystem)
FORMAT(device, "%s", run->environment.device_model[0] != '\0' ? run->environment.device_model
	: run->environment.device)
FORMAT(allocator, "%s", run->environment.allocator)
FORMAT(pinning, "%s", (run->flags & NB_RUN_PIN) != 0 ? "yes" : "no")
/* clang-format on */

static void
format_value_size(const struct record *record, char *text, size_t size)
{
	const struct nb_result *job = record_job(record);
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

/** Of all groups that have a rate; else "none", since "" would mean that it is not known. */
static void
format_rate(const struct record *record, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (size_t g = 0; g < record->run->group_count; g++) {
		const struct job_result_group *group = &record->run->groups[g];
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
format_settle(const struct record *record, char *text, size_t size)
{
	bool is_get = record_job(record) == NULL && record->run->workload.verb == NB_VERB_GET;
	const char *name = run_settle_name(record->run->settle);
	snprintf(text, size, "%s", is_get || name == NULL ? "" : name);
}

/** Only where the claim can be held against what was counted. */
static void
format_syncs(const struct record *record, char *text, size_t size)
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
	format_fn format;
	bool is_refused;   /* else it is a warning */
	bool is_of_driver; /* of other engines it is another in any case */
};

static const struct attribute attributes[] = {
	{"durability", format_durability, true, false},
	{"key size", format_key_size, true, false},
	{"value size", format_value_size, true, false},
	{"number of records", format_records, true, false},
	{"threads", format_threads, true, false},
	{"processes", format_procs, true, false},
	{"rate", format_rate, true, false},
	{"stream of operations (its digest)", format_digest, true, false},
	{"syncs", format_syncs, false, false},
	{"settling", format_settle, false, false},
	{"cache", format_cache, false, false},
	{"cold start", format_cold, false, false},
	{"mininb's version", format_version, false, false},
	{"mininb's build", format_build, false, false},
	{"mininb's revision", format_revision, false, false},
	{"engine's build", format_engine_build, false, false},
	{"engine's version", format_engine_version, false, true},
	{"machine", format_host, false, false},
	{"CPU", format_cpu, false, false},
	{"number of CPUs", format_cpus, false, false},
	{"CPU governor", format_governor, false, false},
	{"memory", format_memory, false, false},
	{"kernel", format_kernel, false, false},
	{"file system", format_filesystem, false, false},
	{"device", format_device, false, false},
	{"allocator", format_allocator, false, false},
	{"pinning", format_pinning, false, false},
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
report_values(struct nb_comparison *comparison, const char *name, bool is_refused,
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
		attribute->format(run->record, text, sizeof(text));
		if (text[0] != '\0')
			add_value(&values, text, &comparison->works[work], run->sample);
	}
	return report_values(comparison, attribute->name, attribute->is_refused, &values);
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
		rc = report_values(comparison, name, false, &values);
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
			"the machine was not equally busy: other processes and the hypervisor had %.0f %% of its CPU time (%s), %.0f %% (%s), which is more than %.0f points apart; run both in turn (mininb vs)",
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
