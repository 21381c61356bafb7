/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a database after a crash and reads it like a user. It does so in a child process,
 * because an engine that recovers may crash or hang. The parent watches the child. Shared
 * memory has the findings and the current step of the child.
 *
 * The child reads each key with get and compares it with the writes (oracle.c). Scans in
 * both directions and a second open must agree with that. In between, the child writes keys
 * of its own: after the recovery, and after a flush and checkpoint, where a log may have
 * been truncated or replaced. The second open must find both. The child deletes them at the
 * end, which the next crash of the same database sees.
 *
 * The time of open is wall time in a new process. The page cache is warm, as after a kill,
 * so it does not measure a cold start.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "check/suite.h"
#include "crash/crash.h"

enum { RETRIES = 100000, DOING_SIZE = 64 };

/** Shared with the inspecting child. */
struct room {
	struct crash_report report;
	int32_t failed;         /* NB_FAIL: the child is out of memory */
	uint32_t is_seen;       /* `last` is valid */
	uint32_t is_done;       /* the child finished, instead of an exit() of the engine */
	char doing[DOING_SIZE]; /* the current step */
	uint64_t last[];
};

/** A key and its index in the state. */
struct known {
	struct nb_slice key;
	size_t at;
};

struct look {
	const struct crash_subject *subject;
	const struct nb_engine *engine;
	const struct crash_oracle *state;
	const struct crash_moment *moment;
	struct room *room;
	const char *path;
	struct nb_db *db;
	struct nb_session *session;
	size_t count; /* of keys */
	struct crash_sight *sights;
	struct known *known; /* sorted */
	unsigned char (*bytes)[CRASH_KEY_MAX];
	bool *is_scanned;
};

static void
doing(struct look *look, const char *what)
{
	snprintf(look->room->doing, sizeof(look->room->doing), "%s", what);
	host_forget();
}

/** The engine's text without the path of the scratch directory, which differs in each run. */
static const char *
engine_text(const struct look *look, char text[CRASH_TEXT_SIZE])
{
	const char *told = host_text(), *path = strstr(told, look->path);
	if (path == NULL)
		snprintf(text, CRASH_TEXT_SIZE, "%s", told);
	else
		snprintf(text, CRASH_TEXT_SIZE, "%.*sdatabase%s", (int)(path - told), told,
			path + strlen(look->path));
	return text;
}

/** Report a wrong answer of a verb. Returns false. */
static bool
wrong_answer(struct look *look, uint32_t wrong, int rc)
{
	char text[CRASH_TEXT_SIZE];
	bool has_text = engine_text(look, text)[0] != '\0';
	crash_report_wrong(&look->room->report, wrong, "%s answered %s%s%.350s%s",
		look->room->doing, answer_name(rc), has_text ? " (" : "", text,
		has_text ? ")" : "");
	return false;
}

/* ---- the keys ---- */

static int
compare_known(const void *a, const void *b)
{
	return slice_compare(((const struct known *)a)->key, ((const struct known *)b)->key);
}

static bool
prepare(struct look *look)
{
	const struct crash_plan *plan = look->state->plan;
	look->count = crash_oracle_keys(look->state);
	look->sights = calloc(look->count, sizeof(*look->sights));
	look->known = calloc(look->count, sizeof(*look->known));
	look->bytes = calloc(look->count, sizeof(*look->bytes));
	look->is_scanned = calloc(look->count, sizeof(*look->is_scanned));
	if (look->sights == NULL || look->known == NULL || look->bytes == NULL ||
		look->is_scanned == NULL)
		return false;
	for (size_t i = 0; i < look->count; i++) {
		size_t size = crash_key_make(look->bytes[i], plan, (uint32_t)(i / plan->keys),
			(uint32_t)(i % plan->keys));
		look->known[i] = (struct known){
			.key = {.data = look->bytes[i], .size = size}, .at = i};
	}
	qsort(look->known, look->count, sizeof(*look->known), compare_known);
	return true;
}

static const struct known *
find_known(const struct look *look, struct nb_slice key)
{
	struct known wanted = {.key = key};
	return bsearch(&wanted, look->known, look->count, sizeof(*look->known), compare_known);
}

