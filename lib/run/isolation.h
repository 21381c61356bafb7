/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_ISOLATION_H
#define RUN_ISOLATION_H
/**
 * Anomalies of isolation: lost updates and write skew between operations of steps. Looked for in a
 * run that is verified, of one process with several workers.
 */
#include "run/run.h"
#include "run/worker_taken.h"

struct isolation_log;

/** Room for what a worker's operations read and wrote; stays NULL where nothing is looked for. */
NB_MUST_CHECK int
isolation_enter(struct job_worker *worker);

void
isolation_leave(struct job_worker *worker);

/** Whether the operation is one of those that are kept. */
bool
isolation_watches(const struct job_worker *worker, const struct ops_op *op);

/** Keep what it read, which is in worker->seen, and wrote; done at that level, its last attempt begun then. */
void
isolation_keep(
	struct job_worker *worker, const struct ops_op *op, uint32_t level, uint64_t begin);

/** When all have ended: compare. Findings are JOB_LOST_UPDATE and JOB_WRITE_SKEW. */
NB_MUST_CHECK int
isolation_judge(const struct nb_run *run);

#endif /* RUN_ISOLATION_H */
