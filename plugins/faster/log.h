/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_LOG_H
#define FASTER_LOG_H
/**
 * The hybrid log: one address space, of which the newest part is in memory.
 *
 *   begin     head        safe_read_only   read_only        tail
 *     |  on    |  in memory,  |   fuzzy:      |   mutable:    |
 *     | storage|  immutable   | some sessions | changed in    |
 *     |        |              | still change  | place         |
 *
 * Pages in memory are frames of a ring. The flusher, a thread of the log, moves `read_only`
 * behind the tail, waits until no session is in a call that began before, which makes the
 * region immutable, writes it, and moves `head` before the tail needs the frames.
 *
 * A session reads `head` and `read_only` within its epoch, once for each operation. What they
 * said then holds until it leaves: frames from `head` on stay, and what is from `read_only` on
 * is not written to storage before.
 *
 * Seals make the order of the log a promise. A page begins with one, and log_flush() appends
 * one: it closes all items since the seal before. Recovery takes the log up to the last seal
 * whose checksum is right. The log up to a seal is a consistent prefix of what each session did.
 * For the appended seal takes a place in the log and a new version at once, by one store to the
 * tail, and a session that is given an address behind a seal waits until `read_only` is
 * there, too: so whoever sees an effect behind the seal changes nothing before it.
 */
#include <mininb/engine.h>

#include <pthread.h>

#include "../common/epoch.h"
#include "file.h"
#include "record.h"

struct log {
	/* Read by every operation, written rarely. */
	unsigned char *ring;
	uint64_t ring_mask;
	uint64_t page_size; /* a power of two */
	uint64_t begin, head, read_only, safe_read_only;
	uint64_t version;  /* of the last appended seal whose read_only is published */
	uint64_t capacity; /* of the ring in bytes that may be used */
	uint64_t limit;    /* of the log on storage, in bytes */

	uint64_t tail __attribute__((aligned(128))); /* an address, and a version: see log.c */

	uint64_t safe_head __attribute__((aligned(128))); /* frames before it are free */
	uint64_t flushed; /* what is before it is written, by a seal */
	uint64_t durable; /* and synced */

	const struct nb_host *host;
	struct epochs *epochs;
	struct file *file;
	uint64_t mutable_size; /* how far read_only stays behind the tail */
	bool is_durable;       /* every flush makes a cut */
	bool is_synced;        /* and log_wait_for_flush() waits for a sync */
	uint32_t opening;

	pthread_mutex_t flushing; /* held by the one that moves the regions */
	uint64_t seals;           /* with `flushing`: their number */
	void *bounce;             /* with `flushing`: a block */
	pthread_mutex_t lock;     /* of what follows */
	pthread_cond_t wake;      /* the flusher has work, or is to stop */
	pthread_cond_t moved;     /* a region has moved, or the log has failed */
	bool is_woken, is_stopping, is_flush_wanted;
	bool has_failed; /* atomic too: checked without the lock */
	char error[256];
	pthread_t flusher;

	/* Counters, written with `flushing`. */
	uint64_t flushes, flushed_bytes, waits;
};

struct log_args {
	uint64_t capacity; /* bytes of memory: a multiple of the page size, 8 pages at least */
	uint64_t page_size;
	double mutable_fraction;
	uint64_t limit; /* 0: none */
	bool is_durable, is_synced;
};

/** An empty log. Its flusher does not run yet. */
int
log_open(struct log *log, const struct nb_host *host, struct epochs *epochs, struct file *file,
	const struct log_args *args);

/** Go on at `tail`, the end of seal `seals` - 1, with what fits in memory. Before the flusher runs. */
int
log_resume(struct log *log, uint64_t begin, uint64_t tail, uint64_t seals);

int
log_start_flusher(struct log *log);

void
log_stop_flusher(struct log *log);

void
log_close(struct log *log);

static inline uint64_t *
log_at(const struct log *log, uint64_t address)
{
	return (uint64_t *)(void *)(log->ring + (address & log->ring_mask));
}

static inline uint64_t
log_read(const uint64_t *region)
{
	return __atomic_load_n(region, __ATOMIC_ACQUIRE);
}

static inline uint64_t
log_tail(const struct log *log)
{
	return (log_read(&log->tail) & ADDRESS_MASK) << ADDRESS_SHIFT;
}

/** Answers of log_allocate() that are no address. */
enum {
	LOG_WAIT = 1, /* no frame: leave the epoch, log_wait_for_room(), begin again */
	LOG_FULL = 2, /* the limit on storage is reached */
	LOG_TOO_LONG = 3
};

/** An address for `size` bytes, a multiple of 8. Within an epoch, in which they must be filled. */
uint64_t
log_allocate(struct log *log, size_t size);

/** The same beyond the limit on storage, for copies by which the log gets shorter. */
uint64_t
log_allocate_anyway(struct log *log, size_t size);

/** Until there may be room. Out of any epoch. NB_OK, or a failure. */
int
log_wait_for_room(struct log *log);

/** Until the fuzzy region has no part before `address`. Out of any epoch. */
int
log_wait_for_safety(struct log *log, uint64_t address);

/** Until all up to `address` is flushed, and with is_synced synced. Out of any epoch. */
int
log_wait_for_flush(struct log *log, uint64_t address);

/** Let the flusher do what log_wait_for_flush() waits for. Never waits. */
void
log_ask_for_flush(struct log *log);

/** Seal the log as it is and write it; with `is_synced`, for good. Out of any epoch. */
int
log_flush(struct log *log, bool is_synced);

/** What is before `begin` is not needed any more. */
void
log_truncate(struct log *log, uint64_t begin);

/** The text of a log that has failed. */
int
log_fail(struct log *log);

uint64_t
seal_checksum(const struct seal *seal, const void *bytes, size_t size);

#endif /* FASTER_LOG_H */
