/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The expected contents, and the comparison with the value read for each key.
 *
 * A level that promises order promises a cut (oracle_cut.c) no earlier than the round
 * before. A level that promises everything promises a cut that includes all returned
 * operations. Without a cut, a later operation is present while an earlier one is missing:
 * a hole.
 *
 * An operation in flight may be present or missing as a whole. A batch that is not atomic
 * may be present in part if it was in flight or the cut is inside it. An atomic batch or
 * transaction is split if one key can only be as after it and another key only as before
 * it. An aborted transaction has no writes.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "check/suite.h"
#include "crash/oracle_cut.h"
#include "run/procfs.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

int
crash_oracle_create(struct crash_oracle *state, const struct crash_plan *plan)
{
	*state = (struct crash_oracle){.plan = plan};
	state->last = calloc(crash_oracle_keys(state), sizeof(*state->last));
	return state->last != NULL ? NB_OK : error_set(NB_FAIL, "out of memory");
}

void
crash_oracle_destroy(struct crash_oracle *state)
{
	free(state->last);
	state->last = NULL;
}

void
crash_oracle_reset(struct crash_oracle *state)
{
	memset(state->last, 0, crash_oracle_keys(state) * sizeof(*state->last));
	memset(state->start, 0, sizeof(state->start));
}

void
crash_oracle_copy(struct crash_oracle *to, const struct crash_oracle *from)
{
	memcpy(to->last, from->last, crash_oracle_keys(from) * sizeof(*to->last));
	memcpy(to->start, from->start, sizeof(to->start));
}

uint32_t
crash_promise(uint32_t how, uint32_t durability)
{
	static const uint32_t promises[2][NB_DUR_COMMIT + 1] = {
		[NB_CRASH_KILL] = {[NB_DUR_NONE] = CRASH_PROMISE_NOTHING,
			[NB_DUR_PROCESS] = CRASH_PROMISE_ALL,
			[NB_DUR_PERIODIC] = CRASH_PROMISE_ALL,
			[NB_DUR_COMMIT] = CRASH_PROMISE_ALL},
		[NB_CRASH_POWER] = {[NB_DUR_NONE] = CRASH_PROMISE_NOTHING,
			[NB_DUR_PROCESS] = CRASH_PROMISE_NOTHING,
			[NB_DUR_PERIODIC] = CRASH_PROMISE_ORDER,
			[NB_DUR_COMMIT] = CRASH_PROMISE_ALL},
	};
	return promises[how][durability];
}

void
crash_sight_take(
	struct crash_sight *sight, const struct crash_plan *plan, const struct nb_slice *value)
{
	*sight = (struct crash_sight){.is_there = value != NULL};
	if (value == NULL)
		return;
	sight->size = value->size;
	sight->write = crash_value_read(plan, *value, &sight->session);
	if ((ptrdiff_t)value->size <= 0)
		return; /* empty, or an impossible size */
	sight->hash = XXH3_64bits(value->data, value->size);
	memcpy(sight->head, value->data,
		value->size < sizeof(sight->head) ? value->size : sizeof(sight->head));
}

void
crash_report_wrong(struct crash_report *report, uint32_t wrong, const char *fmt, ...)
{
	/* The worst of several findings is reported, because the others may follow from it. */
	static const uint8_t ranks[NB_CRASH_WRONGS] = {
		[NB_CRASH_NOT_OPENED] = 9,
		[NB_CRASH_TORN] = 8,
		[NB_CRASH_GHOST] = 7,
		[NB_CRASH_SPLIT_BATCH] = 6,
		[NB_CRASH_LOST] = 5,
		[NB_CRASH_REORDERED] = 4,
		[NB_CRASH_SCAN] = 3,
		[NB_CRASH_UNSTABLE] = 2,
		[NB_CRASH_NOT_WRITABLE] = 1,
	};
	if (report->wrongs == 0 || ranks[wrong] > ranks[report->worst]) {
		char text[CRASH_TEXT_SIZE];
		va_list args;
		va_start(args, fmt);
		vsnprintf(text, sizeof(text), fmt, args);
		va_end(args);
		/* An engine's message may contain bytes of a key, or be cut inside a character. */
		procfs_keep(report->text, sizeof(report->text), text);
		report->worst = wrong;
	}
	report->wrongs |= 1u << wrong;
}

