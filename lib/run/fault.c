/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults of an engine: signals that a thread causes itself, and exit().
 *
 * The handler records the fault and holds the thread. The thread that called the library sees
 * the record in its next tick. It stops the other threads, reports the measurement, and lets
 * the process die of that signal. So there is both a result and a core dump, and the dump shows
 * the thread inside the call that crashed. Therefore all verbs of an engine are called on other
 * threads than the reporting one (run_call.c, worker_pool.c).
 *
 * The heap may be damaged. If malloc() crashed, one of its locks may be held for ever. The
 * reporting thread allocates a little, mostly from an arena of its own. If it hangs
 * nevertheless, the held thread ends the process after HOLD_S.
 *
 * Handlers that others have installed, such as a sanitizer's, stay, because they report more.
 * mininb's handler for SIGBUS first checks whether the fault is in a file of mininb, and
 * otherwise calls the other handler. Handlers only make async-signal-safe calls. The thread's
 * heartbeat pointer is in memory that exists from the start (initial-exec), so reading it
 * allocates nothing.
 *
 * Rejected: to jump out of the handler and continue. The engine's locks would stay locked, and
 * its files would be closed in the middle of a write. Also rejected: always to run each engine
 * in a child process. mininb does so for several engines, and for one with --hang-after. But a
 * debugger or a profiler is easier to use in the process that was started.
 */
#include "run/fault.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "base/mapping.h"

enum {
	HOLD_S = 30, /* much longer than the report takes */
	STACK_BYTES = 64 * 1024,
};

static const int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
static const char *const fault_names[] = {
	"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS"};
enum { FAULT_SIGNALS = sizeof(fault_signals) / sizeof(*fault_signals) };

static __attribute__((tls_model("initial-exec"))) _Thread_local struct heartbeat *own_heartbeat;

static void (*say)(const char *text);
static struct sigaction other_bus; /* the previous handler of SIGBUS, called after mininb's */

/* Of the current run. */
static pid_t run_process, reporter;             /* atomic; 0: none */
static int first_fault;                         /* atomic */
static const struct heartbeat *first_heartbeat; /* written before first_fault */
static int is_taken;                            /* atomic: a thread has claimed these two */
static const struct heartbeat **noted;          /* the first fault of a process without a run */

static pid_t
own_thread(void)
{
	return (pid_t)syscall(SYS_gettid);
}

const char *
fault_name(int fault)
{
	for (size_t i = 0; i < FAULT_SIGNALS; i++) {
		if (fault_signals[i] == fault)
			return fault_names[i];
	}
	return fault == FAULT_EXIT ? "a call of exit()" : "a signal";
}

/** Whether another thread reports this one's fault. */
static bool
is_reported(void)
{
	pid_t process = __atomic_load_n(&run_process, __ATOMIC_ACQUIRE);
	return process != 0 && process == getpid() &&
		__atomic_load_n(&reporter, __ATOMIC_RELAXED) != own_thread();
}

/** Record the fault, and wait until another thread ends the process, but HOLD_S at most. */
static void
hold(int fault)
{
	if (__atomic_exchange_n(&is_taken, 1, __ATOMIC_ACQ_REL) == 0) {
		first_heartbeat = own_heartbeat;
		__atomic_store_n(&first_fault, fault, __ATOMIC_RELEASE);
	}
	for (int i = 0; i < HOLD_S * 10; i++) {
		struct timespec moment = {.tv_nsec = 100 * 1000 * 1000};
		nanosleep(&moment, NULL);
	}
}

/** Record the position of this thread, for a reader after the end of the process. */
static void
note(void)
{
	if (noted != NULL && *noted == NULL && own_heartbeat != NULL &&
		__atomic_load_n(&own_heartbeat->call, __ATOMIC_RELAXED) != NULL)
		*noted = own_heartbeat;
}

