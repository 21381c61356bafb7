/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Close and open: what NB_CAP_PERSISTENT means. A clean close is all that is
 * tried here; what a crash may take is another matter and needs a process of
 * its own to be killed.
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
	memcpy(key->bytes, &(uint16_t){(uint16_t)i}, 2); /* so that no two are equal */
	return key->slice;
}

static struct nb_slice
make_value(struct suite *s, uint64_t i, uint64_t version)
{
	static const size_t sizes[] = {0, 1, 20, 100, 999, 5000};
	size_t size = sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];
	uint64_t max = s->engine->value_size_max;
	if (max != 0 && size > max)
		size = (size_t)max;
	return suite_value(s, size, s->args->seed + i * 1000 + version);
}

/* Every third record is written over, every fifth deleted. */
static bool
put_all(struct suite *s)
{
	struct record_key key;
	for (uint64_t i = 0; i < RECORDS; i++)
		if (!expect_put(s, s->main.session, make_key(&key, i), make_value(s, i, 0)))
			return false;
	for (uint64_t i = 0; i < RECORDS; i += 3)
		if (!expect_put(s, s->main.session, make_key(&key, i), make_value(s, i, 1)))
			return false;
	for (uint64_t i = 0; i < RECORDS; i += 5)
		if (!expect_del(s, s->main.session, make_key(&key, i)))
			return false;
	return true;
}

static bool
find_all(struct suite *s)
{
	struct record_key key;
	for (uint64_t i = 0; i < RECORDS; i++) {
		make_key(&key, i);
		bool is_right = i % 5 == 0 ? expect_missing(s, s->main.session, key.slice)
					   : expect_value(s, s->main.session, key.slice,
						     make_value(s, i, i % 3 == 0));
		if (!is_right)
			return false;
	}
	return true;
}

void
check_reopen_finds_all(struct suite *s)
{
	if (!suite_open(s) || !put_all(s) || !suite_reopen(s, 0) || !find_all(s))
		return;
	/* A second time, after a write to what was opened. */
	if (expect_put(s, s->main.session, SLICE("k"), SLICE("v")) && suite_reopen(s, 0) &&
		find_all(s))
		expect_value(s, s->main.session, SLICE("k"), SLICE("v"));
}

void
check_create_keeps(struct suite *s)
{
	if (suite_open(s) && put_all(s) && suite_reopen(s, NB_OPEN_CREATE))
		find_all(s);
}

void
check_read_only_finds_all(struct suite *s)
{
	if (suite_open(s) && put_all(s) && suite_reopen(s, NB_OPEN_READ_ONLY) && find_all(s) &&
		suite_reopen(s, 0))
		find_all(s);
}

void
check_open_of_nothing(struct suite *s)
{
	if (!place_make(s, &s->main, s->engine, s->args->options))
		return;
	int rc = place_open(&s->main, 0);
	if (!suite_failed(s, "open without NB_OPEN_CREATE of an empty directory", rc))
		return;
	/* And the failure has left nothing that would pass for a database, or in its way. */
	rc = place_open(&s->main, 0);
	if (!suite_failed(s, "the second open without NB_OPEN_CREATE", rc))
		return;
	rc = place_open(&s->main, NB_OPEN_CREATE);
	if (rc != NB_OK)
		suite_wrong(s, "open with NB_OPEN_CREATE after that", rc, "NB_OK");
	else
		expect_missing(s, s->main.session, SLICE("k"));
}

void
check_databases_are_apart(struct suite *s)
{
	struct place other;
	if (!suite_open(s) || !expect_put(s, s->main.session, SLICE("k"), SLICE("main")))
		return;
	int rc = place_close(&s->main);
	if (rc != NB_OK) {
		suite_wrong(s, "close", rc, "NB_OK");
		return;
	}
	if (!place_make(s, &other, s->engine, s->args->options))
		return;
	rc = place_open(&other, NB_OPEN_CREATE);
	if (rc != NB_OK)
		suite_wrong(s, "open of a second database", rc, "NB_OK");
	else
		expect_missing(s, other.session, SLICE("k"));
	place_remove(&other);
}
