/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_FOOTERS_H
#define FPTREE_FOOTERS_H
#include <stdbool.h>
#include <stdint.h>

/**
 * Write the footers of free chunks into a closed pool of libpmemobj, as its open should do
 * but does not. `part`: the first part. True: some were missing.
 */
bool
footers_mend(uint8_t *part, uint64_t bytes);

#endif /* FPTREE_FOOTERS_H */
