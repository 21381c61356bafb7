/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The workers of a phase. Each opens its session, waits at the gate, executes its operations,
 * and closes the session. Meanwhile the main thread watches. Workers read back before they
 * close, or in sessions of the reopened database.
 *
 * The last ready worker sets the start time a little ahead, so that no worker is late. Due
 * times count from the start.
 */
#include <stdio.h>

#include "base/error.h"
#include "run/isolation.h"
#include "run/run_phase.h"
#include "run/tally.h"

enum { FORGET_BYTES = 8 << 20 };

enum { PHASE_ENTER, PHASE_OPERATE, PHASE_READ_BACK, PHASE_LEAVE };

/* ---- workers ---- */

/** Threads of the active parts, in one process. */
static uint32_t
job_threads(const struct nb_run *run)
{
	uint32_t threads = 0;
	for (size_t p = 0; p < run->active_count; p++)
		threads += run->active[p]->group->threads;
	return threads;
}

/** Worker `id` of a process. */
static struct job_worker *
worker_at(const struct nb_run *run, uint32_t id, struct job_part **part)
{
	for (size_t p = 0; p < run->active_count; p++) {
		uint32_t threads = run->active[p]->group->threads;
		if (id < threads) {
			*part = run->active[p];
			return (*part)->workers[run->process * threads + id];
		}
		id -= threads;
	}
	return NULL;
}

/** End the operations of all groups. Their writes are still read back. */
static void
halt_operations(const struct nb_run *run)
{
	for (size_t p = 0; p < run->active_count; p++)
		__atomic_store_n(&run->shared->halts[p], 1, __ATOMIC_RELAXED);
}

void
phase_halt(const struct nb_run *run)
{
	halt_operations(run);
	for (size_t p = 0; p < run->active_count; p++)
		__atomic_store_n(&run->shared->breaks[p], 1, __ATOMIC_RELAXED);
}

static void
keep_failure(struct job_worker *worker, int rc)
{
	worker->rc = rc;
	snprintf(worker->text, sizeof(worker->text), "%s", nb_error_text());
}

static int
open_session(struct nb_run *run, struct job_worker *worker, uint32_t id)
{
	const struct nb_engine *engine = &run->engine->table;
	run_forget_text();
	heartbeat_enter(&worker->heartbeat, "session_open");
	int rc = engine->session_open(&worker->session, run->db, id);
	heartbeat_leave(&worker->heartbeat);
	if (rc == NB_OK && worker->session == NULL)
		rc = error_set(NB_FAIL, "gave no session");
	if (rc == NB_OK)
		return NB_OK;
	worker->session = NULL;
	return run_engine_failure(run, rc, "session_open");
}

static void
enter(struct nb_run *run, struct job_part *part, struct job_worker *worker, uint32_t id)
{
	uint32_t nth = run->process * job_threads(run) + id;
	int rc = NB_OK;
	if (part->group->cpus != NULL)
		rc = run_pin_to(part->group->cpus, worker->thread);
	else if ((run->options.flags & NB_RUN_PIN) != 0)
		rc = run_pin(nth);
	if (rc == NB_OK)
		rc = job_worker_enter(worker);
	if (rc == NB_OK)
		rc = open_session(run, worker, id);
	if (rc == NB_OK)
		rc = tally_read(worker, false);
	if (rc != NB_OK)
		keep_failure(worker, rc);
}

static void
leave(struct nb_run *run, struct job_worker *worker)
{
	job_worker_leave(worker);
	if (worker->session == NULL)
		return; /* its session was never opened */
	run_forget_text();
	heartbeat_enter(&worker->heartbeat, "session_close");
	int rc = run->engine->table.session_close(worker->session);
	heartbeat_leave(&worker->heartbeat);
	worker->session = NULL;
	if (rc != NB_OK && worker->rc == NB_OK)
		keep_failure(worker, run_engine_failure(run, rc, "session_close"));
}

static void
read_back_worker(struct job_worker *worker)
{
	int rc = worker->plan->tally_workers > 0 ? tally_read(worker, true)
						 : job_worker_read_back(worker);
	if (rc != NB_OK && worker->rc == NB_OK)
		keep_failure(worker, rc);
}

