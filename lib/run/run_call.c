/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engine calls for the whole database, and runs whose engine does not return from a call or
 * crashes in one.
 *
 * A separate thread, the keeper, calls open, flush, stats and close. The thread that called the
 * library only waits and watches. So it can always stop the workers, sum up and report. An
 * engine that hangs or crashes in its close loses no measurement. The hand-over to the keeper
 * is not timed.
 *
 * After nb_stop(), the caller waits for a call in progress for a few seconds. It waits a minute
 * if the call does the work of many operations, because closing the written data is worth that.
 * After nb_stop_waiting() it does not wait.
 *
 * An abandoned run makes no more engine calls, because a thread is still inside one. The other
 * threads have LEFT_NS to end their operations, because they may wait for something that the
 * first one holds. Then the workers' counts are read (job_worker_take_over()). The memory of
 * the run is never freed, because the thread may return at any time.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/process.h"
#include "base/units.h"
#include "run/fault.h"
#include "run/run.h"

enum { TICK_NS = 20 * 1000 * 1000 };
#define LEFT_NS UINT64_C(3000000000)
/* The longest time for a call after nb_stop(). */
#define GRACE_NS UINT64_C(5000000000)
#define LONG_GRACE_NS UINT64_C(60000000000)

static int last_fault; /* of the process */
static bool is_any_left;

/* ---- abandoning a run ---- */

static void
leave_run(struct nb_run *run, int code, int fault)
{
	run->left.is_left = is_any_left = true;
	run->left.code = code;
	run->left.since_ns = clock_monotonic();
	last_fault = fault;
}

/** The state of a run that ends here. */
static const char *
outcome(const struct nb_run *run)
{
	return run->has_operated
		? "the report covers the time until then, and the database was not closed"
		: "nothing was measured, and the database was not closed";
}

static void
leave_by_fault(struct nb_run *run, int fault, const struct heartbeat *heartbeat)
{
	char where[HEARTBEAT_TEXT] = "in a thread of the engine's own";
	if (heartbeat != NULL)
		heartbeat_describe(heartbeat, where, sizeof(where));
	const char *why = fault == FAULT_EXIT ? ": an engine must not end the process"
		: fault == SIGBUS
		? ": a mapped file was cut short, cannot be read, or its disk is full"
		: "; use the core dump or a debugger to find out why";
	snprintf(run->left.text, sizeof(run->left.text), "%s: %s %s%s; %s",
		run->engine->table.name, fault_name(fault), where, why, outcome(run));
	leave_run(run, NB_FAIL, fault);
}

static void
leave_by_time(struct nb_run *run, const struct heartbeat *heartbeat, bool is_interrupted)
{
	char where[HEARTBEAT_TEXT], took[UNITS_SIZE];
	heartbeat_describe(heartbeat, where, sizeof(where));
	units_format_ns(took, sizeof(took), (double)(clock_monotonic() - heartbeat->since_ns));
	snprintf(run->left.text, sizeof(run->left.text),
		"%s%s: %s: has not returned for %s; %s%s",
		is_interrupted ? "interrupted: " : "", run->engine->table.name,
		where + strlen("in "), took, outcome(run),
		is_interrupted ? "" : "; use --op-timeout=TIME to wait longer");
	leave_run(run, is_interrupted ? NB_ERR_INTERRUPTED : NB_FAIL, FAULT_NONE);
}

/** Whether to stop waiting for the thread at `heartbeat`, because nb_stop() is in force. */
static bool
is_impatient(struct nb_run *run, struct heartbeat *heartbeat, bool is_long)
{
	uint64_t now_ns = clock_monotonic(), grace_ns = is_long ? LONG_GRACE_NS : GRACE_NS;
	if (!stop_requested())
		return false;
	if (stop_waiting_requested())
		return __atomic_load_n(&heartbeat->call, __ATOMIC_ACQUIRE) != NULL;
	if (run->left.stop_ns == 0)
		run->left.stop_ns = now_ns;
	return now_ns - run->left.stop_ns >= grace_ns &&
		heartbeat_is_overdue(heartbeat, now_ns, grace_ns);
}

