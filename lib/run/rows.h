/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_ROWS_H
#define RUN_ROWS_H
/** Row counts of the tables of a job with a social graph, before and after the operations. */
#include <mininb/mininb.h>

#include "workload/tao_graph.h"

struct nb_run;

enum { ROWS_UNKNOWN = 0, ROWS_BY_ENGINE, ROWS_BY_SCAN };

struct row_counts {
	uint32_t how; /* ROWS_* */
	uint64_t counts[TAO_TABLES];
};

/**
 * Count the rows, untimed, while no worker has a session. Prefers the verb count. Does nothing
 * if nothing is verified, or if the engine can neither count nor scan in order.
 */
NB_MUST_CHECK int
rows_count(struct nb_run *run, struct row_counts *rows);

/**
 * Check that the rows after the operations are those before plus the added ones. NB_ERR_DATA
 * otherwise.
 */
NB_MUST_CHECK int
rows_judge(const struct nb_run *run);

/** The rows that the workers' operations inserted, minus those that they deleted. */
void
rows_grown(const struct nb_run *run, int64_t grown[TAO_TABLES]);

#endif /* RUN_ROWS_H */
