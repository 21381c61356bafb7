/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scans, in both directions.
 *
 * A scan copies the entries of a leaf, checks the leaf's version, and returns the entries one
 * by one. It keeps such a copy for each layer that it is in. The next leaf is the next child of
 * the parent if the parent has not changed. Otherwise, or at the end of the parent, the scan
 * descends again from the root. Its position is then the bound of the leaf. So it misses no
 * record and returns none twice. The parent gives the following leaves early, so the scan
 * prefetches them.
 *
 * A scan is in an epoch from mt_scan_open() on, so the records of its copies stay valid. Every
 * EPOCH_LEAVES leaves it begins a new epoch and descends again. So a long scan does not hold
 * back all memory that is replaced meanwhile.
 */
#include "find.h"

enum { EPOCH_LEAVES = 256, PREFETCHED = 3 };

struct scan_frame {
	struct entry entries[LEAF_SLOTS_MAX];
	unsigned count, at; /* remaining entries: forward from `at` on, backward below it */
	size_t prefix;      /* bytes of the key above the layer */
	struct leaf *leaf;
	uint64_t version;
	struct inner *parent; /* NULL: the leaf is the layer's root */
	uint64_t parent_version;
	unsigned index;
	bool has_low, has_high, has_parent_low, has_parent_high;
	uint64_t low, high, parent_low, parent_high; /* bounds of the leaf and of its parent */
};

/* The meaning of the bytes in scan->key, or some first ones of them, for seek(). */
enum from {
	FROM_END,    /* none: start at the first record, or backward at the last one */
	FROM_KEY,    /* start at that key */
	FROM_BEYOND, /* start after that key, in the direction of the scan */
	FROM_SLICE   /* start at the keys whose last slice is that of the last 8 bytes */
};

static bool
reserve_key(struct nb_session *session, size_t size)
{
	struct scan *scan = &session->scan;

	if (size <= scan->key_room)
		return true;
	size_t room = size + size / 2 + 64;
	uint8_t *key = realloc(scan->key, room);
	if (key == NULL)
		return false;
	scan->key = key;
	scan->key_room = room;
	return true;
}

/* Add a frame for one more layer. NULL: out of memory. */
static struct scan_frame *
push(struct scan *scan, size_t prefix)
{
	if (scan->depth == scan->room) {
		size_t room = scan->room == 0 ? 4 : 2 * scan->room;
		struct scan_frame *frames = realloc(scan->frames, room * sizeof(*frames));
		if (frames == NULL)
			return NULL;
		scan->frames = frames;
		scan->room = room;
	}
	scan->frames[scan->depth].prefix = prefix;
	return &scan->frames[scan->depth++];
}

/* --- leaves --- */

static void
prefetch_siblings(const struct nb_db *tree, const struct scan *scan,
	const struct scan_frame *frame, unsigned first)
{
	unsigned count = version_count(frame->parent_version);

	for (unsigned i = first; i <= PREFETCHED && tree->has_prefetch; i++) {
		unsigned index = scan->is_backward ? frame->index - i : frame->index + i;
		if (index > count)
			return;
		prefetch_lines(node_load(&frame->parent->children[index]), LEAF_LINES_MAX);
	}
}

static void
note_leaf(struct seens *seens, struct leaf *leaf, uint64_t version, uint64_t order)
{
	if (seens->count == seens->room) {
		size_t room = seens->room == 0 ? 64 : 2 * seens->room;
		struct seen *at = realloc(seens->at, room * sizeof(*at));
		if (at == NULL) {
			seens->is_short = true;
			return;
		}
		seens->at = at;
		seens->room = room;
	}
	seens->at[seens->count++] = (struct seen){leaf, version, order};
}

