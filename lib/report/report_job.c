/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The report of a job: its operations, their speed, and the course of the run; and the
 * tables of operations for text and Markdown.
 *
 * Service and response times are on adjacent lines, and each line names its series, because
 * confusing them is the most common mistake. A percentile that the samples do not support
 * is left blank.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "report/report.h"
#include "report/walk.h"
#include "run/heartbeat.h"
#include "workload/dist.h"
#include "run/steps.h"
#include "workload/op_kind.h"
#include "workload/tao_job.h"

/* ---- the head ---- */

static void
add_values(struct doc *doc, const struct nb_result *result)
{
	doc_line(doc, "Values", "%" PRIu64, result->value_min);
	if (result->value_min != result->value_max)
		doc_more(doc, " to %" PRIu64 " (mean %.1f)", result->value_max,
			result->value_mean);
	doc_more(doc, " bytes");
	if (result->measured_ratio > 0)
		doc_more(doc,
			", ratio %g asked for, %.3f by zlib (size when compressed : size)",
			result->value_ratio, result->measured_ratio);
}

/** Add the data of a workload; the data of a trace is unknown before it is read. */
static void
add_data(struct doc *doc, const struct nb_result *result)
{
	doc_line(doc, "Records", "%" PRIu64, result->records);
	doc_line(doc, "Keys", "%s, %s, %" PRIu64 " bytes%s", result->key_format,
		result->key_order, result->key_size,
		strcmp(result->key_format, "text") == 0 ||
				strcmp(result->key_format, "words") == 0
			? " at most"
			: "");
	add_values(doc, result);
}

static bool
is_of_graph(const struct nb_result *result)
{
	return result->key_format != NULL && strcmp(result->key_format, "graph") == 0;
}

/** Add the level of transactions and the counts of rows, which are as important as the rate. */
static void
add_graph(struct doc *doc, const struct nb_result *result)
{
	static const char *const hows[] = {
		[ROWS_BY_ENGINE] = "counted by the engine", [ROWS_BY_SCAN] = "by a scan"};
	const struct row_counts *before = &result->measured.rows_before;
	const struct row_counts *after = &result->measured.rows_after;
	const char *const names[] = {[TAO_OBJECTS] = "Objects", [TAO_EDGES] = "Edges"};
	for (size_t g = 0; g < result->group_count && !result->is_load; g++)
		doc_line(doc, "Transactions", "%s%s%s",
			steps_level_name(result->groups[g].measured.level),
			result->group_count > 1 ? ", of " : "",
			result->group_count > 1 ? result->groups[g].name : "");
	const struct batch_read *read = &result->measured.batch_read;
	if (read->pages > 0)
		doc_line(doc, "Batch read",
			"%" PRIu64 " edges in %s, %.0f edges/sec; %" PRIu64
			" pages of %d keys, %s each, the longest %s",
			read->edges, UNITS_NS(read->ns),
			(double)read->edges * 1e9 / (double)(read->ns + 1), read->pages,
			(int)BATCH_READ_PAGE, UNITS_NS(read->ns / read->pages),
			UNITS_NS(read->longest_ns));
	for (uint32_t t = 0; t < TAO_TABLES && after->how != ROWS_UNKNOWN; t++) {
		doc_line(doc, names[t], "%s", "");
		if (before->how != ROWS_UNKNOWN)
			doc_more(doc, "%" PRIu64 " before, ", before->counts[t]);
		doc_more(doc, "%" PRIu64 " after (%s)", after->counts[t], hows[after->how]);
	}
}

/** Add each load generator: its speed, and its begin and end relative to the others. */
static void
add_generators(struct doc *doc, const struct nb_result *result)
{
	enum { SHOWN = 16 };
	uint64_t first_ns = UINT64_MAX;
	size_t count = result->generator_count;
	for (size_t i = 0; i < count; i++)
		if (result->generators[i].begun_at_ns < first_ns &&
			result->generators[i].begun_at_ns > 0)
			first_ns = result->generators[i].begun_at_ns;
	for (size_t i = 0; i < count && i < SHOWN; i++) {
		const struct result_generator *it = &result->generators[i];
		doc_line(doc, "Generator", "%s on %s: ", it->shard,
			it->host[0] != '\0' ? it->host : "an unknown host");
		if (it->ops > 0)
			doc_more(doc, "%" PRIu64 " operations, %.0f ops/sec", it->ops,
				it->rate_ops_s);
		if (it->p99_ns > 0)
			doc_more(doc, ", p99 %s", UNITS_NS(it->p99_ns));
		if (it->begun_at_ns > 0)
			doc_more(doc, ", from %.3f to %.3f sec",
				(double)(it->begun_at_ns - first_ns) / 1e9,
				(double)(it->begun_at_ns - first_ns + it->wall_ns) / 1e9);
		if (it->clock_error_ns > 0)
			doc_more(doc, ", clock %+.1f us (error at most %.1f us)",
				it->clock_offset_ns / 1e3, it->clock_error_ns / 1e3);
		if (it->end[0] != '\0')
			doc_more(doc, "%s%s", it->ops > 0 ? "; " : "", it->end);
	}
	if (count > SHOWN)
		doc_line(doc, "Generator", "... %zu more in the result file", count - SHOWN);
}

