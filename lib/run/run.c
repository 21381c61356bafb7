/* SPDX-License-Identifier: BSD-2-Clause */
/* Creation and deletion of a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/backoff.h"
#include "run/flight.h"
#include "run/run.h"
#include "run/sampler.h"
#include "workload/job.h"
#include "workload/verb.h"

enum { TELL_NS = 5 * 1000 * 1000 /* a quarter of the watcher's period */ };

static uint32_t
kinds_of(const struct nb_group *group)
{
	uint32_t kinds = 0;
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++)
		kinds |= (uint32_t)group_has(group, kind) << kind;
	return kinds;
}

/**
 * Turns of all threads in progress at once. With a smaller lag the threads wait for each other.
 */
enum { TURNS = 2 };

/**
 * Check the lag. With a rate, such waits would appear in response times as if the engine caused
 * them.
 */
static int
check_lag(const struct nb_job *job, const struct job_part *part)
{
	uint64_t least = (uint64_t)TURNS * OPS_STRATUM * part->plan.threads;
	bool has_waits = part->spec.has_waits;
	if (part->plan.schedule == NULL || part->plan.threads == 1 || !has_waits ||
		job->lag >= least)
		return NB_OK;
	return error_set(NB_ERR_USAGE,
		"%s: lag: with a rate, inserts and %u threads it has to be at least %llu, or operations would wait for inserts of other threads (--lag=%llu)",
		part->group->name, part->plan.threads, (unsigned long long)least,
		(unsigned long long)least);
}

/**
 * Check the lag with a depth. A thread waits for inserts that are at least `lag` operations
 * old, also its own.
 */
static int
check_depth_lag(const struct nb_job *job, const struct job_part *part)
{
	uint64_t least = (uint64_t)part->plan.depth * part->plan.threads + OPS_STRATUM;
	bool has_waits = part->spec.has_waits;
	if (part->plan.depth == 1 || !has_waits || job->lag >= least)
		return NB_OK;
	return error_set(NB_ERR_USAGE,
		"%s: lag: with inserts and depth %u it has to be at least %llu, or the depth would never be reached (--lag=%llu)",
		part->group->name, part->plan.depth, (unsigned long long)least,
		(unsigned long long)least);
}

/** Check the shard. Its threads do not see the inserts of other shards. */
static int
check_shard(const struct job_part *part)
{
	if (part->plan.threads == part->plan.of_all)
		return NB_OK;
	if (part->group->source == NB_SOURCE_MASSTREE)
		return error_set(NB_ERR_USAGE,
			"%s: shard: the threads of source masstree follow each other; omit shard",
			part->group->name);
	if (!part->spec.has_waits)
		return NB_OK;
	return error_set(NB_ERR_USAGE,
		"%s: shard: operations on inserted records would have to wait for inserts of the other shards; insert in a group of its own, or omit shard",
		part->group->name);
}

/** Number of shards. Each process executes the whole load. */
static uint32_t
shards_of(const struct nb_run *run, const struct nb_group *group)
{
	return group == run->job->load || run_all_shards(run) == 0 ? 1 : run_all_shards(run);
}

/** Threads of all groups of the run. Their tables stay until the writes are read back. */
static uint32_t
all_threads(const struct nb_run *run)
{
	uint32_t threads = 0;
	for (size_t g = 0; g < run->job->group_count; g++)
		threads += run->job->groups[g].threads * run->options.procs;
	return threads;
}

/**
 * Slots for the last writes of a thread: enough for all its records, unless the limit is lower.
 */
