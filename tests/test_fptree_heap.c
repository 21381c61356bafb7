/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heap over a pool of libpmemobj, as pool.c would make it. The tests compare allocated
 * objects with a map that has a byte for each 16 bytes of the pool.
 */
#include "heap.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin_host.h"
#include "unit.h"

enum {
	UNIT = 16,
	LEAF = 1024,
	MIB = 1 << 20,
	SMALL = 16 * MIB, /* a pool with small extents */
	LARGE = 128 * MIB
};

static struct pool pool;
static struct heap *heap;
static struct heap_cache *cache;
static uint8_t *map; /* 1: that unit is allocated */

static void
map_pool(PMEMobjpool *obj)
{
	ck_assert_msg(obj != NULL, "%s", pmemobj_errormsg());
	pool.obj = obj;
	pool.base = (char *)obj;
	pool.host = &plugin_host;
	pool.flush = pm_flush_best();
	pool.directory = "./here";
}

static void
open_heap(void)
{
	ck_assert_msg(heap_open(&heap, &pool, LEAF) == NB_OK, "%s", host_failure);
}

static void
recovered(void)
{
	heap_recovered(heap);
	cache = heap_cache_new(heap);
	ck_assert_ptr_nonnull(cache);
}

static void
make_pool(size_t bytes)
{
	ck_assert_int_eq(setenv("PMEM_IS_PMEM_FORCE", "1", 1), 0);
	char *here = realpath(".", NULL);
	FILE *file = fopen("set", "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "PMEMPOOLSET\nOPTION SINGLEHDR\n%zuM %s/\n", bytes / MIB, here);
	ck_assert_int_eq(fclose(file), 0);
	free(here);
	map_pool(pmemobj_create("set", "test", 0, 0600));
	ck_assert(!OID_IS_NULL(pmemobj_root(pool.obj, sizeof(struct pool_root))));
	pool.reserved_bytes = bytes;
	map = calloc(bytes / UNIT, 1);
	ck_assert_ptr_nonnull(map);
}

static void
begin(size_t bytes)
{
	make_pool(bytes);
	open_heap();
	recovered();
}

static void
close_heap(void)
{
	heap_cache_delete(cache);
	heap_close(heap);
}

/* Reopen the heap, up to the point where marking begins. */
static void
reopen(void)
{
	close_heap();
	pmemobj_close(pool.obj);
	map_pool(pmemobj_open("set", "test"));
	open_heap();
}

static void
end_pool(void)
{
	pmemobj_close(pool.obj);
	free(map);
}

static void
end(void)
{
	close_heap();
	end_pool();
}

static struct heap_stats
stats(void)
{
	struct heap_stats now;

	heap_stats(heap, &now);
	return now;
}

/* Set the object's units to `to`. Returns the number of units that were not in state `from`. */
static size_t
turn(uint64_t offset, size_t size, uint8_t from, uint8_t to)
{
	size_t wrong = 0;

	for (uint64_t i = offset / UNIT; i < (offset + size + UNIT - 1) / UNIT; i++)
		wrong += __atomic_exchange_n(&map[i], to, __ATOMIC_RELAXED) != from;
	return wrong;
}

/* Record an allocation: none of the object's units may be allocated yet. */
static void
claim(uint64_t offset, size_t size)
{
	ck_assert_msg(offset != 0, "%s", host_failure);
	ck_assert_uint_eq(offset % UNIT, 0);
	ck_assert_uint_le(offset + size, pool.reserved_bytes);
	ck_assert_uint_eq(turn(offset, size, 0, 1), 0);
}

static void
yield_up(uint64_t offset, size_t size)
{
	ck_assert_uint_eq(turn(offset, size, 1, 0), 0);
}

struct object {
	uint64_t offset; /* 0: no object */
	size_t size;
	bool is_leaf;
};

static uint64_t
next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/*
 * Make a random object: one in four is a leaf, one in 256 is huge. The others are blobs of
 * any size, mostly small ones.
 */
static bool
make(struct heap_cache *with, uint64_t *random, struct object *object)
{
	uint64_t dice = next_random(random) % 256;

	object->is_leaf = dice < 64;
	object->size = LEAF;
	if (dice == 255)
		object->size = HEAP_BLOB_MAX + 1 + next_random(random) % (256 << 10);
	else if (dice >= 64)
		object->size = 1 + next_random(random) % (2 << next_random(random) % 15);
	object->offset = object->is_leaf ? heap_leaf_new(with)
					 : heap_blob_new(with, object->size);
	if (object->offset == 0)
		return false;
	if (object->is_leaf)
		ck_assert_uint_eq(object->offset % PM_LINE, 0);
	claim(object->offset, object->size);
	memset(pool.base + object->offset, (int)dice, object->size);
	return true;
}

static void
unmake(struct heap_cache *with, const struct object *object)
{
	yield_up(object->offset, object->size);
	if (object->is_leaf)
		heap_leaf_free(with, object->offset);
	else
		heap_blob_free(with, object->offset);
}

static void
mark(const struct object *object)
{
	ck_assert(object->is_leaf ? heap_mark_leaf(heap, object->offset)
				  : heap_mark_blob(heap, object->offset));
}

enum { OBJECTS = 3000, ROUNDS = 30000 };

static struct object objects[OBJECTS];

static void
churn(void)
{
	uint64_t random = 1;

	for (size_t round = 0; round < ROUNDS; round++) {
		struct object *object = &objects[next_random(&random) % OBJECTS];
		if (object->offset != 0) {
			unmake(cache, object);
			object->offset = 0;
		} else {
			ck_assert_msg(make(cache, &random, object), "%s", host_failure);
		}
	}
}

TEST(no_two_live_objects_overlap_also_after_an_open)
{
	begin(LARGE);
	churn();
	reopen();
	for (size_t i = 0; i < OBJECTS; i++) {
		if (objects[i].offset == 0)
			continue;
		if (i % 2 == 0) {
			mark(&objects[i]);
		} else {
			yield_up(objects[i].offset, objects[i].size);
			objects[i].offset = 0;
		}
	}
	recovered();
	churn();
	end();
}

/* Threads exchange objects: each frees objects of the others. */
enum { THREADS = 4, THREAD_ROUNDS = 8000, SHARED = 500 };

static struct object *shared[SHARED];

static void *
churn_shared(void *at)
{
	uint64_t random = (uintptr_t)at;
	struct heap_cache *own = heap_cache_new(heap);

	ck_assert_ptr_nonnull(own);
	for (size_t round = 0; round < THREAD_ROUNDS; round++) {
		struct object *object = malloc(sizeof(*object));
		struct object **place = &shared[next_random(&random) % SHARED];
		ck_assert_ptr_nonnull(object);
		ck_assert_msg(make(own, &random, object), "%s", host_failure);
		object = __atomic_exchange_n(place, object, __ATOMIC_ACQ_REL);
		if (object != NULL)
			unmake(own, object);
		free(object);
	}
	heap_cache_delete(own);
	return NULL;
}

TEST(no_two_live_objects_overlap_whichever_threads_make_and_free_them)
{
	pthread_t threads[THREADS];

	begin(LARGE);
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, churn_shared, (void *)(i + 1)), 0);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_le(stats().bytes, LARGE);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SHARED; i++) {
		if (shared[i] != NULL)
			unmake(cache, shared[i]);
		free(shared[i]);
	}
	ck_assert_uint_eq(stats().leaves, 0);
	ck_assert_uint_eq(stats().blobs, 0);
	ck_assert_uint_eq(stats().blob_bytes, 0);
	end();
}

