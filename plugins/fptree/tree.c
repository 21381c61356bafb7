/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing a tree: the layout of a new pool, the check of an old pool's layout,
 * the sessions and the counters.
 */
#include "internal.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "../common/clock.h"

enum {
	FANOUT_DEFAULT = 64,
	WORD_BYTES = 8, /* a record of LEAF_WORDS has two */
	HALF_LINE_ROOM = PM_LINE / 2 - CELL_HEADER,
};

int
tree_no_memory(const struct nb_db *tree, const char *what)
{
	return tree->host->fail(NB_FAIL, "out of memory for %s", what);
}

int
tree_write_failed(struct nb_session *session)
{
	const struct nb_host *host = session->tree->host;
	int error = session->pm.error;

	return host->fail(NB_FAIL,
		"msync of the pool in %s failed: %s; the last writes may be lost",
		session->tree->pool->directory, strerror(error));
}

uint64_t
tree_blob_new(struct nb_session *session, const struct key *key, struct nb_slice value)
{
	struct blob header = {.key_size = (uint32_t)key->size, .value_size = value.size};
	size_t size = sizeof(header) + key->size + value.size;
	uint64_t offset;
	struct blob *blob;

	if (key->size > UINT32_MAX) {
		session->tree->host->fail(
			NB_UNSUPPORTED, "a key of %zu bytes; 4 GiB is the most", key->size);
		return 0;
	}
	offset = heap_blob_new(session->cache, size);
	if (offset == 0)
		return 0;
	blob = (struct blob *)(void *)(session->tree->base + offset);
	pm_copy(blob, &header, sizeof(header));
	pm_copy(blob->bytes, key->data, key->size);
	pm_copy(blob->bytes + key->size, value.data, value.size);
	pm_flush(&session->pm, blob, size);
	return offset;
}

/* --- layout --- */

static uint32_t
at_most(uint64_t value, uint32_t most)
{
	return value == 0 || value > most ? most : (uint32_t)value;
}

/*
 * Choose slots for records of the announced sizes. If a size is unknown or too large, the
 * slots refer to blobs.
 */
static struct pool_layout
layout_for(const struct tree_args *args)
{
	uint64_t size = args->key_size + args->value_size;
	uint32_t most = at_most(args->inline_bytes, TREE_INLINE_MAX);
	struct pool_layout layout = {
		.leaf_slots = at_most(args->leaf_slots, TREE_LEAF_SLOTS_MAX),
		.format = LEAF_WORDS,
		.slot_bytes = 2 * WORD_BYTES,
		.key_size = at_most(args->key_size, WORD_BYTES),
		.value_size = at_most(args->value_size, WORD_BYTES),
	};

	if (args->key_size == 0 || args->value_size == 0 || size > most ||
		(args->key_size <= WORD_BYTES && args->value_size <= WORD_BYTES))
		return layout;
	layout.format = LEAF_CELLS;
	layout.key_size = (uint32_t)args->key_size;
	layout.value_size = (uint32_t)args->value_size;
	layout.slot_bytes = size <= HALF_LINE_ROOM ? PM_LINE / 2 : cell_lines(size) * PM_LINE;
	return layout;
}

static bool
is_layout_sound(const struct pool_layout *layout)
{
	if (layout->leaf_slots < TREE_LEAF_SLOTS_MIN ||
		layout->leaf_slots > TREE_LEAF_SLOTS_MAX)
		return false;
	if (layout->format == LEAF_WORDS)
		return layout->slot_bytes == 2 * WORD_BYTES &&
			layout->key_size - 1 < WORD_BYTES &&
			layout->value_size - 1 < WORD_BYTES;
	return layout->format == LEAF_CELLS &&
		(layout->slot_bytes == PM_LINE / 2 ||
			(layout->slot_bytes % PM_LINE == 0 &&
				layout->slot_bytes - 1 < 8 * PM_LINE));
}

static bool
is_another(uint64_t asked, uint64_t has)
{
	return asked != 0 && has != 0 && asked != has;
}

/*
 * Does inline_bytes give another layout than the pool's, for the sizes that the pool was made
 * for?
 */
static bool
is_other_inline(const struct pool_root *root, const struct tree_args *args)
{
	struct tree_args made = {
		.key_size = root->key_size,
		.value_size = root->value_size,
		.leaf_slots = root->layout.leaf_slots,
		.inline_bytes = args->inline_bytes,
	};
	struct pool_layout wanted = layout_for(&made);

	return args->inline_bytes != 0 && memcmp(&wanted, &root->layout, sizeof(wanted)) != 0;
}