static void
add_head(struct doc *doc, const struct nb_result *result)
{
	doc_line(doc, "Action", "%s",
		result->is_replay         ? "replay"
			: result->is_load ? "load"
					  : "run");
	if (!result->is_replay)
		doc_line(doc, "Workload", "%s", result->name);
	doc_line(doc, "Driver", "%s", result->engine.name);
	if (result->measured.is_partial)
		doc_line(doc, "Partial", "yes, a partial result: the run was ended early");
	if (!result->is_replay)
		add_data(doc, result);
	if (result->shard[0] != '\0')
		doc_line(doc, "Shard", "%s: this part of the operations", result->shard);
	add_generators(doc, result);
	if (result->procs > 1)
		doc_line(doc, "Processes", "%u, each with the database open", result->procs);
	if (is_of_graph(result))
		add_graph(doc, result);
}

/* ---- a group ---- */

/** Append "read 75 %, update 25 %". */
static void
add_mix(struct doc *doc, const struct nb_result *result, const struct job_result_group *group)
{
	uint64_t sum = 0;
	const char *between = "";
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++)
		sum += group->weights[kind];
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		if (group->weights[kind] == 0)
			continue;
		doc_more(doc, "%s%s %.6g %%", between, result_kind_name(result, kind),
			100 * (double)group->weights[kind] / (double)sum);
		between = ", ";
	}
}

/** Append how fast operations were requested. */
static void
add_load(struct doc *doc, const struct job_result_group *group)
{
	static const char *const arrivals[] = {[NB_ARRIVAL_CLOSED] = "closed loop",
		[NB_ARRIVAL_FIXED] = "evenly spaced",
		[NB_ARRIVAL_POISSON] = "at random (Poisson)"};
	const struct job_measurement *measured = &group->measured;
	double offered = group->rate_ops_s > 0
		? group->rate_ops_s
		: result_rate(measured->offered_ops, measured->span_ns);
	if (group->speed > 0)
		doc_more(doc, "due at the times of the trace, at %gx", group->speed);
	else if (group->rate_text != NULL) /* the mean includes the warm-up */
		doc_more(doc, "%s ops/sec offered (%.0f on average%s), %s", group->rate_text,
			offered,
			group->warmup_ns + group->warmup_count > 0 ? ", with the warm-up" : "",
			arrivals[group->arrivals]);
	else if (group->is_paced)
		doc_more(doc, "%.0f ops/sec offered, %s", offered, arrivals[group->arrivals]);
	else
		doc_more(doc, "closed loop");
}

/** Whether the group draws records; an insert takes the next one instead. */
static bool
has_choice(const struct job_result_group *group)
{
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		if (kind != NB_OP_INSERT && group->weights[kind] > 0)
			return true;
	}
	return false;
}

static void
add_group_head(
	struct doc *doc, const struct nb_result *result, const struct job_result_group *group)
{
	const struct job_measurement *measured = &group->measured;
	doc_paragraph(doc, "\n%s: %s", group->name, measured->trace);
	if (measured->trace[0] == '\0')
		add_mix(doc, result, group);
	if (group->masstree_test > 0)
		doc_more(doc, "; sequence %s", masstree_test_name(group->masstree_test - 1));
	else if (group->again[0] != '\0')
		doc_more(doc, "; keys of the %" PRIu64 " puts of %s", group->again_keys,
			group->again);
	else if (measured->trace[0] == '\0' && has_choice(group) &&
		group->distribution < NB_DIST_KINDS)
		doc_more(doc, "; %s keys%s", dist_name(group->distribution),
			group->key_range == NB_RANGE_PRIVATE ? " of the thread's own slice"
							     : "");
	doc_paragraph(doc, "%u thread%s, ", group->threads, group->threads == 1 ? "" : "s");
	add_load(doc, group);
	if (group->depth > 0)
		doc_more(doc, ", depth %u", group->depth);
	if (group->batch_bytes > 0)
		doc_more(doc, ", batches of %" PRIu64 " bytes", group->batch_bytes);
	doc_more(doc, ", %" PRIu64 " operations in %.6f sec", measured->ops,
		(double)measured->wall_ns / 1e9);
	if (group->warmup_ns > 0)
		doc_more(doc, ", without a warm-up of %s", UNITS_NS(group->warmup_ns));
	else if (group->warmup_count > 0)
		doc_more(doc, ", without a warm-up of %" PRIu64 " operations",
			group->warmup_count);
	doc_gap(doc);
}

