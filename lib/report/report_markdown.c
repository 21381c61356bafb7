/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results as a page: all runs side by side, then each with what it did, how it went over
 * time, under which conditions, and why it may be wrong; what is long and seldom asked for
 * is folded away.
 *
 * The same figures as in the text report, by the same rules: a percentile that too few
 * samples support is left blank, service and response are named on each line. What is not
 * known has no line.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/compare.h"
#include "report/markdown.h"
#include "report/walk.h"

static const double least_achieved = 0.98; /* as in the text report (report_sweep.c) */

enum { CELL_SIZE = 256, COLUMNS_MAX = 16, THREADS_MAX = 64 };

static void
format_ns(char *cell, double ns)
{
	cell[0] = '\0';
	if (ns > 0)
		units_format_ns(cell, CELL_SIZE, ns);
}

static void
format_rate(char *cell, double ops_s)
{
	cell[0] = '\0';
	if (ops_s > 0)
		snprintf(cell, CELL_SIZE, "%.*f", ops_s < 10 ? 2 : 0, ops_s);
}

static void
format_bytes(char *cell, uint64_t bytes)
{
	cell[0] = '\0';
	if (bytes > 0)
		units_format_bytes(cell, CELL_SIZE, (double)bytes);
}

static void
format_percentile(char *cell, const struct nb_histogram *histogram, double percent)
{
	cell[0] = '\0';
	if (nb_histogram_supports(histogram, percent, NULL))
		format_ns(cell, (double)nb_histogram_percentile(histogram, percent));
}

static int
add_cells(struct markdown_table *table, char cells[COLUMNS_MAX][CELL_SIZE])
{
	const char *row[COLUMNS_MAX];
	for (size_t i = 0; i < table->column_count; i++)
		row[i] = cells[i];
	return markdown_table_add(table, row);
}

/* ---- side by side ---- */

static int
add_summary(struct markdown_table *table, const struct nb_results *results, size_t index)
{
	char cells[COLUMNS_MAX][CELL_SIZE] = {{0}};
	struct nb_summary summary;
	nb_results_summarize(results, index, &summary);
	walk_title(results, index, cells[0]);
	if (summary.is_measured) {
		snprintf(cells[1], CELL_SIZE, "%s", summary.version);
		snprintf(cells[2], CELL_SIZE, "%s", record_action(&results->records[index]));
		snprintf(cells[3], CELL_SIZE, "%s", nb_durability_name(summary.durability));
		format_rate(cells[4], summary.rate_ops_s);
		format_rate(cells[5], summary.settled_ops_s);
		format_ns(cells[6], (double)summary.p50_ns);
		format_ns(cells[7], (double)summary.p99_ns);
		format_ns(cells[8], (double)summary.p999_ns);
		format_ns(cells[9], (double)summary.max_ns);
		format_ns(cells[10], summary.cpu_ns_op);
		format_bytes(cells[11], summary.data_bytes);
		format_bytes(cells[12], summary.max_resident_bytes);
	}
	snprintf(cells[13], CELL_SIZE, "%s",
		summary.end[0] != '\0'       ? summary.end
			: summary.is_partial ? "partial"
					     : "done");
	return add_cells(table, cells);
}

static int
write_summaries(const struct nb_results *results, FILE *out)
{
	static const struct markdown_column columns[] = {{"engine", false}, {"version", false},
		{"action", false}, {"durability", false}, {"ops/s", true}, {"settled", true},
		{"p50", true}, {"p99", true}, {"p99.9", true}, {"max", true}, {"CPU/op", true},
		{"database", true}, {"memory", true}, {"end", false}};
	struct markdown_table table;
	int rc = NB_OK;
	markdown_table_create(&table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < results->count && rc == NB_OK; i++)
		rc = add_summary(&table, results, i);
	markdown_table_write(&table, out);
	if (table.cell_count > 0)
		fputs("\nTimes are service times.\n", out);
	markdown_table_destroy(&table);
	return rc;
}

/* ---- a sweep ---- */