/* Does the layout of an old pool agree with the arguments? */
static int
check_layout(const struct nb_db *tree, const struct tree_args *args)
{
	const struct pool_root *root = tree->pool->root;
	const struct nb_host *host = tree->host;

	if (!is_layout_sound(&root->layout))
		return host->fail(NB_FAIL, "the pool is damaged: its layout makes no sense");
	if (args->leaf_slots != 0 && args->leaf_slots != root->layout.leaf_slots)
		return host->fail(NB_UNSUPPORTED,
			"the leaves of the pool have %u slots, not %u: leave leaf_slots out, or remove the pool",
			root->layout.leaf_slots, args->leaf_slots);
	if (is_another(args->key_size, root->key_size) ||
		is_another(args->value_size, root->value_size))
		return host->fail(NB_UNSUPPORTED,
			"the pool was made for keys of %llu and values of %llu bytes, not for %llu and %llu: give those sizes, or remove the pool",
			(unsigned long long)root->key_size,
			(unsigned long long)root->value_size,
			(unsigned long long)args->key_size,
			(unsigned long long)args->value_size);
	if (is_other_inline(root, args))
		return host->fail(NB_UNSUPPORTED,
			"the slots of the pool have %u bytes, which inline_bytes=%u does not make: leave inline_bytes out, or remove the pool",
			root->layout.slot_bytes, args->inline_bytes);
	return NB_OK;
}

/* --- open and close --- */

static void
release_retired(void *to, unsigned kind, uint64_t what)
{
	struct heap_cache *cache = to;

	switch (kind) {
	case RETIRED_LEAF:
		heap_leaf_free(cache, what);
		break;
	case RETIRED_BLOB:
		heap_blob_free(cache, what);
		break;
	case RETIRED_INNER:
		inner_delete((struct inner *)(uintptr_t)what);
		break;
	default:
		free((void *)(uintptr_t)what);
		break;
	}
}

static const struct tree_verbs *
best_verbs(void)
{
#ifdef FPTREE_HAVE_AVX512
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi2"))
		return &tree_verbs_avx512;
#endif
	return &tree_verbs_plain;
}

static int
sync_failed(const struct nb_db *tree, const struct pm *pm)
{
	return tree->host->fail(NB_FAIL, "msync of the pool failed: %s", strerror(pm->error));
}

/* Write an empty leaf and the root that points to it, then commit the pool. */
static int
begin_tree(struct nb_db *tree, struct pm *pm)
{
	struct pool_root *root = tree->pool->root;
	uint64_t offset = heap_leaf_new(tree->cache), zero = 0;
	char *bytes = tree->base + offset;

	if (offset == 0)
		return NB_FAIL;
	for (size_t i = 0; i < tree->layout.leaf_bytes; i += sizeof(zero))
		pm_store64((uint64_t *)(void *)(bytes + i), 0);
	pm_flush(pm, bytes, tree->layout.leaf_bytes);
	pm_store64(&root->head, offset);
	pm_flush(pm, root, sizeof(*root));
	pm_fence(pm);
	return pm->error != 0 ? sync_failed(tree, pm) : pool_commit(tree->pool);
}

