/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get, put, insert, add and delete: the hot path. Compiled twice on x86-64, see search.h.
 *
 * Cost. A lookup waits for its leaf, and in a large tree for the last inner node before. The
 * lines of each are requested together. For the leaf these are its line of fingerprints and
 * two lines of records, which the key's hash chooses. An insert takes the emptier of the two.
 * So a record is nearly always in a line that is known before the fingerprints arrive. With
 * one pair of neighbouring lines for a key, twice as many records would not fit there.
 *
 * Durability. A leaf is locked, in memory, from before the first store until after the last
 * fence. So no reader sees data that a crash could lose. The lock also checks that the leaf
 * is as the search has found it. F is flush and fence; brackets mark the store that commits:
 *
 *   insert, LEAF_WORDS:  value word, [key word], F: one line.
 *     Until the key word is stored the slot is empty, whatever its value word.
 *   insert, LEAF_CELLS:  the further lines, each with its mark; the first line's
 *     bytes, [header], F of them all. Without all marks the slot is torn: it holds
 *     no record, and recovery empties it.
 *   insert of a blob:    blob, F, [key word, or header], F.
 *     Before the commit nothing points to the blob, and recovery finds it free.
 *   update, LEAF_WORDS:  [value word], F. To a blob: blob, F, [key word], F. From a
 *     blob: value word, [key word], F.
 *   update, LEAF_CELLS:  an aligned value of 8 bytes in the first line: [value], F.
 *     Else an insert into another slot, F, then [header of the old := 0], F. A crash
 *     in between leaves both records. The write was not acknowledged, so recovery
 *     may empty either. To a blob: blob, F, [header], F.
 *   delete:              [key word, or header := 0], F.
 *
 * A replaced blob is free an epoch after the last fence.
 */
#include "look.h"

#include <stdlib.h>
#include <time.h>

#ifdef FPTREE_BUILD_AVX512
#define VERBS tree_verbs_avx512
#else
#define VERBS tree_verbs_plain
#endif

/* The leaf that the key belongs to, locked. */
struct locked {
	struct leaf *leaf;
	char *bytes;
	uint64_t version;
	uint64_t empty; /* slots */
	unsigned slot;  /* of the record with the key; 0: none */
	unsigned free;  /* the empty slot for a new record; 0: none */
};

/* Search the slots. The result holds only if the leaf's version does. */
HOT_INLINE void
look_for_slots(const struct nb_db *tree, struct locked *locked, const struct key *key,
	uint64_t near, bool is_for_new)
{
	const struct layout *layout = &tree->layout;
	uint64_t match = fingerprint_match(locked->leaf, fingerprint_of(key->hash));
	uint64_t plain = word_plain(layout, key);

	locked->slot = 0;
	match &= layout->usable;
	while (match != 0) {
		unsigned i = take_slot(&match, near);
		const uint64_t *slot = slot_at(layout, locked->bytes, i);
		uint64_t first = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if (layout->format == LEAF_WORDS
				? word_has_key(tree, first, plain, key)
				: cell_has_key(tree, (const char *)slot, first, key)) {
			locked->slot = i;
			break;
		}
	}
	locked->empty = fingerprint_match(locked->leaf, 0) & layout->usable;
	locked->free = 0;
	if (is_for_new && locked->empty != 0)
		locked->free = slot_for(layout, key->hash, locked->empty);
}

/*
 * Search, then lock the leaf at the version of the search. False: the search or the lock met
 * a writer.
 *
 * The lock waits for this thread's earlier flushes, some 200 ns. Nothing after the lock
 * starts until then, but everything before it continues: the descent, the misses of the
 * search, and the miss of the line that is about to be written. So the search comes first.
 */
HOT_INLINE bool
lock_leaf(struct nb_session *session, const struct key *key, bool is_for_new,
	struct locked *locked)
{
	const struct nb_db *tree = session->tree;
	struct place place;
	uint64_t near;
	unsigned wanted;

