/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TARGET_GUARD_H
#define TARGET_GUARD_H
/**
 * A process between mininb and a server, which ends the server and all that the server has
 * started: when it is told to, when mininb ends in any way, kill -9 included, and when the server
 * itself ends. All on the thread that started it, or another that takes turns with it.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/words.h"

/** Another user, as whom a server runs. */
struct guard_user {
	uid_t uid;
	gid_t gid, groups[64];
	int group_count;
};

/** What is started, and how it is stopped. Borrowed until guard_start() returns. */
struct guard_ask {
	const char *program; /* a file */
	const struct words *words;
	const char *directory;         /* it works there */
	const char *log;               /* file to which its output is appended */
	const cpu_set_t *cpus;         /* NULL: any */
	const struct guard_user *user; /* NULL: ours */
	int stop_signal;
	const char *stop_program;       /* NULL: by the signal */
	const struct words *stop_words; /* of stop_program */
	uint64_t stop_timeout_ns;       /* after which it is killed */
	const char
		*scratch; /* directory that is removed with its files at the end; NULL: none */
	int lock;         /* file that stays open, and so locked, until the end; -1: none */
};

/** Where the start of a server failed. */
enum { GUARD_USER = 1, GUARD_DIRECTORY, GUARD_CPUS, GUARD_EXEC };

struct guard {
	pid_t pid, server; /* 0: not started */
	int orders, reports;
	bool has_ended; /* the server */
	int status;     /* of its end, as of waitpid() */
	int failed_at;  /* GUARD_*, and then its errno; 0: it was started */
	int cause;
};

/** Start; whether the program could be executed is told by guard_look(). */
NB_MUST_CHECK int
guard_start(struct guard *guard, const struct guard_ask *ask);

/** Whether the server has ended, or could not be started. Cheap; no wait. */
bool
guard_look(struct guard *guard);

/** Have the server stopped, without waiting for that. */
void
guard_order_stop(struct guard *guard);

/** Wait until the server has ended and the guard is gone, which it is soon: see stop_timeout_ns. */
void
guard_await(struct guard *guard);

#endif /* TARGET_GUARD_H */
