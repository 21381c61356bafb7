/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hot verbs. Compiled several times: find.h.
 *
 * A get takes no lock and writes only to its own session. It descends hand over hand: it reads
 * the version of a child, then checks the version of the parent again. So the child was the
 * right one when its version was read. The get returns a found key if the leaf's version is
 * still the same. A split always changes the version. So does a delete, because its slot may be
 * reused at once (section 4.6.5). An insert does not: the get reads the order of the leaf once,
 * and a key that was not in it did not exist then.
 *
 * A write descends like a get, then locks the leaf and searches it again. It allocates memory
 * for a new value before readers must wait, and records the change before any reader can see
 * it.
 */
#include "find.h"

#ifdef MASSTREE_BUILD_AVX512
#define VERBS mt_verbs_avx512
#elif defined(MASSTREE_BUILD_AVX2)
#define VERBS mt_verbs_avx2
#elif defined(MASSTREE_BYTES)
#define VERBS mt_verbs_bytes
#else
#define VERBS mt_verbs_plain
#endif

/* --- descent --- */

/* Descend one level, to the child of the slice; *version becomes its version. NULL: restart. */
static inline struct node *
go_down(const struct nb_db *tree, struct node *node, uint64_t *version, uint64_t slice)
{
	struct inner *inner = (struct inner *)node;
	unsigned index = inner_index(inner, version_count(*version), slice);
	struct node *child = node_load(&inner->children[index]);

	prefetch_node(tree, child);
	uint64_t its = version_read(&child->version);
	if (!version_holds(&inner->version, *version))
		return NULL;
	*version = its;
	return child;
}

/* The entry of a key in a leaf. */
struct found {
	uint64_t word;
	unsigned klen, vlen; /* klen 0: not found */
};

/* Search the leaf. False: it has changed; restart. */
static inline bool
look(struct leaf *leaf, uint64_t version, const struct key *key, struct found *found)
{
	unsigned slots = leaf_slots(version);
	uint64_t order = __atomic_load_n(&leaf->order, __ATOMIC_ACQUIRE);
	int slot = leaf_find(leaf, slots, order, key->slice, key->klen);

	found->klen = 0;
	if (slot >= 0) {
		found->klen = nibble(racy_load64(&leaf->klens), (unsigned)slot);
		found->vlen = nibble(racy_load64(&leaf->vlens), (unsigned)slot);
		found->word = __atomic_load_n(
			leaf_word(leaf, slots, (unsigned)slot), __ATOMIC_ACQUIRE);
		found->klen = vlen_is_absent(found->vlen) ? 0 : found->klen;
	}
	return version_holds(&leaf->version, version);
}

/* Descend through all layers to the key's value. Returns whether it exists. Called in an epoch. */
static inline bool
find_value(struct nb_session *session, struct nb_slice whole, struct found *found)
{
	struct nb_db *tree = session->tree;
	const uint64_t *holder;
	uint64_t holder_version, version;
	struct node *node;
	struct key key;

	for (;; count_one(&session->counts.restarts)) {
		key_start(&key, whole);
		holder = &tree->anchor.version;
		holder_version = version_read(holder);
		node = root_load(&tree->anchor.root);
		prefetch_hinted(tree, key.slice);
	next_layer:
		version = version_read(&node->version);
		if (!version_holds(holder, holder_version))
			continue;
		while (node != NULL && !version_is_leaf(version))
			node = go_down(tree, node, &version, key.slice);
		if (node == NULL || !look((struct leaf *)node, version, &key, found))
			continue;
		if (found->klen != KLEN_LAYER)
			break;
		holder = &node->version;
		holder_version = version;
		node = (struct node *)(uintptr_t)found->word;
		prefetch_node(tree, node);
		key_shift(&key);
		goto next_layer;
	}
	return found->klen != 0 &&
		(found->klen != KLEN_SUFFIX || key_has_suffix(&key, record_at(found->word)));
}

