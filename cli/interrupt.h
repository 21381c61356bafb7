/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H
/** Requests to stop: SIGINT, SIGTERM, SIGHUP and SIGXCPU. */
#include <stdbool.h>
#include <sys/types.h>

/** Catches them, in this process and its children. */
void
interrupt_catch(void);

/**
 * Call it before measuring: from then on a second request leaves the process time to write.
 * Before, a second request ends it at once.
 */
void
interrupt_hold(void);

/** The cause, to append to a message; "" for a signal of the user. */
const char *
interrupt_reason(void);

/**
 * Waits until the child ends; returns its status as of waitpid(). Passes requests on to it, and
 * kills it if it does not end soon after a second request. Calls `look` about once a second.
 */
int
interrupt_wait(pid_t child, void (*look)(void *arg, bool is_stopping), void *arg);

#endif /* CLI_INTERRUPT_H */
