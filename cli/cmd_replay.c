/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay: executes the operations of traces on each engine of the list.
 *
 * The loading trace and the measured trace are two groups of one job, in two phases. So an
 * engine that stores nothing between runs can execute both, and the report lists them
 * separately.
 */
#include <stdio.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "message.h"

enum { FORMAT_AUTO = 2 /* index in --format, after the choices of check */ };

/** In the order of --key-bytes' choices. */
static const uint32_t key_flags[] = {0, NB_TRACE_KEY_LITTLE, NB_TRACE_KEY_TEXT};

struct nb_trace_options
trace_options_of(const struct options *options, const char *path, uint32_t format)
{
	struct nb_trace_options trace = NB_TRACE_OPTIONS_INIT;
	trace.path = path;
	trace.format = format;
	trace.flags = key_flags[options->key_bytes] |
		(options->skips_bad ? NB_TRACE_SKIP_BAD : 0) |
		(options->is_array ? NB_TRACE_ARRAY : 0);
	trace.key_size = options->key_size;
	trace.value_size = options->value_size;
	return trace;
}

/** Whether the user gave a share of the mix. */
static bool
has_mix(const struct options *options)
{
	for (size_t i = 0; i < options->job_setting_count; i++) {
		const char *setting = options->job_settings[i];
		for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
			size_t length = strlen(nb_op_name(kind));
			if (strncmp(setting, nb_op_name(kind), length) == 0 &&
				setting[length] == '=')
				return true;
		}
	}
	return false;
}

static void
be_loading(struct nb_group *group)
{
	snprintf(group->name, sizeof(group->name), "loading");
	memset(group->weights, 0, sizeof(group->weights));
	group->weights[NB_OP_INSERT] = 1;
}

/**
 * Makes the groups "loading" and "run", one for each trace. The mix gives kinds to bare keys;
 * the loading inserts them. The number of records of the job is the expected number that the
 * engine is given.
 */
static int
make_job(struct nb_job **out, const struct options *options)
{
	struct nb_job *job;
	int rc = nb_job_read(&job, NULL);
	if (rc < 0)
		return rc;
	job->groups[0].count = INT64_MAX; /* the trace ends before */
	if (!has_mix(options))
		job->groups[0].weights[NB_OP_READ] = 1;
	if (options->load != NULL && options->trace != NULL) {
		snprintf(job->groups[0].name, sizeof(job->groups[0].name), "loading");
		rc = nb_job_add_group(job, "run");
	}
	if (rc == NB_OK)
		rc = job_options_set(job, options);
	if (rc == NB_OK && options->load != NULL)
		be_loading(&job->groups[0]);
	if (rc != NB_OK)
		nb_job_delete(job);
	else
		*out = job;
	return rc;
}

static int
execute(const struct options *options, const struct run_sink *sink)
{
	struct nb_trace_options traces[2];
	struct nb_run_options run;
	struct nb_job *job = NULL;
	size_t count = 0;
	uint32_t format = options->format < FORMAT_AUTO
		? NB_TRACE_AUTO
		: (uint32_t)options->format - FORMAT_AUTO;
	if (options->load != NULL)
		traces[count++] = trace_options_of(options, options->load, format);
	if (options->trace != NULL)
		traces[count++] = trace_options_of(options, options->trace, format);
	int status = run_options_of(&run, options, sink);
	if (status == STATUS_DONE)
		status = message_last_failure(make_job(&job, options));
	if (status != STATUS_DONE)
		return status;
	run.job = job;
	run.traces = traces;
	run.speed = options->speed;
	run.makes_database = options->load != NULL;
	struct nb_irqs *irqs = NULL;
	status = options->speed > 0 && job->groups[count - 1].arrivals != NB_ARRIVAL_CLOSED
		? message_usage(
			  "use only one of --speed and --rate: operations are due at the times of the trace, or at a rate")
		: irqs_begin_run(&irqs, options, &run);
	if (status == STATUS_DONE)
		status = irqs_end(irqs, run_one(options, &run, sink));
	nb_job_delete(job);
	return status;
}

static int
do_replay(const struct options *options)
{
	if (options->load == NULL && options->trace == NULL)
		return message_usage(
			"replay: a trace is missing (--trace=FILE, or --load=FILE for a trace that makes the database)");
	if (options_were_given(options, "format") && options->format < FORMAT_AUTO)
		return message_usage(
			"replay: --format=text and tap are for check; a trace is auto, ycsb-text, ycsb-log, u64, keys, rocksdb, cache-csv or mininb");
	return run_drivers(options, execute, options->load != NULL);
}

const struct cmd cmd_replay = {
	.name = "replay",
	.run = do_replay,
	.help = "replay a trace, at full speed or at its own times",
	.detail = "Replays first the trace of --load, which makes the database, then the trace "
		  "of --trace; each is optional. The operations of a key keep their order for "
		  "any number of threads. See TRACES.",
	.shares = SHARES_WORKLOAD SHARES_ENGINE
	"force load trace speed array key-bytes skip-bad fresh interval checkpoint-every until-steady settle allow-missing report-interval format",
	.has_workload = true,
	.measures = true,
	.is_repeatable = true,
};