/* ---- findings ---- */

static const char *
quote_key(char buf[QUOTE_SIZE], const struct oracle_judge *judge, uint32_t key)
{
	unsigned char bytes[CRASH_KEY_MAX];
	size_t size = crash_key_make(bytes, judge->history.plan, judge->history.session, key);
	return slice_quote(buf, (struct nb_slice){.data = bytes, .size = size});
}

static const char *
describe_sight(char buf[96], const struct crash_sight *sight)
{
	if (!sight->is_there)
		snprintf(buf, 96, "nothing");
	else if (sight->write != 0)
		snprintf(buf, 96, "%" PRIu64 " bytes of operation %" PRIu64, sight->size,
			crash_write_op(sight->write));
	else
		snprintf(buf, 96, "%" PRIu64 " bytes", sight->size);
	return buf;
}

static const char *
describe_write(char buf[96], const struct oracle_judge *judge, const struct oracle_entry *entry)
{
	const struct oracle_history *history = &judge->history;
	uint64_t op = crash_write_op(entry->write);
	if (entry->is_delete)
		snprintf(buf, 96, "operation %" PRIu64 " deleted it", op);
	else if (entry->counter != 0)
		snprintf(buf, 96, "operation %" PRIu64 " made it %" PRIu64, op, entry->counter);
	else
		snprintf(buf, 96, "operation %" PRIu64 " put %zu bytes", op,
			crash_value_size(history->plan, history->session, entry->write));
	return buf;
}

/**
 * Note a key that lost its value of before the round. `old`: the older write whose value it
 * has.
 */
static void
note_older(struct oracle_judge *judge, uint32_t key, const char *quoted,
	const struct oracle_entry *old)
{
	char before[64];
	if (judge->older_lost++ > 0)
		return;
	if (judge->before[key] == 0)
		snprintf(before, sizeof(before), "it was missing");
	else
		snprintf(before, sizeof(before), "it was of operation %" PRIu64,
			crash_write_op(judge->before[key]));
	if (!judge->sights[key].is_there)
		snprintf(judge->older_text, sizeof(judge->older_text),
			"key %s is gone: before this round %s, and it was not deleted since",
			quoted, before);
	else
		snprintf(judge->older_text, sizeof(judge->older_text),
			"key %s is of operation %" PRIu64 " again: before this round %s",
			quoted, crash_write_op(old->write), before);
}

/**
 * Describe how the value is wrong: by an addition of this round, if one explains it.
 * Returns whether an addition is missing.
 */
static bool
explain_counter(
	const struct oracle_judge *judge, uint32_t key, uint64_t counter, char text[160])
{
	const struct oracle_places *places = &judge->places[key];
	uint64_t wanted = oracle_counter_at(judge, key, places->count);
	for (size_t place = places->count; place > 0; place--)
		for (size_t i = place; i > 0 && places->entries[i - 1].is_add; i--) {
			uint64_t sum = oracle_counter_at(judge, key, place);
			const struct oracle_entry *entry = &places->entries[i - 1];
			uint64_t operand = oracle_operand_of(judge, entry);
			if (counter != sum - operand && counter != sum + operand)
				continue;
			snprintf(text, 160,
				": operation %" PRIu64 " added %" PRIu64 ", which is there %s",
				crash_write_op(entry->write), operand,
				counter < sum ? "not at all, although later ones are"
					      : "twice");
			return counter < sum;
		}
	snprintf(text, 160, " instead of %" PRIu64, wanted);
	return counter < wanted;
}

/** Report a counter that matches no possible place. */
static void
judge_counter(struct oracle_judge *judge, uint32_t key)
{
	char quoted[QUOTE_SIZE], how[160];
	uint64_t counter;
	bool is_whole = oracle_read_counter(&judge->sights[key], &counter);
	quote_key(quoted, judge, key);
	if (!is_whole)
		crash_report_wrong(judge->out, NB_CRASH_TORN,
			"the counter %s has %" PRIu64 " bytes that are not a sum", quoted,
			judge->sights[key].size);
	else if (!explain_counter(judge, key, counter, how))
		crash_report_wrong(judge->out, NB_CRASH_TORN, "the counter %s is %" PRIu64 "%s",
			quoted, counter, how);
	else if (judge->older_lost++ == 0)
		snprintf(judge->older_text, sizeof(judge->older_text),
			"the counter %s is %" PRIu64 "%s", quoted, counter, how);
}

