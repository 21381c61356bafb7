/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency over throughput.
 *
 * The first run has no rate limit: it measures the capacity. The next runs have lower rates,
 * each on the database of the previous run. --sweep uses fixed fractions of the capacity. --slo
 * bisects the interval between a rate that met the limit and a rate that did not, and reports
 * the highest rate that met it. A rate meets the limit if the percentile of the response time
 * is below it, enough samples support it, and no queue grew.
 *
 * Causes of wrong results: a machine that becomes slower (therefore rates rise, and the search
 * ends with a rate that met the limit); runs too short to include a stall.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_run.h"
#include "message.h"
#include "output.h"
#include "progress.h"

struct sweep_own sweep_own;

#define INTO(name) .into = &sweep_own.name
/* clang-format off */
const struct option_row sweep_options[] = {
	{.name = "sweep", .type = OPTION_FLAG, .group = GROUP_MEASURE, .before = "pin",
		.decides = true, INTO(is_sweep),
		.help = "measure the capacity, then the latency at 10 to 95 % of it"},
	{.name = "slo", .arg = "LIMIT", .type = OPTION_TEXT, .group = GROUP_MEASURE,
		.decides = true, INTO(slo),
		.help = "find the highest rate that keeps a limit: p99<1ms, p99.9<500us, max<10ms"},
	{.name = NULL},
};
/* clang-format on */

enum {
	POINTS_MAX = 64,
	SEARCH_STEPS = 12,
	DEFAULT_SECONDS = 5,
};

/** The search ends when the two rates are as near as this. */
#define NEAR_ENOUGH 0.02

/** "p99<1ms" */
struct latency_limit {
	double percent; /* 100: the maximum */
	uint64_t ns;
};

struct sweep {
	const struct options *options;
	struct nb_job *job;
	struct nb_group *group; /* the group with the varied rate */
	struct nb_run_options run;
	const struct run_sink *sink;
	uint32_t arrivals; /* NB_ARRIVAL_*, for runs with a rate */
	double capacity_ops_s;
	struct nb_curve_point points[POINTS_MAX];
	size_t count;
	int status;
};

/* ---- one run ---- */

/** 0: no rate. */
static void
set_rate(struct sweep *sweep, double ops_s)
{
	char text[128];
	if (ops_s > 0)
		snprintf(text, sizeof(text), "%s.rate=%.3f", sweep->group->name, ops_s);
	else
		snprintf(text, sizeof(text), "%s.rate=none", sweep->group->name);
	if (nb_job_set(sweep->job, text) < 0)
		sweep->status = message_last_failure(NB_FAIL);
	if (ops_s > 0)
		sweep->group->arrivals = sweep->arrivals;
}

static uint64_t
percentile(const struct nb_histogram *histogram, double percent)
{
	return nb_histogram_supports(histogram, percent, NULL)
		? nb_histogram_percentile(histogram, percent)
		: 0;
}

static struct nb_curve_point
point_of(const struct sweep *sweep, const struct nb_result *result, double offered)
{
	struct nb_job_summary summary;
	const struct nb_histogram *service = nb_result_histogram(result, 0);
	const struct nb_histogram *response = nb_result_histogram(result, 1);
	nb_result_summarize_job(result, &summary);
	return (struct nb_curve_point){.size = sizeof(struct nb_curve_point),
		.share = sweep->capacity_ops_s > 0 ? offered / sweep->capacity_ops_s : 0,
		.offered_ops_s = offered,
		.achieved_ops_s = summary.rate_ops_s,
		.service_p50_ns = percentile(service, 50),
		.service_p99_ns = percentile(service, 99),
		.service_p999_ns = percentile(service, 99.9),
		.response_p50_ns = percentile(response, 50),
		.response_p99_ns = percentile(response, 99),
		.response_p999_ns = percentile(response, 99.9),
		.response_max_ns = nb_histogram_max(response),
		.queue_grew = summary.has_queue_grown};
}

/** Prints the report of a run with wrong data, which lists the first cases. */
static void
print_findings(const struct nb_run *run)
{
	struct nb_result *result;
	if (nb_result_new(&result, run) < 0)
		return;
	if (nb_result_write_text(result, output_text(), 0) < 0)
		message_last_failure(NB_FAIL);
	nb_result_delete(result);
}

/** Stores the result of a run, with or without a rate. */
static int
keep(struct sweep *sweep, const struct nb_run *run, double ops_s)
{
	char label[64] = "";
	if (ops_s > 0)
		snprintf(label, sizeof(label), "at %.0f ops/s", ops_s);
	return nb_results_add_run(sweep->sink->results, run, label);
}

