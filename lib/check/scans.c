/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scans, against a sorted array of the suite's own: not against the oracle, so
 * that the oracle's scans can be checked as well.
 *
 * The keys differ in length, begin one another and hold 0x00 and 0xff, since
 * that is where a comparison of signed characters, of C strings or of lengths
 * first goes another way than memcmp().
 */
#include <stdio.h>
#include <string.h>

#include "check/suite.h"

/* In the order of memcmp(), a prefix first. */
static const struct nb_slice sorted[] = {{"\0", 1}, {"\0\0", 2}, {"\0\1", 2}, {"\1", 1},
	{"A", 1}, {"a", 1}, {"a\0", 2}, {"a\0b", 3}, {"aa", 2}, {"ab", 2}, {"abc", 3}, {"b", 1},
	{"\x7f", 1}, {"\x80", 1}, {"\xfe\xff", 2}, {"\xff", 1}, {"\xff\0", 2}, {"\xff\xff", 2}};
enum { SORTED = sizeof(sorted) / sizeof(sorted[0]) };

static struct nb_slice
value_of(struct suite *s, size_t i)
{
	return suite_value(s, 10 + i, s->args->seed + i);
}

/* Open `main` and put the keys in an order that is not theirs. */
static bool
open_sorted(struct suite *s)
{
	if (!suite_open(s))
		return false;
	for (size_t i = 0; i < SORTED; i++) {
		size_t at = i * 7 % SORTED; /* 7 and 18 have no common divisor */
		if (!expect_put(s, s->main.session, sorted[at], value_of(s, at)))
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
	return rc == NB_OK || suite_wrong(s, "scan_open", rc, "NB_OK");
}

/* The next record is sorted[i]. */
static bool
expect_next(struct suite *s, size_t i, bool with_value)
{
	char want[QUOTE_SIZE], got[QUOTE_SIZE];
	struct nb_slice key = {0}, value = {0};
	host_forget();
	int rc = s->engine->scan_next(s->main.session, &key, &value);
	if (rc != NB_OK)
		return suite_wrong(s, "scan_next before the last record", rc, "NB_OK");
	if (!slice_equal(key, sorted[i]))
		return suite_break(s, "the scan gave the key %s where %s is next",
			slice_quote(got, key), slice_quote(want, sorted[i]));
	if (with_value && !slice_equal(value, value_of(s, i)))
		return suite_break(s, "the scan gave another value than was put for the key %s",
			slice_quote(got, key));
	return true;
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

/* Close the scan, which has met nothing wrong. `is_right`: whether it went well so far. */
static bool
close_scan(struct suite *s, bool is_right)
{
	host_forget();
	int rc = s->engine->scan_close(s->main.session);
	return is_right && (rc == NB_OK || suite_wrong(s, "scan_close", rc, "NB_OK"));
}

/* A whole scan from `from` gives sorted[first], and so on in its direction, to the end. */
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
	is_right = is_right && expect_end(s);
	return close_scan(s, is_right);
}

void
check_scan_is_ordered(struct suite *s)
{
	if (open_sorted(s))
		expect_scan(s, 0, (struct nb_slice){0}, 0);
}

void
check_scan_backward(struct suite *s)
{
	if (open_sorted(s))
		expect_scan(s, NB_SCAN_BACKWARD, (struct nb_slice){0}, SORTED - 1);
}

/* Where a scan from a key begins: the first sorted key that is not on the wrong side of it. */
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

static void
scan_from_everywhere(struct suite *s, uint32_t flags)
{
	static const struct nb_slice between[] = {{"\0\0\0", 3}, {"\0a", 2}, {"\2", 1},
		{"B", 1}, {"a\0a", 3}, {"a\0c", 3}, {"abb", 3}, {"abd", 3}, {"c", 1},
		{"\x7f\xff", 2}, {"\xfe", 1}, {"\xff\0\0", 3}, {"\xff\xff\0", 3},
		{"\xff\xff\xff", 3}};
	bool is_backward = (flags & NB_SCAN_BACKWARD) != 0;
	if (!open_sorted(s))
		return;
	for (size_t i = 0; i < SORTED; i++)
		if (!expect_scan(s, flags, sorted[i], (int)i))
			return;
	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++)
		if (!expect_scan(s, flags, between[i], first_from(between[i], is_backward)))
			return;
	/* Before the first one, too: without "\0" no key is below "\0\0" but "\0" itself. */
	if (expect_del(s, s->main.session, sorted[0]) && open_scan(s, flags, sorted[0])) {
		if (is_backward)
			expect_end(s);
		else
			expect_next(s, 1, true);
		close_scan(s, true);
	}
}

