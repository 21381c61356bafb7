/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single records: put, get, del, with keys and values that break engines: empty, one byte,
 * 64 KiB, zeros inside, keys that are prefixes of one another.
 *
 * The model (model.c) would find most of these faults as well. Here each case has its own
 * name, so the list of promises shows at a glance what an engine cannot do.
 */
#include <stdio.h>
#include <string.h>

#include "check/suite.h"

enum { LONG_KEY = 16384 /* the longest key tested */ };

static struct nb_slice
key_of(const void *data, size_t size)
{
	return (struct nb_slice){.data = data, .size = size};
}

/** Whether the engine allows values of this size; if not, skip the promise. */
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
	return put(s, key, value) && has(s, key, value);
}

PROMISE(put_is_found)
{
	return takes_value(s, 8) && suite_open(s) &&
		put_and_find(s, SLICE("key"), 8, s->args->seed);
}

PROMISE(missing_key_is_not_found)
{
	return suite_open(s) && lacks(s, SLICE("key")) && put(s, SLICE("key"), SLICE("v")) &&
		lacks(s, SLICE("ke")) && lacks(s, SLICE("kex")) && lacks(s, SLICE("kez"));
}

PROMISE(overwrite_replaces_the_value)
{
	static const size_t sizes[] = {8, 8, 100, 1, 4000, 8};
	if (!takes_value(s, 4000) || !suite_open(s))
		return false;
	for (size_t i = 0; i < COUNT_OF(sizes); i++)
		if (!put_and_find(s, SLICE("key"), sizes[i], s->args->seed + i))
			return false;
	return true;
}

PROMISE(deleted_key_is_not_found)
{
	return suite_open(s) && put_and_find(s, SLICE("key"), 8, s->args->seed) &&
		put_and_find(s, SLICE("kez"), 8, s->args->seed) && del(s, SLICE("key")) &&
		lacks(s, SLICE("key")) &&
		has(s, SLICE("kez"), suite_value(s, 8, s->args->seed));
}

PROMISE(delete_of_a_missing_key_is_no_failure)
{
	if (!suite_open(s))
		return false;
	host_forget();
	int rc = s->engine->del(s->main.session, SLICE("key"));
	if (rc != NB_NOT_FOUND && rc != NB_OK)
		return suite_wrong(s, "del of a missing key", rc, "NB_NOT_FOUND or NB_OK");
	return put_and_find(s, SLICE("key"), 8, s->args->seed);
}

/* The deletes are in another order than the puts. */
PROMISE(other_records_outlive_a_delete)
{
	enum { RECORDS = 64, STEP = 27 /* coprime to RECORDS */ };
	unsigned char bytes[RECORDS][12];
	struct nb_slice keys[RECORDS];
	if (!suite_open(s))
		return false;
	for (size_t i = 0; i < RECORDS; i++) {
		memset(bytes[i], (int)(i % 4), sizeof(bytes[i]));
		bytes[i][0] = (unsigned char)(4 * i); /* bytes above 0x7f occur as well */
		keys[i] = key_of(
			bytes[i], limited(1 + i % sizeof(bytes[i]), s->engine->key_size_max));
		if (!put(s, keys[i], suite_value(s, 20, i)))
			return false;
	}
	for (size_t done = 1; done <= RECORDS; done++) {
		if (!del(s, keys[(done - 1) * STEP % RECORDS]))
			return false;
		for (size_t i = 0; i < RECORDS; i++) {
			size_t at = i * STEP % RECORDS;
			if (i < done ? !lacks(s, keys[at])
				     : !has(s, keys[at], suite_value(s, 20, at)))
				return false;
		}
	}
	return true;
}

PROMISE(put_after_delete_is_found)
{
	return suite_open(s) && put_and_find(s, SLICE("key"), 8, s->args->seed) &&
		del(s, SLICE("key")) && put_and_find(s, SLICE("key"), 9, s->args->seed + 1);
}

PROMISE(empty_value_is_a_value)
{
	struct nb_slice none = {0}; /* data may be NULL if size is 0 */
	return suite_open(s) && put_and_find(s, SLICE("a"), 0, 0) && put(s, SLICE("b"), none) &&
		has(s, SLICE("b"), none) && put_and_find(s, SLICE("a"), 8, s->args->seed) &&
		put_and_find(s, SLICE("a"), 0, 0);
}

PROMISE(one_byte_values_are_kept)
{
	if (!suite_open(s))
		return false;
	for (unsigned i = 0; i < 256; i++) {
		unsigned char byte = (unsigned char)i;
		if (!put(s, SLICE("key"), key_of(&byte, 1)) ||
			!has(s, SLICE("key"), key_of(&byte, 1)))
			return false;
	}
	return true;
}

PROMISE(values_of_64_kib_are_kept)
{
	if (!takes_value(s, SUITE_LONG) || !suite_open(s))
		return false;
	for (unsigned char i = 0; i < 16; i++)
		if (!put_and_find(s, key_of(&i, 1), SUITE_LONG, s->args->seed + i))
			return false;
	for (unsigned char i = 0; i < 16; i++)
		if (!has(s, key_of(&i, 1), suite_value(s, SUITE_LONG, s->args->seed + i)))
			return false;
	return true;
}

PROMISE(value_of_the_greatest_size_is_kept)
{
	uint64_t max = s->engine->value_size_max;
	if (max == 0 || max > SUITE_VALUE_SIZE)
		return suite_skip(s,
			max == 0 ? "values of any size" : "values longer than the suite tries");
	return suite_open(s) && put_and_find(s, SLICE("key"), (size_t)max, s->args->seed);
}

