/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The expected content after a crash, on handmade data. The test applies the first operations
 * one by one to a map, then changes the map as a defective engine might.
 */
#include <stdlib.h>
#include <string.h>

#include "crash/crash.h"
#include "unit.h"

enum { KEYS = 12, SESSIONS = 2, ALL = KEYS * SESSIONS };

/** A database and the knowledge about it. */
static struct world {
	struct crash_plan plan;
	struct crash_oracle state;
	struct crash_moment moment;
	uint64_t has[ALL]; /* write number of each key or value of each counter; 0: none */
	struct crash_sight sights[ALL];
	uint64_t last[ALL];
	struct crash_report report;
} world;

static void
see(size_t at)
{
	static unsigned char value[CRASH_VALUE_MAX];
	struct nb_slice slice = {.data = value};
	if (crash_is_counter(&world.plan, (uint32_t)(at % KEYS)))
		slice = (struct nb_slice){.data = &world.has[at], .size = sizeof(uint64_t)};
	else if (world.has[at] != 0)
		slice.size = crash_value_make(
			value, &world.plan, (uint32_t)(at / KEYS), world.has[at]);
	crash_sight_take(&world.sights[at], &world.plan, world.has[at] != 0 ? &slice : NULL);
}

static void
apply_write(uint32_t session, const struct crash_write *write, uint64_t number)
{
	uint64_t *has = &world.has[session * KEYS + write->key];
	uint64_t value = crash_is_counter(&world.plan, write->key)
		? crash_operand(&world.plan, session, number) + (write->is_add ? *has : 0)
		: number;
	*has = write->is_delete ? 0 : value;
}

/** Apply operations from..to-1 of a session to `has`. */
static void
apply(uint32_t session, uint64_t from, uint64_t to)
{
	struct crash_op op;
	for (uint64_t i = from; i < to; i++) {
		crash_op_make(&op, &world.plan, session, i);
		for (uint32_t k = 0; k < op.count && op.kind != CRASH_ABORT; k++)
			apply_write(session, &op.writes[k], crash_write_number(i, k));
	}
}

/** Whether plans also have transactions and counters. */
static bool has_more;

/**
 * `start` operations were executed before the round, and `acked` have returned. All of them are
 * in the database.
 */
static void
begin(uint64_t start, uint64_t acked, uint64_t begun, bool is_atomic)
{
	free(world.state.last);
	memset(&world, 0, sizeof(world));
	world.plan = (struct crash_plan){.seed = 5,
		.sessions = SESSIONS,
		.keys = KEYS,
		.key_size_max = CRASH_KEY_MAX,
		.has_batches = true,
		.is_atomic = is_atomic,
		.has_txns = has_more,
		.has_execute = has_more,
		.has_counters = has_more};
	ck_assert_int_eq(crash_oracle_create(&world.state, &world.plan), NB_OK);
	for (uint32_t s = 0; s < SESSIONS; s++) {
		apply(s, 0, start);
		world.state.start[s] = start;
		world.moment.acked[s] = acked;
		world.moment.begun[s] = begun;
	}
	memcpy(world.state.last, world.has, sizeof(world.has));
	for (uint32_t s = 0; s < SESSIONS; s++)
		apply(s, start, acked);
	for (size_t i = 0; i < ALL; i++)
		see(i);
}

static void
judge(uint32_t promise)
{
	memset(&world.report, 0, sizeof(world.report));
	ck_assert_int_eq(crash_judge(&world.report, &world.state, &world.moment, world.sights,
				 promise, world.last),
		NB_OK);
}

/**
 * The report has exactly these findings. If it has any, a promise is broken, unless nothing is
 * promised.
 */
static void
finds(uint32_t promise, uint32_t wrongs)
{
	judge(promise);
	ck_assert_msg(world.report.wrongs == wrongs, "%x, not %x: %s", world.report.wrongs,
		wrongs, world.report.text);
	ck_assert_int_eq(
		world.report.is_broken, wrongs != 0 && promise != CRASH_PROMISE_NOTHING);
}

#define BIT(wrong) (1u << NB_CRASH_##wrong)

