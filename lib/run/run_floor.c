/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of mininb itself: the loop of the run's first group, with its operations, clock and
 * verification, on the null engine. Each call of the null engine costs only the call. Closed
 * loop, one thread.
 *
 * There are two results. The time per operation limits the throughput that can be measured at
 * all. The latency that the loop reports is the share of the stamps in each latency. Neither is
 * subtracted from anything. The result is the median of several passes. On a busy machine, a
 * pass of a millisecond may consist mostly of another process's time.
 */
#include <stdlib.h>

#include "base/stats.h"
#include "run/run.h"

enum { FLOOR_OPS = 1 << 13, FLOOR_BYTES = 4 << 20, PASSES = 5 };

/**
 * At most the group's count: a key file may end there. Whole strata for a mix. With one kind
 * and large values it may be less than a stratum: a value may have a GiB.
 */
static uint64_t
floor_ops(const struct nb_run *run, const struct job_plan *plan)
{
	uint64_t each = run->keys.key_size_max + run->sizes.max;
	uint64_t least = plan->spec->one_kind < NB_OP_KINDS ? 1 : OPS_STRATUM;
	uint64_t ops = FLOOR_BYTES / (each > 0 ? each : 1);
	ops = ops > FLOOR_OPS ? FLOOR_OPS : ops;
	ops = ops < OPS_STRATUM ? ops : ops / OPS_STRATUM * OPS_STRATUM;
	ops = ops < least ? least : ops;
	return ops < plan->count ? ops : plan->count;
}

static void
run_pass(struct nb_run *run, struct job_worker *worker, double *op_ns)
{
	worker->done = worker->counted = worker->measured = worker->strata_done = 0;
	worker->findings = (struct job_findings){.verified = 0};
	job_worker_run(worker);
	uint64_t ticks = worker->last_ticks - worker->first_ticks;
	if (worker->measured > 0)
		*op_ns = (double)clock_ns(&run->clock, ticks) / (double)worker->measured;
}

/** The first pass, which warms caches, is not measured. */
static void
run_passes(struct nb_run *run, struct job_worker *worker)
{
	struct nb_histogram *all = run->interval_now; /* no longer needed */
	double op_ns[PASSES] = {0}, first_ns;
	run_pass(run, worker, &first_ns);
	for (int pass = 0; pass < PASSES && worker->rc == NB_OK; pass++)
		run_pass(run, worker, &op_ns[pass]);
	stats_sort(op_ns, PASSES);
	run->measured.floor_op_ns = stats_median(op_ns, PASSES);
	nb_histogram_reset(all);
	for (uint32_t kind = 0; kind < NB_KINDS_MAX; kind++) {
		if (worker->counts[kind].service != NULL)
			nb_histogram_merge(all, worker->counts[kind].service);
	}
	run->measured.floor_call_ns = nb_histogram_percentile(all, 50);
}

static int
run_null(struct nb_run *run, const struct nb_engine *engine, struct nb_db *db,
	struct job_plan *plan)
{
	struct job_worker *worker;
	struct job_gate gate = {.begin = clock_stamp(run->clock.kind)};
	plan->gate = &gate;
	plan->workers = &worker;
	int rc = job_worker_new(&worker, plan, 0, false);
	if (rc != NB_OK)
		return rc;
	rc = job_worker_enter(worker);
	if (rc == NB_OK)
		rc = engine->session_open(&worker->session, db, 0);
	if (rc == NB_OK) {
		run_passes(run, worker);
		rc = worker->rc;
		if (engine->session_close(worker->session) != NB_OK && rc == NB_OK)
			rc = NB_FAIL;
	}
	job_worker_leave(worker);
	job_worker_delete(worker);
	return rc;
}

int
job_floor_measure(struct nb_run *run)
{
	static const int never_halt = 0;
	const struct nb_engine *engine = engine_builtin("null");
	const struct job_part *part = run->options.what == NB_JOB_LOAD ? &run->loading
								       : &run->parts[0];
	if (run->is_replay || run_check_verbs(engine, run->job, part->group) != NB_OK)
		return NB_OK;
	struct job_plan plan = part->plan;
	plan.engine = engine;
	plan.may_exist = true;
	plan.schedule = NULL;
	plan.is_paced = false;
	plan.feed = NULL;
	plan.halt = &never_halt;
	plan.count = floor_ops(run, &plan);
	struct ops_spec spec = *plan.spec;
	spec.end = plan.count;
	plan.spec = &spec;
	plan.warmup_count = 0;
	plan.warm_ticks = 0;
	plan.end_ticks = UINT64_MAX;
	plan.threads = plan.of_all = 1;
	plan.before = 0;
	plan.may_miss = plan.is_lenient = true;
	struct nb_open_args args = {.size = sizeof(args),
		.flags = NB_OPEN_CREATE,
		.host = nb_engine_host(),
		.path = "/",
		.sessions = 1,
		.value_size = run->sizes.max,
		.inflight_ops = plan.depth > 1 ? plan.depth : 0,
		.durability = engine->auto_durability};
	struct nb_db *db;
	int rc = engine->open(&db, &args);
	if (rc != NB_OK)
		return rc;
	rc = run_null(run, engine, db, &plan);
	if (engine->close(db) != NB_OK && rc == NB_OK)
		rc = NB_FAIL;
	return rc;
}
