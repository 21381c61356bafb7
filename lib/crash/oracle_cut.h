/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_ORACLE_CUT_H
#define CRASH_ORACLE_CUT_H
/** Between the parts of the oracle: where each key of a session may stand, and the session's cut. */
#include <string.h>

#include "crash/crash.h"

/** A write of a key. */
struct oracle_entry {
	uint64_t write;
	bool is_delete, is_add;
	uint64_t counter; /* its value afterwards; 0: missing */
};

/** All writes of a session since the chain was new. */
struct oracle_history {
	const struct crash_plan *plan;
	uint32_t session;
	struct oracle_entry *entries; /* of key k: first[k] to first[k + 1] - 1, in order */
	size_t *first;                /* plan->keys + 1 */
};

/** The possible places of a key: numbers of entries of this round, from 1; 0: before it. */
struct oracle_places {
	struct oracle_entry *entries; /* of this round */
	size_t count;
	size_t first, latest; /* that match what was read */
	bool is_found;        /* at least one matches */
};

/** What is known of one session, and found out about it. */
struct oracle_judge {
	struct crash_report *out;
	const struct crash_sight *sights; /* of the session */
	const uint64_t *before;           /* state->last of the session */
	struct oracle_history history;
	uint32_t promise;
	uint64_t start, acked, begun;
	struct oracle_places *places; /* of each key */
	uint64_t *changes;            /* of the number of keys that agree on a cut */
	uint64_t cut;                 /* UINT64_MAX: none */
	uint64_t sure;                /* the operation before it is present for certain */
	uint64_t lost, holes;
	uint64_t older_lost; /* keys without their value of before the round */
	char lost_text[CRASH_TEXT_SIZE], hole_text[CRASH_TEXT_SIZE];
	char older_text[CRASH_TEXT_SIZE];
};

/** The number of writes that an operation leaves. */
static inline uint32_t
oracle_writes_of(const struct crash_op *op)
{
	return op->kind != CRASH_ABORT ? op->count : 0;
}

static inline bool
oracle_is_counter(const struct oracle_judge *judge, uint32_t key)
{
	return crash_is_counter(judge->history.plan, key);
}

/** What the write adds to a counter, or puts there. */
static inline uint64_t
oracle_operand_of(const struct oracle_judge *judge, const struct oracle_entry *entry)
{
	return crash_operand(judge->history.plan, judge->history.session, entry->write);
}

/** The value of a counter at a place; 0: missing. */
static inline uint64_t
oracle_counter_at(const struct oracle_judge *judge, uint32_t key, size_t place)
{
	return place == 0 ? judge->before[key] : judge->places[key].entries[place - 1].counter;
}

/** The value that was read; 0: it is missing. False: it is not a counter. */
static inline bool
oracle_read_counter(const struct crash_sight *sight, uint64_t *counter)
{
	*counter = 0;
	if (!sight->is_there)
		return true;
	memcpy(counter, sight->head, sizeof(*counter));
	return sight->size == sizeof(*counter) && *counter != 0;
}

static inline bool
oracle_is_atomic(const struct crash_plan *plan, const struct crash_op *op)
{
	return op->kind > CRASH_BATCH || plan->is_atomic;
}

/** All writes of the first `begun` operations. NB_FAIL: out of memory. */
NB_MUST_CHECK int
oracle_history_create(struct oracle_history *history, const struct crash_plan *plan,
	uint32_t session, uint64_t begun);

void
oracle_history_destroy(struct oracle_history *history);

/** Whether a key is as that write left it. */
bool
oracle_entry_looks(const struct oracle_history *history, const struct crash_sight *sight,
	const struct oracle_entry *entry);

/** Find the places of all keys, and the greatest cut on which all keys with a place agree. */
void
oracle_find_cut(struct oracle_judge *judge);

#endif /* CRASH_ORACLE_CUT_H */
