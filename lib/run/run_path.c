/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of a database, <path>/<driver>: made with all its parents for
 * what writes, asked for by what only reads. What was not made by mininb is neither removed nor
 * written (marker.c); it may be read, as a database that another program made.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "run/marker.h"
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

/** Of the directory in options.path. */
static const char *
name_of(const struct nb_run *run)
{
	return strrchr(run->path, '/') + 1;
}

/** What writes is to find a directory of ours, or makes it one. */
static int
claim(const struct nb_run *run)
{
	const char *path = run->options.path, *name = name_of(run);
	bool is_forced = (run->options.flags & NB_RUN_FORCE) != 0;
	int rc = marker_allow(path, name, is_forced);
	if (rc == NB_OK)
		rc = make_all(run->path);
	if (rc != NB_OK)
		return rc;
	rc = marker_put(path, name);
	if (rc == NB_OK || !is_forced)
		return rc;
	log_message(NB_LOG_WARNING, "%s; next time --force is needed again", nb_error_text());
	return NB_OK;
}

int
run_prepare_path(struct nb_run *run)
{
	bool is_kept = (run->engine->table.caps & NB_CAP_PERSISTENT) != 0;
	if ((run->options.flags & NB_RUN_FRESH) != 0 && run->workload.verb == NB_VERB_PUT) {
		int rc = marker_clear(run->options.path, name_of(run),
			(run->options.flags & NB_RUN_FORCE) != 0);
		if (rc != NB_OK)
			return rc;
	}
	run->measured.had_data = is_kept && !sysinfo_is_empty_dir(run->path);
	run->measured.had_bytes = run->measured.had_data ? sysinfo_allocated_bytes(run->path)
							 : 0;
	if (run->workload.verb == NB_VERB_PUT || !is_kept)
		return claim(run);
	if (run->measured.had_data)
		return run->workload.verb == NB_VERB_GET ? NB_OK : claim(run);
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
