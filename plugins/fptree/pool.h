/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_POOL_H
#define FPTREE_POOL_H
/**
 * The pool of libpmemobj that a tree lives in: made, opened, told apart.
 *
 * It is a directory of parts, `parts`, that libpmemobj adds to as the heap needs them,
 * up to the size that is reserved for it: its addresses are contiguous, and nothing of
 * the file system is taken before it is used. The size is of one opening; the pool does
 * not keep it. On memory that the processor can flush (a DAX mount) lines are flushed.
 * On tmpfs the same is done, the medium being called emulated, since what is flushed
 * there is gone with the power. On any other file system a flush is an msync(2).
 */
#include <mininb/engine.h>

#include <libpmemobj.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "pm.h"

enum pool_medium {
	POOL_DAX,      /* persistent memory */
	POOL_EMULATED, /* tmpfs: flushed as if it were */
	POOL_FILE      /* the page cache of a disk */
};

/** Sizes that a tree is laid out for. What is 0 is not known, or not asked for. */
struct pool_layout {
	uint32_t format;     /* enum leaf_format */
	uint32_t leaf_slots; /* records in a leaf */
	uint32_t slot_bytes;
	uint32_t key_size; /* of the records that are kept within a leaf */
	uint32_t value_size;
	uint32_t spare;
};

/**
 * The root object: what an open checks and begins at. `magic` is stored last, so a
 * pool whose making was cut off is told by its absence.
 */
struct pool_root {
	uint64_t magic; /* POOL_MAGIC */
	struct pool_layout layout;
	uint64_t head;                 /* offset of the first leaf; never changes */
	uint64_t key_size, value_size; /* that were announced; 0: unknown, or mixed */
};

#define POOL_MAGIC 0x3165657274706662ull /* "bfptree1": layout version 1 */

struct pool {
	const struct nb_host *host;
	PMEMobjpool *obj;
	char *base;              /* the pool's first byte: offset 0 */
	uint64_t reserved_bytes; /* most that it may grow to */
	enum pool_medium medium;
	enum pm_flush flush; /* of the medium and the durability that was asked for */
	struct pool_root *root;
	bool is_new; /* nothing is in it: root is to be filled, then pool_commit() */
	char *directory;
	uint64_t huge_bytes; /* from base, that pool_use_huge_pages() has seen; atomic */
	unsigned growths;    /* by pool_grow(); atomic */
	int growth_error;    /* errno of the last one that failed, else 0; atomic */

	/* pool.c's own */
	int directory_fd, parts_fd; /* the parts are reached by the number of theirs */
	uint64_t taken_bytes;       /* by the parts, as it was opened */
	int cut_off;                /* number of a part whose making was cut off; 0: none */
	bool is_unnamed;            /* pool_commit() is still to come */
	bool is_out_of_step; /* libpmemobj has refused a part: it may count them otherwise */
	pthread_mutex_t growth_lock;
};

/** What size_bytes may be. Leaves and blobs are told by 32 bits, which count lines. */
#define POOL_SIZE_MIN (16ull << 20)
#define POOL_SIZE_MAX (256ull << 30)

/**
 * Open the pool in the directory args->path, or with NB_OPEN_CREATE make one.
 * `size_bytes`: most that the pool may grow to, 0 for a default that is large enough
 * for what it has and what the hints announce. Fails (through host->fail) where it is
 * in use by another process, is no pool of this engine, has another version, takes
 * more than `size_bytes`, or cannot be mapped. On failure there is nothing to close.
 *
 * On tmpfs this sets PMEM_IS_PMEM_FORCE for the process, unless it is set already.
 */
int
pool_open(struct pool **out, const struct nb_open_args *args, uint64_t size_bytes);

/**
 * The root is filled and durable but for its magic: store that, and give the pool
 * its final name. Before it a crash leaves a directory that the next create clears.
 */
int
pool_commit(struct pool *pool);

/**
 * Write back what a flush of PM_FLUSH_NONE has left behind; nothing is to be done at any
 * other. No store is under way.
 */
int
pool_sync(struct pool *pool);

/**
 * libpmemobj had no room (ENOMEM) when `growths` of the pool was as given: add a part, unless
 * another thread has. True: try again. False: it cannot grow, for growth_error if that is
 * not 0, or libpmemobj grows it by itself, as it does where no flush is an msync(2). Any thread.
 */
bool
pool_grow(struct pool *pool, unsigned growths);

/**
 * The pool is used up to `end` bytes. On tmpfs, put each part behind which there is another
 * on huge pages, as a DAX mount has them: every record misses the TLB otherwise. Any thread.
 */
void
pool_use_huge_pages(struct pool *pool, uint64_t end);

/** Close, and if it was never committed take it away. Always NB_OK. */
int
pool_close(struct pool *pool);

/** Strongest level that costs no system call for each write in that directory, or its parent. */
uint32_t
pool_auto_durability(const char *path);

/** "dax", "emulated" or "file". */
const char *
pool_medium_name(enum pool_medium medium);

#endif /* FPTREE_POOL_H */
