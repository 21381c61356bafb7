/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scans, in both directions.
 *
 * A scan copies one leaf at a time, as it was at one moment. It sorts the copy and returns
 * its records. On the way down it has noted the separators around the leaf. It continues with
 * a new descent, to the leaf that contains the keys at the far separator. So it needs no link
 * between leaves, and splits and merges do not disturb it. The separators divide the keys
 * into ranges without gaps. The scan returns each range once, as it was at one moment within
 * the scan. So it returns each record that existed throughout exactly once. A record that was
 * added or removed meanwhile may be returned or not.
 *
 * Blobs are not copied: they stay while the scan is in its epoch. The scan leaves the epoch
 * between two leaves, so it does not hold back more memory than needed.
 */
#include "descend.h"

#include <stdlib.h>

/* The separators around a leaf. */
struct fences {
	struct separator low, high;
	bool has_low, has_high;
};

/* --- the next leaf --- */

/* One attempt to descend to the next leaf of the scan. False: begin again. */
static bool
approach_once(struct nb_session *session, const struct key *key, struct place *place,
	struct fences *fences)
{
	const struct nb_db *tree = session->tree;
	const struct scan *scan = &session->scan;
	uint64_t version;
	struct inner *node = root_of(tree, &version);

	*fences = (struct fences){.has_low = false};
	for (;;) {
		unsigned count = racy_load32(&node->count), i;
		struct tail **tails = inner_tails(node);
		const uint64_t *words = inner_words(&tree->shape, node);
		struct inner *next;
		uint64_t child, next_version;

		if (key != NULL)
			i = child_for(&tree->shape, node, key,
				scan->is_backward && !scan->is_bound_in);
		else
			i = scan->is_backward ? count : 0;
		child = inner_child(&tree->shape, node, i);
		if (i > 0) {
			fences->low = (struct separator){
				racy_load64(&words[i - 1]), inner_tail(tails, i - 1)};
			fences->has_low = true;
		}
		if (i < count) {
			fences->high = (struct separator){
				racy_load64(&words[i]), inner_tail(tails, i)};
			fences->has_high = true;
		}
		if (!version_holds(&node->version, version))
			return false;
		if (node->level == 0) {
			*place = (struct place){node, version, i, child};
			return true;
		}
		next = (struct inner *)(uintptr_t)child;
		next_version = version_read(&next->version);
		if (!version_holds(&node->version, version))
			return false;
		node = next;
		version = next_version;
	}
}

/* Copy the leaf. Returns its used slots; if *is_copied is false, begin again. */
static uint64_t
copy_leaf(struct nb_session *session, const struct place *place, bool *is_copied)
{
	const struct nb_db *tree = session->tree;
	const struct leaf *leaf = leaf_line(tree, place->child);
	uint64_t version = version_read(&leaf->version), used;

	*is_copied = false;
	if (!version_holds(&place->parent->version, place->parent_version))
		return 0;
	used = ~fingerprint_match(leaf, 0) & tree->layout.usable;
	racy_copy(session->scan.bytes, leaf_bytes(tree, place->child), tree->layout.leaf_bytes);
	*is_copied = version_holds(&leaf->version, version);
	return used;
}

static bool
set_bound(struct scan *scan, const uint8_t *data, size_t size, bool is_in)
{
	if (size > scan->bound_room) {
		uint8_t *room = realloc(scan->bound, size);

		if (room == NULL)
			return false;
		scan->bound = room;
		scan->bound_room = size;
	}
	if (size != 0)
		memcpy(scan->bound, data, size);
	scan->bound_size = size;
	scan->has_bound = true;
	scan->is_bound_in = is_in;
	return true;
}

/* Set the bound to the separator as a key: the tail, or the word without its trailing zeros. */
static bool
set_bound_to(struct scan *scan, const struct separator *separator, bool is_in)
{
	uint8_t bytes[8];
	size_t size = sizeof(bytes);

	if (separator->tail != NULL)
		return set_bound(scan, separator->tail->bytes, separator->tail->size, is_in);
	word_to_bytes(bytes, separator->word, sizeof(bytes));
	while (size > 0 && bytes[size - 1] == 0)
		size--;
	return set_bound(scan, bytes, size, is_in);
}

