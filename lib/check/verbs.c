/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The optional verbs but for scans: each is either not there, or does what
 * engine.h says. Nothing is asked of an engine that it has not offered, and
 * what it has offered is never taken for done without a get that shows it.
 */
#include <stdio.h>
#include <string.h>

#include "check/suite.h"

static bool
open_with(struct suite *s, struct nb_slice key, struct nb_slice value)
{
	return suite_open(s) && expect_put(s, s->main.session, key, value);
}

void
check_insert_keeps_the_first(struct suite *s)
{
	if (!suite_open(s))
		return;
	struct nb_session *session = s->main.session;
	int rc = s->engine->insert(session, SLICE("key"), SLICE("first"));
	if (rc != NB_OK) {
		suite_wrong(s, "insert of a new key", rc, "NB_OK");
		return;
	}
	rc = s->engine->insert(session, SLICE("key"), SLICE("second"));
	if (rc != NB_EXISTS)
		suite_wrong(s, "insert of a key that is there", rc, "NB_EXISTS");
	if (!expect_value(s, session, SLICE("key"), SLICE("first")) ||
		!expect_del(s, session, SLICE("key")))
		return;
	rc = s->engine->insert(session, SLICE("key"), SLICE("third"));
	if (rc != NB_OK)
		suite_wrong(s, "insert of a key that was deleted", rc, "NB_OK");
	expect_value(s, session, SLICE("key"), SLICE("third"));
}

enum { MANY = 100 }; /* of a batch or a multi_get: more than fit into a small array */

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

/* One multi_get of MANY keys, of which each third is there. */
static void
multi_get_many(struct suite *s)
{
	struct nb_slice keys[MANY], values[MANY] = {{0}};
	int32_t answers[MANY];
	for (unsigned char i = 0; i < MANY; i++) {
		keys[i] = many_key(i);
		answers[i] = INT32_MAX;
		if (i % 3 == 0 && !expect_put(s, s->main.session, keys[i], many_value(i)))
			return;
	}
	host_forget();
	int rc = s->engine->multi_get(s->main.session, keys, MANY, values, answers);
	if (rc != NB_OK) {
		suite_wrong(s, "multi_get of 100 keys", rc, "NB_OK");
		return;
	}
	for (unsigned char i = 0; i < MANY; i++)
		if (answers[i] != (i % 3 == 0 ? NB_OK : NB_NOT_FOUND))
			suite_wrong(s, "multi_get of 100 keys, for one of them,", answers[i],
				"what get answers");
		else if (answers[i] == NB_OK && !slice_equal(values[i], many_value(i)))
			suite_break(s,
				"multi_get of 100 keys lent another value than was put, for key %d",
				i);
	session_release(s, s->main.session);
}

void
check_multi_get_is_get(struct suite *s)
{
	const struct nb_slice keys[] = {
		SLICE("b"), SLICE("no"), SLICE("a"), SLICE("b"), SLICE("e")};
	const struct nb_slice wanted[] = {
		SLICE("value b"), {0}, SLICE("value a"), SLICE("value b"), {0}};
	enum { COUNT = sizeof(keys) / sizeof(keys[0]) };
	struct nb_slice values[COUNT] = {{0}};
	int32_t answers[COUNT];
	memset(answers, 0x55, sizeof(answers));
	if (!open_with(s, keys[0], wanted[0]) ||
		!expect_put(s, s->main.session, keys[2], wanted[2]) ||
		!expect_put(s, s->main.session, keys[4], wanted[4]))
		return;
	host_forget();
	int rc = s->engine->multi_get(s->main.session, keys, COUNT, values, answers);
	if (rc != NB_OK) {
		suite_wrong(s, "multi_get", rc, "NB_OK");
		return;
	}
	for (int i = 0; i < COUNT; i++)
		if (answers[i] != (i == 1 ? NB_NOT_FOUND : NB_OK))
			suite_wrong(
				s, "multi_get, for one key,", answers[i], "what get answers");
		else if (answers[i] == NB_OK && !slice_equal(values[i], wanted[i]))
			suite_break(
				s, "multi_get lent another value than was put, for key %d", i);
	session_release(s, s->main.session);
	rc = s->engine->multi_get(s->main.session, keys, 0, values, answers);
	if (rc != NB_OK)
		suite_wrong(s, "multi_get of no keys", rc, "NB_OK");
	multi_get_many(s);
}

