/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree as a whole: open, close, sessions and counters.
 */
#include "internal.h"

#include <stdlib.h>

int
mt_no_memory(const struct nb_session *session, const char *what)
{
	return session->tree->host->fail(NB_FAIL, "out of memory for %s", what);
}

/* Free a retired object, which no session can reach any more. */
static void
release_retired(void *to, unsigned kind, uint64_t what)
{
	struct slab_cache *cache = to;
	struct record *object = record_at(what);

	if (kind == RETIRED_HINTS)
		mt_hints_delete((struct hints *)object);
	else if (kind == RETIRED_RECORD)
		slab_free(cache, object, record_size(object));
	else if (kind == RETIRED_INNER)
		slab_free(cache, object, sizeof(struct inner));
	else
		slab_free(cache, object, (size_t)(kind - RETIRED_LEAF) * LINE_BYTES);
}

static const struct mt_verbs *
choose_verbs(const struct mt_args *args)
{
	if (args->has_byte_compare)
		return &mt_verbs_bytes;
#ifdef MASSTREE_HAVE_AVX512
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
		return &mt_verbs_avx512;
#endif
#ifdef MASSTREE_HAVE_AVX2
	if (__builtin_cpu_supports("avx2"))
		return &mt_verbs_avx2;
#endif
	return &mt_verbs_plain;
}

int
mt_open(struct nb_db **out, const struct mt_args *args)
{
	const struct nb_host *host = args->host;
	struct slab_options memory = {
		.is_malloc = args->has_malloc, .is_small = args->has_small_pages};
	struct nb_db *tree = aligned_alloc(128, (sizeof(*tree) + 127) / 128 * 128);

	if (tree == NULL)
		return host->fail(NB_FAIL, "out of memory");
	memset(tree, 0, sizeof(*tree));
	tree->host = host;
	tree->verbs = choose_verbs(args);
	tree->has_permutation = !args->has_no_permutation;
	tree->has_prefetch = !args->has_no_prefetch;
	tree->has_small_pages = args->has_small_pages;
	tree->has_no_hints = args->has_no_prefetch;
	tree->least_split = UINT64_MAX;
	tree->sessions_max = args->sessions;
	tree->inflight_ops = args->inflight_ops;
	tree->inflight_bytes = args->inflight_bytes;
	tree->log = args->log;
	tree->sessions = calloc(args->sessions, sizeof(struct nb_session *));
	tree->slab = slab_new(&memory);
	tree->epochs = epochs_new(args->sessions, release_retired);
	if (tree->sessions == NULL || tree->slab == NULL || tree->epochs == NULL ||
		pthread_mutex_init(&tree->lock, NULL) != 0)
		goto free_tree;
	slab_cache_open(&tree->cache, tree->slab);
	struct nb_session maker = {.tree = tree};
	slab_cache_open(&maker.cache, tree->slab);
	struct leaf *leaf = mt_leaf_new(&maker, LEAF_LINES_MAX, NULL, 0);
	slab_cache_close(&maker.cache);
	tree->closed = maker.counts;
	tree->anchor = (struct mt_anchor){NODE_STEP, (uint64_t)(uintptr_t)leaf};
	if (leaf == NULL)
		goto destroy_lock;
	*out = tree;
	return NB_OK;

destroy_lock:
	pthread_mutex_destroy(&tree->lock);
free_tree:
	if (tree->epochs != NULL)
		epochs_delete(tree->epochs);
	if (tree->slab != NULL)
		slab_delete(tree->slab);
	free(tree->sessions);
	free(tree);
	return host->fail(NB_FAIL, "out of memory");
}

/* --- close --- */

/* Nodes that remain to be freed. */
struct nodes {
	struct node **at;
	size_t count, room;
};

static bool
add_node(struct nodes *nodes, void *node)
{
	if (nodes->count == nodes->room) {
		size_t room = nodes->room == 0 ? 256 : 2 * nodes->room;
		struct node **at = realloc(nodes->at, room * sizeof(struct node *));
		if (at == NULL)
			return false;
		nodes->at = at;
		nodes->room = room;
	}
	nodes->at[nodes->count++] = node;
	return true;
}

/* False: out of memory. */
static bool
free_leaf(struct slab_cache *cache, struct leaf *leaf, struct nodes *nodes)
{
	struct entry entries[LEAF_SLOTS_MAX];
	unsigned count = mt_leaf_entries(leaf, leaf->version, entries);

	for (unsigned i = 0; i < count; i++) {
		struct record *record = record_at(entries[i].word);
		if (entries[i].klen == KLEN_LAYER && !add_node(nodes, record))
			return false;
		if (vlen_has_record(entries[i].vlen))
			slab_free(cache, record, record_size(record));
	}
	slab_free(cache, leaf, leaf_size(leaf->version));
	return true;
}

static bool
free_inner(struct slab_cache *cache, struct inner *inner, struct nodes *nodes)
{
	for (unsigned i = 0; i <= version_count(inner->version); i++)
		if (!add_node(nodes, inner->children[i]))
			return false;
	slab_free(cache, inner, sizeof(*inner));
	return true;
}

/*
 * Free each object separately, for objects from malloc. If memory runs out, the remaining nodes
 * leak.
 */
