/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_READS_H
#define FASTER_READS_H
/**
 * Asynchronous reads of the log's file. A session can have many reads in flight while its thread
 * continues.
 *
 * Where the system supports io_uring, each session has a ring, which its first read creates. One
 * system call then submits any number of reads. Otherwise all sessions share some threads that
 * call pread(2). The caller must take each started read before it frees the memory of the read.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file.h"

enum { READS_AUTO, READS_RING, READS_THREADS };

struct read {
	uint64_t offset; /* a multiple of the block size, like `size` and `data` */
	size_t size;
	void *data;
	size_t got; /* less than `size` at the end of the file */
	int error;  /* errno */
	struct reads *reads;
	struct read *next;
};

struct reads;
struct readers;

/** The threads. The first read that needs them starts them. Returns NULL if out of memory. */
struct readers *
readers_new(struct file *file);

void
readers_delete(struct readers *readers);

/**
 * The reads of a session. `room`: maximum number in flight. `how`: READS_*. Returns NULL if out
 * of memory.
 */
struct reads *
reads_new(struct file *file, struct readers *readers, unsigned room, int how);

/** Delete after waiting for the reads in flight. */
void
reads_delete(struct reads *reads);

/**
 * Start a read. False, with errno set: `room` reads are in flight, or the ring (READS_RING) or the
 * first thread (READS_THREADS) cannot be created. READS_AUTO falls back to threads.
 */
bool
reads_start(struct reads *reads, struct read *read);

/**
 * Submit the started reads, and take the finished ones. Waits up to the timeout until at least
 * one is finished. Returns a list linked by `next`; NULL: none.
 */
struct read *
reads_take(struct reads *reads, uint64_t timeout_ns);

unsigned
reads_in_flight(const struct reads *reads);

/** 0, or the errno of a failure after which no more reads arrive. */
int
reads_error(const struct reads *reads);

#endif /* FASTER_READS_H */
