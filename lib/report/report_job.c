/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of a job: what was done, how fast, and how it came about.
 *
 * Service and response times stand one below the other and are named on each line, since
 * one taken for the other is the commonest mistake. A percentile that the samples do not
 * support is left blank, not guessed.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/table.h"
#include "base/units.h"
#include "report/record.h"

enum { COLUMNS = 9, CELL_SIZE = 32, LIST_SIZE = 512 };

static const char *const dist_names[NB_DIST_KINDS] = {[NB_DIST_UNIFORM] = "uniform",
	[NB_DIST_ZIPFIAN] = "zipfian",
	[NB_DIST_ZIPFIAN_YCSB] = "zipfian-ycsb",
	[NB_DIST_LATEST] = "latest",
	[NB_DIST_HOTSPOT] = "hotspot",
	[NB_DIST_EXPONENTIAL] = "exponential",
	[NB_DIST_SEQUENTIAL] = "sequential",
	[NB_DIST_PARETO] = "pareto"};

/* ---- the head ---- */

static void
write_values(const struct nb_job_result *result, FILE *out)
{
	char size[64];
	if (result->value_min == result->value_max)
		snprintf(size, sizeof(size), "%" PRIu64, result->value_max);
	else
		snprintf(size, sizeof(size), "%" PRIu64 " to %" PRIu64 " (mean %.1f)",
			result->value_min, result->value_max, result->value_mean);
	if (result->measured_ratio > 0)
		report_line(out, "Values",
			"%s bytes, ratio %g asked for, %.3f by zlib (size when compressed : "
			"size)",
			size, result->value_ratio, result->measured_ratio);
	else
		report_line(out, "Values", "%s bytes", size);
}

/** Of a workload; what is in a trace is only seen as it is read. */
static void
write_data(const struct nb_job_result *result, FILE *out)
{
	report_line(out, "Records", "%" PRIu64, result->records);
	report_line(out, "Keys", "%s, %s, %" PRIu64 " bytes%s", result->key_format,
		result->key_order, result->key_size,
		strcmp(result->key_format, "text") == 0 ? " at most" : "");
	write_values(result, out);
}

static void
write_head(const struct nb_job_result *result, FILE *out)
{
	const struct nb_result *base = result->base;
	const char *action = result->is_replay ? "replay" : result->is_load ? "load" : "run";
	report_line(out, "Action", "%s", action);
	if (!result->is_replay)
		report_line(out, "Workload", "%s", result->name);
	report_line(out, "Driver", "%s", base->engine.name);
	if (base->measured.is_partial)
		report_line(out, "Partial", "yes, a partial result: the run was ended early");
	if (!result->is_replay)
		write_data(result, out);
	if (result->procs > 1)
		report_line(out, "Processes", "%u, each with the database open", result->procs);
}

/* ---- a group ---- */

static void
describe_mix(const struct job_result_group *group, char *text)
{
	uint64_t sum = 0;
	size_t used = 0;
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++)
		sum += group->weights[kind];
	text[0] = '\0';
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		if (group->weights[kind] == 0 || used >= LIST_SIZE)
			continue;
		used += (size_t)snprintf(text + used, LIST_SIZE - used, "%s%s %.6g %%",
			used > 0 ? ", " : "", nb_op_name(kind),
			100 * (double)group->weights[kind] / (double)sum);
	}
}

static void
describe_load(const struct job_result_group *group, char *text)
{
	static const char *const arrivals[] = {[NB_ARRIVAL_CLOSED] = "closed loop",
		[NB_ARRIVAL_FIXED] = "evenly spaced",
		[NB_ARRIVAL_POISSON] = "at random (Poisson)"};
	const struct job_measurement *measured = &group->measured;
	double offered = group->rate_ops_s > 0
		? group->rate_ops_s
		: result_rate(measured->offered_ops, measured->span_ns);
	if (group->speed > 0)
		snprintf(
			text, LIST_SIZE, "due at the times of the trace, at %gx", group->speed);
	else if (group->rate_text != NULL) /* the mean is of all, and so not of what counts */
		snprintf(text, LIST_SIZE, "%s ops/sec offered (%.0f on average%s), %s",
			group->rate_text, offered,
			group->warmup_ns + group->warmup_count > 0 ? ", with the warm-up" : "",
			arrivals[group->arrivals]);
	else if (group->is_paced)
		snprintf(text, LIST_SIZE, "%.0f ops/sec offered, %s", offered,
			arrivals[group->arrivals]);
	else
		snprintf(text, LIST_SIZE, "closed loop");
}

