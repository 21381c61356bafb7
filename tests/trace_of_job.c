/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Write the loading of a job as a trace in YCSB's text format, for tests that check the file.
 */
#include <stdio.h>

#include <mininb/mininb.h>

int
main(int argc, char **argv)
{
	struct nb_job *job;
	struct nb_trace_options to = NB_TRACE_OPTIONS_INIT;
	if (argc != 3)
		return 2;
	to.path = argv[2];
	to.format = NB_TRACE_YCSB_TEXT;
	int rc = nb_job_read(&job, argv[1]);
	if (rc == NB_OK) {
		rc = nb_trace_generate(job, NB_JOB_LOAD, &to, NULL, NULL, NULL);
		nb_job_delete(job);
	}
	if (rc != NB_OK)
		fprintf(stderr, "%s\n", nb_error_text());
	return rc == NB_OK ? 0 : 1;
}
