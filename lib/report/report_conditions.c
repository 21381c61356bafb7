/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The resources and conditions of a run, and the reasons why its figures may be wrong. Text
 * has all of it as lines in one block. Markdown has sections, and folds long parts that are
 * seldom read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/report.h"

static const char *const settled[] = {[NB_RUN_SETTLE_NONE] = "not settled",
	[NB_RUN_SETTLE_FLUSH] = "flushed",
	[NB_RUN_SETTLE_COMPACT] = "flushed and compacted"};

void
report_settled(struct doc *doc, const struct record *record)
{
	const struct measurement *measured = &record->run->measured;
	const char *how = settled[measured->settled];
	double ops_s = record_settled_rate(record),
	       settle_s = (double)measured->settle_ns / 1e9,
	       close_s = (double)measured->close_ns / 1e9;
	if (record->run->is_job) {
		doc_line(doc, "Settled", "%s in %.6f sec, closed in %.6f sec", how, settle_s,
			close_s);
		if (ops_s > 0)
			doc_more(doc, ": %.0f ops/sec in all", ops_s);
	} else if (record->run->settle == NB_RUN_SETTLE_NONE) {
		doc_line(doc, "Settled throughput", "not settled, as asked");
	} else if (measured->settle_ns > 0) {
		doc_line(doc, "Settled throughput",
			"%.0f ops/sec (%s in %.6f sec, closed in %.6f sec)", ops_s, how,
			settle_s, close_s);
	} else { /* the engine has no flush */
		doc_line(doc, "Settled throughput",
			"%.0f ops/sec (not settled, closed in %.6f sec)", ops_s, close_s);
	}
}

void
report_conflicts(struct doc *doc, uint64_t count)
{
	if (count > 0)
		doc_line(doc, "Conflicts",
			"%" PRIu64 " (each tried again, in the same latency)", count);
}

/* ---- text: how much of the database was in memory ---- */

/**
 * Append "41 % when the first operation began", with the size if it differs from the last
 * one written. `told` is that size, "" before the first share.
 */
static void
add_share(struct doc *doc, char told[UNITS_SIZE], const struct residency *residency,
	const char *when)
{
	if (!residency->is_known || residency->total_bytes == 0)
		return;
	double percent = 100 * (double)residency->resident_bytes /
		(double)residency->total_bytes;
	bool is_first = told[0] == '\0';
	const char *total = UNITS_BYTES(residency->total_bytes);
	doc_more(doc, "%s%.*f %%", is_first ? "; " : ", ", percent < 10 ? 1 : 0, percent);
	if (strcmp(told, total) != 0)
		doc_more(doc, " of %s%s", total, is_first ? " resident" : "");
	doc_more(doc, " %s", when);
	strcpy(told, total);
}

static bool
is_known(const struct residency *residency)
{
	return residency->is_known && residency->total_bytes > 0;
}

static void
add_cache_state(struct doc *doc, const struct nb_result *result)
{
	static const char *const made_cold[] = {
		[COLD_FILES] = "cold: files evicted", [COLD_CACHES] = "cold: caches dropped"};
	const struct measurement *measured = &result->measured;
	bool has_begin = measured->had_data && is_known(&measured->residency_begin);
	bool has_any = is_known(&measured->residency_before) || has_begin ||
		is_known(&measured->residency_after);
	char told[UNITS_SIZE] = "";
	if (!has_any && measured->cold == COLD_NOT)
		return;
	doc_line(doc, "Cache state", "%s",
		measured->cold != COLD_NOT   ? made_cold[measured->cold]
			: measured->had_data ? "as it was found"
					     : "new database");
	if (!has_any) {
		doc_more(doc, "; how much stayed resident is not known");
		return;
	}
	add_share(doc, told, &measured->residency_before, "before");
	if (measured->had_data)
		add_share(doc, told, &measured->residency_begin,
			"when the first operation began");
	add_share(doc, told, &measured->residency_after, "after");
	if (measured->residency_after.unread > 0)
		doc_more(doc, "; of %u files that is not known",
			measured->residency_after.unread);
}

