/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_RIG_H
#define FPTREE_RIG_H
/** Fixture for tests of fptree's tree: a pool in the working directory, and the tree in it. */
#include "plugin_host.h"
#include "internal.h"
#include "racing.h"
#include "unit.h"

enum { RIG_POOL_BYTES = 512 << 20, RIG_SESSIONS = RACING_THREADS };

/**
 * An open tree. Set `args` and `pool_bytes` before rig_open(), or leave them 0 for the
 * defaults above.
 */
struct rig {
	struct tree_args args;
	uint64_t pool_bytes;
	struct pool *pool;
	struct nb_db *tree;
};

/** Make the pool, or open the existing one. */
void
rig_open(struct rig *rig);

/**
 * Like rig_open(), but returns the result of tree_open(). If it is not NB_OK, the pool is
 * closed.
 */
int
rig_try_open(struct rig *rig);

void
rig_close(struct rig *rig);

/** Close and open the tree, which rebuilds everything in memory. */
void
rig_reopen(struct rig *rig);

struct nb_session *
rig_session(struct rig *rig, uint32_t id);

void
rig_end_session(struct nb_session *session);

/** Assert that tree_check() finds no fault and `records` records (-1: any number). */
void
rig_check(struct rig *rig, int64_t records);

#endif /* FPTREE_RIG_H */
