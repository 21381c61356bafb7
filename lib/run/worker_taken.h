/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_WORKER_TAKEN_H
#define RUN_WORKER_TAKEN_H
/**
 * The times of a worker's operations, from the loop that executes them until they are counted.
 */
#include "run/worker.h"

/*
 * The loops consist of these functions, with an inlined copy for each clock and kind of rate. A
 * sanitizer adds checks to each copy, which takes the compiler minutes. So with a sanitizer,
 * inlining is not forced.
 */
#ifdef NB_SANITIZED
#define ALWAYS_INLINE inline
#else
#define ALWAYS_INLINE inline __attribute__((always_inline))
#endif

/** The stamps of one operation, and the amount of its data. */
struct span {
	uint64_t begin, end;
	uint64_t paused; /* ticks between them for verification */
	uint64_t records, bytes;
	uint32_t conflicts; /* attempts that conflicted */
};

/** Times of this worker's run, in ticks. */
struct moments {
	uint64_t begin, warm, end;
};

/** The times of the operations of a block, until they are counted. */
struct job_taken {
	uint64_t ticks[OPS_STRATUM], ends[OPS_STRATUM];
	uint64_t bytes[OPS_STRATUM];        /* of reads; with several kinds, of all */
	uint32_t conflicts[OPS_STRATUM];    /* of operations with a bit in `conflicted` */
	uint64_t misses, exist, conflicted; /* bits of operations with these answers */
	uint64_t stamped;                   /* bits of operations with stamps of their own */
	uint32_t stretch;                   /* see stretch_end() in sparse.h */
	/* only with several kinds: see only_kind_of() */
	uint64_t begins[OPS_STRATUM], records[OPS_STRATUM];
	uint64_t due[OPS_STRATUM]; /* ticks */
	const struct ops_op *ops;
	uint64_t first; /* operations done before the block */
	struct feed_taken fed;
	struct moments moments;
};

/**
 * Count the first `done` operations of the worker, of its block. Does nothing if another thread
 * has taken the worker over. Called on its own thread.
 */
void
worker_count_block(struct job_worker *worker, uint64_t done);

/** The completions of one reap. */
struct reaped {
	uint64_t first; /* start of the first measured operation */
	uint64_t end;
	uint64_t done; /* counted so far */
	bool is_ours;  /* no other thread has taken the worker over */
};

/**
 * Completions that are not counted yet. They have the same kind and answer, and were submitted
 * together.
 */
struct alike {
	uint64_t begin;
	uint64_t count, records, bytes, conflicts;
	uint32_t kind, batch;
	int answer;
	bool is_measured;
	uint64_t due[OPS_STRATUM];
};

/** Begin to count the completions of a reap, on the worker's own thread. */
void
worker_count_begin(
	struct job_worker *worker, struct reaped *reaped, uint64_t first, uint64_t end);

/** Count the completions in `alike`, which is then empty. */
void
worker_count_reaped(struct job_worker *worker, struct reaped *reaped, struct alike *alike);

/** End the counting of a reap. */
void
worker_count_end(struct job_worker *worker, struct reaped *reaped);

/** Set the worker's failure: an operation failed, or had an answer that it cannot have. */
void
worker_fail(struct job_worker *worker, const struct ops_op *op, int rc);

/** Describe the current operation of `call` with its key, for a heartbeat. */
void
worker_describe(const struct heartbeat *heartbeat, const char *call, char *buf, size_t size);

/** In a loop that waits: call tick if a millisecond has passed since `*since`, in ticks. */
void
worker_tick_in_wait(struct job_worker *worker, uint64_t *since);

/** Report that this worker is ready, and wait for the others. False: the run does not start. */
NB_MUST_CHECK bool
worker_pass_gate(struct job_worker *worker, struct moments *moments);

static ALWAYS_INLINE bool
is_halted(const struct job_worker *worker)
{
	return __atomic_load_n(worker->plan->halt, __ATOMIC_RELAXED) != 0;
}

/** Record how late the operation begins that was due at `due`. */
static inline void
note_lag(struct job_worker *worker, uint64_t due, uint64_t begin)
{
	worker->lag_ns = clock_ns(worker->plan->clock, begin - due);
	if (worker->lag_ns > worker->lag_max_ns)
		worker->lag_max_ns = worker->lag_ns;
}

/** Set the due times of the next `count` operations, in ticks. */
static inline void
set_due(struct job_worker *worker, struct arrivals *arrivals, uint64_t *due, uint32_t count,
	uint64_t begin)
{
	arrivals_next(arrivals, due, count);
	for (uint32_t j = 0; j < count; j++)
		due[j] = due[j] == UINT64_MAX ? UINT64_MAX
					      : clock_after(worker->plan->clock, begin, due[j]);
}

#endif /* RUN_WORKER_TAKEN_H */
