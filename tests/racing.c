/* SPDX-License-Identifier: BSD-2-Clause */
#include "racing.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "racy.h"
#include "unit.h"

bool rig_lets_meet;
void (*rig_at_meet)(void), (*rig_at_wait)(void);

/*
 * Usually returns at once. Sometimes delays for about the duration of an operation, so that the
 * thread meets an operation on another CPU. Rarely yields the CPU.
 */
void
racy_meet(void)
{
	static _Thread_local uint64_t random;

	if (rig_at_meet != NULL)
		rig_at_meet();
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
racy_wait(void)
{
	if (rig_at_wait != NULL)
		rig_at_wait();
	racy_meet();
}

uint64_t
rig_seed(uint64_t salt)
{
	const char *text = getenv("RACING_SEED");
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
	pthread_t threads[RACING_THREADS];
	struct one ones[RACING_THREADS];
	pthread_barrier_t begin;

	ck_assert_uint_le(count, RACING_THREADS);
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
