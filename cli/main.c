/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mininb, the command: read the words, do the action, see that the result went
 * out.
 *
 * Everything that is said or decided here is said by the library first; this
 * folder turns words into its structures and its failures into exit statuses.
 * A night's run can be lost at its very end, so stdout is closed and asked: a
 * report that did not reach its file is a failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "ending.h"
#include "help.h"
#include "message.h"
#include "options.h"
#include "replace.h"

/**
 * See that descriptors 0, 1 and 2 are taken: a program that is started without
 * one would give it to the next file it opens, and the report would go into the
 * database. stdout is opened for reading, so that writing to it still fails.
 */
static void
hold_standard_files(void)
{
	static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open(
				"/dev/null", modes[fd]); /* takes the lowest that is free: fd */
	}
}

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { STOP_SIGNAL_COUNT = sizeof(stop_signals) / sizeof(stop_signals[0]) };

/**
 * The first one asks to stop; a later one does what it always does. But one request may
 * come twice, at once: from a shell and the kernel where a terminal is closed, from
 * timeout(1) to the process and to its group.
 */
static void
on_stop_signal(int number)
{
	enum { ONE_REQUEST_NS = 1000000000 };
	static int64_t first_ns;
	struct timespec now;
	int cause = errno;
	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	if (!nb_stop_requested()) {
		first_ns = now_ns;
		nb_stop();
	} else if (now_ns - first_ns > ONE_REQUEST_NS && number != SIGHUP) {
		signal(number, SIG_DFL);
		raise(number); /* it ends us as soon as this handler returns */
	}
	errno = cause;
}

static void
catch_signals(void)
{
	/* SA_RESTART: an engine's system call must not fail because the user is impatient. */
	struct sigaction action = {.sa_handler = on_stop_signal, .sa_flags = SA_RESTART}, old;
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < STOP_SIGNAL_COUNT; i++) {
		/* One that was ignored from the start (nohup, a job behind '&') stays so. */
		if (sigaction(stop_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(stop_signals[i], &action, NULL);
	}
	signal(SIGPIPE, SIG_IGN); /* a closed stdout is an error of write(), */
	signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow (ulimit -f) */
	/* One that was ignored from the start has the kernel forget how a child ended. */
	signal(SIGCHLD, SIG_DFL);
}

static int
do_action(const struct options *options)
{
	if (options->help != HELP_NONE) {
		help_print(options->help, options->action);
		return STATUS_DONE;
	}
	if (options->wants_version) {
		printf("mininb %s\n", nb_version());
		return STATUS_DONE;
	}
	if (options->action == ACTION_COUNT) {
		help_print_usage(stderr);
		return STATUS_USAGE;
	}
	const struct action *action = &actions[options->action];
	if (action->operand != NULL && action->operand[0] != '[' && options->operand == NULL)
		return message_usage("%s: its %s is missing (mininb %s %s)", action->name,
			action->operand, action->name, action->operand);
	int status = replace_check(options);
	return status == STATUS_DONE ? action->run(options) : status;
}

int
main(int argc, char **argv)
{
	/* What is printed fits, so that its one write, at the end, tells why it failed. */
	static char output[1 << 16];
	hold_standard_files();
	setvbuf(stdout, output, _IOFBF, sizeof(output));
	catch_signals();
	ending_begin();
	nb_set_log(message_log, NULL);
	struct options options;
	if (!options_parse(&options, argc, argv))
		ending_end(STATUS_USAGE);
	message_set_quiet(options.is_quiet);
	int status = do_action(&options);
	options_destroy(&options);
	ending_end(message_close_output(status));
}
