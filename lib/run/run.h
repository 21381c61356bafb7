/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_RUN_H
#define RUN_RUN_H
/**
 * The internal state of a run: its request and its progress. The results are in measurement.h.
 */
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

/** A group during a run. */
struct job_part {
	const struct nb_group *group;
	struct ops_spec spec;
	struct schedule schedule; /* if there is a rate */
	struct job_plan plan;
	struct job_part *again_of; /* the part whose puts this one visits; NULL: none */
	struct ops_again again;
	uint64_t *again_before; /* owned */
	/* of a trace; else NULL */
	struct trace_reader *reader;
	struct feed *feed;
	struct array array; /* of a trace with NB_TRACE_ARRAY; else zero */
	/* of the trace's operations, with a rate; used by the feeder */
	struct arrivals arrivals;
	pthread_t feeder;
	bool is_fed; /* the feeder thread runs */
	int feed_rc;
	char feed_text[WORKER_TEXT];
	struct job_worker **workers; /* of all processes */
	int *halt;                   /* shared with the workers */
	bool is_foreground;
	struct job_measurement measured;
};

/** Whether the group has operations of this kind. */
static inline bool
group_has(const struct nb_group *group, uint32_t kind)
{
	return group->weights[kind] > 0;
}

/** Whether operations of the group change the database. */
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

/** The thread that makes the calls for the whole database (run_call.c). */
struct keeper {
	bool is_there;
	struct worker_pool pool;
	struct heartbeat heartbeat;
	/* the current call; passed on with the pool's phase */
	const char *call;
	bool is_long;
	int (*verb)(struct nb_run *run);
	int rc;
	uint64_t begin_ns, took_ns;
	char text[WORKER_TEXT];
};

/** The checkpoints that are made every options.checkpoint_every_ns. */
struct checkpoints {
	bool goes_on; /* the keeper is making one */
	uint64_t due_ns;
	int rc; /* of the first failed one */
	char text[WORKER_TEXT];
};

/**
 * The run has abandoned a thread inside the engine, which hangs or has crashed: see run_call.c.
 */
struct left {
	bool is_left;
	int code;               /* of the failure */
	uint64_t since_ns;      /* when it was abandoned */
	uint64_t stop_ns;       /* when nb_stop() was first noticed; 0: not called */
	char text[WORKER_TEXT]; /* the reason */
};

/** The state of the marker for a run that creates a database (run_path.c). */
struct loading {
	const char *makes; /* name of the action */
	uint64_t keys;     /* as in struct marker_load */
	bool is_noted;
	bool is_closed; /* the database was closed without a failure */
	uint64_t noted_ns;
	struct marker_load before, now;
};

enum { RUN_PROCS_MAX = 256 };

/** The end of a process, for its parent. */
struct ending {
	int rc;
	bool is_there; /* the process reached its end */
	bool is_left;  /* a thread is abandoned inside the engine: see run_call.c */
	char text[WORKER_TEXT];
};

/** The state of the current phase that the processes of a run share, besides their workers. */
struct shared {
	struct job_gate gate;
	int halts[NB_GROUPS_MAX + 1];  /* end the operations; never reset */
	int breaks[NB_GROUPS_MAX + 1]; /* end the reading back, too */
	int stop;                      /* bits of stop_flag, of all processes; atomic */
	struct ending endings[RUN_PROCS_MAX];
};

struct nb_run {
	struct nb_run_options options;
	struct nb_workload workload; /* for a job: one that resembles it */
	const struct nb_job *job;
	/* the job made from a workload; owned; NULL: the run has a job of its own */
	struct nb_job *classic;
	struct nb_engine_ref *engine;
	struct nb_option_value *values;
	struct addresses servers; /* servers of somebody else, to which the engine connects */
	struct target_spec target_spec; /* how to start private servers */
	struct target *target;          /* private servers; owned; NULL: none */
	/* the data on private servers is loaded for this run alone and removed after it */
	bool is_temporary;
	bool is_emptied;  /* the private servers hold leftovers of a temporary run */
	char stamp[24];   /* of the directories for logs */
	char *logs;       /* of servers; owned; NULL: no target */
	char *client_log; /* owned; NULL: no target */
	struct placeholder *placeholders; /* {option:NAME}; owned, with its texts */
	uint32_t durability;              /* the level in effect, never NB_DUR_AUTO */
	char *path;                       /* of the database */
	const char *made_by;              /* the command that creates a database for this run */
	const char *action;               /* name of its operations as a phase of the run */
	struct marker marker;             /* of the database; open and locked during the run */
	struct loading mark;              /* the content of the marker */
	struct keyspace keys;
	struct sizes sizes;
	struct keys_facts keys_facts; /* of a workload */
	uint64_t keys_hash, digest;
	double measured_ratio; /* of values, by zlib */
	struct clock clock;
	struct sysinfo sysinfo;
	struct environment environment;
	struct job_part loading; /* the load phase of the job */
	struct job_part *parts;  /* the groups of the run */
	size_t part_count;
	uint32_t threads_max; /* of a phase, in one process */
	bool has_writes;      /* the run has writes */
	bool is_replay;       /* the operations come from traces */
	struct measurement measured;

