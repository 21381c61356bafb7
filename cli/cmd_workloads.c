/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "message.h"
#include "options.h"

static int
print_job(const struct options *options)
{
	struct nb_job *job;
	int rc = job_options_read(&job, options->operand, options);
	if (rc < 0)
		return message_last_failure(rc);
	char *text = NULL;
	rc = nb_job_write(job, &text);
	nb_job_delete(job);
	if (rc < 0)
		return message_last_failure(rc);
	fputs(text, nb_stdout());
	free(text);
	return STATUS_DONE;
}

/** Lists all workloads, or prints one as a file. */
static int
do_workloads(const struct options *options)
{
	return options->operand != NULL
		? print_job(options)
		: message_output_failure(nb_presets_write_text(nb_stdout()));
}

const struct cmd cmd_workloads = {
	.name = "workloads",
	.run = do_workloads,
	.operand = "[NAME]",
	.help = "list the workloads; with a name, print that one as a file",
	.detail = "Edit the printed file and give it to --workload. Options set keys in it.",
	.shares = SHARES_WORKLOAD "latency",
	.has_workload = true,
};