static uint32_t
own_places(const struct nb_run *run, const struct job_part *part)
{
	const struct job_plan *plan = &part->plan;
	uint64_t places = JOB_OWN_WRITES, wanted = run->keys.numbers, most;
	if (part == &run->loading || (!run->is_replay && !group_writes(run->job, part->group)))
		return JOB_OWN_WRITES;
	most = run->is_replay ? JOB_TRACE_WRITES / plan->threads
			      : JOB_OWN_MOST / all_threads(run);
	uint64_t strata = plan->count / OPS_STRATUM / plan->of_all + 1;
	if (run->is_replay)
		wanted = most; /* the keys of a trace are not known */
	else if (strata < wanted / OPS_STRATUM / part->spec.items_max)
		/* it writes to no more records */
		wanted = strata * OPS_STRATUM * part->spec.items_max;
	while (places < wanted && 2 * places <= most)
		places *= 2;
	return (uint32_t)places;
}

/** The name of the operations in failures; NULL: that of their kind. */
static const char *
action_of(const struct nb_run *run, const struct job_part *part)
{
	if (run->classic == NULL)
		return NULL;
	bool is_untimed = part == &run->loading && run->options.what == NB_JOB_RUN;
	return is_untimed ? "loading" : nb_verb_name(run->workload.verb);
}

/**
 * The depth of a group. The load before a run is untimed, so a server is loaded with many
 * requests in flight.
 */
static uint32_t
depth_of(const struct nb_run *run, const struct nb_group *group)
{
	enum { UNTIMED_DEPTH = 64 };
	const struct nb_engine *engine = &run->engine->table;
	bool is_untimed = group == run->job->load && run->options.what == NB_JOB_RUN &&
		!run->is_replay;
	return is_untimed && group->depth == 1 && group->latency == NB_LATENCY_EACH &&
			(engine->caps & NB_CAP_REMOTE) != 0 && engine->submit != NULL &&
			engine->reap != NULL &&
			run_request_bytes(run, group) <= FLIGHT_BYTES_MAX / UNTIMED_DEPTH
		? UNTIMED_DEPTH
		: group->depth;
}

/** The share of the group's operations to verify. 0 for the run applies to all groups. */
static double
verify_rate(const struct nb_run *run, const struct nb_group *group)
{
	double of_run = run->options.verify_rate, of_group = group->verify_rate;
	return of_run > 0 && of_group > of_run ? of_group : of_run;
}

/** Create the data that the workers of the group share. Needs the clock. */
static int
create_part(struct nb_run *run, struct job_part *part, const struct nb_group *group,
	uint32_t stream)
{
	const struct nb_job *job = run->job;
	const struct clock *clock = &run->clock;
	bool is_load = group == job->load;
	uint32_t threads = group->threads * (is_load ? 1 : run->options.procs);
	part->group = group;
	ops_spec_create(&part->spec, job, group, &run->keys, &run->sizes, stream,
		is_load ? 1 : (uint32_t)job->group_count);
	bool has_rate = group->arrivals != NB_ARRIVAL_CLOSED;
	if (has_rate) {
		int rc = schedule_create(&part->schedule, group);
		if (rc != NB_OK)
			return rc;
	}
	bool is_synthetic = (run->engine->table.caps & NB_CAP_SYNTHETIC) != 0;
	/* a trace that makes the database for another one is executed as fast as possible */
	bool has_times = run->is_replay && !is_load && !has_rate && run->options.speed > 0 &&
		stream + 1 == job->group_count;
	if (has_times && group->latency != NB_LATENCY_EACH)
		return error_set(NB_ERR_USAGE,
			"%s: latency: must be each with --speed, which sets when each operation is due; leave out --speed, or set --latency=each",
			group->name);
	part->is_foreground = !group->is_background;
	part->spec.end = run_count_of(job, group);
	part->plan = (struct job_plan){.engine = &run->engine->table,
		.clock = clock,
		.spec = &part->spec,
		.schedule = has_rate ? &part->schedule : NULL,
		.is_paced = has_rate || has_times,
		.kinds = kinds_of(group),
		.is_native_insert = group->insert_verb == NB_INSERT_NATIVE,
		.is_sparse = group->latency != NB_LATENCY_EACH,
		.verify_threshold = is_synthetic ? 0
						 : sample_threshold(verify_rate(run, group)),
		.stamp_threshold = group->latency > NB_LATENCY_BLOCK
			? sample_threshold(1.0 / group->latency)
			: 0,
		.action = action_of(run, part),
		.count = run_count_of(job, group),
		.warmup_count = group->warmup_count,
		.warm_ticks = clock_ticks(clock, group->warmup_ns),
		.conflict_ns = backoff_limit(run->options.op_timeout_ns),
		.tell_ticks = clock_ticks(clock, TELL_NS),
		.end_ticks = group->duration_ns > 0 ? clock_ticks(clock, group->duration_ns)
						    : UINT64_MAX,
		/*
		 * the counts of the threads then show which operations were done, even if not
		 * all
		 */
		.takes_turns = run->options.record_path != NULL ||
			run->options.steady.window_ns > 0,
		.has_rivals = run->options.procs == 1 && all_threads(run) > 1,
		.threads = threads,
		.before = is_load ? 0 : threads * run_own_shard(run),
		.of_all = threads * shards_of(run, group),
		.depth = depth_of(run, group),
		.batch_bytes = group->batch_bytes,
		.timeout_ticks = run->options.op_timeout_ns > 0
			? clock_ticks(clock, run->options.op_timeout_ns)
			: UINT64_MAX};
	part->plan.are_counters = kinds_have_counters(job) && !run->is_replay;
	part->plan.own_places = own_places(run, part);
	ops_spec_divide(&part->spec, part->plan.of_all);
	int rc = job_check_ranges(job, group, part->plan.of_all);
	if (rc != NB_OK)
		return error_prefix(rc, "%s", group->name);
	rc = check_shard(part);
	if (rc == NB_OK)
		rc = check_lag(job, part);
	return rc == NB_OK ? check_depth_lag(job, part) : rc;
}

