/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The conditions that compared runs must share, and those that they should share.
 *
 * Other operations, another durability, more threads, or a run that ended early make
 * figures of different work: mininb refuses to rank them. Another machine, kernel or build
 * may be the object of the comparison, or spoil it: a note before the verdict names it. A
 * busy machine is never the object. Runs on a quiet machine and runs beside other programs
 * differ by those programs, so mininb refuses to rank them, too.
 *
 * Each condition is a row of a table with a function that formats its value. The text ""
 * means unknown, and differs from no other text.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "report/compare.h"
#include "run/options.h"
#include "run/steps.h"

enum { VALUES_MAX = 6, VALUE_SIZE = 320, NAMES_SIZE = 320, SAMPLES_MAX = 64 };

/** The consequence of a difference. */
enum consequence {
	WARNED,
	REFUSED,
	/* only for runs of one engine; different engines differ in it anyway */
	WARNED_OF_DRIVER,
};

/* clang-format off */

/* All conditions. VALUE formats a value of the run, OWN has its own function. */
#define CONDITIONS(VALUE, OWN) \
	VALUE(durability, "durability", REFUSED, "%s", nb_durability_name(run->durability)) \
	VALUE(key_size, "key size", REFUSED, "%" PRIu64, run->is_job ? run->key_size : run->workload.key_size) \
	OWN(value_size, "value size", REFUSED) \
	VALUE(records, "number of records", REFUSED, "%" PRIu64, run->is_job ? run->records : run->workload.count) \
	VALUE(threads, "threads", REFUSED, "%" PRIu32, run->threads) \
	VALUE(memory_limit, "memory limit", REFUSED, "%s", run->measured.memory.limit_bytes > 0 \
		? UNITS_BYTES(run->measured.memory.limit_bytes) : "none") \
	VALUE(procs, "processes", REFUSED, "%" PRIu32, run->procs > 0 ? run->procs : 1) \
	VALUE(shard, "shard", REFUSED, "%s", run->shard[0] != '\0' ? run->shard : "all") \
	OWN(rate, "rate", REFUSED) \
	OWN(insert_verb, "verb of inserts", REFUSED) \
	OWN(depth, "depth", REFUSED) \
	OWN(latency, "latency stamps", REFUSED) \
	OWN(level, "level of operations of several steps", REFUSED) \
	VALUE(digest, "stream of operations (its digest)", REFUSED, "%016" PRIx64, run->digest) \
	OWN(syncs, "syncs", WARNED) \
	OWN(settle, "settling", WARNED) \
	VALUE(cache, "cache", WARNED, "%s", run->cache_bytes > 0 ? UNITS_BYTES(run->cache_bytes) : "the engine's default") \
	VALUE(cold, "cold start", WARNED, "%s", run->measured.cold == COLD_NOT ? "not made cold" \
		: run->measured.cold == COLD_FILES ? "its files evicted" : "all caches dropped") \
	VALUE(version, "mininb's version", WARNED, "%s", run->version) \
	VALUE(build, "mininb's build", WARNED, "%s", run->environment.build) \
	VALUE(revision, "mininb's revision", WARNED, "%s", run->environment.revision) \
	VALUE(engine_build, "engine's build", WARNED, "%s", run->engine.build) \
	VALUE(engine_version, "engine's version", WARNED_OF_DRIVER, "%s", run->engine_version) \
	OWN(servers, "servers", WARNED_OF_DRIVER) \
	OWN(server_settings, "version and settings of servers", WARNED_OF_DRIVER) \
	VALUE(host, "machine", WARNED, "%s", run->environment.host) \
	VALUE(cpu, "CPU", WARNED, "%s", run->environment.cpu) \
	VALUE(cpus, "number of CPUs", WARNED, "%" PRIu32, run->sysinfo.cpus) \
	VALUE(governor, "CPU governor", WARNED, "%s", run->environment.governor) \
	VALUE(memory, "memory", WARNED, "%s", run->sysinfo.memory_bytes > 0 ? UNITS_BYTES(run->sysinfo.memory_bytes) : "") \
	VALUE(kernel, "kernel", WARNED, "%s", run->environment.kernel) \
	VALUE(filesystem, "file system", WARNED, "%s", run->sysinfo.filesystem) \
	VALUE(device, "device", WARNED, "%s", run->environment.device_model[0] != '\0' \
		? run->environment.device_model : run->environment.device) \
	VALUE(allocator, "allocator", WARNED, "%s", run->environment.allocator) \
	VALUE(pinning, "pinning", WARNED, "%s", (run->flags & NB_RUN_PIN) != 0 ? "yes" : "no")

