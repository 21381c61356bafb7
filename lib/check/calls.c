/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine under check, with each verb in a wrapper that records the present call of the
 * thread: its verb, session and key. The records are in memory shared with the parent,
 * which reports them for a child that crashed, ended or hangs. A loan of more bytes than
 * any object can have becomes a failure here, before a check reads it.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/process.h"
#include "base/units.h"
#include "check/board.h"
#include "run/engine.h"
#include "run/fault.h"

enum { DATABASE = SUITE_SESSIONS };

struct board *board;

static struct nb_engine real;
static _Thread_local struct call *own; /* of the session that this thread opened last */

int
board_make(void)
{
	if (board != NULL)
		return NB_OK;
	void *memory = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return error_system("check: cannot allocate shared memory");
	board = memory;
	return NB_OK;
}

/* --- the present call of a thread --- */

static void
describe_call(const struct heartbeat *heartbeat, const char *name, char *buf, size_t size)
{
	const struct call *call = (const struct call *)(const void *)heartbeat;
	char key[160];
	heartbeat_format_key(key, sizeof(key), call->key, call->key_size);
	if (call->key_size == 0)
		snprintf(buf, size, "%s", name);
	else if (call->has_value)
		snprintf(buf, size, "%s (key %s, %zu bytes)", name, key, call->value_size);
	else
		snprintf(buf, size, "%s (key %s)", name, key);
}

static void
enter_call(
	struct call *call, const char *name, struct nb_slice key, const struct nb_slice *value)
{
	/* One byte more than is printed, so that a longer key is marked as cut. */
	call->key_size = key.size < sizeof(call->key) ? key.size : sizeof(call->key);
	if (call->key_size > 0)
		memcpy(call->key, key.data, call->key_size);
	call->has_value = value != NULL;
	call->value_size = value != NULL ? value->size : 0;
	fault_set_heartbeat(&call->heartbeat);
	heartbeat_enter(&call->heartbeat, name);
}

static struct call *
enter_session(const char *name, struct nb_slice key, const struct nb_slice *value)
{
	struct call *call = own != NULL ? own : &board->calls[0];
	enter_call(call, name, key, value);
	return call;
}

static struct call *
enter_database(const char *name)
{
	struct call *call = &board->calls[DATABASE];
	enter_call(call, name, (struct nb_slice){0}, NULL);
	return call;
}

/* --- the verbs --- */

#define NO_KEY ((struct nb_slice){0})

static int
watched_session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	own = &board->calls[id % SUITE_SESSIONS];
	struct call *call = enter_session("session_open", NO_KEY, NULL);
	int rc = real.session_open(out, db, id);
	heartbeat_leave(&call->heartbeat);
	return rc;
}

#define WATCH(verb, enter, parameters, arguments) \
	static int watched_##verb parameters \
	{ \
		struct call *call = enter; \
		int rc = real.verb arguments; \
		heartbeat_leave(&call->heartbeat); \
		return rc; \
	}

#define WATCH_VOID(verb, enter, parameters, arguments) \
	static void watched_##verb parameters \
	{ \
		struct call *call = enter; \
		real.verb arguments; \
		heartbeat_leave(&call->heartbeat); \
	}

#define SESSION(verb) enter_session(#verb, NO_KEY, NULL)
#define OF_KEY(verb) enter_session(#verb, key, NULL)
#define OF_RECORD(verb) enter_session(#verb, key, &value)

/* clang-format off */
WATCH(open, enter_database("open"), (struct nb_db **out, const struct nb_open_args *args),
	(out, args))
WATCH(close, enter_database("close"), (struct nb_db *db), (db))
WATCH(flush, enter_database("flush"), (struct nb_db *db, uint32_t upto), (db, upto))
WATCH(checkpoint, enter_database("checkpoint"), (struct nb_db *db), (db))
WATCH_VOID(stats, enter_database("stats"), (struct nb_db *db, nb_stat_emit emit, void *to),
	(db, emit, to))
WATCH(session_close, SESSION(session_close), (struct nb_session *session), (session))
WATCH(get, OF_KEY(get), (struct nb_session *session, struct nb_slice key,
	struct nb_slice *value), (session, key, value))
WATCH_VOID(release, SESSION(release), (struct nb_session *session), (session))
WATCH(put, OF_RECORD(put), (struct nb_session *session, struct nb_slice key,
	struct nb_slice value), (session, key, value))
