/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of a run before anything changes: that the job is consistent, that the engine has the
 * required verbs, threads and durability, and that keys and values fit. A wrong option or a
 * short key file must not cost an hour of loading, nor leave half a database.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "run/flight.h"
#include "run/run.h"
#include "run/steps.h"
#include "workload/job.h"

uint64_t
run_count_of(const struct nb_job *job, const struct nb_group *group)
{
	const struct nb_group *again_of = job_again_of(job, group);
	if (group == job->load)
		return job->records;
	if (again_of != NULL) { /* an upper limit, until the other group has ended */
		uint64_t most = run_count_of(job, again_of);
		return group->count > 0 ? group->count : most;
	}
	if (group->is_background)
		return UINT64_MAX;
	if (group->count > 0)
		return group->count;
	/* Without any limit: one operation per record. */
	return group->duration_ns > 0 ? UINT64_MAX : job->records;
}

/*
 * A run with a time limit may insert any number of records. 2^40 is enough: no engine reaches
 * it within a day.
 */
int
job_count_numbers(const struct nb_job *job, uint64_t *numbers)
{
	enum { MANY_BITS = 48, ENOUGH_BITS = 40, GRAPH_BITS = 62 /* as in tao.c */ };
	if (job->key_format == NB_KEY_GRAPH) {
		*numbers = UINT64_C(1) << GRAPH_BITS;
		return NB_OK;
	}
	*numbers = job->space > job->records ? job->space : job->records;
	for (size_t g = 0; g < job->group_count; g++) {
		const struct nb_group *group = &job->groups[g];
		uint64_t count = run_count_of(job, group), small = 8 * job->key_size;
		const struct source *source = source_of(group->source);
		uint64_t own = source->numbers != NULL ? source->numbers(job, group) : 0;
		if (own != UINT64_MAX && own > *numbers)
			*numbers = own;
		bool is_own = source->numbers != NULL && own != UINT64_MAX;
		if (group->weights[NB_OP_INSERT] == 0 || is_own)
			continue;
		if (count != UINT64_MAX && own == 0) {
			/* groups take turns at numbers, even if they insert different counts */
			*numbers += count * job->group_count;
			continue;
		}
		if (job->key_format == NB_KEY_FILE)
			return error_set(NB_ERR_USAGE,
				"%s: inserts with keys of a file need a count", group->name);
		bool is_small = job->key_format == NB_KEY_RAW && small < MANY_BITS;
		if (is_small && small < ENOUGH_BITS)
			return error_set(NB_ERR_USAGE,
				"%s: inserts with keys of less than %d bytes need a count: there are too few such keys to go on for any time",
				group->name, ENOUGH_BITS / 8);
		*numbers = UINT64_C(1) << (is_small ? small : MANY_BITS);
		return NB_OK;
	}
	*numbers = *numbers > 0 ? *numbers : 1;
	return NB_OK;
}

static int
lacks(const struct nb_engine *engine, const struct nb_group *group, const char *what)
{
	return error_set(
		NB_UNSUPPORTED, "%s: %s cannot do %s", group->name, engine->name, what);
}

int
run_check_verbs(
	const struct nb_engine *engine, const struct nb_job *job, const struct nb_group *group)
{
	if (group_has(group, NB_OP_SCAN) && !engine_has_scan(engine))
		return lacks(engine, group, "ordered scans");
	if (group_has(group, NB_OP_INSERT) && group->insert_verb == NB_INSERT_NATIVE &&
		engine->insert == NULL)
		return lacks(engine, group, "insert; use insert-verb=put");
	if (group_has(group, NB_OP_BATCH) && engine->batch == NULL)
		return lacks(engine, group, "batches");
	if (group_has(group, NB_OP_BATCH) && group->is_batch_atomic != 0 &&
		(engine->caps & NB_CAP_ATOMIC_BATCH) == 0)
		return lacks(engine, group, "atomic batches");
	if (group_has(group, NB_OP_MULTIGET) && engine->multi_get == NULL)
		return lacks(engine, group, "multi-gets");
	if ((group_has(group, NB_OP_TXN_READ) || group_has(group, NB_OP_TXN_WRITE)) &&
		(engine->begin == NULL || engine->commit == NULL || engine->abort == NULL))
		return lacks(engine, group, "transactions");
	if (group->depth > 1 && (engine->submit == NULL || engine->reap == NULL))
		return lacks(engine, group, "several requests in flight; use --depth=1");
	return steps_check(engine, job, group);
}