static int
write_curve(const struct record *record, bool is_only, FILE *out)
{
	const struct record_sweep *sweep = &record->sweep;
	static const struct markdown_column columns[] = {{"load", true}, {"offered/s", true},
		{"achieved/s", true}, {"service p50", true}, {"service p99", true},
		{"response p50", true}, {"response p99", true}, {"response p99.9", true},
		{"response max", true}, {"state", false}};
	struct markdown_table table;
	int rc = NB_OK;
	size_t knee = nb_curve_knee(sweep->curve, sweep->curve_count);
	fputs("\n## Sweep", out);
	if (!is_only) {
		char title[128];
		record_title(record, title, sizeof(title));
		fputs(" of ", out);
		markdown_text(out, title);
	}
	fprintf(out, "\n\nCapacity: %.0f ops/s, closed loop.", sweep->capacity_ops_s);
	if (sweep->slo_ops_s > 0) {
		fputs(" Highest rate that held ", out);
		markdown_code(out, sweep->slo);
		fprintf(out, ": %.0f ops/s.", sweep->slo_ops_s);
	}
	fputs("\n\n", out);
	markdown_table_create(&table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < sweep->curve_count && rc == NB_OK; i++) {
		char cells[COLUMNS_MAX][CELL_SIZE] = {{0}};
		const struct nb_curve_point *it = &sweep->curve[i];
		if (it->share > 0)
			snprintf(cells[0], CELL_SIZE, "%.0f%%", 100 * it->share);
		format_rate(cells[1], it->offered_ops_s);
		format_rate(cells[2], it->achieved_ops_s);
		format_ns(cells[3], (double)it->service_p50_ns);
		format_ns(cells[4], (double)it->service_p99_ns);
		format_ns(cells[5], (double)it->response_p50_ns);
		format_ns(cells[6], (double)it->response_p99_ns);
		format_ns(cells[7], (double)it->response_p999_ns);
		format_ns(cells[8], (double)it->response_max_ns);
		snprintf(cells[9], CELL_SIZE, "%s%s", i == knee ? "knee, " : "",
			it->queue_grew ? "queue grew"
				: it->achieved_ops_s < least_achieved * it->offered_ops_s
				? "fell behind"
				: "kept up");
		rc = add_cells(&table, cells);
	}
	markdown_table_write(&table, out);
	markdown_table_destroy(&table);
	return rc;
}

/* ---- operations ---- */

static int
add_operation(void *to, const struct walk_row *row)
{
	static const double percents[] = {50, 75, 90, 95, 99, 99.9, 99.99};
	char cells[COLUMNS_MAX][CELL_SIZE] = {{0}};
	bool is_first = strcmp(row->series, "response") != 0;
	if (row->group != NULL)
		snprintf(cells[0], CELL_SIZE, "%s", row->group->name);
	snprintf(cells[1], CELL_SIZE, "%s", row->kind);
	snprintf(cells[2], CELL_SIZE, "%s", row->series);
	if (row->ops > 0 && is_first) {
		snprintf(cells[3], CELL_SIZE, "%" PRIu64, row->ops);
		format_rate(cells[4], result_rate((double)row->ops, row->group->wall_ns));
	}
	format_ns(cells[5], nb_histogram_mean(row->histogram));
	for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++)
		format_percentile(cells[6 + i], row->histogram, percents[i]);
	format_ns(cells[13], (double)nb_histogram_max(row->histogram));
	return add_cells(to, cells);
}

static int
write_operations(const struct nb_results *results, size_t index, FILE *out)
{
	static const struct markdown_column columns[] = {{"group", false}, {"operation", false},
		{"time", false}, {"ops", true}, {"ops/s", true}, {"mean", true}, {"p50", true},
		{"p75", true}, {"p90", true}, {"p95", true}, {"p99", true}, {"p99.9", true},
		{"p99.99", true}, {"max", true}};
	struct markdown_table table;
	markdown_table_create(&table, columns, sizeof(columns) / sizeof(*columns));
	int rc = walk_record(results, index, add_operation, &table);
	markdown_table_write(&table, out);
	markdown_table_destroy(&table);
	return rc;
}

/* ---- lines ---- */

/** "- **name**: text". */
static void NB_PRINTF(3, 4) write_line(FILE *out, const char *name, const char *fmt, ...)
{
	char text[1024];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(out, "- **%s**: ", name);
	markdown_text(out, text);
	fputc('\n', out);
}

