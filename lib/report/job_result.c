/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies the result of a finished job, and derives its summary.
 *
 * The number of operations decides whether a queue has grown, not a percentile. At a
 * sustainable rate, the operations due but not done at the end are those in progress, a few
 * for each thread. More than that, and more than a hundredth of the due operations, is a
 * queue. If the job was bound by count, no operation is left at the end, so the last
 * operation decides: more than 10 ms late, and by more than a twentieth of the time, which
 * a hiccup of the machine does not cause.
 */
#include "report/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/histogram.h"
#include "run/run.h"
#include "workload/op_kind.h"

enum { UNDER_WAY = 4 /* operations in progress per thread that do not count as a queue */ };

/** Replace a borrowed histogram by a copy. Copies nothing if *rc is a failure already. */
static void
copy_histogram(struct nb_histogram **into, int *rc)
{
	const struct nb_histogram *from = *into;
	*into = NULL;
	if (from != NULL && *rc == NB_OK)
		*rc = nb_histogram_new(into);
	if (*into != NULL)
		nb_histogram_merge(*into, from);
}

static int
copy_measurement(struct job_measurement *into, const struct job_measurement *from)
{
	*into = *from;
	size_t bytes = from->thread_count * sizeof(*from->threads);
	into->threads = malloc(bytes + 1);
	int rc = into->threads != NULL ? NB_OK : error_memory();
	if (rc == NB_OK && bytes > 0)
		memcpy(into->threads, from->threads, bytes);
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		copy_histogram(&into->kinds[kind].service, &rc);
		copy_histogram(&into->kinds[kind].response, &rc);
	}
	copy_histogram(&into->lateness, &rc);
	return rc;
}

/**
 * Whether the next record of a scan is unknown, so that gaps are not detected; see
 * verify.c.
 */
static bool
is_blind_to_gaps(const struct job_part *part)
{
	const struct job_plan *plan = &part->plan;
	bool are_all_there = !plan->may_miss && !plan->has_deletes;
	bool is_of_prefix = part->group->source == NB_SOURCE_TAO;
	bool is_known = plan->feed == NULL &&
		((plan->spec->keys->is_ordered &&
			 (are_all_there || plan->spec->source->has_between != NULL)) ||
			(is_of_prefix && are_all_there));
	return plan->verify_threshold > 0 && part->measured.kinds[NB_OP_SCAN].ops > 0 &&
		!is_known;
}

static int
copy_group(struct job_result_group *into, const struct job_part *part)
{
	const struct nb_group *group = part->group;
	*into = (struct job_result_group){.phase = group->phase,
		.threads = part->plan.threads,
		.arrivals = group->arrivals,
		.distribution = group->distribution,
		.duration_ns = group->duration_ns,
		.warmup_ns = group->warmup_ns,
		.warmup_count = group->warmup_count,
		.is_background = group->is_background != 0,
		.insert_verb = group->insert_verb,
		.key_range = group->key_range,
		.masstree_test = group->source == NB_SOURCE_MASSTREE ? group->masstree_test + 1
								     : 0,
		.again_keys = part->again_of != NULL ? part->again.count : 0,
		.is_blind_to_gaps = is_blind_to_gaps(part),
		.rate_ops_s = group->rate_count == 1 &&
				group->rate[0].to_ops_s == group->rate[0].from_ops_s
			? group->rate[0].from_ops_s
			: 0,
		.depth = group->depth > 1 ? group->depth : 0,
		.batch_bytes = group->batch_bytes,
		.is_paced = part->plan.is_paced};
	snprintf(into->name, sizeof(into->name), "%s", group->name);
	snprintf(into->again, sizeof(into->again), "%s", group->again);
	memcpy(into->weights, group->weights, sizeof(into->weights));
	if (group->rate_count > 1 && group->rate_text != NULL &&
		(into->rate_text = strdup(group->rate_text)) == NULL)
		return error_memory();
	return copy_measurement(&into->measured, &part->measured);
}

static int
copy_groups(struct nb_result *result, const struct nb_run *run)
{
	size_t count = result->is_load ? 1 : run->part_count;
	result->groups = calloc(count + 1, sizeof(*result->groups));
	if (result->groups == NULL)
		return error_memory();
	int rc = NB_OK;
	for (size_t g = 0; g < count && rc == NB_OK; g++) {
		const struct job_part *part = result->is_load ? &run->loading : &run->parts[g];
		result->group_count++;
		rc = copy_group(&result->groups[g], part);
		if (result->groups[g].arrivals == NB_ARRIVAL_CLOSED &&
			result->groups[g].is_paced)
			result->groups[g].speed = run->options.speed;
	}
	return rc;
}