static void
work(void *arg, uint32_t id, int phase)
{
	struct nb_run *run = arg;
	struct job_part *part = NULL;
	struct job_worker *worker = worker_at(run, id, &part);
	if (phase == PHASE_ENTER)
		enter(run, part, worker, id);
	else if (worker->session != NULL && phase == PHASE_OPERATE)
		job_worker_run(worker);
	else if (worker->session != NULL && phase == PHASE_READ_BACK)
		read_back_worker(worker);
	else if (phase == PHASE_LEAVE)
		leave(run, worker);
	if (worker->rc != NB_OK && phase != PHASE_LEAVE)
		phase_halt(run); /* one has failed, so the others stop */
}

/** Called for a worker that has finished while others have not. */
static void
idle(void *arg, uint32_t id, int phase)
{
	struct job_part *part = NULL;
	struct job_worker *worker = worker_at(arg, id, &part);
	if ((phase == PHASE_OPERATE || phase == PHASE_READ_BACK) && worker->rc == NB_OK)
		job_worker_tick(worker);
}

/** Set the first failure of a worker as this thread's. */
static int
worker_failure(const struct nb_run *run)
{
	if (run->left.is_left)
		return run_left_failure(run);
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		for (uint32_t t = 0; t < part->plan.threads; t++) {
			const struct job_worker *worker = part->workers[t];
			if (worker->rc != NB_OK)
				return error_set(worker->rc, "%s", worker->text);
		}
	}
	return NB_OK;
}

/* ---- watching ---- */

static void
open_gate(struct nb_run *run)
{
	struct job_gate *gate = &run->shared->gate;
	if (gate->is_opened_inside || gate->begin != UINT64_MAX ||
		__atomic_load_n(&gate->waiting, __ATOMIC_ACQUIRE) < gate->workers)
		return;
	run_look_begin(run);
	job_gate_open(gate, &run->clock);
}

/** End the groups in the background when the others have ended. */
static void
end_background(const struct nb_run *run)
{
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		for (uint32_t t = 0; part->is_foreground && t < part->plan.threads; t++) {
			if (__atomic_load_n(&part->workers[t]->is_over, __ATOMIC_ACQUIRE) == 0)
				return;
		}
	}
	halt_operations(run);
}

/** Share the stop flag. A signal may have reached only one process, and ends all. */
static void
share_stop(const struct nb_run *run)
{
	int own = __atomic_load_n(&stop_flag, __ATOMIC_RELAXED);
	int all = __atomic_load_n(&run->shared->stop, __ATOMIC_RELAXED);
	if ((own & ~all) != 0)
		__atomic_fetch_or(&run->shared->stop, own, __ATOMIC_RELAXED);
	if ((all & ~own) != 0)
		__atomic_fetch_or(&stop_flag, all, __ATOMIC_RELAXED);
}

void
phase_heed_stop(const struct nb_run *run)
{
	share_stop(run);
	if (stop_requested())
		phase_halt(run);
}

/** While sessions open and close. nb_stop() does not interrupt that. */
static void
watch_sessions(void *arg)
{
	struct nb_run *run = arg;
	struct job_part *part;
	struct job_worker *worker;
	share_stop(run);
	for (uint32_t id = 0; (worker = worker_at(run, id, &part)) != NULL; id++) {
		if (run_watch(run, &worker->heartbeat, false))
			break; /* it hangs or has crashed */
	}
	if (!run->left.is_left)
		return;
	phase_halt(run);
	run_end_left(run, &run->pool);
}

/** During reading back. */
static void
watch_stop(void *arg)
{
	phase_heed_stop(arg);
	watch_sessions(arg);
}

/** A count that shows progress inside an unfinished operation: parts of scans. */
static uint64_t
steps_of(const struct nb_run *run)
{
	uint64_t steps = 0;
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		for (uint32_t t = 0; t < part->plan.threads; t++)
			steps += __atomic_load_n(
				&part->workers[t]->heartbeat.steps, __ATOMIC_RELAXED);
	}
	return steps;
}