/** Add a row of report_operations(); the response times of a kind follow its service times. */
static int
add_operation(void *to, const struct walk_row *row)
{
	static const double percents[] = {50, 75, 90, 95, 99, 99.9, 99.99};
	struct doc *doc = to;
	bool is_first = row->ops > 0 && strcmp(row->series, "response") != 0;
	bool is_in_text = doc->view == DOC_TEXT, has_name = is_first || !is_in_text;
	double ops_s = is_first ? result_rate((double)row->ops, row->group->wall_ns) : 0;
	if (is_in_text && row->what > WALK_ALL)
		return NB_OK;
	doc_row(doc);
	doc_cell(doc, "%s", row->group != NULL ? row->group->name : "");
	doc_cell(doc, "%s", has_name ? row->kind : "");
	doc_cell(doc, "%s", row->series);
	doc_cell_count(doc, is_first ? row->ops : 0);
	doc_cell_if(doc, is_first, "%.0f", ops_s);
	doc_cell_rate(doc, ops_s);
	doc_cell_ns(doc, nb_histogram_mean(row->histogram));
	for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++)
		doc_cell_percentile(doc, row->histogram, percents[i]);
	doc_cell_ns(doc, (double)nb_histogram_max(row->histogram));
	return NB_OK;
}

/** Sum all read transactions of a social graph, whose size classes are separate kinds. */
static int
add_read_txns(struct doc *doc, const struct walk_row *all)
{
	const struct record_group *group = all->group;
	bool is_response = strcmp(all->series, "response") == 0;
	struct walk_row row = {.what = WALK_KIND,
		.group = group,
		.kind = "tao-read-txn",
		.series = all->series};
	struct nb_histogram *whole;
	int rc = nb_histogram_new(&whole);
	if (rc != NB_OK)
		return rc;
	for (size_t k = 0; k < group->kind_count; k++) {
		const struct record_kind *kind = &group->kinds[k];
		const struct nb_histogram *times = is_response ? kind->response : kind->service;
		if (kind->kind < TAO_KIND_TXN_READ || times == NULL)
			continue;
		row.ops += kind->ops;
		nb_histogram_merge(whole, times);
	}
	row.histogram = whole;
	rc = row.ops > 0 ? add_operation(doc, &row) : NB_OK;
	nb_histogram_delete(whole);
	return rc;
}

static int
add_operation_of_graph(void *to, const struct walk_row *row)
{
	int rc = row->what == WALK_ALL ? add_read_txns(to, row) : NB_OK;
	return rc == NB_OK ? add_operation(to, row) : rc;
}

static walk_fn
row_of(const struct nb_result *result)
{
	bool is_run = result->is_job && !result->is_load;
	return is_run && is_of_graph(result) ? add_operation_of_graph : add_operation;
}

/** Begin a table of operations. Text has a table for each group, with fewer columns. */
static void
begin_operations(struct doc *doc, uint32_t view)
{
	static const struct doc_column columns[] = {{"group", DOC_LEFT, DOC_MARKDOWN},
		{"operation", DOC_LEFT, 0}, {"time", DOC_LEFT, 0}, {"ops", DOC_RIGHT, 0},
		{"ops/s", DOC_RIGHT, DOC_TEXT}, {"ops/s", DOC_RIGHT, DOC_MARKDOWN},
		{"mean", DOC_RIGHT, DOC_MARKDOWN}, {"p50", DOC_RIGHT, 0},
		{"p75", DOC_RIGHT, DOC_MARKDOWN}, {"p90", DOC_RIGHT, DOC_MARKDOWN},
		{"p95", DOC_RIGHT, DOC_MARKDOWN}, {"p99", DOC_RIGHT, 0},
		{"p99.9", DOC_RIGHT, 0}, {"p99.99", DOC_RIGHT, 0}, {"max", DOC_RIGHT, 0}};
	doc_table(doc, columns, view, 0);
}

