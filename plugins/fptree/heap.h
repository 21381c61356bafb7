/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_HEAP_H
#define FPTREE_HEAP_H
/**
 * The space within a pool: leaves, and blobs for records that do not fit into a leaf.
 *
 * The heap takes space from libpmemobj in extents of some hundred KiB. Each extent holds
 * objects of one size. Only the existence of an extent is durable: libpmemobj allocates
 * atomically and can list its objects. Which objects of an extent are used is known only in
 * memory. An open learns it from the tree: reachable objects are used, all others are free.
 * So no crash can leak space. The heap writes nothing to the pool for an object: usually it
 * pops one from the session's own list.
 *
 * A blob above HEAP_BLOB_MAX is an object of libpmemobj by itself. An open frees such a blob
 * if it is unreachable.
 *
 * Offsets count bytes from pool->base. They are multiples of 16, those of leaves multiples of
 * PM_LINE. 0 means that no object exists.
 *
 * Threads: only its session uses a cache. After heap_recovered(), any thread may call the
 * other functions that take a struct heap. Before, only the opening thread may.
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
	uint64_t leaves;      /* allocated, including those that wait for their epoch */
	uint64_t leaves_free; /* in extents and in caches */
	uint64_t blobs;       /* allocated likewise, including huge ones */
	uint64_t blob_bytes;  /* space that the blobs take */
	uint64_t extents; /* allocations from libpmemobj since open: extents and huge blobs */
};

/**
 * List all objects of the pool. Each is unreachable until it is marked. leaf_bytes: a
 * multiple of PM_LINE. Fails if the pool contains an object of another kind, or memory runs
 * out.
 */
int
heap_open(struct heap **out, struct pool *pool, size_t leaf_bytes);

/** Free the memory. The pool keeps its content. No cache may be open. */
void
heap_close(struct heap *heap);

/**
 * Mark the leaf, or the blob, at that offset as used. False: no such object is there, or it
 * is already marked. The pool is then damaged.
 */
bool
heap_mark_leaf(struct heap *heap, uint64_t offset);
bool
heap_mark_blob(struct heap *heap, uint64_t offset);

/**
 * Maximum size of a blob at that offset, in bytes. 0: no blob can be there. Call it before
 * heap_recovered().
 */
uint64_t
heap_blob_room(const struct heap *heap, uint64_t offset);

/**
 * All reachable objects are marked: make all others free. Huge blobs and extents without a
 * marked object go back to libpmemobj.
 */
void
heap_recovered(struct heap *heap);

/** Make the free lists of a session. NULL: out of memory. Any thread. */
struct heap_cache *
heap_cache_new(struct heap *heap);

/** Return the objects in the cache to the heap and free it. NULL: do nothing. */
void
heap_cache_delete(struct heap_cache *cache);

/**
 * Allocate a leaf, or a blob of `size` > 0 bytes; the content is undefined. 0: host->fail()
 * was called, because the pool is full (the text names pool_size) or the file system is.
 */
uint64_t
heap_leaf_new(struct heap_cache *cache);
uint64_t
heap_blob_new(struct heap_cache *cache, size_t size);

/**
 * Free a leaf, or a blob. The caller ensures that no thread can see it and that nothing
 * durable points to it. Any session may have allocated it.
 */
void
heap_leaf_free(struct heap_cache *cache, uint64_t offset);
void
heap_blob_free(struct heap_cache *cache, uint64_t offset);

/** Any thread may call it after heap_recovered(). Exact while no session is in a call. */
void
heap_stats(const struct heap *heap, struct heap_stats *stats);

#endif /* FPTREE_HEAP_H */
