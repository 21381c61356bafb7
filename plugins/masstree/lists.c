/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of steps as one operation: execute, and atomic batches.
 *
 * A list locates the leaves of all keys and locks them. Then it looks up each key again and
 * performs the steps on the locked leaves. The changes stay in the list. At the end the list
 * marks all changed leaves dirty, so that readers wait, then changes them, then unlocks them.
 * It takes effect between the last mark and the first unlock. Keys that are only read are
 * locked as well. So lists, gets and writes of single keys happen as if one came after the
 * other.
 *
 * The list locks the leaves in the order of their addresses. The order of the keys does not
 * work: a leaf may hold keys on both sides of a layer, and the leaves of that layer would be
 * locked between them.
 *
 * While the locks are held, these leaves cannot split or be removed. So a key that a list may
 * add gets a placeholder first: an entry without a value (VLEN_ABSENT), which every verb treats
 * as missing. A delete leaves such an entry, too. After the unlock, the list removes the
 * placeholders that still have no value. Placeholders are not in the log, where a list is one
 * record.
 *
 * Whether a prefix is empty can depend on several leaves. A scan notes the leaves that it
 * reads. Once the changed leaves are dirty, the noted leaves must be unchanged. Otherwise the
 * list restarts (S. Tu et al., "Speedy Transactions in Multicore In-Memory Databases", SOSP
 * 2013). An insert changes no version, so the order of a leaf is compared, too.
 */
#include "lists.h"

#include <assert.h>

#include "../common/execute.h"

void
mt_list_free(struct list *list)
{
	free(list->items);
	free(list->holds);
	free(list->writes);
	free(list->steps);
	free(list->keys);
	free(list->values);
	free(list->answers);
	free(list->seens.at);
	free(list->kept.data);
}

static bool
grow_array(void **array, size_t room, size_t size)
{
	void *grown = realloc(*array, room * size);

	if (grown != NULL)
		*array = grown;
	return grown != NULL;
}

static bool
reserve_items(struct list *list, size_t count)
{
	if (count <= list->room)
		return true;
	size_t room = count + count / 2;
	if (!grow_array((void **)&list->items, room, sizeof(*list->items)) ||
		!grow_array((void **)&list->holds, room, sizeof(*list->holds)) ||
		!grow_array((void **)&list->writes, room, sizeof(*list->writes)) ||
		!grow_array((void **)&list->steps, room, sizeof(*list->steps)) ||
		!grow_array((void **)&list->keys, room, sizeof(*list->keys)) ||
		!grow_array((void **)&list->values, room, sizeof(*list->values)) ||
		!grow_array((void **)&list->answers, room, sizeof(*list->answers)))
		return false;
	list->room = room;
	return true;
}

/* --- locating the keys --- */

/* Whether the leaf has an entry for the key. Also false if the leaf has changed. */
static bool
has_entry(const struct place *place)
{
	struct leaf *leaf = place->leaf;
	unsigned slots = leaf_slots(place->version);
	uint64_t order = __atomic_load_n(&leaf->order, __ATOMIC_ACQUIRE);
	int slot = leaf_find(leaf, slots, order, place->key.slice, place->key.klen);

	if (slot < 0)
		return false;
	uint64_t word = __atomic_load_n(
		leaf_word(leaf, slots, (unsigned)slot), __ATOMIC_ACQUIRE);
	return version_holds(&leaf->version, place->version) &&
		(place->key.klen != KLEN_SUFFIX ||
			key_has_suffix(&place->key, record_at(word)));
}

static int
locate(struct nb_session *session, struct item *item)
{
	const struct mt_verbs *verbs = session->tree->verbs;

	for (;;) {
		verbs->locate(session, item->name, &item->place);
		if (!item->creates || has_entry(&item->place))
			return NB_OK;
		item->may_be_place = true;
		int rc = verbs->reserve(session, item->name);
		if (rc != NB_OK)
			return rc;
	}
}

/* Locate each key that is not located, or whose leaf has changed. */
static int
locate_all(struct nb_session *session, struct list *list)
{
	int rc = NB_OK;

	for (size_t i = 0; rc == NB_OK && i < list->count; i++) {
		struct item *item = &list->items[i];
		const struct place *place = &item->place;

		item->change = CHANGE_NONE;
		if (item->name.data != NULL &&
			(place->leaf == NULL ||
				version_read(&place->leaf->version) != place->version))
			rc = locate(session, item);
	}
	return rc;
}

