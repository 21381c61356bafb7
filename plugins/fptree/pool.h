/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_POOL_H
#define FPTREE_POOL_H
/**
 * The pool of libpmemobj that contains a tree: creation, opening and checks.
 *
 * A pool is a directory, `parts`. It grows by more parts as the heap needs them, up to the
 * reserved size. Its addresses are contiguous. It takes nothing from the file system before
 * the heap needs it. The reserved size holds for one opening; the pool does not store it.
 *
 * On memory that the processor can flush (a DAX mount) the engine flushes lines. On tmpfs it
 * does the same. This medium is called emulated, because a power failure loses its content.
 * On any other file system a flush is an msync(2).
 */
#include <mininb/engine.h>

#include <libpmemobj.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "pm.h"

enum pool_medium {
	POOL_DAX,      /* persistent memory */
	POOL_EMULATED, /* tmpfs: flushed like persistent memory */
	POOL_FILE      /* the page cache of a disk */
};

/** The sizes that a tree is laid out for. 0: unknown, or not requested. */
struct pool_layout {
	uint32_t format;     /* enum leaf_format */
	uint32_t leaf_slots; /* records in a leaf */
	uint32_t slot_bytes;
	uint32_t key_size; /* of the records within a leaf */
	uint32_t value_size;
	uint32_t spare;
};

/**
 * The root object, which an open checks first. `magic` is stored last, so it is absent if the
 * creation of the pool was interrupted.
 */
struct pool_root {
	uint64_t magic; /* POOL_MAGIC */
	struct pool_layout layout;
	uint64_t head;                 /* offset of the first leaf; never changes */
	uint64_t key_size, value_size; /* announced sizes; 0: unknown, or mixed */
};

#define POOL_MAGIC 0x3165657274706662ull /* "bfptree1": layout version 1 */

struct pool {
	const struct nb_host *host;
	PMEMobjpool *obj;
	char *base;              /* the pool's first byte: offset 0 */
	uint64_t reserved_bytes; /* maximum size of the pool */
	enum pool_medium medium;
	enum pm_flush flush; /* from the medium and the requested durability */
	struct pool_root *root;
	bool is_new; /* empty: fill root, then call pool_commit() */
	char *directory;
	uint64_t huge_bytes; /* from base, handled by pool_use_huge_pages(); atomic */
	unsigned growths;    /* parts added by pool_grow(); atomic */
	int growth_error;    /* errno of the last try to add a part, else 0; atomic */

	/* private to the files that include parts.h */
	int directory_fd, parts_fd; /* libpmemobj finds the parts by parts_fd */
	uint64_t taken_bytes;       /* size of all parts at open */
	int cut_off;         /* number of a part whose creation was interrupted; 0: none */
	bool is_unnamed;     /* pool_commit() has not run yet */
	bool is_out_of_step; /* libpmemobj refused a part: its count may differ */
	pthread_mutex_t growth_lock;
};

/** The range of size_bytes. A reference to a leaf counts lines in 32 bits: hence the maximum. */
#define POOL_SIZE_MIN (16ull << 20)
#define POOL_SIZE_MAX (256ull << 30)

/**
 * Open the pool in the directory args->path, or with NB_OPEN_CREATE create it. `size_bytes`:
 * the maximum size of the pool. 0: a default that is large enough for its content and for the
 * data that the hints announce. Fails (through host->fail) if the pool is in use by another
 * process, is not a pool of this engine, has another version, takes more than `size_bytes`,
 * or cannot be mapped. On failure there is nothing to close.
 *
 * On tmpfs this sets PMEM_IS_PMEM_FORCE for the process, unless it is already set.
 */
int
pool_open(struct pool **out, const struct nb_open_args *args, uint64_t size_bytes);

/**
 * Complete a new pool, whose root is filled and durable except for its magic. Stores the
 * magic and gives the pool its final name. A crash before that leaves a directory that the
 * next create removes.
 */
int
pool_commit(struct pool *pool);

/**
 * Sync all data that PM_FLUSH_NONE did not flush. With any other flush, do nothing. No store
 * may be under way.
 */
int
pool_sync(struct pool *pool);

/**
 * Add a part after libpmemobj had no room (ENOMEM), unless another thread has added one.
 * `growths`: pool->growths before the failed allocation. True: try again. False: the pool
 * cannot grow. The reason is growth_error. If that is 0, the reservation is used up, or
 * libpmemobj adds the parts itself, as it does unless a flush is an msync(2). Any thread.
 */
bool
pool_grow(struct pool *pool, unsigned growths);

/**
 * Call this when the pool is used up to `end` bytes. On tmpfs, it puts a pool of more than
 * one part on huge pages, as a DAX mount has them. Otherwise every record misses the TLB. Any
 * thread.
 */
void
pool_use_huge_pages(struct pool *pool, uint64_t end);

/** Close the pool. If it was never committed, delete it. Always NB_OK. */
int
pool_close(struct pool *pool);

/**
 * The strongest durability without a system call for each write in that directory, or in its
 * nearest parent that exists.
 */
uint32_t
pool_auto_durability(const char *path);

#endif /* FPTREE_POOL_H */
