/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Extents and the map of their positions.
 *
 * Crash safety. libpmemobj allocates an object whole or not at all. It runs our constructor,
 * which makes the header durable, before the object can be found. So each extent that an open
 * finds has its header, its only durable information. A crash between the allocation and the
 * first use of a piece leaves an extent without reachable pieces. The open finds it and gives
 * it back. A crash while an extent is given back leaves it or removes it; nothing in it was
 * reachable.
 *
 * The map. The pool is divided into places of 32 KiB, which is less than an extent has. So at
 * most one extent begins in a place, and at most one other reaches into it from before. Two
 * pointers a place answer for any offset. A place that was never used is never touched, so
 * the map of a large pool costs only addresses. A search in a sorted array would need a lock,
 * or a copy for each new extent.
 *
 * libpmemobj allocates objects smaller than a chunk (256 KiB) from runs of some MiB, one for
 * each of its size classes and arenas. With these classes, a pool of 128 MiB with blobs of 32
 * KiB to 256 KiB was full when 22 MiB of it were used. So this engine has one class for all
 * sizes: units of 4 KiB, several for an object.
 */
#include "extent.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PLACE_SHIFT = 15,
	OBJECT_HEADER = 16, /* header of libpmemobj */
	SMALLEST_BYTES = (64 << 10) - OBJECT_HEADER,
	CHUNK_BYTES = (256 << 10) - OBJECT_HEADER, /* maximum size within a chunk */
	ALIGN = 16,
	WORD_BITS = 64
};

struct extent_place {
	struct extent *begins;  /* the extent that begins here */
	struct extent *reaches; /* the extent that reaches into it from before */
};

/* The beginning of the object. Part of the layout. */
struct header {
	uint64_t kind;
	uint64_t piece_bytes;
};

struct construction {
	struct pm pm;
	struct header header;
};

/* The number of an allocation class; libpmemobj's own have low numbers. A run of it is a MiB. */
enum { CLASS = 200 };
#define CLASS_NAME "heap.alloc_class.200.desc"

static const struct pobj_alloc_class_desc units = {
	.unit_size = 4096,
	.units_per_block = 254,
	.header_type = POBJ_HEADER_COMPACT,
	.class_id = CLASS,
};

/* EEXIST: an earlier extents_open() on this pool has set the class. 0: libpmemobj chooses one. */
static uint64_t
class_flag(PMEMobjpool *obj)
{
	struct pobj_alloc_class_desc desc = units;

	if (pmemobj_ctl_set(obj, CLASS_NAME, &desc) != 0 && errno != EEXIST)
		return 0;
	return POBJ_CLASS_ID((uint64_t)CLASS);
}

int
extents_open(struct extents *extents, struct pool *pool)
{
	*extents = (struct extents){.pool = pool};
	extents->last = &extents->all;
	extents->class_flag = class_flag(pool->obj);
	extents->place_count = (pool->reserved_bytes >> PLACE_SHIFT) + 1;
	extents->places = calloc(extents->place_count, sizeof(*extents->places));
	if (extents->places == NULL)
		return pool->host->fail(
			NB_FAIL, "no memory for the map of %s", pool->directory);
	pthread_mutex_init(&extents->lock, NULL);
	return NB_OK;
}

void
extents_close(struct extents *extents)
{
	struct extent *next;

	for (struct extent *extent = extents->all; extent != NULL; extent = next) {
		next = extent->next_of_all;
		free(extent);
	}
	pthread_mutex_destroy(&extents->lock);
	free(extents->places);
}

static uint64_t
round_up(uint64_t offset, uint64_t to)
{
	return (offset + to - 1) / to * to;
}

static void
point(struct extent **at, struct extent *to)
{
	__atomic_store_n(at, to, __ATOMIC_RELEASE);
}

/* Other threads may be reading the map. `to`: the extent, or NULL to remove it from the map. */
static void
put_on_map(struct extents *extents, const struct extent *extent, struct extent *to)
{
	size_t first = extent->begin >> PLACE_SHIFT;
	size_t last = (extent->end - 1) >> PLACE_SHIFT;

	for (size_t i = first + 1; i <= last; i++)
		point(&extents->places[i].reaches, to);
	point(&extents->places[first].begins, to);
}

static bool
reaches_into(const struct extent *extent, uint64_t from, uint64_t to)
{
	return extent != NULL && extent->object.off < to && from < extent->end;
}

bool
extents_are_in(const struct extents *extents, uint64_t from, uint64_t to)
{
	/* A header may be in the place before the pieces, so look at one place more. */
	for (size_t i = from >> PLACE_SHIFT;
		i <= ((to - 1) >> PLACE_SHIFT) + 1 && i < extents->place_count; i++) {
		const struct extent_place *place = &extents->places[i];

		if (reaches_into(__atomic_load_n(&place->begins, __ATOMIC_ACQUIRE), from, to) ||
			reaches_into(
				__atomic_load_n(&place->reaches, __ATOMIC_ACQUIRE), from, to))
			return true;
	}
	return false;
}

