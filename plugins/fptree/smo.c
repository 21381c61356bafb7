/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Splits and merges of leaves, which are durable changes of the structure.
 *
 * Both descend again (approach.c) and lock the parent and the leaves. Then they make the
 * stores below. F is flush and fence; brackets mark the store that commits:
 *
 *   split of L into L and M:   M's slots and M.next = L.next, F, [L.next = M], F,
 *     the slots of L that M now has := 0, F.
 *
 * Until the commit, M is free space. Between the commit and the last F, both leaves may
 * contain the same records. These records are not below M's least key. M has this key since
 * the commit and does not change before the last F. So recovery recognizes the records and
 * empties them in L. The split needs no log and never has to be undone.
 *
 *   merge of M into L, L.next = M:   M's records into empty slots of L, F,
 *     [L.next = M.next], F.
 *
 * Until the commit, the new records of L, whole or torn, are not below M's least key either.
 * A torn one is not a record, and recovery empties a whole one. After the commit the records
 * belong to L, and M is free space once its epoch is over.
 *
 * The first leaf is never merged into another, so the pool's head never changes.
 */
#include "internal.h"
#include "search.h"

#include <stdlib.h>

/* --- the split of a leaf --- */

/* The distribution of a full leaf's records. */
struct share {
	uint64_t moved; /* slots that go to the new leaf */
	struct separator separator;
};

/*
 * The number of records that stay: half of them. If the new key is above or below all keys of
 * the tree, all records but one go to one side. So inserts in order fill every leaf.
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

/* Select the k-th smallest, from 0, of different words. It changes their order. */
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

/*
 * Distribute the records if all are plain words of one size: no two are equal, and no key has
 * to be read. False: they are not.
 */
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

/* Read the records of `slots` into session->records[at...]. Returns their number. */
static unsigned
read_records(struct nb_session *session, const char *bytes, uint64_t slots, unsigned at)
{
	const struct nb_db *tree = session->tree;
	unsigned end = at;

	for (; slots != 0; slots &= slots - 1, end++)
		record_read(&session->records[end], &tree->layout, tree->base, bytes,
			(unsigned)__builtin_ctzll(slots),
			session->linear + (size_t)end * tree->layout.inline_room);
	return end - at;
}

static bool
share_records(struct nb_session *session, const char *bytes, const struct key *key,
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

/* The number of bytes of the slot that are in use. */
static size_t
slot_used(const struct layout *layout, const uint64_t *slot)
{
	if (layout->slot_bytes <= PM_LINE)
		return layout->slot_bytes;
	if (cell_kind(*slot) != CELL_RECORD)
		return CELL_HEADER;
	return (size_t)cell_lines(cell_key_size(*slot) + cell_value_size(*slot)) * PM_LINE;
}

/* The hash of the key in a slot of LEAF_WORDS. */
static uint64_t
hash_in_slot(const struct nb_db *tree, const char *bytes, unsigned slot)
{
	struct record record;

	record_read(&record, &tree->layout, tree->base, bytes, slot, NULL);
	return hash_of(record.key, record.key_size, record.word);
}

/* The slot of the new leaf for each record that moves. */
struct homes {
	uint8_t slot[TREE_LEAF_SLOTS_MAX + 1];
	uint64_t taken;
};

/*
 * Choose slots in the new leaf. LEAF_WORDS: first for all records that find room in one of
 * their home lines, then for the others. A record of LEAF_CELLS keeps its slot number.
 */
static void
find_homes(const struct nb_db *tree, const char *from, uint64_t moved, struct homes *homes)
{
	const struct layout *layout = &tree->layout;
	uint64_t hashes[TREE_LEAF_SLOTS_MAX + 1], away = 0;

	homes->taken = 0;
	for (uint64_t rest = moved; rest != 0; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest), slot = i;

		if (layout->format == LEAF_WORDS) {
			uint64_t empty = layout->usable & ~homes->taken;

			hashes[i] = hash_in_slot(tree, from, i);
			empty &= near_slots(layout, hashes[i]);
			if (empty == 0) {
				away |= 1ull << i;
				continue;
			}
			slot = slot_for(layout, hashes[i], empty);
		}
		homes->slot[i] = (uint8_t)slot;
		homes->taken |= 1ull << slot;
	}
	for (; away != 0; away &= away - 1) {
		unsigned i = (unsigned)__builtin_ctzll(away);
		unsigned slot = slot_for(layout, hashes[i], layout->usable & ~homes->taken);

		homes->slot[i] = (uint8_t)slot;
		homes->taken |= 1ull << slot;
	}
}

/* Write and flush all used bytes of the new leaf's half in the pool. */
static void
write_new_leaf(struct nb_session *session, const char *from, char *to, uint64_t moved,
	const struct homes *homes)
{
	const struct layout *layout = &session->tree->layout;
	struct pm *pm = &session->pm;

	pm_store64(leaf_next(to), *leaf_next((char *)(uintptr_t)from));
	for (uint64_t rest = moved; rest != 0; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		const uint64_t *source = slot_at(layout, from, i);

		pm_copy(slot_at(layout, to, homes->slot[i]), source, slot_used(layout, source));
	}
	for (uint64_t rest = layout->usable & ~homes->taken; rest != 0; rest &= rest - 1)
		pm_store64(slot_at(layout, to, (unsigned)__builtin_ctzll(rest)), 0);
	for (unsigned i = 1; layout->slot_bytes > PM_LINE && i <= layout->slots; i++) {
		const uint64_t *slot = slot_at(layout, to, i);

		pm_flush(pm, slot, slot_used(layout, slot));
	}
	pm_flush(pm, to, layout->slot_bytes > PM_LINE ? 1 : layout->leaf_bytes);
}