/* ---- open and close ---- */

static int
open_as(struct look *look, uint32_t flags, uint64_t *took_ns)
{
	struct nb_open_args args = crash_open_args(
		look->subject, look->path, look->state->plan->sessions, flags);
	uint64_t begin = clock_monotonic();
	int rc = look->engine->open(&look->db, &args);
	*took_ns = clock_monotonic() - begin;
	return rc;
}

/**
 * Open the database. If it was never open before, it may be missing or incomplete: then
 * create it.
 */
static bool
open_database(struct look *look, uint64_t *took_ns)
{
	doing(look, "open");
	int rc = open_as(look, 0, took_ns);
	if (rc != NB_OK && !look->moment->is_made) {
		doing(look, "open, to create the database whose creation the crash ended,");
		rc = open_as(look, NB_OPEN_CREATE, took_ns);
	}
	if (rc != NB_OK) {
		*took_ns = 0;
		return wrong_answer(look, NB_CRASH_NOT_OPENED, rc);
	}
	doing(look, "session_open");
	rc = look->engine->session_open(&look->session, look->db, 0);
	return rc == NB_OK || wrong_answer(look, NB_CRASH_NOT_OPENED, rc);
}

static bool
close_database(struct look *look)
{
	doing(look, "session_close");
	int rc = look->engine->session_close(look->session);
	if (rc != NB_OK)
		return wrong_answer(look, NB_CRASH_NOT_OPENED, rc);
	doing(look, "close");
	rc = look->engine->close(look->db);
	return rc == NB_OK || wrong_answer(look, NB_CRASH_NOT_OPENED, rc);
}

/* ---- get ---- */

static int
get(struct look *look, struct nb_slice key, struct nb_slice *value)
{
	int rc = NB_CONFLICT;
	for (int i = 0; rc == NB_CONFLICT && i < RETRIES; i++)
		rc = look->engine->get(look->session, key, value);
	return rc;
}

static void
release(struct look *look)
{
	if (look->engine->release != NULL)
		look->engine->release(look->session);
}

static bool
see_key(struct look *look, const struct known *known, struct crash_sight *sight)
{
	struct nb_slice value = {0};
	int rc = get(look, known->key, &value);
	if (rc != NB_OK && rc != NB_NOT_FOUND)
		return wrong_answer(look, NB_CRASH_NOT_OPENED, rc);
	crash_sight_take(sight, look->state->plan, rc == NB_OK ? &value : NULL);
	if (rc == NB_OK)
		release(look);
	return true;
}

static bool
see_all(struct look *look)
{
	doing(look, "get");
	for (size_t i = 0; i < look->count; i++)
		if (!see_key(look, &look->known[i], &look->sights[look->known[i].at]))
			return false;
	look->room->failed = crash_judge(&look->room->report, look->state, look->moment,
		look->sights, crash_promise(look->subject->how, look->subject->durability),
		look->room->last);
	look->room->is_seen = look->room->failed == NB_OK;
	return look->room->failed == NB_OK;
}

/** Keys that no stream contains: stream keys begin with a hexadecimal digit or an 'm'. */
static const struct nb_slice own_key = {.data = "~own", .size = 4};
static const struct nb_slice late_key = {.data = "~too", .size = 4};

/* ---- scans ---- */

static bool
is_same(const struct crash_sight *sight, const struct nb_slice *value,
	const struct crash_plan *plan)
{
	struct crash_sight other;
	crash_sight_take(&other, plan, value);
	return sight->is_there == other.is_there && sight->size == other.size &&
		sight->hash == other.hash;
}

/**
 * Check a record of a scan: get found it with the same value, and the scan returned it
 * once.
 */
