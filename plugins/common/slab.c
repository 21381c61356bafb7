/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slabs. A region is RESERVE bytes of address space. The kernel fills it on first access,
 * with 2 MiB pages if possible. With small pages, a lookup in a large tree misses the TLB at
 * each node. A class takes one slab of some KiB at a time from the newest region, so a small
 * database stays small.
 *
 * Size classes that are an eighth of a power of two apart waste 6 % on average and 12.5 %
 * at most. Regions are not returned before slab_delete(): a tree that shrinks usually grows again.
 */
#include "slab.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "racy.h"

#if defined(__SANITIZE_ADDRESS__)
#define SLAB_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLAB_CHECKED 1
#endif
#endif
#ifndef SLAB_CHECKED
#define SLAB_CHECKED 0
#endif

enum {
	HUGE = 2 << 20,
	RESERVE = 64 << 20,
	SLAB = 16 << 10,
	LINE = 64,
	BATCH_BYTES = 8 << 10, /* passed between caches at once */
	BATCH_MAX = 128
};

struct region {
	struct region *next;
	void *map;
	size_t size;
};

/* A free object, linked to the next one of its list. */
struct freed {
	struct freed *next;
};

struct batch {
	struct batch *next;
	void *first;
	uint32_t count;
};

struct slab {
	bool is_malloc, is_small;
	uint64_t bytes, loose; /* atomic */
	pthread_mutex_t lock;  /* protects the members below */
	struct region *regions;
	char *at, *end; /* free part of the newest region */
	struct batch *batches[SLAB_CLASSES], *unused;
};

/* Classes 8, 16, ... 128, then eight for each power of two. */
static unsigned
class_of(size_t size)
{
	if (size <= 128)
		return (unsigned)((size + 7) / 8 - 1);
	unsigned log = 63 - (unsigned)__builtin_clzll(size - 1);
	return 16 + (log - 7) * 8 + (unsigned)((size - 1) >> (log - 3)) - 8;
}

static size_t
class_size(unsigned class)
{
	return class < 16 ? 8 * ((size_t) class + 1)
			  : ((size_t)(class - 16) % 8 + 9) << ((class - 16) / 8 + 4);
}

static uint32_t
batch_count(size_t size)
{
	size_t count = BATCH_BYTES / size;
	return count < 2 ? 2 : count > BATCH_MAX ? BATCH_MAX : (uint32_t)count;
}

struct slab *
slab_new(const struct slab_options *options)
{
	struct slab *slab = calloc(1, sizeof(*slab));
	if (slab == NULL)
		return NULL;
	if (pthread_mutex_init(&slab->lock, NULL) != 0) {
		free(slab);
		return NULL;
	}
	slab->is_malloc = options->is_malloc || SLAB_CHECKED;
	slab->is_small = options->is_small;
	return slab;
}

void
slab_delete(struct slab *slab)
{
	while (slab->regions != NULL) {
		struct region *region = slab->regions;
		slab->regions = region->next;
		munmap(region->map, region->size);
		free(region);
	}
	for (unsigned class = 0; class < SLAB_CLASSES; class ++)
		while (slab->batches[class] != NULL) {
			struct batch *batch = slab->batches[class];
			slab->batches[class] = batch->next;
			free(batch);
		}
	while (slab->unused != NULL) {
		struct batch *batch = slab->unused;
		slab->unused = batch->next;
		free(batch);
	}
	pthread_mutex_destroy(&slab->lock);
	free(slab);
}

bool
slab_has_loose(const struct slab *slab)
{
	return __atomic_load_n(&slab->loose, __ATOMIC_RELAXED) != 0;
}

uint64_t
slab_bytes(const struct slab *slab)
{
	return __atomic_load_n(&slab->bytes, __ATOMIC_RELAXED);
}

void
slab_cache_open(struct slab_cache *cache, struct slab *slab)
{
	memset(cache, 0, sizeof(*cache));
	cache->slab = slab;
}

/* --- regions, under the lock --- */

static void *
map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

