/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_WORKER_H
#define RUN_WORKER_H
/** One worker thread of a group of a job: the operations that it times, and their counts. */
#include <stdbool.h>
#include <string.h>

#include <mininb/job.h>
#include <mininb/mininb.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "run/pacer.h"
#include "run/heartbeat.h"
#include "run/pulse.h"
#include "run/schedule.h"
#include "run/engine.h"
#include "workload/feed.h"
#include "workload/ops.h"

enum {
	WORKER_ANSWERS = NB_PENDING + 1,
	WORKER_TEXT = 512,
	WORKER_LINE = 64,
};

/** Read one byte of every cache line, so that an engine that lends pages must load them. */
static inline __attribute__((always_inline)) void
worker_consume(struct nb_slice value)
{
	if (value.size == 0)
		return;
	const volatile uint8_t *at = value.data, *last = at + value.size - 1;
	for (; at < last; at += WORKER_LINE)
		(void)*at;
	(void)*last;
}

/** Whether a loan has a possible size. If not, call worker_refuse() or engine_refuse_size(). */
static inline __attribute__((always_inline)) bool
worker_may_consume(struct nb_slice value)
{
	return __builtin_expect((ptrdiff_t)value.size >= 0, 1);
}

/** End the loan of `call`, whose size is impossible. Returns the failure. */
NB_MUST_CHECK int
worker_refuse(const struct nb_engine *engine, struct nb_session *session, const char *call,
	struct nb_slice value);

enum {
	JOB_CASES = 8,         /* findings whose data is kept */
	JOB_CASE_BYTES = 32,   /* of a kept key */
	JOB_OWN_WRITES = 1024, /* slots for the last writes of a thread, at least */
	/* slots of all threads (256 KiB); a larger table misses the cache */
	JOB_OWN_MOST = 1 << 14,
	JOB_TRACE_WRITES = 1 << 16, /* the same for a trace, with keys; a power of two */
	/* last writes of a thread that are read back; as many older ones */
	JOB_READ_BACK = 1024,
	JOB_OWN_KEY = 63, /* longest key of a trace that can be read back, in bytes */
};

/* Findings of verification. They extend those of value_check(). */
enum {
	JOB_GOOD = 0,
	JOB_MISSING,    /* an existing record was not found */
	JOB_WRONG_SIZE, /* values of this job do not have this size */
	JOB_OTHER_KEY,
	JOB_CORRUPT,
	JOB_STALE,       /* this thread had put a newer value or deleted the record */
	JOB_UNORDERED,   /* the keys of a scan do not ascend */
	JOB_GAP,         /* a scan omitted an existing record */
	JOB_PHANTOM,     /* a scan returned a key that no record has */
	JOB_EXISTS,      /* an insert of a new record found its key present */
	JOB_TORN,        /* a snapshot shows only a part of one operation's writes */
	JOB_WRONG_SUM,   /* the sum of counters differs from the additions */
	JOB_LOST_UPDATE, /* two operations overwrote the same version after both had read it */
	/* each of two operations read a value that the other one then overwrote */
	JOB_WRITE_SKEW,
	JOB_VERDICTS
};

/** "missing", "stale", ...: the state of a record. */
const char *
job_verdict_name(int verdict);

/** The verdict of a record whose value has the VALUE_* verdict. */
int
job_verdict_of(int value_verdict);

/** A finding with its data, for the report. Plain data. */
struct job_case {
	uint64_t op; /* number of the operation in the group */
	uint32_t kind, verdict;
	uint64_t version, expected; /* of the value; 0 if the verdict has no version */
	uint32_t key_size, spare_u32;
	uint8_t key[JOB_CASE_BYTES]; /* the first bytes of the key */
};

struct job_findings {
	uint64_t verified;  /* records that were verified */
	uint64_t foreign;   /* of these: good, but written by another run */
	uint64_t read_back; /* of these: read again after the operations */
	uint64_t verdicts[JOB_VERDICTS];
	uint64_t case_count; /* kept cases, at most JOB_CASES */
	struct job_case cases[JOB_CASES];
};

/** Counts of one kind of operation on one thread, without the warm-up. */
struct job_counts {
	/* NB_CONFLICT counts attempts, the others operations; atomic */
	uint64_t answers[WORKER_ANSWERS];
	uint64_t records;              /* read or written by scans, batches, ... */
	uint64_t bytes;                /* of values that were read or written */
	struct nb_histogram *service;  /* NULL: the group has no operation of this kind */
	struct nb_histogram *response; /* from the due time; NULL without a rate */
};