TEST(blob_takes_little_more_than_its_size)
{
	begin(LARGE);
	for (size_t size = 1; size <= HEAP_BLOB_MAX; size += 1 + size / 50) {
		uint64_t before = stats().blob_bytes;
		uint64_t offset = heap_blob_new(cache, size);
		ck_assert_uint_ne(offset, 0);
		ck_assert_uint_ge(stats().blob_bytes - before, size);
		ck_assert_uint_le(stats().blob_bytes - before, size + size / 8 + 15);
		heap_blob_free(cache, offset);
		ck_assert_uint_eq(stats().blob_bytes, before);
	}
	end();
}

TEST(fresh_leaves_come_in_ascending_order)
{
	begin(LARGE);
	uint64_t last = 0;
	for (int i = 0; i < 500; i++) {
		uint64_t offset = heap_leaf_new(cache);
		ck_assert_uint_gt(offset, last);
		last = offset;
	}
	end();
}

/* Also in a pool with small extents. */
TEST_EACH(extent_has_eight_leaves_however_large, 2)
{
	enum { LARGEST = 55 * 512 };

	make_pool(_i == 0 ? SMALL : LARGE);
	ck_assert_int_eq(heap_open(&heap, &pool, LARGEST), NB_OK);
	recovered();
	for (int k = 0; k < 8; k++)
		claim(heap_leaf_new(cache), LARGEST);
	ck_assert_uint_eq(stats().extents, 1);
	ck_assert_uint_eq(stats().leaves, 8);
	end();
}

