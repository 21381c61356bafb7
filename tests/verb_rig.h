/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERB_RIG_H
#define VERB_RIG_H
/** Runs of put, get and delete on the toy engine. After a test, everything that was opened is closed. */
#include <pthread.h>

#include "rig.h"
#include "toy.h"

enum { COUNT = 1003 }; /* no tested number of threads divides it */

extern struct rig rig;

/** A correct toy, and a rig for it. */
struct nb_engine
rig_begin(uint32_t verb, uint32_t threads);

/** The measurement of the last run. */
const struct measurement *
rig_measured(void);

/** The progress of a run. */
struct rig_told {
	char whats[256];  /* "open|put|" */
	pthread_t thread; /* the only one that may report; set it before the run */
	uint64_t last;
	uint32_t wrong; /* number of wrong reports */
};

/** For nb_run_options.progress. */
void
rig_note_progress(void *arg, const struct nb_progress *progress);

#endif /* VERB_RIG_H */