/**
 * Release the memory that maps used keys of a file. Otherwise a long run would need more memory
 * than a short one. It costs the workers a TLB shootdown. All shares have the same length and
 * about the same speed.
 */
static void
forget_keys(struct nb_run *run)
{
	const struct job_part *part = run->active[0];
	const struct job_plan *plan = &part->plan;
	const struct keys *file = &run->keys.file;
	uint64_t slowest = UINT64_MAX;
	if (run->keys.format != NB_KEY_FILE || !job_has_shares(plan) || run->active_count > 1)
		return;
	for (uint32_t t = 0; t < plan->threads; t++) {
		uint64_t own = __atomic_load_n(&part->workers[t]->done, __ATOMIC_RELAXED);
		slowest = own < slowest ? own : slowest;
	}
	if ((slowest - run->forgotten) * file->key_size * plan->threads < FORGET_BYTES)
		return;
	for (uint32_t t = 0; t < plan->threads; t++) {
		uint64_t begin = job_share_begin(plan, plan->before + t);
		keys_forget(file, begin + run->forgotten, begin + slowest);
	}
	run->forgotten = slowest;
}

void
phase_watch(struct nb_run *run)
{
	open_gate(run);
	uint64_t done = job_done(run), life = done + steps_of(run);
	uint64_t interval = run->options.report_interval;
	run_tick_load(run, done);
	/* a caller that detects hangs takes it as a sign of life */
	if (interval > 0 && life - run->told_life >= interval) {
		run->told_life = life;
		run_tell(run, done, run->total);
	}
	forget_keys(run);
	if (run->is_measured && job_watch(run, false))
		halt_operations(run);
	end_background(run);
}

/** During operations of threads of this process. */
static void
watch_operations(void *arg)
{
	struct nb_run *run = arg;
	watch_stop(run);
	checkpoints_tick(run);
	if (run->checkpoints.rc != NB_OK)
		phase_halt(run);
	if (run->is_parent)
		phase_watch(run);
}

void
phase_begin(struct nb_run *run, struct system_counts *before)
{
	system_usage(before);
	run->used_ns = clock_monotonic();
	run->has_operated |= run->is_measured;
	if (run->is_parent && run->is_measured)
		job_sample_begin(run);
}

void
phase_end(struct nb_run *run, const struct system_counts *before)
{
	struct system_counts after;
	run->used_ns = clock_monotonic() - run->used_ns;
	if (run->is_parent && run->is_measured) {
		job_watch(run, true);
		job_sample_end(run);
	}
	/*
	 * After the samples, which would count its reads. The usage of child processes is known
	 * only after their end, as a sum.
	 */
	system_usage(&after);
	run->used = system_between(before, &after);
}

/* ---- one process ---- */

/**
 * Whether to take the engine's counters. They cover all phases, without the reading back.
 * Several processes each have the database open. Their counters may be their own or common, so
 * they cannot be added up.
 */
static bool
has_counters(const struct nb_run *run)
{
	return run->is_parent && run->is_measured;
}

static int
read_back(struct nb_run *run)
{
	int rc = has_counters(run) ? run_count_until(run, NB_OK) : NB_OK;
	if (rc != NB_OK)
		return rc;
	if (run->is_parent) {
		run_begin_phase(run, "verify");
		run_tell(run, 0, 0);
	}
	/* The other flag stays set: late processes have not seen it yet. */
	for (size_t p = 0; p < run->active_count; p++)
		run->active[p]->plan.halt = &run->shared->breaks[p];
	worker_pool_do(&run->pool, PHASE_READ_BACK, TICK_NS, watch_stop);
	rc = worker_failure(run);
	if (rc == NB_OK)
		tally_judge(run);
	return rc == NB_OK && has_counters(run) ? run_count_from(run) : rc;
}

/** Whether writes must be read back before the workers close their sessions. */
static bool
is_read_back_now(const struct nb_run *run)
{
	if (run->active[0]->plan.tally_workers > 0)
		return true;
	if (job_is_read_again(run) || (!run->is_measured && run->classic != NULL))
		return false;
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		bool has_writes = run->is_replay || group_writes(run->job, part->group);
		if (part->plan.verify_threshold > 0 && has_writes)
			return true;
	}
	return false;
}

