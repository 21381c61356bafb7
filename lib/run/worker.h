/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_WORKER_H
#define RUN_WORKER_H
/** One thread's share of a run: what is timed, and what came of it. */
#include <stdbool.h>

#include <mininb/mininb.h>

#include "base/clock.h"
#include "base/histogram.h"
#include "run/engine.h"
#include "run/post.h"
#include "run/pulse.h"
#include "workload/stream.h"

enum {
	WORKER_ANSWERS = NB_PENDING + 1,
	WORKER_TEXT = 512,
	WORKER_LINE = 64,
	WORKER_CONFLICTS_MAX = 1000000, /* in a row: the engine will not do the operation */
};

/** Read a byte of every cache line: an engine that lends pages must bring them in. */
static inline __attribute__((always_inline)) void
worker_consume(struct nb_slice value)
{
	const volatile uint8_t *bytes = value.data;
	for (size_t at = 0; at < value.size; at += WORKER_LINE)
		(void)bytes[at];
	if (value.size > 0)
		(void)bytes[value.size - 1];
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

/** What a worker needs and does not change. Shared by all workers of a run. */
struct worker_plan {
	const struct nb_engine *engine;
	const struct nb_workload *workload;
	const struct keys *keys;
	const struct clock *clock;
	uint64_t verify_threshold; /* see is_sampled(); 0: nothing is verified */
	const int *halt;           /* not 0: stop after the current operation */
	uint64_t begin_ticks;      /* when the operations of all workers begin */
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

/**
 * A worker. Written by its own thread alone while it runs; other threads read
 * `done`, `looked`, the counts of `service` and the odd ones of `answers` then, what its post
 * says, and the rest when it is parked or worker_take_over() has been called. Aligned, so that no two workers share a cache line.
 */
struct worker {
	_Alignas(HISTOGRAM_ALIGN) const struct worker_plan *plan;
	struct nb_session *session;
	uint64_t begin, end; /* its operations of the stream */
	uint64_t done;       /* of them, finished; atomic */
	uint64_t looked;     /* of those, come past by worker_read_back(); atomic */
	uint64_t
		counted; /* of those that are done, what `service` has; all when it is parked */
	uint64_t begin_ticks, end_ticks;
	uint64_t last_ticks; /* end of the last operation that is counted */
	uint64_t odd;        /* of `counted`, those that were not answered NB_OK */
	uint32_t
		is_counting; /* atomic: held by who counts a block; taken over it is for good */
	struct post post;
	uint64_t answers[WORKER_ANSWERS]; /* by NB_OK, NB_NOT_FOUND, ...; an operation may have
					     many NB_CONFLICT before its own */
	uint64_t value_bytes;             /* read or written */
	struct worker_findings findings;
	int rc; /* the failure that ended it */
	char text[WORKER_TEXT];
	/* of operations that are not counted yet: what each took, and when it ended */
	uint64_t ticks[STREAM_BLOCK_MAX], ends[STREAM_BLOCK_MAX];
	struct stream stream;
	struct nb_histogram service;
	struct pulse_track pulses;
};

/**
 * Allocate and touch all that the worker will need; on the thread that will run
 * it, so that memory is near. *out is zero but for that and its share.
 */
NB_MUST_CHECK int
worker_new(struct worker **out, const struct worker_plan *plan, uint64_t begin, uint64_t end);

void
worker_delete(struct worker *worker);

/** Do and time operations [begin, end). Failures are in worker->rc and text. */
void
worker_run(struct worker *worker);

/** Put the keys of [begin, end), untimed: data for an engine that keeps none. */
void
worker_load(struct worker *worker);

/**
 * Look whether the sampled ones of the operations that are done have had their
 * effect: what was put is there, what was deleted is not. Untimed.
 */
void
worker_read_back(struct worker *worker);

/**
 * Of a worker that is within an operation, and may be so for ever: count what it has done until
 * now, on another thread, once. Should it come back it counts no more, and `counted` and what
 * belongs to it stay as they are.
 */
void
worker_take_over(struct worker *worker);

static inline uint64_t
worker_done(const struct worker *worker)
{
	return __atomic_load_n(&worker->done, __ATOMIC_RELAXED);
}

static inline uint64_t
worker_looked(const struct worker *worker)
{
	return __atomic_load_n(&worker->looked, __ATOMIC_RELAXED);
}

#endif /* RUN_WORKER_H */