	if (!descend_once(tree, key, &place, false))
		return false;
	near = prefetch_leaf(tree, &place, key, true);
	locked->leaf = leaf_line(tree, place.child);
	locked->bytes = leaf_bytes(tree, place.child);
	locked->version = version_read(&locked->leaf->version);
	if (!version_holds(&place.parent->version, place.parent_version))
		return false;
	look_for_slots(tree, locked, key, near, is_for_new);
	wanted = locked->slot != 0 ? locked->slot : locked->free;
	__builtin_prefetch(slot_at(&tree->layout, locked->bytes, wanted), 1);
	/* A move of the key to another leaf also changes this leaf's version. */
	return version_lock(&locked->leaf->version, locked->version);
}

/* Unlock the leaf, changed or not, and leave the epoch. */
HOT_INLINE int
leave(struct nb_session *session, const struct locked *locked, bool is_changed, int answer)
{
	if (is_changed)
		version_unlock(&locked->leaf->version, locked->version);
	else
		version_unlock_unchanged(&locked->leaf->version, locked->version);
	epoch_exit(session->epoch);
	if (__builtin_expect(epoch_is_due(session->epoch), 0))
		epoch_reclaim(session->epoch);
	if (__builtin_expect(session->pm.error != 0, 0) && answer >= 0)
		return tree_write_failed(session);
	return answer;
}

/* The offset of the blob that the slot points to, or 0. */
static inline uint64_t
blob_in(const struct layout *layout, const uint64_t *slot)
{
	if (layout->format == LEAF_WORDS)
		return word_is_blob(*slot) ? blob_of_word(*slot) : 0;
	return cell_kind(*slot) == CELL_BLOB ? cell_blob(*slot) : 0;
}

/*
 * Retire a blob. A large one takes the place of many small ones in the queue. Otherwise some
 * hundred values of a MiB could wait, each in space that the file system has given.
 */
static void
retire_blob_that_is(struct nb_session *session, uint64_t offset)
{
	const struct blob *blob = (const void *)(session->tree->base + offset);

	epoch_retire(session->epoch, RETIRED_BLOB, offset);
	epoch_press(session->epoch, (blob->key_size + blob->value_size) / HEAP_BLOB_MAX);
}

static inline void
retire_blob(struct nb_session *session, uint64_t offset)
{
	if (__builtin_expect(offset != 0, 0))
		retire_blob_that_is(session, offset);
}

/* Store the word that commits, and make it durable. */
HOT_INLINE void
commit_word(struct pm *pm, uint64_t *at, uint64_t word)
{
	pm_store64(at, word);
	pm_flush_line(pm, at);
	pm_fence(pm);
}

/*
 * Write a blob and make the slot at `at` refer to it. False: host->fail() was called; the
 * slot is unchanged.
 */
static __attribute__((noinline)) bool
write_blob(
	struct nb_session *session, uint64_t *at, struct nb_slice slice, struct nb_slice value)
{
	const struct layout *layout = &session->tree->layout;
	struct key key = key_of(slice.data, slice.size);
	uint64_t blob = tree_blob_new(session, &key, value);

	if (blob == 0)
		return false;
	pm_fence(&session->pm);
	commit_word(&session->pm, at,
		layout->format == LEAF_WORDS ? word_of_blob(blob) : cell_header_of_blob(blob));
	return true;
}

static inline uint64_t
word_of_value(struct nb_slice value)
{
	uint64_t word = 0;

	if (__builtin_expect(value.size == sizeof(word), 1))
		memcpy(&word, value.data, sizeof(word));
	else if (value.size != 0)
		memcpy(&word, value.data, value.size);
	return word;
}