#define NOTHING(...)
#define FORMAT(id, name, consequence, ...) \
	static void format_##id(const struct nb_result *run, char *text, size_t size) \
	{ \
		snprintf(text, size, __VA_ARGS__); \
	}
CONDITIONS(FORMAT, NOTHING)

/* clang-format on */

static void
format_value_size(const struct nb_result *run, char *text, size_t size)
{
	if (!run->is_job && run->workload.verb == NB_VERB_DELETE)
		text[0] = '\0';
	else if (!run->is_job)
		snprintf(text, size, "%" PRIu64, run->workload.value_size);
	else if (run->value_min == run->value_max)
		snprintf(text, size, "%" PRIu64, run->value_min);
	else
		snprintf(text, size, "%" PRIu64 " to %" PRIu64 ", %.0f on average",
			run->value_min, run->value_max, run->value_mean);
}

/** List the rates of all groups that have one; else "none", because "" would mean unknown. */
static void
format_rate(const struct nb_result *run, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (size_t g = 0; g < run->group_count; g++) {
		const struct job_result_group *group = &run->groups[g];
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

/** Over all groups: a group without inserts has the default. */
static void
format_insert_verb(const struct nb_result *run, char *text, size_t size)
{
	bool is_native = false;
	for (size_t g = 0; g < run->group_count; g++)
		is_native |= run->groups[g].insert_verb == NB_INSERT_NATIVE;
	snprintf(text, size, "%s", is_native ? "insert" : "put");
}

/** List the requests in flight, for each group that differs from the previous one. */
static void
format_depth(const struct nb_result *run, char *text, size_t size)
{
	const struct job_result_group all = {
		.depth = run->measured.depth, .batch_bytes = run->measured.batch_bytes};
	const struct job_result_group *groups = run->group_count > 0 ? run->groups : &all;
	size_t used = 0, count = run->group_count > 0 ? run->group_count : 1;
	for (size_t g = 0; g < count && used < size; g++) {
		const struct job_result_group *it = &groups[g];
		if (g > 0 && it->depth == it[-1].depth && it->batch_bytes == it[-1].batch_bytes)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%" PRIu32,
			used > 0 ? ", " : "", it->depth > 0 ? it->depth : 1);
		if (it->batch_bytes > 0 && used < size)
			used += (size_t)snprintf(text + used, size - used,
				" in batches of %" PRIu64 " bytes", it->batch_bytes);
	}
}

/** List the stamping of each group that differs from the previous one. */
static void
format_latency(const struct nb_result *run, char *text, size_t size)
{
	const char *last = run->measured.stamping.latency;
	snprintf(text, size, "%s", last[0] != '\0' ? last : "each");
	for (size_t g = 0; g < run->group_count; g++) {
		const char *own = run->groups[g].measured.stamping.latency;
		size_t used = g == 0 ? 0 : strlen(text);
		if (g == 0 || strcmp(own, last) != 0)
			snprintf(text + used, size - used, "%s%s", g > 0 ? ", " : "",
				own[0] != '\0' ? own : "each");
		last = own;
	}
}

/** The weakest level of all groups, because engines that promise less do less work. */
static void
format_level(const struct nb_result *run, char *text, size_t size)
{
	uint32_t level = STEPS_NONE;
	for (size_t g = 0; g < run->group_count; g++) {
		uint32_t own = run->groups[g].measured.level;
		level = level == STEPS_NONE || (own != STEPS_NONE && own < level) ? own : level;
	}
	snprintf(text, size, "%s", level != STEPS_NONE ? steps_level_name(level) : "");
}

static void
format_settle(const struct nb_result *run, char *text, size_t size)
{
	bool is_get = !run->is_job && run->workload.verb == NB_VERB_GET;
	const char *name = run_settle_name(run->settle);
	snprintf(text, size, "%s", is_get || name == NULL ? "" : name);
}

static void
join_texts(const struct addresses *texts, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < texts->count && used < size; i++)
		used += (size_t)snprintf(
			text + used, size - used, "%s%s", i > 0 ? "; " : "", texts->items[i]);
}

/** The number of private servers, wherever their sockets are; else the addresses. */
static void
format_servers(const struct nb_result *run, char *text, size_t size)
{
	if (run->measured.server.servers > 0)
		snprintf(text, size, "%" PRIu32 " private", run->measured.server.servers);
	else
		join_texts(&run->servers, text, size);
}

