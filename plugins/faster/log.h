/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FASTER_LOG_H
#define FASTER_LOG_H
/**
 * The hybrid log: one address space whose newest part is in memory.
 *
 *   begin     head        safe_read_only   read_only        tail
 *     |  on    |  in memory,  |   fuzzy:      |   mutable:    |
 *     | storage|  immutable   | some sessions | changed in    |
 *     |        |              | still change  | place         |
 *
 * Pages in memory are frames of a ring. The flusher, a thread of the log, frees frames before
 * the tail needs them:
 * - It moves `read_only` towards the tail.
 * - It waits until every session has left the epoch that it was in. The region before
 *   `read_only` is then immutable.
 * - It writes the region, and moves `head`.
 *
 * A session reads `head` and `read_only` inside its epoch, once for each operation. These values
 * remain valid until it leaves the epoch: frames from `head` on stay in memory, and the flusher
 * writes no record from `read_only` on.
 *
 * A seal covers all items since the previous seal. Each page begins with one, and log_flush()
 * appends one, which is a cut. Recovery reads up to the first wrong seal, and uses the log up to
 * the last cut before that. The log before a cut is a consistent prefix of the operations of
 * each session:
 * - One compare-and-swap of the tail gives the cut its address and the log a new version.
 * - A session that allocates an address after the cut waits until `read_only` is after the cut.
 * - So a session that sees a record after the cut changes no record before it.
 * - It does not append one before the cut, either: a session uses its chunk only if `floor`, which
 *   moves with `read_only`, is not after it.
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
	uint64_t version;  /* of the last cut whose read_only is published */
	uint64_t floor;    /* no new record before it: at least read_only */
	uint64_t capacity; /* bytes of the ring that may be used */
	uint64_t limit;    /* maximum bytes of the log on storage; 0: none */
	size_t chunk_size; /* see log_allocate_in(); 0: no chunks */

	uint64_t tail __attribute__((aligned(128))); /* address and version, see log.c */

	uint64_t safe_head __attribute__((aligned(128))); /* frames before it are free */
	uint64_t flushed; /* the log before it is sealed and written */
	uint64_t durable; /* the log before it is also synced */

	const struct nb_host *host;
	struct epochs *epochs;
	struct file *file;
	uint64_t mutable_size; /* intended distance of read_only from the tail */
	bool is_durable;       /* writes wait for a flush; every flush ends with a cut */
	bool is_synced;        /* log_wait_for_flush() also waits for a sync */
	uint32_t opening;

	pthread_mutex_t flushing; /* held by the thread that moves the regions */
	unsigned waiting;         /* atomic: number of threads that wait for `flushing` */
	uint64_t seals;           /* number of seals; needs `flushing` */
	uint64_t seal_checksum;   /* of the last seal; needs `flushing` */
	void *bounce;             /* a block; needs `flushing` */
	pthread_mutex_t lock;     /* protects the following fields */
	pthread_cond_t wake;      /* the flusher has work or must stop */
	pthread_cond_t moved;     /* a region has moved, or the log has failed */
	bool is_woken, is_stopping, is_flush_wanted;
	bool has_failed; /* also atomic: read without the lock */
	char error[256];
	pthread_t flusher;

	/* Counters. Writers of the first two hold `flushing`, those of `waits` hold `lock`. */
	uint64_t flushes, flushed_bytes, waits;
};

struct log_args {
	uint64_t capacity; /* bytes of memory: a multiple of the page size, at least 8 pages */
	uint64_t page_size;
	double mutable_fraction;
	uint64_t limit; /* 0: none */
	bool is_durable, is_synced;
};

/** Open an empty log, without starting its flusher. Returns NB_OK or a failure. */
int
log_open(struct log *log, const struct nb_host *host, struct epochs *epochs, struct file *file,
	const struct log_args *args);

/** The end of a seal. */
struct cut {
	uint64_t address;
	uint64_t checksum; /* of the seal, and so of the log before it */
	uint64_t seals;    /* number of seals up to it */
};

