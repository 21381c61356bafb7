/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * put, get, delete: one verb over the keys of the file, and the report.
 *
 * A run that failed is reported as far as it came, and its failure said after
 * that: what an engine did before its disk was full is worth reading. The
 * report goes to stdout alone, so that a redirection holds the result and
 * nothing else.
 */
#include <assert.h>
#include <stdio.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "progress.h"

/* --durability=auto|none|process|periodic|commit, --settle and --clock count from 0. */
static_assert(NB_DUR_NONE == 0 && NB_DUR_COMMIT == 3, "the order of --durability's choices");
static_assert(NB_RUN_SETTLE_COMPACT == 2, "the order of --settle's choices");
static_assert(NB_CLOCK_MONOTONIC == 2, "the order of --clock's choices");

static struct nb_workload
workload_of(const struct options *options, uint32_t verb)
{
	struct nb_workload workload = NB_WORKLOAD_INIT;
	workload.verb = verb;
	workload.keys_path = options->keys;
	workload.count = options->count;
	workload.key_size = options->key_size;
	workload.value_size = options->value_size;
	workload.value_ratio = options->value_ratio;
	workload.seed = options->seed;
	return workload;
}

static struct nb_run_options
run_options_of(const struct options *options, const struct nb_workload *workload)
{
	struct nb_run_options run = NB_RUN_OPTIONS_INIT;
	run.workload = workload;
	run.driver = options->driver;
	run.path = options->path;
	run.engine_options = options->engine_options;
	run.engine_option_count = options->engine_option_count;
	run.threads = (uint32_t)options->threads;
	run.durability = options->durability == 0 ? NB_DUR_AUTO
						  : (uint32_t)options->durability - 1;
	run.clock = (uint32_t)options->clock;
	run.settle = (uint32_t)options->settle;
	run.flags = (options->is_pinned ? NB_RUN_PIN : 0) |
		(options->allows_missing ? NB_RUN_ALLOW_MISSING : 0) |
		(options->is_fresh ? NB_RUN_FRESH : 0) | (options->is_cold ? NB_RUN_COLD : 0) |
		(options->has_hardware ? NB_RUN_HARDWARE : 0) |
		(options->is_forced ? NB_RUN_FORCE : 0);
	run.cache_bytes = options->cache_bytes;
	run.verify_rate = options->verify_rate;
	run.sample_ns = run_sample_ns(options);
	run.op_timeout_ns = options->op_timeout_ns;
	if (options_were_given(options, "op-timeout"))
		run.call_timeout_ns = options->op_timeout_ns;
	run.report_interval = options->report_interval;
	run.progress = progress_function(!options->is_quiet && options->report_interval > 0);
	return run;
}

/** Print what there is. Having none is a failure only of a run that did not fail itself. */
static int
print_result(const struct options *options, const struct nb_run *run,
	const struct failure *failure, struct nb_results *results, struct nb_summary *summary)
{
	struct nb_result *result;
	int rc = output_set_command(results, options, NULL);
	if (rc == 0)
		rc = nb_results_add_run(results, run, "");
	if (rc == 0)
		rc = nb_result_new(&result, run);
	if (rc < 0)
		return failure->code == 0 ? message_last_failure(rc) : STATUS_FAILED;
	if (failure->code != 0)
		nb_results_set_end(results, failure->text);
	rc = nb_result_write_text(result, output_text(), output_flags(options));
	if (summary != NULL)
		nb_result_summarize(result, summary);
	nb_result_delete(result);
	return message_output_failure(rc);
}

uint64_t
run_sample_ns(const struct options *options)
{
	if (!options_were_given(options, "sample"))
		return 0;
	return options->sample_ns > 0 ? options->sample_ns : UINT64_MAX;
}

void
run_keep_end(struct nb_summary *summary, const struct failure *failure)
{
	if (summary != NULL && failure->code != 0)
		snprintf(summary->end, sizeof(summary->end), "%.*s",
			(int)sizeof(summary->end) - 1, failure->text);
}

static int
run_verb(const struct options *options, uint32_t verb, nb_progress_fn progress,
	struct nb_results *results, struct nb_summary *summary)
{
	struct nb_workload workload = workload_of(options, verb);
	struct nb_run_options run_options = run_options_of(options, &workload);
	struct nb_run *run;
	struct failure failure;
	if (progress != NULL) {
		run_options.progress = progress;
		if (run_options.report_interval == 0)
			run_options.report_interval = 1;
	}
	failure_keep(&failure, nb_run_new(&run, &run_options));
	if (failure.code < 0) {
		run_keep_end(summary, &failure);
		return message_failure(&failure);
	}
	failure_keep(&failure, nb_run_execute(run));
	progress_clear();
	int status = print_result(options, run, &failure, results, summary);
	run_keep_end(summary, &failure);
	if (failure.code != 0)
		status = message_failure(&failure);
	nb_run_delete(run);
	return status;
}

static int
run_put(const struct options *options, nb_progress_fn progress, struct nb_results *results,
	struct nb_summary *summary)
{
	return run_verb(options, NB_VERB_PUT, progress, results, summary);
}

static int
run_get(const struct options *options, nb_progress_fn progress, struct nb_results *results,
	struct nb_summary *summary)
{
	return run_verb(options, NB_VERB_GET, progress, results, summary);
}

static int
run_delete(const struct options *options, nb_progress_fn progress, struct nb_results *results,
	struct nb_summary *summary)
{
	return run_verb(options, NB_VERB_DELETE, progress, results, summary);
}

int
cmd_put(const struct options *options)
{
	return run_drivers(options, &(struct run_kind){.run = run_put, .makes_data = true});
}

int
cmd_get(const struct options *options)
{
	return run_drivers(options, &(struct run_kind){.run = run_get});
}

int
cmd_delete(const struct options *options)
{
	return run_drivers(options, &(struct run_kind){.run = run_delete});
}
