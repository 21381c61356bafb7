/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_FOOTERS_H
#define FPTREE_FOOTERS_H
#include <stdbool.h>
#include <stdint.h>

/**
 * Write the footers of free chunks into a pool of libpmemobj that is not open, as its
 * open should do and does not. `part`: the first one. True: some were not there.
 */
bool
footers_mend(uint8_t *part, uint64_t bytes);

#endif /* FPTREE_FOOTERS_H */
