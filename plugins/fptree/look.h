/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FPTREE_LOOK_H
#define FPTREE_LOOK_H
/** get and multi_get: the search for a key's record in its leaf, without a lock. Part of verbs.c. */
#include "descend.h"

/*
 * Prefetch all lines that this operation most likely needs. Returns near_slots(). The
 * empty asm statement keeps the prefetches. gcc 12 removes calls of a function that only
 * prefetches, because it has no effect.
 */
HOT_INLINE uint64_t
prefetch_leaf(const struct nb_db *tree, const struct place *place, const struct key *key,
	bool is_write)
{
	const char *bytes = leaf_bytes(tree, place->child);
	const struct layout *layout = &tree->layout;
	uint64_t near = near_slots(layout, key->hash);

	if (is_write) /* else the lock has to ask the other CPUs again */
		__builtin_prefetch(leaf_line(tree, place->child), 1);
	else
		__builtin_prefetch(leaf_line(tree, place->child));
	if (layout->format == LEAF_WORDS) {
		struct home_lines home = home_lines(layout, key->hash);

		__builtin_prefetch(bytes + (size_t)home.first * PM_LINE);
		__builtin_prefetch(bytes + (size_t)home.second * PM_LINE);
	} else {
		bytes += home_offset(layout, key->hash);
		__builtin_prefetch(bytes);
		if (layout->slot_bytes > PM_LINE)
			__builtin_prefetch(bytes + PM_LINE);
	}
	__asm__ volatile("");
	return near;
}

/* --- search --- */

static __attribute__((noinline)) bool
blob_has_key(const struct nb_db *tree, uint64_t offset, const void *data, size_t size)
{
	const struct blob *blob = (const void *)(tree->base + offset);

	return blob->key_size == size && memcmp(blob->bytes, data, size) == 0;
}

HOT_INLINE bool
word_has_key(const struct nb_db *tree, uint64_t word, uint64_t plain, const struct key *key)
{
	if (word == plain)
		return word != 0;
	return __builtin_expect(word_is_blob(word), 0) &&
		blob_has_key(tree, blob_of_word(word), key->data, key->size);
}

HOT_INLINE bool
cell_has_key(const struct nb_db *tree, const char *cell, uint64_t header, const struct key *key)
{
	switch (cell_kind(header)) {
	case CELL_RECORD:
		if (cell_key_size(header) != key->size ||
			key->size + cell_value_size(header) > tree->layout.inline_room)
			return false;
		if (__builtin_expect(key->size <= CELL_FIRST, 1))
			return racy_is_equal(cell + CELL_HEADER, key->data, key->size);
		return cell_is_equal(cell, 0, key->data, key->size);
	case CELL_BLOB:
		return blob_has_key(tree, cell_blob(header), key->data, key->size);
	default:
		return false;
	}
}

static void
lend_blob(const struct nb_db *tree, uint64_t offset, struct nb_slice *value)
{
	const struct blob *blob = (const void *)(tree->base + offset);

	*value = (struct nb_slice){blob->bytes + blob->key_size, blob->value_size};
}

/*
 * Search a leaf that may be changing. 1: *value lends the value of the key's record; 0: the
 * leaf has no such record. The result holds only if the leaf's version does. A blob that the
 * search reads was in a slot when the slot was read, so it stays for this epoch.
 */
HOT_INLINE int
look_words(struct nb_session *session, const char *bytes, uint64_t match, uint64_t near,
	const struct key *key, struct nb_slice *value)
{
	const struct nb_db *tree = session->tree;
	uint64_t plain = word_plain(&tree->layout, key);

	while (match != 0) {
		const uint64_t *slot = slot_at(&tree->layout, bytes, take_slot(&match, near));
		uint64_t word = __atomic_load_n(&slot[0], __ATOMIC_ACQUIRE);

		if (!word_has_key(tree, word, plain, key))
			continue;
		if (word != plain) {
			lend_blob(tree, blob_of_word(word), value);
			return 1;
		}
		session->value_word = racy_load64(&slot[1]);
		*value = (struct nb_slice){&session->value_word, tree->layout.value_size};
		return 1;
	}
	return 0;
}

HOT_INLINE int
look_cells(struct nb_session *session, const char *bytes, uint64_t match, uint64_t near,
	const struct key *key, struct nb_slice *value)
{
	const struct nb_db *tree = session->tree;

	while (match != 0) {
		const uint64_t *slot = slot_at(&tree->layout, bytes, take_slot(&match, near));
		const char *cell = (const char *)slot;
		uint64_t header = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if (!cell_has_key(tree, cell, header, key))
			continue;
		if (cell_kind(header) == CELL_BLOB) {
			lend_blob(tree, cell_blob(header), value);
			return 1;
		}
		cell_read(cell, key->size, session->value, cell_value_size(header));
		*value = (struct nb_slice){session->value, cell_value_size(header)};
		return 1;
	}
	return 0;
}

