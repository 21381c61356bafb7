/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_LISTS_H
#define MASSTREE_LISTS_H
/** Data structures that lists.c and list_steps.c share. */
#include "find.h"

enum change { CHANGE_NONE, CHANGE_PUT, CHANGE_DEL };

/* A step and the change of its key. Steps with the same key share the first such item. */
struct item {
	struct nb_slice name;
	struct place place; /* leaf NULL: not located */
	uint32_t hold;      /* index of its leaf in list->holds */
	uint32_t first;     /* index of the first item with the same key */
	uint32_t next;      /* in the leaf, next item that is the first of its key; NONE: end */
	int slot;           /* -1: the leaf has no entry for the key */
	bool creates;       /* the step may add the key */
	bool may_be_place;  /* the key may have a placeholder */
	bool was_there;     /* the key had a value before the list */
	uint8_t change;     /* enum change */
	uint64_t word;      /* storage of a value that fits */
	struct nb_slice value;
	struct entry entry;
};

struct hold {
	struct leaf *leaf;
	uint64_t version;
	uint32_t item; /* first item in the leaf; NONE: end */
	bool is_changed;
};

#define NONE UINT32_MAX

/**
 * Perform the steps on the locked leaves, which do not change yet. Sets the answers in `steps`
 * and the changes in the items of the session's list. < 0: a step failed; do not apply the
 * changes.
 */
int
mt_list_perform(struct nb_session *session, struct nb_step *steps, size_t count);

#endif
