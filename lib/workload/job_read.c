/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads jobs from files.
 *
 * A duplicate key in a section is rejected, and so is a duplicate section, because the first
 * one is easily overlooked in a long file. [workload] comes first, because its keys are
 * defaults of all groups.
 *
 * A file of several presets has a section [preset NAME] before the sections of each preset. Its
 * keys are those of [workload]. The keys of the file's own [workload] are defaults of all its
 * presets.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/ini.h"
#include "workload/job.h"
#include "target/spec.h"
#include "workload/kinds.h"
#include "workload/tao_job.h"

struct reader {
	struct nb_job *job;
	/* The preset to read in a file of several; NULL: the file is one job. */
	const char *preset;
	bool is_skipped; /* skip the sections of another preset */
	bool has_preset; /* the preset was found */
	struct nb_group defaults;
	bool is_workload;               /* the section is [workload] */
	struct nb_group *group;         /* of the section; in [workload]: the defaults */
	struct nb_kind *kind;           /* of the section; NULL: another section */
	struct nb_target *target;       /* likewise */
	struct target_spec target_keys; /* keys that the section has */
	/* line of each key, then of each kind, in the section; 0: not present */
	size_t key_lines[JOB_KEYS_MAX + NB_KINDS_MAX];
	size_t workload_line, load_line, group_lines[NB_GROUPS_MAX];
};

static int
begin_workload(struct reader *reader, const struct ini_line *line)
{
	if (reader->workload_line > 0)
		return error_set(NB_ERR_USAGE, "[workload] is already in line %zu",
			reader->workload_line);
	if (reader->load_line > 0 || reader->job->group_count > 0)
		return error_set(NB_ERR_USAGE,
			"[workload] must be the first section: its keys are defaults of the groups after it");
	reader->workload_line = line->number;
	reader->is_workload = true;
	reader->group = &reader->defaults;
	return NB_OK;
}

static int
begin_load(struct reader *reader, const struct ini_line *line)
{
	if (reader->load_line > 0)
		return error_set(
			NB_ERR_USAGE, "[load] is already in line %zu", reader->load_line);
	reader->load_line = line->number;
	reader->group = reader->job->load;
	return NB_OK;
}

static int
begin_group(struct reader *reader, const struct ini_line *line)
{
	struct nb_job *job = reader->job;
	int rc = job_name_check(line->section);
	if (rc != NB_OK)
		return rc;
	for (size_t i = 0; i < job->group_count; i++) {
		if (strcmp(job->groups[i].name, line->section) == 0)
			return error_set(NB_ERR_USAGE, "[%s] is already in line %zu",
				line->section, reader->group_lines[i]);
	}
	if (job->group_count == NB_GROUPS_MAX)
		return error_set(NB_ERR_USAGE, "more than %u groups", NB_GROUPS_MAX);
	rc = job_add_group(job, &reader->defaults, line->section);
	if (rc != NB_OK)
		return rc;
	reader->group_lines[job->group_count - 1] = line->number;
	reader->group = &job->groups[job->group_count - 1];
	return NB_OK;
}

static int
begin_kind(struct reader *reader, const char *name)
{
	struct nb_job *job = reader->job;
	int rc = kind_add(job, name);
	if (rc == NB_OK)
		reader->kind = &job->kinds[job->kind_count - 1];
	return rc;
}

/** [target] or [target NAME]. */
static int
begin_target(struct reader *reader, const struct ini_line *line)
{
	struct nb_job *job = reader->job;
	const char *name = line->section + strlen("target");
	name += strspn(name, " \t");
	if (job_target_find(job, name) != NULL)
		return error_set(NB_ERR_USAGE, "[%s] comes twice", line->section);
	int rc = job_target_add(job, name);
	if (rc == NB_OK)
		reader->target = job_target_find(job, name);
	return rc;
}

static int
take_target_key(struct reader *reader, const struct ini_line *line)
{
	if (target_spec_has(&reader->target_keys, line->key))
		return error_set(
			NB_ERR_USAGE, "'%s' comes twice in [%s]", line->key, line->section);
	int rc = target_spec_set(&reader->target_keys, line->key, line->value);
	return rc == NB_OK ? job_target_set(reader->target, line->key, line->value) : rc;
}

