/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_READS_H
#define FASTER_READS_H
/**
 * Asynchronous reads of the log's file: many at once for each session, whose thread goes on.
 *
 * By io_uring where the system has it: a ring for each session, made by its first read, so that
 * a call takes any number of reads to the kernel. Else by some threads that all sessions share
 * and that pread(2). A read that is started must be taken before its memory is freed.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file.h"

enum { READS_AUTO, READS_RING, READS_THREADS };

struct read {
	uint64_t offset; /* a multiple of the block, as the size and the address in memory */
	size_t size;
	void *data;
	size_t got; /* less than `size` at the end of the file */
	int error;  /* errno */
	struct reads *reads;
	struct read *next;
};

struct reads;
struct readers;

/** The threads, which are started by the first session that needs them. NULL: out of memory. */
struct readers *
readers_new(struct file *file);

void
readers_delete(struct readers *readers);

/** Of a session. `room`: most that are in flight. NULL: out of memory. */
struct reads *
reads_new(struct file *file, struct readers *readers, unsigned room, int how);

/** Waits for those that are in flight. */
void
reads_delete(struct reads *reads);

/** False: the room is used up, or with READS_RING the system has no ring; see errno. */
bool
reads_start(struct reads *reads, struct read *read);

/**
 * Send what was started, and take those that are done: at least one, but for the timeout.
 * Linked by `next`; NULL: none.
 */
struct read *
reads_take(struct reads *reads, uint64_t timeout_ns);

unsigned
reads_in_flight(const struct reads *reads);

/** 0, or errno of a failure after which nothing comes any more. */
int
reads_error(const struct reads *reads);

/** Whether this session uses a ring. */
bool
reads_has_ring(const struct reads *reads);

#endif /* FASTER_READS_H */
