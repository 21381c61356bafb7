/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_INTERNAL_H
#define FPTREE_INTERNAL_H
/**
 * The declarations that the files of the tree share.
 *
 * Lock order: inner nodes from the root down, then leaves from left to right. A thread that
 * holds a lock never waits for another one. If it cannot have the next lock, it releases all
 * its locks and begins again.
 *
 * A put or a delete searches without a lock. Then it locks only its leaf, at the version that
 * the search has seen. It keeps the lock until its change is durable, so no reader sees data
 * that a crash could still lose. A split or a merge locks the parent as well.
 */
#include "../common/async.h"
#include "../common/epoch.h"
#include "heap.h"
#include "inner.h"
#include "leaf.h"
#include "pool.h"
#include "tree.h"
#include "version.h"

/** The kinds of objects that are freed when their epoch is over. */
enum { RETIRED_LEAF, RETIRED_BLOB, RETIRED_INNER, RETIRED_TAIL };

/** The hot verbs, as compiled for one kind of processor. */
struct tree_verbs {
	int (*get)(struct nb_session *, struct nb_slice, struct nb_slice *);
	/** The last argument has room for each value that is not in a blob. */
	int (*multi_get)(struct nb_session *, const struct nb_slice *, size_t,
		struct nb_slice *, int32_t *, uint8_t *);
	int (*put)(struct nb_session *, struct nb_slice, struct nb_slice);
	int (*insert)(struct nb_session *, struct nb_slice, struct nb_slice);
	int (*add)(struct nb_session *, struct nb_slice, uint64_t);
	int (*del)(struct nb_session *, struct nb_slice);
};

extern const struct tree_verbs tree_verbs_plain, tree_verbs_avx512;

struct nb_db {
	/* Read by every operation, written by none. */
	char *base;          /* of the pool */
	struct leaf *leaves; /* by number; unused ones take only address space */
	struct layout layout;
	struct inner_shape shape;
	const struct tree_verbs *verbs;
	const struct nb_host *host;
	struct pool *pool;
	struct heap *heap;
	struct epochs *epochs;
	size_t leaves_bytes; /* reserved at `leaves` */
	uint32_t sessions_max, inflight_ops;
	uint64_t inflight_bytes;
	struct nb_session **sessions; /* by id; NULL: not open */
	struct heap_cache *cache;     /* for objects that outlive their session */
	uint64_t recovery_ns, recovered, repaired;

	/* Changes with the height. */
	struct inner *root __attribute__((aligned(128)));
	uint64_t inner_nodes;
	uint32_t height; /* levels, including the leaves; usable without following root */

	struct inner_store inners __attribute__((aligned(128)));

	/* Counters of closed sessions, which add them when they close. */
	struct tree_counts closed __attribute__((aligned(128)));
	uint64_t closed_lines, closed_fences;
	uint32_t lock; /* protects closed, closed_* and sessions[] */
};

/** A scan: a copy of one leaf, and its records in order. */
struct scan {
	bool is_open, is_backward, is_last;
	bool has_bound;   /* false: begin with the first, or last, key */
	bool is_bound_in; /* the bound itself is in the range */
	uint8_t *bound;   /* the next record is at or beyond this key */
	size_t bound_size, bound_room;
	char *bytes;     /* layout.leaf_bytes */
	uint8_t *linear; /* layout.inline_room for each slot */
	struct record *records;
	uint16_t *order;
	unsigned count, at;
};

struct nb_session {
	struct nb_db *tree;
	struct pm pm;
	struct epoch_slot *epoch;
	struct heap_cache *cache;
	uint64_t value_word; /* value that get lends, LEAF_WORDS */
	uint8_t *value;      /* value that get lends, LEAF_CELLS: layout.inline_room */
	uint8_t *values;     /* values that multi_get lends */
	size_t values_room;
	uint8_t *linear; /* bytes of a leaf's records, for splits and merges */
	struct record *records;
	struct tree_counts counts;
	struct scan scan;
	struct async async;
	uint32_t id;
} __attribute__((aligned(128)));

static inline char *
leaf_bytes(const struct nb_db *tree, uint64_t child)
{
	return tree->base + child * PM_LINE;
}

/**
 * The leaf's line in memory. Its index is that of the leaf in a pool that holds only leaves.
 * Leaves do not overlap, so each index is unique. Both halves of a leaf are known before
 * either is read, so their cache misses overlap.
 */
static inline struct leaf *
leaf_line(const struct nb_db *tree, uint64_t child)
{
	__extension__ typedef unsigned __int128 product;

	return &tree->leaves[(uint64_t)((product)child * tree->layout.leaf_share >> 64)];
}

/** The child that is the leaf at that offset. */
static inline uint64_t
child_at(uint64_t offset)
{
	return offset / PM_LINE;
}

/** The end of a descent. */
struct place {
	struct inner *parent; /* of level 0 */
	uint64_t parent_version;
	unsigned index; /* of the child */
	uint64_t child;
};

/** Report the session's first failed msync(2) through host->fail(). Returns NB_FAIL. */
int
tree_write_failed(struct nb_session *session);

/** Report through host->fail() that memory for `what` ran out. Returns NB_FAIL. */
int
tree_no_memory(const struct nb_db *tree, const char *what);

/* --- approach.c: the descent before a split or a merge --- */

/** The result of tree_approach(). */
struct approach {
	struct place place;
	bool is_first, is_last; /* is the leaf the first, or last, of the tree? */
};

enum approach_for { FOR_SPLIT, FOR_MERGE };

/**
 * Descend to the leaf that the key belongs to and lock its parent. For a split, the parent
 * then has room for one more child. On its way, the descent splits full inner nodes, or
 * merges sparse ones. Call it inside an epoch. NB_OK or NB_FAIL.
 */
int
tree_approach(struct nb_session *session, const struct key *key, enum approach_for what,
	struct approach *approach);

/** Does an inner node with so few separators need a merge? */
bool
tree_is_sparse(const struct nb_db *tree, unsigned separators);

/* --- smo.c: splits and merges of leaves --- */

/** Split the leaf that the key belongs to, if it is still full. Call it inside an epoch. */
int
tree_split(struct nb_session *session, const struct key *key);

/**
 * Merge the leaf that the key belongs to with a neighbour, if half a leaf can hold the
 * records of both. Call it inside an epoch.
 */
void
tree_merge(struct nb_session *session, const struct key *key);

/* --- blobs --- */

/** Write a new blob with key and value: flushed, not fenced. 0: host->fail() was called. */
uint64_t
tree_blob_new(struct nb_session *session, const struct key *key, struct nb_slice value);

/* --- recover.c --- */

/** Walk the leaves, repair them, and build the structures in memory. */
int
tree_recover(struct nb_db *tree, struct pm *pm);

#endif /* FPTREE_INTERNAL_H */
