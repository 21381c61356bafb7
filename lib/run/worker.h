/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_WORKER_H
#define RUN_WORKER_H
/** One thread of a group of a job: what is timed, and what came of it. */
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

/** Read a byte of every cache line: an engine that lends pages must bring them in. */
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

/** Whether bytes that were lent can be read; if not, worker_refuse() or engine_refuse_size(). */
static inline __attribute__((always_inline)) bool
worker_may_consume(struct nb_slice value)
{
	return __builtin_expect((ptrdiff_t)value.size >= 0, 1);
}

/** End the loan of `call`, whose size is not a size. Returns the failure. */
NB_MUST_CHECK int
worker_refuse(const struct nb_engine *engine, struct nb_session *session, const char *call,
	struct nb_slice value);

enum {
	JOB_CASES = 8,          /* findings of which the data is kept */
	JOB_CASE_BYTES = 32,    /* of a key that is kept */
	JOB_OWN_WRITES = 1024,  /* places for the last writes of a thread, at least */
	JOB_OWN_MOST = 1 << 14, /* of all threads, 256 KiB: a larger table misses the cache */
	JOB_TRACE_WRITES = 1 << 16, /* the same of a trace, with keys; a power of two */
	JOB_READ_BACK = 1024, /* last writes of a thread that are read back, and older ones */
	JOB_OWN_KEY = 63,     /* bytes of a trace's key that can be read back */
};

/* What verification finds, beside what value_check() does. */
enum {
	JOB_GOOD = 0,
	JOB_MISSING,    /* a record that is there was not found */
	JOB_WRONG_SIZE, /* not a size that values of this job have */
	JOB_OTHER_KEY,
	JOB_CORRUPT,
	JOB_STALE,       /* this thread had put a newer one, or deleted it */
	JOB_UNORDERED,   /* a scan whose keys do not ascend */
	JOB_GAP,         /* a scan that left out a record that is there */
	JOB_PHANTOM,     /* a scan with a key that no record has */
	JOB_EXISTS,      /* an insert of a new record found its key there */
	JOB_TORN,        /* a snapshot with a part of what one operation wrote */
	JOB_WRONG_SUM,   /* of counters: not what was added */
	JOB_LOST_UPDATE, /* two operations have overwritten one version that both had read */
	JOB_WRITE_SKEW, /* of two operations, each has read what the other one then overwrote */
	JOB_VERDICTS
};

/** "missing", "stale", ...: of a record. */
const char *
job_verdict_name(int verdict);

/** A finding, kept so that it can be told. Plain data. */
struct job_case {
	uint64_t op; /* its number in the group */
	uint32_t kind, verdict;
	uint64_t version, expected; /* of the value; 0 where that says nothing */
	uint32_t key_size, spare_u32;
	uint8_t key[JOB_CASE_BYTES]; /* its first bytes */
};

struct job_findings {
	uint64_t verified;  /* records that were looked at */
	uint64_t foreign;   /* of them: good, but written by another run */
	uint64_t read_back; /* of them: looked up again after the operations */
	uint64_t verdicts[JOB_VERDICTS];
	uint64_t case_count; /* kept, at most JOB_CASES */
	struct job_case cases[JOB_CASES];
};

/** What came of one kind of operation on one thread, warm-up excluded. */
struct job_counts {
	uint64_t answers[WORKER_ANSWERS]; /* NB_CONFLICT counts attempts, the others operations;
					  atomic */
	uint64_t records;                 /* read or written: of scans, batches, ... */
	uint64_t bytes;                   /* of values read or written */
	struct nb_histogram *service;     /* NULL: the group has no such operation */
	struct nb_histogram *response;    /* from the due moment; NULL without a rate */
};

/** Where the workers of a phase meet, of all processes. */
struct job_gate {
	uint64_t begin;            /* the moment, in ticks; UINT64_MAX: not known yet; atomic */
	uint32_t waiting;          /* workers that are ready; atomic */
	uint32_t workers;          /* that there are */
	uint32_t is_opened_inside; /* by the last of them; else by the process that watches */
	uint32_t has_deletes;      /* a trace has had a delete by now; atomic */
	uint64_t start_at_ns;      /* of CLOCK_REALTIME: when to begin; 0: at once */
};