/** Stores a capacity run that was interrupted or failed, the only result. */
static void
keep_failed(struct sweep *sweep, const struct nb_run *run, const struct failure *failure)
{
	if (keep(sweep, run, 0) < 0)
		return; /* it failed before its first operation */
	nb_results_set_end(sweep->sink->results, failure->text);
	print_findings(run);
}

/**
 * The last result in sweep->sink->results. NULL: the run failed, which was reported;
 * sweep->status is set.
 */
static const struct nb_result *
run_once(struct sweep *sweep, double ops_s)
{
	struct nb_run *run;
	sweep->run.is_point = ops_s > 0;
	int rc = nb_run_new(&run, &sweep->run);
	if (rc < 0) {
		sweep->status = message_last_failure(rc);
		return NULL;
	}
	rc = nb_run_execute(run);
	progress_clear();
	struct failure failure;
	failure_keep(&failure, rc);
	if (rc == 0)
		failure_keep(&failure, keep(sweep, run, ops_s));
	else if (rc != 0 && ops_s <= 0)
		keep_failed(sweep, run, &failure);
	else if (rc == NB_ERR_DATA)
		print_findings(run);
	if (failure.code != 0)
		sweep->status = message_failure(&failure);
	nb_run_delete(run);
	return failure.code == 0 ? nb_results_last(sweep->sink->results) : NULL;
}

/** Runs without a rate and prints the report. */
static bool
measure_capacity(struct sweep *sweep)
{
	set_rate(sweep, 0);
	const struct nb_result *result = sweep->status == 0 ? run_once(sweep, 0) : NULL;
	if (result == NULL)
		return false;
	struct nb_job_summary summary;
	nb_result_summarize_job(result, &summary);
	sweep->capacity_ops_s = summary.rate_ops_s;
	int rc = nb_result_write_text(result, output_text(), 0);
	if (sweep->sink->summary != NULL)
		nb_result_summarize(result, sweep->sink->summary);
	if (rc < 0)
		sweep->status = message_output_failure(rc);
	return rc >= 0 && sweep->capacity_ops_s > 0;
}

/**
 * Runs at a rate and stores the point. *value: the limit's percentile; UINT64_MAX if unknown.
 */
static bool
measure_rate(
	struct sweep *sweep, double ops_s, const struct latency_limit *limit, uint64_t *value)
{
	set_rate(sweep, ops_s);
	const struct nb_result *result = sweep->status == 0 ? run_once(sweep, ops_s) : NULL;
	if (result == NULL || sweep->count == POINTS_MAX)
		return false;
	struct nb_curve_point point = point_of(sweep, result, ops_s);
	size_t at = sweep->count++;
	for (; at > 0 && sweep->points[at - 1].offered_ops_s > point.offered_ops_s; at--)
		sweep->points[at] = sweep->points[at - 1];
	sweep->points[at] = point;
	if (value != NULL) {
		const struct nb_histogram *response = nb_result_histogram(result, 1);
		*value = limit->percent >= 100 ? nb_histogram_max(response)
					       : percentile(response, limit->percent);
		if (*value == 0 || point.queue_grew)
			*value = UINT64_MAX;
	}
	return true;
}

/* ---- the curve ---- */

static int
print_curve(struct sweep *sweep)
{
	fprintf(output_text(), "\nCapacity: %.0f ops/s, closed loop\n\n",
		sweep->capacity_ops_s);
	int rc = nb_curve_write_text(
		sweep->points, sweep->count, output_text(), output_flags(sweep->options));
	return rc < 0 ? message_output_failure(rc) : STATUS_DONE;
}

static void
sweep_rates(struct sweep *sweep)
{
	static const double shares[] = {.1, .2, .3, .4, .5, .6, .7, .8, .9, .95};
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		if (!measure_rate(sweep, shares[i] * sweep->capacity_ops_s, NULL, NULL))
			break;
	}
}

/* ---- the limit ---- */

/** Parses "p99<1ms", "p99.9<500us" or "max<10ms". */
static int
parse_limit(struct latency_limit *limit, const char *text)
{
	const char *sign = strchr(text, '<');
	char name[16];
	int length = sign != NULL ? (int)(sign - text) : 0;
	snprintf(name, sizeof(name), "%.*s", length, text);
	limit->percent = 100;
	if (sign != NULL && length < (int)sizeof(name) &&
		(strcmp(name, "max") == 0 ||
			(name[0] == 'p' && nb_parse_real(&limit->percent, name + 1) == 0)) &&
		limit->percent > 0 && limit->percent <= 100 &&
		nb_parse_time(&limit->ns, sign + 1) == 0 && limit->ns > 0)
		return STATUS_DONE;
	return message_usage(
		"--slo: '%s' is not a limit like p99<1ms, p99.9<500us or max<10ms", text);
}

