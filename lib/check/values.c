/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single records: put, get, del, and the keys and values at which engines
 * break: empty, one byte, 64 KiB, zeros inside, keys that begin one another.
 *
 * The model (model.c) would find most of this as well. Here each has a name of
 * its own, so that a list of promises tells at a glance what an engine cannot.
 */
#include <stdio.h>
#include <string.h>

#include "check/suite.h"

enum { LONG_KEY = 16384 }; /* tried where an engine takes longer ones, or any */

static struct nb_slice
key_of(const void *data, size_t size)
{
	return (struct nb_slice){.data = data, .size = size};
}

/* Whether the engine takes values of this size; if not, the promise does not apply. */
static bool
takes_value(struct suite *s, size_t size)
{
	uint64_t max = s->engine->value_size_max;
	return max == 0 || size <= max ||
		suite_skip(s, "its longest value has %llu bytes", (unsigned long long)max);
}

static bool
put_and_find(struct suite *s, struct nb_slice key, size_t size, uint64_t seed)
{
	struct nb_slice value = suite_value(s, size, seed);
	return expect_put(s, s->main.session, key, value) &&
		expect_value(s, s->main.session, key, value);
}

void
check_put_is_found(struct suite *s)
{
	if (takes_value(s, 8) && suite_open(s))
		put_and_find(s, SLICE("key"), 8, s->args->seed);
}

void
check_missing_key_is_not_found(struct suite *s)
{
	if (!suite_open(s) || !expect_missing(s, s->main.session, SLICE("key")))
		return;
	if (!expect_put(s, s->main.session, SLICE("key"), SLICE("v")))
		return;
	expect_missing(s, s->main.session, SLICE("ke"));
	expect_missing(s, s->main.session, SLICE("kex"));
	expect_missing(s, s->main.session, SLICE("kez"));
}

void
check_overwrite_replaces(struct suite *s)
{
	static const size_t sizes[] = {8, 8, 100, 1, 4000, 8};
	if (!takes_value(s, 4000) || !suite_open(s))
		return;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (!put_and_find(s, SLICE("key"), sizes[i], s->args->seed + i))
			return;
}

void
check_delete_removes(struct suite *s)
{
	if (!suite_open(s) || !put_and_find(s, SLICE("key"), 8, s->args->seed) ||
		!put_and_find(s, SLICE("kez"), 8, s->args->seed))
		return;
	if (!expect_del(s, s->main.session, SLICE("key")) ||
		!expect_missing(s, s->main.session, SLICE("key")))
		return;
	expect_value(s, s->main.session, SLICE("kez"), suite_value(s, 8, s->args->seed));
}

void
check_delete_of_missing(struct suite *s)
{
	if (!suite_open(s))
		return;
	host_forget();
	int rc = s->engine->del(s->main.session, SLICE("key"));
	if (rc != NB_NOT_FOUND && rc != NB_OK)
		suite_wrong(s, "del of a key that is not there", rc, "NB_NOT_FOUND or NB_OK");
	put_and_find(s, SLICE("key"), 8, s->args->seed);
}

/* One after the other, in an order that is not that in which they were put. */
void
check_deletes_are_apart(struct suite *s)
{
	enum { RECORDS = 64, STEP = 27 /* has no divisor in common with it */ };
	unsigned char bytes[RECORDS][12];
	struct nb_slice keys[RECORDS];
	if (!suite_open(s))
		return;
	for (size_t i = 0; i < RECORDS; i++) {
		memset(bytes[i], (int)(i % 4), sizeof(bytes[i]));
		bytes[i][0] = (unsigned char)(4 * i); /* bytes above 0x7f as well */
		keys[i] = key_of(bytes[i], 1 + i % sizeof(bytes[i]));
		if (s->engine->key_size_max != 0 && keys[i].size > s->engine->key_size_max)
			keys[i].size = (size_t)s->engine->key_size_max;
		if (!expect_put(s, s->main.session, keys[i], suite_value(s, 20, i)))
			return;
	}
	for (size_t done = 1; done <= RECORDS; done++) {
		if (!expect_del(s, s->main.session, keys[(done - 1) * STEP % RECORDS]))
			return;
		for (size_t i = 0; i < RECORDS; i++) {
			size_t at = i * STEP % RECORDS;
			bool is_right = i < done ? expect_missing(s, s->main.session, keys[at])
						 : expect_value(s, s->main.session, keys[at],
							   suite_value(s, 20, at));
			if (!is_right)
				return;
		}
	}
}