/* Lend the value. If it may be changed in place, lend a copy in *word. True: it is a copy. */
static inline bool
lend(const struct found *found, uint64_t *word, struct nb_slice *value)
{
	if (found->vlen != VLEN_RECORD) {
		*word = found->word;
		*value = (struct nb_slice){word, found->vlen};
		return true;
	}
	const struct record *record = record_at(found->word);
	if (record->value_size == sizeof(*word)) {
		*word = racy_load64((const uint64_t *)record->bytes);
		*value = (struct nb_slice){word, sizeof(*word)};
		return true;
	}
	*value = (struct nb_slice){record->bytes, record->value_size};
	return false;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct found found = {0};

	epoch_enter(session->epoch);
	bool is_there = find_value(session, key, &found);
	if (!is_there || lend(&found, &session->word, value))
		epoch_exit(session->epoch);
	return is_there ? NB_OK : NB_NOT_FOUND;
}

/* --- several gets at once --- */

enum { LOOKUPS = 16 };

/* A lookup in progress. `node` was prefetched; it was read from `holder`. */
struct lookup {
	struct key key;
	const uint64_t *holder;
	uint64_t holder_version;
	struct node *node;
	struct found found;
	uint32_t at;   /* index in the caller's arrays */
	bool is_found; /* only the record remains to be read */
};

static inline void
lookup_start(struct nb_db *tree, struct lookup *lookup, struct nb_slice key)
{
	key_start(&lookup->key, key);
	lookup->holder = &tree->anchor.version;
	lookup->holder_version = version_read(lookup->holder);
	lookup->node = root_load(&tree->anchor.root);
	lookup->is_found = false;
}

/*
 * Search one node. The other lookups have given its prefetch time to finish. False: restart.
 * *is_done: the result is in `found`.
 */
static inline bool
lookup_step(const struct nb_db *tree, struct lookup *lookup, bool *is_done)
{
	struct node *node = lookup->node;
	uint64_t version = version_read(&node->version);

	if (!version_holds(lookup->holder, lookup->holder_version))
		return false;
	if (!version_is_leaf(version)) {
		struct inner *inner = (struct inner *)node;
		unsigned index = inner_index(inner, version_count(version), lookup->key.slice);
		lookup->node = node_load(&inner->children[index]);
	} else if (!look((struct leaf *)node, version, &lookup->key, &lookup->found)) {
		return false;
	} else if (lookup->found.klen == KLEN_LAYER) {
		lookup->node = (struct node *)(uintptr_t)lookup->found.word;
		key_shift(&lookup->key);
	} else {
		*is_done = true;
		return true;
	}
	lookup->holder = &node->version;
	lookup->holder_version = version;
	prefetch_node(tree, lookup->node);
	return true;
}

/* Process one node or the record. True: the lookup has ended, and `found` has the result. */
static inline bool
lookup_go(struct nb_session *session, struct lookup *lookup, struct nb_slice key)
{
	bool is_done = false;

	if (lookup->is_found) {
		if (lookup->found.klen == KLEN_SUFFIX &&
			!key_has_suffix(&lookup->key, record_at(lookup->found.word)))
			lookup->found.klen = 0;
		return true;
	}
	if (!lookup_step(session->tree, lookup, &is_done)) {
		count_one(&session->counts.restarts);
		lookup_start(session->tree, lookup, key);
		return false;
	}
	if (!is_done || lookup->found.klen == 0 || lookup->found.vlen != VLEN_RECORD)
		return is_done;
	if (session->tree->has_prefetch)
		prefetch_lines(record_at(lookup->found.word), 2);
	lookup->is_found = true;
	return false;
}

