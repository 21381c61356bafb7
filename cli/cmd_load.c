/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load, run: a job's loading, or its groups, on each engine of the list.
 *
 * The job is read, then changed by each setting in the order of the command line, then
 * checked as a whole, before any engine is touched. Lines of intervals go to stdout, where
 * the report follows them: they are results.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "job.h"
#include "job_options.h"
#include "message.h"
#include "options.h"
#include "progress.h"
#include "sweep.h"

static_assert(NB_DUR_NONE == 0 && NB_DUR_COMMIT == 3, "the order of --durability's choices");

static void
format_us(char *cell, size_t size, uint64_t ns)
{
	cell[0] = '\0';
	if (ns > 0)
		snprintf(cell, size, "%.*f", ns < 100000 ? 2 : 0, (double)ns / 1000);
}

/**
 * One line for each interval; the first has the titles above it. What is not measured, as
 * the latencies of a warm-up, is left blank.
 */
static void
print_interval(void *arg, const struct nb_interval *interval)
{
	bool *has_titles = arg;
	char p50[32] = "", p99[32] = "", most[32] = "", behind[32] = "", line[256];
	if (!interval->is_warmup) {
		format_us(p50, sizeof(p50), interval->p50_ns);
		format_us(p99, sizeof(p99), interval->p99_ns);
		format_us(most, sizeof(most), interval->max_ns);
	}
	if (interval->behind_ops > 0)
		snprintf(behind, sizeof(behind), "%" PRIu64, interval->behind_ops);
	progress_clear();
	if (!*has_titles)
		printf("%8s %12s %12s %10s %10s %10s %10s\n", "seconds", "ops", "ops/s",
			"p50 us", "p99 us", "max us", "behind");
	*has_titles = true;
	int length = snprintf(line, sizeof(line),
		"%8.2f %12" PRIu64 " %12.0f %10s %10s %10s %10s%s",
		(double)interval->end_ns / 1e9, interval->ops, interval->rate_ops_s, p50, p99,
		most, behind, interval->is_warmup ? "  warm-up" : "");
	while (length > 0 && line[length - 1] == ' ')
		length--;
	printf("%.*s\n", length, line);
	fflush(stdout);
}

struct nb_job_options
job_options_of(const struct options *options, const struct nb_job *job, uint32_t what,
	nb_progress_fn progress)
{
	static bool has_titles;
	struct nb_job_options run = NB_JOB_OPTIONS_INIT;
	has_titles = false;
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
		(options->is_fresh ? NB_RUN_FRESH : 0);
	run.procs = (uint32_t)options->procs;
	run.cache_bytes = options->cache_bytes;
	run.verify_rate = options->verify_rate;
	run.record_path = options->record;
	run.interval_ns = options->interval_ns;
	run.interval = print_interval;
	run.interval_arg = &has_titles;
	run.progress = progress != NULL
		? progress
		: progress_function(!options->is_quiet && options->report_interval > 0);
	return run;
}

static int
print_result(const struct options *options, const struct nb_job_run *run, bool is_required,
	struct nb_summary *summary)
{
	struct nb_job_result *result;
	(void)options;
	int rc = nb_job_result_new(&result, run);
	if (rc < 0)
		return is_required ? message_last_failure(rc) : STATUS_FAILED;
	rc = nb_job_result_write_text(result, stdout, isatty(STDOUT_FILENO) ? NB_TEXT_BARS : 0);
	if (summary != NULL)
		nb_job_result_summarize_run(result, summary);
	nb_job_result_delete(result);
	return message_output_failure(rc);
}

int
job_execute(const struct options *options, const struct nb_job_options *job_options,
	struct nb_summary *summary)
{
	struct nb_job_run *run;
	struct failure failure;
	failure_keep(&failure, nb_job_run_new(&run, job_options));
	if (failure.code < 0) {
		run_keep_end(summary, &failure);
		return message_failure(&failure);
	}
	failure_keep(&failure, nb_job_run_execute(run));
	progress_clear();
	if (options->interval_ns > 0)
		printf("\n");
	int status = print_result(options, run, failure.code == 0, summary);
	run_keep_end(summary, &failure);
	if (failure.code != 0)
		status = message_failure(&failure);
	nb_job_run_delete(run);
	return status;
}

static int
execute(const struct options *options, uint32_t what, nb_progress_fn progress,
	struct nb_summary *summary)
{
	struct nb_job *job;
	int status = STATUS_DONE, rc = job_options_read(&job, options->workload, options);
	if (rc < 0)
		return message_last_failure(rc);
	struct nb_job_options run = job_options_of(options, job, what, progress);
	if (options->steady != NULL && nb_steady_parse(&run.steady, options->steady) < 0)
		status = message_usage("--until-steady: %s", nb_error_text());
	else if (what == NB_JOB_RUN && (options->is_sweep || options->slo != NULL))
		status = sweep_execute(options, job, &run, summary);
	else
		status = job_execute(options, &run, summary);
	nb_job_delete(job);
	return status;
}

static int
execute_load(const struct options *options, nb_progress_fn progress, struct nb_summary *summary)
{
	return execute(options, NB_JOB_LOAD, progress, summary);
}

static int
execute_run(const struct options *options, nb_progress_fn progress, struct nb_summary *summary)
{
	return execute(options, NB_JOB_RUN, progress, summary);
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
