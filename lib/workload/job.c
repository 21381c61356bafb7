/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Jobs: create, set, delete. The table of job_keys.c describes each key; this file has the
 * rules that involve several groups.
 *
 * The phase of a group is set relative to the previous group (start = together or after), so a
 * group can be inserted without renumbering later groups.
 *
 * A written job omits defaults, except for a few keys that readers look for first.
 */
#include "workload/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/lines.h"
#include "workload/kinds.h"
#include "workload/tao_job.h"

/* ---- groups ---- */

int
job_name_check(const char *name)
{
	size_t size = sizeof(((struct nb_group *)NULL)->name), length = strnlen(name, size);
	if (length > 0 && length < size &&
		name[strspn(name,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] ==
			'\0' &&
		strcmp(name, "workload") != 0 && strcmp(name, "load") != 0 &&
		strcmp(name, "target") != 0)
		return NB_OK;
	return error_set(NB_ERR_USAGE,
		"'%.*s' is not a name of a group: up to %zu letters, digits, '-' and '_'",
		(int)length, name, size - 1);
}

/** Set the table's defaults: those of a group or, if `is_global`, of a job. */
static int
set_defaults(void *object, bool is_global)
{
	int rc = NB_OK;
	for (const struct job_key *key = job_keys; rc == NB_OK && key->said.name != NULL;
		key++) {
		if (key->said.def != NULL && key->said.is_global == is_global)
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

/** A deep copy under another name. */
static int
copy_group(struct nb_group *group, const struct nb_group *from, const char *name)
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
		return error_memory();
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
	struct nb_group *group = array_append(&job->groups, &job->group_count, sizeof(*group));
	if (group == NULL)
		return NB_FAIL;
	int rc = copy_group(group, defaults, name);
	if (rc != NB_OK)
		return rc;
	group->phase = job->group_count > 1 ? group[-1].phase + defaults->phase : 0;
	return NB_OK;
}

/* ---- the job ---- */

int
job_create(struct nb_job **out, const char *name)
{
	struct nb_job *job = calloc(1, sizeof(*job));
	if (job == NULL)
		return error_memory();
	*job = (struct nb_job){.size = sizeof(*job),
		.name = strdup(name),
		.load = calloc(1, sizeof(*job->load))};
	int rc = job->name != NULL && job->load != NULL ? job_group_create(job->load, "load")
							: error_memory();
	if (rc == NB_OK)
		rc = set_defaults(job, true);
	if (rc != NB_OK) {
		nb_job_delete(job);
		return rc;
	}
	job->load->weights[NB_OP_INSERT] = 1;
	*out = job;
	return NB_OK;
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
	free(job->kinds);
	job_targets_destroy(job);
	tao_job_destroy(job);
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
	struct nb_group asked;
	int rc = job_value_set(key, &asked, text);
	if (rc != NB_OK)
		return rc;
	size_t i = 0;
	while (i < job->group_count && &job->groups[i] != group)
		i++;
	if (i == job->group_count) {
		group->phase = asked.phase;
		return NB_OK;
	}
	uint32_t wanted = i > 0 ? group[-1].phase + asked.phase : 0;
	for (uint32_t step = wanted - group->phase; i < job->group_count; i++)
		job->groups[i].phase += step; /* modulo 2^32, which also allows a step back */
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
		NB_ERR_USAGE, "%s: is not a key of [load], which has %s", key->said.name, has);
}

int
job_assign(
	struct nb_job *job, struct nb_group *group, const struct job_key *key, const char *text)
{
	if (key->said.is_global && group != NULL)
		return error_set(NB_ERR_USAGE, "%s: is a key of [workload], not of a group",
			key->said.name);
	int rc = tao_job_refuse(job, group, key->said.name, key->type == JOB_SHARE);
	if (rc != NB_OK)
		return rc;
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
	const char *names[JOB_KEYS_MAX];
	size_t count = 0;
	for (const struct job_key *key = job_keys; key->said.name != NULL; key++)
		names[count++] = key->said.name;
	return error_unknown(name, names, count, "unknown key '%.*s'", JOB_QUOTE_MAX, name);
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
	size_t count = 1;
	for (size_t i = 0; i < job->group_count && count <= NB_GROUPS_MAX; i++)
		names[count++] = job->groups[i].name;
	return error_unknown(name, names, count, "unknown group '%.*s'", JOB_QUOTE_MAX, name);
}

static int
set_of_all(struct nb_job *job, const struct job_key *key, const char *value)
{
	if (key->said.is_global)
		return job_assign(job, NULL, key, value);
	int rc = job->group_count > 0
		? NB_OK
		: error_set(NB_ERR_USAGE, "%s: the job has no group", key->said.name);
	for (size_t i = 0; rc == NB_OK && i < job->group_count; i++)
		rc = job_assign(job, &job->groups[i], key, value);
	return rc;
}

/** `section` is NULL if the assignment names none. */
static int
set_by_names(struct nb_job *job, const char *section, const char *name, const char *value)
{
	struct job_key share;
	const struct job_key *key = job_keys_find(name);
	if (key == NULL && job_kind_key(job, name, &share))
		key = &share;
	if (key == NULL)
		return job_refuse_key(name);
	if (section == NULL || strcmp(section, "workload") == 0)
		return set_of_all(job, key, value);
	struct nb_group *group = find_group(job, section);
	if (group == NULL)
		return refuse_group(job, section);
	return job_assign(job, group, key, value);
}

/** Whether the text begins with "target." or "target NAME.". */
static bool
is_of_target(const char *text)
{
	static const char word[] = "target";
	size_t length = strlen(word);
	return strncmp(text, word, length) == 0 && (text[length] == '.' || text[length] == ' ');
}

/** `name` is "target.KEY" or "target NAME.KEY"; it is modified. */
static int
set_target(struct nb_job *job, char *name, const char *value)
{
	char *dot = strchr(name, '.');
	if (dot == NULL)
		return error_set(
			NB_ERR_USAGE, "'%.*s' is not target NAME.KEY", JOB_QUOTE_MAX, name);
	const char *engine = lines_trim(name + strlen("target"), dot);
	int rc = job_target_find(job, engine) == NULL ? job_target_add(job, engine) : NB_OK;
	return rc == NB_OK ? job_target_set(job_target_find(job, engine), dot + 1, value) : rc;
}

int
nb_job_set(struct nb_job *job, const char *assignment)
{
	char *copy = strdup(assignment);
	if (copy == NULL)
		return error_memory();
	char *equals = strchr(copy, '='), *section = NULL, *key = copy;
	int rc;
	if (equals == NULL) {
		rc = error_set(NB_ERR_USAGE, "'%.*s' is not [SECTION.]KEY=VALUE", JOB_QUOTE_MAX,
			assignment);
	} else {
		char *value = lines_trim(equals + 1, equals + 1 + strlen(equals + 1));
		*equals = '\0';
		char *dot = strrchr(copy, '.');
		if (is_of_target(copy)) {
			lines_trim(copy, equals);
			rc = set_target(job, copy, value);
		} else {
			if (dot != NULL) {
				section = lines_trim(copy, dot);
				key = dot + 1;
			}
			rc = set_by_names(job, section, lines_trim(key, equals), value);
		}
	}
	free(copy);
	if (rc == NB_OK)
		tao_job_settle(job);
	return rc;
}

int
nb_job_add_group(struct nb_job *job, const char *name)
{
	if (job->group_count == 0 || job->group_count == NB_GROUPS_MAX)
		return error_set(NB_ERR_USAGE, "a job has 1 to %u groups", NB_GROUPS_MAX);
	/* A copy, because adding a group moves the groups. Its pointers are borrowed. */
	struct nb_group last = job->groups[job->group_count - 1];
	int rc = job_name_check(name);
	if (rc == NB_OK)
		rc = job_add_group(job, &last, name);
	if (rc == NB_OK)
		job->groups[job->group_count - 1].phase = last.phase + 1;
	return rc;
}

/* ---- writing: as a file that is read as the same job ---- */

/** Write a line, unless it is the default. */
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
write_keys(FILE *to, const void *object, const void *defaults, bool is_global, bool is_load,
	bool skips_shares)
{
	int rc = NB_OK;
	for (const struct job_key *key = job_keys; rc == NB_OK && key->said.name != NULL;
		key++) {
		bool is_own = key->said.is_global == is_global && (!is_load || key->is_of_load);
		if (is_own && !(skips_shares && key->type == JOB_SHARE))
			rc = write_key(to, key, object, defaults);
	}
	return rc;
}

/** Number of kinds to write. The kinds of a graph come from its file when the job is read. */
static size_t
own_kinds(const struct nb_job *job)
{
	return job->graph == NULL ? job->kind_count : 0;
}

static int
write_group(FILE *to, const struct nb_job *job, size_t i, const struct nb_group *defaults)
{
	struct nb_group group = job->groups[i]; /* with its phase as the value of `start` */
	group.phase = i > 0 && group.phase > job->groups[i - 1].phase;
	int rc = job_name_check(group.name);
	fprintf(to, "\n[%.47s]\n", group.name);
	for (size_t k = 0; rc == NB_OK && k < own_kinds(job); k++) {
		struct job_key share;
		if (job_kind_key(job, job->kinds[k].name, &share))
			rc = write_key(to, &share, &group, defaults);
	}
	bool is_tao = group.source == NB_SOURCE_TAO && job->graph != NULL;
	return rc == NB_OK ? write_keys(to, &group, defaults, false, false, is_tao) : rc;
}

static int
write_job(FILE *to, const struct nb_job *job, const struct nb_job *defaults)
{
	fputs("[workload]\n", to);
	int rc = write_keys(to, job, defaults, true, false, false);
	for (size_t k = 0; rc == NB_OK && k < own_kinds(job); k++)
		kind_write(to, &job->kinds[k]);
	job_targets_write(to, job);
	if (rc == NB_OK && job->load != NULL) {
		fputs("\n[load]\n", to);
		rc = write_keys(to, job->load, defaults->load, false, true, false);
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