/* --- locks --- */

static int
compare_holds(const void *a, const void *b)
{
	const struct hold *x = a, *y = b;

	return ((uintptr_t)x->leaf > (uintptr_t)y->leaf) -
		((uintptr_t)x->leaf < (uintptr_t)y->leaf);
}

static void
release_holds(struct list *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct hold *hold = &list->holds[i];

		if (hold->is_changed)
			version_unlock_changed(&hold->leaf->version, hold->version);
		else
			version_unlock(&hold->leaf->version, hold->version);
	}
}

/*
 * Make a hold for each leaf, in address order. False: two items have read different versions of
 * a leaf.
 */
static bool
make_holds(struct list *list)
{
	struct hold *holds = list->holds;
	size_t count = 0;

	for (uint32_t i = 0; i < list->count; i++)
		if (list->items[i].place.leaf != NULL)
			holds[count++] = (struct hold){list->items[i].place.leaf,
				list->items[i].place.version, i, false};
	qsort(holds, count, sizeof(*holds), compare_holds);
	list->hold_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct hold hold = holds[i];
		const struct hold *last = list->hold_count > 0 ? &holds[list->hold_count - 1]
							       : NULL;

		if (last == NULL || last->leaf != hold.leaf)
			holds[list->hold_count++] = hold;
		else if (last->version != hold.version)
			return false;
		list->items[hold.item].hold = (uint32_t)list->hold_count - 1;
	}
	for (size_t i = 0; i < list->hold_count; i++)
		holds[i].item = NONE;
	return true;
}

/* Lock all leaves. False: a leaf has changed, and none is locked. */
static bool
lock_holds(struct list *list)
{
	if (!make_holds(list))
		return false;
	for (size_t i = 0; i < list->hold_count; i++) {
		const struct hold *hold = &list->holds[i];

		if (!version_lock(&hold->leaf->version, hold->version)) {
			release_holds(list, i);
			return false;
		}
	}
	return true;
}

/* Find the slot of the key in its locked leaf, and the first item of the key. */
static void
find_slot(struct list *list, uint32_t index)
{
	struct item *item = &list->items[index];
	struct hold *hold = &list->holds[item->hold];
	struct leaf *leaf = hold->leaf;
	const struct key *key = &item->place.key;
	unsigned slots = leaf_slots(hold->version);
	int slot = leaf_find(leaf, slots, leaf->order, key->slice, key->klen);

	item->slot = -1;
	item->first = index;
	item->was_there = false;
	if (slot < 0 ||
		(key->klen == KLEN_SUFFIX &&
			!key_has_suffix(
				key, record_at(*leaf_word(leaf, slots, (unsigned)slot)))))
		return;
	for (uint32_t i = hold->item; i != NONE; i = list->items[i].next)
		if (list->items[i].slot == slot) {
			item->first = i;
			return;
		}
	item->slot = slot;
	item->was_there = !vlen_is_absent(nibble(leaf->vlens, (unsigned)slot));
	item->may_be_place |= !item->was_there;
	item->next = hold->item;
	hold->item = index;
}

/*
 * Find the slots of all items. A key that a list may add had an entry at the version of the leaf
 * that is now locked. A removal, a split or a new layer would have changed that version.
 */
static void
find_slots(struct list *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct item *item = &list->items[i];

		if (item->place.leaf == NULL)
			continue;
		find_slot(list, i);
		assert(!item->creates || list->items[item->first].slot >= 0);
	}
}

/* --- the effect of the steps --- */

/*
 * Whether the leaves that scans have read are unchanged. The locks are held, and the changed
 * leaves are dirty.
 *
 * A leaf that another session has only locked is unchanged. If that session adds or removes a
 * key, this list comes first. A single write has read only that leaf, which this list does not
 * change. A list compares its noted leaves after it has made its changed leaves dirty. Of two
 * such lists, one sees that a leaf of the other is dirty. A session that sees the change of the
 * leaf also sees that the leaves of this list are dirty, so it waits.
 */