bool
run_watch(struct nb_run *run, struct heartbeat *heartbeat, bool is_long)
{
	const struct heartbeat *at = NULL;
	const struct nb_run_options *options = &run->options;
	uint64_t limit_ns = is_long ? options->call_timeout_ns : options->op_timeout_ns;
	int fault = run->left.is_left ? FAULT_NONE : fault_seen(&at);
	bool is_overdue = !run->left.is_left &&
		heartbeat_is_overdue(
			heartbeat, clock_monotonic(), limit_ns > 0 ? limit_ns : UINT64_MAX);
	if (fault != FAULT_NONE)
		leave_by_fault(run, fault, at);
	else if (!run->left.is_left && is_impatient(run, heartbeat, is_long))
		leave_by_time(run, heartbeat, true);
	else if (is_overdue)
		leave_by_time(run, heartbeat, false);
	return run->left.is_left;
}

void
run_end_left(struct nb_run *run, struct worker_pool *pool)
{
	if (worker_pool_busy(pool) <= 1 || stop_waiting_requested() ||
		clock_monotonic() - run->left.since_ns > LEFT_NS)
		worker_pool_give_up(pool);
}

int
run_left_failure(const struct nb_run *run)
{
	return error_set(run->left.code, "%s", run->left.text);
}

int
nb_run_left(int *signal_number)
{
	*signal_number = last_fault > 0 ? last_fault : 0;
	return is_any_left;
}

/* ---- the keeper ---- */

static void
keep(void *arg, uint32_t id, int phase)
{
	struct nb_run *run = arg;
	struct keeper *keeper = &run->keeper;
	(void)id, (void)phase;
	fault_set_heartbeat(&keeper->heartbeat);
	error_set(NB_OK, "%s", "");
	heartbeat_enter(&keeper->heartbeat, keeper->call);
	uint64_t begin_ns = clock_monotonic();
	keeper->rc = keeper->verb(run);
	keeper->took_ns = clock_monotonic() - begin_ns;
	heartbeat_leave(&keeper->heartbeat);
	snprintf(keeper->text, sizeof(keeper->text), "%s", nb_error_text());
}

static void
watch_keeper(void *arg)
{
	struct nb_run *run = arg;
	struct keeper *keeper = &run->keeper;
	if (run_watch(run, &keeper->heartbeat, keeper->is_long))
		worker_pool_give_up(&keeper->pool);
}

int
run_call_begin(
	struct nb_run *run, const char *call, bool is_long, int (*verb)(struct nb_run *run))
{
	struct keeper *keeper = &run->keeper;
	process_return_to_directory(); /* a session may have left it */
	if (run->left.is_left)
		return run_left_failure(run);
	if (!keeper->is_there) {
		int rc = worker_pool_create(&keeper->pool, 1, keep, run);
		if (rc != NB_OK)
			return rc;
		keeper->is_there = true;
		keeper->heartbeat.worker = HEARTBEAT_DATABASE;
	}
	keeper->call = call;
	keeper->is_long = is_long;
	keeper->verb = verb;
	keeper->begin_ns = clock_monotonic();
	worker_pool_begin(&keeper->pool, 0);
	return NB_OK;
}

bool
run_call_goes_on(struct nb_run *run)
{
	watch_keeper(run);
	return !run->left.is_left && worker_pool_busy(&run->keeper.pool) > 0;
}

int
run_call_end(struct nb_run *run)
{
	struct keeper *keeper = &run->keeper;
	worker_pool_await(&keeper->pool, TICK_NS, watch_keeper);
	process_return_to_directory();
	if (run->left.is_left) {
		run->call_ns = clock_monotonic() - keeper->begin_ns;
		return run_left_failure(run);
	}
	run->call_ns = keeper->took_ns;
	return error_set(keeper->rc, "%s", keeper->text);
}

int
run_call(struct nb_run *run, const char *call, bool is_long, int (*verb)(struct nb_run *run))
{
	int rc = run_call_begin(run, call, is_long, verb);
	return rc == NB_OK ? run_call_end(run) : rc;
}

int
run_end_crew(struct nb_run *run, struct worker_pool *pool, int rc)
{
	worker_pool_destroy(pool);
	if (run->left.is_left || !pool->is_given_up ||
		!run_watch(run, &run->keeper.heartbeat, false))
		return rc;
	return rc == NB_OK ? run_left_failure(run) : rc;
}

int
run_dismiss_keeper(struct nb_run *run, int rc)
{
	if (run->keeper.is_there)
		rc = run_end_crew(run, &run->keeper.pool, rc);
	run->keeper.is_there = false;
	return rc;
}
