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
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/install_path.h"
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
		return error_memory();
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
	struct engine_site *site = array_append(
		&sites->items, &sites->count, sizeof(*sites->items));
	char *copy = strndup(name, length);
	if (site != NULL && copy != NULL) {
		*site = (struct engine_site){copy, path};
		return NB_OK;
	}
	sites->count -= site != NULL;
	free(copy);
	free(path);
	return error_memory();
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
			"MININB_PLUGIN_PATH: '%s' is ignored: it does not begin with '/', so it would depend on the working directory",
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
		return error_memory();
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
	char *library = install_path_of_library(), *dir = NULL;
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
	if (rc == NB_OK && install_path_is_build_tree())
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

/* ---- whether one may be loaded ---- */

/*
 * A plugin is code that runs with all the rights of the user who started the program. For root
 * that is a way to the whole machine, so root loads none that everyone could have put there:
 * neither the file nor a directory on the way to it may be open to all. In a directory like /tmp,
 * where all may add but nobody may exchange what is another's, what comes next must be root's.
 *
 * It is less than sudo asks of its plugins, which must be root's own: a user who builds mininb at
 * home and measures with sudo runs a program from there anyway. Others than root are not asked,
 * since what they could lose there is theirs.
 *
 * A program that has more rights than its user (setuid, file capabilities) takes nothing from its
 * environment and no file that is named, as ld.so does it for LD_PRELOAD.
 */

/** Whether others could exchange what is at `path`; `holds` is of what is next on the way. */
static bool
is_open(const struct stat *st, const struct stat *holds)
{
	if ((st->st_mode & S_IWOTH) == 0)
		return false;
	bool is_sticky = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0;
	return !is_sticky || holds == NULL ||
		(holds->st_uid != 0 && holds->st_uid != geteuid());
}

/** `path` has no link in it, and is cut short from its end. */
static int
check_way(char *path, const char *plugin)
{
	struct stat st, next;
	bool has_next = false;
	for (;;) {
		if (lstat(path, &st) != 0)
			return error_system("%s", plugin);
		if (is_open(&st, has_next ? &next : NULL))
			return error_set(NB_FAIL,
				"%s: refused: everyone can write %s, and root would run their code; use chmod o-w, or load the plugin from another directory",
				plugin, path);
		char *slash = strrchr(path, '/');
		if (slash == NULL || path[1] == '\0')
			return NB_OK;
		slash[slash == path ? 1 : 0] = '\0';
		next = st;
		has_next = true;
	}
}

int
engine_check_trust(const char *path)
{
	if (getauxval(AT_SECURE) != 0 &&
		strncmp(path, NB_ENGINE_DIR "/", sizeof(NB_ENGINE_DIR)) != 0)
		return error_set(NB_FAIL,
			"%s: refused: a setuid mininb loads installed engines only", path);
	if (geteuid() != 0)
		return NB_OK;
	struct stat st;
	char *real = realpath(path, NULL);
	/* the loader refuses other things than files with a better text */
	bool is_file = real != NULL && stat(real, &st) == 0 && S_ISREG(st.st_mode);
	int rc = is_file ? check_way(real, path) : NB_OK;
	free(real);
	return rc;
}
