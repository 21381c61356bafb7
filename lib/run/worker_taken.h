/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_WORKER_TAKEN_H
#define RUN_WORKER_TAKEN_H
/** What a worker's operations took, from the loop that does them until they are counted. */
#include "run/worker.h"

/*
 * The loops are made of these, one for each clock and kind of rate. A sanitizer adds checks to each
 * copy, for which the compiler takes minutes, so there they are functions.
 */
#ifdef NB_SANITIZED
#define ALWAYS_INLINE inline
#else
#define ALWAYS_INLINE inline __attribute__((always_inline))
#endif

/** One operation's stamps, and what it moved. */
struct span {
	uint64_t begin, end;
	uint64_t paused; /* ticks between them in which data was verified */
	uint64_t records, bytes;
	uint32_t conflicts; /* attempts that conflicted */
};

/** Moments of this worker's run, in ticks. */
struct moments {
	uint64_t begin, warm, end;
};

/** What the operations of a block took; counted when they are done. */
struct job_taken {
	uint64_t ticks[OPS_STRATUM], ends[OPS_STRATUM];
	uint64_t bytes[OPS_STRATUM];        /* of reads, and where there are several kinds */
	uint32_t conflicts[OPS_STRATUM];    /* of those that have a bit in `conflicted` */
	uint64_t misses, exist, conflicted; /* bits of those that were so answered */
	uint64_t stamped;                   /* bits of those with stamps of their own */
	uint32_t stretch;                   /* see stretch_end() in sparse.h */
	/* where they are of several kinds: see only_kind_of() */
	uint64_t begins[OPS_STRATUM], records[OPS_STRATUM];
	uint64_t due[OPS_STRATUM]; /* ticks */
	const struct ops_op *ops;
	uint64_t first; /* operations done before the block */
	struct feed_taken fed;
	struct moments moments;
};

/**
 * Count the operations of the block that are done, `done` of all, if nobody has taken the worker
 * over; on its own thread.
 */
void
worker_count_block(struct job_worker *worker, uint64_t done);

/**
 * Operations that came out of one reap, and of these the ones that are not counted yet: all of
 * them alike, and handed over together.
 */
struct reaped {
	uint64_t first; /* moment at which the first operation that counts began */
	uint64_t begin, end;
	uint64_t count, records, bytes, conflicts;
	uint64_t done; /* of all, those before */
	uint32_t kind, batch;
	int answer;
	bool is_measured;
	bool is_ours; /* nobody has taken the worker over */
	uint64_t due[OPS_STRATUM];
};

/** Begin to count what came out of a reap, on the worker's own thread. */
void
worker_count_begin(
	struct job_worker *worker, struct reaped *reaped, uint64_t first, uint64_t end);

/** Count those of `reaped` that are not counted yet. */
void
worker_count_reaped(struct job_worker *worker, struct reaped *reaped);

/** All that came are counted. */
void
worker_count_end(struct job_worker *worker, struct reaped *reaped);

/** The failure of an operation, or an answer that it cannot have, as the worker's. */
void
worker_fail(struct job_worker *worker, const struct ops_op *op, int rc);

/** What is being done within `call`, with the operation and its key: of a heartbeat. */
void
worker_describe(const struct heartbeat *heartbeat, const char *call, char *buf, size_t size);

/** In a loop that waits: tick where a millisecond has passed since `*since`, in ticks. */
void
worker_tick_in_wait(struct job_worker *worker, uint64_t *since);

/** Say that this worker is ready, and wait for the others. False: there will be no begin. */
NB_MUST_CHECK bool
worker_pass_gate(struct job_worker *worker, struct moments *moments);

static ALWAYS_INLINE bool
is_halted(const struct job_worker *worker)
{
	return __atomic_load_n(worker->plan->halt, __ATOMIC_RELAXED) != 0;
}

/** Late by so much is the operation that begins now. */
static inline void
note_lag(struct job_worker *worker, uint64_t due, uint64_t begin)
{
	worker->lag_ns = clock_ns(worker->plan->clock, begin - due);
	if (worker->lag_ns > worker->lag_max_ns)
		worker->lag_max_ns = worker->lag_ns;
}

/** When the next `count` operations are due, in ticks. */
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
