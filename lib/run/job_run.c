/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a job is to do, checked before anything is touched: that the job makes sense, that
 * the engine has the verbs, the threads and the durability that it asks for, that keys and
 * values fit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "run/job.h"
#include "run/sampler.h"

enum { TELL_NS = 5 * 1000 * 1000 /* a quarter of how often it is looked */ };

static uint64_t
count_of(const struct nb_job *job, const struct nb_group *group)
{
	if (group == job->load)
		return job->records;
	if (group->is_background)
		return UINT64_MAX;
	if (group->count > 0)
		return group->count;
	/* Without any bound: once as many operations as records. */
	return group->duration_ns > 0 ? UINT64_MAX : job->records;
}

/*
 * A run bound by time may insert any number: 2^40 records, and no engine has got there
 * within a day.
 */
int
job_count_numbers(const struct nb_job *job, uint64_t *numbers)
{
	enum { MANY_BITS = 48, ENOUGH_BITS = 40 };
	*numbers = job->space > job->records ? job->space : job->records;
	for (size_t g = 0; g < job->group_count; g++) {
		const struct nb_group *group = &job->groups[g];
		uint64_t count = count_of(job, group), small = 8 * job->key_size;
		if (group->weights[NB_OP_INSERT] == 0)
			continue;
		if (count != UINT64_MAX) {
			/* groups take turns at numbers, whether they insert as many or not */
			*numbers += count * job->group_count;
			continue;
		}
		if (job->key_format == NB_KEY_FILE)
			return error_set(NB_ERR_USAGE,
				"%s: inserts with keys of a file need a count", group->name);
		bool is_small = job->key_format == NB_KEY_RAW && small < MANY_BITS;
		if (is_small && small < ENOUGH_BITS)
			return error_set(NB_ERR_USAGE,
				"%s: inserts with keys of less than %d bytes need a count, as "
				"there are not enough such keys to go on for any time",
				group->name, ENOUGH_BITS / 8);
		*numbers = UINT64_C(1) << (is_small ? small : MANY_BITS);
		return NB_OK;
	}
	*numbers = *numbers > 0 ? *numbers : 1;
	return NB_OK;
}

static bool
has_kind(const struct nb_group *group, uint32_t kind)
{
	return group->weights[kind] > 0;
}

static int
lacks(const struct nb_engine *engine, const struct nb_group *group, const char *what)
{
	return error_set(
		NB_UNSUPPORTED, "%s: %s cannot do %s", group->name, engine->name, what);
}

/** The verbs that a group needs beyond get, put and delete. */
static int
check_verbs(const struct nb_engine *engine, const struct nb_group *group)
{
	if (has_kind(group, NB_OP_SCAN) &&
		(engine->scan_open == NULL || (engine->caps & NB_CAP_ORDERED) == 0))
		return lacks(engine, group, "ordered scans");
	if (has_kind(group, NB_OP_BATCH) && engine->batch == NULL)
		return lacks(engine, group, "batches");
	if (has_kind(group, NB_OP_MULTIGET) && engine->multi_get == NULL)
		return lacks(engine, group, "multi-gets");
	if ((has_kind(group, NB_OP_TXN_READ) || has_kind(group, NB_OP_TXN_WRITE)) &&
		(engine->begin == NULL || engine->commit == NULL || engine->abort == NULL))
		return lacks(engine, group, "transactions");
	return NB_OK;
}

/** An option that is off, and says that it is for several processes; NULL if there is none. */
static const char *
option_for_procs(const struct nb_job_run *run)
{
	const struct nb_option *option = run->base.engine->table.options;
	const struct nb_option_value *value = run->base.values;
	for (; option != NULL && option->name != NULL; option++, value++) {
		if (option->type == NB_OPT_BOOL && value->u64 == 0 && option->help != NULL &&
			strstr(option->help, "processes") != NULL)
			return option->name;
	}
	return NULL;
}

static int
check_procs(const struct nb_job_run *run)
{
	const struct nb_engine *engine = &run->base.engine->table;
	uint32_t procs = run->options.procs;
	if (procs == 1)
		return NB_OK;
	if (procs == 0 || procs > 256)
		return error_set(NB_ERR_USAGE, "procs: must be 1 to 256");
	if ((engine->caps & NB_CAP_MULTI_PROCESS) == 0) {
		const char *option = option_for_procs(run);
		return error_set(NB_UNSUPPORTED,
			"procs: %s lets one process at a time have a database open%s%s%s",
			engine->name, option != NULL ? "; -o " : "",
			option != NULL ? option : "",
			option != NULL ? "=yes may allow several" : "");
	}
	if (run->options.what == NB_JOB_LOAD || run->is_replay)
		return error_set(NB_ERR_USAGE,
			"procs: a loading or a trace is done by one process; --threads it is");
	return NB_OK;
}

