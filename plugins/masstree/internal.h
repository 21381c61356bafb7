/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_INTERNAL_H
#define MASSTREE_INTERNAL_H
/**
 * What the files of the tree share.
 *
 * Locks. A put or a delete locks its leaf alone, as it was read on the way down, and waits for
 * another holder if need be. A change of the structure holds that leaf's lock and takes those of
 * its parent, its grandparent and so on, as they were read, without waiting: if one of
 * them has changed or is held, all are released and the operation begins again. So nobody
 * waits who holds a lock.
 *
 * Order of visibility. Whatever becomes reachable is complete before: nodes and records are
 * published by release stores and read by acquire loads. A node that is unlinked or whose part
 * moves elsewhere gets its new version after its parent got its own. So a reader that sees the
 * node's new version finds the parent's changed, and begins again.
 */
#include "../common/async.h"
#include "../common/epoch.h"
#include "../common/plugin.h"
#include "../common/slab.h"
#include "key.h"
#include "node.h"
#include "tree.h"

#include <pthread.h>

/** What epochs hold back; of leaves with their number of lines, 1 to 4, added. */
enum { RETIRED_RECORD, RETIRED_INNER, RETIRED_LEAF };

/* Heights are the logarithm to the base of 2, at least, of all inserts there ever were. */
enum { HEIGHT_MAX = 64 };

/** The value of a key that only keeps a place: see VLEN_ABSENT. */
#define mt_absent ((struct nb_slice){NULL, SIZE_MAX})

static inline bool
is_absent_value(struct nb_slice value)
{
	return value.size == SIZE_MAX;
}

/** The leaf of a key, as it was read: not locked. */
struct place {
	struct key key; /* in the layer of the leaf */
	struct leaf *leaf;
	uint64_t version;
};

/** Where a root is kept: the tree's, and by the same struct that of a layer in its leaf. */
struct mt_anchor {
	uint64_t version;
	uint64_t root; /* a pointer, as in the word of a slot */
};

/** Counted by one session, read by any thread. */
struct mt_counts {
	uint64_t inserts, updates, deletes;
	uint64_t leaf_splits, leaf_grows, inner_splits, layers;
	uint64_t leaves_added, leaves_removed, inner_added, inner_removed, layers_removed;
	uint64_t restarts;
};

struct mt_tree {
	/* Read by every operation, written by none. */
	const struct nb_host *host;
	const struct mt_verbs *verbs;
	struct slab *slab;
	struct epochs *epochs;
	bool has_permutation, has_prefetch;
	uint32_t sessions_max, inflight_ops;
	uint64_t inflight_bytes;
	struct mt_log log;
	struct mt_session **sessions; /* by id; NULL: not open */
	struct mt_anchor anchor __attribute__((aligned(128)));

	/* Written by sessions as they open and close. */
	pthread_mutex_t lock __attribute__((aligned(128)));
	struct slab_cache cache; /* for what outlives its session */
	struct mt_counts closed;
};

/** The hot verbs, as compiled for one kind of processor or comparison. */
struct mt_verbs {
	int (*get)(struct mt_session *, struct nb_slice, struct nb_slice *);
	int (*multi_get)(struct mt_session *, const struct nb_slice *, size_t,
		struct nb_slice *, int32_t *);
	int (*put)(struct mt_session *, struct nb_slice, struct nb_slice);
	int (*insert)(struct mt_session *, struct nb_slice, struct nb_slice);
	int (*add)(struct mt_session *, struct nb_slice, uint64_t);
	int (*del)(struct mt_session *, struct nb_slice);
	/* For lists, in an epoch. */
	void (*locate)(struct mt_session *, struct nb_slice, struct place *);
	int (*reserve)(struct mt_session *, struct nb_slice); /* a place for the key */
	void (*sweep)(struct mt_session *, struct nb_slice);  /* remove it if it has no value */
};

extern const struct mt_verbs mt_verbs_plain, mt_verbs_bytes, mt_verbs_avx2, mt_verbs_avx512;

/** A record of a leaf, copied. */
struct entry {
	uint64_t slice, word;
	uint8_t klen, vlen;
};

/** A leaf that a scan of a list has read. */
struct seen {
	struct leaf *leaf;
	uint64_t version, order;
};

struct seens {
	struct seen *at;
	size_t count, room;
	bool is_short; /* of memory: some are missing */
};

struct scan_frame;

/** See scan.c. */
struct scan {
	bool is_open, is_backward, is_keys_only;
	struct seens *seens;       /* NULL: it is not part of a list */
	struct scan_frame *frames; /* a layer each */
	size_t depth, room;
	uint8_t *key; /* of the record that is lent, or that the scan goes on from */
	size_t key_size, key_room;
	unsigned leaves; /* since the epoch began */
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
	size_t room;  /* of each of these */
	size_t count; /* items, as many as steps */
	size_t at;    /* the step that is under way */
	size_t hold_count;
	struct seens seens;
	size_t pending;       /* of a scan: the next item that may be new to the tree */
	struct buffer kept;   /* values of gets */
	struct nb_slice from; /* where a scan begins */
};

