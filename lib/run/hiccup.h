/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_HICCUP_H
#define RUN_HICCUP_H
/**
 * The machine's own jitter, measured beside a run: a thread that does nothing but sleep,
 * and notes how late it woke. What delays it may have delayed the engine's threads too.
 */
#include <pthread.h>

#include <mininb/mininb.h>

#include "base/histogram.h"

/**
 * 10 ms: a wake-up takes some 4 to 10 us of a CPU, the more the rarer they are, so this
 * is about 0.1 % of one. 1 ms, as jHiccup has it, is 0.35 %.
 */
#define HICCUP_INTERVAL_NS UINT64_C(10000000)

/** Where its maker wants it, some 270 KB; must stay there until hiccup_stop(). */
struct hiccup {
	uint64_t interval_ns;
	pthread_t thread;
	int is_stopping;              /* atomic */
	struct nb_histogram lateness; /* the thread's until hiccup_stop() has returned */
};

/** Start to measure, one value for each interval, > 0. */
NB_MUST_CHECK int
hiccup_start(struct hiccup *hiccup, uint64_t interval_ns);

/** End it, which takes up to an interval; then `lateness` can be read. */
void
hiccup_stop(struct hiccup *hiccup);

/** It woke at now_ns for that alarm: count it and those missed; returns the next one. */
uint64_t
hiccup_note(struct hiccup *hiccup, uint64_t alarm_ns, uint64_t now_ns);

#endif /* RUN_HICCUP_H */
