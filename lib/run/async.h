/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_ASYNC_H
#define RUN_ASYNC_H
/**
 * The worker's loop for engines with submit and reap: up to plan->depth requests of the worker
 * are in flight at a time. See the head of async.c for what is timed.
 */
#include <stdbool.h>

#include <mininb/mininb.h>

struct async;
struct job_plan;
struct job_worker;

/** Bytes of keys and values that the requests in flight of one worker may take. */
#define ASYNC_BYTES_MAX (UINT64_C(1) << 30)

/** Whether operations of that kind can be requests: NB_OP_*. */
bool
async_has(uint32_t kind);

/** Allocate and touch all that the loop needs. To be given to async_delete(). */
NB_MUST_CHECK int
async_new(struct async **out, const struct job_plan *plan);

/** NULL is fine. */
void
async_delete(struct async *async);

/** All operations of the worker, until none is in flight. Failures are in its rc and text. */
void
async_run(struct job_worker *worker);

#endif /* RUN_ASYNC_H */
