/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The workers of a phase: each opens its session, waits at the gate, does its operations,
 * and closes; the main thread watches meanwhile. They read back before they close, or in
 * sessions of the database as it was opened again.
 *
 * With several processes each has the database open, and its own part of each group's
 * threads; workers are in memory that all share, so that the parent watches and sums up as
 * if they were its own threads.
 *
 * The moment of the begin is set when the last worker is ready, a little ahead, so that
 * none is late for it: a due time counts from there.
 */
#include "run/squad.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "run/fault.h"

enum {
	TICK_NS = 20 * 1000 * 1000,
	FORGET_BYTES = 8 << 20,
	LEFT_S = 3, /* for the other processes to end when one was killed */
	STOPPED_S =
		75,   /* for all after nb_stop(); each has its own limits, which are below it */
	URGENT_S = 1, /* after nb_stop_waiting() */
};

enum { PHASE_ENTER, PHASE_OPERATE, PHASE_READ_BACK, PHASE_LEAVE };

/* ---- workers ---- */

uint32_t
job_threads(const struct nb_run *run)
{
	uint32_t threads = 0;
	for (size_t p = 0; p < run->active_count; p++)
		threads += run->active[p]->group->threads;
	return threads;
}

/** Worker `id` of a process. */
static struct job_worker *
worker_at(const struct squad *squad, uint32_t id, struct job_part **part)
{
	const struct nb_run *run = squad->run;
	for (size_t p = 0; p < run->active_count; p++) {
		uint32_t threads = run->active[p]->group->threads;
		if (id < threads) {
			*part = run->active[p];
			return (*part)->workers[squad->process * threads + id];
		}
		id -= threads;
	}
	return NULL;
}

/** End the operations of all groups. What they have written is still read back. */
static void
halt_operations(const struct squad *squad)
{
	for (size_t p = 0; p < squad->run->active_count; p++)
		__atomic_store_n(&squad->shared->halts[p], 1, __ATOMIC_RELAXED);
}

/** End all that workers do, of all processes: they may be at different phases. */
static void
halt_all(const struct squad *squad)
{
	halt_operations(squad);
	for (size_t p = 0; p < squad->run->active_count; p++)
		__atomic_store_n(&squad->shared->breaks[p], 1, __ATOMIC_RELAXED);
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
	post_enter(&worker->post, "session_open");
	int rc = engine->session_open(&worker->session, run->db, id);
	post_leave(&worker->post);
	if (rc == NB_OK && worker->session == NULL)
		rc = error_set(NB_FAIL, "gave no session");
	if (rc == NB_OK)
		return NB_OK;
	worker->session = NULL;
	return run_engine_failure(run, rc, "session_open");
}

static void
enter(struct squad *squad, struct job_part *part, struct job_worker *worker, uint32_t id)
{
	struct nb_run *run = squad->run;
	uint32_t nth = squad->process * job_threads(run) + id;
	int rc = NB_OK;
	if (part->group->cpus != NULL)
		rc = run_pin_to(part->group->cpus, worker->thread);
	else if ((run->options.flags & NB_RUN_PIN) != 0)
		rc = run_pin(nth);
	if (rc == NB_OK)
		rc = job_worker_enter(worker);
	if (rc == NB_OK)
		rc = open_session(run, worker, id);
	if (rc != NB_OK)
		keep_failure(worker, rc);
}

static void
leave(struct squad *squad, struct job_worker *worker)
{
	struct nb_run *run = squad->run;
	job_worker_leave(worker);
	if (worker->session == NULL)
		return; /* it was never opened */
	run_forget_text();
	post_enter(&worker->post, "session_close");
	int rc = run->engine->table.session_close(worker->session);
	post_leave(&worker->post);
	worker->session = NULL;
	if (rc != NB_OK && worker->rc == NB_OK)
		keep_failure(worker, run_engine_failure(run, rc, "session_close"));
}

static void
work(void *arg, uint32_t id, int phase)
{
	struct squad *squad = arg;
	struct job_part *part = NULL;
	struct job_worker *worker = worker_at(squad, id, &part);
	if (phase == PHASE_ENTER)
		enter(squad, part, worker, id);
	else if (worker->session != NULL && phase == PHASE_OPERATE)
		job_worker_run(worker);
	else if (worker->session != NULL && phase == PHASE_READ_BACK)
		job_worker_read_back(worker);
	else if (phase == PHASE_LEAVE)
		leave(squad, worker);
	if (worker->rc != NB_OK && phase != PHASE_LEAVE)
		halt_all(squad); /* one has failed: the others need not go on */
}