/* Up to LOOKUPS lookups are in progress at once. When one ends, the next begins. */
static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	struct lookup lookups[LOOKUPS];
	unsigned under_way = 0;
	uint32_t next = 0;

	if (!buffer_reserve(&session->words, count * sizeof(uint64_t)))
		return mt_no_memory(session, "the values");
	uint64_t *words = (uint64_t *)(void *)session->words.data;
	epoch_enter(session->epoch);
	for (; next < count && under_way < LOOKUPS; next++) {
		lookups[under_way].at = next;
		lookup_start(session->tree, &lookups[under_way++], keys[next]);
	}
	for (unsigned i = 0; under_way > 0; i = i + 1 < under_way ? i + 1 : 0) {
		struct lookup *lookup = &lookups[i];
		uint32_t at = lookup->at;

		if (!lookup_go(session, lookup, keys[at]))
			continue;
		answers[at] = lookup->found.klen != 0 ? NB_OK : NB_NOT_FOUND;
		if (answers[at] == NB_OK)
			lend(&lookup->found, &words[at], &values[at]);
		if (next < count) {
			lookup->at = next;
			lookup_start(session->tree, lookup, keys[next++]);
		} else {
			*lookup = lookups[--under_way];
		}
	}
	return NB_OK;
}

/* --- writes --- */

/*
 * Whether the key belongs to the leaf of the previous write, so the path is still valid. A leaf
 * with the same version still has its slices. It may take over those of a removed neighbour,
 * but it loses slices only with a new version.
 */
static inline bool
path_goes_on(const struct nb_session *session, struct path *path)
{
	uint64_t slice = slice_of_bytes(path->whole.data, path->whole.size);

	if (slice < path->low || slice > path->high ||
		!epoch_goes_on(session->epoch, session->path_epoch) ||
		version_read(&path->leaf->version) != path->version)
		return false;
	key_start(&path->key, path->whole);
	return true;
}

/*
 * Descend like find_value(), and note the path. The path ends at the key's last leaf, not
 * locked.
 */
static inline void
descend(struct nb_session *session, struct path *path)
{
	bool goes_on = path_goes_on(session, path);
	const void *hinted = NULL;
	struct layer_slot layer;

	session->path_epoch = 0;
	if (!goes_on) {
		path_start(session->tree, path);
		hinted = prefetch_hinted(session->tree, path->key.slice);
	}
	for (;;) {
		bool is_down = goes_on || path_down(session->tree, path);

		goes_on = false;
		layer.slot = -1;
		if (is_down && path->key.klen == KLEN_SUFFIX)
			is_down = path_look(path, &layer);
		if (is_down && hinted != NULL) {
			count_one(hinted == path->leaf ? &session->counts.hint_hits
						       : &session->counts.hint_misses);
			hinted = NULL;
		}
		if (is_down && layer.slot < 0)
			return;
		if (is_down) {
			path_shift(path, &layer);
			continue;
		}
		count_one(&session->counts.restarts);
		path_start(session->tree, path);
	}
}

/*
 * Descend to the key's leaf and lock it. Returns the slot with the key's slice and length, or
 * -1.
 */
static inline int
descend_and_lock(struct nb_session *session, struct path *path, struct nb_slice key)
{
	path->whole = key;
	for (;;) {
		descend(session, path);
		session->path_epoch = path->upper == NULL ? session->epoch->active : 0;
		if (version_lock(&path->leaf->version, path->version))
			break;
		session->path_epoch = 0;
		count_one(&session->counts.restarts);
	}
	if (leaf_ends_before(path->leaf, path->key.slice))
		return -1;
	return leaf_find(path->leaf, leaf_slots(path->version), path->leaf->order,
		path->key.slice, path->key.klen);
}

/* Whether the slot has another key: the same slice, but another suffix. */
static inline bool
is_other(struct path *path, int slot)
{
	if (path->key.klen != KLEN_SUFFIX)
		return false;
	uint64_t word = *leaf_word(path->leaf, leaf_slots(path->version), (unsigned)slot);
	return !key_has_suffix(&path->key, record_at(word));
}

/* Location of the slot's value if it has 8 bytes and may be changed in place; else NULL. */
static inline uint64_t *
word_in_place(struct path *path, unsigned slot)
{
	uint64_t *word = leaf_word(path->leaf, leaf_slots(path->version), slot);
	unsigned vlen = nibble(path->leaf->vlens, slot);

	if (vlen == sizeof(*word))
		return word;
	if (vlen != VLEN_RECORD)
		return NULL;
	struct record *record = record_at(*word);
	return record->value_size == sizeof(*word) ? (uint64_t *)record->bytes : NULL;
}

