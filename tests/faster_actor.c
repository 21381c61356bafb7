/* SPDX-License-Identifier: BSD-2-Clause */
#include "faster_actor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct nb_slice
name_of(const struct actor *actor, uint8_t *room)
{
	memset(room, 'k', 13);
	memcpy(room, &actor->key, sizeof(actor->key));
	return (struct nb_slice){room, actor->is_long ? 13 : 8};
}

int
put_others(struct nb_session *own, uint64_t from, uint64_t count, size_t size)
{
	uint8_t bytes[LONG];
	int rc = NB_OK;

	for (uint64_t key = from; rc == NB_OK && key < from + count; key++)
		rc = rig_engine->put(
			own, slice_of(&key, sizeof(key)), rig_value(bytes, size, key));
	return rc;
}

static int
get(struct nb_session *own, struct actor *actor, struct nb_slice key)
{
	struct nb_slice value;
	int rc = rig_engine->get(own, key, &value);

	if (rc == NB_OK)
		actor->is_whole = rig_is_whole(value, &actor->found);
	return rc;
}

int
act(struct nb_session *own, struct actor *actor)
{
	uint8_t room[16], bytes[LONG];
	struct nb_slice key = name_of(actor, room);
	struct nb_slice value = rig_value(
		bytes, actor->size != 0 ? actor->size : 8, actor->number);
	uint64_t other = 5000;

	switch (actor->doing) {
	case GET:
		return get(own, actor, key);
	case PUT:
		return rig_engine->put(own, key, value);
	case MERGE:
		return rig_engine->merge(own, key, NB_MERGE_ADD_U64, actor->number);
	case DELETE:
		return rig_engine->del(own, key);
	case CHECKPOINT:
		return rig_engine->checkpoint(rig.db);
	case PUT_MANY:
		return put_others(own, 10000, ACTOR_MANY, actor->size != 0 ? actor->size : 8);
	default: /* a new key, then the actor's own */
		return rig_engine->put(own, slice_of(&other, sizeof(other)), value) == NB_OK
			? rig_engine->put(own, key, value)
			: NB_FAIL;
	}
}

static void *
actor_main(void *to)
{
	struct actor *actor = to;
	struct nb_session *own = rig_session(&rig, actor->id);

	__atomic_store_n(&actor->tid, gettid(), __ATOMIC_SEQ_CST);
	actor->answer = act(own, actor);
	rig_end_session(own);
	__atomic_store_n(&actor->is_done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

void
start(struct actor *actor)
{
	static uint32_t ids;

	actor->id = 1 + ids++ % (RIG_SESSIONS - 1);
	ck_assert_int_eq(pthread_create(&actor->thread, NULL, actor_main, actor), 0);
}

bool
is_done(const struct actor *actor)
{
	return __atomic_load_n(&actor->is_done, __ATOMIC_SEQ_CST);
}

int
finish(struct actor *actor)
{
	ck_assert_int_eq(pthread_join(actor->thread, NULL), 0);
	return actor->answer;
}

void
start_and_hold(struct actor *actor, enum moment moment)
{
	rig_hold(moment);
	start(actor);
	rig_await_held(moment);
}

void
wait_a_while(const struct actor *actor)
{
	for (unsigned i = 0; i < A_WHILE_MS && !is_done(actor); i++)
		usleep(1000);
}

/* The number of sleeps of the actor; yields do not count. */
static unsigned long
sleeps_of(const struct actor *actor)
{
	char path[64], line[128];
	unsigned long sleeps = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status",
		__atomic_load_n(&actor->tid, __ATOMIC_SEQ_CST));
	FILE *file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		(void)sscanf(line, "voluntary_ctxt_switches: %lu", &sleeps);
	if (file != NULL)
		fclose(file);
	return sleeps;
}

void
await_sleeps(const struct actor *actor, unsigned long more)
{
	while (__atomic_load_n(&actor->tid, __ATOMIC_SEQ_CST) == 0)
		usleep(100);
	unsigned long before = sleeps_of(actor);
	while (sleeps_of(actor) < before + more) {
		ck_assert(!is_done(actor));
		usleep(1000);
	}
}

void
wait_for_log(const struct actor *actor)
{
	uint64_t size = 0;

	for (unsigned i = 0; i < A_WHILE_MS && !is_done(actor); i++) {
		uint64_t now = rig_stat(&rig, "log");

		if (now != size)
			i = 0;
		size = now;
		usleep(1000);
	}
}

void
await_stat(const char *name, uint64_t least)
{
	while (rig_stat(&rig, name) < least)
		usleep(100);
}

void
put_long(uint64_t number)
{
	struct actor actor = {PUT, .key = 1, .number = number, .size = 100, .is_long = true};
	ck_assert_msg(act(session, &actor) == NB_OK, "%s", host_failure);
}
