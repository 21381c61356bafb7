/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of a database, <path>/<driver>. A run that writes creates it with all its
 * parents. A run that only reads requires it. mininb neither removes nor writes a directory
 * that it did not create (marker.c). It may read one, because another program may have made the
 * database.
 *
 * The marker also records whether the action that makes a database has written all records. The
 * record starts when the database is open and ends when all is written and closed. So a run on
 * a database whose load was killed reports that, and does not blame the engine for missing
 * records. The main thread writes the number of records once a second: a killed load has
 * written at least that many. If the load ended in order, the number is exact. With one thread
 * it is the number of the first records. An action that needs no others may use them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "run/run.h"

/* ---- whether the database is complete ---- */

/** The action of a run that loads the database only for itself. */
#define TEMPORARY "alone" /* letters a-z */

#define NOTE_NS UINT64_C(1000000000)

static void
note(struct nb_run *run, const struct marker_load *load)
{
	if (marker_note(&run->marker, load) == NB_OK)
		return;
	log_message(NB_LOG_WARNING, "%s: %s, so a later run cannot tell how far this %s came",
		run->path, nb_error_text(), load->action);
	run->mark.is_noted = false;
}

/** "1234 of 5000 records are written", or less if less is known. */
static void
describe(char *text, size_t size, const struct marker_load *load)
{
	unsigned long long done = load->done, total = load->total;
	const char *more = load->end == MARKER_KILLED ? "at least " : "";
	if (total > 0)
		snprintf(text, size, "%s%llu of %llu records are written", more, done, total);
	else
		snprintf(text, size, "%s%llu operations are done", more, done);
}

static const char *
command_of(const struct marker_load *load)
{
	static const char *const commands[] = {
		"put", "load --workload=NAME", "run --workload=NAME", "replay --load=FILE"};
	size_t length = strlen(load->action);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strncmp(commands[i], load->action, length) == 0)
			return commands[i];
	return load->action;
}

/** Whether that load used other keys than this run. */
static bool
is_of_others(const struct nb_run *run, const struct marker_load *load)
{
	return load->keys != 0 && run->mark.keys != 0 && load->keys != run->mark.keys;
}

/** Check that all needed data was written. run->marker is open. */
static int
check_load(struct nb_run *run)
{
	const struct marker_load *load = &run->marker.load;
	char what[128];
	if (!run->marker.is_open || load->action[0] == '\0' || !run->measured.had_data ||
		is_of_others(run, load))
		return NB_OK;
	describe(what, sizeof(what), load);
	if (run->workload.verb == NB_VERB_PUT) {
		log_message(NB_LOG_WARNING,
			"%s: the last %s is unfinished: %s; this %s starts over with the first record",
			run->path, load->action, what, run->mark.makes);
		return NB_OK;
	}
	bool is_known = run->workload.key_size > 0; /* a trace may need any record */
	if (is_known && load->end == MARKER_FIRST && run->workload.count <= load->done)
		return NB_OK;
	int rc = error_set(NB_FAIL,
		"%s: its %s is unfinished: %s; repeat it with: mininb %s --driver=%s --path %s, or use --force to go on without the rest",
		run->path, load->action, what, command_of(load), run->options.driver,
		run->options.path);
	if ((run->options.flags & (NB_RUN_FORCE | NB_RUN_ALLOW_MISSING)) == 0)
		return rc;
	log_message(NB_LOG_WARNING, "%s: its %s is unfinished: %s; the rest will be missing",
		run->path, load->action, what);
	return NB_OK;
}

void
run_begin_load(struct nb_run *run)
{
	struct loading *loading = &run->mark;
	bool is_counted = strcmp(run->mark.makes, "put") == 0 ||
		strcmp(run->mark.makes, "load") == 0;
	if (run->workload.verb != NB_VERB_PUT || loading->is_noted || !run->marker.is_open ||
		!run_is_local(run))
		return;
	loading->before = run->measured.had_data ? run->marker.load : (struct marker_load){0};
	loading->now = (struct marker_load){
		.total = is_counted ? run->workload.count : 0, .keys = loading->keys};
	snprintf(loading->now.action, sizeof(loading->now.action), "%s", run->mark.makes);
	loading->noted_ns = clock_monotonic();
	loading->is_noted = true;
	note(run, &loading->now);
}

void
run_tick_load(struct nb_run *run, uint64_t done)
{
	struct loading *loading = &run->mark;
	if (!loading->is_noted || done <= loading->now.done ||
		clock_monotonic() - loading->noted_ns < NOTE_NS)
		return;
	loading->noted_ns = clock_monotonic();
	loading->now.done = done;
	note(run, &loading->now);
}

/**
 * Record after close, or after abandoning the run, whether the load is complete, or its
 * progress.
 */
static void
end_load(struct nb_run *run)
{
	struct loading *loading = &run->mark;
	const struct measurement *measured = &run->measured;
	bool is_all = measured->has_begun && !measured->is_partial && measured->has_settled;
	if (!loading->is_noted)
		return;
	if (measured->ops > loading->now.done)
		loading->now.done = measured->ops;
	if (loading->is_closed)
		loading->now.end = run->options.threads == 1 && loading->now.total > 0
			? MARKER_FIRST
			: MARKER_SCATTERED;
	if (is_all &&
		(loading->before.total > loading->now.total ||
			is_of_others(run, &loading->before)))
		note(run, &loading->before); /* that load is still unfinished */
	else if (is_all)
		note(run, &(struct marker_load){.done = 0});
	else
		note(run, &loading->now);
	loading->is_noted = false;
}