static bool
judge_record(struct look *look, struct nb_slice key, struct nb_slice value)
{
	char quoted[QUOTE_SIZE];
	const struct known *known = find_known(look, key);
	struct crash_report *report = &look->room->report;
	slice_quote(quoted, key);
	if (slice_equal(key, own_key) || slice_equal(key, late_key))
		crash_report_wrong(report, NB_CRASH_UNSTABLE,
			"%s gave the key %s, which was deleted before the last close",
			look->room->doing, quoted);
	else if (known == NULL)
		crash_report_wrong(report, NB_CRASH_GHOST,
			"%s gave the key %s, which was never put", look->room->doing, quoted);
	else if (look->is_scanned[known->at])
		crash_report_wrong(report, NB_CRASH_SCAN, "%s gave the key %s twice",
			look->room->doing, quoted);
	else if (!look->sights[known->at].is_there)
		crash_report_wrong(report, NB_CRASH_SCAN,
			"%s gave the key %s, which get does not find", look->room->doing,
			quoted);
	else if (!is_same(&look->sights[known->at], &value, look->state->plan))
		crash_report_wrong(report, NB_CRASH_SCAN,
			"%s gave another value than get for the key %s", look->room->doing,
			quoted);
	else {
		look->is_scanned[known->at] = true;
		return true;
	}
	return false;
}

/** Check that the scan returned each key that get found. */
static bool
judge_whole(struct look *look)
{
	char quoted[QUOTE_SIZE];
	for (size_t i = 0; i < look->count; i++) {
		size_t at = look->known[i].at;
		if (!look->sights[at].is_there || look->is_scanned[at])
			continue;
		crash_report_wrong(&look->room->report, NB_CRASH_SCAN,
			"%s left out the key %s, which get finds", look->room->doing,
			slice_quote(quoted, look->known[i].key));
		return false;
	}
	return true;
}

/** Read all records of a scan. False: a finding. */
static bool
scan_records(struct look *look, bool is_backward)
{
	unsigned char before[CRASH_KEY_MAX];
	size_t before_size = 0;
	bool is_ordered = (look->engine->caps & NB_CAP_ORDERED) != 0;
	for (size_t told = 0;; told++) {
		struct nb_slice key = {0}, value = {0};
		int rc = look->engine->scan_next(look->session, &key, &value);
		if (rc == NB_NOT_FOUND)
			return judge_whole(look);
		if (rc != NB_OK)
			return wrong_answer(look, NB_CRASH_NOT_OPENED, rc);
		if (!judge_record(look, key, value))
			return false;
		int order = slice_compare(
			(struct nb_slice){.data = before, .size = before_size}, key);
		if (is_ordered && told > 0 && (is_backward ? order < 0 : order > 0)) {
			char quoted[QUOTE_SIZE];
			crash_report_wrong(&look->room->report, NB_CRASH_SCAN,
				"%s gave the key %s out of order", look->room->doing,
				slice_quote(quoted, key));
			return false;
		}
		before_size = key.size; /* a known key, so it fits */
		memcpy(before, key.data, key.size);
	}
}

static bool
scan(struct look *look, bool is_backward)
{
	struct nb_scan_args args = {
		.size = sizeof(args), .flags = is_backward ? NB_SCAN_BACKWARD : 0};
	memset(look->is_scanned, 0, look->count * sizeof(*look->is_scanned));
	doing(look, is_backward ? "a scan backward" : "a scan");
	int rc = look->engine->scan_open(look->session, &args);
	if (rc == NB_UNSUPPORTED && is_backward)
		return true;
	if (rc != NB_OK)
		return wrong_answer(look, NB_CRASH_NOT_OPENED, rc);
	bool is_good = scan_records(look, is_backward);
	rc = look->engine->scan_close(look->session);
	if (is_good && rc != NB_OK)
		return wrong_answer(look, NB_CRASH_NOT_OPENED, rc);
	return is_good;
}

/* ---- writing ---- */

static unsigned char own_bytes[CRASH_VALUE_MAX / 4];

/** One of two values, 100 bytes or some pages long. */
static struct nb_slice
own_value(const struct look *look, bool is_long)
{
	uint64_t longest = look->engine->value_size_max;
	bytes_fill(own_bytes, sizeof(own_bytes), 1);
	return (struct nb_slice){.data = own_bytes + is_long,
		.size = limited(is_long ? sizeof(own_bytes) - 1 : 100, longest)};
}