static int
worker_failure(const struct squad *squad)
{
	const struct nb_run *run = squad->run;
	if (run->left.is_left)
		return run_left_failure(run);
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		for (uint32_t t = 0; t < part->plan.threads; t++) {
			if (part->workers[t]->rc != NB_OK)
				return error_set(
					part->workers[t]->rc, "%s", part->workers[t]->text);
		}
	}
	return NB_OK;
}

/* ---- watching ---- */

static void
open_gate(const struct squad *squad)
{
	struct job_gate *gate = &squad->shared->gate;
	const struct nb_run *run = squad->run;
	if (gate->is_opened_inside || gate->begin != UINT64_MAX ||
		__atomic_load_n(&gate->waiting, __ATOMIC_ACQUIRE) < gate->workers)
		return;
	run_look_begin(squad->run);
	job_gate_open(gate, &run->clock);
}

/** Groups in the background go on until the others are done. */
static void
end_background(const struct squad *squad)
{
	const struct nb_run *run = squad->run;
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		for (uint32_t t = 0; part->is_foreground && t < part->plan.threads; t++) {
			if (__atomic_load_n(&part->workers[t]->is_over, __ATOMIC_ACQUIRE) == 0)
				return;
		}
	}
	halt_operations(squad);
}

/** A signal may have come to one process only, and ends all. */
static void
share_stop(const struct squad *squad)
{
	int own = __atomic_load_n(&stop_flag, __ATOMIC_RELAXED);
	int all = __atomic_load_n(&squad->shared->stop, __ATOMIC_RELAXED);
	if ((own & ~all) != 0)
		__atomic_fetch_or(&squad->shared->stop, own, __ATOMIC_RELAXED);
	if ((all & ~own) != 0)
		__atomic_fetch_or(&stop_flag, all, __ATOMIC_RELAXED);
}

/** Whether a worker of this process does not come back, or has crashed. */
static void
watch_posts(struct squad *squad)
{
	struct nb_run *run = squad->run;
	struct job_part *part;
	struct job_worker *worker;
	for (uint32_t id = 0; (worker = worker_at(squad, id, &part)) != NULL; id++) {
		if (run_watch(run, &worker->post, false))
			break;
	}
	if (!run->left.is_left)
		return;
	halt_all(squad);
	run_end_left(run, &run->crew);
}

/** While data is read back, or sessions are opened and closed. */
static void
watch_stop(void *arg)
{
	share_stop(arg);
	if (stop_requested())
		halt_all(arg);
	watch_posts(arg);
}

/** Opening and closing sessions is not cut short. */
static void
watch_sessions(void *arg)
{
	share_stop(arg);
	watch_posts(arg);
}

/** What the workers of this process have counted, which do not come to their end. */
static void
take_workers_over(struct squad *squad)
{
	struct job_part *part;
	struct job_worker *worker;
	for (uint32_t id = 0; (worker = worker_at(squad, id, &part)) != NULL; id++)
		job_worker_take_over(worker);
}

/** What shows that an operation goes on which is not done: parts of scans. */
static uint64_t
steps_of(const struct nb_run *run)
{
	uint64_t steps = 0;
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		for (uint32_t t = 0; t < part->plan.threads; t++)
			steps += __atomic_load_n(
				&part->workers[t]->post.steps, __ATOMIC_RELAXED);
	}
	return steps;
}

/**
 * Let go of the memory that maps keys of a file which will not be used again, so that a long
 * run needs no more than a short one. That costs the workers a TLB shootdown. All shares are
 * as long and are gone through at much the same speed.
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
		uint64_t begin = job_share_begin(plan, t);
		keys_forget(file, begin + run->forgotten, begin + slowest);
	}
	run->forgotten = slowest;
}

static void
watch(void *arg)
{
	struct squad *squad = arg;
	share_stop(squad);
	if (stop_requested())
		halt_all(squad);
	if (squad->has_workers)
		watch_posts(squad);
	if (!squad->is_parent)
		return;
	open_gate(squad);
	uint64_t done = job_done(squad->run), life = done + steps_of(squad->run);
	run_tick_load(squad->run, done);
	uint64_t interval = squad->run->options.report_interval;
	/* whoever looks for hangs takes it for life */
	if (interval > 0 && life - squad->told_life >= interval) {
		squad->told_life = life;
		run_tell(squad->run, done, squad->total);
	}
	forget_keys(squad->run);
	if (squad->is_told && job_watch(squad->run, false))
		halt_operations(squad);
	end_background(squad);
}

/* ---- one process ---- */

/**
 * Of all phases together the engine's counters are taken, but for what is read back. Each of
 * several processes has the database open for itself: what its engine then counts may be its
 * own or that of all, and cannot be summed up.
 */
