/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_RUN_H
#define RUN_RUN_H
/** A run from inside: what was asked for, and what was measured. */
#include <stdbool.h>

#include <mininb/mininb.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "run/counters.h"
#include "run/crew.h"
#include "run/engine.h"
#include "run/environment.h"
#include "run/hiccup.h"
#include "run/marker.h"
#include "run/part.h"
#include "run/post.h"
#include "run/residency.h"
#include "run/series.h"
#include "run/steady.h"
#include "run/sysinfo.h"
#include "run/system.h"
#include "workload/keyspace.h"
#include "workload/sizes.h"

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

/** What came of a run. Plain data, complete when nb_run_execute() returns. */
struct measurement {
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
	struct sysinfo_usage usage; /* during the operations */
	uint64_t usage_ops;         /* that were done in that: those of a warm-up, too */
	uint64_t commits;           /* writes of them, acknowledged; a batch is one */
	uint64_t usage_ns;          /* and how long that took, likewise */
	uint64_t data_bytes;        /* on the file system, after close */
	uint64_t max_resident_bytes;
	double clock_drift; /* of the TSC, from before open until after close; clock_drift() */
	uint64_t slept_ns;  /* in that, of the machine */
	double floor_op_ns; /* what the harness takes for an operation on the null engine */
	uint64_t floor_call_ns; /* median latency that it then reports */
	/* The engine's own, from the first operation's start until settled; owned. */
	struct counters counters;
	struct nb_histogram *service;
	struct nb_histogram *hiccups; /* of all phases; owned; NULL: not measured */
	struct job_thread *threads;   /* likewise */
	uint32_t thread_count;
	/* What the system counted while the operations ran, and from then until closed. */
	struct system_counts used, used_after;
	char used_missing[160]; /* what of that could not be had, and why; "" */
	char syncs_missing[96]; /* why its syncs could not be counted; "": they were */
	uint32_t durable_by;    /* SYNCS_*: what else may have made data durable */
	struct system_levels before, after; /* the operations */
	uint32_t cold;                     /* COLD_*: how it was made so before it was opened */
	struct residency residency_before; /* of the database, before it was opened */
	struct residency residency_begin;  /* when the first operation was about to begin */
	struct residency residency_after;  /* after it was closed */
	uint64_t
		live_bytes; /* keys and values that should be in the database now; 0: not known */
	struct series series; /* owned */
};

struct sampler;

/** The thread that makes the calls that concern the whole database (run_call.c). */
struct keeper {
	bool is_there;
	struct crew crew;
	struct post post;
	/* the call at hand; handed over with the crew's phase */
	const char *call;
	bool is_long;
	int (*verb)(struct nb_run *run);
	int rc;
	uint64_t took_ns;
	char text[WORKER_TEXT];
};

/** A thread is within the engine that did not come back, or crashed: see run_call.c. */
struct left {
	bool is_left;
	int code;          /* of the failure */
	uint64_t since_ns; /* when it was left */
	uint64_t stop_ns;  /* when it was first seen that nb_stop() is in force; 0: it is not */
	char text[WORKER_TEXT]; /* why */
};

/** What the marker says of a run that makes a database (run_load.c). */
struct loading {
	const char *makes; /* the action, of a job; NULL: "put" */
	uint64_t keys;     /* as in struct marker_load */
	bool is_noted;
	bool is_closed; /* the database, without a failure */
	uint64_t noted_ns;
	struct marker_load before, now;
};

struct shared;

/** A process's share of the phase. */
struct squad {
	struct nb_run *run;
	struct shared *shared;
	uint32_t process;
	const char *what;
	uint64_t total;     /* operations; 0: not known */
	uint64_t told_life; /* at the last call of progress */
	bool has_workers;   /* of this process */
	bool is_parent;     /* it watches, and opens the gate */
	bool is_told;       /* intervals, and whether it is steady: not of an untimed loading */
};

struct nb_run {
	struct nb_run_options options;
	struct nb_workload
		workload; /* of a job: one that is like it, for what looks at it here */
	const struct nb_job *job;
	struct nb_job *classic; /* the job of a workload; owned; NULL: it was a job */
	struct nb_engine_ref *engine;
	struct nb_option_value *values;
	uint32_t durability;  /* given: a level, never NB_DUR_AUTO */
	char *path;           /* of the database */
	const char *made_by;  /* what makes a database for it, as it is typed */
	struct marker marker; /* of the database, open and locked while it is executed */
	struct loading mark;  /* what the marker says of it */
	struct keyspace keys;
	struct sizes sizes;
	bool has_keys, has_sizes;
	struct keys_facts keys_facts; /* of a workload */
	uint64_t keys_hash, digest;
	double measured_ratio; /* of values, by zlib */
	struct clock clock;
	struct clock_pair clock_begun;
	struct sysinfo sysinfo;
	struct environment environment;
	struct job_part loading; /* the job's loading */
	struct job_part *parts;  /* of the run */
	size_t part_count;
	uint32_t threads_max; /* of a phase, in one process */
	bool has_writes;      /* of what is to be done */
	bool is_replay;       /* operations are those of traces */
	struct measurement measured;

