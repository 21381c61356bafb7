/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An engine with execute and merge, in memory under one lock. The option `defect` breaks its
 * promises:
 *
 * - torn: every seventh execute omits its last step, if that is a put or a put-if-newer
 * - lost: every hundredth addition is lost
 * - conflict: every seventh addition in flight conflicts, without any effect
 * - unsupported: each execute returns NB_UNSUPPORTED
 * - half_seen, skew, overwritten: two executes of different sessions interleave. The second one
 *   reads after the first put of the first one (half_seen) or before it (skew, overwritten).
 *   With skew, an execute conflicts if it puts a key that the other one puts, as with snapshot
 *   isolation.
 *
 * Requests are executed when they are reaped.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plain.h"

enum { SLOTS = 1 << 14, KEY_MAX = 32, VALUE_MAX = 256, REQUESTS = 8 };
enum { NONE, TORN, LOST, CONFLICT, UNSUPPORTED, HALF_SEEN, SKEW, OVERWRITTEN };

struct slot {
	uint8_t key[KEY_MAX], value[VALUE_MAX];
	size_t key_size, value_size; /* key_size 0: free */
	int is_there;
};

/* An execute that waits for an execute of another session. */
struct call {
	struct nb_session *session;
	struct nb_step *steps;
	size_t count;
	int is_done;
};

struct nb_db {
	pthread_mutex_t lock;
	pthread_cond_t met;
	struct call *waiting;
	uint64_t defect, executed, merged;
	struct slot slots[SLOTS];
};

struct nb_session {
	struct nb_db *db;
	uint8_t lent[64][VALUE_MAX];
	size_t lent_count;
	struct nb_request requests[REQUESTS];
	size_t request_count;
};

static int
db_open(struct nb_db **out, const struct nb_open_args *args)
{
	struct nb_db *db = calloc(1, sizeof(*db));
	if (db == NULL)
		return args->host->fail(NB_FAIL, "out of memory");
	db->defect = args->options[0].u64;
	pthread_mutex_init(&db->lock, NULL);
	pthread_cond_init(&db->met, NULL);
	*out = db;
	return NB_OK;
}

static int
db_close(struct nb_db *db)
{
	pthread_cond_destroy(&db->met);
	pthread_mutex_destroy(&db->lock);
	free(db);
	return NB_OK;
}

static int
session_open(struct nb_session **out, struct nb_db *db, uint32_t id)
{
	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return NB_FAIL;
	(*out)->db = db;
	return NB_OK;
}

static int
session_close(struct nb_session *session)
{
	free(session);
	return NB_OK;
}

static struct slot *
find(struct nb_db *db, struct nb_slice key)
{
	uint64_t hash = 1469598103934665603u;
	for (size_t i = 0; i < key.size; i++)
		hash = (hash ^ ((const uint8_t *)key.data)[i]) * 1099511628211u;
	struct slot *slot = &db->slots[hash % SLOTS];
	while (slot->key_size != 0 &&
		(slot->key_size != key.size || memcmp(slot->key, key.data, key.size) != 0))
		slot = slot + 1 < db->slots + SLOTS ? slot + 1 : db->slots;
	slot->key_size = key.size;
	memcpy(slot->key, key.data, key.size);
	return slot;
}

static void
store(struct slot *slot, struct nb_slice value)
{
	memcpy(slot->value, value.data, value.size);
	slot->value_size = value.size;
	slot->is_there = 1;
}

static void
add(struct nb_db *db, struct slot *slot, uint64_t operand)
{
	uint64_t sum = 0;
	if (slot->is_there)
		memcpy(&sum, slot->value, sizeof(sum));
	if (db->defect != LOST || ++db->merged % 100 != 0)
		sum += operand;
	store(slot, (struct nb_slice){&sum, sizeof(sum)});
}

