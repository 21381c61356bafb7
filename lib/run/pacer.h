/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_PACER_H
#define RUN_PACER_H
/**
 * Waiting until an operation is due, on the worker's own thread: no lock, no allocation,
 * and no system call but the sleep and the clock beside it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/histogram.h"

/* How to wait. */
enum {
	PACER_AUTO = 0,  /* sleep, then spin for the last bit: exact, and cheap at low rates */
	PACER_SPIN = 1,  /* spin only: a CPU for each thread, at any rate */
	PACER_SLEEP = 2, /* sleep only: late by what the kernel takes to wake a thread up */
};

enum {
	PACER_PIECE_NS = 10 * 1000 * 1000, /* longer waits are cut into pieces like this */
	PACER_IDLE_NS = 100 * 1000,        /* `idle` is called if there is more left */
	PACER_SLACK_MIN_NS = 20 * 1000,
	PACER_SLACK_MAX_NS = 2 * 1000 * 1000
};

/** Of one thread. Some 270 KB; needs pacer_create() and no destruction. */
struct pacer {
	const struct clock *clock;
	bool is_sleeping, is_spinning; /* at least one */
	uint64_t piece_ticks;
	uint64_t slack_ns; /* a sleep ends so long before the due moment, if spinning follows */
	void (*idle)(void *arg); /* or NULL: called in waits; what it takes delays operations */
	void *idle_arg;
	uint64_t waits;               /* of which the due moment was still to come */
	uint64_t sleeps;              /* calls; a long wait has many */
	uint64_t spins;               /* times that it began to spin */
	uint64_t spin_ticks;          /* CPU time that is the harness's and no engine's */
	struct nb_histogram lateness; /* how late a wait ended: the machine's jitter */
};

/**
 * `how` is PACER_*. may_spin: there is a CPU for each thread; without it PACER_AUTO only
 * sleeps, since a thread that spins would keep others from theirs. `clock` is borrowed.
 * Set `idle` then, if there is to be one.
 */
void
pacer_create(struct pacer *pacer, const struct clock *clock, uint32_t how, bool may_spin);

/** To be called once on a thread that will wait: it is to be woken on time, not in bundles. */
void
pacer_enter_thread(void);

/** The rest of pacer_wait(), for a moment that is still to come. */
uint64_t
pacer_wait_until(struct pacer *pacer, uint64_t due_ticks, uint64_t now, const int *halt);

/** Learn from a sleep that took oversleep_ns longer than it should have. */
void
pacer_learn(struct pacer *pacer, uint64_t oversleep_ns);

/**
 * Wait until the stamp due_ticks; returns the stamp at which it went on, never less than
 * due_ticks unless *halt was not 0, which is looked at at least every PACER_PIECE_NS.
 * UINT64_MAX waits for the halt. A moment that is past costs one stamp and is not counted:
 * that delay is the queue's, not the pacer's.
 */
static inline uint64_t
pacer_wait(struct pacer *pacer, uint64_t due_ticks, const int *halt)
{
	uint64_t now = clock_stamp(pacer->clock->kind);
	return now >= due_ticks ? now : pacer_wait_until(pacer, due_ticks, now, halt);
}

#endif /* RUN_PACER_H */
