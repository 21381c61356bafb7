/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_RING_H
#define FASTER_RING_H
/**
 * io_uring(7) for reads, through its system calls and shared memory, without liburing. Only one
 * thread may use a ring.
 */
#include <stdbool.h>
#include <stdint.h>

struct read;

struct ring {
	int fd; /* -1: closed */
	unsigned room;
	unsigned unsent;
	unsigned *sq_tail, *sq_mask, *cq_head, *cq_tail, *cq_mask;
	unsigned *sq_array;
	void *sqes, *cqes, *rings;
	unsigned long rings_size, sqes_size;
};

/** Returns 0, or errno: the system does not support or allow io_uring. */
int
ring_open(struct ring *ring, unsigned room);

void
ring_close(struct ring *ring);

/** Queue a read. The caller ensures that at most `room` reads are in flight. */
void
ring_add(struct ring *ring, int fd, struct read *read);

/**
 * Submit the queued reads. If `timeout_ns` is not 0, wait at most that long for a finished read.
 * Returns 0 or errno.
 */
int
ring_enter(struct ring *ring, uint64_t timeout_ns);

/** A finished read, with its result in `got` or `error`. NULL: none. */
struct read *
ring_next(struct ring *ring);

#endif /* FASTER_RING_H */
