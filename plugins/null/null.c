/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine that does nothing: every verb returns at once, so a run measures mininb itself.
 *
 * Each get lends the same bytes, in the size that the host announced. They are written at
 * open, so they are real pages, and they stay in the CPU cache. An engine that reads its
 * value from memory cannot be as fast. No verb writes shared memory. It has no scan, because
 * it has no key to lend.
 *
 * A session keeps requests in flight in a ring. Two options affect them:
 *
 * - `delay`: minimum time from the submit of a request to its completion. A reap sleeps for
 *   most of a long wait and spins for the rest.
 * - `reorder` = n: consecutive requests are shuffled in groups of n + 1, so each is at most
 *   n places early or late. The same calls give the same order.
 */
#include "../common/plugin.h"

#include <time.h>

struct nb_db {
	const struct nb_host *host;
	struct nb_slice value; /* lent by every get: the bytes that follow */
	uint64_t delay_ns, reorder;
	uint64_t inflight; /* maximum number of requests in a session */
	char bytes[];
};

/* The data of a request in flight that its completion needs. */
struct flight {
	uint64_t tag;
	struct nb_slice value;
	uint64_t due_ns; /* with a delay */
};

struct nb_session {
	struct nb_slice value; /* the same as in the database */
	struct nb_db *db;
	uint64_t head, tail, mask; /* counts of reaped and submitted requests; ring size - 1 */
	uint64_t random;           /* state of the generator, never 0 */
	struct flight ring[];
};

enum { DELAY, REORDER };
static const struct nb_option options[] = {
	[DELAY] = NB_OPTION_TIME("delay", "0s", 0, 3600000000000u,
		"time from the submit of a request until it is done"),
	[REORDER] = NB_OPTION_U64("reorder", "0", "places", 0, 1 << 20,
		"complete requests up to so many places early or late"),
	NB_OPTION_END,
};

/* Used if the host announces no number of requests. */
enum { INFLIGHT_DEFAULT = 64 };

/* The last part of a wait is spun, because a sleep may end this much too late. */
enum { SPIN_NS = 100000 };

/* Neither zero, like an unwritten page, nor text. */
enum { FILLER = 0xa5 };

static const char *
version(void)
{
	return NB_ENGINE_VERSION;
}

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	const struct nb_host *host = args->host;
	if (args->durability != NB_DUR_NONE)
		return host->fail(
			NB_UNSUPPORTED, "null stores nothing: durability must be none");
	struct nb_db *db = NULL;
	if (args->value_size <= PTRDIFF_MAX - sizeof(*db))
		db = calloc(1, sizeof(*db) + args->value_size);
	if (db == NULL)
		return host->fail(NB_FAIL, "null: out of memory for a value of %llu bytes",
			(unsigned long long)args->value_size);
	db->host = host;
	if (args->options != NULL) { /* mininb passes no options when it measures itself */
		db->delay_ns = args->options[DELAY].u64;
		db->reorder = args->options[REORDER].u64;
	}
	db->inflight = args->inflight_ops != 0 ? args->inflight_ops : INFLIGHT_DEFAULT;
	db->value = (struct nb_slice){db->bytes, args->value_size};
	memset(db->bytes, FILLER, args->value_size);
	*out = db;
	return NB_OK;
}

static int
db_close(struct nb_db *db)
{
	free(db);
	return NB_OK;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	uint64_t room = 1;
	while (room < db->inflight)
		room *= 2;
	struct nb_session *session = malloc(sizeof(*session) + room * sizeof(struct flight));
	if (session == NULL)
		return db->host->fail(NB_FAIL, "null: out of memory for %llu requests",
			(unsigned long long)room);
	/* Any odd constant works: sessions must differ, repeated runs must not. */
	*session = (struct nb_session){.value = db->value,
		.db = db,
		.mask = room - 1,
		.random = (id + 1ull) * 0x9e3779b97f4a7c15u};
	*out = session;
	return NB_OK;
}

static int
session_close(struct nb_session *session)
{
	free(session);
	return NB_OK;
}

/* For verbs without other arguments. */
static int
answer_session(struct nb_session *session)
{
	return NB_OK;
}

static int
answer_key(struct nb_session *session, struct nb_slice key)
{
	return NB_OK;
}

static int
answer_record(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return NB_OK;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	*value = session->value;
	return NB_OK;
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	return NB_OK;
}

static int
multi_get(struct nb_session *session, const struct nb_slice *keys, size_t count,
	struct nb_slice *values, int32_t *answers)
{
	for (size_t i = 0; i < count; i++)
		answers[i] = get(session, keys[i], &values[i]);
	return NB_OK;
}

