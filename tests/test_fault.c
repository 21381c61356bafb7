/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults on other threads: the faulting thread is blocked, and the reporting thread finds the
 * fault. Each test runs in its own process, which ends with the blocked thread.
 */
#include "run/fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "unit.h"

static struct heartbeat heartbeat = {.worker = 5};
static int fault_wanted;

static void *
fault_thread(void *arg)
{
	struct fault_stack stack;
	fault_enter_thread(&stack);
	fault_set_heartbeat(&heartbeat);
	heartbeat_enter(&heartbeat, "put");
	if (fault_wanted == FAULT_EXIT)
		nb_fault_exit();
	else
		raise(fault_wanted);
	_exit(9); /* not reached */
}

/** Wait until the thread has faulted, or a time limit. */
static int
await_fault(const struct heartbeat **at)
{
	int fault = FAULT_NONE;
	for (int i = 0; i < 10000 && fault == FAULT_NONE; i++) {
		usleep(1000);
		fault = fault_seen(at);
	}
	return fault;
}

static void
expect_held(int number)
{
	const struct heartbeat *at = NULL;
	pthread_t thread;
	fault_wanted = number;
	nb_catch_faults(NULL);
	fault_begin();
	ck_assert_int_eq(pthread_create(&thread, NULL, fault_thread, NULL), 0);
	ck_assert_int_eq(await_fault(&at), number);
	ck_assert_ptr_eq(at, &heartbeat);
	ck_assert_str_eq(at->call, "put");
	fault_end();
	ck_assert_int_eq(fault_seen(&at), number); /* the fault and the thread stay */
	_exit(0);
}

/* Sanitizers have no handler for SIGABRT. */
TEST(aborting_thread_is_held_and_reported)
{
	expect_held(SIGABRT);
}

TEST(exiting_thread_is_held_and_reported)
{
	expect_held(FAULT_EXIT);
}

static int said[2];

static void
say(const char *text)
{
	ck_assert_int_ge(write(said[1], text, strlen(text)), 1);
}

TEST(fault_without_a_reporter_prints_a_message_and_keeps_the_signal)
{
	char text[200] = "";
	ck_assert_int_eq(pipe(said), 0);
	pid_t pid = fork();
	if (pid == 0) {
		nb_catch_faults(say);
		fault_begin();
		fault_set_heartbeat(&heartbeat);
		heartbeat_enter(&heartbeat, "open");
		abort(); /* on the reporting thread */
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGABRT);
	ck_assert_int_gt(read(said[0], text, sizeof(text) - 1), 0);
	ck_assert_str_eq(text,
		"SIGABRT in open: nothing could be saved; use a core dump or a debugger to find out where");
}

TEST(other_handlers_stay_and_own_ones_can_be_removed)
{
	struct sigaction action;
	signal(SIGFPE, SIG_IGN);
	nb_catch_faults(NULL);
	ck_assert_int_eq(sigaction(SIGFPE, NULL, &action), 0);
	ck_assert(action.sa_handler == SIG_IGN);
	ck_assert_int_eq(sigaction(SIGABRT, NULL, &action), 0);
	ck_assert((action.sa_flags & SA_SIGINFO) != 0);
	fault_release();
	ck_assert_int_eq(sigaction(SIGABRT, NULL, &action), 0);
	ck_assert(action.sa_handler == SIG_DFL);
	ck_assert_int_eq(sigaction(SIGFPE, NULL, &action), 0);
	ck_assert(action.sa_handler == SIG_IGN);
}

TEST(exit_outside_an_engine_is_allowed)
{
	const struct heartbeat *at;
	nb_fault_exit(); /* without a run */
	fault_begin();
	nb_fault_exit(); /* on the reporting thread */
	ck_assert_int_eq(fault_seen(&at), FAULT_NONE);
	pid_t pid = fork();
	if (pid == 0) {
		nb_fault_exit(); /* in another process */
		_exit(3);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 3);
	fault_end();
}

static int others; /* calls of another handler */

static void
handle_bus(int number, siginfo_t *info, void *context)
{
	others++;
}

TEST(bus_error_outside_own_mappings_goes_to_the_previous_handler)
{
	struct sigaction action = {.sa_sigaction = handle_bus, .sa_flags = SA_SIGINFO};
	ck_assert_int_eq(sigaction(SIGBUS, &action, NULL), 0);
	nb_catch_faults(NULL);
	raise(SIGBUS);
	ck_assert_int_eq(others, 1);
	fault_release();
	ck_assert_int_eq(sigaction(SIGBUS, NULL, &action), 0);
	ck_assert(action.sa_sigaction == handle_bus);
}

static void *
look_at_stack(void *arg)
{
	struct fault_stack stack;
	stack_t *is = arg;
	fault_enter_thread(&stack);
	ck_assert_int_eq(sigaltstack(NULL, is), 0);
	fault_leave_thread(&stack);
	return NULL;
}

TEST(a_thread_has_a_stack_for_handlers)
{
	pthread_t thread;
	stack_t is = {.ss_flags = SS_DISABLE};
	ck_assert_int_eq(pthread_create(&thread, NULL, look_at_stack, &is), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(is.ss_flags & SS_DISABLE, 0);
	ck_assert_uint_ge(is.ss_size, (size_t)sysconf(_SC_MINSIGSTKSZ));
}

TEST(faults_have_names)
{
	ck_assert_str_eq(fault_name(SIGSEGV), "SIGSEGV");
	ck_assert_str_eq(fault_name(SIGABRT), "SIGABRT");
	ck_assert_str_eq(fault_name(FAULT_EXIT), "a call of exit()");
	ck_assert_str_eq(fault_name(SIGUSR1), "a signal");
}
