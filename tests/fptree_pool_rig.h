/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_POOL_RIG_H
#define FPTREE_POOL_RIG_H
/** Fixture for tests of fptree's pool: open, create and fill pools; places to put them. */
#include "plugin_host.h"
#include "pool.h"
#include "scratch.h"
#include "unit.h"

enum { MIB = 1 << 20 };

/** Arguments of pool_open() at durability commit. */
struct nb_open_args
rig_args(const char *path, uint32_t flags);

/* Each asserts that it succeeds. `size_bytes`: as for pool_open(). */

struct pool *
rig_open_with(const struct nb_open_args *args, uint64_t size_bytes);
/** An existing pool. */
struct pool *
rig_opened(const char *path, uint64_t size_bytes);
/** A new pool, not committed yet. */
struct pool *
rig_unfinished(const char *path, uint64_t size_bytes);
/** The same at durability process. */
struct pool *
rig_at_process(const char *path);
/** A new, committed pool. */
struct pool *
rig_created(const char *path, uint64_t size_bytes);
void
rig_closed(struct pool *pool);
/** Create a pool and close it. */
void
rig_make(const char *path, uint64_t size_bytes);

/** Assert that pool_open() fails with `code` and a message that contains `text`. */
void
rig_refused_with(
	const struct nb_open_args *args, uint64_t size_bytes, int code, const char *text);
void
rig_refused(const char *path, const char *text);

/** Allocate `mib` objects of nearly a MiB, for which the pool may have to grow. 0 or errno. */
int
rig_take(struct pool *pool, size_t mib);

/** Is the working directory on tmpfs? If not, print that the test is skipped. */
bool
rig_on_tmpfs(void);
/** Mount a tmpfs that only this process sees and that ends with it. False: skip the test. */
bool
rig_mount_tmpfs(const char *path, const char *options);
/** Make a directory on a disk, which the caller removes. NULL: skip, the build is on tmpfs. */
const char *
rig_disk(void);
void
rig_remove_tree(const char *path);

#endif /* FPTREE_POOL_RIG_H */
