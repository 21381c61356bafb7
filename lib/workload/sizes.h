/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_SIZES_H
#define WORKLOAD_SIZES_H
/** Sizes of values. A draw uses only random words of its operation. */
#include <mininb/job.h>

#include "workload/dist.h"

/** Made once, then read-only. */
struct sizes {
	uint32_t kind; /* NB_SIZE_* */
	uint32_t count;
	uint64_t min, max; /* bounds of all draws */
	double a, b, c;    /* constants of the distribution */
	struct dist zipf;
	/* histogram: Walker's alias table, owned, and the sum of all weights */
	uint64_t *values, *aliases, *thresholds;
	uint64_t total;
};

/** The name of NB_SIZE_* as in nb_sizes_parse(). NULL: it has none. */
const char *
sizes_law_name(uint32_t kind);

/** Check the parameters; NB_ERR_USAGE. */
NB_MUST_CHECK int
sizes_check(const struct nb_sizes *wanted);

/** NB_ERR_USAGE as sizes_check(); NB_FAIL: out of memory. */
NB_MUST_CHECK int
sizes_create(struct sizes *sizes, const struct nb_sizes *wanted);

void
sizes_destroy(struct sizes *sizes);

/** Draw a size min..max from the operation's own state of splitmix64_next(). */
uint64_t
sizes_draw(const struct sizes *sizes, uint64_t *random);

/** The mean of the draws within min..max, exact to 1 %. */
double
sizes_mean(const struct sizes *sizes);

#endif /* WORKLOAD_SIZES_H */
