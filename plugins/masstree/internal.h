/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_INTERNAL_H
#define MASSTREE_INTERNAL_H
/**
 * Declarations that the files of the tree share.
 *
 * Locks. A put or a delete locks only its leaf, at the version that it read during the descent.
 * If another session holds that lock, the put or delete waits. A structure change holds the
 * lock of that leaf, too. It locks the parent, the grandparent and so on, at the versions that
 * it read, without waiting. If one of them has changed or is locked, the session releases all
 * locks and restarts the operation. So a session that waits holds no lock. Exception: a list of
 * steps locks leaves in the order of their addresses, and waits for them; see lists.c.
 *
 * Order of visibility. A node or a record is complete before it becomes reachable: release
 * stores publish it, acquire loads read it. If a node is unlinked or a part of it moves
 * elsewhere, its parent gets a new version before the node does. So a reader that sees the
 * node's new version finds that the parent has changed, and restarts.
 */
#include "../common/async.h"
#include "../common/epoch.h"
#include "../common/plugin.h"
#include "../common/slab.h"
#include "hints.h"
#include "key.h"
#include "node.h"
#include "tree.h"

#include <pthread.h>

/** The kinds of retired objects; of a leaf, RETIRED_LEAF plus its number of lines, 1 to 4. */
enum { RETIRED_RECORD, RETIRED_INNER, RETIRED_HINTS, RETIRED_LEAF };

/* A tree of height h has had at least 2^h inserts, so 64 levels are enough. */
enum { HEIGHT_MAX = 64 };

/** The value of a placeholder, a key without a value: see VLEN_ABSENT. */
#define mt_absent ((struct nb_slice){NULL, SIZE_MAX})

static inline bool
is_absent_value(struct nb_slice value)
{
	return value.size == SIZE_MAX;
}

/** The leaf of a key and the version that was read; not locked. */
struct place {
	struct key key; /* the part of the key from the leaf's layer on */
	struct leaf *leaf;
	uint64_t version;
};

/** The holder of the tree's root. The root of a lower layer is in a leaf of the layer above. */
struct mt_anchor {
	uint64_t version;
	uint64_t root; /* a pointer, stored as in the word of a slot */
};

/** Counters: one session writes them, any thread may read them. */
struct mt_counts {
	uint64_t inserts, updates, deletes;
	uint64_t leaf_splits, leaf_grows, inner_splits, layers;
	uint64_t leaves_added, leaves_removed, inner_added, inner_removed, layers_removed;
	uint64_t restarts, hint_hits, hint_misses;
};

struct nb_db {
	/* Read by every operation, written by none, except the hints. */
	const struct nb_host *host;
	const struct mt_verbs *verbs;
	struct slab *slab;
	struct epochs *epochs;
	bool has_permutation, has_prefetch, has_small_pages;
	struct hints *hints; /* atomic; NULL: none */
	uint32_t sessions_max, inflight_ops;
	uint64_t inflight_bytes;
	struct mt_log log;
	struct nb_session **sessions; /* by id; NULL: not open */
	struct mt_anchor anchor __attribute__((aligned(128)));

	/* Written by sessions as they open and close. */
	pthread_mutex_t lock __attribute__((aligned(128)));
	struct slab_cache cache; /* for memory that outlives its session */
	struct mt_counts closed;
	bool has_no_hints; /* they were wrong */

	struct store *store; /* see persistent.c; NULL: in memory only */

	/* Of the first layer. Atomic, relaxed. Splits rarely exceed them. */
	uint64_t least_split, greatest_split;
};

/** The hot verbs, compiled for one kind of processor or comparison. */
struct mt_verbs {
	int (*get)(struct nb_session *, struct nb_slice, struct nb_slice *);
	int (*multi_get)(struct nb_session *, const struct nb_slice *, size_t,
		struct nb_slice *, int32_t *);
	int (*put)(struct nb_session *, struct nb_slice, struct nb_slice);
	int (*insert)(struct nb_session *, struct nb_slice, struct nb_slice);
	int (*add)(struct nb_session *, struct nb_slice, uint64_t);
	int (*del)(struct nb_session *, struct nb_slice);
	/* For lists of steps. The caller is in an epoch. */
	void (*locate)(struct nb_session *, struct nb_slice, struct place *);
	int (*reserve)(struct nb_session *, struct nb_slice); /* add a placeholder */
	void (*sweep)(struct nb_session *, struct nb_slice);  /* remove the placeholder */
};