static bool
is_done_by(const struct nb_job_run *run, const struct nb_group *group)
{
	return (run->options.what == NB_JOB_LOAD) == (group == run->job->load);
}

static bool
writes(const struct nb_group *group)
{
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		if (has_kind(group, kind) && (ops_is_write(kind) || kind == NB_OP_DELETE))
			return true;
	}
	return false;
}

/** Whether there need not be a database: nothing has loaded what this makes. */
static bool
makes_database(const struct nb_job_run *run)
{
	return run->options.what == NB_JOB_LOAD ||
		(run->is_replay ? run->options.makes_database != 0 : run->job->records == 0);
}

/** Of a trace nobody knows; the job's own is what the engine is told to expect. */
static uint64_t
value_size_max(const struct nb_job_run *run)
{
	const struct nb_sizes *values = &run->job->values;
	if (!run->is_replay)
		return run->sizes.max;
	return values->kind == NB_SIZE_FIXED || values->max < values->min ? values->min
									  : values->max;
}

/** What the base's checks, steps and notes look at: a workload that is like this job. */
static void
describe_base(struct nb_job_run *run)
{
	struct nb_workload *workload = &run->base.workload;
	*workload = (struct nb_workload)NB_WORKLOAD_INIT;
	workload->verb = makes_database(run) ? NB_VERB_PUT
		: run->has_writes            ? NB_VERB_DELETE
					     : NB_VERB_GET;
	workload->keys_path = "";
	workload->count = run->job->records > 0 ? run->job->records : 1;
	workload->key_size = run->keys.key_size_max;
	workload->value_size = value_size_max(run);
	if (run->is_replay) /* nothing is known of a trace */
		workload->key_size = 0;
	workload->value_ratio = run->job->value_ratio;
	workload->seed = run->job->seed;
}

static void
describe_options(struct nb_job_run *run)
{
	const struct nb_job_options *from = &run->options;
	run->base.options = (struct nb_run_options){.size = sizeof(struct nb_run_options),
		.workload = &run->base.workload,
		.driver = from->driver,
		.path = from->path,
		.engine_options = from->engine_options,
		.engine_option_count = from->engine_option_count,
		.threads = run->threads_max, /* of each process */
		.durability = from->durability,
		.clock = from->clock,
		.settle = from->settle,
		.flags = from->flags,
		.cache_bytes = from->cache_bytes,
		.verify_rate = from->verify_rate,
		.report_interval = 1,
		.progress = from->progress,
		.progress_arg = from->progress_arg,
		.sample_ns = from->sample_ns,
		.op_timeout_ns = from->op_timeout_ns,
		.call_timeout_ns = from->call_timeout_ns};
}

/** Of any value of a trace; what is longer is refused when it comes. */
static const struct nb_sizes sizes_of_traces = {
	.kind = NB_SIZE_UNIFORM, .min = 0, .max = FEED_VALUE_MAX};

/** Most threads that run at once in a process. */
static uint32_t
most_threads(const struct nb_job_run *run)
{
	const struct nb_job *job = run->job;
	uint32_t most = job->load->threads;
	if (run->options.what == NB_JOB_LOAD)
		return most;
	if ((run->base.engine->table.caps & NB_CAP_PERSISTENT) != 0)
		most = 1;
	for (size_t g = 0; g < job->group_count; g++) {
		uint32_t sum = 0;
		for (size_t h = 0; h < job->group_count; h++) {
			if (job->groups[h].phase == job->groups[g].phase)
				sum += job->groups[h].threads;
		}
		most = sum > most ? sum : most;
	}
	return most;
}

static int
check_options(const struct nb_job_options *options)
{
	if (options->path == NULL || options->path[0] == '\0')
		return error_set(NB_ERR_USAGE, "path: must not be empty");
	if (!(options->verify_rate >= 0 && options->verify_rate <= 1))
		return error_set(NB_ERR_USAGE, "verify rate: must be 0 to 1");
	if (options->clock > NB_CLOCK_MONOTONIC || options->settle > NB_RUN_SETTLE_COMPACT ||
		options->what > NB_JOB_RUN)
		return error_set(NB_ERR_USAGE, "clock, settle or what: no such value");
	if (options->what == NB_JOB_RUN && options->job->group_count == 0)
		return error_set(NB_ERR_USAGE,
			"%s: there is nothing to run, only a loading; add a section with a mix",
			options->job->name);
	if (!(options->speed >= 0))
		return error_set(NB_ERR_USAGE, "speed: must not be below 0");
	if (options->record_path != NULL &&
		(options->traces != NULL ||
			(options->what == NB_JOB_RUN && options->job->group_count != 1)))
		return error_set(NB_ERR_USAGE,
			"record: only a run of one group, which is no replay, can be recorded");
	if (options->what == NB_JOB_LOAD && options->job->records == 0)
		return error_set(NB_ERR_USAGE, "%s: there are no records to load; set records",
			options->job->name);
	return NB_OK;
}

