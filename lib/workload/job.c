/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Jobs: made, set, deleted. What a key means and which field is its own is said by the
 * table of job_keys.c alone; here is what depends on more than one group.
 *
 * The phase of a group is said relative to the group before it (start = together or
 * after), so that a group can be put in between without renumbering what follows.
 */
#include "workload/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* ---- groups ---- */

bool
job_name_is_good(const char *name)
{
	size_t length = strlen(name);
	return length > 0 && length < sizeof(((struct nb_group *)NULL)->name) &&
		name[strspn(name,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] ==
		'\0' &&
		strcmp(name, "workload") != 0 && strcmp(name, "load") != 0;
}

/** The defaults of the table: of a group, or if `is_global` of a job. */
static int
set_defaults(void *object, bool is_global)
{
	int rc = NB_OK;
	for (const struct job_key *key = job_keys; rc == NB_OK && key->said.name != NULL;
		key++) {
		/* start = together is a phase of 0 */
		if (key->said.def != NULL && key->said.is_global == is_global &&
			key->type != JOB_START)
			rc = job_value_set(key, object, key->said.def);
	}
	return rc;
}

int
job_group_create(struct nb_group *group, const char *name)
{
	*group = (struct nb_group){.size = sizeof(*group)};
	snprintf(group->name, sizeof(group->name), "%s", name);
	int rc = set_defaults(group, false);
	if (rc != NB_OK)
		job_group_destroy(group);
	return rc;
}

int
job_group_copy(struct nb_group *group, const struct nb_group *from, const char *name)
{
	*group = *from;
	snprintf(group->name, sizeof(group->name), "%s", name);
	group->cpus = from->cpus != NULL ? strdup(from->cpus) : NULL;
	group->rate_text = from->rate_text != NULL ? strdup(from->rate_text) : NULL;
	group->rate = NULL;
	if (from->rate_count > 0)
		group->rate = malloc(from->rate_count * sizeof(group->rate[0]));
	if ((from->cpus != NULL && group->cpus == NULL) ||
		(from->rate_text != NULL && group->rate_text == NULL) ||
		(from->rate_count > 0 && group->rate == NULL)) {
		job_group_destroy(group);
		return error_system("memory for a job");
	}
	if (from->rate_count > 0)
		memcpy(group->rate, from->rate, from->rate_count * sizeof(group->rate[0]));
	return NB_OK;
}

void
job_group_destroy(struct nb_group *group)
{
	free(group->rate);
	free(group->rate_text);
	free(group->cpus);
	*group = (struct nb_group){0};
}

int
job_add_group(struct nb_job *job, const struct nb_group *defaults, const char *name)
{
	struct nb_group *groups = realloc(
		job->groups, (job->group_count + 1) * sizeof(groups[0]));
	if (groups == NULL)
		return error_system("memory for a job");
	job->groups = groups;
	struct nb_group *group = &groups[job->group_count];
	int rc = job_group_copy(group, defaults, name);
	if (rc != NB_OK)
		return rc;
	group->phase = job->group_count > 0 ? group[-1].phase + defaults->phase : 0;
	job->group_count++;
	return NB_OK;
}

/* ---- the job ---- */

static int
create_load(struct nb_job *job)
{
	job->load = calloc(1, sizeof(*job->load));
	if (job->load == NULL)
		return error_system("memory for a job");
	int rc = job_group_create(job->load, "load");
	job->load->weights[NB_OP_INSERT] = 1;
	return rc;
}

int
job_create(struct nb_job **out, const char *name)
{
	struct nb_job *job = calloc(1, sizeof(*job));
	if (job == NULL)
		return error_system("memory for a job");
	job->size = sizeof(*job);
	job->name = strdup(name);
	int rc = job->name != NULL ? create_load(job) : error_system("memory for a job");
	if (rc == NB_OK)
		rc = set_defaults(job, true);
	if (rc == NB_OK)
		*out = job;
	else
		nb_job_delete(job);
	return rc;
}

void
nb_job_delete(struct nb_job *job)
{
	if (job == NULL)
		return;
	for (size_t i = 0; i < job->group_count; i++)
		job_group_destroy(&job->groups[i]);
	free(job->groups);
	if (job->load != NULL)
		job_group_destroy(job->load);
	free(job->load);
	nb_sizes_destroy(&job->values);
	free(job->values_text);
	free(job->keys_path);
	free(job->summary);
	free(job->name);
	free(job);
}

/* ---- assignments ---- */

/** Later groups keep their distance. */
static int
set_start(
	struct nb_job *job, struct nb_group *group, const struct job_key *key, const char *text)
{
	uint32_t is_after;
	int rc = job_value_choose(key, text, &is_after);
	if (rc != NB_OK)
		return error_prefix(rc, "%s", key->said.name);
	size_t i = 0;
	while (i < job->group_count && &job->groups[i] != group)
		i++;
	if (i == job->group_count) {
		group->phase = is_after;
		return NB_OK;
	}
	uint32_t wanted = i > 0 ? group[-1].phase + is_after : 0;
	for (uint32_t step = wanted - group->phase; i < job->group_count; i++)
		job->groups[i].phase += step; /* modulo 2^32, so a step back is one, too */
	return NB_OK;
}

static int
refuse_of_load(const struct job_key *key)
{
	char has[128] = "";
	for (const struct job_key *at = job_keys; at->said.name != NULL; at++) {
		size_t used = strlen(has);
		if (at->is_of_load)
			snprintf(has + used, sizeof(has) - used, "%s%s", used > 0 ? ", " : "",
				at->said.name);
	}
	return error_set(
		NB_ERR_USAGE, "%s: is no key of [load], which has %s", key->said.name, has);
}

int
job_assign(
	struct nb_job *job, struct nb_group *group, const struct job_key *key, const char *text)
{
	if (key->said.is_global && group != NULL)
		return error_set(NB_ERR_USAGE, "%s: is a key of [workload], not of a group",
			key->said.name);
	if (key->said.is_global)
		return job_value_set(key, job, text);
	if (group == job->load && !key->is_of_load)
		return refuse_of_load(key);
	if (key->type == JOB_START)
		return set_start(job, group, key, text);
	return job_value_set(key, group, text);
}

int
job_refuse_key(const char *name)
{
	const char *near = job_keys_nearest(name);
	return error_set(NB_ERR_USAGE, "there is no key '%.*s'%s%s%s", JOB_QUOTE_MAX, name,
		near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
		near != NULL ? "'?" : "");
}

static struct nb_group *
find_group(struct nb_job *job, const char *name)
{
	if (strcmp(name, "load") == 0)
		return job->load;
	for (size_t i = 0; i < job->group_count; i++) {
		if (strcmp(job->groups[i].name, name) == 0)
			return &job->groups[i];
	}
	return NULL;
}

static int
refuse_group(const struct nb_job *job, const char *name)
{
	const char *names[NB_GROUPS_MAX + 1] = {"load"};
	char list[512] = "load";
	size_t count = 1;
	for (size_t i = 0; i < job->group_count && count <= NB_GROUPS_MAX; i++) {
		size_t used = strlen(list);
		names[count++] = job->groups[i].name;
		snprintf(list + used, sizeof(list) - used, ", %s", job->groups[i].name);
	}
	const char *near = nb_nearest(name, names, count);
	return error_set(NB_ERR_USAGE, "there is no group '%.*s'%s%s%s%s", JOB_QUOTE_MAX, name,
		near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
		near != NULL ? "'? There are: " : "; there are: ", list);
}

static int
set_of_all(struct nb_job *job, const struct job_key *key, const char *value)
{
	if (key->said.is_global)
		return job_assign(job, NULL, key, value);
	int rc = job->group_count > 0
		? NB_OK
		: error_set(NB_ERR_USAGE, "%s: there is no group", key->said.name);
	for (size_t i = 0; rc == NB_OK && i < job->group_count; i++)
		rc = job_assign(job, &job->groups[i], key, value);
	return rc;
}

/** `section` is NULL if none was named. */
static int
set_by_names(struct nb_job *job, const char *section, const char *name, const char *value)
{
	const struct job_key *key = job_keys_find(name);
	if (key == NULL)
		return job_refuse_key(name);
	if (section == NULL || strcmp(section, "workload") == 0)
		return set_of_all(job, key, value);
	struct nb_group *group = find_group(job, section);
	if (group == NULL)
		return refuse_group(job, section);
	return job_assign(job, group, key, value);
}

/** Cut blanks off both ends of a text of ours. */
static char *
trim(char *text)
{
	text += strspn(text, " \t");
	size_t length = strlen(text);
	while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		text[--length] = '\0';
	return text;
}

int
nb_job_set(struct nb_job *job, const char *assignment)
{
	char *copy = strdup(assignment);
	if (copy == NULL)
		return error_system("memory for a job");
	char *equals = strchr(copy, '=');
	int rc;
	if (equals == NULL) {
		rc = error_set(NB_ERR_USAGE, "'%.*s' is no [SECTION.]KEY=VALUE", JOB_QUOTE_MAX,
			assignment);
	} else {
		*equals = '\0';
		char *section = NULL, *key = copy, *dot = strrchr(copy, '.');
		if (dot != NULL) {
			*dot = '\0';
			section = trim(copy);
			key = dot + 1;
		}
		rc = set_by_names(job, section, trim(key), trim(equals + 1));
	}
	free(copy);
	return rc;
}

int
nb_job_add_group(struct nb_job *job, const char *name)
{
	if (job->group_count == 0 || job->group_count == NB_GROUPS_MAX)
		return error_set(NB_ERR_USAGE, "a job has 1 to %u groups", NB_GROUPS_MAX);
	if (!job_name_is_good(name))
		return error_set(NB_ERR_USAGE, "'%s' is no name of a group", name);
	struct nb_group last = job->groups[job->group_count - 1]; /* lent: those will move */
	int rc = job_add_group(job, &last, name);
	if (rc == NB_OK)
		job->groups[job->group_count - 1].phase = last.phase + 1;
	return rc;
}