/* ---- the directory ---- */

/** The name of the directory in options.path. */
static const char *
name_of(const struct nb_run *run)
{
	return strrchr(run->path, '/') + 1;
}

/**
 * The lock of the run. Others may open the database only if the engine itself separates
 * processes.
 */
static uint32_t
lock_of(const struct nb_run *run)
{
	bool is_shared = run->workload.verb == NB_VERB_GET &&
		(run->engine->table.caps & NB_CAP_MULTI_PROCESS) != 0;
	if (run->target != NULL)
		return MARKER_EXCLUSIVE; /* the servers have their directories there */
	if (!run_is_local(run))
		return MARKER_UNLOCKED;
	return is_shared ? MARKER_SHARED : MARKER_EXCLUSIVE;
}

/** Find a directory that mininb owns, or create it, for a run that writes. */
static int
claim(struct nb_run *run)
{
	const char *path = run->options.path, *name = name_of(run);
	bool is_forced = (run->options.flags & NB_RUN_FORCE) != 0;
	bool is_asked = (run->options.flags & NB_RUN_FRESH) != 0 &&
		run->workload.verb == NB_VERB_PUT && run->servers.count == 0;
	bool is_fresh = is_asked || run->is_temporary || run->is_emptied;
	int rc = marker_allow(path, name, is_fresh, is_forced);
	if (rc == NB_OK)
		rc = nb_tree_make(run->path);
	if (rc != NB_OK)
		return rc;
	rc = marker_put(&run->marker, path, name, lock_of(run), is_forced);
	if (rc != NB_OK || !is_fresh)
		return rc;
	run->marker.load = (struct marker_load){.done = 0}; /* removed with the data */
	if (run->target != NULL)
		rc = target_wait(run->target);
	return rc == NB_OK ? marker_clear(path, name) : rc;
}

/** Report why the database to be read does not exist. */
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
		run->path, run->engine->table.name, run->made_by, run->options.driver,
		run->options.path);
}

static void
look_at_data(struct nb_run *run)
{
	run->measured.had_data = run_is_local(run) && !sysinfo_is_empty_dir(run->path);
	run->measured.had_bytes = run->measured.had_data ? sysinfo_allocated_bytes(run->path)
							 : 0;
}

/** Whether the data is left from a killed run that had loaded it only for itself. */
static bool
is_left_alone(const struct nb_run *run)
{
	struct marker marker = {.is_open = false};
	if (!run->measured.had_data ||
		marker_open(&marker, run->options.path, name_of(run), MARKER_UNLOCKED) != NB_OK)
		return false;
	bool is_left = marker.is_open && strcmp(marker.load.action, TEMPORARY) == 0;
	marker_close(&marker);
	return is_left;
}

/**
 * Decide whether the run loads its own data. A private server whose database is empty is loaded
 * for the run, like an engine that keeps nothing, and emptied after it. The same applies if the
 * marker shows that such a run was killed.
 */
static void
decide_temporary(struct nb_run *run)
{
	if (run->target == NULL || !run_is_kept(run))
		return;
	run->is_emptied = is_left_alone(run);
	run->is_temporary = (run->is_emptied || !run->measured.had_data) &&
		run->workload.verb != NB_VERB_PUT && !run->is_replay && run->job->records > 0;
}

static int
begin_temporary(struct nb_run *run)
{
	struct marker_load load = {.done = 0};
	snprintf(load.action, sizeof(load.action), "%s", TEMPORARY);
	return run->marker.is_open ? marker_note(&run->marker, &load) : NB_OK;
}

void
run_end_temporary(struct nb_run *run)
{
	if (!run->is_temporary || !run->marker.is_open || run->left.is_left)
		return;
	int rc = marker_clear(run->options.path, name_of(run));
	if (rc == NB_OK)
		rc = marker_note(&run->marker, &(struct marker_load){.done = 0});
	if (rc != NB_OK)
		log_message(NB_LOG_WARNING, "%s", nb_error_text());
}

int
run_prepare_path(struct nb_run *run)
{
	int rc;
	run_release_path(run);
	look_at_data(run);
	decide_temporary(run);
	if (run->workload.verb == NB_VERB_PUT || !run_is_local(run))
		rc = claim(run);
	else if (!run->measured.had_data)
		rc = refuse_nothing(run);
	else if (run->workload.verb != NB_VERB_GET)
		rc = claim(run);
	else
		rc = marker_open(&run->marker, run->options.path, name_of(run), lock_of(run));
	if (rc != NB_OK)
		return rc;
	look_at_data(run); /* again: now it is locked, and removed if requested */
	rc = run->is_temporary ? begin_temporary(run) : check_load(run);
	if (rc != NB_OK)
		marker_close(&run->marker);
	return rc;
}

void
run_release_path(struct nb_run *run)
{
	end_load(run);
	if (!run->left.is_left) /* a thread may still use the database */
		marker_close(&run->marker);
}
