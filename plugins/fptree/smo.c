/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Splits and merges: the structure's changes.
 *
 * Both descend again, and on the way down make sure that there is room for what
 * may come: a split splits every full inner node that it meets, a merge merges
 * every sparse one. Inner nodes are in memory only, so these steps need no order but
 * the versions', and each ends with the locks let go and a new beginning. At the bottom
 * the parent and the leaves are locked, and then, F being flush and fence, and the store
 * that commits in brackets:
 *
 *   split of L into L and M:   M's slots and M.next = L.next, F, [L.next = M], F, the
 *     slots of L that M has now := 0, F.
 *     Until the commit M is free space. After it, until the last F, records may be in both: they
 *     are not below M's least key, which M has had from the commit on, and that is how
 *     recovery knows them and empties them in L. M does not change before the last F. No
 *     log is needed, and nothing has to be undone.
 *
 *   merge of M into L, L.next = M:   M's records into empty slots of L, F, [L.next =
 *     M.next], F.
 *     Until the commit the new records of L, whole or torn, are again not below M's
 *     least key: a torn one is none, a whole one is emptied by recovery. After it M is free
 *     space (once its epoch is over), and they are where they belong.
 *
 * The first leaf is never merged into another, so the pool's head never changes.
 */
#include "descend.h"

#include <stdlib.h>

/* --- inner nodes --- */

/* A node on the way down, and how it was found. */
struct step {
	struct inner *node, *parent; /* parent: NULL for the root */
	uint64_t version, parent_version;
	unsigned index; /* of the node among the parent's children */
};

static bool
lock_root(struct tree *tree, const struct step *step)
{
	if (!version_lock(&step->node->version, step->version))
		return false;
	if (__atomic_load_n(&tree->root, __ATOMIC_ACQUIRE) == step->node)
		return true;
	version_unlock_unchanged(&step->node->version, step->version);
	return false;
}

static bool
lock_step(struct tree *tree, const struct step *step)
{
	if (step->parent == NULL)
		return lock_root(tree, step);
	if (!version_lock(&step->parent->version, step->parent_version))
		return false;
	if (version_lock(&step->node->version, step->version))
		return true;
	version_unlock_unchanged(&step->parent->version, step->parent_version);
	return false;
}

static void
unlock_step(const struct step *step, bool is_changed)
{
	void (*unlock)(uint64_t *, uint64_t) = is_changed ? version_unlock
							  : version_unlock_unchanged;

	unlock(&step->node->version, step->version);
	if (step->parent != NULL)
		unlock(&step->parent->version, step->parent_version);
}

/* The old one is locked. */
static void
set_root(struct tree *tree, struct inner *root)
{
	__atomic_store_n(&tree->height, root->level + 2, __ATOMIC_RELAXED);
	__atomic_store_n(&tree->root, root, __ATOMIC_RELEASE);
}

static uint64_t
child_of_inner(const struct inner *node)
{
	return (uint64_t)(uintptr_t)node;
}

/* The step's node is full and locked, and so is its parent, which is not full. */
static bool
split_inner(struct tree *tree, const struct step *step)
{
	const struct inner_shape *shape = &tree->shape;
	struct inner *parent = step->parent;
	struct inner *right = inner_new(shape, step->node->level);
	struct inner *root = parent == NULL ? inner_new(shape, step->node->level + 1) : NULL;
	struct inner *above = parent == NULL ? root : parent;
	struct separator middle;

	if (right == NULL || above == NULL)
		goto free_nodes;
	if (step->node->tails != NULL && !inner_reserve_tails(shape, above))
		goto free_nodes;
	if (!inner_split(shape, step->node, right, &middle))
		goto free_nodes;
	if (root != NULL)
		inner_children(shape, root)[0] = child_of_inner(step->node);
	inner_add(shape, above, step->index, middle, child_of_inner(right));
	__atomic_fetch_add(&tree->inner_nodes, root != NULL ? 2 : 1, __ATOMIC_RELAXED);
	if (root != NULL)
		set_root(tree, root);
	return true;

free_nodes:
	inner_delete(right);
	inner_delete(root);
	return false;
}

