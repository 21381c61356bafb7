/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_TREE_H
#define FPTREE_TREE_H
/**
 * The tree: what the verbs of the plugin and the tests call.
 *
 * Answers and failures are those of mininb/engine.h (NB_OK, NB_NOT_FOUND, NB_EXISTS,
 * or negative with the host's fail() called). Keys are ordered as memcmp() orders
 * them, a prefix before what it is a prefix of; they have at least one byte.
 *
 * Threads: tree_open() and tree_close() belong to one thread, with no session open. A
 * session is used by one thread at a time; any number of them run in parallel.
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool.h"

struct async;
struct tree;
struct tree_session;

/** How a leaf keeps its records. */
enum leaf_format {
	LEAF_WORDS =
		1, /* 16 bytes a record: a key of at most 8 bytes and a value of at most 8 */
	LEAF_CELLS = 2 /* slots of one or more lines, or of half a line */
};

enum {
	TREE_LEAF_SLOTS_MIN = 4,
	TREE_LEAF_SLOTS_MAX = 55, /* with the version they fill a line of fingerprints */
	TREE_FANOUT_MIN = 4,
	TREE_FANOUT_MAX = 256,
	TREE_INLINE_MAX = 490 /* bytes of key and value that a slot can hold */
};

/** What was asked for; 0 is: what the pool has, or a default. */
struct tree_args {
	uint64_t key_size, value_size; /* announced; 0: unknown or mixed */
	uint32_t leaf_slots;           /* TREE_LEAF_SLOTS_MIN..MAX */
	uint32_t inline_bytes;         /* most bytes of a record that a leaf holds itself */
	uint32_t fanout;               /* children of an inner node */
	uint32_t sessions;             /* most at once */
	uint32_t inflight_ops;         /* requests in flight in a session */
	uint64_t inflight_bytes;       /* of their keys and values; 0: any */
};

/**
 * Open the tree in the pool: recover it, or where pool->is_new begin an empty one. The
 * pool stays the caller's. NB_UNSUPPORTED where the pool was laid out otherwise than
 * is asked for.
 */
int
tree_open(struct tree **out, struct pool *pool, const struct tree_args *args);

/** Frees the memory; all data is in the pool already. */
void
tree_close(struct tree *tree);

/** `id` < args->sessions, not in use. */
int
tree_session_open(struct tree_session **out, struct tree *tree, uint32_t id);
int
tree_session_close(struct tree_session *session);

/** Requests of the session that are in flight. */
struct async *
tree_async(struct tree_session *session);

/** Of the pool that the session's tree is in. */
const struct nb_host *
tree_host(const struct tree_session *session);

/** The value is lent until tree_release() and holds reclaimed memory up until then. */
int
tree_get(struct tree_session *session, struct nb_slice key, struct nb_slice *value);
void
tree_release(struct tree_session *session);

/** Of several, whose misses overlap; lent until tree_release(). */
int
tree_multi_get(struct tree_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers);

/** Durable, to the level of pool->flush, when they return. */
int
tree_put(struct tree_session *session, struct nb_slice key, struct nb_slice value);
int
tree_insert(struct tree_session *session, struct nb_slice key, struct nb_slice value);
/** Add to a value of 8 bytes, a number; a key that is not there counts as 0. */
int
tree_add(struct tree_session *session, struct nb_slice key, uint64_t operand);
int
tree_del(struct tree_session *session, struct nb_slice key);

/** As the verbs of mininb/engine.h. Each leaf is seen at one moment. */
int
tree_scan_open(struct tree_session *session, const struct nb_scan_args *args);
int
tree_scan_next(struct tree_session *session, struct nb_slice *key, struct nb_slice *value);
int
tree_scan_close(struct tree_session *session);

/** Counters of all sessions since open, and of the recovery. Any thread. */
struct tree_stats {
	uint64_t recovery_ns;     /* of the last open: from mapped to ready */
	uint64_t recovered;       /* records found by it */
	uint64_t repaired;        /* slots that it cleared: what a crash had left half done */
	uint64_t leaves, records; /* as counted: near what it is while sessions run */
	uint64_t inner_nodes, height;
	uint64_t splits, merges; /* of leaves */
	uint64_t inner_splits;
	uint64_t restarts; /* of descents that met a writer, or made room in an inner node */
	uint64_t lines, fences; /* flushed and ordered */
	uint64_t inserts, updates, deletes;
	uint64_t pool_bytes, reserved_bytes, blobs, blob_bytes, extents;
};

void
tree_stats(struct tree *tree, struct tree_stats *stats);

/**
 * For tests, with no session in a call: walks the leaves as a recovery would and the
 * inner nodes, and checks that they agree, that leaves are in order, fingerprints
 * right, no key is there twice and no space is used that is not reachable. The number of
 * records, or -1 with the fault in `what`.
 */
int64_t
tree_check(struct tree *tree, char *what, size_t room);

#endif /* FPTREE_TREE_H */
