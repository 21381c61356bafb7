/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mininb searches presets in $MININB_WORKLOAD_PATH, then in the source directory if it runs
 * from its build directory, then in the installed directory. The first one found is used. It
 * never searches the working directory, so a name has the same meaning everywhere. A user's
 * file has a '/' or .ini in its name. NAME.ini is the preset NAME; a file *.presets has a
 * section [preset NAME] for each preset.
 *
 * If the configured directory does not exist, mininb uses the one relative to the library, so
 * an installed tree can be moved as a whole.
 */
#include "workload/job.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/ini.h"
#include "base/install_path.h"

struct list {
	struct nb_preset *items;
	size_t count;
};

static void
destroy_list(struct list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].name);
		free(list->items[i].path);
		free(list->items[i].summary);
	}
	free(list->items);
}

void
nb_presets_delete(struct nb_preset *presets)
{
	struct list list = {.items = presets};
	while (presets != NULL && presets[list.count].name != NULL)
		list.count++;
	destroy_list(&list);
}

static bool
has_preset(const struct list *list, const char *name, size_t length)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strncmp(list->items[i].name, name, length) == 0 &&
			list->items[i].name[length] == '\0')
			return true;
	}
	return false;
}

/** Add a preset, unless the name exists. */
static int
add_preset(struct list *list, const char *path, const char *name, size_t length)
{
	if (has_preset(list, name, length))
		return NB_OK;
	struct nb_preset *preset = array_append(&list->items, &list->count, sizeof(*preset));
	if (preset == NULL)
		return NB_FAIL;
	preset->name = strndup(name, length);
	preset->path = strdup(path);
	return preset->name != NULL && preset->path != NULL ? NB_OK : error_memory();
}

static bool
ends_in(const char *name, const char *suffix)
{
	size_t length = strlen(name), wanted = strlen(suffix);
	return length > wanted && strcmp(name + length - wanted, suffix) == 0;
}

bool
presets_is_family(const char *path)
{
	return ends_in(path, ".presets");
}

/** Argument of add_family_line(). */
struct family {
	struct list *list;
	const char *path;
};

static int
add_family_line(void *arg, const struct ini_line *line)
{
	static const char preset[] = "preset ";
	struct family *family = arg;
	if (line->key != NULL || strncmp(line->section, preset, sizeof(preset) - 1) != 0)
		return NB_OK;
	const char *name = line->section + sizeof(preset) - 1;
	return add_preset(family->list, family->path, name, strlen(name));
}

