/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TARGET_GUARD_H
#define TARGET_GUARD_H
/**
 * The guard: a process between mininb and a server. It ends the server and all processes
 * that the server has started: on request, when mininb ends in any way (kill -9 included),
 * and when the server itself ends. Threads: call all functions on one thread at a time.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/words.h"

/** The user as which a server runs, if not ours. */
struct guard_user {
	uid_t uid;
	gid_t gid, groups[64];
	int group_count;
};

/**
 * The command that is started, and the way to stop it. Borrowed until guard_start()
 * returns.
 */
struct guard_ask {
	const char *program; /* path of the file */
	const struct words *words;
	const char *directory;         /* working directory */
	const char *log;               /* file to which its output is appended */
	const cpu_set_t *cpus;         /* NULL: any CPU */
	const struct guard_user *user; /* NULL: our user */
	int stop_signal;
	const char *stop_program;       /* NULL: stop it with stop_signal */
	const struct words *stop_words; /* for stop_program */
	uint64_t stop_timeout_ns;       /* after it, the server is killed */
	/* directory that is removed with its files at the end; NULL: none */
	const char *scratch;
	/* locked file that stays open, and so locked, until the end; -1: none */
	int lock;
};

/** The step at which the start of a server failed. */
enum { GUARD_USER = 1, GUARD_DIRECTORY, GUARD_CPUS, GUARD_EXEC };

struct guard {
	pid_t pid, server; /* 0: not started */
	int orders, reports;
	bool has_ended; /* of the server */
	int status;     /* of the server's end, as from waitpid() */
	int failed_at;  /* GUARD_* if the start failed, and `cause` is its errno; else 0 */
	int cause;
};

/** Start the guard. guard_look() reports whether the program could be executed. */
NB_MUST_CHECK int
guard_start(struct guard *guard, const struct guard_ask *ask);

/** Whether the server has ended, or could not be started. Cheap; does not wait. */
bool
guard_look(struct guard *guard);

/** Request that the server is stopped; does not wait. */
void
guard_order_stop(struct guard *guard);

/**
 * Wait until the server and the guard have ended, at most about stop_timeout_ns after the
 * request.
 */
void
guard_await(struct guard *guard);

#endif /* TARGET_GUARD_H */