/* Write key and value into the empty slot. */
HOT_INLINE void
write_cell(struct nb_session *session, const struct locked *locked, unsigned slot,
	const struct key *key, struct nb_slice value)
{
	uint64_t *at = slot_at(&session->tree->layout, locked->bytes, slot);
	struct record record = {
		.key = key->data,
		.key_size = key->size,
		.value = value.data,
		.value_size = value.size,
	};

	commit_word(&session->pm, at, cell_fill(&session->pm, (char *)at, &record));
}

/* Does the record fit into a slot? False: it needs a blob. */
HOT_INLINE bool
is_inline(const struct layout *layout, const struct key *key, struct nb_slice value)
{
	if (layout->format == LEAF_WORDS)
		return value.size == layout->value_size && word_plain(layout, key) != 0;
	return key->size <= layout->inline_room &&
		value.size <= layout->inline_room - key->size;
}

/* Add a new record to a leaf with an empty slot. False: no space, as write_blob(). */
HOT_INLINE bool
add_record(struct nb_session *session, const struct locked *locked, const struct key *key,
	struct nb_slice value)
{
	const struct layout *layout = &session->tree->layout;
	unsigned slot = locked->free;

	count_one(&session->counts.inserts);
	if (!is_inline(layout, key, value)) {
		if (!write_blob(session, slot_at(layout, locked->bytes, slot),
			    (struct nb_slice){key->data, key->size}, value))
			return false;
	} else if (layout->format == LEAF_WORDS) {
		uint64_t *at = slot_at(layout, locked->bytes, slot);

		pm_store64(&at[1], word_of_value(value));
		commit_word(&session->pm, at, word_plain(layout, key));
	} else {
		write_cell(session, locked, slot, key, value);
	}
	racy_store8(&locked->leaf->fp[slot], fingerprint_of(key->hash));
	return true;
}

/*
 * The place of the old value if a store of 8 bytes can replace it: both values have 8 bytes,
 * in one aligned word of the first line. Else NULL.
 */
static inline uint64_t *
value_in_place(uint64_t *at, const struct key *key, struct nb_slice value)
{
	size_t offset = CELL_HEADER + key->size;

	if (cell_kind(*at) != CELL_RECORD || value.size != 8 || cell_value_size(*at) != 8 ||
		offset % 8 != 0 || offset + 8 > PM_LINE)
		return NULL;
	return (uint64_t *)(void *)((char *)at + offset);
}

/*
 * Results of one attempt, not answers of a verb. The session is in its epoch and has no lock.
 * Before the next attempt: split the leaf, which has no empty slot; or find space, whose lack
 * is already reported; or do nothing, because the attempt met a writer.
 */
enum { SPLIT_FIRST = 1000, NO_SPACE, BEGIN_AGAIN };

/*
 * Replace the value of an existing record. NB_OK, SPLIT_FIRST or NO_SPACE. A blob, and a
 * value that fits into a word, goes into the existing slot.
 */
HOT_INLINE int
update_record(struct nb_session *session, const struct locked *locked, const struct key *key,
	struct nb_slice value)
{
	const struct layout *layout = &session->tree->layout;
	uint64_t *at = slot_at(layout, locked->bytes, locked->slot);
	uint64_t old_blob = blob_in(layout, at);
	uint64_t *word;
	unsigned slot;

	if (!is_inline(layout, key, value)) {
		if (!write_blob(session, at, (struct nb_slice){key->data, key->size}, value))
			return NO_SPACE;
	} else if (layout->format == LEAF_WORDS) {
		pm_store64(&at[1], word_of_value(value));
		if (old_blob != 0)
			pm_store64(at, word_plain(layout, key));
		pm_flush_line(&session->pm, at);
		pm_fence(&session->pm);
	} else if ((word = value_in_place(at, key, value)) != NULL) {
		commit_word(&session->pm, word, word_of_value(value));
	} else {
		if (locked->empty == 0)
			return SPLIT_FIRST;
		slot = locked->free;
		write_cell(session, locked, slot, key, value);
		commit_word(&session->pm, at, 0);
		racy_store8(&locked->leaf->fp[slot], fingerprint_of(key->hash));
		racy_store8(&locked->leaf->fp[locked->slot], 0);
	}
	retire_blob(session, old_blob);
	count_one(&session->counts.updates);
	return NB_OK;
}

