/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes to one inner node. A reader without a lock may see every store, so each store
 * writes a whole word. The count is stored after the child that it makes reachable. So a
 * reader only follows pointers that once were children. The version then shows it that the
 * node has changed.
 */
#include "inner.h"

#include <stdlib.h>

/* The separators of a node, scaled, are in a range of this many bits. The rest is for more. */
enum { SCALED_BITS = 15 };

unsigned
inner_words_up_to(const uint64_t *words, unsigned count, uint64_t word)
{
	unsigned lo = 0, hi = count;

	while (lo < hi) {
		unsigned middle = lo + (hi - lo) / 2;

		if (racy_load64(&words[middle]) <= word)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

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
	*store = (struct inner_store){
		.slab = slab_new(&(struct slab_options){.is_malloc = false}),
		.room = shape->room,
	};
	if (store->slab == NULL)
		return false;
	slab_cache_open(&store->cache, store->slab);
	pthread_mutex_init(&store->lock, NULL);
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

/* A multiple of 64, so the slab aligns the node. */
static size_t
node_bytes(const struct inner_store *store, uint32_t level)
{
	return sizeof(struct inner) +
		store->room * (sizeof(uint16_t) + inner_child_bytes(level) + sizeof(uint64_t));
}

struct inner *
inner_new(struct inner_store *store, uint32_t level)
{
	size_t bytes = node_bytes(store, level);

	pthread_mutex_lock(&store->lock);
	struct inner *node = slab_alloc(&store->cache, bytes);
	pthread_mutex_unlock(&store->lock);

	if (node == NULL)
		return NULL;
	memset(node, 0xff, bytes); /* SCALED_UNUSED */
	memset(node, 0, sizeof(*node));
	node->level = level;
	node->guard = SCALED_UNUSED;
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
	slab_free(&store->cache, node, node_bytes(store, node->level));
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
inner_set_child(const struct inner_shape *shape, struct inner *node, unsigned i, uint64_t child)
{
	uintptr_t children = (uintptr_t)inner_children(shape->room, node);

	if (node->level == 0)
		__atomic_store_n((uint32_t *)children + i, (uint32_t)child, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint64_t *)children + i, child, __ATOMIC_RELEASE);
}

/*
 * Scale all separators anew: the least to 1, so that keys below it are scaled to less, and
 * the greatest to 2^SCALED_BITS at most.
 */
static void
set_scale(const struct inner_shape *shape, struct inner *node)
{
	const uint64_t *words = inner_words(shape, node);
	uint64_t range = words[node->count - 1] - words[0], unit;
	unsigned shift = range >> SCALED_BITS == 0
		? 0
		: 64 - SCALED_BITS - (unsigned)__builtin_clzll(range);

	unit = 1ull << shift;
	racy_store64(&node->base, words[0] > unit ? words[0] - unit : 0);
	racy_store32(&node->shift, shift);
	for (unsigned i = 0; i < node->count; i++)
		racy_store16(&node->scaled[i], inner_scale(node, words[i]));
}

void
inner_add(const struct inner_shape *shape, struct inner *node, unsigned i,
	struct separator separator, uint64_t child)
{
	uint64_t *words = inner_words(shape, node);
	uint16_t scaled = inner_scale(node, separator.word);

	for (unsigned j = node->count; j > i; j--) {
		racy_store16(&node->scaled[j], node->scaled[j - 1]);
		racy_store64(&words[j], words[j - 1]);
		set_tail(node, j, inner_tail(node->tails, j - 1));
		inner_set_child(shape, node, j + 1, inner_child(shape, node, j));
	}
	racy_store16(&node->scaled[i], scaled);
	racy_store64(&words[i], separator.word);
	set_tail(node, i, separator.tail);
	inner_set_child(shape, node, i + 1, child);
	__atomic_store_n(&node->count, node->count + 1, __ATOMIC_RELEASE);
	if (node->count == 1 || scaled == 0 || scaled == SCALED_MAX)
		set_scale(shape, node);
}

void
inner_remove(const struct inner_shape *shape, struct inner *node, unsigned i)
{
	uint64_t *words = inner_words(shape, node);

	racy_store32(&node->count, node->count - 1);
	for (unsigned j = i; j < node->count; j++) {
		racy_store16(&node->scaled[j], node->scaled[j + 1]);
		racy_store64(&words[j], words[j + 1]);
		set_tail(node, j, inner_tail(node->tails, j + 1));
		inner_set_child(shape, node, j + 1, inner_child(shape, node, j + 2));
	}
	racy_store16(&node->scaled[node->count], SCALED_UNUSED);
	set_tail(node, node->count, NULL);
}

static struct separator
separator_at(const struct inner_shape *shape, const struct inner *node, unsigned i)
{
	return (struct separator){inner_words(shape, node)[i], inner_tail(node->tails, i)};
}

bool
inner_split(const struct inner_shape *shape, struct inner *node, struct inner *to,
	struct separator *middle)
{
	unsigned at = node->count / 2;

	if (node->tails != NULL && !inner_reserve_tails(shape, to))
		return false;
	*middle = separator_at(shape, node, at);
	inner_set_child(shape, to, 0, inner_child(shape, node, at + 1));
	for (unsigned i = at + 1; i < node->count; i++)
		inner_add(shape, to, i - at - 1, separator_at(shape, node, i),
			inner_child(shape, node, i + 1));
	for (unsigned i = at; i < node->count; i++) {
		set_tail(node, i, NULL);
		racy_store16(&node->scaled[i], SCALED_UNUSED);
	}
	racy_store32(&node->count, at);
	set_scale(shape, node);
	return true;
}

bool
inner_append(const struct inner_shape *shape, struct inner *node, struct separator separator,
	const struct inner *from)
{
	if ((from->tails != NULL || separator.tail != NULL) &&
		!inner_reserve_tails(shape, node))
		return false;
	inner_add(shape, node, node->count, separator, inner_child(shape, from, 0));
	for (unsigned i = 0; i < from->count; i++)
		inner_add(shape, node, node->count, separator_at(shape, from, i),
			inner_child(shape, from, i + 1));
	return true;
}