/** The start barrier of a phase, for the workers of all processes. */
struct job_gate {
	uint64_t begin;   /* start time in ticks; UINT64_MAX: not known yet; atomic */
	uint32_t waiting; /* workers that are ready; atomic */
	uint32_t workers; /* number of workers */
	/* the last worker opens the gate; else the process that watches does */
	uint32_t is_opened_inside;
	uint32_t has_deletes; /* a trace has had a delete so far; atomic */
	uint64_t start_at_ns; /* CLOCK_REALTIME of the start; 0: at once */
};

/** Set the start time, a little ahead. All workers are ready. */
void
job_gate_open(struct job_gate *gate, const struct clock *clock);

/**
 * Whether an operation with this answer has written data that the level `commit` syncs before
 * the answer. `kind` is NB_OP_*. A batch or a transaction is one commit.
 */
static inline bool
job_is_commit(uint32_t kind, int answer)
{
	bool is_write = ops_is_write(kind) || kind == NB_OP_DELETE;
	/* a read-modify-write puts a record that its read has not found */
	return is_write && (answer == NB_OK || (answer == NB_NOT_FOUND && kind == NB_OP_RMW));
}

struct job_worker;
struct job_taken;
struct async;

/** Operations without stamps of their own. Two stamps enclose each stretch of them. */
struct job_stretches {
	uint64_t ops, count;
	uint64_t ticks; /* without verification */
};

/** The settings that the workers of a group share. No worker changes them. */
struct job_plan {
	const struct nb_engine *engine;
	const struct clock *clock;
	const struct ops_spec *spec;
	const char *action; /* name of an operation of put, get or delete; else NULL */
	const struct schedule *schedule; /* NULL: no rate */
	struct feed *feed;               /* operations of a trace; NULL: those of the spec */
	struct job_gate *gate;
	const int *halt;           /* not 0: stop after the current operation; atomic */
	uint64_t verify_threshold; /* see is_sampled() */
	uint64_t stamp_threshold;  /* see has_stamps(); 0: no operation has stamps of its own */
	uint64_t count;            /* operations of the group; UINT64_MAX: no limit */
	uint64_t warmup_count;     /* first operations that are not measured */
	/* length of the warm-up from the start; operations that begin in it are not measured */
	uint64_t warm_ticks;
	uint64_t conflict_ns; /* how long an operation may be retried after conflicts */
	uint64_t tell_ticks;  /* longest time between two countings inside a block */
	uint64_t end_ticks;   /* end after the start; UINT64_MAX: no limit */
	/* bytes that are submitted together; 0: whatever there is room for */
	uint64_t batch_bytes;
	uint64_t timeout_ticks; /* of a request in flight; UINT64_MAX: no limit */
	uint32_t depth;         /* most requests in flight per worker; 1: without async.h */
	uint32_t threads;       /* of the group, in all processes of this shard */
	uint32_t before;        /* threads of the shards before this one */
	uint32_t of_all;        /* threads of all shards, which share the operations */
	uint32_t kinds;         /* bits 1 << NB_OP_* of the kinds that may occur */
	bool is_paced;          /* by the schedule, or by the timestamps of the trace */
	bool is_sparse;         /* few operations have stamps of their own: sparse.h */
	bool is_native_insert;  /* an insert calls the engine's insert; else its put */
	bool may_exist; /* an insert that finds its new record present is not a finding */
	bool may_miss;  /* a read that finds nothing is not a finding */
	/* a miss is not a finding even if the operation expects the record (OPS_PRESENT) */
	bool is_lenient;
	bool has_deletes;    /* some group has deletes */
	bool is_alone;       /* no other worker writes to the keys that this worker writes to */
	uint32_t own_places; /* slots of job_worker.own; a power of two */
	bool takes_turns;    /* threads always take strata in turn; see job_has_shares() */
	bool has_rivals;     /* this process has other workers, in this phase or another one */
	bool may_spin;
	bool are_counters; /* values are numbers, which do not identify their writer */
	uint32_t tally_first, tally_workers; /* see tally.c; 0 workers: sums are not verified */
	bool are_values_keys; /* a value is the bytes of its key, as in a trace of ycsb-text */
	struct job_worker **workers; /* of the group, indexed by thread */
};

/**
 * Whether the writes of the workers are known without remembering them: each record is written
 * once, in the order of the operations.
 */
static inline bool
job_is_listed(const struct job_plan *plan)
{
	const struct ops_spec *spec = plan->spec;
	/* otherwise another group may have put a deleted record again */
	bool is_once = spec->one_kind == NB_OP_DELETE && ops_is_once(spec) && plan->is_alone;
	return plan->feed == NULL && (spec->is_load || is_once);
}

/**
 * Whether each worker executes consecutive operations. Thread n of all shards executes those
 * from job_share_begin(n) to job_share_begin(n + 1). So with as many threads as operations,
 * each thread has one. Otherwise threads take strata in turn.
 */
