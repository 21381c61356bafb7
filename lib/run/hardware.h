/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RUN_HARDWARE_H
#define RUN_HARDWARE_H
/** What the processor counts of this process, by perf_event_open(2). */
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

/** One descriptor for each event, -1: not to be had. */
struct hardware {
	int fds[HARDWARE_EVENTS];
	char missing[96]; /* what is not counted, and why; "" */
};

/** Begin to count this thread, and all threads that are made from here on. */
void
hardware_open(struct hardware *hardware);

/** Count nothing, and say why. */
void
hardware_leave_out(struct hardware *hardware, const char *why);

void
hardware_close(struct hardware *hardware);

/**
 * What has been counted so far. Bit 1 << event of what is returned: known. `read_bytes` and
 * `reads` are raised by what that took of the process's own read(2).
 */
uint32_t
hardware_read(const struct hardware *hardware, uint64_t counts[HARDWARE_EVENTS],
	uint64_t *read_bytes, uint64_t *reads);

#endif /* RUN_HARDWARE_H */