static bool
are_unchanged(const struct list *list)
{
#ifndef RACY_TSAN
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* of two lists, one sees the other's marks */
#endif
	for (size_t i = 0; i < list->seens.count; i++) {
		const struct seen *seen = &list->seens.at[i];
		struct hold wanted = {.leaf = seen->leaf};
		const struct hold *hold = bsearch(
			&wanted, list->holds, list->hold_count, sizeof(wanted), compare_holds);
		uint64_t version = __atomic_load_n(&seen->leaf->version, __ATOMIC_ACQUIRE) &
			~(uint64_t)NODE_LOCKED;

		if ((hold != NULL ? hold->version : version) != seen->version ||
			__atomic_load_n(&seen->leaf->order, __ATOMIC_ACQUIRE) != seen->order)
			return false;
		racy_meet();
	}
	return true;
}

static void
drop_entries(struct nb_session *session, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (session->list.items[i].change == CHANGE_PUT)
			mt_entry_drop(session, &session->list.items[i].entry);
}

static int
make_entries(struct nb_session *session)
{
	struct list *list = &session->list;

	for (size_t i = 0; i < list->count; i++) {
		struct item *item = &list->items[i];

		if (item->change == CHANGE_NONE)
			continue;
		list->holds[item->hold].is_changed = true;
		if (item->change == CHANGE_PUT &&
			!mt_entry_make(session, &item->place.key, item->value, &item->entry)) {
			drop_entries(session, i);
			return mt_no_memory(session, "a value");
		}
	}
	return NB_OK;
}

static int
record_all(struct nb_session *session)
{
	struct list *list = &session->list;
	size_t count = 0;

	if (session->log == NULL)
		return NB_OK;
	for (size_t i = 0; i < list->count; i++) {
		const struct item *item = &list->items[i];

		if (item->change != CHANGE_NONE)
			list->writes[count++] = (struct nb_write){item->name,
				item->change == CHANGE_PUT ? item->value
							   : (struct nb_slice){NULL, 0},
				item->change == CHANGE_DEL, 0};
	}
	return count == 0 ? NB_OK
			  : session->tree->log.record_list(session->log, list->writes, count);
}

/* Apply the item's change to its leaf, which is dirty. */
static void
apply(struct nb_session *session, const struct item *item)
{
	const struct hold *hold = &session->list.holds[item->hold];
	struct leaf *leaf = hold->leaf;
	unsigned slot = (unsigned)item->slot, vlen = nibble(leaf->vlens, slot), to;
	uint64_t *word = leaf_word(leaf, leaf_slots(hold->version), slot), old = *word;

	if (item->change == CHANGE_DEL) {
		to = vlen == VLEN_RECORD ? VLEN_ABSENT_RECORD : VLEN_ABSENT;
	} else {
		to = item->entry.vlen;
		racy_store64(word, item->entry.word);
		if (vlen_has_record(vlen))
			retire_record(session, record_at(old));
		if (item->was_there)
			count_one(&session->counts.updates);
	}
	racy_store64(&leaf->vlens, nibble_set(leaf->vlens, slot, to));
}

static void
make_dirty(struct list *list)
{
	for (size_t i = 0; i < list->hold_count; i++)
		if (list->holds[i].is_changed)
			version_begin_change(
				&list->holds[i].leaf->version, list->holds[i].version);
}

/*
 * Mark the changed leaves dirty, then compare the leaves that scans have read. A write after
 * the comparison must not return while its session can still read the state before the list. So
 * readers must wait before the comparison. If no scan has read a leaf, the list is recorded
 * first.
 */
static int
record_and_make_dirty(struct nb_session *session)
{
	struct list *list = &session->list;
	int rc = list->seens.count == 0 ? record_all(session) : NB_OK;

	if (rc != NB_OK)
		return rc;
	make_dirty(list);
	if (list->seens.count == 0)
		return NB_OK;
	return are_unchanged(list) ? record_all(session) : NB_CONFLICT;
}

static int
take_effect(struct nb_session *session)
{
	struct list *list = &session->list;
	int rc = make_entries(session);

	if (rc == NB_OK && (rc = record_and_make_dirty(session)) != NB_OK)
		drop_entries(session, list->count);
	for (size_t i = 0; i < list->hold_count && rc != NB_OK; i++)
		list->holds[i].is_changed = false; /* its contents have not changed */
	for (size_t i = 0; i < list->count && rc == NB_OK; i++)
		if (list->items[i].change != CHANGE_NONE)
			apply(session, &list->items[i]);
	return rc;
}