WATCH(del, OF_KEY(del), (struct nb_session *session, struct nb_slice key), (session, key))
WATCH(insert, OF_RECORD(insert), (struct nb_session *session, struct nb_slice key,
	struct nb_slice value), (session, key, value))
WATCH(scan_open, enter_session("scan_open", args->from, NULL), (struct nb_session *session,
	const struct nb_scan_args *args), (session, args))
WATCH(scan_next, SESSION(scan_next), (struct nb_session *session, struct nb_slice *key,
	struct nb_slice *value), (session, key, value))
WATCH(scan_close, SESSION(scan_close), (struct nb_session *session), (session))
WATCH(batch, SESSION(batch), (struct nb_session *session, const struct nb_write *writes,
	size_t count, uint32_t flags), (session, writes, count, flags))
WATCH(multi_get, SESSION(multi_get), (struct nb_session *session, const struct nb_slice *keys,
	size_t count, struct nb_slice *values, int32_t *answers),
	(session, keys, count, values, answers))
WATCH(begin, SESSION(begin), (struct nb_session *session, uint32_t flags), (session, flags))
WATCH(commit, SESSION(commit), (struct nb_session *session), (session))
WATCH_VOID(abort, SESSION(abort), (struct nb_session *session), (session))
WATCH(submit, SESSION(submit), (struct nb_session *session, const struct nb_request *requests,
	size_t count, size_t *taken), (session, requests, count, taken))
WATCH(reap, SESSION(reap), (struct nb_session *session, struct nb_completion *out, size_t room,
	size_t *count, uint64_t timeout_ns), (session, out, room, count, timeout_ns))
WATCH(tick, SESSION(tick), (struct nb_session *session), (session))
WATCH(execute, SESSION(execute), (struct nb_session *session, struct nb_step *steps,
	size_t count, uint32_t flags), (session, steps, count, flags))
WATCH(merge, OF_KEY(merge), (struct nb_session *session, struct nb_slice key, uint32_t how,
	uint64_t operand), (session, key, how, operand))
WATCH(reset, enter_database("reset"), (struct nb_db *db), (db))
/* clang-format on */

/* --- loans --- */

/** Returns rc, or NB_FAIL with a text if the size is impossible. */
static int
judge_size(int rc, const char *call, size_t size)
{
	if (rc != NB_OK || size <= PTRDIFF_MAX)
		return rc;
	rc = engine_refuse_size(call, size);
	return suite_host.fail(rc, "%s", nb_error_text());
}

/** The same for a loan, which is released if it is impossible. */
static int
judge_loan(struct nb_session *session, int rc, const char *call, size_t size)
{
	int judged = judge_size(rc, call, size);
	if (judged != rc && real.release != NULL)
		real.release(session);
	return judged;
}

static int
judged_get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	int rc = watched_get(session, key, value);
	return judge_loan(session, rc, "get", value->size);
}

static int
judged_scan_next(struct nb_session *session, struct nb_slice *key, struct nb_slice *value)
{
	int rc = watched_scan_next(session, key, value);
	return judge_size(rc, "scan_next", key->size);
}

static int
judged_multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	size_t longest = 0;
	int rc = watched_multi_get(session, keys, count, values, answers);
	for (size_t i = 0; rc == NB_OK && i < count; i++)
		if (answers[i] == NB_OK && values[i].size > longest)
			longest = values[i].size;
	return judge_loan(session, rc, "multi_get", longest);
}

static int
judged_execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	size_t longest = 0;
	int rc = watched_execute(session, steps, count, flags);
	for (size_t i = 0; rc == NB_OK && i < count; i++)
		if (steps[i].verb == NB_STEP_GET && steps[i].answer == NB_OK &&
			steps[i].value.size > longest)
			longest = steps[i].value.size;
	return judge_loan(session, rc, "execute", longest);
}

static int
judged_reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	size_t longest = 0;
	int rc = watched_reap(session, out, room, count, timeout_ns);
	for (size_t i = 0; rc == NB_OK && i < *count && i < room; i++)
		if (out[i].answer == NB_OK && out[i].value.size > longest)
			longest = out[i].value.size;
	return judge_loan(session, rc, "reap", longest);
}

void
calls_forget(void)
{
	for (uint32_t i = 0; i <= DATABASE; i++)
		board->calls[i] = (struct call){
			.heartbeat = {.describe = describe_call,
				.worker = i == DATABASE ? HEARTBEAT_DATABASE : i}};
	board->culprit = NULL;
	own = NULL;
}

