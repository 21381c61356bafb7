/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H
/**
 * What the command says on standard error, and the exit status that goes with
 * it. Each message is one line; a progress line is cleared away first, and
 * what stands in stdout's buffer goes out before it. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include <mininb/mininb.h>

/* What the program exits with. */
enum {
	STATUS_DONE = 0,
	STATUS_FAILED = 1, /* the engine, a file or the system */
	STATUS_USAGE = 2,
	STATUS_DATA = 3, /* what was read is not what was written */
	STATUS_GATE = 4, /* a comparison or gate failed; a promise is broken */
	STATUS_INTERRUPTED = 130
};

/** A failure of the library, kept while others may follow it. */
struct failure {
	int code;
	char text[1024];
};

void
failure_keep(struct failure *failure, int code);

/** "mininb: <text>". */
void
message_error(const char *fmt, ...) NB_PRINTF(1, 2);

/** As message_error(), and where to read on. Returns STATUS_USAGE. */
int
message_usage(const char *fmt, ...) NB_PRINTF(1, 2);

/** Say the failure, return its exit status. STATUS_DONE and silence if code is 0. */
int
message_failure(const struct failure *failure);

/** The same for the library's last failure on this thread. */
int
message_last_failure(int code);

/** The same when something was to be written to stdout: main() need not say it again. */
int
message_output_failure(int code);

/** For nb_set_log(): warnings, and what is no warning unless quiet. */
void
message_log(void *arg, uint32_t level, const char *text);

void
message_set_quiet(bool is_quiet);

/** Close stdout, and turn `status` into a failure if not all of it went out. */
int
message_close_output(int status);

#endif /* CLI_MESSAGE_H */
