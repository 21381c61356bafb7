/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_VERB_H
#define WORKLOAD_VERB_H
/** put, get and delete of the keys of a file, converted to a job. */
#include <mininb/job.h>
#include <mininb/workload.h>

/** Check the workload; NB_ERR_USAGE. */
NB_MUST_CHECK int
verb_check(const struct nb_workload *workload);

/**
 * The job of a workload: put is its load; get or delete is its only group, whose operation i
 * uses key i. Free it with nb_job_delete().
 */
NB_MUST_CHECK int
verb_job(struct nb_job **out, const struct nb_workload *workload, uint32_t threads);

/**
 * Digest of the stream: equal for two runs with the same operations, keys and values in the
 * same order, for any number of threads. `keys_hash` is the hash of all keys.
 */
uint64_t
verb_digest(const struct nb_workload *workload, uint64_t keys_hash);

#endif /* WORKLOAD_VERB_H */