/* ---- text: the database, and the use of the processor ---- */

static void
add_cpu(struct doc *doc, const struct record *record)
{
	const struct system_counts *usage = &record->run->measured.usage;
	const char *others = record_no_cpu(record);
	double all_ns = (double)(usage->user_ns + usage->system_ns);
	double user = all_ns > 0 ? (double)usage->user_ns / all_ns : 0;
	double each_ns = record_cpu_ns_op(record);
	if (others != NULL)
		doc_line(doc, "CPU time",
			"%.6f sec in all; not known for an operation, since %s used part of it",
			all_ns / 1e9, others);
	else
		doc_line(doc, "CPU time", "%.0f ns/op user, %.0f ns/op system", each_ns * user,
			each_ns * (1 - user));
}

static void
add_cache(struct doc *doc, const struct nb_result *run)
{
	doc_line(doc, "Cache", "%s",
		run->cache_bytes > 0 ? UNITS_BYTES(run->cache_bytes) : "engine's default");
}

static void
add_database(struct doc *doc, const struct record *record)
{
	static const char *const survives[] = {[NB_DUR_NONE] = "kill -9 may lose writes",
		[NB_DUR_PROCESS] = "writes survive kill -9, not power loss",
		[NB_DUR_PERIODIC] = "power loss may take the last sync interval",
		[NB_DUR_COMMIT] = "writes survive power loss"};
	const struct nb_result *run = record->run;
	uint64_t bytes = run->measured.data_bytes;
	doc_line(doc, "Durability", "%s%s (%s)", nb_durability_name(run->durability),
		run->is_auto_durability ? ", by default" : "", survives[run->durability]);
	add_cache(doc, run);
	if (result_is_elsewhere(run))
		doc_line(doc, "Database", "of servers that mininb did not start");
	else
		doc_line(doc, "Database", "%s on %s",
			bytes > 0 ? UNITS_BYTES(bytes) : "no data",
			run->sysinfo.filesystem[0] != '\0' ? run->sysinfo.filesystem
							   : "unknown");
	add_cache_state(doc, run);
	if (run->is_of_processes) {
		doc_line(doc, "CPU time", "not known of several processes");
		doc_line(doc, "Memory", "not known of several processes");
	} else {
		add_cpu(doc, record);
		report_memory(doc, run);
	}
}

static void
add_clock(struct doc *doc, const struct nb_result *run)
{
	const struct measurement *measured = &run->measured;
	for (uint32_t i = 0; i < measured->phase_count; i++)
		doc_list(doc, "Phases", "%s %s", measured->phases[i].name,
			UNITS_NS(measured->phases[i].ns));
	const char *latency = measured->stamping.latency;
	doc_line(doc, "Clock", "%s, %.3f MHz, in steps of %.2g ns, %.1f ns a stamp, two for ",
		clock_name(&run->clock), run->clock.tick_hz / 1e6, run->clock.step_ns,
		run->clock.read_ns);
	if (strncmp(latency, "sampled:", 8) == 0)
		doc_more(doc, "one operation in %s", latency + 8);
	else
		doc_more(doc, "each %s",
			latency[0] != '\0'            ? "block of operations"
				: measured->depth > 0 ? "batch of requests"
						      : "operation");
}

/**
 * Show the time of operations with and without their own stamps, from the same run. A stamp
 * waits for memory accesses that otherwise overlap with those of the next operation, so it
 * costs more than its own time.
 */
static void
add_stamping(struct doc *doc, const struct nb_result *run)
{
	const struct measurement *measured = &run->measured;
	const struct stamping *stamping = &measured->stamping;
	double ns = result_unstamped_ns(run);
	if (stamping->ops == 0)
		return;
	doc_line(doc, "Without stamps",
		"%" PRIu64 " operations took %.1f ns each, in %" PRIu64
		" blocks of %.1f operations and %.0f ns on average",
		stamping->ops, ns, stamping->stretches,
		(double)stamping->ops / (double)stamping->stretches,
		(double)stamping->ns / (double)stamping->stretches);
	uint64_t timed = nb_histogram_count(measured->service);
	double mean = nb_histogram_mean(measured->service);
	if (timed == 0)
		return;
	doc_line(doc, "With stamps", "%" PRIu64 " operations took %.1f ns each", timed, mean);
	if (mean > ns)
		doc_more(doc, ", %.1f ns more: stamps, and memory accesses that cannot overlap",
			mean - ns);
}

