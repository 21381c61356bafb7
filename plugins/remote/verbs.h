/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef REMOTE_VERBS_H
#define REMOTE_VERBS_H
/**
 * The verbs of an engine that passes them to its session's `pipeline` without a change. Its
 * struct nb_session is defined before this header.
 */
#include "pipeline.h"

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return pipeline_get(&session->pipeline, key, value);
}

static void
release(struct nb_session *session)
{
	pipeline_release(&session->pipeline);
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return pipeline_write(&session->pipeline, NB_REQ_PUT, key, value);
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	return pipeline_write(&session->pipeline, NB_REQ_DEL, key, (struct nb_slice){0});
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return pipeline_write(&session->pipeline, NB_REQ_INSERT, key, value);
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	if (how != NB_MERGE_ADD_U64)
		return session->db->host->fail(NB_UNSUPPORTED, "unknown kind of merge %u", how);
	return pipeline_merge(&session->pipeline, key, operand);
}

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	return pipeline_reap(&session->pipeline, out, room, count, timeout_ns);
}

static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	return count == 0 ? NB_OK : pipeline_execute(&session->pipeline, steps, count, flags);
}

#endif /* REMOTE_VERBS_H */
