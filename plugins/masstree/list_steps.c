/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of a list. Each step sees the changes of earlier steps. The changes stay in the
 * items of the list.
 */
#include "lists.h"

#include "../common/execute.h"

static struct nb_session *
own(struct nb_session *session)
{
	return (struct nb_session *)session;
}

static struct item *
item_at(struct nb_session *session)
{
	struct list *list = &own(session)->list;

	return &list->items[list->items[list->at].first];
}

static bool
is_there(const struct item *item)
{
	return item->change == CHANGE_PUT || (item->change == CHANGE_NONE && item->was_there);
}

static int
get_one(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	const struct item *item = item_at(session);
	const struct hold *hold = &own(session)->list.holds[item->hold];

	if (!is_there(item))
		return NB_NOT_FOUND;
	if (item->change == CHANGE_PUT) {
		*value = item->value;
		return NB_OK;
	}
	const uint64_t *word = leaf_word(
		hold->leaf, leaf_slots(hold->version), (unsigned)item->slot);
	unsigned vlen = nibble(hold->leaf->vlens, (unsigned)item->slot);
	const struct record *record = record_at(*word);
	*value = vlen == VLEN_RECORD ? (struct nb_slice){record->bytes, record->value_size}
				     : (struct nb_slice){word, vlen};
	return NB_OK;
}

/*
 * Copy a short value, because it may be a sum, whose bytes are valid only until the caller
 * returns. A longer value is that of a step and stays valid.
 */
static int
put_one(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	struct item *item = item_at(session);

	item->change = CHANGE_PUT;
	item->value = value;
	if (value.size != 0 && value.size <= sizeof(item->word)) {
		memcpy(&item->word, value.data, value.size);
		item->value.data = &item->word;
	}
	return NB_OK;
}

static int
insert_one(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return is_there(item_at(session)) ? NB_EXISTS : put_one(session, key, value);
}

static int
del_one(struct nb_session *session, struct nb_slice key)
{
	struct item *item = item_at(session);

	if (!is_there(item))
		return NB_NOT_FOUND;
	item->change = item->was_there ? CHANGE_DEL : CHANGE_NONE;
	return NB_OK;
}

static int
scan_open(struct nb_session *session, const struct nb_scan_args *args)
{
	struct list *list = &own(session)->list;

	list->from = args->from;
	list->pending = 0;
	return mt_scan_within(own(session), args->from, &list->seens);
}

static bool
is_deleted(const struct list *list, struct nb_slice key)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].change == CHANGE_DEL &&
			list->items[i].name.size == key.size &&
			memcmp(list->items[i].name.data, key.data, key.size) == 0)
			return true;
	return false;
}

/* Return the keys under the prefix that the list adds, in any order, then the keys of the tree. */
static int
scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	struct list *list = &own(session)->list;
	int rc;

	while (list->pending < list->count) {
		const struct item *item = &list->items[list->pending++];

		if (item->change != CHANGE_PUT || item->was_there ||
			!begins_with(item->name, list->from))
			continue;
		*key = item->name;
		return NB_OK;
	}
	do
		rc = mt_scan_next(own(session), key, value);
	while (rc == NB_OK && is_deleted(list, *key));
	return rc;
}

static int
scan_close(struct nb_session *session)
{
	return own(session)->list.seens.is_short ? mt_no_memory(own(session), "a scan") : NB_OK;
}

static const struct nb_engine list_verbs = {.caps = NB_CAP_ORDERED,
	.get = get_one,
	.put = put_one,
	.insert = insert_one,
	.del = del_one,
	.scan_open = scan_open,
	.scan_next = scan_next,
	.scan_close = scan_close};

int
mt_list_perform(struct nb_session *session, struct nb_step *steps, size_t count)
{
	struct list *list = &session->list;
	const struct executor by = {.verbs = &list_verbs,
		.host = session->tree->host,
		.session = (struct nb_session *)session,
		.kept = &list->kept};

	list->kept.size = 0;
	list->seens.count = 0;
	list->seens.is_short = false;
	for (size_t i = 0; i < count; i++) {
		list->at = i;
		int rc = steps[i].answer = execute_step(&by, &steps[i]);
		racy_meet();
		if (rc < 0)
			return rc;
		uint32_t skips = rc == NB_OK ? 0 : steps[i].skips;
		for (; skips > 0 && i + 1 < count; skips--)
			steps[++i].answer = NB_EXISTS;
	}
	return NB_OK;
}