/** The last write of a key before operation `end`; 0: none. */
static uint64_t
writer_of(uint32_t session, uint32_t key, uint64_t end, bool *is_delete)
{
	struct crash_op op;
	uint64_t found = 0;
	for (uint64_t i = 0; i < end; i++) {
		crash_op_make(&op, &world.plan, session, i);
		for (uint32_t k = 0; k < op.count; k++)
			if (op.writes[k].key == key) {
				found = crash_write_number(i, k);
				*is_delete = op.writes[k].is_delete;
			}
	}
	return found;
}

static uint64_t
writes_in(uint32_t session, uint64_t from, uint64_t to)
{
	struct crash_op op;
	uint64_t count = 0;
	for (uint64_t i = from; i < to; i++) {
		crash_op_make(&op, &world.plan, session, i);
		count += op.kind != CRASH_ABORT ? op.count : 0;
	}
	return count;
}

/**
 * A key of session 0 whose value identifies its write, put by one of the operations
 * least..below-1.
 */
static size_t
told_key_of(uint64_t least, uint64_t below)
{
	for (size_t i = 0; i < KEYS; i++)
		if (world.has[i] != 0 && crash_write_op(world.has[i]) >= least &&
			crash_write_op(world.has[i]) < below &&
			crash_value_size(&world.plan, 0, world.has[i]) >= CRASH_VALUE_TELLS)
			return i;
	ck_abort_msg("the key does not exist");
	return 0;
}

static size_t
told_key(uint64_t least)
{
	return told_key_of(least, UINT64_MAX);
}

static void
returned_and_in_flight(void)
{
	for (uint64_t acked = 30; acked < 90; acked++)
		for (int kept = 0; kept < 2; kept++) {
			begin(30, acked, acked + 1, true);
			if (kept != 0)
				for (uint32_t s = 0; s < SESSIONS; s++)
					apply(s, acked, acked + 1);
			for (size_t i = 0; i < ALL; i++)
				see(i);
			finds(CRASH_PROMISE_ALL, 0);
			ck_assert_uint_eq(world.report.lost, 0);
			ck_assert_uint_eq(world.report.acknowledged,
				writes_in(0, 30, acked) + writes_in(1, 30, acked));
			ck_assert_uint_eq(world.report.survived, world.report.acknowledged);
			ck_assert_uint_eq(world.report.in_flight,
				writes_in(0, acked, acked + 1) +
					writes_in(1, acked, acked + 1));
			ck_assert_uint_le(world.report.in_flight_kept, world.report.in_flight);
			if (kept != 0)
				ck_assert_uint_eq(
					world.report.in_flight_kept, world.report.in_flight);
		}
}

TEST(returned_writes_are_required_and_writes_in_flight_optional)
{
	returned_and_in_flight();
	has_more = true;
	returned_and_in_flight();
}

TEST(observed_state_becomes_the_expected_state)
{
	begin(0, 60, 61, true);
	judge(CRASH_PROMISE_ALL);
	/* equal short values cannot be distinguished */
	for (size_t i = 0; i < ALL; i++)
		ck_assert(world.last[i] == world.has[i] ||
			crash_value_size(&world.plan, (uint32_t)(i / KEYS), world.has[i]) <
				CRASH_VALUE_TELLS);
}

TEST(lost_end_breaks_all_but_not_order)
{
	for (uint64_t kept = 20; kept < 50; kept++) {
		begin(20, 50, 51, true);
		memcpy(world.has, world.state.last, sizeof(world.has));
		apply(0, 20, kept);
		apply(1, 20, 50); /* the other session has lost nothing */
		for (size_t i = 0; i < ALL; i++)
			see(i);
		judge(CRASH_PROMISE_ORDER);
		ck_assert_msg(world.report.wrongs == 0, "%s", world.report.text);
		ck_assert_uint_eq(world.report.holes, 0);
		/* A lost write does not count if the values do not show the loss. */
		ck_assert_uint_le(world.report.lost, writes_in(0, kept, 50));
		ck_assert(world.report.lost > 0 || kept >= 48);
		bool is_lost = world.report.lost > 0;
		finds(CRASH_PROMISE_ALL, is_lost ? BIT(LOST) : 0);
		finds(CRASH_PROMISE_NOTHING, 0);
		ck_assert_uint_eq(
			world.report.lost + world.report.survived, world.report.acknowledged);
	}
}

