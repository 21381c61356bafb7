/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kills a process at a counted moment: after a number of entries and exits of system calls
 * from the place where it meets its parent, and then a number of instructions. A timer
 * never hits the same instruction twice. A count does if the process depends only on its
 * input; then the seed alone repeats a finding.
 *
 * The parent traces the child by ptrace(2). It attaches while the child waits, at any
 * instruction of a loop. Then the child raises SIGTRAP, always at the same instruction, and
 * the count begins. Only the writing thread is traced. Threads of the engine continue at
 * their own speed, so their effects may not repeat.
 *
 * A string instruction is one step for each item, so a value that is copied into a mapped
 * file may be present in part. This does not happen inside a system call: the kernel
 * completes its copy into the page cache before it handles SIGKILL.
 */
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "crash/crash.h"

enum { LOOK_US = 100 };

/* ---- the child ---- */

bool
crash_step_meet(struct crash_progress *board)
{
	__atomic_store_n(&board->meeting, CRASH_MEETS, __ATOMIC_RELEASE);
	uint32_t meeting;
	while ((meeting = __atomic_load_n(&board->meeting, __ATOMIC_ACQUIRE)) == CRASH_MEETS)
		usleep(LOOK_US);
	if (meeting == CRASH_ALONE)
		return false;
	raise(SIGTRAP); /* the parent does not deliver it */
	return true;
}

void
crash_step_out(const struct crash_progress *board)
{
	if (__atomic_load_n(&board->meeting, __ATOMIC_ACQUIRE) == CRASH_FOLLOWED)
		raise(SIGTRAP);
}

/* ---- the parent ---- */

/** A traced process. */
struct step {
	pid_t pid;
	int status; /* of its latest stop, or its end */
	bool is_over;
	bool is_stopped; /* nb_stop() was called */
};

/**
 * Run it to its next stop. `how` is PTRACE_CONT, PTRACE_SYSCALL or PTRACE_SINGLESTEP;
 * `signal` is the signal that stopped it and is delivered now, or 0.
 */
static void
go_on(struct step *step, enum __ptrace_request how, int signal)
{
	step->is_stopped = stop_requested();
	if (step->is_stopped || step->is_over)
		return;
	ptrace(how, step->pid, NULL, (void *)(intptr_t)signal);
	/* If it never stops, its own timer kills it. */
	pid_t seen;
	while ((seen = waitpid(step->pid, &step->status, __WALL)) < 0 && errno == EINTR &&
		!stop_requested())
		continue;
	step->is_stopped = seen < 0;
	step->is_over = seen == step->pid && !WIFSTOPPED(step->status);
}

static bool
goes_on(const struct step *step)
{
	return !step->is_over && !step->is_stopped;
}

/** The signal that stopped it and must be delivered; 0: none. */
static int
signal_of(const struct step *step)
{
	int signal = WSTOPSIG(step->status);
	bool is_event = step->status >> 16 != 0;
	return is_event || signal == SIGTRAP || signal == (SIGTRAP | 0x80) ? 0 : signal;
}

/** Run it to the SIGTRAP that it raises at the place. */
static void
follow_to_begin(struct step *step)
{
	int signal = 0;
	do {
		go_on(step, PTRACE_CONT, signal);
		signal = goes_on(step) ? signal_of(step) : 0;
	} while (goes_on(step) &&
		(WSTOPSIG(step->status) != SIGTRAP || step->status >> 16 != 0));
}

/** Count entries and exits of system calls, at most until it raises SIGTRAP. */
static void
follow_calls(struct step *step, uint32_t stops)
{
	int signal = 0;
	while (stops > 0 && goes_on(step)) {
		go_on(step, PTRACE_SYSCALL, signal);
		if (!goes_on(step) || WSTOPSIG(step->status) == SIGTRAP)
			return;
		signal = signal_of(step);
		stops -= signal == 0;
	}
}

static void
follow_steps(struct step *step, uint32_t steps)
{
	int signal = 0;
	while (steps > 0 && goes_on(step)) {
		go_on(step, PTRACE_SINGLESTEP, signal);
		signal = goes_on(step) ? signal_of(step) : 0;
		steps -= signal == 0;
	}
}

/** Count, and then kill the attached child. */
static int
follow(pid_t pid, int *status, const struct crash_end *end, bool *is_counted)
{
	struct step step = {.pid = pid};
	follow_to_begin(&step);
	follow_calls(&step, end->stops);
	follow_steps(&step, end->steps);
	*status = step.status;
	*is_counted = !step.is_stopped && !(step.is_over && WIFSIGNALED(step.status));
	if (step.is_stopped) /* the caller kills it */
		return PROCESS_STOPPED;
	if (!step.is_over)
		process_kill(pid, status);
	return PROCESS_ENDED;
}

int
crash_step_await(pid_t pid, int *status, struct crash_progress *board, uint64_t timeout_ns,
	bool *is_counted)
{
	uint64_t begin = clock_monotonic();
	*is_counted = false;
	while (__atomic_load_n(&board->meeting, __ATOMIC_ACQUIRE) != CRASH_MEETS) {
		int how = process_await(pid, status, 0);
		if (how != PROCESS_LATE || clock_monotonic() - begin > timeout_ns)
			return how;
		usleep(LOOK_US);
	}
	bool is_held = ptrace(PTRACE_SEIZE, pid, NULL,
			       (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) == 0;
	/*
	 * If this process was stopped meanwhile, for example by ^Z, the child's timer may
	 * have killed it.
	 */
	if (!is_held && process_await(pid, status, 0) == PROCESS_ENDED)
		return PROCESS_ENDED;
	__atomic_store_n(
		&board->meeting, is_held ? CRASH_FOLLOWED : CRASH_ALONE, __ATOMIC_RELEASE);
	return is_held ? follow(pid, status, &board->end, is_counted)
		       : process_await(pid, status, timeout_ns);
}