static int
put_if_newer(struct slot *slot, const struct nb_step *step)
{
	int64_t old_age, age;
	if (!slot->is_there)
		return NB_NOT_FOUND;
	memcpy(&old_age, slot->value + step->operand, sizeof(old_age));
	memcpy(&age, (const char *)step->value.data + step->operand, sizeof(age));
	if (age <= old_age)
		return NB_EXISTS;
	store(slot, step->value);
	return NB_OK;
}

/* Executes a step. The lock is held. */
static int
do_step(struct nb_session *session, struct nb_step *step)
{
	struct nb_db *db = session->db;
	struct slot *slot = find(db, step->key);
	switch (step->verb) {
	case NB_STEP_GET:
		if (!slot->is_there)
			return NB_NOT_FOUND;
		uint8_t *lent = session->lent[session->lent_count++ % 64];
		memcpy(lent, slot->value, slot->value_size);
		step->value = (struct nb_slice){lent, slot->value_size};
		return NB_OK;
	case NB_STEP_PUT:
		store(slot, step->value);
		return NB_OK;
	case NB_STEP_DEL:
		slot->is_there = 0;
		return NB_OK;
	case NB_STEP_MERGE:
		add(db, slot, step->operand);
		return NB_OK;
	case NB_STEP_INSERT:
		if (slot->is_there)
			return NB_EXISTS;
		store(slot, step->value);
		return NB_OK;
	case NB_STEP_PUT_IF_NEWER:
		return put_if_newer(slot, step);
	default:
		return NB_UNSUPPORTED;
	}
}

static int
one(struct nb_session *session, struct nb_step *step)
{
	pthread_mutex_lock(&session->db->lock);
	int rc = do_step(session, step);
	pthread_mutex_unlock(&session->db->lock);
	return rc;
}

static int
get(struct nb_session *session, struct nb_slice key, struct nb_slice *value)
{
	struct nb_step step = {.verb = NB_STEP_GET, .key = key};
	int rc = one(session, &step);
	*value = step.value;
	return rc;
}

static int
put(struct nb_session *session, struct nb_slice key, struct nb_slice value)
{
	return one(session, &(struct nb_step){.verb = NB_STEP_PUT, .key = key, .value = value});
}

static int
del(struct nb_session *session, struct nb_slice key)
{
	return one(session, &(struct nb_step){.verb = NB_STEP_DEL, .key = key});
}

static int
merge(struct nb_session *session, struct nb_slice key, uint32_t how, uint64_t operand)
{
	return one(session,
		&(struct nb_step){.verb = NB_STEP_MERGE, .key = key, .operand = operand});
}

/* Executes the steps from *at on, and stops before a put after `puts` other puts. */
static void
do_until(struct call *call, size_t *at, size_t puts)
{
	for (; *at < call->count; ++*at) {
		struct nb_step *step = &call->steps[*at];
		if (step->verb == NB_STEP_PUT && puts-- == 0)
			return;
		step->answer = do_step(call->session, step);
	}
}

static int
put_the_same(const struct call *one, const struct call *other)
{
	for (size_t i = 0; i < one->count * other->count; i++) {
		const struct nb_step *a = &one->steps[i % one->count];
		const struct nb_step *b = &other->steps[i / one->count];
		if (a->verb == NB_STEP_PUT && b->verb == NB_STEP_PUT &&
			a->key.size == b->key.size &&
			memcmp(a->key.data, b->key.data, a->key.size) == 0)
			return 1;
	}
	return 0;
}

/* Executes `own` in the middle of `other`. */
static int
interleave(struct nb_db *db, struct call *other, struct call *own)
{
	size_t there = 0, here = 0;
	do_until(other, &there, db->defect == HALF_SEEN);
	do_until(own, &here, 0);
	do_until(other, &there, SIZE_MAX);
	other->is_done = 1;
	pthread_cond_broadcast(&db->met);
	if (db->defect == SKEW && put_the_same(other, own))
		return NB_CONFLICT;
	do_until(own, &here, SIZE_MAX);
	return NB_OK;
}

/*
 * Waits for another session's execute; the lock is held. If none comes within a second,
 * executes alone and disables the defect.
 */