/*
 * Search the leaf at `place`, the slots in `near` first. 1: *value lends the value; 0: the leaf does not have the key;
 * -1: the search met a writer.
 */
HOT_INLINE int
look_at(struct nb_session *session, const struct place *place, uint64_t near,
	const struct key *key, struct nb_slice *value)
{
	const struct nb_db *tree = session->tree;
	const struct leaf *leaf = leaf_line(tree, place->child);
	const char *bytes = leaf_bytes(tree, place->child);
	uint64_t version = version_read(&leaf->version), match;
	int found;

	if (!version_holds(&place->parent->version, place->parent_version))
		return -1;
	match = fingerprint_match(leaf, fingerprint_of(key->hash)) & tree->layout.usable;
	found = tree->layout.format == LEAF_WORDS
		? look_words(session, bytes, match, near, key, value)
		: look_cells(session, bytes, match, near, key, value);
	return version_holds(&leaf->version, version) ? found : -1;
}

/* --- get and multi_get --- */

HOT_INLINE int
get_once(struct nb_session *session, struct nb_slice slice, struct nb_slice *value)
{
	struct key key = key_of(slice.data, slice.size);
	struct place place;
	uint64_t near;

	if (!descend_once(session->tree, &key, &place, false))
		return -1;
	near = prefetch_leaf(session->tree, &place, &key, false);
	return look_at(session, &place, near, &key, value);
}

static __attribute__((noinline)) int
get_again(struct nb_session *session, struct nb_slice slice, struct nb_slice *value)
{
	int found;

	do {
		count_one(&session->counts.restarts);
		found = get_once(session, slice, value);
	} while (found < 0);
	return found;
}

static int
get(struct nb_session *session, struct nb_slice slice, struct nb_slice *value)
{
	int found;

	epoch_enter(session->epoch);
	found = get_once(session, slice, value);
	if (__builtin_expect(found < 0, 0))
		found = get_again(session, slice, value);
	if (found != 0)
		return NB_OK;
	epoch_exit(session->epoch);
	return NB_NOT_FOUND;
}

/*
 * Get one of several values. A value that is not in a blob is copied to *inlined, because the
 * session has room for only one. Returns 1, 0 or -1, like look_at().
 */
static inline int
get_at(struct nb_session *session, const struct place *place, uint64_t near,
	const struct key *key, struct nb_slice *value, uint8_t *inlined)
{
	int found = look_at(session, place, near, key, value);

	if (found > 0 &&
		(value->data == &session->value_word || value->data == session->value)) {
		memcpy(inlined, value->data, value->size);
		value->data = inlined;
	}
	return found;
}

/*
 * Get the values in groups. For each key of a group, descend and prefetch its lines; then do
 * the lookups. So the cache misses of a group, which take most of a lookup's time, overlap.
 */
static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers, uint8_t *inlined)
{
	enum { GROUP = 16 };
	const struct nb_db *tree = session->tree;
	size_t room = tree->layout.format == LEAF_WORDS ? sizeof(uint64_t)
							: tree->layout.inline_room;
	bool is_lent = false;

	epoch_enter(session->epoch);
	for (size_t at = 0; at < count; at += GROUP) {
		size_t group = count - at < GROUP ? count - at : GROUP;
		struct place places[GROUP];
		struct key wanted[GROUP];
		uint64_t near[GROUP];

		for (size_t i = 0; i < group; i++) {
			wanted[i] = key_of(keys[at + i].data, keys[at + i].size);
			descend(session, &wanted[i], &places[i]);
			near[i] = prefetch_leaf(tree, &places[i], &wanted[i], false);
		}
		for (size_t i = 0; i < group; i++) {
			uint8_t *to = inlined + (at + i) * room;
			int found;

			while ((found = get_at(session, &places[i], near[i], &wanted[i],
					&values[at + i], to)) < 0) {
				count_one(&session->counts.restarts);
				descend(session, &wanted[i], &places[i]);
			}
			answers[at + i] = found != 0 ? NB_OK : NB_NOT_FOUND;
			is_lent = is_lent || found != 0;
		}
	}
	if (!is_lent)
		epoch_exit(session->epoch);
	return NB_OK;
}

#endif /* FPTREE_LOOK_H */
