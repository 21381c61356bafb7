/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency over throughput.
 *
 * First the job is run as fast as it goes, which is its capacity; then at rates below, each
 * on the database as the one before has left it. --sweep takes fixed shares of the
 * capacity. --slo halves the interval between a rate that held the limit and one that did
 * not, from the capacity down, and says the highest that held: "held" is that the
 * percentile of the response time is below the limit, that there were samples enough to
 * say so, and that no queue was growing.
 *
 * What makes it wrong: a machine that is not as fast at the end as at the beginning, hence
 * the rates rise and the search ends with a rate that was seen to hold; runs too short to
 * see a stall.
 */
#include "sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "limits.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "progress.h"

enum {
	POINTS_MAX = 64,
	SEARCH_STEPS = 12,
	DEFAULT_SECONDS = 5,
};

/** A search ends when what holds and what does not are so near. */
#define NEAR_ENOUGH 0.02

struct sweep {
	const struct options *options;
	struct nb_job *job;
	struct nb_group *group; /* whose rate it is */
	struct nb_job_options run;
	struct nb_results *results;
	struct nb_summary *summary;
	uint32_t arrivals; /* NB_ARRIVAL_*, of the points */
	double capacity_ops_s;
	struct nb_curve_point points[POINTS_MAX];
	size_t count;
	int status;
};

/* ---- one run ---- */

