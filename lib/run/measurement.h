/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_MEASUREMENT_H
#define RUN_MEASUREMENT_H
/** The results of a run, for the code that runs it and the code that reports it. */
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

/** The figures of one thread, without the warm-up. */
struct job_thread {
	uint64_t ops, wall_ns;
	uint64_t done; /* with the warm-up */
	/* of `ops`, by NB_OP_*; for the classic actions all in the first element */
	uint64_t kinds[NB_KINDS_MAX];
};

/** The results of one kind of operation in a group. Histograms are owned. */
struct job_kind {
	uint64_t ops; /* measured: all answers except conflicts */
	uint64_t answers[WORKER_ANSWERS];
	uint64_t records, bytes;
	struct nb_histogram *service;  /* NULL: no such operation */
	struct nb_histogram *response; /* NULL without a rate */
};

/** The operations that were timed one by one, and the time of the others (sparse.h). */
struct stamping {
	/* "sampled:64", "block"; "": each operation was timed */
	char latency[JOB_LATENCY_SIZE];
	/*
	 * operations without stamps of their own; the stretches between two stamps, and their
	 * time
	 */
	uint64_t ops, stretches, ns;
};

/**
 * The results of a group. Members marked as owned are freed with it; the rest is plain data.
 */
struct job_measurement {
	bool has_begun, is_partial;
	uint64_t ops;     /* measured operations */
	uint64_t done;    /* with the warm-up */
	uint64_t commits; /* with the warm-up: see job_is_commit() */
	uint64_t wall_ns; /* from the first measured operation to the end of the last */
	uint64_t span_ns; /* from the start of the phase to the end of the last operation */
	struct job_kind kinds[NB_KINDS_MAX];
	uint32_t level; /* STEPS_*, for operations of several steps */
	struct stamping stamping;
	struct job_thread *threads; /* owned */
	uint32_t thread_count;
	struct job_findings findings;
	uint64_t waited_ns; /* waiting for inserts of other threads, sum of all threads */
	/* with a rate: operations due within span_ns, or all if they were done */
	double offered_ops;
	uint64_t lag_ns, lag_max_ns; /* how late the last operation began; and the latest one */
	char trace[640];             /* the part of a trace that was read; empty: no trace */
	struct nb_trace_counts trace_counts;
	uint64_t spin_ns; /* CPU time of spinning in the pacers, sum of all threads */
	struct nb_histogram
		*lateness; /* of the pacer's own wake-ups; NULL without a rate; owned */
};

/** The findings of verification, for the classic actions. For a job, only `verified` is set. */
struct worker_findings {
	uint64_t verified; /* reads whose data was verified */
	/* of these: a record that was put is missing, or a deleted one is present */
	uint64_t missing;
	uint64_t verdicts[VALUE_VERDICTS]; /* of these: the state of the bytes */
};

/** Verified values that are wrong. */
static inline uint64_t
findings_wrong(const struct worker_findings *findings)
{
	uint64_t wrong = 0;
	for (int i = VALUE_GOOD + 1; i < VALUE_VERDICTS; i++)
		wrong += findings->verdicts[i];
	return wrong;
}

enum { RUN_PHASES_MAX = 24 };

/** Wall time of a phase of a run. Phases of the same name are added up. */
struct phase_time {
	char name[24]; /* "keys", "open", "put" */
	uint64_t ns;
};

/**
 * The results of a run, complete when nb_run_execute() returns. Plain data and owned members.
 * Copies of the structure share the owned members, see measurement_share().
 */
struct measurement {
	/* number of structures that share the owned members; NULL: only this one */
	uint32_t *owners;
	bool has_begun;     /* a first operation has begun */
	bool is_partial;    /* and the last one was not reached */
	bool is_loaded;     /* the data was put untimed, because the engine keeps none */
	bool had_data;      /* the database existed before */
	uint64_t had_bytes; /* and occupied this much of the file system */
	int settled;        /* the NB_RUN_SETTLE_* that was reached */
	/* A failure or nb_stop() may also come after the last operation. */
	bool has_settled;   /* settled and closed, as far as requested and as the engine can */
	bool has_read_back; /* all writes that were to be read back were read back */
	bool is_reopened;   /* the database was closed and opened again before that */
	uint64_t ops;
	uint64_t wall_ns; /* start of the first operation to the end of the last */
	uint64_t open_ns, load_ns, settle_ns, close_ns;
	struct phase_time phases[RUN_PHASES_MAX]; /* in order of their first begin */
	uint32_t phase_count;
	uint64_t answers[WORKER_ANSWERS];
	uint64_t value_bytes;
	struct worker_findings findings;
	struct system_counts usage; /* during the operations: the counts of system_usage() */
	uint64_t usage_ops;         /* operations done in that time, with those of a warm-up */
	uint64_t commits;           /* acknowledged writes of these; a batch is one */
	uint64_t usage_ns;          /* duration of that time, with a warm-up */
	uint64_t data_bytes;        /* on the file system, after close */
	uint64_t max_resident_bytes;
	struct memory_use memory; /* of its cgroup */
	uint64_t begun_at_ns;     /* of the first operation, CLOCK_REALTIME; 0: none */
	/*
	 * The lead of CLOCK_REALTIME over rank 0's. It is subtracted from begun_at_ns. Error 0:
	 * the clocks were not compared.
	 */
	double clock_offset_ns, clock_error_ns;
	double clock_drift; /* of the TSC, from before open to after close; see clock_drift() */
	uint64_t slept_ns;  /* time that the machine was suspended meanwhile */
	double floor_op_ns; /* overhead of mininb per operation on the null engine */
	uint64_t floor_call_ns;   /* median latency that it reports for the null engine */
	struct stamping stamping; /* of all groups; if they differ, that of the first one */
	/* The engine's counters, from the start of the first operation until settled; owned. */
	struct counters counters;
	struct nb_histogram *service; /* owned */
	/* with requests in flight; otherwise 0 and NULL */
	uint32_t depth;                   /* largest per thread, of all groups */
	uint64_t batch_bytes;             /* largest of all groups */
	struct nb_histogram *batch;       /* times of batches; owned */
	struct nb_histogram *hiccups;     /* in all phases; owned; NULL: not measured */
	struct nb_histogram *checkpoints; /* duration of each; owned; NULL: not requested */
	struct job_thread *threads;       /* owned */
	uint32_t thread_count;
	/* The system's counts during the operations, and from then until close. */
	struct system_counts used, used_after;
	char used_missing[256]; /* unknown counts, and the reasons; "": none */
	char syncs_missing[96]; /* why syncs could not be counted; "": they were */
	uint32_t durable_by;    /* SYNCS_*: other ways in which data may have become durable */
	struct target_usage server;         /* of private servers, during the operations */
	struct system_levels before, after; /* before and after the operations */
	uint32_t cold; /* COLD_*: how the database was made cold before open */
	struct residency residency_before; /* of the database, before open */
	struct residency residency_begin;  /* just before the first operation */
	struct residency residency_after;  /* after close */
	uint64_t live_bytes;  /* of keys and values that should be stored now; 0: not known */
	struct series series; /* owned */
	/* For a social graph. */
	struct row_counts rows_before, rows_after;
	struct batch_read batch_read;
	int64_t grown[TAO_TABLES]; /* rows: inserted minus deleted, by all operations */
};

/**
 * A copy that shares the owned members. All copies stay on one thread; each one is destroyed.
 */
struct measurement
measurement_share(const struct measurement *of);

/** Leaves an empty structure. */
void
measurement_destroy(struct measurement *measured);

#endif /* RUN_MEASUREMENT_H */