static void
retire_tail(struct tree_session *session, const struct tail *tail)
{
	if (tail != NULL)
		epoch_retire(session->epoch, RETIRED_TAIL, (uint64_t)(uintptr_t)tail);
}

static void
retire_inner(struct tree_session *session, struct inner *node, uint64_t version)
{
	version_unlock_obsolete(&node->version, version);
	epoch_retire(session->epoch, RETIRED_INNER, (uint64_t)(uintptr_t)node);
	__atomic_fetch_sub(&session->tree->inner_nodes, 1, __ATOMIC_RELAXED);
}

/* The root has one child, a node: make that the root. */
static void
drop_root(struct tree_session *session, const struct step *step)
{
	struct tree *tree = session->tree;

	if (!lock_root(tree, step))
		return;
	set_root(tree, (struct inner *)(uintptr_t)inner_children(&tree->shape, step->node)[0]);
	retire_inner(session, step->node, step->version);
}

/* Children `i` and `i` + 1 of the locked parent, both locked, become one. */
static bool
merge_pair(struct tree_session *session, struct inner *parent, unsigned i, struct inner *left,
	struct inner *right, uint64_t right_version)
{
	const struct inner_shape *shape = &session->tree->shape;
	struct separator between = {parent->words[i], inner_tail(parent->tails, i)};

	if (!inner_append(shape, left, between, right))
		return false;
	inner_remove(shape, parent, i);
	retire_inner(session, right, right_version);
	return true;
}

/*
 * The step's node has few children: merge it with the neighbour `by` (-1, 1) if they
 * have few together, a quarter less than a node takes, so that the next split is not near.
 * True: the tree may have changed, begin again.
 */
static bool
merge_inner(struct tree_session *session, const struct step *step, int by)
{
	const struct inner_shape *shape = &session->tree->shape;
	unsigned count = __atomic_load_n(&step->parent->count, __ATOMIC_ACQUIRE);
	unsigned at = step->index + (unsigned)by;
	struct inner *other, *left, *right;
	uint64_t version;
	bool is_done;

	if (at > count)
		return false;
	other = (struct inner *)(uintptr_t)__atomic_load_n(
		&inner_children(shape, step->parent)[at], __ATOMIC_ACQUIRE);
	version = version_read(&other->version);
	if (racy_load32(&other->count) + racy_load32(&step->node->count) + 2 >
		shape->fanout * 3 / 4)
		return false;
	if (!lock_step(session->tree, step))
		return true;
	if (!version_lock(&other->version, version)) {
		unlock_step(step, false);
		return true;
	}
	left = by > 0 ? step->node : other;
	right = by > 0 ? other : step->node;
	is_done = merge_pair(session, step->parent, by > 0 ? step->index : at, left, right,
		by > 0 ? version : step->version);
	if (!is_done) { /* no memory; the other neighbour may need none */
		version_unlock_unchanged(&other->version, version);
		unlock_step(step, false);
		return false;
	}
	version_unlock(&left->version, by > 0 ? step->version : version);
	version_unlock(&step->parent->version, step->parent_version);
	return true; /* the right one's lock went with it */
}

/* Make the node fit for a split below it. 0: it is; 1: begin again; NB_FAIL. */
static int
prepare_split(struct tree_session *session, const struct step *step)
{
	struct tree *tree = session->tree;
	bool is_done;

	if (racy_load32(&step->node->count) + 1 < tree->shape.fanout)
		return 0;
	if (!lock_step(tree, step))
		return 1;
	is_done = split_inner(tree, step);
	unlock_step(step, is_done);
	if (!is_done)
		return tree_no_memory(tree, "an inner node");
	count_one(&session->counts.inner_splits);
	return 1;
}

static bool
is_sparse(const struct tree *tree, unsigned count)
{
	return count + 1 <= tree->shape.fanout / 4;
}

static int
prepare_merge(struct tree_session *session, const struct step *step)
{
	unsigned count = racy_load32(&step->node->count);

	if (step->parent == NULL) {
		if (step->node->level == 0 || count > 0)
			return 0;
		drop_root(session, step);
		return 1;
	}
	if (!is_sparse(session->tree, count))
		return 0;
	return merge_inner(session, step, 1) || merge_inner(session, step, -1);
}