static void
describe_warmup(const struct job_result_group *group, char *text)
{
	char time[UNITS_SIZE];
	text[0] = '\0';
	if (group->warmup_ns > 0) {
		units_format_ns(time, sizeof(time), (double)group->warmup_ns);
		snprintf(text, LIST_SIZE, ", without a warm-up of %s", time);
	} else if (group->warmup_count > 0) {
		snprintf(text, LIST_SIZE, ", without a warm-up of %" PRIu64 " operations",
			group->warmup_count);
	}
}

/** Whether records are chosen: an insert takes the next one. */
static bool
has_choice(const struct job_result_group *group)
{
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		if (kind != NB_OP_INSERT && group->weights[kind] > 0)
			return true;
	}
	return false;
}

static void
write_group_head(const struct job_result_group *group, FILE *out)
{
	const struct job_measurement *measured = &group->measured;
	char text[LIST_SIZE], warmup[LIST_SIZE];
	describe_mix(group, text);
	if (measured->trace[0] != '\0')
		fprintf(out, "\n%s: %s\n", group->name, measured->trace);
	else if (has_choice(group) && group->distribution < NB_DIST_KINDS)
		fprintf(out, "\n%s: %s; %s keys\n", group->name, text,
			dist_names[group->distribution]);
	else
		fprintf(out, "\n%s: %s\n", group->name, text);
	describe_load(group, text);
	describe_warmup(group, warmup);
	fprintf(out, "%u thread%s, %s, %" PRIu64 " operations in %.6f sec%s\n\n",
		group->threads, group->threads == 1 ? "" : "s", text, measured->ops,
		(double)measured->wall_ns / 1e9, warmup);
}

static void
format_percentile(char *cell, const struct nb_histogram *histogram, double percent)
{
	cell[0] = '\0';
	if (nb_histogram_supports(histogram, percent, NULL))
		units_format_ns(
			cell, CELL_SIZE, (double)nb_histogram_percentile(histogram, percent));
}

/** `name` and `ops` are left out on the line of the response times. */
static int
add_row(struct table *table, const char *name, const char *series, uint64_t ops,
	uint64_t wall_ns, const struct nb_histogram *histogram)
{
	char cells[COLUMNS][CELL_SIZE] = {{0}};
	const char *row[COLUMNS];
	bool is_first = name != NULL;
	snprintf(cells[0], CELL_SIZE, "%s", is_first ? name : "");
	snprintf(cells[1], CELL_SIZE, "%s", series);
	if (is_first) {
		snprintf(cells[2], CELL_SIZE, "%" PRIu64, ops);
		snprintf(cells[3], CELL_SIZE, "%.0f", result_rate((double)ops, wall_ns));
	}
	format_percentile(cells[4], histogram, 50);
	format_percentile(cells[5], histogram, 99);
	format_percentile(cells[6], histogram, 99.9);
	format_percentile(cells[7], histogram, 99.99);
	units_format_ns(cells[8], CELL_SIZE, (double)nb_histogram_max(histogram));
	for (size_t i = 0; i < COLUMNS; i++)
		row[i] = cells[i];
	return table_add(table, row);
}