/* ---- Markdown: the machine ---- */

/** Append "a, b": the words that are not empty. */
static void
add_words(struct doc *doc, const char *label, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (words[i][0] != '\0')
			doc_list(doc, label, "%s", words[i]);
}

static void
add_machine(struct doc *doc, const struct nb_result *run)
{
	const struct environment *environment = &run->environment;
	char cpus[32];
	uint64_t memory = run->sysinfo.memory_bytes;
	snprintf(cpus, sizeof(cpus), "%u CPUs", run->sysinfo.cpus);
	const char *const machine[] = {environment->host, environment->cpu, cpus,
		memory > 0 ? UNITS_BYTES(memory) : "", run->sysinfo.hypervisor,
		environment->container};
	const char *const system[] = {
		environment->system, environment->kernel, environment->allocator};
	const char *const disk[] = {run->sysinfo.filesystem, environment->mount_options,
		environment->device, environment->device_model};
	add_words(doc, "Machine", machine, sizeof(machine) / sizeof(*machine));
	add_words(doc, "System", system, sizeof(system) / sizeof(*system));
	add_words(doc, "File system", disk, sizeof(disk) / sizeof(*disk));
}

static void
add_section(struct doc *doc, const struct nb_result *run)
{
	doc_heading(doc, "###", "Conditions");
	if (run->environment.begun[0] != '\0')
		doc_line(doc, "Begun", "%s", run->environment.begun);
	doc_line(doc, "Threads", "%u", run->threads);
	doc_line(doc, "Durability", "%s%s", nb_durability_name(run->durability),
		run->is_auto_durability ? ", by default" : "");
	add_cache(doc, run);
	add_machine(doc, run);
}

/* ---- the engine and the notes ---- */

static const double share_least = 0.01; /* the lowest that units.h does not round to 0 */

/** Append " (1.73 per op)", or nothing. Divides by all operations of the counted time. */
static void
add_per_op(struct doc *doc, const struct counter *counter, uint64_t ops)
{
	char each[UNITS_SIZE];
	double share = ops > 0 ? (double)counter->value / (double)ops : 0;
	if (counter->kind != NB_STAT_COUNTER || share < share_least)
		return;
	if (units_format_of(each, sizeof(each), counter->unit, share))
		doc_more(doc, " (%s per op)", each);
	else
		doc_more(doc, share < 100 ? " (%.3g per op)" : " (%.0f per op)", share);
}

/**
 * Bytes and times have their own units; any other unit follows, unless the name contains
 * it.
 */
static void
add_counter(struct doc *doc, const struct counter *counter, uint64_t ops)
{
	char value[UNITS_SIZE];
	doc_line(doc, counter->kind == NB_STAT_COUNTER ? "Counter" : "Gauge", "%s ",
		counter->name);
	if (units_format_of(value, sizeof(value), counter->unit, (double)counter->value))
		doc_more(doc, "%s", value);
	else if (strstr(counter->name, counter->unit) == NULL)
		doc_more(doc, "%" PRIu64 " %s", counter->value, counter->unit);
	else
		doc_more(doc, "%" PRIu64, counter->value);
	add_per_op(doc, counter, ops);
}

/**
 * Add the counters in the engine's order, without those that are 0, which most engines have
 * many of.
 */
static void
add_counters_of(struct doc *doc, const struct nb_result *result, uint32_t kind)
{
	const struct counters *counters = &result->measured.counters;
	for (size_t i = 0; i < counters->count; i++) {
		const struct counter *it = &counters->items[i];
		if (it->kind == kind && it->value != 0 && !it->has_run_back)
			add_counter(doc, it, result->measured.usage_ops);
	}
}