TEST(hole_breaks_order)
{
	begin(20, 80, 80, true);
	bool is_delete = false;
	size_t at = told_key_of(20, 75); /* later operations are in the database */
	uint64_t before = writer_of(0, (uint32_t)at, crash_write_op(world.has[at]), &is_delete);
	struct crash_op op;
	crash_op_make(&op, &world.plan, 0, crash_write_op(world.has[at]));
	world.has[at] = is_delete ? 0 : before;
	see(at);
	uint32_t split = op.kind == CRASH_BATCH ? BIT(SPLIT_BATCH) : 0;
	judge(CRASH_PROMISE_ORDER);
	ck_assert_uint_eq(world.report.wrongs & ~split, BIT(REORDERED));
	ck_assert_uint_ge(world.report.holes, 1);
	judge(CRASH_PROMISE_ALL);
	ck_assert_uint_eq(world.report.wrongs & ~split, BIT(REORDERED) | BIT(LOST));
	judge(CRASH_PROMISE_NOTHING);
	ck_assert_uint_eq(world.report.wrongs & ~split, 0);
	ck_assert_uint_ge(world.report.holes, 1);
}

TEST(cut_value_is_torn)
{
	static unsigned char value[CRASH_VALUE_MAX];
	begin(20, 60, 60, true);
	size_t at = told_key(20);
	struct nb_slice slice = {.data = value};
	slice.size = crash_value_make(value, &world.plan, 0, world.has[at]) / 2;
	crash_sight_take(&world.sights[at], &world.plan, &slice);
	judge(CRASH_PROMISE_ALL);
	ck_assert_uint_ne(world.report.wrongs & BIT(TORN), 0);
	ck_assert_uint_eq(world.report.worst, NB_CRASH_TORN);
	finds(CRASH_PROMISE_NOTHING, BIT(TORN)); /* reported, although nothing is promised */
}

TEST(value_without_a_size_is_torn_and_not_read)
{
	static const struct nb_slice slice = {NULL, (size_t)-1};
	begin(20, 60, 60, true);
	crash_sight_take(&world.sights[told_key(20)], &world.plan, &slice);
	judge(CRASH_PROMISE_ALL);
	ck_assert_uint_eq(world.report.worst, NB_CRASH_TORN);
}

TEST(value_of_another_key_is_a_ghost)
{
	begin(20, 60, 60, true);
	size_t at = told_key(0), other = at;
	while (other == at || world.has[other] == 0)
		other = (other + 1) % KEYS;
	world.sights[other] = world.sights[at];
	judge(CRASH_PROMISE_ALL);
	ck_assert_uint_eq(world.report.worst, NB_CRASH_GHOST);
	begin(20, 60, 60, true);
	world.sights[KEYS] = world.sights[told_key(0)]; /* the value of another session */
	judge(CRASH_PROMISE_ALL);
	ck_assert_uint_eq(world.report.worst, NB_CRASH_GHOST);
}

TEST(value_whose_write_had_not_begun_is_a_ghost)
{
	begin(20, 60, 60, true);
	uint64_t end = 60;
	struct crash_op op;
	do
		crash_op_make(&op, &world.plan, 0, end++);
	while (op.kind != CRASH_PUT ||
		crash_value_size(&world.plan, 0, crash_write_number(end - 1, 0)) <
			CRASH_VALUE_TELLS);
	world.has[op.writes[0].key] = crash_write_number(end - 1, 0);
	see(op.writes[0].key);
	judge(CRASH_PROMISE_ORDER);
	ck_assert_uint_eq(world.report.worst, NB_CRASH_GHOST);
}

TEST(missing_older_data_is_lost)
{
	begin(60, 60, 60, true); /* the round executed no operations */
	size_t at = told_key(0);
	world.has[at] = 0;
	see(at);
	finds(CRASH_PROMISE_ORDER, BIT(LOST));
	ck_assert_uint_eq(world.report.lost, 1);
	finds(CRASH_PROMISE_NOTHING, 0);
}

