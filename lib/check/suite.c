/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Helpers for the promises: bytes made from a seed, texts, and databases in new
 * directories.
 *
 * Random bytes come from splitmix64 (base/rng.h), so a finding can be repeated on any
 * machine. Only the first text that breaks a promise is kept, because later ones usually
 * follow from it.
 */
#include "check/suite.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/tree.h"

/* An engine that answers NB_CONFLICT this often, for about ten seconds, will always do so. */
enum { RETRIES = 100000, RETRIES_AT_ONCE = 16, RETRY_NS = 50000 };

static void
settle_outcome(struct suite *s, uint32_t outcome, const char *fmt, va_list args)
{
	pthread_mutex_lock(&s->lock);
	if (s->outcome == NB_CHECK_KEPT) {
		s->outcome = outcome;
		vsnprintf(s->text, sizeof(s->text), fmt, args);
	}
	pthread_mutex_unlock(&s->lock);
}

bool
suite_break(struct suite *s, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	settle_outcome(s, NB_CHECK_BROKEN, fmt, args);
	va_end(args);
	return false;
}

bool
suite_skip(struct suite *s, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	settle_outcome(s, NB_CHECK_NOT_APPLICABLE, fmt, args);
	va_end(args);
	return false;
}

void
answer_write(char *buf, size_t size, const char *call, int rc)
{
	int used = snprintf(buf, size, "%s answered %s", call, answer_name(rc));
	if (rc < 0 && used < (int)size)
		snprintf(buf + used, size - (size_t)used, " (%s)",
			host_text()[0] != '\0' ? host_text() : "without a text");
}

bool
suite_wrong(struct suite *s, const char *call, int rc, const char *wanted)
{
	char answer[SUITE_TEXT_SIZE];
	answer_write(answer, sizeof(answer), call, rc);
	return suite_break(s, "%s, not %s", answer, wanted);
}

bool
suite_ok(struct suite *s, const char *call, int rc)
{
	return rc == NB_OK || suite_wrong(s, call, rc, "NB_OK");
}

bool
suite_failed(struct suite *s, const char *call, int rc)
{
	if (rc >= 0)
		return suite_wrong(s, call, rc, "a failure");
	return host_text()[0] != '\0' ||
		suite_break(s, "%s answered %s, but the engine gave host->fail() no text", call,
			answer_name(rc));
}

void
bytes_fill(void *to, size_t size, uint64_t seed)
{
	unsigned char *at = to;
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = splitmix64_next(&seed);
		memcpy(at + i, &word, size - i < 8 ? size - i : 8);
	}
}

struct nb_slice
suite_value(struct suite *s, size_t size, uint64_t seed)
{
	unsigned char *at = s->values +
		(size_t)(s->next_value++ % SUITE_VALUES) * SUITE_VALUE_SIZE;
	bytes_fill(at, size, seed);
	return (struct nb_slice){.data = at, .size = size};
}

