/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the action that makes a database has written all of its records. The marker keeps
 * that from the moment at which the database is open until all of it is written and closed; so
 * a run on a database whose load was killed says that, and does not accuse the engine of losing
 * the rest.
 *
 * The number of records is written by the main thread, once a second. A killed load has thus
 * written at least as many. If it ended in order, the number is exact; from one thread it is
 * that of the first records, and an action that needs no others may use them.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "run/run.h"

#define NOTE_NS UINT64_C(1000000000)

static void
note(struct nb_run *run, const struct marker_load *load)
{
	if (marker_note(&run->marker, load) == NB_OK)
		return;
	log_message(NB_LOG_WARNING, "%s: %s, so a later run does not know how far this %s came",
		run->path, nb_error_text(), load->action);
	run->mark.is_noted = false;
}

static const char *
makes(const struct nb_run *run)
{
	return run->mark.makes != NULL ? run->mark.makes : "put";
}

/** "1234 of 5000 records", or fewer words if less is known. */
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

/** Whether that load wrote other keys than this run uses. */
static bool
is_of_others(const struct nb_run *run, const struct marker_load *load)
{
	return load->keys != 0 && run->mark.keys != 0 && load->keys != run->mark.keys;
}

int
run_check_load(struct nb_run *run)
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
			run->path, load->action, what, makes(run));
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
	bool is_counted = strcmp(makes(run), "put") == 0 || strcmp(makes(run), "load") == 0;
	if (run->workload.verb != NB_VERB_PUT || loading->is_noted || !run->marker.is_open ||
		!run_is_kept(run))
		return;
	loading->before = run->measured.had_data ? run->marker.load : (struct marker_load){0};
	loading->now = (struct marker_load){
		.total = is_counted ? run->workload.count : 0, .keys = loading->keys};
	snprintf(loading->now.action, sizeof(loading->now.action), "%s", makes(run));
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

void
run_end_load(struct nb_run *run)
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
		note(run, &loading->before); /* this did not write all of its records */
	else if (is_all)
		note(run, &(struct marker_load){.done = 0});
	else
		note(run, &loading->now);
	loading->is_noted = false;
}
