/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descent before a split or a merge, which prepares the inner nodes that it passes.
 *
 * Before a split of a leaf, the descent splits every full inner node. Before a merge, it
 * merges every sparse one with a neighbour. So the parent of the leaf can add or lose a
 * child. Inner nodes are in memory only, so these steps need no order except that of the
 * versions. Each step ends by releasing its locks and beginning a new descent. Rejected: to
 * go back up from the leaf. That needs either the locks of the whole path or a second look at
 * each of its nodes.
 */
#include "descend.h"

/* A node on the path of the descent. */
struct step {
	struct inner *node, *parent; /* parent: NULL for the root */
	uint64_t version, parent_version;
	unsigned index; /* of the node among the parent's children */
};

static bool
lock_root(struct nb_db *tree, const struct step *step)
{
	if (!version_lock(&step->node->version, step->version))
		return false;
	if (__atomic_load_n(&tree->root, __ATOMIC_ACQUIRE) == step->node)
		return true;
	version_unlock_unchanged(&step->node->version, step->version);
	return false;
}

static bool
lock_step(struct nb_db *tree, const struct step *step)
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

/* The old root is locked. */
static void
set_root(struct nb_db *tree, struct inner *root)
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
split_inner(struct nb_db *tree, const struct step *step)
{
	const struct inner_shape *shape = &tree->shape;
	struct inner *parent = step->parent;
	struct inner *right = inner_new(&tree->inners, step->node->level);
	struct inner *root = parent == NULL ? inner_new(&tree->inners, step->node->level + 1)
					    : NULL;
	struct inner *above = parent == NULL ? root : parent;
	struct separator middle;

	if (right == NULL || above == NULL)
		goto free_nodes;
	if (step->node->tails != NULL && !inner_reserve_tails(shape, above))
		goto free_nodes;
	if (!inner_split(shape, step->node, right, &middle))
		goto free_nodes;
	if (root != NULL)
		inner_set_child(shape, root, 0, child_of_inner(step->node));
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
retire_inner(struct nb_session *session, struct inner *node, uint64_t version)
{
	version_unlock_obsolete(&node->version, version);
	epoch_retire(session->epoch, RETIRED_INNER, (uint64_t)(uintptr_t)node);
	__atomic_fetch_sub(&session->tree->inner_nodes, 1, __ATOMIC_RELAXED);
}

/* The root's only child is an inner node: make that the root. */
static void
drop_root(struct nb_session *session, const struct step *step)
{
	struct nb_db *tree = session->tree;

	if (!lock_root(tree, step))
		return;
	set_root(tree, (struct inner *)(uintptr_t)inner_child(&tree->shape, step->node, 0));
	retire_inner(session, step->node, step->version);
}

/* Merge children `i` and `i` + 1 of the locked parent. Both are locked. */
static bool
merge_pair(struct nb_session *session, struct inner *parent, unsigned i, struct inner *left,
	struct inner *right, uint64_t right_version)
{
	const struct inner_shape *shape = &session->tree->shape;
	struct separator between = {
		inner_words(shape, parent)[i], inner_tail(parent->tails, i)};

	if (!inner_append(shape, left, between, right))
		return false;
	inner_remove(shape, parent, i);
	retire_inner(session, right, right_version);
	return true;
}

/*
 * The step's node is sparse: merge it with the neighbour `by` (-1, 1) if both fit into three
 * quarters of a node. The spare quarter keeps the next split away. True: the tree may have
 * changed, begin again.
 */
static bool
merge_inner(struct nb_session *session, const struct step *step, int by)
{
	const struct inner_shape *shape = &session->tree->shape;
	unsigned count = __atomic_load_n(&step->parent->count, __ATOMIC_ACQUIRE);
	unsigned at = step->index + (unsigned)by;
	struct inner *other, *left, *right;
	uint64_t version;
	bool is_done;

	if (at > count)
		return false;
	other = (struct inner *)(uintptr_t)inner_child(shape, step->parent, at);
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
	if (!is_done) { /* out of memory; the other neighbour may need none */
		version_unlock_unchanged(&other->version, version);
		unlock_step(step, false);
		return false;
	}
	version_unlock(&left->version, by > 0 ? step->version : version);
	version_unlock(&step->parent->version, step->parent_version);
	return true; /* merge_pair() has released the right node's lock */
}

/* Split the node if it is full. 0: it has room; 1: begin again; NB_FAIL. */
static int
prepare_split(struct nb_session *session, const struct step *step)
{
	struct nb_db *tree = session->tree;
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

bool
tree_is_sparse(const struct nb_db *tree, unsigned count)
{
	return count + 1 <= tree->shape.fanout / 4;
}

static int
prepare_merge(struct nb_session *session, const struct step *step)
{
	unsigned count = racy_load32(&step->node->count);

	if (step->parent == NULL) {
		if (step->node->level == 0 || count > 0)
			return 0;
		drop_root(session, step);
		return 1;
	}
	if (!tree_is_sparse(session->tree, count))
		return 0;
	return merge_inner(session, step, 1) || merge_inner(session, step, -1);
}

typedef int (*prepare_fn)(struct nb_session *session, const struct step *step);

/* One attempt. 0: arrived; 1: begin again; NB_FAIL. */
static int
approach_once(struct nb_session *session, const struct key *key, prepare_fn prepare,
	struct approach *approach)
{
	const struct nb_db *tree = session->tree;
	struct step step = {0};

	*approach = (struct approach){.is_first = true, .is_last = true};
	step.node = root_of(tree, &step.version);
	for (;;) {
		int answer = prepare(session, &step);
		unsigned i = child_for(&tree->shape, step.node, key, false);
		uint64_t child = inner_child(&tree->shape, step.node, i);
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

int
tree_approach(struct nb_session *session, const struct key *key, enum approach_for what,
	struct approach *approach)
{
	prepare_fn prepare = what == FOR_SPLIT ? prepare_split : prepare_merge;
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
