/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load, run: the loading of a job, or its groups, on each engine of the list.
 *
 * mininb reads the job, applies the settings in the order of the command line, and checks the
 * whole before it opens an engine.
 */
#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "job_options.h"
#include "message.h"
#include "options.h"
#include "sweep.h"

static int
execute(const struct options *options, uint32_t what, nb_progress_fn progress,
	struct nb_results *results, struct nb_summary *summary)
{
	struct nb_job *job;
	int status = STATUS_DONE, rc = job_options_read(&job, options->workload, options);
	if (rc < 0)
		return message_last_failure(rc);
	struct nb_run_options run = run_options_of(options, progress);
	run.job = job;
	run.what = what;
	if (options->steady != NULL && nb_steady_parse(&run.steady, options->steady) < 0)
		status = message_usage("--until-steady: %s", nb_error_text());
	else if (what == NB_JOB_RUN && (sweep_own.is_sweep || sweep_own.slo != NULL))
		status = sweep_execute(options, job, &run, results, summary);
	else
		status = run_one(options, &run, results, summary);
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

static int
do_load(const struct options *options)
{
	return run_drivers(
		options, &(struct run_kind){.run = execute_load, .makes_data = true});
}

const struct cmd cmd_load = {
	.name = "load",
	.run = do_load,
	.help = "insert the records of a workload",
	.detail = "Makes the database if it does not exist. The action run then works on these "
		  "records.",
	.shares = SHARES_WORKLOAD SHARES_ENGINE
	"force workload fresh record interval settle report-interval",
	.has_workload = true,
	.measures = true,
	.is_repeatable = true,
};

static int
do_run(const struct options *options)
{
	return run_drivers(options, &(struct run_kind){.run = execute_run});
}

const struct cmd cmd_run = {
	.name = "run",
	.run = do_run,
	.help = "run a workload: mixes of operations, side by side or in turn",
	.detail = "The operations use the records that load inserted. See WORKLOADS.",
	.own = {sweep_options},
	.shares = SHARES_WORKLOAD SHARES_ENGINE
	"force workload procs record interval until-steady settle allow-missing report-interval",
	.rejects = "fresh",
	.has_workload = true,
	.measures = true,
	.is_repeatable = true,
};