/* If little address space is left, a smaller region suffices. */
static bool
add_region(struct slab *slab)
{
	struct region *region = malloc(sizeof(*region));
	if (region == NULL)
		return false;
	region->size = RESERVE + HUGE;
	region->map = map(region->size);
	if (region->map == NULL) {
		region->size = 2 * HUGE;
		region->map = map(region->size);
	}
	if (region->map == NULL) {
		free(region);
		return false;
	}
	uintptr_t begin = ((uintptr_t)region->map + HUGE - 1) / HUGE * HUGE;
	uintptr_t end = ((uintptr_t)region->map + region->size) / HUGE * HUGE;
	slab->at = (char *)begin;
	slab->end = (char *)end;
	region->next = slab->regions;
	slab->regions = region;
	/* A kernel without huge pages rejects both calls, which is harmless. */
	madvise(slab->at, end - begin, slab->is_small ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
	return true;
}

static bool
take_slab(struct slab *slab, struct slab_class *of, size_t size)
{
	size_t bytes = SLAB / LINE * LINE;
	if (slab->at == slab->end && !add_region(slab))
		return false;
	of->fresh = slab->at;
	of->fresh_end = slab->at + bytes / size * size;
	slab->at += bytes;
	__atomic_fetch_add(&slab->bytes, bytes, __ATOMIC_RELAXED);
	return true;
}

/* --- caches --- */

/* Take a batch that another cache has freed, or unused memory. */
static bool
refill(struct slab_cache *cache, struct slab_class *of, unsigned class)
{
	struct slab *slab = cache->slab;
	bool is_filled = true;

	pthread_mutex_lock(&slab->lock);
	struct batch *batch = slab->batches[class];
	if (batch != NULL) {
		slab->batches[class] = batch->next;
		of->free = batch->first;
		of->free_count = batch->count;
		batch->next = slab->unused;
		slab->unused = batch;
	} else {
		is_filled = take_slab(slab, of, class_size(class));
	}
	pthread_mutex_unlock(&slab->lock);
	return is_filled;
}

static void *
alloc_loose(struct slab *slab, size_t size)
{
	size_t whole = (size + LINE - 1) / LINE * LINE;
	void *object = size % LINE == 0 ? aligned_alloc(LINE, whole) : malloc(size);

	if (object != NULL) {
		__atomic_fetch_add(&slab->bytes, size, __ATOMIC_RELAXED);
		__atomic_fetch_add(&slab->loose, 1, __ATOMIC_RELAXED);
	}
	return object;
}

static void
free_loose(struct slab *slab, void *object, size_t size)
{
	__atomic_fetch_sub(&slab->bytes, size, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&slab->loose, 1, __ATOMIC_RELAXED);
	free(object);
}

void *
slab_alloc(struct slab_cache *cache, size_t size)
{
	if (size > SLAB_MAX || cache->slab->is_malloc)
		return alloc_loose(cache->slab, size);
	unsigned class = class_of(size);
	struct slab_class *of = &cache->classes[class];
	for (;;) {
		struct freed *object = of->free;
		if (object != NULL) {
			of->free = object->next;
			of->free_count--;
			return object;
		}
		if (of->spare != NULL) {
			of->free = of->spare;
			of->free_count = of->spare_count;
			of->spare = NULL;
			continue;
		}
		if (of->fresh != of->fresh_end) {
			void *fresh = of->fresh;
			of->fresh += class_size(class);
			return fresh;
		}
		if (!refill(cache, of, class))
			return NULL;
	}
}

/* Pass the spare batch to the other caches, if there is memory to record it. */
static void
pass_on(struct slab *slab, struct slab_class *of, unsigned class)
{
	pthread_mutex_lock(&slab->lock);
	struct batch *batch = slab->unused;
	if (batch != NULL)
		slab->unused = batch->next;
	else
		batch = malloc(sizeof(*batch));
	if (batch != NULL) {
		*batch = (struct batch){slab->batches[class], of->spare, of->spare_count};
		slab->batches[class] = batch;
		of->spare = NULL;
	}
	pthread_mutex_unlock(&slab->lock);
}

/* The free list becomes the spare batch. */
static void
make_room(struct slab *slab, struct slab_class *of, unsigned class)
{
	if (of->spare != NULL)
		pass_on(slab, of, class);
	if (of->spare != NULL)
		return;
	of->spare = of->free;
	of->spare_count = of->free_count;
	of->free = NULL;
	of->free_count = 0;
}

void
slab_free(struct slab_cache *cache, void *object, size_t size)
{
	if (size > SLAB_MAX || cache->slab->is_malloc) {
		free_loose(cache->slab, object, size);
		return;
	}
	unsigned class = class_of(size);
	struct slab_class *of = &cache->classes[class];
	if (of->free_count >= batch_count(class_size(class)))
		make_room(cache->slab, of, class);
	((struct freed *)object)->next = of->free;
	of->free = object;
	of->free_count++;
}

void
slab_cache_close(struct slab_cache *cache)
{
	for (unsigned class = 0; class < SLAB_CLASSES; class ++) {
		struct slab_class *of = &cache->classes[class];

		while (of->fresh != of->fresh_end) {
			char *object = of->fresh;
			of->fresh += class_size(class);
			slab_free(cache, object, class_size(class));
		}
		while (of->free != NULL || of->spare != NULL) {
			make_room(cache->slab, of, class);
			if (of->free !=
				NULL) /* out of memory: the objects are lost until slab_delete() */
				break;
		}
	}
}
