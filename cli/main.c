/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mininb, the command: parses the words, executes the action, checks that the output was
 * written.
 *
 * The library decides and reports. This folder converts words to its structures, and its
 * failures to exit statuses. A long run could lose its report at the very end, so main() closes
 * stdout and checks it: an incomplete report is a failure.
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
#include "output.h"
#include "ranks.h"

/**
 * Opens descriptors 0, 1 and 2 if they are closed. Otherwise the next opened file would get one
 * of these numbers, and the report would go into the database. stdout is opened read-only, so
 * writing to it still fails.
 */
static void
hold_standard_files(void)
{
	static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open(
				"/dev/null", modes[fd]); /* gets the lowest free number, fd */
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
	if (options->action == NULL) {
		help_print_usage(stderr);
		return STATUS_USAGE;
	}
	const struct cmd *action = options->action;
	if (action->operand != NULL && action->operand[0] != '[' && options->operand == NULL)
		return message_usage("%s: %s is missing (mininb %s %s)", action->name,
			action->operand, action->name, action->operand);
	int status;
	bool is_silent = ranks_are_launched(options, &status) && ranks_is_silent();
	if (status != STATUS_DONE)
		return status;
	options = ranks_name_files(options, &status);
	if (status == STATUS_DONE && !is_silent)
		status = output_check(options);
	if (status == STATUS_DONE)
		status = action->run(options);
	if (status != STATUS_DONE)
		ranks_give_up(status);
	return status;
}

int
main(int argc, char **argv)
{
	/*
	 * Large enough for the whole output, so that one write at the end shows why it failed.
	 */
	static char output[1 << 16];
	struct options options;
	hold_standard_files();
	int status = message_last_failure(nb_keep_stdout());
	setvbuf(nb_stdout(), output, _IOFBF, sizeof(output));
	signal(SIGPIPE, SIG_IGN); /* a closed stdout becomes an error of write(), */
	signal(SIGXFSZ, SIG_IGN); /* and so does the limit of a file's size (ulimit -f) */
	/*
	 * If SIGCHLD was ignored from the start, the kernel would drop the status of children.
	 */
	signal(SIGCHLD, SIG_DFL);
	interrupt_catch();
	ending_begin();
	nb_set_log(message_log, NULL);
	if (status != STATUS_DONE)
		ending_end(status);
	status = options_parse(&options, argc, argv);
	if (status != STATUS_DONE)
		ending_end(status);
	message_set_quiet(options.is_quiet);
	status = do_action(&options);
	ending_end(message_close_output(status));
}
