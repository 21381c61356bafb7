/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_TALLY_H
#define RUN_TALLY_H
/**
 * The sums of counters: their growth during the groups' operations must equal the sum of the
 * additions. For a job with additions, in one process, in a run that is verified and not cold.
 */
#include "run/run.h"

/**
 * Decide whether the current groups are verified like this, and set up their plans. On the main
 * thread. Not if they only read back.
 */
void
tally_plan(struct nb_run *run, bool are_operated);

/**
 * Read the worker's share of all counters, on its own thread: before and after its operations.
 */
NB_MUST_CHECK int
tally_read(struct job_worker *worker, bool is_after);

void
tally_destroy(struct job_worker *worker);

/** Compare the sums when all workers have read twice. Findings are JOB_WRONG_SUM. */
void
tally_judge(struct nb_run *run);

#endif /* RUN_TALLY_H */
