/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_RING_H
#define FASTER_RING_H
/**
 * io_uring(7) for reads, by its three system calls and its shared memory: that is all that is
 * needed of liburing. One thread uses a ring.
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

/** 0, or errno: the system has none, or forbids it. */
int
ring_open(struct ring *ring, unsigned room);

void
ring_close(struct ring *ring);

/** Queue it. The caller counts: no more than `room` are in flight. */
void
ring_add(struct ring *ring, int fd, struct read *read);

/** Send what is queued, and wait for one that is done if `timeout_ns` is not 0. 0, or errno. */
int
ring_enter(struct ring *ring, uint64_t timeout_ns);

/** One that is done, its result in `got` or `error`; or NULL. */
struct read *
ring_next(struct ring *ring);

#endif /* FASTER_RING_H */
