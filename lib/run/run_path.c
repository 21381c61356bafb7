/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of a database, <path>/<driver>: made with all its parents for
 * what writes, asked for by what only reads. What was not made by mininb is neither removed nor
 * written (marker.c); it may be read, as a database that another program made.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "run/marker.h"
#include "run/run.h"

/** Of the directory in options.path. */
static const char *
name_of(const struct nb_run *run)
{
	return strrchr(run->path, '/') + 1;
}

/** Others may only have it open where the engine itself keeps processes apart. */
static uint32_t
lock_of(const struct nb_run *run)
{
	uint32_t caps = run->engine->table.caps;
	if ((caps & NB_CAP_PERSISTENT) == 0)
		return MARKER_UNLOCKED;
	bool is_shared = run->workload.verb == NB_VERB_GET &&
		(caps & NB_CAP_MULTI_PROCESS) != 0;
	return is_shared ? MARKER_SHARED : MARKER_EXCLUSIVE;
}

/** What writes is to find a directory of ours, or makes it one. */
static int
claim(struct nb_run *run)
{
	const char *path = run->options.path, *name = name_of(run);
	bool is_forced = (run->options.flags & NB_RUN_FORCE) != 0;
	bool is_fresh = (run->options.flags & NB_RUN_FRESH) != 0 &&
		run->workload.verb == NB_VERB_PUT;
	int rc = is_fresh ? marker_allow_clear(path, name, is_forced)
			  : marker_allow(path, name, is_forced);
	if (rc == NB_OK)
		rc = nb_tree_make(run->path);
	if (rc != NB_OK)
		return rc;
	rc = marker_put(&run->marker, path, name, lock_of(run), is_forced);
	if (rc != NB_OK || !is_fresh)
		return rc;
	run->marker.load = (struct marker_load){.done = 0}; /* goes with what it is of */
	return marker_clear(path, name);
}

/** Why a database that is to be read is not there. */
static int
refuse_nothing(const struct nb_run *run)
{
	struct stat st;
	bool is_there = stat(run->path, &st) == 0;
	if (!is_there && errno != ENOENT)
		return error_system("%s", run->path);
	if (is_there && !S_ISDIR(st.st_mode))
		return error_set(NB_FAIL, "%s: is not a directory", run->path);
	if (is_there && access(run->path, R_OK | X_OK) != 0)
		return error_system("%s", run->path);
	return error_set(NB_FAIL,
		"%s: holds no database of %s; make one with: mininb %s --driver=%s --path %s",
		run->path, run->engine->table.name,
		run->made_by != NULL ? run->made_by : "--action=put", run->options.driver,
		run->options.path);
}

static void
look_at_data(struct nb_run *run)
{
	bool is_kept = (run->engine->table.caps & NB_CAP_PERSISTENT) != 0;
	run->measured.had_data = is_kept && !sysinfo_is_empty_dir(run->path);
	run->measured.had_bytes = run->measured.had_data ? sysinfo_allocated_bytes(run->path)
							 : 0;
}

int
run_prepare_path(struct nb_run *run)
{
	bool is_kept = (run->engine->table.caps & NB_CAP_PERSISTENT) != 0;
	int rc;
	run_release_path(run);
	look_at_data(run);
	if (run->workload.verb == NB_VERB_PUT || !is_kept)
		rc = claim(run);
	else if (!run->measured.had_data)
		rc = refuse_nothing(run);
	else if (run->workload.verb != NB_VERB_GET)
		rc = claim(run);
	else
		rc = marker_open(&run->marker, run->options.path, name_of(run), lock_of(run));
	if (rc != NB_OK)
		return rc;
	look_at_data(run); /* again, as it is locked now, and removed if that was asked for */
	rc = run_check_load(run);
	if (rc != NB_OK)
		marker_close(&run->marker);
	return rc;
}

void
run_release_path(struct nb_run *run)
{
	run_end_load(run);
	if (!run->left.is_left) /* a thread may still use the database */
		marker_close(&run->marker);
}