/** All are ready: set the moment of the begin, a little ahead. */
void
job_gate_open(struct job_gate *gate, const struct clock *clock);

/**
 * Whether an operation that was so answered has written something for which at `commit` a
 * sync must have come before the answer. NB_OP_*; of a batch or a transaction it is one.
 */
static inline bool
job_is_commit(uint32_t kind, int answer)
{
	bool is_write = ops_is_write(kind) || kind == NB_OP_DELETE;
	/* what was not there to be read was put */
	return is_write && (answer == NB_OK || (answer == NB_NOT_FOUND && kind == NB_OP_RMW));
}

struct job_worker;
struct job_taken;
struct async;

/** Operations that had no stamps of their own: between two stamps there was a stretch of them. */
struct job_stretches {
	uint64_t ops, count;
	uint64_t ticks; /* without verification */
};

/** What the workers of a group share and do not change. */
struct job_plan {
	const struct nb_engine *engine;
	const struct clock *clock;
	const struct ops_spec *spec;
	const char *action; /* of put, get and delete: what an operation is called; else NULL */
	const struct schedule *schedule; /* NULL: there is no rate */
	struct feed *feed;               /* operations of a trace; NULL: the spec's */
	struct job_gate *gate;
	const int *halt;           /* not 0: stop after the current operation; atomic */
	uint64_t verify_threshold; /* see is_sampled() */
	uint64_t stamp_threshold;  /* see has_stamps(); 0: none has stamps of its own */
	uint64_t count;            /* operations of the group; UINT64_MAX: no bound */
	uint64_t warmup_count;     /* of them, not measured */
	uint64_t warm_ticks;       /* after the begin: not measured before */
	uint64_t conflict_ns;      /* that an operation may go on to conflict */
	uint64_t tell_ticks;       /* operations are counted a block at a time, or so often */
	uint64_t end_ticks;        /* after the begin; UINT64_MAX: no bound */
	uint64_t batch_bytes;      /* handed over together; 0: as there is room */
	uint64_t timeout_ticks;    /* for a request in flight; UINT64_MAX: none */
	uint32_t depth;   /* requests in flight of a worker, at most; 1: async.h is not used */
	uint32_t threads; /* of the group, in all processes of this shard */
	uint32_t before;  /* threads of the shards before this one */
	uint32_t of_all;  /* threads of all shards, which share the operations */
	uint32_t kinds;   /* bits 1 << NB_OP_* of those that there may be */
	bool is_paced;    /* by the schedule, or by the trace's own times */
	bool is_sparse;   /* few operations have stamps of their own: sparse.h */
	bool is_native_insert; /* an insert calls the engine's insert; else put */
	bool may_exist;        /* a new record that an insert finds there is not a finding */
	bool may_miss;         /* a read that finds nothing is not a finding */
	bool is_lenient; /* nor is one that its operation expects to find something, OPS_PRESENT */
	bool has_deletes;    /* of some group */
	bool is_alone;       /* nobody else writes to a key that this worker writes to */
	uint32_t own_places; /* of job_worker.own; a power of two */
	bool takes_turns; /* threads do strata in turn, whatever could be: see job_has_shares() */
	bool has_rivals; /* other workers of this process, in this phase or another one */
	bool may_spin;
	bool are_counters; /* values are numbers, which say nothing of who wrote them */
	uint32_t tally_first, tally_workers; /* see tally.c; 0 workers: sums are not verified */
	bool are_values_keys; /* a value is its key's bytes, as in a trace of ycsb-text */
	struct job_worker **workers; /* of the group, by thread */
};

/**
 * Whether all that its workers write is known without a memory of it: each record once, in
 * the order of the operations.
 */