static void
write_threads(const struct record *record, FILE *out)
{
	struct record_group groups[NB_GROUPS_MAX];
	size_t count = record_groups(record, groups);
	for (size_t g = 0; g < count; g++) {
		const struct record_group *group = &groups[g];
		if (group->threads == NULL || group->thread_count < 2)
			continue;
		fputs("- **Ops/s by thread** of ", out);
		markdown_text(out, group->name);
		fputc(':', out);
		for (uint32_t t = 0; t < group->thread_count && t < THREADS_MAX; t++)
			fprintf(out, " %.0f",
				result_rate((double)group->threads[t].ops,
					group->threads[t].wall_ns));
		fputs(group->thread_count > THREADS_MAX ? " ...\n" : "\n", out);
	}
}

/** Of the records that were looked at, all groups together. */
static void
write_verified(const struct record *record, FILE *out)
{
	uint64_t verified = record->run->measured.findings.verified, wrong = 0;
	bool is_blind = false;
	if (record->job == NULL)
		wrong = record->run->measured.findings.missing +
			findings_wrong(&record->run->measured.findings);
	else
		verified = 0;
	for (size_t g = 0; record->job != NULL && g < record->job->group_count; g++) {
		const struct job_findings *it = &record->job->groups[g].measured.findings;
		is_blind |= record->job->groups[g].is_blind_to_gaps;
		verified += it->verified;
		for (int i = JOB_GOOD + 1; i < JOB_VERDICTS; i++)
			wrong += it->verdicts[i];
	}
	if (verified > 0)
		write_line(out, "Verified",
			"%" PRIu64 " records: %" PRIu64 " wrong or missing%s", verified, wrong,
			job_result_gaps(is_blind));
	else
		write_line(out, "Verified", "nothing");
}

/** Bytes that a layer had for one that was asked for; nothing of what is not known. */
static void
write_amplification(FILE *out, const char *name, double calls, double storage, double device)
{
	const struct {
		const char *name;
		double factor;
	} layers[] = {{"calls", calls}, {"storage", storage}, {"device", device}};
	char text[CELL_SIZE] = "";
	size_t used = 0;
	for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++) {
		if (layers[i].factor > 0)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
				"%s%.3g by %s", used > 0 ? ", " : "", layers[i].factor,
				layers[i].name);
	}
	if (used > 0)
		write_line(out, name, "%s", text);
}

static void
write_processor(const struct record_figures *figures, FILE *out)
{
	if (figures->cycles_op > 0)
		write_line(out, "Processor",
			"%.0f cycles and %.0f instructions for an operation, %.3g cache misses",
			figures->cycles_op, figures->instructions_op, figures->cache_misses_op);
}

static int
write_stalls(const struct stalls *stalls, FILE *out)
{
	static const struct markdown_column columns[] = {
		{"at", true}, {"for", true}, {"ops/s then", true}, {"meanwhile", false}};
	struct markdown_table table;
	int rc = NB_OK;
	char gap[CELL_SIZE], at[CELL_SIZE], slow[CELL_SIZE], looked[CELL_SIZE];
	if (stalls->looked_ns == 0)
		return rc;
	units_format_ns(gap, sizeof(gap), (double)stalls->longest_gap_ns);
	units_format_ns(at, sizeof(at), (double)stalls->longest_gap_at_ns);
	units_format_ns(slow, sizeof(slow), (double)stalls->slow_ns);
	units_format_ns(looked, sizeof(looked), (double)stalls->looked_ns);
	write_line(out, "Stalls",
		"longest time without an operation %s, at %s; below half of the median rate of "
		"%.0f ops/s for %s of %s",
		gap, at, stalls->median_ops_s, slow, looked);
	markdown_table_create(&table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < stalls->count && rc == NB_OK; i++) {
		char cells[COLUMNS_MAX][CELL_SIZE] = {{0}};
		const struct stall *it = &stalls->worst[i];
		units_format_ns(cells[0], CELL_SIZE, (double)it->begin_ns);
		format_ns(cells[1], (double)it->duration_ns);
		snprintf(cells[2], CELL_SIZE, "%.0f", it->rate_ops_s);
		snprintf(cells[3], CELL_SIZE, "%s", it->cause);
		rc = add_cells(&table, cells);
	}
	if (table.cell_count > 0)
		fputc('\n', out);
	markdown_table_write(&table, out);
	markdown_table_destroy(&table);
	return rc;
}