int
report_operations(struct doc *doc, const struct nb_results *results, size_t index)
{
	const struct nb_result *run = results->records[index].run;
	begin_operations(doc, DOC_MARKDOWN);
	return walk_record(results, index, run != NULL ? row_of(run) : add_operation, doc);
}

static void
add_rate(struct doc *doc, const struct job_result_group *group)
{
	const struct job_measurement *measured = &group->measured;
	const struct nb_histogram *late = measured->lateness;
	uint64_t behind_ops;
	if (!group->is_paced)
		return;
	bool grew = job_result_grew(group, &behind_ops);
	doc_line(doc, "Queue",
		"%s: ", grew ? "grew, as more was offered than can be done" : "did not grow");
	/* if the queue did not grow, the few left at the end are chance, or in progress */
	if (grew && group->speed == 0)
		doc_more(doc, "%.0f operations were due, %" PRIu64 " left; ",
			measured->offered_ops, behind_ops);
	doc_more(doc, "the last of %" PRIu64 " began %s late, the latest %s", measured->done,
		UNITS_NS(measured->lag_ns), UNITS_NS(measured->lag_max_ns));
	if (late == NULL || nb_histogram_count(late) == 0)
		return;
	doc_line(doc, "Harness lateness",
		"p50 %s, p99 %s, at most %s, of %" PRIu64
		" times that it waited, with %.3f sec of CPU time that is in no other figure",
		UNITS_NS(nb_histogram_percentile(late, 50)),
		UNITS_NS(nb_histogram_percentile(late, 99)), UNITS_NS(nb_histogram_max(late)),
		nb_histogram_count(late), (double)measured->spin_ns / 1e9);
}

void
report_threads(
	struct doc *doc, const struct job_thread *threads, uint32_t count, uint32_t shown)
{
	if (count < 2)
		return;
	doc_line(doc, "Ops/s by thread", "%s", "");
	for (uint32_t t = 0; t < count && t < shown; t++)
		doc_more(doc, "%s%.0f", t > 0 ? " " : "",
			result_rate((double)threads[t].ops, threads[t].wall_ns));
	if (count > shown)
		doc_more(doc, " ...");
}

static void
add_answers(struct doc *doc, const struct job_measurement *measured)
{
	uint64_t answers[WORKER_ANSWERS] = {0}, records = 0, bytes = 0, many = 0;
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		const struct job_kind *it = &measured->kinds[kind];
		for (int i = 0; i < WORKER_ANSWERS; i++)
			answers[i] += it->answers[i];
		records += it->records;
		bytes += it->bytes;
		if (op_is(kind, OP_RANGE | OP_ITEMS) || kind > KIND_ADD)
			many += it->ops;
	}
	if (many > 0)
		doc_line(doc, "Records", "%" PRIu64 " read or written, %.0f a second", records,
			result_rate((double)records, measured->wall_ns));
	doc_line(doc, "Value bytes", "%" PRIu64 ", %.0f a second", bytes,
		result_rate((double)bytes, measured->wall_ns));
	if (answers[NB_NOT_FOUND] > 0)
		doc_line(doc, "Not found", "%" PRIu64, answers[NB_NOT_FOUND]);
	if (answers[NB_EXISTS] > measured->kinds[NB_OP_INSERT].answers[NB_EXISTS])
		doc_line(doc, "Refused",
			"%" PRIu64
			" operations: a key was there, a value as new, or a prefix not empty",
			answers[NB_EXISTS]);
	else if (answers[NB_EXISTS] > 0)
		doc_line(doc, "Exists", "%" PRIu64 " inserts found their key there",
			answers[NB_EXISTS]);
	report_conflicts(doc, answers[NB_CONFLICT]);
}

static void
add_case(struct doc *doc, const struct nb_result *result, const struct job_case *it)
{
	char key[2 * JOB_CASE_BYTES + 4];
	heartbeat_format_key(key, sizeof(key), it->key, it->key_size);
	doc_line(doc, "Wrong", "%s, operation %" PRIu64 ", key %s: %s",
		result_kind_name(result, it->kind), it->op, key,
		job_verdict_name((int)it->verdict));
	if (it->verdict == JOB_WRONG_SUM)
		doc_more(doc, ": grew by %" PRIu64 ", and %" PRIu64 " was added", it->version,
			it->expected);
	if (it->verdict == JOB_LOST_UPDATE || it->verdict == JOB_WRITE_SKEW)
		doc_more(doc, ", read version %" PRIu64 " beside operation %" PRIu64,
			it->version, it->expected);
	if (it->verdict == JOB_STALE || it->verdict == JOB_TORN)
		doc_more(doc, ", version %" PRIu64 ", expected %" PRIu64, it->version,
			it->expected);
}

