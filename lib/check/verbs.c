/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The optional verbs except scans: each is missing or behaves as engine.h says. Nothing is
 * required that the engine does not offer, and each write is confirmed with a get.
 */
#include <stdio.h>
#include <string.h>

#include "check/suite.h"

static bool
open_with(struct suite *s, struct nb_slice key, struct nb_slice value)
{
	return suite_open(s) && put(s, key, value);
}

static int
insert(struct suite *s, struct nb_slice value)
{
	host_forget();
	return s->engine->insert(s->main.session, SLICE("key"), value);
}

PROMISE(insert_keeps_what_is_there)
{
	if (!suite_open(s) || !suite_ok(s, "insert of a new key", insert(s, SLICE("first"))))
		return false;
	int rc = insert(s, SLICE("second"));
	if (rc != NB_EXISTS)
		return suite_wrong(s, "insert of an existing key", rc, "NB_EXISTS");
	return has(s, SLICE("key"), SLICE("first")) && del(s, SLICE("key")) &&
		suite_ok(s, "insert of a deleted key", insert(s, SLICE("third"))) &&
		has(s, SLICE("key"), SLICE("third"));
}

enum { MANY = 100 }; /* for a batch or a multi_get: more than fit into a small array */

static struct nb_slice
many_key(unsigned char i)
{
	static unsigned char keys[MANY][2];
	keys[i][0] = 'm';
	keys[i][1] = i;
	return (struct nb_slice){keys[i], sizeof(keys[i])};
}

static struct nb_slice
many_value(unsigned char i)
{
	static unsigned char values[MANY][20];
	bytes_fill(values[i], sizeof(values[i]), i);
	return (struct nb_slice){values[i], sizeof(values[i])};
}

/** Check that multi_get returns the wanted value of each key; data NULL: the key is missing. */
static bool
expect_values(struct suite *s, const struct nb_slice *keys, const struct nb_slice *wanted,
	size_t count)
{
	struct nb_slice values[MANY] = {{0}};
	int32_t answers[MANY];
	char call[64];
	snprintf(call, sizeof(call), "multi_get of %zu keys", count);
	memset(answers, 0x55, sizeof(answers));
	host_forget();
	int rc = s->engine->multi_get(s->main.session, keys, count, values, answers);
	if (rc != NB_OK)
		return suite_wrong(s, call, rc, "NB_OK");
	bool is_right = true;
	for (size_t i = 0; is_right && i < count; i++) {
		int32_t right = wanted[i].data != NULL ? NB_OK : NB_NOT_FOUND;
		if (answers[i] != right)
			is_right = suite_break(s, "%s answered %s for key %zu, not %s", call,
				answer_name(answers[i]), i, answer_name(right));
		else if (right == NB_OK && !slice_equal(values[i], wanted[i]))
			is_right = suite_break(
				s, "%s lent another value than was put, for key %zu", call, i);
	}
	session_release(s, s->main.session);
	return is_right;
}

PROMISE(multi_get_answers_as_get_does)
{
	const struct nb_slice keys[] = {
		SLICE("b"), SLICE("no"), SLICE("a"), SLICE("b"), SLICE("e")};
	const struct nb_slice wanted[] = {
		SLICE("value b"), {0}, SLICE("value a"), SLICE("value b"), SLICE("")};
	struct nb_slice many_keys[MANY], many_wanted[MANY];
	if (!open_with(s, keys[0], wanted[0]) || !put(s, keys[2], wanted[2]) ||
		!put(s, keys[4], wanted[4]) || !expect_values(s, keys, wanted, COUNT_OF(keys)))
		return false;
	for (unsigned char i = 0; i < MANY; i++) {
		many_keys[i] = many_key(i);
		many_wanted[i] = i % 3 == 0 ? many_value(i) : (struct nb_slice){0};
		if (i % 3 == 0 && !put(s, many_keys[i], many_wanted[i]))
			return false;
	}
	return expect_values(s, keys, wanted, 0) &&
		expect_values(s, many_keys, many_wanted, MANY);
}

static bool
batch(struct suite *s, const char *call, const struct nb_write *writes, size_t count)
{
	host_forget();
	return suite_ok(s, call, s->engine->batch(s->main.session, writes, count, 0));
}

PROMISE(batch_is_applied_in_order)
{
	const struct nb_write writes[] = {
		{.key = SLICE("a"), .value = SLICE("1")},
		{.key = SLICE("b"), .value = SLICE("1")},
		{.key = SLICE("a"), .value = SLICE("2")},
		{.key = SLICE("b"), .is_delete = 1},
		{.key = SLICE("c"), .is_delete = 1},
		{.key = SLICE("c"), .value = SLICE("3")},
		{.key = SLICE("nil"), .is_delete = 1},
		{.key = SLICE("old"), .is_delete = 1},
	};
	struct nb_write many[MANY];
	if (!open_with(s, SLICE("old"), SLICE("0")) ||
		!batch(s, "batch", writes, COUNT_OF(writes)) ||
		!has(s, SLICE("a"), SLICE("2")) || !lacks(s, SLICE("b")) ||
		!has(s, SLICE("c"), SLICE("3")) || !lacks(s, SLICE("old")) ||
		!batch(s, "batch of no writes", writes, 0))
		return false;
	for (unsigned char i = 0; i < MANY; i++)
		many[i] = (struct nb_write){.key = many_key(i), .value = many_value(i)};
	if (!batch(s, "batch of 100 writes", many, MANY))
		return false;
	for (unsigned char i = 0; i < MANY; i++)
		if (!has(s, many_key(i), many_value(i)))
			return false;
	return true;
}

