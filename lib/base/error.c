/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The error text of each thread, the log, the stop flag.
 *
 * The text is formatted where the cause is known. It is cut to TEXT_SIZE and then ends in
 * "...". Rejected: a list of causes, because a user reads one line, and error_prefix() adds the
 * location.
 */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mapping.h"

enum { TEXT_SIZE = 1024 };

static _Thread_local char text[TEXT_SIZE];

int stop_flag;

static void (*log_fn)(void *arg, uint32_t level, const char *text);
static void *log_arg;

static void
mark_cut(char *buf, int wanted)
{
	if (wanted >= TEXT_SIZE)
		memcpy(buf + TEXT_SIZE - 4, "...", 4);
}

int
error_setv(int code, const char *fmt, va_list args)
{
	char buf[TEXT_SIZE]; /* the arguments may point into `text` */
	mark_cut(buf, vsnprintf(buf, sizeof(buf), fmt, args));
	memcpy(text, buf, sizeof(text));
	return code;
}

int
error_set(int code, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	error_setv(code, fmt, args);
	va_end(args);
	return code;
}

int
error_memory(void)
{
	return error_set(NB_FAIL, "out of memory");
}

/** "<what>: <why>". If that is too long, `what` loses its end and `why` its beginning. */
static int
set_both(int code, const char *why, const char *fmt, va_list args)
{
	char what[TEXT_SIZE], cause[TEXT_SIZE];
	snprintf(cause, sizeof(cause), "%s", why); /* it may be `text` itself */
	size_t length = strlen(cause);
	char *tail = cause;
	if (length > TEXT_SIZE / 2) {
		tail += length - TEXT_SIZE / 2;
		memcpy(tail, "...", 3);
	}
	size_t room = TEXT_SIZE - 2 - strlen(tail);
	if (vsnprintf(what, room, fmt, args) >= (int)room)
		memcpy(what + room - 4, "...", 4);
	return error_set(code, "%s: %s", what, tail);
}

int
error_system(const char *fmt, ...)
{
	const char *why = strerror(errno);
	va_list args;
	va_start(args, fmt);
	set_both(NB_FAIL, why, fmt, args);
	va_end(args);
	return NB_FAIL;
}

int
error_thread(const char *fmt, ...)
{
	bool is_short = errno == EAGAIN || errno == ENOMEM;
	char why[TEXT_SIZE];
	snprintf(why, sizeof(why), "cannot be started: %s%s", strerror(errno),
		is_short
			? "; no memory for its stack (ulimit -v), or too many threads (ulimit -u)"
			: "");
	va_list args;
	va_start(args, fmt);
	set_both(NB_FAIL, why, fmt, args);
	va_end(args);
	return NB_FAIL;
}

int
error_prefix(int code, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	set_both(code, text, fmt, args);
	va_end(args);
	return code;
}

int
error_interrupted(void)
{
	const char *lost = mapping_lost();
	if (lost != NULL)
		return error_set(NB_FAIL,
			"%s: the file was cut short or became unreadable during its use; mininb ended the work in order",
			lost);
	return error_set(NB_ERR_INTERRUPTED, "interrupted");
}

const char *
nb_error_text(void)
{
	return text;
}

void
nb_stop(void)
{
	__atomic_fetch_or(&stop_flag, STOP_WORK, __ATOMIC_RELAXED);
}

void
nb_stop_waiting(void)
{
	__atomic_fetch_or(&stop_flag, STOP_WORK | STOP_WAITING, __ATOMIC_RELAXED);
}

int
nb_stop_requested(void)
{
	return stop_requested();
}

void
nb_stop_clear(void)
{
	__atomic_store_n(&stop_flag, 0, __ATOMIC_RELAXED);
}

void
nb_set_log(void (*log)(void *arg, uint32_t level, const char *text), void *arg)
{
	log_fn = log;
	log_arg = arg;
}

static void
log_messagev(uint32_t level, const char *fmt, va_list args) NB_PRINTF(2, 0);

static void
log_messagev(uint32_t level, const char *fmt, va_list args)
{
	if (log_fn == NULL)
		return;
	char buf[TEXT_SIZE];
	mark_cut(buf, vsnprintf(buf, sizeof(buf), fmt, args));
	log_fn(log_arg, level, buf);
}

void
log_message(uint32_t level, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	log_messagev(level, fmt, args);
	va_end(args);
}

const char *
nb_version(void)
{
	return NB_VERSION;
}
