/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_ISOLATION_H
#define RUN_ISOLATION_H
/**
 * Isolation anomalies: lost updates and write skew between operations of steps. mininb searches
 * for them in a verified run of one process with several workers.
 */
#include "run/run.h"
#include "run/worker_taken.h"

struct isolation_log;

/**
 * Allocate the log of a worker's reads and writes. It stays NULL if mininb does not search for
 * anomalies.
 */
NB_MUST_CHECK int
isolation_enter(struct job_worker *worker);

void
isolation_leave(struct job_worker *worker);

/** Whether the operation is recorded. */
bool
isolation_watches(const struct job_worker *worker, const struct ops_op *op);

/**
 * Record an operation of that level: its reads, which are in worker->seen, and its writes. Its
 * last attempt began at `begin`, in ticks.
 */
void
isolation_keep(
	struct job_worker *worker, const struct ops_op *op, uint32_t level, uint64_t begin);

/**
 * Compare the logs after all workers have ended. Findings are JOB_LOST_UPDATE and
 * JOB_WRITE_SKEW.
 */
NB_MUST_CHECK int
isolation_judge(const struct nb_run *run);

#endif /* RUN_ISOLATION_H */
