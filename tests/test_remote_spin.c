/* SPDX-License-Identifier: BSD-2-Clause */
/* plugins/remote/spin.h, with a simulated clock. */
#include "../plugins/remote/spin.h"

#include "unit.h"

enum { LIMIT = 50000, STEP = 1000 };

static uint64_t now;

/** A wait without any event, with polls of `step` ns each. Returns the number of polls. */
static int
wait_in_vain(struct spin *spin, uint64_t step)
{
	int polls = 0;
	if (!spin_begin(spin, now))
		return 0;
	do {
		polls++;
		now += step;
	} while (spin_goes_on(spin, now));
	return polls;
}

/** Waits until a wait polls. Returns the number of waits. */
static int
waits_until_it_polls(struct spin *spin)
{
	int waits = 0;
	while (!spin_begin(spin, now))
		waits++;
	return waits;
}

TEST(client_polls_up_to_the_limit_and_then_sleeps)
{
	struct spin spin;
	spin_create(&spin, LIMIT);
	ck_assert_int_eq(wait_in_vain(&spin, STEP), LIMIT / STEP);
	ck_assert_uint_eq(spin.slept, 1);
	spin_create(&spin, 0);
	ck_assert_int_eq(wait_in_vain(&spin, STEP), 0);
}

TEST(polling_pauses_grow_after_misses)
{
	struct spin spin;
	spin_create(&spin, LIMIT);
	for (int pause = SPIN_PAUSE; pause <= 4 * SPIN_PAUSE_MOST; pause *= 2) {
		for (int i = 0; i < SPIN_MISSES; i++)
			ck_assert_int_gt(wait_in_vain(&spin, STEP), 0);
		int wanted = pause < SPIN_PAUSE_MOST ? pause : SPIN_PAUSE_MOST;
		ck_assert_int_eq(waits_until_it_polls(&spin), wanted);
	}
}

TEST(polling_continues_while_bytes_arrive)
{
	struct spin spin;
	spin_create(&spin, LIMIT);
	for (int i = 0; i < 100; i++) {
		for (int j = 0; j < SPIN_MISSES - 1; j++)
			ck_assert_int_gt(wait_in_vain(&spin, STEP), 0);
		ck_assert(spin_begin(&spin, now));
		spin_end(&spin);
	}
	ck_assert_uint_eq(spin.polled, 100);
}

TEST(polling_yields_a_cpu_that_another_task_uses)
{
	struct spin spin;
	spin_create(&spin, LIMIT);
	for (uint64_t rest = SPIN_REST_NS; rest <= SPIN_REST_MOST_NS; rest *= 2) {
		ck_assert_int_eq(wait_in_vain(&spin, SPIN_LOST_NS + 1), 1);
		now += rest - 1;
		ck_assert_int_eq(wait_in_vain(&spin, STEP), 0);
		now += 1;
		ck_assert(spin_begin(&spin, now));
		spin_end(&spin);
	}
}

TEST(cpu_without_competition_for_long_is_trusted_again)
{
	struct spin spin;
	spin_create(&spin, LIMIT);
	ck_assert_int_eq(wait_in_vain(&spin, SPIN_LOST_NS + 1), 1);
	now += SPIN_REST_NS;
	for (int i = 0; i < SPIN_GOOD; i++) {
		ck_assert(spin_begin(&spin, now));
		spin_end(&spin);
	}
	ck_assert_int_eq(wait_in_vain(&spin, SPIN_LOST_NS + 1), 1);
	now += SPIN_REST_NS;
	ck_assert(spin_begin(&spin, now));
}
