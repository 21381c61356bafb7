/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the harness itself costs: this run's own loop, clock, keys, values and
 * verification, on the null engine, whose answers cost a call and nothing else.
 *
 * Two numbers. The time for one operation of the loop bounds the throughput
 * that could be seen at all; the latency that the loop then reports is what of
 * each latency is the stamps' own. Neither is subtracted from anything. The
 * median of several passes is taken, since a pass may be interrupted; the first
 * one, which warms caches, does not count.
 */
#include <stdlib.h>

#include "base/error.h"
#include "run/run.h"

enum {
	PASSES = 7,
	PASS_OPS = 1 << 14,
	PASS_BYTES = 8 << 20 /* of values: large ones take their time */
};

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static uint64_t
pass_ops(const struct nb_workload *workload)
{
	uint64_t ops = PASS_BYTES / (workload->value_size + workload->key_size);
	if (ops > PASS_OPS)
		ops = PASS_OPS;
	if (ops > workload->count)
		ops = workload->count;
	return ops > 0 ? ops : 1;
}

static int
open_null(struct nb_db **db, const struct nb_engine *engine, const struct nb_run *run)
{
	struct nb_open_args args = {.size = sizeof(args),
		.flags = NB_OPEN_CREATE,
		.host = nb_engine_host(),
		.path = "/",
		.key_size = run->workload.key_size,
		.value_size = run->workload.value_size,
		.sessions = 1,
		.durability = engine->auto_durability};
	return engine->open(db, &args);
}

static void
run_passes(struct nb_run *run, struct worker *worker)
{
	double op_ns[PASSES];
	for (int pass = -1; pass < PASSES; pass++) {
		if (pass <= 0)
			nb_histogram_reset(&worker->service);
		worker_run(worker);
		uint64_t ticks = worker->end_ticks - worker->begin_ticks;
		if (pass >= 0)
			op_ns[pass] = (double)clock_ns(&run->clock, ticks) /
				(double)(worker->end - worker->begin);
	}
	qsort(op_ns, PASSES, sizeof(*op_ns), compare_doubles);
	run->measured.floor_op_ns = op_ns[PASSES / 2];
	run->measured.floor_call_ns = nb_histogram_percentile(&worker->service, 50);
}

int
floor_measure(struct nb_run *run)
{
	static const int never_halt = 0;
	const struct nb_engine *engine = engine_builtin("null");
	struct worker_plan plan = {.engine = engine,
		.workload = &run->workload,
		.keys = &run->keys,
		.clock = &run->clock,
		.verify_threshold = run->plan.verify_threshold,
		.halt = &never_halt};
	struct nb_db *db;
	struct worker *worker;
	int rc = open_null(&db, engine, run);
	if (rc != NB_OK)
		return rc;
	rc = worker_new(&worker, &plan, 0, pass_ops(&run->workload));
	if (rc != NB_OK)
		goto close_db;
	rc = engine->session_open(&worker->session, db, 0);
	if (rc != NB_OK)
		goto delete_worker;
	run_passes(run, worker);
	if (engine->session_close(worker->session) != NB_OK)
		rc = NB_FAIL;
delete_worker:
	worker_delete(worker);
close_db:
	if (engine->close(db) != NB_OK && rc == NB_OK)
		rc = NB_FAIL;
	return rc;
}
