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
#include <unistd.h>

#include <mininb/mininb.h>

#include "cmd.h"
#include "help.h"
#include "message.h"
#include "options.h"

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
 * The first one asks to stop; the next does what it always does. But SIGHUP comes twice
 * where a terminal is closed, from the shell and from the kernel.
 */
static void
on_stop_signal(int number)
{
	(void)number;
	nb_stop();
	for (int i = 0; i < STOP_SIGNAL_COUNT; i++)
		signal(stop_signals[i], stop_signals[i] == SIGHUP ? SIG_IGN : SIG_DFL);
}

/**
 * A mapped file has lost what is being read, or got no room for what is being written.
 * That thread can go on nowhere, and the database cannot be closed under it.
 */
static void
on_bus_error(int number)
{
	static const char text[] = "mininb: bus error: a mapped file, of keys or of the "
				   "database, was cut short, cannot be read, or its disk is "
				   "full\n";
	(void)number;
	ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)written;
	_exit(STATUS_FAILED);
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
	signal(SIGBUS, on_bus_error);
	signal(SIGPIPE, SIG_IGN); /* a closed stdout is an error of write() */
}

static int
do_action(const struct options *options)
{
	if (options->help != HELP_NONE) {
		help_print(options->help);
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
	return actions[options->action].run(options);
}

static int
close_output(int status)
{
	errno = 0;
	int is_lost = fflush(stdout) != 0;
	is_lost |= ferror(stdout);
	is_lost |= close(STDOUT_FILENO) != 0;
	if (!is_lost)
		return status;
	message_error("standard output cannot be written%s%s", errno == 0 ? "" : ": ",
		errno == 0 ? "" : strerror(errno));
	return status == STATUS_DONE ? STATUS_FAILED : status;
}

int
main(int argc, char **argv)
{
	hold_standard_files();
	catch_signals();
	nb_set_log(message_log, NULL);
	struct options options;
	if (!options_parse(&options, argc, argv))
		return STATUS_USAGE;
	message_set_quiet(options.is_quiet);
	int status = do_action(&options);
	options_destroy(&options);
	return close_output(status);
}
