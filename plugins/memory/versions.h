/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MEMORY_VERSIONS_H
#define MEMORY_VERSIONS_H
/**
 * An ordered map that keeps older versions of records while a snapshot is open. It is a skip
 * list (W. Pugh, CACM 33(6), 1990) with p = 1/4; each node is the newest version of its key.
 *
 * A node contains its key and value in one allocation and never changes: overwriting
 * replaces the old node by a new one. So the only part that can fail, the allocation,
 * happens before a lock is taken; functions below that return nothing cannot fail. A version
 * that a snapshot may still read stays reachable from its successor. A removed key leaves a
 * tombstone, which is a node of its own. Both are freed with the oldest snapshot that could
 * read them.
 *
 * The map has no lock. Its owner admits either one writer or readers. Readers call only
 * list_find(), list_neighbour() and versions_visible().
 */
#include "../common/plugin.h"

/* Searches take logarithmic time up to 4^16 records. */
enum { LEVELS_MAX = 16 };

struct node {
	size_t value_size;
	struct node *older;  /* the previous version, if a snapshot may read it */
	struct node *newer;  /* NULL: the newest version of its key, and thus in the list */
	uint64_t stamp : 63; /* of the write that made it */
	uint64_t is_deleted : 1;
	uint64_t key_size : 58, height : 6; /* searches read the members from here on */
	/*
	 * `height` links, then the bytes of the key, then those of the value. Outside the list,
	 * the first link chains nodes that wait to be freed.
	 */
	struct node *next[];
};

/** One version of the data: all writes with stamps up to its own. */
struct snapshot {
	uint64_t stamp;
	struct snapshot *before, *after; /* neighbours in the order of opening */
};

struct versions {
	struct node *head; /* before every key; of full height, without key and value */
	uint64_t stamp;    /* of the last write */
	uint64_t records;
	uint64_t bytes; /* of keys and values */
	struct snapshot *oldest, *newest;
	struct node *retired,
		**retired_end; /* superseded versions, in the order of their replacement */
};

static inline char *
node_key(const struct node *node)
{
	return (char *)&node->next[node->height];
}

static inline char *
node_value(const struct node *node)
{
	return node_key(node) + node->key_size;
}

static inline struct nb_slice
node_key_slice(const struct node *node)
{
	return (struct nb_slice){node_key(node), node->key_size};
}

static inline int
node_compare(const struct node *node, struct nb_slice key)
{
	size_t common = node->key_size < key.size ? node->key_size : key.size;
	int order = common == 0 ? 0 : memcmp(node_key(node), key.data, common);
	if (order != 0)
		return order;
	return (node->key_size > key.size) - (node->key_size < key.size);
}

static inline bool
node_is_of(const struct node *node, struct nb_slice key)
{
	return node != NULL && node_compare(node, key) == 0;
}

/** A copy of the record, or NULL. `random` is the state of a generator, never 0. */
struct node *
node_new(uint64_t *random, struct nb_slice key, struct nb_slice value, bool is_deleted);

/** Free a chain of nodes that are not in a list. */
void
nodes_free(struct node *chain);

/** The head of an empty list, or NULL. */
struct node *
list_new(void);

/** Free a list with all of its nodes, but not their older versions. */
void
list_free(struct node *head);

/**
 * The first node of the list that is >= key, or NULL. before[], if not NULL, gets the last
 * node below the key at each level.
 */
struct node *
list_find(const struct node *head, struct nb_slice key, struct node **before);

/** The next node in the list, or backward the previous one; from NULL: the first or the last. */
struct node *
list_neighbour(const struct node *head, const struct node *from, bool is_backward);

/** Store the node in a list without versions, and free the previous node of its key. */
void
list_store(struct node *head, struct node *node);

bool
versions_open(struct versions *map);

void
versions_close(struct versions *map);

/**
 * The version of a key that a snapshot with this stamp reads, or NULL. `node`: the newest
 * version.
 */
static inline struct node *
versions_visible(struct node *node, uint64_t stamp)
{
	while (node != NULL && node->stamp > stamp)
		node = node->older;
	return node == NULL || node->is_deleted ? NULL : node;
}

/**
 * Store the node of the write with stamp map->stamp. With only_new, do nothing and return
 * false if the key exists. Nodes to free are added to *garbage.
 */
bool
versions_store(struct versions *map, struct node *node, bool only_new, struct node **garbage);

/**
 * Like versions_store(). `old` is the key's newest version, or NULL; before[] comes from
 * list_find().
 */
void
versions_place(struct versions *map, struct node **before, struct node *old, struct node *node,
	struct node **garbage);

/**
 * Remove the key of the tombstone, as versions_store() stores one. Returns false if the key
 * is missing. The map then owns the tombstone, or it is in *garbage.
 */
bool
versions_remove(struct versions *map, struct node *tombstone, struct node **garbage);

/**
 * Open a snapshot of the current data. `snapshot` must not move until versions_forget()
 * closes it.
 */
void
versions_snapshot(struct versions *map, struct snapshot *snapshot);

void
versions_forget(struct versions *map, struct snapshot *snapshot, struct node **garbage);

#endif /* MEMORY_VERSIONS_H */