/*
 * False: the extent lies outside the pool's reservation or on another extent, or has no
 * pieces.
 */
static bool
add(struct extents *extents, struct extent *extent)
{
	if (extent->piece_count == 0 ||
		(extent->end - 1) >> PLACE_SHIFT >= extents->place_count ||
		extents->places[extent->begin >> PLACE_SHIFT].begins != NULL ||
		extents_are_in(extents, extent->object.off, extent->end))
		return false;
	put_on_map(extents, extent, extent);
	pthread_mutex_lock(&extents->lock);
	extent->self_of_all = extents->last;
	*extents->last = extent;
	extents->last = &extent->next_of_all;
	pthread_mutex_unlock(&extents->lock);
	return true;
}

static struct extent *
describe(struct extents *extents, PMEMoid object, enum extent_kind kind, uint64_t piece_bytes)
{
	const struct pool *pool = extents->pool;
	uint64_t bytes = pmemobj_alloc_usable_size(object), end = object.off + bytes;
	uint64_t begin = round_up(
		object.off + sizeof(struct header), kind == EXTENT_LEAVES ? PM_LINE : ALIGN);
	uint64_t count = end > begin ? (end - begin) / piece_bytes : 0;
	uint64_t words = (count + WORD_BITS - 1) / WORD_BITS;
	struct extent *extent = calloc(1, sizeof(*extent) + words * sizeof(uint64_t));

	if (extent == NULL) {
		pool->host->fail(NB_FAIL, "no memory for an extent of %s", pool->directory);
		return NULL;
	}
	extent->begin = begin;
	extent->end = begin + count * piece_bytes;
	extent->kind = kind;
	extent->piece_bytes = (uint32_t)piece_bytes;
	extent->piece_count = (uint32_t)count;
	extent->object = object;
	extent->bytes = bytes;
	if (add(extents, extent))
		return extent;
	pool->host->fail(NB_FAIL, "the extent at %#llx lies where none can be in %s",
		(unsigned long long)object.off, pool->directory);
	free(extent);
	return NULL;
}

static int
construct(PMEMobjpool *obj, void *at, void *to)
{
	struct construction *construction = to;

	(void)obj;
	pm_copy(at, &construction->header, sizeof(construction->header));
	pm_flush(&construction->pm, at, sizeof(construction->header));
	pm_fence(&construction->pm);
	return construction->pm.error;
}

/* If the pool has no room for another run, allocate the object as a chunk of its own. */
static bool
object_try(const struct extents *extents, PMEMoid *object, enum extent_kind kind, size_t size,
	pmemobj_constr constructor, void *to)
{
	PMEMobjpool *obj = extents->pool->obj;

	if (size < CHUNK_BYTES) {
		if (pmemobj_xalloc(
			    obj, object, size, kind, extents->class_flag, constructor, to) == 0)
			return true;
		if (errno != ENOMEM)
			return false;
		size = CHUNK_BYTES;
	}
	return pmemobj_alloc(obj, object, size, kind, constructor, to) == 0;
}

static bool
object_new(const struct extents *extents, PMEMoid *object, enum extent_kind kind, size_t size,
	pmemobj_constr constructor, void *to)
{
	struct pool *pool = extents->pool;

	for (;;) {
		unsigned growths = __atomic_load_n(&pool->growths, __ATOMIC_ACQUIRE);
		if (object_try(extents, object, kind, size, constructor, to))
			return true;
		if (errno != ENOMEM || !pool_grow(pool, growths))
			return false;
	}
}

/* Report why libpmemobj did not allocate, from errno and libpmemobj's own text. */
static void
tell_why(const struct pool *pool, size_t bytes)
{
	int code = errno;
	int growth_error = __atomic_load_n(&pool->growth_error, __ATOMIC_RELAXED);
	const char *text = growth_error != 0 ? strerror(growth_error) : pmemobj_errormsg();

	if (code != ENOMEM)
		pool->host->fail(NB_FAIL, "pmemobj_alloc of %zu bytes in %s: %s", bytes,
			pool->directory, text);
	else if (growth_error != 0 ||
		strstr(text, "new part") != NULL) /* the pool could not grow */
		pool->host->fail(NB_FAIL,
			"the file system has no room for another file of the pool in %s (%s)",
			pool->directory, text);
	else
		pool->host->fail(NB_FAIL,
			"the pool in %s is full (%llu MiB): give a larger -o pool_size=",
			pool->directory, (unsigned long long)(pool->reserved_bytes >> 20));
}

