/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the possible places of each key of a session, and the cut: the number of operations
 * after which all keys are at one of their places.
 *
 * The writes of a key are ordered, because one session executes them one by one. The value
 * read shows how many of them are present: later writes are lost, and earlier ones were
 * overwritten. Deletes and short values may match at several places. Then each of these is
 * possible, and a finding needs all of them to be wrong. So no engine is accused by a
 * guess, and states that a reader cannot distinguish are equal.
 *
 * A session has a cut if there is a number c such that each key is as after the first c
 * operations: only the last operations are missing. Each place of each key is right for a
 * range of c, and the greatest c on which all keys agree is the cut. If operation c is a
 * batch that is not atomic, the crash may have come in the middle of it: its own keys may
 * then be as after it, too.
 *
 * The operands of a counter are random, so its values after each operation differ, as other
 * values do. They start from the value before the round, which includes the losses of
 * earlier rounds.
 */
#include "crash/oracle_cut.h"

#include <stdlib.h>

#include "base/error.h"

/* ---- the writes of a session, by key ---- */

void
oracle_history_destroy(struct oracle_history *history)
{
	free(history->entries);
	free(history->first);
}

int
oracle_history_create(struct oracle_history *history, const struct crash_plan *plan,
	uint32_t session, uint64_t begun)
{
	*history = (struct oracle_history){.plan = plan, .session = session};
	size_t *next = calloc(plan->keys + 1, sizeof(*next));
	history->first = calloc(plan->keys + 1, sizeof(*history->first));
	struct crash_op op;
	if (next == NULL || history->first == NULL)
		goto free_next;
	for (uint64_t i = 0; i < begun; i++) {
		crash_op_make(&op, plan, session, i);
		for (uint32_t k = 0; k < oracle_writes_of(&op); k++)
			history->first[op.writes[k].key + 1]++;
	}
	for (uint32_t k = 0; k < plan->keys; k++)
		history->first[k + 1] += history->first[k];
	memcpy(next, history->first, (plan->keys + 1) * sizeof(*next));
	history->entries = calloc(history->first[plan->keys] + 1, sizeof(*history->entries));
	if (history->entries == NULL)
		goto free_next;
	for (uint64_t i = 0; i < begun; i++) {
		crash_op_make(&op, plan, session, i);
		for (uint32_t k = 0; k < oracle_writes_of(&op); k++)
			history->entries[next[op.writes[k].key]++] = (struct oracle_entry){
				.write = crash_write_number(i, k),
				.is_delete = op.writes[k].is_delete,
				.is_add = op.writes[k].is_add};
	}
	free(next);
	return NB_OK;

free_next:
	free(next);
	oracle_history_destroy(history);
	return error_set(NB_FAIL, "out of memory");
}

/** Whether a key is as the write left it; write 0: as if it was never written. */
static bool
looks_as(const struct oracle_history *history, const struct crash_sight *sight, uint64_t write)
{
	if (write == 0 || !sight->is_there)
		return write == 0 && !sight->is_there;
	if (sight->write != 0)
		return sight->write == write && sight->session == history->session;
	if (sight->size >= CRASH_VALUE_TELLS ||
		crash_value_size(history->plan, history->session, write) != sight->size)
		return false;
	unsigned char value[CRASH_VALUE_TELLS];
	crash_value_make(value, history->plan, history->session, write);
	return memcmp(value, sight->head, (size_t)sight->size) == 0;
}

bool
oracle_entry_looks(const struct oracle_history *history, const struct crash_sight *sight,
	const struct oracle_entry *entry)
{
	return looks_as(history, sight, entry->is_delete ? 0 : entry->write);
}

/* ---- one session ---- */

static void
count_up(struct oracle_judge *judge, uint32_t key)
{
	struct oracle_places *places = &judge->places[key];
	for (size_t i = 0; i < places->count; i++) {
		struct oracle_entry *entry = &places->entries[i];
		uint64_t sum = entry->is_add ? oracle_counter_at(judge, key, i) : 0;
		entry->counter = entry->is_delete ? 0 : sum + oracle_operand_of(judge, entry);
	}
}

static bool
place_looks(const struct oracle_judge *judge, uint32_t key, size_t place)
{
	const struct oracle_places *places = &judge->places[key];
	const struct crash_sight *sight = &judge->sights[key];
	uint64_t counter;
	if (oracle_is_counter(judge, key))
		return oracle_read_counter(sight, &counter) &&
			counter == oracle_counter_at(judge, key, place);
	return place == 0
		? looks_as(&judge->history, sight, judge->before[key])
		: oracle_entry_looks(&judge->history, sight, &places->entries[place - 1]);
}