/**
 * Whether other operations may have put a record that an insert of the group expects to be new.
 */
static bool
may_exist(const struct nb_job *job)
{
	bool has_upserts = false;
	for (size_t g = 0; g < job->group_count; g++)
		has_upserts |= group_has(&job->groups[g], NB_OP_UPSERT);
	return has_upserts && job->space > job->records;
}

/** Set whether records may be missing in the phase of each group. */
static void
allow_misses(struct nb_run *run)
{
	bool is_synthetic = (run->engine->table.caps & NB_CAP_SYNTHETIC) != 0;
	bool is_lenient = (run->options.flags & NB_RUN_ALLOW_MISSING) != 0 || is_synthetic;
	bool may_miss = is_lenient || run->classic != NULL;
	bool has_deletes = false;
	for (size_t g = 0; g < run->part_count; g++)
		has_deletes |= group_has(run->parts[g].group, NB_OP_DELETE) ||
			(kinds_verbs(run->job, run->parts[g].group) >> NB_STEP_DEL & 1) != 0;
	for (size_t g = 0; g < run->part_count; g++) {
		run->parts[g].plan.has_deletes = has_deletes;
		run->parts[g].plan.may_exist = may_exist(run->job);
		run->parts[g].plan.may_miss = may_miss || has_deletes;
		run->parts[g].plan.is_lenient = is_lenient;
	}
	run->loading.plan.may_miss = is_synthetic;
}

/**
 * Whether no two threads of the group write to the same key, and no other group of this or a
 * later phase writes to one of its keys.
 */
static bool
is_alone(const struct nb_run *run, const struct job_part *part)
{
	bool has_own_keys = part->spec.has_own_keys && run->keys.is_reversible;
	for (size_t g = 0; g < run->part_count; g++) {
		const struct job_part *other = &run->parts[g];
		if (other != part && other->group->phase >= part->group->phase)
			return false;
	}
	return run->is_replay || run->classic != NULL || has_own_keys;
}

/**
 * Link a part to the earlier part whose puts it visits. The number of these is not known yet.
 */
