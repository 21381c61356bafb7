/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening: which durability levels are accepted, and the contents of a database after a
 * clean close, which NB_CAP_PERSISTENT promises. Crashes are tested elsewhere (lib/crash).
 *
 * An engine provides a durability level or refuses it. If it silently ran at another level,
 * a comparison would be unfair, and nothing in the result would show it. This file cannot
 * test whether the engine honours a level, only that it accepts exactly the levels that it
 * offers.
 */
#include <stdio.h>
#include <string.h>

#include "check/suite.h"

enum { RECORDS = 300 };

struct record_key {
	unsigned char bytes[8];
	struct nb_slice slice;
};

static struct nb_slice
make_key(struct record_key *key, uint64_t i)
{
	bytes_fill(key->bytes, sizeof(key->bytes), i);
	key->slice = (struct nb_slice){.data = key->bytes, .size = 2 + i % 7};
	memcpy(key->bytes, &(uint16_t){(uint16_t)i}, 2); /* makes all keys different */
	return key->slice;
}

static struct nb_slice
make_value(struct suite *s, uint64_t i, uint64_t version)
{
	static const size_t sizes[] = {0, 1, 20, 100, 999, 5000};
	size_t size = limited(sizes[i % COUNT_OF(sizes)], s->engine->value_size_max);
	return suite_value(s, size, s->args->seed + i * 1000 + version);
}

/** Open a database and put all records; overwrite each third one and delete each fifth. */
static bool
open_and_put_all(struct suite *s)
{
	struct record_key key;
	if (!suite_open(s))
		return false;
	for (uint64_t i = 0; i < RECORDS; i++)
		if (!put(s, make_key(&key, i), make_value(s, i, 0)))
			return false;
	for (uint64_t i = 0; i < RECORDS; i += 3)
		if (!put(s, make_key(&key, i), make_value(s, i, 1)))
			return false;
	for (uint64_t i = 0; i < RECORDS; i += 5)
		if (!del(s, make_key(&key, i)))
			return false;
	return true;
}

static bool
find_all(struct suite *s)
{
	struct record_key key;
	for (uint64_t i = 0; i < RECORDS; i++) {
		make_key(&key, i);
		if (i % 5 == 0 ? !lacks(s, key.slice)
			       : !has(s, key.slice, make_value(s, i, i % 3 == 0)))
			return false;
	}
	return true;
}

PROMISE(reopen_finds_everything)
{
	return open_and_put_all(s) && suite_reopen(s, 0) && find_all(s) &&
		/* A second time, after a write to the reopened database. */
		put(s, SLICE("k"), SLICE("v")) && suite_reopen(s, 0) && find_all(s) &&
		has(s, SLICE("k"), SLICE("v"));
}

PROMISE(open_to_create_keeps_what_is_there)
{
	return open_and_put_all(s) && suite_reopen(s, NB_OPEN_CREATE) && find_all(s);
}

PROMISE(open_read_only_finds_everything)
{
	return open_and_put_all(s) && suite_reopen(s, NB_OPEN_READ_ONLY) && find_all(s) &&
		suite_reopen(s, 0) && find_all(s);
}

PROMISE(open_of_no_database_fails_with_text)
{
	if (!database_make(s, &s->main, s->engine, s->args->options))
		return false;
	s->main.server_dir = s->main.path; /* no database was ever there */
	return suite_failed(s, "open without NB_OPEN_CREATE of an empty directory",
		       database_open(&s->main, 0)) &&
		/* The failed open must leave nothing that another open accepts. */
		suite_failed(s, "the second open without NB_OPEN_CREATE",
			database_open(&s->main, 0)) &&
		suite_ok(s, "open with NB_OPEN_CREATE after that",
			database_open(&s->main, NB_OPEN_CREATE)) &&
		lacks(s, SLICE("k"));
}

PROMISE(databases_are_apart)
{
	struct database other;
	if (!suite_open(s) || !put(s, SLICE("k"), SLICE("main")) ||
		!suite_ok(s, "close", database_close(&s->main)) ||
		!database_make(s, &other, s->engine, s->args->options))
		return false;
	bool is_right = suite_ok(s, "open of a second database",
				database_open(&other, NB_OPEN_CREATE)) &&
		expect_missing(s, other.session, SLICE("k"));
	database_remove(&other);
	return is_right;
}

/* --- durability levels --- */

static bool
offers(const struct suite *s, uint32_t level)
{
	return (s->engine->durabilities & NB_DUR_BIT(level)) != 0;
}

/** Create a new database and open it at that level. *call describes the call. */
static bool
open_at(struct suite *s, uint32_t level, int *rc, char call[64])
{
	snprintf(call, 64,
		offers(s, level) ? "open at the offered level %s"
				 : "open at the level %s, which is not offered,",
		nb_durability_name(level));
	if (!database_make(s, &s->main, s->engine, s->args->options))
		return false;
	s->main.durability = level;
	*rc = database_open(&s->main, NB_OPEN_CREATE);
	return true;
}

PROMISE(offered_durability_opens)
{
	char call[64];
	int rc;
	bool keeps = (s->engine->caps & NB_CAP_SYNTHETIC) == 0;
	for (uint32_t level = 0; level <= NB_DUR_COMMIT; level++) {
		if (!offers(s, level))
			continue;
		if (!open_at(s, level, &rc, call) || !suite_ok(s, call, rc) ||
			!put(s, SLICE("k"), SLICE("v")) ||
			(keeps && !has(s, SLICE("k"), SLICE("v"))))
			return false;
		database_remove(&s->main);
	}
	return true;
}

PROMISE(other_durability_is_refused_with_text)
{
	char call[64];
	int rc;
	uint32_t refused = 0;
	for (uint32_t level = 0; level <= NB_DUR_COMMIT; level++) {
		if (offers(s, level))
			continue;
		if (!open_at(s, level, &rc, call))
			return false;
		if (rc != NB_UNSUPPORTED)
			return suite_wrong(s, call, rc, "NB_UNSUPPORTED");
		if (!suite_failed(s, call, rc))
			return false;
		database_remove(&s->main);
		refused++;
	}
	return refused > 0 || suite_skip(s, "it offers every level");
}