/* Try once. NB_CONFLICT: a leaf has changed; restart. */
static int
attempt(struct nb_session *session, struct nb_step *steps, size_t count)
{
	struct list *list = &session->list;
	int rc = locate_all(session, list);

	if (rc != NB_OK)
		return rc;
	if (!lock_holds(list))
		return NB_CONFLICT;
	find_slots(list);
	rc = mt_list_perform(session, steps, count);
	if (rc == NB_OK)
		rc = take_effect(session);
	release_holds(list, list->hold_count);
	return rc;
}

/* --- the verbs --- */

static bool
may_add(uint32_t verb)
{
	return verb == NB_STEP_PUT || verb == NB_STEP_INSERT || verb == NB_STEP_MERGE;
}

static void
begin_list(struct list *list, const struct nb_step *steps, size_t count)
{
	list->count = count;
	for (size_t i = 0; i < count; i++)
		list->items[i] = (struct item){.name = steps[i].verb == NB_STEP_PREFIX_EMPTY
				? (struct nb_slice){NULL, 0}
				: steps[i].key,
			.first = (uint32_t)i,
			.creates = may_add(steps[i].verb)};
}

/* Remove the placeholders that the list has not filled. No lock is held. */
static void
sweep(struct nb_session *session, bool is_done)
{
	const struct list *list = &session->list;

	for (size_t i = 0; i < list->count; i++) {
		const struct item *item = &list->items[i];

		if ((item->may_be_place || item->change == CHANGE_DEL) &&
			!(is_done && list->items[item->first].change == CHANGE_PUT))
			session->tree->verbs->sweep(session, item->name);
	}
}

static int
check_steps(const struct nb_host *host, const struct nb_step *steps, size_t count,
	uint32_t flags, bool *are_gets)
{
	int rc = check_flags(host, flags);

	*are_gets = true;
	for (size_t i = 0; rc == NB_OK && i < count; i++) {
		bool is_get = steps[i].verb == NB_STEP_GET;

		*are_gets = *are_gets && is_get;
		if (steps[i].verb > NB_STEP_PREFIX_EMPTY)
			rc = host->fail(NB_UNSUPPORTED, "unknown step %u", steps[i].verb);
		else if ((flags & NB_EXEC_READ_ONLY) != 0 && !is_get &&
			steps[i].verb != NB_STEP_PREFIX_EMPTY)
			rc = host->fail(NB_FAIL, "a write among steps that only read");
	}
	return rc;
}

/* Get each key separately, but with overlapping cache misses. */
static int
get_each(struct nb_session *session, struct nb_step *steps, size_t count)
{
	struct list *list = &session->list;

	for (size_t i = 0; i < count; i++)
		list->keys[i] = steps[i].key;
	int rc = mt_multi_get(session, list->keys, count, list->values, list->answers);
	for (size_t i = 0; rc == NB_OK && i < count; i++) {
		steps[i].value = list->values[i];
		steps[i].answer = list->answers[i];
		uint32_t skips = steps[i].answer == NB_OK ? 0 : steps[i].skips;
		for (; skips > 0 && i + 1 < count; skips--)
			steps[++i].answer = NB_EXISTS;
	}
	return rc;
}

int
mt_execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	struct list *list = &session->list;
	unsigned spins = 0;
	bool are_gets;
	int rc = check_steps(session->tree->host, steps, count, flags, &are_gets);

	if (rc != NB_OK)
		return rc;
	if (count >= NONE || !reserve_items(list, count))
		return mt_no_memory(session, "a list of steps");
	if (are_gets && (flags & NB_EXEC_SNAPSHOT) == 0)
		return get_each(session, steps, count);
	begin_list(list, steps, count);
	epoch_enter(session->epoch);
	while ((rc = attempt(session, steps, count)) == NB_CONFLICT) {
		count_one(&session->counts.restarts);
		back_off(&spins);
	}
	sweep(session, rc == NB_OK);
	mt_leave(session);
	if (rc == NB_OK)
		lend_kept(&list->kept, steps, count);
	return rc;
}

int
mt_batch(struct nb_session *session, const struct nb_write *writes, size_t count)
{
	struct list *list = &session->list;

	if (!reserve_items(list, count))
		return mt_no_memory(session, "a batch");
	for (size_t i = 0; i < count; i++)
		list->steps[i] = (struct nb_step){.key = writes[i].key,
			.value = writes[i].value,
			.verb = writes[i].is_delete != 0 ? NB_STEP_DEL : NB_STEP_PUT};
	return mt_execute(session, list->steps, count, NB_EXEC_ATOMIC);
}
