/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stamps. Each write or transaction increments map->stamp and marks its nodes with it. A
 * snapshot with stamp s reads the newest version of each key whose stamp is at most s.
 *
 * A superseded version joins the queue `retired`, which is thus in the order of the
 * successors' stamps. Only snapshots older than its successor need a version. So it can be
 * freed when the oldest open snapshot is not older. Versions are freed in order, from the
 * front of the queue. A version between two open snapshots stays longer than necessary; this
 * is the cost of a queue instead of a search. A tombstone is freed together with its
 * previous version, unless a later version has replaced it.
 *
 * Without an open snapshot the queue is empty, and a write frees the version that it
 * replaces.
 */
#include "versions.h"

/* memcpy() must not get the NULL that an empty slice may have. */
static void
copy(char *to, struct nb_slice from)
{
	if (from.size != 0)
		memcpy(to, from.data, from.size);
}

/* Each level contains a quarter of the one below: two zero bits of a random word. */
static size_t
random_height(uint64_t *random)
{
	uint64_t x = *random;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*random = x;
	return 1 + (size_t)__builtin_ctzll(x | 1ull << 2 * (LEVELS_MAX - 1)) / 2;
}

struct node *
node_new(uint64_t *random, struct nb_slice key, struct nb_slice value, bool is_deleted)
{
	size_t height = random_height(random);
	size_t links = height * sizeof(struct node *);
	struct node *node = malloc(sizeof(*node) + links + key.size + value.size);
	if (node == NULL)
		return NULL;
	node->key_size = key.size;
	node->height = height;
	node->value_size = value.size;
	node->stamp = 0;
	node->is_deleted = is_deleted;
	node->older = NULL;
	node->newer = NULL;
	copy(node_key(node), key);
	copy(node_value(node), value);
	return node;
}

void
nodes_free(struct node *chain)
{
	while (chain != NULL) {
		struct node *next = chain->next[0];
		free(chain);
		chain = next;
	}
}

static void
discard(struct node *node, struct node **garbage)
{
	node->next[0] = *garbage;
	*garbage = node;
}

/* --- the list --- */

struct node *
list_new(void)
{
	struct node *head = calloc(1, sizeof(*head) + LEVELS_MAX * sizeof(struct node *));
	if (head != NULL)
		head->height = LEVELS_MAX;
	return head;
}

void
list_free(struct node *head)
{
	nodes_free(head);
}

struct node *
list_find(const struct node *head, struct nb_slice key, struct node **before)
{
	const struct node *at = head;
	struct node *bound = NULL; /* known to be >= key */
	for (int level = LEVELS_MAX - 1; level >= 0; level--) {
		struct node *next = at->next[level];
		while (next != bound && node_compare(next, key) < 0) {
			at = next;
			next = at->next[level];
		}
		bound = next;
		if (before != NULL)
			before[level] = (struct node *)at;
	}
	return bound;
}

static struct node *
last(const struct node *head)
{
	const struct node *at = head;
	for (int level = LEVELS_MAX - 1; level >= 0; level--)
		while (at->next[level] != NULL)
			at = at->next[level];
	return at == head ? NULL : (struct node *)at;
}

struct node *
list_neighbour(const struct node *head, const struct node *from, bool is_backward)
{
	struct node *before[LEVELS_MAX];
	if (!is_backward)
		return from == NULL ? head->next[0] : from->next[0];
	if (from == NULL)
		return last(head);
	list_find(head, node_key_slice(from), before);
	return before[0] == head ? NULL : before[0];
}

static void
link_node(struct node **before, struct node *node)
{
	for (size_t level = 0; level < node->height; level++) {
		node->next[level] = before[level]->next[level];
		before[level]->next[level] = node;
	}
}

static void
unlink_node(struct node **before, struct node *node)
{
	for (size_t level = 0; level < node->height; level++)
		before[level]->next[level] = node->next[level];
}

