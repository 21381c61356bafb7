/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H
/** Requests to stop: SIGINT, SIGTERM, SIGHUP, and SIGXCPU. */
#include <sys/types.h>

/** Catch them, for the whole process and those that it forks. */
void
interrupt_catch(void);

/**
 * From here on there is something measured, or soon will be: a second request gives the process
 * a moment to write it. Before, it ends the process at once.
 */
void
interrupt_hold(void);

/** Why, to be appended to a message; "" if that is known. */
const char *
interrupt_reason(void);

/** The requests that a child has been sent so far. */
struct interrupt_passed {
	int requests;
	long long second_ns; /* when the second was sent */
};

/**
 * Pass them on to a child that writes results of its own; in each look of its parent. It is
 * killed if it does not end soon after the second.
 */
void
interrupt_pass_on(struct interrupt_passed *passed, pid_t child);

#endif /* CLI_INTERRUPT_H */