extern const struct mt_verbs mt_verbs_plain, mt_verbs_bytes, mt_verbs_avx2, mt_verbs_avx512;

/** A copy of an entry of a leaf. */
struct entry {
	uint64_t slice, word;
	uint8_t klen, vlen;
};

/** A leaf that the scan of a list has read, with its version and order at that moment. */
struct seen {
	struct leaf *leaf;
	uint64_t version, order;
};

struct seens {
	struct seen *at;
	size_t count, room;
	bool is_short; /* out of memory: some leaves are missing */
};

struct scan_frame;

/** See scan.c. */
struct scan {
	bool is_open, is_backward, is_keys_only;
	struct seens *seens;       /* NULL: the scan is not part of a list */
	struct scan_frame *frames; /* one for each layer */
	size_t depth, room;
	uint8_t *key; /* of the lent record, or the position from which the scan continues */
	size_t key_size, key_room;
	unsigned leaves; /* since the scan began */
	uint64_t word;
};

/** See lists.c. */
struct list {
	struct item *items;
	struct hold *holds;
	struct nb_write *writes;
	struct nb_step *steps; /* of a batch */
	struct nb_slice *keys, *values;
	int32_t *answers;
	size_t room;  /* of each array above */
	size_t count; /* number of items, which is that of the steps */
	size_t at;    /* index of the current step */
	size_t hold_count;
	struct seens seens;
	size_t pending;       /* during a scan: next item that may be new to the tree */
	struct buffer kept;   /* values of gets */
	struct nb_slice from; /* the lower bound of a scan */
};

/** The path of a descent in its last layer. */
struct path {
	struct nb_slice whole;
	struct key key; /* its part from this layer on */
	uint64_t *
		holder; /* version of the root's holder: the anchor, or a leaf of the layer above */
	uint64_t holder_version;
	uint64_t *root;     /* location of the root in the holder */
	struct node *top;   /* the root at that version */
	struct leaf *upper; /* the holder if it is a leaf; NULL: the anchor */
	unsigned upper_slot;
	unsigned depth;
	struct step {
		struct inner *inner;
		uint64_t version;
		unsigned index; /* of the child */
	} steps[HEIGHT_MAX];
	struct leaf *leaf;
	uint64_t version;
	uint64_t low, high;               /* least and greatest slice that belong to the leaf */
	uint64_t parent_low, parent_high; /* the same of its parent */
	bool is_first, is_last;           /* the leaf is the first or last one of the layer */
};

struct nb_session {
	struct nb_db *tree;
	struct epoch_slot *epoch;
	uint64_t word;       /* storage of a short value that get lends */
	struct buffer words; /* storage of the short values that multi_get lends */
	void *log;           /* argument of the tree's log functions; NULL: none */
	struct mt_counts counts;
	/*
	 * The path of the last write. The next write starts at the same leaf if it can, as
	 * nearly all writes do when keys come in order.
	 */
	struct path path;
	uint64_t path_epoch; /* epoch in which its nodes were reached; 0: do not use it */
	struct scan scan;
	struct list list;
	struct async async;
	struct slab_cache cache;
	uint32_t id;

	/* See persistent.c. */
	bool is_commit;
	bool is_several; /* a batch or a reap is in progress; it commits all its writes together */
} __attribute__((aligned(128)));