void
list_store(struct node *head, struct node *node)
{
	struct node *before[LEVELS_MAX];
	struct node *old = list_find(head, node_key_slice(node), before);
	if (node_is_of(old, node_key_slice(node))) {
		unlink_node(before, old);
		free(old);
	}
	link_node(before, node);
}

/* --- versions --- */

bool
versions_open(struct versions *map)
{
	*map = (struct versions){.head = list_new()};
	map->retired_end = &map->retired;
	return map->head != NULL;
}

void
versions_close(struct versions *map)
{
	list_free(map->head); /* no snapshot is open, so older versions do not exist */
}

/* Add the node to the counts or, with sign -1, subtract it. */
static void
count(struct versions *map, const struct node *node, int sign)
{
	if (node->is_deleted)
		return;
	map->records += (uint64_t)(int64_t)sign;
	map->bytes += (node->key_size + node->value_size) * (uint64_t)(int64_t)sign;
}

/* Free the versions that no snapshot can read. */
static void
prune(struct versions *map, struct node **garbage)
{
	struct node *before[LEVELS_MAX];
	uint64_t oldest = map->oldest != NULL ? map->oldest->stamp : UINT64_MAX;
	while (map->retired != NULL && map->retired->newer->stamp <= oldest) {
		struct node *node = map->retired, *newer = node->newer;
		map->retired = node->next[0];
		newer->older = NULL;
		discard(node, garbage);
		if (!newer->is_deleted || newer->newer != NULL)
			continue;
		list_find(map->head, node_key_slice(newer), before);
		unlink_node(before, newer);
		discard(newer, garbage);
	}
	if (map->retired == NULL)
		map->retired_end = &map->retired;
}

/* Replace `old` by the node; both have the same key. */
static void
supersede(struct versions *map, struct node **before, struct node *old, struct node *node,
	struct node **garbage)
{
	unlink_node(before, old);
	link_node(before, node);
	count(map, old, -1);
	count(map, node, 1);
	node->older = old;
	old->newer = node;
	old->next[0] = NULL;
	*map->retired_end = old;
	map->retired_end = &old->next[0];
	prune(map, garbage);
}

void
versions_place(struct versions *map, struct node **before, struct node *old, struct node *node,
	struct node **garbage)
{
	node->stamp = map->stamp;
	if (old != NULL) {
		supersede(map, before, old, node, garbage);
		return;
	}
	link_node(before, node);
	count(map, node, 1);
}

bool
versions_store(struct versions *map, struct node *node, bool only_new, struct node **garbage)
{
	struct node *before[LEVELS_MAX];
	struct nb_slice key = node_key_slice(node);
	struct node *old = list_find(map->head, key, before);
	if (!node_is_of(old, key))
		old = NULL;
	if (only_new && old != NULL && !old->is_deleted)
		return false;
	versions_place(map, before, old, node, garbage);
	return true;
}

bool
versions_remove(struct versions *map, struct node *tombstone, struct node **garbage)
{
	struct node *before[LEVELS_MAX];
	struct nb_slice key = node_key_slice(tombstone);
	struct node *old = list_find(map->head, key, before);
	bool is_there = node_is_of(old, key) && !old->is_deleted;
	tombstone->stamp = map->stamp;
	if (is_there && map->oldest != NULL) {
		supersede(map, before, old, tombstone, garbage);
		return true;
	}
	discard(tombstone, garbage);
	if (!is_there)
		return false;
	unlink_node(before, old);
	count(map, old, -1);
	discard(old, garbage);
	return true;
}

void
versions_snapshot(struct versions *map, struct snapshot *snapshot)
{
	*snapshot = (struct snapshot){.stamp = map->stamp, .before = map->newest};
	*(map->newest != NULL ? &map->newest->after : &map->oldest) = snapshot;
	map->newest = snapshot;
}

void
versions_forget(struct versions *map, struct snapshot *snapshot, struct node **garbage)
{
	*(snapshot->before != NULL ? &snapshot->before->after : &map->oldest) = snapshot->after;
	*(snapshot->after != NULL ? &snapshot->after->before : &map->newest) = snapshot->before;
	prune(map, garbage);
}