/**
 * The size to test after `size`: each one up to 300, then in steps of 5 %. Powers of two
 * and their neighbours are included, because fields, pages and buffers end there.
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

PROMISE(values_of_every_size_are_kept)
{
	size_t max = limited(SUITE_VALUE_SIZE, s->engine->value_size_max);
	uint64_t seed = s->args->seed;
	if (!suite_open(s))
		return false;
	for (size_t size = 0; size <= max; size = next_size(size)) {
		unsigned char key = (unsigned char)(++seed % 16);
		if (!put_and_find(s, key_of(&key, 1), size, seed))
			return false;
	}
	return true;
}

PROMISE(keys_of_every_size_are_kept)
{
	size_t max = limited(LONG_KEY, s->engine->key_size_max);
	if (!suite_open(s))
		return false;
	for (size_t size = 1; size <= max; size = next_size(size))
		if (!put(s, suite_value(s, size, size), suite_value(s, 8, size)))
			return false;
	for (size_t size = 1; size <= max; size = next_size(size))
		if (!has(s, suite_value(s, size, size), suite_value(s, 8, size)))
			return false;
	return true;
}

PROMISE(values_are_kept_byte_for_byte)
{
	static const char zeros[300];
	const struct nb_slice values[] = {SLICE("\0"), SLICE("\0\0"), SLICE("a\0b"),
		SLICE("a\0"), SLICE("\0a"), SLICE("\xff\xff\xff"), SLICE("a\nb\r\n\x1a"),
		SLICE("%s%n"), {zeros, sizeof(zeros)}, {zeros, 255}, {zeros, 256},
		{zeros, 257}};
	if (!takes_value(s, sizeof(zeros)) || !suite_open(s))
		return false;
	for (unsigned char i = 0; i < COUNT_OF(values); i++)
		if (!put(s, key_of(&i, 1), values[i]))
			return false;
	for (unsigned char i = 0; i < COUNT_OF(values); i++)
		if (!has(s, key_of(&i, 1), values[i]))
			return false;
	return true;
}

PROMISE(keys_are_told_apart_byte_for_byte)
{
	static const struct nb_slice keys[] = {{"\0", 1}, {"\0\0", 2}, {"\0\0\0", 3},
		{"\0a", 2}, {"a", 1}, {"a\0", 2}, {"a\0b", 3}, {"a\0c", 3}, {"ab", 2},
		{"abc", 3}, {"A", 1}, {" ", 1}, {"a ", 2}, {"\n", 1}, {"\xff", 1},
		{"\xff\xff", 2}, {"\xff\0", 2}, {"\x80", 1}, {"\x7f", 1}, {"/", 1}, {"..", 2}};
	size_t max = limited(LONG_KEY, s->engine->key_size_max);
	if (!suite_open(s))
		return false;
	for (size_t i = 0; i < COUNT_OF(keys); i++)
		if (keys[i].size <= max && !put(s, keys[i], suite_value(s, 8, i)))
			return false;
	for (size_t i = 0; i < COUNT_OF(keys); i++)
		if (keys[i].size <= max && !has(s, keys[i], suite_value(s, 8, i)))
			return false;
	return true;
}

PROMISE(key_of_the_greatest_size_is_kept)
{
	if (!suite_open(s))
		return false;
	struct nb_slice key = suite_value(
		s, limited(LONG_KEY, s->engine->key_size_max), s->args->seed);
	struct nb_slice shorter = key_of(key.data, key.size - 1);
	return put_and_find(s, key, 8, 1) &&
		(shorter.size == 0 || (lacks(s, shorter) && put_and_find(s, shorter, 8, 2))) &&
		has(s, key, suite_value(s, 8, 1));
}

PROMISE(key_that_is_too_long_is_kept_or_refused_with_text)
{
	uint64_t max = s->engine->key_size_max;
	if (max == 0 || max >= SUITE_LONG)
		return suite_skip(
			s, max == 0 ? "keys of any size" : "keys longer than the suite tries");
	if (!suite_open(s))
		return false;
	struct nb_slice key = suite_value(s, (size_t)max + 1, s->args->seed);
	struct nb_slice value = suite_value(s, 8, 1);
	int rc = session_put(s, s->main.session, key, value);
	return rc == NB_OK ? has(s, key, value)
			   : suite_failed(s, "put of a key longer than key_size_max", rc);
}

static bool
get_synthetic(struct suite *s, size_t size)
{
	struct nb_slice found = {0};
	if (!put(s, SLICE("key"), suite_value(s, size, size)) ||
		!suite_ok(s, "get", session_get(s, s->main.session, SLICE("key"), &found)))
		return false;
	/* A hint of 0 means that the size is unknown: then any size is correct. */
	if (size != 0 && found.size != size)
		return suite_break(
			s, "get lent %zu bytes where values have %zu", found.size, size);
	/* Read each byte, so that a sanitizer or the kernel reports an invalid one. */
	if (found.size <= SUITE_VALUE_SIZE && found.size != 0)
		memcpy(s->values, found.data, found.size);
	session_release(s, s->main.session);
	return true;
}

PROMISE(synthetic_get_lends_value_size_bytes)
{
	static const size_t sizes[] = {100, 1, 0, 4096, SUITE_VALUE_SIZE};
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		if (!database_make(s, &s->main, s->engine, s->args->options))
			return false;
		s->main.value_size = sizes[i];
		if (!suite_ok(s, "open of a new database",
			    database_open(&s->main, NB_OPEN_CREATE)) ||
			!get_synthetic(s, sizes[i]))
			return false;
		database_remove(&s->main);
	}
	return true;
}
