/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "job_options.h"
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

/** All workloads, or one as the file that it would be. */
int
cmd_workloads(const struct options *options)
{
	return options->operand != NULL
		? print_job(options)
		: message_output_failure(nb_presets_write_text(nb_stdout()));
}