/* Copy the entries of the frame's leaf. False: the leaf has changed. */
static bool
copy_leaf(const struct nb_db *tree, const struct scan *scan, struct scan_frame *frame)
{
	struct leaf *leaf = frame->leaf;
	unsigned slots = leaf_slots(frame->version);
	uint64_t order = __atomic_load_n(&leaf->order, __ATOMIC_ACQUIRE);
	uint64_t klens = racy_load64(&leaf->klens), vlens = racy_load64(&leaf->vlens);

	frame->count = order_count(order);
	for (unsigned i = 0; i < frame->count; i++) {
		unsigned slot = order_slot(order, i);
		struct entry *entry = &frame->entries[i];

		entry->slice = racy_load64(leaf_slice(leaf, slot));
		entry->word = __atomic_load_n(leaf_word(leaf, slots, slot), __ATOMIC_ACQUIRE);
		entry->klen = (uint8_t)nibble(klens, slot);
		entry->vlen = (uint8_t)nibble(vlens, slot);
	}
	if (!version_holds(&leaf->version, frame->version))
		return false;
	if (scan->seens != NULL)
		note_leaf(scan->seens, leaf, frame->version, order);
	for (unsigned i = 0; i < frame->count && tree->has_prefetch; i++)
		if (frame->entries[i].vlen == VLEN_RECORD)
			__builtin_prefetch(record_at(frame->entries[i].word));
	frame->at = scan->is_backward ? frame->count : 0;
	return true;
}

/*
 * Descend from the layer's root to the leaf of a slice, and check the holder's version. False:
 * a node has changed.
 */
static bool
go_to_leaf(const struct nb_db *tree, const struct scan *scan, struct scan_frame *frame,
	const uint64_t *root, const uint64_t *holder, uint64_t holder_version, uint64_t slice)
{
	struct node *node = root_load(root);
	uint64_t version = version_read(&node->version);

	if (!version_holds(holder, holder_version))
		return false;
	frame->parent = NULL;
	frame->has_low = frame->has_high = false;
	while (!version_is_leaf(version)) {
		struct inner *inner = (struct inner *)node;
		unsigned count = version_count(version);
		unsigned index = inner_index(inner, count, slice);
		struct node *child = node_load(&inner->children[index]);

		prefetch_node(tree, child);
		frame->has_parent_low = frame->has_low;
		frame->has_parent_high = frame->has_high;
		frame->parent_low = frame->low;
		frame->parent_high = frame->high;
		if (index > 0) {
			frame->has_low = true;
			frame->low = racy_load64(&inner->keys[index - 1]);
		}
		if (index < count) {
			frame->has_high = true;
			frame->high = racy_load64(&inner->keys[index]);
		}
		uint64_t its = version_read(&child->version);
		if (!version_holds(&inner->version, version))
			return false;
		frame->parent = inner;
		frame->parent_version = version;
		frame->index = index;
		node = child;
		version = its;
	}
	frame->leaf = (struct leaf *)node;
	frame->version = version;
	if (frame->parent != NULL)
		prefetch_siblings(tree, scan, frame, 1);
	return copy_leaf(tree, scan, frame);
}

/* Go to the next leaf of the parent. False: the parent ends there, or a node has changed. */
static bool
go_to_sibling(const struct nb_db *tree, const struct scan *scan, struct scan_frame *frame)
{
	struct inner *parent = frame->parent;
	unsigned index = scan->is_backward ? frame->index - 1 : frame->index + 1;

	if (parent == NULL || index > version_count(frame->parent_version))
		return false;
	unsigned count = version_count(frame->parent_version);
	bool has_low = index > 0 || frame->has_parent_low;
	bool has_high = index < count || frame->has_parent_high;
	uint64_t low = index > 0 ? racy_load64(&parent->keys[index - 1]) : frame->parent_low;
	uint64_t high = index < count ? racy_load64(&parent->keys[index]) : frame->parent_high;
	struct node *child = node_load(&parent->children[index]);
	uint64_t version = version_read(&child->version);
	if (!version_holds(&parent->version, frame->parent_version))
		return false;
	frame->leaf = (struct leaf *)child;
	frame->version = version;
	frame->index = index;
	frame->has_low = has_low;
	frame->has_high = has_high;
	frame->low = low;
	frame->high = high;
	prefetch_siblings(tree, scan, frame, PREFETCHED);
	return copy_leaf(tree, scan, frame);
}

/* --- the position of a scan --- */

/* Compare an entry with a key of the layer: < 0, 0 for the same key or its layer, > 0. */
static int
compare(const struct entry *entry, const struct key *key)
{
	unsigned klen = entry->klen < KLEN_LAYER ? entry->klen : KLEN_SUFFIX;

	if (entry->slice != key->slice)
		return entry->slice < key->slice ? -1 : 1;
	if (klen != key->klen)
		return klen < key->klen ? -1 : 1;
	if (entry->klen != KLEN_SUFFIX)
		return 0;
	const struct record *record = record_at(entry->word);
	size_t rest = key->size - SLICE, shorter = record->suffix_size;
	shorter = rest < shorter ? rest : shorter;
	int order = memcmp(record->bytes + record->value_size, key->data + SLICE, shorter);
	return order != 0 ? order : (record->suffix_size > rest) - (record->suffix_size < rest);
}