	/* while it is executed */
	struct nb_db *db;
	struct nb_open_args open_args; /* here and below, since a call may outlive its caller */
	struct counters told;          /* by the engine, at the last call of stats */
	uint32_t settle_upto;
	uint64_t call_ns; /* what the last run_call() took */
	struct keeper keeper;
	struct left left;
	struct crew crew;
	uint64_t forgotten;      /* keys of each worker's share whose memory was let go */
	struct counters counted; /* as they were when counting began */
	bool is_counting;
	uint64_t phase_begin_ns;
	uint64_t phase_bound_ns; /* how long it may last; 0: not bound by time */
	const char *phase_name;
	struct sampler *sampler; /* owned */
	bool has_operated;       /* those that are measured have begun */
	struct hiccup *hiccup;   /* of this phase of the machine; owned */
	struct squad squad;
	struct job_gate *gate; /* shared with the workers */
	struct job_part *
		*active; /* phases are run one after the other; parts of one, side by side */
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
};

/**
 * Check all that can be checked without touching the database, and take what that needs: the
 * engine, its options, keys, sizes and the clock (run_check.c).
 */
NB_MUST_CHECK int
run_check(struct nb_run *run);

/** Operations that the group is to do; UINT64_MAX: no bound. */
uint64_t
run_count_of(const struct nb_job *job, const struct nb_group *group);

/* ---- put, get and delete (run_verb.c) ---- */

/** Look at all keys: what names the stream, and how many are repeated. */
NB_MUST_CHECK int
verb_survey(struct nb_run *run);

/** Where that decides whether keys may rightly be missing, count repeated ones exactly. */
void
verb_survey_again(struct nb_run *run);

/** Bytes of keys and values that a put has left in a database that it made; 0: not known. */
uint64_t
verb_live_bytes(const struct nb_run *run);

/** What was measured of the only group, as what was measured of the run. */
void
verb_collect(struct nb_run *run);

/** Whether the data was what it should be; the text says what was not. */
NB_MUST_CHECK int
verb_judge(const struct nb_run *run);

/* ---- steps of all kinds of runs, on the main thread (run_steps.c) ---- */

/** This thread on the id-th CPU that the process may use, round and round. */
NB_MUST_CHECK int
run_pin(uint32_t id);

/** This thread on the nth CPU of a list "0-3,8", round and round. NB_ERR_USAGE: no such list. */
NB_MUST_CHECK int
run_pin_to(const char *cpus, uint32_t nth);

/** Before a verb that may fail: a text of earlier must not be taken for its. */
void
run_forget_text(void);

/** A verb of the engine's, other than an operation, has failed: `what` says which. */
int
run_engine_failure(const struct nb_run *run, int rc, const char *what);

/* ---- calls of the engine, and runs that are left within one (run_call.c) ---- */

/**
 * Let the keeper call verb(run), named `call`, and wait for it: what it returned, its text as
 * this thread's, the time it took in run->call_ns. A failure if it does not come back, or none
 * did before. What the verb uses is to be in `run`. is_long: it does the work of many
 * operations, and call_timeout_ns is its limit.
 */
NB_MUST_CHECK int
run_call(struct nb_run *run, const char *call, bool is_long, int (*verb)(struct nb_run *run));

/** End the threads of a crew; rc, or the failure if one of them crashes in that. */
NB_MUST_CHECK int
run_end_crew(struct nb_run *run, struct crew *crew, int rc);

/** The same of the keeper. */
int
run_dismiss_keeper(struct nb_run *run, int rc);

/**
 * In each tick: whether the run is left, since `post` is overdue, or has not returned after
 * nb_stop(), or some thread crashed.
 */
bool
run_watch(struct nb_run *run, struct post *post, bool is_long);

/** In each tick of a run that is left: give the crew up as soon as that makes sense. */
void
run_end_left(struct nb_run *run, struct crew *crew);

/** Why it was left, as this thread's failure. */
int
run_left_failure(const struct nb_run *run);

/** What the engine counts now, into run->told, which is empty if it counts nothing. */
NB_MUST_CHECK int
run_ask_counters(struct nb_run *run);

/**
 * Begin a phase, which ends the one before: the time of each is in measured.phases, by this
 * name, and calls of progress are of it.
 */
void
run_begin_phase(struct nb_run *run, const char *name);

/** End the last one. */
void
run_end_phases(struct nb_run *run);

/** Add the time from begin_ns until now to a phase; nothing if there is no room for its name. */
void
run_add_phase(struct nb_run *run, const char *name, uint64_t begin_ns);

/** Call progress, if there is one; total 0: not known. */
void
run_tell(struct nb_run *run, uint64_t done, uint64_t total);

/** As run->workload.verb says: made for a put, read only for a get. */
NB_MUST_CHECK int
run_open_database(struct nb_run *run);

/** Whether the engine keeps its data when the database is closed. */
bool
run_is_kept(const struct nb_run *run);

