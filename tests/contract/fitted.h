/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FITTED_H
#define FITTED_H
/**
 * A correct engine with all verbs that `memory` lacks. It lets the tests check that each
 * promise of the contract suite can both hold and break.
 */
#include <mininb/engine.h>

/**
 * `inner`, which is `memory`, plus:
 * - every verb
 * - serializable transactions
 * - limits: keys of FITTED_KEY_MAX bytes, values of FITTED_VALUE_MAX bytes
 * - databases that survive close, but not the end of the process
 *
 * All calls share one table.
 */
const struct nb_engine *
fitted_engine(const struct nb_engine *inner);

/** Remove all databases. */
void
fitted_reset(void);

enum { FITTED_KEY_MAX = 2000, FITTED_VALUE_MAX = 65536 };

#endif /* FITTED_H */
