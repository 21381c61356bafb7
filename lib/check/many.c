/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * More records than fit into a page or a small table: so many that a tree gets inner nodes and
 * a hash table grows, and then most of them deleted again, so that pages are merged.
 */
#include <string.h>

#include "check/suite.h"

enum { RECORDS = 3000, LEFT = 10 /* one in so many is left in the end */ };

struct many_key {
	unsigned char bytes[40];
	struct nb_slice slice;
};

/* Its order is another than that of `i`. */
static struct nb_slice
make_key(struct suite *s, struct many_key *key, uint32_t i)
{
	uint64_t max = s->engine->key_size_max;
	size_t size = 8 + i % 33;
	uint32_t scattered = i * 0x9e3779b1u; /* odd: no two are equal */
	bytes_fill(key->bytes, sizeof(key->bytes), i);
	memcpy(key->bytes, &scattered, sizeof(scattered));
	key->slice = (struct nb_slice){key->bytes, max != 0 && size > max ? (size_t)max : size};
	return key->slice;
}

static struct nb_slice
make_value(struct suite *s, uint32_t i)
{
	size_t size = 50 + i % 101;
	uint64_t max = s->engine->value_size_max;
	return suite_value(s, max != 0 && size > max ? (size_t)max : size, i);
}

static bool
open_many(struct suite *s)
{
	uint64_t max = s->engine->key_size_max;
	struct many_key key;
	if (max != 0 && max < sizeof(uint32_t))
		return suite_skip(s, "its keys are too short to be many");
	if (!suite_open(s))
		return false;
	for (uint32_t i = 0; i < RECORDS; i++)
		if (!expect_put(s, s->main.session, make_key(s, &key, i), make_value(s, i)))
			return false;
	return true;
}

/* All of them; or, `is_thinned`, those that are left, and not the others. */
static bool
find_many(struct suite *s, bool is_thinned)
{
	struct many_key key;
	for (uint32_t i = 0; i < RECORDS; i++) {
		make_key(s, &key, i);
		bool is_there = !is_thinned || i % LEFT == 0;
		if (is_there ? !expect_value(s, s->main.session, key.slice, make_value(s, i))
			     : !expect_missing(s, s->main.session, key.slice))
			return false;
	}
	return true;
}

static bool
thin_out(struct suite *s)
{
	struct many_key key;
	for (uint32_t i = 0; i < RECORDS; i++)
		if (i % LEFT != 0 && !expect_del(s, s->main.session, make_key(s, &key, i)))
			return false;
	return true;
}

void
check_many_records(struct suite *s)
{
	if (open_many(s) && find_many(s, false) && thin_out(s))
		find_many(s, true);
}

/* Each record once, and where the engine promises it in their order. */
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
			return suite_break(s, "a scan of %u records gave others as well",
				(unsigned)wanted);
		if (is_ordered && seen > 0 && slice_compare(key, last) * way <= 0)
			return suite_break(
				s, "record %u of a scan is not in its order", (unsigned)seen);
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
	if (rc != NB_OK)
		return suite_wrong(s, "scan_open", rc, "NB_OK");
	bool is_right = read_scan(s, flags, wanted);
	rc = s->engine->scan_close(s->main.session);
	return is_right && (rc == NB_OK || suite_wrong(s, "scan_close", rc, "NB_OK"));
}

void
check_many_records_in_scans(struct suite *s)
{
	uint32_t way_back = (s->engine->caps & NB_CAP_ORDERED) != 0 ? NB_SCAN_BACKWARD : 0;
	if (open_many(s) && scan_many(s, 0, RECORDS) && scan_many(s, way_back, RECORDS) &&
		thin_out(s) && scan_many(s, 0, RECORDS / LEFT))
		scan_many(s, way_back, RECORDS / LEFT);
}
