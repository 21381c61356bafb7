/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_HARDWARE_H
#define RUN_HARDWARE_H
/** Hardware counters of the processor for this process, by perf_event_open(2). */
#include <stdint.h>

enum {
	HARDWARE_CYCLES,
	HARDWARE_INSTRUCTIONS,
	HARDWARE_CACHE_REFERENCES,
	HARDWARE_CACHE_MISSES,
	HARDWARE_BRANCHES,
	HARDWARE_BRANCH_MISSES,
	HARDWARE_EVENTS
};

/** One file descriptor per event, -1: not available. */
struct hardware {
	int fds[HARDWARE_EVENTS];
	char missing[96]; /* events that are not counted, and the reason; "": none */
};

/** Begin to count this thread, and all threads that are created from now on. */
void
hardware_open(struct hardware *hardware);

/** Count nothing, for the reason `why`. */
void
hardware_leave_out(struct hardware *hardware, const char *why);

void
hardware_close(struct hardware *hardware);

/**
 * Read the counts so far. Returns bits 1 << event of the known ones. Adds the process's own
 * read(2) calls and bytes for this to `reads` and `read_bytes`.
 */
uint32_t
hardware_read(const struct hardware *hardware, uint64_t counts[HARDWARE_EVENTS],
	uint64_t *read_bytes, uint64_t *reads);

#endif /* RUN_HARDWARE_H */