/* Reserve address space for the line of every leaf that the pool could ever contain. */
static int
reserve_lines(struct nb_db *tree)
{
	uint64_t leaves = tree->pool->reserved_bytes / tree->layout.leaf_bytes + 1;

	tree->leaves_bytes = leaves * sizeof(struct leaf);
	tree->leaves = mmap(NULL, tree->leaves_bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (tree->leaves == MAP_FAILED)
		return tree->host->fail(NB_FAIL,
			"no address space for %llu leaves: give a smaller -o pool_size=",
			(unsigned long long)leaves);
	madvise(tree->leaves, tree->leaves_bytes, MADV_HUGEPAGE);
	return NB_OK;
}

static void
free_inner(const struct nb_db *tree, struct inner *node)
{
	if (node == NULL)
		return;
	for (unsigned i = 0; node->level > 0 && i <= node->count; i++)
		free_inner(tree, (struct inner *)(uintptr_t)inner_child(&tree->shape, node, i));
	for (unsigned i = 0; i < node->count; i++)
		free(inner_tail(node->tails, i));
	inner_delete(node);
}

static int
fill_pool(struct nb_db *tree, struct pm *pm, bool is_new)
{
	struct heap *heap = tree->heap;
	uint64_t begin = now_ns();
	int answer;

	if (is_new) {
		heap_recovered(heap);
		tree->cache = heap_cache_new(heap);
		answer = tree->cache == NULL ? tree_no_memory(tree, "its lists")
					     : begin_tree(tree, pm);
		heap_cache_delete(tree->cache);
		tree->cache = NULL;
		if (answer != NB_OK)
			return answer;
		heap_close(heap);
		tree->heap = NULL;
		answer = heap_open(&tree->heap, tree->pool, tree->layout.leaf_bytes);
		if (answer != NB_OK)
			return answer;
	}
	answer = tree_recover(tree, pm);
	tree->recovery_ns = now_ns() - begin;
	if (answer == NB_OK && pm->error != 0)
		answer = sync_failed(tree, pm);
	return answer;
}

int
tree_open(struct nb_db **out, struct pool *pool, const struct tree_args *args)
{
	struct pm pm = {.flush = pool->flush};
	struct nb_db *tree = aligned_alloc(128, sizeof(*tree));
	bool is_new = pool->is_new;
	int answer = NB_FAIL;

	if (tree == NULL)
		return pool->host->fail(NB_FAIL, "out of memory for the tree");
	*tree = (struct nb_db){
		.base = pool->base,
		.host = pool->host,
		.pool = pool,
		.verbs = best_verbs(),
		.sessions_max = args->sessions,
		.inflight_ops = args->inflight_ops,
		.inflight_bytes = args->inflight_bytes,
	};
	tree->shape.fanout = args->fanout != 0 ? args->fanout : FANOUT_DEFAULT;
	tree->shape.room = (tree->shape.fanout + INNER_UNIT - 1) / INNER_UNIT * INNER_UNIT;
	if (is_new) {
		struct pool_layout layout = layout_for(args);

		pm_copy(&pool->root->layout, &layout, sizeof(layout));
		pm_store64(&pool->root->key_size, args->key_size);
		pm_store64(&pool->root->value_size, args->value_size);
	} else {
		answer = check_layout(tree, args);
		if (answer != NB_OK)
			goto free_tree;
	}
	layout_set(&tree->layout, &pool->root->layout);
	answer = reserve_lines(tree);
	if (answer != NB_OK)
		goto free_tree;
	answer = NB_FAIL;
	tree->sessions = calloc(args->sessions + 1, sizeof(struct nb_session *));
	tree->epochs = epochs_new(args->sessions, release_retired);
	if (tree->sessions == NULL || tree->epochs == NULL ||
		!inner_store_open(&tree->inners, &tree->shape)) {
		tree_no_memory(tree, "its sessions");
		goto free_epochs;
	}
	answer = heap_open(&tree->heap, pool, tree->layout.leaf_bytes);
	if (answer != NB_OK)
		goto free_epochs;
	answer = fill_pool(tree, &pm, is_new);
	if (answer != NB_OK)
		goto free_nodes;
	tree->cache = heap_cache_new(tree->heap);
	if (tree->cache == NULL) {
		answer = tree_no_memory(tree, "its lists");
		goto free_nodes;
	}
	tree->closed_lines = pm.lines;
	tree->closed_fences = pm.fences;
	*out = tree;
	return NB_OK;

free_nodes:
	free_inner(tree, tree->root);
	if (tree->heap != NULL)
		heap_close(tree->heap);
free_epochs:
	if (tree->epochs != NULL)
		epochs_delete(tree->epochs);
	inner_store_close(&tree->inners);
	free(tree->sessions);
	munmap(tree->leaves, tree->leaves_bytes);
free_tree:
	free(tree);
	return answer;
}

void
tree_close(struct nb_db *tree)
{
	epochs_delete(tree->epochs);
	heap_cache_delete(tree->cache);
	free_inner(tree, tree->root);
	inner_store_close(&tree->inners);
	heap_close(tree->heap);
	free(tree->sessions);
	munmap(tree->leaves, tree->leaves_bytes);
	free(tree);
}

/* --- sessions --- */

static void
lock_tree(struct nb_db *tree)
{
	unsigned spins = 0;

	while (__atomic_exchange_n(&tree->lock, 1, __ATOMIC_ACQUIRE) != 0)
		pause_a_little(&spins);
}

static void
unlock_tree(struct nb_db *tree)
{
	__atomic_store_n(&tree->lock, 0, __ATOMIC_RELEASE);
}

static bool
session_rooms(struct nb_session *session)
{
	const struct layout *layout = &session->tree->layout;
	size_t slots = layout->slots + 1, linear = slots * layout->inline_room + 1;
	struct scan *scan = &session->scan;

	session->value = malloc(layout->inline_room + 1);
	session->linear = malloc(linear);
	session->records = malloc(slots * sizeof(struct record));
	scan->bytes = malloc(layout->leaf_bytes);
	scan->linear = malloc(linear);
	scan->records = malloc(slots * sizeof(struct record));
	scan->order = malloc(slots * sizeof(uint16_t));
	return async_open(&session->async, session->tree->inflight_ops,
		       session->tree->inflight_bytes) &&
		session->value != NULL && session->linear != NULL && session->records != NULL &&
		scan->bytes != NULL && scan->linear != NULL && scan->records != NULL &&
		scan->order != NULL;
}

static void
free_session(struct nb_session *session)
{
	struct scan *scan = &session->scan;

	free(session->value);
	free(session->values);
	free(session->linear);
	free(session->records);
	free(scan->bytes);
	free(scan->linear);
	free(scan->records);
	free(scan->order);
	free(scan->bound);
	async_close(&session->async);
	free(session);
}

int
tree_session_open(struct nb_session **out, struct nb_db *tree, uint32_t id)
{
	struct nb_session *session = aligned_alloc(128, sizeof(*session));

	if (session == NULL)
		return tree_no_memory(tree, "a session");
	*session = (struct nb_session){.tree = tree, .id = id};
	session->pm.flush = tree->pool->flush;
	session->cache = heap_cache_new(tree->heap);
	if (session->cache == NULL || !session_rooms(session))
		goto free_cache;
	session->epoch = epoch_open(tree->epochs, id, session->cache);
	if (session->epoch == NULL)
		goto free_cache;
	lock_tree(tree);
	tree->sessions[id] = session;
	unlock_tree(tree);
	*out = session;
	return NB_OK;

free_cache:
	if (session->cache != NULL)
		heap_cache_delete(session->cache);
	free_session(session);
	return tree_no_memory(tree, "a session");
}

/* Add the counters of one session to a sum. */
static void
add_counts(struct tree_counts *sum, const struct tree_counts *counts)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)counts;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