static void
format_server_settings(const struct nb_result *run, char *text, size_t size)
{
	join_texts(&run->server_settings, text, size);
}

/** Known only if the claim can be checked against the counted syncs. */
static void
format_syncs(const struct nb_result *run, char *text, size_t size)
{
	const struct measurement *measured = &run->measured;
	if (run->durability == NB_DUR_COMMIT && measured->commits > 0 &&
		(measured->used.known & SYSTEM_SYNCS) != 0 && measured->durable_by == 0)
		snprintf(text, size, "%s",
			result_unsynced(run) > 0 ? "fewer than commit takes"
						 : "as many as commit takes");
}

static const struct attribute {
	const char *name;
	void (*format)(const struct nb_result *run, char *text, size_t size);
	enum consequence consequence;
} attributes[] = {
#define ROW(id, name, consequence, ...) {name, format_##id, consequence},
#define OWN_ROW(id, name, consequence) ROW(id, name, consequence, "")
	CONDITIONS(ROW, OWN_ROW)
#undef ROW
#undef OWN_ROW
};

enum { ATTRIBUTES = sizeof(attributes) / sizeof(*attributes) };

/** The different values of an attribute, and the samples that have them. */
struct values {
	char texts[VALUES_MAX][VALUE_SIZE], names[VALUES_MAX][NAMES_SIZE];
	uint64_t samples[VALUES_MAX]; /* as bits */
	size_t count;
};