static void
say_signal(int number)
{
	char text[640] = "";
	const char *call = own_heartbeat != NULL
		? __atomic_load_n(&own_heartbeat->call, __ATOMIC_RELAXED)
		: NULL;
	strcat(text, fault_name(number));
	if (call != NULL) {
		strcat(text, " in ");
		strncat(text, call, 500);
	}
	strcat(text,
		": nothing could be saved; use a core dump or a debugger to find out where");
	if (say != NULL)
		say(text);
}

static void
on_fault(int number, siginfo_t *info, void *context)
{
	if (number == SIGBUS && info->si_code > 0 && mapping_mend(info->si_addr))
		return; /* one of mininb's own files: the run continues */
	if (number == SIGBUS && other_bus.sa_sigaction != NULL) {
		other_bus.sa_sigaction(number, info, context);
		return;
	}
	if (is_reported())
		hold(number);
	note();
	say_signal(number);
	signal(number, SIG_DFL);
	raise(number); /* takes effect when this handler returns */
}

void
nb_fault_exit(void)
{
	if (is_reported())
		hold(FAULT_EXIT);
	note();
}

void
fault_note_to(const struct heartbeat **where)
{
	noted = where;
}

void
nb_catch_faults(void (*say_it)(const char *text))
{
	struct sigaction action = {
		.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	struct sigaction old;
	sigemptyset(&action.sa_mask);
	say = say_it;
	for (size_t i = 0; i < FAULT_SIGNALS; i++) {
		if (sigaction(fault_signals[i], NULL, &old) != 0)
			continue;
		bool is_others = (old.sa_flags & SA_SIGINFO) != 0;
		if (is_others && fault_signals[i] == SIGBUS && old.sa_sigaction != on_fault)
			other_bus = old;
		if (is_others ? fault_signals[i] == SIGBUS : old.sa_handler == SIG_DFL)
			sigaction(fault_signals[i], &action, NULL);
	}
}

void
fault_release(void)
{
	struct sigaction action;
	for (size_t i = 0; i < FAULT_SIGNALS; i++) {
		if (sigaction(fault_signals[i], NULL, &action) == 0 &&
			(action.sa_flags & SA_SIGINFO) != 0 &&
			action.sa_sigaction == on_fault) {
			bool is_bus = fault_signals[i] == SIGBUS;
			if (is_bus && other_bus.sa_sigaction != NULL)
				sigaction(SIGBUS, &other_bus, NULL);
			else
				signal(fault_signals[i], SIG_DFL);
		}
	}
}

void
fault_enter_thread(struct fault_stack *stack)
{
	stack_t old;
	*stack = (struct fault_stack){.size = STACK_BYTES};
	if (sigaltstack(NULL, &old) != 0 || (old.ss_flags & SS_DISABLE) == 0)
		return;
	void *memory = mmap(NULL, stack->size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (memory == MAP_FAILED)
		return;
	stack_t own = {.ss_sp = memory, .ss_size = stack->size};
	if (sigaltstack(&own, NULL) == 0)
		stack->memory = memory;
	else
		munmap(memory, stack->size);
}

void
fault_leave_thread(struct fault_stack *stack)
{
	if (stack->memory == NULL)
		return;
	stack_t none = {.ss_flags = SS_DISABLE};
	sigaltstack(&none, NULL);
	munmap(stack->memory, stack->size);
}

void
fault_set_heartbeat(struct heartbeat *heartbeat)
{
	own_heartbeat = heartbeat;
}

void
fault_begin(void)
{
	__atomic_store_n(&reporter, own_thread(), __ATOMIC_RELAXED);
	__atomic_store_n(&run_process, getpid(), __ATOMIC_RELEASE);
}

void
fault_end(void)
{
	if (__atomic_load_n(&first_fault, __ATOMIC_ACQUIRE) == FAULT_NONE)
		__atomic_store_n(&run_process, 0, __ATOMIC_RELEASE);
}

int
fault_seen(const struct heartbeat **heartbeat)
{
	int fault = __atomic_load_n(&first_fault, __ATOMIC_ACQUIRE);
	if (fault != FAULT_NONE)
		*heartbeat = first_heartbeat;
	return fault;
}
