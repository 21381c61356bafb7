/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The space within a pool, allocated by size.
 *
 * Each size has a bin with a lock: the extents of that size that have free pieces. A session
 * takes a batch of pieces from a bin at a time. It gives a batch back when it holds two. So
 * an allocation usually is a pop from the session's own list, and a free is a push. A free
 * piece in a bin is a bit of its extent. So a new extent has no list to fill, and giving
 * pieces back needs no memory. The bits are those that an open has marked.
 *
 * Sizes of blobs go in steps of 16 bytes up to 256, then in steps of an eighth of the power
 * of two below. So rounding wastes at most an eighth. Steps of a half would waste up to a
 * third.
 *
 * Crash safety: only libpmemobj writes to the pool here. Its allocations are whole or absent
 * (see extent.c). A crash can only leave space that is allocated and unreachable. The next
 * open does not mark this space, so it is free. An extent without marked pieces and an
 * unmarked huge blob go back to libpmemobj. A freed object may be used again at once, because
 * the caller has durably unlinked it.
 *
 * Lock order: a bin's lock, then that of the extents or libpmemobj's own. A thread that takes
 * the lock of the caches holds no other.
 */
#include "heap.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "extent.h"

enum {
	FINE_MAX = 256, /* blobs up to this size go by FINE_STEP */
	FINE_STEP = 16,
	FINE_CLASSES = FINE_MAX / FINE_STEP,
	STEPS = 8,                          /* classes from one power of two to the next */
	CLASSES = FINE_CLASSES + 7 * STEPS, /* 256 to HEAP_BLOB_MAX is 7 doublings */
	LEAVES = CLASSES, /* the bin of the leaves; the others are for blobs */
	BINS,

	BLOB_BATCH = 32,
	LEAF_BATCH = 16,
	BATCH_BYTES = 128 << 10, /* limits the size of a session's lists */

	SMALL_POOL = 64 << 20, /* bytes; a smaller pool has smaller extents */
	LEAVES_MIN = 8,        /* minimum for an extent, in any pool */
	OBJECT_HEADER = 16     /* of libpmemobj, in each object */
};

/* The sizes of extents. A chunk of libpmemobj has 256 KiB. */
enum {
	CHUNK_BYTES = 256 << 10,
	LEAVES_BYTES = 512 << 10,
	BLOBS_BYTES = 256 << 10,
	SMALL_BYTES = 64 << 10
};

struct bin {
	pthread_mutex_t lock;
	struct extent *first, *last; /* extents with free pieces */
	enum extent_kind kind;
	uint32_t piece_bytes;
	uint32_t batch;
	size_t extent_bytes;
} __attribute__((aligned(128)));

/* Allocated objects. Each number may wrap around below 0, modulo 2^64. */
struct tally {
	uint64_t leaves, blobs, blob_bytes;
};

struct stock {
	uint32_t count;
	uint64_t at[2 * BLOB_BATCH];
};

struct heap_cache {
	struct tally tally; /* of this session; it may free objects of other sessions */
	struct heap *heap;
	struct heap_cache *next, **self; /* in the list of the heap */
	struct stock stocks[BINS];
} __attribute__((aligned(128)));

/* A huge blob that the open has found. */
struct huge {
	PMEMoid object;
	bool is_marked;
};

struct heap {
	struct bin bins[BINS];
	struct pool *pool;
	struct extents extents;
	struct huge *huge; /* by offset; until heap_recovered() */
	size_t huge_count, huge_room;
	uint64_t bytes, leaf_room, allocations; /* atomic */
	pthread_mutex_t lock;                   /* protects the list of caches and `tally` */
	struct heap_cache *caches;
	struct tally tally; /* objects found at open, and tallies of deleted caches */
};

/* The class of a blob of 1..HEAP_BLOB_MAX bytes. */
static unsigned
class_of(size_t size)
{
	if (size <= FINE_MAX)
		return (unsigned)(size - 1) / FINE_STEP;
	unsigned last = (unsigned)size - 1; /* 2^top <= last < 2^(top + 1) */
	unsigned top = 31 - (unsigned)__builtin_clz(last);
	return FINE_CLASSES + (top - 8) * STEPS + (last >> (top - 3)) % STEPS;
}

static uint32_t
class_bytes(unsigned index)
{
	if (index < FINE_CLASSES)
		return (index + 1) * FINE_STEP;
	unsigned doubling = (index - FINE_CLASSES) / STEPS;
	return (STEPS + index % STEPS + 1) << (doubling + 5);
}

