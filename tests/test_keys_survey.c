/* SPDX-License-Identifier: BSD-2-Clause */
/* The numbers of duplicates are known from the construction of the files. */
#include "workload/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "scratch.h"
#include "unit.h"

bool unit_in_scratch = true;

/** Survey the first `count` keys of a file with these bytes. */
static struct keys_facts
survey_part(const void *bytes, size_t size, uint64_t key_size, uint64_t count)
{
	file_put("keys", bytes, size);
	struct keys keys;
	ck_assert_int_eq(keys_open(&keys, "keys", key_size, count), NB_OK);
	struct keys_facts facts;
	memset(&facts, 0xee, sizeof(facts));
	ck_assert_int_eq(keys_survey(&keys, &facts, KEYS_EXACT, NULL, NULL), NB_OK);
	keys_close(&keys);
	return facts;
}

static struct keys_facts
survey(const void *bytes, uint64_t key_size, uint64_t count)
{
	return survey_part(bytes, key_size * count, key_size, count);
}

static void
check_duplicates(const void *bytes, uint64_t key_size, uint64_t count, uint64_t expected)
{
	struct keys_facts facts = survey(bytes, key_size, count);
	ck_assert_uint_eq(facts.duplicates, expected);
	ck_assert(!facts.is_estimate);
}

/** Key i is made of of(i). Different numbers give different keys. */
static uint64_t *
numbered(uint64_t count, uint64_t (*of)(uint64_t i))
{
	uint64_t *keys = malloc(count * sizeof(*keys));
	ck_assert_ptr_nonnull(keys);
	for (uint64_t i = 0; i < count; i++)
		keys[i] = splitmix64_mix(of(i));
	return keys;
}

static uint64_t
all_different(uint64_t i)
{
	return i;
}

static uint64_t
all_equal(uint64_t i)
{
	return 7;
}

static uint64_t
triples(uint64_t i)
{
	return i / 3;
}

static uint64_t
triples_far_apart(uint64_t i)
{
	return i % 1000;
}

static uint64_t
last_is_first(uint64_t i)
{
	return i % 2999;
}

TEST(duplicates_are_counted_exactly)
{
	static const struct {
		uint64_t (*of)(uint64_t i);
		uint64_t count, duplicates;
	} cases[] = {
		{all_different, 1, 0},
		{all_different, 640, 0},
		{all_different, 641, 0},
		{all_different, 100000, 0},
		{all_equal, 2, 1},
		{all_equal, 3000, 2999},
		{triples, 3000, 2000},
		{triples, 3001, 2000},
		{triples_far_apart, 3000, 2000},
		{last_is_first, 3000, 1},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t *keys = numbered(cases[i].count, cases[i].of);
		check_duplicates(keys, 8, cases[i].count, cases[i].duplicates);
		free(keys);
	}
}

TEST(keys_that_differ_in_one_bit_are_not_equal)
{
	uint8_t keys[64 * 13 * 8] = {0};
	for (size_t i = 0; i < 13 * 8; i++)
		keys[i * 13 + i / 8] = (uint8_t)(1u << i % 8);
	check_duplicates(keys, 13, 13 * 8, 0);
	check_duplicates(keys, 13, 13 * 8 + 1, 0); /* and the zero key */
	check_duplicates(keys, 13, 13 * 8 + 2, 1);
	uint8_t bytes[1000]; /* one-byte keys */
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	check_duplicates(bytes, 1, 1000, 1000 - 256);
	check_duplicates(bytes, 1, 256, 0);
}

TEST(only_used_keys_are_surveyed)
{
	uint64_t *keys = numbered(3000, last_is_first);
	struct keys_facts first = survey_part(keys, 3000 * 8, 8, 2999);
	ck_assert_uint_eq(first.duplicates, 0);
	ck_assert_uint_eq(first.hash, survey(keys, 8, 2999).hash);
	ck_assert_uint_ne(first.hash, survey(keys, 8, 3000).hash);
	free(keys);
}

TEST(the_hash_is_of_content_and_order)
{
	uint64_t *keys = numbered(5000, all_different);
	uint64_t hash = survey(keys, 8, 5000).hash;
	ck_assert_uint_eq(survey(keys, 8, 5000).hash, hash);
	keys[4999] ^= 1;
	ck_assert_uint_ne(survey(keys, 8, 5000).hash, hash);
	keys[4999] ^= 1;
	uint64_t first = keys[0];
	keys[0] = keys[1];
	keys[1] = first;
	ck_assert_uint_ne(survey(keys, 8, 5000).hash, hash);
	free(keys);
	/* XXH3-64 of "a", computed by the Python module xxhash */
	ck_assert_uint_eq(survey("a", 1, 1).hash, UINT64_C(0xe6c632b61e964e1f));
}

/*
 * More than 2.6 million keys take several passes, more than 4 MiB several chunks. More than 3.7
 * million would overflow a table that is not cleared between passes.
 */
enum { MANY = 4000000, COPIES = 1234 };

static uint64_t
many_with_copies(uint64_t i)
{
	return i < MANY - COPIES ? i : (i - (MANY - COPIES)) * 2000;
}

