/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_MEASUREMENT_H
#define RUN_MEASUREMENT_H
/** What came of a run, for those who run it and those who report it. */
#include <stdbool.h>

#include <mininb/job.h>
#include <mininb/mininb.h>
#include <mininb/trace.h>

#include "base/histogram.h"
#include "run/batch_read.h"
#include "run/cgroup.h"
#include "run/counters.h"
#include "run/residency.h"
#include "run/rows.h"
#include "run/series.h"
#include "run/system.h"
#include "run/worker.h"
#include "target/usage.h"
#include "workload/job.h"

/** One thread's figures, warm-up excluded. */
struct job_thread {
	uint64_t ops, wall_ns;
	uint64_t done; /* warm-up included */
	/* of `ops`, by NB_OP_*; of the classic actions all in the first */
	uint64_t kinds[NB_KINDS_MAX];
};

/** What came of a kind of operation in a group. Histograms are owned. */
struct job_kind {
	uint64_t ops; /* that count: all answers but conflicts */
	uint64_t answers[WORKER_ANSWERS];
	uint64_t records, bytes;
	struct nb_histogram *service;  /* NULL: there was no such operation */
	struct nb_histogram *response; /* NULL without a rate */
};

/** Which operations were timed one by one, and what the others took (sparse.h). */
struct stamping {
	char latency[JOB_LATENCY_SIZE]; /* "sampled:64", "block"; "": each was */
	uint64_t ops, stretches, ns;    /* without stamps of their own; between two stamps */
};

/** What came of a group. What is marked as owned is freed with it; the rest is plain data. */
struct job_measurement {
	bool has_begun, is_partial;
	uint64_t ops;     /* that count */
	uint64_t done;    /* warm-up included */
	uint64_t commits; /* likewise: see job_is_commit() */
	uint64_t wall_ns; /* first of the operations that count to the last one's end */
	uint64_t span_ns; /* begin of the phase to the last operation's end */
	struct job_kind kinds[NB_KINDS_MAX];
	uint32_t level; /* STEPS_*: of operations of steps */
	struct stamping stamping;
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

/** What was found by looking at data. */
struct worker_findings {
	uint64_t verified; /* reads whose data was looked at */
	uint64_t missing;  /* of them: not there, though it was put; or there, though deleted */
	uint64_t verdicts[VALUE_VERDICTS]; /* of them: how the bytes were */
};

/** Values that were looked at and are not what they should be. */
static inline uint64_t
findings_wrong(const struct worker_findings *findings)
{
	uint64_t wrong = 0;
	for (int i = VALUE_GOOD + 1; i < VALUE_VERDICTS; i++)
		wrong += findings->verdicts[i];
	return wrong;
}

enum { RUN_PHASES_MAX = 24 };

/** How long a phase of a run took, by the wall; of several of one name together. */
struct phase_time {
	char name[24]; /* "keys", "open", "put" */
	uint64_t ns;
};

/**
 * What came of a run, complete when nb_run_execute() returns. Plain data, and what is owned: a
 * copy of the structure shares that, see measurement_share().
 */
struct measurement {
	uint32_t *owners;   /* structures that share what is owned; NULL: this one alone */
	bool has_begun;     /* a first operation was begun */
	bool is_partial;    /* and the last one was not reached */
	bool is_loaded;     /* the data was put, untimed, since the engine keeps none */
	bool had_data;      /* the database was there before */
	uint64_t had_bytes; /* and took so much of the file system */
	int settled;        /* NB_RUN_SETTLE_* that was reached */
	/* An end by failure or nb_stop() may come after the last operation too. */
	bool has_settled;   /* and closed, as far as was asked and the engine can */
	bool has_read_back; /* what of the writes was to be looked at again */
	bool is_reopened;   /* and the database was closed and opened again before that */
	uint64_t ops;
	uint64_t wall_ns; /* first operation's start to last one's end */
	uint64_t open_ns, load_ns, settle_ns, close_ns;
	struct phase_time phases[RUN_PHASES_MAX]; /* in the order in which they began */
	uint32_t phase_count;
	uint64_t answers[WORKER_ANSWERS];
	uint64_t value_bytes;
	struct worker_findings findings;
	struct system_counts usage; /* during the operations: what system_usage() knows */
	uint64_t usage_ops;         /* that were done in that: those of a warm-up, too */
	uint64_t commits;           /* writes of them, acknowledged; a batch is one */
	uint64_t usage_ns;          /* and how long that took, likewise */
	uint64_t data_bytes;        /* on the file system, after close */
	uint64_t max_resident_bytes;
	struct memory_use memory; /* of its control group */
	uint64_t begun_at_ns;     /* of the first operation, CLOCK_REALTIME; 0: none */
	/*
	 * By which CLOCK_REALTIME was ahead of rank 0's. It is subtracted from begun_at_ns. Error 0:
	 * the clocks were not compared.
	 */
	double clock_offset_ns, clock_error_ns;
	double clock_drift; /* of the TSC, from before open until after close; clock_drift() */
	uint64_t slept_ns;  /* in that, of the machine */
	double floor_op_ns; /* what the harness takes for an operation on the null engine */
	uint64_t floor_call_ns;   /* median latency that it then reports */
	struct stamping stamping; /* of all groups; of several ways the first one's */
	/* The engine's own, from the first operation's start until settled; owned. */
	struct counters counters;
	struct nb_histogram *service; /* owned */
	/* of requests in flight; 0 and NULL: there were none */
	uint32_t depth;                   /* of a thread at most, of all groups */
	uint64_t batch_bytes;             /* likewise */
	struct nb_histogram *batch;       /* times of batches; owned */
	struct nb_histogram *hiccups;     /* of all phases; owned; NULL: not measured */
	struct nb_histogram *checkpoints; /* how long each took; owned; NULL: not asked for */
	struct job_thread *threads;       /* likewise */
	uint32_t thread_count;
	/* What the system counted while the operations ran, and from then until closed. */
	struct system_counts used, used_after;
	char used_missing[256];     /* what of that is not known, and why; "" */
	char syncs_missing[96];     /* why its syncs could not be counted; "": they were */
	uint32_t durable_by;        /* SYNCS_*: what else may have made data durable */
	struct target_usage server; /* of private servers, while the operations ran */
	struct system_levels before, after; /* the operations */
	uint32_t cold;                     /* COLD_*: how it was made so before it was opened */
	struct residency residency_before; /* of the database, before it was opened */
	struct residency residency_begin;  /* when the first operation was about to begin */
	struct residency residency_after;  /* after it was closed */
	uint64_t live_bytes;  /* of keys and values that should be there now; 0: not known */
	struct series series; /* owned */
	/* Of a social graph. */
	struct row_counts rows_before, rows_after;
	struct batch_read batch_read;
	int64_t grown[TAO_TABLES]; /* rows: inserted less deleted, of all operations */
};

/** A copy that shares what a run's own one owns. All on one thread; each is destroyed. */
struct measurement
measurement_share(const struct measurement *of);

/** What is left is empty. */
void
measurement_destroy(struct measurement *measured);

#endif /* RUN_MEASUREMENT_H */
