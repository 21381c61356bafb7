/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hot verbs. Compiled several times: find.h.
 *
 * A get takes no lock and writes to nothing but its own session. It goes down hand over hand:
 * the version of a child is read before that of its parent is looked at again, so the
 * child was the right one when its version was taken. A key that was found is returned if the
 * leaf's version is still the same. A split always changes it, so does a delete, whose slot may
 * be used again at once (section 4.6.5). An insert does not: the order of the leaf is read
 * once, and what was not in it then is not there.
 *
 * Writes go down like a get, then lock the leaf and search it again. The memory for a new value
 * is allocated before readers are made to wait, and the log is told before anything is seen.
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

/* --- the way down --- */

/* One level: the child of the slice, and its version in *version. NULL: begin again. */
static inline struct node *
go_down(const struct mt_tree *tree, struct node *node, uint64_t *version, uint64_t slice)
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

/* What a leaf has of a key. */
struct found {
	uint64_t word;
	unsigned klen, vlen; /* klen 0: nothing */
};

/* Look into the leaf. False: it has changed, begin again. */
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

/* Down all layers to the value of the key: whether it is there. In an epoch. */
static inline bool
find_value(struct mt_session *session, struct nb_slice whole, struct found *found)
{
	struct mt_tree *tree = session->tree;
	const uint64_t *holder;
	uint64_t holder_version, version;
	struct node *node;
	struct key key;

	for (;; count_one(&session->counts.restarts)) {
		key_start(&key, whole);
		holder = &tree->anchor.version;
		holder_version = version_read(holder);
		node = root_load(&tree->anchor.root);
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

/* Lend what was found: a copy in *word of what may be written in place. True: it is a copy. */
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
get(struct mt_session *session, struct nb_slice key, struct nb_slice *value)
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

/* One on its way: `node` was prefetched, and was found in `holder`. */
struct lookup {
	struct key key;
	const uint64_t *holder;
	uint64_t holder_version;
	struct node *node;
	struct found found;
	uint32_t at;   /* of the caller's arrays */
	bool is_found; /* only the record is still to come */
};

static inline void
lookup_start(struct mt_tree *tree, struct lookup *lookup, struct nb_slice key)
{
	key_start(&lookup->key, key);
	lookup->holder = &tree->anchor.version;
	lookup->holder_version = version_read(lookup->holder);
	lookup->node = root_load(&tree->anchor.root);
	lookup->is_found = false;
}

/*
 * One node, for which the others have given time to arrive. False: it has to begin again.
 * *is_done: `found` says what there is.
 */
static inline bool
lookup_step(const struct mt_tree *tree, struct lookup *lookup, bool *is_done)
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

/* Go on by a node, or to the record. True: it is over, and `found` says how. */
static inline bool
lookup_go(struct mt_session *session, struct lookup *lookup, struct nb_slice key)
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

static bool
reserve_words(struct mt_session *session, size_t count)
{
	if (count <= session->words_room)
		return true;
	uint64_t *words = realloc(session->words, count * sizeof(*words));
	if (words == NULL)
		return false;
	session->words = words;
	session->words_room = count;
	return true;
}

/* Some LOOKUPS are always under way: a new one begins where one is over. */
static int
multi_get(struct mt_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	struct lookup lookups[LOOKUPS];
	unsigned under_way = 0;
	uint32_t next = 0;

	if (!reserve_words(session, count))
		return mt_no_memory(session, "the values");
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
			lend(&lookup->found, &session->words[at], &values[at]);
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
 * The path is that of the write before, and its leaf is the one for the key, too. A leaf that
 * keeps its version keeps its slices: it may take over those of a neighbour that goes, and gives
 * some away only with a new version.
 */
static inline bool
path_goes_on(const struct mt_session *session, struct path *path)
{
	uint64_t slice = slice_of_bytes(path->whole.data, path->whole.size);

	if (slice < path->low || slice > path->high ||
		!epoch_goes_on(session->epoch, session->path_epoch) ||
		version_read(&path->leaf->version) != path->version)
		return false;
	key_start(&path->key, path->whole);
	return true;
}

/* As find_value(), noting the way. The key's last leaf is in the path, not locked. */
static inline void
descend(struct mt_session *session, struct path *path)
{
	bool goes_on = path_goes_on(session, path);
	struct layer_slot layer;

	session->path_epoch = 0;
	if (!goes_on)
		path_start(session->tree, path);
	for (;;) {
		bool is_down = goes_on || path_down(session->tree, path);

		goes_on = false;
		layer.slot = -1;
		if (is_down && path->key.klen == KLEN_SUFFIX)
			is_down = path_look(path, &layer);
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

/* To the key's leaf, which is then locked; the slot that has its slice and length, or -1. */
static inline int
descend_and_lock(struct mt_session *session, struct path *path, struct nb_slice key)
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
	return leaf_find(path->leaf, leaf_slots(path->version), path->leaf->order,
		path->key.slice, path->key.klen);
}

static inline int
unlock(struct path *path, int rc)
{
	version_unlock(&path->leaf->version, path->version);
	return rc;
}

/* The slot has a suffix that is not the key's: it is another key. */
static inline bool
is_other(struct path *path, int slot)
{
	if (path->key.klen != KLEN_SUFFIX)
		return false;
	uint64_t word = *leaf_word(path->leaf, leaf_slots(path->version), (unsigned)slot);
	return !key_has_suffix(&path->key, record_at(word));
}

/* Where the slot has a value of 8 bytes that may be changed in place; or NULL. */
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

/* One store, which every reader sees whole. Unlocks. */
static inline int
replace_word(struct mt_session *session, struct path *path, uint64_t *at, uint64_t word)
{
	int rc = mt_record(
		session, MT_PUT, path->whole, (struct nb_slice){&word, sizeof(word)});

	if (rc != NB_OK)
		return unlock(path, rc);
	racy_store64(at, word);
	count_one(&session->counts.updates);
	return unlock(path, NB_OK);
}

/* A value in place of another. The word and its length must change together: readers wait. */
static int
replace(struct mt_session *session, struct path *path, unsigned slot, struct nb_slice value)
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
update(struct mt_session *session, struct path *path, unsigned slot, struct nb_slice value)
{
	uint64_t word, *at;

	if (value.size == sizeof(word) && (at = word_in_place(path, slot)) != NULL) {
		memcpy(&word, value.data, sizeof(word));
		return replace_word(session, path, at, word);
	}
	return replace(session, path, slot, value);
}

/* A key that is not there. NB_CONFLICT: begin again. Unlocks. */
static int
add_key(struct mt_session *session, struct path *path, struct nb_slice value)
{
	struct leaf *leaf = path->leaf;
	struct entry entry;
	int rc;

	if (!mt_entry_make(session, &path->key, value, &entry))
		return unlock(path, mt_no_memory(session, "a record"));
	unsigned rank = leaf_rank(leaf, leaf->order, entry.slice, entry.klen);
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

/* The leaf has the key, in that slot. */
static inline int
store_again(struct mt_session *session, struct path *path, unsigned slot, struct nb_slice value,
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
		return mt_host(session)->fail(
			NB_FAIL, "merge: the value does not have 8 bytes; an addition needs 8");
	}
	memcpy(&operand, value.data, sizeof(operand));
	return replace_word(session, path, at, *at + operand);
}

/* In an epoch. */
static inline int
store_within(
	struct mt_session *session, struct nb_slice key, struct nb_slice value, enum how how)
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
		session->path_epoch = 0; /* the way to the leaf has changed, or is locked */
		back_off(&spins);
	}
}

static inline int
store(struct mt_session *session, struct nb_slice key, struct nb_slice value, enum how how)
{
	epoch_enter(session->epoch);
	int rc = store_within(session, key, value, how);
	mt_leave(session);
	return rc;
}

static int
put(struct mt_session *session, struct nb_slice key, struct nb_slice value)
{
	return store(session, key, value, HOW_PUT);
}

static int
insert(struct mt_session *session, struct nb_slice key, struct nb_slice value)
{
	return store(session, key, value, HOW_INSERT);
}

static int
add(struct mt_session *session, struct nb_slice key, uint64_t operand)
{
	return store(session, key, (struct nb_slice){&operand, sizeof(operand)}, HOW_ADD);
}

/* Unlocks, and unlinks the leaf if it is empty then. */
static void
remove_slot(struct mt_session *session, struct path *path, unsigned slot)
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

/* Remove the key if it has a value, or only if it has none. In an epoch. */
static int
remove_key(struct mt_session *session, struct nb_slice key, bool is_absent)
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
del(struct mt_session *session, struct nb_slice key)
{
	epoch_enter(session->epoch);
	int rc = remove_key(session, key, false);
	mt_leave(session);
	return rc;
}

/* --- for lists --- */

static int
reserve(struct mt_session *session, struct nb_slice key)
{
	return store_within(session, key, mt_absent, HOW_RESERVE);
}

static void
sweep(struct mt_session *session, struct nb_slice key)
{
	int ignored = remove_key(session, key, true); /* another session may have used it */
	(void)ignored;
}

static void
locate(struct mt_session *session, struct nb_slice key, struct place *place)
{
	struct path *path = &session->path;

	path->whole = key;
	descend(session, path);
	session->path_epoch = path->upper == NULL ? session->epoch->active : 0;
	*place = (struct place){path->key, path->leaf, path->version};
}

const struct mt_verbs VERBS = {.get = get,
	.multi_get = multi_get,
	.put = put,
	.insert = insert,
	.add = add,
	.del = del,
	.locate = locate,
	.reserve = reserve,
	.sweep = sweep};
