/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A job as a file that is read as the same job. Defaults are left out, except for the few keys
 * that a reader looks for first.
 */
#include "workload/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/** A line, unless it is the default. */
static int
write_key(FILE *to, const struct job_key *key, const void *object, const void *defaults)
{
	char *text = NULL, *usual = NULL;
	int rc = job_value_text(&text, key, object);
	if (rc == NB_OK)
		rc = job_value_text(&usual, key, defaults);
	bool is_missing = rc == NB_OK && key->type == JOB_TEXT && text[0] == '\0';
	if (rc == NB_OK && !is_missing && (key->is_shown || strcmp(text, usual) != 0))
		fprintf(to, "%s =%s%s\n", key->said.name, text[0] != '\0' ? " " : "", text);
	free(text);
	free(usual);
	return rc;
}

static int
write_keys(FILE *to, const void *object, const void *defaults, bool is_global, bool is_load)
{
	int rc = NB_OK;
	for (const struct job_key *key = job_keys; rc == NB_OK && key->said.name != NULL;
		key++) {
		if (key->said.is_global == is_global && (!is_load || key->is_of_load))
			rc = write_key(to, key, object, defaults);
	}
	return rc;
}

static int
write_group(FILE *to, const struct nb_job *job, size_t i, const struct nb_group *defaults)
{
	struct nb_group group = job->groups[i]; /* with its phase as the choice of `start` */
	group.phase = i > 0 && group.phase > job->groups[i - 1].phase;
	int rc = job_name_check(group.name);
	fprintf(to, "\n[%.47s]\n", group.name);
	return rc == NB_OK ? write_keys(to, &group, defaults, false, false) : rc;
}

static int
write_job(FILE *to, const struct nb_job *job, const struct nb_job *defaults)
{
	fputs("[workload]\n", to);
	int rc = write_keys(to, job, defaults, true, false);
	if (rc == NB_OK && job->load != NULL) {
		fputs("\n[load]\n", to);
		rc = write_keys(to, job->load, defaults->load, false, true);
	}
	for (size_t i = 0; rc == NB_OK && i < job->group_count; i++)
		rc = write_group(to, job, i, &defaults->groups[0]);
	return rc;
}

int
nb_job_write(const struct nb_job *job, char **out)
{
	struct nb_job *defaults;
	char *text = NULL;
	size_t size;
	int rc = nb_job_read(&defaults, NULL);
	if (rc != NB_OK)
		return rc;
	FILE *stream = open_memstream(&text, &size);
	if (stream != NULL)
		rc = write_job(stream, job, defaults);
	if (stream == NULL || (fclose(stream) != 0 && rc == NB_OK))
		rc = error_memory();
	nb_job_delete(defaults);
	if (rc == NB_OK)
		*out = text;
	else
		free(text);
	return rc;
}
