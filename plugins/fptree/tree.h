/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_TREE_H
#define FPTREE_TREE_H
/**
 * The tree: the functions that the plugin's verbs and the tests call.
 *
 * Answers and failures are those of mininb/engine.h: NB_OK, NB_NOT_FOUND, NB_EXISTS, or a
 * negative number after a call of the host's fail(). Keys have at least one byte. Their order
 * is that of memcmp(), and a prefix comes first.
 *
 * Threads: one thread calls tree_open() and tree_close(), while no session is open. One
 * thread at a time uses a session. Any number of sessions run in parallel.
 */
#include <mininb/engine.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap.h"
#include "pool.h"

/** How a leaf keeps its records. */
enum leaf_format {
	LEAF_WORDS =
		1, /* 16 bytes a record: a key of at most 8 bytes and a value of at most 8 */
	LEAF_CELLS = 2 /* slots of one or more lines, or of half a line */
};

enum {
	TREE_LEAF_SLOTS_MIN = 4,
	TREE_LEAF_SLOTS_MAX = 55, /* with the version they fill one line */
	TREE_FANOUT_MIN = 4,
	TREE_FANOUT_MAX = 256,
	TREE_INLINE_MAX = 490 /* bytes of key and value that a slot can hold */
};

/** The requested settings. 0: the pool's own setting, or a default. */
struct tree_args {
	uint64_t key_size, value_size; /* announced; 0: unknown or mixed */
	uint32_t leaf_slots;           /* TREE_LEAF_SLOTS_MIN..MAX */
	uint32_t inline_bytes;         /* maximum bytes of a record inside a leaf */
	uint32_t fanout;               /* maximum number of children of an inner node */
	uint32_t sessions;             /* maximum number of open sessions */
	uint32_t inflight_ops;         /* maximum number of requests in flight in a session */
	uint64_t inflight_bytes;       /* maximum size of their keys and values; 0: unlimited */
};

/**
 * The database is the tree. Open the tree in the pool: recover it, or begin an empty one if pool->is_new. The caller
 * still owns the pool. NB_UNSUPPORTED: the pool has another layout than the requested one.
 */
int
tree_open(struct nb_db **out, struct pool *pool, const struct tree_args *args);

/** Free the memory. All data is already in the pool. */
void
tree_close(struct nb_db *tree);

/** `id`: less than args->sessions, and not in use. */
int
tree_session_open(struct nb_session **out, struct nb_db *tree, uint32_t id);
int
tree_session_close(struct nb_session *session);

/**
 * Lend the value until tree_release(). Until then, the session holds up the reuse of freed
 * memory.
 */
int
tree_get(struct nb_session *session, struct nb_slice key, struct nb_slice *value);
void
tree_release(struct nb_session *session);

/** Get several values, with overlapping cache misses. They are lent until tree_release(). */
int
tree_multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers);

/** When these return, the write is durable to the level of pool->flush. */
int
tree_put(struct nb_session *session, struct nb_slice key, struct nb_slice value);
int
tree_insert(struct nb_session *session, struct nb_slice key, struct nb_slice value);
/** Add to a number, a value of 8 bytes. A missing key counts as 0. */
int
tree_add(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand);
int
tree_del(struct nb_session *session, struct nb_slice key);

/** Scan as in mininb/engine.h. A scan sees each leaf as it was at one moment. */
int
tree_scan_open(struct nb_session *session, const struct nb_scan_args *args);
int
tree_scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value);
int
tree_scan_close(struct nb_session *session);

/** Each session counts its own; any thread may read them. */
struct tree_counts {
	uint64_t inserts, updates, deletes;
	uint64_t splits, merges; /* of leaves */
	uint64_t inner_splits;
	uint64_t restarts; /* of descents that met a writer or changed an inner node */
};

/** Counters of all sessions since open, and of the recovery. Any thread. */
struct tree_stats {
	struct tree_counts counts;
	struct heap_stats heap;
	uint64_t recovery_ns; /* duration of the recovery at open */
	uint64_t recovered;   /* records that the recovery found */
	uint64_t repaired;    /* slots that it cleared: half-done writes of a crash */
	uint64_t records;     /* approximate while sessions run, like heap.leaves */
	uint64_t inner_nodes, height;
	uint64_t lines, fences; /* flushed lines; fences */
	uint64_t reserved_bytes;
};

void
tree_stats(struct nb_db *tree, struct tree_stats *stats);

/**
 * For tests, while no session is in a call. Walks the leaves, as a recovery would, and the
 * inner nodes. Checks that they agree, leaves are in order, fingerprints are right, no key
 * occurs twice, and all used space is reachable. Returns the number of records, or -1 with
 * the fault in `what`.
 */
int64_t
tree_check(struct nb_db *tree, char *what, size_t room);

#endif /* FPTREE_TREE_H */
