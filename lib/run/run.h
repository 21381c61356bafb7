/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_RUN_H
#define RUN_RUN_H
/** A run from inside: what was asked for, and its state; what came of it is in measurement.h. */
#include <pthread.h>
#include <stdbool.h>

#include <mininb/job.h>
#include <mininb/mininb.h>

#include "base/clock.h"
#include "run/counters.h"
#include "run/engine.h"
#include "run/environment.h"
#include "run/heartbeat.h"
#include "run/hiccup.h"
#include "run/marker.h"
#include "run/measurement.h"
#include "run/rows.h"
#include "run/schedule.h"
#include "run/steady.h"
#include "run/sysinfo.h"
#include "run/system.h"
#include "run/worker.h"
#include "run/worker_pool.h"
#include "target/target.h"
#include "workload/key_array.h"
#include "workload/job.h"
#include "workload/keyspace.h"
#include "workload/sizes.h"

/** A group as it is run. */
struct job_part {
	const struct nb_group *group;
	struct ops_spec spec;
	struct schedule schedule; /* if there is a rate */
	struct job_plan plan;
	struct job_part *again_of; /* whose puts it visits; NULL: none */
	struct ops_again again;
	uint64_t *again_before; /* owned */
	/* of a trace; else NULL */
	struct trace_reader *reader;
	struct feed *feed;
	struct array array;       /* of a trace with NB_TRACE_ARRAY; else zeroed */
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
group_writes(const struct nb_job *job, const struct nb_group *group)
{
	for (uint32_t kind = 0; kind < NB_OP_KINDS; kind++) {
		if (group_has(group, kind) && (ops_is_write(kind) || kind == NB_OP_DELETE))
			return true;
	}
	return (kinds_verbs(job, group) & KIND_CHANGES) != 0;
}

struct sampler;

/** The thread that makes the calls that concern the whole database (run_call.c). */
struct keeper {
	bool is_there;
	struct worker_pool pool;
	struct heartbeat heartbeat;
	/* the call at hand; handed over with the pool's phase */
	const char *call;
	bool is_long;
	int (*verb)(struct nb_run *run);
	int rc;
	uint64_t begin_ns, took_ns;
	char text[WORKER_TEXT];
};

/** Checkpoints that are made every options.checkpoint_every_ns. */
struct checkpoints {
	bool goes_on; /* the keeper is at one */
	uint64_t due_ns;
	int rc; /* of the first that failed */
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

/** What the marker says of a run that makes a database (run_path.c). */
struct loading {
	const char *makes; /* the action */
	uint64_t keys;     /* as in struct marker_load */
	bool is_noted;
	bool is_closed; /* the database, without a failure */
	uint64_t noted_ns;
	struct marker_load before, now;
};

enum { RUN_PROCS_MAX = 256 };

/** How a process ended, for its parent. */
struct ending {
	int rc;
	bool is_there; /* it got to its end */
	bool is_left;  /* within the engine, see run_call.c */
	char text[WORKER_TEXT];
};

/** What the processes of a run share beside their workers; of the phase that is under way. */
struct shared {
	struct job_gate gate;
	int halts[NB_GROUPS_MAX + 1];  /* end operations; never taken back */
	int breaks[NB_GROUPS_MAX + 1]; /* end reading back, too */
	int stop;                      /* bits of stop_flag, of all of them; atomic */
	struct ending endings[RUN_PROCS_MAX];
};

struct nb_run {
	struct nb_run_options options;
	struct nb_workload workload; /* of a job: one that is like it */
	const struct nb_job *job;
	struct nb_job *classic; /* the job of a workload; owned; NULL: it was a job */
	struct nb_engine_ref *engine;
	struct nb_option_value *values;
	struct addresses servers;       /* of somebody else, that the engine connects to */
	struct target_spec target_spec; /* how private ones are started */
	struct target *target;          /* those; owned; NULL: there are none */
	bool is_temporary; /* their data was loaded for this run alone, and goes with it */
	bool is_emptied;   /* they have what such a run has left */
	char stamp[24];    /* of its directories for logs */
	char *logs;        /* of servers; owned; NULL: there is no target */
	char *client_log;  /* owned; NULL likewise */
	struct placeholder *placeholders; /* {option:NAME}; owned as its texts are */
	uint32_t durability;              /* given: a level, never NB_DUR_AUTO */
	char *path;                       /* of the database */
	const char *made_by;              /* what makes a database for it, as it is typed */
	const char *action;   /* what its operations are called as a phase of the run */
	struct marker marker; /* of the database, open and locked while it is executed */
	struct loading mark;  /* what the marker says of it */
	struct keyspace keys;
	struct sizes sizes;
	struct keys_facts keys_facts; /* of a workload */
	uint64_t keys_hash, digest;
	double measured_ratio; /* of values, by zlib */
	struct clock clock;
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
	struct tao_schema schema;      /* of a graph: its tables */
	struct counters told;          /* by the call of stats that is under way */
	uint32_t settle_upto;
	struct row_counts *counting; /* what the call at hand counts */
	uint64_t call_ns;            /* what the last run_call() took */
	struct keeper keeper;
	struct checkpoints checkpoints;
	struct left left;
	struct worker_pool pool;
	uint64_t forgotten;      /* keys of each worker's share whose memory was let go */
	struct counters counted; /* as they were when counting began */
	bool is_counting;
	uint64_t phase_begin_ns;
	uint64_t phase_bound_ns; /* how long it may last; 0: not bound by time */
	const char *phase_name;
	struct sampler *sampler; /* owned */
	bool has_operated;       /* those that are measured have begun */
	struct hiccup *hiccup;   /* of this phase of the machine; owned */
	struct shared *shared;
	/* of the phase that is under way, in this process */
	uint32_t process;         /* whose workers it runs */
	bool is_parent;           /* it watches, and opens the gate */
	bool is_measured;         /* its operations count: it is not an untimed loading */
	uint64_t total;           /* operations; 0: not known */
	uint64_t told_life;       /* at the last call of progress */
	struct job_part **active; /* of this phase, which run side by side */
	size_t active_count;
	uint32_t phase;
	struct system_counts used; /* during the operations of the active parts */
	uint64_t used_ns;          /* and how long those took */
	bool was_cut;              /* a failure ended the operations of the active parts */
	struct steady steady;
	bool is_steady;
	uint64_t steady_ns, steady_ops;     /* at the last look */
	uint64_t interval_ns, interval_ops; /* at the end of the last interval */
	uint64_t partial_ns;                /* at the last call of options.partial */
	struct nb_histogram *interval_now, *interval_before;
};

/** The shard that the run does, of how many; 0 of 0: all operations. */
static inline uint32_t
run_own_shard(const struct nb_run *run)
{
	return run->options.shards > 0 ? run->options.shard : run->job->shard;
}

static inline uint32_t
run_all_shards(const struct nb_run *run)
{
	return run->options.shards > 0 ? run->options.shards : run->job->shards;
}

/**
 * Check all that can be checked without touching the database, and take what that needs: the
 * engine, its options, keys, sizes and the clock (run_check.c).
 */
NB_MUST_CHECK int
run_check(struct nb_run *run);

/** Whether the engine has the verbs that a group needs beyond get, put and delete. */
NB_MUST_CHECK int
run_check_verbs(
	const struct nb_engine *engine, const struct nb_job *job, const struct nb_group *group);

/** Bytes of keys and values of one request of the group, at most. */
uint64_t
run_request_bytes(const struct nb_run *run, const struct nb_group *group);

/** Operations that the group is to do; UINT64_MAX: no bound. */
uint64_t
run_count_of(const struct nb_job *job, const struct nb_group *group);

/** Record numbers that keys are asked for; NB_ERR_USAGE if a file of keys cannot have them. */
NB_MUST_CHECK int
job_count_numbers(const struct nb_job *job, uint64_t *numbers);

/* ---- put, get and delete (run_verb.c) ---- */

/** Look at all keys: for the digest of the stream, and how many keys are repeated. */
NB_MUST_CHECK int
verb_survey(struct nb_run *run);

/** Count repeated keys exactly, if that decides whether keys may be missing. */
void
verb_survey_again(struct nb_run *run);

/** Bytes of keys and values that a put has left in a database that it made; 0: not known. */
uint64_t
verb_live_bytes(const struct nb_run *run);

/** Take the measurement of the only group as that of the run. */
void
verb_collect(struct nb_run *run);

/** Whether the data was what it should be; the text says what was not. */
NB_MUST_CHECK int
verb_judge(const struct nb_run *run);

/* ---- steps of all kinds of runs, on the main thread (run_steps.c) ---- */

/** Pin this thread to the id-th CPU that the process may use, round and round. */
NB_MUST_CHECK int
run_pin(uint32_t id);

/** Pin it to the nth CPU of a list "0-3,8", round and round. NB_ERR_USAGE: not such a list. */
NB_MUST_CHECK int
run_pin_to(const char *cpus, uint32_t nth);

/** Clear the error text before a verb that may fail without setting one. */
void
run_forget_text(void);

/** Set the failure of a verb of the engine that is not an operation; `what` names it. */
int
run_engine_failure(const struct nb_run *run, int rc, const char *what);

/**
 * Begin a phase, which ends the one before: measured.phases has the time of each by its name,
 * and progress is reported for it.
 */
void
run_begin_phase(struct nb_run *run, const char *name);
void
run_end_phases(struct nb_run *run);

/** Add the time from begin_ns until now to a phase; nothing if there is no room for its name. */
void
run_add_phase(struct nb_run *run, const char *name, uint64_t begin_ns);

/** Call progress, if there is one; total 0: not known. */
void
run_tell(struct nb_run *run, uint64_t done, uint64_t total);

/** Whether the engine keeps its data when the database is closed. */
bool
run_is_kept(const struct nb_run *run);

/** Whether the database is kept in its directory: not by a server of somebody else. */
bool
run_is_local(const struct nb_run *run);

/** Open as run->workload.verb says: made for a put, read only for a get. */
NB_MUST_CHECK int
run_open_database(struct nb_run *run);

/** Flush or compact, as far as was asked and the engine can. */
NB_MUST_CHECK int
run_settle(struct nb_run *run);

/** Close. `rc` is a failure of before: it stays the run's, and one of closing is logged. */
NB_MUST_CHECK int
run_close_database(struct nb_run *run, int rc);

/**
 * Open the database again, to read only, and from storage if a cold run was asked for; and close
 * it as above. Nothing that was measured changes.
 */
NB_MUST_CHECK int
run_reopen_database(struct nb_run *run);
NB_MUST_CHECK int
run_close_again(struct nb_run *run, int rc);

/** What the engine counts now, empty if it counts nothing or the run is left; *out is yours. */
NB_MUST_CHECK int
run_ask_counters(struct nb_run *run, struct counters *out);

/**
 * Count, from here until run_count_until(), what the engine does for the operations and for what
 * these leave to be done. Begun twice it goes on. No session is within a call. `rc` is a failure
 * of before, which stays the run's.
 */
NB_MUST_CHECK int
run_count_from(struct nb_run *run);
NB_MUST_CHECK int
run_count_until(struct nb_run *run, int rc);

/** Before it is opened: evict it from memory if that was asked for, and look what is there. */
NB_MUST_CHECK int
run_cool_database(struct nb_run *run);

/** Look what is in memory when the first operation is about to begin, and after the close. */
void
run_look_begin(struct nb_run *run);
void
run_look_after(struct nb_run *run);

/* ---- the directory of the database, and its marker (run_path.c) ---- */

/** Make <path>/<driver> if it will be written, else check that it is there; and lock it. */
NB_MUST_CHECK int
run_prepare_path(struct nb_run *run);

/** The database is open and will be made: until the path is released it is unfinished. */
void
run_begin_load(struct nb_run *run);

/** So many records are written; for the marker, now and then. */
void
run_tick_load(struct nb_run *run, uint64_t done);

/** Remove what was loaded for this run alone; servers are stopped. */
void
run_end_temporary(struct nb_run *run);

/** Let other processes have it. A run that was left keeps it until the process ends. */
void
run_release_path(struct nb_run *run);

/* ---- servers (run_target.c) ---- */

/** Find who serves the engine, if it is a client; and check what private servers need. */
NB_MUST_CHECK int
run_find_servers(struct nb_run *run);
NB_MUST_CHECK int
run_check_target(struct nb_run *run);

/** Start private servers, if it has some; and stop them. `rc` is how the run ended until then. */
NB_MUST_CHECK int
run_start_target(struct nb_run *run);
NB_MUST_CHECK int
run_stop_target(struct nb_run *run, int rc);

/** Look at some records that the run expects of servers: NB_ERR_DATA if they hold other data. */
NB_MUST_CHECK int
run_probe(struct nb_run *run);

/** Whether run_probe() will look. */
bool
run_is_probed(const struct nb_run *run);

/** Open the database for that alone; run_close_again() closes it. */
NB_MUST_CHECK int
run_open_to_look(struct nb_run *run);

/** All that the engine connects to. */
const struct addresses *
run_addresses(const struct nb_run *run);

/* ---- calls of the engine, and runs that are left within one (run_call.c) ---- */

/**
 * Let the keeper call verb(run), named `call`, and wait for it: what it returned, its text as
 * this thread's, the time it took in run->call_ns. A failure if it does not come back, or an
 * earlier call did not. What the verb uses has to be in `run`. is_long: it does the work of many
 * operations, and call_timeout_ns is its limit.
 */
NB_MUST_CHECK int
run_call(struct nb_run *run, const char *call, bool is_long, int (*verb)(struct nb_run *run));

/** Its two halves: the keeper calls, while this thread does something else. */
NB_MUST_CHECK int
run_call_begin(
	struct nb_run *run, const char *call, bool is_long, int (*verb)(struct nb_run *run));

/** Between them, again and again: whether the call has not returned. */
bool
run_call_goes_on(struct nb_run *run);

NB_MUST_CHECK int
run_call_end(struct nb_run *run);

/* ---- checkpoints during the operations (checkpoints.c) ---- */

/** Whether those that were asked for can be made. */
NB_MUST_CHECK int
checkpoints_check(const struct nb_run *run);

/** The operations begin, or go on, after which checkpoints_tick() is called again and again. */
void
checkpoints_begin(struct nb_run *run);

/** Begin a checkpoint, or end it, if it is time. A failure stops the operations. */
void
checkpoints_tick(struct nb_run *run);

/** The operations are over: wait for the one that goes on. The first failure of all. */
NB_MUST_CHECK int
checkpoints_end(struct nb_run *run);

/** End the threads of a pool, or of the keeper; rc, or the failure if one crashes in that. */
NB_MUST_CHECK int
run_end_crew(struct nb_run *run, struct worker_pool *pool, int rc);
int
run_dismiss_keeper(struct nb_run *run, int rc);

/**
 * In each tick: whether the run is left, because `heartbeat` is overdue, has not returned after
 * nb_stop(), or some thread crashed.
 */
bool
run_watch(struct nb_run *run, struct heartbeat *heartbeat, bool is_long);

/** In each tick of a run that is left: give the pool up when waiting no longer helps. */
void
run_end_left(struct nb_run *run, struct worker_pool *pool);

/** Why it was left, as this thread's failure. */
int
run_left_failure(const struct nb_run *run);

/* ---- the active parts, while they run and at their end (run_collect.c) ---- */

/** Sum up what the workers of a part have. */
NB_MUST_CHECK int
job_collect(struct nb_run *run, struct job_part *part);

/** Add what reading back has found since job_collect(). */
void
job_collect_read_back(struct nb_run *run, struct job_part *part);

/** Operations done by all workers, warm-up included. */
uint64_t
job_done(const struct nb_run *run);

/**
 * Report the interval that is over, or at `is_end` the last one. Returns whether the throughput
 * has become steady: once, and only if that was asked.
 */
bool
job_watch(struct nb_run *run, bool is_end);

/** Call options.partial if that is due: the operations have gone on for now_ns (run_partial.c). */
void
job_tell_partial(struct nb_run *run, uint64_t now_ns);

/** Their operations are about to begin, or have ended: for the sampler. */
void
job_sample_begin(struct nb_run *run);
void
job_sample_end(struct nb_run *run);

/** Whether the data was what it should be; the text says what was not. */
NB_MUST_CHECK int
job_judge(const struct nb_run *run);

/* ---- the workers of a phase (run_phase.c) ---- */

/** Run the active parts as threads of this process. */
NB_MUST_CHECK int
phase_run_threads(struct nb_run *run);

/** Run them in options.procs processes, which this one watches. */
NB_MUST_CHECK int
phase_run_processes(struct nb_run *run);

/** Read back what the workers of run->process wrote, from the database as it is open now. */
NB_MUST_CHECK int
phase_read_back(struct nb_run *run);

/**
 * Whether writes are read back from the database after it was closed and opened again; if
 * not, and there are any, before their sessions are closed (run_execute.c).
 */
bool
job_is_read_again(const struct nb_run *run);

/* ---- traces and the harness ---- */

/** The trace that is the part's operations (run_replay.c). */
NB_MUST_CHECK int
job_open_trace(
	struct nb_run *run, struct job_part *part, const struct nb_trace_options *options);

/** Start reading the traces of the active parts, each on a thread of its own. */
NB_MUST_CHECK int
job_start_feeds(struct nb_run *run);

/** Wait until they end. `rc` is how the workers ended, and comes first. */
NB_MUST_CHECK int
job_end_feeds(struct nb_run *run, int rc);

/** Whether options.record_path can be written; then write what was done there (run_record.c). */
NB_MUST_CHECK int
job_try_record(const struct nb_run *run);
NB_MUST_CHECK int
job_record(struct nb_run *run);

/** Measure the harness itself, on the null engine: a few ms (run_floor.c). */
NB_MUST_CHECK int
job_floor_measure(struct nb_run *run);

#endif /* RUN_RUN_H */
