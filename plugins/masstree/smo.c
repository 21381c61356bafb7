/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Structure changes: leaves grow and split; leaves and layers are removed.
 *
 * A change allocates all memory before readers must wait, and frees it if the change fails. It
 * locks as internal.h describes: from the leaf upwards, at the versions that were read, without
 * waiting.
 *
 * Splits. The left part stays in its node, and the right part moves to a new node. All records
 * of one slice stay in one leaf, because inner nodes contain only slices. A leaf has at most 9
 * records of a slice, so a leaf of 14 can always be split. If keys come in ascending order, the
 * new leaf gets only the new record, so leaves stay full (section 4.3). In descending order, the
 * old leaf keeps only the new record.
 *
 * Removal. An empty leaf is unlinked from its parent, together with every inner node above that
 * has no other child. The last leaf of a layer is removed with the layer and the layer's slot
 * in the leaf above. If that leaf becomes empty, the same happens there. A root with a single
 * child is replaced by the child. Nodes are never merged (S. Sen and R. Tarjan, "Deletion
 * without rebalancing in multiway search trees", 2009).
 */
#include "find.h"

/* --- levels of a path: 0 is the root, -1 the root's holder --- */

static uint64_t *
level_version(struct path *path, int level, uint64_t *read)
{
	*read = level < 0 ? path->holder_version : path->steps[level].version;
	return level < 0 ? path->holder : &path->steps[level].inner->version;
}

static void
unlock_levels(struct path *path, int from, int upto)
{
	for (int level = from; level >= upto; level--) {
		uint64_t read, *version = level_version(path, level, &read);
		version_unlock(version, read);
	}
}

/*
 * Lock from the leaf's parent up to level `upto`, without waiting. False: a node has changed or
 * another session has locked it; the function has released its locks.
 */
static bool
lock_levels(struct path *path, int upto)
{
	int parent = (int)path->depth - 1;

	for (int level = parent; level >= upto; level--) {
		uint64_t read, *version = level_version(path, level, &read);
		if (!version_try_lock(version, read)) {
			unlock_levels(path, parent, level + 1);
			return false;
		}
	}
	return true;
}

static void
retire_node(struct nb_session *session, void *node, unsigned kind)
{
	epoch_retire(session->epoch, kind, (uint64_t)(uintptr_t)node);
}

/* Unlock the leaf as obsolete, and retire it. */
static void
obsolete_leaf(struct nb_session *session, struct leaf *leaf, uint64_t version)
{
	version_unlock_obsolete(&leaf->version, version);
	retire_node(session, leaf, RETIRED_LEAF + version_count(version));
	count_one(&session->counts.leaves_removed);
}

static void
obsolete_inner(struct nb_session *session, struct inner *inner, uint64_t version)
{
	version_unlock_obsolete(&inner->version, version);
	retire_node(session, inner, RETIRED_INNER);
	count_one(&session->counts.inner_removed);
}

/* --- growing --- */

/* Copy the entries of the leaf and insert the new one. Returns their number. */
static unsigned
entries_with(struct path *path, const struct entry *entry, unsigned rank, struct entry *entries)
{
	unsigned count = mt_leaf_entries(path->leaf, path->version, entries);

	memmove(&entries[rank + 1], &entries[rank], (count - rank) * sizeof(*entries));
	entries[rank] = *entry;
	return count + 1;
}

/* Replace the full leaf by a larger one. */
static int
grow(struct nb_session *session, struct path *path, const struct entry *entry, unsigned rank,
	struct nb_slice value)
{
	struct entry entries[LEAF_SLOTS_MAX + 1];
	unsigned count = entries_with(path, entry, rank, entries);
	int parent = (int)path->depth - 1;
	uint64_t read, *version = level_version(path, parent, &read);
	struct leaf *leaf = mt_leaf_new(
		session, version_count(path->version) + 1, entries, count);

	if (leaf == NULL)
		return unlock(path, mt_no_memory(session, "a leaf"));
	if (!lock_levels(path, parent)) {
		mt_leaf_drop(session, leaf);
		return unlock(path, NB_CONFLICT);
	}
	int rc = mt_record(session, MT_PUT, path->whole, value);
	if (rc != NB_OK) {
		unlock_levels(path, parent, parent);
		mt_leaf_drop(session, leaf);
		return unlock(path, rc);
	}
	if (parent < 0)
		root_store(path->root, leaf);
	else
		node_store(&path->steps[parent].inner->children[path->steps[parent].index],
			(struct node *)leaf);
	version_unlock_changed(version, read);
	obsolete_leaf(session, path->leaf, path->version);
	if (path->upper == NULL)
		mt_hint(session->tree, HINT_LEAF, leaf, path->low, path->high);
	count_one(&session->counts.leaf_grows);
	return NB_OK;
}

/* --- splitting --- */

/* The nodes that a split adds. */
struct split {
	int top; /* highest level that changes; -1: a new root */
	struct leaf *right;
	struct inner *root;
	struct inner *inners[HEIGHT_MAX]; /* right parts, by level */
	uint64_t parent_low; /* the first slice of the right part of the leaf's parent */
};

static struct inner *
inner_new(struct nb_session *session)
{
	struct inner *inner = slab_alloc(&session->cache, sizeof(*inner));

	if (inner == NULL)
		return NULL;
	memset(inner, 0, sizeof(*inner)); /* searches may read all keys */
	inner->version = NODE_STEP;
	count_one(&session->counts.inner_added);
	return inner;
}

static void
drop_inner(struct nb_session *session, struct inner *inner)
{
	if (inner == NULL)
		return;
	slab_free(&session->cache, inner, sizeof(*inner));
	count_one(&session->counts.inner_removed);
}

static void
split_drop(struct nb_session *session, struct path *path, struct split *split)
{
	for (int level = split->top + 1; level < (int)path->depth; level++)
		drop_inner(session, split->inners[level]);
	drop_inner(session, split->root);
	if (split->right != NULL)
		mt_leaf_drop(session, split->right);
}

static bool
split_new(struct nb_session *session, struct path *path, struct split *split, unsigned lines,
	const struct entry *entries, unsigned count)
{
	bool have_all = true;

	for (int level = split->top + 1; level < (int)path->depth; level++) {
		split->inners[level] = inner_new(session);
		have_all = have_all && split->inners[level] != NULL;
	}
	split->root = split->top < 0 ? inner_new(session) : NULL;
	split->right = mt_leaf_new(session, lines, entries, count);
	if (have_all && split->right != NULL && (split->top >= 0 || split->root != NULL))
		return true;
	split_drop(session, path, split);
	return false;
}

/* The number of entries that stay in the left leaf. */
static unsigned
split_at(const struct path *path, const struct entry *entries, unsigned count, unsigned rank)
{
	unsigned at = (count + 1) / 2;

	if (path->is_first && rank == 0)
		at = 1;
	for (unsigned off = 0;; off++) { /* the nearest place between two slices */
		if (at + off < count && entries[at + off - 1].slice != entries[at + off].slice)
			return at + off;
		if (at > off && entries[at - off - 1].slice != entries[at - off].slice)
			return at - off;
	}
}

/*
 * If keys come in order, the leaf will be full. Otherwise one of three lines saves a tenth of
 * all memory.
 */
static unsigned
right_lines(const struct path *path, unsigned count)
{
	return path->is_last || count + 4 > LEAF_SLOTS_MAX ? LEAF_LINES_MAX
							   : LEAF_LINES_MAX - 1;
}

/* Insert a child after child `index` of a node that has room. */
static void
inner_insert(struct inner *inner, unsigned count, unsigned index, uint64_t key, void *child)
{
	for (unsigned i = count; i > index; i--) {
		racy_store64(&inner->keys[i], inner->keys[i - 1]);
		node_store(&inner->children[i + 1], inner->children[i]);
	}
	racy_store64(&inner->keys[index], key);
	node_store(&inner->children[index + 1], child);
}

/*
 * Insert a child into a full node: the upper part moves to `right`. Returns the number of keys
 * that stay; *key becomes the key between the parts.
 */
static unsigned
inner_split(struct inner *inner, unsigned index, uint64_t *key, void *child,
	struct inner *right, const struct path *path)
{
	uint64_t keys[INNER_KEYS + 1];
	struct node *children[INNER_KEYS + 2];
	unsigned left = path->is_last ? INNER_KEYS - 1 : path->is_first ? 1 : INNER_KEYS / 2;

	memcpy(keys, inner->keys, index * sizeof(*keys));
	keys[index] = *key;
	memcpy(&keys[index + 1], &inner->keys[index], (INNER_KEYS - index) * sizeof(*keys));
	memcpy(children, inner->children, (index + 1) * sizeof(struct node *));
	children[index + 1] = child;
	memcpy(&children[index + 2], &inner->children[index + 1],
		(INNER_KEYS - index) * sizeof(struct node *));

	unsigned moved = INNER_KEYS - left;
	memcpy(right->keys, &keys[left + 1], moved * sizeof(*keys));
	memcpy(right->children, &children[left + 1], (moved + 1) * sizeof(struct node *));
	right->version = version_with_count(right->version, moved);
	*key = keys[left];
	for (unsigned i = index; i < left; i++) {
		racy_store64(&inner->keys[i], keys[i]);
		node_store(&inner->children[i + 1], children[i + 1]);
	}
	return left;
}

/*
 * Link the right leaf and the inner nodes that this splits, up to the top. All these nodes are
 * dirty.
 */
static void
split_link(struct nb_session *session, struct path *path, struct split *split, uint64_t key)
{
	void *left = path->leaf, *right = split->right;

	for (int level = (int)path->depth - 1; level >= 0; level--) {
		struct step *step = &path->steps[level];
		unsigned count = version_count(step->version);

		if (level == split->top) {
			inner_insert(step->inner, count, step->index, key, right);
			step->version = version_with_count(step->version, count + 1);
			return;
		}
		count = inner_split(
			step->inner, step->index, &key, right, split->inners[level], path);
		if (level == (int)path->depth - 1)
			split->parent_low = key;
		step->version = version_with_count(step->version, count);
		left = step->inner;
		right = split->inners[level];
		count_one(&session->counts.inner_splits);
	}
	split->root->keys[0] = key;
	split->root->children[0] = left;
	split->root->children[1] = right;
	split->root->version = version_with_count(split->root->version, 1);
	root_store(path->root, split->root);
}

/* Keep the first `at` entries in the locked leaf, counted with the new entry. */
static void
split_leaf(struct nb_session *session, struct path *path, const struct entry *entry,
	unsigned rank, unsigned at)
{
	struct leaf *leaf = path->leaf;
	uint64_t kept = rank < at ? at - 1 : at;

	__atomic_store_n(&leaf->order, (leaf->order & ~15ull) | kept, __ATOMIC_RELEASE);
	if (rank < at)
		mt_leaf_insert_dirty(session, leaf, path->version, entry, rank);
}

/* Unlock from the top down, so a reader that sees a split node finds the path to its new part. */
static void
split_unlock(struct path *path, const struct split *split)
{
	for (int level = split->top; level < (int)path->depth; level++) {
		uint64_t read, *version = level_version(path, level, &read);
		version_unlock_changed(version, read);
	}
	version_unlock_changed(&path->leaf->version, path->version);
}

/*
 * The right leaf becomes the path's leaf, so the next key in order needs no descent. Only if
 * the parent had room: a parent that was split is not in the path any more.
 */
static void
path_move_right(struct path *path, const struct split *split, uint64_t version, uint64_t low)
{
	if (split->top < 0 || split->top != (int)path->depth - 1)
		return;
	path->steps[split->top].index++;
	path->steps[split->top].version += NODE_STEP;
	path->leaf = split->right;
	path->version = version;
	path->low = low;
	path->is_first = false;
}

/* The new bounds of leaves and their parents. `low`: the first slice of the right leaf. */
static void
hint_split(struct nb_session *session, const struct path *path, const struct split *split,
	uint64_t low)
{
	const struct nb_db *tree = session->tree;
	int parent = (int)path->depth - 1;

	mt_hint(tree, HINT_LEAF, path->leaf, path->low, low - 1);
	mt_hint(tree, HINT_LEAF, split->right, low, path->high);
	if (split->top < parent) {
		low = split->parent_low;
		mt_hint(tree, HINT_PARENT, path->steps[parent].inner, path->parent_low,
			low - 1);
		mt_hint(tree, HINT_PARENT, split->inners[parent], low, path->parent_high);
	}
}

static int
split(struct nb_session *session, struct path *path, const struct entry *entry, unsigned rank,
	struct nb_slice value)
{
	struct entry entries[LEAF_SLOTS_MAX + 1] = {*entry};
	unsigned count = order_count(path->leaf->order) + 1, at = count - 1, first = 0;
	struct split split = {.top = (int)path->depth - 1};
	bool is_append = path->is_last && leaf_ends_before(path->leaf, entry->slice);

	if (!is_append) {
		entries_with(path, entry, rank, entries);
		first = at = split_at(path, entries, count, rank);
	}

	while (split.top >= 0 && version_count(path->steps[split.top].version) == INNER_KEYS)
		split.top--;
	if (!lock_levels(path, split.top))
		return unlock(path, NB_CONFLICT);
	bool has_memory = split_new(session, path, &split, right_lines(path, count - at),
		&entries[first], count - at);
	int rc = has_memory ? mt_record(session, MT_PUT, path->whole, value)
			    : mt_no_memory(session, "a leaf");
	if (rc != NB_OK) {
		if (has_memory)
			split_drop(session, path, &split);
		unlock_levels(path, (int)path->depth - 1, split.top);
		return unlock(path, rc);
	}
	version_begin_change(&path->leaf->version, path->version);
	for (int level = split.top; level < (int)path->depth; level++) {
		uint64_t read, *version = level_version(path, level, &read);
		version_begin_change(version, read);
	}
	split_leaf(session, path, entry, rank, at);
	split_link(session, path, &split, entries[first].slice);
	uint64_t version = split.right->version;
	split_unlock(path, &split);
	count_one(&session->counts.leaf_splits);
	if (path->upper == NULL) {
		hint_split(session, path, &split, entries[first].slice);
		mt_hints_review(session, path->leaf, entries[first].slice);
	}
	if (is_append)
		path_move_right(path, &split, version, entry->slice);
	return NB_OK;
}

int
mt_make_room(struct nb_session *session, struct path *path, const struct entry *entry,
	unsigned rank, struct nb_slice value)
{
	return version_count(path->version) < LEAF_LINES_MAX
		? grow(session, path, entry, rank, value)
		: split(session, path, entry, rank, value);
}

/* --- removal --- */

enum pruned { PRUNE_DONE, PRUNE_AGAIN, PRUNE_ABOVE };

/* Descend to the leaf in the layer that begins at byte `at` of the key. PRUNE_ABOVE: found it. */
static enum pruned
find_layer(struct nb_session *session, struct path *path, size_t at)
{
	struct layer_slot layer;

	path_start(session->tree, path);
	for (;;) {
		if (!path_down(session->tree, path))
			return PRUNE_AGAIN;
		if (path->key.data == (const uint8_t *)path->whole.data + at)
			return PRUNE_ABOVE;
		if (!path_look(path, &layer))
			return PRUNE_AGAIN;
		if (layer.slot < 0)
			return PRUNE_DONE; /* another session has removed it */
		path_shift(path, &layer);
	}
}

/* Remove the path's child from a locked inner node that has other children. Unlocks the node. */
static void
remove_child(struct nb_session *session, struct path *path, int level)
{
	struct step *step = &path->steps[level];
	struct inner *inner = step->inner;
	unsigned count = version_count(step->version);
	unsigned key = step->index > 0 ? step->index - 1 : 0;

	version_begin_change(&inner->version, step->version);
	for (unsigned i = key; i + 1 < count; i++)
		racy_store64(&inner->keys[i], inner->keys[i + 1]);
	for (unsigned i = step->index; i < count; i++)
		node_store(&inner->children[i], inner->children[i + 1]);
	step->version = version_with_count(step->version, count - 1);
	if (count == 1 && level == 0 && version_try_lock(path->holder, path->holder_version)) {
		root_store(path->root, inner->children[0]);
		version_unlock_changed(path->holder, path->holder_version);
		obsolete_inner(session, inner, step->version);
		return;
	}
	version_unlock_changed(&inner->version, step->version);
}

/*
 * Unlink the locked, empty leaf and all nodes above that have no other child. Unlocks all.
 * PRUNE_ABOVE: this has emptied the leaf above, too.
 */
static enum pruned
unlink_leaf(struct nb_session *session, struct path *path)
{
	int level = (int)path->depth - 1;
	enum pruned pruned = PRUNE_DONE;

	while (level >= 0 && version_count(path->steps[level].version) == 0)
		level--;
	if (!lock_levels(path, level))
		return unlock(path, PRUNE_AGAIN);
	if (level >= 0) {
		remove_child(session, path, level);
	} else if (path->upper != NULL) {
		if (order_count(path->upper->order) == 1)
			pruned = PRUNE_ABOVE;
		mt_leaf_remove(session, path->upper, path->holder_version, path->upper_slot);
		count_one(&session->counts.layers_removed);
	} else { /* the empty leaf is the whole tree */
		root_store(path->root, path->leaf);
		version_unlock_changed(path->holder, path->holder_version);
	}
	for (int below = level + 1; below < (int)path->depth; below++)
		obsolete_inner(session, path->steps[below].inner, path->steps[below].version);
	if (level < 0 && path->upper == NULL)
		version_unlock_changed(&path->leaf->version, path->version);
	else
		obsolete_leaf(session, path->leaf, path->version);
	return pruned;
}

static enum pruned
prune_once(struct nb_session *session, struct path *path, size_t at)
{
	enum pruned found = find_layer(session, path, at);

	if (found != PRUNE_ABOVE)
		return found;
	if (order_count(racy_load64(&path->leaf->order)) != 0 ||
		(path->depth == 0 && path->upper == NULL))
		return PRUNE_DONE;
	if (!version_lock(&path->leaf->version, path->version))
		return PRUNE_AGAIN;
	if (order_count(path->leaf->order) == 0)
		return unlink_leaf(session, path);
	return unlock(path, PRUNE_DONE);
}

void
mt_prune(struct nb_session *session, struct nb_slice key, size_t at)
{
	struct path path = {.whole = key};
	unsigned spins = 0;

	for (;;) {
		switch (prune_once(session, &path, at)) {
		case PRUNE_DONE:
			return;
		case PRUNE_AGAIN:
			back_off(&spins);
			break;
		case PRUNE_ABOVE:
			at -= SLICE;
			break;
		}
	}
}