bool
slice_equal(struct nb_slice a, struct nb_slice b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

int
slice_compare(struct nb_slice a, struct nb_slice b)
{
	size_t size = a.size < b.size ? a.size : b.size;
	int order = size == 0 ? 0 : memcmp(a.data, b.data, size);
	return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

void
slice_write(char *buf, size_t size, struct nb_slice shown, size_t total)
{
	const unsigned char *bytes = shown.data;
	size_t at = 1;
	snprintf(buf, size, "\"");
	for (size_t i = 0; i < shown.size && at < size; i++) {
		bool is_plain = bytes[i] >= ' ' && bytes[i] < 0x7f && bytes[i] != '"' &&
			bytes[i] != '\\';
		at += (size_t)snprintf(buf + at, size - at,
			is_plain                   ? "%c"
				: bytes[i] == '\n' ? "\\n"
						   : "\\x%02x",
			bytes[i]);
	}
	if (at < size && total > shown.size)
		snprintf(buf + at, size - at, "...\" (%zu bytes)", total);
	else if (at < size)
		snprintf(buf + at, size - at, "\"");
}

const char *
slice_quote(char *buf, struct nb_slice slice)
{
	enum { SHOWN = 20 }; /* bytes, at most four characters each */
	slice_write(buf, QUOTE_SIZE, (struct nb_slice){slice.data, limited(slice.size, SHOWN)},
		slice.size);
	return buf;
}

const char *
answer_name(int rc)
{
#define NAME(answer) \
	case answer: \
		return #answer
	switch (rc) {
		NAME(NB_OK);
		NAME(NB_NOT_FOUND);
		NAME(NB_CONFLICT);
		NAME(NB_EXISTS);
		NAME(NB_PENDING);
		NAME(NB_FAIL);
		NAME(NB_UNSUPPORTED);
	default:
		return rc < 0 ? "an unknown failure" : "an unknown answer";
	}
#undef NAME
}

/* --- databases --- */

bool
database_make(struct suite *s, struct database *db, const struct nb_engine *engine,
	const struct nb_option_value *options)
{
	*db = (struct database){.engine = engine,
		.options = options,
		.suite = s,
		.durability = engine->auto_durability,
		.is_new = true,
		.inflight_ops = engine->submit != NULL ? SUITE_INFLIGHT : 0};
	/* The first open removes the data of another promise. */
	bool is_again = s->args->restarts != NULL &&
		target_spec_number(&s->spec, TARGET_FIXED) == 0;
	db->server_dir = is_again ? s->args->restarts : db->path;
	if (engine->auto_durability_at != NULL)
		db->durability = engine->auto_durability_at(s->args->scratch);
	int length = snprintf(
		db->path, sizeof(db->path), "%s/%u", s->args->scratch, (unsigned)s->next_dir++);
	if (length < (int)sizeof(db->path) && mkdir(db->path, 0700) == 0 &&
		chmod(db->path, SUITE_PASSABLE) == 0)
		return true;
	suite_break(s, "the suite cannot make the directory %s: %s", db->path,
		length >= (int)sizeof(db->path) ? strerror(ENAMETOOLONG) : strerror(errno));
	db->path[0] = '\0'; /* prevents removing a directory that the suite did not create */
	return false;
}

/** Start private servers on the data in the database's directory. */
static int
start_servers(struct database *db)
{
	const struct suite *s = db->suite;
	const struct nb_engine *engine = db->engine;
	bool is_offered = (engine->durabilities & NB_DUR_BIT(db->durability)) != 0;
	const struct target_place place = {.name = db->engine->name,
		.directory = db->server_dir,
		.logs = s->args->scratch,
		.sessions = SUITE_SESSIONS,
		.durability = is_offered ? db->durability : engine->auto_durability,
		.placeholders = s->placeholders};
	int rc = db->target == NULL ? target_new(&db->target, &s->spec, &place) : NB_OK;
	if (rc == NB_OK)
		rc = target_start(db->target);
	return rc == NB_OK ? NB_OK : suite_host.fail(rc, "%s", nb_error_text());
}

int
database_open(struct database *db, uint32_t flags)
{
	host_forget();
	bool is_own = db->suite->has_own_servers && (db->engine->caps & NB_CAP_REMOTE) != 0;
	int rc = is_own ? start_servers(db) : NB_OK;
	if (rc != NB_OK)
		return rc;
	const struct addresses *servers = is_own ? target_addresses(db->target)
						 : &db->suite->servers;
	struct nb_open_args args = {
		.size = sizeof(args),
		.flags = flags,
		.host = &suite_host,
		.path = db->path,
		.options = db->options,
		.value_size = db->value_size,
		.sessions = SUITE_SESSIONS,
		.durability = db->durability,
		.inflight_ops = db->inflight_ops,
		.inflight_bytes = db->inflight_bytes,
		.targets = (const char *const *)servers->items,
		.target_count = (uint32_t)servers->count,
	};
	struct nb_db *opened = NULL;
	rc = db->engine->open(&opened, &args);
	if (rc != NB_OK && is_own && target_stop(db->target) != NB_OK)
		return suite_host.fail(NB_FAIL, "%s", nb_error_text());
	if (rc != NB_OK)
		return rc;
	db->db = opened;
	/* A server still has the data of earlier promises. */
	if (db->is_new && (db->engine->caps & NB_CAP_REMOTE) != 0 && db->engine->reset != NULL)
		rc = db->engine->reset(db->db);
	db->is_new = false;
	if (rc != NB_OK)
		return rc;
	return db->engine->session_open(&db->session, db->db, 0);
}

int
database_close(struct database *db)
{
	int rc = NB_OK;
	host_forget();
	if (db->session != NULL)
		rc = db->engine->session_close(db->session);
	if (db->db != NULL) {
		int closed = db->engine->close(db->db);
		rc = rc == NB_OK ? closed : rc;
	}
	db->session = NULL;
	db->db = NULL;
	if (db->target != NULL) {
		int stopped = target_stop(db->target);
		if (rc == NB_OK && stopped != NB_OK)
			rc = suite_host.fail(stopped, "%s", nb_error_text());
	}
	return rc;
}

void
database_remove(struct database *db)
{
	database_close(db);
	target_delete(db->target);
	db->target = NULL;
	if (db->path[0] != '\0')
		tree_drop(db->path);
	db->path[0] = '\0';
}

bool
suite_open(struct suite *s)
{
	return database_make(s, &s->main, s->engine, s->args->options) &&
		suite_ok(s, "open of a new database", database_open(&s->main, NB_OPEN_CREATE));
}

bool
suite_reopen(struct suite *s, uint32_t flags)
{
	return suite_ok(s, "close", database_close(&s->main)) &&
		suite_ok(s, "open of an existing database", database_open(&s->main, flags));
}

/* --- one call --- */

bool
suite_may_retry(uint32_t i)
{
	if (i > RETRIES_AT_ONCE)
		nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
	else if (i > 0)
		sched_yield();
	return i < RETRIES;
}

/** Repeat the call while it conflicts, and store its answer in `rc`. */
#define RETRY(rc, call) \
	do { \
		rc = NB_CONFLICT; \
		host_forget(); \
		for (uint32_t i = 0; rc == NB_CONFLICT && suite_may_retry(i); i++) \
			rc = s->engine->call; \
	} while (0)

int
session_get(struct suite *s, struct nb_session *session, struct nb_slice key,
	struct nb_slice *value)
{
	int rc;
	RETRY(rc, get(session, key, value));
	return rc;
}

int
session_put(
	struct suite *s, struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	int rc;
	RETRY(rc, put(session, key, value));
	return rc;
}

int
session_merge(
	struct suite *s, struct nb_session *session, struct nb_slice key, uint64_t operand)
{
	int rc;
	RETRY(rc, merge(session, key, NB_MERGE_ADD_U64, operand));
	return rc;
}

int
session_execute(struct suite *s, struct nb_session *session, struct nb_step *steps,
	size_t count, uint32_t flags)
{
	int rc;
	RETRY(rc, execute(session, steps, count, flags));
	return rc;
}

enum { CALL_SIZE = QUOTE_SIZE + 64 };

/** "get("key") of an existing key", from a format with one %s. */
#define CALL(call, format, key) \
	snprintf(call, sizeof(call), format, slice_quote((char[QUOTE_SIZE]){0}, key))

bool
expect_put(
	struct suite *s, struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	char quoted[QUOTE_SIZE], call[CALL_SIZE];
	int rc = session_put(s, session, key, value);
	if (rc == NB_OK)
		return true;
	snprintf(
		call, sizeof(call), "put(%s, %zu bytes)", slice_quote(quoted, key), value.size);
	return suite_wrong(s, call, rc, "NB_OK");
}

/** Report the difference between two values that should be equal. */
static bool
break_by_value(
	struct suite *s, struct nb_slice key, struct nb_slice found, struct nb_slice wanted)
{
	char quoted[QUOTE_SIZE];
	const unsigned char *a = found.data, *b = wanted.data;
	size_t at = 0;
	slice_quote(quoted, key);
	if (found.size != wanted.size)
		return suite_break(s, "get(%s) lent %zu bytes, not the %zu that were put",
			quoted, found.size, wanted.size);
	while (at < wanted.size && a[at] == b[at])
		at++;
	return suite_break(s, "get(%s) lent %zu bytes that differ from those put at byte %zu",
		quoted, found.size, at);
}

bool
expect_value(
	struct suite *s, struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	char call[CALL_SIZE];
	struct nb_slice found = {0};
	int rc = session_get(s, session, key, &found);
	if (rc != NB_OK) {
		CALL(call, "get(%s) of an existing key", key);
		return suite_wrong(s, call, rc, "NB_OK");
	}
	bool is_right = slice_equal(found, value) || break_by_value(s, key, found, value);
	session_release(s, session);
	return is_right;
}

static bool
expect_not_found(
	struct suite *s, struct nb_session *session, struct nb_slice key, const char *call)
{
	struct nb_slice found = {0};
	int rc = session_get(s, session, key, &found);
	if (rc == NB_NOT_FOUND)
		return true;
	if (rc == NB_OK)
		session_release(s, session);
	return suite_wrong(s, call, rc, "NB_NOT_FOUND");
}

bool
expect_missing(struct suite *s, struct nb_session *session, struct nb_slice key)
{
	char call[CALL_SIZE];
	CALL(call, "get(%s) of a missing key", key);
	return expect_not_found(s, session, key, call);
}

bool
expect_del(struct suite *s, struct nb_session *session, struct nb_slice key)
{
	char call[CALL_SIZE];
	int rc;
	RETRY(rc, del(session, key));
	CALL(call, rc == NB_OK ? "get(%s) after del" : "del(%s) of an existing key", key);
	return rc == NB_OK ? expect_not_found(s, session, key, call)
			   : suite_wrong(s, call, rc, "NB_OK");
}
