/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_HEAP_H
#define FPTREE_HEAP_H
/**
 * The space within a pool: leaves, and blobs for what does not fit into one.
 *
 * It is taken from libpmemobj in extents of some hundred KiB, each of which holds
 * objects of one size. Only that an extent is there is durable (libpmemobj's own
 * allocation is atomic, and it can list its objects); which of its objects are used
 * is known in memory alone. An open learns it from the tree: what is reachable is
 * used, all else is free, so no crash can leak. In return no allocation writes to
 * the pool, and the usual one is a pop from the session's own list.
 *
 * Blobs above HEAP_BLOB_MAX are objects of libpmemobj's own, which an open frees if
 * it finds them unreachable.
 *
 * Offsets count bytes from pool->base and are multiples of 16, those of leaves of
 * PM_LINE; 0 is no object.
 *
 * Threads: a cache is its session's; everything else that takes a struct heap is safe
 * from any thread after heap_recovered(), and belongs to the opening thread before.
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool.h"

struct heap;
struct heap_cache;

enum { HEAP_BLOB_MAX = 32 << 10 };

struct heap_stats {
	uint64_t bytes;       /* taken from libpmemobj */
	uint64_t leaves;      /* handed out: what waits with epochs is among them */
	uint64_t leaves_free; /* in extents, and held by caches */
	uint64_t blobs;       /* likewise handed out, huge ones included */
	uint64_t blob_bytes;  /* that they take */
	uint64_t extents; /* allocations from libpmemobj since open: extents and huge blobs */
};

/**
 * Look at all that is allocated in the pool. Everything is taken for unreachable
 * until it is marked. leaf_bytes: a multiple of PM_LINE. Fails where an object is none of ours.
 */
int
heap_open(struct heap **out, struct pool *pool, size_t leaf_bytes);

/** Frees the memory; the pool keeps what it has. No cache is open. */
void
heap_close(struct heap *heap);

/**
 * The leaf, or the blob, at that offset is used. False: no such object is there, or
 * it was marked before; the pool is damaged then.
 */
bool
heap_mark_leaf(struct heap *heap, uint64_t offset);
bool
heap_mark_blob(struct heap *heap, uint64_t offset);

/** Most bytes that a blob at that offset could have; 0: there can be none. Before the next. */
uint64_t
heap_blob_room(const struct heap *heap, uint64_t offset);

/**
 * All is marked. What is unreachable becomes free: huge blobs and extents with
 * nothing in them go back to libpmemobj. Fails where libpmemobj does, or memory ends.
 */
int
heap_recovered(struct heap *heap);

/** A session's lists. NULL: out of memory. Any thread. */
struct heap_cache *
heap_cache_new(struct heap *heap);

/** Gives back what it holds. NULL: nothing. */
void
heap_cache_delete(struct heap_cache *cache);

/**
 * Space for a leaf, for a blob of `size` > 0 bytes; what is in it is undefined. 0: host->fail()
 * was called; the pool is full (the text names pool_size), or the file system is.
 */
uint64_t
heap_leaf_new(struct heap_cache *cache);
uint64_t
heap_blob_new(struct heap_cache *cache, size_t size);

/** Nobody can see it, and nothing durable points to it. Of any session's making. */
void
heap_leaf_free(struct heap_cache *cache, uint64_t offset);
void
heap_blob_free(struct heap_cache *cache, uint64_t offset);

/** Any thread, at any time after heap_recovered(); exact when no session is in a call. */
void
heap_stats(const struct heap *heap, struct heap_stats *stats);

#endif /* FPTREE_HEAP_H */