static const char *
ghost_reason(const struct oracle_judge *judge, const struct crash_sight *sight)
{
	struct crash_op op;
	uint64_t number = crash_write_op(sight->write);
	if (sight->session != judge->history.session)
		return "put under another key";
	if (number >= judge->begun)
		return "would put, which was not begun";
	crash_op_make(&op, judge->history.plan, sight->session, number);
	return op.kind == CRASH_ABORT ? "put in a transaction that was aborted"
				      : "put under another key";
}

/** Report a key that matches no possible place. */
static void
judge_stranger(struct oracle_judge *judge, uint32_t key)
{
	const struct oracle_history *history = &judge->history;
	const struct crash_sight *sight = &judge->sights[key];
	const struct oracle_entry *all = history->entries + history->first[key];
	const struct oracle_entry *round = judge->places[key].entries, *old = NULL;
	char quoted[QUOTE_SIZE], seen[96];
	quote_key(quoted, judge, key);
	describe_sight(seen, sight);
	for (const struct oracle_entry *entry = all; entry < round; entry++)
		if (oracle_entry_looks(history, sight, entry))
			old = entry;
	/* The writes after `old` had returned, and were not lost before. */
	bool was_lost = old != NULL && old->write > judge->before[key] &&
		(judge->before[key] != 0 || old == round - 1 || !round[-1].is_delete);
	if (!sight->is_there || (old != NULL && !was_lost))
		note_older(judge, key, quoted, old);
	else if (old != NULL)
		crash_report_wrong(judge->out, NB_CRASH_UNSTABLE,
			"key %s is as operation %" PRIu64
			" left it, which was lost when the database was opened before this round",
			quoted, crash_write_op(old->write));
	else if (sight->write != 0)
		crash_report_wrong(judge->out, NB_CRASH_GHOST,
			"key %s has the value that operation %" PRIu64 " of session %" PRIu32
			" %s",
			quoted, crash_write_op(sight->write), sight->session,
			ghost_reason(judge, sight));
	else
		crash_report_wrong(judge->out, NB_CRASH_TORN,
			"key %s has %s that match no value put there", quoted, seen);
}

/** Count the writes after the latest place of a key, which are lost. */
static void
count_key(struct oracle_judge *judge, uint32_t key)
{
	const struct oracle_places *places = &judge->places[key];
	char quoted[QUOTE_SIZE], seen[96], written[96];
	for (size_t i = places->is_found ? places->latest : 0; i < places->count; i++) {
		const struct oracle_entry *entry = &places->entries[i];
		uint64_t op = crash_write_op(entry->write);
		if (op >= judge->acked)
			break;
		judge->lost++;
		if (judge->lost_text[0] == '\0')
			snprintf(judge->lost_text, sizeof(judge->lost_text),
				"key %s has %s, but %s and returned",
				quote_key(quoted, judge, key),
				describe_sight(seen, &judge->sights[key]),
				describe_write(written, judge, entry));
		if (op + 1 >= judge->sure)
			continue;
		judge->holes++;
		if (judge->hole_text[0] == '\0')
			snprintf(judge->hole_text, sizeof(judge->hole_text),
				"operation %" PRIu64
				" is present and an earlier one is missing: %.300s",
				judge->sure - 1, judge->lost_text);
	}
}

static void
count_by_key(struct oracle_judge *judge, bool has_strangers)
{
	for (uint32_t key = 0; key < judge->history.plan->keys; key++) {
		bool is_found = judge->places[key].is_found;
		if (!is_found && oracle_is_counter(judge, key)) {
			judge_counter(judge, key);
			continue;
		}
		if (!is_found)
			judge_stranger(judge, key);
		count_key(judge, key);
	}
	bool is_split = (judge->out->wrongs & 1u << NB_CRASH_SPLIT_BATCH) != 0;
	if (judge->lost == 0 || judge->holes > 0 || has_strangers || is_split)
		return;
	/* A hole between the first and the latest place of a key is not counted above. */
	judge->holes = 1;
	snprintf(judge->hole_text, sizeof(judge->hole_text),
		"no number of operations explains all keys: %.400s", judge->lost_text);
}