uint64_t
run_request_bytes(const struct nb_run *run, const struct nb_group *group)
{
	uint64_t records = 1;
	for (uint32_t k = KIND_ADD; k < NB_KINDS_MAX; k++) {
		const struct nb_kind *kind = kind_row(run->job, k);
		uint32_t own = kind != NULL && group_has(group, k) ? kind_records_max(kind) : 0;
		records = own > records ? own : records;
	}
	return records * (run->keys.key_size_max + run->sizes.max);
}

/** Refuse a kind that cannot be a request in flight. */
static int
refuse_kind(const struct nb_run *run, const struct nb_group *group, uint32_t kind)
{
	const char *name = kind_name(run->job, kind), *engine = run->engine->table.name;
	if (kind_is_steps(kind))
		return error_set(NB_UNSUPPORTED,
			"%s: depth: %s cannot do the steps of %s as one request (calls = %s); use --depth=1",
			group->name, engine, name, kind_calls_name(kind_row(run->job, kind)));
	return error_set(NB_ERR_USAGE,
		"%s: depth: a %s cannot be a request in flight; use --depth=1%s", group->name,
		name,
		kind == NB_OP_SCAN ? "" : ", or a kind of your own with steps ([kind NAME])");
}

/** Check that the operations can be requests in flight, with this depth and these batches. */
static int
check_depth(const struct nb_run *run, const struct nb_group *group)
{
	const char *name = group->name;
	uint64_t each = run_request_bytes(run, group), most = each * group->depth;
	if (group->depth == 1 && group->batch_bytes > 0)
		return error_set(NB_ERR_USAGE,
			"%s: batch-bytes: needs a depth above 1 (--depth=COUNT)", name);
	if (group->depth == 1)
		return NB_OK;
	if (run->is_replay)
		return error_set(NB_ERR_USAGE,
			"%s: depth: a replay does one operation after the other; omit --depth",
			name);
	if (group->latency != NB_LATENCY_EACH)
		return error_set(NB_ERR_USAGE,
			"%s: latency: must be each with a depth, because requests submitted together share a stamp; omit --latency",
			name);
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++)
		if (group_has(group, kind) &&
			flight_verb(&run->engine->table, run->job, group, kind) == FLIGHT_NONE)
			return refuse_kind(run, group, kind);
	if (group->batch_bytes > most)
		return error_set(NB_ERR_USAGE,
			"%s: batch-bytes: %llu bytes are never gathered, since %u requests of up to %llu bytes hold %llu",
			name, (unsigned long long)group->batch_bytes, group->depth,
			(unsigned long long)each, (unsigned long long)most);
	if (each > FLIGHT_BYTES_MAX / group->depth)
		return error_set(NB_ERR_USAGE,
			"%s: depth: %u requests of up to %llu bytes need more than %s for each thread; at most %llu are possible",
			name, group->depth, (unsigned long long)each,
			UNITS_BYTES(FLIGHT_BYTES_MAX),
			(unsigned long long)(FLIGHT_BYTES_MAX / each));
	return NB_OK;
}

/** The name of a disabled option whose help mentions several processes; NULL: none. */
static const char *
option_for_procs(const struct nb_run *run)
{
	const struct nb_option *option = run->engine->table.options;
	const struct nb_option_value *value = run->values;
	for (; option != NULL && option->name != NULL; option++, value++) {
		if (option->type == NB_OPT_BOOL && value->u64 == 0 && option->help != NULL &&
			strstr(option->help, "processes") != NULL)
			return option->name;
	}
	return NULL;
}

static int
check_procs(const struct nb_run *run)
{
	const struct nb_engine *engine = &run->engine->table;
	uint32_t procs = run->options.procs;
	if (procs == 1)
		return NB_OK;
	if (procs == 0 || procs > RUN_PROCS_MAX)
		return error_set(NB_ERR_USAGE, "procs: must be 1 to %d", RUN_PROCS_MAX);
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
			"procs: --procs does not apply to load or replay; use --threads");
	return NB_OK;
}

static bool
is_done_by(const struct nb_run *run, const struct nb_group *group)
{
	return (run->options.what == NB_JOB_LOAD) == (group == run->job->load);
}

/** Whether the run creates the database, so that it need not exist. */
static bool
makes_database(const struct nb_run *run)
{
	return run->options.what == NB_JOB_LOAD ||
		(run->is_replay ? run->options.makes_database != 0 : run->job->records == 0);
}