static void
link_again(struct nb_run *run, struct job_part *part)
{
	const struct nb_group *of = job_again_of(run->job, part->group);
	if (of == NULL)
		return;
	part->again_of = &run->parts[of - run->job->groups];
	part->again = (struct ops_again){.of = &part->again_of->spec};
	ops_spec_go_again(&part->spec, &part->again);
}

static int
create_parts(struct nb_run *run)
{
	const struct nb_job *job = run->job;
	if (run->classic == NULL)
		run->keys_hash = keyspace_hash(&run->keys);
	int rc = create_part(run, &run->loading, job->load, 0);
	run->parts = calloc(job->group_count + 1, sizeof(*run->parts));
	if (run->parts == NULL)
		return error_memory();
	uint64_t digest = ops_digest(&run->loading.spec, run->keys_hash);
	for (size_t g = 0; g < job->group_count && rc == NB_OK; g++) {
		run->part_count++; /* so that a part that fails is destroyed as well */
		rc = create_part(run, &run->parts[g], &job->groups[g], (uint32_t)g);
		if (rc == NB_OK)
			link_again(run, &run->parts[g]);
		if (run->options.what == NB_JOB_RUN)
			digest = splitmix64_mix(digest) ^
				ops_digest(&run->parts[g].spec, run->keys_hash);
	}
	run->digest = digest;
	if (run->has_writes && !run->is_replay && run->classic == NULL)
		run->measured_ratio = values_measured_ratio(&run->loading.spec.values,
			(size_t)sizes_mean(&run->sizes) - run->loading.spec.value_head);
	for (size_t g = 0; g < run->part_count && rc == NB_OK && run->is_replay; g++)
		rc = job_open_trace(run, &run->parts[g], &run->options.traces[g]);
	for (size_t g = 0; g < run->part_count && rc == NB_OK; g++)
		run->parts[g].plan.is_alone = is_alone(run, &run->parts[g]);
	if (rc == NB_OK)
		allow_misses(run);
	return rc;
}

/** Copy the structures, as far as both sides know them. Texts are borrowed. */
static int
take_options(struct nb_run *run, const struct nb_run_options *options)
{
	const struct nb_workload *workload = options->workload;
	run->options = (struct nb_run_options)NB_RUN_OPTIONS_INIT;
	memcpy(&run->options, options,
		options->size < sizeof(*options) ? options->size : sizeof(*options));
	run->job = run->options.job;
	run->is_replay = run->options.traces != NULL && run->options.what == NB_JOB_RUN;
	if (workload == NULL)
		return run->job != NULL
			? NB_OK
			: error_set(NB_ERR_USAGE, "a run needs a workload or a job");
	run->workload = (struct nb_workload)NB_WORKLOAD_INIT;
	memcpy(&run->workload, workload,
		workload->size < sizeof(*workload) ? workload->size : sizeof(*workload));
	run->options.workload = &run->workload;
	run->options.what = run->workload.verb == NB_VERB_PUT ? NB_JOB_LOAD : NB_JOB_RUN;
	int rc = verb_check(&run->workload);
	if (rc == NB_OK)
		rc = verb_job(&run->classic, &run->workload, run->options.threads);
	if (rc == NB_OK && run->options.latency != NULL)
		rc = job_value_set(
			job_keys_find("latency"), run->classic->load, run->options.latency);
	if (rc == NB_OK)
		run->classic->groups[0].latency = run->classic->load->latency;
	run->options.job = run->job = run->classic;
	if (rc != NB_OK)
		return rc;
	struct nb_group *groups[] = {run->classic->load, &run->classic->groups[0]};
	for (size_t i = 0; i < 2; i++) {
		/* data that the engine does not keep is loaded by single puts before a get */
		bool is_own = (groups[i] == run->classic->load) ==
			(run->options.what == NB_JOB_LOAD);
		groups[i]->depth = is_own ? run->options.depth : 1;
		groups[i]->batch_bytes = is_own ? run->options.batch_bytes : 0;
	}
	return NB_OK;
}