static void
batch_many(struct suite *s)
{
	struct nb_write writes[MANY];
	for (unsigned char i = 0; i < MANY; i++)
		writes[i] = (struct nb_write){.key = many_key(i), .value = many_value(i)};
	host_forget();
	int rc = s->engine->batch(s->main.session, writes, MANY, 0);
	if (rc != NB_OK)
		suite_wrong(s, "batch of 100 writes", rc, "NB_OK");
	for (unsigned char i = 0; rc == NB_OK && i < MANY; i++)
		if (!expect_value(s, s->main.session, many_key(i), many_value(i)))
			return;
}

void
check_batch_in_order(struct suite *s)
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
	if (!open_with(s, SLICE("old"), SLICE("0")))
		return;
	struct nb_session *session = s->main.session;
	host_forget();
	int rc = s->engine->batch(session, writes, sizeof(writes) / sizeof(writes[0]), 0);
	if (rc != NB_OK) {
		suite_wrong(s, "batch", rc, "NB_OK");
		return;
	}
	expect_value(s, session, SLICE("a"), SLICE("2"));
	expect_missing(s, session, SLICE("b"));
	expect_value(s, session, SLICE("c"), SLICE("3"));
	expect_missing(s, session, SLICE("old"));
	rc = s->engine->batch(session, writes, 0, 0);
	if (rc != NB_OK)
		suite_wrong(s, "batch of no writes", rc, "NB_OK");
	batch_many(s);
}

void
check_batch_atomic_flag(struct suite *s)
{
	const struct nb_write writes[] = {
		{.key = SLICE("a"), .value = SLICE("1")},
		{.key = SLICE("old"), .is_delete = 1},
	};
	if (!open_with(s, SLICE("old"), SLICE("0")))
		return;
	host_forget();
	int rc = s->engine->batch(s->main.session, writes, 2, NB_BATCH_ATOMIC);
	if ((s->engine->caps & NB_CAP_ATOMIC_BATCH) != 0) {
		if (rc != NB_OK)
			suite_wrong(s, "atomic batch, which the engine offers,", rc, "NB_OK");
		else if (expect_value(s, s->main.session, SLICE("a"), SLICE("1")))
			expect_missing(s, s->main.session, SLICE("old"));
		return;
	}
	if (rc != NB_UNSUPPORTED)
		suite_wrong(s, "atomic batch, which the engine does not offer,", rc,
			"NB_UNSUPPORTED");
	if (!suite_failed(s, "atomic batch", rc))
		return;
	expect_missing(s, s->main.session, SLICE("a"));
	expect_value(s, s->main.session, SLICE("old"), SLICE("0"));
}

void
check_batch_all_or_nothing(struct suite *s)
{
	uint64_t max = s->engine->key_size_max;
	if (max == 0 || max >= SUITE_LONG) {
		suite_skip(s,
			"no key is too long within what the suite tries, so no write is sure to fail");
		return;
	}
	if (!open_with(s, SLICE("old"), SLICE("0")))
		return;
	const struct nb_write writes[] = {
		{.key = SLICE("a"), .value = SLICE("1")},
		{.key = SLICE("old"), .is_delete = 1},
		{.key = suite_value(s, (size_t)max + 1, s->args->seed), .value = SLICE("2")},
	};
	host_forget();
	int rc = s->engine->batch(s->main.session, writes, 3, NB_BATCH_ATOMIC);
	if (rc == NB_OK) {
		suite_skip(s, "no write that is sure to fail: a key that is too long is taken");
		return;
	}
	if (!suite_failed(s, "atomic batch with a key that is too long", rc))
		return;
	expect_missing(s, s->main.session, SLICE("a"));
	expect_value(s, s->main.session, SLICE("old"), SLICE("0"));
}

/* begin, put a new key, overwrite and delete an old one, and see all three. */
static bool
write_in_transaction(struct suite *s)
{
	if (!open_with(s, SLICE("old"), SLICE("0")) ||
		!expect_put(s, s->main.session, SLICE("gone"), SLICE("0")))
		return false;
	host_forget();
	int rc = s->engine->begin(s->main.session, 0);
	if (rc != NB_OK)
		return suite_wrong(s, "begin", rc, "NB_OK");
	bool is_done = expect_put(s, s->main.session, SLICE("new"), SLICE("1")) &&
		expect_put(s, s->main.session, SLICE("old"), SLICE("1")) &&
		expect_del(s, s->main.session, SLICE("gone")) &&
		expect_value(s, s->main.session, SLICE("new"), SLICE("1")) &&
		expect_value(s, s->main.session, SLICE("old"), SLICE("1")) &&
		expect_missing(s, s->main.session, SLICE("gone"));
	if (!is_done)
		s->engine->abort(s->main.session);
	return is_done;
}