/* Replace the value by one store, which is atomic for readers. Unlocks the leaf. */
static inline int
replace_word(struct nb_session *session, struct path *path, uint64_t *at, uint64_t word)
{
	int rc = mt_record(
		session, MT_PUT, path->whole, (struct nb_slice){&word, sizeof(word)});

	if (rc != NB_OK)
		return unlock(path, rc);
	racy_store64(at, word);
	count_one(&session->counts.updates);
	return unlock(path, NB_OK);
}

/* Replace the entry's value. If word and length must change together, readers wait. Unlocks. */
static int
replace(struct nb_session *session, struct path *path, unsigned slot, struct nb_slice value)
{
	struct leaf *leaf = path->leaf;
	uint64_t *word = leaf_word(leaf, leaf_slots(path->version), slot), old = *word;
	unsigned vlen = nibble(leaf->vlens, slot);
	struct entry entry;

	if (!mt_entry_make(session, &path->key, value, &entry))
		return unlock(path, mt_no_memory(session, "a value"));
	int rc = mt_record(session, MT_PUT, path->whole, value);
	if (rc != NB_OK) {
		mt_entry_drop(session, &entry);
		return unlock(path, rc);
	}
	count_one(&session->counts.updates);
	if (entry.vlen == vlen) {
		__atomic_store_n(word, entry.word, __ATOMIC_RELEASE);
		unlock(path, NB_OK);
	} else {
		version_begin_change(&leaf->version, path->version);
		racy_store64(word, entry.word);
		racy_store64(&leaf->vlens, nibble_set(leaf->vlens, slot, entry.vlen));
		version_unlock_changed(&leaf->version, path->version);
	}
	if (vlen_has_record(vlen))
		retire_record(session, record_at(old));
	return NB_OK;
}

static int
update(struct nb_session *session, struct path *path, unsigned slot, struct nb_slice value)
{
	uint64_t word, *at;

	if (value.size == sizeof(word) && (at = word_in_place(path, slot)) != NULL) {
		memcpy(&word, value.data, sizeof(word));
		return replace_word(session, path, at, word);
	}
	return replace(session, path, slot, value);
}

/* Add a missing key. NB_CONFLICT: restart. Unlocks the leaf. */
static int
add_key(struct nb_session *session, struct path *path, struct nb_slice value)
{
	struct leaf *leaf = path->leaf;
	struct entry entry;
	int rc;

	if (!mt_entry_make(session, &path->key, value, &entry))
		return unlock(path, mt_no_memory(session, "a record"));
	unsigned rank = leaf_rank(leaf, leaf_slots(path->version), entry.slice, entry.klen);
	if (order_count(leaf->order) == leaf_slots(path->version)) {
		rc = mt_make_room(session, path, &entry, rank, value);
	} else {
		rc = mt_record(session, MT_PUT, path->whole, value);
		if (rc == NB_OK)
			mt_leaf_insert(session, leaf, path->version, &entry, rank);
		else
			unlock(path, rc);
	}
	if (rc == NB_OK)
		count_one(&session->counts.inserts);
	else
		mt_entry_drop(session, &entry);
	return rc;
}

enum how { HOW_PUT, HOW_INSERT, HOW_ADD, HOW_RESERVE };

/* Store to a key that has an entry, in that slot. Unlocks the leaf. */
static inline int
store_again(struct nb_session *session, struct path *path, unsigned slot, struct nb_slice value,
	enum how how)
{
	if (how == HOW_RESERVE)
		return unlock(path, NB_OK);
	if (vlen_is_absent(nibble(path->leaf->vlens, slot)))
		return replace(session, path, slot, value);
	if (how == HOW_INSERT)
		return unlock(path, NB_EXISTS);
	if (how == HOW_PUT)
		return update(session, path, slot, value);
	uint64_t operand, *at = word_in_place(path, slot);
	if (at == NULL) {
		unlock(path, NB_FAIL);
		return session->tree->host->fail(
			NB_FAIL, "merge: the value does not have 8 bytes; an addition needs 8");
	}
	memcpy(&operand, value.data, sizeof(operand));
	return replace_word(session, path, at, *at + operand);
}