static void
find_places(struct oracle_judge *judge, uint32_t key)
{
	const struct oracle_history *history = &judge->history;
	struct oracle_entry *all = history->entries + history->first[key];
	size_t count = history->first[key + 1] - history->first[key], older = 0;
	struct oracle_places *places = &judge->places[key];
	while (older < count && crash_write_op(all[older].write) < judge->start)
		older++;
	*places = (struct oracle_places){.entries = all + older, .count = count - older};
	if (oracle_is_counter(judge, key))
		count_up(judge, key);
	for (size_t i = 0; i <= places->count; i++) {
		if (!place_looks(judge, key, i))
			continue;
		if (!places->is_found)
			places->first = i;
		places->latest = i;
		places->is_found = true;
	}
}

/** The number of operations from which on place `i` is right. */
static uint64_t
place_begin(const struct oracle_judge *judge, const struct oracle_places *places, size_t i)
{
	return i == 0 ? judge->start : crash_write_op(places->entries[i - 1].write) + 1;
}

/**
 * The least number of operations with which place `i` is right: a batch may be present in
 * part.
 */
static uint64_t
place_least(const struct oracle_judge *judge, const struct oracle_places *places, size_t i)
{
	struct crash_op op;
	uint64_t begin = place_begin(judge, places, i);
	if (i == 0)
		return begin;
	crash_op_make(&op, judge->history.plan, judge->history.session, begin - 1);
	bool may_be_part = op.kind == CRASH_BATCH &&
		!oracle_is_atomic(judge->history.plan, &op);
	return may_be_part ? begin - 1 : begin;
}

static void
agree(struct oracle_judge *judge, uint64_t from, uint64_t to)
{
	judge->changes[from - judge->start]++;
	judge->changes[to + 1 - judge->start]--; /* unsigned: may wrap, and wraps back */
}

/** Whether an operation in flight that is not atomic writes the key. */
static bool
is_loose(const struct oracle_judge *judge, const struct oracle_places *places)
{
	struct crash_op op;
	uint64_t newest = places->count > 0
		? crash_write_op(places->entries[places->count - 1].write)
		: 0;
	if (places->count == 0 || newest < judge->acked)
		return false;
	crash_op_make(&op, judge->history.plan, judge->history.session, newest);
	return !oracle_is_atomic(judge->history.plan, &op);
}

/** Add the cuts on which the key agrees. Writes in flight that are not atomic count alone. */
static void
agree_on_cuts(struct oracle_judge *judge, uint32_t key)
{
	const struct oracle_places *places = &judge->places[key];
	bool counts_alone = is_loose(judge, places);
	/* the usual rule applies to cuts below it */
	uint64_t most = counts_alone ? judge->acked : judge->begun + 1;
	uint64_t next = judge->start; /* places overlap at a batch, and a key counts once */
	bool is_late = false;
	for (size_t i = 0; i <= places->count; i++) {
		if (!place_looks(judge, key, i))
			continue;
		uint64_t from = place_least(judge, places, i);
		from = from > next ? from : next;
		uint64_t to = i < places->count ? crash_write_op(places->entries[i].write)
						: judge->begun;
		is_late |= to >= judge->acked; /* right if all returned writes are present */
		to = to < most ? to : most - (most > 0);
		if (from > to || from >= most || to < judge->start)
			continue;
		agree(judge, from, to);
		next = to + 1;
	}
	if (counts_alone && is_late)
		agree(judge, judge->acked, judge->begun);
}

void
oracle_find_cut(struct oracle_judge *judge)
{
	const struct crash_plan *plan = judge->history.plan;
	uint64_t wanted = 0, agreeing = 0;
	for (uint32_t key = 0; key < plan->keys; key++) {
		find_places(judge, key);
		const struct oracle_places *places = &judge->places[key];
		if (!places->is_found || places->count == 0)
			continue;
		wanted++;
		agree_on_cuts(judge, key);
		uint64_t sure = place_begin(judge, places, places->first);
		if (places->first > 0 && sure > judge->sure)
			judge->sure = sure;
	}
	judge->cut = UINT64_MAX;
	for (uint64_t c = judge->start; c <= judge->begun; c++) {
		agreeing += judge->changes[c - judge->start];
		if (agreeing == wanted)
			judge->cut = c;
	}
}
