/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_RESERVE_H
#define RUN_RESERVE_H
/**
 * Memory for a list that grows during a run: the process holds all of it from the beginning.
 * Pages that nobody reads stand for the part that the list has not used yet. So the list and
 * the reserve together do not grow. A short run needs as much memory as a long one.
 *
 * The owner allocates the list elsewhere, and reports its size.
 */
#include <stddef.h>

#include <mininb/mininb.h>

/** A reserve. {0} holds nothing. */
struct reserve {
	char *pages;
	size_t bytes; /* for the list, in total */
	size_t held;  /* part that the list has never used */
};

/** Hold `bytes`, rounded up to whole pages. After a failure it holds nothing. */
NB_MUST_CHECK int
reserve_create(struct reserve *reserve, size_t bytes);

/** Report the current size of the list. If it has shrunk, the allocator keeps the rest. */
void
reserve_use(struct reserve *reserve, size_t used);

void
reserve_destroy(struct reserve *reserve);

#endif /* RUN_RESERVE_H */