TEST(little_space_of_an_extent_is_lost)
{
	begin(LARGE);
	ck_assert_uint_ne(heap_leaf_new(cache), 0);
	struct heap_stats now = stats();
	ck_assert_uint_ge((now.leaves + now.leaves_free) * LEAF, now.bytes - 2 * LEAF);
	ck_assert_uint_ge(now.bytes, (512 << 10) - 16);
	ck_assert_uint_le(now.bytes, 512 << 10);
	end();
}

static void
fill(uint64_t *leaves, uint64_t *blobs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		leaves[i] = heap_leaf_new(cache);
		blobs[i] = heap_blob_new(cache, 100 + i % 400);
		ck_assert(leaves[i] != 0 && blobs[i] != 0);
	}
}

TEST(unmarked_objects_are_free_after_an_open)
{
	enum { COUNT = 4000 };
	static uint64_t leaves[COUNT], blobs[COUNT];

	begin(LARGE);
	fill(leaves, blobs, COUNT);
	uint64_t bytes = stats().bytes;
	reopen();
	ck_assert_uint_eq(stats().bytes, bytes);
	for (size_t i = 0; i < COUNT; i++) {
		if (i / 4 % 2 == 0)
			continue;
		ck_assert(heap_mark_leaf(heap, leaves[i]));
		ck_assert(heap_mark_blob(heap, blobs[i]));
	}
	recovered();
	ck_assert_uint_eq(stats().leaves, COUNT / 2);
	ck_assert_uint_eq(stats().blobs, COUNT / 2);
	for (size_t i = 0; i < COUNT; i++) {
		if (i / 4 % 2 != 0)
			continue;
		ck_assert_uint_ne(heap_leaf_new(cache), 0);
		ck_assert_uint_ne(heap_blob_new(cache, 100 + i % 400), 0);
	}
	ck_assert_uint_eq(stats().extents, 0);
	ck_assert_uint_eq(stats().bytes, bytes);
	end();
}

TEST(unreachable_extents_are_returned)
{
	enum { COUNT = 2000 };
	static uint64_t leaves[COUNT], blobs[COUNT];

	begin(LARGE);
	fill(leaves, blobs, COUNT);
	uint64_t bytes = stats().bytes;
	reopen();
	ck_assert(heap_mark_leaf(heap, leaves[COUNT / 2]));
	recovered();
	ck_assert_uint_lt(stats().bytes, 600 << 10);
	/* One extent is left in the middle. The space around it is used again. */
	fill(leaves, blobs, COUNT);
	ck_assert_uint_le(stats().bytes, bytes + (600 << 10));
	reopen();
	recovered();
	ck_assert_uint_eq(stats().bytes, 0);
	ck_assert_uint_eq(stats().leaves_free, 0);
	ck_assert(OID_IS_NULL(pmemobj_first(pool.obj)));
	end();
}