/**
 * Continue at `tail`. Reads as many of the newest pages as fit into memory. Call it before the
 * flusher runs. Returns NB_OK or a failure.
 */
int
log_resume(struct log *log, uint64_t begin, const struct cut *tail);

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

/** Results of log_allocate() that are not an address. */
enum {
	LOG_WAIT = 1,    /* no free frame: leave the epoch, log_wait_for_room(), try again */
	LOG_FULL = 2,    /* the log has reached its limit on storage */
	LOG_TOO_LONG = 3 /* does not fit into a page */
};

/**
 * Allocate `size` bytes, a multiple of 8. Returns their address, or LOG_*. Call it inside an
 * epoch, and fill the bytes before leaving it.
 */
uint64_t
log_allocate(struct log *log, size_t size);

/** A part of the log that one session fills. Its unused rest is a filler. */
struct log_chunk {
	uint64_t at, end; /* the rest */
};

/**
 * Allocate in the chunk, after the address `after`. Returns 0 if it has no room, or is before
 * `after` or `floor`. Call it inside an epoch, and fill the bytes before leaving it.
 */
static inline uint64_t
log_take(struct log *log, struct log_chunk *chunk, size_t size, uint64_t after)
{
	uint64_t at = chunk->at;

	if (at < log_read(&log->floor) || at <= after || size > chunk->end - at)
		return 0;
	chunk->at = at + size;
	if (chunk->at != chunk->end)
		racy_store64(log_at(log, chunk->at), filler_of(chunk->end - chunk->at));
	return at;
}

/**
 * Like log_allocate(), for a record that has `after` as previous one in its chain. Small records
 * come from the chunk of the session, or from a new one. So sessions do not write to the same
 * cache lines, and seldom to the tail.
 */
uint64_t
log_allocate_in(struct log *log, struct log_chunk *chunk, size_t size, uint64_t after);

/** Like log_allocate(), without the limit on storage: for the copies of a compaction. */
uint64_t
log_allocate_anyway(struct log *log, size_t size);

/** Wait until a frame may be free. Call it outside any epoch. Returns NB_OK or a failure. */
int
log_wait_for_room(struct log *log);

/**
 * Wait until the record at `address` is immutable. Call it outside any epoch. Returns NB_OK or a
 * failure.
 */
int
log_wait_for_safety(struct log *log, uint64_t address);

/**
 * Flush the log up to `address`, or wait until another thread has; with is_synced, also sync it.
 * Call it outside any epoch. Returns NB_OK or a failure.
 */
int
log_wait_for_flush(struct log *log, uint64_t address);

/** Ask the flusher for the flush that log_wait_for_flush() needs. Never waits for it. */
void
log_ask_for_flush(struct log *log);

/**
 * Append a cut and write the log up to it; with `is_synced`, also sync it. Call it outside any
 * epoch. Returns NB_OK or a failure.
 */
int
log_flush(struct log *log, bool is_synced);

/**
 * Like log_flush(). Sets *cut to a cut that is written. `is_paced`: pause between the writes,
 * because sessions work; but not while another thread has to move the regions.
 */
int
log_cut(struct log *log, bool is_synced, bool is_paced, struct cut *cut);

/**
 * Returns an address near the tail where a page begins or a cut ends: the end of its seal. All
 * records before it are linked. Sessions append no others there, but still change these in place.
 * Call it outside any epoch.
 */
uint64_t
log_bound(struct log *log);

/** Discard the log before `begin`. Waits for all sessions: call it outside any epoch. */
void
log_truncate(struct log *log, uint64_t begin);

/** Report the error text of a log that has failed. Returns NB_FAIL. */
int
log_fail(struct log *log);

/**
 * The checksum of a seal and of the `bytes` that it covers. `previous`: that of the previous seal;
 * 0 for the first one. So the checksum depends on the whole log before the seal.
 */
uint64_t
seal_checksum(const struct seal *seal, const void *bytes, size_t size, uint64_t previous);

#endif /* FASTER_LOG_H */