/** 0: as fast as it goes. */
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
point_of(const struct sweep *sweep, const struct nb_job_result *result, double offered)
{
	struct nb_job_summary summary;
	const struct nb_histogram *service = nb_job_result_histogram(result, 0);
	const struct nb_histogram *response = nb_job_result_histogram(result, 1);
	nb_job_result_summarize(result, &summary);
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

/** The report of a run whose data was wrong, since its first cases are listed there. */
static void
print_findings(const struct nb_job_run *run)
{
	struct nb_job_result *result;
	if (nb_job_result_new(&result, run) < 0)
		return;
	if (nb_job_result_write_text(result, output_text(), 0) < 0)
		message_last_failure(NB_FAIL);
	nb_job_result_delete(result);
}

/** Of the run at a rate, or without one. */
static int
keep(struct sweep *sweep, const struct nb_job_run *run, double ops_s)
{
	char label[64] = "";
	if (ops_s > 0)
		snprintf(label, sizeof(label), "at %.0f ops/s", ops_s);
	return nb_results_add_job_run(sweep->results, run, label);
}

/** The capacity of one that was interrupted or failed there: all that there is. */
static void
keep_failed(struct sweep *sweep, const struct nb_job_run *run, const struct failure *failure)
{
	if (keep(sweep, run, 0) < 0)
		return; /* it did not come to its first operation */
	nb_results_set_end(sweep->results, failure->text);
	print_findings(run);
}

/** NULL if it failed, which has been said; then sweep->status is set. */
static struct nb_job_result *
run_once(struct sweep *sweep, double ops_s)
{
	struct nb_job_run *run;
	struct nb_job_result *result = NULL;
	sweep->run.is_point = ops_s > 0;
	int rc = nb_job_run_new(&run, &sweep->run);
	if (rc < 0) {
		sweep->status = message_last_failure(rc);
		return NULL;
	}
	rc = nb_job_run_execute(run);
	progress_clear();
	struct failure failure;
	failure_keep(&failure, rc);
	if (rc == 0)
		failure_keep(&failure, nb_job_result_new(&result, run));
	if (rc == 0 && failure.code == 0)
		failure_keep(&failure, keep(sweep, run, ops_s));
	else if (rc != 0 && ops_s <= 0)
		keep_failed(sweep, run, &failure);
	else if (rc == NB_ERR_DATA)
		print_findings(run);
	if (failure.code != 0)
		sweep->status = message_failure(&failure);
	nb_job_run_delete(run);
	return result;
}

/** As fast as it goes; its report is the one that is printed. */
static bool
measure_capacity(struct sweep *sweep)
{
	set_rate(sweep, 0);
	struct nb_job_result *result = sweep->status == 0 ? run_once(sweep, 0) : NULL;
	if (result == NULL)
		return false;
	struct nb_job_summary summary;
	nb_job_result_summarize(result, &summary);
	sweep->capacity_ops_s = summary.rate_ops_s;
	int rc = nb_job_result_write_text(result, output_text(), 0);
	if (sweep->summary != NULL)
		nb_job_result_summarize_run(result, sweep->summary);
	nb_job_result_delete(result);
	if (rc < 0)
		sweep->status = message_output_failure(rc);
	return rc >= 0 && sweep->capacity_ops_s > 0;
}

/** Run at a rate and keep the point. *value: of the limit's percentile, UINT64_MAX if none. */
static bool
measure_rate(
	struct sweep *sweep, double ops_s, const struct latency_limit *limit, uint64_t *value)
{
	set_rate(sweep, ops_s);
	struct nb_job_result *result = sweep->status == 0 ? run_once(sweep, ops_s) : NULL;
	if (result == NULL || sweep->count == POINTS_MAX) {
		nb_job_result_delete(result);
		return false;
	}
	struct nb_curve_point point = point_of(sweep, result, ops_s);
	size_t at = sweep->count++;
	for (; at > 0 && sweep->points[at - 1].offered_ops_s > point.offered_ops_s; at--)
		sweep->points[at] = sweep->points[at - 1];
	sweep->points[at] = point;
	if (value != NULL) {
		const struct nb_histogram *response = nb_job_result_histogram(result, 1);
		*value = limit->percent >= 100 ? nb_histogram_max(response)
					       : percentile(response, limit->percent);
		if (*value == 0 || point.queue_grew)
			*value = UINT64_MAX;
	}
	nb_job_result_delete(result);
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

/** The highest rate that was seen to hold; 0: none. */
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
print_limit(struct sweep *sweep, const struct latency_limit *limit, double rate)
{
	int status = print_curve(sweep);
	if (status != STATUS_DONE)
		return status;
	if (rate > 0) {
		fprintf(output_text(),
			"\nHighest rate that held %s: %.0f ops/s, %.0f %% of the capacity\n",
			limit->text, rate, 100 * rate / sweep->capacity_ops_s);
		return STATUS_DONE;
	}
	message_error("no rate held %s, down to %.0f ops/s", limit->text,
		sweep->count > 0 ? sweep->points[0].offered_ops_s : 0);
	return STATUS_GATE;
}

/* ---- both ---- */

/** The group whose rate is varied: there must be but one that counts. */
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

/** What makes no sense together with rates that are varied; it has been said. */
static bool
is_refused(const struct options *options, const struct nb_group *group)
{
	if (group == NULL)
		message_usage("--sweep and --slo vary one rate: the job must have one group of "
			      "threads beside those in the background");
	else if (options->is_sweep && options->slo != NULL)
		message_usage("--sweep and --slo look for different things; give one of them");
	else if (group->rate_count > 0)
		message_usage("--sweep and --slo choose the rates themselves; leave --rate out "
			      "(--rate=none, if the workload has one)");
	else if (options->record != NULL)
		message_usage(
			"--record: a sweep is many runs; record one at a --rate of its own");
	else
		return false;
	return true;
}

int
sweep_execute(const struct options *options, struct nb_job *job,
	const struct nb_job_options *job_options, struct nb_results *results,
	struct nb_summary *summary)
{
	struct latency_limit limit;
	struct sweep sweep = {.options = options,
		.job = job,
		.group = find_group(job),
		.run = *job_options,
		.results = results,
		.summary = summary};
	if (is_refused(options, sweep.group))
		return STATUS_USAGE;
	if (options->slo != NULL && !limits_parse_latency(&limit, options->slo))
		return message_usage("--slo: '%s' is no limit like p99<1ms, p99.9<500us or "
				     "max<10ms",
			options->slo);
	sweep.arrivals = sweep.group->arrivals_asked == NB_ARRIVAL_POISSON ? NB_ARRIVAL_POISSON
									   : NB_ARRIVAL_FIXED;
	if (sweep.group->duration_ns == 0) { /* by count, low rates would take for ever */
		sweep.group->duration_ns = UINT64_C(1000000000) * DEFAULT_SECONDS;
		sweep.group->count = 0;
	}
	if (sweep.group->weights[NB_OP_INSERT] > 0)
		message_log(NULL, NB_LOG_WARNING,
			"each run inserts the same records: from the second on these are "
			"overwrites, and the database is as the one before left it");
	if (output_set_command(results, options, job) < 0)
		return message_last_failure(NB_FAIL);
	if (!measure_capacity(&sweep))
		return sweep.status != STATUS_DONE ? sweep.status : STATUS_FAILED;
	double rate = 0;
	if (options->slo != NULL)
		rate = search(&sweep, &limit);
	else
		sweep_rates(&sweep);
	if (nb_results_set_curve(results, sweep.capacity_ops_s, sweep.points, sweep.count,
		    options->slo, rate) < 0)
		return message_last_failure(NB_FAIL);
	int printed = options->slo != NULL && sweep.status == STATUS_DONE
		? print_limit(&sweep, &limit, rate)
		: print_curve(&sweep);
	return sweep.status != STATUS_DONE ? sweep.status : printed;
}