/** The highest rate that met the limit; 0: none. */
static double
search(struct sweep *sweep, const struct latency_limit *limit)
{
	double holds = 0, fails = sweep->capacity_ops_s;
	for (int step = 0; step < SEARCH_STEPS && fails - holds > NEAR_ENOUGH * fails; step++) {
		double middle = (holds + fails) / 2;
		uint64_t value;
		if (!measure_rate(sweep, middle, limit, &value))
			break;
		if (value < limit->ns)
			holds = middle;
		else
			fails = middle;
	}
	return holds;
}

static int
print_limit(struct sweep *sweep, double rate)
{
	int status = print_curve(sweep);
	if (status != STATUS_DONE)
		return status;
	if (rate > 0) {
		fprintf(output_text(),
			"\nHighest rate that held %s: %.0f ops/s, %.0f %% of the capacity\n",
			sweep_own.slo, rate, 100 * rate / sweep->capacity_ops_s);
		return STATUS_DONE;
	}
	message_error("no rate held %s, down to %.0f ops/s", sweep_own.slo,
		sweep->count > 0 ? sweep->points[0].offered_ops_s : 0);
	return STATUS_GATE;
}

/* ---- both ---- */

/** The group with the varied rate: the only foreground group. */
static struct nb_group *
find_group(const struct nb_job *job)
{
	struct nb_group *found = NULL;
	for (size_t g = 0; g < job->group_count; g++) {
		if (job->groups[g].is_background)
			continue;
		if (found != NULL)
			return NULL;
		found = &job->groups[g];
	}
	return found;
}

/** Rejects options that conflict with varied rates. */
static int
check_options(const struct options *options, const struct nb_group *group)
{
	if (group == NULL)
		return message_usage(
			"--sweep and --slo vary one rate: the workload must have exactly one group that is not in the background");
	if (sweep_own.is_sweep && sweep_own.slo != NULL)
		return message_usage("use only one of --sweep and --slo");
	if (group->rate_count > 0)
		return message_usage(
			"--sweep and --slo choose the rates themselves; omit --rate (or use --rate=none, if the workload has a rate)");
	if (options->record != NULL)
		return message_usage(
			"--record: a sweep has many runs; record one run, with --rate");
	return STATUS_DONE;
}

int
sweep_execute(const struct options *options, struct nb_job *job,
	const struct nb_run_options *job_options, const struct run_sink *sink)
{
	struct latency_limit limit;
	struct sweep sweep = {.options = options,
		.job = job,
		.group = find_group(job),
		.run = *job_options,
		.sink = sink};
	int status = check_options(options, sweep.group);
	if (status == STATUS_DONE && sweep_own.slo != NULL)
		status = parse_limit(&limit, sweep_own.slo);
	if (status != STATUS_DONE)
		return status;
	sweep.arrivals = sweep.group->arrivals_asked == NB_ARRIVAL_POISSON ? NB_ARRIVAL_POISSON
									   : NB_ARRIVAL_FIXED;
	if (sweep.group->duration_ns == 0) { /* with a count, low rates would take too long */
		sweep.group->duration_ns = UINT64_C(1000000000) * DEFAULT_SECONDS;
		sweep.group->count = 0;
	}
	if (sweep.group->weights[NB_OP_INSERT] > 0)
		message_log(NULL, NB_LOG_WARNING,
			"each run inserts the same records: after the first run they overwrite the records that are there");
	if (output_set_command(sink->results, options, job) < 0)
		return message_last_failure(NB_FAIL);
	if (!measure_capacity(&sweep))
		return sweep.status != STATUS_DONE ? sweep.status : STATUS_FAILED;
	double rate = 0;
	if (sweep_own.slo != NULL)
		rate = search(&sweep, &limit);
	else
		sweep_rates(&sweep);
	if (nb_results_set_curve(sink->results, sweep.capacity_ops_s, sweep.points, sweep.count,
		    sweep_own.slo, rate) < 0)
		return message_last_failure(NB_FAIL);
	int printed = sweep_own.slo != NULL && sweep.status == STATUS_DONE
		? print_limit(&sweep, rate)
		: print_curve(&sweep);
	return sweep.status != STATUS_DONE ? sweep.status : printed;
}