const struct nb_engine *
calls_watch(const struct nb_engine *engine)
{
	static struct nb_engine table;
	real = table = *engine;
	calls_forget();
#define TAKE(verb) table.verb = engine->verb == NULL ? NULL : watched_##verb
	TAKE(open), TAKE(close), TAKE(flush), TAKE(checkpoint), TAKE(stats);
	TAKE(session_open), TAKE(session_close), TAKE(get), TAKE(release), TAKE(put), TAKE(del);
	TAKE(insert), TAKE(scan_open), TAKE(scan_next), TAKE(scan_close), TAKE(batch);
	TAKE(multi_get), TAKE(begin), TAKE(commit), TAKE(abort), TAKE(submit), TAKE(reap);
	TAKE(tick), TAKE(execute), TAKE(merge), TAKE(reset);
#undef TAKE
	table.get = table.get == NULL ? NULL : judged_get;
	table.scan_next = table.scan_next == NULL ? NULL : judged_scan_next;
	table.multi_get = table.multi_get == NULL ? NULL : judged_multi_get;
	table.execute = table.execute == NULL ? NULL : judged_execute;
	table.reap = table.reap == NULL ? NULL : judged_reap;
	return &table;
}

/* --- the end of a child --- */

/**
 * Describe the present calls: " in put (key a), worker 0"; all of them if the culprit is
 * unknown.
 */
static void
describe_place(char *buf, size_t size)
{
	size_t used = 0;
	buf[0] = '\0';
	if (board->culprit != NULL) {
		buf[used++] = ' ';
		heartbeat_describe(board->culprit, buf + used, size - used);
		return;
	}
	for (uint32_t i = 0; i <= DATABASE && used + HEARTBEAT_TEXT < size; i++) {
		const struct heartbeat *heartbeat = &board->calls[i].heartbeat;
		if (__atomic_load_n(&heartbeat->call, __ATOMIC_ACQUIRE) == NULL)
			continue;
		used += (size_t)snprintf(buf + used, size - used, used > 0 ? ", or " : " ");
		heartbeat_describe(heartbeat, buf + used, size - used);
		used += strlen(buf + used);
	}
}

static void
describe_hang(char *text, size_t size, uint64_t timeout_ns)
{
	char place[HEARTBEAT_TEXT];
	const struct heartbeat *longest = NULL;
	for (uint32_t i = 0; i <= DATABASE; i++) {
		const struct heartbeat *heartbeat = &board->calls[i].heartbeat;
		if (__atomic_load_n(&heartbeat->call, __ATOMIC_ACQUIRE) != NULL &&
			(longest == NULL || heartbeat->since_ns < longest->since_ns))
			longest = heartbeat;
	}
	uint64_t held_ns = longest == NULL ? 0 : clock_monotonic() - longest->since_ns;
	if (longest != NULL)
		heartbeat_describe(longest, place, sizeof(place));
	if (held_ns >= timeout_ns / 2) {
		snprintf(text, size, "it hangs: %s: has not returned for %s",
			place + strlen("in "), UNITS_NS(held_ns));
		return;
	}
	snprintf(text, size, "it hangs, or --hang-after is too short here: no end after %s%s%s",
		UNITS_NS(timeout_ns), longest == NULL ? "" : "; it was ",
		longest == NULL ? "" : place);
}

void
calls_describe_end(char *text, size_t size, int how, int status, uint64_t timeout_ns)
{
	char place[2 * HEARTBEAT_TEXT], name[PROCESS_SIGNAL_SIZE];
	describe_place(place, sizeof(place));
	if (how == PROCESS_LATE)
		describe_hang(text, size, timeout_ns);
	else if (WIFSIGNALED(status))
		snprintf(
			text, size, "%s%s", process_signal_name(WTERMSIG(status), name), place);
	else if (board->culprit != NULL)
		snprintf(text, size, "%s%s: an engine must not end the process",
			fault_name(FAULT_EXIT), place);
	else
		snprintf(text, size, "the process ended with status %d%s", WEXITSTATUS(status),
			place);
}

void
calls_look(void)
{
	for (uint32_t i = 0; i <= DATABASE; i++)
		heartbeat_is_overdue(&board->calls[i].heartbeat, clock_monotonic(), UINT64_MAX);
}
