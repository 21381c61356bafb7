/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One run on one engine, of a workload or a job, and its report.
 *
 * After a failure mininb prints the partial report, then the failure, because the figures
 * until, for example, a full disk are useful. Only the report goes to stdout, so a redirection
 * contains only the result. Lines of intervals are results, too.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <mininb/mininb.h>

#include "cmd_run.h"
#include "message.h"
#include "output.h"
#include "progress.h"
#include "ranks.h"

/*
 * The choices of --durability (auto|none|process|periodic|commit), --settle and --clock count
 * from 0.
 */
static_assert(NB_DUR_NONE == 0 && NB_DUR_COMMIT == 3, "the order of --durability's choices");
static_assert(NB_RUN_SETTLE_COMPACT == 2, "the order of --settle's choices");
static_assert(NB_CLOCK_MONOTONIC == 2, "the order of --clock's choices");

/** Intervals printed during the run. */
static struct {
	struct nb_interval *items;
	size_t count;
} lines;

/** Prints a line for each interval; the first has the titles above it. */
static void
print_interval(void *arg, const struct nb_interval *interval)
{
	(void)arg;
	progress_clear();
	if (experiments_own.format == CLOSING_TAOBENCH)
		nb_interval_write_taobench(interval, output_text());
	else
		nb_interval_write_text(interval, output_text(), lines.count > 0);
	fflush(output_text());
	struct nb_interval *grown = realloc(
		lines.items, (lines.count + 1) * sizeof(*lines.items));
	if (grown == NULL)
		return; /* it was printed; only the result file lacks it */
	lines.items = grown;
	lines.items[lines.count] = *interval;
	lines.items[lines.count++].kinds = NULL; /* valid until this call returns */
}

int
run_options_of(
	struct nb_run_options *run, const struct options *options, const struct run_sink *sink)
{
	*run = (struct nb_run_options)NB_RUN_OPTIONS_INIT;
	run->driver = options->driver;
	run->path = options->path;
	run->servers = options->servers;
	run->engine_options = options->engine_options;
	run->engine_option_count = options->engine_option_count;
	run->threads = (uint32_t)options->threads;
	run->depth = (uint32_t)options->depth;
	run->batch_bytes = options->batch_bytes;
	run->durability = options->durability == 0 ? NB_DUR_AUTO
						   : (uint32_t)options->durability - 1;
	run->clock = (uint32_t)options->clock;
	run->settle = (uint32_t)options->settle;
	run->flags = (options->is_pinned ? NB_RUN_PIN : 0) |
		(options->allows_missing ? NB_RUN_ALLOW_MISSING : 0) |
		(options->is_fresh ? NB_RUN_FRESH : 0) | (options->is_cold ? NB_RUN_COLD : 0) |
		(options->has_hardware ? NB_RUN_HARDWARE : 0) |
		(options->is_forced ? NB_RUN_FORCE : 0);
	run->procs = (uint32_t)options->procs;
	run->cache_bytes = options->cache_bytes;
	run->memory = options->memory;
	run->latency = options->latency;
	run->verify_rate = options->verify_rate;
	if (options_were_given(options, "sample"))
		run->sample_ns = options->sample_ns > 0 ? options->sample_ns : UINT64_MAX;
	run->op_timeout_ns = options->op_timeout_ns;
	if (options_were_given(options, "op-timeout"))
		run->call_timeout_ns = options->op_timeout_ns;
	run->record_path = options->record;
	run->interval_ns = options->interval_ns;
	run->checkpoint_every_ns = options->checkpoint_every_ns;
	run->interval = print_interval;
	run->report_interval = options->report_interval;
	run->progress = progress_of(options);
	if (sink->progress != NULL) {
		run->progress = sink->progress;
		if (run->report_interval == 0)
			run->report_interval = 1;
	}
	if (options->is_rank)
		ranks_set_run(run);
	if (options->start_at != NULL &&
		nb_parse_moment(&run->start_at_ns, options->start_at) < 0)
		return message_usage("--start-at: %s", nb_error_text());
	if (options->steady != NULL && nb_steady_parse(&run->steady, options->steady) < 0)
		return message_usage("--until-steady: %s", nb_error_text());
	return STATUS_DONE;
}

/** Writes the report next to the output of private servers. */
static void
keep_log(
	const struct nb_run *run, const struct nb_result *result, const struct failure *failure)
{
	const char *path = nb_run_client_log(run);
	FILE *log = path != NULL ? fopen(path, "ae") : NULL;
	if (log == NULL)
		return;
	bool is_written = result == NULL || nb_result_write_text(result, log, 0) == 0;
	if (failure->code != 0)
		fprintf(log, "mininb: %s\n", failure->text);
	if (fclose(log) != 0 || !is_written)
		message_error("%s: the report could not be written there", path);
}

/** Prints the closing block of TAOBench, for the last run only. */
static int
write_taobench(const struct nb_run *run)
{
	struct nb_results *alone;
	int rc = nb_results_new(&alone);
	if (rc == 0)
		rc = nb_results_add_run(alone, run, "");
	if (rc == 0)
		rc = nb_results_write(alone, "taobench", output_text(), 0);
	nb_results_delete(alone);
	return rc;
}

/** Prints the result, if it exists. Its absence is a failure only if the run succeeded. */
static int
print_result(const struct options *options, const struct nb_run *run,
	const struct failure *failure, const struct run_sink *sink)
{
	int rc = nb_results_add_run(sink->results, run, "");
	if (rc == 0)
		rc = nb_results_set_intervals(sink->results, lines.items, lines.count);
	if (rc < 0) {
		keep_log(run, NULL, failure);
		return failure->code == 0 ? message_last_failure(rc) : STATUS_FAILED;
	}
	if (failure->code != 0)
		nb_results_set_end(sink->results, failure->text);
	const struct nb_result *result = nb_results_last(sink->results);
	keep_log(run, result, failure);
	rc = experiments_own.format == CLOSING_TAOBENCH
		? write_taobench(run)
		: nb_result_write_text(result, output_text(), output_flags(options));
	if (sink->summary != NULL)
		nb_result_summarize(result, sink->summary);
	return message_output_failure(rc);
}

static int
execute(const struct options *options, struct nb_run *run, struct failure *failure,
	const struct run_sink *sink)
{
	failure_keep(failure, nb_run_execute(run));
	progress_clear();
	if (lines.count > 0 && experiments_own.format != CLOSING_TAOBENCH)
		fputc('\n', output_text());
	int status = print_result(options, run, failure, sink);
	free(lines.items);
	lines.items = NULL;
	lines.count = 0;
	nb_run_delete(run);
	return status;
}

int
run_one(const struct options *options, const struct nb_run_options *run_options,
	const struct run_sink *sink)
{
	struct nb_run *run;
	struct failure failure;
	int status = message_last_failure(
		output_set_command(sink->results, options, run_options->job));
	if (status != STATUS_DONE)
		return status;
	failure_keep(&failure, nb_run_new(&run, run_options));
	if (failure.code == 0)
		status = execute(options, run, &failure, sink);
	if (failure.code == 0)
		return status;
	if (sink->summary != NULL)
		snprintf(sink->summary->end, sizeof(sink->summary->end), "%.*s",
			(int)sizeof(sink->summary->end) - 1, failure.text);
	return message_failure(&failure);
}