/* The caller is in an epoch. */
static inline int
store_within(
	struct nb_session *session, struct nb_slice key, struct nb_slice value, enum how how)
{
	struct path *path = &session->path;
	unsigned spins = 0;
	int rc;

	for (;;) {
		int slot = descend_and_lock(session, path, key);

		if (slot < 0)
			rc = add_key(session, path, value);
		else if (is_other(path, slot))
			rc = mt_make_layer(session, path, (unsigned)slot, value);
		else
			rc = store_again(session, path, (unsigned)slot, value, how);
		if (rc != NB_CONFLICT)
			return rc;
		session->path_epoch = 0; /* the path has changed, or is locked */
		back_off(&spins);
	}
}

static inline int
store(struct nb_session *session, struct nb_slice key, struct nb_slice value, enum how how)
{
	epoch_enter(session->epoch);
	int rc = store_within(session, key, value, how);
	mt_leave(session);
	return rc;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return store(session, key, value, HOW_PUT);
}

static int
insert(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return store(session, key, value, HOW_INSERT);
}

static int
add(struct nb_session *session, struct nb_slice key, uint64_t operand)
{
	return store(session, key, (struct nb_slice){&operand, sizeof(operand)}, HOW_ADD);
}

/* Remove the entry and unlock the leaf. Unlink the leaf if it is then empty. */
static void
remove_slot(struct nb_session *session, struct path *path, unsigned slot)
{
	unsigned vlen = nibble(path->leaf->vlens, slot);
	uint64_t word = *leaf_word(path->leaf, leaf_slots(path->version), slot);
	struct nb_slice key = path->whole;
	bool is_emptied = order_count(path->leaf->order) == 1 &&
		(path->depth > 0 || path->upper != NULL);

	mt_leaf_remove(session, path->leaf, path->version, slot);
	count_one(&session->counts.deletes);
	if (vlen_has_record(vlen))
		retire_record(session, record_at(word));
	if (is_emptied)
		mt_prune(session, key, (size_t)(path->key.data - (const uint8_t *)key.data));
}

/* Remove the key: with is_absent only a placeholder, else only a key with a value. In an epoch. */
static int
remove_key(struct nb_session *session, struct nb_slice key, bool is_absent)
{
	struct path *path = &session->path;
	int slot = descend_and_lock(session, path, key);

	if (slot < 0 || is_other(path, slot) ||
		vlen_is_absent(nibble(path->leaf->vlens, (unsigned)slot)) != is_absent)
		return unlock(path, NB_NOT_FOUND);
	int rc = is_absent ? NB_OK
			   : mt_record(session, MT_DEL, key, (struct nb_slice){NULL, 0});
	if (rc != NB_OK)
		return unlock(path, rc);
	remove_slot(session, path, (unsigned)slot);
	return NB_OK;
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	epoch_enter(session->epoch);
	int rc = remove_key(session, key, false);
	mt_leave(session);
	return rc;
}

/* --- for lists --- */

static int
reserve(struct nb_session *session, struct nb_slice key)
{
	return store_within(session, key, mt_absent, HOW_RESERVE);
}

static void
sweep(struct nb_session *session, struct nb_slice key)
{
	int ignored = remove_key(session, key, true); /* another session may have filled it */
	(void)ignored;
}

static void
locate(struct nb_session *session, struct nb_slice key, struct place *place)
{
	struct path *path = &session->path;

	path->whole = key;
	descend(session, path);
	session->path_epoch = path->upper == NULL ? session->epoch->active : 0;
	*place = (struct place){path->key, path->leaf, path->version};
}

const struct mt_verbs VERBS = {get, multi_get, put, insert, add, del, locate, reserve, sweep};