/**
 * The largest value. For a trace it is unknown, and the job's value is what the engine expects.
 */
static uint64_t
value_size_max(const struct nb_run *run)
{
	const struct nb_sizes *values = &run->job->values;
	if (!run->is_replay)
		return run->sizes.max;
	return values->kind == NB_SIZE_FIXED || values->max < values->min ? values->min
									  : values->max;
}

/** Describe the job as a similar workload, for the steps and the notes. */
static void
describe(struct nb_run *run)
{
	struct nb_workload *workload = &run->workload;
	run->options.threads = run->threads_max; /* of each process */
	if (run->classic != NULL)
		return;
	run->options.report_interval = 1;
	*workload = (struct nb_workload)NB_WORKLOAD_INIT;
	workload->verb = makes_database(run) ? NB_VERB_PUT
		: run->has_writes            ? NB_VERB_DELETE
					     : NB_VERB_GET;
	workload->keys_path = "";
	workload->count = run->job->records > 0 ? run->job->records : 1;
	workload->key_size = run->keys.key_size_max;
	workload->value_size = value_size_max(run);
	if (run->is_replay) /* the keys of a trace are not known */
		workload->key_size = 0;
	workload->value_ratio = run->job->value_ratio;
	workload->seed = run->job->seed;
}

/** For any value of a trace; a longer one is refused when it is read. */
static const struct nb_sizes sizes_of_traces = {
	.kind = NB_SIZE_UNIFORM, .min = 0, .max = FEED_VALUE_MAX};