/** Where a descent came along, in the last layer. */
struct path {
	struct nb_slice whole;
	struct key key; /* of the layer */
	uint64_t *
		holder; /* version of what has the root: the anchor, or a leaf of the layer above */
	uint64_t holder_version;
	uint64_t *root;     /* where it has it */
	struct node *top;   /* the root, as of that version */
	struct leaf *upper; /* that leaf; NULL: the anchor */
	unsigned upper_slot;
	unsigned depth;
	struct step {
		struct inner *inner;
		uint64_t version;
		unsigned index; /* of the child */
	} steps[HEIGHT_MAX];
	struct leaf *leaf;
	uint64_t version;
	uint64_t low, high;     /* the least and the greatest slice that belong to the leaf */
	bool is_first, is_last; /* the leaf is the first, last of the layer */
};

struct mt_session {
	struct mt_tree *tree;
	struct epoch_slot *epoch;
	uint64_t word;   /* what get lends of a short value */
	uint64_t *words; /* what multi_get lends of them */
	size_t words_room;
	void *log; /* of the tree's log */
	struct mt_counts counts;
	/*
	 * The way of the last write. The next one begins at the same leaf if it can: where keys
	 * come in order nearly all do.
	 */
	struct path path;
	uint64_t path_epoch; /* in which its nodes were reached; 0: do not begin there */
	struct scan scan;
	struct list list;
	struct async async;
	struct slab_cache cache;
	uint32_t id;
} __attribute__((aligned(128)));

/** A counter that only its session adds to. */
static inline void
count_one(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

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

/** Tell the log, if there is one. The key's leaf is locked. A place is not recorded. */
static inline int
mt_record(struct mt_session *session, enum mt_change change, struct nb_slice key,
	struct nb_slice value)
{
	return session->log == NULL || is_absent_value(value)
		? NB_OK
		: session->tree->log.record(session->log, change, key, value);
}

/** Out of memory for `what`: NB_FAIL. */
int
mt_no_memory(const struct mt_session *session, const char *what);

static inline void
retire_record(struct mt_session *session, struct record *record)
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

/** Out of the epoch, and give back what is due. */
static inline void
mt_leave(struct mt_session *session)
{
	epoch_exit(session->epoch);
	if (__builtin_expect(epoch_is_due(session->epoch), 0))
		epoch_reclaim(session->epoch);
}

/* --- entry.c: records and leaves that nobody else sees yet --- */

/** A value under the rest of a key. False: out of memory. */
bool
mt_entry_make(struct mt_session *session, const struct key *key, struct nb_slice value,
	struct entry *entry);

/** It was never published. */
void
mt_entry_drop(struct mt_session *session, const struct entry *entry);

/** A leaf of `lines` with these entries in order. NULL: out of memory. */
struct leaf *
mt_leaf_new(struct mt_session *session, unsigned lines, const struct entry *entries,
	unsigned count);

/** Of a locked leaf. Returns the number. */
unsigned
mt_leaf_entries(struct leaf *leaf, uint64_t version, struct entry *entries);

/** Insert into a locked leaf that has room, at that rank, and unlock it. */
void
mt_leaf_insert(struct mt_session *session, struct leaf *leaf, uint64_t version,
	const struct entry *entry, unsigned rank);

/** Remove from a locked leaf, and unlock it. The record of the slot is the caller's. */
void
mt_leaf_remove(struct mt_session *session, struct leaf *leaf, uint64_t version, unsigned slot);

/** Insert into a leaf that is being changed, without unlocking it. */
void
mt_leaf_insert_dirty(struct mt_session *session, struct leaf *leaf, uint64_t version,
	const struct entry *entry, unsigned rank);

/* --- lists.c, scan.c --- */

void
mt_list_free(struct list *list);

/** As mt_scan_open(), within the epoch of a list. Each leaf that it reads is noted. Ends by itself. */
int
mt_scan_within(struct mt_session *session, struct nb_slice from, struct seens *seens);

/* --- smo.c: changes of the structure --- */

/**
 * The leaf is locked and full: make room, insert, unlock. `value` is for the log. NB_CONFLICT:
 * unlocked, begin again.
 */
int
mt_make_room(struct mt_session *session, struct path *path, const struct entry *entry,
	unsigned rank, struct nb_slice value);

/**
 * The locked leaf has another key with this slice in `slot`: both go into a layer of their
 * own. Unlocks.
 */
int
mt_make_layer(
	struct mt_session *session, struct path *path, unsigned slot, struct nb_slice value);

/** The leaf of the key in the layer that begins at its byte `at` was emptied: unlink it. */
void
mt_prune(struct mt_session *session, struct nb_slice key, size_t at);

#endif /* MASSTREE_INTERNAL_H */
