/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_RUN_PHASE_H
#define RUN_RUN_PHASE_H
/**
 * What a process does with the workers of a phase, for threads (run_phase.c) and for several
 * processes (run_processes.c). Threads: the main thread of a process.
 */
#include "run/run.h"

enum { TICK_NS = 20 * 1000 * 1000 }; /* between two looks at the workers */

/** End all work, in all processes, which may be at different phases. */
void
phase_halt(const struct nb_run *run);

/** Share the stop flag between all processes. If it is set, end all work. */
void
phase_heed_stop(const struct nb_run *run);

/** Begin to measure the operations. *before: the use of the system so far. */
void
phase_begin(struct nb_run *run, struct system_counts *before);

/** The parent's look at the operations of threads or processes, every TICK_NS. */
void
phase_watch(struct nb_run *run);

/** The operations have ended: take their time, samples and use of the system. */
void
phase_end(struct nb_run *run, const struct system_counts *before);

#endif /* RUN_RUN_PHASE_H */