static void
add_findings(
	struct doc *doc, const struct nb_result *result, const struct job_result_group *group)
{
	const struct job_findings *findings = &group->measured.findings;
	const char *why = result->verify_rate == 0              ? "not asked for"
		: (result->engine.caps & NB_CAP_SYNTHETIC) != 0 ? "not possible"
		: findings->verified == 0                       ? "the sample was empty"
								: NULL;
	uint64_t wrong = 0;
	if (why != NULL) {
		doc_line(doc, "Verified", "nothing (%s)", why);
		return;
	}
	for (int i = JOB_GOOD + 1; i < JOB_VERDICTS; i++)
		wrong += findings->verdicts[i];
	doc_line(doc, "Verified", "%" PRIu64 " records: %" PRIu64 " wrong%s",
		findings->verified, wrong, job_result_gaps(group->is_blind_to_gaps));
	if (findings->read_back > 0)
		doc_line(doc, "Read back", "%" PRIu64 " of these records, %s",
			findings->read_back,
			result->measured.is_reopened
				? "after the database was closed and opened again"
				: "from the open database");
	for (uint64_t i = 0; i < findings->case_count; i++)
		add_case(doc, result, &findings->cases[i]);
}

/** Add the operations of a trace that were not executed. */
static void
add_left_out(struct doc *doc, const struct nb_trace_counts *counts)
{
	if (counts->others > 0)
		doc_line(doc, "Left out", "%" PRIu64 " of kinds that mininb does not do",
			counts->others);
	if (counts->bad > 0)
		doc_line(doc, "Left out", "%" PRIu64 " damaged; the first is %s", counts->bad,
			counts->first_bad);
}

static int
add_group(struct doc *doc, const struct nb_result *result, const struct record_group *group)
{
	const struct job_measurement *measured = &group->job->measured;
	if (!measured->has_begun) {
		doc_paragraph(doc, "\n%s: was not begun", group->name);
		return NB_OK;
	}
	add_group_head(doc, result, group->job);
	begin_operations(doc, DOC_TEXT);
	int rc = walk_group(group, row_of(result), doc);
	doc_gap(doc);
	add_rate(doc, group->job);
	if (measured->level != STEPS_NONE)
		doc_line(doc, "Level", "%s", steps_level_name(measured->level));
	report_threads(doc, measured->threads, measured->thread_count, 16);
	add_answers(doc, measured);
	add_left_out(doc, &measured->trace_counts);
	add_findings(doc, result, group->job);
	return rc;
}

/* ---- the tail ---- */

/** How late a thread woke up that only sleeps, and whether the rate became steady. */
static void
add_course(struct doc *doc, const struct nb_result *result)
{
	const struct nb_histogram *hiccups = result->measured.hiccups;
	if (result->is_steady)
		doc_line(doc, "Steady",
			"yes: over the last window the rate changed by %.1f %% and was at most %.1f %% off its mean",
			100 * fabs(result->steady_slope), 100 * result->steady_band);
	if (result->measured.checkpoints != NULL)
		doc_line(doc, "Checkpoints",
			"%" PRIu64 " during the operations, median %s, at most %s",
			nb_histogram_count(result->measured.checkpoints),
			UNITS_NS(nb_histogram_percentile(result->measured.checkpoints, 50)),
			UNITS_NS(nb_histogram_max(result->measured.checkpoints)));
	if (hiccups == NULL || nb_histogram_count(hiccups) == 0)
		return;
	doc_line(doc, "Hiccups",
		"a thread that only sleeps woke up late by p50 %s, p99 %s, at most %s, of %" PRIu64
		" times",
		UNITS_NS(nb_histogram_percentile(hiccups, 50)),
		UNITS_NS(nb_histogram_percentile(hiccups, 99)),
		UNITS_NS(nb_histogram_max(hiccups)), nb_histogram_count(hiccups));
}

int
report_job(struct doc *doc, const struct record *record)
{
	struct record_group groups[NB_GROUPS_MAX];
	const struct nb_result *result = record_job(record);
	size_t count = record_groups(record, groups);
	int rc = NB_OK;
	add_head(doc, result);
	for (size_t g = 0; g < count && rc == NB_OK; g++)
		rc = add_group(doc, result, &groups[g]);
	doc_gap(doc);
	if (record->run->workload.verb != NB_VERB_GET && record->run->measured.has_settled)
		report_settled(doc, record);
	add_course(doc, result);
	report_conditions(doc, record);
	return rc;
}
