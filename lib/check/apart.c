/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks one promise in its own process, so that a faulty engine harms only that process.
 * The finding is returned in shared memory. The promise is broken if the process does not
 * end with that finding and status 0.
 *
 * The child is a fork() without exec(): the parent has a single thread, and has loaded but
 * never opened the engine. The child leaves by exit(), so that sanitizers report at its
 * end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/tree.h"
#include "check/board.h"
#include "run/fault.h"

#define LOOK_NS UINT64_C(20000000) /* interval of calls_look() */

static _Noreturn void
be_child(void (*work)(void *arg), void *arg, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	fault_release();
	process_take_signals_back();
	nb_catch_faults(NULL);
	fault_note_to(&board->culprit);
	atexit(nb_fault_exit);
	work(arg);
	exit(EXIT_SUCCESS);
}

static int
await(pid_t pid, int *status, uint64_t timeout_ns)
{
	uint64_t begin = clock_monotonic();
	for (;;) {
		uint64_t gone = clock_monotonic() - begin;
		if (gone > timeout_ns)
			return PROCESS_LATE;
		uint64_t left = timeout_ns - gone;
		int how = process_await(pid, status, left < LOOK_NS ? left : LOOK_NS);
		if (how != PROCESS_LATE)
			return how;
		calls_look();
	}
}

int
apart_do(void (*work)(void *arg), void *arg, uint64_t timeout_ns, int *status)
{
	pid_t parent = getpid();
	fflush(NULL); /* else the child would write the buffers again */
	pid_t pid = fork();
	if (pid < 0)
		return error_system("cannot create a process");
	if (pid == 0)
		be_child(work, arg, parent);
	int how = await(pid, status, timeout_ns), ended;
	if (how != PROCESS_ENDED)
		process_kill(pid, &ended);
	return how;
}

struct check {
	const struct nb_check_args *args;
	size_t index;
	struct prints prints;
};

static void
keep_finding(void *to, const struct nb_check_finding *finding)
{
	struct check *check = to;
	struct letter *letter = &board->letter;
	letter->outcome = finding->outcome;
	letter->step_count = finding->step_count;
	snprintf(letter->text, sizeof(letter->text), "%s", finding->text);
	snprintf(letter->steps, sizeof(letter->steps), "%s", finding->steps);
	prints_end(&check->prints, letter->printed, sizeof(letter->printed));
	__atomic_store_n(&letter->is_told, 1, __ATOMIC_RELEASE);
}

static void
check_one(void *arg)
{
	struct check *check = arg;
	prints_begin(&check->prints);
	nb_check_one(check->args, check->index, keep_finding, check);
}

static void
note_end(int how, int status, uint64_t timeout_ns)
{
	static const char after[] = ", after the check";
	struct letter *letter = &board->letter;
	bool is_told = __atomic_load_n(&letter->is_told, __ATOMIC_ACQUIRE) != 0;
	bool is_well = how == PROCESS_ENDED && WIFEXITED(status) &&
		WEXITSTATUS(status) == EXIT_SUCCESS;
	if (is_told && (is_well || letter->outcome == NB_CHECK_BROKEN))
		return; /* the first finding explains more */
	letter->outcome = NB_CHECK_BROKEN;
	letter->step_count = 0;
	letter->steps[0] = '\0';
	if (is_told)
		board->culprit = NULL;
	calls_describe_end(
		letter->text, sizeof(letter->text) - sizeof(after), how, status, timeout_ns);
	if (is_told && how == PROCESS_ENDED)
		strcat(letter->text, after);
}

/** Check a promise; the finding is on the board. */
static int
check_in(const struct nb_check_args *args, size_t index)
{
	struct check check = {.args = args, .index = index};
	int status = 0;
	memset(&board->letter, 0, sizeof(board->letter));
	int how = apart_do(check_one, &check, args->timeout_ns, &status);
	if (how == PROCESS_STOPPED)
		return error_interrupted();
	if (how < 0)
		return how;
	note_end(how, status, args->timeout_ns);
	return NB_OK;
}

/**
 * An engine that prints breaks the promise about printing. If that promise's check does not
 * reproduce the output (for example a complaint about a key that is too long), the checked
 * promise is broken.
 */
static int
judge_prints(const struct nb_check_args *args)
{
	static struct letter found;
	if (board->letter.printed[0] == '\0' || board->letter.outcome == NB_CHECK_BROKEN)
		return NB_OK;
	found = board->letter;
	size_t printing = 0;
	while (strcmp(nb_check_name(printing), "prints_nothing_on_standard_output") != 0)
		printing++;
	int rc = check_in(args, printing);
	if (rc == NB_OK && board->letter.outcome != NB_CHECK_BROKEN) {
		found.outcome = NB_CHECK_BROKEN;
		snprintf(found.text, sizeof(found.text), "it printed on standard output: %s",
			found.printed);
	}
	board->letter = found;
	return rc;
}

int
nb_check_apart(
	const struct nb_check_args *args, size_t index, nb_check_report_fn report, void *to)
{
	struct nb_check_args own = *args;
	char *scratch = NULL;
	int rc = board_make();
	if (rc != NB_OK)
		return rc;
	rc = process_make_scratch(&scratch, args->scratch, "mininb-check");
	if (rc == NB_OK && chmod(scratch, SUITE_PASSABLE) != 0)
		rc = error_system("%s", scratch);
	if (rc != NB_OK)
		return rc;
	own.scratch = scratch;
	rc = check_in(&own, index);
	if (rc == NB_OK)
		rc = judge_prints(&own);
	tree_drop(scratch); /* a child that crashed has not removed its directories */
	if (rc == NB_OK && report != NULL)
		report(to,
			&(struct nb_check_finding){.size = sizeof(struct nb_check_finding),
				.index = index,
				.promise = nb_check_name(index),
				.outcome = board->letter.outcome,
				.step_count = board->letter.step_count,
				.text = board->letter.text,
				.steps = board->letter.steps});
	free(scratch);
	return rc;
}
