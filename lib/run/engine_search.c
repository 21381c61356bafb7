/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where engines are: $MININB_PLUGIN_PATH, then the build tree if the program
 * runs from it, then the installed directory, then those that are linked in.
 * The first of a name wins. Never the working directory, and so no part of the
 * variable that is relative: what is measured, and what code is run, must not
 * depend on where one stands.
 *
 * The installed directory is the one the build was told; if it is not there,
 * the one beside the library, so that a tree that was moved as a whole works.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/place.h"
#include "run/engine.h"

static const char *const builtin_names[] = {"memory", "null"};

static const struct engine_site *
find_site(const struct engine_sites *sites, const char *name, size_t length)
{
	for (size_t i = 0; i < sites->count; i++)
		if (strncmp(sites->items[i].name, name, length) == 0 &&
			sites->items[i].name[length] == '\0')
			return &sites->items[i];
	return NULL;
}

/** Engines of a build tree hide those that are installed, which surprises nobody. */
static bool
is_surprise(const struct engine_site *site, const char *path)
{
	return site->path != NULL &&
		strncmp(site->path, NB_BUILD_ROOT "/", strlen(NB_BUILD_ROOT "/")) != 0 &&
		(path == NULL || strcmp(path, site->path) != 0);
}

static int
add_hidden(struct engine_sites *sites, const struct engine_site *site, const char *path)
{
	char *lines;
	if (asprintf(&lines, "%s%s%s: hidden by %s\n",
		    sites->hidden != NULL ? sites->hidden : "",
		    path != NULL ? path : site->name, path != NULL ? "" : " (linked in)",
		    site->path) < 0)
		return error_set(NB_FAIL, "engines: out of memory");
	free(sites->hidden);
	sites->hidden = lines;
	return NB_OK;
}

/** Takes `path` over, also when it fails or the name is there already. */
static int
add_site(struct engine_sites *sites, const char *name, size_t length, char *path)
{
	const struct engine_site *first = find_site(sites, name, length);
	if (first != NULL) {
		int rc = is_surprise(first, path) ? add_hidden(sites, first, path) : NB_OK;
		free(path);
		return rc;
	}
	struct engine_site *items = realloc(
		sites->items, (sites->count + 1) * sizeof(*sites->items));
	char *copy = strndup(name, length);
	if (items != NULL)
		sites->items = items;
	if (items == NULL || copy == NULL) {
		free(copy);
		free(path);
		return error_set(NB_FAIL, "engines: out of memory");
	}
	sites->items[sites->count++] = (struct engine_site){copy, path};
	return NB_OK;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/** <dir>/<name>.so; NULL: the entry is something else. */
static char *
site_path(const char *dir, const char *entry)
{
	size_t length = strlen(entry);
	char *path = NULL;
	if (entry[0] == '.' || length <= 3 || strcmp(entry + length - 3, ".so") != 0 ||
		asprintf(&path, "%s/%s", dir, entry) < 0)
		return NULL;
	if (access(path, F_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/** A directory that is not there has no engines. */
static int
add_dir(struct engine_sites *sites, const char *dir)
{
	struct dirent **entries;
	int count = scandir(dir, &entries, NULL, by_name);
	if (count < 0)
		return NB_OK;
	int rc = NB_OK;
	for (int i = 0; i < count; i++) {
		const char *entry = entries[i]->d_name;
		char *path = site_path(dir, entry);
		if (path != NULL && rc == NB_OK)
			rc = add_site(sites, entry, strlen(entry) - strlen(".so"), path);
		else
			free(path);
		free(entries[i]);
	}
	free(entries);
	return rc;
}

/** Once: engines are looked for more than once. */
static void
warn_of_relative(const char *dir)
{
	static int was_told;
	if (__atomic_exchange_n(&was_told, 1, __ATOMIC_RELAXED) == 0)
		log_message(NB_LOG_WARNING,
			"MININB_PLUGIN_PATH: '%s' is left out: it does not begin with '/', and what it is would depend on the working directory",
			dir);
}

static int
add_path_variable(struct engine_sites *sites)
{
	const char *variable = secure_getenv("MININB_PLUGIN_PATH");
	if (variable == NULL)
		return NB_OK;
	char *copy = strdup(variable);
	if (copy == NULL)
		return error_set(NB_FAIL, "engines: out of memory");
	int rc = NB_OK;
	char *rest = copy;
	for (char *dir; rc == NB_OK && (dir = strsep(&rest, ":")) != NULL;)
		if (dir[0] == '/')
			rc = add_dir(sites, dir);
		else if (dir[0] != '\0')
			warn_of_relative(dir);
	free(copy);
	return rc;
}

static int
add_installed(struct engine_sites *sites)
{
	if (access(NB_ENGINE_DIR, F_OK) == 0)
		return add_dir(sites, NB_ENGINE_DIR);
	char *library = place_of_library(), *dir = NULL;
	int rc = NB_OK;
	if (library != NULL && asprintf(&dir, "%s/mininb/plugins", library) >= 0)
		rc = add_dir(sites, dir);
	free(dir);
	free(library);
	return rc;
}

int
engine_sites_create(struct engine_sites *sites)
{
	*sites = (struct engine_sites){0};
	int rc = add_path_variable(sites);
	if (rc == NB_OK && place_is_build_tree())
		rc = add_dir(sites, NB_BUILD_ROOT "/plugins");
	if (rc == NB_OK)
		rc = add_installed(sites);
	for (size_t i = 0; rc == NB_OK && i < sizeof(builtin_names) / sizeof(*builtin_names);
		i++)
		rc = add_site(sites, builtin_names[i], strlen(builtin_names[i]), NULL);
	if (rc != NB_OK)
		engine_sites_destroy(sites);
	return rc;
}

void
engine_sites_destroy(struct engine_sites *sites)
{
	for (size_t i = 0; i < sites->count; i++) {
		free(sites->items[i].name);
		free(sites->items[i].path);
	}
	free(sites->items);
	free(sites->hidden);
	*sites = (struct engine_sites){0};
}

const char engines_missing[] = NB_ENGINES_MISSING;

const char *
engine_missing_next(const char *at, struct engine_missing *out)
{
	const char *equals = strchr(at, '=');
	const char *end = equals == NULL ? NULL : strchr(equals, ';');
	if (end == NULL)
		return NULL;
	snprintf(out->name, sizeof(out->name), "%.*s", (int)(equals - at), at);
	snprintf(out->reason, sizeof(out->reason), "%.*s", (int)(end - equals - 1), equals + 1);
	return end + 1;
}