static int
write_own(struct look *look, struct nb_slice key, const struct nb_slice *value)
{
	int rc = NB_CONFLICT;
	for (int i = 0; rc == NB_CONFLICT && i < RETRIES; i++)
		rc = value != NULL ? look->engine->put(look->session, key, *value)
				   : look->engine->del(look->session, key);
	return rc;
}

/** Read a key of the child. `wanted` NULL: it must be missing. */
static bool
read_own(struct look *look, struct nb_slice key, const struct nb_slice *wanted)
{
	struct nb_slice value = {0};
	int rc = get(look, key, &value);
	if (rc != (wanted != NULL ? NB_OK : NB_NOT_FOUND)) {
		if (rc == NB_OK)
			release(look);
		return wrong_answer(look, NB_CRASH_NOT_WRITABLE, rc);
	}
	if (rc != NB_OK)
		return true;
	bool is_right = slice_equal(value, *wanted);
	release(look);
	if (!is_right)
		crash_report_wrong(&look->room->report, NB_CRASH_NOT_WRITABLE,
			"%s: another value than was put", look->room->doing);
	return is_right;
}

static bool
try_write(
	struct look *look, const char *what, struct nb_slice key, const struct nb_slice *value)
{
	doing(look, what);
	int rc = write_own(look, key, value);
	if (rc != NB_OK)
		return wrong_answer(look, NB_CRASH_NOT_WRITABLE, rc);
	return read_own(look, key, value);
}

static bool
try_writes(struct look *look)
{
	struct nb_slice one = own_value(look, false), other = own_value(look, true);
	return try_write(look, "put and get of a new key", own_key, &one) &&
		try_write(look, "put and get of an existing key", own_key, &other) &&
		try_write(look, "del and get of an existing key", own_key, NULL) &&
		try_write(look, "put and get of a deleted key", own_key, &one);
}

static bool
try_late_write(struct look *look)
{
	struct nb_slice other = own_value(look, true);
	return try_write(look, "put and get after flush and checkpoint", late_key, &other);
}

static bool
settle(struct look *look)
{
	doing(look, "flush");
	int rc = look->engine->flush != NULL ? look->engine->flush(look->db, NB_SETTLE_FLUSH)
					     : NB_OK;
	if (rc != NB_OK && rc != NB_UNSUPPORTED)
		return wrong_answer(look, NB_CRASH_NOT_WRITABLE, rc);
	doing(look, "checkpoint");
	rc = look->engine->checkpoint != NULL ? look->engine->checkpoint(look->db) : NB_OK;
	return rc == NB_OK || rc == NB_UNSUPPORTED ||
		wrong_answer(look, NB_CRASH_NOT_WRITABLE, rc);
}

/* ---- the second open ---- */

/**
 * Check the child's own keys: at each level, a successful close keeps writes after the
 * recovery.
 */
static bool
see_own(struct look *look)
{
	struct nb_slice one = own_value(look, false), other = own_value(look, true);
	doing(look, "get, after another open, of a key put after the recovery");
	if (!read_own(look, own_key, &one))
		return false;
	doing(look, "get, after another open, of a key put after a checkpoint");
	return read_own(look, late_key, &other) &&
		try_write(look, "del and get, after another open, of an earlier key", own_key,
			NULL) &&
		try_write(look, "del and get, after another open, of an earlier key", late_key,
			NULL);
}

static bool
see_again(struct look *look)
{
	char quoted[QUOTE_SIZE];
	doing(look, "get after another open");
	for (size_t i = 0; i < look->count; i++) {
		const struct known *known = &look->known[i];
		const struct crash_sight *before = &look->sights[known->at];
		struct crash_sight now;
		if (!see_key(look, known, &now))
			return false;
		if (now.is_there == before->is_there && now.size == before->size &&
			now.hash == before->hash)
			continue;
		crash_report_wrong(&look->room->report, NB_CRASH_UNSTABLE,
			"key %s changed by close and open: %s, before that %s",
			slice_quote(quoted, known->key),
			!now.is_there            ? "gone"
				: now.write != 0 ? "a value that was put"
						 : "other bytes",
			before->is_there ? "a value" : "gone");
		return false;
	}
	return true;
}