/* Skip the entries before the key. True: the scan must enter the layer in *layer. */
static bool
skip_to(const struct scan *scan, struct scan_frame *frame, const struct key *key,
	enum from from, struct entry *layer)
{
	bool is_all = from == FROM_SLICE && key->klen == SLICE && key->size == SLICE;
	unsigned at = 0;
	int order = 1;

	if (is_all) {
		/* A shorter key that zeros fill up has the same slice. */
		while (at < frame->count &&
			(frame->entries[at].slice < key->slice ||
				(scan->is_backward && frame->entries[at].slice == key->slice)))
			at++;
		frame->at = at;
		return false;
	}
	while (at < frame->count && (order = compare(&frame->entries[at], key)) < 0)
		at++;
	bool is_same = at < frame->count && order == 0;
	frame->at = at;
	if (is_same && frame->entries[at].klen == KLEN_LAYER) {
		*layer = frame->entries[at];
		frame->at += !scan->is_backward; /* after the layer */
		return true;
	}
	/* Forward, `at` is the next entry; backward, the next entry is the one below `at`. */
	if (is_same && (from == FROM_BEYOND) != scan->is_backward)
		frame->at++;
	return false;
}

/* Descend through all layers to the position. *is_again: a node has changed; retry. */
static int
try_seek(struct nb_session *session, struct nb_slice bound, enum from from, bool *is_again)
{
	const struct nb_db *tree = session->tree;
	struct scan *scan = &session->scan;
	const uint64_t *root = &tree->anchor.root, *holder = &tree->anchor.version;
	uint64_t holder_version = version_read(holder);
	struct entry layer;
	struct key key;

	*is_again = false;
	scan->depth = 0;
	if (from != FROM_END)
		key_start(&key, bound);
	else
		key = (struct key){.slice = scan->is_backward ? UINT64_MAX : 0};
	prefetch_hinted(tree, key.slice);
	for (size_t prefix = 0;; prefix += SLICE) {
		struct scan_frame *frame = push(scan, prefix);

		if (frame == NULL)
			return mt_no_memory(session, "a scan");
		*is_again = !go_to_leaf(
			tree, scan, frame, root, holder, holder_version, key.slice);
		if (*is_again || from == FROM_END || !skip_to(scan, frame, &key, from, &layer))
			return NB_OK;
		/*
		 * The entry's copy of the word, not the slot: the copy was valid when the
		 * version held.
		 */
		holder = &frame->leaf->version;
		holder_version = frame->version;
		root = &layer.word;
		key_shift(&key);
	}
}

static int
seek(struct nb_session *session, size_t size, enum from from)
{
	struct nb_slice bound = {session->scan.key, size};
	bool is_again;
	int rc;

	for (;; count_one(&session->counts.restarts)) {
		rc = try_seek(session, bound, from, &is_again);
		if (rc != NB_OK || !is_again)
			return rc;
	}
}

/* Enter the layer of an entry of the frame, at its first leaf in the direction of the scan. */
static int
enter_layer(struct nb_session *session, struct scan_frame *frame, const struct entry *entry)
{
	struct scan *scan = &session->scan;
	const uint64_t *holder = &frame->leaf->version;
	uint64_t holder_version = frame->version, root = entry->word;
	size_t prefix = frame->prefix + SLICE;

	if (!reserve_key(session, prefix))
		return mt_no_memory(session, "a key");
	slice_to_bytes(scan->key + prefix - SLICE, entry->slice);
	struct scan_frame *layer = push(scan, prefix); /* may move `frame` */
	if (layer == NULL)
		return mt_no_memory(session, "a scan");
	if (go_to_leaf(session->tree, scan, layer, &root, holder, holder_version,
		    scan->is_backward ? UINT64_MAX : 0))
		return NB_OK;
	count_one(&session->counts.restarts);
	/* The key of exactly these bytes comes before the layer; in a backward scan, after it. */
	return seek(session, prefix, scan->is_backward ? FROM_SLICE : FROM_BEYOND);
}

