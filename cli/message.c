/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Standard error, one line at a time.
 *
 * A text may contain words of the user or data of an engine, so control characters are shown as
 * '?': a message stays on one line and cannot move the cursor. The lock of stderr keeps a
 * warning of an engine's thread out of the progress line of the main thread.
 */
#include "message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "interrupt.h"
#include "kept.h"
#include "progress.h"

static bool is_quiet;
static const char *sender = "";

static const struct {
	int code, status;
} statuses[] = {
	{0, STATUS_DONE},
	{NB_ERR_USAGE, STATUS_USAGE},
	{NB_ERR_DATA, STATUS_DATA},
	{NB_ERR_INTERRUPTED, STATUS_INTERRUPTED},
};

static int
status_of(int code)
{
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		if (statuses[i].code == code)
			return statuses[i].status;
	}
	return STATUS_FAILED;
}

static void
put_line(const char *prefix, const char *fmt, va_list args)
{
	char text[2048];
	vsnprintf(text, sizeof(text), fmt, args);
	for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++) {
		if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* U+0080 to U+009F */
			c[0] = c[1] = '?';
		else if (*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	fflush(nb_stdout()); /* main() checks at the end whether all of it was written */
	flockfile(stderr);
	progress_clear();
	fprintf(stderr, "mininb: %s%s%s\n", sender, prefix, text);
	funlockfile(stderr);
}

void
message_set_sender(const char *text)
{
	sender = text;
}

void
failure_keep(struct failure *failure, int code)
{
	failure->code = code;
	snprintf(failure->text, sizeof(failure->text), "%s%s", code == 0 ? "" : nb_error_text(),
		code == NB_ERR_INTERRUPTED ? interrupt_reason() : "");
}

void
message_error(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	put_line("", fmt, args);
	va_end(args);
}

int
message_failed(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	put_line("", fmt, args);
	va_end(args);
	return STATUS_FAILED;
}

int
message_usage(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	put_line("", fmt, args);
	va_end(args);
	return STATUS_USAGE;
}

void
message_warning(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	put_line("warning: ", fmt, args);
	va_end(args);
}

const char *
message_guess(const char *near)
{
	return near != NULL ? kept_text(", did you mean '%s'?", near) : "";
}

int
message_no_memory(void)
{
	return message_failed("out of memory");
}

int
message_failure(const struct failure *failure)
{
	if (failure->code != 0)
		message_error("%s", failure->text);
	return status_of(failure->code);
}

int
message_last_failure(int code)
{
	struct failure failure;
	failure_keep(&failure, code);
	return message_failure(&failure);
}

/** The other end of the pipe was closed: `mininb engines | head -n 1`. */
static bool
reader_is_gone(void)
{
	struct pollfd output = {.fd = fileno(nb_stdout())};
	return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

/**
 * Ends as if by SIGPIPE, which a pipeline expects. mininb ignores SIGPIPE so that engines get
 * an error instead.
 */
enum { STATUS_PIPE = 128 + SIGPIPE };

int
message_output_failure(int code)
{
	if (code < 0 && reader_is_gone()) {
		clearerr(nb_stdout());
		return STATUS_PIPE;
	}
	int status = message_last_failure(code);
	if (code < 0)
		clearerr(nb_stdout());
	return status;
}

const char *
message_signal(int number, char text[SIGNAL_SIZE])
{
	const char *name = sigabbrev_np(number);
	if (name != NULL)
		snprintf(text, SIGNAL_SIZE, "SIG%s", name);
	else
		snprintf(text, SIGNAL_SIZE, "signal %d", number);
	return text;
}

void
message_log(void *arg, uint32_t level, const char *text)
{
	(void)arg;
	if (level >= NB_LOG_WARNING)
		message_warning("%s", text);
	else if (!is_quiet)
		message_error("%s", text);
}

void
message_set_quiet(bool quiet)
{
	is_quiet = quiet;
}

int
message_close_output(int status)
{
	errno = 0;
	int is_lost = fflush(nb_stdout()) != 0;
	is_lost |= ferror(nb_stdout());
	bool is_gone = is_lost && reader_is_gone();
	is_lost |= close(fileno(nb_stdout())) != 0;
	if (!is_lost)
		return status;
	if (is_gone)
		return status == STATUS_DONE ? STATUS_PIPE : status;
	message_error("cannot write standard output%s%s", errno == 0 ? "" : ": ",
		errno == 0 ? "" : strerror(errno));
	return status == STATUS_DONE ? STATUS_FAILED : status;
}
