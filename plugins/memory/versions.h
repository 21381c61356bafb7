/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MEMORY_VERSIONS_H
#define MEMORY_VERSIONS_H
/**
 * An ordered map whose records keep their past as long as a snapshot is open: a skip list
 * (W. Pugh, CACM 33(6), 1990) with p = 1/4, each node the newest version of its key.
 *
 * A node holds its key and its value in one allocation and never changes: to overwrite is to
 * put a new node in the old one's place. So all that can fail, the allocation, can be done
 * before a lock is taken, and the calls below that return nothing cannot fail. A version that
 * a snapshot may still read stays reachable from its successor, and a removed key leaves a
 * tombstone, a node of its own. Both go with the oldest snapshot that could read them.
 *
 * The map has no lock. Its owner lets either one writer in, or readers; `versions_find`,
 * `versions_neighbour` and `versions_visible` are all that readers call.
 */
#include "../common/plugin.h"

/* 4^16 records before the search becomes longer than logarithmic. */
enum { LEVELS_MAX = 16 };

struct node {
	size_t value_size;
	struct node *older;  /* the version before, if a snapshot may read it */
	struct node *newer;  /* NULL: the newest of its key, and so in the list */
	uint64_t stamp : 63; /* of the write that made it */
	uint64_t is_deleted : 1;
	uint64_t key_size : 58, height : 6; /* from here on what a search looks at */
	/*
	 * `height` links, then the key's bytes, then the value's. Outside the list the first
	 * link chains what waits to be freed.
	 */
	struct node *next[];
};

/** One version of the data: what was written with stamps up to its own. */
struct snapshot {
	uint64_t stamp;
	struct snapshot *before, *after; /* those that were opened around it */
};

struct versions {
	struct node *head; /* before every key; of full height, without key and value */
	uint64_t stamp;    /* of the last write */
	uint64_t records;
	uint64_t bytes; /* of keys and values */
	struct snapshot *oldest, *newest;
	struct node *retired, **retired_end; /* superseded versions, in the order of that */
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

/** Frees a chain of nodes that are in no list. */
void
nodes_free(struct node *chain);

/** The head of an empty list, or NULL. */
struct node *
list_new(void);

/** Frees a list with all of its nodes, but not their older versions. */
void
list_free(struct node *head);

/**
 * The first node of the list that is not below the key, or NULL. before[], if wanted, is the
 * last node below the key at each level.
 */
struct node *
list_find(const struct node *head, struct nb_slice key, struct node **before);

/** The node that follows in the list, or backward the one before; from NULL the first. */
struct node *
list_neighbour(const struct node *head, const struct node *from, bool is_backward);

/** Stores the node in a list without versions; what its key had is freed. */
void
list_store(struct node *head, struct node *node);

bool
versions_open(struct versions *map);

void
versions_close(struct versions *map);

/** Of a key's versions, the newest being `node`, the value that a snapshot reads, or NULL. */
static inline struct node *
versions_visible(struct node *node, uint64_t stamp)
{
	while (node != NULL && node->stamp > stamp)
		node = node->older;
	return node == NULL || node->is_deleted ? NULL : node;
}

/**
 * Stores the node, made by the write that map->stamp counts. With only_new it does nothing and
 * returns false if the key is there. What can be freed is added to *garbage.
 */
bool
versions_store(struct versions *map, struct node *node, bool only_new, struct node **garbage);

/** The same where `old` is what the key has, or NULL, and before[] is list_find()'s. */
void
versions_place(struct versions *map, struct node **before, struct node *old, struct node *node,
	struct node **garbage);

/**
 * Removes the key that the tombstone names, as versions_store() does; false: it is not there.
 * The tombstone is the map's then, or in *garbage.
 */
bool
versions_remove(struct versions *map, struct node *tombstone, struct node **garbage);

/** Opens a snapshot of what is there now. It stays where it is until it is closed. */
void
versions_snapshot(struct versions *map, struct snapshot *snapshot);

void
versions_forget(struct versions *map, struct snapshot *snapshot, struct node **garbage);

#endif /* MEMORY_VERSIONS_H */