/** [preset NAME]: further keys of [workload]. */
static int
begin_preset(struct reader *reader, const char *name)
{
	if (reader->preset == NULL)
		return error_set(NB_ERR_USAGE,
			"[preset %.*s] is for files of several presets, *.presets",
			JOB_QUOTE_MAX, name);
	reader->is_skipped = strcmp(name, reader->preset) != 0;
	if (reader->is_skipped)
		return NB_OK;
	if (reader->has_preset)
		return error_set(NB_ERR_USAGE, "[preset %s] comes twice", name);
	reader->has_preset = true;
	reader->is_workload = true;
	reader->group = &reader->defaults;
	return NB_OK;
}

static int
begin_section(struct reader *reader, const struct ini_line *line)
{
	static const char preset[] = "preset ";
	bool is_preset = strncmp(line->section, preset, sizeof(preset) - 1) == 0;
	if (reader->is_skipped && !is_preset)
		return NB_OK;
	memset(reader->key_lines, 0, sizeof(reader->key_lines));
	target_spec_destroy(&reader->target_keys);
	reader->is_workload = false;
	reader->kind = NULL;
	reader->target = NULL;
	if (is_preset)
		return begin_preset(reader, line->section + sizeof(preset) - 1);
	if (strcmp(line->section, "target") == 0 || strncmp(line->section, "target ", 7) == 0)
		return begin_target(reader, line);
	if (strncmp(line->section, "kind ", 5) == 0)
		return begin_kind(reader, line->section + 5);
	if (strcmp(line->section, "workload") == 0)
		return begin_workload(reader, line);
	if (strcmp(line->section, "load") == 0)
		return begin_load(reader, line);
	return begin_group(reader, line);
}

static int
take_line(void *arg, const struct ini_line *line)
{
	struct reader *reader = arg;
	if (line->key == NULL)
		return begin_section(reader, line);
	if (reader->is_skipped)
		return NB_OK;
	if (reader->target != NULL)
		return take_target_key(reader, line);
	if (reader->kind != NULL)
		return kind_set(reader->kind, line->key, line->value);
	struct job_key share;
	const struct job_key *key = job_keys_find(line->key);
	if (key == NULL && job_kind_key(reader->job, line->key, &share))
		key = &share;
	if (key == NULL)
		return job_refuse_key(line->key);
	if (line->section == NULL)
		return error_set(NB_ERR_USAGE,
			"'%s' is before the first section; begin with [workload]", line->key);
	size_t *key_line = key == &share
		? &reader->key_lines[JOB_KEYS_MAX + kind_find(reader->job, line->key)]
		: &reader->key_lines[key - job_keys];
	if (*key_line > 0)
		return error_set(NB_ERR_USAGE, "'%s' is already in line %zu of [%s]", line->key,
			*key_line, line->section);
	*key_line = line->number;
	bool is_of_job = reader->is_workload && key->said.is_global;
	return job_assign(reader->job, is_of_job ? NULL : reader->group, key, line->value);
}

static int
read_file(struct reader *reader, const char *path)
{
	int rc = path != NULL ? ini_read(path, take_line, reader) : NB_OK;
	if (rc == NB_OK && reader->job->group_count == 0)
		rc = job_add_group(reader->job, &reader->defaults, "run");
	return rc;
}

/** `path` NULL: no file; `preset`: the preset to read in a file of several, or NULL. */
static int
read_job(struct nb_job **out, const char *name, const char *path, const char *preset)
{
	struct reader reader = {.preset = preset};
	int rc = job_create(&reader.job, name);
	if (rc != NB_OK)
		return rc;
	rc = job_group_create(&reader.defaults, "defaults");
	if (rc == NB_OK) {
		rc = read_file(&reader, path);
		job_group_destroy(&reader.defaults);
		target_spec_destroy(&reader.target_keys);
	}
	if (rc == NB_OK)
		tao_job_settle(*out = reader.job);
	else
		nb_job_delete(reader.job);
	return rc;
}

static bool
is_file_name(const char *name)
{
	size_t length = strlen(name);
	return strchr(name, '/') != NULL ||
		(length > 4 && strcmp(name + length - 4, ".ini") == 0);
}

int
nb_job_read(struct nb_job **out, const char *name)
{
	if (name == NULL)
		return read_job(out, "by hand", NULL, NULL);
	if (is_file_name(name))
		return read_job(out, name, name, NULL);
	char *path = NULL;
	int rc = presets_find(&path, name);
	if (rc == NB_OK)
		rc = read_job(out, name, path, presets_is_family(path) ? name : NULL);
	free(path);
	return rc;
}
