/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_STEPS_WAY_H
#define RUN_STEPS_WAY_H
/**
 * The choice of methods in steps_way.c, for their execution in steps.c.
 */
#include "run/steps.h"

/** The methods, best first. A worker's `ways` has one for each of its kinds. */
enum { WAY_EXECUTE, WAY_TXN, WAY_TOGETHER, WAY_SINGLE, WAYS };

/**
 * Set the first usable method from `from` on. NB_UNSUPPORTED: there is none, or its level is
 * lower than required.
 */
NB_MUST_CHECK int
steps_choose(const struct nb_engine *engine, const struct nb_kind *kind, uint32_t from,
	uint8_t *way);

/** Whether the kind is one step that is a verb of the engine. */
bool
steps_is_one_verb(const struct nb_engine *engine, const struct nb_kind *kind);

/** The level of the worker's operations of kind number `k`. */
uint32_t
steps_level_by(const struct job_worker *worker, uint32_t k);

/** Whether all kinds with atomic puts really put atomically. */
bool
steps_put_at_once(const struct job_worker *worker);

#endif /* RUN_STEPS_WAY_H */
