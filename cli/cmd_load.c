/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * load, run: executes the load of a job, or its groups, on each engine of the list.
 *
 * mininb reads the job, applies the settings in the order of the command line, and checks the
 * whole job before it opens an engine.
 */
#include <stdbool.h>
#include <stdio.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "message.h"

/** Done once for all engines and experiments. */
static void
tell_unused(const struct nb_job *job)
{
	static bool is_told;
	const char *unused = nb_job_unused_names(job, true);
	const char *unknown = nb_job_unused_names(job, false);
	char text[1024];
	if (is_told)
		return;
	is_told = true;
	if (unknown != NULL)
		message_warning("%s: ignored unknown names: %s", job->graph_text, unknown);
	if (unused == NULL)
		return;
	snprintf(text, sizeof(text),
		"%s: TAOBench does not use these names, and mininb does not either: %s",
		job->graph_text, unused);
	message_log(NULL, NB_LOG_INFO, text);
}

static int
execute(const struct options *options, const struct run_sink *sink)
{
	struct nb_run_options run;
	struct nb_job *job = NULL;
	if (options->start_at != NULL &&
		(sweep_own.is_sweep || sweep_own.slo != NULL || experiments_own.path != NULL))
		return message_usage(
			"--start-at: only a single run can begin then, not a sweep or a list of experiments");
	int status = run_options_of(&run, options, sink);
	if (status == STATUS_DONE)
		status = message_last_failure(
			job_options_read(&job, options->workload, options));
	if (status != STATUS_DONE)
		return status;
	tell_unused(job);
	run.job = job;
	run.what = options->action == &cmd_load ? NB_JOB_LOAD : NB_JOB_RUN;
	bool is_sweep = run.what == NB_JOB_RUN && (sweep_own.is_sweep || sweep_own.slo != NULL);
	struct nb_irqs *irqs = NULL;
	status = irqs_begin_run(&irqs, options, &run);
	if (status == STATUS_DONE)
		status = irqs_end(irqs,
			is_sweep ? sweep_execute(options, job, &run, sink)
				: experiments_own.path != NULL && run.what == NB_JOB_RUN
				? experiments_execute(options, job, &run, sink)
				: run_one(options, &run, sink));
	nb_job_delete(job);
	return status;
}

static int
do_job(const struct options *options)
{
	return run_drivers(options, execute, options->action == &cmd_load);
}

const struct cmd cmd_load = {
	.name = "load",
	.run = do_job,
	.help = "insert the records of a workload",
	.detail = "Makes the database if it does not exist. The action run then works on these "
		  "records.",
	.shares = SHARES_WORKLOAD SHARES_ENGINE
	"force workload fresh record interval checkpoint-every settle report-interval",
	.own = {closing_options},
	.has_workload = true,
	.measures = true,
	.is_repeatable = true,
};

const struct cmd cmd_run = {
	.name = "run",
	.run = do_job,
	.help = "run a workload: mixes of operations, side by side or in turn",
	.detail = "The operations use the records that load inserted. See WORKLOADS.",
	.own = {sweep_options, experiments_options, closing_options},
	.shares = SHARES_WORKLOAD SHARES_ENGINE
	"force workload procs record interval start-at checkpoint-every until-steady settle allow-missing report-interval",
	.rejects = "fresh",
	.has_workload = true,
	.measures = true,
	.is_repeatable = true,
};