static int
meet(struct nb_db *db, struct call *own)
{
	struct timespec until;
	struct call *other = db->waiting;
	size_t at = 0;
	int rc = 0;
	if (other != NULL) {
		db->waiting = NULL;
		return interleave(db, other, own);
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	db->waiting = own;
	while (rc == 0 && db->waiting == own)
		rc = pthread_cond_timedwait(&db->met, &db->lock, &until);
	if (own->is_done)
		return NB_OK;
	db->waiting = NULL;
	db->defect = NONE;
	do_until(own, &at, SIZE_MAX);
	return NB_OK;
}

static int
execute(struct nb_session *session, struct nb_step *steps, size_t count, uint32_t flags)
{
	struct nb_db *db = session->db;
	struct call own = {session, steps, count, 0};
	if (db->defect == UNSUPPORTED)
		return NB_UNSUPPORTED;
	pthread_mutex_lock(&db->lock);
	if (db->defect > UNSUPPORTED) {
		int rc = meet(db, &own);
		pthread_mutex_unlock(&db->lock);
		return rc;
	}
	int is_torn = db->defect == TORN && ++db->executed % 7 == 0;
	for (size_t i = 0; i < count; i++)
		steps[i].answer = is_torn && i + 1 == count &&
				(steps[i].verb == NB_STEP_PUT ||
					steps[i].verb == NB_STEP_PUT_IF_NEWER)
			? NB_OK
			: do_step(session, &steps[i]);
	pthread_mutex_unlock(&db->lock);
	return NB_OK;
}

static int
submit(struct nb_session *session, const struct nb_request *requests, size_t count,
	size_t *taken)
{
	for (*taken = 0; *taken < count && session->request_count < REQUESTS; ++*taken)
		session->requests[session->request_count++] = requests[*taken];
	return NB_PENDING;
}

static int
perform(struct nb_session *session, const struct nb_request *request, struct nb_slice *value)
{
	struct nb_step step = {.verb = request->verb, /* same numbers */
		.key = request->key,
		.value = request->value,
		.operand = request->operand};
	struct nb_db *db = session->db;
	if (request->verb == NB_REQ_MERGE && db->defect == CONFLICT &&
		__atomic_add_fetch(&db->merged, 1, __ATOMIC_RELAXED) % 7 == 0)
		return NB_CONFLICT;
	if (request->verb == NB_REQ_EXECUTE)
		return execute(session, request->steps, request->step_count, request->flags);
	int rc = one(session, &step);
	*value = step.value;
	return rc;
}

static int
reap(struct nb_session *session, struct nb_completion *out, size_t room, size_t *count,
	uint64_t timeout_ns)
{
	(void)timeout_ns;
	for (*count = 0; *count < room && *count < session->request_count; ++*count) {
		const struct nb_request *request = &session->requests[*count];
		out[*count] = (struct nb_completion){.tag = request->tag};
		out[*count].answer = perform(session, request, &out[*count].value);
	}
	session->request_count -= *count;
	memmove(session->requests, session->requests + *count,
		session->request_count * sizeof(session->requests[0]));
	return NB_OK;
}

static const struct nb_option options[] = {
	NB_OPTION_CHOICE("defect", "none",
		"none|torn|lost|conflict|unsupported|half_seen|skew|overwritten", "defect"),
	NB_OPTION_END};

static const struct nb_engine engine = {
	PLAIN_ENGINE,
	.name = "stepper",
	.summary = "steps in memory",
	.caps = NB_CAP_CONCURRENT | NB_CAP_SERIALIZABLE | NB_CAP_SNAPSHOT,
	.durabilities = NB_DUR_BIT(NB_DUR_NONE),
	.auto_durability = NB_DUR_NONE,
	.key_size_max = KEY_MAX,
	.value_size_max = VALUE_MAX,
	.options = options,
	.submit = submit,
	.reap = reap,
	.execute = execute,
	.merge = merge,
};

NB_ENGINE_PLUGIN(engine)
