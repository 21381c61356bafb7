/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to stop.
 *
 * The first request ends a run at its next operation and closes its engine. After the second a
 * run no longer waits for its engine: it writes its measurements. HOLD_S later the signal ends
 * the process, if the writing thread is stuck. SIGHUP and SIGXCPU never count as a second
 * request, because the kernel repeats them.
 *
 * One request may arrive twice: timeout(1) signals the process and its group; a terminal
 * signals a process and its parent, which forwards the signal. So a repetition within
 * ONE_REQUEST_NS is the same request, and signals of the parent are counted separately.
 *
 * If the soft limit of CPU time equals the hard limit, as `ulimit -t` sets it, the kernel kills
 * the process without a warning. mininb lowers the soft limit by one second.
 */
#include "interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "clock.h"

enum { ONE_REQUEST_NS = 250 * 1000 * 1000, HOLD_S = 5, STOP_LOOK_MS = 100 };
#define CHILD_HOLD_NS UINT64_C(2000000000)

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
enum { STOP_SIGNAL_COUNT = sizeof(stop_signals) / sizeof(stop_signals[0]) };

/* Only the handler writes it, and no other handler interrupts it. */
static struct {
	int64_t last_ns;
	int count;
} senders[2];
static volatile sig_atomic_t requests; /* 0 to 2 */
static volatile sig_atomic_t last_signal;
static volatile sig_atomic_t is_held;

/** The signal ends the process when the handler returns. */
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
	int64_t at_ns = (int64_t)clock_now_ns();
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
	/* SA_RESTART: a request to stop must not make an engine's system call fail. */
	struct sigaction action = {
		.sa_sigaction = on_stop_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
	struct sigaction old;
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < STOP_SIGNAL_COUNT; i++)
		sigaddset(&action.sa_mask, stop_signals[i]);
	for (int i = 0; i < STOP_SIGNAL_COUNT; i++) {
		/*
		 * A signal that was ignored from the start (nohup, a background job) stays
		 * ignored.
		 */
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

/** The requests that were sent to a child. */
struct passed {
	int requests;
	uint64_t second_ns; /* time of the second request */
};

static void
pass_on(struct passed *passed, pid_t child)
{
	/*
	 * Repeated after the second request, because the child may have ignored it as a copy of
	 * the first.
	 */
	if (requests > passed->requests || requests == 2)
		kill(child, SIGTERM); /* a shell ignores SIGINT in background jobs */
	if (requests == 2 && passed->requests < 2)
		passed->second_ns = clock_now_ns();
	passed->requests = requests;
	if (requests == 2 && clock_now_ns() - passed->second_ns > CHILD_HOLD_NS)
		kill(child, SIGKILL);
}

int
interrupt_wait(pid_t child, int (*look)(void *arg, bool is_stopping), void *arg)
{
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0), status;
	struct passed passed = {0};
	while (waitpid(child, &status, WNOHANG) != child) {
		pass_on(&passed, child);
		int wait_ms = look(arg, passed.requests > 0);
		struct pollfd wait = {.fd = pidfd, .events = POLLIN};
		if ((pidfd < 0 || passed.requests > 0) && wait_ms > STOP_LOOK_MS)
			wait_ms = STOP_LOOK_MS;
		poll(&wait, 1, wait_ms);
	}
	if (pidfd >= 0)
		close(pidfd);
	return status;
}
