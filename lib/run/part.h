/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_PART_H
#define RUN_PART_H
/** A part of a run, its group as it is run, and what was measured of it. */
#include <pthread.h>
#include <stdbool.h>

#include <mininb/job.h>

#include "run/worker.h"
#include "run/schedule.h"

/** One thread's figures, warm-up excluded. */
struct job_thread {
	uint64_t ops, wall_ns;
	uint64_t done; /* warm-up included */
	uint64_t kinds
		[NB_OP_KINDS]; /* of `ops`, by NB_OP_*; of the classic actions all in the first */
};

/** What came of a kind of operation in a group. Histograms are owned. */
struct job_kind {
	uint64_t ops; /* that count: all answers but conflicts */
	uint64_t answers[WORKER_ANSWERS];
	uint64_t records, bytes;
	struct nb_histogram *service;  /* NULL: there was no such operation */
	struct nb_histogram *response; /* NULL without a rate */
};

/** What came of a group. Plain data but for what is said to be owned. */
struct job_measurement {
	bool has_begun, is_partial;
	uint64_t ops;     /* that count */
	uint64_t done;    /* warm-up included */
	uint64_t commits; /* likewise: see job_is_commit() */
	uint64_t wall_ns; /* first of the operations that count to the last one's end */
	uint64_t span_ns; /* begin of the phase to the last operation's end */
	struct job_kind kinds[NB_OP_KINDS];
	struct job_thread *threads; /* owned */
	uint32_t thread_count;
	struct job_findings findings;
	uint64_t waited_ns; /* for inserts of other threads, all threads */
	double offered_ops; /* with a rate: due within span_ns, or all if they were done */
	uint64_t lag_ns, lag_max_ns; /* how late the last operation began, and the latest */
	char trace[640];             /* what was read of a trace; empty: there is none */
	struct nb_trace_counts trace_counts;
	uint64_t spin_ns; /* CPU time of the pacers' waiting, all threads */
	struct nb_histogram
		*lateness; /* of the pacer's own waking up; NULL without a rate; owned */
};

/** A group as it is run. */
struct job_part {
	const struct nb_group *group;
	struct ops_spec spec;
	struct schedule schedule; /* if there is a rate */
	struct job_plan plan;
	/* of a trace; else NULL */
	struct trace_reader *reader;
	struct feed *feed;
	struct arrivals arrivals; /* of its operations, with a rate; the feeder's */
	pthread_t feeder;
	bool is_fed; /* that thread runs */
	int feed_rc;
	char feed_text[WORKER_TEXT];
	struct job_worker **workers; /* of all processes */
	int *halt;                   /* shared with the workers */
	bool is_foreground;
	struct job_measurement measured;
};

/** Whether some of its operations are of that kind. */
static inline bool
group_has(const struct nb_group *group, uint32_t kind)
{
	return group->weights[kind] > 0;
}

/** Whether some of them change the database. */
static inline bool
group_writes(const struct nb_group *group)
{
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		if (group_has(group, kind) && (ops_is_write(kind) || kind == NB_OP_DELETE))
			return true;
	}
	return false;
}

#endif /* RUN_PART_H */