TEST(second_mark_is_refused)
{
	begin(SMALL);
	uint64_t leaf = heap_leaf_new(cache), blob = heap_blob_new(cache, 40),
		 huge = heap_blob_new(cache, 100000);
	reopen();
	ck_assert(heap_mark_leaf(heap, leaf));
	ck_assert(!heap_mark_leaf(heap, leaf));
	ck_assert(heap_mark_blob(heap, blob));
	ck_assert(!heap_mark_blob(heap, blob));
	ck_assert(heap_mark_blob(heap, huge));
	ck_assert(!heap_mark_blob(heap, huge));
	recovered();
	ck_assert_uint_eq(stats().leaves, 1);
	ck_assert_uint_eq(stats().blobs, 2);
	end();
}

TEST(offset_that_is_not_the_start_of_an_object_is_refused)
{
	begin(SMALL);
	uint64_t leaf = heap_leaf_new(cache), blob = heap_blob_new(cache, 40),
		 huge = heap_blob_new(cache, 100000);
	uint64_t root = pmemobj_root(pool.obj, 0).off;
	reopen();
	const uint64_t foreign[] = {0, 1, UNIT, leaf + 1, leaf + UNIT, leaf + LEAF / 2,
		leaf - 1, leaf - UNIT, blob + 1, blob + UNIT, huge + UNIT, huge - UNIT, root,
		SMALL - UNIT, SMALL, (uint64_t)SMALL << 20, UINT64_MAX};
	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
		ck_assert(!heap_mark_leaf(heap, foreign[i]));
		ck_assert(!heap_mark_blob(heap, foreign[i]));
	}
	ck_assert(!heap_mark_leaf(heap, blob));
	ck_assert(!heap_mark_leaf(heap, huge));
	ck_assert(!heap_mark_blob(heap, leaf));
	ck_assert(heap_mark_leaf(heap, leaf));
	ck_assert(heap_mark_blob(heap, blob));
	ck_assert(heap_mark_blob(heap, huge));
	recovered();
	end();
}

/* Offers every offset to a new open, whose bits are all unset: only heap_mark_*() sets them. */
TEST(each_multiple_of_sixteen_belongs_to_at_most_one_object)
{
	begin(SMALL);
	for (int i = 0; i < 200; i++)
		ck_assert(heap_leaf_new(cache) != 0 && heap_blob_new(cache, 48) != 0);
	reopen();
	uint64_t leaves = 0, blobs = 0;
	for (uint64_t offset = 0; offset < SMALL; offset += UNIT) {
		bool is_leaf = heap_mark_leaf(heap, offset);
		bool is_blob = heap_mark_blob(heap, offset);
		leaves += is_leaf;
		blobs += is_blob;
		if (is_leaf)
			claim(offset, LEAF);
		if (is_blob)
			claim(offset, 48);
	}
	recovered();
	ck_assert_uint_ge(leaves, 200);
	ck_assert_uint_ge(blobs, 200);
	ck_assert_uint_eq(stats().leaves, leaves);
	ck_assert_uint_eq(stats().leaves_free, 0);
	ck_assert_uint_eq(stats().blobs, blobs);
	end();
}