static uint32_t
smaller(size_t a, size_t b)
{
	return (uint32_t)(a < b ? a : b);
}

static void
bin_open(struct bin *bin, enum extent_kind kind, size_t piece_bytes, size_t extent_bytes)
{
	pthread_mutex_init(&bin->lock, NULL);
	bin->kind = kind;
	bin->piece_bytes = (uint32_t)piece_bytes;
	bin->extent_bytes = extent_bytes - OBJECT_HEADER;
	bin->batch = smaller(
		kind == EXTENT_LEAVES ? LEAF_BATCH : BLOB_BATCH, BATCH_BYTES / piece_bytes);
	if (bin->batch < 2)
		bin->batch = 2;
}

static void
bins_open(struct heap *heap, size_t leaf_bytes)
{
	bool is_small = heap->pool->reserved_bytes < SMALL_POOL;
	size_t leaves = is_small ? SMALL_BYTES : LEAVES_BYTES;
	size_t least = LEAVES_MIN * leaf_bytes + 2 * PM_LINE;

	if (leaves < least)
		leaves = (least + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
	bin_open(&heap->bins[LEAVES], EXTENT_LEAVES, leaf_bytes, leaves);
	for (unsigned i = 0; i < CLASSES; i++)
		bin_open(&heap->bins[i], EXTENT_BLOBS, class_bytes(i),
			is_small ? SMALL_BYTES : BLOBS_BYTES);
}

static void
bin_append(struct bin *bin, struct extent *extent)
{
	extent->next = NULL;
	extent->is_listed = true;
	if (bin->first == NULL)
		bin->first = extent;
	else
		bin->last->next = extent;
	bin->last = extent;
}

static void
bin_remove_first(struct bin *bin)
{
	bin->first->is_listed = false;
	bin->first = bin->first->next;
}

static void
count_taken(struct heap *heap, const struct extent *extent, uint64_t sign)
{
	__atomic_fetch_add(&heap->bytes, sign * extent->bytes, __ATOMIC_RELAXED);
	if (extent->kind == EXTENT_LEAVES)
		__atomic_fetch_add(
			&heap->leaf_room, sign * extent->piece_count, __ATOMIC_RELAXED);
}

static int
find_extent(struct heap *heap, PMEMoid object)
{
	struct extent *extent = extent_found(&heap->extents, object);

	if (extent == NULL)
		return NB_FAIL;
	count_taken(heap, extent, 1);
	extent->user_u32 = LEAVES;
	if (extent->kind == EXTENT_BLOBS)
		extent->user_u32 = class_of(smaller(extent->piece_bytes, HEAP_BLOB_MAX));
	if (heap->bins[extent->user_u32].piece_bytes != extent->piece_bytes)
		return heap->pool->host->fail(NB_FAIL,
			"the pool in %s is damaged: the extent at %#llx has objects of %u bytes",
			heap->pool->directory, (unsigned long long)object.off,
			extent->piece_bytes);
	return NB_OK;
}

/* The limit of bytes also ends a damaged list that leads back to a blob that was found. */
static int
find_huge(struct heap *heap, PMEMoid object)
{
	uint64_t bytes = pmemobj_alloc_usable_size(object), most = heap->pool->reserved_bytes;

	if (bytes <= HEAP_BLOB_MAX || bytes > most || heap->bytes + bytes > most)
		return heap->pool->host->fail(NB_FAIL,
			"the pool in %s is damaged: with the blob of %llu bytes at %#llx, its objects have more bytes than the pool, or the blob is too small; delete the pool to make a new one",
			heap->pool->directory, (unsigned long long)bytes,
			(unsigned long long)object.off);
	if (heap->huge_count == heap->huge_room) {
		size_t room = heap->huge_room == 0 ? 64 : 2 * heap->huge_room;
		struct huge *moved = realloc(heap->huge, room * sizeof(*moved));
		if (moved == NULL)
			return heap->pool->host->fail(NB_FAIL, "no memory for the blobs of %s",
				heap->pool->directory);
		heap->huge = moved;
		heap->huge_room = room;
	}
	heap->huge[heap->huge_count++] = (struct huge){.object = object};
	heap->bytes += bytes;
	return NB_OK;
}

static int
find_object(struct heap *heap, PMEMoid object)
{
	switch (pmemobj_type_num(object)) {
	case EXTENT_LEAVES:
	case EXTENT_BLOBS:
		return find_extent(heap, object);
	case EXTENT_HUGE:
		return find_huge(heap, object);
	default:
		return heap->pool->host->fail(NB_FAIL,
			"the pool in %s has an object at %#llx that fptree did not make",
			heap->pool->directory, (unsigned long long)object.off);
	}
}

static int
by_offset(const void *a, const void *b)
{
	uint64_t first = ((const struct huge *)a)->object.off;
	uint64_t second = ((const struct huge *)b)->object.off;

	return (first > second) - (first < second);
}

/* Huge blobs share no byte with an extent or with each other. They are in order. */
static int
check_huge(const struct heap *heap)
{
	uint64_t end = 0;

	for (size_t i = 0; i < heap->huge_count; i++) {
		PMEMoid object = heap->huge[i].object;
		uint64_t begin = object.off;

		if (begin < end ||
			extents_are_in(&heap->extents, begin,
				begin + pmemobj_alloc_usable_size(object)))
			return heap->pool->host->fail(NB_FAIL,
				"the pool in %s is damaged: the blob at %#llx overlaps another object",
				heap->pool->directory, (unsigned long long)begin);
		end = begin + pmemobj_alloc_usable_size(object);
	}
	return NB_OK;
}

int
heap_open(struct heap **out, struct pool *pool, size_t leaf_bytes)
{
	assert(leaf_bytes > 0 && leaf_bytes % PM_LINE == 0);
	struct heap *heap = aligned_alloc(_Alignof(struct heap), sizeof(*heap));

	if (heap == NULL)
		return pool->host->fail(
			NB_FAIL, "no memory for the heap of %s", pool->directory);
	memset(heap, 0, sizeof(*heap));
	heap->pool = pool;
	int rc = extents_open(&heap->extents, pool);
	if (rc != NB_OK)
		goto free_heap;
	pthread_mutex_init(&heap->lock, NULL);
	bins_open(heap, leaf_bytes);
	PMEMoid object = pmemobj_first(pool->obj);
	for (; rc == NB_OK && !OID_IS_NULL(object); object = pmemobj_next(object))
		rc = find_object(heap, object);
	if (rc == NB_OK && heap->huge_count > 0) {
		qsort(heap->huge, heap->huge_count, sizeof(*heap->huge), by_offset);
		rc = check_huge(heap);
	}
	if (rc != NB_OK)
		goto close_heap;
	*out = heap;
	return NB_OK;

close_heap:
	heap_close(heap);
	return rc;
free_heap:
	free(heap);
	return rc;
}

void
heap_close(struct heap *heap)
{
	assert(heap->caches == NULL);
	for (unsigned i = 0; i < BINS; i++)
		pthread_mutex_destroy(&heap->bins[i].lock);
	pthread_mutex_destroy(&heap->lock);
	extents_close(&heap->extents);
	free(heap->huge);
	free(heap);
}

bool
heap_mark_leaf(struct heap *heap, uint64_t offset)
{
	struct extent *extent = extent_at(&heap->extents, offset);

	if (extent == NULL || extent->kind != EXTENT_LEAVES || !extent_mark(extent, offset))
		return false;
	heap->tally.leaves++;
	return true;
}

static struct huge *
find_huge_at(const struct heap *heap, uint64_t offset)
{
	struct huge wanted = {.object.off = offset};

	return heap->huge_count == 0
		? NULL
		: bsearch(&wanted, heap->huge, heap->huge_count, sizeof(wanted), by_offset);
}

uint64_t
heap_blob_room(const struct heap *heap, uint64_t offset)
{
	const struct extent *extent = extent_at(&heap->extents, offset);
	const struct huge *huge = extent != NULL ? NULL : find_huge_at(heap, offset);

	if (extent != NULL)
		return extent->kind == EXTENT_BLOBS ? extent->end - offset : 0;
	return huge != NULL ? pmemobj_alloc_usable_size(huge->object) : 0;
}

static bool
mark_huge(struct heap *heap, uint64_t offset)
{
	struct huge *huge = find_huge_at(heap, offset);

	if (huge == NULL || huge->is_marked)
		return false;
	huge->is_marked = true;
	heap->tally.blobs++;
	heap->tally.blob_bytes += pmemobj_alloc_usable_size(huge->object);
	return true;
}

bool
heap_mark_blob(struct heap *heap, uint64_t offset)
{
	struct extent *extent = extent_at(&heap->extents, offset);

	if (extent == NULL)
		return mark_huge(heap, offset);
	if (extent->kind != EXTENT_BLOBS || !extent_mark(extent, offset))
		return false;
	heap->tally.blobs++;
	heap->tally.blob_bytes += extent->piece_bytes;
	return true;
}

static void
drop_unmarked_huge(struct heap *heap)
{
	for (size_t i = 0; i < heap->huge_count; i++) {
		struct huge *huge = &heap->huge[i];
		if (huge->is_marked)
			continue;
		heap->bytes -= pmemobj_alloc_usable_size(huge->object);
		pmemobj_free(&huge->object);
	}
	free(heap->huge);
	heap->huge = NULL;
	heap->huge_count = heap->huge_room = 0;
}

void
heap_recovered(struct heap *heap)
{
	struct extent *next;

	for (struct extent *extent = heap->extents.all; extent != NULL; extent = next) {
		next = extent->next_of_all;
		if (extent->used_count == 0) {
			count_taken(heap, extent, UINT64_MAX);
			extent_drop(&heap->extents, extent);
		} else if (extent->used_count < extent->piece_count) {
			bin_append(&heap->bins[extent->user_u32], extent);
		}
	}
	drop_unmarked_huge(heap);
}

struct heap_cache *
heap_cache_new(struct heap *heap)
{
	struct heap_cache *cache = aligned_alloc(_Alignof(struct heap_cache), sizeof(*cache));

	if (cache == NULL)
		return NULL;
	memset(cache, 0, sizeof(*cache));
	cache->heap = heap;
	pthread_mutex_lock(&heap->lock);
	cache->next = heap->caches;
	cache->self = &heap->caches;
	if (cache->next != NULL)
		cache->next->self = &cache->next;
	heap->caches = cache;
	pthread_mutex_unlock(&heap->lock);
	return cache;
}

/* Fill the empty stock with a batch, in descending order: the lowest offset is popped first. */
static bool
stock_fill(struct heap *heap, struct stock *stock, unsigned index)
{
	struct bin *bin = &heap->bins[index];
	uint64_t taken[BLOB_BATCH];
	size_t count = 0;

	pthread_mutex_lock(&bin->lock);
	if (bin->first == NULL) {
		struct extent *extent = extent_new(
			&heap->extents, bin->kind, bin->piece_bytes, bin->extent_bytes);
		if (extent != NULL) {
			extent->user_u32 = index;
			count_taken(heap, extent, 1);
			__atomic_fetch_add(&heap->allocations, 1, __ATOMIC_RELAXED);
			bin_append(bin, extent);
		}
	}
	while (count < bin->batch && bin->first != NULL) {
		struct extent *extent = bin->first;
		count += extent_take(extent, taken + count, bin->batch - count);
		if (extent->used_count == extent->piece_count)
			bin_remove_first(bin);
	}
	pthread_mutex_unlock(&bin->lock);
	for (size_t i = 0; i < count; i++)
		stock->at[i] = taken[count - 1 - i];
	stock->count = (uint32_t)count;
	return count > 0;
}

/* Give the oldest `count` pieces back; the others were used more recently. */
static void
stock_return(struct heap *heap, struct stock *stock, unsigned index, uint32_t count)
{
	struct bin *bin = &heap->bins[index];

	pthread_mutex_lock(&bin->lock);
	for (uint32_t i = 0; i < count; i++) {
		struct extent *extent = extent_at(&heap->extents, stock->at[i]);
		assert(extent != NULL && extent->user_u32 == index);
		extent_give(extent, stock->at[i]);
		if (!extent->is_listed)
			bin_append(bin, extent);
	}
	pthread_mutex_unlock(&bin->lock);
	stock->count -= count;
	memmove(stock->at, stock->at + count, stock->count * sizeof(*stock->at));
}

static uint64_t
take(struct heap_cache *cache, unsigned index)
{
	struct stock *stock = &cache->stocks[index];

	if (stock->count == 0 && !stock_fill(cache->heap, stock, index))
		return 0;
	return stock->at[--stock->count];
}

static void
give(struct heap_cache *cache, unsigned index, uint64_t offset)
{
	struct stock *stock = &cache->stocks[index];
	uint32_t batch = cache->heap->bins[index].batch;

	if (stock->count == 2 * batch)
		stock_return(cache->heap, stock, index, batch);
	stock->at[stock->count++] = offset;
}

static void
add_tally(struct tally *sum, const struct tally *tally)
{
	sum->leaves += __atomic_load_n(&tally->leaves, __ATOMIC_RELAXED);
	sum->blobs += __atomic_load_n(&tally->blobs, __ATOMIC_RELAXED);
	sum->blob_bytes += __atomic_load_n(&tally->blob_bytes, __ATOMIC_RELAXED);
}

void
heap_cache_delete(struct heap_cache *cache)
{
	if (cache == NULL)
		return;
	struct heap *heap = cache->heap;
	for (unsigned i = 0; i < BINS; i++) {
		struct stock *stock = &cache->stocks[i];
		if (stock->count > 0)
			stock_return(heap, stock, i, stock->count);
	}
	pthread_mutex_lock(&heap->lock);
	*cache->self = cache->next;
	if (cache->next != NULL)
		cache->next->self = cache->self;
	add_tally(&heap->tally, &cache->tally);
	pthread_mutex_unlock(&heap->lock);
	free(cache);
}

uint64_t
heap_leaf_new(struct heap_cache *cache)
{
	uint64_t offset = take(cache, LEAVES);

	if (offset != 0)
		count_one(&cache->tally.leaves);
	return offset;
}

void
heap_leaf_free(struct heap_cache *cache, uint64_t offset)
{
	count_more(&cache->tally.leaves, (uint64_t)-1);
	give(cache, LEAVES, offset);
}

static uint64_t
huge_new(struct heap_cache *cache, size_t size)
{
	struct heap *heap = cache->heap;
	PMEMoid object = extents_huge_new(&heap->extents, size);

	if (OID_IS_NULL(object))
		return 0;
	uint64_t bytes = pmemobj_alloc_usable_size(object);
	__atomic_fetch_add(&heap->bytes, bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&heap->allocations, 1, __ATOMIC_RELAXED);
	count_one(&cache->tally.blobs);
	count_more(&cache->tally.blob_bytes, bytes);
	return object.off;
}

static void
huge_free(struct heap_cache *cache, uint64_t offset)
{
	struct heap *heap = cache->heap;
	PMEMoid object = pmemobj_oid(heap->pool->base + offset);
	uint64_t bytes = pmemobj_alloc_usable_size(object);

	assert(pmemobj_type_num(object) == EXTENT_HUGE);
	count_more(&cache->tally.blobs, (uint64_t)-1);
	count_more(&cache->tally.blob_bytes, -bytes);
	__atomic_fetch_sub(&heap->bytes, bytes, __ATOMIC_RELAXED);
	pmemobj_free(&object);
}

uint64_t
heap_blob_new(struct heap_cache *cache, size_t size)
{
	assert(size > 0);
	if (size > HEAP_BLOB_MAX)
		return huge_new(cache, size);
	unsigned index = class_of(size);
	uint64_t offset = take(cache, index);
	if (offset != 0) {
		count_one(&cache->tally.blobs);
		count_more(&cache->tally.blob_bytes, class_bytes(index));
	}
	return offset;
}

void
heap_blob_free(struct heap_cache *cache, uint64_t offset)
{
	const struct extent *extent = extent_at(&cache->heap->extents, offset);

	if (extent == NULL) {
		huge_free(cache, offset);
		return;
	}
	count_more(&cache->tally.blobs, (uint64_t)-1);
	count_more(&cache->tally.blob_bytes, -(uint64_t)extent->piece_bytes);
	give(cache, extent->user_u32, offset);
}

/* A free in one session may already be counted, but the allocation in another not yet. */
static uint64_t
at_least_none(uint64_t sum)
{
	return (int64_t)sum < 0 ? 0 : sum;
}

void
heap_stats(const struct heap *heap, struct heap_stats *stats)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&heap->lock;
	struct tally sum = {0};

	pthread_mutex_lock(lock);
	add_tally(&sum, &heap->tally);
	for (const struct heap_cache *cache = heap->caches; cache != NULL; cache = cache->next)
		add_tally(&sum, &cache->tally);
	pthread_mutex_unlock(lock);
	uint64_t room = __atomic_load_n(&heap->leaf_room, __ATOMIC_RELAXED);
	*stats = (struct heap_stats){
		.bytes = __atomic_load_n(&heap->bytes, __ATOMIC_RELAXED),
		.leaves = at_least_none(sum.leaves),
		.leaves_free = room > at_least_none(sum.leaves) ? room - sum.leaves : 0,
		.blobs = at_least_none(sum.blobs),
		.blob_bytes = at_least_none(sum.blob_bytes),
		.extents = __atomic_load_n(&heap->allocations, __ATOMIC_RELAXED),
	};
}
