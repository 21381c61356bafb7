/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WORKLOAD_TAO_JOB_H
#define WORKLOAD_TAO_JOB_H
/** Jobs whose records are a social graph: the kinds of operations and their shares. */
#include <mininb/job.h>

#include "workload/kinds.h"

/* The kinds of such a job, from KIND_OWN, in addition to NB_OP_READ. */
enum {
	TAO_KIND_INSERT = KIND_OWN,
	TAO_KIND_UPDATE,
	TAO_KIND_DELETE,
	TAO_KIND_TXN_WRITE,
	TAO_KIND_TXN_READ, /* and one for each further class of sizes */
};

enum { TAO_INDEX_BITS = 38 /* bits of an operation's number in its group */ };

/** The lane of a group and epoch: separates the numbers of its insertions from all others. */
static inline uint64_t
tao_lane(const struct nb_job *job, uint32_t stream)
{
	return job->epoch * NB_GROUPS_MAX + stream;
}

/** Read the workload file and add its kinds to the job. */
NB_MUST_CHECK int
tao_job_set_graph(struct nb_job *job, const char *text);

/**
 * Derive settings that depend on several keys. Called after each key that is set, for any job.
 */
void
tao_job_settle(struct nb_job *job);

/** Whether the graph determines a key; NB_ERR_USAGE names the key to set instead. */
NB_MUST_CHECK int
tao_job_refuse(
	const struct nb_job *job, const struct nb_group *group, const char *key, bool is_share);

NB_MUST_CHECK int
tao_job_check(const struct nb_job *job);

void
tao_job_destroy(struct nb_job *job);

#endif /* WORKLOAD_TAO_JOB_H */
