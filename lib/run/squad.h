/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_SQUAD_H
#define RUN_SQUAD_H
/** The workers of a phase, in this process or in several, from their start to their end. */
#include "run/run.h"

/** How a process ended, for its parent. */
struct ending {
	int rc;
	bool is_there; /* it got to its end */
	bool is_left;  /* within the engine, see run_call.c */
	char text[WORKER_TEXT];
};

/** What processes share beside their workers. */
struct shared {
	struct job_gate gate;
	int halts[NB_GROUPS_MAX + 1];  /* end operations; never taken back */
	int breaks[NB_GROUPS_MAX + 1]; /* end reading back, too */
	int stop;                      /* bits of stop_flag, of all of them; atomic */
	struct ending endings[256];
};

/** Run them as threads of this process. */
NB_MUST_CHECK int
squad_run_threads(struct squad *squad);

/** Run them in options.procs processes, which this one watches. */
NB_MUST_CHECK int
squad_run_processes(struct squad *squad);

/** Read back what the workers of squad->process wrote, from the database as it is open now. */
NB_MUST_CHECK int
squad_read_back(struct squad *squad);

#endif /* RUN_SQUAD_H */