/**
 * Open the database that run_close_database() closed, to read only, and from storage if a
 * cold run was asked for. Nothing that was measured changes.
 */
NB_MUST_CHECK int
run_reopen_database(struct nb_run *run);

/** Close the database that run_reopen_database() opened; rc as in run_close_database(). */
NB_MUST_CHECK int
run_close_again(struct nb_run *run, int rc);

/**
 * From here on, what the engine counts is the operations' and what these have left to be
 * done; if it is so already, nothing. No session is within a call.
 */
NB_MUST_CHECK int
run_count_from(struct nb_run *run);

/**
 * Until here. What was counted before by others, such as by reading back, is left out. Its
 * failure is the run's only if there was none before, rc.
 */
NB_MUST_CHECK int
run_count_until(struct nb_run *run, int rc);

/** As far as was asked and the engine can. */
NB_MUST_CHECK int
run_settle(struct nb_run *run);

/** Its failure is the run's only if there was none before, rc; else it is told. */
NB_MUST_CHECK int
run_close_database(struct nb_run *run, int rc);

/* ---- the page cache (run_cold.c) ---- */

/** Before it is opened: out of memory if that was asked for, and a look at what is there. */
NB_MUST_CHECK int
run_cool_database(struct nb_run *run);

/** When the first operation is about to begin; later calls do nothing. */
void
run_look_begin(struct nb_run *run);

/** Before it is opened again: out of memory if that was asked for. */
NB_MUST_CHECK int
run_cool_again(struct nb_run *run);

/** After it was closed. */
void
run_look_after(struct nb_run *run);

/** Before the database is opened, and when all is over: whether the clocks agree. */
void
run_clock_begin(struct nb_run *run);
void
run_clock_end(struct nb_run *run);

/**
 * Make <path>/<driver> if it will be written, else see that it is there; and lock it against
 * other processes.
 */
NB_MUST_CHECK int
run_prepare_path(struct nb_run *run);

/** Whether all of the data that is to be used was written, run->marker being open. */
NB_MUST_CHECK int
run_check_load(struct nb_run *run);

/** The database is open and will be made: until run_end_load() it is unfinished. */
void
run_begin_load(struct nb_run *run);

/** So many records are written; for the marker, now and then. */
void
run_tick_load(struct nb_run *run, uint64_t done);

/** It was closed, or left: whether it is finished, or how far it came. */
void
run_end_load(struct nb_run *run);

/** Let other processes have it. A run that was left keeps it until the process ends. */
void
run_release_path(struct nb_run *run);

/* ---- parts ---- */

/** Threads of the parts that are active, in one process. */
uint32_t
job_threads(const struct nb_run *run);

/** Sum up what the workers of a part have. */
NB_MUST_CHECK int
job_collect(struct nb_run *run, struct job_part *part);

/** Add what reading back has found since job_collect(). */
void
job_collect_read_back(struct nb_run *run, struct job_part *part);

/**
 * Whether writes are read back from the database after it was closed and opened again; if
 * not, and there are any, before their sessions are closed.
 */
bool
job_is_read_again(const struct nb_run *run);

/** Operations done by all workers of the active parts, warm-up included. */
uint64_t
job_done(const struct nb_run *run);

/**
 * If an interval is over, or `is_end`: tell it. Then whether the throughput has become
 * steady: once, and only if that was asked.
 */
bool
job_watch(struct nb_run *run, bool is_end);

/** The operations of the active parts are about to begin, or have ended: for the sampler. */
void
job_sample_begin(struct nb_run *run);
void
job_sample_end(struct nb_run *run);

/** Run parts that belong together, from the sessions' opening to their closing. */
NB_MUST_CHECK int
job_run_parts(struct nb_run *run, struct job_part **parts, size_t count, const char *what,
	bool is_counted);

/** The trace that is the part's operations (run_replay.c). */
NB_MUST_CHECK int
job_open_trace(
	struct nb_run *run, struct job_part *part, const struct nb_trace_options *options);

/** Start reading the traces of the active parts, each on a thread of its own. */
NB_MUST_CHECK int
job_start_feeds(struct nb_run *run);

/** Wait for the ends of those. `rc` is how the workers ended, and comes first. */
NB_MUST_CHECK int
job_end_feeds(struct nb_run *run, int rc);

/** Record numbers that keys are asked for; NB_ERR_USAGE if a file of keys cannot have them. */
NB_MUST_CHECK int
job_count_numbers(const struct nb_job *job, uint64_t *numbers);

/** Whether options.record_path can be written, before hours are spent (run_record.c). */
NB_MUST_CHECK int
job_try_record(const struct nb_run *run);

/** Write what was done there. */
NB_MUST_CHECK int
job_record(struct nb_run *run);

/** Measure the harness itself, on the null engine: a few ms. */
NB_MUST_CHECK int
job_floor_measure(struct nb_run *run);

/** Whether the data was what it should be; the text says what was not. */
NB_MUST_CHECK int
job_judge(const struct nb_run *run);

#endif /* RUN_RUN_H */
