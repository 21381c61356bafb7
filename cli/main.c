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
#include "ending.h"
#include "help.h"
#include "interrupt.h"
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

static int
do_action(const struct options *options)
{
	if (options->help != HELP_NONE) {
		help_print(options->help, options->action);
		return STATUS_DONE;
	}
	if (options->wants_version) {
		fprintf(nb_stdout(), "mininb %s\n", nb_version());
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
	struct options options;
	hold_standard_files();
	int status = message_last_failure(nb_keep_stdout());
	setvbuf(nb_stdout(), output, _IOFBF, sizeof(output));
	signal(SIGPIPE, SIG_IGN); /* a closed stdout is an error of write(), */
	signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow (ulimit -f) */
	/* One that was ignored from the start has the kernel forget how a child ended. */
	signal(SIGCHLD, SIG_DFL);
	interrupt_catch();
	ending_begin();
	nb_set_log(message_log, NULL);
	if (status != STATUS_DONE)
		ending_end(status);
	if (!options_parse(&options, argc, argv))
		ending_end(STATUS_USAGE);
	message_set_quiet(options.is_quiet);
	status = do_action(&options);
	options_destroy(&options);
	ending_end(message_close_output(status));
}
