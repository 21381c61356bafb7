/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that its parent follows with ptrace(). It ends at the same instruction each time,
 * or at each begin and end of a system call. The parent does not wait for a process that ends
 * by itself.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "crash/crash.h"
#include "unit.h"

enum { TIMEOUT_S = 60 };

static struct crash_progress *board;
static int status;
static bool is_counted;

/** The code of the child after the meeting point. */
static void
count_up(void)
{
	for (;;)
		__atomic_add_fetch(&board->marks[0].begun, 1, __ATOMIC_RELEASE);
}

static void
call_and_count(void)
{
	for (;;) {
		syscall(SYS_getppid);
		__atomic_add_fetch(&board->marks[0].begun, 1, __ATOMIC_RELEASE);
	}
}

static void
call_thrice(void)
{
	for (int i = 0; i < 3; i++)
		syscall(SYS_getppid);
}

static void
hit_the_mark(void)
{
	for (int i = 0; i < 3; i++)
		__atomic_add_fetch(&board->marks[0].begun, 1, __ATOMIC_RELEASE);
	crash_step_out(board);
	count_up();
}

/**
 * Follow a child that executes `behind` and ends it after so many stops and steps. Returns its
 * count; -1: ptrace() is not permitted.
 */
static int64_t
follow(void (*behind)(void), uint32_t stops, uint32_t steps)
{
	*board = (struct crash_progress){
		.end = {.is_counted = 1, .stops = stops, .steps = steps}};
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!crash_step_meet(board))
			_exit(2);
		behind();
		_exit(EXIT_SUCCESS);
	}
	ck_assert_int_eq(crash_step_await(pid, &status, board, TIMEOUT_S * UINT64_C(1000000000),
				 &is_counted),
		PROCESS_ENDED);
	if (board->meeting == CRASH_ALONE)
		return -1;
	ck_assert(is_counted);
	return (int64_t)board->marks[0].begun;
}

static bool
may_follow(void)
{
	bool may = follow(call_thrice, 0, 0) >= 0;
	if (!may)
		printf("# no process may be followed by ptrace() here\n");
	return may;
}

TEST(instructions_are_counted)
{
	if (!may_follow())
		return;
	int64_t before = 0;
	for (uint32_t steps = 200; steps <= 2000; steps += 600) {
		int64_t far = follow(count_up, 0, steps);
		ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		ck_assert_int_gt(far, before);
		ck_assert_int_le(far, steps);
		ck_assert_int_eq(follow(count_up, 0, steps), far); /* the same each time */
		before = far;
	}
}

TEST(begins_and_ends_of_calls_are_counted)
{
	if (!may_follow())
		return;
	int64_t first = follow(call_and_count, 6, 0);
	for (uint32_t calls = 1; calls <= 3; calls++)
		ck_assert_int_eq(follow(call_and_count, 6 + 2 * calls, 0), first + calls);
	/*
	 * one of the two stops is the begin of the call, before which the child has not counted
	 */
	int64_t odd = follow(call_and_count, 7, 0);
	ck_assert_int_ge(odd, first);
	ck_assert_int_le(odd, first + 1);
	ck_assert_int_eq(follow(call_and_count, 9, 0), odd + 1);
}

TEST(process_without_calls_runs_to_its_mark)
{
	if (may_follow())
		ck_assert_int_eq(follow(hit_the_mark, 1000, 0), 3);
}

TEST(process_that_ends_by_itself_is_counted)
{
	if (!may_follow())
		return;
	follow(call_thrice, 1000000, 0);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
	follow(call_thrice, 0, 1000000);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
}

TEST(process_that_never_reaches_the_place_is_not_counted)
{
	*board = (struct crash_progress){.end = {.is_counted = 1}};
	pid_t pid = fork();
	if (pid == 0)
		_exit(7);
	ck_assert_int_eq(crash_step_await(pid, &status, board, TIMEOUT_S * UINT64_C(1000000000),
				 &is_counted),
		PROCESS_ENDED);
	ck_assert(!is_counted);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
}

TEST(process_that_ended_at_the_place_is_not_a_failure_of_ptrace)
{
	siginfo_t end;
	*board = (struct crash_progress){.end = {.is_counted = 1}};
	pid_t pid = fork();
	if (pid == 0) {
		__atomic_store_n(&board->meeting, CRASH_MEETS, __ATOMIC_RELEASE);
		_exit(7);
	}
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(crash_step_await(pid, &status, board, TIMEOUT_S * UINT64_C(1000000000),
				 &is_counted),
		PROCESS_ENDED);
	ck_assert(!is_counted);
	ck_assert_uint_eq(board->meeting, CRASH_MEETS);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
}

TEST(stopped_process_is_left_to_the_caller)
{
	*board = (struct crash_progress){.end = {.is_counted = 1, .steps = UINT32_MAX}};
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)crash_step_meet(board);
		count_up();
	}
	while (__atomic_load_n(&board->meeting, __ATOMIC_ACQUIRE) != CRASH_MEETS)
		usleep(100);
	nb_stop();
	ck_assert_int_eq(crash_step_await(pid, &status, board, TIMEOUT_S * UINT64_C(1000000000),
				 &is_counted),
		PROCESS_STOPPED);
	nb_stop_clear();
	ck_assert(!is_counted);
	ck_assert_int_eq(kill(pid, 0), 0); /* so its pid is not reused */
	process_kill(pid, &status);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(process_that_cannot_be_traced_runs_freely)
{
	*board = (struct crash_progress){.end = {.is_counted = 1}};
	pid_t pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL); /* a process has at most one tracer */
		_exit(crash_step_meet(board) ? 1 : 2);
	}
	ck_assert_int_eq(crash_step_await(pid, &status, board, TIMEOUT_S * UINT64_C(1000000000),
				 &is_counted),
		PROCESS_ENDED);
	ck_assert(!is_counted);
	ck_assert_uint_eq(board->meeting, CRASH_ALONE);
	ck_assert_int_eq(WEXITSTATUS(status), 2);
}

int
main(void)
{
	board = crash_share(sizeof(*board));
	if (board == NULL)
		return EXIT_FAILURE;
	int failed = unit_run();
	munmap(board, sizeof(*board));
	return failed;
}
