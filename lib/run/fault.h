/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_FAULT_H
#define RUN_FAULT_H
/**
 * Crashes and exit() calls of an engine on threads other than the reporting one. The thread is
 * held, so that the measurement can still be reported.
 */
#include <stdbool.h>
#include <stddef.h>

#include "run/heartbeat.h"

enum { FAULT_NONE = 0, FAULT_EXIT = -1 /* other values are signal numbers */ };

/** The signal stack of a thread, whose own stack may have overflowed. */
struct fault_stack {
	void *memory; /* NULL: the thread already has one, or the allocation failed */
	size_t size;
};

/** At the begin and the end of a thread that may call the engine. */
void
fault_enter_thread(struct fault_stack *stack);
void
fault_leave_thread(struct fault_stack *stack);

/** Set the heartbeat that describes this thread from now on; NULL: none. */
void
fault_set_heartbeat(struct heartbeat *heartbeat);

/**
 * Between the two, faults of other threads are kept for this thread, which checks fault_seen().
 * One run at a time.
 */
void
fault_begin(void);
void
fault_end(void);

/**
 * FAULT_NONE, or how a thread ended: FAULT_EXIT or a signal number. *heartbeat is the position
 * of the thread and no longer changes. NULL: a thread of the engine's own.
 */
int
fault_seen(const struct heartbeat **heartbeat);

/**
 * For a process without a run. Before the process dies of a fault or by exit(), it sets *where
 * to the heartbeat of the thread. It does so only if *where is NULL and the thread is inside a
 * call. *where may be in shared memory, like heartbeats.
 */
void
fault_note_to(const struct heartbeat **where);

/** "SIGSEGV"; "a call of exit()". */
const char *
fault_name(int fault);

/** Restore the signal handlers, in a child that is to die of its own faults. */
void
fault_release(void);

#endif /* RUN_FAULT_H */