TEST(overwritten_older_value_is_lost)
{
	for (uint64_t end = 20; end < 60; end++) {
		bool is_delete = true;
		begin(60, 60, 60, true);
		size_t at = told_key(20);
		uint64_t before = writer_of(0, (uint32_t)at, end, &is_delete);
		if (before == 0 || before == world.has[at])
			continue;
		world.has[at] = is_delete ? 0 : before;
		see(at);
		finds(CRASH_PROMISE_ALL, BIT(LOST));
	}
}

TEST(deleted_key_that_reappears_counts_as_lost)
{
	size_t found = 0;
	for (uint64_t end = 20; end < 120; end++) {
		begin(end, end, end, true);
		struct crash_op op;
		crash_op_make(&op, &world.plan, 0, end - 1);
		if (op.kind != CRASH_DEL)
			continue;
		bool is_delete = true;
		uint64_t before = writer_of(0, op.writes[0].key, end - 1, &is_delete);
		if (is_delete || crash_value_size(&world.plan, 0, before) < CRASH_VALUE_TELLS)
			continue;
		world.has[op.writes[0].key] = before;
		see(op.writes[0].key);
		finds(CRASH_PROMISE_ALL, BIT(LOST));
		found++;
	}
	ck_assert_uint_gt(found, 0);
}

TEST(lost_data_that_reappears_is_unstable)
{
	begin(60, 60, 60, true);
	size_t at = told_key(20);
	bool is_delete = true;
	uint64_t before = writer_of(0, (uint32_t)at, crash_write_op(world.has[at]), &is_delete);
	world.state.last[at] = is_delete ? 0 : before; /* as an earlier inspection saw it */
	finds(CRASH_PROMISE_NOTHING, BIT(UNSTABLE));
	finds(CRASH_PROMISE_ORDER, BIT(UNSTABLE));
}

/** The first batch of this kind, from `from` on, whose first two writes put different keys. */
static uint64_t
find_batch(uint64_t from, struct crash_op *op, uint32_t kind)
{
	for (;; from++) {
		crash_op_make(op, &world.plan, 0, from);
		if (op->kind == kind && !crash_is_counter(&world.plan, op->writes[0].key) &&
			!crash_is_counter(&world.plan, op->writes[1].key) && op->count > 1 &&
			!op->writes[0].is_delete && op->writes[0].key != op->writes[1].key &&
			!op->writes[1].is_delete &&
			crash_value_size(&world.plan, 0, crash_write_number(from, 0)) >=
				CRASH_VALUE_TELLS &&
			crash_value_size(&world.plan, 0, crash_write_number(from, 1)) >=
				CRASH_VALUE_TELLS)
			return from;
	}
}

/**
 * A batch that is in flight or has returned, of which only the first write is in the database.
 */
static void
split(bool is_atomic, bool has_returned, uint32_t kind)
{
	struct crash_op op;
	begin(20, 20, 20, is_atomic);
	uint64_t batch = find_batch(40, &op, kind);
	begin(20, batch, batch + 1, is_atomic);
	world.moment.acked[0] += has_returned;
	world.has[op.writes[0].key] = crash_write_number(batch, 0);
	see(op.writes[0].key);
}

TEST(partial_atomic_batch_is_split)
{
	split(true, false, CRASH_BATCH);
	finds(CRASH_PROMISE_ALL, BIT(SPLIT_BATCH));
	ck_assert_ptr_nonnull(strstr(world.report.text, "is present in part"));
	finds(CRASH_PROMISE_ORDER, BIT(SPLIT_BATCH));
	split(true, true, CRASH_BATCH);
	judge(CRASH_PROMISE_ORDER);
	ck_assert_uint_eq(world.report.worst, NB_CRASH_SPLIT_BATCH);
	finds(CRASH_PROMISE_NOTHING, BIT(SPLIT_BATCH));
}

TEST(non_atomic_batch_in_flight_may_be_partial)
{
	split(false, false, CRASH_BATCH);
	finds(CRASH_PROMISE_ALL, 0);
	finds(CRASH_PROMISE_ORDER, 0);
	ck_assert_uint_ge(world.report.in_flight_kept, 1);
	split(false, true, CRASH_BATCH);
	judge(CRASH_PROMISE_ALL);
	ck_assert_uint_ne(world.report.wrongs & BIT(LOST), 0);
	ck_assert_uint_eq(world.report.wrongs & BIT(SPLIT_BATCH), 0);
}

