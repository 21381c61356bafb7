/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the process ends.
 *
 * An engine that crashes within a run is held by the library until all is reported; then the
 * process dies of the same signal, so that there is a core dump, and a shell sees 128 and its
 * number. That of a bus error is status 1 instead: it says that a mapped file has no room or no
 * content, which is no bug that a dump of all that is mapped would help to find.
 *
 * An engine that calls exit() would end the process with its own status, and be taken for one
 * that has succeeded. So exit() that was not asked for here is told, and its status is 1. The
 * same goes for quick_exit(), which has handlers of its own, and for _exit() and _Exit(), which
 * run none: this program has its own, and since names of the program come before those of libc,
 * plugins call these. What asks the kernel directly is not caught; with several engines, or
 * --hang-after, the parent sees it.
 *
 * Rejected: a syscall() of our own, to see SYS_exit_group. Engines wait on futexes and submit
 * their I/O through it, so all of that would pass through here while it is measured; and those
 * that ask in assembly, as liburing does, would still not be seen.
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

static pid_t process; /* whose end is meant; a child that an engine forks may end as it likes */
static bool is_meant;

/** In a signal handler, too. */
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

/** Returns if the end is meant. */
static void
catch_end(void)
{
	nb_fault_exit(); /* knows by itself which process it is, of several of a run */
	if (is_meant || process != getpid())
		return;
	say("exit() was called, which is for no engine and none of its libraries to do; "
	    "nothing "
	    "could be saved");
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

#ifndef HAS_SANITIZER /* which have an _exit() of their own */
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
