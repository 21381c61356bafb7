/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where presets are: $MININB_WORKLOAD_PATH, then the source tree if the program runs
 * from its build tree, then the installed directory. The first of a name wins. Never the
 * working directory, so that a name means the same wherever one stands; a file of one's
 * own is named with a '/' or its .ini.
 *
 * The installed directory is the one the build was told; if it is not there, the one
 * that lies to the library as it would have, so that a tree that was moved as a whole
 * works.
 */
#include "workload/presets.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/place.h"

struct list {
	struct nb_preset *items;
	size_t count;
};

static void
destroy_preset(struct nb_preset *preset)
{
	free(preset->name);
	free(preset->path);
	free(preset->summary);
	*preset = (struct nb_preset){0};
}

void
nb_presets_delete(struct nb_preset *presets)
{
	for (size_t i = 0; presets != NULL && presets[i].name != NULL; i++)
		destroy_preset(&presets[i]);
	free(presets);
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

static int
add_preset(struct list *list, const char *dir, const char *name, size_t length)
{
	struct nb_preset *items = realloc(list->items, (list->count + 2) * sizeof(items[0]));
	if (items == NULL)
		return error_system("memory for workloads");
	list->items = items;
	struct nb_preset *preset = &items[list->count];
	*preset = (struct nb_preset){.name = strndup(name, length)};
	items[list->count + 1] = (struct nb_preset){0};
	if (preset->name == NULL ||
		asprintf(&preset->path, "%s/%s.ini", dir, preset->name) < 0) {
		preset->path = NULL;
		destroy_preset(preset);
		return error_system("memory for workloads");
	}
	list->count++;
	return NB_OK;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/** A directory that is not there has no presets. */
static int
add_dir(struct list *list, const char *dir)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, NULL, by_name);
	int rc = NB_OK;
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		size_t length = strlen(name);
		bool is_preset = name[0] != '.' && length > 4 &&
			strcmp(name + length - 4, ".ini") == 0;
		if (rc == NB_OK && is_preset && !has_preset(list, name, length - 4))
			rc = add_preset(list, dir, name, length - 4);
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
		return error_system("memory for workloads");
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
	char *library = place_of_library(), *dir = NULL;
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

/** Names and paths, by name. */
static int
find_all(struct list *list)
{
	*list = (struct list){.items = calloc(1, sizeof(list->items[0]))};
	if (list->items == NULL)
		return error_system("memory for workloads");
	int rc = add_path_variable(list);
	if (rc == NB_OK && place_is_build_tree())
		rc = add_dir(list, NB_SOURCE_ROOT "/extra/workloads");
	if (rc == NB_OK)
		rc = add_installed(list);
	if (rc != NB_OK)
		nb_presets_delete(list->items);
	else
		qsort(list->items, list->count, sizeof(list->items[0]), compare_names);
	return rc;
}

static int
refuse(const struct list *list, const char *name)
{
	const char **names = calloc(list->count + 1, sizeof(names[0]));
	if (names == NULL)
		return error_system("memory for workloads");
	char all[512] = "";
	for (size_t i = 0; i < list->count; i++) {
		size_t used = strlen(all);
		names[i] = list->items[i].name;
		snprintf(all + used, sizeof(all) - used, "%s%s", i > 0 ? ", " : "", names[i]);
	}
	const char *near = nb_nearest(name, names, list->count);
	int rc = near != NULL
		? error_set(NB_ERR_USAGE,
			  "there is no workload '%s', did you mean '%s'? A file of your own needs a '/' or .ini in its name. There are: %s",
			  name, near, all)
		: error_set(NB_ERR_USAGE,
			  "there is no workload '%s'. A file of your own needs a '/' or .ini in its name. There are: %s",
			  name, list->count > 0 ? all : "none");
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
	nb_presets_delete(list.items);
	return rc;
}

/** One that cannot be read stands in the list, too, with the reason for its summary. */
static int
summarise(struct nb_preset *preset)
{
	struct nb_job *job = NULL;
	int rc = nb_job_read(&job, preset->name);
	const char *summary = rc != NB_OK ? nb_error_text() : job->summary;
	preset->summary = strdup(summary != NULL ? summary : "");
	nb_job_delete(job);
	return preset->summary != NULL ? NB_OK : error_system("memory for workloads");
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
		nb_presets_delete(list.items);
	return rc;
}