/** Execute all steps; each needs the success of the previous one. */
static void
look_at_all(struct look *look)
{
	struct crash_report *report = &look->room->report;
	uint64_t took_ns = 0;
	if (!open_database(look, &report->open_ns) || !see_all(look))
		return;
	/* A wrong scan does not prevent testing writes. */
	if (look->engine->scan_open != NULL && scan(look, false))
		(void)scan(look, true);
	if ((report->wrongs & 1u << NB_CRASH_NOT_OPENED) != 0)
		return;
	bool is_written = try_writes(look) && settle(look) && try_late_write(look);
	if (!close_database(look) || !is_written)
		return;
	struct crash_moment made = *look->moment;
	made.is_made = 1;
	look->moment = &made;
	if (!open_database(look, &took_ns))
		return;
	report->reopen_ns = took_ns;
	if (see_again(look) && see_own(look))
		(void)close_database(look);
}

static _Noreturn void
be_looker(struct look *look)
{
	if (!prepare(look)) {
		look->room->failed = NB_FAIL;
		_exit(EXIT_FAILURE);
	}
	look_at_all(look);
	look->room->is_done = 1;
	_exit(EXIT_SUCCESS);
}

/* ---- the parent ---- */

static size_t
room_size(const struct crash_oracle *state)
{
	return sizeof(struct room) + crash_oracle_keys(state) * sizeof(uint64_t);
}

/** Validate the report of the child, because its engine may have overwritten it. */
static void
take_over(struct room *room)
{
	const struct crash_report *report = &room->report;
	bool is_sound = report->wrongs >> NB_CRASH_WRONGS == 0 &&
		report->worst < NB_CRASH_WRONGS &&
		memchr(report->text, '\0', sizeof(report->text)) != NULL &&
		memchr(room->doing, '\0', sizeof(room->doing)) != NULL && room->is_seen <= 1 &&
		(room->failed == NB_OK || room->failed == NB_FAIL);
	if (is_sound)
		return;
	*room = (struct room){.doing = "the look at it"};
	crash_report_wrong(&room->report, NB_CRASH_NOT_OPENED,
		"it overwrote the findings about it: it writes to memory that it does not own");
}

static int
watch(struct room *room, pid_t pid, uint64_t timeout_ns)
{
	char text[CRASH_TEXT_SIZE];
	int status = 0;
	int how = crash_await(pid, &status, timeout_ns);
	if (how == PROCESS_STOPPED)
		return error_interrupted();
	take_over(room);
	if (room->failed != NB_OK)
		return error_set(NB_FAIL, "out of memory");
	crash_describe_end(text, room->is_done, "", how, status, timeout_ns);
	if (text[0] != '\0') {
		crash_report_wrong(
			&room->report, NB_CRASH_NOT_OPENED, "in %s %s", room->doing, text);
		if (!room->is_seen)
			room->report.open_ns = 0;
	}
	return NB_OK;
}

int
crash_inspect(struct crash_report *out, const struct crash_subject *subject,
	struct crash_oracle *state, const struct crash_moment *moment, const char *path)
{
	struct room *room = crash_share(room_size(state));
	if (room == NULL)
		return NB_FAIL;
	snprintf(room->doing, sizeof(room->doing), "its start");
	pid_t pid = crash_fork();
	if (pid == 0)
		be_looker(&(struct look){.subject = subject,
			.engine = subject->engine,
			.state = state,
			.moment = moment,
			.room = room,
			.path = path});
	int rc = pid < 0 ? NB_FAIL : watch(room, pid, subject->timeout_ns);
	if (rc == NB_OK && !room->is_seen)
		crash_judge_unseen(&room->report, state, moment);
	if (rc == NB_OK) {
		uint32_t promise = crash_promise(subject->how, subject->durability);
		*out = room->report;
		out->is_broken = promise != CRASH_PROMISE_NOTHING && out->wrongs != 0;
	}
	if (rc == NB_OK && room->is_seen)
		memcpy(state->last, room->last, crash_oracle_keys(state) * sizeof(*room->last));
	memcpy(state->start, moment->begun, sizeof(state->start));
	munmap(room, room_size(state));
	return rc;
}