/** Its groups are as any, but need no records: those of the trace. */
static int
check_replay(const struct nb_job *job)
{
	struct nb_job with_records = *job;
	with_records.records += job->records == 0;
	return nb_job_check(&with_records);
}

static int
check_all(struct nb_job_run *run)
{
	const struct nb_job *job = run->job;
	uint64_t numbers = 0;
	int rc = run->is_replay ? check_replay(job) : nb_job_check(job);
	if (rc == NB_OK)
		rc = check_options(&run->options);
	if (rc == NB_OK)
		rc = nb_engine_load(&run->base.engine, run->options.driver);
	if (rc == NB_OK)
		rc = nb_engine_configure(&run->base.values, run->base.engine,
			run->options.engine_options, run->options.engine_option_count);
	if (rc == NB_OK)
		rc = job_count_numbers(job, &numbers);
	if (rc == NB_OK)
		rc = keyspace_create(&run->keys, job, numbers);
	run->has_keys = rc == NB_OK;
	if (rc == NB_OK)
		rc = sizes_create(
			&run->sizes, run->is_replay ? &sizes_of_traces : &job->values);
	run->has_sizes = run->has_keys && rc == NB_OK;
	if (rc != NB_OK)
		return rc;
	run->threads_max = most_threads(run);
	run->has_writes = run->options.what == NB_JOB_LOAD || run->is_replay;
	for (size_t g = 0; g < job->group_count; g++)
		run->has_writes |= is_done_by(run, &job->groups[g]) && writes(&job->groups[g]);
	describe_base(run);
	describe_options(run);
	rc = run_check_engine(&run->base);
	if (rc == NB_OK)
		rc = check_procs(run);
	for (size_t g = 0; g < job->group_count && rc == NB_OK; g++) {
		if (is_done_by(run, &job->groups[g]) && !run->is_replay)
			rc = check_verbs(&run->base.engine->table, &job->groups[g]);
	}
	if (rc == NB_OK)
		rc = clock_create(&run->base.clock, run->options.clock);
	return rc;
}

static uint32_t
kinds_of(const struct nb_group *group)
{
	uint32_t kinds = 0;
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++)
		kinds |= (uint32_t)has_kind(group, kind) << kind;
	return kinds;
}

/** Turns of all threads that are under way at a time: a lag below makes them wait in step. */
enum { TURNS = 2 };

/** With a rate such waits would stand in response times, as if they were the engine's. */
static int
check_lag(const struct nb_job *job, const struct job_part *part)
{
	uint64_t least = (uint64_t)TURNS * OPS_STRATUM * part->plan.threads;
	bool has_waits = ops_needs(&part->spec, UINT64_MAX / OPS_STRATUM) > 0;
	if (part->plan.schedule == NULL || part->plan.threads == 1 || !has_waits ||
		job->lag >= least)
		return NB_OK;
	return error_set(NB_ERR_USAGE,
		"%s: lag: with a rate, inserts and %u threads it has to be at least %llu, or "
		"operations would wait for inserts of other threads (--lag=%llu)",
		part->group->name, part->plan.threads, (unsigned long long)least,
		(unsigned long long)least);
}

/** Threads of all groups of the run, whose tables are kept until they are read back. */
static uint32_t
all_threads(const struct nb_job_run *run)
{
	uint32_t threads = 0;
	for (size_t g = 0; g < run->job->group_count; g++)
		threads += run->job->groups[g].threads * run->options.procs;
	return threads;
}