void
check_abort_leaves_nothing(struct suite *s)
{
	if (!write_in_transaction(s))
		return;
	s->engine->abort(s->main.session);
	expect_missing(s, s->main.session, SLICE("new"));
	expect_value(s, s->main.session, SLICE("old"), SLICE("0"));
	expect_value(s, s->main.session, SLICE("gone"), SLICE("0"));
}

void
check_commit_keeps_all(struct suite *s)
{
	if (!write_in_transaction(s))
		return;
	host_forget();
	int rc = s->engine->commit(s->main.session);
	if (rc != NB_OK) {
		suite_wrong(s, "commit of the only transaction", rc, "NB_OK");
		return;
	}
	expect_value(s, s->main.session, SLICE("new"), SLICE("1"));
	expect_value(s, s->main.session, SLICE("old"), SLICE("1"));
	expect_missing(s, s->main.session, SLICE("gone"));
}

void
check_flush_levels(struct suite *s)
{
	static const char *const calls[] = {
		"flush(NB_SETTLE_FLUSH)", "flush(NB_SETTLE_COMPACT)"};
	bool keeps = (s->engine->caps & NB_CAP_SYNTHETIC) == 0;
	if (!open_with(s, SLICE("key"), SLICE("value")))
		return;
	for (uint32_t upto = NB_SETTLE_FLUSH; upto <= NB_SETTLE_COMPACT; upto++) {
		host_forget();
		int rc = s->engine->flush(s->main.db, upto);
		if (rc != NB_OK && rc != NB_UNSUPPORTED)
			suite_wrong(s, calls[upto], rc, "NB_OK or NB_UNSUPPORTED");
		if (keeps && !expect_value(s, s->main.session, SLICE("key"), SLICE("value")))
			return;
	}
}

void
check_checkpoint_keeps(struct suite *s)
{
	if (!open_with(s, SLICE("key"), SLICE("value")))
		return;
	host_forget();
	int rc = s->engine->checkpoint(s->main.db);
	if (rc != NB_OK)
		suite_wrong(s, "checkpoint", rc, "NB_OK");
	if (!expect_value(s, s->main.session, SLICE("key"), SLICE("value")))
		return;
	if ((s->engine->caps & NB_CAP_PERSISTENT) != 0 && suite_reopen(s, 0))
		expect_value(s, s->main.session, SLICE("key"), SLICE("value"));
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

void
check_stats_are_named(struct suite *s)
{
	static struct stats stats;
	stats = (struct stats){.suite = s};
	if (!open_with(s, SLICE("key"), SLICE("value")))
		return;
	s->engine->stats(s->main.db, keep_stat, &stats);
	if (stats.count == 0)
		suite_break(s, "stats emits nothing: leave it NULL");
	for (uint32_t i = 0; i < stats.count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(stats.all[i].name, stats.all[j].name) == 0)
				suite_break(
					s, "counter %s is emitted twice", stats.all[i].name);
}

void
check_stats_counters_grow(struct suite *s)
{
	static struct stats before, after;
	before = (struct stats){.suite = s};
	after = (struct stats){.suite = s};
	if (!suite_open(s))
		return;
	s->engine->stats(s->main.db, keep_stat, &before);
	for (unsigned i = 0; i < 200; i++)
		if (!expect_put(s, s->main.session,
			    (struct nb_slice){.data = &i, .size = sizeof(i)},
			    suite_value(s, 1000, i)))
			return;
	s->engine->stats(s->main.db, keep_stat, &after);
	for (uint32_t i = 0; i < before.count; i++)
		for (uint32_t j = 0; j < after.count; j++)
			if (strcmp(before.all[i].name, after.all[j].name) == 0 &&
				before.all[i].kind == NB_STAT_COUNTER &&
				after.all[j].value < before.all[i].value)
				suite_break(s, "counter %s fell from %llu to %llu",
					before.all[i].name,
					(unsigned long long)before.all[i].value,
					(unsigned long long)after.all[j].value);
}