	/* during the run */
	struct nb_db *db;
	/* here and below, because a call may outlive its caller */
	struct nb_open_args open_args;
	struct tao_schema schema; /* tables of a graph */
	struct counters told;     /* filled in by the current call of stats */
	uint32_t settle_upto;
	struct row_counts *counting; /* filled in by the current call */
	uint64_t call_ns;            /* duration of the last run_call() */
	struct keeper keeper;
	struct checkpoints checkpoints;
	struct left left;
	struct worker_pool pool;
	uint64_t forgotten;      /* keys of each worker's share whose memory was released */
	struct counters counted; /* values when counting began */
	bool is_counting;
	uint64_t phase_begin_ns;
	uint64_t phase_bound_ns; /* time limit of the phase; 0: none */
	const char *phase_name;
	struct sampler *sampler; /* owned */
	bool has_operated;       /* the measured operations have begun */
	struct hiccup *hiccup;   /* pauses of the machine in this phase; owned */
	struct shared *shared;
	/* of the current phase, in this process */
	uint32_t process;         /* whose workers this process runs */
	bool is_parent;           /* this process watches, and opens the gate */
	bool is_measured;         /* the operations are measured; not an untimed load */
	uint64_t total;           /* operations; 0: not known */
	uint64_t told_life;       /* at the last call of progress */
	struct job_part **active; /* of this phase; they run in parallel */
	size_t active_count;
	uint32_t phase;
	struct system_counts used; /* during the operations of the active parts */
	uint64_t used_ns;          /* duration of these operations */
	bool was_cut;              /* a failure ended the operations of the active parts */
	struct steady steady;
	bool is_steady;
	uint64_t steady_ns, steady_ops;     /* at the last check */
	uint64_t interval_ns, interval_ops; /* at the end of the last interval */
	uint64_t partial_ns;                /* at the last call of options.partial */
	uint64_t partial_cost_ns;           /* CPU time of that call */
	struct nb_histogram *interval_now, *interval_before;
};

/** The shard of this run and the number of shards; 0 of 0: all operations. */
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
 * Check everything that does not need the database. Loads the engine, and prepares its options,
 * the keys, the sizes and the clock (run_check.c).
 */
NB_MUST_CHECK int
run_check(struct nb_run *run);

/** Whether the engine has the verbs that a group needs beyond get, put and delete. */
NB_MUST_CHECK int
run_check_verbs(
	const struct nb_engine *engine, const struct nb_job *job, const struct nb_group *group);

/** Most bytes of keys and values in one request of the group. */
uint64_t
run_request_bytes(const struct nb_run *run, const struct nb_group *group);

/** Operations of the group; UINT64_MAX: no limit. */
uint64_t
run_count_of(const struct nb_job *job, const struct nb_group *group);

/**
 * The number of record numbers that need keys. NB_ERR_USAGE: inserts without a count, and the
 * keys are from a file or too short.
 */
NB_MUST_CHECK int
job_count_numbers(const struct nb_job *job, uint64_t *numbers);

/* ---- put, get and delete (run_verb.c) ---- */

/** Read all keys: for the digest of the stream, and to estimate the number of repeated keys. */
NB_MUST_CHECK int
verb_survey(struct nb_run *run);

/** Count repeated keys exactly, if the number decides whether keys may be missing. */
void
verb_survey_again(struct nb_run *run);

/** Bytes of keys and values that a put has left in a database that it created; 0: not known. */
uint64_t
verb_live_bytes(const struct nb_run *run);

/** Copy the measurement of the only group to the run. */
void
verb_collect(struct nb_run *run);

/** Whether verification passed. If not, the error text reports the difference. */
NB_MUST_CHECK int
verb_judge(const struct nb_run *run);

/* ---- steps of all kinds of runs, on the main thread (run_steps.c) ---- */

/**
 * Pin this thread to CPU number `id` of those that the process may use, modulo their number.
 */
NB_MUST_CHECK int
run_pin(uint32_t id);

/**
 * Pin it to the nth CPU of a list such as "0-3,8", modulo its length. NB_ERR_USAGE: invalid
 * list.
 */
NB_MUST_CHECK int
run_pin_to(const char *cpus, uint32_t nth);

/** Clear the error text before a call of the engine that may fail without setting one. */
void
run_forget_text(void);

/** Set the failure of an engine call that is not an operation; `what` names the call. */
int
run_engine_failure(const struct nb_run *run, int rc, const char *what);