PROMISE(atomic_batch_is_honoured_or_refused)
{
	const struct nb_write writes[] = {
		{.key = SLICE("a"), .value = SLICE("1")},
		{.key = SLICE("old"), .is_delete = 1},
	};
	if (!open_with(s, SLICE("old"), SLICE("0")))
		return false;
	host_forget();
	int rc = s->engine->batch(s->main.session, writes, 2, NB_BATCH_ATOMIC);
	if ((s->engine->caps & NB_CAP_ATOMIC_BATCH) != 0)
		return suite_ok(s, "atomic batch, which the engine offers,", rc) &&
			has(s, SLICE("a"), SLICE("1")) && lacks(s, SLICE("old"));
	if (rc != NB_UNSUPPORTED)
		return suite_wrong(s, "atomic batch, which the engine does not offer,", rc,
			"NB_UNSUPPORTED");
	return suite_failed(s, "atomic batch", rc) && lacks(s, SLICE("a")) &&
		has(s, SLICE("old"), SLICE("0"));
}

PROMISE(atomic_batch_that_fails_leaves_nothing)
{
	uint64_t max = s->engine->key_size_max;
	if (max == 0 || max >= SUITE_LONG)
		return suite_skip(s,
			"the suite tries no key that is too long for it, so no write is sure to fail");
	if (!open_with(s, SLICE("old"), SLICE("0")))
		return false;
	const struct nb_write writes[] = {
		{.key = SLICE("a"), .value = SLICE("1")},
		{.key = SLICE("old"), .is_delete = 1},
		{.key = suite_value(s, (size_t)max + 1, s->args->seed), .value = SLICE("2")},
	};
	host_forget();
	int rc = s->engine->batch(s->main.session, writes, 3, NB_BATCH_ATOMIC);
	if (rc == NB_OK)
		return suite_skip(
			s, "it accepts a key that is too long, so no write is sure to fail");
	return suite_failed(s, "atomic batch with a key that is too long", rc) &&
		lacks(s, SLICE("a")) && has(s, SLICE("old"), SLICE("0"));
}

/** Begin a transaction, add, overwrite and delete a key, and find all three changes. */
static bool
write_in_transaction(struct suite *s)
{
	if (!open_with(s, SLICE("old"), SLICE("0")) || !put(s, SLICE("gone"), SLICE("0")))
		return false;
	host_forget();
	if (!suite_ok(s, "begin", s->engine->begin(s->main.session, 0)))
		return false;
	bool is_done = put(s, SLICE("new"), SLICE("1")) && put(s, SLICE("old"), SLICE("1")) &&
		del(s, SLICE("gone")) && has(s, SLICE("new"), SLICE("1")) &&
		has(s, SLICE("old"), SLICE("1")) && lacks(s, SLICE("gone"));
	if (!is_done)
		s->engine->abort(s->main.session);
	return is_done;
}

PROMISE(aborted_transaction_leaves_nothing)
{
	if (!write_in_transaction(s))
		return false;
	s->engine->abort(s->main.session);
	return lacks(s, SLICE("new")) && has(s, SLICE("old"), SLICE("0")) &&
		has(s, SLICE("gone"), SLICE("0"));
}

PROMISE(committed_transaction_is_kept_whole)
{
	if (!write_in_transaction(s))
		return false;
	host_forget();
	return suite_ok(s, "commit of the only transaction",
		       s->engine->commit(s->main.session)) &&
		has(s, SLICE("new"), SLICE("1")) && has(s, SLICE("old"), SLICE("1")) &&
		lacks(s, SLICE("gone"));
}

PROMISE(flush_settles_or_says_it_cannot)
{
	static const char *const calls[] = {
		"flush(NB_SETTLE_FLUSH)", "flush(NB_SETTLE_COMPACT)"};
	bool keeps = (s->engine->caps & NB_CAP_SYNTHETIC) == 0;
	if (!open_with(s, SLICE("key"), SLICE("value")))
		return false;
	for (uint32_t upto = NB_SETTLE_FLUSH; upto <= NB_SETTLE_COMPACT; upto++) {
		host_forget();
		int rc = s->engine->flush(s->main.db, upto);
		if (rc != NB_OK && rc != NB_UNSUPPORTED)
			return suite_wrong(s, calls[upto], rc, "NB_OK or NB_UNSUPPORTED");
		if (keeps && !has(s, SLICE("key"), SLICE("value")))
			return false;
	}
	return true;
}