/*
 * Free space in a full pool from objects that wait for their epoch. Some session is always in
 * an epoch, so the first attempt frees hardly anything. But no session stays in one for long,
 * unless a value is on loan.
 */
static bool
has_reclaimed(struct nb_session *session)
{
	enum { QUICK_LOOKS = 100, LOOKS = 1000 };
	const struct timespec a_while = {.tv_nsec = 100000}; /* others may lack a CPU */

	for (unsigned i = 0; i < LOOKS && session->epoch->retired_count != 0; i++) {
		if (epoch_reclaim(session->epoch) != 0)
			return true;
		if (i < QUICK_LOOKS)
			sched_yield();
		else
			nanosleep(&a_while, NULL);
	}
	return epoch_reclaim(session->epoch) != 0; /* frees what closed sessions left */
}

static __attribute__((noinline)) int
split_for(struct nb_session *session, struct nb_slice slice)
{
	struct key key = key_of(slice.data, slice.size);

	return tree_split(session, &key);
}

enum write_kind { WRITE_PUT, WRITE_INSERT, WRITE_ADD };

/*
 * *sum := the number in the record's value plus `operand`. False: the value does not have 8
 * bytes; host->fail() was called.
 */
HOT_INLINE bool
sum_up(struct nb_session *session, const struct locked *locked, const struct key *key,
	uint64_t operand, uint64_t *sum)
{
	uint64_t slot = 1ull << locked->slot;
	struct nb_slice old = {0};

	if (session->tree->layout.format == LEAF_WORDS)
		look_words(session, locked->bytes, slot, slot, key, &old);
	else
		look_cells(session, locked->bytes, slot, slot, key, &old);
	if (old.size != sizeof(*sum)) {
		session->tree->host->fail(NB_FAIL,
			"merge: the value has %zu bytes; an addition needs 8", old.size);
		return false;
	}
	memcpy(sum, old.data, sizeof(*sum));
	*sum += operand;
	return true;
}

/*
 * One attempt. An addition is an update, with the leaf locked from the read on.
 *
 * Stores during a fence wait in the store buffer. If that is full, all else waits too. A Zen
 * 3 has 64 entries, and from some 25 stores on they cost time here. These stores belong to
 * the next operation, up to the point where it requests its leaf: then the fence and the miss
 * overlap. So the verbs keep the key and their results in registers. No function that may be
 * called on the way takes the address of either. And no loop surrounds them, because gcc
 * would compute and store in advance what only a later round needs.
 */
HOT_INLINE int
write_once(struct nb_session *session, struct nb_slice slice, struct nb_slice value,
	uint64_t operand, enum write_kind kind)
{
	struct key key = key_of(slice.data, slice.size);
	uint64_t sum = operand;
	struct locked locked;
	int answer = SPLIT_FIRST;

	epoch_enter(session->epoch);
	if (!lock_leaf(session, &key, true, &locked))
		return BEGIN_AGAIN;
	if (locked.slot != 0 && kind == WRITE_INSERT)
		return leave(session, &locked, false, NB_EXISTS);
	if (kind == WRITE_ADD) {
		value = (struct nb_slice){&sum, sizeof(sum)};
		if (locked.slot != 0 && !sum_up(session, &locked, &key, operand, &sum))
			return leave(session, &locked, false, NB_FAIL);
	}
	if (locked.slot != 0)
		answer = update_record(session, &locked, &key, value);
	else if (locked.empty != 0)
		answer = add_record(session, &locked, &key, value) ? NB_OK : NO_SPACE;
	if (__builtin_expect(answer == NB_OK, 1))
		return leave(session, &locked, true, NB_OK);
	version_unlock_unchanged(&locked.leaf->version, locked.version);
	return answer;
}