TEST(full_pool_is_reported_and_reuses_freed_space)
{
	static uint64_t leaves[SMALL / LEAF];
	size_t count = 0;

	begin(SMALL);
	while ((leaves[count] = heap_leaf_new(cache)) != 0)
		claim(leaves[count++], LEAF);
	ck_assert_ptr_nonnull(strstr(host_failure, "pool_size="));
	ck_assert_ptr_nonnull(strstr(host_failure, "./here"));
	ck_assert_uint_gt(count, SMALL / LEAF / 2);
	ck_assert_uint_eq(stats().leaves, count);
	ck_assert_uint_eq(stats().leaves_free, 0);
	host_failure[0] = '\0';
	ck_assert_uint_eq(heap_blob_new(cache, 40), 0);
	ck_assert_ptr_nonnull(strstr(host_failure, "pool_size="));
	host_failure[0] = '\0';
	ck_assert_uint_eq(heap_blob_new(cache, MIB), 0);
	ck_assert_ptr_nonnull(strstr(host_failure, "pool_size="));

	/*
	 * Another session gets the space too, after this one has given back the objects above
	 * its limit.
	 */
	for (size_t i = 0; i < count; i += 2) {
		yield_up(leaves[i], LEAF);
		heap_leaf_free(cache, leaves[i]);
	}
	struct heap_cache *other = heap_cache_new(heap);
	ck_assert_ptr_nonnull(other);
	for (size_t i = 0; i < count / 4; i++)
		claim(heap_leaf_new(other), LEAF);
	heap_cache_delete(cache);
	cache = other;
	for (size_t i = count / 4; i < (count + 1) / 2; i++)
		claim(heap_leaf_new(cache), LEAF);
	ck_assert_uint_eq(heap_leaf_new(cache), 0);
	end();
}

/* A limit on the size of files replaces a full disk. */
TEST(full_file_system_and_full_pool_have_different_messages)
{
	begin(LARGE);
	struct rlimit limit = {16 * MIB, RLIM_INFINITY};
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	while (heap_leaf_new(cache) != 0)
		ck_assert_uint_lt(stats().bytes, 16 * MIB);
	ck_assert_ptr_nonnull(strstr(host_failure, "file system"));
	ck_assert_ptr_null(strstr(host_failure, "pool_size="));
	host_failure[0] = '\0';
	ck_assert_uint_eq(heap_blob_new(cache, 10 * MIB), 0);
	ck_assert_ptr_nonnull(strstr(host_failure, "file system"));

	/* Allocation works again when there is space. */
	limit.rlim_cur = RLIM_INFINITY;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_uint_ne(heap_leaf_new(cache), 0);
	ck_assert_uint_ne(heap_blob_new(cache, 10 * MIB), 0);
	end();
}

TEST(huge_blob_is_returned_at_once)
{
	begin(SMALL);
	for (int i = 0; i < 100; i++) {
		uint64_t offset = heap_blob_new(cache, 5 * MIB);
		claim(offset, 5 * MIB);
		ck_assert_uint_eq(stats().blobs, 1);
		ck_assert_uint_ge(stats().blob_bytes, 5 * MIB);
		yield_up(offset, 5 * MIB);
		heap_blob_free(cache, offset);
		ck_assert_uint_eq(stats().blobs, 0);
		ck_assert_uint_eq(stats().bytes, 0);
	}
	end();
}

enum { SIZE = 40000 };

static void
make_huge(uint64_t *offsets, int count, int first, int step)
{
	for (int i = first; i < count; i += step) {
		offsets[i] = heap_blob_new(cache, SIZE);
		claim(offsets[i], SIZE);
		memset(pool.base + offsets[i], i, SIZE);
	}
}

TEST(huge_blob_is_returned_at_an_open_unless_marked)
{
	enum { COUNT = 100 };
	uint64_t offsets[COUNT];

	begin(SMALL);
	make_huge(offsets, COUNT, 0, 1);
	uint64_t bytes = stats().bytes;
	reopen();
	for (int i = 0; i < COUNT; i += 2)
		ck_assert(heap_mark_blob(heap, offsets[i]));
	for (int i = 1; i < COUNT; i += 2)
		yield_up(offsets[i], SIZE);
	recovered();
	ck_assert_uint_eq(stats().blobs, COUNT / 2);
	ck_assert_uint_eq(stats().bytes, bytes / 2);
	make_huge(offsets, COUNT, 1, 2);
	for (int i = 0; i < COUNT; i++) {
		ck_assert_int_eq(pool.base[offsets[i]], i);
		ck_assert_int_eq(pool.base[offsets[i] + SIZE - 1], i);
		heap_blob_free(cache, offsets[i]);
	}
	ck_assert_uint_eq(stats().bytes, 0);
	end();
}