int
tree_session_close(struct nb_session *session)
{
	struct nb_db *tree = session->tree;
	int answer = session->pm.error != 0 ? tree_write_failed(session) : NB_OK;

	epoch_exit(session->epoch); /* ends a loan that was not released */
	epoch_close(session->epoch, tree->cache);
	heap_cache_delete(session->cache);
	lock_tree(tree);
	tree->sessions[session->id] = NULL;
	add_counts(&tree->closed, &session->counts);
	tree->closed_lines += session->pm.lines;
	tree->closed_fences += session->pm.fences;
	unlock_tree(tree);
	free_session(session);
	return answer;
}

/* --- verbs --- */

int
tree_get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return session->tree->verbs->get(session, key, value);
}

int
tree_multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	const struct nb_db *tree = session->tree;
	size_t room = tree->layout.inline_room + sizeof(uint64_t); /* enough for both formats */

	if (count > session->values_room) {
		uint8_t *wider = count > SIZE_MAX / room
			? NULL
			: realloc(session->values, count * room);

		if (wider == NULL)
			return tree_no_memory(tree, "the values of several keys");
		session->values = wider;
		session->values_room = count;
	}
	return tree->verbs->multi_get(session, keys, count, values, answers, session->values);
}

void
tree_release(struct nb_session *session)
{
	epoch_exit(session->epoch);
}

int
tree_put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return session->tree->verbs->put(session, key, value);
}

int
tree_insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return session->tree->verbs->insert(session, key, value);
}

int
tree_add(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	if (how != NB_MERGE_ADD_U64)
		return session->tree->host->fail(NB_UNSUPPORTED, "merge can only add");
	return session->tree->verbs->add(session, key, operand);
}

int
tree_del(struct nb_session *session, struct nb_slice key)
{
	return session->tree->verbs->del(session, key);
}

/* --- counters --- */

/* A delete may already be counted, but another session's insert before it not yet. */
static uint64_t
records_of(const struct nb_db *tree, const struct tree_counts *counts)
{
	uint64_t made = tree->recovered + counts->inserts;

	return made > counts->deletes ? made - counts->deletes : 0;
}

void
tree_stats(struct nb_db *tree, struct tree_stats *stats)
{
	*stats = (struct tree_stats){
		.recovery_ns = tree->recovery_ns,
		.recovered = tree->recovered,
		.repaired = tree->repaired,
		.reserved_bytes = tree->pool->reserved_bytes,
		.inner_nodes = __atomic_load_n(&tree->inner_nodes, __ATOMIC_RELAXED),
		.height = __atomic_load_n(&tree->height, __ATOMIC_RELAXED),
	};
	lock_tree(tree);
	add_counts(&stats->counts, &tree->closed);
	stats->lines = tree->closed_lines;
	stats->fences = tree->closed_fences;
	for (uint32_t i = 0; i < tree->sessions_max; i++) {
		const struct nb_session *session = tree->sessions[i];

		if (session == NULL)
			continue;
		add_counts(&stats->counts, &session->counts);
		stats->lines += __atomic_load_n(&session->pm.lines, __ATOMIC_RELAXED);
		stats->fences += __atomic_load_n(&session->pm.fences, __ATOMIC_RELAXED);
	}
	unlock_tree(tree);
	stats->records = records_of(tree, &stats->counts);
	heap_stats(tree->heap, &stats->heap);
}