/**
 * Call options.start until it returns the start time. Only before the first measured
 * operations.
 */
static void
ask_start(struct nb_run *run)
{
	struct job_gate *gate = &run->shared->gate;
	struct timespec pause = {.tv_nsec = 1000 * 1000};
	if (run->options.start == NULL || !run->is_measured || run->measured.begun_at_ns > 0)
		return;
	while (!stop_requested() &&
		(gate->start_at_ns = run->options.start(run->options.start_arg)) == 0) {
		nanosleep(&pause, NULL);
		run_tell(run, 0, 0);
	}
}

/**
 * Wait until shortly before the start time of the operations. The pool's threads sleep
 * meanwhile. If the user chose the time, being late is a failure: the other parts of the run
 * have begun.
 */
static int
await_start(struct nb_run *run)
{
	enum { LEAD_NS = 20 * 1000 * 1000, PIECE_NS = 50 * 1000 * 1000 };
	ask_start(run);
	uint64_t start = run->shared->gate.start_at_ns, now = clock_real_ns();
	if (start == 0)
		return NB_OK;
	if (start < now && run->options.start == NULL)
		return error_set(NB_FAIL,
			"start-at: that moment was %.1f s before all threads were ready; choose a later one",
			(double)(now - start) / 1e9);
	while (start > now + LEAD_NS && !stop_requested()) {
		uint64_t left = start - now - LEAD_NS;
		struct timespec pause = {.tv_nsec = (long)(left < PIECE_NS ? left : PIECE_NS)};
		nanosleep(&pause, NULL);
		run_tell(run, 0, 0); /* a sign of life */
		now = clock_real_ns();
	}
	return NB_OK;
}

/** Run the operations, and read back if that is required now. Sessions are open. */
static int
operate_all(struct nb_run *run)
{
	struct system_counts before;
	struct job_part *part;
	struct job_worker *worker;
	int rc = await_start(run);
	if (rc == NB_OK && has_counters(run))
		rc = run_count_from(run);
	if (has_counters(run))
		run_look_begin(run);
	if (rc != NB_OK)
		return rc;
	phase_begin(run, &before);
	checkpoints_begin(run);
	worker_pool_do(&run->pool, PHASE_OPERATE, TICK_NS, watch_operations);
	int ended = checkpoints_end(run);
	/* workers that do not reach their end */
	for (uint32_t id = 0; run->left.is_left && (worker = worker_at(run, id, &part)) != NULL;
		id++)
		job_worker_take_over(worker);
	phase_end(run, &before);
	rc = ended == NB_OK ? worker_failure(run) : ended;
	if (rc == NB_OK && !stop_requested())
		rc = isolation_judge(run);
	run->was_cut = rc != NB_OK;
	return rc == NB_OK && !stop_requested() && is_read_back_now(run) ? read_back(run) : rc;
}

static int
read_back_only(struct nb_run *run)
{
	worker_pool_do(&run->pool, PHASE_READ_BACK, TICK_NS, watch_stop);
	return worker_failure(run);
}

/** Start the workers of run->process, open their sessions, call `act`, and end them. */
static int
with_workers(struct nb_run *run, int (*act)(struct nb_run *run))
{
	tally_plan(run, act == operate_all);
	struct worker_pool *pool = &run->pool;
	int rc = worker_pool_create(pool, job_threads(run), work, run);
	if (rc != NB_OK)
		return rc;
	if (run->engine->table.tick != NULL)
		pool->idle = idle;
	worker_pool_do(pool, PHASE_ENTER, TICK_NS, watch_sessions);
	rc = worker_failure(run);
	if (rc == NB_OK)
		rc = act(run);
	if (!run->left.is_left)
		worker_pool_do(pool, PHASE_LEAVE, TICK_NS, watch_sessions);
	return run_end_crew(run, pool, rc == NB_OK ? worker_failure(run) : rc);
}

int
phase_run_threads(struct nb_run *run)
{
	return with_workers(run, operate_all);
}

int
phase_read_back(struct nb_run *run)
{
	return with_workers(run, read_back_only);
}
