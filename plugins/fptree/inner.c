/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes to one inner node. A reader without a lock may see every store, so each store
 * writes a whole word. The count is stored after the child that it makes reachable. So a
 * reader only follows pointers that once were children. The version then shows it that the
 * node has changed.
 */
#include "inner.h"

#include <stdlib.h>

unsigned
inner_find_among(
	struct tail **tails, const struct key *key, unsigned lo, unsigned hi, bool or_equal)
{
	while (lo < hi) {
		unsigned middle = lo + (hi - lo) / 2;
		int order = key_against(key, key->word, inner_tail(tails, middle));

		if (order > 0 || (order == 0 && !or_equal))
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

bool
inner_store_open(struct inner_store *store, const struct inner_shape *shape)
{
	size_t size = sizeof(struct inner) +
		(shape->children_at + shape->fanout) * sizeof(uint64_t);

	*store = (struct inner_store){
		.slab = slab_new(&(struct slab_options){.is_malloc = false})};
	if (store->slab == NULL)
		return false;
	slab_cache_open(&store->cache, store->slab);
	pthread_mutex_init(&store->lock, NULL);
	store->node_bytes = (size + 63) / 64 * 64; /* the slab then aligns them */
	return true;
}

void
inner_store_close(struct inner_store *store)
{
	if (store->slab == NULL)
		return;
	slab_cache_close(&store->cache);
	slab_delete(store->slab);
	pthread_mutex_destroy(&store->lock);
}

struct inner *
inner_new(struct inner_store *store, uint32_t level)
{
	pthread_mutex_lock(&store->lock);
	struct inner *node = slab_alloc(&store->cache, store->node_bytes);
	pthread_mutex_unlock(&store->lock);

	if (node == NULL)
		return NULL;
	memset(node, 0xff, store->node_bytes);
	memset(node, 0, sizeof(*node));
	node->level = level;
	node->store = store;
	return node;
}

void
inner_delete(struct inner *node)
{
	if (node == NULL)
		return;
	struct inner_store *store = node->store;

	free(node->tails);
	pthread_mutex_lock(&store->lock);
	slab_free(&store->cache, node, store->node_bytes);
	pthread_mutex_unlock(&store->lock);
}

bool
separator_between(struct separator *out, uint64_t left_word, uint64_t right_word,
	const uint8_t *right, size_t right_size)
{
	*out = (struct separator){right_word, NULL};
	if (left_word < right_word)
		return true;
	out->tail = malloc(sizeof(*out->tail) + right_size);
	if (out->tail == NULL)
		return false;
	out->tail->size = (uint32_t)right_size;
	memcpy(out->tail->bytes, right, right_size);
	return true;
}

bool
inner_reserve_tails(const struct inner_shape *shape, struct inner *node)
{
	struct tail **tails;

	if (node->tails != NULL)
		return true;
	tails = calloc(shape->fanout, sizeof(struct tail *));
	if (tails == NULL)
		return false;
	__atomic_store_n(&node->tails, tails, __ATOMIC_RELEASE);
	return true;
}

static void
set_tail(struct inner *node, unsigned i, struct tail *tail)
{
	if (node->tails != NULL)
		__atomic_store_n(&node->tails[i], tail, __ATOMIC_RELEASE);
}

void
inner_add(const struct inner_shape *shape, struct inner *node, unsigned i,
	struct separator separator, uint64_t child)
{
	uint64_t *children = inner_children(shape, node);

	for (unsigned j = node->count; j > i; j--) {
		racy_store64(&node->words[j], node->words[j - 1]);
		set_tail(node, j, inner_tail(node->tails, j - 1));
		racy_store64(&children[j + 1], children[j]);
	}
	racy_store64(&node->words[i], separator.word);
	set_tail(node, i, separator.tail);
	__atomic_store_n(&children[i + 1], child, __ATOMIC_RELEASE);
	__atomic_store_n(&node->count, node->count + 1, __ATOMIC_RELEASE);
}

void
inner_remove(const struct inner_shape *shape, struct inner *node, unsigned i)
{
	uint64_t *children = inner_children(shape, node);

	racy_store32(&node->count, node->count - 1);
	for (unsigned j = i; j < node->count; j++) {
		racy_store64(&node->words[j], node->words[j + 1]);
		set_tail(node, j, inner_tail(node->tails, j + 1));
		racy_store64(&children[j + 1], children[j + 2]);
	}
	racy_store64(&node->words[node->count], UINT64_MAX);
	set_tail(node, node->count, NULL);
}

static struct separator
separator_at(const struct inner *node, unsigned i)
{
	return (struct separator){node->words[i], inner_tail(node->tails, i)};
}

bool
inner_split(const struct inner_shape *shape, struct inner *node, struct inner *to,
	struct separator *middle)
{
	unsigned at = node->count / 2;
	const uint64_t *children = inner_children(shape, node);

	if (node->tails != NULL && !inner_reserve_tails(shape, to))
		return false;
	*middle = separator_at(node, at);
	inner_children(shape, to)[0] = children[at + 1];
	for (unsigned i = at + 1; i < node->count; i++)
		inner_add(shape, to, i - at - 1, separator_at(node, i), children[i + 1]);
	for (unsigned i = at; i < node->count; i++) {
		set_tail(node, i, NULL);
		racy_store64(&node->words[i], UINT64_MAX);
	}
	racy_store32(&node->count, at);
	return true;
}

bool
inner_append(const struct inner_shape *shape, struct inner *node, struct separator separator,
	const struct inner *from)
{
	const uint64_t *children = inner_children(shape, from);

	if ((from->tails != NULL || separator.tail != NULL) &&
		!inner_reserve_tails(shape, node))
		return false;
	inner_add(shape, node, node->count, separator, children[0]);
	for (unsigned i = 0; i < from->count; i++)
		inner_add(shape, node, node->count, separator_at(from, i), children[i + 1]);
	return true;
}
