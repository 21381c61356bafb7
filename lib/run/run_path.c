/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of a database, <path>/<driver>: made with all its parents for
 * what writes, asked for by what only reads.
 */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "run/run.h"

static int
make_one(const char *path)
{
	struct stat st;
	if (mkdir(path, 0777) == 0)
		return NB_OK;
	if (errno != EEXIST)
		return error_system("%s: directory cannot be made", path);
	if (stat(path, &st) != 0)
		return error_system("%s", path);
	if (!S_ISDIR(st.st_mode))
		return error_set(NB_FAIL, "%s: is not a directory", path);
	return NB_OK;
}

static int
make_all(const char *path)
{
	char *copy = strdup(path);
	if (copy == NULL)
		return error_set(NB_FAIL, "%s: out of memory", path);
	int rc = NB_OK;
	for (char *slash = copy + 1; rc == NB_OK && (slash = strchr(slash, '/')) != NULL;
		slash++) {
		*slash = '\0';
		rc = make_one(copy);
		*slash = '/';
	}
	if (rc == NB_OK)
		rc = make_one(copy);
	free(copy);
	return rc;
}

static int
remove_entry(const char *path, const struct stat *info, int type, struct FTW *at)
{
	(void)info;
	(void)type;
	return at->level == 0 ? 0 : remove(path); /* it may be a mount point */
}

/** All that is in the directory; a symbolic link as such, and nothing of other mounts. */
static int
empty(const char *path)
{
	if (sysinfo_is_empty_dir(path))
		return NB_OK;
	if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0 ||
		!sysinfo_is_empty_dir(path))
		return error_system("%s: the database that is there cannot be removed", path);
	return NB_OK;
}

int
run_prepare_path(struct nb_run *run)
{
	bool is_kept = (run->engine->table.caps & NB_CAP_PERSISTENT) != 0;
	if ((run->options.flags & NB_RUN_FRESH) != 0 && run->workload.verb == NB_VERB_PUT) {
		int rc = empty(run->path);
		if (rc != NB_OK)
			return rc;
	}
	run->measured.had_data = is_kept && !sysinfo_is_empty_dir(run->path);
	run->measured.had_bytes = run->measured.had_data ? sysinfo_allocated_bytes(run->path)
							 : 0;
	if (run->workload.verb == NB_VERB_PUT || !is_kept)
		return make_all(run->path);
	if (run->measured.had_data)
		return NB_OK;
	struct stat st;
	bool is_there = stat(run->path, &st) == 0;
	if (!is_there && errno != ENOENT)
		return error_system("%s", run->path);
	if (is_there && !S_ISDIR(st.st_mode))
		return error_set(NB_FAIL, "%s: is not a directory", run->path);
	if (is_there && access(run->path, R_OK | X_OK) != 0)
		return error_system("%s", run->path);
	return error_set(NB_FAIL,
		"%s: holds no database of %s; make one with: mininb %s --driver=%s "
		"--path %s",
		run->path, run->engine->table.name,
		run->made_by != NULL ? run->made_by : "--action=put", run->options.driver,
		run->options.path);
}