TEST(cache_returns_its_surplus)
{
	enum { COUNT = 4000 };
	static uint64_t leaves[COUNT], blobs[COUNT];

	begin(LARGE);
	fill(leaves, blobs, COUNT);
	struct heap_stats before = stats();
	ck_assert_uint_eq(before.leaves, COUNT);
	ck_assert_uint_eq(before.blobs, COUNT);
	struct heap_cache *first = cache;
	cache = heap_cache_new(heap);
	for (size_t i = 0; i < COUNT; i++) {
		heap_leaf_free(first, leaves[i]);
		heap_blob_free(first, blobs[i]);
	}
	fill(leaves, blobs, COUNT / 2);
	ck_assert_uint_eq(stats().extents, before.extents);
	heap_cache_delete(first);
	fill(leaves + COUNT / 2, blobs + COUNT / 2, COUNT / 2);
	ck_assert_uint_eq(stats().extents, before.extents);
	ck_assert_uint_eq(stats().leaves, COUNT);
	ck_assert_uint_eq(stats().leaves_free, before.leaves_free);
	end();
}

/* The process ends with everything in use and nothing closed. */
TEST(killed_process_leaks_nothing)
{
	int status;

	begin(SMALL);
	uint64_t kept = heap_leaf_new(cache);
	close_heap();
	pmemobj_close(pool.obj);
	pid_t child = fork();
	if (child == 0) {
		map_pool(pmemobj_open("set", "test"));
		open_heap();
		recovered();
		for (size_t size = 1; size < MIB; size *= 2) {
			if (heap_blob_new(cache, size) == 0 || heap_leaf_new(cache) == 0)
				_exit(1);
		}
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	map_pool(pmemobj_open("set", "test"));
	open_heap();
	ck_assert_uint_gt(stats().bytes, MIB);
	ck_assert(!heap_mark_leaf(heap, kept)); /* it was unreachable at the child's open */
	recovered();
	ck_assert_uint_eq(stats().bytes, 0);
	end();
}

TEST(leaves_of_another_size_are_refused)
{
	begin(SMALL);
	ck_assert_uint_ne(heap_leaf_new(cache), 0);
	close_heap();
	ck_assert_int_lt(heap_open(&heap, &pool, 2 * LEAF), 0);
	ck_assert_ptr_nonnull(strstr(host_failure, "1024"));
	end_pool();
}

TEST(foreign_object_is_refused)
{
	PMEMoid object;

	begin(SMALL);
	ck_assert_uint_ne(heap_leaf_new(cache), 0);
	close_heap();
	ck_assert_int_eq(pmemobj_alloc(pool.obj, &object, 100, 77, NULL, NULL), 0);
	ck_assert_int_lt(heap_open(&heap, &pool, LEAF), 0);
	ck_assert_ptr_nonnull(strstr(host_failure, "that fptree did not make"));
	pmemobj_free(&object);
	/* An object that has only the right type. */
	ck_assert_int_eq(pmemobj_zalloc(pool.obj, &object, 100000, 1), 0);
	ck_assert_int_lt(heap_open(&heap, &pool, LEAF), 0);
	ck_assert_ptr_nonnull(strstr(host_failure, "damaged"));
	end_pool();
}

/* A small pool's extents are also valid after its reservation has become large. */
TEST(pool_may_be_reopened_with_a_larger_reservation)
{
	enum { COUNT = 1000 };
	static uint64_t leaves[COUNT], blobs[COUNT];

	begin(SMALL);
	fill(leaves, blobs, COUNT);
	pool.reserved_bytes = LARGE;
	reopen();
	for (size_t i = 0; i < COUNT; i++) {
		ck_assert(heap_mark_leaf(heap, leaves[i]));
		ck_assert(heap_mark_blob(heap, blobs[i]));
	}
	recovered();
	end();
}