static inline struct node *
root_load(const uint64_t *at)
{
	racy_meet();
	return (struct node *)(uintptr_t)__atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static inline void
root_store(uint64_t *at, const void *node)
{
	racy_meet();
	__atomic_store_n(at, (uint64_t)(uintptr_t)node, __ATOMIC_RELEASE);
}

/** Record a change if the session has a log, except a placeholder. The key's leaf is locked. */
static inline int
mt_record(struct nb_session *session, enum mt_change change, struct nb_slice key,
	struct nb_slice value)
{
	return session->log == NULL || is_absent_value(value)
		? NB_OK
		: session->tree->log.record(session->log, change, key, value);
}

/** Report "out of memory for WHAT". Returns NB_FAIL. */
int
mt_no_memory(const struct nb_session *session, const char *what);

static inline void
retire_record(struct nb_session *session, struct record *record)
{
	epoch_retire(session->epoch, RETIRED_RECORD, (uint64_t)(uintptr_t)record);
}

static inline struct record *
record_at(uint64_t word)
{
	return (struct record *)(uintptr_t)word;
}

static inline size_t
record_size(const struct record *record)
{
	return sizeof(*record) + record->value_size + record->suffix_size;
}

/** Sum of the counters of all sessions. The caller holds the tree's lock. */
struct mt_counts
mt_counts_sum(const struct nb_db *tree);

/** Leave the epoch, and free retired objects if that is due. */
static inline void
mt_leave(struct nb_session *session)
{
	epoch_exit(session->epoch);
	if (__builtin_expect(epoch_is_due(session->epoch), 0))
		epoch_reclaim(session->epoch);
}

/* --- entry.c: entries and leaves --- */

/** Make an entry from a key and its value. False: out of memory. */
bool
mt_entry_make(struct nb_session *session, const struct key *key, struct nb_slice value,
	struct entry *entry);

/** Free the record of an entry that was never published. */
void
mt_entry_drop(struct nb_session *session, const struct entry *entry);

/** Make a leaf of `lines` cache lines with these entries in order. NULL: out of memory. */
struct leaf *
mt_leaf_new(struct nb_session *session, unsigned lines, const struct entry *entries,
	unsigned count);

/** Free a leaf that was never published. */
void
mt_leaf_drop(struct nb_session *session, struct leaf *leaf);

/** Copy the entries of a locked leaf in order. Returns their number. */
unsigned
mt_leaf_entries(struct leaf *leaf, uint64_t version, struct entry *entries);

/** Insert the entry at `rank` into a locked leaf that has room, and unlock the leaf. */
void
mt_leaf_insert(struct nb_session *session, struct leaf *leaf, uint64_t version,
	const struct entry *entry, unsigned rank);

/** Remove an entry from a locked leaf, and unlock the leaf. The caller retires its record. */
void
mt_leaf_remove(struct nb_session *session, struct leaf *leaf, uint64_t version, unsigned slot);

/** Insert into a locked leaf without unlocking it. */
void
mt_leaf_insert_dirty(struct nb_session *session, struct leaf *leaf, uint64_t version,
	const struct entry *entry, unsigned rank);

/* --- lists.c, scan.c --- */

void
mt_list_free(struct list *list);

/**
 * Same as mt_scan_open(), but in the epoch of a list. Adds each leaf that it reads to `seens`.
 * Needs no close.
 */
int
mt_scan_within(struct nb_session *session, struct nb_slice from, struct seens *seens);

/* --- smo.c and layers.c: structure changes --- */

/**
 * Make room in a locked, full leaf, insert the entry and unlock the leaf. `value` is for the
 * log. NB_CONFLICT: the leaf is unlocked; the caller must restart.
 */
int
mt_make_room(struct nb_session *session, struct path *path, const struct entry *entry,
	unsigned rank, struct nb_slice value);

/**
 * `slot` of the locked leaf has another key with the same slice. Move both keys into a layer of
 * their own, and unlock the leaf.
 */
int
mt_make_layer(
	struct nb_session *session, struct path *path, unsigned slot, struct nb_slice value);

/** Unlink the emptied leaf of the key in the layer that begins at byte `at` of the key. */
void
mt_prune(struct nb_session *session, struct nb_slice key, size_t at);

#endif /* MASSTREE_INTERNAL_H */
