/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_VERB_H
#define WORKLOAD_VERB_H
/** put, get and delete of the keys of a file: a workload, as a job. */
#include <mininb/job.h>
#include <mininb/workload.h>

/** Find whether the workload makes sense; NB_ERR_USAGE. */
NB_MUST_CHECK int
verb_check(const struct nb_workload *workload);

/**
 * The job that does it: put is its loading, get and delete its only group, whose operation i
 * goes to key i. To be given to nb_job_delete().
 */
NB_MUST_CHECK int
verb_job(struct nb_job **out, const struct nb_workload *workload, uint32_t threads);

/**
 * The name of its stream: equal for two runs of the same operations on the same keys and values
 * in the same order, for any number of threads. `keys_hash` is of the bytes of all keys.
 */
uint64_t
verb_digest(const struct nb_workload *workload, uint64_t keys_hash);

#endif /* WORKLOAD_VERB_H */
