/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_INTERNAL_H
#define FPTREE_INTERNAL_H
/**
 * What the files of the tree share.
 *
 * Locks. Inner nodes from the root down, then leaves from left to right; and
 * none is waited for while another is held: who cannot have the next one lets go of
 * all and begins again. A put or a delete looks without a lock, then takes its leaf's
 * alone, as it was seen, and holds it until what it changes is durable, so nobody reads
 * what a crash could still take. A split or a merge holds the parent's as well.
 */
#include "../common/async.h"
#include "../common/epoch.h"
#include "heap.h"
#include "inner.h"
#include "leaf.h"
#include "pool.h"
#include "tree.h"
#include "version.h"

/** What epochs hold back. */
enum { RETIRED_LEAF, RETIRED_BLOB, RETIRED_INNER, RETIRED_TAIL };

/** The hot verbs, as compiled for one kind of processor. */
struct tree_verbs {
	int (*get)(struct tree_session *, struct nb_slice, struct nb_slice *);
	/** The last one has room for the value of each that is no blob. */
	int (*multi_get)(struct tree_session *, const struct nb_slice *, size_t,
		struct nb_slice *, int32_t *, uint8_t *);
	int (*put)(struct tree_session *, struct nb_slice, struct nb_slice);
	int (*insert)(struct tree_session *, struct nb_slice, struct nb_slice);
	int (*add)(struct tree_session *, struct nb_slice, uint64_t);
	int (*del)(struct tree_session *, struct nb_slice);
};

extern const struct tree_verbs tree_verbs_plain, tree_verbs_avx512;

/** Counted by one session, read by any thread. */
struct tree_counts {
	uint64_t inserts, updates, deletes;
	uint64_t splits, merges, inner_splits;
	uint64_t restarts;
};

struct tree {
	/* Read by every operation, written by none. */
	char *base;          /* of the pool */
	struct leaf *leaves; /* by number; address space alone is taken for those not in use */
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
	struct tree_session **sessions; /* by id; NULL: not open */
	struct heap_cache *cache;       /* for what outlives its session */
	uint64_t recovery_ns, recovered, repaired;

	/* Changes with the height. */
	struct inner *root __attribute__((aligned(128)));
	uint64_t inner_nodes;
	uint32_t height; /* levels, the leaves' included; for those who may not follow root */

	struct inner_store inners __attribute__((aligned(128)));

	/* Of sessions that were closed; written by them as they close. */
	struct tree_counts closed __attribute__((aligned(128)));
	uint64_t closed_lines, closed_fences;
	uint32_t lock; /* of the above and of sessions[] */
};

/** One leaf of a scan, copied, and its records in order. */
struct scan {
	bool is_open, is_backward, is_last;
	bool has_bound;   /* else from the very first, or last, key on */
	bool is_bound_in; /* the bound itself is wanted */
	uint8_t *bound;   /* what is told next is at or beyond it */
	size_t bound_size, bound_room;
	char *bytes;     /* layout.leaf_bytes */
	uint8_t *linear; /* layout.inline_room for each slot */
	struct record *records;
	uint16_t *order;
	unsigned count, at;
};

struct tree_session {
	struct tree *tree;
	struct pm pm;
	struct epoch_slot *epoch;
	struct heap_cache *cache;
	uint64_t value_word; /* what get lends of LEAF_WORDS */
	uint8_t *value;      /* of LEAF_CELLS: layout.inline_room */
	uint8_t *values;     /* of several at once */
	size_t values_room;
	uint8_t *linear; /* two leaves' records in one piece, for splits and merges */
	struct record *records;
	struct tree_counts counts;
	struct scan scan;
	struct async async;
	uint32_t id;
} __attribute__((aligned(128)));

/** A counter that only its session adds to. */
static inline void
count_one(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

static inline char *
leaf_bytes(const struct tree *tree, uint64_t child)
{
	return tree->base + (child & 0xffffffff) * PM_LINE;
}

static inline struct leaf *
leaf_line(const struct tree *tree, uint64_t child)
{
	return &tree->leaves[child >> 32];
}

/**
 * The leaf at that offset. Its number is its place if the pool held nothing else:
 * leaves do not overlap, so no two have the same.
 */
static inline uint64_t
child_at(const struct tree *tree, uint64_t offset)
{
	uint64_t line = offset / PM_LINE;

	return child_of(line / tree->layout.leaf_lines, line);
}

/** Where a descent has ended. */
struct place {
	struct inner *parent; /* of level 0 */
	uint64_t parent_version;
	unsigned index; /* of the child */
	uint64_t child;
};

/** Write failures of msync(2), which has no other way to tell. 0 or NB_FAIL, told. */
int
tree_write_failed(struct tree_session *session);

/** Out of memory, told. NB_FAIL. */
int
tree_no_memory(const struct tree *tree, const char *what);

/* --- approach.c: the way to a change of the structure --- */

/** What a descent has met on its way. */
struct approach {
	struct place place;
	bool is_first, is_last; /* the leaf is the tree's first, last */
};

enum approach_for { FOR_SPLIT, FOR_MERGE };

/**
 * Descend to the leaf that the key belongs to and lock its parent, which has room for
 * one more child if it is for a split. Inner nodes on the way are split, or merged. In
 * an epoch. NB_OK or NB_FAIL.
 */
int
tree_approach(struct tree_session *session, const struct key *key, enum approach_for what,
	struct approach *approach);

/** So few that a merge is due. */
bool
tree_is_sparse(const struct tree *tree, unsigned separators);

/* --- smo.c: splits and merges of leaves --- */

/** Split the leaf that the key belongs to, if it is full still. In an epoch. */
int
tree_split(struct tree_session *session, const struct key *key);

/** Merge the leaf that the key belongs to with a neighbour, if both are sparse. In an epoch. */
void
tree_merge(struct tree_session *session, const struct key *key);

/* --- blobs --- */

/** A blob with key and value, flushed, not fenced. 0: told. */
uint64_t
tree_blob_new(struct tree_session *session, const struct key *key, struct nb_slice value);

/* --- recover.c --- */

/** Walk the leaves, mend them, and build what is in memory. */
int
tree_recover(struct tree *tree, struct pm *pm);

#endif /* FPTREE_INTERNAL_H */
