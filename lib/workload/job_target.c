/* SPDX-License-Identifier: BSD-2-Clause */
/* Sections [target] of a job. The lines are checked here and used when a server is started. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "target/spec.h"
#include "workload/job.h"

int
job_target_add(struct nb_job *job, const char *name)
{
	if (strlen(name) >= sizeof(job->targets->name))
		return error_set(NB_ERR_USAGE, "target: '%.*s' is not the name of an engine",
			JOB_QUOTE_MAX, name);
	struct nb_target *target = array_append(
		&job->targets, &job->target_count, sizeof(*target));
	if (target == NULL)
		return NB_FAIL;
	strcpy(target->name, name);
	target->text = calloc(1, 1);
	return target->text != NULL ? NB_OK : error_memory();
}

struct nb_target *
job_target_find(const struct nb_job *job, const char *name)
{
	for (size_t i = 0; i < job->target_count; i++)
		if (strcmp(job->targets[i].name, name) == 0)
			return &job->targets[i];
	return NULL;
}

/** A later line replaces earlier ones of the same key. */
int
job_target_set(struct nb_target *target, const char *key, const char *value)
{
	struct target_spec spec = {0};
	char *text;
	int rc = target_spec_set(&spec, key, value);
	target_spec_destroy(&spec);
	if (rc != NB_OK)
		return rc;
	if (asprintf(&text, "%s%s = %s\n", target->text, key, value) < 0)
		return error_memory();
	free(target->text);
	target->text = text;
	return NB_OK;
}

void
job_targets_write(FILE *to, const struct nb_job *job)
{
	for (size_t i = 0; i < job->target_count; i++)
		fprintf(to, "\n[target%s%s]\n%s", job->targets[i].name[0] != '\0' ? " " : "",
			job->targets[i].name, job->targets[i].text);
}

void
job_targets_destroy(struct nb_job *job)
{
	for (size_t i = 0; i < job->target_count; i++)
		free(job->targets[i].text);
	free(job->targets);
}