static int
add_kinds(struct table *table, const struct job_measurement *measured)
{
	int rc = NB_OK;
	for (uint32_t kind = 0; kind < NB_OP_KINDS && rc == NB_OK; kind++) {
		const struct job_kind *it = &measured->kinds[kind];
		if (it->service == NULL || it->ops == 0)
			continue;
		rc = add_row(table, nb_op_name(kind), "service", it->ops, measured->wall_ns,
			it->service);
		if (rc == NB_OK && it->response != NULL)
			rc = add_row(table, NULL, "response", 0, 0, it->response);
	}
	return rc;
}

/** All kinds of operations together, where there is more than one. */
static int
add_all(struct table *table, const struct job_measurement *measured)
{
	struct nb_histogram *service = NULL, *response = NULL;
	size_t kinds = 0;
	int rc = nb_histogram_new(&service);
	if (rc == NB_OK)
		rc = nb_histogram_new(&response);
	for (uint32_t kind = 0; kind < NB_OP_KINDS && rc == NB_OK; kind++) {
		const struct job_kind *it = &measured->kinds[kind];
		kinds += it->ops > 0;
		if (it->service != NULL)
			nb_histogram_merge(service, it->service);
		if (it->response != NULL)
			nb_histogram_merge(response, it->response);
	}
	if (rc == NB_OK && kinds > 1)
		rc = add_row(
			table, "all", "service", measured->ops, measured->wall_ns, service);
	if (rc == NB_OK && kinds > 1 && nb_histogram_count(response) > 0)
		rc = add_row(table, NULL, "response", 0, 0, response);
	nb_histogram_delete(service);
	nb_histogram_delete(response);
	return rc;
}

static int
write_operations(const struct job_measurement *measured, FILE *out)
{
	static const struct table_column columns[COLUMNS] = {{"operation", false},
		{"time", false}, {"ops", true}, {"ops/s", true}, {"p50", true}, {"p99", true},
		{"p99.9", true}, {"p99.99", true}, {"max", true}};
	struct table table;
	table_create(&table, columns, COLUMNS);
	int rc = add_kinds(&table, measured);
	if (rc == NB_OK)
		rc = add_all(&table, measured);
	if (rc == NB_OK)
		rc = table_write(&table, out);
	table_destroy(&table);
	return rc;
}

static void
write_rate(const struct job_result_group *group, FILE *out)
{
	const struct job_measurement *measured = &group->measured;
	char late[UNITS_SIZE], most[UNITS_SIZE], due[64] = "";
	uint64_t behind_ops;
	if (!group->is_paced)
		return;
	bool grew = job_result_grew(group, &behind_ops);
	units_format_ns(late, sizeof(late), (double)measured->lag_ns);
	units_format_ns(most, sizeof(most), (double)measured->lag_max_ns);
	if (group->speed == 0)
		snprintf(due, sizeof(due), "%.0f operations were due, %" PRIu64 " left; ",
			measured->offered_ops, behind_ops);
	/* a few that are left at the end of one that did not grow are chance, or under way */
	report_line(out, "Queue", "%s: %sthe last of %" PRIu64 " began %s late, the latest %s",
		grew ? "grew, as more was offered than can be done" : "did not grow",
		grew ? due : "", measured->done, late, most);
	if (measured->lateness == NULL || nb_histogram_count(measured->lateness) == 0)
		return;
	units_format_ns(
		late, sizeof(late), (double)nb_histogram_percentile(measured->lateness, 50));
	units_format_ns(most, sizeof(most), (double)nb_histogram_max(measured->lateness));
	char high[UNITS_SIZE];
	units_format_ns(
		high, sizeof(high), (double)nb_histogram_percentile(measured->lateness, 99));
	report_line(out, "Harness lateness",
		"p50 %s, p99 %s, at most %s, of %" PRIu64
		" times that it waited, with %.3f sec of CPU time that is in no other figure",
		late, high, most, nb_histogram_count(measured->lateness),
		(double)measured->spin_ns / 1e9);
}