static int
create_memory(struct nb_run *run)
{
	int rc = nb_histogram_new(&run->measured.service);
	if (rc == NB_OK)
		rc = nb_histogram_new(&run->interval_now);
	if (rc == NB_OK)
		rc = nb_histogram_new(&run->interval_before);
	if (rc == NB_OK)
		rc = nb_histogram_new(&run->measured.hiccups);
	if (rc == NB_OK && run->options.checkpoint_every_ns > 0)
		rc = nb_histogram_new(&run->measured.checkpoints);
	run->hiccup = aligned_alloc(HISTOGRAM_ALIGN, sizeof(*run->hiccup));
	run->measured.owners = malloc(sizeof(*run->measured.owners));
	if (rc == NB_OK && (run->hiccup == NULL || run->measured.owners == NULL))
		rc = error_memory();
	if (run->measured.owners != NULL)
		*run->measured.owners = 1;
	return rc;
}

/** Set the names of the run in the marker and in messages, as a user would type them. */
static int
name_run(struct nb_run *run)
{
	bool is_load = run->options.what == NB_JOB_LOAD;
	run->action = is_load ? "load" : "run";
	run->mark.makes = run->is_replay ? "replay" : run->action;
	run->made_by = run->is_replay ? "replay --load=FILE" : "load --workload=NAME";
	if (run->classic != NULL) {
		run->action = nb_verb_name(run->workload.verb);
		run->mark.makes = "put";
		run->made_by = "--action=put";
	} else {
		if (!run->is_replay && run->keys.format != NB_KEY_FILE)
			run->mark.keys = run->keys_hash;
	}
	if (asprintf(&run->path, "%s/%s", run->options.path, run->engine->table.name) >= 0)
		return NB_OK;
	run->path = NULL;
	return error_memory();
}

int
nb_run_new(struct nb_run **out, const struct nb_run_options *options)
{
	static int (*const steps[])(struct nb_run * run) = {
		create_memory, run_check, create_parts, name_run, run_check_target};
	uint64_t begin_ns = clock_monotonic();
	struct nb_run *run = calloc(1, sizeof(*run));
	if (run == NULL)
		return error_memory();
	int rc = take_options(run, options);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && rc == NB_OK; i++)
		rc = steps[i](run);
	if (rc != NB_OK) {
		nb_run_delete(run);
		return rc;
	}
	run_add_phase(run, "start", begin_ns);
	*out = run;
	return NB_OK;
}

static void
destroy_part(struct job_part *part)
{
	struct job_measurement *measured = &part->measured;
	schedule_destroy(&part->schedule);
	feed_delete(part->feed);
	array_close(&part->array);
	trace_reader_close(part->reader);
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		nb_histogram_delete(measured->kinds[kind].service);
		nb_histogram_delete(measured->kinds[kind].response);
	}
	nb_histogram_delete(measured->lateness);
	free(measured->threads);
	free(part->again_before);
}

void
nb_run_delete(struct nb_run *run)
{
	if (run == NULL || run->left.is_left)
		return; /* a thread is inside the engine and may use all of it */
	run_dismiss_keeper(run, NB_OK);
	run_release_path(run);
	for (size_t g = 0; g < run->part_count; g++)
		destroy_part(&run->parts[g]);
	free(run->parts);
	destroy_part(&run->loading);
	sizes_destroy(&run->sizes);
	keyspace_destroy(&run->keys);
	if (run->engine != NULL)
		nb_options_delete(run->values, &run->engine->table);
	nb_engine_unload(run->engine);
	target_delete(run->target);
	target_spec_destroy(&run->target_spec);
	addresses_destroy(&run->servers);
	free(run->logs);
	free(run->client_log);
	engine_forget_placeholders(run->placeholders);
	measurement_destroy(&run->measured);
	sampler_delete(run->sampler);
	nb_histogram_delete(run->interval_now);
	nb_histogram_delete(run->interval_before);
	nb_job_delete(run->classic);
	free(run->hiccup);
	free(run->path);
	free(run);
}
