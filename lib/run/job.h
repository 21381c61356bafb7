/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_JOB_H
#define RUN_JOB_H
/** A job that is run, from inside: its parts, and what was measured of each. */
#include <pthread.h>
#include <stdbool.h>

#include <mininb/job.h>

#include "run/hiccup.h"
#include "run/job_worker.h"
#include "run/run.h"
#include "run/schedule.h"
#include "run/steady.h"

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

struct shared;

/** A process's share of the phase. */
struct squad {
	struct nb_job_run *run;
	struct shared *shared;
	uint32_t process;
	const char *what;
	uint64_t total;     /* operations; 0: not known */
	uint64_t told_life; /* at the last call of progress */
	bool has_workers;   /* of this process */
	bool is_parent;     /* it watches, and opens the gate */
	bool is_told;       /* intervals, and whether it is steady: not of an untimed loading */
};

/** Phases are run one after the other; the parts of one, side by side. */
struct nb_job_run {
	struct nb_run base; /* engine, clock, database, and what is measured of the whole */
	struct nb_job_options options;
	const struct nb_job *job;
	struct keyspace keys;
	struct sizes sizes;
	bool has_keys, has_sizes;
	uint64_t keys_hash, digest;
	double measured_ratio;   /* of values, by zlib */
	struct job_part loading; /* the job's loading */
	struct job_part *parts;  /* of the run */
	size_t part_count;
	uint32_t threads_max; /* of a phase, in one process */
	bool has_writes;      /* of what is to be done */
	bool is_replay;       /* operations are those of traces */
	/* while it is executed */
	struct squad squad;
	struct job_gate *gate; /* shared with the workers */
	struct job_part **active;
	size_t active_count;
	uint32_t phase;
	struct sysinfo_usage used; /* during the operations of the active parts */
	uint64_t used_ns;          /* and how long those took */
	bool was_cut;              /* a failure ended the operations of the active parts */
	struct steady steady;
	bool is_steady;
	uint64_t steady_ns, steady_ops;     /* at the last look */
	uint64_t interval_ns, interval_ops; /* at the end of the last interval */
	struct nb_histogram *interval_now, *interval_before;
	struct hiccup *hiccup;        /* of this phase */
	struct nb_histogram *hiccups; /* of all */
};

/** Threads of the parts that are active, in one process. */
uint32_t
job_threads(const struct nb_job_run *run);

/** Sum up what the workers of a part have. */
NB_MUST_CHECK int
job_collect(struct nb_job_run *run, struct job_part *part);

/** Add what reading back has found since job_collect(). */
void
job_collect_read_back(struct nb_job_run *run, struct job_part *part);

/**
 * Whether writes are read back from the database after it was closed and opened again; if
 * not, and there are any, before their sessions are closed.
 */
bool
job_is_read_again(const struct nb_job_run *run);

/** Operations done by all workers of the active parts, warm-up included. */
uint64_t
job_done(const struct nb_job_run *run);

/**
 * If an interval is over, or `is_end`: tell it. Then whether the throughput has become
 * steady: once, and only if that was asked.
 */
bool
job_watch(struct nb_job_run *run, bool is_end);

/** The operations of the active parts are about to begin, or have ended: for the sampler. */
void
job_sample_begin(struct nb_job_run *run);
void
job_sample_end(struct nb_job_run *run);

/** Run parts that belong together, from the sessions' opening to their closing. */
NB_MUST_CHECK int
job_run_parts(struct nb_job_run *run, struct job_part **parts, size_t count, const char *what,
	bool is_counted);

/** The trace that is the part's operations (job_replay.c). */
NB_MUST_CHECK int
job_open_trace(
	struct nb_job_run *run, struct job_part *part, const struct nb_trace_options *options);

/** Start reading the traces of the active parts, each on a thread of its own. */
NB_MUST_CHECK int
job_start_feeds(struct nb_job_run *run);

/** Wait for the ends of those. `rc` is how the workers ended, and comes first. */
NB_MUST_CHECK int
job_end_feeds(struct nb_job_run *run, int rc);

/** Record numbers that keys are asked for; NB_ERR_USAGE if a file of keys cannot have them. */
NB_MUST_CHECK int
job_count_numbers(const struct nb_job *job, uint64_t *numbers);

/** Whether options.record_path can be written, before hours are spent (job_record.c). */
NB_MUST_CHECK int
job_try_record(const struct nb_job_run *run);

/** Write what was done there. */
NB_MUST_CHECK int
job_record(struct nb_job_run *run);

/** Measure the harness itself, on the null engine: a few ms. */
NB_MUST_CHECK int
job_floor_measure(struct nb_job_run *run);

/** Whether the data was what it should be; the text says what was not. */
NB_MUST_CHECK int
job_judge(const struct nb_job_run *run);

#endif /* RUN_JOB_H */
