/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_HEARTBEAT_H
#define RUN_HEARTBEAT_H
/**
 * Where a thread that calls the engine is: within which verb, at which operation. The thread notes
 * it by a store here and there, for the watcher that waits for its return, and for the message if
 * it crashes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEARTBEAT_TEXT = 256 };

/* Instead of a worker's number */
#define HEARTBEAT_DATABASE UINT32_MAX

/**
 * Written by its own thread; what is atomic may be read by others at any time, the rest while
 * that thread is known to stand still. Zero is a good heartbeat of a thread that does nothing.
 */
struct heartbeat {
	const char *call; /* verb, or what it is part of; NULL: not within the engine; atomic */
	uint64_t steps;   /* calls begun that `done` does not count; atomic */
	const uint64_t *done; /* operations finished, atomic; NULL: it does none */
	uint32_t worker;      /* or HEARTBEAT_DATABASE */
	uint32_t spare_u32;
	/*
	 * Write "put, operation 12 (key 6b6579)" of that call, which may have returned by now;
	 * NULL: its name will do
	 */
	void (*describe)(
		const struct heartbeat *heartbeat, const char *call, char *buf, size_t size);
	/* the watcher's own */
	const char *seen_call;
	uint64_t seen, since_ns, looked_ns;
};

/** Before a call, or before many that `done` counts. `call` is a literal. */
static inline void
heartbeat_enter(struct heartbeat *heartbeat, const char *call)
{
	uint64_t steps = __atomic_load_n(&heartbeat->steps, __ATOMIC_RELAXED) + 1;
	__atomic_store_n(&heartbeat->steps, steps, __ATOMIC_RELAXED);
	__atomic_store_n(&heartbeat->call, call, __ATOMIC_RELEASE);
}

/** It has returned; or the thread waits for something that is not the engine's. */
static inline void
heartbeat_leave(struct heartbeat *heartbeat)
{
	__atomic_store_n(&heartbeat->call, NULL, __ATOMIC_RELEASE);
}

/**
 * Whether the thread has been within one call, or at one operation, since the look `limit_ns`
 * before this one. To be asked more often than that, always by the same thread; of a time in
 * which it was not asked a second counts.
 */
bool
heartbeat_is_overdue(struct heartbeat *heartbeat, uint64_t now_ns, uint64_t limit_ns);

/** "in put, operation 12 (key 6b6579), worker 0" into buf; what is not known is left out. */
void
heartbeat_describe(const struct heartbeat *heartbeat, char *buf, size_t size);

/** A key as a message has it: its text, or its bytes in hexadecimal; long ones are cut. */
void
heartbeat_format_key(char *buf, size_t size, const void *key, size_t key_size);

#endif /* RUN_HEARTBEAT_H */
