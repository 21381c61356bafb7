/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FITTED_H
#define FITTED_H
/**
 * A right engine that has what `memory` lacks: so that each promise of the suite
 * can be seen to be kept as well as broken.
 */
#include <mininb/engine.h>

/**
 * `inner`, which is `memory`, with every verb, serializable transactions, a longest key of
 * FITTED_KEY_MAX, a longest value, and databases that outlive close, though not the
 * process. One table.
 */
const struct nb_engine *
fitted_engine(const struct nb_engine *inner);

/** Forget all databases. */
void
fitted_reset(void);

enum { FITTED_KEY_MAX = 2000, FITTED_VALUE_MAX = 65536 };

#endif /* FITTED_H */