/** Places for the last writes of a thread: for all its records, if the bound allows it. */
static uint32_t
own_places(const struct nb_job_run *run, const struct job_part *part)
{
	const struct job_plan *plan = &part->plan;
	uint64_t places = JOB_OWN_WRITES, wanted = run->keys.numbers, most;
	if (part == &run->loading || (!run->is_replay && !writes(part->group)))
		return JOB_OWN_WRITES;
	most = run->is_replay ? JOB_TRACE_WRITES / plan->threads
			      : JOB_OWN_MOST / all_threads(run);
	uint64_t strata = plan->count / OPS_STRATUM / plan->threads + 1;
	if (run->is_replay)
		wanted = most; /* which keys it has is not known */
	else if (strata < wanted / OPS_STRATUM / part->spec.items_max)
		wanted = strata * OPS_STRATUM * part->spec.items_max; /* it writes to no more */
	while (places < wanted && 2 * places <= most)
		places *= 2;
	return (uint32_t)places;
}

/** All that workers of the group share; needs the clock. */
static int
create_part(struct nb_job_run *run, struct job_part *part, const struct nb_group *group,
	uint32_t stream)
{
	const struct nb_job *job = run->job;
	const struct clock *clock = &run->base.clock;
	bool is_load = group == job->load;
	part->group = group;
	ops_spec_create(&part->spec, job, group, &run->keys, &run->sizes, stream,
		is_load ? 1 : (uint32_t)job->group_count);
	bool has_rate = group->arrivals != NB_ARRIVAL_CLOSED;
	if (has_rate) {
		int rc = schedule_create(&part->schedule, group);
		if (rc != NB_OK)
			return rc;
	}
	bool is_synthetic = (run->base.engine->table.caps & NB_CAP_SYNTHETIC) != 0;
	/* a trace that makes the database for another is done as fast as it goes */
	bool has_times = run->is_replay && !is_load && !has_rate && run->options.speed > 0 &&
		stream + 1 == job->group_count;
	part->is_foreground = !group->is_background;
	part->spec.end = count_of(job, group);
	part->plan = (struct job_plan){.engine = &run->base.engine->table,
		.clock = clock,
		.spec = &part->spec,
		.schedule = has_rate ? &part->schedule : NULL,
		.is_paced = has_rate || has_times,
		.kinds = kinds_of(group),
		.verify_threshold = is_synthetic ? 0
						 : sample_threshold(run->options.verify_rate),
		.count = count_of(job, group),
		.warmup_count = group->warmup_count,
		.warm_ticks = clock_ticks(clock, group->warmup_ns),
		.tell_ticks = clock_ticks(clock, TELL_NS),
		.end_ticks = group->duration_ns > 0 ? clock_ticks(clock, group->duration_ns)
						    : UINT64_MAX,
		.threads = group->threads * (is_load ? 1 : run->options.procs)};
	part->plan.own_places = own_places(run, part);
	return check_lag(job, part);
}

/** Whether records may be missing in the phase of that group. */
static void
allow_misses(struct nb_job_run *run)
{
	bool may_miss = (run->options.flags & NB_RUN_ALLOW_MISSING) != 0;
	bool is_synthetic = (run->base.engine->table.caps & NB_CAP_SYNTHETIC) != 0;
	bool has_deletes = false;
	for (size_t g = 0; g < run->part_count; g++)
		has_deletes |= has_kind(run->parts[g].group, NB_OP_DELETE);
	for (size_t g = 0; g < run->part_count; g++) {
		run->parts[g].plan.has_deletes = has_deletes;
		run->parts[g].plan.may_miss = may_miss || has_deletes || is_synthetic;
	}
	run->loading.plan.may_miss = is_synthetic;
}

/** Whether keys of the group's trace are written to by no other group beside or after it. */
static bool
is_alone(const struct nb_job_run *run, const struct job_part *part)
{
	for (size_t g = 0; g < run->part_count; g++) {
		const struct job_part *other = &run->parts[g];
		if (other != part && other->group->phase >= part->group->phase)
			return false;
	}
	return run->is_replay;
}

static int
create_parts(struct nb_job_run *run)
{
	const struct nb_job *job = run->job;
	run->keys_hash = keyspace_hash(&run->keys);
	int rc = create_part(run, &run->loading, job->load, 0);
	run->parts = calloc(job->group_count + 1, sizeof(*run->parts));
	if (run->parts == NULL)
		return error_set(NB_FAIL, "out of memory");
	uint64_t digest = ops_digest(&run->loading.spec, run->keys_hash);
	for (size_t g = 0; g < job->group_count && rc == NB_OK; g++) {
		run->part_count++; /* what there is of one that fails is destroyed as well */
		rc = create_part(run, &run->parts[g], &job->groups[g], (uint32_t)g);
		if (run->options.what == NB_JOB_RUN)
			digest = splitmix64_mix(digest) ^
				ops_digest(&run->parts[g].spec, run->keys_hash);
	}
	run->digest = run->base.digest = digest;
	if (run->has_writes && !run->is_replay)
		run->measured_ratio = values_measured_ratio(
			&run->loading.spec.values, (size_t)sizes_mean(&run->sizes));
	for (size_t g = 0; g < run->part_count && rc == NB_OK && run->is_replay; g++)
		rc = job_open_trace(run, &run->parts[g], &run->options.traces[g]);
	for (size_t g = 0; g < run->part_count && rc == NB_OK; g++)
		run->parts[g].plan.is_alone = is_alone(run, &run->parts[g]);
	if (rc == NB_OK)
		allow_misses(run);
	return rc;
}

