/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scans, compared with the suite's own sorted array instead of the oracle, so that the
 * oracle's scans can be checked as well.
 *
 * The keys have different lengths, are prefixes of one another and contain 0x00 and 0xff.
 * With such keys, comparing signed characters, C strings or lengths first gives another
 * order than memcmp().
 */
#include <stdio.h>
#include <string.h>

#include "check/suite.h"

/* In the order of memcmp(); a prefix sorts first. */
static const struct nb_slice sorted[] = {{"\0", 1}, {"\0\0", 2}, {"\0\1", 2}, {"\1", 1},
	{"A", 1}, {"a", 1}, {"a\0", 2}, {"a\0b", 3}, {"aa", 2}, {"ab", 2}, {"abc", 3}, {"b", 1},
	{"\x7f", 1}, {"\x80", 1}, {"\xfe\xff", 2}, {"\xff", 1}, {"\xff\0", 2}, {"\xff\xff", 2}};
enum { SORTED = sizeof(sorted) / sizeof(sorted[0]) };

static const struct nb_slice whole; /* `from` for a scan of everything */

static struct nb_slice
value_of(struct suite *s, size_t i)
{
	return suite_value(s, 10 + i, s->args->seed + i);
}

/** Open `main` and put the keys in another order. */
static bool
open_sorted(struct suite *s)
{
	if (!suite_open(s))
		return false;
	for (size_t i = 0; i < SORTED; i++) {
		size_t at = i * 7 % SORTED; /* 7 and 18 are coprime */
		if (!put(s, sorted[at], value_of(s, at)))
			return false;
	}
	return true;
}

static bool
open_scan(struct suite *s, uint32_t flags, struct nb_slice from)
{
	struct nb_scan_args args = {
		.size = sizeof(args), .flags = flags, .from = from, .limit = SORTED};
	host_forget();
	int rc = s->engine->scan_open(s->main.session, &args);
	if (rc == NB_UNSUPPORTED && (flags & NB_SCAN_BACKWARD) != 0)
		return suite_failed(s, "scan_open backward", rc) &&
			suite_skip(s, "it refuses backward scans");
	return suite_ok(s, "scan_open", rc);
}

/** Check that the next record is sorted[i]. */
static bool
expect_next(struct suite *s, size_t i, bool with_value)
{
	char want[QUOTE_SIZE], got[QUOTE_SIZE];
	struct nb_slice key = {0}, value = {0};
	host_forget();
	int rc = s->engine->scan_next(s->main.session, &key, &value);
	if (!suite_ok(s, "scan_next before the last record", rc))
		return false;
	if (!slice_equal(key, sorted[i]))
		return suite_break(s, "the scan gave the key %s where %s is next",
			slice_quote(got, key), slice_quote(want, sorted[i]));
	return !with_value || slice_equal(value, value_of(s, i)) ||
		suite_break(s, "the scan gave another value than was put for the key %s",
			slice_quote(got, key));
}

static bool
expect_end(struct suite *s)
{
	char got[QUOTE_SIZE];
	struct nb_slice key = {0}, value = {0};
	host_forget();
	int rc = s->engine->scan_next(s->main.session, &key, &value);
	if (rc == NB_OK)
		return suite_break(s, "the scan gave the key %s after its last record",
			slice_quote(got, key));
	return rc == NB_NOT_FOUND ||
		suite_wrong(s, "scan_next after the last record", rc, "NB_NOT_FOUND");
}

/** Close the scan. `is_right`: the result so far. */
static bool
close_scan(struct suite *s, bool is_right)
{
	host_forget();
	return suite_ok(s, "scan_close", s->engine->scan_close(s->main.session)) && is_right;
}

/**
 * Check that a scan from `from` returns sorted[first] and all following keys in its
 * direction.
 */
static bool
expect_scan(struct suite *s, uint32_t flags, struct nb_slice from, int first)
{
	if (!open_scan(s, flags, from))
		return false;
	int step = (flags & NB_SCAN_BACKWARD) != 0 ? -1 : 1;
	bool with_value = (flags & NB_SCAN_KEYS_ONLY) == 0;
	bool is_right = true;
	for (int i = first; is_right && i >= 0 && i < SORTED; i += step)
		is_right = expect_next(s, (size_t)i, with_value);
	return close_scan(s, is_right && expect_end(s));
}

PROMISE(scan_follows_the_order_of_bytes)
{
	return open_sorted(s) && expect_scan(s, 0, whole, 0);
}

PROMISE(scan_backward_is_the_reverse)
{
	return open_sorted(s) && expect_scan(s, NB_SCAN_BACKWARD, whole, SORTED - 1);
}

/** The index of the first key of a scan from `from`, in its direction. */
static int
first_from(struct nb_slice from, bool is_backward)
{
	int at = 0;
	while (at < SORTED && slice_compare(sorted[at], from) < 0)
		at++;
	if (!is_backward || (at < SORTED && slice_equal(sorted[at], from)))
		return at;
	return at - 1;
}

static bool
scan_from_everywhere(struct suite *s, uint32_t flags)
{
	static const struct nb_slice between[] = {{"\0\0\0", 3}, {"\0a", 2}, {"\2", 1},
		{"B", 1}, {"a\0a", 3}, {"a\0c", 3}, {"abb", 3}, {"abd", 3}, {"c", 1},
		{"\x7f\xff", 2}, {"\xfe", 1}, {"\xff\0\0", 3}, {"\xff\xff\0", 3},
		{"\xff\xff\xff", 3}};
	bool is_backward = (flags & NB_SCAN_BACKWARD) != 0;
	if (!open_sorted(s))
		return false;
	for (size_t i = 0; i < SORTED; i++)
		if (!expect_scan(s, flags, sorted[i], (int)i))
			return false;
	for (size_t i = 0; i < COUNT_OF(between); i++)
		if (!expect_scan(s, flags, between[i], first_from(between[i], is_backward)))
			return false;
	/*
	 * Also before the first key: after deleting "\0", a scan from it starts below all
	 * keys.
	 */
	return del(s, sorted[0]) && open_scan(s, flags, sorted[0]) &&
		close_scan(s, is_backward ? expect_end(s) : expect_next(s, 1, true));
}

