/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLAB_H
#define SLAB_H
/**
 * Memory for the nodes and records of mininb's own engines: objects of up to SLAB_MAX bytes
 * in size classes. They come from regions for which the allocator requests huge pages.
 * Objects have no header: the caller knows their size. Objects of a class that is a multiple
 * of 64 bytes (64, 128, 192, 256) are aligned to a cache line.
 *
 * Each session allocates from its own cache, without a lock and without shared cache lines.
 * Batches of free objects pass from one cache to another under a lock. Only slab_delete()
 * returns memory to the kernel. malloc() allocates larger objects, and all objects if
 * `is_malloc` is set.
 *
 * Under AddressSanitizer malloc() allocates every object, so that it detects each use after
 * free.
 *
 * Threads: a cache belongs to its session.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SLAB_MAX = 4096, SLAB_CLASSES = 56 };

struct slab;

/** Free objects of one class: up to two batches, each linked through its objects. */
struct slab_class {
	void *free, *spare;
	char *fresh, *fresh_end; /* never used */
	uint32_t free_count, spare_count;
};

struct slab_cache {
	struct slab *slab;
	struct slab_class classes[SLAB_CLASSES];
};

struct slab_options {
	bool is_malloc; /* no regions */
	bool is_small;  /* request small pages from the kernel */
};

/** Returns NULL if out of memory. */
struct slab *
slab_new(const struct slab_options *options);

/**
 * Returns all regions to the kernel. The caller must have freed all objects from malloc();
 * see slab_has_loose().
 */
void
slab_delete(struct slab *slab);

/** Whether some objects come from malloc(). slab_delete() would not free them. */
bool
slab_has_loose(const struct slab *slab);

/** Bytes of the slabs in use and of the objects from malloc(). Any thread. */
uint64_t
slab_bytes(const struct slab *slab);

void
slab_cache_open(struct slab_cache *cache, struct slab *slab);

/** Passes the cache's free objects to the other caches. */
void
slab_cache_close(struct slab_cache *cache);

/** Returns NULL if out of memory. `size` > 0. The bytes are undefined. */
void *
slab_alloc(struct slab_cache *cache, size_t size);

/** `size` must be the allocated size. */
void
slab_free(struct slab_cache *cache, void *object, size_t size);

#endif /* SLAB_H */
