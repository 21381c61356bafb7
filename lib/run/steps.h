/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_STEPS_H
#define RUN_STEPS_H
/**
 * Operations that are lists of steps: how an engine does them, and at which level. Ways, the first
 * that the engine has: execute; begin to commit; multi_get for reads alone and an atomic batch for
 * puts and deletes alone; single verbs. A kind can ask for one of them.
 */
#include "run/worker_taken.h"

/** How much of an operation is one: the weakest first. Member `level` of a result's group. */
enum {
	STEPS_NONE = 0, /* the group has no such operations */
	STEPS_EMULATED, /* each step is alone */
	STEPS_ATOMIC_WRITES,
	STEPS_SNAPSHOT,
	STEPS_SERIALIZABLE,
	STEPS_LEVELS
};

/** "emulated", "atomic writes", "snapshot", "serializable"; of STEPS_NONE "none". */
const char *
steps_level_name(uint32_t level);

/** Whether the engine can do the group's steps, at the level that is required. */
NB_MUST_CHECK int
steps_check(
	const struct nb_engine *engine, const struct nb_job *job, const struct nb_group *group);

/** Choose the ways of a worker, before its first operation. */
void
steps_begin(struct job_worker *worker);

/**
 * The weakest level of what the worker did, by the ways that it took at last. Kinds whose steps need
 * not be one count only where there are no others.
 */
uint32_t
steps_level(const struct job_worker *worker);

/** Whether additions of several workers add up: they do unless add is a get and a put, each alone. */
bool
steps_add_up(const struct job_worker *worker);

/**
 * Whether no put-if-newer replaces a newer value: it may where the host does it as a get and a put,
 * and another worker puts between these.
 */
bool
steps_keep_ages(const struct job_worker *worker);

/** One attempt. What it returns is as of a verb: NB_EXISTS if a condition was not met. */
int
steps_attempt(struct job_worker *worker, const struct ops_op *op, bool is_sample,
	uint32_t clock_kind, struct span *span);

/** After the last attempt, not timed: remember what it wrote and judge what it read. */
void
steps_end(struct job_worker *worker, const struct ops_op *op, int rc, bool is_sample,
	uint64_t begin);

/* ---- the same of a request in flight, piece by piece ---- */

/** NB_REQ_* that does an operation of that kind; UINT32_MAX: the engine has none. */
uint32_t
steps_request(const struct nb_engine *engine, const struct nb_kind *kind);

/** NB_EXEC_* of that kind. */
uint32_t
steps_flags(const struct nb_kind *kind);

/** Read what all steps got, which is lent, and count it. What it returns is as of a verb. */
int
steps_take(const struct ops_op *op, struct span *span);

/** Behind the clock: look at what step k got; its value is looked at only of a sample. */
void
steps_look(struct job_worker *worker, const struct ops_op *op, uint32_t k, bool is_sample);

/** When all have been looked at: what was added, and isolation. It began at `begin`, in ticks. */
void
steps_judge(struct job_worker *worker, const struct ops_op *op, bool is_sample, uint64_t begin);

#endif /* RUN_STEPS_H */