/* Try again after an attempt that ended with `why`. */
static __attribute__((noinline)) int
write_again(struct nb_session *session, struct nb_slice slice, struct nb_slice value,
	uint64_t operand, enum write_kind kind, int why)
{
	for (bool is_last_try = false; why >= SPLIT_FIRST;) {
		int answer = NB_OK;

		if (why == BEGIN_AGAIN)
			count_one(&session->counts.restarts);
		else
			answer = why == SPLIT_FIRST ? split_for(session, slice) : NB_FAIL;
		epoch_exit(session->epoch);
		if (answer != NB_OK && (is_last_try || !has_reclaimed(session)))
			return answer;
		if (why != BEGIN_AGAIN)
			is_last_try = answer != NB_OK;
		why = write_once(session, slice, value, operand, kind);
	}
	return why;
}

HOT_INLINE int
write_record(struct nb_session *session, struct nb_slice slice, struct nb_slice value,
	uint64_t operand, enum write_kind kind)
{
	int answer = write_once(session, slice, value, operand, kind);

	if (__builtin_expect(answer >= SPLIT_FIRST, 0))
		return write_again(session, slice, value, operand, kind, answer);
	return answer;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return write_record(session, key, value, 0, WRITE_PUT);
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return write_record(session, key, value, 0, WRITE_INSERT);
}

static int
add(struct nb_session *session, struct nb_slice key, uint64_t operand)
{
	return write_record(session, key, (struct nb_slice){0}, operand, WRITE_ADD);
}

/*
 * Is it time to look for a neighbour to merge with? Not at each delete below a limit, because
 * a leaf without a partner would search again at every delete.
 */
static bool
is_time_to_merge(const struct layout *layout, unsigned records)
{
	return records == layout->slots / 4 || records == layout->slots / 8 || records == 0;
}

static __attribute__((noinline)) void
merge_for(struct nb_session *session, struct nb_slice slice)
{
	struct key key = key_of(slice.data, slice.size);

	epoch_enter(session->epoch);
	tree_merge(session, &key);
	epoch_exit(session->epoch);
}

HOT_INLINE int
del_once(struct nb_session *session, struct nb_slice slice)
{
	const struct layout *layout = &session->tree->layout;
	struct key key = key_of(slice.data, slice.size);
	struct locked locked;
	uint64_t *at, blob;
	bool is_time;
	int answer;

	epoch_enter(session->epoch);
	if (!lock_leaf(session, &key, false, &locked))
		return BEGIN_AGAIN;
	if (locked.slot == 0)
		return leave(session, &locked, false, NB_NOT_FOUND);
	at = slot_at(layout, locked.bytes, locked.slot);
	blob = blob_in(layout, at);
	is_time = is_time_to_merge(
		layout, layout->slots - (unsigned)__builtin_popcountll(locked.empty) - 1);
	count_one(&session->counts.deletes);
	commit_word(&session->pm, at, 0);
	racy_store8(&locked.leaf->fp[locked.slot], 0);
	retire_blob(session, blob);
	answer = leave(session, &locked, true, NB_OK);
	if (__builtin_expect(is_time, 0))
		merge_for(session, slice);
	return answer;
}

static __attribute__((noinline)) int
del_again(struct nb_session *session, struct nb_slice slice)
{
	int answer;

	do {
		count_one(&session->counts.restarts);
		answer = del_once(session, slice);
	} while (answer == BEGIN_AGAIN);
	return answer;
}

static int
del(struct nb_session *session, struct nb_slice slice)
{
	int answer = del_once(session, slice);

	return __builtin_expect(answer == BEGIN_AGAIN, 0) ? del_again(session, slice) : answer;
}

const struct tree_verbs VERBS = {
	.get = get,
	.multi_get = multi_get,
	.put = put,
	.insert = insert,
	.add = add,
	.del = del,
};
