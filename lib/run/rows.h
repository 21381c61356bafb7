/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_ROWS_H
#define RUN_ROWS_H
/** Rows of the tables of a job with a social graph, before and after the operations. */
#include <mininb/mininb.h>

#include "workload/tao_graph.h"

struct nb_run;

enum { ROWS_UNKNOWN = 0, ROWS_BY_ENGINE, ROWS_BY_SCAN };

struct row_counts {
	uint32_t how; /* ROWS_* */
	uint64_t counts[TAO_TABLES];
};

/**
 * Count, untimed, between the sessions of workers; unless nothing is verified, or the engine can
 * neither count nor scan in order. The verb count is asked first.
 */
NB_MUST_CHECK int
rows_count(struct nb_run *run, struct row_counts *rows);

/** Whether the rows after the operations are those before and what was added. NB_ERR_DATA. */
NB_MUST_CHECK int
rows_judge(const struct nb_run *run);

/** What the workers' operations have added, less what they have deleted. */
void
rows_grown(const struct nb_run *run, int64_t grown[TAO_TABLES]);

#endif /* RUN_ROWS_H */
