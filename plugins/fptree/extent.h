/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_EXTENT_H
#define FPTREE_EXTENT_H
/**
 * Extents: objects of libpmemobj that are cut into pieces of one size, with a bit in
 * memory for each piece that is used, and a map that finds them by offset.
 *
 * Threads: extent_new() and extent_at() are safe from any thread. The pieces of an
 * extent are under a lock of the caller's; the rest is for the opening thread.
 */
#include <libpmemobj.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool.h"

/** The types of our objects in libpmemobj. Part of the layout of a pool. */
enum extent_kind { EXTENT_LEAVES = 1, EXTENT_BLOBS = 2, EXTENT_HUGE = 3 };

/** Lives until extents_close() or extent_drop(). */
struct extent {
	uint64_t begin, end; /* of its pieces, in bytes from pool->base */
	enum extent_kind kind;
	uint32_t piece_bytes, piece_count;
	uint32_t used_count;
	uint32_t first_word; /* of `used`, that has a bit free, if any has */
	uint32_t user_u32;   /* the caller's */
	bool is_listed;      /* the caller's too, with `next` */
	struct extent *next;
	struct extent *next_of_all, **self_of_all;
	PMEMoid object;
	uint64_t bytes;  /* of the object */
	uint64_t used[]; /* bit set: used */
};

struct extent_place;

struct extents {
	struct pool *pool;
	struct extent *all;   /* those found at open come first, in their order */
	struct extent **last; /* where the next of all goes */
	pthread_mutex_t lock; /* of both */
	uint64_t class_flag;  /* for libpmemobj */
	struct extent_place *places;
	size_t place_count;
};

/** Nothing in it. Fails where memory ends. */
int
extents_open(struct extents *extents, struct pool *pool);

void
extents_close(struct extents *extents);

/**
 * Take from libpmemobj an extent for pieces of that size: of `bytes`, or where the pool
 * has no longer so much in one piece, of less. NULL: host->fail() was called.
 */
struct extent *
extent_new(struct extents *extents, enum extent_kind kind, size_t piece_bytes, size_t bytes);

/** One that the pool had. NULL: host->fail() was called: it is damaged, or memory ends. */
struct extent *
extent_found(struct extents *extents, PMEMoid object);

/** Give it back to libpmemobj. It is no longer one of all. */
void
extent_drop(struct extents *extents, struct extent *extent);

/** The one that has a piece at, or around, that offset. NULL: none. Any offset will do. */
struct extent *
extent_at(const struct extents *extents, uint64_t offset);

/** That piece is used. False: no piece begins there, or it was used already. */
bool
extent_mark(struct extent *extent, uint64_t offset);

/** Use up to `room` free pieces, those of the lowest offsets first. Returns how many. */
size_t
extent_take(struct extent *extent, uint64_t *offsets, size_t room);

/** That piece is free again. */
void
extent_give(struct extent *extent, uint64_t offset);

/** An object that is cut into nothing. OID_NULL: host->fail() was called. Any thread. */
PMEMoid
extents_huge_new(struct extents *extents, size_t bytes);

#endif /* FPTREE_EXTENT_H */