static void
add_counters(struct doc *doc, const struct nb_result *result)
{
	if (result->is_of_processes && result->has_counters)
		doc_line(doc, "Counters", "not known of several processes");
	add_counters_of(doc, result, NB_STAT_COUNTER);
	add_counters_of(doc, result, NB_STAT_GAUGE);
}

static void
add_engine(struct doc *doc, const struct nb_result *run)
{
	doc_show(doc, DOC_TEXT);
	doc_line(doc, "Engine", "%s %s, %s, %s, %s", run->engine.name, run->engine_version,
		run->engine.licence, run->engine.build, run->engine_path);
	for (size_t i = 0; i < run->servers.count; i++)
		doc_line(doc, "Server", "%s", run->servers.items[i]);
	for (size_t i = 0; i < run->server_settings.count; i++)
		doc_line(doc, "Server settings", "%s", run->server_settings.items[i]);
	for (size_t i = 0; i < run->option_count; i++)
		doc_line(doc, "Option", "%s=%s", run->options[i].name, run->options[i].value);
	add_counters(doc, run);
	doc_show(doc, DOC_MARKDOWN);
	doc_line(doc, "Engine", "%s %s, %s, %s", run->engine.name, run->engine_version,
		run->engine.licence, run->engine.build);
}

static void
add_notes(struct doc *doc, const struct record *record)
{
	const char *note;
	doc_show(doc, DOC_MARKDOWN);
	if (record_note(record, 0) != NULL)
		doc_heading(doc, "###", "Notes");
	for (size_t i = 0; (note = record_note(record, i)) != NULL; i++) {
		doc_show(doc, DOC_TEXT);
		doc_line(doc, "Note", "%s", note);
		doc_show(doc, DOC_MARKDOWN);
		doc_bullet(doc, note, "%s", record_note_id(record, i));
	}
}

static void
add_counter_table(struct doc *doc, const struct counters *counters)
{
	static const struct doc_column columns[] = {{"counter", DOC_LEFT, 0},
		{"value", DOC_RIGHT, 0}, {"unit", DOC_LEFT, 0}, {"kind", DOC_LEFT, 0}};
	doc_table(doc, columns, 0, DOC_APART);
	for (size_t i = 0; i < counters->count; i++) {
		const struct counter *it = &counters->items[i];
		if (it->value == 0 || it->has_run_back)
			continue;
		doc_row(doc);
		doc_cell(doc, "%s", it->name);
		doc_cell(doc, "%" PRIu64, it->value);
		doc_cell(doc, "%s", it->unit);
		doc_cell(doc, "%s", it->kind == NB_STAT_COUNTER ? "counter" : "gauge");
	}
}

static void
add_details(struct doc *doc, const struct nb_result *run)
{
	if (run->option_count == 0 && run->measured.counters.count == 0)
		return;
	doc_add(doc, DOC_FOLD, "", "%s", "Options and counters of the engine");
	for (size_t i = 0; i < run->option_count; i++)
		doc_bullet(doc, "", "%s=%s", run->options[i].name, run->options[i].value);
	add_counter_table(doc, &run->measured.counters);
	doc_add(doc, DOC_UNFOLD, "", "%s", "");
}

void
report_conditions(struct doc *doc, const struct record *record)
{
	const struct nb_result *run = record->run;
	doc_show(doc, DOC_TEXT);
	add_database(doc, record);
	report_usage(doc, record);
	doc_show(doc, DOC_TEXT);
	add_clock(doc, run);
	doc_show(doc, DOC_MARKDOWN);
	add_section(doc, run);
	doc_show(doc, 0);
	if (run->measured.floor_op_ns > 0)
		doc_line(doc, "Harness",
			"%.1f ns/op with the null engine, of which %" PRIu64
			" ns inside each latency",
			run->measured.floor_op_ns, run->measured.floor_call_ns);
	add_stamping(doc, run);
	doc_line(doc, "Stream digest", "%016" PRIx64, run->digest);
	add_engine(doc, run);
	doc_show(doc, 0);
	doc_line(doc, "mininb", "%s", run->version);
	add_notes(doc, record);
	add_details(doc, run);
	doc_show(doc, 0);
}
