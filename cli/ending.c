/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of the process.
 *
 * If an engine crashes in a run, the library holds its thread until the report is written. Then
 * the process ends by the same signal: the user gets a core dump, and a shell reports 128 plus
 * its number. After a bus error the status is 1 instead: a mapped file has no space or was
 * truncated, which a core dump would not explain.
 *
 * An engine that calls exit() would end the process with its own status and look successful. So
 * mininb reports an exit() that it did not call itself, with status 1. It also catches
 * quick_exit(), by a handler, and _exit() and _Exit(), which run no handlers, by functions with
 * the same names: names of the program have priority over those of libc. It does not catch a
 * direct system call; with several engines or --hang-after the parent process detects it.
 *
 * Rejected: an own syscall() function that detects SYS_exit_group. Engines wait on futexes and
 * submit I/O through syscall(), so measured calls would pass through it. Calls from assembly,
 * as in liburing, would still be missed.
 */
#include "ending.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mininb/mininb.h>

#include "message.h"

/* The process whose end is watched; a child that an engine forks may end freely. */
static pid_t process;
static bool is_meant;

/** Safe in a signal handler. */
static void
say(const char *text)
{
	static const char begin[] = "mininb: ";
	ssize_t written = write(STDERR_FILENO, begin, sizeof(begin) - 1);
	written = write(STDERR_FILENO, text, strlen(text));
	written = write(STDERR_FILENO, "\n", 1);
	(void)written;
}

static _Noreturn void
end_now(int status)
{
	for (;;)
		syscall(SYS_exit_group, status);
}

/** Returns if mininb ends the process itself. */
static void
catch_end(void)
{
	nb_fault_exit(); /* it checks whether this is a worker process of a run */
	if (is_meant || process != getpid())
		return;
	say("the engine or one of its libraries called exit(), which a plugin must not do; mininb could not save the result");
	end_now(STATUS_FAILED);
}

void
ending_begin(void)
{
	bool is_first = process == 0;
	process = getpid();
	is_meant = false;
	if (!is_first)
		return;
	nb_catch_faults(say);
	atexit(catch_end);
	at_quick_exit(catch_end);
}

void
ending_end(int status)
{
	int number;
	is_meant = true;
	if (!nb_run_left(&number))
		exit(status);
	if (number != 0 && number != SIGBUS) {
		signal(number, SIG_DFL);
		raise(number);
	}
	end_now(status);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER
#endif

#ifndef HAS_SANITIZER /* sanitizers have their own _exit() */
__attribute__((visibility("default"))) void
_exit(int status)
{
	catch_end();
	end_now(status);
}

__attribute__((visibility("default"))) void
_Exit(int status)
{
	_exit(status);
}
#endif