TEST(several_passes_count_exactly)
{
	uint64_t *keys = numbered(MANY, many_with_copies);
	check_duplicates(keys, 8, MANY, COPIES);
	struct keys_facts facts = survey(keys, 8, MANY);
	check_duplicates(keys, 4, MANY, 1863); /* half keys: counted with Python's set */
	/*
	 * the hash is computed once, in any number of passes: the same for fewer and larger
	 * keys
	 */
	ck_assert_uint_eq(survey(keys, 80, MANY / 10).hash, facts.hash);
	free(keys);
}

/**
 * A run can afford one pass. The hash identifies the keys when results are compared, so it is
 * exact.
 */
TEST(single_pass_is_reported_as_an_estimate)
{
	uint64_t *keys = numbered(MANY, many_with_copies);
	struct keys mapped;
	struct keys_facts quick, exact = survey(keys, 8, MANY);
	ck_assert_uint_eq(exact.looked, MANY);
	ck_assert_int_eq(keys_open(&mapped, "keys", 8, MANY), NB_OK);
	ck_assert_int_eq(keys_survey(&mapped, &quick, KEYS_QUICK, NULL, NULL), NB_OK);
	keys_close(&mapped);
	ck_assert(quick.is_estimate);
	ck_assert_uint_eq(quick.hash, exact.hash);
	/* one part of 31: 1234 minus three times the root of 30 * 1234 */
	ck_assert_uint_ge(quick.duplicates, 1234 - 577);
	ck_assert_uint_le(quick.duplicates, 1234 + 577);
	ck_assert_uint_ge(quick.looked, MANY / 31 - 2000);
	ck_assert_uint_le(quick.looked, MANY / 31 + 2000);
	check_duplicates(keys, 8, 1310720, 0); /* keys of one pass are exact */
	ck_assert_int_eq(keys_open(&mapped, "keys", 8, 1310720), NB_OK);
	ck_assert_int_eq(keys_survey(&mapped, &quick, KEYS_QUICK, NULL, NULL), NB_OK);
	keys_close(&mapped);
	ck_assert(!quick.is_estimate);
	free(keys);
}

static uint64_t
many_equal(uint64_t i)
{
	return i % 5;
}

TEST(many_keys_of_few_kinds_are_counted_exactly)
{
	if (UNIT_STEP > 1)
		return; /* several_passes_count_exactly() has as many keys */
	uint64_t *keys = numbered(MANY, many_equal);
	check_duplicates(keys, 8, MANY, MANY - 5);
	free(keys);
}

/*
 * More than 10.5 million keys need more than eight passes: the survey skips one part of nine.
 */
enum { TOO_MANY = 11000000 };

TEST(an_estimate_is_near_the_truth)
{
	/*
	 * random 32-bit words: n^2 / 2^33 = 14086 expected, with its root as standard deviation
	 */
	uint64_t *keys = numbered(TOO_MANY / 2, all_different);
	struct keys_facts facts = survey(keys, 4, TOO_MANY);
	ck_assert(facts.is_estimate);
	ck_assert_uint_ge(facts.duplicates, 14086 - 1000);
	ck_assert_uint_le(facts.duplicates, 14086 + 1000);
	free(keys);
}

TEST(an_estimate_sees_a_key_that_fills_the_file)
{
	/* 'a' is in the skipped part: its hash, above, begins with e6, 8.1 ninths */
	static const int bytes[] = {'a', 0};
	uint8_t *keys = malloc(TOO_MANY);
	ck_assert_ptr_nonnull(keys);
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		memset(keys, bytes[i], TOO_MANY);
		struct keys_facts facts = survey(keys, 1, TOO_MANY);
		ck_assert(facts.is_estimate);
		ck_assert_uint_lt(facts.duplicates, TOO_MANY);
		ck_assert_uint_ge(facts.duplicates, TOO_MANY - 10);
	}
	free(keys);
}

TEST(large_keys_are_counted)
{
	uint8_t *keys = calloc(7, NB_KEY_SIZE_MAX);
	ck_assert_ptr_nonnull(keys);
	for (size_t i = 0; i < 6; i++)
		keys[(i + 1) * NB_KEY_SIZE_MAX - 1] = (uint8_t)i;
	check_duplicates(keys, NB_KEY_SIZE_MAX, 7, 1); /* the last key is zero like the first */
	free(keys);
}

static uint64_t told_done, told_total;

static void
stop_at_once(void *arg, const struct nb_progress *progress)
{
	told_done = progress->done;
	told_total = progress->total;
	nb_stop();
}

static void
only_look(void *arg, const struct nb_progress *progress)
{
	ck_assert_uint_ge(progress->done, told_done);
	told_done = progress->done;
	told_total = progress->total;
}

TEST(survey_reports_progress_and_can_be_stopped)
{
	uint64_t *keys = numbered(MANY, all_different);
	file_put("long", keys, MANY * sizeof(*keys));
	free(keys);
	struct keys mapped;
	struct keys_facts facts;
	ck_assert_int_eq(keys_open(&mapped, "long", 8, MANY), NB_OK);
	ck_assert_int_eq(keys_survey(&mapped, &facts, KEYS_EXACT, only_look, NULL), NB_OK);
	ck_assert_uint_eq(told_done, told_total);
	ck_assert_uint_ge(told_total, MANY);
	ck_assert_int_eq(keys_survey(&mapped, &facts, KEYS_EXACT, stop_at_once, NULL),
		NB_ERR_INTERRUPTED);
	ck_assert_uint_lt(told_done, told_total);
	nb_stop_clear();
	keys_close(&mapped);
}
