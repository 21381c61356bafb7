/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H
/**
 * Messages on standard error, and exit statuses. Each message is one line; before it, mininb
 * clears the progress line and writes out stdout's buffer. Any thread may call.
 */
#include <stdbool.h>
#include <stdint.h>

#include <mininb/mininb.h>

/* Exit statuses of the program. */
enum {
	STATUS_DONE = 0,
	STATUS_FAILED = 1, /* the engine, a file or the system */
	STATUS_USAGE = 2,
	STATUS_DATA = 3, /* the data read is not the data written; crash: a promise is broken */
	STATUS_GATE = 4, /* a comparison or gate failed; check: a promise is broken */
	STATUS_INTERRUPTED = 130
};

/** A failure of the library, kept while other calls may fail. */
struct failure {
	int code;
	char text[1024];
};

void
failure_keep(struct failure *failure, int code);

/** Puts `sender`, which the caller keeps valid, before the text of each message. */
void
message_set_sender(const char *sender);

/** "mininb: <text>". */
void
message_error(const char *fmt, ...) NB_PRINTF(1, 2);

/** As message_error(). Returns STATUS_FAILED. */
int
message_failed(const char *fmt, ...) NB_PRINTF(1, 2);

/** As message_error(), for wrong usage. Returns STATUS_USAGE. */
int
message_usage(const char *fmt, ...) NB_PRINTF(1, 2);

/** "mininb: warning: <text>". */
void
message_warning(const char *fmt, ...) NB_PRINTF(1, 2);

/** ", did you mean 'NEAR'?", or "" if `near` is NULL. Kept. */
const char *
message_guess(const char *near);

/** Reports that memory is exhausted. Returns STATUS_FAILED. */
int
message_no_memory(void);

/** Reports the failure, returns its exit status. With code 0, returns STATUS_DONE silently. */
int
message_failure(const struct failure *failure);

/** The same for the library's last failure on this thread. */
int
message_last_failure(int code);

/** The same for a failed write to stdout; main() then does not report it again. */
int
message_output_failure(int code);

enum { SIGNAL_SIZE = 16 };

/** "SIGSEGV", or "signal 40" for a signal without a name. Returns `text`. */
const char *
message_signal(int number, char text[SIGNAL_SIZE]);

/** For nb_set_log(). Prints warnings always, other lines unless quiet. */
void
message_log(void *arg, uint32_t level, const char *text);

void
message_set_quiet(bool is_quiet);

/** Closes stdout. Returns `status`, or a failure if not all output was written. */
int
message_close_output(int status);

#endif /* CLI_MESSAGE_H */
