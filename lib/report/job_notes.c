/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reasons why the numbers of a job may be wrong, in addition to those of every run
 * (notes.c). Thresholds: a hundredth of the time for waiting on inserts of other threads; a
 * tenth of the median response time for the harness's own lateness, from which on it is
 * visible.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/note.h"

static void
note_queue(struct nb_result *result, const struct job_result_group *group)
{
	const char *late = UNITS_NS(group->measured.lag_ns);
	uint64_t behind_ops;
	if (!job_result_grew(group, &behind_ops))
		return;
	if (group->speed > 0)
		note_add(result, true, "queue",
			"%s: the trace was faster than the engine: the last operation began %s late. Response times show how long the run was, not how fast the engine is; use a lower --speed",
			group->name, late);
	else
		note_add(result, true, "queue",
			"%s: the offered rate is above the possible one: the queue grew to %" PRIu64
			" operations, and the last one began %s late. Response times show how long the run was, not how fast the engine is; use a lower --rate, or --sweep",
			group->name, behind_ops, late);
}

static void
note_times(struct nb_result *result, const struct job_result_group *group)
{
	const struct job_measurement *measured = &group->measured;
	const struct nb_histogram *lateness = measured->lateness;
	bool has_waited = lateness != NULL && nb_histogram_count(lateness) > 0;
	uint64_t late = has_waited ? nb_histogram_percentile(lateness, 50) : 0;
	double span_ns = (double)measured->span_ns * group->threads;
	double share = span_ns > 0 ? (double)measured->waited_ns / span_ns : 0;
	if (has_waited && late * 10 > nb_histogram_percentile(result->response, 50))
		note_add(result, true, "lateness",
			"%s: the harness itself began half of its operations %s late or later, which their response times include",
			group->name, UNITS_NS(late));
	if (share > 0.01)
		note_add(result, true, "waits",
			"%s: threads waited %.1f %% of the time for other threads' inserts before they could read them%s; raise lag above %" PRIu64,
			group->name, 100 * share,
			group->is_paced
				? ", which response times include and the engine did not cause"
				: "",
			/* each thread has at most two turns of 64 operations in progress */
			UINT64_C(2) * 64 * group->threads);
}

/** With a bound by count, a warm-up that is too long is noticed only after the run. */
static void
note_idle(struct nb_result *result, const struct job_result_group *group)
{
	const struct job_measurement *measured = &group->measured;
	uint32_t idle = 0;
	if (measured->done > 0 && measured->ops == 0)
		note_add(result, true, "nothing-measured",
			"%s: nothing was measured: all of its %" PRIu64
			" operations began in the warm-up; raise count, or use a shorter warmup",
			group->name, measured->done);
	for (uint32_t t = 0; t < measured->thread_count; t++)
		idle += measured->threads[t].done == 0;
	if (idle > 0 && idle < measured->thread_count)
		note_add(result, true, "idle-threads",
			"%s: %u of %u threads did nothing: each takes 64 operations at a time, and there were too few for all; raise count",
			group->name, idle, measured->thread_count);
}

/**
 * Note groups with many misses. For a job that only reads, notes.c covers all groups
 * together.
 */
static void
note_misses(struct nb_result *result, const struct job_result_group *group)
{
	if (note_is_read(result) || note_has_cap(result, NB_CAP_SYNTHETIC))
		return;
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		const struct job_kind *it = &group->measured.kinds[kind];
		uint64_t missed = it->answers[NB_NOT_FOUND];
		if (missed > it->ops / 2)
			note_add(result, true, "misses",
				"%s: %.0f %% of the %s operations found nothing: their times show how fast the engine reports a missing key",
				group->name, 100 * (double)missed / (double)it->ops,
				result_kind_name(result, kind));
	}
}

static void
note_verification(struct nb_result *result, const struct job_result_group *group)
{
	const struct job_findings *findings = &group->measured.findings;
	bool is_ordered = result->key_order != NULL &&
		strcmp(result->key_order, "ordered") == 0;
	if (findings->foreign > 0)
		note_add(result, true, "foreign-values",
			"%s: %" PRIu64 " of %" PRIu64
			" verified values came from an earlier %s",
			group->name, findings->foreign, findings->verified,
			result->is_point
				? "point of this sweep, because all points share one database"
				: "run: the database was not as the loading left it");
	if (group->is_blind_to_gaps)
		note_add(result, true, "gaps",
			"%s: mininb checked the order and the values of scans, but not whether they skip records, because %s",
			group->name,
			result->is_replay ? "it does not know all keys of a trace"
				: is_ordered
				? "records may be missing or keys differ in length"
				: "the keys are not in the order of the records; --key-order=ordered looks for gaps");
}

void
notes_of_job(struct nb_result *result)
{
	if (!result->is_job)
		return;
	for (size_t g = 0; g < result->group_count; g++) {
		note_queue(result, &result->groups[g]);
		note_times(result, &result->groups[g]);
		note_idle(result, &result->groups[g]);
		note_misses(result, &result->groups[g]);
		note_verification(result, &result->groups[g]);
	}
	note_hiccups(result);
	if (result->was_steady_asked && !result->is_steady)
		note_add(result, true, "not-steady",
			"never steady: over the last window the rate changed by %.1f %% and was up to %.1f %% off its mean; run longer, or allow more",
			100 * fabs(result->steady_slope), 100 * result->steady_band);
}
