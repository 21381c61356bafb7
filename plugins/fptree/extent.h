/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_EXTENT_H
#define FPTREE_EXTENT_H
/**
 * Extents: objects of libpmemobj that are divided into pieces of one size. A bitmap in memory
 * records which pieces are used. A map finds the extent that contains an offset.
 *
 * Threads: any thread may call extent_new(), extents_huge_new(), extent_at() and
 * extents_are_in(). The caller
 * protects the pieces of an extent with a lock. Only the opening thread calls the other
 * functions.
 */
#include <libpmemobj.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool.h"

/** The type numbers of this engine's objects in libpmemobj. Part of the layout of a pool. */
enum extent_kind { EXTENT_LEAVES = 1, EXTENT_BLOBS = 2, EXTENT_HUGE = 3 };

/** Lives until extents_close() or extent_drop(). */
struct extent {
	uint64_t begin, end; /* range of the pieces, in bytes from pool->base */
	enum extent_kind kind;
	uint32_t piece_bytes, piece_count;
	uint32_t used_count;
	uint32_t first_word; /* all words of `used` before this one are full */
	uint32_t user_u32;   /* for the caller */
	bool is_listed;      /* for the caller, like `next` */
	struct extent *next;
	struct extent *next_of_all, **self_of_all;
	PMEMoid object;
	uint64_t bytes;  /* size of the object */
	uint64_t used[]; /* bit set: used */
};

struct extent_place;

struct extents {
	struct pool *pool;
	struct extent *all;   /* extents found at open come first, in that order */
	struct extent **last; /* where the next extent is appended */
	pthread_mutex_t lock; /* protects `all` and `last` */
	uint64_t class_flag;  /* selects the allocation class of libpmemobj */
	struct extent_place *places;
	size_t place_count;
};

/** Begin with an empty set. Fails if memory runs out. */
int
extents_open(struct extents *extents, struct pool *pool);

void
extents_close(struct extents *extents);

/**
 * Allocate an extent of `bytes` from libpmemobj, for pieces of `piece_bytes`. If the pool has
 * no contiguous space of that size, the extent is smaller. NULL: host->fail() was called.
 */
struct extent *
extent_new(struct extents *extents, enum extent_kind kind, size_t piece_bytes, size_t bytes);

/**
 * Describe an extent that the pool already contains. NULL: host->fail() was called, because
 * the extent is damaged or memory ran out.
 */
struct extent *
extent_found(struct extents *extents, PMEMoid object);

/** Give the extent back to libpmemobj and remove it from the set. */
void
extent_drop(struct extents *extents, struct extent *extent);

/** The extent that contains `offset`, which may be any number. NULL: no extent contains it. */
struct extent *
extent_at(const struct extents *extents, uint64_t offset);

/** Does an extent have its header or a piece in the range? `from` < `to`. */
bool
extents_are_in(const struct extents *extents, uint64_t from, uint64_t to);

/** Mark the piece at `offset` as used. False: no piece begins there, or it is already used. */
bool
extent_mark(struct extent *extent, uint64_t offset);

/** Allocate up to `room` free pieces, lowest offsets first. Returns their number. */
size_t
extent_take(struct extent *extent, uint64_t *offsets, size_t room);

/** Free the piece at `offset`. */
void
extent_give(struct extent *extent, uint64_t offset);

/** Allocate an object that is not divided. OID_NULL: host->fail() was called. Any thread. */
PMEMoid
extents_huge_new(struct extents *extents, size_t bytes);

#endif /* FPTREE_EXTENT_H */
