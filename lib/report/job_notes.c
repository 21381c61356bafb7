/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why the numbers of a job may be wrong, beside what holds for every run (notes.c).
 *
 * Thresholds: a hundredth of the time for what is waited for inserts of other threads; a
 * tenth of the median response for the harness's own lateness, where it begins to be seen.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "report/note.h"

/** An identifier is for good: scripts allow notes by it. */
static void NB_PRINTF(3, 4) add(struct nb_result *result, const char *id, const char *fmt, ...)
{
	char text[NOTE_SIZE];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (result_add_note(result, true, id, text) != NB_OK)
		log_message(NB_LOG_WARNING, "a note is lost: %s", nb_error_text());
}

static void
note_queue(struct nb_result *result, const struct job_result_group *group)
{
	const struct job_measurement *measured = &group->measured;
	uint64_t behind_ops;
	const char *late = UNITS_NS(measured->lag_ns);
	if (!job_result_grew(group, &behind_ops))
		return;
	if (group->speed > 0) {
		add(result, "queue",
			"%s: the trace came faster than it could be done: the last operation began %s late. Its response times tell how long the run was, not how fast the engine is; take a lower --speed",
			group->name, late);
		return;
	}
	add(result, "queue",
		"%s: the offered rate is above what could be done: the queue grew to %" PRIu64
		" operations, and the last one began %s late. Its response times tell how long the run was, not how fast the engine is; take a lower --rate, or --sweep",
		group->name, behind_ops, late);
}

static void
note_lateness(struct nb_result *result, const struct job_result_group *group)
{
	const struct nb_histogram *lateness = group->measured.lateness;
	if (lateness == NULL || nb_histogram_count(lateness) == 0)
		return;
	uint64_t late = nb_histogram_percentile(lateness, 50);
	uint64_t median = nb_histogram_percentile(result->response, 50);
	if (late * 10 > median)
		add(result, "lateness",
			"%s: the harness itself began half of its operations %s late or later, which is in their response times",
			group->name, UNITS_NS(late));
}

static void
note_waits(struct nb_result *result, const struct job_result_group *group)
{
	const struct job_measurement *measured = &group->measured;
	double share = measured->span_ns == 0 || group->threads == 0
		? 0
		: (double)measured->waited_ns /
			((double)measured->span_ns * (double)group->threads);
	if (share > 0.01)
		add(result, "waits",
			"%s: threads waited %.1f %% of the time for inserts of others that they were to read%s; raise lag above %" PRIu64,
			group->name, 100 * share,
			group->is_paced ? ", which is in their response times and no engine's"
					: "",
			/* turns of 64 of all threads are under way at a time, two at most */
			UINT64_C(2) * 64 * group->threads);
}

/** A bound by count that is nearer than the warm-up's end is only seen when it is over. */
static void
note_nothing(struct nb_result *result, const struct job_result_group *group)
{
	if (group->measured.done > 0 && group->measured.ops == 0)
		add(result, "nothing-measured",
			"%s: nothing was measured: all of its %" PRIu64
			" operations began in the warm-up; raise count, or take a shorter warmup",
			group->name, group->measured.done);
}

static void
note_idle_threads(struct nb_result *result, const struct job_result_group *group)
{
	const struct job_measurement *measured = &group->measured;
	uint32_t idle = 0;
	for (uint32_t t = 0; t < measured->thread_count; t++)
		idle += measured->threads[t].done == 0;
	if (idle > 0 && idle < measured->thread_count)
		add(result, "idle-threads",
			"%s: %u of %u threads did nothing, as there were too few operations: each takes 64 of them at a time; raise count",
			group->name, idle, measured->thread_count);
}

/** A job that only reads has that of all its groups together (notes.c). */
static void
note_misses(struct nb_result *result, const struct job_result_group *group)
{
	uint32_t caps = result->engine.caps;
	if (result->workload.verb == NB_VERB_GET || (caps & NB_CAP_SYNTHETIC) != 0)
		return;
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		const struct job_kind *it = &group->measured.kinds[kind];
		uint64_t missed = it->answers[NB_NOT_FOUND];
		if (missed > it->ops / 2)
			add(result, "misses",
				"%s: %.0f %% of the %s operations found nothing: what was measured of them is how fast that is told",
				group->name, 100 * (double)missed / (double)it->ops,
				nb_op_name(kind));
	}
}

static void
note_foreign(struct nb_result *result, const struct job_result_group *group)
{
	const struct job_findings *findings = &group->measured.findings;
	if (findings->foreign > 0)
		add(result, "foreign-values",
			"%s: %" PRIu64 " of %" PRIu64 " values that were verified are %s",
			group->name, findings->foreign, findings->verified,
			result->is_point
				? "those of an earlier point of this sweep, whose points share one database"
				: "an earlier run's: the database was not as the loading left it");
}

static void
note_gaps(struct nb_result *result, const struct job_result_group *group)
{
	bool is_ordered = result->key_order != NULL &&
		strcmp(result->key_order, "ordered") == 0;
	if (!group->is_blind_to_gaps)
		return;
	add(result, "gaps",
		"%s: mininb checked the order and the values of scans, but not whether they skip records, because %s",
		group->name,
		result->is_replay ? "it does not know all keys of a trace"
			: is_ordered
			? "records may be missing or keys differ in length"
			: "the keys are not in the order of the records; --key-order=ordered looks for gaps");
}

void
result_add_job_notes(struct nb_result *result)
{
	for (size_t g = 0; g < result->group_count; g++) {
		note_queue(result, &result->groups[g]);
		note_lateness(result, &result->groups[g]);
		note_waits(result, &result->groups[g]);
		note_nothing(result, &result->groups[g]);
		note_idle_threads(result, &result->groups[g]);
		note_misses(result, &result->groups[g]);
		note_foreign(result, &result->groups[g]);
		note_gaps(result, &result->groups[g]);
	}
	char hiccup[NOTE_SIZE];
	note_hiccups(result->measured.hiccups, hiccup);
	if (hiccup[0] != '\0')
		add(result, "hiccup", "%s", hiccup);
	if (result->was_steady_asked && !result->is_steady)
		add(result, "not-steady",
			"never steady: over the last window the rate changed by %.1f %% and was up to %.1f %% off its mean; run longer, or ask for less",
			100 * fabs(result->steady_slope), 100 * result->steady_band);
}