static void
write_threads(const struct job_measurement *measured, FILE *out)
{
	enum { SHOWN = 16 };
	if (measured->thread_count < 2)
		return;
	fprintf(out, "%-18s:", "Ops/s by thread");
	for (uint32_t t = 0; t < measured->thread_count && t < SHOWN; t++)
		fprintf(out, " %.0f",
			result_rate((double)measured->threads[t].ops,
				measured->threads[t].wall_ns));
	fputs(measured->thread_count > SHOWN ? " ...\n" : "\n", out);
}

static void
write_answers(const struct job_measurement *measured, FILE *out)
{
	uint64_t answers[WORKER_ANSWERS] = {0}, records = 0, bytes = 0, many = 0;
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		const struct job_kind *it = &measured->kinds[kind];
		for (int i = 0; i < WORKER_ANSWERS; i++)
			answers[i] += it->answers[i];
		records += it->records;
		bytes += it->bytes;
		if (kind == NB_OP_SCAN || kind >= NB_OP_BATCH)
			many += it->ops;
	}
	if (many > 0)
		report_line(out, "Records", "%" PRIu64 " read or written, %.0f a second",
			records, result_rate((double)records, measured->wall_ns));
	report_line(out, "Value bytes", "%" PRIu64 ", %.0f a second", bytes,
		result_rate((double)bytes, measured->wall_ns));
	if (answers[NB_NOT_FOUND] > 0)
		report_line(out, "Not found", "%" PRIu64, answers[NB_NOT_FOUND]);
	if (answers[NB_CONFLICT] > 0)
		report_line(out, "Conflicts",
			"%" PRIu64 " (each tried again, in the same latency)",
			answers[NB_CONFLICT]);
}

/** As text where it is some, else in hexadecimal. */
static void
format_key(char text[2 * JOB_CASE_BYTES + 4], const struct job_case *it)
{
	uint32_t kept = it->key_size < JOB_CASE_BYTES ? it->key_size : JOB_CASE_BYTES;
	bool is_text = true;
	size_t used = 0;
	for (uint32_t i = 0; i < kept; i++)
		is_text &= it->key[i] > ' ' && it->key[i] < 0x7f;
	for (uint32_t i = 0; i < kept; i++)
		used += (size_t)snprintf(
			text + used, 3, is_text ? "%c" : "%02x", (unsigned)it->key[i]);
	snprintf(text + used, 4, "%s", kept < it->key_size ? "..." : "");
}

static void
write_case(const struct job_case *it, FILE *out)
{
	char key[2 * JOB_CASE_BYTES + 4] = "";
	format_key(key, it);
	char versions[64] = "";
	if (it->verdict == JOB_STALE)
		snprintf(versions, sizeof(versions), ", version %u, expected %u", it->version,
			it->expected);
	report_line(out, "Wrong", "%s, operation %" PRIu64 ", key %s: %s%s",
		nb_op_name(it->kind), it->op, key, job_verdict_name((int)it->verdict),
		versions);
}

static void
write_findings(
	const struct nb_job_result *result, const struct job_result_group *group, FILE *out)
{
	const struct job_findings *findings = &group->measured.findings;
	uint64_t wrong = 0;
	if ((result->base->engine.caps & NB_CAP_SYNTHETIC) != 0 ||
		result->base->verify_rate == 0) {
		report_line(out, "Verified", "nothing (%s)",
			result->base->verify_rate == 0 ? "not asked for" : "not possible");
		return;
	}
	if (findings->verified == 0) {
		report_line(out, "Verified", "nothing (the sample was empty)");
		return;
	}
	for (int i = JOB_GOOD + 1; i < JOB_VERDICTS; i++)
		wrong += findings->verdicts[i];
	report_line(out, "Verified", "%" PRIu64 " records: %" PRIu64 " wrong%s",
		findings->verified, wrong, job_result_gaps(group->is_blind_to_gaps));
	if (findings->read_back > 0)
		report_line(out, "Read back", "%" PRIu64 " of these records, %s",
			findings->read_back,
			result->base->measured.is_reopened
				? "after the database was closed and opened again"
				: "from the open database");
	for (uint64_t i = 0; i < findings->case_count; i++)
		write_case(&findings->cases[i], out);
}