static void
copy_job(struct nb_result *result, const struct nb_run *run)
{
	static const char *const formats[] = {[NB_KEY_RAW] = "raw",
		[NB_KEY_TEXT] = "text",
		[NB_KEY_BE64] = "be64",
		[NB_KEY_FILE] = "file",
		[NB_KEY_GRAPH] = "graph",
		[NB_KEY_WORDS] = "words",
		[NB_KEY_LETTERS] = "letters"};
	static const char *const orders[] = {[NB_ORDER_HASHED] = "hashed",
		[NB_ORDER_ORDERED] = "ordered",
		[NB_ORDER_YCSB] = "ycsb"};
	const struct nb_job *job = run->job;
	result->is_load = run->options.what == NB_JOB_LOAD;
	result->is_replay = run->is_replay;
	result->is_point = run->options.is_point != 0;
	result->procs = run->options.procs;
	if (run_all_shards(run) > 1 && !result->is_load)
		snprintf(result->shard, sizeof(result->shard), "%u/%u", run_own_shard(run),
			run_all_shards(run));
	result->records = job->records;
	result->key_size = run->keys.key_size_max;
	result->key_format = formats[job->key_format];
	result->key_order = orders[job->key_order];
	result->value_min = run->sizes.min;
	result->value_max = run->sizes.max;
	result->value_mean = sizes_mean(&run->sizes);
	result->value_ratio = job->value_ratio;
	result->measured_ratio = run->measured_ratio;
	result->was_steady_asked = run->options.steady.window_ns > 0;
	result->is_steady = run->is_steady;
	result->steady_slope = run->steady.slope;
	result->steady_band = run->steady.band;
}

static int
merge_all(struct nb_result *result)
{
	int rc = nb_histogram_new(&result->service);
	if (rc == NB_OK)
		rc = nb_histogram_new(&result->response);
	if (rc != NB_OK)
		return rc;
	for (size_t g = 0; g < result->group_count; g++) {
		const struct job_result_group *group = &result->groups[g];
		result->is_paced |= group->is_paced;
		result->is_bound_by_time |= group->duration_ns > 0;
		for (uint32_t kind = 0; kind < NB_KINDS_MAX && !group->is_background; kind++) {
			const struct job_kind *from = &group->measured.kinds[kind];
			if (from->service != NULL)
				nb_histogram_merge(result->service, from->service);
			if (from->response != NULL)
				nb_histogram_merge(result->response, from->response);
		}
	}
	return NB_OK;
}

/** Store the names of the job's own kinds, if it has any. */
static void
name_kinds(struct nb_result *result, const struct nb_run *run)
{
	bool has_any = false;
	for (size_t g = 0; g < run->job->group_count && !run->is_replay; g++)
		has_any |= kinds_verbs(run->job, &run->job->groups[g]) != 0;
	for (uint32_t kind = KIND_ADD; kind < NB_KINDS_MAX && has_any; kind++) {
		const struct nb_kind *own = kind_row(run->job, kind);
		if (own != NULL)
			snprintf(result->kinds[kind], NB_KIND_NAME, "%s", own->name);
	}
}

int
result_take_job(struct nb_result *result, const struct nb_run *run)
{
	copy_job(result, run);
	result->threads *= run->options.procs;
	result->is_of_processes = run->options.procs > 1;
	name_kinds(result, run);
	result->name = strdup(run->job->name != NULL ? run->job->name : "");
	if (result->name == NULL)
		return error_memory();
	int rc = copy_groups(result, run);
	return rc == NB_OK ? merge_all(result) : rc;
}

static void
destroy_group(struct job_result_group *group)
{
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		nb_histogram_delete(group->measured.kinds[kind].service);
		nb_histogram_delete(group->measured.kinds[kind].response);
	}
	nb_histogram_delete(group->measured.lateness);
	free(group->measured.threads);
	free(group->rate_text);
}

void
result_destroy_job(struct nb_result *result)
{
	for (size_t g = 0; g < result->group_count; g++)
		destroy_group(&result->groups[g]);
	free(result->groups);
	nb_histogram_delete(result->service);
	nb_histogram_delete(result->response);
	free(result->name);
}

bool
job_result_grew(const struct job_result_group *group, uint64_t *behind_ops)
{
	const struct job_measurement *measured = &group->measured;
	double behind = measured->offered_ops - (double)measured->done;
	*behind_ops = behind > 0 ? (uint64_t)behind : 0;
	/* A bound by count leaves no operation undone, so the lateness decides. */
	double late = measured->span_ns > 0
		? (double)measured->lag_ns / (double)measured->span_ns
		: 0;
	bool is_late = measured->lag_ns > 10000000 && late > 0.05 &&
		late * (double)measured->done > UNDER_WAY * (double)group->threads;
	return group->is_paced &&
		(is_late ||
			(behind > UNDER_WAY * (double)group->threads &&
				behind > 0.01 * measured->offered_ops));
}