int
nb_job_run_new(struct nb_job_run **out, const struct nb_job_options *options)
{
	uint64_t begin_ns = clock_monotonic();
	if (options->job == NULL)
		return error_set(NB_ERR_USAGE, "a run needs a job");
	struct nb_job_run *run = calloc(1, sizeof(*run));
	if (run == NULL)
		return error_set(NB_FAIL, "out of memory");
	run->options = (struct nb_job_options)NB_JOB_OPTIONS_INIT;
	memcpy(&run->options, options,
		options->size < sizeof(*options) ? options->size : sizeof(*options));
	run->job = options->job;
	run->is_replay = options->traces != NULL && run->options.what == NB_JOB_RUN;
	int rc = nb_histogram_new(&run->base.measured.service);
	if (rc == NB_OK)
		rc = nb_histogram_new(&run->interval_now);
	if (rc == NB_OK)
		rc = nb_histogram_new(&run->interval_before);
	if (rc == NB_OK)
		rc = nb_histogram_new(&run->hiccups);
	run->hiccup = aligned_alloc(HISTOGRAM_ALIGN, sizeof(*run->hiccup));
	if (rc == NB_OK && run->hiccup == NULL)
		rc = error_set(NB_FAIL, "out of memory");
	if (rc == NB_OK)
		rc = check_all(run);
	if (rc == NB_OK)
		rc = create_parts(run);
	if (rc == NB_OK &&
		asprintf(&run->base.path, "%s/%s", run->options.path,
			run->base.engine->table.name) < 0) {
		run->base.path = NULL;
		rc = error_set(NB_FAIL, "out of memory");
	}
	/* with what else was set, which is said again there as it was here */
	run->base.loading.makes = run->is_replay   ? "replay"
		: run->options.what == NB_JOB_LOAD ? "load"
						   : "run";
	if (!run->is_replay && run->keys.format != NB_KEY_FILE)
		run->base.loading.keys = run->keys_hash;
	run->base.made_by = run->is_replay ? "replay --load=FILE" : "load --workload=NAME";
	if (rc != NB_OK) {
		nb_job_run_delete(run);
		return rc;
	}
	run_add_phase(&run->base, "start", begin_ns);
	*out = run;
	return NB_OK;
}

int
nb_steady_parse(struct nb_steady *out, const char *text)
{
	return steady_parse(text, &out->window_ns, &out->slope, &out->band);
}

static void
destroy_part(struct job_part *part)
{
	struct job_measurement *measured = &part->measured;
	schedule_destroy(&part->schedule);
	feed_delete(part->feed);
	trace_reader_close(part->reader);
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		nb_histogram_delete(measured->kinds[kind].service);
		nb_histogram_delete(measured->kinds[kind].response);
	}
	nb_histogram_delete(measured->lateness);
	free(measured->threads);
}

void
nb_job_run_delete(struct nb_job_run *run)
{
	if (run == NULL || run->base.left.is_left)
		return; /* a thread is within the engine, and may use any of it */
	run_dismiss_keeper(&run->base, NB_OK);
	run_release_path(&run->base);
	counters_destroy(&run->base.told);
	for (size_t g = 0; g < run->part_count; g++)
		destroy_part(&run->parts[g]);
	free(run->parts);
	destroy_part(&run->loading);
	if (run->has_sizes)
		sizes_destroy(&run->sizes);
	if (run->has_keys)
		keyspace_destroy(&run->keys);
	if (run->base.engine != NULL)
		nb_options_delete(run->base.values, &run->base.engine->table);
	nb_engine_unload(run->base.engine);
	counters_destroy(&run->base.measured.counters);
	nb_histogram_delete(run->base.measured.service);
	series_destroy(&run->base.measured.series);
	sampler_delete(run->base.sampler);
	nb_histogram_delete(run->interval_now);
	nb_histogram_delete(run->interval_before);
	nb_histogram_delete(run->hiccups);
	free(run->hiccup);
	free(run->base.path);
	free(run);
}