/** Add the presets of one file. */
static int
add_file(struct list *list, const char *dir, const char *name)
{
	bool is_family = presets_is_family(name);
	char *path;
	if (name[0] == '.' || (!is_family && !ends_in(name, ".ini")))
		return NB_OK;
	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return error_memory();
	struct family family = {list, path};
	int rc = is_family ? ini_read(path, add_family_line, &family)
			   : add_preset(list, path, name, strlen(name) - strlen(".ini"));
	free(path);
	return rc;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/** A missing directory has no presets. */
static int
add_dir(struct list *list, const char *dir)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, NULL, by_name);
	int rc = NB_OK;
	for (int i = 0; i < count; i++) {
		if (rc == NB_OK)
			rc = add_file(list, dir, entries[i]->d_name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return rc;
}

static int
add_path_variable(struct list *list)
{
	const char *variable = getenv("MININB_WORKLOAD_PATH");
	char *copy = strdup(variable != NULL ? variable : ""), *rest = copy;
	if (copy == NULL)
		return error_memory();
	int rc = NB_OK;
	for (char *dir; rc == NB_OK && (dir = strsep(&rest, ":")) != NULL;) {
		if (dir[0] != '\0')
			rc = add_dir(list, dir);
	}
	free(copy);
	return rc;
}

static int
add_installed(struct list *list)
{
	if (access(NB_WORKLOAD_DIR, F_OK) == 0)
		return add_dir(list, NB_WORKLOAD_DIR);
	char *library = install_path_of_library(), *dir = NULL;
	int rc = NB_OK;
	if (library != NULL && asprintf(&dir, "%s/" NB_WORKLOAD_DIR_FROM_LIB, library) >= 0)
		rc = add_dir(list, dir);
	free(dir);
	free(library);
	return rc;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(((const struct nb_preset *)a)->name, ((const struct nb_preset *)b)->name);
}

/** Names and paths, sorted by name, and a final zero element. */
static int
find_all(struct list *list)
{
	*list = (struct list){0};
	int rc = add_path_variable(list);
	if (rc == NB_OK && install_path_is_build_tree())
		rc = add_dir(list, NB_SOURCE_ROOT "/extra/workloads");
	if (rc == NB_OK)
		rc = add_installed(list);
	if (rc == NB_OK && list->count > 0)
		qsort(list->items, list->count, sizeof(list->items[0]), compare_names);
	if (rc == NB_OK &&
		array_append(&list->items, &list->count, sizeof(*list->items)) == NULL)
		rc = NB_FAIL;
	if (rc == NB_OK)
		list->count--;
	else
		destroy_list(list);
	return rc;
}

static int
refuse(const struct list *list, const char *name)
{
	const char **names = calloc(list->count + 1, sizeof(names[0]));
	if (names == NULL)
		return error_memory();
	for (size_t i = 0; i < list->count; i++)
		names[i] = list->items[i].name;
	const char *near = nb_nearest(name, names, list->count);
	int rc = error_set(NB_ERR_USAGE,
		"unknown workload '%s'%s%s%s 'mininb workloads' lists all. A file of your own needs a '/' or .ini in its name",
		name, near != NULL ? ", did you mean '" : ".", near != NULL ? near : "",
		near != NULL ? "'?" : "");
	free(names);
	return rc;
}

int
presets_find(char **out, const char *name)
{
	struct list list;
	int rc = find_all(&list);
	if (rc != NB_OK)
		return rc;
	struct nb_preset *found = NULL;
	for (size_t i = 0; i < list.count; i++) {
		if (strcmp(list.items[i].name, name) == 0)
			found = &list.items[i];
	}
	if (found != NULL) {
		*out = found->path;
		found->path = NULL;
	} else {
		rc = refuse(&list, name);
	}
	destroy_list(&list);
	return rc;
}

/** Find DIR/taobench/NAME for the directories of a colon-separated list. */
static int
find_in(char **out, const char *dirs, const char *name)
{
	char *copy = strdup(dirs), *rest = copy, *path = NULL;
	int rc = copy != NULL ? NB_OK : error_memory();
	for (char *dir; rc == NB_OK && *out == NULL && (dir = strsep(&rest, ":")) != NULL;) {
		if (dir[0] == '\0')
			continue;
		if (asprintf(&path, "%s/taobench/%s", dir, name) < 0)
			rc = error_memory();
		else if (access(path, R_OK) == 0)
			*out = path;
		else
			free(path);
	}
	free(copy);
	return rc;
}

int
presets_find_graph(char **out, const char *name)
{
	const char *variable = getenv("MININB_WORKLOAD_PATH");
	char *library = install_path_of_library(), *dir = NULL;
	int rc = NB_OK;
	*out = strchr(name, '/') != NULL ? strdup(name) : NULL;
	if (*out == NULL && strchr(name, '/') != NULL)
		rc = error_memory();
	if (rc == NB_OK && *out == NULL && variable != NULL)
		rc = find_in(out, variable, name);
	if (rc == NB_OK && *out == NULL && install_path_is_build_tree())
		rc = find_in(out, NB_SOURCE_ROOT "/extra/workloads", name);
	if (rc == NB_OK && *out == NULL)
		rc = find_in(out, NB_WORKLOAD_DIR, name);
	if (rc == NB_OK && *out == NULL && library != NULL &&
		asprintf(&dir, "%s/" NB_WORKLOAD_DIR_FROM_LIB, library) >= 0)
		rc = find_in(out, dir, name);
	free(dir);
	free(library);
	if (rc == NB_OK && *out == NULL)
		rc = error_set(NB_ERR_USAGE,
			"mininb has no workload file '%.60s'; name a file of your own with a '/', such as ./%.60s",
			name, name);
	return rc;
}

/** For a preset that cannot be read, the summary is the reason. */
static int
summarise(struct nb_preset *preset)
{
	struct nb_job *job = NULL;
	int rc = nb_job_read(&job, preset->name);
	const char *summary = rc != NB_OK ? nb_error_text() : job->summary;
	preset->summary = strdup(summary != NULL ? summary : "");
	nb_job_delete(job);
	return preset->summary != NULL ? NB_OK : error_memory();
}

int
nb_presets_list(struct nb_preset **out)
{
	struct list list;
	int rc = find_all(&list);
	if (rc != NB_OK)
		return rc;
	for (size_t i = 0; rc == NB_OK && i < list.count; i++)
		rc = summarise(&list.items[i]);
	if (rc == NB_OK)
		*out = list.items;
	else
		destroy_list(&list);
	return rc;
}