/* Try `bytes`, then half of it, and so on while the pool has no room. */
static bool
allocate(struct extents *extents, PMEMoid *object, struct construction *construction,
	size_t bytes)
{
	size_t least = construction->header.piece_bytes + sizeof(struct header) + PM_LINE;

	if (least < SMALLEST_BYTES)
		least = SMALLEST_BYTES;
	for (size_t size = bytes;; size /= 2) {
		if (size < least)
			size = least;
		if (object_new(extents, object, (enum extent_kind)construction->header.kind,
			    size, construct, construction))
			return true;
		if (errno != ENOMEM || size == least)
			break;
	}
	tell_why(extents->pool, bytes);
	return false;
}

struct extent *
extent_new(struct extents *extents, enum extent_kind kind, size_t piece_bytes, size_t bytes)
{
	struct construction construction = {
		.pm = {.flush = extents->pool->flush},
		.header = {.kind = kind, .piece_bytes = piece_bytes},
	};
	PMEMoid object = OID_NULL;

	if (!allocate(extents, &object, &construction, bytes))
		return NULL;
	struct extent *extent = describe(extents, object, kind, piece_bytes);
	if (extent == NULL)
		pmemobj_free(&object);
	else
		pool_use_huge_pages(extents->pool, extent->end);
	return extent;
}

PMEMoid
extents_huge_new(struct extents *extents, size_t bytes)
{
	PMEMoid object = OID_NULL;

	if (!object_new(extents, &object, EXTENT_HUGE, bytes, NULL, NULL)) {
		tell_why(extents->pool, bytes);
		return OID_NULL;
	}
	return object;
}

struct extent *
extent_found(struct extents *extents, PMEMoid object)
{
	const struct header *header = (const struct header *)(extents->pool->base + object.off);
	uint64_t kind = pmemobj_type_num(object), size = pmemobj_alloc_usable_size(object);

	if (kind == header->kind && header->piece_bytes > 0 &&
		header->piece_bytes % ALIGN == 0 && header->piece_bytes < size)
		return describe(extents, object, (enum extent_kind)kind, header->piece_bytes);
	extents->pool->host->fail(NB_FAIL,
		"the pool in %s is damaged: the extent at %#llx has a wrong header",
		extents->pool->directory, (unsigned long long)object.off);
	return NULL;
}

void
extent_drop(struct extents *extents, struct extent *extent)
{
	*extent->self_of_all = extent->next_of_all;
	if (extent->next_of_all == NULL)
		extents->last = extent->self_of_all;
	else
		extent->next_of_all->self_of_all = extent->self_of_all;
	put_on_map(extents, extent, NULL);
	pmemobj_free(&extent->object);
	free(extent);
}

struct extent *
extent_at(const struct extents *extents, uint64_t offset)
{
	size_t index = offset >> PLACE_SHIFT;

	if (index >= extents->place_count)
		return NULL;
	const struct extent_place *place = &extents->places[index];
	struct extent *extent = __atomic_load_n(&place->begins, __ATOMIC_ACQUIRE);
	if (extent == NULL || offset < extent->begin)
		extent = __atomic_load_n(&place->reaches, __ATOMIC_ACQUIRE);
	return extent != NULL && offset < extent->end ? extent : NULL;
}

static uint32_t
piece_at(const struct extent *extent, uint64_t offset)
{
	return (uint32_t)(offset - extent->begin) / extent->piece_bytes;
}

bool
extent_mark(struct extent *extent, uint64_t offset)
{
	uint32_t piece = piece_at(extent, offset);
	uint64_t *word = &extent->used[piece / WORD_BITS];
	uint64_t bit = (uint64_t)1 << piece % WORD_BITS;

	if (offset != extent->begin + (uint64_t)piece * extent->piece_bytes ||
		(*word & bit) != 0)
		return false;
	*word |= bit;
	extent->used_count++;
	return true;
}

size_t
extent_take(struct extent *extent, uint64_t *offsets, size_t room)
{
	size_t count = 0;

	while (count < room && extent->used_count < extent->piece_count) {
		uint64_t *word = &extent->used[extent->first_word];
		if (*word == UINT64_MAX) {
			extent->first_word++;
			continue;
		}
		uint32_t piece = extent->first_word * WORD_BITS +
			(uint32_t)__builtin_ctzll(~*word);
		*word |= *word + 1;
		extent->used_count++;
		offsets[count++] = extent->begin + (uint64_t)piece * extent->piece_bytes;
	}
	return count;
}

void
extent_give(struct extent *extent, uint64_t offset)
{
	uint32_t piece = piece_at(extent, offset), index = piece / WORD_BITS;
	uint64_t bit = (uint64_t)1 << piece % WORD_BITS;

	assert(offset == extent->begin + (uint64_t)piece * extent->piece_bytes);
	assert((extent->used[index] & bit) != 0);
	extent->used[index] &= ~bit;
	extent->used_count--;
	if (index < extent->first_word)
		extent->first_word = index;
}
