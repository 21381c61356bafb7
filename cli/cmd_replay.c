/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay: the operations of traces, on each engine of the list.
 *
 * A trace that loads and one that is then done are two groups of one job, in phases of
 * their own, so that an engine that keeps nothing between runs can do both, and the report
 * has them apart.
 */
#include <stdio.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "job.h"
#include "job_options.h"
#include "message.h"
#include "options.h"

enum { FORMAT_AUTO = 2 /* of --format: behind those of check */ };

/** By the choices of --key-bytes. */
static const uint32_t key_flags[] = {0, NB_TRACE_KEY_LITTLE, NB_TRACE_KEY_TEXT};

static struct nb_trace_options
trace_of(const struct options *options, const char *path)
{
	struct nb_trace_options trace = NB_TRACE_OPTIONS_INIT;
	trace.path = path;
	trace.format = options->format < FORMAT_AUTO ? NB_TRACE_AUTO
						     : (uint32_t)options->format - FORMAT_AUTO;
	trace.flags = key_flags[options->key_bytes] |
		(options->skips_bad ? NB_TRACE_SKIP_BAD : 0);
	trace.key_size = options->key_size;
	trace.value_size = options->value_size;
	return trace;
}

/** Whether a share of the mix was typed. */
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
 * Groups "loading" and "run", as many as there are traces. The mix is what becomes of keys
 * without a kind, which the loading inserts. The records of the job are how many the engine
 * is told to expect.
 */
static int
make_job(struct nb_job **out, const struct options *options)
{
	struct nb_job *job;
	int rc = nb_job_read(&job, NULL);
	if (rc < 0)
		return rc;
	job->groups[0].count = INT64_MAX; /* the trace's end is nearer */
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
execute(const struct options *options, nb_progress_fn progress, struct nb_results *results,
	struct nb_summary *summary)
{
	struct nb_trace_options traces[2];
	size_t count = 0;
	struct nb_job *job = NULL;
	if (options->load != NULL)
		traces[count++] = trace_of(options, options->load);
	if (options->trace != NULL)
		traces[count++] = trace_of(options, options->trace);
	int rc = make_job(&job, options);
	if (rc < 0)
		return message_last_failure(rc);
	if (options->speed > 0 && job->groups[count - 1].arrivals != NB_ARRIVAL_CLOSED) {
		nb_job_delete(job);
		return message_usage("--speed and --rate: operations are due at the times of "
				     "the trace, or at a rate; give one of them");
	}
	struct nb_job_options run = job_options_of(options, job, NB_JOB_RUN, progress);
	run.traces = traces;
	run.speed = options->speed;
	run.makes_database = options->load != NULL;
	int status = options->steady != NULL &&
			nb_steady_parse(&run.steady, options->steady) < 0
		? message_usage("--until-steady: %s", nb_error_text())
		: job_execute(options, &run, results, summary);
	nb_job_delete(job);
	return status;
}

int
cmd_replay(const struct options *options)
{
	if (options->load == NULL && options->trace == NULL)
		return message_usage("replay: a trace is missing (--trace=FILE, or --load=FILE "
				     "for one that makes the database)");
	if (options_were_given(options, "format") && options->format < FORMAT_AUTO)
		return message_usage("replay: --format=text and tap are for check; a trace is "
				     "auto, ycsb-text, ycsb-log, u64, keys, rocksdb, cache-csv "
				     "or mininb");
	return run_drivers(options,
		&(struct run_kind){.run = execute, .makes_data = options->load != NULL});
}