static void
free_all(struct nb_db *tree)
{
	struct nodes nodes = {NULL};
	bool has_memory = add_node(&nodes, root_load(&tree->anchor.root));

	while (has_memory && nodes.count > 0) {
		struct node *node = nodes.at[--nodes.count];
		has_memory = version_is_leaf(node->version)
			? free_leaf(&tree->cache, (struct leaf *)node, &nodes)
			: free_inner(&tree->cache, (struct inner *)node, &nodes);
	}
	free(nodes.at);
}

int
mt_close(struct nb_db *tree)
{
	epochs_delete(tree->epochs);
	mt_hints_delete(tree->hints);
	if (slab_has_loose(tree->slab))
		free_all(tree);
	slab_delete(tree->slab);
	pthread_mutex_destroy(&tree->lock);
	free(tree->sessions);
	free(tree);
	return NB_OK;
}

/* --- sessions --- */

int
mt_session_open(struct nb_session **out, struct nb_db *tree, uint32_t id)
{
	size_t size = (sizeof(struct nb_session) + 127) / 128 * 128;
	struct nb_session *session = aligned_alloc(128, size);

	if (session == NULL)
		return tree->host->fail(NB_FAIL, "out of memory for a session");
	memset(session, 0, size);
	session->tree = tree;
	session->id = id;
	slab_cache_open(&session->cache, tree->slab);
	session->epoch = epoch_open(tree->epochs, id, &session->cache);
	if (session->epoch == NULL ||
		!async_open(&session->async, tree->inflight_ops, tree->inflight_bytes))
		goto free_session;
	pthread_mutex_lock(&tree->lock);
	tree->sessions[id] = session;
	pthread_mutex_unlock(&tree->lock);
	*out = session;
	return NB_OK;

free_session:
	if (session->epoch != NULL)
		epoch_close(session->epoch, &tree->cache);
	free(session);
	return tree->host->fail(NB_FAIL, "out of memory for a session");
}

/* The structure has only uint64_t members. */
static void
add_counts(struct mt_counts *to, const struct mt_counts *from)
{
	const uint64_t *its = (const uint64_t *)from;
	uint64_t *sum = (uint64_t *)to;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*sum); i++)
		sum[i] += __atomic_load_n(&its[i], __ATOMIC_RELAXED);
}

int
mt_session_close(struct nb_session *session)
{
	struct nb_db *tree = session->tree;

	epoch_exit(session->epoch); /* a loan that release has not ended */
	epoch_close(session->epoch, &tree->cache);
	slab_cache_close(&session->cache);
	pthread_mutex_lock(&tree->lock);
	add_counts(&tree->closed, &session->counts);
	tree->sessions[session->id] = NULL;
	pthread_mutex_unlock(&tree->lock);
	async_close(&session->async);
	free(session->words.data);
	mt_list_free(&session->list);
	free(session->scan.frames);
	free(session->scan.key);
	free(session);
	return NB_OK;
}

/* --- the verbs, by processor and comparison --- */

int
mt_get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	return session->tree->verbs->get(session, key, value);
}

int
mt_multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	return session->tree->verbs->multi_get(session, keys, count, values, answers);
}

void
mt_release(struct nb_session *session)
{
	epoch_exit(session->epoch);
}

int
mt_put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return session->tree->verbs->put(session, key, value);
}

int
mt_insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return session->tree->verbs->insert(session, key, value);
}

int
mt_merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	if (how != NB_MERGE_ADD_U64)
		return session->tree->host->fail(NB_UNSUPPORTED, "merge can only add");
	return session->tree->verbs->add(session, key, operand);
}

int
mt_del(struct nb_session *session, struct nb_slice key)
{
	return session->tree->verbs->del(session, key);
}

/* --- counters --- */

struct mt_counts
mt_counts_sum(const struct nb_db *tree)
{
	struct mt_counts sum = tree->closed;

	for (uint32_t id = 0; id < tree->sessions_max; id++)
		if (tree->sessions[id] != NULL)
			add_counts(&sum, &tree->sessions[id]->counts);
	return sum;
}

void
mt_stats(struct nb_db *tree, struct mt_stats *stats)
{
	pthread_mutex_lock(&tree->lock);
	struct mt_counts sum = mt_counts_sum(tree);
	size_t hints = mt_hints_bytes(tree->hints);
	pthread_mutex_unlock(&tree->lock);
	/* Sessions are read one after the other, so a difference may be negative for a moment. */
#define LEVEL(more, less) ((more) > (less) ? (more) - (less) : 0)
	*stats = (struct mt_stats){.records = LEVEL(sum.inserts, sum.deletes),
		.leaves = LEVEL(sum.leaves_added, sum.leaves_removed),
		.inner_nodes = LEVEL(sum.inner_added, sum.inner_removed),
		.layers = LEVEL(sum.layers, sum.layers_removed),
		.inserts = sum.inserts,
		.updates = sum.updates,
		.deletes = sum.deletes,
		.leaf_splits = sum.leaf_splits,
		.leaf_grows = sum.leaf_grows,
		.inner_splits = sum.inner_splits,
		.layers_made = sum.layers,
		.layers_removed = sum.layers_removed,
		.leaves_removed = sum.leaves_removed,
		.restarts = sum.restarts,
		.hint_hits = sum.hint_hits,
		.hint_misses = sum.hint_misses,
		.memory_bytes = slab_bytes(tree->slab) + hints};
#undef LEVEL
}
