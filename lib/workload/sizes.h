/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_SIZES_H
#define WORKLOAD_SIZES_H
/** How large values are: one draw from random words that belong to the operation alone. */
#include <mininb/job.h>

#include "workload/dist.h"

/** Made once, then only read. */
struct sizes {
	uint32_t kind; /* NB_SIZE_* */
	uint32_t count;
	uint64_t min, max; /* what is drawn is within */
	double a, b, c;    /* constants of the law */
	struct dist zipf;
	/* of a histogram: Walker's alias table, owned, and the sum of all weights */
	uint64_t *values, *aliases, *thresholds;
	uint64_t total;
};

/** The name of NB_SIZE_* as in nb_sizes_parse(). NULL: it has none. */
const char *
sizes_law_name(uint32_t kind);

/** Whether the law is possible: NB_ERR_USAGE says what is wrong with it. */
NB_MUST_CHECK int
sizes_check(const struct nb_sizes *wanted);

/** NB_ERR_USAGE as sizes_check(); NB_FAIL if memory is short. */
NB_MUST_CHECK int
sizes_create(struct sizes *sizes, const struct nb_sizes *wanted);

void
sizes_destroy(struct sizes *sizes);

/** A size within min..max, from the operation's own state of splitmix64_next(). */
uint64_t
sizes_draw(const struct sizes *sizes, uint64_t *random);

/** The mean of what is drawn, cut bounds included, within 1 %. */
double
sizes_mean(const struct sizes *sizes);

#endif /* WORKLOAD_SIZES_H */