static int
write_figures(const struct record *record, FILE *out)
{
	struct record_figures figures;
	char syncs[512];
	record_figures(record, &figures);
	write_threads(record, out);
	write_verified(record, out);
	write_processor(&figures, out);
	write_amplification(out, "Write amplification", figures.write_calls,
		figures.write_storage, figures.write_device);
	write_amplification(out, "Read amplification", figures.read_calls, figures.read_storage,
		figures.read_device);
	result_syncs_text(record->run, syncs, sizeof(syncs));
	if (syncs[0] != '\0')
		write_line(out, "Syncs", "%s", syncs);
	if (figures.space > 0)
		write_line(out, "Space amplification", "%.3g", figures.space);
	if (figures.resident_share >= 0 && record->run->measured.residency_begin.is_known)
		write_line(out, "In the page cache at the begin", "%.1f %% of the database",
			100 * figures.resident_share);
	return write_stalls(&figures.stalls, out);
}

/* ---- conditions ---- */

/** "a, b" of those that are not empty. */
static void
join(char *text, size_t size, const char *const *words, size_t count)
{
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < count && used < size; i++) {
		if (words[i][0] != '\0')
			used += (size_t)snprintf(text + used, size - used, "%s%s",
				used > 0 ? ", " : "", words[i]);
	}
}

static void
write_machine(const struct nb_result *run, FILE *out)
{
	const struct environment *environment = &run->environment;
	char text[1024], memory[CELL_SIZE], cpus[CELL_SIZE];
	format_bytes(memory, run->sysinfo.memory_bytes);
	snprintf(cpus, sizeof(cpus), "%u CPUs", run->sysinfo.cpus);
	const char *const machine[] = {environment->host, environment->cpu, cpus, memory,
		run->sysinfo.hypervisor, environment->container};
	const char *const system[] = {
		environment->system, environment->kernel, environment->allocator};
	const char *const disk[] = {run->sysinfo.filesystem, environment->mount_options,
		environment->device, environment->device_model};
	join(text, sizeof(text), machine, sizeof(machine) / sizeof(*machine));
	write_line(out, "Machine", "%s", text);
	join(text, sizeof(text), system, sizeof(system) / sizeof(*system));
	if (text[0] != '\0')
		write_line(out, "System", "%s", text);
	join(text, sizeof(text), disk, sizeof(disk) / sizeof(*disk));
	if (text[0] != '\0')
		write_line(out, "File system", "%s", text);
}

static void
write_conditions(const struct nb_result *run, FILE *out)
{
	char cache[UNITS_SIZE] = "engine's default";
	if (run->environment.begun[0] != '\0')
		write_line(out, "Begun", "%s", run->environment.begun);
	write_line(out, "Threads", "%u", run->threads);
	write_line(out, "Durability", "%s%s", nb_durability_name(run->durability),
		run->is_auto_durability ? ", by default" : "");
	if (run->cache_bytes > 0)
		units_format_bytes(cache, sizeof(cache), (double)run->cache_bytes);
	write_line(out, "Cache", "%s", cache);
	write_machine(run, out);
	if (run->measured.floor_op_ns > 0)
		write_line(out, "Harness",
			"%.1f ns/op with the null engine, of which %" PRIu64
			" ns inside each latency",
			run->measured.floor_op_ns, run->measured.floor_call_ns);
	write_line(out, "Stream digest", "%016" PRIx64, run->digest);
	write_line(out, "Engine", "%s %s, %s, %s", run->engine.name, run->engine_version,
		run->engine.licence, run->engine.build);
	write_line(out, "mininb", "%s", run->version);
}

static void
write_notes(const struct record *record, FILE *out)
{
	const char *note;
	if (record_note(record, 0) != NULL)
		fputs("\n### Notes\n\n", out);
	for (size_t i = 0; (note = record_note(record, i)) != NULL; i++) {
		fputs("- ", out);
		if (record_note_id(record, i)[0] != '\0') {
			markdown_code(out, record_note_id(record, i));
			fputs(": ", out);
		}
		markdown_text(out, note);
		fputc('\n', out);
	}
}

/* ---- folded away ---- */

static void
write_pair(FILE *out, const char *name, const char *value)
{
	char text[CELL_SIZE + 4096];
	snprintf(text, sizeof(text), "%s=%s", name, value);
	fputs("- ", out);
	markdown_code(out, text);
	fputc('\n', out);
}

