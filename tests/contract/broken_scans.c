/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Defects of scans. One thread runs one scan at a time, so the state of a scan is thread-local.
 */
#include <stdbool.h>
#include <string.h>

#include "broken.h"

static void
release_any(struct nb_session *session)
{
	if (broken_right->release != NULL)
		broken_right->release(session);
}

static _Thread_local uint64_t steps;
static _Thread_local bool was_at_end;

SCAN_OPEN(scan_open_counted)
{
	steps = 0;
	was_at_end = false;
	return broken_right->scan_open(session, args);
}

SCAN_NEXT(scan_next_skipping)
{
	int rc = broken_right->scan_next(session, key, value);
	if (rc == NB_OK && ++steps == 4)
		rc = broken_right->scan_next(session, key, value);
	return rc;
}

SCAN_NEXT(scan_next_no_size)
{
	int rc = broken_right->scan_next(session, key, value);
	if (rc == NB_OK && ++steps == 4)
		*key = (struct nb_slice){NULL, (size_t)-1};
	return rc;
}

SCAN_NEXT(scan_next_twice)
{
	int rc = broken_right->scan_next(session, key, value);
	if (rc == NB_NOT_FOUND && !was_at_end) {
		was_at_end = true;
		return rc;
	}
	*key = *value = (struct nb_slice){"x", 1};
	return rc == NB_NOT_FOUND ? NB_OK : rc;
}

SCAN_OPEN(scan_open_turned)
{
	struct nb_scan_args turned = *args;
	turned.flags ^= NB_SCAN_BACKWARD;
	return broken_right->scan_open(session, &turned);
}

SCAN_OPEN(scan_open_forward)
{
	struct nb_scan_args turned = *args;
	turned.flags &= ~NB_SCAN_BACKWARD;
	return broken_right->scan_open(session, &turned);
}

/* Starts after the requested first key. */
SCAN_OPEN(scan_open_after)
{
	struct nb_slice key = {0}, value, from = args->from;
	int rc = broken_right->scan_open(session, args);
	if (rc != NB_OK || from.size == 0 || broken_right->get(session, from, &value) != NB_OK)
		return rc;
	release_any(session);
	return broken_right->scan_next(session, &key, &value) < 0 ? NB_FAIL : NB_OK;
}

/* Returns an empty key instead of the end of the scan. */
SCAN_NEXT(scan_next_blank)
{
	int rc = broken_right->scan_next(session, key, value);
	*key = rc == NB_NOT_FOUND ? (struct nb_slice){"", 0} : *key;
	return rc == NB_NOT_FOUND ? NB_OK : rc;
}

static _Thread_local bool has_scanned;

SCAN_OPEN(scan_open_noted)
{
	has_scanned = true;
	return broken_right->scan_open(session, args);
}

GET(get_before_scans)
{
	return has_scanned ? NB_NOT_FOUND : broken_right->get(session, key, value);
}

SCAN_OPEN(scan_open_full_only)
{
	if ((args->flags & NB_SCAN_KEYS_ONLY) != 0)
		return NB_FAIL;
	return broken_right->scan_open(session, args);
}

/* A backward scan that starts between two keys returns the upper one first. */
SCAN_OPEN(scan_open_above)
{
	struct nb_scan_args changed = *args;
	static _Thread_local char buf[64];
	if ((args->flags & NB_SCAN_BACKWARD) != 0 && args->from.size != 0 &&
		args->from.size < 60) {
		memcpy(buf, args->from.data, args->from.size);
		memset(buf + args->from.size, 0xff, 2);
		changed.from = (struct nb_slice){buf, args->from.size + 2};
	}
	return broken_right->scan_open(session, &changed);
}

static int
scan_close_failing(struct nb_session *session)
{
	(void)broken_right->scan_close(session);
	return NB_FAIL;
}

/* Ends after one page of 500 records. */
SCAN_NEXT(scan_next_of_a_page)
{
	return ++steps > 500 ? NB_NOT_FOUND : broken_right->scan_next(session, key, value);
}

/* Reopens the scan at each record. */
SCAN_NEXT(scan_next_anew)
{
	char from[64];
	int rc = broken_right->scan_next(session, key, value);
	if (rc != NB_OK || key->size > sizeof(from))
		return rc;
	memcpy(from, key->data, key->size);
	const struct nb_scan_args args = {.size = sizeof(args), .from = {from, key->size}};
	(void)broken_right->scan_close(session);
	rc = broken_right->scan_open(session, &args);
	return rc == NB_OK ? broken_right->scan_next(session, key, value) : rc;
}

const struct defect broken_scans[] = {
	{"scan_skips_a_key", "scan_gives_each_record_once",
		{VERB(scan_open, scan_open_counted), VERB(scan_next, scan_next_skipping)}},
	{"scan_gives_a_key_without_a_size", "scan_gives_each_record_once",
		{VERB(scan_open, scan_open_counted), VERB(scan_next, scan_next_no_size)}},
	{"scan_goes_on_after_its_end", "scan_that_is_at_its_end_stays_there",
		{VERB(scan_open, scan_open_counted), VERB(scan_next, scan_next_twice)}},
	{"scan_goes_the_wrong_way", "scan_follows_the_order_of_bytes",
		{VERB(scan_open, scan_open_turned)}},
	{"scan_ignores_backward", "scan_backward_is_the_reverse",
		{VERB(scan_open, scan_open_forward)}},
	{"scan_begins_too_late", "scan_begins_where_it_is_told",
		{VERB(scan_open, scan_open_after)}},
	{"scan_has_no_snapshot", "scan_sees_one_version_of_the_data",
		{VERB(scan_next, scan_next_anew)}, .is_plain = true},
	{"scan_finds_nothing_at_all", "scan_of_an_empty_database_is_at_its_end",
		{VERB(scan_next, scan_next_blank)}},
	{"scan_ends_gets", "scan_leaves_the_session_usable",
		{VERB(scan_open, scan_open_noted), VERB(get, get_before_scans)}},
	{"scan_of_keys_fails", "scan_of_keys_only_gives_every_key",
		{VERB(scan_open, scan_open_full_only)}},
	{"scan_backward_begins_above", "scan_backward_begins_where_it_is_told",
		{VERB(scan_open, scan_open_above)}},
	{"scan_close_fails", "scan_leaves_the_session_usable",
		{VERB(scan_close, scan_close_failing)}},
	{"scan_ends_after_500", "scans_of_many_records_give_all_of_them",
		{VERB(scan_open, scan_open_counted), VERB(scan_next, scan_next_of_a_page)}},
	{.name = NULL},
};
