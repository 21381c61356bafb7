/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the promises are written with: bytes that follow from a seed, texts, and
 * databases in directories of their own.
 *
 * All that is random comes from splitmix64 (Steele, Lea, Flood: Fast splittable
 * pseudorandom number generators, OOPSLA 2014), so that a finding can be
 * repeated on any machine. The first text that breaks a promise is kept: the
 * others mostly follow from it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tree.h"
#include "check/suite.h"

/* An engine that answers NB_CONFLICT this often to one session alone never will do better. */
enum { RETRIES = 100000 };

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

bool
suite_wrong(struct suite *s, const char *call, int rc, const char *wanted)
{
	const char *text = host_text();
	return suite_break(s, "%s answered %s%s%s%s, not %s", call, answer_name(rc),
		rc < 0 ? " (" : "",
		rc >= 0                   ? ""
			: text[0] != '\0' ? text
					  : "without a text",
		rc < 0 ? ")" : "", wanted);
}

bool
suite_failed(struct suite *s, const char *call, int rc)
{
	if (rc >= 0)
		return suite_wrong(s, call, rc, "a failure");
	if (host_text()[0] == '\0')
		return suite_break(s, "%s answered %s, but host->fail() was told no text", call,
			answer_name(rc));
	return true;
}

uint64_t
random_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void
bytes_fill(void *to, size_t size, uint64_t seed)
{
	unsigned char *at = to;
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = random_next(&seed);
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
	enum { SHOWN = 20 }; /* bytes, four characters each at most */
	struct nb_slice shown = {slice.data, slice.size < SHOWN ? slice.size : SHOWN};
	slice_write(buf, QUOTE_SIZE, shown, slice.size);
	return buf;
}

const char *
answer_name(int rc)
{
	static const struct {
		int rc;
		const char *name;
	} names[] = {
		{NB_OK, "NB_OK"},
		{NB_NOT_FOUND, "NB_NOT_FOUND"},
		{NB_CONFLICT, "NB_CONFLICT"},
		{NB_EXISTS, "NB_EXISTS"},
		{NB_PENDING, "NB_PENDING"},
		{NB_FAIL, "NB_FAIL"},
		{NB_UNSUPPORTED, "NB_UNSUPPORTED"},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].rc == rc)
			return names[i].name;
	return rc < 0 ? "an unknown failure" : "an unknown answer";
}

/* --- databases --- */

bool
place_make(struct suite *s, struct place *place, const struct nb_engine *engine,
	const struct nb_option_value *options)
{
	*place = (struct place){
		.engine = engine, .options = options, .durability = engine->auto_durability};
	if (engine->auto_durability_at != NULL)
		place->durability = engine->auto_durability_at(s->args->scratch);
	int length = snprintf(place->path, sizeof(place->path), "%s/%u", s->args->scratch,
		(unsigned)s->next_dir++);
	if (length >= (int)sizeof(place->path)) {
		place->path[0] = '\0';
		return suite_break(s, "the scratch directory's name is too long");
	}
	if (mkdir(place->path, 0700) == 0)
		return true;
	suite_break(s, "the suite cannot make %s: %s", place->path, strerror(errno));
	place->path[0] = '\0'; /* it is not ours to remove */
	return false;
}

int
place_open(struct place *place, uint32_t flags)
{
	struct nb_open_args args = {
		.size = sizeof(args),
		.flags = flags,
		.host = &suite_host,
		.path = place->path,
		.options = place->options,
		.value_size = place->value_size,
		.sessions = SUITE_SESSIONS,
		.durability = place->durability,
	};
	host_forget();
	struct nb_db *db = NULL;
	int rc = place->engine->open(&db, &args);
	if (rc != NB_OK)
		return rc;
	place->db = db;
	return place->engine->session_open(&place->session, place->db, 0);
}

int
place_close(struct place *place)
{
	int rc = NB_OK;
	host_forget();
	if (place->session != NULL)
		rc = place->engine->session_close(place->session);
	if (place->db != NULL) {
		int closed = place->engine->close(place->db);
		rc = rc == NB_OK ? closed : rc;
	}
	place->session = NULL;
	place->db = NULL;
	return rc;
}

