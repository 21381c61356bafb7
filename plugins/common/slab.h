/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLAB_H
#define SLAB_H
/**
 * Memory for the nodes and records of an engine of ours: objects of up to SLAB_MAX bytes, in
 * classes of sizes, from regions that the kernel is asked to back with huge pages. Objects have
 * no header: the caller knows each one's size. An object whose class is a multiple of 64 bytes
 * (64, 128, 192, 256) is aligned to a cache line.
 *
 * Each session allocates from a cache of its own, without a lock and without shared cache
 * lines; batches of free objects pass from one cache to another under a lock. Memory goes back
 * to the kernel only in slab_delete(). Larger objects, and with `is_malloc` all, are malloc's.
 *
 * Under AddressSanitizer every object is malloc's, so that it sees each use after a free.
 *
 * Threads: a cache is its session's.
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
	bool is_small;  /* the kernel is asked for small pages */
};

/** NULL: out of memory. */
struct slab *
slab_new(const struct slab_options *options);

/** Gives all regions back. What malloc made must have been freed: see slab_has_loose(). */
void
slab_delete(struct slab *slab);

/** Some objects are malloc's, and slab_delete() would not free them. */
bool
slab_has_loose(const struct slab *slab);

/** Bytes that were mapped, and malloc's. Any thread. */
uint64_t
slab_bytes(const struct slab *slab);

void
slab_cache_open(struct slab_cache *cache, struct slab *slab);

/** Its free objects are for the others. */
void
slab_cache_close(struct slab_cache *cache);

/** NULL: out of memory. `size` > 0. The bytes are undefined. */
void *
slab_alloc(struct slab_cache *cache, size_t size);

/** `size` as it was allocated. */
void
slab_free(struct slab_cache *cache, void *object, size_t size);

#endif /* SLAB_H */
