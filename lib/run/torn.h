/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_TORN_H
#define RUN_TORN_H
/** Detection of operations that saw only a part of another operation's writes. */
#include "run/worker.h"

/**
 * Judge the versions in worker->seen, which an operation of steps has read, as one snapshot.
 * Slow: some microseconds for each pair of records. A finding is JOB_TORN.
 */
void
torn_judge(struct job_worker *worker, const struct ops_op *op);

#endif /* RUN_TORN_H */
