/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_STEPS_H
#define RUN_STEPS_H
/**
 * Operations that are lists of steps, the methods of executing them, and their level. A worker
 * takes the first method that the engine has: execute; begin to commit; multi_get for reads
 * alone, or an atomic batch for puts and deletes alone; single verbs. A kind can ask for one of
 * them.
 */
#include "run/worker_taken.h"

/** The atomicity of an operation, weakest first. Member `level` of a group in a result. */
enum {
	STEPS_NONE = 0, /* the group has no such operations */
	STEPS_EMULATED, /* each step takes effect alone */
	STEPS_ATOMIC_WRITES,
	STEPS_SNAPSHOT,
	STEPS_SERIALIZABLE,
	STEPS_LEVELS
};

/** "emulated", "atomic writes", "snapshot", "serializable"; "none" for STEPS_NONE. */
const char *
steps_level_name(uint32_t level);

/** Check that the engine can execute the group's steps at the required level. */
NB_MUST_CHECK int
steps_check(
	const struct nb_engine *engine, const struct nb_job *job, const struct nb_group *group);

/** Choose the methods of a worker, before its first operation. */
void
steps_begin(struct job_worker *worker);

/**
 * The weakest level of the worker's operations, by the methods that it used last. Kinds whose
 * steps need not be atomic count only if the worker has no others.
 */
uint32_t
steps_level(const struct job_worker *worker);

/**
 * Whether no addition of several workers is lost. Additions may be lost if add is a separate
 * get and put.
 */
bool
steps_add_up(const struct job_worker *worker);

/**
 * Whether no put-if-newer replaces a newer value. It may if mininb executes it as a get and a
 * put, and another worker puts between the two.
 */
bool
steps_keep_ages(const struct job_worker *worker);

/** One attempt. Returns an answer like a verb: NB_EXISTS if a condition was not met. */
int
steps_attempt(struct job_worker *worker, const struct ops_op *op, bool is_sample,
	uint32_t clock_kind, struct span *span);

/** After the last attempt, untimed: remember the writes and judge the reads. */
void
steps_end(struct job_worker *worker, const struct ops_op *op, int rc, bool is_sample,
	uint64_t begin);

/* ---- the parts of the same for a request in flight ---- */

/** The NB_REQ_* that executes a kind; UINT32_MAX: the engine has none. */
uint32_t
steps_request(const struct nb_engine *engine, const struct nb_kind *kind);

/** The NB_EXEC_* of a kind. */
uint32_t
steps_flags(const struct nb_kind *kind);

/**
 * Read the values of all steps, which are on loan, and count them. Returns an answer like a
 * verb.
 */
int
steps_take(const struct ops_op *op, struct span *span);

/** Untimed: verify the result of step k. Records its version; verifies the value of a sample. */
void
steps_look(struct job_worker *worker, const struct ops_op *op, uint32_t k, bool is_sample);

/**
 * After steps_look() of all steps: sum up additions, and judge isolation. `begin` is in ticks.
 */
void
steps_judge(struct job_worker *worker, const struct ops_op *op, bool is_sample, uint64_t begin);

#endif /* RUN_STEPS_H */