/** Most threads that run at once in one process. */
static uint32_t
most_threads(const struct nb_run *run)
{
	const struct nb_job *job = run->job;
	uint32_t most = job->load->threads;
	if (run->options.what == NB_JOB_LOAD)
		return most;
	if ((run->engine->table.caps & NB_CAP_PERSISTENT) != 0)
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
check_options(const struct nb_run_options *options)
{
	if (options->path == NULL || options->path[0] == '\0')
		return error_set(NB_ERR_USAGE, "path: must not be empty");
	if (!(options->verify_rate >= 0 && options->verify_rate <= 1))
		return error_set(NB_ERR_USAGE, "verify rate: must be 0 to 1");
	if (options->clock > NB_CLOCK_MONOTONIC || options->settle > NB_RUN_SETTLE_COMPACT ||
		options->what > NB_JOB_RUN)
		return error_set(NB_ERR_USAGE, "clock, settle or what: unknown value");
	if (options->what == NB_JOB_RUN && options->job->group_count == 0)
		return error_set(NB_ERR_USAGE,
			"%s: the job has nothing to run, only a load; add a section with a mix",
			options->job->name);
	if (!(options->speed >= 0))
		return error_set(NB_ERR_USAGE, "speed: must not be below 0");
	if (options->record_path != NULL &&
		(options->traces != NULL ||
			(options->what == NB_JOB_RUN && options->job->group_count != 1)))
		return error_set(NB_ERR_USAGE,
			"record: only a run of one group that is not a replay can be recorded");
	if (options->what == NB_JOB_LOAD && options->job->shards > 1)
		return error_set(NB_ERR_USAGE,
			"shard: a load writes all records, for runs of all shards; omit shard");
	if (options->what == NB_JOB_LOAD && options->job->records == 0)
		return error_set(NB_ERR_USAGE, "%s: no records to load; set records",
			options->job->name);
	return NB_OK;
}

static int
check_threads(const struct nb_run *run)
{
	enum { THREADS_MAX = 1024 };
	uint32_t threads = run->options.threads;
	uint64_t count = run->workload.count;
	if (run->classic == NULL)
		return NB_OK;
	if (threads == 0 || threads > THREADS_MAX)
		return error_set(NB_ERR_USAGE, "threads: must be 1 to %d", THREADS_MAX);
	if (threads > count)
		return error_set(NB_ERR_USAGE, "threads: %u cannot share %llu operations",
			threads, (unsigned long long)count);
	return NB_OK;
}

/** Refuse actions on files that are not possible with a server's files. */
static int
check_servers(const struct nb_run *run)
{
	bool is_fresh = (run->options.flags & NB_RUN_FRESH) != 0;
	if (run->servers.count == 0)
		return NB_OK;
	if ((run->options.flags & NB_RUN_COLD) != 0)
		return error_set(NB_UNSUPPORTED,
			"cold: the data is in the memory of a server, which mininb cannot make cold; omit --cold");
	if (is_fresh && run->workload.verb == NB_VERB_PUT && run->engine->table.reset == NULL)
		return error_set(NB_UNSUPPORTED,
			"fresh: %s cannot remove the data of a server; empty the server, and omit --fresh",
			run->engine->table.name);
	return NB_OK;
}

static int
check_engine(struct nb_run *run)
{
	const struct nb_engine *engine = &run->engine->table;
	const struct nb_workload *workload = &run->workload;
	run->durability = run->options.durability == NB_DUR_AUTO
		? engine_auto_durability(engine, run->options.path)
		: run->options.durability;
	int rc = engine_check_durability(engine, run->durability);
	if (rc != NB_OK)
		return rc;
	if (run->options.threads > 1 && (engine->caps & NB_CAP_CONCURRENT) == 0)
		return error_set(NB_UNSUPPORTED,
			"threads: %s supports one thread only; its sessions cannot run in parallel",
			engine->name);
	if (engine->key_size_max != 0 && workload->key_size > engine->key_size_max)
		return error_set(NB_UNSUPPORTED, "key size: %s takes at most %llu bytes",
			engine->name, (unsigned long long)engine->key_size_max);
	if (engine->value_size_max != 0 && workload->value_size > engine->value_size_max)
		return error_set(NB_UNSUPPORTED, "value size: %s takes at most %llu bytes",
			engine->name, (unsigned long long)engine->value_size_max);
	return NB_OK;
}

/** Check the job of a replay. It needs no records, because the trace has its own. */
static int
check_replay(const struct nb_job *job)
{
	struct nb_job with_records = *job;
	for (size_t g = 0; g < job->group_count; g++)
		if (job->groups[g].key_range != NB_RANGE_SHARED ||
			job->groups[g].again[0] != '\0')
			return error_set(NB_ERR_USAGE,
				"%s: a replay goes to the keys of its trace; omit key-range and again",
				job->groups[g].name);
	with_records.records += job->records == 0;
	return nb_job_check(&with_records);
}

int
run_check(struct nb_run *run)
{
	const struct nb_job *job = run->job;
	uint64_t numbers = 0;
	int rc = check_threads(run);
	if (rc == NB_OK)
		rc = run->is_replay ? check_replay(job) : nb_job_check(job);
	if (rc == NB_OK)
		rc = check_options(&run->options);
	if (rc == NB_OK)
		rc = nb_engine_load(&run->engine, run->options.driver);
	if (rc == NB_OK)
		rc = nb_engine_configure(&run->values, run->engine, run->options.engine_options,
			run->options.engine_option_count);
	if (rc == NB_OK)
		rc = run_find_servers(run);
	if (rc == NB_OK)
		rc = job_count_numbers(job, &numbers);
	if (rc == NB_OK)
		rc = keyspace_create(&run->keys, job, numbers);
	if (rc == NB_OK)
		rc = sizes_create(
			&run->sizes, run->is_replay ? &sizes_of_traces : kinds_sizes(job));
	if (rc != NB_OK)
		return rc;
	run->threads_max = most_threads(run);
	run->has_writes = run->options.what == NB_JOB_LOAD || run->is_replay;
	for (size_t g = 0; g < job->group_count; g++)
		run->has_writes |= is_done_by(run, &job->groups[g]) &&
			group_writes(job, &job->groups[g]);
	describe(run);
	rc = check_engine(run);
	if (rc == NB_OK)
		rc = batch_read_check(run);
	if (rc == NB_OK)
		rc = check_servers(run);
	if (rc == NB_OK)
		rc = check_procs(run);
	if (rc == NB_OK && !run->is_replay &&
		(run->classic == NULL || is_done_by(run, job->load)))
		rc = run_check_verbs(&run->engine->table, job, job->load);
	if (rc == NB_OK && is_done_by(run, job->load))
		rc = check_depth(run, job->load);
	if (rc == NB_OK)
		rc = checkpoints_check(run);
	for (size_t g = 0; g < job->group_count && rc == NB_OK; g++) {
		if (is_done_by(run, &job->groups[g]) &&
			(!run->is_replay || job->groups[g].insert_verb == NB_INSERT_NATIVE))
			rc = run_check_verbs(&run->engine->table, job, &job->groups[g]);
		if (rc == NB_OK && is_done_by(run, &job->groups[g]))
			rc = check_depth(run, &job->groups[g]);
	}
	if (rc == NB_OK)
		rc = clock_create(&run->clock, run->options.clock);
	return rc;
}