PROMISE(scan_begins_where_it_is_told)
{
	return scan_from_everywhere(s, 0);
}

PROMISE(scan_backward_begins_where_it_is_told)
{
	return scan_from_everywhere(s, NB_SCAN_BACKWARD);
}

PROMISE(scan_of_an_empty_database_is_at_its_end)
{
	return suite_open(s) && open_scan(s, 0, whole) && close_scan(s, expect_end(s)) &&
		/* The same after deleting its only record. */
		put(s, SLICE("key"), SLICE("v")) && del(s, SLICE("key")) &&
		open_scan(s, 0, whole) && close_scan(s, expect_end(s));
}

PROMISE(scan_that_is_at_its_end_stays_there)
{
	if (!suite_open(s) || !put(s, sorted[4], value_of(s, 4)) || !open_scan(s, 0, whole))
		return false;
	bool is_right = expect_next(s, 4, true);
	for (int i = 0; i < 5; i++)
		is_right = is_right && expect_end(s);
	return close_scan(s, is_right);
}

PROMISE(scan_leaves_the_session_usable)
{
	if (!open_sorted(s))
		return false;
	for (int i = 0; i < 50; i++) {
		struct nb_slice key, value;
		if (!open_scan(s, 0, whole))
			return false;
		if (i % 2 == 1) /* close after one record, or before any */
			s->engine->scan_next(s->main.session, &key, &value);
		size_t at = (size_t)i % SORTED;
		if (!close_scan(s, true) || !has(s, sorted[at], value_of(s, at)) ||
			!put(s, sorted[at], value_of(s, at)))
			return false;
	}
	return true;
}

/** Read at most `limit` records of the open scan, and count each of the sorted keys. */
static bool
count_scan(struct suite *s, uint32_t *seen, int limit, bool with_value)
{
	char quoted[QUOTE_SIZE];
	for (int total = 0; total < limit; total++) {
		struct nb_slice key = {0}, value = {0};
		int rc = s->engine->scan_next(s->main.session, &key, &value);
		if (rc == NB_NOT_FOUND)
			return true;
		if (rc != NB_OK)
			return suite_wrong(s, "scan_next", rc, "NB_OK or NB_NOT_FOUND");
		size_t at = 0;
		while (at < SORTED && !slice_equal(key, sorted[at]))
			at++;
		if (at == SORTED)
			return suite_break(s, "the scan gave the key %s, which was never put",
				slice_quote(quoted, key));
		seen[at]++;
		if (with_value && !slice_equal(value, value_of(s, at)))
			return suite_break(s, "the scan gave another value for the key %s",
				slice_quote(quoted, key));
	}
	return limit <= SORTED ||
		suite_break(s, "the scan gives more than the %d records put", SORTED);
}

static bool
expect_each_once(struct suite *s, const uint32_t *seen)
{
	char quoted[QUOTE_SIZE];
	for (size_t i = 0; i < SORTED; i++)
		if (seen[i] != 1)
			return suite_break(s, "the scan gave the key %s %u times",
				slice_quote(quoted, sorted[i]), (unsigned)seen[i]);
	return true;
}

static bool
scan_gives_each_once(struct suite *s, uint32_t flags)
{
	uint32_t seen[SORTED] = {0};
	return open_sorted(s) && open_scan(s, flags, whole) &&
		close_scan(
			s, count_scan(s, seen, SORTED + 1, (flags & NB_SCAN_KEYS_ONLY) == 0)) &&
		expect_each_once(s, seen);
}

PROMISE(scan_gives_each_record_once)
{
	return scan_gives_each_once(s, 0);
}

PROMISE(scan_of_keys_only_gives_every_key)
{
	return scan_gives_each_once(s, NB_SCAN_KEYS_ONLY);
}

/** In another session, change records that the scan has not reached. */
static void
write_ahead(struct worker *worker)
{
	struct suite *s = worker->suite;
	expect_put(s, worker->session, SLICE("aaa"), SLICE("new"));
	expect_put(s, worker->session, SLICE("\xff\xff\xff"), SLICE("new"));
	expect_put(s, worker->session, sorted[SORTED - 2], SLICE("other"));
	expect_del(s, worker->session, sorted[SORTED - 1]);
	expect_del(s, worker->session, sorted[5]);
}

PROMISE(scan_sees_one_version_of_the_data)
{
	static struct worker writer;
	uint32_t seen[SORTED] = {0};
	bool is_ordered = (s->engine->caps & NB_CAP_ORDERED) != 0;
	if (!open_sorted(s) || !open_scan(s, 0, whole))
		return false;
	bool is_right = is_ordered ? expect_next(s, 0, true) && expect_next(s, 1, true)
				   : count_scan(s, seen, 2, true);
	if (!worker_start(&writer, s, 1, write_ahead))
		return close_scan(s, false);
	worker_give_time(&writer);
	for (size_t i = 2; is_ordered && is_right && i < SORTED; i++)
		is_right = expect_next(s, i, true);
	if (is_ordered)
		is_right = is_right && expect_end(s);
	else
		is_right = is_right && count_scan(s, seen, SORTED + 1, true) &&
			expect_each_once(s, seen);
	close_scan(s, is_right);
	worker_join(&writer);
	return is_right && has(s, SLICE("aaa"), SLICE("new")) && lacks(s, sorted[5]);
}
