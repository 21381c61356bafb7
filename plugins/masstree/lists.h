/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MASSTREE_LISTS_H
#define MASSTREE_LISTS_H
/** What lists.c and list_steps.c know of a list of steps. */
#include "find.h"

enum change { CHANGE_NONE, CHANGE_PUT, CHANGE_DEL };

/* A step, and what becomes of its key. Steps of one key share what the first of them has. */
struct item {
	struct nb_slice name;
	struct place place; /* leaf NULL: not known */
	uint32_t hold;      /* the lock of its leaf */
	uint32_t first;     /* of the items of the same key */
	uint32_t next;      /* of the first items in the same leaf; NONE */
	int slot;           /* -1: the leaf does not have it */
	bool creates;       /* the step may add the key */
	bool may_be_place;  /* it may be left without a value */
	bool was_there;     /* with a value, before the list */
	uint8_t change;     /* enum change */
	uint64_t word;      /* of a value that fits */
	struct nb_slice value;
	struct entry entry;
};

struct hold {
	struct leaf *leaf;
	uint64_t version;
	uint32_t item; /* the first one in it; NONE */
	bool is_changed;
};

#define NONE UINT32_MAX

/**
 * Perform the steps on what the locked leaves have. The answers are in `steps`; what is to change is
 * in the items of the session's list. < 0: a step has failed, and nothing is to change.
 */
int
mt_list_perform(struct mt_session *session, struct nb_step *steps, size_t count);

#endif
