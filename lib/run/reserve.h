/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_RESERVE_H
#define RUN_RESERVE_H
/**
 * Memory for a list that grows during a run: the process has all of it from the beginning. Pages
 * that nobody reads stand for the part that the list has never had. So the list and the reserve
 * together do not grow, and a short run needs as much memory as a long one.
 *
 * The list is wherever its owner allocates it; the owner says how large it is.
 */
#include <stddef.h>

#include <mininb/mininb.h>

/** {0} holds nothing. */
struct reserve {
	char *pages;
	size_t bytes; /* for the list, in all */
	size_t held;  /* that the list has never had */
};

/** Holds `bytes`, rounded up to whole pages. On a failure it holds nothing. */
NB_MUST_CHECK int
reserve_create(struct reserve *reserve, size_t bytes);

/** The list has so many bytes now. If they are fewer than before, the allocator has the rest. */
void
reserve_use(struct reserve *reserve, size_t used);

void
reserve_destroy(struct reserve *reserve);

#endif /* RUN_RESERVE_H */
