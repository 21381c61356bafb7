/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The search for engines: $MININB_PLUGIN_PATH, then the build tree if the program runs from it,
 * then the installed directory, then the linked-in engines. The first of a name wins. The
 * working directory is never searched, so relative parts of the variable are ignored. The
 * engine, and the code that runs, must not depend on the working directory.
 *
 * The installed directory is that of the build configuration. If it does not exist, it is the
 * one next to the library. So an installed tree can be moved as a whole.
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

/**
 * Whether to report a hidden engine. Build-tree engines are expected to hide installed ones.
 */
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

/** Add a site. Takes over `path`, also on failure or if the name exists already. */
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

/** <dir>/<name>.so; NULL: the entry is not an engine. */
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

/** Add the engines of a directory. A missing directory has none. */
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

/** Warn once, because the search runs more than once. */
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

/* ---- trust in a plugin ---- */

/*
 * A plugin is code that runs with all rights of the user who starts the program. For root,
 * these are all rights on the machine. So root loads no plugin that everyone could have put
 * there. Neither the file nor a directory above it may be writable for everyone. In a sticky
 * directory like /tmp, everyone may add files but not replace those of others. There, the next
 * component of the path must be root's.
 *
 * sudo asks more of its plugins, which must be root's own. But a user who builds mininb at home
 * and measures with sudo runs a program from there anyway. Other users than root are not
 * checked, because they risk only their own data.
 *
 * A program with more rights than its user (setuid, file capabilities) ignores its environment
 * and named files, like ld.so with LD_PRELOAD.
 */

/**
 * Whether others could replace the file at `path`; `holds` describes the next component of the
 * path.
 */
static bool
is_open(const struct stat *st, const struct stat *holds)
{
	if ((st->st_mode & S_IWOTH) == 0)
		return false;
	bool is_sticky = S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0;
	return !is_sticky || holds == NULL ||
		(holds->st_uid != 0 && holds->st_uid != geteuid());
}

/** Check all components. `path` contains no link, and is shortened from its end. */
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
	/* for other files than regular ones, the loader's error text is better */
	bool is_file = real != NULL && stat(real, &st) == 0 && S_ISREG(st.st_mode);
	int rc = is_file ? check_way(real, path) : NB_OK;
	free(real);
	return rc;
}
