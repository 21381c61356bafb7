/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_HEARTBEAT_H
#define RUN_HEARTBEAT_H
/**
 * The position of a thread inside the engine: the verb and the operation. The thread records it
 * with plain stores. A watcher uses it to detect a hang, and the message about a crash prints
 * it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEARTBEAT_TEXT = 256 };

/* In place of the worker's index. */
#define HEARTBEAT_DATABASE UINT32_MAX

/**
 * Only its own thread writes it, except the watcher's members. Others may read the atomic
 * members at any time, and the rest while that thread is known to stand still. All zero is a
 * valid heartbeat of an idle thread.
 */
struct heartbeat {
	/* verb, or the activity that calls it; NULL: outside the engine; atomic */
	const char *call;
	uint64_t steps;       /* begun calls that `done` does not count; atomic */
	const uint64_t *done; /* finished operations, atomic; NULL: none */
	uint32_t worker;      /* its index, or HEARTBEAT_DATABASE */
	uint32_t spare_u32;
	/*
	 * Write "put, operation 12 (key 6b6579)" for the call, which may have returned by now.
	 * NULL: the name of the call is used.
	 */
	void (*describe)(
		const struct heartbeat *heartbeat, const char *call, char *buf, size_t size);
	/* the watcher's own */
	const char *seen_call;
	uint64_t seen, since_ns, looked_ns;
};

/** Before one call, or before many that `done` counts. `call` is a literal. */
static inline void
heartbeat_enter(struct heartbeat *heartbeat, const char *call)
{
	uint64_t steps = __atomic_load_n(&heartbeat->steps, __ATOMIC_RELAXED) + 1;
	__atomic_store_n(&heartbeat->steps, steps, __ATOMIC_RELAXED);
	__atomic_store_n(&heartbeat->call, call, __ATOMIC_RELEASE);
}

/** After the call; or when the thread waits for something outside the engine. */
static inline void
heartbeat_leave(struct heartbeat *heartbeat)
{
	__atomic_store_n(&heartbeat->call, NULL, __ATOMIC_RELEASE);
}

/**
 * Whether the thread has been in one call, or at one operation, for `limit_ns`. Call it more
 * often than that, always on the same thread. A gap between two checks counts for at most one
 * second.
 */
bool
heartbeat_is_overdue(struct heartbeat *heartbeat, uint64_t now_ns, uint64_t limit_ns);

/** Write "in put, operation 12 (key 6b6579), worker 0" into buf. Unknown parts are omitted. */
void
heartbeat_describe(const struct heartbeat *heartbeat, char *buf, size_t size);

/** Format a key for a message: its text, or its bytes in hexadecimal. Long keys are cut. */
void
heartbeat_format_key(char *buf, size_t size, const void *key, size_t key_size);

#endif /* RUN_HEARTBEAT_H */