void
check_put_after_delete(struct suite *s)
{
	if (suite_open(s) && put_and_find(s, SLICE("key"), 8, s->args->seed) &&
		expect_del(s, s->main.session, SLICE("key")))
		put_and_find(s, SLICE("key"), 9, s->args->seed + 1);
}

void
check_empty_value(struct suite *s)
{
	if (!suite_open(s) || !put_and_find(s, SLICE("a"), 0, 0))
		return;
	if (!expect_put(s, s->main.session, SLICE("b"), (struct nb_slice){0}))
		return; /* data may be NULL if size is 0 */
	if (!expect_value(s, s->main.session, SLICE("b"), (struct nb_slice){0}))
		return;
	if (put_and_find(s, SLICE("a"), 8, s->args->seed))
		put_and_find(s, SLICE("a"), 0, 0);
}

void
check_one_byte_values(struct suite *s)
{
	if (!suite_open(s))
		return;
	for (unsigned i = 0; i < 256; i++) {
		unsigned char byte = (unsigned char)i;
		if (!expect_put(s, s->main.session, SLICE("key"), key_of(&byte, 1)) ||
			!expect_value(s, s->main.session, SLICE("key"), key_of(&byte, 1)))
			return;
	}
}

void
check_long_values(struct suite *s)
{
	if (!takes_value(s, SUITE_LONG) || !suite_open(s))
		return;
	for (unsigned char i = 0; i < 16; i++)
		if (!put_and_find(s, key_of(&i, 1), SUITE_LONG, s->args->seed + i))
			return;
	for (unsigned char i = 0; i < 16; i++)
		if (!expect_value(s, s->main.session, key_of(&i, 1),
			    suite_value(s, SUITE_LONG, s->args->seed + i)))
			return;
}

void
check_longest_value(struct suite *s)
{
	uint64_t max = s->engine->value_size_max;
	if (max == 0)
		suite_skip(s, "values of any size");
	else if (max > SUITE_VALUE_SIZE)
		suite_skip(s, "values longer than the suite tries");
	else if (suite_open(s))
		put_and_find(s, SLICE("key"), (size_t)max, s->args->seed);
}

/*
 * The size to try after `size`: each up to 300, and then powers of two with their neighbours,
 * where fields, pages and buffers end, and between these some 5 % more each time.
 */
static size_t
next_size(size_t size)
{
	enum { EACH = 300 };
	if (size < EACH)
		return size + 1;
	size_t next = size + size / 20, power = 512;
	while (power + 1 <= size)
		power *= 2;
	for (size_t near = power - 1; near <= power + 1; near++)
		if (near > size && near <= next)
			return near;
	return next;
}

void
check_value_sizes(struct suite *s)
{
	uint64_t max = s->engine->value_size_max;
	uint64_t seed = s->args->seed;
	if (!suite_open(s))
		return;
	if (max == 0 || max > SUITE_VALUE_SIZE)
		max = SUITE_VALUE_SIZE;
	for (size_t size = 0; size <= max; size = next_size(size)) {
		unsigned char key = (unsigned char)(++seed % 16);
		if (!put_and_find(s, key_of(&key, 1), size, seed))
			return;
	}
}

static bool
find_key_sizes(struct suite *s, size_t max)
{
	for (size_t size = 1; size <= max; size = next_size(size))
		if (!expect_value(s, s->main.session, suite_value(s, size, size),
			    suite_value(s, 8, size)))
			return false;
	return true;
}

void
check_key_sizes(struct suite *s)
{
	uint64_t max = s->engine->key_size_max;
	if (!suite_open(s))
		return;
	if (max == 0 || max > LONG_KEY)
		max = LONG_KEY;
	for (size_t size = 1; size <= max; size = next_size(size))
		if (!expect_put(s, s->main.session, suite_value(s, size, size),
			    suite_value(s, 8, size)))
			return;
	find_key_sizes(s, (size_t)max);
}

