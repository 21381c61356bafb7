/* SPDX-License-Identifier: BSD-2-Clause */
/** Descriptions of a worker: its current operation, and its failure. */
#include "run/worker.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "run/worker_taken.h"

/** The kind of the operation, "read"; or the name of the classic action, "get". */
static const char *
name_of(const struct job_worker *worker, const struct ops_op *op)
{
	const struct job_plan *plan = worker->plan;
	return plan->action != NULL ? plan->action : kind_name(plan->spec->job, op->kind);
}

void
worker_describe(const struct heartbeat *heartbeat, const char *call, char *buf, size_t size)
{
	const struct job_worker *worker = (const void *)((const char *)heartbeat -
		offsetof(struct job_worker, heartbeat));
	const struct job_taken *taken = worker->taken;
	const struct ops_op *op = NULL;
	bool is_operation = strcmp(call, "operation") == 0;
	char key[80];
	if (strcmp(call, "reading back") == 0)
		op = worker->looked_at;
	uint64_t at = __atomic_load_n(&worker->done, __ATOMIC_ACQUIRE);
	if (is_operation && at - taken->first < OPS_STRATUM)
		op = &taken->ops[at - taken->first];
	if (op == NULL || op->keys == NULL) {
		snprintf(buf, size, "%s", call);
		return;
	}
	heartbeat_format_key(key, sizeof(key), op->keys[0].data, op->keys[0].size);
	snprintf(buf, size, "%s, operation %llu (key %s)",
		is_operation ? name_of(worker, op) : call, (unsigned long long)op->index, key);
}

__attribute__((noinline, cold)) int
worker_refuse(const struct nb_engine *engine, struct nb_session *session, const char *call,
	struct nb_slice value)
{
	if (engine->release != NULL)
		engine->release(session);
	return engine_refuse_size(call, value.size);
}

__attribute__((noinline)) void
worker_fail(struct job_worker *worker, const struct ops_op *op, int rc)
{
	const char *name = worker->plan->engine->name, *what = name_of(worker, op);
	unsigned long long i = op->index;
	worker->rc = rc < 0 ? rc : NB_FAIL;
	if (rc < 0)
		snprintf(worker->text, sizeof(worker->text), "%s: %s, operation %llu: %s", name,
			what, i,
			nb_error_text()[0] != '\0' ? nb_error_text()
						   : "failed without saying why");
	else
		snprintf(worker->text, sizeof(worker->text),
			"%s: %s, operation %llu: answered %d, which means nothing here", name,
			what, i, rc);
}
