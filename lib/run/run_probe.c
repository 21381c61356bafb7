/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A check of some records before the first operation, if a server keeps the data. A server may
 * hold the data of another workload. Several servers may be given in another order than for the
 * load. The run would then measure how fast keys are not found, and report that only at its
 * end.
 *
 * A quarter of the records may be missing or wrong, because earlier runs may have deleted some.
 * For get and delete, any value is accepted. The check does not apply to put, which needs no
 * records. It does not apply to a trace, which may use keys that were never put.
 */
#include <stdlib.h>

#include "base/error.h"
#include "run/run.h"

enum { PROBE_RECORDS = 64, TOLERATED = 4 /* at most one in four may be bad */ };

struct probe {
	uint64_t looked, missing, wrong;
};

/** Whether the job could have put this value. */
static bool
is_value(const struct nb_run *run, struct nb_slice key, struct nb_slice value)
{
	if (run->classic != NULL)
		return true;
	if (value.size < run->sizes.min || value.size > run->sizes.max)
		return false;
	return run->loading.plan.are_counters ||
		value_check_any(ops_value_body(&run->loading.spec, value), key) == VALUE_GOOD;
}

static int
look_at(struct nb_run *run, struct nb_session *session, uint8_t *buf, struct probe *probe)
{
	const struct nb_engine *engine = &run->engine->table;
	uint64_t records = run->job->records;
	uint64_t count = records < PROBE_RECORDS ? records : PROBE_RECORDS;
	for (; probe->looked < count; probe->looked++) {
		uint64_t number = (uint64_t)((double)records / (double)count *
			(double)probe->looked);
		struct nb_slice key = {buf, keyspace_key(&run->keys, number, buf)}, value = {0};
		int rc = engine->get(session, key, &value);
		if (rc < 0)
			return rc;
		probe->missing += rc != NB_OK;
		if (rc != NB_OK)
			continue;
		probe->wrong += !is_value(run, key, value);
		if (engine->release != NULL)
			engine->release(session);
	}
	return NB_OK;
}

static int
judge(const struct nb_run *run, const struct probe *probe)
{
	unsigned long long looked = probe->looked, missing = probe->missing,
			   wrong = probe->wrong;
	if (missing + wrong <= looked / TOLERATED)
		return NB_OK;
	return error_set(NB_ERR_DATA,
		"of %llu records that mininb looked at before the run, %llu are missing and %llu hold other data: the server was loaded for another workload, or servers are named in another order; load it with: mininb %s --driver=%s --fresh, or use --force to go on",
		looked, missing, wrong, run->made_by, run->options.driver);
}

static int
probe_records(struct nb_run *run)
{
	const struct nb_engine *engine = &run->engine->table;
	struct nb_session *session = NULL;
	struct probe probe = {0};
	uint8_t *buf = malloc(run->keys.key_size_max);
	if (buf == NULL)
		return error_memory();
	int rc = engine->session_open(&session, run->db, 0);
	if (rc == NB_OK) {
		rc = look_at(run, session, buf, &probe);
		int closed = engine->session_close(session);
		rc = rc == NB_OK ? closed : rc;
	}
	free(buf);
	return rc == NB_OK ? judge(run, &probe) : rc;
}

bool
run_is_probed(const struct nb_run *run)
{
	bool is_asked = (run->engine->table.caps & NB_CAP_REMOTE) != 0 && run_is_kept(run) &&
		run->workload.verb != NB_VERB_PUT && !run->is_replay && run->job->records > 0;
	return is_asked && (run->options.flags & (NB_RUN_FORCE | NB_RUN_ALLOW_MISSING)) == 0;
}

int
run_probe(struct nb_run *run)
{
	if (!run_is_probed(run))
		return NB_OK;
	run_begin_phase(run, "look at records");
	int rc = run_call(run, "get", false, probe_records);
	return rc == NB_OK || rc == NB_ERR_DATA || run->left.is_left
		? rc
		: run_engine_failure(run, rc, "get");
}