/* Empty the given slots of `bytes` and flush them. */
static void
clear_slots(struct nb_session *session, char *bytes, uint64_t slots)
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

/*
 * Lock the new leaf's line in memory, which no other thread uses yet. Returns the version for
 * version_unlock().
 */
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
move_fingerprints(struct leaf *from, struct leaf *to, const struct layout *layout,
	uint64_t moved, const struct homes *homes)
{
	for (uint64_t rest = layout->usable & ~homes->taken; rest != 0; rest &= rest - 1)
		racy_store8(&to->fp[__builtin_ctzll(rest)], 0);
	for (; moved != 0; moved &= moved - 1) {
		unsigned i = (unsigned)__builtin_ctzll(moved);

		racy_store8(&to->fp[homes->slot[i]], from->fp[i]);
		racy_store8(&from->fp[i], 0);
	}
}

/* Split the leaf. Parent and leaf are locked, and the leaf is full. */
static int
split_leaf(struct nb_session *session, const struct key *key, const struct approach *approach)
{
	struct nb_db *tree = session->tree;
	const struct layout *layout = &tree->layout;
	const struct place *place = &approach->place;
	char *bytes = leaf_bytes(tree, place->child);
	struct share share;
	struct homes homes;
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
	find_homes(tree, bytes, share.moved, &homes);
	write_new_leaf(session, bytes, tree->base + offset, share.moved, &homes);
	pm_fence(&session->pm);
	pm_store64(leaf_next(bytes), offset);
	pm_flush_line(&session->pm, bytes);
	pm_fence(&session->pm);
	clear_slots(session, bytes, share.moved);
	pm_fence(&session->pm);

	child = child_at(offset);
	line = leaf_line(tree, child);
	version = begin_line(line);
	move_fingerprints(leaf_line(tree, place->child), line, layout, share.moved, &homes);
	inner_add(&tree->shape, place->parent, place->index, share.separator, child);
	version_unlock(&line->version, version);
	count_one(&session->counts.splits);
	return NB_OK;
}

int
tree_split(struct nb_session *session, const struct key *key)
{
	const struct nb_db *tree = session->tree;
	unsigned spins = 0;

	for (;; pause_a_little(&spins)) {
		struct approach found;
		struct leaf *leaf;
		uint64_t version;
		int answer = tree_approach(session, key, FOR_SPLIT, &found);

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

static void
retire_tail(struct nb_session *session, const struct tail *tail)
{
	if (tail != NULL)
		epoch_retire(session->epoch, RETIRED_TAIL, (uint64_t)(uintptr_t)tail);
}

static unsigned
records_in(const struct layout *layout, const struct leaf *leaf)
{
	return layout->slots -
		(unsigned)__builtin_popcountll(fingerprint_match(leaf, 0) & layout->usable);
}

/* Two locked neighbours, left first. */
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

/* Write `record` into a slot of either format, and flush it. */
static void
write_slot(
	struct nb_session *session, uint64_t *slot, const struct record *record, uint64_t word)
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

/* Copy all records of `from` into empty slots of `to`, and flush them. Both leaves are locked. */
static void
copy_records(struct nb_session *session, const struct pair *pair, const char *from, char *to)
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

/* Merge children i and i + 1 of the locked parent, both locked, into child i. */
static void
merge_pair_of_leaves(
	struct nb_session *session, struct inner *parent, unsigned i, const struct pair *pair)
{
	struct nb_db *tree = session->tree;
	char *left = leaf_bytes(tree, inner_child(&tree->shape, parent, i));
	char *right = leaf_bytes(tree, inner_child(&tree->shape, parent, i + 1));

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
 * Merge children i and i + 1 of the locked parent if half a leaf can hold their records. 0:
 * done, see *is_merged; 1: another thread has locked one of them, begin again.
 */
static int
try_merge(struct nb_session *session, struct inner *parent, unsigned i, bool *is_merged)
{
	const struct nb_db *tree = session->tree;
	struct pair pair = {
		.left = leaf_line(tree, inner_child(&tree->shape, parent, i)),
		.right = leaf_line(tree, inner_child(&tree->shape, parent, i + 1)),
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
 * If the merge leaves the parent sparse, it begins again to merge the parent too. Otherwise a
 * node with one empty leaf could stay, because no later delete may come here.
 */
void
tree_merge(struct nb_session *session, const struct key *key)
{
	unsigned spins = 0;
	int answer;

	do {
		struct approach found;
		const struct place *place = &found.place;
		bool is_merged = false;

		if (tree_approach(session, key, FOR_MERGE, &found) != NB_OK)
			return;
		answer = 0;
		if (place->index < place->parent->count)
			answer = try_merge(session, place->parent, place->index, &is_merged);
		if (answer == 0 && !is_merged && place->index > 0)
			answer = try_merge(
				session, place->parent, place->index - 1, &is_merged);
		if (is_merged && tree_is_sparse(session->tree, place->parent->count))
			answer = 1;
		if (is_merged)
			version_unlock(&place->parent->version, place->parent_version);
		else
			version_unlock_unchanged(
				&place->parent->version, place->parent_version);
		pause_a_little(&spins);
	} while (answer != 0);
}
