/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_TALLY_H
#define RUN_TALLY_H
/**
 * The sums of counters: what they grew by while groups ran must be what was added to them. Of a
 * job that adds; in one process, of a run that is verified and not cold.
 */
#include "run/run.h"

/**
 * Decide whether the groups that run now are verified so, and set their plans up. On the main
 * thread. Not if they only read back.
 */
void
tally_plan(struct nb_run *run, bool are_operated);

/** Read the worker's share of all counters, on its own thread: before and after it runs. */
NB_MUST_CHECK int
tally_read(struct job_worker *worker, bool is_after);

void
tally_destroy(struct job_worker *worker);

/** Compare, when all workers have read twice. Findings are JOB_WRONG_SUM. */
void
tally_judge(struct nb_run *run);

#endif /* RUN_TALLY_H */