static inline bool
job_has_shares(const struct job_plan *plan)
{
	const struct ops_spec *spec = plan->spec;
	bool is_dense = spec->is_load || spec->one_kind != NB_OP_INSERT;
	return !plan->takes_turns && plan->feed == NULL && !plan->is_paced &&
		plan->end_ticks == UINT64_MAX && plan->count != UINT64_MAX &&
		ops_is_once(spec) && is_dense;
}

static inline uint64_t
job_share_begin(const struct job_plan *plan, uint32_t thread)
{
	uint64_t count = plan->count, rest = count % plan->of_all;
	return count / plan->of_all * thread + (thread < rest ? thread : rest);
}

/** Operations of the threads before this one, if threads take strata in turn. */
static inline uint64_t
job_turns_before(const struct job_plan *plan, uint32_t thread)
{
	uint64_t round = (uint64_t)plan->of_all * OPS_STRATUM, rest = plan->count % round;
	uint64_t until = (uint64_t)thread * OPS_STRATUM;
	return plan->count / round * until + (rest < until ? rest : until);
}

/** Operations of plan->count that this shard executes; UINT64_MAX: no limit. */
static inline uint64_t
job_own_count(const struct job_plan *plan)
{
	uint32_t end = plan->before + plan->threads;
	if (plan->count == UINT64_MAX)
		return UINT64_MAX;
	return job_has_shares(plan)
		? job_share_begin(plan, end) - job_share_begin(plan, plan->before)
		: job_turns_before(plan, end) - job_turns_before(plan, plan->before);
}

/** The last write of this thread to a record whose number maps to this slot. */
struct job_own {
	uint64_t number; /* of the record, plus 1; 0: none */
	uint64_t write;  /* index << 8 | NB_OP_* of the operation that wrote or deleted it */
};

static inline uint64_t
job_own_index(const struct job_own *own)
{
	return own->write >> 8;
}

static inline uint32_t
job_own_kind(const struct job_own *own)
{
	return own->write & 0xff;
}

/**
 * The known state of a record when a read of it was submitted, besides the writes in flight.
 */
struct job_doubt {
	uint64_t settled;  /* index of this thread's last completed write, plus 1; 0: none */
	bool has_put;      /* that write was not a delete */
	bool is_reordered; /* a write in flight has conflicted, so an older one may follow it */
};

/** The key of an own write. In a trace, the number of a record does not determine its key. */
struct job_own_key {
	uint8_t size; /* 0: the key is too long to be kept */
	uint8_t bytes[JOB_OWN_KEY];
};

/**
 * A worker. Only its own thread writes to it during the run. Other threads, and the parent of
 * several processes, may then read the atomic members and the counts of histograms. They may
 * read the rest when the worker is parked or after job_worker_take_over().
 */
struct job_worker {
	_Alignas(HISTOGRAM_ALIGN) const struct job_plan *plan;
	struct nb_session *session;
	uint32_t thread;      /* index in the group */
	uint32_t is_over;     /* atomic: the worker has ended */
	uint64_t done;        /* operations that are finished, with the warm-up; atomic */
	uint64_t strata_done; /* the worker has done all its strata below this one; atomic */
	uint64_t measured;    /* measured operations; atomic */
	/* first start and last end of the measured operations */
	uint64_t first_ticks, last_ticks;
	uint64_t counted; /* of `done`: already in `counts`; all of them when parked */
	/* atomic: held by the thread that counts; never released after a takeover */
	uint32_t is_counting;
	uint32_t only; /* kind of all operations, or NB_OP_KINDS: see only_kind_of() */
	struct job_taken *taken;        /* times of the operations of the block; owned */
	const struct ops_op *looked_at; /* the operation that is being read back */
	struct heartbeat heartbeat;
	uint64_t told_ticks; /* end of the last counted operation */
	uint64_t waited_ns;  /* waiting for inserts of other threads */
	uint64_t lag_ns;     /* how late the last operation began: the queue at the end */
	uint64_t lag_max_ns;
	struct job_counts counts[NB_KINDS_MAX];
	uint8_t ways[NB_KINDS_MAX]; /* method for each kind of several steps: see steps_way.h */
	uint64_t added;             /* sum of the additions to counters that were answered */
	int64_t grown[TAO_TABLES];  /* rows: inserted minus deleted */
	bool is_adding;             /* an addition is under way or has an unknown result */
	uint64_t *seen; /* versions that a sampled operation of steps read, by step */
	uint32_t *seen_sizes;
	struct job_tally *tally;
	struct isolation_log *isolation; /* owned; NULL: anomalies are not searched for */
	uint64_t again_ticks; /* start of the operation's last attempt; 0: it was the first */
	bool is_watched;      /* the reads of this operation of steps are kept in `isolation` */
	struct job_findings findings;
	int rc; /* the failure that ended the worker */
	char text[WORKER_TEXT];
	struct pacer pacer;
	struct ops_maker maker;
	struct nb_write *writes; /* of a batch */
	struct nb_slice *found;  /* of a multi-get */
	int32_t *found_answers;
	uint64_t peers_done; /* all workers are known to have done the strata below this one */
	struct job_own *own; /* plan->own_places slots, in the worker's own memory */
	struct job_own_key *own_key;    /* parallel to `own`, for a trace; else NULL */
	uint64_t warm_commits;          /* writes of the warm-up: see job_is_commit() */
	struct job_stretches unstamped; /* measured ones */
	struct async *async;            /* requests in flight; owned; NULL: the depth is 1 */
	/* times of requests submitted together; NULL: the depth is 1 */
	struct nb_histogram *batch;
	const struct job_doubt *doubt; /* of the read that is being verified; NULL: none */
	struct pulse_track pulses;
};