static inline bool
job_is_listed(const struct job_plan *plan)
{
	const struct ops_spec *spec = plan->spec;
	/* else a record that is there may be one that another group has put since */
	bool is_once = spec->one_kind == NB_OP_DELETE && ops_is_once(spec) && plan->is_alone;
	return plan->feed == NULL && (spec->is_load || is_once);
}

/**
 * Whether each worker does operations that follow each other, job_share_begin(n) to
 * job_share_begin(n + 1) if it is thread n of all shards, so that as many threads as operations
 * have one each. Else threads take strata in turn.
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

/** Operations that threads before this one have, where threads take strata in turn. */
static inline uint64_t
job_turns_before(const struct job_plan *plan, uint32_t thread)
{
	uint64_t round = (uint64_t)plan->of_all * OPS_STRATUM, rest = plan->count % round;
	uint64_t until = (uint64_t)thread * OPS_STRATUM;
	return plan->count / round * until + (rest < until ? rest : until);
}

/** Operations of plan->count that this shard does; UINT64_MAX: no bound. */
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

/** The last write of this thread to a record whose number has that place. */
struct job_own {
	uint64_t number; /* of the record, + 1; 0: none */
	uint64_t write;  /* the operation that wrote or deleted it: index << 8 | NB_OP_* */
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

/** What was known of a record when a read was handed over, beside writes in flight. */
struct job_doubt {
	uint64_t settled;  /* index of this thread's last write that was done, + 1; 0: none */
	bool has_put;      /* which was not a delete */
	bool is_reordered; /* a write in flight has conflicted: an older one may come after it */
};

/** The key of it, which the number of a trace's record does not tell. */
struct job_own_key {
	uint8_t size; /* 0: too long to be kept */
	uint8_t bytes[JOB_OWN_KEY];
};

/**
 * A worker. Written by its own thread alone while it runs; other threads, and with several
 * processes their parent, read what is marked as atomic and the counts of histograms then, and
 * the rest when it is parked or job_worker_take_over() has been called.
 */
struct job_worker {
	_Alignas(HISTOGRAM_ALIGN) const struct job_plan *plan;
	struct nb_session *session;
	uint32_t thread;                  /* of the group's */
	uint32_t is_over;                 /* atomic: it has come to its end */
	uint64_t done;                    /* operations finished, warm-up included; atomic */
	uint64_t strata_done;             /* all its strata below this one are done; atomic */
	uint64_t measured;                /* operations that count; atomic */
	uint64_t first_ticks, last_ticks; /* of what counts: first start, last end */
	uint64_t counted; /* of `done`, those that counts has; all when it is parked */
	uint32_t
		is_counting; /* atomic: held by the thread that counts; taken over, it stays so */
	uint32_t only;       /* kind of all operations, or NB_OP_KINDS: see only_kind_of() */
	struct job_taken *taken;        /* what the operations of the block took; owned */
	const struct ops_op *looked_at; /* that is read back */
	struct heartbeat heartbeat;
	uint64_t told_ticks; /* end of the last operation that was counted */
	uint64_t waited_ns;  /* for inserts of other threads */
	uint64_t lag_ns;     /* how late the last operation began: the queue at the end */
	uint64_t lag_max_ns;
	struct job_counts counts[NB_KINDS_MAX];
	uint8_t ways[NB_KINDS_MAX]; /* how operations of steps are done: see steps.c */
	uint64_t added;             /* to counters, by operations that were answered */
	int64_t grown[TAO_TABLES];  /* rows: inserted less deleted */
	bool is_adding;             /* within one that was not */
	uint64_t *seen;             /* versions that a sampled one of steps read, by step */
	uint32_t *seen_sizes;
	struct job_tally *tally;
	struct isolation_log *isolation; /* owned; NULL: anomalies are not looked for */
	uint64_t again_ticks;            /* begin of its last attempt; 0: it was the first */
	bool is_watched;                 /* of steps: what it reads is kept there */
	struct job_findings findings;
	int rc; /* the failure that ended it */
	char text[WORKER_TEXT];
	struct pacer pacer;
	struct ops_maker maker;
	struct nb_write *writes; /* of a batch */
	struct nb_slice *found;  /* of a multi-get */
	int32_t *found_answers;
	uint64_t peers_done;         /* strata below this one are known to be done by all */
	struct job_own *own;         /* plan->own_places of them, in the worker's own memory */
	struct job_own_key *own_key; /* beside them, of a trace; else NULL */
	uint64_t warm_commits;       /* writes of the warm-up: see job_is_commit() */
	struct job_stretches unstamped; /* that are measured */
	struct async *async;            /* requests in flight; owned; NULL: the depth is 1 */
	struct nb_histogram *batch;     /* of what was handed over together; NULL likewise */
	const struct job_doubt *doubt;  /* of the read that is looked at; NULL: there is none */
	struct pulse_track pulses;
};

/** Which of the threads of all shards it is. */
static inline uint32_t
job_nth(const struct job_worker *worker)
{
	return worker->plan->before + worker->thread;
}

/** Memory for a worker and its histograms; `is_shared` with the processes forked later. */
NB_MUST_CHECK int
job_worker_new(
	struct job_worker **out, const struct job_plan *plan, uint32_t thread, bool is_shared);

void
job_worker_delete(struct job_worker *worker);

/** Touch all memory that it needs and make its first operations' room: on its own thread. */
NB_MUST_CHECK int
job_worker_enter(struct job_worker *worker);

void
job_worker_leave(struct job_worker *worker);

/** Wait for the begin, then do and time its operations. Failures are in rc and text. */
void
job_worker_run(struct job_worker *worker);

/**
 * Call the engine's tick, if it has one, on the worker's own thread, where its session waits. A
 * failure is in rc and text. Not of a worker that is halted.
 */
void
job_worker_tick(struct job_worker *worker);

/**
 * Of a worker that is within an operation, and may be so for ever: count what it has done until
 * now, on another thread of its process, once; which takes over acquires is_counting and never releases it.
 */
void
job_worker_take_over(struct job_worker *worker);

/**
 * Look whether writes have had their effect: of what job_is_listed(), the sampled ones of all
 * that this worker did; of a trace, all that it remembers; else the last JOB_READ_BACK writes that
 * it remembers and at most as many older ones. Untimed. Stops at plan->halt. A failure, which
 * is in worker->rc and text too, is one of the engine's.
 */
int
job_worker_read_back(struct job_worker *worker);

/* ---- verification (verify.c) ---- */

/** Of a value that was read. */
void
job_verify_value(struct job_worker *worker, const struct ops_op *op, uint32_t item,
	struct nb_slice value);

/** A finding: record `item` has that version, or number, where another one was expected. */
void
job_verify_note(struct job_worker *worker, const struct ops_op *op, uint32_t item, int verdict,
	uint64_t is, uint64_t expected);

/** Of a read that found nothing. */
void
job_verify_miss(struct job_worker *worker, const struct ops_op *op, uint32_t item);

/** Of an insert that found its key there. */
void
job_verify_exists(struct job_worker *worker, const struct ops_op *op);

/** The state of a scan that is verified. */
struct job_scan_check {
	uint64_t seen;
	uint64_t last_number;
	bool has_number;
	size_t last_size;
	uint8_t last[1024]; /* key; longer ones are compared by their beginnings */
};

void
job_verify_scanned(struct job_worker *worker, const struct ops_op *op,
	struct job_scan_check *check, struct nb_slice key, struct nb_slice value);

/** At the end of a scan; `is_exhausted`: it ended before its length. */
void
job_verify_scan_end(struct job_worker *worker, const struct ops_op *op,
	const struct job_scan_check *check, bool is_exhausted);

/** Where this thread's last write to that record is, if it is remembered. */
static inline struct job_own *
job_own_of(const struct job_worker *worker, uint64_t number)
{
	return &worker->own[number & (worker->plan->own_places - 1)];
}

/** Remember that this thread has written to the records of an operation. */
void
job_remember(struct job_worker *worker, const struct ops_op *op);

#endif /* RUN_WORKER_H */