/** Nothing is left out without being told. */
static void
write_left_out(const struct job_result_group *group, FILE *out)
{
	const struct nb_trace_counts *counts = &group->measured.trace_counts;
	if (counts->others > 0)
		report_line(out, "Left out", "%" PRIu64 " of kinds that mininb does not do",
			counts->others);
	if (counts->bad > 0)
		report_line(out, "Left out", "%" PRIu64 " damaged; the first is %s",
			counts->bad, counts->first_bad);
}

static int
write_group(const struct nb_job_result *result, const struct job_result_group *group, FILE *out)
{
	if (!group->measured.has_begun) {
		fprintf(out, "\n%s: was not begun\n", group->name);
		return NB_OK;
	}
	write_group_head(group, out);
	int rc = write_operations(&group->measured, out);
	fputc('\n', out);
	write_rate(group, out);
	write_threads(&group->measured, out);
	write_answers(&group->measured, out);
	write_left_out(group, out);
	write_findings(result, group, out);
	return rc;
}

/* ---- the tail ---- */

static void
write_settled(const struct nb_job_result *result, FILE *out)
{
	const struct measurement *measured = &result->base->measured;
	char rate[64] = "";
	double ops_s = record_settled_rate(
		&(struct record){.run = result->base, .job = (struct nb_job_result *)result});
	if (result->base->workload.verb == NB_VERB_GET || !measured->has_settled)
		return;
	if (ops_s > 0)
		snprintf(rate, sizeof(rate), ": %.0f ops/sec in all", ops_s);
	static const char *const settled[] = {[NB_RUN_SETTLE_NONE] = "not settled",
		[NB_RUN_SETTLE_FLUSH] = "flushed",
		[NB_RUN_SETTLE_COMPACT] = "flushed and compacted"};
	report_line(out, "Settled", "%s in %.6f sec, closed in %.6f sec%s",
		settled[measured->settled], (double)measured->settle_ns / 1e9,
		(double)measured->close_ns / 1e9, rate);
}

/** What a thread that only sleeps was held up for, and whether the rate became steady. */
static void
write_course(const struct nb_job_result *result, FILE *out)
{
	char half[UNITS_SIZE], high[UNITS_SIZE], most[UNITS_SIZE];
	const struct nb_histogram *hiccups = result->hiccups;
	if (result->is_steady)
		report_line(out, "Steady",
			"yes: over the last window the rate changed by %.1f %% and was at most "
			"%.1f %% off its mean",
			100 * fabs(result->steady_slope), 100 * result->steady_band);
	if (hiccups == NULL || nb_histogram_count(hiccups) == 0)
		return;
	units_format_ns(half, sizeof(half), (double)nb_histogram_percentile(hiccups, 50));
	units_format_ns(high, sizeof(high), (double)nb_histogram_percentile(hiccups, 99));
	units_format_ns(most, sizeof(most), (double)nb_histogram_max(hiccups));
	report_line(out, "Hiccups",
		"a thread that only sleeps woke up late by p50 %s, p99 %s, at most %s, of "
		"%" PRIu64 " times",
		half, high, most, nb_histogram_count(hiccups));
}

int
nb_job_result_write_text(const struct nb_job_result *result, FILE *out, uint32_t flags)
{
	(void)flags;
	write_head(result, out);
	int rc = NB_OK;
	for (size_t g = 0; g < result->group_count && rc == NB_OK; g++)
		rc = write_group(result, &result->groups[g], out);
	if (rc != NB_OK)
		return rc;
	fputc('\n', out);
	write_settled(result, out);
	write_course(result, out);
	report_conditions(
		&(struct record){.run = result->base, .job = (struct nb_job_result *)result},
		out);
	report_origin(result->base, out);
	for (size_t i = 0; i < result->note_count; i++)
		report_line(out, "Note", "%s", result->notes[i]);
	if (fflush(out) != 0 || ferror(out))
		return error_system("the result cannot be written");
	return NB_OK;
}
