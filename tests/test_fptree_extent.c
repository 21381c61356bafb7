/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Extents of damaged pools. The tests make an object overlap the next one by changing its size,
 * which is in the header of 16 bytes before it.
 */
#include "extent.h"
#include "fptree_pool_rig.h"
#include "heap.h"

enum {
	PIECE = 64,
	LEAF = 1024,
	HEADER_OF_OBJECT = 16,
	UNIT = 4096, /* of the allocation class, so the step of an object's size */
	SMALL = 32 * UNIT - HEADER_OF_OBJECT,
	CHUNK = 256 << 10,
	LARGE = 16 * CHUNK - HEADER_OF_OBJECT /* takes whole chunks of libpmemobj */
};

static struct pool *pool;
static struct extents extents;

/* Two neighbours of some kinds; `low` begins at the lower offset. */
static PMEMoid low, high;
static uint64_t bytes; /* of each */

static PMEMoid
object_of(enum extent_kind kind)
{
	if (kind == EXTENT_HUGE)
		return extents_huge_new(&extents, bytes);
	const struct extent *extent = extent_new(
		&extents, kind, kind == EXTENT_LEAVES ? LEAF : PIECE, bytes);
	ck_assert_ptr_nonnull(extent);
	return extent->object;
}

/* libpmemobj chooses the places, so make objects until two of them are neighbours. */
static void
make_neighbours(uint64_t size, enum extent_kind first, enum extent_kind second)
{
	enum { COUNT = 24 };
	PMEMoid objects[COUNT];

	pool = rig_created(".", 0);
	ck_assert_int_eq(extents_open(&extents, pool), NB_OK);
	low = high = OID_NULL;
	bytes = size;
	for (unsigned i = 0; i < COUNT && OID_IS_NULL(low); i++) {
		objects[i] = object_of(i % 2 == 0 ? first : second);
		ck_assert_uint_eq(pmemobj_alloc_usable_size(objects[i]), bytes);
		for (unsigned j = (i + 1) % 2; j < i; j += 2) {
			PMEMoid a = objects[i], b = objects[j];

			if (a.off + bytes + HEADER_OF_OBJECT == b.off)
				low = a, high = b;
			if (b.off + bytes + HEADER_OF_OBJECT == a.off)
				low = b, high = a;
		}
	}
	ck_assert(!OID_IS_NULL(low));
	extents_close(&extents);
}

/* Let the object `low` end that many bytes later: 16 less of them are in `high`. */
static void
grow_into_high(uint64_t more)
{
	*(uint64_t *)(void *)(pool->base + low.off - HEADER_OF_OBJECT) += more;
	ck_assert_uint_eq(pmemobj_alloc_usable_size(low), bytes + more);
}

/* Find both, in either order. The second one must be refused if `is_refused`. */
static void
find_both(bool is_refused)
{
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(extents_open(&extents, pool), NB_OK);
		ck_assert_ptr_nonnull(extent_found(&extents, i == 0 ? low : high));
		const struct extent *second = extent_found(&extents, i == 0 ? high : low);
		if (is_refused) {
			ck_assert_ptr_null(second);
			ck_assert_ptr_nonnull(strstr(host_failure, "lies where none can be"));
		} else {
			ck_assert_msg(second != NULL, "%s", host_failure);
		}
		extents_close(&extents);
	}
}

TEST(extents_side_by_side_are_accepted)
{
	make_neighbours(SMALL, EXTENT_BLOBS, EXTENT_BLOBS);
	find_both(false);
	rig_closed(pool);
}

/* 0: the header of the next one and a few pieces; 1: half of it; 2: all of it. */
TEST_EACH(extent_that_reaches_into_the_next_one_is_refused, 3)
{
	static const uint64_t into[] = {UNIT, 16 * UNIT, 32 * UNIT};

	make_neighbours(SMALL, EXTENT_BLOBS, EXTENT_BLOBS);
	grow_into_high(into[_i]);
	find_both(true);
	rig_closed(pool);
}

/* 0: a huge blob and an extent, in either order; 1: two huge blobs. */
TEST_EACH(huge_blob_that_shares_bytes_with_another_object_is_refused, 2)
{
	struct heap *heap;

	make_neighbours(LARGE, EXTENT_HUGE, _i == 0 ? EXTENT_LEAVES : EXTENT_HUGE);
	ck_assert_msg(heap_open(&heap, pool, LEAF) == NB_OK, "%s", host_failure);
	heap_close(heap);
	grow_into_high(CHUNK);
	ck_assert_int_eq(heap_open(&heap, pool, LEAF), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(host_failure, "overlaps another object"));
	rig_closed(pool);
}

/* The header of a chunk in the first zone of libpmemobj's heap. */
struct chunk_header {
	uint16_t type, flags;
	uint32_t chunks; /* of the object that begins there: the next header follows them */
};

static struct chunk_header *
chunk_header_of(PMEMoid object)
{
	enum { MAGIC_OF_ZONE = (int)0xc3f0a2d2, ZONE_HEADER = 64, ZONE = 512 << 10 };
	char *zone = pool->base + (object.off - HEADER_OF_OBJECT) % CHUNK;

	while (*(int *)(void *)zone != MAGIC_OF_ZONE)
		zone += CHUNK;
	uint64_t chunk = (uint64_t)(pool->base + object.off - zone - ZONE) / CHUNK;
	return (struct chunk_header *)(void *)(zone + ZONE_HEADER) + chunk;
}

/* A list of objects that leads back would never end. */
TEST(object_list_with_a_cycle_is_refused)
{
	struct heap *heap;

	make_neighbours(LARGE, EXTENT_HUGE, EXTENT_HUGE);
	struct chunk_header *header = chunk_header_of(high);
	ck_assert_uint_eq(header->chunks, LARGE / CHUNK + 1);
	header->chunks = -header->chunks; /* from `high` to `low` */
	ck_assert_int_eq(heap_open(&heap, pool, LEAF), NB_FAIL);
	ck_assert_ptr_nonnull(strstr(host_failure, "more bytes than the pool"));
	rig_closed(pool);
}