static void
add_value(
	struct values *values, const char *text, const struct compare_work *work, size_t sample)
{
	size_t i = 0;
	while (i < values->count && strcmp(values->texts[i], text) != 0)
		i++;
	if (i == VALUES_MAX || text[0] == '\0')
		return;
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

static void
report_values(struct nb_comparison *comparison, const char *name, bool is_refused,
	const struct values *values)
{
	char text[VALUES_MAX * (VALUE_SIZE + NAMES_SIZE + 8)];
	size_t used = 0;
	if (values->count < 2)
		return;
	for (size_t i = 0; i < values->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s (%s)",
			i > 0 ? ", " : "", values->texts[i], values->names[i]);
	compare_add_text(comparison,
		is_refused ? &comparison->differences : &comparison->warnings,
		"differing %s: %s", name, text);
}

/** Compare an attribute over all runs of a work. `driver`: only over its runs; NULL: all. */
static void
look_at(struct nb_comparison *comparison, size_t work, const struct attribute *attribute,
	const char *driver)
{
	struct values values = {.count = 0};
	for (size_t i = 0; i < comparison->run_count; i++) {
		const struct compare_run *run = &comparison->runs[i];
		char text[VALUE_SIZE] = "";
		if (run->work != work ||
			(driver != NULL && strcmp(run->record->driver, driver) != 0))
			continue;
		attribute->format(run->record->run, text, sizeof(text));
		add_value(&values, text, &comparison->works[work], run->sample);
	}
	report_values(comparison, attribute->name, attribute->consequence == REFUSED, &values);
}

static const char *
option_value(const struct nb_result *run, const char *name)
{
	for (size_t i = 0; i < run->option_count; i++)
		if (strcmp(run->options[i].name, name) == 0)
			return run->options[i].value;
	return "";
}

/** Compare each engine option over the runs of the work with the same driver as `first`. */
static void
look_at_options(struct nb_comparison *comparison, const struct compare_run *first)
{
	const struct record *record = first->record;
	for (size_t o = 0; o < record->run->option_count; o++) {
		const char *option = record->run->options[o].name;
		struct values values = {.count = 0};
		char name[160];
		for (size_t i = 0; i < comparison->run_count; i++) {
			const struct compare_run *run = &comparison->runs[i];
			if (run->work == first->work &&
				strcmp(run->record->driver, record->driver) == 0)
				add_value(&values, option_value(run->record->run, option),
					&comparison->works[run->work], run->sample);
		}
		snprintf(name, sizeof(name), "option %s of %s", option, record->driver);
		report_values(comparison, name, false, &values);
	}
}

/** Whether it is the first run of its driver in its work. */
static bool
is_first_of_driver(const struct nb_comparison *comparison, size_t index)
{
	const struct compare_run *runs = comparison->runs;
	for (size_t i = 0; i < index; i++)
		if (runs[i].work == runs[index].work &&
			strcmp(runs[i].record->driver, runs[index].record->driver) == 0)
			return false;
	return true;
}

static void
look_at_work(struct nb_comparison *comparison, size_t index)
{
	const struct compare_work *work = &comparison->works[index];
	for (size_t a = 0; a < ATTRIBUTES; a++) {
		bool is_of_driver = attributes[a].consequence == WARNED_OF_DRIVER;
		if (!is_of_driver)
			look_at(comparison, index, &attributes[a], NULL);
		for (size_t s = 0; is_of_driver && s < work->sample_count; s++)
			look_at(comparison, index, &attributes[a], work->samples[s].driver);
	}
	for (size_t i = 0; i < comparison->run_count; i++)
		if (comparison->runs[i].work == index && is_first_of_driver(comparison, i))
			look_at_options(comparison, &comparison->runs[i]);
}

/** Report faults of a single run. */
static void
look_at_run(struct nb_comparison *comparison, const struct compare_run *run)
{
	const struct record *record = run->record;
	struct compare_texts *differences = &comparison->differences;
	char which[64] = "";
	if (record->block > 0)
		snprintf(which, sizeof(which), ", run %" PRIu32, record->block);
	if (run->work == SIZE_MAX) {
		if (!run->is_out)
			compare_add_text(comparison, differences, "%s%s has no result: %s",
				record->driver, which, record->end);
		else if (record->run == NULL || record->end[0] != '\0')
			compare_add_text(comparison, &comparison->warnings,
				"%s is left out%s: %s", record_name(record), which,
				record->end);
		return;
	}
	const char *action = record_action(record);
	const char *name = comparison->works[run->work].samples[run->sample].name;
	if (record->end[0] != '\0')
		compare_add_text(comparison, differences, "%s of %s%s did not end well: %s",
			action, name, which, record->end);
	else if (record->run->measured.is_partial)
		compare_add_text(
			comparison, differences, "%s of %s%s is partial", action, name, which);
	else if (record->is_merged > 0)
		compare_add_text(comparison, differences,
			"%s of %s%s is a merge of %" PRIu32 " runs; their variation is lost",
			action, name, which, record->is_merged);
}

/* ---- CPU time used by others ---- */

/** Set the median over the runs of a sample for which it is known. */
static void
find_taken(struct nb_comparison *comparison, struct compare_sample *sample, size_t work,
	size_t index)
{
	double *values = calloc(comparison->run_count + 1, sizeof(*values));
	size_t count = 0;
	if (values == NULL) {
		comparison->rc = error_memory();
		return;
	}
	for (size_t i = 0; i < comparison->run_count; i++) {
		const struct compare_run *run = &comparison->runs[i];
		if (run->work != work || run->sample != index)
			continue;
		values[count] = result_taken_percent(run->record->run);
		count += values[count] >= 0;
	}
	stats_sort(values, count);
	sample->taken = count > 0 ? stats_median(values, count) : -1;
	free(values);
}

/**
 * Compare the CPU time that others used. Rounds of vs take turns, so other programs affect
 * all contestants. Engines of one file ran one after the other, but kernel threads that
 * work for one of them count as other programs, so this is only a warning. A before and an
 * after are refused.
 */
static void
look_at_taken(struct nb_comparison *comparison, size_t index)
{
	struct compare_work *work = &comparison->works[index];
	const struct compare_sample *first = &work->samples[0];
	for (size_t s = 0; s < work->sample_count; s++) {
		struct compare_sample *sample = &work->samples[s];
		find_taken(comparison, sample, index, s);
		bool is_same_file = sample->input == first->input;
		if (first->taken < 0 || sample->taken < 0 ||
			fabs(sample->taken - first->taken) <= COMPARE_TAKEN_MAX ||
			(is_same_file && sample->contestant > 0))
			continue;
		compare_add_text(comparison,
			is_same_file ? &comparison->warnings : &comparison->differences,
			"the machine was not equally busy: other processes and the hypervisor used %.0f %% of its CPU time (%s), %.0f %% (%s), which is more than %.0f points apart; run both in turn (mininb vs)",
			first->taken, first->name, sample->taken, sample->name,
			COMPARE_TAKEN_MAX);
	}
}

void
compare_look_for_differences(struct nb_comparison *comparison)
{
	for (size_t w = 0; w < comparison->work_count; w++) {
		if (comparison->works[w].sample_count < 2)
			continue;
		look_at_work(comparison, w);
		look_at_taken(comparison, w);
	}
	for (size_t i = 0; i < comparison->run_count; i++)
		look_at_run(comparison, &comparison->runs[i]);
}