/** The first put, from operation `from` on, to a key that operation `but` does not write. */
static uint64_t
find_put(uint64_t from, const struct crash_op *but, struct crash_op *op)
{
	for (;; from++) {
		bool is_same = false;
		crash_op_make(op, &world.plan, 0, from);
		for (uint32_t k = 0; k < but->count; k++)
			is_same |= op->writes[0].key == but->writes[k].key;
		if (op->kind == CRASH_PUT && !is_same &&
			crash_value_size(&world.plan, 0, crash_write_number(from, 0)) >=
				CRASH_VALUE_TELLS)
			return from;
	}
}

TEST(last_non_atomic_batch_may_be_partial)
{
	struct crash_op batch, op;
	split(false, true, CRASH_BATCH);
	uint64_t number = find_batch(40, &batch, CRASH_BATCH);
	uint64_t later = find_put(number + 1, &batch, &op);
	world.moment.acked[0] = world.moment.begun[0] = later + 1;
	finds(CRASH_PROMISE_ORDER, 0);
	ck_assert_uint_eq(world.report.lost, writes_in(0, number, later + 1));
	finds(CRASH_PROMISE_ALL, BIT(LOST));
	/* A violation if a later operation is in the database. */
	world.has[op.writes[0].key] = crash_write_number(later, 0);
	see(op.writes[0].key);
	finds(CRASH_PROMISE_ORDER, BIT(REORDERED));
}

TEST(partial_transaction_is_split)
{
	has_more = true;
	for (uint32_t kind = CRASH_EXECUTE; kind <= CRASH_COMMIT; kind++) {
		split(false, false, kind); /* correct for a non-atomic batch */
		finds(CRASH_PROMISE_ALL, BIT(SPLIT_BATCH));
		ck_assert_ptr_nonnull(strstr(world.report.text, "a transaction of"));
	}
}

TEST(aborted_transaction_is_a_ghost)
{
	struct crash_op op;
	has_more = true;
	begin(20, 20, 20, true);
	uint64_t number = find_batch(40, &op, CRASH_ABORT);
	begin(20, number + 1, number + 1, true);
	world.has[op.writes[0].key] = crash_write_number(number, 0);
	see(op.writes[0].key);
	judge(CRASH_PROMISE_ALL);
	ck_assert_uint_eq(world.report.worst, NB_CRASH_GHOST);
	ck_assert_ptr_nonnull(strstr(world.report.text, "a transaction that was aborted"));
}

enum { COUNTER = 5, COUNTED = 220 };

/**
 * The operand of the last addition to the counter or, if `is_last` is false, of the one before.
 */
static uint64_t
added(bool is_last)
{
	struct crash_op op;
	uint64_t before = 0, last = 0;
	for (uint64_t i = 20; i < COUNTED; i++) {
		crash_op_make(&op, &world.plan, 0, i);
		for (uint32_t k = 0; k < op.count && op.kind != CRASH_ABORT; k++) {
			if (op.writes[k].key != COUNTER)
				continue;
			before = op.writes[k].is_add ? last : 0;
			last = op.writes[k].is_add
				? crash_operand(&world.plan, 0, crash_write_number(i, k))
				: 0;
		}
	}
	ck_assert(before != 0 && last != 0);
	return is_last ? last : before;
}

static void
judge_counter(uint64_t change, uint32_t worst, const char *text)
{
	world.has[COUNTER] += change;
	see(COUNTER);
	judge(CRASH_PROMISE_ORDER);
	ck_assert_msg(world.report.wrongs == 1u << worst, "%s", world.report.text);
	ck_assert_msg(strstr(world.report.text, text) != NULL, "%s", world.report.text);
	world.has[COUNTER] -= change;
}

