/* SPDX-License-Identifier: BSD-2-Clause */
#include "fptree_rig.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

bool rig_lets_meet;

/*
 * Mostly not at all; else for about as long as an operation takes, so that it meets one that
 * runs on another processor; and at times until the scheduler has been round.
 */
void
racy_meet(void)
{
	static _Thread_local uint64_t random;

	if (!rig_lets_meet)
		return;
	if (random == 0)
		random = rig_seed((uintptr_t)&random);
	uint64_t dice = rig_random(&random, 1 << 20);
	if (dice % 16 != 0)
		return;
	for (unsigned i = 0; i < 1u << dice / 16 % 14; i++)
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (dice >> 12 == 0)
		sched_yield();
}

void
pm_record_store(const void *at, const void *from, size_t size)
{
	racy_meet();
}

void
pm_record_flush(const void *at, size_t size)
{
	racy_meet();
}

void
pm_record_fence(void)
{
	racy_meet();
}

uint64_t
rig_seed(uint64_t salt)
{
	const char *text = getenv("FPTREE_TEST_SEED");
	uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 0;

	return ((seed + 1) * 0x9e3779b97f4a7c15ull ^ (salt + 1) * 0xc2b2ae3d27d4eb4full) | 1;
}

/* SplitMix64: G. Steele et al., "Fast Splittable Pseudorandom Number Generators", 2014. */
uint64_t
rig_random(uint64_t *state, uint64_t bound)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % bound;
}

int
rig_try_open(struct rig *rig)
{
	struct nb_open_args to = {.size = sizeof(to),
		.flags = NB_OPEN_CREATE,
		.host = &plugin_host,
		.path = ".",
		.key_size = rig->args.key_size,
		.value_size = rig->args.value_size,
		.sessions = RIG_SESSIONS,
		.durability = NB_DUR_COMMIT};

	rig->args.sessions = RIG_SESSIONS;
	int rc = pool_open(&rig->pool, &to,
		rig->pool_bytes != 0 ? rig->pool_bytes : (uint64_t)RIG_POOL_BYTES);
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
	rc = tree_open(&rig->tree, rig->pool, &rig->args);
	if (rc != NB_OK)
		pool_close(rig->pool);
	return rc;
}

void
rig_open(struct rig *rig)
{
	int rc = rig_try_open(rig);
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
}

void
rig_close(struct rig *rig)
{
	tree_close(rig->tree);
	ck_assert_int_eq(pool_close(rig->pool), NB_OK);
}

void
rig_reopen(struct rig *rig)
{
	rig_close(rig);
	rig_open(rig);
}

struct tree_session *
rig_session(struct rig *rig, uint32_t id)
{
	struct tree_session *session;
	int rc = tree_session_open(&session, rig->tree, id);
	ck_assert_msg(rc == NB_OK, "%s", host_failure);
	return session;
}

void
rig_end_session(struct tree_session *session)
{
	ck_assert_int_eq(tree_session_close(session), NB_OK);
}

void
rig_check(struct rig *rig, int64_t records)
{
	char what[256] = "";
	int64_t found = tree_check(rig->tree, what, sizeof(what));

	ck_assert_msg(found >= 0, "%s", what);
	if (records >= 0)
		ck_assert_int_eq(found, records);
}

struct one {
	void (*body)(void *, unsigned);
	void *to;
	unsigned id;
	pthread_barrier_t *begin;
};

static void *
run_one(void *arg)
{
	const struct one *one = arg;
	pthread_barrier_wait(one->begin);
	one->body(one->to, one->id);
	return NULL;
}

void
rig_run(unsigned count, void (*body)(void *to, unsigned id), void *to)
{
	pthread_t threads[RIG_SESSIONS];
	struct one ones[RIG_SESSIONS];
	pthread_barrier_t begin;

	ck_assert_uint_le(count, RIG_SESSIONS);
	ck_assert_int_eq(pthread_barrier_init(&begin, NULL, count), 0);
	for (unsigned id = 0; id < count; id++) {
		ones[id] = (struct one){body, to, id, &begin};
		ck_assert_int_eq(pthread_create(&threads[id], NULL, run_one, &ones[id]), 0);
	}
	for (unsigned id = 0; id < count; id++)
		ck_assert_int_eq(pthread_join(threads[id], NULL), 0);
	pthread_barrier_destroy(&begin);
}

void
rig_fill(uint8_t *bytes, size_t size, uint64_t mark)
{
	for (size_t at = 0; at < size; at += sizeof(mark))
		memcpy(bytes + at, &mark, size - at < sizeof(mark) ? size - at : sizeof(mark));
}

bool
rig_is_whole(struct nb_slice value, uint64_t *mark)
{
	const uint8_t *bytes = value.data;
	const size_t word = sizeof(*mark);

	*mark = 0;
	if (value.size == 0)
		return true;
	memcpy(mark, bytes, value.size < word ? value.size : word);
	return value.size <= word || memcmp(bytes, bytes + word, value.size - word) == 0;
}
