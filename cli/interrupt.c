/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to stop.
 *
 * The first ends a run at its next operation, and its engine is closed. After the second a run
 * waits for its engine no more: it writes what it has measured. HOLD_S later the process dies of
 * the signal, should the thread that writes be stuck. SIGHUP and SIGXCPU are never a second
 * request: the kernel repeats them by itself.
 *
 * One request may arrive twice: timeout(1) signals the process and its group, a terminal signals
 * a process and its parent, which passes the signal on. So a repetition within ONE_REQUEST_NS is
 * the same request, and what the parent sends is counted apart from all others.
 *
 * A process whose limit of CPU time is soft and hard at once, as `ulimit -t` sets it, is killed
 * there without any warning. The soft one is moved a second before it.
 */
#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <mininb/mininb.h>

enum { ONE_REQUEST_NS = 250 * 1000 * 1000, HOLD_S = 5, CHILD_HOLD_S = 2 };

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
enum { STOP_SIGNAL_COUNT = sizeof(stop_signals) / sizeof(stop_signals[0]) };

/* Written by the handler, which no other interrupts. */
static struct {
	int64_t last_ns;
	int count;
} senders[2];
static volatile sig_atomic_t requests; /* 0 to 2 */
static volatile sig_atomic_t last_signal;
static volatile sig_atomic_t is_held;

static int64_t
now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** The process dies of it as soon as the handler returns. */
static void
die_of(int number)
{
	signal(number, SIG_DFL);
	raise(number);
}

static void
on_time_over(int number)
{
	(void)number;
	die_of(last_signal);
}

static void
begin_end(void)
{
	struct sigaction over = {.sa_handler = on_time_over};
	sigfillset(&over.sa_mask);
	requests = 2;
	if (!is_held) {
		die_of(last_signal);
		return;
	}
	nb_stop_waiting();
	sigaction(SIGALRM, &over, NULL);
	alarm(HOLD_S);
}

static void
on_stop_signal(int number, siginfo_t *info, void *context)
{
	bool is_parents = info->si_code == SI_USER && info->si_pid == getppid();
	bool is_repeated = number == SIGHUP || number == SIGXCPU;
	int64_t at_ns = now_ns();
	int cause = errno;
	(void)context;
	last_signal = number;
	if (requests == 0) {
		requests = 1;
		nb_stop();
	}
	if (senders[is_parents].count == 0 ||
		(!is_repeated && at_ns - senders[is_parents].last_ns > ONE_REQUEST_NS)) {
		senders[is_parents].count++;
		senders[is_parents].last_ns = at_ns;
	}
	if (requests == 1 && senders[is_parents].count > 1)
		begin_end();
	errno = cause;
}

static void
move_cpu_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_max == RLIM_INFINITY ||
		limit.rlim_cur < limit.rlim_max || limit.rlim_max < 2)
		return;
	limit.rlim_cur = limit.rlim_max - 1;
	(void)setrlimit(RLIMIT_CPU, &limit);
}

void
interrupt_catch(void)
{
	/* SA_RESTART: an engine's system call must not fail because the user is impatient. */
	struct sigaction action = {
		.sa_sigaction = on_stop_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
	struct sigaction old;
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < STOP_SIGNAL_COUNT; i++)
		sigaddset(&action.sa_mask, stop_signals[i]);
	for (int i = 0; i < STOP_SIGNAL_COUNT; i++) {
		/* One that was ignored from the start (nohup, a job behind '&') stays so. */
		if (sigaction(stop_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(stop_signals[i], &action, NULL);
	}
	move_cpu_limit();
}

void
interrupt_hold(void)
{
	is_held = 1;
}

const char *
interrupt_reason(void)
{
	return last_signal == SIGXCPU ? ": the limit of CPU time (ulimit -t) is reached" : "";
}

void
interrupt_pass_on(struct interrupt_passed *passed, pid_t child)
{
	/* again and again after the second, which the child may take for the first repeated */
	if (requests > passed->requests || requests == 2)
		kill(child, SIGTERM); /* SIGINT is ignored behind a shell's '&' */
	if (requests == 2 && passed->requests < 2)
		passed->second_ns = now_ns();
	passed->requests = requests;
	if (requests == 2 && now_ns() - passed->second_ns > CHILD_HOLD_S * INT64_C(1000000000))
		kill(child, SIGKILL);
}
