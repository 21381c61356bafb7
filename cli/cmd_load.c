/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load, run: a job's loading, or its groups, on each engine of the list.
 *
 * The job is read, then changed by each setting in the order of the command line, then
 * checked as a whole, before any engine is touched. Lines of intervals go to stdout, where
 * the report follows them: they are results.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "job.h"
#include "job_options.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "sweep.h"

static_assert(NB_DUR_NONE == 0 && NB_DUR_COMMIT == 3, "the order of --durability's choices");

/** Lines that were printed while a run went on. */
static struct {
	struct nb_interval *items;
	size_t count;
} lines;

static void
forget_lines(void)
{
	free(lines.items);
	lines.items = NULL;
	lines.count = 0;
}

/** One line for each interval; the first has the titles above it. */
static void
print_interval(void *arg, const struct nb_interval *interval)
{
	(void)arg;
	progress_clear();
	nb_interval_write_text(interval, output_text(), lines.count > 0);
	fflush(output_text());
	struct nb_interval *grown = realloc(
		lines.items, (lines.count + 1) * sizeof(*lines.items));
	if (grown == NULL)
		return; /* it has been seen; only the result file has one less */
	lines.items = grown;
	lines.items[lines.count++] = *interval;
}

struct nb_job_options
job_options_of(const struct options *options, const struct nb_job *job, uint32_t what,
	nb_progress_fn progress)
{
	struct nb_job_options run = NB_JOB_OPTIONS_INIT;
	run.job = job;
	run.what = what;
	run.driver = options->driver;
	run.path = options->path;
	run.engine_options = options->engine_options;
	run.engine_option_count = options->engine_option_count;
	run.durability = options->durability == 0 ? NB_DUR_AUTO
						  : (uint32_t)options->durability - 1;
	run.clock = (uint32_t)options->clock;
	run.settle = (uint32_t)options->settle;
	run.flags = (options->is_pinned ? NB_RUN_PIN : 0) |
		(options->allows_missing ? NB_RUN_ALLOW_MISSING : 0) |
		(options->is_fresh ? NB_RUN_FRESH : 0) | (options->is_cold ? NB_RUN_COLD : 0) |
		(options->has_hardware ? NB_RUN_HARDWARE : 0) |
		(options->is_forced ? NB_RUN_FORCE : 0);
	run.procs = (uint32_t)options->procs;
	run.cache_bytes = options->cache_bytes;
	run.verify_rate = options->verify_rate;
	run.sample_ns = run_sample_ns(options);
	run.op_timeout_ns = options->op_timeout_ns;
	if (options_were_given(options, "op-timeout"))
		run.call_timeout_ns = options->op_timeout_ns;
	run.record_path = options->record;
	run.interval_ns = options->interval_ns;
	run.interval = print_interval;
	run.progress = progress != NULL
		? progress
		: progress_function(!options->is_quiet && options->report_interval > 0);
	return run;
}

static int
print_result(const struct options *options, const struct nb_job_run *run,
	const struct failure *failure, struct nb_results *results, struct nb_summary *summary)
{
	struct nb_job_result *result;
	int rc = nb_results_add_job_run(results, run, "");
	if (rc == 0)
		rc = nb_results_set_intervals(results, lines.items, lines.count);
	if (rc == 0)
		rc = nb_job_result_new(&result, run);
	if (rc < 0)
		return failure->code == 0 ? message_last_failure(rc) : STATUS_FAILED;
	if (failure->code != 0)
		nb_results_set_end(results, failure->text);
	rc = nb_job_result_write_text(result, output_text(), output_flags(options));
	if (summary != NULL)
		nb_job_result_summarize_run(result, summary);
	nb_job_result_delete(result);
	return message_output_failure(rc);
}

int
job_execute(const struct options *options, const struct nb_job_options *job_options,
	struct nb_results *results, struct nb_summary *summary)
{
	struct nb_job_run *run;
	struct failure failure;
	forget_lines();
	if (output_set_command(results, options, job_options->job) < 0)
		return message_last_failure(NB_FAIL);
	failure_keep(&failure, nb_job_run_new(&run, job_options));
	if (failure.code < 0) {
		run_keep_end(summary, &failure);
		return message_failure(&failure);
	}
	failure_keep(&failure, nb_job_run_execute(run));
	progress_clear();
	if (lines.count > 0)
		fputc('\n', output_text());
	int status = print_result(options, run, &failure, results, summary);
	forget_lines();
	run_keep_end(summary, &failure);
	if (failure.code != 0)
		status = message_failure(&failure);
	nb_job_run_delete(run);
	return status;
}

static int
execute(const struct options *options, uint32_t what, nb_progress_fn progress,
	struct nb_results *results, struct nb_summary *summary)
{
	struct nb_job *job;
	int status = STATUS_DONE, rc = job_options_read(&job, options->workload, options);
	if (rc < 0)
		return message_last_failure(rc);
	struct nb_job_options run = job_options_of(options, job, what, progress);
	if (options->steady != NULL && nb_steady_parse(&run.steady, options->steady) < 0)
		status = message_usage("--until-steady: %s", nb_error_text());
	else if (what == NB_JOB_RUN && (options->is_sweep || options->slo != NULL))
		status = sweep_execute(options, job, &run, results, summary);
	else
		status = job_execute(options, &run, results, summary);
	nb_job_delete(job);
	return status;
}

static int
execute_load(const struct options *options, nb_progress_fn progress, struct nb_results *results,
	struct nb_summary *summary)
{
	return execute(options, NB_JOB_LOAD, progress, results, summary);
}

static int
execute_run(const struct options *options, nb_progress_fn progress, struct nb_results *results,
	struct nb_summary *summary)
{
	return execute(options, NB_JOB_RUN, progress, results, summary);
}

int
cmd_load(const struct options *options)
{
	return run_drivers(
		options, &(struct run_kind){.run = execute_load, .makes_data = true});
}

int
cmd_run(const struct options *options)
{
	return run_drivers(options, &(struct run_kind){.run = execute_run});
}
