/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One promise in a process of its own: what an engine does to its process, it
 * does to that one. The finding comes back through a pipe; a process that ends
 * in any other way than with that and status 0 has broken the promise, and so
 * has one that does not end.
 *
 * The child is a fork() without exec(): the engine is loaded already, by a
 * parent that has a single thread. It leaves by exit(), so that what a
 * sanitizer finds at the end is found.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/tree.h"
#include "check/suite.h"
#include "run/fault.h"

enum { LOOK_MS = 50 }; /* between two looks whether nb_stop() was called */

/** What comes through the pipe. */
struct letter {
	uint32_t outcome, step_count;
	char text[SUITE_TEXT_SIZE];
	char steps[SUITE_STEPS_SIZE];
};

static void
send_finding(void *to, const struct nb_check_finding *finding)
{
	static struct letter letter;
	letter.outcome = finding->outcome;
	letter.step_count = finding->step_count;
	snprintf(letter.text, sizeof(letter.text), "%s", finding->text);
	snprintf(letter.steps, sizeof(letter.steps), "%s", finding->steps);
	const char *at = (const char *)&letter;
	size_t left = sizeof(letter);
	while (left > 0) {
		ssize_t written = write(*(int *)to, at, left);
		if (written < 0 && errno != EINTR)
			_exit(EXIT_FAILURE);
		if (written > 0) {
			at += written;
			left -= (size_t)written;
		}
	}
}

static _Noreturn void
be_child(const struct nb_check_args *args, size_t index, int fd)
{
	fault_release();
	process_take_signals_back();
	nb_check_one(args, index, send_finding, &fd);
	close(fd);
	exit(EXIT_SUCCESS);
}

/** Until the child has closed its end, is late, or nb_stop() was called. */
static int
receive(int fd, struct letter *letter, size_t *received, uint64_t timeout_ns)
{
	uint64_t begin = clock_monotonic();
	*received = 0;
	for (;;) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		int ready = poll(&wait, 1, LOOK_MS);
		if (stop_requested())
			return PROCESS_STOPPED;
		if (ready > 0) {
			char *at = (char *)letter + *received;
			ssize_t got = read(fd, at, sizeof(*letter) - *received);
			if (got > 0)
				*received += (size_t)got;
			else if (got == 0 || errno != EINTR)
				return PROCESS_ENDED;
			if (*received == sizeof(*letter))
				return PROCESS_ENDED;
		}
		if (clock_monotonic() - begin > timeout_ns)
			return PROCESS_LATE;
	}
}

static void
note_end(struct letter *letter, bool is_told, int how, int status, uint64_t timeout_ns)
{
	char what[SUITE_TEXT_SIZE];
	process_describe_end(what, sizeof(what), how, status, timeout_ns);
	bool is_late = is_told && how == PROCESS_ENDED && WIFEXITED(status);
	if (what[0] != '\0' && is_late)
		snprintf(what + strlen(what), sizeof(what) - strlen(what), ", after the check");
	if (what[0] == '\0' && !is_told)
		snprintf(what, sizeof(what), "the process ended with status %d",
			WEXITSTATUS(status));
	if (what[0] == '\0' || (is_told && letter->outcome == NB_CHECK_BROKEN))
		return; /* the first thing that was found tells more */
	letter->outcome = NB_CHECK_BROKEN;
	letter->step_count = 0;
	letter->steps[0] = '\0';
	memcpy(letter->text, what, sizeof(what));
}

static int
watch(pid_t pid, int fd, struct letter *letter, uint64_t timeout_ns)
{
	size_t received;
	int status = 0;
	int how = receive(fd, letter, &received, timeout_ns);
	if (how == PROCESS_ENDED) /* threads may hang now */
		how = process_await(pid, &status, timeout_ns);
	if (how != PROCESS_ENDED)
		process_kill(pid, &status);
	if (how == PROCESS_STOPPED)
		return error_interrupted();
	note_end(letter, received == sizeof(*letter), how, status, timeout_ns);
	return NB_OK;
}

static int
check_in(const struct nb_check_args *args, size_t index, struct letter *letter)
{
	int ends[2];
	if (pipe(ends) != 0)
		return error_system("pipe");
	fflush(NULL); /* or the child would write it again */
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		be_child(args, index, ends[1]);
	}
	close(ends[1]);
	int rc = pid < 0 ? error_system("a process cannot be made")
			 : watch(pid, ends[0], letter, args->timeout_ns);
	close(ends[0]);
	return rc;
}

int
nb_check_apart(
	const struct nb_check_args *args, size_t index, nb_check_report_fn report, void *to)
{
	static struct letter letter; /* one check at a time, see check.h */
	struct nb_check_args own = *args;
	char *scratch = NULL;
	if (asprintf(&scratch, "%s/mininb-check-XXXXXX", args->scratch) < 0)
		return error_set(NB_FAIL, "out of memory");
	int rc;
	if (mkdtemp(scratch) == NULL) {
		rc = error_system("%s: no directory can be made in it", args->scratch);
		goto free_scratch;
	}
	own.scratch = scratch;
	memset(&letter, 0, sizeof(letter));
	rc = check_in(&own, index, &letter);
	tree_drop(scratch); /* a child that crashed could not */
	if (rc == NB_OK && report != NULL)
		report(to,
			&(struct nb_check_finding){.size = sizeof(struct nb_check_finding),
				.index = index,
				.promise = nb_check_name(index),
				.outcome = letter.outcome,
				.step_count = letter.step_count,
				.text = letter.text,
				.steps = letter.steps});
free_scratch:
	free(scratch);
	return rc;
}
