/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_FAULT_H
#define RUN_FAULT_H
/**
 * An engine that crashes, or ends the process, on a thread that is not the one that reports:
 * it is held there, so that what was measured can still be told.
 */
#include <stdbool.h>
#include <stddef.h>

#include "run/heartbeat.h"

enum { FAULT_NONE = 0, FAULT_EXIT = -1 /* beside numbers of signals */ };

/** Room for the signal handlers of a thread, whose own stack may be what has run out. */
struct fault_stack {
	void *memory; /* NULL: it has one already, or none could be had */
	size_t size;
};

/** At the begin and the end of a thread that may call the engine. */
void
fault_enter_thread(struct fault_stack *stack);
void
fault_leave_thread(struct fault_stack *stack);

/** What this thread does from now on is told there; NULL: it does nothing that is told. */
void
fault_set_heartbeat(struct heartbeat *heartbeat);

/**
 * From here until fault_end() faults of other threads are kept for this one, which looks for
 * them by fault_seen(). One run at a time.
 */
void
fault_begin(void);
void
fault_end(void);

/**
 * FAULT_NONE, or how a thread has ended: FAULT_EXIT or the number of a signal. *heartbeat is where
 * it stands, and does no more; NULL: it is a thread of the engine's own.
 */
int
fault_seen(const struct heartbeat **heartbeat);

/**
 * Of a process without a run: before it dies of a fault or by exit(), *where, if it is NULL, is
 * set to the heartbeat of the thread, if that is in a call. It may lie in shared memory, as heartbeats may.
 */
void
fault_note_to(const struct heartbeat **where);

/** "SIGSEGV"; "a call of exit()". */
const char *
fault_name(int fault);

/** Signals are as if none had been caught, in a child that is to die of its own. */
void
fault_release(void);

#endif /* RUN_FAULT_H */
