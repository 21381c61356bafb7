/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_PARTS_H
#define FPTREE_PARTS_H
/**
 * The declarations that the files of the pool share: pool.c, parts.c, zones.c,
 * medium.c and growth.c.
 *
 * Functions that return int return NB_OK, or another code after a call of host->fail(). One
 * thread calls them, except pool_survey() and pool_part_name().
 */
#include "pool.h"

/** Names in the directory of the database. */
#define POOL_PARTS "parts"
#define POOL_PARTS_NEW "parts.new" /* until the pool is complete */

enum { POOL_PART_NAME = 24 };

/** Report errno through host->fail(). Returns NB_FAIL. */
int
pool_fail_system(const struct pool *pool, const char *what);

/** Report errno and libpmemobj's text through host->fail(). Returns NB_FAIL. */
int
pool_fail_pmemobj(const struct pool *pool, const char *call);

/* --- parts.c --- */

/** `name`: room for POOL_PART_NAME bytes. */
void
pool_part_name(char *name, unsigned number);

/**
 * Open and lock the directory before anything in it is read or removed. libpmemobj locks the
 * parts as well, but not while another process is still making them.
 */
int
pool_lock_directory(struct pool *pool);

/** Open the directory of the parts. If it does not exist, make it with its temporary name. */
int
pool_find_parts(struct pool *pool, bool may_create);

/** Check the parts of an existing pool; set taken_bytes and cut_off. */
int
pool_check_parts(struct pool *pool);

/**
 * Remove an unfinished pool. Files that are not parts stay, and with them the directory.
 * False: errno is set.
 */
bool
pool_clear_unfinished(const struct pool *pool);

/** The numbers and sizes of the parts. */
struct pool_survey {
	unsigned count, last;
	unsigned short_count; /* of parts below the minimum size */
	unsigned short_last;
	uint64_t bytes; /* of all other parts */
};

int
pool_survey(const struct pool *pool, struct pool_survey *survey);

/** fsync(2) each part and their directory. */
int
pool_sync_parts(const struct pool *pool);

/* --- zones.c --- */

/** Check what libpmemobj does not check in the heap of an existing pool. */
int
pool_check_zones(const struct pool *pool);

/* --- medium.c --- */

/** Is the file system tmpfs or ramfs? */
bool
pool_is_in_memory(int fd);

/** Set pool->medium and pool->flush. The pool is mapped. */
int
pool_settle_flush(struct pool *pool, uint32_t durability);

/** Warn about a medium that is not persistent memory. */
void
pool_tell_medium(const struct pool *pool);

/* --- growth.c --- */

/** Tell libpmemobj by how much to grow, or not to grow. */
int
pool_settle_growth(struct pool *pool);

#endif /* FPTREE_PARTS_H */
