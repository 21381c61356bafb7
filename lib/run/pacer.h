/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_PACER_H
#define RUN_PACER_H
/**
 * Waiting until an operation is due, on the worker's own thread. It uses no lock, no
 * allocation, and no system call except the sleep and reading the clock.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/histogram.h"

/* Methods of waiting. */
enum {
	PACER_AUTO = 0,  /* sleep, then spin at the end: exact, and cheap at low rates */
	PACER_SPIN = 1,  /* only spin: uses a whole CPU per thread, at any rate */
	PACER_SLEEP = 2, /* only sleep: late by the kernel's wake-up time */
};

enum {
	PACER_PIECE_NS = 10 * 1000 * 1000, /* longer waits are cut into pieces of this length */
	PACER_IDLE_NS = 100 * 1000,        /* `idle` is called if more time than this is left */
	PACER_SLACK_MIN_NS = 20 * 1000,
	PACER_SLACK_MAX_NS = 2 * 1000 * 1000
};

/** The pacer of one thread. Some 270 KB. It needs pacer_create() and no destruction. */
struct pacer {
	const struct clock *clock;
	bool is_sleeping, is_spinning; /* at least one */
	uint64_t piece_ticks;
	uint64_t slack_ns; /* a sleep ends this long before the due time, if spinning follows */
	/* called during waits, or NULL; its duration delays operations */
	void (*idle)(void *arg);
	void *idle_arg;
	uint64_t waits;               /* waits for a due time in the future */
	uint64_t sleeps;              /* calls of sleep; a long wait has several */
	uint64_t spins;               /* number of times that it began to spin */
	uint64_t spin_ticks;          /* CPU time used by mininb and not by the engine */
	struct nb_histogram lateness; /* how late waits ended: the jitter of the machine */
};

/**
 * `how` is PACER_*. may_spin: there is a CPU for each thread. Without it PACER_AUTO only
 * sleeps, because a spinning thread would keep others from their CPU. `clock` is borrowed. Set
 * `idle` afterwards, if any.
 */
void
pacer_create(struct pacer *pacer, const struct clock *clock, uint32_t how, bool may_spin);

/**
 * Call it once on a thread that will wait. The kernel then wakes it on time instead of together
 * with others.
 */
void
pacer_enter_thread(void);

/** The slow path of pacer_wait(), for a due time in the future. */
uint64_t
pacer_wait_until(struct pacer *pacer, uint64_t due_ticks, uint64_t now, const int *halt);

/** Adapt to a sleep that took oversleep_ns too long. */
void
pacer_learn(struct pacer *pacer, uint64_t oversleep_ns);

/**
 * Wait until the stamp due_ticks. Returns the stamp at the end of the wait. It is at least
 * due_ticks, unless *halt was not 0. *halt is checked at least every PACER_PIECE_NS. UINT64_MAX
 * waits for the halt. A due time in the past costs one stamp and is not counted: the delay
 * comes from the queue, not the pacer.
 */
static inline uint64_t
pacer_wait(struct pacer *pacer, uint64_t due_ticks, const int *halt)
{
	uint64_t now = clock_stamp(pacer->clock->kind);
	return now >= due_ticks ? now : pacer_wait_until(pacer, due_ticks, now, halt);
}

#endif /* RUN_PACER_H */
