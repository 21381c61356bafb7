/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries of leaves: how a leaf stores values, and how an entry is inserted and removed.
 *
 * A value of up to 8 bytes is a word of the leaf if its key ends in the slice. All other
 * entries have a record outside the leaf, which also holds the rest of the key. The original
 * Masstree keeps these rests with the leaf. Then a growing leaf must copy them, and the value
 * is another cache miss.
 *
 * Without permutations, the entries of a leaf are in the order of the slots. An insert moves
 * the entries after it while readers wait. For comparison only (section 6.2 of the paper).
 */
#include "internal.h"

bool
mt_entry_make(struct nb_session *session, const struct key *key, struct nb_slice value,
	struct entry *entry)
{
	size_t suffix = key->klen == KLEN_SUFFIX ? key->size - SLICE : 0;
	bool is_absent = is_absent_value(value);

	*entry = (struct entry){.slice = key->slice, .klen = (uint8_t)key->klen};
	if (is_absent)
		value.size = 0;
	if (suffix == 0 && value.size <= VLEN_INLINE_MAX) {
		entry->vlen = is_absent ? VLEN_ABSENT : (uint8_t)value.size;
		if (value.size != 0) /* an empty value may have no address */
			memcpy(&entry->word, value.data, value.size);
		return true;
	}
	struct record *record = slab_alloc(
		&session->cache, sizeof(*record) + value.size + suffix);
	if (record == NULL)
		return false;
	record->value_size = (uint32_t)value.size;
	record->suffix_size = (uint32_t)suffix;
	if (value.size != 0)
		memcpy(record->bytes, value.data, value.size);
	if (suffix != 0)
		memcpy(record->bytes + value.size, key->data + SLICE, suffix);
	entry->vlen = is_absent ? VLEN_ABSENT_RECORD : VLEN_RECORD;
	entry->word = (uint64_t)(uintptr_t)record;
	return true;
}

void
mt_entry_drop(struct nb_session *session, const struct entry *entry)
{
	if (!vlen_has_record(entry->vlen))
		return;
	struct record *record = record_at(entry->word);
	slab_free(&session->cache, record, record_size(record));
}

struct leaf *
mt_leaf_new(
	struct nb_session *session, unsigned lines, const struct entry *entries, unsigned count)
{
	struct leaf *leaf = slab_alloc(&session->cache, (size_t)lines * LINE_BYTES);
	unsigned slots = 4 * lines - 2;

	if (leaf == NULL)
		return NULL;
	leaf->version = version_with_count(NODE_STEP | NODE_LEAF, lines);
	leaf->order = ORDER_EMPTY | count;
	leaf->klens = leaf->vlens = 0;
	for (unsigned i = 0; i < count; i++) {
		*leaf_slice(leaf, i) = entries[i].slice;
		*leaf_word(leaf, slots, i) = entries[i].word;
		leaf->klens = nibble_set(leaf->klens, i, entries[i].klen);
		leaf->vlens = nibble_set(leaf->vlens, i, entries[i].vlen);
	}
	for (unsigned i = count; i < slots; i++) /* searches read all slots */
		*leaf_slice(leaf, i) = 0;
	count_one(&session->counts.leaves_added);
	return leaf;
}

void
mt_leaf_drop(struct nb_session *session, struct leaf *leaf)
{
	slab_free(&session->cache, leaf, leaf_size(leaf->version));
	count_one(&session->counts.leaves_removed);
}

unsigned
mt_leaf_entries(struct leaf *leaf, uint64_t version, struct entry *entries)
{
	unsigned slots = leaf_slots(version), count = order_count(leaf->order);

	for (unsigned i = 0; i < count; i++) {
		unsigned slot = order_slot(leaf->order, i);
		entries[i] = (struct entry){*leaf_slice(leaf, slot),
			*leaf_word(leaf, slots, slot), (uint8_t)nibble(leaf->klens, slot),
			(uint8_t)nibble(leaf->vlens, slot)};
	}
	return count;
}

static void
fill_slot(struct leaf *leaf, unsigned slots, unsigned slot, const struct entry *entry)
{
	racy_store64(leaf_slice(leaf, slot), entry->slice);
	racy_store64(leaf_word(leaf, slots, slot), entry->word);
	racy_store64(&leaf->vlens, nibble_set(leaf->vlens, slot, entry->vlen));
	racy_store64(&leaf->klens, nibble_set(leaf->klens, slot, entry->klen));
}

static void
copy_slot(struct leaf *leaf, unsigned slots, unsigned to, unsigned from)
{
	fill_slot(leaf, slots, to,
		&(struct entry){*leaf_slice(leaf, from), *leaf_word(leaf, slots, from),
			(uint8_t)nibble(leaf->klens, from),
			(uint8_t)nibble(leaf->vlens, from)});
}

/* Without permutation: move the entries from `rank` on by one slot. */
static void
shift_slots(struct leaf *leaf, unsigned slots, unsigned rank)
{
	for (unsigned i = order_count(leaf->order); i > rank; i--)
		copy_slot(leaf, slots, i, i - 1);
}

void
mt_leaf_insert_dirty(struct nb_session *session, struct leaf *leaf, uint64_t version,
	const struct entry *entry, unsigned rank)
{
	unsigned slots = leaf_slots(version);

	if (session->tree->has_permutation) {
		fill_slot(
			leaf, slots, order_slot(leaf->order, order_count(leaf->order)), entry);
		__atomic_store_n(
			&leaf->order, order_insert(leaf->order, rank), __ATOMIC_RELEASE);
	} else {
		shift_slots(leaf, slots, rank);
		fill_slot(leaf, slots, rank, entry);
		__atomic_store_n(&leaf->order, leaf->order + 1, __ATOMIC_RELEASE);
	}
	racy_meet();
}

void
mt_leaf_insert(struct nb_session *session, struct leaf *leaf, uint64_t version,
	const struct entry *entry, unsigned rank)
{
	bool is_dirty = !session->tree->has_permutation;

	if (is_dirty)
		version_begin_change(&leaf->version, version);
	mt_leaf_insert_dirty(session, leaf, version, entry, rank);
	if (is_dirty)
		version_unlock_changed(&leaf->version, version);
	else
		version_unlock(&leaf->version, version);
}

/*
 * The freed slot may be reused at once, so readers of the leaf must restart: it gets a new
 * version.
 */
void
mt_leaf_remove(struct nb_session *session, struct leaf *leaf, uint64_t version, unsigned slot)
{
	unsigned slots = leaf_slots(version), count = order_count(leaf->order);

	if (session->tree->has_permutation) {
		uint64_t order = order_remove(leaf->order, order_rank(leaf->order, slot));
		__atomic_store_n(&leaf->order, order, __ATOMIC_RELEASE);
	} else {
		version_begin_change(&leaf->version, version);
		for (unsigned i = slot; i + 1 < count; i++)
			copy_slot(leaf, slots, i, i + 1);
		__atomic_store_n(&leaf->order, leaf->order - 1, __ATOMIC_RELEASE);
	}
	version_unlock_changed(&leaf->version, version);
}
