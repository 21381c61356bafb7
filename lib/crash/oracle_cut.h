/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CRASH_ORACLE_CUT_H
#define CRASH_ORACLE_CUT_H
/**
 * Shared by the parts of the oracle: the possible places of each key of a session, and the
 * cut of the session.
 */
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

/**
 * The places of a key whose value matches the value read. A place is the number of an entry
 * of this round, from 1; 0: before all of them.
 */
struct oracle_places {
	struct oracle_entry *entries; /* of this round */
	size_t count;
	size_t first, latest; /* the first and the last place that match the value read */
	bool is_found;        /* at least one matches */
};

/** The inputs and the verdict for one session. */
struct oracle_judge {
	struct crash_report *out;
	const struct crash_sight *sights; /* of the session */
	const uint64_t *before;           /* state->last of the session */
	struct oracle_history history;
	uint32_t promise;
	uint64_t start, acked, begun;
	struct oracle_places *places; /* of each key */
	uint64_t *changes;            /* changes of the number of keys that agree on a cut */
	uint64_t cut;                 /* UINT64_MAX: none */
	uint64_t sure;                /* operation sure - 1 is certainly present; 0: unknown */
	uint64_t lost, holes;
	uint64_t older_lost; /* keys that lost their value of before the round */
	char lost_text[CRASH_TEXT_SIZE], hole_text[CRASH_TEXT_SIZE];
	char older_text[CRASH_TEXT_SIZE];
};

/** The number of writes with a lasting effect; 0 for an aborted transaction. */
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

/** The number that the write adds to a counter, or stores there. */
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

/** The counter that was read; 0: missing. False: the value is not a counter. */
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

/** Collect all writes of the first `begun` operations. NB_FAIL: out of memory. */
NB_MUST_CHECK int
oracle_history_create(struct oracle_history *history, const struct crash_plan *plan,
	uint32_t session, uint64_t begun);

void
oracle_history_destroy(struct oracle_history *history);

/** Whether a key has the value that the write left. */
bool
oracle_entry_looks(const struct oracle_history *history, const struct crash_sight *sight,
	const struct oracle_entry *entry);

/** Find the places of all keys, and the greatest cut on which all keys with a place agree. */
void
oracle_find_cut(struct oracle_judge *judge);

#endif /* CRASH_ORACLE_CUT_H */