static bool
is_counted(const struct squad *squad)
{
	return squad->is_parent && squad->is_told;
}

static int
read_back(struct squad *squad, struct crew *crew)
{
	struct nb_run *run = squad->run;
	int rc = is_counted(squad) ? run_count_until(run, NB_OK) : NB_OK;
	if (rc != NB_OK)
		return rc;
	if (squad->is_parent) {
		run_begin_phase(run, "verify");
		run_tell(run, 0, 0);
	}
	/* The other one stays: processes that are behind have yet to see it. */
	for (size_t p = 0; p < run->active_count; p++)
		run->active[p]->plan.halt = &squad->shared->breaks[p];
	crew_do(crew, PHASE_READ_BACK, TICK_NS, watch_stop);
	rc = worker_failure(squad);
	return rc == NB_OK && is_counted(squad) ? run_count_from(run) : rc;
}

static int
leave_sessions(const struct squad *squad, struct crew *crew, int rc)
{
	if (!squad->run->left.is_left)
		crew_do(crew, PHASE_LEAVE, TICK_NS, watch_sessions);
	return rc == NB_OK ? worker_failure(squad) : rc;
}

/** Whether what its workers write has to be read back before they close their sessions. */
static bool
is_read_back_now(const struct squad *squad)
{
	const struct nb_run *run = squad->run;
	bool is_measured = squad->is_told || run->classic == NULL;
	if (job_is_read_again(run) || !is_measured)
		return false;
	for (size_t p = 0; p < run->active_count; p++) {
		const struct job_part *part = run->active[p];
		bool has_writes = run->is_replay || group_writes(part->group);
		if (part->plan.verify_threshold > 0 && has_writes)
			return true;
	}
	return false;
}

static int
go_through_phases(struct squad *squad, struct crew *crew)
{
	struct nb_run *run = squad->run;
	struct sysinfo_usage before, after;
	crew_do(crew, PHASE_ENTER, TICK_NS, watch_sessions);
	int rc = worker_failure(squad);
	if (rc == NB_OK && is_counted(squad)) {
		rc = run_count_from(run);
		run_look_begin(run);
	}
	if (rc == NB_OK) {
		sysinfo_usage(&before);
		run->used_ns = clock_monotonic();
		run->has_operated |= squad->is_told;
		if (squad->is_parent && squad->is_told)
			job_sample_begin(run);
		crew_do(crew, PHASE_OPERATE, TICK_NS, watch);
		if (run->left.is_left)
			take_workers_over(squad);
		run->used_ns = clock_monotonic() - run->used_ns;
		if (squad->is_parent && squad->is_told) {
			job_watch(run, true);
			job_sample_end(run);
		}
		sysinfo_usage(&after); /* behind the samples, which would count what it reads */
		run->used = sysinfo_usage_between(&before, &after);
		rc = worker_failure(squad);
		run->was_cut = rc != NB_OK;
	}
	if (rc == NB_OK && !stop_requested() && is_read_back_now(squad))
		rc = read_back(squad, crew);
	return leave_sessions(squad, crew, rc);
}

int
squad_run_threads(struct squad *squad)
{
	struct crew *crew = &squad->run->crew;
	int rc = crew_create(crew, job_threads(squad->run), work, squad);
	if (rc != NB_OK)
		return rc;
	squad->has_workers = true;
	rc = go_through_phases(squad, crew);
	squad->has_workers = false;
	return run_end_crew(squad->run, crew, rc);
}

int
squad_read_back(struct squad *squad)
{
	struct crew *crew = &squad->run->crew;
	int rc = crew_create(crew, job_threads(squad->run), work, squad);
	if (rc != NB_OK)
		return rc;
	crew_do(crew, PHASE_ENTER, TICK_NS, watch_sessions);
	rc = worker_failure(squad);
	if (rc == NB_OK)
		crew_do(crew, PHASE_READ_BACK, TICK_NS, watch_stop);
	if (rc == NB_OK)
		rc = worker_failure(squad);
	rc = leave_sessions(squad, crew, rc);
	return run_end_crew(squad->run, crew, rc);
}

/* ---- several processes ---- */

static _Noreturn void
be_child(struct squad *squad)
{
	struct nb_run *run = squad->run;
	struct ending *ending = &squad->shared->endings[squad->process];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fault_begin();
	squad->is_parent = false;
	run->options.progress = NULL;
	int rc = run_open_database(run);
	if (rc == NB_OK) {
		rc = squad_run_threads(squad);
		rc = run_close_database(run, rc);
	}
	ending->rc = rc;
	ending->is_there = true;
	if (rc != NB_OK) {
		snprintf(ending->text, sizeof(ending->text), "%s", nb_error_text());
		ending->is_left = run->left.is_left;
		halt_all(squad);
	}
	int number;
	if (nb_run_left(&number) && number != 0) {
		signal(number, SIG_DFL);
		raise(number);
	}
	_exit(0);
}