/** The number of writes in operations from..to-1. */
static uint64_t
count_writes(const struct crash_plan *plan, uint32_t session, uint64_t from, uint64_t to)
{
	uint64_t count = 0;
	struct crash_op op;
	for (uint64_t i = from; i < to; i++) {
		crash_op_make(&op, plan, session, i);
		count += oracle_writes_of(&op);
	}
	return count;
}

static const char *
batch_name(uint32_t kind)
{
	return kind == CRASH_BATCH ? "a batch" : "a transaction";
}

/**
 * With a cut, all writes after it are lost. The text describes the first of them: a delete,
 * an empty or long value, or a batch shows the author where to search.
 */
static void
count_by_cut(struct oracle_judge *judge)
{
	const struct crash_plan *plan = judge->history.plan;
	uint32_t session = judge->history.session;
	struct crash_op op;
	char quoted[QUOTE_SIZE], what[64];
	judge->lost = count_writes(plan, session, judge->cut, judge->acked);
	if (judge->lost == 0)
		return;
	crash_op_make(&op, plan, session, judge->cut);
	if (op.kind >= CRASH_BATCH)
		snprintf(what, sizeof(what), "%s of %" PRIu32 " writes from",
			batch_name(op.kind), op.count);
	else if (op.kind == CRASH_DEL)
		snprintf(what, sizeof(what), "a delete of");
	else if (oracle_is_counter(judge, op.writes[0].key))
		snprintf(what, sizeof(what), "%s the counter",
			op.kind == CRASH_ADD ? "an addition to" : "a put of");
	else
		snprintf(what, sizeof(what), "a put of %zu bytes under",
			crash_value_size(plan, session, crash_write_number(judge->cut, 0)));
	snprintf(judge->lost_text, sizeof(judge->lost_text),
		"operation %" PRIu64 ", %s key %s, and all later ones are lost; %" PRIu64
		" of them had returned",
		judge->cut, what, quote_key(quoted, judge, op.writes[0].key),
		judge->acked - judge->cut);
}

/** Find out whether one write of an operation is certainly present and another one missing. */
static void
judge_batch(struct oracle_judge *judge, uint64_t number)
{
	struct crash_op op;
	const struct crash_plan *plan = judge->history.plan;
	uint32_t in = UINT32_MAX, out = UINT32_MAX;
	crash_op_make(&op, plan, judge->history.session, number);
	for (uint32_t i = 0; i < op.count; i++) {
		const struct oracle_places *places = &judge->places[op.writes[i].key];
		if (!places->is_found)
			continue;
		bool is_of_it = places->first > 0 &&
			crash_write_op(places->entries[places->first - 1].write) == number &&
			crash_write_op(places->entries[places->latest - 1].write) == number;
		bool is_part = is_of_it && places->latest < places->count &&
			crash_write_op(places->entries[places->latest].write) == number;
		if (is_of_it)
			in = op.writes[i].key;
		if (is_part || places->latest == 0 ||
			crash_write_op(places->entries[places->latest - 1].write) < number)
			out = op.writes[i].key;
	}
	if (in == UINT32_MAX || out == UINT32_MAX)
		return;
	char one[QUOTE_SIZE], other[QUOTE_SIZE];
	crash_report_wrong(judge->out, NB_CRASH_SPLIT_BATCH,
		"operation %" PRIu64 ", %s of %" PRIu32
		" writes, is present in part: in key %s, not in key %s",
		number, op.kind == CRASH_BATCH ? "an atomic batch" : "a transaction", op.count,
		quote_key(one, judge, in), quote_key(other, judge, out));
}

static void
judge_batches(struct oracle_judge *judge)
{
	struct crash_op op;
	for (uint64_t i = judge->start; i < judge->begun; i++) {
		crash_op_make(&op, judge->history.plan, judge->history.session, i);
		if (oracle_writes_of(&op) > 1 && oracle_is_atomic(judge->history.plan, &op))
			judge_batch(judge, i);
	}
}

/** The number of writes in flight that may be present. */
static uint64_t
count_kept(const struct oracle_judge *judge)
{
	uint64_t kept = 0;
	for (uint32_t key = 0; key < judge->history.plan->keys; key++) {
		const struct oracle_places *places = &judge->places[key];
		for (size_t i = 0; places->is_found && i < places->latest; i++)
			kept += crash_write_op(places->entries[i].write) >= judge->acked;
	}
	return kept;
}

