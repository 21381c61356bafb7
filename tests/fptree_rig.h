/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_RIG_H
#define FPTREE_RIG_H
/**
 * For tests of fptree's tree: a pool in the working directory, the tree in it, and values
 * that identify themselves.
 *
 * All randomness comes from rig_seed(), which the environment variable FPTREE_TEST_SEED
 * changes [0].
 */
#include <stdio.h>

#include "plugin_host.h"
#include "internal.h"
#include "unit.h"

enum { RIG_POOL_BYTES = 512 << 20, RIG_SESSIONS = 16 };

/** An open tree. `args` and `pool_bytes` may be set before rig_open(); 0: the above. */
struct rig {
	struct tree_args args;
	uint64_t pool_bytes;
	struct pool *pool;
	struct tree *tree;
};

/** Threads are held up where they meet others, at random. Of what fptree_wide has not compiled. */
extern bool rig_lets_meet;

/** Of this test; `salt` tells its parts apart. Never 0. */
uint64_t
rig_seed(uint64_t salt);

/** The next of a sequence of random numbers, below `bound` > 0. */
uint64_t
rig_random(uint64_t *state, uint64_t bound);

/** Make the pool, or open the one that is there. */
void
rig_open(struct rig *rig);

/** What tree_open() says. Where it is no NB_OK the pool is closed again. */
int
rig_try_open(struct rig *rig);

void
rig_close(struct rig *rig);

/** Close and open: all that is in memory is built again. */
void
rig_reopen(struct rig *rig);

struct tree_session *
rig_session(struct rig *rig, uint32_t id);

void
rig_end_session(struct tree_session *session);

/** tree_check() finds no fault, and `records` records (-1: any number). */
void
rig_check(struct rig *rig, int64_t records);

/** Run `body` with each of `count` <= RIG_SESSIONS ids at once, and wait for all. */
void
rig_run(unsigned count, void (*body)(void *to, unsigned id), void *to);

/** `size` bytes that follow from `mark`: the word over and over. */
void
rig_fill(uint8_t *bytes, size_t size, uint64_t mark);

/** The value is that of a mark, whole. `mark` takes as much of it as there is. */
bool
rig_is_whole(struct nb_slice value, uint64_t *mark);

static inline struct nb_slice
slice_of(const void *data, size_t size)
{
	return (struct nb_slice){data, size};
}

#endif /* FPTREE_RIG_H */