/**
 * Add the operations that the groups of a phase, which run concurrently, executed in that
 * time.
 */
static void
summarize_phase(const struct nb_result *result, uint32_t phase, struct nb_job_summary *out,
	double *done, double *offered)
{
	double rate = 0, offered_rate = 0;
	uint64_t wall_ns = 0;
	for (size_t g = 0; g < result->group_count; g++) {
		const struct job_result_group *group = &result->groups[g];
		const struct job_measurement *measured = &group->measured;
		uint64_t behind_ops;
		if (group->is_background || group->phase != phase)
			continue;
		out->has_queue_grown |= job_result_grew(group, &behind_ops);
		out->behind_ops += group->is_paced ? behind_ops : 0;
		if (measured->lag_ns > out->behind_ns)
			out->behind_ns = measured->lag_ns;
		out->ops += measured->ops;
		rate += result_rate((double)measured->ops, measured->wall_ns);
		if (group->arrivals != NB_ARRIVAL_CLOSED)
			offered_rate += result_rate(measured->offered_ops, measured->span_ns);
		if (measured->wall_ns > wall_ns)
			wall_ns = measured->wall_ns;
	}
	out->wall_ns += wall_ns;
	*done += rate * (double)wall_ns;
	*offered += offered_rate * (double)wall_ns;
}

void
nb_result_summarize_job(const struct nb_result *result, struct nb_job_summary *out)
{
	*out = (struct nb_job_summary){.size = sizeof(*out),
		.digest = result->digest,
		.is_partial = result->measured.is_partial,
		.is_steady = result->is_steady};
	uint32_t phases = 0;
	double done = 0, offered = 0; /* rates multiplied by the times of their phases */
	for (size_t g = 0; g < result->group_count; g++) {
		if (result->groups[g].phase >= phases)
			phases = result->groups[g].phase + 1;
	}
	for (uint32_t phase = 0; phase < phases; phase++)
		summarize_phase(result, phase, out, &done, &offered);
	if (out->wall_ns > 0) {
		out->rate_ops_s = done / (double)out->wall_ns;
		out->offered_ops_s = offered / (double)out->wall_ns;
	}
}

const struct nb_histogram *
nb_result_histogram(const struct nb_result *result, int is_response)
{
	if (!result->is_job)
		return result->measured.service;
	return is_response && nb_histogram_count(result->response) > 0 ? result->response
								       : result->service;
}

static void
summarize_part(struct nb_summary_part *part, const struct job_result_group *group)
{
	const struct job_measurement *measured = &group->measured;
	struct nb_histogram *all;
	*part = (struct nb_summary_part){.ops = measured->ops,
		.rate_ops_s = result_rate((double)measured->ops, measured->wall_ns)};
	snprintf(part->name, sizeof(part->name), "%.23s", group->name);
	if (measured->ops > 0)
		part->ns_op = (double)measured->wall_ns * group->threads /
			(double)measured->ops;
	bool has_all = nb_histogram_new(&all) == NB_OK;
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		const struct job_kind *it = &measured->kinds[kind];
		if (op_is(kind, OP_NEW))
			part->inserts += it->ops;
		else if (kind < NB_OP_KINDS && op_kind_table[kind].flags == OP_READS)
			part->reads += it->ops;
		else if (op_is(kind, OP_WRITES) && !op_is(kind, OP_ITEMS))
			part->updates += it->ops;
		if (has_all && it->service != NULL)
			nb_histogram_merge(all, it->service);
	}
	if (!has_all)
		return;
	part->p50_ns = histogram_supported(all, 50);
	part->p99_ns = histogram_supported(all, 99);
	nb_histogram_delete(all);
}

void
result_summarize_job(const struct nb_result *result, struct nb_summary *out)
{
	struct nb_job_summary summary;
	nb_result_summarize_job(result, &summary);
	out->rate_ops_s = summary.rate_ops_s;
	/* Foreground operations only, like the rate. */
	out->ops = summary.ops;
	out->p50_ns = histogram_supported(result->service, 50);
	out->p99_ns = histogram_supported(result->service, 99);
	out->p999_ns = histogram_supported(result->service, 99.9);
	out->max_ns = nb_histogram_max(result->service);
	if (result->group_count < 2)
		return;
	for (size_t g = 0; g < result->group_count && g < NB_SUMMARY_PARTS; g++)
		summarize_part(&out->parts[out->part_count++], &result->groups[g]);
}