/**
 * Begin a phase, and end the previous one. Its time goes into measured.phases by its name, and
 * progress is reported for it.
 */
void
run_begin_phase(struct nb_run *run, const char *name);
void
run_end_phases(struct nb_run *run);

/** Add the time since begin_ns to a phase. Does nothing if the table of phases is full. */
void
run_add_phase(struct nb_run *run, const char *name, uint64_t begin_ns);

/** Call the progress callback, if any; total 0: not known. */
void
run_tell(struct nb_run *run, uint64_t done, uint64_t total);

/** Whether the engine keeps its data when the database is closed. */
bool
run_is_kept(const struct nb_run *run);

/** Whether the database is kept in its directory, and not by a server of somebody else. */
bool
run_is_local(const struct nb_run *run);

/** Open as run->workload.verb requires: create for a put, read only for a get. */
NB_MUST_CHECK int
run_open_database(struct nb_run *run);

/** Flush or compact, as far as requested and as the engine can. */
NB_MUST_CHECK int
run_settle(struct nb_run *run);

/**
 * Close. `rc` is an earlier failure, which is returned; then a failure to close is only logged.
 */
NB_MUST_CHECK int
run_close_database(struct nb_run *run, int rc);

/**
 * Open the database again, read only, and from storage if a cold run was requested; then close
 * it as above. The measurement does not change.
 */
NB_MUST_CHECK int
run_reopen_database(struct nb_run *run);
NB_MUST_CHECK int
run_close_again(struct nb_run *run, int rc);

/** Read the engine's counters. Empty if it has none or the run is abandoned. *out is yours. */
NB_MUST_CHECK int
run_ask_counters(struct nb_run *run, struct counters *out);

/**
 * Count the engine's work until run_count_until(): for the operations, and the work that they
 * postpone. A second begin continues the count. No session is inside a call. `rc` is an earlier
 * failure, which is returned.
 */
NB_MUST_CHECK int
run_count_from(struct nb_run *run);
NB_MUST_CHECK int
run_count_until(struct nb_run *run, int rc);

/** Before open: evict the database from memory if requested, and record its residency. */
NB_MUST_CHECK int
run_cool_database(struct nb_run *run);

/**
 * Record which part of it is in memory: just before the first operation, and after the close.
 */
void
run_look_begin(struct nb_run *run);
void
run_look_after(struct nb_run *run);

/* ---- the directory of the database, and its marker (run_path.c) ---- */

/** Create <path>/<driver> if the run writes, else check that it exists. Lock it. */
NB_MUST_CHECK int
run_prepare_path(struct nb_run *run);

/** Mark the open database as unfinished until the path is released: the run creates it. */
void
run_begin_load(struct nb_run *run);

/** Note the number of written records in the marker, from time to time. */
void
run_tick_load(struct nb_run *run, uint64_t done);

/** Remove data that was loaded for this run alone. The servers have stopped. */
void
run_end_temporary(struct nb_run *run);

/** Unlock the directory. An abandoned run keeps the lock until the process ends. */
void
run_release_path(struct nb_run *run);

/* ---- servers (run_target.c) ---- */

/** Find the servers of a client engine; and check the requirements of private servers. */
NB_MUST_CHECK int
run_find_servers(struct nb_run *run);
NB_MUST_CHECK int
run_check_target(struct nb_run *run);

/**
 * Start the private servers, if any; and stop them. `rc` is the result of the run until then.
 */
NB_MUST_CHECK int
run_start_target(struct nb_run *run);
NB_MUST_CHECK int
run_stop_target(struct nb_run *run, int rc);

/** Check some records that the run expects on servers. NB_ERR_DATA if they hold other data. */
NB_MUST_CHECK int
run_probe(struct nb_run *run);

/** Whether run_probe() checks anything. */
bool
run_is_probed(const struct nb_run *run);

/** Open the database only for that check. run_close_again() closes it. */
NB_MUST_CHECK int
run_open_to_look(struct nb_run *run);

/** All addresses that the engine connects to. */
const struct addresses *
run_addresses(const struct nb_run *run);

/* ---- calls of the engine, and runs that abandon one (run_call.c) ---- */

/**
 * Let the keeper call verb(run), named `call`, and wait for it. Returns its result, with its
 * error text on this thread; run->call_ns is its duration. Fails if the call does not return,
 * or if an earlier one did not. All data of the verb must be in `run`. is_long: the call does
 * the work of many operations, and its limit is call_timeout_ns.
 */
NB_MUST_CHECK int
run_call(struct nb_run *run, const char *call, bool is_long, int (*verb)(struct nb_run *run));

/** Begin a call on the keeper, while this thread does other work. run_call_end() ends it. */
NB_MUST_CHECK int
run_call_begin(
	struct nb_run *run, const char *call, bool is_long, int (*verb)(struct nb_run *run));