/* What a descent has met on its way. */
struct approach {
	struct place place;
	bool is_first, is_last; /* the leaf is the tree's first, last */
};

typedef int (*prepare_fn)(struct tree_session *session, const struct step *step);

/* One try: 0 arrived; 1 begin again; NB_FAIL. */
static int
approach_once(struct tree_session *session, const struct key *key, prepare_fn prepare,
	struct approach *approach)
{
	const struct tree *tree = session->tree;
	struct step step = {0};

	*approach = (struct approach){.is_first = true, .is_last = true};
	step.node = root_of(tree, &step.version);
	for (;;) {
		int answer = prepare(session, &step);
		unsigned i = child_for(step.node, key, false);
		uint64_t child = __atomic_load_n(
			&inner_children(&tree->shape, step.node)[i], __ATOMIC_ACQUIRE);
		struct inner *next;
		uint64_t version;

		if (answer != 0)
			return answer;
		approach->is_first = approach->is_first && i == 0;
		approach->is_last = approach->is_last && i == racy_load32(&step.node->count);
		if (step.node->level == 0) {
			approach->place = (struct place){step.node, step.version, i, child};
			return 0;
		}
		next = (struct inner *)(uintptr_t)child;
		if (!version_holds(&step.node->version, step.version))
			return 1;
		version = version_read(&next->version);
		if (!version_holds(&step.node->version, step.version))
			return 1;
		step = (struct step){next, step.node, version, step.version, i};
	}
}

/* To the leaf that the key belongs to, its parent locked. 0 or NB_FAIL. */
static int
approach(struct tree_session *session, const struct key *key, prepare_fn prepare,
	struct approach *approach)
{
	unsigned spins = 0;
	int answer;

	for (;; pause_a_little(&spins)) {
		answer = approach_once(session, key, prepare, approach);
		if (answer < 0)
			return answer;
		if (answer == 0 &&
			version_lock(&approach->place.parent->version,
				approach->place.parent_version))
			return NB_OK;
		count_one(&session->counts.restarts);
	}
}

/* --- the split of a leaf --- */

/* How the records of a full leaf are shared out. */
struct share {
	uint64_t moved; /* slots that go to the new leaf */
	struct separator separator;
};

/*
 * How many records stay: half of them. Or nearly all where the new key comes after all
 * that there is, or before: who inserts in order fills every leaf then.
 */
static unsigned
records_to_keep(const struct approach *approach, unsigned count, unsigned below)
{
	if (approach->is_last && below == count)
		return count - 1;
	if (approach->is_first && below == 0)
		return 1;
	return count / 2;
}

