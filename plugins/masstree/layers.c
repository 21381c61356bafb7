/* SPDX-License-Identifier: BSD-2-Clause */
/* New layers: two keys of one leaf have the same slice and different suffixes. */
#include "find.h"

/* Free layers that were never published: leaves of one entry, down to the leaf of two. */
static void
layers_drop(struct nb_session *session, struct leaf *leaf)
{
	for (struct leaf *next; leaf != NULL; leaf = next) {
		struct entry entries[LEAF_SLOTS_MAX];
		unsigned count = mt_leaf_entries(leaf, leaf->version, entries);

		next = entries[0].klen == KLEN_LAYER ? (struct leaf *)record_at(entries[0].word)
						     : NULL;
		for (unsigned i = 0; next == NULL && i < count; i++)
			mt_entry_drop(session, &entries[i]);
		mt_leaf_drop(session, leaf);
	}
}

/* Make the leaf of two keys that differ in this layer. NULL: out of memory. */
static struct leaf *
leaf_of_two(struct nb_session *session, const struct key *a, struct nb_slice a_value,
	const struct key *b, struct nb_slice b_value)
{
	struct entry entries[2];
	bool is_a_first = a->slice < b->slice || (a->slice == b->slice && a->klen < b->klen);

	if (!mt_entry_make(session, a, a_value, &entries[!is_a_first]))
		return NULL;
	if (!mt_entry_make(session, b, b_value, &entries[is_a_first])) {
		mt_entry_drop(session, &entries[!is_a_first]);
		return NULL;
	}
	struct leaf *leaf = mt_leaf_new(session, 1, entries, 2);
	if (leaf == NULL) {
		mt_entry_drop(session, &entries[0]);
		mt_entry_drop(session, &entries[1]);
	}
	return leaf;
}

/*
 * Make the leaf of two keys, and above it a leaf for each slice that both keys share. *count:
 * the number of layers. NULL: out of memory.
 */
static struct leaf *
layers_new(struct nb_session *session, const struct record *old, bool is_absent,
	struct key *key, struct nb_slice value, uint64_t *count)
{
	const uint8_t *common = key->data;
	struct key other;

	key_set(&other, old->bytes + old->value_size, old->suffix_size);
	while (other.slice == key->slice && other.klen == KLEN_SUFFIX &&
		key->klen == KLEN_SUFFIX) {
		key_shift(&other);
		key_shift(key);
	}
	struct leaf *leaf = leaf_of_two(session, &other,
		is_absent ? mt_absent : (struct nb_slice){old->bytes, old->value_size}, key,
		value);
	*count = 1 + (uint64_t)(key->data - common) / SLICE;
	for (const uint8_t *at = key->data; leaf != NULL && at != common;) {
		at -= SLICE;
		struct entry entry = {.slice = slice_of_bytes(at, SLICE),
			.word = (uint64_t)(uintptr_t)leaf,
			.klen = KLEN_LAYER};
		struct leaf *above = mt_leaf_new(session, 1, &entry, 1);
		if (above == NULL)
			layers_drop(session, leaf);
		leaf = above;
	}
	return leaf;
}

int
mt_make_layer(
	struct nb_session *session, struct path *path, unsigned slot, struct nb_slice value)
{
	struct leaf *leaf = path->leaf;
	uint64_t *word = leaf_word(leaf, leaf_slots(path->version), slot), count;
	struct record *old = record_at(*word);
	struct key key = path->key;

	key_shift(&key);
	bool is_absent = vlen_is_absent(nibble(leaf->vlens, slot));
	struct leaf *layer = layers_new(session, old, is_absent, &key, value, &count);
	if (layer == NULL)
		return unlock(path, mt_no_memory(session, "a layer"));
	int rc = mt_record(session, MT_PUT, path->whole, value);
	if (rc != NB_OK) {
		layers_drop(session, layer);
		return unlock(path, rc);
	}
	version_begin_change(&leaf->version, path->version);
	root_store(word, layer);
	racy_store64(&leaf->vlens, nibble_set(leaf->vlens, slot, 0));
	racy_store64(&leaf->klens, nibble_set(leaf->klens, slot, KLEN_LAYER));
	version_unlock_changed(&leaf->version, path->version);
	retire_record(session, old);
	count_one(&session->counts.inserts);
	for (; count > 0; count--)
		count_one(&session->counts.layers);
	return NB_OK;
}
