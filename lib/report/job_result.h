/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REPORT_JOB_RESULT_H
#define REPORT_JOB_RESULT_H
/** The result of a job from inside: plain data, for those who write it. */
#include <stdbool.h>

#include <mininb/trace.h>

#include "report/result.h"
#include "run/job.h"

enum { JOB_NOTE_SIZE = 512, JOB_NOTES_MAX = 32 };

/** What came of a group, and what it was asked to do. Owns the histograms. */
struct job_result_group {
	char name[48];
	uint32_t phase, threads, arrivals, distribution;
	uint32_t weights[NB_OP_KINDS];
	uint64_t duration_ns, warmup_ns, warmup_count;
	bool is_background;
	bool is_blind_to_gaps; /* scans were verified, but not whether they leave records out */
	bool is_paced;         /* operations have times at which they are due */
	double rate_ops_s;     /* of a rate with one step; else 0 */
	double speed;          /* of a trace's times; 0: they are those of a rate */
	char *rate_text;       /* of a rate with more than one step; owned; else NULL */
	struct job_measurement measured;
};

struct nb_job_result {
	struct nb_result *base; /* the whole, as the classic report sees it */
	char *name;             /* of the job */
	bool is_load, is_replay, is_point;
	uint32_t procs;
	uint64_t records, key_size, value_min, value_max;
	double value_mean, value_ratio, measured_ratio;
	const char *key_format, *key_order;
	bool is_steady, was_steady_asked;
	double steady_slope, steady_band;
	struct job_result_group *groups;
	size_t group_count;
	struct nb_histogram *service, *response; /* of the foreground groups */
	struct nb_histogram *hiccups;            /* of the machine */
	char notes[JOB_NOTES_MAX][JOB_NOTE_SIZE];
	char note_ids[JOB_NOTES_MAX][24]; /* of each; see struct result_note */
	size_t note_count;
};

/** Whether more was due than could be done: the operations that were left lying. */
bool
job_result_grew(const struct job_result_group *group, uint64_t *behind_ops);

/** What stands after the count of verified records. */
static inline const char *
job_result_gaps(bool is_blind_to_gaps)
{
	return is_blind_to_gaps ? "; gaps of scans were not looked for" : "";
}

/** Fill in notes from all the rest. */
void
job_result_add_notes(struct nb_job_result *result);

#endif /* REPORT_JOB_RESULT_H */
