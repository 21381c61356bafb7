/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Defects of databases, sessions, threads and the engine table: shared state that must be
 * separate, resources that are not freed, features that the table offers but the verbs lack.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "broken.h"

enum { SHARED_SIZE = 65536 };

/* One static buffer for the lent values of all sessions. */
static pthread_mutex_t lent_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char lent[SHARED_SIZE];

GET(get_shared)
{
	int rc = broken_right->get(session, key, value);
	if (rc != NB_OK || value->size > SHARED_SIZE)
		return rc;
	pthread_mutex_lock(&lent_lock);
	if (value->size != 0)
		memcpy(lent, value->data, value->size);
	pthread_mutex_unlock(&lent_lock);
	value->data = lent;
	return rc;
}

OPEN(open_at_any_level)
{
	struct nb_open_args changed = *args;
	changed.durability = broken_right->auto_durability;
	return broken_right->open(out, &changed);
}

static uint32_t
auto_at_no_level(const char *path)
{
	return 7;
}

OPEN(open_at_no_level)
{
	return args->host->fail(NB_UNSUPPORTED, "no level is good enough");
}

static int
fail_mutely(int code, const char *fmt, ...)
{
	return code;
}

OPEN(open_mute)
{
	static struct nb_host mute;
	struct nb_open_args changed = *args;
	mute = *args->host;
	mute.fail = fail_mutely;
	changed.host = &mute;
	return broken_right->open(out, &changed);
}

static const struct nb_host *told_host;

OPEN(open_chatty)
{
	told_host = args->host;
	return broken_right->open(out, args);
}

GET(get_chatty)
{
	int rc = broken_right->get(session, key, value);
	return rc == NB_NOT_FOUND ? told_host->fail(NB_NOT_FOUND, "no such key") : rc;
}

SESSION_OPEN(session_open_thrice)
{
	if (__atomic_add_fetch(&broken_calls, 1, __ATOMIC_RELAXED) > 100)
		return NB_FAIL; /* the slots of closed sessions are never freed */
	return broken_right->session_open(out, db, id);
}

/* Every open except the first opens another, empty database. */
OPEN(open_elsewhere)
{
	static char path[2048];
	struct nb_open_args changed = *args;
	if (!__atomic_exchange_n(&broken_calls, 1, __ATOMIC_RELAXED)) /* the first is correct */
		return broken_right->open(out, args);
	strncpy(path, args->path, sizeof(path) - 16);
	strcat(path, ".other");
	changed.path = path;
	changed.flags |= NB_OPEN_CREATE;
	return broken_right->open(out, &changed);
}

OPEN(open_or_make)
{
	struct nb_open_args changed = *args;
	changed.flags |= NB_OPEN_CREATE;
	return broken_right->open(out, &changed);
}

OPEN(open_the_one)
{
	struct nb_open_args changed = *args;
	changed.path = "one for all";
	changed.flags |= NB_OPEN_CREATE;
	return broken_right->open(out, &changed);
}

/*
 * get finds records only in threads that have called put, as with a cache that is never
 * updated.
 */
static _Thread_local bool has_put;

PUT(put_own)
{
	has_put = true;
	return broken_right->put(session, key, value);
}

GET(get_own)
{
	return has_put ? broken_right->get(session, key, value) : NB_NOT_FOUND;
}

/* All puts share one buffer. After a longer value, a shorter one keeps its tail. */
PUT(put_by_buffer)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static unsigned char buf[SHARED_SIZE];
	static size_t size;
	if (value.size > sizeof(buf))
		return broken_right->put(session, key, value);
	pthread_mutex_lock(&lock);
	if (value.size != 0)
		memcpy(buf, value.data, value.size);
	size = size > value.size ? size : value.size;
	int rc = broken_right->put(session, key, (struct nb_slice){buf, size});
	pthread_mutex_unlock(&lock);
	return rc;
}

static uint64_t threads_seen;

SESSION_OPEN(session_open_per_thread)
{
	static _Thread_local bool is_known;
	if (!is_known && __atomic_add_fetch(&threads_seen, 1, __ATOMIC_RELAXED) > 126)
		return NB_FAIL; /* the end of a thread does not free its slot */
	is_known = true;
	return broken_right->session_open(out, db, id);
}

/* Only the first thread that writes stores its records. */
PUT(put_of_first_thread)
{
	static uint32_t threads;
	static _Thread_local uint32_t number;
	if (number == 0)
		number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	return number == 1 ? broken_right->put(session, key, value) : NB_OK;
}

const struct defect broken_places[] = {
	{"loans_share_a_buffer", "loan_stays_until_release", {VERB(get, get_shared)}},
	{"open_takes_any_durability", "other_durability_is_refused_with_text",
		{VERB(open, open_at_any_level)}},
	{"open_refuses_what_it_offers", "offered_durability_opens",
		{VERB(open, open_at_no_level)}},
	{"failures_have_no_text", "other_durability_is_refused_with_text",
		{VERB(open, open_mute)}},
	{"answers_are_told_as_failures", "missing_key_is_not_found",
		{VERB(open, open_chatty), VERB(get, get_chatty)}},
	{"sessions_leak_slots", "sessions_open_and_close_many_times",
		{VERB(open, broken_open_counted), VERB(session_open, session_open_thrice)}},
	{"nothing_outlives_close", "reopen_finds_everything", .is_plain = true,
		.caps_added = NB_CAP_PERSISTENT},
	{"table_offers_what_it_cannot_keep", "durability_levels_fit_the_capabilities",
		.is_plain = true, .durabilities_added = NB_DUR_BIT(NB_DUR_COMMIT)},
	{"table_has_half_a_scan", "verbs_come_whole_and_fit_the_capabilities",
		{VERB(scan_next, NULL)}},
	{"table_lacks_a_version", "table_tells_summary_licence_home_build_version",
		{VERB(version, NULL)}},
	{"open_finds_another_1", "open_to_create_keeps_what_is_there",
		{VERB(open, open_elsewhere)}},
	{"open_finds_another_2", "open_read_only_finds_everything",
		{VERB(open, open_elsewhere)}},
	{"open_makes_unasked", "open_of_no_database_fails_with_text",
		{VERB(open, open_or_make)}},
	{"databases_are_one", "databases_are_apart", {VERB(open, open_the_one)}},
	{"threads_leak_slots", "sessions_come_and_go_with_threads",
		{VERB(session_open, session_open_per_thread)}},
	{"sessions_see_their_own", "sessions_see_one_another",
		{VERB(put, put_own), VERB(get, get_own)}},
	{"only_one_thread_writes", "ranges_written_in_parallel_read_back",
		{VERB(put, put_of_first_thread)}},
	{"puts_share_a_buffer", "racing_writers_leave_a_whole_value",
		{VERB(put, put_by_buffer)}},
	{"table_is_of_bad_name", "name_is_lower_case_letters_digits_dash_underscore",
		.table_name = "Bad Name"},
	{"table_offers_none_by_itself", "automatic_durability_is_among_those_offered",
		.auto_durability = 7},
	{"place_offers_none", "automatic_durability_is_among_those_offered",
		{VERB(auto_durability_at, auto_at_no_level)}},
	{.name = NULL},
};