/** When processes that have not ended are killed. */
struct limit {
	uint64_t at_ns; /* UINT64_MAX: there is none */
	int seconds;
	const char *why;
	bool is_over;
};

/**
 * One that is killed may leave what the others wait for, without an end: the lock of a page,
 * a mutex in shared memory. The database is then for the next open to recover.
 */
static void
kill_left(const pid_t *pids, const bool *is_gone, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!is_gone[i])
			kill(pids[i], SIGKILL);
	}
}

/** They have to end within `seconds`; the first such word holds, and an earlier moment. */
static void
set_limit(struct limit *limit, int seconds, const char *why)
{
	uint64_t at_ns = clock_monotonic() + (uint64_t)seconds * UINT64_C(1000000000);
	if (at_ns < limit->at_ns)
		*limit = (struct limit){.at_ns = at_ns, .seconds = seconds, .why = why};
}

/** Kill those that are left when their time is up. */
static void
hold_limit(struct limit *limit, const pid_t *pids, const bool *is_gone, uint32_t count)
{
	if (stop_waiting_requested())
		set_limit(limit, URGENT_S, "the run was interrupted");
	else if (stop_requested() && limit->at_ns == UINT64_MAX)
		set_limit(limit, STOPPED_S, "the run was interrupted");
	if (limit->is_over || clock_monotonic() < limit->at_ns)
		return;
	kill_left(pids, is_gone, count);
	limit->is_over = true;
	log_message(NB_LOG_WARNING,
		"the processes that are left did not end within %d s and were killed: %s",
		limit->seconds, limit->why);
}

static int
ending_of(const struct squad *squad, uint32_t process, int status)
{
	const struct ending *ending = &squad->shared->endings[process];
	char name[PROCESS_SIGNAL_SIZE];
	if (WIFSIGNALED(status) && ending->rc == NB_OK)
		return error_set(NB_FAIL, "process %u was ended by %s", process,
			process_signal_name(WTERMSIG(status), name));
	if (!ending->is_there)
		return error_set(NB_FAIL,
			"process %u was ended with status %d, not by mininb: an engine must not do that",
			process, WEXITSTATUS(status));
	if (ending->rc != NB_OK)
		return error_set(ending->rc, "process %u: %s", process, ending->text);
	return NB_OK;
}

static int
await_children(struct squad *squad, const pid_t *pids, uint32_t count)
{
	uint32_t left = count;
	int rc = NB_OK;
	bool is_gone[256] = {false};
	struct limit limit = {.at_ns = UINT64_MAX};
	while (left > 0) {
		watch(squad);
		for (uint32_t i = 0; i < count; i++) {
			int status;
			if (is_gone[i] || waitpid(pids[i], &status, WNOHANG) != pids[i])
				continue;
			is_gone[i] = true;
			left--;
			bool is_bad = WIFSIGNALED(status) || squad->shared->endings[i].is_left;
			if (is_bad)
				set_limit(&limit, LEFT_S,
					"they may have waited for what the one that died held");
			if (rc == NB_OK)
				rc = ending_of(squad, i, status);
			if (rc != NB_OK)
				halt_all(squad);
		}
		if (left > 0)
			hold_limit(&limit, pids, is_gone, count);
		usleep(TICK_NS / 4 / 1000);
	}
	job_watch(squad->run, true);
	squad->run->was_cut = rc != NB_OK;
	return rc;
}

int
squad_run_processes(struct squad *squad)
{
	uint32_t count = squad->run->options.procs, started = 0;
	pid_t pids[256];
	struct sysinfo_usage before, after;
	int rc = NB_OK;
	fflush(NULL);
	sysinfo_usage(&before);
	squad->run->used_ns = clock_monotonic();
	job_sample_begin(squad->run);
	for (; started < count; started++) {
		squad->process = started;
		pids[started] = fork();
		if (pids[started] == 0)
			be_child(squad);
		if (pids[started] < 0) {
			rc = error_system(
				"process %u of %u cannot be started", started + 1, count);
			halt_all(squad);
			break;
		}
	}
	int ended = await_children(squad, pids, started);
	squad->run->used_ns = clock_monotonic() - squad->run->used_ns;
	job_sample_end(squad->run);
	sysinfo_usage(&after); /* of processes it is known when they have ended, all in all */
	squad->run->used = sysinfo_usage_between(&before, &after);
	return rc == NB_OK ? ended : rc;
}