static int
write_counters(const struct counters *counters, FILE *out)
{
	static const struct markdown_column columns[] = {
		{"counter", false}, {"value", true}, {"unit", false}, {"kind", false}};
	struct markdown_table table;
	int rc = NB_OK;
	markdown_table_create(&table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < counters->count && rc == NB_OK; i++) {
		const struct counter *it = &counters->items[i];
		char value[32];
		const char *row[] = {it->name, value, it->unit,
			it->kind == NB_STAT_COUNTER ? "counter" : "gauge"};
		snprintf(value, sizeof(value), "%" PRIu64, it->value);
		if (it->value != 0 && !it->has_run_back)
			rc = markdown_table_add(&table, row);
	}
	if (table.cell_count > 0)
		fputc('\n', out);
	markdown_table_write(&table, out);
	markdown_table_destroy(&table);
	return rc;
}

static int
write_details(const struct nb_result *run, FILE *out)
{
	if (run->option_count == 0 && run->measured.counters.count == 0)
		return NB_OK;
	fputs("\n<details>\n<summary>Options and counters of the engine</summary>\n\n", out);
	for (size_t i = 0; i < run->option_count; i++)
		write_pair(out, run->options[i].name, run->options[i].value);
	int rc = write_counters(&run->measured.counters, out);
	fputs("\n</details>\n", out);
	return rc;
}

static void
write_command(const struct nb_results *results, FILE *out)
{
	const struct record_command *command = &results->command;
	if (command->option_count == 0 && command->job == NULL)
		return;
	fputs("\n<details>\n<summary>The command and its options</summary>\n\n", out);
	for (size_t i = 0; i < command->option_count; i++)
		write_pair(out, command->options[i].name, command->options[i].value);
	if (command->job != NULL) {
		fputc('\n', out);
		markdown_block(out, command->job);
	}
	fputs("\n</details>\n", out);
}

/* ---- the page ---- */

static int
write_record(const struct nb_results *results, size_t index, FILE *out)
{
	const struct record *record = &results->records[index];
	char title[WALK_TITLE];
	walk_title(results, index, title);
	fputs("\n## ", out);
	markdown_text(out, title);
	fputs("\n\n", out);
	if (record->picked_of > 0)
		fprintf(out, "Run %u, which has the median throughput of %u.\n\n",
			record->block, record->picked_of);
	if (record->run == NULL) {
		markdown_text(out, record->end);
		fputc('\n', out);
		return NB_OK;
	}
	if (record->run->measured.is_partial || record->end[0] != '\0')
		write_line(out, "Partial", "%s",
			record->end[0] != '\0' ? record->end : "the run was ended early");
	if (record->run->measured.is_partial || record->end[0] != '\0')
		fputc('\n', out);
	int rc = write_operations(results, index, out);
	fputc('\n', out);
	if (rc == NB_OK)
		rc = write_figures(record, out);
	fputs("\n### Conditions\n\n", out);
	write_conditions(record->run, out);
	write_notes(record, out);
	return rc == NB_OK ? write_details(record->run, out) : rc;
}

static void
write_title(const struct nb_results *results, FILE *out)
{
	const struct record_command *command = &results->command;
	fputs("# mininb", out);
	if (command->action != NULL) {
		fputc(' ', out);
		markdown_text(out, command->action);
	}
	fputs("\n\n", out);
}

int
write_markdown(const struct nb_results *results, FILE *out, uint32_t flags)
{
	struct nb_results shown;
	struct nb_comparison *comparison;
	int rc = results_pick(&shown, results);
	(void)flags;
	if (rc != NB_OK)
		return rc;
	write_title(results, out);
	if (results_are_versus(results) && compare_versus(&comparison, results) == NB_OK) {
		rc = nb_comparison_write(comparison, "md", out, 0);
		nb_comparison_delete(comparison);
		fputs("\nOf each contestant the run with the median throughput:\n\n", out);
	}
	if (rc == NB_OK)
		rc = write_summaries(&shown, out);
	bool is_only = results_sweeps(results) == 1;
	for (size_t i = 0; i < results->count && rc == NB_OK; i++)
		if (results->records[i].sweep.curve_count > 0)
			rc = write_curve(&results->records[i], is_only, out);
	for (size_t i = 0; i < shown.count && rc == NB_OK; i++)
		rc = write_record(&shown, i, out);
	free(shown.records);
	write_command(results, out);
	return rc;
}