TEST(counter_is_a_sum_of_its_first_additions)
{
	has_more = true;
	begin(20, COUNTED, COUNTED, true);
	judge_counter(-added(false), NB_CRASH_LOST, "not at all, although later ones are");
	judge_counter(added(false), NB_CRASH_TORN, "which is there twice");
	judge_counter(added(true), NB_CRASH_TORN, "which is there twice");
	judge_counter(1, NB_CRASH_TORN, " instead of ");
	crash_sight_take(&world.sights[COUNTER], &world.plan, &(struct nb_slice){"ab", 2});
	judge(CRASH_PROMISE_ORDER);
	ck_assert_ptr_nonnull(strstr(world.report.text, "has 2 bytes that are not a sum"));
}

TEST(counters_continue_from_the_observed_sum)
{
	has_more = true;
	for (uint64_t start = 20; start < 60; start++) {
		begin(start, start + 20, start + 20, true);
		world.state.last[COUNTER] += 7; /* as after a loss */
		memcpy(world.has, world.state.last, sizeof(world.has));
		for (uint32_t s = 0; s < SESSIONS; s++)
			apply(s, start, start + 20);
		for (size_t i = 0; i < ALL; i++)
			see(i);
		finds(CRASH_PROMISE_ALL, 0);
		ck_assert_uint_eq(world.last[COUNTER], world.has[COUNTER]);
	}
}

TEST(empty_and_short_values_are_not_guessed)
{
	/* A key with only empty values shows nothing, whatever was lost. */
	begin(20, 60, 61, true);
	world.plan.value_size_max = 1; /* half are empty, half have one byte */
	for (uint64_t kept = 20; kept <= 60; kept++) {
		memcpy(world.has, world.state.last, sizeof(world.has));
		for (uint32_t s = 0; s < SESSIONS; s++)
			apply(s, 20, kept);
		for (size_t i = 0; i < ALL; i++)
			see(i);
		finds(CRASH_PROMISE_ORDER, 0);
	}
	finds(CRASH_PROMISE_ALL, 0);
}

TEST(unreadable_record_is_lost)
{
	begin(20, 50, 51, true);
	crash_judge_unseen(&world.report, &world.state, &world.moment);
	uint64_t writes = writes_in(0, 20, 50) + writes_in(1, 20, 50);
	ck_assert_uint_eq(world.report.acknowledged, writes);
	ck_assert_uint_eq(world.report.lost, writes);
	ck_assert_uint_eq(world.report.survived, 0);
	ck_assert_uint_eq(world.report.in_flight, writes_in(0, 50, 51) + writes_in(1, 50, 51));
}

TEST(worst_finding_is_reported)
{
	struct crash_report report = {0};
	crash_report_wrong(&report, NB_CRASH_LOST, "lost %d", 1);
	crash_report_wrong(&report, NB_CRASH_TORN, "torn");
	crash_report_wrong(&report, NB_CRASH_TORN, "torn as well");
	crash_report_wrong(&report, NB_CRASH_SCAN, "scan");
	ck_assert_uint_eq(report.worst, NB_CRASH_TORN);
	ck_assert_str_eq(report.text, "torn");
	ck_assert_uint_eq(report.wrongs, BIT(LOST) | BIT(TORN) | BIT(SCAN));
}

TEST(bytes_of_an_engines_message_become_text)
{
	struct crash_report report = {0};
	crash_report_wrong(&report, NB_CRASH_LOST, "key \xff\x1b[2J of %s", "\xc3\xa9t\xc3");
	ck_assert_str_eq(report.text, "key ? [2J of \xc3\xa9t?");
}

TEST(promises_match_the_readme)
{
	static const uint32_t kill[] = {
		CRASH_PROMISE_NOTHING, CRASH_PROMISE_ALL, CRASH_PROMISE_ALL, CRASH_PROMISE_ALL};
	static const uint32_t power[] = {CRASH_PROMISE_NOTHING, CRASH_PROMISE_NOTHING,
		CRASH_PROMISE_ORDER, CRASH_PROMISE_ALL};
	for (uint32_t level = 0; level <= NB_DUR_COMMIT; level++) {
		ck_assert_uint_eq(crash_promise(NB_CRASH_KILL, level), kill[level]);
		ck_assert_uint_eq(crash_promise(NB_CRASH_POWER, level), power[level]);
	}
}