void
check_values_are_exact(struct suite *s)
{
	static const char zeros[300];
	const struct nb_slice values[] = {SLICE("\0"), SLICE("\0\0"), SLICE("a\0b"),
		SLICE("a\0"), SLICE("\0a"), SLICE("\xff\xff\xff"), SLICE("a\nb\r\n\x1a"),
		SLICE("%s%n"), {zeros, sizeof(zeros)}, {zeros, 255}, {zeros, 256},
		{zeros, 257}};
	const size_t count = sizeof(values) / sizeof(values[0]);
	if (!takes_value(s, sizeof(zeros)) || !suite_open(s))
		return;
	for (unsigned char i = 0; i < count; i++)
		if (!expect_put(s, s->main.session, key_of(&i, 1), values[i]))
			return;
	for (unsigned char i = 0; i < count; i++)
		if (!expect_value(s, s->main.session, key_of(&i, 1), values[i]))
			return;
}

void
check_keys_are_exact(struct suite *s)
{
	static const struct nb_slice keys[] = {{"\0", 1}, {"\0\0", 2}, {"\0\0\0", 3},
		{"\0a", 2}, {"a", 1}, {"a\0", 2}, {"a\0b", 3}, {"a\0c", 3}, {"ab", 2},
		{"abc", 3}, {"A", 1}, {" ", 1}, {"a ", 2}, {"\n", 1}, {"\xff", 1},
		{"\xff\xff", 2}, {"\xff\0", 2}, {"\x80", 1}, {"\x7f", 1}, {"/", 1}, {"..", 2}};
	const size_t count = sizeof(keys) / sizeof(keys[0]);
	uint64_t max = s->engine->key_size_max;
	if (!suite_open(s))
		return;
	for (size_t i = 0; i < count; i++)
		if ((max == 0 || keys[i].size <= max) &&
			!expect_put(s, s->main.session, keys[i], suite_value(s, 8, i)))
			return;
	for (size_t i = 0; i < count; i++)
		if ((max == 0 || keys[i].size <= max) &&
			!expect_value(s, s->main.session, keys[i], suite_value(s, 8, i)))
			return;
}

void
check_longest_key(struct suite *s)
{
	uint64_t max = s->engine->key_size_max;
	if (max == 0 || max > LONG_KEY)
		max = LONG_KEY;
	if (!suite_open(s))
		return;
	struct nb_slice key = suite_value(s, (size_t)max, s->args->seed);
	struct nb_slice shorter = key_of(key.data, key.size - 1);
	if (!put_and_find(s, key, 8, 1))
		return;
	if (shorter.size > 0 && !expect_missing(s, s->main.session, shorter))
		return;
	if (shorter.size > 0 && !put_and_find(s, shorter, 8, 2))
		return;
	expect_value(s, s->main.session, key, suite_value(s, 8, 1));
}

void
check_too_long_key(struct suite *s)
{
	uint64_t max = s->engine->key_size_max;
	if (max == 0 || max >= SUITE_LONG) {
		suite_skip(
			s, max == 0 ? "keys of any size" : "keys longer than the suite tries");
		return;
	}
	if (!suite_open(s))
		return;
	struct nb_slice key = suite_value(s, (size_t)max + 1, s->args->seed);
	struct nb_slice value = suite_value(s, 8, 1);
	int rc = session_put(s, s->main.session, key, value);
	if (rc == NB_OK)
		expect_value(s, s->main.session, key, value);
	else
		suite_failed(s, "put of a key longer than key_size_max", rc);
}

void
check_synthetic_get(struct suite *s)
{
	static const size_t sizes[] = {100, 1, 0, 4096, SUITE_VALUE_SIZE};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct nb_slice found = {0};
		if (!place_make(s, &s->main, s->engine, s->args->options))
			return;
		s->main.value_size = sizes[i];
		int rc = place_open(&s->main, NB_OPEN_CREATE);
		if (rc != NB_OK) {
			suite_wrong(s, "open of a new database", rc, "NB_OK");
			return;
		}
		if (!expect_put(s, s->main.session, SLICE("key"), suite_value(s, sizes[i], i)))
			return;
		rc = session_get(s, s->main.session, SLICE("key"), &found);
		if (rc != NB_OK) {
			suite_wrong(s, "get", rc, "NB_OK");
			return;
		}
		/* A hint of 0 says that the size is not known: any answer is as good. */
		if (sizes[i] != 0 && found.size != sizes[i])
			suite_break(s, "get lent %zu bytes where values have %zu", found.size,
				sizes[i]);
		/* Each byte can be read: a sanitizer or the kernel would tell. */
		if (found.size <= SUITE_VALUE_SIZE && found.size != 0)
			memcpy(s->values, found.data, found.size);
		session_release(s, s->main.session);
		place_remove(&s->main);
	}
}