/* The k-th smallest, from 0, of words that are all different; their order is changed. */
static uint64_t
select_word(uint64_t *words, unsigned count, unsigned k)
{
	unsigned low = 0, high = count - 1;

	while (low < high) {
		uint64_t pivot = words[low + (high - low) / 2];
		unsigned i = low, j = high;

		for (;; i++, j--) {
			while (words[i] < pivot)
				i++;
			while (words[j] > pivot)
				j--;
			if (i >= j)
				break;
			uint64_t word = words[i];
			words[i] = words[j];
			words[j] = word;
		}
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
	return words[k];
}

/* All records are plain words of one size: no two are equal, and no key is to be read. */
static bool
share_words(const struct layout *layout, const char *bytes, const struct key *key,
	const struct approach *approach, struct share *share)
{
	uint64_t words[TREE_LEAF_SLOTS_MAX];
	unsigned below = 0;
	uint64_t first;

	for (unsigned i = 0; i < layout->slots; i++) {
		words[i] = *slot_at(layout, bytes, i + 1);
		if (word_is_reserved(words[i]))
			return false;
		below += words[i] < key->word;
	}
	first = select_word(
		words, layout->slots, records_to_keep(approach, layout->slots, below));
	share->separator = (struct separator){first, NULL};
	share->moved = 0;
	for (unsigned i = 1; i <= layout->slots; i++)
		share->moved |= (uint64_t)(*slot_at(layout, bytes, i) >= first) << i;
	return true;
}

/* The records of `slots`, read into session->records[at...]. */
static unsigned
read_records(struct tree_session *session, const char *bytes, uint64_t slots, unsigned at)
{
	const struct tree *tree = session->tree;
	unsigned end = at;

	for (; slots != 0; slots &= slots - 1, end++)
		record_read(&session->records[end], &tree->layout, tree->base, bytes,
			(unsigned)__builtin_ctzll(slots),
			session->linear + (size_t)end * tree->layout.inline_room);
	return end - at;
}

static bool
share_records(struct tree_session *session, const char *bytes, const struct key *key,
	const struct approach *approach, struct share *share)
{
	const struct record *records = session->records;
	unsigned count = read_records(session, bytes, session->tree->layout.usable, 0);
	unsigned order[TREE_LEAF_SLOTS_MAX], below = 0, keep;

	for (unsigned i = 0; i < count; i++) {
		unsigned j = i;

		below += key_compare(records[i].word, records[i].key, records[i].key_size,
				 key->word, key->data, key->size) < 0;
		for (; j > 0 && record_compare(&records[order[j - 1]], &records[i]) > 0; j--)
			order[j] = order[j - 1];
		order[j] = i;
	}
	keep = records_to_keep(approach, count, below);
	const struct record *left = &records[order[keep - 1]], *right = &records[order[keep]];
	if (!separator_between(
		    &share->separator, left->word, right->word, right->key, right->key_size))
		return false;
	share->moved = 0;
	for (unsigned i = keep; i < count; i++)
		share->moved |= 1ull << records[order[i]].slot;
	return true;
}

/* Bytes of the slot that mean something. */
static size_t
slot_used(const struct layout *layout, const uint64_t *slot)
{
	if (layout->slot_bytes <= PM_LINE)
		return layout->slot_bytes;
	if (cell_kind(*slot) != CELL_RECORD)
		return CELL_HEADER;
	return (size_t)cell_lines(cell_key_size(*slot) + cell_value_size(*slot)) * PM_LINE;
}

/* The new leaf's half in the pool: everything that means something, flushed. */
static void
write_new_leaf(struct tree_session *session, const char *from, char *to, uint64_t moved)
{
	const struct layout *layout = &session->tree->layout;
	struct pm *pm = &session->pm;

	pm_store64(leaf_next(to), *leaf_next((char *)(uintptr_t)from));
	for (unsigned i = 1; i <= layout->slots; i++) {
		const uint64_t *source = slot_at(layout, from, i);
		uint64_t *target = slot_at(layout, to, i);

		if ((moved >> i & 1) != 0)
			pm_copy(target, source, slot_used(layout, source));
		else
			pm_store64(target, 0);
		if (layout->slot_bytes > PM_LINE)
			pm_flush(pm, target, slot_used(layout, target));
	}
	pm_flush(pm, to, layout->slot_bytes > PM_LINE ? 1 : layout->leaf_bytes);
}

/* Empty slots of `bytes`, flushed. */
static void
clear_slots(struct tree_session *session, char *bytes, uint64_t slots)
{
	const struct layout *layout = &session->tree->layout;
	uintptr_t flushed = 0, line;

	for (uint64_t rest = slots; rest != 0; rest &= rest - 1)
		pm_store64(slot_at(layout, bytes, (unsigned)__builtin_ctzll(rest)), 0);
	for (; slots != 0; slots &= slots - 1) {
		line = (uintptr_t)slot_at(layout, bytes, (unsigned)__builtin_ctzll(slots)) &
			~(uintptr_t)(PM_LINE - 1);
		if (line != flushed)
			pm_flush_line(&session->pm, (const void *)line);
		flushed = line;
	}
}

/* The leaf's line of memory, locked by us: nobody else has it. What to unlock it from. */
static uint64_t
begin_line(struct leaf *leaf)
{
	uint64_t version = __atomic_load_n(&leaf->version, __ATOMIC_RELAXED);

	version = (version + VERSION_STEP) & ~(uint64_t)(VERSION_STEP - 1);
	__atomic_store_n(&leaf->version, version | VERSION_LOCKED, __ATOMIC_RELAXED);
	racy_fence();
	return version;
}

static void
move_fingerprints(
	struct leaf *from, struct leaf *to, const struct layout *layout, uint64_t moved)
{
	for (unsigned i = 1; i <= layout->slots; i++) {
		bool is_moved = (moved >> i & 1) != 0;

		racy_store8(&to->fp[i], is_moved ? from->fp[i] : 0);
		if (is_moved)
			racy_store8(&from->fp[i], 0);
	}
}

/* Parent and leaf are locked, the leaf is full. */
static int
split_leaf(struct tree_session *session, const struct key *key, const struct approach *approach)
{
	struct tree *tree = session->tree;
	const struct layout *layout = &tree->layout;
	const struct place *place = &approach->place;
	char *bytes = leaf_bytes(tree, place->child);
	struct share share;
	struct leaf *line;
	uint64_t offset, child, version;

	if (layout->format != LEAF_WORDS || !share_words(layout, bytes, key, approach, &share))
		if (!share_records(session, bytes, key, approach, &share))
			return tree_no_memory(tree, "a separator");
	if (share.separator.tail != NULL && !inner_reserve_tails(&tree->shape, place->parent)) {
		free(share.separator.tail);
		return tree_no_memory(tree, "separators");
	}
	offset = heap_leaf_new(session->cache);
	if (offset == 0) {
		free(share.separator.tail);
		return NB_FAIL;
	}
	write_new_leaf(session, bytes, tree->base + offset, share.moved);
	pm_fence(&session->pm);
	pm_store64(leaf_next(bytes), offset);
	pm_flush_line(&session->pm, bytes);
	pm_fence(&session->pm);
	clear_slots(session, bytes, share.moved);
	pm_fence(&session->pm);

	child = child_at(tree, offset);
	line = leaf_line(tree, child);
	version = begin_line(line);
	move_fingerprints(leaf_line(tree, place->child), line, layout, share.moved);
	inner_add(&tree->shape, place->parent, place->index, share.separator, child);
	version_unlock(&line->version, version);
	count_one(&session->counts.splits);
	return NB_OK;
}

int
tree_split(struct tree_session *session, const struct key *key)
{
	const struct tree *tree = session->tree;
	unsigned spins = 0;

	for (;; pause_a_little(&spins)) {
		struct approach found;
		struct leaf *leaf;
		uint64_t version;
		int answer = approach(session, key, prepare_split, &found);

		if (answer != NB_OK)
			return answer;
		leaf = leaf_line(tree, found.place.child);
		version = __atomic_load_n(&leaf->version, __ATOMIC_ACQUIRE);
		if ((version & VERSION_LOCKED) != 0 || !version_lock(&leaf->version, version)) {
			version_unlock_unchanged(
				&found.place.parent->version, found.place.parent_version);
			continue;
		}
		if ((fingerprint_match(leaf, 0) & tree->layout.usable) == 0)
			answer = split_leaf(session, key, &found);
		version_unlock(&leaf->version, version);
		version_unlock(&found.place.parent->version, found.place.parent_version);
		return answer;
	}
}

/* --- the merge of two leaves --- */

static unsigned
records_in(const struct layout *layout, const struct leaf *leaf)
{
	return layout->slots -
		(unsigned)__builtin_popcountll(fingerprint_match(leaf, 0) & layout->usable);
}

/* Two leaves that were locked, left first. */
struct pair {
	struct leaf *left, *right;
	uint64_t left_version, right_version;
};

static bool
lock_pair(struct pair *pair)
{
	pair->left_version = __atomic_load_n(&pair->left->version, __ATOMIC_ACQUIRE);
	if ((pair->left_version & VERSION_LOCKED) != 0 ||
		!version_lock(&pair->left->version, pair->left_version))
		return false;
	pair->right_version = __atomic_load_n(&pair->right->version, __ATOMIC_ACQUIRE);
	if ((pair->right_version & VERSION_LOCKED) == 0 &&
		version_lock(&pair->right->version, pair->right_version))
		return true;
	version_unlock_unchanged(&pair->left->version, pair->left_version);
	return false;
}

/* One slot of LEAF_WORDS or LEAF_CELLS, by `record`; flushed. */
static void
write_slot(struct tree_session *session, uint64_t *slot, const struct record *record,
	uint64_t word)
{
	struct pm *pm = &session->pm;

	if (session->tree->layout.format == LEAF_WORDS) {
		uint64_t value = 0;

		if (record->blob == 0)
			memcpy(&value, record->value, record->value_size);
		pm_store64(&slot[1], value);
		pm_store64(&slot[0], word);
	} else {
		pm_store64(slot,
			record->blob != 0 ? cell_header_of_blob(record->blob)
					  : cell_fill(pm, (char *)slot, record));
	}
	pm_flush_line(pm, slot);
}

/* All records of `from` into empty slots of `to`; flushed. Both are locked. */
static void
copy_records(struct tree_session *session, const struct pair *pair, const char *from, char *to)
{
	const struct layout *layout = &session->tree->layout;
	uint64_t empty = fingerprint_match(pair->left, 0) & layout->usable;
	uint64_t slots = layout->usable & ~fingerprint_match(pair->right, 0);
	unsigned count = read_records(session, from, slots, 0);

	for (unsigned i = 0; i < count; i++) {
		const struct record *record = &session->records[i];
		struct key key = key_of(record->key, record->key_size);
		unsigned slot = slot_for(layout, key.hash, empty);

		empty &= ~(1ull << slot);
		write_slot(session, slot_at(layout, to, slot), record,
			*slot_at(layout, from, record->slot));
		racy_store8(&pair->left->fp[slot], fingerprint_of(key.hash));
	}
}

/* Children i and i + 1 of the locked parent, locked, become child i. */
static void
merge_pair_of_leaves(
	struct tree_session *session, struct inner *parent, unsigned i, const struct pair *pair)
{
	struct tree *tree = session->tree;
	const uint64_t *children = inner_children(&tree->shape, parent);
	char *left = leaf_bytes(tree, children[i]), *right = leaf_bytes(tree, children[i + 1]);

	copy_records(session, pair, right, left);
	pm_fence(&session->pm);
	pm_store64(leaf_next(left), *leaf_next(right));
	pm_flush_line(&session->pm, left);
	pm_fence(&session->pm);
	retire_tail(session, inner_tail(parent->tails, i));
	inner_remove(&tree->shape, parent, i);
	epoch_retire(session->epoch, RETIRED_LEAF, (uint64_t)(right - tree->base));
	count_one(&session->counts.merges);
}

/*
 * Children i and i + 1 of the locked parent, if they have half a leaf of records
 * together. 1: one of them is locked by another: begin again.
 */
static int
try_merge(struct tree_session *session, struct inner *parent, unsigned i, bool *is_merged)
{
	const struct tree *tree = session->tree;
	const uint64_t *children = inner_children(&tree->shape, parent);
	struct pair pair = {
		.left = leaf_line(tree, children[i]),
		.right = leaf_line(tree, children[i + 1]),
	};
	unsigned records;

	if (!lock_pair(&pair))
		return 1;
	records = records_in(&tree->layout, pair.left) + records_in(&tree->layout, pair.right);
	if (records <= tree->layout.slots / 2) {
		merge_pair_of_leaves(session, parent, i, &pair);
		version_unlock_obsolete(&pair.right->version, pair.right_version);
		version_unlock(&pair.left->version, pair.left_version);
		*is_merged = true;
		return 0;
	}
	version_unlock_unchanged(&pair.right->version, pair.right_version);
	version_unlock_unchanged(&pair.left->version, pair.left_version);
	return 0;
}

/*
 * Where that leaves the parent sparse it begins again, for the parent's sake: there may never
 * be another delete here, and a node with one empty leaf would stay.
 */
void
tree_merge(struct tree_session *session, const struct key *key)
{
	unsigned spins = 0;
	int answer;

	do {
		struct approach found;
		const struct place *place = &found.place;
		bool is_merged = false;

		if (approach(session, key, prepare_merge, &found) != NB_OK)
			return;
		answer = 0;
		if (place->index < place->parent->count)
			answer = try_merge(session, place->parent, place->index, &is_merged);
		if (answer == 0 && !is_merged && place->index > 0)
			answer = try_merge(
				session, place->parent, place->index - 1, &is_merged);
		if (is_merged && is_sparse(session->tree, place->parent->count))
			answer = 1;
		if (is_merged)
			version_unlock(&place->parent->version, place->parent_version);
		else
			version_unlock_unchanged(
				&place->parent->version, place->parent_version);
		pause_a_little(&spins);
	} while (answer != 0);
}