void
check_scan_from(struct suite *s)
{
	scan_from_everywhere(s, 0);
}

void
check_scan_from_backward(struct suite *s)
{
	scan_from_everywhere(s, NB_SCAN_BACKWARD);
}

void
check_scan_of_empty(struct suite *s)
{
	if (!suite_open(s) || !open_scan(s, 0, (struct nb_slice){0}))
		return;
	expect_end(s);
	close_scan(s, true);
	/* And one that has become empty. */
	if (!expect_put(s, s->main.session, SLICE("key"), SLICE("v")) ||
		!expect_del(s, s->main.session, SLICE("key")) ||
		!open_scan(s, 0, (struct nb_slice){0}))
		return;
	expect_end(s);
	close_scan(s, true);
}

void
check_scan_end_stays(struct suite *s)
{
	if (!suite_open(s) || !expect_put(s, s->main.session, sorted[4], value_of(s, 4)) ||
		!open_scan(s, 0, (struct nb_slice){0}))
		return;
	if (expect_next(s, 4, true))
		for (int i = 0; i < 5 && expect_end(s); i++)
			;
	close_scan(s, true);
}

void
check_scan_leaves_session(struct suite *s)
{
	if (!open_sorted(s))
		return;
	for (int i = 0; i < 50; i++) {
		struct nb_slice key, value;
		if (!open_scan(s, 0, (struct nb_slice){0}))
			return;
		if (i % 2 == 1) /* closed in the middle, or before anything was read */
			s->engine->scan_next(s->main.session, &key, &value);
		size_t at = (size_t)i % SORTED;
		if (!close_scan(s, true) ||
			!expect_value(s, s->main.session, sorted[at], value_of(s, at)) ||
			!expect_put(s, s->main.session, sorted[at], value_of(s, at)))
			return;
	}
}

/*
 * Read on in the open scan, to its end or `limit` records far, and count how often each
 * of the sorted keys came.
 */
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
		suite_break(
			s, "the scan gives more records than the %d that there are", SORTED);
}

static void
expect_each_once(struct suite *s, const uint32_t *seen)
{
	char quoted[QUOTE_SIZE];
	for (size_t i = 0; i < SORTED; i++)
		if (seen[i] != 1)
			suite_break(s, "the scan gave the key %s %u times",
				slice_quote(quoted, sorted[i]), (unsigned)seen[i]);
}

static void
scan_gives_each_once(struct suite *s, uint32_t flags)
{
	uint32_t seen[SORTED] = {0};
	if (!open_sorted(s) || !open_scan(s, flags, (struct nb_slice){0}))
		return;
	bool is_read = count_scan(s, seen, SORTED + 1, (flags & NB_SCAN_KEYS_ONLY) == 0);
	close_scan(s, true);
	if (is_read)
		expect_each_once(s, seen);
}

void
check_scan_is_whole(struct suite *s)
{
	scan_gives_each_once(s, 0);
}

void
check_scan_keys_only(struct suite *s)
{
	scan_gives_each_once(s, NB_SCAN_KEYS_ONLY);
}

/* Another session changes what lies ahead of the scan. */
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

void
check_scan_snapshot(struct suite *s)
{
	static struct worker writer;
	uint32_t seen[SORTED] = {0};
	bool is_ordered = (s->engine->caps & NB_CAP_ORDERED) != 0;
	if (!open_sorted(s) || !open_scan(s, 0, (struct nb_slice){0}))
		return;
	bool is_right = is_ordered ? expect_next(s, 0, true) && expect_next(s, 1, true)
				   : count_scan(s, seen, 2, true);
	if (!worker_start(&writer, s, 1, write_ahead, NULL)) {
		close_scan(s, true);
		return;
	}
	worker_give_time(&writer);
	for (size_t i = 2; is_ordered && is_right && i < SORTED; i++)
		is_right = expect_next(s, i, true);
	if (is_ordered && is_right)
		expect_end(s);
	if (!is_ordered && is_right && count_scan(s, seen, SORTED + 1, true))
		expect_each_once(s, seen);
	close_scan(s, true);
	worker_join(&writer);
	expect_value(s, s->main.session, SLICE("aaa"), SLICE("new"));
	expect_missing(s, s->main.session, sorted[5]);
}
