/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A phase in several processes. Each has the database open and runs its part of each group's
 * threads. Workers are in memory that all processes share. So the parent watches them and sums
 * up as if they were its own threads.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "run/fault.h"
#include "run/run_phase.h"

enum {
	LEFT_S = 3,     /* for the other processes to end after one was killed */
	STOPPED_S = 75, /* for all after nb_stop(); longer than each process's own limits */
	URGENT_S = 1,   /* after nb_stop_waiting() */
};

static _Noreturn void
be_child(struct nb_run *run)
{
	struct ending *ending = &run->shared->endings[run->process];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fault_begin();
	run->is_parent = false;
	run->options.progress = NULL;
	int rc = run_open_database(run);
	if (rc == NB_OK)
		rc = run_close_database(run, phase_run_threads(run));
	ending->rc = rc;
	ending->is_there = true;
	if (rc != NB_OK) {
		snprintf(ending->text, sizeof(ending->text), "%s", nb_error_text());
		ending->is_left = run->left.is_left;
		phase_halt(run);
	}
	int number;
	if (nb_run_left(&number) && number != 0) {
		signal(number, SIG_DFL);
		raise(number);
	}
	_exit(0);
}

/** Child processes, and the time at which the remaining ones are killed. */
struct children {
	pid_t pids[RUN_PROCS_MAX]; /* 0: it has ended */
	uint32_t count, left;
	uint64_t limit_ns; /* UINT64_MAX: none */
	int limit_s;
	const char *why;
};

/** Require that they end within `seconds`. Only an earlier limit replaces an existing one. */
static void
set_limit(struct children *children, int seconds, const char *why)
{
	uint64_t at_ns = clock_monotonic() + (uint64_t)seconds * UINT64_C(1000000000);
	if (at_ns >= children->limit_ns)
		return;
	children->limit_ns = at_ns;
	children->limit_s = seconds;
	children->why = why;
}

/**
 * Kill the remaining processes after their time limit. Their locks may remain for ever: the
 * lock of a page, a mutex in shared memory. The next open has to recover that.
 */
static void
hold_limit(struct children *children)
{
	if (stop_waiting_requested())
		set_limit(children, URGENT_S, "the run was interrupted");
	else if (stop_requested() && children->limit_ns == UINT64_MAX)
		set_limit(children, STOPPED_S, "the run was interrupted");
	if (children->limit_s == 0 || clock_monotonic() < children->limit_ns)
		return;
	for (uint32_t i = 0; i < children->count; i++) {
		if (children->pids[i] != 0)
			kill(children->pids[i], SIGKILL);
	}
	log_message(NB_LOG_WARNING,
		"mininb killed the remaining processes, which did not end within %d s: %s",
		children->limit_s, children->why);
	children->limit_s = children->limit_ns = 0; /* only once */
}

static int
ending_of(const struct nb_run *run, uint32_t process, int status)
{
	const struct ending *ending = &run->shared->endings[process];
	char name[PROCESS_SIGNAL_SIZE];
	if (WIFSIGNALED(status) && ending->rc == NB_OK)
		return error_set(NB_FAIL, "process %u was ended by %s", process,
			process_signal_name(WTERMSIG(status), name));
	if (!ending->is_there)
		return error_set(NB_FAIL,
			"process %u was ended with status %d, not by mininb; an engine must not end the process",
			process, WEXITSTATUS(status));
	if (ending->rc != NB_OK)
		return error_set(ending->rc, "process %u: %s", process, ending->text);
	return NB_OK;
}

static int
await_children(struct nb_run *run, struct children *children)
{
	int rc = NB_OK;
	while (children->left > 0) {
		phase_heed_stop(run);
		phase_watch(run);
		for (uint32_t i = 0; i < children->count; i++) {
			pid_t pid = children->pids[i];
			int status;
			if (pid == 0 || waitpid(pid, &status, WNOHANG) != pid)
				continue;
			children->pids[i] = 0;
			children->left--;
			if (WIFSIGNALED(status) || run->shared->endings[i].is_left)
				set_limit(children, LEFT_S,
					"they may have waited for a lock of the process that died");
			if (rc == NB_OK)
				rc = ending_of(run, i, status);
			if (rc != NB_OK)
				phase_halt(run);
		}
		if (children->left > 0)
			hold_limit(children);
		usleep(TICK_NS / 4 / 1000);
	}
	return rc;
}

int
phase_run_processes(struct nb_run *run)
{
	uint32_t count = run->options.procs;
	struct children children = {.limit_ns = UINT64_MAX};
	struct system_counts before;
	int rc = NB_OK;
	fflush(NULL);
	phase_begin(run, &before);
	while (children.count < count && rc == NB_OK) {
		run->process = children.count;
		pid_t pid = fork();
		if (pid == 0)
			be_child(run);
		if (pid > 0) {
			children.pids[children.count++] = pid;
			continue;
		}
		rc = error_system(
			"process %u of %u cannot be started", children.count + 1, count);
		phase_halt(run);
	}
	children.left = children.count;
	int ended = await_children(run, &children);
	run->was_cut = ended != NB_OK;
	phase_end(run, &before);
	return rc == NB_OK ? ended : rc;
}
