/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * More records than fit into a page or a small table, so that a tree gets inner nodes and a
 * hash table grows. Then most of them are deleted, so that pages are merged.
 */
#include <string.h>

#include "check/suite.h"

enum { RECORDS = 3000, LEFT = 10 /* one in LEFT remains */ };

struct many_key {
	unsigned char bytes[40];
	struct nb_slice slice;
};

/** Make a key. The order of keys differs from the order of `i`. */
static struct nb_slice
make_key(struct suite *s, struct many_key *key, uint32_t i)
{
	uint32_t scattered = i * 0x9e3779b1u; /* odd, so all keys differ */
	bytes_fill(key->bytes, sizeof(key->bytes), i);
	memcpy(key->bytes, &scattered, sizeof(scattered));
	key->slice = (struct nb_slice){
		key->bytes, limited(8 + i % 33, s->engine->key_size_max)};
	return key->slice;
}

static struct nb_slice
make_value(struct suite *s, uint32_t i)
{
	return suite_value(s, limited(50 + i % 101, s->engine->value_size_max), i);
}

static bool
open_many(struct suite *s)
{
	uint64_t max = s->engine->key_size_max;
	struct many_key key;
	if (max != 0 && max < sizeof(uint32_t))
		return suite_skip(s, "its keys are too short for many records");
	if (!suite_open(s))
		return false;
	for (uint32_t i = 0; i < RECORDS; i++)
		if (!put(s, make_key(s, &key, i), make_value(s, i)))
			return false;
	return true;
}

/** Find all records; if `is_thinned`, only those that remain. */
static bool
find_many(struct suite *s, bool is_thinned)
{
	struct many_key key;
	for (uint32_t i = 0; i < RECORDS; i++) {
		make_key(s, &key, i);
		if (!is_thinned || i % LEFT == 0 ? !has(s, key.slice, make_value(s, i))
						 : !lacks(s, key.slice))
			return false;
	}
	return true;
}

static bool
thin_out(struct suite *s)
{
	struct many_key key;
	for (uint32_t i = 0; i < RECORDS; i++)
		if (i % LEFT != 0 && !del(s, make_key(s, &key, i)))
			return false;
	return true;
}

PROMISE(many_records_are_kept)
{
	return open_many(s) && find_many(s, false) && thin_out(s) && find_many(s, true);
}

/** Read a scan: each record once, and in order if the engine promises it. */
static bool
read_scan(struct suite *s, uint32_t flags, uint32_t wanted)
{
	bool is_ordered = (s->engine->caps & NB_CAP_ORDERED) != 0;
	int way = (flags & NB_SCAN_BACKWARD) != 0 ? -1 : 1;
	unsigned char before[sizeof(((struct many_key *)0)->bytes)];
	size_t before_size = 0;
	for (uint32_t seen = 0;; seen++) {
		struct nb_slice key = {0}, value = {0}, last = {before, before_size};
		int rc = s->engine->scan_next(s->main.session, &key, &value);
		if (rc == NB_NOT_FOUND)
			return seen == wanted ||
				suite_break(s, "a scan of %u records gave %u", (unsigned)wanted,
					(unsigned)seen);
		if (rc != NB_OK)
			return suite_wrong(s, "scan_next", rc, "NB_OK or NB_NOT_FOUND");
		if (seen >= wanted || key.size > sizeof(before))
			return suite_break(
				s, "a scan of %u records gave other records", (unsigned)wanted);
		if (is_ordered && seen > 0 && slice_compare(key, last) * way <= 0)
			return suite_break(
				s, "record %u of a scan is not in order", (unsigned)seen);
		memcpy(before, key.data, key.size);
		before_size = key.size;
	}
}

static bool
scan_many(struct suite *s, uint32_t flags, uint32_t wanted)
{
	struct nb_scan_args args = {.size = sizeof(args), .flags = flags};
	host_forget();
	int rc = s->engine->scan_open(s->main.session, &args);
	if (rc == NB_UNSUPPORTED && (flags & NB_SCAN_BACKWARD) != 0)
		return true;
	if (!suite_ok(s, "scan_open", rc))
		return false;
	bool is_right = read_scan(s, flags, wanted);
	return suite_ok(s, "scan_close", s->engine->scan_close(s->main.session)) && is_right;
}

PROMISE(scans_of_many_records_give_all_of_them)
{
	uint32_t way_back = (s->engine->caps & NB_CAP_ORDERED) != 0 ? NB_SCAN_BACKWARD : 0;
	return open_many(s) && scan_many(s, 0, RECORDS) && scan_many(s, way_back, RECORDS) &&
		thin_out(s) && scan_many(s, 0, RECORDS / LEFT) &&
		scan_many(s, way_back, RECORDS / LEFT);
}