/* The leaf is exhausted: go to the next leaf, or leave the layer. */
static int
next_leaf(struct nb_session *session)
{
	struct scan *scan = &session->scan;
	struct scan_frame *frame = &scan->frames[scan->depth - 1];
	bool has_more = scan->is_backward ? frame->has_low : frame->has_high;

	if (!has_more) {
		scan->depth--;
		return NB_OK;
	}
	/* All keys before `bound`, in the scan's direction, have been returned: continue there. */
	size_t prefix = frame->prefix;
	uint64_t bound = scan->is_backward ? frame->low - 1 : frame->high;
	bool is_due = ++scan->leaves % EPOCH_LEAVES == 0 && scan->seens == NULL;
	if (!is_due && go_to_sibling(session->tree, scan, frame))
		return NB_OK;
	if (is_due) {
		mt_leave(session);
		epoch_enter(session->epoch);
	}
	if (!reserve_key(session, prefix + SLICE))
		return mt_no_memory(session, "a key");
	slice_to_bytes(scan->key + prefix, bound);
	return seek(session, prefix + SLICE, FROM_SLICE);
}

/* --- the verbs --- */

static int
lend_entry(struct nb_session *session, const struct scan_frame *frame,
	const struct entry *entry, struct nb_slice *key, struct nb_slice *value)
{
	struct scan *scan = &session->scan;
	const struct record *record = entry->vlen == VLEN_RECORD ? record_at(entry->word)
								 : NULL;
	bool has_suffix = entry->klen == KLEN_SUFFIX;
	size_t size = frame->prefix + (has_suffix ? SLICE + record->suffix_size : entry->klen);

	if (!reserve_key(session, size + SLICE))
		return mt_no_memory(session, "a key");
	slice_to_bytes(scan->key + frame->prefix, entry->slice);
	if (has_suffix)
		memcpy(scan->key + frame->prefix + SLICE, record->bytes + record->value_size,
			record->suffix_size);
	*key = (struct nb_slice){scan->key, size};
	if (record != NULL && record->value_size != sizeof(scan->word)) {
		*value = (struct nb_slice){record->bytes, record->value_size};
		return NB_OK;
	}
	/* A value of 8 bytes in a record may be changed in place, so lend a copy. */
	scan->word = record == NULL ? entry->word
				    : racy_load64((const uint64_t *)record->bytes);
	*value = (struct nb_slice){
		&scan->word, record == NULL ? entry->vlen : sizeof(scan->word)};
	return NB_OK;
}

static int
scan_begin(struct nb_session *session, struct nb_slice from)
{
	struct scan *scan = &session->scan;

	scan->leaves = 0;
	if (!reserve_key(session, from.size + SLICE))
		return mt_no_memory(session, "a key");
	if (from.size != 0)
		memcpy(scan->key, from.data, from.size);
	return seek(session, from.size, from.size != 0 ? FROM_KEY : FROM_END);
}

int
mt_scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	session->scan.is_backward = (args->flags & NB_SCAN_BACKWARD) != 0;
	session->scan.seens = NULL;
	epoch_enter(session->epoch);
	int rc = scan_begin(session, args->from);
	if (rc != NB_OK)
		mt_leave(session);
	return rc;
}

int
mt_scan_within(struct nb_session *session, struct nb_slice from, struct seens *seens)
{
	session->scan.is_backward = false;
	session->scan.seens = seens;
	return scan_begin(session, from);
}

int
mt_scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct scan *scan = &session->scan;
	int rc = NB_OK;

	while (rc == NB_OK && scan->depth > 0) {
		struct scan_frame *frame = &scan->frames[scan->depth - 1];
		bool is_over = frame->at == (scan->is_backward ? 0 : frame->count);

		if (is_over) {
			rc = next_leaf(session);
			continue;
		}
		const struct entry *entry =
			&frame->entries[scan->is_backward ? --frame->at : frame->at++];
		if (vlen_is_absent(entry->vlen))
			continue;
		if (entry->klen != KLEN_LAYER)
			return lend_entry(session, frame, entry, key, value);
		struct entry layer = *entry;
		rc = enter_layer(session, frame, &layer);
	}
	return rc == NB_OK ? NB_NOT_FOUND : rc;
}

int
mt_scan_close(struct nb_session *session)
{
	mt_leave(session);
	return NB_OK;
}
