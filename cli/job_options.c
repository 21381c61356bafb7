/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "cmd_run.h"
#include "kept.h"

/** Whether the setting has that key, in any group; target.count is a number of servers. */
static bool
is_of(const char *setting, const char *key)
{
	size_t length = strcspn(setting, "="), wanted = strlen(key);
	return strncmp(setting, "target.", strlen("target.")) != 0 && length >= wanted &&
		strncmp(setting + length - wanted, key, wanted) == 0 &&
		(length == wanted || setting[length - wanted - 1] == '.');
}

/**
 * A duration on the command line replaces the workload's count. YCSB's workloads have a count
 * of a thousand operations, which would end the run at once.
 */
static int
forget_count(struct nb_job *job, const struct options *options, const char *setting)
{
	if (!is_of(setting, "duration"))
		return NB_OK;
	for (size_t i = 0; i < options->job_setting_count; i++) {
		if (is_of(options->job_settings[i], "count"))
			return NB_OK;
	}
	int group = (int)(strcspn(setting, "=") - strlen("duration"));
	return nb_job_set(job, kept_text("%.*scount=0", group, setting));
}

/** For load, some keys of groups apply to the threads of the load. */
static int
set_loading(struct nb_job *job, const struct options *options, const char *setting)
{
	static const char *const keys[] = {"threads=", "rate=", "arrivals=", "cpus=", "depth=",
		"batch-bytes=", "latency=", "insert-verb="};
	bool is_meant = false;
	for (size_t k = 0; k < sizeof(keys) / sizeof(*keys); k++)
		is_meant |= strncmp(setting, keys[k], strlen(keys[k])) == 0;
	if (options->action != &cmd_load || !is_meant)
		return NB_OK;
	return nb_job_set(job, kept_text("load.%s", setting));
}

int
job_options_set(struct nb_job *job, const struct options *options)
{
	int rc = NB_OK;
	for (size_t i = 0; rc == NB_OK && i < options->job_setting_count; i++) {
		rc = forget_count(job, options, options->job_settings[i]);
		if (rc == NB_OK)
			rc = nb_job_set(job, options->job_settings[i]);
		if (rc == NB_OK)
			rc = set_loading(job, options, options->job_settings[i]);
	}
	/* The library checks a replay with its traces, which have their own records. */
	return rc == NB_OK && options->action != &cmd_replay ? nb_job_check(job) : rc;
}

int
job_options_read(struct nb_job **job, const char *name, const struct options *options)
{
	int rc = nb_job_read(job, name);
	if (rc < 0)
		return rc;
	if (name == NULL && options->action == &cmd_load)
		(*job)->groups[0].weights[NB_OP_READ] =
			1; /* a mix for the run phase, which load does not execute */
	rc = job_options_set(*job, options);
	if (rc == NB_OK && options->workload_name != NULL) {
		free((*job)->name);
		(*job)->name = strdup(options->workload_name);
	}
	if (rc != NB_OK)
		nb_job_delete(*job);
	return rc;
}