/* Is the record beyond the bound in the scan's direction, or at a bound that is included? */
static bool
is_wanted(const struct scan *scan, const struct key *key, const struct record *record)
{
	int order;

	if (key == NULL)
		return true;
	order = key_compare(
		record->word, record->key, record->key_size, key->word, key->data, key->size);
	if (order == 0)
		return scan->is_bound_in;
	return scan->is_backward ? order < 0 : order > 0;
}

/* Sort the wanted records of the copy in the order of the scan. */
static void
sort_records(struct nb_session *session, const struct key *key, uint64_t used)
{
	const struct nb_db *tree = session->tree;
	struct scan *scan = &session->scan;

	scan->count = scan->at = 0;
	for (; used != 0; used &= used - 1) {
		struct record *record = &scan->records[scan->count];
		unsigned j = scan->count;

		if (!record_read(record, &tree->layout, tree->base, scan->bytes,
			    (unsigned)__builtin_ctzll(used),
			    scan->linear + (size_t)scan->count * tree->layout.inline_room) ||
			!is_wanted(scan, key, record))
			continue;
		for (; j > 0; j--) {
			int order = record_compare(&scan->records[scan->order[j - 1]], record);

			if (scan->is_backward ? order > 0 : order < 0)
				break;
			scan->order[j] = scan->order[j - 1];
		}
		scan->order[j] = (uint16_t)scan->count++;
	}
}

/* Load the next leaf, inside an epoch that begins here. NB_OK or NB_FAIL. */
static int
load_leaf(struct nb_session *session)
{
	struct scan *scan = &session->scan;
	struct key bound = {0};
	const struct key *key = NULL;
	struct place place;
	struct fences fences;
	uint64_t used = 0;
	bool is_copied = false;
	const struct separator *far;

	epoch_exit(session->epoch);
	if (epoch_is_due(session->epoch))
		epoch_reclaim(session->epoch);
	epoch_enter(session->epoch);
	if (scan->has_bound) {
		bound = key_of(scan->bound, scan->bound_size);
		key = &bound;
	}
	while (!is_copied) {
		if (approach_once(session, key, &place, &fences))
			used = copy_leaf(session, &place, &is_copied);
		if (!is_copied)
			count_one(&session->counts.restarts);
	}
	sort_records(session, key, used);
	scan->is_last = scan->is_backward ? !fences.has_low : !fences.has_high;
	if (scan->is_last)
		return NB_OK;
	far = scan->is_backward ? &fences.low : &fences.high;
	if (!set_bound_to(scan, far, !scan->is_backward))
		return tree_no_memory(session->tree, "the bound of a scan");
	return NB_OK;
}

/* --- the verbs --- */

int
tree_scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct scan *scan = &session->scan;

	scan->is_backward = (args->flags & NB_SCAN_BACKWARD) != 0;
	scan->is_last = false;
	scan->has_bound = false;
	scan->is_bound_in = true;
	scan->count = scan->at = 0;
	if (args->from.size != 0 && !set_bound(scan, args->from.data, args->from.size, true))
		return tree_no_memory(session->tree, "the bound of a scan");
	scan->is_open = true;
	return NB_OK;
}

int
tree_scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct scan *scan = &session->scan;
	const struct record *record;

	while (scan->at == scan->count) {
		int answer;

		if (scan->is_last)
			return NB_NOT_FOUND;
		answer = load_leaf(session);
		if (answer != NB_OK)
			return answer;
	}
	record = &scan->records[scan->order[scan->at++]];
	*key = (struct nb_slice){record->key, record->key_size};
	*value = (struct nb_slice){record->value, record->value_size};
	return NB_OK;
}

int
tree_scan_close(struct nb_session *session)
{
	epoch_exit(session->epoch);
	session->scan.is_open = false;
	return NB_OK;
}