void
place_remove(struct place *place)
{
	place_close(place);
	if (place->path[0] != '\0')
		tree_drop(place->path);
	place->path[0] = '\0';
}

bool
suite_open(struct suite *s)
{
	if (!place_make(s, &s->main, s->engine, s->args->options))
		return false;
	int rc = place_open(&s->main, NB_OPEN_CREATE);
	return rc == NB_OK || suite_wrong(s, "open of a new database", rc, "NB_OK");
}

bool
suite_reopen(struct suite *s, uint32_t flags)
{
	int rc = place_close(&s->main);
	if (rc != NB_OK)
		return suite_wrong(s, "close", rc, "NB_OK");
	rc = place_open(&s->main, flags);
	return rc == NB_OK || suite_wrong(s, "open of a database that is there", rc, "NB_OK");
}

/* --- one call --- */

int
session_get(struct suite *s, struct nb_session *session, struct nb_slice key,
	struct nb_slice *value)
{
	int rc = NB_CONFLICT;
	host_forget();
	for (int i = 0; rc == NB_CONFLICT && i < RETRIES; i++)
		rc = s->engine->get(session, key, value);
	return rc;
}

int
session_put(
	struct suite *s, struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	int rc = NB_CONFLICT;
	host_forget();
	for (int i = 0; rc == NB_CONFLICT && i < RETRIES; i++)
		rc = s->engine->put(session, key, value);
	return rc;
}

void
session_release(struct suite *s, struct nb_session *session)
{
	if (s->engine->release != NULL)
		s->engine->release(session);
}

bool
expect_put(
	struct suite *s, struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	int rc = session_put(s, session, key, value);
	if (rc == NB_OK)
		return true;
	char quoted[QUOTE_SIZE], call[QUOTE_SIZE + 64];
	snprintf(
		call, sizeof(call), "put(%s, %zu bytes)", slice_quote(quoted, key), value.size);
	return suite_wrong(s, call, rc, "NB_OK");
}

/* Say where two values that should be equal differ. */
static bool
break_by_value(
	struct suite *s, struct nb_slice key, struct nb_slice found, struct nb_slice wanted)
{
	char quoted[QUOTE_SIZE];
	slice_quote(quoted, key);
	if (found.size != wanted.size)
		return suite_break(s, "get(%s) lent %zu bytes, not the %zu that were put",
			quoted, found.size, wanted.size);
	const unsigned char *a = found.data, *b = wanted.data;
	size_t at = 0;
	while (at < wanted.size && a[at] == b[at])
		at++;
	return suite_break(s, "get(%s) lent %zu bytes that differ from those put at byte %zu",
		quoted, found.size, at);
}

bool
expect_value(
	struct suite *s, struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	struct nb_slice found = {0};
	int rc = session_get(s, session, key, &found);
	if (rc != NB_OK) {
		char quoted[QUOTE_SIZE], call[QUOTE_SIZE + 64];
		snprintf(call, sizeof(call), "get(%s) of a key that is there",
			slice_quote(quoted, key));
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
	char quoted[QUOTE_SIZE], call[QUOTE_SIZE + 64];
	snprintf(call, sizeof(call), "get(%s) of a key that is not there",
		slice_quote(quoted, key));
	return expect_not_found(s, session, key, call);
}

bool
expect_del(struct suite *s, struct nb_session *session, struct nb_slice key)
{
	int rc = NB_CONFLICT;
	host_forget();
	for (int i = 0; rc == NB_CONFLICT && i < RETRIES; i++)
		rc = s->engine->del(session, key);
	char quoted[QUOTE_SIZE], call[QUOTE_SIZE + 64];
	slice_quote(quoted, key);
	if (rc == NB_OK) {
		snprintf(call, sizeof(call), "get(%s) after a del of it", quoted);
		return expect_not_found(s, session, key, call);
	}
	snprintf(call, sizeof(call), "del(%s) of a key that is there", quoted);
	return suite_wrong(s, call, rc, "NB_OK");
}
