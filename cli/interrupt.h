/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H
/** Requests to stop: SIGINT, SIGTERM, SIGHUP and SIGXCPU. */
#include <stdbool.h>
#include <sys/types.h>

/** Catches the requests in this process and its children. */
void
interrupt_catch(void);

/**
 * Call it before measuring. From then on a second request leaves the process time to write;
 * before, a second request ends it at once.
 */
void
interrupt_hold(void);

/** The cause, to append to a message; "" for a signal of the user. */
const char *
interrupt_reason(void);

/**
 * Waits until the child ends; returns its status as of waitpid(). Forwards requests to the
 * child, and kills it if it does not end soon after a second request. Calls `look`, which
 * returns the number of ms until its next call; INTERRUPT_LOOK_MS does not disturb
 * measurements.
 */
int
interrupt_wait(pid_t child, int (*look)(void *arg, bool is_stopping), void *arg);

enum { INTERRUPT_LOOK_MS = 1000 };

#endif /* CLI_INTERRUPT_H */