/** The index of the worker among the threads of all shards. */
static inline uint32_t
job_nth(const struct job_worker *worker)
{
	return worker->plan->before + worker->thread;
}

/** Allocate a worker and its histograms. `is_shared`: with processes that are forked later. */
NB_MUST_CHECK int
job_worker_new(
	struct job_worker **out, const struct job_plan *plan, uint32_t thread, bool is_shared);

void
job_worker_delete(struct job_worker *worker);

/**
 * Touch all memory of the worker and allocate the memory of its operations. Called on its own
 * thread.
 */
NB_MUST_CHECK int
job_worker_enter(struct job_worker *worker);

void
job_worker_leave(struct job_worker *worker);

/** Wait for the start, then execute and time the operations. Failures are in rc and text. */
void
job_worker_run(struct job_worker *worker);

/**
 * Call the engine's tick, if it has one, on the worker's own thread while its session waits. A
 * failure is in rc and text. Does nothing if the worker is halted.
 */
void
job_worker_tick(struct job_worker *worker);

/**
 * Count the finished operations of a worker whose current operation may never return. Another
 * thread of its process calls this, once. It acquires is_counting and never releases it.
 */
void
job_worker_take_over(struct job_worker *worker);

/**
 * Check that writes have taken effect. With job_is_listed(), this reads the sampled ones of all
 * writes of this worker. For a trace, it reads all remembered writes. Otherwise it reads the
 * last JOB_READ_BACK remembered writes and at most as many older ones. Not timed. Stops at
 * plan->halt. A failure is the engine's, and is also in worker->rc and text.
 */
int
job_worker_read_back(struct job_worker *worker);

/* ---- verification (verify.c) ---- */

/** Verify a value that was read. */
void
job_verify_value(struct job_worker *worker, const struct ops_op *op, uint32_t item,
	struct nb_slice value);

/** Record a finding: record `item` has version or number `is`, but `expected` was expected. */
void
job_verify_note(struct job_worker *worker, const struct ops_op *op, uint32_t item, int verdict,
	uint64_t is, uint64_t expected);

/**
 * Operations before the returned one may share their version with a newer one, of those up to
 * `index`. `versions`: value_versions() of the values.
 */
uint64_t
job_horizon(const struct ops_spec *spec, uint64_t versions, uint64_t index);

/** Judge a read that found nothing. */
void
job_verify_miss(struct job_worker *worker, const struct ops_op *op, uint32_t item);

/** Judge an insert that found its key present. */
void
job_verify_exists(struct job_worker *worker, const struct ops_op *op);

/** The state of a verified scan. */
struct job_scan_check {
	uint64_t seen;
	uint64_t last_number;
	bool has_number;
	size_t last_size;
	uint8_t last[1024]; /* key; longer keys are compared by their first bytes */
};

void
job_verify_scanned(struct job_worker *worker, const struct ops_op *op,
	struct job_scan_check *check, struct nb_slice key, struct nb_slice value);

/** At the end of a scan. `is_exhausted`: it ended before its length. */
void
job_verify_scan_end(struct job_worker *worker, const struct ops_op *op,
	const struct job_scan_check *check, bool is_exhausted);

/** The slot of this thread's last write to the record, if it is remembered. */
static inline struct job_own *
job_own_of(const struct job_worker *worker, uint64_t number)
{
	return &worker->own[number & (worker->plan->own_places - 1)];
}

/** Remember that this thread has written to the records of an operation. */
void
job_remember(struct job_worker *worker, const struct ops_op *op);

#endif /* RUN_WORKER_H */