/** Whether the call has not returned yet. Called repeatedly between the two. */
bool
run_call_goes_on(struct nb_run *run);

NB_MUST_CHECK int
run_call_end(struct nb_run *run);

/* ---- checkpoints during the operations (checkpoints.c) ---- */

/** Whether the requested checkpoints are possible. */
NB_MUST_CHECK int
checkpoints_check(const struct nb_run *run);

/**
 * Begin when the operations begin or continue. Then checkpoints_tick() is called repeatedly.
 */
void
checkpoints_begin(struct nb_run *run);

/** Begin or end a checkpoint if it is time. A failure stops the operations. */
void
checkpoints_tick(struct nb_run *run);

/** Wait for the current checkpoint after the operations. Returns the first failure of all. */
NB_MUST_CHECK int
checkpoints_end(struct nb_run *run);

/**
 * End the threads of a pool, or the keeper. Returns rc, or the failure if a thread crashes
 * meanwhile.
 */
NB_MUST_CHECK int
run_end_crew(struct nb_run *run, struct worker_pool *pool, int rc);
int
run_dismiss_keeper(struct nb_run *run, int rc);

/**
 * In each tick: whether the run is abandoned. It is if `heartbeat` is overdue or has not
 * returned after nb_stop(), or if a thread crashed.
 */
bool
run_watch(struct nb_run *run, struct heartbeat *heartbeat, bool is_long);

/** In each tick of an abandoned run: give up the pool when waiting no longer helps. */
void
run_end_left(struct nb_run *run, struct worker_pool *pool);

/** Set the reason for abandoning the run as this thread's failure. */
int
run_left_failure(const struct nb_run *run);

/* ---- the active parts, during the run and at their end (run_collect.c) ---- */

/** Sum up the counts of the workers of a part. */
NB_MUST_CHECK int
job_collect(struct nb_run *run, struct job_part *part);

/** Add the findings of reading back since job_collect(). */
void
job_collect_read_back(struct nb_run *run, struct job_part *part);

/** Operations done by all workers, with the warm-up. */
uint64_t
job_done(const struct nb_run *run);

/**
 * Report the interval that has ended, or at `is_end` the last one. Returns true once, when the
 * throughput has become steady, and only if that was requested.
 */
bool
job_watch(struct nb_run *run, bool is_end);

/**
 * Making a partial result, or merging those of all ranks, takes at most 1 / PARTIAL_SHARE of a
 * CPU, because a worker may need that CPU.
 */
enum { PARTIAL_SHARE = 1000 };

/** Call options.partial if it is due. The operations have run for now_ns (run_partial.c). */
void
job_tell_partial(struct nb_run *run, uint64_t now_ns);

/** Inform the sampler that the operations are about to begin, or have ended. */
void
job_sample_begin(struct nb_run *run);
void
job_sample_end(struct nb_run *run);

/** Whether verification passed. If not, the error text reports the difference. */
NB_MUST_CHECK int
job_judge(const struct nb_run *run);

/* ---- the workers of a phase (run_phase.c) ---- */

/** Run the active parts as threads of this process. */
NB_MUST_CHECK int
phase_run_threads(struct nb_run *run);

/** Run them in options.procs processes, which this process watches (run_processes.c). */
NB_MUST_CHECK int
phase_run_processes(struct nb_run *run);

/** Read back the writes of the workers of run->process from the database that is now open. */
NB_MUST_CHECK int
phase_read_back(struct nb_run *run);

/**
 * Whether writes are read back after the database was closed and opened again. Otherwise they
 * are read back before their sessions close (run_execute.c).
 */
bool
job_is_read_again(const struct nb_run *run);

/* ---- traces and the harness ---- */

/** Open the trace with the operations of the part (run_replay.c). */
NB_MUST_CHECK int
job_open_trace(
	struct nb_run *run, struct job_part *part, const struct nb_trace_options *options);

/** Start to read the traces of the active parts, each on its own thread. */
NB_MUST_CHECK int
job_start_feeds(struct nb_run *run);

/** Wait until these threads end. `rc` is the result of the workers and takes precedence. */
NB_MUST_CHECK int
job_end_feeds(struct nb_run *run, int rc);

/**
 * Check that options.record_path can be written; and write the executed operations there
 * (run_record.c).
 */
NB_MUST_CHECK int
job_try_record(const struct nb_run *run);
NB_MUST_CHECK int
job_record(struct nb_run *run);

/** Begin a part that visits the puts of another part in this process (run_again.c). */
NB_MUST_CHECK int
run_begin_again(struct nb_run *run, struct job_part *part);

/** Measure the overhead of mininb itself with the null engine, in a few ms (run_floor.c). */
NB_MUST_CHECK int
job_floor_measure(struct nb_run *run);

#endif /* RUN_RUN_H */
