/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_HICCUP_H
#define RUN_HICCUP_H
/**
 * The machine's own jitter, measured during a run. A thread only sleeps and records how late it
 * wakes. A cause of delay may have delayed the engine's threads, too.
 */
#include <pthread.h>

#include <mininb/mininb.h>

#include "base/histogram.h"

/**
 * 10 ms: a wake-up takes some 4 to 10 us of CPU time, and more if wake-ups are rare. So this is
 * about 0.1 % of a CPU. 1 ms, as in jHiccup, is 0.35 %.
 */
#define HICCUP_INTERVAL_NS UINT64_C(10000000)

/** In memory of the caller, some 270 KB. It must stay there until hiccup_stop(). */
struct hiccup {
	uint64_t interval_ns;
	pthread_t thread;
	int is_stopping;              /* atomic */
	struct nb_histogram lateness; /* the thread's, until hiccup_stop() has returned */
};

/** Start to measure, one value per interval, which is > 0. */
NB_MUST_CHECK int
hiccup_start(struct hiccup *hiccup, uint64_t interval_ns);

/** Stop, which takes up to one interval. Then `lateness` can be read. */
void
hiccup_stop(struct hiccup *hiccup);

/**
 * Count an alarm for which the thread woke at now_ns, and the missed ones. Returns the next
 * alarm.
 */
uint64_t
hiccup_note(struct hiccup *hiccup, uint64_t alarm_ns, uint64_t now_ns);

#endif /* RUN_HICCUP_H */