static int
batch(struct nb_session *session, const struct nb_write *writes, size_t count, uint32_t flags)
{
	if ((flags & NB_BATCH_ATOMIC) != 0)
		return session->db->host->fail(
			NB_UNSUPPORTED, "null keeps nothing: no batch is atomic");
	return NB_OK;
}

/* All flags are accepted: an engine that stores nothing violates none of them. */
static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	for (size_t i = 0; i < count; i++) {
		steps[i].answer = NB_OK;
		if (steps[i].verb == NB_STEP_GET)
			steps[i].value = session->value;
	}
	return NB_OK;
}

/* --- requests --- */

/*
 * Exchange the newest request with a random one in flight of its group, possibly itself: a
 * Fisher-Yates shuffle of each growing group.
 */
static void
shuffle_newest(struct nb_session *session)
{
	uint64_t newest = session->tail - 1;
	uint64_t first = newest - newest % (session->db->reorder + 1);
	uint64_t x = session->random;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	session->random = x;
	if (first < session->head)
		first = session->head;
	struct flight *a = &session->ring[newest & session->mask];
	struct flight *b = &session->ring[(first + x % (newest - first + 1)) & session->mask];
	struct flight kept = *a;
	*a = *b;
	*b = kept;
}

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	const struct nb_db *db = session->db;
	uint64_t room = db->inflight - (session->tail - session->head);
	uint64_t due_ns = db->delay_ns != 0 ? now_ns() + db->delay_ns : 0;
	*taken = count < room ? count : room;
	for (size_t i = 0; i < *taken; i++) {
		const struct nb_request *request = &requests[i];
		struct flight *flight = &session->ring[session->tail++ & session->mask];
		flight->tag = request->tag;
		flight->value = request->verb == NB_REQ_GET ? session->value
							    : (struct nb_slice){NULL, 0};
		flight->due_ns = due_ns;
		if (request->verb == NB_REQ_EXECUTE)
			execute(session, request->steps, request->step_count, request->flags);
		if (db->reorder != 0)
			shuffle_newest(session);
	}
	return NB_PENDING;
}

static void
sleep_until(uint64_t time_ns)
{
	struct timespec until = {.tv_sec = (time_t)(time_ns / 1000000000u),
		.tv_nsec = (long)(time_ns % 1000000000u)};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Wait until `due_ns` or the end of the timeout. Returns the current time. */
static uint64_t
wait_until(uint64_t due_ns, uint64_t timeout_ns)
{
	uint64_t now = now_ns();
	uint64_t end = timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
	if (end > due_ns)
		end = due_ns;
	if (end > now && end - now > SPIN_NS)
		sleep_until(end - SPIN_NS);
	while (now < end)
		now = now_ns();
	return now;
}

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	uint64_t inflight = session->tail - session->head;
	uint64_t now = 0;
	if (session->db->delay_ns != 0 && inflight != 0 && room != 0)
		now = wait_until(
			session->ring[session->head & session->mask].due_ns, timeout_ns);
	*count = 0;
	for (size_t i = 0; i < room && i < inflight; i++) {
		const struct flight *flight = &session->ring[session->head & session->mask];
		if (flight->due_ns > now)
			break;
		out[i] = (struct nb_completion){.tag = flight->tag, .value = flight->value};
		session->head++;
		*count = i + 1;
	}
	return NB_OK;
}

/* --- transactions and flushes: no operation --- */

static int
begin(struct nb_session *session, uint32_t flags)
{
	return NB_OK;
}

static void
give_up(struct nb_session *session)
{
}

static int
flush(struct nb_db *db, uint32_t upto)
{
	return NB_OK;
}

static int
checkpoint(struct nb_db *db)
{
	return NB_OK;
}

static const struct nb_engine engine = {ENGINE_BASE("null"),
	.summary = "answers every call at once: the cost of mininb itself",
	.licence = "BSD-2-Clause", .home = "part of mininb",
	.caps = NB_CAP_CONCURRENT | NB_CAP_ZERO_COPY | NB_CAP_SYNTHETIC | NB_CAP_COPIES |
		NB_CAP_MULTI_PROCESS,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE), .auto_durability = NB_DUR_NONE,
	.options = options, .open = db_open, .close = db_close, .get = get,
	.put = answer_record, .del = answer_key, .insert = answer_record, .batch = batch,
	.multi_get = multi_get, .begin = begin, .commit = answer_session, .abort = give_up,
	.submit = submit, .reap = reap, .tick = answer_session, .flush = flush,
	.checkpoint = checkpoint, .execute = execute, .merge = merge};
NB_ENGINE_PLUGIN(engine)