static void
add_up(struct oracle_judge *judge)
{
	struct crash_report *out = judge->out;
	const struct crash_plan *plan = judge->history.plan;
	uint32_t session = judge->history.session;
	uint64_t acknowledged = count_writes(plan, session, judge->start, judge->acked);
	out->acknowledged += acknowledged;
	out->in_flight += count_writes(plan, session, judge->acked, judge->begun);
	out->in_flight_kept += count_kept(judge);
	out->lost += judge->lost + judge->older_lost;
	out->survived += acknowledged - judge->lost;
	out->holes += judge->holes;
	if (judge->older_lost > 0 && judge->promise != CRASH_PROMISE_NOTHING)
		crash_report_wrong(out, NB_CRASH_LOST, "%s (such keys: %" PRIu64 ")",
			judge->older_text, judge->older_lost);
	if (judge->lost > 0 && judge->promise == CRASH_PROMISE_ALL)
		crash_report_wrong(out, NB_CRASH_LOST, "%s (writes: %" PRIu64 ")",
			judge->lost_text, judge->lost);
	if (judge->holes > 0 && judge->promise != CRASH_PROMISE_NOTHING)
		crash_report_wrong(out, NB_CRASH_REORDERED, "%s", judge->hole_text);
}

static int
judge_session(struct oracle_judge *judge)
{
	const struct crash_plan *plan = judge->history.plan;
	judge->places = calloc(plan->keys, sizeof(*judge->places));
	judge->changes = calloc(judge->begun - judge->start + 3, sizeof(*judge->changes));
	if (judge->places == NULL || judge->changes == NULL)
		return error_set(NB_FAIL, "out of memory");
	oracle_find_cut(judge);
	judge_batches(judge);
	bool has_strangers = false;
	for (uint32_t key = 0; key < plan->keys; key++)
		has_strangers |= !judge->places[key].is_found;
	if (judge->cut == UINT64_MAX || has_strangers)
		count_by_key(judge, has_strangers);
	else
		count_by_cut(judge);
	add_up(judge);
	return NB_OK;
}

/** Set `last` by the latest place of each key. */
static void
take_state(const struct oracle_judge *judge, uint64_t *last)
{
	for (uint32_t key = 0; key < judge->history.plan->keys; key++) {
		const struct oracle_places *places = &judge->places[key];
		if (!places->is_found)
			last[key] = 0;
		else if (places->latest == 0)
			last[key] = judge->before[key];
		else if (oracle_is_counter(judge, key))
			last[key] = oracle_counter_at(judge, key, places->latest);
		else
			last[key] = places->entries[places->latest - 1].is_delete
				? 0
				: places->entries[places->latest - 1].write;
	}
}

int
crash_judge(struct crash_report *out, const struct crash_oracle *state,
	const struct crash_moment *moment, const struct crash_sight *sights, uint32_t promise,
	uint64_t *last)
{
	const struct crash_plan *plan = state->plan;
	int rc = NB_OK;
	for (uint32_t s = 0; s < plan->sessions && rc == NB_OK; s++) {
		struct oracle_judge judge = {.out = out,
			.sights = sights + (size_t)s * plan->keys,
			.before = state->last + (size_t)s * plan->keys,
			.promise = promise,
			.start = state->start[s],
			.acked = moment->acked[s],
			.begun = moment->begun[s]};
		rc = oracle_history_create(&judge.history, plan, s, moment->begun[s]);
		if (rc != NB_OK)
			break;
		rc = judge_session(&judge);
		if (rc == NB_OK)
			take_state(&judge, last + (size_t)s * plan->keys);
		free(judge.places);
		free(judge.changes);
		oracle_history_destroy(&judge.history);
	}
	out->is_broken = promise != CRASH_PROMISE_NOTHING && out->wrongs != 0;
	return rc;
}

void
crash_judge_unseen(struct crash_report *out, const struct crash_oracle *state,
	const struct crash_moment *moment)
{
	for (uint32_t s = 0; s < state->plan->sessions; s++) {
		uint64_t acked = moment->acked[s];
		uint64_t writes = count_writes(state->plan, s, state->start[s], acked);
		out->acknowledged += writes;
		out->lost += writes;
		out->in_flight += count_writes(state->plan, s, acked, moment->begun[s]);
	}
}