PROMISE(checkpoint_loses_nothing)
{
	if (!open_with(s, SLICE("key"), SLICE("value")))
		return false;
	host_forget();
	return suite_ok(s, "checkpoint", s->engine->checkpoint(s->main.db)) &&
		has(s, SLICE("key"), SLICE("value")) &&
		((s->engine->caps & NB_CAP_PERSISTENT) == 0 ||
			(suite_reopen(s, 0) && has(s, SLICE("key"), SLICE("value"))));
}

/** Call tick at any time: between single verbs and in a transaction. */
PROMISE(tick_changes_nothing)
{
	if (!open_with(s, SLICE("key"), SLICE("value")))
		return false;
	for (int i = 0; i < 3; i++) {
		host_forget();
		if (!suite_ok(s, "tick", s->engine->tick(s->main.session)) ||
			!has(s, SLICE("key"), SLICE("value")) || !lacks(s, SLICE("none")) ||
			!put(s, SLICE("other"), SLICE("value")))
			return false;
	}
	if (s->engine->begin == NULL)
		return true;
	host_forget();
	bool is_right = suite_ok(s, "begin", s->engine->begin(s->main.session, 0)) &&
		put(s, SLICE("key"), SLICE("second")) &&
		suite_ok(s, "tick in a transaction", s->engine->tick(s->main.session)) &&
		has(s, SLICE("key"), SLICE("second"));
	s->engine->abort(s->main.session);
	return is_right && has(s, SLICE("key"), SLICE("value"));
}

PROMISE(reset_removes_every_record)
{
	if (!suite_open(s))
		return false;
	for (unsigned char i = 0; i < MANY; i++)
		if (!put(s, many_key(i), many_value(i)))
			return false;
	if (!suite_close_session(s))
		return false;
	host_forget();
	if (!suite_ok(s, "reset", s->engine->reset(s->main.db)) ||
		!suite_open_session(s, "session_open after reset", 0))
		return false;
	for (unsigned char i = 0; i < MANY; i++)
		if (!lacks(s, many_key(i)))
			return false;
	return put(s, many_key(0), SLICE("new")) && has(s, many_key(0), SLICE("new"));
}

/* --- counters --- */

enum { STATS_MAX = 256 };

struct stats {
	struct suite *suite;
	uint32_t count;
	struct {
		char name[64];
		uint32_t kind;
		uint64_t value;
	} all[STATS_MAX];
};

static void
keep_stat(void *to, const char *name, const char *unit, uint32_t kind, uint64_t value)
{
	struct stats *stats = to;
	if (name == NULL || name[0] == '\0') {
		suite_break(stats->suite, "a counter has no name");
		return;
	}
	if (unit == NULL || unit[0] == '\0')
		suite_break(stats->suite, "counter %s has no unit", name);
	if (kind != NB_STAT_COUNTER && kind != NB_STAT_GAUGE)
		suite_break(stats->suite, "counter %s has the unknown kind %u", name,
			(unsigned)kind);
	if (stats->count == STATS_MAX)
		return;
	snprintf(stats->all[stats->count].name, sizeof(stats->all[0].name), "%s", name);
	stats->all[stats->count].kind = kind;
	stats->all[stats->count++].value = value;
}

PROMISE(statistics_have_names_and_units)
{
	static struct stats stats;
	stats = (struct stats){.suite = s};
	if (!open_with(s, SLICE("key"), SLICE("value")))
		return false;
	s->engine->stats(s->main.db, keep_stat, &stats);
	if (stats.count == 0)
		return suite_break(s, "stats emits nothing: leave it NULL");
	for (uint32_t i = 0; i < stats.count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(stats.all[i].name, stats.all[j].name) == 0)
				return suite_break(
					s, "counter %s is emitted twice", stats.all[i].name);
	return true;
}

PROMISE(counters_only_grow)
{
	static struct stats before, after;
	before = after = (struct stats){.suite = s};
	if (!suite_open(s))
		return false;
	s->engine->stats(s->main.db, keep_stat, &before);
	for (unsigned i = 0; i < 200; i++)
		if (!put(s, (struct nb_slice){.data = &i, .size = sizeof(i)},
			    suite_value(s, 1000, i)))
			return false;
	s->engine->stats(s->main.db, keep_stat, &after);
	for (uint32_t i = 0; i < before.count; i++)
		for (uint32_t j = 0; j < after.count; j++)
			if (strcmp(before.all[i].name, after.all[j].name) == 0 &&
				before.all[i].kind == NB_STAT_COUNTER &&
				after.all[j].value < before.all[i].value)
				return suite_break(s, "counter %s fell from %llu to %llu",
					before.all[i].name,
					(unsigned long long)before.all[i].value,
					(unsigned long long)after.all[j].value);
	return true;
}
